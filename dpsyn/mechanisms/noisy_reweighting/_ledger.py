"""Who gets how much of the budget, the noise scales that follow by exact composition, and what the guarantee says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import PUBLIC_DOMAIN_ASSUMPTION
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta, gaussian_scale
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho

Floats = npt.NDArray[np.float64]
NoiseKind = Literal["laplace", "gaussian", "continuous_laplace"]
Argument = Literal["pure", "exact", "zcdp"]

_N_IS_PUBLIC = "The number of rows n is public."
FLOATING_POINT = (
    "Real arithmetic: continuous Laplace noise in floating point is not safe (Mironov 2012), "
    "its low bits can give a value away."
)
_PUBLIC_ROWS = "The rows of the reduced space were public: nobody chose them, or made them, with the private rows."
_ROW_BY_ROW = "The functions look at one row at a time (tried on random rows, not proven)."
_ROUNDING = 1e-9
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

    @property
    def letter(self) -> str:
        """ε or ρ."""
        return "ρ" if self.unit == "rho" else "ε"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain = {"name": self.name, "count": self.count, "share": self.share}
        return {**plain, self.unit: self.spent, "scale": self.scale}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Entry:
        """The entry of a record's ledger."""
        unit: Literal["epsilon", "rho"] = "rho" if "rho" in plain else "epsilon"
        numbers = float(plain["share"]), float(plain[unit])
        return cls(str(plain["name"]), int(plain["count"]), *numbers, unit, float(plain["scale"]))


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


def scaled_up(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The same weights eight times as large, so that the marginals' weight can be a whole number too."""
    return tuple(replace(part, weight=part.weight * 8) for part in parts)


def marginal_part(parts: tuple[Part, ...], marginals: TableFamily, spec: PrivacySpec, kind: NoiseKind, share: float) -> Part:
    """One-way counts with a weight that gives them ``share`` of the budget, up to rounding to a whole number."""
    moved = marginals.l1(spec.neighbouring)
    power = 2 if kind == "gaussian" else 1
    spent = sum(p.weight * 8 * p.size[power - 1] ** power for p in parts)
    # Nothing moves where every column has one code: any weight will do.
    weight = max(1, round(share / (1 - share) * spent / moved)) if moved else 1
    return Part("one-way marginals", marginals.count, moved, 1, weight)


def count_part(parts: tuple[Part, ...], kind: NoiseKind, share: float) -> Part:
    """The number of rows, which moves by 1 when a row is added, with a weight that gives it ``share`` of the budget."""
    power = 2 if kind == "gaussian" else 1
    spent = sum(p.weight * p.size[power - 1] ** power for p in parts)
    return Part("number of rows", 1, 1, 1, share / (1 - share) * spent)


def published_l1(family: Family) -> float:
    """2|F|, in the unit of the sums: what the proof of Theorem 2.2 allows the sums to move together when a row is replaced.

    Raises:
        ParameterError: the functions can move further, as some value is not in [-1, 1].
    """
    step = 2 / family.unit
    nearest = round(step)
    length = family.count * (nearest if abs(step - nearest) < _ROUNDING * step else step)
    if family.l1("replace_one") > length:
        raise ParameterError(
            "family",
            f"functions of which some have values outside [-1, 1], in multiples of {family.unit:g}",
            "functions with values in [-1, 1], which is what Theorem 2.2 (noise='as_published') is about: declare a range "
            "inside it and a unit that divides 1, or take noise='laplace', which goes by the exact sensitivity",
        )
    return length


def source_of(ledger: Ledger, spec: PrivacySpec) -> str:
    """The theorem, or the proof, behind the claim."""
    if ledger.kind == "continuous_laplace":
        return "Theorem 2.2 of Boedihardjo, Strohmer, Vershynin 2021b"
    if ledger.kind == "laplace" and spec.neighbouring == "add_remove":
        return "Laplace mechanism with the exact L1 sensitivity of adding or removing one record, discrete Laplace noise"
    if ledger.kind == "laplace":
        return "Theorem 2.2 of Boedihardjo, Strohmer, Vershynin 2021b with the exact L1 sensitivity, discrete Laplace noise"
    if ledger.argument == "exact":
        return "Discrete Gaussian mechanism, exact law of the privacy loss (Canonne, Kamath, Steinke 2020)"
    return "Discrete Gaussian mechanism, zCDP (Canonne, Kamath, Steinke 2020), exact L2 sensitivity"


def assumptions_of(family: Family, kind: NoiseKind, spec: PrivacySpec, *, public_rows: bool) -> tuple[str, ...]:
    found = [PUBLIC_DOMAIN_ASSUMPTION]
    if spec.neighbouring == "replace_one":
        found.append(_N_IS_PUBLIC)
    if kind == "continuous_laplace":
        found.append(FLOATING_POINT)
    if public_rows:
        found.append(_PUBLIC_ROWS)
    if not getattr(family, "row_by_row", True):
        found.append(_ROW_BY_ROW)
    return tuple(found)
