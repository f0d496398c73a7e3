"""Figures of a comparison: for each one a function that makes its data, and one that draws them.

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

from dpsyn.domain import Attribute, Codes
from dpsyn.errors import ParameterError
from dpsyn.figures._panels import GRID, bar_style, dot_style, finish, safe, segments, series, shorten, two_panels
from dpsyn.figures.theme import GUIDE, HERE

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from dpsyn.evaluation.report import Report

_SMALLEST_SCALE = 0.01
_MOST_BARS = 30


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
    _some(reports)
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


@dataclass(frozen=True)
class ScoresInfo:
    """Accuracy and ROC-AUC, by release and classifier, None where not defined; ``notes`` says why.

    ``accuracy``, ``auc`` and ``notes`` have one row per release and one entry per classifier; ``real_accuracy`` and
    ``real_auc`` are those of train-on-real. ``skipped`` names releases without scores, and the reason.
    """

    title: str
    releases: tuple[str, ...]
    classifiers: tuple[str, ...]
    accuracy: tuple[tuple[float | None, ...], ...]
    auc: tuple[tuple[float | None, ...], ...]
    notes: tuple[tuple[str, ...], ...]
    real_accuracy: tuple[float | None, ...]
    real_auc: tuple[float | None, ...]
    majority_accuracy: float
    skipped: Mapping[str, str]


def scores_info(reports: Mapping[str, Report]) -> ScoresInfo | str:
    """Data of :func:`draw_scores`, or the reason why there is nothing to draw: no release has scores."""
    _some(reports)
    found = {name: r.classification for name, r in reports.items() if not isinstance(r.classification, str)}
    skipped = {name: r.classification for name, r in reports.items() if isinstance(r.classification, str)}
    if not found:
        return next(iter(skipped.values()))
    real = next(iter(found.values())).real
    return ScoresInfo(
        title=f"Predicting {shorten(real.target, 30)} on {real.test_rows:,} held-out real rows",
        releases=tuple(found),
        classifiers=tuple(score.classifier for score in real.scores),
        accuracy=tuple(tuple(score.accuracy for score in c.synthetic) for c in found.values()),
        auc=tuple(tuple(score.auc for score in c.synthetic) for c in found.values()),
        notes=tuple(tuple(score.note for score in c.synthetic) for c in found.values()),
        real_accuracy=tuple(score.accuracy for score in real.scores),
        real_auc=tuple(score.auc for score in real.scores),
        majority_accuracy=real.majority_accuracy,
        skipped=skipped,
    )


def draw_scores(info: ScoresInfo) -> go.Figure:
    """Dots by classifier and release; train-on-real is a line, the majority class (for the AUC: chance) a dashed one."""
    import plotly.graph_objects as go

    figure = two_panels("Accuracy", "ROC-AUC")
    places = list(range(len(info.classifiers)))
    panels = ((info.accuracy, info.real_accuracy, info.majority_accuracy), (info.auc, info.real_auc, 0.5))
    for panel, (scores, real, chance) in enumerate(panels, start=1):
        for at, name in enumerate(info.releases):
            across = [p + 0.7 * ((at + 0.5) / len(info.releases) - 0.5) for p in places]
            text = [_score_text(name, s, note) for s, note in zip(scores[at], info.notes[at], strict=True)]
            shared = {"x": across, "customdata": text, "hovertemplate": "%{customdata}<extra></extra>"}
            dots = go.Scatter(y=scores[at], mode="markers", zorder=1, marker=dot_style(at), **series(name, panel), **shared)
            figure.add_trace(dots, row=1, col=panel)
            absent = ["n/a" if s is None else "" for s in scores[at]]
            if any(absent):
                height = [0.03 if word else None for word in absent]
                words = go.Scatter(y=height, mode="text", text=absent, textfont={"color": GUIDE}, **shared)
                words.update(showlegend=False, legendgroup=name)
                figure.add_trace(words, row=1, col=panel)
        figure.add_trace(segments(real, "Trained on real rows", panel), row=1, col=panel)
        flat = [chance] * len(places)
        line = segments(flat, "Majority class (AUC: chance)", panel, dash="dot", colour=HERE)
        figure.add_trace(line, row=1, col=panel)
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=list(info.classifiers), showgrid=False, zeroline=False)
    figure.update_yaxes(range=[-0.03, 1.03], gridcolor=GRID)
    figure.update_yaxes(title_text="Share of rows", row=1, col=1)
    figure.update_yaxes(title_text="Area (0 to 1)", row=1, col=2)
    return finish(figure, info.title, entries=len(info.releases) + 2, above=80)


def _score_text(name: str, score: float | None, note: str) -> str:
    head = f"{safe(name)}<br>" + ("not defined" if score is None else f"{score:.4f}")
    return head + (f"<br>{safe(note)}" if note else "")


@dataclass(frozen=True)
class ColumnInfo:
    """Shares of the values of one column, real and by release. ``shares`` has one row per release, as long as ``labels``.

    ``held`` are the shares among held-out real rows: what sampling alone does; empty without them.
    """

    title: str
    column: str
    labels: tuple[str, ...]
    real: tuple[float, ...]
    releases: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]
    held: tuple[float, ...] = ()


def column_info(
    attribute: Attribute, real: Codes, releases: Mapping[str, Codes], held_out: Codes | None = None
) -> ColumnInfo:
    """Data of :func:`draw_column`.

    Args:
        attribute: the column.
        real: its codes in the real table, shape (n,).
        releases: its codes by the name of the release, each of shape (k,). Of a categorical column with more than 30 codes
            the most frequent real ones are shown and the others are added up.
        held_out: its codes in held-out real rows.
    """
    held = [] if held_out is None else [held_out]
    shares = [_shares(attribute, codes) for codes in (real, *releases.values(), *held)]
    labels = attribute.labels()
    if attribute.size > _MOST_BARS and not attribute.is_binned:
        first = np.sort(np.argsort(-shares[0], kind="stable")[: _MOST_BARS - 1])
        labels = [labels[i] for i in first] + [f"({attribute.size - len(first)} others)"]
        shares = [np.append(s[first], max(1.0 - s[first].sum(), 0.0)) for s in shares]
    rows = [tuple(float(v) for v in s) for s in shares]
    last = len(releases) + 1
    title = f"Values of {attribute.name}"
    return ColumnInfo(
        title, attribute.name, tuple(labels), rows[0], tuple(releases), tuple(rows[1:last]), rows[last] if held else ()
    )


def _shares(attribute: Attribute, codes: Codes) -> np.ndarray:
    if len(codes) == 0:
        raise ParameterError("codes", "no rows", "at least 1 row")
    return np.bincount(codes, minlength=attribute.size) / len(codes)


def draw_column(info: ColumnInfo) -> go.Figure:
    """Bars of the share of rows by value: the real ones in grey, beside them each release."""
    import plotly.graph_objects as go

    places = list(range(len(info.labels)))
    figure = go.Figure()
    text = [safe(label) for label in info.labels]
    for at, (name, heights) in enumerate(zip(("Real", *info.releases), (info.real, *info.shares), strict=True)):
        style = {"color": GUIDE, "line": {"width": 0}} if at == 0 else bar_style(at - 1)
        bars = go.Bar(x=places, y=heights, name=safe(shorten(name, 40)), marker=style, text=text, textposition="none")
        bars.update(hovertemplate=f"{safe(name)}<br>%{{text}}<br>share %{{y:.4f}}<extra></extra>")
        figure.add_trace(bars)
    if info.held:
        figure.add_trace(segments(info.held, "Held-out real rows (sampling noise)", 1, dash="dot"))
    ticks = [safe(shorten(label)) for label in info.labels]
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=ticks, title_text=safe(shorten(info.column, 60)))
    figure.update_xaxes(automargin=True, tickangle=-45 if len(places) > 6 else 0)
    figure.update_yaxes(rangemode="tozero", gridcolor=GRID, title_text="Share of rows")
    return finish(figure, info.title, entries=len(info.releases) + 1 + bool(info.held))


def _some(reports: Mapping[str, Report]) -> None:
    if not reports:
        raise ParameterError("reports", "none", "at least one report")
