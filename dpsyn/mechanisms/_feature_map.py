"""Rows as points of the unit ball, by public facts only, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.table import Table
from dpsyn.domain import Attribute, Domain

Floats = npt.NDArray[np.float64]


def simplex(size: int) -> Floats:
    """Vertices of a regular simplex on the unit sphere around 0, shape (size, size - 1). Two of them are -1 and 1.

    They are the centred one-hot vectors, scaled to length 1, in an orthonormal basis of the hyperplane that they span
    (Helmert's), so that no noise is spent on the direction in which they agree.
    """
    basis = np.zeros((size, size - 1))
    for j in range(1, size):
        basis[:j, j - 1] = -1.0
        basis[j, j - 1] = j
        basis[:, j - 1] /= math.sqrt(j * (j + 1))
    return basis * math.sqrt(size / max(size - 1, 1))


@dataclass(frozen=True)
class FeatureMap:
    """The map from rows to points x with ‖x‖ ≤ 1 and, approximately, back.

    A number or date becomes a coordinate in [-1, 1] between its public bounds (0 if missing), a truth value -1 or 1, a
    category a vertex of a regular simplex; every column is a block of length at most 1, and the blocks are divided by the
    square root of their number.

    Args:
        domain: the columns to map.
    """

    domain: Domain

    @cached_property
    def _blocks(self) -> list[tuple[Attribute, int, Floats]]:
        """Attribute, number of coordinates, and the vertices of a column that holds single values."""
        blocks = []
        for attribute in self.domain.attributes:
            vertices = np.zeros((0, 0)) if attribute.is_binned else simplex(attribute.size)
            blocks.append((attribute, 1 if attribute.is_binned else attribute.size - 1, vertices))
        return blocks

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return sum(width for _, width, _ in self._blocks)

    @property
    def _length(self) -> float:
        return math.sqrt(max(1, sum(width > 0 for _, width, _ in self._blocks)))

    def encode(self, table: Table) -> Floats:
        """Points of the rows, shape (n, dimension), each of Euclidean norm at most 1."""
        points = np.zeros((table.n, self.dimension))
        start = 0
        for attribute, width, vertices in self._blocks:
            block = points[:, start : start + width]
            if attribute.is_binned:
                block[:, 0] = np.nan_to_num(self._scaled(attribute, table.frame[attribute.name]), nan=0.0)
            else:
                block[:] = vertices[table.codes[:, table.domain.index(attribute.name)]]
            start += width
        return points / self._length

    @staticmethod
    def _scaled(attribute: Attribute, column: pd.Series[Any]) -> Floats:
        middle, half = _middle_and_half(attribute)
        return np.clip((attribute.numbers(column) - middle) / half, -1.0, 1.0)

    def decode(self, points: Floats, generator: np.random.Generator) -> dict[str, pd.Series[Any]]:
        """Columns for points of shape (k, dimension): numbers clipped to the bounds, the nearest vertex of a simplex."""
        columns: dict[str, pd.Series[Any]] = {}
        values = points * self._length
        start = 0
        for attribute, width, vertices in self._blocks:
            block = values[:, start : start + width]
            if attribute.is_binned:
                middle, half = _middle_and_half(attribute)
                columns[attribute.name] = attribute.from_numbers(middle + half * np.clip(block[:, 0], -1.0, 1.0))
            else:
                nearest = np.argmax(block @ vertices.T, axis=1).astype(np.int32)
                columns[attribute.name] = attribute.decode(nearest, generator)
            start += width
        return columns


def _middle_and_half(attribute: Attribute) -> tuple[float, float]:
    lower, upper = float(attribute.lower or 0.0), float(attribute.upper or 0.0)
    return lower / 2 + upper / 2, upper / 2 - lower / 2


def clip_to_ball(points: Floats, radius: float) -> tuple[Floats, float]:
    """x / max(1, ‖x‖/radius) for every row, and the share of rows that were shortened (not private)."""
    lengths = np.linalg.norm(points, axis=1)
    factors = np.maximum(1.0, lengths / radius)
    return points / factors[:, None], float((lengths > radius * (1 + 1e-12)).mean()) if len(points) else 0.0


def class_averages(members: Floats, order: int, rows: int, generator: np.random.Generator) -> Floats:
    """Averages of ``order`` members drawn uniformly without replacement, afresh for each row. Shape (rows, dimension).

    Floyd's algorithm draws the subsets, for all rows at once (or their complements, where those are smaller). With fewer
    members than ``order``, zero records stand in for the missing ones: the caller's guarantee does not count on that case,
    but it must not stop either.
    """
    if len(members) < order:
        members = np.concatenate([members, np.zeros((order - len(members), members.shape[1]))])
    size = len(members)
    drawn = min(order, size - order)
    taken = np.zeros((rows, size), dtype=bool)
    every = np.arange(rows)
    sums = np.zeros((rows, members.shape[1]))
    by_product = drawn < order or 8 * order >= size
    for last in range(size - drawn, size):
        pick = generator.integers(0, last + 1, size=rows)
        pick = np.where(taken[every, pick], last, pick)
        taken[every, pick] = True
        if not by_product:
            sums += members[pick]
    if by_product:
        chosen = taken if drawn == order else ~taken
        sums = chosen.astype(np.float64) @ members
    return sums / order
