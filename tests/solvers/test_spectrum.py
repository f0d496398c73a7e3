from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.solvers import spectrum as module
from dpsyn.solvers.contrasts import ContrastBasis
from dpsyn.solvers.operator import BlockOperator
from dpsyn.solvers.spectrum import conditioning, spectrum


def smallest_singular_value(operator: BlockOperator) -> float:
    return math.sqrt(max(0.0, float(spectrum(operator)[0])))


def test_spectrum_against_the_singular_values() -> None:
    operator = BlockOperator.uniform((2,) * 6 + (3,), 2, 500, np.random.default_rng(0))
    matrix = ContrastBasis(operator.sizes, 2).matrix(operator.codes(np.arange(500)))
    values = np.linalg.svd(matrix / math.sqrt(500), compute_uv=False)[::-1]
    assert np.sqrt(spectrum(operator)) == pytest.approx(values, rel=1e-9)
    assert smallest_singular_value(operator) == pytest.approx(values[0], rel=1e-9)
    assert np.trace(operator.gram()) == pytest.approx(operator.shape[0])


def test_repeated_points_count_as_often_as_they_are_drawn() -> None:
    codes = np.random.default_rng(1).integers(0, 2, (300, 4)).astype(np.int32)
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    merged = BlockOperator.from_codes((2,) * 4, 2, distinct, counts / 300)
    assert spectrum(merged) == pytest.approx(spectrum(BlockOperator.from_codes((2,) * 4, 2, codes)), abs=1e-13)


def test_fewer_points_than_functions_have_no_smallest_singular_value() -> None:
    operator = BlockOperator.uniform((2,) * 8, 2, 20, np.random.default_rng(0))
    assert smallest_singular_value(operator) < 1e-5
    assert not conditioning(operator, 0.01).passes


def test_a_few_points_prove_that_all_pass() -> None:
    operator = BlockOperator.uniform((2,) * 12, 2, 200_000, np.random.default_rng(0))
    threshold = 1 / (2 * math.e**2)
    quick = conditioning(operator, threshold)
    assert quick.passes
    assert not quick.exact
    assert quick.points < 10_000
    assert threshold <= quick.smallest <= smallest_singular_value(operator) * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.5, 0.99, 1.01])
def test_with_many_functions_a_factor_is_the_proof_and_decides_as_the_eigenvalues_do(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = BlockOperator.uniform((4, 3, 5, 2), 2, 600, np.random.default_rng(0))
    smallest = smallest_singular_value(operator)
    monkeypatch.setattr(module, "EIGENVALUES_UP_TO", 10)
    if share < 1:
        monkeypatch.setattr(module.np.linalg, "eigvalsh", None)  # not needed
    found = conditioning(operator, share * smallest)
    assert found.passes == (share < 1)
    assert found.exact == (share > 1)
    assert found.smallest == pytest.approx(smallest if share > 1 else share * smallest)


def test_where_the_first_points_prove_nothing_all_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Sorted points: the first ones never show the last code of the first column.
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 2, (20_000, 5)).astype(np.int32)
    codes = codes[np.argsort(codes[:, 0], kind="stable")]
    operator = BlockOperator.from_codes((2,) * 5, 2, codes)
    found = conditioning(operator, 0.05)
    assert found.passes
    assert found.exact
    assert found.points == 20_000
    monkeypatch.setattr(module, "_POINTS_PER_FUNCTION", 10_000)
    assert conditioning(operator, 0.05).exact


@settings(max_examples=40)
@given(rows=st.integers(5, 400), threshold=st.floats(0.0, 0.9), seed=st.integers(0, 999))
def test_the_decision_is_that_of_the_singular_values(rows: int, threshold: float, seed: int) -> None:
    operator = BlockOperator.uniform((2, 2, 3), 1, rows, np.random.default_rng(seed))
    matrix = ContrastBasis((2, 2, 3), 1).matrix(operator.codes(np.arange(rows)))
    smallest = float(np.linalg.svd(matrix / math.sqrt(rows), compute_uv=False)[-1])
    found = conditioning(operator, threshold)
    if abs(smallest - threshold) > 1e-6:
        assert found.passes == (smallest >= threshold)
    assert found.smallest <= smallest + 1e-6


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(ParameterError, match="threshold"):
        conditioning(BlockOperator.whole((2, 2), 1), -0.1)
