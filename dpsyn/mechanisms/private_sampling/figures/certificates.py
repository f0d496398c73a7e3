"""What the privacy of k rows costs by each certificate, as one parameter varies; where the certificates cross.

All coordinates are log10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE, ORANGE, PURPLE, log_axis
from dpsyn.mechanisms.private_sampling.answers import (
    CERTIFICATES,
    NAMES,
    PROVEN,
    Certificate,
    Crossing,
    Varied,
    crossings,
    log_epsilon,
    smallest,
)
from dpsyn.mechanisms.private_sampling.figures import DOTTED, SOLID, channels, tips
from dpsyn.mechanisms.private_sampling.setting import Bounds, PrivateSamplingSetting, sampling_setting
from dpsyn.notation import short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log

_POINTS = 80
_FURTHEST = 40.0
_SYMBOLS = {"n": "n", "rows": "k", "floor": "floor", "ceiling": "ceiling", "reduced_space_size": "m"}
AXES: dict[Varied, str] = {
    "n": "rows of data n",
    "rows": "synthetic rows k",
    "floor": "floor (the papers' δ)",
    "ceiling": "ceiling (the papers' Δ)",
    "reduced_space_size": "size m of the reduced space",
}
_STYLE: dict[Certificate, tuple[str, list[int]]] = {
    "theorem_4_1": (BLUE, SOLID),
    "bounded_ratio": (ORANGE, SOLID),
    "stability": (PURPLE, DOTTED),
}


@dataclass(frozen=True)
class CertificateLine:
    """ε for k rows by one certificate: log10 against log10 of the parameter."""

    certificate: Certificate
    label: str
    proven: bool
    x: tuple[float, ...]
    log10_epsilon: tuple[float, ...]


@dataclass(frozen=True)
class CertificatesInfo:
    """Three certificates against one parameter.

    Attributes:
        title, subtitle: what is shown; which is the smallest here, in words.
        vary: the parameter on the axis.
        lines: one for each certificate that applies somewhere on the axis.
        crossings: exact values, in order; some may lie outside the picture.
        smallest: the proven certificate that is smaller at the present value.
        here: log10 of the present value and of the certified ε; ε is None where it is 0 or none is certified.
        here_text: the numbers at the present value.
        asked: log10 of the ε asked for.
        x_domain: log10 ends of the axis.
    """

    title: str
    subtitle: str
    vary: Varied
    lines: tuple[CertificateLine, ...]
    crossings: tuple[Crossing, ...]
    smallest: Certificate
    here: tuple[float, float | None]
    here_text: str
    asked: float
    x_domain: tuple[float, float]


def certificates_info(
    stats: DatasetStatistics, spec: PrivacySpec, *, vary: Varied = "n", **bounds: Unpack[Bounds]
) -> CertificatesInfo:
    """ε that k rows cost by Theorem 4.1, by the bounded ratio and by the experimental stability bound.

    Args:
        stats: p, n and ‖f_n‖∞ of the data.
        spec: the ε asked for, and the neighbours.
        vary: the parameter on the axis.
        bounds: as in :func:`sampling_setting`.

    Raises:
        ParameterError: ``vary`` is not one of the five, or a value with which the formulas mean nothing.
    """
    if vary not in AXES:
        raise ParameterError("vary", vary, "one of " + ", ".join(AXES))
    setting = sampling_setting(stats, spec, **bounds)
    now: float = setting.logs.m if vary == "reduced_space_size" else getattr(setting.logs, vary)
    low, high = _search_range(setting, vary)
    found = crossings(setting, vary, low, high) if high > low else ()
    ends = _axis(vary, now / LN10, low / LN10, high / LN10, [c.log_value / LN10 for c in found])
    lines = _lines(setting, vary, ends)
    best = smallest(setting)
    rows = "k rows" if vary == "rows" else f"{format_log(setting.log_rows)} row{'' if setting.log_rows == 0 else 's'}"
    cost = log_epsilon(setting, best)
    return CertificatesInfo(
        title=f"What {rows} cost",
        subtitle=_words(setting, vary, best, found),
        vary=vary,
        lines=lines,
        crossings=found,
        smallest=best,
        here=(now / LN10, cost / LN10 if math.isfinite(cost) else None),
        here_text=_here_text(setting, vary, now),
        asked=setting.logs.epsilon / LN10,
        x_domain=ends,
    )


def _search_range(setting: PrivateSamplingSetting, vary: Varied) -> tuple[float, float]:
    hair = 1e-9
    if vary == "floor":
        return math.log(1e-6), math.log(max(min(0.5, setting.ceiling - 1), 1e-6)) - hair
    if vary == "ceiling":
        return math.log(1 + setting.floor) + hair, math.log(1e6)
    return 0.0, 300 * LN10


def _axis(vary: Varied, now: float, low: float, high: float, crossing: list[float]) -> tuple[float, float]:
    if vary == "floor":
        return min(-3.0, now - 0.3), max(high, now)
    if vary == "ceiling":
        return min(low, now), max(2.0, now + 0.3, *(c + 0.2 for c in crossing if c < 4), low + 0.3)
    shown = [c for c in crossing if c <= max(_FURTHEST, now + 3)]
    top = {"n": 10.0, "rows": 4.0, "reduced_space_size": 6.0}[vary]
    return 0.0, math.ceil(max([top, now + 1, *(c + 1 for c in shown)]))


def _lines(setting: PrivateSamplingSetting, vary: Varied, ends: tuple[float, float]) -> tuple[CertificateLine, ...]:
    grid = [ends[0] + i * (ends[1] - ends[0]) / _POINTS for i in range(_POINTS + 1)]
    settings = [setting.changed(vary, x * LN10) for x in grid]
    lines = []
    for certificate in CERTIFICATES:
        costs = [(x, log_epsilon(s, certificate) / LN10) for x, s in zip(grid, settings, strict=True)]
        kept = [(x, y) for x, y in costs if math.isfinite(y)]
        if kept:
            xs, ys = zip(*kept, strict=True)
            lines.append(CertificateLine(certificate, NAMES[certificate], certificate in PROVEN, xs, ys))
    return tuple(lines)


def crossing_text(vary: Varied, crossing: Crossing) -> str:
    """One crossing in words."""
    return (
        f"{NAMES[crossing.first]} is smaller below {_SYMBOLS[vary]} = {format_log(crossing.log_value, 4)}, "
        f"{NAMES[crossing.second]} above; there ε = {format_log(crossing.log_epsilon, 4)}"
    )


def _words(setting: PrivateSamplingSetting, vary: Varied, best: Certificate, found: tuple[Crossing, ...]) -> str:
    if not setting.is_valid:
        return "No certificate: the box needs 2·floor ≤ 1 ≤ ceiling - floor."
    cost = log_epsilon(setting, best)
    if cost == -math.inf:
        return "ε = 0: at this end of the box only the uniform density fits, and the output ignores the data."
    proven = [c for c in found if c.first in PROVEN and c.second in PROVEN]
    where = f" Where they cross: {crossing_text(vary, proven[0])}." if proven else " The two proven ones do not cross here."
    if vary == "rows":
        where = " As k multiplies all of them, so they never cross."
    claim = format_log(cost, 3, "at_least")
    certified = f"The grey band is the certificate, the smaller of the two proven: here {NAMES[best]}, ε = {claim}."
    return certified + where


def _here_text(setting: PrivateSamplingSetting, vary: Varied, now: float) -> str:
    costs = [
        f"{NAMES[c]}: ε = {format_log(log_epsilon(setting, c), 4, 'at_least')}"
        for c in CERTIFICATES
        if log_epsilon(setting, c) < math.inf
    ]
    return f"{_SYMBOLS[vary]} = {format_log(now, 4)}; " + "; ".join(costs or ["no certificate"])


def draw_certificates(info: CertificatesInfo) -> Any:
    """An Altair chart of :class:`CertificatesInfo`."""
    import altair as alt

    rows = [
        {"series": line.label, "x": x, "y": y, "value": format_log(x * LN10, 4), "cost": format_log(y * LN10, 4, "at_least")}
        for line in info.lines
        for x, y in zip(line.x, line.log10_epsilon, strict=True)
    ]
    band: dict[float, float] = {}
    for line in info.lines:
        for x, y in zip(line.x, line.log10_epsilon, strict=True):
            if line.proven:
                band[x] = min(y, band.get(x, math.inf))
    labels = [line.label for line in info.lines]
    heights = [y for line in info.lines for y in line.log10_epsilon]
    y_domain = _layers.domain_of([*heights, info.asked])
    x = alt.X("x:Q", axis=log_axis(AXES[info.vary], **_layers.fine_ticks(info.x_domain)), scale=_layers.scale(info.x_domain))
    y = alt.Y("y:Q", axis=log_axis("ε of the rows"), scale=_layers.scale(y_domain))
    colours, dashes = zip(*(_STYLE[line.certificate] for line in info.lines), strict=True) if info.lines else ((), ())
    lines = (
        alt.Chart(pd.DataFrame(rows, columns=["series", "x", "y", "value", "cost"]))
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            **channels(labels, color=colours, strokeDash=dashes),
            tooltip=tips({"series": "certificate", "value": AXES[info.vary], "cost": "ε"}),
        )
    )
    under = alt.Chart(pd.DataFrame({"x": list(band), "y": list(band.values())})).encode(x=x, y=y)
    layers = [
        under.mark_line(color=GUIDE, strokeWidth=9, opacity=0.35, clip=True),
        *_layers.rules(
            [(info.asked, f"ε = {short(10**info.asked)} asked for")],
            y_domain,
            labels_left=info.here[0] > sum(info.x_domain) / 2,
        ),
        lines,
    ]
    marks = [c for c in info.crossings if info.x_domain[0] <= c.log_value / LN10 <= info.x_domain[1]]
    if marks:
        spots = [{"x": c.log_value / LN10, "y": c.log_epsilon / LN10, "text": crossing_text(info.vary, c)} for c in marks]
        layers.append(
            alt.Chart(pd.DataFrame(spots))
            .mark_point(color=HERE, size=90, strokeWidth=2, opacity=1)
            .encode(x=x, y=y, tooltip=alt.Tooltip("text:N", title="crossing"))
        )
    if info.here[1] is not None:
        layers.append(_layers.here("you are here", info.here[0], info.here[1], info.here_text, info.x_domain, y_domain))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=_layers.WIDE_LINE)
