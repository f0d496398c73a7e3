from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily, WalshFamily
from dpsyn.solvers._chebyshev_interior import centre_path
from dpsyn.solvers.chebyshev import _reference_fit, dual_bound, fit_density


def test_two_points_by_hand() -> None:
    # h = (1 - q, q): the deviations are |q - 0.8| and |q - 0.2|, least at q = 1/2.
    fit = fit_density(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([0.8, 0.2]))
    assert fit.density == pytest.approx([0.5, 0.5], abs=1e-8)
    assert fit.deviation == pytest.approx(0.3, abs=1e-8)
    assert fit.dual_bound == pytest.approx(0.3, abs=1e-8)
    assert fit.status == "optimal"


def test_attainable_targets_are_met_exactly() -> None:
    basis = TableFamily.all_of_degree((3, 2, 4), 2)
    codes = np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(4)], dtype=np.int32)
    truth = np.random.default_rng(1).dirichlet(np.ones(24))
    matrix = basis.matrix(codes)
    fit = fit_density(matrix, matrix @ truth)
    assert fit.deviation < 1e-8
    assert fit.status == "optimal"


@settings(max_examples=25)
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


def walsh_problem(points: int, *, bits: int, noise: float, seed: int, constant: bool) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    family = WalshFamily(bits, 2, constant=constant)
    rows = (generator.random((3000, bits)) < generator.beta(0.6, 0.6, (3000, 1))).astype(np.int32)
    matrix = family.matrix(generator.integers(0, 2, (points, bits), dtype=np.int32))
    return matrix, family.sums(rows) / 3000 + generator.laplace(0, noise, family.count)


def table_problem(points: int, *, noise: float, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    generator = np.random.default_rng(seed)
    family = TableFamily((4, 5, 3, 2, 6), [(0, 1), (1, 2), (0, 4), (3,), (2, 3, 4)])
    codes = np.stack([generator.integers(0, size, points) for size in family.sizes], axis=1).astype(np.int32)
    return family.matrix(codes), family.sums(codes[:300]) / 300 + generator.laplace(0, noise, family.count)


def shelf() -> dict[str, tuple[object, np.ndarray]]:
    generator = np.random.default_rng(8)
    dense = generator.normal(size=(7, 25))
    return {
        "walsh, noisy constant": walsh_problem(1500, bits=8, noise=0.05, seed=1, constant=True),
        "walsh, columns are generated": walsh_problem(2000, bits=8, noise=0.5, seed=2, constant=False),
        "walsh, target can be attained": walsh_problem(3000, bits=6, noise=0.0, seed=3, constant=True),
        "walsh, far from any density": walsh_problem(900, bits=6, noise=10.0, seed=4, constant=False),
        "walsh, rank below F": walsh_problem(12, bits=6, noise=0.05, seed=5, constant=True),
        "tables": table_problem(900, noise=0.02, seed=6),
        "tables, columns are generated": table_problem(3000, noise=0.05, seed=7),
        "every point twice": (np.hstack([dense, dense]), generator.normal(size=7)),
        "every statistic twice": (np.vstack([dense, dense, -dense]), generator.normal(size=21)),
        "one point": (dense[:, :1], generator.normal(size=7)),
        "one statistic": (dense[:1], np.array([0.3])),
        "statistics that are zero": (np.zeros((3, 10)), np.array([0.5, -0.2, 0.1])),
        "wide range of scales": (dense * np.logspace(-3, 1, 7)[:, None], generator.normal(size=7)),
    }


@pytest.mark.parametrize("name", shelf())
def test_highs_finds_the_same_optimum(name: str) -> None:
    matrix, target = shelf()[name]
    ours = fit_density(matrix, target)  # type: ignore[arg-type]
    theirs = _reference_fit(matrix, target)  # type: ignore[arg-type]
    assert ours.solver == "structured"
    assert theirs.solver.startswith("highs")
    assert ours.status == theirs.status == "optimal"
    assert ours.deviation == pytest.approx(theirs.deviation, abs=1e-7)
    assert ours.gap <= 2e-8
    assert ours.residual < 1e-9


@pytest.mark.parametrize("name", shelf())
def test_a_vertex_is_optimal_and_sits_on_few_points(name: str) -> None:
    matrix, target = shelf()[name]
    fit = fit_density(matrix, target, vertex=True)  # type: ignore[arg-type]
    assert fit.status == "optimal"
    assert (fit.density > 1e-9).sum() <= len(target) + 1


def test_weights_from_any_part_of_the_points_bound_all_of_them() -> None:
    matrix, target = walsh_problem(2000, bits=8, noise=0.05, seed=2, constant=False)
    part = centre_path(matrix[:, :30], target, gap=1e-9)
    best = fit_density(matrix, target)
    assert dual_bound(matrix, target, part.weights) <= best.deviation < part.bound
    assert best.dual_bound == pytest.approx(best.deviation, abs=1e-7)


def test_sparse_and_dense_agree() -> None:
    matrix, target = table_problem(2000, noise=0.02, seed=4)
    sparse, dense = fit_density(matrix, target), fit_density(matrix.toarray(), target)
    assert sparse.deviation == pytest.approx(dense.deviation, abs=3e-8)
    assert fit_density(matrix.tocsc(), target).deviation == pytest.approx(dense.deviation, abs=3e-8)


def test_the_same_input_gives_the_same_density() -> None:
    matrix, target = walsh_problem(2000, bits=8, noise=0.5, seed=2, constant=False)
    np.testing.assert_array_equal(fit_density(matrix, target).density, fit_density(matrix, target).density)


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
