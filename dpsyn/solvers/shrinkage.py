"""Step 4 of private sampling: the least shrinkage that makes the statistics attainable in the box (an LP)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dpsyn.errors import SolverError
from dpsyn.solvers._interior_point import interior_point
from dpsyn.solvers._newton import Dual, NormalMatrix, Place
from dpsyn.solvers._reference import HighsMethod, highs
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.matching import (
    GAP_ALLOWED,
    ClippedDensity,
    Control,
    Floats,
    KeptDensity,
    LinearAnswer,
    MatchingProblem,
    Solution,
    SolverProgress,
    fits,
)

_DENSE_UP_TO = 4_000_000
"""Entries of W up to which the interior-point method comes first. It answers to 1e-10 whatever the degeneracy; beyond, the
path of smoothed programs is many times faster (211 x 50,000: seconds against tens of seconds)."""
_DENSE_AT_MOST = 300_000_000
_FEW = 30
"""Points per function below which the interior-point method comes first in any case: a path needs many free points."""
_SAME = 1e-12

_GAP = GAP_ALLOWED / 2
_STEPS = 60
_FIRST_AIM, _LAST_AIM = 1e-5, 1e-10
_RISE = 10.0
_HIGHEST = 1e9
_WELL_FREE = 8
_MATCHED, _ROUGH = 5e-9, 1e-4
"""Residual of a stage that may be an answer; and, in units of the box, of one that is good enough to go on from."""

Attempt = Callable[[MatchingProblem, Control], "ShrinkageSolution | str"]


@dataclass(frozen=True, eq=False)
class Stage:
    """One maximum along the path of s.

    Attributes:
        level: s.
        place: v(s), where x = clip(1 + Wᵀv), and λ.
        slope: dv/ds, multipliers of the LP.
        dual_bound: what they prove.
    """

    level: float
    place: Place
    slope: Floats
    dual_bound: float

    @property
    def width(self) -> float:
        """λ - dual_bound; infinite if the statistics are not matched."""
        return self.place.shrinkage - self.dual_bound if self.place.residual <= _MATCHED else float("inf")


@dataclass(frozen=True, eq=False)
class ShrinkageSolution(Solution):
    """λ, with the evidence that it is attainable and nearly the least; the objective is λ itself.

    Attributes:
        stage: where the path of smoothed programs ended, a start for the next box; None of the other methods.
    """

    stage: Stage | None = field(default=None, repr=False)

    @property
    def status(self) -> str:
        """``"optimal"``, or ``"feasible"`` if the gap is larger than allowed."""
        return "optimal" if self.gap <= GAP_ALLOWED else "feasible"


def least_shrinkage(
    problem: MatchingProblem,
    *,
    start: ShrinkageSolution | None = None,
    progress: SolverProgress | None = None,
) -> ShrinkageSolution:
    """min λ  subject to  W (p ∘ x) = (1-λ) a + λ u,  lower <= x <= upper,  0 <= λ <= 1.

    A box that leaves only x = 1 needs no solver. If the least-norm solution at λ = 0 lies in the box, it is the answer.
    Otherwise the LP is solved: by an interior-point method if W is small, else along a path of smoothed programs whose
    dual has C unknowns, and by another method should one fail.

    Args:
        problem: W, a and the box.
        start: the solution for a box or data nearby.
        progress: is told what is being done, the share done, and residual and gap.

    Raises:
        SolverError: no answer passes the check of its residual (1e-8, after clipping to the box).
    """
    control = Control(progress)
    count, points = problem.operator.shape
    dense = problem.entries <= (_DENSE_AT_MOST if points < _FEW * count else _DENSE_UP_TO)
    with problem.few_threads():
        found = _structured(problem, control, start, dense)
    return replace(found, iterations=control.iterations or found.iterations, seconds=control.seconds)


def shrinkage_bound(problem: MatchingProblem, multipliers: Floats) -> float:
    """A lower bound on λ from any multipliers y of the equalities, shape (C,).

    λ >= min over λ in [0, 1] and x in the box of λ + y·(a + λ(u - a) - W (p ∘ x)).
    """
    slope = 1.0 - float(multipliers @ problem.towards)
    (most,) = problem.operator.reduce(_support, multipliers, problem.lower, problem.upper)
    return max(0.0, float(multipliers @ problem.target) + min(0.0, slope) - float(most))


def _support(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> tuple[float]:
    """max over the box of y·W (p ∘ x)."""
    pull = np.asarray(block.adjoint(multipliers), dtype=np.float64) * block.weights
    return (float(np.maximum(lower * pull, upper * pull).sum()),)


def _structured(
    problem: MatchingProblem, control: Control, start: ShrinkageSolution | None, dense: bool
) -> ShrinkageSolution:
    control.tell("least-norm density", 0.0)
    same = float(np.abs(problem.towards).max()) <= _SAME
    if problem.pinned or same:
        return _uniform(problem, 0.0 if same else 1.0)
    free = _least_norm(problem, control)
    if free is not None:
        return free
    path = partial(_path, start=start)
    attempts: list[Attempt] = [path]
    if dense:
        attempts = [_interior_point, path]
    elif problem.entries <= _DENSE_AT_MOST:
        attempts.append(_interior_point)
    if problem.entries <= _DENSE_UP_TO:
        attempts += _BY_HIGHS
    return _first(problem, control, attempts)


def _uniform(problem: MatchingProblem, shrinkage: float) -> ShrinkageSolution:
    """x = 1: all that a pinned box holds, and right at λ = 0 if the data's statistics are those of x = 1."""
    none = np.zeros_like(problem.target)
    density = ClippedDensity(problem.operator, none, 1.0, 1.0)
    residual = float(np.abs(problem.uniform - problem.wanted(shrinkage)).max())
    return ShrinkageSolution(shrinkage, density, none, shrinkage, shrinkage, residual, "uniform density")


def _least_norm(problem: MatchingProblem, control: Control) -> ShrinkageSolution | None:
    """x = 1 + Wᵀv with the data's statistics, if it stays in the box: then λ = 0 is attained."""
    dual = Dual(problem, problem.target, NormalMatrix.of(problem), whole=False)

    def tell(steps: int, residual: float) -> None:
        control.iterations += 1
        control.tell("least-norm density", 0.0, residual=residual)

    def inside(place: Place) -> bool:
        return place.free == problem.points

    place, _ = dual.maximise(problem.towards, aim=_LAST_AIM, most=20, tell=tell, going=inside)
    if not inside(place) or place.residual > _LAST_AIM:
        return None
    density = ClippedDensity(problem.operator, place.multipliers, problem.lower, problem.upper)
    return ShrinkageSolution(0.0, density, np.zeros_like(problem.target), 0.0, 0.0, place.residual, "least norm")


def _first(problem: MatchingProblem, control: Control, attempts: Sequence[Attempt]) -> ShrinkageSolution:
    """The first optimal answer, or the best of those that are only feasible."""
    best: ShrinkageSolution | None = None
    reasons = []
    for attempt in attempts:
        found = attempt(problem, control)
        if isinstance(found, str):
            reasons.append(found)
            continue
        if found.status == "optimal":
            return found
        if best is None or found.shrinkage < best.shrinkage:
            best = found
    if best is None:
        raise SolverError("the linear program for the shrinkage has no usable solution: " + "; ".join(reasons))
    return best


def _judged(
    problem: MatchingProblem, shrinkage: float, density: ClippedDensity | KeptDensity, multipliers: Floats, residual: float,
    solver: str, iterations: int,
) -> ShrinkageSolution | str:  # fmt: skip
    """The solution, with what the multipliers prove; or why it cannot be used."""
    if not fits(residual):
        return f"{solver}: residual {residual:.1e} after clipping"
    bound = shrinkage_bound(problem, multipliers)
    return ShrinkageSolution(shrinkage, density, multipliers, shrinkage, bound, residual, solver, iterations=iterations)


def _checked(problem: MatchingProblem, answer: LinearAnswer, solver: str) -> ShrinkageSolution | str:
    """A method's answer, clipped to the box and judged by what it is then."""
    if not (np.isfinite(answer.shrinkage) and np.isfinite(answer.multipliers).all() and np.isfinite(answer.ratio).all()):
        return f"{solver}: not finite"
    shrinkage = float(np.clip(answer.shrinkage, 0.0, 1.0))
    ratio = np.clip(answer.ratio, problem.lower, problem.upper)
    residual = problem.residual(ratio, shrinkage)
    return _judged(problem, shrinkage, KeptDensity(ratio), answer.multipliers, residual, solver, answer.iterations)


def _interior_point(problem: MatchingProblem, control: Control) -> ShrinkageSolution | str:
    found = interior_point(problem, control)
    return "interior point: the first step failed" if found is None else _checked(problem, found, "interior point")


def _highs(problem: MatchingProblem, control: Control, method: HighsMethod) -> ShrinkageSolution | str:
    control.tell(f"linear program by {method}", 0.0)
    found = highs(problem, method)
    return f"{method}: {found}" if isinstance(found, str) else _checked(problem, found, method)


_BY_HIGHS: list[Attempt] = [partial(_highs, method="highs-ds"), partial(_highs, method="highs-ipm")]


def _path(problem: MatchingProblem, control: Control, start: ShrinkageSolution | None) -> ShrinkageSolution | str:
    stage = least(problem, control, None if start is None else start.stage)
    if stage is None:
        return "smoothed dual: the first step failed"
    place = stage.place
    multipliers = stage.slope if place.shrinkage > 0.0 else np.zeros_like(problem.target)
    if not (np.isfinite(place.shrinkage) and np.isfinite(multipliers).all()):
        return "smoothed dual: not finite"
    shrinkage = float(np.clip(place.shrinkage, 0.0, 1.0))
    density = ClippedDensity(problem.operator, place.multipliers, problem.lower, problem.upper)
    residual = float(np.abs(place.gradient - shrinkage * problem.towards).max())
    found = _judged(problem, shrinkage, density, multipliers, residual, "smoothed dual", control.iterations)
    return found if isinstance(found, str) else replace(found, stage=stage)


def least(problem: MatchingProblem, control: Control, start: Stage | None) -> Stage | None:
    """Follow the smoothed LP, min λ + (1/s) ½ Σ p (x - 1)², until what s leaves open is at most half the gap allowed.

    v(s) is piecewise linear in s, so that the tangent at one s is the start for the next, and dv/ds tends to the LP's
    multipliers: both are exact from some s on. It begins on few of the points. None if no s was solved on all of them.
    """
    parts = list(problem.coarse_to_fine()) if start is None else [problem]
    begin = start
    for number, part in enumerate(parts[:-1]):
        begin = _Climb(part, control, number, len(parts)).coarse(begin) or begin
    return _Climb(problem, control, len(parts) - 1, len(parts)).fine(begin)


class _Climb:
    """The path of s on one set of points."""

    def __init__(self, problem: MatchingProblem, control: Control, number: int, parts: int) -> None:
        self._problem, self._control = problem, control
        self._share, self._parts = number / parts, parts
        self._towards = problem.towards
        self._normal = NormalMatrix.of(problem)
        self._dual = Dual(problem, problem.target, self._normal, self._towards)
        self._width = float("inf")
        self._room = min(1.0 - problem.lower, problem.upper - 1.0)

    def coarse(self, begin: Stage | None) -> Stage | None:
        """The stage from which finer points go on: the last one that has many more free points than unknowns."""
        last = None
        for stage in self._stages(begin):
            if stage.place.free < _WELL_FREE * len(self._towards) and last is not None:
                break
            last = stage
            if stage.place.shrinkage <= 0.0 or stage.place.shrinkage - stage.dual_bound <= _GAP:
                break
        return last

    def fine(self, begin: Stage | None) -> Stage | None:
        """The best stage."""
        best: Stage | None = None
        for stage in self._stages(begin):
            if stage.place.shrinkage <= 0.0 and stage.place.residual < _ROUGH * self._room:
                return self._without_shrinkage(stage) or best
            if stage.width <= _GAP or best is None or stage.width < best.width:
                best = stage
            elif stage.place.residual > _ROUGH * self._room:
                break
            self._width = stage.width
            if stage.width <= _GAP:
                break
        return best

    def _stages(self, begin: Stage | None) -> Iterator[Stage]:
        towards = self._towards
        square = float(towards @ towards)
        # At this s the start leaves the inside of the box on about half of the points.
        level = min(square, self._room * float(np.sqrt(square)))
        multipliers, slope = (level / square) * towards, towards / square
        if begin is not None:
            level, multipliers, slope = begin.level, begin.place.multipliers, begin.slope / float(begin.slope @ towards)
        while level <= _HIGHEST:
            multipliers = multipliers + (level - float(towards @ multipliers)) * slope
            aim = max(_LAST_AIM, min(_FIRST_AIM * self._room, _FIRST_AIM / max(level, 1.0)))
            place, _ = self._dual.maximise(multipliers, aim=aim, most=_STEPS, level=level, tell=self._tell)
            solve = self._dual.factor(place)
            if solve is None:
                return
            across = solve(towards)
            slope = across / float(towards @ across)
            yield Stage(level, place, slope, shrinkage_bound(self._problem, slope))
            multipliers = place.multipliers
            level *= _RISE

    def _without_shrinkage(self, stage: Stage) -> Stage | None:
        """λ would fall below 0: then λ = 0 is attained, and x is the QP's answer in this box."""
        dual = Dual(self._problem, self._problem.target, self._normal)
        found, _ = dual.maximise(stage.place.multipliers, aim=_LAST_AIM, most=2 * _STEPS, tell=self._tell)
        return None if found.residual > _MATCHED else replace(stage, place=found, dual_bound=0.0)

    def _tell(self, steps: int, residual: float) -> None:
        self._control.iterations += 1
        known = np.isfinite(self._width) and self._width > 0
        done = float(np.clip(np.log(self._width) / np.log(_GAP), 0.0, 1.0)) if known else 0.0
        numbers = {"residual": residual} | ({"gap": self._width} if known else {})
        step = f"linear program on {self._problem.points:,} points"
        self._control.tell(step, self._share + done / self._parts, **numbers)
