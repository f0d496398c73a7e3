"""Features of rows whose means say what their distribution is, and points that have given means."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.mechanisms.feature_map import middle_and_half
from dpsyn.solvers.adam import Adam
from dpsyn.solvers.contingency import Integers
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

UNIT = 2**20
"""Steps in a feature of 1: sums of whole steps are exact."""
_ROWS_AT_ONCE = 4096
_SPREAD = 3.0
"""The kernel of q numbers between -1 and 1 is exp(-‖x - x'‖²·3/2q): their distance is √(2q/3) where they are uniform."""
_ITERATIONS, _RATE = 200, 0.5
"""Smaller rates and fewer steps left points of one narrow cluster far away from it."""


@dataclass(frozen=True, eq=False)
class Features:
    """φ of a row: random Fourier features of its numbers, of length 1, and one-hot categories divided by the root of their
    number, of length 1 together. Without categories there is one that all rows have.

    Attributes:
        domain: of the columns without the classes.
        frequencies: ω, shape (numbers, D/2), public.
    """

    domain: Domain
    frequencies: Floats

    @classmethod
    def of(cls, domain: Domain, count: int, generator: np.random.Generator) -> Features:
        """D/2 frequencies, which no row has a part in."""
        numbers = sum(attribute.is_binned for attribute in domain.attributes)
        return cls(domain, generator.normal(0.0, math.sqrt(_SPREAD / max(numbers, 1)), (numbers, count // 2)))

    @cached_property
    def numbers(self) -> list[Attribute]:
        """Numeric and date columns."""
        return [attribute for attribute in self.domain.attributes if attribute.is_binned]

    @cached_property
    def categories(self) -> list[Attribute]:
        """All others."""
        return [attribute for attribute in self.domain.attributes if not attribute.is_binned]

    @cached_property
    def sizes(self) -> list[int]:
        """Of the categories; 1 where there are none."""
        return [attribute.size for attribute in self.categories] or [1]

    @property
    def fourier(self) -> int:
        """How many Fourier features there are."""
        return 2 * self.frequencies.shape[1] if self.numbers else 0

    def points(self, table: Table) -> Floats:
        """The numbers between -1 and 1 at their public bounds, 0 where there is none. Shape (n, numbers)."""
        found = np.empty((table.n, len(self.numbers)))
        for j, attribute in enumerate(self.numbers):
            middle, half = middle_and_half(attribute)
            found[:, j] = (attribute.numbers(table.different(attribute.name)) - middle) / half
        return np.nan_to_num(np.clip(found, -1.0, 1.0))

    def waves(self, points: Any) -> Floats:
        """Random Fourier features √(2/D)·(cos xω, sin xω) of points, sparse or not, of length 1. Shape (points, D)."""
        phase = points @ self.frequencies
        return np.concatenate([np.cos(phase), np.sin(phase)], axis=1) / math.sqrt(self.frequencies.shape[1])

    def sums(self, table: Table, classes: Integers, count: int) -> Integers:
        """Σ φ over the rows of each class, in whole steps of 1/:data:`UNIT`, exact. Shape (classes, features).

        What a row adds follows from that row alone, to the last bit: a sparse product goes row by row, where others do last
        rows of a block in another way.
        """
        from scipy.sparse import csr_matrix

        found = np.zeros((count, self.fourier + sum(self.sizes)), dtype=np.int64)
        if self.numbers:
            points = csr_matrix(self.points(table))
            for start in range(0, table.n, _ROWS_AT_ONCE):
                steps = np.rint(UNIT * self.waves(points[start : start + _ROWS_AT_ONCE])).astype(np.int64)
                np.add.at(found[:, : self.fourier], classes[start : start + _ROWS_AT_ONCE], steps)
        one = round(UNIT / math.sqrt(len(self.sizes)))
        for column, place in self._places():
            codes = np.zeros(table.n, dtype=np.int64) if column is None else table.codes[:, table.domain.index(column)]
            np.add.at(found, (classes, place.start + codes), one)
        return found

    def sensitivity(self, neighbouring: str) -> float:
        """How far a neighbour moves :meth:`sums` in L2 at most, in steps, rounding included.

        A row more adds its φ, of squared length r = 2 with numbers, and 1 without. A replaced one moves waves by 2 and
        categories by √2 at most, no less than what takes r from one class and adds it to another: 4 or 6 against 2r = 4 with
        numbers, and 2 against 2 without. Every feature is rounded to a whole step, half a step off at most.
        """
        waves, choices = bool(self.numbers), bool(self.categories)
        rounding = math.sqrt(self.fourier + len(self.sizes))
        if neighbouring == "replace_one":
            # Of two classes' features, each is off by half a step; of one class's, by a whole one.
            return UNIT * math.sqrt(4 * waves + 2 * choices) + rounding
        return UNIT * math.sqrt(waves + 1) + rounding / 2

    def parts(self, sums: Floats) -> tuple[Floats, Floats, list[Floats]]:
        """From sums of φ by class: rows of each, means of the Fourier features, and rows of each category by column.

        Shapes (classes,), (classes, D), (classes, size) each.
        """
        counts = [sums[:, place] * math.sqrt(len(self.sizes)) for _, place in self._places()]
        rows = np.maximum(np.mean([found.sum(axis=1) for found in counts], axis=0), 0.0)
        return rows, sums[:, : self.fourier] / np.maximum(rows, 1.0)[:, None], counts

    def _places(self) -> Iterator[tuple[str | None, slice]]:
        start = self.fourier
        names: list[str | None] = [attribute.name for attribute in self.categories]
        for column, size in zip(names or [None], self.sizes, strict=True):
            yield column, slice(start, start + size)
            start += size

    def values(self, points: Floats, j: int) -> Floats:
        """The number of column j, as it is measured, of points between -1 and 1."""
        middle, half = middle_and_half(self.numbers[j])
        return np.asarray(points[:, j] * half + middle)

    def fitted(self, mean: Floats, count: int, generator: np.random.Generator) -> Floats:
        """So many points between -1 and 1 whose mean of waves is near the given one: ½‖·‖² falls, by Adam."""
        points = generator.uniform(-1.0, 1.0, (count, len(self.numbers)))
        adam, half = Adam(), self.frequencies.shape[1]
        for step in range(1, _ITERATIONS + 1):
            waves = self.waves(points)
            off = waves.mean(axis=0) - mean
            # d cos = -sin, d sin = cos; a point's own gradient, without the 1/count that Adam would take out again.
            gradient = (waves[:, :half] * off[half:] - waves[:, half:] * off[:half]) @ self.frequencies.T
            moved = _RATE * (1 - step / (_ITERATIONS + 1)) * adam.direction(gradient)
            points = np.clip(points - moved, -1.0, 1.0)
        return points
