"""How λ follows floor and ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE
from dpsyn.mechanisms.private_sampling.figures.instance import Instance
from dpsyn.notation import short

Axis = Literal["ceiling", "floor"]
AXES: dict[Axis, str] = {"ceiling": "ceiling (the papers' Δ)", "floor": "floor (the papers' δ)"}
SHRINKAGE, EMPTY = "λ", "2·floor: an empty cell of up to d columns forces this"
_POINTS = 100


@dataclass(frozen=True)
class ShrinkageInfo:
    """λ along one slider, the other one fixed. λ is 1 - min over a few planes of their height.

    Attributes:
        axis: what varies.
        title, subtitle: what is shown.
        x, shrinkage, empty: the line λ and the line 2·floor.
        breaks: x and λ where another set of cells begins to bind.
        here: the sliders' x and λ.
    """

    axis: Axis
    title: str
    subtitle: str
    x: tuple[float, ...]
    shrinkage: tuple[float, ...]
    empty: tuple[float, ...]
    breaks: tuple[tuple[float, float], ...]
    here: tuple[float, float]


def shrinkage_info(instance: Instance, axis: Axis, *, floor: float, ceiling: float, largest: float = 10.0) -> ShrinkageInfo:
    """Data of :func:`draw_shrinkage`.

    Args:
        instance: S and the rows.
        axis: what varies; the other end of the box stays.
        floor: where the first slider stands.
        ceiling: where the second one stands.
        largest: end of the axis of the ceiling.
    """
    here = instance.shrinkage(floor, ceiling)
    reach = instance.reach
    ratios = reach.breaks() if reach.exact else np.empty(0)
    if axis == "ceiling":
        grid = np.linspace(1 + floor, max(largest, ceiling), _POINTS)
        corners = [1 + floor + ratio * (1 - 2 * floor) for ratio in ratios]
    else:
        end = min(0.5, ceiling - 1)
        grid = np.linspace(min(0.005, end / 2), end, _POINTS)
        # ρ = (ceiling - floor - 1)/(1 - 2·floor), solved for the floor.
        corners = [(ceiling - 1 - r) / (1 - 2 * r) for r in ratios if abs(1 - 2 * r) > 1e-9]
    inner = [c for c in corners if grid[0] < c < grid[-1]]
    xs = np.unique(np.concatenate([grid, inner]))
    boxes = [(2 * floor, x - floor) if axis == "ceiling" else (2 * x, ceiling - x) for x in xs]
    values = [reach.shrinkage(low, high) for low, high in boxes]
    at = {float(x): value for x, value in zip(xs, values, strict=True)}
    fixed = f"floor {short(floor)}" if axis == "ceiling" else f"ceiling {short(ceiling)}"
    return ShrinkageInfo(
        axis=axis,
        title=f"λ against the {axis}",
        subtitle=f"At {fixed}; now λ = {here:.4f}. "
        + (
            "Dots: other cells begin to bind."
            if reach.exact
            else f"1 − λ is drawn to within {short(reach.gap, 1)} of itself."
        ),
        x=tuple(float(x) for x in xs),
        shrinkage=tuple(values),
        empty=tuple(2 * floor if axis == "ceiling" else float(min(1.0, 2 * x)) for x in xs),
        breaks=tuple((float(c), at[float(c)]) for c in sorted(inner) if at[float(c)] > 1e-9),
        here=(ceiling if axis == "ceiling" else floor, here),
    )


def draw_shrinkage(info: ShrinkageInfo) -> Any:
    """An Altair line chart with the sliders' place."""
    import altair as alt

    labels = [SHRINKAGE, EMPTY]
    rows = pd.DataFrame(
        [{"series": SHRINKAGE, "x": x, "y": y} for x, y in zip(info.x, info.shrinkage, strict=True)]
        + [{"series": EMPTY, "x": x, "y": y} for x, y in zip(info.x, info.empty, strict=True)]
    )
    air = 0.02 * (info.x[-1] - info.x[0])
    x_domain, y_domain = (info.x[0] - air, info.x[-1] + air), (-0.02, 1.06)
    x = alt.X("x:Q", axis=alt.Axis(title=AXES[info.axis], grid=False), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=alt.Axis(title="λ, share of the uniform density"), scale=_layers.scale(y_domain))
    scales = {"domain": labels}
    legend = {"title": None, "sort": None, "legend": _layers.legend(labels)}
    lines = (
        alt.Chart(rows)
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=x,
            y=y,
            color=alt.Color("series:N", scale=alt.Scale(**scales, range=[BLUE, GUIDE]), **legend),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(**scales, range=[[1, 0], [4, 4]]), **legend),
            tooltip=[
                alt.Tooltip("x:Q", title=info.axis, format=".3f"),
                alt.Tooltip("y:Q", title="λ", format=".4f"),
                alt.Tooltip("series:N", title="line"),
            ],
        )
    )
    layers = [lines]
    if info.breaks:
        dots = alt.Chart(pd.DataFrame(info.breaks, columns=["x", "y"])).mark_circle(
            size=34, color=BLUE, opacity=1, clip=True
        )
        layers.append(
            dots.encode(
                x=x,
                y=y,
                tooltip=[alt.Tooltip("x:Q", title=info.axis, format=".4f"), alt.Tooltip("y:Q", title="λ", format=".4f")],
            )
        )
    text = f"{info.axis} {short(info.here[0])}: λ = {info.here[1]:.4f}"
    layers.append(_layers.here(f"λ = {info.here[1]:.3f}", *info.here, text, x_domain, y_domain))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, plot=230)
