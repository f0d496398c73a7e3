"""Step 4 of private sampling: the density closest to uniform with given statistics, in a box (a QP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpsyn.errors import SolverError
from dpsyn.optim.matching import RESIDUAL_ALLOWED, Floats, MatchingProblem

_ITERATIONS = 200
_AIM = 1e-13


@dataclass(frozen=True, eq=False)
class ClosestSolution:
    """A density ratio in the box with the wanted statistics, with the evidence that none is closer to 1.

    Attributes:
        ratio: x, inside the box exactly, shape (s,).
        shrinkage: the λ that it was asked for.
        residual: its largest equality residual, recomputed.
        outside: how far it leaves the box: 0.
        objective: ½ Σ p (x - 1)².
        dual_bound: no x with the wanted statistics has a smaller objective than this.
        status: ``"optimal"`` if the gap is below 1e-7 of the objective's scale, else ``"feasible"``.
        solver: whose answer this is.
        iterations: of the Newton method.
    """

    ratio: Floats
    shrinkage: float
    residual: float
    outside: float
    objective: float
    dual_bound: float
    status: str
    solver: str
    iterations: int

    @property
    def gap(self) -> float:
        """objective - dual_bound; may be negative by about the residual times the multipliers."""
        return self.objective - self.dual_bound


def closest_to_uniform(problem: MatchingProblem, shrinkage: float) -> ClosestSolution:
    """min ½ Σ p (x - 1)²  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper.

    The dual has one unknown per equation. A semismooth Newton method maximises it; where that does not reach the residual
    wanted, Clarabel solves the QP and its multipliers start the Newton method again.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8).
    """
    wanted = problem.wanted(shrinkage)
    first = _newton(problem, wanted, np.zeros(len(wanted)), shrinkage, "newton")
    if first.residual <= RESIDUAL_ALLOWED:
        return first
    start = clarabel_multipliers(problem, wanted)
    if start is not None:
        second = _newton(problem, wanted, start, shrinkage, "clarabel + newton")
        if second.residual <= RESIDUAL_ALLOWED:
            return second
    raise SolverError(
        f"no density in the box has the wanted statistics to {RESIDUAL_ALLOWED:g}: the residual stays at "
        f"{first.residual:.1e}"
    )


def _newton(problem: MatchingProblem, wanted: Floats, start: Floats, shrinkage: float, solver: str) -> ClosestSolution:
    """Maximise q(y) = y·b + min over the box of Σ p (½ (x-1)² - x ∘ Wᵀy); its gradient is the equality residual.

    x(y) = clip(1 + Wᵀy) is in the box whatever y is, so only the equalities can fail.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    functions = problem.functions
    multipliers = start
    pull = functions.T @ multipliers
    ratio = np.clip(1.0 + pull, problem.lower, problem.upper)
    gradient = wanted - problem.statistics(ratio)
    best = (float(np.abs(gradient).max()), ratio, multipliers)
    iteration = 0
    while best[0] > _AIM and iteration < _ITERATIONS:
        iteration += 1
        free = (ratio > problem.lower) & (ratio < problem.upper)
        curvature = problem.gram(np.where(free, problem.weights, 0.0))
        size = float(np.linalg.norm(gradient))
        curvature[np.diag_indices_from(curvature)] += min(1e-2, 1e-2 * size) + 1e-14
        try:
            step = cho_solve(cho_factor(curvature, overwrite_a=True), gradient)
        except (LinAlgError, ValueError):  # not positive definite, or not finite
            step = gradient
        value = _dual(problem, wanted, multipliers, pull, ratio)
        rise = float(gradient @ step)
        pull_step = functions.T @ step
        length = 1.0
        improved = False
        while length > 1e-12:
            candidate = np.clip(1.0 + pull + length * pull_step, problem.lower, problem.upper)
            new_gradient = wanted - problem.statistics(candidate)
            new_multipliers = multipliers + length * step
            new_value = _dual(problem, wanted, new_multipliers, pull + length * pull_step, candidate)
            # Close to the optimum the rise of q drowns in rounding, while the residual still shows progress.
            if new_value >= value + 1e-4 * length * rise or float(np.abs(new_gradient).max()) < 0.5 * best[0]:
                improved = True
                break
            length /= 2
        if not improved:
            break
        multipliers, pull = new_multipliers, pull + length * pull_step
        ratio, gradient = candidate, new_gradient
        if (largest := float(np.abs(gradient).max())) < best[0]:
            best = (largest, ratio, multipliers)
    _, ratio, multipliers = best
    return _checked(problem, wanted, ratio, multipliers, shrinkage, solver, iteration)


def _dual(problem: MatchingProblem, wanted: Floats, multipliers: Floats, pull: Floats, ratio: Floats) -> float:
    return float(multipliers @ wanted + problem.weights @ (0.5 * (ratio - 1.0) ** 2 - pull * ratio))


def _checked(
    problem: MatchingProblem,
    wanted: Floats,
    ratio: Floats,
    multipliers: Floats,
    shrinkage: float,
    solver: str,
    iterations: int,
) -> ClosestSolution:
    pull = problem.functions.T @ multipliers
    bound = _dual(problem, wanted, multipliers, pull, np.clip(1.0 + pull, problem.lower, problem.upper))
    objective = 0.5 * float(problem.weights @ (ratio - 1.0) ** 2)
    residual = problem.residual(ratio, shrinkage)
    near = abs(objective - bound) <= 1e-7 * max(1.0, objective) and residual <= RESIDUAL_ALLOWED
    return ClosestSolution(
        ratio=ratio,
        shrinkage=shrinkage,
        residual=residual,
        outside=problem.outside(ratio),
        objective=objective,
        dual_bound=bound,
        status="optimal" if near else "feasible",
        solver=solver,
        iterations=iterations,
    )


def clarabel_multipliers(problem: MatchingProblem, wanted: Floats) -> Floats | None:
    """Multipliers of the equalities by Clarabel, through CVXPY, shape (C,); None if it gives none."""
    import cvxpy as cp

    ratio = cp.Variable(len(problem.weights))
    matching = (problem.functions * problem.weights) @ ratio == wanted
    objective = cp.Minimize(0.5 * cp.sum_squares(cp.multiply(np.sqrt(problem.weights), ratio - 1.0)))
    task = cp.Problem(objective, [matching, ratio >= problem.lower, ratio <= problem.upper])
    try:
        task.solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return None
    value = matching.dual_value
    # CVXPY's Lagrangian adds the multiplier times (left - right); ours subtracts it.
    return None if value is None or not np.isfinite(value).all() else -np.asarray(value, dtype=np.float64)
