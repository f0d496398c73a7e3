"""Which theorem applies to these data, by how much it does not, and what would have to change."""

import streamlit as st

from dpsyn.data.statistics import DatasetStatistics
from dpsyn.errors import ParameterError
from dpsyn.figures.feasibility import draw_reduced_space, draw_rows_bound, reduced_space_info, rows_bound_info
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import BUILT_IN
from dpsyn.theory.feasibility import feasibility
from dpsyn.ui import state, widgets
from dpsyn.ui.verdicts import show_verdict, verdict_card

YOURS, TYPED = "Loaded data", "Typed in"

st.title("Feasibility")
current = state.dataset()


def chosen_statistics() -> tuple[DatasetStatistics, int, int | None]:
    """Statistics of the chosen data, its number of classes, and the size of the smallest where it is known."""
    source = st.pills(
        "Data",
        [YOURS, *BUILT_IN, TYPED],
        default=YOURS,
        required=True,
        key="f_data",
        bind="query-params",
        format_func=lambda name: f"{name}: {current.table.name}" if name == YOURS else name,
    )
    if source == TYPED:
        left, middle, right = st.columns(3)
        p = left.number_input("p (bits)", 1, 10_000, 20, key="f_p", bind="query-params")
        n = middle.number_input("n (rows)", 1, 10**15, 100_000, key="f_n", bind="query-params")
        share = right.number_input(
            "‖f_n‖∞ (largest share of equal rows)", 1e-15, 1.0, 0.001, format="%.3g", key="f_max", bind="query-params"
        )
        return DatasetStatistics(int(p), int(n), max(float(share), 1 / int(n)), name="typed in"), 2, None
    if source == YOURS:
        widgets.domain_badge(current.table.domain.is_public)
        classes = current.table.domain[current.target].size if current.target else 2
        return current.statistics, classes, None
    return BUILT_IN[source], 2, None


with st.sidebar:
    st.subheader("Settings")
    epsilon = widgets.epsilon_slider("f_epsilon", bind="query-params")
    degree = st.slider("d (degree of the marginals)", 1, 4, 2, key="f_degree", bind="query-params")
    floor = st.slider(
        "floor (the papers' δ)",
        0.01,
        0.5,
        0.25,
        0.01,
        key="f_floor",
        bind="query-params",
        help="Smallest density allowed in private sampling, relative to uniform.",
    )
    ceiling = st.select_slider(
        "ceiling (the papers' Δ)",
        widgets.CEILINGS,
        2.0,
        key="f_ceiling",
        bind="query-params",
        format_func=lambda c: f"{c:.4g}",
        help="Largest density allowed, relative to uniform.",
    )
    gamma = st.slider(
        "γ (failure probability of the accuracy theorems)",
        0.005,
        0.245,
        0.125,
        0.005,
        key="f_gamma",
        format="%.3f",
        bind="query-params",
    )
    rows = st.select_slider(
        "k (synthetic rows)", widgets.COUNTS, 1000, key="f_rows", bind="query-params", format_func=lambda k: f"{k:,}"
    )
    size = st.select_slider("m (size of the reduced space)", widgets.SIZES, widgets.SIZES[0], key="f_m", bind="query-params")
    delta = widgets.delta_slider("f_delta", bind="query-params")
    order = st.select_slider(
        "l (order of mixture, DP-CDA)", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512), 4, key="f_order", bind="query-params"
    )

stats, classes, smallest = chosen_statistics()
m = None if size == widgets.SIZES[0] else round(float(size))
spec = PrivacySpec(epsilon, delta)
bounds = {
    "degree": min(degree, stats.p),
    "floor": floor,
    "ceiling": ceiling,
    "failure_probability": gamma,
    "reduced_space_size": m,
}
exact = bool(st.session_state.get("f_exact", False))
try:
    verdicts = feasibility(
        stats,
        spec,
        rows=rows,
        order_of_mixture=order,
        classes=classes,
        smallest_class=smallest,
        exact_accounting=exact,
        **bounds,
    )
except ParameterError as fault:
    st.error(str(fault), icon=":material/error:")
    st.stop()

widgets.facts(
    {
        "p, bits": f"{stats.p:,}",
        "n, rows": widgets.number(stats.n),
        "‖f_n‖∞": widgets.number(stats.max_frequency),
        "2^p · ‖f_n‖∞ (ceiling needed)": widgets.power_of_ten(stats.log10_peak),
    }
)
for column, verdict in zip(st.columns(3), verdicts, strict=True):
    with column:
        verdict_card(verdict)

case = st.segmented_control(
    "In the pictures, n is",
    ["yours", "ideal"],
    default="yours",
    required=True,
    key="f_case",
    bind="query-params",
    format_func={"yours": "that of the data", "ideal": "2^p: the ideal cube, every point once"}.__getitem__,
)
left, right = st.columns(2, gap="medium")
left.altair_chart(draw_rows_bound(rows_bound_info(stats, epsilon=epsilon, rows=rows, case=case, **bounds)), key="rows_bound")
right.altair_chart(draw_reduced_space(reduced_space_info(stats, **bounds)), key="reduced_space")

for tab, verdict in zip(st.tabs([v.title for v in verdicts]), verdicts, strict=True):
    with tab:
        if verdict.mechanism == "dp_cda":
            st.toggle(
                "Find the smallest σ by the exact accountant (takes about a second)", key="f_exact", persist_state="session"
            )
        show_verdict(verdict)
st.caption(
    "The statistics of loaded data are read from the private rows: a verdict on them is for you, not for publication."
)
