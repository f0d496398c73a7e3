"""A primal-dual interior-point method for the density of least largest deviation, whose normal equations have F unknowns.

With the deviations r = A h - y the pair of programs is

    minimise t           subject to  p = t - r ≥ 0,  q = t + r ≥ 0,  Σ h = 1,  h ≥ 0
    maximise v - w·y     subject to  z = Aᵀw - v ≥ 0,  w = a - b,  Σ (a + b) = 1,  a, b ≥ 0

and the central path has h∘z = a∘p = b∘q = μ. In a Newton step everything but (dw, dv, dt) is eliminated: with D = h/z,
E = a/p + b/q and Δ = a/p - b/q

    (A diag(D) Aᵀ + diag(1/E)) dw - A D dv + (Δ/E) dt = …

and two scalar equations: one Cholesky factorisation of F × F numbers a step, whatever m is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as sl
import scipy.sparse as sp

Floats = npt.NDArray[np.float64]

_CORRECTIONS = 3
_NEAR = (0.1, 10.0)
"""Products that a corrector leaves alone, in units of the centre's."""
_PATIENCE = 8
_STEPS = 80


@dataclass(frozen=True, eq=False)
class Pair:
    """A density and the weights that bound how good any density can be.

    Attributes:
        density: h ≥ 0 with Σ h = 1, shape (m,).
        weights: w with ‖w‖₁ ≤ 1, shape (F,).
        deviation: max |A h - y|.
        bound: min_z (Aᵀw)_z - w·y, over the points given.
    """

    density: Floats
    weights: Floats
    deviation: float
    bound: float

    def better(self, density: Floats, deviation: float, weights: Floats, bound: float) -> Pair:
        """The better of two densities and the better of two weights, each judged by itself."""
        if deviation >= self.deviation:
            density, deviation = self.density, self.deviation
        if bound <= self.bound:
            weights, bound = self.weights, self.bound
        return Pair(density, weights, deviation, bound)


@dataclass
class _Point:
    """An iterate, or a direction: primal h, p, q, t and dual z, a, b, v."""

    h: Floats
    p: Floats
    q: Floats
    t: float
    z: Floats
    a: Floats
    b: Floats
    v: float

    def moved(self, by: _Point, primal: float, dual: float) -> _Point:
        return _Point(
            self.h + primal * by.h,
            self.p + primal * by.p,
            self.q + primal * by.q,
            self.t + primal * by.t,
            self.z + dual * by.z,
            self.a + dual * by.a,
            self.b + dual * by.b,
            self.v + dual * by.v,
        )

    def products(self) -> tuple[Floats, Floats, Floats]:
        return self.h * self.z, self.a * self.p, self.b * self.q

    def lengths(self, by: _Point) -> tuple[float, float]:
        """How far the primal and the dual part can move before something is 0."""
        primal = min(_length(self.h, by.h), _length(self.p, by.p), _length(self.q, by.q))
        return primal, min(_length(self.z, by.z), _length(self.a, by.a), _length(self.b, by.b))


def _length(x: Floats, dx: Floats) -> float:
    steepest = float((dx / x).min())
    return 1.0 if steepest >= -1.0 else -1.0 / steepest


def centre_path(matrix: Any, target: Floats, *, gap: float) -> Pair:
    """The density and the weights with deviation - bound ≤ ``gap``, or the best pair found if rounding stops it earlier.

    Args:
        matrix: A, dense or sparse, shape (F, m).
        target: y, shape (F,).
        gap: absolute gap at which to stop.
    """
    point = _start(matrix, target)
    best = Pair(point.h, np.zeros(len(target)), np.inf, 0.0)
    since, smallest = 0, np.inf
    for _ in range(_STEPS):
        priced = matrix.T @ (point.a - point.b)
        deviations = matrix @ point.h - target
        h, size = point.h / point.h.sum(), max(1.0, float((point.a + point.b).sum()))
        w = (point.a - point.b) / size
        proven = float(priced.min()) / size - float(w @ target)
        best = best.better(h, float(np.abs(matrix @ h - target).max()), w, proven)
        if best.deviation - best.bound <= gap:
            break
        since = 0 if best.deviation - best.bound < 0.9 * smallest else since + 1
        smallest = min(smallest, best.deviation - best.bound)
        if since > _PATIENCE:
            break
        moved = _newton(matrix, point, priced, deviations)
        if moved is None:
            break
        point = moved
    return best


def _start(matrix: Any, target: Floats) -> _Point:
    statistics, points = matrix.shape
    h = np.full(points, 1 / points)
    deviations = matrix @ h - target
    t = max(2 * float(np.abs(deviations).max()), 1e-6)
    even = np.full(statistics, 0.5 / statistics)
    level = 0.1 * t * points / (2 * statistics)
    return _Point(h, t - deviations, t + deviations, t, np.full(points, level), even, even.copy(), -level)


def _newton(matrix: Any, point: _Point, priced: Floats, deviations: Floats) -> _Point | None:
    """One predictor-corrector step (Mehrotra 1992) with centrality corrections (Gondzio 1996); None if it breaks down."""
    products = point.products()
    size = sum(len(product) for product in products)
    mu = float(sum(product.sum() for product in products)) / size
    system = _System.of(matrix, point, priced, deviations)
    if system is None or not mu > 0:
        return None
    predictor = system.direction(*(-product for product in products))
    primal, dual = point.lengths(predictor)
    ahead = float(sum(product.sum() for product in point.moved(predictor, primal, dual).products())) / size
    aim = max((ahead / mu) ** 3, 1e-6) * mu
    second = predictor.products()
    wanted = [aim - now - cross for now, cross in zip(products, second, strict=True)]
    direction = system.direction(*wanted)
    primal, dual = point.lengths(direction)
    for _ in range(_CORRECTIONS):
        if min(primal, dual) > 0.9:
            break
        beyond = point.moved(direction, min(1.0, primal + 0.3), min(1.0, dual + 0.3)).products()
        more = [w + _correction(product, aim) for w, product in zip(wanted, beyond, strict=True)]
        corrected = system.direction(*more)
        longer = point.lengths(corrected)
        if min(longer) < min(primal, dual) + 0.05:
            break
        direction, wanted, (primal, dual) = corrected, more, longer
    moved = point.moved(direction, min(1.0, 0.995 * primal), min(1.0, 0.995 * dual))
    finite = np.isfinite(moved.h).all() and np.isfinite(moved.a).all() and np.isfinite([moved.t, moved.v]).all()
    return moved if finite else None


def _correction(product: Floats, aim: float) -> Floats:
    return np.asarray(np.maximum(np.clip(product, _NEAR[0] * aim, _NEAR[1] * aim) - product, -_NEAR[1] * aim))


@dataclass
class _System:
    """The linear equations of one step, factorised."""

    matrix: Any
    point: _Point
    factor: Any
    ratio: Floats
    both: Floats
    differ: Floats
    border: Floats
    solved: Floats
    schur: Floats
    off: tuple[Floats, Floats, Floats, float, float]
    """What the linear constraints are off by: z, p, q, Σ h, Σ (a + b)."""

    @classmethod
    def of(cls, matrix: Any, point: _Point, priced: Floats, deviations: Floats) -> _System | None:
        above, below = point.a / point.p, point.b / point.q
        ratio, both, differ = point.h / point.z, above + below, above - below
        normal = _weighted_gram(matrix, ratio)
        diagonal = np.einsum("ii->i", normal)
        diagonal += 1 / both
        try:
            # The matrix can be singular up to rounding where statistics depend on one another.
            diagonal += 1e-14 * float(diagonal.max())
            factor = sl.cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)
        except (sl.LinAlgError, ValueError):
            return None
        border = np.stack([-(matrix @ ratio), differ / both], axis=1)
        solved = sl.cho_solve(factor, border, check_finite=False)
        corner = np.diag([ratio.sum(), float((differ**2 / both - both).sum())])
        schur = corner - border.T @ solved
        if not np.isfinite(schur).all() or np.linalg.det(schur) == 0:
            return None
        off = (
            priced - point.v - point.z,
            point.t - deviations - point.p,
            point.t + deviations - point.q,
            1 - float(point.h.sum()),
            1 - float(point.a.sum() + point.b.sum()),
        )
        return cls(matrix, point, factor, ratio, both, differ, border, solved, schur, off)

    def direction(self, hz: Floats, ap: Floats, bq: Floats) -> _Point:
        """The step after which h∘z, a∘p and b∘q have grown by these amounts, to first order."""
        now, (off_z, off_p, off_q, off_h, off_w) = self.point, self.off
        up, down = (ap - now.a * off_p) / now.p, (bq - now.b * off_q) / now.q
        free = hz / now.z - self.ratio * off_z
        apart = up - down
        right = self.matrix @ free + apart / self.both
        first = sl.cho_solve(self.factor, right, check_finite=False)
        scalars = np.array(
            [
                off_h - float(free.sum()),
                off_w - float((up + down).sum()) + float((self.differ / self.both * apart).sum()),
            ]
        )
        dv, dt = (float(x) for x in np.linalg.solve(self.schur, scalars - self.border.T @ first))
        dw = first - self.solved @ np.array([dv, dt])
        turned = self.matrix.T @ dw - dv
        g = (dw - apart + dt * self.differ) / self.both
        da = up - now.a * (dt - g) / now.p
        db = down - now.b * (dt + g) / now.q
        return _Point(free - self.ratio * turned, dt - g + off_p, dt + g + off_q, dt, turned + off_z, da, db, dv)


def _weighted_gram(matrix: Any, weights: Floats) -> Floats:
    """A diag(weights) Aᵀ, dense, shape (F, F)."""
    if isinstance(matrix, np.ndarray):
        scaled = matrix * np.sqrt(weights)
        return np.asarray(scaled @ scaled.T)
    return np.asarray((matrix @ sp.diags_array(weights) @ matrix.T).toarray())
