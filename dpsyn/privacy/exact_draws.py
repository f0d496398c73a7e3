"""Draws whose probabilities are known exactly, so that a bound on them is a fact and not up to rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TOTAL = 2**62
"""Probabilities are whole multiples of 1/TOTAL."""


@dataclass(frozen=True, eq=False)
class ExactDistribution:
    """P(i) = counts_i / TOTAL, with Σ counts = TOTAL exactly. Shape (s,)."""

    counts: Integers

    @property
    def probabilities(self) -> Floats:
        """counts / TOTAL, rounded to floating point."""
        return self.counts / TOTAL

    def draw(self, generator: np.random.Generator, rows: int) -> Integers:
        """``rows`` independent positions: a uniform whole number below TOTAL, looked up among the cumulative counts."""
        return np.searchsorted(np.cumsum(self.counts), generator.integers(0, TOTAL, rows), side="right").astype(np.int64)


def bounded_distribution(ratio: Floats, multiplicity: Integers, floor: float, ceiling: float) -> ExactDistribution:
    """The distribution closest to ratio_i·c_i/m with every probability in [floor, ceiling]·c_i/m, exactly.

    Rounding x·c/m to floating point and dividing by the sum would leave the box by a little; here the bounds are whole
    numbers of 1/TOTAL, rounded inwards, and what is missing from TOTAL goes where there is room.

    Args:
        ratio: x, meant to lie in [floor, ceiling] with Σ x_i c_i = m; clipped and rescaled where it does not, shape (s,).
        multiplicity: c, positive whole numbers with sum m, shape (s,).
        floor: lower bound on x, in (0, 1).
        ceiling: upper bound on x, above 1.

    Raises:
        ParameterError: a number is not finite, or the bounds leave no distribution.
    """
    if not (np.isfinite(ratio).all() and ratio.shape == multiplicity.shape and multiplicity.min() >= 1):
        raise ParameterError("ratio", f"shape {ratio.shape}", "finite numbers, one for each point")
    if not 0 < floor < 1 < ceiling:
        raise ParameterError("floor", (floor, ceiling), "0 < floor < 1 < ceiling")
    m = int(multiplicity.sum())
    lower, upper = _whole_bounds(multiplicity, m, floor, ceiling)
    clipped = np.clip(ratio, floor, ceiling) * multiplicity
    wanted = np.minimum(clipped / clipped.sum(), 1.0) * float(TOTAL)
    counts = np.clip(np.rint(wanted).astype(np.int64), lower, upper)
    missing = TOTAL - int(counts.sum())
    while missing:
        room = (upper - counts) if missing > 0 else (counts - lower)
        sizes = room.astype(np.float64)
        share = np.minimum(np.floor(abs(missing) * (sizes / sizes.sum())).astype(np.int64), room)
        if not share.any():
            share[np.flatnonzero(room > 0)[: abs(missing)]] = 1
        counts += share if missing > 0 else -share
        missing = TOTAL - int(counts.sum())
    return ExactDistribution(counts)


def _whole_bounds(multiplicity: Integers, m: int, floor: float, ceiling: float) -> tuple[Integers, Integers]:
    values, at = np.unique(multiplicity, return_inverse=True)
    lower = [_ceil(Fraction(floor) * int(c) * TOTAL / m) for c in values]
    upper = [min(TOTAL, int(Fraction(ceiling) * int(c) * TOTAL / m)) for c in values]
    return np.array(lower, dtype=np.int64)[at], np.array(upper, dtype=np.int64)[at]


def _ceil(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)
