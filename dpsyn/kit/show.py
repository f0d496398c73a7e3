"""How pages and charts appear: rules, larger words while somebody presents, files of charts."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import altair as alt
import streamlit as st
from altair.utils import schemapi
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpsyn.kit import live, visit
from dpsyn.kit.layers import SOFT, SOFT_ON_DARK, WORDS, surround
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
    """A copy of an Altair chart with room for words of ``by`` times their size, which the page sets, where it has any."""
    copy = chart.copy(deep=True)
    if chart.usermeta is alt.Undefined:
        return copy
    copy = surround(copy, **chart.usermeta[WORDS], by=by)
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
        if note.ay is not None:
            note.update(ay=by * note.ay)
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


LARGER = 21 / 16
"""How much larger every word is while somebody presents; style.py gives the page the same type."""


def show_chart(chart: Any, *, key: str, place: Any = st) -> None:
    """An Altair chart, in a column or right here."""
    drawn = larger_chart(chart, LARGER) if visit.presenting() else chart
    # Checking it against the whole schema takes a third of an answer's time; the tests of the figures do that.
    object.__setattr__(drawn, "to_dict", partial(drawn.to_dict, validate=False))
    place.altair_chart(drawn, key=key)


def show_figure(figure: Any, *, key: str, select: bool = False) -> list[Any]:
    """A Plotly figure; with ``select`` the ``customdata`` of the points that were clicked."""
    drawn = larger_figure(figure, LARGER) if visit.presenting() else figure
    asked: dict[str, Any] = {"on_select": "rerun", "selection_mode": "points"} if select else {}
    found: Any = st.plotly_chart(drawn, config={"displayModeBar": False}, key=key, **asked)
    return [point["customdata"] for point in found.selection.points if "customdata" in point] if select else []


_RULES = """
/* Less of an empty margin around a page of panels and charts. */
[data-testid='stMainBlockContainer'] {padding: 4.6rem 3.5rem 4rem}

/* The tools stand in the line of the navigation, which makes room for them. */
@media (min-width: 62rem) {
  .st-key-tools {position: fixed; top: 0.6rem; right: 1.5rem; width: auto; z-index: 999991}
  .st-key-tools [data-testid='stPopover'] button {min-height: 2.3rem; padding-top: 0; padding-bottom: 0}
  [data-testid='stToolbar'] {padding-right: 18.5rem}
}
@media (max-width: 61.99rem) {
  [data-testid='stMainBlockContainer'] {padding-left: 1.5rem; padding-right: 1.5rem}
}

[data-testid='stMarkdownContainer'] table {width: 100%}
[data-testid='stMarkdownContainer']:has(> table) {overflow-x: auto}
[data-testid='stHeading'] h1 {padding-top: 0}

/* Words at axes and in legends: Streamlit's grey is too pale to read. */
:is(.vega-embed :is(.role-axis-label, .role-axis-title, .role-legend-label, .role-legend-title) text,
    .js-plotly-plot :is(.xtick, .ytick, .g-xtitle, .g-ytitle, .legend) text) {fill: light-dark(#565d68, #d5dbe0) !important}

/* The words of "you are here" stand on whatever lines there are. */
.vega-embed text:is([fill='#D55E00' i], [fill='#E69F00' i])
  {paint-order: stroke; stroke: light-dark(#ffffff, #10191b); stroke-width: 4px; stroke-linejoin: round}

/* Headings of panels: as high as their words, so that the badge beside them stands in the same line. */
[data-testid='stMain'] h2 {padding: 0.3rem 0 !important}
[data-testid='stHeading'] h2 {padding-bottom: 0.9rem !important}
[data-testid='stHorizontalBlock'] [data-testid='stHeading'] h2 {padding-bottom: 0.3rem !important}
[data-testid='stHorizontalBlock'] [data-testid='stMarkdownContainer']:has(> [data-testid='stHeadingWithActionElements'])
  {margin-bottom: 0}

/* Where the keyboard is, also on links and on the buttons of a chart. */
[data-testid='stApp'] :is(a, [data-testid='stElementToolbarButton'] button):focus-visible
  {outline: 2px solid currentColor; outline-offset: 2px}

/* Words in badges and over figures are wrapped, never cut. */
[data-testid='stMain'] .stMarkdownBadge, [data-testid='stMetricLabel'] * {white-space: normal !important}
[data-testid='stMetricLabel'] .katex * {white-space: nowrap !important}

/* A table's own CSV would hold cells that a spreadsheet runs; the buttons of the app guard them. */
[data-testid='stElementToolbar'] [data-testid='stElementToolbarButton']:has([aria-label^='Download as CSV']) {display: none}

/* The number of a card. */
[class*='st-key-card_'] h3 {font-size: 1.6rem; padding: 0 0 0.4rem}

/* Tables of a document are as wide as the page: names of code in them are broken. */
.st-key-document td code {overflow-wrap: anywhere; white-space: normal}
.st-key-document td {min-width: 7rem}

/* A condition is a sentence: its column is not squeezed by the numbers beside it. */
[class*='st-key-conditions_'] :is(td, th):nth-child(2) {min-width: 13rem}

/* The ends of a slider are named right below it, in place of its smallest and largest value. */
[class*='st-key-ends_'] [data-testid='stSliderTickBar'] {display: none}
[class*='st-key-ends_'] [data-testid='stHorizontalBlock'] {flex-wrap: nowrap; margin-top: -1.5rem}
[class*='st-key-ends_'] [data-testid='stCaptionContainer'] {white-space: nowrap; font-size: 0.8rem}

/* Inputs of a chart that kit/live.js fills. */
.vega-bindings {display: none !important}

/* A bar that glides stays behind the words above it, on a busy machine for seconds. */
[data-testid='stProgress'] * {transition: none !important}

/* The first page: one column, as high as a small screen. */
[data-testid='stMainBlockContainer']:has(.st-key-start) {padding-bottom: 1rem}
.st-key-start {max-width: 64rem; margin: 0 auto}
.st-key-start h1 {text-align: center; padding: 0}
.st-key-start .said {text-align: center; font-size: 1.35rem; margin: 0 0 0.5rem; font-variant-numeric: tabular-nums}
.st-key-start .drive {display: flex; align-items: center; justify-content: center; gap: 0.8rem; font-size: 0.85rem}
.st-key-start input[type='range'] {flex: 1; max-width: 26rem; min-width: 6rem; height: 1.8rem;
  accent-color: light-dark(#0b6e6e, #5ecfc0)}
.st-key-start [data-plays] {font: inherit; font-size: 1rem; width: 6.2rem; padding: 0.25rem 0; cursor: pointer;
  color: inherit; background: none; border: 1px solid currentColor; border-radius: 0.4rem}
.st-key-start [data-testid='stCaptionContainer'] {text-align: center}

/* Streamlit writes chips and primary buttons in white whatever the colour below, which nobody could read on a dark page. */
[data-testid='stMultiSelect'] [data-tag] *, button[kind^='primary']:enabled, button[kind^='primary']:enabled *
  {color: light-dark(#ffffff, #06201d)}
"""


_CHARTS = "dpsyn"
_DOTS = "#2aa398"


def apply() -> None:
    """Put the rules on the page, and see to it that the words in charts are large while somebody presents."""
    if alt.theme.active != _CHARTS:
        alt.theme.register(_CHARTS, enable=True)(_chart_words)
    schemapi.disable_debug_mode()  # each part of a chart would be checked when it is made, too
    st.html(f"<style>{_RULES}</style>")
    st.html(f"<script>{live.SCRIPT}</script>", unsafe_allow_javascript=True)


def icon() -> str:
    """Dots that fade out, as SVG: the page's icon. One of Streamlit's named icons would be fetched from a server of somebody
    else's, which a page about privacy does not do."""
    places = [(x, y) for x in range(4) for y in range(4)]
    dots = "".join(f'<circle cx="{16 * x + 8}" cy="{16 * y + 8}" r="{7.4 - 1.6 * x:.1f}"/>' for x, y in places)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" fill="{_DOTS}">{dots}</svg>'


def _chart_words() -> alt.theme.ThemeConfig:
    """Sizes and colour of the words in a chart. Altair asks whenever it draws, for every visitor."""
    here = get_script_run_ctx(suppress_warning=True) is not None
    config = word_sizes(LARGER if here and visit.presenting() else 1.0)
    config["title"]["subtitleColor"] = SOFT_ON_DARK if here and st.context.theme.type == "dark" else SOFT
    config["axisBand"] = {"labelFlush": False}  # Streamlit would move the name of the first row down
    config["axisXQuantitative"] = {"labelFlush": 14}  # pixels from an end within which its words stay inside the chart
    return {"config": config}


WIDTH, HEIGHT = 720, 400


def standalone(chart: Any) -> dict[str, Any]:
    """The chart's Vega-Lite specification with a size and a white background of its own."""
    spec: dict[str, Any] = json.loads(chart.to_json())
    for part in _sized(spec):
        part["width"] = WIDTH
        if "height" in part:
            part["height"] = HEIGHT
    return {**spec, "background": "white", "padding": 16}


def _sized(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a specification that take their width from a page."""
    inner = [part for key in ("hconcat", "vconcat", "concat") for part in spec.get(key, [])]
    found = [part for each in inner for part in _sized(each)]
    return [*found, spec] if spec.get("width") == "container" else found


def chart_png(chart: Any) -> bytes:
    """The chart as PNG, twice 720 × 400 points."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(standalone(chart), scale=2))


def chart_svg(chart: Any) -> bytes:
    """The chart as SVG, UTF-8."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(standalone(chart))).encode()
