"""Why scaling by the data's own mean and deviation voids DP-CDA's guarantee: one record turns the sign of all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE
from dpsyn.mechanisms.dp_cda.counterexamples import published_sigma, z_score_attack_epsilon
from dpsyn.notation import short

BEFORE, AFTER = "as recorded", "after the z-score"
FIRST, SECOND = "dataset D: the last record is high", "dataset D′: the last record is low"


@dataclass(frozen=True)
class FlipInfo:
    """Two datasets that differ in one record, in one feature.

    Attributes:
        first, second: the values, the odd record last.
        first_scored, second_scored: (value - mean)/deviation, each by its own dataset.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    first_scored: tuple[float, ...]
    second_scored: tuple[float, ...]


def flip_info(records: int = 12, value: float = 0.5, step: float = 0.3) -> FlipInfo:
    """All records hold ``value``; the last one holds ``value`` + ``step`` in D and ``value`` - ``step`` in D′.

    Raises:
        ParameterError: there are fewer than three records, or the step is not positive.
    """
    if records < 3:
        raise ParameterError("records", records, "at least 3")
    if not step > 0:
        raise ParameterError("step", step, "a number > 0")

    def scored(values: tuple[float, ...]) -> tuple[float, ...]:
        mean = math.fsum(values) / records
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / records)
        return tuple((v - mean) / deviation for v in values)

    first = (*[value] * (records - 1), value + step)
    second = (*[value] * (records - 1), value - step)
    return FlipInfo(first, second, scored(first), scored(second))


@dataclass(frozen=True)
class AttackInfo:
    """What the worst pair refutes.

    Attributes:
        claimed: ε of the paper.
        sigma: the published σ for it; None if the formula cannot reach it.
        refuted: every ε below it is refuted by the pair, at δ; None if there is no σ.
        n, features, classes, order_of_mixture: the sizes.
    """

    claimed: float
    sigma: float | None
    refuted: float | None
    n: int
    features: int
    classes: int
    order_of_mixture: int


def attack_info(
    *, n: int, features: int, classes: int, order_of_mixture: int, epsilon: float, delta: float, clip_norm: float = 1.0
) -> AttackInfo:
    """The published σ for ε and what :func:`z_score_attack_epsilon` refutes at it, T = K·⌊N/K⌋.

    Raises:
        ParameterError: a class of ⌊N/K⌋ records is smaller than l, or an argument is out of range.
    """
    try:
        sigma = published_sigma(
            epsilon=epsilon,
            order_of_mixture=order_of_mixture,
            n=n,
            delta=delta,
            rows=max(1, n // classes) * classes,
            clip_norm=clip_norm,
        )
    except CalibrationError:
        return AttackInfo(epsilon, None, None, n, features, classes, order_of_mixture)
    refuted = z_score_attack_epsilon(
        n=n,
        features=features,
        order_of_mixture=order_of_mixture,
        sigma=sigma,
        delta=delta,
        clip_norm=clip_norm,
        classes=classes,
    )
    return AttackInfo(epsilon, sigma, refuted, n, features, classes, order_of_mixture)


def draw_flip(info: FlipInfo, *, scored: bool) -> Any:
    """An Altair chart of one half of :class:`FlipInfo`: a lollipop for every record in both datasets."""
    import altair as alt

    pairs = (
        ((FIRST, info.first_scored), (SECOND, info.second_scored))
        if scored
        else ((FIRST, info.first), (SECOND, info.second))
    )
    centre = 0.0 if scored else info.first[0]
    rows = [
        {
            "record": at + 1,
            "value": value,
            "dataset": name,
            "centre": centre,
            "shown": f"{value:+.3g}" if scored else short(value, 3),
        }
        for name, values in pairs
        for at, value in enumerate(values)
    ]
    labels = [FIRST, SECOND]
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("record:O", title="record", axis=alt.Axis(labelAngle=0, ticks=False)),
        xOffset=alt.XOffset("dataset:N", sort=labels),
        color=alt.Color(
            "dataset:N",
            title=None,
            sort=None,
            scale=alt.Scale(domain=labels, range=[BLUE, HERE]),
            legend=_layers.legend(labels),
        ),
        tooltip=[alt.Tooltip("dataset:N"), alt.Tooltip("record:O"), alt.Tooltip("shown:N", title="value")],
    )
    y = alt.Y("value:Q", title="z-score" if scored else "value", scale=alt.Scale(zero=False, padding=12))
    middle = alt.Chart(pd.DataFrame([{"value": centre}])).mark_rule(color=GUIDE).encode(y=alt.Y("value:Q"))
    chart = alt.layer(
        middle,
        base.mark_rule(size=2).encode(y=y, y2=alt.Y2("centre:Q")),
        base.mark_point(filled=True, size=70, opacity=1).encode(y=y),
    )
    if scored:
        return _layers.finish(
            chart,
            AFTER.capitalize(),
            "Every record of D is the mirror image of its twin in D′",
            legend_labels=labels,
            plot=200,
        )
    return _layers.finish(
        chart, BEFORE.capitalize(), "One record differs; all others are the same in both", legend_labels=labels, plot=200
    )
