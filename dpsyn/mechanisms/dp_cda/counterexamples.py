"""DP-CDA (Saha, Tonoy, Imtiaz 2024): the privacy that the paper prints, and what it overlooks, in numbers.

Theorem 1 as printed, which is wrong; the bound of Wang, Balle and Kasiviswanathan (2019) that it meant; the pair of datasets
that its z-score gives away; Remark 2. Nothing here certifies a release; :mod:`exact` does.

A row averages l (``order_of_mixture``) of N (``n``) records, of d ``features``, of norm at most c (``clip_norm``), in K
``classes`` of equal size, and adds noise σ_x (``sigma``) to features and σ_y (``label_sigma``) to the one-hot label: None
takes σ_x as the experiments do, infinity means that labels are not noised. T ``rows`` in all; None takes N. δ is in (0, 1).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.privacy.mixing.exact import TOLERANCE, change_epsilon, checked_multiplier
from dpsyn.privacy.mixing.pairs import Change, mixed_classes
from dpsyn.privacy.spec import rounded_down, rounded_up

REMARK_2_ORDERS = (8, 16, 32, 64, 512)
_LARGEST_ATTACKED_CLASS = 10_000
_LAST_TERM_ALONE = 300.0
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
    """
    unit = _unit_order(order_of_mixture, sigma, clip_norm, label_sigma, delta)
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
    The errata are told with it; pages and the library take ``accountant="rdp"`` of :mod:`functions`, which covers a change
    of the label too and converts more tightly. The paper's ``smallest_order`` is 3 although 2 is allowed; fewer orders only
    loosen the bound.
    """
    unit = _unit_order(order_of_mixture, sigma, clip_norm, label_sigma, delta)
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


def _unit_order(order_of_mixture: int, sigma: float, clip_norm: float, label_sigma: float | None, delta: float) -> float:
    """ε(α)/α = (2c²/σ_x² + 1/σ_y²)/l², and no less than a normal double."""
    checked_multiplier(order_of_mixture, sigma, clip_norm, delta)
    labels = sigma if label_sigma is None else label_sigma
    if not labels >= 0:
        raise ParameterError("label_sigma", labels, "a number >= 0")
    if min(sigma, labels) * order_of_mixture < 1e-6:
        return math.inf
    unit = (2 * (clip_norm / sigma) ** 2 + (1 / labels) ** 2) / order_of_mixture**2
    return max(unit, sys.float_info.min)


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
    log_first = min(
        math.log(2) + 2 * unit, math.log(4) + math.log(math.expm1(2 * unit)) if unit < _LAST_TERM_ALONE else math.inf
    )
    log_roots: list[float] = []
    for order in range(2, largest + 1):
        if order >= 3:
            log_roots.append(order * log_rate + (moments(2 * (order // 2)) + moments(second(order))) / 2)
        terms = [2 * log_rate + math.log(math.comb(order, 2)) + log_first]
        terms += [math.log(4 * math.comb(order, j)) + log_root for j, log_root in enumerate(log_roots, start=3)]
        yield order, float(np.logaddexp(0.0, logsumexp(terms))) / (order - 1)


def _log_moments(unit: float, largest: int) -> Callable[[int], float]:
    """ln B(m) for even m ≤ ``largest``: B(m) = Σ_i (-1)^i C(m,i) e^{i(i-1)ε(1)} = E[(P/Q - 1)^m] > 0.

    The sum loses about log10(1 + 2/ε(1)) digits for each unit of m, so decimals carry as many. From ε(1) = 300 on a double
    holds nothing of its terms but the last.
    """
    if unit >= _LAST_TERM_ALONE:
        return lambda m: m * (m - 1) * unit
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


def printed_third_moment(*, order_of_mixture: int, sigma: float, clip_norm: float = 1.0) -> float:
    """B(3) = -(e^{2ε(3)} - 3e^{ε(2)} + 2) with σ_y = σ_x, the factor printed under the root at j = 5. Negative for every σ.

    With ε(α) = αu: e^{6u} - 1 - 3(e^{2u} - 1) is positive because (e^{2u})³ is convex in e^{2u} and 3(e^{2u} - 1) is its
    tangent at u = 0.
    """
    unit = (2 * clip_norm**2 + 1) / (sigma * order_of_mixture) ** 2
    if unit > 100:
        return -math.inf
    difference = math.expm1(2 * unit)
    return -(difference**3 + 3 * difference**2)


@cache
def remark_2() -> dict[int, float]:
    """ε at σ = 0.05 and δ = 1e-5 for l = 8, 16, 32, 64, 512, by the exact add/remove accountant: ten classes of 6,000.

    The paper's Remark 2 says that at fixed noise "the privacy risk increases as l increases". It falls: about 164, 22, 3.7,
    2.4 and 2.1. The remark's conclusion, less noise for larger l, follows from that.
    """
    return {order: _exact("add_remove", order, 0.05, 6_000, 1e-5) for order in REMARK_2_ORDERS}


@cache
def refuted_on_one_class() -> dict[str, float]:
    """N = T = 1797, l = 1, σ = 0.809, δ = 1e-5, one class, no label noise: "all equal but one record" exceeds the claim."""
    sigma, n, delta = 0.809, 1797, 1e-5
    said = published_epsilon(order_of_mixture=1, sigma=sigma, n=n, delta=delta, label_sigma=math.inf)
    # The discretisation adds less than twice the tolerance.
    attained = _exact("add_remove", 1, sigma, n, delta, tolerance=1e-4) * (1 - 2e-4)
    return {"example_published": said, "example_attained": attained}


@cache
def noise_on_mnist(epsilon: float) -> dict[str, float]:
    """N = T = 60,000, K = 10, l = 64, δ = 1e-5: the σ that the paper would use for ε, and its true ε."""
    sigma = published_sigma(epsilon=epsilon, order_of_mixture=64, n=60_000, delta=1e-5)
    changes: tuple[Change, ...] = ("add_remove", "replace_one")
    return {"mnist_sigma": sigma} | {f"mnist_{change}": _exact(change, 64, sigma, 6000, 1e-5) for change in changes}


def _exact(change: Change, order: int, sigma: float, size: int, delta: float, tolerance: float = TOLERANCE) -> float:
    """ε by the exact accountant, for classes of so many records that have as many rows, c = 1."""
    classes = mixed_classes(order, size, size, "fixed_size")
    return change_epsilon(change, classes, checked_multiplier(order, sigma, 1.0, delta), delta, tolerance=tolerance)


def z_score_attack_epsilon(
    *,
    n: int,
    features: int,
    order_of_mixture: int,
    sigma: float,
    delta: float,
    clip_norm: float = 1.0,
    classes: int = 10,
) -> float:
    """A lower bound on ε of DP-CDA when features are z-scored by the data's own mean and standard deviation.

    D: all N records equal v in every feature, but one that is v + a; D': that one is v - a. The mean of a feature of D is
    v + a/N and its standard deviation a√(N-1)/N, so the z-scores are -1/√(N-1) and, for the one, √(N-1), whatever a > 0 is;
    on D' all signs are turned. A record's norm is √(d/(N-1)), clipped to m = min(c, √(d/(N-1))), and the odd one's is
    c' = min(c, √(d(N-1))). Let X be the sum of the T = K·⌊N/K⌋ synthetic rows projected on the diagonal, and J, binomial
    with T_k = ⌊N/K⌋ trials of probability l/⌊N/K⌋, the number of rows that contain the odd record. X is normal with variance
    Tσ² and mean ∓(mT - sJ), s = (m + c')/l. For every threshold t, (ε, δ)-DP requires P_D(X < t) ≤ e^ε P_D'(X < t) + δ; the
    largest ε that this refutes over t is returned. One record thus moves all rows: no noise of the published size hides it.
    """
    from scipy.stats import binom

    size = n // max(classes, 1)
    if classes < 1 or size < order_of_mixture or n < 2:
        raise ParameterError("n", n, f"at least order_of_mixture = {order_of_mixture} records in each of {classes} classes")
    if features < 1:
        raise ParameterError("features", features, "at least 1")
    _unit_order(order_of_mixture, sigma, clip_norm, None, delta)
    if sigma == 0:
        return math.inf
    common = min(clip_norm, math.sqrt(features / (n - 1)))
    odd = min(clip_norm, math.sqrt(features * (n - 1)))
    rows = size * classes
    deviation = sigma * math.sqrt(rows)
    containing = np.arange(size + 1)
    log_weights = binom.logpmf(containing, size, order_of_mixture / size)
    shift = (common * rows - containing * (common + odd) / order_of_mixture) / deviation

    def refuted(threshold: float) -> float:
        first = float(logsumexp(log_weights + log_ndtr(threshold + shift)))
        second = float(logsumexp(log_weights + log_ndtr(threshold - shift)))
        return first + math.log1p(-math.exp(math.log(delta) - first)) - second if first > math.log(delta) else -math.inf

    spread = float(shift[0]) + 8
    coarse = np.linspace(-spread, spread, 161)
    best = int(np.argmax([refuted(float(t)) for t in coarse]))
    fine = np.linspace(coarse[max(best - 1, 0)], coarse[min(best + 1, 160)], 41)
    return max(0.0, *(refuted(float(t)) for t in fine))


def attacked_epsilon(
    *, n: int, features: int, order_of_mixture: int, sigma: float, delta: float, clip_norm: float, classes: int
) -> float | None:
    """What :func:`z_score_attack_epsilon` refutes; above 10,000 records per class the bound by the other rows.

    None where there is nothing to mix, or no other class.
    """
    size = n // classes
    if size < order_of_mixture or n < 2:
        return None
    if size <= _LARGEST_ATTACKED_CLASS:
        noise: dict[str, Any] = {"order_of_mixture": order_of_mixture, "sigma": sigma, "delta": delta}
        return z_score_attack_epsilon(n=n, features=features, classes=classes, clip_norm=clip_norm, **noise)
    if classes == 1:
        return None
    common = min(clip_norm, math.sqrt(features / (n - 1)))
    return gaussian_attack(math.sqrt((classes - 1) * size) * 2 * common / sigma, delta)


def gaussian_attack(shift: float, delta: float) -> float:
    """The largest ε that a threshold test refutes for N(0, 1) against N(``shift``, 1): a lower bound on ε at δ.

    The rows of the classes without the odd record in :func:`z_score_attack_epsilon` are such a pair.
    """
    thresholds = np.linspace(-8.0, 8.0, 801)
    hits = log_ndtr(thresholds)
    usable = hits > math.log(delta)
    with np.errstate(over="ignore"):
        refuted = hits[usable] + np.log1p(-np.exp(math.log(delta) - hits[usable])) - log_ndtr(thresholds[usable] - shift)
    return max(0.0, float(refuted.max()))


def published_attack(
    *, n: int, features: int, classes: int, order_of_mixture: int, epsilon: float, delta: float, clip_norm: float = 1.0
) -> tuple[float, float] | None:
    """The published σ for ε, and what :func:`z_score_attack_epsilon` refutes at it; T = K·⌊N/K⌋. None: no σ reaches ε.

    Raises:
        ParameterError: a class of ⌊N/K⌋ records is smaller than l, or an argument is out of range.
    """
    shared: dict[str, Any] = {"n": n, "order_of_mixture": order_of_mixture, "delta": delta, "clip_norm": clip_norm}
    try:
        sigma = published_sigma(epsilon=epsilon, rows=max(1, n // classes) * classes, **shared)
    except CalibrationError:
        return None
    return sigma, z_score_attack_epsilon(features=features, sigma=sigma, classes=classes, **shared)
