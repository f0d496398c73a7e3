"""What the privacy of k rows costs by each certificate as one parameter varies, and the trade-off in floor.

Privacy wants floor large, the promised error 4·floor wants it small. All coordinates are log10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, HERE, ORANGE, PURPLE, SKY, log_axis
from dpsyn.mechanisms.private_sampling.answers import (
    CERTIFICATES,
    NAMES,
    PROVEN,
    Certificate,
    Crossing,
    FloorWindow,
    Varied,
    crossings,
    floor_window,
    log_epsilon,
    smallest,
)
from dpsyn.mechanisms.private_sampling.bounds import SHORT_NAMES
from dpsyn.mechanisms.private_sampling.figures import DASHED, DOTTED, SOLID, channels, tips
from dpsyn.mechanisms.private_sampling.setting import Bounds, PrivateSamplingSetting, sampling_setting
from dpsyn.notation import short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log

_POINTS = 80
_FURTHEST = 40.0
_SYMBOLS = {"n": "n", "rows": "k", "floor": "floor", "ceiling": "ceiling", "reduced_space_size": "m"}
AXES: dict[Varied, str] = {
    "n": "rows of data n",
    "rows": "synthetic rows k",
    "floor": "floor (the papers' δ)",
    "ceiling": "ceiling (the papers' Δ)",
    "reduced_space_size": "size m of the reduced space",
}
_STYLE: dict[Certificate, tuple[str, list[int]]] = {
    "theorem_4_1": (BLUE, SOLID),
    "bounded_ratio": (ORANGE, SOLID),
    "stability": (PURPLE, DOTTED),
}


class CertificateLine(NamedTuple):
    """ε for k rows by one certificate: log10 against log10 of the parameter."""

    certificate: Certificate
    x: tuple[float, ...]
    log10_epsilon: tuple[float, ...]


class Here(NamedTuple):
    """Where the sliders stand: log10 of the parameter and of the certified ε, which is None where it is 0 or none."""

    x: float
    y: float | None
    text: str


@dataclass(frozen=True)
class CertificatesInfo:
    """Three certificates against one parameter.

    Attributes:
        title, subtitle: what is shown; which is the smallest here, in words.
        vary: the parameter on the axis.
        lines: one for each certificate that applies somewhere on the axis.
        crossings: exact values, in order; some may lie outside the picture.
        here: the present value, and the smaller of the proven certificates there.
        asked: log10 of the ε asked for.
        x_domain: log10 ends of the axis.
    """

    title: str
    subtitle: str
    vary: Varied
    lines: tuple[CertificateLine, ...]
    crossings: tuple[Crossing, ...]
    here: Here
    asked: float
    x_domain: tuple[float, float]


def certificates_info(
    stats: DatasetStatistics, spec: PrivacySpec, *, vary: Varied = "n", **bounds: Unpack[Bounds]
) -> CertificatesInfo:
    """ε that k rows cost by Theorem 4.1, by the bounded ratio and by the experimental stability bound.

    Args:
        stats: p, n and ‖f_n‖∞ of the data.
        spec: the ε asked for, and the neighbours.
        vary: the parameter on the axis.
        bounds: as in :func:`sampling_setting`.

    Raises:
        ParameterError: ``vary`` is not one of the five, or a value with which the formulas mean nothing.
    """
    if vary not in AXES:
        raise ParameterError("vary", vary, "one of " + ", ".join(AXES))
    setting = sampling_setting(stats, spec, **bounds)
    now: float = setting.logs.m if vary == "reduced_space_size" else getattr(setting.logs, vary)
    low, high = _search_range(setting, vary)
    found = crossings(setting, vary, low, high) if high > low else ()
    ends = _axis(vary, now / LN10, low / LN10, high / LN10, [c.log_value / LN10 for c in found])
    best = smallest(setting)
    rows = "k rows" if vary == "rows" else f"{format_log(setting.log_rows)} row{'' if setting.log_rows == 0 else 's'}"
    return CertificatesInfo(
        title=f"What {rows} cost",
        subtitle=_words(setting, vary, best, found),
        vary=vary,
        lines=_lines(setting, vary, ends),
        crossings=found,
        here=_here(setting, now, f"{_SYMBOLS[vary]} = {format_log(now, 4)}; {_costs(setting)}"),
        asked=setting.logs.epsilon / LN10,
        x_domain=ends,
    )


def _search_range(setting: PrivateSamplingSetting, vary: Varied) -> tuple[float, float]:
    hair = 1e-9
    if vary == "floor":
        return math.log(1e-6), math.log(max(min(0.5, setting.ceiling - 1), 1e-6)) - hair
    if vary == "ceiling":
        return math.log(1 + setting.floor) + hair, math.log(1e6)
    return 0.0, 300 * LN10


def _axis(vary: Varied, now: float, low: float, high: float, crossing: list[float]) -> tuple[float, float]:
    if vary == "floor":
        return min(-3.0, now - 0.3), max(high, now)
    if vary == "ceiling":
        return min(low, now), max(2.0, now + 0.3, *(c + 0.2 for c in crossing if c < 4), low + 0.3)
    shown = [c for c in crossing if c <= max(_FURTHEST, now + 3)]
    top = {"n": 10.0, "rows": 4.0, "reduced_space_size": 6.0}[vary]
    return 0.0, math.ceil(max([top, now + 1, *(c + 1 for c in shown)]))


def _lines(setting: PrivateSamplingSetting, vary: Varied, ends: tuple[float, float]) -> tuple[CertificateLine, ...]:
    grid = [ends[0] + i * (ends[1] - ends[0]) / _POINTS for i in range(_POINTS + 1)]
    settings = [setting.changed(vary, x * LN10) for x in grid]
    lines = []
    for certificate in CERTIFICATES:
        costs = [(x, log_epsilon(s, certificate) / LN10) for x, s in zip(grid, settings, strict=True)]
        kept = [(x, y) for x, y in costs if math.isfinite(y)]
        if kept:
            xs, ys = zip(*kept, strict=True)
            lines.append(CertificateLine(certificate, xs, ys))
    return tuple(lines)


def _crossing_text(vary: Varied, crossing: Crossing) -> str:
    """One crossing in words."""
    return (
        f"{NAMES[crossing.first]} is smaller below {_SYMBOLS[vary]} = {format_log(crossing.log_value, 4)}, "
        f"{NAMES[crossing.second]} above; there ε = {format_log(crossing.log_epsilon, 4)}"
    )


def _words(setting: PrivateSamplingSetting, vary: Varied, best: Certificate, found: tuple[Crossing, ...]) -> str:
    if not setting.is_valid:
        return "No certificate: the box needs 2·floor ≤ 1 ≤ ceiling - floor."
    cost = log_epsilon(setting, best)
    if cost == -math.inf:
        return "ε = 0: at this end of the box only the uniform density fits, and the output ignores the data."
    proven = [c for c in found if c.first in PROVEN and c.second in PROVEN]
    where = f" Where they cross: {_crossing_text(vary, proven[0])}." if proven else " The two proven ones do not cross here."
    if vary == "rows":
        where = " As k multiplies all of them, so they never cross."
    claim = format_log(cost, 3, "at_least")
    certified = f"The grey band is the certificate, the smaller of the two proven: here {NAMES[best]}, ε = {claim}."
    return certified + where


def _here(setting: PrivateSamplingSetting, log_value: float, text: str) -> Here:
    cost = log_epsilon(setting, smallest(setting))
    return Here(log_value / LN10, cost / LN10 if math.isfinite(cost) else None, text)


def _costs(setting: PrivateSamplingSetting) -> str:
    costs = {NAMES[c]: log_epsilon(setting, c) for c in CERTIFICATES}
    known = [f"{name}: ε = {format_log(cost, 4, 'at_least')}" for name, cost in costs.items() if cost < math.inf]
    return "; ".join(known or ["no certificate"])


def draw_certificates(info: CertificatesInfo) -> Any:
    """An Altair chart of :class:`CertificatesInfo`."""
    import altair as alt

    rows = [
        {
            "series": NAMES[line.certificate],
            "x": x,
            "y": y,
            "value": format_log(x * LN10, 4),
            "cost": format_log(y * LN10, 4, "at_least"),
        }
        for line in info.lines
        for x, y in zip(line.x, line.log10_epsilon, strict=True)
    ]
    band: dict[float, float] = {}
    for line in info.lines:
        for x, y in zip(line.x, line.log10_epsilon, strict=True):
            if line.certificate in PROVEN:
                band[x] = min(y, band.get(x, math.inf))
    labels = [NAMES[line.certificate] for line in info.lines]
    heights = [y for line in info.lines for y in line.log10_epsilon]
    y_domain = _layers.domain_of([*heights, info.asked])
    x = alt.X("x:Q", axis=log_axis(AXES[info.vary], **_layers.fine_ticks(info.x_domain)), scale=_layers.scale(info.x_domain))
    y = alt.Y("y:Q", axis=log_axis("ε of the rows"), scale=_layers.scale(y_domain))
    colours, dashes = zip(*(_STYLE[line.certificate] for line in info.lines), strict=True) if info.lines else ((), ())
    lines = (
        alt.Chart(pd.DataFrame(rows, columns=["series", "x", "y", "value", "cost"]))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            **channels(labels, color=colours, strokeDash=dashes),
            tooltip=tips({"series": "certificate", "value": AXES[info.vary], "cost": "ε"}),
        )
    )
    under = alt.Chart(pd.DataFrame({"x": list(band), "y": list(band.values())})).encode(x=x, y=y)
    asked = [(info.asked, f"ε = {short(10**info.asked)} asked for")]
    rule = _layers.rules(asked, y_domain, labels_left=info.here.x > sum(info.x_domain) / 2)
    layers = [under.mark_line(color=GUIDE, strokeWidth=9, opacity=0.35, clip=True), *rule, lines]
    marks = [c for c in info.crossings if info.x_domain[0] <= c.log_value / LN10 <= info.x_domain[1]]
    if marks:
        spots = [{"x": c.log_value / LN10, "y": c.log_epsilon / LN10, "text": _crossing_text(info.vary, c)} for c in marks]
        base = alt.Chart(pd.DataFrame(spots)).encode(x=x, y=y, tooltip=tips({"text": "crossing"}))
        layers.append(base.mark_point(color=HERE, size=90, strokeWidth=2, opacity=1))
    layers += _you_are_here(info.here, info.x_domain, y_domain)
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=_layers.WIDE_LINE)


def _you_are_here(here: Here, x_domain: _layers.Domain, y_domain: _layers.Domain) -> list[Any]:
    return [] if here.y is None else [_layers.here("you are here", here.x, here.y, here.text, x_domain, y_domain)]


# --- the trade-off in floor -------------------------------------------------------------------------------------------

_LOWEST = -3.0
PRIVACY, ERROR = "certified ε of the rows", "promised error, 4·floor"


class FloorPoint(NamedTuple):
    """One floor: log10 of floor, of the certified ε and of 4·floor, and which certificate is the smaller."""

    log10_floor: float
    log10_epsilon: float
    log10_error: float
    certificate: str


@dataclass(frozen=True)
class FloorTradeoffInfo:
    """The window in words, the two lines, the window, log10 of the ε asked for, and where the sliders stand."""

    subtitle: str
    points: tuple[FloorPoint, ...]
    window: FloorWindow
    asked: float
    here: Here
    x_domain: tuple[float, float]


def floor_tradeoff_info(stats: DatasetStatistics, spec: PrivacySpec, **bounds: Unpack[Bounds]) -> FloorTradeoffInfo:
    """Certified ε of k rows and the error 4·floor that Theorem 4.2 promises, against floor."""
    setting = sampling_setting(stats, spec, **bounds)
    window, now, best = floor_window(setting), math.log10(setting.floor), smallest(setting)
    left = min(_LOWEST, now - 0.2, math.log10(window.end) - 0.3 if window.end > 0 else now)
    points: list[FloorPoint] = []
    if window.end > 0:
        right = math.log10(window.end) - 1e-9
        for x in (left + i * (right - left) / 100 for i in range(101)):
            there = setting.changed("floor", x * LN10)
            cheaper = smallest(there)
            points.append(FloorPoint(x, log_epsilon(there, cheaper) / LN10, x + math.log10(4), NAMES[cheaper]))
    cost = log_epsilon(setting, best)
    claim = format_log(cost, 4, "at_least") if cost < math.inf else "none certified"
    error = short(4 * setting.floor, 4)
    text = f"floor = {short(setting.floor)}: ε = {claim} by {NAMES[best]}, promised error {error}"
    return FloorTradeoffInfo(
        subtitle=_window_words(window, round(math.exp(setting.log_rows)), spec.epsilon),
        points=tuple(points),
        window=window,
        asked=setting.logs.epsilon / LN10,
        here=_here(setting, setting.logs.floor, text),
        x_domain=(left, max(now, math.log10(0.5)) + 0.04),
    )


def _window_words(window: FloorWindow, rows: int, epsilon: float) -> str:
    if window.end <= 0:
        return "No floor is valid: the ceiling has to be above 1."
    rest = f"valid below {short(window.end, 4)}"
    counted = "1 row" if rows == 1 else f"{rows:,} rows"
    if window.both is not None:
        low, high = window.both
        return f"Private and accurate from floor = {short(low, 4)} to {short(high, 4)} (shaded green); {rest}."
    private = (
        f"No valid floor that uses the data makes {counted} private at ε = {short(epsilon)}"
        if window.private_from is None
        else f"{counted} {'is' if rows == 1 else 'are'} private from floor = {short(window.private_from, 4)} on"
    )
    if window.accurate_from is not None:
        accurate = f"accuracy needs {short(window.accurate_from, 4)} ≤ floor < {short(window.accurate_below, 4)}"
    else:
        accurate = f"no floor makes it accurate, for lack of: {', '.join(SHORT_NAMES[key] for key in window.blocked_by)}"
    return f"{private}; {accurate}; {rest}."


def _bands(info: FloorTradeoffInfo) -> list[dict[str, Any]]:
    window = info.window
    left, right = info.x_domain[0], math.log10(window.end) if window.end > 0 else info.x_domain[1]
    bands: list[dict[str, Any]] = []

    def add(low: float, high: float, colour: str, text: str) -> None:
        start, stop = max(left, math.log10(low) if low > 0 else left), min(right, math.log10(high))
        if start < stop:
            bands.append({"low": start, "high": stop, "colour": colour, "text": text})

    if window.both is not None:
        add(*window.both, GREEN, "private and accurate")
        return bands
    if window.private_from is not None:
        add(window.private_from, window.end, ORANGE, "private")
    if window.accurate_from is not None:
        add(window.accurate_from, window.accurate_below, SKY, "accurate")
    return bands


def draw_floor_tradeoff(info: FloorTradeoffInfo) -> Any:
    """An Altair chart of :class:`FloorTradeoffInfo`."""
    import altair as alt

    finite = [q for q in info.points if math.isfinite(q.log10_epsilon)]
    heights = [(q, PRIVACY, q.log10_epsilon, q.certificate) for q in finite]
    heights += [(q, ERROR, q.log10_error, "Theorem 4.2") for q in finite]
    rows = [
        {"series": name, "x": q.log10_floor, "y": y, "floor": short(10**q.log10_floor, 4), "value": value, "by": by}
        for q, name, y, by in heights
        for value in (format_log(y * LN10, 4, "at_least"),)
    ]
    y_domain = _layers.domain_of([*(y for _, _, y, _ in heights), info.asked, 0.0])
    ticks = [math.log10(t) for t in (1e-6, 1e-5, 1e-4, 0.001, 0.005, 0.02, 0.1, 0.25, 0.5)]
    shown = [t for t in ticks if t >= info.x_domain[0] - 1e-9]
    axis = log_axis("floor (the papers' δ)", values=shown, labelOverlap=False)
    x = alt.X("x:Q", axis=axis, scale=_layers.scale(info.x_domain))
    y = alt.Y("y:Q", axis=log_axis("ε, and error"), scale=_layers.scale(y_domain))
    labels = [PRIVACY, ERROR]
    lines = (
        alt.Chart(pd.DataFrame(rows, columns=["series", "x", "y", "floor", "value", "by"]))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            **channels(labels, color=(ORANGE, BLUE), strokeDash=(SOLID, DASHED)),
            tooltip=tips({"series": "line", "floor": "floor", "value": "value", "by": "by"}),
        )
    )
    layers: list[Any] = []
    bands = _bands(info)
    if bands:
        layers.append(
            alt.Chart(pd.DataFrame(bands))
            .mark_rect(opacity=0.25)
            .encode(
                x=alt.X("low:Q", axis=axis, scale=_layers.scale(info.x_domain)),
                x2=alt.X2("high"),
                color=alt.Color("colour:N", scale=None, legend=None),
                tooltip=alt.Tooltip("text:N", title="in this band"),
            )
        )
    end, written = (info.window.end, short(info.window.end, 4)) if 0 < info.window.end < 0.5 else (0.5, "1/2")
    limits = [{"x": math.log10(0.25), "text": "promise: < 1/4"}, {"x": math.log10(end), "text": f"valid: ≤ {written}"}]
    limit = alt.Chart(pd.DataFrame(limits)).encode(x=x, tooltip=tips({"text": "limit"}))
    layers.append(limit.mark_rule(color=GUIDE, strokeWidth=2))
    sideways = limit.mark_text(color=GUIDE, angle=270, align="left", baseline="bottom", y="height", dx=5, dy=-2)
    layers.append(sideways.encode(text=alt.Text("text:N")))
    asked = f"ε = {short(10**info.asked)} asked for"
    nothing = "error 1: says nothing"
    words = [(0.0, f"{asked}; {nothing}")] if abs(info.asked) < 1e-9 else [(info.asked, asked), (0.0, nothing)]
    layers += [*_layers.rules(words, y_domain, labels_left=True), lines]
    layers += _you_are_here(info.here, info.x_domain, y_domain)
    # Each layer brings scales of its own for colours; merged, the bands' literal colours would enter the legend.
    chart = alt.layer(*layers).resolve_scale(color="independent", strokeDash="independent")
    return _layers.finish(
        chart, "What floor buys and costs", info.subtitle, legend_labels=labels, line_length=_layers.WIDE_LINE
    )
