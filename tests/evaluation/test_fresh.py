"""What fresh rows are off by, estimated or drawn, against many samples of known laws."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.evaluation.distances import variations
from dpsyn.evaluation.fresh import Parts, of_held_out
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
        estimated.append(Parts.of(real, ["a"], PLAN, random).estimate(rows).mean(1))
        drawn.append(of_held_out(real, held.codes, rows, ["a"], PLAN, random).mean(1))
    assert np.mean(drawn) == pytest.approx(np.mean(true), rel=0.12)
    assert 0.85 < np.mean(estimated) / np.mean(true) < 1.3


def test_of_fewer_fresh_rows_several_samples_are_averaged() -> None:
    real = CodedRows(np.zeros((10, 1), dtype=int), (2,))
    held = np.array([[0], [1], [1], [1], [1], [1], [1]])
    found = of_held_out(real, held, 2, ["a"], PLAN, np.random.default_rng(0))
    # Seven rows are three samples of two without a row in common: six of them at most, and five or six are 1.
    assert (found.rows, found.drawn) == (2, True)
    assert found.each[1][("a",)] in (pytest.approx(5 / 6), 1.0)
    assert found.mean(2) is None


def test_columns_of_one_value_are_never_off() -> None:
    real = CodedRows(np.zeros((50, 1), dtype=int), (1,))
    assert Parts.of(real, ["a"], PLAN, np.random.default_rng(0)).estimate(7).mean(1) == 0.0
