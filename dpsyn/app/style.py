"""The few rules of appearance that Streamlit's theme has no setting for."""

from __future__ import annotations

import altair as alt
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpsyn.kit import charts, screen
from dpsyn.kit.larger import word_sizes

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

/* Tables of a document are as wide as the page: names of code in them are broken. */
.st-key-document td code {overflow-wrap: anywhere; white-space: normal}
.st-key-document td {min-width: 7rem}

/* The ends of a slider are named right below it, in place of its smallest and largest value. */
[class*='st-key-ends_'] [data-testid='stSliderTickBar'] {display: none}
[class*='st-key-ends_'] [data-testid='stHorizontalBlock'] {flex-wrap: nowrap; margin-top: -1.5rem}
[class*='st-key-ends_'] [data-testid='stCaptionContainer'] {white-space: nowrap; font-size: 0.8rem}

/* Streamlit writes chips and primary buttons in white whatever the colour below, which nobody could read on a dark page. */
[data-testid='stMultiSelect'] [data-tag] *, button[kind^='primary']:enabled, button[kind^='primary']:enabled *
  {color: light-dark(#ffffff, #06201d)}
"""


_CHARTS = "dpsyn"
_DOTS = "#2aa398"
_SOFT, _SOFT_ON_DARK = "#5a6a6c", "#9fb0b0"


def apply() -> None:
    """Put the rules on the page, and see to it that the words in charts are large while somebody presents."""
    if alt.theme.active != _CHARTS:
        alt.theme.register(_CHARTS, enable=True)(_chart_words)
    st.html(f"<style>{_RULES}</style>")


def icon() -> str:
    """Dots that fade out, as SVG: the page's icon. One of Streamlit's named icons would be fetched from a server of somebody
    else's, which a page about privacy does not do."""
    places = [(x, y) for x in range(4) for y in range(4)]
    dots = "".join(f'<circle cx="{16 * x + 8}" cy="{16 * y + 8}" r="{7.4 - 1.6 * x:.1f}"/>' for x, y in places)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" fill="{_DOTS}">{dots}</svg>'


def _chart_words() -> alt.theme.ThemeConfig:
    """Sizes and colour of the words in a chart. Altair asks whenever it draws, for every visitor."""
    here = get_script_run_ctx(suppress_warning=True) is not None
    config = word_sizes(charts.LARGER if here and screen.presenting() else 1.0)
    config["title"]["subtitleColor"] = _SOFT_ON_DARK if here and st.context.theme.type == "dark" else _SOFT
    return {"config": config}
