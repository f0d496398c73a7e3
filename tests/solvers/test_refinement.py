"""Densities known by potentials on tables: Gibbs steps leave them alone, refinement comes to what the whole domain gives."""

from __future__ import annotations

import numpy as np

from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import PointTables, TableModel
from dpsyn.solvers.max_entropy import max_entropy, refined_max_entropy

SIZES = (3, 2, 4)
TABLES = ((0, 1, 2), (2, 0), (1,))


def model(seed=0):
    random = np.random.default_rng(seed)
    potential = random.normal(0, 1, TableFamily(SIZES, TABLES).count)
    base = [np.log(random.dirichlet(np.ones(size))) for size in SIZES]
    return TableModel(SIZES, TABLES, potential, base), potential, base


def test_log_density_is_base_and_potentials_added_up():
    density, potential, base = model()
    points = all_codes(SIZES)
    expected = TableFamily(SIZES, TABLES).matrix(points).T @ potential
    expected = expected + sum(law[points[:, j]] for j, law in enumerate(base))
    np.testing.assert_allclose(density.log_density(points), expected, atol=1e-5)


def test_gibbs_steps_leave_the_density_as_it_is():
    density, _, _ = model()
    points = all_codes(SIZES)
    law = np.exp(density.log_density(points))
    law /= law.sum()
    random = np.random.default_rng(1)
    codes = points[random.choice(len(points), 60_000, p=law)]
    moved = density.gibbs(codes, random)
    assert (moved != codes).any(axis=1).mean() > 0.5
    counts = np.bincount(np.ravel_multi_index(tuple(moved.T), SIZES), minlength=len(points))
    chi_square = float(((counts - 60_000 * law) ** 2 / (60_000 * law)).sum())
    assert chi_square < 65  # 23 degrees of freedom: P < 1e-5


def test_gibbs_steps_reach_the_density_from_anywhere():
    density, _, _ = model()
    points = all_codes(SIZES)
    law = np.exp(density.log_density(points))
    codes = np.zeros((20_000, 3), dtype=np.int32)
    random = np.random.default_rng(2)
    for _ in range(30):
        codes = density.gibbs(codes, random)
    shares = np.bincount(np.ravel_multi_index(tuple(codes.T), SIZES), minlength=len(points)) / 20_000
    assert np.abs(shares - law / law.sum()).sum() / 2 < 0.03


def test_refinement_comes_near_the_whole_domain():
    random = np.random.default_rng(3)
    sizes = (5, 6, 4, 3)
    points = all_codes(sizes)
    family = TableFamily.all_of_degree(sizes, 2)
    exact = family.matrix(points) @ random.dirichlet(np.full(len(points), 0.15))
    spread = np.full(family.count, 0.003)
    target = exact + random.normal(0, spread)
    base = [np.log(np.full(size, 1 / size)) for size in sizes]
    whole = max_entropy(PointTables(points, sizes, family.tables), target, spread, random)
    codes = np.stack([random.integers(0, size, 4_000) for size in sizes], axis=1).astype(np.int32)
    refined = refined_max_entropy(codes, sizes, family.tables, target, spread, base, random)

    def error(statistics):
        return float(np.sqrt(np.mean(((statistics - exact) / spread) ** 2)))

    assert error(refined.fit.statistics) < 1.3 * error(whole.statistics)
    assert error(refined.fit.statistics) < 0.9
    np.testing.assert_allclose(refined.cells, refined.fit.statistics, atol=1e-6)
    # The points come closer to equal weights as they are drawn again.
    assert refined.effective_points[-1] > 2 * refined.effective_points[0]
    law = np.exp(refined.model.log_density(points))
    assert error(family.matrix(points) @ (law / law.sum())) < 2.5 * error(whole.statistics)


def test_the_model_has_the_bonds_that_points_were_drawn_with():
    """From statistics that say nothing it is the first measure: the product times exp(bonds)."""
    law, bonds, base = model()
    points = all_codes(SIZES)
    expected = law.log_density(points)
    count = TableFamily(SIZES, TABLES).count
    found = refined_max_entropy(
        points,
        SIZES,
        TABLES,
        np.full(count, 0.1),
        np.full(count, 1e6),
        base,
        np.random.default_rng(0),
        bonds=bonds,
        stages=1,
    )
    np.testing.assert_allclose(found.model.log_density(points), expected, atol=1e-4)


def test_points_far_from_the_data_are_approached_step_by_step():
    """Twenty columns in a chain: hardly any draw from the product looks like a row, so one fit would rest on a few."""
    random = np.random.default_rng(4)
    sizes = (3,) * 20
    codes = np.empty((4000, 20), dtype=np.int32)
    codes[:, 0] = random.integers(0, 3, 4000)
    for j in range(1, 20):
        codes[:, j] = np.where(random.random(4000) < 0.85, codes[:, j - 1], random.integers(0, 3, 4000))
    tables = tuple((j, j + 1) for j in range(19))
    family = TableFamily(sizes, tables)
    exact = family.sums(codes) / 4000
    spread = np.full(family.count, 0.004)
    base = [np.log(np.full(3, 1 / 3))] * 20
    drawn = random.integers(0, 3, (4000, 20), dtype=np.int32)
    told = []
    found = refined_max_entropy(
        drawn, sizes, tables, exact + random.normal(0, spread), spread, base, random, stages=30,
        progress=lambda _, share: told.append(share),
    )  # fmt: skip
    errors = np.abs(found.cells - exact).sum() / 2 / 19
    apart = np.abs(1 / 9 - exact).sum() / 2 / 19
    assert errors < 0.05 * apart
    assert min(found.effective_points) >= 0.1 * 4000
    assert 3 < len(found.fit.stages) < 15
    # It ends long before the last stage, and progress has not waited for that.
    assert told == sorted(told)
    assert 0.5 < told[-1] < 1


def test_a_wide_table_ends_no_fit_of_a_narrow_one():
    """By shares ± 0.005 that two columns are never both 1 is plain, and 100 × 100 cells beside it are noise."""
    random, sizes, tables = np.random.default_rng(1), (100, 100, 2, 2), ((0, 1), (2, 3))
    exact = np.concatenate([np.full(10_000, 1e-4), [0.6, 0.1, 0.3, 0.0]])
    spread = np.full(len(exact), 0.005)
    base = [np.log(np.full(size, 1 / size)) for size in sizes]
    drawn = np.stack([random.integers(0, size, 4_000) for size in sizes], axis=1).astype(np.int32)
    found = refined_max_entropy(
        drawn, sizes, tables, exact + random.normal(0, spread), spread, base, random, groups=np.array([0, 10_000])
    )
    np.testing.assert_allclose(found.cells[10_000:], exact[10_000:], atol=0.015)
    np.testing.assert_allclose(found.fit.statistics, found.cells, atol=1e-6)
    assert found.fit.stages[-1].misfit == found.fit.misfit
    law = np.exp(found.model.log_density(all_codes(sizes)))
    np.testing.assert_allclose(law.reshape(-1, 4).sum(axis=0) / law.sum(), exact[10_000:], atol=0.03)
