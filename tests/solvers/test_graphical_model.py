"""Fits of a graphical model to noisy tables: against the same fit on the whole domain, and what they say of all columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.solvers.coded import table_counts
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import DenseFunctions
from dpsyn.solvers.graphical_model import GraphicalModel
from dpsyn.solvers.junction_tree import JunctionTree
from dpsyn.solvers.max_entropy import max_entropy, max_entropy_step
from dpsyn.solvers.noisy_tables import NoisyTables

SIZES = (2, 3, 4, 2)
TABLES = [(0, 1), (1, 2), (2, 3), (0, 3)]


def rows(count=3000, seed=0):
    """Rows of which each column depends on the one before."""
    random = np.random.default_rng(seed)
    codes = np.zeros((count, 4), dtype=np.int32)
    codes[:, 0] = random.random(count) < 0.3
    for j in range(1, 4):
        codes[:, j] = (codes[:, j - 1] + (random.random(count) < 0.25) * random.integers(0, 4, count)) % SIZES[j]
    return codes


def measured(codes, deviation, tables=TABLES, seed=1):
    random, found = np.random.default_rng(seed), NoisyTables()
    for table in tables:
        exact = table_counts(codes, table, SIZES)
        found.add(table, exact + random.normal(0, deviation, len(exact)), max(deviation, 0.5))
    return found


@pytest.mark.parametrize("weight", [20.0, 500.0])
def test_one_step_is_that_on_all_points_of_the_domain(weight):
    tables = measured(rows(), 5.0)
    target = np.concatenate([tables.counts[table] for table in TABLES]) / 3000
    spread = np.full(len(target), 5 / 3000)
    tree, listed = JunctionTree(SIZES, TABLES), DenseFunctions(TableFamily(SIZES, TABLES).matrix(all_codes(SIZES)))
    mine = max_entropy_step(tree, target, spread, weight, iterations=1000, tolerance=1e-14)
    known = max_entropy_step(listed, target, spread, weight)
    assert mine.gap < 1e-4
    np.testing.assert_allclose(mine.statistics, known.statistics, atol=1e-5)
    staged = max_entropy(tree, target, spread, np.random.default_rng(0))
    other = max_entropy(listed, target, spread, np.random.default_rng(0))
    np.testing.assert_allclose(staged.statistics, other.statistics, atol=2e-3)


def test_without_noise_the_tables_come_back_and_rows_keep_them():
    codes = rows()
    tables = measured(codes, 0.0)
    model = GraphicalModel.fitted(SIZES, tables, 3000.0, np.random.default_rng(0))
    drawn = model.codes(3000, np.random.default_rng(1))
    for table in TABLES:
        exact = table_counts(codes, table, SIZES)
        np.testing.assert_allclose(model.table(table), exact, atol=6)
        assert np.abs(table_counts(drawn, table, SIZES) - exact).max() < 8


def test_a_step_from_an_earlier_model_takes_up_a_new_table():
    codes = rows()
    tables = measured(codes, 3.0, [(j,) for j in range(4)])
    model = GraphicalModel.independent([tables.law(j) for j in range(4)], 3000.0)
    pairs = model.pairs()
    for i, j in combinations(range(4), 2):
        expected = 3000 * np.outer(tables.law(i), tables.law(j)).ravel()
        np.testing.assert_allclose(pairs[i, j], expected, atol=1e-6)
    exact = table_counts(codes, (0, 1), SIZES)
    before = np.abs(pairs[0, 1] - exact).sum()
    tables.add((0, 1), exact, 3.0)
    after = np.abs(model.moved(SIZES, tables).table((0, 1)) - exact).sum()
    assert after < before / 4


def test_measurements_of_one_table_are_averaged_by_precision():
    tables = NoisyTables()
    tables.add((0,), np.array([10, 20]), 2.0)
    tables.add((0,), np.array([16, 26]), 1.0)
    np.testing.assert_allclose(tables.counts[0,], [14.8, 24.8])
    assert tables.variances[0,] == pytest.approx(0.8)
    tables.add((1, 2), np.array([1, 2, 3, 4]), 1.0)
    # Totals 39.6 with variance 1.6, and 10 with variance 4.
    assert tables.rows == pytest.approx((39.6 / 1.6 + 10 / 4) / (1 / 1.6 + 1 / 4))
    np.testing.assert_allclose(tables.law(0), [14.8 / 39.6, 24.8 / 39.6])


def test_no_rows_at_all_are_one():
    tables = NoisyTables()
    tables.add((0,), np.array([-5, -7]), 2.0)
    assert tables.rows == 1.0
    assert tables.law(0).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("many", "wide", "kept"), [(1, 150, 300), (8, 50, 400)])
def test_wide_tables_that_noise_drowns_take_nothing_from_precise_ones(many: int, wide: int, kept: int):
    """Of 4,000 rows 400 have one of forty values and 1,400 one of two, counted ± 20; a wide cell holds 0.2 or 1.6 rows.

    The forty together lie nearer when all of them are moved towards each other: by a seventh, as Stein's estimate has it."""
    pairs = {(2 * j, 2 * j + 1): np.full(wide**2, 4000 / wide**2) for j in range(many)}
    forty, two = np.array([400, *[3600 / 39] * 39]), np.array([2600, 1400])
    exact = {**pairs, (2 * many,): forty, (2 * many + 1,): two}
    random, tables = np.random.default_rng(0), NoisyTables()
    for columns, counts in exact.items():
        tables.add(columns, counts + random.normal(0, 20, len(counts)), 20.0)
    model = GraphicalModel.fitted((*[wide] * 2 * many, 40, 2), tables, 4000.0, random)
    np.testing.assert_allclose(model.tree.density(model.potential)[0], model.density, atol=1e-9)
    assert model.table((2 * many,))[0] == pytest.approx(400, abs=55)
    assert np.abs(model.table((2 * many,)) - forty).sum() < 0.85 * 40 * 20 * np.sqrt(2 / np.pi)  # of what noise adds
    np.testing.assert_allclose(model.table((2 * many + 1,)), two, atol=40)
    # Next to nothing of the wide tables' noise.
    assert np.abs(model.table((0, 1)) - exact[0, 1]).sum() < kept


@pytest.mark.parametrize(("deviation", "kept"), [(30.0, 0.45), (6.0, 0.12)])
def test_a_wide_column_of_few_rows_is_not_given_up_for_the_noise_on_its_tables(deviation: float, kept: float) -> None:
    """640 rows, four columns of forty values, half of the rows with two of them: even shares are 0.74 away."""
    random, sizes = np.random.default_rng(0), (40,) * 4
    codes = np.minimum(random.geometric(0.3, (640, 4)) - 1, 39).astype(np.int32)
    tables = NoisyTables()
    for columns in ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3)):
        exact = table_counts(codes, columns, sizes)
        tables.add(columns, exact + random.normal(0, deviation, len(exact)), deviation)
    model = GraphicalModel.fitted(sizes, tables, 640.0, random)
    for j in range(4):
        assert np.abs(model.table((j,)) - table_counts(codes, (j,), sizes)).sum() / (2 * 640) < kept
