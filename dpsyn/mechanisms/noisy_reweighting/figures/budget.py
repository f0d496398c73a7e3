"""Who gets how much of the budget of noisy reweighting, as its ledger has it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import MANY
from dpsyn.notation import readable, short
from dpsyn.privacy.spec import rounded_up


@dataclass(frozen=True)
class BudgetPart:
    """One line of the ledger.

    Attributes:
        name: what was released.
        count: how many numbers.
        share: of the budget; all shares add up to 1.
        spent: ε or ρ of the part.
        scale: of the noise on its whole-number sums.
    """

    name: str
    count: int
    share: float
    spent: float
    scale: float


@dataclass(frozen=True)
class BudgetInfo:
    """The ledger of a calibrated mechanism.

    Attributes:
        title, subtitle: what is shown.
        unit: ``"ε"`` or ``"ρ"``.
        parts: in order.
    """

    title: str
    subtitle: str
    unit: str
    parts: tuple[BudgetPart, ...]


def budget_info(ledger: Sequence[Mapping[str, Any]], *, epsilon: float, delta: float, accounting: str) -> BudgetInfo:
    """Data of :func:`draw_budget`.

    Args:
        ledger: the entries, as plain data: name, count, share, scale, and ``"epsilon"`` or ``"rho"``.
        epsilon: of the whole release.
        delta: of the whole release.
        accounting: ``"pure"``, ``"exact"`` (the law of the privacy loss) or ``"zcdp"``.
    """
    gaussian = any("rho" in entry for entry in ledger)
    parts = tuple(
        BudgetPart(
            str(entry["name"]),
            int(entry["count"]),
            float(entry["share"]),
            float(entry["rho"] if gaussian else entry["epsilon"]),
            float(entry["scale"]),
        )
        for entry in ledger
    )
    total = math.fsum(part.spent for part in parts)
    claim = readable(rounded_up(epsilon, 4))
    whole = f"ε = {claim}"
    if gaussian:
        how = "by the exact law of its loss" if accounting == "exact" else "by zCDP"
        whole = f"ρ = {short(total, 4)}: ({claim}, {readable(rounded_up(delta, 3))}) {how}"
    return BudgetInfo(
        title="The budget",
        subtitle=f"{sum(part.count for part in parts):,} noisy numbers in {len(parts)} "
        f"part{'' if len(parts) == 1 else 's'}; together {whole}.",
        unit="ρ" if gaussian else "ε",
        parts=parts,
    )


def draw_budget(info: BudgetInfo, *, line_length: int = 70) -> Any:
    """An Altair chart: one bar, a piece for each part; ``line_length`` is how many letters of the subtitle fit on a line."""
    import altair as alt

    names = [f"{part.name}: {part.share:.0%}" for part in info.parts]
    rows, start = [], 0.0
    for name, part in zip(names, info.parts, strict=True):
        rows.append(
            {
                "name": name,
                "start": start,
                "stop": start + part.share,
                "middle": start + part.share / 2,
                "inside": f"{part.share:.0%}" if part.share >= 0.08 else "",
                "count": f"{part.count:,}",
                "spent": short(part.spent, 4),
                "scale": short(part.scale, 4),
            }
        )
        start += part.share
    base = alt.Chart(pd.DataFrame(rows))
    bar = base.mark_bar(height=46, stroke="white", strokeWidth=1.5).encode(
        x=alt.X("start:Q", axis=alt.Axis(title="share of the budget", format="%"), scale=alt.Scale(domain=[0, 1])),
        x2=alt.X2("stop"),
        color=alt.Color(
            "name:N",
            title=None,
            sort=None,
            scale=alt.Scale(domain=names, range=[MANY[i % len(MANY)] for i in range(len(names))]),
            legend=_layers.legend(names),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="part"),
            alt.Tooltip("count:N", title="noisy numbers"),
            alt.Tooltip("spent:N", title=info.unit),
            alt.Tooltip("scale:N", title="noise scale on sums"),
        ],
    )
    text = _layers.on_colour(base.encode(x=alt.X("middle:Q")), "inside", fontWeight="bold")
    return _layers.finish(
        alt.layer(bar, *text), info.title, info.subtitle, legend_labels=names, plot=64, line_length=line_length
    )
