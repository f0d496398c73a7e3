from __future__ import annotations

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers.matching import MatchingProblem
from dpsyn.solvers.operator import DenseOperator
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


@pytest.mark.parametrize(
    ("target", "box", "field"),
    [(np.ones(2), (0.5, 2.0), "functions"), (np.ones(1), (1.1, 2.0), "lower"), (np.ones(1), (0.5, 0.9), "lower")],
)
def test_inconsistent_parts(target: np.ndarray, box: tuple[float, float], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        MatchingProblem(DenseOperator(np.ones((1, 2)), np.full(2, 0.5)), target, *box)
    assert caught.value.field == field
