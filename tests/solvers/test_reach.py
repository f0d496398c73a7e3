"""λ from the curve is λ from the linear program, for every box; the curve is concave and its tangents are proofs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import DenseOperator
from dpsyn.solvers.reach import reach_curve
from dpsyn.solvers.shrinkage import least_shrinkage
from tests.solvers.problems import problem_on_domain, random_codes


def drawn_problem(seed: int) -> MatchingProblem:
    """Points of the cube drawn with repetition, so that weights differ."""
    generator = np.random.default_rng(seed)
    points, counts = np.unique(generator.integers(0, 2, (300, 5)).astype(np.int32), axis=0, return_counts=True)
    basis = ContrastBasis((2,) * 5, 2)
    return MatchingProblem(
        DenseOperator(basis.matrix(points), counts / counts.sum()),
        target=basis.means(random_codes((2,) * 5, 30, seed)),
        lower=0.25,
        upper=2.0,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["cube", "product", "drawn"])
def test_lambda_of_every_box_is_that_of_the_linear_program(kind: str, seed: int) -> None:
    if kind == "drawn":
        problem = drawn_problem(seed)
    else:
        sizes = (2, 2, 2, 2) if kind == "cube" else (3, 2, 4)
        problem = problem_on_domain(sizes, 2, random_codes(sizes, 25, seed), 0.25, 2.0)
    curve = reach_curve(problem)
    assert curve.exact
    generator = np.random.default_rng(seed)
    for _ in range(12):
        floor = generator.uniform(0.01, 0.49)
        ceiling = 1 + floor + generator.choice([0.05, 0.5, 1.5, 8.0])
        lower, upper = 2 * floor, ceiling - floor
        assert curve.shrinkage(lower, upper) == pytest.approx(
            least_shrinkage(problem.with_box(lower, upper)).shrinkage, abs=1e-6
        )


@settings(max_examples=30)
@given(mean=st.floats(0.05, 1), lower=st.floats(0.01, 0.99), upper=st.floats(1.01, 5))
def test_one_bit_in_closed_form(mean: float, lower: float, upper: float) -> None:
    # Of a mean the box reaches min(1 - lower, upper - 1): φ(ρ) = min(1, ρ)/mean.
    functions = np.array([[1.0, 1.0], [-1.0, 1.0]])
    problem = MatchingProblem(DenseOperator(functions, np.array([0.5, 0.5])), np.array([1.0, mean]), 0.25, 2.0)
    curve = reach_curve(problem)
    expected = max(0.0, 1 - min(1 - lower, upper - 1) / mean)
    assert curve.shrinkage(lower, upper) == pytest.approx(expected, abs=1e-7)
    assert curve.breaks() == pytest.approx([1.0])


def test_an_empty_cell_forces_twice_the_floor() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    curve = reach_curve(problem_on_domain((2, 2), 2, codes, 0.25, 2.0))
    for floor in (0.05, 0.2, 0.4):
        assert curve.shrinkage(2 * floor, 100.0) == pytest.approx(2 * floor, abs=1e-9)


def test_the_ends_of_the_box_leave_only_the_uniform_density() -> None:
    curve = reach_curve(problem_on_domain((2, 2, 2), 2, random_codes((2, 2, 2), 20, 1), 0.25, 2.0))
    assert curve.shrinkage(1.0, 50.0) == pytest.approx(1.0)
    assert curve.shrinkage(0.5, 1.0) == pytest.approx(1.0)


def test_uniform_data_need_no_shrinkage() -> None:
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    curve = reach_curve(problem_on_domain((2, 2), 2, codes, 0.25, 2.0))
    assert curve.tangents == ()
    assert curve.exact
    assert len(curve.breaks()) == 0
    assert curve.shrinkage(0.9, 1.1) == 0.0
    assert curve.best(1.0) is None
    assert curve.value(1.0) == np.inf


def test_tangents_bound_the_curve_from_above_and_touch_it() -> None:
    problem = problem_on_domain((2,) * 4, 2, random_codes((2,) * 4, 25, 3), 0.25, 2.0)
    curve = reach_curve(problem)
    values = [curve.value(t.ratio) for t in curve.tangents]
    assert values == pytest.approx([t.value for t in curve.tangents], rel=1e-6)
    assert [t.slope for t in curve.tangents] == sorted((t.slope for t in curve.tangents), reverse=True)
    for tangent in curve.tangents:
        assert float(tangent.multipliers @ (problem.target - problem.uniform)) == pytest.approx(1.0)


def test_a_curve_that_stopped_early_brackets_the_true_one_and_is_made_exact_where_asked() -> None:
    problem = problem_on_domain((2,) * 5, 2, random_codes((2,) * 5, 25, 3), 0.25, 2.0)
    whole, early = reach_curve(problem), reach_curve(problem, most_solves=5)
    assert whole.exact
    assert not early.exact
    assert len(early.tangents) == 5
    for ratio in np.geomspace(0.02, 500, 40):
        assert whole.value(ratio) <= early.value(ratio) * (1 + 1e-9)
        assert early.value(ratio) <= whole.value(ratio) * (1 + early.gap + 1e-9)
    middle = early.with_solution_at(problem, 3.0)
    assert middle.value(3.0) == pytest.approx(whole.value(3.0), rel=1e-7)
    assert middle.with_solution_at(problem, 3.0) is middle
    assert whole.with_solution_at(problem, 3.0) is whole
