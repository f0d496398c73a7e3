"""Exact sensitivities of the statistics when one record of n is replaced (derived in docs/guarantees.md).

All are sensitivities of sums over the records (counts); divide by n for averages.
"""

from __future__ import annotations

import math

from dpsyn.errors import ParameterError


def changed_walsh_functions(p: int, degree: int) -> int:
    """N(p, d) = max_s Σ_{j≤d} Σ_{i odd} C(s, i) C(p-s, j-i): the most Walsh functions that one replacement flips.

    Two points that differ in s coordinates disagree on w_J exactly when J holds an odd number of them. d=1 gives p,
    d=2 gives ⌊(p+1)²/4⌋. Exact integer.
    """
    if p < 1:
        raise ParameterError("p", p, "at least 1 bit")
    if degree < 1:
        raise ParameterError("degree", degree, "at least 1")
    if degree == 1:
        return p
    if degree == 2:
        return (p + 1) ** 2 // 4
    return max(
        sum(math.comb(s, i) * math.comb(p - s, j - i) for j in range(1, min(degree, p) + 1) for i in range(1, j + 1, 2))
        for s in range(1, p + 1)
    )


def walsh_sum_l1(p: int, degree: int) -> int:
    """L1 sensitivity 2N of (Σ_i w_J(x_i))_{|J| ≤ d}."""
    return 2 * changed_walsh_functions(p, degree)


def contingency_count_l1(columns: int, degree: int) -> int:
    """L1 sensitivity 2·C(q, d) of the counts in all d-way tables over q columns: one cell down, one up in each."""
    return 2 * math.comb(columns, min(degree, columns))
