"""The feasibility page shows what dpsyn.feasibility says, for any data and any slider."""

from __future__ import annotations

import pytest

import dpsyn
from dpsyn.theory.datasets import BUILT_IN
from tests.pages.conftest import confirm


def verdict_titles(app):
    return [m.value.removeprefix("## ") for m in app.markdown if m.value.startswith("## ")][:3]


def test_three_verdicts_and_two_charts_for_the_loaded_data(open_page):
    app = open_page("feasibility")
    assert verdict_titles(app) == ["Private sampling", "Noisy reweighting", "DP-CDA"]
    assert len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) == 2


def test_sliders_change_the_verdict_as_the_library_does(open_page):
    app = open_page("feasibility")
    app.select_slider(key="epsilon").set_value(10.0)
    app.slider(key="degree").set_value(1)
    app.slider(key="f_floor").set_value(0.2)
    app.select_slider(key="f_rows").set_value(1).run()
    assert not app.exception
    stats = app.session_state["dataset"].statistics
    expected = dpsyn.feasibility(
        stats, dpsyn.PrivacySpec(10.0, 1e-5), degree=1, floor=0.2, ceiling=2.0, rows=1, failure_probability=0.125
    )
    table = app.table[0].value
    assert list(table["Condition"]) == [c.label for c in expected.private_sampling.conditions]
    assert [float(text.replace("−", "-")) for text in table["Orders of magnitude"]] == pytest.approx(
        [c.slack_orders for c in expected.private_sampling.conditions], abs=0.005
    )
    assert [mark.startswith("✓") for mark in table[""]] == [c.holds for c in expected.private_sampling.conditions]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_papers_datasets_are_built_in(open_page, name):
    app = open_page("feasibility")
    app.pills(key="f_data").set_value([name]).run()
    assert not app.exception
    assert app.metric[0].value == str(BUILT_IN[name].p)


def test_typed_in_statistics(open_page):
    app = open_page("feasibility")
    app.pills(key="f_data").set_value(["Typed in"]).run()
    app.number_input(key="f_p").set_value(10_000)
    app.number_input(key="f_n").set_value(10**15)
    app.number_input(key="f_max").set_value(1e-12).run()
    assert not app.exception
    assert app.metric[0].value == "10,000"
    assert app.metric[3].value == "2.00 × 10²⁹⁹⁸"


@pytest.mark.parametrize("floor", [0.01, 0.5])
@pytest.mark.parametrize("epsilon", [0.001, 1000.0])
def test_the_ends_of_the_sliders_give_a_page(open_page, epsilon, floor):
    app = open_page("feasibility")
    app.select_slider(key="epsilon").set_value(epsilon)
    app.slider(key="f_floor").set_value(floor)
    app.select_slider(key="f_ceiling").set_value(1.05)
    app.slider(key="degree").set_value(4)
    app.select_slider(key="f_rows").set_value(10**6).run()
    assert not app.exception
    assert len(verdict_titles(app)) == 3


@pytest.mark.parametrize("confirmed", [False, True])
def test_no_green_privacy_before_the_domain_is_confirmed(open_page, confirmed):
    app = open_page("data")
    text = "who,ill\n" + "ann,yes\nbob,no\ncid,no\n" * 100
    app.file_uploader(key="upload").upload("people.csv", text.encode(), "text/csv").run()
    if confirmed:
        app = confirm(app)
        assert app.session_state["dataset"].table.domain.is_public
    app = app.switch_page("feasibility.py").run()
    app.select_slider(key="epsilon").set_value(1000.0)
    app.select_slider(key="f_rows").set_value(1).run()
    assert not app.exception
    said = [m.value for m in app.markdown] + [c.value for c in app.caption]
    green = sum("private at this ε" in text and "not certified" not in text for text in said)
    waits = sum("private only once the domain is confirmed" in text for text in said)
    caveats = sum("the domain of who, ill was inferred" in text for text in said)
    assert (green > 0, waits > 0, caveats) == ((True, False, 0) if confirmed else (False, True, waits))
    assert confirmed or caveats == waits >= 1
