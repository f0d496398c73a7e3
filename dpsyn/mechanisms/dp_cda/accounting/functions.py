"""DP-CDA's privacy as plain functions: ε of a noise scale, and the noise scale that an ε allows.

Three accountants, of which only the last two prove anything:

* ``"published"``: Theorem 1 of Saha, Tonoy, Imtiaz 2024 as printed. It is wrong (docs/errata.md); it is defined at the Rényi
  orders 3 and 4 only, so that it never falls below ln(1/δ)/3; it takes l/N for the sampling rate and noise σ on one-hot
  labels.
* ``"rdp"``: Rényi accounting by ``dp_accounting``: Wang, Balle, Kasiviswanathan 2019 for a record replaced inside its class,
  the subsampled Gaussian of Mironov, Talwar, Zhang 2019 for a record that leaves one class and enters another.
* ``"exact"``: privacy-loss distributions (:mod:`exact`). This one certifies releases.

All assume that records are scaled without looking at the data, and that the list of classes and T_k are public.
``class_counts`` may be public lower bounds: no ε here grows when a class does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dpsyn import checks
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.dp_cda.accounting._rdp import rdp_epsilon, rdp_limit
from dpsyn.mechanisms.dp_cda.counterexamples import published_epsilon, published_sigma
from dpsyn.privacy.mixing import exact as mixing
from dpsyn.privacy.mixing.pairs import CHANGES, VARIANTS, Change, Variant, check_clip_norm, dominating, mixed_classes
from dpsyn.privacy.mixing.pld import smallest_multiplier
from dpsyn.privacy.spec import rounded_down, rounded_up

Accountant = Literal["published", "rdp", "exact"]
ACCOUNTANTS: tuple[Accountant, ...] = ("published", "rdp", "exact")

_CLASSES_OF_ONE_NUMBER = 2
"""How many classes one number for counts and rows stands for at least."""


def dp_cda_epsilon(
    noise_scale: float,
    delta: float,
    order_of_mixture: int,
    clip: float,
    class_counts: int | Sequence[int],
    rows_per_class: int | Sequence[int],
    accountant: Accountant = "exact",
    neighbouring: Change = "replace_one",
    *,
    variant: Variant = "fixed_size",
    tolerance: float = mixing.TOLERANCE,
) -> float:
    """ε at δ of DP-CDA's rows. Never too small (but for ``"published"``), and too large by about ``tolerance``
    (``"exact"``: at most 2.1 times it where measured, 3.1 times where it is 0.1; more where ε is small and δ below 1e-9 or
    so, because of the rounding of Fourier transforms).

    Args:
        noise_scale: σ, standard deviation of the noise in each coordinate, in units of the scaled records; ≥ 0.
        delta: privacy δ, in (0, 1).
        order_of_mixture: l, records per average.
        clip: c, largest Euclidean norm of a scaled record.
        class_counts: N_k of each class, or one number that every class has at least. The sampling rate is l/N_k.
        rows_per_class: T_k of each class, or one number for all; a class with T_k = 0 costs nothing and may be of any size.
            One number for both counts and rows stands for two classes or more: give ``[N]`` for a table without classes.
            The published formula takes sums over the classes, and of one number for both those of two classes.
        accountant: see the module's docstring.
        neighbouring: ``"replace_one"``: any record becomes any other, label included. ``"add_remove"``: one record more or
            fewer. ``"replace_same_class"`` and ``"label_change"`` are the two parts of the first.
        variant: ``"fixed_size"`` draws l records without replacement, an exchange moves an average by 2c/l. ``"poisson"``
            takes each record with probability l/N_k and divides the sum by l: one record moves it by c/l, and
            ``class_counts`` only sets the probability, whatever the true counts are.
        tolerance: relative excess at which refining the discretisation stops, judged by what the last step gained; from
            1e-6 to 0.5, larger is faster.

    Raises:
        ParameterError: an argument is out of range, or the accountant does not cover the case; the message says what does.
    """
    classes = mixed_classes(order_of_mixture, class_counts, rows_per_class, variant)
    noise_scale, tolerance = checks.number("noise_scale", noise_scale, 0.0), checks.number("tolerance", tolerance, 1e-6, 0.5)
    accountant, neighbouring, variant = _plain(accountant, neighbouring, variant)
    delta, clip, order_of_mixture = mixing.checked_delta(delta), check_clip_norm("clip", clip), int(order_of_mixture)
    multiplier = mixing.noise_multiplier(
        order_of_mixture=order_of_mixture, sigma=noise_scale, clip_norm=clip, variant=variant
    )
    if accountant == "published":
        n, rows = _published_totals(class_counts, rows_per_class, neighbouring, variant)
        return published_epsilon(
            order_of_mixture=order_of_mixture, sigma=noise_scale, n=n, delta=delta, rows=rows, clip_norm=clip
        )
    if accountant == "rdp":
        return rdp_epsilon(classes, neighbouring, variant, order_of_mixture, multiplier, delta)
    return mixing.change_epsilon(neighbouring, classes, multiplier, delta, variant=variant, tolerance=tolerance)


def dp_cda_noise_scale(
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    clip: float,
    class_counts: int | Sequence[int],
    rows_per_class: int | Sequence[int],
    accountant: Accountant = "exact",
    neighbouring: Change = "replace_one",
    *,
    variant: Variant = "fixed_size",
    tolerance: float = mixing.TOLERANCE,
) -> float:
    """The smallest σ whose ε is at most ``epsilon``, up to a relative ``tolerance`` and rounded up: the inverse of
    :func:`dp_cda_epsilon`, with its arguments.

    Raises:
        ParameterError: as there.
        CalibrationError: no σ reaches the target by this accountant; the message names an ε that can be reached.
    """
    classes = mixed_classes(order_of_mixture, class_counts, rows_per_class, variant)
    epsilon, tolerance = checks.number("epsilon", epsilon, above=0.0), checks.number("tolerance", tolerance, 1e-6, 0.5)
    accountant, neighbouring, variant = _plain(accountant, neighbouring, variant)
    delta, clip, order_of_mixture = mixing.checked_delta(delta), check_clip_norm("clip", clip), int(order_of_mixture)
    if accountant == "exact":
        return mixing.calibrate_sigma(
            epsilon=epsilon,
            delta=delta,
            order_of_mixture=order_of_mixture,
            clip_norm=clip,
            class_sizes=class_counts,
            rows=rows_per_class,
            neighbouring=neighbouring,
            tolerance=tolerance,
            variant=variant,
        )
    unit = (
        clip
        / order_of_mixture
        / mixing.noise_multiplier(
            order_of_mixture=order_of_mixture, sigma=clip / order_of_mixture, clip_norm=clip, variant=variant
        )
    )
    if accountant == "published":
        n, rows = _published_totals(class_counts, rows_per_class, neighbouring, variant)
        return published_sigma(
            epsilon=epsilon, order_of_mixture=order_of_mixture, n=n, delta=delta, rows=rows, clip_norm=clip
        )
    limit = rdp_limit(delta)
    if epsilon <= limit:
        raise CalibrationError(
            f"the Rényi accountant cannot reach epsilon = {epsilon:g} at delta = {delta:g}: it stays above "
            f"{rounded_down(limit, 3)}. epsilon = {rounded_up(1.1 * limit, 3)} can be reached, and the exact accountant has "
            "no such limit"
        )

    def epsilon_of(multiplier: float) -> float:
        return rdp_epsilon(classes, neighbouring, variant, order_of_mixture, multiplier, delta)

    guess = max(mixing.likely_multiplier(parts, epsilon, delta) for parts in dominating(classes, neighbouring, variant))
    # The last factor covers the way back from σ to the multiplier.
    return unit * smallest_multiplier(epsilon_of, epsilon, guess, max(tolerance, 1e-4)) * (1 + 1e-12)


def _plain(accountant: Accountant, neighbouring: Change, variant: Variant) -> tuple[Accountant, Change, Variant]:
    return (
        checks.choice("accountant", accountant, ACCOUNTANTS),
        checks.choice("neighbouring", neighbouring, CHANGES),
        checks.choice("variant", variant, VARIANTS),
    )


def _published_totals(
    class_counts: int | Sequence[int], rows_per_class: int | Sequence[int], neighbouring: Change, variant: Variant
) -> tuple[int, int]:
    """N and T of the published formula, which knows no classes."""
    if variant != "fixed_size" or neighbouring != "replace_one":
        raise ParameterError("accountant", "published", "variant 'fixed_size' and neighbouring 'replace_one' only")
    counts, rows = np.broadcast_arrays(class_counts, rows_per_class)
    alike = 1 if counts.ndim else _CLASSES_OF_ONE_NUMBER
    return int(counts.sum()) * alike, int(rows.sum()) * alike


__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "Change",
    "Variant",
    "dp_cda_epsilon",
    "dp_cda_noise_scale",
]
