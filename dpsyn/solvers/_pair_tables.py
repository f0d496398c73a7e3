"""Gram matrices of few tables with many cells: from the joint counts of every two tables, without forming W."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers._items import Floats
from dpsyn.solvers.contrasts import ContrastBasis, contrasts

Index = npt.NDArray[np.int64]

_NANOSECONDS_PER_LOOK_UP = 6.0
_NANOSECONDS_PER_PAIR = 60_000.0
_MULTIPLICATIONS_PER_NANOSECOND = 10.0


@dataclass(frozen=True, eq=False)
class _Table:
    """The cells of one set of columns, and the functions that are summed by it.

    Attributes:
        columns: as many as a function may use.
        sizes: number of codes of each.
        members: numbers of the functions; every function belongs to one table.
        values: of the members in every cell, shape (members, cells).
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    members: Index
    values: Floats

    def cells(self, codes: Codes) -> Index:
        """The cell of every point."""
        found = np.zeros(len(codes), dtype=np.int64)
        for column, size in zip(self.columns, self.sizes, strict=True):
            found *= size
            found += codes[:, column]
        return found


class PairTables:
    """W diag(scaling) Wᵀ from the sums of the scaling in the cells of every two tables of d columns.

    A function of at most d columns is a function on the cells of one table J: w_f = Σ_c v_f(c)·1[z in c]. So the entry of f
    and g is Σ over cells c of J and e of K of v_f(c) v_g(e) times the scaling in both. The work for a point is the number of
    pairs of tables, not C².

    Args:
        basis: the functions.
    """

    def __init__(self, basis: ContrastBasis) -> None:
        self._count = basis.dimension
        sizes = basis.sizes
        owned: dict[tuple[int, ...], list[tuple[Index, Index]]] = {one: [] for one in table_columns(sizes, basis.degree)}
        for columns, start, stop in basis.spans():
            owner = next(one for one in owned if set(columns) <= set(one))
            levels = [np.arange(1, sizes[j]) if j in columns else np.zeros(1, dtype=np.int64) for j in owner]
            grid = np.meshgrid(*levels, indexing="ij")
            place = (
                np.ravel_multi_index(tuple(grid), tuple(sizes[j] for j in owner)) if owner else np.zeros(1, dtype=np.int64)
            )
            owned[owner].append((np.arange(start, stop), np.ravel(place)))
        self._tables = []
        for columns, parts in owned.items():
            own = tuple(sizes[j] for j in columns)
            every: Floats = np.ones((1, 1))
            for size in own:
                every = np.kron(every, contrasts(size)).astype(np.float64)
            places = np.concatenate([place for _, place in parts])
            self._tables.append(_Table(columns, own, np.concatenate([members for members, _ in parts]), every[places]))

    def gram(self, codes: Codes, scaling: Floats) -> Floats:
        """W diag(scaling) Wᵀ, shape (C, C), for points of shape (b, number of columns) and scaling of shape (b,)."""
        result = np.empty((self._count, self._count))
        cells = [table.cells(codes) for table in self._tables]
        for a, first in enumerate(self._tables):
            for b in range(a, len(self._tables)):
                second = self._tables[b]
                shape = first.values.shape[1], second.values.shape[1]
                sums = np.bincount(cells[a] * shape[1] + cells[b], weights=scaling, minlength=shape[0] * shape[1])
                entries = first.values @ sums.reshape(shape) @ second.values.T
                result[np.ix_(first.members, second.members)] = entries
                if b > a:
                    result[np.ix_(second.members, first.members)] = entries.T
        return result


def table_columns(sizes: tuple[int, ...], degree: int) -> list[tuple[int, ...]]:
    """The largest sets of columns that functions use."""
    varied = [j for j, size in enumerate(sizes) if size > 1]
    return list(combinations(varied, min(degree, len(varied))))


def pair_cost(sizes: tuple[int, ...], degree: int, points: int) -> float:
    """Rough nanoseconds of one Gram matrix; measured on two cores."""
    varied = [size for size in sizes if size > 1]
    width = min(degree, len(varied))
    tables = math.comb(len(varied), width)
    # Elementary symmetric sums of the sizes and of their squares: all cells, and all values.
    cells, values = ([1.0] + [0.0] * width for _ in range(2))
    for size in varied:
        for j in range(width, 0, -1):
            cells[j] += cells[j - 1] * size
            values[j] += values[j - 1] * size**2
    pairs = tables * (tables + 1) / 2
    products = values[width] * cells[width]
    return pairs * (points * _NANOSECONDS_PER_LOOK_UP + _NANOSECONDS_PER_PAIR) + products / _MULTIPLICATIONS_PER_NANOSECOND
