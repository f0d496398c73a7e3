"""How many statistics there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from dpsyn.errors import ParameterError


def walsh_dimension(p: int, degree: int) -> int:
    """C(p, ≤d) = Σ_{j≤d} binom(p, j), the number of Walsh functions of degree at most d on {-1, 1}^p. Exact."""
    if p < 1:
        raise ParameterError("p", p, "at least 1 bit")
    if degree < 0:
        raise ParameterError("degree", degree, "at least 0")
    return sum(math.comb(p, j) for j in range(min(degree, p) + 1))


def contrast_dimension(sizes: Sequence[int], degree: int) -> int:
    """Number of products of at most d contrasts: Σ over sets of at most d columns of Π (c_j - 1). Exact.

    It is the dimension of the span of all ≤d-way contingency tables.
    """
    totals = [1] + [0] * degree
    for size in sizes:
        for j in range(degree, 0, -1):
            totals[j] += totals[j - 1] * (size - 1)
    return sum(totals)


def contingency_cells(sizes: Sequence[int], degree: int) -> int:
    """Number of cells in all tables over exactly d columns (all columns, if there are fewer than d). Exact."""
    width = min(degree, len(sizes))
    totals = [1] + [0] * width
    for size in sizes:
        for j in range(width, 0, -1):
            totals[j] += totals[j - 1] * size
    return totals[width]


def column_sets(columns: int, degree: int) -> list[tuple[int, ...]]:
    """All sets of at most d columns, the empty one first, by size and then in order."""
    return [s for j in range(min(degree, columns) + 1) for s in combinations(range(columns), j)]
