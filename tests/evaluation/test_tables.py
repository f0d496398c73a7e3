"""Tables of reports, whose numbers are made up: each stands under its own heading, in its own line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsyn.evaluation import tables
from dpsyn.evaluation.baseline import Closeness
from dpsyn.evaluation.coefficients import Interval, Regression, Term
from dpsyn.evaluation.correlations import Correlation
from dpsyn.evaluation.distances import MarginalError, RangeError
from dpsyn.evaluation.prediction import Prediction, RealScores, Score
from dpsyn.evaluation.report import Report, flat_measures
from dpsyn.evaluation.values import Spike, ValueErrors
from dpsyn.evaluation.whole_rows import Copies, Propensity
from dpsyn.notation import percent


def marginal(degree: int, mean: float, largest: float) -> MarginalError:
    worst = tuple("abc"[:degree])
    return MarginalError(degree, mean, largest, worst, 3, 3, {})


def errors(column: str, gap: float) -> ValueErrors:
    spikes = (Spike(7.0, 0.004, 0.5), Spike(8.0, 0.3, 0.006), Spike(9.0, 0.2, 0.02))
    quantiles = (10.0, 11.0, 12.0, 13.0, 14.0), (20.0, 21.0, 22.0, 23.0, 24.0)
    return ValueErrors(column, False, 90, 80, 1.0, 2.0, 3.0, 4.0, *quantiles, spikes, gap / 10, gap)


def correlation(a_b: float, a_c: float) -> Correlation:
    rows = pd.DataFrame([[1, a_b, a_c], [a_b, 1, 0], [a_c, 0, 1]], list("abc"), list("abc"), dtype=float)
    return Correlation(pd.DataFrame(np.eye(3), list("abc"), list("abc")), rows)


def close(rows: int, gaps: dict[str, float], regression: Regression | None = None) -> Closeness:
    return Closeness(
        rows,
        {1: marginal(1, 0.01, 0.02), 3: marginal(3, 0.2503, 0.5)},
        pd.DataFrame(),
        RangeError(0.03, 0.06, 100, 3),
        tuple(errors(*one) for one in gaps.items()),
        {"correlation": correlation(0.3, -0.9)},
        Propensity(0.05, 0.02, 9),
        Copies(0.125, 1.75),
        regression,
    )


def score(model: str, rows: int, accuracy: float, **groups: float) -> Score:
    return Score(model, {"accuracy": accuracy}, rows, groups={f"ill = {name}": share for name, share in groups.items()})


def term(name: str, moved: float) -> Term:
    """Intervals of length 2, of which 2 less what one has moved is shared."""
    return Term(name, Interval(0.0, -1.0, 1.0), Interval(moved, moved - 1, moved + 1))


REAL = RealScores("ill", ("no", "yes"), (score("tree", 800, 0.9, yes=0.8, no=0.95),), score("majority", 800, 0.6), 400)
ONE = Report(
    800,
    close(300, {"z": 0.3, "x": 0.1, "y": 0.2}, Regression("ill", (term("a", 0.2), term("b", 1.5)))),
    close(400, {"z": 0.31, "x": 0.01, "y": 0.01}),
    Prediction((score("tree", 300, 0.7, yes=0.5, no=0.9),), REAL),
    (),
    changed=(2, Copies(0.0625, 2.25)),
)
OTHER = replace(
    ONE,
    release=close(200, {"z": 0.3, "x": 0.4, "y": 0.5}),
    prediction=Prediction((score("tree", 200, 0.9, yes=0.9, no=0.95),), REAL),
)
REPORTS = {"one": ONE, "other": OTHER}


def test_how_many_fresh_real_rows_were_held_out_is_said() -> None:
    assert "Of fresh ones 400 were held out; how far more are off is estimated." in tables.fresh_meaning(REPORTS)
    assert "held out" not in tables.fresh_meaning({"one": replace(ONE, noise_floor=None)})


def test_errors_of_tables_and_ranges() -> None:
    lines = tables.summary_table(REPORTS).to_dict("records")
    assert [(line["Compared"], line["Rows"]) for line in lines] == [
        ("one", 300),
        ("other", 200),
        ("Fresh real rows, 400", 400),
    ]
    assert lines[0] == {
        "Compared": "one",
        "Rows": 300,
        "Range queries, mean error": 0.03,
        "1-way mean": 0.01,
        "1-way max": 0.02,
        "worst 1-way table": "a",
        "3-way mean": 0.2503,
        "3-way max": 0.5,
        "worst 3-way table": "a × b × c",
        "k-marginal score": 749.7,
    }


def test_every_measure_that_is_kept_stands_under_its_own_name() -> None:
    assert flat_measures(ONE) == pytest.approx(
        {
            "1-way error, mean": 0.01,
            "1-way error, largest": 0.02,
            "3-way error, mean": 0.2503,
            "3-way error, largest": 0.5,
            "range queries, mean error": 0.03,
            "values, largest Kolmogorov-Smirnov distance": 0.3,
            "correlation, largest difference": 0.9,
            "correlation, mean difference": (0.3 + 0.9 + 0) / 3,
            "propensity, pMSE ratio": 0.05 / 0.02,
            "coefficients, mean overlap of intervals": 0.575,
            "accuracy, tree": 0.7,
            "loss in the worst group, tree": 0.8 - 0.5,
        }
    )


def test_of_many_columns_those_are_shown_that_any_release_is_furthest_off_in_their_own_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "MOST_COLUMNS", 2)
    shown = tables.values_table(REPORTS)
    assert list(zip(shown["Column"], shown["Compared"], strict=True)) == [
        (column, compared) for column in "xy" for compared in ("Real rows", "one", "other", "Fresh real rows, 400")
    ]
    assert shown["Largest gap"].dropna().tolist() == [0.1, 0.4, 0.01, 0.2, 0.5, 0.01]


def test_values_of_real_and_other_rows_are_told_apart() -> None:
    real, one, *_ = tables.values_table(REPORTS).to_dict("records")
    assert real.pop("Largest gap") != real.pop("Mean shift")  # NaN
    quantiles = {"5 %": "10", "Median": "12", "95 %": "14"}
    # What is common on the other side alone is not this one's commonest: 8 here, 7 there.
    about = {"Column": "z", "Compared": "Real rows", "Mean": "1", "Deviation": "3"}
    assert real == {**about, **quantiles, "Commonest": f"8: {percent(0.3)}"}
    about = {"Column": "z", "Compared": "one", "Mean": "2", "Deviation": "4", "Largest gap": 0.3, "Mean shift": 0.03}
    assert one == {**about, "5 %": "20", "Median": "22", "95 %": "24", "Commonest": f"7: {percent(0.5)}"}
    rare = replace(errors("z", 0.3), spikes=(Spike(7.0, 0.004, 0.5),))
    held = replace(ONE, release=replace(ONE.release, values=(rare,)), noise_floor=None)
    assert tables.values_table({"one": held})["Commonest"].tolist() == ["—", f"7: {percent(0.5)}"]


def test_correlations_and_coefficients() -> None:
    first = tables.correlations_table(REPORTS).to_dict("records")[0]
    assert first == {
        "Compared": "one",
        "Coefficient": "correlation",
        "Mean difference": 0.4,
        "Largest": 0.9,
        "Of which pair": "a × c",
    }
    assert tables.coefficients_table(REPORTS).to_dict("records") == [
        {"Compared": "one", "Overlap, mean": 0.575, "Least": 0.25, "Of which term": "b"}
    ]


def test_whole_rows() -> None:
    lines = tables.whole_rows_table(REPORTS).to_dict("records")
    assert [line["Compared"] for line in lines] == [
        "one",
        "other",
        "Fresh real rows, 400",
        "Real rows, 2 cells of each changed",
    ]
    copies = {"Equal to a real row": percent(0.125), "Cells that differ from the nearest real row": 1.75}
    assert lines[0] == {"Compared": "one", "pMSE": 0.05, "Ratio": 2.5, **copies}
    assert (lines[-1]["Equal to a real row"], lines[-1]["Cells that differ from the nearest real row"]) == (
        percent(0.0625),
        2.25,
    )


def test_scores_of_models_and_the_group_that_loses_most() -> None:
    lines = tables.scores_table(REPORTS)
    assert [tuple(line) for line in lines[["Trained on", "Model", "Accuracy", "Rows"]].to_numpy()] == [
        ("one", "tree", 0.7, 300),
        ("other", "tree", 0.9, 200),
        ("Real rows", "tree", 0.9, 800),
        ("Real rows", "majority", 0.6, 800),
    ]
    group = lines[["Worst group", "Its accuracy", "Real-trained"]]
    assert group.iloc[0].tolist() == ["ill = yes", 0.5, 0.8]
    assert group.iloc[1:].isna().all(axis=None)  # where none loses none is named
