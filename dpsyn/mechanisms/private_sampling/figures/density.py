"""Whether the reduced space is good enough for every dataset, and what h* looks like on it beside the uniform density."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, HERE, ORANGE, log_axis
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.mechanisms.private_sampling.figures import channels, tips
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.notation import short
from dpsyn.solvers.matching import Floats

AT_FLOOR, INSIDE, AT_CEILING = "at the floor", "inside the box", "at the ceiling"
_COLOURS = {AT_FLOOR: ORANGE, INSIDE: BLUE, AT_CEILING: GREEN}
_BINS = 36
_TOUCHES = 1e-6
_SMALLEST = -6.0
"""log10 at which an eigenvalue of 0 is drawn."""


def eigenvalues(space: ReducedSpace) -> Floats:
    """Of W Wᵀ/m, ascending, shape (C,): σ²/m for the singular values σ of W."""
    assert space.spectrum is not None
    return np.maximum(space.spectrum, 0.0)


def expected_band(space: ReducedSpace) -> tuple[float, float] | None:
    """(1 - √(C/m))² and (1 + √(C/m))², between which the spectrum of independent draws settles as C and m grow.

    By Marchenko and Pastur (1967); None for the whole domain.
    """
    root = math.sqrt(space.size.dimension / space.m)
    return None if space.size.whole else (max(0.0, 1 - root) ** 2, (1 + root) ** 2)


def written_bound(space: ReducedSpace) -> str:
    """How the threshold √m/(2B) is written: on other domains than the cube B takes the place of eᵈ."""
    return "eᵈ" if all(size <= 2 for size in space.size.shape) else "B"


def _log(value: float) -> float:
    return max(math.log10(value), _SMALLEST) if value > 0 else _SMALLEST


def draw_spectrum(space: ReducedSpace) -> Any:
    """An Altair chart: one dot per eigenvalue, ascending, on a log axis."""
    import altair as alt

    values, threshold, expected = eigenvalues(space), space.threshold**2 / space.m, expected_band(space)
    bound = written_bound(space)
    rows = pd.DataFrame(
        {
            "rank": range(1, len(values) + 1),
            "y": [_log(value) for value in values],
            "value": [short(value, 4) for value in values],
            "colour": [HERE if value < threshold else BLUE for value in values],
        }
    )
    heights = [*rows["y"], _log(threshold), 0.0]
    if expected is not None:
        heights += [_log(value) for value in expected if _log(value) > _SMALLEST]
    y_domain = _layers.domain_of(heights, share=0.08)
    x_domain = (0.5 - 0.01 * len(rows), len(rows) + 0.5 + 0.01 * len(rows))
    x = alt.X("rank:Q", axis=alt.Axis(title="eigenvalue, by rank", tickMinStep=1, grid=False), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=log_axis("eigenvalue of W Wᵀ/m  (σ²/m)"), scale=_layers.scale(y_domain))
    layers = []
    if expected is not None:
        low, high = (max(_log(value), y_domain[0]) for value in expected)
        text = f"independent draws of this size: {short(expected[0], 2)} to {short(expected[1], 2)}"
        band = alt.Chart(pd.DataFrame([{"low": low, "high": high, "text": text}]))
        layers.append(
            band.mark_rect(color=GUIDE, opacity=0.14).encode(
                y=alt.Y("low:Q", scale=_layers.scale(y_domain)),
                y2=alt.Y2("high"),
                tooltip=alt.Tooltip("text:N", title="expected"),
            )
        )
    layers += _layers.rules([(0.0, "1: the whole domain")], y_domain, labels_left=True, title="reference")
    mark = alt.Chart(pd.DataFrame([{"y": _log(threshold), "text": f"threshold (1/(2{bound}))² = {short(threshold, 3)}"}]))
    here = mark.encode(y=alt.Y("y:Q", scale=_layers.scale(y_domain)), tooltip=alt.Tooltip("text:N", title="step 2"))
    layers.append(here.mark_rule(color=HERE, strokeWidth=2, strokeDash=[6, 3]))
    label = {"color": HERE, "align": "right", "x": "width", "dx": -4, "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
    layers.append(here.mark_text(**label).encode(text=alt.Text("text:N")))
    hover = tips({"rank:": "rank", "value": "eigenvalue"})
    dots = alt.Chart(rows).mark_circle(size=55 if len(rows) <= 120 else 24, opacity=0.9)
    layers.append(dots.encode(x=x, y=y, color=alt.Color("colour:N", scale=None, legend=None), tooltip=hover))
    verdict = "step 2 passes" if space.passes else "step 2 says “Failure”: draw S again"
    words = (
        f"C = {space.size.dimension:,} functions on m = {space.m:,} points. The smallest singular value of W is "
        f"{short(space.smallest_singular_value, 3)}, √m/(2{bound}) = {short(space.threshold, 3)}: {verdict}."
    )
    return _layers.finish(alt.layer(*layers), "Spectrum of W Wᵀ/m", words, line_length=90)


@dataclass(frozen=True)
class DensityInfo:
    """Histogram of m·h*, the density relative to uniform.

    Attributes:
        words: λ, and what the data themselves reach.
        shrinkage: λ.
        edges: of the bins, from floor to ceiling.
        shares: of the points of S by bin, those that touch an end of the box left out.
        at_floor, at_ceiling: shares of the points that touch an end.
        floor, ceiling: the box of h*.
        data_above: share of the data's rows on points where f_n is above the ceiling; None unless S is the whole domain.
    """

    words: str
    shrinkage: float
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    at_floor: float
    at_ceiling: float
    floor: float
    ceiling: float
    data_above: float | None


def density_info(run: SmallRun, floor: float, ceiling: float) -> DensityInfo:
    """Data of :func:`draw_density`: h* as the run finds it."""
    matched, weights, rows = run.matched(floor, ceiling), run.space.weights, run.table.n
    ratio = np.clip(matched.ratio, floor, ceiling)
    touches = _TOUCHES * (ceiling - floor)
    low, high = ratio <= floor + touches, ratio >= ceiling - touches
    inside = ~low & ~high
    edges = np.linspace(floor, ceiling, _BINS + 1)
    shares, _ = np.histogram(ratio[inside], edges, weights=weights[inside])
    above = largest = None
    if run.space.size.whole:
        data = run.counts * (run.space.m / rows)
        above, largest = float(run.counts[data > ceiling].sum() / rows), float(data.max())
    at_floor, at_ceiling = float(weights[low].sum()), float(weights[high].sum())
    words = f"λ = {short(matched.shrinkage, 4)}."
    if matched.pinned:
        words += " h* is uniform: only the uniform density fits this box."
    elif matched.failed:
        words += f" h* is uniform: a program was not solved: {'; '.join(matched.faults)}."
    elif largest is not None:
        words += f" The data themselves reach {short(largest, 3)} times uniform."
    return DensityInfo(
        words=words,
        shrinkage=matched.shrinkage,
        edges=tuple(float(edge) for edge in edges),
        shares=tuple(float(share) for share in shares),
        at_floor=at_floor,
        at_ceiling=at_ceiling,
        floor=floor,
        ceiling=ceiling,
        data_above=above,
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
    labels = list(_COLOURS)
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
            **channels(labels, "where", color=list(_COLOURS.values())),
            tooltip=tips({"range": "m·h*", "text": "share of S", "where": "where"}),
        )
        .transform_calculate(zero="0")
    )
    one = alt.Chart(pd.DataFrame([{"x": 1.0, "text": "uniform"}])).encode(x=alt.X("x:Q", scale=_layers.scale(x_domain)))
    rule = one.mark_rule(color=GUIDE, strokeDash=[2, 4], size=1.5)
    word = one.mark_text(color=GUIDE, align="left", dx=4, y=0, dy=8).encode(text=alt.Text("text:N"))
    return _layers.finish(
        alt.layer(bars, rule, word), "The density h* relative to uniform, m·h*", info.words, legend_labels=labels
    )
