"""Delimited text to columns of distinct cells and codes: nothing is half read, and every refusal names its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpsyn.data._records import SEPARATORS, Open, guess_separator, records
from dpsyn.errors import DataError

_CHUNK = 50_000
_QUOTE = b'"'


@dataclass(frozen=True)
class Delimited:
    """A text table whose cells are still text: ``columns`` are Arrow arrays of strings, one a name."""

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    separator: str
    notes: tuple[str, ...]
    text: bytes
    first_line: int

    def line_of(self, row: int) -> int:
        """The line on which a row (counted from 0) starts, as a text editor counts."""
        return line_of(lambda: io.BytesIO(self.text), self.separator, self.names, self.first_line, row)


def line_of(text: Open, separator: str, names: tuple[str, ...], first_line: int, row: int) -> int:
    """The line on which a row (counted from 0) starts, as a text editor counts."""
    starts = (start for start, cells in records(text, separator, first_line) if _is_row(cells, names))
    return next(islice(starts, row + 1, None))


def read_delimited(text: bytes, *, tabs: bool = False) -> Delimited:
    """Split UTF-8 text into columns.

    Args:
        text: UTF-8 without a byte order mark; not blank.
        tabs: the file's name says that tabs separate the values.

    Raises:
        DataError: names are empty or doubled, a row has too many or too few values, a quote stays open, or there is no row.
    """
    if b"\r" in text and (_QUOTE not in text or b"\n" not in text):
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    body = text.lstrip(b"\r\n")
    first_line = text[: len(text) - len(body)].count(b"\n") + 1
    body = body.rstrip(b"\r\n") + b"\n"
    names, separator = header(lambda: io.BytesIO(body), first_line, tabs=tabs)
    columns = _columns(body, separator, names, first_line)
    if len(columns[0]) == 0:
        raise no_row(names, first_line)
    notes = header_notes(names, [column[0].as_py() for column in columns], first_line)
    return Delimited(names, columns, separator, notes, body, first_line)


def header(text: Open, first_line: int, *, tabs: bool) -> tuple[tuple[str, ...], str]:
    """The column names, and what separates them.

    Raises:
        DataError: names are empty or doubled, or the first line plainly is no header.
    """
    with text() as stream:
        tabs = tabs and b"\t" in stream.readline()
    separator = "\t" if tabs else guess_separator(text, first_line)
    return _names(next(records(text, separator, first_line))[1], first_line), separator


def no_row(names: tuple[str, ...], first_line: int) -> DataError:
    """The refusal of a header without rows."""
    return DataError(
        f"line {first_line} names {counted(len(names), 'column')}, but there is no row below it", line=first_line
    )


def _is_row(cells: list[str], names: tuple[str, ...]) -> bool:
    return bool(cells) or len(names) == 1


def _names(header: list[str], line: int) -> tuple[str, ...]:
    names = tuple(name.strip() for name in header)
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"line {line}: column {position} of {len(names)} has no name; give it one, or delete the column "
                "(row numbers written by R or pandas, or a separator too many at the end of the line, look like this)",
                line=line,
            )
    check_distinct(names, f"line {line}: ", line)
    return names


def check_distinct(names: tuple[str, ...], where: str, line: int | None = None) -> None:
    """Refuse two columns of one name, saying which positions they have."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise DataError(
                f"{where}columns {seen[name]} and {position} are both called {name!r}; rename one of them",
                line=line,
                column=name,
            )
        seen[name] = position


def _columns(body: bytes, separator: str, names: tuple[str, ...], first_line: int) -> tuple[Any, ...]:
    """All columns. The fast reader is trusted only with text that the strict one has passed or that holds no quotes."""
    quoted = _QUOTE in body
    if quoted and re.search(spaced_quote(separator), body):
        return _slowly(body, separator, names, first_line)
    count = None
    if quoted:
        count = count_rows(lambda: io.BytesIO(body), separator, names, first_line)
    columns = _fast(body, separator, names, quoted=quoted)
    if columns is None or (count is not None and len(columns[0]) != count):
        return _slowly(body, separator, names, first_line)
    return columns


def spaced_quote(separator: str) -> bytes:
    """A pattern: spaces before an opening quote, which only the strict reader skips."""
    return re.escape(separator.encode()) + rb' +"'


def count_rows(text: Open, separator: str, names: tuple[str, ...], first_line: int) -> int:
    """Number of rows below the header; refuses a row that has another number of values than the header."""
    width, count = len(names), -1
    for line, cells in records(text, separator, first_line):
        if len(cells) == width:
            count += 1
        elif _is_row(cells, names):
            if width == 1 and not cells:
                count += 1
                continue
            raise _ragged(line, len(cells), width, separator)
    return count


def _ragged(line: int, found: int, width: int, separator: str) -> DataError:
    too_many = f"put values that contain {SEPARATORS[separator]} in quotes, or delete the separators too many"
    hint = too_many if found > width else "fill the row up"
    return DataError(
        f"line {line} has {counted(found, 'value')} where the first line names {counted(width, 'column')} "
        f"(separated by {SEPARATORS[separator]}); {hint}",
        line=line,
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _fast(body: bytes, separator: str, names: tuple[str, ...], *, quoted: bool) -> tuple[Any, ...] | None:
    """Arrow's reader; None if it does not like the text, so that the strict one can say why or do better."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if quoted and body.count(b"\r") != body.count(b"\r\n"):
        return None
    end = end_of_header(lambda: io.BytesIO(body), separator, quoted=quoted)
    if end == len(body):
        return tuple(pa.array([], pa.string()) for _ in names)
    try:
        table = arrow.read_csv(
            pa.BufferReader(pa.py_buffer(body).slice(end)), **arrow_options(names, separator, pa.string(), quoted=quoted)
        )
    except pa.ArrowInvalid:
        return None
    return tuple(table.columns)


def arrow_options(
    names: tuple[str, ...], separator: str, cell: Any, *, quoted: bool, block: int = 1 << 24
) -> dict[str, Any]:
    """How Arrow reads the rows below the header, in blocks of bytes: columns "0", "1", … of the type ``cell``."""
    from pyarrow import csv as arrow

    keys = [str(j) for j in range(len(names))]
    return {
        "read_options": arrow.ReadOptions(column_names=keys, block_size=block),
        "parse_options": arrow.ParseOptions(
            delimiter=separator,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted,
            ignore_empty_lines=len(names) > 1,
        ),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(keys, cell), strings_can_be_null=False, check_utf8=False
        ),
    }


def end_of_header(text: Open, separator: str, *, quoted: bool) -> int:
    """Number of bytes of the header with its line end."""
    lines = 1
    if quoted:
        with io.TextIOWrapper(text(), encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream, delimiter=separator)
            next(reader)
            lines = reader.line_num
    with text() as raw:
        return sum(len(raw.readline()) for _ in range(lines))


def _slowly(body: bytes, separator: str, names: tuple[str, ...], first_line: int) -> tuple[Any, ...]:
    import pyarrow as pa

    batches = list(strict_batches(lambda: io.BytesIO(body), separator, names, first_line))
    return tuple(pa.chunked_array([batch[j] for batch in batches], pa.string()) for j in range(len(names)))


def strict_batches(text: Open, separator: str, names: tuple[str, ...], first_line: int) -> Iterator[list[Any]]:
    """All rows below the header by the strict reader: lists of Arrow arrays of strings, one a column."""
    import pyarrow as pa

    rows_read = records(text, separator, first_line)
    next(rows_read)
    width = len(names)
    while batch := list(islice(rows_read, _CHUNK)):
        rows = []
        for line, cells in batch:
            if len(cells) == width:
                rows.append(cells)
            elif not cells and width == 1:
                rows.append([""])
            elif cells:
                raise _ragged(line, len(cells), width, separator)
        if rows:
            yield [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]


def header_notes(names: tuple[str, ...], first_row: list[str], line: int) -> tuple[str, ...]:
    """A hint that the first line may be a row: a name is a number and the cells below it are, too."""
    number = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
    values = [n for n, cell in zip(names, first_row, strict=True) if number.fullmatch(n) and number.fullmatch(cell)]
    if all(re.fullmatch(r"(19|20)\d\d", name) for name in values):
        return ()
    return (f"Line {line} was taken as column names, but {values[0]!r} looks like a value: does the file lack a header?",)
