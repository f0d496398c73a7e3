"""Figures of an experiment: a measure against the setting that varies, and where its spread comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpsyn.errors import ParameterError
from dpsyn.kit.plotly import GRID, bar_style, dot_style, finish, safe, shorten
from dpsyn.kit.theme import GUIDE, HERE
from dpsyn.notation import readable, short
from dpsyn.privacy.spec import rounded_up

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.experiments.summary import Point

AXES: Mapping[str, str] = {
    "epsilon": "ε (privacy budget): more private to the left",
    "n": "n (real rows learnt from)",
    "degree": "d (degree)",
    "order_of_mixture": "l (order of mixture)",
    "reduced_space_size": "m (size of the reduced space)",
    "rows": "k (rows released)",
}
_LINEAR = ("degree",)
_REFERENCES = {"sampling floor": (GUIDE, "dot"), "real data": (GUIDE, "solid"), "majority class": (GUIDE, "dash")}
_STAGGER = 0.012
_FEWEST_TICKS = 3


def symbol(vary: str) -> str:
    """The letter of a setting that varies."""
    return AXES[vary].split(" (")[0]


@dataclass(frozen=True)
class Curve:
    """One mechanism: values of the setting, mean of the measure, ends of its 95 % band, what to say of each point, and which
    points are of fewer runs than were asked for."""

    label: str
    values: tuple[float, ...]
    means: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    notes: tuple[str, ...]
    over_budget: bool
    fewer: tuple[bool, ...]


@dataclass(frozen=True)
class CurvesInfo:
    """Data of :func:`draw_curves`.

    Attributes:
        measure, vary: the two axes.
        curves: the mechanisms, in the order of their colours.
        references: horizontal lines by name.
        wish: a horizontal line to reach, or None.
        proportional: the vertical axis is logarithmic: for errors, which differ by factors.
    """

    measure: str
    vary: str
    curves: tuple[Curve, ...]
    references: Mapping[str, float] = field(default_factory=dict)
    wish: float | None = None
    proportional: bool = False

    @property
    def logarithmic(self) -> bool:
        """Whether the horizontal axis is."""
        return self.vary not in _LINEAR


def curves_info(
    points: Sequence[Point],
    measure: str,
    vary: str,
    *,
    references: Mapping[str, float] | None = None,
    wish: float | None = None,
    labels: Sequence[str] = (),
    proportional: bool = False,
) -> CurvesInfo:
    """Data of :func:`draw_curves` from averages of one measure.

    Args:
        points: from :func:`~dpsyn.evaluation.experiments.summary.summarise`.
        measure: its name.
        vary: the setting that varies.
        references: lines to draw across.
        wish: a level to reach.
        labels: the mechanisms in the order of their colours; those of ``points`` come after them.
        proportional: ask for a logarithmic vertical axis; it stays linear if a mean is not above 0.

    Raises:
        ParameterError: a setting that has no axis.
    """
    if vary not in AXES:
        raise ParameterError("vary", vary, f"one of {', '.join(map(repr, AXES))}")
    found = []
    for label in dict.fromkeys([*labels, *(point.label for point in points)]):
        own = sorted((p for p in points if p.label == label), key=lambda p: p.value)
        found.append(
            Curve(
                label=label,
                values=tuple(p.value for p in own),
                means=tuple(p.mean for p in own),
                low=tuple(p.low for p in own),
                high=tuple(p.high for p in own),
                notes=tuple(_note(p) for p in own),
                over_budget=any(p.over_budget for p in own),
                fewer=tuple(p.failed > 0 for p in own),
            )
        )
    lines = {name: height for name, height in (references or {}).items() if height > 0 or not proportional}
    above = [*(p.mean for p in points), *([] if wish is None else [wish])]
    return CurvesInfo(measure, vary, tuple(found), lines, wish, proportional and bool(above) and min(above) > 0)


def _note(point: Point) -> str:
    runs = f"{point.runs_in_words}; {point.draws} draw{'s' * (point.draws > 1)}"
    over = f"<br>needs ε = {readable(rounded_up(point.claimed_epsilon, 4))}: not comparable" if point.over_budget else ""
    return f"{runs}; 95 %: {short(point.low, 4)} to {short(point.high, 4)}{over}"


def draw_curves(info: CurvesInfo) -> go.Figure:
    """Means with 95 % bars against the setting; floor, ceiling and wish across.

    Open and dotted: over the budget asked for. Open with a dot inside: fewer runs than asked for, because some failed.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    every = [value for curve in info.curves for value in curve.values]
    for at, curve in enumerate(info.curves):
        style = dot_style(at)
        name = curve.label + (" (over budget)" if curve.over_budget else "")
        shift = (at - (len(info.curves) - 1) / 2) * _STAGGER * _spread(every, info.logarithmic)
        x = [value * math.exp(shift) if info.logarithmic else value + shift for value in curve.values]
        figure.add_trace(
            go.Scatter(
                x=x,
                y=curve.means,
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [h - m for h, m in zip(curve.high, curve.means, strict=True)],
                    "arrayminus": [
                        # On a logarithmic axis a bar that reaches 0 has no end.
                        min(m - low, 0.95 * m) if info.proportional else m - low
                        for m, low in zip(curve.means, curve.low, strict=True)
                    ],
                    "thickness": 1.5,
                    "width": 4,
                },
                mode="lines+markers",
                marker={**style, "size": 8, "symbol": _symbols(style["symbol"], curve)},
                line={"color": style["color"], "width": 2, "dash": "dot" if curve.over_budget else "solid"},
                name=safe(shorten(name, 40)),
                customdata=[[value, note] for value, note in zip(curve.values, curve.notes, strict=True)],
                hovertemplate=f"{safe(name)}<br>{symbol(info.vary)} = %{{customdata[0]:,.6~g}}<br>%{{y:.4f}}<br>"
                "%{customdata[1]}<extra></extra>",
            )
        )
    for name, height in info.references.items():
        colour, dash = _REFERENCES.get(name, (GUIDE, "longdash"))
        figure.add_trace(_across(every, height, f"{name} ({short(height, 4)})", colour, dash))
    if info.wish is not None:
        figure.add_trace(_across(every, info.wish, f"wanted ({short(info.wish, 4)})", HERE, "dashdot"))
    figure.update_xaxes(title_text=AXES[info.vary], gridcolor=GRID, zeroline=False)
    if info.logarithmic:
        ticks = sorted(set(every))
        figure.update_xaxes(type="log", tickmode="array", tickvals=ticks, ticktext=[f"{v:,.4g}" for v in ticks])
    else:
        figure.update_xaxes(dtick=1)
    figure.update_yaxes(title_text=info.measure, gridcolor=GRID, zeroline=False)
    if info.proportional:
        ticks = _log_ticks(info)
        figure.update_yaxes(type="log", tickmode="array", tickvals=ticks, ticktext=[_plain(v) for v in ticks])
    entries = len(info.curves) + len(info.references) + (info.wish is not None)
    return finish(figure, info.measure[0].upper() + info.measure[1:], entries=entries)


def _symbols(name: str, curve: Curve) -> str | list[str]:
    usual = name + ("-open" if curve.over_budget else "")
    return [f"{name}-open-dot" if few else usual for few in curve.fewer] if any(curve.fewer) else usual


def _log_ticks(info: CurvesInfo) -> list[float]:
    """Powers of ten around all that is drawn; where those are few, their multiples too, or values equally far apart."""
    ends = [end for c in info.curves for m, low in zip(c.means, c.low, strict=True) for end in (max(low, 0.05 * m), m)]
    ends += [high for c in info.curves for high in c.high] + list(info.references.values())
    ends += [] if info.wish is None else [info.wish]
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
        x=x, y=[height] * 2, mode="lines", line=line, name=safe(name), hovertemplate=f"{safe(name)}<extra></extra>"
    )


@dataclass(frozen=True)
class SpreadInfo:
    """Standard deviations of one measure, of the mechanism's noise and of the draw, by mechanism and value."""

    measure: str
    names: tuple[str, ...]
    mechanism: tuple[float, ...]
    draw: tuple[float, ...]


def spread_info(points: Sequence[Point], measure: str, vary: str) -> SpreadInfo:
    """Data of :func:`draw_spread`: the points whose spread could be told apart."""
    told = [p for p in points if p.mechanism_deviation is not None and p.draw_deviation is not None]
    return SpreadInfo(
        measure,
        tuple(f"{p.label}, {symbol(vary)} = {short(p.value)}" for p in told),
        tuple(p.mechanism_deviation or 0.0 for p in told),
        tuple(p.draw_deviation or 0.0 for p in told),
    )


def draw_spread(info: SpreadInfo) -> go.Figure:
    """Two bars for every mechanism and value: standard deviation by the noise and by the draw."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for at, (name, values) in enumerate((("mechanism's noise", info.mechanism), ("draw of the rows", info.draw))):
        style: dict[str, Any] = bar_style(at)
        bars = go.Bar(y=[safe(shorten(n, 36)) for n in info.names], x=values, orientation="h", name=name, marker=style)
        figure.add_trace(bars.update(hovertemplate=f"%{{y}}<br>{name}: %{{x:.3g}}<extra></extra>"))
    figure.update_xaxes(title_text=f"standard deviation of {info.measure}", gridcolor=GRID, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return finish(figure, "Where the spread comes from", height=max(240, 110 + 34 * len(info.names)), entries=2)
