"""One column of a domain: the values it may take, and the map between values and integer codes."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks, units
from dpsyn.cells import floats, is_unicode, plain, settled, undecimal
from dpsyn.dates import FIRST_DAY, LAST_DAY, day_text, day_texts, days, local_moments
from dpsyn.errors import DomainError, ParameterError, quoted, shown
from dpsyn.notation import counted

Kind = Literal["truth", "categorical", "numeric", "date"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CALENDAR = ("weekday", "month", "day")
"""What a date may keep: of a day, its place in the week, in the year and in the month."""
Codes = npt.NDArray[np.int32]

MAX_BINS = 100_000
_FEW_UNITS = 9


@dataclass(frozen=True)
class Attribute:  # noqa: PLW1641  # the hash is the dataclass's
    """One column: its kind and the values it may take.

    Args:
        name: the column's name.
        kind: ``"truth"`` (two truth values, one bit), ``"categorical"``, ``"numeric"`` or ``"date"``.
        categories: truth and categorical: the values, in code order; for ``"truth"`` the false value comes first. A day is
            a text, 2024-12-31.
        lower, upper: numeric: bounds; date: bounds as dates (also as texts, 2024-12-31), or as days since 1970-01-01, which
            is what they become.
        unit: numeric: the values are whole multiples of it (1, 0.01 for cents, 1000), others are rounded to the nearest one;
            None: any numbers. Dates have the unit 1, a day.
        bins: numeric and date: number of bins, equally wide (multiples of a unit: as equally as they can be shared out).
        integer: numeric: the unit is 1.
        missing: the column may be empty; an empty cell takes the last code.
        keep: date: what of a day, besides when it is, mechanisms on categories are to keep: ``"weekday"``, ``"month"``,
            ``"day"`` (of the month).
        public: the above is known without looking at the private data.

    Raises:
        DomainError: the parts contradict each other; the message names the column.
    """

    name: str
    kind: Kind
    categories: tuple[Any, ...] = ()
    lower: float | None = None
    upper: float | None = None
    unit: float | None = None
    bins: int = 10
    integer: bool = False
    missing: bool = False
    public: bool = False
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not is_unicode(self.name):
            raise DomainError(
                f"a column's name must be a Unicode text that is not empty and has no zero byte, got {shown(self.name)}"
            )
        object.__setattr__(self, "name", str(self.name))
        is_date = isinstance(self.kind, str) and self.kind == "date"  # an array in its place has no truth value
        bounds = {"lower": _date_bound, "upper": _date_bound} if is_date else {}
        for field, check in (_CHECKS | bounds).items():
            try:
                object.__setattr__(self, field, check(field, getattr(self, field)))
            except ParameterError as error:
                raise self._wrong(str(error)) from None
        if self.keep and self.kind != "date":
            raise self._wrong("only dates have a weekday, month or day to keep")
        others = {"categories": ()} if self.is_binned else {"lower": None, "upper": None, "unit": None, "integer": False}
        if stray := next((field for field, none in others.items() if getattr(self, field) != none), None):
            kinds = "numbers and dates" if not self.is_binned else "truth and categorical columns"
            raise self._wrong(f"{stray} is for {kinds}, and its kind is {self.kind}: leave it out, or change the kind")
        if self.is_binned:
            self._settle_unit()
            self._check_bounds()
        else:
            self._check_categories()

    def __eq__(self, other: object) -> bool:
        """Categories that are equal and of other types, such as 0 and False, are others: they come out as they are."""
        return isinstance(other, Attribute) and _in_full(self) == _in_full(other)

    def _wrong(self, message: str) -> DomainError:
        return DomainError(f"column {quoted(self.name)}: {message}", column=self.name)

    def _settle_unit(self) -> None:
        if self.integer or self.kind == "date":
            if self.unit not in (None, 1):
                raise self._wrong(f"whole numbers and dates have the unit 1, not {self.unit}")
            object.__setattr__(self, "unit", 1.0)
        object.__setattr__(self, "integer", self.kind == "numeric" and self.unit == 1)

    def _check_categories(self) -> None:
        if self.kind == "truth" and (len(self.categories) != 2 or self.missing):
            raise self._wrong(
                f"a truth column has exactly two values and no missing ones, "
                f"got {len(self.categories)} values{' and missing ones' if self.missing else ''}; make it categorical"
            )
        if not self.categories and not self.missing:
            raise self._wrong("a categorical column needs at least one category")
        for category in self.categories:
            if any(category is absent for absent in (None, pd.NaT, pd.NA)) or (
                isinstance(category, float) and math.isnan(category)
            ):
                raise self._wrong("a missing value cannot be a category; set missing=True instead")
            if not isinstance(category, str | int | float):
                raise self._wrong(
                    f"category {shown(category)} is a {type(category).__name__}; use texts, numbers or truth values"
                )
            if isinstance(category, float) and not math.isfinite(category):
                raise self._wrong(f"category {quoted(category)} is not finite; use a finite number or a text")
            if isinstance(category, str) and not is_unicode(category):
                raise self._wrong(f"category {shown(category)} is not Unicode without zero bytes; correct it")
            if isinstance(category, int) and abs(category) >= 2**1023:
                raise self._wrong("a category is a number of more than 300 digits; write it as a text")
        if len(set(self.categories)) != len(self.categories):
            twice = Counter(self.categories).most_common(1)[0][0]
            raise self._wrong(f"category {shown(twice)} is listed twice")

    def _check_bounds(self) -> None:
        if self.lower is None or self.upper is None:
            raise self._wrong(f"a {self.kind} column needs a lower and an upper bound")
        got = f"got {self._told(self.lower)} and {self._told(self.upper)}"
        if not self.lower < self.upper:
            raise self._wrong(f"the bounds must be finite with lower < upper, {got}")
        if self.kind == "date" and (self.lower < FIRST_DAY or self.upper > LAST_DAY):
            raise self._wrong(f"the bounds must lie between {day_text(FIRST_DAY)} and {day_text(LAST_DAY)}, {got}")
        if self.kind == "date" and not all(float(b).is_integer() for b in (self.lower, self.upper)):
            raise self._wrong(f"the bounds of dates must be whole days since 1970-01-01, {got}")
        largest = max(abs(self.lower), abs(self.upper))
        if self.is_whole and largest >= units.EXACT:
            raise self._wrong("the bounds of whole numbers must lie between -2^53 and 2^53; beyond, make it categorical")
        if self.unit is not None:
            if not self.is_whole and largest * units.ratio(self.unit).denominator >= units.EXACT_DECIMALS:
                raise self._wrong(
                    f"unit = {self.unit} is too fine for such bounds: their multiples have more than 15 digits"
                )
            if self.effective_bins < 1:
                what = "whole number" if self.unit == 1 else f"multiple of {self.unit}"
                raise self._wrong(f"there is no {what} between the bounds {self.lower} and {self.upper}")
        if not math.isfinite(self._high - self._low):
            raise self._wrong(
                f"the range from {self.lower} to {self.upper} is wider than double precision holds; bring the bounds closer"
            )
        if self.unit is None and not (np.diff(self.edges) > 0).all():
            raise self._wrong(
                f"the bounds {self.lower} and {self.upper} cannot be split into {self.bins} bins in double precision; "
                "change the bounds or take fewer bins"
            )

    def _told(self, bound: float) -> str:
        """A bound that may be none, as it is written: the day of a date, if it is near the calendar."""
        is_day = self.kind == "date" and float(bound).is_integer() and abs(bound) <= LAST_DAY
        return day_text(bound) if is_day else shown(bound)

    @property
    def is_binned(self) -> bool:
        """Whether codes stand for intervals (numeric and date) rather than for single values."""
        return self.kind in ("numeric", "date")

    @property
    def remedy(self) -> str:
        """What to do about a cell that it cannot hold."""
        return f"{'make the column categorical' if self.is_binned else 'add it to the domain'} or change the data"

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only, so that the column says nothing."""
        return self.size == 1 and not self.is_binned

    def encodes_as(self, other: Attribute) -> bool:
        """Whether both give every cell the same code: they differ at most in what is known of them."""
        checks.instance("other", other, Attribute, "an attribute")
        return self == replace(other, public=self.public)

    @cached_property
    def size(self) -> int:
        """Number of codes, the one for missing values included."""
        return (self.effective_bins if self.is_binned else len(self.categories)) + int(self.missing)

    @property
    def effective_bins(self) -> int:
        """Number of bins: never more than there are multiples of the unit between the bounds."""
        return self.bins if self.unit is None else min(self.bins, self._range[1] - self._range[0] + 1)

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole: days, or multiples of a whole unit."""
        return self.unit is not None and units.ratio(self.unit).denominator == 1

    @property
    def _low(self) -> float:
        return self._bound(self.lower)

    @property
    def _high(self) -> float:
        return self._bound(self.upper)

    def _bound(self, bound: float | None) -> float:
        if bound is None:
            raise DomainError(f"column {quoted(self.name)} is of categories and has no bounds", column=self.name)
        return float(bound)

    @property
    def _range(self) -> tuple[int, int]:
        """The smallest and the largest multiple of the unit between the bounds, in units."""
        assert self.unit is not None
        low, high = units.exact_count(self._low, self.unit), units.exact_count(self._high, self.unit)
        return math.floor(low) if self.kind == "date" else math.ceil(low), math.floor(high)

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """Edges of the bins, shape (effective_bins + 1,). Bin i holds edges[i] ≤ value < edges[i+1]; the last one is closed.

        Whole numbers and days have whole edges, the last one being one past the largest value; those of other units lie
        half-way between two multiples, which no rounding moves into another bin.

        Raises:
            DomainError: it is a column of categories.
        """
        if self.unit is None or self.unit == 1:
            return self.unit_edges
        return units.multiples(self.unit_edges - 0.5, self.unit)

    @property
    def unit_edges(self) -> npt.NDArray[np.float64]:
        """As :attr:`edges`, but counted in units: whole, the last one being one past the largest multiple.

        Without a unit they are the edges.
        """
        if self.unit is None:
            with np.errstate(over="ignore"):  # at the last edge, which is the upper bound whatever its multiple comes to
                return np.linspace(self._low, self._high, self.bins + 1)
        (first, last), bins = self._range, self.effective_bins
        return np.array([first + i * (last - first + 1) // bins for i in range(bins + 1)], dtype=np.float64)

    def labels(self, edges: npt.NDArray[np.float64] | None = None) -> list[str]:
        """A short text for every code, in code order. Different codes of a binned column have different texts.

        ``edges`` are those of other bins than :attr:`unit_edges`.

        Raises:
            ParameterError: edges are no numbers that grow, from the first to the last of these.
        """
        if not self.is_binned:
            return self._and_missing([str(c) for c in self.categories])
        edges = self.unit_edges if edges is None else self._within(edges)
        if self.unit is not None:
            pairs = [(int(a), int(b) - 1) for a, b in pairwise(edges)]
            write = day_text if self.kind == "date" else partial(units.written, unit=self.unit)
            names = [write(a) if a == b else f"{write(a)} to {write(b)}" for a, b in pairs]
        else:
            digits = next((d for d in range(4, 17) if len({f"{e:.{d}g}" for e in edges}) == len(edges)), 17)
            shown = [f"{e:.{digits}g}" for e in edges]
            names = [f"{a} to {b}" for a, b in pairwise(shown)]
        return self._and_missing(names)

    def _within(self, edges: object) -> npt.NDArray[np.float64]:
        first, last = self.unit_edges[[0, -1]]
        why = f"numbers that grow, from {_with_all_digits(first)} to {_with_all_digits(last)}"
        found = np.array([checks.number("edges", edge, first, last, why=why) for edge in checks.items("edges", edges, why)])
        if (np.diff(found) <= 0).any():
            raise ParameterError("edges", found.tolist(), why)
        return found

    def _and_missing(self, names: list[str]) -> list[str]:
        missing = "(missing)"
        while missing in names:
            missing = f"({missing})"
        return names + [missing] * self.missing

    @property
    def reach(self) -> str:
        """The bounds of a numeric or date column in words: 0 to 10, 2020-01-01 to 2024-12-31."""
        return " to ".join(self.bounds)

    @property
    def bounds(self) -> tuple[str, str]:
        """Both bounds as they are written, with all digits: 0 and 1234567.89, 2020-01-01 and 2024-12-31; empty texts of a
        column of categories."""
        if not self.is_binned:
            return "", ""
        write = day_text if self.kind == "date" else _with_all_digits
        return write(self._low), write(self._high)

    def outside(self, column: pd.Series[Any]) -> npt.NDArray[np.bool_]:
        """Which cells of a numeric or date column lie beyond the bounds, shape (n,); none of other columns."""
        if not self.is_binned:
            return np.zeros(len(self._column(column)), dtype=bool)
        values = self._as_numbers(column)
        return np.asarray((values < self._low) | (values > self._high))

    def on_a_bound(self, column: pd.Series[Any]) -> float:
        """The share of the cells of a numeric or date column that have its smallest or largest value; 0 where it may have
        few values, and half of them may well be these."""
        low, high = (self._low, self._high) if self.unit is None else self._range
        if self.unit is not None and high - low < _FEW_UNITS:
            return 0.0
        numbers = self.in_units(column)
        return float(np.mean((numbers <= low) | (numbers >= high))) if len(numbers) else 0.0

    def between_units(self, column: pd.Series[Any]) -> npt.NDArray[np.bool_]:
        """Which cells of a numeric column within the bounds are no multiples of its unit, shape (n,); none of others."""
        if self.kind != "numeric" or self.unit is None:
            return np.zeros(len(self._column(column)), dtype=bool)
        values = self._as_numbers(column)
        short = str(column.dtype).lower() in {"float16", "float32"}
        precision = float(np.finfo(np.float32 if short else np.float64).eps)
        within = np.where((values >= self._low) & (values <= self._high), values, 0.0)
        return units.between(within, self.unit, precision)

    def numbers(self, column: pd.Series[Any]) -> npt.NDArray[np.float64]:
        """A numeric or date column as numbers, clipped to the bounds; NaN where missing. Shape (n,).

        Raises:
            DomainError: a cell is neither missing nor a number (or a date); the message names its row.
        """
        return np.asarray(np.clip(self._as_numbers(column), self._low, self._high))

    def _as_numbers(self, column: pd.Series[Any]) -> npt.NDArray[np.float64]:
        if not self.is_binned:
            raise self._wrong(f"a {self.kind} column has no numbers")
        column = self._column(column)
        moments = pd.api.types.is_datetime64_any_dtype(column.dtype)
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        try:
            if numeric if self.kind == "date" else moments:
                values = np.full(len(column), np.nan)
            else:
                values = days(local_moments(column)) if self.kind == "date" else floats(column)
        except UnicodeEncodeError:
            raise self._wrong("a cell holds a text that is not Unicode; correct it") from None
        bad = np.isnan(values)
        if bad.any():
            bad &= ~column.isna().to_numpy()
            if bad.any():
                what = "a number, not a date" if numeric else "not a date"
                self._reject(column, bad, what if self.kind == "date" else "not a number")
        return values

    def in_units(self, column: pd.Series[Any]) -> npt.NDArray[np.float64]:
        """A numeric or date column counted in units: whole numbers, those of the nearest multiples between the bounds.

        Multiples count from 0, so 1.25 is 125 where the unit is 0.01; a day is its number since 1970-01-01. NaN is missing.
        Without a unit they are the :meth:`numbers`. Shape (n,).

        Raises:
            DomainError: as :meth:`numbers`.
        """
        numbers = self.numbers(column)
        return numbers if self.unit is None else self._nearest(numbers, self.unit)

    def taken(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """:meth:`numbers` as mechanisms take them: the nearest multiples of the unit between the bounds. NaN stays."""
        return numbers if self.unit is None else units.multiples(self._nearest(numbers, self.unit), self.unit)

    def _nearest(self, numbers: npt.NDArray[np.float64], unit: float) -> npt.NDArray[np.float64]:
        return np.clip(units.counts(numbers, unit), *self._range)

    def _column(self, column: pd.Series[Any]) -> pd.Series[Any]:
        """A column that somebody handed in, its categories as plain values."""
        if not isinstance(column, pd.Series):
            raise self._wrong(f"its values must be one pandas Series, got a {type(column).__name__}")
        try:
            column.isna()
        except ArithmeticError:
            raise self._wrong("a cell holds a decimal that is a signalling NaN; make it empty") from None
        kind = column.dtype
        if isinstance(kind, np.dtype) and not kind.isnative:
            return column.astype(kind.newbyteorder("="))
        return column.astype(object) if isinstance(kind, pd.CategoricalDtype) else column

    def encode(self, column: pd.Series[Any]) -> Codes:
        """Codes 0 … size-1 of a column, shape (n,).

        Numbers outside the bounds are clipped to them; a category outside the list, a cell of a wrong type, or a missing
        value in a column that may have none, raises :class:`DomainError` with the row and the value.
        """
        if self.is_binned:
            values = self.in_units(column)
            empty = np.isnan(values)
            codes = np.searchsorted(self.unit_edges, values, side="right").astype(np.int32) - 1
            np.clip(codes, 0, self.effective_bins - 1, out=codes)
        else:
            codes, empty = self._look_up(column)
            bad = (codes < 0) & ~empty
            if bad.any():
                shown = ", ".join(quoted(c) for c in self.categories[:8]) + (", …" if len(self.categories) > 8 else "")
                self._reject(column, bad, f"not one of the categories {shown}")
        if empty.any():
            if not self.missing:
                count = int(empty.sum())
                raise self._wrong(
                    f"row {int(np.argmax(empty)) + 1} is empty, but the domain allows no missing values "
                    f"({counted(count, 'such row')}); allow them or fill the cells"
                )
            codes[empty] = self.size - 1
        return codes

    def _look_up(self, column: pd.Series[Any]) -> tuple[Codes, npt.NDArray[np.bool_]]:
        try:
            positions, values = pd.factorize(day_texts(self._column(column)))
        except (TypeError, ArithmeticError) as error:
            raise self._wrong("a cell holds a list or another nested value; it must hold single values") from error
        different = pd.Index([undecimal(value) for value in pd.Index(values).astype(object)], dtype=object)
        known = pd.Index(list(self.categories), dtype=object).get_indexer(different).astype(np.int32)
        empty = np.asarray(positions < 0)
        return np.append(known, np.int32(-1))[positions], empty

    def _reject(self, column: pd.Series[Any], bad: npt.NDArray[np.bool_], why: str) -> None:
        row, count = int(np.argmax(bad)), int(bad.sum())
        raise self._wrong(
            f"row {row + 1} has {shown(plain(column.iloc[row]))}, which is {why} ({counted(count, 'such row')}); "
            f"{self.remedy}"
        )

    def decode(self, codes: Codes, generator: np.random.Generator) -> pd.Series[Any]:
        """Values for codes: the category itself, or a uniform draw inside the bin. ``encode`` gives the codes back.

        Raises:
            DomainError: a code lies outside 0 … size-1, or is no whole number.
            ParameterError: ``generator`` is none.
        """
        checks.instance("generator", generator, np.random.Generator, "a numpy.random.Generator")
        codes = self._vector(codes, "iu")
        if len(codes) and (codes.min() < 0 or codes.max() >= self.size):
            raise self._wrong(f"codes must lie between 0 and {self.size - 1}, got {codes.min()} to {codes.max()}")
        empty = (codes == self.size - 1) if self.missing else np.zeros(len(codes), dtype=bool)
        if not self.is_binned:
            values = np.array([*self.categories, None], dtype=object)[np.where(empty, len(self.categories), codes)]
            return settled(pd.Series(values, name=self.name, dtype=object))
        edges = self.unit_edges
        at = np.where(empty, 0, codes)
        low, high = edges[at], edges[at + 1]
        if self.unit is not None:
            drawn = generator.integers(low.astype(np.int64), high.astype(np.int64)).astype(np.float64)
        else:
            # Rounding may return the upper edge itself, which belongs to the next bin.
            drawn = np.minimum(generator.uniform(low, high), np.nextafter(high, low))
        return self.from_units(np.where(empty, np.nan, drawn))

    def from_numbers(self, values: npt.NDArray[np.float64]) -> pd.Series[Any]:
        """A numeric or date column from numbers: clipped to the bounds, the nearest multiples of its unit; NaN is missing.

        Raises:
            DomainError: they are no numbers, or the column is neither numeric nor a date.
        """
        numbers = np.clip(self._numbers(values), self._low, self._high)
        return self.from_units(numbers if self.unit is None else units.counts(numbers, self.unit))

    def from_units(self, counts: npt.NDArray[np.float64]) -> pd.Series[Any]:
        """The column whose :meth:`in_units` these are, written in as few decimals as the unit: 0.3, not 0.1 + 0.2.

        They are rounded, and clipped to the bounds; NaN is missing.

        Raises:
            DomainError: as :meth:`from_numbers`.
        """
        counts = self._numbers(counts)
        if self.unit is None:
            return pd.Series(np.clip(counts, self._low, self._high), name=self.name)
        counts = np.clip(np.round(counts), *self._range)
        empty = np.isnan(counts)
        if self.kind == "date":
            days = np.where(empty, 0, counts).astype(np.int64).astype("datetime64[D]").astype("datetime64[us]")
            return pd.Series(np.where(empty, np.datetime64("NaT", "us"), days), name=self.name)
        values = units.multiples(counts, self.unit)
        if not self.is_whole:
            return pd.Series(values, name=self.name)
        series = pd.Series(np.where(empty, 0, values).astype(np.int64), name=self.name)
        return series.astype("Int64").mask(empty) if self.missing or empty.any() else series

    def _numbers(self, values: object) -> npt.NDArray[np.float64]:
        if not self.is_binned:
            raise self._wrong(f"a {self.kind} column is not made of numbers")
        return self._vector(values, "iuf").astype(np.float64)

    def _vector(self, values: object, kinds: str) -> npt.NDArray[Any]:
        try:
            # Under a mask stand numbers that nobody is to see.
            array = np.empty(0, dtype=object) if np.ma.is_masked(values) else np.asarray(values)
        except ValueError:
            array = np.empty(0, dtype=object)
        if array.ndim != 1 or (array.dtype.kind not in kinds and (len(array) or array.dtype == object)):
            raise self._wrong(f"a vector of {'whole ' * (kinds == 'iu')}numbers is needed, got {shown(values)}")
        return array if array.dtype.kind in kinds else array.astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that :meth:`from_dict` reads back."""
        shared: dict[str, Any] = {"name": self.name, "kind": self.kind, "missing": self.missing, "public": self.public}
        if self.is_binned:
            # Columns without a unit, or with 1, are written as they were before there were others.
            other = {"unit": self.unit} if self.unit not in (None, 1.0) else {}
            bounds = {"lower": self.lower, "upper": self.upper, "bins": self.bins, "integer": self.integer}
            return shared | bounds | other | ({"keep": list(self.keep)} if self.keep else {})
        return shared | {"categories": list(self.categories)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Attribute:
        """The attribute that :meth:`to_dict` wrote; bounds of dates may be days such as 2024-12-31.

        Raises:
            DomainError: a field is absent, unknown or of a wrong type.
        """
        if not isinstance(data, Mapping) or not {"name", "kind"} <= data.keys():
            raise DomainError(f"a column is described by at least a name and a kind, got {shown(data)}")
        unknown = sorted(map(str, data.keys() - {f.name for f in fields(cls)}))
        if unknown:
            raise DomainError(
                f"column {quoted(data['name'])}: {quoted(unknown[0])} is not a field of a column", column=str(data["name"])
            )
        return cls(**data)


def _in_full(attribute: Attribute) -> list[object]:
    """Every field, and the types of the categories."""
    return [*(getattr(attribute, field.name) for field in fields(attribute)), *map(type, attribute.categories)]


def _listed(field: str, value: object) -> tuple[Any, ...]:
    return tuple(plain(member) for member in checks.items(field, value, "a list of values in the order of their codes"))


def _bound(field: str, value: object) -> float | None:
    return None if value is None else checks.number(field, value) + 0.0  # which makes 0.0 of -0.0


def _date_bound(field: str, value: object) -> float | None:
    """A bound of dates in days since 1970-01-01."""
    if isinstance(value, str | datetime.date | np.datetime64):
        unicode = not isinstance(value, str) or is_unicode(value)
        day = float(days(local_moments(pd.Series([value], dtype=object)))[0]) if unicode else math.nan
        if math.isnan(day):
            raise ParameterError(field, value, "a date such as 2024-12-31, or days since 1970-01-01")
        return int(day)
    bound = _bound(field, value)
    return int(bound) if bound is not None and bound.is_integer() else bound


def _with_all_digits(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _kept(field: str, value: object) -> tuple[str, ...]:
    named = [checks.choice(field, part, CALENDAR) for part in checks.items(field, value, "a list of weekday, month, day")]
    return tuple(part for part in CALENDAR if part in named)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "kind": lambda field, value: checks.choice(field, value, KINDS),
    "categories": _listed,
    "lower": _bound,
    "upper": _bound,
    "unit": lambda field, value: None if value is None else checks.scale(field, value),
    "bins": lambda field, value: checks.whole(field, value, 1, MAX_BINS),
    "integer": checks.flag,
    "missing": checks.flag,
    "public": checks.flag,
    "keep": _kept,
}
"""How every field but the name is checked; each gives a plain Python value."""
