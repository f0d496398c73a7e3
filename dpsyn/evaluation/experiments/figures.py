"""Figures of an experiment: a measure against the setting that varies, and where its spread comes from."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpsyn import escape
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments.field import frontier
from dpsyn.evaluation.experiments.plan import axes
from dpsyn.evaluation.experiments.summary import is_proportional
from dpsyn.kit.layers import GUIDE, HERE, SERIES
from dpsyn.kit.plotly import GRID, bar_style, dot_style, finish, places_of, shorten
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.notation import counted, readable, short
from dpsyn.privacy.spec import rounded_up

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.experiments.plan import Grid
    from dpsyn.evaluation.experiments.summary import Point
    from dpsyn.mechanisms.base import Axis

_REFERENCES = {
    "fresh real rows": (GUIDE, "dot"),
    "real data": (GUIDE, "solid"),
    "majority class": (GUIDE, "dash"),
    "mean": (GUIDE, "dash"),
}
_STAGGER, _STAGGERED = 0.012, 0.06
"""Of the horizontal axis: between two systems, and between the first and the last of many."""
_OWN_COLOURS = 5
"""Of more systems only those that are the best somewhere have a colour, and a bold name where they are."""
_OTHERS, _FRONTIER = "rgba(128,128,128,0.6)", "rgba(230,159,0,0.4)"
_FEWEST_TICKS = 3
_HEIGHT, _BETWEEN, _MARGINS = 320, 75, 105
"""Pixels of a panel, between two of them, and above and below all."""
_LINE, _LETTER, _LONGEST = 13.5, 6.2, 40
"""Pixels of a label's line and of a letter, and letters of a label."""


def draw_curves(
    panels: Mapping[str, Sequence[Point]],
    vary: str,
    *,
    references: Mapping[str, Mapping[str, float]] | None = None,
    wish: float | None = None,
    labels: Sequence[str] = (),
    places: Sequence[int] = (),
    title: str = "",
    waiting: Collection[float] = (),
) -> go.Figure:
    """Means with 95 % bars against the setting that varies, a panel per measure; the best system at every value lies on a
    thick line, which leaves out the values at which it is not known yet. Errors have a logarithmic axis; a single measure
    whose mean is 0 somewhere has a linear one, as its crossings are read.

    Open: over the budget asked for, and dotted where all of a line is. A star: another guarantee than asked for. Open with
    a dot inside: fewer runs than asked for, because some failed. A mean of a single run has no bar; a bar that reaches 0
    goes to the edge of a logarithmic axis.

    Args:
        panels: points by measure, from :func:`~dpsyn.evaluation.experiments.summary.summarise`; three at most.
        vary: the setting that varies.
        references: lines to draw across, by measure and name.
        wish: a level to reach.
        labels: the mechanisms in the order of their colours; those of the points come after them.
        places: of the colours of ``labels`` (:func:`dpsyn.kit.plotly.places_of`); in order without them.
        title: of the figure; the first measure without it.
        waiting: these values (:func:`~dpsyn.evaluation.experiments.field.unfinished`).

    Raises:
        ParameterError: a setting that has no axis.
    """
    from plotly.subplots import make_subplots

    if vary not in (known := axes()):
        raise ParameterError("vary", vary, f"one of {', '.join(map(repr, known))}")
    names = list(dict.fromkeys([*labels, *(p.label for points in panels.values() for p in points)]))
    beside = {measure: (references or {}).get(measure, {}) for measure in panels}
    leads = {measure: {p.label for p in frontier(points, waiting, beside[measure])} for measure, points in panels.items()}
    best = set().union(*leads.values())
    many = len(names) > _OWN_COLOURS
    looks: dict[str, dict[str, Any]] = {}
    taken: set[str] = set()
    for name, place in zip(names, [*places, *range(len(places), len(names))], strict=True):
        style = dot_style(place)
        if not many:
            looks[name] = {**style, "size": 8, "width": 2}
        elif name in best:  # several mechanisms share a colour, but not here
            colour = next((c for c in (style["color"], *SERIES) if c not in taken), style["color"])
            taken.add(colour)
            looks[name] = {**style, "color": colour, "size": 8, "width": 2}
        else:
            looks[name] = {**style, "color": _OTHERS, "size": 5, "width": 1}
    wide = len(panels) > 2  # the first of three panels is as wide as the other two
    figure = make_subplots(
        rows=2 if wide else 1,
        cols=2 if wide else max(1, len(panels)),
        specs=[[{"colspan": 2}, None], [{}, {}]] if wide else None,
        vertical_spacing=_BETWEEN / (2 * _HEIGHT + _BETWEEN),
        horizontal_spacing=0.32,
    )
    for at, (measure, points) in enumerate(panels.items()):
        row, column = divmod(at + wide, 2 if wide else len(panels))
        where = {"row": row + 1, "col": 1 if wide and at == 0 else column + 1}
        means = [*(p.mean for p in points), *([] if wish is None else [wish])]
        log = is_proportional(measure, [mean for mean in means if mean > 0] if len(panels) > 1 else means)
        _draw_panel(
            figure,
            where,
            measure,
            points,
            known[vary],
            looks,
            beside[measure],
            wish,
            leads[measure] if many else set(),
            log,
            waiting,
        )
    first = title or next(iter(panels), "")
    finish(figure, first[:1].upper() + first[1:], height=_MARGINS + (2 * _HEIGHT + _BETWEEN if wide else _HEIGHT))
    letters = max((len(shorten(name, _LONGEST)) for name in names), default=0)
    return figure.update_layout(margin={"r": 30 + _LETTER * max(letters, 20)})


def _draw_panel(
    figure: go.Figure,
    where: dict[str, int],
    measure: str,
    points: Sequence[Point],
    axis: Axis,
    looks: Mapping[str, dict[str, Any]],
    references: Mapping[str, float],
    wish: float | None,
    bold: set[str],
    log: bool,
    waiting: Collection[float],
) -> None:
    import plotly.graph_objects as go

    every = [p.value for p in points] or [1.0]
    shown = [name for name in looks if any(p.label == name for p in points)]
    across = {
        f"{name} ({short(height, 2)})": (height, *_REFERENCES.get(name.split(",")[0], (GUIDE, "longdash")))
        for name, height in references.items()
        if height > 0 or not log
    }
    if wish is not None:
        across[f"wanted ({short(wish, 4)})"] = (wish, HERE, "dashdot")
    clear = [p for p in points if looks[p.label]["color"] != _OTHERS]
    numbers = [p.mean for p in points]
    for p in clear:
        numbers += [max(end, 0.5 * p.mean) if log else end for end in p.interval or ()]
    numbers += [height for height, *_ in across.values()]
    numbers = [number for number in numbers if number > 0] if log else numbers or [0.0, 1.0]
    # What is 0 has no place on a logarithmic axis: it stands at the lower end.
    least = 0.7 * min(numbers) if log and any(p.mean <= 0 for p in points) else min(numbers)
    low, high = (math.log10(least), math.log10(max(numbers))) if log else (least, max(numbers))
    beyond = 0.05 * (high - low or max(abs(high), 1.0))
    bottom, top = low - beyond, high + beyond

    def place_of(height: float) -> float:
        return math.log10(max(height, least)) if log else height

    best = frontier(points, waiting, references) if len(shown) > 1 else []
    hull = {p.value: max(p.mean, least) if log else p.mean for p in best}
    if len(hull) > 1:
        along = sorted({*hull, *waiting})
        figure.add_trace(
            go.Scatter(
                x=along,
                y=[hull.get(value) for value in along],
                mode="lines",
                line={"color": _FRONTIER, "width": 11},
                name="the best",
                hoverinfo="skip",
            ),
            **where,
        )
    ends: list[tuple[str, float, str]] = []
    spread = _spread(every, axis.logarithmic)
    step = min(_STAGGER, _STAGGERED / max(len(shown), 1)) * spread
    for at, label in enumerate(shown):
        curve = sorted((p for p in points if p.label == label), key=lambda p: p.value)
        shift = (at - (len(shown) - 1) / 2) * step
        figure.add_trace(_curve(label, curve, looks[label], axis, shift, least if log else None), **where)
        name = escape.chart(shorten(label, _LONGEST)) + "*" * (not all(p.fair for p in curve))
        ends.append((f"<b>{name}</b>" if label in bold else name, curve[-1].mean, looks[label]["color"]))
    for name, (height, colour, dash) in across.items():
        figure.add_trace(_across(every, height, name, colour, dash), **where)
        ends.append((escape.chart(name), height, colour))
    figure.update_yaxes(
        title_text=escape.chart(shorten(measure, _LONGEST)), gridcolor=GRID, zeroline=False, range=[bottom, top], **where
    )
    if log:
        ticks = _log_ticks(numbers)
        written = [_plain(tick) for tick in ticks]
        figure.update_yaxes(type="log", tickmode="array", tickvals=ticks, ticktext=written, **where)
    first, last = ((math.log10(v) if axis.logarithmic else v) for v in (min(every), max(every)))
    pad = 0.06 * (last - first or max(abs(last), 1.0))
    figure.update_xaxes(title_text=axis.label, gridcolor=GRID, zeroline=False, range=[first - pad, last + pad], **where)
    if axis.logarithmic:
        ticks = sorted(set(every))
        written = [f"{v:,.4g}" for v in ticks]
        figure.update_xaxes(type="log", tickmode="array", tickvals=ticks, ticktext=written, **where)
    else:
        figure.update_xaxes(dtick=1, **where)
    heights = [place_of(y) for _, y, _ in ends]
    pixels = [(top - y) / (top - bottom) * _HEIGHT for y in heights]
    for (name, _, colour), y, pixel, place in zip(ends, heights, pixels, _apart(pixels, _LINE, _HEIGHT), strict=True):
        figure.add_annotation(
            x=last + 0.7 * pad,
            y=y,
            text=name,
            arrowhead=0,
            arrowwidth=1,
            arrowcolor=colour,
            ax=22,
            ay=place - pixel,
            xanchor="left",
            font={"size": 11},
            **where,
        )


def _apart(places: Sequence[float], gap: float, most: float) -> list[float]:
    """The places nearest to these, in their order, at least ``gap`` apart, between 0 and ``most`` if there is room."""
    from scipy.optimize import isotonic_regression

    order = sorted(range(len(places)), key=lambda i: places[i])
    if not order:
        return []
    free = isotonic_regression([places[i] - at * gap for at, i in enumerate(order)]).x
    free = free.clip(0, max(0.0, most - (len(order) - 1) * gap))
    found = [0.0] * len(order)
    for at, i in enumerate(order):
        found[i] = float(free[at] + at * gap)
    return found


def _curve(
    label: str, curve: Sequence[Point], look: Mapping[str, Any], axis: Axis, shift: float, least: float | None
) -> go.Scatter:
    """``least`` is the lower end of a logarithmic axis."""
    import plotly.graph_objects as go

    over = [p.over_budget for p in curve]
    said = " (over budget)" if all(over) else " (over budget where open)" if any(over) else ""
    name = escape.chart(label + said + " (of other neighbours)" * any(p.other_neighbours for p in curve))
    heights = [p.mean if least is None else max(p.mean, least) for p in curve]
    ends = [p.interval or (height, height) for p, height in zip(curve, heights, strict=True)]
    return go.Scatter(
        x=[p.value * math.exp(shift) if axis.logarithmic else p.value + shift for p in curve],
        y=heights,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, high - height) for height, (_, high) in zip(heights, ends, strict=True)],
            "arrayminus": [max(0.0, height - low) for height, (low, _) in zip(heights, ends, strict=True)],
            "thickness": 0.75 * look["width"],
            "width": 4,
        },
        mode="lines+markers",
        marker={"color": look["color"], "size": look["size"], "symbol": _symbols(look["symbol"], curve)},
        line={"color": look["color"], "width": look["width"], "dash": "dot" if all(over) else "solid"},
        unselected={"marker": {"opacity": 1}},  # a click on a point chooses it, and hides no other
        name=name,
        customdata=[[p.value, _note(p), escape.chart(p.label), p.mean] for p in curve],
        hovertemplate=f"{name}<br>{axis.symbol} = %{{customdata[0]:,.6~g}}<br>%{{customdata[3]:.4f}}<br>"
        "%{customdata[1]}<extra></extra>",
    )


def _note(point: Point) -> str:
    runs = f"{point.runs_in_words}; {counted(point.draws, 'draw')}"
    over = f"<br>needs ε = {readable(rounded_up(point.claimed_epsilon, 4))}: not comparable" if point.over_budget else ""
    ends = "no interval" if point.interval is None else "95 %: {} to {}".format(*(short(end, 4) for end in point.interval))
    return f"{runs}; {ends}{over}"


def _symbols(name: str, curve: Sequence[Point]) -> list[str]:
    return [f"{name}-open-dot" if p.failed else name + "-open" * p.over_budget for p in curve]


def _log_ticks(ends: Sequence[float]) -> list[float]:
    """Powers of ten around all that is drawn; where those are few, their multiples too, or round ones equally far apart."""
    low, high = min(ends), max(ends)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), range(1, 10)):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= _FEWEST_TICKS:
            return ticks
    widest = (high - low) / 4 or low / 10
    power = math.floor(math.log10(widest))
    step = max(float(f"{first}e{power}") for first in (1, 2, 5) if float(f"{first}e{power}") <= widest * 1.0001)
    ticks = [round(at * step, max(0, -power)) for at in range(math.floor(low / step) - 2, math.ceil(high / step) + 3)]
    return [tick for tick in ticks if tick > 0]


def _plain(value: float) -> str:
    return f"{value:,.12f}".rstrip("0").rstrip(".")


def _spread(values: Sequence[float], logarithmic: bool) -> float:
    if len(set(values)) < 2:
        return 1.0
    return math.log(max(values) / min(values)) if logarithmic else max(values) - min(values)


def _across(values: Sequence[float], height: float, name: str, colour: str, dash: str) -> go.Scatter:
    import plotly.graph_objects as go

    low, high = (min(values), max(values)) if values else (1.0, 1.0)
    x = [low * 0.93, high * 1.07]
    line = {"color": colour, "width": 2, "dash": dash}
    return go.Scatter(
        x=x,
        y=[height] * 2,
        mode="lines",
        line=line,
        name=escape.chart(name),
        hovertemplate=f"{escape.chart(name)}<extra></extra>",
    )


def draw_experiment(
    grid: Grid,
    panels: Mapping[str, Sequence[Point]],
    *,
    references: Mapping[str, Mapping[str, float]] | None = None,
    wish: float | None = None,
    waiting: Collection[float] = (),
) -> go.Figure:
    """:func:`draw_curves` of a grid: every mechanism has its colour; several panels are the picture of the field."""
    return draw_curves(
        panels,
        grid.vary,
        references=references,
        wish=wish,
        labels=list(grid.configs),
        places=places_of([config.name for config in grid.configs.values()], list(MECHANISMS)),
        title=f"Errors against {axes()[grid.vary].symbol}. Thick: the best; star: another guarantee" * (len(panels) > 1),
        waiting=waiting,
    )


def draw_spread(points: Sequence[Point], measure: str, vary: str) -> go.Figure | None:
    """Two bars for every mechanism and value: standard deviation by the noise and by the draw; None if no point tells."""
    import plotly.graph_objects as go

    told = [p for p in points if p.mechanism_deviation is not None and p.draw_deviation is not None]
    if not told:
        return None
    symbol = axes()[vary].symbol
    names = [escape.chart(shorten(f"{p.label}, {symbol} = {short(p.value)}", 36)) for p in told]
    parts = {
        "mechanism's noise": [p.mechanism_deviation for p in told],
        "draw of the rows": [p.draw_deviation for p in told],
    }
    figure = go.Figure()
    for at, (name, values) in enumerate(parts.items()):
        bars = go.Bar(y=names, x=values, orientation="h", name=name, marker=bar_style(at))
        figure.add_trace(bars.update(hovertemplate=f"%{{y}}<br>{name}: %{{x:.3g}}<extra></extra>"))
    spread = escape.chart(f"standard deviation of {shorten(measure, _LONGEST)}")
    figure.update_xaxes(title_text=spread, gridcolor=GRID, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return finish(figure, "Where the spread comes from", height=max(240, 110 + 34 * len(told)), entries=2)
