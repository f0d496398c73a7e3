"""What descriptions of other tools say of each column, in words of our own; see :mod:`dpsyn.data.code_books`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpsyn.attribute import Kind
from dpsyn.dates import ISO_DATE
from dpsyn.errors import DataError, DomainError, quoted, shown

_LEVELS = 20
_UNUSED = ("not", "if", "nullable", "formatExclusiveMinimum", "formatExclusiveMaximum")
_EXCLUSIVE = ("exclusiveMinimum", "exclusiveMaximum")
"""Truth values in earlier drafts of JSON Schema, as "nullable" is in OpenAPI 3.0."""
_SHORT = {
    "ge": "greater_than_or_equal_to",
    "gt": "greater_than",
    "le": "less_than_or_equal_to",
    "lt": "less_than",
    "eq": "equal_to",
    "ne": "not_equal_to",
    "between": "in_range",
}
"""Names of pandera's checks that stand for others."""
_BOUNDS, _VALUES = (*tuple(_SHORT.values())[:4], "in_range"), ("isin", "equal_to")
_CHECKS = (*_BOUNDS, *_VALUES, "not_equal_to", "notin", "unique_values_eq")
_CHECKS += ("str_matches", "str_contains", "str_startswith", "str_endswith", "str_length")
_IDENTIFIER = "it names the rows or the people in them, and nothing can be learned from that"


@dataclass(frozen=True)
class Said:
    """What is said of a column; None is what is not.

    Attributes:
        kind: of its values.
        categories: its values, in their order.
        lower, upper: numeric and date (days since 1970-01-01): bounds.
        unit: its values are multiples of it; None with ``any_number`` where they are any.
        any_number: it is said that there is no unit.
        missing: it may be empty.
        notes: clauses on what was said and cannot be taken over.
    """

    kind: Kind | None = None
    categories: tuple[Any, ...] | None = None
    lower: float | None = None
    upper: float | None = None
    unit: float | None = None
    any_number: bool | None = None
    missing: bool | None = None
    notes: tuple[str, ...] = ()


def of_sdv(found: Mapping[str, Any]) -> tuple[dict[str, Said], dict[str, str]]:
    """Metadata of SDV or SDMetrics, of one table."""
    tables = found.get("tables", {"": found})
    if not isinstance(tables, Mapping) or len(tables) != 1:
        names = ", ".join(map(repr, tables)) if isinstance(tables, Mapping) else shown(tables)
        raise DataError(f"the metadata must be of one table, and has {names}: keep one")
    (table,) = tables.values()
    columns = _named(_named(table, "a table of the metadata").get("columns"), "the columns of the metadata")
    keys = [table.get("primary_key"), *_list(table.get("alternate_keys"))]
    keys += [part for key in keys if isinstance(key, list) for part in key]
    told, left_out = {}, {}
    for name, column in columns.items():
        kind = _named(column, f"column {quoted(name)}").get("sdtype")
        if name in keys or kind == "id" or column.get("pii") is True:
            left_out[name] = _IDENTIFIER
        elif kind == "categorical":
            ordered = [word for word in ("order", "order_by") if column.get(word) is not None]
            told[name] = Said("categorical", notes=("the order that it gives its values is not used",) if ordered else ())
        elif kind == "boolean":
            told[name] = Said("truth")
        elif kind == "numerical":
            as_held = str(column.get("computer_representation", ""))
            whole = as_held.startswith(("Int", "UInt"))
            told[name] = Said("numeric", unit=1.0 if whole else None, any_number=True if as_held == "Float" else None)
        elif kind == "datetime":
            written = str(column.get("datetime_format", ""))
            notes = ["of a time only the day is kept"] if any(f"%{letter}" in written for letter in "HIMSfcXT") else []
            if written and not written.startswith("%Y-%m-%d"):
                notes.append(f"how it says that dates are written, {shown(written)}, is not used: write them as 2024-12-31")
            told[name] = Said("date", notes=tuple(notes))
        else:
            left_out[name] = f"its sdtype is {shown(kind)}, which is neither numbers, dates nor categories"
    return told, left_out


def of_json_schema(found: Mapping[str, Any]) -> tuple[dict[str, Said], dict[str, str]]:
    """JSON Schema of a row, or of a list of rows."""
    row = _resolved(found, found)
    if "properties" not in row and isinstance(row.get("items"), Mapping):
        row = _resolved(row["items"], found)
    columns = _named(row.get("properties"), "the properties of the schema")
    required = _list(row.get("required"))
    told = {}
    for name, column in columns.items():
        said = _of_node(_named(column, f"property {name!r}"), found, name)
        told[name] = said if name in required or not required else replace(said, missing=True)
    return told, {}


def _of_node(node: Mapping[str, Any], root: Mapping[str, Any], name: str, levels: int = _LEVELS) -> Said:
    node = _resolved(node, root)
    if levels == 0:
        raise DataError(f"property {name!r} is nested too deeply")
    unused = [w for w in node if w in _UNUSED or (w in _EXCLUSIVE and isinstance(node[w], bool))]
    if unused:
        said = _of_node({word: node[word] for word in node if word not in unused}, root, name, levels)
        more = (f"what {word!r} says of it is not used" for word in unused if node[word] is not False)
        return replace(said, notes=(*said.notes, *more))
    for word in ("anyOf", "oneOf", "allOf"):
        if word in node:
            parts = [_of_node(_named(part, f"property {name!r}"), root, name, levels - 1) for part in _list(node[word])]
            beside = _of_node({k: v for k, v in node.items() if k != word}, root, name, levels - 1)
            return _together(parts, beside, union=word != "allOf")
    kinds = _list(node["type"]) if isinstance(node.get("type"), list) else [node["type"]] if "type" in node else []
    values = [node["const"]] if "const" in node else node.get("enum")
    missing = "null" in kinds if kinds else None
    kinds = [kind for kind in kinds if kind != "null"]
    if values is not None:
        listed = _list(values)
        there = tuple(value for value in listed if value is not None)
        return Said("categorical", there, missing=True if len(there) < len(listed) else None)
    if not kinds:
        return Said(missing=missing)
    if kinds == ["boolean"]:
        return Said("truth", missing=missing)
    if all(kind in ("integer", "number") for kind in kinds):
        low = _number(node.get("minimum"), node.get("exclusiveMinimum"), max, name)
        high = _number(node.get("maximum"), node.get("exclusiveMaximum"), min, name)
        step = node.get("multipleOf")
        whole = kinds == ["integer"]
        exact = Fraction(str(step)) if isinstance(step, int | float) and _is_number(step) and step > 0 else None
        exact = Fraction(1 if exact is None else exact.numerator) if whole else exact
        unit = None if exact is None else float(exact)
        if low is not None and low == node.get("exclusiveMinimum"):
            low = _next_multiple(low, exact, above=True)
        if high is not None and high == node.get("exclusiveMaximum"):
            high = _next_multiple(high, exact, above=False)
        return Said("numeric", lower=low, upper=high, unit=unit, any_number=unit is None or None, missing=missing)
    if kinds == ["string"] and node.get("format") in ("date", "date-time"):
        note = ("of a time only the day is kept",) if node["format"] == "date-time" else ()
        low, high = (_days(node.get(word), name) for word in ("formatMinimum", "formatMaximum"))
        return Said("date", lower=low, upper=high, missing=missing, notes=note)
    if kinds == ["string"]:
        return Said(missing=missing, notes=("which texts there are is not said",))
    raise DomainError(f"property {name!r}: a column holds single values, not {' or '.join(map(shown, kinds))}", column=name)


def _together(parts: Sequence[Said], beside: Said, *, union: bool) -> Said:
    """Alternatives, or what holds at once: lists of values are put together, null means that it may be empty."""
    every = [part for part in (beside, *parts) if part != Said()]
    missing = True if any(part.missing for part in every) else None
    told = [part for part in every if replace(part, missing=None) not in (Said(), Said("categorical", ()))]
    if union and told and all(part.categories is not None for part in told):
        seen: dict[Any, Any] = {}
        for value in (value for part in told for value in part.categories or ()):
            # What is no single value is refused later, by its name.
            seen.setdefault(value if isinstance(value, Hashable) else repr(value), value)
        notes = tuple(dict.fromkeys(note for part in told for note in part.notes))
        return Said("categorical", tuple(seen.values()), missing=missing, notes=notes)
    if len(told) == 1:
        return replace(told[0], missing=missing)
    return Said(missing=missing, notes=("what is said of it in parts was not put together",) if told else ())


def _resolved(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the document stands for."""
    for _ in range(_LEVELS):
        if "$ref" not in node:
            return node
        at: Any = root
        for part in str(node["$ref"]).removeprefix("#").split("/"):
            at = at.get(part.replace("~1", "/").replace("~0", "~")) if part and isinstance(at, Mapping) else at
        if not str(node["$ref"]).startswith("#") or not isinstance(at, Mapping):
            raise DataError(f"the schema refers to {shown(node['$ref'])}, which is not in it")
        node = {**at, **{word: value for word, value in node.items() if word != "$ref"}}
    raise DataError("the schema refers to itself")


def of_pandera(found: Mapping[str, Any]) -> tuple[dict[str, Said], dict[str, str]]:
    """What ``to_json`` of a pandera DataFrameSchema writes, of this and of earlier versions."""
    told = {}
    for name, described in _named(found.get("columns"), "the columns of the pandera schema").items():
        column = _named(described, f"column {quoted(name)}")
        held = str(column.get("dtype", column.get("pandas_dtype", ""))).lower()
        own = _tests(column.get("checks"))
        tests = _tests({**column, **own})  # since 0.30 they stand beside the other fields
        both = _named(tests.get("in_range") or {}, f"in_range of column {quoted(name)}")
        low, above = _first(tests, "greater_than_or_equal_to", "greater_than", both, "min")
        high, below = _first(tests, "less_than_or_equal_to", "less_than", both, "max")
        missing = bool(column.get("nullable"))
        if "isin" in tests or "equal_to" in tests:
            values = tests.get("isin", tests.get("equal_to"))
            told[name] = Said("categorical", tuple(values if isinstance(values, list) else [values]), missing=missing)
        elif held.startswith("bool"):
            told[name] = Said("truth", missing=missing)
        elif held.startswith(("datetime", "date", "timestamp")):
            first, last = _days(low, name), _days(high, name)
            if first is not None and above and held == "date":
                first += 1
            if last is not None and below and not re.search("[1-9]", str(high)[10:]):  # before its midnight
                last -= 1
            told[name] = Said("date", lower=first, upper=last, missing=missing)
        elif held.startswith(("int", "uint", "float", "decimal")):
            whole = "int" in held
            least, most = (_number(side, None, max, name) for side in (low, high))
            if whole:  # beyond a bound that is excluded is the next whole number
                least = math.floor(least) + 1 if least is not None and above else least
                most = math.ceil(most) - 1 if most is not None and below else most
            any_number = None if whole else True
            told[name] = Said(
                "numeric", lower=least, upper=most, unit=1.0 if whole else None, any_number=any_number, missing=missing
            )
        elif held in ("category", "str", "string", "object") or held.startswith("string"):
            told[name] = Said("categorical", missing=missing)
        else:
            told[name] = Said(missing=missing)
        used = _BOUNDS if told[name].kind in ("numeric", "date") else _VALUES
        said = [test for test, value in tests.items() if test in own or (test in _CHECKS and value is not None)]
        notes = (f"its check {quoted(test)} is not used" for test in said if test not in used and tests[test] != [])
        told[name] = replace(told[name], notes=tuple(notes))
    return told, {}


def _first(tests: Mapping[str, Any], included: str, excluded: str, both: Mapping[str, Any], end: str) -> tuple[Any, bool]:
    """A bound by the test that sets it, and whether the bound itself is excluded."""
    if included in tests:
        return tests[included], False
    if excluded in tests:
        return tests[excluded], True
    return both.get(f"{end}_value"), both.get(f"include_{end}") is False


def _tests(checks: Any) -> dict[str, Any]:
    """Checks by name, each with its value, or with the mapping of its values where it has several."""
    listed = checks if isinstance(checks, list) else []
    named = {
        _named(c.get("options"), "the options of a check").get("check_name"): c for c in listed if isinstance(c, Mapping)
    }
    named |= dict(checks) if isinstance(checks, Mapping) else {}
    found = {}
    for called, test in named.items():
        name = _SHORT.get(str(called), str(called))
        held = {k: v for k, v in test.items() if k != "options"} if isinstance(test, Mapping) else test
        several = isinstance(held, dict) and name == "in_range"
        found[name] = held if several or not isinstance(held, dict) else next(iter(held.values()), None)
    return found


def _named(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise DataError(f"{what} must be an object with names, not {shown(found)}")
    return found


def _list(found: Any) -> list[Any]:
    if found is None:
        return []
    if not isinstance(found, list):
        raise DataError(f"a list is needed, not {shown(found)}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _number(first: Any, second: Any, narrower: Any, name: str) -> float | None:
    values = [value for value in (first, second) if not (value is None or isinstance(value, bool))]
    if not all(map(_is_number, values)):
        what = ", ".join(map(shown, values))
        raise DomainError(f"column {quoted(name)}: a bound must be a number of at most 300 digits, not {what}", column=name)
    return float(narrower(values)) if values else None


def _next_multiple(bound: float, unit: Fraction | None, *, above: bool) -> float:
    """What is left of a bound that is excluded: the multiple next to it, where there is a unit."""
    if unit is None:
        return bound
    steps = Fraction(str(bound)) / unit
    return float((math.floor(steps) + 1 if above else math.ceil(steps) - 1) * unit)


def _days(text: Any, name: str) -> float | None:
    if text is None:
        return None
    try:
        if not re.fullmatch(ISO_DATE, str(text)):
            raise ValueError
        return float((np.datetime64(str(text)[:10], "D") - np.datetime64(0, "D")).astype(int))
    except ValueError:
        raise DomainError(f"column {quoted(name)}: {shown(text)} is not a date such as 2001-12-31", column=name) from None
