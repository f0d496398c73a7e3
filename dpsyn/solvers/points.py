"""Where the points of an operator come from: given, drawn from seeds wherever they are needed, or the whole domain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from dpsyn.solvers.digits import DigitLayout, Digits

_AT_A_TIME = 1 << 16


class Points(Protocol):
    """m points of a product domain, block by block."""

    @property
    def count(self) -> int:
        """m."""
        ...

    def block(self, start: int, stop: int) -> Digits:
        """Digits of the points start … stop-1, shape (number of groups, stop - start)."""
        ...

    def part(self, start: int, stop: int) -> Points:
        """A source of blocks inside start … stop-1, as small as can be: what travels to another process."""
        ...

    def kept(self) -> Points:
        """The same points in memory."""
        ...


@dataclass(frozen=True, eq=False)
class KeptPoints:
    """Points in memory. ``offset`` is the number of the first one that is here."""

    digits: Digits
    offset: int = 0

    @property
    def count(self) -> int:
        """Number of points."""
        return int(self.digits.shape[1])

    def block(self, start: int, stop: int) -> Digits:
        """A view."""
        return self.digits[:, start - self.offset : stop - self.offset]

    def part(self, start: int, stop: int) -> KeptPoints:
        """A view of a range of the points."""
        return KeptPoints(self.block(start, stop), start)

    def kept(self) -> KeptPoints:
        """Itself."""
        return self


@dataclass(frozen=True, eq=False)
class SeededPoints:
    """Independent uniform draws from the product domain, block by block from a seed for each block.

    Args:
        layout: of the digits; a digit is uniform on its values exactly if its columns are, independently.
        bounds: where the blocks begin and end, shape (blocks + 1,).
        seeds: one for each block.
    """

    layout: DigitLayout
    bounds: tuple[int, ...]
    seeds: tuple[np.random.SeedSequence, ...]

    @property
    def count(self) -> int:
        """Number of points."""
        return self.bounds[-1] - self.bounds[0]

    def block(self, start: int, stop: int) -> Digits:
        """Draws a block; start and stop are those of one block."""
        at = self.bounds.index(start)
        generator = np.random.Generator(np.random.PCG64DXSM(self.seeds[at]))
        digits = np.empty((len(self.layout.groups), stop - start), dtype=self.layout.dtype)
        for row, group in zip(digits, self.layout.groups, strict=True):
            row[:] = generator.integers(0, group.cells, stop - start, dtype=self.layout.dtype)
        return digits

    def part(self, start: int, stop: int) -> SeededPoints:
        """The seeds of a range of blocks."""
        first, last = self.bounds.index(start), self.bounds.index(stop)
        return SeededPoints(self.layout, self.bounds[first : last + 1], self.seeds[first:last])

    def kept(self) -> KeptPoints:
        """The points drawn once and for all."""
        first = self.bounds[0]
        digits = np.empty((len(self.layout.groups), self.count), dtype=self.layout.dtype)
        for start, stop in pairwise(self.bounds):
            digits[:, start - first : stop - first] = self.block(start, stop)
        return KeptPoints(digits, first)


@dataclass(frozen=True, eq=False)
class DomainPoints:
    """The points start … stop-1 of the whole product domain, in the order of all_codes: the last column runs fastest."""

    layout: DigitLayout
    start: int
    stop: int

    @property
    def count(self) -> int:
        """Number of points."""
        return self.stop - self.start

    def block(self, start: int, stop: int) -> Digits:
        """Made from the numbers of the points."""
        left = np.arange(start, stop, dtype=np.int64)
        codes = np.empty((stop - start, len(self.layout.sizes)), dtype=np.int32, order="F")
        for column in range(len(self.layout.sizes) - 1, -1, -1):
            left, codes[:, column] = np.divmod(left, self.layout.sizes[column])
        return self.layout.encode(codes)

    def part(self, start: int, stop: int) -> DomainPoints:
        """Two other numbers."""
        return DomainPoints(self.layout, start, stop)

    def kept(self) -> KeptPoints:
        """The points in memory."""
        digits = np.empty((len(self.layout.groups), self.count), dtype=self.layout.dtype)
        for start in range(self.start, self.stop, _AT_A_TIME):
            stop = min(start + _AT_A_TIME, self.stop)
            digits[:, start - self.start : stop - self.start] = self.block(start, stop)
        return KeptPoints(digits, self.start)
