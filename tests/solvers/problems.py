"""Matching problems that several tests share."""

from __future__ import annotations

import numpy as np

from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import DenseOperator


def problem_on_domain(
    sizes: tuple[int, ...], degree: int, codes: np.ndarray, lower: float, upper: float, *, sparse: bool = True
) -> MatchingProblem:
    """The whole product domain as reduced space."""
    basis = ContrastBasis(sizes, degree)
    points = all_codes(sizes)
    return MatchingProblem(
        DenseOperator(basis.matrix(points), np.full(len(points), 1 / len(points))),
        target=basis.means(codes),
        lower=lower,
        upper=upper,
        sparse_functions=basis.sparse_matrix(points) if sparse else None,
        sparse_target=basis.sparse_means(codes) if sparse else None,
    )


def random_codes(sizes: tuple[int, ...], rows: int, seed: int) -> np.ndarray:
    """Rows in which later columns lean on earlier ones."""
    generator = np.random.default_rng(seed)
    level = generator.beta(0.6, 0.6, rows)
    columns = [np.minimum((level * 0.7 + generator.random(rows) * 0.3) * size, size - 1) for size in sizes]
    return np.stack(columns, axis=1).astype(np.int32)
