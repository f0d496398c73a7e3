"""What audits of DP-CDA found: lower bounds on ε beside the claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE
from dpsyn.notation import short
from dpsyn.privacy.audit import Audit

HOLDS, REFUTED = "the claim stands", "the claim is refuted"


@dataclass(frozen=True)
class AuditLine:
    """One audit.

    Attributes:
        name: what was audited.
        bound: every ε below it is refuted at the δ of the claim, with the confidence stated.
        refuted: whether the accounting is refuted, at this δ or at a larger one of its own.
        elsewhere: that larger δ, if only it refutes.
        told: the counts behind the bound.
    """

    name: str
    bound: float
    refuted: bool
    elsewhere: float | None
    told: str


@dataclass(frozen=True)
class AuditsInfo:
    """Audits of several mechanisms with the same claim.

    Attributes:
        title, subtitle: what is shown, how sure it is.
        claim: ε that all of them claim.
        largest: the largest bound that so many runs can give.
        lines: one for each audit.
    """

    title: str
    subtitle: str
    claim: float
    largest: float
    lines: tuple[AuditLine, ...]


def audits_info(found: Mapping[str, Audit]) -> AuditsInfo:
    """Lines for audits by name, in their order; all with the same claim, δ, confidence and number of runs."""
    first = next(iter(found.values()))
    lines = tuple(
        AuditLine(
            name,
            audit.epsilon,
            audit.refuted,
            audit.sharpest.delta if audit.refuted and audit.sharpest and audit.epsilon <= (audit.claim or 0.0) else None,
            f"{audit.hits:,} against {audit.misses:,} of {audit.tested:,} runs",
        )
        for name, audit in found.items()
    )
    return AuditsInfo(
        title="Lower bounds from running it",
        subtitle=f"{short(100 * first.confidence)} % confidence, {first.runs:,} runs a side; dashed: claimed ε",
        claim=first.claim or 0.0,
        largest=first.largest,
        lines=lines,
    )


def draw_audits(info: AuditsInfo) -> Any:
    """An Altair chart of :class:`AuditsInfo`: a bar up to each bound, a rule at the claim."""
    import altair as alt

    top = max(info.claim, info.largest, *(line.bound for line in info.lines))
    rows = [
        {
            "name": line.name,
            "bound": line.bound,
            "verdict": REFUTED if line.refuted else HOLDS,
            "text": f"ε ≥ {math.floor(line.bound * 100) / 100:.2f}"
            + ("" if line.elsewhere is None else f"; refuted at δ = {short(line.elsewhere)}"),
            "end": 1.3 * top,
            "told": line.told,
        }
        for line in info.lines
    ]
    names = [line.name for line in info.lines]
    labels = [label for label in (HOLDS, REFUTED) if any(row["verdict"] == label for row in rows)]
    colours = [{HOLDS: BLUE, REFUTED: HERE}[label] for label in labels]
    scale = alt.Scale(domain=[0, 1.3 * top], nice=False)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        y=alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=260, ticks=False, domain=False, labelPadding=8)),
        tooltip=[
            alt.Tooltip("name:N", title=" "),
            alt.Tooltip("text:N", title="bound"),
            alt.Tooltip("told:N", title="fell into the set"),
            alt.Tooltip("verdict:N", title="so"),
        ],
    )
    colour = alt.Color(
        "verdict:N", title=None, sort=None, scale=alt.Scale(domain=labels, range=colours), legend=_layers.legend(labels)
    )
    claim = alt.Chart(pd.DataFrame([{"bound": info.claim, "text": f"claimed: ε = {short(info.claim)}"}]))
    limit = alt.Chart(pd.DataFrame([{"bound": info.largest, "text": "the most that so many runs can show"}]))
    x = alt.X("bound:Q", axis=_layers.bar_axis("refuted ε", top), scale=scale, stack=None)
    chart = alt.layer(
        base.mark_bar(height={"band": 0.6}, cornerRadiusEnd=3).encode(x=x, color=colour),
        base.mark_text(align="right", color=GUIDE, fontWeight="bold").encode(x=alt.X("end:Q"), text=alt.Text("text:N")),
        limit.mark_rule(color=GUIDE, strokeDash=[1, 3]).encode(x=alt.X("bound:Q"), tooltip=alt.Tooltip("text:N", title=" ")),
        claim.mark_rule(color=GUIDE, strokeDash=[4, 3], size=1.5).encode(
            x=alt.X("bound:Q"), tooltip=alt.Tooltip("text:N", title=" ")
        ),
    )
    return _layers.finish(chart, info.title, info.subtitle, legend_labels=labels, plot=34 * len(rows) + 20)
