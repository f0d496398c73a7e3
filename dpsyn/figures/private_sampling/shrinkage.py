"""The story of λ: how it follows floor and ceiling, and which cells of the data's tables keep it from being smaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpsyn.errors import SolverError
from dpsyn.figures import _layers
from dpsyn.figures._panels import shorten
from dpsyn.figures.private_sampling.cells import Cell, all_cells, cell_weights
from dpsyn.figures.private_sampling.instance import Instance
from dpsyn.figures.theme import BLUE, GREEN, GUIDE, ORANGE

Axis = Literal["ceiling", "floor"]
AXES: dict[Axis, str] = {"ceiling": "ceiling (the papers' Δ)", "floor": "floor (the papers' δ)"}
SHRINKAGE, EMPTY = "λ", "2·floor: one empty cell forces this"
TOO_FEW, TOO_MANY = "fewer rows than uniform", "more rows than uniform"
_POINTS = 160
_MOST_CELLS = 10


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
    fixed = f"floor {floor:g}" if axis == "ceiling" else f"ceiling {ceiling:g}"
    return ShrinkageInfo(
        axis=axis,
        title=f"λ against the {axis}",
        subtitle=f"At {fixed}; now λ = {here:.4f}. "
        + ("Dots: other cells begin to bind." if reach.exact else f"1 − λ is drawn to within {reach.gap:.1g} of itself."),
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
    y = alt.Y("y:Q", axis=alt.Axis(title="λ, the share of uniform noise mixed in"), scale=_layers.scale(y_domain))
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
    text = f"{info.axis} {info.here[0]:g}: λ = {info.here[1]:.4f}"
    layers.append(_layers.here(f"λ = {info.here[1]:.3f}", *info.here, text, x_domain, y_domain))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, plot=230)


@dataclass(frozen=True)
class BindingCell:
    """One cell of a table of at most d columns that holds λ up.

    Attributes:
        text: columns and values, ``"lung = yes, either = no"``.
        weight: its dual value β.
        share: β·(share in the data - share under uniform): its part of the conflict; all parts sum to 1.
        data, uniform: the cell's share of the rows, and of S.
        least, most: what a density in the linear program's box can give the cell.
        alone: the λ that this cell would force if it were the only one.
    """

    text: str
    weight: float
    share: float
    data: float
    uniform: float
    least: float
    most: float
    alone: float

    @property
    def kind(self) -> str:
        """On which side of uniform the data are."""
        return TOO_FEW if self.data < self.uniform else TOO_MANY


@dataclass(frozen=True)
class BindingInfo:
    """Why λ cannot be smaller: weights on cells that no density in the box satisfies better.

    With β on the cells, the data score 1 above uniform, any density in the box at most ``reach`` above it, and mixing with
    uniform scales the data's score by 1 - λ: so 1 - λ <= reach.

    Attributes:
        shrinkage: λ at this floor and ceiling.
        reach: the box's best score; 1 - λ unless λ = 0.
        cells: those with the largest parts, largest first.
        others: how many more have a weight, and their part together.
        empty, tables: empty cells and all cells of the tables over at most d columns.
        alone: the cell that alone forces the largest λ; None if none forces any.
    """

    shrinkage: float
    reach: float
    cells: tuple[BindingCell, ...]
    others: tuple[int, float]
    empty: int
    tables: int
    alone: BindingCell | None


def binding_info(instance: Instance, *, floor: float, ceiling: float, most: int = _MOST_CELLS) -> BindingInfo:
    """Data of :func:`draw_binding`: the dual solution at this floor and ceiling, written as weights on cells.

    The weights of the sets of cells are not unique, because tables overlap; these have the least Σ |J|·|β| over the cells,
    J being a cell's columns.

    Raises:
        SolverError: the weights could not be found.
    """
    lower, upper = 2 * floor, ceiling - floor
    cells = all_cells(instance)
    labels = [attribute.labels() for attribute in instance.domain.attributes]
    shrinkage = instance.shrinkage(floor, ceiling)
    room, above = 1 - lower, max(0.0, upper - 1)
    tangent = instance.reach.best(above / room if room > 0 else 1e3)
    single = [_binding(cell, 0.0, lower, upper, labels, instance.domain.names) for cell in cells]
    alone = max(single, key=lambda cell: cell.alone, default=None)
    empty = sum(cell.data == 0 for cell in cells)
    if tangent is None or shrinkage <= 0:
        return BindingInfo(shrinkage, 1.0, (), (0, 0.0), empty, len(cells), None)
    weights = cell_weights(instance, cells, tangent.multipliers)
    found = [
        _binding(cell, float(weight), lower, upper, labels, instance.domain.names)
        for cell, weight in zip(cells, weights, strict=True)
        if abs(weight) > 1e-9
    ]
    found.sort(key=lambda cell: -abs(cell.share))
    rest = found[most:]
    return BindingInfo(
        shrinkage=shrinkage,
        reach=tangent.at_zero * room + tangent.slope * above,
        cells=tuple(found[:most]),
        others=(len(rest), sum(cell.share for cell in rest)),
        empty=empty,
        tables=len(cells),
        alone=alone if alone is not None and alone.alone > 0 else None,
    )


def _binding(
    cell: Cell, weight: float, lower: float, upper: float, labels: Sequence[Sequence[str]], names: Sequence[str]
) -> BindingCell:
    q, p = cell.data, cell.uniform
    # The cell's share may lie between both ends of the box, and, as all shares sum to 1, of what the rest leaves it.
    least, most = max(lower * p, 1 - upper * (1 - p)), min(upper * p, 1 - lower * (1 - p))
    alone = 0.0
    if q < least:
        alone = (least - q) / (p - q)
    elif q > most:
        alone = (q - most) / (q - p)
    text = ", ".join(
        f"{shorten(names[j], 16)} = {shorten(labels[j][code], 14)}" for j, code in zip(cell.columns, cell.codes, strict=True)
    )
    return BindingCell(text, weight, weight * (q - p), q, p, least, most, alone)


def draw_binding(info: BindingInfo) -> Any:
    """An Altair bar chart: the cells' parts of the conflict, coloured by the side of uniform on which the data are."""
    import altair as alt

    if not info.cells:
        raise SolverError("nothing binds: there are no cells to draw")
    labels = [TOO_FEW, TOO_MANY]
    rows = pd.DataFrame(
        [
            {
                "cell": cell.text,
                "share": cell.share,
                "kind": cell.kind,
                "weight": f"{cell.weight:+.3g}",
                "data": f"{cell.data:.4%}",
                "box": f"{cell.least:.3%} to {cell.most:.3%}",
                "alone": f"{cell.alone:.4f}" if cell.alone > 0 else "nothing",
            }
            for cell in info.cells
        ]
    )
    bars = (
        alt.Chart(rows)
        .mark_bar(height={"band": 0.7})
        .encode(
            y=alt.Y(
                "cell:N",
                sort=None,
                title=None,
                axis=alt.Axis(labelLimit=230, ticks=False, domain=False, labelPadding=6),
            ),
            x=alt.X("share:Q", axis=alt.Axis(title="part of the conflict (all parts sum to 1)", format=".0%", tickCount=5)),
            color=alt.Color(
                "kind:N",
                title=None,
                sort=None,
                scale=alt.Scale(domain=labels, range=[ORANGE, GREEN]),
                legend=_layers.legend(labels),
            ),
            tooltip=[
                alt.Tooltip("cell:N", title="cell"),
                alt.Tooltip("data:N", title="share of the rows"),
                alt.Tooltip("box:N", title="the box allows"),
                alt.Tooltip("weight:N", title="dual value β"),
                alt.Tooltip("alone:N", title="alone forces λ ≥"),
            ],
        )
    )
    title = "Which cells bind"
    subtitle = "Dual values of the linear program, written on the cells."
    if info.others[0]:
        subtitle += f" {info.others[0]} more hold {info.others[1]:.1%} together."
    return _layers.finish(bars, title, subtitle, legend_labels=labels, line_length=80, plot=24 * len(info.cells) + 10)
