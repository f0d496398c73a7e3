"""How charts come on a page: with larger words while somebody presents, and without Plotly's bar of tools."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpsyn.kit import screen
from dpsyn.kit.larger import larger_chart, larger_figure

LARGER = 21 / 16
"""How much larger every word is while somebody presents; style.py gives the page the same type."""


def show_chart(chart: Any, *, key: str, place: Any = st) -> None:
    """An Altair chart, in a column or right here."""
    place.altair_chart(larger_chart(chart, LARGER) if screen.presenting() else chart, key=key)


def show_figure(figure: Any, *, key: str, place: Any = st) -> None:
    """A Plotly figure, in a column or right here."""
    drawn = larger_figure(figure, LARGER) if screen.presenting() else figure
    place.plotly_chart(drawn, config={"displayModeBar": False}, key=key)
