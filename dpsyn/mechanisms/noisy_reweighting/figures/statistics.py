"""True against noisy and fitted statistics, and the tables that a density gets most wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.domain import Domain
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, ORANGE
from dpsyn.mechanisms.noisy_reweighting.figures.trial import OBJECTIVES, Objective, Trial
from dpsyn.notation import short

NOISY, FITTED = "noisy", "fitted"
_MOST_DOTS = 600
_MOST_TABLES = 12


@dataclass(frozen=True)
class StatisticsInfo:
    """Statistics of the data, with noise, and of the fitted density.

    The picture shows by how much the last two are off.

    Attributes:
        title, subtitle: what is shown.
        labels: what each statistic is.
        true, noisy, fitted: averages.
        count: |F|; at most 600 are drawn, those that moved most among them.
        noise_error, fit_error: root mean squared error over all statistics.
        deviation: standard deviation of the noise, by the calibration.
    """

    title: str
    subtitle: str
    labels: tuple[str, ...]
    true: tuple[float, ...]
    noisy: tuple[float, ...]
    fitted: tuple[float, ...]
    count: int
    noise_error: float
    fit_error: float
    deviation: float


def statistics_info(trial: Trial, objective: Objective) -> StatisticsInfo:
    """Data of :func:`draw_statistics`."""
    fitted = trial.fitted(objective)
    noise_error = float(np.sqrt(((trial.noisy - trial.exact) ** 2).mean()))
    fit_error = float(np.sqrt(((fitted - trial.exact) ** 2).mean()))
    order = np.argsort(-np.abs(trial.noisy - trial.exact), kind="stable")
    if len(order) > _MOST_DOTS:
        rest = np.random.default_rng(0).choice(order[_MOST_DOTS // 3 :], _MOST_DOTS - _MOST_DOTS // 3, replace=False)
        order = np.concatenate([order[: _MOST_DOTS // 3], rest])
    names = labels_of(trial, order)
    better = "nearer to the truth than" if fit_error < noise_error else "no nearer to the truth than"
    return StatisticsInfo(
        title="True, noisy and fitted statistics",
        subtitle=f"Fitting brings {len(fitted):,} averages {better} the noise left them: error {short(fit_error, 2)} after, "
        f"{short(noise_error, 2)} before (root mean square).",
        labels=tuple(names),
        true=tuple(trial.exact[order].tolist()),
        noisy=tuple(trial.noisy[order].tolist()),
        fitted=tuple(fitted[order].tolist()),
        count=len(fitted),
        noise_error=noise_error,
        fit_error=fit_error,
        deviation=trial.deviation,
    )


def labels_of(trial: Trial, which: np.ndarray) -> list[str]:
    """A short text for each of these statistics: the cell of its table, or the columns of a Walsh function."""
    starts = np.array([group.start for group in trial.family.groups])
    texts = []
    for f in which:
        group = trial.family.groups[int(np.searchsorted(starts, f, side="right")) - 1]
        if trial.family.name == "walsh":
            texts.append(" · ".join(trial.domain.names[j] for j in group.columns) or "constant")
            continue
        codes = np.unravel_index(int(f) - group.start, [trial.family.sizes[j] for j in group.columns])
        parts = [_cell(trial.domain, j, int(code)) for j, code in zip(group.columns, codes, strict=True)]
        texts.append(", ".join(parts))
    return texts


def _cell(domain: Domain, column: int, code: int) -> str:
    attribute = domain.attributes[column]
    return f"{attribute.name} = {attribute.labels()[code]}"


def draw_statistics(info: StatisticsInfo) -> Any:
    """An Altair chart: true values across, up by how much noisy and fitted ones are off; two deviations of noise shaded."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {"true": true, "value": value, "kind": kind, "label": label, "error": value - true}
        for kind, values in ((NOISY, info.noisy), (FITTED, info.fitted))
        for label, true, value in zip(info.labels, info.true, values, strict=True)
    ]
    low, high = min(info.true), max(info.true)
    air = max(0.04 * (high - low), 0.01)
    across = (low - air, high + air)
    furthest = max([2.2 * info.deviation, *(abs(row["error"]) for row in rows)]) * 1.05
    x = alt.X("true:Q", axis=alt.Axis(title="average in the data", grid=False), scale=_layers.scale(across))
    y_scale = _layers.scale((-furthest, furthest))
    kinds = [NOISY, FITTED]
    channels = {"title": None, "sort": None, "legend": _layers.legend(kinds)}
    dots = (
        alt.Chart(pd.DataFrame(rows))
        .mark_point(filled=True, opacity=0.7, clip=True)
        .encode(
            x=x,
            y=alt.Y("error:Q", axis=alt.Axis(title="off by", format="~g"), scale=y_scale),
            color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[ORANGE, BLUE]), **channels),
            # Larger, so that they show where both are the same.
            size=alt.Size("kind:N", scale=alt.Scale(domain=kinds, range=[80, 26]), legend=None),
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["diamond", "circle"]), **channels),
            tooltip=[
                alt.Tooltip("label:N", title="statistic"),
                alt.Tooltip("kind:N", title="value"),
                alt.Tooltip("true:Q", title="in the data", format=".4f"),
                alt.Tooltip("value:Q", title="here", format=".4f"),
                alt.Tooltip("error:Q", title="off by", format="+.4f"),
            ],
        )
    )
    text = f"two standard deviations of the noise: ±{short(2 * info.deviation, 3)}"
    band = alt.Chart(pd.DataFrame([{"low": -2 * info.deviation, "high": 2 * info.deviation, "text": text}]))
    shade = band.mark_rect(color=GUIDE, opacity=0.12).encode(
        y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high"), tooltip=alt.Tooltip("text:N", title="noise")
    )
    zero = alt.Chart(pd.DataFrame([{"y": 0.0}])).mark_rule(color=GUIDE, size=1.5).encode(y=alt.Y("y:Q", scale=y_scale))
    return _layers.finish(alt.layer(shade, zero, dots), info.title, info.subtitle, legend_labels=kinds, line_length=80)


@dataclass(frozen=True)
class WorstTablesInfo:
    """Tables with the largest total variation between data and density.

    Attributes:
        title, subtitle: what is shown.
        names: of the tables, the worst first; at most 12.
        fitted: total variation of the fitted density's table from the data's.
        noisy: of the noisy table, before the fit; None where the statistics are no tables.
        mean, largest: over all tables.
    """

    title: str
    subtitle: str
    names: tuple[str, ...]
    fitted: tuple[float, ...]
    noisy: tuple[float, ...] | None
    mean: float
    largest: float


def worst_tables_info(trial: Trial, objective: Objective) -> WorstTablesInfo:
    """Data of :func:`draw_worst_tables`."""
    fitted = trial.table_errors(trial.shares(objective))
    cells = trial.noisy_cells()
    noisy = None if cells is None else trial.table_errors(cells)
    order = np.argsort(-fitted, kind="stable")[:_MOST_TABLES]
    names = [" × ".join(trial.domain.names[j] for j in trial.tables.tables[at]) for at in order]
    return WorstTablesInfo(
        title="Which table is worst",
        subtitle=f"Total variation from the data, {OBJECTIVES[objective]}: mean {short(fitted.mean(), 3)}, largest "
        f"{short(fitted.max(), 3)} of {len(fitted):,} tables.",
        names=tuple(names),
        fitted=tuple(fitted[order].tolist()),
        noisy=None if noisy is None else tuple(noisy[order].tolist()),
        mean=float(fitted.mean()),
        largest=float(fitted.max()),
    )


def draw_worst_tables(info: WorstTablesInfo) -> Any:
    """An Altair chart: a bar for the fitted table, a tick for the noisy one."""
    import altair as alt

    rows = [
        {"name": name, "fitted": value, "noisy": None if info.noisy is None else info.noisy[at]}
        for at, (name, value) in enumerate(zip(info.names, info.fitted, strict=True))
    ]
    largest = max([*info.fitted, *(info.noisy or ()), 1e-6])
    y = alt.Y(
        "name:N", title=None, sort=list(info.names), axis=alt.Axis(labelLimit=190, ticks=False, domain=False, labelPadding=8)
    )
    tooltip = [alt.Tooltip("name:N", title="table"), alt.Tooltip("fitted:Q", title="fitted", format=".4f")]
    if info.noisy is not None:
        tooltip.append(alt.Tooltip("noisy:Q", title="noisy", format=".4f"))
    base = alt.Chart(pd.DataFrame(rows)).encode(y=y, tooltip=tooltip)
    axis = alt.Axis(title="total variation from the data" + ("" if info.noisy is None else "; tick: before the fit"))
    x = alt.X("fitted:Q", axis=axis, scale=alt.Scale(domain=[0, 1.05 * largest], nice=False))
    layers = [base.mark_bar(color=BLUE, height={"band": 0.7}, cornerRadiusEnd=3).encode(x=x)]
    if info.noisy is not None:
        layers.append(base.mark_tick(color=ORANGE, thickness=3, height=16).encode(x=alt.X("noisy:Q")))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, plot=max(24 * len(rows), 90), line_length=80)
