"""Whether the reduced space is good enough, what h* looks like on it, and what is promised beside what a neighbour sees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, HERE, ORANGE, WORD, channels, log_axis, tips
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace
from dpsyn.mechanisms.private_sampling.certificates import EXACTLY
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.notation import counted, percent, short
from dpsyn.privacy.spec import rounded_down, rounded_up
from dpsyn.solvers.matching import Floats

AT_FLOOR, INSIDE, AT_CEILING = "at the floor", "inside the box", "at the ceiling"
_COLOURS = {AT_FLOOR: ORANGE, INSIDE: BLUE, AT_CEILING: GREEN}
_BINS = 36
_TOUCHES = 1e-6
_SMALLEST = -6.0
"""log10 at which an eigenvalue of 0 is drawn."""


def eigenvalues(space: ReducedSpace) -> Floats:
    """Of W Wᵀ/m, ascending, shape (C,): σ²/m for the singular values σ of W."""
    assert space.spectrum is not None
    return np.maximum(space.spectrum, 0.0)


def expected_band(space: ReducedSpace) -> tuple[float, float] | None:
    """(1 - √(C/m))² and (1 + √(C/m))², between which the spectrum of independent draws settles as C and m grow.

    By Marchenko and Pastur (1967); None for the whole domain.
    """
    root = math.sqrt(space.size.dimension / space.m)
    return None if space.size.whole else (max(0.0, 1 - root) ** 2, (1 + root) ** 2)


def written_bound(space: ReducedSpace) -> str:
    """How the threshold √m/(2B) is written: on other domains than the cube B takes the place of eᵈ."""
    return "eᵈ" if all(size <= 2 for size in space.size.shape) else "B"


def _log(value: float) -> float:
    return max(math.log10(value), _SMALLEST) if value > 0 else _SMALLEST


def draw_spectrum(space: ReducedSpace) -> Any:
    """An Altair chart: one dot per eigenvalue, ascending, on a log axis."""
    values, threshold, expected = eigenvalues(space), space.threshold**2 / space.m, expected_band(space)
    bound = written_bound(space)
    rows = pd.DataFrame(
        {
            "rank": range(1, len(values) + 1),
            "y": [_log(value) for value in values],
            "value": [short(value, 4) for value in values],
            "colour": [HERE if value < threshold else BLUE for value in values],
        }
    )
    heights = [*rows["y"], _log(threshold), 0.0]
    if expected is not None:
        heights += [_log(value) for value in expected if _log(value) > _SMALLEST]
    y_domain = _layers.domain_of(heights, share=0.08)
    x_domain = (0.5 - 0.01 * len(rows), len(rows) + 0.5 + 0.01 * len(rows))
    x = alt.X("rank:Q", axis=alt.Axis(title="eigenvalue, by rank", tickMinStep=1, grid=False), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=log_axis("eigenvalue of W Wᵀ/m  (σ²/m)"), scale=_layers.scale(y_domain))
    layers = []
    if expected is not None:
        low, high = (max(_log(value), y_domain[0]) for value in expected)
        text = f"independent draws of this size: {short(expected[0], 2)} to {short(expected[1], 2)}"
        band = alt.Chart(pd.DataFrame([{"low": low, "high": high, "text": text}]))
        layers.append(
            band.mark_rect(color=GUIDE, opacity=0.14).encode(
                y=alt.Y("low:Q", scale=_layers.scale(y_domain)),
                y2=alt.Y2("high"),
                tooltip=alt.Tooltip("text:N", title="expected"),
            )
        )
    layers += _layers.rules([(0.0, "1: the whole domain")], y_domain, labels_left=True, title="reference")
    mark = alt.Chart(pd.DataFrame([{"y": _log(threshold), "text": f"threshold (1/(2{bound}))² = {short(threshold, 3)}"}]))
    here = mark.encode(y=alt.Y("y:Q", scale=_layers.scale(y_domain)), tooltip=alt.Tooltip("text:N", title="step 2"))
    layers.append(here.mark_rule(color=HERE, strokeWidth=2, strokeDash=[6, 3]))
    label = {"color": HERE, "align": "right", "x": "width", "dx": -4, "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
    layers.append(here.mark_text(**label).encode(text=alt.Text("text:N")))
    hover = tips({"rank:": "rank", "value": "eigenvalue"})
    dots = alt.Chart(rows).mark_circle(size=55 if len(rows) <= 120 else 24, opacity=0.9)
    layers.append(dots.encode(x=x, y=y, color=alt.Color("colour:N", scale=None, legend=None), tooltip=hover))
    verdict = "step 2 passes" if space.passes else "step 2 says “Failure”: draw S again"
    words = (
        f"C = {space.size.dimension:,} functions on m = {space.m:,} points. The smallest singular value of W is "
        f"{short(space.smallest_singular_value, 3)}, √m/(2{bound}) = {short(space.threshold, 3)}: {verdict}."
    )
    return _layers.finish(alt.layer(*layers), "Spectrum of W Wᵀ/m", words, line_length=90)


@dataclass(frozen=True)
class DensityInfo:
    """Histogram of m·h*, the density relative to uniform.

    Attributes:
        words: λ, and what the data themselves reach.
        shrinkage: λ.
        edges: of the bins, from floor to ceiling.
        shares: of the points of S by bin, those that touch an end of the box left out.
        at_floor, at_ceiling: shares of the points that touch an end.
        floor, ceiling: the box of h*.
        data_above: share of the data's rows on points where f_n is above the ceiling; None unless S is the whole domain.
    """

    words: str
    shrinkage: float
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    at_floor: float
    at_ceiling: float
    floor: float
    ceiling: float
    data_above: float | None


def density_info(run: SmallRun, floor: float, ceiling: float) -> DensityInfo:
    """Data of :func:`draw_density`: h* as the run finds it."""
    matched, weights, rows = run.matched(floor, ceiling), run.space.weights, run.table.n
    ratio = np.clip(matched.ratio, floor, ceiling)
    touches = _TOUCHES * (ceiling - floor)
    low, high = ratio <= floor + touches, ratio >= ceiling - touches
    inside = ~low & ~high
    edges = np.linspace(floor, ceiling, _BINS + 1)
    shares, _ = np.histogram(ratio[inside], edges, weights=weights[inside])
    above = largest = None
    if run.space.size.whole:
        data = run.counts * (run.space.m / rows)
        above, largest = float(run.counts[data > ceiling].sum() / rows), float(data.max())
    at_floor, at_ceiling = float(weights[low].sum()), float(weights[high].sum())
    words = f"λ = {short(matched.shrinkage, 4)}."
    if matched.pinned:
        words += " h* is uniform: only the uniform density fits this box."
    elif matched.failed:
        words += f" h* is uniform: a program was not solved: {'; '.join(matched.faults)}."
    elif largest is not None:
        words += f" The data themselves reach {short(largest, 3)} times uniform."
    return DensityInfo(
        words=words,
        shrinkage=matched.shrinkage,
        edges=tuple(float(edge) for edge in edges),
        shares=tuple(float(share) for share in shares),
        at_floor=at_floor,
        at_ceiling=at_ceiling,
        floor=floor,
        ceiling=ceiling,
        data_above=above,
    )


def draw_density(info: DensityInfo) -> Any:
    """An Altair histogram over the box; what touches its ends stands as bars of their own, within the outermost bins."""
    width = (info.ceiling - info.floor) / _BINS
    first, last = info.floor + width / 2, info.ceiling - width / 2
    rows = [
        {
            "low": max(low, first),
            "high": min(high, last),
            "share": share,
            "where": INSIDE,
            "range": f"{short(low, 3)} to {short(high, 3)}",
        }
        for low, high, share in zip(info.edges, info.edges[1:], info.shares, strict=False)
        if share > 0
    ]
    ends = (
        (AT_FLOOR, info.floor, (info.floor, first), info.at_floor),
        (AT_CEILING, info.ceiling, (last, info.ceiling), info.at_ceiling),
    )
    for where, edge, (low, high), share in ends:
        rows.append({"low": low, "high": high, "share": share, "where": where, "range": short(edge, 4)})
    for row in rows:
        row["text"] = percent(row["share"], 3)  # type: ignore[arg-type]
        row["from"], row["to"] = row["low"] + 0.04 * width, row["high"] - 0.04 * width  # type: ignore[operator]
    x_domain = (info.floor - 1.2 * width, info.ceiling + 1.2 * width)
    top = max([*info.shares, info.at_floor, info.at_ceiling]) * 1.18
    labels = list(_COLOURS)
    y_scale = _layers.scale((0.0, top))
    points = "the points of S" if info.data_above is None else "the possible rows"
    bars = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "from:Q",
                axis=alt.Axis(title="probability of a row, in multiples of the uniform one", grid=False, tickCount=8),
                scale=_layers.scale(x_domain),
            ),
            x2=alt.X2("to"),
            y=alt.Y("zero:Q", axis=alt.Axis(title=f"share of {points}", labelExpr=_layers.PERCENT), scale=y_scale),
            y2=alt.Y2("share"),
            **channels(labels, "where", color=list(_COLOURS.values())),
            tooltip=tips({"range": "times uniform", "text": f"share of {points}", "where": "where"}),
        )
        .transform_calculate(zero="0")
    )
    one = alt.Chart(pd.DataFrame([{"x": 1.0, "text": "uniform"}])).encode(x=alt.X("x:Q", scale=_layers.scale(x_domain)))
    rule = one.mark_rule(color=GUIDE, strokeDash=[2, 4], size=1.5)
    word = one.mark_text(color=WORD, align="left", dx=4, y=0, dy=8).encode(text=alt.Text("text:N"))
    return _layers.finish(
        alt.layer(bars, rule, word), "The density h* relative to uniform, m·h*", info.words, legend_labels=labels
    )


THEOREM, RATIO, STABILITY = "Theorem 4.1", "Bounded ratio", "Stability bound"
SMALLER, CERTIFICATE, EXPERIMENTAL, OBSERVED = "smaller certificate", "certificate", "experimental", "observed loss"
_KINDS = {
    SMALLER: (BLUE, "diamond"),
    CERTIFICATE: (GUIDE, "circle"),
    EXPERIMENTAL: (GUIDE, "cross"),
    OBSERVED: (HERE, "triangle-right"),
}


@dataclass(frozen=True)
class Claim:
    """One line of the picture: ε for k rows, None where it does not apply, and what kind of statement it is."""

    name: str
    epsilon: float | None
    kind: str
    note: str = ""


def claims(certificates: Mapping[str, float | None], *, rows: int, cube: bool, degenerate: bool) -> tuple[Claim, ...]:
    """The three bounds for k rows; the first is true in exact arithmetic only.

    Args:
        certificates: of one row, as :class:`LossMeter` has them.
        rows: k.
        cube: every column is a bit.
        degenerate: only the uniform density fits the box, so that the first bound is 0 and the others say nothing more.
    """
    cost = {name: None if value is None else rows * value for name, value in certificates.items()}
    if degenerate:
        cost |= {"theorem_4_1": None, "stability": None}
    reason = "" if cube else "stated for the Boolean cube"
    found = (
        Claim(THEOREM, cost["theorem_4_1"], CERTIFICATE, reason or EXACTLY),
        Claim(RATIO, cost["bounded_ratio"], CERTIFICATE, "only the uniform density fits" if degenerate else ""),
        Claim(STABILITY, cost["stability"], EXPERIMENTAL, reason or "unpublished: never certifies"),
    )
    best = min((c for c in found[:2] if c.epsilon is not None), key=lambda c: c.epsilon or 0.0)
    return tuple(replace(c, kind=SMALLER) if c is best else c for c in found)


def draw_privacy(claims: Sequence[Claim], observed: Sequence[Claim], *, rows: int) -> Any:
    """An Altair dot chart on a log axis, one line per certificate for k rows and per observed loss."""
    smaller = next(claim for claim in claims if claim.kind == SMALLER)
    by = f"{THEOREM}, {EXACTLY}" if smaller.name == THEOREM else "the bounded ratio"
    says = f"ε = {_rounded(smaller.epsilon, 4)} by {by}."
    losses = [claim.epsilon for claim in observed if claim.epsilon is not None]
    if losses:
        says += f" The largest loss seen, {_rounded(max(losses), 3, OBSERVED)}, is a lower bound on the true ε."
    shown = [claim for claim in (*claims, *observed) if claim.epsilon is not None]
    names = [claim.name for claim in shown]
    logs = [_log(claim.epsilon or 0.0) for claim in shown]
    domain = _layers.domain_of([*logs, 0.0], share=0.12)
    kinds = [kind for kind in _KINDS if any(claim.kind == kind for claim in shown)]
    points = pd.DataFrame(
        {
            "name": names,
            "x": logs,
            "low": domain[0],
            "kind": [claim.kind for claim in shown],
            "text": [_rounded(claim.epsilon, 3, claim.kind) for claim in shown],
            "note": [claim.note or claim.kind for claim in shown],
        }
    )
    y = alt.Y(
        "name:N",
        sort=names,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, labelLimit=170, labelPadding=8, grid=False),
    )
    x = alt.X("x:Q", axis=log_axis("ε"), scale=_layers.scale(domain))
    base = alt.Chart(points)
    stems = base.mark_rule(strokeWidth=2, opacity=0.35, color=GUIDE).encode(
        y=y, x=alt.X("low:Q", scale=_layers.scale(domain)), x2=alt.X2("x")
    )
    dots = base.mark_point(filled=True, size=170, opacity=1).encode(
        y=y,
        x=x,
        **channels(kinds, "kind", color=[_KINDS[k][0] for k in kinds], shape=[_KINDS[k][1] for k in kinds]),
        tooltip=tips({"name": "bound", "text": "ε", "kind": "kind", "note": "note"}),
    )
    words = base.mark_text(align="left", dx=12, color=WORD, fontWeight="bold").encode(y=y, x=x, text=alt.Text("text:N"))
    chart = alt.layer(stems, dots, words)
    title = f"ε for {counted(rows, 'row')}"
    return _layers.finish(chart, title, says, legend_labels=kinds, line_length=80, plot=34 * len(shown) + 10)


def _rounded(epsilon: float | None, digits: int, kind: str = SMALLER) -> str:
    """What is promised is rounded up, what was observed is rounded down."""
    return short(float((rounded_down if kind == OBSERVED else rounded_up)(epsilon or 0.0, digits)), digits)


def draw_log_ratios(log_ratios: Floats, box_ratio: float) -> Any:
    """ln h*/h'* over the points of S, sorted, between the ends ±ln(ceiling/floor) that the bounded ratio allows.

    Args:
        log_ratios: of one neighbour, shape (s,).
        box_ratio: ceiling/floor.
    """
    log_ratios = np.sort(log_ratios)
    limit, most = math.log(box_ratio), float(np.abs(log_ratios).max())
    count = len(log_ratios)
    keep = np.unique(np.linspace(0, count - 1, min(count, 600)).round().astype(int))
    rows = pd.DataFrame({"rank": (keep + 0.5) / count, "y": log_ratios[keep]})
    tall = max(most * 1.25, 1e-9)
    inside = limit <= 2.5 * tall
    y_domain = (-limit * 1.1, limit * 1.1) if inside else (-tall, tall)
    x = alt.X(
        "rank:Q",
        axis=alt.Axis(title="points of S, sorted", labelExpr=_layers.PERCENT, grid=False),
        scale=_layers.scale((0.0, 1.0)),
    )
    y = alt.Y("y:Q", axis=alt.Axis(title="ln h*(θ)/h'*(θ)", format="~g"), scale=_layers.scale(y_domain))
    hover = tips({"y:.3g": "ln h*/h'*", "rank:.1%": "share of S below"})
    area = (
        alt.Chart(rows)
        .mark_area(color=GREEN, opacity=0.25, line={"color": GREEN, "strokeWidth": 2})
        .encode(x=x, y=y, tooltip=hover)
    )
    layers = [area]
    if inside:
        marks = [(limit, "ln(ceiling/floor): the certificate for one row"), (-limit, "−ln(ceiling/floor)")]
        layers = _layers.rules(marks, y_domain, labels_left=True, title="bounded ratio") + layers
    words = f"Largest in size: {short(most, 4)} a row" + (
        "." if inside else f"; the certificate allows {_rounded(limit, 3)}."
    )
    return _layers.finish(
        alt.layer(*layers), "ln h*/h'* at every point of S", words, plot=210, line_length=_layers.WIDE_LINE
    )
