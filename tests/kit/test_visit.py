"""What a visit remembers is of all that it was asked of."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data.samples import SAMPLES
from dpsyn.domain import Domain
from dpsyn.kit import visit
from dpsyn.kit.reading import Read
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.base import Config
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table

SPEC = PrivacySpec(1.0, 1e-6)
OTHER_SPECS: dict[str, Any] = {"epsilon": 1.1, "delta": 1e-5, "neighbouring": "add_remove"}


def test_a_calibration_is_that_of_all_it_was_asked_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of the privacy, of the settings and of the table gives another one, whatever was calibrated before."""
    monkeypatch.setattr(visit.st, "session_state", {})
    assert OTHER_SPECS.keys() == {part.name for part in fields(PrivacySpec)} - {"unit"}  # which is always a row
    table = dpsyn.load_sample("asia").take(np.arange(200))
    turned = Domain(tuple(replace(a, categories=a.categories[::-1]) for a in table.domain.attributes))
    unconfirmed = Domain(tuple(replace(a, public=False) for a in table.domain.attributes))
    tables = [table, table.take(np.arange(199)), Table(table.frame, turned), Table(table.frame, unconfirmed)]
    by_public_rows = [
        dpsyn.NoisyReweighting(degree=1, reduced_space="public", public=table.take(rows))
        for rows in (np.arange(5), np.arange(5, 10))
    ]
    configs: list[Config] = [
        dpsyn.NoisyReweighting(degree=1),
        dpsyn.NoisyReweighting(degree=2),
        dpsyn.NoisyReweighting(degree=1, rows=7),
        dpsyn.MWEM(degree=1),
        *by_public_rows,
    ]
    asked = [(config, SPEC, table) for config in configs]
    asked += [(configs[0], replace(SPEC, **{name: value}), table) for name, value in OTHER_SPECS.items()]
    asked += [(configs[0], SPEC, other) for other in tables[1:]]
    first = [visit.calibrated(*question) for question in asked]
    assert len({id(mechanism) for mechanism in first}) == len(asked)
    for mechanism, (config, spec, rows) in zip(first, asked, strict=True):
        again = config.calibrate(spec, rows.domain, n=rows.n)
        assert mechanism.config is config
        assert (mechanism.spec, mechanism.domain, mechanism.n) == (spec, again.domain, rows.n)
        assert (mechanism.facts(), mechanism.guarantee) == (again.facts(), again.guarantee)
        assert visit.calibrated(config, spec, rows) is mechanism  # calibrated once


def test_statistics_are_those_of_the_rows_that_mechanisms_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 rows, of which some are kept for testing; 7 of 20 are sick."""
    monkeypatch.setattr(visit.st, "session_state", {})
    numbers = np.arange(20)
    domain = Domain.of(
        [
            dpsyn.Attribute("x", "numeric", lower=0, upper=20, bins=4),
            dpsyn.Attribute("sick", "categorical", categories=("no", "yes")),
        ]
    )
    table = Table(pd.DataFrame({"x": numbers, "sick": np.where(numbers % 3, "no", "yes")}), domain)
    for share, learnt in ((0.25, 15), (0.5, 10)):
        data = visit.Dataset(table, table, target="sick", held_out=share)
        rows, held = data.parts
        assert held is not None
        assert sorted([*rows.drawn.frame["x"], *held.frame["x"]]) == numbers.tolist()
        assert data.statistics == rows.statistics() != table.statistics()
        assert (
            data.counted(two_valued_as_bit=True).statistics == rows.statistics(two_valued_as_bit=True) != rows.statistics()
        )
        assert (data.statistics.n, data.rows_made, rows.n) == (learnt, learnt, learnt)
        sick = int((rows.drawn.frame["sick"] == "yes").sum())
        assert data.balance == (2, min(sick, learnt - sick)) != (2, 7)


def test_columns_have_a_tag_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """By which settings are kept: of other columns, categories, targets or shares it is another one."""
    monkeypatch.setattr(visit.st, "session_state", {})
    table = dpsyn.load_sample("asia").take(np.arange(50))
    turned = Table(table.frame, Domain(tuple(replace(a, categories=a.categories[::-1]) for a in table.domain.attributes)))
    bundled = visit.Dataset(table, table, target=SAMPLES["asia"].target, sample="asia")
    own = replace(bundled, sample=None)
    fewer = table.project(table.domain.names[1:])
    changes: list[dict[str, Any]] = [{}, {"held_out": 0.3}, {"target": table.domain.names[0]}, {"table": fewer}]
    changed = [replace(data, **change) for data in (bundled, own) for change in changes]
    changed.append(replace(own, table=turned, full=turned))
    tags = [data.tag for data in changed]
    assert tags[0] == "asia"
    assert all(tag.startswith("own_") for tag in tags[1:])
    assert len(set(tags[:4])) == 4
    assert len(set(tags[4:])) == 5
    assert replace(own, revision=99).tag == own.tag


def test_classes_and_columns_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class is never empty and has 2 to 50 categories; what a column was is known after several changes."""
    monkeypatch.setattr(visit.st, "session_state", {})
    sizes = {"one": 1, "two": 2, "fifty": 50, "more": 51}
    columns = [dpsyn.Attribute(name, "categorical", tuple(map(str, range(size)))) for name, size in sizes.items()]
    columns += [
        dpsyn.Attribute("empty", "categorical", ("a", "b"), missing=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=1),
    ]
    frame = pd.DataFrame({"one": ["0"], "two": ["0"], "fifty": ["0"], "more": ["0"], "empty": [None], "x": [0.5]})
    table = Table(frame, Domain.of(columns))
    data = visit.Dataset(table, table, target="fifty")
    assert (data.classes, data.predictable) == (("two", "fifty"), ("two", "fifty", "x"))
    without = data.changed(table=table.project(["one", "two", "x"]))
    assert (without.target, set(without.left_out)) == ("two", {"fifty", "more", "empty"})
    again = without.changed(table=table.project(["one", "more"]))
    assert (again.target, set(again.left_out)) == (None, {"two", "fifty", "empty", "x"})
    assert again.left_out == {name: table.domain[name] for name in again.left_out}
    assert data.revision < without.revision < again.revision


def test_the_oldest_is_forgotten_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, Any] = {}
    monkeypatch.setattr(visit.st, "session_state", session)
    made = [visit.remembered("place", 3, key, lambda key=key: f"{key}!") for key in "abcbda"]  # type: ignore[misc]
    assert made == ["a!", "b!", "c!", "b!", "d!", "a!"]
    assert list(session["place"]) == ["c", "d", "a"]


def test_what_was_said_of_runs_on_other_data_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dict.fromkeys((visit.OWN_LOST, "job_message", "job_note", "other"), "said")
    monkeypatch.setattr(visit.st, "session_state", session)
    table = dpsyn.load_sample("asia").take(np.arange(5))
    data = visit.Dataset(table, table)
    visit.use(data)
    assert {name: value for name, value in session.items() if not name.startswith("_")} == {"other": "said", "dataset": data}


def test_what_is_said_of_the_rows_is_of_those_that_mechanisms_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit.st, "session_state", {})
    table = dpsyn.load_sample("asia").take(np.arange(400))
    data = Dataset(table=table, full=table, target="smoke")
    learn, held_out = data.parts
    assert held_out is not None
    assert (learn.n, held_out.n) == (300, 100)
    assert data.rows_made == data.statistics.n == 300
    assert isinstance(learn, Table)
    assert data.balance == (2, learn.frame["smoke"].value_counts().min()) != (2, table.frame["smoke"].value_counts().min())
    assert replace(data, target=None).balance == (2, None)
    few = [Dataset(table=some, full=some).parts[1] for some in (table.take(np.arange(n)) for n in (1, 2))]
    assert [part is None for part in few] == [True, False]


def test_a_tag_is_that_of_the_columns_their_values_the_target_and_the_held_out_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Settings under one key must not be those of other columns; the same ones are found again in another visit."""
    monkeypatch.setattr(visit.st, "session_state", {})
    asia = visit.bundled("asia")
    domain = asia.table.domain
    fewer = asia.table.with_domain(domain.project(domain.names[:4]))
    frame = pd.DataFrame({"a": ["x", "y"] * 5, "b": ["x", "y"] * 5})
    own = dpsyn.read_table(frame, name="own")
    other = dpsyn.read_table(frame.replace("x", "z"), name="own")
    of = [asia, Dataset(table=own, full=own, target="a")]
    every = [
        *of,
        *(replace(one, held_out=0.4) for one in of),
        *(replace(one, target=target) for one, target in zip(of, ("bronc", "b"), strict=True)),
        replace(asia, table=fewer, target=None),
        Dataset(table=other, full=other, target="a"),
        replace(of[1], table=own.project(["a"])),
    ]
    assert len({one.tag for one in every}) == len(every)
    assert asia.tag == "asia"
    confirmed = replace(of[1], table=own.with_domain(own.domain.confirmed()))
    assert [one.kept for one in (asia, confirmed)] == [{"bind": "query-params"}, {"persist_state": "session"}]
    # As narrow as it was read, and yet not the whole table.
    assert replace(asia, table=fewer).tag != "asia"
    again = [replace(one, revision=one.revision + 9) for one in every]
    assert [one.tag for one in again] == [one.tag for one in every]


def test_a_class_has_two_to_fifty_categories_and_no_empty_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit.st, "session_state", {})
    words = {f"w{k}": dpsyn.Attribute(f"w{k}", "categorical", tuple(map(str, range(k)))) for k in (1, 2, 50, 51)}
    others = [
        dpsyn.Attribute("t", "truth", (0, 1)),
        dpsyn.Attribute("gaps", "categorical", ("0", "1"), missing=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=1),
    ]
    domain = Domain.of([*words.values(), *others])
    table = Table(pd.DataFrame({name: ["0"] for name in words} | {"t": [0], "gaps": ["0"], "x": [0.5]}), domain)
    data = Dataset(table=table, full=table, target="w50")
    assert data.classes == ("w2", "w50", "t")
    assert data.predictable == ("w2", "w50", "t", "x")
    # What is gone is replaced by the last one that is there, and the columns are a new revision.
    changed = data.changed(table=table.project(["w2", "t", "x"]))
    assert (changed.target, set(changed.left_out)) == ("t", {"w1", "w50", "w51", "gaps"})
    assert changed.revision != data.revision
    assert data.changed(table=table.project(["w50", "t"])).target == "w50"
    assert data.changed(table=table.project(["x"])).target is None
    assert replace(data, target="x").changed(held_out=0.5).target == "t"
    back = changed.changed(table=table.project(["w2", "gaps"]))
    assert (back.target, set(back.left_out)) == ("w2", {"w1", "w50", "w51", "t", "x"})
    assert back.source.domain == back.table.domain


def test_a_table_that_is_read_takes_the_place_of_another_with_all_that_was_said_of_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = dict.fromkeys((visit.OWN_LOST, "job_message", "job_note", visit.FAULT_KEY), "about another one")
    monkeypatch.setattr(visit.st, "session_state", {**said, "releases": []})
    frame = pd.DataFrame({"one": ["x"] * 4, "id": list("abcd"), "ill": ["no", "yes"] * 2, "age": [1.5, 2, 3, 4]})
    full = dpsyn.read_table(frame, name="own")
    visit._take_upload({}, Read(full.project(["ill", "age"]), full, ("A note.",)))
    assert visit.st.session_state.keys() == {"dataset", "releases", "_revision"}
    data = visit.dataset()
    assert (data.table.domain.names, data.full.domain.names) == (("ill", "age"), tuple(frame))
    assert (data.notes, data.target, data.single_valued) == (("A note.",), "ill", [])
