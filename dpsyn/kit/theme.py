"""Colours that a colour-blind person can tell apart on light and dark backgrounds, and axes for numbers that span decades.

Text, axes and background are left to the page's theme.
"""

from __future__ import annotations

from typing import Any

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
"""As dark on a white page as it is light on a dark one: contrast 4.2 to both."""
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
