"""Exact statistics of a file of any size: read and inferred batch by batch, counted by DuckDB in bounded memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from dpsyn import checks
from dpsyn.attribute import Attribute, Codes
from dpsyn.data import infer
from dpsyn.data._delimited import Batch, Delimited
from dpsyn.data._fold import CHANGED, Fold, Tell, TextFold
from dpsyn.data._names import check_shape
from dpsyn.data._parquet import NO_FAULTS, Faults, Parquet, as_series
from dpsyn.data._text import look
from dpsyn.data._words import Words
from dpsyn.data.engines import MEMORY_LIMIT, registered, spilling
from dpsyn.data.fit import fit_dates, fit_typed, texts_told
from dpsyn.data.read import (
    TAB_NAMES,
    Wide,
    begins_as_parquet,
    check_choices,
    chosen_columns,
    empty_rows,
    fitted_column,
    inferred_columns,
    is_stream,
    left_out,
    names_known,
    path_of,
    stem,
    without_times,
)
from dpsyn.display import PRIVATE, Shown
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DomainError, ParameterError, quoted
from dpsyn.notation import counted
from dpsyn.places import unreadable
from dpsyn.statistics import DatasetStatistics, bits_of
from dpsyn.table import Moved, shown_notes

_LARGEST_KEY = 2**62

Progress = Callable[[str, float], None]
Encode = Callable[[Any], npt.NDArray[Any]]
"""Codes (or numbers) of a batch of one column, an Arrow array."""


@dataclass(frozen=True, repr=False)
class FileStatistics(Shown):
    """What is known of a table in a file. All of it is read from private data.

    Attributes:
        statistics: p, n, ‖f_n‖∞ and the number of distinct rows, exact.
        domain: the domain handed in, or the one inferred.
        notes: what reading had to decide, in full sentences.
    """

    statistics: DatasetStatistics
    domain: Domain
    notes: tuple[str, ...]

    def _shown(self) -> tuple[str, list[str]]:
        found, (heading, *columns) = self.statistics, self.domain._shown()[1]
        rows = counted(found.n, "row")
        rows += "" if found.distinct_rows is None else f", {found.distinct_rows:,} of them different"
        share = f"  p = {found.p:,} bits; largest share of equal rows: {found.max_frequency:.4g}"
        return PRIVATE, [f"{found.name}: {rows}, {heading}", share, *shown_notes(self.notes), *columns]


def file_statistics(
    path: str | os.PathLike[str],
    *,
    domain: Domain | None = None,
    columns: Sequence[str] | None = None,
    wide: Wide = "refuse",
    two_valued_as_bit: bool = False,
    memory_limit: str = MEMORY_LIMIT,
    progress: Progress | None = None,
) -> FileStatistics:
    """Statistics of a CSV, TSV or Parquet file of any size.

    Equal to ``read_table(path, ...).statistics()`` and the domain and notes of reading it, without holding the table in
    memory: a text file is read three times (four if it holds quotes), a Parquet file twice.

    Args:
        path: the file.
        domain: as in :func:`~dpsyn.data.read.read_table`, as are the next two.
        columns: the columns to keep.
        wide: what to do with a text column of more than 10,000 distinct values.
        two_valued_as_bit: as in :func:`~dpsyn.statistics.bits_of`.
        memory_limit: memory for counting equal rows, such as ``"1GB"``; more rows are spilled to a private temporary
            folder. Reading takes a few hundred megabytes besides.
        progress: told of each step, with the share of the work done.

    Raises:
        DataError: the file is no table, or changes while it is read; ``line`` and ``column`` say where.
        DomainError: a column of the domain is absent, or a cell lies outside it.
        ParameterError: another argument is something else than described.
    """
    wide = check_choices(domain, columns, wide)
    checks.flag("two_valued_as_bit", two_valued_as_bit)
    memory_limit = checks.text("memory_limit", memory_limit, "an amount of memory such as '1GB'")
    if memory_limit.lstrip().startswith("-"):
        raise ParameterError("memory_limit", memory_limit, "an amount of memory such as '1GB'")
    progress = _quiet if progress is None else progress
    checks.function("progress", progress, checks.PROGRESS)
    place = path_of(path)
    if place is None:
        raise ParameterError("path", path, "the path of a file")
    if is_stream(place):
        raise DataError(f"{quoted(place.name)} is no file, and can be read once only: read it with read_table")
    parquet = begins_as_parquet(place)
    job = _Job(place, domain, columns, wide, memory_limit, progress)
    try:
        source, plans, notes = _of_parquet(job) if parquet else _of_text(job)
        counts, empty = _count(source, plans, job)
    except OSError as error:
        raise unreadable(place, error) from error
    attributes = [attribute for attribute, _ in plans]
    statistics = DatasetStatistics(
        p=sum(bits_of(attribute, two_valued_as_bit=two_valued_as_bit) for attribute in attributes),
        n=counts.rows,
        max_frequency=counts.largest / counts.rows,
        distinct_rows=counts.distinct,
        sizes=tuple(attribute.size for attribute in attributes),
        name=stem(place.name),
    )
    told = empty_rows(attributes, counts.rows, lambda: empty)
    return FileStatistics(statistics, Domain.of(attributes), (*notes, *_said(plans), *told))


def _quiet(step: str, share: float) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class _Job:
    """What to read of a file, and how."""

    path: Path
    domain: Domain | None
    columns: Sequence[str] | None
    wide: Wide
    memory_limit: str
    tell: Progress
    in_units: bool = False

    def tell_reading(self, share: float) -> None:
        """Report the first reading."""
        self.tell("reading the columns", share / 2)


Plan = tuple[Attribute, Encode]
"""One column: what it is, and how to encode it."""


class _Folds(dict[str, Fold]):
    """One fold a column."""

    def add(self, batch: Batch) -> None:
        """Take in the next batch of all columns."""
        for fold, array in zip(self.values(), batch, strict=True):
            fold.add(array)

    def plans(
        self, source: Delimited | Parquet, job: _Job, wanted: Sequence[str], faults: Faults
    ) -> tuple[list[Plan], tuple[str, ...]]:
        """What the columns are and how to encode them, and notes."""
        if job.domain is not None:
            found = [fold.column(name) for name, fold in self.items()]
            fitted: list[Plan] = [(one.attribute, _Fitted(one, partial(self.encoder, one, job))) for one in found]
            return fitted, left_out(source.names, job.domain.names)
        every, dropped, notes = inferred_columns(
            wanted, lambda name: self[name].column(name), job.wide, faults, named=job.columns is not None
        )
        found = [column for column in every if column.attribute.name not in dropped]
        return [(column.attribute, self.encoder(column, job)) for column in found], notes

    def encoder(self, column: infer.Column, job: _Job, *tell: Tell) -> Encode:
        """How to encode the batches of a column."""
        numbers = job.in_units and column.attribute.is_binned
        return self[column.attribute.name].encoder(column, Attribute.in_units if numbers else Attribute.encode, *tell)


@dataclass(frozen=True)
class TextRows:
    """The rows of a text file as codes, and numbers and dates in units, batch by batch.

    Attributes:
        domain: the one handed in, or the one inferred.
    """

    domain: Domain
    _notes: tuple[str, ...]
    _source: Delimited
    _plans: list[Plan]

    @classmethod
    def of(cls, path: Path, domain: Domain | None, columns: Sequence[str] | None, wide: Wide) -> TextRows:
        """Look the file through; the arguments are those of :func:`file_statistics`.

        Raises:
            DataError: the file is no table.
            DomainError: a column of the domain is absent, or a cell lies outside it.
        """
        try:
            source, plans, notes = _of_text(_Job(path, domain, columns, wide, MEMORY_LIMIT, _quiet, in_units=True))
        except OSError as error:
            raise unreadable(path, error) from error
        return cls(Domain.of(attribute for attribute, _ in plans), notes, source, plans)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading had to decide, once all batches are read."""
        return (*self._notes, *_said(self._plans))

    @property
    def moved(self) -> dict[str, Moved]:
        """The cells of each column that a given domain moves, once all batches are read."""
        return {a.name: encode.moved if isinstance(encode, _Encoder) else Moved() for a, encode in self._plans}

    def batches(self, schema: Any) -> Iterator[Any]:
        """Arrow batches of this schema, a column per attribute; empty numbers are null.

        Raises:
            DataError: the file changed.
        """
        rows = 0
        for _, batch in self._source.batches([self._source.names.index(attribute.name) for attribute, _ in self._plans]):
            values = [encode(array) for (_, encode), array in zip(self._plans, batch, strict=True)]
            arrays = [pa.array(value, kind, from_pandas=True) for value, kind in zip(values, schema.types, strict=True)]
            rows += len(values[0])
            yield pa.record_batch(arrays, schema=schema)
        if rows != self._source.rows:
            raise DataError(CHANGED)


def _of_text(job: _Job) -> tuple[Delimited, list[Plan], tuple[str, ...]]:
    job.tell("looking through the file", 0.0)
    tabs, known = job.path.name.lower().endswith(TAB_NAMES), names_known(job.domain, job.columns)
    source = Delimited(look(lambda: job.path.open("rb")), tabs=tabs, known=known)
    wanted = chosen_columns(source.names, job.domain, job.columns)

    def new(name: str) -> TextFold:
        attribute = job.domain[name] if job.domain is not None else None
        return TextFold(
            max(infer.MAX_CATEGORIES, 2 * len(attribute.categories) if attribute else 0),
            _counter(source, name, job),
            partial(source.column, attribute=attribute),
            strip=True,
            decimal_comma=source.separator != ",",
            attribute=attribute,
        )

    positions = [source.names.index(name) for name in wanted]
    folds = source.gather(positions, lambda: _Folds((name, new(name)) for name in wanted), _Folds.add, job.tell_reading)
    first_row = [array[0].as_py() for array in next(source.batches(range(len(source.names))))[1]]
    plans, notes = folds.plans(source, job, wanted, NO_FAULTS)
    return source, plans, (*source.text.notes, *source.header_notes(first_row), *notes)


def _of_parquet(job: _Job) -> tuple[Parquet, list[Plan], tuple[str, ...]]:
    source = Parquet(job.path)
    check_shape(source.names, source.rows)
    wanted = chosen_columns(source.names, job.domain, job.columns, source.faults)
    if job.domain is not None:
        dates = [name for name in wanted if name in source.texts and job.domain[name].kind == "date"]
        dated = _Folds((name, _dated(source, job.domain[name], job)) for name in dates)
        if dated:
            for _, batch in source.batches([source.names.index(name) for name in dates]):
                dated.add(batch)
        written = {name: column for name, fold in dated.items() if (column := fold.column(name)).read is not None}
        fitted = {name: _Fitted(column, partial(dated.encoder, column, job)) for name, column in written.items()}
        plans: list[Plan] = [(job.domain[name], fitted.get(name) or _Typed(job.domain[name])) for name in wanted]
        return source, plans, (*source.notes, *left_out(source.names, job.domain.names))
    folds, used = _Folds(), [name for name in wanted if name not in source.faults]
    for name in used:
        kind = TextFold if name in source.texts else Fold
        folds[name] = kind(infer.MAX_CATEGORIES, _counter(source, name, job))
    for share, batch in source.batches([source.names.index(name) for name in used]) if used else ():
        job.tell_reading(share)
        folds.add(batch)
    plans, notes = folds.plans(source, job, wanted, source.faults)
    return source, plans, (*source.notes, *notes)


def _dated(source: Parquet, attribute: Attribute, job: _Job) -> TextFold:
    """The texts of a column of dates; nothing is read of them unless they are written in one way that is not ISO 8601."""

    def fit(name: str, words: Words) -> infer.Column:
        return fit_dates(attribute, words) or infer.Column(pd.Series(dtype=object), attribute)

    return TextFold(infer.MAX_CATEGORIES, _counter(source, attribute.name, job), fit, attribute=attribute)


class _Encoder(ABC):
    """Encodes the batches of a column under a given domain.

    Attributes:
        moved: cells that that moves, once all batches are encoded.
    """

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._rows = 0
        self._said: dict[str, None] = {}
        self.moved = Moved()

    def __call__(self, array: Any) -> npt.NDArray[Any]:
        codes = self._encoded(array)
        self._rows += len(array)
        return codes

    @abstractmethod
    def _encoded(self, array: Any) -> npt.NDArray[Any]:
        """The codes of a batch."""

    @property
    def notes(self) -> tuple[str, ...]:
        """On the column, once all batches are encoded."""
        return (*self._said, *self.moved.notes(self._attribute, self._rows))


class _Fitted(_Encoder):
    """The one of a column of texts that were looked through before."""

    def __init__(self, column: infer.Column, encoder: Callable[[Tell], Encode]) -> None:
        super().__init__(column.attribute)
        self._said = dict.fromkeys((*column.notes, *without_times(column)))
        self._encode = encoder(self._count)

    def _count(self, values: pd.Series[Any], cells: npt.NDArray[np.int64]) -> None:
        self.moved += Moved.of(self._attribute, values, cells)

    def _encoded(self, array: Any) -> npt.NDArray[Any]:
        return self._encode(array)


class _Typed(_Encoder):
    """The one of a column of a Parquet file; a refusal says from which row it counts."""

    _told: tuple[str, ...] = ()

    def _encoded(self, array: Any) -> Codes:
        try:
            cells = as_series(array)
            column = fitted_column(self._attribute, cells, self._fit)
            self._told = self._told or texts_told(self._attribute, cells)
            codes = self._attribute.encode(column.values)
        except DomainError as error:
            where = f" (rows counted from row {self._rows + 1} of the file)" if self._rows else ""
            raise DomainError(f"{error}{where}", column=error.column) from error
        self._said |= dict.fromkeys((*column.notes, *self._told, *without_times(column)))
        self.moved += Moved.of(self._attribute, column.values)
        return codes

    @staticmethod
    def _fit(attribute: Attribute, cells: pd.Series[Any]) -> infer.Column:
        return infer.Column(fit_typed(attribute, cells), attribute)


def _said(plans: Sequence[Plan]) -> Iterator[str]:
    """Notes on columns under a given domain, once all batches are encoded."""
    return (note for _, encode in plans if isinstance(encode, _Encoder) for note in encode.notes)


def _counter(source: Delimited | Parquet, name: str, job: _Job) -> Callable[[Callable[[Any], Any]], int]:
    """How to count the different values that a function of batches of one column gives."""

    def count(values: Callable[[Any], Any]) -> int:
        batches = source.batches([source.names.index(name)])
        return count_rows(([values(array)] for _, (array,) in batches), job.memory_limit).distinct

    return count


def _count(source: Delimited | Parquet, plans: Sequence[Plan], job: _Job) -> tuple[RowCounts, int]:
    """Encode all rows and count equal ones, and those with the last code of every column."""
    sizes = [attribute.size for attribute, _ in plans]
    empty = 0

    def keys() -> Iterator[Sequence[Any]]:
        nonlocal empty
        for share, batch in source.batches([source.names.index(attribute.name) for attribute, _ in plans]):
            job.tell("counting equal rows", 0.5 + share / 2)
            codes = [encode(array) for (_, encode), array in zip(plans, batch, strict=True)]
            rows = np.arange(len(codes[0]))
            for one, size in zip(codes, sizes, strict=True):
                rows = rows[one[rows] == size - 1]
            empty += len(rows)
            yield packed(codes, sizes)

    counts = count_rows(keys(), job.memory_limit)
    if counts.rows != source.rows:
        raise DataError(CHANGED)
    return counts, empty


@dataclass(frozen=True)
class RowCounts:
    """Number of rows, of different rows, and of the rows that are equal to the most frequent one."""

    rows: int
    distinct: int
    largest: int


def packed(columns: Sequence[Codes], sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """A few integers a row, equal exactly where the rows are: columns by mixed radix, up to 2^62 in one integer."""
    keys: list[npt.NDArray[np.int64]] = []
    radix = _LARGEST_KEY + 1
    for codes, size in zip(columns, sizes, strict=True):
        if radix * size > _LARGEST_KEY:
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

    first = _as_batch(next(keys))
    listed = ", ".join(first.schema.names)
    with spilling(memory_limit) as connection:
        try:
            with registered(connection, first.schema, chain([first], map(_as_batch, keys))):
                found = connection.execute(
                    "SELECT sum(equal)::BIGINT, count(*), max(equal) "
                    f"FROM (SELECT count(*) AS equal FROM batches GROUP BY {listed})"
                ).fetchone()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"the rows cannot be counted within memory_limit = {memory_limit!r} and the room in the folder for "
                f"temporary files ({reason}); allow more memory, or choose fewer columns"
            ) from error
    rows, distinct, largest = found if found is not None else (0, 0, 0)
    return RowCounts(int(rows or 0), int(distinct), int(largest or 0))  # of no rows there is no sum


def _as_batch(keys: Sequence[Any]) -> Any:
    arrays = [pa.array(key) if isinstance(key, np.ndarray) else key for key in keys]
    return pa.record_batch(arrays, names=[f"k{i}" for i in range(len(arrays))])
