"""Densities by the cliques of a junction tree, against the whole domain listed point by point."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpsyn.solvers.contingency import all_codes, cell_numbers, cells_of_points
from dpsyn.solvers.junction_tree import JunctionTree, cliques_of, model_cells
from dpsyn.solvers.rounding import drawn_given

SIZES = (2, 3, 2, 4, 3, 1)
MODELS = {
    "nothing": [],
    "single columns": [(j,) for j in range(6)],
    "a tree": [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (2,)],
    "two parts": [(0, 1), (2, 4), (2,)],
    "a cycle": [(0, 1), (1, 2), (2, 3), (0, 3), (4,)],
    "a wide cycle": [(0, 1), (1, 3), (3, 4), (2, 4), (0, 2)],
    "tables of three": [(0, 1, 3), (1, 2), (2, 3, 4), (0, 5)],
    "everything": list(combinations(range(5), 2)),
}


def brute(tables, seed=0):
    """Potentials, and the density that they make, on every row of the domain."""
    random = np.random.default_rng(seed)
    points = all_codes(SIZES)
    sizes = [int(np.prod([SIZES[j] for j in table])) for table in tables]
    potential = random.normal(0, 2, sum(sizes))
    logs = potential[cells_of_points(points, SIZES, tables)].sum(axis=1) if tables else np.zeros(len(points))
    return points, potential, logs


def shares(points, density, columns):
    """The table of some columns under a density on all rows."""
    cells = int(np.prod([SIZES[j] for j in columns]))
    return np.bincount(cell_numbers(points, columns, SIZES), density, minlength=cells)


@pytest.mark.parametrize("name", MODELS)
def test_a_base_measure_goes_into_the_laws(name):
    tables = MODELS[name]
    points, potential, logs = brute(tables)
    random = np.random.default_rng(7)
    log_base = [random.normal(0, 1, size) for size in SIZES]
    base = np.exp(sum(law[points[:, j]] for j, law in enumerate(log_base)))
    base /= base.sum()
    found, log_total = (tree := JunctionTree(SIZES, tables, log_base)).density(potential)
    assert log_total == pytest.approx(np.log((base * np.exp(logs)).sum()))
    density = base * np.exp(logs)
    density /= density.sum()
    for j in range(len(SIZES)):
        np.testing.assert_allclose(tree.law(found, (j,)), shares(points, density, (j,)), atol=1e-12)
    if tables:
        expected = np.concatenate([shares(points, density, table) for table in tables])
        np.testing.assert_allclose(tree.expected(found), expected, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_laws_are_those_of_the_whole_domain(name):
    tables = MODELS[name]
    points, potential, logs = brute(tables)
    density = np.exp(logs) / np.exp(logs).sum()
    tree = JunctionTree(SIZES, tables)
    found, log_total = tree.density(potential)
    assert log_total == pytest.approx(np.log(np.exp(logs).mean()))
    assert found.shape == (tree.points,)
    if tables:
        expected = np.concatenate([shares(points, density, table) for table in tables])
        np.testing.assert_allclose(tree.expected(found), expected, atol=1e-12)
    pairs = tree.pairs(found)
    assert set(pairs) == set(combinations(range(6), 2))
    for (i, j), law in pairs.items():
        np.testing.assert_allclose(law.ravel(), shares(points, density, (i, j)), atol=1e-12)
        assert law.shape == (SIZES[i], SIZES[j])


@pytest.mark.parametrize("name", MODELS)
def test_cliques_hold_every_table_and_hang_together(name):
    """In a junction tree the cliques that have a column are connected: each but one has it in common with its parent."""
    tables = MODELS[name]
    tree = JunctionTree(SIZES, tables)
    assert all(any(set(table) <= set(clique) for clique in tree.cliques) for table in tables)
    assert model_cells(SIZES, tables) == tree.points
    for column in range(6):
        holding = [clique for clique in tree._cliques if column in clique.columns]
        assert sum(column not in clique.separator for clique in holding) == 1
    assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)


def test_the_cliques_of_a_tree_are_its_edges_and_a_cycle_is_cut():
    assert sorted(cliques_of(SIZES, [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)])) == [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5)]
    assert {len(clique) for clique in cliques_of((2,) * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])} == {3}
    assert cliques_of((2, 3), []) == [(0,), (1,)]


def test_potentials_of_any_size_do_not_overflow():
    tree = JunctionTree((2, 2, 2), [(0, 1), (1, 2)])
    potential = np.array([4000.0, 0, 0, -4000.0, 0, 3000.0, 0, 0])
    density, log_total = tree.density(potential)
    assert np.isfinite(log_total)
    np.testing.assert_allclose(tree.law(density, (0, 1)), [1, 0, 0, 0])
    np.testing.assert_allclose(tree.law(density, (1, 2)), [0, 1, 0, 0])


@pytest.mark.parametrize("name", ["a tree", "a cycle", "two parts", "tables of three"])
def test_rows_keep_the_tables_up_to_rounding_and_follow_the_density(name):
    tables = MODELS[name]
    points, potential, logs = brute(tables, seed=3)
    density = np.exp(logs) / np.exp(logs).sum()
    tree = JunctionTree(SIZES, tables)
    generator = np.random.default_rng(1)
    many = tree.rows(potential, 20_000, generator)
    for clique in tree.cliques:
        off = np.abs(shares(many, None, clique) - 20_000 * shares(points, density, clique))
        assert off.max() < 25  # independent draws: about 70
    few = np.zeros(len(points))
    for _ in range(400):
        few += np.bincount(cell_numbers(tree.rows(potential, 15, generator), range(6), SIZES), minlength=len(points))
    deviation = np.sqrt(6000 * density * (1 - density)) + 1
    assert np.abs(few - 6000 * density).max() < 5 * deviation.max()
    assert (np.abs(few - 6000 * density) < 5 * deviation).all()


def test_draws_given_a_group_are_rounded_shares():
    random = np.random.default_rng(0)
    groups = random.integers(0, 7, 500)
    groups[groups == 3] = 4  # one group has no rows
    laws = random.dirichlet(np.ones(5), 7)
    laws[3] = 0
    drawn = drawn_given(groups, laws, random)
    for group in (0, 1, 2, 4, 5, 6):
        counts = np.bincount(drawn[groups == group], minlength=5)
        share = counts.sum() * laws[group]
        assert (np.floor(share - 1e-9) <= counts).all()
        assert (counts <= np.ceil(share + 1e-9)).all()
    assert drawn_given(np.zeros(0, dtype=np.int64), laws, random).shape == (0,)


def test_groups_of_one_row_keep_the_shares_together_and_each_is_drawn_by_its_law():
    random = np.random.default_rng(0)
    law = np.array([0.5, 0.3, 0.2])
    found = np.array([drawn_given(np.arange(1000), np.tile(law, (1000, 1)), random) for _ in range(200)])
    together = np.stack([np.bincount(one, minlength=3) for one in found])
    assert np.abs(together - 1000 * law).max() < 10  # independent draws: about 50
    first = np.bincount(found[:, 0], minlength=3) / 200
    assert np.abs(first - law).max() < 5 * np.sqrt(0.25 / 200)
