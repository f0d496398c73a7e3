"""Rows, words and inputs of a chart that follows its sliders."""

from __future__ import annotations

import json

import altair as alt
import vl_convert

from dpsyn.kit import live

STATES = [
    [{"x": 1, "y": 2.0, "text": "a"}, {"x": 2, "y": 4.0, "text": "b"}],
    [{"x": 1, "y": 3.0, "text": "a"}],
    [{"x": 1, "y": 5.0, "text": "a"}, {"x": 2, "y": 6.0, "text": "b"}],
]


def test_what_all_states_share_is_sent_once() -> None:
    spec = live.rows(STATES).mark_point().to_dict()
    assert json.loads(spec["data"]["values"]) == [
        {"x_now": 1, "y_now": 2.0, "y_other": {"1": 3.0, "2": 5.0}, "text_now": "a"},
        {
            "x_now": 2,
            "x_other": {"1": None},
            "y_now": 4.0,
            "y_other": {"1": None, "2": 6.0},
            "text_now": "b",
            "text_other": {"1": None},
        },
    ]
    assert {each["as"] for each in spec["transform"]} == {"x", "y", "text"}


def test_one_state_is_any_chart() -> None:
    spec = live.rows(STATES[:1]).mark_point().to_dict()
    assert next(iter(spec["datasets"].values())) == STATES[0]
    assert "transform" not in spec
    assert live.words(["a"]) == "a"
    chart = live.rows(STATES[:1]).mark_point()
    assert live.follow(chart, {}) is chart


def test_browser_shows_the_state_of_the_slider_that_moved() -> None:
    chart = live.rows(STATES).mark_point().encode(x="x:Q", y="y:Q")
    chart = live.follow(chart, {"a": 1, "b": 1}).properties(title=alt.Title("A title", subtitle=[""]))
    live.put_subtitle(chart.title, [["now"], ["one"], ["two"]])
    for name, expected in ((None, 0), ("live_a", 1), ("live_b", 2)):
        spec = chart.to_dict(validate=False)
        for param in spec["params"]:
            if param["name"] == name:
                param["value"] = 0
        shown = vl_convert.vegalite_to_svg(spec)
        assert ("now", "one", "two")[expected] in shown
        assert shown.count("y: ") == len(STATES[expected])
        for row in STATES[expected]:
            assert f"y: {row['y']:g}" in shown


def test_script_survives_the_page() -> None:
    # Streamlit's cleaner drops a script in which a "<" stands before a letter, as if it were a tag.
    assert not any(
        before == "<" and (after.isalpha() or after == "/")
        for before, after in zip(live.SCRIPT, live.SCRIPT[1:], strict=False)
    )
