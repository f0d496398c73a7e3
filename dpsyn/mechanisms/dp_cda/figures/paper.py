"""What refutes DP-CDA's published claim, in a picture: the z-score that turns every sign."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GUIDE, HERE
from dpsyn.notation import short

FIRST, SECOND = "dataset D: the last record is high", "dataset D′: the last record is low"
_RECORDS, _VALUE, _STEP = 12, 0.5, 0.3


def two_datasets(*, scored: bool) -> dict[str, tuple[float, ...]]:
    """Equal records but the last, which is higher in D and lower in D′; as they are or z-scored, each dataset by its own."""

    def values(step: float) -> tuple[float, ...]:
        found = (*[_VALUE] * (_RECORDS - 1), _VALUE + step)
        if not scored:
            return found
        mean = math.fsum(found) / _RECORDS
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in found) / _RECORDS)
        return tuple((v - mean) / deviation for v in found)

    return {FIRST: values(_STEP), SECOND: values(-_STEP)}


def draw_flip(*, scored: bool) -> Any:
    """An Altair chart of :func:`two_datasets`: a lollipop for every record in both."""
    centre = 0.0 if scored else _VALUE
    rows = [
        {
            "record": at + 1,
            "value": value,
            "dataset": name,
            "centre": centre,
            "shown": f"{value:+.3g}" if scored else short(value, 3),
        }
        for name, values in two_datasets(scored=scored).items()
        for at, value in enumerate(values)
    ]
    labels = [FIRST, SECOND]
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("record:O", title="record", axis=alt.Axis(labelAngle=0, ticks=False)),
        xOffset=alt.XOffset("dataset:N", sort=labels),
        **_layers.channels(labels, "dataset", color=[BLUE, HERE]),
        tooltip=[alt.Tooltip("dataset:N"), alt.Tooltip("record:O"), alt.Tooltip("shown:N", title="value")],
    )
    y = alt.Y("value:Q", title="z-score" if scored else "value", scale=alt.Scale(zero=False, padding=12))
    chart = alt.layer(
        alt.Chart(pd.DataFrame([{"value": centre}])).mark_rule(color=GUIDE).encode(y=alt.Y("value:Q")),
        base.mark_rule(size=2).encode(y=y, y2=alt.Y2("centre:Q")),
        base.mark_point(filled=True, size=70, opacity=1).encode(y=y),
    )
    title = "After the z-score" if scored else "As recorded"
    subtitle = (
        "Every record of D is the mirror image of its twin in D′"
        if scored
        else "One record differs; all others are the same in both"
    )
    return _layers.finish(chart, title, subtitle, legend_labels=labels, plot=200)
