"""Links restore the settings of a page, and the code of a page runs as it is."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import parse_qs

import pytest
from streamlit.runtime.state.query_params import QueryParams
from streamlit.testing.v1 import AppTest

from dpsyn.data.samples import SAMPLES
from tests.pages.conftest import ROOT, confirm, finish_job, other_rows, press, quiet


def at(page: str, **query: str | list[str]) -> AppTest:
    """The app as a link opens it."""
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    return quiet(app.switch_page(f"{page}.py").run())


def code_of(app: AppTest) -> str:
    _, code = app.session_state["_code_on_screen"]
    return code()


LINKS = {
    "private sampling": (
        "generator",
        {
            "mechanism": "Private sampling",
            "epsilon": "10",
            "ps_floor": "0.4",
            "ps_most": "false",
            "ps_rows": "2",
            "demo": "true",
        },
    ),
    "feasibility of a published table": ("feasibility", {"f_data": ["ADULT"], "degree": "3"}),
    "inside dp-cda": ("inside", {"data": "digits", "inside_mechanism": "DP-CDA", "order": "8"}),
}


@pytest.mark.parametrize(("page", "button"), [("data", "Next"), ("domain", "Next"), ("domain", "Back"), ("start", "Teach")])
def test_a_presentation_goes_on_by_a_pages_own_buttons(page: str, button: str) -> None:
    app = press(at("start", present="true") if page == "start" else at(page, data="car", present="true"), button)
    assert not app.exception
    assert app.session_state["present"] is True


def test_a_link_with_data_leads_from_start_to_data_with_all_that_it_says() -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=120)
    app.query_params.update({"data": "car", "epsilon": "2", "present": "true"})
    app.run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Data"]
    app = app.switch_page("generator.py").run()
    assert (app.session_state["dataset"].sample, app.session_state["epsilon"]) == ("car", 2.0)
    assert app.session_state["present"] is True


def test_a_step_back_to_start_stays_there_though_its_address_names_data() -> None:
    app = at("generator", data="car").switch_page("start.py").run()
    assert not app.exception
    assert [title.value for title in app.title] == ["Synthetic rows with proven privacy"]


@pytest.mark.parametrize("name", LINKS)
def test_the_code_of_a_page_runs_in_a_process_of_its_own(name, tmp_path):
    page, query = LINKS[name]
    text = code_of(at(page, **query))
    done = subprocess.run(
        [sys.executable, "-c", text], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    assert done.stdout.strip()


@pytest.mark.parametrize(
    ("page", "query", "kind", "key", "value"),
    [
        ("generator", {"mechanism": "Private sampling", "ps_floor": "0.4"}, "slider", "ps_floor", 0.4),
        ("generator", {"mechanism": "Private sampling", "ps_most": "false", "ps_rows": "3"}, "number_input", "ps_rows", 3),
        ("generator", {"mechanism": "DP-CDA", "order": "16"}, "select_slider", "order", 16),
        ("generator", {"mechanism": "DP-CDA", "cda_rows_asia": "40"}, "number_input", "cda_rows_asia", 40),
        ("generator", {"mechanism": "Noisy reweighting", "epsilon": "0.1"}, "select_slider", "epsilon", 0.1),
        ("generator", {"demo": "true", "seed": "5"}, "number_input", "seed", 5),
        ("inside", {"is_columns_asia": ["smoke", "lung"]}, "multiselect", "is_columns_asia", ["smoke", "lung"]),
        ("inside", {"is_space": "m uniform draws", "is_seed": "9"}, "number_input", "is_seed", 9),
        ("feasibility", {"epsilon": "0.1"}, "select_slider", "epsilon", 0.1),
    ],
)
def test_a_link_restores_a_setting(page, query, kind, key, value):
    app = at(page, **query)
    assert getattr(app, kind)(key=key).value == value


@pytest.mark.parametrize("name", SAMPLES)
def test_a_link_opens_its_data(name):
    app = at("generator", data=name)
    assert app.session_state["dataset"].sample == name


def test_nonsense_in_a_link_falls_back_to_the_defaults():
    app = at("inside", data="nothing", is_floor="many", is_columns_asia=["no such column"], inside_mechanism="none")
    assert app.session_state["dataset"].sample == "asia"
    assert app.slider(key="is_floor").value == 0.25


@pytest.mark.parametrize("page", ["comparison", "generator"])
def test_a_setting_that_a_link_has_twice_is_none_that_one_can_have(page):
    app = at(page, data="asia", epsilon=["10", "20"])
    assert any("Not taken from the link: epsilon" in warning.value for warning in app.warning)
    assert "epsilon" not in app.query_params
    assert not any("ε = 20" in block.value for block in (*app.markdown, *app.caption))


def test_the_browser_is_told_todays_name_of_a_setting(monkeypatch):
    told, send = [], QueryParams._send_query_param_msg
    monkeypatch.setattr(QueryParams, "_send_query_param_msg", lambda params: told.append(dict(params)) or send(params))
    at("comparison", data="asia", f_epsilon="10")
    assert told[-1] == {"data": "asia", "epsilon": "10"}


def test_a_draw_stays_while_it_is_frozen_and_not_otherwise():
    app = at("inside", is_space="m uniform draws", is_seed="3")
    app.slider(key="is_floor").set_value(0.1).run()
    assert app.number_input(key="is_seed").value == 3
    app.toggle(key="is_seed_frozen").set_value(False).run()
    drawn = {
        app.slider(key="is_floor").set_value(floor).run().number_input(key="is_seed").value for floor in (0.2, 0.3, 0.4)
    }
    assert len(drawn) > 1
    assert not app.exception


def test_own_data_leaves_no_name_of_its_file_in_the_address(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("secret.csv", b"who,ill\nann,yes\nbob,no\ncid,no\n", "text/csv").run()
    app = app.switch_page("inside.py").run()
    assert not app.exception
    assert "own" in app.query_params["data"]  # that there was one, and nothing of it
    assert "secret" not in str(app.query_params)
    assert app.session_state["dataset"].tag.startswith("own_")


def lost(app):
    return any("The table that you had loaded is gone" in warning.value for warning in app.warning)


def test_after_a_reload_every_page_says_that_a_table_of_ones_own_is_gone():
    app = at("data")
    app.file_uploader(key="upload").upload("secret.csv", b"who,ill\nann,yes\nbob,no\ncid,no\n", "text/csv").run()
    assert not lost(app)
    address = {name: app.query_params[name] for name in ("data", "data_columns") if name in app.query_params}
    assert {name: str(value).strip("[']") for name, value in address.items()} == {"data": "own"}  # nothing of the table
    for page in ("data", "feasibility", "generator", "inside", "lessons", "comparison"):
        again = at(page, data="own")
        assert lost(again)
        assert lost(again.run())
        assert "own" in again.query_params["data"]  # a second reload says it too
    again = again.switch_page("data.py").run()
    again.pills(key="sample").set_value("asia").run()
    assert not lost(again)
    assert "asia" in again.query_params["data"]
    again = at("data", data="own")
    again.file_uploader(key="upload").upload("secret.csv", b"who,ill\nann,yes\nbob,no\ncid,no\n", "text/csv").run()
    assert not lost(again)


def test_generator_and_comparison_say_what_a_reload_does():
    app = at("generator", data="car", mechanism="Noisy reweighting", degree="1")
    assert not any("Reloading" in caption.value for caption in app.caption)  # there is nothing to lose yet
    app = finish_job(app.button(key="run").click().run())
    assert any("Reloading the page deletes it: download" in caption.value for caption in app.caption)
    app = app.switch_page("comparison.py").run()
    assert any("Reloading the page deletes" in caption.value for caption in app.caption)


def test_the_link_to_rows_and_the_address_hold_the_settings_that_made_them():
    asked = {"mechanism": "Noisy reweighting", "epsilon": "10", "degree": "1"}
    app = finish_job(at("generator", data="car", **asked).button(key="run").click().run())
    assert dict(app.query_params) == {"data": "car", **asked}
    assert dict(app.run().query_params) == {"data": "car", **asked}
    app.session_state["share"] = True
    address = next(block.value for block in app.run().code if block.value.startswith(("http", "?")))
    said = {name: texts[-1] for name, texts in parse_qs(address.partition("?")[2]).items()}
    assert asked.items() <= said.items()
    app = other_rows(app)
    app.session_state["epsilon"] = 1.0
    app.session_state["share"] = True
    address = next(block.value for block in app.run().code if block.value.startswith(("http", "?")))
    assert "epsilon" not in address
    assert "degree=1" in address


def test_code_of_own_data_is_to_be_kept_until_they_are_known_to_be_public(open_page):
    app = open_page("data")
    app.file_uploader(key="upload").upload("secret.csv", b"who,ill\nann,yes\nbob,no\ncid,no\n", "text/csv").run()
    app.session_state["share"] = True
    app = app.switch_page("feasibility.py").run()
    (words,) = (caption.value for caption in app.caption if "Put the path of your file" in caption.value)
    assert "keep it to yourself" in words
    app = confirm(app)
    app.session_state["share"] = True
    app = app.switch_page("feasibility.py").run()
    (words,) = (caption.value for caption in app.caption if "Put the path of your file" in caption.value)
    assert "keep it to yourself" not in words
