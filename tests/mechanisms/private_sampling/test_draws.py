from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpsyn.mechanisms.private_sampling._mechanism import draw_rows
from dpsyn.mechanisms.private_sampling._reduced_space import ReducedSpace, SpaceSize, draw_space
from dpsyn.privacy.exact_draws import TOTAL
from dpsyn.solvers import operator
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


class _Chosen:
    """A generator whose numbers are those that a test wants to see drawn."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = np.array(numbers, dtype=np.int64)

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        assert (low, high, size) == (0, TOTAL, len(self.numbers))
        return self.numbers


@pytest.mark.parametrize("block", [1, 4, 100])
@pytest.mark.parametrize("by_coefficients", [True, False])
def test_every_point_has_its_part_of_the_numbers(monkeypatch: pytest.MonkeyPatch, block: int, by_coefficients: bool) -> None:
    """However the points lie in blocks: the first and the last number of each point's part are that point's row."""
    monkeypatch.setattr(operator, "SMALLEST_BLOCK", block)
    monkeypatch.setattr(operator, "LARGEST_BLOCK", block)
    space = _space((3, 2, 3), 12)
    clipped = _density(space)
    density = clipped if by_coefficients else KeptDensity(clipped.values)
    assert len(space.operator.map(_one)) == -(-space.points // block)
    drawn = draw_rows(space, density, FLOOR, CEILING, 1, _Chosen([0]), keep=True)
    assert drawn.probabilities is not None
    # Probabilities are rounded to 53 bits, so that an end is known to some 2^10 of the 2^62 numbers.
    ends = [int(end) for end in np.cumsum(np.rint(drawn.probabilities * float(TOTAL)).astype(np.int64))]
    assert abs(ends[-1] - TOTAL) < 2**16
    numbers = [0, *(end + side for end in ends[:-1] for side in (-(2**16), 2**16)), TOTAL - 1]
    points = np.repeat(np.arange(space.points), 2)
    order = np.random.default_rng(0).permutation(len(numbers))
    rows = draw_rows(space, density, FLOOR, CEILING, len(numbers), _Chosen([numbers[i] for i in order]), keep=False)
    np.testing.assert_array_equal(rows.codes, space.codes[points[order]])


@pytest.mark.parametrize("block", [3, 100])
def test_pictures_of_a_density_in_blocks_are_those_of_all_its_points(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Probabilities are rounded into the box, and the ratios that follow from them may leave it by a last bit."""
    monkeypatch.setattr(operator, "SMALLEST_BLOCK", block)
    monkeypatch.setattr(operator, "LARGEST_BLOCK", block)
    tried = 0
    # One part of 49, times 49, is a last bit below 1.
    for sizes, m in [((3, 2), 7), ((3, 2), 9), ((3, 2), 11), ((3, 2), 13), ((7, 6), 49)]:
        space = _space(sizes, m)
        for floor, ceiling in [(0.1, 1.7), (0.3, 1.9), (0.07, 2.1), (0.15, 1.5)]:
            # Some points at the ends of the box and near them; the others have what is left.
            values = np.array([floor, floor * 1.01, *[np.nan] * (space.points - 4), ceiling * 0.99, ceiling])
            left = np.isnan(values)
            values[left] = (m - values[~left] @ space.multiplicity[~left]) / space.multiplicity[left].sum()
            if not floor < values[2] < ceiling:
                continue
            tried += 1
            drawn = draw_rows(space, KeptDensity(values), floor, ceiling, 5, np.random.default_rng(0), keep=True)
            assert drawn.probabilities is not None
            assert drawn.points.shape == drawn.mass.shape == (len(drawn.edges) - 1,)
            weights = space.multiplicity / m
            inside = np.clip(drawn.probabilities / weights, drawn.edges[0], drawn.edges[-1])
            np.testing.assert_allclose(drawn.points, np.histogram(inside, drawn.edges, weights=weights)[0], atol=1e-12)
            np.testing.assert_allclose(
                drawn.mass, np.histogram(inside, drawn.edges, weights=drawn.probabilities)[0], atol=1e-12
            )
            assert drawn.edges == pytest.approx(np.geomspace(floor, ceiling, len(drawn.edges)))
            assert drawn.at_floor == pytest.approx(weights[np.isclose(inside, floor, rtol=1e-8)].sum(), abs=1e-12)
            assert drawn.at_ceiling == pytest.approx(weights[np.isclose(inside, ceiling, rtol=1e-8)].sum(), abs=1e-12)
            assert drawn.statistics == pytest.approx(space.functions @ drawn.probabilities, abs=1e-12)
    assert tried >= 8
