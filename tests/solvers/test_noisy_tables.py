"""Tables that are measured once or again, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.solvers.least_squares import onto_simplex
from dpsyn.solvers.noisy_tables import NoisyTables, shrunk


def test_a_table_that_is_measured_again_has_the_mean_weighted_by_precision() -> None:
    tables = NoisyTables()
    for counts, deviation, mean, variance in (
        ((10, 30), 3.0, (10.0, 30.0), 9.0),
        ((20, 20), 3.0, (15.0, 25.0), 4.5),  # 1/9 + 1/9 = 2/9
        ((0, 40), 1.5, (5.0, 35.0), 1.5),  # 2/9 and 4/9: a third of 15 and 25, two thirds of 0 and 40
    ):
        tables.add((1,), np.array(counts), deviation)
        assert tables.counts[1,].tolist() == pytest.approx(mean)
        assert tables.variances[1,] == pytest.approx(variance)


@pytest.mark.parametrize(("deviation", "variance"), [(0.0, 0.25), (0.49, 0.25), (0.51, 0.51**2), (0.9, 0.81)])
def test_the_deviation_of_noise_counts_from_one_half_on(deviation: float, variance: float) -> None:
    tables = NoisyTables()
    tables.add((0, 2), np.array([7, 8]), deviation)
    assert tables.variances[0, 2] == pytest.approx(variance)
    assert tables.counts[0, 2].tolist() == [7.0, 8.0]


def test_tables_that_were_measured_several_times_have_their_mean_weighted_by_precision() -> None:
    tables, deviations = NoisyTables(), [0.1, 0.5, 0.7, 0.99, 3.0]
    counts = np.random.default_rng(0).normal(20, 9, (5, 4))
    # Of a part of half a row and less nothing is made.
    weights = np.array([1 / max(deviation, 0.5) ** 2 for deviation in deviations])
    for at, deviation in enumerate(deviations, 1):
        tables.add((0, 2), counts[at - 1], deviation)
        assert tables.counts[0, 2] == pytest.approx(np.average(counts[:at], axis=0, weights=weights[:at]))
        assert tables.variances[0, 2] == pytest.approx(1 / weights[:at].sum())


def test_a_column_is_read_off_all_tables_that_hold_it_the_more_precise_ones_counting_more() -> None:
    tables = NoisyTables()
    tables.add((1,), np.array([10, 30]), 2.0)
    tables.add((0, 1), np.array([1, 5, 2, 6, 3, 7]), 1.0)  # sums 6 and 18, each of three counts
    tables.add((0,), np.array([1, 2, 3]), 9.0)
    counts, deviation = tables.of_column(1, (3, 2)) or (None, None)
    assert counts == pytest.approx([(10 / 4 + 6 / 3) / (1 / 4 + 1 / 3), (30 / 4 + 18 / 3) / (1 / 4 + 1 / 3)])
    assert deviation == pytest.approx((1 / 4 + 1 / 3) ** -0.5)
    assert tables.of_column(2, (3, 2, 4)) is None
    assert tables.shrunk_law(2, (3, 2, 4), 40.0, 0.05).tolist() == [0.25] * 4


def test_a_law_is_shrunk_towards_even_shares_by_what_its_noise_asks_for() -> None:
    """By hand: the nearest law to (0.9, 0.3, -0.4) is (0.8, 0.2, 0), two positive shares."""
    shares, away = np.array([0.9, 0.3, -0.4]), np.array([0.8, 0.2, 0.0]) - 1 / 3
    length, along = away @ away, away @ (shares - 1 / 3)
    assert along > length
    for deviation in (0.1, 0.3, 0.5):
        part = min(length, along - deviation**2) / (length + 4 * deviation**2)
        assert shrunk(shares, deviation) == pytest.approx(1 / 3 + part * away)
    assert shrunk(shares, 1.0) == pytest.approx([1 / 3] * 3)  # 0.52 of evidence, 1 of noise
    assert shrunk(np.array([0.5, 0.5]), 0.1).tolist() == [0.5, 0.5]


def test_a_code_that_may_be_there_stays_possible() -> None:
    tables = NoisyTables()
    tables.add((0,), np.array([100, 0, -8]), 2.0)
    law = tables.shrunk_law(0, (3,), 100.0, 0.5)
    assert law[1] == law[2]
    assert law[2] / law[0] == pytest.approx(0.5 * 2 / (100 * shrunk(np.array([1.0, 0.0, -0.08]), 0.02)[0]))


@pytest.mark.parametrize(
    ("steep", "deviation", "times"),
    [(0.7, 1.0, 0.25), (0.7, 0.3, 0.55), (0.95, 0.1, 0.15), (0.95, 0.03, 0.35), (0.5, 0.1, 1.35), (0.7, 0.003, 1.01)],
)
def test_shrunk_laws_are_far_nearer_to_the_truth_than_the_nearest_ones_where_noise_is_loud_and_never_much_farther(
    steep: float, deviation: float, times: float
) -> None:
    random, truth = np.random.default_rng(0), steep ** np.arange(20)
    truth /= truth.sum()
    noisy = truth + deviation * random.normal(size=(400, 20))
    errors = [[((found - truth) ** 2).sum() for found in (shrunk(one, deviation), onto_simplex(one))] for one in noisy]
    mine, nearest = np.mean(errors, axis=0)
    assert mine < times * nearest
