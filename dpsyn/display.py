"""How objects show themselves: one line per column, curve or claim, in a terminal and in a notebook, with a badge."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Sequence

from dpsyn import escape

PRIVATE = "reads private data: not for publication"
RELEASED = "private release"
PUBLIC = "public facts only"
"""Badges: what may be published of what is shown."""
MOST_LINES, WIDTH = 30, 88
"""Lines that are shown of many more, and characters of one in a terminal."""
_WHOLE = 600
"""Characters of a line before it is wrapped."""
_NOT_WORTH_A_CUT = 3
_WIDEST = 32
"""Characters of a cell of a table."""
_BADGE = "white-space:nowrap;font-size:.8em;border:1px solid;border-radius:1em;padding:0 .6em;opacity:.7"
_LINE = "white-space:pre-wrap;font-family:monospace;padding-left:4ch;text-indent:-4ch"


class Shown:
    """Has a text for people: a heading, some lines, and what may be published of it."""

    @abstractmethod
    def _shown(self) -> tuple[str, Sequence[str]]:
        """The badge and the lines, the first one a heading."""

    def __repr__(self) -> str:
        badge, lines = self._shown()
        return "\n".join([*(part for line in _few(lines) for part in _wrapped(line)), f"[{badge}]"])

    def _repr_html_(self) -> str:
        """The same for a notebook, which wraps the lines itself."""
        badge, lines = self._shown()
        heading, *others = map(escape.html, _few(lines))
        shown = "".join(f'<div style="{_LINE}">{line}</div>' for line in others)
        return f'<div><b>{heading}</b> <span style="{_BADGE}">{escape.html(badge)}</span>{shown}</div>'


def line(text: str, width: int = _WHOLE) -> str:
    """One line without control characters, cut to a width; blanks at its beginning stay."""
    indent = len(text) - len(text.lstrip(" "))
    said = " " * indent + escape.plain(text.replace("\N{NO-BREAK SPACE}", " "))
    return said if len(said) <= width else f"{said[: width - 1]}…"


def _few(lines: Sequence[str]) -> list[str]:
    """All lines, or :data:`MOST_LINES` of many more."""
    shown = [line(text) for text in lines]
    more = len(shown) - MOST_LINES
    return shown if more <= _NOT_WORTH_A_CUT else [*shown[:MOST_LINES], f"… and {more:,} more"]


def _wrapped(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip(" ")) + 4)
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells as lines, every column as wide as its widest cell; the first one to the left, the others to the right."""
    rows = [[line(cell, _WIDEST) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
