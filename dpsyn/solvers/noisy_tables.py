"""Contingency tables with noise: averaging what was measured twice, and how many rows they say that there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.checks import LARGEST_WHOLE
from dpsyn.solvers.least_squares import onto_simplex

Floats = npt.NDArray[np.float64]
Columns = tuple[int, ...]

_SMALLEST_DEVIATION = 0.5
"""Of the noise on a count: where there is hardly any, fits need not be exact to a part of a row."""

_CAUTION = 4.0
"""Variances of the noise that a law is shrunk by (benchmarks/wide_columns.py); with 1 it follows loud noise."""


@dataclass(eq=False)
class NoisyTables:
    """Counts with noise; a table that was measured several times has the mean of all, weighted by their precision.

    Attributes:
        counts: by the columns of the table, ascending; shape (cells,) each.
        variances: of the noise on a cell.
    """

    counts: dict[Columns, Floats] = field(default_factory=dict)
    variances: dict[Columns, float] = field(default_factory=dict)

    def add(self, columns: Columns, counts: npt.NDArray[Any], deviation: float) -> None:
        """One more measurement, whose noise has this standard deviation."""
        variance = max(deviation, _SMALLEST_DEVIATION) ** 2
        before, known = self.counts.get(columns, 0.0), self.variances.get(columns, math.inf)
        share = 1 / (1 + known / variance)
        self.counts[columns] = np.asarray(before * share + counts.astype(np.float64) * (1 - share))
        self.variances[columns] = variance * (1 - share)

    @property
    def rows(self) -> float:
        """How many rows there are by all tables, the more precise ones counting more; 1 to 2^53: sums fit 64 bits."""
        weights = np.array([1 / (self.variances[columns] * len(counts)) for columns, counts in self.counts.items()])
        totals = np.array([counts.sum() for counts in self.counts.values()])
        return min(max(1.0, float(weights @ totals / weights.sum())), float(LARGEST_WHOLE))

    def law(self, column: int) -> Floats:
        """Shares of the codes of a column: those nearest to its own counts."""
        counts = self.counts[column,]
        return onto_simplex(counts / max(float(counts.sum()), 1.0))

    def of_column(self, column: int, sizes: Sequence[int]) -> tuple[Floats, float] | None:
        """Counts of the codes of a column and the standard deviation of their noise, by all tables that hold it, the more
        precise ones counting more; None where none does."""
        total, precision = np.zeros(sizes[column]), 0.0
        for columns, counts in self.counts.items():
            if column in columns:
                others = tuple(axis for axis, j in enumerate(columns) if j != column)
                weight = sizes[column] / (len(counts) * self.variances[columns])
                total += weight * counts.reshape([sizes[j] for j in columns]).sum(axis=others)
                precision += weight
        return (total / precision, precision**-0.5) if precision else None

    def shrunk_law(self, column: int, sizes: Sequence[int], rows: float, least: float) -> Floats:
        """Shares of the codes of a column, by all tables that hold it (:func:`shrunk`); even ones where none does.

        Args:
            column: its position.
            sizes: number of codes of each column.
            rows: how many there are.
            least: what each share is at least, in parts of its noise: a code that may be there stays possible.
        """
        known = self.of_column(column, sizes)
        if known is None:
            return np.full(sizes[column], 1 / sizes[column])
        counts, deviation = known
        found = np.maximum(shrunk(counts / rows, deviation / rows), least * deviation / rows)
        return np.asarray(found / found.sum())


def shrunk(shares: Floats, deviation: float) -> Floats:
    """A law near noisy shares: shape (codes,) as they have.

    It lies between the even law and the nearest law there is: as far from the even one as Stein's estimate of the risk asks
    for, and less the louder the noise is beside that distance.

    Args:
        shares: they need not add up to 1, and may be negative.
        deviation: of the noise on a share, positive.
    """
    even = np.full(len(shares), 1 / len(shares))
    nearest = onto_simplex(shares)
    away = nearest - even
    length = float(away @ away)
    # The nearest law has as many degrees of freedom as positive shares less one.
    worth = float(away @ (shares - even)) - deviation**2 * (np.count_nonzero(nearest) - 1)
    part = min(max(worth, 0.0), length) / (length + _CAUTION * deviation**2)
    return np.asarray(even + part * away)
