"""A column of any length, folded batch by batch into the few values that decide what it is."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpsyn.attribute import Attribute
from dpsyn.cells import floats
from dpsyn.data._frames import infer_typed
from dpsyn.data._numbers import carried, countable
from dpsyn.data._parquet import as_series
from dpsyn.data._words import (
    CLOSING_ZEROS,
    CODE_LIKE,
    COMMA_NUMBER,
    EXACT,
    GROUPED,
    LEADING_ZERO,
    LONG,
    LONG_WHOLE,
    NOT_ZERO,
    ODD,
    TELEPHONE,
    Weights,
    Words,
    as_many_decimals,
    matches,
    read_dates,
    read_numbers,
    rounded,
    ways_to_write,
    zoned,
)
from dpsyn.data.fit import category_of
from dpsyn.data.infer import COMMA_AND_THREE, FEW_INTEGERS, POINT, POINT_AND_THREE, Column, infer_texts
from dpsyn.dates import days, local_moments, timed, written_as_numbers
from dpsyn.errors import DataError
from dpsyn.units import fineness

CHANGED = "the data changed while it was read; read it again when nobody writes to it"

Mask = npt.NDArray[np.bool_]
Counter = Callable[[Callable[[Any], Any]], int]
"""Counts the different values that a function of the batches of a column gives."""

EncodeAs = Callable[[Attribute, "pd.Series[Any]"], npt.NDArray[Any]]
Tell = Callable[["pd.Series[Any]", npt.NDArray[np.int64]], None]
"""Is told of values, and how many cells hold each."""

_HEAD = 100


class Fold:
    """The different values of a column of a Parquet file in the order of their first rows; past a limit, only some.

    A column with more than ``capacity`` different values is all numbers, all dates, or refused. So once there are more, a
    value is forgotten if nothing is telling about it: the values kept are inferred, or fitted to an attribute, as if they
    were all. Categories of a type that lists them are never forgotten.
    """

    def __init__(self, capacity: int, count: Counter) -> None:
        self.rows = 0
        self.shortened = False
        self._capacity = capacity
        self._count = count
        self._values: Any = None
        self._cells = np.empty(0, dtype=np.int64)
        self._first = np.empty(0, dtype=np.int64)

    def add(self, array: Any, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Take in the next batch, an Arrow array; ``rows`` where a cell stands for several, nobody knows which."""
        self._fold(*self.split(array), rows)

    def _fold(self, values: Any, codes: npt.NDArray[np.int64], rows: npt.NDArray[np.int64] | None = None) -> None:
        if self._values is None:
            self._values = values[:0]
        at = self._positions(values)
        if rows is None:
            cells, first = np.bincount(codes, minlength=len(values)), self.rows + _first_of(codes, len(values))
        else:
            cells, first = np.zeros(len(values), dtype=np.int64), np.full(len(values), -1)
            np.add.at(cells, codes, rows)
        np.add.at(self._cells, at[at >= 0], cells[at >= 0])
        fresh = np.flatnonzero(at < 0)
        self._values = pa.concat_arrays([self._values, values.take(pa.array(fresh))])
        self._cells, self._first = np.append(self._cells, cells[fresh]), np.append(self._first, first[fresh])
        self.rows += len(codes) if rows is None else int(rows.sum())
        # One more than may be listed, so that a column that is neither numbers nor dates is known to be too wide; and
        # one more for a missing value.
        certain = self._capacity + 2
        if len(self._values) > certain and not pa.types.is_dictionary(values.type):
            self._forget(certain)

    def _positions(self, values: Any) -> npt.NDArray[np.int64]:
        """Position of every value among those kept, -1 for others."""
        if pa.types.is_dictionary(values.type):
            known = len(self._values)
            at = _distinct(pa.concat_arrays([self._values, values]))[known:]
            return np.where(at < known, at, -1)
        at = pc.index_in(values, value_set=self._values).fill_null(-1)
        return np.asarray(at.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _forget(self, certain: int) -> None:
        others = self._values.slice(certain)
        some = np.asarray(others.is_valid())
        telling = np.ones(len(self._values), dtype=bool)
        telling[certain:][some] = self._telling(others.drop_null())
        self.shortened |= not telling.all()
        self._values = self._values.filter(pa.array(telling))
        self._cells, self._first = self._cells[telling], self._first[telling]

    def split(self, array: Any) -> tuple[Any, npt.NDArray[np.int64]]:
        """The different values of a batch, one of them perhaps missing, and the position of every row's value."""
        if pa.types.is_decimal(array.type) and array.type.bit_width < 128:
            array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
        if pa.types.is_floating(array.type):
            array = array.cast(pa.float64())
            array = pc.if_else(pc.is_nan(array), None, array)
        codes = _distinct(array)
        return array.take(pa.array(_first_of(codes, int(codes.max(initial=-1)) + 1))), codes

    def _telling(self, values: Any) -> Mask:
        """Which of some values, none missing, may not be forgotten."""
        series = as_series(values)
        if pd.api.types.is_datetime64_any_dtype(series.dtype):
            return _bounds(_days(local_moments(series)))
        numbers = floats(series)
        if series.dtype != object:
            return _bounds(numbers) | _some(~written_as_numbers(numbers), 1)
        lost = ~carried(series)
        return _bounds(numbers) | _some(lost, 1) | _some(lost & (numbers == np.floor(numbers)), 1)

    def column(self, name: str) -> Column:
        """What the column is, by the values kept; refused as a whole column is."""
        return infer_typed(name, as_series(self._values), self._weights())

    def _weights(self) -> Weights:
        some = self.rows - int(self._cells[np.asarray(self._values.is_null())].sum())
        return Weights(self._cells, self._first, some, self._distinct if self.shortened else None)

    def _distinct(self, read: Callable[[Any], Any]) -> int:
        return self._count(lambda array: read(countable(self.split(array)[0].drop_null())))

    def encoder(
        self, column: Column, encode_as: EncodeAs = Attribute.encode, tell: Tell = lambda values, cells: None
    ) -> Callable[[Any], npt.NDArray[Any]]:
        """How to encode a batch as the column that the values kept are: as codes, or by :meth:`Attribute.in_units`.

        ``tell`` is told of every cell, once all batches are encoded.
        """
        entries = encode_as(column.attribute, column.values)
        if not self.shortened:
            tell(column.values, self._cells)

        def encode(array: Any) -> npt.NDArray[Any]:
            if self.shortened:
                return self._encoded(column, array, encode_as, tell)
            values, codes = self.split(array)
            at = self._positions(values)
            if (at < 0).any():
                raise DataError(CHANGED)
            return entries[at][codes]

        return encode

    def _encoded(self, column: Column, array: Any, encode_as: EncodeAs, tell: Tell) -> npt.NDArray[Any]:
        values = as_series(array)
        tell(values, np.ones(len(values), dtype=np.int64))
        return encode_as(column.attribute, values)


class TextFold(Fold):
    """The different texts of a column; see :class:`Fold`.

    Args:
        capacity: number of different texts from which on only telling ones are kept; at least as many as a categorical
            column may have.
        count: counts what is not kept.
        infer: what a column of such words is, given its name.
        strip: cells are those of a text file: stripped, and words for missing values are missing.
        decimal_comma: numbers may be written with decimal commas.
        attribute: what the column is, if that is known.
    """

    def __init__(
        self,
        capacity: int,
        count: Counter,
        infer: Callable[[str, Words], Column] = infer_texts,
        *,
        strip: bool = False,
        decimal_comma: bool = False,
        attribute: Attribute | None = None,
    ) -> None:
        super().__init__(capacity, count)
        self._infer = infer
        self._strip = strip
        self._decimal_comma = decimal_comma
        self._attribute = attribute
        self._find = category_of(attribute, decimal_comma=decimal_comma) if attribute and not attribute.is_binned else None
        self._taken: collections.Counter[str] = collections.Counter()
        self._spaces: collections.Counter[tuple[int, int]] = collections.Counter()

    def add(self, array: Any, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Take in the next batch, an Arrow array of strings."""
        words = Words.of(array, self._attribute, strip=self._strip, rows=rows)
        self._taken.update(dict(words.taken_as_missing))
        self._spaces.update(dict(words.spaces))
        self._fold(*self._parts(words), rows)

    def _words(self, array: Any) -> Words:
        return Words.of(array, self._attribute, strip=self._strip)

    def split(self, array: Any) -> tuple[Any, npt.NDArray[np.int64]]:
        """See :class:`Fold`."""
        return self._parts(self._words(array))

    def _parts(self, words: Words) -> tuple[Any, npt.NDArray[np.int64]]:
        empty = words.empty
        if not empty.any():
            return words.texts, words.codes
        values = pa.concat_arrays([words.texts, pa.nulls(1, words.texts.type)])
        return values, np.where(empty, len(words.texts), words.codes)

    def _telling(self, texts: Any) -> Mask:
        if self._find is not None:
            return _some(np.array([self._find(text) is None for text in texts.to_pylist()], dtype=bool))
        first = self._values.drop_null()[0].as_py()
        values, bad = read_numbers(texts, decimal_comma=self._decimal_comma)
        kept = _bounds(np.where(bad, np.nan, values)) | _some(bad)
        if not bad.all():
            large = matches(texts, LONG_WHOLE) & (np.abs(values) >= EXACT)
            not_whole = ~matches(texts, r"^[+-]?[0-9]+$")
            patterns = [matches(texts, pattern) for pattern in (LEADING_ZERO, TELEPHONE, CODE_LIKE, GROUPED)]
            patterns.append(matches(texts, POINT) & ~matches(texts, POINT_AND_THREE))
            patterns += [matches(texts, LONG), (values == 0) & matches(texts, NOT_ZERO)]
            patterns.append(rounded(texts, np.where(bad, np.nan, values)))
            alike = as_many_decimals(first)
            patterns += [~matches(texts, alike), matches(texts, CLOSING_ZEROS)] if alike else []
            for kind in (not_whole, *patterns, ~written_as_numbers(values), large):
                kept |= _some(kind & ~bad, 1)
        if self._decimal_comma:
            comma = matches(texts, ",")
            for kind in (comma, comma & ~matches(texts, COMMA_AND_THREE), ~matches(texts, COMMA_NUMBER)):
                kept |= _some(kind, 1)
        for written in ways_to_write(first):
            days = _days(read_dates(texts, written))
            kept |= _bounds(days) | _some(zoned(texts), 1) | _some(np.isnan(days))
        return kept

    def column(self, name: str) -> Column:
        """See :class:`Fold`."""
        some = np.asarray(self._values.is_valid())
        codes = np.where(some, np.cumsum(some) - 1, -1)
        found = tuple(self._taken.items()), self._weights(), tuple(self._spaces.items())
        return self._infer(name, Words(self._values.drop_null(), codes, *found))

    def _encoded(self, column: Column, array: Any, encode_as: EncodeAs, tell: Tell) -> npt.NDArray[Any]:
        words = self._words(array)
        read = column.values.iloc[:0]
        if column.read is not None and len(words.texts):
            read = pd.Series(column.read(words.texts))
            if len(read) != len(words.texts):
                raise DataError(CHANGED)
        tell(read, np.bincount(words.codes[~words.empty], minlength=len(read)))
        found = encode_as(column.attribute, read)
        empty = {"i": column.attribute.size - 1, "f": np.nan}.get(found.dtype.kind)
        return np.append(found, np.array([empty], dtype=found.dtype))[words.codes]


def _distinct(array: Any) -> npt.NDArray[np.int64]:
    """The position of every row's value among the different ones, which are in the order of their first rows."""
    return pd.factorize(as_series(array), use_na_sentinel=False)[0].astype(np.int64)


def _first_of(codes: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def _some(which: Mask, most: int = ODD) -> Mask:
    """The first of some values."""
    return which & (np.cumsum(which) <= most)


def _days(moments: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Days, not whole where there is a time of day."""
    return days(moments) + timed(moments) / 2


def _bounds(values: npt.NDArray[np.float64]) -> Mask:
    """Infinite numbers, the extremes of the others and those next to them, the first of the finest unit, and more than a few
    different ones."""
    kept = np.isinf(values)
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite):
        numbers = values[finite]
        few = np.unique(numbers[:_HEAD], return_index=True)[1]
        if len(few) <= FEW_INTEGERS:
            few = np.unique(numbers, return_index=True)[1]
        few = few[: FEW_INTEGERS + 1]
        ends = [np.argmin(numbers), np.argmax(numbers)]
        between = (numbers > numbers[ends[0]]) & (numbers < numbers[ends[1]])
        if between.any():  # what comes next to them
            ends += [np.argmin(np.where(between, numbers, np.inf)), np.argmax(np.where(between, numbers, -np.inf))]
        kept[finite[[*few, *ends, np.argmax(fineness(numbers))]]] = True
    return kept
