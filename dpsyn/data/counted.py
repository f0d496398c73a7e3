"""A table that is counted where it lies: what mechanisms on tables ask of rows, answered by an engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dpsyn import checks
from dpsyn.attribute import Attribute, Codes
from dpsyn.calendar import WithCalendar, calendar_codes
from dpsyn.data._fold import CHANGED
from dpsyn.data._frames import as_frame, as_series, fit_typed
from dpsyn.data._sql import Cells, Coded, Floats, Integers, Listed, Numbers, cell_of, name_of, numbers_of
from dpsyn.data.engines import COUNT, ROWS, Engine
from dpsyn.data.read import check_memory
from dpsyn.display import PRIVATE, Shown
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DomainError, shown
from dpsyn.statistics import DatasetStatistics, EqualRows, statistics_of
from dpsyn.table import Table

MOST_LISTED = 100_000
"""Different cells that a column may have which is told apart cell by cell."""
_OTHER = -2
_SETS_AT_ONCE = 40
"""Tables that are counted in one reading: an engine keeps all of them in memory."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable(Shown):
    """Private rows that stay where they are, together with their public domain; :func:`dpsyn.read_table` makes one.

    Every cell counts as in a :class:`~dpsyn.table.Table` of the same rows, so mechanisms that need counts alone give the
    same release for the same seed. Others have the engine hand over the rows (:meth:`loaded`). Rows must not change while
    they are counted: a change of their number is found and ends the run, any other is not.

    Attributes:
        engine: who counts.
        domain: as of a :class:`~dpsyn.table.Table`.
        n: number of rows.
        name: how to call it.
    """

    engine: Engine
    domain: Domain
    n: int
    name: str
    _cells: tuple[Cells, ...] = field(repr=False)

    @classmethod
    def of(
        cls, engine: Engine, domain: Domain, name: str, ready: Callable[[Attribute], Cells | None] = lambda attribute: None
    ) -> CountedTable:
        """Look every column through, so that a value outside the domain is found here and nowhere later.

        Args:
            engine: of the rows.
            domain: its columns are looked up by name.
            name: of the table.
            ready: cells that need no looking through.

        Raises:
            DataError: there is no row, or the engine does not answer.
            DomainError: a column is absent, or a cell lies outside the domain.
        """
        for attribute in domain.attributes:
            if attribute.name not in engine.schema.names:
                raise DomainError(f"the table has no column {attribute.name!r}", column=attribute.name)
        cells = [ready(attribute) or _numbers(engine, attribute) for attribute in domain.attributes]
        some = [f"CAST(count({one.cell}) AS BIGINT) AS c{j}" for j, one in enumerate(cells) if one is not None]
        found = engine.ask(f"SELECT {', '.join([f'{COUNT} AS n', *some])} FROM {ROWS}").to_pydict()
        n = int(found["n"][0])
        if n == 0:
            raise DataError(f"{name!r} has {len(domain)} columns but no row")
        looked: list[Cells] = []
        for j, (attribute, one) in enumerate(zip(domain.attributes, cells, strict=True)):
            if one is None:
                looked.append(_listed(engine, attribute))
            else:
                _check_missing(attribute, n - int(found[f"c{j}"][0]))
                looked.append(one)
        return cls(engine, domain, n, name, tuple(looked))

    def _shown(self) -> tuple[str, list[str]]:
        heading, *columns = self.domain._shown()[1]
        return PRIVATE, [f"{self.name}: {self.n:,} row{'s' * (self.n != 1)} counted in place, {heading}", *columns]

    def project(self, columns: Sequence[str]) -> CountedTable:
        """The table of some of the columns.

        Raises:
            DomainError: there is no such column.
            ParameterError: ``columns`` is no list.
        """
        domain = self.domain.project(columns)
        cells = tuple(self._cells[self.domain.index(name)] for name in domain.names)
        return CountedTable(self.engine, domain, self.n, self.name, cells)

    def with_domain(self, domain: Domain) -> CountedTable:
        """The same rows over another domain, of all or some of the columns that the engine has.

        Raises:
            DomainError: a column is absent, or a value lies outside the domain.
            ParameterError: it is no domain.
        """
        checks.instance("domain", domain, Domain, "a domain")
        return CountedTable.of(self.engine, domain, self.name)

    def loaded(self) -> Table:
        """All rows in memory, handed over by the engine.

        Raises:
            DataError: they do not fit.
        """
        check_memory(self.name, self.n, len(self.domain))
        frame = as_frame(self.engine.ask(f"SELECT {', '.join(map(name_of, self.domain.names))} FROM {ROWS}"))
        if len(frame) != self.n:
            raise DataError(CHANGED)
        fitted = {a.name: fit_typed(a, frame[a.name]) for a in self.domain.attributes}
        return Table(pd.DataFrame(fitted), self.domain, self.name)

    def statistics(self, *, two_valued_as_bit: bool = False) -> DatasetStatistics:
        """As of a :class:`~dpsyn.table.Table`."""
        return statistics_of(self._equal_rows, self.domain, name=self.name, two_valued_as_bit=two_valued_as_bit)

    @cached_property
    def _equal_rows(self) -> EqualRows:
        return self.coded(self.domain, {}).equal_rows()

    def smallest_class(self, column: str) -> int:
        """As of a :class:`~dpsyn.table.Table`."""
        return int(self.coded(self.domain, {}).counts((self.domain.index(column),)).min())

    def parts(self, position: int, ends: tuple[float, float], finest: Floats | None) -> Callable[[Floats], Integers]:
        """How to count a column in parts of its range.

        Args:
            position: of a numeric or date column.
            ends: of the range.
            finest: edges of the narrowest parts that will be asked for; None where there are too many to count them first.
        """
        return _Parts(self.engine, self._cells[position], ends, finest).counts

    def coded(self, domain: Domain, edges: Mapping[int, Floats]) -> CodedInPlace:
        """The rows as codes, to be counted.

        Args:
            domain: this one, or with the weekdays and months of its dates besides.
            edges: of bins, by the position of their column; others have the domain's own.
        """
        codes = [one.code(edges.get(j), f"m{j}") for j, one in enumerate(self._cells)]
        if isinstance(domain, WithCalendar):
            for at, (j, part) in enumerate(domain.added, len(self._cells)):
                codes.append(self._of_calendar(j, part, domain.attributes[at], f"m{at}"))
        return CodedInPlace(self.engine, self.name, self.n, domain.shape, codes)

    def _of_calendar(self, position: int, part: str, added: Attribute, alias: str) -> Coded:
        """The weekday or the month of a date."""
        cells = self._cells[position]
        days = cells if isinstance(cells, Listed) else _listed(self.engine, cells.attribute, cells.cell)
        assert days.numbers is not None
        return replace(days, attribute=added).looked_up(calendar_codes(part, days.numbers), alias)


AnyTable = Table | CountedTable
"""Rows in memory, or counted in place."""


def _numbers(engine: Engine, attribute: Attribute) -> Numbers | None:
    kind = engine.schema.field(attribute.name).type
    if attribute.kind == "date" and pa.types.is_timestamp(kind) and kind.tz is not None:
        raise DataError(
            f"column {attribute.name!r} holds times with a zone, which engines show by clocks of their own: hand in a query "
            "that casts them to dates",
            column=attribute.name,
        )
    return numbers_of(attribute, kind)


def _listed(engine: Engine, attribute: Attribute, cell: str | None = None) -> Listed:
    """The different cells of a column with their codes."""
    cell = cell or cell_of(attribute.name, engine.schema.field(attribute.name).type)
    cells = f"SELECT {cell} AS cell FROM {ROWS}"
    found = engine.ask(f"SELECT cell, {COUNT} AS number FROM ({cells}) AS cells GROUP BY cell LIMIT {MOST_LISTED + 1}")
    if len(found) > MOST_LISTED:
        raise DomainError(
            f"column {attribute.name!r} holds more than {MOST_LISTED:,} different cells of a type that cannot be compared "
            f"with bounds, {found.schema.field('cell').type}; hand in a query that groups or casts them",
            column=attribute.name,
        )
    cells_, rows = found["cell"].combine_chunks(), np.asarray(found["number"], dtype=np.int64)
    if pa.types.is_dictionary(cells_.type):
        cells_ = cells_.cast(cells_.type.value_type)
    there = np.asarray(cells_.is_valid())
    _check_missing(attribute, int(rows[~there].sum()))
    values, rows = cells_.drop_null(), rows[there]
    try:
        codes, numbers = _encoded(attribute, values)
    except DomainError:
        for value, count in zip(values, rows.tolist(), strict=True):
            _check_alone(attribute, pa.array([value]), count)
        raise
    return Listed(attribute, cell, values, rows, codes, numbers)


def _encoded(attribute: Attribute, values: pa.Array) -> tuple[Codes, Floats | None]:
    series = fit_typed(attribute, as_series(values))
    return attribute.encode(series), attribute.in_units(series) if attribute.is_binned else None


def _check_alone(attribute: Attribute, value: pa.Array, rows: int) -> None:
    """Refuse a value as a table would, with the number of its rows."""
    try:
        _encoded(attribute, value)
    except DomainError as error:
        what = "" if attribute.is_binned else ", which is none of the categories"
        raise DomainError(
            f"column {attribute.name!r}: {rows:,} rows hold {shown(value[0].as_py())}{what}; add it to the domain or change "
            "the data",
            column=attribute.name,
        ) from error


def _check_missing(attribute: Attribute, empty: int) -> None:
    if empty and not attribute.missing:
        raise DomainError(
            f"column {attribute.name!r}: {empty:,} rows are empty, but the domain allows no missing values; allow them or "
            "fill the cells",
            column=attribute.name,
        )


@dataclass(frozen=True, eq=False)
class _Parts:
    """Rows in parts of the range of a column; see :meth:`CountedTable.parts`."""

    engine: Engine
    cells: Cells
    ends: tuple[float, float]
    finest: Floats | None

    def counts(self, edges: Floats) -> Integers:
        """As :meth:`~dpsyn.privacy.trees.Histogram.counts` of the column's values; edges of shape (parts above, 11)."""
        if self.finest is not None and np.isin(edges, self.finest).all():
            cuts, below = self.finest, self._below_finest
        else:
            cuts = np.unique(edges)
            below = self._below(cuts)
        return np.diff(below[np.searchsorted(cuts, edges)], axis=1)

    @cached_property
    def _below_finest(self) -> Integers:
        assert self.finest is not None
        return self._below(self.finest)

    def _below(self, cuts: Floats) -> Integers:
        """How many values lie below each of ascending cuts: none below the range, and all below its end."""
        inside = (self.ends[0] < cuts) & (cuts < self.ends[1])
        found = np.zeros(len(cuts), dtype=np.int64)
        if isinstance(self.cells, Listed):
            assert self.cells.numbers is not None
            order = np.argsort(self.cells.numbers, kind="stable")
            reached = np.append(0, np.cumsum(self.cells.rows[order]))
            found[inside] = reached[np.searchsorted(self.cells.numbers[order], cuts[inside], side="left")]
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
    _known: dict[tuple[int, ...], Integers] = field(default_factory=dict)

    def _source(self, columns: Iterable[int]) -> str:
        chosen = [(j, self.columns[j]) for j in columns]
        codes = ", ".join(f"{coded.sql} AS k{j}" for j, coded in chosen)
        return f"(SELECT {codes} FROM {ROWS} {' '.join(coded.join for _, coded in chosen if coded.join)}) AS coded"

    def expect(self, tables: Iterable[Sequence[int]]) -> None:
        """See :class:`Rows`; a table that is part of another one is read off it."""
        wanted = dict.fromkeys(tuple(sorted(table)) for table in tables)
        new = [one for one in wanted if one and not any(set(one) <= set(known) for known in self._known)]
        new = [one for one in new if not any(set(one) < set(other) for other in new)]
        at_once = _SETS_AT_ONCE if self.engine.grouping_sets else 1
        for start in range(0, len(new), at_once):
            self._count(new[start : start + at_once])

    def counts(self, columns: Sequence[int]) -> Integers:
        """See :class:`Rows`."""
        if not columns:
            return np.array([self.n], dtype=np.int64)
        self.expect([columns])
        holding = [one for one in self._known if set(columns) <= set(one)]
        smallest = min(holding, key=lambda one: len(self._known[one]))
        table = self._known[smallest].reshape([self.sizes[j] for j in smallest])
        table = table.sum(axis=tuple(axis for axis, j in enumerate(smallest) if j not in columns))
        left = [j for j in smallest if j in columns]
        return np.ascontiguousarray(table.transpose([left.index(j) for j in columns])).ravel()

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
            inside, sizes = codes[mine][:, [used.index(j) for j in table]], [self.sizes[j] for j in table]
            if not len(inside) or inside.min() < 0 or (inside >= sizes).any() or number[mine].sum() != self.n:
                raise DataError(f"{self.name!r}: {CHANGED}")
            counts = np.zeros(math.prod(sizes), dtype=np.int64)
            counts[np.ravel_multi_index(tuple(inside.T), sizes)] = number[mine]
            self._known[table] = counts

    def equal_rows(self) -> EqualRows:
        """How many rows there are, how many different ones, and the most that are equal."""
        every = range(len(self.columns))
        keys = ", ".join(f"k{j}" for j in every)
        groups = f"(SELECT {COUNT} AS number FROM {self._source(every)} GROUP BY {keys}) AS different"
        sums = "CAST(sum(number) AS BIGINT) AS n, CAST(max(number) AS BIGINT) AS largest"
        found = self.engine.ask(f"SELECT {sums}, {COUNT} AS different FROM {groups}").to_pydict()
        if int(found["n"][0]) != self.n:
            raise DataError(f"{self.name!r}: {CHANGED}")
        return EqualRows(self.n, int(found["different"][0]), int(found["largest"][0]))

    def different(self) -> tuple[Codes, Integers]:
        """See :class:`Rows`."""
        check_memory(self.name, self.equal_rows().distinct, len(self.columns) + 2)
        keys = ", ".join(f"k{j}" for j in range(len(self.columns)))
        found = self.engine.ask(
            f"SELECT {keys}, {COUNT} AS number FROM {self._source(range(len(self.columns)))} GROUP BY {keys}"
        )
        codes = self._checked(found)
        order = np.lexsort(codes.T[::-1])
        return codes[order], np.asarray(found["number"].cast(pa.int64()))[order]

    @property
    def codes(self) -> Codes:
        """See :class:`Rows`."""
        check_memory(self.name, self.n, len(self.columns))
        every = range(len(self.columns))
        keys = ", ".join(f"k{j}" for j in every)
        found = self._checked(self.engine.ask(f"SELECT {keys} FROM {self._source(every)}"))
        if len(found) != self.n:
            raise DataError(f"{self.name!r}: {CHANGED}")
        return found

    def _checked(self, found: pa.Table) -> Codes:
        codes = np.stack([np.asarray(found[f"k{j}"]) for j in range(len(self.columns))], axis=1).astype(np.int32)
        if len(codes) and (codes.min() < 0 or (codes >= self.sizes).any()):
            raise DataError(f"{self.name!r}: {CHANGED}")
        return np.asfortranarray(codes)
