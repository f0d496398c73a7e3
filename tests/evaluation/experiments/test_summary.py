"""Where a spread comes from, and where a curve crosses a wish."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import CellResult, Point, crossings, results_frame, summarise
from dpsyn.evaluation.experiments.results import Status
from dpsyn.evaluation.experiments.summary import points_table


def result(repeat: int, numbers: list[float], value: float = 1.0, label: str = "a") -> CellResult:
    measures = tuple({"error": x} for x in numbers)
    return CellResult(
        f"{label}{value}{repeat}",
        label,
        "m",
        value,
        repeat,
        "done",
        guarantee={"epsilon": 1.0, "delta": 0.0, "neighbouring": "replace_one"},
        measures=measures,
    )


def test_a_small_case_by_hand() -> None:
    (point,) = summarise([result(0, [1.0, 3.0]), result(1, [5.0, 7.0])], "error")
    assert point.mean == 4.0
    assert point.draw_deviation == pytest.approx(math.sqrt(2))
    # Means 2 and 6: variance 8, of which 2/2 is the draw's.
    assert point.mechanism_deviation == pytest.approx(math.sqrt(7))
    half = 12.706204736 * math.sqrt(8) / math.sqrt(2)
    assert (point.low, point.high) == pytest.approx((4 - half, 4 + half))
    assert (point.runs, point.draws) == (2, 4)
    (line,) = points_table([point], "epsilon").to_dict("records")
    shown = [line[column] for column in ("Mean", "95 % from", "to", "Deviation, noise", "Deviation, draw")]
    assert shown == pytest.approx([4, 4 - half, 4 + half, math.sqrt(7), math.sqrt(2)])


def test_runs_with_unequal_draws_by_hand() -> None:
    (point,) = summarise([result(0, [1.0, 3.0]), result(1, [5.0])], "error")
    # Means 2 and 5: variance 4.5, of which 2·(1/2 + 1)/2 is the draw's.
    assert point.draw_deviation == pytest.approx(math.sqrt(2))
    assert point.mechanism_deviation == pytest.approx(math.sqrt(3))


def test_points_are_in_order_whichever_run_ended_first() -> None:
    results = [result(run, [run + at], at, label) for label in "ab" for at in (1.0, 3.0, 10.0) for run in (0, 1)]
    points = summarise(results, "error")
    assert [(point.label, point.value) for point in points] == [(label, at) for label in "ab" for at in (1.0, 3.0, 10.0)]
    assert summarise(results[::-1], "error") == points


def test_the_parts_of_a_made_up_spread_are_found() -> None:
    random = np.random.default_rng(0)
    runs = random.normal(0, 2.0, 4000)
    results = [result(i, list(run + random.normal(0, 1.0, 2))) for i, run in enumerate(runs)]
    (point,) = summarise(results, "error")
    assert point.mechanism_deviation == pytest.approx(2.0, rel=0.05)
    assert point.draw_deviation == pytest.approx(1.0, rel=0.05)


def test_one_draw_or_one_run_cannot_tell() -> None:
    (point,) = summarise([result(0, [1.0]), result(1, [3.0])], "error")
    assert point.mechanism_deviation is None
    assert point.draw_deviation is None
    (single,) = summarise([result(0, [1.0])], "error")
    assert (single.low, single.mean, single.high, single.interval) == (None, 1.0, None, None)


def test_a_measure_that_nobody_took_is_refused_as_the_figure_refuses_it() -> None:
    with pytest.raises(ParameterError, match="'error'"):
        summarise([result(0, [1.0])], "eror")


ASKED = {"epsilon": 1.0, "delta": 1e-5, "neighbouring": "add_remove"}
BUDGETS = [
    ({}, "on budget"),
    ({"epsilon": 0.5}, "on budget"),
    ({"epsilon": 1 + 1e-12}, "on budget"),  # rounding
    ({"epsilon": 1.001}, "over budget"),
    ({"delta": 1.001e-5}, "over budget"),
    ({"delta": 1e-4, "epsilon": 0.1}, "over budget"),
    ({"neighbouring": "replace_one"}, "other neighbours"),
    ({"neighbouring": "replace_one", "epsilon": 2.0}, "over budget"),
]
"""What differs of a claim from what was asked for, and what its run is called."""


@pytest.mark.parametrize(("changes", "budget"), BUDGETS)
def test_one_run_that_gives_something_else_than_was_asked_for_is_enough_to_mark_its_point(
    changes: dict[str, Any], budget: str
) -> None:
    others = [replace(result(i, [1.0]), asked=ASKED, guarantee=ASKED | {"epsilon": 0.9}) for i in range(3)]
    one = replace(others[1], guarantee=ASKED | changes)
    assert one.budget == budget
    for at in range(3):
        runs = [*others[:at], replace(one, repeat=at, key=str(at)), *others[at + 1 :]]
        (point,) = summarise(runs, "error")
        assert point.claimed_epsilon == max(0.9, one.guarantee["epsilon"])
        assert (point.over_budget, point.other_neighbours) == (budget == "over budget", budget == "other neighbours")
        assert point.fair == (budget == "on budget")
        assert results_frame(runs)["budget"].tolist().count(budget) == (3 if budget == "on budget" else 1)


def test_only_what_was_done_counts() -> None:
    lost = CellResult("x", "a", "m", 1.0, 0, "crashed", "died")
    assert results_frame([lost]).empty
    assert summarise([lost], "error") == []


def curve(means: list[float], half: float = 0.0) -> list[Point]:
    return [
        Point("a", 10.0**i, "error", mean, mean - half, mean + half, None, None, 3, 3, 1.0, over_budget=False)
        for i, mean in enumerate(means)
    ]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *((field, wrong) for field in ("label", "measure") for wrong in (None, 1, "\ud800")),
        *((field, wrong) for field in ("value", "mean") for wrong in (None, "a", math.nan, math.inf)),
        *((field, "a") for field in ("low", "high", "mechanism_deviation", "draw_deviation", "claimed_epsilon")),
        *((field, math.nan) for field in ("low", "high", "mechanism_deviation", "draw_deviation")),
        *((field, wrong) for field in ("runs", "draws", "failed") for wrong in (None, -1, 0.5)),
        *((field, "no") for field in ("over_budget", "other_neighbours")),
    ],
)
def test_a_point_of_something_else_is_refused(field: str, wrong: object) -> None:
    with pytest.raises(ParameterError) as caught:
        replace(curve([0.4])[0], **{field: wrong})
    assert caught.value.field == field


@pytest.mark.parametrize(("field", "wrong"), [("label", "\ud800"), ("message", 1), ("value", math.nan), ("low", "a")])
def test_a_crossing_of_something_else_is_refused(field: str, wrong: object) -> None:
    (found,) = crossings(curve([0.4]), 0.3, "below")
    with pytest.raises(ParameterError) as caught:
        replace(found, **{field: wrong})
    assert caught.value.field == field


def test_a_crossing_between_two_values() -> None:
    (found,) = crossings(curve([0.4, 0.2, 0.1], half=0.05), 0.3, "below")
    # Errors are straight over their logarithm, as in the figure; the band's ends go from 0.35 to 0.15 and 0.45 to 0.25.
    assert found.value == pytest.approx(10 ** (math.log(4 / 3) / math.log(2)))
    assert found.low == pytest.approx(10 ** (math.log(35 / 30) / math.log(35 / 15)))
    assert found.high == pytest.approx(10 ** (math.log(45 / 30) / math.log(45 / 25)))


def test_where_the_figure_is_linear_so_is_the_reading() -> None:
    (found,) = crossings([replace(p, measure="accuracy, x") for p in curve([0.2, 0.4])], 0.3, "above")
    assert found.value == pytest.approx(10**0.5)
    (zero,) = crossings(curve([0.4, 0.2, 0.0]), 0.3, "below")
    assert zero.value == pytest.approx(10**0.5)


def test_a_band_that_reaches_zero_meets_the_wish_from_the_first_value_on() -> None:
    points = [replace(p, low=low) for p, low in zip(curve([0.4, 0.2], half=0.05), (0.35, 0.0), strict=True)]
    (found,) = crossings(points, 0.3, "below")
    assert found.low == pytest.approx(1.0, abs=0.01)
    (early,) = crossings([replace(p, low=0.0) for p in points], 0.3, "below")
    assert early.low == 1.0
    assert "95 %: at most 1 to" in early.message


def test_a_single_run_has_no_interval_of_its_crossing() -> None:
    (found,) = crossings([replace(p, low=None, high=None, runs=1) for p in curve([0.4, 0.2])], 0.3, "below")
    assert (found.low, found.high) == (None, None)
    assert found.message == "about 2.6 (a single run has no 95 % interval)"


def test_a_wish_for_more_is_the_mirror_image() -> None:
    points = [replace(p, measure="accuracy, x") for p in curve([0.6, 0.8, 0.9], half=0.05)]
    (found,) = crossings(points, 0.7, "above")
    assert found.value == pytest.approx(10**0.5)
    assert found.low == pytest.approx(10**0.25)


def test_wishes_met_at_once_or_never() -> None:
    (early,) = crossings(curve([0.1, 0.05]), 0.3, "below")
    assert early.value == 1.0
    assert "already" in early.message
    (unsure,) = crossings(curve([0.1, 0.05], half=0.22), 0.3, "below")  # the upper end goes from 0.32 to 0.27
    assert (unsure.value, unsure.high) == (1.0, pytest.approx(10 ** (math.log(32 / 30) / math.log(32 / 27))))
    for wish, direction in ((0.3, "below"), (0.4, "above")):  # at the last value and no further
        means = [0.4, 0.3] if direction == "below" else [0.3, 0.4]
        (last,) = crossings(curve(means), wish, direction)  # type: ignore[arg-type]
        assert last.value == pytest.approx(10)
        assert last.message.startswith("about 10")
    (none,) = crossings(curve([0.2, 0.05], half=0.1), 0.0, "below")  # has no logarithm: the lower end goes from 0.1 to -0.05
    assert (none.value, none.low) == (None, pytest.approx(10 ** (2 / 3)))
    (never,) = crossings(curve([0.4, 0.35], half=0.1), 0.3, "below")
    assert never.value is None
    assert never.high is None
    assert never.low == pytest.approx(1.0)
    assert "not reached" in never.message


def test_a_curve_that_comes_back_has_to_stay() -> None:
    for means in ([0.1, 0.4, 0.2], [0.5, 0.4, 0.2], [0.4, 0.1, 0.4, 0.2], [0.5, 0.1, 0.1, 0.4, 0.2]):
        (found,) = crossings(curve(means), 0.3, "below")
        assert found.value == pytest.approx(10 ** (len(means) - 2 + math.log(4 / 3) / math.log(2)))


def test_bad_questions() -> None:
    with pytest.raises(ParameterError):
        crossings(curve([1.0]), math.nan, "below")
    with pytest.raises(ParameterError):
        crossings(curve([1.0]), 0.5, "beside")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("measure", "numbers", "ends"),
    [
        ("2-way error, mean", (0.01, 0.05), (0.0, 0.284)),
        ("accuracy, logistic regression", (0.9, 0.98), (0.432, 1.0)),
        ("Brier score, logistic regression", (1.2, 1.9), (0.0, 2.0)),
        ("correlation, mean difference", (0.001, 0.4), (0.0, 2.0)),
        ("rank correlation, largest difference", (1.2, 1.9), (0.0, 2.0)),
        ("correlation ratio, mean difference", (0.001, 0.4), (0.0, 1.0)),
        ("ROC-AUC, logistic regression", (0.9, 0.98), (0.432, 1.0)),
        ("calibration error, boosted trees", (0.01, 0.05), (0.0, 0.284)),
        ("range queries, mean error", (0.01, 0.05), (0.0, 0.284)),
        ("loss in the worst group, boosted trees", (-0.5, 0.5), (-1.0, 1.0)),
        ("propensity, pMSE ratio", (1.0, 9.0), (0.0, 55.824)),
        ("R², ridge regression", (0.9, 0.98), (0.432, 1.0)),
        ("R², ridge regression", (0.01, 0.05), (-0.224, 0.284)),
        ("mean absolute error, boosted trees", (0.01, 0.05), (0.0, 0.284)),
        ("mean absolute error, boosted trees", (1.2, 1.9), (0.0, 5.997)),
        ("something else", (0.01, 0.05), (-0.224, 0.284)),
        # Of numbers that no such measure has, as a file may state them, the mean is in its interval, too.
        ("2-way error, mean", (-0.4, -0.2), (-0.3, 0.971)),
        ("accuracy, logistic regression", (1.2, 1.4), (0.029, 1.3)),
    ],
)
def test_intervals_end_where_the_measure_does(measure: str, numbers: tuple[float, float], ends: tuple[float, float]) -> None:
    runs = [replace(result(i, [1.0]), measures=({measure: number},)) for i, number in enumerate(numbers)]
    (point,) = summarise(runs, measure)
    assert (point.low, point.high) == pytest.approx(ends, abs=1e-3)


def test_runs_without_rows_are_counted() -> None:
    statuses: list[Status] = ["failed", "refused", "crashed", "failed"]
    lost = [replace(result(i, []), status=how, message="no", measures=()) for i, how in enumerate(statuses, start=1)]
    first, second = summarise([result(0, [1.0]), *lost, result(0, [1.0], value=3.0)], "error")
    assert (first.runs, first.failed, first.runs_in_words) == (1, 4, "1 of 5 runs, 4 failed")
    assert (second.runs, second.failed, second.runs_in_words) == (1, 0, "1 run")
