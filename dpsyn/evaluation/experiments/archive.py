"""Releases and experiments as one JSON file: releases with their claims and rows (as CSV text), plans with their results.

No private row is in it, and no diagnostics. What is read back is checked; a message says what is wrong and where.
"""

from __future__ import annotations

import csv
import io
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from dpsyn.attribute import Attribute, settled
from dpsyn.data.source import DataSource
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DpsynError
from dpsyn.evaluation.experiments.marks import salted
from dpsyn.evaluation.experiments.plan import Cell, Grid, config_from_dict, plain_config
from dpsyn.evaluation.experiments.run import CellResult
from dpsyn.mechanisms.base import Config, Release
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS, offered
from dpsyn.privacy.spec import Guarantee

T = TypeVar("T")
FORMAT, VERSION = "dpsyn runs", 1
_RUN = ("made", "dataset", "label", "record", "rows")
_GRID = ("made", "dataset", "fingerprint", "name", "grid", "facts", "results")
_RECORD = ("record", "domain")
_MEASURED = {"when", "fingerprint", "rows", "target", "measures", "references"}


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
            "record": self.release.record(),
            "seed": self.seed,
            "domain": self.domain.to_dict(),
            "name": self.release.name,
            "seconds": self.seconds,
            "config": plain_config(self.config),
            "measured": None if self.measured is None else dict(self.measured),
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
    def measures(self) -> list[str]:
        """Names of all that has been measured."""
        return list(dict.fromkeys(m for result in self.results.values() for draw in result.measures for m in draw))

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
    """The file's text; marks of private rows are salted, anew in every file."""
    runs, tried = [release.to_dict() for release in releases], [experiment.to_dict() for experiment in experiments]
    salt = secrets.token_hex(8)
    for marked in (*tried, *(run["record"]["measured"] for run in runs if run["record"]["measured"])):
        marked |= {"fingerprint": salted(marked["fingerprint"], salt)}
    found = {"format": FORMAT, "version": VERSION, "runs": runs, "experiments": tried}
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


def claim_of(record: Mapping[str, Any]) -> Guarantee:
    """The claim in a release's record, checked against the mechanism that it names.

    Where more is known of what earlier versions claimed, it is read with the status and the ε that it has.

    Raises:
        DataError: it is no claim, there is no such mechanism, or the mechanism's claim is refuted and the record hides it.
    """
    guarantee = Guarantee.from_dict(record["guarantee"])
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


def rows_to_csv(rows: pd.DataFrame, domain: Domain) -> str:
    """The rows as CSV text that :func:`rows_from_csv` reads back without loss: a missing cell is empty.

    Categories whose texts are empty or not all different are written as their numbers in the domain.
    """
    columns = [_written(a, rows[a.name]) for a in domain.attributes]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(domain.names)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def rows_from_csv(text: str, domain: Domain) -> pd.DataFrame:
    """The rows that :func:`rows_to_csv` wrote.

    Raises:
        DataError: a column is absent, or a cell is no value of the domain; the message names its row.
    """
    lines = list(csv.reader(io.StringIO(text, newline="")))
    header, body = (tuple(lines[0]), lines[1:]) if lines else ((), [])
    if header != domain.names:
        raise DataError(f"the rows have the columns {', '.join(header)}, the domain has {', '.join(domain.names)}")
    if not body:
        raise DataError("there are no rows")
    for number, line in enumerate(body, start=1):
        if len(line) != len(header):
            raise DataError(f"row {number} has {len(line)} cells, not {len(header)}")
    columns = zip(*body, strict=True)
    return pd.DataFrame({a.name: _read(a, cells) for a, cells in zip(domain.attributes, columns, strict=True)})


def _as_text(attribute: Attribute) -> bool:
    texts = [str(c) for c in attribute.categories]
    return len(set(texts)) == len(texts) and "" not in texts


def _written(attribute: Attribute, column: pd.Series[Any]) -> list[str]:
    if not attribute.is_binned:
        texts = [str(c) if _as_text(attribute) else str(i) for i, c in enumerate(attribute.categories)] + [""]
        return [texts[code] for code in attribute.encode(column)]
    if attribute.kind == "date":
        return ["" if pd.isna(v) else pd.Timestamp(v).isoformat() for v in column]
    return ["" if pd.isna(v) else repr(v.item() if isinstance(v, np.generic) else v) for v in column]


def _read(attribute: Attribute, cells: Sequence[str]) -> pd.Series[Any]:
    def wrong(row: int) -> DataError:
        return DataError(f"row {row + 1}, column {attribute.name!r}: {cells[row]!r} is no value of the domain")

    if "" in cells and not attribute.missing:
        raise wrong(cells.index(""))
    if not attribute.is_binned:
        as_text = _as_text(attribute)
        values: dict[str, Any] = {str(c) if as_text else str(i): c for i, c in enumerate(attribute.categories)} | {"": None}
        unknown = set(cells) - values.keys()
        if unknown:
            raise wrong(min(map(cells.index, unknown)))
        return settled(pd.Series([values[cell] for cell in cells], name=attribute.name, dtype=object))
    if attribute.kind == "date":
        try:
            moments = pd.to_datetime(pd.Series([c or None for c in cells]), format="ISO8601")
        except ValueError as fault:
            raise DataError(f"column {attribute.name!r}: a cell is no date ({fault})") from fault
        return attribute.from_numbers(attribute.numbers(moments))
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            numbers[row] = float(cell) if cell else np.nan
        except ValueError:
            raise wrong(row) from None
    outside = (numbers < attribute.edges[0]) | (numbers > attribute.edges[-1]) | np.isinf(numbers)
    if outside.any():
        raise wrong(int(np.argmax(outside)))
    return attribute.from_numbers(numbers)
