"""Which cells of the data's tables keep λ from being smaller: the dual solution, written on cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.plotly import shorten
from dpsyn.kit.theme import GREEN, ORANGE
from dpsyn.mechanisms.private_sampling.figures.cells import Cell, all_cells, cell_weights
from dpsyn.mechanisms.private_sampling.figures.instance import Instance

TOO_FEW, TOO_MANY = "fewer rows than uniform", "more rows than uniform"
_MOST_CELLS = 10


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
        raise ParameterError("info", "no cells", "at least one: nothing binds at λ = 0")
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
    return _layers.finish(
        bars, title, subtitle, legend_labels=labels, line_length=80, plot=max(24 * len(info.cells) + 10, 90)
    )
