"""Step 3 of private sampling: the least shrinkage that makes the statistics attainable in the box (an LP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.errors import SolverError
from dpsyn.optim.matching import RESIDUAL_ALLOWED, Floats, MatchingProblem

GAP_ALLOWED = 1e-7
_SIMPLEX_UP_TO = 400
"""Number of equations up to which the simplex method is tried first (157 x 6912: 0.4 s against 0.5 s; 137 x 65,536: 6 s
against 15 s; 1231 x 5000: 36 s against 12 s for the interior-point method)."""


@dataclass(frozen=True, eq=False)
class ShrinkageSolution:
    """λ, with the evidence that it is attainable and nearly the least.

    Attributes:
        shrinkage: λ in [0, 1].
        ratio: a density ratio that attains it, shape (s,).
        residual: its largest equality residual, recomputed.
        outside: how far it leaves the box.
        dual_bound: no smaller λ is attainable than this, proven by the dual weights.
        status: ``"optimal"``, or ``"feasible"`` if λ - dual_bound exceeds GAP_ALLOWED.
        solver: whose answer this is.
    """

    shrinkage: float
    ratio: Floats
    residual: float
    outside: float
    dual_bound: float
    status: str
    solver: str

    @property
    def gap(self) -> float:
        """λ - dual_bound."""
        return self.shrinkage - self.dual_bound


def shrinkage_dual_bound(problem: MatchingProblem, multipliers: Floats) -> float:
    """A lower bound on λ from any multipliers y of the equalities, shape (C,).

    λ >= min over λ in [0, 1] and x in the box of λ + y·(a + λ(u - a) - W (p ∘ x)).
    """
    slope = 1.0 + float(multipliers @ (problem.uniform - problem.target))
    return _dual_bound(problem.functions, problem, problem.target, multipliers, slope)


def _dual_bound(functions: Any, problem: MatchingProblem, target: Floats, multipliers: Floats, slope: float) -> float:
    pull = np.asarray(functions.T @ multipliers) * problem.weights
    most = float(np.maximum(problem.lower * pull, problem.upper * pull).sum())
    return max(0.0, float(multipliers @ target) + min(0.0, slope) - most)


def least_shrinkage(problem: MatchingProblem) -> ShrinkageSolution:
    """min λ  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper,  0 <= λ <= 1.

    If the least-norm solution at λ = 0 lies in the box, it is the answer. Otherwise HiGHS solves the LP.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8, after clipping to the box).
    """
    free = _least_norm(problem)
    if free is not None:
        return ShrinkageSolution(0.0, free, problem.residual(free, 0.0), 0.0, 0.0, "optimal", "least norm")
    methods = ["highs-ds", "highs-ipm"] if len(problem.target) <= _SIMPLEX_UP_TO else ["highs-ipm", "highs-ds"]
    reasons = []
    for method in methods:
        found = _highs(problem, method)
        if isinstance(found, ShrinkageSolution):
            return found
        reasons.append(f"{method}: {found}")
    raise SolverError("the linear program for the shrinkage has no usable solution: " + "; ".join(reasons))


def _least_norm(problem: MatchingProblem) -> Floats | None:
    """x = 1 + Wᵀy with W (p ∘ x) = a, if it stays in the box; None otherwise."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    gram = (problem.functions * problem.weights) @ problem.functions.T
    try:
        factor = cho_factor(gram, overwrite_a=True)
    except LinAlgError:
        return None
    ratio = 1.0 + problem.functions.T @ cho_solve(factor, problem.target - problem.uniform)
    if problem.outside(ratio) > 0 or problem.residual(ratio, 0.0) > RESIDUAL_ALLOWED:
        return None
    return np.asarray(ratio)


def _highs(problem: MatchingProblem, method: Any) -> ShrinkageSolution | str:
    from scipy.optimize import linprog

    sparse = problem.sparse_functions is not None and problem.sparse_target is not None
    functions: Any = problem.sparse_functions if sparse else sp.csr_array(problem.functions)
    target = problem.sparse_target if sparse and problem.sparse_target is not None else problem.target
    points = len(problem.weights)
    towards = target - np.asarray(functions @ problem.weights)
    # In x ∘ p the entries would be as small as 1/m; in x they are of order 1 and the solver's tolerances mean something.
    equalities: Any = sp.hstack([functions.multiply(problem.weights[None, :]), sp.csr_array(towards[:, None])]).tocsc()
    scale = points * float(problem.weights.max())
    bounds: Any = np.empty((points + 1, 2))
    bounds[:-1] = problem.lower, problem.upper
    bounds[-1] = 0.0, 1.0
    options: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    result = linprog(
        np.append(np.zeros(points), 1.0),
        A_eq=equalities * scale,
        b_eq=target * scale,
        bounds=bounds,
        method=method,
        options=options,
    )
    if result.x is None or not np.isfinite(result.x).all():
        return str(result.message)
    ratio = np.clip(result.x[:-1], problem.lower, problem.upper)
    shrinkage = float(np.clip(result.x[-1], 0.0, 1.0))
    residual = problem.residual(ratio, shrinkage)
    if residual > RESIDUAL_ALLOWED:
        return f"residual {residual:.1e} after clipping"
    bound = 0.0
    marginals = getattr(getattr(result, "eqlin", None), "marginals", None)
    if marginals is not None and np.isfinite(marginals).all():
        multipliers = np.asarray(marginals) * scale
        bound = _dual_bound(functions, problem, target, multipliers, 1.0 - float(multipliers @ towards))
    status = "optimal" if shrinkage - bound <= GAP_ALLOWED else "feasible"
    return ShrinkageSolution(shrinkage, ratio, residual, problem.outside(ratio), bound, status, method)
