"""Hostile archives: whatever a file holds, it opens, or what is wrong is set aside with words. Nothing else is raised."""

from __future__ import annotations

import io
import json
import math
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsyn
from dpsyn import escape
from dpsyn.app.lab.releases import _line, _settings
from dpsyn.app.lab.report import report_bytes
from dpsyn.app.releases import show_release
from dpsyn.app.state import total_claim
from dpsyn.data.samples import load_sample
from dpsyn.data.source import DataSource
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DataError
from dpsyn.evaluation.experiments import Archive, MadeRelease, archive_text, read_archive, summarise
from dpsyn.evaluation.experiments.script import experiment_script, releases_script
from dpsyn.evaluation.experiments.summary import points_table, refusals
from dpsyn.kit.visit import Dataset
from dpsyn.kit.widgets import guarantee_card
from dpsyn.privacy.spec import PrivacySpec

OLD = Path(__file__).parents[1] / "evaluation" / "experiments" / "old" / "old_export.json"
HEAD = {"format": "dpsyn runs", "version": 1}
RANDOM = os.environ.get("DPSYN_FUZZ") == "random"
ODD: list[Any] = [
    None, True, False, 0, -1, 3, 2**63, 10**400, -(10**400), 0.5, -0.5, 1e308, 5e-324, math.nan, math.inf, -math.inf, "",
    "x", "NaN", "1e400", "../../../etc/passwd", "\0", "\ud800", "ε" * 1000, "**b** ![i](http://example.org/x)", "=1", [],
    [[]], [None], {}, {"": {}}, {"x": 1}, [{"name": "x"}], "2024-01-02T03:04:05+00:00", "proven", "published_but_wrong",
]  # fmt: skip


def numeric() -> dpsyn.Table:
    """Rows of every kind that has fine histograms, and of a class that is empty at times."""
    at, k = np.arange(40), Attribute("k", "categorical", ("a", "b"), missing=True, public=True)
    columns = {
        "x": at % 7 / 7,
        "cents": at % 5 * 0.25,
        "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(at, unit="D"),
        "k": np.where(at % 3 > 0, "a", None),
    }
    domain = Domain.of(
        [
            Attribute("x", "numeric", lower=0, upper=1, missing=True, public=True),
            Attribute("cents", "numeric", lower=-1, upper=9, unit=0.25, bins=4, public=True),
            Attribute("day", "date", lower=18000, upper=19000, public=True),
            k,
        ]
    )
    return dpsyn.Table(pd.DataFrame(columns), domain)


@cache
def entries() -> list[tuple[str, dict[str, Any]]]:
    """Whole entries of every kind: those of an earlier version, and releases of the other mechanisms."""
    table = load_sample("asia").take(np.arange(60))
    old = json.loads(OLD.read_bytes())
    made = []
    for config, spec in (
        (dpsyn.DPCDA(target="bronc", order_of_mixture=2, rows=6), PrivacySpec(20.0, 1e-5)),
        (dpsyn.MWEM(rows=6, rounds=2), PrivacySpec(2.0)),
        (dpsyn.PrivateSampling(rows=1, degree=1), PrivacySpec(20.0)),
        (dpsyn.NoisyReweighting(rows=6, degree=1), PrivacySpec(2.0, neighbouring="add_remove")),
    ):
        release = config.calibrate(spec, table.domain, n=table.n)(np.random.default_rng(0), table)
        made.append(MadeRelease(1, "new", release, 0, "asia", table.domain, 0.5, config, when="2024-01-02T03:04:05+00:00"))
    numbers = numeric()
    for config, spec in (
        (dpsyn.MWEM(rows=4, rounds=1, degree=1), PrivacySpec(9.0)),
        (dpsyn.NoisyReweighting(rows=4, degree=1), PrivacySpec(9.0, 1e-5, "add_remove")),
        (dpsyn.DPCDA(target="k", rows=6), PrivacySpec(20.0, 1e-5)),
    ):
        release = config.calibrate(spec, numbers.domain, n=numbers.n)(np.random.default_rng(0), numbers)
        made.append(MadeRelease(1, "new", release, 0, "own", numbers.domain, 0.5, config, when="2024-01-02T03:04:05+00:00"))
    new = json.loads(archive_text(made, []))["runs"]
    return [("runs", entry) for entry in [*old["runs"], *new]] + [("experiments", entry) for entry in old["experiments"]]


@cache
def opened() -> Dataset:
    """The data that is open meanwhile."""
    table = load_sample("asia").take(np.arange(60))
    return Dataset(table=table, full=table, target="bronc", sample="asia", revision=1)


def text(kind: str, *found: Any) -> str:
    return json.dumps({**HEAD, kind: list(found)})


def use(found: Archive) -> None:
    """All that pages do with what was read."""
    report_bytes(opened(), found.releases, None, found.experiments)
    for made in found.releases:
        _line(made)
        _settings(made)
        show_release(made)
        made.release.record()
        source = DataSource("asia", made.domain, True, 0.25, 0)
        compile(releases_script([made], source, target=None, degrees=(1,), models=()), "script", "exec")
    assert total_claim(found.releases)
    for experiment in found.experiments:
        results = list(experiment.results.values())
        refusals(results)
        for measure in experiment.measures[:2]:
            points_table(summarise(results, measure), experiment.grid.vary)
        if experiment.data is not None:
            compile(experiment_script(experiment), "script", "exec")
        assert experiment.missing is not None
    again = read_archive(archive_text(found.releases, found.experiments))
    assert (len(again.releases), len(again.experiments)) == (len(found.releases), len(found.experiments))
    assert [made.release.guarantee for made in again.releases] == [made.release.guarantee for made in found.releases]


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of the data: what it stands in, and under which name or number."""
    names = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for name in names:
        yield data, name
        yield from places(data[name])


def mutated(seed: int) -> tuple[str, Any]:
    choose = random.Random(seed)
    kind, whole = choose.choice(entries())
    data = deepcopy(whole)
    record = data["record"]["record"] if kind == "runs" else {"settings": data}
    told = record["settings"]
    if kind == "runs" and choose.random() < 0.2:
        record["guarantee"] |= {"status": "published_but_wrong", "epsilon": None}
    for _ in range(choose.choice([1, 1, 1, 2, 4])):
        mutate(choose, data, told if choose.random() < 0.5 else data)
    return kind, data


def mutate(choose: random.Random, data: Any, part: Any) -> None:
    inside, name = choose.choice(list(places(part)) or list(places(data)))
    how = choose.randrange(6)
    if how == 0:
        del inside[name]
    elif how == 1 and isinstance(inside, dict):
        inside[choose.choice(["", "x", "name", "Ε"])] = inside.pop(name)
    elif how == 2 and isinstance(inside[name], int | float):
        number = inside[name]
        third = number / 3 if abs(number) < 1e300 else 0
        inside[name] = choose.choice([number * 2, -number, number + 1, third, str(number)])
    elif how == 3:
        other, at = choose.choice(list(places(data)))
        inside[name] = deepcopy(other[at])
    elif how == 4 and isinstance(inside[name], str) and inside[name]:
        at = choose.randrange(len(inside[name]))
        inside[name] = inside[name][:at] + choose.choice(["", "\n", '"', ",", "\0", "9" * 400, "é"]) + inside[name][at + 1 :]
    else:
        inside[name] = deepcopy(choose.choice(ODD))


@settings(max_examples=20_000 if RANDOM else 120, derandomize=not RANDOM, database=None, deadline=None)
@given(st.integers(0, 2**32))
def test_a_change_anywhere_opens_or_is_set_aside(seed: int) -> None:
    kind, data = mutated(seed)
    found = read_archive(text(kind, data))
    assert len(found.releases) + len(found.experiments) + len(found.set_aside) >= 1
    assert all(len(said) > len("run 1: ") for said in found.set_aside)
    use(found)


def test_the_whole_entries_open() -> None:
    found = read_archive(
        json.dumps({**HEAD, **{kind: [e for k, e in entries() if k == kind] for kind in ("runs", "experiments")}})
    )
    assert found.set_aside == []
    assert [made.release.guarantee.status for made in found.releases] == [
        "demonstration", "published_but_wrong", "stated", *["demonstration"] * 7,
    ]  # fmt: skip
    use(found)


def of_run(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> tuple[str, dict[str, Any]]:
    """The first release, changed: ``change(entry, record of the run)``."""
    kind, whole = entries()[0]
    entry = deepcopy(whole)
    change(entry, entry["record"]["record"])
    return kind, entry


def deep(levels: int) -> Any:
    data: Any = 1
    for _ in range(levels):
        data = [data]
    return data


SET_ASIDE: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], object], str]] = {
    "seconds": (lambda e, r: e["record"].update(seconds="x"), "record.seconds: expected a number, got a text"),
    "seconds beyond": (lambda e, r: e["record"].update(seconds=10**400), "record.seconds"),
    "seconds below 0": (lambda e, r: e["record"].update(seconds=-1), "seconds = -1"),
    "rows below 0": (lambda e, r: r.update(rows=-1), "another number of rows"),
    "a row that is not there": (lambda e, r: r.update(rows=r["rows"] + 1), "another number of rows"),
    "no columns": (lambda e, r: r.update(columns=[]), "other columns"),
    "columns in another order": (lambda e, r: r.update(columns=r["columns"][::-1]), "other columns"),
    "no number": (lambda e, r: e["record"].update(seconds=math.nan), "record.seconds"),
    "endless": (lambda e, r: e["record"].update(seconds=math.inf), "record.seconds"),
    "ε endless": (lambda e, r: r["guarantee"].update(epsilon=math.inf), "the guarantee's epsilon"),
    "ε beyond": (lambda e, r: r["guarantee"].update(epsilon=10**400), "the guarantee's epsilon"),
    "ε negative": (lambda e, r: r["guarantee"].update(epsilon=-1), ">= 0"),
    "δ above 1": (lambda e, r: r["guarantee"].update(delta=1.5), "<= 1"),
    "no status": (lambda e, r: r["guarantee"].pop("status"), "no 'status'"),
    "assumptions": (lambda e, r: r["guarantee"].update(assumptions="none"), "assumptions: expected a list"),
    "made": (lambda e, r: e.update(made="yesterday"), "made: "),
    "two columns of one name": (
        lambda e, r: e["record"]["domain"]["columns"][0].update(name=e["record"]["domain"]["columns"][1]["name"]),
        "two columns are called",
    ),
    "confirmed by a text": (
        lambda e, r: e["record"]["domain"]["columns"][0].update(public="false"),
        "record.domain.columns[0].public: expected true or false",
    ),
    "half a character": (lambda e, r: r["settings"].update(x="\ud800"), "no Unicode"),
    "deep settings": (lambda e, r: r["settings"].update(ledger=deep(300)), "levels deep"),
    "rows": (lambda e, r: e.update(rows=e["rows"] + "\0"), ""),
    "a wide cell": (lambda e, r: e.update(rows=e["rows"] + "x" * 200_000 + ",no" * 7), "xxxx' is no value of the domain"),
    "mechanism": (lambda e, r: r.update(mechanism="os:system"), "is no mechanism"),
    "config": (
        lambda e, r: e["record"]["config"].update(degree="2"),
        "degree = '2' is not possible: expected a whole number",
    ),
    "seed": (lambda e, r: e["record"].update(seed=-1), "seed"),
}


@pytest.mark.parametrize("name", SET_ASIDE)
def test_a_damaged_release_is_set_aside_and_the_rest_opens(name: str) -> None:
    change, said = SET_ASIDE[name]
    kind, entry = of_run(change)
    found = read_archive(text(kind, entry, entries()[2][1]))
    assert [made.name for made in found.releases] == ["Noisy reweighting no. 3"]
    (why,) = found.set_aside
    assert why.startswith("run 1 (1 · Noisy reweighting no. 1): ")
    assert said in why


def test_what_cannot_be_read_inside_an_entry_sets_this_entry_aside_alone() -> None:
    """A name twice, a number of too many digits, half of a character in the name that it would be called by."""
    first, third = entries()[0][1], entries()[2][1]
    good, marked = json.dumps(third), json.dumps({**first, "seconds": "HERE"})
    damaged = [marked.replace('"HERE"', '1, "made": 2'), marked.replace('"HERE"', "9" * 5_000)]
    damaged.append(json.dumps({"label": "1 · \ud800"}))
    found = read_archive(f'{{"format": "dpsyn runs", "version": 1, "runs": [{", ".join([*damaged, good])}]}}')
    assert len(found.releases) == 1
    twice, long, half = found.set_aside
    assert twice == "run 1: the name 'made' stands twice in one JSON object; take one of the two out"
    assert long == "run 2 (1 · Noisy reweighting no. 1): a whole number has 5,000 digits"
    assert half.startswith("run 3 (1 · \ud800): ")
    assert escape.markdown(half).encode()


def test_of_very_many_wrong_entries_the_first_are_named() -> None:
    found = read_archive(json.dumps({"format": "dpsyn runs", "version": 1, "runs": [{"label": "x"}] * 5_000}))
    assert len(found.set_aside) == 51
    assert found.set_aside[49].startswith("run 50 (x): ")
    assert found.set_aside[50] == "run: 4,950 more that cannot be read"


STATED: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "nothing requested": lambda e, r: r["settings"].pop("requested"),
    "odd request": lambda e, r: r["settings"].update(requested="all"),
    "odd ledger": lambda e, r: r["settings"].update(ledger={"share": "x"}),
    "ledger of nothing": lambda e, r: r["settings"].update(ledger=[None, 3]),
    "less ε": lambda e, r: r["guarantee"].update(epsilon=0.001),
    "less δ": lambda e, r: r["guarantee"].update(delta=0.0),
    "other neighbours": lambda e, r: r["guarantee"].update(neighbouring="add_remove"),
    "other unit": lambda e, r: r["guarantee"].update(unit="person"),
    "more records": lambda e, r: r["settings"].update(n=10**9),
    "less noise": lambda e, r: r["settings"].update(noise_scale_on_sums=0.01),
    "more rows": lambda e, r: (e.update(rows=e["rows"] + e["rows"].split("\n", 1)[1]), r.update(rows=2 * r["rows"])),
    "another mechanism": lambda e, r: r.update(mechanism="mwem"),
    "no configuration": lambda e, r: e["record"].update(config=None),
}


@pytest.mark.parametrize("name", STATED)
def test_a_forged_claim_is_only_stated(name: str) -> None:
    found = read_archive(text(*of_run(STATED[name])))
    assert found.set_aside == []
    assert [made.release.guarantee.status for made in found.releases] == ["stated"]
    use(found)


def test_what_a_file_says_of_a_claim_is_replaced_by_what_calibration_says() -> None:
    def forge(entry: dict[str, Any], record: dict[str, Any]) -> None:
        for column in entry["record"]["domain"]["columns"]:
            column["public"] = False
        record["guarantee"].update(assumptions=[], source="me")

    (made,), _, _ = read_archive(text(*of_run(forge)))
    assert made.release.guarantee.status == "demonstration"
    assert made.release.guarantee.source != "me"
    assert made.release.guarantee.assumptions[1].startswith("NOT YET TRUE")


def test_the_card_says_that_nobody_checked_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("streamlit.warning", lambda text, **_: said.append(text))
    (made,), _, _ = read_archive(text(*of_run(STATED["less ε"])))
    guarantee_card(made.release.guarantee, before=False)
    assert "stated by the file, not checked by us" in said[0]
    assert _line(made)["Status"].startswith("stated by the file, not checked by us")
    assert "if what their files state is true" in total_claim([made])


def of_experiment(change: Callable[[dict[str, Any]], object]) -> Archive:
    kind, whole = entries()[-2]
    entry = deepcopy(whole)
    change(entry)
    return read_archive(text(kind, entry))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e["facts"].update(degrees="12"), "facts.degrees: expected a list"),
        (lambda e: e["facts"].update(references={"e": {"floor": math.nan}}), "facts.references"),
        (lambda e: e["grid"].update(repeats=10**9), "from 1 to 1,000"),
        (lambda e: e["grid"].update(repeats=1000, values=[*range(1, 60)]), "at most 20,000 runs of all mechanisms"),
        (lambda e: e["grid"].update(values=[10**400]), "values = 1000"),
        (lambda e: e["grid"].update(values=[math.inf]), "values = 'Infinity' is not possible"),
        (lambda e: e["grid"].update(vary=[]), "vary = [] is not possible: one of 'epsilon'"),
        (lambda e: e["facts"]["data"].update(split_seed=-1), "split_seed"),
        (lambda e: e["facts"]["data"].update(held_out=2), "held_out = 2.0 is not possible"),
    ],
)
def test_a_damaged_experiment_is_set_aside(change: Callable[[dict[str, Any]], object], said: str) -> None:
    found = of_experiment(change)
    assert found.experiments == []
    (why,) = found.set_aside
    assert why.startswith("experiment 1 (mine against ε): ")
    assert said in why


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seconds": "x"}, "seconds: expected a number"),
        ({"key": "../../../../tmp/x"}, "can be the name of a file"),
        ({"measures": [{"e": math.nan}]}, "measures[0]"),
        ({"measures": [{"e": 10**400}]}, "measures[0]"),
        ({"measures": [{"e": 1e155}]}, "measures = 1e+155 is not possible"),
        ({"guarantee": {"epsilon": "x"}}, "guarantee = 'x' is not possible"),
        ({"status": "refused"}, "status = 'refused' is not possible: 'done' beside measures"),
        ({"guarantee": {}}, "guarantee = None is not possible: a finite number"),
        ({"asked": {"epsilon": 624.0, "delta": 0.0, "neighbouring": "replace_one"}}, "has no such cell"),
        ({"asked": {}, "mechanism": "mwem"}, "has no such cell"),
        ({"value": -1}, "has no such cell"),
        ({"label": "nobody"}, "has no such cell"),
        ({"repeat": 10**400}, "repeat = 1000"),
        ({"mechanism": "mwem"}, "has no such cell"),
        ({"status": "well"}, "status"),
        ({"settings": {"x": deep(300)}}, "levels deep"),
    ],
)
def test_a_damaged_result_is_set_aside_and_its_cell_can_be_run_again(changes: dict[str, Any], said: str) -> None:
    whole = of_experiment(lambda e: None).experiments[0]
    found = of_experiment(lambda e: e["results"][0].update(changes))
    (experiment,), (why,) = found.experiments, found.set_aside
    assert len(experiment.results) == len(whole.results) - 1
    assert len(experiment.missing) == len(whole.missing) + 1
    assert why.startswith("mine against ε, result 1")
    assert said in why
    use(found)


def test_a_result_of_other_settings_is_none_of_this_plan() -> None:
    def doubled(experiment: dict[str, Any]) -> None:
        experiment["results"] += [result | {"key": "f" * 24} for result in experiment["results"][:1]]

    whole, found = of_experiment(lambda e: None), of_experiment(doubled)
    assert found.experiments[0].results == whole.experiments[0].results
    (said,) = found.set_aside
    assert "has no such cell" in said


def bomb() -> bytes:
    """A zip of 10 MB of zeros beside a name that leads out of the folder."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../outside.json", "{}")
        archive.writestr("runs.json", b"0" * 10**7)
    return file.getvalue()


FILES: dict[str, tuple[Callable[[], bytes | str], str]] = {
    "empty": (lambda: b"", "no JSON file"),
    "zip": (bomb, "no JSON file"),
    "cut": (lambda: OLD.read_bytes()[:-100], "no JSON file"),
    "latin-1": (lambda: '{"format": "dpsyn runs", "ü": 1}'.encode("latin-1"), "no JSON file"),
    "utf-16 without a mark": (lambda: "{}".encode("utf-16-be") + b"\xff", "no JSON file"),
    "deep": (
        lambda: '{"format": "dpsyn runs", "version": 1, "runs": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "no JSON file",
    ),
    "a number of 5,000 digits": (
        lambda: json.dumps(HEAD)[:-1] + ', "runs": 1' + "0" * 5_000 + "}",
        "each run must stand in a list",
    ),
    "list": (lambda: "[]", "holds no dpsyn runs"),
    "number": (lambda: "1", "holds no dpsyn runs"),
    "later": (lambda: json.dumps(HEAD | {"version": 2}), "of version 2"),
    "a truth value for 1": (lambda: json.dumps(HEAD | {"version": True}), "of version True"),
    "odd version": (lambda: json.dumps(HEAD | {"version": {"x": 10**400}}), "of version"),
    "a version of 5,000 digits": (
        lambda: json.dumps(HEAD | {"version": 7}).replace("7", "1" * 5_000),
        "^version: a whole number has 5,000 digits$",
    ),
    "one run": (lambda: json.dumps(HEAD | {"runs": {}}), "must stand in a list"),
    "one experiment": (lambda: json.dumps(HEAD | {"experiments": "x"}), "must stand in a list"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_files_are_refused_with_words(name: str) -> None:
    make, said = FILES[name]
    with pytest.raises(DataError, match=said):
        read_archive(make())


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_odd_entries_are_set_aside(odd: Any) -> None:
    for kind in ("runs", "experiments"):
        found = read_archive(text(kind, odd))
        assert len(found.set_aside) == 1
        assert not found.releases
        assert not found.experiments


def test_an_empty_archive_opens() -> None:
    assert read_archive(json.dumps(HEAD)) == ([], [], [])


@cache
def unconfirmed() -> str:
    """A release of rows whose domain nobody confirmed, drawn on the system's entropy; and a demonstration of it."""
    table = load_sample("asia").take(np.arange(60)).project(["asia", "bronc"])
    domain = Domain.of(replace(attribute, public=False) for attribute in table.domain.attributes)
    table = table.with_domain(domain)
    config = dpsyn.MWEM(rows=6, rounds=1, degree=1)
    mechanism = config.calibrate(PrivacySpec(2.0), domain, n=table.n)
    made = [
        MadeRelease(1, "new", mechanism(generator, table), 0 if generator else None, "asia", domain, 0.5, config)
        for generator in (None, np.random.default_rng(0))
    ]
    return archive_text(made, [])


def public(entry: dict[str, Any]) -> None:
    for column in entry["record"]["domain"]["columns"]:
        column["public"] = True


def no_demonstration(entry: dict[str, Any]) -> None:
    entry["record"]["record"]["demonstration"] = False
    entry["record"]["seed"] = None


@pytest.mark.parametrize(
    ("which", "change", "status"),
    [
        (0, lambda entry: None, "unconfirmed_domain"),
        (0, public, "stated"),
        (1, lambda entry: None, "demonstration"),
        (1, public, "demonstration"),
        (1, no_demonstration, "stated"),
    ],
)
def test_no_change_beside_a_claim_makes_it_stronger_than_it_says(which: int, change: Any, status: str) -> None:
    entry = json.loads(unconfirmed())["runs"][which]
    change(entry)
    (made,), _, set_aside = read_archive(text("runs", entry))
    assert set_aside == []
    assert made.release.guarantee.status == status
    use(read_archive(text("runs", entry)))
