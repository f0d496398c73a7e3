"""Tables that agree: on all common columns at once, by the precision of what they say, and without negative counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpsyn.solvers.coded import table_counts
from dpsyn.solvers.consistency import agreeing, consistent, shared
from dpsyn.solvers.noisy_tables import NoisyTables

SIZES = (3, 2, 4, 2)
TABLES = [(0,), (0, 1), (1, 2), (0, 2, 3), (0, 1, 3)]


def summed(table, columns, some):
    shape = [SIZES[j] for j in columns]
    return table.reshape(shape).sum(axis=tuple(axis for axis, j in enumerate(columns) if j not in some)).ravel()


def test_shared_columns_are_closed_under_intersection():
    # Of three tables any two share a pair, and all three a column.
    assert shared([(0, 1, 2), (0, 1, 3), (0, 2, 3)]) == [(0,), (0, 1), (0, 2), (0, 3)]
    assert shared([(0, 1), (2, 3)]) == []
    assert shared([(0,), (0, 1)]) == [(0,)]


def test_they_agree_on_all_common_columns_and_add_up():
    random = np.random.default_rng(0)
    counts = {columns: random.normal(0, 9, int(np.prod([SIZES[j] for j in columns]))) for columns in TABLES}
    variances = {columns: float(random.uniform(0.5, 4)) for columns in TABLES}
    found = agreeing(counts, variances, SIZES, 100.0, shared(TABLES))
    for columns in TABLES:
        assert found[columns].sum() == pytest.approx(100)
    for first, second in combinations(TABLES, 2):
        both = set(first) & set(second)
        assert summed(found[first], first, both) == pytest.approx(summed(found[second], second, both))
    again = agreeing(found, variances, SIZES, 100.0, shared(TABLES))
    for columns in TABLES:
        assert again[columns] == pytest.approx(found[columns])


def test_the_more_precise_sum_counts_more():
    """(0,) has one count for each code, (0, 1) sums two of the same variance: weights 2/3 and 1/3."""
    counts = {(0,): np.array([60.0, 40.0, 0.0]), (0, 1): np.array([15.0, 15.0, 20.0, 20.0, 10.0, 20.0])}
    found = agreeing(counts, dict.fromkeys(counts, 1.0), SIZES, 100.0, [(0,)])
    assert found[0,] == pytest.approx([50.0, 40.0, 10.0])
    assert found[0, 1] == pytest.approx([25.0, 25.0, 20.0, 20.0, 0.0, 10.0])


def test_what_agrees_already_stays_and_noise_falls():
    random = np.random.default_rng(1)
    codes = np.stack([random.integers(0, size, 5000) for size in SIZES], axis=1).astype(np.int32)
    codes[:, 1] = codes[:, 0] == 0
    exact, noisy = NoisyTables(), NoisyTables()
    for columns in TABLES:
        counts = table_counts(codes, columns, SIZES)
        exact.add(columns, counts, 1.0)
        noisy.add(columns, counts + np.rint(random.normal(0, 40, len(counts))).astype(np.int64), 40.0)
    same = consistent(exact, SIZES, 5000.0)
    found = consistent(noisy, SIZES, 5000.0)
    before = after = 0.0
    for columns in TABLES:
        assert same[columns] == pytest.approx(exact.counts[columns], abs=1e-6)
        assert found[columns].min() >= 0
        assert found[columns].sum() == pytest.approx(5000)
        before += np.abs(noisy.counts[columns] - exact.counts[columns]).sum()
        after += np.abs(found[columns] - exact.counts[columns]).sum()
    assert after < 0.8 * before
    for first, second in combinations(TABLES, 2):
        both = set(first) & set(second)
        assert np.abs(summed(found[first], first, both) - summed(found[second], second, both)).max() < 4


def test_rows_of_noisy_tables_leave_room_for_sums_in_64_bits() -> None:
    for counts, rows in (([-5.0, 1.0], 1.0), ([3.0, 4.0], 7.0), ([2.0**53, 9e18], 2.0**53)):
        tables = NoisyTables()
        tables.add((0,), np.array(counts), 1.0)
        assert tables.rows == rows


def test_a_table_by_itself_by_hand() -> None:
    """What lacks to the sum is spread evenly, and of all tables without negative counts it is the nearest."""
    found = agreeing({(0,): np.array([60.0, 20.0, 10.0])}, {(0,): 1.0}, (3,), 99.0, [])
    assert found[0,].tolist() == [63.0, 23.0, 13.0]
    tables = NoisyTables()
    tables.add((0,), np.array([60.0, 50.0, -10.0]), 1.0)
    assert consistent(tables, (3,), 100.0)[0,] == pytest.approx([55.0, 45.0, 0.0])  # not in proportion: 54.5 and 45.5
