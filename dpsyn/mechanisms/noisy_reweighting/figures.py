"""Noise by family, the budget, and what Theorems 2.2 and 2.3 promise at best: the data of each picture, then the picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from dpsyn.domain import Domain
from dpsyn.kit import layers as _layers
from dpsyn.kit import live
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, MANY, ORANGE, PURPLE, log_axis
from dpsyn.mechanisms.noisy_reweighting.setting import (
    FamilyName,
    Noise,
    ReweightingSetting,
    reweighting_setting,
)
from dpsyn.notation import counted, percent, readable, short
from dpsyn.privacy.sensitivity import contingency_count_l1, walsh_sum_l1
from dpsyn.privacy.spec import Guarantee, PrivacySpec, delta_up, rounded_up
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.contingency import contingency_cells, walsh_dimension
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import LN10, format_log

PUBLISHED = "Walsh, as published: 2|F|/(nε)"
_SAMPLING = "sampling n rows"
_FAMILIES = {
    "tables": (BLUE, [1, 0]),
    "Walsh functions": (GREEN, [1, 0]),
    "conjunctions": (PURPLE, [1, 0]),
    PUBLISHED: (ORANGE, [6, 3]),
    _SAMPLING: (GUIDE, [2, 3]),
}
_AROUND = 2.0
"""Decades of n on either side of "you are here"."""


_ORDERS = tuple(-3 + i / 4 for i in range(25))
Variant = tuple[FamilyName, Noise, bool]
"""Statistics, noise, corrected."""
_VARIANTS: dict[Variant, tuple[str, list[int]]] = {
    ("walsh", "laplace", True): (BLUE, [1, 0]),
    ("walsh", "gaussian", True): (GREEN, [1, 0]),
    ("contingency", "laplace", True): (ORANGE, [1, 0]),
    ("contingency", "gaussian", True): (PURPLE, [1, 0]),
    ("walsh", "laplace", False): (BLUE, [5, 4]),
    ("contingency", "laplace", False): (ORANGE, [5, 4]),
}
VARIANTS = tuple(_VARIANTS)
"""The papers have no Gaussian noise, so there is nothing published to set beside it."""
_STATISTICS: dict[FamilyName, str] = {"walsh": "Walsh", "contingency": "tables"}
_NOISES: dict[Noise, str] = {"laplace": "Laplace", "gaussian": "Gaussian"}


def named_lines(
    rows: pd.DataFrame | Any,
    x: Any,
    y: Any,
    styles: Mapping[str, tuple[str, list[int]]],
    tooltip: Mapping[str, str],
    width: float = 2.5,
) -> Any:
    """Lines of the column ``series`` of a table or of a chart's data (kit.live), each with the colour and dash that
    ``styles`` has for its name, and one legend."""
    colours, dashes = ([style[part] for style in styles.values()] for part in (0, 1))
    lines = (alt.Chart(rows) if isinstance(rows, pd.DataFrame) else rows).mark_line(strokeWidth=width, clip=True)
    return lines.encode(
        x=x,
        y=y,
        **_layers.channels(list(styles), color=colours, strokeDash=dashes),
        tooltip=[alt.Tooltip(field, title=title) for field, title in tooltip.items()],
    )


@dataclass(frozen=True)
class FamilyNoise:
    """Noise on the statistics of one family, all with the same scale.

    Attributes:
        family: its name in the legend.
        statistics: |F|.
        l1, l2: sensitivities of the sums; as published 2|F| and nothing.
        deviation: standard deviation of the noise on a sum.
        width: of the values that are summed: 1 for shares, 2 for signs.
    """

    family: str
    statistics: int
    l1: float
    l2: float | None
    deviation: float
    width: float

    @property
    def drowned_below(self) -> float:
        """Up to this n the noise is larger than 1/√n, the most that sampling moves an average of ±1: at(n) = 1/√n."""
        return self.at(1) ** 2

    @property
    def meets_at(self) -> int:
        """The first n at which it is not larger."""
        return max(1, math.ceil(self.drowned_below * (1 - 1e-12)))  # a rounding error makes no further row

    def at(self, n: float) -> float:
        """Standard deviation of the noise on an average over n rows of values that are moved and stretched to ±1."""
        return 2 / self.width * self.deviation / n


def noise_by_family(domain: Domain, spec: PrivacySpec, *, degree: int) -> list[FamilyNoise]:
    """Standard deviation of the noise, the quietest family first; from public facts only.

    Laplace (δ = 0): √2·L1/ε. Gaussian: L2/√(2ρ), ρ from (ε, δ). Walsh functions and conjunctions are of the bits that the
    columns are written in (a truth value is one, another column one for each of its codes), tables of the columns; as
    published: √2·2|F|/ε, Laplace noise on every Walsh function.
    """
    bits = sum(1 if a.kind == "truth" else a.size for a in domain.attributes)
    walsh = walsh_dimension(bits, degree)
    tables, cells = contingency_count_l1(len(domain), degree), contingency_cells(domain.shape, degree)
    families = [("tables", cells, 1.0), ("Walsh functions", walsh, 2.0), ("conjunctions", walsh, 1.0)]
    if spec.neighbouring == "add_remove":  # moves by 1 a cell of each table, and all functions
        moved = [(tables // 2, 1), (walsh, 1), (walsh, 1)]
    else:
        moved = [(tables, 1), (walsh_sum_l1(bits, min(degree, bits)), 2), (walsh - 1, 1)]
    found = [FamilyNoise(PUBLISHED, walsh, 2.0 * walsh, None, math.sqrt(2) * 2 * walsh / spec.epsilon, 2.0)]
    for (name, count, width), (l1, step) in zip(families, moved, strict=True):
        l2 = math.sqrt(l1 * step)
        laplace = math.sqrt(2) * l1 / spec.epsilon
        deviation = l2 / math.sqrt(2 * zcdp_rho(spec.epsilon, spec.delta)) if spec.delta > 0 else laplace
        found.append(FamilyNoise(name, count, float(l1), l2, deviation, width))
    return sorted(found, key=lambda each: each.at(1))


def draw_noise(
    families: Sequence[FamilyNoise],
    n: int,
    more: Sequence[tuple[Sequence[FamilyNoise], int]] = (),
    sliders: live.Sliders | None = None,
    ends: tuple[float, float] | None = None,
) -> Any:
    """An Altair chart of :func:`noise_by_family`, against what sampling does anyway; both axes are log10.

    ``more``: families and n at each value of ``sliders``, which the picture follows while they are dragged (kit.live).
    ``ends``: from which n to which; around n if it is None.
    """
    here = math.log10(max(n, 1))
    across = (max(here - _AROUND, 0.0), here + _AROUND) if ends is None else (math.log10(ends[0]), math.log10(ends[1]))
    every = [(families, n), *more]
    rows = [
        [
            {"series": name, "x": order, "y": math.log10(value), "n": f"{10**order:,.0f}", "value": short(value, 3)}
            for order in np.linspace(*across, 9).tolist()
            for name, value in [*((f.family, f.at(10**order)) for f in sorted(each, key=lambda f: f.family)),
                                (_SAMPLING, 10 ** (order * -0.5))]
        ]
        for each, _ in every
    ]  # fmt: skip
    y_domain = _layers.domain_of([row["y"] for each in rows for row in each], share=0.04)
    labels = [*(each.family for each in families), _SAMPLING]
    lines = named_lines(
        live.rows(rows),
        alt.X("x:Q", axis=log_axis("n, rows"), scale=_layers.scale(across)),
        alt.Y("y:Q", axis=log_axis("standard deviation"), scale=_layers.scale(y_domain)),
        {label: _FAMILIES[label] for label in labels},
        {"series:N": "error of", "n:N": "n", "value:N": "standard deviation"},
    )
    spots = [_noise_here(each[0], count) for each, count in every]
    layers = [lines, *_layers.here("you are here", *spots[0], across, y_domain, spots[1:])]
    if y_domain[1] > 0:
        layers = [*_layers.rules([(0.0, "1: not informative")], y_domain, labels_left=False), *layers]
    said = [_noise_words(each[0], count) for each, count in every]
    chart, title = alt.layer(*layers), "Noise on one average, of ±1, against n"
    return _layers.finish(chart, title, said, legend_labels=labels, line_length=90, sliders=sliders)


def _noise_here(best: FamilyNoise, n: int) -> _layers.Spot:
    height = best.at(max(n, 1))
    return math.log10(max(n, 1)), math.log10(height), f"n = {n:,}: noise {short(height, 3)} on {best.family}"


def _noise_words(best: FamilyNoise, n: int) -> str:
    ratio = best.at(n) * math.sqrt(n)
    verdict = (
        f"at n = {n:,} the noise on {best.family} is {short(ratio, 2)} times the sampling error"
        if ratio >= 0.01
        else f"at n = {n:,} noise hardly matters for {best.family}"
    )
    return f"Noise falls as 1/n, sampling error as 1/√n: {verdict}; they meet at n = {best.meets_at:,}."


def draw_budget(settings: Mapping[str, Any], guarantee: Guarantee) -> Any:
    """An Altair chart of a ledger: one bar, a piece for each part.

    Args:
        settings: of a record or a calibrated mechanism (``facts()``), with the ledger and how it was accounted.
        guarantee: of the whole release.
    """
    ledger = settings["ledger"]
    claim = readable(rounded_up(guarantee.epsilon, 4))
    whole, spent = f"ε = {claim}", "epsilon"
    if "rho" in ledger[0]:
        how = "by the exact law of its loss" if settings["accounting"] == "exact" else "by zCDP"
        spent, total = "rho", math.fsum(entry["rho"] for entry in ledger)
        whole = f"ρ = {readable(rounded_up(total, 4))}: ({claim}, {readable(delta_up(guarantee.delta))}) {how}"
    more = " and fine histograms" * any(entry["count"] == 0 for entry in ledger)
    numbers, parts = sum(entry["count"] for entry in ledger), counted(len(ledger), "part")
    subtitle = f"{numbers:,} noisy numbers{more} in {parts}; together {whole}."
    rows, start = [], 0.0
    for entry in ledger:
        share = entry["share"]
        rows.append(
            {
                "name": f"{entry['name']}: {percent(share)}",
                "start": start,
                "stop": start + share,
                "count": f"{entry['count']:,}" if entry["count"] else "as the noise allows",
                "spent": readable(rounded_up(entry[spent], 4)),
                "scale": short(entry["scale"], 4),
            }
        )
        start += share
    names = [row["name"] for row in rows]
    base = alt.Chart(pd.DataFrame(rows))
    bar = base.mark_bar(height=46, stroke="white", strokeWidth=1.5).encode(
        x=alt.X(
            "start:Q", axis=alt.Axis(title="share of the budget", labelExpr=_layers.PERCENT), scale=alt.Scale(domain=[0, 1])
        ),
        x2=alt.X2("stop"),
        **_layers.channels(names, "name", color=[MANY[i % len(MANY)] for i in range(len(names))]),
        tooltip=[
            alt.Tooltip("name:N", title="part"),
            alt.Tooltip("count:N", title="noisy numbers"),
            alt.Tooltip("spent:N", title="ρ" if spent == "rho" else "ε"),
            alt.Tooltip("scale:N", title="noise scale on sums"),
        ],
    )
    return _layers.finish(bar, "The budget", subtitle, legend_labels=names, plot=64, line_length=120)


@dataclass(frozen=True)
class ReweightingRow:
    """What Theorems 2.2 and 2.3 say about one variant.

    Attributes:
        variant: statistics, noise, corrected.
        setting: its numbers: |F|, sensitivity, noise scale, smallest accuracy, and the n, k and m that are required.
        reason: why most of them mean nothing: Gaussian noise without a privacy δ. The setting is with Laplace noise then.
    """

    variant: Variant
    setting: ReweightingSetting
    reason: str = ""

    @property
    def name(self) -> str:
        """For a legend: ``"Walsh, Laplace"``, ``"tables, Laplace, published"``."""
        statistics, noise, corrected = self.variant
        return f"{_STATISTICS[statistics]}, {_NOISES[noise]}{'' if corrected else ', published'}"

    @property
    def log_n(self) -> float:
        """ln of the smallest n that the theorems ask for at the accuracy asked for."""
        return max(self.setting.log_n_for_noise, self.setting.log_smallest_rows)

    def log_error(self, epsilon: float) -> float:
        """ln of 8·accuracy at the smallest accuracy that the conditions on n allow, with another ε.

        max(scale·spread, sqrt(sampling/n)): for small ε the noise binds, for large ε the sampling of n rows does.
        """
        return math.log(8) + replace(self.setting, epsilon=epsilon).log_smallest_accuracy

    def log_rows(self, epsilon: float) -> float:
        """ln of the k that this accuracy takes."""
        return replace(self.setting, epsilon=epsilon).log_rows_at_smallest

    @property
    def smallest_error(self) -> float:
        """8·accuracy at the smallest accuracy; NaN where there is a reason. Ignoring the data achieves 1 as well."""
        return math.nan if self.reason else 8 * self.setting.smallest_accuracy


def reweighting_table(
    stats: DatasetStatistics, spec: PrivacySpec, *, accuracy: float = 0.1, **settings: Any
) -> tuple[ReweightingRow, ...]:
    """σ, the smallest accuracy, and the n, k and m required, for each of VARIANTS.

    Corrected rows use exact sensitivities and Hoeffding's tail; published ones 2|F|/n and exp(-α²n), which is false.

    Args:
        stats: the data; the tables are over its columns, or over its bits where they are not known.
        spec: ε, and δ for the Gaussian rows.
        accuracy: α at which n, k and m are required; the promise is 8α.
        settings: as for :func:`reweighting_setting`, but for statistics and noise.
    """
    table = []
    for variant in VARIANTS:
        statistics, noise, corrected = variant
        missing = noise == "gaussian" and not spec.delta > 0
        usable: Noise = "laplace" if missing else noise
        setting = reweighting_setting(stats, spec, accuracy=accuracy, statistics=statistics, noise=usable, **settings)
        reason = "Gaussian noise needs a privacy δ above 0" if missing else ""
        table.append(ReweightingRow(variant, replace(setting, corrected=corrected), reason))
    return tuple(table)


def reweighting_frame(table: Sequence[ReweightingRow]) -> pd.DataFrame:
    """The table as text, ready to show."""

    def shown(row: ReweightingRow, log_value: float) -> str:
        return "—" if row.reason else format_log(log_value, 3, "at_least")

    return pd.DataFrame(
        {
            "Statistics and noise": [row.name for row in table],
            "|F|": [format_log(row.setting.family.log_size) for row in table],
            "Sensitivity of the averages": [shown(row, row.setting.log_sensitivity - row.setting.log_n) for row in table],
            "σ": [shown(row, row.setting.log_sigma) for row in table],
            "Smallest 8·accuracy": [shown(row, row.log_error(row.setting.epsilon)) for row in table],
            "Informative": [row.reason or ("yes" if row.smallest_error < 1 else "no") for row in table],
            "n at least": [shown(row, row.log_n) for row in table],
            "k at least": [shown(row, row.setting.log_smallest_rows) for row in table],
            "m at least": [format_log(row.setting.log_smallest_m, 3, "at_least") for row in table],
        }
    )


def smallest_errors(table: Sequence[ReweightingRow]) -> pd.DataFrame:
    """log10 of 8 times the smallest accuracy (``y``) against log10 ε (``x``) from ε = 0.001 to 1000, variant by variant."""
    return pd.DataFrame(
        [
            {"series": row.name, "x": x, "y": y, "epsilon": short(10**x, 4), "error": format_log(y * LN10, 4, "at_least")}
            for row in table
            for x in _ORDERS
            for y in [row.log_error(10**x) / LN10]
        ]
    )


def draw_reweighting(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    failure_probability: float = 0.125,
    more: Sequence[tuple[PrivacySpec, int]] = (),
    sliders: live.Sliders | None = None,
) -> Any:
    """An Altair chart of :func:`smallest_errors`, Gaussian variants only with a privacy δ above 0.

    Args:
        stats: the data.
        spec: ε for "you are here", δ for Gaussian noise.
        degree: d.
        failure_probability: γ.
        more: the same and d at each value of ``sliders``, which the picture follows while they are dragged (kit.live); of
            the same δ.
        sliders: how many values each has, by its widget's key.
    """
    tables: dict[int, list[ReweightingRow]] = {}
    curves: dict[int, list[dict[Any, Any]]] = {}
    states: list[tuple[int, _layers.Spot, str]] = []
    for at, d in ((spec, degree), *more):
        shared: dict[str, Any] = {"degree": d, "failure_probability": failure_probability}
        if d not in tables:
            tables[d] = [row for row in reweighting_table(stats, spec, **shared) if not row.reason]
            curves[d] = smallest_errors(tables[d]).to_dict("records")
        states.append((d, *_at_epsilon(stats, at, tables[d])))
    rows = [curves[d] for d, _, _ in states]
    heres, subtitles = [spot for _, spot, _ in states], [said for _, _, said in states]
    xs, ys = [x for x, _, _ in heres], [y for _, y, _ in heres if y is not None]
    across = (min(_ORDERS[0], *xs), max(_ORDERS[-1], *xs))
    up = _layers.domain_of([*(row["y"] for each in curves.values() for row in each), 0.0, *ys])
    styles = {row.name: _VARIANTS[row.variant] for row in tables[degree]}
    lines = named_lines(
        live.rows(rows),
        alt.X("x:Q", axis=log_axis("ε"), scale=_layers.scale(across)),
        alt.Y("y:Q", axis=log_axis("8 · accuracy", **_layers.fine_ticks(up)), scale=_layers.scale(up)),
        styles,
        {"series:N": "statistics and noise", "epsilon:N": "ε", "error:N": "8 · accuracy at least"},
        width=2,
    )
    layers = [
        *_layers.rules([(0.0, "1: not informative")], up, labels_left=False),
        lines,
        *_layers.here("you are here", *heres[0], across, up, heres[1:]),
    ]
    title, longest = "Smallest error that can be promised", _layers.WIDE_LINE
    chart = alt.layer(*layers)
    return _layers.finish(chart, title, subtitles, legend_labels=list(styles), line_length=longest, sliders=sliders)


def _at_epsilon(stats: DatasetStatistics, spec: PrivacySpec, table: Sequence[ReweightingRow]) -> tuple[_layers.Spot, str]:
    """ "You are here", on the line that is best at one ε, and what it promises there."""
    best = min((row for row in table if row.variant[2]), key=lambda row: row.log_error(spec.epsilon))
    now = best.log_error(spec.epsilon)
    text = f"{stats.name}, {best.name}: smallest error {format_log(now, 4, 'at_least')} at ε = {short(spec.epsilon)}"
    verdict = "" if now < 0 else " An error of 1 is not informative."
    missing = "" if spec.delta > 0 else " Gaussian noise needs a privacy δ."
    within, takes = format_log(now, 3, "at_least"), format_log(best.log_rows(spec.epsilon), 5, "at_least")
    subtitle = (
        f"Best at ε = {short(spec.epsilon)}: {best.name}, within {within} of every statistic, with k ≥ {takes} "
        f"rows.{verdict}{missing} Dashed: as published, where the level part rests on a false tail bound."
    )
    return (math.log10(spec.epsilon), now / LN10, text), subtitle
