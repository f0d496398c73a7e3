"""The noise that each accountant asks of DP-CDA and the ε that it truly buys; which class binds; what clipping cuts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import escape
from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, HERE, SKY, WORD
from dpsyn.mechanisms.dp_cda.accounting.functions import ACCOUNTANTS, Accountant
from dpsyn.mechanisms.dp_cda.accounting.quick import FINE, TOLERANCE, Sizes, attained_epsilon, epsilon_at, sigma_for
from dpsyn.mechanisms.dp_cda.inside import Inside
from dpsyn.notation import percent, short
from dpsyn.privacy.mixing.pairs import Change
from dpsyn.privacy.spec import rounded_down, rounded_up
from dpsyn.theory.logarithms import format_log

NAMES: dict[Accountant, str] = {"published": "published but wrong", "rdp": "Rényi, corrected", "exact": "exact"}
COLOURS: dict[Accountant, str] = {"published": HERE, "rdp": GREEN, "exact": BLUE}
MOST_CLASSES = 13
"""Classes that are accounted for one by one, the smallest first: they have the largest ε."""
INSIDE, MOVED = "replaced inside its class", "moved to another class"
_BINS = 50
_ALIKE = 1e-9
"""Norms that differ by less are alike."""


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
        epsilon: what was asked for.
        sizes: of the classes.
        lines: one for each accountant.
        attained: not more than ε at the published σ of two datasets that differ in one record and its label; no accounting
            can give less. None without a published σ or with one class only.
    """

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
            "so here it adds more noise than is needed. The paper's z-score is no part of this."
        )


def above(value: float, digits: int) -> str:
    """:func:`rounded_up` as people write numbers: 1,000 and not 1e+03."""
    return short(float(rounded_up(value, digits)), digits)


def noise_info(sizes: Sizes, epsilon: float, order_of_mixture: int) -> NoiseInfo:
    """σ for (ε, δ) by three accountants and the exact ε of each, under replace-one. Rounded towards privacy."""
    lines = []
    for accountant in reversed(ACCOUNTANTS):
        sigma = sigma_for(sizes, order_of_mixture, epsilon, accountant, FINE)
        spent = None if sigma is None else epsilon_at(sizes, order_of_mixture, sigma, tolerance=TOLERANCE)
        # The exact σ has been found to meet the target more closely than this tolerance shows.
        lines.append(NoiseLine(accountant, sigma, min(spent, epsilon) if spent and accountant == "exact" else spent))
    published = lines[-1].sigma
    attained = None
    if published is not None and len(sizes.counts) > 1:
        attained = attained_epsilon(sizes, order_of_mixture, published)
    return NoiseInfo(epsilon, sizes, tuple(lines), attained)


def bars(
    rows: Sequence[Mapping[str, Any]],
    title: str,
    largest: float,
    colours: Mapping[str, str],
    *,
    words: Mapping[str, float],
    tooltip: Mapping[str, str],
    rules: Sequence[tuple[float, str, Mapping[str, Any]]],
    legend: Any,
    bold: bool = True,
    height: float | Mapping[str, float] = 22,
    longest_name: int = 260,
) -> Any:
    """Altair layers of horizontal bars with words to their right.

    Args:
        rows: one a bar, in order: ``name``, ``value``, ``kind`` (its colour) and what words and tooltips show.
        title: of the axis, which has ticks up to ``largest``.
        largest: value.
        colours: by kind.
        words: fields, each with the multiple of ``largest`` at which it ends; the first one begins beside its bar,
            clear of the rules.
        tooltip: fields and their names.
        rules: values, texts and marks of vertical rules.
        legend: of the kinds; None for none.
        bold: words.
        height: of a bar.
        longest_name: pixels.
    """
    ends = {f"{name}_ends": at * largest for name, at in words.items()}
    clear = max((value for value, _, _ in rules), default=0.0)
    table = pd.DataFrame([{**row, "clear": max(row["value"] or 0.0, clear)} for row in rows]).assign(**ends)
    table["name"] = table["name"].map(escape.unlike_scripts)
    scale = alt.Scale(domain=[0, max(ends.values())], nice=False)
    axis = alt.Axis(labelLimit=longest_name, ticks=False, domain=False, labelPadding=8)
    kinds = alt.Scale(domain=list(colours), range=list(colours.values()))
    base = alt.Chart(table).encode(
        y=alt.Y("name:N", title=None, sort=table["name"].tolist(), axis=axis),
        tooltip=[alt.Tooltip(f"{name}:N", title=said) for name, said in tooltip.items()],
    )
    weight, (first, *others) = "bold" if bold else "normal", words
    text = base.mark_text(align="right", color=WORD, fontWeight=weight)
    beside = base.mark_text(align="left", dx=6, color=WORD, fontWeight=weight)
    layers = [
        base.mark_bar(height=height, cornerRadiusEnd=3).encode(
            x=alt.X("value:Q", axis=_layers.bar_axis(title, largest), scale=scale, stack=None),
            color=alt.Color("kind:N", title=None, sort=None, scale=kinds, legend=legend),
        ),
        beside.encode(x=alt.X("clear:Q"), text=alt.Text(f"{first}:N")),
        *(text.encode(x=alt.X(f"{name}_ends:Q"), text=alt.Text(f"{name}:N")) for name in others),
    ]
    for value, said, style in rules:
        mark = alt.Chart(pd.DataFrame([{"value": value, "text": said}])).mark_rule(color=GUIDE, **style)
        layers.append(mark.encode(x=alt.X("value:Q"), tooltip=alt.Tooltip("text:N", title=" ")))
    return alt.layer(*layers)


DASHED = {"strokeDash": [4, 3], "size": 1.5}
"""How a rule at what is asked for or claimed looks."""


def draw_noise(info: NoiseInfo) -> Any:
    """An Altair chart of :class:`NoiseInfo`: a bar for each accountant up to its true ε, a rule at the ε asked for."""
    none = "cannot reach this ε" if info.sizes.variant == "fixed_size" else "does not cover Poisson"
    rows = [
        {
            "name": NAMES[line.accountant],
            "kind": NAMES[line.accountant],
            "value": line.spent,
            "text": none
            if line.sigma is None
            else f"σ = {format_log(math.log(line.sigma), 3, 'at_least')},  ε = {above(line.spent or 0.0, 3)}",
        }
        for line in info.lines
    ]
    chart = bars(
        rows,
        "exact ε",
        max([info.epsilon, *(line.spent for line in info.lines if line.spent and math.isfinite(line.spent))]),
        {NAMES[line.accountant]: COLOURS[line.accountant] for line in info.lines},
        words={"text": 2.1},
        tooltip={"name": "accountant", "text": "asks for"},
        rules=[(info.epsilon, f"asked for: ε = {short(info.epsilon)}", DASHED)],
        legend=None,
    )
    subtitle = "Exact ε at the σ that it asks for; dashed: ε asked for"
    return _layers.finish(chart, "What each accountant's noise really spends", subtitle, plot=150)


@dataclass(frozen=True)
class ClassBudget:
    """ε of a record of one class.

    Attributes:
        name: the class, or the two classes between which a record moves.
        kind: :data:`INSIDE` or :data:`MOVED`.
        size: N_k (of the first of two).
        rows: T_k (of two together).
        rate: l/N_k.
        epsilon: exact ε at δ, never too small.
    """

    name: str
    kind: str
    size: int
    rows: int
    rate: float
    epsilon: float


def class_budgets(
    names: Sequence[str], sizes: Sizes, order_of_mixture: int, sigma: float, met: float = math.inf
) -> tuple[ClassBudget, ...]:
    """ε for a record replaced inside each class, and for one whose label changes between the classes where that is worst;
    the largest first: it decides σ.

    Classes are ranked by T_k/N_k², to which the ε of their records is about proportional: with equal T_k, and with T_k in
    proportion to N_k, the smallest come first, and a change of label is worst between the two first. Of many classes the
    first are accounted for, and the last; what lies between has an ε between.

    Args:
        names: of the classes of ``sizes``, all of them with l records or more.
        sizes: N_k, T_k, δ and c.
        order_of_mixture: l.
        sigma: σ.
        met: an ε that this σ was calibrated to, more closely than the discretisation shows here: none is larger.

    Raises:
        ParameterError: there is no class, or an argument is out of range.
    """
    counts, rows = sizes.counts, sizes.rows_by_class
    if not counts:
        raise ParameterError("order_of_mixture", order_of_mixture, "at most the records of the largest class")
    order = sorted((k for k in range(len(counts)) if rows[k] > 0), key=lambda k: (-rows[k] / counts[k] ** 2, k))

    def part(name: str, kind: str, change: Change, *of: int) -> ClassBudget:
        these = replace(sizes, counts=tuple(counts[k] for k in of), rows=tuple(rows[k] for k in of), neighbouring=change)
        epsilon = epsilon_at(these, order_of_mixture, sigma, tolerance=TOLERANCE)
        size = counts[of[0]]
        return ClassBudget(name, kind, size, sum(rows[k] for k in of), order_of_mixture / size, epsilon)

    shown = order if len(order) <= MOST_CLASSES else [*order[: MOST_CLASSES - 1], order[-1]]
    parts = [part(names[k], INSIDE, "replace_same_class", k) for k in shown]
    if len(order) > 1:
        a, b = order[:2]
        parts.append(part(f"{names[a]} ↔ {names[b]}", MOVED, "label_change", a, b))
    ranked = sorted(parts, key=lambda part: -part.epsilon)
    return tuple(replace(part, epsilon=min(part.epsilon, met)) for part in ranked)


def draw_budget(parts: Sequence[ClassBudget], sigma: float, epsilon: float) -> Any:
    """An Altair chart: a bar for each part, the binding one darker, a rule at the ε asked for.

    Args:
        parts: as :func:`class_budgets` finds them.
        sigma: σ.
        epsilon: asked for.
    """
    rows = [
        {
            "name": part.name,
            "value": part.epsilon,
            "kind": "binds" if at == 0 else part.kind,
            "what": part.kind,
            "size": f"{part.size:,}",
            "rate": percent(part.rate, 3),
            "rows": f"{part.rows:,}",
            "epsilon": above(part.epsilon, 4),
            "text": f"ε = {above(part.epsilon, 3)}",
            "share": f"l/N = {percent(part.rate, 3)}" if part.kind == INSIDE else "",
        }
        for at, part in enumerate(parts)
    ]
    colours = {"binds": HERE} | {kind: BLUE if kind == INSIDE else SKY for kind in sorted({part.kind for part in parts[1:]})}
    chart = bars(
        rows,
        "exact ε",
        max(epsilon, parts[0].epsilon),
        colours,
        words={"text": 1.36, "share": 1.7},
        tooltip={"what": "a record is", "name": "class", "size": "Nₖ", "rate": "l/Nₖ", "rows": "Tₖ", "epsilon": "ε"},
        rules=[(epsilon, f"asked for: ε = {short(epsilon)}", DASHED)],
        legend=_layers.legend(list(colours)),
        bold=False,
        height={"band": 0.72},
        longest_name=160,
    )
    subtitle = f"At σ = {above(sigma, 3)}; dashed: asked for"
    return _layers.finish(chart, "Class by class", subtitle, legend_labels=list(colours), plot=max(26 * len(parts), 80))


@dataclass(frozen=True)
class Clipping:
    """What clipping does to the records. NOT private.

    Attributes:
        clip_norm: c.
        norms: of the scaled records before clipping, shape (n,).
    """

    clip_norm: float
    norms: npt.NDArray[np.float64]

    @property
    def share_cut(self) -> float:
        """Share of the records that are shortened."""
        return float((self.norms > self.clip_norm * (1 + 1e-12)).mean()) if len(self.norms) else 0.0

    @property
    def says_nothing(self) -> bool:
        """Whether no record is cut and all are as long, as in a table of categories."""
        return self.share_cut == 0 and (len(self.norms) == 0 or float(np.ptp(self.norms)) < _ALIKE)

    @property
    def shortened(self) -> float:
        """Share of the records' total length that is cut away."""
        total = float(self.norms.sum())
        return float(np.maximum(self.norms - self.clip_norm, 0).sum()) / total if total > 0 else 0.0


def clipping_of(inside: Inside) -> Clipping:
    """What c does to the records that are kept."""
    return Clipping(inside.clip_norm, np.linalg.norm(inside.records.points, axis=1))


def draw_norms(cut_off: Clipping) -> Any:
    """An Altair chart of the norms before clipping: bars, those beyond c in another colour, a rule at c."""
    radius, norms = cut_off.clip_norm, cut_off.norms
    counts, edges = np.histogram(np.clip(norms, 0.0, 1.0), bins=_BINS, range=(0.0, 1.0))
    kept, cut = "kept as it is", "shortened to c"
    rows = [
        {
            "from": low,
            "to": high,
            "count": count,
            "kind": cut if (low + high) / 2 > radius else kept,
            "range": f"{low:.2f} to {high:.2f}",
        }
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        if count
    ]
    table = pd.DataFrame(rows, columns=["from", "to", "count", "kind", "range"])
    top = int(counts.max()) or 1
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
            **_layers.channels(labels, "kind", color=[BLUE, HERE]),
            tooltip=[alt.Tooltip("range:N", title="norm"), alt.Tooltip("count:Q", title="records"), alt.Tooltip("kind:N")],
        )
    )
    spot = alt.Chart(pd.DataFrame([{"from": radius, "text": f"c = {short(radius)}: {percent(cut_off.share_cut, 3)} cut"}]))
    right = radius < 0.6
    rule = spot.mark_rule(color=GUIDE, strokeDash=[4, 3], size=1.5).encode(x=x)
    words = spot.mark_text(
        color=WORD, fontWeight="bold", align="left" if right else "right", dx=6 if right else -6, y=8
    ).encode(x=x, text=alt.Text("text:N"))
    subtitle = f"{len(norms):,} records; norm 1: every column at a bound"
    return _layers.finish(alt.layer(bars, rule, words), "Norms of the scaled records", subtitle, legend_labels=labels)
