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
_Measured = tuple[Floats, Floats, Floats]
"""Coefficients of pairs of columns; the rows that they are of, counted as fewer where tails are longer than a normal law's;
and their variance."""

MOST_CORRELATED, MOST_IN_RATIOS = 60, 10_000
"""Columns whose correlations are looked at, and rows whose correlation ratios are; of more some are left out."""
_MOST_PARTS, _LEAST_IN_A_PART = 32, 4
"""Into so many parts a column is cut for them, or fewer: half of the root of its values."""
_CONSTANT = 1e-12
"""Share of a sum of squares below which what is left about the mean is rounding."""
_ERRORS = 3.0
"""Standard errors of coefficients that are put down to chance."""
_FAR_CORRELATION, _FEW_PAIRS = 0.2, 3
"""The difference of two correlations beyond chance that is far, and so many rows that say nothing of one."""
_NORMAL = 3.0
"""Kurtosis of a normal law."""
_AT_ONCE = 10_000
"""Rows that are summed at once."""


@dataclass(frozen=True, eq=False)
class Correlation:
    """One coefficient for every pair of numeric and date columns of some rows, beside that of the real ones.

    Attributes:
        real, rows: q × q tables by the columns' names; NaN where it is not defined, because a column is constant.
        standard_error: of every difference, from the rows on both sides in which neither cell is empty; infinite where these
            are too few.
    """

    real: pd.DataFrame
    rows: pd.DataFrame
    standard_error: pd.DataFrame

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

    def lost(self, fresh: Correlation | None = None) -> tuple[str, str, float, float] | None:
        """The pair that is furthest beyond chance and beyond the same pair of ``fresh``, other real rows, and its
        coefficients, 0 for one that is not defined; None where no pair is far beyond."""
        real, rows = (np.nan_to_num(matrix.to_numpy()) for matrix in (self.real, self.rows))
        allowed = _ERRORS * self.standard_error.to_numpy()
        if fresh is not None:
            allowed = np.fmax(allowed, np.abs(fresh.real.to_numpy() - fresh.rows.to_numpy()))
        beyond = np.triu(np.abs(real - rows) - allowed, 1)
        one, other = divmod(int(beyond.argmax()), len(beyond))
        if beyond[one, other] <= _FAR_CORRELATION:
            return None
        names = self.real.columns
        return str(names[one]), str(names[other]), float(real[one, other]), float(rows[one, other])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON; what is not defined is None."""
        found = {"columns": list(self.real.columns), "worst": list(self.worst)}
        tables = {"real": self.real, "rows": self.rows, "standard_error": self.standard_error}
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
    found = {}
    for name, prepared in (("correlation", values), ("rank correlation", [_ranks(side) for side in values])):
        found[name] = _beside(names, *map(_coefficients, prepared))
    some = [np.random.default_rng(0).permutation(side)[:MOST_IN_RATIOS] for side in values]
    cuts = [_cuts(*(column[~np.isnan(column)] for column in both)) for both in zip(*(side.T for side in some), strict=True)]
    return found | {"correlation ratio": _beside(names, *(_ratios(side, cuts) for side in some), squared=True)}


def _beside(names: list[str], real: _Measured, rows: _Measured, *, squared: bool = False) -> Correlation:
    """Both sides, and the standard error of their differences; ``squared``: the variances are those of the squares.

    It is at least that of so many rows of a normal law whose coefficient is that of both together: of few rows, or few that
    weigh much, the variance is itself not known.
    """
    (one, n, spread), (other, m, others) = real, rows
    first, second = np.nan_to_num(one), np.nan_to_num(other)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        together = (n * first + m * second) / (n + m)
        times = (first + second) ** 2 if squared else 1.0
        sides = [np.fmax(v / times, (1 - together**2) ** 2 / (k - _FEW_PAIRS)) for v, k in ((spread, n), (others, m))]
        error = np.where((n > _FEW_PAIRS) & (m > _FEW_PAIRS), np.sqrt(sides[0] + sides[1]), np.inf)
    return Correlation(*(pd.DataFrame(matrix, index=names, columns=names) for matrix in (one, other, error)))


def _cuts(real: Floats, other: Floats) -> Floats:
    """Where a column is cut into parts of about as many real values each; one that is common is a part of its own."""
    if not len(real):
        return real
    parts = min(_MOST_PARTS, max(2, math.isqrt(min(len(real), len(other))) // 2))
    at, times = np.unique(np.quantile(real, np.arange(parts + 1) / parts, method="nearest"), return_counts=True)
    return np.unique(np.append(at, np.nextafter(at[times > 1], -math.inf)))


def _ratios(values: Floats, cuts: Sequence[Floats]) -> _Measured:
    """The correlation ratio of every pair of columns, each cut at its own values: q × q of n × q; and the variance of its
    square.

    Less what parts explain by chance (Kelley 1935); NaN where a pair has fewer than :data:`_LEAST_IN_A_PART` rows a part.
    """
    from scipy import sparse

    there, scaled = _scaled(values)
    found, spread = np.full((2, len(cuts), len(cuts)), np.nan)
    enough = np.zeros_like(found)
    for j, edges in enumerate(cuts):
        known = there[:, j] > 0
        part = np.searchsorted(edges, values[known, j], side="left")
        into = sparse.csr_array((np.ones(len(part)), (part, np.arange(len(part)))), (len(edges) + 1, len(part)))
        counts, sums, *powers = into @ there[known], *(into @ scaled[known] ** power for power in (1, 2, 3, 4))
        squares, all_of_them = (scaled[known] ** 2).sum(axis=0), sums.sum(axis=0) ** 2
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            overall = all_of_them / counts.sum(axis=0)
            variance = squares - overall
            variance[~(variance > _CONSTANT * squares)] = np.nan
            explained = (np.nansum(sums**2 / counts, axis=0) - overall) / variance
            rows, filled = counts.sum(axis=0), (counts > 0).sum(axis=0)
            spread[j], kurtosis = _of_squares(np.clip(explained, 0, 1), counts, sums, *powers)
            explained = 1 - (1 - explained) * (rows - 1) / (rows - filled)
            told = rows >= _LEAST_IN_A_PART * filled
            explained[~told] = np.nan
            enough[j] = np.where(told, rows * np.fmin(1, _NORMAL / kurtosis), 0)
            found[j] = np.sqrt(np.clip(explained, 0, 1))
    found[~scaled.any(axis=0)] = np.nan  # a constant column tells nothing
    np.fill_diagonal(found, 1.0)
    larger = (found >= found.T) | np.isnan(found.T)
    return np.fmax(found, found.T), np.where(larger, enough, enough.T), np.where(larger, spread, spread.T)


def _of_squares(ratio: Floats, counts: Floats, sums: Floats, *powers: Floats) -> tuple[Floats, Floats]:
    """The variance of the square of a correlation ratio (delta method), and the kurtosis of the values; ``ratio`` is that
    square, all else of every part: its rows and the sums of their values, squares, cubes and fourth powers."""
    squares, cubes, fourths = powers
    mean = np.nan_to_num(sums / counts)
    of_each = 4 * mean**2 * squares - 3 * mean**4 * counts + ratio**2 * fourths
    of_each += 2 * ratio * (mean**2 * squares - 2 * mean * cubes)
    squared = squares.sum(axis=0) ** 2
    return np.clip(of_each.sum(axis=0), 0, None) / squared, counts.sum(axis=0) * fourths.sum(axis=0) / squared


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    ranks = np.full_like(values, np.nan)
    for j, column in enumerate(values.T):
        there = ~np.isnan(column)
        ranks[there, j] = rankdata(column[there])
    return ranks


def _coefficients(values: Floats) -> _Measured:
    """Pearson's correlation of every pair of columns over the rows in which neither is NaN, q × q of n × q, and its variance
    (delta method)."""
    there, scaled = _scaled(values)
    sums = np.zeros((7, *2 * values.shape[1:]))
    for at in range(0, len(values), _AT_ONCE):
        known, x = there[at : at + _AT_ONCE], scaled[at : at + _AT_ONCE]
        squares = x**2
        pairs = (
            (known, known),
            (x, known),
            (squares, known),
            (x, x),
            (squares, squares),
            (squares * x, x),
            (squares**2, known),
        )
        sums += [one.T @ other for one, other in pairs]
    counts, first, second, products, squared, cubes, fourths = sums
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        variance = second - first**2 / counts
        variance[~(variance > _CONSTANT * second)] = np.nan
        both, alone = np.sqrt(variance * variance.T), fourths / variance**2
        found = np.clip((products - first * first.T / counts) / both, -1, 1)
        mixed = cubes / variance / both
        spread = (1 + found**2 / 2) * squared / both**2 + found**2 / 4 * (alone + alone.T) - found * (mixed + mixed.T)
        rows = counts * np.fmin(1, _NORMAL / (counts * np.fmax(alone, alone.T)))
    return found, rows, np.clip(spread, 0, None)


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
