"""Draws whose probabilities are known exactly, so that a bound on them is a fact and not up to rounding.

Probabilities are whole multiples of 1/TOTAL. A distribution may come in blocks: the whole numbers of a block are made from
its part of the density alone, then the blocks agree on how TOTAL is shared among them, and a block that is drawn from makes
its numbers once more. Nothing as long as the distribution is ever kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TOTAL = 2**62
"""Probabilities are whole multiples of 1/TOTAL."""
_HALF = 31


@dataclass(frozen=True, eq=False)
class ExactDistribution:
    """P(i) = counts_i / TOTAL, with Σ counts = TOTAL exactly. Shape (s,)."""

    counts: Integers

    @property
    def probabilities(self) -> Floats:
        """counts / TOTAL, rounded to floating point."""
        return self.counts / TOTAL


@dataclass(frozen=True, eq=False)
class WholeCounts:
    """The whole numbers of some points before they are made to add up.

    Attributes:
        counts: near TOTAL·ratio·c/m, within the bounds, shape (b,).
        lower, upper: TOTAL·floor·c/m rounded up and TOTAL·ceiling·c/m rounded down.
    """

    counts: Integers
    lower: Integers
    upper: Integers

    def totals(self) -> BlockTotals:
        """What the other blocks have to know."""
        return BlockTotals(_sum(self.counts), _sum(self.upper - self.counts), _sum(self.counts - self.lower))

    def settled(self, share: int) -> Integers:
        """The counts moved inside their bounds, each by about its part of the room, so that their sum is ``share``."""
        counts = self.counts.copy()
        missing = share - _sum(counts)
        while missing:
            room = (self.upper - counts) if missing > 0 else (counts - self.lower)
            sizes = room.astype(np.float64)
            part = np.minimum((abs(missing) * (sizes / sizes.sum())).astype(np.int64), room)
            if not part.any():
                part[np.flatnonzero(room > 0)[: abs(missing)]] = 1
            counts += part if missing > 0 else -part
            missing = share - _sum(counts)
        return counts


@dataclass(frozen=True)
class BlockTotals:
    """Exact sums over the points of a block: of the counts, and of how far they could go up and down."""

    counts: int
    room_above: int
    room_below: int


def whole_counts(ratio: Floats, multiplicity: Integers, m: int, floor: float, ceiling: float) -> WholeCounts:
    """Whole numbers of 1/TOTAL for probabilities ratio_i·c_i/m, every one in [floor, ceiling]·c_i/m exactly.

    Args:
        ratio: x, clipped to [floor, ceiling], shape (b,).
        multiplicity: c, positive whole numbers, shape (b,).
        m: Σ c over all points, of which these may be some.
        floor: lower bound on x, in (0, 1).
        ceiling: upper bound on x, above 1.

    Raises:
        ParameterError: a number is not finite, or the bounds leave no distribution.
    """
    if not (np.isfinite(ratio).all() and ratio.shape == multiplicity.shape and multiplicity.min() >= 1):
        raise ParameterError("ratio", f"shape {ratio.shape}", "finite numbers, one for each point")
    if not 0 < floor < 1 < ceiling:
        raise ParameterError("floor", (floor, ceiling), "0 < floor < 1 < ceiling")
    lower, upper = _whole_bounds(multiplicity, m, floor, ceiling)
    wanted = np.minimum(np.clip(ratio, floor, ceiling) * (multiplicity / m), 1.0) * float(TOTAL)
    return WholeCounts(np.clip(np.rint(wanted).astype(np.int64), lower, upper), lower, upper)


def shared(blocks: Sequence[BlockTotals]) -> list[int]:
    """How many of TOTAL each block gets: its counts, moved by its part of the room, so that the sum is TOTAL exactly."""
    missing = TOTAL - sum(block.counts for block in blocks)
    rooms = [block.room_above if missing > 0 else block.room_below for block in blocks]
    room = sum(rooms)
    if abs(missing) > room:
        raise ParameterError("floor", "a box", "a box that holds a distribution: floor <= 1 <= ceiling")
    parts = [abs(missing) * one // room for one in rooms] if missing else [0] * len(rooms)
    left = abs(missing) - sum(parts)
    for i, one in enumerate(rooms):
        extra = min(left, one - parts[i])
        parts[i] += extra
        left -= extra
    return [block.counts + (part if missing > 0 else -part) for block, part in zip(blocks, parts, strict=True)]


def positions(counts: Integers, numbers: Integers) -> Integers:
    """For whole numbers below Σ counts, the point that each belongs to: the first whose cumulative count exceeds it."""
    return np.searchsorted(np.cumsum(counts), numbers, side="right").astype(np.int64)


def bounded_distribution(ratio: Floats, multiplicity: Integers, floor: float, ceiling: float) -> ExactDistribution:
    """The distribution ratio_i·c_i/m with every probability in [floor, ceiling]·c_i/m, exactly.

    Rounding x·c/m to floating point and dividing by the sum would leave the box by a little; here the bounds are whole
    numbers of 1/TOTAL, rounded inwards, and what is missing from TOTAL goes where there is room.

    Args:
        ratio: x, meant to lie in [floor, ceiling] with Σ x_i c_i = m; clipped and moved where it does not, shape (s,).
        multiplicity: c, positive whole numbers with sum m, shape (s,).
        floor: lower bound on x, in (0, 1).
        ceiling: upper bound on x, above 1.

    Raises:
        ParameterError: a number is not finite, or the bounds leave no distribution.
    """
    whole = whole_counts(ratio, multiplicity, int(multiplicity.sum()), floor, ceiling)
    (share,) = shared([whole.totals()])
    return ExactDistribution(whole.settled(share))


def _sum(values: Integers) -> int:
    """Exact, where 64 bits may not be enough: values >= 0."""
    return (int((values >> _HALF).sum()) << _HALF) + int((values & ((1 << _HALF) - 1)).sum())


def _whole_bounds(multiplicity: Integers, m: int, floor: float, ceiling: float) -> tuple[Integers, Integers]:
    values, at = np.unique(multiplicity, return_inverse=True)
    lower = [_ceil(Fraction(floor) * int(c) * TOTAL / m) for c in values]
    upper = [min(TOTAL, int(Fraction(ceiling) * int(c) * TOTAL / m)) for c in values]
    return np.array(lower, dtype=np.int64)[at], np.array(upper, dtype=np.int64)[at]


def _ceil(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)
