"""Contingency tables with noise: averaging what was measured twice, and how many rows they say that there are."""

from __future__ import annotations

import math
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
