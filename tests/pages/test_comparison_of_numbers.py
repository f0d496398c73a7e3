"""Columns of numbers in a comparison: tables and pictures of their values, correlations, and predictions of a number."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.notation import percent
from tests.pages.conftest import confirm, finish_job, last_measured


def wages(rows: int = 400) -> bytes:
    """Half of the rows have no wage; the others follow the height."""
    random = np.random.default_rng(0)
    height = random.uniform(150, 200, rows).round(1)
    wage = np.where(random.random(rows) < 0.5, 0.0, (50 * height + random.normal(0, 50, rows)).round(2))
    frame = pd.DataFrame({"height": height, "wage": wage, "sex": np.where(height > 175, "m", "f")})
    return frame.assign(twice=2 * wage).to_csv(index=False).encode()


@pytest.fixture(scope="module")
def measured(open_page):
    """Such a table with a release whose columns do not depend on each other, measured for the prediction of a number."""
    app = open_page("data")
    app.file_uploader(key="upload").upload("wages.csv", wages(), "text/csv").run()
    app = confirm(app)
    current = app.session_state["dataset"]
    learn, config = current.parts[0], dpsyn.NoisyReweighting(degree=1, rows=200)
    made = config.calibrate(dpsyn.PrivacySpec(10.0), learn.domain, n=learn.n)(np.random.default_rng(0), learn)
    app.session_state["releases"] = [MadeRelease(1, "one", made, 0, current.table.name, learn.domain, 0.1, config)]
    app = app.switch_page("comparison.py").run()
    target = app.selectbox(key=f"comparison_target_{current.tag}")
    assert target.options == ["height", "wage", "sex", "twice"]
    assert target.value == "sex"
    target.set_value("height")
    next(b for b in app.button if b.label == "Measure").click().run()
    app = finish_job(app)
    assert not app.exception
    return app


def table(app, column):
    return next(shown.value for shown in app.dataframe if column in shown.value)


def fresh_ones(app):
    return f"Fresh real rows, {app.session_state['dataset'].parts[1].n:,}"


def figures(app):
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def test_every_column_has_the_real_rows_the_release_and_the_yardstick(measured):
    shown = table(measured, "Commonest")
    assert shown["Column"].tolist() == ["height"] * 3 + ["wage"] * 3 + ["twice"] * 3
    assert shown["Compared"].tolist()[:3] == ["Real rows", "one (no. 1)", fresh_ones(measured)]
    real, release, held = (shown.iloc[at] for at in (3, 4, 5))
    learn, held_out = measured.session_state["dataset"].parts
    rows = measured.session_state["releases"][0].release.rows
    for line, frame in ((real, learn.frame), (release, rows), (held, held_out.frame)):
        assert float(line["Mean"].replace(",", "")) == pytest.approx(frame["wage"].mean(), rel=1e-4)
        assert float(line["95 %"].replace(",", "")) == pytest.approx(frame["wage"].quantile(0.95), rel=1e-4)
        share = frame["wage"].value_counts(normalize=True).iloc[0]
        assert line["Commonest"].endswith(f": {percent(share)}")
    assert real["Commonest"].startswith("0: ")
    assert held["Commonest"].startswith("0: ")
    assert not any(line["Commonest"].endswith(f": {percent(0)}") for _, line in shown.iterrows())
    assert pd.isna(real["Largest gap"])
    assert 0 < held["Largest gap"] < 0.2


def test_of_very_many_columns_those_that_are_furthest_are_in_the_table(measured, monkeypatch):
    from dpsyn.evaluation import tables

    reports = {"one (no. 1)": last_measured(measured.session_state)["reports"][1]}
    gaps = {errors.column: errors.kolmogorov_smirnov for errors in next(iter(reports.values())).values}
    monkeypatch.setattr(tables, "MOST_COLUMNS", 1)
    assert set(tables.values_table(reports)["Column"]) == {max(gaps, key=gaps.__getitem__)}


def test_lost_correlations_are_drawn_and_told(measured):
    shown = table(measured, "Coefficient")
    assert shown["Compared"].tolist() == ["one (no. 1)"] * 3 + [fresh_ones(measured)] * 3
    assert shown["Coefficient"].tolist() == ["correlation", "rank correlation", "correlation ratio"] * 2
    assert shown["Of which pair"].iloc[0] == "wage × twice"
    assert shown["Largest"].iloc[0] > 0.8
    assert shown["Largest"].iloc[3] < 0.3
    (drawn,) = [figure for figure in figures(measured) if figure["layout"]["title"]["text"] == "Rank correlation"]
    assert [note["text"] for note in drawn["layout"]["annotations"]] == ["Real", "one (no. 1)"]


def test_the_report_holds_values_correlations_and_predictions(measured):
    from dpsyn.app.lab.report import report_bytes

    state = measured.session_state
    found = {"reports": {"one (no. 1)": last_measured(state)["reports"][1]}}
    text = report_bytes(state["dataset"], state["releases"], found, []).decode()
    for words in ("<th>Commonest</th>", "Rank correlation", "<th>Of which pair</th>", "<th>Mean absolute error</th>"):
        assert words in text


def test_a_number_is_predicted_beside_the_mean(measured):
    shown = table(measured, "R²").set_index(["Trained on", "Model"])
    assert list(shown.columns) == ["R²", "Mean absolute error", "Rows", "Note"]
    models = ["ridge regression", "boosted trees"]
    assert shown.index.tolist() == [
        *(("one (no. 1)", model) for model in models), *(("Real rows", model) for model in [*models, "always the mean"])
    ]  # fmt: skip
    assert shown.loc[("one (no. 1)", models[0]), "R²"] < 0.2
    assert shown.loc[("Real rows", models[0]), "R²"] > 0.7
    assert any(caption.value.startswith("R²: ") for caption in measured.caption)
    kept = measured.session_state["releases"][0].measured
    assert kept["measures"]["R², ridge regression"] < 0.2
    assert set(kept["references"]["R², ridge regression"]) == {"real data", "mean", "better than guessing"}


def test_one_column_is_drawn_by_its_values(measured):
    (select,) = [box for box in measured.selectbox if box.label == "Column"]
    app = select.set_value("wage").run()
    assert not app.exception
    (drawn,) = [figure for figure in figures(app) if figure["layout"]["title"]["text"] == "Values of wage"]
    heads = [trace for trace in drawn["data"] if trace["mode"] == "markers"]
    assert heads[0]["customdata"][0][0] == "0"
    learn = app.session_state["dataset"].parts[0]
    assert heads[0]["customdata"][0][1] == pytest.approx((learn.frame["wage"] == 0).mean())
