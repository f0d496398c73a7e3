"""Figure 3 of Saha, Tonoy, Imtiaz (2024) with the exact ε beside the published one, shaded where the latter is too small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import DASHES, HERE, SERIES, log_axis
from dpsyn.mechanisms.dp_cda.figures.accounting import TOLERANCE, Sizes, attained_epsilon
from dpsyn.mechanisms.dp_cda.figures.feasibility import EpsilonLine, epsilon_against_sigma_info
from dpsyn.mechanisms.dp_cda.mixing_noise import MixingFacts
from dpsyn.notation import short
from dpsyn.theory.logarithms import format_log

PAPER = MixingFacts(n=60_000, classes=10, smallest_class=6_000, rows=60_000, delta=1e-5)
"""The sizes of the paper's Figure 3, with balanced classes."""
ORDERS = (4, 64, 256)
_WINDOW = (0.5, 200.0)
_VISIBLE = 1.05
"""Excess of the exact line from which on there is shading: more than the discretisation adds."""
_KINDS = ("published but wrong", "exact")


@dataclass(frozen=True)
class Gap:
    """One l: both ε at the same σ, ascending.

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


@dataclass(frozen=True)
class PublishedInfo:
    """Published against exact.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        gaps: one for each l that no class is too small for.
    """

    title: str
    subtitle: str
    gaps: tuple[Gap, ...]

    @property
    def verdict(self) -> str:
        """Where the published ε is too small, in a sentence."""
        said = [
            f"l = {gap.order_of_mixture}: at σ = {short(found[0], 3)} it says {short(found[1], 3)}, and two datasets "
            f"show {short(found[2], 3)}"
            for gap in self.gaps
            if (found := gap.worst) is not None
        ]
        if not said:
            return "For these sizes no two datasets are known that refute the published ε anywhere in the picture."
        return "The published ε is too small in the shaded parts. Worst points: " + "; ".join(said) + "."


def published_info(facts: MixingFacts, *, orders: Sequence[int] = ORDERS, points: int = 21) -> PublishedInfo:
    """Published and exact ε against σ for several l, where either is between 0.5 and 200.

    The exact values are upper bounds, within a few per cent, of what is proven for public scaling. The published formula
    claims to cover scaling by the data's own mean and deviation as well, where no such ε exists.

    Args:
        facts: sizes, δ and c.
        orders: the l, five at most.
        points: σ for each line.

    Raises:
        ParameterError: an argument is out of range.
    """
    found = epsilon_against_sigma_info(
        n=facts.n,
        classes=facts.classes,
        smallest_class=facts.smallest_class,
        rows=facts.rows,
        delta=facts.delta,
        clip_norm=facts.clip_norm,
        orders=orders,
        accountants=("published", "exact"),
        points=points,
        tolerance=TOLERANCE,
    )
    gaps = []
    for order in found.orders:
        lines = {line.accountant: _by_sigma(line) for line in found.lines if line.order_of_mixture == order}
        published, exact = lines.get("published", {}), lines.get("exact", {})
        sigmas = [
            sigma
            for sigma in published
            if sigma in exact
            and max(published[sigma], exact[sigma]) >= _WINDOW[0]
            and min(published[sigma], exact[sigma]) <= _WINDOW[1]
        ]
        said, true = tuple(published[s] for s in sigmas), tuple(exact[s] for s in sigmas)
        gaps.append(Gap(order, tuple(sigmas), said, true, _worst(facts, order, sigmas, said, true)))
    return PublishedInfo(
        title="Privacy ε against noise σ: published and exact",
        subtitle=found.subtitle,
        gaps=tuple(gap for gap in gaps if gap.sigma),
    )


def _worst(
    facts: MixingFacts, order: int, sigmas: Sequence[float], published: Sequence[float], exact: Sequence[float]
) -> tuple[float, float, float] | None:
    at = max(range(len(sigmas)), key=lambda i: exact[i] / published[i], default=None)
    if at is None or facts.classes < 2 or exact[at] <= published[at]:
        return None
    sizes = Sizes((facts.smallest_class,) * 2, facts.rows_per_class, facts.delta, facts.clip_norm)
    attained = attained_epsilon(sizes, order, sigmas[at])
    return (sigmas[at], published[at], attained) if attained > published[at] else None


def _by_sigma(line: EpsilonLine) -> dict[float, float]:
    return dict(zip(line.sigma, line.epsilon, strict=True))


def draw_published(info: PublishedInfo) -> Any:
    """An Altair chart of :class:`PublishedInfo`: a colour for each l, shading where the published ε is low."""
    import altair as alt

    orders = [f"l = {gap.order_of_mixture}" for gap in info.gaps]
    rows: list[dict[str, Any]] = []
    shaded: list[dict[str, Any]] = []
    for gap, name in zip(info.gaps, orders, strict=True):
        for sigma, published, exact in zip(gap.sigma, gap.published, gap.exact, strict=True):
            shared: dict[str, Any] = {
                "x": math.log10(sigma),
                "l": name,
                "sigma": format_log(math.log(sigma), 3),
                "says": short(published, 4),
                "is": short(exact, 4),
            }
            for kind, value in zip(_KINDS, (published, exact), strict=True):
                rows.append(shared | {"kind": kind, "y": math.log10(value)})
            low = math.log10(published)
            high = math.log10(exact) if exact > _VISIBLE * published else low
            shaded.append({"x": shared["x"], "l": name, "low": low, "high": high})
    table = pd.DataFrame(rows, columns=["x", "l", "sigma", "says", "is", "kind", "y"])
    heights = [min(max(row["y"], math.log10(_WINDOW[0])), math.log10(_WINDOW[1])) for row in rows] or [0.0]
    x_domain = _layers.domain_of([row["x"] for row in rows] or [0.0], share=0.02)
    y_domain = _layers.domain_of(heights, share=0.03)
    x = alt.X(
        "x:Q", axis=log_axis("noise σ", tickMinStep=0.01, **_layers.fine_ticks(x_domain)), scale=_layers.scale(x_domain)
    )
    y_scale = _layers.scale(y_domain)
    legend = _layers.legend(orders)
    legend.symbolType = "stroke"
    colour = alt.Color(
        "l:N", title=None, sort=None, scale=alt.Scale(domain=orders, range=list(SERIES[: len(orders)])), legend=legend
    )
    dash = alt.StrokeDash(
        "kind:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=list(_KINDS), range=[DASHES[2], DASHES[0]]),
        legend=_layers.legend(_KINDS),
    )
    base = alt.Chart(table).encode(
        x=x,
        y=alt.Y("y:Q", axis=log_axis("ε", tickMinStep=0.01, **_layers.fine_ticks(y_domain)), scale=y_scale),
        color=colour,
        tooltip=[
            alt.Tooltip("l:N", title=" "),
            alt.Tooltip("sigma:N", title="σ"),
            alt.Tooltip("says:N", title="published ε"),
            alt.Tooltip("is:N", title="exact ε"),
        ],
    )
    area = (
        alt.Chart(pd.DataFrame(shaded, columns=["x", "l", "low", "high"]))
        .mark_area(color=HERE, opacity=0.28, clip=True)
        .encode(x=x, y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high:Q"), detail=alt.Detail("l:N"))
    )
    lines = base.mark_line(strokeWidth=2, clip=True).encode(strokeDash=dash)
    spots = base.mark_point(filled=True, size=60, opacity=0, clip=True)
    return _layers.finish(
        alt.layer(area, lines, spots),
        info.title,
        info.subtitle,
        legend_labels=[*orders, *_KINDS],
        plot=320,
        line_length=_layers.WIDE_LINE,
    )
