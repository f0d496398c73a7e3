"""Models on constructed data, and everything that can be missing from synthetic rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import brier_score_loss, r2_score, roc_auc_score

from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError, ParameterError
from dpsyn.evaluation import prediction
from dpsyn.evaluation.prediction import (
    BOOSTED,
    FOREST,
    LOGISTIC,
    MODELS,
    NEURAL,
    RIDGE,
    Prediction,
    RealScores,
    Score,
    area_under_curve,
    brier_score,
    calibration_error,
    check_target,
    predict,
    real_scores,
)
from dpsyn.table import Table

DOMAIN = Domain.of(
    [
        Attribute("height", "numeric", lower=-5, upper=5, missing=True),
        Attribute("day", "date", lower=0, upper=1_000, missing=True),
        Attribute("town", "categorical", categories=("a", "b", "c"), missing=True),
        Attribute("smoker", "truth", categories=("no", "yes")),
        Attribute("kind", "categorical", categories=("p", "q", "r"), missing=True),
        Attribute("ill", "truth", categories=(False, True)),
    ]
)


def _table(rows: int, seed: int) -> Table:
    """``ill`` follows height and town, ``kind`` follows town; some cells are empty."""
    generator = np.random.default_rng(seed)
    height = generator.normal(size=rows)
    town = generator.integers(0, 3, rows)
    ill = height + np.array([-1.0, 0.0, 1.0])[town] + 0.3 * generator.normal(size=rows) > 0
    kind = np.where(generator.random(rows) < 0.8, town, generator.integers(0, 3, rows))
    frame = pd.DataFrame(
        {
            "height": pd.Series(height).mask(generator.random(rows) < 0.05),
            "day": pd.Series(pd.Timestamp("1970-01-01") + pd.to_timedelta(generator.integers(0, 1_000, rows), unit="D")),
            "town": pd.Series(np.array(["a", "b", "c"], dtype=object)[town]),
            "smoker": np.where(generator.random(rows) < 0.5, "yes", "no"),
            "kind": pd.Series(np.array(["p", "q", "r"], dtype=object)[kind]).mask(generator.random(rows) < 0.05),
            "ill": ill,
        }
    )
    frame["day"] = frame["day"].mask(generator.random(rows) < 0.05)
    return Table(frame, DOMAIN)


REAL, HELD = _table(600, 1), _table(400, 2)


@pytest.fixture(scope="module")
def baseline() -> RealScores:
    found = real_scores(REAL, HELD, "ill", 0, MODELS)
    assert isinstance(found, RealScores)
    return found


def test_train_on_real_beats_the_majority(baseline: RealScores) -> None:
    assert baseline.classes == ("False", "True")
    assert baseline.test_rows == 400
    majority = str(bool(HELD.frame["ill"].mean() > 0.5))
    assert baseline.constant.model == f"always {majority}"
    assert baseline.constant_name == "majority class"
    share = float((HELD.frame["ill"].astype(str) == majority).mean())
    assert baseline.constant.measures == {
        "accuracy": pytest.approx(share), "ROC-AUC": 0.5, "Brier score": pytest.approx(2 * (1 - share))
    }  # fmt: skip
    assert tuple(score.model for score in baseline.scores) == MODELS
    for score in baseline.scores:
        assert score.measures["accuracy"] > share + 0.2
        assert score.measures["ROC-AUC"] > 0.9
        assert score.training_rows == 600
        assert score.note == ""


def test_good_synthetic_rows_are_as_good_and_shuffled_ones_are_useless(baseline: RealScores) -> None:
    good = predict(_table(600, 3), HELD, baseline, 0)
    frame = REAL.frame.assign(ill=REAL.frame["ill"].sample(frac=1, random_state=0).to_numpy())
    shuffled = predict(Table(frame, DOMAIN), HELD, baseline, 0)
    for close, far, real in zip(good.synthetic, shuffled.synthetic, baseline.scores, strict=True):
        assert close.measures["accuracy"] == pytest.approx(real.measures["accuracy"], abs=0.05)
        assert far.measures["ROC-AUC"] == pytest.approx(0.5, abs=0.2)
        assert far.measures["accuracy"] < close.measures["accuracy"] - 0.1


def test_the_group_that_a_model_fails_by_hand() -> None:
    domain = Domain.of([Attribute(n, "categorical", categories=("a", "b", "rare")) for n in "xg"] + [DOMAIN["ill"]])

    def table(*groups: tuple[str, str, bool, int]) -> Table:
        return Table(pd.DataFrame([row for *row, n in groups for _ in range(n)], columns=["x", "g", "ill"]), domain)

    # x says who is ill; among g = b it says the opposite, which the rows that a model learns from may have lost.
    truth = [("a", "a", True, 300), ("b", "a", False, 300), ("a", "b", False, 60), ("b", "b", True, 60)]
    lost = [(x, g, x == "a", n) for x, g, _, n in truth]
    held = table(*truth, ("a", "rare", True, 49))
    real = real_scores(table(*truth), held, "ill", 0, [FOREST])
    assert isinstance(real, RealScores)
    (score,) = real.scores
    assert score.groups == {"x = a": 1.0, "x = b": 1.0, "g = a": 1.0, "g = b": 1.0}  # none of 49 rows
    found = predict(table(*lost), held, real, 0)
    worst = found.worst_group(found.synthetic[0])
    assert worst is not None
    assert (worst.name, worst.accuracy, worst.real, worst.loss) == ("g = b", 0.0, 1.0, 1.0)
    same = predict(table(*truth), held, real, 0)
    worst = same.worst_group(same.synthetic[0])
    assert worst is not None
    assert worst.loss == 0
    one = predict(table(("a", "a", True, 5)), held, real, 0)
    worst = one.worst_group(one.synthetic[0])
    assert worst is not None
    assert (worst.name, worst.accuracy) == ("x = b", pytest.approx(60 / 360))


def test_the_worst_group_is_the_one_that_loses_most() -> None:
    """Not the one of which least is right, nor of which least was."""
    shares = {"sex = f": (0.9, 0.6), "sex = m": (0.55, 0.5), "town = a": (0.3, 0.1)}
    before, after = ({name: pair[at] for name, pair in shares.items()} for at in (0, 1))
    real = RealScores("ill", ("no", "yes"), (Score("trees", {}, 9, groups=before),), Score("always no", {}, 9), 9)
    found = Prediction((Score("trees", {}, 9, groups={**after, "only here": 0.0}),), real)
    worst = found.worst_group(found.synthetic[0])
    assert worst is not None
    assert (worst.name, worst.accuracy, worst.real, worst.loss) == ("sex = f", 0.6, 0.9, pytest.approx(0.3))


def test_a_group_has_fifty_rows_at_least() -> None:
    domain = Domain.of([Attribute("x", "categorical", categories=("a", "b", "c"))])
    test = pd.DataFrame({"code 0": np.repeat([0, 1, 2], (50, 49, 80))})
    right = np.arange(179) % 5 > 0
    assert prediction._groups(domain, test, right) == {"x = a": 0.8, "x = c": pytest.approx(right[99:].mean())}


def test_numbers_have_no_groups() -> None:
    real = real_scores(REAL, HELD, "height", 0, [RIDGE])
    assert isinstance(real, RealScores)
    found = predict(REAL, HELD, real, 0)
    assert found.worst_group(found.synthetic[0]) is None


def test_more_than_two_classes_with_missing_ones() -> None:
    found = real_scores(REAL, HELD, "kind", 0)
    assert isinstance(found, RealScores)
    assert found.classes == ("p", "q", "r")
    assert found.test_rows == int(HELD.frame["kind"].notna().sum())
    for score in found.scores:
        assert score.measures["accuracy"] > found.constant.measures["accuracy"] + 0.2
        assert score.measures["ROC-AUC"] > 0.8
        assert score.training_rows == int(REAL.frame["kind"].notna().sum())


def test_one_row_has_one_class(baseline: RealScores) -> None:
    found = predict(REAL.take(np.array([0])), HELD, baseline, 0)
    only = REAL.frame["ill"].iloc[0]
    for score in found.synthetic:
        assert score.measures["accuracy"] == pytest.approx(float((HELD.frame["ill"] == only).mean()))
        assert "ROC-AUC" not in score.measures
        assert "one class only" in score.note
        assert score.training_rows == 1


@pytest.mark.parametrize("rows", [2, 3, 7])
def test_very_few_rows(rows: int, baseline: RealScores) -> None:
    both = np.concatenate([np.flatnonzero(REAL.frame["ill"])[:1], np.flatnonzero(~REAL.frame["ill"])[: rows - 1]])
    for score in predict(REAL.take(both), HELD, baseline, 0).synthetic:
        assert 0 <= score.measures["accuracy"] <= 1


def test_absent_classes_are_named() -> None:
    found = real_scores(REAL, HELD, "kind", 0)
    assert isinstance(found, RealScores)
    without = Table(REAL.frame[REAL.frame["kind"] != "r"], DOMAIN)
    for score in predict(without, HELD, found, 0).synthetic:
        assert "no training row of 1 of the classes (r)" in score.note
        assert score.measures["ROC-AUC"] > 0.5
        assert score.lost == ("r",)
    few = predict(without.take(np.arange(12)), HELD.take(np.arange(12)), found, 0).synthetic
    assert not any(score.lost for score in few)  # of so few rows it may be chance
    assert not any(score.lost for score in found.scores)


def test_the_class_is_missing_everywhere() -> None:
    found = real_scores(REAL, HELD, "kind", 0)
    assert isinstance(found, RealScores)
    empty = Table(REAL.frame.assign(kind=None), DOMAIN)
    for score in predict(empty, HELD, found, 0).synthetic:
        assert (score.measures, score.training_rows) == ({}, 0)
        assert "missing" in score.note
    assert "held-out" in str(real_scores(REAL, empty, "kind", 0))
    assert "real" in str(real_scores(empty, HELD, "kind", 0))


def test_all_features_are_missing_or_constant(baseline: RealScores) -> None:
    bare = Table(REAL.frame.assign(height=np.nan, day=pd.NaT, town=None, smoker="no"), DOMAIN)
    for score in predict(bare, HELD, baseline, 0).synthetic:
        assert "accuracy" in score.measures


def test_held_out_rows_of_one_class(baseline: RealScores) -> None:
    held = Table(HELD.frame[HELD.frame["ill"]], DOMAIN)
    found = real_scores(REAL, held, "ill", 0)
    assert isinstance(found, RealScores)
    for score in found.scores:
        assert "ROC-AUC" not in score.measures
        assert "held-out rows hold one class only" in score.note


def test_nothing_to_predict_from() -> None:
    assert real_scores(REAL.project(["ill"]), HELD.project(["ill"]), "ill", 0) == "there is no column to predict from"


def test_only_codes_and_only_numbers() -> None:
    for columns in (["town", "smoker", "ill"], ["height", "ill"], ["day", "ill"]):
        found = real_scores(REAL.project(columns), HELD.project(columns), "ill", 0)
        assert isinstance(found, RealScores)
        assert all("accuracy" in score.measures for score in found.scores)


def test_sixty_four_numeric_columns() -> None:
    generator = np.random.default_rng(7)
    frame = pd.DataFrame(generator.normal(size=(300, 64)), columns=[f"x{j}" for j in range(64)])
    frame["ten"] = np.argmax(frame.to_numpy()[:, :10], axis=1).astype(str)
    attributes = [Attribute(f"x{j}", "numeric", lower=-4, upper=4) for j in range(64)]
    domain = Domain.of([*attributes, Attribute("ten", "categorical", categories=tuple("0123456789"))])
    found = real_scores(Table(frame[:200], domain), Table(frame[200:], domain), "ten", 0)
    assert isinstance(found, RealScores)
    assert all(score.measures["ROC-AUC"] > 0.6 for score in found.scores)


@pytest.mark.parametrize("target", ["day", "wage"])
def test_a_column_of_more_categories_than_boosted_trees_know(target: str) -> None:
    """Of 300 categories, all of which rows have; beside it one of three, which says what is to be predicted."""
    many, three = np.arange(400) % 300, np.random.default_rng(0).integers(0, 3, 400)
    names = {"many": tuple(f"v{i}" for i in range(300)), "three": tuple("abc"), "day": ("mo", "tu")}
    domain = [Attribute(name, "categorical", categories=categories) for name, categories in names.items()]
    frame = pd.DataFrame({"many": [names["many"][i] for i in many], "three": [names["three"][i] for i in three]})
    frame["day"] = np.where(three == 1, "mo", "tu")
    frame["wage"] = np.where(three == 1, 0.0, 1.0)
    table = Table(frame, Domain.of([*domain, Attribute("wage", "numeric", lower=0, upper=1)])).project(
        ["many", "three", target]
    )
    found = real_scores(table.take(np.arange(300)), table.take(np.arange(300, 400)), target, 0, (BOOSTED,))
    assert isinstance(found, RealScores)
    assert found.scores[0].measures["accuracy" if found.classes else "R²"] > 0.95


def test_a_fit_that_did_not_settle_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_ITERATIONS", 1)
    found = real_scores(REAL, HELD, "ill", 0)
    assert isinstance(found, RealScores)
    assert "stopped after 1 iterations" in found.scores[0].note
    assert found.scores[1].note == ""


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "MAX_TRAINING_ROWS", 100)
    monkeypatch.setattr(prediction, "MAX_TEST_ROWS", 150)
    found = real_scores(REAL, HELD, "ill", 0)
    assert isinstance(found, RealScores)
    assert found.test_rows == 150
    assert all(score.training_rows == 100 for score in found.scores)
    assert all(score.note == "trained on 100 of 600 rows, drawn at random" for score in found.scores)


def test_same_seed_same_scores(baseline: RealScores) -> None:
    assert real_scores(REAL, HELD, "ill", 0, MODELS) == baseline


def test_area_under_curve_against_its_definition() -> None:
    generator = np.random.default_rng(8)
    truth = generator.integers(0, 2, 60)
    score = np.round(generator.random(60), 1)
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in score[truth == 1] for b in score[truth == 0]]
    found = area_under_curve(truth, np.stack([1 - score, score], axis=1), np.array([0, 1]))
    assert found == pytest.approx(np.mean(wins))


def test_area_under_curve_of_many_classes() -> None:
    generator = np.random.default_rng(9)
    truth = generator.integers(0, 4, 200)
    scores = generator.dirichlet(np.ones(4), 200)
    found = area_under_curve(truth, scores, np.arange(4))
    assert found == pytest.approx(roc_auc_score(truth, scores, multi_class="ovr", average="macro"))
    # A class that the classifier does not know counts ½.
    known = [roc_auc_score(truth == c, scores[:, c]) for c in range(3)]
    assert area_under_curve(truth, scores[:, :3], np.arange(3)) == pytest.approx((math.fsum(known) + 0.5) / 4)
    assert area_under_curve(np.zeros(5, dtype=np.int64), scores[:5], np.arange(4)) is None


def _numbers(rows: int, seed: int) -> Table:
    """``wage`` is 20 + 6·``height`` in town b, 30 more in town c, with an error of deviation 2; some are not known."""
    generator = np.random.default_rng(seed)
    height, town = generator.normal(size=rows), generator.integers(0, 3, rows)
    wage = 20 + 6 * height + 30 * (town == 2) + generator.normal(0, 2, rows)
    frame = pd.DataFrame({"height": height, "town": np.array(list("abc"))[town], "wage": wage})
    frame["wage"] = frame["wage"].mask(generator.random(rows) < 0.05)
    domain = [DOMAIN["height"], DOMAIN["town"], Attribute("wage", "numeric", lower=-100, upper=300, missing=True)]
    return Table(frame, Domain.of(domain))


WAGES, LATER = _numbers(600, 1), _numbers(400, 2)


def test_numbers_are_predicted_by_regressions_beside_the_mean() -> None:
    found = real_scores(WAGES, LATER, "wage", 0, MODELS)
    assert isinstance(found, RealScores)
    assert [score.model for score in found.scores] == [RIDGE, BOOSTED, FOREST, NEURAL]
    truth = LATER.frame["wage"].dropna()
    mean = truth.mean()
    assert (found.classes, found.constant_name, found.test_rows) == ((), "mean", len(truth))
    assert found.constant.measures == {
        "R²": 0.0,
        "mean absolute error": pytest.approx((truth - mean).abs().mean()),
    }
    for score in found.scores:
        assert score.training_rows == WAGES.frame["wage"].notna().sum()
        assert score.note == ""
        # The error of deviation 2 has a mean size of 1.6, and 0.985 of the variance is explained at best.
        assert 0.95 < score.measures["R²"] < 0.99
        assert 1.4 < score.measures["mean absolute error"] < 3.2
    shuffled = WAGES.frame.assign(wage=WAGES.frame["wage"].sample(frac=1, random_state=0).to_numpy())
    for score in predict(Table(shuffled, WAGES.domain), LATER, found, 0).synthetic:
        assert score.measures["R²"] < 0.1
        assert score.measures["mean absolute error"] > 10


def test_ridge_regression_is_that_of_scikit_learn() -> None:
    known, tested = (table.frame.dropna(subset="wage") for table in (WAGES, LATER))
    features = [
        np.column_stack([(frame["height"] - known["height"].mean()) / known["height"].std(ddof=0)]
                        + [frame["town"] == town for town in "abc"] + [np.zeros(len(frame))])
        for frame in (known, tested)
    ]  # fmt: skip
    predicted = Ridge().fit(features[0].astype(float), known["wage"]).predict(features[1].astype(float))
    found = real_scores(WAGES, LATER, "wage", 0, (LOGISTIC,))
    assert isinstance(found, RealScores)
    assert found == real_scores(WAGES, LATER, "wage", 0, (RIDGE, LOGISTIC))
    assert found.scores[0].measures == {
        "R²": pytest.approx(r2_score(tested["wage"], predicted)),
        "mean absolute error": pytest.approx((tested["wage"] - predicted).abs().mean()),
    }


def test_dates_are_predicted_in_days_and_one_value_has_no_r2() -> None:
    found = real_scores(REAL, HELD, "day", 0)
    assert isinstance(found, RealScores)
    # Days are uniform over 1,000 and follow nothing.
    assert found.constant.measures["mean absolute error"] == pytest.approx(250, abs=15)
    same = Table(LATER.frame.assign(wage=7.0), LATER.domain)
    found = real_scores(WAGES, same, "wage", 0)
    assert isinstance(found, RealScores)
    assert set(found.scores[0].measures) == set(found.constant.measures) == {"mean absolute error"}
    assert "no R²" in found.scores[0].note
    learnt = predict(same, LATER, found, 0).synthetic[0]
    truth = LATER.frame["wage"].dropna()
    assert learnt.measures["mean absolute error"] == pytest.approx((truth - 7).abs().mean())


def test_numbers_at_the_end_of_double_precision_can_be_predicted() -> None:
    wide = Attribute("wage", "numeric", lower=-8e307, upper=8e307, missing=True)
    tables = [
        Table(table.frame.assign(wage=table.frame["wage"] * 1e305), Domain.of([*table.domain.attributes[:2], wide]))
        for table in (WAGES, LATER)
    ]
    found = real_scores(*tables, "wage", 0)
    assert isinstance(found, RealScores)
    assert all(score.measures["R²"] > 0.95 for score in found.scores)


def test_one_category_is_no_class_and_unknown_columns_are_named() -> None:
    single = Table(pd.DataFrame({"a": ["x", "x"]}), Domain.of([Attribute("a", "categorical", categories=("x",))]))
    with pytest.raises(ParameterError, match="target"):
        check_target(single, "a")
    with pytest.raises(DomainError, match="nowhere"):
        check_target(REAL, "nowhere")


def test_brier_score_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 300)
    probabilities = random.dirichlet((1, 2, 3), 300)
    expected = brier_score_loss(truth, probabilities, labels=[0, 1, 2], scale_by_half=False)
    assert brier_score(truth, probabilities, np.arange(3)) == pytest.approx(expected)
    # A class that the classifier does not know: its probability is 0.
    padded = np.column_stack([probabilities[:, :2] / probabilities[:, :2].sum(axis=1, keepdims=True), np.zeros(300)])
    expected = brier_score_loss(truth, padded, labels=[0, 1, 2], scale_by_half=False)
    assert brier_score(truth, padded[:, :2], np.arange(2)) == pytest.approx(expected)


def test_calibration_error_of_known_cases() -> None:
    truth = np.repeat([0, 1], 50)
    sure = np.column_stack([1.0 - truth, truth]).astype(float)
    assert calibration_error(truth, sure, np.arange(2)) == 0.0
    assert calibration_error(truth, sure[:, ::-1], np.arange(2)) == 1.0
    # Confidence 0.7 everywhere and right in half of the rows of every group.
    flat = np.tile([0.7, 0.3], (100, 1))
    mixed = np.tile([0, 1], 50)
    assert calibration_error(mixed, flat, np.arange(2)) == pytest.approx(0.2)
    # Right in half of the rows of confidence 0.95 and in all of 0.55: too sure does not make up for too unsure.
    sure, unsure = np.tile([0.95, 0.05], (50, 1)), np.tile([0.55, 0.45], (50, 1))
    truth = np.append(mixed[:50], np.zeros(50, dtype=np.int64))
    assert calibration_error(truth, np.concatenate([sure, unsure]), np.arange(2)) == pytest.approx(0.45)
    random = np.random.default_rng(1)
    chance = random.uniform(0.5, 1.0, 200_000)
    drawn = (random.random(200_000) > chance).astype(np.int64)
    assert calibration_error(drawn, np.column_stack([chance, 1 - chance]), np.arange(2)) < 0.005


def test_unknown_models_are_named() -> None:
    with pytest.raises(ParameterError, match="boosted trees"):
        real_scores(REAL, HELD, "ill", 0, ("oracle",))
    with pytest.raises(ParameterError, match="one or more"):
        real_scores(REAL, HELD, "ill", 0, ())


def test_numbers_far_within_their_bounds_can_be_predicted() -> None:
    wide = Attribute("wage", "numeric", lower=-1e200, upper=1e200, missing=True)
    tables = [Table(table.frame, Domain.of([*table.domain.attributes[:2], wide])) for table in (WAGES, LATER)]
    found = real_scores(*tables, "wage", 0, (RIDGE,))
    assert isinstance(found, RealScores)
    assert found.constant.measures["R²"] == 0.0
    assert found.scores[0].measures["R²"] == pytest.approx(0.98, abs=0.05)
