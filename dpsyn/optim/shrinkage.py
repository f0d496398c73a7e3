"""Step 3 of private sampling: the least shrinkage that makes the statistics attainable in the box (an LP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.errors import SolverError
from dpsyn.optim._interior_point import interior_point
from dpsyn.optim.matching import RESIDUAL_ALLOWED, Floats, MatchingProblem

GAP_ALLOWED = 1e-7
_SIMPLEX_UP_TO = 20_000
"""Entries of W up to which HiGHS's simplex method is tried first. Above, an interior-point method whose normal matrix is
C x C is faster (157 x 6912: 0.1 s against 0.4 s; 1231 x 5000: 4 s against 12 to 36 s for HiGHS)."""


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
        multipliers: y of the equalities, shape (C,), which prove the bound: see :func:`shrinkage_dual_bound`. Zeros where
            λ = 0 needs no proof, or where the solver gave none.
    """

    shrinkage: float
    ratio: Floats
    residual: float
    outside: float
    dual_bound: float
    status: str
    solver: str
    multipliers: Floats

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

    If the least-norm solution at λ = 0 lies in the box, it is the answer. Otherwise the LP is solved: by HiGHS if it is
    small, else by our own interior-point method, and by the other one should that fail.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8, after clipping to the box).
    """
    free = _least_norm(problem)
    if free is not None:
        none = np.zeros_like(problem.target)
        return ShrinkageSolution(0.0, free, problem.residual(free, 0.0), 0.0, 0.0, "optimal", "least norm", none)
    methods = ["highs-ds", "interior point", "highs-ipm"]
    if problem.functions.size > _SIMPLEX_UP_TO:
        methods = ["interior point", "highs-ipm", "highs-ds"]
    best: ShrinkageSolution | None = None
    reasons = []
    for method in methods:
        found = _interior_point(problem) if method == "interior point" else _highs(problem, method)
        if isinstance(found, str):
            reasons.append(f"{method}: {found}")
            continue
        if found.status == "optimal":
            return found
        if best is None or found.shrinkage < best.shrinkage:
            best = found
    if best is None:
        raise SolverError("the linear program for the shrinkage has no usable solution: " + "; ".join(reasons))
    return best


def _interior_point(problem: MatchingProblem) -> ShrinkageSolution | str:
    found = interior_point(problem)
    if found is None:
        return "the first step failed"
    bound = shrinkage_dual_bound(problem, found.multipliers)
    return _checked(problem, found.ratio, found.shrinkage, bound, "interior point", found.multipliers)


def _checked(
    problem: MatchingProblem, answer: Floats, shrinkage: float, bound: float, solver: str, multipliers: Floats
) -> ShrinkageSolution | str:
    if not (np.isfinite(answer).all() and np.isfinite(shrinkage)):
        return "not finite"
    ratio = np.clip(answer, problem.lower, problem.upper)
    shrinkage = float(np.clip(shrinkage, 0.0, 1.0))
    residual = problem.residual(ratio, shrinkage)
    if not residual <= RESIDUAL_ALLOWED:
        return f"residual {residual:.1e} after clipping"
    status = "optimal" if shrinkage - bound <= GAP_ALLOWED else "feasible"
    return ShrinkageSolution(shrinkage, ratio, residual, problem.outside(ratio), bound, status, solver, multipliers)


def _least_norm(problem: MatchingProblem) -> Floats | None:
    """x = 1 + Wᵀy with W (p ∘ x) = a, if it stays in the box; None otherwise."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(problem.gram(problem.weights), overwrite_a=True)
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
    if result.x is None:
        return str(result.message)
    bound, found = 0.0, np.zeros_like(problem.target)
    marginals = getattr(getattr(result, "eqlin", None), "marginals", None)
    if marginals is not None and np.isfinite(marginals).all():
        multipliers = np.asarray(marginals) * scale
        bound = _dual_bound(functions, problem, target, multipliers, 1.0 - float(multipliers @ towards))
        found = _in_terms_of(problem, np.asarray(functions.T @ multipliers))
    return _checked(problem, result.x[:-1], float(result.x[-1]), bound, str(method), found)


def _in_terms_of(problem: MatchingProblem, pull: Floats) -> Floats:
    """y with Wᵀ y = pull, which both bases can express, shape (C,)."""
    from scipy.linalg import lstsq

    found, *_ = lstsq(problem.gram(problem.weights), problem.functions @ (problem.weights * pull))
    return np.asarray(found)
