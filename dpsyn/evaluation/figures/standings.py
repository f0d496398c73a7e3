"""Several mechanisms on several datasets in one picture: a dot and its uncertainty each, beside floor and ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsyn.errors import ParameterError
from dpsyn.kit.theme import DASHES, GUIDE, SERIES

if TYPE_CHECKING:
    from dpsyn.evaluation.experiments.summary import Point

_WIDTH, _ROW = 200, 34
_LINES = ("sampling floor", "real data", "majority class")


@dataclass(frozen=True)
class Panel:
    """One measure on one dataset.

    Attributes:
        dataset, measure: which.
        points: a summary per mechanism.
        references: vertical lines by name.
    """

    dataset: str
    measure: str
    points: tuple[Point, ...]
    references: Mapping[str, float]


@dataclass(frozen=True)
class StandingsInfo:
    """Data of :func:`draw_standings`: panels by measure (rows) and dataset (columns), mechanisms in their order."""

    title: str
    measures: tuple[str, ...]
    datasets: tuple[str, ...]
    labels: tuple[str, ...]
    panels: tuple[Panel, ...]


def standings_info(
    title: str,
    points: Mapping[str, Mapping[str, Sequence[Point]]],
    references: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> StandingsInfo:
    """Data of :func:`draw_standings`.

    Args:
        title: of the picture.
        points: by dataset and measure, from :func:`~dpsyn.evaluation.experiments.summary.summarise`.
        references: by dataset and measure, from :func:`~dpsyn.evaluation.experiments.run.references`.

    Raises:
        ParameterError: no dataset, or two that have not the same measures.
    """
    if not points:
        raise ParameterError("points", "no dataset", "at least one dataset")
    measures = tuple(next(iter(points.values())))
    panels = []
    for dataset, found in points.items():
        if tuple(found) != measures:
            raise ParameterError("points", tuple(found), f"the same measures for every dataset: {', '.join(measures)}")
        panels += [Panel(dataset, m, tuple(found[m]), references.get(dataset, {}).get(m, {})) for m in measures]
    labels = dict.fromkeys(p.label for panel in panels for p in panel.points)
    return StandingsInfo(title, measures, tuple(points), tuple(labels), tuple(panels))


def draw_standings(info: StandingsInfo) -> Any:
    """An Altair chart: measures below each other, datasets side by side; open dots spend more than was asked for."""
    import altair as alt

    drawn = []
    for at, measure in enumerate(info.measures):
        own = [panel for panel in info.panels if panel.measure == measure]
        along = _along(measure, own)
        drawn += [_panel(info, panel, along, names=i == 0, top=at == 0) for i, panel in enumerate(own)]
    chart = alt.concat(*drawn, columns=len(info.datasets), spacing={"row": 22, "column": 18})
    title = alt.TitleParams(info.title, anchor="start", fontSize=15, offset=12)
    return chart.resolve_scale(color="shared", strokeDash="shared").properties(title=title).configure_view(stroke="#d5dede")


def _along(measure: str, panels: Sequence[Panel]) -> dict[str, Any]:
    """Scale and axis of a measure, the same for all datasets: shares from 0 to 1, errors in proportion."""
    import altair as alt

    if measure.startswith(("accuracy", "ROC-AUC")):
        axis = alt.Axis(title=f"{measure} (higher is better)", values=[0, 0.2, 0.4, 0.6, 0.8, 1], format="~g")
        return {"scale": alt.Scale(domain=[0, 1], clamp=True), "axis": axis}
    numbers = [x for panel in panels for p in panel.points for x in (p.mean, p.low, p.high) if x > 0]
    numbers += [x for panel in panels for x in panel.references.values() if x > 0]
    low, high = min(numbers, default=0.01) / 1.3, max(numbers, default=1.0) * 1.3
    ticks = [10.0**i for i in range(-9, 1) if low <= 10.0**i <= high]
    axis = alt.Axis(title=f"{measure} (lower is better)", values=ticks, format="~g")
    return {"scale": alt.Scale(domain=[low, high], type="log", clamp=True, nice=False), "axis": axis}


def _panel(info: StandingsInfo, panel: Panel, along: dict[str, Any], *, names: bool, top: bool) -> Any:
    import altair as alt

    x = alt.X("mean:Q", **along)

    colours = alt.Scale(domain=list(info.labels), range=[SERIES[i % len(SERIES)] for i in range(len(info.labels))])
    listed = alt.Axis(title=None, labels=names, ticks=False, domain=False, labelLimit=200, labelFontSize=12)
    y = alt.Y("label:N", sort=list(info.labels), axis=listed, scale=alt.Scale(domain=list(info.labels)))
    data = alt.Data(
        values=[
            {
                "label": p.label,
                "mean": p.mean,
                "low": p.low,
                "high": p.high,
                "over": p.over_budget,
                "needs": f"needs ε = {p.claimed_epsilon:,.0f}" if p.over_budget and top else "",
            }
            for p in panel.points
        ]
    )
    base = alt.Chart(data)
    colour = alt.Color("label:N", scale=colours, legend=None)
    bars = base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", **along), x2="high:Q", y=y, color=colour)
    dots = base.mark_point(size=90, strokeWidth=2.5, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        fill=alt.condition("datum.over", alt.value("white"), alt.Color("label:N", scale=colours, legend=None)),
    )
    words = base.mark_text(dy=-12, align="center", fontSize=10, color="#5b6b6b").encode(x=x, y=y, text="needs:N")
    lines = alt.Chart(
        alt.Data(values=[{"line": name, "mean": value} for name, value in panel.references.items() if name in _LINES])
    )
    dashes = alt.Scale(domain=list(_LINES), range=[DASHES[2], DASHES[0], DASHES[1]])
    legend = alt.Legend(title=None, orient="bottom", symbolStrokeColor=GUIDE, symbolType="stroke", symbolSize=300)
    across = lines.mark_rule(color=GUIDE, strokeWidth=1.8).encode(
        x=x, strokeDash=alt.StrokeDash("line:N", scale=dashes, legend=legend)
    )
    return alt.layer(across, bars, dots, words).properties(
        width=_WIDTH,
        height=_ROW * len(info.labels),
        title=alt.TitleParams(panel.dataset if top else "", fontSize=12, anchor="start"),
    )
