"""The sliders that the panels of DP-CDA share, and the numbers that follow from them at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from dpsyn.data.images import label_column
from dpsyn.domain import listed
from dpsyn.kit import visit, widgets
from dpsyn.kit.panel import empty
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant, Variant
from dpsyn.mechanisms.dp_cda.figures.accounting import VARIANT_NAMES, Sizes, needed_sigma
from dpsyn.mechanisms.dp_cda.figures.noise import NoiseInfo, noise_info
from dpsyn.mechanisms.dp_cda.figures.records import Records, records_of

ORDERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
ROWS = tuple(count for count in widgets.COUNTS if 10 <= count <= 100_000)


@dataclass(frozen=True)
class Bench:
    """Everything that the panels draw from.

    Attributes:
        current: the dataset.
        records: its records as the mechanism scales them.
        epsilon, delta, order_of_mixture, rows, clip_norm: the sliders.
        variant: how records are drawn.
    """

    current: Dataset
    records: Records
    epsilon: float
    delta: float
    order_of_mixture: int
    rows: int
    clip_norm: float
    variant: Variant

    @property
    def kept(self) -> list[int]:
        """Codes of the classes that can be mixed: l records or more."""
        return self.records.mixable(self.order_of_mixture)

    @property
    def rows_per_class(self) -> int:
        """T_k, the same for every class of the public list."""
        return max(1, self.rows // max(len(self.records.classes), 1))

    def sizes_at(self, order_of_mixture: int) -> Sizes:
        """What the accountants know if rows are made of the classes with l records or more."""
        counts = tuple(self.records.sizes[k] for k in self.records.mixable(order_of_mixture))
        return Sizes(counts, self.rows_per_class, self.delta, self.clip_norm, self.variant)

    @cached_property
    def sizes(self) -> Sizes:
        """The same at the l in use."""
        return self.sizes_at(self.order_of_mixture)

    @cached_property
    def noise(self) -> NoiseInfo:
        """σ by three accountants."""
        return noise_info(self.sizes, self.epsilon, self.order_of_mixture)

    def needed(self, accountant: Accountant) -> float | None:
        """σ of one accountant, None where it has none: quicker than :attr:`noise`, in which the Rényi accountant is slow."""
        return needed_sigma(self.sizes, accountant, self.order_of_mixture, self.epsilon)

    @property
    def sigma(self) -> float:
        """σ of the exact accountant, which always has one where a class can be mixed."""
        return self.needed("exact") or math.inf


def choose(current: Dataset) -> Bench | None:
    """The sliders and, below them, what follows. None, with the reason shown, if there is nothing to mix."""
    if not current.classes:
        empty(
            "DP-CDA mixes records of one class, and this table has no column that can be one: 2 to 50 categories and no "
            "empty cells. Say so on the page Data if one of the columns is a category."
        )
        _offer_digits()
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
        bind="query-params",
    )
    variant = first[1].selectbox(
        "A row averages",
        list(VARIANT_NAMES),
        format_func=VARIANT_NAMES.__getitem__,
        key="in_cda_variant",
        bind="query-params",
        help="Poisson: every record of a class is taken with probability l/Nₖ and the sum divided by l. One record then "
        "moves a row by c/l instead of 2c/l, and the guarantee does not hang on the class sizes.",
    )
    with second[0]:
        epsilon = widgets.epsilon_slider(
            "in_cda_epsilon", value=10.0, why="It starts at 10, the ε of the lessons.", bind="query-params"
        )
    with second[1]:
        delta = widgets.delta_slider("in_cda_delta", bind="query-params")
    order = second[2].select_slider(
        "l (order of mixture)",
        ORDERS,
        4,
        key="in_cda_order",
        bind="query-params",
        help="How many records of a class are averaged into one synthetic row.",
    )
    learn = current.parts[0]
    rows = first[2].select_slider(
        "T (rows in all)",
        ROWS,
        min(ROWS, key=lambda count: abs(math.log(count / max(learn.n, 1)))),
        key=f"in_cda_rows_{current.tag}",
        bind="query-params",
        format_func=lambda count: f"{count:,}",
        help="Shared equally among the classes. Every further row costs privacy.",
    )
    clip = second[3].slider(
        "c (largest norm of a record)", 0.1, 1.0, 1.0, 0.05, key="in_cda_clip", bind="query-params",
        help="Longer records are shortened to it. The noise shrinks with c, and so do the records.",
    )  # fmt: skip
    bench = Bench(current, _records(current, target), epsilon, delta, int(order), int(rows), float(clip), variant)
    if not _possible(bench):
        return None
    _figures(bench)
    return bench


def _possible(bench: Bench) -> bool:
    """Whether some class can be mixed; says which cannot."""
    records, order = bench.records, bench.order_of_mixture
    largest = max(records.sizes)
    if records.dimension == 0:
        empty("Every column beside the class holds one value only: there is nothing to mix.")
        return False
    if not bench.kept:
        empty(
            f"No class has {order} records: the largest has {largest:,}. "
            + (f"Take l = {largest} or smaller." if largest else "")
        )
        return False
    if bench.rows < len(records.classes):
        empty(f"T = {bench.rows:,} rows are fewer than the {len(records.classes)} classes: one row a class at least.")
        return False
    return True


def _figures(bench: Bench) -> None:
    records, kept = bench.records, bench.kept
    with st.spinner("Accounting …"):
        sigma, published = bench.sigma, bench.needed("published")
    signal = records.signal(bench.order_of_mixture, min(bench.clip_norm, 1.0), kept, bench.variant)
    ratio = signal.to_noise(sigma)
    sizes = [records.sizes[k] for k in kept]
    widgets.facts(
        {
            "σ, exact accounting": widgets.number(sigma),
            "σ, published but wrong": widgets.number(published),
            "Signal to noise of a row": widgets.number(ratio),
            "Rows a class, Tₖ": f"{bench.rows_per_class:,}",
            "Smallest class, Nₖ": f"{min(sizes):,}",
        }
    )
    left_out = [name for name, size in zip(records.classes, records.sizes, strict=True) if size < bench.order_of_mixture]
    if left_out:
        st.warning(
            f"No rows can be made of {listed(left_out)}: fewer than l = {bench.order_of_mixture} records. The pictures "
            f"leave {'it' if len(left_out) == 1 else 'them'} out; a smaller l keeps more classes.",
            icon=":material/warning:",
        )
    if len(kept) == 1:
        st.caption(f"Only one class is mixed, {records.classes[kept[0]]}: no record can change its label.")


def _records(current: Dataset, target: str) -> Records:
    """The records of the rows that mechanisms see, remembered within the session for this revision and class."""
    memory: dict[tuple[int, str], Records] = st.session_state.setdefault("_mixing_records", {})
    key = (current.revision, target)
    if key not in memory:
        memory.clear()
        memory[key] = records_of(current.parts[0], target)
    return memory[key]


def _offer_digits() -> None:
    """One click to data that can be seen."""
    if st.button("Load the handwritten digits instead", icon=":material/image:", key="in_cda_digits"):
        visit.use_sample("digits")
        st.rerun()
