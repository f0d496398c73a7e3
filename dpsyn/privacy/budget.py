"""A budget that adds up: ρ of zero-concentrated DP with Gaussian noise where δ > 0, ε with Laplace noise where δ = 0.

What a part costs follows from its scale s and from how far a neighbour moves what it hides. Counts of which a neighbour
moves M by 1 cost M/(2s²) or M/s; a choice by scores that move by Δ costs Δ²/(2s²) or 2Δ/s. Parts may follow from what
earlier ones released, also in their scales and in their number, as long as all together cost no more than the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.privacy.discrete_gaussian import Moved, gaussian_scale
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho

Integers = npt.NDArray[np.int64]
NoiseKind = Literal["gaussian", "laplace"]

_ROUNDING = 1e-12
"""By how much noise is larger, and the budget smaller, than it has to be: rounding cannot cost more than was asked for."""


def mean_error(scale: float, terms: int = 1, *, gaussian: bool) -> float:
    """E|noise| of this scale, or of the sum of so many, up to what makes it discrete.

    The sum of k Laplace numbers is the difference of two Gamma(k): E|sum| = 2Γ(k + 1/2)/(√π·Γ(k)), 1 for k = 1.
    """
    if gaussian:
        return math.sqrt(2 * terms / math.pi) * scale
    of_one = 1.0 if terms == 1 else 2 / math.sqrt(math.pi) * math.exp(math.lgamma(terms + 0.5) - math.lgamma(terms))
    return of_one * scale


@dataclass(frozen=True)
class Budget:
    """What all parts may cost together.

    Attributes:
        total: ρ, or ε.
        noise: Gaussian for ρ, Laplace for ε.
        moved: cells of one table that a neighbour moves by 1: a replaced row two, a row that is added one.
    """

    total: float
    noise: NoiseKind
    moved: int

    @classmethod
    def of(cls, spec: PrivacySpec) -> Budget:
        """All that a specification allows; raises ParameterError where it is none."""
        checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
        moved = 2 if spec.neighbouring == "replace_one" else 1
        if spec.delta == 0:
            return cls(spec.epsilon * (1 - _ROUNDING), "laplace", moved)
        return cls(zcdp_rho(spec.epsilon, spec.delta) * (1 - _ROUNDING), "gaussian", moved)

    @property
    def source(self) -> str:
        """The argument by which the parts make an (ε, δ)."""
        if self.noise == "gaussian":
            return "zCDP, composed and converted as in Canonne, Kamath, Steinke 2020 (Proposition 12)"
        return "Laplace noise and exponential mechanism, whose ε are added (our proof)"

    def noise_scale(self, spent: float, tables: int = 1) -> float:
        """Of the noise on the cells of so many tables that cost ``spent`` together."""
        return self.noise_scale_for(spent, self.moved * tables)

    def noise_scale_for(self, spent: float, count: float, step: int = 1) -> float:
        """Of the noise on whole numbers that cost ``spent``, so many of which a neighbour moves by ``step`` at most.

        Of Gaussian noise the sum of the squares of all moves may stand for ``count``.
        """
        unit = math.sqrt(count / (2 * spent)) if self.noise == "gaussian" else count / spent
        return step * unit * (1 + _ROUNDING)

    def noise_cost(self, scale: float, tables: int = 1) -> float:
        """What noise of this scale on the cells of so many tables costs."""
        moved = self.moved * tables
        return moved / (2 * scale**2) if self.noise == "gaussian" else moved / scale

    def choice_scale(self, spent: float, moved: float) -> float:
        """Of a choice that costs ``spent``, where a neighbour moves a score by ``moved`` at most."""
        return (moved / math.sqrt(2 * spent) if self.noise == "gaussian" else 2 * moved / spent) * (1 + _ROUNDING)

    def choice_cost(self, scale: float, moved: int) -> float:
        """What a choice of this scale costs."""
        return moved**2 / (2 * scale**2) if self.noise == "gaussian" else 2 * moved / scale

    def released(self, noise: NoiseSource, counts: Integers, scale: float) -> Integers:
        """Counts with noise, of the same shape."""
        return (noise.discrete_gaussian if self.noise == "gaussian" else noise.discrete_laplace)(counts, scale)

    def deviation(self, scale: float) -> float:
        """Standard deviation of the noise."""
        return scale if self.noise == "gaussian" else math.sqrt(2) * scale

    def mean_error(self, scale: float) -> float:
        """E|noise|, up to what makes it discrete."""
        return mean_error(scale, gaussian=self.noise == "gaussian")

    def ledger(self, *parts: tuple[str, float, float]) -> dict[str, Any]:
        """What a record says of it: each part with its name, what it costs (which is given), and the scale of its noise."""
        unit = "rho" if self.noise == "gaussian" else "epsilon"
        entries = [{"name": name, "share": spent / self.total, unit: spent, "scale": scale} for name, spent, scale in parts]
        return {"noise": self.noise, "accounting": "zcdp" if self.noise == "gaussian" else "pure", "ledger": entries}


@dataclass(frozen=True)
class SingleRelease:
    """Noise on counts that are all released at once, and the argument for it: see :func:`single_release`."""

    noise: NoiseKind
    scale: float
    argument: Literal["pure", "exact", "zcdp"]
    moved: int

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        return self.scale if self.noise == "gaussian" else math.sqrt(2) * self.scale

    @property
    def cost(self) -> float:
        """In ρ where the noise is Gaussian, in ε where it is Laplace."""
        return self.moved / (2 * self.scale**2) if self.noise == "gaussian" else self.moved / self.scale

    @property
    def source(self) -> str:
        """The argument in words."""
        if self.argument == "pure":
            return "Laplace mechanism (our proof)"
        by = "the exact law of its privacy loss" if self.argument == "exact" else "zCDP"
        return f"Discrete Gaussian noise, by {by} (Canonne, Kamath, Steinke 2020)"

    def released(self, noise: NoiseSource, counts: Integers) -> Integers:
        """Counts with noise, of the same shape."""
        return (noise.discrete_gaussian if self.noise == "gaussian" else noise.discrete_laplace)(counts, self.scale)

    def ledger(self, name: str) -> dict[str, Any]:
        """What a record says of it."""
        unit = "rho" if self.noise == "gaussian" else "epsilon"
        entry = {"name": name, "share": 1.0, unit: self.cost, "scale": self.scale}
        return {"noise": self.noise, "accounting": self.argument, "ledger": [entry]}


def last_release(budget: Budget, moved: int) -> SingleRelease:
    """All that is left of a budget for counts of which a neighbour moves so many by 1 at most."""
    argument: Literal["pure", "zcdp"] = "zcdp" if budget.noise == "gaussian" else "pure"
    return SingleRelease(budget.noise, budget.noise_scale_for(budget.total, moved), argument, moved)


def single_release(spec: PrivacySpec, moved: int) -> SingleRelease:
    """The noise of least deviation on counts of which a neighbour moves so many by 1 at most: Laplace, or Gaussian.

    Raises:
        ParameterError: they are no specification and no number of counts.
    """
    checks.instance("spec", spec, PrivacySpec, "a dpsyn.PrivacySpec")
    moved = checks.whole("moved", moved)
    laplace = SingleRelease("laplace", moved / spec.epsilon * (1 + _ROUNDING), "pure", moved)
    if spec.delta == 0:
        return laplace
    scale, how = gaussian_scale((Moved(moved),), spec.epsilon, spec.delta)
    gaussian = SingleRelease("gaussian", scale, "exact" if how == "exact" else "zcdp", moved)
    return gaussian if gaussian.deviation < laplace.deviation else laplace
