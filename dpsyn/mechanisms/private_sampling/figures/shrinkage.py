"""How λ follows floor and ceiling, and which cells of the data's tables keep it from being smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd
import scipy.sparse as sp

from dpsyn.errors import ParameterError, SolverError
from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, ORANGE, channels, tips
from dpsyn.kit.plotly import shorten
from dpsyn.mechanisms.private_sampling._mechanism import tables_of
from dpsyn.mechanisms.private_sampling.figures import SOLID
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.notation import percent, short
from dpsyn.solvers.contrasts import contrasts
from dpsyn.solvers.matching import Floats

Axis = Literal["ceiling", "floor"]
AXES: dict[Axis, str] = {"ceiling": "ceiling (the papers' Δ)", "floor": "floor (the papers' δ)"}
SHRINKAGE, EMPTY = "λ", "2·floor (an empty cell of up to d columns)"
_POINTS = 100
TOO_FEW, TOO_MANY = "fewer rows than uniform", "more rows than uniform"
_MOST_CELLS = 10


@dataclass(frozen=True)
class ShrinkageInfo:
    """λ and 2·floor along one slider, x and λ where other cells begin to bind, and the sliders' x and λ."""

    axis: Axis
    subtitle: str
    x: tuple[float, ...]
    shrinkage: tuple[float, ...]
    empty: tuple[float, ...]
    breaks: tuple[tuple[float, float], ...]
    here: tuple[float, float]


def shrinkage_info(run: SmallRun, axis: Axis, *, floor: float, ceiling: float, largest: float = 10.0) -> ShrinkageInfo:
    """Data of :func:`draw_shrinkage`.

    Args:
        run: S and the rows.
        axis: what varies; the other end of the box stays.
        floor: where the first slider stands.
        ceiling: where the second one stands.
        largest: end of the axis of the ceiling.
    """
    here = run.shrinkage(floor, ceiling)
    reach = run.reach
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
    drawn = (
        "Dots: other cells begin to bind." if reach.exact else f"1 − λ is drawn to within {short(reach.gap, 1)} of itself."
    )
    return ShrinkageInfo(
        axis=axis,
        subtitle=f"At {fixed}; now λ = {here:.4f}. {drawn}",
        x=tuple(float(x) for x in xs),
        shrinkage=tuple(values),
        empty=tuple(2 * floor if axis == "ceiling" else float(min(1.0, 2 * x)) for x in xs),
        breaks=tuple((float(c), at[float(c)]) for c in sorted(inner) if at[float(c)] > 1e-9),
        here=(ceiling if axis == "ceiling" else floor, here),
    )


def draw_shrinkage(info: ShrinkageInfo) -> Any:
    """An Altair line chart with the sliders' place."""
    labels = [SHRINKAGE, EMPTY]
    both = zip(labels, (info.shrinkage, info.empty), strict=True)
    rows = pd.concat([pd.DataFrame({"series": label, "x": info.x, "y": heights}) for label, heights in both])
    air = 0.02 * (info.x[-1] - info.x[0])
    x_domain, y_domain = (info.x[0] - air, info.x[-1] + air), (-0.02, 1.06)
    x = alt.X("x:Q", axis=alt.Axis(title=AXES[info.axis], grid=False), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=alt.Axis(title="λ, share of uniform"), scale=_layers.scale(y_domain))
    lines = (
        alt.Chart(rows)
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=x,
            y=y,
            **channels(labels, color=(BLUE, GUIDE), strokeDash=(SOLID, [4, 4])),
            tooltip=tips({"x:.3f": info.axis, "y:.4f": "λ", "series": "line"}),
        )
    )
    layers = [lines]
    if info.breaks:
        dots = alt.Chart(pd.DataFrame(info.breaks, columns=["x", "y"]))
        dots = dots.encode(x=x, y=y, tooltip=tips({"x:.4f": info.axis, "y:.4f": "λ"}))
        layers.append(dots.mark_circle(size=34, color=BLUE, opacity=1, clip=True))
    text = f"{info.axis} {short(info.here[0])}: λ = {info.here[1]:.4f}"
    below = info.here[1] < np.interp(info.here[0], info.x, info.empty) < info.here[1] + 0.2
    layers += _layers.here(f"λ = {info.here[1]:.3f}", *info.here, text, x_domain, y_domain, below=bool(below))
    return _layers.finish(alt.layer(*layers), f"λ against the {info.axis}", info.subtitle, legend_labels=labels, plot=230)


_AGAINST = 4.0


@dataclass(frozen=True)
class Cell:
    """One cell of a table of at most d columns.

    Attributes:
        columns, codes, text: its columns and values, ``"lung = yes, either = no"``.
        data, uniform: its share of the rows, and of S.
        least, most: what a density in the linear program's box can give it.
        weight: its dual value β.
    """

    columns: tuple[int, ...]
    codes: tuple[int, ...]
    text: str
    data: float
    uniform: float
    least: float
    most: float
    weight: float = 0.0

    @property
    def share(self) -> float:
        """β·(share of the rows - share of S): its part of the conflict; all parts sum to 1."""
        return self.weight * (self.data - self.uniform)

    @property
    def alone(self) -> float:
        """The λ that this cell would force if it were the only one."""
        if self.data < self.least:
            return (self.least - self.data) / (self.uniform - self.data)
        return (self.data - self.most) / (self.data - self.uniform) if self.data > self.most else 0.0

    @property
    def kind(self) -> str:
        """On which side of uniform the data are."""
        return TOO_FEW if self.data < self.uniform else TOO_MANY


def all_cells(run: SmallRun, lower: float = 0.0, upper: float = math.inf) -> list[Cell]:
    """The cells of all tables over 1 … d columns with at least two codes each, smaller tables first, for one box."""
    space, domain = run.space, run.table.domain
    labels = [attribute.labels() for attribute in domain.attributes]
    varied = [j for j, size in enumerate(space.size.shape) if size > 1]
    found = []
    for count in range(1, min(space.size.degree, len(varied)) + 1):
        for columns in combinations(varied, count):
            shape = tuple(space.size.shape[j] for j in columns)
            data = _shares(run.table.codes[:, columns], shape)
            uniform = _shares(space.codes[:, columns], shape, space.weights)
            for codes, q, p in zip(product(*map(range, shape)), data.tolist(), uniform.tolist(), strict=True):
                text = ", ".join(
                    f"{shorten(domain.names[j], 16)} = {shorten(labels[j][code], 14)}"
                    for j, code in zip(columns, codes, strict=True)
                )
                # Its share may lie between both ends of the box, and, as all shares sum to 1, of what the rest leaves it;
                # uniform is inside, however the ends are rounded.
                least = min(p, max(lower * p, 1 - upper * (1 - p)))
                most = max(p, min(upper * p, 1 - lower * (1 - p)))
                found.append(Cell(columns, codes, text, q, p, least, most))
    return found


def _shares(codes: np.ndarray, shape: tuple[int, ...], weights: Floats | None = None) -> Floats:
    at = np.ravel_multi_index(tuple(codes.T), shape)
    total = np.bincount(at, weights, minlength=int(np.prod(shape)))
    return np.asarray(total / total.sum())


def cell_weights(run: SmallRun, cells: Sequence[Cell], multipliers: Floats) -> Floats:
    """β with Σ_c β_c 1_c(x) = w(x)·y up to a constant, of least Σ |J_c|·|β_c|; shape (number of cells,).

    Weights against the data, positive on a cell that the rows visit less than S or negative on one that they visit more,
    count several times as much: they appear only where the tables' overlap asks for them.

    Raises:
        SolverError: the linear program that finds them was not solved.
    """
    from scipy.optimize import linprog

    matrix = _indicators(run, cells)[1:]
    cost = np.array([len(cell.columns) for cell in cells], dtype=float)
    fewer = np.array([cell.data < cell.uniform for cell in cells])
    costs = np.concatenate([np.where(fewer, _AGAINST, 1.0) * cost, np.where(fewer, 1.0, _AGAINST) * cost])
    equalities: Any = sp.hstack([matrix, -matrix]).tocsc()
    found = linprog(costs, A_eq=equalities, b_eq=multipliers[1:], bounds=(0, None), method="highs")
    if found.x is None:
        raise SolverError(f"the dual solution could not be written on the cells: {found.message}")
    return np.asarray(found.x[: len(cells)] - found.x[len(cells) :])


def _indicators(run: SmallRun, cells: Sequence[Cell]) -> sp.csr_array:
    """The coefficients of every cell's indicator in the contrasts, shape (C, cells).

    The coefficient on a function f of some of the cell's columns is the mean of 1_c·f under the uniform measure: f's value
    on the cell, divided by the number of cells of its table. Functions of other columns have mean 0 on the cell.
    """
    basis = run.space.operator.functions.basis
    starts = {(): 0} | {columns: start for columns, (start, _) in tables_of(basis).items()}
    tables = [contrasts(size)[1:] for size in basis.sizes]
    rows, places, values = [], [], []
    for at, cell in enumerate(cells):
        code = dict(zip(cell.columns, cell.codes, strict=True))
        share = 1 / float(np.prod([basis.sizes[j] for j in cell.columns]))
        for count in range(len(cell.columns) + 1):
            for columns in combinations(cell.columns, count):
                block = np.array([share])
                for j in columns:
                    block = np.outer(block, tables[j][:, code[j]]).ravel()
                rows.append(starts[columns] + np.arange(len(block)))
                places.append(np.full(len(block), at))
                values.append(block)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(places)))
    return sp.coo_array(entries, shape=(run.space.size.dimension, len(cells))).tocsr()


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
    cells: tuple[Cell, ...]
    others: tuple[int, float]
    empty: int
    tables: int
    alone: Cell | None


def binding_info(run: SmallRun, *, floor: float, ceiling: float, most: int = _MOST_CELLS) -> BindingInfo:
    """Data of :func:`draw_binding`: the dual solution at this floor and ceiling, written as weights on cells.

    The weights of the sets of cells are not unique, because tables overlap; these have the least Σ |J|·|β| over the cells,
    J being a cell's columns.

    Raises:
        SolverError: the weights could not be found.
    """
    lower, upper = 2 * floor, ceiling - floor
    cells = all_cells(run, lower, upper)
    shrinkage = run.shrinkage(floor, ceiling)
    room, above = 1 - lower, max(0.0, upper - 1)
    tangent = run.reach.best(above / room if room > 0 else 1e3)
    empty = sum(cell.data == 0 for cell in cells)
    if tangent is None or shrinkage <= 0:
        return BindingInfo(shrinkage, 1.0, (), (0, 0.0), empty, len(cells), None)
    weights = cell_weights(run, cells, tangent.multipliers).tolist()
    found = [replace(cell, weight=weight) for cell, weight in zip(cells, weights, strict=True) if abs(weight) > 1e-9]
    found.sort(key=lambda cell: -abs(cell.share))
    rest = found[most:]
    alone = max(cells, key=lambda cell: cell.alone)
    return BindingInfo(
        shrinkage=shrinkage,
        reach=tangent.at_zero * room + tangent.slope * above,
        cells=tuple(found[:most]),
        others=(len(rest), sum(cell.share for cell in rest)),
        empty=empty,
        tables=len(cells),
        alone=alone if alone.alone > 0 else None,
    )


def alone_cells(run: SmallRun, *, floor: float, ceiling: float) -> tuple[Cell, ...]:
    """The cells that would each force a λ above 0 if they were alone, the largest first."""
    cells = sorted(all_cells(run, 2 * floor, ceiling - floor), key=lambda cell: -cell.alone)
    return tuple(cell for cell in cells[:_MOST_CELLS] if cell.alone > 0)


def draw_alone(cells: Sequence[Cell]) -> Any:
    """An Altair bar chart: the λ that each cell alone forces."""
    chart, labels = _cell_bars(cells, [cell.alone for cell in cells], {"title": "λ that the cell alone needs"})
    return _layers.finish(chart, "What each cell needs", legend_labels=labels, plot=max(24 * len(cells) + 10, 90))


def draw_binding(info: BindingInfo) -> Any:
    """An Altair bar chart: the cells' parts of the conflict, coloured by the side of uniform on which the data are."""
    if not info.cells:
        raise ParameterError("info", "no cells", "at least one: nothing binds at λ = 0")
    axis = {"title": "part of the conflict (all parts sum to 100 %)", "labelExpr": _layers.PERCENT}
    bars, labels = _cell_bars(info.cells, [cell.share for cell in info.cells], axis)
    title = "Which cells bind"
    subtitle = "Dual values of the linear program, written on the cells."
    if info.others[0]:
        subtitle += f" {info.others[0]} more hold {percent(info.others[1], 3)} together."
    return _layers.finish(
        bars, title, subtitle, legend_labels=labels, line_length=80, plot=max(24 * len(info.cells) + 10, 90)
    )


def _cell_bars(cells: Sequence[Cell], values: Sequence[float], axis: dict[str, str]) -> tuple[Any, list[str]]:
    """A bar of each cell up to its value, and the names of the colours."""
    labels = [TOO_FEW, TOO_MANY]
    rows = pd.DataFrame(
        [
            {
                "cell": cell.text,
                "value": value,
                "kind": cell.kind,
                "weight": f"{cell.weight:+.3g}",
                "data": percent(cell.data, 4),
                "box": f"{percent(cell.least, 4)} to {percent(cell.most, 4)}",
                "alone": f"{cell.alone:.4f}" if cell.alone > 0 else "nothing",
            }
            for cell, value in zip(cells, values, strict=True)
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
            x=alt.X("value:Q", axis=alt.Axis(tickCount=5, **axis)),
            **channels(labels, "kind", color=(ORANGE, GREEN)),
            tooltip=tips(
                {
                    "cell": "cell",
                    "data": "share of the rows",
                    "box": "the box allows",
                    "weight": "dual value β",
                    "alone": "alone forces λ ≥",
                }
            ),
        )
    )
    return bars, labels
