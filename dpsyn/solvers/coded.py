"""Rows as codes, to be counted: what mechanisms on categories ask of them, wherever the rows lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Integers, cell_numbers


class Rows(Protocol):
    """Rows of codes, in memory or in an engine that counts them where they lie.

    Attributes:
        sizes: number of codes of each column.
    """

    @property
    def sizes(self) -> tuple[int, ...]: ...

    @property
    def n(self) -> int:
        """How many there are."""
        ...

    @property
    def codes(self) -> Codes:
        """All of them, shape (n, columns); an engine is asked for every row, and refuses what memory does not hold."""
        ...

    def expect(self, tables: Iterable[Sequence[int]]) -> None:
        """Say which tables will be asked for, so that they may be counted in one reading."""
        ...

    def counts(self, columns: Sequence[int]) -> Integers:
        """Rows in every cell of the table over some columns, exact; the last column runs fastest. Shape (cells,)."""
        ...

    def cells(self, columns: Sequence[int]) -> tuple[tuple[Codes, ...], Integers | None]:
        """Cells of the same table that hold all rows: their codes, one array a column, and the rows in each; None where each
        is one row. A cell may come twice."""
        ...

    def different(self) -> tuple[Codes, Integers]:
        """The different rows in lexicographic order, and how often each is there."""
        ...


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows in memory; see :class:`Rows`.

    Attributes:
        codes: shape (n, columns).
        sizes: number of codes of each column.
    """

    codes: Codes
    sizes: tuple[int, ...]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.codes)

    def expect(self, tables: Iterable[Sequence[int]]) -> None:
        """Nothing to prepare."""

    def counts(self, columns: Sequence[int]) -> Integers:
        """See :class:`Rows`."""
        return table_counts(self.codes, columns, self.sizes)

    def cells(self, columns: Sequence[int]) -> tuple[tuple[Codes, ...], None]:
        """See :class:`Rows`."""
        return tuple(self.codes[:, j] for j in columns), None

    def different(self) -> tuple[Codes, Integers]:
        """See :class:`Rows`."""
        found, counts = np.unique(self.codes, axis=0, return_counts=True)
        return found.astype(np.int32), counts.astype(np.int64)


def table_counts(codes: Codes, columns: Sequence[int], sizes: Sequence[int]) -> Integers:
    """Rows in every cell of the table over some columns, exact; the last column runs fastest. Shape (cells,)."""
    cells = math.prod(sizes[j] for j in columns)
    return np.bincount(cell_numbers(codes, columns, sizes), minlength=cells).astype(np.int64)
