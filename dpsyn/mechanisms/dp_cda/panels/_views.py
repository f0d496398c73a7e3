"""What DP-CDA does to the records at hand: noise and budgets, rows step by step, and the order of mixture."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpsyn import escape
from dpsyn.data.images import image_side
from dpsyn.kit import verdicts, visit, widgets
from dpsyn.kit.code import imports_of, script
from dpsyn.kit.show import show_chart, show_figure
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import panel
from dpsyn.mechanisms.dp_cda._config import DPCDA
from dpsyn.mechanisms.dp_cda.accounting.quick import ROUGH, sigma_for
from dpsyn.mechanisms.dp_cda.figures import rows
from dpsyn.mechanisms.dp_cda.figures.noise import (
    INSIDE,
    MOST_CLASSES,
    ClassBudget,
    class_budgets,
    clipping_of,
    draw_budget,
    draw_noise,
    draw_norms,
    noise_info,
)
from dpsyn.mechanisms.dp_cda.figures.order import OrderPoint, best_order, draw_order, order_points
from dpsyn.mechanisms.dp_cda.formulas import claim
from dpsyn.mechanisms.dp_cda.inside import Inside
from dpsyn.notation import percent, short
from dpsyn.privacy.spec import rounded_up

_ROOM = "dpsyn.mechanisms.dp_cda"
_TITLE = "DP-CDA from the inside: it reads the private rows."
IMAGES, POINTS = "Images", "Points"
PRINCIPAL = "principal axes"
_EPSILONS = (None, 20.0, 10.0, 5.0, 1.0)
_ORDERS = (1, 2, 4, 8, 16, 32, 64, 128)
MEASURED = (
    "It is no advice for classifiers where ε is large. Measured on Adult, a logistic regression that learns from rows made "
    "with this l is right for 0.819 of the real rows at ε = 5 (l = 38), 0.807 at ε = 10 (l = 54) and 0.755 at ε = 20 "
    "(l = 91), where always naming the majority is right for 0.758: the averages of a class hardly differ any more. A "
    "smaller l, fixed beforehand, serves better there. docs/dp_cda_accuracy.md has the table; an experiment on the page "
    "Comparison measures it on this data."
)
"""From the table that benchmarks/dp_cda_accuracy.py writes; a test compares."""


def _code(current: Dataset, inside: Inside, body: str, **figures: str) -> str:
    """A script that begins with the settings and the noise of the mechanism."""
    begun = f"""
records = Records(train, {inside.records.target!r})
inside = Inside(
    records,
    epsilon={inside.epsilon!r},
    delta={inside.delta!r},
    order_of_mixture={inside.order_of_mixture},
    rows={inside.rows},
    clip_norm={inside.clip_norm!r},
    variant={inside.variant!r},
)
print("sigma =", inside.sigma)  # of inside.mechanism, which takes the class sizes for public
"""
    imports = imports_of(f"{_ROOM}.figures", **figures) + f"from {_ROOM}.inside import Inside, Records\n"
    return script(_TITLE, begun + body.lstrip("\n"), current, imports)


def noise(current: Dataset, inside: Inside) -> None:
    """Accountants and classes side by side; norms where there is room."""
    many = len(inside.kept) > 5
    left, right = st.columns(2, gap="medium")
    with left:
        _accountants(inside)
        if many:
            _norms(inside)
    with right:
        _budget(inside)
    if not many:
        _norms(inside)


def code_of_noise(current: Dataset, inside: Inside) -> str:
    """σ by three accountants, the budget class by class, and what clipping cuts."""
    body = """
noise = noise_info(inside.sizes, inside.epsilon, inside.order_of_mixture)
print(noise.verdict)
for line in noise.lines:
    print(line.accountant, "sigma =", line.sigma)
draw_noise(noise).save("noise.html")
names = [records.classes[k] for k in inside.kept]
budgets = class_budgets(names, inside.sizes, inside.order_of_mixture, inside.sigma, inside.epsilon)
print("binding:", budgets[0].name, "epsilon =", budgets[0].epsilon)
draw_budget(budgets, inside.sigma, inside.epsilon).save("budget.html")
norms = clipping_of(inside)
print(f"clipping shortens {norms.share_cut:.4%} of the records")
draw_norms(norms).save("norms.html")
"""
    what = "class_budgets, clipping_of, draw_budget, draw_noise, draw_norms, noise_info"
    return _code(current, inside, body, noise=what)


def _accountants(inside: Inside) -> None:
    with panel(
        "How much noise", True, "The same σ may claim very different ε. Only the exact accounting certifies a release."
    ):
        info = noise_info(inside.sizes, inside.epsilon, inside.order_of_mixture)
        show_chart(draw_noise(info), key="in_cda_noise")
        st.caption(info.verdict)
        verdicts.expander(claim(inside.mechanism.guarantee, inside.mechanism.facts()), DPCDA.paper)


def _budget(inside: Inside) -> None:
    caption = "A record matters to its class only, by l/Nₖ in each of its Tₖ rows; one whose label changes matters to two."
    with panel("Which class binds", True, caption):
        names = [inside.records.classes[k] for k in inside.kept]
        parts = class_budgets(names, inside.sizes, inside.order_of_mixture, inside.sigma, inside.epsilon)
        show_chart(draw_budget(parts, inside.sigma, inside.epsilon), key="in_cda_budget")
        st.caption(escape.markdown(_words(parts, len(names) - MOST_CLASSES)))


def _words(parts: Sequence[ClassBudget], others: int) -> str:
    first = parts[0]
    said = f"ε = {widgets.number(float(rounded_up(first.epsilon, 3)))} binds: a record {first.kind}, {first.name}"
    said += f" (N = {first.size:,}, l/N = {percent(first.rate)})." if first.kind == INSIDE else "."
    said += f" {others} more classes lie between the last two bars." if others > 1 else ""
    calm = min(parts, key=lambda part: part.epsilon)
    if calm.epsilon < 0.9 * first.epsilon:
        least = widgets.number(float(rounded_up(calm.epsilon, 3)))
        said += f" Records of {calm.name} are protected better than was asked for: ε = {least}."
    return said


def _norms(inside: Inside) -> None:
    """Nothing where all records are as long and none is cut."""
    found = clipping_of(inside)
    if found.says_nothing:
        return
    with panel("What clipping cuts", True, "Choose c before looking: a c chosen on these bars would itself cost privacy."):
        show_chart(draw_norms(found), key="in_cda_norms")
        st.caption(
            f"c = {short(found.clip_norm)} shortens {percent(found.share_cut, 3)} of the records and takes "
            f"{percent(found.shortened)} off their total length."
        )


def order(current: Dataset, inside: Inside) -> None:
    """Noise and signal against l, and where its accuracy is measured."""
    with st.spinner("Accounting …"):
        points = order_points(inside)
    visit.offer(lambda: _code_of_order(current, inside))
    _signal(points, inside)
    st.caption(
        "What a classifier makes of rows for every l, Figure 2 and Table 2 of the paper on this data, is an experiment in "
        "which l varies: a classifier learns from the rows and is tested on held-out real ones."
    )
    st.page_link(
        "comparison.py",
        label="Measure accuracy against l",
        icon=":material/straighten:",
        query_params={
            "comparison_what": "Experiments",
            "lab_vary": "l (order of mixture)",
            **({f"lab_mechanisms_{current.tag}": DPCDA.title} if current.sample is not None else {}),
            widgets.EPSILON: f"{inside.epsilon:g}",
            widgets.DELTA: f"{inside.delta:g}",
        },
    )


def _code_of_order(current: Dataset, inside: Inside) -> str:
    """Noise and signal against l."""
    body = """
points = order_points(inside)
print("best l =", best_order(points))
draw_order(points, inside).save("signal.html")
"""
    return _code(current, inside, body, order="best_order, draw_order, order_points")


def _signal(points: Sequence[OrderPoint], inside: Inside) -> None:
    caption = "What tells classes apart gains from every l; the variety inside a class is averaged away in the end."
    with panel("What is left of the records", True, caption):
        show_chart(draw_order(points, inside), key="in_cda_signal")
        best = best_order(points)
        if best is not None:
            st.caption(
                f"l = {best} leaves the most of the variety inside a class. It follows from public numbers, so "
                "choosing it costs no privacy: how varied the records are lowers that curve and does not move its top."
            )
            st.caption(MEASURED)


def pictures(current: Dataset, inside: Inside) -> None:
    """Images or points, by a seed that stays until it is drawn again."""
    side = image_side(current.table.domain, inside.records.target)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = POINTS
        if side is not None:
            shown = widgets.one_of("Show as", (IMAGES, POINTS), key="in_cda_show")
        seed = widgets.seed_control("in_cda_seed")
        st.caption(f"Draw {seed}: the sliders keep its records and its noise, so that only their effect is seen.")
    if shown == IMAGES and side is not None:
        _images(current, inside, side, seed)
    else:
        _points(current, inside, seed)
        if side is None:
            _offer_images()


def _images(current: Dataset, inside: Inside, side: int, seed: int) -> None:
    names = inside.records.classes
    chosen = inside.kept[: rows.MOST_SHOWN]
    if len(inside.kept) > rows.MOST_SHOWN:
        chosen = st.multiselect(
            "Classes shown",
            inside.kept,
            chosen,
            format_func=lambda k: names[k],
            key=f"in_cda_classes_{current.tag}_{inside.records.target}",
            **current.kept,
            max_selections=rows.MOST_SHOWN,
        )
    caption = "One record, the average of l records of its class that it is part of, and the row that would be released."
    with panel("From a record to a row", True, caption):
        if not chosen:
            st.caption("Choose a class.")
            return
        visit.offer(lambda: _code_of_images(current, inside, side, seed, chosen))
        info = rows.stages_info(inside, side, seed, chosen)
        show_figure(rows.draw_images(info), key="in_cda_images")
        st.caption(info.settings + ".")
    caption = (
        "Figure 1 of the paper with noise that keeps its promise: more records in an average, less noise, less variety."
    )
    with panel("Order of mixture against privacy", True, caption):
        label = st.selectbox(
            "Class shown",
            inside.kept,
            format_func=lambda k: names[k],
            key=f"in_cda_label_{current.tag}",
            **current.kept,
            width=220,
        )
        label = inside.kept[0] if label not in inside.kept else label
        orders = [order for order in _ORDERS if order <= inside.records.sizes[label]]
        grid = rows.orders_info(inside, side, seed, label, _sigmas(inside, orders))
        show_figure(rows.draw_images(grid), key="in_cda_orders")


def _code_of_images(current: Dataset, inside: Inside, side: int, seed: int, classes: Sequence[int]) -> str:
    """A record, its average and the row that would be released, as images."""
    body = f"""
found = stages_info(inside, {side}, seed={seed}, classes={list(classes)!r})  # {side} pixels per side
print(found.settings)
draw_images(found).write_html("images.html")
"""
    return _code(current, inside, body, rows="draw_images, stages_info")


def _sigmas(inside: Inside, orders: list[int]) -> dict[tuple[float | None, int], float | None]:
    """σ for every ε and l of the grid; no noise needs no accounting."""
    found: dict[tuple[float | None, int], float | None] = {}
    epsilons = list(_EPSILONS)
    if inside.epsilon not in epsilons:
        epsilons.append(inside.epsilon)
    with st.spinner("Accounting …"):
        for epsilon in sorted(epsilons, key=lambda value: -(value or float("inf"))):
            for order in orders:
                if epsilon is not None:
                    found[epsilon, order] = sigma_for(inside.at(order).sizes, order, epsilon, tolerance=ROUGH)
                else:
                    found[epsilon, order] = 0.0
    return found


def _points(current: Dataset, inside: Inside, seed: int) -> None:
    names, columns = inside.records.classes, list(inside.records.features.single)
    caption = (
        "The same axes throughout: as l grows the averages draw together, and the noise has to be smaller than what is left."
    )
    with panel("From records to rows", True, caption):
        left, middle, right = st.columns([1, 1, 2], gap="medium")
        options = [PRINCIPAL, *columns] if len(columns) > 1 else [PRINCIPAL]
        across = left.selectbox("Across", options, key=f"in_cda_x_{current.tag}_{inside.records.target}", **current.kept)
        axes = None
        if across != PRINCIPAL:
            others = [name for name in columns if name != across]
            axes = (
                across,
                middle.selectbox("Up", others, key=f"in_cda_y_{current.tag}_{inside.records.target}", **current.kept),
            )
        chosen = right.multiselect(
            f"Classes shown (up to {rows.MOST_CLASSES})",
            inside.kept,
            inside.kept[: rows.MOST_CLASSES],
            format_func=lambda k: names[k],
            key=f"in_cda_shown_{current.tag}_{inside.records.target}_{len(inside.kept)}",
            **current.kept,
            max_selections=rows.MOST_CLASSES,
        )
        if not chosen:
            st.caption("Choose a class.")
            return
        visit.offer(lambda: _code_of_points(current, inside, seed, axes, chosen))
        info = rows.points_info(inside, seed, axes, chosen)
        show_figure(rows.draw_points(info), key="in_cda_points")
        st.caption(
            f"These two directions carry {percent(info.explained)} of the variance in all "
            f"{inside.records.dimension:,}. Points that coincide are drawn a little apart."
        )


def _code_of_points(
    current: Dataset, inside: Inside, seed: int, axes: tuple[str, str] | None, classes: Sequence[int]
) -> str:
    """Records, averages and rows as points of a plane."""
    body = f"""
found = points_info(inside, seed={seed}, axes={axes!r}, classes={list(classes)!r})
print(f"these two directions carry {{found.explained:.4%}} of the variance")
draw_points(found).write_html("points.html")
"""
    return _code(current, inside, body, rows="draw_points, points_info")


def _offer_images() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("A table whose columns are the pixels of square images is shown as images, as in the paper's Figure 1.")
        offer_digits("Load the handwritten digits")


def offer_digits(label: str) -> None:
    """A button that loads the bundled images."""
    if st.button(label, icon=":material/image:", key="in_cda_digits"):
        visit.use_sample("digits")
        st.rerun()
