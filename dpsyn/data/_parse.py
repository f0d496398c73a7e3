"""Distinct texts to numbers or dates: all of them, or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

EXACT = 2**53
"""Whole numbers beyond this are not told apart in double precision."""

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_COMMA_NUMBER = r"^[+-]?[0-9]*(,[0-9]+)?([eE][+-]?[0-9]+)?$"
_LEADING_ZERO = r"^[+-]?0([0-9]+|[xX][0-9a-fA-F]+)$"
THOUSANDS = r"^[+-]?[0-9]{1,3}([,.' ][0-9]{3})+([.,][0-9]+)?$"

_TIME = r"([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?)?"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}" + _TIME + r"(Z|[+-]\d{2}:?\d{2})?")
_DATES = (
    (re.compile(r"\d{4}/\d{1,2}/\d{1,2}"), ("%Y/%m/%d",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"), ("%d.%m.%Y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}"), ("%m/%d/%Y", "%d/%m/%Y")),
    (re.compile(r"\d{1,2}-\d{1,2}-\d{4}"), ("%m-%d-%Y", "%d-%m-%Y")),
    (re.compile(r"\d{1,2}[ -][A-Za-z]{3}[ -]\d{4}"), ("%d %b %Y", "%d-%b-%Y")),
    (re.compile(r"\d{1,2} [A-Za-z]{3,} \d{4}"), ("%d %B %Y",)),
    (re.compile(r"[A-Za-z]{3} \d{1,2}, \d{4}"), ("%b %d, %Y",)),
    (re.compile(r"[A-Za-z]{3,} \d{1,2}, \d{4}"), ("%B %d, %Y",)),
)


@dataclass(frozen=True)
class Parsed:
    """One value a distinct text: int64, float64 or datetime64[us]; ``note`` says what had to be decided."""

    values: npt.NDArray[Any]
    note: str = ""


def matches(texts: Any, pattern: str) -> npt.NDArray[np.bool_]:
    """Which texts of an Arrow array match a regular expression."""
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False), dtype=bool)


def has_leading_zeros(texts: Any) -> bool:
    """Whether a text is a number written with a superfluous zero in front, as zip codes and phone numbers are."""
    import pyarrow.compute as pc

    return bool(matches(texts.filter(pc.match_substring_regex(texts, r"^[+-]?0")), _LEADING_ZERO).any())


def parse_numbers(texts: Any, *, decimal_comma: bool) -> Parsed | None:
    """int64 if every text is a whole number below 2^53, float64 (infinite ones included) if it is a number, else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(texts) == 0:
        return None
    plain = pc.replace_substring_regex(texts, r"^\+", "") if pc.any(pc.starts_with(texts, "+")).as_py() else texts
    note = ""
    if decimal_comma and pc.any(pc.match_substring(plain, ",")).as_py():
        if not matches(plain, _COMMA_NUMBER).all():
            return None
        plain = pc.replace_substring(plain, ",", ".")
        note = "numbers are written with decimal commas"
    try:
        return Parsed(plain.cast(pa.int64()).to_numpy(), note)
    except pa.ArrowInvalid:
        pass
    try:
        floats = plain.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    if np.isnan(floats).any():
        return None
    return Parsed(floats, note)


def parse_dates(texts: Any) -> Parsed | None:
    """datetime64[us] if every text is a date of one format, else None. 03/04/2020 is read as month/day unless that fails."""
    if len(texts) == 0:
        return None
    first = texts[0].as_py()
    if _ISO.fullmatch(first):
        return _iso(texts)
    for pattern, formats in _DATES:
        if not pattern.fullmatch(first):
            continue
        column = pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")
        read = {
            f: moments for f in formats if not (moments := pd.to_datetime(column, format=f, errors="coerce")).isna().any()
        }
        if not read:
            continue
        both = [moments.to_numpy(dtype="datetime64[us]") for moments in read.values()]
        doubtful = len(both) == 2 and (both[0] != both[1]).any()
        note = f"dates such as {first!r} could be month/day or day/month and were read as month/day" if doubtful else ""
        return Parsed(both[0], note)
    return None


def impossible_dates(texts: Any) -> list[str]:
    """The texts that spoil a column of ISO dates, if more than half of the texts are such dates; else none."""
    written = matches(texts, "^" + _ISO.pattern + "$")
    if 2 * written.sum() <= len(texts):
        return []
    column = pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")
    return [str(text) for text in column[pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True).isna()]]


def _iso(texts: Any) -> Parsed | None:
    if not matches(texts, "^" + _ISO.pattern + "$").all():
        return None
    column = pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")
    zones = matches(texts, r"(Z|[0-9][+-]\d{2}:?\d{2})$")
    moments = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=bool(zones.any()))
    if moments.isna().any():
        return None
    return Parsed(
        moments.to_numpy(dtype="datetime64[us]"), "times with a time zone were converted to UTC" if zones.any() else ""
    )
