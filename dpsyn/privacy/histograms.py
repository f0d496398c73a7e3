"""Fine histograms of numeric and date columns: what values a bin really holds, from noisy counts over a tree.

Every bin of a column is split into ten parts, each of these into ten, and so on: down to single whole numbers or days where
that takes no more than 100,000 parts of the column, and to 10,000 parts of a column of real numbers (fewer where there are
many columns). Values are drawn uniformly inside the smallest parts. A row lies in one part of every level, so adding a row
moves one count per level by 1, and replacing a row at most two. The noisy counts become consistent and non-negative by
post-processing: least squares upwards, as in Hay, Rastogi, Miklau, Suciu 2010, then, downwards from the rows that the bin
has, the nearest non-negative counts with the right sum. Spikes of whole numbers (0, 40, 99,999) and tails survive it; those
of other numbers, or of wide ranges, are known to a part alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.rounding import systematic_rows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BRANCHES = 10
_MOST_PARTS, _MOST_COUNTS = 100_000, 250_000
"""Parts of a column, and counts of all columns, at most: exact noise takes about 30 µs a count."""
_MOST_REAL = 10_000
"""Parts of a column of real numbers."""
_DROWNED = 2.0
"""A part with fewer rows than so many standard deviations of the noise shares them equally among its own parts."""
_NEVER = -1e18


@dataclass(frozen=True, eq=False)
class Histogram:
    """The tree over one column.

    Attributes:
        attribute: the column, with its bounds and bins.
        position: of the column in the domain.
        levels: of the tree, below the bins.
    """

    attribute: Attribute
    position: int
    levels: int

    @property
    def parts(self) -> int:
        """Parts of a bin at the lowest level."""
        return int(BRANCHES**self.levels)

    @cached_property
    def edges(self) -> Floats:
        """Edges of the lowest parts, shape (bins, parts + 1); of whole numbers whole, and equal where a part is empty."""
        edges, number = self.attribute.edges, np.arange(self.parts + 1)
        if not self.attribute.is_whole:
            return np.asarray(edges[:-1, None] + np.diff(edges)[:, None] * (number / self.parts))
        whole, rest = np.divmod(np.diff(edges)[:, None].astype(np.int64), self.parts)
        # The smallest whole numbers at or above number·width/parts, without a product that 64 bits could not hold.
        return np.asarray(edges[:-1, None] + (number * whole - (-number * rest) // self.parts))

    def places(self, column: pd.Series[Any], codes: npt.NDArray[np.int32]) -> Integers:
        """The lowest part of every cell, numbered through the bins, -1 where it is empty. Shape (n,)."""
        bins = self.attribute.effective_bins
        filled = codes < bins
        at = np.where(filled, codes, 0).astype(np.int64)
        values = np.where(filled, self.attribute.numbers(column), self.attribute.edges[0])
        # Parts without a whole number have the edge of the next one: the last of equals is the one that holds it.
        found = np.searchsorted(self.edges[:, :-1].ravel(), values, side="right") - 1
        return np.where(filled, np.clip(found, at * self.parts, (at + 1) * self.parts - 1), -1)

    def counts(self, places: Integers) -> Integers:
        """Rows in every part of every level, from the highest level to the lowest. Shape (count,)."""
        lowest = np.bincount(places[places >= 0], minlength=self.attribute.effective_bins * self.parts)
        levels = [lowest.astype(np.int64)]
        for _ in range(self.levels - 1):
            levels.append(levels[-1].reshape(-1, BRANCHES).sum(axis=1))
        return np.concatenate(levels[::-1])

    @property
    def count(self) -> int:
        """How many counts there are."""
        return int(self.attribute.effective_bins) * sum(int(BRANCHES**level) for level in range(1, self.levels + 1))

    def masses(self, noisy: Floats, deviation: float, totals: Floats) -> Floats:
        """Rows in every lowest part, non-negative, that add up to ``totals`` in every bin. Shape (bins · parts,).

        Args:
            noisy: the counts with noise, shape (count,).
            deviation: standard deviation of the noise.
            totals: rows of every bin, shape (bins,).
        """
        sizes = [self.attribute.effective_bins * BRANCHES**level for level in range(1, self.levels + 1)]
        levels, possible = np.split(noisy, np.cumsum(sizes)[:-1]), self._possible
        found: list[Floats] = [levels[-1] * possible[-1]]
        variances = [1.0]
        for level, can in zip(levels[-2::-1], possible[-2::-1], strict=True):
            below, variance = found[-1].reshape(-1, BRANCHES).sum(axis=1), BRANCHES * variances[-1]
            found.append(can * (level * variance + below) / (variance + 1))
            variances.append(variance / (variance + 1))
        masses = np.asarray(totals, dtype=np.float64)
        for counts, can, variance in zip(found[::-1], possible, variances[::-1], strict=True):
            drowned = masses < _DROWNED * deviation * math.sqrt(variance)
            wanted = np.where(drowned[:, None], 0.0, counts.reshape(-1, BRANCHES))
            masses = nearest_with_sum(np.where(can.reshape(-1, BRANCHES), wanted, _NEVER), masses).ravel()
        return masses

    @cached_property
    def _possible(self) -> list[npt.NDArray[np.bool_]]:
        """Which parts hold a value at all, from the highest level to the lowest."""
        levels = [(np.diff(self.edges, axis=1) > 0).ravel()]
        for _ in range(self.levels - 1):
            levels.append(np.asarray(levels[-1].reshape(-1, BRANCHES).any(axis=1)))
        return levels[::-1]

    def draw(
        self, noisy: Floats, deviation: float, codes: npt.NDArray[np.int32], rows: float, generator: np.random.Generator
    ) -> pd.Series[Any]:
        """A value for every code, shape (k,), drawn in its bin: low-variance draws of the lowest parts, uniform inside one.

        ``noisy`` and ``deviation`` as in :meth:`masses`; ``rows`` is how many were counted, or a private estimate.
        """
        bins = self.attribute.effective_bins
        counts = np.bincount(codes, minlength=bins)[:bins]
        totals = np.asarray(counts * (rows / max(len(codes), 1)), dtype=np.float64)
        masses = self.masses(noisy, deviation, totals).reshape(bins, self.parts)
        values = np.full(len(codes), np.nan)
        for code in np.flatnonzero(counts):
            chosen = generator.permutation(systematic_rows(masses[code], int(counts[code]), generator))
            low, high = self.edges[code, chosen], self.edges[code, chosen + 1]
            if self.attribute.is_whole:
                drawn = generator.integers(low.astype(np.int64), high.astype(np.int64)).astype(np.float64)
            else:
                drawn = np.minimum(generator.uniform(low, high), np.nextafter(self.attribute.edges[code + 1], low))
            values[codes == code] = drawn
        return self.attribute.from_numbers(values)


@dataclass(frozen=True, eq=False)
class Histograms:
    """The trees over all columns that have one; what the columns of a table hold inside their bins."""

    columns: tuple[Histogram, ...]

    @classmethod
    def of(cls, domain: Domain) -> Histograms | None:
        """A tree for every numeric and date column whose bins hold more than one value; None if there is no such column."""
        binned = [(j, attribute) for j, attribute in enumerate(domain.attributes) if attribute.is_binned]
        levels, left = dict.fromkeys((j for j, _ in binned), 0), _MOST_COUNTS
        # The cheapest level next, of whichever column: bounds and bins decide, never the rows.
        steps = sorted(
            (attribute.effective_bins * BRANCHES**level, j, level)
            for j, attribute in binned
            for level in range(1, _levels(attribute) + 1)
        )
        for counts, j, level in steps:
            if counts <= left and levels[j] == level - 1:
                levels[j], left = level, left - counts
        columns = tuple(Histogram(attribute, j, levels[j]) for j, attribute in binned if levels[j])
        return cls(columns) if columns else None

    @property
    def count(self) -> int:
        """How many counts there are."""
        return sum(column.count for column in self.columns)

    def moved(self, neighbouring: Neighbouring) -> int:
        """How many counts a neighbour moves by 1 at most: one in each level for a row, two where one is replaced."""
        return sum(column.levels for column in self.columns) * (2 if neighbouring == "replace_one" else 1)

    def counts(self, codes: Codes, frame: pd.DataFrame | None) -> Integers:
        """The counts of all columns, exact. Shape (count,).

        Args:
            codes: of the rows, shape (n, columns of the domain).
            frame: the rows; None takes the first value of every bin, for rows that are known by their codes alone.
        """
        return np.concatenate([column.counts(self._places(column, codes, frame)) for column in self.columns])

    def _places(self, column: Histogram, codes: Codes, frame: pd.DataFrame | None) -> Integers:
        mine = codes[:, column.position]
        if frame is not None:
            return column.places(frame[column.attribute.name], mine)
        return np.where(mine < column.attribute.effective_bins, mine.astype(np.int64) * column.parts, -1)

    def drawn(
        self, noisy: Floats, deviation: float, rows: float, codes: Codes, generator: np.random.Generator
    ) -> dict[str, pd.Series[Any]]:
        """Values for the codes of released rows, by column: post-processing of the noisy counts and the codes."""
        ends = np.cumsum([column.count for column in self.columns])[:-1]
        return {
            column.attribute.name: column.draw(part, deviation, codes[:, column.position], rows, generator)
            for column, part in zip(self.columns, np.split(noisy, ends), strict=True)
        }


def nearest_with_sum(wanted: Floats, sums: Floats) -> Floats:
    """The nearest non-negative vectors (in Euclidean distance) with the given sums, row by row.

    max(w - t, 0) with the t at which it adds up, found by sorting (Held, Wolfe, Crowder 1974).

    Args:
        wanted: shape (rows, entries).
        sums: not negative, shape (rows,).
    """
    descending = -np.sort(-wanted, axis=1)
    excess = np.cumsum(descending, axis=1) - sums[:, None]
    kept = (descending - excess / np.arange(1, wanted.shape[1] + 1) > 0).sum(axis=1).clip(1)
    lowered = wanted - (excess[np.arange(len(wanted)), kept - 1] / kept)[:, None]
    return np.asarray(np.maximum(lowered, 0.0))


def _levels(attribute: Attribute) -> int:
    """Levels of the tree: down to single whole numbers, or as far as there are not too many parts."""
    if not attribute.is_binned:
        return 0
    whole = attribute.is_whole
    widest = float(np.diff(attribute.edges).max()) if whole else math.inf
    levels = 0
    most = (_MOST_PARTS if whole else _MOST_REAL) / attribute.effective_bins
    while BRANCHES**levels < widest and BRANCHES ** (levels + 1) <= most:
        levels += 1
    return levels
