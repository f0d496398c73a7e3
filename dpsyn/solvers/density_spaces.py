"""Densities h ∝ μ·exp(Σ_f θ_f f) on a space of points, when the functions are cells of contingency tables or a dense matrix.

A space turns a potential (one number for each cell) into a density and a density into expected cells. On a whole product
domain with tables of one and two columns, points are never listed: the domain is cut into two halves, and both directions
are matrix products with the one-hot codes of the halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.solvers.contingency import Integers, Tables, cell_offsets, cells_of_points
from dpsyn.solvers.executors import ThreadExecutor, available_processors

Floats = npt.NDArray[np.float64]
_ROWS_AT_ONCE = 16_384
_POINTS_FOR_PARTS, _PARTS = 8_000, 4
"""Points from which their matrix is in parts, for threads; so many parts on every machine, for the same sums."""

DensityArray = npt.NDArray[np.floating[Any]]


def checked_statistics(target: npt.ArrayLike, spread: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Noisy statistics y and the standard deviations s of their noise as arrays of shape (F,).

    Raises:
        ParameterError: the shapes differ, a number is not finite, or a spread is not positive.
    """
    target, spread = np.asarray(target, dtype=np.float64), np.asarray(spread, dtype=np.float64)
    if target.ndim != 1 or spread.shape != target.shape or not np.isfinite(target).all():
        raise ParameterError("target", f"shape {target.shape}", "finite numbers, one spread for each")
    if not (np.isfinite(spread).all() and (spread > 0).all()):
        raise ParameterError("spread", float(spread.min()), "finite numbers > 0")
    return target, spread


class ListedSpace:
    """Points with a base measure μ, one by one: the values of every function on them as a matrix, in parts.

    Attributes:
        points: m.
    """

    def __init__(self, parts: Sequence[Any], base: Floats | None, dtype: Any) -> None:
        """Of ``parts`` each has the values of all functions at its points, shape (points, functions)."""
        self._parts, self._dtype = parts, dtype
        # The caller and threads that are kept share the parts: they are asked thousands of times, for a millisecond each.
        self._threads = min(len(parts), available_processors())
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        self._edges = np.cumsum([0, *(part.shape[0] for part in parts)])
        self.points = int(self._edges[-1])
        self._log_base = np.log(base / base.sum()) if base is not None else np.full(self.points, -math.log(self.points))

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """h ∝ μ·exp(Σ_c potential_c·c(z)), summing to 1, shape (m,); and ln Σ μ·exp(…), where Σ μ = 1."""
        logs = self.values(potential) + self._log_base
        peak = float(logs.max())
        mass = np.exp(logs - peak)
        total = float(mass.sum(dtype=np.float64))
        return mass / total, peak + math.log(total)

    def values(self, potential: Floats) -> DensityArray:
        """Σ_c potential_c·c(z) at every point, shape (m,): the adjoint of :meth:`expected`."""
        single = potential.astype(self._dtype)
        return np.concatenate(self._of_parts(lambda part: part @ single))

    def expected(self, density: DensityArray) -> Floats:
        """Σ_z h(z) c(z) for every cell c."""
        single = density.astype(self._dtype)
        pieces = [single[start:stop] for start, stop in pairwise(self._edges)]
        found = self._of_parts(lambda part, piece: part.T @ piece, pieces)
        return np.asarray(np.sum([np.asarray(each, dtype=np.float64) for each in found], axis=0))

    def _of_parts(self, function: Callable[..., Any], *lists: Sequence[Any]) -> list[Any]:
        def share(start: int, stop: int) -> list[Any]:
            return [
                function(*arguments) for arguments in zip(*(each[start:stop] for each in (self._parts, *lists)), strict=True)
            ]

        count = len(self._parts)
        if self._pool is None:
            return share(0, count)
        mine, *others = pairwise(count * k // self._threads for k in range(self._threads + 1))
        waiting = [self._pool.submit(share, *ends) for ends in others]
        return [*share(*mine), *(one for future in waiting for one in future.result())]


class PointTables(ListedSpace):
    """Points given by their codes; cells of tables over any number of columns, in single precision.

    Args:
        codes: shape (m, columns).
        sizes: number of codes of each column.
        tables: sets of columns.
        base: μ, positive, shape (m,); uniform by default.
    """

    def __init__(self, codes: Codes, sizes: Sequence[int], tables: Tables, base: Floats | None = None) -> None:
        self.codes = codes
        width = int(cell_offsets(sizes, tables)[-1])

        def values(some: Codes) -> sp.csr_array:
            cells = cells_of_points(some, sizes, tables)
            # Starts of 64 bits would make the cells so, too: a third more to read at every step.
            starts = np.arange(len(some) + 1, dtype=np.int64) * len(tables)
            starts = starts.astype(np.int32 if cells.size < 2**31 else np.int64)
            return sp.csr_array((np.ones(cells.size, dtype=np.float32), cells.ravel(), starts), shape=(len(some), width))

        parts = np.array_split(codes, _PARTS) if len(codes) >= _POINTS_FOR_PARTS else [codes]
        super().__init__(list(ThreadExecutor().run(values, parts)), base, np.float32)


class DenseFunctions(ListedSpace):
    """Points given by the values of every function, shape (functions, m); dense, in double precision."""

    def __init__(self, matrix: Any, base: Floats | None = None) -> None:
        self._matrix = np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), dtype=np.float64)
        super().__init__([self._matrix.T], base, np.float64)

    def covariance(self, density: DensityArray) -> Floats:
        """Cov_h(f, g) for all pairs of functions, shape (F, F): what Newton's method needs."""
        mean = self._matrix @ density
        return np.asarray((self._matrix * density) @ self._matrix.T - np.outer(mean, mean))


class SparseFunctions(ListedSpace):
    """Points given by the values of every function, most of them 0: shape (functions, m), sparse, in double precision."""

    def __init__(self, matrix: sp.csr_array, base: Floats | None = None) -> None:
        self._matrix = matrix
        super().__init__([matrix.T.tocsr()], base, np.float64)

    def covariance(self, density: DensityArray) -> Floats:
        """See :class:`DenseFunctions`."""
        mean = self._matrix @ density
        return np.asarray((self._matrix.multiply(density) @ self._matrix.T).toarray() - np.outer(mean, mean))


class WholeDomain:
    """Every point of a product domain, in lexicographic order; tables of one and two columns.

    Args:
        sizes: number of codes of each column.
        tables: sets of one or two columns.
        log_base: ln μ up to a constant as a sum over columns: one number for each code of each column; uniform by default.
        dtype: float32 is fast, float64 exact to rounding.
    """

    def __init__(
        self, sizes: Sequence[int], tables: Tables, log_base: Sequence[Floats] | None = None, dtype: Any = np.float32
    ) -> None:
        self.sizes, self.tables = tuple(sizes), [tuple(table) for table in tables]
        self.points = math.prod(self.sizes)
        self._offsets = cell_offsets(self.sizes, self.tables)
        self._at = np.concatenate([[0], np.cumsum(self.sizes)])
        cut = min(range(len(self.sizes) + 1), key=lambda k: math.prod(self.sizes[:k]) + math.prod(self.sizes[k:]))
        self._cut = int(self._at[cut])
        self._dtype = dtype
        self._left, self._right = _one_hot(self.sizes[:cut], dtype), _one_hot(self.sizes[cut:], dtype)
        bias = np.concatenate(log_base) if log_base is not None else np.zeros(int(self._at[-1]))
        self._bias = bias
        self._log_total = sum(math.log(np.exp(b).sum()) for b in log_base) if log_base is not None else math.log(self.points)

    def _matrices(self, potential: Floats) -> tuple[Floats, Floats]:
        single, pair = np.zeros(int(self._at[-1])), np.zeros((int(self._at[-1]),) * 2)
        for table, a, b in zip(self.tables, self._offsets[:-1], self._offsets[1:], strict=True):
            if len(table) == 1:
                single[self._at[table[0]] : self._at[table[0] + 1]] += potential[a:b]
                continue
            i, j = table
            block = potential[a:b].reshape(self.sizes[i], self.sizes[j])
            if i > j:
                i, j, block = j, i, block.T
            pair[self._at[i] : self._at[i + 1], self._at[j] : self._at[j + 1]] += block
        return single, pair

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """See :class:`ListedSpace`."""
        logs = self._logs(potential, self._bias)
        peak = float(logs.max())
        logs -= peak
        np.exp(logs, out=logs)
        total = float(logs.sum(dtype=np.float64))
        logs *= 1 / total
        return logs, peak + math.log(total) - self._log_total

    def values(self, potential: Floats) -> DensityArray:
        """See :class:`ListedSpace`."""
        return self._logs(potential, np.zeros_like(self._bias))

    def _logs(self, potential: Floats, bias: Floats) -> DensityArray:
        cut, (single, pair) = self._cut, self._matrices(potential)
        single, pair = (single + bias).astype(self._dtype), pair.astype(self._dtype)
        left, right = self._left, self._right
        ahead = ((left @ pair[:cut, :cut]) * left).sum(axis=1) + left @ single[:cut]
        behind = ((right @ pair[cut:, cut:]) * right).sum(axis=1) + right @ single[cut:]
        logs = left @ (pair[:cut, cut:] @ right.T)
        logs += ahead[:, None]
        logs += behind[None, :]
        return np.asarray(logs.ravel())

    def expected(self, density: DensityArray) -> Floats:
        """See :class:`ListedSpace`."""
        left, right, cut = self._left, self._right, self._cut
        mass = density.reshape(len(left), len(right))
        pair = np.zeros((int(self._at[-1]),) * 2)
        ahead, behind = mass.sum(axis=1, dtype=np.float64), mass.sum(axis=0, dtype=np.float64)
        pair[:cut, cut:] = left.T @ (mass @ right)
        pair[:cut, :cut] = left.T @ (ahead.astype(self._dtype)[:, None] * left)
        pair[cut:, cut:] = right.T @ (behind.astype(self._dtype)[:, None] * right)
        found = np.empty(int(self._offsets[-1]))
        for table, a, b in zip(self.tables, self._offsets[:-1], self._offsets[1:], strict=True):
            if len(table) == 1:
                inside = slice(self._at[table[0]], self._at[table[0] + 1])
                found[a:b] = np.diagonal(pair)[inside]
                continue
            i, j = sorted(table)
            block = pair[self._at[i] : self._at[i + 1], self._at[j] : self._at[j + 1]]
            found[a:b] = (block if table == (i, j) else block.T).ravel()
        return found


def _one_hot(sizes: Sequence[int], dtype: Any) -> npt.NDArray[Any]:
    points = math.prod(sizes)
    found = np.zeros((points, sum(sizes)), dtype=dtype)
    at, after = 0, points
    for size in sizes:
        after //= size
        found[np.arange(points), at + np.arange(points) // after % size] = 1
        at += size
    return found


class Combined:
    """A space whose functions are combinations of cells, f = Σ_c M_fc c, as Walsh functions and conjunctions are."""

    def __init__(self, space: Space, combination: sp.csr_array) -> None:
        self.points: int = space.points
        self.over_cells = space
        self._space, self._combination, self._back = space, combination, combination.T.tocsr()

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """See :class:`ListedSpace`."""
        return self._space.density(self._back @ potential)

    def expected(self, density: DensityArray) -> Floats:
        """See :class:`ListedSpace`."""
        return np.asarray(self._combination @ self._space.expected(density), dtype=np.float64)

    def values(self, potential: Floats) -> DensityArray:
        """See :class:`ListedSpace`."""
        return self._space.values(self._back @ potential)


Space = PointTables | DenseFunctions | SparseFunctions | WholeDomain | Combined
"""Points with a base measure, and functions on them: densities from potentials, expectations from densities."""


class Densities(Protocol):
    """What maximum entropy asks of a space; what its densities are made of is the space's own affair."""

    points: int

    def density(self, potential: Floats) -> tuple[DensityArray, float]: ...

    def expected(self, density: DensityArray) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Lines:
    """The tables that a column is in, seen from it: their cells as lines that run along the column.

    Attributes:
        others: the other columns of each table, shape (tables, w); narrower tables are filled up with column 0.
        strides: what their codes count in the number of a line, 0 where filled up; shape (tables, w).
        offsets: number of the first line of each table, shape (tables,).
        cells: the cells of each line, shape (lines, codes of the column).
    """

    others: Integers
    strides: Integers
    offsets: Integers
    cells: Integers

    def numbers(self, codes: Codes) -> Integers:
        """The lines that each row lies on, shape (rows, tables)."""
        found = np.repeat(self.offsets[None, :], len(codes), axis=0)
        for columns, strides in zip(self.others.T, self.strides.T, strict=True):
            found += codes[:, columns] * strides
        return found

    def summed(self, along: npt.NDArray[Any], codes: Codes) -> npt.NDArray[Any]:
        """What a row has of some function of the cells with each code of the column, if its other columns stay as they are.

        Args:
            along: the function on every line, shape (lines, codes of the column): ``function[lines.cells]``.
            codes: shape (rows, columns).

        Returns:
            Sums over the tables, shape (rows, codes of the column).
        """
        numbers = self.numbers(codes)
        starts = np.arange(len(numbers) + 1, dtype=np.int64) * numbers.shape[1]
        on_lines = sp.csr_array((np.ones(numbers.size, along.dtype), numbers.ravel(), starts), (len(numbers), len(along)))
        return np.asarray(on_lines @ along)


def lines_of(sizes: Sequence[int], tables: Tables) -> list[Lines]:
    """For every column, the tables that it is in, seen from it."""
    offsets = cell_offsets(sizes, tables)
    around: list[list[tuple[tuple[int, ...], Integers]]] = [[] for _ in sizes]
    for table, a, b in zip(tables, offsets[:-1], offsets[1:], strict=True):
        cells = np.arange(a, b).reshape([sizes[j] for j in table])
        for axis, j in enumerate(table):
            others = tuple(i for i in table if i != j)
            around[j].append((others, np.moveaxis(cells, axis, -1).reshape(-1, sizes[j])))
    return [_lines(sizes, sizes[j], mine) for j, mine in enumerate(around)]


def _lines(sizes: Sequence[int], size: int, mine: list[tuple[tuple[int, ...], Integers]]) -> Lines:
    width = max((len(others) for others, _ in mine), default=0)
    columns, strides = np.zeros((2, len(mine), width), dtype=np.int64)
    for at, (others, _) in enumerate(mine):
        columns[at, : len(others)] = others
        strides[at, : len(others)] = [math.prod(sizes[i] for i in others[k + 1 :]) for k in range(len(others))]
    cells = [each for _, each in mine]
    offsets = np.cumsum([0, *map(len, cells)])[:-1]
    return Lines(columns, strides, offsets, np.concatenate([*cells, np.zeros((0, size), dtype=np.int64)]))


class TableModel:
    """A density h ∝ Π_j μ_j(z_j)·exp(Σ_t θ_t[z_t]) on a product domain of any size, known by its potentials on tables.

    Its values up to a factor are cheap at any row, and so are its conditional laws of one column given the others: rows are
    moved by Gibbs steps. Nothing here reads data.

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
        self._lines = lines_of(sizes, tables)
        self._along = [potential[lines.cells].astype(np.float32) for lines in self._lines]

    def log_density(self, codes: Codes) -> Floats:
        """ln h up to a constant, shape (rows,)."""
        found = np.zeros(len(codes))
        for j, base in enumerate(self._log_base):
            found += base[codes[:, j]]
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            found[part] += self.potential[cells_of_points(codes[part], self.sizes, self.tables)].sum(axis=1)
        return found

    def log_conditional(self, codes: Codes, j: int) -> npt.NDArray[np.float32]:
        """ln h with each code of column j in place of the row's own, up to a constant of the row, shape (rows, size)."""
        return np.asarray(self._lines[j].summed(self._along[j], codes) + self._log_base[j])

    def gibbs(self, codes: Codes, generator: np.random.Generator) -> Codes:
        """Every column once, in random order, drawn from its law given the others: h is left as it is."""
        moved = codes.copy()
        for start in range(0, len(moved), _ROWS_AT_ONCE):
            rows = moved[start : start + _ROWS_AT_ONCE]
            for j in generator.permutation(len(self.sizes)):
                logs = self.log_conditional(rows, j)
                logs -= logs.max(axis=1, keepdims=True)
                mass = np.cumsum(np.exp(logs, out=logs), axis=1)
                drawn = generator.random(len(rows), dtype=np.float32) * mass[:, -1]
                rows[:, j] = np.minimum((mass <= drawn[:, None]).sum(axis=1), self.sizes[j] - 1)
        return moved
