"""What an engine is asked while a mechanism runs: rows in parts of a range, and tables of coded columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpsyn.attribute import Codes
from dpsyn.data._fold import CHANGED
from dpsyn.data._sql import Cells, Coded, Floats, Integers, Listed, Numbers
from dpsyn.data.engines import COUNT, ROWS, Engine
from dpsyn.data.read import check_memory
from dpsyn.errors import DataError
from dpsyn.statistics import EqualRows

_OTHER = -2
_SETS_AT_ONCE = 40
"""Tables that are counted in one reading: an engine keeps all of them in memory."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows in parts of the range of a column; see :meth:`CountedTable.parts`."""

    engine: Engine
    cells: Cells
    ends: tuple[float, float]
    finest: Floats | None

    def counts(self, edges: Floats) -> Integers:
        """As :meth:`~dpsyn.privacy.trees.Histogram.counts` of the column's values; edges of shape (parts above, 11)."""
        if self.finest is not None:
            cuts, below = self.finest, self._below_finest
        else:
            cuts = np.unique(edges)
            below = self._below(cuts)
        return np.diff(below[np.searchsorted(cuts, edges)])

    @cached_property
    def _below_finest(self) -> Integers:
        assert self.finest is not None
        return self._below(self.finest)

    def _below(self, cuts: Floats) -> Integers:
        """How many values lie below each of ascending cuts: none below the range, and all below its end."""
        inside = (self.ends[0] < cuts) & (cuts < self.ends[1])
        found = np.zeros(len(cuts), dtype=np.int64)
        if isinstance(self.cells, Listed):
            some = np.flatnonzero(~np.isnan(self.cells.numbers))
            order = some[np.argsort(self.cells.numbers[some], kind="stable")]
            reached = np.append(0, np.cumsum(self.cells.rows[order]))
            found[inside] = reached[np.searchsorted(self.cells.numbers[order], cuts[inside])]
            total = reached[-1]
        else:
            assert isinstance(self.cells, Numbers)
            thresholds, at = np.unique(np.array(self.cells.thresholds(cuts[inside]), dtype=object), return_inverse=True)
            reached = np.cumsum(self.engine.between(self.cells, thresholds.tolist()))
            found[inside] = reached[at]
            total = reached[-1]
        found[cuts >= self.ends[1]] = total
        return found


@dataclass(frozen=True, eq=False)
class CodedInPlace:
    """Rows as codes that an engine counts; see :class:`dpsyn.solvers.coded.Rows`."""

    engine: Engine
    name: str
    n: int
    sizes: tuple[int, ...]
    columns: Sequence[Coded]
    _known: dict[tuple[int, ...], tuple[Codes, Integers]] = field(default_factory=dict)
    _alone: dict[int, Integers] = field(default_factory=dict)

    def _source(self, columns: Iterable[int]) -> str:
        chosen = [(j, self.columns[j]) for j in columns]
        codes = ", ".join(f"{coded.sql} AS k{j}" for j, coded in chosen)
        return f"(SELECT {codes} FROM {ROWS} {' '.join(coded.join for _, coded in chosen if coded.join)}) AS coded"

    def expect(self, tables: Iterable[Sequence[int]]) -> None:
        """See :class:`Rows`; a table that is part of another one is read off it."""
        wanted = dict.fromkeys(tuple(sorted(table)) for table in tables)
        new = [one for one in wanted if one and one not in self._known and not _wider(one, self._known)]
        new = [one for one in new if not _wider(one, new)]
        at_once = _SETS_AT_ONCE if self.engine.grouping_sets else 1
        for start in range(0, len(new), at_once):
            self._count(new[start : start + at_once])

    def counts(self, columns: Sequence[int]) -> Integers:
        """See :class:`Rows`."""
        if not columns:
            return np.array([self.n], dtype=np.int64)
        codes, number = self.cells(columns)
        sizes = [self.sizes[j] for j in columns]
        counts = np.zeros(math.prod(sizes), dtype=np.int64)
        np.add.at(counts, np.ravel_multi_index(codes, sizes), number)
        return counts

    def cells(self, columns: Sequence[int]) -> tuple[tuple[Codes, ...], Integers]:
        """See :class:`Rows`."""
        self.expect([columns])
        smallest = tuple(sorted(columns))
        if smallest not in self._known:
            smallest = min(_wider(smallest, self._known), key=lambda one: len(self._known[one][1]))
        codes, number = self._known[smallest]
        return tuple(codes[smallest.index(j)] for j in columns), number

    def _count(self, tables: Sequence[tuple[int, ...]]) -> None:
        """Count all of these tables in one reading."""
        used = sorted({j for table in tables for j in table})
        keys = ", ".join(f"k{j}" for j in used)
        sets = ", ".join(f"({', '.join(f'k{j}' for j in table)})" for table in tables)
        by = f"GROUPING SETS ({sets})" if len(tables) > 1 else keys
        found = self.engine.ask(f"SELECT {keys}, {COUNT} AS number FROM {self._source(used)} GROUP BY {by}")
        # A code is never NULL: NULL says that the column is none of this table's.
        codes = np.stack([np.asarray(pc.fill_null(found[f"k{j}"].cast(pa.int64()), _OTHER)) for j in used], axis=1)
        number = np.asarray(found["number"].cast(pa.int64()))
        there = codes != _OTHER
        for table in tables:
            mine = (there == np.isin(used, table)).all(axis=1)
            inside = codes[mine][:, [used.index(j) for j in table]]
            self._check(table, inside, number[mine])
            self._known[table] = np.ascontiguousarray(inside.T, dtype=np.int32), number[mine]

    def _check(self, columns: Sequence[int], codes: Codes, number: Integers) -> None:
        """Refuse what another query has changed: codes that are none, the number of rows, or the counts of a column."""
        sizes = [self.sizes[j] for j in columns]
        same = len(codes) > 0 and codes.min() >= 0 and bool((codes < sizes).all()) and number.sum() == self.n
        for j, size, column in zip(columns, sizes, codes.T, strict=True):
            if same:
                counts = np.zeros(size, dtype=np.int64)
                np.add.at(counts, column, number)
                same = np.array_equal(counts, self._alone.setdefault(j, counts))
        if not same:
            raise DataError(f"{self.name!r}: {CHANGED}, and store what a query draws at random in a table first")

    def equal_rows(self) -> EqualRows:
        """How many rows there are, how many different ones, and the most that are equal."""
        every = range(len(self.columns))
        keys = ", ".join(f"k{j}" for j in every)
        groups = f"(SELECT {keys}, {COUNT} AS number FROM {self._source(every)} GROUP BY {keys}) AS different"
        # A code below 0 is of a cell that was not there before.
        lost = f"CAST(max(CASE WHEN {' OR '.join(f'k{j} < 0' for j in every)} THEN 1 ELSE 0 END) AS BIGINT) AS lost"
        sums = f"CAST(sum(number) AS BIGINT) AS n, CAST(max(number) AS BIGINT) AS largest, {lost}"
        found = self.engine.ask(f"SELECT {sums}, {COUNT} AS different FROM {groups}").to_pydict()
        if found["n"][0] != self.n or found["lost"][0]:
            raise DataError(f"{self.name!r}: {CHANGED}")
        return EqualRows(self.n, int(found["different"][0]), int(found["largest"][0]))

    def empty(self, missing: Sequence[int]) -> int:
        """How many rows have these codes, those of empty cells."""
        every = range(len(self.columns))
        where = " AND ".join(f"k{j} = {code}" for j, code in enumerate(missing))
        return int(self.engine.ask(f"SELECT {COUNT} AS n FROM {self._source(every)} WHERE {where}")["n"][0].as_py())

    def different(self) -> tuple[Codes, Integers]:
        """See :class:`Rows`."""
        check_memory(self.name, self.equal_rows().distinct, len(self.columns) + 2)
        keys = ", ".join(f"k{j}" for j in range(len(self.columns)))
        found = self.engine.ask(
            f"SELECT {keys}, {COUNT} AS number FROM {self._source(range(len(self.columns)))} GROUP BY {keys}"
        )
        number = np.asarray(found["number"].cast(pa.int64()))
        codes = self._checked(found, number)
        order = np.lexsort(codes.T[::-1])
        return codes[order], number[order]

    @property
    def codes(self) -> Codes:
        """See :class:`Rows`."""
        check_memory(self.name, self.n, len(self.columns))
        every = range(len(self.columns))
        keys = ", ".join(f"k{j}" for j in every)
        found = self.engine.ask(f"SELECT {keys} FROM {self._source(every)}")
        return self._checked(found, np.ones(len(found), dtype=np.int64))

    def _checked(self, found: pa.Table, number: Integers) -> Codes:
        every = range(len(self.columns))
        codes = np.stack([np.asarray(found[f"k{j}"]) for j in every], axis=1).astype(np.int32)
        self._check(every, codes, number)
        return np.asfortranarray(codes)


def _wider(columns: tuple[int, ...], tables: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The tables that hold all of some columns, and others."""
    return [one for one in tables if set(columns) < set(one)]
