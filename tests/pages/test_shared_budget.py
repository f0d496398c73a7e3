"""ε, δ, d and l are the same on all pages: they go along from page to page, in links, and under their earlier names."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.runtime.state.query_params import QueryParams
from streamlit.testing.v1 import AppTest

from dpsyn.kit.widgets import DELTA, EPSILON
from tests.pages.conftest import finish_job, press
from tests.pages.test_share import at

DEFAULTS = {"epsilon": 1.0, "delta": 1e-5, "degree": 2, "order": 8}
SHOWN = {
    ("generator", ()): ("epsilon", "delta", "degree"),
    ("generator", ("mechanism", "Private sampling")): ("epsilon", "delta", "degree"),
    ("generator", ("mechanism", "Noisy reweighting")): ("epsilon", "delta", "degree"),
    ("generator", ("mechanism", "DP-CDA")): ("epsilon", "delta", "order"),
    ("generator", ("mechanism", "MWEM")): ("epsilon", "delta", "degree"),
    ("feasibility", ()): ("epsilon", "delta", "degree", "order"),
    ("inside", ("inside_mechanism", "Noisy reweighting")): ("epsilon", "delta", "degree"),
    ("inside", ("inside_mechanism", "DP-CDA")): ("epsilon", "delta", "order"),
}
"""Of a page, with what a link to it says, the settings that it shows."""
EARLIER = ["f", "ps", "nr", "mwem", "cda", "is", "in_nr", "in_cda", "lab"]


def values(app: AppTest) -> dict[str, Any]:
    """The shared settings on the page, and those in a form among them."""
    return {s.key: s.value for s in (*app.select_slider, *app.slider) if s.key in DEFAULTS}


def address(app: AppTest) -> dict[str, str]:
    """What the address says of them."""
    found = {name: app.query_params[name] for name in DEFAULTS if name in app.query_params}
    return {name: text if isinstance(text, str) else text[-1] for name, text in found.items()}


@pytest.mark.parametrize("place", SHOWN, ids=str)
def test_every_page_has_the_same_defaults_and_takes_a_link(place: tuple[str, tuple[str, ...]]) -> None:
    page, state = place
    query = dict([state]) if state else {}
    assert values(at(page, **query)) == {name: DEFAULTS[name] for name in SHOWN[place]}
    other = {"epsilon": 0.1, "delta": 1e-8, "degree": 1, "order": 16}
    app = at(page, **query, epsilon="0.1", delta="1e-8", degree="1", order="16")
    assert values(app) == {name: other[name] for name in SHOWN[place]}
    assert not [warning for warning in app.warning if "Not taken from the link" in warning.value]


def test_what_is_set_on_one_page_goes_to_all_others_and_back() -> None:
    app = at("generator", mechanism="Noisy reweighting")
    app.select_slider(key=EPSILON).set_value(3.16)
    app.select_slider(key=DELTA).set_value(1e-8)
    app.slider(key="degree").set_value(1).run()
    app = app.switch_page("feasibility.py").run()
    assert values(app) == {"epsilon": 3.16, "delta": 1e-8, "degree": 1, "order": 8}
    app.select_slider(key="order").set_value(32).run()
    app = app.switch_page("data.py").run()
    app = app.switch_page("lessons.py").run()
    app = app.switch_page("inside.py").run()
    app.segmented_control(key="inside_mechanism").set_value("dp_cda").run()
    assert values(app) == {"epsilon": 3.16, "delta": 1e-8, "order": 32}
    app.select_slider(key=EPSILON).set_value(10.0).run()
    app = app.switch_page("generator.py").run()
    assert values(app)["epsilon"] == 10.0
    app = app.switch_page("comparison.py").run()
    assert "by every mechanism, each with ε = 10, δ = 10⁻⁸" in " ".join(m.value for m in app.markdown)
    app.segmented_control(key="comparison_what").set_value("Experiments").run()
    assert values(app)["delta"] == 1e-8


def test_a_link_to_a_page_that_shows_no_budget_sets_that_of_the_others() -> None:
    app = at("data", epsilon="3.16", delta="1e-8")
    app.query_params.clear()  # as a browser does on the way to another page
    app = app.switch_page("generator.py").run()
    assert values(app)["epsilon"] == 3.16
    assert values(app)["delta"] == 1e-8


@pytest.mark.parametrize("page", EARLIER)
def test_links_of_earlier_versions_are_understood(page: str) -> None:
    earlier = {f"{page}_epsilon": "3.16", f"{page}_delta": "1e-8", f"{page}_degree": "1", f"{page}_order": "32"}
    app = at("feasibility", **earlier)
    assert values(app) == {"epsilon": 3.16, "delta": 1e-8, "degree": 1, "order": 32}
    assert not set(app.query_params) & earlier.keys()
    assert address(app) == {"epsilon": "3.16", "delta": "1e-8", "degree": "1", "order": "32"}
    assert not [warning for warning in app.warning if "Not taken from the link" in warning.value]


def test_comparison_holds_the_budget_that_its_button_spends(monkeypatch: pytest.MonkeyPatch) -> None:
    spends = "by every mechanism, each with ε = 10, δ = 10⁻⁶"
    app = at("comparison", epsilon="10", delta="1e-6")
    assert spends in " ".join(m.value for m in app.markdown)
    app = at("generator", epsilon="10", delta="1e-6")
    app.query_params.clear()  # as a browser does on the way to another page
    sent, send = [], QueryParams._send_query_param_msg
    monkeypatch.setattr(QueryParams, "_send_query_param_msg", lambda params: sent.append(params.to_dict()) or send(params))
    app = app.switch_page("comparison.py").run()
    assert spends in " ".join(m.value for m in app.markdown)
    assert sent == [
        {"data": "asia"},
        {"data": "asia", "epsilon": "10", "delta": "1e-6"},
    ]  # each is an entry of the browser's history
    monkeypatch.undo()
    assert address(app) == address(app.run()) == {"epsilon": "10", "delta": "1e-6"}
    app.segmented_control(key="comparison_what").set_value("Experiments").run()
    app.select_slider(key=DELTA).set_value(1e-5).run()
    app.segmented_control(key="comparison_what").set_value("Releases").run()
    assert address(app) == {"epsilon": "10"}
    app.query_params.update({"epsilon": "3.16", "delta": "1e-9"})  # a step back in the browser
    assert address(app.run()) == {"epsilon": "10"}
    assert address(at("comparison", epsilon="1", delta="1e-5")) == {}
    app = at("comparison", epsilon="7")
    assert address(app) == {}
    assert [w.value for w in app.warning if "Not taken from the link" in w.value and "epsilon" in w.value]


def test_rows_keep_their_budget_in_the_address_and_other_rows_have_that_of_all_pages() -> None:
    app = finish_job(at("generator", data="car", mechanism="MWEM", epsilon="10").button(key="run").click().run())
    app.query_params.clear()
    app = app.switch_page("feasibility.py").run()
    app.select_slider(key=EPSILON).set_value(3.16).run()
    app.query_params.clear()
    app = app.switch_page("generator.py").run()
    assert address(app) == {"epsilon": "10"}
    app = press(app, "Make other rows")
    assert values(app)["epsilon"] == 3.16
    assert address(app) == {"epsilon": "3.16"}
    assert app.segmented_control(key="mechanism").value == "mwem"


@pytest.mark.parametrize(("said", "messages"), [(["a", "b"], 0), (["c", "b"], 1), (["b"], 1), ([], 1)])
def test_of_a_setting_with_several_values_each_is_held(
    said: list[str], messages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page() -> None:
        from dpsyn.app import address

        address.hold({"x": ["a", "b"], "y": []})

    sent, send = [], QueryParams._send_query_param_msg
    monkeypatch.setattr(
        QueryParams, "_send_query_param_msg", lambda params: sent.append(params.get_all("x")) or send(params)
    )
    app = AppTest.from_function(page)
    app.query_params["x"] = said
    assert app.run().query_params["x"] == ["a", "b"]
    assert sent == [["a", "b"]] * messages
