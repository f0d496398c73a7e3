"""The reduced space of the pictures is the mechanism's own, and its spectrum is that of W."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import FailureError, ParameterError
from dpsyn.mechanisms.private_sampling._reduced_space import draw_space, space_size
from dpsyn.mechanisms.private_sampling.figures.density import draw_spectrum, eigenvalues, expected_band, written_bound
from dpsyn.mechanisms.private_sampling.small_run import (
    COMFORTABLE_ENTRIES,
    MOST_ENTRIES,
    SmallRun,
    comfortable_columns,
    largest_whole,
    most_draws,
    small_space,
)
from tests.mechanisms.private_sampling.figures.conftest import bits_table


@pytest.mark.parametrize("sizes", [(2,) * 7, (3, 2, 4, 5), (2,) * 18])
def test_s_is_what_the_mechanism_draws_of_the_same_seed(sizes: tuple[int, ...]) -> None:
    draws = 90 if math.prod(sizes) < 10_000 else 900
    space = small_space(sizes, 2, draws=draws, seed=5)
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple(range(size))) for j, size in enumerate(sizes))
    theirs = draw_space(space_size(domain, 2, draws), np.random.default_rng(5))
    assert theirs.redraws == 0

    def sorted_rows(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return np.unique(np.repeat(codes, counts, axis=0), axis=0, return_counts=True)[0]

    assert np.array_equal(sorted_rows(space.codes, space.multiplicity), sorted_rows(theirs.codes, theirs.multiplicity))
    assert space.multiplicity.sum() == draws
    assert space.spectrum == pytest.approx(theirs.spectrum)
    assert space.threshold == theirs.threshold


def test_eigenvalues_are_squares_of_singular_values_over_m() -> None:
    space = small_space((2,) * 6, 2, draws=40, seed=2)
    every = np.repeat(space.functions, space.multiplicity, axis=1)
    singular = np.linalg.svd(every, compute_uv=False)
    assert np.sort(singular**2 / 40) == pytest.approx(eigenvalues(space))
    assert space.threshold**2 / 40 == pytest.approx((1 / (2 * math.e**2)) ** 2)


def test_the_whole_domain_has_every_eigenvalue_one() -> None:
    space = small_space((3, 2, 4), 2)
    values = np.linalg.eigvalsh(space.functions @ space.functions.T / space.m)
    assert values == pytest.approx(eigenvalues(space))
    assert expected_band(space) is None
    assert space.passes
    assert written_bound(space) == "B"


def test_too_few_points_fail_and_nothing_goes_on_from_there() -> None:
    table = bits_table(7)
    space = small_space(table.domain.shape, 2, draws=20, seed=1)
    assert not space.passes
    text = draw_spectrum(space).to_json(ensure_ascii=False)
    assert "Failure" in text
    with pytest.raises(FailureError, match="not looked at"):
        SmallRun(space, table)
    assert '"#D55E00"' in text


def test_the_spectrum_settles_in_its_band() -> None:
    space = small_space((2,) * 14, 1, draws=5000, seed=0)
    band, values = expected_band(space), eigenvalues(space)
    assert band is not None
    low, high = band
    assert low == pytest.approx((1 - math.sqrt(15 / 5000)) ** 2)
    assert low * 0.97 <= values[0]
    assert values[-1] <= high * 1.03


def test_refuses_what_would_not_follow_a_slider() -> None:
    with pytest.raises(ParameterError, match="fewer columns"):
        small_space((2,) * 60, 2, draws=10_000)
    with pytest.raises(ParameterError, match="reduced_space_size"):
        small_space((2,) * 20, 2)
    with pytest.raises(ParameterError, match="reduced_space_size"):
        small_space((2,) * 20, 2, draws=0)
    assert not largest_whole((2,) * 20, 2)
    assert most_draws((2,) * 20, 2) == MOST_ENTRIES // 211


def test_columns_to_begin_with() -> None:
    few = Domain.of(
        [Attribute("constant", "categorical", ("a",)), *(Attribute(f"b{j}", "truth", (0, 1)) for j in range(30))]
    )
    chosen = comfortable_columns(few, ["b29"])
    assert "constant" not in chosen
    assert "b29" in chosen
    assert len(chosen) == 10
    assert comfortable_columns(Domain.of([Attribute("constant", "categorical", ("a",))]), []) == ()
    wide = Domain.of(Attribute(f"c{j}", "categorical", tuple(range(300))) for j in range(4))
    space_entries = 300**2
    assert len(comfortable_columns(wide, [])) == (2 if space_entries * 300**2 <= COMFORTABLE_ENTRIES else 1)
