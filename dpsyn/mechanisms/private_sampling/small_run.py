"""A run of private sampling step by step, so small that pictures of it follow a slider: the run's own functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Domain
from dpsyn.errors import FailureError, ParameterError
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace, SpaceSize, draw_once
from dpsyn.mechanisms.private_sampling._solve import Densities, Matched, match
from dpsyn.mechanisms.private_sampling.certificates import check_box
from dpsyn.notation import short
from dpsyn.solvers.coded import CodedRows
from dpsyn.solvers.contingency import contrast_dimension
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.reach import ReachCurve, reach_curve
from dpsyn.table import Table

_MOST_FUNCTIONS = 600
MOST_ENTRIES = 1_200_000
"""Entries of W for which both programs answer within about a second."""
COMFORTABLE_ENTRIES = 120_000
"""Entries of W for which they follow a slider."""
_FEWEST_SOLVES, _MOST_SOLVES, _MOST_SECONDS = 30, 60, 6.0
"""For the curve of λ: the fewest leave open less than half a pixel of its picture, where the columns are comfortable."""
_REMEMBERED = 16


def largest_whole(sizes: Sequence[int], degree: int) -> bool:
    """Whether the whole domain is small enough for the pictures."""
    points = math.prod(sizes)
    return points <= MOST_ENTRIES and points * contrast_dimension(sizes, degree) <= MOST_ENTRIES


def most_draws(sizes: Sequence[int], degree: int) -> int:
    """The largest m that the pictures allow."""
    return MOST_ENTRIES // contrast_dimension(sizes, degree)


def small_space(sizes: Sequence[int], degree: int, *, draws: int | None = None, seed: int = 0) -> ReducedSpace:
    """S for columns with these sizes, the whole domain or ``draws`` independent uniform draws: the first that a run makes.

    A run replaces it by another one if it fails the test of step 2; here that can be looked at.

    Raises:
        ParameterError: more functions or points than the pictures allow, or fewer than one draw.
    """
    sizes, degree = tuple(int(size) for size in sizes), min(degree, len(sizes))
    cells, dimension = math.prod(sizes), contrast_dimension(sizes, degree)
    if dimension > _MOST_FUNCTIONS:
        raise ParameterError(
            "columns",
            len(sizes),
            f"degree {degree} makes C = {dimension:,} functions of them, and these pictures follow a slider up to "
            f"{_MOST_FUNCTIONS}: choose fewer columns or a lower degree",
        )
    points = cells if draws is None else min(draws, cells)
    if points < 1 or points * dimension > MOST_ENTRIES:
        raise ParameterError(
            "reduced_space_size",
            points,
            f"from 1 to {most_draws(sizes, degree):,} points for the {dimension} functions of these columns",
        )
    return draw_once(SpaceSize(sizes, degree, dimension, points, points == cells), np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class SmallRun:
    """Steps 3 to 5 on one S and the private rows of a table, for any floor and ceiling.

    Attributes:
        space: S, on which step 2 succeeded.
        table: the rows.

    Raises:
        ParameterError: the table has other columns than S.
        FailureError: step 2 failed on S.
    """

    space: ReducedSpace
    table: Table
    _known: dict[tuple[float, float], Matched] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        space = self.space
        if self.table.domain.shape != space.size.shape:
            raise ParameterError("table", self.table.domain.shape, f"columns with the sizes {space.size.shape}")
        if not space.passes:
            raise FailureError(
                f"Step 2 says “Failure”: on this S the smallest eigenvalue of W Wᵀ/m is "
                f"{short(space.smallest_singular_value**2 / space.m, 3)}, below {short(space.threshold**2 / space.m, 3)}. "
                "The data were not looked at. Draw S again, or take more points"
            )

    @cached_property
    def problem(self) -> MatchingProblem:
        """The programs' equations, in a box that is yet to be chosen."""
        return Densities.on(self.space, 0.25, 2.0).problem_of(CodedRows(self.table.codes, self.table.domain.shape))

    @cached_property
    def reach(self) -> ReachCurve:
        """λ for every floor and ceiling; where there are many line pieces, nearly."""
        most = min(_MOST_SOLVES, max(_FEWEST_SOLVES, MOST_ENTRIES // self.problem.entries))
        return reach_curve(self.problem, most_solves=most, seconds=_MOST_SECONDS)

    def shrinkage(self, floor: float, ceiling: float) -> float:
        """λ at this floor and ceiling; what it takes to make :attr:`reach` exact there is kept."""
        lower, upper = 2 * floor, ceiling - floor
        if lower < 1 < upper:
            self.__dict__["reach"] = self.reach.with_solution_at(self.problem, (upper - 1) / (1 - lower))
        return self.reach.shrinkage(lower, upper)

    def matched(self, floor: float, ceiling: float) -> Matched:
        """λ and h* at this floor and ceiling, as a run finds them."""
        check_box(floor, ceiling)
        if (floor, ceiling) not in self._known:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[floor, ceiling] = match(self.problem.with_box(floor, ceiling))
        return self._known[floor, ceiling]

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows lie on each point of the whole domain, shape (s,)."""
        cell = np.ravel_multi_index(tuple(self.table.codes.T), self.space.size.shape)
        return np.bincount(cell, minlength=self.space.points).astype(np.int64)


def comfortable_columns(domain: Domain, first: Sequence[str]) -> tuple[str, ...]:
    """Up to ten columns to begin with, those named first: the whole domain at d = 2 has to follow a slider."""
    chosen: list[str] = []
    for name in dict.fromkeys([*first, *domain.names]):
        if domain[name].size < 2 or len(chosen) == 10:
            continue
        sizes = [domain[one].size for one in (*chosen, name)]
        points = math.prod(sizes)
        if points * contrast_dimension(sizes, min(2, len(sizes))) <= COMFORTABLE_ENTRIES:
            chosen.append(name)
    return tuple(name for name in domain.names if name in chosen)
