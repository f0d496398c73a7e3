"""What other people's solvers answer: HiGHS the linear program, Clarabel, through CVXPY, the quadratic one. W is formed."""

from __future__ import annotations

import numpy as np

from dpsyn.errors import SolverError
from dpsyn.solvers import shrinkage as shrinkage_module
from dpsyn.solvers._newton import Dual, NormalMatrix
from dpsyn.solvers._reference import clarabel
from dpsyn.solvers.closest import ClosestSolution
from dpsyn.solvers.matching import Control, KeptDensity, MatchingProblem
from dpsyn.solvers.shrinkage import ShrinkageSolution


def shrinkage_by_highs(problem: MatchingProblem) -> ShrinkageSolution:
    """As ``least_shrinkage``."""
    return shrinkage_module._first(problem, Control(), shrinkage_module._BY_HIGHS)


def density_by_clarabel(problem: MatchingProblem, shrinkage: float) -> ClosestSolution:
    """As ``closest_to_uniform``."""
    wanted = problem.wanted(shrinkage)
    answer = clarabel(problem, wanted)
    if isinstance(answer, str):
        raise SolverError(f"the quadratic program has no usable solution: Clarabel says {answer}")
    ratio, multipliers, iterations = answer
    ratio = np.clip(ratio, problem.lower, problem.upper)
    return ClosestSolution(
        shrinkage,
        density=KeptDensity(ratio),
        multipliers=multipliers,
        objective=0.5 * float(problem.weights @ (ratio - 1.0) ** 2),
        dual_bound=Dual(problem, wanted, NormalMatrix.of(problem)).at(multipliers).value,
        residual=problem.residual(ratio, shrinkage),
        solver="clarabel",
        iterations=iterations,
    )
