"""Numbers and dates compared value by value, never by the bins of the domain, which hide what happens inside them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Attribute
from dpsyn.notation import short
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
COMMON = 3
"""How many of the commonest values are looked at."""
_NOT_COMMON = 0.01
"""Share from which a value counts as a common one."""
_LOST_SHARE, _FAR_MEAN, _FAR_LAW, _FAR_DEVIATION = 0.05, 0.25, 0.1, 1.5
"""From these differences on a column counts as ruined, besides what two samples of one source differ by."""
_BY_CHANCE = 2.0
"""Standard errors of the difference of two samples that are put down to chance."""


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

    @property
    def warning(self) -> str:
        """Where the column is ruined, in words, by far more than chance; empty where it is not."""
        if not (self.real_rows and self.rows):
            return (
                "" if self.real_rows == self.rows else f"{self.real_rows:,} cells have a value, {self.rows:,} synthetic ones"
            )
        chance = _BY_CHANCE * math.sqrt(1 / self.real_rows + 1 / self.rows)
        found = []
        worst = max(self.spikes, key=lambda spike: abs(spike.real - spike.share), default=None)
        if worst is not None and abs(worst.real - worst.share) > _LOST_SHARE + chance / 2:
            found.append(
                f"{self.written(worst.value)} is in {_percent(worst.real)} of the real rows and {_percent(worst.share)} of "
                "the synthetic ones"
            )
        if abs(self.mean - self.real_mean) > (_FAR_MEAN + chance) * self.real_deviation:
            found.append(f"the mean is {self.written(self.real_mean)}, and {self.written(self.mean)} synthetic")
        far = _FAR_DEVIATION + 2 * chance
        if self.deviation > far * self.real_deviation or self.real_deviation > far * self.deviation:
            found.append(f"the deviation is {short(self.real_deviation, 4)}, and {short(self.deviation, 4)} synthetic")
        if not found and self.kolmogorov_smirnov > _FAR_LAW + chance:
            found.append(f"the share of rows up to some value is off by {_percent(self.kolmogorov_smirnov)}")
        return "; ".join(found)

    def written(self, value: float) -> str:
        """A value of the column for people: a date, or a number."""
        if self.is_date and math.isfinite(value):
            return str(np.datetime64(math.floor(value), "D"))
        return short(value) if math.isfinite(value) else "—"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON; what is not defined is None."""
        plain = asdict(self) | {"quantile_levels": QUANTILES}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in plain.items()}


def value_errors(table: Table, rows: Table) -> tuple[ValueErrors, ...]:
    """The numeric and date columns of ``rows`` beside those of ``table``, over one domain; empty cells do not count."""
    return tuple(
        _of_column(attribute, attribute.numbers(table.frame[attribute.name]), attribute.numbers(rows.frame[attribute.name]))
        for attribute in table.domain.attributes
        if attribute.is_binned
    )


def _of_column(attribute: Attribute, real: Floats, other: Floats) -> ValueErrors:
    real, other = (np.sort(values[~np.isnan(values)]) for values in (real, other))
    at = np.unique(np.concatenate([real, other]))
    if len(real) and len(other):
        apart = np.abs(_share_up_to(real, at) - _share_up_to(other, at))
        wide = float(attribute.upper or 0) - float(attribute.lower or 0)
        wasserstein, largest = float(apart[:-1] @ np.diff(at)) / wide, float(apart.max())
    else:
        wasserstein = largest = math.nan if len(real) == len(other) else 1.0
    (real_mean, real_deviation, real_quantiles), (mean, deviation, quantiles) = _moments(real), _moments(other)
    return ValueErrors(
        attribute.name,
        attribute.kind == "date",
        len(real),
        len(other),
        real_mean,
        mean,
        real_deviation,
        deviation,
        real_quantiles,
        quantiles,
        _spikes(real, other),
        wasserstein,
        largest,
    )


def _moments(values: Floats) -> tuple[float, float, tuple[float, ...]]:
    if not len(values):
        return math.nan, math.nan, ()
    return float(values.mean()), float(values.std()), tuple(map(float, np.quantile(values, QUANTILES)))


def _share_up_to(ordered: Floats, at: Floats) -> Floats:
    return np.asarray(np.searchsorted(ordered, at, side="right") / len(ordered))


def _spikes(real: Floats, other: Floats) -> tuple[Spike, ...]:
    shares = [pd.Series(values).value_counts(normalize=True) for values in (real, other)]
    common = [counts[counts >= _NOT_COMMON].index[:COMMON] for counts in shares]
    every = sorted({*common[0], *common[1]}, key=lambda value: (-shares[0].get(value, 0.0), value))
    return tuple(Spike(float(v), float(shares[0].get(v, 0.0)), float(shares[1].get(v, 0.0))) for v in every)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
