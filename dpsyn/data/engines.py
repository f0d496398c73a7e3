"""Engines that answer SQL about rows where they lie: DuckDB on files or on a relation, and by Ibis any other."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from dpsyn.cells import is_unicode
from dpsyn.data._names import check_distinct, check_shape
from dpsyn.data._parquet import NO_FAULTS, Faults, is_text, labelled, type_faults
from dpsyn.data._sql import Integers, Numbers, Threshold, in_microseconds, name_of, text
from dpsyn.errors import DataError, DpsynError, ParameterError, quoted

MEMORY_LIMIT = "1GB"
"""Of DuckDB; what takes more is spilled to a private temporary folder. Python and its libraries take some 300 MB besides."""
_THREADS = 2
ROWS = "dpsyn_rows"
"""What queries call the rows."""
COUNT = "CAST(count(*) AS BIGINT)"
_NOT_BY_IBIS = {
    "sqlite": "SQLite is not counted in place, as its cells have no types; hand in table.to_pandas()",
    "duckdb": "hand in the relation of DuckDB itself, such as connection.table('people')",
}
_IN_ORDER = {"PROJECTION", "FILTER", "SEQ_SCAN", "PARQUET_SCAN", "READ_CSV", "PANDAS_SCAN", "PYTHON_ARROW_SCAN"}
"""Steps of DuckDB's plans that give rows in one order every time they are read one after the other."""
_MISSING = ("missing", "")
_NAMED = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)\"""")
"""A text of a query, which may hold anything, or a name."""
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


@contextmanager
def registered(connection: Any, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[None]:
    """Batches as a table of DuckDB called ``batches``. What ends their reading ends the query, an interruption too."""
    ended: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (Exception, KeyboardInterrupt) as fault:
            ended.append(fault)
            raise

    connection.register("batches", pa.RecordBatchReader.from_batches(schema, watched()))
    try:
        yield
    except Exception as error:
        if ended:
            raise ended[0] from error
        _check_interruption(error)
        raise


def _check_interruption(error: Exception) -> None:
    """DuckDB's words for Ctrl-C are Python's."""
    if any(words in str(error) for words in ("Query interrupted", "INTERRUPT Error")):
        raise KeyboardInterrupt from error


def _opened(engine: Engine) -> tuple[Any, Callable[[], object]]:
    """A connection of :func:`spilling` that goes with an engine, and what closes it before."""
    opened = ExitStack()
    connection = opened.enter_context(spilling())
    return connection, weakref.finalize(engine, opened.close)


class Engine(ABC):
    """Rows of one table, and who counts them.

    Attributes:
        title: how to call the rows in messages.
        schema: of the rows, Arrow's.
        unlike: columns that nobody asked for, and that its files do not have alike; they are not in the schema.
        faults: columns whose type cannot be used, as far as the schema does not say so, and what to say of them.
        notes: on how they are read.
    """

    title: str
    schema: pa.Schema
    unlike: tuple[str, ...] = ()
    faults: Faults = NO_FAULTS
    notes: tuple[str, ...] = ()

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
    def collation(self) -> str | None:
        """The one by which different texts are never equal, where the engine's is known."""
        return "C"

    @property
    def parts_at_once(self) -> int:
        """Parts of a range that one query may tell apart at little cost."""
        return 20_000

    def cell(self, column: str) -> str:
        """SQL of a cell as it is compared and grouped: NaN is missing, as for pandas, and texts are compared byte by byte,
        whatever the column's own collation is."""
        kind, cell = self.schema.field(column).type, name_of(column)
        if pa.types.is_floating(kind):
            return self._without_nan(f"CAST({cell} AS DOUBLE)")
        if self._is_duckdb and pa.types.is_timestamp(kind) and kind.unit == "ns" and kind.tz is None:
            return in_microseconds(cell)
        if self.collation is None or not (is_text(kind) or pa.types.is_dictionary(kind)):
            return cell
        return f'CAST({cell} AS VARCHAR) COLLATE "{self.collation}"'

    @property
    def _is_duckdb(self) -> bool:
        return False

    def _without_nan(self, number: str) -> str:
        # Where a Parquet file states bounds, DuckDB 2.0 takes no number to be NaN: it folds away isnan and comparisons.
        return f"CASE WHEN isfinite({number}) OR isinf({number}) THEN {number} END"

    def hashed(self, cells: Sequence[str]) -> bytes | None:
        """What tells the rows of these cells from others, in whatever order; None where there is no such function."""
        return None

    def categories(self, column: str) -> pa.Array | None:
        """All that a column of texts lists, used or not, where a query does not say so."""
        return None

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

    def rows(self, cells: Sequence[str], share: float = 1.0) -> pa.Table:
        """Some cells of all rows, or of about such a share of them, drawn at random.

        They are in the order of the source where it has one, else in that of the values.
        """
        columns = [f"c{j}" for j in range(len(cells))]
        named = ", ".join(f"{cell} AS {column}" for cell, column in zip(cells, columns, strict=True))
        with self._listening():
            return self._rows(named, columns, share)

    @abstractmethod
    def _rows(self, named: str, columns: list[str], share: float) -> pa.Table:
        """See :meth:`rows`."""

    @contextmanager
    def _listening(self) -> Iterator[None]:
        try:
            yield
        except (DpsynError, MemoryError):
            raise
        except Exception as error:  # every engine has exceptions of its own
            _check_interruption(error)
            reason = next(iter(str(error).strip().splitlines()), "").rstrip(".") or type(error).__name__
            raise DataError(
                f"{self.title!r} was not counted to the end, and nothing was released: {reason}. See that the file or the "
                "connection is there, that nobody changes the columns, and that values fit their types (or cast them in a "
                "query), then run again"
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
        cell, bounds = cells.cell, cells.array(map(cells.before, thresholds), "[]")
        if cells.wide and not cells.scale:
            # It makes decimals doubles, and large negative whole numbers not the nearest ones.
            cell, bounds = f"CAST({cell} AS HUGEINT)", f"CAST({bounds} AS HUGEINT[])"
        histogram = f"SELECT map_values(histogram({cell}, {bounds})) AS counts FROM {ROWS}"
        found = self.ask(histogram)["counts"][0].as_py() or []
        counts = np.zeros(len(thresholds) + 1, dtype=np.int64)
        counts[: len(found)] = found
        return counts

    @property
    def _is_duckdb(self) -> bool:
        return True

    def hashed(self, cells: Sequence[str]) -> bytes | None:
        """See :class:`Engine`."""
        found = self.ask(f"SELECT CAST(sum(CAST(hash({', '.join(cells)}) AS HUGEINT)) AS VARCHAR) AS hashed FROM {ROWS}")
        return str(found["hashed"][0]).encode()

    @property
    def _in_order(self) -> bool:
        """Whether rows that are read one after the other come in one order every time."""
        return True

    def _rows(self, named: str, columns: list[str], share: float) -> pa.Table:
        # A row that has its number as it is read is read in order, and drawn by its number it is drawn every time.
        handed = f"SELECT {named} FROM {ROWS}{'' if self._in_order else ' ORDER BY ALL'}"
        numbered = f"SELECT *, row_number() OVER () AS place FROM ({handed}) AS handed"
        some = f" WHERE hash(place) < {int(share * 2**64)}" if share < 1 else ""
        return self._answer(f"SELECT * FROM ({numbered}) AS numbered{some}").drop_columns("place")


class Files(_DuckDB):
    """Parquet files, by a DuckDB of our own.

    Args:
        paths: the files.
        title: how to call them.
        wanted: columns that have to be alike in all files, None for all; others are left out where they are not.
    """

    def __init__(self, paths: Sequence[str], title: str, wanted: Sequence[str] | None = None) -> None:
        self.title, self._paths = title, tuple(map(_pattern, paths))
        self._files = tuple(map(os.path.abspath, paths))
        unlike: dict[str, None] = {}
        with self._listening():
            first, self.faults = _columns(paths[0])
            for path in paths[1:]:
                found, faults = _columns(path)
                self.faults = {**faults, **self.faults}
                for name in dict.fromkeys((*first, *found)):
                    here, there = found.get(name, _MISSING), first.get(name, _MISSING)
                    if here[1] == there[1]:
                        continue
                    if wanted is None or name in wanted:
                        shown = int(here[0] == there[0])
                        raise DataError(
                            f"{title!r}: column {quoted(name)} is {here[shown]} in {quoted(path)}, and {there[shown]} in "
                            f"{quoted(paths[0])}; write it alike in all files, or choose columns without it",
                            column=name,
                        )
                    unlike[name] = None
        self._names = tuple(first)
        schema = self.ask(f"SELECT * FROM {ROWS} LIMIT 0").schema
        _check_names(list(first), schema.names)
        self.schema, self.unlike = pa.schema([field for field in schema if field.name not in unlike]), tuple(unlike)

    @cached_property
    def _first(self) -> pa.Schema:
        """What the first file says of its columns, read once for all of them."""
        from pyarrow import parquet

        return parquet.read_schema(self._files[0])

    def categories(self, column: str) -> pa.Array | None:
        """See :class:`Engine`; DuckDB leaves out what a file says of its dictionaries."""
        from pyarrow import parquet

        found: dict[str, None] = {}
        with self._listening():
            if not pa.types.is_dictionary(self._first.field(column).type):
                return None
            for path in self._files:
                with parquet.ParquetFile(path) as file:
                    kind = file.schema_arrow.field(column).type
                    if not (pa.types.is_dictionary(kind) and is_text(kind.value_type)):
                        return None
                    known = None
                    # Cells that are stored without a list, all or some of them, are listed batch by batch.
                    for batch in file.iter_batches(columns=[column]):
                        if known is None or not known.equals(batch.column(0).dictionary):
                            known = batch.column(0).dictionary
                            found.update(dict.fromkeys(known.to_pylist()))
        return pa.array(found, pa.string())

    def _with(self, sql: str) -> str:
        listed = ", ".join(map(text, self._paths))
        columns = _named(sql, self._names)
        return f"WITH {ROWS} AS (SELECT {columns} FROM read_parquet([{listed}], hive_partitioning = false)) {sql}"

    @cached_property
    def _live(self) -> Any:
        return _opened(self)[0]

    def _answer(self, sql: str) -> pa.Table:
        with self._live.cursor() as connection:
            return connection.sql(self._with(sql)).to_arrow_table()

    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        with self._live.cursor() as connection:
            yield from connection.sql(self._with(sql)).to_arrow_reader()


def _named(sql: str, names: Iterable[str]) -> str:
    """The columns that a query names, quoted; all where it names none. To bind all of a wide table for each takes long."""
    found = {name.replace('""', '"') for name in _NAMED.findall(sql)}
    return ", ".join(name_of(name) for name in names if name in found) or "*"


def _pattern(path: str) -> str:
    """What matches this path alone where DuckDB looks for patterns.

    Raises:
        DataError: there is no such pattern.
    """
    path = os.path.abspath(path).replace(os.sep, "/")
    if not is_unicode(path):
        raise DataError(f"{quoted(path)} is no Unicode, and DuckDB cannot be told of it; give it another name")
    if "\\" in path and any(sign in path for sign in "*?["):
        raise DataError(
            f"{quoted(path)} holds a backslash beside one of *, ? and [, which DuckDB cannot be told; give it another name"
        )
    return re.sub(r"[*?[]", r"[\g<0>]", path)


def _columns(path: str) -> tuple[dict[str, tuple[str, str]], Faults]:
    """Arrow's type of each column of a Parquet file, and how it is stored; and those that cannot be used."""
    from pyarrow import parquet

    schema = parquet.read_metadata(path).schema
    stored, arrow = map(schema.column, range(len(schema))), schema.to_arrow_schema()
    check_distinct(tuple(arrow.names), "the Parquet file's ")
    check_shape(labelled(arrow)[0], rows=1)  # what has no name gets one from DuckDB
    found = {}
    for field in arrow:
        parts = islice(stored, _parts(field.type))
        found[field.name] = str(field.type), ", ".join(f"{one.physical_type} {one.logical_type}" for one in parts)
    return found, _faults(arrow)


def _parts(kind: pa.DataType) -> int:
    """In how many columns a Parquet file stores a column of a type, which may be nested."""
    nested: pa.DataType = getattr(kind, "storage_type", kind)
    return sum(_parts(nested.field(i).type) for i in range(nested.num_fields)) or 1


def _faults(arrow: pa.Schema) -> Faults:
    """Columns of a Parquet file that cannot be used, and those that are another type to DuckDB, as durations are numbers."""
    long = {
        field.name: f"column {quoted(field.name)} has the type {field.type}, and DuckDB keeps no more than 38 digits: read "
        "the file into memory, or choose columns without it"
        for field in arrow
        if pa.types.is_decimal256(field.type)
    }
    return {**long, **type_faults(arrow)}


def _check_names(names: Sequence[str], read: Sequence[str]) -> None:
    """Refuse columns that DuckDB reads by other names, which may be those of other columns."""
    for name, other in zip(names, read, strict=True):
        if name != other:
            raise DataError(
                f"column {quoted(name)} has the name of another one, but for capital and small letters, which DuckDB "
                "does not tell apart; rename one, or read a file into memory (in_place=False)",
                column=name,
            )


class Relation(_DuckDB):
    """A relation of somebody's DuckDB, counted in its connection."""

    def __init__(self, relation: Any, title: str) -> None:
        self.title, self._relation = title, relation
        with self._listening():
            self._names, kinds = tuple(relation.columns), relation.types
        self.faults = {
            name: f"column {quoted(name)} has the type UHUGEINT, of which DuckDB hands on the largest numbers as others: "
            "cast it to VARCHAR in a query, or choose columns without it"
            for name, kind in zip(self._names, kinds, strict=True)
            if str(kind) == "UHUGEINT"
        }
        self.schema = self.ask(f"SELECT * FROM {ROWS} LIMIT 0").schema
        _check_names(self._names, self.schema.names)
        hashes = f"SELECT CAST(sum(hash({ROWS})) AS VARCHAR) AS hashes FROM {ROWS}"
        if self.ask(hashes) != self.ask(hashes):
            raise DataError(
                f"{title!r} has other rows every time it is asked, as where they are drawn at random; store its rows in "
                "a table first, and hand in that"
            )

    @property
    def _in_order(self) -> bool:
        def steps(plan: dict[str, Any]) -> Iterator[str]:
            yield plan["name"]
            for part in plan["children"]:
                yield from steps(part)

        (_, found), *_ = self._relation.query(ROWS, f"EXPLAIN (FORMAT json) FROM {ROWS}").fetchall()
        return all(_IN_ORDER.issuperset(steps(plan)) for plan in json.loads(found))

    def _answer(self, sql: str) -> pa.Table:
        return self._asked(sql).to_arrow_table()

    def _stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        yield from self._asked(sql).to_arrow_reader()

    def _asked(self, sql: str) -> Any:
        columns = _named(sql, self._names)
        return (self._relation if columns == "*" else self._relation.project(columns)).query(ROWS, sql)


class Kept(_DuckDB):
    """Batches that are read from a text file, kept by a DuckDB of our own: in memory, and beyond that on disk.

    The folder that it spills to goes when the table goes. In another process the file is read again.

    Args:
        read: the batches, from the beginning.
        schema: of them.
        title: how to call them.
    """

    def __init__(self, read: Callable[[], Iterable[pa.RecordBatch]], schema: pa.Schema, title: str) -> None:
        self.title, self.schema, self._read = title, schema, read

    @cached_property
    def _live(self) -> Any:
        connection, close = _opened(self)
        try:
            connection.execute("SET preserve_insertion_order = true")
            with registered(connection, self.schema, self._read()):
                connection.execute(f"CREATE TABLE {ROWS} AS FROM batches")
            _check_names(self.schema.names, connection.table(ROWS).columns)
            connection.unregister("batches")
        except BaseException:
            close()
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
            if (refused := _NOT_BY_IBIS.get(self._backend)) is not None:
                raise DataError(f"{title!r}: {refused}")
            kinds = self._live.schema()
            self.schema = kinds.to_pyarrow()
        unknown = ", ".join(f"{quoted(name)} ({kind.raw_type})" for name, kind in kinds.items() if kind.is_unknown())
        said = "were read as text; cast what are numbers or dates in a query"
        self.notes = (f"Columns of types that are not known here {said}: {unknown}.",) if unknown else ()

    @cached_property
    def _live(self) -> Any:
        return self._opened()

    @property
    def _backend(self) -> str:
        return str(self._live.get_backend().name)

    @cached_property
    def grouping_sets(self) -> bool:
        """See :class:`Engine`."""
        return self._backend in _WITH_GROUPING_SETS

    @property
    def collation(self) -> str | None:
        """See :class:`Engine`."""
        return "C" if self._postgres else None

    def _without_nan(self, number: str) -> str:
        return f"NULLIF({number}, CAST('NaN' AS DOUBLE))" if self._knows_nan else number

    @cached_property
    def _knows_nan(self) -> bool:
        """Whether the engine has it at all: to one that has not, it may be 0."""
        (found,) = self.ask("SELECT CAST('NaN' AS DOUBLE) AS nan")["nan"].to_pylist()
        return isinstance(found, float) and math.isnan(found)

    @property
    def _is_duckdb(self) -> bool:
        return self._backend == "duckdb"

    @property
    def _postgres(self) -> bool:
        return self._backend == "postgres"

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

    def _rows(self, named: str, columns: list[str], share: float) -> pa.Table:
        some = f" WHERE random() < {share:.12f}" if share < 1 else ""
        return self._expression(f"SELECT {named} FROM {ROWS}{some}").order_by(columns).to_pyarrow()
