"""How text that came from data, archives and file names is written into Markdown, HTML, chart labels and CSV, so that it is
shown as it is: no link, picture, badge, formula or mark-up comes of it. Nothing of it is ever written into LaTeX."""

from __future__ import annotations

import csv as _csv
import html as _html
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpsyn.errors import cut

if TYPE_CHECKING:
    import pandas as pd

_BLANK = re.compile(r"[^\S\N{NO-BREAK SPACE}]")
# Characters that control a terminal or turn the direction of writing, and halves of characters, which cannot be written at
# all: what is read would not be what is there.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKDOWN = re.compile(r"[\\`*_~$\[\]<>|]|&(?=#|\w+;)|:(?=\S)")
# What begins a list, a heading or a line across the page where the text begins a paragraph.
_FIRST_WORD = re.compile(r"\d+(?=[.)](?: |$))|(?=[#+=-]+(?: |$))")
# Addresses become links even where their punctuation is escaped; an invisible joiner keeps them text.
_ADDRESS = re.compile(r"(?<=www)(?=\.)|(?<=[\w.+-]@)(?=[\w-])|(?<=:)(?=//)", re.IGNORECASE)
# So do names of icons and emoji, which Streamlit looks for once Markdown has been read.
_ICON = re.compile(r"(?<=:)(?=[\w+/-]+:)")
# And arrows and signs that it makes of pairs of characters that stand alone.
_SIGN = re.compile(r"(?<!\S)(<->|->|<-|--|>=|<=|~=)(?!\S)")
_JOINER = "\N{WORD JOINER}"
_LONGEST = 3_000
_PART = re.compile(r"[^;\t]+")
_RUN = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
# In a heading alone: what a reader would leave out.
_ODD_NAME = re.compile("^[\\s\ufeff]|\\s$")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


_OF_EVERY_OBJECT = frozenset(
    [
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
        "__proto__",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ]
)


def plain(text: object) -> str:
    """One line without control characters; a visible mark stands for each of them. A very long one is cut short."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _BLANK.sub(" ", cut(str(text), _LONGEST)).strip())


def markdown(text: object) -> str:
    """The text as Markdown that shows it as it is, on one line, with all its blanks, wherever in a paragraph it stands."""
    kept = _SIGN.sub(lambda found: _JOINER.join(found[0]), _ICON.sub(_JOINER, plain(text)))
    escaped = _MARKDOWN.sub(r"\\\g<0>", kept).replace("  ", "\N{NO-BREAK SPACE} ")
    first = _FIRST_WORD.match(escaped)
    if first is not None:
        escaped = f"{escaped[: first.end()]}\\{escaped[first.end() :]}"
    return _ADDRESS.sub(_JOINER, escaped)


def html(text: object) -> str:
    """The text as HTML, also between quotation marks of an attribute; a visible mark stands for each control character."""
    return _html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text)), quote=True)


def json(text: str) -> str:
    """JSON text that says the same without characters that control a terminal."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def chart(text: object) -> str:
    """The text as a label, name or hover text of Plotly, which reads some HTML, fills in ``%{…}`` and typesets ``$…$``.
    Vega-Lite shows any text as it is."""
    return unlike_scripts(_html.escape(plain(text), quote=False).replace("%{", "%&#123;").replace("$", "&#36;"))


def unlike_scripts(text: str) -> str:
    """The text as a label in a browser, told apart from what every object of JavaScript has: Streamlit's colours and Vega's
    axes look labels up by name, and find a function where one is called constructor."""
    return f"{text}\N{ZERO WIDTH SPACE}" if text in _OF_EVERY_OBJECT else text


def runs(value: object) -> bool:
    """Whether a spreadsheet would run it, or a part of it, as a formula: text that begins as one does, and is no number.

    Parts are between semicolons and tabs, which may separate cells where the spreadsheet is.
    """
    return isinstance(value, str) and (value.startswith("\t") or any(map(_begins, _PART.findall(value))))


def _begins(text: str) -> bool:
    return _RUN.match(text) is not None and not _NUMBER.fullmatch(text)


def cell(value: object) -> object:
    """A cell for a spreadsheet: what it would run (:func:`runs`) after an apostrophe. So is such text that has apostrophes
    before it already, with one more, so that different cells stay different."""
    if not isinstance(value, str):
        return value
    guarded = _PART.sub(lambda part: "'" * _begins(part[0].lstrip("'")) + part[0], value)
    return "'" * value.lstrip("'").startswith("\t") + guarded


def texts(rows: pd.DataFrame) -> Iterator[object]:
    """Headings, and every different cell of the columns that hold text."""
    yield from rows.columns
    for _, column in rows.items():
        if column.dtype.kind not in "biufcmM":
            yield from column.drop_duplicates()


class Lines(io.StringIO):
    """What a writer of CSV whose rows end in :attr:`ending` writes, with rows that end in LF.

    It quotes cells that hold a character of the ending: a carriage return, which before Python 3.13 would end a row, and
    what separates values elsewhere, which a reader might take for the separator of this file.
    """

    def __init__(self, separator: str = ",") -> None:
        super().__init__(newline="")
        self.ending = ";|\t\r\n".replace(separator, "")

    def write(self, row: str) -> int:
        """Take in one row."""
        return super().write(row.removesuffix(self.ending) + "\n")


def csv(rows: pd.DataFrame, *, guarded: bool = True, tabs: bool = False) -> bytes:
    """The rows as CSV, UTF-8; ``guarded``, no cell or heading of text is run by a spreadsheet (:func:`cell`); ``tabs``
    separate the values, if there are several."""
    if guarded:
        from pandas import Series

        def safe(column: pd.Series[Any]) -> pd.Series[Any]:  # not by its map, which makes floats of whole numbers
            plain = column.dtype.kind in "biufcmM"
            return column if plain else Series(list(map(cell, column)), column.index, object)

        rows = rows.apply(safe)
        rows = rows.set_axis([str(cell(name)) for name in rows.columns], axis=1)
    odd = any(map(_ODD_NAME.search, map(str, rows.columns)))
    mark = "\t" if tabs and len(rows.columns) > 1 else ","
    lines = Lines(mark)
    heading = _csv.writer(
        lines, delimiter=mark, quoting=_csv.QUOTE_ALL if odd else _csv.QUOTE_MINIMAL, lineterminator=lines.ending
    )
    heading.writerow(rows.columns)
    rows.to_csv(lines, sep=mark, index=False, header=False, lineterminator=lines.ending)
    return lines.getvalue().encode()
