"""Each section of the feasibility page, with each kind of data."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

from dpsyn.app import opened
from dpsyn.app.explorer import sections
from tests.conftest import postgres_address
from tests.pages.conftest import finish_job

SECTIONS = sections()


def charts(app):
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def section(app, name):
    app.segmented_control(key="f_section").set_value(name).run()
    assert not app.exception, app.exception
    assert not app.error, app.error[0].value
    return app


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("data", [["Loaded data"], ["MUSHROOM", "ASIA"], ["Typed in"]])
def test_every_section_draws_for_every_kind_of_data(open_page, name, data):
    app = open_page("feasibility", f_data=data, f_section=name)
    assert not app.error, app.error[0].value
    assert app.session_state["f_section"] == name
    assert app.session_state["f_data"] == data
    assert charts(app) >= (0 if name == "Export" else 1)


@pytest.mark.parametrize("vary", ["n", "rows", "floor", "ceiling", "reduced_space_size"])
def test_certificates_against_every_parameter(open_page, vary):
    app = section(open_page("feasibility"), "Private sampling")
    app.selectbox(key="f_vary").set_value(vary).run()
    assert not app.exception
    assert list(app.table[0].value["Certificate"])[:1] == ["Theorem 4.1"]


def test_several_datasets_stand_side_by_side(open_page):
    app = open_page("feasibility")
    app.pills(key="f_data").set_value(["Loaded data", "CAR", "ADULT"]).run()
    assert not app.exception
    assert [list(d.value["Data"]) for d in app.table if "Data" in d.value] == [["asia", "CAR", "ADULT"]]
    app.segmented_control(key="f_focus").set_value("ADULT").run()
    assert next(m.value for m in app.metric if "Bits" in m.label) == "62"


def test_exports_hold_the_verdict_and_a_warning(open_page):
    app = section(open_page("feasibility"), "Export")
    labels = [b.label for b in app.get("download_button")]
    assert {"Verdict as JSON", "Verdict as Markdown", "PNG", "SVG"} <= set(labels)
    assert json.dumps(labels)


def test_a_file_is_counted_where_it_lies(open_page, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("ill,kind\n" + "yes,a\nno,b\nno,b\n" * 1000)
    app = section(open_page("feasibility"), "Export")
    app.text_input(key="f_path").set_value(str(path))
    next(b for b in app.button if b.label == "Count it").click().run()
    assert not app.exception
    finish_job(app)
    app.pills(key="f_data").set_value(["Counted file 1"])
    app = section(app, "Verdict")
    assert not app.exception
    assert [m.value for m in app.metric][:4] == ["3,000", "2", "3", "66.7\N{NO-BREAK SPACE}%"]


def test_a_named_connection_is_counted_and_is_not_in_the_address(open_page, postgres, monkeypatch):
    rows = pa.table({"ill": ["yes", "no", "no"] * 100, "kind": ["a", "b", "b"] * 100})
    postgres.create_table("of_the_app", rows, overwrite=True)
    monkeypatch.setattr(opened, "named_connections", lambda: {"warehouse": (postgres_address(), "of_the_app")})
    app = section(open_page("feasibility"), "Export")
    app.selectbox(key="f_connection").select("warehouse")
    next(b for b in app.button if b.label == "Count it").click().run()
    finish_job(app)
    assert not app.exception
    assert not any("of_the_app" in str(v) or "warehouse" in str(v) for v in app.query_params.values())
    app.pills(key="f_data").set_value(["Counted file 1"])
    app = section(app, "Verdict")
    assert [m.value for m in app.metric][:2] == ["300", "2"]


def test_connections_are_those_with_an_address_and_a_table(monkeypatch):
    secrets = {"connections": {"a": {"url": "postgres://here/x", "table": "t"}, "b": {"url": "postgres://here/y"}}}
    monkeypatch.setattr(opened.st, "secrets", secrets)
    assert opened.named_connections() == {"a": ("postgres://here/x", "t")}


def test_a_folder_of_parquet_files_is_counted(open_page, tmp_path):
    frame = pd.DataFrame({"ill": ["yes", "no", "no"], "kind": ["a", "b", "b"]})
    for part in range(2):
        frame.to_parquet(tmp_path / f"{part}.parquet")
    app = section(open_page("feasibility"), "Export")
    app.text_input(key="f_path").set_value(str(tmp_path))
    next(b for b in app.button if b.label == "Count it").click().run()
    finish_job(app)
    app.pills(key="f_data").set_value(["Counted file 1"])
    assert next(m.value for m in section(app, "Verdict").metric) == "6"


def test_a_path_that_is_not_there_is_explained(open_page):
    app = section(open_page("feasibility"), "Export")
    app.text_input(key="f_path").set_value("/nowhere/at/all.csv")
    next(b for b in app.button if b.label == "Count it").click().run()
    finish_job(app)
    assert any("/nowhere/at/all.csv" in e.value for e in app.error)


def test_private_statistics_state_what_they_cost(open_page):
    app = section(open_page("feasibility"), "Export")
    draw = next(b for b in app.button if b.label == "Draw private statistics")
    draw.click().run()
    next(b for b in app.button if b.label == "Draw private statistics").click().run()
    assert not app.exception
    assert any("2 drawn in this visit" in c.value and "ε = 0.2 together" in c.value for c in app.caption)
    assert any("0.1-differentially private" in s.value for s in app.success)
    ((_, first), (_, second)) = app.session_state["published_statistics"]
    assert first.n == second.n == 20_000
    assert abs(first.max_frequency - 0.29115) < 0.05


def test_charts_have_larger_words_while_somebody_presents(open_page):
    app = open_page("feasibility")
    usual = subtitle_size(app)
    app.toggle(key="present").set_value(True).run()
    assert not app.exception
    assert usual == 12 < subtitle_size(app)


def subtitle_size(app):
    chart = [*app.get("vega_lite_chart"), *app.get("arrow_vega_lite_chart")][0]
    return json.loads(chart.proto.spec)["config"]["title"]["subtitleFontSize"]


def test_loaded_data_have_their_real_smallest_class_and_others_are_said_to_be_taken_as_balanced(open_page):
    app = section(open_page("feasibility"), "DP-CDA")
    table = app.session_state["dataset"].parts[0]
    smallest = table.smallest_class(app.session_state["dataset"].target)
    (size,) = (n for n in app.number_input if n.label == "Smallest class Nₖ")
    assert 0 < smallest == size.value < table.n // 2
    assert not [c for c in app.caption if "nobody has said" in c.value]
    app.pills(key="f_data").set_value(["Typed in"]).run()
    assert [c for c in app.caption if "if the smallest class has n / K = 50,000 records" in c.value]
    app.segmented_control(key="f_section").set_value(next(iter(SECTIONS))).run()
    assert [m for m in app.markdown if "if the smallest class holds n/K = 50,000 records, but" in m.value]
