"""Measured times of both programs beside the paper's rule and the law fitted to this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, ORANGE, log_axis
from dpsyn.mechanisms.private_sampling.calibration import Calibration
from dpsyn.mechanisms.private_sampling.tractability import PUBLISHED_M, SECONDS_AT_1000, YEAR, duration, log_quadprog_seconds
from dpsyn.theory.logarithms import LN10, format_log

LP, QP, PAPER = "LP", "QP", "the paper's rule for the QP"
_COLOURS = {LP: BLUE, QP: GREEN, PAPER: ORANGE}
_DASHES = {LP: [1, 0], QP: [6, 3], PAPER: [2, 2]}
_POINTS = 30
_FASTEST = 1e-5


@dataclass(frozen=True)
class MeasuredRun:
    """Both programs timed once.

    Attributes:
        label: whose run it was.
        m: points of S, or distinct points if fewer were solved for.
        dimension: C.
        linear, quadratic: seconds; None if the program was not needed.
    """

    label: str
    m: int
    dimension: int
    linear: float | None
    quadratic: float | None


@dataclass(frozen=True)
class TimingRow:
    """One run in words, for a table: measured seconds, what the law predicts, what the paper's rule says."""

    run: str
    m: int
    dimension: int
    program: str
    measured: str
    predicted: str
    paper: str


@dataclass(frozen=True)
class TimingInfo:
    """Dots that were measured and lines that predict; log10 of m and of seconds.

    Attributes:
        title, subtitle: what is shown.
        lines: label and points; the laws are drawn at the newest run's C.
        dots: program, x, y and text of every measurement.
        rows: the same in words.
    """

    title: str
    subtitle: str
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]
    dots: tuple[tuple[str, float, float, str], ...]
    rows: tuple[TimingRow, ...]


def timing_info(runs: Sequence[MeasuredRun], calibration: Calibration | None) -> TimingInfo:
    """Data of :func:`draw_timing`.

    Args:
        runs: at least one, the newest last.
        calibration: of this machine; None leaves the laws out.
    """
    ends = (min(math.log10(run.m) for run in runs) - 0.7, max(8.5, max(math.log10(run.m) for run in runs) + 0.7))
    grid = [ends[0] + i * (ends[1] - ends[0]) / _POINTS for i in range(_POINTS + 1)]
    lines = [(PAPER, tuple((x, log_quadprog_seconds(x * LN10) / LN10) for x in grid))]
    log_c = math.log(runs[-1].dimension)
    if calibration is not None:
        for label, model in ((LP, calibration.lp), (QP, calibration.qp)):
            lines.append((label, tuple((x, model.log_seconds(x * LN10, log_c) / LN10) for x in grid)))
    dots, rows = [], []
    for run in runs:
        for label, seconds in ((LP, run.linear), (QP, run.quadratic)):
            if seconds is None:
                continue
            log_seconds = math.log(max(seconds, _FASTEST))
            law = None if calibration is None else (calibration.lp if label == LP else calibration.qp)
            predicted = (
                "not calibrated" if law is None else duration(law.log_seconds(math.log(run.m), math.log(run.dimension)))
            )
            paper = duration(log_quadprog_seconds(math.log(run.m))) if label == QP else "—"
            rows.append(TimingRow(run.label, run.m, run.dimension, label, duration(log_seconds), predicted, paper))
            text = f"{run.label}: {label} {duration(log_seconds)} at m = {run.m:,}, C = {run.dimension:,}"
            dots.append((label, math.log10(run.m), log_seconds / LN10, text))
    words = (
        f"The paper extrapolates {SECONDS_AT_1000} s · (m/1000)² from one dense solver. Dots were measured on this machine."
    )
    if calibration is not None:
        words += f" Lines: the law fitted here, at C = {format_log(log_c)}."
    return TimingInfo("Measured time against predicted time", words, tuple(lines), tuple(dots), tuple(rows))


def draw_timing(info: TimingInfo) -> Any:
    """An Altair chart on log axes."""
    import altair as alt

    labels = [label for label in _COLOURS if any(label == one[0] for one in (*info.lines, *info.dots))]
    rows = pd.DataFrame(
        [
            {"series": label, "x": x, "y": y, "m": format_log(x * LN10), "time": duration(y * LN10)}
            for label, points in info.lines
            for x, y in points
        ]
    )
    heights = [*rows["y"], *(dot[2] for dot in info.dots)]
    x_domain, y_domain = (float(rows["x"].min()), float(rows["x"].max())), _layers.domain_of(heights)
    x = alt.X("x:Q", axis=log_axis("m, points of the reduced space"), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=log_axis("seconds"), scale=_layers.scale(y_domain))
    legend = {"title": None, "sort": None, "legend": _layers.legend(labels)}
    colour = alt.Color("series:N", scale=alt.Scale(domain=labels, range=[_COLOURS[label] for label in labels]), **legend)
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=labels, range=[_DASHES[label] for label in labels]), **legend)
    tips = [alt.Tooltip("series:N", title="line"), alt.Tooltip("m:N", title="m"), alt.Tooltip("time:N", title="time")]
    marks = [
        (0.0, "a second"),
        (math.log10(60), "a minute"),
        (math.log10(86_400), "a day"),
        (math.log10(YEAR), "a year"),
    ]
    inside = [mark for mark in marks if y_domain[0] < mark[0] < y_domain[1]]
    layers = _layers.rules(inside, y_domain, labels_left=True, title="time") if inside else []
    layers.append(
        alt.Chart(rows).mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tips)
    )
    paper = log_quadprog_seconds(math.log(PUBLISHED_M))
    text = f"m = 1.2 × 10⁸: {duration(paper)} by the paper's rule"
    mark = pd.DataFrame([{"x": math.log10(PUBLISHED_M), "y": paper / LN10, "text": text}])
    spot = alt.Chart(mark).encode(x=x, y=y, tooltip=alt.Tooltip("text:N", title="extrapolated"))
    layers.append(spot.mark_point(color=ORANGE, size=80, strokeWidth=2, opacity=1))
    layers.append(spot.mark_text(color=GUIDE, align="right", dx=-10, dy=-2).encode(text=alt.Text("text:N")))
    if info.dots:
        dots = pd.DataFrame(info.dots, columns=["series", "x", "y", "text"])
        fill = alt.Fill("series:N", scale=alt.Scale(domain=labels, range=[_COLOURS[one] for one in labels]), legend=None)
        layers.append(
            alt.Chart(dots)
            .mark_circle(size=95, opacity=0.95, stroke="#ffffff", strokeWidth=1)
            .encode(x=x, y=y, fill=fill, tooltip=alt.Tooltip("text:N", title="measured"))
        )
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=_layers.WIDE_LINE)
