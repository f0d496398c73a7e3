"""Numbers that are whole multiples of a unit, as they are written: 0.3 is 30 hundredths, though no double is."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXACT = 2.0**53
"""Whole numbers below this, and their quotients, are what they should be in double precision."""
EXACT_DECIMALS = 2.0**50
"""Any 15 digits. Below this a decimal that no double is, divided by its unit, is off by less than half a unit."""
_ROUNDING = 1e-6
"""Of a unit."""
_PROPOSED = (1e3, 500.0, 100.0, 50.0, 10.0, 5.0, 1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)
"""Units that numbers may suggest; each is a multiple of the next."""


@lru_cache(maxsize=100)
def ratio(unit: float) -> Fraction:
    """The unit as a quotient of two whole numbers: 0.01 is 1/100."""
    return Fraction(repr(unit))


def exact_count(value: float, unit: float) -> Fraction | float:
    """How many units a value is, as both are written."""
    return value if unit == 1 else Fraction(repr(value)) / ratio(unit)


def counts(values: Floats, unit: float) -> Floats:
    """How many units each value is: the nearest whole number. NaN stays NaN."""
    return np.asarray(np.round(values * ratio(unit).denominator / ratio(unit).numerator))


def multiples(counted: Floats, unit: float) -> Floats:
    """So many units each, in as few decimals as the unit has: one rounding, that of a quotient of whole numbers."""
    return np.asarray(counted * ratio(unit).numerator / ratio(unit).denominator + 0.0)  # -0.0 is written as 0.0


def between(values: Floats, unit: float, precision: float = float(np.finfo(np.float64).eps)) -> npt.NDArray[np.bool_]:
    """Which finite numbers lie between two multiples, by more than sums or a number's ``precision`` are off by rounding."""
    fixed, relative = slack(unit, precision)
    off = np.abs(values - multiples(counts(values, unit), unit))
    return np.asarray(off > fixed + relative * np.abs(values))


def slack(unit: float, precision: float) -> tuple[float, float]:
    """How far a number may be off a multiple that it is taken for: so much, and so much in parts of itself."""
    return _ROUNDING * unit, 4 * precision


def decimals(unit: float) -> int:
    """How many decimals it takes to write a multiple."""
    return max(0, -_last_place(unit))


def _last_place(unit: float) -> int:
    """Power of ten of the last digit that is not 0."""
    exponent = Decimal(repr(unit)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def written(count: int, unit: float) -> str:
    """So many units, with all decimals of the unit."""
    return f"{Decimal(count) * Decimal(repr(unit)):.{decimals(unit)}f}"


def endings(unit: float, digits: int) -> tuple[str, ...]:
    """Last digits of the multiples as they are written, from 0 on until they come again: .00, .25, .50 and .75 of 0.25."""
    place = _last_place(unit)
    again = 10**digits // math.gcd(int(ratio(unit) / Fraction(10) ** place), 10**digits)
    length = digits + max(0, place) + (0 < -place <= digits)
    return tuple(written(count, unit).zfill(length)[-length:] for count in range(again))


def fineness(values: Floats) -> npt.NDArray[np.int64]:
    """Place among the proposed units of the largest one that each finite number is a multiple of; one more for none."""
    found = np.full(len(values), len(_PROPOSED), dtype=np.int64)
    with np.errstate(over="ignore"):
        for place in range(len(_PROPOSED) - 1, -1, -1):
            found[multiples(counts(values, _PROPOSED[place]), _PROPOSED[place]) == values] = place
    return found


def unit_of(values: Floats) -> float | None:
    """The unit that finite numbers suggest, 1000 to 0.000001; None if they have more decimals, or digits, than a double."""
    finest = 0
    for some in (values[:100], values):  # the first ones show most columns of real numbers
        finest = int(fineness(some).max(initial=0))
        if finest == len(_PROPOSED):
            return None
    limit = EXACT_DECIMALS / 2 * _PROPOSED[finest] if _PROPOSED[finest] < 1 else EXACT
    return _PROPOSED[finest] if float(np.abs(values).max(initial=0)) < limit else None
