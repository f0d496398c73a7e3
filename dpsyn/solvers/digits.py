"""Points of a product domain packed into a few digits each: several columns share a byte."""

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

BYTE = 256


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
        self.groups = pack_columns(range(len(self.sizes)), self.sizes, BYTE) or (DigitGroup((0,), (1,)),)
        most = max(group.cells for group in self.groups)
        self.dtype: type[np.unsignedinteger[Any]] = np.uint8 if most <= BYTE else np.uint16 if most <= 1 << 16 else np.uint32

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


def pack_columns(columns: Sequence[int], sizes: Sequence[int], most_cells: int) -> tuple[DigitGroup, ...]:
    """Groups of columns with at most ``most_cells`` joint values, or of one column that has more. First fit, decreasing."""
    bins: list[list[int]] = []
    room: list[int] = []
    for column in sorted((c for c in columns if sizes[c] > 1), key=lambda c: (-sizes[c], c)):
        at = next((i for i, free in enumerate(room) if free >= sizes[column]), None)
        if at is None:
            bins.append([column])
            room.append(most_cells // sizes[column])
        else:
            bins[at].append(column)
            room[at] //= sizes[column]
    ordered = sorted(tuple(sorted(chosen)) for chosen in bins)
    return tuple(DigitGroup(chosen, tuple(int(sizes[c]) for c in chosen)) for chosen in ordered)
