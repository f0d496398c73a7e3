"""The frontier against brute force, its words, what a run takes, and the picture of the field."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import (
    CellResult,
    Experiment,
    Grid,
    Point,
    Workspace,
    archive_text,
    crossings,
    read_archive,
    results_frame,
    summarise,
)
from dpsyn.evaluation.experiments.field import FIELD, costs, field_panels, frontier, frontier_in_words, unfinished
from dpsyn.evaluation.experiments.figures import _apart, draw_curves
from dpsyn.evaluation.experiments.results import Results, Status
from dpsyn.evaluation.experiments.summary import points_table, refusals
from dpsyn.mechanisms.registry import MECHANISMS, config_class
from dpsyn.privacy.spec import PrivacySpec
from tests.evaluation.experiments.fakes import result_of

ACCURACY = "accuracy, logistic regression"


def point(label: str, value: float, mean: float, half: float = 0.0, measure: str = "error", **further: Any) -> Point:
    return Point(
        label, value, measure, mean, mean - half, mean + half, None, None, 3, 3, value, **{"over_budget": False} | further
    )


means = st.lists(st.floats(0, 1), min_size=12, max_size=12)


@given(means, st.lists(st.sampled_from(["fair", "over", "other"]), min_size=12, max_size=12), st.booleans())
def test_nobody_who_gives_what_was_asked_for_is_better_than_the_frontier(
    heights: list[float], kinds: list[str], rising: bool
) -> None:
    places = list(product("abc", (0.1, 1.0, 3.0, 10.0)))
    measure = ACCURACY if rising else "error"
    points = [
        point(label, value, mean, measure=measure, over_budget=kind == "over", other_neighbours=kind == "other")
        for (label, value), mean, kind in zip(places, heights, kinds, strict=True)
    ]
    hull = {p.value: p for p in frontier(points)}
    all_fair = [
        [p.mean for p in points if p.value == value and not p.over_budget and not p.other_neighbours]
        for value in (0.1, 1.0, 3.0, 10.0)
    ]
    if all(len(there) != 1 and len(set(there)) <= 1 for there in all_fair):
        assert not hull  # nothing tells them apart
        return
    for value, there in zip((0.1, 1.0, 3.0, 10.0), all_fair, strict=True):
        assert (value in hull) == bool(there)
        if there:
            assert hull[value].mean == (max if rising else min)(there)
            assert hull[value].fair
    assert list(hull) == sorted(hull)


def test_the_frontier_in_words() -> None:
    two = [point("A", 0.1, 0.2), point("B", 0.1, 0.3), point("A", 0.3, 0.2), point("B", 0.3, 0.3)]
    assert frontier_in_words(two, "epsilon") == "A at every ε."
    late = [*two, point("A", 1.0, 0.2), point("B", 1.0, 0.1), point("A", 3.0, 0.2), point("B", 3.0, 0.1)]
    assert frontier_in_words(late, "epsilon") == "A up to ε = 0.3, then B."
    third = [*late, point("C", 10.0, 0.01), point("D", 10.0, 0.001, over_budget=True)]
    assert frontier_in_words(third, "epsilon") == "A up to ε = 0.3, B up to ε = 3, then C."
    equal = [point(label, value, 0.2, 0.01) for label in "AB" for value in (0.1, 1.0)]
    assert frontier_in_words(equal, "epsilon") == "No system is better than another one: all are equal at every ε."
    assert frontier_in_words([point("A", 1.0, 0.1)], "epsilon") == "A at every ε."
    assert frontier_in_words([point("D", 1.0, 0.1, over_budget=True)], "epsilon").startswith("No system")


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({"A": (0.3, 0.2), "B": (0.3, 0.1)}, "B at every ε."),
        ({"A": (0.3, 0.3, 0.2), "B": (0.3, 0.3, 0.1)}, "B at every ε."),
        ({"A": (0.3, 0.2, 0.2), "B": (0.2, 0.2, 0.2)}, "B at every ε."),
        ({"A": (0.2, 0.2, 0.2), "B": (0.3, 0.2, 0.1)}, "A up to ε = 1, then B."),
        ({"A": (0.2, 0.2), "B": (0.2, 0.2)}, "No system is better than another one: all are equal at every ε."),
    ],
)
def test_of_equal_systems_the_one_that_is_the_best_next_door_is_named(errors: dict[str, Any], said: str) -> None:
    points = [point(a, value, e) for a, of in errors.items() for value, e in zip((0.1, 1.0, 3.0), of, strict=False)]
    assert frontier_in_words(points, "epsilon").startswith(said)


def test_bars_that_meet_are_said() -> None:
    points = [
        point("A", 0.1, 0.2, 0.05),
        point("B", 0.1, 0.28, 0.04),
        point("A", 1.0, 0.1, 0.05),
        point("B", 1.0, 0.3, 0.05),
    ]
    assert frontier_in_words(points, "epsilon").endswith("(bars meet): B at ε = 0.1.")
    for unfair in ("over_budget", "other_neighbours"):
        others = [point("C", value, 0.2, 0.2, **{unfair: True}) for value in (0.1, 1.0)]
        assert frontier_in_words([*others, *points], "epsilon") == frontier_in_words(points, "epsilon")


def single(label: str, value: float, mean: float) -> Point:
    return replace(point(label, value, mean), low=None, high=None, runs=1)


@pytest.mark.parametrize("alone", ["AB", "A", "B"])
def test_what_a_single_run_cannot_tell_is_said(alone: str) -> None:
    """Errors of which one is of a single run, by less than a quarter apart: as the advice on releases has it."""
    errors = {"A": (0.1, 0.0502), "B": (0.1001, 0.0501), "C": (0.126, 0.07)}
    points = [
        (single if label in alone else point)(label, value, mean)
        for label, means in errors.items()
        for value, mean in zip((1.0, 2.0), means, strict=True)
    ]
    said = "A up to ε = 1, then B. Perhaps as good (a single run): B at ε = 1, A at ε = 2."
    assert frontier_in_words(points, "epsilon") == said
    met = [*points, point("B", 3.0, 0.05, 0.01), point("C", 3.0, 0.06, 0.01)]
    assert frontier_in_words(met, "epsilon") == f"{said} Perhaps as good (bars meet): C at ε = 3."


def test_single_runs_without_any_error_are_not_told_apart() -> None:
    points = [single("A", 1.0, 0.0), single("B", 1.0, 0.0), single("A", 2.0, 0.1), single("B", 2.0, 0.2)]
    assert frontier_in_words(points, "epsilon") == "A at every ε. Perhaps as good (a single run): B at ε = 1."


@pytest.mark.parametrize(
    ("measure", "one", "other", "told"),
    [
        ("accuracy, trees", 0.95, 0.77, True),
        ("accuracy, trees", 0.80, 0.77, False),
        ("accuracy, trees", 1.0, 0.9, True),
        ("R², ridge", -0.50, -0.49, False),
        ("R², ridge", 0.9, 0.1, True),
        ("loss in the worst group, trees", -0.010, -0.011, False),
        ("error", 0.1, 0.14, True),
        ("error", 0.0, 0.1, True),
    ],
)
def test_single_runs_are_told_apart_by_what_they_lose(measure: str, one: float, other: float, told: bool) -> None:
    points = [replace(single(label, 1.0, mean), measure=measure) for label, mean in (("A", one), ("B", other))]
    assert ("Perhaps as good" in frontier_in_words(points, "epsilon")) != told


def test_a_single_run_within_the_bar_of_another_is_not_told_apart() -> None:
    points = [single("A", 1.0, 0.1), point("B", 1.0, 0.14, 0.05)]
    assert frontier_in_words(points, "epsilon") == "A at every ε. Perhaps as good (a single run): B at ε = 1."


def test_where_a_system_has_not_run_the_best_is_not_known() -> None:
    points = [point("A", 0.1, 0.2), point("B", 0.1, 0.3), point("A", 1.0, 0.2), point("A", 3.0, 0.2), point("B", 3.0, 0.1)]
    assert [p.value for p in frontier(points, {1.0})] == [0.1, 3.0]
    words = "A at ε = 0.1; B at ε = 3. Not known yet at ε = 1, where not every system has run."
    assert frontier_in_words(points, "epsilon", {1.0}) == words
    nowhere = "Not known yet at ε = 0.1, 1, 3: not every system has run there."
    assert frontier_in_words(points, "epsilon", {3.0, 0.1, 1.0}) == nowhere
    figure = draw_curves({"error": points}, "epsilon", waiting={1.0})
    best = figure.data[0]
    assert (best.name, list(best.x), list(best.y)) == ("the best", [0.1, 1.0, 3.0], [0.2, None, 0.1])


def test_a_system_is_waited_for_until_a_run_of_it_has_ended() -> None:
    configs = {"A": config_class("mst")(), "B": config_class("noisy_reweighting")(degree=1)}
    grid = Grid(configs, PrivacySpec(1.0, 1e-5), values=(1.0, 2.0), repeats=2)
    cells = {(cell.label, cell.value, cell.repeat): cell for cell in grid.cells()}

    def ended(label: str, value: float, status: Status) -> CellResult:
        return CellResult.of(cells[label, value, 0], status)

    first = [ended("A", 1.0, "done"), ended("B", 1.0, "done"), ended("A", 2.0, "done")]
    assert unfinished(grid, []) == {1.0, 2.0}
    assert unfinished(grid, first) == {2.0}
    for status in ("done", "refused", "failed", "crashed"):
        assert unfinished(grid, [*first, ended("B", 2.0, status)]) == set()
    # A has no degree: its run stands at the last value, and is one for both.
    by_degree = replace(grid, vary="degree", values=(1, 2))
    runs = [CellResult.of(cell, "done") for cell in by_degree.cells() if cell.repeat == 0 and cell.value == 2]
    assert unfinished(by_degree, runs) == {1}


def test_an_experiment_that_was_cancelled_names_no_winner_where_a_system_is_missing() -> None:
    grid = Grid({"A": config_class("mst")(), "B": config_class("aim")()}, PrivacySpec(1.0, 1e-5), values=(1.0, 2.0, 3.0))
    results = Results([*RESULTS, result("B", 3.0, 0, 0.9)], grid)
    assert "2-way error, mean: A at ε = 1, 2. Not known yet at ε = 3, where not every system has run." in " ".join(
        repr(results).split()
    )
    for name in (FIELD, "2-way error, mean"):
        best = results.figure(name).data[0]
        assert (best.name, list(best.y)) == ("the best", [*map(pytest.approx, [0.105, 0.055]), None])


def result(label: str, value: float, repeat: int, error: float, **further: Any) -> CellResult:
    measures = {"2-way error, mean": error, "range queries, mean error": error / 2, ACCURACY: 1 - error}
    name = "mst" if label == "A" else "aim"
    claim = {"epsilon": value, "delta": 0.0, "neighbouring": "replace_one"}
    return CellResult(
        f"{label}{value}{repeat}", label, name, value, repeat, "done", guarantee=claim, measures=(measures,), **further
    )


RESULTS = [
    result(label, value, repeat, error / value + repeat / 100, processor=processor + repeat, gigabytes=0.5 + repeat)
    for label, error, processor in (("A", 0.1, 1.0), ("B", 0.2, 5.0))
    for value in (1.0, 2.0)
    for repeat in (0, 1)
]


def test_three_measures_and_what_is_missed_is_one_less_what_is_hit() -> None:
    panels = field_panels(RESULTS)
    assert list(panels) == ["2-way error, mean", "range queries, mean error", "misclassification, logistic regression"]
    errors, missed = panels["2-way error, mean"], panels["misclassification, logistic regression"]
    assert [p.mean for p in errors] == pytest.approx([0.105, 0.055, 0.205, 0.105])
    for p, q in zip(missed, errors, strict=True):
        assert (p.mean, p.low, p.high) == pytest.approx((q.mean, q.low, q.high))
    # Two runs 0.01 apart: 12.7062 · 0.0070711 / √2.
    assert errors[0].high - errors[0].mean == pytest.approx(12.7062047 * 0.005)


def level() -> Experiment:
    """Two runs each of a system with an order of mixture, l = 1, 8 and 32, and of tables, which have none."""
    mixing = config_class("dp_cda")(target="k")
    configs = {"tables": config_class("noisy_reweighting")(), "mixing": mixing}
    grid = Grid(configs, PrivacySpec(1.0, 1e-5), "order_of_mixture", (1, 8, 32), 2)
    experiment = Experiment(1, "level", "asia", "f00", grid, "k", (2,), ())
    for cell in experiment.cells:
        error = 0.01 if cell.label == "tables" else 0.4 / cell.value
        measures = {"2-way error, mean": error + cell.repeat / 1000}
        experiment.results[cell.key] = replace(result_of(cell), measures=(measures,))
    return experiment


def test_a_run_without_the_setting_that_varies_counts_at_every_value(tmp_path: Path) -> None:
    one = level()
    assert [r.value for r in one.results.values() if r.label == "tables"] == [32, 32]
    Workspace(tmp_path).keep(one)
    for experiment in (one, *read_archive(archive_text([], [one])).experiments, *Workspace(tmp_path).read().experiments):
        results, grid = experiment.found, experiment.grid
        points = summarise(results, "2-way error, mean")
        assert [(p.label, p.value, p.runs) for p in points] == [
            (name, v, 2) for name in ("mixing", "tables") for v in (1, 8, 32)
        ]
        assert [p.mean for p in points] == pytest.approx([0.4005, 0.0505, 0.013, 0.0105, 0.0105, 0.0105])
        assert points_table(points, grid.vary)["l"].tolist() == [1, 8, 32] * 2
        assert results_frame(results).groupby("label")["value"].unique().map(sorted).tolist() == [[1, 8, 32]] * 2
        words = frontier_in_words(field_panels(results)["2-way error, mean"], grid.vary, unfinished(grid, results))
        assert words.startswith("tables at every l.")
        mixing, tables = crossings(points, 0.0125, "below", logarithmic=True)
        assert (mixing.value, tables.value) == (None, 1.0)
        best, *curves = results.figure("2-way error, mean").data
        assert list(best.x) == [1, 8, 32]
        assert list(best.y) == pytest.approx([0.0105] * 3)
        assert [len(curve.x) for curve in curves] == [3, 3]
        assert costs([replace(r, gigabytes=1.0) for r in results])["Runs"].tolist() == [6, 2]
        assert "8 runs: 8 done" in repr(results)


def test_what_was_refused_without_the_setting_that_varies_was_refused_at_every_value() -> None:
    experiment = level()
    for key, run in experiment.results.items():
        if run.label == "tables":
            experiment.results[key] = replace(run, status="refused", message="too few rows", measures=())
    at = ", ".join(f"{value} (2 of 2 runs refused)" for value in (1, 8, 32))
    assert refusals(experiment.found) == [("tables", at, "refused: too few rows")]


@pytest.mark.parametrize("kept", ["A", 1.0])
def test_one_system_or_one_value_is_no_field(kept: object) -> None:
    assert field_panels([r for r in RESULTS if kept in (r.label, r.value)]) == {}


def test_what_a_run_takes() -> None:
    found = costs(
        [*RESULTS, CellResult.of(next(Grid({"C": config_class("mst")()}, PrivacySpec(1.0, 1e-5)).cells()), "refused")]
    )
    assert found.to_numpy().tolist() == [["A", 4, 1.5, 2.0, 1.5], ["B", 4, 5.5, 6.0, 1.5]]
    uneven = [
        result("A", 1.0, repeat, 0.1, processor=seconds, gigabytes=0.5) for repeat, seconds in enumerate((1.0, 30.0, 2.0))
    ]
    assert costs(uneven).to_numpy().tolist() == [["A", 3, 2.0, 30.0, 0.5]]
    unknown = [result(label, 1.0, 3, 0.1, processor=99.0) for label in "AB"]  # as earlier versions kept them
    assert costs([*uneven, *unknown]).to_numpy().tolist() == [["A", 3, 2.0, 30.0, 0.5]]


def test_what_is_printed_says_which_systems_give_something_else_than_was_asked_for() -> None:
    asked = {"epsilon": 1.0, "delta": 0.0, "neighbouring": "add_remove"}
    changes = {"A": {"epsilon": 2.0004}, "B": {}, "C": {"neighbouring": "replace_one"}}
    results = [replace(result(label, 1.0, 0, 0.1), asked=asked, guarantee=asked | changes[label]) for label in changes]
    configs = {label: config_class(name)() for label, name in zip(changes, ("mst", "aim", "mwem"), strict=True)}
    grid = Grid(configs, PrivacySpec(1.0, neighbouring="add_remove"))
    lines = repr(Results(results, grid)).splitlines()
    marked = {label: [line.split("  ")[1] for line in lines if line.startswith(f"  {label}")] for label in changes}
    assert marked == {"A": ["A (over budget: ε = 2.01)"], "B": ["B"], "C": ["C (other neighbours)"]}


def test_the_picture_has_three_panels_with_bars_and_the_frontier() -> None:
    grid = Grid({"A": config_class("mst")(), "B": config_class("aim")()}, PrivacySpec(1.0, 1e-5), values=(1.0, 2.0))
    results = Results(RESULTS, grid, {ACCURACY: {"real data": 0.95}})
    assert results.figures[0] == FIELD
    figure = results.figure()
    assert figure.layout.title.text.startswith("Errors against ε.")
    assert len(list(figure.select_yaxes())) == 3
    assert all(axis.type == "log" for axis in figure.select_yaxes())
    names = [trace.name for trace in figure.data]
    assert [names.count(name) for name in ("the best", "A", "B", "real data (0.05)")] == [3, 3, 3, 1]
    best, first = figure.data[0], figure.data[1]
    assert list(best.y) == pytest.approx([0.105, 0.055])
    assert list(first.y) == pytest.approx([0.105, 0.055])
    assert first.error_y.array[0] == pytest.approx(12.7062047 * 0.005)
    assert [(where[2], where[0]) for where in first.customdata] == [("A", 1.0), ("A", 2.0)]
    assert "2-way error, mean: A at every ε." in repr(results)


@pytest.mark.parametrize(("real", "told"), [(0.89, False), (0.9, False), (0.91, True)])
def test_no_system_is_the_best_in_a_prediction_in_which_real_data_is_no_better_than_guessing(
    real: float, told: bool
) -> None:
    grid = Grid({"A": config_class("mst")(), "B": config_class("aim")()}, PrivacySpec(1.0, 1e-5), values=(1.0, 2.0))
    results = Results(RESULTS, grid, {ACCURACY: {"real data": real, "better than guessing": 0.9}})
    nobody = (
        "misclassification, logistic regression: This tells no system from another: real data are not clearly better than "
        "guessing."
    )
    said = " ".join(repr(results).split())
    assert (nobody in said) != told
    assert ("misclassification, logistic regression: A at every ε." in said) == told
    assert "2-way error, mean: A at every ε." in said
    for name, errors in ((FIELD, 2), (ACCURACY, 0)):
        assert [trace.name for trace in results.figure(name).data].count("the best") == errors + told


def test_every_system_of_the_registry_has_a_line_and_only_the_best_have_colours() -> None:
    configs = {config.title: config() for config in map(config_class, MECHANISMS) if config.as_it_comes(9, None)}
    grid = Grid(configs, PrivacySpec(1.0, 1e-5), values=(1.0, 2.0))
    results = [result(label, value, 0, (at + 1) / 100 / value) for at, label in enumerate(configs) for value in (1.0, 2.0)]
    figure = Results(results, grid).figure()
    assert {trace.name for trace in figure.data} == {*configs, "the best"}
    colours = {trace.name: trace.marker.color for trace in figure.data if trace.name in configs}
    (best,) = [name for name in colours if list(colours.values()).count(colours[name]) == 1]
    assert best == next(iter(configs))
    words = [note.text for note in figure.layout.annotations]
    assert words.count(f"<b>{best}</b>") == 3
    assert len(words) == 3 * len(configs)


def test_what_is_zero_stands_at_the_lower_end_of_a_logarithmic_axis() -> None:
    grid = Grid({"A": config_class("mst")(), "B": config_class("aim")()}, PrivacySpec(1.0, 1e-5), values=(1.0, 2.0))
    results = Results([result(name, v, 0, 0.0 if v == 2.0 else 0.5) for name in "AB" for v in (1.0, 2.0)], grid)
    figure = results.figure()
    assert figure.layout.yaxis.type == "log"
    # Crossings are read on the figure of one measure, between straight lines.
    assert results.figure("2-way error, mean").layout.yaxis.type is None
    assert 0 < figure.data[1].y[1] < 0.5
    assert figure.data[1].customdata[1][3] == 0.0


@given(st.lists(st.floats(0, 300), max_size=15))
def test_labels_are_apart_in_their_order_and_inside(places: list[float]) -> None:
    found = _apart(places, 14, 320)
    order = sorted(range(len(places)), key=lambda i: places[i])
    assert all(found[b] - found[a] > 13.99 for a, b in pairwise(order))
    assert all(-0.01 <= y <= 320.01 for y in found)
    if all(places[b] - places[a] >= 14 for a, b in pairwise(order)):
        assert found == pytest.approx(places)


GRID = Grid({"B": config_class("mwem")()}, PrivacySpec(1.0))


@pytest.mark.parametrize("wrong", [3, [], "lines", {"a": 1.0}, {"a": {"b": "high"}}, {"a": {1: 1.0}}, {1: {}}])
def test_what_is_drawn_beside_a_measure_is_numbers_by_name(wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"^references = "):
        Results([], GRID, wrong)


@pytest.mark.parametrize(
    ("field", "results", "grid"),
    [
        *(("results", wrong, GRID) for wrong in (None, 3, "abc", [1], {"a": 1})),
        *(("grid", RESULTS, wrong) for wrong in (None, {}, PrivacySpec(1.0))),
    ],
)
def test_results_are_of_cells_of_a_grid(field: str, results: Any, grid: Any) -> None:
    assert Results({r.key: r for r in RESULTS}.values(), GRID) == Results(iter(RESULTS), GRID) == RESULTS
    with pytest.raises(ParameterError) as caught:
        Results(results, grid)
    assert caught.value.field == field
