"""The problem that private sampling solves twice: densities in a box whose statistics match given ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dpsyn.errors import ParameterError
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.functions import Floats
from dpsyn.solvers.operator import DenseOperator, PointOperator

RESIDUAL_ALLOWED = 1e-8
"""Largest |statistic of the density - what it should be| that an accepted solution has."""


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

    @classmethod
    def dense(
        cls,
        functions: Floats,
        weights: Floats,
        target: Floats,
        lower: float,
        upper: float,
        sparse_functions: sp.csr_array | None = None,
        sparse_target: Floats | None = None,
    ) -> MatchingProblem:
        """The problem with W given as an array of shape (C, m), weights of shape (m,)."""
        functions, weights = np.asarray(functions, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        if functions.ndim != 2 or weights.shape != (functions.shape[1],):
            raise ParameterError("functions", f"shape {functions.shape}", f"shape (C, {weights.size})")
        if not (weights.min() > 0 and abs(weights.sum() - 1) < 1e-9):
            raise ParameterError("weights", f"sum {weights.sum()}", "positive numbers that sum to 1")
        return cls(
            DenseOperator(functions, weights),
            np.asarray(target, dtype=np.float64),
            lower,
            upper,
            sparse_functions,
            sparse_target,
        )

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

    def outside(self, ratio: Floats) -> float:
        """How far x leaves the box [lower, upper]; 0 inside."""
        return max(0.0, self.lower - float(ratio.min()), float(ratio.max()) - self.upper)

    def objective(self, ratio: Floats) -> float:
        """½ Σ p (x - 1)²: what the QP makes least."""
        return 0.5 * float(self.weights @ (ratio - 1.0) ** 2)

    def with_box(self, lower: float, upper: float) -> MatchingProblem:
        """The same statistics in another box."""
        other = replace(self, lower=lower, upper=upper)
        for name in ("uniform", "functions"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    def with_operator(self, operator: PointOperator) -> MatchingProblem:
        """The same statistics and box on other points, without the sparse form."""
        return MatchingProblem(operator, self.target, self.lower, self.upper)


def _matrix(block: PointBlock) -> Floats:
    return np.asarray(block.matrix(), dtype=np.float64)


def _uniform(block: PointBlock) -> tuple[Floats]:
    return (block.apply(block.weights),)


def _statistics(block: PointBlock, ratio: Floats) -> tuple[Floats]:
    return (block.apply(block.weights * ratio),)


def _gram(block: PointBlock, scaling: Floats) -> tuple[Floats]:
    return (np.asarray(block.gram(scaling), dtype=np.float64),)
