"""The problem that private sampling solves twice, its solutions, and what a caller may do meanwhile: watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.errors import ParameterError
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.operator import PointOperator

Floats = npt.NDArray[np.float64]

RESIDUAL_ALLOWED = 1e-8
"""Largest |statistic of the density - what it should be| that an accepted solution has."""
GAP_ALLOWED = 1e-7
"""objective - dual_bound up to which a solution is called optimal."""

_FEWEST, _PER_FUNCTION, _COARSER = 50_000, 60, 10
"""Of the points on which a problem is solved first: at least so many, so many for each function, and how fast they grow."""
_SMALL, _SMALL_ENTRIES = 300, 4_000_000

SolverProgress = Callable[[str, float, Mapping[str, float]], None]
"""Called with what is being done, the share of the work done so far in [0, 1], and numbers: ``"iteration"``,
``"residual"``, ``"gap"`` as far as they are known. What it raises ends the solver and reaches the caller."""


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """Statistics to match by a density ratio x = m·h on m points, each in a box.

    A solution for the shrinkage λ satisfies W (p ∘ x) = (1-λ) a + λ u, where u = W p are the statistics of x = 1. Two
    programs ask for one: :func:`~dpsyn.solvers.shrinkage.least_shrinkage` for the least λ (LP), and
    :func:`~dpsyn.solvers.closest.closest_to_uniform` for the x nearest to 1 at a given λ (QP).

    Attributes:
        operator: W of shape (C, m), values of C statistics on the points, and p > 0 with Σ p = 1, the share of the reduced
            space's draws that each point stands for.
        target: a, the statistics of the data, shape (C,).
        lower, upper: the box, lower <= 1 <= upper.
        sparse_functions, sparse_target: the same equations in a sparse basis of the same span, for sparse solvers.

    Raises:
        ParameterError: shapes that do not fit, a target that is not finite, or a box without 1.
    """

    operator: PointOperator
    target: Floats
    lower: float
    upper: float
    sparse_functions: sp.csr_array | None = None
    sparse_target: Floats | None = None

    def __post_init__(self) -> None:
        count, points = self.operator.shape
        if self.target.shape != (count,):
            raise ParameterError("functions", f"shape {(count, points)}", f"shape ({self.target.size}, number of points)")
        if not np.isfinite(self.target).all():
            raise ParameterError("target", "a number that is not finite", "finite statistics")
        if not self.lower <= 1 <= self.upper:
            raise ParameterError("lower", (self.lower, self.upper), "a box with lower <= 1 <= upper")

    @property
    def weights(self) -> Floats:
        """p, shape (m,)."""
        return self.operator.weights

    @property
    def points(self) -> int:
        """m."""
        return self.operator.shape[1]

    @property
    def entries(self) -> int:
        """C·m, of which W would have so many."""
        return self.operator.shape[0] * self.operator.shape[1]

    @cached_property
    def functions(self) -> Floats:
        """W as an array, shape (C, m): for small problems."""
        return np.hstack([np.asarray(part, dtype=np.float64) for part in self.operator.map(_matrix)])

    @cached_property
    def uniform(self) -> Floats:
        """u = W p, shape (C,)."""
        (total,) = self.operator.reduce(_uniform)
        return np.asarray(total)

    @property
    def towards(self) -> Floats:
        """a - u: which way the data lie from uniform, shape (C,)."""
        return np.asarray(self.target - self.uniform)

    @property
    def pinned(self) -> bool:
        """The box leaves nothing but x = 1, because Σ p x = 1 and one of its ends is 1."""
        return not self.lower < 1 < self.upper

    def statistics(self, ratio: Floats) -> Floats:
        """W (p ∘ x), shape (C,)."""
        (total,) = self.operator.reduce(_statistics, vectors=(ratio,))
        return np.asarray(total)

    def wanted(self, shrinkage: float) -> Floats:
        """(1-λ) a + λ u, shape (C,)."""
        return (1 - shrinkage) * self.target + shrinkage * self.uniform

    def gram(self, scaling: Floats) -> Floats:
        """W diag(scaling) Wᵀ, shape (C, C), for scaling >= 0 of shape (m,); a block of points at a time."""
        (total,) = self.operator.reduce(_gram, vectors=(scaling,))
        return np.asarray(total)

    def residual(self, ratio: Floats, shrinkage: float) -> float:
        """max_f |W (p ∘ x) - (1-λ) a - λ u|, computed anew in double precision."""
        return float(np.abs(self.statistics(ratio) - self.wanted(shrinkage)).max())

    def with_box(self, lower: float, upper: float) -> MatchingProblem:
        """The same statistics in another box."""
        other = replace(self, lower=lower, upper=upper)
        for name in ("uniform", "functions"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def coarse_to_fine(self) -> Iterator[MatchingProblem]:
        """The same on samples of the points, each ten times as large as the one before, and at last the problem itself."""
        functions, points = self.operator.shape
        fewest = max(_FEWEST, _PER_FUNCTION * functions)
        sizes = []
        size = points // _COARSER
        while size >= fewest:
            sizes.append(size)
            size //= _COARSER
        for size in reversed(sizes):
            # Which points are taken changes how fast the answer comes, not which one; the seed makes runs repeatable.
            sample = self.operator.sample(size, np.random.default_rng(size))
            yield MatchingProblem(sample, self.target, self.lower, self.upper)
        yield self

    def few_threads(self) -> AbstractContextManager[object]:
        """One BLAS thread while a small problem is solved: on its small matrices several would wait for each other."""
        functions, points = self.operator.shape
        return one_blas_thread() if functions <= _SMALL or functions * points <= _SMALL_ENTRIES else nullcontext()


def _matrix(block: PointBlock) -> Floats:
    return np.asarray(block.matrix(), dtype=np.float64)


def _uniform(block: PointBlock) -> tuple[Floats]:
    return (block.apply(block.weights),)


def _statistics(block: PointBlock, ratio: Floats) -> tuple[Floats]:
    return (block.apply(block.weights * ratio),)


def _gram(block: PointBlock, scaling: Floats) -> tuple[Floats]:
    return (np.asarray(block.gram(scaling), dtype=np.float64),)


@dataclass(frozen=True, eq=False)
class KeptDensity:
    """x as an array.

    Attributes:
        values: x, shape (m,).
    """

    values: Floats


@dataclass(frozen=True, eq=False)
class ClippedDensity:
    """x = clip(1 + Wᵀv, lower, upper): C numbers stand for m.

    Attributes:
        operator: W.
        coefficients: v, shape (C,).
        lower, upper: the box.
    """

    operator: PointOperator = field(repr=False)
    coefficients: Floats
    lower: float
    upper: float

    def on(self, block: PointBlock) -> Floats:
        """x on a block of points, shape (b,): for sums that need not have all of x at once."""
        return _ratio(block, self.coefficients, self.lower, self.upper)

    @cached_property
    def values(self) -> Floats:
        """x, shape (m,)."""
        return np.concatenate(self.operator.map(_ratio, self.coefficients, self.lower, self.upper))


Density = KeptDensity | ClippedDensity
"""A density ratio x on the points of a problem: ``values`` has it as an array."""


@dataclass(frozen=True, eq=False)
class LinearAnswer:
    """What a method says of the LP, unchecked.

    Attributes:
        shrinkage, ratio: λ and x.
        multipliers: y of the equalities, shape (C,); zeros if it gives none.
        iterations: as it counts them.
    """

    shrinkage: float
    ratio: Floats
    multipliers: Floats
    iterations: int


@dataclass(frozen=True, eq=False)
class Solution:
    """A density x with W (p ∘ x) = (1-λ) a + λ u in the box.

    Attributes:
        shrinkage: λ in [0, 1].
        density: x; see :attr:`ratio`.
        multipliers: y of the equalities, which prove ``dual_bound``, shape (C,).
        objective: what the program makes least.
        dual_bound: it cannot be less than this, computed anew from the multipliers.
        residual: max |W (p ∘ x) - (1-λ) a - λ u|, computed anew in double precision.
        solver: whose answer this is.
        iterations: steps of the method that answered, on all levels of refinement.
        seconds: time of the whole call.
    """

    shrinkage: float
    density: Density = field(repr=False)
    multipliers: Floats = field(repr=False)
    objective: float
    dual_bound: float
    residual: float
    solver: str
    iterations: int = 0
    seconds: float = 0.0

    @property
    def gap(self) -> float:
        """objective - dual_bound; may be negative by about the residual times the multipliers."""
        return self.objective - self.dual_bound

    @property
    def ratio(self) -> Floats:
        """x = m·h, shape (m,)."""
        return self.density.values


def fits(residual: float) -> bool:
    """Whether a residual is small enough for a solution to be used; not if it is no number."""
    return residual <= RESIDUAL_ALLOWED


def _ratio(block: PointBlock, multipliers: Floats, lower: float, upper: float) -> Floats:
    """x = clip(1 + Wᵀv, lower, upper) on a block of points, shape (b,)."""
    return np.clip(1.0 + np.asarray(block.adjoint(multipliers), dtype=np.float64), lower, upper)


@dataclass(eq=False)
class Control:
    """One run of a solver: its clock and its listener.

    Attributes:
        progress: the listener, or None; what it raises reaches the caller.
    """

    progress: SolverProgress | None = None
    started: float = field(default_factory=time.perf_counter)
    iterations: int = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.started

    def tell(self, step: str, share: float, **numbers: float) -> None:
        """Report."""
        if self.progress is not None:
            self.progress(step, min(max(share, 0.0), 1.0), {"iteration": self.iterations, **numbers})
