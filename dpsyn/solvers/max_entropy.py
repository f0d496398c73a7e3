"""The density of maximal entropy near noisy statistics, through its smooth dual.

One step solves, over densities h on a space with base measure μ,

    minimise  KL(h ‖ μ) + (1/(2λ)) Σ_f ((A h - y)_f / s_f)²,

whose dual has one unknown for each statistic: minimise ln Σ μ e^{Aᵀθ} - θ·y + (λ/2) Σ s_f² θ_f². The residual of the
statistics is y - A h = λ s² θ, so λ says how far the noisy statistics are trusted: statistics with more noise are followed
less. For any θ the density h(θ) has a duality gap of exactly Σ (A h - y + λ s² θ)² / (2λ s²).

A single step shrinks strong dependencies as much as noise. Steps in stages put the density of the last one in place of μ:
that is Bregman's iteration, the entropic proximal-point method for weighted least squares, which takes up what is strong
first. It is stopped where Stein's estimate of the risk is smallest, before it fits the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.solvers.contingency import Integers, Tables
from dpsyn.solvers.density_spaces import (
    Combined,
    DenseFunctions,
    Densities,
    DensityArray,
    PointTables,
    Space,
    SparseFunctions,
    TableModel,
    checked_statistics,
)
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.rounding import systematic_rows

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]
Start = Callable[[Floats], Floats]
"""Multipliers to begin with, by y; shape (F,) both."""
Renew = Callable[[Densities, Floats, DensityArray], Densities]
"""Of the space, all multipliers so far, and the density on the space."""

MOST_STAGES = 14
NEWTON_AT_MOST = 1200
"""Functions of listed points; with more of them, or without a list, it is L-BFGS, which may end before it is there."""
_FIRST_WEIGHT, _EVEN_FIRST_WEIGHT = 16.0, 4.0
_USUAL = 8.0
"""Statistics of a group that are taken to be missed by as much as their noise, beside its own."""
_MOST_TIMES = 4.0
"""How far off a group counts with its square, and beyond it only once: a step is not to go all the way."""
_FACTOR = 1.6
_PROBE = 0.2
_WORTH_IT = 0.003
"""A further stage must lower the risk by this share of F."""
_MORE_THAN_NOISE = 4.0
"""Deviations of the misfit of noise alone: while it is further above 1, a stage must only not raise the risk by as much. A
group that after all stages is missed by so many more than by noise is fitted again."""
_NOISE_ALONE = 0.8
_CLEARLY = 0.1
_FAR = 3.0
"""With a larger misfit, and while it falls, further stages are wanted in any case and the risk need not be known."""
_NEARER = 0.98
_LEAST_EFFECTIVE = 0.1
"""Share of the points, at least, that a density rests on: of few it says too much of where there are none."""
_FARTHER = 2.0
_POINTS_FOR_THREADS = 20_000
_NEWTON_STEPS = 300
_FIRST_STEP, _LONGER = 5.0, 1.5
"""How far apart a step may move logarithms of the density at first, and how much farther after each step that was whole."""
_SMALL_GAP, _HIDDEN = 1e-13, 1e-10
_NOTHING_TO_GAIN = 0.05
"""Of the misfit, which a duality gap of so many nats times 2·λ/F may still lower."""
_GOES_ON = 0.85
"""How likely a stage is to be followed by another one, as far as progress is concerned."""
_REFINING_ITERATIONS = 40
_MOST_TRIALS = 16


@dataclass(frozen=True)
class Stage:
    """One stage: λ, the misfit, the degrees of freedom used, and the estimated risk Σ ((A h - E y)/s)²."""

    weight: float
    misfit: float
    degrees_of_freedom: float
    risk: float


@dataclass(frozen=True, eq=False)
class MaxEntropyFit:
    """A density that has been checked.

    Attributes:
        density: h, shape (m,).
        multipliers: θ, all stages together: h ∝ μ·exp(Aᵀθ). Shape (F,).
        statistics: A h, recomputed from h.
        misfit: mean over f of ((A h - y)/s)²: 1 would be expected of the true density.
        gap: duality gap of the last stage, in nats, from the formula and not from the solver.
        weight: λ.
        stages: what was found after each stage; the density is that of the least risk.
        space: the space that the density is on.
    """

    density: DensityArray
    multipliers: Floats
    statistics: Floats
    misfit: float
    gap: float
    weight: float
    space: Densities
    stages: tuple[Stage, ...] = ()

    @property
    def status(self) -> str:
        """``"optimal"`` where the gap leaves nothing to gain that the misfit would show, else ``"stopped early"``."""
        return "optimal" if 2 * self.weight * self.gap <= _NOTHING_TO_GAIN * len(self.statistics) else "stopped early"


def max_entropy_step(
    space: Densities,
    target: Floats,
    spread: Floats,
    weight: float,
    *,
    center: Floats | None = None,
    trust: Floats | float = 1.0,
    iterations: int = 200,
    tolerance: float = 1e-10,
) -> MaxEntropyFit:
    """One step around the density with multipliers ``center`` (default: μ itself), by L-BFGS on the dual.

    Args:
        space: points, base measure and functions.
        target: y, shape (F,).
        spread: s > 0, the standard deviation of the noise on y, shape (F,).
        weight: λ > 0.
        center: multipliers of the density that takes the place of μ.
        trust: λ of a statistic is divided by it, shape (F,).
        iterations: of L-BFGS.
        tolerance: relative decrease of the dual at which to stop.

    Raises:
        ParameterError: a number is out of range or not finite.
    """
    from scipy.optimize import minimize

    target, spread = checked_statistics(target, spread)
    if not (math.isfinite(weight) and weight > 0):
        raise ParameterError("weight", weight, "a finite number > 0")
    middle = center if center is not None else np.zeros_like(target)
    penalty = weight * spread**2 / trust
    # Unknowns are divided by roughly 1/√(variance of f + λ s²).
    scale = 1 / np.sqrt(np.clip(np.abs(target), 1e-5, 1) + penalty)

    def dual(x: Floats) -> tuple[float, Floats]:
        multipliers = x * scale
        density, log_total = space.density(multipliers)
        moved = penalty * (multipliers - middle)
        value = log_total - multipliers @ target + 0.5 * (moved * (multipliers - middle)).sum()
        return float(value), (space.expected(density) - target + moved) * scale

    if isinstance(space, DenseFunctions | SparseFunctions) and len(target) <= NEWTON_AT_MOST:
        multipliers = _newton(space, target, penalty, middle)
    else:
        options: Any = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20, "gtol": 1e-9, "ftol": tolerance}
        found: Any = minimize(dual, middle / scale, jac=True, method="L-BFGS-B", options=options)
        multipliers = np.asarray(found.x * scale, dtype=np.float64)
    density, _ = space.density(multipliers)
    statistics = space.expected(density)
    slack = statistics - target + penalty * (multipliers - middle)
    misfit = float(np.mean(((statistics - target) / spread) ** 2))
    gap = float((slack**2 / (2 * penalty)).sum())
    return MaxEntropyFit(density, multipliers, statistics, misfit, gap, weight, space)


def _newton(space: DenseFunctions | SparseFunctions, target: Floats, penalty: Floats, middle: Floats) -> Floats:
    """Newton's method with a line search on the dual, which is strictly convex. The gap is known at every step.

    Where statistics contradict each other, the dual falls without an end but for a tiny penalty, and a whole step puts the
    density on one point, from which none leads back. So steps begin short, and grow while they are taken whole.
    """
    from scipy.linalg import cho_factor, cho_solve

    multipliers, longest = middle, _FIRST_STEP

    def dual(point: Floats, log_total: float) -> float:
        return log_total - float(point @ target) + 0.5 * float((penalty * (point - middle) ** 2).sum())

    density, log_total = space.density(multipliers)
    value, before = dual(multipliers, log_total), math.inf
    for _ in range(_NEWTON_STEPS):
        slope = space.expected(density) - target + penalty * (multipliers - middle)
        gap = float((slope**2 / penalty).sum()) / 2
        if gap <= _SMALL_GAP:
            break
        curvature = space.covariance(density)
        curvature[np.diag_indices_from(curvature)] += penalty + 1e-15
        step = np.asarray(cho_solve(cho_factor(curvature, overwrite_a=True), slope))
        descent = float(slope @ step)
        whole = length = min(1.0, longest / max(float(np.ptp(space.values(step))), _SMALL_GAP))
        # At the end rounding in the value hides the descent that is left, and the gap tells how far steps are of use.
        hidden = descent <= _HIDDEN * max(1.0, abs(value))
        if hidden and gap >= before:
            break
        while True:
            there = multipliers - length * step
            density, log_total = space.density(there)
            reached = dual(there, log_total)
            if hidden or reached < value - 0.1 * length * descent or length < 1e-8 * whole:
                break
            length /= 2
        if reached >= value and not hidden:
            break
        longest = longest * _LONGER if length == whole else max(_FIRST_STEP, longest * length / whole)
        before = gap if hidden else math.inf
        multipliers, value = there, reached
    return multipliers


def max_entropy(
    space: Densities,
    target: Floats,
    spread: Floats,
    generator: np.random.Generator,
    *,
    stages: int = MOST_STAGES,
    iterations: int = 80,
    renew: Renew | None = None,
    groups: Integers | None = None,
    even: bool = False,
    start: Start | None = None,
    progress: Progress = lambda step, share: None,
) -> MaxEntropyFit:
    """The density near y by steps in stages, λ falling from one to the next, up to the stage of least estimated risk.

    Stein's estimate of the risk Σ ((A h - E y)/s)² is Σ ((A h - y)/s)² - F + 2·df, where df = Σ ∂(A h)_f/∂y_f, the degrees
    of freedom that the fit has used, comes from fitting y + t·s·e beside y for one random vector e of signs.

    Args:
        space: points, base measure and functions.
        target: y, shape (F,).
        spread: s > 0, shape (F,).
        generator: for e.
        stages: at most so many, and as many again of what is fitted on its own; λ is 16·F in the first one (4·F where steps
            are even) and divided by 1.6 from each to the next.
        iterations: of L-BFGS in each step.
        renew: makes the space of the next stage, whose base measure is the density fitted so far; None keeps the space. λ is
            then raised where the density would rest on less than a tenth of the points, and the risk is estimated only once
            the fit is near.
        groups: where each group of statistics begins, such as the cells of a table, shape (groups,). In each step λ of a
            group that the last density misses by r times its noise (root mean square) is divided by about r², by 4·r from
            r = 4 on: a few strong tables, of which little is noise, do not wait for the others. Stages end where one more is
            not worth it to all statistics together. Groups that are then still missed clearly by more than their noise are
            fitted on their own from there, while all other multipliers stay. Without groups neither is done.
        even: whether λ is the same for all groups nevertheless.
        start: multipliers of the density that the first stage is near to; None begins at the base measure. It is asked for
            y + t·s·e, too, so the degrees of freedom are also those that it uses.
        progress: told of each step.

    Returns:
        The stage of least risk, or where that lowers it what was fitted on its own from there: one more stage, whose degrees
        of freedom are about those of both. ``multipliers`` are all stages' together.
    """
    target, spread = checked_statistics(target, spread)
    trusted = None if even else groups
    best, history = _in_stages(space, target, spread, generator, stages, iterations, renew, trusted, progress, start)
    if groups is None or stages == 1 or (missed := _missed(best.statistics, target, spread, groups)) is None:
        return replace(best, stages=history)
    known = best.multipliers

    def together(multipliers: Floats) -> Floats:
        return known + np.bincount(missed, multipliers, len(known))

    def renewed(space: Densities, multipliers: Floats, density: DensityArray) -> Densities:
        assert renew is not None
        assert isinstance(space, _Some)
        return _Some(renew(space.space, together(multipliers), density), missed, np.zeros(len(target)))

    around: Densities = _Some(best.space, missed, known)
    if renew is not None:
        around = renewed(around, np.zeros(len(missed)), best.density)
    reached = _share(len(history), stages)
    alone, _ = _in_stages(
        around,
        target[missed],
        spread[missed],
        generator,
        stages,
        iterations,
        None if renew is None else renewed,
        None if even else np.searchsorted(missed, groups[np.isin(groups, missed)]),
        lambda step, share: progress(step, reached + (1 - reached) * share),
    )
    assert isinstance(alone.space, _Some)
    space = alone.space.space
    statistics = space.expected(alone.density)
    misfit = float(np.mean(((statistics - target) / spread) ** 2))
    used = best.stages[-1].degrees_of_freedom + alone.stages[-1].degrees_of_freedom
    last = Stage(alone.weight, misfit, used, len(target) * (misfit - 1) + 2 * used)
    if last.risk >= best.stages[-1].risk:
        return replace(best, stages=history)
    return MaxEntropyFit(
        alone.density, together(alone.multipliers), statistics, misfit, alone.gap, alone.weight, space, (*history, last)
    )


class _Some:
    """Some statistics of a space, around a density on it, as a space of its own.

    Args:
        space: with all F statistics.
        at: numbers of those that are left, ascending.
        multipliers: of the density, shape (F,).
    """

    def __init__(self, space: Densities, at: Integers, multipliers: Floats) -> None:
        self.space, self.points = space, space.points
        self._at, self._multipliers = at, multipliers

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """See :class:`~dpsyn.solvers.density_spaces.ListedSpace`; the logarithm is right up to a constant."""
        moved = self._multipliers.copy()
        moved[self._at] += potential
        return self.space.density(moved)

    def expected(self, density: DensityArray) -> Floats:
        """See :class:`~dpsyn.solvers.density_spaces.ListedSpace`."""
        return self.space.expected(density)[self._at]


def _missed(statistics: Floats, target: Floats, spread: Floats, groups: Integers) -> Integers | None:
    """Numbers of the statistics of all groups that are missed clearly, by what not even Laplace noise misses.

    Sizes are added up, not squares, of which a single loud draw of Laplace noise fills the sum: in units of s the size of
    that noise is √½ on average and varies by √½, that of Gaussian noise is 0.80 and varies by 0.60. Or one alone is missed
    by more than the loudest draw of one group in a thousand.
    """
    counts = np.diff(np.append(groups, len(target)))
    off = np.abs(statistics - target) / spread
    many = np.add.reduceat(off, groups) > _NOISE_ALONE * counts + _MORE_THAN_NOISE * np.sqrt(counts / 2)
    missed = many | (np.maximum.reduceat(off, groups) > np.log(1000 * counts) / math.sqrt(2))
    return np.flatnonzero(np.repeat(missed, counts)) if missed.any() and not missed.all() else None


def _share(done: int, stages: int) -> float:
    """Of the work: most fits end long before their last stage."""
    return max(done / stages, 1 - _GOES_ON**done)


def _in_stages(
    space: Densities, target: Floats, spread: Floats, generator: np.random.Generator, stages: int, iterations: int,
    renew: Renew | None, groups: Integers | None, progress: Progress, start: Start | None = None,
) -> tuple[MaxEntropyFit, tuple[Stage, ...]]:  # fmt: skip
    """The stage of least risk, with those up to it, and all stages."""
    count = len(target)
    signs = generator.choice(np.array([-1.0, 1.0]), count)
    beside = target + _PROBE * spread * signs
    current = (_EVEN_FIRST_WEIGHT if groups is None else _FIRST_WEIGHT) * count
    # Multipliers against the base measure of the current space, of the fit to y and of the one beside it.
    mine, other, before = np.zeros(count), np.zeros(count), np.zeros(count)
    if start is not None:
        mine, other = start(target), start(beside)
    best: MaxEntropyFit | None = None
    history: list[Stage] = []
    for number in range(stages):
        progress(f"maximum entropy, stage {number + 1}, {space.points:,} points", _share(number, stages))

        def fitted(to: Floats, center: Floats, at: float = current, space: Densities = space) -> MaxEntropyFit:
            trust = _trust(space, center, to, spread, groups) if groups is not None else 1.0
            return max_entropy_step(space, to, spread, at, center=center, trust=trust, iterations=iterations)

        twin: MaxEntropyFit | None = None
        if renew is None:
            fit, twin = _side_by_side(fitted, (target, mine), (beside, other), space.points)
        else:
            fit, current = _within_reach(fitted, target, mine, current)
            if fit.misfit <= _FAR or (history and fit.misfit > _NEARER * history[-1].misfit):
                twin = fitted(beside, other, current)
        used = float((signs * (twin.statistics - fit.statistics) / spread).sum()) / _PROBE if twin is not None else 0.0
        risk = count * (fit.misfit - 1) + 2 * used
        history.append(Stage(current, fit.misfit, used, risk))
        # Of stages of about the same risk the first one has used less of the noise.
        if best is None or risk < best.stages[-1].risk - _CLEARLY * abs(best.stages[-1].risk):
            best = replace(fit, multipliers=before + fit.multipliers, stages=tuple(history), space=space)
        # The first steps are small and may gain little, however much there is to gain.
        worth = -_WORTH_IT if fit.misfit > 1 + _MORE_THAN_NOISE * math.sqrt(2 / count) else _WORTH_IT
        if len(history) > 1 and twin is not None and risk > history[-2].risk - worth * count:
            break
        other = fit.multipliers + (twin.multipliers - fit.multipliers if twin is not None else other - mine)
        mine = fit.multipliers
        if renew is not None and number + 1 < stages:
            before = before + mine
            space = renew(space, before, fit.density)
            mine, other = np.zeros(count), other - mine
        current /= _FACTOR
    assert best is not None
    return best, tuple(history)


def _trust(space: Densities, center: Floats, target: Floats, spread: Floats, groups: Integers) -> Floats:
    """How much more than others a group is followed that the density with multipliers ``center`` misses; for each statistic,
    (F,)."""
    missed = ((space.expected(space.density(center)[0]) - target) / spread) ** 2
    counts = np.diff(np.append(groups, len(target)))
    times = np.sqrt((np.add.reduceat(missed, groups) + _USUAL) / (counts + _USUAL))
    return np.repeat(times * np.minimum(times, _MOST_TIMES), counts)


def _within_reach(
    fitted: Callable[[Floats, Floats, float], MaxEntropyFit], target: Floats, center: Floats, weight: float
) -> tuple[MaxEntropyFit, float]:
    """The step at the first λ, growing, at which the density does not rest on a few of the drawn points."""
    for _ in range(_MOST_TRIALS):
        fit = fitted(target, center, weight)
        if 1 / float((fit.density.astype(np.float64) ** 2).sum()) >= _LEAST_EFFECTIVE * len(fit.density):
            break
        weight *= _FARTHER
    return fit, weight


def _side_by_side(
    fitted: Callable[[Floats, Floats], MaxEntropyFit],
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    points: int,
) -> tuple[MaxEntropyFit, MaxEntropyFit]:
    """Both fits, in two threads where that pays; the results are the same."""
    with one_blas_thread():
        if points < _POINTS_FOR_THREADS:
            return fitted(*first), fitted(*second)
        with ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(fitted, *first), pool.submit(fitted, *second)
            return waiting[0].result(), waiting[1].result()


@dataclass(frozen=True, eq=False)
class RefinedFit:
    """The reduced space of the best stage and what was fitted on it.

    Attributes:
        codes: its points, shape (m, columns).
        fit: density on them.
        model: the density everywhere.
        cells: expected cells of the tables under the density.
        effective_points: 1/Σ h² each time the space was made anew: how many points of equal weight it was worth.
    """

    codes: Codes
    fit: MaxEntropyFit
    model: TableModel
    cells: Floats
    effective_points: tuple[float, ...]


def refined_max_entropy(
    codes: Codes,
    sizes: Sequence[int],
    tables: Tables,
    target: Floats,
    spread: Floats,
    log_base: Sequence[Floats],
    generator: np.random.Generator,
    *,
    combination: sp.csr_array | None = None,
    bonds: Floats | None = None,
    groups: Integers | None = None,
    stages: int = MOST_STAGES,
    progress: Progress = lambda step, share: None,
) -> RefinedFit:
    """Maximum entropy on domains too large to list: fit, draw the reduced space again around what was fitted, fit again.

    The first space is drawn from the base measure, where few points may look like the data. After each stage the points are
    drawn anew in proportion to the fitted density and moved by a Gibbs step that leaves it unchanged, so the next stage
    starts from many points of about equal weight: Bregman's iteration with a fresh sample in every step. Only the noisy
    statistics are used.

    Args:
        codes: draws from the first measure, shape (m, columns).
        sizes: number of codes of each column.
        tables: sets of columns whose cells the statistics are made of.
        target: y, shape (F,).
        spread: standard deviation of its noise, shape (F,).
        log_base: ln μ_j of every column: the first measure is Π μ_j, times exp(bonds).
        generator: for drawing again.
        combination: statistics as combinations of cells, shape (F, cells); by default they are the cells.
        bonds: potential on the cells that the first measure has against the product; by default none.
        groups: as :func:`max_entropy` takes them.
        stages: at most so many; 1 does not draw again.
        progress: told of each stage.
    """

    def model(multipliers: Floats) -> TableModel:
        cells = np.asarray(combination.T @ multipliers, dtype=np.float64) if combination is not None else multipliers
        return TableModel(sizes, tables, cells + bonds if bonds is not None else cells, log_base)

    def space_of(points: Codes) -> Space:
        over_cells = PointTables(points, sizes, tables)
        return over_cells if combination is None else Combined(over_cells, combination)

    def renew(space: Densities, multipliers: Floats, density: DensityArray) -> Space:
        effective.append(1 / float((density.astype(np.float64) ** 2).sum()))
        points = _listed(space).codes
        drawn = points[systematic_rows(density, len(points), generator)]
        return space_of(model(multipliers).gibbs(drawn, generator))

    effective: list[float] = []
    # Several threads of BLAS would wait for each other on the vectors of L-BFGS, longer than all else takes.
    with one_blas_thread():
        fit = max_entropy(
            space_of(codes),
            target,
            spread,
            generator,
            stages=stages,
            iterations=_REFINING_ITERATIONS,
            renew=renew,
            groups=groups,
            progress=progress,
        )
    best = _listed(fit.space)
    return RefinedFit(best.codes, fit, model(fit.multipliers), best.expected(fit.density), tuple(effective))


def _listed(space: Densities) -> PointTables:
    found = space.over_cells if isinstance(space, Combined) else space
    assert isinstance(found, PointTables)
    return found
