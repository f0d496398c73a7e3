"""Sums over points through contingency tables: a few look-ups a point, however many functions there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import all_codes, cell_numbers, symmetric_sums
from dpsyn.solvers.contrasts import ContrastBasis, Floats, Integers, Items
from dpsyn.solvers.points import DigitGroup, DigitLayout, Digits

_CHUNK = 1 << 15
"""Points of a chunk whose indices stay in the processor's cache together with one table."""

_PRICES = ((1 << 16, 2.2, 1.2), (1 << 18, 4.0, 3.0), (1 << 20, 8.0, 10.0), (1 << 62, 20.0, 15.0))
"""Cells of a table up to which a look-up and the contraction of a cell take so many nanoseconds. Measured; the steps are
where a table leaves a cache."""
_NANOSECONDS_PER_LOOK_UP = 6.0
_NANOSECONDS_PER_PAIR = 60_000.0
_MULTIPLICATIONS_PER_NANOSECOND = 10.0
"""Of a Gram matrix by pairs of tables."""


@dataclass(frozen=True)
class _Digit:
    """A digit of a plan: part of a digit as the points are stored."""

    row: int
    stride: int
    stored_cells: int
    group: DigitGroup

    @property
    def cells(self) -> int:
        return self.group.cells

    def read(self, digits: Digits) -> Digits:
        stored: Digits = digits[self.row]
        if self.cells == self.stored_cells:
            return stored
        above: Digits = stored if self.stride == 1 else stored // stored.dtype.type(self.stride)
        if self.stride * self.cells == self.stored_cells:
            return above
        return np.asarray(above % stored.dtype.type(self.cells))


@dataclass(frozen=True, eq=False)
class _Table:
    """A joint table of some digits, and the functions that are summed by it.

    Attributes:
        digits: which digits of the plan.
        cells: number of values of each.
        factors: for each digit, the values of the factors that its columns contribute, shape (cells, factors).
        members: which functions of the plan.
        place: where each of them lies among the products of factors.
    """

    digits: tuple[int, ...]
    cells: tuple[int, ...]
    factors: tuple[Floats, ...]
    members: Integers
    place: Integers

    def contract(self, sums: Floats) -> Floats:
        """Σ over cells of the members' values times the cell's sum."""
        result = sums.reshape(self.cells)
        for factor in self.factors:
            result = np.tensordot(result, factor, axes=(0, 0))
        return np.asarray(result.reshape(-1)[self.place])

    def combine(self, coefficients: Floats) -> Floats:
        """Σ over members of coefficient times value, in every cell, flat."""
        result = np.zeros(tuple(factor.shape[1] for factor in self.factors))
        result.reshape(-1)[self.place] = coefficients
        for factor in self.factors:
            result = np.tensordot(result, factor, axes=(0, 1))
        return result.reshape(-1)


class TablePlan:
    """How sums of functions over points, and values of combinations of functions, pass through joint tables of digits.

    A function of at most D columns depends on at most D digits, so it is a function on the cells of one joint table.
    W x = Σ_i w(z_i) x_i then is: add x_i into the cell of z_i in every table, and contract each table with the values of
    its functions. Wᵀ y is: make every table of combined values, and look each point up. The work for a point is the
    number of tables, which does not depend on the number of functions.

    Args:
        layout: how points are stored.
        items: the contrasts of the columns.
        functions: sets of items, shape (N, D), ascending with zeros first.
        most_cells: of a digit of the plan.
    """

    def __init__(self, layout: DigitLayout, items: Items, functions: Integers, most_cells: int) -> None:
        self.count = len(functions)
        self.digits = _plan_digits(layout, most_cells)
        self.tables = list(_tables(items, functions, self.digits))

    def apply(self, digits: Digits, x: npt.NDArray[Any]) -> Floats:
        """Σ_i w(z_i) x_i of every function, shape (N,). In single precision within a block if x is."""
        import scipy.sparse as sp

        result = np.zeros(self.count)
        points = digits.shape[1]
        ones = np.ones(points, dtype=x.dtype)
        starts = np.arange(points + 1, dtype=np.int32)
        for table, index in self._indices(digits):
            one_hot = sp.csc_array((ones, index, starts), shape=(int(np.prod(table.cells)), points))
            result[table.members] = table.contract((one_hot @ x).astype(np.float64, copy=False))
        return result

    def adjoint(self, digits: Digits, y: Floats, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Σ_f y_f w_f(z_i) of every point, shape (b,)."""
        points = digits.shape[1]
        result = np.zeros(points, dtype=dtype)
        values = [digit.read(digits) for digit in self.digits]
        index = np.empty(min(points, _CHUNK), dtype=np.intp)
        found = np.empty(min(points, _CHUNK), dtype=dtype)
        for table in self.tables:
            combined = table.combine(y[table.members]).astype(dtype, copy=False)
            for start in range(0, points, _CHUNK):
                stop = min(start + _CHUNK, points)
                at, here = index[: stop - start], found[: stop - start]
                at[:] = values[table.digits[0]][start:stop]
                for digit, cells in zip(table.digits[1:], table.cells[1:], strict=True):
                    at *= cells
                    at += values[digit][start:stop]
                # The indices lie inside the table by construction, and "clip" spares a buffer.
                np.take(combined, at, out=here, mode="clip")
                result[start:stop] += here
        return result

    def _indices(self, digits: Digits) -> Iterator[tuple[_Table, npt.NDArray[np.int32]]]:
        """Every table with the cell of every point; tables that begin with the same digits share the work for these."""
        values = [digit.read(digits) for digit in self.digits]
        prefix: list[npt.NDArray[np.int32]] = []
        before: tuple[int, ...] = ()
        for table in self.tables:
            same = 0
            while same < min(len(before), len(table.digits)) and before[same] == table.digits[same]:
                same += 1
            del prefix[same:]
            for digit, cells in zip(table.digits[same:], table.cells[same:], strict=True):
                if prefix:
                    index = prefix[-1] * np.int32(cells)
                    index += values[digit]
                else:
                    index = values[digit].astype(np.int32)
                prefix.append(index)
            before = table.digits
            yield table, prefix[-1]


def _plan_digits(layout: DigitLayout, most_cells: int) -> list[_Digit]:
    """The stored digits, split where they have more than ``most_cells`` values and columns can be parted."""
    found = []
    for row, stored in enumerate(layout.groups):
        stride = stored.cells
        for group in _runs(stored, most_cells):
            stride //= group.cells
            found.append(_Digit(row, stride, stored.cells, group))
    return found


def _runs(stored: DigitGroup, most_cells: int) -> Iterator[DigitGroup]:
    columns: list[int] = []
    sizes: list[int] = []
    cells = 1
    for column, size in zip(stored.columns, stored.sizes, strict=True):
        if columns and cells * size > most_cells:
            yield DigitGroup(tuple(columns), tuple(sizes))
            columns, sizes, cells = [], [], 1
        columns.append(column)
        sizes.append(size)
        cells *= size
    yield DigitGroup(tuple(columns), tuple(sizes))


def plan_cost(layout: DigitLayout, width: int, most_cells: int, points: int) -> float:
    """Rough nanoseconds of one pass over ``points`` points with functions of ``width`` columns."""
    cells = [digit.cells for digit in _plan_digits(layout, most_cells)]
    chosen = min(width, len(cells))
    tables, in_all = math.comb(len(cells), chosen), symmetric_sums(cells, chosen)[chosen]
    look_up, cell = next((a, b) for most, a, b in _PRICES if in_all <= most * tables)
    return tables * points * look_up + in_all * cell


def _tables(items: Items, functions: Integers, digits: list[_Digit]) -> Iterator[_Table]:
    digit_of_column = np.full(len(items.sizes), -1)
    for at, digit in enumerate(digits):
        digit_of_column[list(digit.group.columns)] = at
    digit_of = np.where(functions > 0, digit_of_column[items.column[functions]], -1)
    width = min(functions.shape[1], len(digits))
    chosen = _complete(digit_of, len(digits), width)
    order = np.argsort(_rank(chosen, len(digits)), kind="stable")
    ranks = _rank(chosen, len(digits))[order]
    edges = np.concatenate([[0], np.flatnonzero(np.diff(ranks)) + 1, [len(ranks)]])
    for low, high in pairwise(edges):
        members = order[low:high]
        table = tuple(int(at) for at in chosen[members[0]])
        factors, shape, places = [], [], []
        for at in table:
            key = np.zeros(len(members), dtype=np.int64)
            for slot in range(functions.shape[1]):
                item = functions[members, slot]
                key = np.where(digit_of[members, slot] == at, key * items.base + item, key)
            distinct, place = np.unique(key, return_inverse=True)
            factors.append(np.stack([_factor(items, int(one), digits[at].group) for one in distinct], axis=1))
            shape.append(len(distinct))
            places.append(place)
        cells = tuple(digits[at].cells for at in table)
        yield _Table(table, cells, tuple(factors), members, np.ravel_multi_index(tuple(places), tuple(shape)))


def _complete(digit_of: Integers, count: int, width: int) -> Integers:
    """The digits that each function uses, filled up with the lowest others to ``width``; shape (N, width), ascending."""
    used = np.zeros((len(digit_of), count), dtype=bool)
    rows, slots = np.nonzero(digit_of >= 0)
    used[rows, digit_of[rows, slots]] = True
    lacking = width - used.sum(axis=1)
    free = ~used
    used |= free & (np.cumsum(free, axis=1) <= lacking[:, None])
    return np.nonzero(used)[1].reshape(len(digit_of), width)


def _rank(chosen: Integers, count: int) -> Integers:
    rank = np.zeros(len(chosen), dtype=np.int64)
    for slot in range(chosen.shape[1]):
        rank = rank * count + chosen[:, slot]
    return rank


def _factor(items: Items, key: int, group: DigitGroup) -> Floats:
    """The product of the contrasts in a key, on the values of a digit."""
    result = np.ones(group.sizes)
    while key:
        key, item = divmod(key, items.base)
        axis = group.columns.index(int(items.column[item]))
        shape = [1] * len(group.sizes)
        shape[axis] = group.sizes[axis]
        result = result * items.values(item).reshape(shape)
    return result.reshape(-1)


class PairTables:
    """W diag(scaling) Wᵀ from the sums of the scaling in the cells of every two tables of d columns, without forming W.

    A function of at most d columns is a function on the cells of one table J: w_f = Σ_c v_f(c)·1[z in c]. So the entry of f
    and g is Σ over cells c of J and e of K of v_f(c) v_g(e) times the scaling in both. The work for a point is the number of
    pairs of tables, not C²: for few tables with many cells.

    Args:
        basis: the functions.
    """

    def __init__(self, basis: ContrastBasis) -> None:
        self._count, self._sizes = basis.dimension, basis.sizes
        self._tables: list[tuple[tuple[int, ...], Integers, Floats]] = []
        """Columns of each table, the functions that are summed by it, and their values in its cells."""
        left = dict(basis.spans)
        varied = [j for j, size in enumerate(basis.sizes) if size > 1] or [0]
        for columns in combinations(varied, min(basis.degree, len(varied))):
            sizes = [basis.sizes[j] for j in columns]
            own = ContrastBasis(sizes, basis.degree)
            values = own.matrix(all_codes(sizes))
            found = [(left.pop(tuple(columns[i] for i in used), None), at) for used, at in own.spans.items()]
            members = np.concatenate([np.arange(span.start, span.stop) for span, _ in found if span is not None])
            self._tables.append((columns, members, np.concatenate([values[at] for span, at in found if span is not None])))

    def gram(self, codes: Codes, scaling: Floats) -> Floats:
        """W diag(scaling) Wᵀ, shape (C, C), for points of shape (b, number of columns) and scaling of shape (b,)."""
        result = np.empty((self._count, self._count))
        cells = [cell_numbers(codes, columns, self._sizes) for columns, _, _ in self._tables]
        for a, (_, first, left) in enumerate(self._tables):
            for b, (_, second, right) in enumerate(self._tables[a:], a):
                shape = left.shape[1], right.shape[1]
                sums = np.bincount(cells[a] * shape[1] + cells[b], weights=scaling, minlength=shape[0] * shape[1])
                entries = left @ sums.reshape(shape) @ right.T
                result[np.ix_(first, second)] = entries
                if b > a:
                    result[np.ix_(second, first)] = entries.T
        return result


def pair_cost(sizes: tuple[int, ...], degree: int, points: int) -> float:
    """Rough nanoseconds of one Gram matrix by :class:`PairTables`; measured on two cores."""
    varied = [size for size in sizes if size > 1]
    width = min(degree, len(varied))
    tables = math.comb(len(varied), width)
    cells, values = symmetric_sums(varied, width)[width], symmetric_sums([size**2 for size in varied], width)[width]
    pairs = tables * (tables + 1) / 2
    return (
        pairs * (points * _NANOSECONDS_PER_LOOK_UP + _NANOSECONDS_PER_PAIR)
        + values * cells / _MULTIPLICATIONS_PER_NANOSECOND
    )
