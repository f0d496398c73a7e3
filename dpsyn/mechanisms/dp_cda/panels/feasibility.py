"""DP-CDA: ε against σ by three accountants, the σ that an ε needs, and which published claims fail."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from dpsyn.kit import code, visit, widgets
from dpsyn.kit.explorer import DELTA, EPSILON, ROWS, Explorer, Slider
from dpsyn.kit.show import show_chart
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes
from dpsyn.mechanisms.dp_cda.claims import claims
from dpsyn.mechanisms.dp_cda.figures.feasibility import (
    draw_epsilon_against_sigma,
    draw_sigma_needed,
    epsilon_against_sigma,
    noise_of_runs,
    sigma_needed,
    with_run,
)
from dpsyn.mechanisms.dp_cda.panels import NO_CLASS
from dpsyn.notation import counted

SIGMAS = tuple(float(f"{10 ** (i / 10):.3g}") for i in range(-30, 11))
_ORDERS = ((1, 4, 16), (4, 8, 16), (4, 16, 64), (8, 32, 128))


def show(explorer: Explorer) -> None:
    """Draw the section."""
    stats, focus = explorer.stats, explorer.focus
    if focus.loaded is not None and focus.loaded.target is None:
        st.info(NO_CLASS)
        return
    if stats.n < focus.classes:
        st.info(
            f"n = {stats.n:,} records are fewer than K = {focus.classes:,} classes, so a class has none: there is "
            "nothing to mix in it, and no claim to check."
        )
        return
    largest = stats.n // focus.classes
    known = focus.smallest_class
    columns = st.columns(4)
    place = focus.loaded.tag if focus.loaded else largest
    # A link does not bring counted files along, and their size is nobody else's.
    typed: dict[str, Any] = {} if focus.private else {"bind": "query-params"}
    kept = focus.loaded.kept if focus.loaded else typed
    size = columns[0].number_input(
        "Smallest class Nₖ", 1, largest, max(1, largest if known is None else known), key=f"f_class_{place}",
        **kept,
        help="n / K at most. "
        + ("It starts there, as if the classes were balanced; state what is public knowledge." if known is None
           else "It starts at the smallest class of the loaded rows; a guarantee takes what is public knowledge."),
    )  # fmt: skip
    clip = columns[1].slider("c (largest norm of a record)", 0.1, 2.0, 1.0, 0.1, key="f_clip", bind="query-params")
    sigma = columns[2].select_slider(
        "σ (in the claims below)", SIGMAS, 0.1, key="f_sigma", bind="query-params", format_func=lambda s: f"{s:g}"
    )
    orders = columns[3].selectbox(
        "l beside yours",
        _ORDERS,
        2,
        key="f_orders",
        bind="query-params",
        format_func=lambda o: ", ".join(map(str, o)),
    )
    facts: dict[str, Any] = {
        "n": stats.n,
        "classes": focus.classes,
        "smallest_class": int(size),
        "rows": explorer.settings["rows"],
        "delta": explorer.spec.delta,
        "clip_norm": clip,
    }
    features = len(stats.sizes) - 1 if stats.sizes and len(stats.sizes) > 1 else stats.p
    if known is None and size == largest and focus.classes > 1:
        st.caption(
            f"All below holds if the smallest class has n / K = {largest:,} records: nobody has said how many it has."
        )
    asked = explorer.settings["order_of_mixture"]
    order = min(asked, int(size))
    if order < asked:
        st.caption(
            f"Your l = {asked:,} does not fit: the smallest class has {counted(int(size), 'record')}. Below l = {order:,}."
        )
    shown = tuple(sorted({*orders, order}))
    sizes, epsilon = Sizes.stated(**facts), explorer.spec.epsilon
    with st.spinner("Accounting …"):
        points, (needed, notes) = epsilon_against_sigma(sizes, shown), sigma_needed(sizes, epsilon)
        run = noise_of_runs(sizes, order, epsilon, points)
    st.header("Three accountants of the same noise", anchor=False)
    left, right = st.columns(2, gap="medium")
    (moved, sliders), (mixed, orders_slider) = explorer.moved("epsilon"), explorer.moved("order_of_mixture")
    now = run.at(epsilon)
    spots = [(run.at(each.spec.epsilon), each.spec.epsilon) for each in moved]
    here = None if now is None else (now, epsilon)
    against = draw_epsilon_against_sigma(with_run(points, run), sizes, here, spots, sliders)
    show_chart(against, key="epsilon_against_sigma", place=left)
    exact = {point.order_of_mixture: point.sigma for point in needed if point.accountant == "exact"}
    mine = [(value, exact.get(value)) for value in (each.settings["order_of_mixture"] for each in mixed)]
    chart = draw_sigma_needed(needed, sizes, epsilon, None if now is None else (order, now), mine, orders_slider)
    show_chart(chart, key="sigma_needed", place=right)
    for note in notes:
        st.caption(note)
    st.header("What the paper claims, and what is true for these sizes", anchor=False)
    visit.offer(lambda: _code(explorer, facts, shown, order, sigma, features))
    with st.spinner("Checking every claim for your sizes: a few seconds the first time …"):
        found = claims(**facts, order_of_mixture=order, sigma=sigma, features=features)
    for claim in found:
        icon = {"holds": ":material/check_circle:", "fails": ":material/cancel:"}.get(claim.verdict, ":material/rule:")
        with st.expander(f"**{claim.verdict.capitalize()}** · {claim.statement}", icon=icon):
            st.markdown(f"{claim.by_how_much}\n\n*Why:* {claim.why}\n\n*Instead:* {claim.fix}\n\n*Source:* {claim.source}")


def ask() -> dict[str, Any]:
    """What the verdict asks beside the sliders."""
    # Off by default: for large classes exact accounting takes seconds, and a slider must answer sooner.
    exact = st.toggle(
        "Find σ for large classes, too (some seconds for each new setting)", key="f_exact", bind="query-params"
    )
    return {"exact_accounting": exact or None}


def _code(
    explorer: Explorer, facts: dict[str, Any], orders: tuple[int, ...], order: int, sigma: float, features: int
) -> str:
    """Three accountants of DP-CDA, and the paper's claims for these sizes."""
    body = f"""
facts = dict(
{code.arguments(**facts)})
for claim in claims(**facts, order_of_mixture={order}, sigma={sigma!r}, features={features}):
    print(claim.verdict, claim.statement, claim.by_how_much)
sizes = Sizes.stated(**facts)
points, notes = sigma_needed(sizes, {explorer.spec.epsilon!r})
draw_sigma_needed(points, sizes, {explorer.spec.epsilon!r}).save("sigma_needed.html")
points = epsilon_against_sigma(sizes, {orders!r})
draw_epsilon_against_sigma(points, sizes).save("epsilon_against_sigma.html")
"""
    what = "draw_epsilon_against_sigma, draw_sigma_needed, epsilon_against_sigma, sigma_needed"
    imports = (
        "from dpsyn.mechanisms.dp_cda.accounting.quick import Sizes\n"
        "from dpsyn.mechanisms.dp_cda.claims import claims\n"
        f"from dpsyn.mechanisms.dp_cda.figures.feasibility import {what}\n"
    )
    return code.script("What the paper on DP-CDA claims, and what is true for these sizes.", body, None, imports)


SLIDERS = (
    EPSILON,
    DELTA,
    ROWS,
    Slider(
        "order_of_mixture",
        partial(widgets.order_slider, "It moves DP-CDA's verdict alone."),
        widgets.USUAL[widgets.ORDER],
        widgets.ORDER,
        widgets.ORDERS,
    ),
)
SECTIONS = {DPCDA.title: show}
