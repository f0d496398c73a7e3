"""Who gets how much of the budget, and the noise scales that follow: exact composition of everything that is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.errors import CalibrationError
from dpsyn.privacy.discrete_gaussian import Moved, gaussian_scale
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho

Floats = npt.NDArray[np.float64]
NoiseKind = Literal["laplace", "gaussian", "continuous_laplace"]
Argument = Literal["pure", "exact", "zcdp"]

LEVELS = 8
"""Weights of tables are whole numbers from 1 to this: few distinct scales, all on one lattice of losses."""


@dataclass(frozen=True)
class Part:
    """Statistics that get noise of the same scale.

    Attributes:
        name: what they are.
        count: how many numbers.
        moved: how many of them a neighbour moves at most; where the step is not 1 in units of the step.
        step: by how much each moves at most.
        weight: the scale is ``base / weight`` for Laplace noise and ``base / √weight`` for Gaussian noise.
        l1, l2: sensitivities, for families whose steps differ; count·step and √count·step elsewhere.
    """

    name: str
    count: int
    moved: int
    step: int = 1
    weight: float = 1
    l1: float = 0.0
    l2: float = 0.0

    @property
    def size(self) -> tuple[float, float]:
        """L1 and L2 sensitivity."""
        return (self.l1 or self.moved * self.step), (self.l2 or math.sqrt(self.moved) * self.step)


@dataclass(frozen=True)
class Entry:
    """A part after calibration.

    Attributes:
        name, count: as in :class:`Part`.
        share: of the budget: of ε for Laplace noise, of ‖shift‖²/σ² (which adds up under composition) for Gaussian noise.
        spent: ε of the part for Laplace noise; its ρ (zCDP) for Gaussian noise.
        unit: ``"epsilon"`` or ``"rho"``.
        scale: of the noise on the whole-number sums.
    """

    name: str
    count: int
    share: float
    spent: float
    unit: Literal["epsilon", "rho"]
    scale: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "count": self.count,
            "share": self.share,
            self.unit: self.spent,
            "scale": self.scale,
        }


@dataclass(frozen=True)
class Ledger:
    """The whole budget.

    Attributes:
        base: the scale at weight 1.
        parts: what was released, in order.
        kind: of the noise.
        argument: ``"pure"`` (ε adds up), ``"exact"`` (the law of the privacy loss) or ``"zcdp"``.
    """

    base: float
    parts: tuple[Part, ...]
    kind: NoiseKind
    argument: Argument

    def scale(self, part: Part) -> float:
        """Noise scale of a part."""
        return self.base / (math.sqrt(part.weight) if self.kind == "gaussian" else part.weight)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The parts with what each costs; shares add up to 1."""
        found = []
        for part in self.parts:
            l1, l2 = part.size
            scale = self.scale(part)
            spent = l2**2 / (2 * scale**2) if self.kind == "gaussian" else l1 / scale
            found.append((part, spent, scale))
        total = sum(spent for _, spent, _ in found)
        unit: Literal["epsilon", "rho"] = "rho" if self.kind == "gaussian" else "epsilon"
        return tuple(Entry(part.name, part.count, spent / total, spent, unit, scale) for part, spent, scale in found)


def calibrated_ledger(parts: Sequence[Part], kind: NoiseKind, spec: PrivacySpec) -> Ledger:
    """The smallest noise, with these weights, that is (ε, δ)-DP.

    Laplace: Σ L1/scale = ε. Gaussian: exact law of the loss where every moved coordinate moves by a known step and weights
    are whole numbers, zCDP with Σ L2²/(2·scale²) = ρ otherwise.

    Raises:
        CalibrationError: Gaussian noise with δ = 0.
    """
    parts = tuple(parts)
    if kind != "gaussian":
        return Ledger(sum(part.weight * part.size[0] for part in parts) / spec.epsilon, parts, kind, "pure")
    if spec.delta == 0:
        raise CalibrationError("Gaussian noise gives no pure differential privacy: set delta > 0 or noise='laplace'")
    if all(part.l2 == 0 and part.weight == round(part.weight) for part in parts):
        moved = [Moved(part.moved, part.step, round(part.weight)) for part in parts]
        base, how = gaussian_scale(moved, spec.epsilon, spec.delta)
        return Ledger(base, parts, kind, "exact" if how == "exact" else "zcdp")
    squares = sum(part.weight * part.size[1] ** 2 for part in parts)
    return Ledger(math.sqrt(squares / (2 * zcdp_rho(spec.epsilon, spec.delta))), parts, kind, "zcdp")
