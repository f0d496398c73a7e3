"""The smallest error that noisy reweighting's theorems can promise, against ε. Axes are log10."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, ORANGE, PURPLE, log_axis
from dpsyn.mechanisms.noisy_reweighting.figures import named_lines
from dpsyn.mechanisms.noisy_reweighting.setting import (
    FamilyChoice,
    Noise,
    ReweightingRow,
    Variant,
    reweighting_setting,
    reweighting_table,
)
from dpsyn.notation import short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log

_ORDERS = tuple(-3 + i / 4 for i in range(25))
_STYLES: dict[Variant, tuple[str, list[int]]] = {
    ("walsh", "laplace", True): (BLUE, [1, 0]),
    ("walsh", "gaussian", True): (GREEN, [1, 0]),
    ("contingency", "laplace", True): (ORANGE, [1, 0]),
    ("contingency", "gaussian", True): (PURPLE, [1, 0]),
    ("walsh", "laplace", False): (BLUE, [5, 4]),
    ("contingency", "laplace", False): (ORANGE, [5, 4]),
}


@dataclass(frozen=True)
class ErrorLine:
    """Smallest 8·accuracy of one variant: log10 against log10 ε."""

    variant: Variant
    label: str
    log10_epsilon: tuple[float, ...]
    log10_error: tuple[float, ...]


@dataclass(frozen=True)
class ReweightingInfo:
    """Smallest errors.

    Attributes:
        subtitle: which variant is the best here.
        lines: one per variant; Gaussian ones only with a privacy δ above 0.
        here: log10 ε and log10 of the smallest error of the statistics and noise chosen.
        here_text: its numbers.
        best: the corrected variant with the smallest error at this ε.
    """

    subtitle: str
    lines: tuple[ErrorLine, ...]
    here: tuple[float, float]
    here_text: str
    best: Variant


def reweighting_info(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    failure_probability: float = 0.125,
    statistics: FamilyChoice = "auto",
    noise: Noise = "laplace",
) -> ReweightingInfo:
    """8 times the smallest accuracy that the conditions on n allow, from ε = 0.001 to 1000.

    max(scale·spread, sqrt(sampling/n)): for small ε the noise binds and the line falls, for large ε the sampling of n rows
    does and it is level.

    Args:
        stats: the data.
        spec: ε for "you are here", δ for Gaussian noise.
        degree: d.
        failure_probability: γ.
        statistics: what "you are here" matches; as in :func:`dpsyn.feasibility`.
        noise: what it uses.
    """
    shared: dict[str, Any] = {"degree": degree, "failure_probability": failure_probability}
    base = reweighting_setting(stats, spec, statistics=statistics, noise=noise, **shared)
    rows = [row for row in reweighting_table(stats, spec, **shared) if not row.reason]
    now = {row.variant: _log_error(row, spec.epsilon) for row in rows}
    names = {row.variant: row.name for row in rows}
    lines = tuple(
        ErrorLine(row.variant, row.name, _ORDERS, tuple(_log_error(row, 10**order) / LN10 for order in _ORDERS))
        for row in rows
    )
    best = min((v for v in now if v[2]), key=lambda v: now[v])
    mine: Variant = (base.family.name, noise, True)
    verdict = "" if now[best] < 0 else " An error of 1 says nothing."
    missing = "" if base.delta > 0 else " Gaussian noise needs a privacy δ."
    return ReweightingInfo(
        subtitle=f"Best at ε = {short(spec.epsilon)}: {names[best]}, within {format_log(now[best], 3, 'at_least')} of every "
        f"statistic.{verdict}{missing} Dashed: as published, where the level part rests on a false tail bound.",
        lines=lines,
        here=(math.log10(spec.epsilon), now[mine] / LN10),
        here_text=f"{stats.name}, {names[mine]}: smallest error {format_log(now[mine], 4, 'at_least')} "
        f"at ε = {short(spec.epsilon)}",
        best=best,
    )


def _log_error(row: ReweightingRow, epsilon: float) -> float:
    return math.log(8) + replace(row.setting, epsilon=epsilon).log_smallest_accuracy


def draw_reweighting(info: ReweightingInfo) -> Any:
    """An Altair chart of :class:`ReweightingInfo`."""
    import altair as alt

    points = [(line.label, *at) for line in info.lines for at in zip(line.log10_epsilon, line.log10_error, strict=True)]
    rows = [
        {"series": label, "x": x, "y": y, "epsilon": short(10**x, 4), "error": format_log(y * LN10, 4, "at_least")}
        for label, x, y in points
    ]
    across = (min(_ORDERS[0], info.here[0]), max(_ORDERS[-1], info.here[0]))
    y_domain = _layers.domain_of([*(y for _, _, y in points), 0.0, info.here[1]])
    styles = {line.label: _STYLES[line.variant] for line in info.lines}
    lines = named_lines(
        pd.DataFrame(rows),
        alt.X("x:Q", axis=log_axis("ε"), scale=_layers.scale(across)),
        alt.Y("y:Q", axis=log_axis("8 · accuracy", **_layers.fine_ticks(y_domain)), scale=_layers.scale(y_domain)),
        styles,
        {"series:N": "statistics and noise", "epsilon:N": "ε", "error:N": "8 · accuracy at least"},
        width=2,
    )
    layers = [
        *_layers.rules([(0.0, "error 1: says nothing")], y_domain, labels_left=False),
        lines,
        _layers.here("you are here", *info.here, info.here_text, across, y_domain),
    ]
    title, longest = "Smallest error that can be promised", _layers.WIDE_LINE
    return _layers.finish(alt.layer(*layers), title, info.subtitle, legend_labels=list(styles), line_length=longest)
