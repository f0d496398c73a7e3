"""The score card: what a report comes to, for reports made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from dpsyn.errors import ParameterError
from dpsyn.evaluation.baseline import Closeness
from dpsyn.evaluation.conclusions import _SHAPE, advice, best_score, conclusions, ranking, table_error, yardsticks
from dpsyn.evaluation.distances import MarginalError, RangeError
from dpsyn.evaluation.fresh import FreshSample
from dpsyn.evaluation.prediction import Prediction, RealScores, Score
from dpsyn.evaluation.report import Report
from dpsyn.evaluation.values import _FAR_MEAN, ValueErrors
from dpsyn.evaluation.whole_rows import Propensity
from dpsyn.notation import percent
from dpsyn.places import HOME

FURTHEST = "furthest is 'y', by 2\N{NO-BREAK SPACE}%; chance alone moves it by up to 4\N{NO-BREAK SPACE}%"


def tables(each: dict[tuple[str, ...], float]) -> MarginalError:
    """Errors of tables of one number of columns."""
    worst, mean = max(each, key=lambda table: each[table]), float(np.mean(list(each.values())))
    return MarginalError(len(worst), mean, each[worst], worst, len(each), len(each), each)


def of_mean(mean: float | None) -> FreshSample | None:
    """Errors of tables of two columns that no report here has."""
    return None if mean is None else FreshSample(1000, False, {2: {("x", "y"): mean}}, 0.0, {})


def closeness(errors: dict[int, float], values: tuple[ValueErrors, ...] = ()) -> Closeness:
    found = {d: tables({("a", "b", "c", "d")[:d]: mean}) for d, mean in errors.items()}
    return Closeness(1000, found, pd.DataFrame(), RangeError(0.0, 0.0, 10, 2), values, {})


def fresh(beside: Closeness, drawn: bool = True, deviation: float = 0.0) -> FreshSample:
    each = {degree: error.each for degree, error in beside.marginals.items()}
    return FreshSample(beside.rows, drawn, each, deviation, {})


def report(
    error: float | dict[int, float],
    floor: float | None = 0.01,
    prediction: Prediction | str = "no target",
    values: tuple[ValueErrors, ...] = (),
) -> Report:
    errors = error if isinstance(error, dict) else {1: error / 2, 2: error, 3: error * 2}
    beside = None if floor is None else closeness(dict.fromkeys(errors, floor))
    return Report(3000, closeness(errors, values), beside, prediction, (), fresh=None if beside is None else fresh(beside))


def scores(synthetic: dict[str, float], real: float, constant: float, measure: str = "accuracy") -> Prediction:
    made = tuple(Score(model, {measure: value}, 100) for model, value in synthetic.items())
    models = tuple(Score(model, {measure: real}, 100) for model in synthetic)
    classes = ("no", "yes") if measure == "accuracy" else ()
    return Prediction(made, RealScores("ill", classes, models, Score("constant", {measure: constant}, 100), 500))


def column(name: str, far: float) -> ValueErrors:
    """A column whose law is off by so much, with the mean and deviation of the real one."""
    return ValueErrors(name, False, 5000, 5000, 0.0, 0.0, 1.0, 1.0, (), (), (), far / 2, far)


def card(made: Report) -> dict[str, tuple[str, str]]:
    return {found.about: (found.grade, found.sentence) for found in conclusions(made)}


@pytest.mark.parametrize(
    ("error", "floor", "grade"),
    [
        (0.020, 0.001, "no fault seen"),  # small, whatever a sample would miss
        (0.045, 0.030, "no fault seen"),  # one and a half times what a sample misses
        (0.046, 0.030, "with care"),
        (0.100, 0.001, "with care"),
        (0.101, 0.001, "poor"),  # more than a tenth, and three times what a sample misses
        (0.150, 0.050, "with care"),
        (0.151, 0.050, "poor"),
        (0.100, 0.250, "no fault seen"),
        (0.300, 0.250, "cannot be judged"),  # chance moves them as far
        (0.640, 0.170, "poor"),
        (0.310, 0.200, "poor"),  # large, whatever a sample misses
        (0.010, 0.0, "no fault seen"),
        (0.500, 0.0, "poor"),
        (0.020, None, "no fault seen"),
        (0.100, None, "with care"),
        (0.101, None, "poor"),
    ],
)
def test_tables_are_graded_beside_a_fresh_sample(error: float, floor: float | None, grade: str) -> None:
    assert card(report(error, floor))["tables"][0] == grade


@pytest.mark.parametrize(
    ("error", "independent", "grade"),
    [
        (0.03, 0.07, "no fault seen"),
        (0.055, 0.07, "no fault seen"),
        (0.056, 0.07, "with care"),
        (0.062, 0.07, "with care"),
        (0.064, 0.07, "poor"),
        (0.015, 0.01, "cannot be judged"),
    ],
)
def test_rows_that_keep_single_columns_and_no_relation_are_not_good(error: float, independent: float, grade: str) -> None:
    made = replace(report(error, 0.04), shuffled=of_mean(independent))
    found = card(made)["tables"]
    assert found[0] == grade
    assert "real rows with their columns shuffled by" in found[1]
    assert ("It is hardly closer than such rows." in found[1]) == (grade == "poor")


@pytest.mark.parametrize(
    ("error", "independent", "said"),
    [
        (0.157, 0.079, "no closer than"),
        (0.158, 0.079, "about twice as far off as"),
        (0.21, 0.079, "about 3 times as far off as"),
        (0.5, 0.079, "about 6 times as far off as"),
        (0.5, 0.004, "more than 100 times as far off as"),
        (0.5, 0.0, "more than 100 times as far off as"),
    ],
)
def test_rows_that_are_worse_than_independent_columns_say_by_how_much(error: float, independent: float, said: str) -> None:
    found = card(replace(report(error, None), shuffled=of_mean(independent)))["tables"]
    assert found[1].endswith(f". It is {said} such rows.")


@pytest.mark.parametrize(
    ("error", "independent", "grade", "said"),
    [
        # A fresh sample of 1,000 rows misses 0.2, and 0.3 by chance; rows without relations 0.26, as the 3,000 rows stay.
        (0.23, 0.27, "no fault seen", ""),
        (0.24, 0.27, "with care", "It is closer to such rows than to fresh ones."),
        (0.25, 0.27, "with care", "It is hardly closer than such rows."),
        (0.31, 0.27, "poor", "It is no closer than such rows."),
        (0.22, 0.25, "no fault seen", ""),
        (0.23, 0.25, "cannot be judged", "no stronger than chance"),
        (0.29, 0.25, "cannot be judged", "no stronger than chance"),
        (0.31, 0.15, "poor", "It is about twice as far off as such rows."),
    ],
)
def test_what_chance_hides_is_not_held_against_a_release(error: float, independent: float, grade: str, said: str) -> None:
    found = card(replace(report(error, 0.2), shuffled=of_mean(independent)))["tables"]
    assert found[0] == grade
    gone = replace(report(error, 0.2), shuffled=of_mean(independent))
    gone = replace(gone, release=replace(gone.release, lost=(("a", "b", 0.6, 0.03),)))
    assert (card(gone)["tables"][0] == "poor") == (error >= 0.9 * independent)
    assert "cannot be" not in card(gone)["tables"][1]
    assert said in found[1]
    assert said or found[1].endswith(f"by {100 * independent:.0f}\N{NO-BREAK SPACE}%.")


@pytest.mark.parametrize(
    ("independent", "said"), [(0.212, "no stronger than chance"), (0.213, "Fresh real rows are hardly closer")]
)
def test_a_fresh_sample_that_is_hardly_closer_than_rows_without_relations_says_nothing(
    independent: float, said: str
) -> None:
    made = replace(report(0.21, 0.2), shuffled=of_mean(independent))
    assert made.fresh is not None
    found = card(replace(made, release=replace(made.release, rows=3000), fresh=replace(made.fresh, rows=3000)))["tables"]
    assert found[0] == "cannot be judged"
    assert said in found[1]


@pytest.mark.parametrize("floor", [None, 0.0, 0.01, 0.05, 0.2, 0.4])
@pytest.mark.parametrize("independent", [None, 0.0, 0.01, 0.05, 0.15, 0.4, 0.6])
@pytest.mark.parametrize("left", [None, 0.03, 0.7])
def test_no_errors_of_tables_get_grades_or_words_that_contradict_each_other(
    floor: float | None, independent: float | None, left: float | None
) -> None:
    order = ["no fault seen", "cannot be judged", "with care", "poor"]
    near = {by * one for one in (floor, independent) if one for by in (0.99, 1.0, 1.01, 2.0)}
    for n, rows in ((100, 100), (3000, 1000), (100_000, 1000)):
        grades = []
        for error in sorted({*np.arange(0.001, 0.9, 0.031), *near}):
            made = replace(report(error, floor), n=n, shuffled=of_mean(independent))
            lost = () if left is None else (("a", "b", 0.6, left),)
            sample = made.fresh and replace(made.fresh, rows=rows)
            grade, said = card(replace(made, release=replace(made.release, rows=rows, lost=lost), fresh=sample))["tables"]
            grades.append(order.index(grade))
            assert said.count("such rows") <= 1
            assert "cannot be" not in said or grade == "cannot be judged" or "weak ones" in said
            assert grade != "cannot be judged" or "cannot be" in said
            assert "hardly closer" not in said or (independent is not None and error < independent)
            if floor is not None and independent is not None and max(error, independent) <= floor:
                # That a fresh sample is no closer either is no reproach.
                assert "It is closer to such rows" not in said
                assert grade != "poor" or error >= 2 * independent
            if left is not None:
                assert grades[-1] >= 2
            elif floor is not None and error <= floor:
                assert grades[-1] <= 1
        assert grades == sorted(grades)
        assert grades[0] == (2 if left is not None else independent == 0)  # which nothing is closer than
        assert grades[-1] == 3


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (
            (("kind", "fraud", 680, 0),),
            " 'fraud' of 'kind' is all but gone: 0 of 1,000 rows have it, 680 of 3,000 real ones.",
        ),
        (
            (("hiv", "yes", 14, 208),),
            " 'yes' of 'hiv' is far too frequent: 208 of 1,000 rows have it, 14 of 3,000 real ones.",
        ),
        ((("kind", "fraud", 1680, 9), ("town", "x", 99, 0)), "1,680 of 3,000 real ones (the commonest of 2 such)."),
    ],
)
def test_a_category_that_is_gone_is_told(gone: tuple[tuple[str, str, int, int], ...], said: str) -> None:
    made = report(0.01)
    found = card(replace(made, release=replace(made.release, off=gone)))["tables"]
    assert found[0] == "with care"
    assert found[1].endswith(said)


def test_what_is_far_too_frequent_in_few_rows_has_fewer_of_them() -> None:
    made = report(0.01)
    release = replace(made.release, rows=100, off=(("hiv", "yes", 150, 40),))
    said = "'yes' of 'hiv' is far too frequent: 40 of 100 rows have it, 150 of 3,000 real ones."
    assert card(replace(made, release=release))["tables"][1].endswith(said)


def test_a_relation_that_real_rows_do_not_have_is_told() -> None:
    made = report(0.01)
    release = replace(made.release, made=(("pay", "way", 0.7, 0.03), ("a", "b", 0.4, -0.1)), lost=(("c", "d", 0.5, 0.0),))
    grade, said = card(replace(made, release=release))["tables"]
    assert grade == "with care"
    assert said.endswith(
        " 'c' × 'd' keeps nothing of its strength. 'pay' × 'way' is made up: the real rows have 3\N{NO-BREAK SPACE}% of its "
        "strength; 1 weaker relation came out too strong, too."
    )


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ((("smoker", "ill", 0.25, 0.02),), " 'smoker' × 'ill' keeps 2\N{NO-BREAK SPACE}% of its strength."),
        (
            (("a", "b", 0.5, 0.3), ("c", "d", 0.3, 0.0), ("e", "f", 0.2, 0.0)),
            " 'a' × 'b' keeps 30\N{NO-BREAK SPACE}% of its strength; 2 weaker relations suffered, too.",
        ),
    ],
)
def test_a_relation_that_is_lost_is_told(lost: tuple[tuple[str, str, float, float], ...], said: str) -> None:
    made = report(0.01)
    found = card(replace(made, release=replace(made.release, lost=lost)))["tables"]
    assert found[0] == "with care"
    assert found[1].endswith(said)


@pytest.mark.parametrize(
    ("error", "by_chance", "said"),
    [
        (0.031, 0.01, " A tree tells these rows from the real ones 3.1 times as well as chance does."),
        (0.0201, 0.01, " A tree tells these rows from the real ones 2 times as well as chance does."),
        (0.02, 0.01, ""),
        (0.01, 0.0, ""),
    ],
)
def test_rows_that_a_tree_tells_from_real_ones_are_to_be_taken_with_care(error: float, by_chance: float, said: str) -> None:
    made = report(0.01)
    found = card(replace(made, release=replace(made.release, propensity=Propensity(error, by_chance))))["tables"]
    assert found[0] == ("with care" if said else "no fault seen")
    assert found[1].endswith(f"by 1\N{NO-BREAK SPACE}%.{said}")


def test_of_few_leaves_a_tree_may_tell_rows_apart_by_chance() -> None:
    """Of three the error is a χ² variable of two degrees of freedom: three times that of another is no rarity."""
    for leaves, told in ((3, False), (100, True)):
        found = Propensity(0.031, 0.01, leaves)
        assert (found.chance < 1e-3) == told
        made = report(0.01)
        said = card(replace(made, release=replace(made.release, propensity=found)))["tables"][1]
        assert ("A tree tells" in said) == told


@pytest.mark.parametrize(("error", "grade"), [(0.19, "cannot be judged"), (0.21, "with care")])
def test_of_a_handful_of_fresh_rows_one_more_may_be_off(error: float, grade: str) -> None:
    """Of ten, a tenth on average: two tenths, more than one and a half times that."""
    made = report({2: error}, 0.1)
    assert made.fresh is not None
    assert card(replace(made, fresh=replace(made.fresh, rows=10)))["tables"][0] == grade


@pytest.mark.parametrize(
    ("error", "grade"), [(0.02, "no fault seen"), (0.1, "no fault seen"), (0.25, "cannot be judged"), (0.5, "poor")]
)
def test_a_column_that_chance_moves_far_is_not_good(error: float, grade: str) -> None:
    made = report({1: error}, 0.3)
    found = card(made)["tables"]
    assert found[0] == grade
    assert ("Chance alone moves them so far" in found[1]) == (grade == "cannot be judged")
    assert "take it" not in advice({"a": made}) or grade == "no fault seen"


@pytest.mark.parametrize("error", [0.5, 1.0])
def test_rows_so_few_that_a_fresh_sample_has_everything_wrong_cannot_be_judged(error: float) -> None:
    made, few = (replace(report(error, floor), n=30_000, shuffled=of_mean(0.63)) for floor in (0.4, 0.7))
    found = card(few)["tables"]
    assert found[0] == "cannot be judged"
    assert "Chance alone moves them so far" in found[1]
    assert card(made)["tables"][0] == ("no fault seen" if error == 0.5 else "poor")


@pytest.mark.parametrize(("deviation", "grade"), [(0.0, "poor"), (0.039, "poor"), (0.041, "cannot be judged")])
def test_a_fresh_sample_may_be_further_off_than_its_mean(deviation: float, grade: str) -> None:
    made = replace(report({2: 0.19}, 0.07), shuffled=of_mean(0.03))
    assert made.noise_floor is not None
    found = card(replace(made, fresh=fresh(made.noise_floor, deviation=deviation)))["tables"]
    assert found[0] == grade
    assert ("no stronger than chance" in found[1]) == (grade != "poor")


NAMES = ("sick", "drug", "town", "street")


def of_tables(degree: int, ours: list[float], theirs: list[float] | None, drawn: bool = True, **fields: Any) -> Report:
    """A report of the tables of the first two or three of four columns and of the last ones, and nothing else."""
    named = [NAMES[:degree], NAMES[-degree:]]
    made = report(0.02, None if theirs is None else 0.03)
    found = {2: made.marginals[2], degree: tables(dict(zip(named, ours, strict=True)))}
    found[2] = replace(found[2], mean=0.02)
    if made.noise_floor is not None and theirs is not None:
        beside = {2: made.noise_floor.marginals[2], degree: tables(dict(zip(named, theirs, strict=True)))}
        floor = replace(made.noise_floor, marginals=beside)
        made = replace(made, noise_floor=floor if drawn else None, fresh=fresh(floor, drawn))
    return replace(made, release=replace(made.release, marginals=found), **fields)


def test_columns_of_numbers_are_judged_beside_those_of_held_out_rows() -> None:
    made = report(0.01, values=(column("y", 0.5),))
    assert made.noise_floor is not None
    as_far = replace(made, noise_floor=replace(made.noise_floor, values=(column("y", 0.45),)))
    assert [card(each)["numbers"][0] for each in (made, as_far)] == ["poor", "with care"]


@pytest.mark.parametrize("degree", [2, 3])
def test_a_lost_table_is_told_beside_the_same_table_of_a_fresh_sample(degree: int) -> None:
    grade, said = card(of_tables(degree, [0.5, 0.6], [0.01, 0.6]))["tables"]
    assert grade == "with care"
    assert f"Far beyond chance, that of {', '.join(map(repr, NAMES[:degree]))} is off by 50" in said
    assert card(of_tables(degree, [0.02, 0.6], [0.01, 0.6]))["tables"][0] == "no fault seen"
    # Where single tables deviate by more, as much is chance: 0.01, four deviations, and one of 1,000 rows.
    few = of_tables(degree, [0.5, 0.6], [0.01, 0.6])
    assert few.fresh is not None
    for spread, told in ((0.1222, True), (0.1223, False)):
        found = card(replace(few, fresh=replace(few.fresh, spread=spread)))["tables"]
        assert ("Far beyond chance, that of" in found[1]) == told


@pytest.mark.parametrize(("alone", "told"), [(0.095, True), (0.2, False), (0.01, True)])
@pytest.mark.parametrize("held_out", [True, False])
def test_a_rare_relation_that_is_lost_is_told_beside_its_own_size(alone: float, told: bool, held_out: bool) -> None:
    """An error of 9 % where 9.5 % are all of the relation, in 30,000 rows of which a fresh sample is off by 0.2 %."""
    made = of_tables(2, [0.09, 0.3], [0.002, 0.3], held_out, n=30_000)
    single = FreshSample(1000, False, {2: dict(zip((NAMES[:2], NAMES[-2:]), (alone, 0.6), strict=True))}, 0.0, {})
    said = card(replace(made, release=replace(made.release, rows=30_000), shuffled=single))["tables"][1]
    assert ("Far beyond chance, that of 'sick', 'drug' is off by 9" in said) == told
    assert (f"that of fresh real rows by {'' if held_out else 'about '}0.2" in said) == told


def test_tables_are_told_beside_a_fresh_sample() -> None:
    (found,) = conclusions(report({1: 0.02, 2: 0.045}, 0.015))
    assert found.figure == "4.5\N{NO-BREAK SPACE}%"
    assert found.sentence == (
        "Tables of two columns are off by 4.5\N{NO-BREAK SPACE}% on average; 1,000 fresh "
        "real rows by 1.5\N{NO-BREAK SPACE}%."
    )
    assert card(report(0.045, None))["tables"][1] == "Tables of two columns are off by 4.5\N{NO-BREAK SPACE}% on average."


@pytest.mark.parametrize(
    ("errors", "which", "error"),
    [
        ({1: 0.01, 2: 0.02, 3: 0.03}, "Tables of two columns", 0.02),
        ({1: 0.01}, "Tables of 1 column are", 0.01),
        ({3: 0.03, 4: 0.04}, "Tables of 3 columns are", 0.03),
    ],
)
def test_tables_of_two_columns_count_or_those_nearest(errors: dict[int, float], which: str, error: float) -> None:
    assert card(report(errors))["tables"][1].startswith(which)
    assert table_error(report(errors)) == error


@pytest.mark.parametrize(
    ("value", "grade", "said"),
    [
        (0.60, "poor", "is worse than guessing the majority class: accuracy 0.6 against 0.7."),
        (0.70, "poor", "is no better than guessing the majority class: accuracy 0.7 against 0.7."),
        (0.75, "poor", "reaches accuracy 0.75 (trees); 100 real rows give 0.9, guessing the majority class 0.7."),
        (0.77, "with care", "reaches accuracy 0.77"),
        (0.85, "with care", "reaches accuracy 0.85"),
        (0.89, "no fault seen", "reaches accuracy 0.89"),
        (0.95, "no fault seen", "reaches accuracy 0.95"),
    ],
)
def test_predictions_are_graded_by_their_share_of_what_real_rows_gain(value: float, grade: str, said: str) -> None:
    found = card(report(0.01, prediction=scores({"trees": value}, real=0.9, constant=0.7)))["prediction"]
    assert found[0] == grade
    assert found[1].startswith("Predicting 'ill' ")
    assert said in found[1]


@pytest.mark.parametrize(("error", "value", "said"), [(0.15, 0.89, True), (0.15, 0.77, False), (0.05, 0.89, False)])
def test_classes_that_are_kept_beside_tables_that_are_not_are_told_apart(error: float, value: float, said: bool) -> None:
    made = report(error, prediction=scores({"trees": value}, real=0.9, constant=0.7))
    assert ("use these rows for that prediction alone" in card(made)["tables"][1]) == said


def test_a_number_is_predicted_beside_the_mean() -> None:
    found = card(report(0.01, prediction=scores({"ridge": -0.2}, real=0.5, constant=-0.001, measure="R²")))["prediction"]
    assert found == ("poor", "Predicting 'ill' is worse than guessing the mean: R² -0.2 against -0.001.")


def test_the_best_model_counts() -> None:
    several = scores({"trees": 0.75, "linear": 0.89}, real=0.9, constant=0.7)
    assert best_score(several.synthetic) == ("accuracy", several.synthetic[1])
    assert card(report(0.01, prediction=several))["prediction"][0] == "no fault seen"


@pytest.mark.parametrize(
    ("error", "independent", "floor", "grade"),
    [
        (0.019, 0.017, 0.001, "with care"),
        (0.015, 0.017, 0.001, "no fault seen"),
        (0.004, 0.003, 0.0001, "with care"),
        (0.019, 0.017, 0.036, "cannot be judged"),
        (0.039, 0.013, 0.063, "cannot be judged"),  # three times as far off, and nearer than a fresh sample
        (0.100, 0.013, 0.063, "poor"),
    ],
)
def test_a_small_error_is_not_good_where_rows_without_relations_are_no_further_off(
    error: float, independent: float, floor: float, grade: str
) -> None:
    found = card(replace(report(error, floor), shuffled=of_mean(independent)))["tables"]
    assert found[0] == grade
    assert ("so relations, which are weak here, are not kept." in found[1]) == (grade == "with care")


@pytest.mark.parametrize(
    ("error", "about", "grade"),
    [(0.084, None, "poor"), (0.084, 0.057, "cannot be judged"), (0.13, 0.057, "poor"), (0.084, 0.014, "poor")],
)
def test_without_held_out_rows_an_estimate_shows_what_chance_does(error: float, about: float | None, grade: str) -> None:
    made = report({2: error}, None)
    estimated = None if about is None else replace(fresh(closeness({2: about}), drawn=False), rows=3000)
    found = card(replace(made, shuffled=of_mean(0.055), fresh=estimated, release=replace(made.release, rows=3000)))["tables"]
    assert found[0] == grade
    assert ("; 3,000 fresh real rows by about 5.7\N{NO-BREAK SPACE}%;" in found[1]) == (about == 0.057)


@pytest.mark.parametrize(
    ("value", "grade"),
    [(0.9, "no fault seen"), (0.849, "no fault seen"), (0.847, "with care"), (0.83, "with care"), (0.81, "poor")],
)
def test_what_is_as_good_as_real_rows_but_for_chance_is_good(value: float, grade: str) -> None:
    """Of 500 held-out rows the share 0.8 of a class is known to 0.018; a fresh sample does no better."""
    found = card(report(0.15, prediction=scores({"trees": value}, real=0.884, constant=0.8)))["prediction"]
    assert found[0] == grade


@pytest.mark.parametrize("value", [0.6, 0.7, 0.71, 0.9])
@pytest.mark.parametrize(("real", "judged"), [(0.69, False), (0.7, False), (0.781, False), (0.783, True)])
def test_a_target_that_nothing_predicts_in_the_real_rows_is_not_judged(value: float, real: float, judged: bool) -> None:
    """Of 500 held-out rows, the share 0.7 of a class is known to 0.0205: real rows have to be four times that ahead."""
    made = report(0.15, prediction=scores({"trees": value}, real=real, constant=0.7))
    found = card(made)
    assert (found["prediction"][0] != "cannot be judged") == judged
    if not judged:
        assert found["prediction"][1] == (
            "No model predicts 'ill' clearly better than guessing the majority class in the real rows, "
            f"accuracy {real:g} against 0.7: so it says nothing of these."
        )
        assert "What predicts is kept" not in found["tables"][1]
        assert "its predictions" not in advice({"A": report(0.01, prediction=made.prediction)})


@pytest.mark.parametrize(
    ("real", "value", "grade", "said"),
    [
        (0.89, 0.86, "no fault seen", "reaches ROC-AUC 0.86 (trees); 100 real rows give 0.89, guessing 0.5."),
        (0.89, 0.7, "with care", "reaches ROC-AUC 0.7"),
        (0.89, 0.55, "poor", "reaches ROC-AUC 0.55"),
        (0.89, 0.45, "poor", "is worse than guessing: ROC-AUC 0.45 against 0.5."),
        (0.89, None, "poor", "is no better than guessing: ROC-AUC 0.5 against 0.5."),
        (
            0.54,
            0.54,
            "cannot be judged",
            "No model predicts 'ill' clearly",
        ),  # 1.1 standard errors of 500 rows, 50 of them ill
    ],
)
def test_rare_classes_that_no_model_foretells_more_often_than_not_are_judged_by_their_order(
    real: float, value: float | None, grade: str, said: str
) -> None:
    there = Score("trees", {"accuracy": 0.9, "ROC-AUC": real}, 100)
    made = Score("trees", {"accuracy": 0.9} | ({} if value is None else {"ROC-AUC": value}), 100)
    guessed = Score("constant", {"accuracy": 0.9, "ROC-AUC": 0.5}, 100)
    found = report(0.01, prediction=Prediction((made,), RealScores("ill", ("no", "yes"), (there,), guessed, 500)))
    assert card(found)["prediction"][0] == grade
    assert said in card(found)["prediction"][1]
    figures = {name: figure["prediction"] for name, figure in yardsticks(found).items() if "prediction" in figure}
    assert next(iter(figures)) == "Real rows"
    assert list(figures.values()) == ([f"{real:g} ROC-AUC", "0.5 ROC-AUC"] if real > 0.6 else ["0.9 accuracy"] * 2)


@pytest.mark.parametrize(("real", "judged"), [(0.736, False), (0.739, True)])
def test_an_order_of_unequal_classes_is_judged_from_four_standard_errors_of_mann_and_whitney_on(
    real: float, judged: bool
) -> None:
    """25 of 500 rows beside 475: √(501/12/25/475) = 0.0593. It is the deviation of orders that say nothing."""
    labels, random = np.arange(500) < 25, np.random.default_rng(0)
    orders = [mannwhitneyu(x[labels], x[~labels]).statistic / (25 * 475) for x in random.random((300, 500))]
    assert np.std(orders) == pytest.approx(0.0593, rel=0.15)
    there = Score("trees", {"accuracy": 0.95, "ROC-AUC": real}, 100)
    guessed = Score("constant", {"accuracy": 0.95, "ROC-AUC": 0.5}, 100)
    found = report(0.01, prediction=Prediction((there,), RealScores("ill", ("no", "yes"), (there,), guessed, 500)))
    assert (card(found)["prediction"][0] == "no fault seen") == judged


@pytest.mark.parametrize(("real", "judged"), [(0.963, False), (0.964, True)])
def test_a_share_of_few_rows_is_known_as_agresti_and_coull_say(real: float, judged: bool) -> None:
    """80 of 100 count as 82 of 104: four times √(0.788·0.212)/10 are 0.1634."""
    made = scores({"trees": real}, real=real, constant=0.8)
    found = card(report(0.01, prediction=replace(made, real=replace(made.real, test_rows=100))))["prediction"]
    assert (found[0] == "no fault seen") == judged


@pytest.mark.parametrize(("rows", "grade"), [(29, "cannot be judged"), (30, "no fault seen")])
def test_thirty_held_out_rows_are_enough_to_judge_predictions_by(rows: int, grade: str) -> None:
    made = scores({"trees": 1.0}, real=1.0, constant=0.5)
    found = card(report(0.01, prediction=replace(made, real=replace(made.real, test_rows=rows))))["prediction"]
    assert found[0] == grade


def test_a_number_that_nothing_predicts_in_the_real_rows_is_not_judged() -> None:
    made = scores({"ridge": 0.01}, real=-0.01, constant=-0.001, measure="R²")
    assert card(report(0.01, prediction=made))["prediction"][0] == "cannot be judged"


def test_a_prediction_that_misses_a_class_entirely_is_not_good() -> None:
    made = scores({"trees": 0.89}, real=0.9, constant=0.7)
    lost = replace(made, synthetic=(replace(made.synthetic[0], lost=("fraud",)),))
    assert card(report(0.01, prediction=made))["prediction"][0] == "no fault seen"
    found = card(report(0.01, prediction=lost))["prediction"]
    assert found[0] == "with care"
    assert found[1].endswith(" guessing the majority class 0.7. Far fewer rows than among the real ones have 'fraud'.")


@pytest.mark.parametrize(("far", "grade"), [(0.04, "no fault seen"), (0.08, "no fault seen"), (0.10, "with care")])
def test_a_column_whose_law_is_off_by_more_than_chance_keeps_its_shape_roughly(far: float, grade: str) -> None:
    """Chance explains about 4 % of 5,000 rows on either side, and 5 % more are what a law may be off by."""
    found = card(report(0.01, values=(column("x", far),)))["numbers"]
    assert found[0] == grade
    assert found[1].endswith("; chance alone moves it by up to 4\N{NO-BREAK SPACE}%.")
    assert ("shape roughly; furthest is 'x'" in found[1]) == (", more than chance" in found[1]) == (grade == "with care")


def test_the_furthest_column_is_that_which_is_furthest_beyond_its_own_chance() -> None:
    """Of 100 rows 20 % are chance, and of 5,000 rows 4 %."""
    few = replace(column("x", 0.15), rows=102)
    grade, said = card(report(0.01, values=(few, column("y", 0.12))))["numbers"]
    assert grade == "with care"
    assert "shape roughly; furthest is 'y', by 12" in said


def test_what_was_not_measured_is_left_out() -> None:
    assert [found.about for found in conclusions(report(0.01))] == ["tables"]
    nothing = Prediction((Score("trees", {}, 0, "one class only"),), scores({"trees": 0.7}, 0.7, 0.7).real)
    assert [found.about for found in conclusions(report(0.01, prediction=nothing))] == ["tables"]


def test_a_target_that_no_model_can_learn_is_not_predicted() -> None:
    nothing = Prediction((Score("trees", {}, 0, "one class only"),), scores({"trees": 0.8}, 0.9, 0.7).real)
    made = report(0.01, prediction=nothing)
    assert card(made)["prediction"] == ("poor", "No model learns to predict 'ill': one class only.")
    assert "; do not rely on its predictions" in advice({"A": report(0.02, prediction=WORSE), "B": made})


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ((5.0, 5.0, 450, 0), "0 of 5,000 values are 5, 450 of 5,000 real ones."),
        ((0.0, 0.0, 0, 98), "98 of 5,000 values are 0, 0 of 5,000 real ones."),
        ((-np.inf, -2.5, 50, 1), "1 of 5,000 values are -2.5 or less, 50 of 5,000 real ones."),
        ((2.5, np.inf, 50, 0), "0 of 5,000 values are 2.5 or more, 50 of 5,000 real ones."),
    ],
)
def test_values_that_are_gone_are_told(place: tuple[float, float, int, int], said: str) -> None:
    found = card(report(0.01, values=(replace(column("x", 0.01), off=(place,)), column("y", 0.02))))["numbers"]
    assert found[0] == "with care"
    assert found[1].endswith(f" moves it by up to 4\N{NO-BREAK SPACE}%. But of 'x' {said}")


def test_last_digits_that_are_lost_make_a_release_one_with_care() -> None:
    prices = replace(column("y", 0.01), endings=((".99", 1.0, 0.02),))
    made = report(0.01, values=(column("x", 0.01), prices, replace(prices, column="z")))
    grade, said = card(made)["numbers"]
    assert grade == "with care"
    assert said.endswith(
        f" Values of 'y' that end in .99 make up {percent(1.0, 3)} of the real values and {percent(0.02, 3)} of the "
        "synthetic ones. Last digits of 'z' are off, too."
    )


def test_what_columns_lose_that_keep_their_shape_is_told_beside_ruined_ones_but_not_of_these() -> None:
    off = replace(column("y", 0.01), endings=((".99", 1.0, 0.02),), off=((5.0, 5.0, 450, 0),))
    ruined = replace(off, column="x", kolmogorov_smirnov=0.9)
    said = card(report(0.01, values=(ruined, off, column("z", 0.02))))["numbers"][1]
    assert said.startswith("1 of 3 columns of numbers came out far from the real ones: 'x'. ")
    assert " But of 'y' 0 of 5,000 values are 5, 450 of 5,000 real ones. Values of 'y' that end in .99 make up" in said
    assert "too" not in said
    poor = card(report(0.01, values=(ruined, replace(ruined, column="z"), off)))["numbers"]
    assert poor[0] == "poor"
    assert "'y'" not in poor[1]


def test_of_several_columns_that_lose_values_the_one_with_most_rows_is_told_and_the_others_are_named() -> None:
    tail, hole = ((2.5, np.inf, 1, 60),), ((5.0, 5.0, 55, 0),)
    columns = (replace(column("x", 0.01), off=hole), replace(column("y", 0.02), off=tail), column("z", 0.01))
    said = card(report(0.01, values=columns))["numbers"][1]
    assert said.endswith(
        "But of 'y' 60 of 5,000 values are 2.5 or more, 1 of 5,000 real ones. Some values of 'x' are far off, too."
    )


@pytest.mark.parametrize(
    ("far", "grade", "figure"),
    [
        ((0.01, 0.02, 0.01), "no fault seen", "3 of 3 kept"),
        ((0.90, 0.02, 0.01), "with care", "2 of 3 kept"),
        ((0.90, 0.90, 0.01), "poor", "1 of 3 kept"),
        ((0.90,), "poor", "0 of 1 kept"),
    ],
)
def test_ruined_columns_of_numbers_are_counted_and_named(far: tuple[float, ...], grade: str, figure: str) -> None:
    values = tuple(column("xyz"[i], each) for i, each in enumerate(far))
    assert [bool(each.warning()) for each in values] == [each > 0.5 for each in far]
    (found,) = [found for found in conclusions(report(0.01, values=values)) if found.about == "numbers"]
    assert (found.grade, found.figure) == (grade, figure)
    assert ("came out far from the real ones: 'x'" in found.sentence) == (max(far) > 0.5)
    assert not values[0].warning() or found.sentence.endswith(f": {values[0].warning()}.")
    if max(far) <= 0.5:
        assert found.sentence == f"All 3 columns of numbers keep their shape; {FURTHEST}."


@pytest.mark.parametrize(
    ("worst", "floor", "grade"),
    [
        (0.47, 0.147, "with care"),
        (0.44, 0.147, "no fault seen"),
        (0.09, 0.01, "with care"),
        (0.049, 0.01, "no fault seen"),
        (0.31, None, "no fault seen"),
    ],
)
def test_one_table_that_is_far_worse_than_any_of_a_fresh_sample(worst: float, floor: float | None, grade: str) -> None:
    made = report({2: 0.004, 3: 0.02})
    bad = replace(made.release.marginals[3], each={("a", "b", "c"): worst})
    release = replace(made.release, marginals={**made.release.marginals, 3: bad})
    beside = None if floor is None else closeness({2: 0.01, 3: floor})
    found = card(replace(made, release=release, fresh=None if beside is None else fresh(beside)))["tables"]
    assert found[0] == grade
    said = f" Far beyond chance, that of 'a', 'b', 'c' is off by {100 * worst:.0f}\N{NO-BREAK SPACE}%; that of fresh"
    assert (said in found[1]) == (grade == "with care")


@pytest.mark.parametrize(("real", "grade"), [(0.177, "cannot be judged"), (0.179, "no fault seen")])
def test_a_small_share_of_variance_may_be_chance(real: float, grade: str) -> None:
    made = scores({"ridge": real}, real=real, constant=-0.001, measure="R²")  # of 500 rows
    assert card(report(0.01, prediction=made))["prediction"][0] == grade


def test_a_handful_of_rows_says_nothing_of_numbers() -> None:
    few = replace(column("x", 0.48), rows=6)
    assert few.chance == pytest.approx(2 * (1 / 5000 + 1 / 6) ** 0.5)
    assert not few.warning()
    found = card(report(0.01, values=(few, few)))["numbers"]
    assert found[0] == "cannot be judged"
    assert found[1].endswith("chance alone moves them by up to 82\N{NO-BREAK SPACE}%.")
    for rows, grade in ((64, "cannot be judged"), (65, "no fault seen")):
        assert card(report(0.01, values=(replace(column("x", 0.1), rows=rows),)))["numbers"][0] == grade
    fewer = replace(few, rows=2)
    assert card(report(0.01, values=(few, fewer)))["numbers"][1].endswith("by up to 100\N{NO-BREAK SPACE}%.")
    ruined, kept = column("y", 0.9), column("z", 0.02)
    for values, grade in (((few, ruined), "poor"), ((few, ruined, kept), "with care"), ((few, kept), "no fault seen")):
        found = card(report(0.01, values=values))["numbers"]
        assert found[0] == grade
        assert found[1].endswith(" 1 column with too few values cannot be judged.")


def test_a_mean_that_is_far_off_beside_a_shape_that_is_kept_is_told() -> None:
    tail = replace(column("x", 0.02), real_deviation=100.0, deviation=100.0, real_quantiles=(0.0,) * 5, real_mean=10.0)
    near, far = replace(tail, mean=20.0), replace(tail, column="y", mean=30.0)
    found = card(report(0.01, values=(near, far)))["numbers"]
    assert found[0] == "with care"
    assert found[1].endswith(" But the mean of 'y' is 30, and 10 of the real ones: so are totals.")


def test_a_column_without_any_number_is_not_the_furthest() -> None:
    nan = float("nan")
    empty = replace(column("x", nan), real_rows=0, rows=0, wasserstein=nan)
    found = card(report(0.01, values=(empty, column("y", 0.02))))["numbers"]
    assert found == ("no fault seen", f"The column of numbers keeps its shape; {FURTHEST}.")
    assert "numbers" not in card(report(0.01, values=(empty,)))


def test_the_smallest_error_of_tables_comes_first() -> None:
    made = {"far": report(0.3), "near": report(0.01), "between": report(0.05)}
    assert ranking(made) == ["near", "between", "far"]
    assert np.all(np.diff([table_error(made[name]) for name in ranking(made)]) > 0)


TOO_FEW = replace(report(0.2, 0.2), shuffled=of_mean(0.15))
FAR = replace(report(0.015), release=closeness({2: 0.015, 3: 0.4}))
"""Near on average, with a table that is far."""
SOME = scores({"trees": 0.8}, real=0.9, constant=0.7)


def single(columns: int) -> Report:
    """Tables of one column alone were compared."""
    made = report({1: 0.01})
    return replace(made, release=replace(made.release, marginals={1: replace(made.marginals[1], possible=columns)}))


WORSE = scores({"trees": 0.6}, real=0.9, constant=0.7)


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ({"A": report(0.01), "B": report(0.4)}, "A is closest to the real rows in tables of two columns. Nothing that"),
        ({"A": report(0.01)}, "A is close to the real rows in tables of two columns. Nothing that"),
        (
            {"A": report(0.05), "B": report(0.4)},
            "; take care with these tables.",
        ),
        ({"A": report(0.3), "B": report(0.4)}, "None of these is close to the real rows: another mechanism"),
        ({"A": report(0.01, prediction=WORSE), "B": report(0.4)}, "; do not rely on its predictions."),
        (
            {"A": report(0.0012), "B": report(0.0014)},
            " B about as close (one run each). Nothing that was measured speaks against them",
        ),
        ({"A": report(0.0), "B": report(0.0)}, " and B about as close (one run each). Nothing that was measured speaks"),
        (
            {"A": report(0.0, prediction=WORSE), "B": report(0.0)},
            "B is about as close to the real rows as any of these in tables of two columns, and A about as close",
        ),
        ({"A": report(0.01), "B": report(0.021)}, "A is closest to the real rows in tables of two columns. Nothing that"),
        ({"A": report({1: 0.01})}, "A is close to the real rows in tables of 1 column. Nothing that"),
        (
            {"A": replace(report(0.3, 0.35), shuffled=of_mean(0.9))},
            "A is as close as 1,000 real rows are in tables of two columns. Nothing that",
        ),
        (
            {"A": report(0.15, 0.05), "B": TOO_FEW},
            "A is closest to the real rows in tables of two columns; take care with these tables.",
        ),
        (
            {"A": report(0.09, 0.05), "B": report(0.3, 0.35)},
            "A is closest to the real rows in tables of two columns; take care with these tables.",
        ),
        ({"A": single(8)}, "in tables of 1 column; relations of columns were not measured: compare tables of two columns"),
        (
            {"A": report(0.0024, prediction=WORSE), "B": report(0.0093)},
            "A is closest to the real rows in tables of two columns; do not rely on its predictions",
        ),
        (
            {"A": report(0.01, prediction=WORSE), "B": report(0.05)},
            "A is closest to the real rows in tables of two columns; do not rely on its predictions",
        ),
        (
            {"A": FAR, "B": report(0.018)},
            "B is about as close to the real rows as any of these in tables of two columns. Nothing",
        ),
        (
            {"A": report(0.04, prediction=SOME, values=tuple(map(column, "xyz", (0.9, 0.01, 0.01)))), "B": report(0.05)},
            "; take care with these tables, its predictions and its columns of numbers.",
        ),
        (
            {"A": report(0.09, prediction=WORSE), "B": report(0.11)},
            "A is closest to the real rows in tables of two columns; do not rely on its predictions",
        ),
        (
            {"A": report(0.01), "B": report(0.019, prediction=WORSE)},
            "A is closest to the real rows in tables of two columns. Nothing that",
        ),
        (
            {"A": report(0.01, prediction=WORSE, values=(column("x", 0.9),)), "B": report(0.4)},
            "; do not rely on its predictions or its columns of numbers.",
        ),
        (
            {"A": TOO_FEW},
            "cannot tell whether weak relations are kept: in so many rows chance makes as much of a difference.",
        ),
        (
            {"A": replace(TOO_FEW, prediction=WORSE)},
            "as much of a difference. Do not rely on its predictions.",
        ),
        (
            {"A": TOO_FEW, "B": report(0.9)},
            "A is closest to the real rows in tables of two columns. Tables of two columns cannot tell whether",
        ),
        (
            {"A": replace(TOO_FEW, prediction=SOME), "B": report(0.9)},
            "as much of a difference. Take care with its predictions.",
        ),
    ],
)
def test_what_to_do_next_follows_from_the_best_release(reports: dict[str, Report], said: str) -> None:
    assert said in advice(reports)


def test_yardsticks_are_figures_of_the_same_kind_as_the_findings() -> None:
    made = replace(report(0.03, 0.01, scores({"trees": 0.8, "linear": 0.7}, real=0.9, constant=0.6)), shuffled=of_mean(0.05))
    assert yardsticks(made) == {
        "Fresh real rows, 1,000": {"tables": "1\N{NO-BREAK SPACE}%"},
        "Real rows": {"prediction": "0.9 accuracy"},
        "Columns shuffled, 1,000": {"tables": "5\N{NO-BREAK SPACE}%", "prediction": "0.6 accuracy"},
    }
    assert yardsticks(report({1: 0.02}, None)) == {}
    assert yardsticks(report({3: 0.02}, 0.01)) == {"Fresh real rows, 1,000": {"tables": "1\N{NO-BREAK SPACE}%"}}


@pytest.mark.parametrize("wrong", [None, 1, "report", {"a": report(0.01)}])
@pytest.mark.parametrize("of", [conclusions, yardsticks])
def test_conclusions_are_of_a_report(of: Callable[[Any], object], wrong: Any) -> None:
    with pytest.raises(ParameterError, match="report = "):
        of(wrong)


@pytest.mark.parametrize(
    "wrong", [None, 1, "reports", report(0.01), [report(0.01)], {"a": None}, {"a": report(0.01), "b": 1}]
)
@pytest.mark.parametrize("of", [ranking, advice])
def test_releases_are_ranked_by_reports(of: Callable[[Any], object], wrong: Any) -> None:
    with pytest.raises(ParameterError, match="reports = "):
        of(wrong)


def test_of_no_release_there_is_no_advice() -> None:
    assert ranking({}) == []
    with pytest.raises(ParameterError, match="at least one release"):
        advice({})


def test_the_page_on_mechanisms_names_what_a_column_may_be_off_by() -> None:
    text = " ".join((HOME / "docs" / "which_mechanism.md").read_text(encoding="utf-8").split())
    assert f"nothing large beyond chance; it is no promise. A column may be off by {100 * _SHAPE:.0f} % more," in text
    assert {0.25: "its mean by a quarter of a deviation."}[_FAR_MEAN] in text
