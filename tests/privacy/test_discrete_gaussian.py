"""Exact privacy of discrete Gaussian noise: brute force in one and two dimensions, dp_accounting, the continuous limit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from dpsyn.errors import ParameterError
from dpsyn.privacy.discrete_gaussian import (
    Moved,
    _log_delta,
    continuous_delta,
    continuous_mu,
    discrete_delta,
    gaussian_scale,
)
from dpsyn.privacy.zcdp import zcdp_rho


def masses(sd: float, reach: int) -> tuple[np.ndarray, np.ndarray]:
    z = np.arange(-reach, reach + 1)
    mass = np.exp(-(z**2) / (2 * sd**2))
    return z, mass / mass.sum()


def by_enumeration(shifts: list[tuple[int, float]], epsilon: float) -> float:
    """Σ_y (P(y) - e^ε P(y - v))₊ over all outputs of one or two coordinates; shifts are pairs (v, standard deviation)."""
    joint, moved = np.ones(1), np.ones(1)
    for v, sd in shifts:
        reach = math.ceil(12 * sd) + abs(v)
        _, mass = masses(sd, reach)
        there = np.zeros_like(mass)
        there[v:] = mass[: len(mass) - v]
        joint, moved = np.outer(joint, mass).ravel(), np.outer(moved, there).ravel()
    return float(np.maximum(joint - math.exp(epsilon) * moved, 0).sum())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
@pytest.mark.parametrize(
    ("moved", "scale", "shifts"),
    [
        ([Moved(1)], 1.3, [(1, 1.3)]),
        ([Moved(1, 2)], 2.1, [(2, 2.1)]),
        ([Moved(2)], 1.7, [(1, 1.7), (1, 1.7)]),
        ([Moved(1), Moved(1, 1, 4)], 3.0, [(1, 3.0), (1, 1.5)]),
        ([Moved(1, 2, 2), Moved(1, 1, 3)], 4.0, [(2, 4.0 / math.sqrt(2)), (1, 4.0 / math.sqrt(3))]),
    ],
)
def test_against_all_outputs(moved, scale, shifts, epsilon):
    assert discrete_delta(moved, scale, epsilon) == pytest.approx(by_enumeration(shifts, epsilon), rel=1e-9, abs=1e-12)


def by_convolution(moved: list[Moved], scale: float, epsilon: float) -> float:
    """δ(ε) from the law of the loss, convolved number by number: sums of positive terms, so nothing cancels."""
    law = np.ones(1)
    for part in moved:
        sd, dilation = scale / math.sqrt(part.weight), 2 * part.weight * part.step
        _, mass = masses(sd, math.ceil(14 * sd))
        spread = np.zeros((len(mass) - 1) * dilation + 1)
        spread[::dilation] = mass
        for _ in range(part.count):
            law = np.convolve(law, spread)
    at = np.arange(len(law)) - (len(law) - 1) // 2
    loss = (sum(m.count * m.weight * m.step**2 for m in moved) - at) / (2 * scale**2)
    return float(law @ -np.expm1(np.minimum(epsilon - loss, 0.0)))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (1.0, 1e-10), (5.0, 1e-9)])
@pytest.mark.parametrize(
    "moved", [[Moved(6)], [Moved(8, 2)], [Moved(3), Moved(2, 1, 3), Moved(2, 1, 8)], [Moved(4, 1, 5), Moved(2, 2, 3)]]
)
def test_never_below_the_convolved_law_and_above_by_the_allowance_only(moved, epsilon, delta):
    scale, how = gaussian_scale(moved, epsilon, delta)
    assert how == "exact"
    for factor in (0.97, 1.0, 1.02):
        exact = by_convolution(moved, factor * scale, epsilon)
        assert exact <= discrete_delta(moved, factor * scale, epsilon) <= exact + 2e-13


def test_against_dp_accounting():
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_discrete_gaussian_mechanism(10.0, 1, value_discretization_interval=1e-4)
    for epsilon in (0.5, 1.0):
        pessimistic = one.self_compose(20).get_delta_for_epsilon(epsilon)
        exact = discrete_delta([Moved(20)], 10.0, epsilon)
        assert exact <= pessimistic
        assert exact == pytest.approx(pessimistic, rel=0.05)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (1.0, 1e-5), (10.0, 1e-5), (1.0, 1e-9)])
@pytest.mark.parametrize("moved", [[Moved(56)], [Moved(20, 2)], [Moved(6, 1, 1), Moved(10, 1, 3), Moved(4, 1, 8)]])
def test_scale_is_as_small_as_the_exact_profile_allows(moved, epsilon, delta):
    scale, how = gaussian_scale(moved, epsilon, delta)
    length = math.sqrt(sum(m.count * m.weight * m.step**2 for m in moved))
    assert how == "exact"
    assert discrete_delta(moved, scale, epsilon) <= delta
    assert discrete_delta(moved, 0.99 * scale, epsilon) > delta
    # The continuous noise of the same scale is as private to within rounding, and zCDP asks for more.
    assert continuous_delta(length / scale, epsilon) == pytest.approx(delta, rel=1e-2)
    assert 0.8 * length / math.sqrt(2 * zcdp_rho(epsilon, delta)) < scale < length / math.sqrt(2 * zcdp_rho(epsilon, delta))


@pytest.mark.parametrize(
    ("epsilon", "delta", "largest"),
    [
        (0.3, 1e-5, 0.0889834528738118),
        (0.5, 0.99, 5.319804345725882),
        (10, 1e-12, 1.3429807286510385),
        (100, 1e-300, 2.612341134489327),
        (1e4, 1e-5, 137.227719653342),
        (1e-7, 1e-300, 2.746275707259712e-09),
        (1e-10, 1e-300, 2.7606632505830734e-12),
        (1e-12, 1e-30, 1.2100142311834306e-13),
        (1e-20, 1e-25, 2.7631656598276332e-21),
        (1e-100, 0.1, 0.2513226937101481),
    ],
)
def test_mu_is_the_largest_that_is_allowed_and_from_below(epsilon, delta, largest):
    """Against bisection with 400 digits (mpmath 1.4)."""
    found = continuous_mu(epsilon, delta)
    assert largest * (1 - 1e-11) < found < largest
    assert delta * (1 - 1e-8) < continuous_delta(found, epsilon) <= delta


@pytest.mark.parametrize(
    ("mu", "epsilon", "exact"),
    [
        (17083.738440902096, 146443412.91100287, -461.10110236339483),
        (33.818177326186955, 403.0510688865351, -3.543815018173815e-07),
        (0.5783393398606723, 0.5825338856265565, -2.781836431928952),
        (0.006436973436619492, 0.0004836351763346216, -6.060185430040255),
    ],
)
def test_no_rounding_makes_delta_too_small(mu, epsilon, exact):
    """Logarithms with 420 digits (mpmath 1.4), where rounding comes out on the wrong side if nothing is added for it."""
    found = _log_delta(mu, epsilon)
    assert exact < found < exact + (1e-13 if mu < 100 else 1e-8)
    assert continuous_delta(100.0, 1.0) == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(1e50, 1e-5), (1e100, 0.5), (1e-100, 5e-324), (1e100, 5e-324)])
def test_mu_is_found_at_the_ends_of_what_may_be_asked_for(epsilon, delta):
    """Where neighbouring doubles of μ have δ of 0 and of 1, the bound μ²/2 < ε decides; δ is at most μ/√(2π)."""
    found = continuous_mu(epsilon, delta)
    assert found**2 / 2 < epsilon or found / math.sqrt(2 * math.pi) <= delta
    assert found > 0.99 * min(math.sqrt(2 * epsilon), epsilon / 40)


def test_leaving_coordinates_out_is_never_worse():
    deltas = [discrete_delta([Moved(count)], 5.0, 1.0) for count in (1, 2, 5, 10, 30)]
    assert deltas == sorted(deltas)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-14), (5_000.0, 1e-5)])
def test_out_of_reach_means_zcdp(epsilon, delta):
    scale, how = gaussian_scale([Moved(10)], epsilon, delta)
    assert how == "zcdp"
    assert scale == pytest.approx(math.sqrt(10 / (2 * zcdp_rho(epsilon, delta))))


def test_nothing_moved_and_no_delta_are_refused():
    with pytest.raises(ParameterError, match="moves"):
        gaussian_scale([Moved(0)], 1.0, 1e-5)
    for delta in (0.0, 1.0, 1.2):
        with pytest.raises(ParameterError, match=r"^delta = .* Gaussian noise gives no pure"):
            gaussian_scale([Moved(1)], 1.0, delta)
    assert gaussian_scale([Moved(1), Moved(5, step=0)], 1.0, 1e-5)[0] == gaussian_scale([Moved(1)], 1.0, 1e-5)[0]


def test_the_allowance_is_there_where_nothing_else_is():
    assert discrete_delta([Moved(1)], 5.0, 1000.0) == 1e-13
    # Twice on a lattice so long that the answer is out of reach, and on noise too narrow for one.
    assert discrete_delta([Moved(1)], 1e6, 1.0) == discrete_delta([Moved(1)], 2e5, 1.0) == 1.0
    assert discrete_delta([Moved(1), Moved(1, 1, 4)], 1.49, 1.0) == 1.0
    assert discrete_delta([Moved(1), Moved(1, 1, 4)], 1.5, 1.0) < 0.5


def test_what_does_not_move_costs_nothing():
    assert discrete_delta([Moved(0)], 5.0, 1.0) == 1e-13
    assert continuous_delta(0.0, 1.0) == continuous_delta(-1.0, 1.0) == 0.0


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 1.0), (1.0, 0.2), (4.0, 3.0)])
def test_the_continuous_profile_by_its_formula(mu, epsilon):
    wanted = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    assert continuous_delta(mu, epsilon) == pytest.approx(wanted, rel=1e-9)


def test_the_continuous_profile_is_never_below_nothing() -> None:
    """Where both probabilities are equal but for rounding their difference is nothing, and it is no number by itself."""
    for mu in np.geomspace(1e-17, 1e-8, 37).tolist():
        assert all(continuous_delta(mu, far * mu) >= 0 for far in (0.3, 1.0, 1.4, 3.0, 6.0, 1e4, 1e8, 1e12))


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("moved", [[Moved(3)], [Moved(1), Moved(2, 1, 4)], [Moved(1, 3), Moved(1, 1, 2)]])
def test_the_law_of_noise_that_is_as_narrow_as_the_lattice_allows(moved: list[Moved], epsilon: float) -> None:
    """At 0.75 a Gaussian's transform still has all its copies: each of them shows in δ."""
    scale = 0.75 * math.sqrt(max(part.weight for part in moved))
    exact = by_convolution(moved, scale, epsilon)
    assert exact + 5e-14 < discrete_delta(moved, scale, epsilon) < exact + 2e-13


ONE = [Moved(1)]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [(field, wrong) for field in ("count", "step", "weight") for wrong in (-1, 1.5, "a", math.nan, True)] + [("weight", 0)],
)
def test_what_moves_is_counted(field: str, wrong: Any) -> None:
    with pytest.raises(ParameterError, match=f"^{field} = "):
        Moved(**{"count": 1, field: wrong})


@pytest.mark.parametrize(
    ("field", "moved", "scale", "epsilon", "delta"),
    [
        *(("moved", wrong, 3.0, 1.0, 1e-5) for wrong in (None, 2, Moved(2), [2], ["a"])),
        *(("scale", ONE, wrong, 1.0, None) for wrong in (0, -3.0, math.nan, math.inf, None, "3", 10**400)),
        *(("epsilon", ONE, 3.0, wrong, 1e-5) for wrong in (-1.0, math.nan, math.inf, None, "1", 10**400)),
        *(("delta", ONE, None, 1.0, wrong) for wrong in (0.0, 1.0, math.nan, None, "1", [])),
    ],
)
def test_what_noise_costs_is_asked_in_numbers(field: str, moved: Any, scale: Any, epsilon: Any, delta: Any) -> None:
    calls = [lambda: discrete_delta(moved, scale, epsilon)] * (field != "delta")
    calls += [lambda: gaussian_scale(moved, epsilon, delta)] * (field != "scale")
    for call in calls:
        with pytest.raises(ParameterError, match=f"^{field} = "):
            call()


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e-101, 1e101, 1e200, 1.7e308, 10**300])
def test_a_scale_of_any_size_is_out_of_reach_of_a_lattice(scale: float) -> None:
    assert discrete_delta([Moved(2**53, 2**53, 2**53)], scale, 1.0) == discrete_delta(ONE, scale, 1.0) == 1.0
    assert discrete_delta([], scale, 1.0) == 1e-13


def test_no_epsilon_at_all_and_the_largest_have_a_scale() -> None:
    assert gaussian_scale(ONE, 0, 1e-5)[0] > gaussian_scale(ONE, 1e-100, 1e-5)[0] * (1 - 1e-6) > 0
    assert 0 < gaussian_scale(ONE, 1e100, 1e-5)[0] < 1e-49
    with pytest.raises(ParameterError, match=r"^epsilon = "):
        gaussian_scale(ONE, 1.1e100, 1e-5)
