"""DP-CDA (Saha, Tonoy, Imtiaz 2024): what the published claim overlooks, in numbers.

Nothing here certifies a release; :mod:`exact` does. The published accountant and its correction are in
:mod:`published`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.dp_cda.accounting.exact import add_remove_epsilon
from dpsyn.mechanisms.dp_cda.accounting.published import (
    PUBLISHED_ORDERS,
    corrected_rdp_epsilon,
    published_epsilon,
    published_sigma,
    unit_order,
)

__all__ = [
    "PUBLISHED_ORDERS",
    "REMARK_2_ORDERS",
    "corrected_rdp_epsilon",
    "published_epsilon",
    "published_sigma",
    "remark_2",
    "z_score_attack_epsilon",
]

REMARK_2_ORDERS = (8, 16, 32, 64, 512)


def remark_2(sigma: float = 0.05, n: int = 60_000, classes: int = 10, delta: float = 1e-5) -> dict[int, float]:
    """ε at a fixed σ for l = 8, 16, 32, 64, 512, by the exact add/remove accountant with balanced classes.

    The paper's Remark 2 says that at fixed noise "the privacy risk increases as l increases". It falls: about 164, 22, 3.7,
    2.4 and 2.1 with the default arguments. The remark's conclusion, less noise for larger l, follows from that.
    """
    size = n // classes
    return {
        order: add_remove_epsilon(
            order_of_mixture=order, sigma=sigma, clip_norm=1.0, class_size=size, rows=size, delta=delta
        )
        for order in REMARK_2_ORDERS
    }


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

    Args:
        n: N.
        features: d.
        order_of_mixture: l.
        sigma: σ_x.
        delta: privacy δ, in (0, 1).
        clip_norm: c.
        classes: K, of equal size.
    """
    size = n // max(classes, 1)
    if classes < 1 or size < order_of_mixture or n < 2:
        raise ParameterError("n", n, f"at least order_of_mixture = {order_of_mixture} records in each of {classes} classes")
    if features < 1:
        raise ParameterError("features", features, "at least 1")
    unit_order(order_of_mixture, sigma, clip_norm, None, delta)
    if sigma == 0:
        return math.inf
    common = min(clip_norm, math.sqrt(features / (n - 1)))
    odd = min(clip_norm, math.sqrt(features * (n - 1)))
    rows = size * classes
    deviation = sigma * math.sqrt(rows)
    containing = np.arange(size + 1)
    log_weights = _log_binomial(containing, size, order_of_mixture / size)
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


def _log_binomial(successes: np.ndarray, trials: int, probability: float) -> np.ndarray:
    if probability == 1:
        return np.where(successes == trials, 0.0, -np.inf)
    choose = gammaln(trials + 1) - gammaln(successes + 1) - gammaln(trials - successes + 1)
    found: np.ndarray = choose + successes * math.log(probability) + (trials - successes) * math.log1p(-probability)
    return found
