"""Experiments of other data, other columns or another held-out share: drawn like those of the data that is open."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass, replace

import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.data.samples import load_sample
from dpsyn.evaluation.experiments import Workspace
from dpsyn.kit.scheduler import scheduler
from tests.evaluation.experiments.test_field import level
from tests.pages.conftest import finish_job, press
from tests.pages.test_experiments import plan, small, wait_for_results
from tests.pages.test_kept_measures import open_workspace, said

CAR = load_sample("car")


@pytest.fixture(scope="module")
def filled(open_page, tmp_path_factory):
    """A workspace with an experiment about CAR: two values of ε, one repeat, a third of the rows held out."""
    path = tmp_path_factory.mktemp("filled")
    app = small(open_page)
    app.slider(key=f"roles_share_{app.session_state['dataset'].revision}").set_value(0.35)
    app = press(app, "Next")
    app = open_workspace(app, path)
    app = plan(app, repeats=1)
    finish_job(app.button(key="lab_start").click().run())
    return path


@pytest.fixture
def folder(filled, tmp_path):
    """A copy of that workspace, for one test."""
    return shutil.copytree(filled, tmp_path / "workspace")


def experiments(app, folder):
    app = open_workspace(app, folder)
    app.segmented_control(key="comparison_what").set_value("Experiments").run()
    assert not app.exception
    return app


def test_one_of_other_data_is_drawn_with_its_numbers_and_opens_its_data(folder, open_page):
    app = experiments(open_page("data"), folder)
    (experiment,) = app.session_state["experiments"]
    assert "Not of the data that is open.** It is of car. Columns: buying, maint," in said(app)
    assert "Held out: 35\N{NO-BREAK SPACE}% of the rows." in said(app)
    assert "cannot be resumed or run again" in said(app)
    table = app.dataframe[0].value
    assert list(table["ε"]) == [1.0, 10.0]
    assert app.selectbox(key="lab_measure_1").value == "2-way error, mean"
    assert len(app.get("plotly_chart")) == 1
    app.toggle(key="lab_wish_on_1").set_value(True).run()
    assert "**Noisy reweighting**: ε" in said(app)
    assert not [b for b in app.button if b.key == "lab_resume_1"]

    app.button(key="lab_columns_1").click().run()
    assert not app.exception
    current = app.session_state["dataset"]
    assert (current.sample, current.held_out) == ("car", 0.35)
    assert "Not of the data that is open" not in said(app)
    app.text_input(key="lab_1_name_1").set_value("of CAR").run()
    app.button(key="lab_1_rename").click().run()
    assert Workspace(folder).read().experiments[0].name == "of CAR"
    assert experiment.data.domain == CAR.domain.project([name for name in CAR.domain.names if name != "lug_boot"])


def test_a_run_without_the_setting_that_varies_stands_at_every_value(open_page, tmp_path, monkeypatch):
    Workspace(tmp_path).keep(level())
    monkeypatch.setattr("dpsyn.app.lab.results.show_figure", lambda *_, select=False, **__: [(1, 0.0105, "tables")] * select)
    app = experiments(open_page("data"), tmp_path)
    assert "**2-way error, mean**: tables at every l." in said(app)
    assert "#### tables at l = 1" in said(app)
    table = app.dataframe[0].value
    assert table[table["Mechanism"] == "tables"]["l"].tolist() == [1, 8, 32]


def test_one_of_other_data_is_renamed_and_removed(folder, open_page):
    app = experiments(open_page("data"), folder)
    app.text_input(key="lab_1_name_1").set_value("of cars").run()
    app.button(key="lab_1_rename").click().run()
    assert not app.exception
    assert any(h.value == "1 · of cars" for h in app.header)
    app.button(key="lab_1_remove").click().run()
    assert not app.exception
    assert Workspace(folder).read().experiments == []


def test_of_another_held_out_share_it_is_not_run_on_these_rows(folder, open_page):
    next(folder.glob("experiments/*/results/*.json")).unlink()
    app = experiments(small(open_page), folder)
    assert "held out: 35\N{NO-BREAK SPACE}% of the rows then, 25\N{NO-BREAK SPACE}% now" in said(app)
    assert "1 of 2 cells have not been run" in said(app)
    assert not [b for b in app.button if b.key == "lab_resume_1"]

    def resume():
        import streamlit as st

        from dpsyn.app import state

        state.start(st.session_state["experiments"][0])

    runner = AppTest.from_function(resume, default_timeout=60)
    for key in ("dataset", "experiments"):
        runner.session_state[key] = app.session_state[key]
    (fault,) = runner.run().exception
    assert "is about other rows or columns than those that are open" in fault.message

    # With the share as it was, it is resumed.
    app.button(key="lab_columns_1").click().run()
    app = finish_job(app.button(key="lab_resume_1").click().run())
    assert len(Workspace(folder).read().experiments[0].results) == 2


def test_it_goes_on_running_while_other_data_is_open(open_page):
    app = plan(small(open_page), repeats=4)
    app.button(key="lab_start").click().run()
    app = app.switch_page("data.py").run()
    app.pills(key="sample").set_value("asia").run()
    app = app.switch_page("comparison.py").run()
    app.segmented_control(key="comparison_what").set_value("Experiments").run()
    assert [b for b in app.button if b.key == "cancel"]
    app = wait_for_results(app, 1)
    app.button(key="cancel").click().run()
    assert not app.exception
    assert not app.error
    assert any("its finished cells are kept" in caption.value for caption in app.caption)
    assert any(b.label == "Open car with the columns and the held-out share as in this experiment" for b in app.button)


def test_kept_without_its_columns_it_is_drawn_without_a_script_until_its_data_is_open(folder, open_page):
    kept = Workspace(folder)
    (experiment,) = kept.read().experiments
    experiment.data = None
    kept.keep(experiment)
    app = experiments(open_page("data"), folder)
    assert "Its columns were not kept: open car with the columns" in said(app)
    assert "there is no script of it" in said(app)
    assert list(app.dataframe[0].value["ε"]) == [1.0, 10.0]


def test_a_folder_that_goes_away_during_a_run_loses_nothing(open_page, tmp_path):
    app = plan(open_workspace(small(open_page), tmp_path / "first"), repeats=2)
    app.button(key="lab_start").click().run()
    shutil.rmtree(tmp_path / "first")
    app = wait_for_results(app, 1)
    assert not app.exception
    assert any("cannot be read or written any more" in e.value and "still in this visit" in e.value for e in app.error)
    app = finish_job(app)
    assert len(app.session_state["experiments"][0].results) == 4
    app = open_workspace(app, tmp_path / "first")
    assert [len(e.results) for e in Workspace(tmp_path / "first").read().experiments] == [4]
    assert not any("cannot be read" in e.value for e in app.error)


def test_what_is_found_while_a_workspace_is_closed_is_kept_when_it_opens_again(open_page, tmp_path):
    app = plan(open_workspace(small(open_page), tmp_path), repeats=2)
    app.button(key="lab_start").click().run()
    app.button(key="workspace_close").click().run()
    app = finish_job(app)
    assert len(Workspace(tmp_path).read().experiments[0].results) < 4
    open_workspace(app, tmp_path)
    assert [len(e.results) for e in Workspace(tmp_path).read().experiments] == [4]


@dataclass(frozen=True)
class Gone:
    """A visitor whose page was closed."""

    name: str = "gone"
    present: bool = False


def left_behind(open_page, folder):
    """An experiment of two runs that has begun, and its paused job, whose visitor has gone."""
    app = plan(open_workspace(small(open_page), folder), repeats=1)
    app.button(key="lab_start").click().run()
    job = app.session_state["job"]
    job.pause()
    job.visitor = Gone()
    return app, job


def test_a_run_that_the_workspace_keeps_is_found_again_after_a_reload(open_page, tmp_path):
    _, job = left_behind(open_page, tmp_path)
    link = tmp_path.with_name("link")
    link.symlink_to(tmp_path)
    again = experiments(open_page("data"), link)
    assert again.session_state["job"] is job
    assert again.button(key="cancel")
    job.pause(False)
    again = finish_job(again)
    (experiment,) = again.session_state["experiments"]
    assert len(experiment.results) == 2
    assert [len(e.results) for e in Workspace(tmp_path).read().experiments] == [2]


def test_what_another_visit_runs_is_not_offered_to_be_run(open_page, tmp_path):
    app, job = left_behind(open_page, tmp_path)
    job.visitor = Gone(present=True)
    other = experiments(open_page("data", data="car", data_columns='{"lug_boot":null}'), tmp_path)
    assert "job" not in other.session_state
    assert "2 of 2 cells are still to come: another visit runs them." in " ".join(w.value for w in other.warning)
    assert not [button for button in other.button if button.label.startswith("Resume")]
    assert "Resume" not in " ".join(w.value for w in app.warning)
    job.pause(False)
    app = finish_job(app)
    other.run()
    (resume,) = [button for button in other.button if button.label.startswith("Resume")]
    other = resume.click().run()
    assert "job" not in other.session_state
    assert [len(one.results) for one in other.session_state["experiments"]] == [2]
    assert not [w for w in other.warning if "cells" in w.value]


def test_a_run_goes_on_into_the_workspace_while_nobody_looks(open_page, tmp_path):
    app, job = left_behind(open_page, tmp_path)
    job.wait()
    scheduler().tend(time.monotonic())
    assert [len(e.results) for e in Workspace(tmp_path).read().experiments] == [2]
    app = app.switch_page("generator.py").run()
    app = finish_job(app)
    app.segmented_control(key="mechanism").set_value("noisy_reweighting").run()
    app.button(key="run").click().run()
    job = app.session_state["job"]
    job.visitor = Gone()
    job.wait()
    scheduler().tend(time.monotonic())
    (made,) = Workspace(tmp_path).read().releases
    assert made.release.mechanism == "noisy_reweighting"
    back_again(app, tmp_path)


def back_again(app, folder):
    """The same visit, whose connection was lost for a while, has what the workspace has, once."""
    app = finish_job(app)
    assert not app.error
    assert sorted(made.key for made in app.session_state["releases"]) == sorted(
        made.key for made in Workspace(folder).read().releases
    )
    assert app.session_state["newest"] == app.session_state["releases"][-1].number > 0


@pytest.mark.parametrize("data", ["car", "asia"])
def test_a_run_that_another_visit_finds_is_measured_against_its_own_data_alone(
    data, open_page, tmp_path, score_cards, monkeypatch
):
    app = open_workspace(open_page("comparison", data="car"), tmp_path).switch_page("generator.py").run()
    app.segmented_control(key="mechanism").set_value("independent").run()
    queue = scheduler()
    with monkeypatch.context() as patch:
        patch.setattr(queue, "limits", replace(queue.limits, workers=0))  # it waits while nobody looks
        job = app.button(key="run").click().run().session_state["job"]
        job.visitor = Gone()
        again = open_workspace(open_page("comparison", data=data), tmp_path)
        assert again.session_state["job"] is job
    assert again.session_state["dataset"].revision == app.session_state["dataset"].revision
    queue.tend(time.monotonic())
    again = finish_job(again)
    (made,) = again.session_state["releases"]
    assert (made.dataset, bool(again.session_state.get("comparisons", {}))) == ("car", data == "car")
    assert not again.error


def test_a_run_of_all_mechanisms_goes_on_into_the_workspace_while_nobody_looks(open_page, tmp_path):
    app = open_page("data", data="car", data_columns='{"buying":null,"doors":null,"maint":null,"persons":null}')
    app = open_workspace(app, tmp_path).segmented_control(key="comparison_what").set_value("Releases").run()
    [button] = [button for button in app.button if button.label == "Run all mechanisms"]
    job = button.click().run().session_state["job"]
    job.visitor = Gone()
    job.wait()
    scheduler().tend(time.monotonic())
    releases = Workspace(tmp_path).read().releases
    assert {made.release.mechanism for made in releases} >= {"independent", "noisy_reweighting"}
    assert {made.name.partition(" ·")[0] for made in releases} >= {"Independent columns", "Noisy reweighting"}
    assert all(made.seconds > 0 for made in releases)
    back_again(app, tmp_path)


def test_a_run_ends_while_nobody_looks_if_its_experiment_is_removed(open_page, tmp_path):
    _, job = left_behind(open_page, tmp_path)
    (experiment,) = Workspace(tmp_path).read().experiments
    Workspace(tmp_path).remove(experiment)
    job.wait()
    scheduler().tend(time.monotonic())
    assert not Workspace(tmp_path).read().experiments
    assert not job.running


def test_a_job_that_is_killed_says_that_what_it_had_finished_is_kept(open_page):
    app = plan(small(open_page), repeats=4)
    app.button(key="lab_start").click().run()
    app = wait_for_results(app, 1)
    app.session_state["job"].process.kill()
    app = finish_job(app)
    assert any("What it had finished is kept: resume it" in e.value for e in app.error)
    assert [b for b in app.button if b.key == "lab_resume_1"]


def test_the_report_names_the_data_of_an_experiment_of_other_data(folder, open_page):
    app = experiments(open_page("data"), folder)

    def write_report():
        import streamlit as st

        from dpsyn.app import state
        from dpsyn.app.lab.report import report_bytes
        from dpsyn.kit import visit

        tried, others = state.experiments_by_data()
        st.session_state["the_report"] = report_bytes(visit.dataset(), [], None, tried, others)

    writer = AppTest.from_function(write_report, default_timeout=60)
    for key in ("dataset", "experiments"):
        writer.session_state[key] = app.session_state[key]
    writer.run()
    assert not writer.exception
    text = writer.session_state["the_report"].decode()
    assert "Experiment 1, of other data (car): " in text
    assert "Not of the data above. It is of car. Columns: buying, maint," in text
    assert "DATA = &#x27;car&#x27;" in text
    assert "table.split(0.35, " in text


def test_an_experiment_with_data_that_makes_no_sense_is_set_aside(folder):
    from dpsyn.evaluation.experiments.archive import archive_text, read_archive

    text = archive_text([], Workspace(folder).read().experiments)
    assert read_archive(text).experiments[0].data.held_out == 0.35
    wrong = json.loads(text)
    wrong["experiments"][0]["facts"]["data"]["held_out"] = 2
    found = read_archive(json.dumps(wrong))
    assert found.experiments == []
    assert "held_out = 2.0 is not possible" in found.set_aside[0]


def test_an_import_adds_results_to_the_same_experiment_and_believes_no_claim(folder, open_page):
    from dpsyn.evaluation.experiments.archive import archive_text

    whole = archive_text([], Workspace(folder).read().experiments).encode()
    next(folder.glob("experiments/*/results/*.json")).unlink()
    part = archive_text([], Workspace(folder).read().experiments).encode()
    app = open_page("data").switch_page("comparison.py").run()
    for attempt, (data, toast, results) in enumerate(
        [(part, "are new: 1.", 1), (whole, "1 were here already, which got 1 result more.", 2), (whole, "already.", 2)]
    ):
        app.file_uploader(key=f"runs_import_{attempt}").upload("runs.json", data, "application/json").run()
        app = finish_job(app.button(key="runs_read").click().run())
        assert toast in app.toast[0].value
        (experiment,) = app.session_state["experiments"]
        assert {result.guarantee["status"] for result in experiment.results.values()} == {"stated"}
        assert len(experiment.results) == results
        assert experiment.data is not None
        assert experiment.data.domain.is_public == bool(experiment.data.sample)
