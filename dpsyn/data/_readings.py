"""Ways to read all texts of a column, and which texts must be kept to know how the whole column is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.data._fit import category_of
from dpsyn.data._parse import (
    COMMA_NUMBER,
    LEADING_ZERO,
    NUMBER,
    has_leading_zeros,
    matches,
    parse_numbers,
    read_dates,
    ways_to_write,
    zoned,
)
from dpsyn.data.infer import FEW_INTEGERS

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_DAY = np.timedelta64(1, "D")


class Reading(Protocol):
    """One way to read texts."""

    def read(self, texts: Any) -> tuple[Floats, Mask]:
        """A number for every text of an Arrow array, and which texts cannot be read (their numbers mean nothing)."""
        ...

    def telling(self, texts: Any, values: Floats) -> Mask:
        """Which of the texts, all readable, may not be forgotten.

        The texts kept so far, with these, are read in the same way and have the same bounds as if all had been kept.
        """
        ...

    def values(self, texts: Any) -> pd.Series[Any]:
        """Readable texts as values of the column."""
        ...


@dataclass
class Numbers:
    """Numbers as :func:`~dpsyn.data._parse.parse_numbers` reads them; perhaps none with a superfluous zero in front."""

    decimal_comma: bool
    zeros_are_codes: bool = False
    _low: float = np.inf
    _high: float = -np.inf
    _few: Floats = field(default_factory=lambda: np.empty(0))
    _seen: set[str] = field(default_factory=set)

    def read(self, texts: Any) -> tuple[Floats, Mask]:
        """See :class:`Reading`."""
        parsed = parse_numbers(texts, decimal_comma=self.decimal_comma)
        coded = self.zeros_are_codes and has_leading_zeros(texts)
        if parsed is not None and not coded:
            return parsed.values.astype(np.float64), np.zeros(len(texts), dtype=bool)
        readable = matches(texts, NUMBER) | matches(texts, _INFINITE)
        values = self._some(texts, readable)
        if self.decimal_comma:
            with_comma = matches(texts, COMMA_NUMBER) & matches(texts, "[0-9],[0-9]|^[+-]?,[0-9]")
            values = np.where(with_comma, self._some(texts, with_comma), values)
            readable |= with_comma
        if coded:
            readable &= ~matches(texts, LEADING_ZERO)
        return values, ~readable

    def _some(self, texts: Any, which: Mask) -> Floats:
        import pyarrow as pa

        values = np.zeros(len(texts))
        parsed = parse_numbers(texts.filter(pa.array(which)), decimal_comma=self.decimal_comma)
        if parsed is not None:
            values[which] = parsed.values
        return values

    def telling(self, texts: Any, values: Floats) -> Mask:
        """Extremes, infinite numbers, and the first text of every kind that ``parse_numbers`` or ``infer`` tells apart."""
        kept = np.isinf(values)
        if len(self._few) <= FEW_INTEGERS:
            fresh = np.setdiff1d(values, self._few)
            self._few = np.append(self._few, fresh[: FEW_INTEGERS + 1])
            kept[np.isin(values, fresh[: FEW_INTEGERS + 1])] = True
        self._low, self._high = _extremes(values, self._low, self._high, kept)
        finite = np.where(kept, 0.0, values)
        self._first("broken", finite != np.floor(finite), kept)
        if "other than digits" not in self._seen:
            self._first("other than digits", ~matches(texts, r"^[+-]?[0-9]+$"), kept)
        if self.decimal_comma and not {"comma", "no comma"} <= self._seen:
            self._first("comma", matches(texts, ","), kept)
            self._first("no comma", ~matches(texts, COMMA_NUMBER), kept)
        return kept

    def _first(self, kind: str, which: Mask, kept: Mask) -> None:
        if kind not in self._seen and which.any():
            self._seen.add(kind)
            kept[np.argmax(which)] = True

    def values(self, texts: Any) -> pd.Series[Any]:
        """float64."""
        return pd.Series(self.read(texts)[0])


@dataclass
class Dates:
    """Dates written in one way."""

    written: str
    _low: float = np.inf
    _high: float = -np.inf
    _seen: set[str] = field(default_factory=set)

    def read(self, texts: Any) -> tuple[Floats, Mask]:
        """Days since 1970-01-01."""
        moments = read_dates(texts, self.written)
        bad = np.isnat(moments)
        return np.where(bad, 0.0, (moments - np.datetime64(0, "us")) / _DAY), bad

    def telling(self, texts: Any, values: Floats) -> Mask:
        """Extremes, the first with a time of day, and the first with a time zone."""
        kept = np.zeros(len(values), dtype=bool)
        self._low, self._high = _extremes(values, self._low, self._high, kept)
        for kind, which in (("time", values != np.floor(values)), ("zone", zoned(texts))):
            if kind not in self._seen and which.any():
                self._seen.add(kind)
                kept[np.argmax(which)] = True
        return kept

    def values(self, texts: Any) -> pd.Series[Any]:
        """datetime64[us]."""
        return pd.Series(read_dates(texts, self.written))


@dataclass
class Listed:
    """The categories of a given attribute, however they are written."""

    attribute: Attribute

    def _found(self, texts: Any) -> list[Any]:
        find = category_of(self.attribute)
        return [find(text) for text in texts.to_pylist()]

    def read(self, texts: Any) -> tuple[Floats, Mask]:
        """No numbers, only which texts are no category."""
        bad = np.array([value is None for value in self._found(texts)], dtype=bool)
        return np.zeros(len(texts)), bad

    def telling(self, texts: Any, values: Floats) -> Mask:
        """None of the texts that are categories."""
        return np.zeros(len(texts), dtype=bool)

    def values(self, texts: Any) -> pd.Series[Any]:
        """The categories."""
        return pd.Series(self._found(texts), dtype=object)


def _extremes(values: Floats, low: float, high: float, kept: Mask) -> tuple[float, float]:
    if len(values):
        least, most = int(np.argmin(values)), int(np.argmax(values))
        kept[least] |= values[least] < low
        kept[most] |= values[most] > high
        low, high = min(low, float(values[least])), max(high, float(values[most]))
    return low, high


def date_readings(texts: Any) -> list[Reading]:
    """The ways to write dates that a column of these texts may follow."""
    return [Dates(written) for written in ways_to_write(texts[0].as_py())]


def readings_of(attribute: Attribute, texts: Any, *, decimal_comma: bool) -> list[Reading]:
    """The ways to read a column of these texts, the first ones, as values of a given attribute."""
    if attribute.kind == "date":
        return date_readings(texts)
    if attribute.kind == "numeric":
        return [Numbers(decimal_comma)]
    return [Listed(attribute)]
