"""What the Plotly figures share: colours, panels, reference lines, and a layout that works on light and dark pages."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpsyn import escape
from dpsyn.errors import ParameterError
from dpsyn.kit.layers import GUIDE, SERIES

if TYPE_CHECKING:
    import plotly.graph_objects as go

PATTERNS = ("", "/", "x", ".", "-", "|", "+", "\\")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
GRID = "rgba(128,128,128,0.3)"
_CLEAR = "rgba(0,0,0,0)"
_LABEL = 18
TITLE_LENGTH, TITLE_LINE = 64, 21
"""Characters in a line of a title that fit in half of a page, and pixels of a line."""
LINE_BREAK = "<br>"
_CAPITAL = 12


def shorten(text: str, longest: int = _LABEL) -> str:
    """The text, cut to ``longest`` characters with an ellipsis as the last one."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def shorten_term(name: str, longest: int) -> str:
    """``column = category`` or ``column is empty``, cut in the column's name before what tells it from other terms."""
    column, joint, rest = name.rpartition(" = ")
    if not joint and name.endswith(" is empty"):
        column, joint, rest = name.removesuffix(" is empty"), " is empty", ""
    if not joint or len(name) <= longest:
        return shorten(name, longest)
    rest = shorten(rest, longest - len(joint) - min(len(column), longest // 3))
    return shorten(column, longest - len(joint) - len(rest)) + joint + rest


def bar_style(at: int) -> dict[str, Any]:
    """Colour of the release at position ``at``; when the colours are used up they come back with a pattern."""
    pattern = PATTERNS[at // len(SERIES) % len(PATTERNS)]
    return {"color": SERIES[at % len(SERIES)], "line": {"width": 0}, "pattern": {"shape": pattern}}


def places_of(kinds: Sequence[str], order: Sequence[str]) -> list[int]:
    """Positions for :func:`bar_style` and :func:`dot_style` at which every kind has its own colour wherever it is drawn, or
    one that is left over where an earlier kind has it; a second series of a kind has another pattern or symbol.

    Args:
        kinds: of the series, such as the names of the mechanisms that made them.
        order: of all kinds that there are.
    """
    seen: dict[str, int] = {}
    places = []
    first = {kind: order.index(kind) if kind in order else len(order) for kind in kinds}
    own = {kind: at % len(SERIES) for kind, at in first.items()}
    left = [colour for colour in range(len(SERIES)) if colour not in own.values()]
    colours: dict[str, int] = {}
    for kind in sorted(first, key=first.__getitem__):
        colours[kind] = left.pop(0) if own[kind] in colours.values() and left else own[kind]
    # Where there are more kinds than colours, several share one, each with patterns of its own.
    sharing = len(order) // len(SERIES) + 1
    for kind in kinds:
        seen[kind] = seen.get(kind, -1) + 1
        places.append(colours[kind] + len(SERIES) * (first[kind] // len(SERIES) + sharing * seen[kind]))
    return places


def dot_style(at: int) -> dict[str, Any]:
    """The same for dots: used-up colours come back with another symbol."""
    return {"color": SERIES[at % len(SERIES)], "size": 11, "symbol": SYMBOLS[at // len(SERIES) % len(SYMBOLS)]}


def at_least_one(reports: Mapping[str, Any]) -> None:
    """Raise unless there is a report."""
    if not reports:
        raise ParameterError("reports", "none", "at least one report")


def series(name: str) -> dict[str, Any]:
    """Name and entry in the legend of one series."""
    return {"name": escape.chart(shorten(name, 40)), "legendgroup": name, "showlegend": True}


def segments(heights: Sequence[float | None], name: str) -> go.Scatter:
    """A dotted line across each group 0, 1, 2, … at its height; none where the height is None."""
    import plotly.graph_objects as go

    x: list[float | None] = []
    y: list[float | None] = []
    for at, height in enumerate(heights):
        x += [at - 0.45, at, at + 0.45, None]
        y += [height, height, height, None]
    line = go.Scatter(x=x, y=y, mode="lines", line={"color": GUIDE, "width": 3, "dash": "dot"}, **series(name))
    line.update(name=escape.chart(name), hovertemplate=f"{escape.chart(name)}<br>%{{y:.4f}}<extra></extra>")
    return line


def wrapped_lines(title: str, longest: int = TITLE_LENGTH) -> list[str]:
    """A title in lines of at most ``longest`` characters, unless a single word is longer."""
    return textwrap.wrap(title, longest, break_long_words=False, break_on_hyphens=False)


def heading(lines: Sequence[str], by: float = 1.0) -> dict[str, Any]:
    """Text of a title. Plotly draws the first of several lines too high by what a capital letter takes."""
    return {"text": LINE_BREAK.join(lines), "pad": {"t": _CAPITAL * by if len(lines) > 1 else 0}}


def alone(figure: go.Figure) -> go.Figure:
    """The figure for a place outside of the app, such as a notebook, where nothing sees to the colour of its words: one that
    can be read on a light and on a dark page."""
    return figure.update_layout(font={"color": GUIDE})


def finish(figure: go.Figure, title: str, *, height: int = 420, entries: int = 0, above: int = 50) -> go.Figure:
    """Title in ``above`` pixels, transparent background, and a legend below with room for ``entries`` entries.

    Further lines of a long title make the figure higher.
    """
    below = 30 * ((entries + 2) // 3) + 10 if entries else 0
    lines = wrapped_lines(title)
    more = TITLE_LINE * max(len(lines) - 1, 0)
    place = {"x": 0, "xanchor": "left", "y": 0.98, "yanchor": "top", "yref": "container"}
    figure.update_layout(
        title={**heading([escape.chart(line) for line in lines]), **place},
        paper_bgcolor=_CLEAR,
        plot_bgcolor=_CLEAR,
        height=height + below + more,
        margin={"l": 60, "r": 20, "t": above + more, "b": 55 + below},
        barmode="group",
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "bottom", "yref": "container"},
        showlegend=bool(entries),
        hoverlabel={"align": "left"},
    )
    return figure
