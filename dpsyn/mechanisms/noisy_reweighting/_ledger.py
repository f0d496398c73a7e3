"""Who gets how much of the budget, the noise scales that follow by exact composition, and what the guarantee says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import N_IS_PUBLIC, TABLES_ARE_PUBLIC
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily, WalshFamily
from dpsyn.privacy.budget import Budget, mean_error
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta, gaussian_scale
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Neighbouring, PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho

Integers = npt.NDArray[np.int64]
NoiseKind = Literal["laplace", "gaussian", "continuous_laplace"]
Argument = Literal["pure", "exact", "zcdp"]

FLOATING_POINT = (
    "Real arithmetic: continuous Laplace noise in floating point is not safe (Mironov 2012), "
    "its low bits can give a value away."
)
_PUBLIC_ROWS = "The rows of the reduced space were public: nobody chose them, or made them, with the private rows."
_ROW_BY_ROW = "The functions look at one row at a time (tried on random rows, not proven)."
_OWN_CLASS = "The sensitivities of the statistics are what their class, which is no part of dpsyn, says."
_ROUNDING = 1e-9
MARGINALS = "one-way marginals"
_LEVELS = 8
"""Weights of tables are whole numbers from 1 to this: few distinct scales, all on one lattice of losses."""


_FINE = 4
"""From this weight on, rounding it to a whole number changes a share by an eighth at most."""
POWERS = {"gaussian": 1 / 3, "laplace": 1 / 4}
_POWERS_ON_A_WHOLE_DOMAIN = {"gaussian": 3 / 4, "laplace": 1 / 2}
"""Weights of tables grow with these powers of their number of cells; docs/measurements.md has what others gave."""
_ORDER__LEVELS = 4
_COLUMNS_BY_ORDER = 40
_ORDERS_WEIGHED = 5
"""Degrees up to which orders get weights of their own: all of them are tried, 4 for each order."""


@dataclass(frozen=True)
class Part:
    """Statistics that get noise of the same scale.

    Attributes:
        name: what they are.
        count: how many numbers; 0 where noise decides how many.
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


@dataclass(frozen=True, eq=False)
class Parts:
    """What gets noise, as parts of the budget.

    Attributes:
        parts: with what the worst neighbour moves of each.
        part_of: the part of each number.
        others: what else neighbours can do: for each how many numbers of every part they move.
    """

    parts: tuple[Part, ...]
    part_of: Integers
    others: tuple[tuple[int, ...], ...] = ()

    def whatever_the_codes(self) -> Parts:
        """Where what comes before decides how rows are coded: one neighbour who moves as much of every part as any can.

        Whatever the codes, no neighbour then moves more, which is what adaptive composition asks for.
        """
        most = [max(moves) for moves in zip(*([part.moved for part in self.parts], *self.others), strict=True)]
        parts = tuple(replace(part, moved=moved) for part, moved in zip(self.parts, most, strict=True))
        return replace(self, parts=parts, others=())

    def joined(self, part: Part) -> Parts:
        """One part more, of which no neighbour moves more than the worst one does."""
        part_of = np.concatenate([self.part_of, np.full(part.count, len(self.parts))])
        return Parts((*self.parts, part), part_of, tuple((*moves, part.moved) for moves in self.others))


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

    def released(self, noise: NoiseSource, values: Integers, scale: float) -> Integers:
        """Whole numbers with the discrete noise of this ledger."""
        return (noise.discrete_gaussian if self.kind == "gaussian" else noise.discrete_laplace)(values, scale)

    def mean_error(self, scale: float, terms: int = 1) -> float:
        """E|noise| of this scale, or of the sum of so many, up to what makes it discrete."""
        return mean_error(scale, terms, gaussian=self.kind == "gaussian")

    @property
    def neighbours(self) -> tuple[tuple[Part, ...], ...]:
        """The parts as each kind of neighbour moves them, the worst one first."""
        return _neighbours(self.parts, self.others)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What each part costs, as plain data.

        ``share`` is of ε for Laplace noise, of ‖shift‖²/σ² (which adds up under composition) for Gaussian noise; shares add
        up to 1. ``"epsilon"``, or ``"rho"`` (zCDP) for Gaussian noise, is what is spent, ``scale`` that of the noise on the
        whole-number sums.
        """
        found = []
        for part in self.parts:
            l1, l2 = part.size
            scale = self.scale(part)
            found.append((part, l2**2 / (2 * scale**2) if self.kind == "gaussian" else l1 / scale, scale))
        total = sum(spent for _, spent, _ in found)
        unit = "rho" if self.kind == "gaussian" else "epsilon"
        return [
            {"name": part.name, "count": part.count, "share": spent / total, unit: spent, "scale": scale}
            for part, spent, scale in found
        ]


def calibrated_ledger(found: Parts, kind: NoiseKind, spec: PrivacySpec) -> Ledger:
    """The smallest noise, with these weights, that is (ε, δ)-DP.

    Laplace: Σ L1/scale = ε. Gaussian: exact law of the loss where every moved coordinate moves by a known step and weights
    are whole numbers, zCDP with Σ L2²/(2·scale²) = ρ otherwise.
    """
    parts, others = found.parts, found.others
    still = not any(part.size[0] for part in parts)
    if still:
        # Nothing moves, whichever row is replaced: every column has one code. Noise for one count stands for none.
        parts = tuple(replace(part, moved=1) for part in parts)
    if kind != "gaussian":
        every_move = _neighbours(parts, others)
        lengths = [sum(part.weight * part.size[0] for part in moves) for moves in every_move]
        ledger = Ledger(max(lengths) / spec.epsilon, parts, kind, "pure", others, still)
        while any(_exact_epsilon(ledger, moves) > Fraction(spec.epsilon) for moves in every_move):
            ledger = replace(ledger, base=math.nextafter(ledger.base, math.inf))
        return ledger
    if all(part.l2 == 0 and part.weight == round(part.weight) for part in parts):
        every = [moved_of(moves) for moves in _neighbours(parts, others)]
        # Neighbours are compared by the length of the shift, which decides for continuous noise; each is then checked.
        every.sort(key=lambda moved: -sum(m.count * m.weight * m.step**2 for m in moved))
        base, how = gaussian_scale(every[0], spec.epsilon, spec.delta)
        if how == "exact" and all(discrete_delta(moved, base, spec.epsilon) <= spec.delta for moved in every[1:]):
            return Ledger(base, parts, kind, "exact", others, still)
    squares = max(sum(p.weight * p.size[1] ** 2 for p in moves) for moves in _neighbours(parts, others))
    base = Budget.of(spec).noise_scale_for(zcdp_rho(spec.epsilon, spec.delta), squares)
    return Ledger(base, parts, kind, "zcdp", others, still)


def _exact_epsilon(ledger: Ledger, moves: Sequence[Part]) -> Fraction:
    """Σ L1/scale with the scales as the sampler gets them: rounding them to doubles must not cost a last bit of ε."""
    return sum((Fraction(part.size[0]) / Fraction(ledger.scale(part)) for part in moves if part.size[0]), Fraction(0))


def moved_of(parts: Sequence[Part]) -> list[Moved]:
    """The parts as the exact law of the loss takes them."""
    return [Moved(part.moved, part.step, round(part.weight)) for part in parts]


def _neighbours(parts: tuple[Part, ...], others: tuple[tuple[int, ...], ...]) -> tuple[tuple[Part, ...], ...]:
    moved = (tuple(replace(part, moved=m) for part, m in zip(parts, moves, strict=True)) for moves in others)
    return parts, *moved


def parts_of(family: Family, neighbouring: Neighbouring, kind: NoiseKind, *, by_size: bool, whole: bool = False) -> Parts:
    """The statistics as parts of the budget.

    The total variation of a table of c cells is about c times the noise on a cell, so larger tables get more of the budget:
    a weight, in whole numbers, that grows with a power of c. The power is larger where the fit is on the ``whole``
    domain, which has few columns: with many, small tables are what can still be told from the noise. Walsh functions of
    lower order take part in more tables and get more, too, up to degree 5 and 40 columns. Other families are one part.
    """
    if by_size and isinstance(family, TableFamily):
        return _tables_by_size(family, neighbouring, kind, whole=whole)
    few = len(family.sizes) <= _COLUMNS_BY_ORDER
    if by_size and few and isinstance(family, WalshFamily) and 1 < family.degree <= _ORDERS_WEIGHED:
        return _walsh_by_order(family, neighbouring, kind)
    return Parts((_one_part(family, neighbouring),), np.zeros(family.count, dtype=np.int64))


def _tables_by_size(family: TableFamily, neighbouring: Neighbouring, kind: NoiseKind, *, whole: bool) -> Parts:
    cells = np.array([group.stop - group.start for group in family.groups])
    powers = _POWERS_ON_A_WHOLE_DOMAIN if whole else POWERS
    grown = cells ** powers["gaussian" if kind == "gaussian" else "laplace"]
    weights = np.maximum(np.rint(_LEVELS * grown / grown.max()).astype(np.int64), 1)
    weights //= math.gcd(*weights.tolist())
    parts, at = [], np.empty(len(cells), dtype=np.int64)
    for number, weight in enumerate(np.unique(weights)):
        mine = weights == weight
        at[mine] = number
        # A table of a single cell does not move when a row is replaced.
        moved = int(mine.sum()) if neighbouring == "add_remove" else 2 * int((cells[mine] > 1).sum())
        low, high = int(cells[mine].min()), int(cells[mine].max())
        width = f"{low}" if low == high else f"{low} to {high}"
        tables = f"{int(mine.sum())} table{'s' if mine.sum() > 1 else ''} of {width} cell{'s' if high > 1 else ''}"
        parts.append(Part(tables, int(cells[mine].sum()), moved, 1, int(weight)))
    return Parts(tuple(parts), np.repeat(at, cells))


def _walsh_by_order(family: WalshFamily, neighbouring: Neighbouring, kind: NoiseKind) -> Parts:
    """Weights w_j of order j = 1 … d that minimise the noise variance of a d-way table, Σ_j C(d, j)·variance_j.

    Replacing a row changes s coordinates and with them Σ_{i odd} C(s, i) C(p-s, j-i) functions of order j; no s is the worst
    for every order. Adding a row moves every function.
    """
    p, degree = len(family.sizes), min(family.degree, len(family.sizes))
    orders = range(1, degree + 1)
    added = neighbouring == "add_remove"
    moves = (
        [[math.comb(p, j) for j in orders]]
        if added
        else [
            [sum(math.comb(s, i) * math.comb(p - s, j - i) for i in range(1, j + 1, 2)) for j in orders]
            for s in range(1, p + 1)
        ]
    )

    def cost(weights: tuple[int, ...], move: list[int]) -> int:
        return sum(w * m for w, m in zip(weights, move, strict=True))

    def noise(weights: tuple[int, ...]) -> float:
        size = max(cost(weights, move) for move in moves)
        if kind == "gaussian":
            return size * sum(math.comb(degree, j) / w for j, w in zip(orders, weights, strict=True))
        return size**2 * sum(math.comb(degree, j) / w**2 for j, w in zip(orders, weights, strict=True))

    # Ties go to equal weights, which come first among multiples of each other.
    best = min(product(range(1, _ORDER__LEVELS + 1), repeat=degree), key=lambda weights: (noise(weights), weights))
    worst = max(moves, key=lambda move: cost(best, move))
    step = 1 if added else 2
    counts = [math.comb(p, j) for j in orders]
    # The constant, where it has noise, goes with the functions of order 1.
    extra = int(family.has_constant)
    names = [f"Walsh functions of order {j}" for j in orders]
    parts = tuple(
        Part(name, count + (extra if j == 1 else 0), moved + (extra if j == 1 and added else 0), step, weight)
        for name, count, moved, weight, j in zip(names, counts, worst, best, orders, strict=True)
    )
    part_of = np.array([max(len(group.columns), 1) - 1 for group in family.groups], dtype=np.int64)
    undominated = [m for m in moves if m != worst and not any(_covers(o, m) for o in moves if o != m)]
    return Parts(parts, part_of, tuple(tuple(move) for move in undominated))


def _covers(large: list[int], small: list[int]) -> bool:
    return all(a >= b for a, b in zip(large, small, strict=True))


def _one_part(family: Family, neighbouring: Neighbouring) -> Part:
    names = {
        "walsh": "Walsh functions",
        "contingency": "contingency tables",
        "conjunctions": "conjunctions",
        "functions": "functions of the user's own",
    }
    name, l1 = names[family.name], family.l1(neighbouring)
    if family.name == "functions":
        return Part(name, family.count, 0, 1, 1, float(l1), family.l2(neighbouring))
    step = family.step(neighbouring)
    return Part(name, family.count, l1 // step, step)


def with_counts(found: Parts, name: str, count: int, moved: int, kind: NoiseKind, share: float) -> Parts:
    """Counts of which a neighbour moves so many by 1, with a weight that gives them ``share``, up to rounding to a whole
    number."""
    # All weights eight times as large or more, so that the new one is close to a whole number too. Nothing moves where every
    # column has one code: then any weight will do.
    exact = _weight_for(share, found.parts, kind) / moved if moved else 1
    grown = next((factor for factor in (8, 16, 32) if exact * factor >= _FINE), 64)
    scaled = replace(found, parts=tuple(replace(part, weight=part.weight * grown) for part in found.parts))
    weight = max(1, round(exact * grown))
    return scaled.joined(Part(name, count, moved, 1, weight))


def with_count(found: Parts, kind: NoiseKind, share: float) -> Parts:
    """The number of rows besides, which moves by 1 when a row is added, with ``share`` of the budget."""
    # Where nothing else moves, it has all of the budget, whatever its weight.
    return found.joined(Part("number of rows", 1, 1, 1, _weight_for(share, found.parts, kind) or 1.0))


def _weight_for(share: float, parts: Sequence[Part], kind: NoiseKind) -> float:
    """The weight at which one number that moves by 1 has ``share`` of the budget, beside these parts."""
    power = 2 if kind == "gaussian" else 1
    return share / (1 - share) * sum(p.weight * p.size[power - 1] ** power for p in parts)


def published_part(name: str, family: Family) -> Part:
    """The statistics with 2|F|, in the unit of the sums, for what a replaced row moves together: the proof of Theorem 2.2.

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
    return Part(f"{name}, as published", family.count, family.count, 2, l1=length)


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


def assumptions_of(
    family: Family, kind: NoiseKind, spec: PrivacySpec, *, public_rows: bool, public_tables: bool
) -> tuple[str, ...]:
    found = [PUBLIC_DOMAIN_ASSUMPTION]
    if public_tables:
        found.append(TABLES_ARE_PUBLIC)
    if spec.neighbouring == "replace_one":
        found.append(N_IS_PUBLIC)
    if kind == "continuous_laplace":
        found.append(FLOATING_POINT)
    if public_rows:
        found.append(_PUBLIC_ROWS)
    if not getattr(family, "row_by_row", True):
        found.append(_ROW_BY_ROW)
    if not type(family).__module__.startswith("dpsyn."):
        found.append(_OWN_CLASS)
    return tuple(found)
