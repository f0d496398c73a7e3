"""ε of one kind of change to DP-CDA's records, with the sizes before the change by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dpsyn.mechanisms.dp_cda.accounting.functions import dp_cda_epsilon
from dpsyn.privacy.mixing.exact import noise_multiplier
from dpsyn.privacy.mixing.pairs import Change, Variant
from dpsyn.privacy.mixing.pld import Part, composed_epsilon

TOLERANCE = 1e-3


def _of_one_class(
    neighbouring: Change,
    *,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    class_size: int,
    rows: int,
    delta: float,
    tolerance: float = TOLERANCE,
) -> float:
    sizes = (order_of_mixture, clip_norm, [class_size], [rows])
    return dp_cda_epsilon(sigma, delta, *sizes, neighbouring=neighbouring, tolerance=tolerance)


add_remove_epsilon = partial(_of_one_class, "add_remove")
"""The larger of (A_p, Q)^T and (Q, A_p)^T, p = l/N for the larger N."""
replace_same_class_epsilon = partial(_of_one_class, "replace_same_class")
"""The symmetric pair, T_k times."""


def label_change_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    class_size_from: int,
    class_size_to: int,
    rows_from: int,
    rows_to: int,
    delta: float,
    tolerance: float = TOLERANCE,
) -> float:
    """remove(l/N_a)^{T_a} × add(l/(N_b+1))^{T_b}, and add(l/N_a)^{T_a} × remove(l/(N_b+1))^{T_b}, for one direction only."""
    multiplier = noise_multiplier(order_of_mixture=order_of_mixture, sigma=sigma, clip_norm=clip_norm)
    left, entered = order_of_mixture / class_size_from, order_of_mixture / (class_size_to + 1)
    return max(
        composed_epsilon([Part(a, left, rows_from), Part(b, entered, rows_to)], multiplier, delta, tolerance)
        for a, b in (("remove", "add"), ("add", "remove"))
    )


def replace_one_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    class_sizes: Sequence[int],
    rows: int | Sequence[int],
    delta: float,
    tolerance: float = TOLERANCE,
    variant: Variant = "fixed_size",
) -> float:
    """Any record becomes any other, label included."""
    return dp_cda_epsilon(
        sigma, delta, order_of_mixture, clip_norm, list(class_sizes), rows, variant=variant, tolerance=tolerance
    )
