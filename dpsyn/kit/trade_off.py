"""Audits as trade-off curves: what tests of the released numbers attained, and what the claim allows at best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpsyn.kit.layers import GUIDE, finish, layered, line_channels
from dpsyn.notation import percent
from dpsyn.privacy.audit import Audit, claimed_trade_off

_STEPS = 201
_TALL = 300
_MANY = 3
"""Curves whose bands would hide what is below."""


def draw_trade_off(found: Mapping[str, Audit]) -> Any:
    """An Altair chart of audits by name, all with the same claims: false negatives against false positives.

    Grey is what the claim forbids. A curve with its whole band in the grey refutes it; the diagonal tells nothing apart.
    """
    # Finer at both ends, where large ε bend the curves.
    across = (1 - np.cos(np.linspace(0, np.pi, _STEPS))) / 2
    first = next(iter(found.values()))
    claimed = pd.DataFrame({"x": across, "y": claimed_trade_off(first.claims, across), "low": 0.0, "diagonal": 1 - across})
    curves = []
    for name, audit in found.items():
        if audit.trade_off is not None:
            reached = np.interp(across, audit.trade_off.false_positives, audit.trade_off.false_negatives)
            low, high = audit.trade_off.band(across)
            curves.append(pd.DataFrame({"series": name, "x": across, "y": reached, "low": low, "high": high}))
    x = alt.X("x:Q", title="false positives", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", title="false negatives", scale=alt.Scale(domain=[0, 1]))
    labels = list(found)
    lines = alt.Chart(pd.concat(curves)).encode(x=x, **line_channels(labels))
    under = alt.Chart(claimed).encode(x=x)
    chart = layered(
        under.mark_area(color=GUIDE, opacity=0.3).encode(y=y, y2=alt.Y2("low:Q")),
        under.mark_line(color=GUIDE, strokeDash=[2, 4], strokeWidth=1.5).encode(y=alt.Y("diagonal:Q")),
        lines.mark_area(opacity=0.2 if len(found) < _MANY else 0.08, strokeOpacity=0).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
        ),
        under.mark_line(color=GUIDE, strokeWidth=1.5).encode(y=alt.Y("y:Q")),
        lines.mark_line().encode(
            y=y,
            tooltip=[alt.Tooltip(f"{field}:Q", format=".3f") for field in ("x", "y", "low", "high")],
        ),
    )
    subtitle = (
        f"Grey: what the claim forbids to any test. Bands hold with {percent(first.confidence, 6)} confidence; on the "
        "diagonal the two datasets cannot be told apart."
    )
    return finish(chart, "Telling two neighbours apart", subtitle, legend_labels=labels, plot=_TALL)
