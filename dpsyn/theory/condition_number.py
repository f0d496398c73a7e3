"""The Rényi condition number κ(ν‖μ) = ∫ (dν/dμ) dν of the data's distribution against a sampling measure.

All but the bound from ‖f‖∞ read the private data without protection: for teaching, never for a release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpsyn.data.statistics import row_keys
from dpsyn.domain import Codes
from dpsyn.errors import ParameterError

LN2 = math.log(2)


def log_condition_number_bound(max_frequency: float, log_points: float) -> float:
    """ln of N·‖f‖∞ >= κ for a uniform measure on N points: κ = N Σ f(x)² <= N·‖f‖∞ Σ f(x)."""
    return max(0.0, log_points + math.log(max_frequency))


def log_condition_number_uniform(shares: npt.NDArray[np.float64], log_points: float) -> float:
    """ln of κ = N Σ_x f(x)² for a uniform measure on N points (the cube: N = 2^p; valid rows: the product of the sizes).

    Args:
        shares: f at the points where it is positive, summing to 1, shape (any,).
        log_points: ln N.
    """
    return log_points + math.log(float(np.sum(shares**2)))


def shares_of_rows(codes: Codes, sizes: Sequence[int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The share of each distinct row, and the position of one row of each kind. Private."""
    if len(codes) == 0:
        raise ParameterError("codes", "no rows", "at least one row")
    _, first, counts = np.unique(row_keys(codes, sizes), return_index=True, return_counts=True)
    return counts / len(codes), first.astype(np.int64)


def log_condition_number_cube(codes: Codes, sizes: Sequence[int], p: int) -> float:
    """ln κ of the rows against the uniform measure on {-1, 1}^p, into which the rows embed one to one. Private."""
    return log_condition_number_uniform(shares_of_rows(codes, sizes)[0], p * LN2)


def log_condition_number_valid_rows(codes: Codes, sizes: Sequence[int]) -> float:
    """ln κ of the rows against the uniform measure on all combinations of categories. Private."""
    return log_condition_number_uniform(shares_of_rows(codes, sizes)[0], math.log(math.prod(sizes)))


def log_condition_number_marginals(codes: Codes, sizes: Sequence[int]) -> float:
    """ln of κ = Σ_x f(x)² / Π_j f_j(x_j) of the rows against the product of their own one-way marginals. Private."""
    shares, first = shares_of_rows(codes, sizes)
    log_terms = 2 * np.log(shares)
    for j, size in enumerate(sizes):
        marginal = np.bincount(codes[:, j], minlength=size) / len(codes)
        log_terms -= np.log(marginal[codes[first, j]])
    largest = float(log_terms.max())
    return largest + math.log(float(np.exp(log_terms - largest).sum()))
