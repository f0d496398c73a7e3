"""Numbers and dates compared by their values, never by the bins of the domain, which hide what happens inside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import units
from dpsyn.calendar import PARTS, calendar_codes
from dpsyn.data.counted import AnyTable, CountedTable
from dpsyn.dates import day_text
from dpsyn.domain import Attribute
from dpsyn.errors import quoted
from dpsyn.evaluation.distances import no_chance
from dpsyn.notation import percent, short
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
COMMON = 3
"""How many of the commonest values are looked at."""
LEAST_COMMON = 0.01
"""Share from which a value counts as a common one."""
_LOST_SHARE, _FAR_MEAN, _FAR_LAW, _FAR_DEVIATION = 0.05, 0.25, 0.1, 1.5
"""From these differences on a column counts as ruined, besides what two samples of one source differ by."""
_MOST, _ENOUGH = 0.5, 30
"""Share of the real rows above which one value hides what the others are: they are looked at by themselves, too, where
there are so many."""
_BY_CHANCE, _HIDES = 2.0, 0.25
"""Standard errors of the difference of two laws that are put down to chance, and the allowance above which a column has too
few values to be judged by more than its law."""
_FAR_TOTAL = 0.25
"""Part of the real mean from which on the total is told to be off."""
_LONGEST = 0.2
"""Kurtosis, as a part of the rows, above which a few of them make the deviation."""
_END, _FEW = 0.01, 30
"""Share of the values that is the lowest or the highest of them, and a number of them that is so, too."""
_ERRORS = 3.0
"""Standard errors of shares and moments that are put down to chance."""

_SAID = {"weekday": "{}s make", "month": "days in {} make", "day": "day {} of the month makes"}
_PLURAL = {"weekday": "weekdays", "month": "months", "day": "days of the month"}
_OFTEN, _LEAST_UNITS = 4, 20
"""Last digits are looked at where they come again so often in the middle of the real values, and where that is so many
multiples of the unit wide: of fewer the values themselves tell, and a smooth law makes digits differ."""
_PARITY = ("an even digit", "an odd digit")
"""Endings, too, where values end in all ten digits."""
_DIGITS = 10

_Share = tuple[object, str, float, float]
"""What has a share, in words with their verb, and its share of the real values and of the others."""


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
        real_outside, outside: shares of all cells that lie outside the domain, and count as its nearer end.
        off: from where to where there are far too few values, or too many, by no chance, with the real and the other rows
            there, most first: of common values, and of the lowest and the highest hundredth and thirty of either side.
        calendar: of dates, by the name of each weekday, month and day of the month: its shares of the real values and of the
            others.
        keep: parts of a date that its domain keeps, of "weekday", "month" and "day".
        endings: of numbers over many multiples of a unit, by the last digit and the last two as they are written, and by
            whether it is even: the shares of the real values and of the others, where one of them is more than
            :data:`_LOST_SHARE`.
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
    real_outside: float = 0.0
    outside: float = 0.0
    off: tuple[tuple[float, float, int, int], ...] = ()
    calendar: tuple[tuple[str, float, float], ...] = ()
    keep: tuple[str, ...] = ()
    endings: tuple[tuple[str, float, float], ...] = ()

    @property
    def chance(self) -> float:
        """The largest difference of two laws that is put down to chance, as far as there are values on both sides."""
        return _BY_CHANCE * self._error

    @property
    def _error(self) -> float:
        """Standard error of the difference of two means, in deviations of the values."""
        return math.sqrt(1 / max(self.real_rows, 1) + 1 / max(self.rows, 1))

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
        apart, allowed = _apart(self.real_outside, self.outside, *cells)
        if apart > _LOST_SHARE + allowed:
            found.append(
                f"{percent(self.outside, 3)} of the synthetic cells lie outside the domain, and "
                f"{percent(self.real_outside, 3)} of the real ones (each counts as its nearer end)"
            )
        found += self._share_off(self._by_value, () if fresh is None else fresh._by_value) or self._share_off(
            self._by_calendar, () if fresh is None else fresh._by_calendar
        )
        if not self.few:
            found += self._moments(fresh)
        law = max(self.chance, 0.0 if fresh is None else fresh.kolmogorov_smirnov)
        if not found and self.kolmogorov_smirnov > _FAR_LAW + law:
            found.append(f"the share of rows up to some value is off by {percent(self.kolmogorov_smirnov)}")
        if not found and self.rest is not None and (why := self.rest.warning(None if fresh is None else fresh.rest)):
            found.append(f"apart from {self.written(self.spikes[0].value)}, {why}")
        return "; ".join(found)

    @property
    def _by_value(self) -> tuple[_Share, ...]:
        return tuple((s.value, f"{self.written(s.value)} makes", s.real, s.share) for s in self.spikes)

    @property
    def _by_calendar(self) -> tuple[_Share, ...]:
        said = {name: _SAID[part].format(name) for part, names in PARTS.items() for name in names}
        return tuple((name, said[name], real, share) for name, real, share in self.calendar)

    @property
    def _by_ending(self) -> tuple[_Share, ...]:
        return tuple(
            (name, f"Values of {quoted(self.column)} that end in {name} make", real, share)
            for name, real, share in self.endings
        )

    def ending_off(self, fresh: ValueErrors | None = None) -> str:
        """Which last digits are far too rare or too frequent, in words; empty where none are."""
        return "".join(self._share_off(self._by_ending, () if fresh is None or fresh.few else fresh._by_ending))

    def _remedy(self, name: str) -> str:
        """How a weekday, month or day of the month would be kept, where it is not."""
        part = next((part for part, names in PARTS.items() if name in names and part not in self.keep), None)
        return (
            ""
            if part is None or not self.is_date
            else f" (the domain can ask mechanisms on categories to keep {_PLURAL[part]})"
        )

    def _share_off(self, shares: Sequence[_Share], fresh: Sequence[_Share]) -> list[str]:
        """That one of some shares is far off."""
        beside, beyond = {of: abs(real - share) for of, _, real, share in fresh}, {}
        for one in shares:
            of, _, real, share = one
            apart, allowed = _apart(real, share, self.real_rows, self.rows)
            beyond[one] = apart - max(allowed, beside.get(of, 0.0), self.chance if self.few else 0.0)
        worst = max(beyond, key=lambda one: (round(beyond[one], 9), one[2]), default=None)
        if worst is None or beyond[worst] <= _LOST_SHARE:
            return []
        name, said, real, share = worst
        off = f"{said} up {percent(real, 3)} of the real values and {percent(share, 3)} of the synthetic ones"
        return [off + (self._remedy(name) if isinstance(name, str) else "")]

    def _moments(self, fresh: ValueErrors | None) -> list[str]:
        """A mean or a deviation that is far off, in words."""
        found = []
        apart = max(self.real_deviation, self.deviation) * self._error
        allowed = max(_ERRORS * apart, 0.0 if fresh is None else abs(fresh.mean - fresh.real_mean))
        if abs(self.mean - self.real_mean) > _FAR_MEAN * self.real_deviation + allowed:
            found.append(f"the mean is {self.written(self.real_mean)}, and {self.written(self.mean)} synthetic")
        (low, _), (high, kurtosis) = sorted(
            ((self.real_deviation, self.real_kurtosis), (self.deviation, self.kurtosis)), key=lambda side: side[0]
        )
        if high > low:
            far = _FAR_DEVIATION * (1.0 if fresh is None else fresh._times) * low / high
            # Chance moves the variance of a sample by √(kurtosis - 1) over the root of its rows, in parts of it.
            if 1 - far * far > _ERRORS * math.sqrt(max(kurtosis - 1, 0.0)) * self._error:
                made = f"{short(self.deviation, 4)} synthetic"
                found.append(f"the deviation is {short(self.real_deviation, 4)}, and {made}")
        return found

    def total_off(self, fresh: ValueErrors | None = None) -> bool:
        """Whether the mean of values that are hardly ever negative, and so their total, is off by a part of itself, and by
        more than that of other real rows. A long tail stretches the deviation, beside which that is little; of a tail that
        few real rows make nothing is said."""
        if self.is_date or self.few or not self.real_quantiles or self.real_quantiles[0] < 0:
            return False
        if self.real_kurtosis > _LONGEST * self.real_rows:
            return False
        wild = self.real_deviation if fresh is None else max(self.real_deviation, fresh.deviation)
        allowed = _ERRORS * wild * self._error + (0.0 if fresh is None else abs(fresh.mean - fresh.real_mean))
        return abs(self.mean - self.real_mean) > max(_FAR_TOTAL * abs(self.real_mean), allowed)

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
        plain["off"] = [[v if math.isfinite(v) else None for v in place] for place in self.off]
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in plain.items()}


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

    def between(self, low: float, high: float) -> int:
        """Rows from one value to another."""
        first, last = np.searchsorted(self.values, low), np.searchsorted(self.values, high, side="right")
        return int(self.reached[last] - self.reached[first])

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
            ours, theirs = (
                float(attribute.outside(side.different(attribute.name)).sum()) / max(side.n, 1)
                for side in (table.drawn, rows)
            )
            errors = replace(errors, real_cells=real_rows, cells=other_rows, real_outside=ours, outside=theirs)
            if errors.spikes and errors.spikes[0].real > _MOST:
                rest = real.without(errors.spikes[0].value), other.without(errors.spikes[0].value)
                if min(rest[0].n, rest[1].n) >= _ENOUGH:
                    errors = replace(errors, rest=_of_column(attribute, *rest))
            found.append(errors)
    return tuple(found)


def _law(attribute: Attribute, table: AnyTable) -> tuple[_Law, int]:
    """Of the cells that are not empty, as mechanisms take them; and how many rows there are."""
    counted = table.numbers(attribute.name) if isinstance(table, CountedTable) else None
    if counted is None:
        return _Law.of(attribute.taken(attribute.numbers(table.drawn.different(attribute.name)))), table.drawn.n
    return _Law.of(attribute.taken(counted[0]), counted[1]), table.n


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
        off=_off(real, other),
        calendar=_calendar(real, other) if attribute.kind == "date" else (),
        keep=attribute.keep,
        endings=_endings(attribute.unit, real_quantiles, real, other) if attribute.kind == "numeric" else (),
    )


def _off(real: _Law, other: _Law) -> tuple[tuple[float, float, int, int], ...]:
    if not (real.n and other.n):
        return ()
    turned = [(low, high, here, there) for low, high, there, here in _fewer(other, real)]
    return tuple(sorted([*_fewer(real, other), *turned], key=lambda place: -max(place[2] / real.n, place[3] / other.n)))


def _fewer(law: _Law, other: _Law) -> Iterator[tuple[float, float, int, int]]:
    """Where another law has far fewer rows than one: from, to, and how many each has."""
    common = law.values[law.rows >= LEAST_COMMON * law.n]
    some = sorted((_END * law.n, float(min(_FEW, law.n // 2))), reverse=True)
    low, high = (law.values[np.searchsorted(law.reached[1:], at)] for at in (np.array(some), law.n - np.array(some)))
    ends = [(-math.inf, last) for last in low], [(first, math.inf) for first in high]
    for places in (*([(value, value)] for value in common), *ends):
        for first, last in places:
            here, there = law.between(first, last), other.between(first, last)
            if no_chance(np.array([here, law.n - here]), np.array([there, other.n - there]))[0]:
                yield float(first), float(last), here, there
                break


def common(values: Floats) -> list[float]:
    """The commonest values, if they are common: at most :data:`COMMON`."""
    return _common(_Law.of(values).shares)


def _common(shares: pd.Series[Any]) -> list[float]:
    return [float(value) for value in shares[shares >= LEAST_COMMON].index[:COMMON]]


def _spikes(real: _Law, other: _Law) -> tuple[Spike, ...]:
    shares = [real.shares, other.shares]
    every = sorted({*_common(shares[0]), *_common(shares[1])}, key=lambda value: (-shares[0].get(value, 0.0), value))
    return tuple(Spike(float(v), float(shares[0].get(v, 0.0)), float(shares[1].get(v, 0.0))) for v in every)


def _calendar(real: _Law, other: _Law) -> tuple[tuple[str, float, float], ...]:
    found: list[tuple[str, float, float]] = []
    for part, names in PARTS.items():
        found += _by_name(names, [calendar_codes(part, law.values) for law in (real, other)], (real, other))
    return tuple(found)


def _endings(
    unit: float | None, quantiles: Sequence[float], real: _Law, other: _Law
) -> tuple[tuple[str, float, float], ...]:
    if unit is None or not quantiles:
        return ()
    wide = quantiles[-1] - quantiles[0]
    found = list[tuple[str, float, float]]()
    one, two = (units.endings(unit, digits) for digits in (1, 2))
    for names in (one, two, *[_PARITY] * (len(one) == _DIGITS and one[1][-1] != "0")):
        if wide >= max(_LEAST_UNITS, _OFTEN * len(names)) * unit:
            counts = [np.abs(units.counts(law.values, unit)).astype(np.int64) % len(names) for law in (real, other)]
            found += _by_name(names, counts, (real, other))
    return tuple(ending for ending in found if max(ending[1:]) > _LOST_SHARE)


def _by_name(
    names: Sequence[str], of: Sequence[npt.NDArray[np.integer[Any]]], laws: Sequence[_Law]
) -> Iterator[tuple[str, float, float]]:
    """Shares of the rows of two laws by what the values of each are, 0 being the first of some names."""
    shares = [np.bincount(at, law.rows, len(names)) / max(law.n, 1) for at, law in zip(of, laws, strict=True)]
    return zip(names, *(one.tolist() for one in shares), strict=True)


def _apart(real: float, other: float, rows: int, others: int) -> tuple[float, float]:
    """How far two shares are apart, and how far chance brings those of two samples of one law."""
    rows, others = max(rows, 1), max(others, 1)
    pooled = (real * rows + other * others) / (rows + others)
    return abs(real - other), _ERRORS * math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / rows + 1 / others))


def written(value: float, is_date: bool) -> str:
    """A number for people, or the date so many days after 1970-01-01; a dash for NaN."""
    if not math.isfinite(value):
        return "—"
    return day_text(value) if is_date else short(value)
