from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import SolverError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.solvers import shrinkage as module
from dpsyn.solvers._interior_point import interior_point
from dpsyn.solvers.matching import LinearAnswer, MatchingProblem
from dpsyn.solvers.operator import DenseOperator
from dpsyn.solvers.shrinkage import least_shrinkage, shrinkage_bound
from tests.solvers.problems import problem_on_domain, random_codes


@settings(max_examples=40)
@given(mean=st.floats(-1, 1), lower=st.floats(0.01, 0.99), upper=st.floats(1.01, 3))
def test_one_bit_in_closed_form(mean: float, lower: float, upper: float) -> None:
    # x = (1 - z, 1 + z) has mean z, and |z| can be at most r = min(1 - lower, upper - 1): (1 - λ)|mean| <= r.
    operator = DenseOperator(np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.5]))
    problem = MatchingProblem(operator, np.array([1.0, mean]), lower, upper)
    reach = min(1 - lower, upper - 1)
    expected = 0.0 if abs(mean) <= reach else 1 - reach / abs(mean)
    found = least_shrinkage(problem)
    assert found.shrinkage == pytest.approx(expected, abs=1e-8)
    assert found.status == "optimal"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sparse", [True, False])
def test_agrees_with_another_solver(seed: int, sparse: bool) -> None:
    import cvxpy as cp

    sizes = [(2, 2, 2, 2), (3, 2, 4), (2, 5)][seed % 3]
    codes = random_codes(sizes, 40, seed)
    problem = problem_on_domain(sizes, 2, codes, 0.3, 2.5, sparse=sparse)
    x, shrink = cp.Variable(len(problem.weights)), cp.Variable()
    matched = (problem.functions * problem.weights) @ x == problem.target + shrink * (problem.uniform - problem.target)
    task = cp.Problem(cp.Minimize(shrink), [matched, x >= 0.3, x <= 2.5, shrink >= 0, shrink <= 1])
    task.solve(solver=cp.CLARABEL)
    found = least_shrinkage(problem)
    assert found.shrinkage == pytest.approx(float(shrink.value), abs=1e-6)
    assert found.residual <= 1e-8
    assert 0.3 <= found.ratio.min() <= found.ratio.max() <= 2.5
    assert abs(found.gap) <= 1e-7
    assert shrinkage_bound(problem, found.multipliers) == pytest.approx(found.shrinkage, abs=1e-7)
    assert problem.residual(found.ratio, found.shrinkage) == found.residual


@settings(max_examples=25)
@given(seed=st.integers(0, 9999), scale=st.floats(1e-3, 10))
def test_no_multipliers_prove_more_than_the_least_shrinkage(seed: int, scale: float) -> None:
    codes = random_codes((2, 3, 2), 15, seed)
    problem = problem_on_domain((2, 3, 2), 2, codes, 0.2, 3.0)
    multipliers = scale * np.random.default_rng(seed).normal(size=len(problem.target))
    assert shrinkage_bound(problem, multipliers) <= least_shrinkage(problem).shrinkage + 1e-9


@settings(max_examples=25)
@given(seed=st.integers(0, 9999), floor=st.floats(0.01, 0.45), degree=st.integers(1, 3))
def test_an_empty_cell_forces_twice_the_floor(seed: int, floor: float, degree: int) -> None:
    sizes = (2, 3, 2)
    codes = random_codes(sizes, 4, seed)
    empty = (TableFamily.all_of_degree(sizes, degree).sums(codes) == 0).any()
    found = least_shrinkage(problem_on_domain(sizes, degree, codes, 2 * floor, 100.0))
    if empty:
        assert found.shrinkage == pytest.approx(2 * floor, abs=1e-8)
    else:
        assert found.shrinkage <= 2 * floor + 1e-8


def test_nothing_is_shrunk_where_the_least_norm_density_fits() -> None:
    codes = random_codes((2, 2, 2), 50, 1)
    problem = problem_on_domain((2, 2, 2), 1, codes, 1e-3, 50.0)
    wide = least_shrinkage(problem)
    assert wide.shrinkage == pytest.approx(0.0, abs=1e-9)
    even = np.array([[a, b] for a in (0, 1) for b in (0, 1)], dtype=np.int32)
    uniform = least_shrinkage(problem_on_domain((2, 2), 2, even, 0.9, 1.1))
    assert (uniform.shrinkage, uniform.solver) == (0.0, "uniform density")
    assert uniform.ratio == pytest.approx(np.ones(4), abs=1e-12)


def test_repeated_points_count_with_their_multiplicity() -> None:
    generator = np.random.default_rng(2)
    points = generator.integers(0, 2, (60, 3))
    distinct, counts = np.unique(points, axis=0, return_counts=True)
    target = np.array([1.0, 0.7, -0.6, 0.5])

    def functions(z: np.ndarray) -> np.ndarray:
        return np.vstack([np.ones(len(z)), 2 * z.T - 1])

    spread = MatchingProblem(DenseOperator(functions(points), np.full(60, 1 / 60)), target, 0.4, 1.8)
    merged = MatchingProblem(DenseOperator(functions(distinct), counts / 60), target, 0.4, 1.8)
    assert least_shrinkage(merged).shrinkage == pytest.approx(least_shrinkage(spread).shrinkage, abs=1e-8)


@settings(max_examples=40)
@given(seed=st.integers(0, 9999), rows=st.integers(1, 300), floor=st.floats(0.003, 0.49), above=st.floats(0.01, 1000))
def test_the_interior_point_method_arrives_whatever_the_box(seed: int, rows: int, floor: float, above: float) -> None:
    problem = problem_on_domain((2, 3, 2, 2), 2, random_codes((2, 3, 2, 2), rows, seed), 2 * floor, 1 + above)
    found = interior_point(problem)
    assert found is not None
    assert problem.residual(found.ratio, found.shrinkage) <= 1e-8
    assert problem.lower <= found.ratio.min() <= found.ratio.max() <= problem.upper
    assert found.shrinkage - shrinkage_bound(problem, found.multipliers) <= 1e-8


def test_a_method_that_fails_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_on_domain((3, 3, 3), 2, random_codes((3, 3, 3), 30, 0), 0.5, 1.75)
    expected = least_shrinkage(problem).shrinkage
    monkeypatch.setattr(module, "interior_point", lambda *_: None)
    second = least_shrinkage(problem)
    assert second.solver == "smoothed dual"
    assert second.shrinkage == pytest.approx(expected, abs=1e-7)
    monkeypatch.setattr(module, "least", lambda *_, **__: None)
    third = least_shrinkage(problem)
    assert third.solver == "highs-ds"
    assert third.shrinkage == pytest.approx(expected, abs=1e-7)


def test_an_answer_that_is_only_feasible_is_used_if_nothing_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_on_domain((3, 3, 3), 2, random_codes((3, 3, 3), 30, 0), 0.5, 1.75)
    lazy = LinearAnswer(1.0, np.ones(27), np.zeros(len(problem.target)), 0)
    monkeypatch.setattr(module, "interior_point", lambda *_: lazy)
    monkeypatch.setattr(module, "least", lambda *_, **__: None)
    monkeypatch.setattr(scipy.optimize, "linprog", _answer(np.nan))
    found = least_shrinkage(problem)
    assert (found.shrinkage, found.status, found.dual_bound) == (1.0, "feasible", 0.0)


def _answer(change: float) -> object:
    real = scipy.optimize.linprog

    def altered(*args: object, **kwargs: object) -> object:
        result = real(*args, **kwargs)
        return SimpleNamespace(x=result.x + change, message="altered", eqlin=result.eqlin)

    return altered


def test_an_answer_that_fails_its_check_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_on_domain((2, 2, 2), 2, random_codes((2, 2, 2), 9, 0), 0.4, 2.0)
    monkeypatch.setattr(module, "interior_point", lambda *_: None)
    monkeypatch.setattr(module, "least", lambda *_, **__: None)
    monkeypatch.setattr(scipy.optimize, "linprog", _answer(1e-3))
    with pytest.raises(SolverError, match="residual"):
        least_shrinkage(problem)
    monkeypatch.setattr(scipy.optimize, "linprog", _answer(np.nan))
    with pytest.raises(SolverError, match="not finite"):
        least_shrinkage(problem)
