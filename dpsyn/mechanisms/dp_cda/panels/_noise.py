"""Noise by accountant, the budget class by class, and what clipping cuts."""

from __future__ import annotations

import streamlit as st

from dpsyn.kit import formulas
from dpsyn.kit.charts import show_chart
from dpsyn.kit.panel import panel
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant
from dpsyn.mechanisms.dp_cda.figures.budget import INSIDE, BudgetInfo, budget_info, draw_budget
from dpsyn.mechanisms.dp_cda.figures.noise import draw_noise, short_of_target
from dpsyn.mechanisms.dp_cda.figures.norms import draw_norms, norms_info
from dpsyn.mechanisms.dp_cda.formulas import PAPER, claim
from dpsyn.mechanisms.dp_cda.panels._controls import Bench
from dpsyn.notation import short
from dpsyn.privacy.spec import Guarantee, rounded_up


def noise(bench: Bench) -> None:
    """Accountants and classes side by side; norms where there is room."""
    many = len(bench.kept) > 5
    left, right = st.columns(2, gap="medium")
    with left:
        _accountants(bench)
        if many:
            _norms(bench)
    with right:
        _budget(bench)
    if not many:
        _norms(bench)


def _accountants(bench: Bench) -> None:
    with panel(
        "How much noise", True, "The same σ may claim very different ε. Only the exact accounting certifies a release."
    ):
        show_chart(draw_noise(bench.noise), key="in_cda_noise")
        st.caption(f"{bench.noise.verdict} {short_of_target(bench.noise)}".rstrip())
        _formulas(bench)


def _formulas(bench: Bench) -> None:
    names = [bench.records.classes[k] for k in bench.kept]
    if not names:
        return
    guarantee = Guarantee(bench.epsilon, bench.delta, "replace_one", "")
    settings = {
        "variant": bench.variant,
        "order_of_mixture": bench.order_of_mixture,
        "sensitivity": (1 if bench.variant == "poisson" else 2) * bench.clip_norm / bench.order_of_mixture,
        "noise_scale": bench.sigma,
        "sampling_rates": {
            name: bench.order_of_mixture / bench.records.sizes[k] for name, k in zip(names, bench.kept, strict=True)
        },
        "rows_per_class": dict.fromkeys(names, bench.rows_per_class),
        "ledger": [{"name": "averages", "epsilon": bench.epsilon, "delta": bench.delta}],
    }
    formulas.expander(claim(guarantee, settings), PAPER)


def _budget(bench: Bench) -> None:
    caption = "A record matters to its class only, by l/Nₖ in each of its Tₖ rows; one whose label changes matters to two."
    with panel("Which class binds", True, caption):
        info = _budgets(
            bench.records.classes,
            bench.records.sizes,
            bench.rows_per_class,
            bench.order_of_mixture,
            bench.sigma,
            bench.clip_norm,
            bench.delta,
            bench.epsilon,
            bench.variant,
        )
        show_chart(draw_budget(info), key="in_cda_budget")
        st.caption(_words(info))


def _words(info: BudgetInfo) -> str:
    first = info.binding
    said = f"ε = {rounded_up(first.epsilon, 3)} binds: a record {first.kind}, {first.name}"
    said += f" (N = {first.size:,}, l/N = {short(100 * first.rate, 2)} %)." if first.kind == INSIDE else "."
    if info.others:
        said += f" {info.others} more classes lie between the last two bars." if info.others > 1 else ""
    calm = min(info.parts, key=lambda part: part.epsilon)
    if calm.epsilon < 0.9 * first.epsilon:
        said += f" Records of {calm.name} are protected better than was asked for: ε = {rounded_up(calm.epsilon, 3)}."
    return said


def _norms(bench: Bench) -> None:
    with panel("What clipping cuts", True, "Choose c before looking: a c chosen on these bars would itself cost privacy."):
        info = norms_info(bench.records, bench.clip_norm)
        show_chart(draw_norms(info), key="in_cda_norms")
        st.caption(
            f"c = {short(info.radius)} shortens {short(100 * info.cut, 3)} % of the records and takes "
            f"{short(100 * info.lost, 2)} % off "
            "their total length. A table of categories alone has norm 1 everywhere."
        )


@st.cache_data(max_entries=200, show_spinner=False, scope="session")
def _budgets(
    classes: tuple[str, ...],
    sizes: tuple[int, ...],
    rows_per_class: int,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    delta: float,
    target: float,
    variant: Variant,
) -> BudgetInfo:
    return budget_info(
        classes=classes,
        sizes=sizes,
        rows_per_class=rows_per_class,
        order_of_mixture=order_of_mixture,
        sigma=sigma,
        clip_norm=clip_norm,
        delta=delta,
        target=target,
        variant=variant,
    )
