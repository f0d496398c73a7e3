r"""The formulas behind the ε of a release, with its own numbers in the place of the letters.

Letters are the papers': Δ and δ of private sampling are ``ceiling`` and ``floor``; elsewhere δ is privacy's. Everything is
computed from the claim and from what calibration made of the settings, as a release's record keeps them, hence from public
facts only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS
from dpsyn.privacy.certificates import bounded_ratio_epsilon, is_degenerate
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.filled import latex_number

OUR_PROOF = "Our proof"
"""The source of what is proven in docs/guarantees.md."""
_STEP_4 = f"Algorithm 1, step 4 of {PrivateSampling.paper}"
_TIMES = r"\cdot "


@dataclass(frozen=True)
class ClaimFormula:
    """One line of a claim's derivation.

    Attributes:
        label: what it computes, in words.
        formula: LaTeX, with letters.
        filled: LaTeX with the numbers of this release; empty where they are known only after a private count.
        source: theorem and paper, or that the proof is ours.
        note: one more sentence.
    """

    label: str
    formula: str
    filled: str
    source: str
    note: str = ""


def claim_formulas(mechanism: str, guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """How the ε (and δ) of a guarantee comes about.

    Args:
        mechanism: registered name, or that of a demonstration.
        guarantee: the claim.
        settings: the configuration and what calibration made of it, as in ``Release.settings``: ``config.settings()``
            updated by ``mechanism.calibrated()``, with ``n`` where it is public.

    Returns:
        The lines in the order in which they are read; the last one is the claim. Empty for a mechanism without formulas, or
        where the settings are of another form (a record of an older version).
    """
    makers = {
        "private_sampling": _private_sampling,
        "noisy_reweighting": _noisy_reweighting,
        "dp_cda": _dp_cda,
        "dp_cda_as_published": _dp_cda_as_published,
    }
    try:
        return makers[mechanism](guarantee, settings) if mechanism in MECHANISMS | DEMONSTRATIONS else ()
    except KeyError:
        return ()


def _number(value: float, digits: int = 3) -> str:
    """LaTeX of a number >= 0."""
    return latex_number(math.log(value) if value > 0 else -math.inf, digits)


def _up(value: float, digits: int = 4) -> str:
    """LaTeX of an ε, never less than it is but by a relative 1e-12."""
    if value <= 0 or not math.isfinite(value):
        return _number(value, digits)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return _number(math.ceil(value * (1 - 1e-12) / unit) * unit, digits)


def _private_sampling(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    theorem = settings["theorem_4_1_epsilon"]
    return certificate_formulas(
        floor=float(settings["floor"]),
        ceiling=float(settings["ceiling"]),
        rows=int(settings["rows"]),
        degree=int(settings["degree"]),
        functions=int(settings["functions"]),
        reduced_space_size=int(settings["reduced_space_size"]),
        theorem=None if theorem is None else (int(settings["n"]), float(theorem)),
    )


def certificate_formulas(
    *,
    floor: float,
    ceiling: float,
    rows: int,
    degree: int,
    functions: int,
    reduced_space_size: int,
    theorem: tuple[int, float] | None,
) -> tuple[ClaimFormula, ...]:
    """The two proven certificates of k rows of private sampling, and the smaller of them.

    Args:
        floor: the paper's δ.
        ceiling: the paper's Δ.
        rows: k.
        degree: d.
        functions: C.
        reduced_space_size: m.
        theorem: n and the ε of Theorem 4.1; None where it says nothing (no cube, or not for replacing one record).
    """
    k, low, high = _number(rows), _number(floor), _number(ceiling)
    if is_degenerate(floor, ceiling):
        return (
            ClaimFormula(
                "Only the uniform density fits into the box",
                r"2\delta \le m\,h \le \Delta - \delta \;\Rightarrow\; h = u_m,\quad \varepsilon = 0",
                rf"{_number(2 * floor)} \le m\,h \le {_number(ceiling - floor)} \;\Rightarrow\; "
                r"h = u_m,\quad \varepsilon = 0",
                _STEP_4,
                "δ is the floor and Δ the ceiling. The output ignores the data.",
            ),
        )
    ratio = bounded_ratio_epsilon(rows=rows, floor=floor, ceiling=ceiling)
    first = ClaimFormula(
        "Bounded ratio",
        r"\varepsilon_{\text{ratio}} = k\,\ln\frac{\Delta}{\delta}",
        rf"\varepsilon_{{\text{{ratio}}}} = {k} \cdot \ln\frac{{{high}}}{{{low}}} = {_up(ratio)}",
        OUR_PROOF,
        "δ is the floor, Δ the ceiling, k the number of rows. It holds for any two datasets.",
    )
    if theorem is None:
        return (first,)
    n, epsilon = theorem
    second = ClaimFormula(
        "Theorem 4.1",
        r"\varepsilon_{4.1} = 4\sqrt2\,k\left(\frac{\Delta}{\delta}\right)^{3/2}e^{d/2}\binom{p}{\le d}^{1/4}"
        r"\frac{m^{3/4}}{\sqrt n}",
        rf"\varepsilon_{{4.1}} = 4\sqrt2 \cdot {k}\left(\frac{{{high}}}{{{low}}}\right)^{{3/2}}e^{{{degree}/2}} \cdot "
        rf"{_number(functions)}^{{1/4}} \cdot "
        rf"\frac{{{_number(reduced_space_size)}^{{3/4}}}}{{\sqrt{{{_number(n)}}}}} = {_up(epsilon)}",
        f"Theorem 4.1 of {PrivateSampling.paper}",
        "For the Boolean cube and replacing one of n records.",
    )
    smaller = ClaimFormula(
        "The claim",
        r"\varepsilon = \min(\varepsilon_{\text{ratio}},\ \varepsilon_{4.1})",
        rf"\varepsilon = \min({_up(ratio)},\ {_up(epsilon)}) = {_up(min(ratio, epsilon))}",
        OUR_PROOF,
    )
    return first, second, smaller


def threshold_formula(
    *, reduced_space_size: int, degree: int, cube: bool, smallest: float, threshold: float
) -> ClaimFormula:
    """Step 2 of private sampling: the smallest singular value of W against √m/(2e^d), or √m/(2B) off the cube.

    Args:
        reduced_space_size: m.
        degree: d.
        cube: whether S is taken from {-1, 1}^p.
        smallest: σ_min(W).
        threshold: what it must reach.
    """
    sign = r"\ge" if smallest >= threshold else "<"
    bound = "e^d" if cube else "B"
    value = f"e^{{{degree}}}" if cube else rf"\cdot {_number(math.sqrt(reduced_space_size) / (2 * threshold))}"
    return ClaimFormula(
        "Step 2",
        rf"\sigma_{{\min}}(W) \ge \frac{{\sqrt m}}{{2{bound}}}",
        rf"{_number(smallest)} {sign} \frac{{\sqrt{{{_number(reduced_space_size)}}}}}{{2{value}}} = {_number(threshold)}",
        f"Algorithm 1, step 2 of {PrivateSampling.paper}{'' if cube else ' (corrected: B in place of eᵈ)'}",
    )


def _noisy_reweighting(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    ledger, kind = list(settings["ledger"]), settings["accounting"]
    if kind == "pure":
        return _laplace(guarantee, settings, ledger)
    delta = _number(guarantee.delta)
    epsilon = _up(guarantee.epsilon)
    rho = sum(float(entry["rho"]) for entry in ledger)
    squares = [(2 * float(entry["rho"]) * float(entry["scale"]) ** 2, float(entry["scale"])) for entry in ledger]
    terms = [rf"\frac{{{_number(square)}}}{{2 \cdot {_number(scale, 4)}^2}}" for square, scale in squares]
    shift = ClaimFormula(
        "How far a neighbour moves the noisy sums",
        r"\rho = \sum_j \frac{\Delta_{2,j}^2}{2\sigma_j^2}",
        rf"\rho = {' + '.join(terms)} = {_up(rho)}",
        "",
        "Δ₂,ⱼ² is the squared L2 sensitivity of the sums of part j, σⱼ the scale of their noise.",
    )
    if kind == "exact":
        law = ClaimFormula(
            "The claim",
            r"\delta(\varepsilon) = \mathbb{E}\left[\left(1 - e^{\varepsilon - L}\right)_+\right] \le \delta",
            rf"\mathbb{{E}}\left[\left(1 - e^{{{epsilon} - L}}\right)_+\right] \le {delta},\qquad "
            rf"\mathbb{{E}}\,L = \rho = {_up(rho)}",
            guarantee.source,
            "L is the privacy loss, a sum of discrete Gaussian variables; its law is computed exactly.",
        )
        return shift, law
    law = ClaimFormula(
        "The claim",
        r"\delta = \inf_{\alpha > 1} \frac{e^{(\alpha - 1)(\alpha\rho - \varepsilon)}}{\alpha - 1}"
        r"\left(1 - \frac1\alpha\right)^{\alpha}",
        rf"\inf_{{\alpha > 1}} \frac{{e^{{(\alpha - 1)(\alpha \cdot {_number(rho)} - {epsilon})}}}}{{\alpha - 1}}"
        rf"\left(1 - \frac1\alpha\right)^{{\alpha}} \le {delta}",
        guarantee.source,
    )
    return shift, law


def _laplace(
    guarantee: Guarantee, settings: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]
) -> tuple[ClaimFormula, ...]:
    if guarantee.status == "real_arithmetic":
        count, n = int(settings["statistic_count"]), int(settings["n"])
        scale = float(ledger[0]["scale"]) / n
        return (
            ClaimFormula(
                "The claim, for noise in real numbers",
                r"\varepsilon = \frac{2|F|}{n\,\sigma}",
                rf"\varepsilon = \frac{{2 \cdot {_number(count)}}}{{{_number(n)} \cdot {_number(scale, 4)}}} = "
                rf"{_up(guarantee.epsilon)}",
                f"Theorem 2.2 of {NoisyReweighting.paper}",
                "σ is the scale of the Laplace noise on every average, |F| the number of statistics.",
            ),
        )
    terms = [rf"\frac{{{_number(_length(entry))}}}{{{_number(float(entry['scale']), 4)}}}" for entry in ledger]
    return (
        ClaimFormula(
            "The claim",
            r"\varepsilon = \sum_j \frac{\Delta_{1,j}}{b_j}",
            rf"\varepsilon = {' + '.join(terms)} = {_up(guarantee.epsilon)}",
            f"Theorem 2.2 of {NoisyReweighting.paper} (corrected: exact sensitivities)",
            "Δ₁,ⱼ is by how much the worst neighbour moves the sums of part j together, bⱼ the scale of their noise.",
        ),
    )


def _length(entry: Mapping[str, Any]) -> float:
    """The L1 sensitivity of a part, a whole number but for rounding where its functions are whole."""
    length = float(entry["epsilon"]) * float(entry["scale"])
    return float(round(length)) if abs(length - round(length)) < 1e-6 * max(length, 1.0) else length


def _dp_cda(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    poisson, order = settings["variant"] == "poisson", int(settings["order_of_mixture"])
    sensitivity = float(settings["sensitivity"])
    clip = sensitivity * order / (1 if poisson else 2)
    parts = {entry["name"]: entry for entry in settings["ledger"]}
    delta, counts = float(parts["averages"]["delta"]), parts.get("class counts")
    found = [
        ClaimFormula(
            "How far one record moves an average",
            r"\Delta = \frac{c}{l}" if poisson else r"\Delta = \frac{2c}{l}",
            rf"\Delta = \frac{{{'' if poisson else '2 ' + _TIMES}{_number(clip)}}}{{{order}}} = {_number(sensitivity)}",
            "Section 3 (corrected)",
            "c is the largest norm of a record, l the order of mixture."
            + (" The number of records in a sum varies, its divisor does not." if poisson else ""),
        )
    ]
    if counts is None:
        return (*found, *_averages(guarantee, settings, parts, guarantee.epsilon, delta))
    first, scale, beta = float(counts["epsilon"]), float(counts["scale"]), float(counts["delta"])
    rest = guarantee.epsilon - first
    found.append(
        ClaimFormula(
            "Class sizes, estimated with discrete Laplace noise",
            r"\varepsilon_1 = \frac{\Delta_1}{s}",
            rf"\varepsilon_1 = \frac{{{round(first * scale)}}}{{{_number(scale, 4)}}} = {_up(first)}",
            OUR_PROOF,
            "Δ₁ is by how much a neighbour moves the counts together, s the scale of their noise. σ and the sampling rates "
            "follow from the noisy counts" + (", less a margin." if beta else "."),
        )
    )
    total = rf"({_up(first)} + {_number(rest, 4)},\ {_number(beta)} + {_number(delta)})"
    return (
        *found,
        *_averages(guarantee, settings, parts, rest, delta),
        ClaimFormula(
            "The claim",
            r"(\varepsilon,\ \delta) = (\varepsilon_1 + \varepsilon_2,\ \beta + \delta_2)",
            rf"{total} = ({_up(guarantee.epsilon)},\ {_number(guarantee.delta)})",
            OUR_PROOF,
            "β is the probability that a noisy count, less the margin, exceeds its class." if beta else "",
        ),
    )


def _averages(
    guarantee: Guarantee, settings: Mapping[str, Any], parts: Mapping[str, Any], epsilon: float, delta: float
) -> tuple[ClaimFormula, ...]:
    """What one record does to one row, and to all of them."""
    rates, sigma = settings.get("sampling_rates"), settings.get("noise_scale")
    made = {str(name): int(rows) for name, rows in settings["rows_per_class"].items()}
    row = rows = ""
    if rates and sigma is not None:
        worst = max(rates, key=lambda name: rates[name])
        rate, scale = _number(float(rates[worst])), _number(float(sigma), 4)
        row = (
            rf"A_k = (1 - {rate})\,Q + {rate}\,\mathcal{{N}}({_number(float(settings['sensitivity']))},\ {scale}^2),\quad "
            rf"Q = \mathcal{{N}}(0,\ {scale}^2)"
        )
        rows = rf"\delta\left({_up(epsilon)};\ P_k^{{\otimes {_number(made[str(worst)])}}}\right) \le {_number(delta)}"
    index = "" if guarantee.delta == delta else "_2"
    note = "In numbers: the class of the largest sampling rate. " if row else ""
    if "means and deviations" in parts:
        note += "Means and deviations, with Gaussian noise of their own, are composed with the averages. "
    return (
        ClaimFormula(
            "One row, for whoever holds all records but one",
            r"A_k = (1 - p_k)\,Q + p_k\,\mathcal{N}(\Delta, \sigma^2),\quad Q = \mathcal{N}(0, \sigma^2),\quad "
            r"p_k = \frac{l}{N_k}",
            row,
            OUR_PROOF,
            "With the probability pₖ the record takes part in the row.",
        ),
        ClaimFormula(
            "All rows, by privacy-loss distributions",
            rf"\max_k\ \delta\left(\varepsilon{index};\ P_k^{{\otimes T_k}}\right) \le \delta{index}",
            rows,
            OUR_PROOF,
            f"{note}{_pairs(guarantee, settings)}",
        ),
    )


def _pairs(guarantee: Guarantee, settings: Mapping[str, Any]) -> str:
    if guarantee.neighbouring == "add_remove":
        return "Pₖ is the pair (Aₖ, Q), and (Q, Aₖ): a record that leaves or comes."
    inside = (
        "the pair (Aₖ, A′ₖ), A′ₖ with −Δ for Δ"
        if settings["variant"] == "poisson"
        else "the symmetric pair that has the δ(ε) of (Aₖ, Q) for ε ≥ 0"
    )
    return (
        f"A record that is replaced inside its class: Pₖ is {inside}. One that moves from class a to class b: (Aₐ, Q) over "
        "the rows of a together with (Q, A) of b over its rows, and the reverse. The claim is the largest of all."
    )


def _dp_cda_as_published(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    return (
        ClaimFormula(
            "What the paper prints",
            r"\varepsilon = \min_{\alpha \ge 3}\ T\,\varepsilon'(\alpha) + \frac{\ln(1/\delta)}{\alpha - 1}",
            "",
            "Theorem 1 of Saha, Tonoy, Imtiaz 2024 (as published)",
            "It is no guarantee: " + " ".join(guarantee.assumptions),
        ),
    )
