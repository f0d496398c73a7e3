"""Releases line by line: what is drawn, in which order, and that names from data are escaped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.baseline import real_baseline
from dpsyn.evaluation.conclusions import ranking
from dpsyn.evaluation.prediction import Prediction, Score
from dpsyn.evaluation.report import Report, evaluate
from dpsyn.evaluation.standings import draw_errors, draw_scores
from dpsyn.kit.layers import GUIDE, SERIES
from dpsyn.kit.plotly import shorten
from dpsyn.table import Table

LONG = "a release <b> with a name that is much too long for a line, ε = 1"
CUT = shorten(LONG, 40).replace("<b>", "&lt;b&gt;")
DOMAIN = Domain.of(
    [
        Attribute("size", "numeric", lower=0, upper=1, bins=4),
        Attribute("colour", "categorical", categories=("red", "blue")),
        Attribute("ill", "truth", categories=("no", "yes")),
    ]
)


def _table(rows: int, seed: int) -> Table:
    generator = np.random.default_rng(seed)
    size = generator.random(rows)
    colour = np.where(generator.random(rows) < size, "blue", "red")
    return Table(pd.DataFrame({"size": size, "colour": colour, "ill": np.where(size > 0.5, "yes", "no")}), DOMAIN)


REAL, HELD = _table(300, 1), _table(100, 2)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    baseline = real_baseline(REAL, HELD, "ill")
    made = {
        "one row": evaluate(REAL, REAL.frame[:1], baseline=baseline),
        LONG: evaluate(REAL, _table(200, 3).frame, baseline=baseline),
        "copy": evaluate(REAL, REAL.frame[:295], baseline=baseline),
    }
    assert ranking(made) == ["copy", LONG, "one row"]
    return made


def _dots(figure: Any, panel: int) -> dict[str, dict[str, float | None]]:
    """By kind and by the name at the left of the line."""
    data = json.loads(figure.to_json())
    names = data["layout"]["yaxis"]["ticktext"]
    axis = "x" if panel == 0 else "x2"
    return {
        trace["name"]: {names[at]: value for at, value in zip(trace["y"], trace["x"], strict=True)}
        for trace in data["data"]
        if trace.get("xaxis") == axis and trace["mode"] == "markers" and trace["x"] != [None]
    }


def test_errors_stand_in_order_with_as_many_fresh_real_rows_as_the_closest_has_among_them(
    reports: dict[str, Report],
) -> None:
    fresh, name = reports["copy"].fresh, "Fresh real rows, 295"
    assert fresh is not None
    each = {degree: [*fresh.each[degree].values()] for degree in (1, 2, 3)}
    figure = draw_errors(reports, [4, 9, 2])
    names = list(figure.layout.yaxis.ticktext)
    assert names == [
        "copy",
        *((CUT, name) if reports[LONG].marginals[2].mean < np.mean(each[2]) else (name, CUT)),
        "one row",
    ]
    assert tuple(figure.layout.yaxis.range) == (3.5, -0.5)
    for panel, what in enumerate(("mean", "max")):
        for degree, kind in ((1, "1 column"), (2, "2 columns"), (3, "3 columns")):
            found = _dots(figure, panel)[kind]
            assert found == {
                "copy": getattr(reports["copy"].marginals[degree], what),
                CUT: getattr(reports[LONG].marginals[degree], what),
                "one row": getattr(reports["one row"].marginals[degree], what),
                name: pytest.approx({"mean": np.mean, "max": np.max}[what](each[degree])),
            }
    colours = dict(zip(names, figure.data[1].marker.color, strict=True))
    assert colours == {"one row": SERIES[4], CUT: SERIES[9 % len(SERIES)], "copy": SERIES[2], name: GUIDE}
    assert len({trace.marker.symbol for trace in figure.data if trace.showlegend is None}) == 3
    told = figure.data[2].customdata[names.index(CUT)]
    assert told == f"{LONG.replace('<b>', '&lt;b&gt;')}<br>2 columns<br>{reports[LONG].marginals[2].mean:.4f}"


@pytest.mark.parametrize("degrees", [(1, 2), (1, 3), (1, 2, 3)])
def test_fresh_real_rows_stand_where_a_release_of_as_large_errors_would(degrees: tuple[int, ...]) -> None:
    """By the tables of two columns, else of three; by single columns they are closer."""
    by = 2 if 2 in degrees else 3
    baseline = real_baseline(REAL, HELD, degrees=degrees)
    made = {f"{rows} rows": evaluate(REAL, REAL.frame[:rows], baseline=baseline) for rows in (20, 40, 60, 80, 100, 150)}
    fresh = made["150 rows"].fresh
    assert fresh is not None
    single, there = (float(np.mean([*fresh.each[degree].values()])) for degree in (1, by))
    errors = {name: report.marginals[by].mean for name, report in made.items()} | {"Fresh real rows, 150": there}
    assert any(single < error < there for error in errors.values())
    assert list(draw_errors(made).layout.yaxis.ticktext) == sorted(errors, key=errors.__getitem__)


def test_errors_far_apart_are_drawn_on_a_logarithmic_axis(reports: dict[str, Report]) -> None:
    near, far = reports["copy"], reports["one row"]
    assert [axis.type for axis in draw_errors({"a": near, "b": far}).select_xaxes()] == ["log", "log"]
    assert [axis.type for axis in draw_errors({"b": far}).select_xaxes()] == [None, None]
    none = replace(near, release=evaluate(REAL, REAL.frame).release)
    assert none.marginals[1].mean == 0.0
    assert [axis.type for axis in draw_errors({"a": none, "b": far}).select_xaxes()] == [None, None]


def test_errors_without_held_out_rows_and_with_different_degrees() -> None:
    first, second = (evaluate(REAL, HELD.frame, degrees=d) for d in ((1, 2), (2,)))
    figure, fresh, name = draw_errors({"first": first, "second": second}), first.fresh, "Fresh real rows, 100"
    assert fresh is not None
    assert _dots(figure, 0) == {
        "1 column": {"first": first.marginals[1].mean, "second": None, name: fresh.mean(1)},
        "2 columns": {"first": first.marginals[2].mean, "second": second.marginals[2].mean, name: fresh.mean(2)},
    }


def test_scores_stand_in_order_between_real_rows_and_guessing(reports: dict[str, Report]) -> None:
    first, alone = reports[LONG].prediction, reports["one row"].prediction
    assert isinstance(first, Prediction)
    assert isinstance(alone, Prediction)
    figure = draw_scores(reports)
    assert not isinstance(figure, str)
    assert "ill" in figure.layout.title.text
    for panel, measure in enumerate(("accuracy", "ROC-AUC")):
        found = _dots(figure, panel)
        assert list(found) == ["logistic regression", "boosted trees"]
        for k, dots in enumerate(found.values()):
            assert dots[CUT] == first.synthetic[k].measures[measure]
            assert dots["Trained on real rows"] == first.real.scores[k].measures[measure]
            assert dots["one row"] == alone.synthetic[k].measures.get(measure)
        guess = {"accuracy": first.real.constant.measures["accuracy"], "ROC-AUC": 0.5}[measure]
        assert found["logistic regression"]["Majority class (AUC: chance)"] == guess
        assert "Majority class (AUC: chance)" not in found["boosted trees"]
    names = list(figure.layout.yaxis.ticktext)
    assert names.index(CUT) < names.index("Majority class (AUC: chance)")
    (word,) = [note for note in figure.layout.annotations if note.text == "n/a"]
    assert (word.xref, word.yref, word.y) == ("x2 domain", "y2", names.index("one row"))
    assert "one class only" in word.hovertext


def test_scores_that_were_skipped(reports: dict[str, Report]) -> None:
    without = evaluate(REAL, HELD.frame, holdout=HELD)
    assert draw_scores({"a": without}) == "no target column was chosen"
    drawn = draw_scores({"a": without, **reports})
    assert "a" not in drawn.layout.yaxis.ticktext


def test_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="reports"):
        draw_errors({})
    with pytest.raises(ParameterError, match="reports"):
        draw_scores({})


def test_scores_of_numbers_far_below_zero_are_written() -> None:
    domain = Domain.of([Attribute("size", "numeric", lower=0, upper=1), Attribute("weight", "numeric", lower=0, upper=2)])

    def numbers(rows: int, seed: int, sign: float = 1.0) -> Table:
        generator = np.random.default_rng(seed)
        size = generator.random(rows)
        return Table(pd.DataFrame({"size": size, "weight": 1 + sign * (size - 0.5) + 0.1 * generator.random(rows)}), domain)

    baseline = real_baseline(numbers(300, 1), numbers(200, 2), "weight")
    tables = {"close": numbers(200, 3), "turned": numbers(200, 3, -1.0)}
    found = {name: evaluate(baseline.table, table.frame, baseline=baseline) for name, table in tables.items()}
    figure = draw_scores(found)
    assert not isinstance(figure, str)
    assert [note.text for note in figure.layout.annotations[:2]] == ["R²", "Mean absolute error"]
    turned = found["turned"].prediction
    assert isinstance(turned, Prediction)
    left, right = _dots(figure, 0), _dots(figure, 1)
    assert list(left) == ["ridge regression", "boosted trees"]
    # Far below 0: written at the left end, and no dot stretches the axis.
    assert [dots["turned"] for dots in left.values()] == [None, None]
    (words,) = figure.layout.annotations[2:]
    assert words.text == ", ".join(f"↓ {score.measures['R²']:.3g}" for score in turned.synthetic)
    assert [dots["turned"] for dots in right.values()] == [s.measures["mean absolute error"] for s in turned.synthetic]
    assert list(left["ridge regression"])[-1] == "turned"
    # What no score is known of stands below the worst one.
    unknown = replace(turned, synthetic=tuple(Score(score.model, {}, 0, "nothing") for score in turned.synthetic))
    figure = draw_scores({"none": replace(found["turned"], prediction=unknown), **found})
    assert not isinstance(figure, str)
    assert list(figure.layout.yaxis.ticktext)[-2:] == ["turned", "none"]
