"""All contingency tables over a fixed number of columns, as one vector of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError

Integers = npt.NDArray[np.int64]


class ContingencyBasis:
    """The cells of all tables over exactly min(degree, q) of q columns.

    Cell f of table T is the indicator function f(x) = 1 if x agrees with the cell on the columns of T, else 0. Cells are
    ordered table by table, and inside a table with its last column running fastest (C order of ``shape_of(table)``).

    Args:
        sizes: number of codes of each of the q columns.
        degree: number of columns of a table; with fewer columns than that there is one table, of all of them.

    Attributes:
        tables: the column sets, in the order of ``itertools.combinations``.
        offsets: number of the first cell of each table, shape (len(tables) + 1,); the last entry is ``cells``.
        cells: number of cells in all tables.

    Raises:
        ParameterError: no columns, a size below 1, or a degree below 1.
    """

    def __init__(self, sizes: Sequence[int], degree: int) -> None:
        check_sizes_and_degree(sizes, degree)
        self.sizes = tuple(int(size) for size in sizes)
        self.degree = degree
        self.tables: list[tuple[int, ...]] = list(combinations(range(len(self.sizes)), min(degree, len(self.sizes))))
        table_cells = [math.prod(self.shape_of(table)) for table in self.tables]
        self.offsets: Integers = np.concatenate([[0], np.cumsum(table_cells, dtype=np.int64)]).astype(np.int64)
        self.cells = int(self.offsets[-1])

    def shape_of(self, table: tuple[int, ...]) -> tuple[int, ...]:
        """Number of codes of each column of a table."""
        return tuple(self.sizes[j] for j in table)

    def slice_of(self, table: tuple[int, ...]) -> slice:
        """Where the cells of a table lie in the vector of all cells."""
        if table not in self._position:
            raise ParameterError("table", table, f"one of the sets of {len(self.tables[0])} columns, in ascending order")
        at = self._position[table]
        return slice(int(self.offsets[at]), int(self.offsets[at + 1]))

    @cached_property
    def _position(self) -> dict[tuple[int, ...], int]:
        return {table: i for i, table in enumerate(self.tables)}

    def _cells_of(self, codes: Codes, at: int) -> Integers:
        """Number, within table ``at``, of the cell that each row falls in. Shape (n,)."""
        table = self.tables[at]
        cell = codes[:, table[0]].astype(np.int64)
        for j in table[1:]:
            cell *= self.sizes[j]
            cell += codes[:, j]
        return cell

    def counts(self, codes: Codes) -> Integers:
        """Σ_i f(x_i) for every cell f, exact. ``codes`` has shape (n, q), the result shape (cells,)."""
        codes = self._checked(codes)
        counts = np.empty(self.cells, dtype=np.int64)
        for at in range(len(self.tables)):
            low, high = self.offsets[at], self.offsets[at + 1]
            counts[low:high] = np.bincount(self._cells_of(codes, at), minlength=int(high - low))
        return counts

    def indicator(self, codes: Codes) -> sp.csr_array:
        """The matrix [f(z_i)] of zeros and ones, sparse, shape (cells, m): every column has one 1 in each table."""
        codes = self._checked(codes)
        rows = np.empty((len(codes), len(self.tables)), dtype=np.int64)
        for at in range(len(self.tables)):
            rows[:, at] = self._cells_of(codes, at) + self.offsets[at]
        starts = np.arange(len(codes) + 1, dtype=np.int64) * len(self.tables)
        by_column = sp.csc_array((np.ones(rows.size), rows.ravel(), starts), shape=(self.cells, len(codes)))
        return by_column.tocsr()

    def _checked(self, codes: Codes) -> Codes:
        return checked_codes(codes, self.sizes)


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
