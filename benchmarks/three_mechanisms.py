"""The three mechanisms on ASIA, CAR and (given its file) UCI Adult, at ε = 1, δ = 1e-5, five repeats.

    python benchmarks/three_mechanisms.py [--adult PATH_TO_THE_TRAINING_CSV] [--repeats 5] [--figure FILE.svg]

It runs what the comparison page runs when "1" is typed in as the values of ε: the numbers are the same for the same data,
seed and versions (tests/pages/test_three_mechanisms.py holds the two against each other). Of Adult it takes the eight
categorical columns. It writes every number to three_mechanisms.csv, the picture to three_mechanisms.svg (README shows the
one in docs/), and prints means with 95 % confidence intervals.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpsyn
from dpsyn.data.samples import SAMPLES
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import Grid, Point, references, results_frame, run_grid, summarise
from dpsyn.evaluation.experiments.plan import DRAWS, mechanisms_as_they_come, standard_degrees
from dpsyn.evaluation.prediction import DEFAULT_MODELS, RISING
from dpsyn.evaluation.report import real_baseline
from dpsyn.kit.layers import DASHES, GUIDE, SERIES
from dpsyn.kit.show import chart_svg
from dpsyn.kit.visit import HELD_OUT, SPLIT_SEED
from dpsyn.mechanisms.registry import THE_THREE

ADULT = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")
_WIDTH, _ROW = 200, 34
_LINES = ("sampling floor", "real data", "majority class")
SHOWN = ("2-way error, mean", "accuracy, boosted trees", "ROC-AUC, boosted trees")


def datasets(names: list[str], adult: str | None) -> dict[str, tuple[dpsyn.Table, str]]:
    """Tables and what is to be predicted."""
    found = {name.upper(): (dpsyn.load_sample(name), str(SAMPLES[name].target)) for name in names}
    if adult is not None:
        table = dpsyn.read_table(adult, columns=ADULT)
        found["Adult, 8 columns"] = (table.with_domain(table.domain.confirmed()), "income")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Run everything, print and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", help="path of UCI Adult's training table as CSV with a header")
    parser.add_argument("--only", nargs="*", default=["asia", "car"], choices=["asia", "car"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--csv", type=Path, default=Path("three_mechanisms.csv"))
    parser.add_argument("--figure", type=Path, default=Path("three_mechanisms.svg"))
    options = parser.parse_args(arguments)
    frames, points, lines = [], {}, {}
    for name, (table, target) in datasets(options.only, options.adult).items():
        start = time.perf_counter()
        train, test = table.split(HELD_OUT, np.random.default_rng(SPLIT_SEED))
        degrees = standard_degrees(len(table.domain))
        baseline = real_baseline(train, test, target, degrees=degrees, models=DEFAULT_MODELS)
        grid = Grid(
            mechanisms_as_they_come(train, target, THE_THREE),
            dpsyn.PrivacySpec(1.0, 1e-5),
            repeats=options.repeats,
            draws=DRAWS,
            seed=options.seed,
        )
        results = run_grid(grid, train, baseline=baseline, workers=options.workers)
        frames.append(results_frame(results).assign(dataset=name))
        points[name] = {measure: summarise(results, measure) for measure in SHOWN}
        lines[name] = references(baseline)
        print(f"\n{name}: n = {train.n:,} to learn from, {len(table.domain)} columns, {time.perf_counter() - start:.0f} s")
        for measure in SHOWN:
            print(f"  {measure}; " + ", ".join(f"{k} {v:.4f}" for k, v in lines[name].get(measure, {}).items()))
            for p in points[name][measure]:
                over = f"   needs ε = {p.claimed_epsilon:,.0f}" if p.over_budget else ""
                print(f"    {p.label:20} {p.mean:8.4f}   95 % {p.low:.4f} to {p.high:.4f}   {p.runs} runs{over}")
        for label, why in dict.fromkeys((r.label, r.message) for r in results if r.status != "done"):
            print(f"    {label}: {why}")
    pd.concat(frames).to_csv(options.csv, index=False)
    title = "Three mechanisms at ε = 1, δ = 1e-5: means of " + f"{options.repeats} runs with 95 % confidence"
    options.figure.write_bytes(chart_svg(draw_standings(title, points, lines)))
    print(f"\nwritten: {options.csv}, {options.figure}")


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

    if measure.startswith(RISING):
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


if __name__ == "__main__":
    main()
