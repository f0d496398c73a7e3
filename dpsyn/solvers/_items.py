"""Functions written as sets of items: item = one contrast of one column, function = product of at most D items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpsyn.solvers.contrasts import ContrastBasis, contrasts

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Items:
    """The contrasts φ_1 … φ_(c-1) of all columns, numbered from 1 column by column; 0 stands for the constant.

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
        start = 0
        while start < basis.dimension:
            columns = basis.index[start]
            shape = tuple(self.sizes[j] - 1 for j in columns)
            count = int(np.prod(shape, dtype=np.int64))
            if columns:
                levels = np.indices(shape).reshape(len(columns), -1).T
                result[start : start + count, -len(columns) :] = levels + first[list(columns)]
            start += count
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
