"""The columns on the page Data: what there is to know of them, and the domain as a table that can be edited.

Pure functions; the page draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import escape
from dpsyn.cells import floats
from dpsyn.dates import day_texts, days, local_moments
from dpsyn.domain import KINDS, Attribute, Domain, listed
from dpsyn.errors import DomainError
from dpsyn.kit.visit import MOST_CLASSES, Dataset
from dpsyn.notation import percent
from dpsyn.table import Table
from dpsyn.units import unit_of

SHOWN_CATEGORIES = 500
SHOWN_COLUMNS = 200
"""At once on the page Data: a browser takes long over more."""
_SHOWN_NOTES = 20
_FEW_COLUMNS, _MOST_OF_THE_CELLS = 4, 0.6
_MOST_ALIKE = 3
_FIELDS = (
    "use",
    "column",
    "kind",
    "values",
    "cost",
    "categories",
    "lower",
    "upper",
    "unit",
    "keep",
    "missing",
    "source",
    "bins",
)
READ_OFF = "read off these rows"
SOURCES = ("code book", "law of nature", READ_OFF)
"""Where the categories, bounds and unit of a column are known from; all but the last without looking at the data."""


def shown_columns(full: Domain, part: str) -> tuple[list[str], str | None]:
    """The columns whose name has this part, the first ``SHOWN_COLUMNS`` of them, and a sentence if that is not all."""
    found = [name for name in full.names if part.casefold() in name.casefold()]
    if len(found) == len(full) <= SHOWN_COLUMNS:
        return found, None
    what = f"with “{part}” in their name" if part else "of the data"
    return found[:SHOWN_COLUMNS], (
        f"Here are the first {min(SHOWN_COLUMNS, len(found)):,} of the {len(found):,} columns {what}. The others stay as "
        "they are, but for the source of all columns that are read off these rows."
    )


def cell_shares(domain: Domain) -> npt.NDArray[np.float64]:
    """Of all cells of all tables of two columns, the share of those tables that a column is in: what it costs, since every
    cell gets noise. Shape (columns,)."""
    sizes = np.asarray(domain.shape, dtype=float)
    cells = sizes * (sizes.sum() - sizes)
    shares: npt.NDArray[np.float64] = 2 * cells / max(1.0, cells.sum())
    return shares


def costly(domain: Domain) -> str | None:
    """A sentence on the column that takes most of the cells, if one does."""
    shares = cell_shares(domain)
    if len(domain) < _FEW_COLUMNS or shares.max() < _MOST_OF_THE_CELLS:
        return None
    name = escape.markdown(domain.names[int(shares.argmax())])
    return (
        f"**{name}** is in {percent(shares.max())} of all cells of tables of two columns. Leave it out, or give it fewer "
        "values in the file (the first digits of a code, say): all the others then get less noise."
    )


def editor_lines(
    full: Table, current: Domain, shown: Sequence[str] | None = None, sources: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """One line per column of the data, or of those ``shown``: what it is, what it costs, and what may be said of it.

    Args:
        full: all columns as read.
        current: the domain in use.
        shown: which columns; None for all.
        sources: what somebody said of where a column is known from, by name.
    """
    lines = []
    kept = {attribute.name: attribute for attribute in current.attributes}
    costs = dict(zip(current.names, cell_shares(current), strict=True))
    for read in full.domain.attributes if shown is None else map(full.domain.__getitem__, shown):
        attribute = kept.get(read.name, read)
        lines.append(
            {
                "use": read.name in current,
                "column": attribute.name,
                "kind": attribute.kind,
                "values": attribute.size,
                "cost": 100 * costs.get(read.name, 0.0),
                "categories": [str(c) for c in attribute.categories[:SHOWN_CATEGORIES]],
                "lower": _bound_text(attribute, attribute.lower),
                "upper": _bound_text(attribute, attribute.upper),
                "unit": attribute.unit if attribute.kind == "numeric" else None,
                "keep": list(attribute.keep),
                "missing": attribute.missing,
                "source": (sources or {}).get(read.name, SOURCES[0]) if attribute.public else READ_OFF,
                "bins": attribute.bins if attribute.is_binned else None,
            }
        )
    return pd.DataFrame(lines, columns=list(_FIELDS)).astype({"bins": "Int64", "unit": "float64"})


def _bound_text(attribute: Attribute, bound: float | None) -> str:
    if bound is None:
        return ""
    if attribute.kind == "date":
        return f"{pd.Timestamp('1970-01-01') + pd.Timedelta(days=bound):%Y-%m-%d}"
    return f"{bound:.15g}"


def edited_domain(lines: pd.DataFrame, full: Table, current: Domain) -> Domain:
    """The domain that edited lines describe; columns without a line stay as they are.

    A column whose kind was changed takes what the new kind needs (categories, bounds) from the data unless the line
    gives it; that is inferred, so the column is not public, whatever the line says: what nobody has seen yet cannot be
    confirmed. The next edit, which shows it, can.

    Raises:
        DomainError: a line cannot be understood, or no column is left; the message names the column.
    """
    edited = {
        str(record["column"]): {str(key): value for key, value in record.items()} for record in lines.to_dict("records")
    }
    attributes = []
    for name in full.domain.names:
        old = (current if name in current else full.domain)[name]
        if name not in edited:
            attributes += [old] if name in current else []
        elif edited[name]["use"]:
            attributes.append(_attribute(edited[name], old, full.frame[name]))
    if not attributes:
        raise DomainError("no column is in use: tick at least one")
    return Domain.of(attributes)


def _attribute(line: dict[str, Any], old: Attribute, column: pd.Series[Any]) -> Attribute:
    kind, missing, public = line["kind"], bool(line["missing"]), line["source"] in SOURCES[:-1]
    if kind not in KINDS:
        raise DomainError(f"column {old.name!r}: choose a kind ({', '.join(KINDS)})", column=old.name)
    if kind in ("truth", "categorical"):
        texts = [] if line["categories"] is None else [str(text) for text in line["categories"]]
        public = public and (bool(texts) or not old.is_binned)
        return Attribute(old.name, kind, _categories(texts, old, day_texts(column)), missing=missing, public=public)
    lower, upper = (_bound(str(line[side] or ""), kind, old.name, side) for side in ("lower", "upper"))
    if lower is None or upper is None or old.kind != kind:
        public = False
    if lower is None or upper is None:
        found = _range(column, kind, old.name)
        lower, upper = found[0] if lower is None else lower, found[1] if upper is None else upper
    bins = 10 if pd.isna(line["bins"]) else int(line["bins"])
    unit = None if kind == "date" or pd.isna(line["unit"]) else float(line["unit"])
    if old.kind != kind == "numeric" and unit is None:
        unit = unit_of(floats(column.dropna()))
    keep = () if kind != "date" or line["keep"] is None else tuple(line["keep"])
    made = Attribute(old.name, kind, lower=lower, upper=upper, unit=unit, bins=bins, missing=missing, public=public)
    return replace(made, keep=keep)


def _categories(texts: Sequence[str], old: Attribute, column: pd.Series[Any]) -> tuple[Any, ...]:
    """Texts back to values: those of the old categories or of the data, else the text itself (a number among numbers)."""
    if not old.is_binned and texts == [str(c) for c in old.categories[:SHOWN_CATEGORIES]]:
        return old.categories
    if old.is_binned and not texts:
        return tuple(sorted(column.dropna().unique().tolist()))
    known = {str(c): c for c in [*column.dropna().unique().tolist(), *old.categories]}
    beyond = old.categories[SHOWN_CATEGORIES:]
    numbers = bool(known) and all(isinstance(c, int) and not isinstance(c, bool) for c in known.values())
    values = [known[t] if t in known else (int(t) if numbers and t.lstrip("+-").isdigit() else t) for t in texts]
    return (*values, *beyond)


def _bound(text: str, kind: str, name: str, side: str) -> float | None:
    text = text.strip()
    if not text or text == "nan":
        return None
    try:
        if kind == "date":
            return float((pd.Timestamp(text) - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1))
        value = float(text)
    except ValueError:
        expected = "a date such as 2024-01-31" if kind == "date" else "a number"
        raise DomainError(f"column {name!r}: {side} bound {text!r} is not {expected}", column=name) from None
    if not math.isfinite(value):
        raise DomainError(f"column {name!r}: {side} bound must be finite, got {text}", column=name)
    return value


def _range(column: pd.Series[Any], kind: str, name: str) -> tuple[float, float]:
    is_date = kind == "date"
    numbers = days(local_moments(pd.to_datetime(column, errors="coerce"))) if is_date else floats(column)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        raise DomainError(f"column {name!r} holds no {kind} values; keep it categorical", column=name)
    low, high = float(numbers.min()), float(numbers.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def bounds_of_rows(current: Dataset, names: Iterable[str]) -> str | None:
    """A sentence on the columns whose stated bounds are the smallest and the largest value of the user's own rows."""
    domain, frame = current.table.domain, current.table.frame
    stated = (domain[name] for name in names if current.sample is None and name in domain and domain[name].public)
    found = [
        escape.markdown(a.name)
        for a in stated
        if a.is_binned and frame[a.name].notna().any() and (a.lower, a.upper) == _range(frame[a.name], a.kind, a.name)
    ]
    said = f"The stated bounds of **{listed(found)}** are the smallest and the largest value in these rows: put wider ones, "
    return f"{said}unless they are known from elsewhere." if found else None


def notes_in_use(current: Dataset) -> list[str]:
    """The notes of reading the file that hold for the columns in use or left out now, and the columns of one value."""
    unused = [f"Column {name!r}" for name in current.full.domain.names if name not in current.table.domain]
    used = [f"Column {name!r}" for name in current.table.domain.names]
    left_out = [f"{column} was left out" for column in unused]
    gone = (*unused, *(f"{column} was left out" for column in used))
    notes = [note for note in current.notes if note.startswith(tuple(left_out)) or not note.startswith(gone)]
    single = current.single_valued
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
    beyond = len(notes) - _SHOWN_NOTES
    return [*notes[:_SHOWN_NOTES], f"And {beyond:,} more of this kind."] if beyond > 0 else notes


def _alike(categories: Sequence[object]) -> list[list[str]]:
    """Groups of texts that are the same but for capitals and blanks."""
    groups: dict[str, list[str]] = {}
    for category in categories:
        if isinstance(category, str):
            groups.setdefault(" ".join(category.split()).casefold(), []).append(category)
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
