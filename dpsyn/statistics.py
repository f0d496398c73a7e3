"""The four numbers that the private-sampling theorems ask of a dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.domain import Attribute, Codes, Domain
from dpsyn.errors import ParameterError

_MOST_BITS = 1_000_000
"""Bounds are computed from lists of columns: more of them than anybody has would take minutes and memory."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class DatasetStatistics:
    """What the feasibility verdicts need to know of a dataset.

    Attributes:
        p: number of bits after binarisation.
        n: number of rows.
        max_frequency: ‖f_n‖∞, the largest share of equal rows, in [1/n, 1], and at least 2^-p.
        distinct_rows: number of different rows, in [1/‖f_n‖∞, n - n·‖f_n‖∞ + 1] and at most 2^p, or None where it is not
            known.
        sizes: number of codes of every column before binarisation, or None where it is not known; p is their sum, or less
            by one for some columns of two codes.
        name: how to call the dataset on a page.

    Raises:
        ParameterError: a field is of another type, or cannot have its value.
    """

    p: int
    n: int
    max_frequency: float
    distinct_rows: int | None = None
    sizes: tuple[int, ...] | None = None
    name: str = "data"

    def __post_init__(self) -> None:
        listed = None if self.sizes is None else checks.items("sizes", self.sizes, "a list of whole numbers")
        sizes = None if listed is None else tuple(checks.whole("sizes", size) for size in listed)
        p = checks.whole("p", self.p, most=_MOST_BITS, why="a row has at least 1 bit")
        if sizes is not None:
            least = sum(1 if size == 2 else size for size in sizes)
            checks.whole("p", p, least, sum(sizes), why="a column has a bit for each code, or one for two")
        n = checks.whole("n", self.n, most=checks.LARGEST_COUNT, why="the number of rows")
        nearly, possible = 1 - _ROUNDING, 2**p
        even = nearly / min(n, possible)
        share = checks.number("max_frequency", self.max_frequency, even, 1.0, why="n rows are of at most 2^p kinds")
        fewest, most = min(n, math.ceil(nearly / share)), min(n - math.ceil(nearly * n * share) + 1, possible)
        why = "one row is max_frequency of all rows, no other is more, and there are 2^p"
        checked = {
            "p": p,
            "n": n,
            "max_frequency": share,
            "distinct_rows": checks.whole_or_none("distinct_rows", self.distinct_rows, fewest, most, why=why),
            "sizes": sizes,
            "name": checks.text("name", self.name, "a text"),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @property
    def log_possible_rows(self) -> float:
        """ln of how many different rows there can be: 2^p where the columns are not known."""
        return sum(math.log(size) for size in self.sizes or (2,) * self.p)


def bits_of(attribute: Attribute, *, two_valued_as_bit: bool = False) -> int:
    """Number of bits of one column as Pierquin et al. count: truth values are one bit, all others one bit per code.

    Raises:
        ParameterError: it is no attribute, or ``two_valued_as_bit`` is no truth value.
    """
    checks.instance("attribute", attribute, Attribute, "an attribute")
    checks.flag("two_valued_as_bit", two_valued_as_bit)
    if attribute.kind == "truth" or (two_valued_as_bit and attribute.size == 2):
        return 1
    return attribute.size


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
        return cls(len(codes), len(counts), int(counts.max(initial=0)))


def statistics_of(
    rows: EqualRows, domain: Domain, *, name: str = "data", two_valued_as_bit: bool = False
) -> DatasetStatistics:
    """Exact statistics of rows over a domain.

    Raises:
        ParameterError: there is no row, or ``two_valued_as_bit`` is no truth value.
    """
    if rows.n == 0:
        raise ParameterError("n", 0, "at least 1 row")
    return DatasetStatistics(
        p=sum(bits_of(a, two_valued_as_bit=two_valued_as_bit) for a in domain.attributes),
        n=rows.n,
        max_frequency=rows.largest / rows.n,
        distinct_rows=rows.distinct,
        sizes=domain.shape,
        name=name,
    )
