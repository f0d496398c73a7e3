"""The functions of an operator, evaluated and summed on packed points.

A Gram matrix may come from moments: the mean of w_f w_g combines means of functions of twice the degree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.solvers._tables import PairTables, TablePlan, pair_cost, plan_cost
from dpsyn.solvers.contrasts import ContrastBasis, Floats, Integers, Items
from dpsyn.solvers.points import DigitLayout, Digits

Index = npt.NDArray[np.int32]
GramSums = tuple[Floats | float, Floats | float]

_CELLS_TRIED = (4, 8, 16, 32, 64, 128, 256)
_GRAM_ENTRIES = 1 << 22
"""Entries of W that are formed at a time where a Gram matrix is a product of matrices."""
_MULTIPLICATIONS_PER_NANOSECOND = 15.0
_NANOSECONDS_PER_ENTRY = 2.0
_SHARE_WORTH_CHOOSING = 0.9
"""Points of positive scaling are picked out where they are at most this share of a block."""
_NANOSECONDS_PER_PRODUCT = 50.0
"""Of the table of all products of two functions: a tenth of what it takes to make, since it is made once and used often."""
MOST_FOR_PRODUCTS = 6000
"""Functions up to which that table is kept; it takes about 17 C² bytes, and 70 C² while it is made."""


_CHUNK_PAIRS = 1 << 18


class ProductTable:
    """w_f w_g = Σ_h coefficient · w_h, for all pairs f, g of some functions.

    In one column φ_r φ_s = -√(c/(s(s+1))) φ_r for r < s, because φ_s is constant where φ_r is not 0; and φ_r² is a
    combination of 1, φ_r and the φ_t with t > r. For two codes that says φ_1² = 1: the product of the Walsh functions of
    I and J is the one of their symmetric difference.

    Args:
        items: the contrasts.
        functions: C sets of items, shape (C, D).

    Attributes:
        moments: the functions h that occur, as sets of items, shape (H, 2D).
    """

    def __init__(self, items: Items, functions: Integers) -> None:
        self._items = items
        self._functions = functions
        self._parts: list[Index | sp.csr_array]
        count = len(functions)
        chunks: list[tuple[int, Index, Integers, Floats | None]] = []
        seen: list[Integers] = []
        self._starts = [0]
        while (start := self._starts[-1]) < count:
            # Pairs f <= g, and some more: rows start … stop-1 with columns from start on.
            others = functions[start:]
            some = others[: max(1, _CHUNK_PAIRS // len(others))]
            row, sets, value = self._expand(
                np.concatenate([np.repeat(some, len(others), axis=0), np.tile(others, (len(some), 1))], axis=1)
            )
            key = items.keys(sets)
            seen.append(np.unique(key))
            chunks.append((len(some) * len(others), row.astype(np.int32), key, None if (value == 1.0).all() else value))
            self._starts.append(start + len(some))
        distinct = np.unique(np.concatenate(seen))
        self.moments = _sets(distinct, items.base, 2 * functions.shape[1])
        self._parts = []
        # Popped one by one: the keys of all pairs and the finished tables are not in memory together.
        while chunks:
            pairs, place, key, factors = chunks.pop(0)
            column = np.searchsorted(distinct, key).astype(np.int32)
            if factors is None and len(place) == pairs:
                single = np.empty(pairs, dtype=np.int32)
                single[place] = column
                self._parts.append(single)
            else:
                terms = np.ones(len(place)) if factors is None else factors
                self._parts.append(sp.coo_array((terms, (place, column)), shape=(pairs, len(distinct))).tocsr())

    def gram(self, moments: Floats) -> Floats:
        """[Σ_h coefficient · moment_h], shape (C, C)."""
        count = len(self._functions)
        result = np.empty((count, count))
        for start, stop, part in zip(self._starts[:-1], self._starts[1:], self._parts, strict=True):
            entries = moments[part] if isinstance(part, np.ndarray) else part @ moments
            rows = entries.reshape(stop - start, count - start)
            result[start:stop, start:] = rows
            result[start:, start:stop] = rows.T
        return result

    def _expand(self, pairs: Integers) -> tuple[Integers, Integers, Floats]:
        """Number of the pair, set of items and coefficient of every term."""
        items = self._items
        row = np.arange(len(pairs))
        sets = np.sort(pairs, axis=1)
        value = np.ones(len(pairs))
        for _ in range(self._functions.shape[1]):
            column = items.column[sets]
            twice = (column[:, 1:] == column[:, :-1]) & (sets[:, 1:] > 0)
            at = np.argmax(twice, axis=1)
            meets = np.flatnonzero(twice[np.arange(len(sets)), at])
            if len(meets) == 0:
                break
            low, high = sets[meets, at[meets]], sets[meets, at[meets] + 1]
            unequal = low < high
            here = meets[unequal]
            value[here] *= -self._height[high[unequal]]
            sets[here, at[here] + 1] = 0
            here, item = meets[~unequal], low[~unequal]
            starts, terms, coefficients = self._squares
            repeats = starts[item + 1] - starts[item]
            ends = np.cumsum(repeats)
            term = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[item] - ends + repeats, repeats)
            copies = np.repeat(here, repeats)
            fresh = sets[copies]
            fresh[np.arange(len(fresh)), at[copies]] = terms[term]
            fresh[np.arange(len(fresh)), at[copies] + 1] = 0
            keep = np.ones(len(sets), dtype=bool)
            keep[here] = False
            value = np.concatenate([value[keep], value[copies] * coefficients[term]])
            row = np.concatenate([row[keep], row[copies]])
            sets = np.sort(np.concatenate([sets[keep], fresh]), axis=1)
        return row, sets, value

    @cached_property
    def _height(self) -> Floats:
        """√(c/(s(s+1))) of every item φ_s: minus its value on the codes below s."""
        items = self._items
        size = np.asarray(items.sizes)[items.column]
        level = np.maximum(items.level, 1)
        return np.asarray(np.sqrt(size / (level * (level + 1))))

    @cached_property
    def _squares(self) -> tuple[Integers, Integers, Floats]:
        """φ_r² of every item as terms (item, coefficient): starts, items, coefficients."""
        items = self._items
        starts, terms, coefficients = [0, 0], [], []
        for item in range(1, items.base):
            column, level = int(items.column[item]), int(items.level[item])
            table = items.values_of_column(column)
            means = table @ table[level] ** 2 / items.sizes[column]
            means[1:level] = 0.0
            for other in np.flatnonzero(np.abs(means) > 1e-14):
                terms.append(item - level + int(other) if other else 0)
                coefficients.append(float(means[other]))
            starts.append(len(terms))
        return np.asarray(starts, dtype=np.int64), np.asarray(terms, dtype=np.int64), np.asarray(coefficients)


def _sets(keys: Integers, base: int, width: int) -> Integers:
    sets = np.empty((len(keys), width), dtype=np.int64)
    for slot in range(width - 1, -1, -1):
        keys, sets[:, slot] = np.divmod(keys, base)
    return sets


class ProductFunctions:
    """Products of contrasts of at most ``degree`` columns, in the order of ContrastBasis, on packed points.

    Made by :func:`product_functions`, one for each process: what is prepared once serves every block.

    Attributes:
        basis: the functions themselves.
        layout: how points are packed.
    """

    def __init__(self, sizes: tuple[int, ...], degree: int) -> None:
        self.basis = ContrastBasis(sizes, degree)
        self.layout = DigitLayout(sizes)
        self._items = Items(sizes)
        self._sets = self._items.of(self.basis)
        self._prepared: dict[object, Any] = {}
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Callable[..., ProductFunctions], tuple[tuple[int, ...], int]]:
        return product_functions, (self.basis.sizes, self.basis.degree)

    @property
    def dimension(self) -> int:
        """C."""
        return self.basis.dimension

    def apply(self, digits: Digits, x: npt.NDArray[Any]) -> Floats:
        """W x, shape (C,)."""
        return self._plan(digits.shape[1]).apply(digits, x)

    def adjoint(self, digits: Digits, y: Floats, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Wᵀ y, shape (b,)."""
        return self._plan(digits.shape[1]).adjoint(digits, y, dtype)

    def matrix(self, digits: Digits) -> Floats:
        """W on the points, shape (C, b)."""
        return self.basis.matrix(self.layout.decode(digits))

    def gram(self, digits: Digits, scaling: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64) -> Floats:
        """W diag(scaling) Wᵀ, shape (C, C)."""
        return self.gram_of(self.gram_sums(digits, scaling, dtype))

    def gram_sums(self, digits: Digits, scaling: npt.NDArray[Any], dtype: npt.DTypeLike = np.float64) -> GramSums:
        """What W diag(scaling) Wᵀ follows from, to be added over blocks: a matrix, and moments of all products of functions.

        Each block adds to one of the two, whichever is less work; moments are also far fewer than C² numbers to send.
        """
        used = np.flatnonzero(scaling)
        if len(used) < _SHARE_WORTH_CHOOSING * len(scaling):
            digits, scaling = digits[:, used], scaling[used]
        points = digits.shape[1]
        if points == 0:
            return 0.0, 0.0
        width = 2 * self._sets.shape[1]
        cells, by_moments = self._cheapest(width, points)
        by_moments += _NANOSECONDS_PER_PRODUCT * self.dimension**2
        by_matrices = points * self.dimension * (_NANOSECONDS_PER_ENTRY + self.dimension / _MULTIPLICATIONS_PER_NANOSECOND)
        if by_matrices < by_moments or self.dimension > MOST_FOR_PRODUCTS or not self._items.fits(width):
            if self.dimension > MOST_FOR_PRODUCTS and pair_cost(self.basis.sizes, self.basis.degree, points) < by_matrices:
                return self._pair_tables().gram(self.layout.decode(digits), scaling), 0.0
            return self._gram_by_matrices(digits, scaling, dtype), 0.0
        return 0.0, self._gram_plan(cells).apply(digits, scaling.astype(dtype, copy=False))

    def gram_of(self, sums: GramSums) -> Floats:
        """The Gram matrix of :meth:`gram_sums`, or of several of them added up."""
        matrix, moments = sums
        result = (
            np.zeros((self.dimension, self.dimension)) if isinstance(moments, float) else self._product_table().gram(moments)
        )
        result += matrix
        return result

    def _gram_by_matrices(self, digits: Digits, scaling: npt.NDArray[Any], dtype: npt.DTypeLike) -> Floats:
        result = np.zeros((self.dimension, self.dimension))
        step = max(1, _GRAM_ENTRIES // self.dimension)
        for start in range(0, digits.shape[1], step):
            at = slice(start, start + step)
            root = (self.matrix(digits[:, at]) * np.sqrt(scaling[at])).astype(dtype, copy=False)
            result += root @ root.T
        return result

    def _cheapest(self, width: int, points: int) -> tuple[int, float]:
        # Powers of two, so that blocks of nearly equal length share a plan.
        points = 1 << max(0, points - 1).bit_length()
        costs = {cells: plan_cost(self.layout, width, cells, points) for cells in _CELLS_TRIED}
        best = min(costs, key=lambda cells: costs[cells])
        return best, costs[best]

    def _once(self, key: object, make: Callable[[], Any]) -> Any:
        """What is prepared once, under a lock: a thread that comes second waits."""
        with self._lock:
            if key not in self._prepared:
                self._prepared[key] = make()
            return self._prepared[key]

    def _plan(self, points: int) -> TablePlan:
        cells, _ = self._cheapest(self._sets.shape[1], points)
        plan: TablePlan = self._once(cells, lambda: TablePlan(self.layout, self._items, self._sets, cells))
        return plan

    def _gram_plan(self, cells: int) -> TablePlan:
        moments = self._product_table().moments
        plan: TablePlan = self._once(("gram", cells), lambda: TablePlan(self.layout, self._items, moments, cells))
        return plan

    def _product_table(self) -> ProductTable:
        table: ProductTable = self._once("products", lambda: ProductTable(self._items, self._sets))
        return table

    def _pair_tables(self) -> PairTables:
        tables: PairTables = self._once("pairs", lambda: PairTables(self.basis))
        return tables


@lru_cache(maxsize=4)
def product_functions(sizes: tuple[int, ...], degree: int) -> ProductFunctions:
    """The functions of this degree on a domain of these sizes, shared inside a process."""
    return ProductFunctions(sizes, degree)
