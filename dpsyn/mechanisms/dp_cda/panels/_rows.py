"""Real, mixed and noised records: as images where they are images, else as points of a plane."""

from __future__ import annotations

import streamlit as st

from dpsyn.data.images import image_side
from dpsyn.kit import screen, visit, widgets
from dpsyn.kit.charts import show_figure
from dpsyn.kit.panel import panel
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.dp_cda.accounting.quick import ROUGH, sigma_for
from dpsyn.mechanisms.dp_cda.figures import rows
from dpsyn.mechanisms.dp_cda.inside import Inside
from dpsyn.mechanisms.dp_cda.panels import _code as code

IMAGES, POINTS = "Images", "Points"
PRINCIPAL = "principal axes"
_EPSILONS = (None, 20.0, 10.0, 5.0, 1.0)
_ORDERS = (1, 2, 4, 8, 16, 32, 64, 128)


def pictures(current: Dataset, inside: Inside) -> None:
    """Images or points, by a seed that stays until it is drawn again."""
    side = image_side(current.table.domain, inside.records.target)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = POINTS
        if side is not None:
            shown = st.segmented_control(
                "Show as", (IMAGES, POINTS), default=IMAGES, required=True, key="in_cda_show", bind="query-params"
            )
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
            bind="query-params",
            max_selections=rows.MOST_SHOWN,
        )
    caption = "One record, the average of l records of its class that it is part of, and the row that would be released."
    with panel("From a record to a row", True, caption):
        if not chosen:
            st.caption("Choose a class.")
            return
        screen.offer(lambda: code.images(current, inside, side, seed, chosen))
        info = rows.stages_info(inside, side, seed, chosen)
        show_figure(rows.draw_images(info), key="in_cda_images")
        st.caption(info.subtitle + ".")
    caption = (
        "Figure 1 of the paper with noise that keeps its promise: more records in an average, less noise, less variety."
    )
    with panel("Order of mixture against privacy", True, caption):
        label = st.selectbox(
            "Class shown",
            inside.kept,
            format_func=lambda k: names[k],
            key=f"in_cda_label_{current.tag}",
            bind="query-params",
            width=220,
        )
        label = inside.kept[0] if label not in inside.kept else label
        orders = [order for order in _ORDERS if order <= inside.records.sizes[label]]
        grid = rows.orders_info(inside, side, seed, label, _sigmas(inside, orders))
        show_figure(rows.draw_images(grid), key="in_cda_orders")


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
    names, columns = inside.records.classes, rows.numeric_columns(inside.records)
    caption = (
        "The same axes throughout: as l grows the averages draw together, and the noise has to be smaller than what is left."
    )
    with panel("From records to rows", True, caption):
        left, middle, right = st.columns([1, 1, 2], gap="medium")
        options = [PRINCIPAL, *columns] if len(columns) > 1 else [PRINCIPAL]
        across = left.selectbox(
            "Across", options, key=f"in_cda_x_{current.tag}_{inside.records.target}", bind="query-params"
        )
        axes = None
        if across != PRINCIPAL:
            others = [name for name in columns if name != across]
            axes = (
                across,
                middle.selectbox("Up", others, key=f"in_cda_y_{current.tag}_{inside.records.target}", bind="query-params"),
            )
        chosen = right.multiselect(
            f"Classes shown (up to {rows.MOST_CLASSES})",
            inside.kept,
            inside.kept[: rows.MOST_CLASSES],
            format_func=lambda k: names[k],
            key=f"in_cda_shown_{current.tag}_{inside.records.target}_{len(inside.kept)}",
            bind="query-params",
            max_selections=rows.MOST_CLASSES,
        )
        if not chosen:
            st.caption("Choose a class.")
            return
        screen.offer(lambda: code.points(current, inside, seed, axes, chosen))
        info = rows.points_info(inside, seed, axes, chosen)
        show_figure(rows.draw_points(info), key="in_cda_points")
        st.caption(
            f"These two directions carry {100 * info.explained:.0f} % of the variance of the records, which have "
            f"{inside.records.dimension:,} coordinates. Points that coincide are drawn a little apart."
        )


def _offer_images() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("A table whose columns are the pixels of square images is shown as images, as in the paper's Figure 1.")
        if st.button("Load the handwritten digits", icon=":material/image:", key="in_cda_digits"):
            visit.use_sample("digits")
            st.rerun()
