"""What the programs' solutions have in common: a density, and the evidence that it is one of the best."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from dpsyn.solvers._dual import ratio_on
from dpsyn.solvers.blocks import PointBlock
from dpsyn.solvers.functions import Floats
from dpsyn.solvers.matching import RESIDUAL_ALLOWED, MatchingProblem
from dpsyn.solvers.operator import PointOperator

Backend = Literal["structured", "reference"]
"""``"structured"``: our own methods. ``"reference"``: HiGHS for the linear and Clarabel, through CVXPY, for the quadratic
program; W is formed, so for small problems only."""


class Density(Protocol):
    """A density ratio x on the points of a problem."""

    @property
    def values(self) -> Floats:
        """x, shape (m,)."""


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
        return ratio_on(block, self.coefficients, self.lower, self.upper)

    @cached_property
    def values(self) -> Floats:
        """x, shape (m,)."""
        return np.concatenate(self.operator.map(ratio_on, self.coefficients, self.lower, self.upper))


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
        outside: how far x leaves the box.
        status: ``"optimal"``, or ``"feasible"`` if the gap is larger than allowed.
        solver: whose answer this is.
        backend: what was asked for.
        iterations: steps of the method that answered, on all levels of refinement.
        seconds: time of the whole call.
    """

    shrinkage: float
    density: Density = field(repr=False)
    multipliers: Floats = field(repr=False)
    objective: float
    dual_bound: float
    residual: float
    outside: float
    status: str
    solver: str
    backend: str = "structured"
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


def bounds_violation(problem: MatchingProblem, density: Density) -> float:
    """How far x leaves the box: nothing if it was clipped to it."""
    return 0.0 if isinstance(density, ClippedDensity) else problem.outside(density.values)


def fits(residual: float) -> bool:
    """Whether a residual is small enough for a solution to be used; not if it is no number."""
    return residual <= RESIDUAL_ALLOWED
