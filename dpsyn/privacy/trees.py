"""A tree over the range of one numeric or date column: counts with noise, level by level, and what they say together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Attribute
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Released = Callable[[Integers], npt.NDArray[Any]]
"""Counts with noise, for exact ones."""

Counted = Callable[[Floats], Integers]
"""Rows in every part, exact, for edges of shape (parts above, 11): :meth:`Histogram.counts` of values, or of an engine."""

BRANCHES = 10
_MOST_LEVELS, _MOST_REAL = 8, 4
"""Levels of a column with a unit, and of one without, at most."""
_STANDS_OUT = 3.0
"""Standard deviations of the noise from which on a part is split."""
_MOST_SPLIT = 500
"""Parts of a level that are split, at most."""


@dataclass(frozen=True, eq=False)
class Level:
    """Parts that were counted together: ten for each part above that was split.

    Attributes:
        edges: of the parts, shape (split parts above, 11); a part without a multiple of the unit has equal edges.
        counts: with noise, shape (split parts above, 10).
        split: numbers of the parts that the next level splits, ascending.
    """

    edges: Floats
    counts: Floats
    split: Integers


@dataclass(frozen=True, eq=False)
class Parts:
    """The smallest parts that are known, in the order of their values.

    Attributes:
        low, high: low ≤ value < high, shape (parts,).
        rows: estimated, not negative, shape (parts,).
        counted: all parts that were counted, the larger ones too: low, high, the ends of the part above, and the variance of
            the estimate in units of the noise. Shape (5, counts).
    """

    low: Floats
    high: Floats
    rows: Floats
    counted: Floats

    def cut(self, at: Floats) -> Parts:
        """The same, cut where a part would go on beyond one of these values; its rows are shared by width."""
        low = np.union1d(self.low, at)
        high = np.append(low[1:], self.high[-1])
        of = np.searchsorted(self.low, low, side="right") - 1
        return Parts(low, high, self.rows[of] * ((high - low) / (self.high - self.low)[of]), self.counted)

    def between(self, edges: Floats) -> tuple[Floats, Floats]:
        """Estimated rows between edges at which the parts were cut, and their variance in units of the noise.

        Shape (edges - 1,). The variance is that of the largest parts that make up a bin; where an edge cuts a part, all of
        that part's.
        """
        low, high, above_low, above_high, variance = self.counted
        found = np.zeros(len(edges) - 1)
        for bin_, (first, last) in enumerate(pairwise(edges)):
            inside = (first <= low) & (high <= last) & ((above_low < first) | (last < above_high))
            found[bin_] = variance[inside].sum()
        cut = np.isin(edges[1:-1], low, invert=True)
        found[:-1] += cut
        found[1:] += cut
        starts = np.searchsorted(self.low, edges[:-1])
        return np.add.reduceat(self.rows, starts), np.maximum(found, 1e-9)


@dataclass(frozen=True, eq=False)
class Histogram:
    """The tree over one column, before anything was counted.

    Attributes:
        attribute: the column, with its bounds and number of bins.
        position: of the column in the domain.
        levels: of the tree.
    """

    attribute: Attribute
    position: int
    levels: int

    @property
    def whole(self) -> bool:
        """Whether there is a unit: values are then counted in it, here and in all that follows, and so whole."""
        return self.attribute.unit is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The range, first ≤ value < last."""
        return float(self.attribute.unit_edges[0]), float(self.attribute.unit_edges[-1])

    @property
    def narrowest(self) -> float:
        """Width up to which a part is as narrow as the tree makes any."""
        return max(1.0 if self.whole else 0.0, 1.5 * (self.ends[1] - self.ends[0]) / float(BRANCHES**self.levels))

    def values(self, table: Table) -> Floats:
        """The column of some rows as numbers, NaN where it is empty. Shape (n,)."""
        return self.attribute.in_units(table.different(self.attribute.name))

    def grown(self, counted: Counted, released: Released, deviation: float) -> list[Level]:
        """The tree, level by level: what is split depends on noisy counts alone.

        Args:
            counted: rows in parts, exact.
            released: adds the noise.
            deviation: standard deviation of the noise.
        """
        levels: list[Level] = []
        parts = np.array([self.ends])
        while len(levels) < self.levels and len(parts):
            edges = self._split(parts)
            counts = np.asarray(released(counted(edges)), dtype=np.float64)
            possible = np.where(np.diff(edges, axis=1) > 0, counts, -math.inf).ravel()
            largest = np.argsort(-possible, kind="stable")[: _MOST_SPLIT if len(levels) + 1 < self.levels else 0]
            levels.append(Level(edges, counts, np.sort(largest[possible[largest] > _STANDS_OUT * deviation])))
            row, at = np.divmod(levels[-1].split, BRANCHES)
            parts = np.stack([edges[row, at], edges[row, at + 1]], axis=1)
        return levels

    def _split(self, parts: Floats) -> Floats:
        """Edges of the ten parts of each part, shape (parts, 11)."""
        low, high = parts[:, :1], parts[:, 1:]
        number, width = np.arange(BRANCHES + 1), high - low
        steps = number * width.astype(np.int64) // BRANCHES if self.whole else width * (number / BRANCHES)
        return np.asarray(np.where(number == BRANCHES, high, low + steps))

    def finest(self, most: int) -> Floats | None:
        """Edges of the narrowest parts that the tree can come to, ascending; None where there are more than ``most``."""
        parts = np.array([self.ends])
        for _ in range(self.levels):
            edges = self._split(parts)
            parts = np.stack([edges[:, :-1].ravel(), edges[:, 1:].ravel()], axis=1)
            parts = parts[parts[:, 0] < parts[:, 1]]
            if len(parts) > most:
                return None
        return np.append(parts[:, 0], self.ends[1])

    def counts(self, values: Floats, edges: Floats) -> Integers:
        """Rows in every part, exact; the upper end of the range belongs to the last part. Shape (parts above, 10)."""
        low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
        # Of parts with equal lower edges only the last one has room.
        found = np.searchsorted(low, values, side="right") - 1
        last = high == self.ends[1]
        inside = (found >= 0) & ((values < high[found]) | (last[found] & (values == high[found])))
        return np.bincount(found[inside], minlength=low.size).astype(np.int64).reshape(len(edges), BRANCHES)

    def parts(self, levels: Sequence[Level], rows: float | None, deviation: float) -> Parts:
        """Rows in the smallest parts: consistent, not negative, and nearer to equal shares the more noise may explain.

        Args:
            levels: of the tree, with noise.
            rows: that have a value, where it is known; None takes what the counts say.
            deviation: standard deviation of the noise.
        """
        best, variance = np.zeros((0, BRANCHES)), np.zeros((0, BRANCHES))
        estimates: list[tuple[Floats, Floats]] = []
        for level in levels[::-1]:
            below, spread = best.sum(axis=1), variance.sum(axis=1)
            variance = (np.diff(level.edges, axis=1) > 0).astype(np.float64)
            best = level.counts * variance
            split = np.unravel_index(level.split, best.shape)
            best[split] = (best[split] * spread + below) / (spread + 1)
            variance[split] = spread / (spread + 1)
            estimates.append((best, variance))
        total = np.array([max(float(best.sum()), 0.0) if rows is None else rows])
        pieces, every = [], []
        for level, (best, variance) in zip(levels, estimates[::-1], strict=True):
            widths = np.diff(level.edges, axis=1)
            equal = total[:, None] * (widths / widths.sum(axis=1, keepdims=True))
            counted = nearest_with_sum(shrunk(best, equal, variance * deviation**2), total, variance).ravel()
            total = counted[level.split]
            possible = variance.ravel() > 0
            smallest = possible.copy()
            smallest[level.split] = False
            ends = [level.edges[:, :-1], level.edges[:, 1:], level.edges[:, :1], level.edges[:, -1:], variance]
            node = np.stack([np.broadcast_to(each, best.shape).ravel() for each in ends])
            every.append(node[:, possible])
            pieces.append(np.stack([node[0], node[1], counted])[:, smallest])
        low, high, counted = np.concatenate(pieces, axis=1)
        order = np.argsort(low, kind="stable")
        return Parts(low[order], high[order], counted[order], np.concatenate(every, axis=1))


def shrunk(estimates: Floats, towards: Floats, variances: Floats) -> Floats:
    """Estimates moved towards others by as much as their noise may explain of the distance, row by row: James, Stein 1961.

    Rows in which one stands out of the noise stay, as do entries without variance. Shape (rows, entries) each.
    """
    known = variances > 0
    apart = np.where(known, estimates - towards, 0.0)
    squares = apart**2 / np.where(known, variances, 1.0)
    noise = np.maximum(known.sum(axis=1, keepdims=True) - 1.0, 0.0)
    kept = np.maximum(1 - noise / np.maximum(squares.sum(axis=1, keepdims=True), 1e-300), 0.0)
    kept = np.where(squares.max(axis=1, keepdims=True) > _STANDS_OUT**2, 1.0, kept)
    return np.asarray(np.where(known, towards + kept * apart, estimates))


def nearest_with_sum(wanted: Floats, sums: Floats, variances: Floats) -> Floats:
    """Non-negative vectors x with the given sums that minimise Σ (x - wanted)²/variance, row by row; 0 where there is none.

    max(w - t·v, 0) with the t at which it adds up, found by sorting w/v (Held, Wolfe, Crowder 1974).

    Args:
        wanted: shape (rows, entries).
        sums: not negative, shape (rows,).
        variances: not negative, some positive in each row. Shape (rows, entries).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(variances > 0, wanted / variances, -math.inf)
    order = np.argsort(-ratio, axis=1, kind="stable")
    ratio, mass, weight = (np.take_along_axis(values, order, axis=1) for values in (ratio, wanted, variances))
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = (np.cumsum(mass, axis=1) - sums[:, None]) / np.cumsum(weight, axis=1)
    last = (ratio > levels).sum(axis=1).clip(1) - 1
    level = levels[np.arange(len(wanted)), last]
    return np.asarray(np.where(variances > 0, np.maximum(wanted - level[:, None] * variances, 0.0), 0.0))


def levels_of(attribute: Attribute) -> int:
    """Levels of the tree: down to single values, as far as there are not too many levels."""
    if attribute.unit is None:
        return _MOST_REAL
    width, levels = int(attribute.unit_edges[-1] - attribute.unit_edges[0]), 0
    if attribute.effective_bins == width:
        return 0
    while width > 1 and levels < _MOST_LEVELS:
        width, levels = -(-width // BRANCHES), levels + 1
    return levels
