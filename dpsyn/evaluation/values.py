"""Numbers and dates compared by their values, never by the bins of the domain, which hide what happens inside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.counted import AnyTable, CountedTable
from dpsyn.domain import Attribute
from dpsyn.notation import percent, short
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
_Measured = tuple[Floats, Floats, Floats]
"""Coefficients of pairs of columns; the rows that they are of, counted as fewer where tails are longer than a normal law's;
and their variance."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
COMMON = 3
"""How many of the commonest values are looked at."""
LEAST_COMMON = 0.01
"""Share from which a value counts as a common one."""
MOST_CORRELATED, MOST_IN_RATIOS = 60, 10_000
"""Columns whose correlations are looked at, and rows whose correlation ratios are; of more some are left out."""
_MOST_PARTS, _LEAST_IN_A_PART = 32, 4
"""Into so many parts a column is cut for them, or fewer: half of the root of its values."""
_CONSTANT = 1e-12
"""Share of a sum of squares below which what is left about the mean is rounding."""
_LOST_SHARE, _FAR_MEAN, _FAR_LAW, _FAR_DEVIATION = 0.05, 0.25, 0.1, 1.5
"""From these differences on a column counts as ruined, besides what two samples of one source differ by."""
_MOST, _ENOUGH = 0.5, 100
"""Share of the real rows above which one value hides what the others are: they are looked at by themselves, too, where
there are so many."""
_BY_CHANCE, _HIDES = 2.0, 0.25
"""Standard errors of the difference of two laws that are put down to chance, and the allowance above which a column has too
few values to be judged by more than its law."""
_ERRORS = 3.0
"""Standard errors of shares, moments and correlations that are put down to chance."""
_FAR_CORRELATION, _FEW_PAIRS = 0.2, 3
"""The difference of two correlations beyond chance that is far, and so many rows that say nothing of one."""
_NORMAL = 3.0
"""Kurtosis of a normal law."""
_AT_ONCE = 10_000
"""Rows that are summed at once."""


@dataclass(frozen=True)
class Spike:
    """One value: its share of the real rows and of the others."""

    value: float
    real: float
    share: float


@dataclass(frozen=True)
class ValueErrors:
    """One numeric or date column of some rows beside that of the real ones.

    Attributes:
        column: its name.
        is_date: its values are days since 1970-01-01.
        real_rows, rows: cells that are not empty.
        real_mean, mean, real_deviation, deviation: of the values; NaN without any.
        real_quantiles, quantiles: at :data:`QUANTILES`.
        spikes: the values that are commonest among the real rows or the others.
        wasserstein: ∫ |F_real - F| over the range, as a share of the public range, in [0, 1].
        kolmogorov_smirnov: max |F_real - F|, in [0, 1].
        real_empty, empty: shares of the cells that are empty; all else is about the others.
        rest: the same of the rows without the one value that most of the real ones have; None without such a value, or with
            too few others.
        real_cells, cells: all cells, the empty ones, too.
        real_kurtosis, kurtosis: fourth moment about the mean, in deviations (3 of a normal law); NaN of a constant.
    """

    column: str
    is_date: bool
    real_rows: int
    rows: int
    real_mean: float
    mean: float
    real_deviation: float
    deviation: float
    real_quantiles: tuple[float, ...]
    quantiles: tuple[float, ...]
    spikes: tuple[Spike, ...]
    wasserstein: float
    kolmogorov_smirnov: float
    rest: ValueErrors | None = None
    real_empty: float = 0.0
    empty: float = 0.0
    real_cells: int = 0
    cells: int = 0
    real_kurtosis: float = 3.0
    kurtosis: float = 3.0

    @property
    def chance(self) -> float:
        """The largest difference of two laws that is put down to chance, as far as there are values on both sides."""
        return _BY_CHANCE * math.sqrt(1 / max(self.real_rows, 1) + 1 / max(self.rows, 1))

    @property
    def few(self) -> bool:
        """Whether there are too few values for more than their law to be judged."""
        return self.chance > _HIDES

    def warning(self, fresh: ValueErrors | None = None) -> str:
        """Where the column is ruined, in words; empty where it is not.

        It is off by far more than two samples of so many cells are, whose tails are these, and by far more than ``fresh``,
        the same column of other real rows.
        """
        cells = max(self.real_cells, self.real_rows), max(self.cells, self.rows)
        if not (self.real_rows and self.rows):
            apart, allowed = _apart(1 - self.real_rows / max(cells[0], 1), 1 - self.rows / max(cells[1], 1), *cells)
            return f"{self.real_rows:,} cells have a value, {self.rows:,} synthetic ones" if apart > allowed else ""
        fresh, found = None if fresh is None or fresh.few else fresh, []
        apart, allowed = _apart(self.real_empty, self.empty, *cells)
        if apart > _LOST_SHARE + max(allowed, 0.0 if fresh is None else abs(fresh.empty - fresh.real_empty)):
            found.append(
                f"{percent(self.real_empty, 3)} of the real cells are empty, and {percent(self.empty, 3)} synthetic"
            )
        beside = {} if fresh is None else {spike.value: abs(spike.real - spike.share) for spike in fresh.spikes}
        allowed = self.chance if self.few else self.chance / 2
        beyond = {s: abs(s.real - s.share) - max(allowed, beside.get(s.value, 0.0)) for s in self.spikes}
        worst = max(beyond, key=beyond.__getitem__, default=None)
        if worst is not None and beyond[worst] > _LOST_SHARE:
            found.append(
                f"{self.written(worst.value)} is in {percent(worst.real, 3)} of the real rows and {percent(worst.share, 3)} "
                "of the synthetic ones"
            )
        if not self.few:
            found += self._moments(fresh)
        law = max(self.chance, 0.0 if fresh is None else fresh.kolmogorov_smirnov)
        if not found and self.kolmogorov_smirnov > _FAR_LAW + law:
            found.append(f"the share of rows up to some value is off by {percent(self.kolmogorov_smirnov)}")
        if not found and self.rest is not None and (why := self.rest.warning(None if fresh is None else fresh.rest)):
            found.append(f"without the rows that have {self.written(self.spikes[0].value)}, {why}")
        return "; ".join(found)

    def _moments(self, fresh: ValueErrors | None) -> list[str]:
        """A mean or a deviation that is far off, in words."""
        found = []
        rows = math.hypot(1 / math.sqrt(self.real_rows), 1 / math.sqrt(self.rows))
        apart = max(self.real_deviation, self.deviation) * rows
        allowed = max(_ERRORS * apart, 0.0 if fresh is None else abs(fresh.mean - fresh.real_mean))
        if abs(self.mean - self.real_mean) > _FAR_MEAN * self.real_deviation + allowed:
            found.append(f"the mean is {self.written(self.real_mean)}, and {self.written(self.mean)} synthetic")
        (low, _), (high, kurtosis) = sorted(
            ((self.real_deviation, self.real_kurtosis), (self.deviation, self.kurtosis)), key=lambda side: side[0]
        )
        if high > low:
            far = _FAR_DEVIATION * (1.0 if fresh is None else fresh._times) * low / high
            # Chance moves the variance of a sample by √(kurtosis - 1) over the root of its rows, in parts of it.
            if 1 - far * far > _ERRORS * math.sqrt(max(kurtosis - 1, 0.0)) * rows:
                made = f"{short(self.deviation, 4)} synthetic"
                found.append(f"the deviation is {short(self.real_deviation, 4)}, and {made}")
        return found

    @property
    def _times(self) -> float:
        """How many times the smaller deviation the larger one is."""
        low, high = sorted((self.real_deviation, self.deviation))
        return high / low if low else 1.0 if high == low else math.inf

    def written(self, value: float) -> str:
        """A value of the column for people."""
        return written(value, self.is_date)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON; what is not defined is None."""
        rest = None if self.rest is None else self.rest.to_dict()
        plain = asdict(self) | {"quantile_levels": QUANTILES, "rest": rest}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in plain.items()}


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


@dataclass(frozen=True, eq=False)
class _Law:
    """Different values, ascending, and the rows that hold each."""

    values: Floats
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Floats, rows: npt.NDArray[np.int64] | None = None) -> _Law:
        """Of some values, each of one row or of so many; NaN does not count."""
        known = ~np.isnan(values)
        found, at = np.unique(values[known], return_inverse=True)
        weights = None if rows is None else rows[known]
        return cls(found, np.bincount(at, weights, len(found)).astype(np.int64))

    @cached_property
    def reached(self) -> npt.NDArray[np.int64]:
        """Rows up to each value, 0 before the first."""
        return np.append(0, np.cumsum(self.rows))

    def without(self, value: float) -> _Law:
        """That of the rows that do not have a value."""
        kept = self.values != value
        return _Law(self.values[kept], self.rows[kept])

    @property
    def n(self) -> int:
        """All rows."""
        return int(self.reached[-1])

    @property
    def shares(self) -> pd.Series[Any]:
        """Share of the rows of each value, the commonest first."""
        return pd.Series(self.rows / max(self.n, 1), self.values).sort_values(ascending=False, kind="stable")

    def up_to(self, at: Floats) -> Floats:
        """Share of the rows up to each of some values."""
        return np.asarray(self.reached[np.searchsorted(self.values, at, side="right")] / self.n)

    def moments(self) -> tuple[float, float, tuple[float, ...], float]:
        """Mean, deviation, the values at :data:`QUANTILES`, as :func:`numpy.quantile` has them, and the kurtosis."""
        if not self.n:
            return math.nan, math.nan, (), math.nan
        # A power of two brings them to [-1, 1] without rounding: neither their sum nor a square is then too large.
        exponent = int(np.frexp(self.values)[1].max())
        scaled, share = np.ldexp(self.values, -exponent), self.rows / self.n
        mean = float(share @ scaled)
        deviation = math.sqrt(float(share @ (scaled - mean) ** 2))
        kurtosis = float(share @ ((scaled - mean) / deviation) ** 4) if deviation else math.nan
        place = (self.n - 1) * np.array(QUANTILES)
        low, high = (
            self.values[np.searchsorted(self.reached[1:], at, side="right")] for at in (np.floor(place), np.ceil(place))
        )
        quantiles = low + (place - np.floor(place)) * (high - low)
        return math.ldexp(mean, exponent), math.ldexp(deviation, exponent), tuple(map(float, quantiles)), kurtosis


def value_errors(table: AnyTable, rows: Table) -> tuple[ValueErrors, ...]:
    """The numeric and date columns of ``rows`` beside those of ``table``, over one domain; empty cells do not count.

    Of a table counted in place, columns of more values than :meth:`CountedTable.numbers` lists are those of its drawn rows.
    """
    found = []
    for attribute in table.domain.attributes:
        if attribute.is_binned:
            (real, real_rows), (other, other_rows) = _law(attribute, table), _law(attribute, rows)
            empty = 1 - real.n / max(real_rows, 1), 1 - other.n / max(other_rows, 1)
            errors = replace(_of_column(attribute, real, other), real_empty=empty[0], empty=empty[1])
            errors = replace(errors, real_cells=real_rows, cells=other_rows)
            if errors.spikes and errors.spikes[0].real > _MOST:
                rest = real.without(errors.spikes[0].value), other.without(errors.spikes[0].value)
                if min(rest[0].n, rest[1].n) >= _ENOUGH:
                    errors = replace(errors, rest=_of_column(attribute, *rest))
            found.append(errors)
    return tuple(found)


def _law(attribute: Attribute, table: AnyTable) -> tuple[_Law, int]:
    """Of the cells that are not empty; and how many rows there are."""
    counted = table.numbers(attribute.name) if isinstance(table, CountedTable) else None
    if counted is None:
        return _Law.of(attribute.numbers(table.drawn.different(attribute.name))), table.drawn.n
    return _Law.of(*counted), table.n


def _of_column(attribute: Attribute, real: _Law, other: _Law) -> ValueErrors:
    at = np.union1d(real.values, other.values)
    if real.n and other.n:
        apart = np.abs(real.up_to(at) - other.up_to(at))
        wide = float(attribute.upper or 0) - float(attribute.lower or 0)
        wasserstein, largest = float(apart[:-1] @ np.diff(at)) / wide, float(apart.max())
    else:
        wasserstein = largest = math.nan if real.n == other.n else 1.0
    real_mean, real_deviation, real_quantiles, real_kurtosis = real.moments()
    mean, deviation, quantiles, kurtosis = other.moments()
    return ValueErrors(
        attribute.name,
        attribute.kind == "date",
        real.n,
        other.n,
        real_mean,
        mean,
        real_deviation,
        deviation,
        real_quantiles,
        quantiles,
        _spikes(real, other),
        wasserstein,
        largest,
        real_kurtosis=real_kurtosis,
        kurtosis=kurtosis,
    )


def common(values: Floats) -> list[float]:
    """The commonest values, if they are common: at most :data:`COMMON`."""
    return _common(_Law.of(values).shares)


def _common(shares: pd.Series[Any]) -> list[float]:
    return [float(value) for value in shares[shares >= LEAST_COMMON].index[:COMMON]]


def _spikes(real: _Law, other: _Law) -> tuple[Spike, ...]:
    shares = [real.shares, other.shares]
    every = sorted({*_common(shares[0]), *_common(shares[1])}, key=lambda value: (-shares[0].get(value, 0.0), value))
    return tuple(Spike(float(v), float(shares[0].get(v, 0.0)), float(shares[1].get(v, 0.0))) for v in every)


def _apart(real: float, other: float, rows: int, others: int) -> tuple[float, float]:
    """How far two shares are apart, and how far chance brings those of two samples of one law."""
    rows, others = max(rows, 1), max(others, 1)
    pooled = (real * rows + other * others) / (rows + others)
    return abs(real - other), _ERRORS * math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / rows + 1 / others))


def written(value: float, is_date: bool) -> str:
    """A number for people, or the date so many days after 1970-01-01; a dash for NaN."""
    if not math.isfinite(value):
        return "—"
    return str(np.datetime64(math.floor(value), "D")) if is_date else short(value)
