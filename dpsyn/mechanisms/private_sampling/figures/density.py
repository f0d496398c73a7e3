"""h* against the uniform density: how much of the reduced space lies at the floor, inside the box, at the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, ORANGE
from dpsyn.mechanisms.private_sampling.figures.instance import Density, Instance
from dpsyn.notation import short

AT_FLOOR, INSIDE, AT_CEILING = "at the floor", "inside the box", "at the ceiling"
_COLOURS = {AT_FLOOR: ORANGE, INSIDE: BLUE, AT_CEILING: GREEN}
_BINS = 36
_TOUCHES = 1e-6


@dataclass(frozen=True)
class DensityInfo:
    """Histogram of m·h*, the density relative to uniform.

    Attributes:
        title, subtitle: what is shown.
        edges: of the bins, from floor to ceiling.
        shares: of the points of S by bin, those that touch an end of the box left out.
        at_floor, at_ceiling: shares of the points that touch an end.
        floor, ceiling: the box of h*.
        data_above: share of the data's rows on points where f_n is above the ceiling; None unless S is the whole domain.
        largest_data_ratio: m·max f_n; None unless S is the whole domain.
    """

    title: str
    subtitle: str
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    at_floor: float
    at_ceiling: float
    floor: float
    ceiling: float
    data_above: float | None
    largest_data_ratio: float | None


def density_info(instance: Instance, density: Density) -> DensityInfo:
    """Data of :func:`draw_density`."""
    weights, floor, ceiling = instance.space.weights, density.floor, density.ceiling
    touches = _TOUCHES * (ceiling - floor)
    low, high = density.ratio <= floor + touches, density.ratio >= ceiling - touches
    inside = ~low & ~high
    edges = np.linspace(floor, ceiling, _BINS + 1)
    shares, _ = np.histogram(density.ratio[inside], edges, weights=weights[inside])
    above = largest = None
    if instance.space.whole:
        data = instance.counts * (instance.space.m / instance.n)
        above, largest = float(instance.counts[data > ceiling].sum() / instance.n), float(data.max())
    at_floor, at_ceiling = float(weights[low].sum()), float(weights[high].sum())
    words = f"λ = {short(density.shrinkage, 4)}."
    if density.note:
        words += f" h* is uniform: {density.note}."
    elif largest is not None:
        words += f" The data themselves reach {short(largest, 3)} times uniform."
    return DensityInfo(
        title="The density h* relative to uniform, m·h*",
        subtitle=words,
        edges=tuple(float(edge) for edge in edges),
        shares=tuple(float(share) for share in shares),
        at_floor=at_floor,
        at_ceiling=at_ceiling,
        floor=floor,
        ceiling=ceiling,
        data_above=above,
        largest_data_ratio=largest,
    )


def draw_density(info: DensityInfo) -> Any:
    """An Altair histogram over the box; what touches its ends stands as bars of their own."""
    import altair as alt

    width = (info.ceiling - info.floor) / _BINS
    rows = [
        {"low": low, "high": high, "share": share, "where": INSIDE, "range": f"{short(low, 3)} to {short(high, 3)}"}
        for low, high, share in zip(info.edges, info.edges[1:], info.shares, strict=False)
        if share > 0
    ]
    ends = (
        (AT_FLOOR, info.floor - width, info.floor, info.at_floor),
        (AT_CEILING, info.ceiling, info.ceiling + width, info.at_ceiling),
    )
    for where, low, high, share in ends:
        edge = info.floor if where == AT_FLOOR else info.ceiling
        rows.append({"low": low, "high": high, "share": share, "where": where, "range": short(edge, 4)})
    for row in rows:
        row["text"] = f"{row['share']:.2%}"
        row["from"], row["to"] = row["low"] + 0.06 * width, row["high"] - 0.06 * width  # type: ignore[operator]
    x_domain = (info.floor - 2.2 * width, info.ceiling + 2.2 * width)
    top = max([*info.shares, info.at_floor, info.at_ceiling]) * 1.18
    labels = [AT_FLOOR, INSIDE, AT_CEILING]
    colour = alt.Color(
        "where:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=labels, range=[_COLOURS[label] for label in labels]),
        legend=_layers.legend(labels),
    )
    y_scale = _layers.scale((0.0, top))
    bars = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "from:Q",
                axis=alt.Axis(title="m·h*  (1 is the uniform density uₘ)", grid=False, tickCount=8),
                scale=_layers.scale(x_domain),
            ),
            x2=alt.X2("to"),
            y=alt.Y("zero:Q", axis=alt.Axis(title="share of the points of S", format="%"), scale=y_scale),
            y2=alt.Y2("share"),
            color=colour,
            tooltip=[
                alt.Tooltip("range:N", title="m·h*"),
                alt.Tooltip("text:N", title="share of S"),
                alt.Tooltip("where:N", title="where"),
            ],
        )
        .transform_calculate(zero="0")
    )
    one = alt.Chart(pd.DataFrame([{"x": 1.0, "text": "uniform"}])).encode(x=alt.X("x:Q", scale=_layers.scale(x_domain)))
    rule = one.mark_rule(color=GUIDE, strokeDash=[2, 4], size=1.5)
    word = one.mark_text(color=GUIDE, align="left", dx=4, y=0, dy=8).encode(text=alt.Text("text:N"))
    return _layers.finish(alt.layer(bars, rule, word), info.title, info.subtitle, legend_labels=labels)
