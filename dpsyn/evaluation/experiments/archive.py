"""Releases and experiments as one JSON file: releases with their claims and rows (as CSV text), plans with their results.

No private row is in it, and no diagnostics. What is read back is checked by the types below; an entry that does not fit is
set aside with its name and the reason. A release's claim counts for what the mechanism, calibrated again, says of the same
settings; the claims of an experiment's results are as unchecked as their measures: what the file states.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar

from dpsyn import checks
from dpsyn.data.source import Columns, DataSource
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DpsynError, ParameterError, shown
from dpsyn.evaluation.experiments.marks import salted
from dpsyn.evaluation.experiments.plan import Cell, Grid
from dpsyn.evaluation.experiments.results import CellResult, Results, checked_lines, few_enough
from dpsyn.evaluation.experiments.rows import rows_from_csv, rows_to_csv
from dpsyn.mechanisms.base import Config, Release
from dpsyn.mechanisms.records import Recalibrated, Record, plain_config, recalibrated
from dpsyn.privacy.spec import FROM_A_FILE, Guarantee
from dpsyn.schema import Damaged, checked, read_json

T = TypeVar("T")
FORMAT, VERSION = "dpsyn runs", 1
_MOST_NAMED = 50
"""Wrong entries of a list that are named; the others are counted."""
_LONGEST_NAME = 1_000


class _Measured(TypedDict):
    when: datetime
    fingerprint: str
    rows: int
    target: str | None
    measures: dict[str, float]
    references: dict[str, dict[str, float]]


class _Made(TypedDict):
    """A record with what belongs to it; what is not required was not written by earlier versions."""

    record: Record
    domain: Columns
    seed: NotRequired[int | list[int] | None]
    name: NotRequired[str]
    seconds: NotRequired[float]
    config: NotRequired[dict[str, Any] | None]
    measured: NotRequired[_Measured | None]
    fingerprint: NotRequired[str]


class _Run(TypedDict):
    """What :meth:`MadeRelease.to_dict` writes."""

    made: datetime
    dataset: str
    label: str
    record: _Made
    rows: str


class _Facts(TypedDict):
    target: str | None
    degrees: list[int]
    classifiers: list[str]
    references: dict[str, dict[str, float]]
    data: NotRequired[dict[str, Any] | None]


class _Tried(TypedDict):
    """What :meth:`Experiment.to_dict` writes."""

    made: datetime
    dataset: str
    fingerprint: str
    name: str
    grid: dict[str, Any]
    facts: _Facts
    results: list[Any]


def now() -> str:
    """The moment, to a second, as it is kept with what is made at it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _new_key() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"


def _moment(field: str, value: object) -> str:
    """A date with a time, as a file is read back."""
    why = "a date with a time, such as '2026-01-31T12:00:00+00:00'"
    text = checks.text(field, value, why)
    try:
        checked(datetime, text)
    except DataError as fault:
        raise ParameterError(field, value, why) from fault
    return text


def _in_utc(when: datetime) -> str:
    """A moment of a file; one without a zone is in UTC.

    Raises:
        DataError: there is no such moment in UTC.
    """
    try:
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except OverflowError as fault:
        raise DataError(f"{when.isoformat()} is no moment in UTC") from fault


def _check(made: MadeRelease | Experiment) -> None:
    """What both have."""
    why = f"a text in Unicode, of {_LONGEST_NAME:,} characters at most"
    found = {name: checks.text(name, getattr(made, name), why) for name in ("name", "dataset", "fingerprint")}
    for name, text in found.items():
        if len(text) > _LONGEST_NAME:
            raise ParameterError(name, text, why)
    found |= {"when": _moment("when", made.when), "key": checks.file_name("key", made.key)}
    for name, value in {**found, "number": checks.whole("number", made.number, 0)}.items():
        object.__setattr__(made, name, value)


@dataclass(frozen=True, eq=False)
class MadeRelease:
    """A release and what it was made from.

    Attributes:
        number, name: what a visit calls it.
        release: its diagnostics are private: they are never written.
        seed: of a demonstration, as NumPy's ``default_rng`` takes it, or None.
        dataset, domain: what it was made from.
        seconds: that it took.
        config: its settings; None if they cannot be written down.
        measured: what the last comparison found of it, as :func:`measures_of` reads it, or None.
        fingerprint: of the rows that it was made from, and of those held out; empty where an earlier version kept it.
        when: it was made.
        key: names it among all that is kept anywhere.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    number: int
    name: str
    release: Release
    seed: int | list[int] | None
    dataset: str
    domain: Domain
    seconds: float = 0.0
    config: Config | None = None
    measured: dict[str, Any] | None = None
    fingerprint: str = ""
    when: str = field(default_factory=now)
    key: str = field(default_factory=_new_key)

    def __post_init__(self) -> None:
        _check(self)
        checks.instance("release", self.release, Release, "what a mechanism returned")
        checks.instance("domain", self.domain, Domain, "a dpsyn.Domain, such as table.domain")
        checks.instance("config", self.config, Config, "settings of a mechanism, or None", optional=True)
        object.__setattr__(self, "seconds", checks.number("seconds", self.seconds, 0.0))
        if self.seed is not None:
            given = self.seed if isinstance(self.seed, list) else [self.seed]
            seed = [checks.whole("seed", part, 0, checks.LARGEST_COUNT) for part in given]
            if not (seed and self.release.seeded):
                raise ParameterError("seed", self.seed, "none: only a demonstration has a seed, and its record says so")
            object.__setattr__(self, "seed", seed if isinstance(self.seed, list) else seed[0])
        if self.measured is not None:
            why = f"what a comparison found: {', '.join(_Measured.__annotations__)}"
            found = checks.mapping("measured", self.measured, why)
            if not _Measured.__annotations__.keys() <= found.keys():
                raise ParameterError("measured", found, why)
            checks.text("measured", found["fingerprint"], why)
            _moment("measured", found["when"])
            for number in checks.mapping("measured", found["measures"], why).values():
                checks.instance("measured", number, Real, why)
            checked_lines("measured", found["references"])

    @property
    def label(self) -> str:
        """Name and number; the number last, where nobody takes it for a rank."""
        return f"{self.name} (no. {self.number})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        beside = ("config", "domain")
        written = self.release.record() | {"settings": dict(self.release.settings)}
        record = {
            "record": {name: value for name, value in written.items() if name not in beside},
            "seed": self.seed,
            "domain": self.domain.to_dict(),
            "name": self.release.name,
            "seconds": self.seconds,
            "config": plain_config(self.config),
            "measured": None if self.measured is None else dict(self.measured),
            "fingerprint": self.fingerprint,
        }
        rows = rows_to_csv(self.release.rows, self.domain)
        return {
            "made": self.when,
            "dataset": self.dataset,
            "label": f"{self.number} · {self.name}",
            "record": record,
            "rows": rows,
        }

    @classmethod
    def from_dict(cls, number: int, entry: Any) -> MadeRelease:
        """What :meth:`to_dict` wrote down, without diagnostics; ``number`` is what to call it now.

        Raises:
            InputError: something in it is wrong.
        """
        found = checked(_Run, entry)
        made, record, measured = found["record"], found["record"]["record"], found["record"].get("measured")
        domain = Domain.from_dict(entry["record"]["domain"])
        if measured is not None:
            few_enough(measured["measures"])
        rows, names = rows_from_csv(found["rows"], domain), list(domain.names)
        if (record.get("rows", len(rows)), record.get("columns", names)) != (len(rows), names):
            raise DataError("its record is of another number of rows, or of other columns")
        claim = recalibrated(record, made.get("config"), domain, len(rows))
        return cls(
            number=number,
            name=found["label"].split(" · ", 1)[-1],
            release=Release(
                rows=rows,
                guarantee=_counted(claim),
                diagnostics={},
                mechanism=record["mechanism"],
                settings={**claim.settings, **record["settings"]},  # earlier versions wrote fewer
                seeded=record["demonstration"],
                name=made.get("name", ""),
                config=claim.config,
                domain=domain,
            ),
            seed=made.get("seed"),
            dataset=found["dataset"],
            domain=domain,
            seconds=checks.number("seconds", made.get("seconds", 0.0), 0.0),
            config=claim.config,
            measured=None if measured is None else {**measured, "when": _in_utc(measured["when"])},
            fingerprint=made.get("fingerprint", ""),
            when=_in_utc(found["made"]),
        )


@dataclass(eq=False)
class Experiment:
    """An experiment and its results so far.

    Attributes:
        number, name: what a visit calls it.
        dataset, fingerprint: the data that it is about; the second tells whether it is the same data with the same domain.
        grid: what is to be run.
        target, degrees, models: what is measured.
        references: lines to draw beside every measure; known once the real data has been measured.
        results: by key of the cell.
        data: its columns and its held-out share; None if it was kept without them.
        when: it was planned.
        key: names it among all that is kept anywhere.

    Raises:
        ParameterError: a field has a value that it cannot have.
    """

    number: int
    name: str
    dataset: str
    fingerprint: str
    grid: Grid
    target: str | None
    degrees: tuple[int, ...]
    models: tuple[str, ...]
    references: dict[str, dict[str, float]] = field(default_factory=dict)
    results: dict[str, CellResult] = field(default_factory=dict)
    data: DataSource | None = None
    when: str = field(default_factory=now)
    key: str = field(default_factory=_new_key)

    def __post_init__(self) -> None:
        _check(self)
        checks.instance("grid", self.grid, Grid, "an experiment, Grid(...)")
        if self.target is not None:
            self.target = checks.text("target", self.target, "the name of a column, or None")
        why = "numbers of columns"
        self.degrees = tuple(checks.whole("degrees", one, why=why) for one in checks.items("degrees", self.degrees, why))
        why = "names of models"
        self.models = tuple(checks.text("models", one, why) for one in checks.items("models", self.models, why))
        self.references = checked_lines("references", self.references)
        for result in checks.mapping("results", self.results, "results by the keys of their cells").values():
            checks.instance("results", result, CellResult, "results by the keys of their cells")
        checks.instance("data", self.data, DataSource, "where the rows come from, DataSource(...), or None", optional=True)

    @property
    def cells(self) -> list[Cell]:
        """All cells that differ."""
        return list({cell.key: cell for cell in self.grid.cells()}.values())

    @property
    def measures(self) -> list[str]:
        """Names of all that has been measured."""
        return list(dict.fromkeys(m for result in self.results.values() for draw in result.measures for m in draw))

    @property
    def found(self) -> Results:
        """Its results, with its plan and its lines."""
        return Results(self.results.values(), self.grid, self.references)

    @property
    def missing(self) -> list[Cell]:
        """Cells without a result, or whose process died."""
        return [c for c in self.cells if c.key not in self.results or self.results[c.key].status == "crashed"]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "made": self.when,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "name": self.name,
            "grid": self.grid.to_dict(),
            "facts": {
                "target": self.target,
                "degrees": list(self.degrees),
                "classifiers": list(self.models),
                "references": self.references,
                "data": None if self.data is None else self.data.to_dict(),
            },
            "results": [result.to_dict() for result in self.results.values()],
        }

    @classmethod
    def from_dict(cls, number: int, entry: Any, set_aside: list[str]) -> Experiment:
        """What :meth:`to_dict` wrote down; ``number`` is what to call it now. Results that are wrong are set aside.

        Raises:
            InputError: something in it is wrong.
        """
        results = entry.get("results") if isinstance(entry, dict) else None
        found = checked(_Tried, {**entry, "results": []} if isinstance(entry, dict) else entry)
        facts, data = found["facts"], found["facts"].get("data")
        experiment = cls(
            number=number,
            name=found["name"],
            dataset=found["dataset"],
            fingerprint=found["fingerprint"],
            grid=Grid.from_dict(found["grid"]),
            target=facts["target"],
            degrees=tuple(facts["degrees"]),
            models=tuple(facts["classifiers"]),
            references=facts["references"],
            data=None if data is None else DataSource.from_dict(data),
            when=_in_utc(found["made"]),
        )
        read = read_entries(results, lambda _, result: experiment.result_of(result), f"{found['name']}, result", set_aside)
        experiment.results = {result.key: result for result in read}
        return experiment

    @cached_property
    def _cells(self) -> dict[tuple[str, str, float, int], Cell]:
        return {(cell.key, cell.label, cell.value, cell.repeat): cell for cell in self.grid.cells()}

    def result_of(self, entry: Any) -> CellResult:
        """The result of one of its cells, as :meth:`CellResult.to_dict` wrote it down.

        Raises:
            InputError: it is of another form, or of no cell of this experiment.
        """
        result = CellResult.from_dict(entry)
        cell = self._cells.get((result.key, result.label, result.value, result.repeat))
        if cell is None or cell.config.name != result.mechanism or (result.asked and result.asked != cell.asked):
            raise DataError(f"{self.name} has no such cell: {result.label} at {result.value:g}, run {result.repeat + 1}")
        return replace(result, asked=cell.asked)


class Archive(NamedTuple):
    """What was read: releases, experiments, and what could not be, a sentence each that names it and says why."""

    releases: list[MadeRelease]
    experiments: list[Experiment]
    set_aside: list[str]


def archive_text(releases: Sequence[MadeRelease], experiments: Sequence[Experiment]) -> str:
    """The file's text; marks of private rows are salted, anew in every file.

    Raises:
        ParameterError: they are something else.
    """
    for name, kind, given in (("releases", MadeRelease, releases), ("experiments", Experiment, experiments)):
        why = f"a list of objects of the class {kind.__name__}"
        for one in checks.items(name, given, why):
            checks.instance(name, one, kind, why)
    runs, tried = [release.to_dict() for release in releases], [experiment.to_dict() for experiment in experiments]
    salt = secrets.token_hex(8)
    made = [run["record"] for run in runs]
    for marked in (*tried, *made, *filter(None, (record["measured"] for record in made))):
        marked |= {"fingerprint": salted(marked["fingerprint"], salt)}
    found = {"format": FORMAT, "version": VERSION, "runs": runs, "experiments": tried}
    return json.dumps(found, indent=1, default=str)


def read_archive(data: bytes | str) -> Archive:
    """Releases and experiments of a file that :func:`archive_text` made; numbered from 1 in its order.

    Raises:
        DataError: it is no such file, or of a later version.
    """
    try:
        found = read_json(data, damaged=True)
    except DataError as fault:
        raise DataError("this is no JSON file, or it is nested too deeply; take one as dpsyn wrote it") from fault
    if isinstance(found, Damaged):
        raise DataError(found.why)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DataError("this JSON file holds no dpsyn runs; take one that “Export” in the app has made")
    version = found.get("version")
    if version is True or version != VERSION:
        if isinstance(version, Damaged):
            raise DataError(f"version: {version.why}")
        raise DataError(f"this file is of version {shown(version)}; this dpsyn reads version {VERSION}")
    set_aside: list[str] = []
    releases = read_entries(found.get("runs", []), MadeRelease.from_dict, "run", set_aside)
    read = partial(Experiment.from_dict, set_aside=set_aside)
    return Archive(releases, read_entries(found.get("experiments", []), read, "experiment", set_aside), set_aside)


def read_entries(entries: Any, read: Callable[[int, Any], T], what: str, set_aside: list[str]) -> list[T]:
    """What ``read(number, entry)`` makes of the entries, numbered from 1; one that is wrong is set aside.

    Raises:
        DataError: they are no list.
    """
    if not isinstance(entries, list):
        raise DataError(f"each {what} must stand in a list")
    found, wrong = [], 0
    for number, entry in enumerate(entries, start=1):
        try:
            found.append(read(number, entry))
        except DpsynError as fault:
            wrong += 1
            if wrong > _MOST_NAMED:
                continue
            called = entry.get("label", entry.get("name")) if isinstance(entry, dict) else None
            set_aside.append(f"{what} {number}{f' ({called[:60]})' if isinstance(called, str) else ''}: {fault}")
    if wrong > _MOST_NAMED:
        set_aside.append(f"{what}: {wrong - _MOST_NAMED:,} more that cannot be read")
    return found


def _counted(claim: Recalibrated) -> Guarantee:
    """The claim that counts: the mechanism's where it agrees. Any other is what the file states: nobody has checked it."""
    if claim.found is None or claim.contradiction:
        if claim.stated.status == "published_but_wrong":
            raise DataError(
                f"it has no guarantee, and is not what its settings give: {claim.contradiction or 'they are missing'}"
            )
        return replace(claim.stated, status="stated")
    if claim.stated.status != "proven" and claim.found.status not in (claim.stated.status, "demonstration"):
        return replace(claim.stated, status="stated")  # never stronger than the file says
    kept = (FROM_A_FILE,) if FROM_A_FILE in claim.stated.assumptions else ()
    return replace(claim.found, assumptions=(*claim.found.assumptions, *kept))
