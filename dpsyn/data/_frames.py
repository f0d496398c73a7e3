"""Columns that already have a type: what they are, and what to know of them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.cells import floats, plain, settled
from dpsyn.data._names import check_shape
from dpsyn.data._numbers import carried, is_number, is_whole, text_of
from dpsyn.data._parquet import as_series, of_arrow
from dpsyn.data._words import EXACT, Weights, Words
from dpsyn.data.infer import (
    MAX_CATEGORIES,
    Column,
    UnusableColumnError,
    decimals_rounded,
    describe_numbers,
    infer_dates,
    infer_texts,
)
from dpsyn.dates import ZONE_RULE, has_zones, local_moments
from dpsyn.errors import DataError, quoted


def checked_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as column names and rows counted from 0.

    Raises:
        DataError: it has no columns or rows, names on several levels, empty, odd or doubled names.
    """
    if frame.columns.nlevels > 1:
        raise DataError("the DataFrame's column names have several levels; join them into one text each")
    try:
        names = tuple(str(name) if isinstance(name, str) or not pd.isna(name) else "" for name in frame.columns)
    except (ValueError, ArithmeticError, NotImplementedError):  # of arrays, of a signalling NaN, of an index of pandas
        raise DataError("a column name of the DataFrame is neither a text nor a number; give all columns texts") from None
    check_shape(names, len(frame))
    return frame.set_axis(list(names), axis="columns").reset_index(drop=True)


def plain_type(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of Arrow's types as it comes from a Parquet file, a sparse one as a dense one, long floats as doubles, and
    among objects None for all that is missing: NaT is of a type of its own.

    Raises:
        DataError: the column is of a type that cannot be used.
    """
    name = str(column.name)
    if isinstance(column.dtype, pd.ArrowDtype):
        return of_arrow(name, column.array.__arrow_array__())
    if isinstance(column.dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(column), name=name)
    try:
        empty = column.isna()
    except ArithmeticError:
        raise _unusable(name, "a decimal that is a signalling NaN") from None
    except TypeError:
        raise _unusable(name, f"values of type {column.dtype}") from None
    if pd.api.types.is_object_dtype(column.dtype):
        return column.mask(empty, None)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f" and column.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            doubles = column.astype(np.float64)
        if ((doubles != column) & np.isfinite(doubles)).any():
            raise _unusable(name, f"{column.dtype} numbers that double precision does not hold")
        return doubles
    return column


def infer_typed(name: str, column: pd.Series[Any], weights: Weights | None = None) -> Column:
    """A column of a DataFrame: its type is trusted, so texts are never turned into numbers.

    ``weights``: what its values stand for, if the column is short for a longer one.

    Raises:
        DataError: the column holds infinite numbers, nested values or another type that cannot be used.
        UnusableColumnError: too many distinct texts for a categorical column.
    """
    column = column.rename(name)
    if column.isna().all():
        values = pd.Series(np.full(len(column), None, dtype=object), name=name)
        return Column(values, Attribute(name, "categorical", missing=True), (f"Column {quoted(name)} is empty.",))
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _categorical(name, column)
    if pd.api.types.is_object_dtype(kind):
        return _objects(name, column, weights)
    if pd.api.types.is_bool_dtype(kind):
        return _truth_values(name, column)
    if pd.api.types.is_complex_dtype(kind):
        raise _unusable(name, "complex numbers")
    if pd.api.types.is_numeric_dtype(kind):
        return _numbers(name, column, weights)
    if pd.api.types.is_datetime64_any_dtype(kind):
        return _dates(name, column)
    if pd.api.types.is_string_dtype(kind):
        return _texts(name, column, weights)
    raise _unusable(name, f"values of type {kind}")


@contextmanager
def unicode_only(name: str) -> Iterator[None]:
    """Refuse a column whose texts cannot be written down."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise _unusable(name, "texts that are not Unicode") from error


def _unusable(name: str, what: str) -> UnusableColumnError:
    return UnusableColumnError(
        f"column {quoted(name)} holds {what}; only truth values, numbers, texts and dates can be used: convert it "
        "or leave it out",
        column=name,
    )


def _objects(name: str, column: pd.Series[Any], weights: Weights | None) -> Column:
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found == "string":
        return _texts(name, column, weights)
    if found == "boolean":
        return _truth_values(name, column)
    if found in ("date", "datetime", "datetime64"):
        return _dates(name, column)
    some = column.dropna()
    if found in ("decimal", "integer", "floating") or some.map(is_number).all():
        return _objects_of_numbers(name, column, weights)
    if some.map(lambda v: isinstance(v, datetime.date | np.datetime64)).any():
        raise DataError(
            f"column {quoted(name)} holds dates and other values; make all of them dates or all texts, or leave it out",
            column=name,
        )
    simple = some.map(lambda v: isinstance(plain(v), str | bool | int | float))
    if not simple.all():
        raise _unusable(name, f"values of type {type(some[~simple].iloc[0]).__name__}")
    return _texts(
        name,
        column.map(text_of, na_action="ignore"),
        weights,
        (f"Column {quoted(name)} mixes several types, and all its values were turned into text.",),
    )


def _dates(name: str, column: pd.Series[Any]) -> Column:
    moments = pd.Series(local_moments(column), name=name)
    lost = (moments.isna() & column.notna()).to_numpy()
    if lost.any():
        raise DataError(f"column {quoted(name)}, row {int(np.argmax(lost)) + 1}: the date cannot be used", column=name)
    return infer_dates(name, moments, zones_told(name, column))


def zones_told(name: str, column: pd.Series[Any]) -> tuple[str, ...]:
    """A note on a column of dates or times of which some have a zone."""
    return (f"Column {quoted(name)}: {ZONE_RULE}.",) if has_zones(column) else ()


def _objects_of_numbers(name: str, column: pd.Series[Any], weights: Weights | None) -> Column:
    """Whole numbers, floats and decimals of any length."""
    numbers = pd.Series(_finite(name, floats(column), weights), name=name)
    different = pd.Series(column.dropna().unique(), dtype=object)
    lost = different[~carried(different)]
    if any(is_whole(value) for value in lost):
        return _identifiers(name, column, weights)
    if lost.empty:
        return _numbers(name, numbers, weights)
    if weights and weights.distinct:
        merged = weights.distinct(lambda values: values) > weights.distinct(lambda texts: floats(as_series(texts)))
    else:
        merged = numbers.nunique() < len(different)
    if merged:
        said = f"Column {quoted(name)}: some decimals differ beyond double precision, so it was turned into text."
        return _texts(name, column.map(text_of, na_action="ignore"), weights, (said,))
    found = _numbers(name, numbers, weights)
    return replace(found, notes=(decimals_rounded(name), *found.notes))


def _finite(name: str, numbers: npt.NDArray[np.float64], weights: Weights | None) -> npt.NDArray[np.float64]:
    infinite = np.isinf(numbers)
    if infinite.any():
        first = int(np.argmax(infinite))
        row, rows = (weights.first[first], weights.cells[infinite].sum()) if weights else (first, infinite.sum())
        where = f", row {row + 1}" if row >= 0 else ""
        raise DataError(
            f"column {quoted(name)}{where}: the number is infinite or larger than double precision holds "
            f"({rows:,} such row{'s' * int(rows != 1)}); make the cell empty or a finite number",
            column=name,
        )
    return numbers


def _texts(name: str, column: pd.Series[Any], weights: Weights | None = None, notes: tuple[str, ...] = ()) -> Column:
    return infer_texts(name, replace(words_of(name, column), weights=weights), notes)


def _truth_values(name: str, column: pd.Series[Any]) -> Column:
    empty = bool(column.isna().any())
    values = column.astype(object).where(column.notna(), None) if empty else column.astype(bool)
    return Column(values, Attribute(name, "categorical" if empty else "truth", (False, True), missing=empty))


def _numbers(name: str, column: pd.Series[Any], weights: Weights | None) -> Column:
    empty = column.isna()
    if pd.api.types.is_integer_dtype(column.dtype):
        low, high = int(column.min()), int(column.max())
        if low <= -EXACT or high >= EXACT:
            return _identifiers(name, column, weights)
        return describe_numbers(name, column.astype("Int64" if empty.any() else "int64"), weights)
    numbers = _finite(name, floats(column), weights)
    some = numbers[~np.isnan(numbers)]
    if (some == np.floor(some)).all() and np.abs(some).max() < EXACT:
        absent = np.isnan(numbers)
        whole = pd.Series(np.where(absent, 0, numbers).astype(np.int64), name=name)
        return describe_numbers(name, whole.astype("Int64").mask(absent) if absent.any() else whole, weights)
    return describe_numbers(name, pd.Series(numbers, name=name), weights)


def _identifiers(name: str, column: pd.Series[Any], weights: Weights | None) -> Column:
    notes = (f"Column {quoted(name)} holds whole numbers beyond 2^53 and was turned into text.",)
    return _texts(name, column.map(text_of, na_action="ignore"), weights, notes)


def _categorical(name: str, column: pd.Series[Any]) -> Column:
    """The type lists its categories, used or not; their order is kept."""
    if (count := len(column.cat.categories)) > MAX_CATEGORIES:
        raise UnusableColumnError(
            f"column {quoted(name)} has {count} categories, more than {MAX_CATEGORIES}; leave it out, or group them",
            column=name,
        )
    column, kind = of_plain_categories(name, column)
    notes = (f"Column {quoted(name)}: its categories are of the type {kind}, and were turned into text.",) if kind else ()
    listed = list(column.cat.categories)
    empty = bool(column.isna().any())
    values = settled(column.astype(object).where(column.notna(), None))
    if all(isinstance(c, str) for c in listed):
        fresh = infer_texts(name, words_of(name, values), notes)
        if fresh.attribute.kind == "truth" and len(listed) == 2:
            return fresh
    return Column(values, Attribute(name, "categorical", tuple(listed), missing=empty), notes)


def of_plain_categories(name: str, column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """The column with texts for categories such as intervals and moments, and their type; as it is, and nothing, where they
    are texts, numbers and truth values."""
    listed = list(column.cat.categories)
    other = next((c for c in listed if not isinstance(c, str | bool | int | float | np.generic)), None)
    if other is None:
        return column, ""
    written = [text_of(category) for category in listed]
    if len(set(written)) < len(written):
        raise _unusable(name, "different categories that are the same when written")
    return column.cat.rename_categories(written), type(other).__name__


def words_of(name: str, column: pd.Series[Any]) -> Words:
    """The texts of a column that holds no other values."""
    import pyarrow as pa

    try:
        texts = pa.array(column, pa.large_string(), from_pandas=True)
    except pa.ArrowException as error:
        raise _unusable(name, f"texts that cannot be used ({error})") from error
    return Words.of(texts, strip=False)
