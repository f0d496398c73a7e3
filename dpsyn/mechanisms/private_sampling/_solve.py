"""Steps 3 and 4: λ and the density closest to uniform, solved so that no failure says anything about the data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsyn.errors import SolverError
from dpsyn.mechanisms.base import Progress, no_progress
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.solvers.closest import ClosestSolution, closest_to_uniform
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import ClippedDensity, Density, Floats, MatchingProblem, SolverProgress
from dpsyn.solvers.shrinkage import ShrinkageSolution, least_shrinkage

_INFLATIONS = (1e-9, 1e-7, 1e-5)
_LINEAR, _QUADRATIC, _SOLVED = 0.15, 0.6, 0.95
_SPARSE_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class Densities:
    """The programs' equations on one reduced space, for the statistics of any rows.

    Attributes:
        space: S.
        floor, ceiling: the box of m·h.
        sparse_functions: an indicator basis of the same span on the points, for sparse solvers; None where S is large.
    """

    space: ReducedSpace
    floor: float
    ceiling: float
    sparse_functions: sp.csr_array | None = None

    @classmethod
    def on(cls, space: ReducedSpace, floor: float, ceiling: float) -> Densities:
        """The densities on S."""
        count, points = space.operator.shape
        sparse = None
        if count * points <= _SPARSE_ENTRIES and not is_degenerate(floor, ceiling):
            sparse = space.operator.functions.basis.sparse_matrix(space.codes)
        return cls(space, floor, ceiling, sparse)

    @property
    def basis(self) -> ContrastBasis:
        """The functions that are matched."""
        return self.space.operator.functions.basis

    def problem(self, target: Floats, sparse_target: Floats | None = None) -> MatchingProblem:
        """Match the statistics a, shape (C,), in the box [floor, ceiling]."""
        sparse = self.sparse_functions if sparse_target is not None else None
        return MatchingProblem(self.space.solved_on, target, self.floor, self.ceiling, sparse, sparse_target)

    def problem_of(self, real: Rows) -> MatchingProblem:
        """Match the statistics of rows."""
        sparse = None if self.sparse_functions is None else self.basis.sparse_means(real)
        return self.problem(self.basis.means(real), sparse)


@dataclass(frozen=True, eq=False)
class Matched:
    """What the two programs found; or the uniform density, where one of them found nothing.

    Attributes:
        density: x = m·h on every point.
        shrinkage: the λ that x was matched at; 1 for the uniform density.
        linear, quadratic: the solutions, None where a solver failed.
        faults: what the failed attempts said.
        pinned: the box leaves the uniform density alone, and nothing was solved.
    """

    density: Density = field(repr=False)
    shrinkage: float
    linear: ShrinkageSolution | None = None
    quadratic: ClosestSolution | None = None
    faults: tuple[str, ...] = ()
    pinned: bool = False

    @property
    def failed(self) -> bool:
        """The uniform density stands in for a solution that was not found."""
        return self.quadratic is None and not self.pinned

    @property
    def ratio(self) -> Floats:
        """x, shape (s,)."""
        return self.density.values

    @property
    def residual(self) -> float:
        """The largest equality residual of the density; 0 for the uniform one."""
        return 0.0 if self.quadratic is None else self.quadratic.residual

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
            "linear_program_iterations": self.linear.iterations,
            "linear_program_seconds": self.linear.seconds,
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
            "quadratic_program_iterations": self.quadratic.iterations,
            "quadratic_program_seconds": self.quadratic.seconds,
        }


class _Stopped(BaseException):
    """Carries what the listener raised past the places where faults of a solver are caught."""


def uniform(problem: MatchingProblem) -> Density:
    """x = 1."""
    return ClippedDensity(problem.operator, np.zeros_like(problem.target), problem.lower, problem.upper)


def match(problem: MatchingProblem, clock: Clock | None = None, start: Matched | None = None) -> Matched:
    """The density closest to uniform at the least λ, for the problem with the box [floor, ceiling].

    The uniform one where the box leaves no other. A failure of a solver gives the uniform density too: it lies in the box,
    and an exception would tell. Whatever a solver raises on numbers that it cannot handle counts as its failure, for the
    same reason. What the clock's listener raises,
    to cancel, passes through.

    Args:
        problem: the statistics and the box.
        clock: told of the steps.
        start: the solution for statistics nearby.
    """
    if is_degenerate(problem.lower, problem.upper):
        return Matched(uniform(problem), 1.0, pinned=True)
    try:
        return _match(problem, clock or Clock(), start)
    except _Stopped as stop:
        raise stop.__cause__ or stop from None


def _match(problem: MatchingProblem, clock: Clock, start: Matched | None) -> Matched:
    clock("linear program", _LINEAR)
    try:
        linear = least_shrinkage(
            problem.with_box(2 * problem.lower, problem.upper - problem.lower),
            start=None if start is None else start.linear,
            progress=clock.inside("linear program", _LINEAR, _QUADRATIC),
        )
    except Exception as fault:  # noqa: BLE001 (whatever it is: that it happened may depend on the data, and must not be seen)
        return Matched(uniform(problem), 1.0, faults=(_said(fault),))
    clock("quadratic program", _QUADRATIC)
    faults: list[str] = []
    for inflation in _INFLATIONS:
        shrinkage = min(1.0, linear.shrinkage + inflation)
        try:
            closest = closest_to_uniform(
                problem,
                shrinkage,
                start=None if start is None else start.quadratic,
                progress=clock.inside("quadratic program", _QUADRATIC, _SOLVED),
            )
        except Exception as fault:  # noqa: BLE001 (as above)
            faults.append(_said(fault))
            continue
        return Matched(closest.density, shrinkage, linear, closest, tuple(faults))
    return Matched(uniform(problem), 1.0, linear, None, tuple(faults))


def _said(fault: Exception) -> str:
    return str(fault) if isinstance(fault, SolverError) else f"{type(fault).__name__}: {fault}"


class Clock:
    """Tells of progress, which never goes back, and keeps how long each step took."""

    def __init__(self, progress: Progress = no_progress) -> None:
        self._progress = progress
        self._steps: list[tuple[str, float]] = []
        self._furthest = 0.0

    def __call__(self, step: str, share: float) -> None:
        self._steps.append((step, time.perf_counter()))
        self.tell(step, share)

    def inside(self, step: str, low: float, high: float) -> SolverProgress:
        """A listener for a solver whose work is the part from ``low`` to ``high`` of the whole."""

        def listen(what: str, share: float, numbers: Mapping[str, float]) -> None:
            known = [f"{name} {value:.3g}" for name, value in numbers.items()]
            try:
                self.tell(f"{step}: {', '.join([what, *known])}", low + (high - low) * share)
            except Exception as reason:
                raise _Stopped from reason

        return listen

    def tell(self, step: str, share: float) -> None:
        """Tell of a part of a step."""
        self._furthest = max(self._furthest, share)
        self._progress(step, self._furthest)

    def seconds(self) -> dict[str, float]:
        """Seconds by step, up to now."""
        ends = [start for _, start in self._steps[1:]] + [time.perf_counter()]
        return {step: end - start for (step, start), end in zip(self._steps, ends, strict=True)}
