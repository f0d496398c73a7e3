"""Spaces of points: the product form of a whole domain against listing every point."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpsyn.mechanisms.noisy_reweighting.families import ConjunctionFamily, TableFamily, WalshFamily, cells_of
from dpsyn.solvers import density_spaces, executors
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import Combined, DenseFunctions, PointTables, SparseFunctions, WholeDomain

SIZES = (2, 3, 1, 4)
TABLES = [(0, 1), (3, 1), (2, 3), (0,), (1, 2), (3,)]


@pytest.mark.parametrize("for_parts", [7, 8_000])
@pytest.mark.parametrize("sizes", [SIZES, (4, 3, 2, 5), (5, 1, 1, 2)])
def test_the_halves_of_a_domain_give_what_listing_its_points_gives(monkeypatch, sizes, for_parts):
    monkeypatch.setattr(density_spaces, "_POINTS_FOR_PARTS", for_parts)
    random = np.random.default_rng(0)
    base = [np.log(random.dirichlet(np.ones(size))) for size in sizes]
    points = all_codes(sizes)
    weights = np.exp(sum(law[points[:, j]] for j, law in enumerate(base)))
    whole = WholeDomain(sizes, TABLES, base, dtype=np.float64)
    listed = PointTables(points, sizes, TABLES, weights)
    dense = DenseFunctions(TableFamily(sizes, TABLES).matrix(points), weights)
    potential = random.normal(0, 1, TableFamily(sizes, TABLES).count)
    expected, log_total = dense.density(potential)
    sparse = SparseFunctions(TableFamily(sizes, TABLES).matrix(points), weights)
    np.testing.assert_allclose(sparse.covariance(expected), dense.covariance(expected), atol=1e-12)
    for space in (whole, listed, sparse):
        density, log = space.density(potential)
        np.testing.assert_allclose(density, expected, rtol=2e-5)
        assert log == pytest.approx(log_total, abs=1e-5)
        np.testing.assert_allclose(space.expected(density), dense.expected(expected), atol=1e-6)
        np.testing.assert_allclose(space.values(potential), dense.values(potential), atol=1e-5)
    # In double precision the halves are exact to rounding, and so are functions that are mostly 0.
    for space in (whole, sparse):
        np.testing.assert_allclose(space.density(potential)[0], expected, rtol=1e-12)
    assert expected.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "family",
    [
        WalshFamily(4, 2),
        WalshFamily(4, 3, constant=False),
        WalshFamily(3, 1),
        ConjunctionFamily((3, 2, 1, 4), 2),
        ConjunctionFamily((3, 2, 4), 3, constant=False),
    ],
)
def test_functions_as_combinations_of_cells(family):
    points = all_codes(family.sizes)
    cells = cells_of(family)
    assert cells.tables == tuple(combinations(range(len(family.sizes)), min(family.degree, len(family.sizes))))
    space = Combined(PointTables(points, family.sizes, cells.tables), cells.combination)
    matrix = family.matrix(points)
    matrix = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    mass = np.random.default_rng(1).dirichlet(np.ones(len(points)))
    np.testing.assert_allclose(space.expected(mass), matrix @ mass, atol=1e-6)
    potential = np.random.default_rng(2).normal(0, 1, family.count)
    np.testing.assert_allclose(space.values(potential), matrix.T @ potential, atol=1e-5)


def test_sums_over_parts_are_the_same_on_every_machine(monkeypatch):
    sizes, tables = (5, 4, 3), [(0, 1), (1, 2)]
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, size, 9_001) for size in sizes], axis=1).astype(np.int32)
    mass, potential = random.dirichlet(np.ones(len(codes))), random.normal(0, 1, 32)
    found = []
    for processors in (1, 2, 8):
        for module in (executors, density_spaces):
            monkeypatch.setattr(module, "available_processors", lambda processors=processors: processors)
        space = PointTables(codes, sizes, tables)
        found.append((space.values(potential), space.expected(mass)))
    for values, expected in found[1:]:
        np.testing.assert_array_equal(values, found[0][0])
        np.testing.assert_array_equal(expected, found[0][1])
