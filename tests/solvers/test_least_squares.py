"""Weighted least squares over densities: against a quadratic programme, and the stop at the noise."""

from __future__ import annotations

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily, WalshFamily
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import DenseFunctions
from dpsyn.solvers.least_squares import least_squares, onto_simplex


def problem(spread=0.02, seed=0):
    random = np.random.default_rng(seed)
    family = TableFamily.all_of_degree((2, 3, 3), 2)
    points = all_codes(family.sizes)
    exact = family.matrix(points) @ random.dirichlet(np.full(len(points), 0.3))
    spreads = spread * random.uniform(0.5, 1.5, family.count)
    return family.matrix(points).toarray(), exact, exact + random.normal(0, spreads), spreads


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_against_a_quadratic_programme(seed):
    import cvxpy as cp

    matrix, _, target, spread = problem(seed=seed)
    h = cp.Variable(matrix.shape[1], nonneg=True)
    program = cp.Problem(cp.Minimize(cp.sum_squares((matrix @ h - target) / spread) / 2), [cp.sum(h) == 1])
    program.solve(solver="CLARABEL")
    fit = least_squares(DenseFunctions(matrix), target, spread, stop_at=0.0, iterations=20_000, tolerance=1e-8)
    objective = len(target) * fit.misfit / 2
    assert fit.status == "optimal"
    assert objective == pytest.approx(program.value, rel=1e-6)
    assert objective - program.value <= fit.gap + 1e-7


def test_it_stops_at_the_noise():
    matrix, _, target, spread = problem()
    early = least_squares(DenseFunctions(matrix), target, spread)
    assert early.status == "noise_reached"
    assert 0.5 < early.misfit <= 1.0
    assert early.density.min() >= 0
    assert early.density.sum() == pytest.approx(1)


def test_projection_onto_densities():
    random = np.random.default_rng(0)
    for _ in range(50):
        point = random.normal(0, 1, 12)
        near = onto_simplex(point)
        assert near.min() >= 0
        assert near.sum() == pytest.approx(1)
        others = random.dirichlet(np.ones(12), 200)
        # The nearest point of a convex set: no other makes an obtuse angle.
        assert ((others - near) @ (point - near)).max() <= 1e-9


def test_wrong_numbers_are_refused():
    with pytest.raises(ParameterError, match="spread"):
        least_squares(DenseFunctions(np.eye(2)), np.zeros(2), np.array([1.0, 0.0]))


def test_functions_of_mean_zero_are_fitted_too():
    family = WalshFamily(5, 2, constant=False)
    points = all_codes(family.sizes)
    exact = family.matrix(points) @ np.random.default_rng(0).dirichlet(np.full(len(points), 0.3))
    fit = least_squares(DenseFunctions(family.matrix(points)), exact, np.full(family.count, 0.01), stop_at=1e-4)
    assert fit.status == "noise_reached"
    np.testing.assert_allclose(fit.statistics, exact, atol=1e-3)
