"""The same pictures with larger words, for a projector: plots keep their size, pictures grow with what is written around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsyn.kit.layers import WORDS, surroundings
from dpsyn.kit.plotly import LINE_BREAK, TITLE_LENGTH, TITLE_LINE, heading, wrapped_lines

if TYPE_CHECKING:
    import plotly.graph_objects as go

SMALL, MIDDLE, LARGE = 12, 14, 16
"""Pixels of words at ticks and in the plot, of axes and legends, and of titles."""


def word_sizes(by: float = 1.0) -> dict[str, Any]:
    """The part of a Vega-Lite configuration that sets every word ``by`` times as large as usual."""
    small, middle, large = (size * by for size in (SMALL, MIDDLE, LARGE))
    return {
        "text": {"fontSize": small},
        "axis": {"labelFontSize": small, "titleFontSize": middle},
        "legend": {"labelFontSize": middle, "titleFontSize": middle},
        "title": {"fontSize": large, "subtitleFontSize": small},
    }


def larger_chart(chart: Any, by: float) -> Any:
    """A copy of a finished Altair chart with room for words of ``by`` times their size; the sizes are set by the page."""
    import altair as alt

    copy = chart.copy(deep=True).properties(**surroundings(**chart.usermeta[WORDS], by=by))
    for layer in getattr(copy, "layer", [copy]):
        axis = None if layer.encoding is alt.Undefined or layer.encoding.y is alt.Undefined else layer.encoding.y["axis"]
        if isinstance(axis, alt.Axis) and axis["labelLimit"] is not alt.Undefined:
            axis["labelLimit"] = axis["labelLimit"] * by
    return copy


def larger_figure(figure: go.Figure, by: float) -> go.Figure:
    """A copy of a Plotly figure whose words are ``by`` times as large, and which is higher by what they need."""
    import plotly.graph_objects as go

    new = go.Figure(figure)
    layout = new.layout
    margin = layout.margin
    lines = wrapped_lines((layout.title.text or "").replace(LINE_BREAK, " "), int(TITLE_LENGTH / by))
    more = by * TITLE_LINE * (len(lines) - 1 - (layout.title.text or "").count(LINE_BREAK))
    above, below = by * margin.t + max(more, 0), by * margin.b
    new.update_layout(
        font={"size": SMALL * by},
        title={**heading(lines, by), "font": {"size": LARGE * by}},
        legend={"font": {"size": SMALL * by}},
        hoverlabel={"font": {"size": MIDDLE * by}},
        margin={"l": by * margin.l, "r": by * margin.r, "t": above, "b": below},
        height=round(layout.height + above + below - margin.t - margin.b),
    )
    for axis in (*new.select_xaxes(), *new.select_yaxes()):
        axis.update(tickfont={"size": by * (axis.tickfont.size or SMALL)}, title={"font": {"size": MIDDLE * by}})
    for note in new.select_annotations():
        note.update(font={"size": by * (note.font.size or SMALL)})
    for trace in new.data:
        _enlarge(trace, by)
    return new


def _enlarge(trace: Any, by: float) -> None:
    """Larger words of one trace, its colour bar included; those in a heat-map fit in its cells by themselves."""
    if trace.type != "heatmap" and "text" in (getattr(trace, "mode", None) or ""):
        trace.update(textfont={"size": by * (trace.textfont.size or SMALL)})
    sizes = {"tickfont": {"size": SMALL * by}, "title": {"font": {"size": MIDDLE * by}}}
    if trace.type == "heatmap":
        trace.update(colorbar=sizes)
    elif trace.marker.colorbar.to_plotly_json():
        trace.marker.update(colorbar=sizes)
