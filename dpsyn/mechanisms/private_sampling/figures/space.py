"""A reduced space small enough for pictures that follow a slider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling._space_size import failure_threshold
from dpsyn.solvers.contingency import all_codes, contrast_dimension
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import Floats
from dpsyn.solvers.operator import BlockOperator

MOST_FUNCTIONS = 600
MOST_ENTRIES = 1_200_000
"""Entries of W for which both programs answer within about a second."""
COMFORTABLE_ENTRIES = 120_000
"""Entries of W for which they follow a slider."""
MERGED_SHARE = 64
"""The mechanism draws numbers of rows, not columns, where the domain has at most this many rows for every draw."""


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
        """How the threshold is written: on other domains than the cube B takes the place of eᵈ."""
        return "eᵈ" if all(size <= 2 for size in self.sizes) else "B"

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
