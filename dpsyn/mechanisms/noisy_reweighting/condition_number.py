"""The Rényi condition number κ(ν‖μ) = ∫ (dν/dμ) dν of the data's distribution against a sampling measure.

All but the bound from ‖f‖∞ read the private data without protection: for teaching, never for a release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.statistics import DatasetStatistics, row_keys

LN2 = math.log(2)


def log_condition_number_bound(max_frequency: float, log_points: float) -> float:
    """ln of N·‖f‖∞ >= κ for a uniform measure on N points: κ = N Σ f(x)² <= N·‖f‖∞ Σ f(x)."""
    return max(0.0, log_points + math.log(max_frequency))


def log_condition_number_uniform(shares: npt.NDArray[np.float64], log_points: float) -> float:
    """ln of κ = N Σ_x f(x)² of a known distribution f against the uniform measure on N points.

    Args:
        shares: f at the points where it is positive, summing to 1, shape (any,).
        log_points: ln N (the cube: p ln 2; valid rows: the sum of the logarithms of the sizes).
    """
    return log_points + math.log(float(np.sum(shares**2)))


def log_condition_number_cube(codes: Codes, sizes: Sequence[int], p: int, *, unbiased: bool = True) -> float:
    """ln κ against the uniform measure on {-1, 1}^p, into which the rows embed one to one. Private.

    Arguments and errors as in :func:`log_condition_number_marginals`; p is the number of bits.
    """
    return _log_kappa(_counts(codes, sizes)[0], np.zeros(1), len(codes), unbiased, p * LN2)


def log_condition_number_valid_rows(codes: Codes, sizes: Sequence[int], *, unbiased: bool = True) -> float:
    """ln κ against the uniform measure on all combinations of categories. Private.

    Arguments and errors as in :func:`log_condition_number_marginals`.
    """
    log_points = math.log(math.prod(sizes))
    return _log_kappa(_counts(codes, sizes)[0], np.zeros(1), len(codes), unbiased, log_points)


def log_condition_number_marginals(codes: Codes, sizes: Sequence[int], *, unbiased: bool = True) -> float:
    """ln κ against the product of the rows' own one-way marginals. Private.

    Args:
        codes: encoded rows, shape (n, number of columns).
        sizes: number of codes of each column.
        unbiased: estimate κ of the population that the rows were drawn from, Σ_x c(c-1)/(n(n-1)) / μ(x) for counts c, at
            least 1; else κ of the rows themselves, Σ_x (c/n)² / μ(x), which is larger by about Σ (c/n)/(n μ).

    Raises:
        ParameterError: there are no rows, or only one where an unbiased estimate needs two.
    """
    counts, first = _counts(codes, sizes)
    log_weights = np.zeros(len(counts))
    for j, size in enumerate(sizes):
        marginal = np.bincount(codes[:, j], minlength=size) / len(codes)
        log_weights -= np.log(marginal[codes[first, j]])
    return _log_kappa(counts, log_weights, len(codes), unbiased, 0.0)


def _counts(codes: Codes, sizes: Sequence[int]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """How often each distinct row occurs, and the position of one row of each kind."""
    if len(codes) == 0:
        raise ParameterError("codes", "no rows", "at least one row")
    _, first, counts = np.unique(row_keys(codes, sizes), return_index=True, return_counts=True)
    return counts.astype(np.float64), first.astype(np.int64)


def _log_kappa(
    counts: npt.NDArray[np.float64],
    log_weights: npt.NDArray[np.float64],
    n: int,
    unbiased: bool,
    log_points: float,
) -> float:
    if unbiased:
        if n < 2:
            raise ParameterError("codes", "one row", "at least two rows for an unbiased estimate")
        pairs = counts * (counts - 1) / (n * (n - 1))
    else:
        pairs = (counts / n) ** 2
    largest = float(log_weights.max())
    total = float(np.sum(pairs * np.exp(log_weights - largest)))
    return max(0.0, largest + log_points + math.log(total)) if total > 0 else 0.0


@dataclass(frozen=True)
class ConditionNumberRow:
    """κ(ν‖μ) for one measure μ. Every row reads the private data: for teaching, never for a release.

    Attributes:
        measure: μ in words.
        log_value: ln κ.
        kind: ``"bound"`` N·‖f_n‖∞ >= κ, ``"population"`` unbiased estimate, or ``"rows"``, κ of the rows themselves.
        reads_private_data: always True; pages show it.
    """

    measure: str
    log_value: float
    kind: Literal["bound", "population", "rows"]
    reads_private_data: bool = True


def condition_number_table(stats: DatasetStatistics, codes: Codes | None = None) -> tuple[ConditionNumberRow, ...]:
    """κ against the uniform measure on the cube and on valid rows, and against the product of the one-way marginals.

    Args:
        stats: p, ‖f_n‖∞ and the sizes of the columns.
        codes: encoded rows, shape (n, number of columns); None gives the two bounds only.

    Raises:
        ParameterError: codes that do not fit the sizes.
    """
    log_cube = stats.p * LN2
    rows = [ConditionNumberRow("uniform on the cube", log_condition_number_bound(stats.max_frequency, log_cube), "bound")]
    if stats.sizes is None:
        return tuple(rows)
    log_valid = math.log(math.prod(stats.sizes))
    rows.append(
        ConditionNumberRow("uniform on valid rows", log_condition_number_bound(stats.max_frequency, log_valid), "bound")
    )
    if codes is None:
        return tuple(rows)
    if codes.ndim != 2 or codes.shape[1] != len(stats.sizes):
        raise ParameterError("codes", f"shape {codes.shape}", f"shape (n, {len(stats.sizes)})")
    kinds: tuple[tuple[Literal["population", "rows"], bool], ...] = (("population", True), ("rows", False))
    for kind, unbiased in kinds:
        if unbiased and len(codes) < 2:
            continue
        cube = log_condition_number_cube(codes, stats.sizes, stats.p, unbiased=unbiased)
        valid = log_condition_number_valid_rows(codes, stats.sizes, unbiased=unbiased)
        own = log_condition_number_marginals(codes, stats.sizes, unbiased=unbiased)
        rows += [
            ConditionNumberRow("uniform on the cube", cube, kind),
            ConditionNumberRow("uniform on valid rows", valid, kind),
            ConditionNumberRow("product of the one-way marginals", own, kind),
        ]
    return tuple(rows)
