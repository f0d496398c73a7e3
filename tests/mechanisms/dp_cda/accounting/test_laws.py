"""The law of one mixed row's loss on a grid against its two densities, in both tails and where one of them underflows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import norm

from dpsyn.privacy.mixing.pairs import Part, _split, discretised, span
from dpsyn.privacy.mixing.pld import composed_epsilon

EDGE = -float(ndtri(1e-22))


def log_ratio(x: float, rate: float, shift: float) -> float:
    """ln of (1-p)N(0, 1) + pN(μ, 1) over N(0, 1)."""
    with np.errstate(divide="ignore"):
        return float(np.logaddexp(np.log(1 - rate), np.log(rate) + shift * x - shift**2 / 2))


def mixed(low: float, high: float, rate: float, shift: float) -> float:
    """Of an interval, without cancellation."""
    return sum(
        weight * float(ndtr(mean - low) - ndtr(mean - high) if low > mean else ndtr(high - mean) - ndtr(low - mean))
        for weight, mean in ((1 - rate, 0.0), (rate, shift))
    )


class Law:
    """(A, B)-measures of where the loss ln(A/B) lies between two values, from the densities."""

    def __init__(self, pair: str, rate: float, shift: float) -> None:
        self.pair, self.rate, self.shift = pair, rate, shift

    def loss(self, x: float) -> float:
        """Increasing in x; of "add" with its sign turned."""
        up = log_ratio(x, self.rate, self.shift)
        return up - log_ratio(-x, self.rate, self.shift) if self.pair == "swap" else up

    def point(self, loss: float) -> float:
        edge = 300.0
        if self.loss(-edge) >= loss:
            return -math.inf
        return brentq(lambda x: self.loss(x) - loss, -edge, edge, xtol=1e-14, rtol=1e-15)

    def between(self, low: float, high: float) -> tuple[float, float]:
        turned = self.pair == "add"
        ends = (-high, -low) if turned else (low, high)
        left, right = (math.inf if end == math.inf else -math.inf if end == -math.inf else self.point(end) for end in ends)
        one = mixed(left, right, self.rate, self.shift)
        other = mixed(left, right, self.rate if self.pair == "swap" else 0.0, -self.shift)
        return (other, one) if turned else (one, other)


CASES = [
    (0.2, 1.0, 0.1), (1.0, 0.5, 0.1), (0.01, 3.0, 0.25), (0.3, 8.0, 1.0), (0.2, 0.1, 0.01), (0.9, 0.02, 0.005),
    (1.0, 8.0, 2.0),
]  # fmt: skip


@pytest.mark.parametrize("pair", ["remove", "add", "swap"])
@pytest.mark.parametrize(("rate", "shift", "step"), CASES)
def test_a_row_on_a_grid_has_the_divergences_of_its_densities(pair: Any, rate: float, shift: float, step: float) -> None:
    """Both ways at every grid point: E[(1 - e^{ε-L})+], and E[(e^{ε-L} - 1)+], which shows the lower tail."""
    law = Law(pair, rate, shift)
    lower, masses, infinity = discretised(pair, rate, shift, step)
    losses = (lower + np.arange(len(masses))) * step
    first, last = losses[0], losses[-1]
    beyond, below = law.between(last, math.inf)[0], law.between(-math.inf, first)[0]
    assert infinity == pytest.approx(beyond, rel=1e-6, abs=1e-30 * len(masses))
    assert infinity >= beyond * (1 - 1e-9)
    assert masses.sum() + infinity == pytest.approx(1, rel=1e-13)
    if pair != "add":
        assert last - step < span(pair, rate, shift) <= last
    lost = np.where(masses > 0, 0.0, 1e-30)
    for at in range(1, len(losses)):
        here = losses[at]
        a, b = law.between(here, last)
        found, wanted = float(masses[at:] @ -np.expm1(here - losses[at:])), a - math.exp(here) * b
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-30 * len(masses)), here
        a, b = law.between(first, here)
        weights = np.expm1(here - losses[:at])
        found, wanted = float(masses[:at] @ weights), math.exp(here) * b - a + below * weights[0]
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-30 + float(lost[:at] @ weights)), here


@pytest.mark.parametrize(("rate", "shift", "step"), CASES)
def test_a_replaced_row_has_the_divergences_of_one_left_out_in_both_directions(
    rate: float, shift: float, step: float
) -> None:
    """The symmetric pair: what is at L > 0 is at -L under the other measure, and what is left is at 0."""
    law = Law("remove", rate, shift)
    lower, masses, infinity = discretised("replace", rate, shift, step)
    losses = (lower + np.arange(len(masses))) * step
    assert infinity == pytest.approx(law.between(losses[-1], math.inf)[0], rel=1e-6, abs=1e-30 * len(masses))
    assert masses.sum() + infinity == pytest.approx(1, rel=1e-13)
    for at, here in enumerate(losses):
        a, b = law.between(abs(here), losses[-1])
        if here >= 0:
            found, wanted = float(masses[at:] @ -np.expm1(here - losses[at:])), a - math.exp(here) * b
        else:
            found, wanted = float(masses[:at] @ np.expm1(here - losses[:at])), math.exp(here) * a - b
        lost = np.where(masses > 0, 0.0, 1e-30)[:at] @ np.expm1(np.maximum(here - losses[:at], 0.0)) if here < 0 else 0.0
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-30 * len(masses) + float(lost)), here


@pytest.mark.parametrize(("rate", "shift"), [(0.3, 50.0), (1.0, 40.0)])
@pytest.mark.parametrize("pair", ["remove", "replace", "swap"])
def test_where_the_other_density_underflows_the_loss_is_overstated_and_not_lost(
    pair: Any, rate: float, shift: float
) -> None:
    """Beyond 38 standard deviations a double knows nothing of the normal law; losses go up to 1,600 here."""
    step = 2.0
    law = Law("swap" if pair == "swap" else "remove", rate, shift)
    lower, masses, infinity = discretised(pair, rate, shift, step)
    losses = (lower + np.arange(len(masses))) * step
    assert masses.sum() + infinity == pytest.approx(1, rel=1e-13)
    assert 0 < infinity < 1e-20

    def delta_of(loss: float) -> float:
        point = law.point(loss)
        other = float(log_ndtr(-point))
        if pair == "swap":
            with np.errstate(divide="ignore"):
                other = float(np.logaddexp(np.log(1 - rate) + other, np.log(rate) + log_ndtr(-point - shift)))
        return law.between(loss, math.inf)[0] - math.exp(loss + other)

    for here in losses[(losses > step) & (losses < losses[-1] - 2 * step)]:
        found = infinity + float(np.where(losses > here, masses, 0.0) @ -np.expm1(-np.maximum(losses - here, 0.0)))
        assert delta_of(here) * (1 - 1e-9) <= found <= delta_of(here - step) * (1 + 1e-9) + 1e-30 * len(masses), here


def test_what_the_other_law_does_not_hold_goes_to_the_upper_end_and_no_mass_is_negative() -> None:
    first, second = np.array([1e-3, 0.25]), np.array([0.0, 0.25 * math.exp(-0.6)])
    np.testing.assert_allclose(_split(first, second, 5, 0.1), [0.0, 1e-3 + 0.25, 0.0], rtol=1e-12, atol=1e-15)


def test_a_part_without_noise_has_infinite_distance() -> None:
    assert Part("remove", 1.0, 1, 0.0).shift(3.0) == math.inf
    assert Part("remove", 1.0, 1, 4.0).shift(3.0) == 0.25
    assert Part("remove", 1.0, 1).shift(3.0) == 3.0


def densities(part: Part, mixed: float, line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shift = part.shift(mixed)
    none, up, down = (norm.pdf(line, mean) for mean in (0.0, shift, -shift))
    held = (1 - part.rate) * none + part.rate * up
    if part.pair == "swap":
        return held, (1 - part.rate) * none + part.rate * down
    return (none, held) if part.pair == "add" else (held, none)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Part("remove", 0.2, 1), Part("remove", 0.2, 1)),
        (Part("remove", 0.2, 1), Part("add", 0.3, 1)),
        (Part("add", 0.5, 1), Part("add", 0.1, 1)),
        (Part("swap", 0.3, 1), Part("swap", 0.1, 1)),
        (Part("remove", 1.0, 1, 2.0), Part("add", 0.1, 1)),
        (Part("remove", 1.0, 1, 1.5), Part("swap", 0.2, 1)),
    ],
)
@pytest.mark.parametrize("multiplier", [0.8, 3.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_the_epsilon_of_two_rows_is_that_of_the_integral(first: Part, second: Part, multiplier: float, delta: float) -> None:
    line = np.linspace(-9, 9, 1801)
    (a, b), (c, d) = (densities(part, 1 / multiplier, line) for part in (first, second))
    before, after = np.outer(a, c) * 1e-4, np.outer(b, d) * 1e-4
    found = composed_epsilon([first, second], multiplier, delta, 1e-3)
    for share, enough in ((1.0, True), (1 - 2e-3, False)):
        there = float(np.maximum(before - math.exp(found * share) * after, 0.0).sum())
        assert (there <= delta * (1 + 1e-5)) is (enough or found < 1e-3)
