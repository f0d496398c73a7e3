"""Releases and experiments as one JSON file: releases with their claims and rows (as CSV text), plans with their results.

No private row is in it, and no diagnostics. What is read back is checked; a message says what is wrong and where.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args

from dpsyn.data.source import DataSource
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DpsynError
from dpsyn.evaluation.experiments.plan import Cell, Grid, config_from_dict, plain_config
from dpsyn.evaluation.experiments.rows import rows_from_csv, rows_to_csv
from dpsyn.evaluation.experiments.run import CellResult
from dpsyn.mechanisms.base import Config, Release
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS, offered
from dpsyn.privacy.spec import Guarantee, Neighbouring, Status

T = TypeVar("T")
FORMAT, VERSION = "dpsyn runs", 1
_RUN = ("made", "dataset", "label", "record", "rows")
_GRID = ("made", "dataset", "fingerprint", "name", "grid", "facts", "results")
_RECORD = ("record", "domain")
_MEASURED = {"when", "fingerprint", "rows", "target", "measures", "references"}
_CLAIM = ("epsilon", "delta", "neighbouring", "source", "assumptions", "status", "unit")
_STATUS = get_args(Status)


def now() -> str:
    """The moment, to a second, as it is kept with what is made at it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _new_key() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"


@dataclass(frozen=True, eq=False)
class MadeRelease:
    """A release and what it was made from.

    Attributes:
        number, name: what a visit calls it.
        release: its diagnostics are private: they are never written.
        seed: of a demonstration, or None.
        dataset, domain: what it was made from.
        seconds: that it took.
        config: its settings; None if they cannot be written down.
        measured: what the last comparison found of it, as :func:`measures_of` reads it, or None.
        when: it was made.
        key: names it among all that is kept anywhere.
    """

    number: int
    name: str
    release: Release
    seed: int | None
    dataset: str
    domain: Domain
    seconds: float = 0.0
    config: Config | None = None
    measured: dict[str, Any] | None = None
    when: str = field(default_factory=now)
    key: str = field(default_factory=_new_key)

    @property
    def label(self) -> str:
        """Number and name."""
        return f"{self.number} · {self.name}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        record = {
            "record": self.release.record(seed=self.seed),
            "seed": self.seed,
            "domain": self.domain.to_dict(),
            "name": self.release.name,
            "seconds": self.seconds,
            "config": plain_config(self.config),
            "measured": self.measured,
        }
        rows = rows_to_csv(self.release.rows, self.domain)
        return {"made": self.when, "dataset": self.dataset, "label": self.label, "record": record, "rows": rows}

    @classmethod
    def from_dict(cls, number: int, entry: Mapping[str, Any]) -> MadeRelease:
        """What :meth:`to_dict` wrote down, without diagnostics; ``number`` is what to call it now.

        Raises:
            DataError: something in it is wrong.
        """
        record = entry["record"]
        lost = [name for name in _RECORD if name not in record]
        if lost:
            raise DataError(f"its record has no {lost[0]!r}")
        inner, domain, config = record["record"], Domain.from_dict(record["domain"]), record.get("config")
        guarantee = claim_of(inner)
        seed, seeded = record.get("seed"), inner["demonstration"]
        if not isinstance(inner["settings"], dict) or not isinstance(seeded, bool):
            raise DataError("its settings, or whether it was a demonstration, cannot be read")
        if seed is not None and not (seeded and isinstance(seed, int)):
            raise DataError(f"only a demonstration has a seed, which is a whole number, not {seed!r}")
        return cls(
            number=number,
            name=str(entry["label"]).split(" · ", 1)[-1],
            release=Release(
                rows=rows_from_csv(entry["rows"], domain),
                guarantee=guarantee,
                diagnostics={},
                mechanism=inner["mechanism"],
                settings=inner["settings"],
                seeded=seeded,
                name=record.get("name", ""),
            ),
            seed=seed,
            dataset=str(entry["dataset"]),
            domain=domain,
            seconds=float(record.get("seconds", 0.0)),
            config=config_from_dict(config) if config else None,
            measured=measures_of(record),
            when=str(entry["made"]),
        )


@dataclass(eq=False)
class Experiment:
    """An experiment and its results so far.

    Attributes:
        number, name: what a visit calls it.
        dataset, fingerprint: the data that it is about; the second tells whether it is the same data with the same domain.
        grid: what is to be run.
        target, degrees, classifiers: what is measured.
        references: lines to draw beside every measure; known once the real data has been measured.
        results: by key of the cell.
        data: its columns and its held-out share; None if it was kept without them.
        when: it was planned.
        key: names it among all that is kept anywhere.
    """

    number: int
    name: str
    dataset: str
    fingerprint: str
    grid: Grid
    target: str | None
    degrees: tuple[int, ...]
    classifiers: tuple[str, ...]
    references: dict[str, dict[str, float]] = field(default_factory=dict)
    results: dict[str, CellResult] = field(default_factory=dict)
    data: DataSource | None = None
    when: str = field(default_factory=now)
    key: str = field(default_factory=_new_key)

    @property
    def cells(self) -> list[Cell]:
        """All cells that differ."""
        return list({cell.key: cell for cell in self.grid.cells()}.values())

    @property
    def missing(self) -> list[Cell]:
        """Cells without a result, or whose process died."""
        return [c for c in self.cells if c.key not in self.results or self.results[c.key].status == "crashed"]

    @property
    def facts(self) -> dict[str, Any]:
        """What is kept beside grid and results, as plain data."""
        return {
            "target": self.target,
            "degrees": list(self.degrees),
            "classifiers": list(self.classifiers),
            "references": self.references,
            "data": None if self.data is None else self.data.to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "made": self.when,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "name": self.name,
            "grid": self.grid.to_dict(),
            "facts": self.facts,
            "results": [result.to_dict() for result in self.results.values()],
        }

    @classmethod
    def from_dict(cls, number: int, entry: Mapping[str, Any]) -> Experiment:
        """What :meth:`to_dict` wrote down; ``number`` is what to call it now.

        Raises:
            DataError: something in it is wrong.
        """
        facts = entry["facts"]
        for name, kind in (("degrees", list), ("classifiers", list), ("references", dict)):
            if not isinstance(facts.get(name), kind):
                raise DataError(f"its {name} cannot be read")
        return cls(
            number=number,
            name=str(entry["name"]),
            dataset=str(entry["dataset"]),
            fingerprint=str(entry["fingerprint"]),
            grid=Grid.from_dict(entry["grid"]),
            target=facts["target"],
            degrees=tuple(facts["degrees"]),
            classifiers=tuple(facts["classifiers"]),
            references=facts["references"],
            results={result.key: result for result in map(CellResult.from_dict, entry["results"])},
            data=None if facts.get("data") is None else DataSource.from_dict(facts["data"]),
            when=str(entry["made"]),
        )


def archive_text(releases: Sequence[MadeRelease], experiments: Sequence[Experiment]) -> str:
    """The file's text."""
    runs = [release.to_dict() for release in releases]
    found = {"format": FORMAT, "version": VERSION, "runs": runs, "experiments": [e.to_dict() for e in experiments]}
    return json.dumps(found, indent=1, default=str)


def read_archive(data: bytes | str) -> tuple[list[MadeRelease], list[Experiment]]:
    """Releases and experiments of a file that :func:`archive_text` made; numbered from 1 in its order.

    Raises:
        DataError: it is no such file, or something in it is wrong; nothing of it is to be used then.
    """
    try:
        found = json.loads(data)
    except (ValueError, UnicodeDecodeError) as fault:
        raise DataError("this is no JSON file; choose one that “Export” on this page has made") from fault
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DataError("this JSON file holds no dpsyn runs; choose one that “Export” on this page has made")
    if found.get("version") != VERSION:
        raise DataError(f"this file is of version {found.get('version')!r}; this dpsyn reads version {VERSION}")
    releases = _entries(found, "runs", MadeRelease.from_dict, _RUN, "run")
    return releases, _entries(found, "experiments", Experiment.from_dict, _GRID, "experiment")


def _entries(
    data: Mapping[str, Any], name: str, read: Callable[[int, dict[str, Any]], T], needed: Sequence[str], what: str
) -> list[T]:
    entries = data.get(name, [])
    if not isinstance(entries, list):
        raise DataError(f"{name!r} must be a list")
    found = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise DataError(f"{what} {number} is no object with names")
        lost = [key for key in needed if key not in entry]
        if lost:
            raise DataError(f"{what} {number} has no {lost[0]!r}")
        try:
            found.append(read(number, entry))
        except (DpsynError, TypeError, KeyError, AttributeError, ValueError) as fault:
            raise DataError(f"{what} {number} ({str(entry.get('label', entry.get('name', '')))[:60]}): {fault}") from fault
    return found


def guarantee_from_dict(data: Mapping[str, Any]) -> Guarantee:
    """The claim that ``Guarantee.to_dict`` wrote down.

    Raises:
        DataError: it is no claim of that form.
    """
    lost = [name for name in _CLAIM if name not in data]
    if lost:
        raise DataError(f"the guarantee has no {lost[0]!r}")
    refuted = data["status"] == "published_but_wrong"
    epsilon = math.inf if data["epsilon"] is None and refuted else data["epsilon"]
    numbers = (epsilon, data["delta"])
    if not all(isinstance(x, int | float) and not isinstance(x, bool) and x >= 0 for x in numbers):
        raise DataError(f"the guarantee's ε and δ must be numbers that are not negative, not {numbers!r}")
    if data["status"] not in _STATUS or data["neighbouring"] not in get_args(Neighbouring):
        raise DataError(f"the guarantee's status {data['status']!r} or neighbouring {data['neighbouring']!r} is not known")
    known = {name: data[name] for name in _CLAIM}
    return Guarantee(**{**known, "epsilon": epsilon, "assumptions": tuple(map(str, data["assumptions"]))})


def claim_of(record: Mapping[str, Any]) -> Guarantee:
    """The claim in a release's record, checked against the mechanism that it names.

    Where more is known of what earlier versions claimed, it is read with the status and the ε that it has.

    Raises:
        DataError: it is no claim, there is no such mechanism, or the mechanism's claim is refuted and the record hides it.
    """
    guarantee = guarantee_from_dict(record["guarantee"])
    name = record["mechanism"]
    if name not in MECHANISMS | DEMONSTRATIONS:
        raise DataError(f"{name!r} is no mechanism; there are {', '.join(MECHANISMS | DEMONSTRATIONS)}")
    if name in DEMONSTRATIONS and guarantee.status != "published_but_wrong":
        raise DataError(f"{name!r} has no guarantee: its status must be 'published_but_wrong', not {guarantee.status!r}")
    as_known, settings = offered(name, "formulas:as_known"), record.get("settings")
    return guarantee if as_known is None or not isinstance(settings, dict) else as_known(guarantee, settings)


def measures_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What was measured of a release when it was kept, or None: numbers and reference lines by name, and against what.

    Raises:
        DataError: it is of another form.
    """
    found = record.get("measured")
    if found is None:
        return None
    if not isinstance(found, dict) or not found.keys() >= _MEASURED:
        raise DataError("its measures cannot be read")
    lines = found["references"]
    if not isinstance(lines, dict) or not all(map(_numbers, [found["measures"], *lines.values()])):
        raise DataError("its measures must be numbers by name")
    return found


def _numbers(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) for x in data.values()
    )
