"""Counting equal rows of any number with DuckDB, in bounded memory: what does not fit is spilled to a private folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.errors import DataError, DpsynError, ParameterError

_RADIX = 2**62


@dataclass(frozen=True)
class RowCounts:
    """Number of rows, of different rows, and of the rows that are equal to the most frequent one."""

    rows: int
    distinct: int
    largest: int


def packed(columns: Sequence[Codes], sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """A few integers a row, equal exactly where the rows are: columns by mixed radix, up to 2^62 in one integer."""
    keys: list[npt.NDArray[np.int64]] = []
    radix = _RADIX + 1
    for codes, size in zip(columns, sizes, strict=True):
        if radix * size > _RADIX:
            keys.append(codes.astype(np.int64))
            radix = size
        else:
            keys[-1] *= size
            keys[-1] += codes
            radix *= size
    return keys


def count_rows(keys: Iterator[Sequence[Any]], memory_limit: str) -> RowCounts:
    """Exact counts of equal rows.

    Args:
        keys: batches; in each, one array a key (NumPy or Arrow), at least one batch.
        memory_limit: memory for counting, as DuckDB writes it.

    Raises:
        ParameterError: ``memory_limit`` is no amount of memory.
        DataError: neither memory nor disk hold the different rows.
        DpsynError: what the iterator raises.
    """
    import duckdb
    import pyarrow as pa

    raised: list[DpsynError] = []
    first = _as_batch(next(keys))

    def batches() -> Iterator[Any]:
        try:
            yield first
            for batch in keys:
                yield _as_batch(batch)
        except DpsynError as error:
            raised.append(error)
            raise

    with tempfile.TemporaryDirectory(prefix="dpsyn-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": folder,
            "threads": 2,
            "preserve_insertion_order": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            try:
                connection.execute(f"SET memory_limit = {_quoted(memory_limit)}")
            except duckdb.Error as error:
                raise ParameterError("memory_limit", memory_limit, "an amount of memory such as '1GB'") from error
            connection.register("batches", pa.RecordBatchReader.from_batches(first.schema, batches()))
            listed = ", ".join(first.schema.names)
            try:
                found = connection.execute(
                    "SELECT sum(equal)::BIGINT, count(*), max(equal) "
                    f"FROM (SELECT count(*) AS equal FROM batches GROUP BY {listed})"
                ).fetchone()
            except duckdb.Error as error:
                if raised:
                    raise raised[0] from error
                reason = str(error).splitlines()[0]
                raise DataError(
                    f"the rows cannot be counted within memory_limit = {memory_limit!r} and the room in the folder for "
                    f"temporary files ({reason}); allow more memory, or choose fewer columns"
                ) from error
    rows, distinct, largest = found if found is not None else (0, 0, 0)
    return RowCounts(int(rows), int(distinct), int(largest))


def _quoted(text: str) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _as_batch(keys: Sequence[Any]) -> Any:
    import pyarrow as pa

    arrays = [pa.array(key) if isinstance(key, np.ndarray) else key for key in keys]
    return pa.record_batch(arrays, names=[f"k{i}" for i in range(len(arrays))])
