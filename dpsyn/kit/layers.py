"""What Altair charts are made of: colours that everybody can tell apart, axes, layers.

Channels are objects, ``alt.X("x:Q")``: a bare string makes Altair search its whole schema, which takes milliseconds.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dpsyn.kit import live

BLUE, GREEN, PURPLE, VERMILLION, ORANGE, SKY, YELLOW = (
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#E69F00",
    "#56B4E9",
    "#F0E442",
)
"""From the palette of Okabe and Ito (2008)."""

SERIES = (BLUE, GREEN, PURPLE, ORANGE, SKY)
HERE = VERMILLION
GUIDE = "#7a7a7a"
"""Of lines and bars: as dark on a white page as it is light on a dark one, contrast 4.2 to both."""
SOFT, SOFT_ON_DARK = "#5a6a6c", "#9fb0b0"
WORD = {"expr": f"luminance(background) < 0.2 ? '{SOFT_ON_DARK}' : '{SOFT}'"}
"""Colour of words in the plot. No single grey has a contrast of 4.5 to both pages; the chart knows on which one it is."""
MANY = (*SERIES, YELLOW, VERMILLION, GUIDE, "#332288", "#882255")
"""For pieces of one bar, where no dashes tell them apart; the last two are from the palette of Tol (2021)."""
DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4])
"""A second cue beside the colour."""

_DIGIT = "substring('⁰¹²³⁴⁵⁶⁷⁸⁹', floor(abs(datum.value) / {0}) % 10, floor(abs(datum.value) / {0}) % 10 + 1)"
_SUPERSCRIPT = "(datum.value < 0 ? '⁻' : '')" + "".join(
    f" + ({'true' if unit == 1 else f'abs(datum.value) >= {unit}'} ? {_DIGIT.format(unit)} : '')"
    for unit in (10_000, 1000, 100, 10, 1)
)
LOG_LABEL = (
    "datum.value != round(datum.value) ? format(pow(10, datum.value), ',.2~r') : "
    "abs(datum.value) <= 3 ? format(pow(10, datum.value), ',.3~f') : '10' + " + _SUPERSCRIPT
)
"""Tick labels of a linear axis that carries log10 of a number: 10⁻²⁰, 0.01, 1, 100, 10⁴."""
PERCENT = "format(100 * datum.value, '~g') + '\N{NO-BREAK SPACE}%'"
"""Tick labels of an axis of shares, spelled as :func:`dpsyn.notation.percent` does."""


def log_axis(title: str, **options: Any) -> Any:
    """An axis whose values are log10 of the numbers that its labels show."""
    import altair as alt

    return alt.Axis(
        title=title, labelExpr=LOG_LABEL, **{"tickMinStep": 1, "tickCount": 7, "labelOverlap": "greedy", **options}
    )


def series_scales(labels: list[str]) -> tuple[Any, Any]:
    """Colour and dash scales for named series, in order."""
    import altair as alt

    colours = [SERIES[i % len(SERIES)] for i in range(len(labels))]
    dashes = [DASHES[i % len(DASHES)] for i in range(len(labels))]
    return alt.Scale(domain=labels, range=colours), alt.Scale(domain=labels, range=dashes)


PLOT_HEIGHT = 260
"""Pixels between title and axis; the legend is outside of them."""
_TITLE, _TITLE_LINE, _SUBTITLE, _AXIS, _LEGEND_LINE, _LEGEND_GAP = 34, 20, 17, 58, 26, 34
_LINE_LENGTH = 60
WIDE_LINE = 120
_TITLE_SHARE = 0.8
"""Characters of a title in the length of one of the subtitle."""
_SPARE = 1.15
"""How much longer than ``line_length`` a line may at least be; larger words use that room."""
_WIDE_LABEL = 21
_ENTRY, _LETTER = 34, 7
"""Pixels of an entry of a legend beside its words, and of a letter."""
_LABEL_DISTANCE = 16
_HELD = "\N{NO-BREAK SPACE}"
WORDS = "words"
"""Under this name a finished chart keeps, in its ``usermeta``, what :func:`surround` was asked for."""

Domain = tuple[float, float]


def domain_of(values: Sequence[float], *, share: float = 0.05) -> Domain:
    """The range of the values with some air at both ends."""
    low, high = min(values), max(values)
    air = max((high - low) * share, 0.15)
    return low - air, high + air


def scale(domain: Domain) -> Any:
    """A linear scale over just this range; what lies outside is cut."""
    import altair as alt

    return alt.Scale(domain=list(domain), zero=False, nice=False, clamp=False)


def columns_of(labels: Sequence[str]) -> int:
    """Legend columns that fit in 380 pixels."""
    return 1 if any(len(label) > _WIDE_LABEL for label in labels) else 2


def _width_of(labels: Sequence[str]) -> int:
    """Pixels of a legend of two columns, the first half of the labels above each other in the first one."""
    half = -(-len(labels) // 2)
    return sum(_ENTRY + _LETTER * max(map(len, part), default=0) for part in (labels[:half], labels[half:]))


def legend(labels: Sequence[str]) -> Any:
    """A legend below the plot that is not cut in a narrow column."""
    import altair as alt

    return alt.Legend(
        orient="bottom",
        direction="vertical",
        columns=alt.ExprRef(f"width < {_width_of(labels)} ? 1 : {columns_of(labels)}"),
        labelLimit=0,
        symbolOpacity=1,  # also where the first layer is a pale band
        symbolSize=250,
        symbolStrokeWidth=2,
        rowPadding=2,
        columnPadding=14,
    )


def channels(labels: Sequence[str], field: str = "series", **ranges: Sequence[Any]) -> dict[str, Any]:
    """Channels such as ``color`` and ``strokeDash`` that tell named series apart, with one legend for all of them.

    None where there is no series: a legend without a line moves the whole picture out of sight.
    """
    import altair as alt

    kinds = {"color": alt.Color, "fill": alt.Fill, "strokeDash": alt.StrokeDash, "shape": alt.Shape, "size": alt.Size}
    shared: dict[str, Any] = {"title": None, "sort": None, "legend": legend(labels)}
    return {
        name: kinds[name](f"{field}:N", scale=alt.Scale(domain=list(labels), range=list(values)), **shared)
        for name, values in ranges.items()
        if labels
    }


def line_channels(labels: Sequence[str]) -> dict[str, Any]:
    """Colour and dash of named lines, with one legend for both."""
    colour, dash = series_scales(list(labels))
    return channels(labels, color=colour.range, strokeDash=dash.range)


def tips(fields: Mapping[str, str]) -> list[Any]:
    """What a mark says on hover: a title by field; ``"x"`` is a text, ``"x:"`` a number, and ``"x:.3f"`` one so written."""
    import altair as alt

    found = []
    for field, title in fields.items():
        name, number, written = field.partition(":")
        form = {"format": written} if written else {}
        found.append(alt.Tooltip(f"{name}:{'Q' if number else 'N'}", title=title, **form))
    return found


def on_colour(base: Any, field: str, **mark: Any) -> list[Any]:
    """Words with a rim in the colour of the page, to be read on any colour."""
    import altair as alt

    text, page = alt.Text(f"{field}:N"), {"expr": "background"}
    rim = base.mark_text(stroke=page, strokeWidth=3, strokeOpacity=0.85, strokeJoin="round", **mark).encode(text=text)
    return [rim, base.mark_text(color=WORD, **mark).encode(text=text)]


Spot = tuple[float, float | None, str]
"""x, y and the words of "you are here"; no y where it is nowhere."""
Mark = tuple[float, str]
"""Height and words of a rule."""


def here(
    label: str,
    x: float,
    y: float | None,
    text: str,
    x_domain: Domain,
    y_domain: Domain | None = None,
    more: Sequence[Spot] = (),
    below: bool = False,
) -> list[Any]:
    """A diamond, and its label on the side where there is room, ``below`` it if something is above; ``more``:
    where it is in further states (kit.live)."""
    import altair as alt

    spots: list[Spot] = [(x, y, text), *more]
    right_end = [x > x_domain[0] + 0.6 * (x_domain[1] - x_domain[0]) for x, _, _ in spots]
    top = math.inf if y_domain is None else y_domain[0] + 0.93 * (y_domain[1] - y_domain[0])
    states = [[{"x": x, "y": y, "text": text, "label": label}] for x, y, text in spots]
    base = live.rows(states).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), tooltip=alt.Tooltip("text:N", title=label))
    words = base.mark_text(
        color=HERE,
        align=live.words(["right" if right else "left" for right in right_end]),
        dx=live.words([-9 if right else 9 for right in right_end]),
        dy=live.words([16 if below or (y is not None and y > top) else -10 for _, y, _ in spots]),
        fontWeight="bold",
    )
    return [
        base.mark_point(color=HERE, filled=True, size=140, shape="diamond", opacity=1),
        words.encode(text=alt.Text("label:N")),
    ]


def rules(
    marks: Sequence[Mark],
    y_domain: Domain,
    *,
    labels_left: bool = True,
    title: str = "threshold",
    more: Sequence[Sequence[Mark]] = (),
) -> list[Any]:
    """Horizontal rules with labels; labels that the next one would cross are left to the hover. ``more``: those of further
    states (kit.live)."""
    import altair as alt

    base = live.rows([_rules(each, y_domain) for each in (marks, *more)])
    base = base.encode(y=alt.Y("y:Q"), tooltip=alt.Tooltip("text:N", title=title))
    side = {"align": "left", "x": 0, "dx": 4} if labels_left else {"align": "right", "x": "width", "dx": -4}
    return [
        base.mark_rule(color=GUIDE, strokeDash=[2, 4], size=1.5),
        base.mark_text(color=WORD, baseline="bottom", dy=-2, **side).encode(text=alt.Text("label:N")),
    ]


def _rules(marks: Sequence[Mark], y_domain: Domain) -> list[dict[str, Any]]:
    per_unit = PLOT_HEIGHT / (y_domain[1] - y_domain[0])
    above = math.inf
    rows: list[dict[str, Any]] = []
    for y, text in sorted(marks, reverse=True):
        room = (above - y) * per_unit >= _LABEL_DISTANCE and (y_domain[1] - y) * per_unit >= _LABEL_DISTANCE - 4
        above = y
        rows.insert(0, {"y": y, "text": text, "label": text if room else ""})
    return rows


def layered(*charts: Any) -> Any:
    """As ``alt.layer`` of charts with data and marks of their own, but without the copies that it makes of each."""
    import altair as alt

    chart = alt.LayerChart()
    chart.layer = list(charts)
    return chart


def finish(
    chart: Any,
    title: str,
    subtitle: str | Sequence[str] = "",
    *,
    legend_labels: Sequence[str] = (),
    plot: int = PLOT_HEIGHT,
    line_length: int = _LINE_LENGTH,
    sliders: live.Sliders | None = None,
) -> Any:
    """The chart itself, not a copy, with a title, and a total height that leaves the plot ``plot`` pixels whatever stands
    around it.

    ``line_length`` characters fit in a line of the subtitle; a chart across the whole page has room for more. Of a chart
    that follows ``sliders`` (kit.live) ``subtitle`` has a text for each state.
    """
    import altair as alt

    rows = -(-len(legend_labels) // columns_of(legend_labels)) if legend_labels else 0
    if not isinstance(subtitle, str):
        subtitle = subtitle[0] if len(set(subtitle)) == 1 else tuple(subtitle)  # Altair copies lists again and again
    words: dict[str, Any] = {
        "title": title,
        "subtitle": subtitle,
        "plot": plot,
        "legend_rows": rows,
        "line_length": line_length,
    }
    live.follow(chart, sliders or {})
    chart.width, chart.usermeta = "container", {WORDS: words}
    chart.autosize = alt.AutoSizeParams(type="fit", contains="padding")
    return surround(chart, **words)


def surround(
    chart: Any, *, title: str, subtitle: str | Sequence[str], plot: int, legend_rows: int, line_length: int, by: float = 1.0
) -> Any:
    """The chart with a wrapped title and subtitle, and a total height in pixels, words ``by`` times as large as usual."""
    import altair as alt

    fitting = min(line_length, line_length * _SPARE / by)
    heading = textwrap.wrap(title, int(fitting * _TITLE_SHARE)) or [title]
    states = [_lines(text, int(fitting)) for text in ([subtitle] if isinstance(subtitle, str) else subtitle)]
    lines = max(states, key=len)
    around = _TITLE + _TITLE_LINE * (len(heading) - 1) + _SUBTITLE * len(lines) + _AXIS
    around += _LEGEND_GAP + _LEGEND_LINE * legend_rows if legend_rows else 0
    text = heading if len(heading) > 1 else title
    chart.title = alt.Title(text, subtitle=states[0], anchor="start") if lines else alt.Title(text, anchor="start")
    chart.height = plot + round(by * around)
    live.put_subtitle(chart.title, states)
    return chart


def _lines(text: str, longest: int) -> list[str]:
    """The text in lines of at most so many characters; "n = 100" stays in one."""
    held = text.replace(" = ", f"{_HELD}={_HELD}")
    return [line.replace(_HELD, " ") for line in textwrap.wrap(held, longest)]


def bar_axis(title: str, largest: float) -> Any:
    """An axis for bars that leave room for words on their right: ticks up to the largest value only, no grid."""
    import altair as alt

    unit = 10.0 ** math.floor(math.log10(max(largest, 1e-12)))
    step = next(s for s in (0.2 * unit, 0.5 * unit, unit, 2 * unit, 5 * unit) if largest / s <= 6)
    ticks = [i * step for i in range(math.floor(largest / step * (1 + 1e-12)) + 1)]
    return alt.Axis(title=title, titleAnchor="start", values=ticks, grid=False, domain=False, format=",~r")


def fine_ticks(domain: Domain) -> dict[str, Any]:
    """Ticks at 1, 2, 5, 10, 20, … for a log10 axis of at most three decades (1, 3, 10, … above two); whole powers of ten on
    longer ones."""
    if domain[1] - domain[0] > 3:
        return {}
    powers = range(math.floor(domain[0]), math.ceil(domain[1]) + 1)
    across = domain[1] - domain[0]
    digits = (1, 3) if across > 2 else (1, 2, 5) if across > 1 else (1, 1.5, 2, 3, 4, 5, 7)
    ticks = [power + math.log10(digit) for power in powers for digit in digits]
    return {"values": [tick for tick in ticks if domain[0] <= tick <= domain[1]]}
