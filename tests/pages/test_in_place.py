"""Rows that an engine counts where they lie go through the same pages as rows in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from dpsyn.app import opened
from dpsyn.data import counted
from dpsyn.data.in_place import Connection
from tests.conftest import postgres_address
from tests.pages.conftest import confirm, finish_job, last_measured, press, quiet

NO_COPIES = "an engine that has worked does not survive being copied"


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, n)
    frame = pd.DataFrame({"age": age, "größe": np.round(150 + random.random(n) * 50, 1)})
    frame["day"] = np.datetime64("2021-01-01") + random.integers(0, 300, n).astype("timedelta64[D]")
    frame["city"] = pd.Series(random.choice(["Genève", "Oslo", "東京"], n)).where(random.random(n) > 0.1)
    return frame.assign(ill=np.where(age > 60, "yes", "no"), one="x")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in range(2):
        people(seed=part).to_parquet(tmp_path / f"{part}.parquet")
    return tmp_path


@pytest.fixture
def no_query_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages ask no engine: what they show was counted in a background job."""

    def refused(*_: object) -> None:
        raise AssertionError("a page asked the engine")

    monkeypatch.setattr(counted.Engine, "ask", refused)


def open_source(app: AppTest, path: str = "", name: str | None = None) -> AppTest:
    if name is not None:
        app.selectbox(key="source_name").select(name)
    app.text_input(key="source_path").set_value(path)
    return finish_job(press(app, "Open"))


def at_generator(app: AppTest) -> AppTest:
    """With the domain confirmed."""
    app = confirm(app)
    assert app.title[0].value == "Generator"
    return app.switch_page("generator.py").run()


@pytest.mark.usefixtures("no_query_here", "score_cards")
def test_a_folder_of_parquet_files_walks_the_road(open_page, folder):
    app = open_source(open_page("data"), str(folder))
    assert not app.error, app.error[0].value
    current = app.session_state["dataset"]
    assert (current.table.n, current.table.domain.names) == (1_200, ("age", "größe", "day", "city", "ill"))
    assert not current.in_memory
    assert current.target == "ill"
    assert any("read in place" in c.value.lower() and "1,200" in c.value for c in app.caption)
    assert [m.value for m in app.metric if m.label == "Rows, n"] == ["1,200"]
    assert not any(str(folder) in str(v) for v in app.query_params.values())
    app = at_generator(app)
    assert app.session_state["dataset"].table.domain.is_public
    app.segmented_control(key="mechanism").set_value("noisy_reweighting").run()
    app = finish_job(press(app, "Run"))
    assert len(app.session_state["releases"]) == 1
    app = finish_job(app)
    assert not app.error, app.error[0].value
    assert {"Error of tables", "Prediction"} <= {m.label for m in app.metric}
    report = last_measured(app.session_state)["reports"][1]
    assert report.n == 1_200
    app = quiet(app.switch_page("comparison.py").run())
    assert any("drew" in info.value for info in app.info)
    for page in ("feasibility", "inside", "data", "domain", "generator"):
        app = app.switch_page(f"{page}.py").run()
        assert not app.exception, (page, app.exception)
        assert not app.error, (page, app.error[0].value)


@pytest.mark.usefixtures("no_query_here")
def test_a_mechanism_that_needs_rows_has_them_drawn(open_page, folder):
    app = at_generator(open_source(open_page("data"), str(folder)))
    app.segmented_control(key="mechanism").set_value("dp_cda").run()
    app = finish_job(press(app, "Run"))
    assert not app.error, app.error[0].value
    assert app.session_state["releases"][0].release.mechanism == "dp_cda"


@pytest.mark.usefixtures("no_query_here")
def test_a_column_of_another_kind_is_counted_anew_and_the_page_goes_on(open_page, folder):
    app = open_source(open_page("data"), str(folder)).switch_page("domain.py").run()
    before = app.session_state["dataset"]
    key = f"lines_{before.revision}"
    app.session_state[key] = {"edited_rows": {0: {"kind": "categorical"}}, "added_rows": [], "deleted_rows": []}
    app = finish_job(press(app, "Next"))
    assert app.title[0].value == "Generator"
    attribute = app.session_state["dataset"].table.domain["age"]
    assert (attribute.kind, len(attribute.categories)) == ("categorical", 72)


def test_a_large_text_file_is_counted(open_page, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("ill,kind\n" + "yes,a\nno,b\nno,b\n" * 1000)
    app = open_source(open_page("data"), str(path))
    assert app.session_state["dataset"].table.n == 3_000
    app = app.switch_page("feasibility.py").run()
    assert [m.value for m in app.metric][:4] == ["3,000", "2", "3", "66.7\N{NO-BREAK SPACE}%"]


def test_a_named_connection_is_opened_and_is_not_in_the_address(open_page, postgres, monkeypatch):
    postgres.create_table("of_the_app", pa.Table.from_pandas(people()), overwrite=True)
    here = {"warehouse": Connection(postgres_address(), "of_the_app")}
    monkeypatch.setattr(opened, "named_connections", lambda: here)
    app = at_generator(open_source(open_page("data"), name="warehouse"))
    assert (app.session_state["dataset"].table.name, app.session_state["dataset"].table.n) == ("warehouse", 600)
    app.segmented_control(key="mechanism").set_value("mst").run()
    app = finish_job(press(app, "Run"))
    assert not app.error, app.error[0].value
    assert len(app.session_state["releases"]) == 1
    assert not any("of_the_app" in str(v) or "warehouse" in str(v) for v in app.query_params.values())
    # The table goes away: the run says so, and nothing is lost.
    postgres.drop_table("of_the_app")
    app = press(app, "Make other rows")
    app = finish_job(press(app, "Run"))
    assert any("cannot be opened" in e.value or "nothing was released" in e.value for e in app.error)
    assert not any(postgres_address() in e.value for e in app.error)
    assert len(app.session_state["releases"]) == 1
    assert app.session_state["dataset"].table.n == 600


def test_files_that_go_away_lose_nothing_that_was_made(open_page, folder):
    app = at_generator(open_source(open_page("data"), str(folder)))
    for file in folder.iterdir():
        file.unlink()
    app.segmented_control(key="mechanism").set_value("mst").run()
    app = finish_job(press(app, "Run"))
    assert any("nothing was released" in e.value for e in app.error)
    assert "releases" not in app.session_state or not app.session_state["releases"]
    assert app.session_state["dataset"].table.domain.is_public


def test_an_upload_that_was_refused_is_forgotten_once_another_table_is_there(open_page, folder):
    app = open_page("data")
    app.file_uploader(key="upload").upload("bad.csv", b"a,b\n", "text/csv").run()
    assert "is still here" in app.error[0].value
    assert not open_source(app, str(folder)).error


def test_a_path_that_is_not_there_is_explained(open_page):
    app = open_source(open_page("data"), "/nowhere/at/all.csv")
    assert any("/nowhere/at/all.csv" in e.value for e in app.error)
    assert app.session_state["dataset"].table.name == "asia"


def test_paths_are_for_the_visitor_at_this_machine(open_page, monkeypatch):
    monkeypatch.setattr(opened, "is_local", lambda: False)
    assert not [t for t in open_page("data").text_input if t.key == "source_path"]


def test_connections_are_those_with_an_address_and_a_table(monkeypatch):
    secrets = {"connections": {"a": {"url": "postgres://here/x", "table": "t"}, "b": {"url": "postgres://here/y"}}}
    monkeypatch.setattr(opened.st, "secrets", secrets)
    assert opened.named_connections() == {"a": Connection("postgres://here/x", "t")}
