"""Open a source to be counted where it lies: Parquet files, a text file, a DuckDB relation, or an Ibis table."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpsyn.attribute import Attribute
from dpsyn.data import infer
from dpsyn.data._fold import CHANGED, Fold, TextFold
from dpsyn.data._names import check_shape
from dpsyn.data._parquet import Faults, is_text, labelled, type_faults
from dpsyn.data._sql import Cells, Known, Numbers, name_of
from dpsyn.data.counted import CountedTable, check_no_zone, listed
from dpsyn.data.engines import COUNT, MEMORY_LIMIT, ROWS, Engine, Files, Ibis, Kept, Relation
from dpsyn.data.large import TextRows, count_rows
from dpsyn.data.read import (
    PARQUET_NAMES,
    Wide,
    begins_as_parquet,
    chosen_columns,
    inferred_columns,
    is_stream,
    left_out,
    path_of,
    read_in_memory,
    stem,
    truths_as_numbers,
)
from dpsyn.domain import Domain
from dpsyn.domain import listed as in_short
from dpsyn.errors import DataError, DomainError, quoted
from dpsyn.notation import counted
from dpsyn.places import unreadable
from dpsyn.solvers.coded import CodedRows
from dpsyn.table import Moved, Table

_NO_DATA = (".", "_")
_RULE = "only files are read whose names end in .parquet or .pq and begin with neither . nor _"
_LOGS = {
    "_delta_log": "Delta",
    "metadata/v[0-9]*.metadata.json": "Iceberg",
    "metadata/[0-9]*-*.metadata.json": "Iceberg",
    ".hoodie": "Hudi",
}
"""Which of its files are a table's present rows, and of what kind it is; the others hold rows that are no more."""
_MOST_FILES = 20_000
"""Of all kinds, in a folder of Parquet files."""
_MOST_HIDDEN = 100
"""Folders that are looked through where they are hidden."""
_MOST_GROUPED = 1_000_000
"""Different cells of a column that an engine groups for us; a column of more is read cell by cell."""

Opened = tuple[CountedTable, tuple[str, ...]]
"""A table, and which of its columns look like identifiers and are to be left out."""


@dataclass(frozen=True)
class Connection:
    """A table of a database: its address, as Ibis takes it, and its name there."""

    address: str = field(repr=False)
    table: str

    def open(self) -> Any:
        """The table, by Ibis.

        Raises:
            DataError: Ibis is not installed, or the database does not answer.
        """
        try:
            import ibis
        except ImportError as error:
            raise DataError(
                'a database is opened by Ibis: pip install "dpsyn[warehouse]" and Ibis\'s extra for it'
            ) from error
        try:
            database = ibis.connect(self.address)
            table = database.table(self.table)
        except Exception as error:  # every engine has exceptions of its own
            # What it says may hold the address, and a password with it.
            raise DataError(
                f"the table {self.table!r} cannot be opened ({type(error).__name__}): see to the connection"
            ) from error
        weakref.finalize(table, database.disconnect)
        return table


def is_relation(source: object) -> bool:
    """Whether it is a relation of DuckDB, or an Ibis table."""
    return _engine_of(source) is not None


def _engine_of(source: object) -> Callable[[str], Engine] | None:
    """Makes the engine, by a title, of a relation of DuckDB, an Ibis table or a :class:`Connection`."""
    if isinstance(source, Connection):
        return partial(Ibis, source.open)
    kinds = {(kind.__module__.lstrip("_").split(".")[0], kind.__name__) for kind in type(source).__mro__}
    if ("duckdb", "DuckDBPyRelation") in kinds:
        return partial(Relation, source)
    return partial(Ibis, lambda: source) if ("ibis", "Table") in kinds else None


def open_in_place(
    source: Any, domain: Domain | None, name: str | None, columns: Sequence[str] | None, wide: Wide
) -> CountedTable:
    """A table that is counted where it lies; the arguments are those of
    :func:`~dpsyn.data.read.read_table`."""
    full, dropped = open_all(source, domain, name, columns, wide)
    return full.project([name for name in full.domain.names if name not in dropped]) if dropped else full


def open_all(source: Any, domain: Domain | None, name: str | None, columns: Sequence[str] | None, wide: Wide) -> Opened:
    """The same with the columns that look like identifiers, and their names; of a text file they are left out."""
    engine = _engine_of(source)
    if engine is not None:
        return _opened(engine(name or "data"), name or "data", domain, columns, wide)
    path = path_of(source)
    if path is None:
        raise DataError(
            f"a {type(source).__name__} cannot be counted in place; hand in a path, a DuckDB relation or an Ibis table"
        )
    if os.path.isdir(path):
        files, others = files_in(path)
        asked = columns if columns is not None or domain is None else domain.names
        title = Path(os.path.abspath(path)).name or str(path)
        found = Files(files, title, asked)
        more = (*_not_read(path, others), *_by_folders(path, files, found.schema.names, domain, asked or ()))
        table, dropped = _opened(found, name or title, domain, columns, wide)
        return replace(table, notes=(*table.notes, *more)), dropped
    if is_stream(path):
        raise DataError(f"{quoted(path.name)} is no file and no folder, and can be read once only: read it into memory")
    if begins_as_parquet(path):
        return _opened(Files([str(path)], path.name), name or stem(path.name), domain, columns, wide)
    return _of_text(path, domain, name or stem(path.name), columns, wide), ()


def is_data(name: str) -> bool:
    """Whether a file of this name is read where its folder is: of Parquet, and neither hidden nor beginning with _."""
    return name.lower().endswith(PARQUET_NAMES) and not name.startswith(_NO_DATA)


def files_in(folder: Path) -> tuple[list[str], list[str]]:
    """The files in a folder and in those inside it that are data (:func:`is_data`), and others that may have been meant to
    be: files that are not empty, pipes called Parquet, and of what is hidden or begins with _ what is or holds Parquet.

    Links are followed, and each folder and each file is taken once, whatever names it has.

    Raises:
        DataError: there is none, a folder cannot be read or is of a table with a log of its files, or there are too many
            files to look through.
    """
    for place in folder.resolve().parents:
        _check_log(place, folder)
    start = _status(folder)
    found: list[Path] = []
    others: dict[tuple[int, int], Path] = {}
    looked, waiting, seen = 0, [folder], {(start.st_dev, start.st_ino)}
    while waiting:
        place = waiting.pop()
        try:
            entries = sorted(place.iterdir())
        except OSError as error:
            raise unreadable(place, error) from error
        _check_log(place, place)
        looked += len(entries)
        if looked > _MOST_FILES:
            raise DataError(
                f"the folder {str(folder)!r} holds more than {_MOST_FILES:,} files; name one with Parquet files only"
            )
        for path in entries:
            hidden = path.name.startswith(_NO_DATA)
            if hidden and not _holds_parquet(path):
                continue
            status = _status(path)
            mark, inside = (status.st_dev, status.st_ino), stat.S_ISDIR(status.st_mode)
            read = not hidden and (inside or (stat.S_ISREG(status.st_mode) and is_data(path.name)))
            if read and mark not in seen:
                seen.add(mark)
                (waiting if inside else found).append(path)
            elif not read and (inside or status.st_size or is_data(path.name)):
                others[mark] = path
    if not found:
        raise DataError(f"the folder {str(folder)!r} holds no Parquet file: {_RULE}")
    return sorted(map(str, found)), sorted(str(path) for mark, path in others.items() if mark not in seen)


def _holds_parquet(path: Path) -> bool:
    """Whether a file has the name of a Parquet file, or a folder holds one; what macOS puts beside them is none."""
    names = chain([path.name] if os.path.exists(path) else (), *(files for *_, files in islice(os.walk(path), _MOST_HIDDEN)))
    return any(name.lower().endswith(PARQUET_NAMES) and not name.startswith("._") for name in names)


def _check_log(place: Path, named: Path) -> None:
    """Refuse a folder in a table whose log lies in ``place``."""
    if kind := next((kind for log, kind in _LOGS.items() if any(place.glob(log))), None):
        raise DataError(
            f"the folder {str(named)!r} is of {kind}, and its files may hold rows that were deleted or replaced: read the "
            f"table with a library for {kind}, and write its rows as Parquet into a folder elsewhere"
        )


def _status(path: Path) -> os.stat_result:
    """Of what a path leads to."""
    try:
        return path.stat()
    except OSError as error:
        raise unreadable(path, error) from error


def _not_read(folder: Path, others: Sequence[str]) -> tuple[str, ...]:
    """A note on what may be data and was not read."""
    names = in_short((quoted(os.path.relpath(file, folder)) for file in others), 3)
    return (f"Left out, since in a folder {_RULE}: {names}.",) if others else ()


def _by_folders(
    folder: Path, files: Sequence[str], names: Sequence[str], domain: Domain | None, asked: Sequence[str]
) -> tuple[str, ...]:
    """A note on columns that folders name in which the files lie, such as region=north.

    Raises:
        DataError: one of them is asked for.
        DomainError: and there is a domain.
    """
    folders = {part for file in files for part in Path(file).relative_to(folder).parts[:-1] if "=" in part}
    lost = sorted({part.partition("=")[0] for part in folders} - set(names))
    for name in lost:
        if name in asked:
            kind = DataError if domain is None else DomainError
            raise kind(
                f"folders alone name {quoted(name)}, and no file has it: write the column into the files, or leave it out",
                column=name,
            )
    return (f"Left out, since folders alone name it and no file has it: {', '.join(map(quoted, lost))}.",) if lost else ()


def _opened(engine: Engine, name: str, domain: Domain | None, columns: Sequence[str] | None, wide: Wide) -> Opened:
    names, notes = labelled(engine.schema)
    notes, faults = (*engine.notes, *notes), {**type_faults(engine.schema), **engine.faults}
    check_shape(names, rows=1)
    wanted = chosen_columns(names, domain, columns, faults)
    if domain is not None:
        table = CountedTable.of(engine, domain.project(wanted), name)
        said = (note for attribute in table.domain.attributes for note in _said_of(table, attribute))
        others = left_out((*names, *engine.unlike), domain.names)
        return replace(table, notes=(*notes, *others, *said, *table.empty_rows())), ()
    return _inferred(engine, name, wanted, notes, wide, faults, named=columns is not None)


def _said_of(table: CountedTable, attribute: Attribute) -> Iterator[str]:
    """Notes on the cells of a column under a given domain."""
    name = attribute.name
    if attribute.is_binned and pa.types.is_boolean(table.engine.schema.field(name).type):
        yield truths_as_numbers(name)
    yield from table.listed_notes(name)
    if table.timed(name):
        yield infer.times_dropped(name)
    if attribute.is_binned:
        yield from table.moved(name)


def _inferred(
    engine: Engine,
    title: str,
    wanted: Sequence[str],
    notes: tuple[str, ...],
    wide: Wide,
    faults: Faults,
    *,
    named: bool,
) -> Opened:
    """A table whose columns are what their different cells, and how many rows hold each, say that they are."""
    folds: dict[str, Fold] = {}
    n = engine.ask(f"SELECT {COUNT} AS n FROM {ROWS}")["n"][0].as_py()
    if not n:
        raise DataError(f"the table has {counted(len(wanted), 'column')} but no row")

    def column(name: str) -> infer.Column:
        check_no_zone(engine, name)
        listed_ = engine.categories(name)
        kind = TextFold if listed_ is None and is_text(engine.schema.field(name).type) else Fold
        fold = folds[name] = kind(infer.MAX_CATEGORIES, lambda values: _different(engine, name, n, values))
        for array, rows in _cells(engine, name, n):
            of = array if listed_ is None else pa.DictionaryArray.from_arrays(pc.index_in(array, value_set=listed_), listed_)
            fold.add(of, rows)
        return fold.column(name)

    found, dropped, more = inferred_columns(wanted, column, wide, faults, named=named)
    columns = {one.attribute.name: one for one in found}

    def texts(attribute: Attribute) -> Cells | None:
        """A text is what it was inferred to be: a date, a category, or nothing."""
        fold = folds[attribute.name]
        if not isinstance(fold, TextFold):
            return None
        parse = fold.encoder(columns[attribute.name], lambda _, values: values.astype(object).to_numpy())
        return listed(engine, attribute, lambda values: pd.Series(parse(values), dtype=object))

    domain = Domain.of(one.attribute for one in columns.values())
    table = CountedTable.of(engine, domain, title, texts)
    kept = table.project([name for name in domain.names if name not in dropped])
    return replace(table, notes=(*notes, *more, *kept.empty_rows())), dropped


def _different(engine: Engine, name: str, n: int, values: Callable[[Any], Any]) -> int:
    return count_rows(([values(array)] for array, _ in _cells(engine, name, n)), MEMORY_LIMIT).distinct


def _cells(engine: Engine, name: str, n: int) -> Iterator[tuple[pa.Array, np.ndarray | None]]:
    """The different cells of a column and how many of ``n`` rows hold each; very many are handed over one by one."""
    # A type that lists its categories says all of them in its own words.
    cell = name_of(name) if pa.types.is_dictionary(engine.schema.field(name).type) else engine.cell(name)
    cells = f"SELECT {cell} AS cell FROM {ROWS}"
    some = f"SELECT DISTINCT cell FROM ({cells}) AS cells LIMIT {_MOST_GROUPED + 1}"
    if n > _MOST_GROUPED and engine.ask(f"SELECT {COUNT} AS n FROM ({some}) AS few")["n"][0].as_py() > _MOST_GROUPED:
        for batch in engine.batches(cells):
            yield batch.column(0), None
        return
    for batch in engine.batches(f"SELECT cell, {COUNT} AS number FROM ({cells}) AS cells GROUP BY cell"):
        if batch.num_rows:
            yield batch.column(0), np.asarray(batch.column(1), dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _TextTable(CountedTable):
    """A text file, read once: what an engine keeps of it are codes and numbers, so another domain reads it again."""

    path: Path = field(kw_only=True)
    _moved: Mapping[str, Moved] = field(kw_only=True, repr=False)

    def _looked_through(self, domain: Domain) -> CountedTable:
        found = _of_text(self.path, domain, self.name, None, "refuse")
        if found.n != self.n:
            raise DataError(CHANGED)
        return found

    def project(self, columns: Sequence[str]) -> CountedTable:
        """See :class:`CountedTable`."""
        return _TextTable(**vars(super().project(columns)), path=self.path, _moved=self._moved)

    def loaded(self) -> Table:
        """See :class:`CountedTable`."""
        found = read_in_memory(self.path, domain=self.domain, name=self.name)
        rows = CodedRows(found.codes, self.domain.shape)
        if not all(np.array_equal(rows.counts((j,)), self._own.counts((j,))) for j in range(len(self.domain))):
            raise DataError(CHANGED)
        return found


def _of_text(path: Path, domain: Domain | None, name: str, columns: Sequence[str] | None, wide: Wide) -> CountedTable:
    rows = TextRows.of(path, domain, columns, wide)

    def ready(attribute: Attribute) -> Cells:
        if attribute.is_binned:
            return Numbers(attribute, name_of(attribute.name), "double", in_units=True)
        return Known(attribute, name_of(attribute.name))

    kinds = [(a.name, pa.float64() if a.is_binned else pa.int32()) for a in rows.domain.attributes]
    schema = pa.schema(kinds)
    engine = Kept(_Batches(path, schema, rows), schema, path.name)
    table = CountedTable.of(engine, rows.domain, name, ready)
    return _TextTable(**vars(replace(table, notes=(*rows.notes, *table.empty_rows()))), path=path, _moved=rows.moved)


class _Batches:
    """What :meth:`TextRows.batches` gives; another process looks the file through again."""

    def __init__(self, path: Path, schema: pa.Schema, rows: TextRows) -> None:
        self._path, self._domain, self._schema, self._rows = path, rows.domain, schema, [rows]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_rows": []}

    def __call__(self) -> Iterator[pa.RecordBatch]:
        rows = self._rows.pop() if self._rows else TextRows.of(self._path, self._domain, None, "refuse")
        return rows.batches(self._schema)
