"""``dpsyn app people.csv``: the file is loaded where the visit is this machine's own, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.app import opened

ROUTER = Path(__file__).parents[2] / "pages" / "_router.py"


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def visit(text: str | None = "smokes,sick\nyes,no\nno,no\nyes,yes\n", *, local: bool = True, **query: str) -> AppTest:
        path = tmp_path / "people.csv"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        monkeypatch.setenv(opened.FILE, str(path))
        monkeypatch.setattr(opened, "is_local", lambda: local)
        app = AppTest.from_file(str(ROUTER), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        return app.run()

    return visit


def name_of(app: AppTest) -> str:
    return str(app.session_state["dataset"].table.name) if "dataset" in app.session_state else "none"


def test_the_file_is_the_data_of_the_visit(begin) -> None:
    app = begin()
    assert name_of(app) == "people"
    assert app.title[0].value == "Data"
    assert not app.session_state["dataset"].table.domain.is_public


def test_after_a_reload_too(begin) -> None:
    assert name_of(begin(data="own")) == "people"


def test_a_link_that_names_data_goes_first(begin) -> None:
    assert name_of(begin(data="car")) == "car"


def test_a_visit_from_elsewhere_does_not_get_it(begin) -> None:
    assert name_of(begin(local=False)) == "none"


@pytest.mark.parametrize(("text", "said"), [(None, "No such file"), ("a,b\n1\n", "people.csv")])
def test_what_is_wrong_with_it_is_said(begin, text: str | None, said: str) -> None:
    app = begin(text)
    assert name_of(app) == "asia"
    assert any(said in error.value for error in app.error)


def test_that_a_workspace_is_lost_is_told_at_once(tmp_path: Path) -> None:
    def page(folder: str) -> None:
        import streamlit as st

        from dpsyn.app import state
        from dpsyn.errors import WorkspaceError

        def fail(_: object) -> None:
            raise WorkspaceError("it cannot be written any more")

        st.session_state["workspace"] = folder
        state.with_workspace(fail)

    app = AppTest.from_function(page, kwargs={"folder": str(tmp_path)}).run()
    assert not app.exception
    assert [toast.value for toast in app.toast] == ["The workspace was closed: see page Comparison."]
    assert app.session_state["workspace_lost"] == "it cannot be written any more"
