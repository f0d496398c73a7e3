"""Formulas: with numbers in the place of the letters, line by line of a claim, and the paper that they stand in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpsyn.privacy.spec import Guarantee, rounded_up
from dpsyn.theory.logarithms import LN10

_PRINTED = re.compile(r"(Theorem|Algorithm|Section|Proposition|Table|Figure) \d")


@dataclass(frozen=True)
class Paper:
    """A published paper.

    Attributes:
        name: authors and year, as the project cites it.
        title: as printed.
        address: of its page on arXiv, where every version can be read, or by its DOI.
    """

    name: str
    title: str
    address: str

    def __str__(self) -> str:
        return self.name


CALIBRATED_NOISE = Paper(
    "Dwork, McSherry, Nissim, Smith 2006",
    "Calibrating noise to sensitivity in private data analysis",
    "https://doi.org/10.1007/11681878_14",
)


OTHERS = (
    Paper(
        "Pierquin, Zimmermann, Boussard 2023",
        "Practical considerations on using private sampling for synthetic data",
        "https://arxiv.org/abs/2312.07139",
    ),
    Paper(
        "Canonne, Kamath, Steinke 2020",
        "The Discrete Gaussian for Differential Privacy",
        "https://arxiv.org/abs/2004.00010",
    ),
)
"""That claims on several mechanisms rest on; each mechanism's own is its configuration's."""


def paper_of(source: str, paper: Paper | None) -> Paper | None:
    """The paper that a source such as ``"Theorem 4.2"`` or ``"Section 3 (corrected)"`` is part of.

    Args:
        source: of a condition or a claim.
        paper: of the mechanism, which is meant where the source names a part and no authors.

    Returns:
        None where the source is a proof of ours.
    """
    named = next((other for other in OTHERS if other.name in source), None)
    if named is not None:
        return named
    return paper if paper is not None and (paper.name in source or _PRINTED.match(source)) else None


def is_corrected(source: str) -> bool:
    """Whether it differs from what is printed: docs/errata.md says how."""
    return "corrected" in source or "as published" in source


_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e6
_WHOLE = 1e-9


def latex_number(log_value: float, digits: int = 3) -> str:
    r"""exp(log_value) as LaTeX: 0.25, 20\,000, (1.2 \times 10^{-7}), 10^{-5}."""
    if log_value == math.inf:
        return r"\infty"
    if log_value == -math.inf:
        return "0"
    log10 = log_value / LN10
    if math.log10(_PLAIN_FROM) <= log10 < math.log10(_PLAIN_TO):
        value = math.exp(log_value)
        whole = round(value)
        if whole >= 1 and abs(value - whole) < _WHOLE * value:
            return f"{whole:,}".replace(",", r"\,")
        return f"{value:.{digits}g}" if value < 1000 else f"{round(value):,}".replace(",", r"\,")
    exponent = math.floor(log10)
    mantissa = 10 ** (log10 - exponent)
    if float(f"{mantissa:.{digits - 1}f}") >= 10:
        mantissa, exponent = mantissa / 10, exponent + 1
    if abs(mantissa - 1) < _WHOLE:
        return f"10^{{{exponent}}}"
    return rf"({mantissa:.{digits - 1}f} \times 10^{{{exponent}}})"


def fill(formula: str, symbols: Mapping[str, float | str]) -> str:
    r"""The formula with every symbol replaced by its number; a symbol with an index (k_1) is another symbol.

    Args:
        formula: LaTeX.
        symbols: LaTeX of a symbol, as the formulas write it, to the natural logarithm of its number, or to LaTeX. Longer
            ones come first.
    """
    if not symbols:
        return formula
    patterns = []
    for symbol in sorted(symbols, key=len, reverse=True):
        before = r"(?<![A-Za-z\\])" if symbol[0].isalpha() else ""
        after = r"(?![A-Za-z_])" if symbol[-1].isalpha() else ""
        patterns.append(before + re.escape(symbol) + after)
    found = re.compile("|".join(patterns))

    ends: list[int] = []

    def replaced(match: re.Match[str]) -> str:
        known = symbols[match[0]]
        number = known if isinstance(known, str) else latex_number(known)
        left = formula[: match.start()].rstrip()
        product = (bool(ends) and ends[-1] == match.start()) or bool(re.search(r"[0-9})|]$", left))
        ends.append(match.end())
        if re.search(r"(\\sqrt|[\^_])$", left):
            return f"{{{number}}}"
        # A power of a number with a sign or a fraction in it needs parentheses; a whole number does not.
        power = formula[match.end() : match.end() + 1] == "^" and not number.isdigit() and not number.startswith("(")
        return (r" \cdot " if product and not re.search(r"\\sqrt\d$", left) else " ") + (f"({number})" if power else number)

    filled = re.sub(r" +", " ", found.sub(replaced, formula)).strip()
    return re.sub(r"([{(/]|\\sqrt(?=\s*\{)) ", r"\1", filled)


OUR_PROOF = "Our proof"
"""The source of what is proven in docs/guarantees.md."""
TIMES = r"\cdot "
_EXACT = 1e-9
_MOST_DIGITS = 6


@dataclass(frozen=True)
class ClaimFormula:
    """One line of a claim's derivation.

    Attributes:
        label: what it computes, in words.
        formula: LaTeX, with letters.
        filled: LaTeX with the numbers of this release; empty where they are known only after a private count.
        source: theorem and paper, or that the proof is ours.
        note: what the letters stand for, and what else must be said.
    """

    label: str
    formula: str
    filled: str
    source: str
    note: str = ""


def whole(value: Any) -> int:
    """A count from a record's settings.

    Raises:
        TypeError, ValueError: it is none, or less than 1.
    """
    found = int(value)
    if found < 1:
        raise ValueError(f"{value!r} is no count")
    return found


def number(value: float, digits: int = 4) -> str:
    """LaTeX of a number >= 0, rounded to the nearest."""
    return latex_number(math.log(value) if value > 0 else -math.inf, digits)


def up(value: float, digits: int = 4) -> str:
    """LaTeX of an ε, δ or ρ that is claimed: never less than it is but by a relative 1e-12.

    All of it where six digits say it; else so many digits.
    """
    if value <= 0 or not math.isfinite(value):
        return number(value, digits)
    for many in range(1, _MOST_DIGITS + 1):
        shown = _ceiling(value, many)
        if shown <= value * (1 + _EXACT):
            return number(shown, many)
    return number(_ceiling(value, digits), digits)


def _ceiling(value: float, digits: int) -> float:
    if 1000 <= value < 1e6:
        digits = min(digits, len(str(int(value))))  # these are written as whole numbers
    return float(rounded_up(value, digits))


def power(base: str, exponent: str) -> str:
    """LaTeX of a number to a power; in parentheses where it has a space or a power in it."""
    plain = base.startswith("(") or base.replace(".", "", 1).isdigit()
    return f"{base if plain else f'({base})'}^{exponent if len(exponent) == 1 else f'{{{exponent}}}'}"


def by_ledger(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The claim of a mechanism whose record has a ledger of tables and choices, less what a stage before it costs."""
    ledger = list(settings["ledger"])
    spent, (source, *_) = float(settings.get("epsilon_for_histograms", 0.0)), guarantee.source.split(", after ")
    own = replace(guarantee, epsilon=guarantee.epsilon - spent, source=source)
    if settings["accounting"] == "pure":
        moved = "by how much a neighbour moves the counts of part j together, and for each choice twice as much as a score;"
        return (added_up(own, ledger, moved),)
    moved = (
        "how far a neighbour moves the counts of part j together, and the scores of as many choices: the root of the sum of "
        "the squares."
    )
    return concentrated(own, ledger, moved, exact=settings["accounting"] == "exact")


def one_gaussian(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The claim of Gaussian noise of the scale ``"noise_scale"``, once, on what moves by ``"sensitivity"``."""
    moved, scale = float(settings["sensitivity"]), float(settings["noise_scale"])
    shift = number(moved / scale)
    epsilon = up(guarantee.epsilon)
    filled = (
        rf"\Phi\left(\frac{{{shift}}}{{2}} - \frac{{{epsilon}}}{{{shift}}}\right) - e^{{{epsilon}}}\,"
        rf"\Phi\left(-\frac{{{shift}}}{{2}} - \frac{{{epsilon}}}{{{shift}}}\right) \le {up(guarantee.delta, 3)}"
    )
    return (
        ClaimFormula(
            "The claim",
            r"\Phi\left(\frac{\mu}{2} - \frac{\varepsilon}{\mu}\right) - e^\varepsilon\,"
            r"\Phi\left(-\frac{\mu}{2} - \frac{\varepsilon}{\mu}\right) \le \delta,\quad \mu = \frac{\Delta}{\sigma}",
            filled,
            OUR_PROOF,
            f"A neighbour changes one row, by Δ = {moved:.4g} at most; σ = {scale:.4g} is the scale of its noise "
            "(Balle, Wang 2018).",
        ),
    )


def added_up(guarantee: Guarantee, ledger: Sequence[Mapping[str, Any]], moved: str) -> ClaimFormula:
    """The claim of parts whose ε add up.

    Args:
        guarantee: the claim.
        ledger: the parts with ``"epsilon"`` and ``"scale"``, as records keep them.
        moved: what Δ₁,ⱼ is, in words.
    """
    terms = [
        rf"\frac{{{number(_near(float(entry['epsilon']) * float(entry['scale'])))}}}{{{number(float(entry['scale']))}}}"
        for entry in ledger
    ]
    return ClaimFormula(
        "The claim",
        r"\varepsilon = \sum_j \frac{\Delta_{1,j}}{b_j}",
        rf"\varepsilon = {' + '.join(terms)} = {up(guarantee.epsilon)}",
        guarantee.source,
        f"Δ₁,ⱼ is {moved} bⱼ is the scale of its noise.",
    )


def concentrated(
    guarantee: Guarantee, ledger: Sequence[Mapping[str, Any]], moved: str, *, exact: bool
) -> tuple[ClaimFormula, ClaimFormula]:
    """The claim of parts whose ρ add up: what they add up to, and the δ of the ε that this makes.

    Args:
        guarantee: the claim; its source is that of the second line.
        ledger: the parts with ``"rho"`` and ``"scale"``, as records keep them.
        moved: what Δ₂,ⱼ is, in words.
        exact: the second line is by the law of the privacy loss, and not by zCDP.
    """
    rho = sum(float(entry["rho"]) for entry in ledger)
    # The zCDP bound is steep in ρ: six digits keep δ to about as many.
    total = up(rho, 4 if exact else 6)
    squares = [(_near(2 * float(entry["rho"]) * float(entry["scale"]) ** 2), float(entry["scale"])) for entry in ledger]
    terms = [rf"\frac{{{number(square)}}}{{2 {TIMES}{power(number(scale), '2')}}}" for square, scale in squares]
    shift = ClaimFormula(
        "How far a neighbour moves the noisy sums",
        r"\rho = \sum_j \frac{\Delta_{2,j}^2}{2\sigma_j^2}",
        rf"\rho = {' + '.join(terms)} \le {total}",
        "",
        f"Δ₂,ⱼ is {moved} σⱼ is the scale of its noise.",
    )
    return shift, (loss_law if exact else zcdp_law)(guarantee, total)


def loss_law(guarantee: Guarantee, rho: str) -> ClaimFormula:
    """The δ of an ε by the exact law of the privacy loss, whose mean is ρ."""
    return ClaimFormula(
        "The claim",
        r"\delta(\varepsilon) = \mathbb{E}\left[\left(1 - e^{\varepsilon - L}\right)_+\right] \le \delta",
        rf"\mathbb{{E}}\left[\left(1 - e^{{{up(guarantee.epsilon)} - L}}\right)_+\right] "
        rf"\le {up(guarantee.delta, 3)},\qquad "
        rf"\mathbb{{E}}\,L = \rho \le {rho}",
        guarantee.source,
        "L is the privacy loss, a sum of discrete Gaussian variables; its law is computed exactly.",
    )


def zcdp_law(guarantee: Guarantee, rho: str) -> ClaimFormula:
    """The δ of an ε by ρ-zCDP."""
    letter, epsilon = r"\varepsilon", up(guarantee.epsilon)
    return ClaimFormula(
        "The claim",
        rf"\delta({letter}) \le {_smallest(letter)} \le \delta",
        rf"\delta({epsilon}) \le {_smallest(epsilon)} \le {up(guarantee.delta, 3)},\qquad \rho \le {rho}",
        guarantee.source,
        "α runs over the Rényi orders.",
    )


def _smallest(epsilon: str) -> str:
    """The infimum that turns ρ into δ (:func:`dpsyn.privacy.zcdp.zcdp_delta`)."""
    return (
        rf"\inf_{{\alpha > 1}} \frac{{e^{{(\alpha - 1)(\alpha\rho - {epsilon})}}}}{{\alpha - 1}}"
        r"\left(1 - \frac1\alpha\right)^{\alpha}"
    )


def _near(value: float) -> float:
    """A sensitivity or its square, a whole number but for rounding where the functions are whole."""
    return float(round(value)) if abs(value - round(value)) < 1e-6 * max(value, 1.0) else value
