"""Python's numbers, whole ones and decimals of any length: what double precision cannot hold apart stays apart as text."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data._words import EXACT

_ANY_LENGTH = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_LONGEST = 100


def is_number(value: Any) -> bool:
    """Whether it is a whole number, a float or a decimal; truth values and complex numbers are none."""
    if isinstance(value, bool | np.bool_ | np.complexfloating):
        return False
    return isinstance(value, int | float | Decimal | np.number) and not isinstance(value, np.timedelta64)


def carried(column: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Which finite numbers double precision holds: all floats, whole numbers below 2^53, decimals of up to 15 digits."""
    return np.fromiter((_is_carried(value) for value in column), dtype=bool, count=len(column))


def _is_carried(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return True
    return bool(-EXACT < value < EXACT if is_whole(value) else Decimal(repr(float(value))) == value)


def is_whole(value: Any) -> bool:
    """Whether a finite number is whole."""
    return bool(value == (value.to_integral_value() if isinstance(value, Decimal) else value // 1))


def text_of(value: Any) -> str:
    """The text of a single value; equal numbers have one text, however they are typed."""
    if not is_number(value):
        return str(value)
    # Python refuses to write whole numbers of more than 4,300 digits; decimals have no such limit.
    whole = isinstance(value, int | np.integer)
    number = value if isinstance(value, Decimal) else Decimal(int(value)) if whole else Decimal(str(value))
    if number == 0:
        return "0"
    shortest = number.normalize(_ANY_LENGTH)
    return format(shortest, "f") if abs(shortest.adjusted()) < _LONGEST else str(shortest)


def countable(array: Any) -> Any:
    """An Arrow array as DuckDB counts it: decimals of any length by their text."""
    import pyarrow as pa

    return array.cast(pa.string()) if pa.types.is_decimal(array.type) else array
