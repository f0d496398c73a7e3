"""What releases and experiments are of that are not of the data as it is now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn.app.lab import workspace
from dpsyn.app.lab.releases import _columns, _OtherData, _target, _what_differs
from dpsyn.data.source import DataSource
from dpsyn.evaluation.experiments import CellResult, Experiment, Grid, MadeRelease, archive_text, read_archive
from dpsyn.kit import visit
from dpsyn.kit.visit import Dataset
from dpsyn.privacy.spec import FROM_A_FILE
from tests.evaluation.experiments.fakes import result_of

PEOPLE = dpsyn.read_table(pd.DataFrame({"smokes": ["no", "yes"] * 20, "age": range(40)}), name="people")
"""Of which nobody has confirmed anything."""


def test_one_column_that_differs_is_one() -> None:
    now = visit.bundled("asia")
    first, second = now.table.domain.attributes[:2]
    for changed, said in ((1, f"the column {first.name}."), (2, f"the columns {first.name}, {second.name}.")):
        kept = [replace(a, public=not a.public) for a in (first, second)[:changed]]
        domain = now.table.domain
        for attribute in kept:
            domain = domain.replace(attribute)
        other = _OtherData(now.table.name, domain, None)
        assert _what_differs(now, other) == f"What differs from the data as it is now: {said}"


@pytest.mark.parametrize(("predicted", "one"), [(("age", "age", None), "age"), (("age", "smokes"), None), ((None,), None)])
def test_releases_of_two_targets_have_none_in_common(predicted: tuple[str | None, ...], one: str | None) -> None:
    release = dpsyn.NoisyReweighting(rows=5).calibrate(dpsyn.PrivacySpec(1.0), PEOPLE.domain, PEOPLE.n)(None, PEOPLE)
    found = {"when": "2026-01-01T00:00:00+00:00", "fingerprint": "f00", "rows": 40, "measures": {}, "references": {}}
    group = [
        MadeRelease(1, "one", release, None, "people", PEOPLE.domain, measured={**found, "target": target})
        for target in predicted
    ]
    assert _target(group) == one


def archived(kind: str, held_out: float) -> str:
    """A file of runs by somebody who confirmed all columns of these rows."""
    table = PEOPLE.with_domain(PEOPLE.domain.confirmed())
    spec, config = dpsyn.PrivacySpec(1.0), dpsyn.NoisyReweighting(rows=5)
    if kind == "release":
        release = config.calibrate(spec, table.domain, table.n)(None, table)
        return archive_text([MadeRelease(1, "theirs", release, None, "people", table.domain, config=config)], [])
    source = Dataset(table=table, full=table, held_out=held_out).source
    return archive_text([], [experiment_of(source)])


def experiment_of(source: DataSource | None) -> Experiment:
    """Two runs: one whose claim says that it is proven, and one that was refused."""
    grid = Grid({"a": dpsyn.NoisyReweighting(rows=5)}, dpsyn.PrivacySpec(1.0), repeats=2)
    first, second = grid.cells()
    results = {one.key: one for one in (result_of(first), CellResult.of(second, "refused", "no budget"))}
    return Experiment(1, "theirs", "people", "f00", grid, None, (1,), (), results=results, data=source)


@pytest.mark.parametrize("data", ["none", "bundled", "own"])
def test_runs_of_an_imported_experiment_have_the_claims_of_its_file_whatever_their_data(data: str) -> None:
    table = PEOPLE.with_domain(PEOPLE.domain.confirmed())
    own = Dataset(table=table, full=table).source
    source = {"none": None, "bundled": visit.bundled("asia").source, "own": own}[data]
    given = experiment_of(source)
    found = workspace._stated(given)
    assert [one.guarantee.get("status") for one in given.results.values()] == ["proven", None]
    assert [one.guarantee.get("status") for one in found.results.values()] == ["stated", None]
    assert found.data == (replace(own, domain=PEOPLE.domain.unconfirmed()) if data == "own" else source)


def test_what_a_release_is_read_from_is_said_once_however_often_it_is_read() -> None:
    release = dpsyn.MST(rows=5).calibrate(dpsyn.PrivacySpec(1.0), PEOPLE.domain, PEOPLE.n)(None, PEOPLE)
    made = MadeRelease(1, "theirs", release, None, "people", PEOPLE.domain)
    for _ in range(2):
        made = workspace._marked(made)
        assert made.release.guarantee.assumptions == (*release.guarantee.assumptions, FROM_A_FILE)


@pytest.mark.parametrize("theirs", [False, True])
def test_of_results_that_both_have_those_that_were_here_count_or_those_of_the_folder(theirs: bool) -> None:
    mine, other = experiment_of(None), experiment_of(None)
    for key, one in mine.results.items():
        other.results[key] = replace(one, message="theirs")
    first = next(iter(mine.results))
    for short in (mine, other):
        results = {first: short.results[first]}
        both = (
            workspace._joined(replace(mine, results=results), other, theirs=theirs)
            if short is mine
            else (workspace._joined(mine, replace(other, results=results), theirs=theirs))
        )
        assert both.results.keys() == mine.results.keys()
        assert both.results[first] == (other if theirs else mine).results[first]
    own, imported = replace(mine), workspace._stated(mine)
    assert workspace._joined(own, imported, theirs=False).results == own.results  # the claims that were computed here


def test_releases_of_other_claims_rows_settings_or_data_are_not_the_same_one() -> None:
    release = dpsyn.MST(rows=5).calibrate(dpsyn.PrivacySpec(1.0), PEOPLE.domain, PEOPLE.n)(None, PEOPLE)
    made = MadeRelease(1, "theirs", release, None, "people", PEOPLE.domain)
    claim = release.guarantee

    def told(**changes: Any) -> MadeRelease:
        return replace(made, release=replace(release, **changes))

    same = [replace(made, name="mine", number=7, key="other", seconds=9.0, fingerprint="f00"), workspace._marked(made)]
    assert {workspace._content(one) for one in same} == {workspace._content(made)}
    others = [
        *(told(guarantee=replace(claim, **{name: new})) for name, new in (
            ("status", "stated"), ("epsilon", 0.5), ("delta", 1e-9), ("neighbouring", "add_remove"), ("source", "a file"),
            ("unit", "user"),
        )),
        told(rows=release.rows.iloc[:-1]),
        told(settings={**release.settings, "rows": 6}),
        replace(made, dataset="others"),
        replace(made, when="2024-01-02T03:04:05+00:00"),
    ]  # fmt: skip
    assert len({workspace._content(one) for one in [made, *others]}) == len(others) + 1


def page(text: str) -> None:
    import streamlit as st

    from dpsyn.app import state
    from dpsyn.app.lab import releases, workspace
    from dpsyn.evaluation.experiments import read_archive
    from dpsyn.kit import visit

    if not (state.made() or state.experiments()):
        workspace._take_in({}, read_archive(text))
    current = visit.dataset()
    releases.other_releases(current, state.made())
    for experiment in state.experiments():
        releases.of_other_data(current, experiment)
    st.caption("drawn")


@pytest.mark.parametrize("kind", ["release", "experiment"])
def test_nor_is_it_so_while_a_bundled_dataset_is_open(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)
    app = AppTest.from_function(page, default_timeout=60, args=(archived(kind, held_out=0.4),))
    app.session_state["dataset"] = visit.bundled("asia")
    app.run()
    assert not app.exception
    said = " ".join(element.value for element in (*app.markdown, *app.info))
    assert ("its word does not count" if kind == "release" else "not confirmed as public") in said
    assert "All are confirmed as public" not in said
    assert "Public facts only" not in said


@pytest.mark.parametrize("name", ["asia", "people"])
@pytest.mark.parametrize("changed", [False, True])
def test_public_by_our_own_word_are_the_columns_of_a_bundled_dataset_as_they_come(name: str, changed: bool) -> None:
    domain = visit.bundled("asia").table.domain
    first = domain.attributes[0]
    domain = domain.replace(replace(first, categories=(*first.categories, "x"), kind="categorical")) if changed else domain
    ours = name == "asia" and not changed
    assert visit.is_bundled(name, domain) is visit.is_bundled(name, domain.project(domain.names[:3])) is ours
    source = replace(visit.bundled("asia").source, name=name, domain=domain)
    found = workspace._stated(experiment_of(source))
    assert found.data is not None
    assert found.data.domain == (domain if ours else domain.unconfirmed())


@pytest.mark.parametrize("kind", ["release", "experiment"])
@pytest.mark.parametrize("confirmed_here", [(), ("smokes",), ("smokes", "age")], ids=len)
def test_what_an_imported_file_calls_public_is_not_so_nor_does_a_button_make_it_so(
    kind: str, confirmed_here: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)
    text = archived(kind, held_out=0.4)
    read = read_archive(text)
    domains = [made.domain for made in read.releases] + [one.data.domain for one in read.experiments if one.data]
    assert [domain.is_public for domain in domains] == [True]
    domain = PEOPLE.domain
    for name in confirmed_here:
        domain = domain.replace(name, public=True)
    app = AppTest.from_function(page, default_timeout=60, args=(text,))
    app.session_state["dataset"] = Dataset(table=PEOPLE.with_domain(domain), full=PEOPLE.with_domain(domain))
    app.run()
    assert not app.exception
    said = " ".join(element.value for element in (*app.markdown, *app.info))
    assert ("its word does not count" if kind == "release" else "not confirmed as public") in said
    assert "All are confirmed as public" not in said
    for experiment in app.session_state["experiments"]:
        assert not any(a.public for a in experiment.data.domain.attributes)
    buttons = [one for one in app.button if one.label.startswith("Set the columns")]
    if kind == "release" and not confirmed_here:
        assert not buttons  # nothing to set: they are as they are here
        return
    buttons[0].click().run()
    assert not app.exception
    now = app.session_state["dataset"]
    assert not any(a.public for a in now.table.domain.attributes)
    assert now.table.domain == PEOPLE.domain.unconfirmed()
    assert now.held_out == (0.4 if kind == "experiment" else visit.HELD_OUT)


def test_columns_that_a_file_calls_public_are_said_to_be_so_by_its_word() -> None:
    public = visit.bundled("asia").table.domain
    first = public.attributes[0]
    words = "were confirmed as public in the visit that made them; here its word does not count."
    assert _columns(public, of_file=True).endswith(f" The file says that they {words}")
    some = public.replace(replace(first, public=False))
    assert _columns(some, of_file=True).endswith(f" The file says that they, except {first.name}, {words}")
    for of_file in (True, False):
        said = _columns(public.unconfirmed(), of_file=of_file)
        assert said.endswith(" Their categories and bounds are not confirmed as public here.")


def listed(made) -> None:
    from dpsyn.app.lab.releases import other_releases
    from dpsyn.kit import visit

    other_releases(visit.dataset(), [made])


MEASURED = {"when": "2024-01-02T03:04:05+00:00", "fingerprint": "f00", "rows": 9, "target": None, "measures": {"e": 0.1}}


@pytest.mark.parametrize("measured", [None, {**MEASURED, "references": {}}], ids=["not measured", "measured"])
@pytest.mark.parametrize("known", range(3))
def test_columns_that_nobody_confirmed_are_named_and_make_the_list_private(
    known: int, measured: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)
    domain = dpsyn.Domain.of(replace(a, public=at < known) for at, a in enumerate(PEOPLE.domain.attributes))
    table = PEOPLE.with_domain(domain)
    release = dpsyn.MST(rows=5).calibrate(dpsyn.PrivacySpec(1.0), domain, table.n)(None, table)
    made = MadeRelease(1, "mine", release, None, "people", domain, config=release.config, measured=measured)
    app = AppTest.from_function(listed, default_timeout=60, args=(made,)).run()
    assert not app.exception
    said = " ".join(element.value for element in app.markdown)
    assert ("Their categories and bounds are not confirmed as public here." in said) == (known == 0)
    assert ("Not confirmed as public: age." in said) == (known == 1)
    assert ("All are confirmed as public." in said) == (known == 2)
    private = measured is not None or known < 2
    assert ("Reads private data" in said, "Public facts only" in said) == (private, not private)
    (line,) = app.dataframe[0].value.to_dict("records")
    assert line["Status"] == ("proven" if known == 2 else "not yet true: nobody confirmed the domain as public")
