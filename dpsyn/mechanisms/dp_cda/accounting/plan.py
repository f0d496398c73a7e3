"""Which order of mixture to take, from public quantities alone: the noise that each needs, and the signal that is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_noise_scale
from dpsyn.privacy.mixing.pairs import Change, Variant, mixed_classes

PLAN_TOLERANCE = 1e-2
"""Relative excess of σ in a plan. A release is calibrated more finely."""


@dataclass(frozen=True)
class PlannedOrder:
    """One order of mixture.

    Attributes:
        order_of_mixture: l.
        noise_scale: σ that (ε, δ) needs.
        signal_to_noise: variance of the averages over that of the noise (:func:`plan_order_of_mixture`).
    """

    order_of_mixture: int
    noise_scale: float
    signal_to_noise: float


@dataclass(frozen=True)
class OrderPlan:
    """Orders in ascending order, and the one with the largest signal-to-noise ratio."""

    orders: tuple[PlannedOrder, ...]

    @property
    def best(self) -> PlannedOrder:
        """The largest signal-to-noise ratio; of equals the smallest order."""
        return max(self.orders, key=lambda planned: (planned.signal_to_noise, -planned.order_of_mixture))


def plan_order_of_mixture(
    epsilon: float,
    delta: float,
    clip: float,
    class_counts: int | Sequence[int],
    rows_per_class: int | Sequence[int],
    *,
    dimension: int = 1,
    neighbouring: Change = "replace_one",
    variant: Variant = "fixed_size",
    orders: Iterable[int] | None = None,
    tolerance: float = PLAN_TOLERANCE,
) -> OrderPlan:
    """σ and the expected signal-to-noise ratio for several l. Reads no record, so l may be chosen by it at no cost.

    Let s² be the mean square distance of the records of a class of N from their mean. Averages of l drawn without
    replacement scatter around that mean with E‖·‖² = (s²/l)·(N - l)/(N - 1), Poisson sums over l with E‖·‖² =
    (m²/l)·(1 - l/N), m² being the mean square norm. The noise has E‖·‖² = d·σ(l)². Their ratio says how much of what tells
    the rows of a class apart comes from records. s² and m² are private; both are at most c², which is put in their
    place: true ratios are smaller by a factor s²/c² that is the same for every l, so the best l is not affected.

    For small l, σ falls like 1/l and the ratio grows with l; later σ levels off while averages keep shrinking, and it falls.
    If only the class means matter, every larger l is better.

    Args:
        epsilon: ε of the averages.
        delta: δ of the averages.
        clip: c.
        class_counts: as in :func:`dp_cda_noise_scale`; the smallest class sets N.
        rows_per_class: as there.
        dimension: d, number of coordinates.
        neighbouring: as there.
        variant: as there.
        orders: which l; None takes the powers of two up to the smallest class, and finer steps around the best of them.
        tolerance: relative excess of σ.

    Raises:
        ParameterError: an argument is out of range.
        CalibrationError: no noise reaches the target.
    """
    dimension = checks.whole("dimension", dimension)
    smallest = round(1 / max(c.lost for c in mixed_classes(1, class_counts, rows_per_class, variant)))

    def planned(order: int) -> PlannedOrder:
        sigma = dp_cda_noise_scale(
            epsilon,
            delta,
            order,
            clip,
            class_counts,
            rows_per_class,
            neighbouring=neighbouring,
            variant=variant,
            tolerance=tolerance,
        )
        left = 1 - order / smallest if variant == "poisson" else (smallest - order) / max(smallest - 1, 1)
        return PlannedOrder(order, sigma, clip**2 / order * left / (dimension * sigma**2))

    if orders is not None:
        why = f"the smallest class holds {smallest}"
        wanted = sorted({checks.whole("orders", order, 1, smallest, why) for order in checks.items("orders", orders, why)})
        if not wanted:
            raise ParameterError("orders", (), "at least one")
        return OrderPlan(tuple(planned(order) for order in wanted))
    found = {order: planned(order) for order in (2**j for j in range(int(math.log2(smallest)) + 1))}
    middle = OrderPlan(tuple(found.values())).best.order_of_mixture
    for quarter in (-3, -2, -1, 1, 2, 3):
        order = min(max(round(middle * 2 ** (quarter / 4)), 1), smallest)
        if order not in found:
            found[order] = planned(order)
    return OrderPlan(tuple(found[order] for order in sorted(found)))
