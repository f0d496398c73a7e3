"""What there is to know of the columns in use: notes of reading them, single values, and what cannot be the target."""

from __future__ import annotations

from collections.abc import Sequence

from dpsyn.attribute import Attribute
from dpsyn.domain import listed
from dpsyn.kit.visit import MOST_CLASSES, Dataset
from dpsyn.kit.widgets import plain_text

_MOST_ALIKE = 3


def notes_in_use(current: Dataset) -> list[str]:
    """The notes of reading the file but for those about columns that were dropped since, and the columns of one value."""
    dropped = [f"Column {name!r}" for name in current.full.domain.names if name not in current.table.domain]
    notes = [note for note in current.notes if not note.startswith(tuple(dropped))]
    single = [attribute.name for attribute in current.table.domain.attributes if _is_single(current, attribute)]
    if single:
        one = len(single) == 1
        said = "it says nothing; leave it out" if one else "they say nothing; leave them out"
        notes.append(f"Column{'s' * (not one)} {listed(map(repr, single))}: one value only: {said}.")
    for attribute in current.table.domain.attributes:
        alike = _alike(attribute.categories) if attribute.kind == "categorical" else []
        if alike:
            groups = "; ".join(listed(map(repr, group)) for group in alike[:_MOST_ALIKE])
            more = f"; and {len(alike) - _MOST_ALIKE} more such groups" if len(alike) > _MOST_ALIKE else ""
            notes.append(
                f"Column {attribute.name!r}: categories that differ only in capitals or blanks count as different: "
                f"{groups}{more}. If they mean the same, write them alike in the file and load it again."
            )
    return notes


def _alike(categories: Sequence[object]) -> list[list[str]]:
    """Groups of texts that are the same but for capitals and blanks."""
    groups: dict[str, list[str]] = {}
    for category in categories:
        if isinstance(category, str):
            groups.setdefault(" ".join(category.split()).casefold(), []).append(category)
    return [group for group in groups.values() if len(group) > 1]


def _is_single(current: Dataset, attribute: Attribute) -> bool:
    """One value in the domain, or in a column of the user's with more than one row."""
    if attribute.is_constant:
        return True
    if current.sample is not None or current.table.n < 2:
        return False
    return int(current.table.frame[attribute.name].nunique(dropna=False)) == 1


def not_classes(current: Dataset) -> str | None:
    """Which columns the choice of the target leaves out, and why; None if it has all."""
    reasons: dict[str, list[str]] = {}
    for attribute in current.table.domain.attributes:
        if attribute.name not in current.classes:
            reasons.setdefault(_reason(attribute), []).append(attribute.name)
    if not reasons:
        return None
    parts = [f"{plain_text(listed(names))} ({reason})" for reason, names in reasons.items()]
    return f"Not among the choices: {'; '.join(parts)}."


def _reason(attribute: Attribute) -> str:
    if attribute.is_binned:
        return "numbers or dates"
    if attribute.is_constant:
        return "one value only"
    if attribute.missing:
        return "cells may be empty"
    return f"more than {MOST_CLASSES} categories"
