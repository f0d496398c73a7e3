"""The formulas behind the ε of MWEM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.privacy.spec import Guarantee
from dpsyn.theory.formulas import TIMES, ClaimFormula, Paper, number, up, whole

PAPER = Paper(
    "Hardt, Ligett, McSherry 2012",
    "A simple and practical algorithm for differentially private data release",
    "https://arxiv.org/abs/1012.4763",
)
"""Where its theorems stand."""


def claim(guarantee: Guarantee, settings: Mapping[str, Any]) -> tuple[ClaimFormula, ...]:
    """The lines of a record's settings."""
    rounds, choice, noise = whole(settings["rounds"]), float(settings["choice_scale"]), float(settings["noise_scale"])
    spent = float(settings.get("epsilon_for_histograms", 0.0))
    once = up(2 / choice + 1 / noise)
    return (
        ClaimFormula(
            "What one round costs",
            r"\varepsilon_t = \frac{2\Delta}{s} + \frac{\Delta}{b}",
            rf"\varepsilon_t = \frac{{2 {TIMES}1}}{{{number(choice)}}} + \frac{{1}}{{{number(noise)}}} = {once}",
            "Theorem 2.1",
            "Δ = 1 is by how much a neighbour moves a count, s the scale of the exponential mechanism that chooses a cell, "
            "b that of the Laplace noise on its count.",
        ),
        ClaimFormula(
            "The claim",
            r"\varepsilon = T\,\varepsilon_t",
            rf"\varepsilon = {rounds} {TIMES}{once} = {up(guarantee.epsilon - spent)}",
            "Theorem 2.1",
            "T is the number of rounds.",
        ),
    )
