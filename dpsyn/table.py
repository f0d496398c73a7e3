"""A table over a domain, and the statistics that the theorems ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks
from dpsyn.attribute import Attribute
from dpsyn.display import PRIVATE, Shown
from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError, quoted
from dpsyn.notation import counted
from dpsyn.statistics import DatasetStatistics, EqualRows, statistics_of

_TAKEN_AS = _NEARER_END, _NEAREST = "are taken as its nearer end.", "are taken as the nearest one."
_NOTES = 6
"""Notes that are shown."""


def shown_notes(notes: Sequence[str]) -> list[str]:
    """Some of a table's notes as lines."""
    more = [f"  {len(notes) - _NOTES} more of this: table.notes"] if len(notes) > _NOTES else []
    return [*(f"  {note}" for note in notes[:_NOTES]), *more]


class _HandedOut:
    """The rows of a table: whoever writes into what it hands out has a copy from then on, and the table stays as it is."""

    def __get__(self, table: Table | None, kind: type) -> pd.DataFrame:
        if table is None:
            raise AttributeError  # no default value of the field
        return table._rows.copy(deep=False)

    def __set__(self, table: Table, frame: pd.DataFrame) -> None:
        table.__dict__["_rows"] = frame


@dataclass(frozen=True)
class Moved:
    """How many cells of a column lie beyond the bounds of an attribute, and how many between two multiples of its unit."""

    outside: int = 0
    between: int = 0

    @classmethod
    def of(cls, attribute: Attribute, values: pd.Series[Any], rows: npt.NDArray[np.int64] | int = 1) -> Moved:
        """Those of some cells; ``rows`` is how many cells each stands for."""
        outside, between = attribute.outside(values), attribute.between_units(values)
        return cls(int((outside * rows).sum()), int((between * rows).sum()))

    def __add__(self, other: Moved) -> Moved:
        """Those of both."""
        return Moved(self.outside + other.outside, self.between + other.between)

    def notes(self, attribute: Attribute, rows: int) -> Iterator[str]:
        """What they are taken as, of a column of so many rows."""
        column, cells = f"Column {quoted(attribute.name)}", f"of {rows:,} cells"
        if self.outside:
            yield f"{column}: {self.outside:,} {cells} lie outside the domain, {attribute.reach}, and {_NEARER_END}"
        if self.between:
            yield f"{column}: {self.between:,} {cells} are no multiples of its unit, {attribute.unit:g}, and {_NEAREST}"


def changed_columns(old: Domain, new: Domain) -> list[str]:
    """The columns of a domain whose cells may have other codes than over an old one."""
    return [a.name for a in new.attributes if a.name not in old or not a.encodes_as(old[a.name])]


def notes_over(notes: Sequence[str], changed: Sequence[str], moved: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """A table's notes over another domain: of columns that it changes, those on cells that are taken as others are new."""
    columns = tuple(f"Column {quoted(name)}: " for name in changed)
    kept = [note for note in notes if not (note.startswith(columns) and note.endswith(_TAKEN_AS))]
    return tuple(dict.fromkeys((*kept, *(note for name in changed for note in moved(name)))))


@dataclass(frozen=True, eq=False, repr=False)
class Table(Shown):
    """Private rows together with their public domain.

    ``frame`` has the domain's columns in the domain's order. Making a table encodes every row, so a category outside the
    domain is found here and nowhere later; numbers and dates beyond its bounds are taken as their nearer end. Writing into
    ``frame`` changes a copy, as pandas copies on write, and codes are read-only; what goes past pandas (``.array``, memory
    that a frame was made of with ``copy=False``) must be left alone.
    ``notes`` are what reading the rows had to decide, in full sentences.

    Raises:
        DomainError: a column is absent or there twice, or a cell is none of its categories, no number or no date.
        ParameterError: ``frame``, ``domain``, ``name`` or ``notes`` is of another type.
    """

    frame: pd.DataFrame = _HandedOut()  # type: ignore[assignment]
    domain: Domain  # type: ignore[misc]  # a field without a default: its descriptor is not one
    name: str = "data"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        frame = checks.instance("frame", self._rows, pd.DataFrame, "a DataFrame")
        domain = checks.instance("domain", self.domain, Domain, "a domain")
        checks.text("name", self.name, "a text")
        notes = tuple(checks.text("notes", note, "texts") for note in checks.items("notes", self.notes, "a list of texts"))
        object.__setattr__(self, "notes", notes)
        domain.check_columns(frame)
        rows = frame.loc[:, list(domain.names)].reset_index(drop=True)
        arrow = [name for name, kind in rows.dtypes.items() if isinstance(kind, pd.ArrowDtype)]
        if arrow:  # as the cells are to Python, which is what an attribute looks at
            cells = {name: rows[name].array.__arrow_array__().to_pylist() for name in arrow}
            rows = rows.assign(**{name: pd.Series(cells[name], dtype=object) for name in arrow})
        object.__setattr__(self, "frame", rows)
        _ = self.codes

    @property
    def _rows(self) -> pd.DataFrame:
        if "_rows" not in self.__dict__:
            raise AttributeError  # being made or copied: Python asks what it has
        rows: pd.DataFrame = self.__dict__["_rows"]
        return rows

    def _of(self, frame: pd.DataFrame, domain: Domain, codes: Codes) -> Table:
        """Some of the rows and columns, whose codes are known."""
        made = object.__new__(Table)
        codes.setflags(write=False)
        facts = {
            "_rows": frame.reset_index(drop=True),
            "domain": domain,
            "name": self.name,
            "notes": self.notes,
            "codes": codes,
        }
        made.__dict__.update(facts)
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.codes.setflags(write=False)

    @cached_property
    def codes(self) -> Codes:
        """Integer codes of the rows, shape (n, number of columns)."""
        codes = self.domain.encode(self._rows)
        codes.setflags(write=False)
        return codes

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def _shown(self) -> tuple[str, list[str]]:
        heading, *columns = self.domain._shown()[1]
        return PRIVATE, [f"{self.name}: {counted(self.n, 'row')}, {heading}", *shown_notes(self.notes), *columns]

    def statistics(self, *, two_valued_as_bit: bool = False) -> DatasetStatistics:
        """p, n, ‖f_n‖∞ and the number of distinct rows: exact, and read from the private data.

        Raises:
            ParameterError: there is no row, or ``two_valued_as_bit`` is neither True nor False.
        """
        return statistics_of(self._equal_rows, self.domain, name=self.name, two_valued_as_bit=two_valued_as_bit)

    @cached_property
    def _equal_rows(self) -> EqualRows:
        return EqualRows.of(self.codes, self.domain.shape)

    def smallest_class(self, column: str) -> int:
        """Rows of the rarest value of a column: 0 if the domain has a value that no row has. It reads private rows.

        Raises:
            DomainError: there is no such column.
        """
        at = self.domain.index(column)
        return int(np.bincount(self.codes[:, at], minlength=self.domain.attributes[at].size).min())

    @property
    def single_valued(self) -> list[str]:
        """The columns of one value: in the domain, or in all of several rows. It reads private rows."""
        alike = (self.codes == self.codes[:1]).all(axis=0) & (self.n > 1)
        return [
            a.name
            for a, one in zip(self.domain.attributes, alike, strict=True)
            if a.is_constant or (one and self._rows[a.name].nunique(dropna=False) == 1)
        ]

    def ends(self, column: str) -> pd.Series[Any]:
        """Cells of a numeric or date column, its smallest and its largest one among them. It reads private rows.

        Raises:
            DomainError: there is no such column.
        """
        return self._rows[self.domain[column].name]

    def different(self, column: str) -> pd.Series[Any]:
        """Cells of a column, all that differ among them. It reads private rows.

        Raises:
            DomainError: there is no such column.
        """
        return self._rows[self.domain[column].name]

    @property
    def mark(self) -> bytes:
        """What tells these rows from others, as private as they are: codes, and numbers and dates inside their bins."""
        binned = [attribute for attribute in self.domain.attributes if attribute.is_binned]
        return b"".join([self.codes.tobytes(), *(a.numbers(self._rows[a.name]).tobytes() for a in binned)])

    def prepared(self) -> Table:
        """Rows in memory need no preparation; those that an engine counts do."""
        return self

    @property
    def drawn(self) -> Table:
        """Rows in memory: all. An engine draws some, see :class:`~dpsyn.data.counted.CountedTable`."""
        return self

    def project(self, columns: Sequence[str]) -> Table:
        """The table of some of the columns.

        Raises:
            DomainError: there is no such column.
            ParameterError: ``columns`` is no list.
        """
        domain = self.domain.project(columns)
        at = [self.domain.index(name) for name in domain.names]
        return self._of(self._rows.loc[:, list(domain.names)], domain, np.asfortranarray(self.codes[:, at]))

    def with_domain(self, domain: Domain) -> Table:
        """The same rows over another domain (of all or some of the columns).

        Numbers and dates beyond its bounds are taken as their nearer end, and a note says how many.

        Raises:
            DomainError: a column is absent, or a cell is none of its categories, no number or no date.
            ParameterError: it is no domain.
        """
        checks.instance("domain", domain, Domain, "a domain")
        changed = changed_columns(self.domain, domain)
        new = Table(self._rows, Domain.of(map(domain.__getitem__, changed)), self.name) if changed else None
        codes = np.empty((self.n, len(domain)), dtype=np.int32, order="F")
        for j, name in enumerate(domain.names):
            of = self if new is None or name not in new.domain else new
            codes[:, j] = of.codes[:, of.domain.index(name)]
        made = self._of(self._rows.loc[:, list(domain.names)], domain, codes)
        made.__dict__["notes"] = notes_over(self.notes, changed, made.moved)
        return made

    def moved(self, column: str) -> Iterator[str]:
        """Notes on cells of a column that lie beyond the bounds or between two multiples of the unit. It reads private rows.

        Raises:
            DomainError: there is no such column.
        """
        attribute = self.domain[column]
        return Moved.of(attribute, self._rows[attribute.name]).notes(attribute, self.n)

    def take(self, rows: np.ndarray) -> Table:
        """The table of some of the rows, by position.

        Raises:
            ParameterError: ``rows`` are no positions of rows.
        """
        try:
            rows = np.asarray(rows)
        except (ValueError, MemoryError):
            rows = np.empty((0, 0))
        chosen = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (self.n,) else rows
        whole = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or len(chosen) == 0)
        if not whole or (len(chosen) and not -self.n <= chosen.min() <= chosen.max() < self.n):
            raise ParameterError("rows", rows, f"positions of rows, from 0 to {self.n - 1}")
        chosen = chosen.astype(np.int64)
        return self._of(self._rows.iloc[chosen], self.domain, np.asfortranarray(self.codes[chosen]))

    def split(self, held_out: float, generator: np.random.Generator) -> tuple[Table, Table]:
        """A random split into a part to learn from and a held-out part; each has at least one row.

        Replacing a row of the table replaces at most one of a part. With a row more or less, the same seed draws another
        part: a claim under ``add_remove`` is about the part alone, not about this table.

        Raises:
            ParameterError: ``held_out`` is no share between 0 and 1, ``generator`` is none, or there are fewer than 2 rows.
        """
        held_out = checks.share("held_out", held_out)
        checks.instance("generator", generator, np.random.Generator, "a numpy.random.Generator")
        if self.n < 2:
            raise ParameterError("held_out", held_out, f"a split takes a table with 2 rows or more (it has {self.n})")
        order = generator.permutation(self.n)
        cut = min(max(round(self.n * held_out), 1), self.n - 1)
        return self.take(np.sort(order[cut:])), self.take(np.sort(order[:cut]))
