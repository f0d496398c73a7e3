"""Text files of any size: looked through once, then read as often as needed, block by block."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dpsyn.data._encoding import EIGHT_BIT, TextCheck, damaged, encoding_of, guess_note
from dpsyn.errors import DataError

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 26


@dataclass(frozen=True)
class TextFile:
    """A text file and how to read it as UTF-8.

    Attributes:
        path: where it is.
        encoding: name of its codec.
        quoted: it holds double quotes.
        joined_line_ends: carriage returns are to be read as line ends.
        lone_returns: after that, some carriage return is not followed by a line feed.
        first_line: number of the first line that is not empty.
        notes: what had to be guessed.
    """

    path: Path
    encoding: str
    quoted: bool
    joined_line_ends: bool
    lone_returns: bool
    first_line: int
    notes: tuple[str, ...]

    def open(self) -> IO[bytes]:
        """The text in UTF-8 from its first line that is not empty to its last one, ending with one line end."""
        return io.BufferedReader(Blocks(self._body()), _BLOCK)

    def _body(self) -> Iterator[bytes]:
        blocks = _as_utf8(_blocks(self.path, self.encoding), self.encoding)
        return _trimmed(_with_line_feeds(blocks) if self.joined_line_ends else blocks)


def look(path: Path) -> TextFile:
    """Look through a whole file: its encoding, its line ends, and whether it is text at all.

    Raises:
        DataError: it is no text, or a line is longer than 64 MB.
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        encoding = encoding_of(stream.read(_BLOCK))
    notes: tuple[str, ...] = ()
    try:
        survey = _survey(path, encoding)
    except _NotUtf8Error as failure:
        for encoding in EIGHT_BIT:
            try:
                survey = _survey(path, encoding)
            except UnicodeDecodeError:
                continue
            break
        notes = (guess_note(failure.line, encoding),)
    joined = survey.returns > 0 and not (survey.quoted and survey.feeds > 0)
    leading = survey.leading.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if joined else survey.leading
    return TextFile(
        path,
        encoding,
        survey.quoted,
        joined,
        not joined and survey.returns > survey.pairs,
        leading.count(b"\n") + 1,
        notes,
    )


class _NotUtf8Error(Exception):
    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass
class _Survey:
    quoted: bool = False
    returns: int = 0
    feeds: int = 0
    pairs: int = 0
    leading: bytes = b""
    check: TextCheck = field(default_factory=TextCheck)
    _last: bytes = b""
    _inside: bool = False
    _open_line: int = 0

    def add(self, block: bytes) -> None:
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


def _survey(path: Path, encoding: str) -> _Survey:
    """One reading of the file, in which every byte is decoded.

    Raises:
        _NotUtf8Error: some byte is not UTF-8, though ``encoding`` says so.
        UnicodeDecodeError: some byte is not of an eight-bit encoding.
    """
    survey = _Survey()
    checked = survey.check
    decoder = codecs.getincrementaldecoder("utf-8")()
    blocks = _blocks(path, encoding)
    for block in blocks if encoding in EIGHT_BIT else _as_utf8(blocks, encoding):
        if encoding in EIGHT_BIT:
            block.decode(encoding)
        elif encoding == "utf-8":
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                raise _NotUtf8Error(survey.feeds + error.object.count(b"\n", 0, error.start) + 1) from error
        checked.add(block)
        survey.add(block)
    if decoder.getstate()[0]:
        raise _NotUtf8Error(survey.feeds + 1)
    checked.finish()
    return survey


def _blocks(path: Path, encoding: str) -> Iterator[bytes]:
    """The bytes, without the byte order mark of UTF-8 (which a file in another eight-bit encoding may have, too)."""
    mark = codecs.BOM_UTF8 if encoding == "utf-8" or encoding in EIGHT_BIT else b""
    with path.open("rb") as stream:
        block = stream.read(_BLOCK).removeprefix(mark)
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
            written = (text.removeprefix("\ufeff") if start else text).encode("utf-8")
        except UnicodeError as error:
            raise damaged(encoding, error) from error
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
    """Without empty lines at the start and the end."""
    held, inside = b"", False
    for block in blocks:
        text = held + (block if inside else block.lstrip(b"\r\n"))
        kept = text.rstrip(b"\r\n")
        if kept:
            inside, held = True, text[len(kept) :]
            yield kept
        else:
            held = text
    yield b"\n"


class Blocks(io.RawIOBase):
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
