"""What descriptions of other tools say of each column, in words of our own; see :mod:`dpsyn.data.code_books`."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from urllib.parse import unquote

import numpy as np

from dpsyn.attribute import Kind
from dpsyn.dates import ISO_DATE
from dpsyn.domain import listed
from dpsyn.errors import DataError, DomainError, quoted, shown

_LEVELS = 20
_MOST_LOOKED_AT = 5_000_000
_UNUSED_OF_ROWS = (
    *("anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties", "prefixItems"),
)
_UNUSED = ("not", "if", "nullable", "formatExclusiveMinimum", "formatExclusiveMaximum")
_EXCLUSIVE = ("exclusiveMinimum", "exclusiveMaximum")
"""Truth values in earlier drafts of JSON Schema, as "nullable" is in OpenAPI 3.0."""
_OF_NUMBERS = ("minimum", "maximum", *_EXCLUSIVE, "multipleOf")
_OF_DAYS = ("formatMinimum", "formatMaximum")
_OF_TEXTS = ("minLength", "maxLength", "pattern", "format", *_OF_DAYS)
_TYPES = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": Mapping}
_APART = "what is said of it in parts was not put together"
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
_FLAGS = ("nullable", "required", "regex")
_OF_CHECKS = ("options", "raise_warning", "ignore_na")
_IDENTIFIER = "it names the rows or the people in them, and nothing can be learned from that"


@dataclass(frozen=True)
class Said:
    """What is said of a column; None is what is not.

    Attributes:
        kind: of its values.
        categories: its values, in their order.
        lower, upper: numeric and date (days since 1970-01-01): bounds.
        unit: its values are multiples of it.
        missing: it may be empty.
        notes: clauses on what was said and cannot be taken over.
    """

    kind: Kind | None = None
    categories: tuple[Any, ...] | None = None
    lower: float | None = None
    upper: float | None = None
    unit: float | None = None
    missing: bool | None = None
    notes: tuple[str, ...] = ()


Described = tuple[dict[str, Said], dict[str, str], tuple[str, ...]]
"""What is said by column, why others are left out, and notes on what is said of no column alone."""


def of_sdv(found: Mapping[str, Any]) -> Described:
    """Metadata of SDV or SDMetrics, of one table."""
    tables = found.get("tables", {"": found})
    if not isinstance(tables, Mapping) or len(tables) != 1:
        names = ", ".join(map(repr, tables)) if isinstance(tables, Mapping) else shown(tables)
        raise DataError(f"the metadata must be of one table, and has {names}: keep one")
    (table,) = tables.values()
    columns = _named(_named(table, "a table of the metadata").get("columns"), "the columns of the metadata")
    keys = [table.get("primary_key"), *_list(table.get("alternate_keys"), "alternate_keys")]
    single = {part for key in keys for part in (key if isinstance(key, list) else [key]) if isinstance(part, str)}
    told, left_out = {}, {}
    for name, column in columns.items():
        kind = _named(column, f"column {quoted(name)}").get("sdtype")
        if name in single or kind == "id" or column.get("pii") is True:
            left_out[name] = _IDENTIFIER
        elif kind == "categorical":
            ordered = [word for word in ("order", "order_by") if column.get(word) is not None]
            told[name] = Said("categorical", notes=("the order that it gives its values is not used",) if ordered else ())
        elif kind == "boolean":
            told[name] = Said("truth")
        elif kind == "numerical":
            whole = str(column.get("computer_representation", "")).startswith(("Int", "UInt"))
            told[name] = Said("numeric", unit=1.0 if whole else None)
        elif kind == "datetime":
            written = str(column.get("datetime_format", ""))
            notes = ["of a time only the day is kept"] if any(f"%{letter}" in written for letter in "HIMSfcXT") else []
            if written and not written.startswith("%Y-%m-%d"):
                notes.append(f"how it says that dates are written, {shown(written)}, is not used: write them as 2024-12-31")
            told[name] = Said("date", notes=tuple(notes))
        else:
            left_out[name] = f"its sdtype is {shown(kind)}, which is neither numbers, dates nor categories"
    return told, left_out, ()


class _Document(dict[str, Any]):
    """A JSON Schema, and how much of it may still be looked at: a few parts that refer to each other can come to as much as
    one likes."""

    left = _MOST_LOOKED_AT

    def look(self, *found: Any) -> None:
        """Count what is looked at: parts of a schema, and lists."""
        self.left -= 20 + sum(map(_extent, found))
        if self.left < 0:
            raise DataError("the schema comes to too much once it is put together: simplify it")


def _extent(found: Any) -> int:
    within = found.values() if isinstance(found, Mapping) else ()
    return len(found) + sum(len(value) for value in within if isinstance(value, list | Mapping))


def of_json_schema(found: Mapping[str, Any]) -> Described:
    """JSON Schema of a row, or of a list of rows."""
    root = _Document(found)
    rows = list(_rows(root, root))
    lists = [row["items"] for row in rows if isinstance(row.get("items"), Mapping)]
    if lists and not any("properties" in row for row in rows):
        rows = [*rows, *(row for items in lists for row in _rows(items, root))]
    required = {name: None for row in rows for name in _list(row.get("required"), "required") if isinstance(name, str)}
    columns: dict[str, list[Mapping[str, Any] | Said]] = {}
    for row in rows:
        for name, column in _named(row.get("properties", {}), "the properties of the schema").items():
            columns.setdefault(name, []).extend(_parts(_node(column, f"property {name!r}"), root, name))
    if not columns:
        raise DataError("the schema names no properties, which are the columns of a row")
    told = {name: _together(parts, name) for name, parts in columns.items()}
    if required:
        told = {name: said if name in required else replace(said, missing=True) for name, said in told.items()}
    else:
        told = {name: said if said.missing else replace(said, missing=None) for name, said in told.items()}
    words = dict.fromkeys(word for row in rows for word, value in row.items() if word in _UNUSED_OF_ROWS and value != {})
    words |= {"additionalProperties": None} if any(row.get("additionalProperties") for row in rows) else {}
    notes = [f"What {word!r} says of the rows is not used." for word in words]
    notes += [
        f"Column {quoted(name)} is required and not described: it was left out." for name in required if name not in told
    ]
    return told, {}, tuple(notes)


def _rows(node: Mapping[str, Any], root: _Document, levels: int = _LEVELS) -> Iterator[Mapping[str, Any]]:
    """Descriptions of a row that hold at once."""
    root.look(node)
    if levels == 0:
        raise DataError("the schema refers to itself")
    referred = [_referred(node["$ref"], root)] if "$ref" in node else []
    for part in (*referred, *(_node(part, "a part of the schema") for part in _list(node.get("allOf"), "allOf"))):
        yield from _rows(part, root, levels - 1)
    yield node


def _together(found: Sequence[Mapping[str, Any] | Said], name: str) -> Said:
    """What is said in all of :func:`_parts` at once."""
    beside = [part for part in found if isinstance(part, Said)]
    notes = [note for part in beside for note in part.notes]
    said = _of_plain([part for part in found if not isinstance(part, Said)], name, guess=_APART not in notes)
    empty = [part.missing for part in beside]
    missing = True if said.missing is None and True in empty else said.missing
    if False in empty:  # two alternatives allow null, of which one may hold
        missing = False
    return replace(said, missing=missing, notes=tuple(dict.fromkeys((*said.notes, *notes))))


def _parts(node: Mapping[str, Any], root: _Document, name: str, levels: int = _LEVELS) -> Iterator[Mapping[str, Any] | Said]:
    """Nodes without parts that hold at once, and notes on what is not among them."""
    root.look(node)
    if levels == 0:
        raise DataError(f"property {name!r} is nested too deeply")
    plain = {}
    for word, value in node.items():
        if word in _UNUSED or (word in _EXCLUSIVE and isinstance(value, bool)):
            if value is not False:
                yield Said(notes=_not_used([word]))
        elif word == "$ref":
            yield from _parts(_referred(value, root), root, name, levels - 1)
        elif word == "allOf":
            for part in _list(value, f"allOf of property {name!r}"):
                yield from _parts(_node(part, f"property {name!r}"), root, name, levels - 1)
        elif word in ("anyOf", "oneOf"):
            parts = [_node(part, f"property {name!r}") for part in _list(value, f"{word} of property {name!r}")]
            yield from _one_of(parts, root, name, levels - 1, once=word == "oneOf")
        else:
            plain[word] = value
    yield plain


def _one_of(
    parts: Sequence[Mapping[str, Any]], root: _Document, name: str, levels: int, *, once: bool
) -> Iterator[Mapping[str, Any] | Said]:
    """The same of alternatives: lists of values are put together, null means that it may be empty. ``once``: not two of them
    may hold."""
    every = [(found, _together(found, name)) for found in (list(_parts(part, root, name, levels)) for part in parts)]
    empty = sum(said.missing is True for _, said in every)
    exact = not any(said.notes for _, said in every)
    missing = empty == 1 if once and exact and empty else True if empty else None
    told = [(found, said) for found, said in every if replace(said, missing=None) not in (Said(), Said("categorical", ()))]
    silent = any(said == Said() for _, said in every)
    if not told:
        yield {"type": ["null"]} if missing and not silent else {}
    elif len(told) == 1 and not silent:
        yield Said(missing=missing)
        for each in told[0][0]:
            yield each if isinstance(each, Said) or not missing else _or_null(each, name)
    elif not silent and all(said.categories is not None for _, said in told):
        lists = [{_key(value): value for value in said.categories or ()} for _, said in told]
        root.look(*lists)
        times = Counter(key for values in lists for key in values)
        first = {key: value for values in reversed(lists) for key, value in values.items()}
        there = [first[key] for key, found in times.items() if found == 1 or not (once and exact)]
        yield {"enum": [*there, *([None] if missing else [])]}
        yield Said(notes=tuple(note for _, said in told for note in said.notes))
    else:
        yield Said(missing=missing, notes=(_APART,))


def _of_plain(nodes: Sequence[Mapping[str, Any]], name: str, *, guess: bool) -> Said:
    """What nodes without parts come to that hold at once; ``guess``: where no type is said, bounds are those of one."""

    def every(*words: str) -> list[Any]:
        return [node[word] for node in nodes for word in words if node.get(word) is not None]

    types = [kinds for kinds in map(_kinds, nodes) if kinds is not None]
    others = [set(map(_key, kinds)) for kinds in types[1:]]
    allowed = [kind for kind in types[0] if all(_key(kind) in kinds for kinds in others)] if types else []
    lists = [values for values in (_values(node, name) for node in nodes) if values is not None]
    if lists:
        return _of_values(lists, allowed if types else None, [word for node in nodes for word in node])
    missing = "null" in allowed if types else None
    kinds = [kind for kind in allowed if kind != "null" and not (kind == "integer" and "number" in allowed)]
    days = [each for each in every("format") if each in ("date", "date-time")]
    if not types and guess:
        kinds = ["number"] if every(*_OF_NUMBERS) else ["string"] if days else []
    unused = _not_used(word for word in (*_OF_NUMBERS, *_OF_DAYS) if every(word))
    if types and not allowed:
        return Said(notes=(_APART,))
    if not kinds:
        return Said(missing=missing, notes=unused)
    if kinds == ["boolean"]:
        return Said("truth", missing=missing)
    if all(kind in ("integer", "number") for kind in kinds):
        low = max(_numbers(every("minimum", "exclusiveMinimum"), name), default=None)
        high = min(_numbers(every("maximum", "exclusiveMaximum"), name), default=None)
        steps = every("multipleOf")
        exact = _unit(steps, name, whole=kinds == ["integer"])
        odd = _not_used(["multipleOf"] if not all(_is_number(step) and step > 0 for step in steps) else ())
        unit = None if exact is None else float(exact)
        above, below = low in every(_EXCLUSIVE[0]), high in every(_EXCLUSIVE[1])
        notes = _still_allowed((low, above), (high, below)) if exact is None else ()
        if low is not None and above:
            low = _next_multiple(low, exact, above=True)
        if high is not None and below:
            high = _next_multiple(high, exact, above=False)
        return Said("numeric", lower=low, upper=high, unit=unit, missing=missing, notes=(*notes, *odd))
    if kinds == ["string"] and days:
        note = ("of a time only the day is kept",) if "date-time" in days else ()
        firsts, lasts = ([_days(each, name) for each in every(word)] for word in _OF_DAYS)
        return Said("date", lower=max(firsts, default=None), upper=min(lasts, default=None), missing=missing, notes=note)
    if kinds == ["string"]:
        return Said(missing=missing, notes=("which texts there are is not said", *unused))
    raise DomainError(f"property {name!r}: a column holds single values, not {' or '.join(map(shown, kinds))}", column=name)


def _of_values(lists: Sequence[Sequence[Any]], types: Sequence[Any] | None, words: Sequence[str]) -> Said:
    """Values that are in all lists, without those that the types exclude."""
    others = [set(map(_key, more)) for more in lists[1:]]
    fit: list[Any] = []
    out: list[Any] = []
    for value in (value for value in lists[0] if all(_key(value) in more for more in others)):
        (fit if types is None or any(_is_of(value, kind) for kind in types) else out).append(value)
    there = tuple(value for value in fit if value is not None)
    left_out = listed("null" if value is None else shown(value) for value in out)
    notes = (f"of its values those are left out that its type excludes: {left_out}",) if out else ()
    tests = (*_OF_NUMBERS * any(map(_is_number, there)), *_OF_TEXTS * any(isinstance(value, str) for value in there))
    unused = _not_used(word for word in words if word in tests)
    return Said("categorical", there, missing=None in fit, notes=(*notes, *unused))


def _kinds(node: Mapping[str, Any]) -> list[Any] | None:
    """The types of a node, whole numbers among them where numbers are; None where it says none."""
    if "type" not in node:
        return None
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return [*kinds, "integer"] if "number" in kinds else kinds


def _values(node: Mapping[str, Any], name: str) -> list[Any] | None:
    """The values that a node lists; None where it lists none."""
    if "const" in node:
        return [node["const"]]
    return None if node.get("enum") is None else _list(node["enum"], f"enum of property {name!r}")


def _or_null(node: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A node without parts that may be null, too."""
    kinds, values = _kinds(node), _values(node, name)
    found = {word: value for word, value in node.items() if word != "const"}
    found |= {} if kinds is None else {"type": [*kinds, "null"]}
    return found | ({} if values is None else {"enum": [*values, None]})


def _is_of(value: Any, kind: Any) -> bool:
    if kind in ("integer", "number"):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (kind == "number" or isinstance(value, int) or value.is_integer())
    return isinstance(value, _TYPES.get(str(kind), object))


def _key(value: Any) -> Any:
    """Equal for equal values; what is no single value is refused later, by its name."""
    return (isinstance(value, bool), value) if isinstance(value, Hashable) else repr(value)


def _not_used(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"what {word!r} says of it is not used" for word in words)


def _referred(reference: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the document stands for."""
    at: Any = root
    for part in filter(None, unquote(str(reference)).removeprefix("#").split("/")):
        if isinstance(at, list) and part.isdecimal() and int(part) < len(at):
            at = at[int(part)]
        else:
            at = at.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(at, Mapping) else None
    if not str(reference).startswith("#") or not isinstance(at, bool | Mapping):
        raise DataError(f"the schema refers to {shown(reference)}, which is not in it")
    return _node(at, f"what {shown(reference)} stands for")


def _node(found: Any, what: str) -> Mapping[str, Any]:
    """A schema; ``true`` says as little as one without words."""
    return {} if found is True else _named(found, what)


def of_pandera(found: Mapping[str, Any]) -> Described:
    """What ``to_json`` of a pandera DataFrameSchema writes, of this and of earlier versions."""
    told, left_out = {}, {}
    for name, described in _named(found.get("columns"), "the columns of the pandera schema").items():
        column = _named(described, f"column {quoted(name)}")
        missing, _, regex = (_flag(column.get(word), f"{word} of column {quoted(name)}") for word in _FLAGS)
        if regex:
            left_out[name] = "it stands for all columns whose names fit a pattern: describe each of them"
            continue
        held = str(column.get("dtype", column.get("pandas_dtype", ""))).lower()
        own = _tests(column.get("checks"), name)
        # Since 0.30 they stand beside the other fields.
        beside = {word: value for word, value in column.items() if _SHORT.get(word, word) in _CHECKS and value is not None}
        tests = [*_tests(beside, name), *own]
        low = _ends(tests, "greater_than_or_equal_to", "greater_than", "min", name)
        high = _ends(tests, "less_than_or_equal_to", "less_than", "max", name)
        lists = [value if isinstance(value, list) else [value] for test, value in tests if test in _VALUES]
        if lists:
            told[name] = replace(_of_values(lists, None, ()), missing=missing)
        elif held.startswith("bool"):
            told[name] = Said("truth", missing=missing)
        elif held.startswith(("datetime", "date", "timestamp")):
            firsts = [_days(day, name) + (above and held == "date") for day, above in low]
            # Below its midnight is the day before.
            lasts = [_days(day, name) - (below and not re.search("[1-9]", str(day)[10:])) for day, below in high]
            told[name] = Said("date", lower=max(firsts, default=None), upper=min(lasts, default=None), missing=missing)
        elif re.match("u?int(?!erval)|float|decimal", held):
            places = re.match(r"decimal\w*\((?:precision=)?\d{1,2}, *(?:scale=)?(\d{1,2})\)", held)
            unit = Fraction(1, 10 ** int(places[1])) if places else Fraction(1) if held.startswith(("int", "uint")) else None
            least, most = (
                [_next_multiple(_numbers([bound], name)[0], unit if out else None, above=above) for bound, out in side]
                for side, above in ((low, True), (high, False))
            )
            lower, upper = max(least, default=None), min(most, default=None)
            ends = ((lower, (lower, True) in low), (upper, (upper, True) in high))
            told[name] = Said("numeric", lower=lower, upper=upper, unit=float(unit) if unit else None, missing=missing)
            told[name] = replace(told[name], notes=() if unit else _still_allowed(*ends))
        elif held in ("category", "str", "string", "object") or held.startswith("string"):
            told[name] = Said("categorical", missing=missing)
        else:
            told[name] = Said(missing=missing)
        used = _BOUNDS if told[name].kind in ("numeric", "date") else _VALUES
        notes = (f"its check {quoted(test)} is not used" for test, value in tests if test not in used and value != [])
        told[name] = replace(told[name], notes=(*told[name].notes, *dict.fromkeys(notes)))
    unused = (word for word in ("index", "checks", "unique") if found.get(word))
    return told, left_out, tuple(f"What {word!r} says of the rows is not used." for word in unused)


def _ends(tests: Sequence[tuple[str, Any]], included: str, excluded: str, end: str, name: str) -> list[tuple[Any, bool]]:
    """The bounds of one side, each with whether it is excluded itself."""
    found = [(value, test == excluded) for test, value in tests if test in (included, excluded)]
    for both in (_named(value or {}, f"in_range of column {quoted(name)}") for test, value in tests if test == "in_range"):
        found.append((both.get(f"{end}_value"), both.get(f"include_{end}") is False))
    return [(value, out) for value, out in found if value is not None]


def _tests(checks: Any, column: str) -> list[tuple[str, Any]]:
    """Checks by name, each with its value, or with the mapping of its values where it has several; one that warns only has a
    name of its own."""
    many = checks if isinstance(checks, list) else []
    what = f"the options of a check of column {quoted(column)}"
    named = [(_named(c.get("options"), what).get("check_name"), c) for c in many if isinstance(c, Mapping)]
    named += checks.items() if isinstance(checks, Mapping) else ()
    found = []
    for called, test in named:
        name = _SHORT.get(str(called), str(called))
        held: Any = {k: v for k, v in test.items() if k not in _OF_CHECKS} if isinstance(test, Mapping) else test
        several = isinstance(held, dict) and name == "in_range"
        warns = isinstance(test, Mapping) and any(
            isinstance(said, Mapping) and said.get("raise_warning") for said in (test, test.get("options"))
        )
        value = held if several or not isinstance(held, dict) else next(iter(held.values()), None)
        found.append((f"{name} (warns only)" if warns else name, value))
    return found


def _named(found: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise DataError(f"{what} must be an object with names, not {shown(found)}")
    return found


def _flag(found: Any, what: str) -> bool:
    if not isinstance(found, bool | None):
        raise DataError(f"{what} must be true or false, not {shown(found)}")
    return bool(found)


def _list(found: Any, what: str) -> list[Any]:
    if found is None:
        return []
    if not isinstance(found, list):
        raise DataError(f"{what} must be a list, not {shown(found)}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _numbers(values: Iterable[Any], name: str) -> list[float]:
    found = list(values)
    if not all(map(_is_number, found)):
        what = ", ".join(map(shown, found))
        raise DomainError(f"column {quoted(name)}: a bound must be a number of at most 300 digits, not {what}", column=name)
    return list(map(float, found))


def _unit(steps: Sequence[Any], name: str, *, whole: bool) -> Fraction | None:
    """What all multiples of the steps are multiples of, and of 1 where they are ``whole``."""
    units = [Fraction(str(step)) for step in steps if _is_number(step) and step > 0] + [Fraction(1)] * whole
    if not units:
        return None
    unit = Fraction(math.lcm(*(one.numerator for one in units)), math.gcd(*(one.denominator for one in units)))
    if unit > sys.float_info.max:
        raise DomainError(f"column {quoted(name)}: no number is a multiple of all that it is said to be", column=name)
    return unit


def _next_multiple(bound: float, unit: Fraction | None, *, above: bool) -> float:
    """What is left of a bound that is excluded: the multiple next to it, where there is a unit."""
    if unit is None:
        return bound
    steps = Fraction(str(bound)) / unit
    found = (math.floor(steps) + 1 if above else math.ceil(steps) - 1) * unit
    return float(found) if abs(found) <= sys.float_info.max else math.inf if found > 0 else -math.inf


def _still_allowed(*bounds: tuple[float | None, bool]) -> tuple[str, ...]:
    """A note on bounds that are excluded, where no multiple is next to them."""
    found = [f"{bound:.15g}" for bound, out in bounds if bound is not None and out]
    are = "itself is" if len(found) == 1 else "themselves are"
    return (f"{' and '.join(found)} {are} allowed here: give a unit",) if found else ()


def _days(text: Any, name: str) -> float:
    try:
        if not re.fullmatch(ISO_DATE, str(text)):
            raise ValueError
        return float((np.datetime64(str(text)[:10], "D") - np.datetime64(0, "D")).astype(int))
    except ValueError:
        raise DomainError(f"column {quoted(name)}: {shown(text)} is not a date such as 2001-12-31", column=name) from None
