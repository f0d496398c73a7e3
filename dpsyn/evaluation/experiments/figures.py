"""Figures of an experiment: a measure against the setting that varies, and where its spread comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpsyn import escape
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments.plan import axes
from dpsyn.evaluation.experiments.summary import is_proportional, is_rising
from dpsyn.kit.layers import GUIDE, HERE
from dpsyn.kit.plotly import GRID, bar_style, dot_style, finish, places_of, shorten
from dpsyn.mechanisms.registry import MECHANISMS
from dpsyn.notation import readable, short
from dpsyn.privacy.spec import rounded_up

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.experiments.plan import Grid
    from dpsyn.evaluation.experiments.summary import Point

_REFERENCES = {
    "sampling floor": (GUIDE, "dot"),
    "real data": (GUIDE, "solid"),
    "majority class": (GUIDE, "dash"),
    "mean": (GUIDE, "dash"),
}
_STAGGER = 0.012
_FEWEST_TICKS = 3


def draw_curves(
    points: Sequence[Point],
    measure: str,
    vary: str,
    *,
    references: Mapping[str, float] | None = None,
    wish: float | None = None,
    labels: Sequence[str] = (),
    places: Sequence[int] = (),
    proportional: bool = False,
) -> go.Figure:
    """Means of one measure with 95 % bars against the setting that varies; floor, ceiling and wish across.

    Open: over the budget asked for, and dotted where all of a line is. Open with a dot inside: fewer runs than asked for,
    because some failed. A mean of a single run has no bar; a bar that reaches 0 goes to the edge of a logarithmic axis.

    Args:
        points: from :func:`~dpsyn.evaluation.experiments.summary.summarise`.
        measure: its name.
        vary: the setting that varies.
        references: lines to draw across, by name.
        wish: a level to reach.
        labels: the mechanisms in the order of their colours; those of ``points`` come after them.
        places: of the colours of ``labels`` (:func:`dpsyn.kit.plotly.places_of`); in order without them.
        proportional: ask for a logarithmic vertical axis, for errors, which differ by factors; it stays linear if a mean is
            not above 0.

    Raises:
        ParameterError: a setting that has no axis.
    """
    import plotly.graph_objects as go

    if vary not in (known := axes()):
        raise ParameterError("vary", vary, f"one of {', '.join(map(repr, known))}")
    axis = known[vary]
    lines = {name: height for name, height in (references or {}).items() if height > 0 or not proportional}
    proportional = proportional and is_proportional(measure, [*(p.mean for p in points), *([] if wish is None else [wish])])
    figure = go.Figure()
    every = [p.value for p in points]
    names = list(dict.fromkeys([*labels, *(point.label for point in points)]))
    styles = [*places, *range(len(places), len(names))]
    for at, label in enumerate(names):
        curve = sorted((p for p in points if p.label == label), key=lambda p: p.value)
        style, over = dot_style(styles[at]), [p.over_budget for p in curve]
        dotted = bool(over) and all(over)
        name = label + (" (over budget)" if dotted else " (over budget where open)" if any(over) else "")
        ends = [p.interval or (p.mean, p.mean) for p in curve]
        shift = (at - (len(names) - 1) / 2) * _STAGGER * _spread(every, axis.logarithmic)
        figure.add_trace(
            go.Scatter(
                x=[p.value * math.exp(shift) if axis.logarithmic else p.value + shift for p in curve],
                y=[p.mean for p in curve],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [high - p.mean for p, (_, high) in zip(curve, ends, strict=True)],
                    "arrayminus": [p.mean - low for p, (low, _) in zip(curve, ends, strict=True)],
                    "thickness": 1.5,
                    "width": 4,
                },
                mode="lines+markers",
                marker={**style, "size": 8, "symbol": _symbols(style["symbol"], curve)},
                line={"color": style["color"], "width": 2, "dash": "dot" if dotted else "solid"},
                name=escape.chart(shorten(name, 40)),
                customdata=[[p.value, _note(p)] for p in curve],
                hovertemplate=f"{escape.chart(name)}<br>{axis.symbol} = %{{customdata[0]:,.6~g}}<br>%{{y:.4f}}<br>"
                "%{customdata[1]}<extra></extra>",
            )
        )
    for name, height in lines.items():
        colour, dash = _REFERENCES.get(name, (GUIDE, "longdash"))
        figure.add_trace(_across(every, height, f"{name} ({short(height, 4)})", colour, dash))
    if wish is not None:
        figure.add_trace(_across(every, wish, f"wanted ({short(wish, 4)})", HERE, "dashdot"))
    figure.update_xaxes(title_text=axis.label, gridcolor=GRID, zeroline=False)
    if axis.logarithmic:
        ticks = sorted(set(every))
        figure.update_xaxes(type="log", tickmode="array", tickvals=ticks, ticktext=[f"{v:,.4g}" for v in ticks])
    else:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(title_text=measure, gridcolor=GRID, zeroline=False)
    if proportional:
        ticks = _log_ticks(points, [*lines.values(), *([] if wish is None else [wish])])
        figure.update_yaxes(type="log", tickmode="array", tickvals=ticks, ticktext=[_plain(v) for v in ticks])
    entries = len(names) + len(lines) + (wish is not None)
    return finish(figure, measure[0].upper() + measure[1:], entries=entries)


def _note(point: Point) -> str:
    runs = f"{point.runs_in_words}; {point.draws} draw{'s' * (point.draws > 1)}"
    over = f"<br>needs ε = {readable(rounded_up(point.claimed_epsilon, 4))}: not comparable" if point.over_budget else ""
    ends = "no interval" if point.interval is None else "95 %: {} to {}".format(*(short(end, 4) for end in point.interval))
    return f"{runs}; {ends}{over}"


def _symbols(name: str, curve: Sequence[Point]) -> list[str]:
    return [f"{name}-open-dot" if p.failed else name + "-open" * p.over_budget for p in curve]


def _log_ticks(points: Sequence[Point], lines: Sequence[float]) -> list[float]:
    """Powers of ten around all that is drawn; where those are few, their multiples too, or values equally far apart."""
    ends = [end for p in points for end in (p.mean, *(p.interval or ()))] + list(lines)
    low, high = min(e for e in ends if e > 0), max(ends)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), range(1, 10)):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= _FEWEST_TICKS:
            return ticks
    step = (high - low) / 4 or low / 10
    digits = max(0, 1 - math.floor(math.log10(step)))
    return sorted({round(low + i * step, digits) for i in range(-4, 9) if round(low + i * step, digits) > 0})


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
    points: Sequence[Point],
    measure: str,
    *,
    references: Mapping[str, Mapping[str, float]] | None = None,
    wish: float | None = None,
) -> go.Figure:
    """:func:`draw_curves` of a grid: every mechanism has its colour, errors a logarithmic axis, a measure its references."""
    return draw_curves(
        points,
        measure,
        grid.vary,
        references=(references or {}).get(measure),
        wish=wish,
        labels=list(grid.configs),
        places=places_of([config.name for config in grid.configs.values()], list(MECHANISMS)),
        proportional=not is_rising(measure),
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
    figure.update_xaxes(title_text=f"standard deviation of {measure}", gridcolor=GRID, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return finish(figure, "Where the spread comes from", height=max(240, 110 + 34 * len(told)), entries=2)
