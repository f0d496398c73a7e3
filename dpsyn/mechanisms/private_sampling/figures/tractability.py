"""How long the two programs take against the size of the reduced space, beside the paper's extrapolation. Axes are log10."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, ORANGE, log_axis
from dpsyn.mechanisms.private_sampling.calibration import Calibration, Prediction
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting, log_dimension
from dpsyn.mechanisms.private_sampling.tractability import (
    PUBLISHED_M,
    PUBLISHED_YEARS,
    YEAR,
    Program,
    duration,
    log_bytes,
    log_quadprog_seconds,
    memory,
)
from dpsyn.solvers.contingency import contrast_dimension
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log

LP, QP, PAPER = "LP, here", "QP, here", "QP by the paper's rule"
_PROGRAMS: dict[Program, str] = {"lp": LP, "qp": QP}
_COLOURS = {LP: (BLUE, [1, 0]), QP: (GREEN, [6, 3]), PAPER: (ORANGE, [2, 2])}
_RULES = (("a second", 1.0), ("an hour", 3600.0), ("a month", 30 * 86_400.0), ("a century", 100 * YEAR))
_POINTS = 40


@dataclass(frozen=True)
class TimeLine:
    """Seconds against m: log10 of m, of the seconds, and of the factor by which they may be off."""

    label: str
    x: tuple[float, ...]
    log10_seconds: tuple[float, ...]
    log10_factor: tuple[float, ...]


@dataclass(frozen=True)
class TimedRun:
    """One run of the calibration, scaled to the data's number of functions: log10 of m and of the seconds."""

    label: str
    log10_m: float
    log10_seconds: float
    text: str


@dataclass(frozen=True)
class TractabilityInfo:
    """Predicted times.

    Attributes:
        title, subtitle: what is shown; time and memory at the present m, in words.
        lines: the LP and the QP on this machine (if it was calibrated) and the paper's rule.
        timed: the runs of the calibration.
        prediction: at the present m; None without a calibration.
        memory: peak memory in words, for both programs.
        here: log10 of m and of the seconds of the LP, or of the paper's rule without a calibration.
        here_text: its numbers.
        x_domain: log10 of m.
    """

    title: str
    subtitle: str
    lines: tuple[TimeLine, ...]
    timed: tuple[TimedRun, ...]
    prediction: Prediction | None
    memory: dict[Program, str]
    here: tuple[float, float]
    here_text: str
    x_domain: tuple[float, float]


def tractability_info(
    stats: DatasetStatistics,
    calibration: Calibration | None = None,
    *,
    degree: int = 2,
    floor: float = 0.25,
    ceiling: float = 2.0,
    failure_probability: float = 0.125,
    reduced_space_size: int | None = None,
) -> TractabilityInfo:
    """Seconds and memory of both programs at the data's number of functions, against m.

    Args:
        stats: C is the number of contrasts of the data's columns, or C(p, ≤d) where they are not known.
        calibration: of this machine, by :func:`calibrate`; None shows the paper's rule only.
        degree: d.
        floor: matters, like the next two, through Theorem 4.2's smallest m.
        ceiling: the papers' Δ.
        failure_probability: γ.
        reduced_space_size: m; None takes that smallest m.
    """
    if not 1 <= degree <= stats.p:
        raise ParameterError("degree", degree, f"a whole number from 1 to p = {stats.p}")
    log_c = log_dimension(stats.p, degree)
    if stats.sizes is not None:
        log_c = math.log(contrast_dimension(stats.sizes, min(degree, len(stats.sizes))))
    setting = PrivateSamplingSetting(
        p=stats.p,
        log_n=0.0,
        log_max_frequency=0.0,
        epsilon=1.0,
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        failure_probability=failure_probability,
        log_m=None if reduced_space_size is None else math.log(reduced_space_size),
    )
    log_m = setting.log_reduced_space
    ends = (min(3.0, log_m / LN10 - 0.2), float(math.ceil(max(9.0, log_m / LN10 + 1))))
    grid = [ends[0] + i * (ends[1] - ends[0]) / _POINTS for i in range(_POINTS + 1)]
    lines = [
        TimeLine(PAPER, tuple(grid), tuple(log_quadprog_seconds(x * LN10) / LN10 for x in grid), (0.0,) * len(grid)),
    ]
    prediction = None if calibration is None else calibration.predict(log_m, log_c)
    if calibration is not None:
        models = ((LP, calibration.lp), (QP, calibration.qp))
        lines = [
            TimeLine(
                label,
                tuple(grid),
                tuple(model.log_seconds(x * LN10, log_c) / LN10 for x in grid),
                tuple(model.log_factor(x * LN10, log_c) / LN10 for x in grid),
            )
            for label, model in models
        ] + lines
    needed: dict[Program, str] = {one: memory(log_bytes(one, log_m, log_c)) for one in _PROGRAMS}
    here = log_quadprog_seconds(log_m) if prediction is None else prediction.log_seconds["lp"]
    text = _words(log_m, log_c, prediction, needed)
    return TractabilityInfo(
        title="How long the LP and the QP take",
        subtitle=text,
        lines=tuple(lines),
        timed=_timed(calibration, log_c),
        prediction=prediction,
        memory=needed,
        here=(log_m / LN10, here / LN10),
        here_text=text,
        x_domain=ends,
    )


def _words(log_m: float, log_c: float, prediction: Prediction | None, needed: dict[Program, str]) -> str:
    at = f"m = {format_log(log_m)}, C = {format_log(log_c)}: "
    room = f"{needed['lp']} for the LP"
    if prediction is None:
        return f"{at}{room}; the paper's rule says {duration(log_quadprog_seconds(log_m))}. This machine was not timed yet."
    times = " and ".join(
        f"{one.upper()} {duration(prediction.log_seconds[one])} (within a factor of "
        f"{format_log(prediction.log_factor[one], 2)})"
        for one in _PROGRAMS
    )
    paper = duration(prediction.log_quadprog_seconds)
    return f"{at}{times}; {room}. The paper's rule says {paper}. Circles: timed here, scaled to this C."


def _timed(calibration: Calibration | None, log_c: float) -> tuple[TimedRun, ...]:
    if calibration is None:
        return ()
    return tuple(
        TimedRun(
            _PROGRAMS[t.program],
            math.log10(t.reduced_space_size),
            (math.log(t.seconds) + model.exponent_c * (log_c - math.log(t.dimension))) / LN10,
            f"timed here: m = {t.reduced_space_size:,}, C = {t.dimension}, {duration(math.log(t.seconds))}, {t.solver}",
        )
        for model in (calibration.lp, calibration.qp)
        for t in (*model.timings, *model.others)
    )


def draw_tractability(info: TractabilityInfo) -> Any:
    """An Altair chart of :class:`TractabilityInfo`."""
    import altair as alt

    labels = [line.label for line in info.lines]
    points = [(line, *at) for line in info.lines for at in zip(line.x, line.log10_seconds, line.log10_factor, strict=True)]
    rows = [
        {"series": line.label, "x": x, "y": y, "low": y - factor, "high": y + factor, "m": format_log(x * LN10, 4),
         "colour": _COLOURS[line.label][0], "time": duration(y * LN10)}
        for line, x, y, factor in points
    ]  # fmt: skip
    heights = [y for _, _, y, _ in points] + [run.log10_seconds for run in info.timed] + [info.here[1]]
    y_domain = _layers.domain_of(heights)
    x = alt.X("x:Q", axis=log_axis("size m of the reduced space"), scale=_layers.scale(info.x_domain))
    y = alt.Y("y:Q", axis=log_axis("seconds"), scale=_layers.scale(y_domain))
    styles = [_COLOURS[label] for label in labels]
    legend = {"title": None, "sort": None, "legend": _layers.legend(labels)}
    colour = alt.Color("series:N", scale=alt.Scale(domain=labels, range=[s[0] for s in styles]), **legend)
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=labels, range=[s[1] for s in styles]), **legend)
    base = alt.Chart(pd.DataFrame(rows))
    tips = [
        alt.Tooltip("series:N", title="program"),
        alt.Tooltip("m:N", title="m"),
        alt.Tooltip("time:N", title="time"),
    ]
    lines = base.mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tips)
    marks = [(math.log10(s), name) for name, s in _RULES if y_domain[0] < math.log10(s) < y_domain[1]]
    layers = _layers.rules(marks, y_domain, labels_left=True, title="time") if marks else []
    if info.prediction is not None:
        fill = alt.Fill("colour:N", scale=None, legend=None)
        band = base.mark_area(opacity=0.12, clip=True)
        layers.append(band.encode(x=x, y=alt.Y("low:Q", scale=_layers.scale(y_domain)), y2=alt.Y2("high"), fill=fill))
    layers.append(lines)
    paper = (math.log10(PUBLISHED_M), log_quadprog_seconds(math.log(PUBLISHED_M)) / LN10)
    text = f"m = 1.2 × 10⁸ by the paper's rule: 45.6 years (printed: {PUBLISHED_YEARS} years)"
    dots = [{"x": paper[0], "y": paper[1], "text": text, "colour": ORANGE}]
    dots += [
        {"x": run.log10_m, "y": run.log10_seconds, "text": run.text, "colour": _COLOURS[run.label][0]} for run in info.timed
    ]
    layers.append(
        alt.Chart(pd.DataFrame(dots))
        .mark_point(size=55, strokeWidth=2, opacity=1, clip=True)
        .encode(
            x=x,
            y=y,
            stroke=alt.Stroke("colour:N", scale=None, legend=None),
            tooltip=alt.Tooltip("text:N", title="measured or printed"),
        )
    )
    layers.append(_layers.here("you are here", *info.here, info.here_text, info.x_domain, y_domain))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=_layers.WIDE_LINE)
