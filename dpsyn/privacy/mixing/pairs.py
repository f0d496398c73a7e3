"""What DP-CDA's accountants know of the classes; the pairs of distributions that dominate one mixed row and a change of one
record; and the losses of these pairs on a grid.

With Q = N(0, 1), P = N(μ, 1), P' = N(-μ, 1) and A = (1-p)Q + pP, A' = (1-p)Q + pP': ``"remove"`` is (A, Q), ``"add"`` is
(Q, A), ``"replace"`` the symmetric pair whose δ(ε) for ε ≥ 0 is that of ``"remove"``, and ``"swap"`` is (A, A'), which is
symmetric as it stands. A loss distribution of a pair (A, B) is the law of L = ln(A/B)(x) for x ~ A. Here it lives on whole
multiples of a step. Mass between two grid points is split between them so that both its A-measure and its B-measure are kept
("connect the dots", Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): δ(ε) is then exact at grid points and too large
between them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from numbers import Integral
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from dpsyn import checks
from dpsyn.errors import ParameterError

Floats = npt.NDArray[np.float64]
Pair = Literal["remove", "add", "replace", "swap"]
Variant = Literal["fixed_size", "poisson"]
VARIANTS: tuple[Variant, ...] = ("fixed_size", "poisson")
Change = Literal["replace_one", "add_remove", "replace_same_class", "label_change"]
CHANGES: tuple[Change, ...] = ("replace_one", "add_remove", "replace_same_class", "label_change")

_MOST, _LARGER = 6, 1.05
"""Groups of classes that are told apart where no class covers another, and the steps in which they are made larger."""


class Part(NamedTuple):
    """So many rows that one pair dominates.

    Attributes:
        pair: which pair.
        rate: p.
        rows: how many rows.
        multiplier: 1/μ where it is fixed; None takes the noise multiplier z of the rows that are mixed.
    """

    pair: Pair
    rate: float
    rows: int
    multiplier: float | None = None

    def shift(self, mixed: float) -> float:
        """μ, where mixed rows have μ = ``mixed``."""
        if self.multiplier is None:
            return mixed
        return 1 / self.multiplier if self.multiplier > 0 else math.inf

    @property
    def distance(self) -> int:
        """How many μ the Gaussians are apart if every row holds the record."""
        return 2 if self.pair == "swap" else 1


@dataclass(frozen=True)
class MixedClass:
    """A class as a changed record sees it.

    Attributes:
        lost: probability that a row holds a record of the class, l/N.
        gained: the same for a record that is new in it: l/(N + 1), and l/N under Poisson sampling, whose rate is fixed.
        rows: T_k.
    """

    lost: float
    gained: float
    rows: int

    def covers(self, other: MixedClass) -> bool:
        """Whether every ε of the other is at most this one's: rates and rows are at least its own."""
        return self.lost >= other.lost and self.gained >= other.gained and self.rows >= other.rows


def mixed_classes(
    order_of_mixture: int, class_counts: int | Sequence[int], rows_per_class: int | Sequence[int], variant: Variant
) -> tuple[MixedClass, ...]:
    """The classes that rows are made from, checked. One number for both stands for two classes or more that are alike.

    Raises:
        ParameterError: a number is out of range, or the sequences differ in length.
    """
    variant = checks.choice("variant", variant, VARIANTS)
    order_of_mixture = checks.whole("order_of_mixture", order_of_mixture, why="records per average")
    counts, rows = _per_class("class_counts", class_counts), _per_class("rows_per_class", rows_per_class)
    length = max(len(counts or ()), len(rows or ())) or 2
    counts = counts or [int(class_counts)] * length  # type: ignore[arg-type]
    rows = rows or [int(rows_per_class)] * length  # type: ignore[arg-type]
    if len(counts) != len(rows):
        allowed = f"one number for each of the {len(counts)} classes, or one for all"
        raise ParameterError("rows_per_class", tuple(rows), allowed)
    if max(rows) < 1:
        raise ParameterError("rows_per_class", rows_per_class, "at least 1 row of some class")
    for count, made in zip(counts, rows, strict=True):
        if made > 0 and count < order_of_mixture:
            least = min(c for c, t in zip(counts, rows, strict=True) if t > 0)
            allowed = (
                f"at least order_of_mixture = {order_of_mixture} in every class that rows are made from; "
                f"order_of_mixture = {least} would do" + (", or no rows of that class" if len(set(rows)) > 1 else "")
            )
            raise ParameterError("class_counts", count, allowed if least > 0 else allowed.split(";", maxsplit=1)[0])
    more = 0 if variant == "poisson" else 1
    return tuple(
        MixedClass(order_of_mixture / n, order_of_mixture / (n + more), t)
        for n, t in zip(counts, rows, strict=True)
        if t > 0
    )


def check_clip_norm(field: str, clip_norm: object) -> float:
    """A norm that records can be divided by and squared in units of."""
    return checks.scale(field, clip_norm, "1 keeps records that are scaled by public bounds as they are")


def _per_class(field: str, values: int | Sequence[int]) -> list[int] | None:
    if isinstance(values, Integral):
        checks.whole(field, values)
        return None
    found = checks.items(field, values, "a whole number for all classes, or one for each")
    if not found:
        raise ParameterError(field, values, "at least one class")
    return [checks.whole(field, value, 0, why="for every class") for value in found]


def dominating(classes: Sequence[MixedClass], change: Change, variant: Variant) -> list[list[Part]]:
    """Compositions, the largest ε of which bounds the change of one record; the likeliest to be largest come first.

    Classes are left out where another one covers them (:func:`_relevant`), which loses nothing.

    Raises:
        ParameterError: an unknown kind of change, or a change of label where there is one class.
    """
    change = checks.choice("neighbouring", change, CHANGES)
    if change == "add_remove":
        alone = _relevant(classes, 1)
        return [[Part("remove", c.lost, c.rows)] for c in alone] + [[Part("add", c.lost, c.rows)] for c in alone]
    replaced = [[Part("replace" if variant == "fixed_size" else "swap", c.lost, c.rows)] for c in _relevant(classes, 1)]
    if change == "replace_same_class":
        return replaced
    moved = _label_changes(_relevant(classes, 2))
    if change == "label_change":
        if not moved:
            raise ParameterError("class_counts", len(classes), "two classes or more, for a record to change its label")
        return moved
    return moved[:1] + replaced + moved[1:]


def _label_changes(classes: Sequence[MixedClass]) -> list[list[Part]]:
    """A record leaves the first class and enters the second: both orientations, for every ordered pair of classes."""
    found: dict[tuple[Part, ...], None] = {}
    for a, b in permutations(classes, 2):
        for parts in (
            (Part("remove", a.lost, a.rows), Part("add", b.gained, b.rows)),
            (Part("add", a.lost, a.rows), Part("remove", b.gained, b.rows)),
        ):
            found[tuple(sorted(parts))] = None
    ranked = sorted(found, key=lambda parts: -sum(part.rows * part.rate**2 for part in parts))
    return [list(parts) for parts in ranked]


def _relevant(classes: Sequence[MixedClass], together: int) -> list[MixedClass]:
    """Classes of which fewer than ``together`` others cover them: whatever another choice of so many classes costs, one of
    these costs as much.

    If a class of a choice is covered by ``together`` others, one of them is not in the choice and can take its place; that
    can go on only finitely often. Where pairs are to be chosen from more than a few, neighbours are merged to the larger of
    their rates and rows, which covers both: an upper bound. T_k·p_k², to which ε is about proportional, tells which may be
    at no cost: those that stay below the costliest classes.
    """
    ranked = sorted(classes, key=lambda c: (-c.lost, -c.gained, -c.rows))
    kept: list[MixedClass] = []
    for c in ranked:  # what covers a class that covers this one does so itself: those kept are enough to ask
        if len(list(islice((other for other in kept if other.covers(c)), together))) < together:
            kept.append(c)
    if together == 1 or len(kept) <= _MOST:
        return kept
    limit = sorted((c.rows * c.lost**2 for c in kept), reverse=True)[together - 1]
    while len(groups := _merged(kept, limit)) > _MOST:
        limit *= _LARGER
    return [cover for cover, count in groups for _ in range(min(count, together))]


def _merged(ranked: Sequence[MixedClass], limit: float) -> list[tuple[MixedClass, int]]:
    """Covers of neighbours, each with their number: as many at a time as have T·p² of at most ``limit`` together. Rates must
    descend."""
    groups: list[tuple[MixedClass, int]] = []
    for c in ranked:
        if groups:
            last, count = groups[-1]
            cover = MixedClass(last.lost, max(last.gained, c.gained), max(last.rows, c.rows))
            if cover.rows * cover.lost**2 <= limit:
                groups[-1] = cover, count + 1
                continue
        groups.append((c, 1))
    return groups


_TAIL = 1e-22
_NOTHING = 1e-30
"""Masses below it are put at infinity."""


def discretised(pair: Pair, rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """Loss of one row on multiples of ``step``: index of the lowest point, masses, and the mass of an infinite loss."""
    build = {"remove": _remove, "add": _add, "replace": _replace, "swap": _swap}[pair]
    lower, masses, infinity = build(rate, shift, step)
    kept = masses > _NOTHING
    return lower, np.where(kept, masses, 0.0), infinity + float(masses[~kept].sum())


def span(pair: Pair, rate: float, shift: float) -> float:
    """Largest loss that is not put at infinity."""
    edge = -float(ndtri(_TAIL)) + shift
    return _swap_loss(edge, rate, shift) if pair == "swap" else _loss(edge, rate, shift)


def _loss(x: float, rate: float, shift: float) -> float:
    """ln(1 - p + p·e^{μx - μ²/2}), the loss of "remove" at x; increasing in x."""
    exponent = shift * x - shift * shift / 2
    if rate == 1:
        return exponent
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))


def _where(losses: Floats, rate: float, shift: float) -> Floats:
    """Inverse of :func:`_loss`; -∞ at and below ln(1 - p)."""
    if rate == 1:
        return losses / shift + shift / 2
    with np.errstate(divide="ignore"):
        above = losses + np.log1p(-(1 - rate) * np.exp(-np.maximum(losses, 0.0)))
        below = np.log(np.maximum(np.expm1(np.minimum(losses, 0.0)) + rate, 0.0))
    return (np.where(losses > 0, above, below) - math.log(rate)) / shift + shift / 2


def _between(x: Floats, mean: float) -> Floats:
    """N(mean, 1)-measure of the intervals between consecutive points, without cancellation in either tail."""
    low, high = x[:-1] - mean, x[1:] - mean
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _split(first: Floats, second: Floats, lower: int, step: float) -> Floats:
    """Masses on the grid from the A- and B-measure of its intervals.

    An interval from e to e + step with measures a and b gives its lower end (b·e^e - a·e^{-step})/(1 - e^{-step}) and its
    upper end the rest of a. Where b is no normal number any more everything goes to the upper end, which overstates the
    loss.
    """
    at = (lower + np.arange(len(first))) * step
    with np.errstate(divide="ignore"):
        weighted = np.where(second > sys.float_info.min, np.exp(np.log(second) + at), 0.0)
    down = np.clip((weighted - first * math.exp(-step)) / -math.expm1(-step), 0.0, first)
    masses = np.zeros(len(first) + 1)
    masses[:-1] += down
    masses[1:] += first - down
    return masses


def _grid(rate: float, shift: float, step: float) -> tuple[int, Floats]:
    """Index of the lowest grid point and the x at every grid point."""
    edge = -float(ndtri(_TAIL))
    lower = math.floor(_loss(-edge, rate, shift) / step)
    upper = math.ceil(_loss(edge + shift, rate, shift) / step)
    return lower, _where(np.arange(lower, upper + 1, dtype=np.float64) * step, rate, shift)


def _remove(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """(1-p)Q + pP against Q. Mass above the grid goes to infinity, mass below it to its lowest point."""
    lower, x = _grid(rate, shift, step)
    below = (1 - rate) * float(ndtr(x[0])) + rate * float(ndtr(x[0] - shift))
    above = (1 - rate) * float(ndtr(-x[-1])) + rate * float(ndtr(shift - x[-1]))
    base = _between(x, 0.0)
    masses = _split((1 - rate) * base + rate * _between(x, shift), base, lower, step)
    masses[0] += below
    return lower, masses, above


def _add(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """Q against (1-p)Q + pP: the loss of "remove" with its sign turned, under the other measure."""
    lower, x = _grid(rate, shift, step)
    base = _between(x, 0.0)
    mixed = (1 - rate) * base + rate * _between(x, shift)
    bottom = -(lower + len(x) - 1)
    masses = _split(base[::-1], mixed[::-1], bottom, step)
    masses[0] += float(ndtr(-x[-1]))
    return bottom, masses, float(ndtr(x[0]))


def _replace(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """The symmetric pair: losses L > 0 of "remove", their mirror images e^{-L}·mass at -L, and the rest at 0."""
    lower, masses, infinity = _remove(rate, shift, step)  # the lowest loss of "remove" is at most 0
    positive = masses[1 - lower :]
    mirrored = positive * np.exp(-step * np.arange(1, len(positive) + 1))
    middle = max(0.0, 1 - float(positive.sum()) - float(mirrored.sum()))
    return -len(positive), np.concatenate([mirrored[::-1], [middle], positive]), infinity


def _swap_loss(x: float, rate: float, shift: float) -> float:
    """ln of (1-p)Q + pP over (1-p)Q + pP' at x; odd and increasing in x."""
    return _loss(x, rate, shift) - _loss(-x, rate, shift)


def _swap_where(losses: Floats, rate: float, shift: float) -> Floats:
    """Inverse of :func:`_swap_loss`: μx = L/2 + asinh(e^{μ²/2}·sinh(L/2)·(1-p)/p), a quadratic equation in e^{μx}."""
    if rate == 1:
        return losses / (2 * shift)
    half = np.abs(losses) / 2
    with np.errstate(divide="ignore"):
        log_sine = half + np.log(-np.expm1(-2 * half)) - math.log(2)
    log_argument = log_sine + math.log1p(-rate) - math.log(rate) + shift * shift / 2
    # Beyond e^20 the inverse is ln(2y) up to 1e-18.
    inverse = np.where(log_argument > 20, log_argument + math.log(2), np.arcsinh(np.exp(np.minimum(log_argument, 20.0))))
    found: Floats = np.sign(losses) * (half + inverse) / shift
    return found


def _swap(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """(1-p)Q + pP against (1-p)Q + pP'. Mass above the grid goes to infinity, mass below it to its lowest point."""
    upper = math.ceil(span("swap", rate, shift) / step)
    x = _swap_where(np.arange(-upper, upper + 1, dtype=np.float64) * step, rate, shift)
    base = (1 - rate) * _between(x, 0.0)
    masses = _split(base + rate * _between(x, shift), base + rate * _between(x, -shift), -upper, step)
    masses[0] += (1 - rate) * float(ndtr(x[0])) + rate * float(ndtr(x[0] - shift))
    return -upper, masses, (1 - rate) * float(ndtr(-x[-1])) + rate * float(ndtr(shift - x[-1]))
