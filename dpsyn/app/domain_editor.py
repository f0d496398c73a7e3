"""The domain as a table that can be edited: one line per column. Pure functions; the page draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dpsyn.domain import KINDS, Attribute, Domain
from dpsyn.errors import DomainError
from dpsyn.table import Table

SHOWN_CATEGORIES = 500


def editor_lines(full: Table, current: Domain) -> pd.DataFrame:
    """One line per column of the data: use, column, kind, categories, lower, upper, bins, missing, public."""
    lines = []
    kept = {attribute.name: attribute for attribute in current.attributes}
    for read in full.domain.attributes:
        attribute = kept.get(read.name, read)
        lines.append(
            {
                "use": read.name in current,
                "column": attribute.name,
                "kind": attribute.kind,
                "categories": [str(c) for c in attribute.categories[:SHOWN_CATEGORIES]],
                "lower": _bound_text(attribute, attribute.lower),
                "upper": _bound_text(attribute, attribute.upper),
                "bins": attribute.bins if attribute.is_binned else None,
                "missing": attribute.missing,
                "public": attribute.public,
            }
        )
    return pd.DataFrame(lines).astype({"bins": "Int64"})


def _bound_text(attribute: Attribute, bound: float | None) -> str:
    if bound is None:
        return ""
    if attribute.kind == "date":
        return f"{pd.Timestamp('1970-01-01') + pd.Timedelta(days=bound):%Y-%m-%d}"
    return f"{bound:.15g}"


def edited_domain(lines: pd.DataFrame, full: Table, current: Domain) -> Domain:
    """The domain that edited lines describe.

    A column whose kind was changed takes what the new kind needs (categories, bounds) from the data unless the line
    gives it; that is inferred, so the column is not public, whatever the line says: what nobody has seen yet cannot be
    confirmed. The next edit, which shows it, can.

    Raises:
        DomainError: a line cannot be understood, or no column is left; the message names the column.
    """
    attributes = []
    for record in lines.to_dict("records"):
        line = {str(key): value for key, value in record.items()}
        if line["use"]:
            name = str(line["column"])
            old = (current if name in current else full.domain)[name]
            attributes.append(_attribute(line, old, full.frame[name]))
    if not attributes:
        raise DomainError("no column is in use: tick at least one")
    return Domain.of(attributes)


def _attribute(line: dict[str, Any], old: Attribute, column: pd.Series[Any]) -> Attribute:
    kind, missing, public = line["kind"], bool(line["missing"]), bool(line["public"])
    if kind not in KINDS:
        raise DomainError(f"column {old.name!r}: choose a kind ({', '.join(KINDS)})", column=old.name)
    if kind in ("truth", "categorical"):
        texts = [] if line["categories"] is None else [str(text) for text in line["categories"]]
        public = public and (bool(texts) or not old.is_binned)
        return Attribute(old.name, kind, _categories(texts, old, column), missing=missing, public=public)
    lower, upper = (_bound(str(line[side] or ""), kind, old.name, side) for side in ("lower", "upper"))
    if lower is None or upper is None or old.kind != kind:
        public = False
    if lower is None or upper is None:
        found = _range(column, kind, old.name)
        lower, upper = found[0] if lower is None else lower, found[1] if upper is None else upper
    bins = 10 if pd.isna(line["bins"]) else int(line["bins"])
    integer = old.integer if old.kind == kind else kind == "numeric" and _whole(column)
    return Attribute(old.name, kind, lower=lower, upper=upper, bins=bins, integer=integer, missing=missing, public=public)


def _categories(texts: Sequence[str], old: Attribute, column: pd.Series[Any]) -> tuple[Any, ...]:
    """Texts back to values: those of the old categories or of the data, else the text itself (a number among numbers)."""
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
    if kind == "date":
        dates = pd.to_datetime(column, errors="coerce")
        numbers = (dates - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    else:
        numbers = pd.to_numeric(column, errors="coerce")
    numbers = numbers.dropna()
    if numbers.empty:
        raise DomainError(f"column {name!r} holds no {kind} values; keep it categorical", column=name)
    low, high = float(numbers.min()), float(numbers.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _whole(column: pd.Series[Any]) -> bool:
    numbers = pd.to_numeric(column, errors="coerce").dropna()
    return bool(((numbers % 1) == 0).all())
