"""A semismooth Newton method on the dual of both programs: C unknowns, and nothing kept for a point.

For multipliers v of the equalities the inner minimum is attained at x(v) = clip(1 + Wᵀv, lower, upper), point by point, and

    f(v) = v·b - Σ p φ(Wᵀv),   φ(t) = t x - ½ (x - 1)² at x = clip(1 + t),   ∇f(v) = b - W (p ∘ x(v))

is concave; its generalised Hessian is -W diag(p on the points strictly inside the box) Wᵀ. One pass over the points gives
value and gradient, one more the Hessian, so that the sums may be made anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.matching import Floats, MatchingProblem
from dpsyn.solvers.memory import NEAR_ENTRIES
from dpsyn.solvers.operator import DenseOperator

_ARMIJO = 1e-4
_SHORTEST = 1e-10
_SHORT = 0.25
_LOOKS, _FLAT = 30, 0.1
_ROUNDING, _IDLE = 5e-9, 3
"""From this residual on, so many steps without much gain mean that rounding allows no more."""
_NARROWEST, _WIDER = 1e-3, 4.0
_FRESH = 0.25
"""A factor of the Hessian is kept as long as a step with it leaves at most this share of the residual."""

_DOUBLE_WORK = 2e10
"""Multiplications up to which the matrix is formed in double precision."""
_MOST_WORK = 4e11
"""Multiplications spent on one matrix: beyond, a share of the points stands for all."""
_POINTS_PER_FUNCTION = 40
"""That share keeps at least so many points per function: the matrix is then right to about 2/√40 of itself."""
DENSE_UP_TO = 6_000
"""C up to which the matrix is formed at all; beyond, conjugate gradients with products."""
_GRADIENT_STEPS = 200

Tell = Callable[[int, float], None]
Solve = Callable[[Floats], Floats]


@dataclass(eq=False)
class NormalMatrix:
    """How exactly H = W diag(p on the free points) Wᵀ is formed.

    Attributes:
        orthonormal: over all points the matrix is nearly the unit matrix.
        double: always form in double precision.
        most_work: multiplications spent on one matrix.
        dense_up_to: C up to which H is formed.
    """

    orthonormal: bool = False
    double: bool = False
    most_work: float = _MOST_WORK
    dense_up_to: int = DENSE_UP_TO

    @classmethod
    def of(cls, problem: MatchingProblem) -> NormalMatrix:
        """How to form Hessians for the problem."""
        functions, points = problem.operator.shape
        normal = cls()
        if functions <= normal.dense_up_to and points * float(functions) ** 2 > normal.most_work:
            # Off-diagonal entries of a sample of k points are about 1/√k for functions orthonormal on the whole.
            few = problem.operator.sample(min(points, 4 * functions + 1000), np.random.default_rng(0))
            matrix = MatchingProblem(few, problem.target, 0.0, 2.0).gram(few.weights)
            scatter = matrix - np.eye(functions)
            normal.orthonormal = float(np.sqrt(np.mean(scatter**2))) < 3 / np.sqrt(few.shape[1])
        return normal


def _conjugate_gradients(product: Callable[[Floats], Floats], right: Floats) -> Floats:
    """A solution of H d = right up to a residual of a hundredth of the right-hand side."""
    solution, left = np.zeros_like(right), right.copy()
    direction, size = left.copy(), float(left @ left)
    aim = 1e-2**2 * size
    for _ in range(_GRADIENT_STEPS):
        if not size > aim:
            break
        image = product(direction)
        length = size / float(direction @ image)
        solution += length * direction
        left -= length * image
        new = float(left @ left)
        direction = left + (new / size) * direction
        size = new
    return solution


def _sums(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> tuple[Floats, float, float, int]:
    pull = np.asarray(block.adjoint(multipliers), dtype=np.float64)
    ratio = np.clip(1.0 + pull, lower, upper)
    mass = block.weights * ratio
    change = ratio - 1.0
    spread = 0.5 * float((block.weights * change) @ change)
    inside = int(np.count_nonzero((ratio > lower) & (ratio < upper)))
    return block.apply(mass), float(mass @ pull) - spread, spread, inside


def _gram(
    block: PointBlock, multipliers: Floats, lower: float, upper: float, free: bool, keep: float, dtype: Any
) -> tuple[npt.NDArray[Any]]:
    """W diag(p) Wᵀ over the points inside the box, or over those at a bound; or over a share of them for all."""
    ratio = 1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64)
    used = ((ratio > lower) & (ratio < upper)) == free
    if keep < 1.0:
        used &= np.random.default_rng(block.start).random(len(used)) < keep
    return (np.asarray(block.gram(np.where(used, block.weights / keep, 0.0), dtype=dtype), dtype=np.float64),)


def _product(block: PointBlock, multipliers: Floats, direction: Floats, lower: float, upper: float) -> tuple[Floats]:
    ratio = 1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64)
    used = (ratio > lower) & (ratio < upper)
    return (block.apply(np.where(used, block.weights * block.adjoint(direction), 0.0)),)


def _near_counts(block: PointBlock, multipliers: Floats, lower: float, upper: float, widths: Floats) -> tuple[Floats]:
    ratio = 1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64)
    beyond = np.sort(np.maximum(lower - ratio, ratio - upper))
    return (np.searchsorted(beyond, widths, side="right").astype(np.float64),)


def _near(block: PointBlock, multipliers: Floats, lower: float, upper: float, width: float) -> tuple[Floats, Floats, Floats]:
    """W and p of the points at most ``width`` beyond a bound, and W (p ∘ x) of the others, which stay at theirs."""
    ratio = 1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64)
    near = np.maximum(lower - ratio, ratio - upper) <= width
    mass = np.where(near, 0.0, block.weights * np.where(ratio < 1.0, lower, upper))
    unit = np.flatnonzero(near)
    return block.columns(unit), np.asarray(block.weights[unit]), block.apply(mass)


@dataclass(frozen=True, eq=False)
class Place:
    """What one pass over the points tells about multipliers v.

    Attributes:
        multipliers: v, shape (C,).
        value: f(v).
        gradient: b - W (p ∘ x(v)), shape (C,).
        shrinkage: λ, where it is free: the one that leaves the least of the gradient.
        missing: the gradient, less what λ accounts for, shape (C,).
        objective: ½ Σ p (x - 1)².
        free: number of points strictly inside the box.
    """

    multipliers: Floats
    value: float
    gradient: Floats
    shrinkage: float
    missing: Floats
    objective: float
    free: int

    @property
    def residual(self) -> float:
        """max |missing|."""
        return float(np.abs(self.missing).max())


@dataclass(frozen=True, eq=False)
class Dual:
    """Maximise f over v; or, with ``towards`` = a - u and a level s, over those v with v·(a - u) = s.

    The second is the dual of min λ + (1/s) ½ Σ p (x - 1)² subject to W (p ∘ x) = a - λ (a - u): the LP, smoothed. Its λ is
    the multiplier of the constraint, and v/s are multipliers of the LP.

    Attributes:
        problem: W, p and the box.
        wanted: b, shape (C,).
        normal: how Hessians are formed.
        towards: a - u or None.
        whole: all points are here: a step may restrict the problem to some of them.
    """

    problem: MatchingProblem
    wanted: Floats
    normal: NormalMatrix
    towards: Floats | None = None
    whole: bool = True

    @property
    def _box(self) -> tuple[float, float]:
        return self.problem.lower, self.problem.upper

    def at(self, multipliers: Floats) -> Place:
        """One pass over the points."""
        statistics, conjugate, objective, free = self.problem.operator.reduce(_sums, multipliers, *self._box)
        gradient = self.wanted - statistics
        shrinkage, missing = 0.0, gradient
        if self.towards is not None:
            shrinkage = float(self.towards @ gradient) / float(self.towards @ self.towards)
            missing = gradient - shrinkage * self.towards
        value = float(multipliers @ self.wanted) - conjugate
        return Place(multipliers, value, gradient, shrinkage, missing, objective, free)

    def factor(self, place: Place, margin: float = 0.0) -> Solve | None:
        """r ↦ (H + c cᵀ/|c|² + εI)⁻¹ r with the Hessian at a place, up to sign; None if the matrix is beyond use.

        ε is in proportion to the residual, and H as exact as is worth while. c = ``towards`` is a direction along which the
        step is prescribed, so that nothing but the condition of the matrix depends on the term in it; at the optimum of the
        LP, H alone is nearly singular. Points up to ``margin`` beyond a bound count as free: the matrix is then larger, the
        step shorter.
        """
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        dimension, points = self.problem.operator.shape
        edges = (self._box[0] - margin, self._box[1] + margin)
        shift = min(1e-2, 1e-2 * place.residual) + 1e-14
        unit = None
        if self.towards is not None:
            unit = self.towards * np.sqrt(max(place.free, 1) / points) / float(np.linalg.norm(self.towards))
        if dimension > self.normal.dense_up_to:

            def times(d: Floats) -> Floats:
                image = np.asarray(self.problem.operator.reduce(_product, place.multipliers, d, *edges)[0]) + shift * d
                return image if unit is None else image + unit * float(unit @ d)

            return partial(_conjugate_gradients, times)
        most = max(self.normal.most_work / float(dimension) ** 2, _POINTS_PER_FUNCTION * dimension)
        if place.free <= most or not self.normal.orthonormal or 2 * place.free <= points:
            matrix = self._formed(place, edges, place.free, most, True)
        else:
            # W diag(p) Wᵀ over all points is nearly the unit matrix; the difference is smaller and sampled better.
            matrix = np.eye(dimension)
            if place.free < points:
                matrix -= self._formed(place, edges, points - place.free, most, False)
        if unit is not None:
            matrix += np.outer(unit, unit)
        matrix[np.diag_indices_from(matrix)] += shift
        try:
            return partial(cho_solve, cho_factor(matrix, overwrite_a=True))
        except (LinAlgError, ValueError):  # not positive definite, or not finite
            return None

    def _formed(self, place: Place, edges: tuple[float, float], count: int, most: float, free: bool) -> Floats:
        """W diag(p) Wᵀ over the free points or over the others, ``count`` in all, or from a share of them."""
        keep = min(1.0, most / max(count, 1))
        single = not self.normal.double and count * keep * float(len(self.wanted)) ** 2 > _DOUBLE_WORK
        dtype = np.float32 if single else np.float64
        matrix = np.asarray(self.problem.operator.reduce(_gram, place.multipliers, *edges, free, keep, dtype)[0])
        if single:
            matrix[np.diag_indices_from(matrix)] += 1e-7 * matrix.diagonal().max()
        return matrix

    def _step(self, place: Place, solve: Solve, level: float) -> Floats:
        if self.towards is None:
            return solve(place.gradient)
        along, across = solve(place.missing), solve(self.towards)
        short = level - float(self.towards @ place.multipliers)
        share = (float(self.towards @ along) - short) / float(self.towards @ across)
        return along - share * across

    def maximise(
        self,
        start: Floats,
        *,
        aim: float,
        most: int,
        level: float = 0.0,
        tell: Tell | None = None,
        going: Callable[[Place], bool] = lambda place: True,
    ) -> tuple[Place, int]:
        """Newton steps from ``start`` until the residual is at most ``aim``; the best place met, and the number of steps.

        Args:
            start: v, shape (C,); with ``towards`` it must satisfy v·(a - u) = level.
            aim: the residual at which to stop.
            most: steps at most.
            level: s.
            tell: is told the number of steps and the residual.
            going: whether to go on from a place.
        """
        here = best = self.at(start)
        solve: Solve | None = None
        steps, margin, idle = 0, 0.0, 0
        while here.residual > aim and steps < most and going(here):
            if best.residual <= _ROUNDING and idle >= _IDLE:
                break
            if tell is not None:
                tell(steps, here.residual)
            step = self._restricted(here, level) if self.whole else None
            found = None if step is None else self._search(here, step)
            if found is None:
                fresh = solve is None
                if solve is None:
                    solve = self.factor(here, margin)
                found = None if solve is None else self._search(here, self._step(here, solve, level))
                if found is None or found[0].residual > _FRESH * here.residual:
                    solve = None
                if found is None and fresh:
                    if self.normal.double:
                        break
                    self.normal.double = True
            steps += 1
            if found is None:
                continue
            here, length = found
            # A short step means that many points at once were about to leave their bound: the next matrix counts on them.
            margin = self._margin(margin, length)
            idle = 0 if here.residual < 0.5 * best.residual else idle + 1
            if here.residual < best.residual:
                best = here
        return best, steps

    def _restricted(self, place: Place, level: float) -> Floats | None:
        """The step to the maximum of f with the points far from the inside of the box held at their bounds.

        Where they are held, φ continues in a straight line, so this model of f is concave, equal to f near v, never
        below f, and much cheaper: its maximum is worth several Newton steps.
        """
        operator, edges = self.problem.operator, self._box
        count = len(place.multipliers)
        most = min(NEAR_ENTRIES / count, 0.3 * operator.shape[1])
        if max(2 * place.free, 4 * count) > most:
            return None
        widths = (edges[1] - edges[0]) * 2.0 ** np.arange(-4, 12)
        (found,) = operator.reduce(_near_counts, place.multipliers, *edges, widths)
        wide = int(np.searchsorted(found, min(most, max(4 * place.free, 8 * count)), side="right")) - 1
        if wide < 0 or found[wide] < count:
            return None
        parts = operator.map(_near, place.multipliers, *edges, float(widths[wide]))
        functions = np.hstack([part[0] for part in parts])
        weights = np.concatenate([part[1] for part in parts])
        held = np.sum([part[2] for part in parts], axis=0)
        near = MatchingProblem(DenseOperator(functions, weights), self.wanted - held, *edges)
        model = Dual(near, near.target, NormalMatrix(), self.towards, whole=False)
        best, _ = model.maximise(place.multipliers, aim=1e-3 * place.residual, most=25, level=level)
        return best.multipliers - place.multipliers if best.residual < 0.5 * place.residual else None

    def _margin(self, margin: float, length: float) -> float:
        span = self._box[1] - self._box[0]
        if length < _SHORT:
            return min(max(_WIDER * margin, _NARROWEST * span), span)
        return margin / _WIDER if margin > _NARROWEST * span else 0.0

    def _search(self, here: Place, step: Floats) -> tuple[Place, float] | None:
        rise = float(here.gradient @ step)
        if not np.isfinite(rise):
            return None
        length = self._length(here, step) if isinstance(self.problem.operator, DenseOperator) else 1.0
        while length > _SHORTEST:
            there = self.at(here.multipliers + length * step)
            # Close to the optimum the rise of f drowns in rounding, while the residual still shows progress.
            if there.value >= here.value + _ARMIJO * length * rise or there.residual < 0.5 * here.residual:
                return there, length
            length /= 2
        return None

    def _length(self, here: Place, step: Floats) -> float:
        """Where f stops rising along a step, at most 1: with the products kept, a look costs no pass over W."""
        operator = self.problem.operator
        pull, change = operator.rmatvec(here.multipliers), operator.rmatvec(step)
        mass, straight = operator.weights * change, float(self.wanted @ step)

        def slope(length: float) -> float:
            return straight - float(mass @ np.clip(1.0 + pull + length * change, *self._box))

        low, high = 0.0, 1.0
        first = slope(0.0)
        if not first > 0 or slope(1.0) >= 0:
            return 1.0
        for _ in range(_LOOKS):
            middle = (low + high) / 2
            here_slope = slope(middle)
            if abs(here_slope) <= _FLAT * first:
                return middle
            low, high = (middle, high) if here_slope > 0 else (low, middle)
        return low or high
