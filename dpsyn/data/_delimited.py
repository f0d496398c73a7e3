"""Delimited text to names and rows of cells: nothing is half read, and every refusal names its line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import IO, Any, TypeVar

from dpsyn import escape
from dpsyn.attribute import Attribute
from dpsyn.data._names import check_distinct
from dpsyn.data._text import Open, Text
from dpsyn.data._words import Words
from dpsyn.data.fit import fit_words
from dpsyn.data.infer import Column, infer_words
from dpsyn.errors import DataError, quoted
from dpsyn.notation import counted

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_OTHER_SEPARATORS = {" ": "spaces", ":": "colons", "^": "circumflexes", "~": "tildes", **SEPARATORS}
# Arrow reads up to 32 blocks ahead.
BLOCK = 1 << 22
Batch = list[Any]
"""One Arrow array a column."""

_SAMPLE = 200
_FIELD_LIMIT = 1 << 20
_CHUNK = 50_000


T = TypeVar("T")


class Delimited:
    """A delimited text: ``names`` of its columns, and its rows as often as needed, batch by batch.

    Cells are dictionary arrays of strings, not stripped, empty where they are empty. Rows are split by Arrow, and by the
    strict reader where quotes or line ends are unusual or Arrow does not like them. Arrow passes over bad quotes, so it is
    trusted only with text that holds none, or that the strict reader has passed.

    Args:
        text: not blank.
        tabs: the file's name says that tabs separate the values.
        known: names of columns; a heading that an export guarded from spreadsheets is the one it stands for, what cuts the
            first line into such names alone separates the values, and a first line whose separators cut no line below is
            one heading if it is among them.

    Raises:
        DataError: names are empty or doubled, a row has too many or too few values, a quote stays open, or there is no row.
    """

    def __init__(self, text: Text, *, tabs: bool, known: Sequence[str] = ()) -> None:
        self.text = text
        tabs = tabs and "\t" in _first_lines(text.open)[0]
        if text.separator and text.separator not in SEPARATORS:
            raise DataError(
                f"the first line says that {text.separator!r} separates the values; use one of {' '.join(',;|')} or tabs",
                line=1,
            )
        known_mark = text.separator or ("\t" if tabs else "") or _between(text, known) or _beside(text.open, known)
        self.separator, self._other = (known_mark, "") if known_mark else _guess_separator(text.open, text.first_line)
        self.names = _names(self._header(), text.first_line)
        if spaced := [name for name in known if name != name.strip() and name.strip() in self.names]:
            whole = [name if name in spaced else name.strip() for name in self._header(skip=False)]
            self.names = _names(whole, text.first_line, strip=False) if len(whole) == len(self.names) else self.names
        unguarded = {escape.cell(name): name for name in set(known).difference(self.names) if escape.cell(name) not in known}
        self.names = tuple(unguarded.get(name, name) for name in self.names)
        self.rows = 0
        self._spaced = text.quoted and self._has_spaced_quotes()
        self._strict = (text.quoted and (text.lone_returns or self._spaced)) or self._begins_with_mark()
        self._expected = sum(1 for _ in self._rows()) if text.quoted and not self._strict else None

    def _header(self, *, skip: bool = True) -> list[str]:
        return next(_records(self.text.open, self.separator, self.text.first_line, skip=skip))[1]

    def _begins_with_mark(self) -> bool:
        """Whether the first row begins with a byte order mark, which Arrow would drop."""
        with self.text.open() as stream:
            stream.read(self._end_of_header())
            return stream.read(3) == codecs.BOM_UTF8

    def _has_spaced_quotes(self) -> bool:
        """Whether spaces stand before an opening quote, which only the strict reader skips; not inside a quoted cell."""
        pattern = re.compile(rb"(?:^|[\r\n]|" + re.escape(self.separator.encode()) + rb') +"')
        with self.text.open() as stream:
            if not any(pattern.search(b"".join(lines)) for lines in iter(lambda: stream.readlines(BLOCK), [])):
                return False
        try:
            records = _records(self.text.open, self.separator, self.text.first_line, skip=False)
            return any(re.match(' +"', cell) for _, cells in records for cell in cells)
        except DataError:  # quotes after spaces are no quotes to this reader
            return True

    def _rows(self, text: Open | None = None) -> Iterator[tuple[int, list[str]]]:
        """All rows by the strict reader, with the line on which each starts."""
        width = len(self.names)
        records = _records(text or self.text.open, self.separator, self.text.first_line, skip=self._spaced)
        for line, cells in islice(records, 1, None):
            if len(cells) == width:
                yield line, cells
            elif cells:
                raise self._ragged(line, len(cells))
            elif width == 1:
                yield line, [""]

    def _ragged(self, line: int, found: int) -> DataError:
        by, width = SEPARATORS[self.separator], len(self.names)
        too_many = f"put values that contain {by} in quotes, or delete the separators too many"
        return DataError(
            f"line {line} has {counted(found, 'value')} where the first line names {counted(width, 'column')} "
            f"(separated by {by}); {too_many if found > width else 'fill the row up'}",
            line=line,
        )

    def line_of(self, row: int) -> int:
        """The line on which a row (counted from 0) starts, as a text editor counts."""
        return next(islice(self._rows(), row, None))[0]

    def gather(
        self,
        columns: Sequence[int],
        begin: Callable[[], T],
        add: Callable[[T, Batch], None],
        tell: Callable[[float], None] = lambda share: None,
    ) -> T:
        """All batches of some columns, by position, added to what ``begin`` makes; ``tell`` is told the share read."""
        import pyarrow as pa

        def gathered() -> T:
            whole, self.rows = begin(), 0
            for share, batch in self.batches(columns):
                tell(share)
                add(whole, batch)
                self.rows += len(batch[0])
            return whole

        try:
            whole = gathered()
            trusted = self._expected in (None, self.rows)
        except pa.ArrowInvalid:
            trusted = False
        if not trusted:
            self._strict = True
            whole = gathered()
        if self.rows == 0:
            line, named = self.text.first_line, counted(len(self.names), "column")
            raise DataError(f"line {line} names {named}, but there is no row below it", line=line)
        return whole

    def batches(self, columns: Sequence[int]) -> Iterator[tuple[float, Batch]]:
        """Batches of columns that were gathered before, each with the share of the text read so far."""
        with self.text.open() as stream:
            for batch in self._by_strict_reader(stream, columns) if self._strict else self._by_arrow(stream, columns):
                yield min(stream.raw.count / self.text.size, 1.0), batch  # type: ignore[attr-defined]

    def _by_strict_reader(self, stream: IO[bytes], columns: Sequence[int]) -> Iterator[Batch]:
        import pyarrow as pa

        rows = self._rows(lambda: stream)
        while chunk := [cells for _, cells in islice(rows, _CHUNK)]:
            by_column = list(zip(*chunk, strict=True))
            yield [pa.array(by_column[j], pa.string()).dictionary_encode() for j in columns]

    def _by_arrow(self, stream: IO[bytes], columns: Sequence[int]) -> Iterator[Batch]:
        """
        Raises:
            ArrowInvalid: Arrow cannot read the rows.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow

        quoted = self.text.quoted
        stream.read(self._end_of_header())
        keys = [str(j) for j in range(len(self.names))]
        cell = pa.dictionary(pa.int32(), pa.string())
        with arrow.open_csv(
            pa.PythonFile(stream, "r"),
            read_options=arrow.ReadOptions(column_names=keys, block_size=BLOCK),
            parse_options=arrow.ParseOptions(
                delimiter=self.separator,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                ignore_empty_lines=len(keys) > 1,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(keys, cell),
                include_columns=[str(j) for j in columns],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        ) as reader:
            for batch in reader:
                yield batch.columns

    def _end_of_header(self) -> int:
        """Number of bytes of the header with its line end."""
        with io.TextIOWrapper(self.text.open(), encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream, delimiter=self.separator)
            next(reader)
            lines = reader.line_num
        with self.text.open() as raw:
            return sum(len(raw.readline()) for _ in range(lines))

    def column(self, name: str, words: Words, attribute: Attribute | None = None) -> Column:
        """A column of the text, inferred from its words or fitted to what it is known to be; for errors, see there."""
        comma = self.separator != ","
        if attribute is None:
            return infer_words(name, words, decimal_comma=comma, locate=self.line_of)
        return fit_words(attribute, words, decimal_comma=comma, locate=self.line_of)

    def header_notes(self, first_row: Sequence[str]) -> tuple[str, ...]:
        """A hint that the first line may be a row (a name is a number and the cell of the first row below it is, too), or
        that another character separates the values (it cuts the one name and the first row, or most lines, into equally
        many)."""
        for mark, by in _OTHER_SEPARATORS.items() if len(self.names) == 1 else ():
            parts = [len(text.split(mark if mark != " " else None)) for text in (self.names[0], first_row[0] or "")]
            if parts[0] == parts[1] > 1:
                return (
                    f"The file was read as one column, {quoted(self.names[0])}. If {by} separate its values, put "
                    "commas in their place.",
                )
        if self._other:
            taken, others = SEPARATORS[self.separator], SEPARATORS[self._other]
            line = "a line of sep= and a tab" if self._other == "\t" else f"the line {quoted('sep=' + self._other)}"
            return (
                f"{taken.capitalize()} were taken to separate the values, but {others} cut most lines alike, too. If "
                f"{others} separate them, write {line} above the names.",
            )
        number = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")
        pairs = zip(self.names, first_row, strict=True)
        values = [name for name, cell in pairs if number.fullmatch(name) and number.fullmatch(cell)]
        if all(re.fullmatch(r"(19|20)\d\d", name) for name in values):
            return ()
        return (
            f"Line {self.text.first_line} was taken as column names, but {quoted(values[0])} looks like a value: "
            "does the file lack a header?",
        )


def _names(header: list[str], line: int, *, strip: bool = True) -> tuple[str, ...]:
    names = tuple(name.strip() if strip else name for name in header)
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"line {line}: column {position} of {len(names)} has no name; give it one, or delete the column "
                "(row numbers written by R or pandas, or a separator too many at the end of the line, look like this)",
                line=line,
            )
    check_distinct(names, f"line {line}: ", line)
    return names


def _records(text: Open, separator: str, first_line: int, *, skip: bool = True) -> Iterator[tuple[int, list[str]]]:
    """All records with the line on which each starts, parsed strictly. ``skip``: without the spaces before a cell."""
    csv.field_size_limit(max(csv.field_size_limit(), _FIELD_LIMIT))
    with text() as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream, delimiter=separator, strict=True, skipinitialspace=skip)
        start = first_line
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
        'double the quotes that are part of a value, as in "a 5"" pipe", or put commas between the '
        "values (R: write.csv, not write.table)"
    )


def _guess_separator(text: Open, first_line: int) -> tuple[str, str]:
    """The candidate that cuts the first line, and then as many lines as possible, into equally many values; and another
    one that cuts most lines alike, if there is one.

    Commas stand in names and numbers, too: where cells hold no more than one, another character goes before them. A row that
    is damaged, or all of them in one way, does not make it another character.
    """
    scores: dict[str, tuple[bool, bool, float, int]] = {}
    alone: dict[str, Counter[int]] = {}
    for separator in SEPARATORS:
        strict = True
        try:
            widths = [len(cells) for _, cells in islice(_records(text, separator, first_line), _SAMPLE) if cells]
        except DataError:
            # A wrong separator makes nonsense of quotes; if the quotes themselves are wrong, the real reading says so.
            strict, widths = False, _raw_widths(text, separator)
        alone[separator] = Counter(widths[1:])
        if widths[0] > 1:
            usual, lines = (alone[separator] or Counter(widths)).most_common(1)[0]
            share = sum(w == widths[0] for w in widths) / len(widths)
            plausible = usual > 1 and 2 * lines >= len(widths) - 1
            scores[separator] = (plausible, strict, share, widths[0])
    if not scores:
        return _single(text, alone, first_line), ""
    order = sorted(scores, key=lambda s: scores[s], reverse=True)
    best = [s for s in order if scores[s][0]] or order[:1]
    others = [s for s in best if s != "," and (scores[s][1] or _outside_quotes(text, s))]
    if best[0] == "," and others and scores[","][-1] <= 2 * (scores[others[0]][-1] - 1) + 1:
        best.remove(others[0])
        best.insert(0, others[0])
    return best[0], next((s for s in best[1:] if scores[s][1]), "")  # by those that are not strict quotes make no sense


def _outside_quotes(text: Open, mark: str) -> bool:
    return mark in re.sub(r'"[^"]*("|$)', "", "".join(_first_lines(text)))


def _first_lines(text: Open) -> list[str]:
    """Whatever ends a line: a carriage return alone, too."""
    with text() as raw, io.TextIOWrapper(raw, encoding="utf-8") as stream:
        return list(islice(stream, _SAMPLE))


def _between(text: Text, known: Sequence[str]) -> str:
    """The separator that cuts the first line into known names alone, if there is one."""
    if not known:
        return ""
    forms = {form.strip() for name in known for form in (name, str(escape.cell(name)))}
    for mark in SEPARATORS:
        try:
            names = next(_records(text.open, mark, text.first_line))[1]
        except DataError:
            continue
        if len(names) > 1 and {name.strip() for name in names} <= forms:
            return mark
    return ""


def _beside(text: Open, known: Sequence[str]) -> str:
    """A separator that stands nowhere, where the whole first line is a known name whose separators cut no line below."""
    if not known:
        return ""
    first, *rest = _first_lines(text)
    below, cut = "".join(rest), [mark for mark in SEPARATORS if mark in first]
    if not cut or first.strip() not in known or any(mark in below for mark in cut):
        return ""
    return next((mark for mark in SEPARATORS if mark not in first + below), "")


def _raw_widths(text: Open, separator: str) -> list[int]:
    return [line.count(separator) + 1 for line in _first_lines(text) if line.strip()] or [1]


def _single(text: Open, widths: dict[str, Counter[int]], first_line: int) -> str:
    """A first line that nothing cuts: one column, unless the lines below plainly have several."""
    for separator, counts in widths.items():
        width, share = counts.most_common(1)[0] if counts else (1, 0)
        numbers = separator == "," and all(
            re.fullmatch(r"\s*[+-]?\d+(,\d+)?\s*", line, re.ASCII) for line in _first_lines(text)[1:]
        )
        if width > 1 and share >= 0.9 * counts.total() and not numbers:
            raise DataError(
                f"line {first_line} holds one value, but the lines below hold {width} separated by {SEPARATORS[separator]}; "
                "the first line must hold the column names and nothing may stand above it "
                "(if the table has one column, put its values in quotes)",
                line=first_line,
            )
    return next((s for s, counts in widths.items() if set(counts) <= {1}), ",")
