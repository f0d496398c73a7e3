"""h* as a function of the data's statistics: one reduced space, one box."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.mechanisms.private_sampling._solve import Clock, Matched, match, uniform
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import Floats, MatchingProblem

_SPARSE_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class Densities:
    """Steps 3 and 4 of the algorithm on one reduced space, for any statistics.

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

    def problem_of(self, codes: Codes) -> MatchingProblem:
        """Match the statistics of rows of codes, shape (n, number of columns)."""
        sparse = None if self.sparse_functions is None else self.basis.sparse_means(codes)
        return self.problem(self.basis.means(codes), sparse)

    def match(self, problem: MatchingProblem, clock: Clock | None = None, start: Matched | None = None) -> Matched:
        """The density that rows are drawn from; the uniform one where the box leaves no other."""
        if is_degenerate(self.floor, self.ceiling):
            return Matched(uniform(problem), 1.0, pinned=True)
        return match(problem, clock or Clock(), start)
