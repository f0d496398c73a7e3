"""The order of mixture: the noise that it needs, and what is left of the signal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy.interpolate import PchipInterpolator

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, DASHES, GREEN, GUIDE, ORANGE, PURPLE, log_axis
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant
from dpsyn.mechanisms.dp_cda.figures.accounting import ROUGH, Sizes, needed_sigma
from dpsyn.mechanisms.dp_cda.figures.noise import COLOURS, NAMES
from dpsyn.mechanisms.dp_cda.figures.records import Records
from dpsyn.notation import short

ORDERS = tuple(2**i for i in range(10))
BETWEEN, WITHIN, PLANNED = "between class means", "variety inside a class", "most that variety can be (public)"


@dataclass(frozen=True)
class OrderPoint:
    """At one l: σ by the exact accountant and the published one, and squared lengths of the signal over the noise's dσ².

    The signal is what differs between classes, and what varies inside them; ``planned`` bounds the latter by public numbers
    (:func:`plan_order_of_mixture`). The published σ is found for every other l.
    """

    order_of_mixture: int
    sigma: float
    published: float | None
    between: float
    within: float
    planned: float

    @property
    def total(self) -> float:
        """Signal-to-noise ratio of a row."""
        return self.between + self.within


@dataclass(frozen=True)
class OrderInfo:
    """Noise and signal against l.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        points: by ascending l.
        best: the l at which ``planned`` is largest.
        here: the l in use.
        epsilon: ε.
    """

    title: str
    subtitle: str
    points: tuple[OrderPoint, ...]
    best: int | None
    here: int
    epsilon: float


def order_info(records: Records, sizes: Sizes, *, epsilon: float, here: int, orders: Sequence[int] = ORDERS) -> OrderInfo:
    """Signal and noise of a row at (ε, δ) for several l, by the exact accountant; the published σ beside it.

    A row is a class mean, plus a deviation (:class:`Signal`), plus noise of squared length
    dσ(l)². Everything but the height of the curves follows from public numbers.

    Args:
        records: the private records.
        sizes: of the classes that are mixed, those with ``here`` records or more; l runs up to the smallest.
        epsilon: ε.
        here: the l in use.
        orders: the l to try.
    """
    points = []
    kept = records.mixable(here)
    possible = sorted(order for order in {*orders, here} if order <= sizes.smallest and records.dimension)
    known = sorted({*possible[::2], *possible[-1:], *({here} & set(possible))})
    for order, sigma in zip(possible, _exact_sigmas(sizes, possible, known, epsilon), strict=True):
        found = records.signal(order, min(sizes.clip, 1.0), kept, sizes.variant)
        noise = records.dimension * sigma**2
        published = needed_sigma(sizes, "published", order, epsilon, ROUGH) if order in known else None
        most = sizes.smallest if sizes.variant == "poisson" else max(sizes.smallest - 1, 1)
        left = (sizes.smallest - order) / most
        planned = min(sizes.clip, 1.0) ** 2 / order * left / noise
        points.append(OrderPoint(order, sigma, published, found.between / noise, found.within / noise, planned))
    regular = [point for point in points if point.order_of_mixture in orders and point.planned > 0]
    return OrderInfo(
        title="Signal over noise against l",
        subtitle=f"Squared lengths at ε = {short(epsilon)}, δ = {short(sizes.delta)}; noise has dσ², "
        f"d = {records.dimension:,}",
        points=tuple(points),
        best=max(regular, key=lambda point: point.planned).order_of_mixture if regular else None,
        here=here,
        epsilon=epsilon,
    )


def _exact_sigmas(sizes: Sizes, orders: Sequence[int], known: Sequence[int], epsilon: float) -> list[float]:
    """σ by the exact accountant at the ``known`` l, and between them from a smooth curve through ln(σl)."""
    if not orders:
        return []
    products = [math.log((needed_sigma(sizes, "exact", order, epsilon, ROUGH) or 1e-300) * order) for order in known]
    if len(known) == 1:
        return [math.exp(products[0]) / known[0]] * len(orders)
    smooth = PchipInterpolator([math.log(order) for order in known], products)
    return [math.exp(float(smooth(math.log(order)))) / order for order in orders]


def draw_needed(info: OrderInfo) -> Any:
    """An Altair chart of σ against l by both accountants on logarithmic axes, the l in use marked."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "x": math.log2(point.order_of_mixture),
            "y": math.log10(sigma),
            "accountant": NAMES[name],  # type: ignore[index]
            "l": point.order_of_mixture,
            "sigma": short(sigma, 3),
        }
        for point in info.points
        for name, sigma in (("exact", point.sigma), ("published", point.published))
        if sigma
    ]
    names: list[Accountant] = ["exact", "published"]
    labels = [NAMES[name] for name in names if any(row["accountant"] == NAMES[name] for row in rows)]
    shown = [name for name in names if NAMES[name] in labels]
    table = pd.DataFrame(rows, columns=["x", "y", "accountant", "l", "sigma"])
    x_domain = _layers.domain_of([row["x"] for row in rows] or [0.0, 1.0])
    y_domain = _layers.domain_of([row["y"] for row in rows] or [0.0])
    colours = alt.Scale(domain=labels, range=[COLOURS[name] for name in shown])
    channels = {
        "color": alt.Color(
            "accountant:N",
            title=None,
            sort=None,
            scale=colours,
            legend=_layers.legend(labels),
        ),
        "strokeDash": alt.StrokeDash(
            "accountant:N",
            title=None,
            sort=None,
            scale=alt.Scale(domain=labels, range=[DASHES[names.index(name)] for name in shown]),
            legend=_layers.legend(labels),
        ),
    }
    y_axis = log_axis("noise σ that is needed", **({"tickMinStep": 0.01} | _layers.fine_ticks(y_domain)))
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", axis=order_axis(), scale=_layers.scale(x_domain)),
        y=alt.Y("y:Q", axis=y_axis, scale=_layers.scale(y_domain)),
        tooltip=[
            alt.Tooltip("accountant:N", title="accountant"),
            alt.Tooltip("l:Q"),
            alt.Tooltip("sigma:N", title="σ"),
        ],
    )
    layers = [
        base.mark_line(strokeWidth=2).encode(**channels),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            color=alt.Color("accountant:N", sort=None, scale=colours, legend=None)
        ),
        *_here(info),
    ]
    title = f"Noise needed for ε = {short(info.epsilon)}"
    return _layers.finish(alt.layer(*layers), title, "Dashed: the l in use", legend_labels=labels)


def _here(info: OrderInfo) -> list[Any]:
    """A dashed line at the l in use."""
    import altair as alt

    if all(point.order_of_mixture != info.here for point in info.points):
        return []
    spot = pd.DataFrame([{"x": math.log2(info.here)}])
    return [alt.Chart(spot).mark_rule(color=GUIDE, strokeDash=[4, 3]).encode(x=alt.X("x:Q"))]


def draw_order(info: OrderInfo) -> Any:
    """An Altair chart of :class:`OrderInfo` on logarithmic axes, the best l and the l in use marked."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "x": math.log2(point.order_of_mixture),
            "y": math.log10(value),
            "series": name,
            "l": point.order_of_mixture,
            "sigma": short(point.sigma, 3),
            "ratio": short(value, 3),
        }
        for point in info.points
        for name, value in ((BETWEEN, point.between), (WITHIN, point.within), (PLANNED, point.planned))
        if value > 0
    ]
    labels = [BETWEEN, WITHIN, PLANNED]
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
            color=alt.Color("series:N", sort=None, scale=alt.Scale(domain=labels, range=[BLUE, GREEN, PURPLE]), legend=None)
        ),
    ]
    best = next((point for point in info.points if point.order_of_mixture == info.best), None)
    if best is not None:
        at = math.log2(best.order_of_mixture), math.log10(best.planned)
        spot = pd.DataFrame([{"x": at[0], "y": at[1], "text": f"best l = {best.order_of_mixture}"}])
        mark = alt.Chart(spot).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
        layers += [
            mark.mark_point(shape="circle", size=170, color=ORANGE, strokeWidth=3, filled=False, opacity=1),
            mark.mark_text(color=ORANGE, dy=-16, fontWeight="bold").encode(text=alt.Text("text:N")),
        ]
    layers += _here(info)
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels)


def order_axis() -> Any:
    """An axis that carries log2 of l and shows l."""
    import altair as alt

    return alt.Axis(title="order of mixture l", labelExpr="format(pow(2, datum.value), ',.0f')", tickMinStep=1, tickCount=9)
