"""Other people's solvers on the same programs: HiGHS for the LP, Clarabel for the QP. W is formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.solvers.matching import Floats, MatchingProblem

HIGHS_METHODS = ("highs-ds", "highs-ipm")
LARGEST = 200_000_000
"""Entries of W up to which the reference is asked at all."""


@dataclass(frozen=True, eq=False)
class LinearAnswer:
    """What HiGHS says.

    Attributes:
        ratio, shrinkage: x and λ, unchecked.
        multipliers: y of the equalities in the orthonormal basis, shape (C,); zeros if it gives none.
        iterations: as it counts them.
    """

    ratio: Floats
    shrinkage: float
    multipliers: Floats
    iterations: int


def highs(problem: MatchingProblem, method: Any, *, presolve: bool = True, sparse: bool = True) -> LinearAnswer | str:
    """min λ subject to W (p ∘ x) + λ (a - u) = a in the box; or the reason why there is no answer.

    Args:
        problem: the LP.
        method: ``"highs-ds"`` (dual simplex) or ``"highs-ipm"`` (interior point with crossover).
        presolve: let HiGHS simplify the program first.
        sparse: use the problem's sparse basis, if it has one.
    """
    from scipy.optimize import linprog

    sparse = sparse and problem.sparse_functions is not None and problem.sparse_target is not None
    functions: Any = problem.sparse_functions if sparse else sp.csr_array(problem.functions)
    target = problem.sparse_target if sparse and problem.sparse_target is not None else problem.target
    towards = target - np.asarray(functions @ problem.weights)
    # In x ∘ p the entries would be as small as 1/m; in x they are of order 1 and the solver's tolerances mean something.
    equalities: Any = sp.hstack([functions.multiply(problem.weights[None, :]), sp.csr_array(towards[:, None])]).tocsc()
    scale = problem.points * float(problem.weights.max())
    bounds: Any = np.empty((problem.points + 1, 2))
    bounds[:-1] = problem.lower, problem.upper
    bounds[-1] = 0.0, 1.0
    options: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9, "presolve": presolve}
    result = linprog(
        np.append(np.zeros(problem.points), 1.0),
        A_eq=equalities * scale,
        b_eq=target * scale,
        bounds=bounds,
        method=method,
        options=options,
    )
    if result.x is None:
        return str(result.message)
    multipliers = np.zeros_like(problem.target)
    marginals = getattr(getattr(result, "eqlin", None), "marginals", None)
    if marginals is not None and np.isfinite(marginals).all():
        multipliers = _in_terms_of(problem, np.asarray(functions.T @ (np.asarray(marginals) * scale)))
    return LinearAnswer(result.x[:-1], float(result.x[-1]), multipliers, int(getattr(result, "nit", 0)))


def _in_terms_of(problem: MatchingProblem, pull: Floats) -> Floats:
    """y with Wᵀ y = pull, which both bases can express, shape (C,)."""
    from scipy.linalg import lstsq

    found = lstsq(problem.gram(problem.weights), problem.statistics(pull))
    return np.asarray(found[0])


def clarabel(problem: MatchingProblem, wanted: Floats) -> tuple[Floats, Floats, int] | str:
    """x, the multipliers of the equalities and the iterations of Clarabel through CVXPY; or why there is no answer."""
    import cvxpy as cp

    ratio = cp.Variable(problem.points)
    matching = (problem.functions * problem.weights) @ ratio == wanted
    objective = cp.Minimize(0.5 * cp.sum_squares(cp.multiply(np.sqrt(problem.weights), ratio - 1.0)))
    task = cp.Problem(objective, [matching, ratio >= problem.lower, ratio <= problem.upper])
    try:
        task.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as fault:
        return str(fault)
    value = matching.dual_value
    if value is None or ratio.value is None or not np.isfinite(value).all():
        return str(task.status)
    # CVXPY's Lagrangian adds the multiplier times (left - right); ours subtracts it.
    return np.asarray(ratio.value), -np.asarray(value, dtype=np.float64), int(task.solver_stats.num_iters or 0)
