"""Concentrated differential privacy and its exact-in-α conversion to (ε, δ)."""

from __future__ import annotations

import math
from functools import lru_cache

from dpsyn.errors import ParameterError

_NEGLIGIBLE = 1e-9
"""An ε that costs nothing."""


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Smallest δ for which every ρ-zCDP mechanism is known to be (ε, δ)-DP.

    δ = inf_{α > 1} exp((α-1)(αρ - ε)) / (α-1) · (1 - 1/α)^α (Canonne, Kamath, Steinke 2020, Proposition 12). The
    infimum is searched by golden section in ln(α-1); any α gives a valid δ, so an imprecise search only costs accuracy.
    """
    if rho <= 0:
        return 0.0

    def log_delta(t: float) -> float:
        excess = math.exp(t)
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon) - t + alpha * math.log1p(-1 / alpha)

    # The minimum lies near 1/√(2ρ) or ε/(2ρ), whichever is larger, where these are large.
    low, high = -20.0, max(20.0, min(300.0, max(-math.log(rho) / 2, math.log(max(epsilon, 1e-300)) - math.log(rho))))
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if log_delta(a) < log_delta(b):
            high = b
        else:
            low = a
    return math.exp(min(0.0, log_delta((low + high) / 2)))


@lru_cache(maxsize=4096)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest ρ, to the last bit and from below, for which ρ-zCDP implies (ε, δ)-DP.

    Raises:
        ParameterError: δ = 0; no ρ > 0 gives pure differential privacy.
    """
    if not 0 < delta < 1:
        raise ParameterError("delta", delta, "0 < delta < 1: Gaussian noise gives no pure differential privacy")
    low, high = 0.0, 1.0
    while zcdp_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if zcdp_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=4096)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest ε, to ten digits and from above, for which ρ-zCDP implies (ε, δ)-DP; 0 where it does so at every ε > 0."""
    if zcdp_delta(rho, _NEGLIGIBLE) <= delta:
        return 0.0
    low, high = _NEGLIGIBLE, 1.0
    while zcdp_delta(rho, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_delta(rho, middle) > delta else (low, middle)
    return high
