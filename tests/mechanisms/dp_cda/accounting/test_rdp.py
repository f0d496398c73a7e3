"""Rényi accounting of DP-CDA where numbers are extreme: no ε too small, and none that grows with the noise."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest

from dpsyn.errors import CalibrationError
from dpsyn.mechanisms.dp_cda.accounting._rdp import ORDERS, _of_a_row, rdp_epsilon, rdp_limit
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon, dp_cda_noise_scale
from dpsyn.privacy.mixing.pairs import mixed_classes

TINY = 1e-12


def wang(rate: float, multiplier: float, order: int) -> float:
    """Theorem 27 of Wang, Balle, Kasiviswanathan 2019 for Gaussians, in decimals of 400 digits."""
    with localcontext() as context:
        context.prec = 400
        p, unit = Decimal(rate), 1 / (2 * Decimal(multiplier) ** 2)

        def moment(j: int) -> Decimal:
            return sum(((-1) ** i * math.comb(j, i) * (i * (i - 1) * unit).exp() for i in range(j + 1)), Decimal(0))

        total = 1 + p**2 * math.comb(order, 2) * min(4 * ((2 * unit).exp() - 1), 2 * (2 * unit).exp())
        for j in range(3, order + 1):
            product = 4 * (moment(2 * (j // 2)) * moment(2 * math.ceil(j / 2))).sqrt()
            total += p**j * math.comb(order, j) * min(product, 2 * (j * (j - 1) * unit).exp())
        return float(total.ln()) / (order - 1)


@pytest.mark.parametrize("rate", [0.5, 0.02, 1e-4])
@pytest.mark.parametrize("multiplier", [0.5, 10.0, 1e3, 1e5])
def test_a_row_diverges_by_no_less_than_the_theorem_says_and_no_more_than_without_sampling(rate, multiplier):
    orders, size = (2, 3, 5, 12, 24), round(1 / rate)
    found = _of_a_row(True, 1 / size, 1, multiplier, orders)
    for order, divergence in zip(orders, found, strict=True):
        unsampled = order / (2 * multiplier**2)
        true = min(wang(1 / size, multiplier, order), unsampled)
        assert true <= divergence <= unsampled
        assert divergence <= true * (1 + 1e-3) + 1e-12


@pytest.mark.parametrize(("size", "rows", "order"), [(2, 1, 1), (100, 10, 50), (6000, 6000, 4), (60_000, 10**6, 512)])
@pytest.mark.parametrize("change", ["replace_one", "add_remove"])
def test_epsilon_falls_with_the_noise_towards_the_limit_and_never_to_it(size, rows, order, change):
    classes = mixed_classes(order, [size] * 2, [rows] * 2, "fixed_size")
    for delta in (1e-5, TINY):
        found = [rdp_epsilon(classes, change, "fixed_size", order, 10.0**k, delta) for k in (1, 3, 7, 15)]
        assert found == sorted(found, reverse=True)
        assert found[-1] >= rdp_limit(delta)
        assert found[-1] == pytest.approx(rdp_limit(delta), rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "order", "size", "rows"),
    [(0.3, 50, 100, 10), (0.1, 1, 2, 1), (0.084, 8, 8, 10**12)],
)
def test_noise_for_a_tiny_delta_is_found(epsilon, order, size, rows):
    arguments = (TINY, order, 1.0, [size] * 2, [rows] * 2, "rdp")
    sigma = dp_cda_noise_scale(epsilon, *arguments)
    assert dp_cda_epsilon(sigma, *arguments) <= epsilon < dp_cda_epsilon(0.99 * sigma, *arguments)


@pytest.mark.parametrize("delta", [1e-5, TINY, 1e-300])
def test_a_refusal_names_an_epsilon_that_works(delta):
    with pytest.raises(CalibrationError, match="can be reached") as caught:
        dp_cda_noise_scale(0.99 * rdp_limit(delta), delta, 50, 1.0, [100] * 2, [10] * 2, "rdp")
    possible = float(str(caught.value).split("epsilon = ")[-1].split()[0])
    assert dp_cda_noise_scale(possible, delta, 50, 1.0, [100] * 2, [10] * 2, "rdp") > 0


def test_the_orders_ascend():
    every = [order for group in ORDERS for order in group]
    assert every == sorted(set(every))
