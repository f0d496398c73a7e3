"""One column of the real rows, of releases and of held-out rows in one picture: categories as bars, numbers by value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import escape
from dpsyn.domain import Attribute
from dpsyn.errors import ParameterError
from dpsyn.evaluation.fresh import fresh_rows
from dpsyn.evaluation.values import common, written
from dpsyn.kit.layers import GUIDE
from dpsyn.kit.plotly import GRID, bar_style, dot_style, finish, segments, shorten
from dpsyn.notation import short

if TYPE_CHECKING:
    import plotly.graph_objects as go

Floats = npt.NDArray[np.float64]

_MOST_BARS = 30
_BINS = 80
_UNIT_BINS = 120
"""Up to so many whole numbers each have a bin of their own."""
_NARROW = 0.1
"""Where half of the real values lie in less than this share of the range, it is drawn on a log scale."""
_STEEP = 50.0
"""Largest share over the middle one from which shares are drawn on a log scale."""
_DECADES = 1e-12
"""So far down a logarithmic axis goes from its largest value."""
_SMALLEST_UNIT = 1e-300
"""In parts of the largest value, a spike perhaps: what is larger by more is no number."""
_MOST_TICKS, _FEW_POWERS, _LARGEST_POWER = 10, 4, 308
_FILL = "rgba(122,122,122,0.25)"


@dataclass(frozen=True)
class Distribution:
    """What is drawn of one numeric or date column, for several sets of rows.

    Attributes:
        edges: of fine bins, shape (bins + 1,).
        shares: of the rows whose value lies in a bin and is no spike, shape (sets, bins).
        spikes: values so common that they stand by themselves.
        spike_shares: shape (sets, spikes).
        unit: values beyond about this size are drawn on a log scale; None: they are drawn as they are.
        steep: shares are drawn on a log scale.
    """

    edges: Floats
    shares: Floats
    spikes: Floats
    spike_shares: Floats
    unit: float | None
    steep: bool

    def place(self, values: Floats) -> Floats:
        """Where values stand on the axis: sign(v) log₁₀(1 + |v| / unit), or v itself."""
        if self.unit is None:
            return values
        return np.asarray(np.sign(values) * np.log10(1 + np.abs(values) / self.unit))


def distribution(attribute: Attribute, sides: Sequence[Floats]) -> Distribution:
    """Fine bins and spikes of a numeric or date column; the first side is the real one and decides about the axes.

    Args:
        attribute: the column.
        sides: its values in each set of rows, NaN where a cell is empty.
    """
    sides = [values[~np.isnan(values)] for values in sides]
    every = np.unique(np.concatenate(sides))
    if len(every) == 0:
        every = attribute.edges[[0, -1]]
    low, high = float(every[0]), float(every[-1])
    if attribute.is_whole and high - low < _UNIT_BINS:
        spikes, unit, edges = np.empty(0), None, np.arange(low - 0.5, high + 1)
    else:
        spikes = np.unique([value for side in sides for value in common(side)])
        unit = None if attribute.kind == "date" else _unit(sides[0][~np.isin(sides[0], spikes)], low, high)
        edges = _edges(low, high, unit, attribute.is_whole)
    bins = [np.histogram(side[~np.isin(side, spikes)], edges)[0] / max(len(side), 1) for side in sides]
    at_spikes = [[float(np.mean(side == value)) if len(side) else 0.0 for value in spikes] for side in sides]
    shares, spike_shares = np.array(bins), np.array(at_spikes).reshape(len(sides), len(spikes))
    heights = np.concatenate([shares[0], spike_shares[0]])
    occupied = heights[heights > 0]
    steep = len(occupied) > 0 and bool(occupied.max() > _STEEP * np.median(occupied))
    return Distribution(edges, shares, spikes, spike_shares, unit, steep)


def _unit(values: Floats, low: float, high: float) -> float | None:
    """From where on values are drawn on a log scale; None if they are spread over their range as it is."""
    sizes = np.abs(values[values != 0])
    if len(sizes) == 0 or np.diff(np.quantile(values, (0.25, 0.75)))[0] > _NARROW * (high - low):
        return None
    return max(float(np.quantile(sizes, 0.05)), _DECADES * float(sizes.max()), _SMALLEST_UNIT * max(-low, high))


def _edges(low: float, high: float, unit: float | None, whole: bool) -> Floats:
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    if unit is not None:
        first, last = (math.copysign(math.log1p(abs(end) / unit), end) for end in (low, high))
        places = np.linspace(first, last, _BINS + 1)
        inner = (np.sign(places) * np.expm1(np.abs(places)) * unit)[1:-1]
    elif whole:
        step = math.ceil((high - low + 1) / _BINS)
        inner = np.arange(low + step, high, step)
    else:
        inner = np.linspace(low, high, _BINS + 1)[1:-1]
    # Whole numbers lie inside the bins, never on an edge.
    return np.unique([low - 0.5, *(np.ceil(inner) - 0.5), high + 0.5] if whole else [low, *inner, high])


def draw_column(
    attribute: Attribute,
    real: pd.Series[Any],
    releases: Mapping[str, pd.Series[Any]],
    held_out: pd.Series[Any] | None = None,
    places: Sequence[int] = (),
) -> go.Figure:
    """Shares of rows by value of one column: the real ones in grey, each release, held-out rows dotted.

    Numbers and dates are drawn in fine bins, whatever the bins of the domain, with common values by themselves; where a
    tail needs it values or shares are drawn on a log scale. Of a categorical column with more than 30 codes the most
    frequent real ones are shown and the others are added up.

    Args:
        attribute: the column.
        real: its cells in the real table.
        releases: its cells by the name of the release.
        held_out: its cells in held-out real rows: what as many fresh real rows show.
        places: of the releases' colours (:func:`dpsyn.kit.plotly.places_of`); in order without them.

    Raises:
        ParameterError: a side has no rows.
        DomainError: a cell is outside the domain.
    """
    fresh = [] if held_out is None else [(fresh_rows(len(held_out)).capitalize(), held_out)]
    sides = [("Real", real), *releases.items(), *fresh]
    if any(len(column) == 0 for _, column in sides):
        raise ParameterError("column", "no rows", "at least 1 row")
    figure = (_curves if attribute.is_binned else _bars)(attribute, sides, 1 + len(releases), places or range(len(releases)))
    return finish(figure, f"Values of {attribute.name}", entries=len(sides))


def _curves(
    attribute: Attribute, sides: Sequence[tuple[str, pd.Series[Any]]], drawn: int, places: Sequence[int]
) -> go.Figure:
    """Lines of the first ``drawn`` sides, dotted ones of the others."""
    import plotly.graph_objects as go

    values = [attribute.taken(attribute.numbers(column)) for _, column in sides]
    found = distribution(attribute, values)
    # On a logarithmic axis a share of 0 stands at half of a row.
    bottom = 0.5 / max(map(len, values)) if found.steep else 0.0
    inside = 0.5 if attribute.is_whole else 0.0
    ends = zip((found.edges[:-1] + inside).tolist(), (found.edges[1:] - inside).tolist(), strict=True)
    is_date = attribute.kind == "date"
    labels = [written(a, is_date) if a == b else f"{written(a, is_date)} to {written(b, is_date)}" for a, b in ends]
    spikes = [escape.chart(written(value, is_date)) for value in found.spikes]
    figure = go.Figure()
    for at, ((name, _), cells) in enumerate(zip(sides, values, strict=True)):
        first, held = at == 0, at >= drawn
        style = {"color": GUIDE, "symbol": "line-ew-open", "size": 12} if first or held else dot_style(places[at - 1])
        line = {"shape": "hv", "color": style["color"], "width": 1 if first else 2, "dash": "dot" if held else "solid"}
        told = f"{escape.chart(name)}<br>%{{customdata[0]}}<br>share %{{customdata[1]:.4f}}<extra></extra>"
        empty = f", {np.isnan(cells).mean():.1%} empty" if attribute.missing else ""
        shares = np.append(found.shares[at], found.shares[at, -1])
        steps = go.Scatter(
            x=_along(found.place(found.edges), is_date),
            y=np.maximum(shares, bottom).tolist(),
            customdata=list(zip([*labels, labels[-1]], shares.tolist(), strict=True)),
            mode="lines",
            line=line,
            name=escape.chart(shorten(name, 40)) + empty,
            legendgroup=name,
            hovertemplate=told,
        )
        figure.add_trace(steps.update(fill="tozeroy", fillcolor=_FILL) if first else steps)
        if spikes and not held:
            heights = np.maximum(found.spike_shares[at], bottom)
            stem = {"type": "data", "symmetric": False, "array": np.zeros(len(spikes)), "arrayminus": heights - bottom}
            heads = go.Scatter(
                x=_along(found.place(found.spikes), is_date),
                y=heights.tolist(),
                error_y={**stem, "width": 0, "thickness": 4 if first else 1},
                customdata=list(zip(spikes, found.spike_shares[at].tolist(), strict=True)),
                mode="markers",
                cliponaxis=False,
                marker=style,
                legendgroup=name,
                showlegend=False,
                hovertemplate=told,
            )
            figure.add_trace(heads)
    title = escape.chart(shorten(attribute.name, 60)) + (" (log scale)" if found.unit is not None else "")
    figure.update_xaxes(title_text=title, gridcolor=GRID, zeroline=False, automargin=True, **_ticks(found))
    figure.update_yaxes(title_text="Share of rows", gridcolor=GRID, tickformat="~%", rangemode="tozero")
    if found.steep:
        highest = max(float(found.shares.max()), float(found.spike_shares.max(initial=0.0)))
        shown = [math.log10(bottom), math.log10(1.3 * highest)]
        figure.update_yaxes(title_text="Share of rows (log scale)", type="log", range=shown, dtick=1)
    return figure


def _along(places: Floats, is_date: bool) -> list[Any]:
    """Places on the axis as Plotly takes them: moments for a date."""
    values = (places * 86_400).astype("datetime64[s]").astype(str) if is_date else places
    return list(values.tolist())


def _ticks(found: Distribution) -> dict[str, Any]:
    """Zero and powers of ten on a logarithmic axis of values; otherwise as they come, written as 20,000."""
    if found.unit is None:
        return {"exponentformat": "none", "separatethousands": True}
    low, high = found.edges[[0, -1]]
    last = min(math.ceil(math.log10(max(-low, high))), _LARGEST_POWER)
    powers = range(math.floor(math.log10(found.unit)), last + 1)
    digits = (1, 3) if len(powers) <= _FEW_POWERS else (1,)
    sizes = [digit * 10.0**power for power in powers[:: math.ceil(len(powers) / _MOST_TICKS)] for digit in digits]
    # Below half of the unit a label would stand on that of 0.
    sizes = [size for size in sizes if size > found.unit / 2]
    shown = [value for value in (*(-size for size in reversed(sizes)), 0.0, *sizes) if low <= value <= high]
    places = found.place(np.array(shown)).tolist()
    return {"tickmode": "array", "tickvals": places, "ticktext": [short(value) for value in shown]}


def _bars(attribute: Attribute, sides: Sequence[tuple[str, pd.Series[Any]]], drawn: int, places: Sequence[int]) -> go.Figure:
    """Bars of the first ``drawn`` sides, dotted lines of the others."""
    import plotly.graph_objects as go

    shares = [np.bincount(attribute.encode(column), minlength=attribute.size) / len(column) for _, column in sides]
    labels = attribute.labels()
    if attribute.size > _MOST_BARS:
        first = np.sort(np.argsort(-shares[0], kind="stable")[: _MOST_BARS - 1])
        labels = [labels[i] for i in first] + [f"({attribute.size - len(first)} others)"]
        shares = [np.append(s[first], max(1.0 - s[first].sum(), 0.0)) for s in shares]
    across = list(range(len(labels)))
    figure = go.Figure()
    text = [escape.chart(label) for label in labels]
    for at, ((name, _), heights) in enumerate(zip(sides, shares, strict=True)):
        if at >= drawn:
            figure.add_trace(segments(heights.tolist(), name))
            continue
        style = {"color": GUIDE, "line": {"width": 0}} if at == 0 else bar_style(places[at - 1])
        bars = go.Bar(
            x=across, y=heights.tolist(), name=escape.chart(shorten(name, 40)), marker=style, text=text, textposition="none"
        )
        bars.update(hovertemplate=f"{escape.chart(name)}<br>%{{text}}<br>share %{{y:.4f}}<extra></extra>")
        figure.add_trace(bars)
    ticks, title = [escape.chart(shorten(label)) for label in labels], escape.chart(shorten(attribute.name, 60))
    figure.update_xaxes(tickmode="array", tickvals=across, ticktext=ticks, title_text=title)
    figure.update_xaxes(automargin=True, tickangle=-45 if len(across) > 6 else 0)
    figure.update_yaxes(rangemode="tozero", gridcolor=GRID, title_text="Share of rows")
    return figure
