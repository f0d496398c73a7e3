"""Records that are images, mixed and noised, as in Figure 1 of Saha, Tonoy, Imtiaz (2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.data.images import pixel_range
from dpsyn.errors import ParameterError
from dpsyn.kit.plotly import safe, shorten
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant
from dpsyn.mechanisms.dp_cda.figures.drawn import MIXED, NOISED, REAL, STAGES, draw_rows
from dpsyn.mechanisms.dp_cda.figures.records import Records
from dpsyn.notation import short

Floats = npt.NDArray[np.float64]

MOST_CLASSES = 12
_GAP = 1


@dataclass(frozen=True, eq=False)
class ImagesInfo:
    """A grid of square images.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        columns, rows: labels of the grid, left to right and top to bottom.
        images: grey values, shape (rows, columns, side, side).
        lower, upper: white and black.
    """

    title: str
    subtitle: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    images: Floats
    lower: float
    upper: float


def stages_info(
    records: Records,
    side: int,
    *,
    order_of_mixture: int,
    sigma: float,
    epsilon: float,
    radius: float,
    seed: int,
    classes: Sequence[int] | None = None,
    variant: Variant = "fixed_size",
) -> ImagesInfo:
    """One record of every class, the average of l, and what would be released: the noisy average, back on the grey scale.

    Args:
        records: images of side × side pixels, row by row.
        side: pixels.
        order_of_mixture: l.
        sigma: σ.
        epsilon: what σ was chosen for; a label.
        radius: c.
        seed: of the draw.
        classes: codes; None takes the first :data:`MOST_CLASSES` with l records or more.
        variant: how records are drawn.
    """
    chosen = (records.mixable(order_of_mixture) if classes is None else list(classes))[:MOST_CLASSES]
    drawn = draw_rows(
        records, order_of_mixture=order_of_mixture, sigma=sigma, radius=radius, seed=seed, classes=chosen, variant=variant
    )
    images = np.stack([_pixels(records, drawn.stage(stage)[:, 0], side) for stage in STAGES])
    lower, upper = grey_scale(records)
    names = {REAL: "one real image", MIXED: f"average of {order_of_mixture}", NOISED: f"with noise, ε = {short(epsilon)}"}
    return ImagesInfo(
        title="From a record to a row that is released",
        subtitle=f"σ = {short(sigma, 3)} in units of the scaled images; draw {seed}",
        columns=tuple(records.classes[k] for k in drawn.classes),
        rows=tuple(names[stage] for stage in STAGES),
        images=images,
        lower=lower,
        upper=upper,
    )


def orders_info(
    records: Records,
    side: int,
    *,
    sigmas: dict[tuple[float | None, int], float | None],
    radius: float,
    seed: int,
    label: int,
    variant: Variant = "fixed_size",
) -> ImagesInfo:
    """The released image of one class for several l (columns) and ε (rows), as in Figure 1.

    Args:
        records: images of side × side pixels, row by row.
        side: pixels.
        sigmas: σ for (ε, l); an ε of None is no noise; where σ is None the place stays empty.
        radius: c.
        seed: of the draw.
        label: the class, a code.
        variant: how records are drawn.

    Raises:
        ParameterError: ``sigmas`` is empty.
    """
    if not sigmas:
        raise ParameterError("sigmas", sigmas, "at least one (epsilon, order_of_mixture)")
    epsilons = tuple(dict.fromkeys(epsilon for epsilon, _ in sigmas))
    orders = tuple(dict.fromkeys(order for _, order in sigmas))
    images = np.full((len(epsilons), len(orders), side, side), np.nan)
    for i, epsilon in enumerate(epsilons):
        for j, order in enumerate(orders):
            sigma = sigmas.get((epsilon, order))
            if sigma is None or records.sizes[label] < order:
                continue
            drawn = draw_rows(
                records, order_of_mixture=order, sigma=sigma, radius=radius, seed=seed, classes=[label], variant=variant
            )
            images[i, j] = _pixels(records, drawn.noised[:, 0], side)[0]
    lower, upper = grey_scale(records)
    return ImagesInfo(
        title=f"Class {records.classes[label]} for several l and ε",
        subtitle="One row as it would be released, the same records and the same noise throughout",
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
    whole = np.full((rows * step - _GAP, columns * step - _GAP), np.nan)
    for i in range(rows):
        for j in range(columns):
            whole[i * step : i * step + side, j * step : j * step + side] = info.images[i, j]
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
        ticktext=[safe(shorten(name, 12)) for name in info.columns],
        side="top",
        constrain="domain",
        constraintoward="left",
        **common,
    )
    figure.update_yaxes(
        tickvals=[i * step + centre for i in range(rows)],
        ticktext=[safe(name) for name in info.rows],
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
