"""A primal-dual interior-point method for the LP of private sampling: its normal matrix is C × C, however many points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpsyn.solvers.matching import Control, Floats, LinearAnswer, MatchingProblem

_ITERATIONS = 80
_AIM = 1e-11
_STEP_BACK = 0.995
_SHORTEST = 1e-3
_STALLED = 4
_REGULARISATION = (1e-14, 1e-12, 1e-10, 1e-8)
_REFINEMENTS, _SMALL_ENOUGH, _IDLE = 30, 1e-12, 3
_CORRECTIONS, _ENOUGH = 6, 1e-13
_MATCHED = 3e-9
"""What an iterate may miss of W (p ∘ x) to be an answer."""


def interior_point(problem: MatchingProblem, control: Control | None = None) -> LinearAnswer | None:
    """min λ  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper,  0 <= λ.

    Solved as max κ subject to W (p ∘ z) = κ ĉ with x = 1 + w z, w = min(1 - lower, upper - 1), ĉ = (a - u)/max|a - u| and
    1 - λ = w κ/max|a - u|: whatever the width of the box, z and κ are of order 1. Mehrotra's predictor-corrector method
    starts at z = 0, κ = 0, which satisfies the equalities inside the box. None if no step could be taken.
    """
    state = _State(problem)
    best: tuple[float, float, Floats, Floats] | None = None
    iteration = stalled = 0
    while iteration < _ITERATIONS and state.gap() > _AIM and stalled < _STALLED:
        if control is not None:
            control.iterations += 1
            control.tell("linear program", iteration / _ITERATIONS, residual=state.miss(), gap=state.gap() * state.unit)
        scaling = 1.0 / (state.low_dual / state.low + state.high_dual / state.high)
        solve = _solver(state.normal_matrix(scaling))
        if solve is None:
            break
        iteration += 1
        mean = state.complementarity()
        affine = state.direction(solve, scaling, 0.0, None)
        lengths = state.longest(affine, 1.0)
        predicted = state.complementarity_after(affine, lengths)
        centre = (predicted / mean) ** 3 * mean
        step = state.direction(solve, scaling, centre, affine)
        lengths = state.longest(step, _STEP_BACK)
        if not state.move(step, lengths):
            break
        # Where rounding ends the progress, neither step length recovers.
        stalled = stalled + 1 if min(lengths) < _SHORTEST else 0
        if state.width * state.miss() <= _MATCHED and (best is None or state.gap() < best[0]):
            best = (state.gap(), float(state.z[-1]), state.z[:-1], state.y)
    if iteration == 0:
        return None
    _, kappa, z, y = best or (0.0, float(state.z[-1]), state.z[:-1], state.y)
    return LinearAnswer(1.0 - state.unit * kappa, 1.0 + state.width * z, y / state.reach, iteration)


def _solver(normal: Floats) -> Callable[[Floats], Floats] | None:
    """r ↦ N⁻¹ r: conjugate gradients with the factor of N, made definite if need be, as preconditioner."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    if not np.isfinite(normal).all():
        return None
    # A symmetric scaling to a unit diagonal costs nothing, and the slacks' range of sizes shows on the diagonal.
    root = np.sqrt(np.maximum(normal.diagonal(), np.finfo(float).tiny))
    matrix = normal / root / root[:, None]
    factor = None
    for regularisation in _REGULARISATION:
        shifted = matrix.copy()
        shifted[np.diag_indices_from(shifted)] += regularisation
        try:
            factor = cho_factor(shifted, overwrite_a=True)
            break
        except LinAlgError:
            continue
    if factor is None:
        return None

    def solve(right: Floats) -> Floats:
        right = right / root
        solution = np.zeros_like(right)
        left = right.copy()
        size = float(np.linalg.norm(right))
        corrected = cho_solve(factor, left)
        direction, energy = corrected, float(left @ corrected)
        best, idle = (np.inf, solution), 0
        for _ in range(_REFINEMENTS):
            image = matrix @ direction
            curvature = float(direction @ image)
            if not curvature > 0:
                break
            solution = solution + (energy / curvature) * direction
            left = right - matrix @ solution
            missing = float(np.linalg.norm(left))
            idle = 0 if missing < 0.5 * best[0] else idle + 1
            if missing < best[0]:
                best = (missing, solution)
            if missing <= _SMALL_ENOUGH * size or idle > _IDLE:
                break
            corrected = cho_solve(factor, left)
            new = float(left @ corrected)
            direction = corrected + (new / energy) * direction
            energy = new
        return np.asarray(best[1] / root)

    return solve


@dataclass(frozen=True, eq=False)
class _Direction:
    z: Floats
    y: Floats
    low_dual: Floats
    high_dual: Floats


class _State:
    """(z, κ) with slacks to both bounds, and the dual variables."""

    def __init__(self, problem: MatchingProblem) -> None:
        self.problem = problem
        points = problem.points
        self.weights = problem.weights
        self.width = min(1.0 - problem.lower, problem.upper - 1.0)
        self.reach = float(np.abs(problem.towards).max())
        self.unit = self.width / self.reach
        """1 - λ at κ = 1."""
        self.towards = problem.towards / self.reach
        self.z = np.zeros(points + 1)
        # Σ p z = 0 and |z| <= 1 on one side bound what W (p ∘ z) reaches; κ >= -1 never binds and keeps the start inside.
        self.lower = np.append(np.full(points, (problem.lower - 1.0) / self.width), -1.0)
        self.upper = np.append(np.full(points, (problem.upper - 1.0) / self.width), 1.0 / self.unit)
        self.cost = np.append(np.zeros(points), -1.0)
        self.y = np.zeros(len(problem.target))
        # The duals of z are of the order of the weights, that of κ of order 1.
        self.size = np.append(self.weights, 1.0)
        self.low = self.z - self.lower
        self.high = self.upper - self.z
        self.low_dual = self.size / self.low
        self.high_dual = self.size / self.high

    def gap(self) -> float:
        """How far from optimal: the largest of Σ slack · dual and of what the dual's equalities miss."""
        return max(
            float(self.low @ self.low_dual + self.high @ self.high_dual),
            float(np.abs(self.dual_residual() / self.size).max()) * 1e-2,
        )

    def miss(self) -> float:
        """What the primal's equalities miss."""
        return float(np.abs(self.times(self.z)).max())

    def complementarity(self) -> float:
        return float(self.low @ self.low_dual + self.high @ self.high_dual) / (2 * len(self.z))

    def complementarity_after(self, step: _Direction, lengths: tuple[float, float]) -> float:
        primal, dual = lengths
        low, high = self.low + primal * step.z, self.high - primal * step.z
        return float(low @ (self.low_dual + dual * step.low_dual) + high @ (self.high_dual + dual * step.high_dual)) / (
            2 * len(self.z)
        )

    def times(self, z: Floats) -> Floats:
        """A (z, κ), A = [W diag(p) | -ĉ]."""
        return np.asarray(self.problem.operator.matvec(self.weights * z[:-1]) - self.towards * z[-1])

    def transposed(self, y: Floats) -> Floats:
        return np.append(self.problem.operator.rmatvec(y) * self.weights, -float(self.towards @ y))

    def dual_residual(self) -> Floats:
        return np.asarray(self.cost - self.transposed(self.y) - self.low_dual + self.high_dual)

    def normal_matrix(self, scaling: Floats) -> Floats:
        """A diag(scaling) Aᵀ."""
        of_points = self.problem.gram(scaling[:-1] * self.weights**2)
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
        right = -self.times(self.z) + self.times(scaling * bent)
        y = self._solved(solve, scaling, right)
        z = scaling * (self.transposed(y) - bent)
        low_dual = (low_target - self.low_dual * z) / self.low
        high_dual = (high_target + self.high_dual * z) / self.high
        return _Direction(z, y, low_dual, high_dual)

    def _solved(self, solve: Callable[[Floats], Floats], scaling: Floats, right: Floats) -> Floats:
        """y with A diag(scaling) Aᵀ y = right, corrected with A itself while that helps."""
        y = best = solve(right)
        least = np.inf
        for _ in range(_CORRECTIONS):
            left = right - self.times(scaling * self.transposed(y))
            missing = float(np.abs(left).max())
            if not missing < 0.5 * least:
                break
            least, best = missing, y
            if missing <= _ENOUGH:
                break
            y = y + solve(left)
        return best

    def longest(self, step: _Direction, back: float) -> tuple[float, float]:
        primal = max(float((-step.z / self.low).max()), float((step.z / self.high).max()), back)
        dual = max(float((-step.low_dual / self.low_dual).max()), float((-step.high_dual / self.high_dual).max()), back)
        return back / primal, back / dual

    def move(self, step: _Direction, lengths: tuple[float, float]) -> bool:
        """Take the step; False if it leads nowhere."""
        primal, dual = lengths
        if not (np.isfinite(step.z).all() and np.isfinite(step.y).all() and np.isfinite(step.low_dual).all()):
            return False
        self.z = self.z + primal * step.z
        self.low = self.low + primal * step.z
        self.high = self.high - primal * step.z
        self.y = self.y + dual * step.y
        self.low_dual = self.low_dual + dual * step.low_dual
        self.high_dual = self.high_dual + dual * step.high_dual
        return bool(self.low.min() > 0 and self.high.min() > 0)
