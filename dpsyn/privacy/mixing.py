"""Exact accounting for averages of records that are drawn without replacement, plus Gaussian noise (DP-CDA).

One synthetic row of a class is the average of l of its N_k records, drawn without replacement, plus N(0, σ²I). Records lie
in a ball of radius c, so that exchanging one of the l moves the average by at most Δ = 2c/l. Everything below depends on
the noise multiplier z = σ/Δ = σ·l/(2c), the sampling rates p_k = l/N_k and the numbers of rows T_k, which are public.
Throughout Q = N(0, 1), P = N(1/z, 1) and A_p = (1-p)Q + pP.

**What dominates one row.** Let x be the record that matters, R the law of a row that does not use x and S that of one that
does. Exchanging x for another record couples S with R (and with S', where another record stands in the place of x), and the
Gaussians of a coupled pair are at most Δ apart.

* One record more or fewer: the rows have laws (1-p)R + pS and R, p = l/N_k for the larger N_k. By joint convexity
  (A_p, Q) dominates in one direction ("remove") and (Q, A_p) in the other ("add"). Attained, hence exact.
* One record replaced inside a class: (1-p)R + pS against (1-p)R + pS'. By advanced joint convexity (Balle, Barthe, Gaboardi
  2018, Theorem 2) δ(ε) ≤ p·δ_Gauss(ln(1 + (e^ε - 1)/p)) for ε ≥ 0, which is the δ(ε) of "remove"; the same holds with the
  two datasets exchanged, which fixes δ(ε) for ε < 0 and with it a symmetric dominating pair ("replace"). An upper bound.
* One record moved from class a to class b: class a loses a record (rate l/N_a) and class b gains one (rate l/(N_b + 1)), so
  that T_a rows are dominated by "remove" and T_b rows by "add", or the other way about for the datasets exchanged.

Rows are independent given the data, so their dominating pairs compose (Zhu, Dong, Wang 2022, Theorem 10).

**Every ε here decreases when a class grows**, so a public lower bound on class sizes is enough. Proof: for p < p' the law
A_p is the mixture (1 - p/p')Q + (p/p')A_{p'}; divergences are jointly convex and vanish (take their smallest value) on
(Q, Q), so (A_p, Q) is dominated by (A_{p'}, Q), likewise (Q, A_p), likewise the symmetric pair; products of dominated pairs
are dominated. For the same reason ε grows with T_k, and it falls with σ, because more noise is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from dpsyn.errors import ParameterError
from dpsyn.privacy._pld import Part, composed_epsilon, gaussian_multiplier, smallest_multiplier
from dpsyn.privacy.spec import Neighbouring

TOLERANCE = 1e-3
"""Relative excess of ε that the discretisation may cause when speed matters."""

_ROUGH = 0.02


def noise_multiplier(*, order_of_mixture: int, sigma: float, clip_norm: float) -> float:
    """z = σ·l/(2c), the standard deviation of the noise over the sensitivity of an average."""
    return sigma * order_of_mixture / (2 * clip_norm)


def add_remove_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    class_size: int,
    rows: int,
    delta: float,
    tolerance: float = TOLERANCE,
) -> float:
    """ε at δ when one record of a class is added or removed: the larger of (A_p, Q)^T and (Q, A_p)^T.

    Exact up to ``tolerance``.

    Args:
        order_of_mixture: l, records per average.
        sigma: standard deviation of the noise in each coordinate, in units of the scaled records.
        clip_norm: c, largest Euclidean norm of a scaled record.
        class_size: N_k of the larger dataset; p = l/N_k.
        rows: T_k, rows made from the class; public.
        delta: privacy δ > 0.
        tolerance: relative excess that the discretisation may cause; the result is an upper bound for every value.

    Raises:
        ParameterError: an argument is out of range (``delta``: Gaussian noise gives no pure ε-DP).
    """
    multiplier, rate = _checked(order_of_mixture, sigma, clip_norm, class_size, rows, delta)
    return _worst([[("remove", rate, rows)], [("add", rate, rows)]], multiplier, delta, tolerance)


def replace_same_class_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    class_size: int,
    rows: int,
    delta: float,
    tolerance: float = TOLERANCE,
) -> float:
    """Upper bound on ε at δ when one record is replaced by another of its class: the symmetric pair, T_k times.

    Arguments and errors as in :func:`add_remove_epsilon`.
    """
    multiplier, rate = _checked(order_of_mixture, sigma, clip_norm, class_size, rows, delta)
    return composed_epsilon([("replace", rate, rows)], multiplier, delta, tolerance)


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
    """ε at δ when one record moves from class a (N_a records before) to class b (N_b records before), both orientations.

    remove(l/N_a)^{T_a} × add(l/(N_b+1))^{T_b}, and add(l/N_a)^{T_a} × remove(l/(N_b+1))^{T_b}.
    Other arguments and errors as in :func:`add_remove_epsilon`.
    """
    multiplier, rate_from = _checked(order_of_mixture, sigma, clip_norm, class_size_from, rows_from, delta)
    _, rate_to = _checked(order_of_mixture, sigma, clip_norm, class_size_to + 1, rows_to, delta)
    return _worst(_label_change(rate_from, rows_from, rate_to, rows_to), multiplier, delta, tolerance)


def replace_one_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    clip_norm: float,
    class_sizes: Sequence[int],
    rows: int,
    delta: float,
    tolerance: float = TOLERANCE,
) -> float:
    """ε at δ when any one record is replaced by any other, label included; the full replace-one guarantee.

    The largest of :func:`replace_same_class_epsilon` over classes and :func:`label_change_epsilon` over ordered pairs of
    classes. With the same T_k for every class, both are largest for the smallest classes (module docstring), so only the
    smallest class and the two orders of the two smallest are computed.

    Args:
        order_of_mixture: l, records per average.
        sigma: standard deviation of the noise in each coordinate.
        clip_norm: c, largest Euclidean norm of a scaled record.
        class_sizes: N_k, or public lower bounds on them, of the classes that rows are made from, in any order.
        rows: T_k, the same for every class.
        delta: privacy δ > 0.
        tolerance: relative excess that the discretisation may cause.
    """
    sizes = sorted(class_sizes)
    if not sizes:
        raise ParameterError("class_sizes", tuple(class_sizes), "at least one class")
    multiplier, _ = _checked(order_of_mixture, sigma, clip_norm, sizes[0], rows, delta)
    return _worst(_replace_one_parts(order_of_mixture, sizes, rows), multiplier, delta, tolerance)


def calibrate_sigma(
    *,
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    clip_norm: float,
    class_sizes: Sequence[int],
    rows: int,
    neighbouring: Neighbouring = "replace_one",
    tolerance: float = 3e-4,
) -> float:
    """The smallest σ, up to a factor 1 + ``tolerance``, whose computed ε at δ is at most ``epsilon``: it meets the target.

    Args:
        epsilon: the target, > 0.
        delta: privacy δ > 0.
        order_of_mixture: l, records per average.
        clip_norm: c, largest Euclidean norm of a scaled record.
        class_sizes: N_k, or public lower bounds on them, of the classes that rows are made from, in any order.
        rows: T_k, the same for every class.
        neighbouring: ``"replace_one"`` for the full guarantee, ``"add_remove"`` for one record more or fewer.
        tolerance: relative, for σ and for the discretisation of ε.

    Raises:
        ParameterError: an argument is out of range.
        CalibrationError: no noise level reaches the target.
    """
    return _calibrated(
        epsilon, delta, order_of_mixture, clip_norm, tuple(sorted(class_sizes)[:2]), rows, neighbouring, tolerance
    )


@lru_cache(maxsize=256)
def _calibrated(
    epsilon: float,
    delta: float,
    order_of_mixture: int,
    clip_norm: float,
    sizes: tuple[int, ...],
    rows: int,
    neighbouring: Neighbouring,
    tolerance: float,
) -> float:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", epsilon, "a finite number > 0")
    if not sizes:
        raise ParameterError("class_sizes", sizes, "at least one class")
    _, rate = _checked(order_of_mixture, 1.0, clip_norm, sizes[0], rows, delta)
    if neighbouring == "replace_one":
        candidates = _replace_one_parts(order_of_mixture, sizes, rows)
    elif neighbouring == "add_remove":
        candidates = [[("remove", rate, rows)], [("add", rate, rows)]]
    else:
        raise ParameterError("neighbouring", neighbouring, "'replace_one' or 'add_remove'")

    total = max(sum(part[2] for part in parts) for parts in candidates)
    enough = gaussian_multiplier(epsilon, delta, total)
    guess = min(enough, max(enough * rate, 0.3))
    # Rough first, then fine with the composition that binds there; all of them are checked at the end.
    guess = smallest_multiplier(
        lambda z: _worst(candidates[:3], z, delta, _ROUGH), epsilon, guess, spread=2.0, tolerance=_ROUGH
    )
    binding = [max(candidates, key=lambda parts: composed_epsilon(parts, guess, delta, _ROUGH))]

    def epsilon_of(multiplier: float) -> float:
        return _worst(binding, multiplier, delta, tolerance)

    while True:
        multiplier = smallest_multiplier(epsilon_of, epsilon, guess, spread=1 + _ROUGH / 2, tolerance=tolerance)
        missed = [
            parts for parts in candidates if parts not in binding and _worst([parts], multiplier, delta, tolerance) > epsilon
        ]
        if not missed:
            break
        binding += missed
    return multiplier * 2 * clip_norm / order_of_mixture


def _checked(
    order_of_mixture: int, sigma: float, clip_norm: float, class_size: int, rows: int, delta: float
) -> tuple[float, float]:
    """Noise multiplier and sampling rate of arguments that are in range."""
    if order_of_mixture < 1:
        raise ParameterError("order_of_mixture", order_of_mixture, "at least 1 record per average")
    if not sigma >= 0:
        raise ParameterError("sigma", sigma, "a number >= 0")
    if not (math.isfinite(clip_norm) and clip_norm > 0):
        raise ParameterError("clip_norm", clip_norm, "a finite number > 0")
    if class_size < order_of_mixture:
        raise ParameterError(
            "class_size",
            class_size,
            f"at least order_of_mixture = {order_of_mixture}, as records are drawn without replacement",
        )
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1 row per class")
    if not 0 < delta < 1:
        raise ParameterError("delta", delta, "DP-CDA needs delta > 0 (and < 1): Gaussian noise gives no pure epsilon-DP")
    multiplier = noise_multiplier(order_of_mixture=order_of_mixture, sigma=sigma, clip_norm=clip_norm)
    return multiplier, order_of_mixture / class_size


def _label_change(rate_from: float, rows_from: int, rate_to: float, rows_to: int) -> list[list[Part]]:
    return [
        [("remove", rate_from, rows_from), ("add", rate_to, rows_to)],
        [("add", rate_from, rows_from), ("remove", rate_to, rows_to)],
    ]


def _replace_one_parts(order_of_mixture: int, sizes: Sequence[int], rows: int) -> list[list[Part]]:
    """Dominating compositions for the full replace-one guarantee; ``sizes`` ascend."""
    same_class: list[Part] = [("replace", order_of_mixture / sizes[0], rows)]
    if len(sizes) == 1:
        return [same_class]
    first, second = (
        _label_change(order_of_mixture / a, rows, order_of_mixture / (b + 1), rows)
        for a, b in ((sizes[0], sizes[1]), (sizes[1], sizes[0]))
    )
    return [*first, same_class] if sizes[0] == sizes[1] else [*first, same_class, *second]


def _worst(candidates: list[list[Part]], multiplier: float, delta: float, tolerance: float) -> float:
    """The largest ε of several compositions; those that cannot be the largest are not refined."""
    found = 0.0
    for parts in candidates:
        found = max(found, composed_epsilon(parts, multiplier, delta, tolerance, enough=found))
    return found
