"""One contingency table drawn real against synthetic: bars for one column, maps for two, the worst cells for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.kit.plotly import GRID, bar_style, finish, safe, shorten
from dpsyn.kit.theme import GUIDE

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_CELLS = 14
_LARGEST_MAP = 30
_NUMBERED_MAP = 8
_SMALLEST_SCALE = 0.01


@dataclass(frozen=True)
class TableInfo:
    """Shares of the cells of one table.

    Attributes:
        columns: its columns.
        values: for each column the text of every code.
        cells: codes of the cells that are occupied on either side, shape (number of cells, number of columns).
        real, synthetic: shares of the rows in these cells.
        release: what the synthetic rows are called; ``at`` is its position among the releases, for its colour.
        variation: total variation, ½ Σ |real - synthetic|.
        floor: the same of held-out real rows, or None.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    cells: Codes
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    release: str
    at: int
    variation: float
    floor: float | None

    @property
    def title(self) -> str:
        """Columns, and how far apart the two sides are."""
        beside = "" if self.floor is None else f"; held-out real rows: {self.floor:.3f}"
        return f"{' × '.join(shorten(name, 24) for name in self.columns)} (total variation {self.variation:.3f}{beside})"


def table_info(
    domain: Domain,
    columns: Sequence[str],
    real: Codes,
    synthetic: Codes,
    release: str,
    *,
    at: int = 0,
    held_out: Codes | None = None,
) -> TableInfo:
    """Data of :func:`draw_table`.

    Args:
        domain: of all the rows.
        columns: of the table.
        real: codes of the real rows, shape (n, q).
        synthetic: codes of the synthetic rows, shape (k, q).
        release: what to call them.
        at: position among the releases.
        held_out: codes of held-out real rows, for the error that as many fresh real rows make.

    Raises:
        ParameterError: no columns, or no rows on one side.
    """
    if not columns:
        raise ParameterError("columns", "none", "at least one column")
    places = [domain.index(name) for name in columns]
    sides = [real, synthetic] + ([held_out] if held_out is not None else [])
    if any(len(side) == 0 for side in sides):
        raise ParameterError("rows", 0, "at least 1 row on either side")
    # Only the occupied cells: a table of many columns may have more cells than there are bytes.
    cells, of_row = np.unique(np.concatenate([side[:, places] for side in sides]), axis=0, return_inverse=True)
    ends = np.cumsum([0, *map(len, sides)])
    shares = [np.bincount(of_row.ravel()[a:b], minlength=len(cells)) / (b - a) for a, b in pairwise(ends)]
    floor = 0.5 * float(np.abs(shares[0] - shares[2]).sum()) if held_out is not None else None
    return TableInfo(
        columns=tuple(columns),
        values=tuple(tuple(domain.attributes[j].labels()) for j in places),
        cells=cells,
        real=tuple(map(float, shares[0])),
        synthetic=tuple(map(float, shares[1])),
        release=release,
        at=at,
        variation=0.5 * float(np.abs(shares[0] - shares[1]).sum()),
        floor=floor,
    )


def draw_table(info: TableInfo) -> go.Figure:
    """Two columns: maps of the real shares, the synthetic ones, and their difference. Otherwise bars of the worst cells."""
    if len(info.columns) == 2 and max(map(len, info.values)) <= _LARGEST_MAP:
        return _maps(info)
    return _bars(info)


def _maps(info: TableInfo) -> go.Figure:
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1, cols=3, subplot_titles=("Real", safe(shorten(info.release, 32)), "Synthetic less real"),
        horizontal_spacing=0.04, shared_yaxes=True,
    )  # fmt: skip
    shape = tuple(map(len, info.values))
    grids = []
    for shares in (info.real, info.synthetic):
        grid = np.zeros(shape)
        grid[tuple(info.cells.T)] = shares
        grids.append(grid)
    difference = grids[1] - grids[0]
    upper = max(float(grids[0].max()), float(grids[1].max()))
    widest = max(float(np.abs(difference).max()), _SMALLEST_SCALE)
    small = max(shape) <= _NUMBERED_MAP
    for panel, (grid, low, high, scale) in enumerate(
        ((grids[0], 0, upper, "Cividis"), (grids[1], 0, upper, "Cividis"), (difference, -widest, widest, "RdBu")), start=1
    ):
        figure.add_heatmap(
            z=grid,
            zmin=low,
            zmax=high,
            colorscale=scale,
            showscale=False,
            xgap=1,
            ygap=1,
            texttemplate=("%{z:+.3f}" if panel == 3 else "%{z:.3f}") if small else None,
            hovertemplate=f"{safe(info.columns[0])} = %{{customdata[0]}}<br>{safe(info.columns[1])} = %{{customdata[1]}}"
            "<br>%{z:.4f}<extra></extra>",
            customdata=[[[safe(a), safe(b)] for b in info.values[1]] for a in info.values[0]],
            row=1,
            col=panel,
        )
    rows, columns = ([safe(shorten(v, 16)) for v in values] for values in info.values)
    tilted = len(columns) > 4 or max(map(len, columns)) > 9
    figure.update_xaxes(
        tickmode="array", tickvals=list(range(len(columns))), ticktext=columns, showgrid=False, zeroline=False,
        tickangle=-60 if tilted else 0, automargin=True, title_text=safe(shorten(info.columns[1], 30)),
    )  # fmt: skip
    figure.update_yaxes(
        tickmode="array", tickvals=list(range(len(rows))), ticktext=rows, showgrid=False, zeroline=False,
        autorange="reversed", automargin=True,
    )  # fmt: skip
    figure.update_yaxes(title_text=safe(shorten(info.columns[0], 30)), row=1, col=1)
    return finish(figure, info.title, height=int(min(760, 230 + 26 * len(rows))), above=80)


def _bars(info: TableInfo) -> go.Figure:
    import plotly.graph_objects as go

    real, synthetic = np.array(info.real), np.array(info.synthetic)
    worst = np.argsort(-np.abs(real - synthetic), kind="stable")[:_MOST_CELLS]
    names = [
        safe(" · ".join(shorten(info.values[j][code], 18) for j, code in enumerate(info.cells[i].tolist()))) for i in worst
    ]
    places = list(range(len(worst)))
    figure = go.Figure()
    sides: tuple[tuple[str, Any, Any], ...] = (
        ("Real", real, {"color": GUIDE, "line": {"width": 0}}),
        (info.release, synthetic, bar_style(info.at)),
    )
    for name, shares, style in sides:
        bars = go.Bar(y=places, x=shares[worst], orientation="h", name=safe(shorten(name, 40)), marker=style, text=names)
        bars.update(textposition="none", hovertemplate=f"%{{text}}<br>{safe(name)}: %{{x:.4f}}<extra></extra>")
        figure.add_trace(bars)
    figure.update_yaxes(tickmode="array", tickvals=places, ticktext=names, autorange="reversed", automargin=True)
    figure.update_xaxes(title_text="Share of rows", gridcolor=GRID, rangemode="tozero")
    if len(info.real) > len(worst):
        figure.update_xaxes(title_text=f"Share of rows; the {len(worst)} cells that differ most, of {len(info.real):,}")
    return finish(figure, info.title, height=int(150 + 30 * len(worst)), entries=2)
