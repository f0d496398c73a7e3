"""The columns on the pages Data and Domain: what there is to know of them.

Pure functions; the page draws.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from dpsyn import escape
from dpsyn.data.editing import cell_shares, doubts
from dpsyn.domain import Attribute, Domain, listed
from dpsyn.errors import quoted
from dpsyn.kit.visit import MOST_CLASSES, Dataset
from dpsyn.notation import percent

_SHOWN_NOTES = 20
_FEW_COLUMNS, _MOST_OF_THE_CELLS, _FAR_MORE = 4, 0.3, 1.5
_MOST_ALIKE = 3


def only_days(frame: pd.DataFrame) -> list[str]:
    """The columns of dates in which all times are midnight: they are shown as days."""
    dates = {name: frame[name].dropna() for name in frame if pd.api.types.is_datetime64_any_dtype(frame[name])}
    return [str(name) for name, moments in dates.items() if (moments == moments.dt.normalize()).all()]


def costly(domain: Domain) -> str | None:
    """A sentence on the column that takes most of the cells, and far more than any other, if one does."""
    shares = cell_shares(domain)
    if len(domain) < _FEW_COLUMNS or shares.max() < max(_MOST_OF_THE_CELLS, _FAR_MORE * np.sort(shares)[-2]):
        return None
    most = domain.attributes[int(shares.argmax())]
    fewer = (
        "fewer bins on the page Domain" if most.is_binned else "fewer values in the file (the first digits of a code, say)"
    )
    return (
        f"**{escape.markdown(most.name)}** makes up {percent(shares.max())} of the cost. Leave it out, or give it "
        f"{fewer}: all the others then get less noise."
    )


def doubts_on(current: Dataset, names: Iterable[str]) -> str | None:
    """What looks as if it had been read off the user's own rows, of what is stated to be public; and how many of their
    cells are taken as others, now that the bounds and units are no more those that were read."""
    table, read = current.table, current.full.domain
    said = [] if current.sample is not None else doubts(table, names)
    for name in filter(table.domain.__contains__, names):
        attribute = table.domain[name]
        if attribute.is_binned and attribute != read[name]:
            said += table.moved(name)
    return escape.markdown(" ".join(said)) or None


def notes_in_use(current: Dataset) -> list[str]:
    """The notes of reading that hold for columns in use or left out by reading itself, and the columns of one value."""
    gone, ordered = [], sorted(current.notes)
    for name in current.full.domain.names:
        column = f"Column {quoted(name)}"
        by_reading = f"{column} was left out"
        at = bisect_left(ordered, by_reading)
        if name in current.table.domain:
            gone.append(by_reading)
        elif at == len(ordered) or not ordered[at].startswith(by_reading):
            gone.append(column)
    untrue = tuple(gone)
    notes = [note for note in current.notes if not note.startswith(untrue)]
    single = current.single_valued
    if single:
        one = len(single) == 1
        said = "it says nothing; leave it out" if one else "they say nothing; leave them out"
        notes.append(f"Column{'s' * (not one)} {listed(map(quoted, single))}: one value only: {said}.")
    for attribute in current.table.domain.attributes:
        alike = _alike(attribute.categories) if attribute.kind == "categorical" else []
        if alike:
            groups = "; ".join(listed(map(quoted, group)) for group in alike[:_MOST_ALIKE])
            more = f"; and {len(alike) - _MOST_ALIKE} more such groups" if len(alike) > _MOST_ALIKE else ""
            notes.append(
                f"Column {quoted(attribute.name)}: categories that differ only in capitals, blanks or what is not seen "
                f"count as different: {groups}{more}. If they mean the same, write them alike in the file and load it again."
            )
    beyond = len(notes) - _SHOWN_NOTES
    return [*notes[:_SHOWN_NOTES], f"And {beyond:,} more of this kind."] if beyond > 0 else notes


def _alike(categories: Sequence[object]) -> list[list[str]]:
    """Groups of texts that are the same but for capitals, blanks, invisible characters and how letters are composed."""
    groups: dict[str, list[str]] = {}
    for category in categories:
        if isinstance(category, str):
            visible = "".join(c for c in unicodedata.normalize("NFKC", category) if unicodedata.category(c) != "Cf")
            groups.setdefault(" ".join(visible.split()).casefold(), []).append(category)
    return [group for group in groups.values() if len(group) > 1]


def not_classes(current: Dataset) -> str | None:
    """Which columns the choice of the target leaves out, and why; None if it has all."""
    reasons: dict[str, list[str]] = {}
    classes = set(current.classes)
    for attribute in current.table.domain.attributes:
        if attribute.name not in classes:
            reasons.setdefault(_reason(attribute), []).append(attribute.name)
    if not reasons:
        return None
    parts = [f"{escape.markdown(listed(names))} ({reason})" for reason, names in reasons.items()]
    return f"Not among the choices: {'; '.join(parts)}."


def _reason(attribute: Attribute) -> str:
    if attribute.is_binned:
        return "numbers or dates"
    if attribute.is_constant:
        return "one value only"
    if attribute.missing:
        return "cells may be empty"
    return f"more than {MOST_CLASSES} categories"
