"""DP-CDA's noise in pictures: ε against σ for several l (Figure 3 of the paper), and the σ that an ε needs against l.

Each is drawn by several accountants: the published formula, the corrected Rényi bound, the exact one. Lines have gaps where
l is larger than the smallest class and where an accountant cannot reach the ε asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit import live
from dpsyn.kit.layers import DASHES, SERIES, log_axis
from dpsyn.mechanisms.dp_cda.accounting._rdp import rdp_limit
from dpsyn.mechanisms.dp_cda.accounting.functions import ACCOUNTANTS, Accountant
from dpsyn.mechanisms.dp_cda.accounting.quick import (
    ROUGH,
    Sizes,
    epsilon_at,
    first_guess,
    sigma_for,
)
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down
from dpsyn.theory.logarithms import format_log

LABELS: dict[Accountant, str] = {"published": "published but wrong", "rdp": "corrected Rényi", "exact": "exact"}
ORDERS = (4, 16, 64)
_POWERS_OF_TWO = tuple(2**i for i in range(10))
_MOST_ORDERS = len(SERIES)
_SHOWN = (1e-2, 1e5)
"""ε outside of this is left out: the axis would be mostly empty."""
_PLOT = 280
_FEW_DECADES = 300
_RUNS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""ε at which the σ of a run is found."""


class Point(NamedTuple):
    """What one accountant says of one l: ε at σ, or the σ that ε needs."""

    accountant: Accountant
    order_of_mixture: int
    sigma: float
    epsilon: float


def epsilon_against_sigma(
    sizes: Sizes,
    orders: Sequence[int] = ORDERS,
    accountants: Sequence[Accountant] = ACCOUNTANTS,
    *,
    points: int = 17,
) -> tuple[Point, ...]:
    """ε against σ, which ascends, under replace-one: by l, and by accountant. l above the smallest class have no points.

    Each l has its own σ, spaced evenly in the logarithm, from where ε is about 100 to where it is about 1/4. Classes or
    samples so large that exact accounting is slow (:data:`quick.QUICK`) have a third as many. The exact accountant may
    show an ε that is some per cent too large (:data:`quick.ROUGH`), and never one that is too small.

    Args:
        sizes: of classes and rows, δ and c.
        orders: the l, five at most.
        accountants: which to ask.
        points: σ for each line.

    Raises:
        ParameterError: an argument is out of range.
    """
    _check(accountants, orders)
    if points < 2:
        raise ParameterError("points", points, "at least 2")
    if len(set(orders)) > _MOST_ORDERS:
        raise ParameterError("orders", tuple(orders), f"at most {_MOST_ORDERS} values, to be told apart by colour")
    count = points if sizes.is_quick else max(2, points // 3)
    found = [
        Point(accountant, order, sigma, epsilon_at(sizes, order, sigma, accountant, ROUGH))
        for order in sorted(set(orders))
        if order <= sizes.smallest
        for accountant in accountants
        for sigma in np.geomspace(first_guess(sizes, order, 1000.0), first_guess(sizes, order, 0.25), count).tolist()
    ]
    return tuple(point for point in found if _SHOWN[0] <= point.epsilon <= _SHOWN[1])


def sigma_needed(
    sizes: Sizes,
    epsilon: float,
    orders: Sequence[int] | None = None,
    accountants: Sequence[Accountant] = ACCOUNTANTS,
) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """The σ that (ε, δ) needs against l, under replace-one, where there is one; and why lines have gaps, in sentences.

    The exact σ meets ε and is at most a few per cent too large. Other arguments and errors as in
    :func:`epsilon_against_sigma`; ``orders`` are by default the powers of two from 1 to 512, or every other where exact
    accounting is slow.
    """
    if orders is None:
        orders = _POWERS_OF_TWO[:: 1 if sizes.is_quick else 2]
    _check(accountants, orders)
    points, notes = [], []
    if max(orders) > sizes.smallest:
        notes.append(f"No row can average more than the {sizes.smallest:,} records that the smallest class has.")
    for accountant in accountants:
        found = {order: sigma_for(sizes, order, epsilon, accountant, ROUGH) for order in sorted(set(orders))}
        line = [Point(accountant, order, sigma, epsilon) for order, sigma in found.items() if sigma is not None]
        points += line
        if not line and min(orders) <= sizes.smallest:
            limit = rounded_down(rdp_limit(sizes.delta), 4)
            if accountant == "published":
                limit = f"ln(1/δ)/3 ≈ {rounded_down(math.log(1 / sizes.delta) / 3, 4)}"
            notes.append(
                f"{LABELS[accountant][0].upper()}{LABELS[accountant][1:]}: ε stays above {limit} however large σ is."
            )
    return tuple(points), tuple(notes)


class Run(NamedTuple):
    """The noise of a run: σ by the exact accountant against ε at one l, from small ε to large."""

    order_of_mixture: int
    points: tuple[Point, ...]

    def at(self, epsilon: float) -> float | None:
        """σ at this ε, on the line through the points; None beyond its ends."""
        known = [point.epsilon for point in self.points]
        if not known or not known[0] <= epsilon <= known[-1]:
            return None
        return math.exp(np.interp(math.log(epsilon), np.log(known), [math.log(point.sigma) for point in self.points]))


def noise_of_runs(sizes: Sizes, order: int, epsilon: float, known: Sequence[Point] = ()) -> Run:
    """σ of a run at the ε asked for and at ε = 0.1, 0.2, … 100; where exact accounting is slow, at the ε of what is known
    (:func:`epsilon_against_sigma`) in place of these."""
    asked = {epsilon: sigma_for(sizes, order, epsilon) for epsilon in ((*_RUNS, epsilon) if sizes.is_quick else (epsilon,))}
    found = [Point("exact", order, sigma, each) for each, sigma in asked.items() if sigma is not None]
    if not sizes.is_quick:
        found += [point for point in known if _is_exact(point, order)]
    return Run(order, tuple(sorted(found, key=lambda point: point.epsilon)))


def with_run(points: Sequence[Point], run: Run) -> list[Point]:
    """The points, the exact line of the run's l through the run's own."""
    return [point for point in points if not _is_exact(point, run.order_of_mixture)] + list(run.points)


def _is_exact(point: Point, order: int) -> bool:
    return (point.accountant, point.order_of_mixture) == ("exact", order)


def _check(accountants: Sequence[str], orders: Sequence[int]) -> None:
    if not accountants or any(name not in ACCOUNTANTS for name in accountants):
        raise ParameterError("accountants", tuple(accountants), f"some of {', '.join(ACCOUNTANTS)}")
    if not orders or min(orders) < 1:
        raise ParameterError("orders", tuple(orders), "whole numbers from 1 on")


def draw_epsilon_against_sigma(
    points: Sequence[Point],
    sizes: Sizes,
    here: tuple[float, float] | None = None,
    more: Sequence[tuple[float | None, float]] = (),
    sliders: live.Sliders | None = None,
) -> Any:
    """An Altair chart: colours for l, dashes for accountants.

    ``here`` is the user's (σ, ε); ``more``: the same at each value of ``sliders``, which the picture follows while they
    are dragged (kit.live); σ is None where it is not known.
    """
    table = _table(points, lambda point: (point.sigma, math.log10(point.epsilon)))
    orders = list(dict.fromkeys(table["l"]))
    x = alt.X("x:Q", axis=_plain_axis("noise σ", table["x"]), scale=alt.Scale(type="log", nice=False))
    colour = alt.Color(
        "l:N",
        title="l, order of mixture",
        sort=None,
        scale=alt.Scale(domain=orders, range=list(SERIES[: len(orders)])),
        legend=alt.Legend(orient="top", columns=_MOST_ORDERS, symbolType="stroke", symbolStrokeWidth=3),
    )
    y = alt.Y("y:Q", axis=log_axis("ε"), scale=alt.Scale(zero=False))
    tooltip = {"accountant": "accountant", "l": "l", "sigma": "σ", "epsilon": "ε"}
    layers = _lines(alt.Chart(table).encode(x=x, y=y, color=colour), tooltip)
    if here is not None:
        places = [here, *((here[0] if sigma is None else sigma, None if sigma is None else e) for sigma, e in more)]
        layers += _here(
            [(x, y if y is None else math.log10(y), {"σ": x, "ε": y}) for x, y in places], [*table["x"], here[0]]
        )
    return _finish(layers, "Privacy ε against noise σ", sizes, sliders)


def draw_sigma_needed(
    points: Sequence[Point],
    sizes: Sizes,
    epsilon: float,
    here: tuple[int, float] | None = None,
    more: Sequence[tuple[int, float | None]] = (),
    sliders: live.Sliders | None = None,
) -> Any:
    """An Altair chart: colours and dashes for accountants. ``here`` is the user's (l, σ), and follows ``sliders`` as in
    :func:`draw_epsilon_against_sigma`."""
    names = list(LABELS.values())
    table = _table(points, lambda point: (point.order_of_mixture, point.sigma))
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title="order of mixture l", scale=alt.Scale(type="log", base=2, nice=False)),
        y=alt.Y("y:Q", axis=_plain_axis("noise σ that is needed", table["y"]), scale=alt.Scale(type="log", nice=False)),
        color=alt.Color(
            "accountant:N",
            title=None,
            sort=None,
            scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])),
            legend=_accountant_legend(),
        ),
    )
    layers = _lines(base, {"accountant": "accountant", "l": "l", "sigma": "σ"})
    if here is not None:
        layers += _here([(order, sigma, {"l": order, "σ": sigma}) for order, sigma in (here, *more)], [*table["x"], here[0]])
    return _finish(layers, f"Noise σ needed for ε = {short(epsilon)}", sizes, sliders)


def _table(points: Sequence[Point], place: Any) -> pd.DataFrame:
    rows = [
        {
            "accountant": LABELS[point.accountant],
            "l": str(point.order_of_mixture),
            "x": x,
            "y": y,
            "sigma": format_log(math.log(point.sigma), 4, "at_least"),
            "epsilon": format_log(math.log(point.epsilon), 4, "at_least"),
        }
        for point in points
        for x, y in [place(point)]
    ]
    return pd.DataFrame(rows, columns=["accountant", "l", "x", "y", "sigma", "epsilon"])


def _plain_axis(title: str, values: Iterable[float]) -> Any:
    """For a logarithmic scale that spans few decades: 0.02, 0.05, 0.1; of several decades, these alone."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    steps = (1, 2, 5) if high < _FEW_DECADES * low else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
    return alt.Axis(title=title, format="~g", **({"values": ticks} if len(ticks) > 1 else {"tickCount": 8}))


def _accountant_legend() -> Any:
    return alt.Legend(orient="bottom", columns=2, labelLimit=0, symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)


def _lines(base: Any, tooltip: dict[str, str]) -> list[Any]:
    """A dash for each accountant."""
    dashes = alt.Scale(domain=[LABELS[name] for name in ACCOUNTANTS], range=list(DASHES[2::-1]))
    base = base.encode(tooltip=[alt.Tooltip(f"{field}:N", title=name) for field, name in tooltip.items()])
    return [
        base.mark_line(strokeWidth=2).encode(
            strokeDash=alt.StrokeDash("accountant:N", title=None, sort=None, scale=dashes, legend=_accountant_legend())
        ),
        base.mark_point(filled=True, size=60, opacity=0),
    ]


def _here(places: Sequence[tuple[float, float | None, dict[str, float | None]]], across: Sequence[float]) -> list[Any]:
    """Somewhere among the x of the lines, ``across``. Without y there is no mark."""
    spots = [
        (x, y, ", ".join(f"{name} = {format_log(math.log(value), 4)}" for name, value in values.items() if value))
        for x, y, values in places
    ]
    low, high = min(across), max(across)
    # On a logarithmic axis: beyond three fifths of its length words stand on the left.
    return _layers.here("you are here", *spots[0], (0.0, low * (high / low) ** 0.6 / 0.6), more=spots[1:])


def _finish(layers: list[Any], title: str, sizes: Sizes, sliders: live.Sliders | None) -> Any:
    subtitle = f"N = {sizes.n:,}, T = {sizes.total:,}, smallest class {sizes.smallest:,}, δ = {short(sizes.delta)}"
    return _layers.finish(
        alt.layer(*layers), title, subtitle, legend_labels=list(LABELS.values()), plot=_PLOT, sliders=sliders
    )
