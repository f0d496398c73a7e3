"""Tables in files of any size, as batches of Arrow columns in the file's order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from dpsyn.data._delimited import (
    arrow_options,
    count_rows,
    end_of_header,
    header,
    line_of,
    spaced_quote,
    strict_batches,
)
from dpsyn.data._frames import parquet_columns
from dpsyn.data._text_file import TextFile, look

_BATCH = 1 << 17
# Arrow reads up to 32 blocks ahead.
BLOCK = 1 << 22
Batch = list[Any]
"""One Arrow array a column."""


class Source(Protocol):
    """A table in a file."""

    names: tuple[str, ...]

    def batches(self, columns: Sequence[int]) -> Iterator[tuple[float, Batch]]:
        """Some columns by position, batch by batch, with the share of the table that has been read."""
        ...


class TextSource:
    """A delimited text file. Its cells are dictionary arrays of strings, not stripped, empty where they are empty.

    Rows are split by Arrow, as in :func:`~dpsyn.data._delimited.read_delimited`, and where quotes or line ends are
    unusual by the strict reader; a file with quotes is first read by the strict reader, which refuses bad ones.

    Raises:
        DataError: as ``read_delimited`` says.
    """

    def __init__(self, path: Path, *, tabs: bool) -> None:
        self.file: TextFile = look(path)
        self._stream: Any = None
        self.names, self.separator = header(self.file.open, self.file.first_line, tabs=tabs)
        spaced = self.file.quoted and self._has_spaced_quotes()
        self.strict = spaced or (self.file.quoted and self.file.lone_returns)
        self.expected: int | None = None
        if self.file.quoted and not spaced:
            self.expected = count_rows(self.file.open, self.separator, self.names, self.file.first_line)

    def _has_spaced_quotes(self) -> bool:
        pattern = re.compile(spaced_quote(self.separator))
        with self.file.open() as stream:
            return any(pattern.search(line) for line in _by_lines(stream))

    def line_of(self, row: int) -> int:
        """The line on which a row (counted from 0) starts, as a text editor counts."""
        return line_of(self.file.open, self.separator, self.names, self.file.first_line, row)

    def batches(self, columns: Sequence[int]) -> Iterator[tuple[float, Batch]]:
        """Columns by position.

        Raises:
            ArrowInvalid: Arrow cannot read the rows; set ``strict`` and begin again.
            DataError: the strict reader cannot read them; the message names the line.
        """
        size = max(self.file.path.stat().st_size, 1)
        for batch in self._strictly(columns) if self.strict else self._by_arrow(columns):
            yield min(self._stream.raw.count / size, 1.0), batch

    def _open(self) -> Any:
        self._stream = self.file.open()
        return self._stream

    def _strictly(self, columns: Sequence[int]) -> Iterator[Batch]:
        for batch in strict_batches(self._open, self.separator, self.names, self.file.first_line):
            yield [batch[j].dictionary_encode() for j in columns]

    def _by_arrow(self, columns: Sequence[int]) -> Iterator[Batch]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        quoted = self.file.quoted
        end = end_of_header(self.file.open, self.separator, quoted=quoted)
        cell = pa.dictionary(pa.int32(), pa.string())
        options = arrow_options(self.names, self.separator, cell, quoted=quoted, block=BLOCK)
        options["convert_options"].include_columns = [str(j) for j in columns]
        with self._open() as stream:
            stream.read(end)
            with arrow.open_csv(pa.PythonFile(stream, "r"), **options) as reader:
                for batch in reader:
                    yield batch.columns


def _by_lines(stream: Any) -> Iterator[bytes]:
    """Blocks of whole lines."""
    held = b""
    while block := stream.read(1 << 22):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield held + block[:cut]
            held = block[cut:]
        else:
            held += block
    yield held


class ParquetSource:
    """A Parquet file; its cells have types.

    Raises:
        DataError: as :func:`~dpsyn.data._frames.read_parquet` says.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names, self.notes, self.rows = parquet_columns(path)

    def batches(self, columns: Sequence[int]) -> Iterator[tuple[float, Batch]]:
        """Columns by position."""
        from pyarrow import parquet

        names = [self.names[j] for j in columns]
        with parquet.ParquetFile(self._path, pre_buffer=False, buffer_size=1 << 20) as file:
            rows = max(file.metadata.num_rows, 1)
            read = 0
            for batch in file.iter_batches(_BATCH, columns=names):
                read += batch.num_rows
                yield read / rows, [batch.column(name) for name in names]
