"""The noise that each accountant asks of DP-CDA, and the ε that it truly buys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.figures import _layers
from dpsyn.figures.theme import BLUE, GREEN, GUIDE, HERE
from dpsyn.privacy.spec import rounded_up
from dpsyn.theory.logarithms import format_log
from dpsyn.theory.mixing_noise import ACCOUNTANTS, Accountant, MixingFacts, epsilon_at, sigma_for

NAMES: dict[Accountant, str] = {"published": "published but wrong", "rdp": "Rényi, corrected", "exact": "exact"}
COLOURS: dict[Accountant, str] = {"published": HERE, "rdp": GREEN, "exact": BLUE}


@dataclass(frozen=True)
class NoiseLine:
    """One accountant: the σ it asks for, and the exact ε at that σ. None where it cannot reach the ε asked for."""

    accountant: Accountant
    sigma: float | None
    spent: float | None


@dataclass(frozen=True)
class NoiseInfo:
    """σ by three accountants at one setting.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        epsilon, delta: what was asked for.
        lines: one for each accountant.
    """

    title: str
    subtitle: str
    epsilon: float
    delta: float
    lines: tuple[NoiseLine, ...]

    def sigma(self, accountant: Accountant) -> float | None:
        """The σ of one accountant."""
        return next(line.sigma for line in self.lines if line.accountant == accountant)

    @property
    def verdict(self) -> str:
        """Whether the published σ keeps its promise here, in a sentence."""
        published = next(line for line in self.lines if line.accountant == "published")
        if published.sigma is None or published.spent is None:
            return (
                "The published formula cannot reach this ε at any σ: it has two Rényi orders only, 3 and 4, and stays above "
                f"ln(1/δ)/3 = {math.log(1 / self.delta) / 3:.3g}."
            )
        claimed, spent = format_log(math.log(self.epsilon), 3), rounded_up(published.spent, 3)
        if not math.isfinite(published.spent):
            return "The published σ is so small that the exact accountant finds no finite ε."
        if published.spent > 1.01 * self.epsilon:
            return f"The published σ claims ε = {claimed} and really spends up to {spent}: the promise is broken."
        return (
            f"The published σ claims ε = {claimed}; with public scaling it would spend at most {spent}, so "
            "here it adds more noise than is needed. Its own z-score breaks it all the same."
        )


def noise_info(facts: MixingFacts, epsilon: float, order_of_mixture: int) -> NoiseInfo:
    """σ for (ε, δ) by three accountants and the exact ε of each, under replace-one.

    The exact σ meets ε; it is at most a few per cent too large, as the accounting is quick and rounds towards privacy.

    Raises:
        ParameterError: an argument is out of range, or l is larger than the smallest class.
    """
    lines = []
    for accountant in reversed(ACCOUNTANTS):
        sigma = sigma_for(facts, accountant, order_of_mixture, epsilon)
        spent = None if sigma is None else epsilon_at(facts, "exact", order_of_mixture, sigma)
        lines.append(NoiseLine(accountant, sigma, spent))
    return NoiseInfo(
        title="What each accountant's noise really spends",
        subtitle=f"Exact ε at the σ that it asks for (dashed: asked for); l = {order_of_mixture}, "
        f"{facts.rows_per_class:,} rows a class, smallest class {facts.smallest_class:,}",
        epsilon=epsilon,
        delta=facts.delta,
        lines=tuple(lines),
    )


def draw_noise(info: NoiseInfo) -> Any:
    """An Altair chart of :class:`NoiseInfo`: a bar for each accountant up to its true ε, a rule at the ε asked for."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "accountant": NAMES[line.accountant],
            "spent": line.spent,
            "text": "cannot reach this ε"
            if line.sigma is None
            else f"σ = {format_log(math.log(line.sigma), 3)},  ε = {rounded_up(line.spent or 0.0, 3)}",
            "end": 0.0,
        }
        for line in info.lines
    ]
    names = [NAMES[line.accountant] for line in info.lines]
    largest = max([info.epsilon, *(line.spent for line in info.lines if line.spent and math.isfinite(line.spent))])
    for row in rows:
        row["end"] = 2.1 * largest
    x = alt.X("spent:Q", title="exact ε", scale=alt.Scale(domain=[0, 2.1 * largest], nice=False), stack=None)
    y = alt.Y("accountant:N", title=None, sort=names, axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=8))
    colour = alt.Color(
        "accountant:N", legend=None, scale=alt.Scale(domain=names, range=[COLOURS[line.accountant] for line in info.lines])
    )
    table = pd.DataFrame(rows)
    base = alt.Chart(table).encode(y=y, tooltip=[alt.Tooltip("accountant:N"), alt.Tooltip("text:N", title="asks for")])
    target = alt.Chart(pd.DataFrame([{"spent": info.epsilon, "text": f"asked for: ε = {info.epsilon:g}"}]))
    chart = alt.layer(
        base.mark_bar(height=22, cornerRadiusEnd=3).encode(x=x, color=colour),
        base.mark_text(align="right", color=GUIDE, fontWeight="bold").encode(x=alt.X("end:Q"), text=alt.Text("text:N")),
        target.mark_rule(color=GUIDE, strokeDash=[4, 3], size=1.5).encode(
            x=alt.X("spent:Q"), tooltip=alt.Tooltip("text:N", title=" ")
        ),
    )
    return _layers.finish(chart, info.title, info.subtitle, plot=150)
