"""What a classifier makes of rows mixed from l records: Figure 2 and Table 2 of Saha, Tonoy, Imtiaz (2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import series_scales
from dpsyn.mechanisms.dp_cda.figures.order import order_axis
from dpsyn.notation import short

if TYPE_CHECKING:
    from dpsyn.evaluation.order_of_mixture import OrderScores


@dataclass(frozen=True)
class AccuracyLine:
    """Mean and spread of the accuracy against l at one ε; None is no noise. ``spread`` is the standard deviation."""

    epsilon: float | None
    orders: tuple[int, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]

    @property
    def label(self) -> str:
        """For the legend."""
        return "no noise (ε = ∞)" if self.epsilon is None else f"ε = {short(self.epsilon)}"


@dataclass(frozen=True)
class AccuracyInfo:
    """Accuracy of a classifier trained on released rows, against l (Figure 2 and Table 2 of the paper).

    Attributes:
        title, subtitle: what is shown, what is fixed.
        lines: one for each ε.
        ceiling: accuracy of the same classifier trained on the real rows.
        floor: accuracy of always saying the most frequent class.
    """

    title: str
    subtitle: str
    lines: tuple[AccuracyLine, ...]
    ceiling: float | None
    floor: float


def accuracy_info(found: OrderScores, subtitle: str) -> AccuracyInfo:
    """Means and standard deviations of the draws, for every ε in the order asked for."""
    summary = found.summary()
    lines = []
    for epsilon in dict.fromkeys(score.epsilon for score in found.scores):
        same = summary["epsilon"].isna() if epsilon is None else summary["epsilon"] == epsilon
        part = summary[same]
        lines.append(
            AccuracyLine(
                epsilon,
                tuple(int(order) for order in part["order_of_mixture"]),
                tuple(float(mean) for mean in part["accuracy"]),
                tuple(float(spread) for spread in part["spread"]),
            )
        )
    return AccuracyInfo(
        title=f"Accuracy of {found.real.scores[0].classifier} against l",
        subtitle=subtitle,
        lines=tuple(line for line in lines if line.orders),
        ceiling=found.real.scores[0].accuracy,
        floor=found.real.majority_accuracy,
    )


def draw_accuracy(info: AccuracyInfo) -> Any:
    """An Altair chart of :class:`AccuracyInfo`: lines with bars of one standard deviation, rules for ceiling and floor."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "x": math.log2(order),
            "l": order,
            "y": mean,
            "low": max(0.0, mean - spread),
            "high": min(1.0, mean + spread),
            "series": line.label,
            "shown": f"{100 * mean:.1f} ± {100 * spread:.1f} %",
        }
        for line in info.lines
        for order, mean, spread in zip(line.orders, line.mean, line.spread, strict=True)
    ]
    labels = [line.label for line in info.lines]
    table = pd.DataFrame(rows, columns=["x", "l", "y", "low", "high", "series", "shown"])
    marks = [(info.floor, f"most frequent class, {100 * info.floor:.1f} %")]
    if info.ceiling is not None:
        marks.append((info.ceiling, f"trained on real rows, {100 * info.ceiling:.1f} %"))
    heights = [*(row["low"] for row in rows), *(row["high"] for row in rows), *(mark for mark, _ in marks)]
    y_domain = (max(0.0, min(heights) - 0.05), min(1.05, max(heights) + 0.06))
    x_domain = _layers.domain_of([row["x"] for row in rows] or [0.0, 1.0])
    x = alt.X("x:Q", axis=order_axis(), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=alt.Axis(title="accuracy on held-out rows", format=".0%"), scale=_layers.scale(y_domain))
    base = alt.Chart(table).encode(
        x=x,
        tooltip=[alt.Tooltip("series:N", title=" "), alt.Tooltip("l:Q"), alt.Tooltip("shown:N", title="accuracy")],
    )
    colours, _ = series_scales(labels)
    channels = _layers.line_channels(labels)
    plain = alt.Color("series:N", sort=None, scale=colours, legend=None)
    layers = [
        *_layers.rules(marks, y_domain, title="beside it"),
        base.mark_line(strokeWidth=2).encode(y=y, **channels),
        base.mark_rule(size=1.5, opacity=0.6).encode(
            y=alt.Y("low:Q", scale=_layers.scale(y_domain)), y2=alt.Y2("high:Q"), color=plain
        ),
        base.mark_point(filled=True, size=50, opacity=1).encode(y=y, color=plain),
    ]
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, plot=320)


def best_line(info: AccuracyInfo) -> str:
    """Where each line has its top, in a sentence."""
    said = []
    for line in info.lines:
        if line.mean:
            at = max(range(len(line.mean)), key=line.mean.__getitem__)
            shown = f"{100 * line.mean[at]:.1f} ± {100 * line.spread[at]:.1f} %"
            said.append(f"{line.label}: {shown} at l = {line.orders[at]}")
    return "Best l by this measure. " + "; ".join(said) + "." if said else ""
