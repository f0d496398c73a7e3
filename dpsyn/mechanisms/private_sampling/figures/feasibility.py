"""Private sampling's bounds against p: the most rows that are private, and the window for the size of the reduced space.

All heights are log10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import log_axis
from dpsyn.mechanisms.private_sampling.figures import tips
from dpsyn.mechanisms.private_sampling.setting import LN2, Bounds, sampling_setting
from dpsyn.notation import short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log
from dpsyn.theory.thresholds import p_threshold

_THRESHOLDS = (1, 100, 1000, 10000)
_EPSILONS = (0.1, 1.0, 10.0)
_POINTS = 120

Case = Literal["yours", "ideal"]


@dataclass(frozen=True)
class Series:
    """One line: log10 heights over the whole numbers p."""

    label: str
    p: tuple[int, ...]
    log10: tuple[float, ...]


@dataclass(frozen=True)
class BoundsInfo:
    """Bounds against p.

    Attributes:
        title, subtitle: what is shown, and what is fixed.
        series: the bounds, a line each.
        here: p of the data, log10 of what is asked for, and its numbers.
        thresholds: numbers at which a rule is drawn.
        opens_at: the first p at which there is room between the bounds on m.
    """

    title: str
    subtitle: str
    series: tuple[Series, ...]
    here: tuple[int, float, str]
    thresholds: tuple[int, ...] = ()
    opens_at: int | None = None


def p_range(p: int, smallest: int, largest: int | None = None) -> tuple[int, ...]:
    """About 120 whole numbers from ``smallest`` to ``largest`` (default: 140, or 1.25·p if that is more), p among them."""
    top = max(largest if largest is not None else max(140, math.ceil(1.25 * p)), p, smallest)
    step = max(1, math.ceil((top - smallest) / _POINTS))
    return tuple(sorted({*range(smallest, top + 1, step), p, top}))


def rows_bound_info(
    stats: DatasetStatistics,
    *,
    epsilon: float,
    case: Case = "yours",
    largest_p: int | None = None,
    **bounds: Unpack[Bounds],
) -> BoundsInfo:
    """The most rows that are private at each p, by Theorem 4.1 and by the ratio (Figure 1 of Pierquin et al. 2023).

    Args:
        stats: the data; its n is kept while p varies (``case="yours"``), or n = 2^p (``"ideal"``, every point once).
        epsilon: the ε asked for; a line of its own if it is not among 0.1, 1 and 10.
        case: what n is.
        largest_p: right end of the axis.
        bounds: as in :func:`sampling_setting`; ``rows`` is the height of "you are here".
    """
    if case not in ("yours", "ideal"):
        raise ParameterError("case", case, "'yours' or 'ideal'")
    mine = sampling_setting(stats, PrivacySpec(epsilon), **bounds)
    logs = mine.logs._replace(epsilon=0.0)
    values = p_range(stats.p, mine.degree, largest_p)
    unit = [
        logs._replace(p=p, n=p * LN2 if case == "ideal" else logs.n).largest_rows_theorem_4_1 for p in (stats.p, *values)
    ]
    lines = [
        Series(_label(e), values, tuple((u + math.log(e)) / LN10 for u in unit[1:])) for e in sorted({*_EPSILONS, epsilon})
    ]
    ratio = mine.log_largest_rows_ratio
    if math.isfinite(ratio):
        lines.append(Series(f"bounded ratio, {_label(epsilon)}", values, (ratio / LN10,) * len(values)))
    allowed, rows = format_log(max(unit[0] + math.log(epsilon), ratio)), round(math.exp(mine.log_rows))
    fixed = "every point of the cube once, n = 2ᵖ" if case == "ideal" else f"n = {format_log(mine.log_n)}"
    text = f"{stats.name}: {rows:,} asked for, {allowed} allowed at {_label(epsilon)}"
    return BoundsInfo(
        title="Most rows k that are private",
        subtitle=f"By Theorem 4.1, with {fixed}; the bounded ratio does not depend on p.",
        series=tuple(lines),
        here=(stats.p, math.log10(rows), text),
        thresholds=_THRESHOLDS,
    )


def reduced_space_info(stats: DatasetStatistics, **bounds: Unpack[Bounds]) -> BoundsInfo:
    """Theorem 4.2's window for m at each p: from 16 δ^{-2} γ^{-1} Δ² e^{2d} C(p, ≤d) to 2^{p/4}; and 2^p, the whole cube.

    "You are here" is the m given, or the lower bound at the data's p.
    """
    logs = sampling_setting(stats, PrivacySpec(1.0), **bounds).logs
    values = p_range(stats.p, logs.degree)

    def lower(p: int) -> float:
        return logs._replace(p=p).smallest_m

    found = p_threshold("at_least", lambda p: lower(p) <= p * LN2 / 4, p=stats.p, smallest=logs.degree).value
    opens_at = None if found is None else int(found)
    window = f"the theorem wants {format_log(lower(stats.p))} to {format_log(stats.p * LN2 / 4)}"
    return BoundsInfo(
        title="Window for the size m of the reduced space",
        subtitle=f"Theorem 4.2 wants m between two lines; from p = {opens_at} on there is room.",
        series=(
            Series("at least", values, tuple(lower(p) / LN10 for p in values)),
            Series("at most ⁴√2ᵖ", values, tuple(p * LN2 / 4 / LN10 for p in values)),
            Series("whole cube, 2ᵖ", values, tuple(p * LN2 / LN10 for p in values)),
        ),
        here=(stats.p, logs.m / LN10, f"{stats.name}: m = {format_log(logs.m)}; {window}"),
        opens_at=opens_at,
    )


def _label(epsilon: float) -> str:
    return f"ε = {short(epsilon)}"


def draw_rows_bound(info: BoundsInfo) -> Any:
    """An Altair chart of :func:`rows_bound_info`."""
    return _draw(info, "number of rows k")


def draw_reduced_space(info: BoundsInfo) -> Any:
    """An Altair chart of :func:`reduced_space_info`."""
    return _draw(info, "size m of the reduced space")


def _draw(info: BoundsInfo, y_title: str) -> Any:
    import altair as alt

    rows = [
        {"series": line.label, "p": p, "log10": y, "value": format_log(y * LN10, 4)}
        for line in info.series
        for p, y in zip(line.p, line.log10, strict=True)
    ]
    labels = [line.label for line in info.series]
    across = (float(info.series[0].p[0]), float(info.series[0].p[-1]))
    rules = [(math.log10(k), f"k = {k:,}") for k in info.thresholds]
    p_here, y_here, text = info.here
    up = _layers.domain_of([*(y for line in info.series for y in line.log10), *(y for y, _ in rules), y_here])
    lines = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("p:Q", title="number of bits p", scale=_layers.scale(across), axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("log10:Q", axis=log_axis(y_title), scale=_layers.scale(up)),
            tooltip=tips({"series": "line", "p:": "p", "value": y_title}),
            **_layers.line_channels(labels),
        )
    )
    right_half = p_here > (across[0] + across[1]) / 2
    below = _layers.rules(rules, up, labels_left=right_half) if rules else []
    spot = _layers.here("you are here", p_here, y_here, text, across, up)
    return _layers.finish(alt.layer(*below, lines, spot), info.title, info.subtitle, legend_labels=labels)
