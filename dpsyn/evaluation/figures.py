"""Figures of a comparison: pairs of columns, correlations, coefficients, single tables.

Backgrounds are transparent and the text keeps the colour of the surrounding theme, so that light and dark both work. A
release has the same colour in every figure that is given the releases in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import escape
from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.fresh import fresh_rows
from dpsyn.evaluation.report import Report
from dpsyn.kit.layers import BLUE, GUIDE, VERMILLION
from dpsyn.kit.plotly import (
    GRID,
    LINE_BREAK,
    at_least_one,
    bar_style,
    dot_style,
    finish,
    series,
    shorten,
    shorten_term,
    wrapped_lines,
)
from dpsyn.notation import short
from dpsyn.privacy.histograms import Encoding

if TYPE_CHECKING:
    import plotly.graph_objects as go

Floats = npt.NDArray[np.float64]

_SMALLEST_SCALE = 0.01
_TICKS = [digit / unit for unit in (10_000, 1000, 100, 10) for digit in (1, 2, 5)] + [1.0]
_MOST_CELLS = 14
_LARGEST_MAP = 30
_NUMBERED_MAP = 8
_SMALLEST_DIFFERENCE = 0.01
_DIFFERENCE = "Synthetic minus real"
_MORE_OR_LESS = [[0, VERMILLION], [0.5, "rgba(127,127,127,0.15)"], [1, BLUE]]
"""Colours of less and of more: what is right has hardly any, on a light page as on a dark one."""
_MATRICES_ACROSS = 3
_PANEL_TITLE, _PANEL_LINE, _LABEL_CHARACTER = 30, 18, 6.5
"""Characters in a line of a title that fit above one of three panels; pixels of a line, and of a character of a slanting
label downwards."""
_MOST_TERMS = 10


def draw_heatmaps(matrices: Mapping[str, pd.DataFrame]) -> dict[str, go.Figure]:
    """Heat-maps of total variation, all on one colour scale: one square a pair of columns, on the diagonal the single ones.

    Colours follow the square root: differences of good releases are seen beside a bad one.

    ``matrices`` are q × q matrices as :class:`~dpsyn.evaluation.report.Report` has them, NaN where not measured, by title.
    """
    largest = [float(np.nanmax(matrix.to_numpy(), initial=0.0)) for matrix in matrices.values()]
    upper = max([_SMALLEST_SCALE, *largest])
    return {title: _heatmap(matrix, title, upper) for title, matrix in matrices.items()}


def _heatmap(matrix: pd.DataFrame, title: str, upper: float) -> go.Figure:
    import plotly.graph_objects as go

    names = [str(name) for name in matrix.columns]
    values = [[None if math.isnan(v) else float(v) for v in row] for row in matrix.to_numpy()]
    q = len(names)
    labels = [escape.chart(shorten(name)) for name in names]
    places = list(range(q))
    small = q <= 12
    ticks = [0.0, *(tick for tick in _TICKS if upper / 60 <= tick <= upper)]

    def told(i: int, j: int) -> str:
        value, what = values[i][j], names[i] if i == j else f"{names[i]} × {names[j]}"
        return f"{escape.chart(what)}<br>" + ("not measured" if value is None else f"total variation {value:.4f}")

    figure = go.Figure(
        go.Heatmap(
            z=[[None if v is None else math.sqrt(v) for v in row] for row in values],
            x=places,
            y=places,
            zmin=0,
            zmax=math.sqrt(upper),
            colorscale="Cividis",
            text=[["" if v is None else f"{v:.3f}" for v in row] for row in values],
            hovertext=[[told(i, j) for j in places] for i in places],
            hovertemplate="%{hovertext}<extra></extra>",
            texttemplate="%{text}" if small else None,
            xgap=1 if q <= 30 else 0,
            ygap=1 if q <= 30 else 0,
            colorbar={
                "title": {"text": "Total variation, root scale", "side": "right"},
                "thickness": 14,
                "tickvals": [math.sqrt(tick) for tick in ticks],
                "ticktext": [short(tick) for tick in ticks],
            },
            hoverongaps=False,
        )
    )
    size = 12 if small else max(7, min(11, 700 // q))
    axis = {"tickmode": "array", "tickvals": places, "ticktext": labels, "tickfont": {"size": size}, "automargin": True}
    figure.update_xaxes(**axis, showgrid=False, zeroline=False, tickangle=-90 if q > 6 else 0)
    figure.update_yaxes(**axis, showgrid=False, zeroline=False, autorange="reversed")
    return finish(figure, title, height=int(min(1_000, max(380, 170 + q * (36 if small else 20 if q <= 30 else 14)))))


def draw_correlations(reports: Mapping[str, Report]) -> go.Figure | None:
    """The rank correlation of every pair of numeric and date columns: a square of the real rows, and one of each release.

    None where there are fewer than two such columns.

    Raises:
        ParameterError: there are no reports.
    """
    from plotly.subplots import make_subplots

    at_least_one(reports)
    found = {name: r.release.correlations["rank correlation"] for name, r in reports.items() if r.release.correlations}
    if not found:
        return None
    real = next(iter(found.values())).real
    matrices = {"Real": real, **{name: correlation.rows for name, correlation in found.items()}}
    names = [str(name) for name in real.columns]
    places, labels = list(range(len(names))), [escape.chart(shorten(name)) for name in names]
    across = min(len(matrices), _MATRICES_ACROSS)
    down = -(-len(matrices) // across)
    titles = [[escape.chart(shorten(line, _PANEL_TITLE)) for line in wrapped_lines(name, _PANEL_TITLE)] for name in matrices]
    title = _PANEL_LINE * max(map(len, titles))
    panel, between = (30 if len(names) <= 12 else 12) * len(names), title + 25
    plot = down * panel + (down - 1) * between
    figure = make_subplots(
        rows=down, cols=across, subplot_titles=[LINE_BREAK.join(lines) for lines in titles],
        horizontal_spacing=0.03, vertical_spacing=between / plot if down > 1 else 0, shared_yaxes=True,
    )  # fmt: skip
    figure.update_annotations(font_size=13)
    for at, matrix in enumerate(matrices.values()):
        values = [[None if math.isnan(v) else float(v) for v in row] for row in matrix.to_numpy()]
        figure.add_heatmap(
            z=values,
            x=places,
            y=places,
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            showscale=at == 0,
            colorbar={"thickness": 14},
            xgap=1,
            ygap=1,
            texttemplate="%{z:.2f}" if len(names) <= _NUMBERED_MAP else None,
            customdata=[[f"{escape.chart(a)} × {escape.chart(b)}" for b in names] for a in names],
            hovertemplate="%{customdata}<br>%{z:.3f}<extra></extra>",
            hoverongaps=False,
            row=at // across + 1,
            col=at % across + 1,
        )
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": labels, "showgrid": False, "zeroline": False}
    # A range of its own also for a panel in which nothing was measured.
    ends = len(names) - 0.5
    figure.update_xaxes(**ticks, tickangle=-60, automargin=True, range=[-0.5, ends])
    figure.update_yaxes(**ticks, range=[ends, -0.5], automargin=True)
    for at in range(len(matrices) - across):
        figure.update_xaxes(showticklabels=False, row=at // across + 1, col=at % across + 1)
    above, below = 62 + title, 20 + round(_LABEL_CHARACTER * max(map(len, labels)))
    finish(figure, "Rank correlation", height=above + plot + below, above=above)
    return figure.update_layout(margin={"b": below})


def draw_coefficients(reports: Mapping[str, Report], places: Sequence[int] = ()) -> go.Figure | None:
    """Coefficients of the target's regression with their 95 % intervals, by real rows and by each release: of many terms
    those on which the real rows are surest. None where there is no regression. ``places`` as :func:`draw_errors` takes them.

    Raises:
        ParameterError: there are no reports.
    """
    import plotly.graph_objects as go

    at_least_one(reports)
    found = {name: r.release.regression for name, r in reports.items() if r.release.regression is not None}
    if not found:
        return None
    first = next(iter(found.values()))
    sure = [abs(term.real.value) / (term.real.high - term.real.low) for term in first.terms]
    shown = np.sort(np.argsort(-np.array(sure), kind="stable")[:_MOST_TERMS])
    styles = dict(zip(reports, places or range(len(reports)), strict=True))
    real = {"color": GUIDE, "size": 11, "symbol": "line-ns", "line": {"width": 2, "color": GUIDE}}
    series_of: list[tuple[str, list[Any], dict[str, Any]]] = [("Real rows", [t.real for t in first.terms], real)]
    series_of += [(name, [t.other for t in r.terms], dot_style(styles[name])) for name, r in found.items()]
    drawn = [intervals[i] for _, intervals, _ in series_of for i in shown]
    silent = any(one is not None and not one.is_estimated for one in drawn)
    figure = go.Figure()
    for at, (name, intervals, style) in enumerate(series_of):
        told = enumerate(intervals[i] for i in shown)
        there = [(place, one) for place, one in told if one is not None and one.is_estimated]
        values = [interval.value for _, interval in there]
        height = [place + 0.7 * ((at + 0.5) / len(series_of) - 0.5) for place, _ in there]
        bars = {"type": "data", "array": [i.high - i.value for _, i in there], "thickness": 2, "width": 0}
        text = [f"{escape.chart(name)}<br>{short(i.value, 3)} ({short(i.low, 3)} to {short(i.high, 3)})" for _, i in there]
        dots = go.Scatter(x=values, y=height, mode="markers", marker=style, error_x=bars, **series(name))
        figure.add_trace(dots.update(customdata=text, hovertemplate="%{customdata}<extra></extra>"))
    names = [escape.chart(shorten_term(first.terms[i].name, 34)) for i in shown]
    ticks = {"tickmode": "array", "tickvals": list(range(len(shown))), "ticktext": names}
    figure.update_yaxes(**ticks, autorange="reversed", automargin=True, showgrid=False, zeroline=False)
    axis = "Standardised coefficient, 95 % interval" + silent * ". Left out: of columns that are constant in a release"
    figure.update_xaxes(title_text=axis, gridcolor=GRID, zerolinecolor=GUIDE)
    title = f"What predicts {shorten(first.target, 30)}"
    return finish(figure, title, height=int(140 + (14 + 9 * len(series_of)) * len(shown)), entries=len(series_of))


def draw_table(
    encoding: Encoding,
    columns: Sequence[str],
    real: Codes,
    synthetic: Codes,
    release: str,
    *,
    at: int = 0,
    held_out: Codes | None = None,
) -> go.Figure:
    """Two columns: maps of the real shares, the synthetic ones, and their difference. Otherwise bars of the worst cells.

    Args:
        encoding: of all the rows.
        columns: of the table.
        real: codes of the real rows, shape (n, q).
        synthetic: codes of the synthetic rows, shape (k, q).
        release: what to call them.
        at: position among the releases, for its colour.
        held_out: codes of held-out real rows, for the error that as many fresh real rows make.

    Raises:
        ParameterError: no columns, or no rows on one side.
    """
    sides = [real, synthetic] + ([] if held_out is None else [held_out])
    cells, shares = table_shares(encoding.domain, columns, sides)
    far = [f"{0.5 * float(np.abs(shares[0] - other).sum()):.3f}" for other in shares[1:]]
    names = " × ".join(shorten(name, 24) for name in columns)
    beside = "" if held_out is None else f"; {fresh_rows(len(held_out))}: "
    title = f"{names} (total variation {beside.join(far)})"
    values = [encoding.labels(encoding.domain.index(name)) for name in columns]
    if len(columns) == 2 and max(map(len, values)) <= _LARGEST_MAP:
        return _maps(title, columns, values, cells, shares, release)
    return _bars(title, values, cells, shares, release, at)


def table_shares(domain: Domain, columns: Sequence[str], sides: Sequence[Codes]) -> tuple[Codes, list[Floats]]:
    """Codes of the cells that are occupied on any side, shape (cells, columns), and each side's share of rows in them."""
    if not columns:
        raise ParameterError("columns", "none", "at least one column")
    if any(len(side) == 0 for side in sides):
        raise ParameterError("rows", 0, "at least 1 row on either side")
    places = [domain.index(name) for name in columns]
    # Only the occupied cells: a table of many columns may have more cells than there are bytes.
    cells, of_row = np.unique(np.concatenate([side[:, places] for side in sides]), axis=0, return_inverse=True)
    ends = np.cumsum([0, *map(len, sides)])
    return cells, [np.bincount(of_row.ravel()[a:b], minlength=len(cells)) / (b - a) for a, b in pairwise(ends)]


def _maps(
    title: str,
    names: Sequence[str],
    values: Sequence[Sequence[str]],
    cells: Codes,
    shares: Sequence[Floats],
    release: str,
) -> go.Figure:
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1, cols=3, subplot_titles=("Real", escape.chart(shorten(release, 32)), _DIFFERENCE),
        horizontal_spacing=0.04, shared_yaxes=True,
    )  # fmt: skip
    shape = tuple(map(len, values))
    grids = np.zeros((2, *shape))
    for grid, of_side in zip(grids, shares, strict=False):
        grid[tuple(cells.T)] = of_side
    difference = grids[1] - grids[0]
    upper = float(grids.max())
    widest = max(float(np.abs(difference).max()), _SMALLEST_DIFFERENCE)
    small = max(shape) <= _NUMBERED_MAP
    for panel, (grid, low, high, scale) in enumerate(
        ((grids[0], 0, upper, "Cividis"), (grids[1], 0, upper, "Cividis"), (difference, -widest, widest, _MORE_OR_LESS)),
        start=1,
    ):
        figure.add_heatmap(
            z=grid,
            zmin=low,
            zmax=high,
            colorscale=scale,
            # One key for the two maps of shares, and one for their difference.
            showscale=panel > 1,
            colorbar={"thickness": 12, "x": 1.02 if panel == 2 else 1.14, "title": "share" if panel == 2 else "difference"},
            xgap=1,
            ygap=1,
            texttemplate=("%{z:+.3f}" if panel == 3 else "%{z:.3f}") if small else None,
            hovertemplate=f"{escape.chart(names[0])} = %{{customdata[0]}}<br>{escape.chart(names[1])} = %{{customdata[1]}}"
            "<br>%{z:.4f}<extra></extra>",
            customdata=[[[escape.chart(a), escape.chart(b)] for b in values[1]] for a in values[0]],
            row=1,
            col=panel,
        )
    rows, columns = ([escape.chart(shorten(v, 16)) for v in labels] for labels in values)
    tilted = len(columns) > 4 or max(map(len, columns)) > 9
    figure.update_xaxes(
        tickmode="array", tickvals=list(range(len(columns))), ticktext=columns, showgrid=False, zeroline=False,
        tickangle=-60 if tilted else 0, automargin=True, title_text=escape.chart(shorten(names[1], 30)),
    )  # fmt: skip
    figure.update_yaxes(
        tickmode="array", tickvals=list(range(len(rows))), ticktext=rows, showgrid=False, zeroline=False,
        autorange="reversed", automargin=True,
    )  # fmt: skip
    figure.update_yaxes(title_text=escape.chart(shorten(names[0], 30)), row=1, col=1)
    return finish(figure, title, height=int(min(760, 230 + 26 * len(rows))), above=80)


def _bars(
    title: str, values: Sequence[Sequence[str]], cells: Codes, shares: Sequence[Floats], release: str, at: int
) -> go.Figure:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    real, synthetic = shares[:2]
    worst = np.argsort(-np.abs(real - synthetic), kind="stable")[:_MOST_CELLS]
    names = [
        escape.chart(" · ".join(shorten(values[j][code], 18) for j, code in enumerate(cells[i].tolist()))) for i in worst
    ]
    places = list(range(len(worst)))
    figure = make_subplots(
        rows=1, cols=2, subplot_titles=("Share of rows", _DIFFERENCE), horizontal_spacing=0.05, shared_yaxes=True
    )
    sides: tuple[tuple[str, Any, Any], ...] = (
        ("Real", real, {"color": GUIDE, "line": {"width": 0}}),
        (release, synthetic, bar_style(at)),
    )
    for name, side, style in sides:
        bars = go.Bar(y=places, x=side[worst], orientation="h", name=escape.chart(shorten(name, 40)), marker=style)
        bars.update(text=names, textposition="none")
        bars.update(hovertemplate=f"%{{text}}<br>{escape.chart(name)}: %{{x:.4f}}<extra></extra>")
        figure.add_trace(bars, row=1, col=1)
    # Beside a share of nearly all rows the others are invisible, and so is what is wrong with it.
    apart = go.Bar(y=places, x=(synthetic - real)[worst], orientation="h", marker=bar_style(at), showlegend=False)
    apart.update(text=names, textposition="none", hovertemplate="%{text}<br>%{x:+.4f}<extra></extra>")
    figure.add_trace(apart, row=1, col=2)
    figure.update_yaxes(tickmode="array", tickvals=places, ticktext=names, autorange="reversed", automargin=True)
    figure.update_xaxes(gridcolor=GRID, rangemode="tozero", zerolinecolor=GUIDE)
    if len(real) > len(worst):
        figure.update_xaxes(title_text=f"the {len(worst)} cells that differ most, of {len(real):,}", row=1, col=1)
    return finish(figure, title, height=int(180 + 30 * len(worst)), entries=2, above=80)
