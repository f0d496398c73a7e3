"""Descriptions of a table that other tools keep: metadata of SDV and SDMetrics, JSON Schema, and schemas of pandera.

None of them says what of it was known without looking at the rows, so no column that is read from one is public: whoever
knows confirms it. What else one cannot say is said in notes. Sources: SDV's metadata specification (docs.sdv.dev), JSON
Schema 2020-12, ``DataFrameSchema.to_json`` of pandera.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpsyn import checks, escape
from dpsyn.attribute import Attribute
from dpsyn.data._read_books import Described, Said, of_json_schema, of_pandera, of_sdv
from dpsyn.data.editing import READ_OFF, edited_domain, editor_lines
from dpsyn.data.infer import truth_pair
from dpsyn.dates import day_text
from dpsyn.domain import Domain, listed
from dpsyn.errors import DataError, DomainError, quoted
from dpsyn.schema import read_json
from dpsyn.table import Table

_BINS = 10
_OTHERS = "metadata of SDV, JSON Schema of a row, or the JSON of a pandera schema"


@dataclass(frozen=True)
class CodeBook:
    """What another tool's description says of a table.

    Attributes:
        form: one of :data:`FORMS`.
        columns: what it says, by column; those that are left out are not among them.
        left_out: why, by column.
        notes: on what it says of no column alone, in full sentences.
    """

    form: str
    columns: Mapping[str, Said]
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def project(self, names: Sequence[str] | None) -> CodeBook:
        """The same of some of the columns, in the order given; of all with None.

        Raises:
            ParameterError: ``names`` are none.
            DomainError: there is no such column.
        """
        if names is None:
            return self
        why = "a list of column names, or None"
        names = [checks.text("names", name, why) for name in checks.items("names", names, why)]
        for name in names:
            if name not in self.columns:
                why = f", which was left out: {self.left_out[name]}" if name in self.left_out else ""
                raise DomainError(f"the description has no column {quoted(name)}{why}", column=name)
        return replace(self, columns={name: self.columns[name] for name in names}, left_out={})

    def domain(self, rows: Table | None = None) -> tuple[Domain, tuple[str, ...]]:
        """The domain, no column of it public, and in full sentences what was missing in the description.

        Args:
            rows: the table that it describes, over any domain; what the description does not say is read off it, and with
                a bound of whole numbers their unit, such as 100. Without it the description must say everything.

        Raises:
            ParameterError: ``rows`` are no table in memory.
            DomainError: it does not, there is no column left, or no such column in the rows; the message names the column.
        """
        checks.instance(
            "rows", rows, Table, "a table in memory, such as dpsyn.read_table(path) gives, or None", optional=True
        )
        notes = [f"Column {quoted(name)} was left out: {why}." for name, why in self.left_out.items()]
        notes += self.notes
        if not self.columns:
            first = next((f"; {quoted(name)} was left out: {why}" for name, why in self.left_out.items()), "")
            raise DomainError(f"the description leaves no column to make{first}")
        read = None if rows is None else _read_off(rows, self.columns)
        attributes, taken = [], []
        for name, said in self.columns.items():
            attribute, off_rows = _attribute(name, said, None if read is None else read[name])
            attributes.append(attribute)
            taken += [name] if off_rows else []
            notes += [f"Column {quoted(name)}: {note}." for note in said.notes]
            if said.missing is False and attribute.missing:
                notes.append(
                    f"Column {quoted(name)} is never empty by the description, and is in some rows: it may be empty."
                )
        unsaid = [name for name, said in self.columns.items() if read is None and said.missing is None]
        if unsaid:
            notes.append(f"Whether {listed(unsaid)} may be empty is not said, and was taken as no.")
        if taken:
            notes.append(
                f"Not all of {listed(taken)} could be taken from the description: what is missing was read off the rows."
            )
        return Domain.of(attributes), tuple(notes)


def read_code_book(source: bytes | str | Mapping[str, Any]) -> CodeBook:
    """A description in any of :data:`FORMS`, recognised by what it holds.

    Args:
        source: JSON text, or what it says as a dictionary.

    Raises:
        DataError: it is no JSON, of no known form, or of several tables.
    """
    found = source if isinstance(source, Mapping) else read_json(source)
    if not isinstance(found, Mapping):
        raise DataError(f"this describes no table; there are {_OTHERS}")
    for form, (is_it, read) in _READERS.items():
        if is_it(found):
            return CodeBook(form, *read(found))
    raise DataError(f"this describes no table that is known here; there are {_OTHERS}")


def code_book(domain: Domain, form: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The domain as another tool's description, fit for JSON, and in full sentences what it cannot say.

    Raises:
        ParameterError: there is no such form.
    """
    checks.instance("domain", domain, Domain, "a domain")
    form = checks.choice("form", form, FORMS)
    written, lost = _WRITERS[form](domain)
    if any(a.public for a in domain.attributes):
        lost.append("which columns are known without the rows")
    if any(a.is_binned and a.bins != _BINS for a in domain.attributes):
        lost.append("how many bins a column has")
    if any(a.keep for a in domain.attributes):
        lost.append("what of a date is kept")
    if any(a.kind == "truth" and _pair(a.categories) != a.categories for a in domain.attributes):
        lost.append("which of two values is the true one")
    notes = [f"{form} cannot say {what}." for what in lost]
    inferred = [a.name for a in domain.attributes if not a.public]
    if inferred and form != "sdv":
        notes.append(
            f"Nobody confirmed {listed(inferred)} as public, and nothing in it says so: it may tell of the rows as they do."
        )
    return written, tuple(notes)


def _read_off(rows: Table, columns: Mapping[str, Said]) -> Domain:
    """What the rows say of columns, each of the kind that was said of it."""
    lines = editor_lines(rows, rows.domain, list(columns))
    for at, (name, said) in enumerate(columns.items()):
        own, cells = rows.domain[name], rows.frame[name].dtype
        if said.kind == "date" and pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
            todo = "write them as 2024-12-31, or correct the description"
            raise DomainError(f"column {quoted(name)} holds numbers, and the description says dates: {todo}", column=name)
        if said.kind not in (None, own.kind) and not (said.kind == "truth" and not own.is_binned):
            kind = "categorical" if said.kind == "truth" else said.kind
            lines.loc[at, "kind"] = kind
            lines.loc[at, ["lower", "upper"]] = ""
            if own.is_binned != (kind in ("numeric", "date")):
                lines["categories"] = [[] if i == at else kept for i, kept in enumerate(lines["categories"])]
        lines.loc[at, "source"] = READ_OFF
    return edited_domain(lines, rows, rows.domain)


def _attribute(name: str, said: Said, read: Attribute | None) -> tuple[Attribute, bool]:
    """One column; the second value says whether anything was taken from the rows."""
    kind = said.kind or (None if read is None else read.kind)
    if kind is None:
        raise _silent(name, "what its values are")
    empty = read is not None and read.missing and not said.missing
    missing = bool(said.missing) or empty
    if kind in ("numeric", "date"):
        lower, upper = (
            value if value is not None else None if read is None else getattr(read, side)
            for side, value in (("lower", said.lower), ("upper", said.upper))
        )
        if lower is None or upper is None:
            raise _silent(name, "its bounds")
        made = partial(Attribute, name, kind, lower=lower, upper=upper, missing=missing)
        unbounded = said.lower is None or said.upper is None
        if kind == "numeric" and read is not None and _has_unit_of(read, said, unbounded=unbounded):
            with suppress(DomainError):  # such bounds cannot have the unit of the rows
                return made(unit=read.unit), True
        return made(unit=said.unit), empty or unbounded
    values = said.categories if said.categories is not None or read is None else tuple(read.categories)
    values = (False, True) if values is None and kind == "truth" else values
    if values is None:
        raise _silent(name, "its values")
    plain = kind == "truth" and _pair(values) == (False, True)  # as it says itself
    off_rows = empty or (said.categories is None and read is not None and not plain)
    pair = _pair(values)
    if len(values) == 2 and not missing and (kind == "truth" or pair is not None):
        return Attribute(name, "truth", pair or values), off_rows
    return Attribute(name, "categorical", values, missing=missing), off_rows


def _has_unit_of(read: Attribute, said: Said, *, unbounded: bool) -> bool:
    """Whether the unit of the rows is that of the column: where no unit is said, and where whole numbers are and no more, so
    that the bounds are those of the rows, too."""
    return read.unit is not None and (said.unit is None or (said.unit == 1 and unbounded and read.unit % 1 == 0))


def _pair(values: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Two truth values, the false one first."""
    if len(values) == 2 and all(isinstance(value, bool) for value in values):
        return False, True
    return truth_pair(np.array(values, dtype=object)) if all(isinstance(value, str) for value in values) else None


def _silent(name: str, what: str) -> DomainError:
    return DomainError(
        f"column {quoted(name)}: {what} cannot be taken from the description; give the rows, too", column=name
    )


def _sdv(domain: Domain) -> tuple[dict[str, Any], list[str]]:
    columns = {attribute.name: _sdtype(attribute) for attribute in domain.attributes}
    lost = ["which values a column may take, its bounds, and whether it may be empty", *_units(domain)]
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}, lost


def _units(domain: Domain) -> list[str]:
    """What a form cannot say that knows whole numbers and others."""
    return ["units other than 1"] if any(a.unit not in (None, 1) for a in domain.attributes) else []


def _sdtype(attribute: Attribute) -> dict[str, Any]:
    if attribute.kind == "date":
        return {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    if attribute.kind == "numeric":
        return {"sdtype": "numerical", "computer_representation": "Int64" if attribute.is_whole else "Float"}
    truth = set(attribute.categories) == {False, True} and all(isinstance(c, bool) for c in attribute.categories)
    return {"sdtype": "boolean" if truth else "categorical"}


def _json_schema(domain: Domain) -> tuple[dict[str, Any], list[str]]:
    dates = any(a.kind == "date" for a in domain.attributes)
    written = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {a.name: _property(a) for a in domain.attributes},
        "required": list(domain.names),
        "additionalProperties": False,
    }
    lost = ["the bounds of dates: formatMinimum and formatMaximum are an extension that few tools read"] if dates else []
    if any(a.unit is not None and Fraction(a.unit) != Fraction(str(a.unit)) for a in domain.attributes):
        lost.append("that 0.3 is a multiple of 0.1 to all who read it: some divide floats, and refuse such rows")
    return written, lost


def _property(attribute: Attribute) -> dict[str, Any]:
    if not attribute.is_binned:
        if all(isinstance(c, bool) for c in attribute.categories) and len(attribute.categories) == 2:
            return {"type": ["boolean", "null"] if attribute.missing else "boolean"}
        return {"enum": [*attribute.categories, *([None] if attribute.missing else [])]}
    kind = "string" if attribute.kind == "date" else "integer" if attribute.unit == 1 else "number"
    found: dict[str, Any] = {"type": [kind, "null"] if attribute.missing else kind}
    if attribute.kind == "date":
        return found | dict(zip(("format", "formatMinimum", "formatMaximum"), ("date", *_bounds(attribute)), strict=True))
    found |= dict(zip(("minimum", "maximum"), _bounds(attribute), strict=True))
    return found | ({"multipleOf": attribute.unit} if attribute.unit not in (None, 1) else {})


def _pandera(domain: Domain) -> tuple[dict[str, Any], list[str]]:
    columns = {a.name: _column(a) for a in domain.attributes}
    written: dict[str, Any] = {
        "schema_type": "dataframe",
        "version": "0.20.0",
        "columns": columns,
        "checks": None,
        "index": None,
    }
    written |= {"dtype": None, "coerce": True, "strict": False, "name": None, "ordered": False, "unique": None}
    first, last = (float(np.datetime64(day, "D").astype(int)) for day in ("1677-09-22", "2262-04-11"))
    dates = [a for a in domain.attributes if a.kind == "date"]
    lost = _units(domain)
    if any((a.lower or 0) < first or (a.upper or 0) > last for a in dates):
        lost.append(
            "that there are dates before 1677-09-22 or after 2262-04-11: it counts nanoseconds, and refuses such rows"
        )
    return written, lost


def _column(attribute: Attribute) -> dict[str, Any]:
    if not attribute.is_binned:
        kinds = {bool: "bool", int: "int64", float: "float64"}
        kind = kinds.get(type(attribute.categories[0]), "str") if attribute.categories else "str"
        test: dict[str, Any] = {"isin": list(attribute.categories)}
    else:
        is_date = attribute.kind == "date"
        kind = "datetime64[ns]" if is_date else "int64" if attribute.unit == 1 else "float64"
        low, high = _bounds(attribute)
        test = {"greater_than_or_equal_to": low, "less_than_or_equal_to": high}
    if attribute.missing and kind in ("int64", "bool"):
        kind = {"int64": "Int64", "bool": "boolean"}[kind]
    beside = {"unique": False, "coerce": False, "required": True, "regex": False}
    return {"title": None, "description": None, "dtype": kind, "nullable": attribute.missing, "checks": test, **beside}


def _bounds(attribute: Attribute) -> list[str | float]:
    """As they are written in code books."""
    bounds = [attribute.lower or 0.0, attribute.upper or 0.0]
    return [day_text(b) if attribute.kind == "date" else int(b) if float(b).is_integer() else b for b in bounds]


_READERS: dict[str, tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], Described]]] = {
    "pandera": (lambda found: "schema_type" in found, of_pandera),
    "sdv": (lambda found: isinstance(found.get("columns"), Mapping) or "tables" in found, of_sdv),
    "json-schema": (lambda found: bool({"properties", "items", "allOf", "$ref", "$schema"} & found.keys()), of_json_schema),
}
_WRITERS: dict[str, Callable[[Domain], tuple[dict[str, Any], list[str]]]] = {
    "sdv": _sdv,
    "json-schema": _json_schema,
    "pandera": _pandera,
}
FORMS = tuple(_WRITERS)
"""Names of the forms."""


def code_book_text(domain: Domain, form: str) -> tuple[str, tuple[str, ...]]:
    """:func:`code_book` as JSON text."""
    written, notes = code_book(domain, form)
    return escape.json(json.dumps(written, indent=1, ensure_ascii=False, allow_nan=False)) + "\n", notes
