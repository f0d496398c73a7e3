"""The formulas behind the claim of DP-Mix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, ClaimFormula, number, power, up, whole


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    square, rate = power(number(float(settings["noise_scale"])), "2"), number(float(settings["sampling_rate"]))
    moved, rows = number(float(settings["sensitivity"])), whole(settings["rows"])
    return (
        ClaimFormula(
            "One row, for whoever holds all records but one",
            r"A = (1 - p)\,Q + p\,\mathcal{N}(\Delta, \sigma^2),\quad Q = \mathcal{N}(0, \sigma^2),\quad p = \frac{l}{N}",
            rf"A = (1 - {rate})\,Q + {rate}\,\mathcal{{N}}({moved},\ {square}),\quad Q = \mathcal{{N}}(0,\ {square})",
            OUR_PROOF,
            "With the probability p the record is one of the l; Δ is how far it moves their average at most.",
        ),
        ClaimFormula(
            "The claim, by privacy-loss distributions",
            r"\delta\left(\varepsilon;\ P^{\otimes T}\right) \le \delta",
            rf"\delta\left({up(guarantee.epsilon)};\ P^{{\otimes {rows}}}\right) \le {up(guarantee.delta, 3)}",
            OUR_PROOF,
            "P is the pair of (A, Q) that dominates, T the number of rows.",
        ),
    )
