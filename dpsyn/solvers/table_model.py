"""A density h ∝ Π_j μ_j(z_j)·exp(Σ_t θ_t[z_t]) on a product domain of any size, known by its potentials on tables.

Its values up to a factor are cheap at any row, and so are its conditional laws of one column given the others: rows are
moved by Gibbs steps. Nothing here reads data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Tables, cell_offsets, cells_of_points

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True)
class Around:
    """A table seen from one of its columns: its cells as lines that run along this column.

    Attributes:
        others: the other columns.
        strides: of the other columns, and of the column itself.
        offset: where the table begins in the vector of all cells.
    """

    others: tuple[int, ...]
    strides: tuple[int, ...]
    stride: int
    offset: int

    def lines(self, codes: Codes) -> Integers:
        """The first cell of the line that each row lies on."""
        first = np.full(len(codes), self.offset, dtype=np.int64)
        for j, stride in zip(self.others, self.strides, strict=True):
            first += codes[:, j].astype(np.int64) * stride
        return first


def tables_around(sizes: Sequence[int], tables: Tables) -> list[list[Around]]:
    """For every column, the tables that it is in, seen from it."""
    found: list[list[Around]] = [[] for _ in sizes]
    for table, offset in zip(tables, cell_offsets(sizes, tables)[:-1], strict=True):
        strides = {}
        stride = 1
        for j in reversed(table):
            strides[j] = stride
            stride *= sizes[j]
        for j in table:
            others = tuple(i for i in table if i != j)
            found[j].append(Around(others, tuple(strides[i] for i in others), strides[j], int(offset)))
    return found


class TableModel:
    """The density.

    Args:
        sizes: number of codes of each column.
        tables: sets of columns.
        potential: θ, one number for each cell.
        log_base: ln μ_j for every column j.
    """

    def __init__(self, sizes: Sequence[int], tables: Tables, potential: Floats, log_base: Sequence[Floats]) -> None:
        self.sizes, self.tables = tuple(sizes), tables
        self.potential = potential
        self._log_base = [np.asarray(b, dtype=np.float32) for b in log_base]
        self._around = tables_around(sizes, tables)

    def log_density(self, codes: Codes) -> Floats:
        """ln h up to a constant, shape (rows,)."""
        found = np.zeros(len(codes))
        for j, base in enumerate(self._log_base):
            found += base[codes[:, j]]
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            found[part] += self.potential[cells_of_points(codes[part], self.sizes, self.tables)].sum(axis=1)
        return found

    def gibbs(self, codes: Codes, generator: np.random.Generator) -> Codes:
        """Every column once, in random order, drawn from its law given the others: h is left as it is."""
        moved = codes.copy()
        lines = self._lines()
        for start in range(0, len(moved), _ROWS_AT_ONCE):
            rows = moved[start : start + _ROWS_AT_ONCE]
            for j in generator.permutation(len(self.sizes)):
                logs = np.tile(self._log_base[j], (len(rows), 1))
                for around, table in zip(self._around[j], lines[j], strict=True):
                    logs += table[_line_number(around, rows, self.sizes)]
                logs -= logs.max(axis=1, keepdims=True)
                mass = np.cumsum(np.exp(logs, out=logs), axis=1)
                drawn = generator.random(len(rows), dtype=np.float32) * mass[:, -1]
                rows[:, j] = np.minimum((mass <= drawn[:, None]).sum(axis=1), self.sizes[j] - 1)
        return moved

    def _lines(self) -> list[list[npt.NDArray[np.float32]]]:
        """For every column and table around it, the potential as lines along the column, shape (lines, size)."""
        found: list[list[npt.NDArray[np.float32]]] = [[] for _ in self.sizes]
        offsets = cell_offsets(self.sizes, self.tables)
        for table, a, b in zip(self.tables, offsets[:-1], offsets[1:], strict=True):
            block = self.potential[a:b].astype(np.float32).reshape([self.sizes[j] for j in table])
            for axis, j in enumerate(table):
                found[j].append(np.ascontiguousarray(np.moveaxis(block, axis, -1)).reshape(-1, self.sizes[j]))
        return found


def _line_number(around: Around, codes: Codes, sizes: Sequence[int]) -> Integers:
    """Number of the line of each row, lines being in the order of the other columns."""
    number = np.zeros(len(codes), dtype=np.int64)
    for j in around.others:
        number = number * sizes[j] + codes[:, j]
    return number
