"""zCDP to (ε, δ): against dp_accounting's Rényi accountant and against the exact Gaussian trade-off."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpsyn.errors import ParameterError
from dpsyn.privacy.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-9), (10.0, 1e-5), (30.0, 1e-3)])
def test_agrees_with_the_renyi_accountant(epsilon, delta):
    from dp_accounting import GaussianDpEvent
    from dp_accounting.rdp import RdpAccountant

    rho = zcdp_rho(epsilon, delta)
    orders = [1 + 10 ** (i / 200) for i in range(-800, 700)]
    accountant = RdpAccountant(orders).compose(GaussianDpEvent(math.sqrt(1 / (2 * rho))))
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=2e-3)
    assert zcdp_delta(rho, epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (3.0, 1e-5), (10.0, 1e-7)])
def test_never_claims_more_than_the_exact_gaussian_allows(epsilon, delta):
    """ρ-zCDP noise on sensitivity 1: the exact δ of Balle and Wang (2018) is below ours, and not by decades."""
    rho = zcdp_rho(epsilon, delta)
    mu = math.sqrt(2 * rho)

    def exact(e: float) -> float:
        return stats.norm.cdf(mu / 2 - e / mu) - math.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)

    assert exact(epsilon) <= delta
    true_epsilon = optimize.brentq(lambda e: exact(e) - delta, 0, epsilon)
    assert true_epsilon > 0.75 * epsilon


@pytest.mark.parametrize("rho", [1e-9, 1e-4, 0.02, 0.5, 500.0, 1e6])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.3])
def test_the_epsilon_of_a_rho_is_enough_and_no_less_is(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert zcdp_delta(rho, max(epsilon, 1e-9)) <= delta
    if epsilon:
        assert zcdp_delta(rho, epsilon * (1 - 1e-9)) > delta
        assert zcdp_rho(epsilon, delta) == pytest.approx(rho, rel=1e-8)


def test_monotone():
    assert zcdp_rho(1.0, 1e-5) < zcdp_rho(2.0, 1e-5) < zcdp_rho(2.0, 1e-3)
    assert zcdp_delta(0.1, 1.0) < zcdp_delta(0.2, 1.0)
    assert zcdp_delta(0.0, 1.0) == 0.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5])
def test_needs_a_delta(delta):
    with pytest.raises(ParameterError, match="delta"):
        zcdp_rho(1.0, delta)


@pytest.mark.parametrize(("rho", "epsilon"), [(1e-30, 1e-20), (1e-30, 4.9e-14), (0.02, 0.7), (3.0, 8.0), (0.5, 1e-6)])
def test_the_best_order_is_found_wherever_it_lies(rho, epsilon):
    """Against orders on a fine grid of ln(α - 1)."""
    excess = np.exp(np.arange(-20.0, 45.0, 1e-3))
    alpha = 1 + excess
    best = (excess * (alpha * rho - epsilon) - np.log(excess) + alpha * np.log1p(-1 / alpha)).min()
    assert zcdp_delta(rho, epsilon) == pytest.approx(math.exp(best), rel=1e-5)


def test_no_delta_is_above_one():
    for rho, epsilon in ((100.0, 0.1), (1e6, 0.1), (1e6, 3.0)):
        assert zcdp_delta(rho, epsilon) == 1.0


@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-40, 1e-5, 0.3])
@pytest.mark.parametrize("epsilon", [1e-14, 1e-9, 1e-3, 1.0, 30.0, 99.0, 101.0, 1e4, 1e8])
def test_rho_is_the_largest_that_is_enough_however_small_or_large(epsilon, delta):
    """Between the plain conversion ρ + 2√(ρ·ln(1/δ)) ≤ ε, which wastes something, and what exceeds δ."""
    rho, log = zcdp_rho(epsilon, delta), -math.log(delta)
    assert rho >= (epsilon / (math.sqrt(epsilon + log) + math.sqrt(log))) ** 2 * (1 - 1e-9)
    assert zcdp_delta(rho, epsilon) <= delta < zcdp_delta(rho * 1.001, epsilon)
