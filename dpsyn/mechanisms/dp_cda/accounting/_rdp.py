"""DP-CDA by Rényi differential privacy, through ``dp_accounting``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.privacy.mixing.pairs import Change, MixedClass, Part, Variant, dominating

Floats = npt.NDArray[np.float64]

ORDERS = ((*range(2, 9), 10, 12), (14, 16, 20, 24, 28, 32), (40, 48, 64), (96, 128), (192, 256))
"""Rényi orders, tried group by group for as long as a later one may be better. Fewer orders only loosen the bound."""

_SMALLEST_MULTIPLIER = 1e-3
_LARGEST_MULTIPLIER = 1e6
"""Beyond it ``dp_accounting`` takes the logarithm of 0; the bound at less noise is taken, which holds for more noise too."""
_RELATIVE, _ABSOLUTE = 1e-9, 1e-13
"""More than rounding takes off the divergence of a row (compared with sums in long decimals): added to it."""


def rdp_limit(delta: float) -> float:
    """What ε stays above however large σ is, and comes as close to as one likes: no loss, converted at the largest order."""
    return max(0.0, float(_conversion(np.array([ORDERS[-1][-1]], dtype=np.float64), delta)[0]))


def rdp_epsilon(
    classes: Sequence[MixedClass], change: Change, variant: Variant, order_of_mixture: int, multiplier: float, delta: float
) -> float:
    """The largest ε at δ over the compositions that dominate a change of one record.

    Raises:
        ParameterError: records drawn by Poisson sampling and replaced: no Rényi bound for that pair is at hand.
    """
    if variant == "poisson" and change in ("replace_one", "replace_same_class"):
        raise ParameterError(
            "accountant", "rdp", "'exact' for Poisson mixing under replacement; 'rdp' covers 'add_remove' and 'label_change'"
        )
    if multiplier < _SMALLEST_MULTIPLIER:
        return math.inf
    return max(
        _composed(tuple(parts), order_of_mixture, multiplier, delta) for parts in dominating(classes, change, variant)
    )


@lru_cache(maxsize=1024)
def _composed(parts: tuple[Part, ...], order_of_mixture: int, multiplier: float, delta: float) -> float:
    """ε of rows that a removed or added record (Poisson sampling has the same pair) or a replaced one takes part in."""
    best = math.inf
    least = float(_conversion(np.array([order for group in ORDERS for order in group], dtype=np.float64), delta).min())
    for group in ORDERS:
        orders = np.array(group, dtype=np.float64)
        divergences = sum(
            part.rows * _of_a_row(part.pair == "replace", part.rate, order_of_mixture, multiplier, group) for part in parts
        )
        found = divergences + _conversion(orders, delta)
        best = min(best, float(found.min()))
        # Divergences grow with the order.
        if float(np.asarray(divergences)[-1]) + least >= best:
            break
    return max(0.0, best)


@lru_cache(maxsize=4096)
def _of_a_row(replaced: bool, rate: float, order_of_mixture: int, multiplier: float, group: tuple[int, ...]) -> Floats:
    """Rényi divergence of one row at every order: the smaller of ``dp_accounting``'s and the Gaussian's without sampling.

    The latter, α/(2z²), bounds it because divergences are quasi-convex. It is what remains where z is so large, or the
    sampling rate and the order, that the finite differences of the former consist of rounding.
    """
    from dp_accounting import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    orders = np.array(group, dtype=np.float64)
    relation = NeighboringRelation.REPLACE_ONE if replaced else NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = RdpAccountant(orders, relation)
    accountant.compose(_event(replaced, rate, order_of_mixture, min(multiplier, _LARGEST_MULTIPLIER)))
    sampled = np.maximum(accountant.rdp, 0.0) * (1 + _RELATIVE) + _ABSOLUTE
    whole: Floats = np.minimum(sampled, orders / (2 * multiplier**2))
    return whole


def _conversion(orders: Floats, delta: float) -> Floats:
    """What turns the divergence at each order into ε at δ (Canonne, Kamath, Steinke 2020, Proposition 12)."""
    converted: Floats = np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    return converted


def _event(replaced: bool, rate: float, order_of_mixture: int, multiplier: float) -> Any:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent

    gaussian = GaussianDpEvent(multiplier)
    if replaced:
        return SampledWithoutReplacementDpEvent(round(order_of_mixture / rate), order_of_mixture, gaussian)
    return PoissonSampledDpEvent(rate, gaussian)
