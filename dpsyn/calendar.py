"""Weekday, month and day of the month of dates, where a domain asks for them: columns beside the dates for a mechanism, and
days that agree.

What is added to a row is a public function of that row alone: a mechanism on the wider rows has the guarantee that it states
for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dpsyn.attribute import Attribute, Codes
from dpsyn.domain import Domain
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_OF_MONTH = tuple(map(str, range(1, 32)))
PARTS = {"weekday": _WEEKDAYS, "month": _MONTHS, "day": _OF_MONTH}
"""Of a date, with their values in order."""
_MONDAY, _WEEK = 4, 7
"""1970-01-05, and days."""
_DAYS = np.array([29, 26, 29, 28, 29, 28, 29, 29, 28, 29, 28, 29])
"""Of a month, from which on a bin holds all of it: bins of a year may lack one or two."""


def calendar_codes(part: str, days: Floats) -> Codes:
    """Weekday 0 … 6, from Monday on, month 0 … 11, or day of the month 0 … 30 of whole days since 1970-01-01; one more where
    they are NaN."""
    empty = np.isnan(days)
    whole = np.where(empty, 0, days).astype(np.int64)
    if part == "weekday":
        codes = (whole - _MONDAY) % _WEEK
    else:
        months = whole.astype("datetime64[D]").astype("datetime64[M]")
        codes = months.astype(np.int64) % 12 if part == "month" else whole - months.astype("datetime64[D]").astype(np.int64)
    return np.where(empty, len(PARTS[part]), codes).astype(np.int32)


@dataclass(frozen=True)
class WithCalendar(Domain):
    """A domain and, after its own columns, what its dates are to keep of the calendar.

    Attributes:
        asked: the domain without them.
    """

    asked: Domain

    @cached_property
    def added(self) -> tuple[tuple[int, str], ...]:
        """Of each added column: the position of its date, and which part of the date it holds."""
        return tuple((j, part) for j, attribute in enumerate(self.asked.attributes) for part in attribute.keep)

    def with_added(self, codes: Codes, table: Table) -> Codes:
        """Codes of the rows of a table over :attr:`asked`, followed by those of the added columns. Shape (n, columns)."""
        rows = table.frame
        days = {j: self.attributes[j].in_units(rows.iloc[:, j]) for j, _ in self.added}
        return np.asfortranarray(np.column_stack([codes, *(calendar_codes(part, days[j]) for j, part in self.added)]))

    def wanted(self, codes: Codes, position: int) -> dict[str, Codes]:
        """What the added columns say of one date, by part."""
        at = enumerate(self.added, len(self.asked))
        return {part: codes[:, column] for column, (j, part) in at if j == position}


def with_calendar(domain: Domain) -> Domain:
    """The domain with a column for every part that its dates are to keep; itself where there is none."""
    added = []
    for attribute in domain.attributes:
        for part in attribute.keep:
            name = f"{attribute.name} ({part})"
            while name in domain.names:
                name += "'"
            missing, public = attribute.missing, attribute.public
            added.append(Attribute(name, "categorical", PARTS[part], missing=missing, public=public))
    return WithCalendar((*domain.attributes, *added), domain) if added else domain


def without_calendar(domain: Domain) -> Domain:
    """The domain whose dates keep nothing of the calendar."""
    return Domain.of(replace(attribute, keep=()) for attribute in domain.attributes)


@lru_cache(maxsize=2 * len(PARTS))
def _between(part: str, first: int, last: int) -> Codes:
    """Codes of all days of a range: those of one bin are asked for again and again."""
    return calendar_codes(part, np.arange(first, last, dtype=np.float64))


def agreeing(
    low: Floats, high: Floats, rows: Floats, wanted: Mapping[str, int], ends: tuple[float, float]
) -> tuple[Floats, Floats, Floats]:
    """Single days of a bin that have the wanted weekday, month and day of the month, as parts of the bin.

    A month is wanted only as far as the bin allows it. Where bin and month were drawn without regard to each other, a bin of
    about a month would else put the rows of twelve on its few days of another one. So the wish counts for as much as the bin
    holds of a whole such month: a bin of years fulfils it always.

    Where no day of the bin has all that is wanted, the month gives way first, then the day of the month.

    Args:
        low: first days of the parts of a bin, which follow each other. Shape (parts,).
        high: the days after their last ones, shape (parts,).
        rows: estimated of each part.
        wanted: codes by part; those of an empty date say nothing.
        ends: of the range of the column.

    Returns:
        Ends of the days, and their shares of the rows. Where no day of the bin has the weekday, the nearest one of the
        range; where nothing is wanted that there is, the parts as they are.
    """
    weekday, month, day = (wanted.get(part, len(values)) for part, values in PARTS.items())
    every = inside = np.arange(low[0], high[-1])
    part, first, last = 0.0, int(low[0]) - _WEEK, int(high[-1]) + _WEEK

    def of(what: str, days: Floats) -> Codes:
        return _between(what, first, last)[days.astype(np.int64) - first]

    if month < len(_MONTHS):
        part = min(1.0, np.count_nonzero(of("month", inside) == month) / _DAYS[month])
    if weekday < len(_WEEKDAYS):
        days = np.arange(max(low[0] - _WEEK, ends[0]), min(high[-1] + _WEEK, ends[1]))
        days = days[of("weekday", days) == weekday]
        far = np.maximum(low[0] - days, days - high[-1] + 1).clip(0)
        inside = days[far == 0] if (far == 0).any() else days[[far.argmin()]] if len(days) else inside
    if (of_month := of("day", inside) == day).any():
        inside = inside[of_month]
    if inside is every and not part:
        return low, high, rows
    at = np.searchsorted(low, inside, side="right").clip(1) - 1
    weights = (rows / (high - low))[at]
    weights = weights if weights.sum() > 0 else np.ones(len(inside))
    if part and (right := of("month", inside) == month).any():
        there = weights * right
        there = there if there.sum() > 0 else right.astype(np.float64)
        weights = (1 - part) * weights + part * weights.sum() * there / there.sum()
        inside, weights = inside[weights > 0], weights[weights > 0]
    return inside, inside + 1, weights
