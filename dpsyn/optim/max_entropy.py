"""The density of maximal entropy near noisy statistics, through its smooth dual.

One step solves, over densities h on a space with base measure μ,

    minimise  KL(h ‖ μ) + (1/(2λ)) Σ_f ((A h - y)_f / s_f)²,

whose dual has one unknown for each statistic: minimise ln Σ μ e^{Aᵀθ} - θ·y + (λ/2) Σ s_f² θ_f². The residual of the statistics
is y - A h = λ s² θ, so λ says how far the noisy statistics are trusted: statistics with more noise are followed less. For any θ
the density h(θ) has a duality gap of exactly Σ (A h - y + λ s² θ)² / (2λ s²).

A single step shrinks strong dependencies as much as noise. Steps in stages put the density of the last one in place of μ: that
is Bregman's iteration, the entropic proximal-point method for weighted least squares, which takes up what is strong first and
is stopped before it fits the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.optim.density_spaces import Density, Space

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]

FIRST_MISFIT = 2.5
"""λ is the largest tried for which the first stage comes within this of the noise (mean of squared residuals over s²)."""
SMALL_GAIN = 0.15
"""Stages end when the misfit falls by less than this share."""
_FIRST_WEIGHT = 64.0
_FACTOR = 4.0
_WORTH_IT = 0.8
_MOST_TRIALS = 16


@dataclass(frozen=True, eq=False)
class MaxEntropyFit:
    """A density that has been checked.

    Attributes:
        density: h, shape (m,).
        multipliers: θ, all stages together: h ∝ μ·exp(Aᵀθ). Shape (F,).
        statistics: A h, recomputed from h.
        misfit: mean over f of ((A h - y)/s)²: 1 would be expected of the true density.
        misfits: the same after every stage.
        gap: duality gap of the last stage, in nats, from the formula and not from the solver.
        weight: λ.
        evaluations: densities computed in all.
    """

    density: Density
    multipliers: Floats
    statistics: Floats
    misfit: float
    gap: float
    weight: float
    evaluations: int
    misfits: tuple[float, ...] = field(default=())


def max_entropy_step(
    space: Space,
    target: Floats,
    spread: Floats,
    weight: float,
    *,
    center: Floats | None = None,
    start: Floats | None = None,
    iterations: int = 200,
    tolerance: float = 1e-10,
    scaling: Floats | None = None,
) -> MaxEntropyFit:
    """One step around the density with multipliers ``center`` (default: μ itself), by L-BFGS on the dual.

    Args:
        space: points, base measure and functions.
        target: y, shape (F,).
        spread: s > 0, the standard deviation of the noise on y, shape (F,).
        weight: λ > 0.
        center: multipliers of the density that takes the place of μ.
        start: multipliers to start from (default: ``center``).
        iterations: of L-BFGS.
        tolerance: relative decrease of the dual at which to stop.
        scaling: unknowns are divided by it; roughly 1/√(variance of f + λ s²).

    Raises:
        ParameterError: a number is out of range or not finite.
    """
    from scipy.optimize import minimize

    target, spread = _checked(target, spread, weight)
    middle = center if center is not None else np.zeros_like(target)
    penalty = weight * spread**2
    scale = scaling if scaling is not None else 1 / np.sqrt(np.clip(np.abs(target), 1e-5, 1) + penalty)

    def dual(x: Floats) -> tuple[float, Floats]:
        multipliers = x * scale
        density, log_total = space.density(multipliers)
        moved = penalty * (multipliers - middle)
        value = log_total - multipliers @ target + 0.5 * (moved * (multipliers - middle)).sum()
        return float(value), (space.expected(density) - target + moved) * scale

    first = middle if start is None else start
    found: Any = minimize(
        dual,
        first / scale,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20, "gtol": 1e-9, "ftol": tolerance},
    )
    multipliers = np.asarray(found.x * scale, dtype=np.float64)
    density, _ = space.density(multipliers)
    statistics = space.expected(density)
    slack = statistics - target + penalty * (multipliers - middle)
    misfit = float(np.mean(((statistics - target) / spread) ** 2))
    gap = float((slack**2 / (2 * penalty)).sum())
    return MaxEntropyFit(density, multipliers, statistics, misfit, gap, weight, int(found.nfev) + 1, (misfit,))


def max_entropy(
    space: Space,
    target: Floats,
    spread: Floats,
    *,
    weight: float | None = None,
    stages: int = 6,
    iterations: int = 200,
    progress: Progress | None = None,
) -> MaxEntropyFit:
    """The density near y by steps in stages, stopped where the noise begins.

    Args:
        space: points, base measure and functions.
        target: y, shape (F,).
        spread: s > 0, shape (F,).
        weight: λ; by default the largest of a geometric series for which one step has a misfit of at most
            :data:`FIRST_MISFIT`.
        stages: at most so many steps; 1 gives the plain maximum-entropy density at this λ.
        iterations: of L-BFGS in each step.
        progress: told of each step.
    """
    target, spread = _checked(target, spread, 1.0 if weight is None else weight)
    tell = progress or _quiet
    tell("maximum entropy, stage 1", 0.0)
    fit = first_step(space, target, spread, weight=weight, iterations=iterations)
    misfits, evaluations = [fit.misfit], fit.evaluations
    for stage in range(1, stages):
        tell(f"maximum entropy, stage {stage + 1}, misfit {fit.misfit:.3g}", stage / stages)
        start = fit.multipliers * (stage + 1) / stage
        fit = max_entropy_step(
            space, target, spread, fit.weight, center=fit.multipliers, start=start, iterations=iterations
        )
        evaluations += fit.evaluations
        misfits.append(fit.misfit)
        if stage >= 2 and misfits[-1] > (1 - SMALL_GAIN) * misfits[-2]:
            break
    return MaxEntropyFit(
        fit.density, fit.multipliers, fit.statistics, fit.misfit, fit.gap, fit.weight, evaluations, tuple(misfits)
    )


def first_step(
    space: Space, target: Floats, spread: Floats, *, weight: float | None = None, iterations: int = 200
) -> MaxEntropyFit:
    """The first stage, with λ found on the way if it is not given."""
    if weight is not None:
        return max_entropy_step(space, target, spread, weight, iterations=iterations)
    tried, evaluations = _FIRST_WEIGHT * len(target), 0
    fit = max_entropy_step(space, target, spread, tried, iterations=max(iterations // 3, 20))
    for _ in range(_MOST_TRIALS):
        evaluations += fit.evaluations
        if fit.misfit <= FIRST_MISFIT:
            break
        tried /= _FACTOR
        closer = max_entropy_step(space, target, spread, tried, start=fit.multipliers, iterations=max(iterations // 3, 20))
        # Few points, or statistics that contradict each other, cannot come near: then a smaller λ only sharpens the density.
        if closer.misfit > _WORTH_IT * fit.misfit:
            break
        fit = closer
    fit = max_entropy_step(space, target, spread, fit.weight, start=fit.multipliers, iterations=iterations)
    return MaxEntropyFit(
        fit.density,
        fit.multipliers,
        fit.statistics,
        fit.misfit,
        fit.gap,
        fit.weight,
        evaluations + fit.evaluations,
        fit.misfits,
    )


def _quiet(step: str, share: float) -> None:
    """Report nothing."""


def _checked(target: Floats, spread: Floats, weight: float) -> tuple[Floats, Floats]:
    target, spread = np.asarray(target, dtype=np.float64), np.asarray(spread, dtype=np.float64)
    if target.ndim != 1 or spread.shape != target.shape or not np.isfinite(target).all():
        raise ParameterError("target", f"shape {target.shape}", "finite numbers, one spread for each")
    if not (np.isfinite(spread).all() and (spread > 0).all()):
        raise ParameterError("spread", float(spread.min()), "finite numbers > 0")
    if not (math.isfinite(weight) and weight > 0):
        raise ParameterError("weight", weight, "a finite number > 0")
    return target, spread
