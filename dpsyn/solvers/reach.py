"""λ for every floor and ceiling at once: how far the data's statistics can be reached, as one concave function."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpsyn.errors import SolverError
from dpsyn.solvers.matching import Floats, MatchingProblem
from dpsyn.solvers.shrinkage import ShrinkageSolution, least_shrinkage

_SMALLEST_RATIO, _LARGEST_RATIO = 1e-2, 1e3
_TOLERANCE = 1e-7
_MOST_SOLVES = 80
_FEWEST_SOLVES = 10
_UNIFORM = 1e-12
_SHARE = 0.9
_PROOF = 1e-5


@dataclass(frozen=True, eq=False)
class Tangent:
    """A proof that φ(ρ) <= at_zero + slope·ρ for every ρ, with equality at ``ratio``.

    Attributes:
        ratio: ρ at which the linear program was solved.
        value: φ(ρ) there.
        at_zero, slope: Σ p v⁻ and Σ p v⁺ for the test function v.
        multipliers: y with y·(a - u) = 1; the test function is v = Wᵀ y. Shape (C,).
    """

    ratio: float
    value: float
    at_zero: float
    slope: float
    multipliers: Floats

    def at(self, ratio: float) -> float:
        """The upper bound at another ρ."""
        return self.at_zero + self.slope * ratio


@dataclass(frozen=True, eq=False)
class ReachCurve:
    """φ(ρ) = max t such that t (a - u) = W (p ∘ y) for some -1 <= y <= ρ: concave, piecewise linear, φ(0) = 0.

    With y = (x - 1)/(1 - lower) the linear program of private sampling on the box [lower, upper] says
    1 - λ = min(1, (1 - lower)·φ(ρ)) at ρ = (upper - 1)/(1 - lower). So the few line pieces of φ are λ for every box.

    Attributes:
        tangents: by ascending ρ; their minimum is at least φ. Empty if the data's statistics are those of the uniform
            density.
        gap: that minimum exceeds φ by no more than this share of φ, between the first ρ and the last.
    """

    tangents: tuple[Tangent, ...]
    gap: float

    @property
    def exact(self) -> bool:
        """The minimum of the tangents is φ: no line piece was left out."""
        return self.gap <= _TOLERANCE

    def best(self, ratio: float) -> Tangent | None:
        """The tangent that is smallest at ρ, that is the dual solution there; None if λ = 0 for every box."""
        return min(self.tangents, key=lambda tangent: tangent.at(ratio), default=None)

    def value(self, ratio: float) -> float:
        """φ(ρ), or a little more; infinite if the data's statistics are those of the uniform density."""
        tangent = self.best(ratio)
        return math.inf if tangent is None else tangent.at(ratio)

    def shrinkage(self, lower: float, upper: float) -> float:
        """λ for the box lower <= x <= upper, with lower <= 1 <= upper; where the curve is not exact, a little less."""
        room, above = 1.0 - lower, max(0.0, upper - 1.0)
        if not self.tangents:
            return 0.0
        # (1 - lower)·(at_zero + slope·ρ) without the division, so that lower = 1 is no special case.
        reach = min(tangent.at_zero * room + tangent.slope * above for tangent in self.tangents)
        return min(1.0, max(0.0, 1.0 - reach))

    def breaks(self) -> Floats:
        """The ρ at which one line piece ends and the next begins."""
        found: list[float] = []
        for left, right in pairwise(self.tangents):
            meeting = _meeting(left, right)
            # A solution right at a break adds a tangent between its two neighbours, which both meet it there.
            if meeting is None or (found and meeting - found[-1] <= _TOLERANCE * meeting):
                continue
            if left.slope - right.slope > _TOLERANCE * left.slope:
                found.append(meeting)
        return np.array(found)

    def with_solution_at(self, problem: MatchingProblem, ratio: float) -> ReachCurve:
        """The curve made exact at one ρ, by solving the linear program there unless it is exact already.

        Raises:
            SolverError: the linear program has no usable solution.
        """
        if self.exact or not self.tangents or any(tangent.ratio == ratio for tangent in self.tangents):
            return self
        new = _solve(problem, ratio, float(np.abs(problem.towards).max()), self.value(ratio))
        return ReachCurve(tuple(sorted((*self.tangents, new), key=lambda tangent: tangent.ratio)), self.gap)


def reach_curve(
    problem: MatchingProblem,
    *,
    most_solves: int = _MOST_SOLVES,
    seconds: float = math.inf,
) -> ReachCurve:
    """The line pieces of φ between ρ = 0.01 and 1000, by solving the linear program where neighbouring tangents meet.

    Each solution is a tangent; where two of them meet, either φ is there, and no piece lies between, or a new one is found.
    The widest gap is closed first, so that stopping early leaves a curve that is nearly right everywhere.

    Args:
        problem: the statistics; its box does not matter.
        most_solves: linear programs to solve at most.
        seconds: after which no further one is begun, once there are ten.

    Raises:
        SolverError: the linear program has no usable solution at some ρ, or one whose multipliers do not prove it.
    """
    spread = float(np.abs(problem.towards).max())
    if spread < _UNIFORM:
        return ReachCurve((), 0.0)
    begun = time.perf_counter()
    middle = _solve(problem, 1.0, spread)
    found = [_solve(problem, _SMALLEST_RATIO, spread, middle.at(_SMALLEST_RATIO)), middle]
    found.append(_solve(problem, _LARGEST_RATIO, spread, middle.at(_LARGEST_RATIO)))
    solves = len(found)
    pieces = [(-_room(one, two), one.ratio, one, two) for one, two in pairwise(found)]
    heapq.heapify(pieces)
    while -pieces[0][0] > _TOLERANCE and solves < most_solves:
        if solves >= _FEWEST_SOLVES and time.perf_counter() - begun > seconds:
            break
        _, _, one, two = heapq.heappop(pieces)
        meeting = _meeting(one, two)
        assert meeting is not None  # there is no room between tangents that do not meet
        new = _solve(problem, meeting, spread, one.at(meeting))
        solves += 1
        if new.value >= one.at(meeting) * (1 - _TOLERANCE):
            # φ is where the two tangents meet: neither side has room for another piece.
            heapq.heappush(pieces, (0.0, one.ratio, one, two))
            continue
        found.append(new)
        heapq.heappush(pieces, (-_room(one, new), one.ratio, one, new))
        heapq.heappush(pieces, (-_room(new, two), new.ratio, new, two))
    return ReachCurve(tuple(sorted(found, key=lambda tangent: tangent.ratio)), -pieces[0][0])


def _room(one: Tangent, two: Tangent) -> float:
    """By what share of φ the tangents may exceed it between them: where they meet, against the chord."""
    meeting = _meeting(one, two)
    if meeting is None or not one.ratio < meeting < two.ratio:
        return 0.0
    share = (meeting - one.ratio) / (two.ratio - one.ratio)
    chord = (1 - share) * one.value + share * two.value
    return max(0.0, one.at(meeting) / chord - 1)


def _meeting(one: Tangent, two: Tangent) -> float | None:
    fall = one.slope - two.slope
    return None if fall <= 0 else (two.at_zero - one.at_zero) / fall


def _solve(problem: MatchingProblem, ratio: float, spread: float, bound: float | None = None) -> Tangent:
    # The linear program stops at λ = 0: the box is scaled down until it does not, and φ is what is left, scaled up.
    scale = min(0.999, _SHARE * (spread / max(1.0, ratio) if bound is None else 1 / bound))
    solution: ShrinkageSolution = least_shrinkage(problem.with_box(1 - scale, 1 + scale * ratio))
    value = (1 - solution.shrinkage) / scale
    towards = float(solution.multipliers @ (problem.towards))
    multipliers = solution.multipliers / towards if towards > 0 else np.zeros_like(problem.target)
    test = problem.functions.T @ multipliers
    below = float(problem.weights @ np.maximum(-test, 0.0))
    above = float(problem.weights @ np.maximum(test, 0.0))
    if not (towards > 0 and below + above * ratio <= value * (1 + _PROOF)):
        raise SolverError(f"the multipliers of the linear program do not prove its value at a box of ratio {ratio:.3g}")
    return Tangent(ratio, value, below, above, multipliers)
