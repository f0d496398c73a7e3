"""What fresh rows are off by, estimated or drawn, against many samples of known laws."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from dpsyn.evaluation.distances import variations
from dpsyn.evaluation.fresh import Plan
from dpsyn.solvers.coded import CodedRows

PLAN = [((0,),)]


def law(name: str) -> np.ndarray:
    """Cells of many rows, of few, of one at most, and of all of these."""
    weights = {
        "ten alike": np.ones(10),
        "a thousand alike": np.ones(1_000),
        "a hundred thousand alike": np.ones(100_000),
        "Zipf's": 1 / np.arange(1, 10_001),
    }[name]
    return weights / weights.sum()


@pytest.mark.parametrize("rows", [100, 1_000, 20_000])
@pytest.mark.parametrize("name", ["ten alike", "a thousand alike", "a hundred thousand alike", "Zipf's"])
def test_fresh_rows_are_as_far_off_as_said(name: str, rows: int) -> None:
    random, n, shares = np.random.default_rng(5), 1_000, law(name)
    true, estimated, drawn = [], [], []
    for _ in range(25):
        real, other, held = (
            CodedRows(random.choice(len(shares), (size, 1), p=shares), (len(shares),)) for size in (n, rows, rows)
        )
        true.append(variations(real, other.codes, PLAN)[0][0])
        plan = Plan(real, real, ["a"], PLAN, 1)
        estimated.append(plan.estimate(rows))
        drawn.append(plan.held_out(held.codes, rows).mean(1))
    means = [found.mean(1) for found in estimated]
    assert np.mean(drawn) == pytest.approx(np.mean(true), rel=0.12)
    assert 0.9 < np.mean(means) / np.mean(true) < 1.3
    deviation = np.mean([found.deviation_of_mean(1) for found in estimated])
    assert np.std(true) < deviation < np.std(true) + 0.5 * (1 / n + 1 / rows) ** 0.5


@pytest.mark.parametrize("rows", [100, 4_000, 80_000])
@pytest.mark.parametrize("name", ["ten alike", "a thousand alike"])
def test_beside_many_more_rows_than_are_in_memory_fresh_ones_are_closer(name: str, rows: int) -> None:
    """As where an engine counts the rows: beside those in memory, 80,000 fresh rows would be three times as far off."""
    random, shares = np.random.default_rng(7), law(name)
    true, estimated, drawn = [], [], []
    for _ in range(8):
        real, other, held = (random.choice(len(shares), (size, 1), p=shares) for size in (80_000, rows, 5_000))
        every, seen = (CodedRows(codes, (len(shares),)) for codes in (real, real[:5_000]))
        true.append(variations(every, other, PLAN)[0][0])
        plan = Plan(every, seen, ["a"], PLAN, 1)
        estimated.append(plan.estimate(rows).mean(1))
        if rows < len(held):
            drawn.append(plan.held_out(held, rows).mean(1))
            assert not plan.held_out(held, rows).drawn
    assert 0.85 < np.mean(estimated) / np.mean(true) < 1.5
    assert not drawn or 0.85 < np.mean(drawn) / np.mean(true) < 1.3


def test_beside_all_rows_deviations_are_those_of_all_and_errors_scaled_by_hand() -> None:
    """Of 1,000 rows, of which 40 are in memory, in twelve columns of two values: 800 and 200, in memory 20 and 20.

    Ten rows are held beside the other 30: (1/1000 + 1/10)/(1/30 + 1/10) to the power of α, ½ at most.
    """
    random = np.random.default_rng(0)
    all_rows = np.repeat([[0] * 12, [1] * 12], (800, 200), axis=0)
    some = random.permuted(np.repeat([[0] * 12, [1] * 12], 20, axis=0), axis=0)
    every, seen = (CodedRows(codes, (2,) * 12) for codes in (all_rows, some))
    names, plan = list("abcdefghijkl"), [tuple(combinations(range(12), 1))]
    beside_all, alone = (Plan(real, seen, names, plan, 1).estimate(10) for real in (every, seen))
    assert beside_all.deviation(("a",)) == pytest.approx(math.sqrt((1 / 1000 + 1 / 10) * (1 - 0.68)) / 2)
    assert alone.deviation(("a",)) == pytest.approx(math.sqrt((1 / 40 + 1 / 10) * (1 - 0.5)) / 2)
    closer = [beside_all.each[1][table] / error for table, error in alone.each[1].items() if error]
    assert min(closer) == pytest.approx(math.sqrt((1 / 1000 + 1 / 10) / (1 / 30 + 1 / 10)))
    assert max(closer) <= 1


def test_beside_a_few_rows_in_memory_nothing_is_scaled() -> None:
    seen = CodedRows(np.zeros((3, 1), dtype=int), (2,))
    plan = Plan(CodedRows(np.zeros((4, 1), dtype=int), (2,)), seen, ["a"], PLAN, 1)
    assert (plan.held_out(np.ones((1, 1), dtype=int), 1).mean(1), plan.estimate(1).mean(1)) == (1.0, 1.0)


def test_of_fewer_fresh_rows_several_samples_are_averaged() -> None:
    real = CodedRows(np.zeros((10, 1), dtype=int), (2,))
    held = np.array([[0], [1], [1], [1], [1], [1], [1]])
    found = Plan(real, real, ["a"], PLAN, 0).held_out(held, 2)
    # Seven rows are three samples of two without a row in common: six of them at most, and five or six are 1.
    assert (found.rows, found.drawn) == (2, True)
    assert found.each[1][("a",)] in (pytest.approx(5 / 6), 1.0)
    assert found.mean(2) is None


@pytest.mark.parametrize("seed", range(8))
def test_samples_of_fresh_rows_share_no_row(seed: int) -> None:
    """Three of two of six rows, of which five are 1: whichever they are, on average 5/6 are off."""
    real = CodedRows(np.zeros((10, 1), dtype=int), (2,))
    found = Plan(real, real, ["a"], PLAN, seed).held_out(np.array([[0], [1], [1], [1], [1], [1]]), 2)
    assert found.each[1][("a",)] == pytest.approx(5 / 6)


@pytest.mark.parametrize(("degree", "apart"), [(1, 7), (2, 3), (3, 2), (4, 1)])
def test_as_many_tables_count_as_independent_as_share_no_column(degree: int, apart: int) -> None:
    """Seven fair flags: Σ p² of a table is 2^-degree."""
    real = CodedRows(np.repeat([[0] * 7, [1] * 7], 50, axis=0), (2,) * 7)
    found = Plan(real, real, list("abcdefg"), [tuple(combinations(range(7), degree))], 0).estimate(25)
    deviation = math.sqrt(1 - 0.5**degree) * math.sqrt(1 / 100 + 1 / 25) / 2
    assert found.deviation_of_mean(degree) == pytest.approx(deviation / math.sqrt(apart))


def test_columns_of_one_value_are_never_off() -> None:
    real = CodedRows(np.zeros((50, 1), dtype=int), (1,))
    for rows in (7, 70):
        found = Plan(real, real, ["a"], PLAN, 0).estimate(rows)
        assert (found.mean(1), found.deviation_of_mean(1)) == (0.0, 0.0)


def test_a_rare_category_that_no_row_has_is_reckoned_with() -> None:
    real = CodedRows(np.zeros((30, 1), dtype=int), (2,))
    # √(1 - 0.9²) / 2 · √(1/30 + 1/30)
    assert Plan(real, real, ["a"], PLAN, 0).estimate(30).deviation(("a",)) == pytest.approx(0.0408, abs=1e-4)


@pytest.mark.parametrize("columns", [2, 6, 12])
def test_the_mean_of_many_tables_deviates_less(columns: int) -> None:
    random, plan = np.random.default_rng(2), [tuple(combinations(range(columns), 2))]

    def sample(rows: int) -> CodedRows:
        return CodedRows((random.random((rows, columns)) < 0.3).astype(int), (2,) * columns)

    real = sample(400)
    means = [np.mean(variations(sample(400), sample(100).codes, plan)) for _ in range(200)]
    deviation = Plan(real, real, [f"c{j}" for j in range(columns)], plan, 0).estimate(100).deviation_of_mean(2)
    assert np.std(means) < deviation < 3 * np.std(means)
