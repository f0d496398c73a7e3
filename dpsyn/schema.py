"""The one door for what comes as JSON: a file, an archive, an address. It is read, and its shape is checked, by msgspec."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from dpsyn.errors import DataError, shown

T = TypeVar("T")
_MOST_LEVELS = 50
_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "bool": "true or false",
    "datetime": "a date with a time",
    "array": "a list",
    "object": "an object with names",
    "null": "nothing",
}


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object that JSON writes as these pairs: of a name that stands twice, Python would take the last and say nothing.

    Raises:
        DataError: a name stands twice.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise DataError(f"the name {shown(name)} stands twice in one JSON object; take one of the two out")
        found[name] = value
    return found


@dataclass(frozen=True)
class Damaged:
    """Stands for a piece of JSON that cannot be read: :func:`checked` refuses what holds it, and says why."""

    why: str


def read_json(data: bytes | str, *, damaged: bool = False) -> Any:
    """What JSON text says. A number that is not finite stays a text, so that it is no number for :func:`checked`.

    Args:
        data: the text.
        damaged: an object with a name twice and a number of too many digits become :class:`Damaged`, and the rest is read.

    Raises:
        DataError: it is no JSON, is nested too deeply, or has a name twice in one object.
    """
    pairs, whole = (_or_damaged(once), _or_damaged(int)) if damaged else (once, None)
    try:
        return json.loads(data, parse_float=_finite, parse_int=whole, parse_constant=str, object_pairs_hook=pairs)
    except DataError:
        raise
    except (ValueError, TypeError, RecursionError) as fault:
        raise DataError("this is no JSON text, or it is nested too deeply") from fault


def checked(kind: type[T], data: Any) -> T:
    """The data as a value of a type: a dataclass, or whatever else msgspec takes. Nothing but whole numbers is converted.

    Raises:
        DataError: it is of another shape, nested too deeply, or not Unicode; the message names the place.
    """
    import msgspec

    try:
        if not _within(data, _MOST_LEVELS):
            raise DataError(f"it is nested more than {_MOST_LEVELS} levels deep, or a text in it is no Unicode")
        return msgspec.convert(data, kind, dec_hook=_of_no_json)
    except DataError:
        raise
    except (msgspec.ValidationError, ArithmeticError) as fault:
        said, _, place = str(fault).partition(" - at `$")
        said = re.sub(r"`([^`]+)`", _in_words, said)
        place = place.strip("`.")
        choices = get_args(get_type_hints(kind).get(place)) if hasattr(kind, "__annotations__") else ()
        if choices and all(isinstance(choice, str) for choice in choices):
            said = f"{shown(data[place])} is not one of {', '.join(map(repr, choices))}"
        raise DataError(f"{place}: {said[0].lower()}{said[1:]}" if place else said) from fault
    except Exception as fault:  # of msgspec, where something is no data at all, and whatever a class of the caller's raises
        raise DataError("something in it is no text, number, list or object with names") from fault


def _or_damaged(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def tried(text: Any) -> Any:
        try:
            return read(text)
        except DataError as fault:
            return Damaged(str(fault))
        except ValueError:
            return Damaged(f"a whole number has {len(text):,} digits")

    return tried


def _within(data: Any, levels: int) -> bool:
    if isinstance(data, Damaged):
        raise DataError(data.why)
    if isinstance(data, str):
        return data.isascii() or not re.search("[\ud800-\udfff]", data)
    parts = [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else ()
    return levels > 0 and all(_within(part, levels - 1) for part in parts)


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _of_no_json(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a {kind.__name__} cannot be read from a file")
    return value


def _in_words(found: re.Match[str]) -> str:
    kinds = found[1].split(" | ")
    return " or ".join(_WORDS[kind] for kind in kinds) if set(kinds) <= _WORDS.keys() else repr(found[1])
