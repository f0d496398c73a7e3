"""The reduced space of the pictures is the mechanism's own, and its spectrum is that of W."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import FailureError, ParameterError
from dpsyn.mechanisms.private_sampling._reduced_space import draw_space
from dpsyn.mechanisms.private_sampling._space_size import space_size
from dpsyn.mechanisms.private_sampling.figures.instance import make_instance
from dpsyn.mechanisms.private_sampling.figures.space import (
    COMFORTABLE_ENTRIES,
    MOST_ENTRIES,
    comfortable_columns,
    largest_whole,
    make_space,
    most_draws,
)
from dpsyn.mechanisms.private_sampling.figures.spectrum import draw_spectrum, spectrum_info
from tests.mechanisms.private_sampling.figures.conftest import bits_table


@pytest.mark.parametrize("sizes", [(2,) * 7, (3, 2, 4, 5), (2,) * 18])
def test_s_is_what_the_mechanism_draws_of_the_same_seed(sizes: tuple[int, ...]) -> None:
    draws = 90 if math.prod(sizes) < 10_000 else 900
    space = make_space(sizes, 2, draws=draws, seed=5)
    domain = Domain.of(Attribute(f"c{j}", "categorical", tuple(range(size))) for j, size in enumerate(sizes))
    theirs = draw_space(space_size(domain, 2, draws), np.random.default_rng(5))
    assert theirs.redraws == 0

    def sorted_rows(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return np.unique(np.repeat(codes, counts, axis=0), axis=0, return_counts=True)[0]

    assert np.array_equal(sorted_rows(space.points, space.multiplicity), sorted_rows(theirs.codes, theirs.multiplicity))
    assert space.multiplicity.sum() == draws
    assert space.eigenvalues == pytest.approx(theirs.spectrum)
    assert space.threshold == pytest.approx(theirs.threshold**2 / draws)


def test_eigenvalues_are_squares_of_singular_values_over_m() -> None:
    space = make_space((2,) * 6, 2, draws=40, seed=2)
    every = np.repeat(space.functions, space.multiplicity, axis=1)
    singular = np.linalg.svd(every, compute_uv=False)
    assert np.sort(singular**2 / 40) == pytest.approx(space.eigenvalues)
    assert space.threshold == pytest.approx((1 / (2 * math.e**2)) ** 2)


def test_the_whole_domain_has_every_eigenvalue_one() -> None:
    space = make_space((3, 2, 4), 2)
    values = np.linalg.eigvalsh(space.functions @ space.functions.T / space.m)
    assert values == pytest.approx(space.eigenvalues)
    info = spectrum_info(space)
    assert info.expected is None
    assert not info.failed
    assert info.bound == "B"


def test_too_few_points_fail_and_nothing_goes_on_from_there() -> None:
    table = bits_table(7)
    space = make_space(table.domain.shape, 2, draws=20, seed=1)
    info = spectrum_info(space)
    assert info.failed
    assert "Failure" in info.subtitle
    with pytest.raises(FailureError, match="not looked at"):
        make_instance(space, table)
    assert '"#D55E00"' in draw_spectrum(info).to_json()


def test_the_spectrum_settles_in_its_band() -> None:
    info = spectrum_info(make_space((2,) * 12, 1, draws=5000, seed=0))
    low, high = info.expected
    assert low == pytest.approx((1 - math.sqrt(13 / 5000)) ** 2)
    assert low * 0.97 <= info.eigenvalues[0]
    assert info.eigenvalues[-1] <= high * 1.03


def test_refuses_what_would_not_follow_a_slider() -> None:
    with pytest.raises(ParameterError, match="fewer columns"):
        make_space((2,) * 60, 2, draws=10_000)
    with pytest.raises(ParameterError, match="reduced_space_size"):
        make_space((2,) * 20, 2)
    with pytest.raises(ParameterError, match="reduced_space_size"):
        make_space((2,) * 20, 2, draws=0)
    assert not largest_whole((2,) * 20, 2)
    assert most_draws((2,) * 20, 2) == MOST_ENTRIES // 211


def test_columns_to_begin_with() -> None:
    few = Domain.of(
        [Attribute("constant", "categorical", ("a",)), *(Attribute(f"b{j}", "truth", (0, 1)) for j in range(30))]
    )
    chosen = comfortable_columns(few, 2, ["b29"])
    assert "constant" not in chosen
    assert "b29" in chosen
    assert len(chosen) == 10
    assert comfortable_columns(Domain.of([Attribute("constant", "categorical", ("a",))]), 2) == ()
    wide = Domain.of(Attribute(f"c{j}", "categorical", tuple(range(300))) for j in range(4))
    space_entries = 300**2
    assert len(comfortable_columns(wide, 2)) == (2 if space_entries * 300**2 <= COMFORTABLE_ENTRIES else 1)
