"""Dates of every kind, and the one rule for times with a zone: they keep the day that their own zone shows."""

from __future__ import annotations

import datetime
import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

FIRST_DAY, LAST_DAY = -719_162.0, 2_932_896.0
"""The years 1 to 9999, in days since 1970-01-01."""

ZONE = r"(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)"
ISO_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?" + ZONE + "?"
"""A date as it should be written, 2024-12-31, perhaps with a time and a zone."""

ZONE_RULE = "times with a zone keep the day that their own zone shows"


def local_moments(column: pd.Series[Any]) -> npt.NDArray[np.datetime64]:
    """A column's moments as their own zones' clocks show them: dates, times or texts in ISO 8601. Shape (n,).

    What is no date is NaT. The unit is the column's own, so that no year is out of reach.
    """
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_localize(None)
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = _moments(column)
    return np.asarray(column.to_numpy())


def floored(moments: npt.NDArray[np.datetime64], unit: Literal["D", "us"]) -> npt.NDArray[np.datetime64]:
    """The moments in a unit, cut off where theirs is finer. NumPy's own cast takes nanoseconds before 1677-09-22 to 2262."""
    steps = _steps(moments, unit)
    if steps <= 1:
        return moments.astype(f"datetime64[{unit}]")
    whole = (moments.astype(np.int64) // steps).astype(f"datetime64[{unit}]")
    whole[np.isnat(moments)] = np.datetime64("NaT", unit)
    return whole


_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "D": 86_400 * 10**9}


def _steps(moments: npt.NDArray[np.datetime64], unit: Literal["D", "us"]) -> int:
    """How many of the moments' own units make one of another; 0 where theirs is coarser."""
    return _NANOSECONDS[unit] // _NANOSECONDS.get(np.datetime_data(moments.dtype)[0], _NANOSECONDS["D"])


def days(moments: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Whole days since 1970-01-01, NaN for NaT."""
    whole = floored(moments, "D").astype(np.int64).astype(np.float64)
    return np.where(np.isnat(moments), np.nan, whole)


def day_text(number: float) -> str:
    """The day so many days after 1970-01-01 as it is written, 0001-12-31."""
    return str(np.datetime64(math.floor(number), "D"))


def day_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of moments or days as their days are written, 2024-12-31, None where missing; any other as it is."""
    objects = column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime", "datetime64")
    if not objects and not pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    moments = local_moments(column)
    texts = pd.Series(floored(moments, "D").astype(str), name=column.name, dtype=object)
    return texts.mask(np.isnat(moments), None)


def timed(moments: npt.NDArray[np.datetime64]) -> npt.NDArray[np.bool_]:
    """Which moments lie within a day, not at its start."""
    return np.asarray(~np.isnat(moments) & (moments.astype(np.int64) % max(_steps(moments, "D"), 1) != 0))


def written_as_numbers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which numbers look like days from 1900 to 2099, as 20241231 does."""
    whole = np.isfinite(values) & (values == np.floor(values)) & (values >= 1900_01_01) & (values <= 2099_12_31)
    day = np.where(whole, values, 1900_00_00).astype(np.int64)
    month, in_month = day // 100 % 100, day % 100
    longest = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    return np.asarray(whole & (month >= 1) & (month <= 12) & (in_month >= 1) & (in_month <= longest[np.clip(month, 0, 12)]))


def written_as_months(values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which whole numbers look like months from 1900 to 2099, as 202412 does."""
    month = values % 100
    return np.asarray((values >= 1900_01) & (values <= 2099_12) & (month >= 1) & (month <= 12))


def written_as_times(values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which whole numbers look like times of day, as 1345 does."""
    return np.asarray((values >= 0) & (values < 24_00) & (values % 100 < 60))


def has_zones(column: pd.Series[Any]) -> bool:
    """Whether some moment of a column of dates or times, not of texts, has a zone."""
    if column.dtype == object:
        return any(getattr(value, "tzinfo", None) is not None for value in column)
    return isinstance(column.dtype, pd.DatetimeTZDtype)


def _moments(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of texts or of Python objects."""
    if column.dtype != object:
        return _read(column.astype("str"))
    is_text = column.map(lambda value: isinstance(value, str)).to_numpy(dtype=bool)
    moments = pd.to_datetime(column.where(~is_text, None).map(_without_zone), errors="coerce")
    if is_text.any():
        moments = pd.Series(floored(moments.to_numpy(), "us"), moments.index).where(
            ~is_text, _read(column.where(is_text, None).astype("str"))
        )
    return moments


def _without_zone(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return value if isinstance(value, datetime.date | np.datetime64) else None


def _read(texts: pd.Series[Any]) -> pd.Series[Any]:
    written = texts.where(texts.str.fullmatch(ISO_DATE, na=False)).str.replace(ZONE + "$", "", regex=True)
    return pd.to_datetime(written, format="ISO8601", errors="coerce")
