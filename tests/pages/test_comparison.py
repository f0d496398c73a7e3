"""The comparison page: nothing without releases, numbers with them."""

from __future__ import annotations

import pytest

from tests.pages.conftest import finish_job


def generate(app, name):
    app = app.switch_page("app_pages/generator.py").run()
    app.segmented_control(key="mechanism").set_value(name).run()
    app.button(key="run").click().run()
    return finish_job(app)


def measure(app):
    app = app.switch_page("app_pages/comparison.py").run()
    next(b for b in app.button if b.label == "Measure").click().run()
    assert not app.exception
    return finish_job(app)


def test_without_a_release_it_points_to_the_generator(open_page):
    app = open_page("comparison")
    assert "no release of this data yet" in app.info[0].value
    assert not [b for b in app.button if b.label == "Measure"]


def test_releases_are_measured_beside_the_sampling_noise(open_page):
    app = generate(generate(open_page("home"), "noisy_reweighting"), "dp_cda")
    app = measure(app)
    assert not app.error
    table = app.dataframe[0].value
    assert [line.split(" · ")[1] for line in table["Compared"][:2]] == ["Noisy reweighting", "DP-CDA"]
    assert table["Compared"].iloc[2].startswith("Sampling noise")
    for degree in (1, 2, 3):
        assert (table[f"{degree}-way mean"] <= table[f"{degree}-way max"]).all()
    # 15,000 rows at ε = 1 on 8 columns: noise costs something, but far less than DP-CDA's balanced classes.
    assert table["2-way mean"].iloc[0] < 0.05 < table["2-way mean"].iloc[1]
    reports = app.session_state["comparison"]["reports"]
    scores = next(iter(reports.values())).classification
    assert scores.real.majority_accuracy == pytest.approx(0.56, abs=0.05)
    assert len(app.get("plotly_chart")) == 1 + 3 + 1 + 1


def test_releases_of_other_data_are_not_mixed_in(open_page):
    app = generate(open_page("home"), "noisy_reweighting")
    app = app.switch_page("app_pages/home.py").run()
    app.pills(key="sample").set_value("car").run()
    app = app.switch_page("app_pages/comparison.py").run()
    assert not app.exception
    assert "no release of this data yet" in app.info[0].value
    app = app.switch_page("app_pages/generator.py").run()
    assert len(app.session_state["releases"]) == 1
