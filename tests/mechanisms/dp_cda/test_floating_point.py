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
from dpsyn.mechanisms.dp_cda._checks import count_margin
from dpsyn.mechanisms.dp_cda._config import LARGEST_CLASS_ASSUMPTION
from dpsyn.privacy.mixing.averaging import (
    NEVER,
    changed_by_floating_point,
    floating_noise_assumption,
    gaussian_noise,
    grid_step,
    most_picked,
    poisson_averages,
)
from dpsyn.privacy.spec import rounded_up
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
    """In all numbers of all rows, at the largest mean of averages over σ: 2^-42 + 2^-45·c/(σ√4) each."""
    table = symmetric_table()

    def claimed(delta: float, sampler: str = "system", **more):
        config = dpsyn.DPCDA(target="y", rows=rows, noise_sampler=sampler, **more)
        return config.calibrate(dpsyn.PrivacySpec(epsilon, delta), table.domain, n=table.n)

    sizes = claimed(1e-5, class_sizes=25)
    largest = sizes.radius / sizes.noise_scale_for((25, 25)) / 2
    assert (largest > 4) == (epsilon > 30)  # where averages count for more than the noise itself
    chance = 4 * rows * (2.0**-42 + 2.0**-45 * largest)
    assert changed_by_floating_point(4 * rows, largest) == pytest.approx(chance)
    for factor, status in ((0.5, "real_arithmetic"), (2.0, "proven")):
        found = claimed(factor * chance, class_sizes=25)
        again = changed_by_floating_point(4 * rows, found.radius / found.noise_scale_for((25, 25)) / 2)
        assert (again > factor * chance) == (status == "real_arithmetic")
        assert found.guarantee.status == status
        assert claimed(factor * chance, "exact", class_sizes=25).guarantee.status == "proven"


def test_a_delta_that_floating_point_just_reaches_is_not_outweighed():
    chance, domain = changed_by_floating_point(4 * 10, None), symmetric_table().domain
    for delta, status in ((chance, "proven"), (math.nextafter(chance, 0.0), "real_arithmetic")):
        mechanism = dpsyn.DPCDA(target="y", rows=10).calibrate(dpsyn.PrivacySpec(30.0, delta, "add_remove"), domain, 50)
        assert mechanism.guarantee.status == status


def test_what_is_taken_for_granted_says_what_is_assumed_of_averages_that_nothing_bounds():
    """2⁻⁴² + 2⁻⁴⁵·8 for each number, and no more than δ up to the mean that is assumed; above it is more."""
    usual, stated = floating_noise_assumption(10**6, None, 1e-5), floating_noise_assumption(10**6, 2.0, 1e-5)
    assert "1,000,000 numbers has a probability of about 4.6e-07 in all," in usual
    assert "1,000,000 numbers has a probability of about 2.9e-07 in all," in stated
    assert "n is a secret: it is assumed that they are at most 343σ." in usual
    assert changed_by_floating_point(10**6, 343) <= 1e-5 < changed_by_floating_point(10**6, 344)
    assert "at most 8σ." in floating_noise_assumption(10**6, None, 1e-9)  # such a release has the mark "real arithmetic"
    assert "assumed" not in stated


def test_more_records_than_a_sum_allows_for_are_never_picked():
    """By Chernoff's bound for sums of coins, whatever their rates; and sums are not allowed for that nobody needs."""
    for expected in 10.0 ** np.arange(-6, 10):
        most = most_picked(expected)
        assert most * math.log(most / expected) - most + expected >= 1000 * math.log(2)
        assert most <= expected + 462.1 + math.sqrt(2000 * math.log(2) * expected) + 1
    assert most_picked(0.0) == 463


def poisson(n, delta=1e-5, neighbouring="replace_one", epsilon=1.0, **more):
    """Poisson sums of two classes."""
    config = dpsyn.DPCDA(target="y", rows=40, variant="poisson", **more)
    return config.calibrate(dpsyn.PrivacySpec(epsilon, delta, neighbouring), symmetric_table().domain, n=n)


def test_a_class_may_hold_all_n_records_whatever_was_stated_of_it():
    """The sums are up to n/size times as long, floating point changes more of them, and σ allows for their rounding."""
    wrong, right = (poisson(400_000, 1e-9, order_of_mixture=1, class_sizes=size) for size in (1, 200_000))
    sigma = wrong.noise_scale_for((1, 1))
    assert wrong.largest_average == pytest.approx(400_000 / sigma / 2)
    chance = 160 * (2.0**-42 + 2.0**-45 * 400_000 / sigma / 2)
    assert chance > 1e-9
    assert any(f"about {rounded_up(chance, 2)} in all," in one for one in wrong.guarantee.assumptions)
    assert (wrong.guarantee.status, right.guarantee.status) == ("real_arithmetic", "proven")
    assert right.largest_average == pytest.approx(2 / right.noise_scale_for((200_000,) * 2) / 2)
    assert wrong.summed(1) == most_picked(400_000.0) > 400_000
    assert right.summed(200_000) == 64 + 1024
    short = poisson(400_000, class_sizes=1000, clip_norm=0.25)
    assert short.largest_average == pytest.approx(400 * 0.25 / short.noise_scale_for((1000, 1000)) / 2)
    table, larger = symmetric_table(), 40 * 60
    whole = Table(pd.concat([table.frame.assign(y=0)] * 40, ignore_index=True), table.domain)
    for mechanism in (poisson(larger, class_sizes=size) for size in (60, 1200)):
        size, sigma = mechanism.public_sizes[0], mechanism.noise_scale_for(mechanism.public_sizes)
        points = mechanism.features.encode(whole)
        sums = poisson_averages(points, 4, 4 / size, 2_000, np.random.default_rng(0))
        assert np.abs(sums).mean() / sigma <= mechanism.largest_average * 1.01
    unequal = poisson(400_000, rows_by="equal", class_sizes={"0": 100_000, "1": 50}, order_of_mixture=5)
    assert unequal.largest_average == pytest.approx(8_000 / unequal.noise_scale_for((100_000, 50)) / 2)


def test_where_n_is_a_secret_a_release_assumes_that_no_class_is_far_larger_than_was_stated():
    stated = poisson(60, neighbouring="add_remove", class_sizes=25)
    assert LARGEST_CLASS_ASSUMPTION in stated.guarantee.assumptions
    assert "32 times" in LARGEST_CLASS_ASSUMPTION
    assert stated.largest_average == pytest.approx(32 / stated.noise_scale_for((25, 25)) / 2)
    assert stated.guarantee == poisson(10**6, neighbouring="add_remove", class_sizes=25).guarantee
    for order in (1, 4, 20, 1000):
        sums = poisson(60, neighbouring="add_remove", order_of_mixture=order, class_sizes=2000)
        assert sums.summed(2000) == 64 * order + 1024 >= most_picked(32.0 * order)
    counted = poisson(60, neighbouring="add_remove")
    assert counted.largest_average is None
    assert LARGEST_CLASS_ASSUMPTION not in counted.guarantee.assumptions
    assert any("it is assumed that they are at most" in one for one in counted.guarantee.assumptions)


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_a_noisy_count_may_be_far_too_small(neighbouring):
    """σ allows for sums of a class that holds as much more as noise can take off, or all n records where n is public."""
    mechanism = poisson(3_000_000, neighbouring=neighbouring, epsilon=0.01)
    scale = mechanism.budget.count_noise_scale
    off = mechanism.count_error(NEVER)
    assert off == count_margin(scale, 4, NEVER)
    assert 4 * math.exp(-(off + 1) / scale) / (1 + math.exp(-1 / scale)) <= NEVER
    assert mechanism.summed(5) == most_picked((5 + off) * 4 / 5) > 10**5
    without_replacement = dpsyn.DPCDA(target="y", rows=40)
    spec = dpsyn.PrivacySpec(0.01, 1e-5, neighbouring)
    assert without_replacement.calibrate(spec, symmetric_table().domain, n=3_000_000).count_error(NEVER) == 0
    assert poisson(60, neighbouring=neighbouring, class_sizes=25).count_error(NEVER) == 0
    few = poisson(3_000, neighbouring=neighbouring, epsilon=0.01)
    assert few.summed(5) == (most_picked(3_000 * 4 / 5) if neighbouring == "replace_one" else mechanism.summed(5))
    assert mechanism.summed(10**6) == 64 * 4 + 1024
    needed = 1 + 2.0**-30 + mechanism.summed(5) ** 2 * 2.0**-52
    usual = 1 + 2.0**-30 + mechanism.summed(10**6) ** 2 * 2.0**-52
    assert needed > 1 + 1e-6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(mechanism), "summed", lambda *_: 64 * 4 + 1024)
        small = mechanism.noise_scale_for((5, 10**6))
    assert mechanism.noise_scale_for((5, 10**6)) / small == pytest.approx(needed / usual, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_how_much_longer_sums_are_expected_to_be_where_counts_are_noisy(epsilon):
    """E N/(N + Z) over discrete Laplace noise Z that leaves more than l, for every N: what largest_average takes is more."""
    mechanism = poisson(10**6, epsilon=epsilon)
    scale, order = mechanism.budget.count_noise_scale, 4
    sizes = mechanism.count_error(2.0**-65) + 10**6
    times = mechanism.largest_average * mechanism.noise_scale_for((sizes, sizes)) * 2
    assert times == pytest.approx(2 + 2 * 2 * scale / math.e / (order + 1))
    for held in (1, 5, 20, 100, round(scale), round(3 * scale), round(10 * scale)):
        kept = np.arange(order + 1, held + 60 * math.ceil(scale))
        law = np.exp(-np.abs(kept - held) / scale) * math.tanh(1 / (2 * scale))
        assert (law * held / kept).sum() < times
    assert poisson(30, epsilon=epsilon)._times <= 30 / 5
