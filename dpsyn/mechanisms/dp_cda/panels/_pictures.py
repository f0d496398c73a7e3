"""Real, mixed and noised records: as images where they are images, else as points of a plane."""

from __future__ import annotations

import streamlit as st

from dpsyn.data.images import image_side
from dpsyn.kit import screen, visit, widgets
from dpsyn.kit.charts import show_figure
from dpsyn.kit.panel import panel
from dpsyn.mechanisms.dp_cda.figures import images, points
from dpsyn.mechanisms.dp_cda.figures.accounting import ROUGH, needed_sigma
from dpsyn.mechanisms.dp_cda.panels import _code as code
from dpsyn.mechanisms.dp_cda.panels._controls import Bench

IMAGES, POINTS = "Images", "Points"
PRINCIPAL = "principal axes"
_EPSILONS = (None, 20.0, 10.0, 5.0, 1.0)
_ORDERS = (1, 2, 4, 8, 16, 32, 64, 128)


def pictures(bench: Bench) -> None:
    """Images or points, by a seed that stays until it is drawn again."""
    side = image_side(bench.current.table.domain, bench.records.target)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = POINTS
        if side is not None:
            shown = st.segmented_control(
                "Show as", (IMAGES, POINTS), default=IMAGES, required=True, key="in_cda_show", bind="query-params"
            )
        seed = widgets.seed_control("in_cda_seed")
        st.caption(f"Draw {seed}: the sliders keep its records and its noise, so that only their effect is seen.")
    if shown == IMAGES and side is not None:
        _images(bench, side, seed)
    else:
        _points(bench, seed)
        if side is None:
            _offer_images()


def _images(bench: Bench, side: int, seed: int) -> None:
    names = bench.records.classes
    chosen = bench.kept[: images.MOST_CLASSES]
    if len(bench.kept) > images.MOST_CLASSES:
        chosen = st.multiselect(
            "Classes shown",
            bench.kept,
            chosen,
            format_func=lambda k: names[k],
            key=f"in_cda_classes_{bench.current.tag}_{bench.records.target}",
            bind="query-params",
            max_selections=images.MOST_CLASSES,
        )
    caption = "One record, the average of l records of its class that it is part of, and the row that would be released."
    with panel("From a record to a row", True, caption):
        if not chosen:
            st.caption("Choose a class.")
            return
        screen.offer(lambda: code.images(bench, side, seed, chosen))
        info = images.stages_info(
            bench.records,
            side,
            order_of_mixture=bench.order_of_mixture,
            sigma=bench.sigma,
            epsilon=bench.epsilon,
            radius=bench.clip_norm,
            seed=seed,
            classes=chosen,
            variant=bench.variant,
        )
        show_figure(images.draw_images(info), key="in_cda_images")
        st.caption(info.subtitle + ".")
    caption = (
        "Figure 1 of the paper with noise that keeps its promise: more records in an average, less noise, less variety."
    )
    with panel("Order of mixture against privacy", True, caption):
        label = st.selectbox(
            "Class shown",
            bench.kept,
            format_func=lambda k: names[k],
            key=f"in_cda_label_{bench.current.tag}",
            bind="query-params",
            width=220,
        )
        label = bench.kept[0] if label not in bench.kept else label
        orders = [order for order in _ORDERS if order <= bench.records.sizes[label]]
        grid = images.orders_info(
            bench.records,
            side,
            sigmas=_sigmas(bench, orders),
            radius=bench.clip_norm,
            seed=seed,
            label=label,
            variant=bench.variant,
        )
        show_figure(images.draw_images(grid), key="in_cda_orders")


def _sigmas(bench: Bench, orders: list[int]) -> dict[tuple[float | None, int], float | None]:
    """σ for every ε and l of the grid; no noise needs no accounting."""
    found: dict[tuple[float | None, int], float | None] = {}
    epsilons = list(_EPSILONS)
    if bench.epsilon not in epsilons:
        epsilons.append(bench.epsilon)
    with st.spinner("Accounting …"):
        for epsilon in sorted(epsilons, key=lambda value: -(value or float("inf"))):
            for order in orders:
                if epsilon is not None:
                    found[epsilon, order] = needed_sigma(bench.sizes_at(order), "exact", order, epsilon, ROUGH)
                else:
                    found[epsilon, order] = 0.0
    return found


def _points(bench: Bench, seed: int) -> None:
    names, columns = bench.records.classes, points.numeric_columns(bench.records)
    caption = (
        "The same axes throughout: as l grows the averages draw together, and the noise has to be smaller than what is left."
    )
    with panel("From records to rows", True, caption):
        left, middle, right = st.columns([1, 1, 2], gap="medium")
        options = [PRINCIPAL, *columns] if len(columns) > 1 else [PRINCIPAL]
        across = left.selectbox(
            "Across", options, key=f"in_cda_x_{bench.current.tag}_{bench.records.target}", bind="query-params"
        )
        axes = None
        if across != PRINCIPAL:
            others = [name for name in columns if name != across]
            axes = (
                across,
                middle.selectbox(
                    "Up", others, key=f"in_cda_y_{bench.current.tag}_{bench.records.target}", bind="query-params"
                ),
            )
        chosen = right.multiselect(
            f"Classes shown (up to {points.MOST_CLASSES})",
            bench.kept,
            bench.kept[: points.MOST_CLASSES],
            format_func=lambda k: names[k],
            key=f"in_cda_shown_{bench.current.tag}_{bench.records.target}_{len(bench.kept)}",
            bind="query-params",
            max_selections=points.MOST_CLASSES,
        )
        if not chosen:
            st.caption("Choose a class.")
            return
        screen.offer(lambda: code.points(bench, seed, axes, chosen))
        info = points.points_info(
            bench.records,
            order_of_mixture=bench.order_of_mixture,
            sigma=bench.sigma,
            epsilon=bench.epsilon,
            radius=bench.clip_norm,
            seed=seed,
            axes=axes,
            classes=chosen,
            variant=bench.variant,
        )
        show_figure(points.draw_points(info), key="in_cda_points")
        st.caption(
            f"These two directions carry {100 * info.explained:.0f} % of the variance of the records, which have "
            f"{bench.records.dimension:,} coordinates. Points that coincide are drawn a little apart."
        )


def _offer_images() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("A table whose columns are the pixels of square images is shown as images, as in the paper's Figure 1.")
        if st.button("Load the handwritten digits", icon=":material/image:", key="in_cda_digits"):
            visit.use_sample("digits")
            st.rerun()
