"""The noise that each accountant asks of DP-CDA, and the ε that it truly buys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, HERE
from dpsyn.mechanisms.dp_cda.accounting.functions import ACCOUNTANTS, Accountant
from dpsyn.mechanisms.dp_cda.figures.accounting import TOLERANCE, Sizes, attained_epsilon, needed_and_spent, spent_epsilon
from dpsyn.notation import short
from dpsyn.privacy.spec import rounded_down, rounded_up
from dpsyn.theory.logarithms import format_log

NAMES: dict[Accountant, str] = {"published": "published but wrong", "rdp": "Rényi, corrected", "exact": "exact"}
COLOURS: dict[Accountant, str] = {"published": HERE, "rdp": GREEN, "exact": BLUE}


@dataclass(frozen=True)
class NoiseLine:
    """One accountant: the σ that it asks for and the exact ε at that σ. None where it cannot reach the ε asked for."""

    accountant: Accountant
    sigma: float | None
    spent: float | None


@dataclass(frozen=True)
class NoiseInfo:
    """σ by three accountants at one setting.

    Attributes:
        title, subtitle: what is shown, what is fixed.
        epsilon: what was asked for.
        sizes: of the classes.
        lines: one for each accountant.
        attained: not more than ε at the published σ of two datasets that differ in one record and its label; no accounting
            can give less. None without a published σ or with one class only.
    """

    title: str
    subtitle: str
    epsilon: float
    sizes: Sizes
    lines: tuple[NoiseLine, ...]
    attained: float | None

    def line(self, accountant: Accountant) -> NoiseLine:
        """The line of one accountant."""
        return next(line for line in self.lines if line.accountant == accountant)

    def sigma(self, accountant: Accountant) -> float | None:
        """The σ of one accountant."""
        return self.line(accountant).sigma

    @property
    def verdict(self) -> str:
        """Whether the published σ keeps its promise here, in a sentence or two."""
        published = self.line("published")
        if published.sigma is None or published.spent is None:
            if self.sizes.variant != "fixed_size":
                return "The paper draws exactly l records and says nothing of this variant."
            return (
                "The published formula cannot reach this ε at any σ: it has two Rényi orders only, 3 and 4, and stays above "
                f"ln(1/δ)/3 ≈ {rounded_down(math.log(1 / self.sizes.delta) / 3, 4)}."
            )
        claimed = format_log(math.log(self.epsilon), 3)
        if self.attained is not None and self.attained > self.epsilon:
            digits = max(0, 2 - math.floor(math.log10(self.attained)))
            shown = math.floor(self.attained * 10**digits) / 10**digits
            return (
                f"The published σ claims ε = {claimed}, but there are two datasets between which its noise has an ε of "
                f"{short(shown)} at least, even with public scaling. The claim is false."
            )
        if published.spent > 1.02 * self.epsilon:
            return (
                f"The published σ claims ε = {claimed}; the proof for it gives {rounded_up(published.spent, 3)} and no less."
            )
        return (
            f"The published σ claims ε = {claimed}; with public scaling it spends at most {rounded_up(published.spent, 3)}, "
            "so here it adds more noise than is needed. Its z-score breaks it all the same."
        )


def noise_info(sizes: Sizes, epsilon: float, order_of_mixture: int) -> NoiseInfo:
    """σ for (ε, δ) by three accountants and the exact ε of each, under replace-one. Rounded towards privacy."""
    lines = []
    for accountant in reversed(ACCOUNTANTS):
        found = needed_and_spent(sizes, accountant, order_of_mixture, epsilon, TOLERANCE)
        if found is None:
            lines.append(NoiseLine(accountant, None, None))
            continue
        sigma, spent = found
        exact = spent if accountant == "exact" else spent_epsilon(sizes, order_of_mixture, sigma)
        lines.append(NoiseLine(accountant, sigma, exact))
    published = lines[-1].sigma
    attained = None
    if published is not None and len(sizes.counts) > 1:
        attained = attained_epsilon(sizes, order_of_mixture, published)
    return NoiseInfo(
        title="What each accountant's noise really spends",
        subtitle="Exact ε at the σ that it asks for; dashed: ε asked for",
        epsilon=epsilon,
        sizes=sizes,
        lines=tuple(lines),
        attained=attained,
    )


def short_of_target(info: NoiseInfo) -> str:
    """Why the bar of the exact accounting ends a little before the ε asked for; empty where none is seen to."""
    spent = info.line("exact").spent
    if spent is None or spent < (1 - TOLERANCE) * info.epsilon or rounded_up(spent, 3) == rounded_up(info.epsilon, 3):
        return ""
    return (
        f"The exact accounting's own σ shows {rounded_up(spent, 3)} and not {rounded_up(info.epsilon, 3)}: the page finds "
        f"it quickly, to within {100 * TOLERANCE:g} % of ε and on the safe side. A release takes a slightly smaller σ."
    )


def draw_noise(info: NoiseInfo) -> Any:
    """An Altair chart of :class:`NoiseInfo`: a bar for each accountant up to its true ε, a rule at the ε asked for."""
    import altair as alt

    rows: list[dict[str, Any]] = [
        {
            "accountant": NAMES[line.accountant],
            "spent": line.spent,
            "text": ("cannot reach this ε" if info.sizes.variant == "fixed_size" else "does not cover Poisson")
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
    scale = alt.Scale(domain=[0, 2.1 * largest], nice=False)
    x = alt.X("spent:Q", axis=_layers.bar_axis("exact ε", largest), scale=scale, stack=None)
    y = alt.Y("accountant:N", title=None, sort=names, axis=alt.Axis(labelLimit=0, ticks=False, domain=False, labelPadding=8))
    colour = alt.Color(
        "accountant:N", legend=None, scale=alt.Scale(domain=names, range=[COLOURS[line.accountant] for line in info.lines])
    )
    table = pd.DataFrame(rows)
    base = alt.Chart(table).encode(y=y, tooltip=[alt.Tooltip("accountant:N"), alt.Tooltip("text:N", title="asks for")])
    target = alt.Chart(pd.DataFrame([{"spent": info.epsilon, "text": f"asked for: ε = {short(info.epsilon)}"}]))
    chart = alt.layer(
        base.mark_bar(height=22, cornerRadiusEnd=3).encode(x=x, color=colour),
        base.mark_text(align="right", color=GUIDE, fontWeight="bold").encode(x=alt.X("end:Q"), text=alt.Text("text:N")),
        target.mark_rule(color=GUIDE, strokeDash=[4, 3], size=1.5).encode(
            x=alt.X("spent:Q"), tooltip=alt.Tooltip("text:N", title=" ")
        ),
    )
    return _layers.finish(chart, info.title, info.subtitle, plot=150)
