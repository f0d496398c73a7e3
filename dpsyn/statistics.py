"""The four numbers that the private-sampling theorems ask of a dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.errors import ParameterError


@dataclass(frozen=True)
class DatasetStatistics:
    """What the feasibility verdicts need to know of a dataset.

    Attributes:
        p: number of bits after binarisation.
        n: number of rows.
        max_frequency: ‖f_n‖∞, the largest share of equal rows, in [1/n, 1].
        distinct_rows: number of different rows, or None where it is not known.
        sizes: number of codes of every column before binarisation, or None where it is not known.
        name: how to call the dataset on a page.
    """

    p: int
    n: int
    max_frequency: float
    distinct_rows: int | None = None
    sizes: tuple[int, ...] | None = None
    name: str = "data"

    def __post_init__(self) -> None:
        if self.p < 1:
            raise ParameterError("p", self.p, "at least 1 bit")
        if self.n < 1:
            raise ParameterError("n", self.n, "at least 1 row")
        if not 0 < self.max_frequency <= 1:
            raise ParameterError("max_frequency", self.max_frequency, "a share with 0 < max_frequency <= 1")

    @property
    def log10_peak(self) -> float:
        """log10 of 2^p·‖f_n‖∞, the largest density relative to uniform: the ceiling that Theorem 4.2 asks for."""
        return self.p * math.log10(2) + math.log10(self.max_frequency)


def bits_of(attribute: Attribute, *, two_valued_as_bit: bool = False) -> int:
    """Number of bits of one column as Pierquin et al. count: truth values are one bit, all others one bit per code."""
    if attribute.kind == "truth" or (two_valued_as_bit and attribute.size == 2):
        return 1
    return attribute.size


def binarise(codes: Codes, domain: Domain, *, two_valued_as_bit: bool = False) -> npt.NDArray[np.int8]:
    """The rows as points of {-1, 1}^p, shape (n, p): one bit per truth column, one-hot for the others."""
    blocks = []
    for j, attribute in enumerate(domain.attributes):
        column = codes[:, j]
        if bits_of(attribute, two_valued_as_bit=two_valued_as_bit) == 1 and attribute.size == 2:
            blocks.append((2 * column - 1).astype(np.int8)[:, None])
        else:
            blocks.append(np.where(column[:, None] == np.arange(attribute.size), 1, -1).astype(np.int8))
    return np.concatenate(blocks, axis=1)


def row_keys(codes: Codes, sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """One integer a row, equal exactly where the rows are equal. Shape (n,).

    Columns are folded in by mixed radix; whenever the radix would pass 2^62 the keys so far are renumbered 0, 1, 2, …
    (at most n of them), so nothing is hashed and nothing collides.
    """
    keys = np.zeros(len(codes), dtype=np.int64)
    radix = 1
    for j, size in enumerate(sizes):
        if radix * size > 2**62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            radix = int(keys.max(initial=0)) + 1
        keys = keys * size + codes[:, j]
        radix *= size
    return keys


@dataclass(frozen=True)
class EqualRows:
    """Rows, different ones among them, and the most that are equal."""

    n: int
    distinct: int
    largest: int

    @classmethod
    def of(cls, codes: Codes, sizes: Sequence[int]) -> EqualRows:
        """Those of encoded rows. Binarisation is injective, so equal codes are equal points of the cube."""
        counts = np.unique(row_keys(codes, sizes), return_counts=True)[1]
        return cls(len(codes), len(counts), int(counts.max()))


def statistics_of(
    rows: EqualRows, domain: Domain, *, name: str = "data", two_valued_as_bit: bool = False
) -> DatasetStatistics:
    """Exact statistics of rows over a domain."""
    return DatasetStatistics(
        p=sum(bits_of(a, two_valued_as_bit=two_valued_as_bit) for a in domain.attributes),
        n=rows.n,
        max_frequency=rows.largest / rows.n,
        distinct_rows=rows.distinct,
        sizes=domain.shape,
        name=name,
    )
