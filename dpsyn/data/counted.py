"""A table that is counted where it lies: what mechanisms on tables ask of rows, answered by an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dpsyn import checks
from dpsyn.attribute import Attribute
from dpsyn.calendar import WithCalendar, calendar_codes
from dpsyn.data._counting import CodedInPlace, Parts
from dpsyn.data._fold import CHANGED
from dpsyn.data._parquet import as_series, is_text
from dpsyn.data._sql import Cells, Coded, Floats, Integers, Known, Listed, Numbers, name_of, numbers_of, text
from dpsyn.data.engines import COUNT, ROWS, Engine
from dpsyn.data.fit import fit_whole
from dpsyn.data.infer import Column, UnusableColumnError
from dpsyn.data.read import check_memory, empty_rows
from dpsyn.dates import local_moments, timed
from dpsyn.display import PRIVATE, Shown
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DomainError, quoted, shown
from dpsyn.notation import counted
from dpsyn.statistics import DatasetStatistics, EqualRows, statistics_of
from dpsyn.table import Moved, Table, changed_columns, notes_over, shown_notes

Parse = Callable[[pa.Array], "pd.Series[Any]"]

MOST_LISTED = 100_000
"""Different cells that a column may have which is told apart cell by cell."""
MOST_DRAWN, _MOST_CELLS = 100_000, 2_000_000
"""Rows, and cells of them, that an engine draws."""
_COUNTED = ("_own", "_equal_rows", "_ends", "_moved", "_hashed")
_TRIED = 100
"""Texts whose other spellings an engine is asked for."""
_TO_SPARE = 1.1
"""So many times the rows that are wanted, because their number is random."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedTable(Shown):
    """Private rows that stay where they are, together with their public domain; :func:`dpsyn.read_table` makes one.

    Every cell counts as in a :class:`~dpsyn.table.Table` of the same rows, so mechanisms that need counts alone give the
    same release for the same seed. Others have the engine hand over the rows (:meth:`loaded`), in the order of their file or
    table where there is one, else in that of their values: what mechanisms do with rows is the same in law in any order.
    Rows must not change while they are counted: a change of their number, or of how often a column has a value, is found
    and ends the run.

    Attributes:
        engine: who counts.
        domain: as of a :class:`~dpsyn.table.Table`.
        n: number of rows.
        name: how to call it.
        notes: what reading the rows had to decide, in full sentences.
    """

    engine: Engine
    domain: Domain
    n: int
    name: str
    _cells: tuple[Cells, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

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
                raise DomainError(f"the table has no column {quoted(attribute.name)}", column=attribute.name)
        cells = [ready(attribute) or _numbers(engine, attribute) for attribute in domain.attributes]
        some = [f"CAST(count({one.cell}) AS BIGINT) AS c{j}" for j, one in enumerate(cells) if one is not None]
        found = engine.ask(f"SELECT {', '.join([f'{COUNT} AS n', *some])} FROM {ROWS}").to_pydict()
        n = int(found["n"][0])
        if n == 0:
            raise DataError(f"{name!r} has {counted(len(domain), 'column')} but no row")
        looked: list[Cells] = []
        for j, (attribute, one) in enumerate(zip(domain.attributes, cells, strict=True)):
            if one is None:
                looked.append(listed(engine, attribute))
            else:
                _check_missing(attribute, n - int(found[f"c{j}"][0]))
                looked.append(one)
        return cls(engine, domain, n, name, tuple(looked))

    def _shown(self) -> tuple[str, list[str]]:
        heading, *columns = self.domain._shown()[1]
        heading = f"{self.name}: {counted(self.n, 'row')} counted in place, {heading}"
        return PRIVATE, [heading, *shown_notes(self.notes), *columns]

    def project(self, columns: Sequence[str]) -> CountedTable:
        """The table of some of the columns.

        Raises:
            DomainError: there is no such column.
            ParameterError: ``columns`` is no list.
        """
        domain = self.domain.project(columns)
        cells = tuple(self._cells[self.domain.index(name)] for name in domain.names)
        return CountedTable(self.engine, domain, self.n, self.name, cells, self.notes)

    def with_domain(self, domain: Domain) -> CountedTable:
        """The same rows over another domain, of all or some of the columns that the engine has.

        Numbers and dates beyond its bounds are taken as their nearer end, and a note says how many.

        Raises:
            DomainError: a column is absent, or a cell is none of its categories, no number or no date.
            ParameterError: it is no domain.
        """
        checks.instance("domain", domain, Domain, "a domain")
        if self.counts_as(domain):
            cells = [one.over(a) for one, a in zip(self._cells, domain.attributes, strict=True)]
            made = replace(self, domain=domain, _cells=tuple(cells))
            vars(made).update({name: vars(self)[name] for name in _COUNTED if name in vars(self)})
            if "drawn" in vars(self):
                vars(made)["drawn"] = self.drawn.with_domain(domain)
            return made
        made = self._looked_through(domain)
        vars(made)["notes"] = notes_over(self.notes, changed_columns(self.domain, domain), made.moved)
        return made

    def counts_as(self, domain: Domain) -> bool:
        """Whether over another domain everything counts as over this one, so that an engine need not be asked again."""
        return domain.names == self.domain.names and not changed_columns(self.domain, domain)

    def _looked_through(self, domain: Domain) -> CountedTable:
        def known(attribute: Attribute) -> Cells | None:
            """Cells that were listed stay what they are."""
            before = self._cells[self.domain.index(attribute.name)] if attribute.name in self.domain else None
            return _checked(before.over(attribute)) if isinstance(before, Listed) else None

        return CountedTable.of(self.engine, domain, self.name, known)

    def loaded(self) -> Table:
        """All rows in memory, handed over by the engine.

        Raises:
            DataError: they do not fit.
        """
        check_memory(self.name, self.n, len(self.domain))
        table = self._handed_over()
        if table.n != self.n:
            raise DataError(CHANGED)
        return table

    def _handed_over(self, share: float = 1.0, most: int | None = None) -> Table:
        """Rows in memory as the engine has them, about such a share of them, and at random at most so many."""
        cells = [one.cell if isinstance(one, Listed) else name_of(one.attribute.name) for one in self._cells]
        found = self.engine.rows(cells, share).combine_chunks()
        if most is not None and len(found) > most:
            found = found.take(np.sort(np.random.default_rng(0).choice(len(found), most, replace=False)))
        frame = {one.attribute.name: one.column(found.column(j).combine_chunks()) for j, one in enumerate(self._cells)}
        return Table(pd.DataFrame(frame), self.domain, self.name, self.notes)

    def statistics(self, *, two_valued_as_bit: bool = False) -> DatasetStatistics:
        """As of a :class:`~dpsyn.table.Table`."""
        return statistics_of(self._equal_rows, self.domain, name=self.name, two_valued_as_bit=two_valued_as_bit)

    @cached_property
    def _own(self) -> CodedInPlace:
        return self.coded(self.domain, {})

    @cached_property
    def _equal_rows(self) -> EqualRows:
        return self._own.equal_rows()

    def smallest_class(self, column: str) -> int:
        """As of a :class:`~dpsyn.table.Table`."""
        return int(self._own.counts((self.domain.index(column),)).min())

    @property
    def single_valued(self) -> list[str]:
        """As of a :class:`~dpsyn.table.Table`."""
        alike = [self.n > 1 and np.count_nonzero(self._own.counts((j,))) == 1 for j in range(len(self.domain))]
        return [
            a.name
            for a, one in zip(self.domain.attributes, alike, strict=True)
            if a.is_constant or (one and (not a.is_binned or self.ends(a.name).nunique(dropna=False) == 1))
        ]

    def ends(self, column: str) -> pd.Series[Any]:
        """As of a :class:`~dpsyn.table.Table`."""
        attribute = self.domain[column]
        return self._ends[attribute.name] if attribute.is_binned else self.different(column)

    @cached_property
    def _ends(self) -> dict[str, pd.Series[Any]]:
        """Of all numeric and date columns, asked at once."""
        binned = [one for one in self._cells if one.attribute.is_binned]
        asked = [one for one in binned if not isinstance(one, Listed)]
        both = [f"{end}({one.cell}) AS {end}{j}" for j, one in enumerate(asked) for end in ("min", "max")]
        found = self.engine.ask(f"SELECT {', '.join(both)} FROM {ROWS}") if both else None
        ends = {one.attribute.name: one.series for one in binned if isinstance(one, Listed)}
        for j, one in enumerate(asked):
            assert found is not None
            ends[one.attribute.name] = one.column(
                pa.concat_arrays([found[f"{end}{j}"].combine_chunks() for end in ("min", "max")])
            )
        return ends

    def moved(self, column: str) -> Iterator[str]:
        """Notes on cells of a numeric or date column that lie beyond the bounds or between two multiples of the unit."""
        attribute = self.domain[column]
        return self._moved[attribute.name].notes(attribute, self.n) if attribute.is_binned else iter(())

    @cached_property
    def _moved(self) -> Mapping[str, Moved]:
        """Of all numeric and date columns, asked at once."""
        binned = [one for one in self._cells if one.attribute.is_binned]
        asked = [one for one in binned if isinstance(one, Numbers)]
        sums = [f"CAST(sum({sql}) AS BIGINT) AS m{k}" for k, sql in enumerate(sql for one in asked for sql in one.moved)]
        found = self.engine.ask(f"SELECT {', '.join(sums)} FROM {ROWS}") if sums else None
        moved = {o.attribute.name: Moved.of(o.attribute, o.series, o.rows) for o in binned if isinstance(o, Listed)}
        for j, one in enumerate(asked):
            assert found is not None
            outside, between = (int(found[f"m{2 * j + k}"][0].as_py()) for k in (0, 1))
            moved[one.attribute.name] = Moved(outside, between)
        return moved

    def empty_rows(self) -> tuple[str, ...]:
        """A note on rows that are empty in all columns."""
        return empty_rows(self.domain.attributes, self.n, lambda: self._own.empty([one.missing for one in self._cells]))

    def listed_notes(self, column: str) -> tuple[str, ...]:
        """Notes on how cells of a column are taken that were looked at one by one."""
        cells = self._cells[self.domain.index(column)]
        return cells.notes if isinstance(cells, Listed) else ()

    def timed(self, column: str) -> bool:
        """Whether cells of a column are moments within a day, of which only the day counts."""
        cells, whole = self._cells[self.domain.index(column)], self.engine.cell(column)
        if isinstance(cells, Listed):
            return cells.series.dtype.kind == "M" and bool(timed(local_moments(cells.series)).any())
        if cells.attribute.kind != "date" or not pa.types.is_timestamp(self.engine.schema.field(column).type):
            return False
        later = f"CASE WHEN CAST({cells.cell} AS TIMESTAMP) < CAST({whole} AS TIMESTAMP) THEN 1 ELSE 0 END"
        return bool(self.engine.ask(f"SELECT max({later}) AS later FROM {ROWS}")["later"][0].as_py())

    def different(self, column: str) -> pd.Series[Any]:
        """As of a :class:`~dpsyn.table.Table`, each once.

        Raises:
            DomainError: there are more than :data:`MOST_LISTED`.
        """
        cells = self._cells[self.domain.index(column)]
        if isinstance(cells, Known):
            return pd.Series(cells.attribute.categories)
        if not isinstance(cells, Listed):
            cells = listed(self.engine, cells.attribute, cells.column, cells.cell)
        return cells.series

    def numbers(self, column: str) -> tuple[Floats, Integers] | None:
        """The different values of a numeric or date column, as :meth:`Attribute.numbers` has them, and the rows of each.

        None if there are more than :data:`MOST_LISTED`.
        """
        cells = self._cells[self.domain.index(column)]
        if not isinstance(cells, Listed):
            try:
                cells = listed(self.engine, cells.attribute, cells.column, cells.cell)
            except DomainError:
                return None
        return cells.attribute.numbers(cells.series), cells.rows

    @cached_property
    def drawn(self) -> Table:
        """Rows in memory, drawn by the engine without replacement, for what counts do not say: all, if they are few."""
        most = min(MOST_DRAWN, max(1, _MOST_CELLS // len(self.domain)))
        return self._handed_over(_TO_SPARE * most / self.n, most)

    @property
    def mark(self) -> bytes:
        """As of a :class:`~dpsyn.table.Table`, in any order of the rows. Where the engine has no hash of rows, and they are
        too many to be looked at, what was counted of single columns and of equal rows has to do."""
        columns = [self._own.counts((j,)).tobytes() for j in range(len(self.domain))]
        return b"".join([repr(self._equal_rows).encode(), *columns, self._hashed])

    @cached_property
    def _hashed(self) -> bytes:
        if (found := self.engine.hashed([one.cell for one in self._cells])) is not None:
            return found
        return self.drawn.mark if self.drawn.n == self.n else b""

    def prepared(self) -> CountedTable:
        """Have the engine count now what a page asks of every table; what it said stays with the table."""
        self._own.expect([(j,) for j in range(len(self.domain))])
        _ = self._equal_rows, self._ends, self._moved, self.drawn, self._hashed
        return self

    def parts(
        self, position: int, ends: tuple[float, float], finest: Callable[[int], Floats | None]
    ) -> Callable[[Floats], Integers]:
        """How to count a column in parts of its range.

        Args:
            position: of a numeric or date column.
            ends: of the range.
            finest: edges of the narrowest parts that will be asked for, if there are at most so many: they are counted in
                one reading.
        """
        return Parts(self.engine, self._cells[position], ends, finest(self.engine.parts_at_once)).counts

    def coded(self, domain: Domain, edges: Mapping[int, Floats]) -> CodedInPlace:
        """The rows as codes, to be counted.

        Args:
            domain: this one, or with what its dates keep of the calendar besides.
            edges: of bins, by the position of their column; others have the domain's own.
        """
        codes = [one.code(edges.get(j), f"m{j}") for j, one in enumerate(self._cells)]
        if isinstance(domain, WithCalendar):
            for at, (j, part) in enumerate(domain.added, len(self._cells)):
                codes.append(self._of_calendar(j, part, domain.attributes[at], f"m{at}"))
        return CodedInPlace(self.engine, self.name, self.n, domain.shape, codes)

    def _of_calendar(self, position: int, part: str, added: Attribute, alias: str) -> Coded:
        """The weekday, the month or the day of the month of a date."""
        cells = self._cells[position]
        days = cells if isinstance(cells, Listed) else listed(self.engine, cells.attribute, cells.column, cells.cell)
        return days.over(added).looked_up(calendar_codes(part, days.numbers), alias)


AnyTable = Table | CountedTable
"""Rows in memory, or counted in place."""


def _numbers(engine: Engine, attribute: Attribute) -> Numbers | None:
    if attribute.kind == "date":
        check_no_zone(engine, attribute.name)
    return numbers_of(attribute, engine.schema.field(attribute.name).type, engine.cell(attribute.name))


def check_no_zone(engine: Engine, column: str) -> None:
    """Refuse a column of times with a zone."""
    kind = engine.schema.field(column).type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        raise UnusableColumnError(
            f"column {quoted(column)} holds times with a zone, which engines show by clocks of their own: hand in a query "
            "that casts them to dates, or choose columns without it",
            column=column,
        )


def listed(engine: Engine, attribute: Attribute, parse: Parse | None = None, cell: str | None = None) -> Listed:
    """The different cells of a column.

    Args:
        engine: who lists them.
        attribute: what the column is.
        parse: how a table has some cells, an Arrow array; None for :func:`fit_whole`.
        cell: SQL of a cell; None for the column as it is.

    Raises:
        DataError: there are too many.
        DomainError: one lies outside the domain.
    """
    cell = cell or engine.cell(attribute.name)
    cells = f"SELECT {cell} AS cell FROM {ROWS}"
    found = engine.ask(f"SELECT cell, {COUNT} AS number FROM ({cells}) AS cells GROUP BY cell LIMIT {MOST_LISTED + 1}")
    if len(found) > MOST_LISTED:
        raise DomainError(
            f"column {quoted(attribute.name)} holds more than {MOST_LISTED:,} different cells of a type that cannot "
            f"be compared with bounds, {found.schema.field('cell').type}; hand in a query that groups or casts them",
            column=attribute.name,
        )
    cells_, rows = found["cell"].combine_chunks(), np.asarray(found["number"], dtype=np.int64)
    if pa.types.is_dictionary(cells_.type):
        cells_ = cells_.cast(cells_.type.value_type)
    there = np.asarray(cells_.is_valid())
    values, some = cells_.drop_null(), rows[there]
    _check_told_apart(engine, attribute, cell, values)
    fitted = fit_whole(attribute, as_series(values)) if parse is None else Column(parse(values), attribute)
    _check_missing(attribute, int(rows[~there].sum()))
    return _checked(Listed(attribute, cell, values, some, fitted.values, fitted.notes))


def _check_told_apart(engine: Engine, attribute: Attribute, cell: str, values: pa.Array) -> None:
    """Refuse texts of which an engine takes different ones for the same."""
    if engine.collation is not None or not is_text(values.type):
        return
    listed = set(values.to_pylist())
    some = sorted(listed, key=lambda one: (one.swapcase() == one, one))[:_TRIED]
    others = {other for one in some for other in (one.swapcase(), f"{one} ", f"{one}\u0301")} - listed
    if others:
        found = engine.ask(f"SELECT {COUNT} AS n FROM {ROWS} WHERE {cell} IN ({', '.join(map(text, sorted(others)))})")
        if found["n"][0].as_py():
            raise DataError(
                f"column {quoted(attribute.name)} has a collation by which different texts are the same, as 'a' and 'A'; "
                "hand in a query that gives it a binary one",
                column=attribute.name,
            )


def _checked(cells: Listed) -> Listed:
    """Refuse values outside the domain as a table would, with the number of their rows."""
    attribute = cells.attribute
    _check_missing(attribute, int(cells.rows[cells.series.isna().to_numpy()].sum()))
    try:
        _ = cells.codes
    except DomainError as error:
        for at, rows in enumerate(cells.rows.tolist()):
            try:
                attribute.encode(cells.series.iloc[at : at + 1])
            except DomainError:
                what = "" if attribute.is_binned else ", which is none of the categories"
                raise DomainError(
                    f"column {quoted(attribute.name)}: {counted(rows, 'row')} hold{'s' * (rows == 1)} "
                    f"{shown(cells.values[at].as_py())}{what}; {attribute.remedy}",
                    column=attribute.name,
                ) from error
        raise
    return cells


def _check_missing(attribute: Attribute, empty: int) -> None:
    if empty and not attribute.missing:
        raise DomainError(
            f"column {quoted(attribute.name)}: {empty:,} rows are empty, but the domain allows no missing values; allow "
            "them or fill the cells",
            column=attribute.name,
        )
