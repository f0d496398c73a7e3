"""Weekday and month of dates, where a domain asks for them: columns beside the dates for a mechanism, and days that agree.

What is added to a row is a public function of that row alone: a mechanism on the wider rows has the guarantee that it states
for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

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
_VALUES = {"weekday": _WEEKDAYS, "month": _MONTHS}
_MONDAY = 4
"""1970-01-05."""
_ALL_COMBINATIONS = 5 * 366
"""So many days in a row hold every weekday of every month, 28 years every one that is possible."""


def calendar_codes(part: str, days: Floats) -> Codes:
    """Weekday 0 … 6, from Monday on, or month 0 … 11 of whole days since 1970-01-01; one more where they are NaN."""
    empty = np.isnan(days)
    whole = np.where(empty, 0, days).astype(np.int64)
    of_month = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    codes = (whole - _MONDAY) % 7 if part == "weekday" else of_month
    return np.where(empty, len(_VALUES[part]), codes).astype(np.int32)


@dataclass(frozen=True)
class WithCalendar(Domain):
    """A domain and, after its own columns, the weekdays and months that its dates are to keep.

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
    """The domain with a column for every weekday and month that its dates are to keep; itself where there is none."""
    added = []
    for attribute in domain.attributes:
        for part in attribute.keep:
            name = f"{attribute.name} ({part})"
            while name in domain.names:
                name += "'"
            missing, public = attribute.missing, attribute.public
            added.append(Attribute(name, "categorical", _VALUES[part], missing=missing, public=public))
    return WithCalendar((*domain.attributes, *added), domain) if added else domain


def without_calendar(domain: Domain) -> Domain:
    """The domain whose dates keep neither weekday nor month."""
    return Domain.of(replace(attribute, keep=()) for attribute in domain.attributes)


def agreeing(
    low: Floats, high: Floats, rows: Floats, wanted: Mapping[str, int], ends: tuple[float, float]
) -> tuple[Floats, Floats, Floats]:
    """The single days of a bin that have the wanted weekday and month, as parts of the bin.

    Args:
        low: first days of the parts of a bin, which follow each other. Shape (parts,).
        high: the days after their last ones, shape (parts,).
        rows: estimated of each part.
        wanted: codes by part; those of an empty date say nothing.
        ends: of the range of the column.

    Returns:
        Ends of the days, and their shares of the rows. Where no day of the bin agrees: the nearest one of the range, and
        where there is none either the parts as they are.
    """
    wanted = {part: code for part, code in wanted.items() if code < len(_VALUES[part])}
    days = np.arange(max(low[0] - _ALL_COMBINATIONS, ends[0]), min(high[-1] + _ALL_COMBINATIONS, ends[1]))
    for part, code in wanted.items():
        days = days[calendar_codes(part, days) == code]
    if not wanted or not len(days):
        return low, high, rows
    inside = days[(low[0] <= days) & (days < high[-1])]
    if not len(inside):
        inside = days[[np.maximum(low[0] - days, days - high[-1] + 1).argmin()]]
    at = np.searchsorted(low, inside, side="right").clip(1) - 1
    return inside, inside + 1, (rows / (high - low))[at]
