"""Other people's solvers on the same programs, to check against and to fall back on: HiGHS for LPs, Clarabel for the QP."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from dpsyn.solvers.matching import Floats, LinearAnswer, MatchingProblem

HighsMethod = Literal["highs-ds", "highs-ipm"]
"""Dual simplex, or interior point with crossover."""


def highs(problem: MatchingProblem, method: HighsMethod) -> LinearAnswer | str:
    """min λ subject to W (p ∘ x) + λ (a - u) = a in the box; or the reason why there is no answer."""
    functions: Any = problem.sparse_functions
    target = problem.sparse_target
    if functions is None or target is None:
        functions, target = sp.csr_array(problem.functions), problem.target
    towards = target - np.asarray(functions @ problem.weights)
    # In x ∘ p the entries would be as small as 1/m; in x they are of order 1 and the solver's tolerances mean something.
    equalities: Any = sp.hstack([functions.multiply(problem.weights[None, :]), sp.csr_array(towards[:, None])]).tocsc()
    scale = problem.points * float(problem.weights.max())
    bounds: Any = np.empty((problem.points + 1, 2))
    bounds[:-1] = problem.lower, problem.upper
    bounds[-1] = 0.0, 1.0
    result = _linprog(
        np.append(np.zeros(problem.points), 1.0), method, A_eq=equalities * scale, b_eq=target * scale, bounds=bounds
    )
    if result.x is None:
        return str(result.message)
    multipliers, marginals = np.zeros_like(problem.target), _marginals(result, "eqlin")
    if marginals is not None:
        multipliers = _in_terms_of(problem, np.asarray(functions.T @ (marginals * scale)))
    return LinearAnswer(float(result.x[-1]), result.x[:-1], multipliers, int(getattr(result, "nit", 0)))


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


def solve_with_highs(matrix: Any, target: Floats, method: HighsMethod) -> Any:
    """SciPy's result for the least largest deviation: minimise t subject to -t ≤ A h - y ≤ t, Σ h = 1, h ≥ 0.

    ``result.x`` is (h, t).
    """

    statistics, points = matrix.shape
    slack: Any = np.ones((statistics, 1))
    both: Any
    if not isinstance(matrix, np.ndarray):
        both = sp.vstack([sp.hstack([matrix, -slack]), sp.hstack([-matrix, -slack])]).tocsc()
    else:
        both = np.block([[matrix, -slack], [-matrix, -slack]])
    total = np.append(np.ones(points), 0.0)
    return _linprog(
        np.append(np.zeros(points), 1.0),
        method,
        A_ub=both,
        b_ub=np.concatenate([target, -target]),
        A_eq=total[None, :],
        b_eq=np.ones(1),
        bounds=(0, None),
    )


def weights_of(result: Any, statistics: int) -> Floats | None:
    """The multipliers w of the statistics, or None if the solver gave none that are finite."""
    marginals = _marginals(result, "ineqlin")
    return None if marginals is None else marginals[statistics:] - marginals[:statistics]


def _linprog(cost: Floats, method: HighsMethod, **program: Any) -> Any:
    from scipy.optimize import linprog

    options: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    return linprog(cost, method=method, options=options, **program)


def _marginals(result: Any, kind: str) -> Floats | None:
    found = getattr(getattr(result, kind, None), "marginals", None)
    return np.asarray(found, dtype=np.float64) if found is not None and np.isfinite(found).all() else None
