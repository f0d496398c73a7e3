"""Exact statistics of a file of any size: read and inferred batch by batch, counted by DuckDB in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpsyn.data._frames import PARQUET
from dpsyn.data._job import Job, Progress, quiet
from dpsyn.data._parquet_statistics import of_parquet
from dpsyn.data._text_statistics import of_text
from dpsyn.data.read import PARQUET_NAMES, TAB_NAMES, Wide, check_choices, parquet_only_in_name, stem, unreadable
from dpsyn.domain import Domain
from dpsyn.statistics import DatasetStatistics, bits_of


@dataclass(frozen=True)
class FileStatistics:
    """What is known of a table in a file. All of it is read from private data.

    Attributes:
        statistics: p, n, ‖f_n‖∞ and the number of distinct rows, exact.
        domain: the domain handed in, or the one inferred.
        notes: what reading had to decide, in full sentences.
    """

    statistics: DatasetStatistics
    domain: Domain
    notes: tuple[str, ...]


def file_statistics(
    path: str | os.PathLike[str],
    *,
    domain: Domain | None = None,
    columns: Sequence[str] | None = None,
    wide: Wide = "refuse",
    two_valued_as_bit: bool = False,
    memory_limit: str = "1GB",
    progress: Progress | None = None,
) -> FileStatistics:
    """Statistics of a CSV, TSV or Parquet file of any size.

    Equal to ``read_table(path, ...).statistics()`` and the domain and notes of reading it, without holding the table in
    memory: a text file is read three times (four if it holds quotes), a Parquet file twice.

    Args:
        path: the file.
        domain: as in :func:`~dpsyn.data.read.read_with_notes`, as are the next two.
        columns: the columns to keep.
        wide: what to do with a text column of more than 10,000 distinct values.
        two_valued_as_bit: as in :func:`~dpsyn.statistics.bits_of`.
        memory_limit: memory for counting equal rows, such as ``"1GB"``; more rows are spilled to a private temporary
            folder. Reading takes a few hundred megabytes besides.
        progress: told of each step, with the share of the work done.

    Raises:
        DataError: the file is no table, or changes while it is read; ``line`` and ``column`` say where.
        DomainError: a column of the domain is absent, or a cell lies outside it.
        ParameterError: ``wide``, ``columns`` or ``memory_limit`` is something else than described.
    """
    check_choices(columns, wide)
    place = Path(path)
    name = place.name.lower()
    job = Job(domain, columns, wide, memory_limit, progress or quiet)
    try:
        with place.open("rb") as stream:
            head = stream.read(len(PARQUET))
    except (OSError, ValueError) as error:
        raise unreadable(place, error) from error
    try:
        if head != PARQUET and name.endswith(PARQUET_NAMES):
            raise parquet_only_in_name(place.name)
        found = of_parquet(place, job) if head == PARQUET else of_text(place, job, tabs=name.endswith(TAB_NAMES))
    except OSError as error:
        raise unreadable(place, error) from error
    attributes, notes, counts = found.attributes, found.notes, found.counts
    statistics = DatasetStatistics(
        p=sum(bits_of(attribute, two_valued_as_bit=two_valued_as_bit) for attribute in attributes),
        n=counts.rows,
        max_frequency=counts.largest / counts.rows,
        distinct_rows=counts.distinct,
        sizes=tuple(attribute.size for attribute in attributes),
        name=stem(place.name),
    )
    return FileStatistics(statistics, Domain.of(attributes), notes)
