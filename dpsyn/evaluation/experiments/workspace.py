"""A folder in which runs, experiments and their results outlive a visit: one SQLite file, no private rows.

Releases, their settings and claims are public under their guarantee. Measures come from private rows, which the folder's
owner has anyway; the rows themselves are never written.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from dpsyn.errors import DataError, ParameterError, WorkspaceError
from dpsyn.evaluation.experiments.plan import Grid
from dpsyn.evaluation.experiments.run import CellResult

FILE = "dpsyn.sqlite"
VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, made TEXT NOT NULL, dataset TEXT NOT NULL, label TEXT NOT NULL,
    record TEXT NOT NULL, rows BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS grids (
    number INTEGER PRIMARY KEY AUTOINCREMENT, made TEXT NOT NULL, dataset TEXT NOT NULL, fingerprint TEXT NOT NULL,
    name TEXT NOT NULL, grid TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    grid INTEGER NOT NULL REFERENCES grids(number) ON DELETE CASCADE, key TEXT NOT NULL, result TEXT NOT NULL,
    PRIMARY KEY (grid, key));
"""


@dataclass(frozen=True)
class StoredRun:
    """A release in the workspace: what it is called, its record (settings, guarantee, measures, versions) and its rows."""

    number: int
    made: str
    dataset: str
    label: str
    record: dict[str, Any]
    rows: pd.DataFrame


@dataclass(frozen=True)
class StoredGrid:
    """An experiment in the workspace.

    Attributes:
        number, made, name: of the experiment.
        dataset: name of the data; ``fingerprint`` tells whether it is the same data with the same domain.
        grid: what was to be run.
        facts: target, degrees, reference lines, what the data was, and other plain data that the caller stored with it.
        results: what has been run.
    """

    number: int
    made: str
    dataset: str
    fingerprint: str
    name: str
    grid: Grid
    facts: dict[str, Any]
    results: list[CellResult]


class Workspace:
    """Runs and experiments in a folder.

    Every change is committed before the method returns; a process that dies loses nothing that was added. Methods raise
    :class:`~dpsyn.errors.WorkspaceError` where the file cannot be read or written any more.

    Args:
        folder: an existing folder, or one to be made inside an existing one.

    Raises:
        ParameterError: the folder cannot be made or written to.
        DataError: the file in it is not a workspace, or one of a later version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        if not self.folder.is_absolute():
            raise ParameterError("folder", str(folder), "a whole path, from the root of the disk")
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as fault:
            raise ParameterError("folder", str(folder), f"a folder that can be made ({fault.strerror})") from fault
        self.path = self.folder / FILE
        try:
            with self._open() as database:
                found = int(database.execute("PRAGMA user_version").fetchone()[0])
                if found > VERSION:
                    raise DataError(f"{self.path} was written by a later dpsyn (version {found}); use that one")
                database.executescript(_TABLES)
                database.execute(f"PRAGMA user_version = {VERSION}")
        except WorkspaceError as fault:
            cause = fault.__cause__
            if isinstance(cause, sqlite3.OperationalError):
                raise ParameterError("folder", str(folder), f"a folder that can be written to ({cause})") from fault
            raise DataError(f"{self.path} is not a workspace ({cause}): name another folder") from fault

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=20)) as database:
                database.execute("PRAGMA foreign_keys = ON")
                with database:
                    yield database
        except sqlite3.Error as fault:
            raise WorkspaceError(f"{self.path} cannot be read or written any more ({fault})") from fault

    def add_run(
        self, dataset: str, label: str, record: dict[str, Any], rows: pd.DataFrame, *, made: str | None = None
    ) -> int:
        """Keep a release, made now if nobody says when; its number."""
        buffer = io.BytesIO()
        rows.to_parquet(buffer, index=False)
        values = (made or _now(), dataset, label, json.dumps(record, default=str), buffer.getvalue())
        with self._open() as database:
            cursor = database.execute("INSERT INTO runs (made, dataset, label, record, rows) VALUES (?, ?, ?, ?, ?)", values)
            return int(cursor.lastrowid or 0)

    def runs(self) -> list[StoredRun]:
        """All releases, oldest first."""
        with self._open() as database:
            lines = database.execute(
                "SELECT number, made, dataset, label, record, rows FROM runs ORDER BY number"
            ).fetchall()
        return [
            StoredRun(number, made, dataset, label, json.loads(record), pd.read_parquet(io.BytesIO(rows)))
            for number, made, dataset, label, record, rows in lines
        ]

    def set_record(self, number: int, record: dict[str, Any]) -> None:
        """Replace a release's record, such as when it has been measured; one that is gone stays gone."""
        with self._open() as database:
            database.execute("UPDATE runs SET record = ? WHERE number = ?", (json.dumps(record, default=str), number))

    def remove_run(self, number: int) -> None:
        """Forget a release."""
        with self._open() as database:
            database.execute("DELETE FROM runs WHERE number = ?", (number,))

    def rename_run(self, number: int, label: str) -> None:
        """Call a release something else."""
        with self._open() as database:
            database.execute("UPDATE runs SET label = ? WHERE number = ?", (label, number))

    def add_grid(
        self, dataset: str, fingerprint: str, name: str, grid: Grid, facts: dict[str, Any], *, made: str | None = None
    ) -> int:
        """Keep an experiment before it runs; its number."""
        values = (made or _now(), dataset, fingerprint, name, json.dumps(grid.to_dict()), _facts_text(facts))
        with self._open() as database:
            cursor = database.execute(
                "INSERT INTO grids (made, dataset, fingerprint, name, grid, facts) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            return int(cursor.lastrowid or 0)

    def rename_grid(self, number: int, name: str) -> None:
        """Call an experiment something else."""
        with self._open() as database:
            database.execute("UPDATE grids SET name = ? WHERE number = ?", (name, number))

    def set_facts(self, number: int, facts: dict[str, Any]) -> None:
        """Replace the plain data stored with an experiment."""
        with self._open() as database:
            database.execute("UPDATE grids SET facts = ? WHERE number = ?", (_facts_text(facts), number))

    def add_result(self, number: int, result: CellResult) -> bool:
        """Keep the result of one cell of an experiment, in place of an earlier one of the same cell.

        False if the experiment is gone: then nothing is kept.
        """
        with self._open() as database:
            if database.execute("SELECT 1 FROM grids WHERE number = ?", (number,)).fetchone() is None:
                return False
            values = (number, result.key, json.dumps(result.to_dict()))
            database.execute("INSERT OR REPLACE INTO results (grid, key, result) VALUES (?, ?, ?)", values)
            return True

    def grids(self) -> list[StoredGrid]:
        """All experiments with their results, oldest first."""
        with self._open() as database:
            lines = database.execute(
                "SELECT number, made, dataset, fingerprint, name, grid, facts FROM grids ORDER BY number"
            ).fetchall()
            results: dict[int, list[CellResult]] = {}
            for number, result in database.execute("SELECT grid, result FROM results ORDER BY rowid"):
                results.setdefault(number, []).append(CellResult.from_dict(json.loads(result)))
        return [
            StoredGrid(
                number,
                made,
                dataset,
                mark,
                name,
                Grid.from_dict(json.loads(grid)),
                json.loads(facts),
                results.get(number, []),
            )
            for number, made, dataset, mark, name, grid, facts in lines
        ]

    def remove_grid(self, number: int) -> None:
        """Forget an experiment and its results."""
        with self._open() as database:
            database.execute("DELETE FROM grids WHERE number = ?", (number,))


def _facts_text(facts: dict[str, Any]) -> str:
    return json.dumps(facts, default=str)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
