"""A release whose published claim is refuted says so wherever it is kept, listed or handed on."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.mechanisms.registry import MECHANISMS, title
from tests.pages.conftest import file_of_runs, finish_job, quiet
from tests.pages.test_generator_dp_cda import at, run


@pytest.fixture(scope="module")
def published(open_page) -> AppTest:
    app = at(open_page)
    app.select_slider(key="epsilon").set_value(10.0)
    quiet(app.segmented_control(key="cda_way").set_value("as_published").run())
    app, _ = run(app)
    return quiet(app.switch_page("comparison.py").run())


def listed(app: AppTest) -> dict[str, str]:
    (line,) = app.dataframe[0].value.to_dict("records")
    return line


def check(app: AppTest) -> None:
    line = listed(app)
    assert (line["ε"], line["δ"]) == ("none", "none")
    assert line["Status"].removesuffix(", read from a file") == "no guarantee"
    (made,) = app.session_state["releases"]
    assert made.release.guarantee.status == "published_but_wrong"
    assert np.isinf(made.release.guarantee.epsilon)
    assert made.release.seeded
    assert "no guarantee" in made.label


def open_workspace(app: AppTest, folder: str) -> AppTest:
    app.text_input(key="workspace_folder").set_value(folder).run()
    return quiet(finish_job(app.button(key="workspace_open").click().run()))


def test_in_the_list_and_through_a_workspace(published, open_page, tmp_path):
    check(published)
    open_workspace(published, str(tmp_path))
    other = open_workspace(open_page("comparison", data="breast_cancer"), str(tmp_path))
    check(other)


def test_through_a_file(published, open_page):
    other = open_page("comparison", data="breast_cancer")
    other.file_uploader(key="runs_import_0").upload("runs.json", file_of_runs(published), "application/json").run()
    finish_job(other.button(key="runs_read").click().run())
    check(other)


def test_no_experiment_is_offered_with_its_settings(published):
    def offered():
        import streamlit as st

        from dpsyn.app.lab.planner import choices
        from dpsyn.kit import visit

        st.session_state["offered"] = list(choices(visit.dataset()))

    reader = AppTest.from_function(offered, default_timeout=60)
    for key in ("dataset", "releases"):
        reader.session_state[key] = published.session_state[key]
    names = quiet(reader.run()).session_state["offered"]
    assert names == [title(name) for name in MECHANISMS]
    assert not any("as in release" in name for name in names)
