"""Private sampling's bounds against p: the most rows that are private, and the window for the size of the reduced space.

Each picture is an info record, computed without drawing, and a function that draws it. All heights are log10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import log_axis
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.notation import short
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log
from dpsyn.theory.thresholds import p_threshold

LN2 = math.log(2)
THRESHOLDS = (1, 100, 1000, 10000)
_POINTS = 120

Case = Literal["yours", "ideal"]


@dataclass(frozen=True)
class Series:
    """One line: log10 heights over the whole numbers p."""

    label: str
    p: tuple[int, ...]
    log10: tuple[float, ...]


@dataclass(frozen=True)
class Mark:
    """One named point; ``text`` is shown on hover."""

    label: str
    p: int
    log10: float
    text: str


@dataclass(frozen=True)
class RowsBoundInfo:
    """The upper bound on k against p (Figure 1 of Pierquin et al. 2023).

    Attributes:
        title, subtitle: what is shown, and what is fixed.
        series: one line for each ε by Theorem 4.1; for the data's own ε also the bounded ratio.
        thresholds: numbers of rows at which a rule is drawn.
        here: the data's p and the rows asked for.
    """

    title: str
    subtitle: str
    series: tuple[Series, ...]
    thresholds: tuple[int, ...]
    here: Mark


@dataclass(frozen=True)
class ReducedSpaceInfo:
    """The window for m against p: lower bound, 2^{p/4}, 2^p; ``opens_at`` is the first p at which it is not empty."""

    title: str
    subtitle: str
    series: tuple[Series, ...]
    here: Mark
    opens_at: int | None


def p_range(p: int, smallest: int, largest: int | None = None) -> tuple[int, ...]:
    """About 120 whole numbers from ``smallest`` to ``largest`` (default: 140, or 1.25·p if that is more), p among them."""
    top = max(largest if largest is not None else max(140, math.ceil(1.25 * p)), p, smallest)
    step = max(1, math.ceil((top - smallest) / _POINTS))
    return tuple(sorted({*range(smallest, top + 1, step), p, top}))


def rows_bound_info(
    stats: DatasetStatistics,
    *,
    epsilon: float,
    epsilons: Sequence[float] = (0.1, 1.0, 10.0),
    degree: int = 2,
    floor: float = 0.25,
    ceiling: float = 2.0,
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
    case: Case = "yours",
    thresholds: Sequence[int] = THRESHOLDS,
    largest_p: int | None = None,
) -> RowsBoundInfo:
    """The most rows that are private at each p.

    Args:
        stats: the data; its n is kept while p varies (``case="yours"``), or n = 2^p (``"ideal"``, every point once).
        epsilon: the ε asked for; a line of its own if it is not among ``epsilons``.
        epsilons: further lines.
        degree: d.
        floor: the papers' δ.
        ceiling: the papers' Δ.
        failure_probability: γ; matters only through the smallest m.
        rows: k asked for, the height of "you are here".
        reduced_space_size: m; None takes the smallest that Theorem 4.2 allows at each p.
        case: what n is.
        thresholds: rules to draw.
        largest_p: right end of the axis.
    """
    if case not in ("yours", "ideal"):
        raise ParameterError("case", case, "'yours' or 'ideal'")
    log_m = None if reduced_space_size is None else math.log(reduced_space_size)

    def setting(p: int, one_epsilon: float) -> PrivateSamplingSetting:
        return PrivateSamplingSetting(
            p=p,
            log_n=p * LN2 if case == "ideal" else math.log(stats.n),
            log_max_frequency=-p * LN2 if case == "ideal" else math.log(stats.max_frequency),
            epsilon=one_epsilon,
            degree=degree,
            floor=floor,
            ceiling=ceiling,
            failure_probability=failure_probability,
            log_rows=math.log(rows),
            log_m=log_m,
        )

    values = p_range(stats.p, degree, largest_p)
    unit = [setting(p, 1.0).log_largest_rows_theorem_4_1 for p in values]
    lines = [Series(_label(e), values, tuple((u + math.log(e)) / LN10 for u in unit)) for e in sorted({*epsilons, epsilon})]
    mine = setting(stats.p, epsilon)
    ratio = mine.log_largest_rows_ratio
    if math.isfinite(ratio):
        lines.append(Series(f"bounded ratio, {_label(epsilon)}", values, (ratio / LN10,) * len(values)))
    bound = max(mine.log_largest_rows_theorem_4_1, ratio)
    fixed = "every point of the cube once, n = 2ᵖ" if case == "ideal" else f"n = {format_log(math.log(stats.n))}"
    return RowsBoundInfo(
        title="Most rows k that are private",
        subtitle=f"By Theorem 4.1, with {fixed}; the bounded ratio does not depend on p.",
        series=tuple(lines),
        thresholds=tuple(thresholds),
        here=Mark(
            "you are here",
            stats.p,
            math.log10(rows),
            f"{stats.name}: {rows:,} asked for, {format_log(bound)} allowed at {_label(epsilon)}",
        ),
    )


def reduced_space_info(
    stats: DatasetStatistics,
    *,
    degree: int = 2,
    floor: float = 0.25,
    ceiling: float = 2.0,
    failure_probability: float = 0.125,
    reduced_space_size: int | None = None,
    largest_p: int | None = None,
) -> ReducedSpaceInfo:
    """Theorem 4.2's window for m at each p: from 16 δ^{-2} γ^{-1} Δ² e^{2d} C(p, ≤d) to 2^{p/4}; and 2^p, the whole cube.

    Arguments as in :func:`rows_bound_info`; "you are here" is the m given, or the lower bound at the data's p.
    """

    def lower(p: int) -> float:
        return PrivateSamplingSetting(
            p=p,
            log_n=0.0,
            log_max_frequency=0.0,
            epsilon=1.0,
            degree=degree,
            floor=floor,
            ceiling=ceiling,
            failure_probability=failure_probability,
        ).log_smallest_m

    values = p_range(stats.p, degree, largest_p)
    bottom = [lower(p) for p in values]
    log_m = lower(stats.p) if reduced_space_size is None else math.log(reduced_space_size)
    top = stats.p * LN2 / 4
    found = p_threshold("at_least", lambda p: lower(p) <= p * LN2 / 4, p=stats.p, smallest=degree).value
    opens_at = None if found is None else int(found)
    opening = f"from p = {opens_at} on there is room"
    window = f"the theorem wants {format_log(lower(stats.p))} to {format_log(top)}"
    return ReducedSpaceInfo(
        title="Window for the size m of the reduced space",
        subtitle=f"Theorem 4.2 wants m between two lines; {opening}.",
        series=(
            Series("at least", values, tuple(b / LN10 for b in bottom)),
            Series("at most ⁴√2ᵖ", values, tuple(p * LN2 / 4 / LN10 for p in values)),
            Series("whole cube, 2ᵖ", values, tuple(p * LN2 / LN10 for p in values)),
        ),
        here=Mark("you are here", stats.p, log_m / LN10, f"{stats.name}: m = {format_log(log_m)}; {window}"),
        opens_at=opens_at,
    )


def _label(epsilon: float) -> str:
    return f"ε = {short(epsilon)}"


def draw_rows_bound(info: RowsBoundInfo) -> Any:
    """An Altair chart of :class:`RowsBoundInfo`."""
    rules = [(math.log10(k), f"k = {k:,}") for k in info.thresholds]
    return _draw(info.title, info.subtitle, "number of rows k", info.series, info.here, rules)


def draw_reduced_space(info: ReducedSpaceInfo) -> Any:
    """An Altair chart of :class:`ReducedSpaceInfo`."""
    return _draw(info.title, info.subtitle, "size m of the reduced space", info.series, info.here, [])


def _draw(
    title: str, subtitle: str, y_title: str, series: Sequence[Series], here: Mark, rules: Sequence[tuple[float, str]]
) -> Any:
    import altair as alt

    rows = [
        {"series": line.label, "p": p, "log10": y, "value": format_log(y * LN10, 4)}
        for line in series
        for p, y in zip(line.p, line.log10, strict=True)
    ]
    labels = [line.label for line in series]
    across = (float(min(min(line.p) for line in series)), float(max(max(line.p) for line in series)))
    up = _layers.domain_of([*(y for line in series for y in line.log10), *(y for y, _ in rules), here.log10])
    lines = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("p:Q", title="number of bits p", scale=_layers.scale(across), axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("log10:Q", axis=log_axis(y_title), scale=_layers.scale(up)),
            tooltip=[
                alt.Tooltip("series:N", title="line"),
                alt.Tooltip("p:Q", title="p"),
                alt.Tooltip("value:N", title=y_title),
            ],
            **_layers.line_channels(labels),
        )
    )
    right_half = here.p > (across[0] + across[1]) / 2
    below = _layers.rules(rules, up, labels_left=right_half) if rules else []
    spot = _layers.here(here.label, here.p, here.log10, here.text, across, up)
    return _layers.finish(alt.layer(*below, lines, spot), title, subtitle, legend_labels=labels)
