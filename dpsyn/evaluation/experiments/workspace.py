"""A folder in which releases, experiments and their results outlive a visit: files as an export holds them, no private rows.

Releases, their settings and claims are public under their guarantee. Measures come from private rows, which the folder's
owner has anyway; the rows themselves are never written.

    releases/<key>.json                      an export of one release
    experiments/<key>/experiment.json        an export of one experiment, without results
    experiments/<key>/results/<cell>.json    the result of one cell
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd

from dpsyn.domain import Domain
from dpsyn.errors import DataError, DpsynError, ParameterError, WorkspaceError
from dpsyn.evaluation.experiments.archive import Experiment, MadeRelease, archive_text, now, read_archive, rows_to_csv
from dpsyn.evaluation.experiments.run import CellResult

_SQLITE, _SQLITE_VERSION = "dpsyn.sqlite", 1
"""What earlier versions kept everything in."""


class Workspace:
    """Releases and experiments in a folder.

    Every file is written beside its place and then moved there in one step: a process that dies loses nothing that was kept,
    and visits on one folder never see half a file. Methods raise :class:`~dpsyn.errors.WorkspaceError` where the folder
    cannot be read or written any more.

    Args:
        folder: an existing folder, or one to be made inside an existing one. What an earlier version kept in it (one SQLite
            file) is taken over; that file stays under another name.

    Raises:
        ParameterError: the folder cannot be made or written to.
        DataError: what an earlier version kept cannot be read, or is of a later one.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        if not self.folder.is_absolute():
            raise ParameterError("folder", str(folder), "a whole path, from the root of the disk")
        self._releases, self._experiments = self.folder / "releases", self.folder / "experiments"
        try:
            for place in (self.folder, self._releases, self._experiments):
                place.mkdir(exist_ok=True)
            tempfile.TemporaryFile(dir=self._releases).close()
        except OSError as fault:
            what = "made" if not self.folder.is_dir() else "written to"
            raise ParameterError("folder", str(folder), f"a folder that can be {what} ({fault.strerror})") from fault
        old = self.folder / _SQLITE
        if old.exists():
            for thing in _of_sqlite(old):
                self.keep(thing)
            with suppress(FileNotFoundError):  # another visit has taken it over at the same time
                old.rename(old.with_name(f"{_SQLITE}.taken-over-{now().replace(':', '')}"))

    def releases(self) -> list[MadeRelease]:
        """All releases, oldest first.

        Raises:
            DataError: a file in the folder is wrong; the message names it.
        """
        with self._there():
            found = [(path.stem, _read(path)[0][0]) for path in self._releases.glob("*.json")]
        return sorted((replace(made, key=key) for key, made in found), key=lambda made: (made.when, made.key))

    def experiments(self) -> list[Experiment]:
        """All experiments with their results, oldest first.

        Raises:
            DataError: a file in the folder is wrong; the message names it.
        """
        found: list[Experiment] = []
        with self._there():
            for path in self._experiments.glob("*/experiment.json"):
                (experiment,) = _read(path)[1]
                of_cell = {p.stem: _result(p) for p in path.parent.glob("results/*.json")}
                place = {cell.key: at for at, cell in enumerate(experiment.cells)}
                results = dict(sorted(of_cell.items(), key=lambda found: place.get(found[0], len(place))))
                found.append(replace(experiment, key=path.parent.name, results=results))
        return sorted(found, key=lambda experiment: (experiment.when, experiment.key))

    def keep(self, thing: MadeRelease | Experiment) -> None:
        """Write a release, or an experiment with its results, in place of what the folder has of it."""
        path = self._path(thing)
        with self._there():
            if isinstance(thing, MadeRelease):
                return _write(path, archive_text([thing], []))
            (path.parent / "results").mkdir(parents=True, exist_ok=True)
            _write(path, archive_text([], [replace(thing, results={})]))
            for result in thing.results.values():
                self.add_result(thing, result)

    def keep_changes(self, thing: MadeRelease | Experiment) -> None:
        """:meth:`keep` it if the folder has it; what is gone from there, by another visit, stays gone."""
        with self._there():
            if self._path(thing).exists():
                self.keep(thing)

    def add_result(self, experiment: Experiment, result: CellResult) -> bool:
        """Keep the result of one cell of an experiment, in place of an earlier one of the same cell.

        False if the experiment is gone: then nothing is kept.
        """
        path = self._path(experiment)
        with self._there():
            with suppress(FileNotFoundError):
                if path.exists():
                    _write(path.parent / "results" / f"{result.key}.json", json.dumps(result.to_dict()))
                    return True
            return False

    def remove(self, thing: MadeRelease | Experiment) -> None:
        """Forget it."""
        path = self._path(thing)
        with self._there():
            path.unlink(missing_ok=True)
            if isinstance(thing, Experiment):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _path(self, thing: MadeRelease | Experiment) -> Path:
        if isinstance(thing, MadeRelease):
            return self._releases / f"{thing.key}.json"
        return self._experiments / thing.key / "experiment.json"

    @contextmanager
    def _there(self) -> Iterator[None]:
        try:
            if not (self._releases.is_dir() and self._experiments.is_dir()):
                raise FileNotFoundError(2, "it is not there", str(self.folder))
            yield
        except OSError as fault:
            raise WorkspaceError(f"{self.folder} cannot be read or written any more ({fault.strerror})") from fault


def _write(path: Path, text: str) -> None:
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
        beside = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            beside.unlink()
            raise
    beside.replace(path)


def _read(path: Path) -> tuple[list[MadeRelease], list[Experiment]]:
    try:
        return read_archive(path.read_bytes())
    except DataError as fault:
        raise DataError(f"{path}: {fault}") from fault


def _result(path: Path) -> CellResult:
    try:
        return CellResult.from_dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError, KeyError) as fault:
        raise DataError(f"{path} cannot be read ({fault})") from fault


def _of_sqlite(path: Path) -> Iterator[MadeRelease | Experiment]:
    """What an earlier version kept. Keys follow from what never changes, so that reading it twice doubles nothing."""
    try:
        with closing(sqlite3.connect(path, timeout=20)) as database:
            version = int(database.execute("PRAGMA user_version").fetchone()[0])
            if version > _SQLITE_VERSION:
                raise DataError(f"{path} was written by a later dpsyn (version {version}); use that one")
            runs = database.execute("SELECT number, made, dataset, label, record, rows FROM runs ORDER BY number").fetchall()
            names = "number, made, dataset, fingerprint, name, grid, facts"
            grids = database.execute(f"SELECT {names} FROM grids ORDER BY number").fetchall()
            results = database.execute("SELECT grid, result FROM results ORDER BY rowid").fetchall()
    except sqlite3.Error as fault:
        raise DataError(f"{path} is not a workspace ({fault}): name another folder") from fault
    try:
        for number, made, dataset, label, text, rows in runs:
            record = json.loads(text)
            written = rows_to_csv(pd.read_parquet(io.BytesIO(rows)), Domain.from_dict(record["domain"]))
            entry = {"made": made, "dataset": dataset, "label": label, "record": record, "rows": written}
            yield replace(MadeRelease.from_dict(0, entry), key=_key(number, made, dataset))
        for number, made, dataset, fingerprint, name, grid, facts in grids:
            entry = {"made": made, "dataset": dataset, "fingerprint": fingerprint, "name": name, "grid": json.loads(grid)}
            own = [json.loads(result) for of, result in results if of == number]
            experiment = Experiment.from_dict(0, entry | {"facts": json.loads(facts), "results": own})
            yield replace(experiment, key=_key(number, made, fingerprint))
    except (DpsynError, TypeError, KeyError, AttributeError, ValueError) as fault:
        raise DataError(f"{path} cannot be read ({fault}); nothing of it was changed") from fault


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
