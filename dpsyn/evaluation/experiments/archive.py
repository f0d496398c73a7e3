"""Runs and experiments as one JSON file: releases with their claims and rows (as CSV text), plans with their results.

No private row is in it, and no diagnostics. What is read back is checked; a message says what is wrong and where.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from dpsyn.attribute import Attribute, settled
from dpsyn.data.source import DataSource
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DpsynError
from dpsyn.evaluation.experiments.plan import Grid, config_from_dict
from dpsyn.evaluation.experiments.run import CellResult
from dpsyn.evaluation.experiments.workspace import StoredGrid, StoredRun
from dpsyn.mechanisms.noisy_reweighting import FLOATING_POINT, NoisyReweighting
from dpsyn.mechanisms.registry import DEMONSTRATIONS, MECHANISMS
from dpsyn.privacy.spec import Guarantee, Neighbouring, Status

FORMAT, VERSION = "dpsyn runs", 1
_RUN = ("made", "dataset", "label", "record", "rows")
_GRID = ("made", "dataset", "fingerprint", "name", "grid", "facts", "results")
_RECORD = ("record", "domain")
_MEASURED = {"when", "fingerprint", "rows", "target", "measures", "references"}
_CLAIM = ("epsilon", "delta", "neighbouring", "source", "assumptions", "status", "unit")
_STATUS = get_args(Status)
_ROUNDING = 1e-9


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

    Earlier versions called noisy reweighting with noise as published proven, which it is in real arithmetic only, and gave
    statistics of the user's own too little of that noise: such a record is read with the status and the ε that it has.

    Raises:
        DataError: it is no claim, there is no such mechanism, or the mechanism's claim is refuted and the record hides it.
    """
    guarantee = guarantee_from_dict(record["guarantee"])
    name = record["mechanism"]
    if name not in MECHANISMS | DEMONSTRATIONS:
        raise DataError(f"{name!r} is no mechanism; there are {', '.join(MECHANISMS | DEMONSTRATIONS)}")
    if name in DEMONSTRATIONS and guarantee.status != "published_but_wrong":
        raise DataError(f"{name!r} has no guarantee: its status must be 'published_but_wrong', not {guarantee.status!r}")
    if name == NoisyReweighting.name:
        return _of_published_noise(guarantee, record.get("settings"))
    return guarantee


def _of_published_noise(guarantee: Guarantee, settings: Any) -> Guarantee:
    """The claim as it stands, or what is true of continuous Laplace noise: ε = 2|F|/(nσ) at least, in real arithmetic."""
    if not isinstance(settings, dict) or settings.get("noise") not in ("as_published", "continuous_laplace"):
        return guarantee
    status: Status = "real_arithmetic" if guarantee.status == "proven" else guarantee.status
    assumptions = guarantee.assumptions
    if FLOATING_POINT not in assumptions:
        assumptions = (*assumptions, FLOATING_POINT)
    try:
        count, n = float(settings["statistic_count"]), float(settings["n"])
        needed = 2 * count / (n * float(settings["noise_scale_on_averages"]))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as fault:
        raise DataError("its settings do not say how much noise as published there was") from fault
    if not (math.isfinite(needed) and needed > 0):
        raise DataError("its settings have no sensible amount of noise as published")
    epsilon = needed if needed > guarantee.epsilon * (1 + _ROUNDING) else guarantee.epsilon
    return replace(guarantee, epsilon=epsilon, status=status, assumptions=assumptions)


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

    for row, cell in enumerate(cells):
        if cell == "" and not attribute.missing:
            raise wrong(row)
    if not attribute.is_binned:
        as_text = _as_text(attribute)
        values: dict[str, Any] = {str(c) if as_text else str(i): c for i, c in enumerate(attribute.categories)} | {"": None}
        for row, cell in enumerate(cells):
            if cell not in values:
                raise wrong(row)
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


def archive_text(runs: Sequence[StoredRun], grids: Sequence[StoredGrid]) -> str:
    """The file's text."""
    return json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "runs": [
                {
                    "made": run.made,
                    "dataset": run.dataset,
                    "label": run.label,
                    "record": run.record,
                    "rows": rows_to_csv(run.rows, Domain.from_dict(run.record["domain"])),
                }
                for run in runs
            ],
            "experiments": [
                {
                    "made": grid.made,
                    "dataset": grid.dataset,
                    "fingerprint": grid.fingerprint,
                    "name": grid.name,
                    "grid": grid.grid.to_dict(),
                    "facts": grid.facts,
                    "results": [result.to_dict() for result in grid.results],
                }
                for grid in grids
            ],
        },
        indent=1,
        default=str,
    )


def read_archive(data: bytes | str) -> tuple[list[StoredRun], list[StoredGrid]]:
    """Runs and experiments of a file that :func:`archive_text` made; numbered from 1 in its order.

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
    runs = [_checked(_run, i, entry, _RUN, "run") for i, entry in enumerate(_list(found, "runs"), start=1)]
    grids = [_checked(_grid, i, entry, _GRID, "experiment") for i, entry in enumerate(_list(found, "experiments"), start=1)]
    return runs, grids


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    entries = data.get(name, [])
    if not isinstance(entries, list):
        raise DataError(f"{name!r} must be a list")
    return entries


def _checked(read: Any, number: int, entry: Any, needed: Sequence[str], what: str) -> Any:
    if not isinstance(entry, dict):
        raise DataError(f"{what} {number} is no object with names")
    lost = [name for name in needed if name not in entry]
    if lost:
        raise DataError(f"{what} {number} has no {lost[0]!r}")
    try:
        return read(number, entry)
    except (DpsynError, TypeError, KeyError, AttributeError, ValueError) as fault:
        raise DataError(f"{what} {number} ({str(entry.get('label', entry.get('name', '')))[:60]}): {fault}") from fault


def _run(number: int, entry: dict[str, Any]) -> StoredRun:
    record = entry["record"]
    lost = [name for name in _RECORD if name not in record]
    if lost:
        raise DataError(f"its record has no {lost[0]!r}")
    inner = record["record"]
    claim_of(inner)
    if not isinstance(inner["settings"], dict) or not isinstance(inner["demonstration"], bool):
        raise DataError("its settings, or whether it was a demonstration, cannot be read")
    if record.get("config") is not None:
        config_from_dict(record["config"])
    measures_of(record)
    rows = rows_from_csv(entry["rows"], Domain.from_dict(record["domain"]))
    return StoredRun(number, str(entry["made"]), str(entry["dataset"]), str(entry["label"]), record, rows)


def _grid(number: int, entry: dict[str, Any]) -> StoredGrid:
    facts = entry["facts"]
    for name, kind in (("degrees", list), ("classifiers", list), ("references", dict)):
        if not isinstance(facts.get(name), kind):
            raise DataError(f"its {name} cannot be read")
    if facts.get("data") is not None:
        DataSource.from_dict(facts["data"])
    results = [CellResult.from_dict(result) for result in entry["results"]]
    names = [str(entry[name]) for name in ("dataset", "fingerprint", "name")]
    grid = Grid.from_dict(entry["grid"])
    return StoredGrid(number, str(entry["made"]), names[0], names[1], names[2], grid, facts, results)
