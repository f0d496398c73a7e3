from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpsyn.mechanisms.private_sampling._mechanism import draw_rows
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace, SpaceSize, draw_space
from dpsyn.solvers.matching import ClippedDensity, KeptDensity

FLOOR, CEILING = 0.2, 2.5


def _space(sizes: tuple[int, ...], m: int, *, degree: int = 1, whole: bool = False) -> ReducedSpace:
    dimension = 1 + sum(size - 1 for size in sizes)
    return draw_space(SpaceSize(sizes, degree, dimension, m, whole), np.random.default_rng(1))


def _density(space: ReducedSpace) -> ClippedDensity:
    coefficients = np.random.default_rng(2).normal(0, 0.4, space.operator.shape[0])
    coefficients[0] = 0.0
    density = ClippedDensity(space.operator, coefficients, FLOOR, CEILING)
    # The constant is the mean of x; a few steps make it 1.
    pull, weights = space.operator.rmatvec(coefficients), space.operator.weights
    for _ in range(60):
        coefficients[0] += 1 - float(weights @ np.clip(1 + pull + coefficients[0], FLOOR, CEILING))
    return density


def test_many_blocks_draw_from_one_distribution() -> None:
    space = _space((2,) * 18, 200_000)
    assert len(space.operator.map(_one)) > 1
    density = _density(space)
    drawn = draw_rows(space, density, FLOOR, CEILING, 50_000, np.random.default_rng(3), keep=True)
    probabilities = drawn.probabilities
    assert probabilities is not None
    assert probabilities == pytest.approx(density.values * space.operator.weights, rel=1e-9)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert drawn.statistics == pytest.approx(space.operator.matvec(probabilities), abs=1e-12)
    assert drawn.codes.shape == (50_000, 18)
    # Every first-order marginal of the rows is that of the distribution.
    observed = (2 * drawn.codes - 1).mean(axis=0)
    assert np.abs(observed - drawn.statistics[1:]).max() < 5 / np.sqrt(50_000)
    assert np.abs(drawn.statistics[1:]).max() > 20 / np.sqrt(50_000)
    assert drawn.points.sum() == pytest.approx(1)
    assert drawn.mass.sum() == pytest.approx(1)
    assert drawn.at_floor == pytest.approx(float(space.operator.weights @ (density.values <= FLOOR)), abs=1e-9)
    assert drawn.at_ceiling == pytest.approx(float(space.operator.weights @ (density.values >= CEILING)), abs=1e-9)


def _one(block: object) -> int:
    return 1


def test_rows_come_in_an_order_that_says_nothing() -> None:
    space = _space((3, 2), 6, degree=2, whole=True)
    density = KeptDensity(np.array([0.2, 0.5, 1.0, 1.3, 2.5, 0.5]))
    drawn = draw_rows(space, density, FLOOR, CEILING, 40_000, np.random.default_rng(0), keep=True)
    points = np.ravel_multi_index(tuple(drawn.codes.T), (3, 2))
    first, second = points[:-1:2], points[1::2]
    table = np.bincount(first * 6 + second, minlength=36)
    assert drawn.probabilities is not None
    expected = np.outer(drawn.probabilities, drawn.probabilities).ravel() * len(first)
    assert chisquare(table, expected).pvalue > 1e-3


def test_a_density_given_by_its_values_and_by_coefficients_draws_alike() -> None:
    space = _space((4, 3, 3), 20)
    density = _density(space)
    one = draw_rows(space, density, FLOOR, CEILING, 500, np.random.default_rng(5), keep=True)
    two = draw_rows(space, KeptDensity(density.values), FLOOR, CEILING, 500, np.random.default_rng(5), keep=False)
    assert (one.codes == two.codes).all()
    assert two.probabilities is None
    assert one.probabilities is not None
    assert space.counts is not None
    for probability, c in zip(one.probabilities, space.counts, strict=True):
        slack = 1 + Fraction(1, 2**52)
        assert Fraction(FLOOR) * int(c) / 20 / slack <= Fraction(probability) <= Fraction(CEILING) * int(c) / 20 * slack
