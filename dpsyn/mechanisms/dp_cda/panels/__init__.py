"""Inside DP-CDA: what the mechanism does to the data at hand. For teaching: it reads private rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from dpsyn import escape
from dpsyn.data.images import label_column
from dpsyn.domain import listed
from dpsyn.kit import visit, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import empty
from dpsyn.mechanisms.dp_cda.accounting.quick import sigma_for
from dpsyn.mechanisms.dp_cda.inside import Inside, Records
from dpsyn.mechanisms.dp_cda.panels._claims import paper
from dpsyn.mechanisms.dp_cda.panels._views import code_of_noise, noise, offer_digits, order, pictures
from dpsyn.privacy.mixing.pairs import Variant
from dpsyn.privacy.spec import rounded_up

VIEWS: dict[str, Callable[[Dataset, Inside], None]] = {
    "Noise and budget": noise,
    "What mixing does": pictures,
    "Order of mixture": order,
    "Against the paper": paper,
}
ROWS = tuple(count for count in widgets.COUNTS if 10 <= count <= 100_000)
VARIANT_NAMES: dict[Variant, str] = {"fixed_size": "exactly l records", "poisson": "about l records (Poisson)"}
NO_CLASS = (
    "DP-CDA mixes records of one class, and this table has no column that can be one: 2 to 50 categories and no empty "
    "cells. Say so on the page Data if one of the columns is a category."
)


@visit.fragment
def inside(current: Dataset) -> None:
    """The panels of DP-CDA: sliders that all of them share, and one view of them at a time."""
    with widgets.refusals():
        inside = _choose(current)
        if inside is None:
            return
        chosen = widgets.view_of(VIEWS, "in_cda_view")
        visit.offer(lambda: code_of_noise(current, inside))  # a view that shows something else offers its own
        VIEWS[chosen](current, inside)


def _choose(current: Dataset) -> Inside | None:
    """The sliders and, below them, what follows. None, with the reason shown, if there is nothing to mix."""
    if not current.classes:
        empty(NO_CLASS)
        offer_digits("Load the handwritten digits instead")
        return None
    with st.container(border=True):
        first, second = st.columns(3, gap="medium"), st.columns(4, gap="medium")
    options = list(current.classes)
    usual = label_column(current.table.domain, options) or current.target
    target = first[0].selectbox(
        "Class",
        options,
        index=options.index(usual) if usual in options else 0,
        key=f"in_cda_target_{current.tag}",
        **current.kept,
    )
    with first[1]:
        variant = widgets.pick(
            "A row averages",
            VARIANT_NAMES,
            key="in_cda_variant",
            help="Poisson: every record of a class is taken with probability l/Nₖ and the sum divided by l. One record then "
            "moves a row by c/l instead of 2c/l, and the guarantee does not hang on the class sizes.",
        )
    with second[0]:
        epsilon = widgets.epsilon_slider()
    with second[1]:
        delta = widgets.delta_slider()
    with second[2]:
        order_of_mixture = widgets.order_slider()
    learn = current.parts[0]
    rows = first[2].select_slider(
        "T (rows in all)",
        ROWS,
        min(ROWS, key=lambda count: abs(math.log(count / max(learn.n, 1)))),
        key=f"in_cda_rows_{current.tag}",
        **current.kept,
        format_func=lambda count: f"{count:,}",
        help="In proportion to the sizes of the classes. Every further row costs privacy.",
    )
    clip = second[3].slider(
        "c (largest norm of a record)", 0.1, 1.0, 1.0, 0.05, key="in_cda_clip", bind="query-params",
        help="Longer records are shortened to it. The noise shrinks with c, and so do the records.",
    )  # fmt: skip
    inside = Inside(_records(current, target), epsilon, delta, order_of_mixture, int(rows), float(clip), variant)
    impossible = _impossible(inside)
    if impossible:
        empty(impossible)
        return None
    _figures(inside)
    return inside


def _impossible(inside: Inside) -> str:
    """Why no class can be mixed; empty if one can."""
    records, largest = inside.records, max(inside.records.sizes)
    if records.dimension == 0:
        return "Every column beside the class holds one value only: there is nothing to mix."
    if not inside.kept:
        smaller = f"Take l = {largest} or smaller." if largest else ""
        return f"No class has {inside.order_of_mixture} records: the largest has {largest:,}. {smaller}"
    if inside.rows < len(records.classes):
        return f"T = {inside.rows:,} rows are fewer than the {len(records.classes)} classes: one row per class at least."
    return ""


def _figures(inside: Inside) -> None:
    records, order_of_mixture, made = inside.records, inside.order_of_mixture, inside.rows_per_class
    with st.spinner("Accounting …"):
        sigma = inside.sigma
        published = sigma_for(inside.sizes, order_of_mixture, inside.epsilon, "published")
    widgets.facts(
        {
            "σ, exact accounting": widgets.number(float(rounded_up(sigma, 3))),
            "σ, published but wrong": widgets.number(None if published is None else float(rounded_up(published, 3))),
            "Signal to noise of a row": widgets.number(inside.signal().to_noise(sigma)),
            "Rows per class, Tₖ": "–".join(f"{rows:,}" for rows in sorted({min(made), max(made)})),
            "Smallest class, Nₖ": f"{inside.sizes.smallest:,}",
        }
    )
    if min(made) < max(made):
        st.caption(
            "Rows in proportion to the classes. Feasibility makes equally many of each class, which takes more noise."
        )
    left_out = [name for k, name in enumerate(records.classes) if k not in inside.kept]
    if left_out:
        st.warning(
            f"No rows can be made of {escape.markdown(listed(left_out))}: fewer than l = {order_of_mixture} records. The "
            f"pictures leave {'it' if len(left_out) == 1 else 'them'} out; a smaller l keeps more classes.",
            icon=":material/warning:",
        )
    if len(inside.kept) == 1:
        st.caption(
            f"Only one class is mixed, {escape.markdown(records.classes[inside.kept[0]])}: no record can change its label."
        )


def _records(current: Dataset, target: str) -> Records:
    """The records of the rows that mechanisms see, remembered within the session for this revision and class."""
    memory: dict[tuple[int, str], Records] = st.session_state.setdefault("_mixing_records", {})
    key = (current.revision, target)
    if key not in memory:
        memory.clear()
        memory[key] = Records(current.parts[0].drawn, target)
    return memory[key]
