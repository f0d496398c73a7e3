"""Who gets how much of the budget, and the noise scales that follow: exact composition of everything that is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.errors import CalibrationError
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta, gaussian_scale
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
        others: what else neighbours can do: for each how many numbers of every part they move. The parts themselves say what
            the worst one does.
    """

    base: float
    parts: tuple[Part, ...]
    kind: NoiseKind
    argument: Argument
    others: tuple[tuple[int, ...], ...] = ()
    nothing_moves: bool = False

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


def calibrated_ledger(
    parts: Sequence[Part], kind: NoiseKind, spec: PrivacySpec, others: tuple[tuple[int, ...], ...] = ()
) -> Ledger:
    """The smallest noise, with these weights, that is (ε, δ)-DP.

    Laplace: Σ L1/scale = ε. Gaussian: exact law of the loss where every moved coordinate moves by a known step and weights
    are whole numbers, zCDP with Σ L2²/(2·scale²) = ρ otherwise.

    Args:
        parts: with what the worst neighbour moves of each.
        kind: of the noise.
        spec: what is asked for.
        others: how many numbers of every part other neighbours move, where no neighbour is the worst in every part.

    Raises:
        CalibrationError: Gaussian noise with δ = 0.
    """
    parts = tuple(parts)
    still = not any(part.size[0] for part in parts)
    if still:
        # Nothing moves, whichever row is replaced: every column has one code. Noise for one count stands for none.
        parts = tuple(replace(part, moved=1) for part in parts)
    if kind != "gaussian":
        every_move = (parts, *_with(parts, others))
        lengths = [sum(part.weight * part.size[0] for part in moves) for moves in every_move]
        ledger = Ledger(max(lengths) / spec.epsilon, parts, kind, "pure", others, still)
        while any(_exact_epsilon(ledger, moves) > Fraction(spec.epsilon) for moves in every_move):
            ledger = replace(ledger, base=math.nextafter(ledger.base, math.inf))
        return ledger
    if spec.delta == 0:
        raise CalibrationError("Gaussian noise gives no pure differential privacy: set delta > 0 or noise='laplace'")
    if all(part.l2 == 0 and part.weight == round(part.weight) for part in parts):
        every = [_moved(moves) for moves in (parts, *_with(parts, others))]
        # Neighbours are compared by the length of the shift, which decides for continuous noise; each is then checked.
        every.sort(key=lambda moved: -sum(m.count * m.weight * m.step**2 for m in moved))
        base, how = gaussian_scale(every[0], spec.epsilon, spec.delta)
        if how == "exact" and all(discrete_delta(moved, base, spec.epsilon) <= spec.delta for moved in every[1:]):
            return Ledger(base, parts, kind, "exact", others, still)
    squares = max(sum(p.weight * p.size[1] ** 2 for p in moves) for moves in (parts, *_with(parts, others)))
    return Ledger(math.sqrt(squares / (2 * zcdp_rho(spec.epsilon, spec.delta))), parts, kind, "zcdp", others, still)


def _exact_epsilon(ledger: Ledger, moves: Sequence[Part]) -> Fraction:
    """Σ L1/scale with the scales as the sampler gets them: rounding them to doubles must not cost a last bit of ε."""
    return sum((Fraction(part.size[0]) / Fraction(ledger.scale(part)) for part in moves if part.size[0]), Fraction(0))


def _moved(parts: Sequence[Part]) -> list[Moved]:
    return [Moved(part.moved, part.step, round(part.weight)) for part in parts]


def _with(parts: tuple[Part, ...], others: tuple[tuple[int, ...], ...]) -> list[tuple[Part, ...]]:
    return [tuple(replace(part, moved=m) for part, m in zip(parts, moves, strict=True)) for moves in others]
