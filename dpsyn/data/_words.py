"""A column as its distinct values and one code a row: deciding what a column is then costs little on a million rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import settled

Positions = npt.NDArray[np.int64]

MISSING_WORDS = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan", "NaT", "null", "NULL", "Null"}
)
"""Cells that count as missing unless the domain lists them; "?", "-" and "None" are values like any other."""


@dataclass(frozen=True)
class Weights:
    """What the entries of a short column say of a long one.

    Attributes:
        cells: number of rows of every entry, shape (entries,).
        first: the first row of every entry, from 0, shape (entries,).
        some: number of rows that are not missing.
        distinct: the number of different values of the long column, each read by a function; None: all have an entry.
    """

    cells: Positions
    first: Positions
    some: int
    distinct: Callable[[Callable[[Any], Any]], int] | None = None


@dataclass(frozen=True)
class Words:
    """Texts of a column.

    Attributes:
        texts: the distinct texts, an Arrow array of strings, none missing.
        codes: position of every row's text in ``texts``, -1 where the cell is missing. Shape (n,).
        taken_as_missing: words (not empty ones) that were taken as missing, with their number of cells.
        weights: what the rows stand for, if they are entries of a short column.
    """

    texts: Any
    codes: Positions
    taken_as_missing: tuple[tuple[str, int], ...] = ()
    weights: Weights | None = None

    @classmethod
    def of(cls, column: Any, *, strip: bool = True, keep: frozenset[str] = frozenset()) -> Words:
        """From an Arrow array of strings. ``strip`` also takes :data:`MISSING_WORDS` not in ``keep`` as missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        encoded = column.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        texts = encoded.dictionary.cast(pa.large_string())
        missing = frozenset({""})
        if strip:
            trimmed = pc.utf8_trim_whitespace(texts).dictionary_encode()
            texts = trimmed.dictionary
            codes = _through(trimmed.indices.to_numpy(zero_copy_only=False), codes)
            missing = MISSING_WORDS
        gone = pc.is_in(texts, pa.array(sorted(missing - keep), pa.large_string()))
        taken: tuple[tuple[str, int], ...] = ()
        if pc.any(gone).as_py():
            flags = gone.to_numpy(zero_copy_only=False)
            counts = np.bincount(codes[codes >= 0], minlength=len(texts))
            words = [(texts[int(i)].as_py(), int(counts[i])) for i in np.flatnonzero(flags)]
            taken = tuple((word, count) for word, count in words if word and count)
            renumbered = np.where(flags, -1, np.cumsum(~flags) - 1)
            codes = _through(renumbered, codes)
            texts = texts.filter(pc.invert(gone))
        return cls(texts, codes, taken)

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Which rows are missing, shape (n,)."""
        return self.codes < 0

    def counts(self) -> Positions:
        """Number of cells of every distinct text."""
        some = self.codes >= 0
        if self.weights is None:
            return np.bincount(self.codes[some], minlength=len(self.texts)).astype(np.int64)
        counts = np.zeros(len(self.texts), dtype=np.int64)
        np.add.at(counts, self.codes[some], self.weights.cells[some])
        return counts

    def distinct(self) -> int:
        """Number of different texts."""
        count = self.weights.distinct if self.weights else None
        return count(lambda texts: texts) if count else len(self.texts)

    def cells_in(self, rows: npt.NDArray[np.bool_]) -> int:
        """Number of cells that some of the rows stand for."""
        return int(rows.sum()) if self.weights is None else int(self.weights.cells[rows].sum())

    def first_of(self, rows: npt.NDArray[np.bool_]) -> int:
        """The first of some of the rows, from 0."""
        row = int(np.argmax(rows))
        return row if self.weights is None else int(self.weights.first[row])

    def spread(self, values: npt.NDArray[Any]) -> pd.Series[Any]:
        """One value a row from one value a distinct text: Int64, NaN, NaT or None where missing."""
        empty = self.empty
        if not empty.any():
            return settled(pd.Series(values[self.codes]))
        if len(values) == 0:
            return pd.Series(np.full(len(self.codes), None, dtype=object))
        filled = values[np.where(empty, 0, self.codes)]
        if values.dtype.kind == "i":
            return pd.Series(filled).astype("Int64").mask(empty)
        if values.dtype.kind == "M":
            return pd.Series(np.where(empty, np.datetime64("NaT"), filled))
        if values.dtype.kind == "f":
            return pd.Series(np.where(empty, np.nan, filled))
        filled[empty] = None
        return settled(pd.Series(filled))

    def as_texts(self) -> npt.NDArray[np.object_]:
        """The distinct texts as Python strings."""
        return np.asarray(self.texts.to_numpy(zero_copy_only=False), dtype=object)


def _through(table: npt.NDArray[Any], codes: Positions) -> Positions:
    return np.append(table, -1)[codes].astype(np.int64)
