"""The cells of a column in the words of SQL: their codes and the parts of a range that they lie in, as Table has them.

Nothing is rounded or parsed by an engine. A number is only compared with thresholds, which are the least values that
:meth:`Attribute.in_units` puts into the next part, found by asking it; any other cell is compared with the values that are
there, whose codes :meth:`Attribute.encode` has said. The words are DuckDB's.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpsyn import units
from dpsyn.attribute import Attribute, Codes
from dpsyn.data._fold import CHANGED
from dpsyn.data._parquet import as_series
from dpsyn.data.fit import fit_typed
from dpsyn.dates import day_text
from dpsyn.errors import DataError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Ordered = Literal["double", "exact", "date"]
Threshold = float | int

UNKNOWN = -1
"""The code of a cell that was not there when the column was looked through."""
_LARGEST = 10**38 - 1
"""Of a decimal, in its last digit."""
_MOST_CASES = 30
"""Values that are told apart one by one; more are looked up in a list."""


def name_of(column: str) -> str:
    """A column, quoted."""
    return '"' + column.replace('"', '""') + '"'


def text(value: object) -> str:
    """A text, quoted."""
    return "'" + str(value).replace("'", "''") + "'"


def literal(value: Any, kind: pa.DataType) -> str:
    """A value of an Arrow type, as Python has it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return f"CAST('{value}' AS DECIMAL({kind.precision}, {kind.scale}))"
    if isinstance(value, datetime.datetime):
        return f"CAST('{value.isoformat(' ')}' AS TIMESTAMP)"
    if isinstance(value, datetime.date):
        return f"CAST('{value.isoformat()}' AS DATE)"
    return text(value)


@dataclass(frozen=True)
class Coded:
    """SQL for the code of a cell, never NULL, and what has to be joined to the rows for it."""

    sql: str
    join: str = ""


class Cells(ABC):
    """How the cells of a column are counted.

    Attributes:
        attribute: the column.
        cell: SQL of the value; NULL where it is missing.
    """

    attribute: Attribute
    cell: str

    @property
    def missing(self) -> int:
        """The code of an empty cell."""
        return self.attribute.size - 1 if self.attribute.missing else UNKNOWN

    @abstractmethod
    def code(self, edges: Floats | None, alias: str) -> Coded:
        """The code of a cell.

        Args:
            edges: of the bins, in units; None for the attribute's own codes.
            alias: a name for what is joined.
        """

    def over(self, attribute: Attribute) -> Self:
        """The same cells as those of another column."""
        return replace(self, attribute=attribute)  # type: ignore[type-var]

    @abstractmethod
    def column(self, cells: pa.Array) -> pd.Series[Any]:
        """Cells that the engine hands over, as a table has them."""


@dataclass(frozen=True, eq=False)
class Numbers(Cells):
    """Numbers or days of a type that is ordered as they are.

    Attributes:
        kind: of the cells: doubles, exact decimals (whole numbers too), or days.
        scale: decimals of exact ones.
        wide: they may not fit into 64 bits.
        single: they are doubles of single precision.
        in_units: the cells are counted in units already.
    """

    attribute: Attribute
    cell: str
    kind: Ordered
    scale: int = 0
    wide: bool = False
    single: bool = False
    in_units: bool = False

    def column(self, cells: pa.Array) -> pd.Series[Any]:
        """See :class:`Cells`."""
        if self.in_units:
            return self.attribute.from_units(as_series(cells).to_numpy(dtype=np.float64, na_value=np.nan))
        return fit_typed(self.attribute, as_series(cells))

    def thresholds(self, cuts: Floats) -> list[Threshold]:
        """For each cut, in units and inside the range, the least cell that lies at or above it; ascending like the cuts.

        Doubles are themselves, exact cells are counted in their last decimal, days since 1970-01-01.
        """
        as_they_are = self.kind == "date" or self.in_units or self.attribute.unit is None
        return [self._reaching(value) for value in (cuts if as_they_are else _least(self.attribute, cuts)).tolist()]

    def _reaching(self, value: float) -> Threshold:
        """The least cell that is at or above a value."""
        return _least_exact(value, self.scale) if self.kind == "exact" else value

    @property
    def moved(self) -> tuple[str, str]:
        """SQL for 1 where a cell lies beyond the bounds, and for 1 where one within them is no multiple of the unit, as
        :func:`dpsyn.units.between` says; else 0."""
        low, high = float(self.attribute.lower or 0), float(self.attribute.upper or 0)
        first, last = self.written(self._reaching(low)), self.written(-self._reaching(-high))
        outside = f"CASE WHEN {self.cell} < {first} OR {self.cell} > {last} THEN 1 ELSE 0 END"
        if self.kind == "date" or self.attribute.unit is None:
            return outside, "0"
        unit, value = units.ratio(self.attribute.unit), f"CAST({self.cell} AS DOUBLE)"
        epsilon = float(np.finfo(np.float32 if self.single else np.float64).eps)
        some = (unit.numerator, unit.denominator, *units.slack(self.attribute.unit, epsilon))
        above, below, fixed, relative = (literal(float(number), pa.float64()) for number in some)
        nearest = f"round({value} * {below} / {above}) * {above} / {below}"
        off = f"CASE WHEN abs({value} - {nearest}) > {fixed} + {relative} * abs({value}) THEN 1 ELSE 0 END"
        # Of what is smaller, or beyond the bounds, an engine need not have all these numbers.
        within = f"{self.cell} >= {first} AND {self.cell} <= {last} AND abs({value}) > {fixed}"
        return outside, f"CASE WHEN {within} THEN {off} ELSE 0 END"

    @property
    def _type(self) -> str:
        exact = f"DECIMAL(38, {self.scale})" if self.scale or self.wide else "BIGINT"
        return {"double": "DOUBLE", "date": "DATE", "exact": exact}[self.kind]

    def _text(self, threshold: Threshold) -> str:
        if self.kind == "double":
            return repr(float(threshold))
        if self.kind == "date":
            return day_text(threshold)
        return f"{Decimal(f'{int(threshold)}e{-self.scale}'):f}"  # which rounds no digit

    def before(self, threshold: Threshold) -> Threshold:
        """The largest cell below a threshold."""
        return math.nextafter(threshold, -math.inf) if self.kind == "double" else max(threshold - 1, -_LARGEST)

    def written(self, threshold: Threshold) -> str:
        """A threshold in SQL."""
        return f"CAST('{self._text(threshold)}' AS {self._type})"

    def array(self, thresholds: Iterable[Threshold], brackets: str) -> str:
        """Thresholds as one array, between the brackets that an engine writes around it."""
        return f"CAST('{brackets[0]}{','.join(map(self._text, thresholds))}{brackets[1]}' AS {self._type}[])"

    def code(self, edges: Floats | None, alias: str) -> Coded:
        """See :class:`Cells`."""
        inner = (self.attribute.unit_edges if edges is None else edges)[1:-1]
        return Coded(f"CASE WHEN {self.cell} IS NULL THEN {self.missing} ELSE {self.part(self.thresholds(inner))} END")

    def part(self, thresholds: Sequence[Threshold]) -> str:
        """How many of the ascending thresholds are at most the cell, by bisection; the cell is not NULL."""

        def between(low: int, high: int) -> str:
            if low == high:
                return str(low)
            middle = (low + high) // 2
            below, above = between(low, middle), between(middle + 1, high)
            return f"CASE WHEN {self.cell} < {self.written(thresholds[middle])} THEN {below} ELSE {above} END"

        return between(0, len(thresholds))


@dataclass(frozen=True, eq=False)
class Listed(Cells):
    """Cells that are known one by one.

    Attributes:
        values: the different ones, an Arrow array, none missing.
        rows: that hold each when they were listed, shape (values,).
        series: each as a table has it; some may be missing there.
        notes: on how they are taken.
    """

    attribute: Attribute
    cell: str
    values: pa.Array
    rows: Integers
    series: pd.Series[Any]
    notes: tuple[str, ...] = ()

    def column(self, cells: pa.Array) -> pd.Series[Any]:
        """See :class:`Cells`."""
        # An engine groups -0.0 with 0.0, which are two values to Arrow.
        cells, values = (_one_zero(array) for array in (cells.cast(self.values.type), self.values))
        found = pc.index_in(cells, value_set=values)
        if found.null_count > cells.null_count:
            raise DataError(CHANGED)
        at = found.fill_null(len(self.values))
        return self.series.reindex(np.asarray(at)).reset_index(drop=True)

    @cached_property
    def codes(self) -> Codes:
        """Of each value, shape (values,)."""
        return self.attribute.encode(self.series)

    @cached_property
    def numbers(self) -> Floats:
        """Of each value of a column with bins, in units; NaN is missing. Shape (values,)."""
        return self.attribute.in_units(self.series)

    def code(self, edges: Floats | None, alias: str) -> Coded:
        """See :class:`Cells`."""
        if edges is None:
            return self.looked_up(self.codes, alias)
        found = np.searchsorted(edges[1:-1], self.numbers, side="right")
        return self.looked_up(np.where(np.isnan(self.numbers), self.missing, found).astype(np.int32), alias)

    def looked_up(self, codes: Codes, alias: str) -> Coded:
        """The code that stands beside a value."""
        pairs = [
            (literal(value, self.values.type), code)
            for value, code in zip(self.values.to_pylist(), codes.tolist(), strict=True)
        ]
        empty = f"CASE WHEN {self.cell} IS NULL THEN {self.missing}"
        if len(pairs) <= _MOST_CASES:
            return Coded(f"{empty} {' '.join(f'WHEN {self.cell} = {v} THEN {c}' for v, c in pairs)} ELSE {UNKNOWN} END")
        listed = ", ".join(f"({value}, {code})" for value, code in pairs)
        # The rows' own columns stand beside these, whatever they are called.
        value, code = f"dpsyn_value_{alias}", f"dpsyn_code_{alias}"
        join = f"LEFT JOIN (VALUES {listed}) AS {alias}({value}, {code}) ON {self.cell} = {alias}.{value}"
        return Coded(f"{empty} ELSE COALESCE({alias}.{code}, {UNKNOWN}) END", join)


def _one_zero(cells: pa.Array) -> pa.Array:
    return pc.add(cells, pa.scalar(0.0, cells.type)) if pa.types.is_floating(cells.type) else cells


@dataclass(frozen=True, eq=False)
class Known(Cells):
    """Cells that are the codes of an attribute."""

    attribute: Attribute
    cell: str

    def column(self, cells: pa.Array) -> pd.Series[Any]:
        """See :class:`Cells`."""
        return self.attribute.decode(np.asarray(cells, dtype=np.int32), np.random.default_rng(0))

    def code(self, edges: Floats | None, alias: str) -> Coded:
        """See :class:`Cells`."""
        return Coded(self.cell)


def in_microseconds(cell: str) -> str:
    """SQL of DuckDB for a moment of nanoseconds, cut off to microseconds: its own casts round, the end of a day into the
    next one."""
    fine = f"epoch_ns({cell})"
    floored = f"make_timestamp(({fine} - ({fine} % 1000 + 1000) % 1000) // 1000)"
    # The last moments that nanoseconds reach, either way, are infinite to DuckDB.
    ends = " ".join(
        f"WHEN {cell} = '{end}' THEN make_timestamp({at})"
        for end, at in (("infinity", (2**63 - 1) // 1000), ("-infinity", -(2**63 - 1) // 1000))
    )
    return f"CASE {ends} ELSE {floored} END"


def numbers_of(attribute: Attribute, kind: pa.DataType, cell: str) -> Numbers | None:
    """How the cells of a column of numbers or dates are compared; None where its type has another order than its values."""
    if attribute.kind == "date":
        day = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
        return Numbers(attribute, f"CAST({cell} AS DATE)", "date") if day else None
    if attribute.kind != "numeric":
        return None
    if pa.types.is_floating(kind):
        return Numbers(attribute, cell, "double", single=not pa.types.is_float64(kind))
    far = np.abs(attribute.unit_edges).max() >= 2.0**62
    cell = f"CAST({cell} AS INTEGER)" if pa.types.is_boolean(kind) else cell
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        wide = bool(far) or pa.types.is_uint64(kind)
        return Numbers(attribute, f"CAST({cell} AS {'DECIMAL(38, 0)' if wide else 'BIGINT'})", "exact", wide=wide)
    if pa.types.is_decimal(kind):
        return Numbers(attribute, f"CAST({cell} AS DECIMAL(38, {kind.scale}))", "exact", kind.scale, wide=True)
    return None


def _least(attribute: Attribute, cuts: Floats) -> Floats:
    """The least doubles that count at or above each cut in units: by bisection, for counting is monotone."""

    def turned(bits: Integers) -> Integers:
        """The bits of doubles as whole numbers in the same order, and back."""
        return np.where(bits < 0, -(2**63) - bits, bits)

    def at(places: Integers) -> Floats:
        return turned(places).view(np.float64)

    ends = np.array([float(end or 0.0) for end in (attribute.lower, attribute.upper)])
    low, high = (np.full(len(cuts), end) for end in turned(ends.view(np.int64)))
    counted: Callable[[Floats], Floats] = lambda values: attribute.in_units(pd.Series(values))  # noqa: E731
    # in_units(at(low)) < cut <= in_units(at(high)), unless a cut lies outside the range.
    while (low + 1 < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        reached = counted(at(middle)) >= cuts
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    return at(high)


def _least_exact(value: float, scale: int) -> int:
    """The least whole number k for which k/10^scale, rounded to double precision, is at least this."""
    below = Fraction(math.nextafter(value, -math.inf))
    found = math.ceil((below + Fraction(value)) / 2 * 10**scale)
    # Half-way between two doubles rounding goes to the even one.
    found = found if float(Fraction(found, 10**scale)) >= value else found + 1
    return int(max(-_LARGEST, min(found, _LARGEST)))
