"""The same regression on real and other rows: known coefficients, known overlaps."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.evaluation import coefficients
from dpsyn.evaluation.coefficients import Interval, Regression, Term, regression

DOMAIN = dpsyn.Domain.of(
    [
        dpsyn.Attribute("a", "numeric", lower=-9, upper=9),
        dpsyn.Attribute("b", "numeric", lower=-9, upper=9, missing=True),
        dpsyn.Attribute("group", "categorical", ("x", "y", "z")),
        dpsyn.Attribute("ill", "truth", ("no", "yes")),
        dpsyn.Attribute("y", "numeric", lower=-50, upper=50),
    ]
)


def _table(rows: int, seed: int) -> dpsyn.Table:
    """log-odds of "ill = no" are a + ½ [y] + 1, and y = 2a - b + noise of deviation 1."""
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=rows).clip(-9, 9), draw.normal(size=rows).clip(-9, 9)
    group = draw.choice(["x", "y", "z"], rows, p=[0.7, 0.28, 0.02])
    no = draw.random(rows) < expit(a + 0.5 * (group == "y") + 1)
    frame = {"a": a, "b": b, "group": group, "ill": np.where(no, "no", "yes"), "y": 2 * a - b + draw.normal(size=rows)}
    return dpsyn.Table(pd.DataFrame(frame), DOMAIN)


def _terms(found: Regression | None) -> dict[str, Term]:
    assert found is not None
    return {term.name: term for term in found.terms}


def test_linear_coefficients_and_their_intervals() -> None:
    table = _table(4_000, 1)
    found = regression(table, _table(4_000, 2), "y", seed=0)
    terms = _terms(found)
    assert found is not None
    assert found.target == "y"
    assert set(terms) == {"a", "b", "b is empty", "group = y", "ill = yes"} - {"b is empty"}
    # Standardised: 2/√6 and -1/√6; the standard error is √(1/6)/√n.
    assert terms["a"].real.value == pytest.approx(2 / 6**0.5, abs=0.02)
    assert terms["b"].real.value == pytest.approx(-1 / 6**0.5, abs=0.02)
    width = terms["b"].real.high - terms["b"].real.low
    assert width == pytest.approx(2 * 1.96 / 6**0.5 / 4_000**0.5, rel=0.05)


def test_logistic_coefficients_and_their_intervals() -> None:
    table = _table(20_000, 1).project(["a", "group", "ill"])
    found = regression(table, table, "ill", seed=0)
    terms = _terms(found)
    assert found is not None
    assert found.target == "ill = no"
    assert set(terms) == {"a", "group = y"}  # z is rare: with the commonest
    assert terms["a"].real.value == pytest.approx(1, abs=0.05)
    deviation = table.frame["group"].eq("y").std(ddof=0)
    assert terms["group = y"].real.value == pytest.approx(0.5 * deviation, abs=0.05)
    # Fisher's information of one standardised coefficient is about n·E[p(1 - p)a²].
    a = np.random.default_rng(0).normal(size=200_000)
    share = expit(a + 1.1)
    width = 2 * 1.96 / np.sqrt(20_000 * np.mean(share * (1 - share) * a**2))
    assert terms["a"].real.high - terms["a"].real.low == pytest.approx(width, rel=0.1)


def test_the_interval_covers_the_truth_in_95_of_100() -> None:
    tables = [_table(400, seed).project(["a", "b", "y"]) for seed in range(60)]
    found = [_terms(regression(table, table, "y", seed=0))["a"] for table in tables]
    truth = [2 * table.frame["a"].std(ddof=0) / table.frame["y"].std(ddof=0) for table in tables]
    share = np.mean([term.real.low < value < term.real.high for term, value in zip(found, truth, strict=True)])
    assert share > 0.85


def test_intervals_of_many_terms_beside_few_rows_are_those_of_least_squares() -> None:
    """The variance of the noise is that of 200 rows less 41 parameters."""
    draw = np.random.default_rng(3)
    x = draw.normal(size=(200, 40))
    frame = pd.DataFrame(x.clip(-9, 9), columns=[f"x{j}" for j in range(40)]).assign(y=x[:, 0] + draw.normal(size=200) / 2)
    attributes = [dpsyn.Attribute(str(name), "numeric", lower=-9, upper=9) for name in frame.columns]
    table = dpsyn.Table(frame, dpsyn.Domain.of(attributes))
    terms = _terms(regression(table, table, "y", seed=0))
    scaled = (frame - frame.mean()) / frame.std(ddof=0)
    design = np.column_stack([np.ones(200), scaled.drop(columns="y")])
    outcome = scaled["y"].to_numpy()
    fitted, left, *_ = np.linalg.lstsq(design, outcome)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * left / (200 - 41))
    for j in range(40):
        assert terms[f"x{j}"].real.value == pytest.approx(fitted[1 + j], abs=0.02)
        assert terms[f"x{j}"].real.high - terms[f"x{j}"].real.low == pytest.approx(2 * 1.96 * errors[1 + j], rel=0.03)


def test_the_commonest_category_of_the_real_rows_is_that_which_others_are_compared_with_on_either_side() -> None:
    """In the other rows another one is commoner: 1 and ½ are still what a and y add to the log-odds."""
    real, other = _table(20_000, 1), _table(20_000, 2)
    group = real.frame["group"]
    kept = (other.frame["group"] == "y") | (np.random.default_rng(0).random(20_000) < 0.15)
    assert (group.mode()[0], other.frame["group"][kept].mode()[0]) == ("x", "y")
    fewer = dpsyn.Table(other.frame[kept].reset_index(drop=True), DOMAIN)
    columns = ["a", "group", "ill"]
    term = _terms(regression(real.project(columns), fewer.project(columns), "ill", seed=0))["group = y"]
    assert term.other is not None
    assert term.other.value == pytest.approx(0.5 * group.eq("y").std(ddof=0), abs=0.06)


def test_what_is_explained_is_measured_by_the_real_rows_on_either_side() -> None:
    """A target times 0.4 has coefficients times 0.4; where "yes" is the commoner, a still adds 1 to the odds of "no"."""
    real, other = _table(20_000, 1), _table(20_000, 2)
    smaller = dpsyn.Table(other.frame.assign(y=0.4 * other.frame["y"]), DOMAIN)
    found = [regression(real, side, "y", seed=0) for side in (other, smaller)]
    slopes = [term.value if (term := _terms(each)["a"].other) is not None else math.nan for each in found]
    assert slopes == pytest.approx([2 / 6**0.5, 0.8 / 6**0.5], abs=0.02)
    kept = (other.frame["ill"] == "yes") | (np.random.default_rng(0).random(20_000) < 0.2)
    assert (real.frame["ill"].mode()[0], other.frame["ill"][kept].mode()[0]) == ("no", "yes")
    fewer = dpsyn.Table(other.frame[kept].reset_index(drop=True), DOMAIN)
    columns = ["a", "group", "ill"]
    term = _terms(regression(real.project(columns), fewer.project(columns), "ill", seed=0))["a"]
    assert term.other is not None
    assert term.other.value == pytest.approx(1, abs=0.06)


def test_the_penalty_beside_ten_rows_by_hand() -> None:
    """Of standardised columns with a correlation of r the coefficient is 10·r/11, and its precision 10/s² + 1."""
    draw = np.random.default_rng(1)
    a = draw.normal(size=10)
    table = dpsyn.Table(pd.DataFrame({"a": a, "y": a + draw.normal(size=10)}), dpsyn.Domain.of([DOMAIN["a"], DOMAIN["y"]]))
    (term,) = _terms(regression(table, table, "y", seed=0)).values()
    r = table.frame["a"].corr(table.frame["y"])
    slope = 10 * r / 11
    variance = 10 * (1 - 2 * slope * r + slope**2) / 8
    assert term.real.value == pytest.approx(slope)
    assert term.real.high - term.real.value == pytest.approx(1.96 / math.sqrt(10 / variance + 1), rel=1e-4)


def test_empty_cells_have_a_term_that_is_called_by_their_column() -> None:
    table = _table(4_000, 1)
    empty = np.random.default_rng(2).random(4_000) < 0.3
    frame = table.frame.assign(b=table.frame["b"].mask(empty), y=table.frame["a"] + 4 * empty)
    terms = _terms(regression(dpsyn.Table(frame, DOMAIN), table, "y", seed=0))
    assert list(terms) == ["a", "b", "b is empty", "group = y", "ill = yes"]
    assert terms["b is empty"].real.value == pytest.approx(4 * empty.std() / frame["y"].std(ddof=0), abs=0.01)


def test_overlap_by_hand() -> None:
    real = Interval(1.0, 0.0, 2.0)
    assert Term("a", real, real).overlap == 1
    assert Term("a", real, Interval(2.0, 1.0, 3.0)).overlap == 0.5
    assert Term("a", real, Interval(1.0, 0.5, 1.5)).overlap == pytest.approx((1 / 2 + 1) / 2)
    assert Term("a", real, Interval(5.0, 4.0, 6.0)).overlap == 0
    assert Term("a", real, None).overlap == 0
    near, far = Term("near", real, Interval(5.0, 4.0, 6.0)), Term("far", real, Interval(9.0, 8.0, 10.0))
    wide = Term("wide", Interval(0.0, -50.0, 50.0), Interval(120.0, 110.0, 130.0))  # moved by 1.2 of its interval
    found = Regression("y", (Term("same", real, real), near, far, wide))
    assert found.worst is far
    assert found.mean_overlap == pytest.approx(1 / 4)


def test_fresh_samples_share_71_percent_on_average() -> None:
    # E[1 - |d|/(2·1.96 σ)] with d ~ N(0, 2σ²): 1 - √2·√(2/π)/3.92 = 0.712.
    found = [regression(_table(600, s), _table(600, 1_000 + s), "ill", seed=0) for s in range(30)]
    assert np.mean([each.mean_overlap for each in found if each is not None]) == pytest.approx(0.712, abs=0.05)


def test_on_asia_a_copy_a_fresh_sample_and_independent_columns_come_in_this_order() -> None:
    real, fresh = load_sample("asia").split(0.5, np.random.default_rng(0))
    draw = np.random.default_rng(1)
    independent = dpsyn.Table(real.domain.decode(draw.permuted(real.codes, axis=0), draw), real.domain)
    overlaps = []
    for other in (real, fresh, independent):
        found = regression(real, other, "bronc", seed=0)
        assert found is not None
        overlaps.append(found.mean_overlap)
    assert overlaps[0] == pytest.approx(1)
    assert 0.5 < overlaps[1] < 0.95
    assert overlaps[2] < 0.4


def test_what_is_separated_stays_finite() -> None:
    table = _table(300, 1)
    of_a = table.frame.assign(ill=np.where(table.frame["a"] > 0, "yes", "no"))
    sure = dpsyn.Table(of_a, DOMAIN)
    found = regression(sure, table, "ill", seed=0)
    assert found is not None
    json.dumps(found.to_dict(), allow_nan=False)


def test_where_there_is_nothing_to_fit() -> None:
    table = _table(100, 1)
    alike = dpsyn.Table(table.frame.assign(ill="no"), DOMAIN)
    assert regression(alike, table, "ill", seed=0) is None
    assert regression(table.project(["ill"]), table.project(["ill"]), "ill", seed=0) is None
    found = regression(table, alike, "ill", seed=0)
    assert found is not None
    assert {term.other for term in found.terms} == {None}
    assert found.mean_overlap == 0
    assert found.worst.overlap == 0
    json.dumps(found.to_dict(), allow_nan=False)


def test_of_very_many_terms_some_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coefficients, "MOST_TERMS", 2)
    table = _table(200, 1)
    assert list(_terms(regression(table, table, "ill", seed=0))) == ["a", "y"]


@pytest.mark.parametrize("target", ["ill", "y"])
def test_of_a_column_that_is_constant_in_a_release_the_rows_say_nothing(target: str) -> None:
    table, rows = _table(2_000, 1), _table(2_000, 2)
    flat = dpsyn.Table(rows.frame.assign(group="x", a=3.0), DOMAIN)
    terms = _terms(regression(table, flat, target, seed=0))
    silent = {name for name, term in terms.items() if term.other is not None and not term.other.is_estimated}
    assert silent == {"a", "group = y"}
    assert all(term.real.is_estimated for term in terms.values())
    nearly = rows.frame.assign(group="x")
    nearly.loc[0, "group"] = "y"  # one row is something
    terms = _terms(regression(table, dpsyn.Table(nearly, DOMAIN), target, seed=0))
    assert all(term.other is not None and term.other.is_estimated for term in terms.values())
