"""A column of texts of any length, folded batch by batch into what inference needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.attribute import Attribute, Codes
from dpsyn.data._job import CHANGED
from dpsyn.data._parse import NUMBER, matches, parse_dates
from dpsyn.data._readings import Dates, Reading
from dpsyn.data._words import Words
from dpsyn.errors import DataError

_ODD = 1000


class TextFold:
    """The distinct texts of a column and their counts; past a limit, only the texts that decide how it is read.

    A column with more than :data:`~dpsyn.data.infer.MAX_CATEGORIES` distinct texts is all numbers, all dates of one
    kind, or refused. So once there are more, a text is forgotten if every reading still possible finds nothing telling
    about it. The texts kept are then inferred, or fitted to a given attribute, as if they were the column.

    Args:
        readings: the possible readings of a column, given its first texts (an Arrow array).
        strip: cells are those of a text file: stripped, and words for missing values are missing.
        keep: words for missing values that are values here.
        capacity: number of distinct texts from which on only telling ones are kept; at least as many as a categorical
            column may have.
    """

    def __init__(
        self,
        readings: Callable[[Any], list[Reading]],
        *,
        strip: bool = True,
        keep: frozenset[str] = frozenset(),
        capacity: int,
    ) -> None:
        import pyarrow as pa

        self.rows = 0
        self.missing = 0
        self.alive: list[Reading] | None = None
        self._readings = readings
        self._strip = strip
        self._keep = keep
        self._capacity = capacity
        self._texts = pa.array([], pa.large_string())
        self._cells = np.empty(0, dtype=np.int64)
        self._taken: dict[str, int] = {}
        self._odd = 0
        self._forgotten_counted = True

    @property
    def shortened(self) -> bool:
        """Whether some text may have been forgotten."""
        return self.alive is not None

    def split(self, column: Any) -> Words:
        """The words of a batch."""
        return Words.of(column, strip=self._strip, keep=self._keep)

    def add(self, column: Any) -> None:
        """Take in the next batch, an Arrow array of strings."""
        words = self.split(column)
        self.rows += len(words.codes)
        self.missing += int(words.empty.sum())
        for word, count in words.taken_as_missing:
            self._taken[word] = self._taken.get(word, 0) + count
        at = self.positions(words.texts)
        counts = words.counts()
        known = at >= 0
        self._cells[at[known]] += counts[known]
        fresh = np.flatnonzero(~known)
        if self.alive is None:
            # One more than may be listed, so that a column that is neither numbers nor dates is known to be too wide.
            room = self._capacity + 1 - len(self._texts)
            self._append(words.texts, counts, fresh[:room])
            fresh = fresh[room:]
            if len(self._texts) > self._capacity:
                self._shorten()
        if len(fresh):
            self._append(words.texts, counts, fresh[self._telling(words.texts.take(fresh))])

    def positions(self, texts: Any) -> npt.NDArray[np.int64]:
        """Position of texts among those kept, -1 for others."""
        import pyarrow.compute as pc

        at = pc.index_in(texts, value_set=self._texts).fill_null(-1)
        return np.asarray(at.to_numpy(zero_copy_only=False), dtype=np.int64)

    def _append(self, texts: Any, counts: npt.NDArray[np.int64], which: npt.NDArray[np.int64]) -> None:
        import pyarrow as pa

        if len(which):
            self._texts = pa.concat_arrays([self._texts, texts.take(which)])
            self._cells = np.append(self._cells, counts[which])

    def _shorten(self) -> None:
        self.alive = []
        for reading in self._readings(self._texts):
            values, bad = reading.read(self._texts)
            if not bad.any():
                reading.telling(self._texts, values)
                self.alive.append(reading)

    def _telling(self, texts: Any) -> npt.NDArray[np.bool_]:
        kept = np.zeros(len(texts), dtype=bool)
        if not self.alive:
            if self._odd < _ODD:
                kept |= ~matches(texts, NUMBER)
            return self._some_odd(kept)
        for reading in list(self.alive):
            values, bad = reading.read(texts)
            if bad.any():
                self.alive.remove(reading)
                kept |= self._some_odd(bad)
            else:
                kept |= reading.telling(texts, values)
        return kept

    def _some_odd(self, which: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        positions = np.flatnonzero(which)[: max(_ODD - self._odd, 1)]
        self._odd += len(positions)
        kept = np.zeros(len(which), dtype=bool)
        kept[positions] = True
        return kept

    def recounted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Count the cells of the texts kept anew, over all batches; gives the distinct texts of every batch."""
        self._cells[:] = 0
        self._forgotten_counted = False
        for column in batches:
            words = self.split(column)
            at = self.positions(words.texts)
            self._cells[at[at >= 0]] += words.counts()[at >= 0]
            yield words.texts

    @property
    def words(self) -> Words:
        """The texts kept, as a short column that stands for the whole; a missing cell is its last entry."""
        cells = self._cells.copy()
        forgotten = self.rows - self.missing - int(cells.sum())
        if self.alive and self._forgotten_counted and forgotten:
            # Not to a text that stands for an infinite number: those are counted in a message.
            cells[np.argmax(np.isfinite(self.alive[0].read(self._texts)[0]))] += forgotten
        codes = np.arange(len(cells), dtype=np.int64)
        if self.missing:
            codes, cells = np.append(codes, -1), np.append(cells, self.missing)
        return Words(self._texts, codes, tuple(self._taken.items()), cells)

    def encoder(self, attribute: Attribute, entries: Codes) -> Callable[[Any], Codes]:
        """How to encode a batch, given the codes of the entries of :attr:`words`."""
        texts = entries[: len(self._texts)]
        reading = self._reading(attribute) if self.shortened else None

        def encode(column: Any) -> Codes:
            words = self.split(column)
            if reading is not None:
                codes = attribute.encode(reading.values(words.texts)) if len(words.texts) else texts[:0]
            else:
                at = self.positions(words.texts)
                if (at < 0).any():
                    raise DataError(CHANGED)
                codes = texts[at]
            return np.append(codes, np.int32(attribute.size - 1))[words.codes].astype(np.int32)

        return encode

    def _reading(self, attribute: Attribute) -> Reading:
        alive = self.alive or []
        if attribute.kind == "date":
            parsed = parse_dates(self._texts)
            return Dates(parsed.written if parsed else "")
        return next(reading for reading in alive if not isinstance(reading, Dates))
