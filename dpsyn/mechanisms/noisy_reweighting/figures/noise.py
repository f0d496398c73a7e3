"""How much noise there is: on one average against n, by family; and who gets how much of the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.domain import Domain
from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, MANY, ORANGE, PURPLE, log_axis
from dpsyn.mechanisms.noisy_reweighting._ledger import Entry
from dpsyn.mechanisms.noisy_reweighting.figures import named_lines
from dpsyn.notation import readable, short
from dpsyn.privacy.sensitivity import contingency_count_l1, walsh_sum_l1
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.contingency import contingency_cells, walsh_dimension

PUBLISHED = "Walsh, as published: 2|F|/(nε)"
_SAMPLING = "sampling n rows"
_STYLES = {
    "tables": (BLUE, [1, 0]),
    "Walsh functions": (GREEN, [1, 0]),
    "conjunctions": (PURPLE, [1, 0]),
    PUBLISHED: (ORANGE, [6, 3]),
    _SAMPLING: (GUIDE, [2, 3]),
}
_AROUND = 2.0
"""Decades of n on either side of "you are here"."""


@dataclass(frozen=True)
class FamilyNoise:
    """Noise on the statistics of one family, all with the same scale.

    Attributes:
        family: its name in the legend.
        statistics: |F|.
        l1, l2: sensitivities of the sums; as published 2|F| and nothing.
        deviation: standard deviation of the noise on a sum.
    """

    family: str
    statistics: int
    l1: float
    l2: float | None
    deviation: float

    @property
    def drowned_below(self) -> float:
        """Up to this n the noise is larger than 1/√n, what sampling does: deviation/n = 1/√n at n = deviation²."""
        return self.deviation**2

    def at(self, n: float) -> float:
        """Standard deviation of the noise on an average over n rows."""
        return self.deviation / n


def noise_by_family(domain: Domain, spec: PrivacySpec, *, degree: int) -> list[FamilyNoise]:
    """Standard deviation of the noise, the quietest family first; from public facts only.

    Laplace (δ = 0): √2·L1/ε. Gaussian: L2/√(2ρ), ρ from (ε, δ). Walsh functions and conjunctions are of the bits that the
    columns are written in (a truth value is one, another column one for each of its codes), tables of the columns; as
    published: √2·2|F|/ε, Laplace noise on every Walsh function.
    """
    bits = sum(1 if a.kind == "truth" else a.size for a in domain.attributes)
    walsh = walsh_dimension(bits, degree)
    families = [
        ("tables", contingency_cells(domain.shape, degree), float(contingency_count_l1(len(domain), degree)), 1.0),
        ("Walsh functions", walsh, float(walsh_sum_l1(bits, min(degree, bits))), 2.0),
        ("conjunctions", walsh, float(walsh - 1), 1.0),
    ]
    found = [FamilyNoise(PUBLISHED, walsh, 2.0 * walsh, None, math.sqrt(2) * 2 * walsh / spec.epsilon)]
    for name, count, l1, step in families:
        l2 = math.sqrt(l1 * step)
        laplace = math.sqrt(2) * l1 / spec.epsilon
        deviation = l2 / math.sqrt(2 * zcdp_rho(spec.epsilon, spec.delta)) if spec.delta > 0 else laplace
        found.append(FamilyNoise(name, count, l1, l2, deviation))
    return sorted(found, key=lambda each: each.deviation)


def draw_noise(families: Sequence[FamilyNoise], n: int) -> Any:
    """An Altair chart of :func:`noise_by_family` around n, against what sampling does anyway; both axes are log10."""
    import altair as alt

    best = families[0]
    here = math.log10(max(n, 1))
    across = (max(here - _AROUND, 0.0), here + _AROUND)
    rows: list[dict[str, Any]] = []
    for order in np.linspace(*across, 33):
        heights = {each.family: each.at(10**order) for each in families} | {_SAMPLING: 10 ** (order * -0.5)}
        rows += [
            {"series": name, "x": order, "y": math.log10(value), "n": f"{10**order:,.0f}", "value": short(value, 3)}
            for name, value in heights.items()
        ]
    y_domain = _layers.domain_of([row["y"] for row in rows], share=0.04)
    labels = [*(each.family for each in families), _SAMPLING]
    lines = named_lines(
        pd.DataFrame(rows),
        alt.X("x:Q", axis=log_axis("n, rows"), scale=_layers.scale(across)),
        alt.Y("y:Q", axis=log_axis("standard deviation of an average"), scale=_layers.scale(y_domain)),
        {label: _STYLES[label] for label in labels},
        {"series:N": "error of", "n:N": "n", "value:N": "standard deviation"},
    )
    height = best.at(max(n, 1))
    text = f"n = {n:,}: noise {short(height, 3)} on {best.family}"
    layers = [lines, _layers.here("you are here", here, math.log10(height), text, across, y_domain)]
    if y_domain[1] > 0:
        layers = [*_layers.rules([(0.0, "1: an average says nothing")], y_domain, labels_left=False), *layers]
    ratio = best.at(n) * math.sqrt(n)
    verdict = (
        f"at n = {n:,} the noise on {best.family} is {short(ratio, 2)} times the sampling error"
        if ratio >= 0.01
        else f"at n = {n:,} noise hardly matters for {best.family}"
    )
    subtitle = f"Noise falls as 1/n, sampling error as 1/√n: {verdict}; they meet at n = {math.ceil(best.drowned_below):,}."
    return _layers.finish(
        alt.layer(*layers), "Noise on one average against n", subtitle, legend_labels=labels, line_length=90
    )


@dataclass(frozen=True)
class BudgetInfo:
    """The ledger of a calibrated mechanism: its entries, in order, and what they come to together."""

    subtitle: str
    entries: tuple[Entry, ...]


def budget_info(ledger: Sequence[Mapping[str, Any]], *, epsilon: float, delta: float, accounting: str) -> BudgetInfo:
    """Data of :func:`draw_budget`.

    Args:
        ledger: the entries, as plain data: name, count, share, scale, and ``"epsilon"`` or ``"rho"``.
        epsilon: of the whole release.
        delta: of the whole release.
        accounting: ``"pure"``, ``"exact"`` (the law of the privacy loss) or ``"zcdp"``.
    """
    entries = tuple(Entry.from_dict(entry) for entry in ledger)
    claim = readable(rounded_up(epsilon, 4))
    whole = f"ε = {claim}"
    if any(entry.unit == "rho" for entry in entries):
        how = "by the exact law of its loss" if accounting == "exact" else "by zCDP"
        total = math.fsum(entry.spent for entry in entries)
        whole = f"ρ = {short(total, 4)}: ({claim}, {readable(rounded_up(delta, 3))}) {how}"
    parts = f"{len(entries)} part{'' if len(entries) == 1 else 's'}"
    return BudgetInfo(f"{sum(e.count for e in entries):,} noisy numbers in {parts}; together {whole}.", entries)


def draw_budget(info: BudgetInfo, *, line_length: int = 70) -> Any:
    """An Altair chart: one bar, a piece for each part; ``line_length`` is how many letters of the subtitle fit on a line."""
    import altair as alt

    names = [f"{entry.name}: {entry.share:.0%}" for entry in info.entries]
    rows, start = [], 0.0
    for name, entry in zip(names, info.entries, strict=True):
        rows.append(
            {
                "name": name,
                "start": start,
                "stop": start + entry.share,
                "middle": start + entry.share / 2,
                "inside": f"{entry.share:.0%}" if entry.share >= 0.08 else "",
                "count": f"{entry.count:,}",
                "spent": short(entry.spent, 4),
                "scale": short(entry.scale, 4),
            }
        )
        start += entry.share
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
            alt.Tooltip("spent:N", title=info.entries[0].letter),
            alt.Tooltip("scale:N", title="noise scale on sums"),
        ],
    )
    text = _layers.on_colour(base.encode(x=alt.X("middle:Q")), "inside", fontWeight="bold")
    return _layers.finish(
        alt.layer(bar, *text), "The budget", info.subtitle, legend_labels=names, plot=64, line_length=line_length
    )
