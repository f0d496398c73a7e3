"""Errors of the marginal tables in a comparison: a matrix of pairs of columns, and bars by number of columns.

Backgrounds are transparent and the text keeps the colour of the surrounding theme, so that light and dark both work. A
release has the same colour in every figure that is given the releases in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpsyn.kit.plotly import GRID, at_least_one, bar_style, finish, safe, segments, series, shorten, two_panels

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.report import Report

_SMALLEST_SCALE = 0.01


@dataclass(frozen=True)
class HeatmapInfo:
    """Total variation of all pairs of columns, shape (q, q), None where not measured; ``upper`` ends the colour scale."""

    title: str
    names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    upper: float


def shared_upper(pairwise: Iterable[pd.DataFrame]) -> float:
    """End of a colour scale that fits all the matrices: their largest entry, 0.01 at least."""
    largest = [float(np.nanmax(matrix.to_numpy(), initial=0.0)) for matrix in pairwise]
    return max([_SMALLEST_SCALE, *largest])


def heatmap_info(pairwise: pd.DataFrame, title: str, upper: float | None = None) -> HeatmapInfo:
    """Data of :func:`draw_heatmap`.

    Args:
        pairwise: q × q total variation, as :class:`~dpsyn.evaluation.report.Report` has it.
        title: what the matrix is of.
        upper: end of the colour scale, from :func:`shared_upper` when several releases are shown; its own largest when None.
    """
    values = tuple(tuple(None if math.isnan(v) else float(v) for v in row) for row in pairwise.to_numpy())
    return HeatmapInfo(
        title, tuple(map(str, pairwise.columns)), values, shared_upper([pairwise]) if upper is None else upper
    )


def draw_heatmap(info: HeatmapInfo) -> go.Figure:
    """Heat-map: one square per pair of columns, on the diagonal the single columns."""
    import plotly.graph_objects as go

    q = len(info.names)
    labels = [safe(shorten(name)) for name in info.names]
    places = list(range(q))
    hover = [[_pair_text(info, i, j) for j in places] for i in places]
    small = q <= 12
    figure = go.Figure(
        go.Heatmap(
            z=info.values,
            x=places,
            y=places,
            zmin=0,
            zmax=info.upper,
            colorscale="Cividis",
            text=hover,
            hovertemplate="%{text}<extra></extra>",
            texttemplate="%{z:.3f}" if small else None,
            xgap=1 if q <= 30 else 0,
            ygap=1 if q <= 30 else 0,
            colorbar={"title": {"text": "Total variation", "side": "right"}, "thickness": 14},
            hoverongaps=False,
        )
    )
    size = 12 if small else max(7, min(11, 700 // q))
    axis = {"tickmode": "array", "tickvals": places, "ticktext": labels, "tickfont": {"size": size}, "automargin": True}
    figure.update_xaxes(**axis, showgrid=False, zeroline=False, tickangle=-90 if q > 6 else 0)
    figure.update_yaxes(**axis, showgrid=False, zeroline=False, autorange="reversed")
    return finish(figure, info.title, height=int(min(1_000, max(380, 170 + q * (36 if small else 20 if q <= 30 else 14)))))


def _pair_text(info: HeatmapInfo, i: int, j: int) -> str:
    value = info.values[i][j]
    what = info.names[i] if i == j else f"{info.names[i]} × {info.names[j]}"
    return f"{safe(what)}<br>" + ("not measured" if value is None else f"total variation {value:.4f}")


@dataclass(frozen=True)
class ErrorsInfo:
    """Mean and largest total variation, by release and number of columns of the tables.

    ``mean`` and ``largest`` have one row per release and one entry per degree, None where it was not measured; the floors
    have one entry per degree and are empty if there were no held-out rows.
    """

    title: str
    releases: tuple[str, ...]
    degrees: tuple[int, ...]
    mean: tuple[tuple[float | None, ...], ...]
    largest: tuple[tuple[float | None, ...], ...]
    floor_mean: tuple[float | None, ...]
    floor_largest: tuple[float | None, ...]


def errors_info(reports: Mapping[str, Report], title: str = "Error of the marginal tables") -> ErrorsInfo:
    """Data of :func:`draw_errors`, for reports by the name of the release, all of the same real table."""
    at_least_one(reports)
    degrees = tuple(sorted({degree for report in reports.values() for degree in report.marginals}))
    floors = [report.noise_floor for report in reports.values() if report.noise_floor is not None]

    def row(marginals: Mapping[int, Any], what: str) -> tuple[float | None, ...]:
        return tuple(float(getattr(marginals[d], what)) if d in marginals else None for d in degrees)

    return ErrorsInfo(
        title=title,
        releases=tuple(reports),
        degrees=degrees,
        mean=tuple(row(report.marginals, "mean") for report in reports.values()),
        largest=tuple(row(report.marginals, "max") for report in reports.values()),
        floor_mean=row(floors[0].marginals, "mean") if floors else (),
        floor_largest=row(floors[0].marginals, "max") if floors else (),
    )


def draw_errors(info: ErrorsInfo) -> go.Figure:
    """Bars by degree, the mean on the left and the largest on the right; the sampling-noise floor is a line across them."""
    import plotly.graph_objects as go

    figure = two_panels("Mean over the tables", "Worst table")
    places = list(range(len(info.degrees)))
    for panel, (values, floor) in enumerate(((info.mean, info.floor_mean), (info.largest, info.floor_largest)), start=1):
        for at, (name, heights) in enumerate(zip(info.releases, values, strict=True)):
            bars = go.Bar(x=places, y=heights, **series(name, panel), marker=bar_style(at))
            bars.update(hovertemplate=f"{safe(name)}<br>%{{y:.4f}}<extra></extra>")
            figure.add_trace(bars, row=1, col=panel)
        if floor:
            line = segments(floor, "Sampling noise (real against held-out real)", panel)
            figure.add_trace(line, row=1, col=panel)
    ticks = [f"{degree} column{'s' * (degree > 1)}" for degree in info.degrees]
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=ticks, title_text="Columns in a table", showgrid=False)
    figure.update_yaxes(rangemode="tozero", gridcolor=GRID)
    figure.update_yaxes(title_text="Total variation (0 to 1)", row=1, col=1)
    return finish(figure, info.title, entries=len(info.releases) + bool(info.floor_mean), above=80)
