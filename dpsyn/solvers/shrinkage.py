"""Step 4 of private sampling: the least shrinkage that makes the statistics attainable in the box (an LP)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpsyn.errors import ParameterError, SolverError
from dpsyn.solvers._interior_point import interior_point
from dpsyn.solvers._levels import Stage, least, shrinkage_bound, unclipped
from dpsyn.solvers._reference import HIGHS_METHODS, LARGEST, LinearAnswer, highs
from dpsyn.solvers.control import Control, SolverProgress, Stop, few_threads, require_solver_memory
from dpsyn.solvers.matching import Floats, MatchingProblem
from dpsyn.solvers.solution import Backend, ClippedDensity, Density, KeptDensity, Solution, bounds_violation, fits

GAP_ALLOWED = 1e-7
"""λ - dual_bound up to which a solution is called optimal."""
_DENSE_UP_TO = 4_000_000
"""Entries of W up to which the interior-point method comes first. It answers to 1e-10 whatever the degeneracy; beyond, the
path of smoothed programs is many times faster (211 x 50,000: seconds against tens of seconds)."""
_DENSE_AT_MOST = 300_000_000
_FEW = 30
"""Points per function below which the interior-point method comes first in any case: a path needs many free points."""
_SAME = 1e-12

Attempt = Callable[[MatchingProblem, Control], "ShrinkageSolution | str"]


@dataclass(frozen=True, eq=False)
class ShrinkageSolution(Solution):
    """λ, with the evidence that it is attainable and nearly the least; the objective is λ itself.

    Attributes:
        stage: where the path of smoothed programs ended, a start for the next box; None of the other methods.
    """

    stage: Stage | None = field(default=None, repr=False)


def shrinkage_dual_bound(problem: MatchingProblem, multipliers: Floats) -> float:
    """A lower bound on λ from any multipliers y of the equalities, shape (C,).

    λ >= min over λ in [0, 1] and x in the box of λ + y·(a + λ(u - a) - W (p ∘ x)).
    """
    return shrinkage_bound(problem, multipliers)


def least_shrinkage(
    problem: MatchingProblem,
    *,
    backend: Backend = "structured",
    start: ShrinkageSolution | None = None,
    progress: SolverProgress | None = None,
    cancel: Stop | None = None,
    memory_limit: int | None = None,
) -> ShrinkageSolution:
    """min λ  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper,  0 <= λ <= 1.

    A box that leaves only x = 1 needs no solver. If the least-norm solution at λ = 0 lies in the box, it is the answer.
    Otherwise the LP is solved: by an interior-point method if W is small, else along a path of smoothed programs whose
    dual has C unknowns, and by another method should one fail.

    Args:
        problem: W, a and the box.
        backend: ``"structured"`` or ``"reference"`` (HiGHS).
        start: the solution for a box or data nearby.
        progress: is told what is being done, the share done, and residual and gap.
        cancel: is asked between steps whether to stop.
        memory_limit: bytes; None for what the machine has left.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8, after clipping to the box).
        ParameterError: the problem does not fit in memory, or is too large for the reference.
        CancelledError: ``cancel`` is set.
    """
    control = Control(progress, cancel)
    count, points = problem.operator.shape
    dense = count * points <= (_DENSE_AT_MOST if points < _FEW * count else _DENSE_UP_TO)
    require_solver_memory(count, points, dense=dense, limit=memory_limit)
    if backend == "reference":
        found = _first(problem, control, [_highs_by(method) for method in _reference_methods(problem)])
        return replace(found, backend=backend, seconds=control.seconds)
    with few_threads(count, points):
        found = _structured(problem, control, start, dense)
    return replace(found, iterations=control.iterations or found.iterations, seconds=control.seconds)


def _reference_methods(problem: MatchingProblem) -> Sequence[str]:
    count, points = problem.operator.shape
    if count * points > LARGEST:
        raise ParameterError("backend", "reference", f"W has {count * points:,} entries; it is formed up to {LARGEST:,}")
    return HIGHS_METHODS


def _structured(
    problem: MatchingProblem, control: Control, start: ShrinkageSolution | None, dense: bool
) -> ShrinkageSolution:
    control.tell("least-norm density", 0.0)
    if problem.pinned or float(np.abs(problem.towards).max()) <= _SAME:
        return _uniform(problem)
    free = unclipped(problem, control)
    if free is not None:
        density = ClippedDensity(problem.operator, free.multipliers, problem.lower, problem.upper)
        none = np.zeros_like(problem.target)
        return ShrinkageSolution(0.0, density, none, 0.0, 0.0, free.residual, 0.0, "optimal", "least norm")

    def path(problem: MatchingProblem, control: Control) -> ShrinkageSolution | str:
        return _path(problem, control, start)

    attempts: list[Attempt] = [path]
    count, points = problem.operator.shape
    if dense:
        attempts = [_interior_point, path]
    elif count * points <= _DENSE_AT_MOST:
        attempts.append(_interior_point)
    if count * points <= _DENSE_UP_TO:
        attempts += [_highs_by(method) for method in HIGHS_METHODS]
    return _first(problem, control, attempts)


def _uniform(problem: MatchingProblem) -> ShrinkageSolution:
    """x = 1: all that a pinned box holds, and right at λ = 0 if the data's statistics are those of x = 1."""
    same = float(np.abs(problem.towards).max()) <= _SAME
    shrinkage = 0.0 if same else 1.0
    density = ClippedDensity(problem.operator, np.zeros_like(problem.target), 1.0, 1.0)
    none = np.zeros_like(problem.target)
    residual = float(np.abs(problem.uniform - problem.wanted(shrinkage)).max())
    return ShrinkageSolution(shrinkage, density, none, shrinkage, shrinkage, residual, 0.0, "optimal", "uniform density")


def _first(problem: MatchingProblem, control: Control, attempts: Sequence[Attempt]) -> ShrinkageSolution:
    """The first optimal answer, or the best of those that are only feasible."""
    best: ShrinkageSolution | None = None
    reasons = []
    for attempt in attempts:
        found = attempt(problem, control)
        if isinstance(found, str):
            reasons.append(found)
            continue
        if found.status == "optimal":
            return found
        if best is None or found.shrinkage < best.shrinkage:
            best = found
    if best is None:
        raise SolverError("the linear program for the shrinkage has no usable solution: " + "; ".join(reasons))
    return best


def _checked(
    problem: MatchingProblem,
    density: Density,
    shrinkage: float,
    multipliers: Floats,
    solver: str,
    iterations: int,
    residual: float | None = None,
) -> ShrinkageSolution | str:
    if not (np.isfinite(shrinkage) and np.isfinite(multipliers).all()):
        return f"{solver}: not finite"
    shrinkage = float(np.clip(shrinkage, 0.0, 1.0))
    if isinstance(density, KeptDensity):
        if not np.isfinite(density.values).all():
            return f"{solver}: not finite"
        density = KeptDensity(np.clip(density.values, problem.lower, problem.upper))
        residual = problem.residual(density.values, shrinkage)
    if residual is None or not fits(residual):
        return f"{solver}: residual {residual:.1e} after clipping"
    bound = shrinkage_bound(problem, multipliers)
    status = "optimal" if shrinkage - bound <= GAP_ALLOWED else "feasible"
    outside = bounds_violation(problem, density)
    return ShrinkageSolution(
        shrinkage, density, multipliers, shrinkage, bound, residual, outside, status, solver, iterations=iterations
    )


def _interior_point(problem: MatchingProblem, control: Control) -> ShrinkageSolution | str:
    found = interior_point(problem, control)
    if found is None:
        return "interior point: the first step failed"
    density = KeptDensity(found.ratio)
    return _checked(problem, density, found.shrinkage, found.multipliers, "interior point", found.iterations)


def _path(problem: MatchingProblem, control: Control, start: ShrinkageSolution | None) -> ShrinkageSolution | str:
    found = least(problem, control, gap=GAP_ALLOWED / 2, start=None if start is None else start.stage)
    if found is None:
        return "smoothed dual: the first step failed"
    place = found.stage.place
    density = ClippedDensity(problem.operator, place.multipliers, problem.lower, problem.upper)
    shrinkage = float(np.clip(place.shrinkage, 0.0, 1.0))
    residual = float(np.abs(place.gradient - shrinkage * problem.towards).max())
    answer = _checked(problem, density, shrinkage, found.multipliers, "smoothed dual", control.iterations, residual)
    return answer if isinstance(answer, str) else replace(answer, stage=found.stage)


def _highs_by(method: str) -> Attempt:
    def attempt(problem: MatchingProblem, control: Control) -> ShrinkageSolution | str:
        control.tell(f"linear program by {method}", 0.0)
        found = highs(problem, method)
        if not isinstance(found, LinearAnswer):
            return f"{method}: {found}"
        return _checked(problem, KeptDensity(found.ratio), found.shrinkage, found.multipliers, method, found.iterations)

    return attempt
