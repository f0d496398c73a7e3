"""A small instance of private sampling that follows a slider: a reduced space, the rows' statistics, both programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes, Domain
from dpsyn.errors import FailureError, ParameterError, SolverError
from dpsyn.mechanisms.private_sampling.certificates import check_box, is_degenerate
from dpsyn.mechanisms.private_sampling.figures.space import Space
from dpsyn.notation import short
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import Floats, MatchingProblem
from dpsyn.solvers.reach import ReachCurve, reach_curve
from dpsyn.solvers.shrinkage import least_shrinkage
from dpsyn.table import Table

_MOST_SOLVES = 60
_MOST_SECONDS = 6.0
_INFLATIONS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)


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
        return np.bincount(cell, minlength=len(self.space.points)).astype(np.int64)

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
            f"Step 2 says “Failure”: on this S the smallest eigenvalue of W Wᵀ/m is {short(space.eigenvalues[0], 3)}, below "
            f"{short(space.threshold, 3)}. The data were not looked at. Draw S again, or take more points"
        )
    basis = ContrastBasis(space.sizes, space.degree)
    return Instance(space, table.domain, table.codes, basis.means(table.codes))
