"""Densities h ∝ μ·exp(Σ_f θ_f f) on a space of points, when the functions are cells of contingency tables or a dense matrix.

A space turns a potential (one number for each cell) into a density and a density into expected cells. On a whole product
domain with tables of one and two columns, points are never listed: the domain is cut into two halves, and both directions
are matrix products with the one-hot codes of the halves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Tables, cell_offsets, cells_of_points

Floats = npt.NDArray[np.float64]
DensityArray = npt.NDArray[np.floating[Any]]


class Space(Protocol):
    """Points with a base measure μ, and functions on them.

    Attributes:
        points: m.
    """

    points: int

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """h ∝ μ·exp(Σ_c potential_c·c(z)), summing to 1, shape (m,); and ln Σ μ·exp(…), where Σ μ = 1."""
        ...

    def expected(self, density: DensityArray) -> Floats:
        """Σ_z h(z) c(z) for every cell c."""
        ...

    def values(self, potential: Floats) -> DensityArray:
        """Σ_c potential_c·c(z) at every point, shape (m,): the adjoint of :meth:`expected`."""
        ...


class PointTables:
    """Points given by their codes; cells of tables over any number of columns.

    Args:
        codes: shape (m, columns).
        sizes: number of codes of each column.
        tables: sets of columns.
        base: μ, positive, shape (m,); uniform by default.
    """

    def __init__(self, codes: Codes, sizes: Sequence[int], tables: Tables, base: Floats | None = None) -> None:
        cells = cells_of_points(codes, sizes, tables)
        self.codes = codes
        self.points = len(codes)
        starts = np.arange(self.points + 1, dtype=np.int64) * len(tables)
        ones = np.ones(cells.size, dtype=np.float32)
        shape = (self.points, int(cell_offsets(sizes, tables)[-1]))
        self._by_point = sp.csr_array((ones, cells.ravel(), starts), shape=shape)
        self._by_cell = self._by_point.T
        self._log_base = np.log(base / base.sum()) if base is not None else np.full(self.points, -math.log(self.points))

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """See :class:`Space`."""
        return _normalised(self.values(potential) + self._log_base)

    def values(self, potential: Floats) -> DensityArray:
        """See :class:`Space`."""
        return np.asarray(self._by_point @ potential.astype(np.float32))

    def expected(self, density: DensityArray) -> Floats:
        """See :class:`Space`."""
        return np.asarray(self._by_cell @ density.astype(np.float32), dtype=np.float64)


class DenseFunctions:
    """Points given by the values of every function, shape (functions, m); dense, in double precision."""

    def __init__(self, matrix: Any, base: Floats | None = None) -> None:
        self._matrix = np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), dtype=np.float64)
        self.points = matrix.shape[1]
        self._log_base = np.log(base / base.sum()) if base is not None else np.full(self.points, -math.log(self.points))

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """See :class:`Space`."""
        return _normalised(self.values(potential) + self._log_base)

    def values(self, potential: Floats) -> DensityArray:
        """See :class:`Space`."""
        return np.asarray(self._matrix.T @ potential)

    def covariance(self, density: DensityArray) -> Floats:
        """Cov_h(f, g) for all pairs of functions, shape (F, F): what Newton's method needs."""
        mean = self._matrix @ density
        return np.asarray((self._matrix * density) @ self._matrix.T - np.outer(mean, mean))

    def expected(self, density: DensityArray) -> Floats:
        """See :class:`Space`."""
        return np.asarray(self._matrix @ density, dtype=np.float64)


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
        """See :class:`Space`."""
        logs = self._logs(potential, self._bias)
        peak = float(logs.max())
        logs -= peak
        np.exp(logs, out=logs)
        total = float(logs.sum(dtype=np.float64))
        logs *= 1 / total
        return logs, peak + math.log(total) - self._log_total

    def values(self, potential: Floats) -> DensityArray:
        """See :class:`Space`."""
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
        """See :class:`Space`."""
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


def _normalised(logs: npt.NDArray[np.floating[Any]]) -> tuple[DensityArray, float]:
    peak = float(logs.max())
    mass = np.exp(logs - peak)
    total = float(mass.sum(dtype=np.float64))
    return mass / total, peak + math.log(total)


class Combined:
    """A space whose functions are combinations of cells, f = Σ_c M_fc c, as Walsh functions and conjunctions are."""

    def __init__(self, space: Space, combination: sp.csr_array) -> None:
        self.points = space.points
        self.over_cells = space
        self._space, self._combination, self._back = space, combination, combination.T.tocsr()

    def density(self, potential: Floats) -> tuple[DensityArray, float]:
        """See :class:`Space`."""
        return self._space.density(self._back @ potential)

    def expected(self, density: DensityArray) -> Floats:
        """See :class:`Space`."""
        return np.asarray(self._combination @ self._space.expected(density), dtype=np.float64)

    def values(self, potential: Floats) -> DensityArray:
        """See :class:`Space`."""
        return self._space.values(self._back @ potential)
