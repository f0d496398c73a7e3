"""The functions of an operator, evaluated and summed on packed points."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.solvers._products import Items, ProductTable
from dpsyn.solvers._tables import PairTables, TablePlan, pair_cost, plan_cost
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.points import DigitLayout, Digits

Floats = npt.NDArray[np.float64]
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
        self._plans: dict[int, TablePlan] = {}
        self._gram_plans: dict[int, TablePlan] = {}
        self._products: ProductTable | None = None
        self._pairs: PairTables | None = None
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

    def _plan(self, points: int) -> TablePlan:
        cells, _ = self._cheapest(self._sets.shape[1], points)
        with self._lock:
            if cells not in self._plans:
                self._plans[cells] = TablePlan(self.layout, self._items, self._sets, cells)
            return self._plans[cells]

    def _gram_plan(self, cells: int) -> TablePlan:
        with self._lock:
            if cells not in self._gram_plans:
                moments = self._product_table().moments
                self._gram_plans[cells] = TablePlan(self.layout, self._items, moments, cells)
            return self._gram_plans[cells]

    def _pair_tables(self) -> PairTables:
        with self._lock:
            if self._pairs is None:
                self._pairs = PairTables(self.basis)
            return self._pairs

    def _product_table(self) -> ProductTable:
        with self._lock:
            if self._products is None:
                self._products = ProductTable(self._items, self._sets)
            return self._products


@lru_cache(maxsize=4)
def product_functions(sizes: tuple[int, ...], degree: int) -> ProductFunctions:
    """The functions of this degree on a domain of these sizes, shared inside a process."""
    return ProductFunctions(sizes, degree)
