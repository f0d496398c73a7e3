"""Weekday, month and day of the month of dates, where a domain asks for them: columns beside the dates for a mechanism.

What is added to a row is a public function of that row alone: a mechanism on the wider rows has the guarantee that it states
for them.
"""

from __future__ import annotations

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
_OF_MONTH = tuple(map(str, range(1, 32)))
PARTS = {"weekday": _WEEKDAYS, "month": _MONTHS, "day": _OF_MONTH}
"""Of a date, with their values in order."""
_MONDAY = 4
"""1970-01-05."""


def calendar_codes(part: str, days: Floats) -> Codes:
    """Weekday 0 … 6, from Monday on, month 0 … 11, or day of the month 0 … 30 of whole days since 1970-01-01; one more where
    they are NaN."""
    empty = np.isnan(days)
    whole = np.where(empty, 0, days).astype(np.int64)
    if part == "weekday":
        codes = (whole - _MONDAY) % 7
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
