"""Mechanisms on several datasets side by side: every number is drawn, and what spends more is marked."""

from __future__ import annotations

import json

import pytest

from benchmarks.three_mechanisms import draw_standings
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import Point
from dpsyn.kit.show import chart_svg


def point(label: str, mean: float, *, over: bool = False) -> Point:
    return Point(label, 1.0, "m", mean, mean - 0.01, mean + 0.02, None, None, 5, 10, 1234.0 if over else 1.0, over)


ERROR, SCORE = "2-way error, mean", "accuracy, boosted trees"
POINTS = {
    name: {ERROR: [point("a", 0.1), point("b", 0.005, over=True)], SCORE: [point("a", 0.9), point("b", 0.3, over=True)]}
    for name in ("one", "two")
}
LINES = {"one": {ERROR: {"sampling floor": 0.02}, SCORE: {"real data": 0.95, "majority class": 0.6}}}


def test_all_numbers_are_there() -> None:
    drawn = draw_standings("title", POINTS, LINES)
    chart = json.loads(drawn.to_json())
    panels = chart["concat"]
    assert [panel["title"]["text"] for panel in panels] == ["one", "two", "", ""]
    assert panels[0]["layer"][1]["encoding"]["y"]["sort"] == ["a", "b"]
    assert len(panels) == 4
    assert chart["columns"] == 2
    values = [line["data"]["values"] for line in panels[0]["layer"]]
    assert [v["mean"] for v in values[0]] == [0.02]
    assert [(v["label"], v["mean"], v["over"]) for v in values[1]] == [("a", 0.1, False), ("b", 0.005, True)]
    assert values[1][1]["needs"] == "needs ε = 1,234"
    scales = [panel["layer"][1]["encoding"]["x"]["scale"] for panel in panels]
    # A lower end below zero has no place on a logarithmic axis; all datasets share one.
    assert scales[0] == scales[1]
    assert scales[0]["domain"][0] > 0
    assert scales[2]["domain"] == [0, 1]
    assert chart_svg(drawn).startswith(b"<svg")


def test_what_cannot_stand_side_by_side() -> None:
    with pytest.raises(ParameterError):
        draw_standings("t", {}, {})
    with pytest.raises(ParameterError, match="the same measures"):
        draw_standings("t", {"one": {ERROR: []}, "two": {SCORE: []}}, {})
