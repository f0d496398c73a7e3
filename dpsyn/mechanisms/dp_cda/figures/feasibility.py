"""DP-CDA's noise in pictures: ε against σ for several l (Figure 3 of the paper), and the σ that an ε needs against l.

Each is drawn by three accountants: the published formula, the corrected Rényi bound, the exact one. Lines have gaps where l
is larger than the smallest class and where an accountant cannot reach the ε asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import DASHES, HERE, SERIES, log_axis
from dpsyn.mechanisms.dp_cda.accounting._rdp import rdp_limit
from dpsyn.mechanisms.dp_cda.accounting.functions import ACCOUNTANTS, Accountant
from dpsyn.mechanisms.dp_cda.accounting.quick import ROUGH, Sizes, epsilon_at, first_guess, sigma_for
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down
from dpsyn.theory.logarithms import format_log

LABELS: dict[Accountant, str] = {"published": "published", "rdp": "corrected Rényi", "exact": "exact"}
ORDERS = (4, 16, 64)
POWERS_OF_TWO = tuple(2**i for i in range(10))
MOST_ORDERS = len(SERIES)
_SHOWN = (1e-2, 1e5)
"""ε outside of this is left out: the axis would be mostly empty."""
WINDOW = (0.5, 200.0)
"""The same where the published ε is held against the exact one."""
_VISIBLE = 1.05
"""Excess of the exact line from which on there is shading: more than the discretisation adds."""
_PLOT = 280


@dataclass(frozen=True)
class EpsilonLine:
    """ε against σ, which ascends, for one l by one accountant."""

    accountant: Accountant
    order_of_mixture: int
    sigma: tuple[float, ...]
    epsilon: tuple[float, ...]


@dataclass(frozen=True)
class EpsilonAgainstSigmaInfo:
    """Figure 3 of Saha, Tonoy, Imtiaz (2024) for data of the user's size.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        lines: one for each l and accountant.
        orders: the l that are drawn.
        impossible: the l that are larger than the smallest class, which have no line.
        here: (σ, ε) of the user, if given.
    """

    title: str
    subtitle: str
    lines: tuple[EpsilonLine, ...]
    orders: tuple[int, ...]
    impossible: tuple[int, ...]
    here: tuple[float, float] | None


@dataclass(frozen=True)
class SigmaLine:
    """σ needed against l by one accountant; None where there is none."""

    accountant: Accountant
    orders: tuple[int, ...]
    sigma: tuple[float | None, ...]


@dataclass(frozen=True)
class SigmaNeededInfo:
    """The σ that an ε needs, against l.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        lines: one for each accountant.
        impossible: the l that are larger than the smallest class.
        notes: why lines have gaps, in sentences.
        here: (l, σ) of the user, if given.
    """

    title: str
    subtitle: str
    lines: tuple[SigmaLine, ...]
    impossible: tuple[int, ...]
    notes: tuple[str, ...]
    here: tuple[int, float] | None


def epsilon_against_sigma_info(
    *,
    orders: Sequence[int] = ORDERS,
    accountants: Sequence[Accountant] = ACCOUNTANTS,
    points: int = 17,
    here: tuple[float, float] | None = None,
    tolerance: float = ROUGH,
    **facts: Any,
) -> EpsilonAgainstSigmaInfo:
    """ε of T rows at δ against σ, under replace-one, for several l.

    Each l has its own σ, spaced evenly in the logarithm, from where ε is about 100 to where it is about 1/4; ``here``
    widens it. Classes or samples so large that exact accounting is slow (:data:`quick.QUICK`) have a third as many.

    Args:
        orders: the l, five at most.
        accountants: which to draw.
        points: σ for each line.
        here: the user's (σ, ε).
        tolerance: relative excess of ε that the exact accountant may show; it never shows too little.
        **facts: sizes, δ and c, as :meth:`Sizes.stated` takes them.

    Raises:
        ParameterError: an argument is out of range.
    """
    _check(accountants, orders, points, here)
    if len(set(orders)) > MOST_ORDERS:
        raise ParameterError("orders", tuple(orders), f"at most {MOST_ORDERS} values, to be told apart by colour")
    sizes = Sizes.stated(**facts)
    points = points if sizes.is_quick else max(2, points // 3)
    possible = tuple(sorted({order for order in orders if order <= sizes.smallest}))
    lines = [
        _epsilon_line(sizes, accountant, order, _sigmas(sizes, order, points, here), tolerance)
        for order in possible
        for accountant in accountants
    ]
    return EpsilonAgainstSigmaInfo(
        title="Privacy ε against noise σ",
        subtitle=_describe(sizes),
        lines=tuple(line for line in lines if line.sigma),
        orders=possible,
        impossible=tuple(sorted(set(orders) - set(possible))),
        here=here,
    )


def sigma_needed_info(
    *,
    epsilon: float,
    orders: Sequence[int] | None = None,
    accountants: Sequence[Accountant] = ACCOUNTANTS,
    here: tuple[int, float] | None = None,
    tolerance: float = ROUGH,
    **facts: Any,
) -> SigmaNeededInfo:
    """The σ that (ε, δ) needs against l, under replace-one.

    The exact σ meets ε and is at most a few per cent too large (``tolerance`` concerns ε). Other arguments and errors as in
    :func:`epsilon_against_sigma_info`; ``epsilon`` is the target, ``here`` the user's (l, σ), and ``orders`` are by default
    the powers of two from 1 to 512, or every other where exact accounting is slow.
    """
    sizes = Sizes.stated(**facts)
    if orders is None:
        orders = POWERS_OF_TWO[:: 1 if sizes.is_quick else 2]
    _check(accountants, orders, 2, here)
    ordered = tuple(sorted(set(orders)))
    impossible = tuple(order for order in ordered if order > sizes.smallest)
    lines = tuple(
        SigmaLine(accountant, ordered, tuple(sigma_for(sizes, order, epsilon, accountant, tolerance) for order in ordered))
        for accountant in accountants
    )
    notes = []
    if impossible:
        notes.append(f"No row can average more than the {sizes.smallest:,} records that the smallest class has.")
    for line in lines:
        if all(sigma is None for sigma in line.sigma) and len(impossible) < len(ordered):
            limit = rounded_down(rdp_limit(sizes.delta), 4)
            if line.accountant == "published":
                limit = f"ln(1/δ)/3 ≈ {rounded_down(math.log(1 / sizes.delta) / 3, 4)}"
            notes.append(f"{LABELS[line.accountant].capitalize()}: ε stays above {limit} however large σ is.")
    return SigmaNeededInfo(
        title=f"Noise σ needed for ε = {short(epsilon)}",
        subtitle=_describe(sizes),
        lines=lines,
        impossible=impossible,
        notes=tuple(notes),
        here=here,
    )


def _check(accountants: Sequence[str], orders: Sequence[int], points: int, here: tuple[float, float] | None) -> None:
    if not accountants or any(name not in ACCOUNTANTS for name in accountants):
        raise ParameterError("accountants", tuple(accountants), f"some of {', '.join(ACCOUNTANTS)}")
    if not orders or min(orders) < 1:
        raise ParameterError("orders", tuple(orders), "whole numbers from 1 on")
    if points < 2:
        raise ParameterError("points", points, "at least 2")
    if here is not None and not all(math.isfinite(value) and value > 0 for value in here):
        raise ParameterError("here", here, "two finite numbers > 0")


def _describe(sizes: Sizes) -> str:
    return f"N = {sizes.n:,}, T = {sizes.total:,}, smallest class {sizes.smallest:,}, δ = {short(sizes.delta)}"


def _sigmas(sizes: Sizes, order: int, points: int, here: tuple[float, float] | None) -> tuple[float, ...]:
    low, high = first_guess(sizes, order, 1000.0), first_guess(sizes, order, 0.25)
    if here is not None and low / 3 < here[0] < high * 3:
        low, high = min(low, here[0]), max(high, here[0])
    return tuple(float(value) for value in np.geomspace(low, high, points))


def _epsilon_line(
    sizes: Sizes, accountant: Accountant, order: int, sigmas: tuple[float, ...], tolerance: float
) -> EpsilonLine:
    found = [(sigma, epsilon_at(sizes, order, sigma, accountant, tolerance)) for sigma in sigmas]
    kept = [(sigma, epsilon) for sigma, epsilon in found if _SHOWN[0] <= epsilon <= _SHOWN[1]]
    return EpsilonLine(accountant, order, tuple(s for s, _ in kept), tuple(e for _, e in kept))


def draw_epsilon_against_sigma(info: EpsilonAgainstSigmaInfo) -> Any:
    """An Altair chart: colours for l, dashes for accountants; shading where the published ε is held against the exact."""
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
    table = pd.DataFrame(rows, columns=["accountant", "l", "x", "y", "sigma", "epsilon"])
    orders = [str(order) for order in info.orders]
    x = alt.X("x:Q", axis=_plain_axis("noise σ"), scale=alt.Scale(type="log", nice=False))
    y_scale, below = alt.Scale(zero=False), []
    heights = [math.log10(epsilon) for line in info.lines for epsilon in line.epsilon]
    if {line.accountant for line in info.lines} == {"published", "exact"}:
        low, high = (math.log10(value) for value in WINDOW)
        y_scale = alt.Scale(domain=_layers.domain_of([min(max(height, low), high) for height in heights], share=0.03))
        area = alt.Chart(_too_small(table)).mark_area(color=HERE, opacity=0.28, clip=True)
        below = [area.encode(x=x, y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high:Q"), detail=alt.Detail("l:N"))]
    colour = alt.Color(
        "l:N",
        title="l, order of mixture",
        sort=None,
        scale=alt.Scale(domain=orders, range=list(SERIES[: len(orders)])),
        legend=alt.Legend(orient="top", columns=MOST_ORDERS, symbolType="stroke", symbolStrokeWidth=3),
    )
    here = None if info.here is None else (math.log10(info.here[1]), info.here)
    return _chart(table, info, x, alt.Y("y:Q", axis=log_axis("ε"), scale=y_scale), colour, here, ("σ", "ε"), below)


def _too_small(table: pd.DataFrame) -> pd.DataFrame:
    """From the published to the exact log10 ε where the latter is larger; of no height elsewhere."""
    by_name = [table[table["accountant"] == LABELS[name]].reset_index() for name in ("published", "exact")]
    low, high = (found["y"] for found in by_name)
    return by_name[0][["x", "l"]].assign(low=low, high=high.where(high > low + math.log10(_VISIBLE), low))


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
    scale = alt.Scale(domain=names, range=list(SERIES[: len(names)]))
    return _chart(
        pd.DataFrame(rows, columns=["accountant", "l", "x", "y", "sigma"]),
        info,
        alt.X("x:Q", title="order of mixture l", scale=alt.Scale(type="log", base=2, nice=False)),
        alt.Y("y:Q", axis=_plain_axis("noise σ that is needed"), scale=alt.Scale(type="log")),
        alt.Color("accountant:N", title=None, sort=None, scale=scale, legend=_accountant_legend()),
        None if info.here is None else (info.here[1], info.here),
        ("l", "σ"),
        [],
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
    below: list[Any],
) -> Any:
    import altair as alt

    clip = {"clip": True} if below else {}
    shown_names = [name for name in ACCOUNTANTS if not below or name != "rdp"]
    labels = [LABELS[name] for name in shown_names]
    dashes = alt.Scale(domain=labels, range=[DASHES[2 - ACCOUNTANTS.index(name)] for name in shown_names])
    shown = [("accountant", "accountant"), ("l", "l"), ("sigma", "σ"), ("epsilon", "ε")]
    tooltip = [alt.Tooltip(f"{field}:N", title=name) for field, name in shown if field in table.columns]
    base = alt.Chart(table).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layers = [
        *below,
        base.mark_line(strokeWidth=2, **clip).encode(
            strokeDash=alt.StrokeDash("accountant:N", title=None, sort=None, scale=dashes, legend=_accountant_legend())
        ),
        base.mark_point(filled=True, size=60, opacity=0, **clip),
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
