"""Rows as points of the unit ball, by public facts only (or by privately released ones), and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

SMALLEST_SPREAD = 1e-3
"""In units of half the distance between the bounds: a constant column must not be divided by nothing."""

_REMEMBERED = 100
"""Categories up to which the vertices of their simplex are remembered."""

_CELLS = 1 << 17
"""Coordinates that are scaled at a time, so that they stay in the processor's cache."""


def simplex(size: int) -> Floats:
    """Vertices of a regular simplex on the unit sphere around 0, shape (size, size - 1). Two of them are -1 and 1.

    They are the centred one-hot vectors, scaled to length 1, in an orthonormal basis of the hyperplane that they span
    (Helmert's), so that no noise is spent on the direction in which they agree. The nearest vertex to a point is the largest
    entry of the one-hot vector that the point stands for.
    """
    return _vertices(np.arange(size, dtype=np.int32), size)


_few = lru_cache(_REMEMBERED)(simplex)


def _vertices(codes: Codes, size: int) -> Floats:
    """Some of the vertices of :func:`simplex`, shape (number of codes, size - 1)."""
    at, j = codes[:, None], np.arange(1.0, size)
    basis = np.where(at < j, -1.0, np.where(at == j, j, 0.0)) / np.sqrt(j * (j + 1))
    return np.asarray(basis * math.sqrt(size / max(size - 1, 1)))


@dataclass(frozen=True)
class Standard:
    """A centre and a spread for every number or date, in units where its public bounds are -1 and 1. Shape (q,) each."""

    centre: Floats
    spread: Floats


@dataclass(frozen=True)
class FeatureMap:
    """The map from rows to points and, approximately, back.

    A number or date becomes a coordinate in [-1, 1] between its public bounds (0 if missing), a truth value -1 or 1, a
    category a vertex of a regular simplex; every column is a block of length at most 1, and the blocks are divided by the
    square root of their number, so that ‖x‖ ≤ 1. With a :class:`Standard` numbers become (x - centre)/spread instead, and
    norms may exceed 1.

    Args:
        domain: the columns to map.
    """

    domain: Domain

    @cached_property
    def _blocks(self) -> list[tuple[Attribute, slice]]:
        """Every attribute and its coordinates."""
        blocks, start = [], 0
        for attribute in self.domain.attributes:
            width = 1 if attribute.is_binned else attribute.size - 1
            blocks.append((attribute, slice(start, start + width)))
            start += width
        return blocks

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self._blocks[-1][1].stop)

    @cached_property
    def numbers(self) -> list[Attribute]:
        """The numbers and dates, in order."""
        return [attribute for attribute, _ in self._blocks if attribute.is_binned]

    @cached_property
    def number_coordinates(self) -> npt.NDArray[np.int64]:
        """Their coordinates, shape (q,)."""
        return np.array([at.start for attribute, at in self._blocks if attribute.is_binned], dtype=np.int64)

    @cached_property
    def single(self) -> dict[str, int]:
        """The columns that are one coordinate each, and their coordinates."""
        return {attribute.name: at.start for attribute, at in self._blocks if at.stop == at.start + 1}

    @cached_property
    def diameter(self) -> float:
        """No two points are further apart, scaled by public bounds: √(mean of the squares), 2 a number and √(2c/(c-1)) a
        category of c codes. At least 1, which no point is further than from 0."""
        widths = [at.stop - at.start for _, at in self._blocks if at.stop > at.start]
        squares = sum(2 * (width + 1) / width for width in widths)
        return max(1.0, math.sqrt(squares) / self.length)

    @cached_property
    def length(self) -> float:
        """Square root of the number of columns with coordinates: what points are divided by."""
        return math.sqrt(max(1, sum(at.stop > at.start for _, at in self._blocks)))

    def encode(self, table: Table, standard: Standard | None = None) -> Floats:
        """Points of the rows, shape (n, dimension); without ``standard`` each of Euclidean norm at most 1."""
        points = np.empty((table.n, self.dimension))
        for attribute, at in self._blocks:
            if not attribute.is_binned:
                codes = table.codes[:, table.domain.index(attribute.name)]
                few = attribute.size <= _REMEMBERED
                points[:, at] = _few(attribute.size)[codes] if few else _vertices(codes, attribute.size)
        self._fill_numbers(points, table)
        middle, half, bound = self._units
        missing = any(attribute.missing for attribute in self.numbers)
        centre, spread = self._standard(standard)
        for block in _cached(points):
            # A cell far outside narrow bounds may overflow: clipping takes it for infinite.
            with np.errstate(over="ignore"):
                np.subtract(block, middle, out=block)
                np.divide(block, half, out=block)
            np.clip(block, -bound, bound, out=block)
            if missing:
                np.nan_to_num(block, copy=False)
            if standard is not None:
                np.subtract(block, centre, out=block)
            np.divide(block, spread * self.length, out=block)
        return points

    @cached_property
    def _units(self) -> tuple[Floats, Floats, Floats]:
        """Middle, half-width and largest value in these units of every coordinate; 0, 1 and ∞ where it is no number."""
        middle, half, bound = np.zeros(self.dimension), np.ones(self.dimension), np.full(self.dimension, np.inf)
        for attribute, at in self._blocks:
            if attribute.is_binned:
                middle[at], half[at] = middle_and_half(attribute)
                bound[at] = 1.0
        return middle, half, bound

    def _standard(self, standard: Standard | None) -> tuple[Floats, Floats]:
        """Centre and spread of every coordinate."""
        centre, spread = np.zeros(self.dimension), np.ones(self.dimension)
        if standard is not None:
            centre[self.number_coordinates], spread[self.number_coordinates] = standard.centre, standard.spread
        return centre, spread

    def _fill_numbers(self, points: Floats, table: Table) -> None:
        """Numbers of numeric and date columns as they are; runs of plain columns at once, which matters for wide tables."""
        frame = table.frame

        def is_plain(attribute: Attribute) -> bool:
            return attribute.kind == "numeric" and isinstance(frame[attribute.name].dtype, np.dtype)

        at = {attribute.name: part for attribute, part in self._blocks}
        for plain, run in groupby(self.numbers, is_plain):
            attributes = list(run)
            names = [attribute.name for attribute in attributes]
            if plain and frame.dtypes[names].map(lambda dtype: dtype.kind in "fiu").all():
                values = frame[names].to_numpy(dtype=np.float64)
                where = [at[name].start for name in names]
                target: Any = slice(where[0], where[-1] + 1) if where[-1] - where[0] == len(where) - 1 else where
                at_once = max(1, _CELLS // len(names))
                for start in range(0, table.n, at_once):
                    points[start : start + at_once, target] = values[start : start + at_once]
            else:
                for attribute in attributes:
                    points[:, at[attribute.name].start] = attribute.numbers(frame[attribute.name])

    def decode(self, points: Floats, generator: np.random.Generator) -> dict[str, pd.Series[Any]]:
        """Columns for points of shape (k, dimension): numbers clipped to the bounds, the nearest vertex of a simplex."""
        columns: dict[str, pd.Series[Any]] = {}
        for piece in self.decode_pieces(points * self.length, generator):
            columns |= {str(name): piece[name] for name in piece.columns}
        return columns

    def decode_pieces(
        self, values: Floats, generator: np.random.Generator, standard: Standard | None = None
    ) -> list[pd.DataFrame]:
        """Frames that make up the columns side by side, for points times :attr:`length`, which are overwritten."""
        middle, half, bound = self._units
        centre, spread = self._standard(standard)
        for block in _cached(values):
            if standard is not None:
                np.multiply(block, spread, out=block)
                np.add(block, centre, out=block)
            np.clip(block, -bound, bound, out=block)
            np.multiply(block, half, out=block)
            np.add(block, middle, out=block)
        pieces: list[pd.DataFrame] = []
        for key, run in groupby(self._blocks, lambda block: _number_type(block[0])):
            blocks = list(run)
            if key is not None:
                part = values[:, blocks[0][1].start : blocks[-1][1].stop]
                pieces.append(_frame_of_numbers([attribute for attribute, _ in blocks], part, key))
                continue
            for attribute, at in blocks:
                if attribute.is_binned:
                    series = attribute.from_numbers(values[:, at.start])
                else:
                    nearest = np.argmax(values[:, at] @ simplex(attribute.size).T, axis=1).astype(np.int32)
                    series = attribute.decode(nearest, generator)
                pieces.append(series.to_frame(attribute.name))
        return pieces


def changed_by_noise(noise_scale: float, columns: int) -> float:
    """At least this share of the categories of a column comes out as another one, because of the noise alone: Φ(-1/(√q σ)).

    No category is further than 1/√q from where another one is as near, and noise of deviation σ goes that way. Averaging
    brings rows nearer to it.

    Args:
        noise_scale: σ on an average.
        columns: q, columns that are mixed.
    """
    return math.erfc(1 / (noise_scale * math.sqrt(2 * columns))) / 2


def _number_type(attribute: Attribute) -> type | None:
    """The type of a column that can be decoded together with its neighbours; None for all others."""
    if attribute.kind != "numeric" or attribute.unit not in (None, 1) or (attribute.integer and attribute.missing):
        return None
    return np.int64 if attribute.integer else np.float64


def _frame_of_numbers(attributes: list[Attribute], values: Floats, kind: type) -> pd.DataFrame:
    """As :meth:`Attribute.from_numbers`, for several columns of one type at once; ``values`` are overwritten."""
    names = [attribute.name for attribute in attributes]
    lower = np.array([float(attribute.lower or 0.0) for attribute in attributes])
    upper = np.array([float(attribute.upper or 0.0) for attribute in attributes])
    whole = kind is np.int64
    if whole:
        lower, upper = np.ceil(lower), np.floor(upper)
    found = np.empty(values.shape, dtype=np.int64) if whole else values
    step = max(1, _CELLS // max(values.shape[1], 1))
    for start in range(0, len(values), step):
        block = values[start : start + step]
        if whole:
            np.round(block, out=block)
        np.clip(block, lower, upper, out=block)
        if whole:
            found[start : start + step] = block
    return pd.DataFrame(found, columns=names, copy=False)


def middle_and_half(attribute: Attribute) -> tuple[float, float]:
    """Of the public bounds of a number or a date."""
    lower, upper = float(attribute.lower or 0.0), float(attribute.upper or 0.0)
    return lower / 2 + upper / 2, upper / 2 - lower / 2


def _cached(points: Floats) -> list[Floats]:
    """Views of consecutive rows, each small enough for the processor's cache."""
    at_once = max(1, _CELLS // max(points.shape[1], 1))
    return [points[start : start + at_once] for start in range(0, len(points), at_once)]


def clip_to_ball(points: Floats, radius: float) -> tuple[Floats, float]:
    """x / max(1, ‖x‖/radius) for every row, and the share of rows that were shortened (not private)."""
    clipped = points.copy()
    return clipped, clip_in_place(clipped, radius)


def clip_in_place(points: Floats, radius: float) -> float:
    """As :func:`clip_to_ball`, without a copy; the share of rows that were shortened (not private).

    Lengths are taken in units of the radius: the squares of small numbers are 0, and would pass any ball.
    """
    shortened = 0
    for block in _cached(points):
        scaled = block / radius
        lengths = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        outside = lengths > 1
        if outside.any():
            block[outside] /= lengths[outside, None]
            shortened += int((lengths > 1 + 1e-12).sum())
    return shortened / len(points) if len(points) else 0.0
