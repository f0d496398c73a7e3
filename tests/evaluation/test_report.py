"""The whole report: what it holds, what it leaves out, what it refuses."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError, ParameterError
from dpsyn.evaluation.baseline import real_baseline
from dpsyn.evaluation.conclusions import conclusions
from dpsyn.evaluation.distances import MarginalError
from dpsyn.evaluation.prediction import Prediction
from dpsyn.evaluation.report import evaluate, flat_measures, references
from dpsyn.evaluation.tables import coefficients_table, scores_table, summary_table, whole_rows_table
from dpsyn.table import Table

DOMAIN = Domain.of(
    [
        Attribute("x", "numeric", lower=0, upper=1, bins=4),
        Attribute("day", "date", lower=0, upper=100, bins=5, missing=True),
        Attribute("colour", "categorical", categories=("red", "green", "blue"), missing=True),
        Attribute("ill", "truth", categories=("no", "yes")),
    ]
)


def _table(rows: int, seed: int) -> Table:
    """``ill`` depends on x and colour; the day on nothing."""
    generator = np.random.default_rng(seed)
    x = generator.random(rows)
    colour = np.where(x > 0.5, "red", generator.choice(["green", "blue"], rows)).astype(object)
    days = pd.Series(pd.Timestamp("1970-01-01") + pd.to_timedelta(generator.integers(0, 100, rows), unit="D"))
    frame = pd.DataFrame(
        {
            "x": x,
            "day": days.mask(generator.random(rows) < 0.1),
            "colour": pd.Series(colour).mask(generator.random(rows) < 0.1),
            "ill": np.where(x + 0.2 * generator.normal(size=rows) > 0.5, "yes", "no"),
        }
    )
    return Table(frame, DOMAIN)


REAL, HELD = _table(800, 1), _table(400, 2)
BASELINE = real_baseline(REAL, HELD, "ill")


def _independent(table: Table, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return pd.DataFrame({c: table.frame[c].to_numpy()[generator.permutation(table.n)] for c in table.frame.columns})


def test_identical_rows_have_no_error() -> None:
    report = evaluate(REAL, REAL.frame.sample(frac=1, random_state=0))
    assert all(error.max == 0 for error in report.marginals.values())
    assert (report.pairwise.to_numpy() == 0).all()
    assert report.ranges.max == 0


def test_what_a_report_holds() -> None:
    report = dpsyn.evaluate(REAL, _table(300, 3).frame, holdout=HELD, target="ill")
    assert report.n == 800
    assert report.release.rows == 300
    assert list(report.marginals) == [1, 2, 3]
    assert [report.marginals[d].possible for d in (1, 2, 3)] == [4, 6, 4]
    assert list(report.pairwise.columns) == list(DOMAIN.names)
    assert report.marginals[1].mean == pytest.approx(np.diag(report.pairwise).mean())
    upper = report.pairwise.to_numpy()[np.triu_indices(4, 1)]
    assert report.marginals[2].mean == pytest.approx(upper.mean())
    assert report.marginals[2].max == upper.max()
    assert report.noise_floor is not None
    assert report.noise_floor.rows == 400
    assert isinstance(report.prediction, Prediction)
    assert report.notes == ()


def test_lost_dependence_shows_in_pairs_and_not_in_single_columns() -> None:
    report = evaluate(REAL, _independent(REAL, 5), baseline=BASELINE)
    floor = report.noise_floor
    assert floor is not None
    assert report.marginals[1].max == 0
    assert report.marginals[2].max > 3 * floor.marginals[2].max
    assert set(report.marginals[2].worst) == {"x", "colour"}
    assert report.ranges.mean > 2 * floor.ranges.mean
    assert isinstance(report.prediction, Prediction)
    for lost, real in zip(report.prediction.synthetic, report.prediction.real.scores, strict=True):
        assert real.measures["ROC-AUC"] > 0.85
        assert lost.measures["ROC-AUC"] < real.measures["ROC-AUC"] - 0.2


def test_the_noise_floor_is_the_error_of_the_held_out_rows() -> None:
    report = evaluate(REAL, HELD.frame, baseline=BASELINE)
    assert report.noise_floor is not None
    assert report.release.to_dict() == report.noise_floor.to_dict()


def test_as_many_held_out_rows_as_were_released_are_measured_and_errors_of_more_are_estimated() -> None:
    assert [BASELINE.fresh(rows).drawn for rows in (100, 400, 401)] == [True, True, False]
    assert dict(BASELINE.fresh(400).each[2]) == pytest.approx(BASELINE.noise_floor.marginals[2].each)


def test_empty_cells_take_no_part_in_the_order_of_numbers() -> None:
    """Numbers with a correlation of ranks of a third, of which every third cell is empty, and the same without it."""
    random = np.random.default_rng(0)
    names = ("one", "two")
    attributes = [Attribute(name, "numeric", lower=-9, upper=9, missing=True) for name in names]
    one = random.normal(size=2_000)
    frame = pd.DataFrame({"one": one, "two": one + 2.6 * random.normal(size=2_000)}).clip(-9, 9)
    frame = frame.mask(random.random((2_000, 2)) < 1 / 3)
    table = Table(frame, Domain.of(attributes))
    alone = pd.DataFrame({name: random.permutation(frame[name]) for name in names})
    ((*found, strength, left),) = evaluate(table, alone, degrees=(2,)).release.lost
    assert found == ["one", "two"]
    assert strength == pytest.approx(frame["one"].corr(frame["two"], method="spearman"), abs=0.02)
    assert abs(left) < 0.25


def test_a_baseline_saves_work_and_changes_nothing() -> None:
    rows = _table(300, 3).frame
    direct = evaluate(REAL, rows, holdout=HELD, target="ill")
    by_baseline = evaluate(REAL, rows, baseline=BASELINE)
    assert direct.to_dict() == by_baseline.to_dict()
    assert (
        evaluate(REAL, rows, holdout=HELD, target="ill", degrees=(3, 2, 1), baseline=BASELINE).to_dict() == direct.to_dict()
    )
    again = pickle.loads(pickle.dumps(BASELINE))
    assert evaluate(REAL, rows, baseline=again).to_dict() == direct.to_dict()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("baseline", {"table": _table(800, 9)}),
        ("baseline", {"table": REAL.project(["x", "ill"])}),
        ("holdout", {"holdout": _table(400, 9)}),
        ("target", {"target": "colour"}),
        ("degrees", {"degrees": (1, 2)}),
        ("models", {"models": ["random forest"]}),
        ("queries", {"queries": 10}),
        ("max_subsets", {"max_subsets": 3}),
        ("generator", {"generator": np.random.default_rng(1)}),
    ],
)
def test_a_baseline_of_something_else_is_refused(field: str, arguments: dict[str, object]) -> None:
    given = {"table": REAL, "rows": REAL.frame, "baseline": BASELINE} | arguments
    with pytest.raises(ParameterError) as caught:
        evaluate(**given)
    assert caught.value.field == field


@pytest.mark.parametrize("names", [["empty", "day", "x"], ["x", "day", "empty"]])
def test_the_largest_distance_is_of_the_columns_that_have_values(names: list[str]) -> None:
    """That of the day is 0; of x that of all that lies below a quarter."""
    empty = Attribute("empty", "numeric", lower=0, upper=1, bins=2, missing=True)
    frame = REAL.frame.assign(empty=np.nan)[names]
    domain = Domain.of([empty if name == "empty" else DOMAIN[name] for name in names])
    found = flat_measures(evaluate(Table(frame, domain), frame.assign(x=frame["x"].clip(lower=0.25))))
    assert found["values, largest Kolmogorov-Smirnov distance"] == pytest.approx((frame["x"] < 0.25).mean())


def test_rows_without_relations_are_as_many_as_the_release_has() -> None:
    """Of columns that have none: as far off as so many others that are drawn from what every column has."""
    random = np.random.default_rng(3)
    names = [f"c{j}" for j in range(8)]
    domain = Domain.of([Attribute(name, "categorical", tuple("pqrst")) for name in names])

    def sample(rows: int) -> Table:
        return Table(pd.DataFrame({name: random.choice(list("pqrst"), rows) for name in names}), domain)

    real = sample(2_000)
    baseline = real_baseline(real, degrees=[2])
    for rows in (50, 400):
        found = evaluate(real, sample(rows).frame, baseline=baseline)
        assert found.shuffled is not None
        assert found.shuffled.rows == rows
        assert found.shuffled.mean(2) == pytest.approx(found.marginals[2].mean, rel=0.1)
        assert found.to_dict()["independent_columns"] == found.shuffled.mean(2)
    (all_rows, more) = (baseline.alone(rows) for rows in (2_000, 9_000))
    assert all_rows is more is baseline.shuffled
    assert all_rows.rows == 2_000


def test_without_held_out_rows() -> None:
    report = evaluate(REAL, HELD.frame, target="ill")
    assert report.noise_floor is None
    assert report.prediction == "there are no held-out rows to test on"
    assert evaluate(REAL, HELD.frame, holdout=HELD).prediction == "no target column was chosen"


@pytest.mark.parametrize("k", [1, 2, 5])
def test_very_few_rows(k: int) -> None:
    report = evaluate(REAL, _table(k, 4).frame, baseline=BASELINE)
    assert report.release.rows == k
    assert 0 < report.marginals[1].mean <= report.marginals[1].max <= 1
    json.dumps(report.to_dict(), allow_nan=False)


def test_one_row_by_hand() -> None:
    report = evaluate(REAL, REAL.frame.iloc[[0]], degrees=(1,))
    share = float((REAL.frame["ill"] == REAL.frame["ill"].iloc[0]).mean())
    assert report.pairwise.loc["ill", "ill"] == pytest.approx(1 - share)


def test_one_column_and_degrees_beyond_it() -> None:
    table = REAL.project(["colour"])
    report = evaluate(table, table.frame.iloc[:50], holdout=HELD.project(["colour"]), target="colour")
    assert list(report.marginals) == [1]
    assert report.notes == (
        "tables of 2 columns are left out: the data has 1",
        "tables of 3 columns are left out: the data has 1",
    )
    assert report.prediction == "there is no column to predict from"
    assert report.pairwise.shape == (1, 1)


def test_sampling_of_tables_is_said_and_shared() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.integers(0, 3, (60, 30)), columns=[f"c{j}" for j in range(30)])
    table = Table(frame, Domain.of([Attribute(c, "categorical", categories=(0, 1, 2)) for c in frame.columns]))
    report = evaluate(table, frame[:20], holdout=table.take(np.arange(59)), max_subsets=100)
    assert report.notes == (
        "100 of 435 tables of 2 columns were compared, drawn at random",
        "100 of 4,060 tables of 3 columns were compared, drawn at random",
    )
    assert report.noise_floor is not None
    assert (report.pairwise.isna() == report.noise_floor.pairwise.isna()).all(axis=None)
    data = report.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    seeded = [evaluate(table, frame[:20], max_subsets=100, generator=np.random.default_rng(s)) for s in (1, 1, 2)]
    assert seeded[0].to_dict() == seeded[1].to_dict()
    assert not seeded[0].pairwise.isna().equals(seeded[2].pairwise.isna())


def test_wide_data_is_sampled_without_listing_every_table() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (20, 300)), columns=[f"c{j}" for j in range(300)])
    table = Table(frame, Domain.of([Attribute(c, "truth", categories=(0, 1)) for c in frame.columns]))
    report = evaluate(table, frame[:10], degrees=(3,), max_subsets=200)
    assert (report.marginals[3].measured, report.marginals[3].possible) == (200, 4_455_100)


def test_to_dict_is_plain_and_complete() -> None:
    data = evaluate(REAL, _table(300, 3).frame, baseline=BASELINE).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)).keys() == data.keys()
    assert [entry["degree"] for entry in data["release"]["marginals"]] == [1, 2, 3]
    assert set(data["release"]["marginals"][0]) == {*MarginalError.__dataclass_fields__, "sampled", "k_marginal"} - {"each"}
    assert data["prediction"]["real"]["constant"]["measures"]["accuracy"] > 0.4


def test_values_outside_the_domain_are_refused() -> None:
    with pytest.raises(DomainError, match="purple") as caught:
        evaluate(REAL, REAL.frame.assign(colour="purple"))
    assert caught.value.column == "colour"
    with pytest.raises(DomainError, match="'day'"):
        evaluate(REAL, REAL.frame.drop(columns="day"))
    with pytest.raises(DomainError, match="two columns"):
        evaluate(REAL, pd.concat([REAL.frame, REAL.frame[["x"]]], axis=1))
    with pytest.raises(DomainError, match="missing"):
        evaluate(REAL, REAL.frame.assign(x=np.nan))


def test_order_of_columns_and_further_ones_do_not_matter() -> None:
    turned = HELD.frame[list(reversed(DOMAIN.names))].assign(more=1)
    assert evaluate(REAL, turned).to_dict() == evaluate(REAL, HELD.frame).to_dict()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("rows", {"rows": REAL.frame.iloc[:0]}),
        ("table", {"table": REAL.take(np.array([], dtype=int))}),
        ("holdout", {"holdout": REAL.take(np.array([], dtype=int))}),
        ("degrees", {"degrees": (0, 1)}),
        ("degrees", {"degrees": ()}),
        ("max_subsets", {"max_subsets": 0}),
        ("queries", {"queries": 0}),
        ("target", {"target": 1}),
    ],
)
def test_wrong_parameters_name_the_field(field: str, arguments: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        evaluate(**({"table": REAL, "rows": REAL.frame} | arguments))
    assert caught.value.field == field


def test_rows_after_a_round_trip_through_csv(tmp_path: object) -> None:
    path = f"{tmp_path}/rows.csv"
    HELD.frame.to_csv(path, index=False)
    assert evaluate(REAL, pd.read_csv(path)).to_dict() == evaluate(REAL, HELD.frame).to_dict()


def test_whole_rows_and_coefficients_come_in_the_right_order() -> None:
    generator = np.random.default_rng(6)
    noise = DOMAIN.decode(
        np.stack([generator.integers(0, size, 800) for size in DOMAIN.shape], axis=1).astype(np.int32), generator
    )
    rows = {"copy": REAL.frame, "fresh": _table(800, 3).frame, "independent": _independent(REAL, 5), "noise": noise}
    found = {name: evaluate(REAL, each, baseline=BASELINE) for name, each in rows.items()}
    measures = {name: flat_measures(report) for name, report in found.items()}
    ratios = [measures[name]["propensity, pMSE ratio"] for name in rows]
    assert ratios[0] == 0
    assert ratios[1] < 2
    assert 4 < ratios[2] < ratios[3]
    overlap = "coefficients, mean overlap of intervals"
    assert measures["copy"][overlap] == pytest.approx(1)
    least = {name: report.release.regression.worst.overlap for name, report in found.items()}
    assert 1 > least["fresh"] > least["independent"] == 0
    lost = "loss in the worst group, logistic regression"
    assert measures["copy"][lost] == 0
    assert measures["fresh"][lost] < 0.15 < measures["independent"][lost]
    assert references(BASELINE)[overlap]["fresh real rows, 400"] > 0.5
    scores = [report.marginals[3].k_marginal for report in found.values()]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1000


def test_whole_rows_and_coefficients_in_tables_and_as_plain_data() -> None:
    report = evaluate(REAL, _table(300, 3).frame, baseline=BASELINE)
    table = whole_rows_table({"a": report})
    assert list(table["Compared"]) == ["a", "Fresh real rows, 400", "Real rows, 1 cell of each changed"]
    assert report.changed is not None
    assert table["Cells that differ from the nearest real row"].iloc[-1] == round(report.changed[1].distance, 2) > 0
    (a, floor) = coefficients_table({"a": report}).to_dict("records")
    assert a["Overlap, mean"] == pytest.approx(report.release.regression.mean_overlap, abs=1e-3)
    assert floor["Compared"] == "Fresh real rows, 400"
    assert {"Worst group", "Its accuracy"} <= set(scores_table({"a": report}))
    assert "Worst group" not in scores_table({"real": evaluate(REAL, REAL.frame, baseline=BASELINE)})
    assert "k-marginal score" in summary_table({"a": report})
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["release"]["propensity"]["ratio"] == report.release.propensity.ratio
    assert plain["release"]["regression"]["target"].startswith("ill = ")
    assert plain["real_rows_changed"]["cells"] == 1
    nothing = evaluate(REAL, _table(300, 3).frame, degrees=(1,))
    assert nothing.to_dict()["release"]["regression"] is None
    assert coefficients_table({"a": nothing}).empty
    assert "k-marginal score" not in summary_table({"a": nothing})


def rows_of(seed: int, rows: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = random.normal(size=rows)
    word = np.array(["a", "b", "c"])[random.integers(0, 3, rows)]
    return pd.DataFrame({"word": word, "x": x.round(3), "y": (0.2 * x + random.normal(size=rows)).round(3)})


def test_another_sample_is_not_bad_with_or_without_held_out_rows() -> None:
    table = dpsyn.read_table(rows_of(0, 4500))
    learned = table.take(np.arange(500))
    for held_out in (None, table.take(np.arange(500, 1100))):
        baseline = real_baseline(learned, held_out)
        for rows in (60, 500, 3400):
            made = evaluate(learned, table.frame.iloc[1100:][:rows], baseline=baseline)
            assert made.fresh is not None
            assert (made.fresh.rows, made.fresh.drawn) == (rows, held_out is not None and rows <= 600)
            beside = made.to_dict()["fresh_sample"]["mean"]
            for degree, errors in made.marginals.items():
                assert 0.75 * beside[str(degree)] < errors.mean < 1.25 * beside[str(degree)]
            assert conclusions(made)[0].grade in ("cannot be judged", "no fault seen")


def test_the_rows_themselves_are_no_held_out_ones() -> None:
    said = "the held-out rows are the real rows themselves, so nothing that is said of fresh rows is true of them"
    assert said in evaluate(REAL, REAL.frame, holdout=REAL).notes
    assert said not in evaluate(REAL, REAL.frame, holdout=REAL.take(np.arange(30))).notes


def test_a_few_rows_say_that_chance_does_everything() -> None:
    made = evaluate(dpsyn.read_table(rows_of(0, 3)), rows_of(0, 3).iloc[[0, 0, 0]])
    beside = made.to_dict()["fresh_sample"]
    assert (beside["rows"], beside["drawn"], beside["mean"]) == (3, False, {"1": 1.0, "2": 1.0, "3": 1.0})
    assert conclusions(made)[0].grade == "cannot be judged"


@pytest.mark.parametrize("what", ["line", "season"])
def test_relations_of_numbers_are_found_lost_where_they_are(what: str) -> None:
    def rows(seed: int, related: bool = True) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        x = random.uniform(0, 1, 2_000)
        y = (x if what == "line" else np.sin(6.283 * x)) + random.normal(0, 0.4, 2_000)
        return pd.DataFrame({"x": x.round(3), "y": (y if related else random.permutation(y)).round(2).clip(-2, 2)})

    table = dpsyn.read_table(pd.concat([rows(0), pd.DataFrame({"x": [0.0, 1.0], "y": [-2.0, 2.0]})]))
    assert evaluate(table, rows(1)).release.lost == ()
    made = evaluate(table, rows(2, related=False))
    ((one, other, strength, left),) = made.release.lost
    assert (one, other) == ("x", "y")
    assert strength > 0.6
    assert abs(left) < 0.1
    assert made.to_dict()["release"]["lost"] == [{"column": "x", "other": "y", "strength": strength, "left": left}]


@pytest.mark.parametrize(("far", "unit"), [(1e9, None), (1e15, None), (9.96921e36, None), (1e14, 1.0)])
def test_relations_are_seen_where_one_number_is_far_from_all_others(far: float, unit: float | None) -> None:
    """One cell of 2,000 makes the range so wide that all others are in one of the narrowest parts of a tree."""

    def rows(seed: int, related: bool = True) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        income = np.exp(random.normal(8, 1.5, 2_000))
        tax = income * np.exp(random.normal(0, 0.3, 2_000))
        found = pd.DataFrame({"income": income, "tax": tax if related else random.permutation(tax)})
        found.iloc[0] = far
        return found.round() if unit else found

    bounds = [dpsyn.Attribute(name, "numeric", lower=0, upper=far, unit=unit, public=True) for name in ("income", "tax")]
    table = dpsyn.Table(rows(0), dpsyn.Domain.of(bounds))
    assert conclusions(evaluate(table, rows(1)))[0].grade == "no fault seen"
    made = evaluate(table, rows(2, related=False))
    assert conclusions(made)[0].grade == "poor"
    assert made.release.lost[0][:2] == ("income", "tax")


def test_values_beyond_the_bounds_are_told() -> None:
    table = dpsyn.read_table(pd.DataFrame({"a": np.arange(300) * 1.5, "b": ["x", "y", "y"] * 100}))
    assert dpsyn.evaluate(table, table.frame, degrees=(1,)).notes == ()
    far = table.frame.assign(a=np.where(table.frame["a"] > 400, 1e9, table.frame["a"]))
    (note,) = dpsyn.evaluate(table, far, degrees=(1,)).notes
    assert note == (
        "column 'a': 33 of 300 synthetic cells lie outside the domain, 0 to 448.5, and are measured as its nearer end"
    )


def _equal_classes(classes: int, rows: int, *, known: bool) -> Table:
    """As many rows of every class; no column tells which, unless it is ``known`` in about half of the rows."""
    generator = np.random.default_rng(3)
    names = [f"u{code}" for code in range(classes)]
    kind = np.array(names, dtype=object)[np.arange(rows) % classes]
    sign = generator.permutation(kind)
    frame = pd.DataFrame({"kind": kind, "sign": np.where(generator.random(rows) < known / 2, kind, sign)})
    return Table(frame, Domain.of([Attribute(name, "categorical", categories=tuple(names)) for name in frame]))


@pytest.mark.parametrize(("classes", "rows"), [(40, 800), (5, 400)])
def test_guessing_is_never_below_chance_so_rows_without_relations_pass_no_prediction(classes: int, rows: int) -> None:
    """Of equal classes the commonest of the rows to learn from is the rarest of the held-out ones."""

    def graded(known: bool, seed: int, shuffled: bool) -> str:
        learn, held = _equal_classes(classes, rows, known=known).split(0.25, np.random.default_rng(seed))
        made = _independent(learn, seed) if shuffled else learn.frame
        report = evaluate(learn, made, holdout=held, target="kind", degrees=(1,), models=("logistic regression",))
        assert isinstance(report.prediction, Prediction)
        share = held.frame["kind"].value_counts(normalize=True).max()
        assert report.prediction.real.constant.measures["accuracy"] == pytest.approx(share)
        assert share >= 1 / classes
        return next(finding.grade for finding in conclusions(report) if finding.about == "prediction")

    assert {graded(False, seed, True) for seed in range(20)} == {"cannot be judged"}
    assert {graded(True, seed, False) for seed in range(3)} == {"no fault seen"}
    assert "no fault seen" not in {graded(True, seed, True) for seed in range(3)}
