"""Noise on one statistic against the error that sampling n rows makes anyway, as n grows: one line for each family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GREEN, GUIDE, ORANGE, PURPLE, log_axis
from dpsyn.notation import short
from dpsyn.privacy.sensitivity import contingency_count_l1, walsh_sum_l1
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.contingency import contingency_cells, walsh_dimension

Kind = Literal["laplace", "gaussian"]

SAMPLING = "sampling n rows"
PUBLISHED = "Walsh, as published: 2|F|/(nε)"
_COLOURS = {"tables": BLUE, "Walsh functions": GREEN, "conjunctions": PURPLE, PUBLISHED: ORANGE, SAMPLING: GUIDE}
_DASHES = {PUBLISHED: [6, 3], SAMPLING: [2, 3]}
_AROUND = 2.0
"""Decades of n on either side of "you are here"."""


@dataclass(frozen=True)
class NoiseLine:
    """Noise of one family.

    Attributes:
        family: its name in the legend.
        statistics: |F|.
        l1, l2: sensitivities of the sums; for the published line 2|F| and nothing.
        deviation: standard deviation of the noise on a sum.
        drowned_below: up to this n the noise is larger than 1/√n, what sampling does.
    """

    family: str
    statistics: int
    l1: float
    l2: float | None
    deviation: float

    @property
    def drowned_below(self) -> float:
        """deviation/n = 1/√n at n = deviation²."""
        return self.deviation**2

    def at(self, n: float) -> float:
        """Standard deviation of the noise on an average over n rows."""
        return self.deviation / n


@dataclass(frozen=True)
class NoiseInfo:
    """Lines around one n.

    Attributes:
        title, subtitle: what is shown.
        lines: the quietest first.
        n: of "you are here".
    """

    title: str
    subtitle: str
    lines: tuple[NoiseLine, ...]
    n: int


def noise_info(sizes: Sequence[int], bits: int, spec: PrivacySpec, *, degree: int, kind: Kind, n: int) -> NoiseInfo:
    """Standard deviation of the noise on an average, by family; from public facts only.

    Laplace: √2·L1/(nε). Gaussian: L2/(n√(2ρ)), ρ from (ε, δ). Walsh functions and conjunctions are of the p bits that the
    table is written in, tables of its columns; the published line is √2·2|F|/(nε), Laplace noise on every statistic.

    Args:
        sizes: number of codes of each column.
        bits: p.
        spec: ε and, for Gaussian noise, δ.
        degree: d.
        kind: of the noise.
        n: where "you are here" stands.
    """
    walsh, degree_bits = walsh_dimension(bits, degree), min(degree, bits)
    families = [
        ("tables", contingency_cells(sizes, degree), float(contingency_count_l1(len(sizes), degree)), 1.0),
        ("Walsh functions", walsh, float(walsh_sum_l1(bits, degree_bits)), 2.0),
        ("conjunctions", walsh, float(walsh - 1), 1.0),
    ]
    lines = []
    for name, count, l1, step in families:
        l2 = math.sqrt(l1 * step)
        deviation = math.sqrt(2) * l1 / spec.epsilon
        if kind == "gaussian":
            deviation = l2 / math.sqrt(2 * zcdp_rho(spec.epsilon, spec.delta))
        lines.append(NoiseLine(name, count, l1, l2, deviation))
    lines.append(NoiseLine(PUBLISHED, walsh, 2.0 * walsh, None, math.sqrt(2) * 2 * walsh / spec.epsilon))
    best = min(lines, key=lambda line: line.deviation)
    ratio = best.at(n) * math.sqrt(n)
    verdict = (
        f"at n = {n:,} the noise on {best.family} is {short(ratio, 2)} times the sampling error"
        if ratio >= 0.01
        else f"at n = {n:,} noise hardly matters for {best.family}"
    )
    return NoiseInfo(
        title="Noise on one average against n",
        subtitle=f"Noise falls as 1/n, sampling error as 1/√n: {verdict}; they meet at "
        f"n = {math.ceil(best.drowned_below):,}.",
        lines=tuple(sorted(lines, key=lambda line: line.deviation)),
        n=n,
    )


def draw_noise(info: NoiseInfo) -> Any:
    """An Altair chart of :class:`NoiseInfo`; both axes are log10."""
    import altair as alt

    labels = [*(line.family for line in info.lines), SAMPLING]
    here = math.log10(max(info.n, 1))
    across = (max(here - _AROUND, 0.0), here + _AROUND)
    rows: list[dict[str, Any]] = []
    for order in np.linspace(*across, 33):
        n = 10**order
        heights = {line.family: line.at(n) for line in info.lines} | {SAMPLING: n**-0.5}
        rows += [
            {"series": name, "x": order, "y": math.log10(value), "n": f"{n:,.0f}", "value": short(value, 3)}
            for name, value in heights.items()
        ]
    y_domain = _layers.domain_of([row["y"] for row in rows], share=0.04)
    lines = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=alt.X("x:Q", axis=log_axis("n, rows"), scale=_layers.scale(across)),
            y=alt.Y("y:Q", axis=log_axis("standard deviation of an average"), scale=_layers.scale(y_domain)),
            color=alt.Color(
                "series:N",
                title=None,
                sort=None,
                scale=alt.Scale(domain=labels, range=[_COLOURS[name] for name in labels]),
                legend=_layers.legend(labels),
            ),
            strokeDash=alt.StrokeDash(
                "series:N",
                title=None,
                sort=None,
                scale=alt.Scale(domain=labels, range=[_DASHES.get(name, [1, 0]) for name in labels]),
                legend=_layers.legend(labels),
            ),
            tooltip=[
                alt.Tooltip("series:N", title="error of"),
                alt.Tooltip("n:N", title="n"),
                alt.Tooltip("value:N", title="standard deviation"),
            ],
        )
    )
    best = info.lines[0]
    mark = _layers.here(
        "you are here",
        here,
        math.log10(best.at(max(info.n, 1))),
        f"n = {info.n:,}: noise {short(best.at(max(info.n, 1)), 3)} on {best.family}",
        across,
        y_domain,
    )
    layers = [lines, mark]
    if y_domain[1] > 0:
        layers = [*_layers.rules([(0.0, "1: an average says nothing")], y_domain, labels_left=False), *layers]
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=90)
