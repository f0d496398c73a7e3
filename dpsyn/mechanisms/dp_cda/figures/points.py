"""Records, averages and noisy averages as points of a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.kit.plotly import GRID, dot_style, safe, shorten
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant
from dpsyn.mechanisms.dp_cda.figures.drawn import MIXED, NOISED, REAL, STAGES, draw_rows
from dpsyn.mechanisms.dp_cda.figures.records import Records
from dpsyn.notation import short

Floats = npt.NDArray[np.float64]

MOST_CLASSES = 5
MOST_POINTS = 900
"""Points of one stage."""
_APART = 0.008
"""Share of the axes by which points that coincide are drawn apart."""


@dataclass(frozen=True, eq=False)
class PointsInfo:
    """Three stages of the same rows on one pair of axes.

    Attributes:
        title: what is shown.
        axes: names of the horizontal and the vertical axis.
        classes: names, at most :data:`MOST_CLASSES`.
        stages: headings.
        points: for each stage and class an array of shape (count, 2).
        explained: share of the records' variance along both axes.
    """

    title: str
    axes: tuple[str, str]
    classes: tuple[str, ...]
    stages: tuple[str, ...]
    points: tuple[tuple[Floats, ...], ...]
    explained: float


def numeric_columns(records: Records) -> list[str]:
    """Columns that are one coordinate each."""
    return [name for name, _ in _coordinates(records)]


def _coordinates(records: Records) -> list[tuple[str, int]]:
    """Names and positions of the columns that are one coordinate each."""
    found, at = [], 0
    for attribute in records.features.domain.attributes:
        width = 1 if attribute.is_binned else attribute.size - 1
        if width == 1:
            found.append((attribute.name, at))
        at += width
    return found


def points_info(
    records: Records,
    *,
    order_of_mixture: int,
    sigma: float,
    epsilon: float,
    radius: float,
    seed: int,
    axes: tuple[str, str] | None = None,
    classes: Sequence[int] | None = None,
    variant: Variant = "fixed_size",
) -> PointsInfo:
    """Rows of every class at three stages, seen along the two directions of largest variance or along two columns.

    Args:
        records: what to mix.
        order_of_mixture: l.
        sigma: σ.
        epsilon: what σ was chosen for; a label.
        radius: c.
        seed: of the draw.
        axes: two columns of one coordinate each; None takes the first two principal axes of the records.
        classes: codes; None takes the first :data:`MOST_CLASSES` with l records or more.
        variant: how records are drawn.

    Raises:
        ParameterError: there is nothing to project, or an axis is no column of one coordinate.
    """
    chosen = (records.mixable(order_of_mixture) if classes is None else list(classes))[:MOST_CLASSES]
    if not chosen or records.dimension == 0:
        raise ParameterError("records", len(records.points), "at least one class with l records, and one column of values")
    drawn = draw_rows(
        records,
        order_of_mixture=order_of_mixture,
        sigma=sigma,
        radius=radius,
        seed=seed,
        count=max(1, min(MOST_POINTS // len(chosen), 300)),
        classes=chosen,
        variant=variant,
    )
    kept = records.points[np.isin(records.labels, chosen)]
    if axes is None:
        directions, names = _principal(kept), ("first principal axis", "second principal axis")
    else:
        at = dict(_coordinates(records))
        for name in axes:
            if name not in at:
                raise ParameterError("axes", axes, f"two of the columns {', '.join(map(repr, at))}")
        directions = np.zeros((records.dimension, 2))
        directions[at[axes[0]], 0] = directions[at[axes[1]], 1] = 1.0
        names = axes
    middle = kept.mean(axis=0) if axes is None else np.zeros(records.dimension)
    total = float(kept.var(axis=0).sum())
    along = float((((kept - kept.mean(axis=0)) @ directions).var(axis=0)).sum())
    heads = {REAL: "Real records", MIXED: f"Averages of {order_of_mixture}", NOISED: f"With noise, ε = {short(epsilon)}"}
    return PointsInfo(
        title="From records to rows that are released",
        axes=names,
        classes=tuple(records.classes[k] for k in drawn.classes),
        stages=tuple(heads[stage] for stage in STAGES),
        points=tuple(
            tuple((drawn.stage(stage)[at] - middle) @ directions for at in range(len(drawn.classes))) for stage in STAGES
        ),
        explained=along / total if total > 0 else 0.0,
    )


def _principal(points: Floats) -> Floats:
    """Directions of largest variance, shape (d, 2); the sign makes the largest entry positive. One column has one only."""
    dimension = points.shape[1]
    centred = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    directions = np.zeros((dimension, 2))
    found = vectors[:, ::-1][:, :2]
    signs = np.sign(found[np.argmax(np.abs(found), axis=0), np.arange(found.shape[1])])
    directions[:, : found.shape[1]] = found * np.where(signs == 0, 1, signs)
    return directions


def _apart(points: Floats, spread: Floats, generator: np.random.Generator) -> Floats:
    """The points, moved at random by about ``spread`` if any two of them coincide."""
    if len(np.unique(points.round(9), axis=0)) == len(points):
        return points
    return points + generator.normal(0.0, 1.0, points.shape) * spread


def draw_points(info: PointsInfo) -> Any:
    """A Plotly figure of :class:`PointsInfo`: three panels on the same axes, a colour and a symbol for each class."""
    from plotly.subplots import make_subplots

    low = np.min([points.min(axis=0) for stage in info.points for points in stage], axis=0)
    high = np.max([points.max(axis=0) for stage in info.points for points in stage], axis=0)
    generator = np.random.default_rng(0)
    figure = make_subplots(
        rows=1, cols=3, subplot_titles=info.stages, horizontal_spacing=0.03, shared_yaxes=True, shared_xaxes=True
    )
    for panel, stage in enumerate(info.points, start=1):
        for at, (name, points) in enumerate(zip(info.classes, stage, strict=True)):
            marker = dot_style(at) | {"size": 5, "opacity": 0.55}
            shown = _apart(points, (high - low) * _APART, generator)
            figure.add_scattergl(
                x=shown[:, 0],
                y=shown[:, 1],
                mode="markers",
                marker=marker,
                name=safe(shorten(name, 30)),
                legendgroup=name,
                showlegend=panel == 1,
                row=1,
                col=panel,
                hovertemplate=f"{safe(name)}<br>%{{x:.3f}}, %{{y:.3f}}<extra></extra>",
            )
    air = np.maximum((high - low) * 0.05, 1e-3)
    plain = {"gridcolor": GRID, "zeroline": False}
    figure.update_xaxes(range=[low[0] - air[0], high[0] + air[0]], title=safe(shorten(info.axes[0], 30)), **plain)
    figure.update_yaxes(range=[low[1] - air[1], high[1] + air[1]], **plain)
    figure.update_yaxes(title=safe(shorten(info.axes[1], 30)), row=1, col=1)
    figure.update_layout(
        height=440,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 60, "r": 10, "t": 40, "b": 90},
        legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "itemsizing": "constant"},
    )
    return figure
