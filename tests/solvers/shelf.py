"""A shelf of small problems, easy and degenerate: floor, ceiling, points and data, made from seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import DenseOperator
from tests.solvers.problems import problem_on_domain, random_codes


@dataclass(frozen=True)
class Shelved:
    """A problem with the QP's box; the LP's is [2 floor, ceiling - floor].

    Attributes:
        problem: the QP, its box [floor, ceiling].
        shrinkage: λ, where it is known.
    """

    problem: MatchingProblem
    shrinkage: float | None = None

    @property
    def linear(self) -> MatchingProblem:
        """The LP."""
        floor, ceiling = self.problem.lower, self.problem.upper
        return self.problem.with_box(2 * floor, ceiling - floor)


def _bits(count: int, rows: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    level = generator.random((rows, 1))
    return (generator.random((rows, count)) < 0.1 + 0.8 * level).astype(np.int32)


def _sampled(sizes: tuple[int, ...], draws: int, data: np.ndarray, box: tuple[float, float], *, merge: bool) -> Shelved:
    generator = np.random.default_rng(draws)
    points = np.stack([generator.integers(0, size, draws) for size in sizes], axis=1).astype(np.int32)
    weights = np.full(draws, 1 / draws)
    if merge:
        points, counts = np.unique(points, axis=0, return_counts=True)
        weights = counts / draws
    basis = ContrastBasis(sizes, 2)
    sparse, means = basis.sparse_matrix(points), basis.sparse_means(data)
    operator = DenseOperator(basis.matrix(points), weights)
    return Shelved(MatchingProblem(operator, basis.means(data), *box, sparse, means))


def _eight_bits(floor: float, ceiling: float) -> Shelved:
    return Shelved(problem_on_domain((2,) * 8, 2, _bits(8, 2000, 1), floor, ceiling))


def _narrow(columns: int, width: float) -> Shelved:
    floor = (1 - width) / 2  # the LP's box is [1 - width, 1 + width]
    return Shelved(problem_on_domain((2,) * columns, 2, _bits(columns, 3000, 2), floor, 1 + width + floor))


def _narrow_sampled(width: float, rows: int) -> Shelved:
    # Few points, a box of 1 ± width and data far from uniform: x and 1 - λ are small numbers beside 1.
    data = _bits(12, rows, 12)
    floor = (1 - width) / 2
    return _sampled((2,) * 12, 790, data, (floor, 1 + width + floor), merge=False)


def _lopsided() -> Shelved:
    # The LP's box is [0.7, 1.01]: x can fall far below 1 but hardly rise.
    return _sampled((2,) * 12, 790, _bits(12, 3000, 12), (0.35, 1.36), merge=False)


def _empty_cells() -> Shelved:
    codes = random_codes((3, 4, 2, 3), 9, 4)
    return Shelved(problem_on_domain((3, 4, 2, 3), 2, codes, 0.1, 100.0), 0.2)


def _one_row() -> Shelved:
    return Shelved(problem_on_domain((2, 3, 4), 2, np.array([[1, 2, 3]], dtype=np.int32), 0.2, 2.5))


def _half() -> Shelved:
    return Shelved(problem_on_domain((2, 3, 4), 2, random_codes((2, 3, 4), 50, 5), 0.5, 2.0), 1.0)


def _lowest_ceiling() -> Shelved:
    return Shelved(problem_on_domain((2, 3, 4), 2, random_codes((2, 3, 4), 50, 5), 0.25, 1.25), 1.0)


def _uniform_data() -> Shelved:
    return Shelved(problem_on_domain((2, 3, 2), 2, all_codes((2, 3, 2)), 0.25, 2.0), 0.0)


def _unclipped() -> Shelved:
    return Shelved(problem_on_domain((2,) * 6, 1, _bits(6, 500, 6), 1e-3, 50.0), 0.0)


def _clipped_without_shrinkage() -> Shelved:
    # Every table of two columns is far from empty, so that a density exists at λ = 0, but not the least-norm one.
    generator = np.random.default_rng(7)
    level = generator.random((4000, 1))
    codes = (generator.random((4000, 8)) < 0.25 + 0.5 * level).astype(np.int32)
    return Shelved(problem_on_domain((2,) * 8, 2, codes, 0.02, 30.0), 0.0)


def _nearly_singular() -> Shelved:
    # The last function is almost a combination of two others: W diag(p) Wᵀ has an eigenvalue of about 1e-9.
    generator = np.random.default_rng(8)
    points = generator.integers(0, 2, (400, 6)).astype(np.int32)
    basis = ContrastBasis((2,) * 6, 2)
    functions, data = basis.matrix(points), basis.matrix(_bits(6, 800, 8))
    noise = 3e-5 * np.concatenate([generator.normal(size=400), np.zeros(800)])
    both = np.hstack([functions, data])
    both = np.vstack([both, both[1] - both[2] + noise])
    operator = DenseOperator(both[:, :400], np.full(400, 1 / 400))
    return Shelved(MatchingProblem(operator, both[:, 400:].mean(axis=1), 0.2, 3.0))


def _one_code() -> Shelved:
    return Shelved(problem_on_domain((1, 3, 1, 4), 2, random_codes((1, 3, 1, 4), 30, 9), 0.15, 3.0))


def _categories() -> Shelved:
    sizes = (6, 5, 4, 2)
    return _sampled(sizes, 700, random_codes(sizes, 400, 10), (0.25, 2.0), merge=True)


def _duplicates() -> Shelved:
    return _sampled((2, 3, 2, 2), 300, random_codes((2, 3, 2, 2), 80, 11), (0.1, 4.0), merge=False)


def _multiplicities() -> Shelved:
    return _sampled((2, 3, 2, 2), 300, random_codes((2, 3, 2, 2), 80, 11), (0.1, 4.0), merge=True)


SHELF: dict[str, Callable[[], Shelved]] = {
    "eight bits": lambda: _eight_bits(0.25, 2.0),
    "eight bits, wide box": lambda: _eight_bits(0.01, 80.0),
    "eight bits, low floor": lambda: _eight_bits(1e-4, 3.0),
    "duplicate points": _duplicates,
    "multiplicities": _multiplicities,
    "empty cells": _empty_cells,
    "one row": _one_row,
    "floor one half": _half,
    "ceiling 1 + floor": _lowest_ceiling,
    "uniform data": _uniform_data,
    "nothing clipped": _unclipped,
    "clipped, no shrinkage": _clipped_without_shrinkage,
    "nearly singular": _nearly_singular,
    "columns of one code": _one_code,
    "categories": _categories,
    "narrow, C = 37": lambda: _narrow(8, 1e-2),
    "narrow, C = 79": lambda: _narrow(12, 1e-2),
    "narrower, C = 79": lambda: _narrow(12, 1e-3),
    "narrow, few points, one row": lambda: _narrow_sampled(1e-2, 1),
    "narrow, few points": lambda: _narrow_sampled(1e-2, 3000),
    "narrowest, few points": lambda: _narrow_sampled(1e-4, 3000),
    "lopsided": _lopsided,
}
