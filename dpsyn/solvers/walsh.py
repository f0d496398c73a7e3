"""Walsh functions w_J(x) = Π_{j∈J} x_j of degree |J| ≤ d on the cube {-1, 1}^p."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.solvers.dimension import column_sets, walsh_dimension

Signs = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]

_CHUNK_ENTRIES = 1 << 24


def walsh_matrix(points: npt.NDArray[np.integer], degree: int) -> Signs:
    """W = [w_J(θ_i)], shape (C, m), entries ±1, rows in the order of :func:`~dpsyn.solvers.dimension.column_sets`.

    Args:
        points: θ_1 … θ_m, entries ±1, shape (m, p).
        degree: d, at least 0.

    Raises:
        ParameterError: an entry is not ±1, or the degree is negative.
    """
    signs = _checked(points)
    m, p = signs.shape
    matrix = np.empty((walsh_dimension(p, degree), m), dtype=np.int8)
    columns = np.ascontiguousarray(signs.T)
    place: dict[tuple[int, ...], int] = {}
    for row, columns_of_row in enumerate(column_sets(p, degree)):
        place[columns_of_row] = row
        if columns_of_row:
            np.multiply(matrix[place[columns_of_row[:-1]]], columns[columns_of_row[-1]], out=matrix[row])
        else:
            matrix[row] = 1
    return matrix


def walsh_sums(points: npt.NDArray[np.integer], degree: int) -> Integers:
    """Σ_i w_J(x_i) for every |J| ≤ d, exact integers, shape (C,); a block of points at a time."""
    signs = _checked(points)
    dimension = walsh_dimension(signs.shape[1], degree)
    block = max(1, _CHUNK_ENTRIES // dimension)
    sums = np.zeros(dimension, dtype=np.int64)
    for start in range(0, len(signs), block):
        sums += walsh_matrix(signs[start : start + block], degree).sum(axis=1, dtype=np.int64)
    return sums


def _checked(points: npt.NDArray[np.integer]) -> Signs:
    points = np.asarray(points)
    if points.ndim != 2 or points.shape[1] < 1:
        raise ParameterError("points", f"an array of shape {points.shape}", "shape (m, p) with p >= 1")
    if not (np.abs(points) == 1).all():
        raise ParameterError("points", "an entry that is not ±1", "entries -1 and 1")
    return points.astype(np.int8, copy=False)
