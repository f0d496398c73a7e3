"""The trade-off in floor as a picture: the certified ε falls with it, the promised error grows. All heights are log10."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Unpack

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, ORANGE, SKY, log_axis
from dpsyn.mechanisms.private_sampling.answers import NAMES, log_epsilon, smallest
from dpsyn.mechanisms.private_sampling.bounds import ACCURACY, SHORT_NAMES
from dpsyn.mechanisms.private_sampling.figures import DASHED, SOLID, channels, tips
from dpsyn.mechanisms.private_sampling.setting import Bounds, PrivateSamplingSetting, sampling_setting
from dpsyn.mechanisms.private_sampling.theorems import privacy_condition
from dpsyn.notation import short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log

_POINTS = 100
_LOWEST = -3.0
PRIVACY, ERROR = "certified ε of the rows", "promised error, 4·floor"


@dataclass(frozen=True)
class FloorWindow:
    """Where floor may lie, all other parameters fixed: privacy wants it large, the promised error 4·floor wants it small.

    Attributes:
        end: min(1/2, ceiling - 1), the largest floor that the algorithm accepts; there the output ignores the data. At
            most 0 where no floor is accepted.
        private_from: smallest floor below ``end`` at which the certified ε is at most the one asked for, or None.
        accurate_from: smallest floor at which all conditions of Theorem 4.2 hold, or None.
        accurate_below: 1/4, below which the promised error is less than 1.
        blocked_by: keys of the accuracy conditions that no floor makes true.
    """

    end: float
    private_from: float | None
    accurate_from: float | None
    accurate_below: float
    blocked_by: tuple[str, ...]

    @property
    def both(self) -> tuple[float, float] | None:
        """The interval in which a run is private and its accuracy promised; its upper end does not belong to it."""
        if self.private_from is None or self.accurate_from is None:
            return None
        low, high = max(self.private_from, self.accurate_from), min(self.end, self.accurate_below)
        return (low, high) if low < high else None


def floor_window(setting: PrivateSamplingSetting) -> FloorWindow:
    """The intervals of floor for privacy, for accuracy and for both; the setting's own floor does not matter."""
    end = min(0.5, setting.ceiling - 1)
    if end <= 0:
        return FloorWindow(end, None, None, 0.25, ("box",))
    inside = replace(setting, floor=min(0.2, end / 2))
    found = privacy_condition(inside).remedy("floor")
    private = None if found is None or found.log_value is None or found.caveat else math.exp(found.log_value)
    blocked, lower = [], 0.0
    for condition in (bound.condition(inside) for bound in ACCURACY if bound.key != "promise"):
        found = condition.remedy("floor")
        if found is not None and found.log_value is not None:
            lower = max(lower, math.exp(found.log_value))
        elif found is not None or not condition.holds:
            blocked.append(condition.key)
    accurate = None if blocked or lower >= min(end, 0.25) else lower
    if not blocked and accurate is None:
        blocked.append("promise")
    return FloorWindow(end, private, accurate, min(0.25, end), tuple(blocked))


@dataclass(frozen=True)
class FloorPoint:
    """One floor: log10 of floor, of the certified ε and of 4·floor, and which certificate is the smaller."""

    log10_floor: float
    log10_epsilon: float
    log10_error: float
    certificate: str


@dataclass(frozen=True)
class FloorTradeoffInfo:
    """The trade-off.

    Attributes:
        title, subtitle: what is shown; the window, or why there is none.
        points: the two lines.
        window: where floor may lie.
        asked: log10 of ε.
        here: log10 of the present floor and of its certified ε (None where it is 0 or none is certified).
        here_text: its numbers.
        x_domain: log10 of floor.
    """

    title: str
    subtitle: str
    points: tuple[FloorPoint, ...]
    window: FloorWindow
    asked: float
    here: tuple[float, float | None]
    here_text: str
    x_domain: tuple[float, float]


def floor_tradeoff_info(stats: DatasetStatistics, spec: PrivacySpec, **bounds: Unpack[Bounds]) -> FloorTradeoffInfo:
    """Certified ε of k rows and the error 4·floor that Theorem 4.2 promises, against floor."""
    setting = sampling_setting(stats, spec, **bounds)
    floor, rows = setting.floor, round(math.exp(setting.log_rows))
    window = floor_window(setting)
    now = math.log10(floor)
    left = min(_LOWEST, now - 0.2, math.log10(window.end) - 0.3 if window.end > 0 else now)
    points = tuple(_point(setting, x) for x in _grid(left, window.end))
    best = smallest(setting)
    cost = log_epsilon(setting, best)
    claim = format_log(cost, 4, "at_least") if cost < math.inf else "none certified"
    return FloorTradeoffInfo(
        title="What floor buys and costs",
        subtitle=_words(window, rows, spec.epsilon),
        points=points,
        window=window,
        asked=math.log10(spec.epsilon),
        here=(now, cost / LN10 if math.isfinite(cost) else None),
        here_text=f"floor = {short(floor)}: ε = {claim} by {NAMES[best]}, promised error {short(4 * floor, 4)}",
        x_domain=(left, max(now, math.log10(0.5)) + 0.04),
    )


def _grid(left: float, end: float) -> list[float]:
    if end <= 0:
        return []
    right = math.log10(end) - 1e-9
    return [left + i * (right - left) / _POINTS for i in range(_POINTS + 1)]


def _point(setting: PrivateSamplingSetting, x: float) -> FloorPoint:
    there = setting.changed("floor", x * LN10)
    best = smallest(there)
    return FloorPoint(x, log_epsilon(there, best) / LN10, x + math.log10(4), NAMES[best])


def _words(window: FloorWindow, rows: int, epsilon: float) -> str:
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
    limits = [{"x": math.log10(0.25), "text": "promise: < 1/4"}]
    if 0 < info.window.end < 0.5:
        limits.append({"x": math.log10(info.window.end), "text": f"valid: ≤ {short(info.window.end, 4)}"})
    else:
        limits.append({"x": math.log10(0.5), "text": "valid: ≤ 1/2"})
    limit = alt.Chart(pd.DataFrame(limits)).encode(x=x, tooltip=alt.Tooltip("text:N", title="limit"))
    layers.append(limit.mark_rule(color=GUIDE, strokeWidth=2))
    sideways = limit.mark_text(color=GUIDE, angle=270, align="left", baseline="bottom", y="height", dx=5, dy=-2)
    layers.append(sideways.encode(text=alt.Text("text:N")))
    asked = f"ε = {short(10**info.asked)} asked for"
    nothing = "error 1: says nothing"
    words = [(0.0, f"{asked}; {nothing}")] if abs(info.asked) < 1e-9 else [(info.asked, asked), (0.0, nothing)]
    layers += [*_layers.rules(words, y_domain, labels_left=True), lines]
    if info.here[1] is not None:
        layers.append(_layers.here("you are here", info.here[0], info.here[1], info.here_text, info.x_domain, y_domain))
    # Each layer brings scales of its own for colours; merged, the bands' literal colours would enter the legend.
    chart = alt.layer(*layers).resolve_scale(color="independent", strokeDash="independent")
    return _layers.finish(chart, info.title, info.subtitle, legend_labels=labels, line_length=_layers.WIDE_LINE)
