r"""The formulas behind the ε of a release, with its own numbers in the place of the letters.

Letters are the papers': Δ and δ of private sampling are ``ceiling`` and ``floor``; elsewhere δ is privacy's. Everything is
computed from the claim and from what calibration made of the settings, as a release's record keeps them, hence from public
facts only. An ε, δ or ρ that is claimed is never rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpsyn.errors import InputError
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS
from dpsyn.privacy.spec import Guarantee
from dpsyn.theory._claim_lines import ClaimFormula
from dpsyn.theory._claims_of_mixing import dp_cda, dp_cda_as_published
from dpsyn.theory._claims_of_reweighting import noisy_reweighting
from dpsyn.theory._claims_of_sampling import certificate_formulas, private_sampling, threshold_formula

__all__ = ["ClaimFormula", "certificate_formulas", "claim_formulas", "threshold_formula"]

_MAKERS: dict[str, Callable[[Guarantee, Mapping[str, Any]], tuple[ClaimFormula, ...]]] = {
    "private_sampling": private_sampling,
    "noisy_reweighting": noisy_reweighting,
    "dp_cda": dp_cda,
    "dp_cda_as_published": dp_cda_as_published,
}
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
    try:
        return _MAKERS[mechanism](guarantee, settings) if mechanism in MECHANISMS | DEMONSTRATIONS else ()
    except _ANOTHER_FORM:
        return ()
