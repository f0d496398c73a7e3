"""Single cells and columns of them: what is a number, what can be written down, which type is the narrowest."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python one, so that it prints and is written as JSON like any other."""
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value


def in_settings(value: Any) -> str:
    """What a category is called in settings, which are kept as text: whole numbers are one, however they are held."""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value) if whole else value)


def is_unicode(text: str) -> bool:
    """Whether a text can be written down: half a surrogate pair cannot, and a file with a zero byte is no text file."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def floats(column: pd.Series[Any]) -> npt.NDArray[np.float64]:
    """Numbers, or texts of them; NaN where a cell is neither."""
    kind = column.dtype
    if pd.api.types.is_object_dtype(kind):
        column = column.map(_within_reach)
    elif pd.api.types.is_complex_dtype(kind) or not (
        pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_string_dtype(kind)
    ):
        return np.full(len(column), np.nan)
    with np.errstate(over="ignore"):
        return np.asarray(pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))


def _within_reach(value: Any) -> Any:
    """A number that pandas reads, infinite where double precision ends; None for what is no number."""
    if isinstance(value, int) and abs(value) > 2**1023:
        return math.inf if value > 0 else -math.inf
    if isinstance(value, Decimal):
        return None if value.is_nan() else float(value)
    strange = isinstance(value, np.complexfloating | np.timedelta64)  # durations count among NumPy's whole numbers
    return value if isinstance(value, str | int | float | np.number) and not strange else None


def undecimal(value: Any) -> Any:
    """A decimal as the float next to it, 0.19, but for whole ones that no float is; any other value as it is."""
    if isinstance(value, Decimal) and value.is_finite():
        alike = Decimal(repr(float(value))) == value or value != value.to_integral_value()
        return float(value) if alike else value
    return value


def settled(values: pd.Series[Any]) -> pd.Series[Any]:
    """A column of Python values with the narrowest type: whole numbers with gaps become Int64 and stay exact."""
    if values.dtype != object:
        return values
    empty = values.isna()
    some = values[~empty]
    if 0 < len(some) < len(values) and all(type(value) is int and abs(value) < 2**63 for value in some):
        return values.where(~empty, 0).astype("int64").astype("Int64").mask(empty)
    found = values.infer_objects()
    if found.dtype.kind == "f" and any(type(value) is int and abs(value) > 2**53 for value in some):
        return values  # floats would change the whole number
    return found
