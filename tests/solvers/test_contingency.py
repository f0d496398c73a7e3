from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.solvers.contingency import ContingencyBasis
from dpsyn.solvers.dimension import contingency_cells

SIZES = (3, 2, 1, 4)


def _codes(n: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    return np.stack([generator.integers(0, size, n) for size in SIZES], axis=1).astype(np.int32)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
def test_counts_against_the_definition(degree: int) -> None:
    basis = ContingencyBasis(SIZES, degree)
    codes = _codes(50)
    expected = [
        int((codes[:, table] == cell).all(axis=1).sum())
        for table in combinations(range(4), min(degree, 4))
        for cell in product(*(range(SIZES[j]) for j in table))
    ]
    assert basis.cells == len(expected) == contingency_cells(SIZES, degree)
    assert basis.counts(codes).dtype == np.int64
    assert basis.counts(codes).tolist() == expected


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_indicator_sums_to_the_counts(degree: int) -> None:
    basis = ContingencyBasis(SIZES, degree)
    codes = _codes(40)
    indicator = basis.indicator(codes)
    assert indicator.format == "csr"
    assert indicator.shape == (basis.cells, 40)
    assert (indicator.sum(axis=1) == basis.counts(codes)).all()
    assert (indicator.sum(axis=0) == len(basis.tables)).all()
    assert set(indicator.data) == {1.0}


def test_slice_of_a_table() -> None:
    basis = ContingencyBasis(SIZES, 2)
    codes = _codes(30)
    table = basis.counts(codes)[basis.slice_of((0, 3))].reshape(basis.shape_of((0, 3)))
    for a, b in product(range(3), range(4)):
        assert table[a, b] == ((codes[:, 0] == a) & (codes[:, 3] == b)).sum()


def test_no_rows() -> None:
    basis = ContingencyBasis(SIZES, 2)
    assert not basis.counts(np.empty((0, 4), dtype=np.int32)).any()
    assert basis.indicator(np.empty((0, 4), dtype=np.int32)).shape == (basis.cells, 0)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: ContingencyBasis((), 1), "sizes"),
        (lambda: ContingencyBasis((2, 0), 1), "sizes"),
        (lambda: ContingencyBasis((2, 2), 0), "degree"),
        (lambda: ContingencyBasis((2, 2), 2).counts(np.array([[0, 2]])), "codes"),
        (lambda: ContingencyBasis((2, 2), 2).counts(np.array([[0, -1]])), "codes"),
        (lambda: ContingencyBasis((2, 2), 2).counts(np.zeros((3, 3), dtype=int)), "codes"),
        (lambda: ContingencyBasis((2, 2), 1).slice_of((0, 1)), "table"),
    ],
)
def test_wrong_input_names_the_field(call: object, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.field == field
