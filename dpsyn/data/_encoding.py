"""Bytes of unknown origin to UTF-8 text, or a message that says what they are instead."""

from __future__ import annotations

import codecs

from dpsyn.errors import DataError

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
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook; save the sheet as CSV"),
    (b"ARROW1", "an Arrow (Feather) file; save it as Parquet or CSV"),
    (b"%PDF", "a PDF; export the table as CSV"),
    (b"SQLite format 3", "a SQLite database; export the table as CSV"),
)
_MARKUP = ((b"<!doctype", "a web page"), (b"<html", "a web page"), (b"<?xml", "XML"), (b'{"', "JSON"), (b"[{", "JSON"))
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r") | {127})
HEAD = 4096
EIGHT_BIT = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}


def to_utf8(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The text as UTF-8 without a byte order mark, and notes on what had to be guessed.

    Raises:
        DataError: the bytes are empty or no text.
    """
    encoding = encoding_of(data)
    notes: tuple[str, ...] = ()
    if encoding == "utf-8":
        data = data.removeprefix(codecs.BOM_UTF8)
        text, notes = _eight_bit(data)
    else:
        text = _wide(data, encoding)
    _check_text(text)
    return text, notes


def encoding_of(data: bytes) -> str:
    """The encoding by the first :data:`HEAD` bytes: UTF-8 (or another that holds ASCII), UTF-16 or UTF-32.

    Raises:
        DataError: the bytes are empty, or start as another kind of file does.
    """
    if not data:
        raise DataError("the file is empty; it needs a line with the column names and at least one row below")
    for signature, what in _SIGNATURES:
        if data.startswith(signature):
            raise DataError(f"this is no CSV, TSV or Parquet file but {what}")
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), None)
    if encoding is None and b"\0" in data[:HEAD]:
        encoding = _utf16_without_mark(data[:HEAD])
    return encoding or "utf-8"


def _utf16_without_mark(head: bytes) -> str | None:
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even == 0:
        return "utf-16-le"
    if even > 0.4 * len(head) / 2 and odd == 0:
        return "utf-16-be"
    return None


def _wide(data: bytes, encoding: str) -> bytes:
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode("utf-8")
    except UnicodeError as error:
        raise damaged(encoding, error) from error


def damaged(encoding: str, error: UnicodeError) -> DataError:
    """The refusal of text that starts in UTF-16 or UTF-32 and does not go on so."""
    return DataError(f"the file starts as {encoding.upper()} text but is damaged ({error}); save it again as UTF-8")


def _eight_bit(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        for encoding in EIGHT_BIT:
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                continue
            _check_text(data)
            return text.encode("utf-8"), (guess_note(line, encoding),)
    return data, ()


def guess_note(line: int, encoding: str) -> str:
    """What to know of a file that is not UTF-8."""
    name = EIGHT_BIT[encoding]
    return f"Line {line} is not UTF-8, so the file was read as {name}. If letters look wrong, save it as UTF-8."


def _check_text(data: bytes) -> None:
    check = TextCheck()
    check.add(data)
    check.finish()


class TextCheck:
    """Tells text from other bytes, block by block."""

    def __init__(self) -> None:
        self._size = self._controls = self._lines = 0
        self._blank = True

    def add(self, block: bytes) -> None:
        """Look at the next block; the first one holds at least :data:`HEAD` bytes if there are so many.

        Raises:
            DataError: it starts as markup, or holds a zero byte.
        """
        if self._size == 0:
            head = block[:HEAD].lstrip().lower()
            for start, what in _MARKUP:
                if head.startswith(start):
                    raise DataError(f"this is {what}, not a table; hand in CSV, TSV or Parquet")
        at = block.find(b"\0")
        if at >= 0:
            line = self._lines + block.count(b"\n", 0, at) + 1
            raise DataError(
                f"line {line} holds a zero byte, so this is a binary file and not a text table; hand in CSV, TSV or Parquet",
                line=line,
            )
        self._lines += block.count(b"\n")
        self._size += len(block)
        self._controls += len(block) - len(block.translate(None, _CONTROLS))
        self._blank = self._blank and not block.strip()

    def finish(self) -> None:
        """Judge the whole.

        Raises:
            DataError: too many control characters, or nothing but white space.
        """
        if self._controls > 0.01 * self._size:
            raise DataError(
                f"{self._controls} of {self._size} bytes are control characters: this is a binary file, not a text table"
            )
        if self._blank:
            raise DataError(
                "the file holds only empty lines; it needs a line with the column names and at least one row below"
            )
