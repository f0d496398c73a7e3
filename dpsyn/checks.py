"""The one door for arguments: each function gives the plain Python value, or raises a ParameterError that names the field.

NumPy's scalars pass wherever Python's do. Truth values are no numbers.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from pathlib import PureWindowsPath
from types import UnionType
from typing import Any, NoReturn

import numpy as np

from dpsyn.errors import ParameterError

_NO_NUMBERS = bool | np.bool_ | np.timedelta64
"""NumPy counts durations among the whole numbers."""
LARGEST_WHOLE = 2**53
"""Numbers up to here fit floats and 64 bits, with room to be multiplied by a few columns."""
LARGEST_COUNT = 2**1023
"""Counts of theory up to here, such as the rows of a whole cube, have a float that is close."""
MOST_ITEMS = 10_000_000
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100
"""Lengths between these can be squared, divided by each other and split into fine steps without leaving normal doubles."""


class Fixed(dict[Any, Any]):
    """A mapping of a configuration: it cannot be changed after it was checked."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("a configuration cannot be changed: make a new one")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Fixed], tuple[dict[Any, Any]]]:
        return type(self), (dict(self),)


def whole(field: str, value: object, least: int = 1, most: int = LARGEST_WHOLE, why: str = "") -> int:
    """A whole number from ``least`` to ``most``.

    Raises:
        ParameterError: it is none; ``why`` is what the message says besides.
    """
    too_large = False
    if isinstance(value, Integral) and not isinstance(value, _NO_NUMBERS):
        found = operator.index(value)
        if least <= found <= most:
            return found
        too_large = found > most
    allowed = f"at least {least}" if most >= LARGEST_WHOLE and not too_large else f"from {least} to {most:,}"
    raise ParameterError(field, value, f"a whole number, {allowed}" + f"; {why}" * bool(why))


def whole_or_none(field: str, value: object, least: int = 1, most: int = LARGEST_WHOLE, why: str = "") -> int | None:
    """The same, where None stands for a choice of our own."""
    return None if value is None else whole(field, value, least, most, why)


def number(
    field: str,
    value: object,
    least: float = -math.inf,
    most: float = math.inf,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    why: str = "",
) -> float:
    """A finite number with ``least`` ≤ value ≤ ``most`` and ``above`` < value < ``below``.

    Raises:
        ParameterError: it is none; ``why`` is what the message says besides.
    """
    if isinstance(value, Real) and not isinstance(value, _NO_NUMBERS):
        try:
            found = float(value)
        except Exception:  # noqa: BLE001  # whatever a class of the caller's raises
            found = math.inf
        if math.isfinite(found) and least <= found <= most and above < found < below:
            return found
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in ((">=", least), (">", above), ("<=", most), ("<", below))
        if math.isfinite(limit)
    ]
    raise ParameterError(field, value, " ".join(["a finite number", " and ".join(limits)]).strip() + f"; {why}" * bool(why))


def number_or_none(field: str, value: object) -> float | None:
    """A finite number, or None where there is none."""
    return None if value is None else number(field, value)


def share(field: str, value: object) -> float:
    """A number below 1 and at least 1e-9: of a smaller part of a budget arithmetic makes nothing."""
    return number(field, value, 1e-9, below=1.0)


def scale(field: str, value: object, why: str = "") -> float:
    """A length that arithmetic can carry: from 1e-100 to 1e100."""
    number(field, value, above=0.0, why=why)
    return number(field, value, SMALLEST_SCALE, LARGEST_SCALE, why=why)


def flag(field: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(field, value, "True or False")
    return bool(value)


def choice(field: str, value: object, among: Iterable[str]) -> Any:
    """One of several texts."""
    every = list(among)
    found = str.__str__(value) if isinstance(value, str) else None  # of a class of the caller's, its characters alone
    if found not in every:
        raise ParameterError(field, value, f"one of {', '.join(map(repr, every))}")
    return found


def text(field: str, value: object, why: str) -> str:
    """A text of Unicode's characters: no half of one."""
    found = str.__str__(value) if isinstance(value, str) else "\ud800"
    try:
        found.encode()
    except UnicodeEncodeError:
        raise ParameterError(field, value, why) from None
    return found


def file_name(field: str, value: object) -> str:
    """A text that names a file in any folder: it leads nowhere else, whatever the system."""
    why = "a text that can be the name of a file"
    found = text(field, value, why)
    if found in ("", "..") or "\0" in found or PureWindowsPath(found).name != found:
        raise ParameterError(field, value, why)
    return found


def instance(field: str, value: object, kind: type[Any] | UnionType, why: str, *, optional: bool = False) -> Any:
    """An object of a class, or of one of several; None too where it is optional."""
    if isinstance(value, kind):
        return value
    if value is None and optional:
        return None
    raise ParameterError(field, value, why)


def items(field: str, value: object, why: str) -> list[Any]:
    """The members of a sequence, a vector or a column of pandas; a text, a mapping, a single number, and a set, which has
    another order in every process, are none."""
    import pandas as pd

    if isinstance(value, pd.Index | pd.Series) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return list(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        with suppress(Exception):  # whatever a class of the caller's raises
            if len(value) <= MOST_ITEMS:
                return list(value)
            why = f"{why}, of at most {MOST_ITEMS:,}"
    raise ParameterError(field, value, why)


def mapping(field: str, value: object, why: str) -> dict[Any, Any]:
    """What a mapping holds."""
    if isinstance(value, Mapping):
        with suppress(Exception):  # whatever a class of the caller's raises
            return dict(value)
    raise ParameterError(field, value, why)


def facts(field: str, value: object) -> dict[str, Any]:
    """A mapping that JSON can hold."""
    why = "facts by their names: texts of Unicode, finite numbers, truth values, None, and lists and mappings of these"
    found = mapping(field, value, why)
    with suppress(TypeError, ValueError, RecursionError):
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
        if all(isinstance(name, str) for name in found):
            return found
    raise ParameterError(field, value, why)


def function(field: str, value: object, why: str) -> None:
    """Something that can be called."""
    if not callable(value):
        raise ParameterError(field, value, why)


PROGRESS = "a function of a step and a share, such as print"


def generator(field: str, value: object) -> np.random.Generator | None:
    """A NumPy generator, or None."""
    why = "a numpy.random.Generator, or None for the system's entropy"
    found: np.random.Generator | None = instance(field, value, np.random.Generator, why, optional=True)
    return found
