"""Several mechanisms on several datasets in one picture: a dot and its uncertainty each, beside floor and ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpsyn.errors import ParameterError
from dpsyn.kit.theme import DASHES, GUIDE, SERIES

if TYPE_CHECKING:
    from dpsyn.evaluation.experiments.summary import Point

_WIDTH, _ROW = 200, 34
_LINES = ("sampling floor", "real data", "majority class")


def draw_standings(
    title: str,
    points: Mapping[str, Mapping[str, Sequence[Point]]],
    references: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> Any:
    """An Altair chart: measures below each other, datasets side by side; open dots spend more than was asked for.

    Args:
        title: of the picture.
        points: by dataset and measure, from :func:`~dpsyn.evaluation.experiments.summary.summarise`.
        references: vertical lines by dataset and measure, from :func:`~dpsyn.evaluation.report.references`.

    Raises:
        ParameterError: no dataset, or two that have not the same measures.
    """
    import altair as alt

    if not points:
        raise ParameterError("points", "no dataset", "at least one dataset")
    measures = tuple(next(iter(points.values())))
    for found in points.values():
        if tuple(found) != measures:
            raise ParameterError("points", tuple(found), f"the same measures for every dataset: {', '.join(measures)}")
    labels = list(dict.fromkeys(p.label for found in points.values() for m in measures for p in found[m]))
    drawn = []
    for measure in measures:
        lines = {dataset: references.get(dataset, {}).get(measure, {}) for dataset in points}
        numbers = [x for found in points.values() for p in found[measure] for x in (p.mean, p.low, p.high)]
        along = _along(measure, [*numbers, *(x for heights in lines.values() for x in heights.values())])
        for at, (dataset, found) in enumerate(points.items()):
            top = dataset if measure == measures[0] else None
            drawn.append(_panel(found[measure], lines[dataset], labels, along, names=at == 0, top=top))
    chart = alt.concat(*drawn, columns=len(points), spacing={"row": 22, "column": 18})
    heading = alt.TitleParams(title, anchor="start", fontSize=15, offset=12)
    return (
        chart.resolve_scale(color="shared", strokeDash="shared").properties(title=heading).configure_view(stroke="#d5dede")
    )


def _along(measure: str, numbers: Sequence[float]) -> dict[str, Any]:
    """Scale and axis of a measure, the same for all datasets: shares from 0 to 1, errors in proportion."""
    import altair as alt

    if measure.startswith(("accuracy", "ROC-AUC")):
        axis = alt.Axis(title=f"{measure} (higher is better)", values=[0, 0.2, 0.4, 0.6, 0.8, 1], format="~g")
        return {"scale": alt.Scale(domain=[0, 1], clamp=True), "axis": axis}
    numbers = [x for x in numbers if x > 0]
    low, high = min(numbers, default=0.01) / 1.3, max(numbers, default=1.0) * 1.3
    ticks = [10.0**i for i in range(-9, 1) if low <= 10.0**i <= high]
    axis = alt.Axis(title=f"{measure} (lower is better)", values=ticks, format="~g")
    return {"scale": alt.Scale(domain=[low, high], type="log", clamp=True, nice=False), "axis": axis}


def _panel(
    points: Sequence[Point],
    references: Mapping[str, float],
    labels: list[str],
    along: dict[str, Any],
    *,
    names: bool,
    top: str | None,
) -> Any:
    """One measure on one dataset: ``names`` of mechanisms at its left, the dataset on ``top`` if it is in the first line."""
    import altair as alt

    x = alt.X("mean:Q", **along)

    colours = alt.Scale(domain=labels, range=[SERIES[i % len(SERIES)] for i in range(len(labels))])
    listed = alt.Axis(title=None, labels=names, ticks=False, domain=False, labelLimit=200, labelFontSize=12)
    y = alt.Y("label:N", sort=labels, axis=listed, scale=alt.Scale(domain=labels))
    data = alt.Data(
        values=[
            {
                "label": p.label,
                "mean": p.mean,
                "low": p.low,
                "high": p.high,
                "over": p.over_budget,
                "needs": f"needs ε = {p.claimed_epsilon:,.0f}" if p.over_budget and top is not None else "",
            }
            for p in points
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
        alt.Data(values=[{"line": name, "mean": value} for name, value in references.items() if name in _LINES])
    )
    dashes = alt.Scale(domain=list(_LINES), range=[DASHES[2], DASHES[0], DASHES[1]])
    legend = alt.Legend(title=None, orient="bottom", symbolStrokeColor=GUIDE, symbolType="stroke", symbolSize=300)
    across = lines.mark_rule(color=GUIDE, strokeWidth=1.8).encode(
        x=x, strokeDash=alt.StrokeDash("line:N", scale=dashes, legend=legend)
    )
    return alt.layer(across, bars, dots, words).properties(
        width=_WIDTH,
        height=_ROW * len(labels),
        title=alt.TitleParams(top or "", fontSize=12, anchor="start"),
    )
