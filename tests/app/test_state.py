"""Which releases, marks and measures are those of the data as it is now, and what a release is made of."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpsyn
from dpsyn.app import state
from dpsyn.app.lab.releases import take_comparison
from dpsyn.evaluation.experiments import Experiment, Grid, MadeRelease, Workspace
from dpsyn.kit import visit

ASIA = dpsyn.load_sample("asia").take(np.arange(200))
MEASURED = dpsyn.evaluate(ASIA, ASIA.frame, degrees=(1,))
RELEASE = dpsyn.MST(rows=5).calibrate(dpsyn.PrivacySpec(1.0), ASIA.domain, ASIA.n)(None, ASIA)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    held: dict[str, Any] = {}
    monkeypatch.setattr(state.st, "session_state", held)
    return held


def opened(**changes: Any) -> visit.Dataset:
    """The rows, in the visit."""
    visit.use(replace(visit.Dataset(table=ASIA, full=ASIA, target="smoke"), **changes))
    return visit.dataset()


def made(number: int = 1, **changes: Any) -> MadeRelease:
    return replace(MadeRelease(number, "mine", RELEASE, None, "asia", ASIA.domain), **changes)


def test_a_mark_is_that_of_the_rows_columns_and_held_out_share_that_are_open(session: dict[str, Any]) -> None:
    others = ASIA.take(np.arange(1, 200))
    all_of_them: list[dict[str, Any]] = [
        {},
        {"held_out": 0.4},
        {"table": ASIA.project(ASIA.domain.names[:3]), "target": None},
        {"table": others, "full": others},
    ]
    marks = []
    for changes in all_of_them:
        opened(**changes)
        marks.append(state.mark())
    assert len(set(marks)) == len(marks)
    opened()
    assert state.mark() == marks[0]


def test_releases_are_compared_that_are_of_the_rows_that_are_open(session: dict[str, Any]) -> None:
    opened()
    own, unmarked = made(1, fingerprint=state.mark()), made(2)
    fewer = ASIA.domain.project(ASIA.domain.names[:3])
    others = [
        made(3, fingerprint="f00"),
        made(4, dataset="car"),
        made(5, domain=fewer),
        made(6, domain=ASIA.domain.unconfirmed()),
    ]
    session["releases"] = [own, *others, unmarked]
    assert state.comparable() == [own, unmarked]


def test_what_was_measured_is_of_these_rows_and_of_releases_that_are_still_there(session: dict[str, Any]) -> None:
    opened()
    session["releases"] = [made(1), made(2, name="renamed", fingerprint="f00")]
    reports = {number: f"report {number}" for number in (1, 2, 3)}
    session["comparisons"] = {"f00": {"reports": {1: "of other rows"}}}
    assert state.comparison() is None
    session["comparisons"] = {state.mark(): {"reports": reports, "degrees": (1,)}, **session["comparisons"]}
    labels = [one.label for one in session["releases"]]
    assert state.comparison() == {"reports": dict(zip(labels, ["report 1", "report 2"], strict=True)), "degrees": (1,)}
    session["releases"].clear()
    assert state.comparison() is None


@pytest.mark.parametrize(
    "changed", [{}, {"target": "lung"}, {"degrees": (1,)}, {"models": ("tree",)}, {"fingerprint": "f00"}]
)
def test_releases_stand_beside_those_that_were_measured_alike(session: dict[str, Any], changed: dict[str, Any]) -> None:
    asked = {"fingerprint": "these", "target": "smoke", "degrees": (1, 2), "models": (), "numbers": {"A": 1}}
    take_comparison(asked, {"A": MEASURED})
    again = {**asked, **changed, "numbers": {"B": 2}}
    take_comparison(again, {"B": MEASURED})
    assert list(state.comparisons()[again["fingerprint"]]["reports"]) == ([2] if changed else [1, 2])


def test_what_is_renamed_or_removed_is_so_in_the_list_and_in_the_workspace(session: dict[str, Any], tmp_path: Any) -> None:
    session["workspace"] = Workspace(tmp_path)
    for number in (1, 2, 3):
        state.add(made(number))
    first, second, third = state.made()
    state.rename(second, "other")
    assert [one.name for one in state.made()] == ["mine", "other", "mine"]
    state.change(third, None)
    assert [one.key for one in state.made()] == [first.key, second.key]
    kept = {one.key: one.name for one in session["workspace"].read().releases}
    assert kept == {first.key: "mine", second.key: "other"}


def test_a_release_is_of_the_rows_that_were_open_when_it_began_and_is_kept_once(
    session: dict[str, Any], tmp_path: Any
) -> None:
    opened(held_out=0.4)  # since then
    folder = session["workspace"] = Workspace(tmp_path)
    wider = ASIA.with_domain(ASIA.domain.unconfirmed())
    context = {"title": "MST", "table": wider, "seed": None, "fingerprint": "f00", "made": {}}
    job: Any = SimpleNamespace(
        running=False,
        seconds=9.0,
        context=context,
        outcome=lambda: SimpleNamespace(
            error=None, value={"MST": (RELEASE, 1.5), "AIM": (RELEASE, 2.5), "PrivBayes": ("no", 0.1)}
        ),
    )
    state.keep_releases(folder, job)  # while nobody looks
    kept = {one.name.split(" · ")[0]: one for one in folder.read().releases}
    assert {title: one.seconds for title, one in kept.items()} == {"MST": 1.5, "AIM": 2.5}
    assert {title: one.key for title, one in context["made"].items()} == {title: one.key for title, one in kept.items()}
    for title in ("AIM", "MST", "PrivSyn"):
        state.take_release({**context, "title": title, "seconds": 4.5}, RELEASE)
        assert session["newest"] == state.made()[-1].number
    assert [(one.number, one.seconds) for one in state.made()] == [(1, 2.5), (2, 1.5), (3, 4.5)]
    assert all((one.fingerprint, one.domain) == ("f00", wider.domain) for one in state.made())
    assert {one.key for one in folder.read().releases} == {one.key for one in state.made()}


def test_an_experiment_is_run_on_the_rows_that_are_open_with_what_it_asks_itself(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = opened()
    grid = Grid({"a": dpsyn.MST(rows=5)}, dpsyn.PrivacySpec(1.0), repeats=2)
    experiment = Experiment(1, "theirs", "asia", state.mark(), grid, "bronc", (1, 3), ("nearest",))
    asked: dict[str, Any] = {}
    monkeypatch.setattr(state.jobs, "start", lambda *_, **how: asked.update(how))
    state.start(experiment)
    learn, held_out = data.parts
    assert asked["table"] is learn
    assert asked["holdout"] is held_out
    assert (asked["target"], asked["degrees"], asked["models"]) == ("bronc", (1, 3), ("nearest",))
    assert asked["cells"] == list(grid.cells())
