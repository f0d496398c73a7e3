"""A folder in which releases, experiments and their results outlive a visit: files as an export holds them, no private rows.

Releases, their settings and claims are public under their guarantee. Measures come from private rows, which the folder's
owner has anyway; the rows themselves are never written.

    releases/<key>.json                      an export of one release
    experiments/<key>/experiment.json        an export of one experiment, without results
    experiments/<key>/results/<cell>.json    the result of one cell
    dpsyn.lock                               empty; locked by whoever changes anything
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Literal, TypeVar

from dpsyn import checks
from dpsyn.errors import DataError, DpsynError, ParameterError, WorkspaceError
from dpsyn.evaluation.experiments.archive import (
    Archive,
    Experiment,
    MadeRelease,
    archive_text,
    read_archive,
)
from dpsyn.evaluation.experiments.results import CellResult
from dpsyn.memory import within_memory
from dpsyn.notation import counted
from dpsyn.places import locked, write_whole
from dpsyn.schema import read_json

T = TypeVar("T")
_LOCK = "dpsyn.lock"
_CHANGES: dict[str, threading.Lock] = {}
"""By folder, held by whichever visit of this process changes it."""
_PLACES: Mapping[type, Mapping[str, tuple[str | int, ...]]] = {
    MadeRelease: {"name": ("runs", 0, "label"), "measured": ("runs", 0, "record", "measured")},
    Experiment: {
        "name": ("experiments", 0, "name"),
        "references": ("experiments", 0, "facts", "references"),
        "data": ("experiments", 0, "facts", "data"),
    },
}
"""Where an export of one of these holds what may change of it."""


class Workspace:
    """Releases and experiments in a folder.

    Every file is written beside its place and then moved there in one step: a process that dies loses nothing that was kept,
    and visits on one folder never see half a file. They change it one after the other: those of one process always, those of
    several where the file system has locks. Methods raise :class:`~dpsyn.errors.WorkspaceError` where the folder
    cannot be read or written any more.

    Args:
        folder: an existing folder, or one to be made inside an existing one.

    Raises:
        ParameterError: the folder cannot be made or written to.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            self.folder = Path(folder).expanduser()
        except (RuntimeError, TypeError) as fault:
            raise ParameterError("folder", folder, f"a path, of somebody who has one ({fault})") from fault
        if not self.folder.is_absolute():
            raise ParameterError("folder", str(folder), "a whole path, from the root of the disk")
        self._releases, self._experiments = self.folder / "releases", self.folder / "experiments"
        try:
            for place in (self.folder, self._releases, self._experiments):
                place.mkdir(exist_ok=True)
            tempfile.TemporaryFile(dir=self._releases).close()
        except (OSError, ValueError) as fault:
            what = "written to" if os.path.isdir(self.folder) else "made"
            why = getattr(fault, "strerror", None) or fault
            raise ParameterError("folder", str(folder), f"a folder that can be {what} ({why})") from fault

    @property
    def place(self) -> str:
        """The folder's path without links: the same for all names that it has."""
        return os.path.realpath(self.folder)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept in it yet."""
        with self._there():
            return not (self._files() or self._plans())

    def read(self) -> Archive:
        """All releases, and all experiments with their results, oldest first; what is wrong is set aside, untouched.

        It takes its time: every claim is calibrated again.
        """
        found = Archive([], [], [])
        with self._there():
            for path in self._files():
                for archive in _load(path, _keyed("release", path.stem), found.set_aside):
                    found.releases.extend(archive.releases)
            for path in self._plans():
                for archive in _load(path, _keyed("experiment", path.parent.name), found.set_aside):
                    found.experiments.extend(_with_results(e, path, found.set_aside) for e in archive.experiments)
        found.releases.sort(key=lambda made: (made.when, made.key))
        found.experiments.sort(key=lambda experiment: (experiment.when, experiment.key))
        return found

    def _files(self) -> list[Path]:
        """Of the releases. (A glob would pass over what may not be looked into.)"""
        return [path for path in self._releases.iterdir() if path.suffix == ".json"]

    def _plans(self) -> list[Path]:
        """Files of the experiments, where each should be."""
        return [folder / "experiment.json" for folder in self._experiments.iterdir() if folder.is_dir()]

    def holds(self, thing: MadeRelease | Experiment) -> bool:
        """Whether it is kept, and nobody has removed it."""
        with self._there():
            return self._path(thing).exists()

    def more_than(self, releases: Iterable[MadeRelease]) -> int:
        """How many releases it keeps besides these: other visits made them since it was read."""
        with self._there():
            return len({path.stem for path in self._files()} - {made.key for made in releases})

    def keep(self, thing: MadeRelease | Experiment, before: MadeRelease | Experiment | None = None) -> None:
        """Write a release, or an experiment with its results, in place of what the folder has of it.

        With what it was ``before`` it is changed: of all else stays what another visit has made of it, unless that is gone.
        """
        path = self._path(thing)
        text = (
            archive_text([thing], []) if isinstance(thing, MadeRelease) else archive_text([], [replace(thing, results={})])
        )
        with self._alone():
            if isinstance(thing, MadeRelease):
                return _write(path, _changed(path, text, thing, before))
            known = before.results if isinstance(before, Experiment) and path.exists() else {}
            (path.parent / "results").mkdir(parents=True, exist_ok=True)
            _write(path, _changed(path, text, thing, before))
            for key, result in thing.results.items():
                if known.get(key) is not result:
                    _add_result(path, result)

    def results(self, experiment: Experiment) -> dict[str, CellResult]:
        """What the folder has of an experiment's cells, by key; what is wrong is passed over."""
        path = self._path(checks.instance("experiment", experiment, Experiment, "an experiment"))
        with self._there():
            return _with_results(experiment, path, []).results

    def add_result(self, experiment: Experiment, result: CellResult) -> bool:
        """Keep the result of one cell of an experiment, in place of an earlier one of the same cell.

        False if the experiment is gone: then nothing is kept.
        """
        path = self._path(checks.instance("experiment", experiment, Experiment, "an experiment"))
        checks.instance("result", result, CellResult, "the result of a cell")
        with self._alone():
            return _add_result(path, result)

    def remove(self, thing: MadeRelease | Experiment) -> None:
        """Forget it."""
        path = self._path(thing)
        with self._alone():
            path.unlink(missing_ok=True)
            if isinstance(thing, Experiment):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _path(self, thing: MadeRelease | Experiment) -> Path:
        if isinstance(thing, MadeRelease):
            return self._releases / f"{thing.key}.json"
        checks.instance("thing", thing, Experiment, "a MadeRelease or an Experiment")
        return self._experiments / thing.key / "experiment.json"

    @contextmanager
    def _there(self) -> Iterator[None]:
        try:
            if not (self._releases.is_dir() and self._experiments.is_dir()):
                raise FileNotFoundError(2, "it is not there", str(self.folder))
            yield
        except OSError as fault:
            raise WorkspaceError(f"{self.folder} cannot be read or written any more ({fault.strerror})") from fault

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """As :meth:`_there`, while nobody else changes anything. It cannot be nested."""
        changes = _CHANGES.setdefault(self.place, threading.Lock())
        with self._there(), changes, locked(self.folder / _LOCK):
            yield


def _add_result(path: Path, result: CellResult) -> bool:
    with suppress(FileNotFoundError):
        if path.exists():
            _write(path.parent / "results" / f"{result.key}.json", json.dumps(result.to_dict()))
            return True
    return False


def _write(path: Path, text: str) -> None:
    data = text.encode()
    if path.exists() and not path.is_file():  # a pipe would wait for somebody to read it
        raise FileExistsError(errno.EEXIST, "something that is no file has the name of one", str(path))
    if not (path.exists() and path.read_bytes() == data):
        write_whole({path: data})


def _changed(path: Path, text: str, thing: MadeRelease | Experiment, before: MadeRelease | Experiment | None) -> str:
    """The text of an export of a thing, but for what it was ``before``: that is what the file has."""
    if before is None:
        return text
    ours = json.loads(text)
    for theirs in _load(path, read_json, []):
        for name, (*within, last) in _PLACES[type(thing)].items():
            if getattr(before, name) == getattr(thing, name):
                with suppress(LookupError, TypeError):  # it is damaged
                    their = reduce(getitem, within, theirs)[last]
                    reduce(getitem, within, ours)[last] = their
    return json.dumps(ours, indent=1)


def _load(path: Path, read: Callable[[bytes], T], set_aside: list[str]) -> list[T]:
    """What is in a file; nothing if another visit has removed it meanwhile, or if it is wrong: then it is set aside."""
    try:
        if path.exists() and not path.is_file():
            raise DataError("it is no file")  # reading a pipe would wait for somebody to write to it
        with path.open("rb") as stream:
            return [read(within_memory(stream, path.name))]
    except FileNotFoundError:
        return []
    except MemoryError:
        set_aside.append(f"{path}: it does not fit into memory")
    except OSError as fault:
        set_aside.append(f"{path}: it cannot be read ({fault.strerror})")
    except DpsynError as fault:
        set_aside.append(f"{path}: {fault}")
    return []


def _keyed(what: Literal["release", "experiment"], key: str) -> Callable[[bytes], Archive]:
    """Reads an export of one of these and of nothing else; it is named by where it lies."""

    def read(data: bytes) -> Archive:
        found = read_archive(data)
        if found.set_aside or not (found.releases or found.experiments):
            raise DataError("; ".join(found.set_aside) or "it is empty")
        held = len(found.releases), len(found.experiments)
        if held != ((1, 0) if what == "release" else (0, 1)):
            there = " and ".join(counted(many, name) for many, name in zip(held, ("release", "experiment"), strict=True))
            raise DataError(f"it holds {there}, where one {what} is kept: “Import” in the app reads it")
        experiments = [replace(one, key=key) for one in found.experiments]
        return Archive([replace(one, key=key) for one in found.releases], experiments, [])

    return read


def _with_results(experiment: Experiment, path: Path, set_aside: list[str]) -> Experiment:
    def read(data: bytes) -> CellResult:
        return experiment.result_of(read_json(data))

    # Files of other names are of plans that it had before.
    files = [path.parent / "results" / f"{cell.key}.json" for cell in experiment.cells]
    found = [result for file in files for result in _load(file, read, set_aside)]
    return replace(experiment, results={result.key: result for result in found})
