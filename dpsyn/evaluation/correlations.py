"""How numbers and dates go together: coefficients of every pair of columns beside those of the real rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

MOST_CORRELATED, MOST_IN_RATIOS = 60, 10_000
"""Columns whose correlations are looked at, and rows whose correlation ratios are; of more some are left out."""
_MOST_PARTS, _LEAST_IN_A_PART = 32, 4
"""Into so many parts a column is cut for them, or fewer: half of the root of its values."""
_CONSTANT = 1e-12
"""Share of a sum of squares below which what is left about the mean is rounding."""


@dataclass(frozen=True, eq=False)
class Correlation:
    """One coefficient for every pair of numeric and date columns of some rows, beside that of the real ones.

    Attributes:
        real, rows: q × q tables by the columns' names; NaN where it is not defined, because a column is constant.
    """

    real: pd.DataFrame
    rows: pd.DataFrame

    @cached_property
    def _pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """Both columns and the difference of every pair; what is defined on one side alone is 0 on the other."""
        first, second = np.triu_indices(len(self.real), 1)
        real, rows = (matrix.to_numpy()[first, second] for matrix in (self.real, self.rows))
        known = ~(np.isnan(real) & np.isnan(rows))
        return first[known], second[known], np.abs(np.nan_to_num(real) - np.nan_to_num(rows))[known]

    @property
    def largest(self) -> float:
        """The largest difference, in [0, 2]; NaN without a pair."""
        return float(self._pairs[2].max()) if len(self._pairs[2]) else math.nan

    @property
    def mean(self) -> float:
        """The mean difference over the pairs; NaN without one."""
        return float(self._pairs[2].mean()) if len(self._pairs[2]) else math.nan

    @property
    def worst(self) -> tuple[str, ...]:
        """The pair that differs most."""
        first, second, apart = self._pairs
        at = int(apart.argmax()) if len(apart) else -1
        return () if at < 0 else (str(self.real.columns[first[at]]), str(self.real.columns[second[at]]))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON; what is not defined is None."""
        found = {"columns": list(self.real.columns), "worst": list(self.worst)}
        tables = {"real": self.real, "rows": self.rows}
        plain = {k: [[float(v) if np.isfinite(v) else None for v in row] for row in t.to_numpy()] for k, t in tables.items()}
        numbers = {"largest": self.largest, "mean": self.mean}
        return found | plain | {k: v if math.isfinite(v) else None for k, v in numbers.items()}


def correlations(table: Table, rows: Table) -> dict[str, Correlation]:
    """Pearson's correlation, that of the ranks (Spearman's), and the correlation ratio of every pair of numeric and date
    columns.

    The correlation ratio finds relations that are no lines, as of a season: it is the root of the share of one column's
    variance that its means explain where the other one is cut into parts of about as many real rows each, less what they
    explain by chance (Pearson 1905, Kelley 1935); the larger of both ways. Of each pair the rows count in which neither cell
    is empty; ranks are among all values of a column, and of more than :data:`MOST_IN_RATIOS` rows some are drawn for the
    ratios. Of more than :data:`MOST_CORRELATED` columns so many are taken at even distances. Nothing with fewer than two
    columns.
    """
    columns = [attribute for attribute in table.domain.attributes if attribute.is_binned]
    if len(columns) < 2:
        return {}
    if len(columns) > MOST_CORRELATED:
        columns = [columns[i] for i in np.linspace(0, len(columns) - 1, MOST_CORRELATED).astype(int)]
    names = [attribute.name for attribute in columns]
    values = [np.stack([a.numbers(side.different(a.name)) for a in columns], axis=1) for side in (table, rows)]
    ranks = [_ranks(side) for side in values]
    some = [np.random.default_rng(0).permutation(side)[:MOST_IN_RATIOS] for side in values]
    cuts = [_cuts(*(column[~np.isnan(column)] for column in both)) for both in zip(*(side.T for side in some), strict=True)]
    found = {
        "correlation": map(_coefficients, values),
        "rank correlation": map(_coefficients, ranks),
        "correlation ratio": (_ratios(side, cuts) for side in some),
    }
    return {name: Correlation(*(pd.DataFrame(side, names, names) for side in both)) for name, both in found.items()}


def _cuts(real: Floats, other: Floats) -> Floats:
    """Where a column is cut into parts of about as many real values each; one that is common is a part of its own."""
    if not len(real):
        return real
    parts = min(_MOST_PARTS, max(2, math.isqrt(min(len(real), len(other))) // 2))
    at, times = np.unique(np.quantile(real, np.arange(parts + 1) / parts, method="nearest"), return_counts=True)
    return np.unique(np.append(at, np.nextafter(at[times > 1], -math.inf)))


def _ratios(values: Floats, cuts: Sequence[Floats]) -> Floats:
    """The correlation ratio of every pair of columns, each cut at its own values: q × q of n × q.

    Less what parts explain by chance (Kelley 1935); NaN where a pair has fewer than :data:`_LEAST_IN_A_PART` rows a part.
    """
    from scipy import sparse

    there, scaled = _scaled(values)
    found = np.full((len(cuts), len(cuts)), np.nan)
    for j, edges in enumerate(cuts):
        known = there[:, j] > 0
        part = np.searchsorted(edges, values[known, j], side="left")
        into = sparse.csr_array((np.ones(len(part)), (part, np.arange(len(part)))), (len(edges) + 1, len(part)))
        counts, sums = into @ there[known], into @ scaled[known]
        squares, all_of_them = (scaled[known] ** 2).sum(axis=0), sums.sum(axis=0) ** 2
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            overall = all_of_them / counts.sum(axis=0)
            variance = squares - overall
            variance[~(variance > _CONSTANT * squares)] = np.nan
            explained = (np.nansum(sums**2 / counts, axis=0) - overall) / variance
            rows, filled = counts.sum(axis=0), (counts > 0).sum(axis=0)
            explained = 1 - (1 - explained) * (rows - 1) / (rows - filled)
            explained[rows < _LEAST_IN_A_PART * filled] = np.nan
            found[j] = np.sqrt(np.clip(explained, 0, 1))
    found[~scaled.any(axis=0)] = np.nan  # a constant column tells nothing
    np.fill_diagonal(found, 1.0)
    return np.asarray(np.fmax(found, found.T))


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    ranks = np.full_like(values, np.nan)
    for j, column in enumerate(values.T):
        there = ~np.isnan(column)
        ranks[there, j] = rankdata(column[there])
    return ranks


def _coefficients(values: Floats) -> Floats:
    """Pearson's correlation of every pair of columns over the rows in which neither is NaN, q × q of n × q."""
    there, scaled = _scaled(values)
    counts, first, second, products = (
        one.T @ other for one, other in ((there, there), (scaled, there), (scaled**2, there), (scaled, scaled))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = second - first**2 / counts
        variance[~(variance > _CONSTANT * second)] = np.nan
        return np.clip((products - first * first.T / counts) / np.sqrt(variance * variance.T), -1, 1)


def _scaled(values: Floats) -> tuple[Floats, Floats]:
    """1 where there is a value and 0 elsewhere, and the values of each column less their mean, of at most 1; 0 for none."""
    there = (~np.isnan(values)).astype(np.float64)
    scaled = np.zeros_like(values)
    for j, column in enumerate(values.T):
        known = column[there[:, j] > 0]
        if len(known) and known.min() < known.max():
            # Brought to [-1, 1] before anything is squared: no number is too large for that.
            middle, half = known.min() / 2 + known.max() / 2, known.max() / 2 - known.min() / 2
            known = (known - middle) / half
            scaled[there[:, j] > 0, j] = known - known.mean()
    return there, scaled
