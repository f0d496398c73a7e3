"""Points of a product domain, packed into a few digits each: given, drawn from seeds where needed, or all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError

Digits = npt.NDArray[np.unsignedinteger[Any]]

_BYTE = 256


@dataclass(frozen=True)
class DigitGroup:
    """Columns that share a digit: the digit is their code in mixed radix, the last column running fastest.

    Attributes:
        columns: which columns, in ascending order.
        sizes: number of codes of each of them.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def cells(self) -> int:
        """Number of values of the digit."""
        return math.prod(self.sizes)


class DigitLayout:
    """Which columns share which digit. Columns with one code are in no group, unless all have.

    Columns are put, the largest first, into the first group that still has room, so that a digit has at most 256 values
    unless one column alone has more. Sixty bits take eight bytes, Adult's eight columns (1.8e6 rows) three.

    Args:
        sizes: number of codes of each column.

    Attributes:
        groups: in the order of their first columns.
        dtype: of the digits, uint8 wherever the columns allow it.

    Raises:
        ParameterError: a column has more than 2^32 codes.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        if max(self.sizes) > 1 << 32:
            raise ParameterError("sizes", max(self.sizes), "at most 2^32 codes in a column")
        # A domain of one row still has points, so there is always a digit.
        self.groups = _packed(self.sizes, _BYTE) or (DigitGroup((0,), (1,)),)
        most = max(group.cells for group in self.groups)
        self.dtype: type[np.unsignedinteger[Any]] = (
            np.uint8 if most <= _BYTE else np.uint16 if most <= 1 << 16 else np.uint32
        )

    @property
    def bytes_per_point(self) -> int:
        """Memory of one point."""
        return len(self.groups) * np.dtype(self.dtype).itemsize

    def encode(self, codes: Codes) -> Digits:
        """Digits of rows of codes: shape (m, number of columns) to (number of groups, m)."""
        digits = np.empty((len(self.groups), len(codes)), dtype=self.dtype)
        for at, group in enumerate(self.groups):
            digit = codes[:, group.columns[0]].astype(self.dtype)
            for column, size in zip(group.columns[1:], group.sizes[1:], strict=True):
                digit = digit * self.dtype(size) + codes[:, column].astype(self.dtype)
            digits[at] = digit
        return digits

    def decode(self, digits: Digits) -> Codes:
        """Rows of codes of digits: shape (number of groups, m) to (m, number of columns)."""
        codes = np.zeros((digits.shape[1], len(self.sizes)), dtype=np.int32, order="F")
        for row, group in zip(digits, self.groups, strict=True):
            left = row
            for column, size in zip(reversed(group.columns[1:]), reversed(group.sizes[1:]), strict=True):
                left, codes[:, column] = np.divmod(left, row.dtype.type(size))
            codes[:, group.columns[0]] = left
        return codes


def _packed(sizes: Sequence[int], most_cells: int) -> tuple[DigitGroup, ...]:
    """Groups of columns with at most ``most_cells`` joint values, or of one column that has more. First fit, decreasing."""
    bins: list[list[int]] = []
    room: list[int] = []
    at = before = 0
    for column in sorted((c for c, size in enumerate(sizes) if size > 1), key=lambda c: (-sizes[c], c)):
        # What had no room for a column of this size has none for the next one either.
        at = at if sizes[column] == before else 0
        before = sizes[column]
        while at < len(bins) and room[at] < before:
            at += 1
        if at == len(bins):
            bins.append([])
            room.append(max(most_cells, before))
        bins[at].append(column)
        room[at] //= before
    ordered = sorted(tuple(sorted(chosen)) for chosen in bins)
    return tuple(DigitGroup(chosen, tuple(sizes[c] for c in chosen)) for chosen in ordered)


@dataclass(frozen=True, eq=False)
class KeptPoints:
    """Points in memory. ``offset`` is the number of the first one that is here."""

    digits: Digits
    offset: int = 0

    def block(self, start: int, stop: int) -> Digits:
        """The points start … stop-1, shape (number of groups, stop - start): a view."""
        return self.digits[:, start - self.offset : stop - self.offset]

    def part(self, start: int, stop: int) -> KeptPoints:
        """A view of a range of the points."""
        return KeptPoints(self.block(start, stop), start)


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


@dataclass(frozen=True, eq=False)
class DomainPoints:
    """The points start … stop-1 of the whole product domain, in the order of all_codes: the last column runs fastest."""

    layout: DigitLayout
    start: int
    stop: int

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


Points = KeptPoints | SeededPoints | DomainPoints
"""Where the points of an operator come from: ``block`` has some of them, ``part`` is what travels to another process."""
