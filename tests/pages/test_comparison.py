"""The comparison page: nothing without releases, numbers with them."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import dpsyn
from dpsyn import Domain
from dpsyn.evaluation.prediction import DEFAULT_MODELS
from dpsyn.kit import jobs
from dpsyn.mechanisms.registry import MECHANISMS
from tests.pages.conftest import file_of_runs, finish_job, last_measured, other_rows, press
from tests.pages.test_experiments import quick


def generate(app, name):
    app = other_rows(app.switch_page("generator.py").run())
    app.segmented_control(key="mechanism").set_value(name).run()
    app.button(key="run").click().run()
    return finish_job(app)


def measure(app, models=DEFAULT_MODELS[:1]):
    app = app.switch_page("comparison.py").run()
    app.multiselect(key="comparison_models").set_value(list(models)).run()
    return finish_job(press(app, "Measure"))


def says_there_is_none(app):
    return "no release of this data yet" in " ".join(m.value for m in app.markdown)


def test_without_a_release_it_offers_to_run_all_mechanisms_or_the_generator(open_page):
    app = open_page("comparison")
    assert says_there_is_none(app)
    assert "one by every mechanism, each with ε = 1, δ = 10⁻⁵" in " ".join(m.value for m in app.markdown)
    assert [link.proto.page for link in app.get("page_link")][-1:] == ["generator"]
    assert not [b for b in app.button if b.label == "Measure"]


def test_releases_are_measured_beside_fresh_real_rows(open_page):
    app = generate(generate(open_page("data"), "noisy_reweighting"), "dp_cda")
    app = measure(app, DEFAULT_MODELS)
    assert not app.error
    (names,) = (list(shown.value["Name"]) for shown in app.dataframe if "Settings" in shown.value)
    table = next(shown.value for shown in app.dataframe if "2-way mean" in shown.value)
    assert [line.split(" · ")[0] for line in table["Compared"][:2]] == ["Noisy reweighting", "DP-CDA"]
    assert table["Compared"].iloc[2] == "Fresh real rows, 5,000"
    for degree in (1, 2, 3):
        assert (table[f"{degree}-way mean"] <= table[f"{degree}-way max"]).all()
    # 15,000 rows at ε = 1 on 8 columns: noise costs something, but far less than DP-CDA's averages.
    assert 10 * table["2-way mean"].iloc[0] < table["2-way mean"].iloc[1]
    reports = {
        made.label: last_measured(app.session_state)["reports"][made.number] for made in app.session_state["releases"]
    }
    scores = next(iter(reports.values())).prediction
    assert scores.real.constant.measures["accuracy"] == pytest.approx(0.56, abs=0.05)
    # Errors, the worst table of three degrees, two releases and the floor as maps, scores, coefficients, one column.
    assert len(app.get("plotly_chart")) == 1 + 3 + 3 + 1 + 1 + 1
    whole = next(shown.value for shown in app.dataframe if "pMSE" in shown.value)
    assert whole["Compared"].iloc[-1] == "Real rows, 2 cells of each changed"
    assert whole["Ratio"].iloc[1] > 10 > whole["Ratio"].iloc[2]
    scored = next(shown.value for shown in app.dataframe if "Brier score" in shown.value)
    brier = scored.set_index(["Trained on", "Model"])["Brier score"]
    assert 0 < brier["Real rows"].min() < 0.5
    assert names == list(reports)
    said = next(c.value for c in app.caption if "than fresh real rows" in c.value)
    assert "15,000 real rows" in said
    assert "Of fresh ones 5,000 were held out" in said


def test_what_was_measured_is_there_again_with_the_columns(open_page):
    app = measure(generate(open_page("data"), "noisy_reweighting"))
    (found,) = app.session_state["comparisons"].values()
    whole = app.session_state["dataset"]
    fewer = whole.table.with_domain(Domain.of(whole.table.domain.attributes[:4]))
    app.session_state["dataset"] = replace(whole, table=fewer, target=None, revision=98)
    app = measure(generate(app, "noisy_reweighting"))
    app.session_state["dataset"] = replace(whole, revision=99)
    app = app.switch_page("comparison.py").run()
    assert not app.exception
    assert len(app.session_state["comparisons"]) == 2
    assert "nothing has been measured" not in " ".join(said.value.lower() for said in app.info)
    table = next(shown.value for shown in app.dataframe if "2-way mean" in shown.value)
    report = next(iter(found["reports"].values()))
    assert table["2-way mean"].iloc[0] == pytest.approx(report.marginals[2].mean, rel=0.05)


def test_releases_of_other_data_are_not_mixed_in(open_page):
    app = generate(open_page("data"), "noisy_reweighting")
    app = app.switch_page("data.py").run()
    app.pills(key="sample").set_value("car").run()
    app = app.switch_page("comparison.py").run()
    assert not app.exception
    assert says_there_is_none(app)
    app = app.switch_page("generator.py").run()
    assert len(app.session_state["releases"]) == 1


def test_releases_of_other_rows_of_the_same_name_are_of_other_data(open_page):
    """A file of the same name, columns and values, and the same file with another share held out."""
    app = generate(open_page("data"), "noisy_reweighting")
    current = app.session_state["dataset"]
    first = current.full.take(np.arange(1, current.full.n))
    for other in (replace(current, held_out=0.5, revision=2), replace(current, table=first, full=first, revision=3)):
        app.session_state["dataset"] = other
        app = app.switch_page("comparison.py").run()
        assert says_there_is_none(app)
        said = " ".join(caption.value for caption in app.caption)
        assert "the rows of the file that is open are others, or another share of them is held out" in said
        app = app.switch_page("generator.py").run()
        assert next(box.label for box in app.expander if box.label.startswith("Noisy")).endswith(", of other data")
    app.session_state["dataset"] = replace(current, revision=4)
    assert not says_there_is_none(app.switch_page("comparison.py").run())


def read_file(app, attempt, data):
    app.file_uploader(key=f"runs_import_{attempt}").upload("runs.json", data, "application/json").run()
    return app.button(key="runs_read").click().run()


def twice(data):
    """The file with all that it holds standing there a second time."""
    file = json.loads(data)
    return json.dumps(file | {"runs": file["runs"] * 2}).encode()


def test_runs_are_renamed_removed_exported_and_imported(open_page, tmp_path, monkeypatch, capsys):
    app = generate_small(open_page)
    app = measure(app)
    first = app.session_state["releases"][0]
    app.text_input(key=f"runs_name_{first.number}").set_value("the one we keep").run()
    app.button(key="runs_rename").click().run()
    assert not app.exception
    assert app.session_state["releases"][0].label == "the one we keep (no. 1)"
    compared = next(shown.value["Compared"] for shown in app.dataframe if "2-way mean" in shown.value)
    assert compared.iloc[0] == "the one we keep (no. 1)"
    data = file_of_runs(app)
    finish_job(read_file(app, 0, data))
    assert len(app.session_state["releases"]) == 1
    app.button(key="runs_remove").click().run()
    assert app.session_state["releases"] == []
    assert says_there_is_none(app)

    finish_job(read_file(app, 1, b"{}"))
    assert any("Reading runs.json: this JSON file holds no dpsyn runs" in error.value for error in app.error)
    started, start = [], jobs.start
    monkeypatch.setattr(jobs, "start", lambda task, **given: started.append(task) or start(task, **given))
    finish_job(read_file(app, 2, twice(data)))
    assert started == ["dpsyn.app.lab.workspace:read"]  # a file of many claims would hold up the page
    (back,) = app.session_state["releases"]
    assert back.label.startswith("the one we keep (no. ")
    assert back.release.rows.equals(first.release.rows)
    assert back.config == first.config
    assert (back.seed, back.when, back.dataset) == (first.seed, first.when, first.dataset)
    claim = back.release.guarantee
    assert replace(claim, assumptions=first.release.guarantee.assumptions) == first.release.guarantee
    assert "read from a file" in claim.assumptions[-1]

    def write_script():
        import streamlit as st

        from dpsyn.app import state
        from dpsyn.app.lab.releases import code_of

        st.session_state["the_script"] = code_of(state.visit.dataset(), state.comparable())

    writer = AppTest.from_function(write_script, default_timeout=60)
    for key in ("dataset", "releases"):
        writer.session_state[key] = app.session_state[key]
    script = tmp_path / "again.py"
    script.write_text(writer.run().session_state["the_script"])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    # A run with a seed: the script makes the very rows.
    again = pd.read_csv("release_1.csv", dtype=str)
    assert again.equals(first.release.rows.astype(str))
    assert "the one we keep" in capsys.readouterr().out


def generate_small(open_page):
    """A demonstration on four columns of CAR, with a seed."""
    app = quick(open_page).switch_page("generator.py").run()
    app.segmented_control(key="mechanism").set_value("noisy_reweighting").run()
    app.toggle(key="demo").set_value(True).run()
    app.button(key="run").click().run()
    return finish_job(app)


def test_one_button_runs_and_measures_all_mechanisms_and_says_which_did_not_run(open_page, score_cards):
    fewer = '{"buying":null,"doors":null,"maint":null,"persons":null}'
    app = open_page("comparison", data="car", data_columns=fewer, epsilon="1")
    app = finish_job(press(app, "Run all mechanisms"))
    made = app.session_state["releases"]
    assert [one.release.mechanism for one in made] == [name for name in MECHANISMS if name != "private_sampling"]
    assert [one.release.guarantee.epsilon for one in made] == pytest.approx([1.0] * len(made), rel=0.02)
    assert list(last_measured(app.session_state)["reports"]) == [one.number for one in made]
    assert "Not run at ε = 1: Private sampling (one row needs ε ≥ 2.08)." in [c.value for c in app.caption]
    shown = " ".join(m.value for m in app.markdown)
    assert not says_there_is_none(app)
    assert any(words in shown for words in ("closest to the real rows", "about as close", "None of these is close"))
    assert "| rank by tables | | error of tables | prediction of class |" in shown


def test_a_class_without_any_row_is_told_of_beside_the_score_card(open_page, score_cards):
    app = open_page("data").switch_page("generator.py").run()
    current = app.session_state["dataset"]
    few = current.full.frame.assign(bronc=["yes"] * 8 + ["no"] * (current.full.n - 8))
    table = dpsyn.Table(few, current.full.domain)
    app.session_state["dataset"] = current.changed(table=table, full=table, target="bronc")
    app = app.run()
    app.segmented_control(key="mechanism").set_value("dp_cda").run()
    app = finish_job(app.button(key="run").click().run())
    said = "No row of the class yes: by the private counts it may have too few records to mix."
    assert [w for w in app.warning if w.value.startswith(said)]
    app = app.switch_page("comparison.py").run()
    (told,) = [w.value for w in app.warning if said in w.value]
    assert told.startswith("**DP-CDA")
