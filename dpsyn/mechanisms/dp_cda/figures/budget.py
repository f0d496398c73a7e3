"""Which class spends how much of DP-CDA's ε, and which binds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE, SKY
from dpsyn.mechanisms.dp_cda.accounting.functions import Change, Variant, dp_cda_epsilon
from dpsyn.mechanisms.dp_cda.figures.accounting import TOLERANCE
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_up

MOST_CLASSES = 13
"""Classes that are accounted for one by one, the smallest first: they have the largest ε."""
INSIDE, MOVED = "replaced inside its class", "moved to another class"


@dataclass(frozen=True)
class ClassBudget:
    """ε of a record of one class.

    Attributes:
        name: the class, or the two classes between which a record moves.
        kind: :data:`INSIDE` or :data:`MOVED`.
        size: N_k (of the first of two).
        rate: l/N_k.
        rows: T_k.
        epsilon: exact ε at δ, never too small.
    """

    name: str
    kind: str
    size: int
    rate: float
    rows: int
    epsilon: float


@dataclass(frozen=True)
class BudgetInfo:
    """Class-wise ε at one σ.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        target: the ε asked for.
        parts: one for each of the smallest classes with l records or more, one for the largest of these classes, and one for
            the worst change of label; the largest ε first.
        others: how many classes between them are not shown; their ε lies between as well.
        left_out: classes with fewer than l records: no row can be made from them.
    """

    title: str
    subtitle: str
    target: float
    parts: tuple[ClassBudget, ...]
    others: int
    left_out: tuple[str, ...]

    @property
    def binding(self) -> ClassBudget:
        """The part that decides σ."""
        return self.parts[0]


def budget_info(
    *,
    classes: Sequence[str],
    sizes: Sequence[int],
    rows_per_class: int,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    delta: float,
    target: float,
    variant: Variant = "fixed_size",
    tolerance: float = TOLERANCE,
) -> BudgetInfo:
    """ε for a record replaced inside each class, and for one whose label changes between the classes where that is worst.

    With the same T_k for all classes that is between the two smallest (:mod:`exact`).

    Args:
        classes: names.
        sizes: N_k.
        rows_per_class: T_k.
        order_of_mixture: l.
        sigma: σ.
        clip_norm: c.
        delta: privacy δ.
        target: the ε asked for.
        variant: how records are drawn.
        tolerance: relative excess of ε; it is never too small.

    Raises:
        ParameterError: no class has l records, or an argument is out of range.
    """
    kept = sorted((k for k, size in enumerate(sizes) if size >= order_of_mixture), key=lambda k: (sizes[k], k))
    if not kept:
        raise ParameterError("order_of_mixture", order_of_mixture, f"at most {max(sizes, default=0)}, the largest class")

    def spent(counts: Sequence[int], change: Change) -> float:
        return dp_cda_epsilon(
            sigma,
            delta,
            order_of_mixture,
            clip_norm,
            list(counts),
            rows_per_class,
            "exact",
            change,
            variant=variant,
            tolerance=tolerance,
        )

    shown = kept if len(kept) <= MOST_CLASSES else [*kept[: MOST_CLASSES - 1], kept[-1]]
    inside = {size: spent([size], "replace_same_class") for size in {sizes[k] for k in shown}}
    parts = [
        ClassBudget(classes[k], INSIDE, sizes[k], order_of_mixture / sizes[k], rows_per_class, inside[sizes[k]])
        for k in shown
    ]
    if len(kept) > 1:
        first, second = kept[:2]
        parts.append(
            ClassBudget(
                f"{classes[first]} ↔ {classes[second]}",
                MOVED,
                sizes[first],
                order_of_mixture / sizes[first],
                rows_per_class,
                spent([sizes[first], sizes[second]], "label_change"),
            )
        )
    return BudgetInfo(
        title="Class by class",
        subtitle=f"At σ = {short(sigma, 3)}, {rows_per_class:,} rows from every class; dashed: asked for",
        target=target,
        parts=tuple(sorted(parts, key=lambda part: -part.epsilon)),
        others=len(kept) - len(shown),
        left_out=tuple(name for name, size in zip(classes, sizes, strict=True) if size < order_of_mixture),
    )


def _percent(share: float) -> str:
    """All with one digit after the point, so that they line up; tiny ones with two digits that count."""
    return f"{100 * share:.1f} %" if share >= 1e-3 else f"{short(100 * share, 2)} %"


def draw_budget(info: BudgetInfo) -> Any:
    """An Altair chart of :class:`BudgetInfo`: a bar for each part, the binding one darker, a rule at the ε asked for."""
    import altair as alt

    shown = info.parts
    largest = max(info.target, shown[0].epsilon)
    rows = [
        {
            "name": part.name,
            "at": at,
            "epsilon": part.epsilon,
            "kind": "binds" if at == 0 else part.kind,
            "what": part.kind,
            "size": f"{part.size:,}",
            "rate": _percent(part.rate),
            "rows": f"{part.rows:,}",
            "text": f"ε = {rounded_up(part.epsilon, 3)}",
            "share": f"l/N = {_percent(part.rate)}" if part.kind == INSIDE else "",
            "end": 1.7 * largest,
            "middle": 1.36 * largest,
        }
        for at, part in enumerate(shown)
    ]
    table = pd.DataFrame(rows)
    names = [row["name"] for row in rows]
    kinds = ["binds", *sorted({part.kind for part in shown[1:]})]
    colours = [HERE, *(BLUE if kind == INSIDE else SKY for kind in kinds[1:])]
    scale = alt.Scale(domain=[0, 1.7 * largest], nice=False)
    x = alt.X("epsilon:Q", axis=_layers.bar_axis("exact ε", largest), scale=scale, stack=None)
    y = alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=160, ticks=False, domain=False, labelPadding=8))
    tooltip = [
        alt.Tooltip(f"{field}:N", title=title)
        for field, title in (("what", "a record is"), ("name", "class"), ("size", "Nₖ"), ("rate", "l/Nₖ"), ("rows", "Tₖ"))
    ] + [alt.Tooltip("epsilon:Q", title="ε", format=".4g")]
    base = alt.Chart(table).encode(y=y, tooltip=tooltip)
    target = alt.Chart(pd.DataFrame([{"epsilon": info.target, "text": f"ε = {short(info.target)}"}]))
    colour = alt.Color(
        "kind:N", title=None, sort=None, scale=alt.Scale(domain=kinds, range=colours), legend=_layers.legend(kinds)
    )
    chart = alt.layer(
        base.mark_bar(height={"band": 0.72}, cornerRadiusEnd=3).encode(x=x, color=colour),
        base.mark_text(align="right", color=GUIDE).encode(x=alt.X("middle:Q"), text=alt.Text("text:N")),
        base.mark_text(align="right", color=GUIDE).encode(x=alt.X("end:Q"), text=alt.Text("share:N")),
        target.mark_rule(color=GUIDE, strokeDash=[4, 3], size=1.5).encode(x=alt.X("epsilon:Q")),
    )
    return _layers.finish(chart, info.title, info.subtitle, legend_labels=kinds, plot=max(26 * len(rows), 80))
