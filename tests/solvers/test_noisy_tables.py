"""Tables that are measured once or again, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.solvers.noisy_tables import NoisyTables


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
