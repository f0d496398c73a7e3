"""What the certificates promise for k rows, beside what one neighbour really gives away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, HERE, log_axis
from dpsyn.mechanisms.private_sampling.certificates import (
    bounded_ratio_epsilon,
    is_degenerate,
    measured_geometry,
    stability_epsilon,
    theorem_4_1_log_epsilon,
    whole_cube_geometry,
)
from dpsyn.mechanisms.private_sampling.figures.instance import Instance
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down, rounded_up
from dpsyn.solvers.matching import Floats

THEOREM, RATIO, STABILITY = "Theorem 4.1", "Bounded ratio", "Stability bound"
CERTIFIES, CERTIFICATE, EXPERIMENTAL, OBSERVED = "certifies", "certificate", "experimental", "observed loss"
_COLOURS = {CERTIFIES: BLUE, CERTIFICATE: GUIDE, EXPERIMENTAL: GUIDE, OBSERVED: HERE}
_SHAPES = {CERTIFIES: "diamond", CERTIFICATE: "circle", EXPERIMENTAL: "cross", OBSERVED: "triangle-right"}
_SMALLEST = 1e-6


@dataclass(frozen=True)
class LocalLoss:
    """Exact loss of one neighbour on one S: k·max_θ |ln h*(θ)/h'*(θ)|.

    Attributes:
        rows: k.
        epsilon: the loss of k rows.
        log_ratios: ln h*(θ)/h'*(θ) at every distinct point of S, ascending, shape (s,).
        worst: codes of the point where it is largest.
        shrinkage: λ of the data and of the neighbour.
        residual: the larger equality residual of the two densities.
    """

    rows: int
    epsilon: float
    log_ratios: Floats
    worst: tuple[int, ...]
    shrinkage: tuple[float, float]
    residual: float


def neighbour_loss(
    instance: Instance, leaves: Sequence[int], comes: Sequence[int], *, floor: float, ceiling: float, rows: int = 1
) -> LocalLoss:
    """The loss of replacing one row.

    Args:
        instance: S and the rows.
        leaves: codes of a row of the data.
        comes: codes of the row that takes its place.
        floor: the box's lower end.
        ceiling: the box's upper end.
        rows: k.

    Raises:
        ParameterError: no row has the codes ``leaves``.
        SolverError: a linear program was not solved.
    """
    one = instance.solved(floor, ceiling)
    two = instance.with_row_replaced(leaves, comes).solved(floor, ceiling)
    logs = np.log(one.ratio / two.ratio)
    worst = int(np.argmax(np.abs(logs)))
    return LocalLoss(
        rows=rows,
        epsilon=rows * float(np.abs(logs[worst])),
        log_ratios=np.sort(logs),
        worst=tuple(int(code) for code in instance.space.points[worst]),
        shrinkage=(one.shrinkage, two.shrinkage),
        residual=max(one.residual, two.residual),
    )


@dataclass(frozen=True)
class Claim:
    """One line of the picture: ε for k rows, None where it does not apply, and what kind of statement it is."""

    name: str
    epsilon: float | None
    kind: str
    note: str = ""


@dataclass(frozen=True)
class PrivacyInfo:
    """Certificates for k rows and observed losses, in one list."""

    title: str
    subtitle: str
    claims: tuple[Claim, ...]


def certificates(instance: Instance, *, floor: float, ceiling: float, rows: int) -> tuple[Claim, ...]:
    """The three bounds for k rows; the smaller of the first two certifies."""
    cube = instance.domain.is_binary
    space = instance.space
    ratio = bounded_ratio_epsilon(rows=rows, floor=floor, ceiling=ceiling)
    theorem: float | None = None
    stability: float | None = None
    if cube and not is_degenerate(floor, ceiling):
        log_theorem = theorem_4_1_log_epsilon(
            log_rows=math.log(rows),
            floor=floor,
            ceiling=ceiling,
            degree=space.degree,
            log_dimension=math.log(space.dimension),
            log_m=math.log(space.m),
            log_n=math.log(instance.n),
        )
        theorem = math.exp(min(log_theorem, 700.0))
        p = len(space.sizes)
        geometry = (
            whole_cube_geometry(p, space.degree)
            if space.whole
            else measured_geometry(space.functions, space.multiplicity, p, space.degree)
        )
        value = stability_epsilon(rows=rows, floor=floor, ceiling=ceiling, n=instance.n, geometry=geometry)
        stability = value if math.isfinite(value) else None
    reason = "" if cube else "stated for the Boolean cube"
    claims = (
        Claim(THEOREM, theorem, CERTIFICATE, reason),
        Claim(RATIO, ratio, CERTIFICATE, "only the uniform density fits" if is_degenerate(floor, ceiling) else ""),
        Claim(STABILITY, stability, EXPERIMENTAL, reason or "unpublished: never certifies"),
    )
    best = min((c for c in claims[:2] if c.epsilon is not None), key=lambda c: c.epsilon or 0.0)
    return tuple(replace(c, kind=CERTIFIES) if c is best else c for c in claims)


def privacy_info(claims: Sequence[Claim], observed: Sequence[Claim], *, rows: int) -> PrivacyInfo:
    """Data of :func:`draw_privacy`."""
    certified = next(claim for claim in claims if claim.kind == CERTIFIES)
    assert certified.epsilon is not None
    words = f"Certified: ε = {_up(certified.epsilon, 4)} by the {certified.name.lower().replace('theorem', 'Theorem')}."
    losses = [claim.epsilon for claim in observed if claim.epsilon is not None]
    if losses:
        words += f" The largest loss seen, {_down(max(losses), 3)}, is a lower bound on the true ε."
    return PrivacyInfo(title=f"ε for {rows:,} row{'' if rows == 1 else 's'}", subtitle=words, claims=(*claims, *observed))


def draw_privacy(info: PrivacyInfo) -> Any:
    """An Altair dot chart on a log axis, one line per claim."""
    import altair as alt

    shown = [claim for claim in info.claims if claim.epsilon is not None]
    names = [claim.name for claim in shown]
    logs = [math.log10(max(claim.epsilon or 0.0, _SMALLEST)) for claim in shown]
    domain = _layers.domain_of([*logs, 0.0], share=0.12)
    kinds = [kind for kind in _COLOURS if any(claim.kind == kind for claim in shown)]
    rows = pd.DataFrame(
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
    base = alt.Chart(rows)
    stems = base.mark_rule(strokeWidth=2, opacity=0.35, color=GUIDE).encode(
        y=y, x=alt.X("low:Q", scale=_layers.scale(domain)), x2=alt.X2("x")
    )
    legend = {"title": None, "sort": None, "legend": _layers.legend(kinds)}
    dots = base.mark_point(filled=True, size=170, opacity=1).encode(
        y=y,
        x=x,
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[_COLOURS[k] for k in kinds]), **legend),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=[_SHAPES[k] for k in kinds]), **legend),
        tooltip=[
            alt.Tooltip("name:N", title="bound"),
            alt.Tooltip("text:N", title="ε"),
            alt.Tooltip("kind:N", title="kind"),
            alt.Tooltip("note:N", title="note"),
        ],
    )
    words = base.mark_text(align="left", dx=12, color=GUIDE, fontWeight="bold").encode(y=y, x=x, text=alt.Text("text:N"))
    chart = alt.layer(stems, dots, words)
    return _layers.finish(chart, info.title, info.subtitle, legend_labels=kinds, line_length=80, plot=34 * len(shown) + 10)


def _shown(claim: Claim) -> str:
    """What is promised is rounded up, what was observed is rounded down."""
    return (_down if claim.kind == OBSERVED else _up)(claim.epsilon or 0.0, 3)


def _up(epsilon: float, digits: int) -> str:
    return short(float(rounded_up(epsilon, digits)), digits)


def _down(epsilon: float, digits: int) -> str:
    return short(float(rounded_down(epsilon, digits)), digits)


def draw_log_ratios(loss: LocalLoss, ceiling_ratio: float) -> Any:
    """ln h*/h'* over the points of S, sorted, between the ends ±ln(ceiling/floor) that the bounded ratio allows.

    Args:
        loss: of one neighbour.
        ceiling_ratio: ceiling/floor.
    """
    import altair as alt

    limit, most = math.log(ceiling_ratio), float(np.abs(loss.log_ratios).max())
    count = len(loss.log_ratios)
    keep = np.unique(np.linspace(0, count - 1, min(count, 600)).round().astype(int))
    rows = pd.DataFrame({"rank": (keep + 0.5) / count, "y": loss.log_ratios[keep]})
    tall = max(most * 1.25, 1e-9)
    inside = limit <= 2.5 * tall
    y_domain = (-limit * 1.1, limit * 1.1) if inside else (-tall, tall)
    x = alt.X("rank:Q", axis=alt.Axis(title="points of S, sorted", format="%", grid=False), scale=_layers.scale((0.0, 1.0)))
    y = alt.Y("y:Q", axis=alt.Axis(title="ln h*(θ)/h'*(θ)", format="~g"), scale=_layers.scale(y_domain))
    tips = [
        alt.Tooltip("y:Q", title="ln h*/h'*", format=".3g"),
        alt.Tooltip("rank:Q", title="share of S below", format=".1%"),
    ]
    area = (
        alt.Chart(rows)
        .mark_area(color=GREEN, opacity=0.25, line={"color": GREEN, "strokeWidth": 2})
        .encode(x=x, y=y, tooltip=tips)
    )
    layers = [area]
    if inside:
        marks = [(limit, "ln(ceiling/floor): the certificate for one row"), (-limit, "−ln(ceiling/floor)")]
        layers = _layers.rules(marks, y_domain, labels_left=True, title="bounded ratio") + layers
    words = f"Largest in size: {short(most, 4)} a row" + ("." if inside else f"; the certificate allows {_up(limit, 3)}.")
    return _layers.finish(
        alt.layer(*layers), "ln h*/h'* at every point of S", words, plot=210, line_length=_layers.WIDE_LINE
    )
