"""DP-CDA's noise in pictures: ε against σ for several l (Figure 3 of the paper), and the σ that an ε needs against l.

Each is drawn by three accountants: the published formula, the corrected Rényi bound, the exact one. Lines have gaps where l
is larger than the smallest class and where an accountant cannot reach the ε asked for.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import DASHES, HERE, SERIES, log_axis
from dpsyn.mechanisms.dp_cda.figures._lines import (
    LABELS,
    MOST_ORDERS,
    EpsilonAgainstSigmaInfo,
    EpsilonLine,
    SigmaLine,
    SigmaNeededInfo,
    epsilon_against_sigma_info,
    sigma_needed_info,
)
from dpsyn.mechanisms.dp_cda.mixing_noise import ACCOUNTANTS
from dpsyn.theory.logarithms import format_log

__all__ = [
    "LABELS",
    "EpsilonAgainstSigmaInfo",
    "EpsilonLine",
    "SigmaLine",
    "SigmaNeededInfo",
    "draw_epsilon_against_sigma",
    "draw_sigma_needed",
    "epsilon_against_sigma_info",
    "sigma_needed_info",
]

_PLOT = 280


def draw_epsilon_against_sigma(info: EpsilonAgainstSigmaInfo) -> Any:
    """An Altair chart of :class:`EpsilonAgainstSigmaInfo`: colours for l, dashes for accountants."""
    import altair as alt

    rows = [
        {
            "accountant": LABELS[line.accountant],
            "l": str(line.order_of_mixture),
            "x": sigma,
            "y": math.log10(epsilon),
            "sigma": format_log(math.log(sigma), 4),
            "epsilon": format_log(math.log(epsilon), 4),
        }
        for line in info.lines
        for sigma, epsilon in zip(line.sigma, line.epsilon, strict=True)
    ]
    orders = [str(order) for order in info.orders]
    colour = alt.Color(
        "l:N",
        title="l, order of mixture",
        sort=None,
        scale=alt.Scale(domain=orders, range=list(SERIES[: len(orders)])),
        legend=alt.Legend(orient="top", columns=MOST_ORDERS, symbolType="stroke", symbolStrokeWidth=3),
    )
    table = pd.DataFrame(rows, columns=["accountant", "l", "x", "y", "sigma", "epsilon"])
    return _chart(
        table,
        info,
        alt.X("x:Q", axis=_plain_axis("noise σ"), scale=alt.Scale(type="log", nice=False)),
        alt.Y("y:Q", axis=log_axis("ε"), scale=alt.Scale(zero=False)),
        colour,
        None if info.here is None else (math.log10(info.here[1]), info.here),
        ("σ", "ε"),
    )


def draw_sigma_needed(info: SigmaNeededInfo) -> Any:
    """An Altair chart of :class:`SigmaNeededInfo`: colours and dashes for accountants."""
    import altair as alt

    rows = [
        {
            "accountant": LABELS[line.accountant],
            "l": str(order),
            "x": order,
            "y": sigma,
            "sigma": format_log(math.log(sigma), 4),
        }
        for line in info.lines
        for order, sigma in zip(line.orders, line.sigma, strict=True)
        if sigma is not None
    ]
    names = [LABELS[name] for name in ACCOUNTANTS]
    colour = alt.Color(
        "accountant:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])),
        legend=_accountant_legend(),
    )
    table = pd.DataFrame(rows, columns=["accountant", "l", "x", "y", "sigma"])
    return _chart(
        table,
        info,
        alt.X("x:Q", title="order of mixture l", scale=alt.Scale(type="log", base=2, nice=False)),
        alt.Y("y:Q", axis=_plain_axis("noise σ that is needed"), scale=alt.Scale(type="log")),
        colour,
        None if info.here is None else (info.here[1], info.here),
        ("l", "σ"),
    )


def _plain_axis(title: str) -> Any:
    """For a logarithmic scale that spans few decades: 0.02, 0.05, 0.1."""
    import altair as alt

    return alt.Axis(title=title, format="~g", tickCount=8)


def _accountant_legend() -> Any:
    import altair as alt

    return alt.Legend(orient="bottom", columns=2, labelLimit=0, symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)


def _chart(
    table: pd.DataFrame,
    info: EpsilonAgainstSigmaInfo | SigmaNeededInfo,
    x: Any,
    y: Any,
    colour: Any,
    here: tuple[float, tuple[float, float]] | None,
    names: tuple[str, str],
) -> Any:
    import altair as alt

    labels = [LABELS[name] for name in ACCOUNTANTS]
    dashes = alt.Scale(domain=labels, range=[DASHES[2], DASHES[1], DASHES[0]])
    shown = [("accountant", "accountant"), ("l", "l"), ("sigma", "σ"), ("epsilon", "ε")]
    tooltip = [alt.Tooltip(f"{field}:N", title=name) for field, name in shown if field in table.columns]
    base = alt.Chart(table).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layers = [
        base.mark_line(strokeWidth=2).encode(
            strokeDash=alt.StrokeDash("accountant:N", title=None, sort=None, scale=dashes, legend=_accountant_legend())
        ),
        base.mark_point(filled=True, size=60, opacity=0),
    ]
    if here is not None:
        height, (first, second) = here
        text = ", ".join(
            f"{name} = {format_log(math.log(value), 4)}" for name, value in zip(names, (first, second), strict=True)
        )
        spot = pd.DataFrame([{"x": first, "y": height, "text": text, "label": "you are here"}])
        mark = alt.Chart(spot).encode(x="x:Q", y="y:Q", tooltip=alt.Tooltip("text:N", title="you are here"))
        layers += [
            mark.mark_point(color=HERE, filled=True, size=140, shape="diamond", opacity=1),
            mark.mark_text(color=HERE, align="left", dx=9, dy=-9, fontWeight="bold").encode(text="label:N"),
        ]
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, plot=_PLOT)
