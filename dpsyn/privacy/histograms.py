"""Fine histograms of numeric and date columns: which bins a mechanism tells apart, and what values a bin really holds.

The public range of a column is split into parts, each of these again, and so on down to single multiples of its unit (whole
numbers, cents, days), as far as there are levels; a part is split only where its noisy count stands out of the noise, so a
tree costs few counts and the noise has nowhere to pile up. A row lies in at most one part of every level: adding a row moves
one count per level by 1, replacing a row at most two, whatever was split before. The rest is post-processing: counts become
consistent (least squares upwards, as in Hay, Rastogi, Miklau, Suciu 2010, then, downwards, the nearest non-negative counts
with the right sum); the bins of a mechanism are those inside which values and ranks vary least, so frequent values stand
alone; and inside a bin values are drawn from the parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.calendar import WithCalendar, calendar_codes
from dpsyn.data.counted import AnyTable, CountedTable
from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.privacy.days import drawn_days
from dpsyn.privacy.spec import Neighbouring
from dpsyn.privacy.trees import Counted, Floats, Histogram, Integers, Parts, Released, levels_of
from dpsyn.solvers.coded import CodedRows, Rows
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.table import Table

_CLOSEST = 0.995
"""Correlation of a copula, at most."""
_MOST_CHOSEN = 100
"""Bins up to which cuts are chosen; more stay equally wide."""
_RANKS = 4.0
"""Weight of ranks beside values where bins are chosen."""
_LOOKED_AT = 50_000
"""Rows by which bins are chosen without noise, at most."""
_GRAINS = 400
"""Cuts between bins are looked for every so many parts of the rows."""
_LEAST, _LEAST_SHARE, _TOO_FEW = 2.0, 0.3, -1e9
"""A bin holds so many deviations of the noise, or this share of what bins hold on average, or counts as so bad: rows that
noise adds to a far bin, which has few, move the mean."""
_LOUD, _CROWDED, _DEAFENING = 0.25, 0.6, 6.0
"""Deviation of the noise, in rows of a bin on average, from which it would choose the bins. Unless one of the domain's holds
more than this share of the rows: it is to be told apart all the same. Where all rows are fewer deviations, noise fills a
bin."""


def deafened(rows: float, deviation: float) -> bool:
    """Whether noise of this deviation on counts of so many rows can fill a bin: bins are then those of the domain."""
    return bool(rows <= _DEAFENING * deviation)


@dataclass(frozen=True, eq=False)
class Bins:
    """What a mechanism tells apart in one column, and what is drawn inside.

    Attributes:
        histogram: of the column.
        edges: bin i holds edges[i] ≤ value < edges[i+1], the last one its upper edge too. Shape (bins + 1,).
        parts: of the range, none of which is in two bins.
    """

    histogram: Histogram
    edges: Floats
    parts: Parts

    @classmethod
    def of(cls, histogram: Histogram, parts: Parts, deviation: float = 0.0) -> Bins:
        """As many bins as the domain has, with the least variation of values and of ranks inside them, and with more rows in
        each than noise of this deviation may bring."""
        return cls.between(histogram, parts, _edges(parts, histogram, deviation))

    @classmethod
    def of_equal_width(cls, attribute: Attribute, position: int) -> Bins:
        """The bins of the domain, of which nothing else is known."""
        low, high, edges = attribute.unit_edges[:1], attribute.unit_edges[-1:], attribute.unit_edges
        return cls.between(Histogram(attribute, position, 0), Parts(low, high, high - low, np.zeros((5, 0))), edges)

    @classmethod
    def between(cls, histogram: Histogram, parts: Parts, edges: Floats) -> Bins:
        """The bins between these edges."""
        return cls(histogram, edges, parts.cut(edges[1:-1]))

    def by_chance(self, deviation: float) -> bool:
        """Whether noise of this deviation, and not the rows, would choose other bins than these, which are equally wide."""
        rows = self.parts.between(self.edges)[0]
        total = rows.sum()
        crowded = rows.max() > _CROWDED * total and not deafened(total, deviation)
        return bool(deviation > _LOUD * rows.mean() and not crowded)

    def codes(self, values: Floats) -> npt.NDArray[np.int32]:
        """The bin of every value, shape (n,); one past the last bin where it is NaN."""
        found = np.searchsorted(self.edges[1:-1], values, side="right")
        return np.where(np.isnan(values), len(self.edges) - 1, found).astype(np.int32)

    def draw(
        self,
        codes: npt.NDArray[np.int32],
        position: Floats,
        generator: np.random.Generator,
        wanted: Mapping[str, Codes] = MappingProxyType({}),
    ) -> pd.Series[Any]:
        """A value for every code: low-variance draws of the parts, uniform inside one.

        Args:
            codes: shape (k,).
            position: the larger a row's, the larger its value among the rows of its bin. Shape (k,).
            generator: of the draws.
            wanted: what a day is to have of the calendar, by part; shape (k,) each.
        """
        attribute = self.histogram.attribute
        values = np.full(len(codes), np.nan)
        if wanted:
            return attribute.from_units(self._days(codes, position, generator, wanted))
        groups, of = np.unique(codes, return_inverse=True)
        order = np.lexsort((position, of))
        starts = np.searchsorted(of[order], np.arange(len(groups) + 1))
        ends = np.append(np.searchsorted(self.parts.low, self.edges[:-1]), len(self.parts.low))
        for code, first, last in zip(groups.tolist(), starts, starts[1:], strict=False):
            mine = order[first:last]
            if code < len(ends) - 1:
                inside = slice(ends[code], ends[code + 1])
                low, high, rows = self.parts.low[inside], self.parts.high[inside], self.parts.rows[inside]
                at = systematic_rows(rows if rows.sum() > 0 else high - low, len(mine), generator)
                drawn = generator.uniform(low[at], high[at])
                # Rounding may reach the upper end of a part, which belongs to the next one.
                drawn = np.floor(drawn) if self.histogram.whole else np.minimum(drawn, np.nextafter(high[at], low[at]))
                values[mine] = np.sort(drawn)
        return attribute.from_units(values)

    def _days(
        self,
        codes: npt.NDArray[np.int32],
        position: Floats,
        generator: np.random.Generator,
        wanted: Mapping[str, Codes],
    ) -> Floats:
        """As :meth:`draw`, for days that have what is wanted of the calendar."""
        days = np.arange(self.parts.low[0], self.parts.high[-1])
        at = np.searchsorted(self.parts.low, days, side="right") - 1
        weights = (self.parts.rows / (self.parts.high - self.parts.low))[at]
        known = np.column_stack([self.codes(days), *(calendar_codes(part, days) for part in wanted)]).astype(np.int64)
        some = codes < len(self.edges) - 1
        wished = np.column_stack([codes, *wanted.values()])[some].astype(np.int64)
        values = np.full(len(codes), np.nan)
        values[some] = days[drawn_days(weights, known, wished, position[some], generator)]
        return values

    def labels(self) -> list[str]:
        """A short text for every code, in code order."""
        return self.histogram.attribute.labels(self.edges)


@dataclass(frozen=True, eq=False)
class Encoding:
    """Codes for the rows of a table, and rows for codes.

    Attributes:
        domain: of the table; its own bins are those of the columns that have no others.
        bins: of numeric and date columns, by the position of their column.
        deviation: standard deviation of the noise on a count that they were made from.
    """

    domain: Domain
    bins: Mapping[int, Bins] = field(default_factory=dict)
    deviation: float = 0.0

    def rows(self, table: AnyTable) -> Rows:
        """The rows as codes, to be counted."""
        if isinstance(table, CountedTable):
            return table.coded(self.domain, {j: bins.edges for j, bins in self.bins.items()})
        return CodedRows(self.codes(table), self.domain.shape)

    def codes(self, table: Table) -> Codes:
        """Codes of the rows, shape (n, columns)."""
        codes = table.codes
        if self.bins:
            codes = np.array(codes)
        for j, bins in self.bins.items():
            codes[:, j] = bins.codes(bins.histogram.values(table))
        return self.domain.with_added(codes, table) if isinstance(self.domain, WithCalendar) else codes

    def decode(self, codes: Codes, generator: np.random.Generator) -> pd.DataFrame:
        """Rows for codes of shape (k, columns), without the columns that a calendar added: days agree with them."""
        columns, positions = {}, dict[int, Floats]()
        widened = self.domain if isinstance(self.domain, WithCalendar) else None
        asked = self.domain if widened is None else widened.asked
        for j, attribute in enumerate(asked.attributes):
            wanted = {} if widened is None else widened.wanted(codes, j)
            if j in self.bins or wanted:
                bins = self.bins[j] if j in self.bins else Bins.of_equal_width(attribute, j)
                positions[j] = _positions(codes, j, positions, self.domain.shape, generator)
                columns[attribute.name] = bins.draw(codes[:, j], positions[j], generator, wanted)
            else:
                columns[attribute.name] = attribute.decode(codes[:, j], generator)
        return pd.DataFrame(columns, columns=list(asked.names))

    def counts(self, column: int) -> tuple[Floats, Floats]:
        """Estimated rows of every code of a column that has bins here, and their variance. Shape (codes,)."""
        bins, attribute = self.bins[column], self.domain.attributes[column]
        rows, variance = bins.parts.between(bins.edges)
        nothing = np.zeros(int(attribute.missing))
        return np.append(rows, nothing), np.append(self.deviation**2 * variance, nothing + math.inf)

    def labels(self, column: int) -> list[str]:
        """A short text for every code of a column."""
        attribute = self.domain.attributes[column]
        return self.bins[column].labels() if column in self.bins else attribute.labels()


@dataclass(frozen=True, eq=False)
class Histograms:
    """The trees over all columns that have one."""

    domain: Domain
    columns: tuple[Histogram, ...]
    fixed_bins: bool = False

    @classmethod
    def of(cls, domain: Domain, *, fixed_bins: bool = False) -> Histograms | None:
        """A tree for every numeric and date column whose bins hold more than one value; None if there is no such column.

        With ``fixed_bins`` they only say what is drawn inside the bins of the domain.
        """
        found = [
            Histogram(attribute, j, levels)
            for j, attribute in enumerate(domain.attributes)
            if attribute.is_binned and (levels := levels_of(attribute))
        ]
        return cls(domain, tuple(found), fixed_bins) if found else None

    @property
    def levels(self) -> int:
        """Of all trees together: a row is counted at most once in each."""
        return sum(column.levels for column in self.columns)

    def moved(self, neighbouring: Neighbouring) -> int:
        """How many counts a neighbour moves by 1 at most: one in each level for a row, two where one is replaced."""
        return self.levels * (2 if neighbouring == "replace_one" else 1)

    def by_codes(self, codes: Codes) -> Integers:
        """Counts of rows that are known by their codes alone, in trees where two bins have no part in common.

        Shape (levels · bins of each column together,).
        """
        counted = [
            np.tile(np.bincount(codes[:, column.position], minlength=column.attribute.size)[:bins], column.levels)
            for column in self.columns
            for bins in [column.attribute.effective_bins]
        ]
        return np.concatenate(counted).astype(np.int64)

    def learn(self, table: AnyTable, released: Released, deviation: float, rows: int | None) -> Encoding:
        """Grow every tree, and choose bins by them; where noise alone would choose, they are those of the domain.

        Args:
            table: the rows.
            released: adds noise to counts.
            deviation: standard deviation of that noise.
            rows: their number where it is public.
        """
        bins = {}
        for column in self.columns:
            known = None if column.attribute.missing else rows
            levels = column.grown(_counted(column, table), released, deviation)
            parts = column.parts(levels, known, deviation)
            bins[column.position] = Bins.between(column, parts, column.attribute.unit_edges)
            if not self.fixed_bins and not bins[column.position].by_chance(deviation):
                bins[column.position] = Bins.of(column, parts, deviation)
        return Encoding(self.domain, bins, deviation)


def _counted(column: Histogram, table: AnyTable) -> Counted:
    """How to count the rows in the parts of a column."""
    if isinstance(table, CountedTable):
        return table.parts(column.position, column.ends, column.finest)
    values = column.values(table)
    return partial(column.counts, values[~np.isnan(values)])


def bins_of(table: Table) -> Encoding:
    """The bins that a mechanism would choose without noise: private, for measuring what others made of the rows.

    Where far ends leave too many different values in one of the narrowest parts of a tree, by ranks instead.
    """
    histograms = Histograms.of(table.domain)
    if histograms is None or table.n == 0:
        return Encoding(table.domain)
    some = table if table.n <= _LOOKED_AT else table.take(np.linspace(0, table.n - 1, _LOOKED_AT).astype(np.int64))
    found = histograms.learn(some, lambda counts: counts, 0.0, some.n)
    bins = {
        column.position: Bins.of(column, parts)
        for column in histograms.columns
        if (parts := _by_ranks(column, found.bins[column.position].parts, column.values(some))) is not None
    }
    return replace(found, bins={**found.bins, **bins})


def _by_ranks(column: Histogram, parts: Parts, values: Floats) -> Parts | None:
    """Parts that hold about as many rows each, or one frequent value; None where those of the tree tell values apart."""
    values = np.sort(values[~np.isnan(values)])
    first = np.searchsorted(values, parts.low)
    last = np.append(first[1:], len(values))
    crowded = last - first > len(values) / column.attribute.effective_bins
    if not any(values[a] < values[b - 1] for a, b in zip(first[crowded], last[crowded], strict=True)):
        return None
    at = np.unique(values[np.linspace(0, len(values) - 1, _GRAINS).astype(np.int64)])
    start, end = column.ends
    edges = np.union1d(at, at + 1 if column.whole else np.nextafter(at, math.inf))
    edges = np.concatenate([[start], edges[(start < edges) & (edges < end)], [end]])
    rows = np.diff(np.append(np.searchsorted(values, edges[:-1]), len(values))).astype(np.float64)
    return Parts(edges[:-1], edges[1:], rows, np.zeros((5, 0)))


def _edges(parts: Parts, histogram: Histogram, deviation: float) -> Floats:
    """Edges of as many bins as there are of equal width, shape (bins + 1,).

    Least Σ over bins of the squared distances from the bin's mean, of the values and, four times as important, of their
    ranks, each as a share of the variance of the column: values alone would spend all bins on a tail, ranks alone would lose
    it. One-dimensional k-means by dynamic programming (Fisher 1958) over cuts at the parts' ends, at finer ones in wide
    parts, and at equal widths; none splits the rows of one of the narrowest parts, which may be one value.
    """
    equal_width = histogram.attribute.unit_edges
    bins, total = len(equal_width) - 1, float(parts.rows.sum())
    if not 1 < bins <= _MOST_CHOSEN or total <= 0:
        return equal_width
    narrow = parts.high - parts.low <= histogram.narrowest
    pieces = np.where(narrow, 1, np.ceil(parts.rows / total * _GRAINS)).clip(1).astype(np.int64)
    share = (np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / np.repeat(pieces, pieces)
    inner = np.repeat(parts.low, pieces) + share * np.repeat(parts.high - parts.low, pieces)
    holding = np.searchsorted(parts.low, equal_width[1:-1], side="right") - 1
    harmless = ~narrow[holding] | (parts.rows[holding] == 0)
    fine = parts.cut(np.append(np.floor(inner) if histogram.whole else inner, equal_width[1:-1][harmless]))
    if len(fine.low) < bins:
        fine = fine.cut(equal_width[1:-1])
    start, end = histogram.ends
    rows, values = fine.rows / total, ((fine.low - start) / (end - start) + (fine.high - start) / (end - start)) / 2
    reached = np.cumsum(rows)
    sums = [np.append(0.0, reached)]
    for importance, coordinate in ((_RANKS, reached - rows / 2), (1.0, values)):
        mean = float(rows @ coordinate)
        apart = coordinate - mean
        variance = float(rows @ apart**2) or 1.0
        sums += [np.append(0.0, np.cumsum(rows * apart)) * math.sqrt(importance / variance)]
    # Cuts are worth trying beside a part with rows, where a grain of rows is reached, and at equal widths.
    grain = 1 / _GRAINS
    full = rows >= grain
    tried = full[:-1] | full[1:] | (np.diff(np.floor(reached / grain)) != 0) | np.isin(fine.low[1:], equal_width)
    if tried.sum() < bins - 1:
        tried[:] = True
    at = np.concatenate([[0], np.flatnonzero(tried) + 1, [len(rows)]])
    mass, first, second = (one[at] for one in sums)
    # Least squared distances are largest squared sums over masses.
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = mass[None] - mass[:, None]
        gain = ((first[None] - first[:, None]) ** 2 + (second[None] - second[:, None]) ** 2) / weight
    gain = np.where(weight > 0, gain, 0.0)
    gain[weight < min(_LEAST * deviation / total, _LEAST_SHARE / bins)] = _TOO_FEW
    gain[np.tril_indices(len(at))] = -math.inf
    best, cuts = gain[0], []
    for _ in range(bins - 1):
        reach = best[:, None] + gain
        cuts.append(reach.argmax(axis=0))
        best = reach.max(axis=0)
    chosen = [len(at) - 1]
    for back in cuts[::-1]:
        chosen.append(int(back[chosen[-1]]))
    inner_edges = fine.low[at[chosen[:0:-1]]]
    return np.concatenate([equal_width[:1], inner_edges, equal_width[-1:]])


def _positions(
    codes: Codes, column: int, known: Mapping[int, Floats], sizes: Sequence[int], generator: np.random.Generator
) -> Floats:
    """Where in its bin each row's value lies, from 0 to 1, given the column that depends most on this one. Shape (k,).

    How frequent the partner's code is runs straight from the middle of one bin to that of the next, so a row whose partner
    is more frequent in the next bin lies higher up. Where the partner's positions are ``known``, by column, both follow a
    Gaussian copula with the rank correlation of their bins: columns that rise together do so inside a bin.
    """
    uniform = generator.random(len(codes))
    partner = _strongest_partner(codes, column, sizes)
    if partner is None:
        return uniform
    if partner in known:
        return _by_copula(codes[:, column], codes[:, partner], known[partner], uniform)
    table = _table(codes, column, partner, sizes)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    below, above = np.vstack([share[:1], share[:-1]]) + share, np.vstack([share[1:], share[-1:]]) + share
    slopes = (above - below) / np.maximum(above + below, 1e-300)
    return _linear(slopes[codes[:, column], codes[:, partner]], uniform)


def _by_copula(mine: Codes, other: Codes, position: Floats, uniform: Floats) -> Floats:
    """Positions in the bins of one column given the other's, from uniform numbers: a normal law cut at the bin's ends."""
    from scipy import special

    low, high = _ranks(mine)
    before, after = _ranks(other)
    middle, partner = (low + high) / 2 - 0.5, (before + after) / 2 - 0.5
    correlation = float((middle * partner).mean()) / math.sqrt(max(middle.var() * partner.var(), 1e-14))
    correlation = float(np.clip(2 * math.sin(math.pi / 6 * np.clip(correlation, -1, 1)), -_CLOSEST, _CLOSEST))
    given = special.ndtri(np.clip(before + (after - before) * position, 1e-9, 1 - 1e-9))
    spread = math.sqrt(1 - correlation**2)
    first, last = (special.ndtr((special.ndtri(end) - correlation * given) / spread) for end in (low, high))
    drawn = special.ndtr(correlation * given + spread * special.ndtri(first + (last - first) * uniform))
    return np.asarray(np.clip(np.nan_to_num((drawn - low) / (high - low), nan=0.5), 0.0, 1.0))


def _ranks(codes: Codes) -> tuple[Floats, Floats]:
    """Shares of the rows with a smaller code, and with one at most as large. Shape (k,) each."""
    reached = np.append(0.0, np.cumsum(np.bincount(codes))) / len(codes)
    return reached[codes], reached[codes + 1]


def _table(codes: Codes, first: int, second: int, sizes: Sequence[int]) -> Floats:
    cells = codes[:, first].astype(np.int64) * sizes[second] + codes[:, second]
    return np.bincount(cells, minlength=sizes[first] * sizes[second]).reshape(sizes[first], -1).astype(np.float64)


def _strongest_partner(codes: Codes, column: int, sizes: Sequence[int]) -> int | None:
    """The other column with the largest mutual information, less what chance alone gives; None without any."""
    best, most = None, 0.0
    for other in range(len(sizes)):
        if other == column or not len(codes):
            continue
        table = _table(codes, column, other, sizes) / len(codes)
        product = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
        filled = table > 0
        information = float((table[filled] * np.log(table[filled] / product[filled])).sum())
        by_chance = ((product.any(axis=1).sum() - 1) * (product.any(axis=0).sum() - 1)) / (2 * len(codes))
        if information - by_chance > most:
            best, most = other, information - by_chance
    return best


def _linear(slope: Floats, uniform: Floats) -> Floats:
    """The inverse of u ↦ (1 - s)·u + s·u², which is the distribution function of the density 1 - s + 2s·u on [0, 1]."""
    flat = np.abs(slope) < 1e-9
    safe = np.where(flat, 1.0, slope)
    bent = (safe - 1 + np.sqrt((1 - safe) ** 2 + 4 * safe * uniform)) / (2 * safe)
    return np.asarray(np.clip(np.where(flat, uniform, bent), 0.0, 1.0))
