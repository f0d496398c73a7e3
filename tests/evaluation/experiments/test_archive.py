"""Runs and experiments through a file: nothing lost, and what is wrong is named."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DataError, ParameterError
from dpsyn.evaluation.experiments import Archive, Experiment, Grid, MadeRelease, Workspace
from dpsyn.evaluation.experiments.archive import archive_text, read_archive
from dpsyn.evaluation.experiments.marks import fingerprint, is_of
from dpsyn.evaluation.experiments.results import CellResult, Status
from dpsyn.evaluation.experiments.rows import rows_from_csv, rows_to_csv
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.privacy.spec import FROM_A_FILE, Guarantee, PrivacySpec
from dpsyn.table import Table
from tests.evaluation.experiments.fakes import result_of

AWKWARD = Domain.of(
    [
        Attribute(
            "text", "categorical", categories=("a,b", 'say "x"', "two\nlines", "a\rreturn", " NA ", "nan", "ü"), missing=True
        ),
        Attribute("clash", "categorical", categories=(1, "1", ""), missing=True),
        Attribute("codes", "categorical", categories=("007", "7", "1e3")),
        Attribute("truth", "truth", categories=(False, True)),
        Attribute("whole", "numeric", lower=-5, upper=5, bins=3, integer=True, missing=True),
        Attribute("real", "numeric", lower=0, upper=1, bins=4, missing=True),
        Attribute("day", "date", lower=10_000, upper=20_000, bins=5, missing=True),
    ]
)


def test_rows_come_back_as_they_were() -> None:
    generator = np.random.default_rng(0)
    codes = np.column_stack([generator.integers(0, size, 300) for size in AWKWARD.shape]).astype(np.int32)
    rows = AWKWARD.decode(codes, generator)
    back = rows_from_csv(rows_to_csv(rows, AWKWARD), AWKWARD)
    pd.testing.assert_frame_equal(back, rows)
    whole = rows.head(1)
    pd.testing.assert_frame_equal(rows_from_csv(rows_to_csv(whole, AWKWARD), AWKWARD)[["codes"]], whole[["codes"]])


UNNAMEABLE = ("", ".", "..", "a\0", "../x", "a\\b", "/x", "c:x", "\ud800")
"""No names of files."""


def kept(name: str = "noisy_reweighting") -> MadeRelease:
    table = load_sample("asia").take(np.arange(400))
    config = {
        "noisy_reweighting": dpsyn.NoisyReweighting(rows=60),
        "private_sampling": dpsyn.PrivateSampling(rows=5),
        "dp_cda": dpsyn.DPCDA(target="bronc", order_of_mixture=2),
        "dp_cda_as_published": dpsyn.DPCDA.as_published("bronc", order_of_mixture=2, rows=61),  # of which it makes 60
    }[name]
    mechanism = config.calibrate(PrivacySpec(20.0, 1e-5), table.domain, n=table.n)
    release = mechanism(np.random.default_rng(0), table)
    when = "2024-01-02T03:04:05+00:00"
    return MadeRelease(1, "mine", release, 0, "asia", table.domain, 0.5, config, when=when)


@pytest.mark.parametrize("name", ["noisy_reweighting", "private_sampling", "dp_cda", "dp_cda_as_published"])
def test_runs_come_back(name: str) -> None:
    made = replace(kept(name), seed=[0, 255, 7]) if name == "dp_cda" else kept(name)
    (back,), experiments, set_aside = read_archive(archive_text([made], []).encode())
    assert experiments == set_aside == []
    for what in ("when", "dataset", "label", "seed", "seconds", "config", "domain"):
        assert getattr(back, what) == getattr(made, what)
    for what in ("guarantee", "mechanism", "seeded", "name"):
        assert getattr(back.release, what) == getattr(made.release, what)
    assert back.release.settings == json.loads(json.dumps(made.release.settings))
    assert back.release.diagnostics == {}
    pd.testing.assert_frame_equal(back.release.rows, made.release.rows)


def test_what_was_read_from_a_file_says_so_when_it_is_read_again() -> None:
    made = kept()
    claim = made.release.guarantee
    marked = replace(claim, assumptions=(*claim.assumptions, FROM_A_FILE))
    made = replace(made, release=replace(made.release, guarantee=marked))
    for _ in range(2):
        (made,), _, _ = read_archive(archive_text([made], []).encode())
        assert made.release.guarantee.assumptions.count(FROM_A_FILE) == 1


def test_a_run_over_a_domain_that_nobody_confirmed_comes_back_with_its_classes() -> None:
    table = dpsyn.read_table(pd.DataFrame({"sex": ["Female", "Male"] * 200, "age": np.arange(400) % 90}))
    config = dpsyn.DPCDA(target="sex", order_of_mixture=2, rows=10, class_sizes={"Female": 50, "Male": 50})
    release = config.calibrate(PrivacySpec(20.0, 1e-5), table.domain, n=table.n)(None, table)
    made = MadeRelease(1, "mine", release, None, "people", table.domain, config=config)
    (back,), _, set_aside = read_archive(archive_text([made], []).encode())
    assert not set_aside
    assert back.release.guarantee == release.guarantee
    assert back.release.settings["classes"] == ["Female", "Male"]


MEASURED = {
    "when": "2024-01-02T03:04:05+00:00",
    "fingerprint": "f00",
    "rows": 400,
    "target": None,
    "measures": {"2-way error, mean": 0.1 + 0.2},
    "references": {"2-way error, mean": {"sampling floor": 0.01}},
}


def test_measures_come_back_and_records_without_any_are_read() -> None:
    (back,), _, _ = read_archive(archive_text([kept()], []))
    assert back.measured is None
    (back,), _, _ = read_archive(archive_text([replace(kept(), measured=MEASURED)], []))
    assert is_of(back.measured["fingerprint"], MEASURED["fingerprint"])
    assert back.measured == MEASURED | {"fingerprint": back.measured["fingerprint"]}


CLAIM = {"epsilon", "delta", "neighbouring", "unit", "source", "assumptions", "status"}
WRITTEN = {
    "": {"format", "version", "runs", "experiments"},
    "runs": {"made", "dataset", "label", "record", "rows"},
    "runs.record": {"record", "domain", "seed", "name", "seconds", "config", "measured", "fingerprint"},
    "runs.record.record": {"mechanism", "settings", "guarantee", "demonstration", "rows", "columns", "versions"},
    "runs.record.record.guarantee": CLAIM,
    "runs.record.measured": {"when", "fingerprint", "rows", "target", "measures", "references"},
    "experiments": {"made", "dataset", "fingerprint", "name", "grid", "facts", "results"},
    "experiments.facts": {"target", "degrees", "classifiers", "references", "data"},
    "experiments.results": {
        "key", "label", "mechanism", "value", "repeat", "status", "message", "asked", "guarantee", "settings", "measures",
        "seconds", "processor", "gigabytes",
    },
    "experiments.results.guarantee": CLAIM,
}  # fmt: skip
"""All that a file holds, by place; beside it settings and configurations as calibration gives them, and measures."""
SECRET = "seen among the rows"


def places_of(data: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a file, with the names on the way to it."""
    if isinstance(data, dict):
        yield place, data
    for name, inner in data.items() if isinstance(data, dict) else [("", one) for one in data]:
        if isinstance(inner, dict | list):
            yield from places_of(inner, ".".join(filter(None, (place, name))))


@pytest.mark.parametrize("name", ["noisy_reweighting", "private_sampling", "dp_cda", "dp_cda_as_published"])
def test_a_file_holds_what_is_named_and_nothing_of_the_diagnostics(name: str, tmp_path: Path) -> None:
    """They are private, numbers and texts alike; so it is with the folder of a workspace and with the record alone."""
    made = replace(kept(name), measured=MEASURED)
    told = {"residual": 0.123456789, "deep": {"largest": [7.987654321]}, "array": np.array([6.543219876]), "text": SECRET}
    release = replace(made.release, diagnostics={**made.release.diagnostics, **told})
    made = replace(made, release=release)
    grid = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0))
    one = Experiment(1, "my grid", "asia", "f00", grid, None, (1, 2), ("random forest",))
    one.results = {result.key: result for result in map(result_of, grid.cells())}
    Workspace(tmp_path).keep(made)
    texts = [archive_text([made], [one]), (tmp_path / "releases" / f"{made.key}.json").read_text()]
    texts.append(json.dumps(made.release.record()))
    for text in texts:
        assert not any(secret in text for secret in ("residual", "123456789", "987654321", "543219876", SECRET))
    for text in texts[:2]:
        found = list(places_of(json.loads(text)))
        assert WRITTEN.keys() - {"", *(place for place, _ in found)} == set() or text is not texts[0]
        for place, data in found:
            assert data.keys() == WRITTEN.get(place, data.keys()), place
        (record,) = [data for place, data in found if place == "runs.record.record"]
        assert record["settings"].keys() == kept(name).release.settings.keys()
    assert json.loads(texts[2]).keys() == WRITTEN["runs.record.record"] | {"config", "domain"}


@pytest.mark.parametrize("place", [place for place in WRITTEN if place.startswith("run")])
def test_what_a_file_holds_beside_is_dropped_or_refused(place: str) -> None:
    """Nothing that somebody put into a file stands in another one that is made of what was read."""
    data = json.loads(archive_text([replace(kept(), measured=MEASURED)], []))
    (inner,) = [inner for at, inner in places_of(data) if at == place]
    inner |= {"diagnostics": {"largest": SECRET}, "residual": SECRET}
    found = read_archive(json.dumps(data))
    assert len(found.releases) + len(found.set_aside) == 1
    assert SECRET not in archive_text(found.releases, [])
    for made in found.releases:
        assert SECRET not in repr(vars(made) | vars(made.release))


def test_experiments_come_back() -> None:
    grid = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0), values=(0.5, 1.0), repeats=2)
    results = [replace(result_of(cell), measures=({"e": 0.1 + 0.2},)) for cell in grid.cells()]
    one = Experiment(1, "my grid", "asia", "f00", grid, None, (1, 2), ("random forest",), {"e": {"real data": 1.0}})
    one.results = {result.key: result for result in results}
    releases, (back,), set_aside = read_archive(archive_text([], [one]))
    assert releases == set_aside == []
    assert back.results == one.results
    assert is_of(back.fingerprint, "f00")
    assert replace(back, key=one.key, fingerprint="f00").__dict__ == one.__dict__


def test_a_result_in_a_file_that_does_not_say_what_was_asked_for_is_judged_by_the_plan() -> None:
    grid = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0), repeats=1)
    one = Experiment(1, "mine", "asia", "f00", grid, None, (1,), ())
    one.results = {result.key: result for result in map(result_of, grid.cells())}
    data = json.loads(archive_text([], [one]))
    (entry,) = data["experiments"][0]["results"]
    entry["asked"], entry["guarantee"]["epsilon"] = {}, 1.5
    ((found,),) = (back.results.values() for back in read_archive(json.dumps(data)).experiments)
    assert (found.asked, found.budget) == (next(grid.cells()).asked, "over budget")


def test_runs_whose_process_died_are_missing_and_those_that_ended_without_rows_are_not() -> None:
    grid = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0), repeats=5)
    one = Experiment(1, "mine", "asia", "f00", grid, None, (1,), ())
    *ended, _ = cells = one.cells
    statuses: list[Status] = ["done", "refused", "failed", "crashed"]
    one.results = {cell.key: CellResult.of(cell, status) for cell, status in zip(ended, statuses, strict=True)}
    assert one.missing == cells[3:]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"key": "a" * 23}, "is not that of a cell"),
        ({"key": "A" * 24}, "is not that of a cell"),
        ({"guarantee": {}, "measures": []}, "guarantee"),
        ({"measures": [{}, {f"m{i}": 1.0 for i in range(200)}]}, ""),
        ({"measures": [{}, {f"m{i}": 1.0 for i in range(201)}]}, "201 are too many; at most 200"),
    ],
)
def test_a_result_is_read_where_it_is_of_a_cell_with_a_guarantee_and_of_some_measures(
    change: dict[str, Any], said: str
) -> None:
    data = result_of(next(Grid({"a": NoisyReweighting()}, PrivacySpec(1.0)).cells())).to_dict() | change
    if not said:
        assert CellResult.from_dict(json.loads(json.dumps(data))).status == "done"
        return
    with pytest.raises(DataError, match=said):
        CellResult.from_dict(json.loads(json.dumps(data)))


def test_no_unsalted_hash_of_private_rows_is_in_a_file() -> None:
    """Two files on the same rows do not tell that they are; whoever has the rows finds them again, other rows not."""
    table = load_sample("asia").take(np.arange(50))
    mark, other = fingerprint(table, None), fingerprint(table.take(np.arange(49)), None)
    grid = Grid({"a": NoisyReweighting()}, PrivacySpec(1.0))
    one = Experiment(1, "my grid", "asia", mark, grid, None, (1, 2), ("random forest",))
    run = replace(kept(), fingerprint=mark, measured=MEASURED | {"fingerprint": mark})
    texts = [archive_text([run], [one]) for _ in range(2)]
    assert not any(mark in text for text in texts)
    marks = set()
    for text in texts:
        (release,), (experiment,), _ = read_archive(text)
        assert release.fingerprint == release.measured["fingerprint"] == experiment.fingerprint
        assert is_of(experiment.fingerprint, mark)
        assert not is_of(experiment.fingerprint, other)
        marks.add(experiment.fingerprint)
        assert experiment.fingerprint in archive_text([], [experiment])  # salted once
    assert len({part for mark in marks for part in mark.split(":")}) == 4  # other salts, and other hashes
    assert run.fingerprint == run.measured["fingerprint"] == one.fingerprint == mark


def test_rows_have_another_mark_where_any_of_them_or_their_domain_is_another() -> None:
    """What was measured of other rows, learned from or held out, is shown as such."""
    table = load_sample("asia").project(["smoke", "bronc"]).take(np.arange(50))
    rows, fewer = table.take(np.arange(40)), table.take(np.arange(39))
    held, other = table.take(np.arange(40, 50)), table.take(np.arange(41, 50))
    flipped = Table(held.frame.assign(smoke=held.frame["smoke"].to_numpy()[::-1]), held.domain)
    assert flipped.frame["smoke"].tolist() != held.frame["smoke"].tolist()
    unconfirmed = Domain(tuple(replace(a, public=not a.public) for a in table.domain.attributes))
    pairs = [
        (rows, held),
        (fewer, held),
        (rows, other),
        (rows, flipped),
        (rows, None),
        (held, rows),
        (rows.with_domain(unconfirmed), held.with_domain(unconfirmed)),
    ]
    assert len({fingerprint(*pair) for pair in pairs}) == len(pairs)
    mark = fingerprint(table.take(np.arange(40)), table.take(np.arange(40, 50)))
    assert (
        fingerprint(rows, held) == mark == "027f5b9f062c256ab449057cbbc7e148"
    )  # as folders hold it from version to version
    assert is_of(mark, mark)
    assert not is_of(mark, fingerprint(rows, None))
    days = Domain.of([AWKWARD["day"], AWKWARD["real"], AWKWARD["clash"]])
    assert len(fingerprint(Table(pd.DataFrame({"day": [None], "real": [0.5], "clash": [1]}), days), None)) == 32


@pytest.mark.parametrize(
    ("written", "read"),
    [("2026-01-01T12:00:00", "2026-01-01T12:00:00+00:00"), ("2026-01-01T12:00:00+05:00", "2026-01-01T07:00:00+00:00")],
)
def test_moments_are_read_in_utc(written: str, read: str) -> None:
    """Pages compare them, and call them so."""
    made = replace(kept(), measured={**MEASURED, "when": "2026-01-01T00:00:00+00:00"})
    data = json.loads(archive_text([made], []))
    data["runs"][0]["made"] = data["runs"][0]["record"]["measured"]["when"] = written
    (found,), _, _ = read_archive(json.dumps(data))
    assert found.measured is not None
    assert (found.when, found.measured["when"]) == (read, read)
    data["runs"][0]["made"] = "9999-12-31T23:00:00-05:00"
    assert "no moment in UTC" in read_archive(json.dumps(data)).set_aside[0]


def test_a_refuted_claim_stays_refuted() -> None:
    claim = Guarantee(float("inf"), 0.0, "replace_one", "nobody", ("x",), "published_but_wrong")
    assert Guarantee.from_dict(json.loads(json.dumps(claim.to_dict()))) == claim
    with pytest.raises(DataError, match="the guarantee's epsilon: expected a number"):
        Guarantee.from_dict(claim.to_dict() | {"status": "proven"})


def test_a_release_without_a_guarantee_cannot_come_back_with_one(tmp_path: Path) -> None:
    made = kept("dp_cda_as_published")
    Workspace(tmp_path).keep(made)
    (found,) = Workspace(tmp_path).read().releases
    (read,), _, _ = read_archive(archive_text([found], []))
    for back in (found, read):
        claim = back.release.guarantee
        assert claim.status == "published_but_wrong"
        assert claim.epsilon == float("inf")
        assert "NO GUARANTEE HOLDS" in claim.assumptions[0]
        assert back.config == dpsyn.DPCDA.as_published("bronc", order_of_mixture=2, rows=61)
    data = json.loads(archive_text([made], []))
    data["runs"][0]["record"]["record"]["guarantee"] |= {"status": "proven", "epsilon": 10.0}
    found = read_archive(json.dumps(data))
    assert found.releases == []
    assert "must be 'published_but_wrong'" in found.set_aside[0]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"ledger": [{"name": "x", "share": 1.0}]}, "ledger"),
        ({"noise_scale": 0.5}, "noise scale"),
        ({"rows_per_class": []}, ""),
    ],
)
def test_what_has_no_guarantee_has_the_settings_that_it_was_made_with(settings: dict[str, Any], why: str) -> None:
    """Pages read them, as they read those of a claim that was checked."""
    data = json.loads(archive_text([kept("dp_cda_as_published"), kept("dp_cda_as_published")], []))
    data["runs"][0]["record"]["record"]["settings"] |= settings
    data["runs"][1]["record"]["config"] = None
    found = read_archive(json.dumps(data))
    assert found.releases == []
    assert why in found.set_aside[0]
    assert "they are missing" in found.set_aside[1]


@pytest.mark.parametrize(
    ("name", "setting"), [("noisy_reweighting", "degree"), ("private_sampling", "floor"), ("dp_cda", "order_of_mixture")]
)
def test_a_setting_that_a_file_leaves_out_comes_from_calibration(name: str, setting: str) -> None:
    """Files of earlier versions hold fewer than pages read; what is told of the claim they have to hold."""
    made = kept(name)
    data = json.loads(archive_text([made], []))
    left_out = data["runs"][0]["record"]["record"]["settings"].pop(setting)
    (read,), _, set_aside = read_archive(json.dumps(data))
    assert set_aside == []
    assert read.release.settings[setting] == left_out
    assert read.release.guarantee.status != "stated"


@pytest.mark.parametrize("name", ["noisy_reweighting", "dp_cda"])
def test_a_mechanism_with_a_guarantee_is_not_published_but_wrong(name: str) -> None:
    data = json.loads(archive_text([kept(name)], []))
    data["runs"][0]["record"]["record"]["guarantee"] |= {"status": "published_but_wrong", "epsilon": None}
    assert "cannot be 'published_but_wrong'" in read_archive(json.dumps(data)).set_aside[0]


def test_a_claim_counts_where_calibration_comes_to_it_again() -> None:
    """Records of earlier versions called noise as published proven, and gave the user's own functions too little of it."""
    table = load_sample("asia").take(np.arange(400))
    config = dpsyn.NoisyReweighting.as_published(rows=20)
    mechanism = config.calibrate(PrivacySpec(2.0), table.domain, n=table.n)
    made = replace(kept(), release=mechanism(None, table), seed=None, config=config)

    def read(**changes: Any) -> Guarantee:
        data = json.loads(archive_text([made], []))
        record = data["runs"][0]["record"]["record"]
        for name, change in changes.items():
            record[name] |= change
        (back,), _, _ = read_archive(json.dumps(data))
        return back.release.guarantee

    claim = made.release.guarantee
    assert claim.status == "real_arithmetic"
    assert read() == claim
    assert read(guarantee={"status": "proven", "assumptions": [], "source": "me"}) == claim
    assert read(guarantee={"epsilon": 3.0}) == claim
    # What it cannot come to again is what the file states.
    assert read(guarantee={"epsilon": 1.0}).status == "stated"
    assert read(guarantee={"neighbouring": "add_remove"}).status == "stated"
    little = {"noise_scale_on_averages": made.release.settings["noise_scale_on_averages"] / 2}
    assert read(settings=little).status == "stated"
    for change in (
        {"n": 40_000},
        {"n": None},
        {"n": "many"},
        {"n": 10**400},
        {"rows": 30},
        {"requested": 3},
        {"requested": {}},
    ):
        assert read(settings=change).status == "stated"


def test_more_rows_than_a_run_makes_and_settings_that_are_not_known_are_only_stated() -> None:
    made = kept("private_sampling")
    assert read_archive(archive_text([made], [])).releases[0].release.guarantee == made.release.guarantee
    rows = pd.concat([made.release.rows] * 2, ignore_index=True)
    for other in (replace(made, config=None), replace(made, release=replace(made.release, rows=rows))):
        (back,), _, _ = read_archive(archive_text([other], []))
        assert back.release.guarantee == replace(made.release.guarantee, status="stated")
        (again,), _, _ = read_archive(archive_text([back], []))
        assert again.release.guarantee == back.release.guarantee


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.pop("rows"), "missing required field 'rows'"),
        (lambda run: run.update(rows=""), "the domain has"),
        (lambda run: run.update(rows=run["rows"].replace("yes", "perhaps", 1)), "'perhaps' is no value of the domain"),
        (lambda run: run.update(rows=run["rows"] + "yes\n"), "row 61 has 1 cells"),
        (lambda run: run["record"].pop("domain"), "record: object missing required field 'domain'"),
        (lambda run: run["record"]["record"].update(mechanism="magic"), "'magic' is no mechanism"),
        (lambda run: run["record"]["record"]["guarantee"].update(epsilon=-1), ">= 0"),
        (lambda run: run["record"]["record"]["guarantee"].update(status="certain"), "'certain'"),
        (lambda run: run["record"]["config"].update(colour=3), "colour"),
        (lambda run: run["record"]["record"].update(demonstration=False), "only a demonstration has a seed"),
        (lambda run: run["record"].update(seed=[7, -1]), "a whole number, at least 0"),
        (lambda run: run["record"].update(measured={"rows": 3}), "record.measured: object missing required field"),
        (lambda run: run["record"].update(measured=MEASURED | {"measures": {"error": "low"}}), "expected a number"),
        (lambda run: run["record"].update(measured=MEASURED | {"references": {"error": 1}}), "expected an object"),
    ],
)
def test_what_is_wrong_is_named_and_the_rest_opens(change: Any, said: str) -> None:
    data = json.loads(archive_text([kept(), replace(kept(), name="hers")], []))
    change(data["runs"][0])
    found = read_archive(json.dumps(data))
    assert [made.name for made in found.releases] == ["hers"]
    assert len(found.set_aside) == 1
    assert found.set_aside[0].startswith("run 1 (1 · mine): ")
    assert said in found.set_aside[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not json", "no JSON file.*take one as dpsyn wrote it"),
        (b"\xff\xfe", "no JSON file"),
        ("[]", "holds no dpsyn runs"),
        ('{"format": "dpsyn runs", "version": 7}', "version 7"),
        ('{"format": "dpsyn runs", "version": 1, "runs": 3}', "each run must stand in a list"),
    ],
)
def test_other_files_are_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_archive(text)


def test_numbers_outside_the_bounds_are_refused() -> None:
    domain = Domain.of([Attribute("real", "numeric", lower=0, upper=1, bins=4)])
    for cell in ("1.5", "inf", "x", ""):
        with pytest.raises(DataError, match="row 1, column 'real'"):
            rows_from_csv(f"real\n{cell}\n0.5\n" if cell else 'real\n""\n', domain)


@pytest.mark.parametrize(
    ("attribute", "inside", "outside"),
    [
        (Attribute("c", "numeric", lower=0, upper=9, integer=True), "3", ("3.5", "nan", "10")),
        (Attribute("c", "numeric", lower=0, upper=9, unit=0.01), "0.51", ("0.505", "1e-17", "-inf")),
        (
            Attribute("c", "date", lower="2020-01-01", upper="2021-02-01", missing=True),
            "2020-02-29",
            ("2020-02-30", "1920-03-01", "2999-03-01", "now", "NaT", "2020-02-29T12:00:00", "18321"),
        ),
    ],
)
def test_cells_that_are_no_values_of_the_domain_are_refused(
    attribute: Attribute, inside: str, outside: tuple[str, ...]
) -> None:
    domain = Domain.of([attribute])
    assert len(rows_from_csv(f"c\n{inside}\n", domain)) == 1
    for cell in outside:
        with pytest.raises(DataError, match=r"row 2, column 'c': .* is no value of the domain"):
            rows_from_csv(f"c\n{inside}\n{cell}\n", domain)


def test_a_cell_is_read_back_however_long_it_is() -> None:
    """As in a process that has read no table yet."""
    before = csv.field_size_limit(1000)
    try:
        domain = Domain.of([Attribute("c", "categorical", categories=("a" * 5000, "b"))])
        rows = pd.DataFrame({"c": ["b", "a" * 5000]})
        pd.testing.assert_frame_equal(rows_from_csv(rows_to_csv(rows, domain), domain), rows, check_dtype=False)
    finally:
        csv.field_size_limit(before)


def test_a_file_of_an_earlier_version_opens() -> None:
    check_the_old_ones(read_archive((Path(__file__).parent / "old" / "old_export.json").read_bytes()))


def check_the_old_ones(found: Archive) -> None:
    """What the version before made for ``old/``: three releases and two experiments."""
    assert found.set_aside == []
    one, published, bare = found.releases
    table = load_sample("asia").take(np.arange(400))
    learn, _ = table.split(0.25, np.random.default_rng(0))
    again = dpsyn.NoisyReweighting(rows=12).calibrate(PrivacySpec(20.0, 1e-5), learn.domain, n=learn.n)
    # Made with the steps and repairs of its time: another draw than today's, of the same form.
    assert "".join(value[0] for value in one.release.rows["smoke"]) == "yyyynnynynnn"
    assert list(one.release.rows.dtypes) == list(again(np.random.default_rng(3), learn).rows.dtypes)
    assert (one.name, one.seed, one.when, one.seconds) == ("Noisy reweighting no. 1", 3, "2026-01-01T03:04:05+00:00", 0.25)
    assert one.release.guarantee == again(np.random.default_rng(3), learn).guarantee
    assert one.config == dpsyn.NoisyReweighting(rows=12, histogram_share=0.0, steps="even")  # as it was then
    assert one.measured is not None
    assert one.measured["target"] == "bronc"
    assert one.measured["measures"]["2-way error, mean"] == 0.03976190476190476
    assert one.measured["references"]["2-way error, mean"] == {"sampling floor": 0.04678571428571428}
    assert published.release.guarantee.status == "published_but_wrong"
    assert published.release.guarantee.epsilon == float("inf")
    # As before names, settings and measures were kept with a release.
    assert (bare.name, bare.config, bare.measured, bare.seed) == ("Noisy reweighting no. 3", None, None, None)
    assert bare.domain.names == ("text", "whole", "real", "day")
    assert len(bare.release.rows) == 9
    assert bare.release.guarantee.status == "stated"
    mine, first = found.experiments
    assert (mine.name, mine.target, mine.degrees) == ("mine against ε", "bronc", (1, 2))
    assert [result.status for result in mine.results.values()] == ["done", "crashed", "done"]
    assert len(mine.missing) == 2
    assert mine.data is not None
    assert mine.data.held_out == 0.25
    assert mine.references["accuracy, logistic regression"]["real data"] > 0.5
    assert (first.data, first.results, first.references) == (None, {}, {})


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, wrong) for field in ("name", "dataset", "fingerprint", "when", "key") for wrong in (None, 1, "\ud800")),
        *((field, "x" * 1_001) for field in ("name", "dataset", "fingerprint")),
        *(("when", wrong) for wrong in ("", "yesterday", "2026-01-31")),
        *(("key", wrong) for wrong in UNNAMEABLE),
        *(("number", wrong) for wrong in (None, "x", math.nan, -1)),
        *((field, wrong) for field in ("release", "domain") for wrong in (None, {})),
        *(("seed", wrong) for wrong in ("7", -1, 0.5, [], [1, -1], (1, 2))),
        *(("seconds", wrong) for wrong in (None, -1.0, math.nan)),
        ("config", "mst"),
        *(("measured", wrong) for wrong in (1, [], {"a": 1})),
        *(("measured", MEASURED | {of: None}) for of in ("when", "fingerprint", "measures", "references")),
        *(("measured", MEASURED | {of: "\ud800"}) for of in ("when", "fingerprint")),
        *(("measured", MEASURED | wrong) for wrong in ({"measures": {"e": "low"}}, {"references": {"e": 1}})),
    ],
)
def test_a_release_of_something_else_is_refused(field: str, wrong: Any) -> None:
    made = replace(kept(), measured=MEASURED, seed=[1, 2])
    with pytest.raises(ParameterError) as caught:
        replace(made, **{field: wrong})
    assert caught.value.field == field


def test_what_a_release_holds_is_plain_and_only_a_demonstration_has_a_seed() -> None:
    made = replace(kept(), seed=np.int64(7), seconds=np.float32(0.5), number=np.int64(1))  # type: ignore[arg-type]
    (back,) = read_archive(archive_text([made], [])).releases
    assert (back.seed, back.seconds) == (7, 0.5)
    with pytest.raises(ParameterError, match="only a demonstration has a seed"):
        replace(made, release=replace(made.release, seeded=False))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, wrong) for field in ("name", "dataset", "fingerprint", "when", "key") for wrong in (None, 1, "\ud800")),
        *((field, "x" * 1_001) for field in ("name", "dataset", "fingerprint")),
        *(("when", wrong) for wrong in ("", "yesterday", "2026-01-31")),
        *(("key", wrong) for wrong in UNNAMEABLE),
        *(("number", wrong) for wrong in (None, "x", math.nan, -1)),
        *((field, wrong) for field in ("grid", "data") for wrong in ("x", {})),
        ("grid", None),
        *(("target", wrong) for wrong in (1, "\ud800")),
        *(("degrees", wrong) for wrong in (None, 1, "12", (0,), (1.5,))),
        *(("models", wrong) for wrong in (None, "trees", (1,), ("\ud800",))),
        *(("references", wrong) for wrong in (None, {"e": 1}, {"e": {"a": "b"}})),
        *(("results", wrong) for wrong in (None, [], {"k": 1})),
    ],
)
def test_an_experiment_of_something_else_is_refused(field: str, wrong: Any) -> None:
    grid = Grid({"m": NoisyReweighting(degree=1)}, PrivacySpec(1.0))
    one = Experiment(1, "mine", "asia", "f00", grid, None, [np.int64(1)], ["trees"])  # type: ignore[arg-type]
    assert (one.degrees, one.models) == ((1,), ("trees",))
    assert json.loads(archive_text([], [one]))["experiments"][0]["facts"]["degrees"] == [1]
    with pytest.raises(ParameterError) as caught:
        replace(one, **{field: wrong})
    assert caught.value.field == field
