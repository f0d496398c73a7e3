"""Parquet files, and Arrow's types: which can be used, and as what."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.data._names import check_distinct
from dpsyn.data.infer import UnusableColumnError
from dpsyn.errors import DataError, quoted

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


def of_arrow(name: str, array: Any) -> pd.Series[Any]:
    """An Arrow array of a DataFrame, as a Parquet file gives it."""
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if said := _type_fault(name, array.type):
        raise UnusableColumnError(said, column=name)
    return as_series(array)
