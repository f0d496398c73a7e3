"""Step 5 of private sampling: the density closest to uniform with given statistics, in a box (a QP)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpsyn.errors import ParameterError, SolverError
from dpsyn.solvers._dual import Dual
from dpsyn.solvers._levels import Matched, match, normal_matrix
from dpsyn.solvers._reference import LARGEST, clarabel
from dpsyn.solvers.control import Control, SolverProgress, Stop, few_threads, require_solver_memory
from dpsyn.solvers.matching import RESIDUAL_ALLOWED, Floats, MatchingProblem
from dpsyn.solvers.solution import Backend, ClippedDensity, Density, KeptDensity, Solution, bounds_violation, fits

_AIM = 1e-13
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


def closest_to_uniform(
    problem: MatchingProblem,
    shrinkage: float,
    *,
    backend: Backend = "structured",
    start: ClosestSolution | Floats | None = None,
    progress: SolverProgress | None = None,
    cancel: Stop | None = None,
    memory_limit: int | None = None,
) -> ClosestSolution:
    """min ½ Σ p (x - 1)²  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper.

    The dual has one unknown per equation. A semismooth Newton method maximises it, from a few of the points to all of
    them; where that does not reach the residual wanted, Clarabel solves a small QP and its multipliers start the Newton
    method again.

    Args:
        problem: W, a and the box.
        shrinkage: λ in [0, 1], for which the box holds a solution.
        backend: ``"structured"`` or ``"reference"`` (Clarabel).
        start: the solution for a box, a λ or data nearby, or its multipliers y.
        progress: is told what is being done, the share done, and the residual.
        cancel: is asked between steps whether to stop.
        memory_limit: bytes; None for what the machine has left.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8).
        ParameterError: λ outside [0, 1]; the problem does not fit in memory, or is too large for the reference.
        CancelledError: ``cancel`` is set.
    """
    if not 0.0 <= shrinkage <= 1.0:
        raise ParameterError("shrinkage", shrinkage, "0 to 1")
    control = Control(progress, cancel)
    count, points = problem.operator.shape
    require_solver_memory(count, points, dense=False, limit=memory_limit)
    control.tell("quadratic program", 0.0)
    if backend == "reference":
        found = _reference(problem, shrinkage)
    else:
        with few_threads(count, points):
            found = _structured(
                problem, shrinkage, start.multipliers if isinstance(start, ClosestSolution) else start, control
            )
    return replace(found, backend=backend, seconds=control.seconds)


def _structured(problem: MatchingProblem, shrinkage: float, start: Floats | None, control: Control) -> ClosestSolution:
    count, points = problem.operator.shape
    aim = _AIM if count * points <= _MANY else _AIM_FOR_MANY
    first = _newton(problem, shrinkage, start, control, aim, "newton")
    if not fits(first.residual) and start is not None:
        first = _newton(problem, shrinkage, None, control, aim, "newton")
    if fits(first.residual):
        return first
    if count * points <= _HELPED_UP_TO:
        control.tell("quadratic program by Clarabel", 0.5, residual=first.residual)
        helped = clarabel_multipliers(problem, problem.wanted(shrinkage))
        if helped is not None:
            second = _newton(problem, shrinkage, helped, control, aim, "clarabel + newton")
            if fits(second.residual):
                return second
    raise SolverError(
        f"no density in the box has the wanted statistics to {RESIDUAL_ALLOWED:g}: "
        f"the residual stays at {first.residual:.1e}"
    )


def _newton(
    problem: MatchingProblem, shrinkage: float, start: Floats | None, control: Control, aim: float, solver: str
) -> ClosestSolution:
    found: Matched = match(problem, shrinkage, start, control, "quadratic program", aim=aim)
    place = found.place
    near = abs(place.objective - place.value) <= 1e-7 * max(1.0, place.objective) and fits(place.residual)
    return ClosestSolution(
        shrinkage=shrinkage,
        density=ClippedDensity(problem.operator, place.multipliers, problem.lower, problem.upper),
        multipliers=place.multipliers,
        objective=place.objective,
        dual_bound=place.value,
        residual=place.residual,
        outside=0.0,
        status="optimal" if near else "feasible",
        solver=solver,
        iterations=control.iterations,
    )


def _reference(problem: MatchingProblem, shrinkage: float) -> ClosestSolution:
    count, points = problem.operator.shape
    if count * points > LARGEST:
        raise ParameterError("backend", "reference", f"W has {count * points:,} entries; it is formed up to {LARGEST:,}")
    wanted = problem.wanted(shrinkage)
    answer = clarabel(problem, wanted)
    if isinstance(answer, str):
        raise SolverError(f"the quadratic program has no usable solution: Clarabel says {answer}")
    ratio, multipliers, iterations = answer
    density: Density = KeptDensity(np.clip(ratio, problem.lower, problem.upper))
    residual = problem.residual(density.values, shrinkage)
    objective = problem.objective(density.values)
    bound = Dual(problem.operator, wanted, problem.lower, problem.upper, normal_matrix(problem)).at(multipliers).value
    near = abs(objective - bound) <= 1e-7 * max(1.0, objective) and fits(residual)
    return ClosestSolution(
        shrinkage=shrinkage,
        density=density,
        multipliers=multipliers,
        objective=objective,
        dual_bound=bound,
        residual=residual,
        outside=bounds_violation(problem, density),
        status="optimal" if near else "feasible",
        solver="clarabel",
        iterations=iterations,
    )


def clarabel_multipliers(problem: MatchingProblem, wanted: Floats) -> Floats | None:
    """Multipliers of the equalities by Clarabel, through CVXPY, shape (C,); None if it gives none."""
    answer = clarabel(problem, wanted)
    return None if isinstance(answer, str) else answer[1]
