"""The map of the (p, n) plane: where private sampling is certified private, and where its accuracy theorem applies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, ORANGE, SKY, YELLOW, channels, log_axis, tips
from dpsyn.mechanisms.private_sampling.answers import why_not
from dpsyn.mechanisms.private_sampling.bounds import LN2, SHORT_NAMES, PrivateSamplingSetting, missed_accuracy, of_data
from dpsyn.mechanisms.private_sampling.figures.feasibility import p_range
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import BUILT_IN
from dpsyn.theory.logarithms import LN10, at_most, format_log

Spread = Literal["data", "ideal"]
REGIONS = (
    "accurate, private by Theorem 4.1",
    "accurate, private by the ratio only",
    "accurate, not certified private",
    "private by Theorem 4.1, not accurate",
    "private by the ratio only, not accurate",
    "neither",
)
_FAINT = "rgba(136,136,136,0.4)"
_COLOURS = dict(zip(REGIONS, (GREEN, SKY, BLUE, ORANGE, YELLOW, _FAINT), strict=True))
_LARGEST_LOG10_N = 30.0
_EXACT = math.log(1e12)
_WIDE = 300
"""Bits above which the axis of p is log10, so that small datasets stay apart."""


def region(*, accurate: bool, theorem: bool, ratio: bool) -> str:
    """Which of REGIONS it is."""
    return REGIONS[(0 if accurate else 3) + (0 if theorem else 1 if ratio else 2)]


@dataclass(frozen=True)
class Column:
    """One p of the (p, n) plane: every condition that depends on n is monotone in it, so two thresholds cut the column.

    Attributes:
        p: number of bits.
        log_private_n: ln of the n from which on Theorem 4.1 allows the rows; inf where no n does.
        log_accurate_n: ln of the n from which on all conditions of Theorem 4.2 hold; inf where no n does.
        ratio: the bounded ratio allows the rows (at any n).
        missing: keys of the accuracy conditions that fail at every n.
    """

    p: int
    log_private_n: float
    log_accurate_n: float
    ratio: bool
    missing: tuple[str, ...]

    def region(self, log_n: float) -> str:
        """What holds at this n."""
        accurate, theorem = at_most(self.log_accurate_n, log_n), at_most(self.log_private_n, log_n)
        return region(accurate=accurate, theorem=theorem, ratio=self.ratio)


def _ratio_allows(setting: PrivateSamplingSetting) -> bool:
    """Whether the bounded ratio allows the rows."""
    return setting.is_valid and at_most(setting.log_rows, setting.log_largest_rows_ratio)


def at_p(setting: PrivateSamplingSetting, p: int, spread: Spread, *, log_n: float | None = None) -> PrivateSamplingSetting:
    """The setting at another p, and at another n.

    ``"data"`` keeps ‖f‖∞ as far as n rows in 2^p cells can have it; ``"ideal"`` spreads the rows as evenly as they can be.
    Either way ‖f‖∞ >= max(1/n, 2^{-p}), because some cell has at least that share.
    """
    if spread not in ("data", "ideal"):
        raise ParameterError("spread", spread, "'data' or 'ideal'")
    at_n = setting.log_n if log_n is None else log_n
    least = max(-at_n, -p * LN2)
    share = least if spread == "ideal" else max(least, setting.log_max_frequency)
    return replace(setting, p=p, log_n=at_n, log_max_frequency=min(share, 0.0), cube=True)


def column(setting: PrivateSamplingSetting, p: int, spread: Spread = "data") -> Column:
    """The two thresholds in n at one p."""
    endless = at_p(setting, p, spread, log_n=1e6)
    missing = missed_accuracy(endless)
    theorem = math.inf
    if not why_not(endless, "theorem_4_1"):
        theorem = 2 * (setting.log_rows - endless.logs._replace(n=0.0).largest_rows_theorem_4_1)
    # ‖f‖∞ >= 1/n, so ‖f‖∞ <= Δ/2^p also asks for n >= 2^p/Δ.
    accurate = math.inf if missing else max(endless.logs.smallest_n, p * LN2 - setting.logs.ceiling)
    return Column(p, theorem, accurate, _ratio_allows(setting), missing)


def columns(setting: PrivateSamplingSetting, values: Sequence[int], spread: Spread = "data") -> tuple[Column, ...]:
    """Columns at these p, and at both sides of every p between them at which accuracy begins or ends to be possible."""
    found = [column(setting, p, spread) for p in sorted(set(values))]
    extra = []
    for left, right in pairwise(found):
        if bool(left.missing) != bool(right.missing):
            low, high = left, right
            while high.p - low.p > 1:
                middle = column(setting, (low.p + high.p) // 2, spread)
                if bool(middle.missing) == bool(left.missing):
                    low = middle
                else:
                    high = middle
            extra += [low, high]
    return tuple(sorted({c.p: c for c in (*found, *extra)}.values(), key=lambda c: c.p))


@dataclass(frozen=True)
class Place:
    """One dataset: ``region`` is what holds for it with its own ‖fₙ‖∞, ``text`` its numbers."""

    name: str
    p: int
    log10_n: float
    region: str
    text: str


@dataclass(frozen=True)
class PlaneInfo:
    """The map.

    Attributes:
        subtitle: what stands in the way of accuracy, in words.
        columns: exact thresholds at each p drawn.
        places: datasets to compare with.
        here: the data in question, a dataset with its own ‖fₙ‖∞.
        x_domain: first and last p.
        y_domain: log10 n.
    """

    subtitle: str
    columns: tuple[Column, ...]
    places: tuple[Place, ...]
    here: Place
    x_domain: tuple[float, float]
    y_domain: tuple[float, float]

    def across(self, p: float) -> float:
        """Where p stands: at log10 p on a wide map."""
        return math.log10(p) if self.wide else p

    @property
    def wide(self) -> bool:
        """Whether the axis of p is log10."""
        return self.x_domain[1] > _WIDE

    def regions(self) -> tuple[str, ...]:
        """The regions that occur, in their fixed order."""
        return tuple(r for r in REGIONS if any(r == region for c in self.columns for region, _, _ in self.cut(c)))

    def cut(self, one: Column) -> tuple[tuple[str, float, float], ...]:
        """The regions of one column from below, each with its ends in log10 n."""
        low, high = self.y_domain
        inner = sorted({t / LN10 for t in (one.log_private_n, one.log_accurate_n) if low < t / LN10 < high})
        ends = [low, *inner, high]
        return tuple((one.region((a + b) / 2 * LN10), a, b) for a, b in pairwise(ends))


def plane_info(
    setting: PrivateSamplingSetting,
    others: Sequence[DatasetStatistics] = (),
    *,
    spread: Spread = "data",
    largest_p: int | None = None,
) -> PlaneInfo:
    """Thresholds in n at about 120 values of p, and where datasets lie.

    Args:
        setting: with the data in question.
        others: datasets to compare with, besides the four of Pierquin et al. (2023).
        spread: what ‖f‖∞ is elsewhere in the plane: ``"data"``: that of the setting; ``"ideal"``: rows spread as evenly as
            possible, 2^{-p} from n = 2^p on. Never below max(1/n, 2^{-p}), which n rows in 2^p cells cannot be.
        largest_p: right end of the map; default 140, or more if a dataset needs it.

    Raises:
        ParameterError: an unknown ``spread``.
    """
    names = {setting.name, *(s.name for s in others)}
    others = [*others, *(s for s in BUILT_IN.values() if s.name not in names)]
    values = p_range(max([setting.p, *(s.p for s in others)]), setting.degree, largest_p)
    if values[-1] > _WIDE:
        values = tuple({*np.geomspace(values[0], values[-1], len(values)).round().astype(int).tolist(), setting.p})
    cut = columns(setting, values, spread)
    here = _place(setting)
    places = tuple(_place(_with_data(setting, stats)) for stats in others)
    return PlaneInfo(
        subtitle=_words(setting, cut, spread),
        columns=cut,
        places=places,
        here=here,
        x_domain=(float(cut[0].p), float(cut[-1].p)),
        y_domain=(0.0, max(_LARGEST_LOG10_N, *(place.log10_n + 2 for place in (here, *places)))),
    )


def _with_data(setting: PrivateSamplingSetting, stats: DatasetStatistics) -> PrivateSamplingSetting:
    return replace(setting, degree=min(setting.degree, stats.p), **of_data(stats))


def _place(setting: PrivateSamplingSetting) -> Place:
    missing = missed_accuracy(setting)
    theorem = not why_not(setting, "theorem_4_1") and at_most(setting.log_rows, setting.logs.largest_rows_theorem_4_1)
    where = region(accurate=not missing, theorem=theorem, ratio=_ratio_allows(setting))
    fails = f"; fails for accuracy: {_list(missing)}" if missing else ""
    log_n, share = setting.log_n, format_log(setting.log_max_frequency)
    text = f"{setting.name}: p = {setting.p}, n = {_whole(log_n)}, ‖fₙ‖∞ = {share}: {where}{fails}"
    return Place(setting.name, setting.p, log_n / LN10, where, text)


def _whole(log_n: float) -> str:
    return f"{round(math.exp(log_n)):,}" if log_n < _EXACT else format_log(log_n)


def _list(keys: Sequence[str]) -> str:
    return ", ".join(SHORT_NAMES[key] for key in keys)


def _words(setting: PrivateSamplingSetting, cut: Sequence[Column], spread: Spread) -> str:
    share = f"‖f‖∞ = {format_log(setting.log_max_frequency)} as in the data" if spread == "data" else "rows spread evenly"
    able = [c.p for c in cut if not c.missing]
    if able:
        return f"With {share}, accuracy can be had from p = {able[0]} to {able[-1]}, given enough rows."
    always = set(cut[0].missing).intersection(*(c.missing for c in cut))
    why = f". What fails at every p: {_list(sorted(always))}" if always else ": at every p something fails"
    return f"With {share}, Theorem 4.2 promises accuracy nowhere on this map{why}."


def _runs(info: PlaneInfo) -> list[dict[str, Any]]:
    """Corners of the regions; a region that begins or ends between two columns does so half-way."""
    rows: list[dict[str, Any]] = []
    run = dict.fromkeys(REGIONS, 0)
    cuts = [{region: ends for region, *ends in info.cut(c)} for c in info.columns]
    p = [info.across(c.p) for c in info.columns]
    for i, parts in enumerate(cuts):
        for region, (low, high) in parts.items():
            begins = i > 0 and region not in cuts[i - 1]
            ends = i + 1 < len(cuts) and region not in cuts[i + 1]
            run[region] += begins
            places = [(p[i - 1] + p[i]) / 2] * begins + [p[i]] + ([(p[i] + p[i + 1]) / 2] if ends else [])
            rows += [{"region": region, "run": run[region], "p": at, "low": low, "high": high} for at in places]
    return rows


def _strips(info: PlaneInfo) -> list[dict[str, Any]]:
    def from_n(log_n: float) -> str:
        return "no n" if math.isinf(log_n) else format_log(max(0.0, log_n), 4, "at_least")

    places = [info.across(one.p) for one in info.columns]
    edges = [places[0], *((a + b) / 2 for a, b in pairwise(places)), places[-1]]
    return [
        {
            "left": left,
            "right": right,
            "low": info.y_domain[0],
            "high": info.y_domain[1],
            "p": one.p,
            "private": from_n(one.log_private_n),
            "accurate": from_n(one.log_accurate_n),
            "ratio": "any n" if one.ratio else "no n",
            "missing": _list(one.missing) or "nothing but n",
        }
        for one, (left, right) in zip(info.columns, pairwise(edges), strict=True)
    ]


def draw_plane(info: PlaneInfo) -> Any:
    """An Altair chart of :class:`PlaneInfo`."""
    present = list(info.regions())
    x_domain = info.across(info.x_domain[0]), info.across(info.x_domain[1])
    title = "number of bits p"
    axis = log_axis(title) if info.wide else alt.Axis(title=title, tickMinStep=1)
    x = alt.X("p:Q", scale=_layers.scale(x_domain), axis=axis)
    y = alt.Y("low:Q", axis=log_axis("rows of data n"), scale=_layers.scale(info.y_domain))
    areas = alt.Chart(pd.DataFrame(_runs(info))).mark_area(opacity=0.45, clip=True)
    strips = alt.Chart(pd.DataFrame(_strips(info))).mark_rect(opacity=0.001, clip=True)
    hover = {
        "p:": "p",
        "private": "private by Theorem 4.1 from n =",
        "ratio": "private by the ratio at",
        "accurate": "accurate from n =",
        "missing": "stands in the way of accuracy",
    }
    end = min(info.x_domain[1], info.y_domain[1] * LN10 / LN2)
    named = 0.7 * end
    curve = sorted({named, *np.geomspace(info.x_domain[0], end, 40 if info.wide else 2).tolist()})
    words = {named: "every point once, n = 2ᵖ"}
    cube = [{"p": info.across(p), "low": p * LN2 / LN10, "text": words.get(p, "")} for p in curve]
    ideal = alt.Chart(pd.DataFrame(cube)).encode(x=x, y=y)
    side, off = ("right", -8) if info.across(end) > sum(x_domain) / 2 else ("left", 8)
    layers = [
        areas.encode(
            x=x,
            y=y,
            y2=alt.Y2("high"),
            detail=alt.Detail("run:N"),
            **channels(present, "region", color=[_COLOURS[r] for r in present]),
        ),
        strips.encode(x=alt.X("left:Q"), x2=alt.X2("right"), y=alt.Y("low:Q"), y2=alt.Y2("high"), tooltip=tips(hover)),
        ideal.mark_line(color=GUIDE, strokeDash=[6, 3], strokeWidth=2, clip=True),
        *_layers.on_colour(ideal, "text", align=side, dx=off, baseline="middle"),
    ]
    if info.places:
        spots = [{"p": info.across(q.p), "low": q.log10_n, "text": q.text, "name": q.name} for q in info.places]
        dots = alt.Chart(pd.DataFrame(spots)).encode(x=x, y=y, tooltip=alt.Tooltip("text:N", title="dataset"))
        layers += [
            dots.mark_point(color="#333333", fill="#ffffff", size=70, strokeWidth=2, opacity=1, fillOpacity=1),
            *_layers.on_colour(dots, "name", baseline="top", dy=8),
        ]
    at = info.across(info.here.p)
    layers += _layers.here("you are here", at, info.here.log10_n, info.here.text, x_domain, info.y_domain)
    title = "Where private sampling works"
    return _layers.finish(alt.layer(*layers), title, info.subtitle, legend_labels=present, line_length=_layers.WIDE_LINE)
