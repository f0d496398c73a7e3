"""A semismooth Newton method on the dual of both programs: C unknowns, and nothing kept for a point.

For multipliers v of the equalities the inner minimum is attained at x(v) = clip(1 + Wᵀv, lower, upper), point by point, and

    f(v) = v·b - Σ p φ(Wᵀv),   φ(t) = t x - ½ (x - 1)² at x = clip(1 + t),   ∇f(v) = b - W (p ∘ x(v))

is concave; its generalised Hessian is -W diag(p on the points strictly inside the box) Wᵀ. One pass over the points gives
value and gradient, one more the Hessian, so that the sums may be made anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.solvers._normal import NormalMatrix
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.control import NEAR_ENTRIES
from dpsyn.solvers.functions import Floats
from dpsyn.solvers.operator import DenseOperator, PointOperator

_ARMIJO = 1e-4
_SHORTEST = 1e-10
_SHORT = 0.25
_LOOKS, _FLAT = 30, 0.1
_ROUNDING, _IDLE = 5e-9, 3
"""From this residual on, so many steps without much gain mean that rounding allows no more."""
_NARROWEST, _WIDER = 1e-3, 4.0
_FRESH = 0.25
"""A factor of the Hessian is kept as long as a step with it leaves at most this share of the residual."""

Tell = Callable[[int, float], None]
Solve = Callable[[Floats], Floats]


def ratio_on(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> Floats:
    """x = clip(1 + Wᵀv, lower, upper) on a block of points, shape (b,)."""
    return np.clip(1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64), lower, upper)


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


def _support(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> tuple[float]:
    pull = np.asarray(block.adjoint(multipliers), dtype=np.float64) * block.weights
    return (float(np.maximum(lower * pull, upper * pull).sum()),)


def support(operator: PointOperator, multipliers: Floats, lower: float, upper: float) -> float:
    """max over the box of y·W (p ∘ x), for multipliers y of shape (C,)."""
    (most,) = operator.reduce(_support, multipliers, lower, upper)
    return float(most)


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
        operator: W and p.
        wanted: b, shape (C,).
        lower, upper: the box.
        towards: a - u or None.
        whole: all points are here: a step may restrict the problem to some of them.
        normal: how Hessians are formed and solved with.
    """

    operator: PointOperator
    wanted: Floats
    lower: float
    upper: float
    normal: NormalMatrix
    towards: Floats | None = None
    whole: bool = True

    def at(self, multipliers: Floats) -> Place:
        """One pass over the points."""
        statistics, conjugate, objective, free = self.operator.reduce(_sums, multipliers, self.lower, self.upper)
        gradient = self.wanted - statistics
        shrinkage, missing = 0.0, gradient
        if self.towards is not None:
            shrinkage = float(self.towards @ gradient) / float(self.towards @ self.towards)
            missing = gradient - shrinkage * self.towards
        value = float(multipliers @ self.wanted) - conjugate
        return Place(multipliers, value, gradient, shrinkage, missing, objective, free)

    def factor(self, place: Place, margin: float = 0.0) -> Solve | None:
        """r ↦ H⁻¹ r with the Hessian at a place, up to sign and as exactly as is worth while; None if it is singular.

        Points up to ``margin`` beyond a bound count as free: the matrix is then larger, the step shorter.
        """
        edges = (self.lower - margin, self.upper + margin)

        def gram(free: bool, keep: float, dtype: Any) -> Floats:
            return np.asarray(self.operator.reduce(_gram, place.multipliers, *edges, free, keep, dtype)[0])

        def product(direction: Floats) -> Floats:
            return np.asarray(self.operator.reduce(_product, place.multipliers, direction, *edges)[0])

        return self.normal.solver(place.free, self.operator.shape[1], place.residual, gram, product, self.towards)

    def _step(self, place: Place, solve: Solve, level: float) -> Floats:
        if self.towards is None:
            return solve(place.gradient)
        along, across = solve(place.missing), solve(self.towards)
        short = level - float(self.towards @ place.multipliers)
        share = (float(self.towards @ along) - short) / float(self.towards @ across)
        return along - share * across

    def tangent(self, place: Place) -> Floats | None:
        """dv/ds at the maximum over v·(a - u) = s, shape (C,): the limit of v/s, multipliers of the LP."""
        solve = self.factor(place)
        if solve is None or self.towards is None:
            return None
        across = solve(self.towards)
        return np.asarray(across / float(self.towards @ across))

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
                if found is None and fresh and not self.normal.sharpen():
                    break
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
        edges = (self.lower, self.upper)
        count = len(place.multipliers)
        most = min(NEAR_ENTRIES / count, 0.3 * self.operator.shape[1])
        if max(2 * place.free, 4 * count) > most:
            return None
        span = self.upper - self.lower
        widths = span * 2.0 ** np.arange(-4, 12)
        (found,) = self.operator.reduce(_near_counts, place.multipliers, *edges, widths)
        wide = int(np.searchsorted(found, min(most, max(4 * place.free, 8 * count)), side="right")) - 1
        if wide < 0 or found[wide] < count:
            return None
        parts = self.operator.map(_near, place.multipliers, *edges, float(widths[wide]))
        functions = np.hstack([part[0] for part in parts])
        weights = np.concatenate([part[1] for part in parts])
        held = np.sum([part[2] for part in parts], axis=0)
        model = Dual(
            DenseOperator(functions, weights), self.wanted - held, *edges, NormalMatrix(count), self.towards, whole=False
        )
        best, _ = model.maximise(place.multipliers, aim=1e-3 * place.residual, most=25, level=level)
        return best.multipliers - place.multipliers if best.residual < 0.5 * place.residual else None

    def _margin(self, margin: float, length: float) -> float:
        span = self.upper - self.lower
        if length < _SHORT:
            return min(max(_WIDER * margin, _NARROWEST * span), span)
        return margin / _WIDER if margin > _NARROWEST * span else 0.0

    def _search(self, here: Place, step: Floats) -> tuple[Place, float] | None:
        rise = float(here.gradient @ step)
        if not np.isfinite(rise):
            return None
        length = self._length(here, step) if isinstance(self.operator, DenseOperator) else 1.0
        while length > _SHORTEST:
            there = self.at(here.multipliers + length * step)
            # Close to the optimum the rise of f drowns in rounding, while the residual still shows progress.
            if there.value >= here.value + _ARMIJO * length * rise or there.residual < 0.5 * here.residual:
                return there, length
            length /= 2
        return None

    def _length(self, here: Place, step: Floats) -> float:
        """Where f stops rising along a step, at most 1: with the products kept, a look costs no pass over W."""
        pull, change = self.operator.rmatvec(here.multipliers), self.operator.rmatvec(step)
        mass, straight = self.operator.weights * change, float(self.wanted @ step)

        def slope(length: float) -> float:
            return straight - float(mass @ np.clip(1.0 + pull + length * change, self.lower, self.upper))

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
