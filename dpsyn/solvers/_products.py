"""Products of contrasts as sets of items, and products of two of them as combinations of further ones.

That is how a Gram matrix follows from moments: the mean of w_f w_g combines those of functions of twice the degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.solvers.contrasts import ContrastBasis, contrasts

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int32]

_CHUNK_PAIRS = 1 << 18


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
