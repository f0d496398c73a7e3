"""The order of mixture: the noise that it needs, what is left of the signal, and what a classifier makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.figures import _layers
from dpsyn.figures.mixing.records import Records
from dpsyn.figures.theme import BLUE, GREEN, GUIDE, HERE, ORANGE, log_axis
from dpsyn.theory.logarithms import format_log
from dpsyn.theory.mixing_noise import MixingFacts, sigma_for

ORDERS = tuple(2**i for i in range(10))
BETWEEN, WITHIN = "between classes: class means", "inside a class: variety"


@dataclass(frozen=True)
class OrderPoint:
    """At one l: σ, and squared lengths of what is between and inside classes over the noise's dσ²."""

    order_of_mixture: int
    sigma: float
    between: float
    within: float

    @property
    def total(self) -> float:
        """Signal-to-noise ratio of a row."""
        return self.between + self.within


@dataclass(frozen=True)
class OrderInfo:
    """Signal-to-noise against l.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        points: by ascending l.
        best: the l at which the variety inside classes stands out most from the noise; it needs public numbers only, as it
            does not depend on how varied the records are.
        here: the l in use.
    """

    title: str
    subtitle: str
    points: tuple[OrderPoint, ...]
    best: int | None
    here: int


def order_info(
    records: Records,
    facts: MixingFacts,
    *,
    epsilon: float,
    here: int,
    orders: Sequence[int] = ORDERS,
) -> OrderInfo:
    """Signal and noise of a row at (ε, δ) for several l, by the exact accountant.

    A row is a class mean, plus a deviation with variance V_k(N_k - l)/(l(N_k - 1)), plus noise with variance dσ(l)².

    Args:
        records: the private records.
        facts: public sizes; l runs up to its smallest class.
        epsilon: ε.
        here: the l in use.
        orders: the l to try.
    """
    points = []
    for order in sorted({*orders, here}):
        sigma = sigma_for(facts, "exact", order, epsilon)
        if sigma is None or not records.dimension:
            continue
        found = records.signal(order, min(facts.clip_norm, 1.0))
        noise = records.dimension * sigma**2
        points.append(OrderPoint(order, sigma, found.between / noise, found.within / noise))
    regular = [point for point in points if point.order_of_mixture in orders]
    detailed = [point for point in regular if point.within > 0]
    return OrderInfo(
        title="Signal over noise against l",
        subtitle=f"Squared lengths at ε = {epsilon:g}, δ = {facts.delta:g}; noise has dσ², d = {records.dimension:,}",
        points=tuple(points),
        best=max(detailed, key=lambda point: point.within).order_of_mixture if detailed else None,
        here=here,
    )


def draw_order(info: OrderInfo) -> Any:
    """An Altair chart of :class:`OrderInfo` on logarithmic axes, the best l and the l in use marked."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "x": math.log2(point.order_of_mixture),
            "y": math.log10(value),
            "series": name,
            "l": point.order_of_mixture,
            "sigma": f"{point.sigma:.3g}",
            "ratio": f"{value:.3g}",
        }
        for point in info.points
        for name, value in ((BETWEEN, point.between), (WITHIN, point.within))
        if value > 0
    ]
    labels = [BETWEEN, WITHIN]
    table = pd.DataFrame(rows, columns=["x", "y", "series", "l", "sigma", "ratio"])
    heights = [row["y"] for row in rows] or [0.0]
    y_domain = _layers.domain_of([*heights, 0.0])
    x_domain = _layers.domain_of([math.log2(point.order_of_mixture) for point in info.points] or [0.0, 1.0])
    x = alt.X("x:Q", axis=order_axis(), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=log_axis("signal over noise"), scale=_layers.scale(y_domain))
    base = alt.Chart(table).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("series:N", title="signal"),
            alt.Tooltip("l:Q"),
            alt.Tooltip("sigma:N", title="σ"),
            alt.Tooltip("ratio:N", title="signal over noise"),
        ],
    )
    layers = [
        alt.Chart(pd.DataFrame([{"y": 0.0}])).mark_rule(color=GUIDE, strokeDash=[2, 4]).encode(y=alt.Y("y:Q")),
        base.mark_line(strokeWidth=2).encode(**_layers.line_channels(labels)),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            color=alt.Color("series:N", sort=None, scale=alt.Scale(domain=labels, range=[BLUE, GREEN]), legend=None)
        ),
    ]
    best = next((point for point in info.points if point.order_of_mixture == info.best), None)
    if best is not None:
        at = math.log2(best.order_of_mixture), math.log10(best.within)
        spot = pd.DataFrame([{"x": at[0], "y": at[1], "text": f"best l = {best.order_of_mixture}"}])
        mark = alt.Chart(spot).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
        layers += [
            mark.mark_point(shape="circle", size=170, color=ORANGE, strokeWidth=3, filled=False, opacity=1),
            mark.mark_text(color=ORANGE, dy=18, fontWeight="bold").encode(text=alt.Text("text:N")),
        ]
    now = next((point for point in info.points if point.order_of_mixture == info.here and point.total > 0), None)
    if now is not None:
        spot = pd.DataFrame([{"x": math.log2(now.order_of_mixture)}])
        layers.append(alt.Chart(spot).mark_rule(color=HERE, strokeDash=[4, 3]).encode(x=alt.X("x:Q")))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels)


def order_axis() -> Any:
    """An axis that carries log2 of l and shows l."""
    import altair as alt

    return alt.Axis(title="order of mixture l", labelExpr="format(pow(2, datum.value), ',.0f')", tickMinStep=1, tickCount=9)


@dataclass(frozen=True)
class AccuracyLine:
    """Mean and spread of the accuracy against l at one ε; None is no noise. ``spread`` is the standard deviation."""

    epsilon: float | None
    orders: tuple[int, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]

    @property
    def label(self) -> str:
        """For the legend."""
        return "no noise (ε = ∞)" if self.epsilon is None else f"ε = {self.epsilon:g}"


@dataclass(frozen=True)
class AccuracyInfo:
    """Accuracy of a classifier trained on released rows, against l (Figure 2 and Table 2 of the paper).

    Attributes:
        title, subtitle: what is shown, what is fixed.
        lines: one for each ε.
        ceiling: accuracy of the same classifier trained on the real rows.
        floor: accuracy of always saying the most frequent class.
    """

    title: str
    subtitle: str
    lines: tuple[AccuracyLine, ...]
    ceiling: float | None
    floor: float


def draw_accuracy(info: AccuracyInfo) -> Any:
    """An Altair chart of :class:`AccuracyInfo`: lines with bars of one standard deviation, rules for ceiling and floor."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "x": math.log2(order),
            "l": order,
            "y": mean,
            "low": max(0.0, mean - spread),
            "high": min(1.0, mean + spread),
            "series": line.label,
            "shown": f"{100 * mean:.1f} ± {100 * spread:.1f} %",
        }
        for line in info.lines
        for order, mean, spread in zip(line.orders, line.mean, line.spread, strict=True)
    ]
    labels = [line.label for line in info.lines]
    table = pd.DataFrame(rows, columns=["x", "l", "y", "low", "high", "series", "shown"])
    marks = [(info.floor, f"most frequent class, {100 * info.floor:.1f} %")]
    if info.ceiling is not None:
        marks.append((info.ceiling, f"trained on real rows, {100 * info.ceiling:.1f} %"))
    heights = [*(row["low"] for row in rows), *(row["high"] for row in rows), *(mark for mark, _ in marks)]
    y_domain = (max(0.0, min(heights) - 0.05), min(1.05, max(heights) + 0.06))
    x_domain = _layers.domain_of([row["x"] for row in rows] or [0.0, 1.0])
    x = alt.X("x:Q", axis=order_axis(), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=alt.Axis(title="accuracy on held-out rows", format=".0%"), scale=_layers.scale(y_domain))
    base = alt.Chart(table).encode(
        x=x,
        tooltip=[alt.Tooltip("series:N", title=" "), alt.Tooltip("l:Q"), alt.Tooltip("shown:N", title="accuracy")],
    )
    channels = _layers.line_channels(labels)
    layers = [
        *_layers.rules(marks, y_domain, title="beside it"),
        base.mark_rule(size=1.5, opacity=0.6).encode(
            y=alt.Y("low:Q", scale=_layers.scale(y_domain)), y2=alt.Y2("high:Q"), color=channels["color"]
        ),
        base.mark_line(strokeWidth=2).encode(y=y, **channels),
        base.mark_point(filled=True, size=50, opacity=1).encode(y=y, color=channels["color"]),
    ]
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, plot=320)


def best_line(info: AccuracyInfo) -> str:
    """Where each line has its top, in a sentence."""
    said = []
    for line in info.lines:
        if line.mean:
            at = max(range(len(line.mean)), key=line.mean.__getitem__)
            spread = format_log(math.log(line.spread[at]), 2) if line.spread[at] > 0 else "0"
            said.append(f"{line.label}: {100 * line.mean[at]:.1f} % at l = {line.orders[at]} (± {spread})")
    return "Best l by this measure. " + "; ".join(said) + "." if said else ""
