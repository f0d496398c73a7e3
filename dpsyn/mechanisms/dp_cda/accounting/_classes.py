"""What DP-CDA's accountants know of the classes, and the pairs of distributions that dominate a change of one record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from numbers import Integral
from typing import Literal

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.accounting._loss_pairs import Part

Variant = Literal["fixed_size", "poisson"]
VARIANTS: tuple[Variant, ...] = ("fixed_size", "poisson")
Change = Literal["replace_one", "add_remove", "replace_same_class", "label_change"]
CHANGES: tuple[Change, ...] = ("replace_one", "add_remove", "replace_same_class", "label_change")

_MOST = 6
"""Groups of classes that are told apart where no class dominates another."""


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
    if variant not in VARIANTS:
        raise ParameterError("variant", variant, f"one of {', '.join(map(repr, VARIANTS))}")
    check_whole("order_of_mixture", order_of_mixture, "at least 1 record per average")
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


def check_whole(field: str, value: object, allowed: str, least: int = 1) -> None:
    """Raise unless the value is a whole number, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(field, value, f"a whole number, {allowed}")


def _per_class(field: str, values: int | Sequence[int]) -> list[int] | None:
    if isinstance(values, Integral):
        check_whole(field, values, "at least 1")
        return None
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(field, values, "a whole number for all classes, or one for each")
    found = list(values)
    if not found:
        raise ParameterError(field, values, "at least one class")
    for value in found:
        check_whole(field, value, "at least 0 for every class", least=0)
    return [int(value) for value in found]


def dominating(classes: Sequence[MixedClass], change: Change, variant: Variant) -> list[list[Part]]:
    """Compositions, the largest ε of which bounds the change of one record; the likeliest to be largest come first.

    Classes are left out where another one covers them (:func:`_relevant`), which loses nothing.

    Raises:
        ParameterError: an unknown kind of change, or a change of label where there is one class.
    """
    if change not in CHANGES:
        raise ParameterError("neighbouring", change, f"one of {', '.join(map(repr, CHANGES))}")
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
    their rates and rows, which covers both: an upper bound.
    """
    ranked = sorted(classes, key=lambda c: (-c.lost, -c.gained, -c.rows))
    kept = [c for i, c in enumerate(ranked) if sum(other.covers(c) for other in ranked[:i]) < together]
    if together == 1 or len(kept) <= _MOST * together:
        return kept
    share = math.ceil(len(kept) / _MOST)
    merged = []
    for start in range(0, len(kept), share):
        group = kept[start : start + share]
        cover = MixedClass(max(c.lost for c in group), max(c.gained for c in group), max(c.rows for c in group))
        merged += [cover] * min(len(group), together)
    return merged
