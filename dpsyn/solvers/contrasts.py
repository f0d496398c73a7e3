"""Walsh functions on bits, and orthonormal product contrasts: what they are for categorical columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.solvers.coded import CodedRows, Rows
from dpsyn.solvers.contingency import (
    cell_numbers,
    check_sizes_and_degree,
    checked_codes,
    column_sets,
    contrast_dimension,
    walsh_dimension,
)

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]

_CHUNK_ENTRIES = 1 << 24


def contrasts(size: int) -> Floats:
    """φ_0 = 1 and size - 1 functions on size codes, orthonormal under the uniform measure; shape (size, size).

    Row r > 0 compares code r with the mean of the codes before it (Helmert contrasts): entries -1/√(r(r+1)) before r and
    r/√(r(r+1)) at r, times √size. For two codes φ_1 = (-1, 1), so products of them are the Walsh functions.
    """
    rows = np.zeros((size, size))
    rows[0] = 1.0
    for r in range(1, size):
        scale = np.sqrt(size / (r * (r + 1)))
        rows[r, :r] = -scale
        rows[r, r] = r * scale
    return rows


class ContrastBasis:
    """Products of contrasts of at most ``degree`` columns: w_(J,r)(x) = Π_{j∈J} φ_{r_j}(x_j), r_j = 1 … c_j - 1.

    They are orthonormal under the uniform distribution on the product domain and span the indicators of all cells of all
    tables over at most ``degree`` columns: matching their means matches every such table. For binary columns with codes
    0, 1 standing for x = -1, 1 they are the Walsh functions, in the order of :func:`~dpsyn.solvers.contingency.column_sets`.
    A column with one code contributes nothing.

    Args:
        sizes: c_j, number of codes of each column.
        degree: d, at least 1.

    Attributes:
        dimension: C, the number of functions, the constant included.
        index: which columns each function uses, a list of C tuples.
        spans: where the functions lie that use exactly these columns, by set of columns.

    Raises:
        ParameterError: no columns, a size below 1, or a degree below 1.
    """

    def __init__(self, sizes: Sequence[int], degree: int) -> None:
        check_sizes_and_degree(sizes, degree)
        self.sizes = tuple(int(size) for size in sizes)
        self.degree = degree
        self.dimension = contrast_dimension(self.sizes, degree)
        self._contrasts = [contrasts(size)[1:] for size in self.sizes]
        self.spans: dict[tuple[int, ...], slice] = {}
        varied = [j for j, size in enumerate(self.sizes) if size > 1]
        start = 0
        for chosen in column_sets(len(varied), degree):
            columns = tuple(varied[i] for i in chosen)
            stop = start + math.prod(self.sizes[j] - 1 for j in columns)
            self.spans[columns] = slice(start, stop)
            start = stop
        self.index = [columns for columns, at in self.spans.items() for _ in range(at.stop - at.start)]

    def matrix(self, codes: Codes) -> Floats:
        """W = [w_f(z_i)], shape (C, m), for codes of shape (m, number of columns)."""
        codes = checked_codes(codes, self.sizes)
        values = [table[:, codes[:, j]] for j, table in enumerate(self._contrasts)]
        rows = len(codes)
        result = np.empty((self.dimension, rows))
        for columns, at in self.spans.items():
            if not columns:
                result[0] = 1.0
                continue
            last = values[columns[-1]]
            parent = result[self.spans[columns[:-1]], None, :]
            np.multiply(parent, last[None], out=result[at].reshape(-1, len(last), rows))
        return result

    def means(self, real: Codes | Rows) -> Floats:
        """(1/n) Σ_i w_f(x_i), shape (C,): from the counts of every table, so the memory does not grow with C·n.

        Args:
            real: rows to be counted, or their codes, shape (n, columns).

        Raises:
            ParameterError: the codes do not fit the sizes, or there are no rows.
        """
        return self._means(real, self._contrasts)

    def sparse_matrix(self, codes: Codes) -> sp.csr_array:
        """C indicator functions with the same span, on m points: sparse, shape (C, m), rows grouped as in ``index``.

        Function (J, r) is 1 where x_j = r_j for every j in J, with r_j = 1 … c_j - 1: the cells of every table that avoid
        the first code of their columns, from which all other cells follow. Nowhere near orthonormal, but solvers that
        factor sparse matrices are several times faster on it.
        """
        codes = checked_codes(codes, self.sizes)
        rows: list[npt.NDArray[np.int64]] = []
        points: list[npt.NDArray[np.int64]] = []
        lower, fewer = codes - 1, [size - 1 for size in self.sizes]
        for columns, span in self.spans.items():
            inside = np.flatnonzero((codes[:, columns] > 0).all(axis=1)).astype(np.int64)
            rows.append(cell_numbers(lower, columns, fewer)[inside] + span.start)
            points.append(inside)
        at, point = np.concatenate(rows), np.concatenate(points)
        return sp.coo_array((np.ones(len(at)), (at, point)), shape=(self.dimension, len(codes))).tocsr()

    def sparse_means(self, real: Codes | Rows) -> Floats:
        """Means over the rows of the functions of :meth:`sparse_matrix`, shape (C,); exact up to the division by n."""
        return self._means(real, [np.eye(size)[1:] for size in self.sizes])

    def _means(self, real: Codes | Rows, functions: list[Floats]) -> Floats:
        rows = CodedRows(checked_codes(real, self.sizes), self.sizes) if isinstance(real, np.ndarray) else real
        if rows.n == 0:
            raise ParameterError("codes", "no rows", "at least one row")
        rows.expect(self.spans)
        result = np.empty(self.dimension)
        for columns, span in self.spans.items():
            sizes = tuple(self.sizes[j] for j in columns)
            moments = (rows.counts(columns) / rows.n).reshape(sizes)
            for j in columns:
                # The first axis is contracted and its contrasts become the last axis: after all columns the order is back.
                moments = np.tensordot(moments, functions[j], axes=(0, 1))
            result[span] = moments.ravel()
        return result


@dataclass(frozen=True, eq=False)
class Items:
    """The contrasts φ_1 … φ_(c-1) of all columns, numbered from 1 column by column; 0 stands for the constant.

    A function is a product of at most D of them, written as a set of items.

    Attributes:
        sizes: number of codes of each column.
        column: of each item, shape (items + 1,); -1 for item 0.
        level: r of its contrast φ_r, shape (items + 1,); 0 for item 0.
    """

    sizes: tuple[int, ...]

    @cached_property
    def column(self) -> Integers:
        """Column of each item."""
        own = np.repeat(np.arange(len(self.sizes)), [size - 1 for size in self.sizes])
        return np.concatenate([[-1], own]).astype(np.int64)

    @cached_property
    def level(self) -> Integers:
        """Level of each item."""
        return np.concatenate([[0], *(np.arange(1, size) for size in self.sizes)]).astype(np.int64)

    @property
    def base(self) -> int:
        """Number of items, 0 included: sets of items are written as numbers in this base."""
        return len(self.column)

    def values(self, item: int) -> Floats:
        """φ_r on the codes of its column."""
        result: Floats = self.values_of_column(int(self.column[item]))[self.level[item]]
        return result

    def values_of_column(self, column: int) -> Floats:
        """φ_0 … φ_(c-1) of a column, shape (c, c)."""
        return self._tables[self.sizes[column]]

    @cached_property
    def _tables(self) -> dict[int, Floats]:
        return {size: contrasts(size) for size in set(self.sizes)}

    def of(self, basis: ContrastBasis) -> Integers:
        """The items of every function of a basis, shape (C, min(degree, columns)): ascending, zeros first."""
        first = np.searchsorted(self.column, np.arange(len(self.sizes)))
        width = max(1, len(basis.index[-1]))
        result = np.zeros((basis.dimension, width), dtype=np.int64)
        for columns, at in basis.spans.items():
            if columns:
                levels = np.indices([self.sizes[j] - 1 for j in columns]).reshape(len(columns), -1).T
                result[at, -len(columns) :] = levels + first[list(columns)]
        return result

    def keys(self, sets: Integers) -> Integers:
        """One number for each set of items; the sets are ascending with zeros first, shape (N, D)."""
        key = np.zeros(len(sets), dtype=np.int64)
        for slot in range(sets.shape[1]):
            key = key * self.base + sets[:, slot]
        return key

    def fits(self, width: int) -> bool:
        """Whether the numbers of sets of ``width`` items fit in 64 bits."""
        return bool(self.base**width < 1 << 63)


def walsh_matrix(points: npt.NDArray[np.integer], degree: int) -> Signs:
    """W = [w_J(θ_i)], shape (C, m), entries ±1, rows in the order of :func:`~dpsyn.solvers.contingency.column_sets`.

    Args:
        points: θ_1 … θ_m, entries ±1, shape (m, p).
        degree: d, at least 0.

    Raises:
        ParameterError: an entry is not ±1, or the degree is negative.
    """
    signs = _checked(points)
    m, p = signs.shape
    matrix = np.empty((walsh_dimension(p, degree), m), dtype=np.int8)
    columns = np.ascontiguousarray(signs.T)
    place: dict[tuple[int, ...], int] = {}
    for row, columns_of_row in enumerate(column_sets(p, degree)):
        place[columns_of_row] = row
        if columns_of_row:
            np.multiply(matrix[place[columns_of_row[:-1]]], columns[columns_of_row[-1]], out=matrix[row])
        else:
            matrix[row] = 1
    return matrix


def walsh_sums(points: npt.NDArray[np.integer], degree: int) -> Integers:
    """Σ_i w_J(x_i) for every |J| ≤ d, exact integers, shape (C,); a block of points at a time."""
    signs = _checked(points)
    dimension = walsh_dimension(signs.shape[1], degree)
    block = max(1, _CHUNK_ENTRIES // dimension)
    sums = np.zeros(dimension, dtype=np.int64)
    for start in range(0, len(signs), block):
        sums += walsh_matrix(signs[start : start + block], degree).sum(axis=1, dtype=np.int64)
    return sums


def _checked(points: npt.NDArray[np.integer]) -> Signs:
    points = np.asarray(points)
    if points.ndim != 2 or points.shape[1] < 1:
        raise ParameterError("points", f"an array of shape {points.shape}", "shape (m, p) with p >= 1")
    if not (np.abs(points) == 1).all():
        raise ParameterError("points", "an entry that is not ±1", "entries -1 and 1")
    return points.astype(np.int8, copy=False)
