"""Rényi accounting of DP-CDA: the paper's formula as printed, which is wrong, and the bound that it meant.

Saha, Tonoy, Imtiaz 2024, Theorem 1; Wang, Balle, Kasiviswanathan 2019. In the paper's notation a row averages l of N records
of norm at most c and adds noise σ_x to the features and σ_y to the one-hot label. Nothing here certifies a release;
:mod:`exact` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache

import numpy as np
from scipy.special import logsumexp

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.privacy.spec import rounded_down, rounded_up

PUBLISHED_ORDERS = (3, 4)
"""The only Rényi orders at which the printed formula is real: from order 5 on it takes the root of a negative number."""


def published_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    n: int,
    delta: float,
    rows: int | None = None,
    clip_norm: float = 1.0,
    label_sigma: float | None = None,
) -> float:
    """Theorem 1 as printed: ε = min over α of T·ε'(α) + ln(1/δ)/(α - 1). Published but wrong; show it, never rely on it.

    ε'(α) = ln(1 + p²·C(α,2)·min{4(e^{ε(2)} - 1), 2e^{ε(2)}} + 4G(α))/(α - 1), p = l/N, ε(α) = (α/l²)(2c²/σ_x² + 1/σ_y²),
    G(α) = Σ_{j=3}^α p^j C(α,j) √(B(2⌊j/2⌋)·B(⌈j/2⌉)), B(l) = Σ_i (-1)^i C(l,i) e^{(i-1)ε(i)}. The last factor under the root
    should be B(2⌈j/2⌉) (:func:`corrected_rdp_epsilon`): as printed it is B(2) at j = 3 and 4 and negative at j = 5. The
    sampling rate should be l/N_k, since the records come from one class; the z-score before it breaks the claim altogether
    (:func:`z_score_attack_epsilon`).

    Args:
        order_of_mixture: l.
        sigma: σ_x.
        n: N, all records.
        delta: privacy δ, in (0, 1).
        rows: T, rows in all; None takes N.
        clip_norm: c.
        label_sigma: σ_y; None takes σ_x as the experiments do, infinity means that labels are not noised.
    """
    unit = unit_order(order_of_mixture, sigma, clip_norm, label_sigma, delta)
    if unit == math.inf:
        return math.inf
    rate = _rate(order_of_mixture, n, "n")
    per_row = _subsampled_orders(rate, unit, PUBLISHED_ORDERS[-1], lambda j: (j + 1) // 2)
    return _smallest_epsilon(per_row, n if rows is None else rows, delta, PUBLISHED_ORDERS[0])


def corrected_rdp_epsilon(
    *,
    order_of_mixture: int,
    sigma: float,
    population: int,
    rows: int,
    delta: float,
    clip_norm: float = 1.0,
    label_sigma: float | None = None,
    smallest_order: int = 2,
    largest_order: int = 256,
) -> float:
    """The bound that the paper meant (Wang, Balle, Kasiviswanathan 2019): B(2⌈j/2⌉) in :func:`published_epsilon`.

    Valid for replacing a record inside the population that is sampled from, with public scaling: that is a class
    (``population`` = N_k and ``rows`` = T_k). With ``population`` = N and ``rows`` = T it corrects the misprint only.

    Args:
        order_of_mixture: l.
        sigma: σ_x.
        population: number of records that the l are drawn from.
        rows: rows drawn from this population.
        delta: privacy δ, in (0, 1).
        clip_norm: c.
        label_sigma: σ_y; None takes σ_x, infinity means that labels are not noised.
        smallest_order: first Rényi order tried; the paper begins at 3 although 2 is allowed.
        largest_order: last Rényi order tried; fewer orders only loosen the bound.
    """
    unit = unit_order(order_of_mixture, sigma, clip_norm, label_sigma, delta)
    if unit == math.inf:
        return math.inf
    if not 2 <= smallest_order <= largest_order:
        raise ParameterError("smallest_order", smallest_order, f"2 to largest_order = {largest_order}")
    rate = _rate(order_of_mixture, population, "population")
    per_row = _subsampled_orders(rate, unit, largest_order, lambda j: 2 * ((j + 1) // 2))
    return _smallest_epsilon(per_row, rows, delta, smallest_order)


def published_sigma(
    *,
    epsilon: float,
    order_of_mixture: int,
    n: int,
    delta: float,
    rows: int | None = None,
    clip_norm: float = 1.0,
) -> float:
    """The smallest σ_x = σ_y to which :func:`published_epsilon` gives ``epsilon``: the noise that the paper would add.

    Args:
        epsilon: target.
        order_of_mixture: l.
        n: N, all records.
        delta: privacy δ, in (0, 1).
        rows: T; None takes N.
        clip_norm: c.

    Raises:
        CalibrationError: the orders 3 and 4 cannot reach the target: ε stays above ln(1/δ)/3 however large σ is.
    """

    def reached(sigma: float) -> bool:
        found = published_epsilon(
            order_of_mixture=order_of_mixture, sigma=sigma, n=n, delta=delta, rows=rows, clip_norm=clip_norm
        )
        return found <= epsilon

    limit = math.log(1 / delta) / (PUBLISHED_ORDERS[-1] - 1) if 0 < delta < 1 else 0.0
    if epsilon <= limit:
        raise CalibrationError(
            f"the published formula cannot reach epsilon = {epsilon:g}: it stays above {rounded_down(limit, 4)} "
            f"however large the noise is. {_remedy(epsilon, limit, n)}"
        )
    low = high = clip_norm / order_of_mixture
    while not reached(high):
        low, high = high, 2 * high
    while reached(low):
        low, high = low / 2, low
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _remedy(epsilon: float, limit: float, n: int) -> str:
    """What to do about ε ≤ ln(1/δ)/3; a larger δ only as long as it is below 1/n."""
    delta = math.exp(-(PUBLISHED_ORDERS[-1] - 1) * epsilon)
    larger = f", or delta above {rounded_up(delta, 3)}" if n * delta < 1 else ""
    return (
        f"Take epsilon above {rounded_up(limit, 4)}{larger}; or a variant that is not as published: exact accounting has no "
        "such limit"
    )


def unit_order(order_of_mixture: int, sigma: float, clip_norm: float, label_sigma: float | None, delta: float) -> float:
    """ε(α)/α = (2c²/σ_x² + 1/σ_y²)/l²."""
    if order_of_mixture < 1:
        raise ParameterError("order_of_mixture", order_of_mixture, "at least 1 record per average")
    if not sigma >= 0:
        raise ParameterError("sigma", sigma, "a number >= 0")
    if not (math.isfinite(clip_norm) and clip_norm > 0):
        raise ParameterError("clip_norm", clip_norm, "a finite number > 0")
    if not 0 < delta < 1:
        raise ParameterError("delta", delta, "a number with 0 < delta < 1")
    labels = sigma if label_sigma is None else label_sigma
    if not labels >= 0:
        raise ParameterError("label_sigma", labels, "a number >= 0")
    if min(sigma, labels) * order_of_mixture < 1e-6:
        return math.inf
    return (2 * (clip_norm / sigma) ** 2 + (1 / labels) ** 2) / order_of_mixture**2


def _rate(order_of_mixture: int, population: int, field: str) -> float:
    if population < order_of_mixture:
        raise ParameterError(field, population, f"at least order_of_mixture = {order_of_mixture}")
    return order_of_mixture / population


def _subsampled_orders(rate: float, unit: float, largest: int, second: Callable[[int], int]) -> Iterator[tuple[int, float]]:
    """Pairs (α, ε'(α)) for α = 2, 3, …; ``second`` gives the argument of the last factor under the root.

    All sums have positive terms and are taken in logarithms, but for B itself (:func:`_log_moments`).
    """
    moments = _log_moments(unit, largest + 1)
    log_rate = math.log(rate)
    log_first = min(math.log(2) + 2 * unit, math.log(4) + math.log(math.expm1(2 * unit)) if unit < 300 else math.inf)
    log_roots: list[float] = []
    for order in range(2, largest + 1):
        if order >= 3:
            log_roots.append(order * log_rate + (moments(2 * (order // 2)) + moments(second(order))) / 2)
        terms = [2 * log_rate + math.log(math.comb(order, 2)) + log_first]
        terms += [math.log(4 * math.comb(order, j)) + log_root for j, log_root in enumerate(log_roots, start=3)]
        yield order, float(np.logaddexp(0.0, logsumexp(terms))) / (order - 1)


def _log_moments(unit: float, largest: int) -> Callable[[int], float]:
    """ln B(m) for even m ≤ ``largest``: B(m) = Σ_i (-1)^i C(m,i) e^{i(i-1)ε(1)} = E[(P/Q - 1)^m] > 0.

    The sum loses about log10(1 + 2/ε(1)) digits for each unit of m, so decimals carry as many.
    """
    digits = 40 + math.ceil((largest + 1) * math.log10(1 + 2 / unit))
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
    with localcontext(context):
        ratio, factor = (2 * Decimal(unit)).exp(), Decimal(1)
        powers = [factor, factor]
        for _ in range(2, largest + 1):
            factor *= ratio
            powers.append(powers[-1] * factor)

    @cache
    def log_moment(m: int) -> float:
        with localcontext(context):
            total = sum(((-1) ** i * math.comb(m, i) * powers[i] for i in range(m + 1)), Decimal(0))
        with localcontext(Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            return float((+total).ln())

    return log_moment


def _smallest_epsilon(per_row: Iterator[tuple[int, float]], rows: int, delta: float, smallest_order: int) -> float:
    """min over α of T·ε'(α) + ln(1/δ)/(α - 1); orders stop when the first term alone is too large."""
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1")
    best = math.inf
    for order, bound in per_row:
        if order < smallest_order:
            continue
        best = min(best, rows * bound + math.log(1 / delta) / (order - 1))
        if rows * bound >= best:
            break
    return best
