"""The formulas behind the ε and δ of noisy reweighting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting._ledger import MARGINALS
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, TIMES, ClaimFormula, Paper, number, power, up, whole

PAPER = Paper(
    "Boedihardjo, Strohmer, Vershynin 2021b",
    "Privacy of synthetic data: a statistical framework",
    "https://arxiv.org/abs/2109.01748",
)
"""Where its theorems stand."""
_ADD_REMOVE = "Laplace mechanism with exact sensitivities (our proof)"
_PUBLISHED = ("as_published", "continuous_laplace")


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    ledger = list(settings["ledger"])
    if settings.get("nothing_moves"):
        return (_nothing_moves(guarantee),)
    if settings["noise"] in _PUBLISHED:
        return (_published(guarantee, settings),)
    # Where no neighbour need be the worst one in every part, the parts' own bounds add up to more than any moves.
    most = " at most" if settings["statistics"] == "functions" or any(e["name"] == MARGINALS for e in ledger) else ""
    if settings["accounting"] == "pure":
        return (_laplace(guarantee, ledger, most),)
    return _gaussian(guarantee, ledger, most, exact=settings["accounting"] == "exact")


def _nothing_moves(guarantee: Guarantee) -> ClaimFormula:
    return ClaimFormula(
        "The claim",
        r"\Delta = 0 \;\Rightarrow\; \varepsilon = 0",
        rf"\varepsilon = 0 \le {up(guarantee.epsilon)}",
        OUR_PROOF,
        "Δ is by how much a neighbour moves the sums: no neighbour moves any statistic. The noise is that for one number "
        "that moves by 1.",
    )


def _published(guarantee: Guarantee, settings: Mapping[str, Any]) -> ClaimFormula:
    count, n, sigma = whole(settings["statistic_count"]), whole(settings["n"]), float(settings["noise_scale_on_averages"])
    return ClaimFormula(
        "The claim, for noise in real numbers",
        r"\varepsilon = \frac{2|F|}{n\,\sigma}",
        rf"\varepsilon = \frac{{2 {TIMES}{number(count)}}}{{{number(n)} {TIMES}{number(sigma)}}} = {up(guarantee.epsilon)}",
        f"Theorem 2.2 of {NoisyReweighting.paper}",
        "σ is the scale of the Laplace noise on every average, |F| the number of statistics, n the number of records.",
    )


def _laplace(guarantee: Guarantee, ledger: Sequence[Mapping[str, Any]], most: str) -> ClaimFormula:
    terms = [
        rf"\frac{{{number(_near(float(entry['epsilon']) * float(entry['scale'])))}}}{{{number(float(entry['scale']))}}}"
        for entry in ledger
    ]
    return ClaimFormula(
        "The claim",
        r"\varepsilon = \sum_j \frac{\Delta_{1,j}}{b_j}",
        rf"\varepsilon = {' + '.join(terms)} = {up(guarantee.epsilon)}",
        _ADD_REMOVE
        if guarantee.neighbouring == "add_remove"
        else f"Theorem 2.2 of {NoisyReweighting.paper} (corrected: exact sensitivities)",
        f"Δ₁,ⱼ is by how much{most} the worst neighbour moves the sums of part j together, bⱼ the scale of their noise.",
    )


def _gaussian(
    guarantee: Guarantee, ledger: Sequence[Mapping[str, Any]], most: str, *, exact: bool
) -> tuple[ClaimFormula, ...]:
    delta, epsilon = up(guarantee.delta, 3), up(guarantee.epsilon)
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
        f"Δ₂,ⱼ is how far{most} the worst neighbour moves the sums of part j together: the root of the sum of the squares. "
        "σⱼ is the scale of their noise.",
    )
    if exact:
        law = ClaimFormula(
            "The claim",
            r"\delta(\varepsilon) = \mathbb{E}\left[\left(1 - e^{\varepsilon - L}\right)_+\right] \le \delta",
            rf"\mathbb{{E}}\left[\left(1 - e^{{{epsilon} - L}}\right)_+\right] \le {delta},\qquad "
            rf"\mathbb{{E}}\,L = \rho \le {total}",
            guarantee.source,
            "L is the privacy loss, a sum of discrete Gaussian variables; its law is computed exactly.",
        )
        return shift, law
    letter = r"\varepsilon"
    law = ClaimFormula(
        "The claim",
        rf"\delta({letter}) \le {_smallest(letter)} \le \delta",
        rf"\delta({epsilon}) \le {_smallest(epsilon)} \le {delta},\qquad \rho \le {total}",
        guarantee.source,
        "α runs over the Rényi orders.",
    )
    return shift, law


def _smallest(epsilon: str) -> str:
    """The infimum that turns ρ into δ (:func:`dpsyn.privacy.zcdp.zcdp_delta`)."""
    return (
        rf"\inf_{{\alpha > 1}} \frac{{e^{{(\alpha - 1)(\alpha\rho - {epsilon})}}}}{{\alpha - 1}}"
        r"\left(1 - \frac1\alpha\right)^{\alpha}"
    )


def _near(value: float) -> float:
    """A sensitivity or its square, a whole number but for rounding where the functions are whole."""
    return float(round(value)) if abs(value - round(value)) < 1e-6 * max(value, 1.0) else value
