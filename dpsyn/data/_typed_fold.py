"""Columns of Parquet files that have a type, folded batch by batch; see :mod:`dpsyn.data._text_fold`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import Attribute, Codes
from dpsyn.data._frames import Weights, as_frame
from dpsyn.data._job import CHANGED
from dpsyn.errors import DataError

_DAY = np.timedelta64(1, "D")


def as_series(array: Any) -> pd.Series[Any]:
    """An Arrow array as a column of a DataFrame."""
    import pyarrow as pa

    return as_frame(pa.table([array], names=["x"]))["x"]


class TypedFold:
    """Distinct values of a column of truth values, numbers or dates; past a limit, only those that decide its bounds.

    Categories of a categorical column are kept in the order in which the batches list them.
    """

    def __init__(self, *, capacity: int) -> None:
        self.shortened = False
        self.rows = 0
        self._capacity = capacity
        self._missing = 0
        self._values: pd.Series[Any] = pd.Series([], dtype=object)
        self._cells = np.empty(0, dtype=np.int64)
        self._first_infinite = 0
        self._low, self._high, self._broken = np.inf, -np.inf, False

    def add(self, array: Any) -> None:
        """Take in the next batch."""
        series = as_series(array)
        codes, uniques = pd.factorize(series, use_na_sentinel=True)
        distinct = pd.Series(uniques, dtype=series.dtype)
        counts = np.bincount(codes[codes >= 0], minlength=len(distinct)).astype(np.int64)
        self._missing += int((codes < 0).sum())
        if self.rows == 0:
            self._values = distinct[:0]
        if isinstance(series.dtype, pd.CategoricalDtype):
            distinct = self._joined_categories(distinct)
        at = self._positions(distinct)
        self._cells[at[at >= 0]] += counts[at >= 0]
        fresh = at < 0
        if not self._first_infinite and pd.api.types.is_float_dtype(series.dtype):
            infinite = np.isinf(series.to_numpy(dtype=np.float64, na_value=np.nan))
            if infinite.any():
                self._first_infinite = self.rows + int(np.argmax(infinite)) + 1
        self.rows += len(series)
        listed = isinstance(series.dtype, pd.CategoricalDtype)
        if len(distinct) and not listed and (self.shortened or len(self._values) + fresh.sum() > self._capacity):
            fresh &= self._telling(distinct)
        if fresh.any():
            self._values = (
                pd.concat([self._values, distinct[fresh]], ignore_index=True)
                if len(self._values)
                else (distinct[fresh].reset_index(drop=True))
            )
            self._cells = np.append(self._cells, counts[fresh])

    def _joined_categories(self, distinct: pd.Series[Any]) -> pd.Series[Any]:
        both = self._values.cat.categories.union(distinct.cat.categories, sort=False)
        self._values = self._values.cat.set_categories(both)
        return distinct.cat.set_categories(both)

    def _positions(self, values: pd.Series[Any]) -> npt.NDArray[np.intp]:
        return np.asarray(pd.Index(self._values).get_indexer(pd.Index(values)), dtype=np.intp)

    def _telling(self, values: pd.Series[Any]) -> npt.NDArray[np.bool_]:
        """Extremes, infinite values and the first that is not whole."""
        if not self.shortened:
            self.shortened = True
            kept = np.ones(len(values), dtype=bool)
            kept[self._capacity + 1 :] = False
        else:
            kept = np.zeros(len(values), dtype=bool)
        numbers = _numbers(values)
        kept |= np.isinf(numbers)
        least, most = int(np.argmin(numbers)), int(np.argmax(numbers))
        kept[least] |= numbers[least] < self._low
        kept[most] |= numbers[most] > self._high
        self._low, self._high = min(self._low, numbers[least]), max(self._high, numbers[most])
        broken = np.isfinite(numbers) & (numbers != np.floor(np.where(np.isfinite(numbers), numbers, 0)))
        if not self._broken and broken.any():
            self._broken = True
            kept[np.argmax(broken)] = True
        return kept

    @property
    def entries(self) -> pd.Series[Any]:
        """The values kept, as a short column that stands for the whole; a missing one is its last entry."""
        return self._values.reindex(range(len(self._values) + bool(self._missing)))

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest value, as numbers; dates as days since 1970-01-01."""
        numbers = _numbers(self._values)
        return float(numbers.min()), float(numbers.max())

    @property
    def some(self) -> int:
        """Number of rows that are not missing."""
        return self.rows - self._missing

    def weights(self, unlisted: int = 0) -> Weights:
        """How many rows the entries stand for, and how many distinct values are not among them."""
        cells = self._cells.copy()
        if self.shortened:
            cells[np.argmax(np.isfinite(_numbers(self._values)))] += self.rows - self._missing - cells.sum()
        cells = np.append(cells, self._missing) if self._missing else cells
        return Weights(cells, lambda entry: self._first_infinite, unlisted)

    def encoder(self, attribute: Attribute, entries: Codes) -> Callable[[Any], Codes]:
        """How to encode a batch, given the codes of :attr:`entries`."""

        def encode(array: Any) -> Codes:
            series = as_series(array)
            if self.shortened:
                return attribute.encode(series)
            codes, uniques = pd.factorize(series, use_na_sentinel=True)
            at = self._positions(pd.Series(uniques, dtype=series.dtype).astype(self.entries.dtype))
            if (at < 0).any():
                raise DataError(CHANGED)
            return np.append(entries[at], np.int32(attribute.size - 1))[codes].astype(np.int32)

        return encode


def _numbers(values: pd.Series[Any]) -> npt.NDArray[np.float64]:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        zone = isinstance(values.dtype, pd.DatetimeTZDtype)
        moments = (values.dt.tz_localize(None) if zone else values).to_numpy(dtype="datetime64[us]")
        return np.asarray((moments - np.datetime64(0, "us")) / _DAY, dtype=np.float64)
    return np.asarray(pd.to_numeric(values).to_numpy(dtype=np.float64))
