"""Each section of the feasibility page, with each kind of data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpsyn.app import explorer
from dpsyn.app.explorer import sections
from dpsyn.domain import Domain
from dpsyn.kit import widgets
from tests.pages.conftest import charts, quiet

SECTIONS = sections()


def section(app, name):
    quiet(app.segmented_control(key="f_section").set_value(name).run())
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


def test_statistics_for_publication_are_not_called_those_for_teaching(open_page):
    tags = [m.value for m in section(open_page("feasibility"), "Export").markdown if "badge" in m.value]
    assert any("Private release" in tag for tag in tags)
    app = open_page("data")
    app.file_uploader(key="upload").upload("people.csv", b"who,ill\n" + b"ann,yes\nbob,no\n" * 100, "text/csv").run()
    app = section(app.switch_page("feasibility.py").run(), "Export")
    assert "Statistics that may be published once the domain is confirmed" in [h.value for h in app.header]
    assert not any("Reads private data" in m.value for m in app.markdown)


def test_rows_that_are_held_out_are_named(open_page):
    app = open_page("feasibility")
    current = app.session_state["dataset"]
    (rows,) = (metric for metric in app.metric if metric.label == f"Rows n, of {current.table.n:,} loaded")
    assert rows.value == f"{current.parts[0].n:,}"
    app.pills(key="f_data").set_value(["ADULT"]).run()
    assert app.metric[0].label == "Rows, n"


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


@pytest.mark.parametrize("known", [8, 7, 0])
def test_statistics_for_publication_are_those_that_were_drawn(open_page, monkeypatch, known):
    written = []
    monkeypatch.setattr(explorer, "verdict_markdown", lambda found, *_, private: written.append((found, private)) or "text")
    app, confirmed = open_page("feasibility"), known == 8
    if not confirmed:
        current = app.session_state["dataset"]
        columns = [replace(a, public=at < known) for at, a in enumerate(current.table.domain.attributes)]
        table = current.table.with_domain(Domain.of(columns))
        app.session_state["dataset"] = replace(current, table=table, full=table)
    app = section(app, "Export")
    next(b for b in app.button if b.label == "Draw private statistics").click().run()
    assert not app.exception
    ((_, drawn),) = app.session_state["published_statistics"]
    assert drawn.guarantee.status == ("proven" if confirmed else "unconfirmed_domain")
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["p (public)" if confirmed else "p (once the domain is confirmed)"] == f"{drawn.p:,}"
    assert any("Statistics that may be published once the domain is confirmed" in h.value for h in app.header) != confirmed
    assert shown["n"] == f"{drawn.n:,}"
    assert shown["‖fₙ‖∞, private"] == widgets.number(drawn.max_frequency)
    low, high = map(widgets.number, drawn.max_frequency_interval)
    assert shown["95 % interval"] == f"{low} to {high}"
    ((found,), private) = written[-1]
    assert found.stats == drawn.statistics()
    assert private is not confirmed


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
