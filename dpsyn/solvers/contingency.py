"""Sets of columns and their tables: how many functions and cells there are, and which cell a row falls in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError, TooLargeError

Integers = npt.NDArray[np.int64]
Tables = Sequence[tuple[int, ...]]

DEEPEST = 64
"""Columns that vary in one function, at most: no memory holds so many functions, and to count them takes minutes."""


def symmetric_sums(values: Iterable[int], degree: int) -> list[int]:
    """e_0 … e_degree, where e_j is the sum of the products of every j of the values. Exact."""
    sums = [1] + [0] * degree
    for value in values:
        for j in range(degree, 0, -1):
            sums[j] += sums[j - 1] * value
    return sums


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
    return sum(symmetric_sums((size - 1 for size in sizes), min(degree, len(sizes))))


def contingency_cells(sizes: Sequence[int], degree: int) -> int:
    """Number of cells in all tables over exactly d columns (all columns, if there are fewer than d). Exact."""
    return symmetric_sums(sizes, min(degree, len(sizes)))[-1]


def column_sets(columns: int, degree: int) -> list[tuple[int, ...]]:
    """All sets of at most d columns, the empty one first, by size and then in order."""
    return [s for j in range(min(degree, columns) + 1) for s in combinations(range(columns), j)]


def require_countable(sizes: Sequence[int], degree: int) -> None:
    """Raise TooLargeError, without counting them, if functions of so many columns are more than any memory holds."""
    if min(degree, sum(size > 1 for size in sizes)) > DEEPEST:
        raise TooLargeError("degree", degree, f"at most {DEEPEST}: functions of more columns fit into no memory")


def check_sizes_and_degree(sizes: Sequence[int], degree: int) -> None:
    """Raise ParameterError unless there are columns, all of at least one code, and the degree is at least 1."""
    if len(sizes) == 0 or min(sizes) < 1:
        raise ParameterError("sizes", tuple(sizes), "at least one column, and at least one code in each")
    if degree < 1:
        raise ParameterError("degree", degree, "at least 1")


def checked_codes(codes: Codes, sizes: Sequence[int]) -> Codes:
    """The codes, if they have shape (n, q) and lie in 0 … size-1 column by column; else ParameterError."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(sizes):
        raise ParameterError("codes", f"an array of shape {codes.shape}", f"shape (rows, {len(sizes)})")
    if len(codes) and (codes.min() < 0 or (codes.max(axis=0) >= np.asarray(sizes)).any()):
        raise ParameterError("codes", "a code outside its column", f"codes from 0 to size - 1, sizes {tuple(sizes)}")
    return codes


def all_codes(sizes: Sequence[int]) -> Codes:
    """Every row of the product domain, the last column running fastest; shape (Π sizes, number of columns)."""
    return np.indices(tuple(sizes), dtype=np.int32).reshape(len(sizes), -1).T


def cell_numbers(codes: Codes, columns: Iterable[int], sizes: Sequence[int]) -> Integers:
    """The cell of the table over some columns that each row falls in, the last column running fastest. Shape (rows,)."""
    cell = np.zeros(len(codes), dtype=np.int64)
    for j in columns:
        cell *= sizes[j]
        cell += codes[:, j]
    return cell


def cell_offsets(sizes: Sequence[int], tables: Tables) -> Integers:
    """Where the cells of each table begin in the vector of all; the last entry is their number."""
    return np.concatenate([[0], np.cumsum([math.prod(sizes[j] for j in table) for table in tables])]).astype(np.int64)


def cells_of_points(codes: Codes, sizes: Sequence[int], tables: Tables) -> npt.NDArray[np.int32]:
    """The cell that each point falls in, table by table, shape (points, tables)."""
    offsets = cell_offsets(sizes, tables)
    cells = np.empty((len(codes), len(tables)), dtype=np.int32)
    for at, table in enumerate(tables):
        cells[:, at] = cell_numbers(codes, table, sizes) + offsets[at]
    return cells
