"""A domain as a table that somebody edits: one line per column; and back, with what only the rows can say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.cells import floats
from dpsyn.data.counted import AnyTable
from dpsyn.dates import day_texts, days, local_moments
from dpsyn.domain import KINDS, Attribute, Domain, listed
from dpsyn.errors import DomainError, quoted
from dpsyn.table import Table
from dpsyn.units import unit_of

SHOWN_CATEGORIES = 500
"""Of a column, in its line: a browser takes long over more."""
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
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
READ_OFF = "read off these rows"
_OF_KINDS = {
    "categories": ("a list of categories", ("categorical", "truth")),
    "lower": ("a lower bound", ("numeric", "date")),
    "upper": ("an upper bound", ("numeric", "date")),
    "unit": ("a unit", ("numeric",)),
    "keep": ("keeping weekdays, months or days of the month", ("date",)),
    "bins": ("a number of bins", ("numeric", "date")),
}
"""What a cell of the editor holds, and the kinds of columns that have it."""
_PLURALS = {"categorical": "categories", "truth": "yes/no columns", "numeric": "numbers", "date": "dates"}
_FEW_CATEGORIES = 20
"""Up to so many, a list of them may well be public, however few the rows."""
SOURCES = ("code book", "definition", READ_OFF)
"""Where the categories, bounds and unit of a column are known from; all but the last without looking at the data."""


def cell_shares(domain: Domain) -> npt.NDArray[np.float64]:
    """Of all cells of all tables of two columns, the share of each column, where the two of a table have half of its cells
    each: what it costs, since every cell gets noise. Shape (columns,); adds up to 1."""
    sizes = np.asarray(domain.shape, dtype=float)
    cells = sizes * (sizes.sum() - sizes)
    shares: npt.NDArray[np.float64] = cells / max(1.0, cells.sum())
    return shares


def editor_lines(
    full: AnyTable,
    current: Domain,
    shown: Sequence[str] | None = None,
    sources: Mapping[str, str] | None = None,
    left_out: Mapping[str, Attribute] | None = None,
) -> pd.DataFrame:
    """One line per column of the data, or of those ``shown``: what it is, what it costs, and what may be said of it.

    Args:
        full: all columns as read.
        current: the domain in use.
        shown: which columns; None for all.
        sources: what somebody said of where a column is known from, by name.
        left_out: what columns were that are in use no more, by name.
    """
    lines = []
    kept = {**(left_out or {}), **{attribute.name: attribute for attribute in current.attributes}}
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
                **_typed(attribute),
                "missing": attribute.missing,
                "source": (sources or {}).get(read.name, SOURCES[0]) if attribute.public else READ_OFF,
            }
        )
    return pd.DataFrame(lines, columns=list(_FIELDS)).astype({"bins": "Int64", "unit": "float64"})


def _typed(attribute: Attribute) -> dict[str, Any]:
    """What a line shows of a column and not every kind has."""
    return {
        "categories": [str(c) for c in attribute.categories[:SHOWN_CATEGORIES]],
        "lower": attribute.bounds[0],
        "upper": attribute.bounds[1],
        "unit": attribute.unit if attribute.kind == "numeric" else None,
        "keep": list(attribute.keep),
        "bins": attribute.bins if attribute.is_binned else None,
    }


def _refuse_of_other_kinds(line: dict[str, Any], old: Attribute) -> None:
    """Nothing that somebody typed is thrown away; what is there of the column's last kind is."""
    for field, before in _typed(old).items():
        what, of = _OF_KINDS[field]
        typed = line[field]
        empty = not len(typed) if isinstance(typed, list | tuple | np.ndarray) else pd.isna(typed) or not str(typed).strip()
        same = list(typed) == before if isinstance(before, list) and not empty else typed == before
        if line["kind"] not in of and not empty and not same:
            kinds = " and ".join(_PLURALS[kind] for kind in of)
            said = f"column {quoted(old.name)}: {what} is for {kinds}: empty the cell, or choose another kind"
            raise DomainError(said, column=old.name)


def edited_domain(
    lines: pd.DataFrame, full: AnyTable, current: Domain, left_out: Mapping[str, Attribute] | None = None
) -> Domain:
    """The domain that edited lines describe; columns without a line stay as they are. Arguments as of :func:`editor_lines`.

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
        old = current[name] if name in current else (left_out or {}).get(name, full.domain[name])
        if name not in edited:
            attributes += [old] if name in current else []
        elif edited[name]["use"]:
            attributes.append(_attribute(edited[name], old, full))
    if not attributes:
        raise DomainError("no column is in use: tick at least one")
    return Domain.of(attributes)


def _attribute(line: dict[str, Any], old: Attribute, full: AnyTable) -> Attribute:
    kind, missing, public = line["kind"], bool(line["missing"]), line["source"] in SOURCES[:-1]
    if kind not in KINDS:
        raise DomainError(f"column {quoted(old.name)}: choose a kind ({', '.join(KINDS)})", column=old.name)
    _refuse_of_other_kinds(line, old)
    if kind in ("truth", "categorical"):
        texts = [] if line["categories"] is None else [str(text) for text in line["categories"]]
        public = public and (bool(texts) or not old.is_binned)
        return Attribute(old.name, kind, _categories(texts, old, full), missing=missing, public=public)
    lower, upper = (_bound(str(line[side] or ""), kind, old.name, side) for side in ("lower", "upper"))
    if lower is None or upper is None or old.kind != kind:
        public = False
    if lower is None or upper is None:
        found = value_range(_cells(full, old.name), kind, old.name)
        lower, upper = found[0] if lower is None else lower, found[1] if upper is None else upper
    bins = 10 if pd.isna(line["bins"]) else int(line["bins"])
    unit = None if kind == "date" or pd.isna(line["unit"]) else float(line["unit"])
    if old.kind != kind == "numeric" and unit is None:
        unit = unit_of(floats(full.different(old.name).dropna()))
    keep = () if kind != "date" or line["keep"] is None else tuple(line["keep"])
    made = Attribute(old.name, kind, lower=lower, upper=upper, unit=unit, bins=bins, missing=missing, public=public)
    return replace(made, keep=keep)


def _categories(texts: Sequence[str], old: Attribute, full: AnyTable) -> tuple[Any, ...]:
    """Texts back to values: those of the old categories or of the data, else the text itself (a number among numbers)."""
    if not old.is_binned and texts == [str(c) for c in old.categories[:SHOWN_CATEGORIES]]:
        return old.categories
    column = day_texts(full.different(old.name))
    if old.is_binned and not texts:
        return tuple(sorted(column.dropna().unique().tolist()))
    known = {str(c): c for c in [*column.dropna().unique().tolist(), *old.categories]}
    beyond = old.categories[SHOWN_CATEGORIES:]
    numbers = bool(known) and all(isinstance(c, int) and not isinstance(c, bool) for c in known.values())
    values = [known[t] if t in known else (int(t) if numbers and _WHOLE.fullmatch(t) else t) for t in texts]
    return (*values, *beyond)


def _cells(full: AnyTable, name: str) -> pd.Series[Any]:
    """Of a column, the smallest and the largest value among them."""
    return full.ends(name) if full.domain[name].is_binned else full.different(name)


def edited_table(
    lines: pd.DataFrame,
    full: AnyTable,
    table: AnyTable,
    left_out: Mapping[str, Attribute],
    progress: Callable[[str, float], None],
) -> AnyTable:
    """The table over the domain that edited lines describe; also the task of a background job.

    Args:
        lines: as :func:`edited_domain` takes them, as is the next.
        full: all columns as read.
        table: as it was.
        left_out: what columns were that it has no more.
        progress: told of each step.
    """
    progress("counting the columns anew", 0.0)
    domain = edited_domain(lines, full, table.domain, left_out)
    of = table if domain.names == table.domain.names else full
    return of.with_domain(domain).prepared()


def reads_rows(lines: pd.DataFrame, full: AnyTable, table: AnyTable, left_out: Mapping[str, Attribute]) -> bool:
    """Whether :func:`edited_table` asks an engine for something."""
    if isinstance(table, Table):
        return False
    kinds = {a.name: a.kind for a in (*full.domain.attributes, *left_out.values(), *table.domain.attributes)}
    used = zip(lines["column"], lines["kind"], lines["use"], strict=True)
    other = any(use and kind != kinds[name] for name, kind, use in used)
    return other or not table.counts_as(edited_domain(lines, full, table.domain, left_out))


def _bound(text: str, kind: str, name: str, side: str) -> float | None:
    text = text.strip()
    if not text or text == "nan":
        return None
    try:
        if kind == "date":
            if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
                raise ValueError
            return float(np.datetime64(text, "D").astype(np.int64))
        if "_" in text or not text.isascii():  # which are no numbers in files, either
            raise ValueError
        value = float(text)
    except ValueError:
        expected = "a date such as 2024-01-31" if kind == "date" else "a number"
        todo = "write one, or empty the cell to take the data's"
        said = f"column {quoted(name)}: {side} bound {quoted(text)} is not {expected}; {todo}"
        raise DomainError(said, column=name) from None
    if not math.isfinite(value):
        raise DomainError(f"column {quoted(name)}: {side} bound must be finite, got {text}", column=name)
    return value


def doubts(table: AnyTable, names: Iterable[str]) -> list[str]:
    """Sentences on those of these columns that are stated to be public and look as if read off the rows."""
    stated = [table.domain[name] for name in names if name in table.domain and table.domain[name].public]
    cells = {a: table.ends(a.name) for a in stated if a.is_binned}
    bounds = [
        quoted(a.name)
        for a, column in cells.items()
        if column.notna().any()
        and any(end and end in (a.lower, a.upper) for end in value_range(column, a.kind, a.name))  # a zero is nobody's
    ]
    people = [quoted(a.name) for a in stated if not a.is_binned and a.size > max(_FEW_CATEGORIES, table.n / 2)]
    said = []
    if bounds:
        said.append(
            f"Stated bounds of {listed(bounds)} are the smallest or the largest value in these rows: put wider ones, unless "
            "they are known from elsewhere."
        )
    if people:
        said.append(
            f"The list of values of {listed(people)} is as long as half of the rows or longer: it may say who is in "
            "the data. Leave the column out, unless the list is public."
        )
    return said


def value_range(column: pd.Series[Any], kind: str, name: str) -> tuple[float, float]:
    """The smallest and the largest number or day of a column, apart where they are one.

    Raises:
        DomainError: there is none.
    """
    is_date = kind == "date"
    numbers = days(local_moments(column)) if is_date else floats(column)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        todo = "write dates as 2024-12-31, or keep its kind" if is_date else "keep its kind"
        raise DomainError(f"column {quoted(name)} holds no {kind} values; {todo}", column=name)
    low, high = float(numbers.min()), float(numbers.max())
    apart = 1.0 if is_date else 0.5
    return (low, high) if low < high else (low - apart, high + apart)
