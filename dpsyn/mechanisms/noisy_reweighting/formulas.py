"""The formulas behind the ε and δ of noisy reweighting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting._ledger import MARGINALS
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, TIMES, ClaimFormula, added_up, concentrated, number, up, whole

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
        moved = f"by how much{most} the worst neighbour moves the sums of part j together;"
        return (added_up(replace(guarantee, source=_laplace_source(guarantee)), ledger, moved),)
    moved = f"how far{most} the worst neighbour moves the sums of part j together: the root of the sum of the squares."
    return concentrated(guarantee, ledger, moved, exact=settings["accounting"] == "exact")


def _laplace_source(guarantee: Guarantee) -> str:
    if guarantee.neighbouring == "add_remove":
        return _ADD_REMOVE
    return f"Theorem 2.2 of {NoisyReweighting.paper} (corrected: exact sensitivities)"


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
