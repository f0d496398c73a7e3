"""The formulas behind the claim of the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, ClaimFormula, by_ledger, number, up, whole


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    found = by_ledger(guarantee, settings)
    if settings.get("threshold") is None:
        return found
    threshold, scale = whole(settings["threshold"]), float(settings["ledger"][0]["scale"])
    ratio = rf"e^{{-1/{number(scale)}}}"
    passed = ClaimFormula(
        "A row that is alone passes the threshold",
        r"\delta \ge \frac{q^{\tau - 1}}{1 + q},\quad q = e^{-1/b}",
        rf"\frac{{q^{{{threshold - 1}}}}}{{1 + q}} \le {up(guarantee.delta, 3)},\quad q = {ratio}",
        OUR_PROOF,
        "b is the scale of the noise, τ the threshold on noisy counts.",
    )
    return passed, *found
