"""The formulas behind the claim of DP-GAN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import OUR_PROOF, ClaimFormula, number, power, up, whole


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    square, rate = power(number(float(settings["noise_scale"])), "2"), number(float(settings["sampling_rate"]))
    norm, steps = number(float(settings["clip_norm"])), whole(settings["steps"])
    counted = power(number(float(settings["count_noise_scale"])), "2")
    (last,) = (part for part in settings["ledger"] if part["name"] == "steps of the critic")
    epsilon, delta = float(last["epsilon"]), float(last["delta"])
    replaced = guarantee.neighbouring == "replace_one"
    other, against = r"Q' = (1 - q)\,\mathcal{N}(0, \sigma^2) + q\,\mathcal{N}(-C, \sigma^2)", f"-{norm}"
    if not replaced:
        other, against = r"Q' = \mathcal{N}(0, \sigma^2)", ""
    first = r"Q = (1 - q)\,\mathcal{N}(0, \sigma^2) + q\,\mathcal{N}(C, \sigma^2)"
    stays = rf"(1 - {rate})\,\mathcal{{N}}(0,\ {square}) + {rate}\,\mathcal{{N}}"
    filled = rf"\mathcal{{N}}(0,\ {square})" if not replaced else rf"{stays}({against},\ {square})"
    moved, cells = (r"\sqrt{2m}", 2) if replaced else (r"\sqrt{m}", 1)
    moved_by = rf"\sqrt{{{cells * settings['columns']}}}"
    return (
        ClaimFormula(
            "One step, for whoever holds all rows but one",
            rf"{first},\quad {other}",
            rf"Q = {stays}({norm},\ {square}),\quad Q' = {filled}",
            OUR_PROOF,
            "A coin of probability q says whether the row is in the sum, which its gradient moves by C at most.",
        ),
        ClaimFormula(
            "The noisy counts",
            rf"R = \mathcal{{N}}({moved}, s^2),\quad R' = \mathcal{{N}}(0, s^2)",
            rf"R = \mathcal{{N}}({moved_by},\ {counted}),\quad R' = \mathcal{{N}}(0,\ {counted})",
            OUR_PROOF,
            "A row is in one cell of each of the m columns" + (", and a replaced one moves two." if replaced else "."),
        ),
        ClaimFormula(
            "The claim, by privacy-loss distributions",
            r"\delta\left(\varepsilon;\ R \otimes Q^{\otimes T}\right) \le \delta",
            rf"\delta\left({up(epsilon)};\ R \otimes Q^{{\otimes {steps}}}\right) \le {up(delta, 3)}",
            OUR_PROOF,
            "T is the number of steps; each may follow from what came out before.",
        ),
    )
