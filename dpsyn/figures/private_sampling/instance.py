"""A small instance of private sampling that follows a slider: a reduced space, the rows' statistics, both programs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.basis.contrasts import ContrastBasis, all_codes
from dpsyn.basis.dimension import contrast_dimension
from dpsyn.basis.operator import BlockOperator
from dpsyn.data.table import Table
from dpsyn.domain import Codes, Domain
from dpsyn.errors import FailureError, ParameterError, SolverError
from dpsyn.mechanisms._space_size import failure_threshold
from dpsyn.optim.closest import closest_to_uniform
from dpsyn.optim.matching import Floats, MatchingProblem
from dpsyn.optim.reach import ReachCurve, reach_curve
from dpsyn.optim.shrinkage import least_shrinkage
from dpsyn.privacy.certificates import check_box, is_degenerate

MOST_FUNCTIONS = 600
MOST_ENTRIES = 1_200_000
"""Entries of W for which both programs answer within about a second."""
COMFORTABLE_ENTRIES = 300_000
"""Entries of W for which they follow a slider."""
MERGED_SHARE = 64
"""The mechanism draws numbers of rows, not columns, where the domain has at most this many rows for every draw."""
_MOST_SOLVES = 60
_MOST_SECONDS = 4.0
_INFLATIONS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)


@dataclass(frozen=True, eq=False)
class Space:
    """A reduced space S: depends on the domain and a seed alone, never on the data.

    Attributes:
        sizes: codes of each column.
        degree: d, at most the number of columns.
        m: points, repetitions counted.
        seed: of the draw; None if S is the whole domain.
        points: the distinct points, shape (s, columns).
        multiplicity: how often each was drawn, with sum m, shape (s,).
        functions: W on the distinct points, shape (C, s).
    """

    sizes: tuple[int, ...]
    degree: int
    m: int
    seed: int | None
    points: Codes
    multiplicity: npt.NDArray[np.int64]
    functions: Floats

    @property
    def whole(self) -> bool:
        """Whether S is every row of the domain once."""
        return self.seed is None

    @property
    def dimension(self) -> int:
        """C."""
        return len(self.functions)

    @property
    def weights(self) -> Floats:
        """p = multiplicity/m, shape (s,)."""
        return np.asarray(self.multiplicity / self.m)

    @cached_property
    def eigenvalues(self) -> Floats:
        """Of W Wᵀ/m, ascending, shape (C,): σ²/m for the singular values σ of W."""
        if self.whole:
            return np.ones(self.dimension)  # the functions are orthonormal on the whole domain
        return np.asarray(np.maximum(np.linalg.eigvalsh((self.functions * self.weights) @ self.functions.T), 0.0))

    @property
    def threshold(self) -> float:
        """(1/(2B))², B = e^d on the cube: step 2 says "Failure" if an eigenvalue lies below, that is σ_min < √m/(2B)."""
        return failure_threshold(self.sizes, self.degree, self.m) ** 2 / self.m

    @property
    def bound(self) -> str:
        """How the threshold is written: on other domains than the cube B takes the place of e^d."""
        return "e^d" if all(size <= 2 for size in self.sizes) else "B"

    @property
    def failed(self) -> bool:
        """Whether step 2 says "Failure"."""
        return bool(self.eigenvalues[0] < self.threshold)


def largest_whole(sizes: Sequence[int], degree: int) -> bool:
    """Whether the whole domain is small enough for the pictures."""
    points = math.prod(sizes)
    return points <= MOST_ENTRIES and points * contrast_dimension(sizes, degree) <= MOST_ENTRIES


def most_draws(sizes: Sequence[int], degree: int) -> int:
    """The largest m that the pictures allow."""
    return MOST_ENTRIES // contrast_dimension(sizes, degree)


def make_space(sizes: Sequence[int], degree: int, *, draws: int | None = None, seed: int = 0) -> Space:
    """S for columns with these sizes: the whole domain, or ``draws`` independent uniform draws.

    Raises:
        ParameterError: more functions or points than the pictures allow, or fewer than one draw.
    """
    sizes, degree = tuple(int(size) for size in sizes), min(degree, len(sizes))
    dimension = contrast_dimension(sizes, degree)
    if dimension > MOST_FUNCTIONS:
        raise ParameterError(
            "columns",
            len(sizes),
            f"degree {degree} makes C = {dimension:,} functions of them, and these pictures follow a slider up to "
            f"{MOST_FUNCTIONS}: choose fewer columns or a lower degree",
        )
    points = math.prod(sizes) if draws is None else draws
    if points < 1 or min(points, math.prod(sizes)) * dimension > MOST_ENTRIES:
        raise ParameterError(
            "reduced_space_size",
            points,
            f"from 1 to {most_draws(sizes, degree):,} points for the {dimension} functions of these columns",
        )
    basis = ContrastBasis(sizes, degree)
    if draws is None:
        codes = all_codes(sizes)
        return Space(sizes, degree, len(codes), None, codes, np.ones(len(codes), dtype=np.int64), basis.matrix(codes))
    codes, counts = _drawn(sizes, degree, draws, np.random.default_rng(seed))
    return Space(sizes, degree, draws, seed, codes, counts, basis.matrix(codes))


def _drawn(
    sizes: tuple[int, ...], degree: int, draws: int, generator: np.random.Generator
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """The distinct points and how often each was drawn: the very S that the mechanism makes of the same generator."""
    cells = math.prod(sizes)
    if draws * MERGED_SHARE < cells:
        points = BlockOperator.uniform(sizes, degree, draws, generator).codes(np.arange(draws))
        codes, counts = np.unique(points, axis=0, return_counts=True)
    else:
        drawn, counts = np.unique(generator.integers(0, cells, draws), return_counts=True)
        codes = np.stack(np.unravel_index(drawn, sizes), axis=1)
    return codes.astype(np.int32), counts.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Density:
    """h* for one floor and ceiling.

    Attributes:
        floor, ceiling: the box.
        shrinkage: λ.
        ratio: m·h*, shape (s,); 1 is uniform.
        residual: the largest equality residual.
        note: why h* is uniform, if that is not what the programs said; else empty.
    """

    floor: float
    ceiling: float
    shrinkage: float
    ratio: Floats
    residual: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Instance:
    """A reduced space together with private rows.

    Attributes:
        space: S, on which step 2 succeeded.
        domain: of the rows.
        codes: the rows, shape (n, columns).
        target: a, the means of the functions over the rows, shape (C,).
    """

    space: Space
    domain: Domain
    codes: Codes
    target: Floats

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def problem(self) -> MatchingProblem:
        """The programs' equations, in a box that is yet to be chosen."""
        basis = ContrastBasis(self.space.sizes, self.space.degree)
        return MatchingProblem.dense(
            functions=self.space.functions,
            weights=self.space.weights,
            target=self.target,
            lower=0.5,
            upper=2.0,
            sparse_functions=basis.sparse_matrix(self.space.points),
            sparse_target=basis.sparse_means(self.codes),
        )

    @cached_property
    def reach(self) -> ReachCurve:
        """λ for every floor and ceiling; on a drawn S with many line pieces, nearly."""
        return reach_curve(self.problem, most_solves=_MOST_SOLVES, seconds=_MOST_SECONDS)

    def shrinkage(self, floor: float, ceiling: float) -> float:
        """λ at this floor and ceiling; what it takes to make :attr:`reach` exact there is kept."""
        lower, upper = 2 * floor, ceiling - floor
        if lower < 1 < upper:
            self.__dict__["reach"] = self.reach.with_solution_at(self.problem, (upper - 1) / (1 - lower))
        return self.reach.shrinkage(lower, upper)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows lie on each point of the whole domain, shape (s,)."""
        cell = np.ravel_multi_index(tuple(self.codes.T), self.space.sizes)
        return np.bincount(cell, minlength=math.prod(self.space.sizes)).astype(np.int64)

    def with_row_replaced(self, leaves: Sequence[int], comes: Sequence[int]) -> Instance:
        """The neighbour in which one row with the codes ``leaves`` has become a row ``comes``.

        Raises:
            ParameterError: no row has those codes.
        """
        found = np.flatnonzero((self.codes == np.asarray(leaves)).all(axis=1))
        if len(found) == 0:
            raise ParameterError("leaves", tuple(leaves), "the codes of a row of the data")
        codes = self.codes.copy()
        codes[found[0]] = comes
        basis = ContrastBasis(self.space.sizes, self.space.degree)
        pair = basis.matrix(np.array([leaves, comes], dtype=np.int32))
        return replace(self, codes=codes, target=self.target + (pair[:, 1] - pair[:, 0]) / self.n)

    def density(self, floor: float, ceiling: float, *, shrinkage: float | None = None) -> Density:
        """Steps 3 and 4; without ``shrinkage`` λ comes from :attr:`reach`; mostly only the QP is solved.

        Uniform, with a note, at a degenerate box and where the solver fails, as the mechanism does.
        """
        check_box(floor, ceiling)
        ones = np.ones(len(self.space.points))
        if is_degenerate(floor, ceiling):
            return Density(floor, ceiling, 1.0, ones, 0.0, "only the uniform density fits this box")
        least = self.shrinkage(floor, ceiling) if shrinkage is None else shrinkage
        wide = self.problem.with_box(floor, ceiling)
        reason = ""
        for inflation in _INFLATIONS:
            inflated = min(1.0, least + inflation)
            try:
                found = closest_to_uniform(wide, inflated)
            except SolverError as fault:
                reason = str(fault)
                continue
            return Density(floor, ceiling, inflated, found.ratio, found.residual)
        return Density(floor, ceiling, 1.0, ones, 0.0, f"the quadratic program was not solved: {reason}")

    def solved(self, floor: float, ceiling: float) -> Density:
        """Steps 3 and 4, both programs solved for this box alone.

        Raises:
            SolverError: the linear program was not solved.
        """
        check_box(floor, ceiling)
        if is_degenerate(floor, ceiling):
            return self.density(floor, ceiling)
        least = least_shrinkage(self.problem.with_box(2 * floor, ceiling - floor)).shrinkage
        return self.density(floor, ceiling, shrinkage=least)

    def seconds(self, floor: float, ceiling: float) -> tuple[float, float]:
        """Wall time of the linear and of the quadratic program, solved anew.

        Raises:
            SolverError: one of them was not solved.
        """
        start = time.perf_counter()
        least = least_shrinkage(self.problem.with_box(2 * floor, ceiling - floor)).shrinkage
        middle = time.perf_counter()
        closest_to_uniform(self.problem.with_box(floor, ceiling), min(1.0, least + _INFLATIONS[1]))
        return middle - start, time.perf_counter() - middle


def make_instance(space: Space, table: Table) -> Instance:
    """The instance of the table's rows on S.

    Raises:
        ParameterError: the table has other columns than S.
        FailureError: step 2 failed on S.
    """
    if table.domain.shape != space.sizes:
        raise ParameterError("table", table.domain.shape, f"columns with the sizes {space.sizes}")
    if space.failed:
        raise FailureError(
            f"Step 2 says “Failure”: on this S the smallest eigenvalue of W Wᵀ/m is {space.eigenvalues[0]:.3g}, below "
            f"{space.threshold:.3g}. The data were not looked at. Draw S again, or take more points"
        )
    basis = ContrastBasis(space.sizes, space.degree)
    return Instance(space, table.domain, table.codes, basis.means(table.codes))


def comfortable_columns(domain: Domain, degree: int, first: Sequence[str] = (), most: int = 10) -> tuple[str, ...]:
    """Columns to begin with: those named first, then the others in order, while the whole domain follows a slider."""
    chosen: list[str] = []
    for name in dict.fromkeys([*first, *domain.names]):
        if domain[name].size < 2 or len(chosen) == most:
            continue
        sizes = [domain[one].size for one in (*chosen, name)]
        points = math.prod(sizes)
        if points * contrast_dimension(sizes, min(degree, len(sizes))) <= COMFORTABLE_ENTRIES:
            chosen.append(name)
    return tuple(name for name in domain.names if name in chosen)
