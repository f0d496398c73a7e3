"""The formulas behind the ε and δ of DP-CDA."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dpsyn.notation import short
from dpsyn.privacy.mixing.exact import change_epsilon
from dpsyn.privacy.mixing.pairs import Change, Variant, mixed_classes
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, TIMES, ClaimFormula, number, power, up, whole

_COUNTS, _STANDARD, _AVERAGES = "class counts", "means and deviations", "averages"


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings; of the published claim where the guarantee says that it is wrong."""
    if guarantee.status == "published_but_wrong":
        return _as_published(guarantee)
    poisson, order = settings["variant"] == "poisson", whole(settings["order_of_mixture"])
    sensitivity = float(settings["sensitivity"])
    clip = sensitivity * order / (1 if poisson else 2)
    parts = {entry["name"]: entry for entry in settings["ledger"]}
    delta, counts = float(parts[_AVERAGES]["delta"]), parts.get(_COUNTS)
    moved = ClaimFormula(
        "How far one record moves an average",
        r"\Delta = \frac{c}{l}" if poisson else r"\Delta = \frac{2c}{l}",
        rf"\Delta = \frac{{{'' if poisson else '2 ' + TIMES}{number(clip)}}}{{{order}}} = {number(sensitivity)}",
        "Section 3 (corrected)",
        "c is the largest norm of a record, l the order of mixture."
        + (" The number of records in a sum varies, its divisor does not." if poisson else ""),
    )
    if counts is None:
        return (moved, *_averages(guarantee, settings, parts, guarantee.epsilon, (r"\varepsilon", r"\delta")))
    first, scale, beta = float(counts["epsilon"]), float(counts["scale"]), float(counts["delta"])
    rest, letters = guarantee.epsilon - first, (r"\varepsilon_2", r"\delta_2" if beta else r"\delta")
    sizes = ClaimFormula(
        "Class sizes, estimated with discrete Laplace noise",
        r"\varepsilon_1 = \frac{\Delta_1}{s}",
        rf"\varepsilon_1 = \frac{{{round(first * scale)}}}{{{number(scale)}}} = {up(first)}",
        OUR_PROOF,
        "Δ₁ is by how much a neighbour moves the counts together, s the scale of their noise. σ and the sampling rates "
        "follow from the noisy counts" + (", less a margin." if beta else "."),
    )
    deltas = (r"\beta + \delta_2", rf"{up(beta, 3)} + {up(delta, 3)}") if beta else (r"\delta", up(delta, 3))
    claim = ClaimFormula(
        "The claim",
        rf"(\varepsilon,\ \delta) = (\varepsilon_1 + \varepsilon_2,\ {deltas[0]})",
        rf"({up(first)} + {up(rest)},\ {deltas[1]}) = ({up(guarantee.epsilon)},\ {up(guarantee.delta, 3)})",
        OUR_PROOF,
        "β is the probability that a noisy count, less the margin, exceeds its class."
        if beta
        else "The sampling rates need not be right, so that the noisy counts take nothing of δ.",
    )
    return (moved, sizes, *_averages(guarantee, settings, parts, rest, letters), claim)


def _averages(
    guarantee: Guarantee, settings: Mapping[str, Any], parts: Mapping[str, Any], claimed: float, letters: tuple[str, str]
) -> tuple[ClaimFormula, ...]:
    """What one record does to one row, and to all of them: ``claimed`` for means, deviations and averages together."""
    delta = float(parts[_AVERAGES]["delta"])
    rates, sigma = settings.get("sampling_rates"), settings.get("noise_scale")
    beside = r"G \otimes " if _STANDARD in parts else ""
    row = rows = shown = ""
    if rates and sigma is not None:
        name, made, alone = _binding(guarantee, settings, delta)
        rate, scale = number(float(rates[name])), number(float(sigma))
        square = power(scale, "2")
        row = (
            rf"A_k = (1 - {rate})\,Q + {rate}\,\mathcal{{N}}({number(float(settings['sensitivity']))},\ {square}),\quad "
            rf"Q = \mathcal{{N}}(0,\ {square})"
        )
        rows = rf"\delta\left({up(claimed)};\ {beside}P_k^{{\otimes {number(made)}}}\right) \le {up(delta, 3)}"
        shown = f"In numbers: class {name}" + (". " if alone else ", whose rows alone have the largest ε of all classes. ")
    if beside:
        shown += _standard(guarantee, parts[_STANDARD])
    return (
        ClaimFormula(
            "One row, for whoever holds all records but one",
            r"A_k = (1 - p_k)\,Q + p_k\,\mathcal{N}(\Delta, \sigma^2),\quad Q = \mathcal{N}(0, \sigma^2),\quad "
            r"p_k = \frac{l}{N_k}",
            row,
            OUR_PROOF,
            f"With the probability pₖ the record takes part in the row. {_size(settings, parts)} σ is the scale of the "
            "noise on every average.",
        ),
        ClaimFormula(
            "All rows, by privacy-loss distributions",
            rf"\max_k\ \delta\left({letters[0]};\ {beside}P_k^{{\otimes T_k}}\right) \le {letters[1]}",
            rows,
            OUR_PROOF,
            f"Tₖ is the number of rows made from class k{_rows(settings)}. {shown}{_pairs(guarantee, settings)}",
        ),
    )


def _rows(settings: Mapping[str, Any]) -> str:
    """Where T_k comes from."""
    return "" if "rows_per_class" in settings else ", in proportion to its noisy count"


def _size(settings: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """What N_k stands for."""
    poisson = settings["variant"] == "poisson"
    if _COUNTS in parts:
        return "Nₖ is the noisy count of class k." if poisson else "Nₖ is the noisy count of class k, less the margin."
    if poisson:
        return "Nₖ is the size that was stated for class k, right or wrong: the coins of its records have the bias pₖ."
    return "Nₖ is how many records class k was declared to hold at least."


def _standard(guarantee: Guarantee, entry: Mapping[str, Any]) -> str:
    bound = "2√q" if guarantee.neighbouring == "replace_one" else "√(2q + 1), with n among the sums"
    return (
        "G is the pair (N(Δ′, s²), N(0, s²)) of the means and deviations of the q numbers: Gaussian noise of the scale s = "
        f"{short(float(entry['scale']), 4)} on their sums, which one record moves by Δ′ = {bound}. "
    )


def _binding(guarantee: Guarantee, settings: Mapping[str, Any], delta: float) -> tuple[str, int, bool]:
    """The class that gives the most away to whoever holds the rest of it, its rows, and whether it is the only one."""
    rates = {name: float(rate) for name, rate in settings["sampling_rates"].items() if float(rate) > 0}
    made = {str(name): int(rows) for name, rows in settings["rows_per_class"].items()}
    order, poisson = whole(settings["order_of_mixture"]), settings["variant"] == "poisson"
    # A class with a larger rate and more rows costs no less; only those that no other one covers are compared.
    known = sorted(rates, key=lambda name: (-rates[name], -made[name]))
    open_ = [name for i, name in enumerate(known) if not any(made[other] >= made[name] for other in known[:i])]
    if len(open_) == 1:
        return open_[0], made[open_[0]], len(known) == 1
    multiplier = float(settings["noise_scale"]) / float(settings["sensitivity"])

    def alone(name: str) -> float:
        added = guarantee.neighbouring == "add_remove"
        return _epsilon(order, round(order / rates[name]), made[name], multiplier, delta, poisson=poisson, added=added)

    worst = max(open_, key=alone)
    return worst, made[worst], False


@lru_cache(maxsize=256)
def _epsilon(order: int, size: int, rows: int, multiplier: float, delta: float, *, poisson: bool, added: bool) -> float:
    variant: Variant = "poisson" if poisson else "fixed_size"
    classes = mixed_classes(order, [size], [rows], variant)
    change: Change = "add_remove" if added else "replace_same_class"
    return change_epsilon(change, classes, multiplier, delta, variant=variant)


def _pairs(guarantee: Guarantee, settings: Mapping[str, Any]) -> str:
    if guarantee.neighbouring == "add_remove":
        return "Pₖ is the pair (Aₖ, Q), and (Q, Aₖ): a record that leaves or comes."
    poisson = settings["variant"] == "poisson"
    inside = (
        "the pair (Aₖ, A′ₖ), A′ₖ with −Δ for Δ" if poisson else "the symmetric pair that has the δ(ε) of (Aₖ, Q) for ε ≥ 0"
    )
    rate = "" if poisson else "In b its rate is l/(N + 1), N being the size of b without it. "
    return (
        f"A record that is replaced inside its class: Pₖ is {inside}. One that moves from class a to class b: (Aₐ, Q) over "
        f"the rows of a together with (Q, A) over those of b, and the reverse. {rate}The claim is the largest of all."
    )


def _as_published(guarantee: Guarantee) -> tuple[ClaimFormula, ...]:
    """What the paper prints, which is refuted."""
    return (
        ClaimFormula(
            "What the paper prints",
            r"\varepsilon = \min_{\alpha \ge 3}\ T\,\varepsilon'(\alpha) + \frac{\ln(1/\delta)}{\alpha - 1}",
            "",
            "Theorem 1 of Saha, Tonoy, Imtiaz 2024 (as published)",
            "It is no guarantee: "
            + " ".join(guarantee.assumptions)
            + " T is the number of rows, α a Rényi order, ε′(α) the privacy loss of one row at that order.",
        ),
    )
