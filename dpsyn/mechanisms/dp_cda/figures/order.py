"""The order of mixture: what is left of the signal beside the noise that it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, DASHES, GREEN, GUIDE, ORANGE, PURPLE, WORD, log_axis
from dpsyn.mechanisms.dp_cda.accounting.plan import PlannedOrder, plan_order_of_mixture
from dpsyn.mechanisms.dp_cda.accounting.quick import ROUGH, Sizes
from dpsyn.mechanisms.dp_cda.figures.noise import above
from dpsyn.mechanisms.dp_cda.inside import Inside
from dpsyn.notation import short

ORDERS = tuple(2**i for i in range(10))
BETWEEN, WITHIN, PLANNED = "between class means", "variety inside a class", "most that variety can be (public)"


@dataclass(frozen=True)
class OrderPoint:
    """At one l: what was planned from public numbers, and squared lengths of the signal over dσ².

    The signal is what differs between classes, and what varies inside them; the plan bounds the latter.
    """

    plan: PlannedOrder
    between: float
    within: float

    @property
    def order_of_mixture(self) -> int:
        """l."""
        return self.plan.order_of_mixture


def order_points(inside: Inside, orders: Sequence[int] = ORDERS) -> tuple[OrderPoint, ...]:
    """Signal and noise of a row at (ε, δ), for the orders up to the smallest class that is mixed at the l in use.

    A row is a class mean, plus a deviation (:class:`Signal`), plus noise of squared length dσ(l)². Everything but the height
    of the curves follows from public numbers.
    """
    sizes, dimension = inside.sizes, inside.records.dimension
    possible = sorted({*orders, inside.order_of_mixture})
    possible = [order for order in possible if dimension and sizes.counts and order <= sizes.smallest]
    points = []
    for plan in _planned(sizes, dimension, inside.epsilon, tuple(possible)):
        order = plan.order_of_mixture
        found, noise = inside.signal(order), dimension * plan.noise_scale**2
        points.append(OrderPoint(plan, found.between / noise, found.within / noise))
    return tuple(points)


def best_order(points: Sequence[OrderPoint]) -> int | None:
    """The one of :data:`ORDERS` with the most variety inside a class left, as planned."""
    regular = [p for p in points if p.order_of_mixture in ORDERS and p.plan.signal_to_noise > 0]
    return max(regular, key=lambda p: p.plan.signal_to_noise).order_of_mixture if regular else None


@lru_cache(maxsize=64)
def _planned(sizes: Sizes, dimension: int, epsilon: float, orders: tuple[int, ...]) -> tuple[PlannedOrder, ...]:
    if not orders:
        return ()
    return plan_order_of_mixture(epsilon, dimension=dimension, orders=orders, tolerance=ROUGH, **sizes.known).orders


def draw_order(points: Sequence[OrderPoint], inside: Inside, *, used: bool = True) -> Any:
    """An Altair chart of signal over noise against l on logarithmic axes, a colour and a dash for each part of the signal;
    the best l is marked and, if one is ``used``, that of ``inside``."""
    rows: list[dict[str, Any]] = [
        {
            "x": math.log2(point.order_of_mixture),
            "y": math.log10(value),
            "series": name,
            "l": point.order_of_mixture,
            "sigma": above(point.plan.noise_scale, 3),
            "ratio": short(value, 3),
        }
        for point in points
        for name, value in ((BETWEEN, point.between), (WITHIN, point.within), (PLANNED, point.plan.signal_to_noise))
        if value > 0
    ]
    tooltip = {"series": "signal", "l": "l", "sigma": "σ", "ratio": "signal over noise"}
    table = pd.DataFrame(rows, columns=["x", "y", *tooltip])
    labels = [BETWEEN, WITHIN, PLANNED]
    y_domain = _layers.domain_of([*table["y"], 0.0])
    order_axis = alt.Axis(
        title="order of mixture l", labelExpr="format(pow(2, datum.value), ',.0f')", tickMinStep=1, tickCount=9
    )
    colours = [BLUE, GREEN, PURPLE]
    y_axis = log_axis("signal over noise", **({"tickMinStep": 0.01} | _layers.fine_ticks(y_domain)))
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", axis=order_axis, scale=_layers.scale(_layers.domain_of(table["x"].tolist() or [0.0, 1.0]))),
        y=alt.Y("y:Q", axis=y_axis, scale=_layers.scale(y_domain)),
        tooltip=[alt.Tooltip(f"{name}:{'Q' if name == 'l' else 'N'}", title=said) for name, said in tooltip.items()],
    )
    level = alt.Chart(pd.DataFrame([{"y": 0.0, "text": "1: signal = noise"}])).encode(y=alt.Y("y:Q"))
    layers = [
        level.mark_rule(color=GUIDE, strokeDash=[2, 4]),
        level.mark_text(color=WORD, align="left", x=0, dx=4, dy=-8).encode(text=alt.Text("text:N")),
        base.mark_line(strokeWidth=2).encode(**_layers.channels(labels, color=colours, strokeDash=DASHES[: len(labels)])),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            color=alt.Color("series:N", sort=None, scale=alt.Scale(domain=labels, range=colours), legend=None)
        ),
    ]
    best = next((point for point in points if point.order_of_mixture == best_order(points)), None)
    if best is not None:
        at = math.log2(best.order_of_mixture), math.log10(best.plan.signal_to_noise)
        spot = pd.DataFrame([{"x": at[0], "y": at[1], "text": f"most variety: l = {best.order_of_mixture}"}])
        mark = alt.Chart(spot).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
        layers += [
            mark.mark_point(shape="circle", size=170, color=ORANGE, strokeWidth=3, filled=False, opacity=1),
            mark.mark_text(color=ORANGE, dy=-16, fontWeight="bold").encode(text=alt.Text("text:N")),
        ]
    if used and inside.order_of_mixture in set(table["l"]):
        spot = pd.DataFrame([{"x": math.log2(inside.order_of_mixture), "text": f"your l = {inside.order_of_mixture}"}])
        mine = alt.Chart(spot).encode(x=alt.X("x:Q"))
        layers.append(mine.mark_rule(color=GUIDE, strokeDash=[4, 3]))
        layers.append(mine.mark_text(color=WORD, align="left", dx=4, y="height", dy=-8).encode(text=alt.Text("text:N")))
    subtitle = (
        f"Squared lengths at ε = {short(inside.epsilon)}, δ = {short(inside.delta)}; noise has dσ², "
        f"d = {inside.records.dimension:,}"
    )
    return _layers.finish(alt.layer(*layers), "Signal over noise against l", subtitle, legend_labels=labels)
