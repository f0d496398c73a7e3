from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.solvers.contingency import cell_offsets, cells_of_points, contingency_cells
from dpsyn.solvers.contrasts import ContrastBasis

SIZES = (3, 2, 1, 4)


def _codes(n: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    return np.stack([generator.integers(0, size, n) for size in SIZES], axis=1).astype(np.int32)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
def test_counts_against_the_definition(degree: int) -> None:
    family = TableFamily.all_of_degree(SIZES, degree)
    codes = _codes(50)
    expected = [
        int((codes[:, table] == cell).all(axis=1).sum())
        for table in combinations(range(4), min(degree, 4))
        for cell in product(*(range(SIZES[j]) for j in table))
    ]
    assert family.count == len(expected) == contingency_cells(SIZES, degree) == cell_offsets(SIZES, family.tables)[-1]
    assert family.sums(codes).dtype == np.int64
    assert family.sums(codes).tolist() == expected
    cells = cells_of_points(codes, SIZES, family.tables)
    assert np.bincount(cells.ravel(), minlength=family.count).tolist() == expected


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_indicator_sums_to_the_counts(degree: int) -> None:
    family = TableFamily.all_of_degree(SIZES, degree)
    codes = _codes(40)
    indicator = family.matrix(codes)
    assert indicator.format == "csr"
    assert indicator.shape == (family.count, 40)
    assert (indicator.sum(axis=1) == family.sums(codes)).all()
    assert (indicator.sum(axis=0) == len(family.tables)).all()
    assert set(indicator.data) == {1.0}


def test_no_rows() -> None:
    family = TableFamily.all_of_degree(SIZES, 2)
    assert not family.sums(np.empty((0, 4), dtype=np.int32)).any()
    assert family.matrix(np.empty((0, 4), dtype=np.int32)).shape == (family.count, 0)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: ContrastBasis((), 1), "sizes"),
        (lambda: ContrastBasis((2, 0), 1), "sizes"),
        (lambda: ContrastBasis((2, 2), 0), "degree"),
        (lambda: ContrastBasis((2, 2), 2).means(np.array([[0, 2]])), "codes"),
        (lambda: ContrastBasis((2, 2), 2).means(np.array([[0, -1]])), "codes"),
        (lambda: ContrastBasis((2, 2), 2).means(np.zeros((3, 3), dtype=int)), "codes"),
    ],
)
def test_wrong_input_names_the_field(call: object, field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.field == field
