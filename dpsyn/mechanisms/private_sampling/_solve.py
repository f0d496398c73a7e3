"""Steps 3 and 4: λ and the density closest to uniform, solved so that no failure says anything about the data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsyn.errors import SolverError
from dpsyn.mechanisms.base import Progress
from dpsyn.optim.closest import ClosestSolution, closest_to_uniform
from dpsyn.optim.matching import Floats, MatchingProblem
from dpsyn.optim.shrinkage import ShrinkageSolution, least_shrinkage

Tell = Callable[[str, float], None]
"""Told of the step that begins and of the share of the work that is done."""

_INFLATIONS = (1e-9, 1e-7, 1e-5)
_SOLVER_FAULTS = (SolverError, ArithmeticError, ValueError, RuntimeError, MemoryError)


@dataclass(frozen=True, eq=False)
class Matched:
    """What the two programs found; or the uniform density, where one of them found nothing.

    Attributes:
        ratio: x = m·h of every point, shape (s,).
        shrinkage: the λ that x was matched at; 1 for the uniform density.
        linear, quadratic: the solutions, None where a solver failed.
        faults: what the failed attempts said.
        pinned: the box leaves the uniform density alone, and nothing was solved.
    """

    ratio: Floats
    shrinkage: float
    linear: ShrinkageSolution | None = None
    quadratic: ClosestSolution | None = None
    faults: tuple[str, ...] = ()
    pinned: bool = False

    @property
    def failed(self) -> bool:
        """The uniform density stands in for a solution that was not found."""
        return self.quadratic is None and not self.pinned

    def found(self) -> dict[str, Any]:
        """The solvers' words, λ, residuals and gaps, for the diagnostics."""
        told: dict[str, Any] = {"shrinkage": self.shrinkage}
        if self.pinned:
            return told | {"linear_program": "skipped", "quadratic_program": "skipped"}
        said = "; ".join(self.faults)
        if self.linear is None:
            return told | {"linear_program": said, "quadratic_program": "not reached"}
        told |= {
            "linear_program": f"{self.linear.status} ({self.linear.solver})",
            "linear_program_residual": self.linear.residual,
            "linear_program_gap": self.linear.gap,
            "least_shrinkage": self.linear.shrinkage,
        }
        if self.quadratic is None:
            return told | {"quadratic_program": said}
        return told | {
            "quadratic_program": (
                f"{self.quadratic.status} ({self.quadratic.solver}, {self.quadratic.iterations} iterations)"
            ),
            "quadratic_program_residual": self.quadratic.residual,
            "quadratic_program_gap": self.quadratic.gap,
        }


class _Stopped(Exception):
    """Carries what the listener raised past the places where faults of a solver are caught."""


def no_word(step: str, share: float) -> None:
    """Tell nobody."""


def match(problem: MatchingProblem, tell: Tell) -> Matched:
    """The density closest to uniform at the least λ, for the problem with the box [floor, ceiling].

    A failure of a solver gives the uniform density: it lies in the box, and an exception would tell. Whatever a solver
    raises on numbers that it cannot handle counts as its failure, for the same reason. What ``tell`` raises, to cancel,
    passes through.
    """

    def careful(step: str, share: float) -> None:
        try:
            tell(step, share)
        except Exception as reason:
            raise _Stopped from reason

    try:
        return _match(problem, careful)
    except _Stopped as stop:
        raise stop.__cause__ or stop from None


def _match(problem: MatchingProblem, tell: Tell) -> Matched:
    ones = np.ones(problem.points)
    tell("linear program", 0.2)
    try:
        linear = least_shrinkage(problem.with_box(2 * problem.lower, problem.upper - problem.lower))
    except _SOLVER_FAULTS as fault:
        return Matched(ones, 1.0, faults=(str(fault),))
    tell("quadratic program", 0.7)
    faults: list[str] = []
    for inflation in _INFLATIONS:
        shrinkage = min(1.0, linear.shrinkage + inflation)
        try:
            closest = closest_to_uniform(problem, shrinkage)
        except _SOLVER_FAULTS as fault:
            faults.append(str(fault))
            continue
        return Matched(closest.ratio, shrinkage, linear, closest, tuple(faults))
    return Matched(ones, 1.0, linear, None, tuple(faults))


class Clock:
    """Tells of progress, and keeps how long each step took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps: list[tuple[str, float]] = []

    def __call__(self, step: str, share: float) -> None:
        self._steps.append((step, time.perf_counter()))
        self._progress(step, share)

    def seconds(self) -> dict[str, float]:
        """Seconds by step, up to now."""
        ends = [start for _, start in self._steps[1:]] + [time.perf_counter()]
        return {step: end - start for (step, start), end in zip(self._steps, ends, strict=True)}
