"""Curves of an experiment and where their spread comes from."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import Point
from dpsyn.evaluation.experiments.figures import _note, draw_curves, draw_spread
from dpsyn.evaluation.experiments.summary import points_table


def point(label: str, value: float, mean: float, *, over: bool = False, parts: tuple[float, float] | None = None) -> Point:
    mechanism, draw = parts or (None, None)
    return Point(label, value, "error", mean, mean - 0.1, mean + 0.2, mechanism, draw, 3, 6, 7.0 if over else value, over)


POINTS = [point("b", 10.0, 0.4), point("b", 0.1, 0.8), point("a<b>", 1.0, 0.5, over=True, parts=(0.3, 0.2))]


def test_of_many_systems_a_name_is_bold_only_beside_the_measure_that_it_is_the_best_of() -> None:
    """Of seven, a and g: a is the best of tables, and the worst of ranges by far, of which g is."""
    up = {name: [point(name, value, (at + 1) / 10) for value in (1.0, 2.0)] for at, name in enumerate("abcdefg")}
    down = {name: up[other] for name, other in zip("abcdefg", "gfedcba", strict=True)}
    panels = {
        "tables": [p for points in up.values() for p in points],
        "ranges": [replace(p, label=name) for name, points in down.items() for p in points],
    }
    figure = draw_curves(panels, "epsilon")
    bold = [(note.text, note.yref) for note in figure.layout.annotations if note.text.startswith("<b>")]
    assert bold == [("<b>a</b>", "y"), ("<b>g</b>", "y2")]


def test_curves_are_ordered_along_the_axis_and_keep_their_colours() -> None:
    figure = draw_curves(
        {"error": POINTS}, "epsilon", references={"error": {"fresh real rows, 400": 0.01}}, wish=0.3, labels=("a<b>", "b")
    )
    best, over, curve, *_ = figure.data
    assert [value for value, *_ in curve.customdata] == [0.1, 10.0]
    assert list(best.y) == list(curve.y) == [0.8, 0.4]
    names = [trace.name for trace in figure.data]
    assert names == ["the best", "a&lt;b&gt; (over budget)", "b", "fresh real rows, 400 (0.01)", "wanted (0.3)"]
    assert list(curve.error_y.array) == pytest.approx([0.2, 0.2])
    assert list(curve.error_y.arrayminus) == pytest.approx([0.1, 0.1])
    assert figure.layout.xaxis.type == "log"
    assert "needs ε = 7" in over.customdata[0][1]


def test_only_the_points_over_the_budget_are_marked() -> None:
    (trace,) = draw_curves({"error": [point("a", 1.0, 0.5, over=True), point("a", 2.0, 0.4)]}, "epsilon").data
    assert trace.marker.symbol == ("circle-open", "circle")
    assert (trace.name, trace.line.dash) == ("a (over budget where open)", "solid")


def test_a_single_run_has_no_bar_and_says_so() -> None:
    single = replace(point("a", 1.0, 0.5), low=None, high=None, runs=1)
    (trace,) = draw_curves({"error": [single]}, "epsilon").data
    assert list(trace.error_y.array) == list(trace.error_y.arrayminus) == [0.0]
    assert "no interval" in trace.customdata[0][1]


def test_degrees_are_not_on_a_logarithmic_axis() -> None:
    figure = draw_curves({"error": [point("a", 1, 0.5), point("a", 2, 0.4)]}, "degree")
    assert figure.layout.xaxis.type is None
    assert list(figure.data[0].x) == [1, 2]


def test_an_experiment_without_results_has_a_figure() -> None:
    assert len(draw_curves({"error": []}, "epsilon", wish=0.1).data) == 1


@pytest.mark.parametrize("mean", [1e17, 1e100, -1e100])
def test_equal_numbers_have_a_figure_whatever_their_size(mean: float) -> None:
    low, high = draw_curves({"R² of x": [point("a", 1, mean), point("a", 2, mean)]}, "epsilon").layout.yaxis.range
    assert low < mean < high


def test_the_name_of_a_measure_is_no_mark_up() -> None:
    name = '<a href="http://example.org">here</a>'
    spread = draw_spread(POINTS, name, "epsilon")
    for axis in (draw_curves({name: POINTS}, "epsilon").layout.yaxis, spread.layout.xaxis):
        assert "<" not in axis.title.text
        assert "&lt;a href=" in axis.title.text


def test_unknown_axes_are_refused() -> None:
    with pytest.raises(ParameterError):
        draw_curves({"error": POINTS}, "colour")


def test_the_spread_of_those_that_can_be_told() -> None:
    bars = draw_spread(POINTS, "error", "epsilon").data
    assert list(bars[0].y) == ["a&lt;b&gt;, ε = 1"]
    assert draw_spread(POINTS[:2], "error", "epsilon") is None
    assert [list(b.x) for b in bars] == [[0.3], [0.2]]


def test_errors_are_drawn_in_proportion_as_long_as_they_are_above_zero() -> None:
    figure = draw_curves({"error": [point("a", 1, 0.05)]}, "epsilon", references={"error": {"floor": 0.0}})
    assert figure.layout.yaxis.type == "log"
    # The band reaches from -0.05, and so does its bar: Plotly draws it to the edge, without a cap.
    assert list(figure.data[0].error_y.arrayminus) == pytest.approx([0.1])
    assert len(figure.data) == 1
    assert draw_curves({"error": [point("a", 1, 0.0)]}, "epsilon").layout.yaxis.type is None


@pytest.mark.parametrize(
    ("means", "shown"),
    [((0.004, 0.3), ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]), ((0.0001, 5.0), ["0.001", "0.01", "0.1", "1"])],
)
def test_ticks_of_the_proportional_axis_are_labelled_in_full(means: tuple[float, ...], shown: list[str]) -> None:
    points = [Point("a", i, "error", m, m, m, None, None, 1, 1, 1.0, False) for i, m in enumerate(means, start=1)]
    axis = draw_curves({"error": points}, "epsilon").layout.yaxis
    assert [float(text) for text in axis.ticktext] == pytest.approx(list(axis.tickvals))
    assert set(shown) <= set(axis.ticktext)


@pytest.mark.parametrize("means", [(0.11, 0.14), (0.123, 0.123), (0.2, 0.45)])
def test_a_narrow_proportional_axis_has_ticks_where_the_curves_are(means: tuple[float, ...]) -> None:
    points = [Point("a", i, "error", m, m, m, None, None, 1, 1, 1.0, False) for i, m in enumerate(means, start=1)]
    axis = draw_curves({"error": points}, "epsilon").layout.yaxis
    assert sum(0.8 * min(means) <= tick <= 1.2 * max(means) for tick in axis.tickvals) >= 3


def test_ticks_of_a_narrow_axis_are_round() -> None:
    points = [Point("a", i, "error", m, m, m, None, None, 1, 1, 1.0, False) for i, m in enumerate((0.147, 0.194), start=1)]
    shown = draw_curves({"error": points}, "epsilon").layout.yaxis.ticktext
    assert {"0.15", "0.16", "0.17", "0.18", "0.19"} <= set(shown)
    assert all(len(text) <= 4 for text in shown)


def test_a_mean_of_fewer_runs_than_asked_for_looks_different_and_says_so() -> None:
    few = replace(point("b", 0.1, 0.8), runs=1, failed=4)
    (trace,) = draw_curves({"error": [few, point("b", 10.0, 0.4)]}, "epsilon").data
    assert trace.marker.symbol == ("circle-open-dot", "circle")
    assert "1 of 5 runs, 4 failed" in trace.customdata[0][1]
    assert "failed" not in trace.customdata[1][1]
    (usual,) = draw_curves({"error": [point("b", 10.0, 0.4)]}, "epsilon").data
    assert usual.marker.symbol == ("circle",)


@pytest.mark.parametrize("epsilon", [7.0, 20.00041, 0.123401, 1234.01])
def test_the_epsilon_that_a_point_needs_is_never_said_to_be_less_than_it_is(epsilon: float) -> None:
    over = replace(point("a", 1.0, 0.2, over=True), claimed_epsilon=epsilon)
    (said,) = re.findall(r"needs ε = (\S+): not comparable", _note(over))
    assert epsilon <= float(said) < epsilon * 1.001
    assert "needs" not in _note(replace(over, over_budget=False))
    table = points_table([replace(over, mechanism_deviation=0.03, draw_deviation=0.01)], "epsilon")
    assert table[["Deviation, noise", "Deviation, draw"]].to_numpy().tolist() == [[0.03, 0.01]]
    (claimed,) = table["Claimed ε"]
    assert epsilon <= float(claimed) < epsilon * 1.001
