"""Delimited text to columns of distinct cells and codes: nothing is half read, and every refusal names its line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpsyn.errors import DataError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SAMPLE = 200
_CHUNK = 50_000
_FIELD_LIMIT = 1 << 20
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
        starts = (
            start for start, cells in _records(self.text, self.separator, self.first_line) if _is_row(cells, self.names)
        )
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
    separator = "\t" if tabs and b"\t" in body.split(b"\n", 1)[0] else _separator(body, first_line)
    names = _names(next(_records(body, separator, first_line))[1], first_line)
    columns = _columns(body, separator, names, first_line)
    if len(columns[0]) == 0:
        raise DataError(
            f"line {first_line} names {counted(len(names), 'column')}, but there is no row below it", line=first_line
        )
    return Delimited(names, columns, separator, _header_notes(names, columns, first_line), body, first_line)


def _records(text: bytes, separator: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """All records with the line on which each starts, parsed strictly."""
    stream = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    reader = csv.reader(stream, delimiter=separator, strict=True, skipinitialspace=True)
    start = first_line
    csv.field_size_limit(max(csv.field_size_limit(), _FIELD_LIMIT))
    try:
        for cells in reader:
            yield start, cells
            start = first_line + reader.line_num
    except csv.Error as error:
        raise DataError(_quote_message(str(error), start), line=start) from error


def _quote_message(error: str, line: int) -> str:
    if "field limit" in error:
        return f"a value in the row of line {line} is longer than a million characters; probably its quote is never closed"
    if "end of data" in error:
        return f"a quote opened in the row of line {line} is never closed; close it, or double it if it is part of the value"
    return (
        f"in the row of line {line} a closing quote is followed by more text ({error}); "
        'double the quotes that are part of a value, as in "a 5"" pipe"'
    )


def _is_row(cells: list[str], names: tuple[str, ...]) -> bool:
    return bool(cells) or len(names) == 1


def _separator(body: bytes, first_line: int) -> str:
    """The candidate that cuts the first line, and then as many lines as possible, into equally many values."""
    scores: dict[str, tuple[float, int]] = {}
    alone: dict[str, Counter[int]] = {}
    for separator in SEPARATORS:
        try:
            widths = [len(cells) for _, cells in islice(_records(body, separator, first_line), _SAMPLE) if cells]
        except DataError:
            # A wrong separator makes nonsense of quotes; if the quotes themselves are wrong, the real reading says so.
            widths = _raw_widths(body, separator)
        if widths[0] > 1:
            scores[separator] = (sum(w == widths[0] for w in widths) / len(widths), widths[0])
        alone[separator] = Counter(widths[1:])
    if scores:
        return max(scores, key=lambda s: scores[s])
    return _single(body, alone, first_line)


def _raw_widths(body: bytes, separator: str) -> list[int]:
    lines = body.split(b"\n", _SAMPLE)[:_SAMPLE]
    return [line.count(separator.encode()) + 1 for line in lines if line.strip()] or [1]


def _single(body: bytes, widths: dict[str, Counter[int]], first_line: int) -> str:
    """A first line that nothing cuts: one column, unless the lines below plainly have several."""
    for separator, counts in widths.items():
        width, share = counts.most_common(1)[0] if counts else (1, 0)
        numbers = separator == "," and all(
            re.fullmatch(rb"\s*[+-]?\d+(,\d+)?\s*", line) for line in body.split(b"\n", _SAMPLE)[1:-1]
        )
        if width > 1 and share >= 0.9 * counts.total() and not numbers:
            raise DataError(
                f"line {first_line} holds one value, but the lines below hold {width} separated by {SEPARATORS[separator]}; "
                "the first line must hold the column names and nothing may stand above it "
                "(if the table has one column, put its values in quotes)",
                line=first_line,
            )
    return next((s for s, counts in widths.items() if set(counts) <= {1}), ",")


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
    if quoted and re.search(re.escape(separator.encode()) + rb' +"', body):
        return _slowly(body, separator, names, first_line)
    count = None
    if quoted:
        count = _check(body, separator, names, first_line)
    columns = _fast(body, separator, names, quoted=quoted)
    if columns is None or (count is not None and len(columns[0]) != count):
        return _slowly(body, separator, names, first_line)
    return columns


def _check(body: bytes, separator: str, names: tuple[str, ...], first_line: int) -> int:
    """Number of rows below the header; refuses a row that has another number of values than the header."""
    width, count = len(names), -1
    for line, cells in _records(body, separator, first_line):
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
    keys = [str(j) for j in range(len(names))]
    end = _end_of_header(body, separator) if quoted else body.index(b"\n") + 1
    if end == len(body):
        return tuple(pa.array([], pa.string()) for _ in names)
    try:
        table = arrow.read_csv(
            pa.BufferReader(pa.py_buffer(body).slice(end)),
            read_options=arrow.ReadOptions(column_names=keys, block_size=1 << 24),
            parse_options=arrow.ParseOptions(
                delimiter=separator,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=arrow.ConvertOptions(
                column_types={key: pa.string() for key in keys}, strings_can_be_null=False, check_utf8=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return tuple(table.columns)


def _end_of_header(body: bytes, separator: str) -> int:
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(body), encoding="utf-8", newline=""), delimiter=separator)
    next(reader)
    end = 0
    for _ in range(reader.line_num):
        end = body.index(b"\n", end) + 1
    return end


def _slowly(body: bytes, separator: str, names: tuple[str, ...], first_line: int) -> tuple[Any, ...]:
    import pyarrow as pa

    records = _records(body, separator, first_line)
    next(records)
    width = len(names)
    chunks: list[list[Any]] = [[] for _ in names]
    while batch := list(islice(records, _CHUNK)):
        rows = []
        for line, cells in batch:
            if len(cells) == width:
                rows.append(cells)
            elif not cells and width == 1:
                rows.append([""])
            elif cells:
                raise _ragged(line, len(cells), width, separator)
        for column, values in zip(chunks, zip(*rows, strict=True), strict=False):
            column.append(pa.array(values, pa.string()))
    return tuple(pa.chunked_array(column, pa.string()) for column in chunks)


def _header_notes(names: tuple[str, ...], columns: tuple[Any, ...], line: int) -> tuple[str, ...]:
    """A hint that the first line may be a row: a name is a number and the cells below it are, too."""
    number = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
    values = [
        n for n, column in zip(names, columns, strict=True) if number.fullmatch(n) and number.fullmatch(column[0].as_py())
    ]
    if all(re.fullmatch(r"(19|20)\d\d", name) for name in values):
        return ()
    return (f"Line {line} was taken as column names, but {values[0]!r} looks like a value: does the file lack a header?",)
