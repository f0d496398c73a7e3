"""Which of two dates comes first, and which of two numbers is smaller: orders that no real row breaks, in other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.errors import quoted
from dpsyn.evaluation.distances import no_chance
from dpsyn.notation import counted, percent
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
MOST_ORDERED = 60
"""Columns of dates, and of numbers, that are looked at."""
_ENOUGH, _FIRST = 100, 1_000
"""Real rows that make an order, and those that are looked at before all."""
_SAMPLED = 10_000
"""Values of a column that are shuffled, at most."""
_LEAST = 0.01
"""Share of rows above which an order is lost, and from which shuffled columns would break it."""
_FRESH = 5
"""So many times as often as fresh real rows others have to break it."""


@dataclass(frozen=True)
class Order:
    """Two columns of dates or of numbers, of which the first is never larger in the real rows.

    Attributes:
        first, second: their names.
        is_date: they are dates.
        real_rows, rows: those in which neither is empty.
        broken: of ``rows`` those in which the first is larger.
        shuffled: the share of the real rows in which it would be if the columns had nothing to do with each other.
    """

    first: str
    second: str
    is_date: bool
    real_rows: int
    rows: int
    broken: int
    shuffled: float

    @property
    def columns(self) -> tuple[str, str]:
        """Both names."""
        return self.first, self.second

    @property
    def share(self) -> float:
        """Share of the rows that break it."""
        return self.broken / max(self.rows, 1)

    def is_lost(self, fresh: float) -> bool:
        """Whether more rows break it than chance explains; ``fresh``: the share of fresh real rows that do."""
        counts = np.array([self.broken, self.rows - self.broken]), np.array([0, self.real_rows])
        return self.share > max(_LEAST, _FRESH * fresh) and bool(no_chance(*counts)[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self) | {"share": self.share}


def orders(table: Table, rows: Table) -> tuple[Order, ...]:
    """The orders of two columns that no row of ``table`` breaks, and how many of ``rows`` do.

    Those of :data:`_ENOUGH` rows and more, which shuffled columns would break in :data:`_LEAST` of the rows; among the first
    :data:`MOST_ORDERED` columns of dates, and as many of numbers.
    """
    return tuple(order for kind in ("date", "numeric") for order in _of_kind(kind, table, rows))


def _of_kind(kind: str, table: Table, rows: Table) -> list[Order]:
    columns = [attribute for attribute in table.domain.attributes if attribute.kind == kind][:MOST_ORDERED]
    # Of the real rows what is written: values that are taken for their nearer bound, or for one multiple, have no order.
    cells = [(a, table.different(a.name)) for a in columns]
    real = [np.where(a.outside(column), np.nan, a.numbers(column)) for a, column in cells]
    other = [a.taken(a.numbers(rows.different(a.name))) for a in columns]
    laws = [_sample(np.sort(values[~np.isnan(values)])) for values in real]
    found = []
    for i, j in permutations(range(len(columns)), 2):
        shuffled = float(np.searchsorted(laws[j], laws[i]).mean()) / len(laws[j]) if min(len(laws[i]), len(laws[j])) else 0.0
        if shuffled < _LEAST or (real[i][:_FIRST] > real[j][:_FIRST]).any() or (real[i] > real[j]).any():
            continue
        ours, theirs = (~np.isnan(side[i]) & ~np.isnan(side[j]) for side in (real, other))
        if ours.sum() >= _ENOUGH:
            names, broken = (columns[i].name, columns[j].name), int((other[i] > other[j]).sum())
            found.append(Order(*names, kind == "date", int(ours.sum()), int(theirs.sum()), broken, shuffled))
    return found


def _sample(law: Floats) -> Floats:
    """As many values, or every so many-th of sorted ones: enough to tell a hundredth."""
    return law[:: -(-len(law) // _SAMPLED) or 1]


def lost_orders(found: Sequence[Order], fresh: Sequence[Order], rows: int) -> str:
    """Of ``rows`` rows the order that most of them break, by no chance, in words; ``fresh``: orders of fresh real rows."""
    beside = {order.columns: order.share for order in fresh}
    lost = [order for order in found if order.is_lost(beside.get(order.columns, 0.0))]
    if not lost:
        return ""
    worst, further = max(lost, key=lambda order: order.share), len({frozenset(order.columns) for order in lost}) - 1
    said = f"In {percent(worst.share)} of the rows{' that have both' * (worst.rows < rows)} {quoted(worst.first)} is "
    said += f"{'after' if worst.is_date else 'larger than'} {quoted(worst.second)}, in none of {worst.real_rows:,} real ones"
    return said + (f"; so it is with {counted(further, 'more pair')} of columns." if further else ".")
