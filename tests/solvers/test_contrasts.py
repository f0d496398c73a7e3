from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.solvers.contingency import all_codes, column_sets, contrast_dimension
from dpsyn.solvers.contrasts import ContrastBasis, contrasts, walsh_matrix

SIZES = (3, 2, 1, 4)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_contrasts_are_orthonormal_under_the_uniform_measure(size: int) -> None:
    rows = contrasts(size)
    assert rows @ rows.T / size == pytest.approx(np.eye(size), abs=1e-13)
    assert (rows[0] == 1).all()


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_products_are_orthonormal_on_the_product_domain(degree: int) -> None:
    basis = ContrastBasis(SIZES, degree)
    matrix = basis.matrix(all_codes(SIZES))
    assert matrix.shape == (contrast_dimension(SIZES, degree), 24)
    assert matrix @ matrix.T / 24 == pytest.approx(np.eye(basis.dimension), abs=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_binary_columns_give_the_walsh_functions(degree: int) -> None:
    codes = all_codes((2,) * 5)
    basis = ContrastBasis((2,) * 5, degree)
    assert (basis.matrix(codes) == walsh_matrix(2 * codes - 1, degree)).all()
    assert basis.index == column_sets(5, degree)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_same_span_as_the_contingency_tables(degree: int) -> None:
    codes = all_codes(SIZES)
    functions = ContrastBasis(SIZES, degree).matrix(codes)
    cells = TableFamily.all_of_degree((3, 2, 1, 4), degree).matrix(codes).toarray()
    assert np.linalg.matrix_rank(cells) == len(functions)
    # Every cell's indicator is a combination of the functions: projecting changes nothing.
    assert cells @ functions.T @ functions / 24 == pytest.approx(cells, abs=1e-12)


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5), degree=st.integers(1, 6), seed=st.integers(0, 999))
def test_means_against_the_matrix(sizes: list[int], degree: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, size, 17) for size in sizes], axis=1).astype(np.int32)
    basis = ContrastBasis(sizes, degree)
    matrix = basis.matrix(codes)
    assert matrix.shape == (basis.dimension, 17) == (len(basis.index), 17)
    assert basis.means(codes) == pytest.approx(matrix.mean(axis=1), abs=1e-11)
    assert basis.sparse_means(codes) == pytest.approx(basis.sparse_matrix(codes).mean(axis=1), abs=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_sparse_functions_are_indicators_with_the_same_span(degree: int) -> None:
    basis = ContrastBasis(SIZES, degree)
    codes = all_codes(SIZES)
    dense, sparse = basis.matrix(codes), basis.sparse_matrix(codes).toarray()
    assert sparse.shape == dense.shape
    assert set(np.unique(sparse)) == {0.0, 1.0}
    assert np.linalg.matrix_rank(sparse) == basis.dimension
    assert sparse @ dense.T @ dense / len(codes) == pytest.approx(sparse, abs=1e-12)
    for row, columns in zip(sparse, basis.index, strict=True):
        where = codes[row > 0][:, columns]
        assert (where == where[0]).all()
        assert (where > 0).all()


def test_index_names_the_columns_that_a_function_depends_on() -> None:
    basis = ContrastBasis(SIZES, 2)
    codes = all_codes(SIZES)
    values = basis.matrix(codes)
    for row, columns in zip(values, basis.index, strict=True):
        for j in range(len(SIZES)):
            others = [i for i in range(len(SIZES)) if i != j]
            keys = np.ravel_multi_index(codes[:, others].T, [SIZES[i] for i in others])
            moves = any(np.ptp(row[keys == key]) > 1e-12 for key in np.unique(keys))
            assert moves == (j in columns)


# Dimensions for d = 2: CAR 157; ADULT's eight columns.
@pytest.mark.parametrize(("sizes", "dimension"), [((4, 4, 4, 3, 3, 3, 4), 157), ((9, 16, 7, 15, 6, 5, 2, 2), 1231)])
def test_dimensions(sizes: tuple[int, ...], dimension: int) -> None:
    assert ContrastBasis(sizes, 2).dimension == dimension


def test_no_rows_have_no_mean() -> None:
    with pytest.raises(ParameterError) as caught:
        ContrastBasis((2, 2), 1).means(np.empty((0, 2), dtype=np.int32))
    assert caught.value.field == "codes"
