"""Step 5 of private sampling: the density closest to uniform with given statistics, in a box (a QP)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpsyn.errors import ParameterError, SolverError
from dpsyn.solvers._newton import Dual, NormalMatrix, Place
from dpsyn.solvers._reference import clarabel
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.matching import (
    GAP_ALLOWED,
    RESIDUAL_ALLOWED,
    ClippedDensity,
    Control,
    Floats,
    MatchingProblem,
    Solution,
    SolverProgress,
    fits,
)

_STEPS = 60
_AIM, _ROUGH_AIM = 1e-13, 1e-6
_AIM_FOR_MANY = 1e-11
_MANY = 4_000_000
"""Entries of W from which the residual aimed at is the looser one."""
_HELPED_UP_TO = 3_000_000
"""Entries of W up to which Clarabel is asked for a start where Newton's method alone does not arrive."""


@dataclass(frozen=True, eq=False)
class ClosestSolution(Solution):
    """A density ratio in the box with the wanted statistics, with the evidence that none is closer to 1.

    The objective is ½ Σ p (x - 1)²; where Newton's method answers, x = clip(1 + Wᵀy, lower, upper) with the multipliers y.
    """

    @property
    def status(self) -> str:
        """``"optimal"``, or ``"feasible"`` if the gap or the residual is larger than allowed."""
        near = abs(self.gap) <= GAP_ALLOWED * max(1.0, self.objective)
        return "optimal" if near and fits(self.residual) else "feasible"


def closest_to_uniform(
    problem: MatchingProblem,
    shrinkage: float,
    *,
    start: ClosestSolution | Floats | None = None,
    progress: SolverProgress | None = None,
) -> ClosestSolution:
    """min ½ Σ p (x - 1)²  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper.

    The dual has one unknown per equation. A semismooth Newton method maximises it, from a few of the points to all of
    them; where that does not reach the residual wanted, Clarabel solves a small QP and its multipliers start the Newton
    method again.

    Args:
        problem: W, a and the box.
        shrinkage: λ in [0, 1], for which the box holds a solution.
        start: the solution for a box, a λ or data nearby, or its multipliers y.
        progress: is told what is being done, the share done, and the residual.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8).
        ParameterError: λ outside [0, 1].
    """
    if not 0.0 <= shrinkage <= 1.0:
        raise ParameterError("shrinkage", shrinkage, "0 to 1")
    control = Control(progress)
    control.tell("quadratic program", 0.0)
    with problem.few_threads():
        multipliers = start.multipliers if isinstance(start, ClosestSolution) else start
        found = _structured(problem, shrinkage, multipliers, control)
    return replace(found, seconds=control.seconds)


def _structured(problem: MatchingProblem, shrinkage: float, start: Floats | None, control: Control) -> ClosestSolution:
    first = _newton(problem, shrinkage, start, control, "newton")
    if not fits(first.residual) and start is not None:
        first = _newton(problem, shrinkage, None, control, "newton")
    if fits(first.residual):
        return first
    if problem.entries <= _HELPED_UP_TO:
        control.tell("quadratic program by Clarabel", 0.5, residual=first.residual)
        helped = clarabel(problem, problem.wanted(shrinkage))
        if not isinstance(helped, str):
            second = _newton(problem, shrinkage, helped[1], control, "clarabel + newton")
            if fits(second.residual):
                return second
    raise SolverError(
        f"no density in the box has the wanted statistics to {RESIDUAL_ALLOWED:g}: "
        f"the residual stays at {first.residual:.1e}"
    )


def _newton(
    problem: MatchingProblem, shrinkage: float, start: Floats | None, control: Control, solver: str
) -> ClosestSolution:
    place = _match(problem, shrinkage, start, control)
    return ClosestSolution(
        shrinkage,
        density=ClippedDensity(problem.operator, place.multipliers, problem.lower, problem.upper),
        multipliers=place.multipliers,
        objective=place.objective,
        dual_bound=place.value,
        residual=place.residual,
        solver=solver,
        iterations=control.iterations,
    )


def _match(problem: MatchingProblem, shrinkage: float, start: Floats | None, control: Control) -> Place:
    """The maximum of the dual, from a few of the points to all of them."""
    multipliers = start
    aim = _AIM if problem.entries <= _MANY else _AIM_FOR_MANY
    parts = list(problem.coarse_to_fine()) if start is None and not _fits_at_once(problem, shrinkage) else [problem]
    for number, part in enumerate(parts):
        last = number + 1 == len(parts)
        dual = Dual(part, part.wanted(shrinkage), NormalMatrix.of(part))
        begin = (1 - shrinkage) * part.towards
        if multipliers is not None and dual.at(multipliers).residual < dual.at(begin).residual:
            begin = multipliers

        def tell(count: int, residual: float, number: int = number, size: int = part.points) -> None:
            control.iterations += 1
            done = float(np.clip(np.log10(max(residual, 1e-300)) / np.log10(aim), 0.0, 1.0))
            share = number / len(parts) + done / len(parts)
            control.tell(f"quadratic program on {size:,} points", share, residual=residual)

        most = 3 * _STEPS if last else _STEPS
        place, _ = dual.maximise(begin, aim=aim if last else _ROUGH_AIM, most=most, tell=tell)
        multipliers = place.multipliers
    return place


def _fits_at_once(problem: MatchingProblem, shrinkage: float) -> bool:
    """Whether the start itself leaves no point at a bound: then nothing is gained from fewer points."""
    (clipped,) = problem.operator.reduce(_clipped, (1 - shrinkage) * problem.towards, problem.lower, problem.upper)
    return bool(clipped == 0)


def _clipped(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> tuple[int]:
    ratio = 1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64)
    return (int(np.count_nonzero((ratio <= lower) | (ratio >= upper))),)
