"""Engines that answer SQL about rows where they lie: DuckDB on files or on a relation, and by Ibis any other."""

from __future__ import annotations

import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dpsyn.data._sql import Integers, Numbers, Threshold, text
from dpsyn.errors import DataError, DpsynError, ParameterError

MEMORY_LIMIT = "1GB"
"""Of DuckDB; what takes more is spilled to a private temporary folder. Python and its libraries take some 300 MB besides."""
_THREADS = 2
ROWS = "dpsyn_rows"
"""What queries call the rows."""
COUNT = "CAST(count(*) AS BIGINT)"
_WITH_GROUPING_SETS = ("bigquery", "databricks", "duckdb", "oracle", "postgres", "pyspark", "snowflake", "trino")


@contextmanager
def spilling(memory_limit: str = MEMORY_LIMIT) -> Iterator[Any]:
    """A DuckDB of its own that spills to a private temporary folder, which goes with it.

    Raises:
        ParameterError: ``memory_limit`` is no amount of memory.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="dpsyn-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": folder,
            "threads": _THREADS,
            "preserve_insertion_order": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            try:
                connection.execute(f"SET memory_limit = {text(memory_limit)}")
            except duckdb.Error as error:
                raise ParameterError("memory_limit", memory_limit, "an amount of memory such as '1GB'") from error
            yield connection


class Engine(ABC):
    """Rows of one table, and who counts them.

    Attributes:
        title: how to call the rows in messages.
        schema: of the rows, Arrow's.
    """

    title: str
    schema: pa.Schema

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs, which opens a connection of its own."""
        return {name: value for name, value in vars(self).items() if name != "_live"}

    @abstractmethod
    def _answer(self, sql: str) -> pa.Table:
        """See :meth:`ask`."""

    @abstractmethod
    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The same batch by batch."""

    @property
    def grouping_sets(self) -> bool:
        """Whether one query may group by several sets of columns."""
        return True

    @property
    def parts_at_once(self) -> int:
        """Parts of a range that one query may tell apart at little cost."""
        return 20_000

    def ask(self, sql: str) -> pa.Table:
        """What a query says; it calls the rows :data:`ROWS`.

        Raises:
            DataError: the engine does not answer.
        """
        with self._listening():
            return self._answer(sql)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The same batch by batch."""
        with self._listening():
            yield from self._stream(sql)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        try:
            yield
        except (DpsynError, MemoryError):
            raise
        except Exception as error:  # every engine has exceptions of its own
            reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
            raise DataError(
                f"{self.title!r} was not counted to the end, and nothing was released: {reason}. See that the file or the "
                "connection is there and that nobody changes the columns, then run again"
            ) from error

    def between(self, cells: Numbers, thresholds: Sequence[Threshold]) -> Integers:
        """How many cells lie below the first of some ascending thresholds, between two, and from the last one on.

        Shape (thresholds + 1,); empty cells are not counted.
        """
        return self._between(cells.part(thresholds), cells.cell, len(thresholds) + 1)

    def _between(self, part: str, cell: str, parts: int) -> Integers:
        """Rows by an expression that says how many thresholds are at most a cell."""
        numbered = f"SELECT {part} AS part FROM {ROWS} WHERE {cell} IS NOT NULL"
        found = self.ask(f"SELECT part, {COUNT} AS number FROM ({numbered}) AS numbered GROUP BY part").to_pydict()
        counts = np.zeros(parts, dtype=np.int64)
        counts[found["part"]] = found["number"]
        return counts


class _DuckDB(Engine):
    """What all of DuckDB's tables have in common."""

    def between(self, cells: Numbers, thresholds: Sequence[Threshold]) -> Integers:
        """See :class:`Engine`; DuckDB's histogram counts cells up to each bound, and last those beyond."""
        if not thresholds:
            return super().between(cells, thresholds)
        bounds = cells.array(map(cells.before, thresholds), "[]")
        histogram = f"SELECT map_values(histogram({cells.cell}, {bounds})) AS counts FROM {ROWS}"
        found = self.ask(histogram)["counts"][0].as_py() or []
        counts = np.zeros(len(thresholds) + 1, dtype=np.int64)
        counts[: len(found)] = found
        return counts


class Files(_DuckDB):
    """Parquet files, by a DuckDB of our own.

    Args:
        paths: the files; all have the same columns.
        title: how to call them.
        memory_limit: as DuckDB writes it.
    """

    def __init__(self, paths: Sequence[str], title: str, memory_limit: str = MEMORY_LIMIT) -> None:
        self.title, self._paths, self._memory_limit = title, tuple(paths), memory_limit
        self.schema = self.ask(f"SELECT * FROM {ROWS} LIMIT 0").schema

    @property
    def _with(self) -> str:
        listed = ", ".join(text(path) for path in self._paths)
        return f"WITH {ROWS} AS (FROM read_parquet([{listed}]))"

    def _answer(self, sql: str) -> pa.Table:
        with spilling(self._memory_limit) as connection:
            return connection.sql(f"{self._with} {sql}").to_arrow_table()

    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        with spilling(self._memory_limit) as connection:
            yield from connection.sql(f"{self._with} {sql}").to_arrow_reader()


class Relation(_DuckDB):
    """A relation of somebody's DuckDB, counted in its connection."""

    def __init__(self, relation: Any, title: str) -> None:
        self.title, self._relation = title, relation
        self.schema = self.ask(f"SELECT * FROM {ROWS} LIMIT 0").schema

    def _answer(self, sql: str) -> pa.Table:
        return self._relation.query(ROWS, sql).to_arrow_table()

    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        yield from self._relation.query(ROWS, sql).to_arrow_reader()


class Kept(_DuckDB):
    """Batches that are read from a text file, kept by a DuckDB of our own: in memory, and beyond that on disk.

    The folder that it spills to goes when the table goes. In another process the file is read again.

    Args:
        read: the batches, from the beginning.
        schema: of them.
        title: how to call them.
        memory_limit: as DuckDB writes it.
    """

    def __init__(
        self,
        read: Callable[[], Iterable[pa.RecordBatch]],
        schema: pa.Schema,
        title: str,
        memory_limit: str = MEMORY_LIMIT,
    ) -> None:
        self.title, self.schema, self._read, self._memory_limit = title, schema, read, memory_limit

    @cached_property
    def _live(self) -> Any:
        opened = ExitStack()
        connection = opened.enter_context(spilling(self._memory_limit))
        closed = weakref.finalize(self, opened.close)
        try:
            connection.register("batches", pa.RecordBatchReader.from_batches(self.schema, self._read()))
            connection.execute(f"CREATE TABLE {ROWS} AS FROM batches")
            connection.unregister("batches")
        except BaseException:
            closed()
            raise
        return connection

    def _answer(self, sql: str) -> pa.Table:
        return self._live.sql(sql).to_arrow_table()

    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        yield from self._live.cursor().sql(sql).to_arrow_reader()


class Ibis(Engine):
    """A table of any engine that Ibis knows; queries are written in DuckDB's words and Ibis turns them into the engine's.

    Args:
        opened: the table; asked once in every process.
        title: how to call it.
    """

    def __init__(self, opened: Callable[[], Any], title: str) -> None:
        self.title, self._opened = title, opened
        with self._listening():
            self.schema = self._live.schema().to_pyarrow()

    @cached_property
    def _live(self) -> Any:
        return self._opened()

    @cached_property
    def grouping_sets(self) -> bool:
        """See :class:`Engine`."""
        return str(self._live.get_backend().name) in _WITH_GROUPING_SETS

    @property
    def _postgres(self) -> bool:
        return str(self._live.get_backend().name) == "postgres"

    @property
    def parts_at_once(self) -> int:
        """See :class:`Engine`."""
        return super().parts_at_once if self._postgres else 200

    def between(self, cells: Numbers, thresholds: Sequence[Threshold]) -> Integers:
        """See :class:`Engine`; PostgreSQL looks thresholds up in an array, where others compare with one after the other."""
        if not (self._postgres and thresholds):
            return super().between(cells, thresholds)
        return self._between(f"width_bucket({cells.cell}, {cells.array(thresholds, '{}')})", cells.cell, len(thresholds) + 1)

    def _expression(self, sql: str) -> Any:
        return self._live.alias(ROWS).sql(sql, dialect="duckdb")

    def _answer(self, sql: str) -> pa.Table:
        return self._expression(sql).to_pyarrow()

    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        yield from self._expression(sql).to_pyarrow_batches()
