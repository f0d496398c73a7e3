from __future__ import annotations

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers.matching import MatchingProblem
from tests.solvers.problems import problem_on_domain, random_codes

SIZES = (2, 3, 2)


def test_uniform_and_data_are_the_two_ends_of_what_is_wanted() -> None:
    codes = random_codes(SIZES, 100, 0)
    problem = problem_on_domain(SIZES, 3, codes, 0.1, 20.0)
    ones = np.ones(12)
    assert problem.residual(ones, 1.0) < 1e-12
    share = np.bincount(np.ravel_multi_index(codes.T, SIZES), minlength=12) / 100
    assert problem.residual(share * 12, 0.0) < 1e-12
    assert problem.residual(0.25 * 12 * share + 0.75, 0.75) < 1e-12
    assert problem.residual(ones, 0.0) > 0.01


def test_how_far_outside() -> None:
    problem = problem_on_domain(SIZES, 1, random_codes(SIZES, 10, 0), 0.5, 2.0)
    assert problem.outside(np.linspace(0.5, 2.0, 12)) == 0
    assert problem.outside(np.linspace(0.4, 2.0, 12)) == pytest.approx(0.1)
    assert problem.outside(np.linspace(0.4, 2.3, 12)) == pytest.approx(0.3)
    assert problem.with_box(0.4, 2.3).outside(np.linspace(0.4, 2.3, 12)) == 0


@pytest.mark.parametrize(
    ("weights", "target", "box", "field"),
    [
        (np.full(2, 0.5), np.ones(2), (0.5, 2.0), "functions"),
        (np.full(3, 0.5), np.ones(1), (0.5, 2.0), "functions"),
        (np.array([1.0, 0.0]), np.ones(1), (0.5, 2.0), "weights"),
        (np.array([0.7, 0.7]), np.ones(1), (0.5, 2.0), "weights"),
        (np.full(2, 0.5), np.ones(1), (1.1, 2.0), "lower"),
        (np.full(2, 0.5), np.ones(1), (0.5, 0.9), "lower"),
    ],
)
def test_inconsistent_parts(weights: np.ndarray, target: np.ndarray, box: tuple[float, float], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        MatchingProblem.dense(np.ones((1, 2)), weights, target, *box)
    assert caught.value.field == field
