"""A mark that tells whether what was kept is of the rows that are open, and that files hold with a salt of their own."""

from __future__ import annotations

import hashlib
import json

from dpsyn.data.counted import AnyTable


def fingerprint(table: AnyTable, holdout: AnyTable | None) -> str:
    """A hash of the domain and of all rows: it stays in the visit and the workspace, and is salted where it leaves them."""
    mark = hashlib.sha256(json.dumps(table.domain.to_dict(), sort_keys=True).encode())
    for part in (table, holdout):
        mark.update(b"" if part is None else part.mark)
    return mark.hexdigest()[:32]


def salted(mark: str, salt: str) -> str:
    """The mark as a file holds it: two files on the same rows cannot be told to be so without the rows."""
    return mark if not mark or ":" in mark else f"{salt}:{hashlib.sha256(f'{salt}:{mark}'.encode()).hexdigest()[:32]}"


def is_of(mark: str, rows: str) -> bool:
    """Whether a mark, salted or not, is one of the rows with this fingerprint."""
    salt, separator, _ = mark.partition(":")
    return mark == (salted(rows, salt) if separator else rows)
