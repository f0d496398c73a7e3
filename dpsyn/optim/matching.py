"""The problem that private sampling solves twice: densities in a box whose statistics match given ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.errors import ParameterError

Floats = npt.NDArray[np.float64]

RESIDUAL_ALLOWED = 1e-8
"""Largest |statistic of the density - what it should be| that an accepted solution has."""


_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """Statistics to match by a density ratio x = m·h on s distinct points, each in a box.

    A solution for the shrinkage λ satisfies W (p ∘ x) = (1-λ) a + λ u, where u = W p are the statistics of x = 1.

    Attributes:
        functions: W, values of C statistics on the points, nearly orthogonal rows, shape (C, s).
        weights: p > 0 with Σ p = 1: the share of the reduced space's draws that fell on each point, shape (s,).
        target: a, the statistics of the data, shape (C,).
        lower, upper: the box, lower < 1 < upper.
        sparse_functions, sparse_target: the same equations in a sparse basis of the same span, for sparse solvers.
    """

    functions: Floats
    weights: Floats
    target: Floats
    lower: float
    upper: float
    sparse_functions: sp.csr_array | None = None
    sparse_target: Floats | None = None

    def __post_init__(self) -> None:
        count, points = self.functions.shape
        if self.weights.shape != (points,) or self.target.shape != (count,):
            raise ParameterError(
                "functions", f"shape {self.functions.shape}", f"shape ({self.target.size}, {self.weights.size})"
            )
        if not (self.weights.min() > 0 and abs(self.weights.sum() - 1) < 1e-9):
            raise ParameterError("weights", f"sum {self.weights.sum()}", "positive numbers that sum to 1")
        if not self.lower < 1 < self.upper:
            raise ParameterError("lower", (self.lower, self.upper), "a box with lower < 1 < upper")

    def statistics(self, ratio: Floats) -> Floats:
        """W (p ∘ x), shape (C,)."""
        return self.functions @ (self.weights * ratio)

    @property
    def uniform(self) -> Floats:
        """u = W p, shape (C,)."""
        return self.statistics(np.ones(len(self.weights)))

    def wanted(self, shrinkage: float) -> Floats:
        """(1-λ) a + λ u, shape (C,)."""
        return (1 - shrinkage) * self.target + shrinkage * self.uniform

    def gram(self, scaling: Floats) -> Floats:
        """W diag(scaling) Wᵀ, shape (C, C), for scaling >= 0 of shape (s,); a block of points at a time."""
        used = np.flatnonzero(scaling)
        count = len(self.target)
        result = np.zeros((count, count))
        block = max(1, _BLOCK_ENTRIES // count)
        for start in range(0, len(used), block):
            at = used[start : start + block]
            part = self.functions[:, at] * np.sqrt(scaling[at])
            result += part @ part.T
        return result

    def residual(self, ratio: Floats, shrinkage: float) -> float:
        """max_f |W (p ∘ x) - (1-λ) a - λ u|."""
        return float(np.abs(self.statistics(ratio) - self.wanted(shrinkage)).max())

    def outside(self, ratio: Floats) -> float:
        """How far x leaves the box [lower, upper]; 0 inside."""
        return max(0.0, self.lower - float(ratio.min()), float(ratio.max()) - self.upper)

    def with_box(self, lower: float, upper: float) -> MatchingProblem:
        """The same statistics in another box."""
        return MatchingProblem(
            self.functions, self.weights, self.target, lower, upper, self.sparse_functions, self.sparse_target
        )
