"""The formulas behind the claim of AIM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, ClaimFormula, up, zcdp_law


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    *before, rounds = settings["ledger"]
    own = replace(guarantee, source=guarantee.source.split(", after ")[0])
    pure = settings["accounting"] == "pure"
    unit, letter = ("epsilon", r"\varepsilon") if pure else ("rho", r"\rho")
    first, rest = sum(float(part[unit]) for part in before), float(rounds[unit])
    total = up(own.epsilon) if pure else up(first + rest, 6)
    cost = r"\frac{M}{b_t} + \frac{2 \Delta}{s_t}" if pure else r"\frac{M}{2 b_t^2} + \frac{\Delta^2}{2 s_t^2}"
    added = ClaimFormula(
        "The claim" if pure else "What all rounds cost together",
        rf"{letter} = {letter}_0 + \sum_t \left({cost}\right)",
        rf"{up(first)} + \sum_t \left({cost}\right) \le {total}",
        OUR_PROOF,
        "M cells of the table that round t measures are moved by 1, a score by Δ; b is the scale of the noise on the "
        "cells, s that of the choice. A round begins only while there is enough left.",
    )
    return (added,) if pure else (added, zcdp_law(own, total))
