"""What binds two columns of dates or of numbers in the real rows, in other rows: which of them is never larger, and the one
value that their difference or sum has."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Attribute
from dpsyn.errors import quoted
from dpsyn.evaluation.distances import rarer
from dpsyn.notation import counted, percent
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
MOST_ORDERED = 60
"""Columns of dates, and of numbers, that are looked at."""
_ENOUGH, _FIRST = 100, 1_000
"""Real rows that make an order or a rule, and those that are looked at before all."""
_SAMPLED = 10_000
"""Values of a column that are shuffled, at most."""
_LEAST, _MORE = 0.01, 0.2
"""Share of rows above which an order or a rule is lost, and in which more shuffled columns would break it; and part of the
real rows that break a rule, above which it is lost."""
_FRESH, _TWICE = 5, 2
"""So many times as often as fresh real rows others have to break it, and as real rows shuffled ones."""
_ROUNDING = 1e-9, 0.01
"""Values so near are one: in parts of the largest one, or of the unit."""
_TINY = sys.float_info.min


@dataclass(frozen=True)
class _Pair:
    """What binds two columns of dates or of numbers.

    Attributes:
        first, second: their names.
        is_date: they are dates.
        real_rows, rows: those in which neither is empty.
        broken: those of ``rows`` that break it.
        shuffled: the share of the real rows that would if the columns had nothing to do with each other.
        real_broken: those of ``real_rows`` that break it.
    """

    first: str
    second: str
    is_date: bool
    real_rows: int
    rows: int
    broken: int
    shuffled: float
    real_broken: int = 0

    @property
    def columns(self) -> tuple[str, str]:
        """Both names."""
        return self.first, self.second

    @property
    def share(self) -> float:
        """Share of the rows that break it."""
        return self.broken / max(self.rows, 1)

    @property
    def real_share(self) -> float:
        """Share of the real rows that break it."""
        return self.real_broken / max(self.real_rows, 1)

    def is_lost(self, fresh: float) -> bool:
        """Whether more rows break it than chance explains; ``fresh``: the share of fresh real rows that do."""
        sides = (self.broken, self.rows), (self.real_broken, self.real_rows)
        counts = [np.array([broken, n - broken]) for broken, n in sides]
        allowed = max(_LEAST, _MORE * self.real_share, _FRESH * (fresh - self.real_share))
        return self.share - self.real_share > allowed and bool(rarer(*counts)[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self) | {"share": self.share}


@dataclass(frozen=True)
class Order(_Pair):
    """The first column is never larger than the second one in the real rows."""

    def lost(self, both: str) -> str:
        """How many rows break it, in words; ``both``: which rows these are."""
        said = f"In {percent(self.share)} of the rows{both} {quoted(self.first)} is "
        said += f"{'after' if self.is_date else 'larger than'} {quoted(self.second)}"
        return f"{said}, in none of {self.real_rows:,} real ones"


@dataclass(frozen=True)
class Rule(_Pair):
    """The second column less the first one, or the sum of both, is one value in most real rows.

    Attributes:
        values: it, or two multiples of the unit next to each other, of which one is it.
        is_sum: of the sum.
    """

    values: tuple[float, ...] = (0.0,)
    is_sum: bool = False

    def lost(self, both: str) -> str:
        """How many rows keep it, in words; ``both``: which rows these are."""
        first, second = quoted(self.first), quoted(self.second)
        said = f"{first} + {second}" if self.is_sum else f"{second} - {first}"
        said += f" is {' or '.join(f'{value:.15g}' for value in self.values)}{' days' * self.is_date}"
        if self.values == (0.0,) and not self.is_sum:
            said = f"{second} equals {first}"
        kept = (
            f"{self.real_rows - self.real_broken:,} of {self.real_rows:,}" if self.real_broken else f"all {self.real_rows:,}"
        )
        return f"In {kept} real rows{both and f'{both},'} {said}, in {percent(1 - self.share, 3)} of the synthetic ones"


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of real and other rows, and its real values, sorted: enough of them to tell a hundredth."""

    attribute: Attribute
    real: Floats
    other: Floats
    law: Floats

    @classmethod
    def of(cls, attribute: Attribute, table: Table, rows: Table) -> _Column:
        # Of the real rows what is written: values that are taken for their nearer bound, or for one multiple, have no order.
        cells = table.different(attribute.name)
        real = np.where(attribute.outside(cells), np.nan, attribute.numbers(cells))
        law = np.sort(real[~np.isnan(real)])
        other = attribute.taken(attribute.numbers(rows.different(attribute.name)))
        return cls(attribute, real, other, law[:: -(-len(law) // _SAMPLED) or 1])


def orders_and_rules(table: Table, rows: Table) -> tuple[tuple[Order, ...], tuple[Rule, ...]]:
    """Orders of two columns that no row of ``table`` breaks, rules that most of them keep, and how many of ``rows`` do not.

    Those of :data:`_ENOUGH` rows and more, which shuffled columns would break in :data:`_LEAST` of the rows, and twice as
    often as the real ones; among the first :data:`MOST_ORDERED` columns of dates, and as many of numbers. Of columns that a
    rule binds to an earlier one in all rows, that rule stands for all others.
    """
    orders, rules = list[Order](), list[Rule]()
    for kind in ("date", "numeric"):
        named = [attribute for attribute in table.domain.attributes if attribute.kind == kind][:MOST_ORDERED]
        columns = [_Column.of(attribute, table, rows) for attribute in named]
        orders += _orders(columns)
        with np.errstate(over="ignore", invalid="ignore"):  # what is infinite keeps no rule
            rules += _rules(columns)
    return tuple(orders), tuple(rules)


def _orders(columns: Sequence[_Column]) -> Iterator[Order]:
    for one, two in permutations(columns, 2):
        if (one.real[:_FIRST] > two.real[:_FIRST]).any() or (one.real > two.real).any():
            continue
        some = min(len(one.law), len(two.law))
        shuffled = float(np.searchsorted(two.law, one.law).mean()) / len(two.law) if some else 0.0
        if shuffled < _LEAST:
            continue
        ours, theirs = (~np.isnan(a) & ~np.isnan(b) for a, b in ((one.real, two.real), (one.other, two.other)))
        if ours.sum() >= _ENOUGH:
            names, broken = (one.attribute.name, two.attribute.name), int((one.other > two.other).sum())
            kind = one.attribute.kind == "date"
            yield Order(*names, kind, int(ours.sum()), int(theirs.sum()), broken, shuffled)


def _rules(columns: Sequence[_Column]) -> Iterator[Rule]:
    bound = set[int]()
    for i, one in enumerate(columns):
        if i in bound:
            continue
        for is_sum in (False, True)[: 1 + (one.attribute.kind == "numeric")]:
            for j, values, shuffled in _likely(columns, i, is_sum):
                rule = None if j in bound else _rule(one, columns[j], values, shuffled, is_sum)
                if rule is not None:
                    bound |= {j} if len(values) == 1 and not rule.real_broken else set()
                    yield rule


def _likely(columns: Sequence[_Column], i: int, is_sum: bool) -> Iterator[tuple[int, tuple[float, ...], float]]:
    """Later columns that a rule binds to one of them in some rows; its values, and the share that breaks it shuffled."""
    one, step = columns[i], -(-len(columns[i].real) // _FIRST) or 1
    some = np.array([column.real[::step] for column in columns[i:]])
    apart = np.sort(_apart(some[0], some[1:], is_sum), axis=1)  # empty cells come last
    known = (~np.isnan(apart)).sum(axis=1)
    middle = apart[np.arange(len(apart)), (known - 1).clip(0) // 2]
    wide = np.array([sum(_grain(one, column)) for column in columns[i + 1 :]])
    for at in np.flatnonzero(2 * (np.abs(apart - middle[:, None]) <= wide[:, None]).sum(axis=1) > known).tolist():
        two, found = columns[i + 1 + at], apart[at, : known[at]]
        near, unit = _grain(one, two)
        value = round(float(middle[at]), max(0, math.ceil(-math.log10(near))))
        pairs = [(value - unit, value), (value, value + unit)] if unit else []
        broken = {values: 1 - float(_kept(found, values, near)) / len(found) for values in [(value,), *pairs]}
        values = next((values for values, share in broken.items() if share <= _LEAST), (value,))
        ours, theirs = (column.law[:: -(-len(column.law) // _FIRST)] for column in (one, two))
        meant = [v - ours if is_sum else v + ours for v in values]
        shuffled = 1 - float(np.mean(_kept(theirs, meant, near))) / len(theirs)
        if shuffled >= _TWICE * broken[values] + _LEAST:
            yield i + 1 + at, values, shuffled


def _apart(one: Floats, two: Floats, is_sum: bool) -> Floats:
    return two + one if is_sum else two - one


def _grain(one: _Column, two: _Column) -> tuple[float, float]:
    """How near differences are that count as one, and the unit of both columns; 0 where they have none in common."""
    some = [column.attribute.unit for column in (one, two)]
    if some[0] is None or some[1] is None:
        ends = [abs(float(column.law[at])) for column in (one, two) if len(column.law) for at in (0, -1)]
        return max(_ROUNDING[0] * max(ends, default=0.0), _TINY), 0.0
    return max(_ROUNDING[1] * min(some[0], some[1]), _TINY), some[0] if some[0] == some[1] else 0.0


def _kept(law: Floats, values: Sequence[float] | Sequence[Floats], near: float) -> npt.NDArray[np.intp]:
    """How many of sorted numbers are one of some values."""
    found = [np.searchsorted(law, value + near, "right") - np.searchsorted(law, value - near) for value in values]
    return np.asarray(sum(found))


def _rule(one: _Column, two: _Column, values: tuple[float, ...], shuffled: float, is_sum: bool) -> Rule | None:
    """A rule with all rows that keep it; None of too few."""
    near, counts = _grain(one, two)[0], list[tuple[int, int]]()
    for apart in (_apart(one.real, two.real, is_sum), _apart(one.other, two.other, is_sum)):
        n = int((~np.isnan(apart)).sum())
        counts.append((n, n - sum(int((np.abs(apart - value) <= near).sum()) for value in values)))
    (n, real_broken), (k, broken) = counts
    if n < _ENOUGH:
        return None
    names = (one.attribute.name, two.attribute.name)
    if sum(values) < 0 and not is_sum:
        names, values = names[::-1], tuple(0.0 - value for value in reversed(values))
    return Rule(*names, one.attribute.kind == "date", n, k, broken, shuffled, real_broken, values, is_sum)


def lost_orders(found: Sequence[Order | Rule], fresh: Sequence[Order | Rule], rows: int) -> str:
    """Of ``rows`` rows the order or rule that most break, by no chance, in words; first those that all real rows keep.

    ``fresh``: of fresh real rows.
    """
    beside = {(type(pair), pair.columns): pair.share for pair in fresh}
    lost = [pair for pair in found if pair.is_lost(beside.get((type(pair), pair.columns), pair.real_share))]
    if not lost:
        return ""
    worst = max(lost, key=lambda pair: (not pair.real_broken, pair.share - pair.real_share))
    said, further = worst.lost(" that have both" * (worst.rows < rows)), len({frozenset(pair.columns) for pair in lost}) - 1
    return said + (f"; such a rule is lost in {counted(further, 'more pair')} of columns." if further else ".")
