"""How objects show themselves: at most ten short lines in a terminal; in a notebook the same, whole, with a badge."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from dpsyn import escape

PRIVATE = "reads private data: for teaching"
RELEASED = "private release"
PUBLIC = "public facts only"
"""Badges: what may be published of what is shown."""
MOST_LINES, WIDTH = 10, 88
_WHOLE = 600
"""Characters of a line in a notebook, which wraps it."""
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
        return "\n".join([*_few(lines), f"[{badge}]"])

    def _repr_html_(self) -> str:
        """The same for a notebook, where lines are wrapped and not cut."""
        badge, lines = self._shown()
        heading, *others = map(escape.html, _few(lines, _WHOLE))
        shown = "".join(f'<div style="{_LINE}">{line}</div>' for line in others)
        return f'<div><b>{heading}</b> <span style="{_BADGE}">{escape.html(badge)}</span>{shown}</div>'


def line(text: str, width: int = WIDTH) -> str:
    """One line without control characters, cut to a width; blanks at its beginning stay."""
    indent = len(text) - len(text.lstrip(" "))
    said = " " * indent + escape.plain(text.replace("\N{NO-BREAK SPACE}", " "))
    return said if len(said) <= width else f"{said[: width - 1]}…"


def _few(lines: Sequence[str], width: int = WIDTH) -> list[str]:
    """Lines, with the badge no more than :data:`MOST_LINES`."""
    most = MOST_LINES - 1
    shown = [line(text, width) for text in lines]
    return shown if len(shown) <= most else [*shown[: most - 1], f"… and {len(shown) - most + 1:,} more"]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells as lines, every column as wide as its widest cell; the first one to the left, the others to the right."""
    rows = [[line(cell, _WIDEST) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
