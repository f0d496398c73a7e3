"""What the feasibility page is about: which data, which privacy, which parameters. All of it is in the page's address."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import visit, widgets
from dpsyn.kit.explorer import Chosen, Explorer
from dpsyn.mechanisms.base import domain_warning
from dpsyn.mechanisms.feasibility import Feasibility, feasibility
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import BUILT_IN

YOURS, TYPED = "Loaded data", "Typed in"
ORDERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_SMALLEST = widgets.SIZES[0]
_COUNTED = "NOT YET TRUE: the columns' values were inferred from the file, and nobody confirmed them as public."


def verdicts(explorer: Explorer, chosen: Chosen, *, exact: bool = False) -> Feasibility:
    """``dpsyn.feasibility`` for one of the datasets."""
    return feasibility(
        chosen.stats,
        explorer.spec,
        **{**explorer.bounds, "degree": min(explorer.degree, chosen.stats.p)},
        rows=explorer.rows,
        order_of_mixture=explorer.order_of_mixture,
        classes=chosen.classes,
        smallest_class=chosen.smallest_class,
        exact_accounting=exact,
    )


def choose() -> Explorer:
    """Draw the sliders and the choice of data, and return what they say."""
    with st.sidebar:
        st.header("Settings")
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
        size = st.select_slider("m (size of the reduced space)", widgets.SIZES, _SMALLEST, key="f_m", bind="query-params")
        delta = widgets.delta_slider("f_delta", bind="query-params")
        order = st.select_slider("l (order of mixture, DP-CDA)", ORDERS, 4, key="f_order", bind="query-params")
    return Explorer(
        chosen=_datasets(),
        spec=PrivacySpec(epsilon, delta),
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        failure_probability=gamma,
        rows=rows,
        reduced_space_size=None if size == _SMALLEST else round(float(size)),
        order_of_mixture=order,
    )  # fmt: skip


def _datasets() -> tuple[Chosen, ...]:
    current = visit.dataset()
    read = visit.read_statistics()
    names = st.pills(
        f"Data, one or several side by side (loaded: {current.table.name})",
        [YOURS, *read, *BUILT_IN, TYPED],
        selection_mode="multi",
        default=[YOURS],
        key="f_data",
        bind="query-params",
    )
    names = [name for name in names if name in (YOURS, TYPED, *read, *BUILT_IN)] or [YOURS]
    if len(names) > 1:
        focus = st.segmented_control(
            "Details for", names, default=names[0], required=True, key="f_focus", bind="query-params"
        )
        names.sort(key=lambda name: name != focus)
    return tuple(_typed() if name == TYPED else _known(name) for name in names)


def _known(name: str) -> Chosen:
    current = visit.dataset()
    read = visit.read_statistics()
    if name == YOURS:
        classes, smallest = current.balance
        return Chosen(
            current.statistics,
            True,
            loaded=True,
            classes=classes,
            smallest_class=smallest,
            domain_warning=domain_warning(current.table.domain),
        )
    if name in read:
        return Chosen(read[name], private=True, domain_warning=_COUNTED)
    return Chosen(BUILT_IN[name], private=False)


def _typed() -> Chosen:
    left, middle, right = st.columns(3)
    p = left.number_input("p (bits)", 1, 10_000, 20, key="f_p", bind="query-params")
    n = middle.number_input("n (rows)", 1, 10**15, 100_000, key="f_n", bind="query-params")
    share = right.number_input(
        "‖fₙ‖∞ (largest share of equal rows)", 1e-15, 1.0, 0.001, format="%.3g", key="f_max", bind="query-params"
    )
    return Chosen(DatasetStatistics(int(p), int(n), max(float(share), 1 / int(n)), name="typed in"), False)
