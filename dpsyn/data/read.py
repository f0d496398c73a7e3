"""Read a table: CSV, TSV, Parquet or a DataFrame in; a :class:`~dpsyn.table.Table`, or a message what to do, out."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from dpsyn import checks
from dpsyn.attribute import Attribute
from dpsyn.data._delimited import Batch, Delimited
from dpsyn.data._frames import checked_frame, infer_typed, plain_type, unicode_only, zones_told
from dpsyn.data._parquet import NO_FAULTS, PARQUET, Faults, Parquet
from dpsyn.data._text import look
from dpsyn.data._words import Words
from dpsyn.data.fit import fit_whole
from dpsyn.data.infer import Column, UnusableColumnError, times_dropped
from dpsyn.dates import local_moments, timed
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DomainError, ParameterError, quoted
from dpsyn.memory import available_memory, within_memory
from dpsyn.notation import counted, gigabytes
from dpsyn.places import unreadable
from dpsyn.table import Moved, Table

if TYPE_CHECKING:
    from dpsyn.data.counted import CountedTable

PARQUET_NAMES = (".parquet", ".pq")
TAB_NAMES = (".tsv", ".tab")
Wide = Literal["refuse", "leave_out"]
Fit = Callable[[Attribute, "pd.Series[Any]"], Column]
"""Takes typed cells as values of an attribute."""
Found = tuple[Table, tuple[str, ...]]
"""A table with its notes, and which of its columns look like identifiers and are to be left out."""
_LEAST_PER_CELL, _LEAST_PER_BYTE = 16, 3
"""Bytes for a cell: four for its code, the others for its value; and for each byte of a text, which is copied."""


@overload
def read_table(
    source: Any,
    *,
    domain: Domain | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    wide: Wide = "refuse",
    in_place: Literal[False] | None = None,
) -> Table: ...


@overload
def read_table(
    source: Any,
    *,
    domain: Domain | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    wide: Wide = "refuse",
    in_place: Literal[True],
) -> CountedTable: ...


def read_table(
    source: Any,
    *,
    domain: Domain | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    wide: Wide = "refuse",
    in_place: bool | None = None,
) -> Table | CountedTable:
    """A table of n rows, read into memory or counted where it lies; ``table.notes`` says in full sentences what reading it
    had to decide.

    Without a domain and columns, a column that looks like an identifier is left out, and a note says so.

    Text may be separated by commas, semicolons, tabs or bars (detected), in UTF-8, UTF-16 with a mark, or Windows-1252;
    the first line names the columns, or the second below a line such as ``sep=;``. Cells are stripped of spaces around
    them unless they are categories as they stand. Parquet is recognised by its content. However they come, times with a
    zone keep the day that their own zone shows, and whole numbers beyond 2^53 are read as text. So are decimals that double
    precision would merge where they have a type; those of a text file become numbers, and a note says so.

    Args:
        source: a path, bytes, an open file or other buffer (binary or text), or a DataFrame; or to be counted in place a
            path, a folder of Parquet files (and of links to some; each file is read once, and none whose name, or whose
            folder's, begins with . or _; not of Delta, Iceberg or Hudi), a relation of DuckDB, or a table of Ibis
            (``pip install "dpsyn[warehouse]"``).
        domain: the public domain to read into: its columns are looked up by name and its values by their text. Without
            it a domain is inferred from the data (in place, from the engine's own ``GROUP BY``), every attribute with
            ``public=False``.
        name: how to call the table; by default the file's name without its ending.
        columns: the columns to keep, in this order; by default the domain's, or all.
        wide: what to do with a text column of more than 10,000 distinct values, or a column whose type cannot be used,
            where neither a domain nor ``columns`` name it: refuse the file, or leave the column out and
            say so in a note.
        in_place: count the rows where they lie, for mechanisms that need counts alone, and read none of them into memory.
            None counts folders, relations and tables of Ibis in place, and reads everything else.

    Raises:
        DataError: the source is no table, or too large; ``line`` and ``column`` say where, the message what to do.
        DomainError: a column of the domain is absent, or a cell lies outside it.
        ParameterError: another argument is something else than described.
    """
    from dpsyn.data.in_place import is_relation, open_in_place

    name = checks.text("name", "" if name is None else name, "a text, or None for the file's name")
    if in_place is not None:
        checks.flag("in_place", in_place)
    outside = is_relation(source) or (path_of(source) is not None and os.path.isdir(source))
    if in_place or (in_place is None and outside):
        wide = check_choices(domain, columns, wide)
        return open_in_place(source, domain, name, columns, wide)
    if outside:
        return open_in_place(source, domain, name, columns, wide).loaded()
    return read_in_memory(source, domain=domain, name=name, columns=columns, wide=wide)


def read_in_memory(source: Any, *, most: tuple[int, int] | None = None, **choices: Any) -> Table:
    """:func:`read_table` of a file or a DataFrame, of at most so many cells and columns; None for what fits into memory."""
    full, dropped = read_all(source, most=most, **choices)
    return full.project([name for name in full.domain.names if name not in dropped]) if dropped else full


def read_all(
    source: Any,
    *,
    domain: Domain | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    wide: Wide = "refuse",
    most: tuple[int, int] | None = None,
) -> Found:
    """The table of :func:`read_in_memory` with the columns that look like identifiers, and their names."""
    wide = check_choices(domain, columns, wide)
    if isinstance(source, pd.DataFrame):
        return _from_frame(source, domain, name or "data", columns, wide)
    data, file_name = _bytes_of(source)
    title = name or file_name or "data"
    if data[:4] == PARQUET:
        file = Parquet(data)
        _check_size(title, file.rows, len(file.names), most)
        check_memory(title, file.rows, len(file.names), file.text_bytes)
        chosen_columns(file.names, domain, columns, file.faults)  # what is asked for in vain is said before it is read
        return _from_frame(file.frame(), domain, stem(title), columns, wide, file.notes, file)
    called = file_name or title
    if called.lower().endswith(PARQUET_NAMES):
        raise parquet_only_in_name(called)
    tabs, known = called.lower().endswith(TAB_NAMES), names_known(domain, columns)
    text = Delimited(look(lambda: io.BytesIO(data)), tabs=tabs, known=known)
    _check_size(title, 0, len(text.names), most)
    return _from_text(text, domain, title, columns, wide, most)


def _check_size(title: str, rows: int, columns: int, most: tuple[int, int] | None) -> None:
    """Refuse what is larger than allowed, or does not fit into memory whatever its values are, before they are read."""
    what = f"{quoted(title)} holds {rows:,} rows of {columns:,} columns"
    todo = "take a sample of its rows, or leave columns out"
    if most is not None and columns > most[1]:
        raise DataError(f"{quoted(title)} has {columns:,} columns, and at most {most[1]:,} are read here: leave columns out")
    if most is not None and rows * columns > most[0]:
        raise DataError(f"{what}, {rows * columns:,} cells, and at most {most[0]:,} are read here: {todo}")
    check_memory(title, rows, columns)


def check_memory(title: str, rows: int, columns: int, text_bytes: int = 0) -> None:
    """Refuse rows that do not fit into memory whatever their values are."""
    needed, available = _LEAST_PER_CELL * rows * columns + _LEAST_PER_BYTE * text_bytes, available_memory()
    if needed > available:
        raise DataError(
            f"{title!r} holds {rows:,} rows of {columns:,} columns; they need more than {gigabytes(needed)}, and "
            f"{gigabytes(available)} may be used: take a sample of its rows, leave columns out, or let an engine count them "
            "where they lie (dpsyn.read_table(..., in_place=True))"
        )


def check_choices(domain: Domain | None, columns: Sequence[str] | None, wide: Wide) -> Wide:
    """Refuse what ``domain``, ``columns`` and ``wide`` cannot be; the last one as a plain text."""
    checks.instance("domain", domain, Domain, "a domain, or None to infer one", optional=True)
    found: Wide = checks.choice("wide", wide, get_args(Wide))
    if columns is not None:
        named = checks.items("columns", columns, "a list of one or more column names")
        if not named or not all(isinstance(name, str) for name in named):
            raise ParameterError("columns", columns, "a list of one or more column names")
    return found


def stem(title: str) -> str:
    """A file's name without its ending; what of it is no Unicode is replaced."""
    title = re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", title)
    path = Path(title)
    return path.stem if path.suffix.lower() in (".csv", ".tsv", ".tab", ".txt", ".data", ".parquet", ".pq") else title


def path_of(source: Any) -> Path | None:
    """The path that a source is, None if it is something else.

    Raises:
        DataError: it says that it is one and gives none.
    """
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        return Path(os.fsdecode(source))
    except TypeError as error:
        raise DataError(f"a {type(source).__name__} gives no path: {error}") from error


def begins_as_parquet(path: Path) -> bool:
    """Whether a file is one of Parquet, by its first bytes.

    Raises:
        DataError: it cannot be read, or only its name says that it is one.
    """
    try:
        with path.open("rb") as stream:
            found = stream.read(len(PARQUET)) == PARQUET
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if not found and path.name.lower().endswith(PARQUET_NAMES):
        raise parquet_only_in_name(path.name)
    return found


def is_stream(path: Path) -> bool:
    """Whether a path is that of a pipe or a device, which can be read once only; not where the system does not say."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def parquet_only_in_name(title: str) -> DataError:
    """The refusal of another file with the name of a Parquet file."""
    return DataError(f"{quoted(title)} is called a Parquet file but does not start as one; it is damaged or of another kind")


def _bytes_of(source: Any) -> tuple[bytes, str]:
    """All bytes of a source, and a name for it."""
    if (path := path_of(source)) is not None:
        try:
            with path.open("rb") as stream:
                return within_memory(stream, quoted(path.name)), path.name
        except DataError:
            raise
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), ""
    if hasattr(source, "read"):
        try:
            content = source.read()
        except Exception as error:  # an archive, a socket or an object of the caller's raises what it likes
            raise DataError(f"the buffer cannot be read: {str(error) or type(error).__name__}") from error
        title = getattr(source, "name", None)
        title = Path(title).name if isinstance(title, str) and title else ""
        if isinstance(content, str):
            try:
                return content.encode("utf-8"), title
            except UnicodeEncodeError as error:
                raise DataError(f"the text cannot be written as UTF-8: {error}") from error
        if isinstance(content, bytes | bytearray | memoryview):
            return bytes(content), title
    usual = "a path, bytes, an open file or a DataFrame of pandas"
    todo = "what its to_pandas() gives" if hasattr(source, "to_pandas") else usual
    raise DataError(f"cannot read a table from a {type(source).__name__}; hand in {todo}")


def names_known(domain: Domain | None, columns: Sequence[str] | None) -> list[str]:
    """Names of columns that somebody expects in a file."""
    return list(domain.names if domain is not None else () if columns is None else columns)


def chosen_columns(
    present: Sequence[str], domain: Domain | None, columns: Sequence[str] | None, faults: Faults = NO_FAULTS
) -> list[str]:
    """The columns to read, in order; refuses the ones that are not there, and what a domain asks of those with faults."""
    wanted = list(columns) if columns is not None else list(domain.names if domain is not None else present)
    if domain is not None:
        domain.project(wanted)
    known = set(present)
    for column in wanted:
        if column not in known:
            shown = ", ".join(map(quoted, present[:20])) + (", …" if len(present) > 20 else "")
            kind = DataError if domain is None else DomainError
            raise kind(f"the table has no column {quoted(column)}; its columns are {shown}", column=column)
    if len(set(wanted)) != len(wanted):
        raise ParameterError("columns", columns, "every name at most once")
    for column in wanted if domain is not None else ():
        if column in faults:
            raise UnusableColumnError(faults[column], column=column)
    return wanted


def _from_text(
    text: Delimited,
    domain: Domain | None,
    title: str,
    columns: Sequence[str] | None,
    wide: Wide,
    most: tuple[int, int] | None,
) -> Found:
    import pyarrow as pa

    wanted, name = chosen_columns(text.names, domain, columns), stem(title)
    batches = text.gather(range(len(text.names)), list[Batch], list.append)
    _check_size(title, text.rows, len(text.names), most)
    cells = {column: pa.chunked_array([batch[j] for batch in batches]) for j, column in enumerate(text.names)}
    del batches
    notes = (*text.text.notes, *text.header_notes([column[0].as_py() for column in cells.values()]))

    def column(name: str, attribute: Attribute | None = None) -> Column:
        return text.column(name, Words.of(cells[name], attribute), attribute)

    if domain is not None:
        fitted = domain.project(wanted)
        return _fitted(fitted, text.names, name, lambda attribute: column(attribute.name, attribute), notes)
    return _inferred(wanted, name, column, wide, notes, NO_FAULTS, named=columns is not None)


def _from_frame(
    frame: pd.DataFrame,
    domain: Domain | None,
    name: str,
    columns: Sequence[str] | None,
    wide: Wide,
    notes: tuple[str, ...] = (),
    file: Parquet | None = None,
) -> Found:
    """The table of a DataFrame, which may hold what can be used of a file."""
    labels = "".join(f", {quoted(label)}" for label in frame.index.names if label is not None)[1:]
    if labels or not pd.api.types.is_integer_dtype(frame.index.dtype):
        notes = (*notes, f"The row labels{labels} were left out; reset_index() makes columns of them.")
    faults = file.faults if file else NO_FAULTS
    frame = checked_frame(frame)
    names = file.names if file else [str(column) for column in frame.columns]
    wanted = chosen_columns(names, domain, columns, faults)

    def fit(attribute: Attribute) -> Column:
        with unicode_only(attribute.name):
            return fitted_column(attribute, plain_type(frame[attribute.name]))

    def infer(column: str) -> Column:
        with unicode_only(column):
            return infer_typed(column, plain_type(frame[column]))

    if domain is not None:
        return _fitted(domain.project(wanted), names, name, fit, notes)
    return _inferred(wanted, name, infer, wide, notes, faults, named=columns is not None)


def left_out(present: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """A note on columns that are not in a given domain, if there are any."""
    others = [column for column in present if column not in wanted]
    return (f"Not in the domain, and left out: {', '.join(map(quoted, others))}.",) if others else ()


def _fitted(
    domain: Domain,
    present: Sequence[str],
    name: str,
    fit: Callable[[Attribute], Column],
    notes: tuple[str, ...],
) -> Found:
    found = [fit(attribute) for attribute in domain.attributes]
    frame = pd.DataFrame({column.attribute.name: column.values for column in found})
    more = (note for column in found for note in (*column.notes, *_moved(column)))
    return _noted(frame, domain, name, (*notes, *left_out(present, domain.names), *more), ())


def fitted_column(attribute: Attribute, column: pd.Series[Any], fit: Fit = fit_whole) -> Column:
    """Typed cells under a given attribute, and notes on how they are taken.

    Raises:
        DomainError: a cell is outside it.
    """
    truths = attribute.is_binned and infer_dtype(column, skipna=True) == "boolean"
    notes = (truths_as_numbers(attribute.name),) * truths
    notes += zones_told(attribute.name, column) if attribute.kind == "date" else ()
    fitted = fit(attribute, column)
    return replace(fitted, notes=(*notes, *fitted.notes))


def truths_as_numbers(name: str) -> str:
    """A note on a column of truth values under a numeric attribute."""
    return f"Column {quoted(name)}: truth values are taken as the numbers 0 and 1."


def without_times(column: Column) -> Iterator[str]:
    """A note on times of day under a given domain."""
    if column.values.dtype.kind == "M" and timed(local_moments(column.values)).any():
        yield times_dropped(column.attribute.name)


def _moved(column: Column) -> Iterator[str]:
    """Notes on times of day and on cells that are taken as others."""
    yield from without_times(column)
    yield from Moved.of(column.attribute, column.values).notes(column.attribute, len(column.values))


def _inferred(
    wanted: Sequence[str],
    name: str,
    infer: Callable[[str], Column],
    wide: Wide,
    notes: tuple[str, ...],
    faults: Faults,
    *,
    named: bool,
) -> Found:
    found, dropped, more = inferred_columns(wanted, infer, wide, faults, named=named)
    domain = Domain.of(column.attribute for column in found)
    frame = pd.DataFrame({column.attribute.name: column.values for column in found})
    return _noted(frame, domain, name, (*notes, *more), dropped)


def _noted(frame: pd.DataFrame, domain: Domain, name: str, notes: tuple[str, ...], dropped: tuple[str, ...]) -> Found:
    kept = [attribute for attribute in domain.attributes if attribute.name not in dropped]

    def empty() -> int:
        rows = np.arange(len(frame))
        for attribute in kept:
            rows = rows[frame[attribute.name].iloc[rows].isna().to_numpy()]
        return len(rows)

    return Table(frame, domain, name, (*notes, *empty_rows(kept, len(frame), empty))), dropped


def empty_rows(attributes: Sequence[Attribute], rows: int, count: Callable[[], int]) -> tuple[str, ...]:
    """A note on rows that are empty in all of several columns, as lines of separators alone are (blank lines are no rows).

    ``count`` is asked for their number where each of the columns may be empty.
    """
    empty = count() if len(attributes) > 1 and all(attribute.missing for attribute in attributes) else 0
    said = f"{counted(empty, 'row')} of {rows:,} {'is' if empty == 1 else 'are'} empty in all columns that were read"
    todo = "If they are none, such as those below the table of a spreadsheet, delete them from the data."
    return (f"{said}, and count as rows. {todo}",) if empty else ()


def inferred_columns(
    wanted: Sequence[str], infer: Callable[[str], Column], wide: Wide, faults: Faults, *, named: bool
) -> tuple[list[Column], tuple[str, ...], tuple[str, ...]]:
    """All columns that can be inferred, the identifiers among them that are to be left out, and notes.

    What cannot be used is refused or left out. If columns were ``named``, all are taken or refused; identifiers stay, too,
    where nothing else is there.
    """
    results: list[Column | UnusableColumnError] = []
    for column in wanted:
        try:
            results.append(UnusableColumnError(faults[column], column=column) if column in faults else infer(column))
        except UnusableColumnError as error:
            results.append(error)
    found = [result for result in results if isinstance(result, Column)]
    refused = [result for result in results if isinstance(result, UnusableColumnError)]
    if refused and (wide == "refuse" or named or not found):
        others = ", ".join(quoted(error.column) for error in refused[1:])
        raise UnusableColumnError(
            str(refused[0]) + (f" (nor can {others} be used)" if others else ""), column=refused[0].column
        )
    identifiers = tuple(column.attribute.name for column in found if column.identifier)
    dropped = () if named or len(identifiers) == len(found) else identifiers
    return found, dropped, tuple(note for result in results for note in _said_of(result, dropped))


def _said_of(result: Column | UnusableColumnError, dropped: Sequence[str]) -> tuple[str, ...]:
    if isinstance(result, UnusableColumnError):
        why = str(result).removeprefix(f"column {quoted(result.column)} ").removesuffix(".")
        return (f"Column {quoted(result.column)} was left out: it {why}.",)
    if not result.identifier:
        return result.notes
    name = result.attribute.name
    if name in dropped:
        return (f"Column {quoted(name)} was left out as an identifier: {result.identifier}.", *result.hints)
    return (*result.notes, f"Column {quoted(name)} looks like an identifier, best left out: {result.identifier}.")
