from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import SolverError
from dpsyn.solvers import closest as module
from dpsyn.solvers._reference import clarabel
from dpsyn.solvers.closest import closest_to_uniform
from dpsyn.solvers.shrinkage import least_shrinkage
from tests.solvers.problems import problem_on_domain, random_codes

SIZES = (2, 3, 2, 2)


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_another_solver(seed: int) -> None:
    import cvxpy as cp

    problem = problem_on_domain(SIZES, 2, random_codes(SIZES, 60, seed), 0.2, 2.5)
    shrinkage = least_shrinkage(problem.with_box(0.4, 2.3)).shrinkage
    x = cp.Variable(24)
    matched = (problem.functions * problem.weights) @ x == problem.wanted(shrinkage)
    cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [matched, x >= 0.2, x <= 2.5]).solve(solver=cp.CLARABEL)
    found = closest_to_uniform(problem, shrinkage)
    assert found.ratio == pytest.approx(x.value, abs=1e-5)
    assert found.objective == pytest.approx(0.5 * np.mean((x.value - 1) ** 2), abs=1e-7)
    assert found.status == "optimal"


@settings(max_examples=40)
@given(seed=st.integers(0, 9999), floor=st.floats(0.005, 0.45), above=st.floats(0.05, 60), rows=st.integers(1, 200))
def test_solved_at_the_least_shrinkage_whatever_the_box(seed: int, floor: float, above: float, rows: int) -> None:
    ceiling = 1 + floor + above
    problem = problem_on_domain(SIZES, 2, random_codes(SIZES, rows, seed), floor, ceiling)
    linear = least_shrinkage(problem.with_box(2 * floor, ceiling - floor))
    found = closest_to_uniform(problem, min(1.0, linear.shrinkage + 1e-9))
    assert found.residual <= 1e-10
    assert floor <= found.ratio.min() <= found.ratio.max() <= ceiling
    assert found.dual_bound <= 0.5 * problem.weights @ (linear.ratio - 1) ** 2 + 1e-7
    assert found.objective == pytest.approx(found.dual_bound, abs=1e-8 * max(1.0, found.objective))


def test_without_active_bounds_it_is_the_least_norm_solution() -> None:
    problem = problem_on_domain(SIZES, 2, random_codes(SIZES, 500, 3), 1e-3, 1e3)
    found = closest_to_uniform(problem, 0.9)
    expected = 1 + problem.functions.T @ (problem.wanted(0.9) - problem.uniform)
    assert expected.min() > 1e-3
    assert found.ratio == pytest.approx(expected, abs=1e-10)


def test_at_full_shrinkage_it_is_uniform() -> None:
    problem = problem_on_domain(SIZES, 2, random_codes(SIZES, 5, 3), 0.25, 2.0)
    found = closest_to_uniform(problem, 1.0)
    assert found.ratio == pytest.approx(np.ones(24), abs=1e-10)
    assert found.objective == pytest.approx(0.0, abs=1e-18)


def test_statistics_out_of_reach_are_refused() -> None:
    problem = problem_on_domain(SIZES, 2, np.zeros((10, 4), dtype=np.int32), 0.25, 2.0)
    with pytest.raises(SolverError, match="residual"):
        closest_to_uniform(problem, 0.0)


def test_the_multipliers_of_clarabel_give_its_solution() -> None:
    problem = problem_on_domain(SIZES, 2, random_codes(SIZES, 60, 1), 0.2, 2.5)
    shrinkage = least_shrinkage(problem.with_box(0.4, 2.3)).shrinkage
    answer = clarabel(problem, problem.wanted(shrinkage))
    assert not isinstance(answer, str)
    ratio = np.clip(1 + problem.functions.T @ answer[1], 0.2, 2.5)
    assert ratio == pytest.approx(closest_to_uniform(problem, shrinkage).ratio, abs=1e-4)


def test_clarabel_helps_where_newton_alone_does_not_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_on_domain(SIZES, 2, random_codes(SIZES, 30, 1), 0.01, 20.0)
    shrinkage = least_shrinkage(problem.with_box(0.02, 19.99)).shrinkage
    alone = closest_to_uniform(problem, shrinkage)
    assert alone.iterations > 4
    monkeypatch.setattr(module, "_STEPS", 1)
    helped = closest_to_uniform(problem, shrinkage)
    assert helped.solver == "clarabel + newton"
    assert helped.ratio == pytest.approx(alone.ratio, abs=1e-7)


def test_a_solution_is_optimal_by_its_gap_and_its_residual() -> None:
    found = closest_to_uniform(problem_on_domain(SIZES, 2, random_codes(SIZES, 60, 1), 0.2, 2.5), 0.9)
    assert found.status == "optimal"
    assert replace(found, residual=1e-6).status == "feasible"
    assert replace(found, dual_bound=found.objective - 1e-3).status == "feasible"


def test_a_start_of_clarabel_that_does_not_arrive_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_on_domain(SIZES, 2, np.zeros((10, 4), dtype=np.int32), 0.25, 2.0)
    asked: list[bool] = []
    none = np.zeros(len(problem.target))
    monkeypatch.setattr(module, "clarabel", lambda *_: asked.append(True) or (np.ones(24), none, 1))
    with pytest.raises(SolverError, match="residual"):
        closest_to_uniform(problem, 0.0)
    assert asked == [True]
