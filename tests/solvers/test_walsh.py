from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers import contrasts as module
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.solvers.contrasts import walsh_matrix, walsh_sums


def _cube(p: int) -> np.ndarray:
    return np.array(list(product([-1, 1], repeat=p)))


@pytest.mark.parametrize("p", [1, 3, 5])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7])
def test_against_the_definition(p: int, degree: int) -> None:
    points = _cube(p)
    expected = [
        [np.prod([x[j] for j in columns]) for x in points]
        for size in range(min(degree, p) + 1)
        for columns in combinations(range(p), size)
    ]
    matrix = walsh_matrix(points, degree)
    assert matrix.dtype == np.int8
    assert matrix.tolist() == expected


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_orthogonal_on_the_cube(degree: int) -> None:
    matrix = walsh_matrix(_cube(6), degree).astype(int)
    assert (matrix @ matrix.T == 64 * np.eye(walsh_dimension(6, degree), dtype=int)).all()


def test_sums_are_exact_and_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).choice([-1, 1], (1003, 6)).astype(np.int8)
    expected = walsh_matrix(points, 3).astype(int).sum(axis=1)
    assert walsh_sums(points, 3).tolist() == expected.tolist()
    monkeypatch.setattr(module, "_CHUNK_ENTRIES", 42 * 100)
    assert walsh_sums(points, 3).tolist() == expected.tolist()


@pytest.mark.parametrize("points", [np.array([[0, 1]]), np.array([[2]]), np.array([1, -1]), np.ones((3, 0), dtype=int)])
def test_wrong_points(points: np.ndarray) -> None:
    with pytest.raises(ParameterError) as caught:
        walsh_matrix(points, 2)
    assert caught.value.field == "points"


def test_negative_degree() -> None:
    with pytest.raises(ParameterError) as caught:
        walsh_sums(_cube(2), -1)
    assert caught.value.field == "degree"
