"""The Rényi condition number κ(ν‖μ) = ∫ (dν/dμ) dν of the data's distribution against a sampling measure.

All but the bound from ‖f‖∞ read the private data without protection: for teaching, never for a release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.statistics import DatasetStatistics, row_keys

LN2 = math.log(2)


def log_condition_number_bound(max_frequency: float, log_points: float) -> float:
    """ln of N·‖f‖∞ >= κ for a uniform measure on N points: κ = N Σ f(x)² <= N·‖f‖∞ Σ f(x)."""
    return max(0.0, log_points + math.log(max_frequency))


def log_condition_number(
    codes: Codes, sizes: Sequence[int], log_points: float | None = None, *, unbiased: bool = True
) -> float:
    """ln κ against the uniform measure on N points that the rows embed into, or the product of their own one-way marginals.

    Private: it reads the rows.

    Args:
        codes: encoded rows, shape (n, number of columns).
        sizes: number of codes of each column.
        log_points: ln N (the cube: p ln 2; valid rows: the sum of the logarithms of the sizes); None takes the marginals.
        unbiased: estimate κ of the population that the rows were drawn from, Σ_x c(c-1)/(n(n-1)) / μ(x) for counts c, at
            least 1; else κ of the rows themselves, Σ_x (c/n)² / μ(x), which is larger by about Σ (c/n)/(n μ).

    Raises:
        ParameterError: there are no rows, or only one where an unbiased estimate needs two.
    """
    n = len(codes)
    if n < 1 + unbiased:
        raise ParameterError("codes", f"{n} rows", "at least two for an unbiased estimate, else one")
    _, first, times = np.unique(row_keys(codes, sizes), return_index=True, return_counts=True)
    counts = times.astype(np.float64)
    log_weights = np.full(len(counts), log_points or 0.0)
    if log_points is None:
        for j, size in enumerate(sizes):
            marginal = np.bincount(codes[:, j], minlength=size) / n
            log_weights -= np.log(marginal[codes[first, j]])
    pairs = counts * (counts - 1) / (n * (n - 1)) if unbiased else (counts / n) ** 2
    largest = float(log_weights.max())
    total = float(np.sum(pairs * np.exp(log_weights - largest)))
    return max(0.0, largest + math.log(total)) if total > 0 else 0.0


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
    uniform = {"uniform on the cube": stats.p * LN2}
    if stats.sizes is not None:
        uniform["uniform on valid rows"] = math.log(math.prod(stats.sizes))
    rows = [
        ConditionNumberRow(measure, log_condition_number_bound(stats.max_frequency, log_points), "bound")
        for measure, log_points in uniform.items()
    ]
    if stats.sizes is None or codes is None:
        return tuple(rows)
    if codes.ndim != 2 or codes.shape[1] != len(stats.sizes):
        raise ParameterError("codes", f"shape {codes.shape}", f"shape (n, {len(stats.sizes)})")
    kinds: tuple[tuple[Literal["population", "rows"], bool], ...] = (("population", True), ("rows", False))
    for kind, unbiased in kinds:
        if unbiased and len(codes) < 2:
            continue
        for measure, log_points in (*uniform.items(), ("product of the one-way marginals", None)):
            rows.append(
                ConditionNumberRow(measure, log_condition_number(codes, stats.sizes, log_points, unbiased=unbiased), kind)
            )
    return tuple(rows)
