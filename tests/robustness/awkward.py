"""An awkward file with its true values, and what must hold however it is read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.data.large import file_statistics
from dpsyn.data.read import read_table
from dpsyn.domain import Domain
from dpsyn.errors import DpsynError
from dpsyn.table import Table

_NOT_IN_PLACE = "which engines show by clocks of their own|DuckDB keeps no more than 38 digits"
"""Why a file that can be read into memory is refused in place."""
Values = dict[str, list[Any]]
"""The true values of every column; None where a cell is empty, a date where it is a moment."""


@dataclass(frozen=True)
class Case:
    """One awkward file or DataFrame.

    Attributes:
        name: what is awkward about it.
        source: bytes of a file, or a function that makes a DataFrame.
        truth: what is in it; None if it must be refused.
        says: a regular expression that some note, or the refusal, must match.
        file: its name.
        options: how to read it.
    """

    name: str
    source: bytes | Callable[[], pd.DataFrame]
    truth: Values | None = None
    says: str = ""
    file: str = "people.csv"
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def check(case: Case, folder: Path) -> None:
    """Read it whole, and streamed if it is a file: the truth, or a refusal with words, and both ways alike."""
    if callable(case.source):
        check_outcome(case, outcome(lambda: read_table(case.source(), **case.options)))  # type: ignore[operator]
        return
    path = folder / case.file
    path.write_bytes(case.source)
    whole = outcome(lambda: read_table(path, **case.options))
    check_outcome(case, whole)
    if "name" not in case.options and not isinstance(whole, str):
        assert read_table(path, name="another", **case.options).domain == whole.domain
    streamed = outcome(lambda: file_statistics(path, **case.options))
    if isinstance(whole, str):
        assert streamed == whole
    else:
        assert (streamed.statistics, streamed.domain, streamed.notes) == (whole.statistics(), whole.domain, whole.notes)
    in_place = outcome(lambda: read_table(path, in_place=True, **case.options))
    if isinstance(in_place, str):  # the place of a cell is not known, and some types are
        assert case.truth is None or re.search(_NOT_IN_PLACE, in_place), in_place
    else:
        assert not isinstance(whole, str), whole
        assert (in_place.domain, in_place.statistics()) == (whole.domain, whole.statistics())
        assert sorted(in_place.notes) == sorted(whole.notes)


def outcome(read: Callable[[], Any]) -> Any:
    """What reading gives, or the words of a refusal."""
    try:
        return read()
    except DpsynError as error:
        return f"{type(error).__name__}: {error}"


def check_outcome(case: Case, found: Any) -> None:
    """The true values and the note, or the refusal, that the case asks for."""
    if case.truth is None:
        assert isinstance(found, str), f"read, but it should be refused: {found}"
        assert re.search(case.says, found), found
        return
    assert not isinstance(found, str), found
    table, notes = found, found.notes
    assert {str(name): [plain(v) for v in table.frame[name]] for name in table.frame.columns} == case.truth
    assert [typed(v) for name in case.truth for v in case.truth[name]] == [
        typed(plain(v)) for name in table.frame.columns for v in table.frame[name]
    ]
    assert (not notes and not case.says) or any(re.search(case.says, note) for note in notes), notes
    check_codes(table)
    assert Domain.from_dict(table.domain.to_dict()) == table.domain
    assert not any(attribute.public for attribute in table.domain.attributes)


def check_codes(table: Table) -> None:
    """Codes stand for the rows: listed values come back as they are, others in the same bin."""
    decoded = table.domain.decode(table.codes, np.random.default_rng(0))
    for attribute in table.domain.attributes:
        if attribute.is_binned:
            continue
        assert [plain(v) for v in decoded[attribute.name]] == [plain(v) for v in table.frame[attribute.name]]
    assert (table.domain.encode(decoded) == table.codes).all()


def plain(value: Any) -> Any:
    """A value as Python writes it: None where it is missing, the day of a moment."""
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, datetime.datetime):
        return value.date()
    return value.item() if isinstance(value, np.generic) else value


def typed(value: Any) -> type:
    """The type of a value, where whole and real numbers are of one."""
    return float if type(value) is int else type(value)
