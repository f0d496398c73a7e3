"""The dual methods from coarse to fine: solved on a few of the points first, then on ten times as many, then on all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpsyn.solvers._dual import Dual, Place, support
from dpsyn.solvers._normal import NormalMatrix
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.control import Control
from dpsyn.solvers.functions import Floats
from dpsyn.solvers.matching import MatchingProblem

_FEWEST = 50_000
_PER_FUNCTION = 60
_COARSER = 10
_ALIKE = 0.2
"""Off-diagonal entries of W diag(p) Wᵀ over a sample up to which the matrix counts as nearly the unit matrix."""

_STEPS = 60
_FIRST_AIM, _LAST_AIM = 1e-5, 1e-10
_RISE = 10.0
_HIGHEST = 1e9
_WELL_FREE = 8
_MATCHED, _ROUGH = 5e-9, 1e-4
"""Residual of a stage that may be an answer; and, in units of the box, of one that is good enough to go on from."""


def levels(problem: MatchingProblem) -> Iterator[MatchingProblem]:
    """The problem on samples of the points, each ten times as large as the one before, and at last the problem itself."""
    functions, points = problem.operator.shape
    fewest = max(_FEWEST, _PER_FUNCTION * functions)
    sizes = []
    size = points // _COARSER
    while size >= fewest:
        sizes.append(size)
        size //= _COARSER
    for size in reversed(sizes):
        # Which points are taken changes how fast the answer comes, not which one; the seed makes runs repeatable.
        yield problem.with_operator(problem.operator.sample(size, np.random.default_rng(size)))
    yield problem


def normal_matrix(problem: MatchingProblem) -> NormalMatrix:
    """How to form Hessians for the problem."""
    functions, points = problem.operator.shape
    normal = NormalMatrix(functions)
    if functions <= normal.dense_up_to and points * float(functions) ** 2 > normal.most_work:
        # Off-diagonal entries of a sample of k points are about 1/√k for functions orthonormal on the whole.
        few = problem.operator.sample(min(points, 4 * functions + 1000), np.random.default_rng(0))
        matrix = MatchingProblem(few, problem.target, 0.0, 2.0).gram(few.weights)
        scatter = matrix - np.eye(functions)
        normal.orthonormal = float(np.sqrt(np.mean(scatter**2))) < 3 / np.sqrt(few.shape[1])
    return normal


@dataclass(frozen=True, eq=False)
class Matched:
    """Where the search for a density with given statistics ended.

    Attributes:
        place: v, with x = clip(1 + Wᵀv).
        steps: Newton steps on all points.
    """

    place: Place
    steps: int


def match(
    problem: MatchingProblem, shrinkage: float, start: Floats | None, control: Control, step: str, *, aim: float
) -> Matched:
    """The maximum of the QP's dual at a given λ."""
    multipliers = start
    found: tuple[Place, int] | None = None
    parts = list(levels(problem)) if start is None and not _fits_at_once(problem, shrinkage) else [problem]
    for number, part in enumerate(parts):
        last = number + 1 == len(parts)
        dual = Dual(part.operator, part.wanted(shrinkage), part.lower, part.upper, normal_matrix(part))
        begin = (1 - shrinkage) * part.towards
        if multipliers is not None and dual.at(multipliers).residual < dual.at(begin).residual:
            begin = multipliers
        share = number / len(parts)

        def tell(count: int, residual: float, share: float = share, size: int = part.points) -> None:
            control.iterations += 1
            control.tell(f"{step} on {size:,} points", share + _done(residual, aim) / len(parts), residual=residual)

        found = dual.maximise(begin, aim=aim if last else 1e-6, most=3 * _STEPS if last else _STEPS, tell=tell)
        multipliers = found[0].multipliers
    assert found is not None
    return Matched(*found)


def _fits_at_once(problem: MatchingProblem, shrinkage: float) -> bool:
    """Whether the start itself leaves no point at a bound: then nothing is gained from fewer points."""
    (clipped,) = problem.operator.reduce(_clipped, (1 - shrinkage) * problem.towards, problem.lower, problem.upper)
    return bool(clipped == 0)


def _clipped(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> tuple[int]:
    ratio = 1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64)
    return (int(np.count_nonzero((ratio <= lower) | (ratio >= upper))),)


def _done(residual: float, aim: float) -> float:
    return float(np.clip(np.log10(max(residual, 1e-300)) / np.log10(aim), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Stage:
    """One maximum along the path of s.

    Attributes:
        level: s.
        place: v(s).
        slope: dv/ds, multipliers of the LP.
    """

    level: float
    place: Place
    slope: Floats


@dataclass(frozen=True, eq=False)
class Path:
    """Where the path for the LP ended.

    Attributes:
        stage: the last s, with v, where x = clip(1 + Wᵀv), and λ.
        multipliers: y of the LP's equalities.
        dual_bound: what they prove.
    """

    stage: Stage
    multipliers: Floats
    dual_bound: float

    @property
    def width(self) -> float:
        """λ - dual_bound; infinite if the statistics are not matched."""
        place = self.stage.place
        return place.shrinkage - self.dual_bound if place.residual <= _MATCHED else float("inf")


def least(problem: MatchingProblem, control: Control, *, gap: float, start: Stage | None = None) -> Path | None:
    """Follow the smoothed LP, min λ + (1/s) ½ Σ p (x - 1)², until what s leaves open is at most ``gap``.

    v(s) is piecewise linear in s, so that the tangent at one s is the start for the next, and dv/ds tends to the LP's
    multipliers: both are exact from some s on. None if no s was solved on all points.
    """
    parts = list(levels(problem)) if start is None else [problem]
    begin = start
    for number, part in enumerate(parts[:-1]):
        begin = _Climb(part, control, gap, number / len(parts), len(parts)).coarse(begin) or begin
    return _Climb(problem, control, gap, 1 - 1 / len(parts), len(parts)).fine(begin)


class _Climb:
    """The path of s on one set of points."""

    def __init__(self, problem: MatchingProblem, control: Control, gap: float, share: float, parts: int) -> None:
        self._problem, self._control, self._gap = problem, control, gap
        self._share, self._parts = share, parts
        self._towards = problem.towards
        self._normal = normal_matrix(problem)
        self._dual = Dual(problem.operator, problem.target, problem.lower, problem.upper, self._normal, self._towards)
        self._width = float("inf")
        self._room = min(1.0 - problem.lower, problem.upper - 1.0)

    def coarse(self, begin: Stage | None) -> Stage | None:
        """The stage from which finer points go on: the last one that has many more free points than unknowns."""
        last = None
        for stage in self._stages(begin):
            if stage.place.free < _WELL_FREE * len(self._towards) and last is not None:
                break
            last = stage
            if stage.place.shrinkage <= 0.0:
                break
            if stage.place.shrinkage - shrinkage_bound(self._problem, stage.slope) <= self._gap:
                break
        return last

    def fine(self, begin: Stage | None) -> Path | None:
        """The best stage."""
        best: Path | None = None
        for stage in self._stages(begin):
            if stage.place.shrinkage <= 0.0 and stage.place.residual < _ROUGH * self._room:
                return self._without_shrinkage(stage) or best
            here = Path(stage, stage.slope, shrinkage_bound(self._problem, stage.slope))
            if here.width <= self._gap or best is None or here.width < best.width:
                best = here
            elif stage.place.residual > _ROUGH * self._room:
                break
            self._width = here.width
            if here.width <= self._gap:
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
            yield Stage(level, place, slope)
            multipliers = place.multipliers
            level *= _RISE

    def _without_shrinkage(self, stage: Stage) -> Path | None:
        """λ would fall below 0: then λ = 0 is attained, and x is the QP's answer in this box."""
        problem = self._problem
        dual = Dual(problem.operator, problem.target, problem.lower, problem.upper, self._normal)
        found, _ = dual.maximise(stage.place.multipliers, aim=_LAST_AIM, most=2 * _STEPS, tell=self._tell)
        if found.residual > _MATCHED:
            return None
        return Path(replace(stage, place=found), np.zeros_like(problem.target), 0.0)

    def _tell(self, steps: int, residual: float) -> None:
        self._control.iterations += 1
        known = np.isfinite(self._width) and self._width > 0
        done = float(np.clip(np.log(self._width) / np.log(self._gap), 0.0, 1.0)) if known else 0.0
        numbers = {"residual": residual} | ({"gap": self._width} if known else {})
        step = f"linear program on {self._problem.points:,} points"
        self._control.tell(step, self._share + done / self._parts, **numbers)


def shrinkage_bound(problem: MatchingProblem, multipliers: Floats) -> float:
    """A lower bound on λ from any multipliers y of the equalities, shape (C,).

    λ >= min over λ in [0, 1] and x in the box of λ + y·(a + λ(u - a) - W (p ∘ x)).
    """
    slope = 1.0 - float(multipliers @ problem.towards)
    most = support(problem.operator, multipliers, problem.lower, problem.upper)
    return max(0.0, float(multipliers @ problem.target) + min(0.0, slope) - most)


def unclipped(problem: MatchingProblem, control: Control) -> Place | None:
    """x = 1 + Wᵀv with the data's statistics, if it stays in the box: then λ = 0 is attained, by the least-norm solution."""
    dual = Dual(problem.operator, problem.target, problem.lower, problem.upper, normal_matrix(problem), whole=False)

    def tell(steps: int, residual: float) -> None:
        control.iterations += 1
        control.tell("least-norm density", 0.0, residual=residual)

    place, _ = dual.maximise(
        problem.towards, aim=_LAST_AIM, most=20, tell=tell, going=lambda place: place.free == problem.points
    )
    return place if place.free == problem.points and place.residual <= _LAST_AIM else None
