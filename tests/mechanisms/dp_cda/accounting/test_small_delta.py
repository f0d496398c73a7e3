"""Exact accounting for δ below the rounding of Fourier transforms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.privacy.mixing import pld

Parts = list[tuple[pld.Pair, float, int]]


def on_grid(parts: Parts, multiplier: float, delta: float, *, refined: int = 64) -> tuple[list[pld.Loss], list[int], float]:
    """Losses of one row of each part, how many there are, and the step."""
    step = max(pld.span(pair, rate, 1 / multiplier) for pair, rate, _ in parts) / refined
    losses = [pld.discretised(pair, rate, 1 / multiplier, step) for pair, rate, _ in parts]
    return losses, [rows for *_, rows in parts], step


@pytest.mark.parametrize(("rows", "multiplier", "delta"), [(50, 5.0, 1e-12), (1000, 60.0, 1e-15), (10, 3.0, 1e-18)])
@pytest.mark.parametrize("pair", ["remove", "add", "replace"])
def test_rows_that_all_hold_the_record_are_one_gaussian(pair, rows, multiplier, delta):
    losses, times, step = on_grid([(pair, 1.0, rows)], multiplier, delta, refined=2000)
    found = pld.tilted_epsilon(losses, times, step, delta)
    assert found == pytest.approx(pld.gaussian_epsilon(math.sqrt(rows) / multiplier, delta), rel=2e-4)
    assert found >= pld.gaussian_epsilon(math.sqrt(rows) / multiplier, delta)


@pytest.mark.parametrize("delta", [1e-14, 1e-17])
def test_one_row_has_the_epsilon_of_amplification_by_sampling(delta):
    """δ(ε) = p·δ_Gauss(ln(1 + (e^ε - 1)/p))."""
    rate, multiplier = 0.01, 0.5
    found = pld.composed_epsilon([("remove", rate, 1)], multiplier, delta, 1e-4)
    expected = math.log1p(rate * math.expm1(pld.gaussian_epsilon(1 / multiplier, delta / rate)))
    assert found == pytest.approx(expected, rel=1e-3)
    assert found >= expected * (1 - 1e-9)


@pytest.mark.parametrize(
    "parts", [[("remove", 0.05, 8)], [("replace", 0.05, 8)], [("swap", 0.2, 6)], [("remove", 0.05, 5), ("add", 0.1, 4)]]
)
@pytest.mark.parametrize("delta", [1e-9, 1e-13, 1e-16])
def test_the_same_losses_composed_without_transforms(parts, delta):
    """Sums of products of positive numbers lose no digits, however small the result."""
    losses, rows, step = on_grid(parts, 0.8, delta)
    lowest, masses, finite = 0, np.ones(1), 1.0
    for (lower, row, infinity), times in zip(losses, rows, strict=True):
        for _ in range(times):
            masses, lowest, finite = np.convolve(masses, row), lowest + lower, finite * (1 - infinity)
    expected = pld.epsilon_of_losses(lowest, masses, 1 - finite, step, delta)
    found = pld.tilted_epsilon(losses, rows, step, delta)
    assert found == pytest.approx(expected, rel=2e-3)
    assert found >= expected * (1 - 1e-9)


@pytest.mark.parametrize(
    ("parts", "multiplier"),
    [([("remove", 1 / 6000, 6000)], 1.0), ([("swap", 4 / 6000, 6000)], 1.0), ([("replace", 64 / 6000, 6000)], 0.8),
     ([("remove", 4 / 6000, 6000), ("add", 4 / 6000, 6000)], 0.4)],
)  # fmt: skip
@pytest.mark.parametrize("delta", [1e-5, 1e-7])
def test_both_ways_agree_where_both_work(parts, multiplier, delta):
    losses, rows, step = on_grid(parts, multiplier, delta, refined=2000)
    composed = pld.compose(losses, rows, delta * 1e-5)
    assert composed is not None
    plain = pld.epsilon_of_losses(*composed, step, delta)
    assert pld.tilted_epsilon(losses, rows, step, delta) == pytest.approx(plain, rel=1e-3)


def test_a_smaller_delta_never_needs_more_noise_by_a_leap():
    """From a δ that transforms resolve to one that they cannot; without sampling 1,000 times the noise would be needed."""
    setting = (4, 1.0, [6000] * 10, [6000] * 10)
    scales = [dp_cda_noise_scale(1.0, 10.0**-k, *setting, tolerance=1e-2) for k in (6, 9, 12, 15)]
    ratios = np.diff(np.log(scales))
    assert (ratios > 0).all()
    assert (ratios < 0.3).all()
    assert dp_cda_epsilon(scales[-1], 1e-15, *setting) <= 1.0


def test_losses_that_drown_in_rounding_are_bounded_by_the_gaussian_without_sampling():
    # By the central limit theorem the rows are one Gaussian with μ = p√T/z = 1e-12: its δ(0) is 4e-13, so ε cannot be 0.
    found = pld.composed_epsilon([pld.Part("remove", 1e-8, 10**6)], 1e7, 1e-15, 1e-2)
    assert 2e-12 < found <= pld.gaussian_epsilon(1e-4, 1e-15)
    assert math.isfinite(dp_cda_epsilon(2e7, 1e-15, 1, 1.0, [10**9], [10**6], neighbouring="add_remove"))
