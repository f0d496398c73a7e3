"""Weighted least squares over densities: accelerated projected gradient, stopped where the noise begins.

    minimise  ½ Σ_f ((A h - y)_f / s_f)²   over h >= 0, Σ h = 1.

With noise of standard deviation s on y the true density has a misfit (mean of the squared residuals over s²) near 1, so
fitting
beyond that fits noise: the iteration ends there, as the discrepancy principle says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpsyn.solvers.density_spaces import DensityArray, Space, checked_statistics

Floats = npt.NDArray[np.float64]
Status = Literal["optimal", "noise_reached", "iterations"]


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """A density that has been checked.

    Attributes:
        density: h, shape (m,).
        statistics: A h, recomputed from h.
        misfit: mean over f of ((A h - y)/s)².
        gap: the objective is at most so much above the smallest possible, by convexity: Σ h·∇ - min ∇.
        status: ``"noise_reached"`` (misfit at most ``stop_at``), ``"optimal"`` (relative gap below the tolerance), or
            ``"iterations"``.
        iterations: made.
    """

    density: DensityArray
    statistics: Floats
    misfit: float
    gap: float
    status: Status
    iterations: int


def least_squares(
    space: Space,
    target: Floats,
    spread: Floats,
    *,
    stop_at: float = 1.0,
    iterations: int = 500,
    tolerance: float = 1e-9,
) -> LeastSquaresFit:
    """FISTA with restarts from the base measure.

    Args:
        space: points, base measure and functions.
        target: y, shape (F,).
        spread: s > 0, shape (F,).
        stop_at: misfit at which to stop; 0 goes on to the optimum.
        iterations: at most so many.
        tolerance: gap allowed, as a share of the objective (or absolute where that is below 1).

    Raises:
        ParameterError: a number is out of range or not finite.
    """
    target, spread = checked_statistics(target, spread)
    precision = 1 / spread**2
    step = 1 / _curvature(space, precision)
    current, _ = space.density(np.zeros_like(target))
    current = current.astype(np.float64)
    ahead, momentum, last = current, 1.0, math.inf
    done = 0
    status: Status = "iterations"
    while True:
        residual = space.expected(current) - target
        value = 0.5 * float(residual @ (precision * residual))
        misfit = 2 * value / len(target)
        if misfit <= stop_at:
            status = "noise_reached"
            break
        if done % 10 == 0 or done >= iterations:
            gradient = space.values(precision * residual)
            gap = float(current @ gradient) - float(gradient.min())
            if gap <= tolerance * max(value, 1.0):
                status = "optimal"
                break
        if done >= iterations:
            break
        if value > last:
            ahead, momentum = current, 1.0
        last = value
        slope = space.values(precision * (space.expected(ahead) - target))
        following = onto_simplex(ahead - step * slope)
        faster = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / faster * (following - current)
        current, momentum, done = following, faster, done + 1
    gradient = space.values(precision * residual)
    gap = float(current @ gradient) - float(gradient.min())
    return LeastSquaresFit(current, residual + target, misfit, max(gap, 0.0), status, done)


def onto_simplex(point: npt.NDArray[np.floating]) -> Floats:
    """The density nearest to a vector: max(x - t, 0) with t such that it sums to 1 (Michelot's iteration)."""
    # A shift changes nothing; from 0 down some entry is always above the threshold, whatever the size of the others.
    point = np.asarray(point, dtype=np.float64) - float(point.max())
    active = point
    threshold = (active.sum() - 1) / len(active)
    while True:
        kept = active[active > threshold]
        if len(kept) == len(active):
            break
        active = kept
        threshold = (active.sum() - 1) / len(active)
    found = np.maximum(point - threshold, 0.0)
    return np.asarray(found / found.sum())


def _curvature(space: Space, precision: Floats) -> float:
    """A bit more than the largest eigenvalue of Aᵀ S⁻² A, by power iteration from a positive start."""
    vector = np.ones(space.points) / math.sqrt(space.points)
    # No square of what is of size 1 gets lost.
    largest, size = float(precision.max()), 1.0
    precision = precision / largest
    for _ in range(30):
        vector = space.values(precision * space.expected(vector)).astype(np.float64)
        size = float(np.linalg.norm(vector))
        if size == 0.0:
            # Functions that all have mean 0 see nothing of the even start.
            vector = space.values(precision).astype(np.float64)
            size = float(np.linalg.norm(vector))
        vector /= size
    return 1.05 * size * largest
