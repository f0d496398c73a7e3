"""Records, averages and noisy averages: as images where they are images (Figure 1 of the paper), or as points of a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import svds

from dpsyn import escape
from dpsyn.data.images import pixel_range
from dpsyn.errors import ParameterError, quoted
from dpsyn.kit.plotly import GRID, dot_style, shorten
from dpsyn.mechanisms.dp_cda.inside import Inside, Records
from dpsyn.notation import short

Floats = npt.NDArray[np.float64]

MOST_SHOWN = 12
"""Classes as images."""
MOST_CLASSES = 5
"""Classes as points."""
MOST_POINTS = 900
"""Points of one stage."""
_APART = 0.008
"""Share of the axes by which points that coincide are drawn apart."""
_GAP = 1
_MOST_DRAWN = 1_000_000
"""Coordinates of the points of one stage, in all."""
_WHOLE_SPECTRUM = 500
"""Coordinates or rows up to which all principal axes are found: 0.05 s; of more, the first two alone."""
_NOTHING = 1e-6
"""Share of the largest deviation below which another direction is rounding."""


@dataclass(frozen=True, eq=False)
class ImagesInfo:
    """A grid of square images.

    Attributes:
        columns, rows: labels of the grid, left to right and top to bottom.
        images: grey values, shape (rows, columns, side, side).
        lower, upper: white and black.
        settings: σ and the draw, in words.
    """

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    images: Floats
    lower: float
    upper: float
    settings: str = ""


def stages_info(inside: Inside, side: int, seed: int, classes: Sequence[int] | None = None) -> ImagesInfo:
    """One record of every class, the average of l, and what would be released: the noisy average, back on the grey scale.

    Args:
        inside: images of side × side pixels, row by row, and the settings.
        side: pixels.
        seed: of the draw.
        classes: codes, those of fewer than l records are left out; None takes the first :data:`MOST_SHOWN`.
    """
    records, order = inside.records, inside.order_of_mixture
    shown = [k for k in (inside.kept if classes is None else classes) if k in inside.kept]
    drawn = inside.draw(seed, classes=shown[:MOST_SHOWN])
    stages = (drawn.real, drawn.mixed, drawn.noised)
    lower, upper = grey_scale(records)
    return ImagesInfo(
        columns=tuple(records.classes[k] for k in drawn.classes),
        rows=("one real image", f"average of {order}", f"with noise, ε = {short(inside.epsilon)}"),
        images=np.stack([_pixels(records, stage[:, 0], side) for stage in stages]),
        lower=lower,
        upper=upper,
        settings=f"σ = {short(inside.sigma, 3)} in units of the scaled images; draw {seed}",
    )


def orders_info(
    inside: Inside, side: int, seed: int, label: int, sigmas: Mapping[tuple[float | None, int], float | None]
) -> ImagesInfo:
    """The released image of one class for several l (columns) and ε (rows), as in Figure 1.

    Args:
        inside: images of side × side pixels, row by row, and the other settings.
        side: pixels.
        seed: of the draw.
        label: the class, a code.
        sigmas: σ for (ε, l); an ε of None is no noise; where σ is None the place stays empty.

    Raises:
        ParameterError: ``sigmas`` is empty.
    """
    if not sigmas:
        raise ParameterError("sigmas", sigmas, "at least one (epsilon, order_of_mixture)")
    records = inside.records
    epsilons = tuple(dict.fromkeys(epsilon for epsilon, _ in sigmas))
    orders = tuple(dict.fromkeys(order for _, order in sigmas))
    images = np.full((len(epsilons), len(orders), side, side), np.nan)
    for (epsilon, order), sigma in sigmas.items():
        if sigma is not None and records.sizes[label] >= order:
            drawn = inside.at(order).draw(seed, classes=[label], sigma=sigma)
            images[epsilons.index(epsilon), orders.index(order)] = _pixels(records, drawn.noised[:, 0], side)[0]
    lower, upper = grey_scale(records)
    return ImagesInfo(
        columns=tuple(f"l = {order}" for order in orders),
        rows=tuple("no noise" if epsilon is None else f"ε = {short(epsilon)}" for epsilon in epsilons),
        images=images,
        lower=lower,
        upper=upper,
    )


def grey_scale(records: Records) -> tuple[float, float]:
    """Smallest and largest number of a pixel."""
    ranges = [found for a in records.features.domain.attributes if (found := pixel_range(a)) is not None]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _pixels(records: Records, points: Floats, side: int) -> Floats:
    """Images for points of shape (k, d): decoded as the mechanism decodes them, shape (k, side, side)."""
    columns = records.features.decode(points, np.random.default_rng(0))
    flat = np.stack([columns[name].astype(np.float64).to_numpy() for name in records.features.domain.names], axis=1)
    return np.asarray(flat.reshape(len(points), side, side), dtype=np.float64)


def mosaic(info: ImagesInfo) -> Floats:
    """All images in one array, a gap of NaN between them, the first row of the grid at the bottom of the array's end."""
    rows, columns, side = info.images.shape[:3]
    step = side + _GAP
    padded = np.pad(info.images, ((0, 0), (0, 0), (0, _GAP), (0, _GAP)), constant_values=np.nan)
    whole: Floats = padded.transpose(0, 2, 1, 3).reshape(rows * step, columns * step)[:-_GAP, :-_GAP]
    return whole


def draw_images(info: ImagesInfo, *, width: int = 1100) -> Any:
    """A Plotly figure of :class:`ImagesInfo`: one heat-map, ink on paper, with the labels of the grid as ticks.

    ``width`` is the width that the figure will have at most; the height follows from it, so that pixels are square.
    """
    import plotly.graph_objects as go

    rows, columns, side = info.images.shape[:3]
    whole = mosaic(info)
    step = side + _GAP
    centre = (side - 1) / 2
    left, above = 150, 30
    cell = min(112.0, (width - left - 10) / columns)
    figure = go.Figure(
        go.Heatmap(
            z=whole,
            zmin=info.lower,
            zmax=info.upper,
            colorscale=[[0, "#ffffff"], [1, "#10191b"]],
            showscale=False,
            hoverongaps=False,
            hovertemplate="%{z:.3g}<extra></extra>",
        )
    )
    common = {"showgrid": False, "zeroline": False, "ticks": "", "tickfont": {"size": 13}, "fixedrange": True}
    figure.update_xaxes(
        tickvals=[j * step + centre for j in range(columns)],
        ticktext=[escape.chart(shorten(name, 12)) for name in info.columns],
        side="top",
        constrain="domain",
        constraintoward="left",
        **common,
    )
    figure.update_yaxes(
        tickvals=[i * step + centre for i in range(rows)],
        ticktext=[escape.chart(name) for name in info.rows],
        autorange="reversed",
        scaleanchor="x",
        constrain="domain",
        constraintoward="top",
        ticklabelstandoff=8,
        **common,
    )
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(128,128,128,0.35)",
        height=round(cell * rows + above + 10),
        margin={"l": left, "r": 10, "t": above, "b": 10},
    )
    return figure


@dataclass(frozen=True, eq=False)
class PointsInfo:
    """Three stages of the same rows on one pair of axes.

    Attributes:
        axes: names of the horizontal and the vertical axis.
        classes: names, at most :data:`MOST_CLASSES`.
        stages: headings.
        points: for each stage and class an array of shape (count, 2).
        explained: share of the records' variance along both axes.
    """

    axes: tuple[str, str]
    classes: tuple[str, ...]
    stages: tuple[str, ...]
    points: tuple[tuple[Floats, ...], ...]
    explained: float


def points_info(
    inside: Inside, seed: int, axes: tuple[str, str] | None = None, classes: Sequence[int] | None = None
) -> PointsInfo:
    """Rows of every class at three stages, seen along the two directions of largest variance or along two columns.

    Args:
        inside: what to mix, and how.
        seed: of the draw.
        axes: two columns of one coordinate each; None takes the first two principal axes of the records.
        classes: codes; None takes the first :data:`MOST_CLASSES` with l records or more.

    Raises:
        ParameterError: there is nothing to project, or an axis is no column of one coordinate.
    """
    records = inside.records
    chosen = (inside.kept if classes is None else list(classes))[:MOST_CLASSES]
    if not chosen or records.dimension == 0:
        raise ParameterError("records", len(records.points), "at least one class with l records, and one column of values")
    count = min(MOST_POINTS // len(chosen), 300, _MOST_DRAWN // (len(chosen) * records.dimension))
    drawn = inside.draw(seed, max(1, count), chosen)
    kept = records.points[np.isin(records.labels, chosen)]
    if axes is None:
        directions, names = _principal(kept), ("first principal axis", "second principal axis")
    else:
        at = records.features.single
        for name in axes:
            if name not in at:
                raise ParameterError("axes", axes, f"two of the columns {', '.join(map(quoted, at))}")
        directions = np.zeros((records.dimension, 2))
        directions[at[axes[0]], 0] = directions[at[axes[1]], 1] = 1.0
        names = axes
    middle = kept.mean(axis=0) if axes is None else np.zeros(records.dimension)
    total = float(kept.var(axis=0).sum())
    along = float((((kept - kept.mean(axis=0)) @ directions).var(axis=0)).sum())
    return PointsInfo(
        axes=names,
        classes=tuple(records.classes[k] for k in drawn.classes),
        stages=("Real records", f"Averages of {inside.order_of_mixture}", f"With noise, ε = {short(inside.epsilon)}"),
        points=tuple(
            tuple((points - middle) @ directions for points in stage) for stage in (drawn.real, drawn.mixed, drawn.noised)
        ),
        explained=along / total if total > 0 else 0.0,
    )


def _principal(points: Floats) -> Floats:
    """Directions of largest variance, shape (d, 2); the sign makes the largest entry positive. One column has one only."""
    dimension = points.shape[1]
    centred = points - points.mean(axis=0)
    directions = np.zeros((dimension, 2))
    if dimension <= _WHOLE_SPECTRUM:
        found = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :2]
    elif min(centred.shape) <= 2 or not centred.any():
        found = np.eye(dimension, 2)
    elif len(centred) <= _WHOLE_SPECTRUM:
        # Few rows: their products have the same spectrum.
        found = centred.T @ np.linalg.eigh(centred @ centred.T)[1][:, ::-1][:, :2]
        lengths = np.linalg.norm(found, axis=0)
        found = np.where(lengths > _NOTHING * lengths[0], found, 0.0) / np.maximum(lengths, _NOTHING * lengths[0])
    else:
        start = np.random.default_rng(0).normal(size=min(centred.shape))
        found = svds(centred, k=2, v0=start)[2][::-1].T
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
            marker = dot_style(at) | {"size": 5, "opacity": 0.8}
            shown = _apart(points, (high - low) * _APART, generator)
            figure.add_scatter(
                x=shown[:, 0],
                y=shown[:, 1],
                mode="markers",
                marker=marker,
                name=escape.chart(shorten(name, 30)),
                legendgroup=name,
                showlegend=panel == 1,
                row=1,
                col=panel,
                hovertemplate=f"{escape.chart(name)}<br>%{{x:.3f}}, %{{y:.3f}}<extra></extra>",
            )
    air = np.maximum((high - low) * 0.05, 1e-3)
    plain = {"gridcolor": GRID, "zeroline": False}
    figure.update_xaxes(range=[low[0] - air[0], high[0] + air[0]], title=escape.chart(shorten(info.axes[0], 30)), **plain)
    figure.update_yaxes(range=[low[1] - air[1], high[1] + air[1]], **plain)
    figure.update_yaxes(title=escape.chart(shorten(info.axes[1], 30)), row=1, col=1)
    figure.update_layout(
        height=440,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 60, "r": 10, "t": 40, "b": 90},
        legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "itemsizing": "constant"},
    )
    return figure
