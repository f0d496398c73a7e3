"""Reading an upload: at once where that is quick, else in a worker, and never more than a visit may hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpsyn.data._delimited import SEPARATORS
from dpsyn.data._parquet import PARQUET
from dpsyn.data.counted import AnyTable
from dpsyn.data.in_place import Connection, open_all
from dpsyn.data.read import read_all
from dpsyn.errors import quoted
from dpsyn.kit.scheduler import scheduler

MOST_COLUMNS = 10_000
_PER_CELL = 240
"""Bytes of the server's share for a cell: a table takes up to 24 for each, rows to learn from and held-out ones counted
apart, and ten visitors may hold one."""
_QUICK_BYTES, _QUICK_COLUMNS = 2 << 20, 300
"""Read within about half a second: 1 MB of CSV takes 0.07 s of a processor with 15 columns, and 0.2 s with 150."""


@dataclass(frozen=True)
class Read:
    """A table, the same with the columns that look like identifiers, and what reading it had to decide."""

    table: AnyTable
    full: AnyTable
    notes: tuple[str, ...]

    @classmethod
    def of(cls, full: AnyTable, dropped: Sequence[str]) -> Read:
        """Leave out columns, and those of one value unless there are no others."""
        table = _without(full, dropped)
        alone = table.single_valued if len(table.single_valued) < len(table.domain) else []
        said = (f"Column {quoted(name)} was left out: it has one value only." for name in alone)
        return cls(_without(table, alone).prepared(), full, (*full.notes, *said))


def _without(table: AnyTable, columns: Sequence[str]) -> AnyTable:
    return table.project([name for name in table.domain.names if name not in columns]) if columns else table


def most_cells() -> int:
    """Cells of a table that a visit may hold."""
    return scheduler().limits.share // _PER_CELL


def is_quick(data: bytes) -> bool:
    """Whether a file may be read while its visitor waits: a short text. Parquet may hold more than it says of itself."""
    if len(data) > _QUICK_BYTES or data[:4] == PARQUET:
        return False
    first_line = data.lstrip().partition(b"\n")[0]
    return max(first_line.count(separator.encode()) for separator in SEPARATORS) < _QUICK_COLUMNS


def read(data: bytes, name: str, most: int, progress: Callable[[str, float], None]) -> Read:
    """The table of an uploaded file, its equal rows counted; also the task of a background job.

    Raises:
        DataError: it is no table, or one of more than ``most`` cells or ``MOST_COLUMNS`` columns.
        DomainError: as :func:`~dpsyn.data.read.read_table`.
    """
    progress("reading the file", 0.0)
    full, dropped = read_all(data, name=name, wide="leave_out", most=(most, MOST_COLUMNS))
    progress("counting equal rows", 0.9)
    found = Read.of(full, dropped)
    found.table.statistics()
    return found


def open_source(source: str | Connection, name: str, progress: Callable[[str, float], None]) -> Read:
    """Task of a background job: rows to be counted where they lie, with all counts that pages show.

    Raises:
        DataError: they cannot be read or counted.
    """
    progress("counting where the rows lie", 0.0)
    full, dropped = open_all(source, None, name if isinstance(source, Connection) else None, None, "leave_out")
    return Read.of(full, dropped)
