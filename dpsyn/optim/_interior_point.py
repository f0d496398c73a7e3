"""A primal-dual interior-point method for the LP of private sampling: its normal matrix is C × C, however many points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpsyn.optim.control import Control
from dpsyn.optim.matching import Floats, MatchingProblem

_ITERATIONS = 60
_AIM = 1e-10
_STEP_BACK = 0.995


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Where the iteration ended; the caller checks it.

    Attributes:
        shrinkage, ratio: λ and x, strictly inside the box.
        multipliers: y of the equalities, shape (C,).
        iterations: steps taken.
    """

    shrinkage: float
    ratio: Floats
    multipliers: Floats
    iterations: int


def interior_point(problem: MatchingProblem, control: Control | None = None) -> InteriorPoint | None:
    """min λ  subject to  W (p ∘ x) + λ (a - u) = a,  lower <= x <= upper,  0 <= λ <= 2.

    Mehrotra's predictor-corrector method, started at x = 1, λ = 1, which satisfies the equalities inside the box; λ <= 2
    is never active and keeps the start inside. None if the normal matrix stops being positive definite too early.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    state = _State(problem)
    iteration = 0
    while iteration < _ITERATIONS and state.gap() > _AIM:
        iteration += 1
        if control is not None:
            control.iterations += 1
            control.tell("linear program", iteration / _ITERATIONS, gap=state.gap())
        scaling = 1.0 / (state.low_dual / state.low + state.high_dual / state.high)
        normal = state.normal_matrix(scaling)
        normal[np.diag_indices_from(normal)] *= 1.0 + 1e-13
        try:
            factor = cho_factor(normal, overwrite_a=True)
        except (LinAlgError, ValueError):
            break

        solve = partial(cho_solve, factor)
        mean = state.complementarity()
        affine = state.direction(solve, scaling, 0.0, None)
        lengths = state.longest(affine, 1.0)
        predicted = state.complementarity_after(affine, lengths)
        centre = (predicted / mean) ** 3 * mean
        step = state.direction(solve, scaling, centre, affine)
        state.move(step, state.longest(step, _STEP_BACK))
    return None if iteration == 0 else InteriorPoint(float(state.z[-1]), state.ratio(), state.y, iteration)


@dataclass(frozen=True, eq=False)
class _Direction:
    z: Floats
    y: Floats
    low_dual: Floats
    high_dual: Floats


class _State:
    """z = (x, λ) with slacks to both bounds, and the dual variables."""

    def __init__(self, problem: MatchingProblem) -> None:
        self.problem = problem
        points = len(problem.weights)
        self.functions = problem.functions
        self.towards = problem.target - problem.uniform
        self.z = np.ones(points + 1)
        self.lower = np.append(np.full(points, problem.lower), 0.0)
        self.upper = np.append(np.full(points, problem.upper), 2.0)
        self.cost = np.append(np.zeros(points), 1.0)
        self.y = np.zeros(len(problem.target))
        # The duals of x are of the order of the weights, that of λ of order 1.
        size = np.append(problem.weights, 1.0)
        self.low = self.z - self.lower
        self.high = self.upper - self.z
        self.low_dual = size / self.low
        self.high_dual = size / self.high

    def ratio(self) -> Floats:
        """x."""
        return self.z[:-1]

    def gap(self) -> float:
        """How far from optimal: the largest of Σ slack · dual and of what the equalities of either side miss."""
        return max(
            float(self.low @ self.low_dual + self.high @ self.high_dual),
            float(np.abs(self.dual_residual() / np.append(self.problem.weights, 1.0)).max()) * 1e-2,
            float(np.abs(self.primal_residual()).max()),
        )

    def complementarity(self) -> float:
        return float(self.low @ self.low_dual + self.high @ self.high_dual) / (2 * len(self.z))

    def complementarity_after(self, step: _Direction, lengths: tuple[float, float]) -> float:
        primal, dual = lengths
        low, high = self.low + primal * step.z, self.high - primal * step.z
        return float(low @ (self.low_dual + dual * step.low_dual) + high @ (self.high_dual + dual * step.high_dual)) / (
            2 * len(self.z)
        )

    def times(self, z: Floats) -> Floats:
        """A z, A = [W diag(p) | a - u]: λ moves the right-hand side."""
        return np.asarray(self.problem.statistics(z[:-1]) + self.towards * z[-1])

    def transposed(self, y: Floats) -> Floats:
        return np.append((self.functions.T @ y) * self.problem.weights, float(self.towards @ y))

    def primal_residual(self) -> Floats:
        return np.asarray(self.problem.target - self.times(self.z))

    def dual_residual(self) -> Floats:
        return np.asarray(self.cost - self.transposed(self.y) - self.low_dual + self.high_dual)

    def normal_matrix(self, scaling: Floats) -> Floats:
        """A diag(scaling) Aᵀ."""
        of_points = self.problem.gram(scaling[:-1] * self.problem.weights**2)
        return np.asarray(of_points + np.outer(self.towards, self.towards) * scaling[-1])

    def direction(
        self, solve: Callable[[Floats], Floats], scaling: Floats, centre: float, affine: _Direction | None
    ) -> _Direction:
        low_target = centre - self.low * self.low_dual
        high_target = centre - self.high * self.high_dual
        if affine is not None:
            low_target = low_target - affine.z * affine.low_dual
            high_target = high_target + affine.z * affine.high_dual
        bent = self.dual_residual() - low_target / self.low + high_target / self.high
        right = self.primal_residual() + self.times(scaling * bent)
        y = solve(right)
        y = y + solve(right - self.times(scaling * self.transposed(y)))
        z = scaling * (self.transposed(y) - bent)
        low_dual = (low_target - self.low_dual * z) / self.low
        high_dual = (high_target + self.high_dual * z) / self.high
        return _Direction(z, y, low_dual, high_dual)

    def longest(self, step: _Direction, back: float) -> tuple[float, float]:
        primal = max(float((-step.z / self.low).max()), float((step.z / self.high).max()), back)
        dual = max(float((-step.low_dual / self.low_dual).max()), float((-step.high_dual / self.high_dual).max()), back)
        return back / primal, back / dual

    def move(self, step: _Direction, lengths: tuple[float, float]) -> None:
        primal, dual = lengths
        self.z = self.z + primal * step.z
        self.low = self.low + primal * step.z
        self.high = self.high - primal * step.z
        self.y = self.y + dual * step.y
        self.low_dual = self.low_dual + dual * step.low_dual
        self.high_dual = self.high_dual + dual * step.high_dual
