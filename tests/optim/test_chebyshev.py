from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.basis.contingency import ContingencyBasis
from dpsyn.errors import ParameterError
from dpsyn.optim.chebyshev import dual_bound, fit_density


def test_two_points_by_hand() -> None:
    # h = (1 - q, q): the deviations are |q - 0.8| and |q - 0.2|, least at q = 1/2.
    fit = fit_density(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([0.8, 0.2]))
    assert fit.density == pytest.approx([0.5, 0.5], abs=1e-8)
    assert fit.deviation == pytest.approx(0.3, abs=1e-8)
    assert fit.dual_bound == pytest.approx(0.3, abs=1e-8)
    assert fit.status == "optimal"


def test_attainable_targets_are_met_exactly() -> None:
    basis = ContingencyBasis((3, 2, 4), 2)
    codes = np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(4)], dtype=np.int32)
    truth = np.random.default_rng(1).dirichlet(np.ones(24))
    matrix = basis.indicator(codes)
    fit = fit_density(matrix, matrix @ truth)
    assert fit.deviation < 1e-8
    assert fit.status == "optimal"


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), statistics=st.integers(1, 6), points=st.integers(1, 12))
def test_no_density_beats_the_bound_and_the_fit_attains_it(seed: int, statistics: int, points: int) -> None:
    generator = np.random.default_rng(seed)
    matrix = generator.uniform(-1, 1, (statistics, points))
    target = generator.uniform(-1.5, 1.5, statistics)
    fit = fit_density(matrix, target)
    assert (fit.density >= 0).all()
    assert fit.density.sum() == pytest.approx(1.0, abs=1e-12)
    assert fit.deviation == pytest.approx(np.abs(matrix @ fit.density - target).max(), abs=1e-14)
    assert -1e-12 <= fit.gap <= 1e-6
    others = generator.dirichlet(np.full(points, 0.5), 200)
    assert np.abs(others @ matrix.T - target).max(axis=1).min() >= fit.dual_bound - 1e-12
    assert dual_bound(matrix, target, 100 * generator.normal(size=statistics)) <= fit.deviation + 1e-12


def test_agrees_with_another_solver() -> None:
    import cvxpy as cp

    generator = np.random.default_rng(3)
    matrix, target = generator.normal(size=(9, 30)), generator.normal(size=9)
    h = cp.Variable(30, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm_inf(matrix @ h - target)), [cp.sum(h) == 1])
    problem.solve(solver=cp.CLARABEL)
    assert fit_density(matrix, target).deviation == pytest.approx(problem.value, abs=1e-6)


def test_sparse_and_dense_agree_and_large_problems_take_the_interior_point_method() -> None:
    generator = np.random.default_rng(4)
    basis = ContingencyBasis((4, 5, 3, 2, 6), 2)
    codes = np.stack([generator.integers(0, size, 6000) for size in basis.sizes], axis=1).astype(np.int32)
    target = basis.counts(codes[:300]) / 300 + generator.laplace(0, 0.02, basis.cells)
    matrix = basis.indicator(codes)
    large = fit_density(matrix, target)
    small = fit_density(matrix[:, :500].toarray(), target)
    same = fit_density(matrix[:, :500], target)
    assert large.solver == "highs-ipm"
    assert same.solver == "highs-ds"
    assert {large.status, small.status, same.status} == {"optimal"}
    assert small.deviation == pytest.approx(same.deviation, abs=1e-7)
    assert large.deviation <= small.deviation + 1e-7


def test_progress_is_told() -> None:
    steps: list[tuple[str, float]] = []
    fit_density(np.eye(2), np.array([0.5, 0.5]), progress=lambda step, share: steps.append((step, share)))
    assert steps == [("linear program, simplex", 0.0)]


@pytest.mark.parametrize(
    ("matrix", "target", "field"),
    [
        (np.ones((2, 3)), np.ones(3), "matrix"),
        (np.ones((2, 0)), np.ones(2), "matrix"),
        (np.ones((2, 3)), np.array([1.0, np.nan]), "target"),
        (np.array([[np.inf]]), np.ones(1), "matrix"),
        (sp.csr_array(np.array([[np.inf]])), np.ones(1), "matrix"),
        ([[1.0]], np.ones(1), "matrix"),
    ],
)
def test_wrong_input_names_the_field(matrix: object, target: np.ndarray, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        fit_density(matrix, target)  # type: ignore[arg-type]
    assert caught.value.field == field
