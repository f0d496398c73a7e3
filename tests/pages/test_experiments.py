"""Experiments on the comparison page: planned, run, cancelled, resumed, kept in a folder."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn.app.lab.planner import NO_TARGET, refusals_of
from dpsyn.app.lab.report import experiment_section
from dpsyn.evaluation.experiments import Grid, Workspace
from dpsyn.evaluation.experiments.field import FIELD, field_panels
from tests.pages.conftest import finish_job


def plan(app, **settings):
    """The page with a small experiment planned: noisy reweighting only, no classifiers."""
    app = app.switch_page("comparison.py").run()
    app.segmented_control(key="comparison_what").set_value("Experiments").run()
    tag = app.session_state["dataset"].tag
    app.multiselect(key=f"lab_mechanisms_{tag}").set_value(settings.get("mechanisms", ["Noisy reweighting"]))
    app.multiselect(key=f"lab_field_{tag}").set_value(settings.get("field", []))
    app.selectbox(key=f"lab_target_{tag}").set_value(NO_TARGET)
    app.slider(key="lab_repeats").set_value(settings.get("repeats", 2))
    app.text_input(key=f"lab_values_epsilon_{tag}").set_value(settings.get("values", "1, 10")).run()
    assert not app.exception
    return app


def quick(open_page):
    """The app with four columns of CAR: a cell takes a moment."""
    return open_page("data", data="car", data_columns='{"doors":null,"persons":null,"lug_boot":null}')


def small(open_page):
    """The app with 1,728 rows of two thousand possible: a cell takes a second, and what runs can be stopped."""
    return open_page("data", data="car", data_columns='{"lug_boot":null}')


def wait_for_results(app, count):
    """Until so many cells have been run, and the page has taken them in."""
    job, end = app.session_state["job"], time.monotonic() + 60
    while sum("result" in record for record in job.records()) < count:
        assert time.monotonic() < end
        time.sleep(0.02)
    return app.run()


def test_an_experiment_is_run_and_shown(open_page):
    app = plan(quick(open_page))
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    (experiment,) = app.session_state["experiments"]
    assert [r.status for r in experiment.results.values()] == ["done"] * 4
    assert experiment.missing == []
    measure = app.selectbox(key="lab_measure_1")
    assert "2-way error, mean" in measure.options
    table = app.dataframe[0].value
    assert list(table["ε"]) == [1.0, 10.0]
    means = dict(zip(table["ε"], table["Mean"], strict=True))
    assert means[10.0] < means[1.0]
    assert not app.error


def test_the_values_that_were_read_are_shown(open_page):
    app = plan(quick(open_page), values="1,5; 3")
    assert "At ε = 1, 3, 5." in [c.value for c in app.caption]


def test_private_sampling_is_shown_with_what_it_would_need(open_page):
    app = plan(quick(open_page), mechanisms=["Private sampling"], repeats=1, values="1")
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    (result,) = app.session_state["experiments"][0].results.values()
    assert result.budget == "over budget"
    assert any("cannot give the ε asked for" in w.value for w in app.warning)


def test_a_refusal_names_what_is_on_the_form(open_page):
    app = plan(quick(open_page), mechanisms=["DP-CDA"], repeats=1, values="0.01, 10")
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    result = min(app.session_state["experiments"][0].results.values(), key=lambda result: result.value)
    assert result.status in ("refused", "failed")
    (why,) = (w.value for w in app.warning if "DP-CDA" in w.value)
    assert "count_share" not in why


def test_a_mechanism_that_cannot_run_at_all_is_left_out_with_the_reason():
    frame = dpsyn.load_sample("asia").frame.loc[:299, ["smoke", "bronc"]].assign(place="here")
    table = dpsyn.read_table(frame).with_domain(dpsyn.read_table(frame).domain.confirmed())
    configs = {"cda": dpsyn.DPCDA(target="bronc"), "local": dpsyn.LocalPerturbation(), "ps": dpsyn.PrivateSampling(rows=9)}
    found = refusals_of(Grid(configs, dpsyn.PrivacySpec(1.0, 1e-5, "add_remove")), table)
    # Local perturbation runs for a row that is replaced, private sampling with the ε that it needs.
    assert list(found) == ["cda"]
    assert found["cda"]


def test_nothing_is_run_without_a_mechanism(open_page):
    app = plan(quick(open_page), mechanisms=[])
    assert not any(button.key == "lab_start" for button in app.button)


def test_the_picture_of_the_field(open_page):
    app = plan(quick(open_page), field=["Independent columns", "Local perturbation"], repeats=2)
    app.selectbox(key="lab_neighbouring").set_value("add_remove").run()
    assert not app.warning
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    (experiment,) = app.session_state["experiments"]
    assert {r.label for r in experiment.results.values() if r.budget == "other neighbours"} == {"Local perturbation"}
    assert app.selectbox(key="lab_measure_1").value == FIELD
    said = [m.value for m in app.markdown if m.value.startswith(("**2-way error", "**range queries"))]
    assert len(said) == 2
    assert all("Noisy reweighting" in each and "Local perturbation" not in each for each in said)
    assert any(c.value.startswith("A star marks") and "Local perturbation" in c.value for c in app.caption)
    tables = [frame.value for frame in app.dataframe if "Mean" in frame.value]
    panels = field_panels(experiment.found)
    shown = [caption.value for caption in app.caption]
    for table, (name, points) in zip(tables, panels.items(), strict=True):
        assert shown.count(name) == 1
        assert [float(mean) for mean in table["Mean"]] == pytest.approx([p.mean for p in points], rel=1e-3)
    # As it is where a prediction is measured that nothing foretells.
    experiment.references["2-way error, mean"] = {"real data": 0.5, "better than guessing": 0.4}
    app.run()
    (said,) = [m.value for m in app.markdown if m.value.startswith("**2-way error")]
    assert said.endswith("This tells no system from another: real data are not clearly better than guessing.")
    assert f"2-way error, mean: {said.partition(': ')[2]}" in experiment_section(experiment).parts
    app.selectbox(key="lab_measure_1").set_value("1-way error, mean").run()
    assert not app.exception
    assert any("1-way error, mean" in m.value for m in app.markdown)


def test_cancelled_and_resumed(open_page):
    app = plan(small(open_page), repeats=4)
    app.button(key="lab_start").click().run()
    app = wait_for_results(app, 1)
    app.button(key="cancel").click().run()
    (experiment,) = app.session_state["experiments"]
    done = dict(experiment.results)
    assert 1 <= len(done) < 8
    said = "The experiment “1 mechanism against ε” was cancelled; its finished cells are kept."
    assert [c.value for c in app.caption].count(said) == 1
    app.run()
    assert said not in [c.value for c in app.caption]
    app.button(key="lab_resume_1").click().run()
    app = finish_job(app)
    assert len(experiment.results) == 8
    assert all(experiment.results[key] is result for key, result in done.items())


def test_a_workspace_keeps_what_a_reload_loses(open_page, tmp_path):
    app = plan(quick(open_page), repeats=1)
    app.text_input(key="workspace_folder").set_value(str(tmp_path)).run()
    app.button(key="workspace_open").click().run()
    app.button(key="lab_start").click().run()
    app = finish_job(app)
    first = app.session_state["experiments"][0]
    other = quick(open_page)
    other = other.switch_page("comparison.py").run()
    other.text_input(key="workspace_folder").set_value(str(tmp_path)).run()
    finish_job(other.button(key="workspace_open").click().run())
    other.segmented_control(key="comparison_what").set_value("Experiments").run()
    assert not other.exception
    (found,) = other.session_state["experiments"]
    assert found.grid == first.grid
    assert {k: r.measures for k, r in found.results.items()} == {k: r.measures for k, r in first.results.items()}
    assert other.selectbox(key="lab_measure_1").options
    # What another visit has run, and called it, is there when the workspace is opened again.
    first.results.pop(lost := next(iter(first.results)))
    Workspace(tmp_path).keep(replace(found, name="of the other"))
    app.button(key="workspace_open").click().run()
    finish_job(app)
    (again,) = app.session_state["experiments"]
    assert (again.name, again.missing) == ("of the other", [])
    assert again.results[lost] == found.results[lost]
    assert [one.name for one in Workspace(tmp_path).read().experiments] == ["of the other"]


@pytest.mark.parametrize(
    ("values", "said"), [("1, many", "'many' is no number"), ("", "at least one number"), ("0", r"number \> 0")]
)
def test_values_that_cannot_be_are_named(open_page, values, said):
    app = plan(open_page("data"), values=values)
    assert any(said in w.value for w in app.warning)
    assert not [b for b in app.button if b.key == "lab_start"]


def test_a_folder_that_cannot_be_is_named(open_page):
    app = open_page("comparison")
    app.text_input(key="workspace_folder").set_value("relative/folder").run()
    app.button(key="workspace_open").click().run()
    assert any("whole path" in w.value for w in app.warning)
    assert not app.exception


def test_the_report_holds_verdicts_releases_and_experiments(open_page):
    app = quick(open_page)
    app = app.switch_page("generator.py").run()
    app.segmented_control(key="mechanism").set_value("noisy_reweighting").run()
    app.button(key="run").click().run()
    app = finish_job(app)
    app = plan(app, repeats=1, values="1")
    app.button(key="lab_start").click().run()
    app = finish_job(app)

    def write_report():
        import streamlit as st

        from dpsyn.app import state
        from dpsyn.app.lab.report import report_bytes
        from dpsyn.kit import visit

        tried, _ = state.experiments_by_data()
        st.session_state["the_report"] = report_bytes(visit.dataset(), state.comparable(), None, tried)

    writer = AppTest.from_function(write_report, default_timeout=60)
    for key in ("dataset", "releases", "experiments"):
        writer.session_state[key] = app.session_state[key]
    writer.run()
    assert not writer.exception
    text = writer.session_state["the_report"].decode()
    release = app.session_state["releases"][0]
    assert release.release.guarantee.claim in text
    assert "Do the theorems apply?" in text
    assert "Theorem" in text
    assert "run_grid(" in text
    assert text.count("Plotly.newPlot") >= 3
    assert "reads private data: not for publication" in text
