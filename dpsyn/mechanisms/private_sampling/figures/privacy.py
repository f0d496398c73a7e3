"""What the certificates promise for k rows, beside what one neighbour really gives away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, HERE, log_axis
from dpsyn.mechanisms.private_sampling.figures import channels, tips
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down, rounded_up
from dpsyn.solvers.matching import Floats

THEOREM, RATIO, STABILITY = "Theorem 4.1", "Bounded ratio", "Stability bound"
CERTIFIES, CERTIFICATE, EXPERIMENTAL, OBSERVED = "certifies", "certificate", "experimental", "observed loss"
_COLOURS = {CERTIFIES: BLUE, CERTIFICATE: GUIDE, EXPERIMENTAL: GUIDE, OBSERVED: HERE}
_SHAPES = {CERTIFIES: "diamond", CERTIFICATE: "circle", EXPERIMENTAL: "cross", OBSERVED: "triangle-right"}
_SMALLEST = 1e-6


@dataclass(frozen=True)
class Claim:
    """One line of the picture: ε for k rows, None where it does not apply, and what kind of statement it is."""

    name: str
    epsilon: float | None
    kind: str
    note: str = ""


def claims(certificates: Mapping[str, float | None], *, rows: int, cube: bool, degenerate: bool) -> tuple[Claim, ...]:
    """The three bounds for k rows; the smaller of the first two certifies.

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
        Claim(THEOREM, cost["theorem_4_1"], CERTIFICATE, reason),
        Claim(RATIO, cost["bounded_ratio"], CERTIFICATE, "only the uniform density fits" if degenerate else ""),
        Claim(STABILITY, cost["stability"], EXPERIMENTAL, reason or "unpublished: never certifies"),
    )
    best = min((c for c in found[:2] if c.epsilon is not None), key=lambda c: c.epsilon or 0.0)
    return tuple(replace(c, kind=CERTIFIES) if c is best else c for c in found)


def draw_privacy(claims: Sequence[Claim], observed: Sequence[Claim], *, rows: int) -> Any:
    """An Altair dot chart on a log axis, one line per certificate for k rows and per observed loss."""
    import altair as alt

    certified = next(claim for claim in claims if claim.kind == CERTIFIES)
    says = (
        f"Certified: ε = {_up(certified.epsilon or 0.0, 4)} by the {certified.name.lower().replace('theorem', 'Theorem')}."
    )
    losses = [claim.epsilon for claim in observed if claim.epsilon is not None]
    if losses:
        says += f" The largest loss seen, {_down(max(losses), 3)}, is a lower bound on the true ε."
    shown = [claim for claim in (*claims, *observed) if claim.epsilon is not None]
    names = [claim.name for claim in shown]
    logs = [math.log10(max(claim.epsilon or 0.0, _SMALLEST)) for claim in shown]
    domain = _layers.domain_of([*logs, 0.0], share=0.12)
    kinds = [kind for kind in _COLOURS if any(claim.kind == kind for claim in shown)]
    points = pd.DataFrame(
        {
            "name": names,
            "x": logs,
            "low": domain[0],
            "kind": [claim.kind for claim in shown],
            "text": [_shown(claim) for claim in shown],
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
        **channels(kinds, "kind", color=[_COLOURS[k] for k in kinds], shape=[_SHAPES[k] for k in kinds]),
        tooltip=tips({"name": "bound", "text": "ε", "kind": "kind", "note": "note"}),
    )
    words = base.mark_text(align="left", dx=12, color=GUIDE, fontWeight="bold").encode(y=y, x=x, text=alt.Text("text:N"))
    chart = alt.layer(stems, dots, words)
    title = f"ε for {rows:,} row{'' if rows == 1 else 's'}"
    return _layers.finish(chart, title, says, legend_labels=kinds, line_length=80, plot=34 * len(shown) + 10)


def _shown(claim: Claim) -> str:
    """What is promised is rounded up, what was observed is rounded down."""
    return (_down if claim.kind == OBSERVED else _up)(claim.epsilon or 0.0, 3)


def _up(epsilon: float, digits: int) -> str:
    return short(float(rounded_up(epsilon, digits)), digits)


def _down(epsilon: float, digits: int) -> str:
    return short(float(rounded_down(epsilon, digits)), digits)


def draw_log_ratios(log_ratios: Floats, box_ratio: float) -> Any:
    """ln h*/h'* over the points of S, sorted, between the ends ±ln(ceiling/floor) that the bounded ratio allows.

    Args:
        log_ratios: of one neighbour, shape (s,).
        box_ratio: ceiling/floor.
    """
    import altair as alt

    log_ratios = np.sort(log_ratios)
    limit, most = math.log(box_ratio), float(np.abs(log_ratios).max())
    count = len(log_ratios)
    keep = np.unique(np.linspace(0, count - 1, min(count, 600)).round().astype(int))
    rows = pd.DataFrame({"rank": (keep + 0.5) / count, "y": log_ratios[keep]})
    tall = max(most * 1.25, 1e-9)
    inside = limit <= 2.5 * tall
    y_domain = (-limit * 1.1, limit * 1.1) if inside else (-tall, tall)
    x = alt.X("rank:Q", axis=alt.Axis(title="points of S, sorted", format="%", grid=False), scale=_layers.scale((0.0, 1.0)))
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
    words = f"Largest in size: {short(most, 4)} a row" + ("." if inside else f"; the certificate allows {_up(limit, 3)}.")
    return _layers.finish(
        alt.layer(*layers), "ln h*/h'* at every point of S", words, plot=210, line_length=_layers.WIDE_LINE
    )
