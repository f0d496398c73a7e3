"""What refutes DP-CDA's published claim, in pictures: the exact ε, the z-score that turns every sign, audits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE
from dpsyn.mechanisms.dp_cda.accounting.functions import Accountant
from dpsyn.mechanisms.dp_cda.accounting.quick import TOLERANCE, Sizes, attained_epsilon
from dpsyn.mechanisms.dp_cda.figures.feasibility import (
    WINDOW,
    EpsilonAgainstSigmaInfo,
    EpsilonLine,
    epsilon_against_sigma_info,
)
from dpsyn.notation import short
from dpsyn.privacy.audit import Audit

PAPER: dict[str, Any] = {"n": 60_000, "classes": 10, "smallest_class": 6_000, "rows": 60_000, "delta": 1e-5}
"""The sizes of the paper's Figure 3, with balanced classes."""
FIRST, SECOND = "dataset D: the last record is high", "dataset D′: the last record is low"
HOLDS, REFUTED = "the claim stands", "the claim is refuted"
_RECORDS, _VALUE, _STEP = 12, 0.5, 0.3


@dataclass(frozen=True)
class Gap:
    """Both ε at the same σ, ascending, for one l.

    Attributes:
        order_of_mixture: l.
        sigma, published, exact: the lines; the exact ε is too large by a few per cent at most.
        worst: (σ, published ε, ε that a pair of datasets attains) where the exact line is above the published one by the
            largest factor; None where the pair does not refute the published ε.
    """

    order_of_mixture: int
    sigma: tuple[float, ...]
    published: tuple[float, ...]
    exact: tuple[float, ...]
    worst: tuple[float, float, float] | None


def published_info(
    facts: dict[str, Any], *, orders: Sequence[int] = (4, 64, 256), points: int = 21
) -> tuple[EpsilonAgainstSigmaInfo, tuple[Gap, ...]]:
    """Published and exact ε against σ where either is between 0.5 and 200, for :func:`draw_epsilon_against_sigma`.

    The exact values are upper bounds, within a few per cent, of what is proven for public scaling. The published formula
    claims to cover scaling by the data's own mean and deviation as well, where no such ε exists.

    Args:
        facts: sizes, δ and c, as arguments of :func:`epsilon_against_sigma_info`.
        orders: the l, five at most.
        points: σ for each line.
    """
    accountants: tuple[Accountant, ...] = ("published", "exact")
    found = epsilon_against_sigma_info(**facts, orders=orders, accountants=accountants, points=points, tolerance=TOLERANCE)
    sizes, gaps, lines = Sizes.stated(**facts), [], []
    for order in found.orders:
        said, true = (
            {line.accountant: dict(zip(line.sigma, line.epsilon, strict=True)) for line in found.lines
             if line.order_of_mixture == order}.get(name, {}) for name in accountants
        )  # fmt: skip
        shown = tuple(
            s for s in said
            if s in true and max(said[s], true[s]) >= WINDOW[0] and min(said[s], true[s]) <= WINDOW[1]
        )  # fmt: skip
        if not shown:
            continue
        both = tuple(said[s] for s in shown), tuple(true[s] for s in shown)
        at = max(shown, key=lambda s: true[s] / said[s])
        refutable = facts["classes"] > 1 and true[at] > said[at]
        attained = attained_epsilon(sizes, order, at) if refutable else 0.0
        gaps.append(Gap(order, shown, *both, (at, said[at], attained) if attained > said[at] else None))
        lines += [EpsilonLine(name, order, shown, values) for name, values in zip(accountants, both, strict=True)]
    title = "Privacy ε against noise σ: published and exact"
    return replace(found, title=title, lines=tuple(lines), orders=tuple(gap.order_of_mixture for gap in gaps)), tuple(gaps)


def where_too_small(gaps: Sequence[Gap]) -> str:
    """Where the published ε is too small, in a sentence."""
    said = [
        f"l = {gap.order_of_mixture}: at σ = {short(gap.worst[0], 3)} it says {short(gap.worst[1], 3)}, and two datasets "
        f"show {short(gap.worst[2], 3)}"
        for gap in gaps
        if gap.worst is not None
    ]
    if not said:
        return "For these sizes no two datasets are known that refute the published ε anywhere in the picture."
    return "The published ε is too small in the shaded parts. Worst points: " + "; ".join(said) + "."


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
    import altair as alt

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
    colours = alt.Scale(domain=labels, range=[BLUE, HERE])
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("record:O", title="record", axis=alt.Axis(labelAngle=0, ticks=False)),
        xOffset=alt.XOffset("dataset:N", sort=labels),
        color=alt.Color("dataset:N", title=None, sort=None, scale=colours, legend=_layers.legend(labels)),
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


def draw_audits(found: Mapping[str, Audit]) -> Any:
    """An Altair chart of audits by name, all with one claim: a bar up to each lower bound on ε, a rule at the claim."""
    import altair as alt

    first = next(iter(found.values()))
    claim = first.claim or 0.0
    top = max(claim, first.largest, *(audit.epsilon for audit in found.values()))
    rows = [
        {
            "name": name,
            "bound": audit.epsilon,
            "verdict": REFUTED if audit.refuted else HOLDS,
            "text": f"ε ≥ {math.floor(audit.epsilon * 100) / 100:.2f}{_at_another_delta(audit)}",
            "end": 1.3 * top,
            "told": f"{audit.hits:,} against {audit.misses:,} of {audit.tested:,} runs",
        }
        for name, audit in found.items()
    ]
    labels = [label for label in (HOLDS, REFUTED) if any(row["verdict"] == label for row in rows)]
    colours = alt.Scale(domain=labels, range=[{HOLDS: BLUE, REFUTED: HERE}[label] for label in labels])
    scale = alt.Scale(domain=[0, 1.3 * top], nice=False)
    axis = alt.Axis(labelLimit=260, ticks=False, domain=False, labelPadding=8)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        y=alt.Y("name:N", title=None, sort=list(found), axis=axis),
        tooltip=[
            alt.Tooltip("name:N", title=" "),
            alt.Tooltip("text:N", title="bound"),
            alt.Tooltip("told:N", title="fell into the set"),
            alt.Tooltip("verdict:N", title="so"),
        ],
    )
    x = alt.X("bound:Q", axis=_layers.bar_axis("refuted ε", top), scale=scale, stack=None)
    colour = alt.Color("verdict:N", title=None, sort=None, scale=colours, legend=_layers.legend(labels))

    def rule(value: float, text: str, **style: Any) -> Any:
        spot = alt.Chart(pd.DataFrame([{"bound": value, "text": text}])).mark_rule(color=GUIDE, **style)
        return spot.encode(x=alt.X("bound:Q"), tooltip=alt.Tooltip("text:N", title=" "))

    chart = alt.layer(
        base.mark_bar(height={"band": 0.6}, cornerRadiusEnd=3).encode(x=x, color=colour),
        base.mark_text(align="right", color=GUIDE, fontWeight="bold").encode(x=alt.X("end:Q"), text=alt.Text("text:N")),
        rule(first.largest, "the most that so many runs can show", strokeDash=[1, 3]),
        rule(claim, f"claimed: ε = {short(claim)}", strokeDash=[4, 3], size=1.5),
    )
    subtitle = f"{short(100 * first.confidence)} % confidence, {first.runs:,} runs a side; dashed: claimed ε"
    return _layers.finish(chart, "Lower bounds from running it", subtitle, legend_labels=labels, plot=34 * len(rows) + 20)


def _at_another_delta(audit: Audit) -> str:
    """Where the accounting is refuted at a larger δ of its own, and only there."""
    if not audit.refuted or not audit.sharpest or audit.epsilon > (audit.claim or 0.0):
        return ""
    return f"; refuted at δ = {short(audit.sharpest.delta)}"
