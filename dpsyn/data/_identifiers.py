"""Columns whose values name rows, which nothing can be learned from: nearly all different, as no amount is.

The rules ask for counts alone, so that a file of any size is judged as a small one is.
"""

from __future__ import annotations

_NUMBERED_ROWS, _NAMED_ROWS = 50, 20
"""Rows from which on whole numbers or texts are judged."""
_NEARLY = 0.9
_LONG = 10**7
"""Whole numbers from here on that are of one length look like numbers of accounts, not like amounts."""
_EQUAL_PAIRS = 10
"""Pairs of equal rows that chance would give, from which on it is telling if no more than a tenth of them is there."""


def texts_name_rows(distinct: int, rows: int) -> bool:
    """Whether so many different texts are identifiers."""
    return rows >= _NAMED_ROWS and distinct > _NEARLY * rows


def most_repeats(rows: int, lower: int, upper: int) -> float | None:
    """How many rows may repeat another one's whole number, if these are identifiers; None if they cannot be.

    Numbers drawn evenly from the range would give about rows²/(2·width) pairs of equal ones, and any other law more. So
    incomes in cents, of which nearly all are different, are none: their range is wide, and they are of several lengths.
    """
    width = upper - lower + 1
    if rows < _NUMBERED_ROWS or width < _NEARLY * rows:
        return None
    if lower >= _LONG and len(str(lower)) == len(str(upper)):
        return (1 - _NEARLY) * rows
    pairs = rows**2 / (2 * width)
    return pairs / _EQUAL_PAIRS if pairs >= _EQUAL_PAIRS else None


def described(distinct: int, rows: int) -> str:
    """Why they look like identifiers."""
    return f"{distinct:,} different values in {rows:,} rows"
