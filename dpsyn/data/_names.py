"""What the names of columns must be."""

from __future__ import annotations

from dpsyn.cells import is_unicode
from dpsyn.errors import DataError, quoted, shown
from dpsyn.notation import counted


def check_shape(names: tuple[str, ...], rows: int) -> None:
    """Refuse a table without columns or rows, or with empty or doubled names."""
    if not names:
        raise DataError("the table has no columns")
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"column {position} of {len(names)} has no name; give it one or leave it out")
        if not is_unicode(name):
            raise DataError(
                f"the name of column {position} of {len(names)}, {shown(name)}, is no Unicode without zero bytes; correct it"
            )
    check_distinct(names, "")
    if rows == 0:
        raise DataError(f"the table has {counted(len(names), 'column')} but no row")


def check_distinct(names: tuple[str, ...], where: str, line: int | None = None) -> None:
    """Refuse two columns of one name, saying which positions they have."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in seen:
            raise DataError(
                f"{where}columns {seen[name]} and {position} are both called {quoted(name)}; rename one of them",
                line=line,
                column=name,
            )
        seen[name] = position
