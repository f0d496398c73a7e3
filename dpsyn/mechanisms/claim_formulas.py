r"""The formulas behind the ε of a release, with its own numbers in the place of the letters.

Letters are the papers': Δ and δ of private sampling are ``ceiling`` and ``floor``; elsewhere δ is privacy's. Everything is
computed from the claim and from what calibration made of the settings, as a release's record keeps them, hence from public
facts only. An ε, δ or ρ that is claimed is never rounded down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.errors import InputError
from dpsyn.mechanisms.registry import offered
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, ClaimFormula, by_ledger, one_gaussian, up

_ANOTHER_FORM = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, InputError)


def claim_formulas(mechanism: str, guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """How the ε (and δ) of a guarantee comes about.

    Args:
        mechanism: registered name, or that of a demonstration.
        guarantee: the claim.
        settings: the configuration and what calibration made of it, as in ``Release.settings``: ``config.settings()``
            updated by ``mechanism.calibrated()``, with ``n`` where it is public.

    Returns:
        The lines in the order in which they are read; the last one is the claim. Empty for a mechanism without formulas, or
        where the settings are of another form (a record of an older version, or one that somebody edited).
    """
    claim = offered(mechanism, "formulas:claim") or (by_ledger if "accounting" in settings else one_gaussian)
    try:
        found = tuple(claim(guarantee, settings))
        spent = float(settings.get("epsilon_for_histograms", 0.0))
        return (*found, _with_histograms(guarantee.epsilon, spent)) if found and spent else found
    except _ANOTHER_FORM:
        return ()


def _with_histograms(epsilon: float, spent: float) -> ClaimFormula:
    """What a stage before a mechanism costs (:mod:`dpsyn.mechanisms.encoding`), added to what the mechanism costs."""
    return ClaimFormula(
        "Together with the histograms",
        r"\varepsilon = \varepsilon_{\text{above}} + \varepsilon_{\text{histograms}}",
        rf"\varepsilon = {up(epsilon - spent)} + {up(spent)} = {up(epsilon)}",
        OUR_PROOF,
        "Fine histograms of numbers and dates come first; what they cost adds up with the rest.",
    )
