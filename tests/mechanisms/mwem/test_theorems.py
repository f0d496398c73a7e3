"""MWEM's verdict: its bound by hand, and every remedy tried out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import dpsyn
from dpsyn.domain import Attribute
from dpsyn.errors import InputError, ParameterError
from dpsyn.mechanisms.mwem import theorems
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition
from dpsyn.theory.datasets import ADULT, ASIA, CAR

BIG = replace(ASIA, n=10**9, max_frequency=0.3)


def verdict(stats: DatasetStatistics = BIG, epsilon: float = 1.0, **settings: Any) -> Any:
    return dpsyn.feasibility(stats, dpsyn.PrivacySpec(epsilon), **settings)["mwem"]


def test_the_bound_by_hand() -> None:
    found = verdict(degree=2, accuracy=0.1, rounds=7)
    assert found.facts["queries"] == 28 * 4
    expected = 2 * math.sqrt(math.log(256) / 7) + 10 * 7 * math.log(112) / 1e9
    assert found["error"].actual == pytest.approx(expected, rel=1e-12)
    assert found["error"].required == pytest.approx(0.8)
    assert found["success"].actual == pytest.approx(14 / 112)
    assert found["success"].holds


def test_a_bound_of_half_of_all_rows_promises_little() -> None:
    found = verdict(ADULT, 100.0, degree=2, rows=1000, accuracy=0.097)
    assert found.holds
    assert found.facts["cell_error"] > 0.5
    assert found.headline.level == "open"
    assert found.headline.sentence.startswith("Private. A theorem promises little: with probability ")


def test_the_card_says_whether_a_smaller_error_was_asked_for_or_one_that_says_nothing() -> None:
    stats = DatasetStatistics(p=30, n=10**6, max_frequency=1e-6)
    for accuracy, words in ((0.125, "the error that was asked for says nothing"), (0.05, "a smaller error was asked for")):
        headline = verdict(stats, 10.0, degree=2, accuracy=accuracy).headline
        assert headline.number == "± 0.879"
        assert headline.sentence.endswith(f"is so close, but {words}.")


@pytest.mark.parametrize(("rounds", "number"), [(800, "± 0.323"), (869, "± 0.31"), (870, "no promise"), (900, "no promise")])
def test_the_card_says_that_the_bound_is_less_likely_than_was_asked_for_or_never_true(rounds: int, number: str) -> None:
    """1,740 cells."""
    headline = verdict(DatasetStatistics(30, 10**9, 0.3), accuracy=0.12, rounds=rounds).headline
    assert (headline.number, headline.level) == (number, "open")
    words = "but a higher probability was asked for." if rounds < 870 else f"after {rounds} rounds the bound on a cell's "
    assert words in headline.sentence


def test_tables_of_categories_are_counted_by_their_cells() -> None:
    sizes = CAR.sizes
    assert sizes is not None
    pairs = sum(a * b for i, a in enumerate(sizes) for b in sizes[i + 1 :])
    assert verdict(CAR).facts["queries"] == pairs


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_every_remedy_is_where_the_condition_begins_to_hold(degree: int, epsilon: float) -> None:
    stats = DatasetStatistics(200, 10**5, 1e-5)
    asked: dict[str, Any] = {"degree": degree, "accuracy": 0.12, "failure_probability": 0.1}
    found = verdict(stats, epsilon, **asked)
    tried = 0
    for condition in found.conditions:
        for remedy in condition.remedies:
            if remedy.value is None:
                continue
            step = 1 if remedy.integer and remedy.value < 1e12 else remedy.value * 1e-6
            for value, holds in ((remedy.value * (1 + 1e-9 * (not remedy.integer)), True), (remedy.value - step, False)):
                if remedy.side == "at_most":
                    value, holds = (remedy.value * (1 - 1e-6), True) if holds else (remedy.value * (1 + 1e-6), False)  # noqa: PLW2901
                there = {
                    "n": lambda v: verdict(replace(stats, n=int(v), max_frequency=1.0), epsilon, **asked),
                    "epsilon": lambda v: verdict(stats, v, **asked),
                    "accuracy": lambda v: verdict(stats, epsilon, **{**asked, "accuracy": v}),
                    "failure_probability": lambda v: verdict(stats, epsilon, **{**asked, "failure_probability": v}),
                }[remedy.parameter](value)
                if remedy.parameter == "failure_probability":
                    continue  # T follows it
                assert there[condition.key].holds is holds, (condition.key, str(remedy), value)
                tried += 1
    assert tried >= 4


@pytest.mark.parametrize("epsilon", [0.5, 2.42, 100.0])
def test_where_so_many_rounds_are_too_unlikely_the_smallest_gamma_that_allows_enough_is_named(epsilon: float) -> None:
    stats = DatasetStatistics(13, 17142866037, 2**-13, sizes=(2,) * 13)

    def error(gamma: float) -> Condition:
        return verdict(stats, epsilon, degree=2, accuracy=0.124, failure_probability=gamma)["error"]

    holding = [rounds for rounds in range(1, 156) if error(2 * rounds / 312 * (1 + 1e-12)).holds]
    (gamma,) = (one.value for one in error(0.1526).remedies if one.parameter == "failure_probability")
    assert gamma == pytest.approx(2 * holding[0] / 312)
    assert error(gamma).holds
    assert not error(gamma * (1 - 1e-9)).holds
    hopeless = verdict(stats, epsilon, degree=2, accuracy=0.01, failure_probability=0.1526)["error"]
    assert "failure_probability" not in [one.parameter for one in hopeless.remedies]


@pytest.mark.parametrize("accuracy", [0.05, 0.1, 0.12])
@pytest.mark.parametrize("p", [4, 10, 20, 40])
def test_no_failure_probability_is_named_at_which_the_theorem_promises_nothing(p: int, accuracy: float) -> None:
    """By brute force over all T with 2T/|Q| < 1."""
    cells, n = 4 * math.comb(p, 2), 10**5
    errors = [2 * math.sqrt(p * math.log(2) / t) + 10 * t * math.log(cells) / n for t in range(1, cells) if 2 * t < cells]
    enough = [2 * t / cells for t, error in enumerate(errors, 1) if error <= 8 * accuracy]
    found = verdict(DatasetStatistics(p, n, 0.3), degree=2, accuracy=accuracy, failure_probability=0.01)["error"]
    assert not found.holds
    named = [one.value for one in found.remedies if one.parameter == "failure_probability"]
    assert named == [pytest.approx(gamma) for gamma in enough[:1]]


@pytest.mark.parametrize("failure_probability", [0.125, 0.3])
@pytest.mark.parametrize(("n", "accuracy"), [(10**9, 0.12), (2_000, 0.12), (1_000, 0.12), (10**9, 0.05), (10**9, 0.01)])
@pytest.mark.parametrize("rounds", [1, 20, 40, 100, 200])
def test_other_rounds_are_offered_where_they_are_enough(
    n: int, accuracy: float, failure_probability: float, rounds: int
) -> None:
    """By brute force over all T with 2T/|Q| < 1."""
    cells, points, asked = 180, 10 * math.log(2), {"accuracy": accuracy, "failure_probability": failure_probability}
    found = verdict(DatasetStatistics(10, n, 0.3), degree=2, rounds=rounds, **asked)
    likely = [t for t in range(1, 90) if 2 * t / cells <= failure_probability]
    close = [t for t in range(1, 90) if 2 * math.sqrt(points / t) + 10 * t * math.log(cells) / n <= 8 * accuracy]
    assert found["success"].remedy("rounds").value == likely[-1]
    remedy = found["error"].remedy("rounds")
    nearest = min(close, key=lambda t: abs(t - rounds), default=None)
    assert (remedy and remedy.value) == (None if found["error"].holds else nearest)
    assert remedy is None or remedy.side == ("at_least" if remedy.value > rounds else "at_most")
    if not found.holds and set(likely) & set(close):
        assert found.change is not None


def test_fewer_rounds_are_the_change_that_is_enough() -> None:
    found = verdict(DatasetStatistics(30, 10**9, 0.3), accuracy=0.12, rounds=900)
    assert str(found.change) == "rounds ≤ 108"
    assert verdict(DatasetStatistics(30, 10**9, 0.3), accuracy=0.12, rounds=108).holds
    assert not verdict(DatasetStatistics(30, 10**9, 0.3), accuracy=0.12, rounds=109).holds


def test_no_failure_probability_of_1_is_offered_or_taken() -> None:
    small = DatasetStatistics(2, 100, 0.5, sizes=(2, 2))
    found = verdict(small, degree=1, rounds=3)["success"]
    assert found.actual == pytest.approx(1.5)
    likelier, fewer = found.remedies
    assert (likelier.value, fewer.value) == (None, None)
    assert "promises nothing" in likelier.reason
    for wrong in (0.0, 1.0, 3.0):
        with pytest.raises(ParameterError, match="failure_probability"):
            theorems.verdict(small, dpsyn.PrivacySpec(1.0), failure_probability=wrong)


def test_what_is_promised_is_not_rounded_to_certainty() -> None:
    stats = DatasetStatistics(200, 10**9, 1e-5)
    found = theorems.verdict(stats, dpsyn.PrivacySpec(9.996), degree=3, rounds=1000, accuracy=0.12)
    assert found.facts["success_probability"] == pytest.approx(0.99981, abs=1e-5)
    assert "at least 0.999 every" in found.summary
    assert "are ε = 10 private" in found.summary


def test_the_number_of_rows_must_be_public() -> None:
    spec = dpsyn.PrivacySpec(1.0, neighbouring="add_remove")
    found = dpsyn.feasibility(BIG, spec)["mwem"]
    assert not found["public_n"].holds
    assert not found.holds


def test_of_a_release_the_bound_is_about_the_epsilon_of_its_rounds() -> None:
    domain = dpsyn.Domain.of([dpsyn.Attribute("age", "numeric", lower=0, upper=99, integer=True, public=True)])
    stats, frame = DatasetStatistics(10, 100, 0.5, sizes=(10,)), pd.DataFrame()
    for share in (0.0, 0.25):
        config = dpsyn.MWEM(degree=1, measured="cells", histogram_share=share)
        mechanism = config.calibrate(dpsyn.PrivacySpec(2.0), domain, 100)
        spec, asked, words = theorems.of_release(mechanism.facts(), frame, stats, frame)
        assert spec.epsilon == pytest.approx(mechanism.budget.total)
        assert asked["rounds"] == mechanism.rounds
        assert ("histograms" in words) is (share > 0)
    others = (({"measured": "tables"}, 0.0, "tables"), ({"start_share": 0.5}, 0.0, "started"), ({}, 1e-5, "Gaussian"))
    for settings, delta, word in others:
        config = dpsyn.MWEM(degree=1, **{"measured": "cells", **settings})
        mechanism = config.calibrate(dpsyn.PrivacySpec(2.0, delta), domain, 100)
        with pytest.raises(InputError, match=rf"^Theorem 2\.2 is about .*, and this release .*{word}"):
            theorems.of_release(mechanism.facts(), frame, stats, frame)


def sized(*sizes: int) -> tuple[Any, dpsyn.Domain]:
    columns = [Attribute(f"c{j}", "categorical", tuple("abc"[:size]), public=True) for j, size in enumerate(sizes)]
    return verdict(DatasetStatistics(sum(sizes), 10**15, 1e-6, sizes=sizes), 1000.0), dpsyn.Domain.of(columns)


def test_the_verdict_refuses_the_columns_that_a_run_refuses() -> None:
    """2^22 possible rows have a weight each; 3·2^21 have none."""
    found, domain = sized(*(2,) * 22)
    assert dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1000.0), domain, 10**6).domain.size == 4_194_304
    assert found.mark == "◇"
    assert "possible" not in {condition.key for condition in found.conditions}
    found, domain = sized(*(2,) * 21, 3)
    with pytest.raises(ParameterError, match="possible rows = 6291456"):
        dpsyn.MWEM().calibrate(dpsyn.PrivacySpec(1000.0), domain, 10**6)
    said = "✗ MWEM: —. Not possible for these columns: 6,291,456 possible rows, at most 4,194,304, because MWEM keeps"
    assert found.line.startswith(said)
    assert found["possible"].fix == "possible rows ≤ 4.194 × 10⁶ (leave out columns or bins)"
    assert not found["possible"].holds
    assert not found.to_dict()["private"]
    assert found.change is None
    assert verdict(DatasetStatistics(66, 10**15, 1e-6), 1000.0).mark == "◇"  # nobody knows its columns
