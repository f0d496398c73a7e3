"""How long the scaled records are, and how many the clipping shortens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE
from dpsyn.mechanisms.dp_cda.figures.records import Records
from dpsyn.notation import short

_BINS = 50


@dataclass(frozen=True)
class NormsInfo:
    """A histogram of norms.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        edges: of the bins, from 0 to 1; one more than there are counts.
        counts: records in each bin.
        radius: c.
        cut: share of records with a norm above c.
        lost: share of the records' total length that clipping takes away.
    """

    title: str
    subtitle: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    radius: float
    cut: float
    lost: float


def norms_info(records: Records, radius: float, *, bins: int = _BINS) -> NormsInfo:
    """Norms of the scaled records, before clipping to ``radius``.

    Args:
        records: what is mixed.
        radius: c.
        bins: of the histogram.
    """
    norms = np.linalg.norm(records.points, axis=1)
    counts, edges = np.histogram(np.clip(norms, 0.0, 1.0), bins=bins, range=(0.0, 1.0))
    total = float(norms.sum())
    cut = float((norms > radius * (1 + 1e-12)).mean()) if len(norms) else 0.0
    return NormsInfo(
        title="Norms of the scaled records",
        subtitle=f"{len(norms):,} records; norm 1: every column at a bound",
        edges=tuple(float(edge) for edge in edges),
        counts=tuple(int(count) for count in counts),
        radius=radius,
        cut=cut,
        lost=float(np.maximum(norms - radius, 0).sum()) / total if total > 0 else 0.0,
    )


def draw_norms(info: NormsInfo) -> Any:
    """An Altair chart of :class:`NormsInfo`: bars, those beyond c in another colour, a rule at c."""
    import altair as alt

    kept, cut = "kept as it is", "shortened to c"
    rows = [
        {
            "from": low,
            "to": high,
            "count": count,
            "kind": cut if (low + high) / 2 > info.radius else kept,
            "range": f"{low:.2f} to {high:.2f}",
        }
        for low, high, count in zip(info.edges[:-1], info.edges[1:], info.counts, strict=True)
        if count
    ]
    table = pd.DataFrame(rows, columns=["from", "to", "count", "kind", "range"])
    top = max(info.counts, default=1) or 1
    axis = alt.Axis(title="norm of a scaled record", tickCount=10, format=".1f")
    x = alt.X("from:Q", axis=axis, scale=alt.Scale(domain=[0, 1.02], nice=False))
    labels = [kept, cut]
    bars = (
        alt.Chart(table)
        .mark_bar(binSpacing=1)
        .encode(
            x=x,
            x2=alt.X2("to:Q"),
            y=alt.Y("count:Q", title="records", stack=None, scale=alt.Scale(domain=[0, 1.18 * top], nice=False)),
            y2=alt.datum(0),
            color=alt.Color(
                "kind:N",
                title=None,
                sort=None,
                scale=alt.Scale(domain=labels, range=[BLUE, HERE]),
                legend=_layers.legend(labels),
            ),
            tooltip=[alt.Tooltip("range:N", title="norm"), alt.Tooltip("count:Q", title="records"), alt.Tooltip("kind:N")],
        )
    )
    spot = alt.Chart(
        pd.DataFrame([{"from": info.radius, "text": f"c = {short(info.radius)}: {short(100 * info.cut, 3)} % cut"}])
    )
    right = info.radius < 0.6
    rule = spot.mark_rule(color=GUIDE, strokeDash=[4, 3], size=1.5).encode(x=x)
    words = spot.mark_text(
        color=GUIDE, fontWeight="bold", align="left" if right else "right", dx=6 if right else -6, y=8
    ).encode(x=x, text=alt.Text("text:N"))
    return _layers.finish(alt.layer(bars, rule, words), info.title, info.subtitle, legend_labels=labels)
