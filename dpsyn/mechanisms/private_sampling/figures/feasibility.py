"""Private sampling's bounds as lines: against p, against one parameter, and the trade-off in floor.

Privacy wants floor large, the promised error 4·floor wants it small. All coordinates but p are log10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import altair as alt

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit import live
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, HERE, ORANGE, PURPLE, SKY, WORD, channels, log_axis
from dpsyn.mechanisms.private_sampling.answers import (
    CERTIFICATES,
    NAMES,
    PROVEN,
    Certificate,
    Crossing,
    FloorWindow,
    Varied,
    by_name,
    crossings,
    floor_window,
    log_epsilon,
    log_largest_rows,
    smallest,
    why_not,
)
from dpsyn.mechanisms.private_sampling.bounds import LN2, Logs, PrivateSamplingSetting
from dpsyn.mechanisms.private_sampling.certificates import EXACTLY
from dpsyn.mechanisms.private_sampling.figures import DASHED, DOTTED, SOLID
from dpsyn.notation import short
from dpsyn.theory.logarithms import LN10, Side, format_log
from dpsyn.theory.thresholds import p_threshold

YOURS = "your ε"
PRIVACY, ERROR = "smallest ε of the rows", "promised error, 4·floor"
AXES: dict[Varied, str] = {
    "n": "rows of data n",
    "rows": "synthetic rows k",
    "floor": "floor (the papers' δ)",
    "ceiling": "ceiling (the papers' Δ)",
    "reduced_space_size": "size m of the reduced space",
}
_SYMBOLS = {"n": "n", "rows": "k", "floor": "floor", "ceiling": "ceiling", "reduced_space_size": "m"}
_BITS = "number of bits p"
_STYLE: dict[str, tuple[str, list[int]]] = {
    NAMES["theorem_4_1"]: (BLUE, SOLID),
    NAMES["bounded_ratio"]: (ORANGE, SOLID),
    NAMES["stability"]: (PURPLE, DOTTED),
    PRIVACY: (ORANGE, SOLID),
    ERROR: (BLUE, DASHED),
}
_THRESHOLDS, _EPSILONS = (1, 100, 1000, 10000), (0.1, 1.0, 10.0)
_POINTS, _POINTS_OF_FLOOR = 80, 100
POINTS_OF_P = 120
_FURTHEST, _LOWEST_FLOOR = 40.0, -3.0

Case = Literal["yours", "ideal"]


class Line(NamedTuple):
    """One line: heights over the parameter, and by which theorem each of them is, where that changes."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    by: tuple[str, ...] = ()


class Here(NamedTuple):
    """Where the sliders stand; no height where there is none."""

    x: float
    y: float | None
    text: str


@dataclass(frozen=True)
class Lines:
    """Lines against one parameter.

    Attributes:
        title, subtitle, x_title, y_title: words around them.
        hover: what a line, the parameter and a height are called on hover.
        lines: those that have a point.
        here: the setting.
        x_domain: ends of the axis.
        rules: heights with words.
        crossings: points with words.
        limits: upright rules with words.
        bands: from, to, colour, words.
        ticks: options of the axis; None for a parameter that is no logarithm.
        side: to which its numbers are rounded.
    """

    title: str
    subtitle: str
    x_title: str
    y_title: str
    hover: tuple[str, str, str]
    lines: tuple[Line, ...]
    here: Here
    x_domain: tuple[float, float]
    rules: Sequence[tuple[float, str]] = ()
    crossings: Sequence[tuple[float, float, str]] = ()
    limits: Sequence[tuple[float, str]] = ()
    bands: Sequence[tuple[float, float, str, str]] = ()
    ticks: Mapping[str, Any] | None = field(default_factory=dict)
    side: Side | None = "at_least"


def draw_lines(info: Lines, more: Sequence[Lines] = (), sliders: live.Sliders | None = None) -> Any:
    """An Altair chart: bands and limits behind, the lines, and "you are here".

    Args:
        info: the picture where the sliders stand.
        more: the picture at each value of ``sliders``, which it follows while they are dragged (kit.live).
        sliders: how many values each has, by its widget's key.
    """
    states = [info, *more]
    heights = [y for each in states for line in each.lines for y in line.y] + [y for each in states for y, _ in each.rules]
    y_domain = _layers.domain_of([*heights, *(each.here.y for each in states if each.here.y is not None)])
    x_axis = alt.Axis(title=info.x_title, tickMinStep=1) if info.ticks is None else log_axis(info.x_title, **info.ticks)
    x = alt.X("x:Q", axis=x_axis, scale=_layers.scale(info.x_domain))
    y = alt.Y("y:Q", axis=log_axis(info.y_title), scale=_layers.scale(y_domain))
    at: Callable[[float], str] = str if info.ticks is None else lambda value: format_log(value * LN10, 4)
    by = any(line.by for line in info.lines)
    value = cache(lambda height: format_log(height * LN10, 4, info.side))

    def rows_of(lines: tuple[Line, ...]) -> list[dict[str, Any]]:
        return [
            {"series": line.label, "x": a, "y": b, "at": at(a), "value": value(b)} | ({"by": line.by[i]} if by else {})
            for line in lines
            for i, (a, b) in enumerate(zip(line.x, line.y, strict=True))
        ]

    now = rows_of(info.lines)
    rows = [now if each.lines == info.lines else rows_of(each.lines) for each in states]
    labels = [line.label for line in info.lines]
    styles = [_STYLE[label] for label in labels if label in _STYLE]
    tell_apart = (
        channels(labels, color=[colour for colour, _ in styles], strokeDash=[dash for _, dash in styles])
        if len(styles) == len(labels)
        else _layers.line_channels(labels)
    )
    hover = dict(zip(["series", "at", "value"], info.hover, strict=True)) | ({"by": "by"} if by else {})
    lines = (
        live.rows(rows)
        .mark_line(strokeWidth=2, clip=True)
        .encode(x=x, y=y, tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in hover.items()], **tell_apart)
    )
    layers: list[Any] = []

    def with_words(field: str, columns: str, title: str) -> Any:
        names = [*columns.split(), "text"]
        chart = live.rows([[dict(zip(names, row, strict=True)) for row in getattr(each, field)] for each in states])
        return chart.encode(tooltip=alt.Tooltip("text:N", title=title))

    if any(each.bands for each in states):
        bands = with_words("bands", "low high colour", "in this band").mark_rect(opacity=0.25)
        between = alt.X("low:Q", axis=x_axis, scale=_layers.scale(info.x_domain))
        layers.append(bands.encode(x=between, x2=alt.X2("high"), color=alt.Color("colour:N", scale=None, legend=None)))
    if info.limits:
        limit = with_words("limits", "x", "limit").encode(x=x)
        layers.append(limit.mark_rule(color=GUIDE, strokeWidth=2))
        sideways = limit.mark_text(color=WORD, angle=270, align="left", baseline="bottom", y="height", dx=5, dy=-2)
        layers.append(sideways.encode(text=alt.Text("text:N")))
    if any(proven := [_proven(each) for each in states]):
        under = live.rows(proven).encode(x=x, y=y)
        layers.append(under.mark_line(color=GUIDE, strokeWidth=9, opacity=0.35, clip=True))
    if info.rules:
        on_left = bool(info.limits) or info.here.x > sum(info.x_domain) / 2
        layers += _layers.rules(info.rules, y_domain, labels_left=on_left, more=[each.rules for each in more])
    layers.append(lines)
    if any(each.crossings for each in states):
        spots = with_words("crossings", "x y", "crossing").encode(x=x, y=y)
        layers.append(spots.mark_point(color=HERE, size=90, strokeWidth=2, opacity=1))
    if any(each.here.y is not None for each in states):
        layers += _layers.here("you are here", *info.here, info.x_domain, y_domain, [each.here for each in more])
    chart = _layers.layered(*layers)
    if info.limits:
        # Each layer brings scales of its own for colours; merged, the bands' literal colours would enter the legend.
        chart = chart.resolve_scale(color="independent", strokeDash="independent")
    room = {} if info.ticks is None else {"line_length": _layers.WIDE_LINE}
    return _layers.finish(
        chart, info.title, [each.subtitle for each in states], legend_labels=labels, sliders=sliders, **room
    )


def _proven(info: Lines) -> list[dict[str, float]]:
    """Points of the smaller of the proven certificates."""
    found: dict[float, float] = {}
    for line in info.lines:
        if line.label in (NAMES[certificate] for certificate in PROVEN):
            found |= {a: min(b, found.get(a, math.inf)) for a, b in zip(line.x, line.y, strict=True)}
    return [{"x": a, "y": b} for a, b in found.items()]


def p_range(p: int, smallest: int, largest: int | None = None, points: int = POINTS_OF_P) -> tuple[int, ...]:
    """About ``points`` whole numbers from ``smallest`` to ``largest`` (140, or 1.25·p if that is more), p among them."""
    top = max(largest if largest is not None else max(140, math.ceil(1.25 * p)), p, smallest)
    step = max(1, math.ceil((top - smallest) / points))
    return tuple(sorted({*range(smallest, top + 1, step), p, top}))


def rows_bound_info(setting: PrivateSamplingSetting, *, case: Case = "yours", points: int = POINTS_OF_P) -> Lines:
    """The most rows that are private at each p, by Theorem 4.1 and by the ratio (Figure 1 of Pierquin et al. 2023).

    Args:
        setting: its n is kept while p varies (``case="yours"``), or n = 2^p (``"ideal"``, every point once); its ε has
            a line of its own beside 0.1, 1 and 10.
        case: what n is.
        points: of each line, about.
    """
    if case not in ("yours", "ideal"):
        raise ParameterError("case", case, "'yours' or 'ideal'")
    epsilon, values = setting.epsilon, p_range(setting.p, setting.degree, points=points)
    why, ratio, lines = why_not(setting, "theorem_4_1"), setting.log_largest_rows_ratio, []
    if not why:
        unit = _most_rows(setting.logs._replace(epsilon=0.0, rows=0.0), values, case)
        asked = [*((f"ε = {short(e)}", math.log(e)) for e in _EPSILONS), (YOURS, math.log(epsilon))]
        lines = [Line(label, values, tuple([(u + log) / LN10 for u in unit])) for label, log in asked]
    if math.isfinite(ratio) and not why_not(setting, "bounded_ratio"):
        lines.append(Line(f"bounded ratio, {YOURS}", (values[0], values[-1]), (ratio / LN10,) * 2))
    there = _with_n(setting, case)
    allowed, rows = format_log(log_largest_rows(there, smallest(there)), side="at_most"), round(math.exp(setting.log_rows))
    fixed = "every point of the cube once, n = 2ᵖ" if case == "ideal" else f"n = {format_log(setting.log_n)}"
    text = f"{setting.name}: {rows:,} asked for, {allowed} allowed at ε = {short(epsilon)}"
    return Lines(
        title="Most rows k that are private",
        subtitle=f"Theorem 4.1 says nothing here: {why}." if why else f"By Theorem 4.1, {EXACTLY}; {fixed}.",
        x_title=_BITS,
        y_title="number of rows k",
        hover=("line", "p", "number of rows k"),
        lines=tuple(lines),
        here=Here(setting.p, math.log10(rows), text),
        x_domain=(float(values[0]), float(values[-1])),
        rules=[(math.log10(k), f"k = {k:,}") for k in _THRESHOLDS],
        ticks=None,
        side="at_most",
    )


def _with_n(setting: PrivateSamplingSetting, case: Case) -> PrivateSamplingSetting:
    return replace(setting, log_n=setting.p * LN2) if case == "ideal" else setting


@lru_cache(maxsize=64)
def _most_rows(logs: Logs, values: tuple[int, ...], case: Case) -> tuple[float, ...]:
    """ln of the most rows at each p; pictures at many ε and k share them."""
    return tuple(logs._replace(p=p, n=p * LN2 if case == "ideal" else logs.n).largest_rows_theorem_4_1 for p in values)


def reduced_space_info(setting: PrivateSamplingSetting, *, points: int = POINTS_OF_P) -> Lines:
    """Theorem 4.2's window for m at each p: from 16 δ^{-2} γ^{-1} Δ² e^{2d} C(p, ≤d) to 2^{p/4}; and 2^p, the whole cube.

    "You are here" is the m given, or the lower bound at the data's p.
    """
    logs, p = setting.logs, setting.p
    values = p_range(p, logs.degree, points=points)

    def lower(p: int) -> float:
        return logs._replace(p=p).smallest_m

    found = p_threshold("at_least", lambda p: lower(p) <= p * LN2 / 4, p=p, smallest=logs.degree).value
    opens_at = None if found is None else int(found)
    window = f"the theorem wants {format_log(lower(p))} to {format_log(p * LN2 / 4)}"
    return Lines(
        title="Window for the size m",
        subtitle=f"Theorem 4.2: m between two lines, from p = {opens_at} on.",
        x_title=_BITS,
        y_title="size m of the reduced space",
        hover=("line", "p", "size m of the reduced space"),
        lines=(
            Line("at least", values, tuple(lower(p) / LN10 for p in values)),
            Line("at most ⁴√2ᵖ", values, tuple(p * LN2 / 4 / LN10 for p in values)),
            Line("whole cube, 2ᵖ", values, tuple(p * LN2 / LN10 for p in values)),
        ),
        here=Here(p, logs.m / LN10, f"{setting.name}: m = {format_log(logs.m)}; {window}"),
        x_domain=(float(values[0]), float(values[-1])),
        ticks=None,
        side=None,
    )


def certificates_info(setting: PrivateSamplingSetting, *, vary: Varied = "n") -> Lines:
    """ε that k rows cost by Theorem 4.1, by the bounded ratio and by the experimental stability bound.

    Raises:
        ParameterError: ``vary`` is not one of the five parameters that can be on the axis.
    """
    if vary not in AXES:
        raise ParameterError("vary", vary, "one of " + ", ".join(AXES))
    now = _now(setting, vary)
    found, ends, lines = _costs(replace(setting, epsilon=1.0), vary)
    left, right = ends
    rows = "k rows" if vary == "rows" else f"{format_log(setting.log_rows)} row{'' if setting.log_rows == 0 else 's'}"
    here = [(NAMES[c], log_epsilon(setting, c)) for c in CERTIFICATES]
    known = [f"{name}: ε = {format_log(cost, 4, 'at_least')}" for name, cost in here if cost < math.inf]
    marks = [(c.log_value / LN10, c.log_epsilon / LN10, _crossing_text(vary, c)) for c in found]
    return Lines(
        title=f"What {rows} cost",
        subtitle=_words(setting, vary, found),
        x_title=AXES[vary],
        y_title="ε of the rows",
        hover=("certificate", AXES[vary], "ε"),
        lines=lines,
        here=_here(setting, now, f"{_SYMBOLS[vary]} = {format_log(now, 4)}; {'; '.join(known or ['no certificate'])}"),
        x_domain=ends,
        rules=[_asked(setting)],
        crossings=[mark for mark in marks if left <= mark[0] <= right],
        ticks=_layers.fine_ticks(ends),
    )


def _now(setting: PrivateSamplingSetting, vary: Varied) -> float:
    found: float = setting.logs.m if vary == "reduced_space_size" else getattr(setting.logs, vary)
    return found


@lru_cache(maxsize=256)
def _costs(
    setting: PrivateSamplingSetting, vary: Varied
) -> tuple[tuple[Crossing, ...], tuple[float, float], tuple[Line, ...]]:
    """Where certificates cross, the ends of the axis, and a line for each certificate: what k rows cost, whatever is asked
    for; so that pictures at many ε share them."""
    low, high = _search_range(setting, vary)
    found = crossings(setting, vary, low, high) if high > low else ()
    at = [c.log_value / LN10 for c in found]
    left, right = ends = _axis(vary, _now(setting, vary) / LN10, low / LN10, high / LN10, at)
    grid = [left + i * (right - left) / _POINTS for i in range(_POINTS + 1)]
    settings = [(x, setting.changed(vary, x * LN10)) for x in grid]
    lines = []
    for certificate in CERTIFICATES:
        costs = [(x, log_epsilon(there, certificate) / LN10) for x, there in settings]
        if kept := [(x, y) for x, y in costs if math.isfinite(y)]:
            lines.append(Line(NAMES[certificate], *zip(*kept, strict=True)))
    return found, ends, tuple(lines)


def _asked(setting: PrivateSamplingSetting) -> tuple[float, str]:
    height = setting.logs.epsilon / LN10
    return height, f"ε = {short(10**height)} asked for"


def _search_range(setting: PrivateSamplingSetting, vary: Varied) -> tuple[float, float]:
    if vary == "floor":
        return math.log(1e-6), math.log(max(min(0.5, setting.ceiling - 1), 1e-6)) - 1e-9
    return (math.log(1 + setting.floor) + 1e-9, math.log(1e6)) if vary == "ceiling" else (0.0, 300 * LN10)


def _axis(vary: Varied, now: float, low: float, high: float, crossing: list[float]) -> tuple[float, float]:
    if vary == "floor":
        return min(-3.0, now - 0.3), max(high, now)
    if vary == "ceiling":
        return min(low, now), max(2.0, now + 0.3, *(c + 0.2 for c in crossing if c < 4), low + 0.3)
    shown = [c + 1 for c in crossing if c <= max(_FURTHEST, now + 3)]
    return 0.0, math.ceil(max({"n": 10.0, "rows": 4.0, "reduced_space_size": 6.0}[vary], now + 1, *shown))


def _crossing_text(vary: Varied, crossing: Crossing) -> str:
    return (
        f"{NAMES[crossing.first]} is smaller below {_SYMBOLS[vary]} = {format_log(crossing.log_value, 4)}, "
        f"{NAMES[crossing.second]} above; there ε = {format_log(crossing.log_epsilon, 4)}"
    )


def _words(setting: PrivateSamplingSetting, vary: Varied, found: Sequence[Crossing]) -> str:
    if not setting.is_valid:
        return f"No certificate: {why_not(setting, 'bounded_ratio')}."
    best: Certificate = smallest(setting)
    cost = log_epsilon(setting, best)
    if cost == -math.inf:
        return "ε = 0: at this end of the box only the uniform density fits, and the output ignores the data."
    proven = [c for c in found if c.first in PROVEN and c.second in PROVEN]
    where = f" Where they cross: {_crossing_text(vary, proven[0])}." if proven else " The two proven ones do not cross here."
    if vary == "rows":
        where = " As k multiplies all of them, so they never cross."
    claim = format_log(cost, 3, "at_least")
    return f"The grey band is the smaller of the two proven: here ε = {claim} {by_name(best)}." + where


def _here(setting: PrivateSamplingSetting, log_value: float, text: str) -> Here:
    cost = log_epsilon(setting, smallest(setting))
    return Here(log_value / LN10, cost / LN10 if math.isfinite(cost) else None, text)


def floor_tradeoff_info(setting: PrivateSamplingSetting) -> Lines:
    """The smaller ε of k rows and the error 4·floor that Theorem 4.2 promises, against floor."""
    window, now, best = floor_window(setting), math.log10(setting.floor), smallest(setting)
    end = math.log10(window.end) if window.end > 0 else None
    left = min(_LOWEST_FLOOR, now - 0.2, now if end is None else end - 0.3)
    lines = () if end is None else _privacy_and_error(replace(setting, epsilon=1.0), left, end)
    here = log_epsilon(setting, best)
    claim = f"ε = {format_log(here, 4, 'at_least')} {by_name(best)}" if here < math.inf else "no certificate"
    text = f"floor = {short(setting.floor)}: {claim}; promised error {short(4 * setting.floor, 4)}"
    asked, nothing = _asked(setting), (0.0, "error 1: not informative")
    together = [(0.0, f"{asked[1]}; {nothing[1]}")]
    valid, written = (window.end, short(window.end, 4)) if 0 < window.end < 0.5 else (0.5, "1/2")
    ends = (left, max(now, math.log10(0.5)) + 0.04)
    ticks = [math.log10(t) for t in (1e-6, 1e-5, 1e-4, 0.001, 0.005, 0.02, 0.1, 0.25, 0.5)]
    return Lines(
        title="What floor buys and costs",
        subtitle=window.words(round(math.exp(setting.log_rows)), setting.epsilon),
        x_title=AXES["floor"],
        y_title="ε, and error",
        hover=("line", "floor", "value"),
        lines=lines or (Line(PRIVACY, (), ()), Line(ERROR, (), ())),
        here=_here(setting, setting.logs.floor, text),
        x_domain=ends,
        rules=together if abs(asked[0]) < 1e-9 else [asked, nothing],
        limits=[(math.log10(0.25), "promise: < 1/4"), (math.log10(valid), f"valid: ≤ {written}")],
        bands=_bands(window, left, ends[1] if end is None else end),
        ticks={"values": [t for t in ticks if t >= left - 1e-9], "labelOverlap": False},
    )


@lru_cache(maxsize=256)
def _privacy_and_error(setting: PrivateSamplingSetting, left: float, end: float) -> tuple[Line, Line]:
    """What the rows cost and the promised error against floor, whatever ε is asked for."""
    points = []
    for i in range(_POINTS_OF_FLOOR + 1):
        x = left + i * (end - 1e-9 - left) / _POINTS_OF_FLOOR
        there = setting.changed("floor", x * LN10)
        cheaper = smallest(there)
        points.append((x, log_epsilon(there, cheaper) / LN10, NAMES[cheaper]))
    floors, costs, by = zip(*(q for q in points if math.isfinite(q[1])), strict=True)
    errors = tuple(x + math.log10(4) for x in floors)
    return Line(PRIVACY, floors, costs, by), Line(ERROR, floors, errors, ("Theorem 4.2",) * len(floors))


def _bands(window: FloorWindow, left: float, right: float) -> list[tuple[float, float, str, str]]:
    found = [
        (window.private_from, window.end, ORANGE, "private"),
        (window.accurate_from, window.accurate_below, SKY, "accurate"),
    ]
    if window.both is not None:
        found = [(*window.both, GREEN, "private and accurate")]
    bands = []
    for low, high, colour, text in found:
        if low is not None:
            start, stop = max(left, math.log10(low) if low > 0 else left), min(right, math.log10(high))
            bands += [(start, stop, colour, text)] if start < stop else []
    return bands
