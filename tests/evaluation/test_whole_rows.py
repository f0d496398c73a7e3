"""Trees that tell rows apart, and copies: a copy, a fresh sample, independent columns and noise come in this order."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.domain import Codes
from dpsyn.evaluation.whole_rows import Copies, Propensity, copies, nearly_copies, propensity

ASIA, FRESH = load_sample("asia").split(0.5, np.random.default_rng(0))


def _independent(codes: Codes, seed: int) -> Codes:
    return np.random.default_rng(seed).permuted(codes, axis=0)


def _noise(table: dpsyn.Table, seed: int) -> Codes:
    generator = np.random.default_rng(seed)
    return np.stack([generator.integers(0, size, table.n) for size in table.domain.shape], axis=1).astype(np.int32)


def _table(codes: Codes, like: dpsyn.Table) -> dpsyn.Table:
    return dpsyn.Table(like.domain.decode(codes, np.random.default_rng(0)), like.domain)


def test_a_column_that_tells_all_rows_apart() -> None:
    zeros, ones = np.zeros((300, 2), dtype=np.int32), np.ones((100, 2), dtype=np.int32)
    found = propensity(zeros, ones, seed=1)
    assert found.error == pytest.approx(3 / 16)  # c(1 - c), c = 1/4
    assert found.to_dict()["ratio"] == found.ratio > 20


def test_by_hand_where_one_split_says_all() -> None:
    # Among the real rows a quarter is 1, among the others three quarters: p = 1/4 and 3/4, c = 1/2.
    real, other = (np.repeat([0, 1], counts)[:, None].astype(np.int32) for counts in ((300, 100), (100, 300)))
    assert propensity(real, other, seed=0).error == pytest.approx(1 / 16)


def test_from_a_copy_to_noise() -> None:
    shuffled = np.random.default_rng(3).permutation(ASIA.codes)
    copy, fresh, independent, noise = (
        propensity(ASIA.codes, other, seed=0)
        for other in (shuffled, FRESH.codes, _independent(ASIA.codes, 1), _noise(ASIA, 2))
    )
    assert copy.error == copy.ratio == 0
    assert 0.4 < fresh.ratio < 2
    assert 20 < independent.ratio < noise.ratio
    assert fresh.error < independent.error < noise.error < 0.25


def test_on_average_a_fresh_sample_has_a_ratio_of_1_and_one_that_is_drawn_from_the_rows_a_half() -> None:
    # Two samples of sizes n and k differ by what either is off, draws from the rows themselves by their own part: n/(n + k).
    generator = np.random.default_rng(5)
    p = generator.dirichlet(np.ones(12))

    def rows(count: int) -> Codes:
        return np.stack(np.unravel_index(generator.choice(12, count, p=p), (3, 4)), axis=1).astype(np.int32)

    fresh, drawn = [], []
    for seed in range(25):
        real = rows(1_000)
        fresh.append(propensity(real, rows(1_000), seed).ratio)
        drawn.append(propensity(real, real[generator.integers(1_000, size=1_000)], seed).ratio)
    assert np.mean(fresh) == pytest.approx(1.0, abs=0.25)
    assert np.mean(drawn) == pytest.approx(0.5, abs=0.15)


def test_very_many_rows_or_columns_are_sampled_and_a_copy_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsyn.evaluation.whole_rows._MOST_ROWS", 500)
    assert propensity(ASIA.codes, ASIA.codes, seed=0).error == 0
    assert propensity(ASIA.codes, _noise(ASIA, 2), seed=0).ratio > 5
    wide = np.random.default_rng(0).integers(0, 2, (300, 20_000)).astype(np.int32)
    assert propensity(wide, wide, seed=0).error == 0


def test_rows_that_are_ordered_are_not_sampled_from_their_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsyn.evaluation.whole_rows._MOST_ROWS", 500)
    ordered = ASIA.codes[np.lexsort(ASIA.codes.T)]
    assert propensity(ordered, FRESH.codes, seed=0).ratio < 2
    assert propensity(FRESH.codes, ordered, seed=0).ratio < 2


def test_nothing_to_tell_apart_by() -> None:
    for rows in (1, 10):  # too few for two leaves, however different
        found = propensity(np.zeros((1, 1), dtype=np.int32), np.ones((rows, 1), dtype=np.int32), seed=0)
        assert math.isnan(found.ratio)
        assert found.to_dict()["ratio"] is None
    assert Propensity(0.2, 0.1).ratio == 2


def test_copies_by_hand() -> None:
    domain = dpsyn.Domain.of(
        [
            dpsyn.Attribute("x", "numeric", lower=0, upper=10, bins=2, missing=True),
            dpsyn.Attribute("c", "categorical", ("a", "b", "c")),
            dpsyn.Attribute("d", "categorical", ("a", "b", "c")),
        ]
    )

    def table(*rows: tuple[float, str, str]) -> dpsyn.Table:
        return dpsyn.Table(pd.DataFrame(rows, columns=list(domain.names)), domain)

    real = table((1.0, "a", "a"), (2.0, "b", "a"), (np.nan, "a", "c"))
    # A copy; in the same bin, but not equal; a copy with an empty cell; two cells from anything.
    other = table((2.0, "b", "a"), (1.5, "a", "a"), (np.nan, "a", "c"), (9.0, "c", "c"))
    assert copies(real, other, real.codes, other.codes) == Copies(equal=0.5, distance=0.5)
    assert copies(real, other, real.codes, other.codes).to_dict() == {"equal": 0.5, "distance": 0.5}


def test_columns_in_another_order_of_values_are_no_copies() -> None:
    domain = dpsyn.Domain.of([dpsyn.Attribute(name, "categorical", ("a", "b")) for name in "xy"])
    real, other = (dpsyn.Table(pd.DataFrame({"x": [x], "y": [y]}), domain) for x, y in ("ab", "ba"))
    assert copies(real, other, real.codes, other.codes).equal == 0


def test_few_cells_make_copies_of_independent_rows_and_noise_is_the_last() -> None:
    def equal(codes: Codes) -> float:
        return copies(ASIA, _table(codes, ASIA), ASIA.codes, codes).equal

    copy, fresh = equal(ASIA.codes), equal(FRESH.codes)
    assert copy == 1
    assert fresh > 0.99
    assert fresh > equal(_independent(ASIA.codes, 1)) > equal(_noise(ASIA, 2)) > 0.1


def test_real_rows_with_some_cells_changed_look_private() -> None:
    generator = np.random.default_rng(1)
    domain = dpsyn.Domain.of([dpsyn.Attribute(f"c{j}", "categorical", tuple(range(9))) for j in range(10)])
    # Each row says much of itself: no two agree in most columns.
    codes = generator.integers(0, 9, (3_000, 10)).astype(np.int32)
    table = _table(codes, dpsyn.Table(domain.decode(codes[:1], generator), domain))
    cells, found = nearly_copies(table, codes, seed=0)
    assert (cells, found.equal) == (2, 0)
    assert found.distance == pytest.approx(2.0, abs=0.02)


def test_the_rows_that_are_changed_lie_all_over_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first half of it is one row again and again, which stays what it is beside others of that half."""
    monkeypatch.setattr("dpsyn.evaluation.whole_rows._CHANGED", 200)
    generator = np.random.default_rng(2)
    codes = generator.integers(0, 9, (2_000, 10)).astype(np.int32)
    codes[:1_000] = 0
    domain = dpsyn.Domain.of([dpsyn.Attribute(f"c{j}", "categorical", tuple(range(9))) for j in range(10)])
    _, found = nearly_copies(dpsyn.Table(domain.decode(codes, generator), domain), codes, seed=0)
    assert found.equal == pytest.approx(1 / 4, abs=0.1)


def test_rows_of_very_many_columns_are_as_far_as_they_are() -> None:
    domain = dpsyn.Domain.of([dpsyn.Attribute(f"c{j}", "truth", (0, 1)) for j in range(300)])
    zeros, ones = (dpsyn.Table(pd.DataFrame(np.full((1, 300), one), columns=list(domain.names)), domain) for one in (0, 1))
    assert copies(zeros, ones, zeros.codes, ones.codes) == Copies(0.0, 300.0)


def test_rows_that_are_all_equal_cannot_be_changed() -> None:
    table = ASIA.take(np.zeros(5, dtype=int))
    assert nearly_copies(table, table.codes, seed=0) == (2, Copies(1.0, 0.0))


def test_numbers_of_one_bin_stay_where_fewer_columns_differ_than_are_to_be_changed() -> None:
    """Two of eight columns are changed, and only one differs: with the numbers of that row, too, each were a copy of it."""
    numbers = [dpsyn.Attribute(f"x{j}", "numeric", lower=0, upper=1_000, bins=1) for j in range(7)]
    domain = dpsyn.Domain.of([dpsyn.Attribute("c", "categorical", tuple(range(50))), *numbers])
    frame = pd.DataFrame({"c": range(50)} | {f"x{j}": range(50) for j in range(7)})
    table = dpsyn.Table(frame, domain)
    assert nearly_copies(table, table.codes, seed=0) == (2, Copies(0.0, 0.0))


@pytest.mark.parametrize(("columns", "rows"), [(1, 400), (1, 4_000), (2, 400), (4, 4_000)])
def test_a_fresh_sample_of_few_different_rows_is_not_told_apart(columns: int, rows: int) -> None:
    """A tree of two leaves has an error that is often five times that of three shuffles; its chance says so."""
    random = np.random.default_rng(columns)
    found = [
        propensity(random.integers(0, 2, (rows, columns)), random.integers(0, 2, (rows, columns)), seed)
        for seed in range(60)
    ]
    assert all(one.leaves == 2**columns for one in found)
    assert sum(one.ratio > 2 for one in found) >= (columns < 4)
    assert not any(one.ratio > 2 and one.chance < 1e-3 for one in found)
    others = propensity(random.integers(0, 2, (rows, 6)), random.integers(0, 2, (rows, 6)) ** (np.arange(6) > 3), 0)
    assert others.ratio > 2
    assert others.chance < 1e-3


def test_the_chance_of_a_ratio_by_hand() -> None:
    """Of three leaves: F of 2 and 3·2 degrees of freedom is beyond x with probability (1 + 2x/6)^-3."""
    for ratio in (0.5, 2.0, 5.0):
        assert Propensity(ratio / 100, 0.01, 3).chance == pytest.approx((1 + ratio / 3) ** -3)
    assert Propensity(0.0, 0.0).chance == 1
