"""DataFrames and Parquet files: columns that already have a type."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.cells import floats, is_unicode, plain, settled
from dpsyn.data._delimited import check_distinct
from dpsyn.data._numbers import carried, is_number, is_whole, text_of
from dpsyn.data._words import EXACT, Weights, Words
from dpsyn.data.infer import (
    MAX_CATEGORIES,
    Column,
    UnusableColumnError,
    category_of,
    decimals_rounded,
    describe_numbers,
    fit_dates,
    infer_dates,
    infer_texts,
    respelt,
)
from dpsyn.dates import ZONE_RULE, has_zones, local_moments
from dpsyn.errors import DataError, quoted, shown
from dpsyn.notation import counted

PARQUET = b"PAR1"
BATCH, _FEW = 1 << 17, 1 << 8
_BATCH_BYTES = 1 << 25
Faults = Mapping[str, str]
"""Columns that cannot be used, whatever their values are, and what to say of them."""
NO_FAULTS: Faults = MappingProxyType({})
_INDEX = re.compile(r"__index_level_\d+__")


class Parquet:
    """A Parquet file whose columns have types.

    Attributes:
        names: of its columns.
        faults: why some of them cannot be used; they are never read.
        texts: columns of texts.
        rows: how many.

    Args:
        source: its path, or its bytes.

    Raises:
        DataError: the file is damaged, or has columns of the same name.
    """

    def __init__(self, source: Path | bytes) -> None:
        self._source = source
        with self._open() as file:
            schema, self.rows = file.schema_arrow, int(file.metadata.num_rows)
        check_distinct(tuple(schema.names), "the Parquet file's ")
        self.names, self.notes = labelled(schema)
        faults = type_faults(schema)
        self.faults = {name: faults[name] for name in self.names if name in faults}
        kinds = {name: schema.field(name).type for name in self.names if name not in self.faults}
        self.texts = {name for name, kind in kinds.items() if is_text(kind)}
        self._worded = [name for name, kind in kinds.items() if is_text(getattr(kind, "value_type", kind))]

    @cached_property
    def text_bytes(self) -> int:
        """Bytes of all texts once every row has its own: one text that is stored once can come to gigabytes."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names, found = self._worded, 0
        if not names:
            return 0
        with self._open() as file:
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
        # Arrow makes no list of texts that are stored by their differences: these come few at a time.
        apart = {chunk.path_in_schema for chunk in chunks if any("DELTA" in encoding for encoding in chunk.encodings)}
        listed = [name for name in names if name not in apart]
        with self._open(listed) as file:
            for batch in file.iter_batches(BATCH, columns=listed) if listed else ():
                for column in (batch.column(name) for name in listed):
                    sizes = pc.fill_null(pc.binary_length(column.dictionary), 0).to_numpy(zero_copy_only=False)
                    found += int(sizes.astype(np.int64)[column.indices.drop_null().to_numpy()].sum())
            others = [name for name in names if name in apart]
            for batch in file.iter_batches(_FEW, columns=others) if others else ():
                texts = (batch.column(name).cast(pa.large_string()) for name in others)
                found += sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in texts)
        return found

    @contextmanager
    def _open(self, as_numbers: Sequence[str] = ()) -> Iterator[Any]:
        """The file; texts of the columns ``as_numbers`` come as places in a list of different ones."""
        import pyarrow as pa
        from pyarrow import parquet

        by_bytes = isinstance(self._source, bytes)
        try:
            options: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 20, "read_dictionary": list(as_numbers)}
            options["coerce_int96_timestamp_unit"] = "us"  # nanoseconds wrap round outside 1677 to 2262
            # Of paths as texts Arrow takes none that is no Unicode.
            with (
                pa.BufferReader(self._source) if by_bytes else pa.OSFile(os.fsencode(self._source)) as source,
                parquet.ParquetFile(source, **options) as file,
            ):
                yield file
        except MemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            said = f"the Parquet file cannot be read ({reason}); it is damaged or uses an unknown feature"
            raise DataError(said) from error

    def frame(self) -> pd.DataFrame:
        """All columns that can be used.

        Raises:
            UnusableColumnError: none can.
        """
        used = [name for name in self.names if name not in self.faults]
        for name, said in self.faults.items() if not used else ():
            raise UnusableColumnError(said, column=name)
        with self._open() as file:
            return as_frame(file.read(used).select(used))  # 'a.b' reads the part b of a nested a, too

    def batches(self, columns: Sequence[int]) -> Iterator[tuple[float, list[Any]]]:
        """Some columns by position, as Arrow arrays, batch by batch, with the share of the table that has been read."""
        import pyarrow as pa

        names = [self.names[j] for j in columns]
        read = 0
        with self._open() as file:
            for batch in _joined(file.iter_batches(BATCH, columns=names)):
                read += batch.num_rows
                arrays = (batch.column(name) for name in names)
                yield read / max(self.rows, 1), [a.storage if isinstance(a, pa.ExtensionArray) else a for a in arrays]


def _joined(batches: Iterator[Any]) -> Iterator[Any]:
    """Batches of up to BATCH rows from smaller ones: row groups come one by one, each with all categories of its columns."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        if waiting and (rows + batch.num_rows > BATCH or size + batch.nbytes > _BATCH_BYTES):
            yield _as_one(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if waiting:
        yield _as_one(waiting)


def _as_one(batches: list[Any]) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]


def labelled(schema: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the columns but for the row labels of pandas, and notes."""
    kept = tuple(name for name in schema.names if not _INDEX.fullmatch(name))
    notes = () if len(kept) == len(schema.names) else ("The row labels that pandas stored in the file were left out.",)
    return kept, notes


def type_faults(schema: Any) -> dict[str, str]:
    """The columns whose types cannot be used, and what to say of them."""
    found = ((field.name, _type_fault(field.name, field.type)) for field in schema)
    return {name: said for name, said in found if said}


def _type_fault(name: str, whole: Any) -> str:
    import pyarrow as pa

    kind = whole.value_type if pa.types.is_dictionary(whole) else whole
    other = isinstance(kind, pa.BaseExtensionType) and not is_text(kind.storage_type)
    lasting = pa.types.is_time(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind)
    if other or pa.types.is_nested(kind) or _is_bytes(kind) or lasting:
        return (
            f"column {quoted(name)} has the type {whole}; only truth values, numbers, texts and dates can be used: split "
            "it into simple columns, or choose columns without it"
        )
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return ""
    try:
        as_series(pa.array([], kind))
    except DataError:
        return (
            f"column {quoted(name)} holds times of the zone {quoted(kind.tz)}, which is not known; store them without a "
            "zone, or with one such as 'Europe/Berlin' or '+02:00'"
        )
    return ""


def as_frame(table: Any) -> pd.DataFrame:
    """An Arrow table or batch as a DataFrame; whole numbers and truth values keep their type where some are missing.

    Raises:
        DataError: some values have no counterpart.
    """
    import pyarrow as pa

    whole = {
        getattr(pa, f"{sign}int{bits}")(): getattr(pd, f"{'U' if sign else ''}Int{bits}Dtype")()
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    }
    try:
        frame: pd.DataFrame = table.to_pandas(
            ignore_metadata=True, date_as_object=False, types_mapper={**whole, pa.bool_(): pd.BooleanDtype()}.get
        )
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"the table holds values that cannot be used ({error})") from error
    return frame


def as_series(array: Any) -> pd.Series[Any]:
    """An Arrow array as a column of a DataFrame."""
    import pyarrow as pa

    return as_frame(pa.table([array], names=["x"]))["x"]


def is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def checked_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as column names and rows counted from 0.

    Raises:
        DataError: it has no columns or rows, names on several levels, empty, odd or doubled names.
    """
    if frame.columns.nlevels > 1:
        raise DataError("the DataFrame's column names have several levels; join them into one text each")
    try:
        names = tuple(str(name) if isinstance(name, str) or not pd.isna(name) else "" for name in frame.columns)
    except (ValueError, ArithmeticError):  # of an array, and of a decimal that is a signalling NaN
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
        return _of_arrow(name, column.array.__arrow_array__())
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


def _of_arrow(name: str, array: Any) -> pd.Series[Any]:
    """An Arrow array of a DataFrame, as a Parquet file gives it."""
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if said := _type_fault(name, array.type):
        raise UnusableColumnError(said, column=name)
    return as_series(array)


def check_shape(names: tuple[str, ...], rows: int) -> None:
    """Refuse a table without columns or rows, or with empty or doubled names."""
    if not names:
        raise DataError("the table has no columns")
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"column {position} of {len(names)} has no name; give it one or leave it out")
        if not is_unicode(name):
            raise DataError(
                f"the name of column {position} of {len(names)}, {shown(name)}, is no Unicode without zero bytes; correct it"
            )
    check_distinct(names, "")
    if rows == 0:
        raise DataError(f"the table has {counted(len(names), 'column')} but no row")


def fit_typed(attribute: Attribute, column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of a DataFrame in the type of a given attribute, as far as its values allow; encoding it finds the others.

    Numbers and truth values may be known by their texts, as those that double precision cannot hold are; and texts are the
    numbers and truth values that are written so, in a column whose categories are not all texts.
    """
    if attribute.is_binned:
        return _fit_binned(attribute, _blanks_missing(attribute, column))
    if isinstance(column.dtype, pd.CategoricalDtype):
        column, _ = _of_plain_categories(attribute.name, column)
        column = column if set(column.cat.categories) <= set(attribute.categories) else column.astype(object)
    known = set(attribute.categories)
    column = _blanks_missing(attribute, column)
    texts = [isinstance(category, str) for category in attribute.categories]
    if not pd.api.types.is_object_dtype(column) and (
        all(texts) if isinstance(column.dtype, pd.StringDtype) else not any(texts)
    ):
        return column
    find = cache(category_of(attribute))

    def fit(value: Any) -> Any:
        if isinstance(value, str):
            if value in known:
                return value
            found = None if all(texts) else find(value)
            return value if found is None else found
        simple = any(texts) and (is_number(value) or isinstance(value, bool | np.bool_))
        return text_of(value) if simple and value not in known else value

    cells = zip(column.astype(object), column.isna(), strict=True)
    fitted = [cell if empty else fit(cell) for cell, empty in cells]
    return settled(pd.Series(fitted, column.index, dtype=object, name=column.name))


def texts_told(attribute: Attribute, column: pd.Series[Any]) -> tuple[str, ...]:
    """A note on texts of a column that are taken as numbers that are categories, or on decimals next to such numbers."""
    import pyarrow as pa

    if attribute.is_binned or all(isinstance(category, str) for category in attribute.categories):
        return ()
    cells = column if pd.api.types.is_object_dtype(column.dtype) else ()
    decimals = dict.fromkeys(cell for cell in cells if isinstance(cell, Decimal) and cell.is_finite() and not is_whole(cell))
    if not carried(pd.Series(list(decimals), dtype=object)).all():
        return (decimals_rounded(attribute.name),)
    find, known = category_of(attribute), set(attribute.categories)
    if not (pd.api.types.is_string_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype)):
        return ()
    texts = list(dict.fromkeys(text for text in column.astype(object) if isinstance(text, str) and text not in known))
    return respelt(attribute, pa.array(texts, pa.large_string()), [find(text) for text in texts])


def fit_whole(attribute: Attribute, column: pd.Series[Any]) -> Column:
    """All cells of a column, or all different ones, as :func:`fit_typed`; dates may be written in any one way."""
    found = None
    if attribute.kind == "date" and pd.api.types.infer_dtype(column, skipna=True) == "string":
        found = fit_dates(attribute, Words.of(_arrow(attribute.name, column), strip=False))
    return found or Column(fit_typed(attribute, column), attribute, texts_told(attribute, column))


def _blanks_missing(attribute: Attribute, column: pd.Series[Any]) -> pd.Series[Any]:
    """Empty texts are missing values where there may be some, and no category is empty."""
    if not attribute.missing or "" in attribute.categories or pd.api.types.is_numeric_dtype(column.dtype):
        return column
    nested = pd.api.types.is_object_dtype(column.dtype)  # perhaps: an array in a cell cannot be compared
    return column.mask(
        column.map(lambda cell: isinstance(cell, str) and cell == "").astype(bool) if nested else column == ""
    )


def _fit_binned(attribute: Attribute, column: pd.Series[Any]) -> pd.Series[Any]:
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    if numeric or (attribute.kind == "numeric" and not pd.api.types.is_object_dtype(column.dtype)):
        return column
    values = pd.Series(floats(column) if attribute.kind == "numeric" else local_moments(column), name=column.name)
    return column if (values.isna() & column.notna()).any() else values


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
    words = Words.of(_arrow(name, column), strip=False)
    return infer_texts(name, replace(words, weights=weights), notes)


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
    column, kind = _of_plain_categories(name, column)
    notes = (f"Column {quoted(name)}: its categories are of the type {kind}, and were turned into text.",) if kind else ()
    listed = list(column.cat.categories)
    empty = bool(column.isna().any())
    values = settled(column.astype(object).where(column.notna(), None))
    if all(isinstance(c, str) for c in listed):
        fresh = infer_texts(name, Words.of(_arrow(name, values), strip=False), notes)
        if fresh.attribute.kind == "truth" and len(listed) == 2:
            return fresh
    return Column(values, Attribute(name, "categorical", tuple(listed), missing=empty), notes)


def _of_plain_categories(name: str, column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
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


def _arrow(name: str, column: pd.Series[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(column, pa.large_string(), from_pandas=True)
    except pa.ArrowException as error:
        raise _unusable(name, f"texts that cannot be used ({error})") from error
