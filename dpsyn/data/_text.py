"""Bytes of unknown origin as UTF-8 text, block by block, or a message that says what they are instead."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO

from dpsyn.errors import DataError

Open = Callable[[], IO[bytes]]

_BLOCK = 1 << 22
_HEAD = 4096
_LONGEST_LINE = 1 << 26
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook; unpack it, or save the sheet as CSV"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    *((b"BZh%d1AY&SY" % level, "compressed with bzip2; unpack it first") for level in range(1, 10)),
    (b"\xfd7zXZ\0", "compressed with xz; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook; save the sheet as CSV"),
    *((mark + bytes(2), "an Arrow (Feather) file; save it as Parquet or CSV") for mark in (b"ARROW1", b"FEA1")),
    (b"%PDF", "a PDF; export the table as CSV"),
    (b"SQLite format 3", "a SQLite database; export the table as CSV"),
    (b"<stata_dta>", "a Stata file; export the table as CSV"),
    *((bytes((old, order, 1, 0)), "a Stata file; export the table as CSV") for old in range(105, 116) for order in (1, 2)),
    *((b"$FL%d@(#)" % kind, "an SPSS file; export the table as CSV") for kind in (2, 3)),
    (bytes(12) + b"\xc2\xea\x81\x60", "a SAS table; export it as CSV"),
    (b"HEADER RECORD*******LIB", "a SAS transport file; export the table as CSV"),
    (b"Obj\x01", "an Avro file; save it as Parquet or CSV"),
    (b"\x89HDF\r\n", "an HDF5 file; export the table as CSV"),
    (b"\x93NUMPY", "an array of NumPy; save it as CSV, with a name for each column"),
)
_BINARY = (
    (
        rb".{8}DUCK.{1,7}\0",
        "a DuckDB database; save its table as Parquet or CSV, or in Python hand in duckdb.connect(path).table(name)",
    ),
    (rb"ORC.{1,28}\0", "an ORC file; save it as Parquet or CSV"),
    (rb"\xff{4}.{3}\0", "a stream of Arrow; save it as Parquet or CSV"),
)
"""Patterns of first bytes; without their zero bytes a text might begin so."""
_MARKUP = (
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
    (b"<table", "a web page"),
    (b"<?xml", "XML"),
    *((start, "JSON") for start in (b'{"', b"[{", b"[[", b'["')),
)
_FEW = 8
_DOS_END = b"\x1a"
_MARKS = re.compile(rb"\A(?:\xef\xbb\xbf)+")
"""One, or as many as there were tools that put one before the others."""
_DECLARATION = re.compile(rb'"?sep=(.)"?[ \t]*(?:\r\n|\r|\n)(?:\xef\xbb\xbf)*', re.IGNORECASE)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r") | {127})
_EIGHT_BIT = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}


@dataclass(frozen=True)
class Text:
    """Text that was looked through once and can be read as UTF-8 as often as needed.

    Attributes:
        raw: opens the bytes as they are.
        encoding: name of their codec.
        quoted: they hold double quotes.
        joined_line_ends: carriage returns are to be read as line ends.
        lone_returns: after that, some carriage return is not followed by a line feed.
        first_line: number of the first line that is not empty.
        size: number of bytes.
        notes: what had to be guessed.
        separator: what a first line such as ``sep=;``, which Excel writes, says; that line is not part of the text.
        skipped: number of bytes of that line.
    """

    raw: Open
    encoding: str
    quoted: bool
    joined_line_ends: bool
    lone_returns: bool
    first_line: int
    size: int
    notes: tuple[str, ...]
    separator: str = ""
    skipped: int = 0

    def open(self) -> IO[bytes]:
        """The text in UTF-8 from its first line that is not empty to its last one, ending with one line end."""
        blocks = _as_utf8(_blocks(self.raw, self.encoding), self.encoding)
        text = _trimmed(_with_line_feeds(blocks) if self.joined_line_ends else blocks)
        return io.BufferedReader(_Stream(_trimmed(_without(text, self.skipped)) if self.skipped else text), _BLOCK)


def look(raw: Open) -> Text:
    """Look through bytes of any length: their encoding, their line ends, and whether they are text at all.

    Raises:
        DataError: they are no text, or a line is longer than 64 MB.
        OSError: they cannot be read.
    """
    with raw() as stream:
        encoding = _encoding_of(stream.read(_HEAD))
    notes: tuple[str, ...] = ()
    try:
        survey = _survey(raw, encoding)
    except _UndecodableError as failure:
        encoding = "cp1252"
        try:
            survey = _survey(raw, encoding)
        except _UndecodableError:
            encoding = "latin-1"
            survey = _survey(raw, encoding)
        said = f"Line {failure.line} is not UTF-8, so the file was read as {_EIGHT_BIT[encoding]}."
        notes = (f"{said} If letters look wrong, save it as UTF-8.",)
    # Between quotes, a carriage return is part of a value.
    joined = survey.returns > 0 and not survey.quoted
    leading = survey.leading.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if joined else survey.leading
    lone_returns = not joined and survey.returns > survey.pairs
    first_line = leading.count(b"\n") + 1
    return _declared(Text(raw, encoding, survey.quoted, joined, lone_returns, first_line, survey.size, notes))


def _declared(text: Text) -> Text:
    """The text below a first line that says by what values are separated, if there is one."""
    with text.open() as stream:
        head = stream.read(_HEAD)
    line = _DECLARATION.match(head)
    if line is None:
        return text
    rest = head[line.end() :].lstrip(b"\r\n")
    if not rest:
        raise DataError(
            "the file holds only a line that says how values are separated; it needs column names and rows below"
        )
    above = head[: len(head) - len(rest)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
    return replace(text, separator=line[1].decode(), skipped=line.end(), first_line=text.first_line + above)


def _encoding_of(head: bytes) -> str:
    """The encoding by the first bytes: UTF-8 (or another that holds ASCII), UTF-16 or UTF-32."""
    if not head:
        raise DataError("the file is empty; it needs a line with the column names and at least one row below")
    found = [what for signature, what in _SIGNATURES if head.startswith(signature)]
    found += [what for pattern, what in _BINARY if re.match(pattern, head, re.DOTALL)]
    if found:
        raise DataError(f"this is no CSV, TSV or Parquet file but {found[0]}")
    encoding = next((name for mark, name in _BOMS if head.startswith(mark)), None)
    if encoding is None and b"\0" in head:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        if odd > 0.4 * len(head) / 2 and even == 0:
            return "utf-16-le"
        if even > 0.4 * len(head) / 2 and odd == 0:
            return "utf-16-be"
    return encoding or "utf-8"


class _UndecodableError(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _survey(raw: Open, encoding: str) -> _Survey:
    """One reading, in which every byte is decoded.

    Raises:
        _UndecodableError: some byte is not of an encoding in which a character may take one byte.
        DataError: the bytes are no text.
    """
    survey = _Survey()
    blocks = _blocks(raw, encoding)
    if encoding != "utf-8" and encoding not in _EIGHT_BIT:
        for block in _as_utf8(blocks, encoding):
            survey.add(block)
    else:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            for block in blocks:
                decoder.decode(block)
                survey.add(block)
            decoder.decode(b"", True)
        except UnicodeDecodeError as error:
            raise _UndecodableError(survey.feeds + error.object.count(b"\n", 0, error.start) + 1) from error
    survey.finish()
    return survey


class _Survey:
    """What is known of bytes after looking at them block by block; tells text from other bytes."""

    def __init__(self) -> None:
        self.quoted = False
        self.returns = self.feeds = self.pairs = 0
        self.leading = b""
        self.size = self._controls = self._open_line = 0
        self._blank = True
        self._inside = False
        self._last = self._tail = b""

    def add(self, block: bytes) -> None:
        """Look at the next block; the first one holds the head of the file."""
        if self.size == 0:
            head = b"".join(block[:_HEAD].split()).lower()
            found = [what for start, what in _MARKUP if head.startswith(start)] or ["JSON"] * _is_lines_of_lists(block)
            if found:
                raise DataError(f"this is {found[0]}, not a table; hand in CSV, TSV or Parquet")
        at = block.find(b"\0")
        if at >= 0:
            line = self.feeds + block.count(b"\n", 0, at) + 1
            raise DataError(
                f"line {line} holds a zero byte, so this is a binary file and not a text table; hand in CSV, TSV or Parquet",
                line=line,
            )
        self.size += len(block)
        self._controls += len(block) - len(block.translate(None, _CONTROLS))
        self._blank = self._blank and not block.strip(b" \t\n\v\f\r" + _DOS_END)
        self.quoted = self.quoted or b'"' in block
        feeds, returns = block.count(b"\n"), block.count(b"\r")
        if returns or self._last == b"\r":
            self.pairs += block.count(b"\r\n") + (self._last == b"\r" and block[:1] == b"\n")
        if not self._inside:
            rest = block.lstrip(b"\r\n")
            self.leading += block[: len(block) - len(rest)]
            self._inside = bool(rest)
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self._open_line = self._open_line + len(block) if end < 0 else len(block) - end - 1
        if self._open_line > _LONGEST_LINE:
            line = self.feeds + feeds + 1
            raise DataError(f"line {line} is longer than 64 MB: this is no table, or its quotes are damaged", line=line)
        self.feeds += feeds
        self.returns += returns
        self._last = block[-1:]
        self._tail = (self._tail + block)[-16:]

    def finish(self) -> None:
        """Judge the whole; the character by which DOS ends a file is none of it."""
        self._controls -= self._tail[len(self._tail.rstrip(b"\r\n" + _DOS_END)) :].count(_DOS_END)
        if self._controls > max(_FEW, 0.01 * self.size):
            raise DataError(
                f"{self._controls} of {self.size} bytes are control characters: this is a binary file, not a text table"
            )
        if self._blank:
            raise DataError(
                "the file holds only empty lines; it needs a line with the column names and at least one row below"
            )


def _is_lines_of_lists(block: bytes) -> bool:
    """Whether the first two lines that are not empty are lists of JSON."""
    if not block.lstrip().startswith(b"["):
        return False
    lines = islice(filter(None, map(bytes.strip, block.splitlines())), 2)
    try:
        return [isinstance(json.loads(line), list) for line in lines] == [True, True]
    except (ValueError, RecursionError):
        return False


def _blocks(raw: Open, encoding: str) -> Iterator[bytes]:
    """The bytes, without byte order marks of UTF-8 (which a file in another eight-bit encoding may have, too)."""
    with raw() as stream:
        block = stream.read(_BLOCK)
        if encoding == "utf-8" or encoding in _EIGHT_BIT:
            block = _MARKS.sub(b"", block)
        while block:
            yield block
            block = stream.read(_BLOCK)


def _as_utf8(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    if encoding == "utf-8":
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    start = True
    block = next(blocks, b"")
    while block:
        following = next(blocks, b"")
        try:
            text = decoder.decode(block, not following)
            written = (text.lstrip("\ufeff") if start else text).encode("utf-8")
        except UnicodeError as error:
            said = f"the file starts as {encoding.upper()} text but is damaged ({error}); save it again as UTF-8"
            raise DataError(said) from error
        start = False
        if written:
            yield written
        block = following


def _with_line_feeds(blocks: Iterator[bytes]) -> Iterator[bytes]:
    pending = b""
    for block in blocks:
        text = pending + block
        pending = b"\r" if text.endswith(b"\r") else b""
        yield text[: len(text) - len(pending)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if pending:
        yield b"\n"


def _trimmed(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Without empty lines at the start and the end, and without the character by which DOS ends a file."""
    held, inside = b"", False
    for block in blocks:
        text = held + (block if inside else block.lstrip(b"\r\n"))
        kept = text.rstrip(b"\r\n" + _DOS_END)
        if kept:
            inside, held = True, text[len(kept) :]
            yield kept
        else:
            held = text
    yield b"\n"


def _without(blocks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """Without the first bytes."""
    for block in blocks:
        yield block[count:]
        count = max(count - len(block), 0)


class _Stream(io.RawIOBase):
    """A stream of the bytes that an iterator gives."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        super().__init__()
        self._blocks = blocks
        self._rest = memoryview(b"")
        self.count = 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer as far as the present block reaches; 0 at the end."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self.count += count
        return count
