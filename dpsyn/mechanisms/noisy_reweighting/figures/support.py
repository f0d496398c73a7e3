"""How many points carry the mass of a density: the vertex of the linear program against maximum entropy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, ORANGE, log_axis
from dpsyn.mechanisms.noisy_reweighting.figures.trial import OBJECTIVES, Objective, Trial
from dpsyn.notation import short

CARRIES = 1e-6
"""A point carries weight if its mass is more than this share of the uniform one."""
_COLOURS: dict[Objective, str] = {"vertex": ORANGE, "centre": GREEN, "entropy": BLUE}
_DOTS = 160
_LOWEST = -6.0


@dataclass(frozen=True)
class SupportLine:
    """One density.

    Attributes:
        label: the objective and how many points carry weight.
        objective: its name.
        carrying: points with mass above :data:`CARRIES`/m.
        effective: 1/Σ h², how many points of equal weight it is worth.
        error: mean total variation of its tables from the data's.
        ranks, masses: m·h from the heaviest point on, at some ranks.
    """

    label: str
    objective: Objective
    carrying: int
    effective: float
    error: float
    ranks: tuple[int, ...]
    masses: tuple[float, ...]


@dataclass(frozen=True)
class SupportInfo:
    """Densities side by side.

    Attributes:
        title, subtitle: what is shown.
        points: m.
        statistics: |F|.
        lines: one for each objective.
    """

    title: str
    subtitle: str
    points: int
    statistics: int
    lines: tuple[SupportLine, ...]


def support_info(trial: Trial, objectives: Sequence[Objective] = tuple(OBJECTIVES)) -> SupportInfo:
    """Data of :func:`draw_support`."""
    m = len(trial.points)
    ranks = np.unique(np.geomspace(1, m, _DOTS).round().astype(int))
    lines = []
    for objective in objectives:
        masses = np.sort(trial.density(objective))[::-1] * m
        carrying = int((masses > CARRIES).sum())
        lines.append(
            SupportLine(
                label=f"{OBJECTIVES[objective]}: {carrying:,} points",
                objective=objective,
                carrying=carrying,
                effective=float(m**2 / (masses**2).sum()),
                error=float(trial.table_errors(trial.shares(objective)).mean()),
                ranks=tuple(ranks.tolist()),
                masses=tuple(masses[ranks - 1].tolist()),
            )
        )
    return SupportInfo(
        title="How many points carry weight",
        subtitle=f"m = {m:,} points, |F| = {trial.family.count:,} statistics. A vertex sits on at most |F| + 1 points and "
        "fits the noise; maximum entropy spreads.",
        points=m,
        statistics=trial.family.count,
        lines=tuple(lines),
    )


def draw_support(info: SupportInfo) -> Any:
    """An Altair chart: mass relative to uniform by rank, both on log axes."""
    import altair as alt

    labels = [line.label for line in info.lines]
    rows: list[dict[str, Any]] = [
        {"series": line.label, "x": math.log10(rank), "y": math.log10(mass), "rank": rank, "mass": short(mass, 3)}
        for line in info.lines
        for rank, mass in zip(line.ranks, line.masses, strict=True)
        if mass > 10**_LOWEST
    ]
    across = (-0.05, max(math.log10(info.points) * 1.02, 0.5))
    up = _layers.domain_of([*(row["y"] for row in rows), 0.0], share=0.06)
    channels = {"title": None, "sort": None, "legend": _layers.legend(labels)}
    line = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=alt.X("x:Q", axis=log_axis("points, the heaviest first"), scale=_layers.scale(across)),
            y=alt.Y("y:Q", axis=log_axis("mass of a point, uniform = 1"), scale=_layers.scale(up)),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(domain=labels, range=[_COLOURS[one.objective] for one in info.lines]),
                **channels,
            ),
            tooltip=[
                alt.Tooltip("series:N", title="objective"),
                alt.Tooltip("rank:Q", title="rank"),
                alt.Tooltip("mass:N", title="m·h"),
            ],
        )
    )
    layers = [*_layers.rules([(0.0, "uniform")], up, labels_left=False, title="reference"), line]
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=80)
