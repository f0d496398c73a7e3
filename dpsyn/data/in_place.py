"""Open a source to be counted where it lies: Parquet files, a text file, a DuckDB relation, or an Ibis table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dpsyn.attribute import Attribute
from dpsyn.data import infer
from dpsyn.data._fold import Fold, TextFold
from dpsyn.data._frames import PARQUET, check_shape, is_text, usable
from dpsyn.data._sql import Cells, Known, Numbers, cell_of, name_of
from dpsyn.data.counted import CountedTable, listed
from dpsyn.data.engines import COUNT, MEMORY_LIMIT, ROWS, Engine, Files, Ibis, Kept, Relation
from dpsyn.data.large import TextRows, count_rows
from dpsyn.data.read import (
    PARQUET_NAMES,
    Wide,
    chosen_columns,
    inferred_columns,
    left_out,
    parquet_only_in_name,
    read_with_notes,
    stem,
    unreadable,
)
from dpsyn.domain import Domain
from dpsyn.errors import DataError
from dpsyn.table import Table

_MOST_FILES = 20_000
"""Of all kinds, in a folder of Parquet files."""
_MOST_GROUPED = 1_000_000
"""Different cells of a column that an engine groups for us; a column of more is read cell by cell."""

Opened = tuple[CountedTable, tuple[str, ...]]
"""A table, and notes on what had to be decided."""


def is_relation(source: object) -> bool:
    """Whether it is a relation of DuckDB, or an Ibis table."""
    return _kind(source) is not None


def connected(address: str, table: str) -> Any:
    """A table of a database, by Ibis.

    Raises:
        DataError: Ibis is not installed, or the database does not answer.
    """
    try:
        import ibis
    except ImportError as error:
        raise DataError('a database is opened by Ibis: pip install "dpsyn[warehouse]" and Ibis\'s extra for it') from error
    try:
        return ibis.connect(address).table(table)
    except Exception as error:  # every engine has exceptions of its own
        # What it says may hold the address, and a password with it.
        raise DataError(f"the table {table!r} cannot be opened ({type(error).__name__}): see to the connection") from error


def _kind(source: object) -> type[Relation] | type[Ibis] | None:
    known: dict[tuple[str, str], type[Relation] | type[Ibis]] = {
        ("duckdb", "DuckDBPyRelation"): Relation,
        ("ibis", "Table"): Ibis,
    }
    for kind in type(source).__mro__:
        found = known.get((kind.__module__.lstrip("_").split(".")[0], kind.__name__))
        if found is not None:
            return found
    return None


def open_in_place(source: Any, domain: Domain | None, name: str | None, columns: Sequence[str] | None, wide: Wide) -> Opened:
    """A table that is counted where it lies; the arguments are those of :func:`~dpsyn.data.read.read_with_notes`."""
    kind = _kind(source)
    if kind is not None:
        return _opened(kind(source, name or "data"), name or "data", domain, columns, wide)
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"a {type(source).__name__} cannot be counted in place; hand in a path, a DuckDB relation or an Ibis table"
        )
    path = Path(source)
    if path.is_dir():
        return _opened(Files(_files_in(path), path.name), name or path.name, domain, columns, wide)
    try:
        with path.open("rb") as stream:
            head = stream.read(len(PARQUET))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if head == PARQUET:
        return _opened(Files([str(path)], path.name), name or stem(path.name), domain, columns, wide)
    if path.name.lower().endswith(PARQUET_NAMES):
        raise parquet_only_in_name(path.name)
    return _of_text(path, domain, name or stem(path.name), columns, wide)


def _files_in(folder: Path) -> list[str]:
    """The Parquet files in a folder and in those inside it; what is hidden, or begins with _, is no data.

    Raises:
        DataError: there is none, a folder cannot be read, or there are too many files to look through.
    """
    found, looked, waiting = [], 0, [folder]
    while waiting:
        place = waiting.pop()
        try:
            entries = list(os.scandir(place))
        except OSError as error:
            raise unreadable(place, error) from error
        looked += len(entries)
        if looked > _MOST_FILES:
            raise DataError(
                f"the folder {str(folder)!r} holds more than {_MOST_FILES:,} files; name one with Parquet files only"
            )
        shown = [entry for entry in entries if not entry.name.startswith((".", "_"))]
        waiting += [Path(entry.path) for entry in shown if entry.is_dir(follow_symlinks=False)]
        found += [entry.path for entry in shown if entry.name.lower().endswith(PARQUET_NAMES) and entry.is_file()]
    if not found:
        raise DataError(f"the folder {str(folder)!r} holds no Parquet file")
    return sorted(found)


def _opened(engine: Engine, name: str, domain: Domain | None, columns: Sequence[str] | None, wide: Wide) -> Opened:
    names, notes = usable(engine.schema)
    check_shape(names, rows=1)
    wanted = chosen_columns(names, domain, columns)
    if domain is not None:
        return CountedTable.of(engine, domain.project(wanted), name), (*notes, *left_out(names, domain.names))
    return _inferred(engine, name, wanted, notes, wide, named=columns is not None)


def _inferred(
    engine: Engine, title: str, wanted: Sequence[str], notes: tuple[str, ...], wide: Wide, *, named: bool
) -> Opened:
    """A table whose columns are what their different cells, and how many rows hold each, say that they are."""
    folds: dict[str, Fold] = {}
    if not engine.ask(f"SELECT {COUNT} AS n FROM {ROWS}")["n"][0].as_py():
        raise DataError(f"the table has {len(wanted)} columns but no row")

    def column(name: str) -> infer.Column:
        kind = TextFold if is_text(engine.schema.field(name).type) else Fold
        fold = folds[name] = kind(infer.MAX_CATEGORIES, lambda values: _different(engine, name, values))
        for array, rows in _cells(engine, name):
            fold.add(array, rows)
        return fold.column(name)

    found, dropped, more = inferred_columns(wanted, column, wide, named=named)
    columns = {one.attribute.name: one for one in found if one.attribute.name not in dropped}

    def texts(attribute: Attribute) -> Cells | None:
        """A text is what it was inferred to be: a date, a category, or nothing."""
        fold = folds[attribute.name]
        if not isinstance(fold, TextFold):
            return None
        parse = fold.encoder(columns[attribute.name], lambda _, values: values.astype(object).to_numpy())
        return listed(engine, attribute, lambda values: pd.Series(parse(values), dtype=object))

    domain = Domain.of(one.attribute for one in columns.values())
    return CountedTable.of(engine, domain, title, texts), (*notes, *more)


def _different(engine: Engine, name: str, values: Callable[[Any], Any]) -> int:
    return count_rows(([values(array)] for array, _ in _cells(engine, name)), MEMORY_LIMIT).distinct


def _cells(engine: Engine, name: str) -> Iterator[tuple[pa.Array, np.ndarray | None]]:
    """The different cells of a column and how many rows hold each; where there are very many, every cell for itself."""
    cell = cell_of(name, engine.schema.field(name).type)
    cells = f"SELECT {cell} AS cell FROM {ROWS}"
    some = f"SELECT DISTINCT cell FROM ({cells}) AS cells LIMIT {_MOST_GROUPED + 1}"
    if engine.ask(f"SELECT {COUNT} AS n FROM ({some}) AS few")["n"][0].as_py() > _MOST_GROUPED:
        for batch in engine.batches(cells):
            yield batch.column(0), None
        return
    for batch in engine.batches(f"SELECT cell, {COUNT} AS number FROM ({cells}) AS cells GROUP BY cell"):
        if batch.num_rows:
            yield batch.column(0), np.asarray(batch.column(1), dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _TextTable(CountedTable):
    """A text file, read once: what an engine keeps of it are codes and numbers, so another domain reads it again."""

    path: Path

    def with_domain(self, domain: Domain) -> CountedTable:
        """See :class:`CountedTable`."""
        return _of_text(self.path, domain, self.name, None, "refuse")[0]

    def project(self, columns: Sequence[str]) -> CountedTable:
        """See :class:`CountedTable`."""
        return _TextTable(**vars(super().project(columns)), path=self.path)

    def loaded(self) -> Table:
        """See :class:`CountedTable`."""
        return read_with_notes(self.path, domain=self.domain, name=self.name)[0]


def _of_text(path: Path, domain: Domain | None, name: str, columns: Sequence[str] | None, wide: Wide) -> Opened:
    rows = TextRows.of(path, domain, columns, wide)
    attributes = {attribute.name: attribute for attribute in rows.domain.attributes}

    def ready(attribute: Attribute) -> Cells:
        if attribute.is_binned:
            return Numbers(attribute, name_of(attribute.name), "double", in_units=True)
        return Known(attribute, name_of(attribute.name))

    schema = pa.schema([(a.name, pa.float64() if a.is_binned else pa.int32()) for a in attributes.values()])
    engine = Kept(pa.RecordBatchReader.from_batches(schema, rows.batches(schema)), path.name)
    table = CountedTable.of(engine, rows.domain, name, ready)
    return _TextTable(**vars(table), path=path), rows.notes
