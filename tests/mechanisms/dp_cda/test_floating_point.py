"""The low bits of noisy averages: what they give away in floating point, and that no release holds them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpsyn
from dpsyn.domain import Attribute, Domain
from dpsyn.privacy.mixing.averaging import changed_by_floating_point, floating_noise_assumption, gaussian_noise, grid_step
from dpsyn.table import Table

SHIFT = 2.0**-3


@pytest.mark.parametrize("on_grid", [True, False])
def test_averages_get_the_generators_normals_as_they_are(on_grid):
    """Tails and low bits, too: noise that is cut at 5σ gives away the average of one number in 1.7 million."""
    drawn = np.array([0.0, 1.0, -5.5, 7.25, -9.0, 1 + 2.0**-50, 1 / 3])

    class Drawn(np.random.Generator):
        def standard_normal(self, size):
            assert size == drawn.shape
            return drawn.copy()

    found = gaussian_noise(0.75, Drawn(np.random.PCG64(0)), on_grid=on_grid)(np.full(drawn.shape, 0.125))
    step = grid_step(0.75)
    exact = 0.125 + 0.75 * drawn
    assert np.array_equal(found, np.rint(exact / step) * step if on_grid else exact)


@given(st.floats(1e-200, 1e200))
def test_steps_are_powers_of_two_between_a_128th_and_a_64th_of_the_noise(sigma):
    step = grid_step(sigma)
    assert math.frexp(step)[0] == 0.5
    assert sigma / 128 < step <= sigma / 64


def on_the_grid_of(average: float, values: np.ndarray) -> np.ndarray:
    """Whether values near 0 could be a double near -average plus the average: their low bits are then zero."""
    near = values[np.abs(values) < average / 2]
    unit = average * 2.0**-53
    return np.rint(near / unit) * unit == near


@pytest.mark.parametrize("shape", [(200_000,), (200_000, 1), (1, 200_000), (2, 100_000)])
@pytest.mark.parametrize("on_grid", [False, True])
def test_low_bits_tell_averages_apart_unless_the_sum_is_rounded(on_grid, shape):
    add = gaussian_noise(1.0, np.random.default_rng(0), on_grid=on_grid)
    shifted, not_shifted = (add(np.full(shape, average)) for average in (SHIFT, 0.0))
    assert on_the_grid_of(SHIFT, shifted).all()
    share = on_the_grid_of(SHIFT, not_shifted).mean()
    assert share == 1.0 if on_grid else share < 0.6


@pytest.mark.parametrize("sigma", [1e-200, 1.0, 1e9, 1e200])
def test_however_large_noise_is_and_however_many_numbers_get_it_all_do(sigma):
    drawn = gaussian_noise(sigma, np.random.default_rng(2), on_grid=True)(np.zeros((1_000_001, 2))) / sigma
    for part in (drawn[:10_000], drawn[-10_000:]):
        assert part.std(axis=0) == pytest.approx([1, 1], rel=0.04)
    steps = drawn * (sigma / grid_step(sigma))
    assert np.abs(steps - np.rint(steps)).max() < 1e-9


def test_rounded_noise_is_that_gaussian():
    sigma = 0.3
    values = gaussian_noise(sigma, np.random.default_rng(1), on_grid=True)(np.full(400_000, 0.1))
    steps = values / grid_step(sigma)
    assert np.array_equal(steps, np.rint(steps))
    assert values.std() == pytest.approx(sigma, rel=5e-3)
    assert values.mean() == pytest.approx(0.1, abs=5 * sigma / math.sqrt(400_000))
    at = np.unique(steps)[::5]
    expected = stats.norm.cdf((at + 0.5) * grid_step(sigma), 0.1, sigma)
    assert np.abs((steps[:, None] <= at).mean(axis=0) - expected).max() < 5 / math.sqrt(400_000)


def symmetric_table() -> Table:
    """Four numbers between -1 and 1: a coordinate is a half of one, so that decoding keeps every bit."""
    frame = pd.DataFrame(np.random.default_rng(2).choice([-1.0, 0.25, 1.0], (60, 4)), columns=[f"x{j}" for j in range(4)])
    frame.insert(0, "y", np.arange(60) % 2)
    numbers = [Attribute(f"x{j}", "numeric", lower=-1.0, upper=1.0, public=True) for j in range(4)]
    return Table(frame, Domain.of([Attribute("y", "truth", (0, 1), public=True), *numbers]))


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_no_release_holds_low_bits(variant):
    table = symmetric_table()
    config = dpsyn.DPCDA(target="y", rows=400, class_sizes=25, variant=variant)
    mechanism = config.calibrate(dpsyn.PrivacySpec(30.0, 1e-5), table.domain, n=table.n)
    step = grid_step(mechanism.calibrated()["noise_scale"])

    def whole(generator: np.random.Generator | None) -> float:
        released = mechanism(generator, table).rows.drop(columns="y").to_numpy(float)
        inside = released[np.abs(released) < 1] / 2 / step
        assert len(inside) > 100
        return float((inside == np.rint(inside)).mean())

    assert whole(None) == 1.0
    # A demonstration keeps the bits that its seed draws; it is no release.
    assert whole(np.random.default_rng(3)) < 0.1


@pytest.mark.parametrize(("rows", "epsilon"), [(10, 30.0), (10_000, 30.0), (10, 1e5)])
def test_a_claim_whose_delta_floating_point_can_outweigh_is_of_exact_arithmetic(rows, epsilon):
    """In all numbers of all rows, at the largest average over σ: 2^-42 + 2^-45·c/σ each."""
    table = symmetric_table()

    def claimed(delta: float, sampler: str = "system", **more):
        config = dpsyn.DPCDA(target="y", rows=rows, noise_sampler=sampler, **more)
        return config.calibrate(dpsyn.PrivacySpec(epsilon, delta), table.domain, n=table.n)

    sizes = claimed(1e-5, class_sizes=25)
    largest = sizes.radius / sizes.noise_scale_for((25, 25))
    assert (largest > 8) == (epsilon > 30)  # where averages count for more than the noise itself
    chance = 4 * rows * (2.0**-42 + 2.0**-45 * largest)
    assert changed_by_floating_point(4 * rows, largest) == pytest.approx(chance)
    for factor, status in ((0.5, "real_arithmetic"), (2.0, "proven")):
        found = claimed(factor * chance, class_sizes=25)
        again = changed_by_floating_point(4 * rows, found.radius / found.noise_scale_for((25, 25)))
        assert (again > factor * chance) == (status == "real_arithmetic")
        assert found.guarantee.status == status
        assert claimed(factor * chance, "exact", class_sizes=25).guarantee.status == "proven"


def test_a_delta_that_floating_point_just_reaches_is_not_outweighed():
    chance, domain = changed_by_floating_point(4 * 10, 8.0), symmetric_table().domain
    for delta, status in ((chance, "proven"), (math.nextafter(chance, 0.0), "real_arithmetic")):
        mechanism = dpsyn.DPCDA(target="y", rows=10).calibrate(dpsyn.PrivacySpec(30.0, delta, "add_remove"), domain, 50)
        assert mechanism.guarantee.status == status


def test_what_is_taken_for_granted_says_where_more_may_be_needed():
    """2⁻⁴² + 2⁻⁴⁵·8 for each number where σ is not known before the run, and averages may be larger than 8σ."""
    usual, stated = floating_noise_assumption(10**6, 8.0), floating_noise_assumption(10**6, 2.0)
    assert "1,000,000 numbers has a probability of about 4.6e-07 in all (more where averages are above 8σ)" in usual
    assert "1,000,000 numbers has a probability of about 2.9e-07 in all," in stated
