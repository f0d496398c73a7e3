"""DP-CDA by Rényi differential privacy, through ``dp_accounting``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dpsyn.errors import ParameterError
from dpsyn.privacy._loss_pairs import Part
from dpsyn.privacy._mixed_classes import Change, MixedClass, Variant, dominating

ORDERS = ((*range(2, 9), 10, 12), (14, 16, 20, 24, 28, 32), (40, 48, 64), (96, 128), (192, 256))
"""Rényi orders, tried group by group for as long as the last of a group is its best. Fewer orders only loosen the bound."""

_SMALLEST_MULTIPLIER = 1e-3


def rdp_limit(delta: float) -> float:
    """What ε stays above however large σ is: the conversion at the largest order, for no loss at all."""
    alpha = float(ORDERS[-1][-1])
    return max(0.0, (math.log(1 / delta) - math.log(alpha)) / (alpha - 1) + math.log1p(-1 / alpha))


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
    from dp_accounting import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    replaced = parts[0].pair == "replace"
    relation = NeighboringRelation.REPLACE_ONE if replaced else NeighboringRelation.ADD_OR_REMOVE_ONE
    best = math.inf
    for orders in ORDERS:
        accountant: Any = RdpAccountant(orders, relation)
        for part in parts:
            accountant.compose(_event(part, order_of_mixture, multiplier), part.rows)
        found, order = accountant.get_epsilon_and_optimal_order(delta)
        best = min(best, float(found))
        if order != orders[-1]:
            break
    return best


def _event(part: Part, order_of_mixture: int, multiplier: float) -> Any:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent

    gaussian = GaussianDpEvent(multiplier)
    if part.pair == "replace":
        return SampledWithoutReplacementDpEvent(round(order_of_mixture / part.rate), order_of_mixture, gaussian)
    return PoissonSampledDpEvent(part.rate, gaussian)
