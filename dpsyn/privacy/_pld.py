"""Composition of the privacy losses of mixed rows, and the search for the noise that a target needs.

The losses of single rows are those of :mod:`dpsyn.privacy._loss_pairs`, discretised so that they never understate the loss.
Their composition and the conversion to ε are those of ``dp_accounting``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

from dpsyn.errors import CalibrationError
from dpsyn.privacy._loss_pairs import Floats, Pair, Part, discretised, span

__all__ = [
    "Pair",
    "Part",
    "composed_epsilon",
    "discretised",
    "gaussian_epsilon",
    "gaussian_multiplier",
    "smallest_multiplier",
]

_ROUNDING = 1e-15
_COARSEST = 48
_LONGEST = 3_000_000
_ORDERS = np.array([-20.0, -10.0, -5.0, -2.0, 2.0, 5.0, 10.0, 20.0])


def gaussian_epsilon(shift: float, delta: float) -> float:
    """Smallest ε with Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) ≤ δ: the exact ε of telling N(μ, 1) from N(0, 1).

    Balle and Wang 2018, Theorem 8. With t = ε/μ - μ/2 the difference is Φ(-t) - ½·erfcx((t+μ)/√2)·e^{-t²/2}, where nothing
    overflows; what may be lost to rounding is added to it, so that the result is never too small.
    """
    if not math.isfinite(shift * shift):
        return math.inf

    def excess(t: float) -> float:
        scale = math.exp(-t * t / 2)
        second = 0.5 * float(erfcx((t + shift) / math.sqrt(2))) * scale
        return float(ndtr(-t)) - second + _ROUNDING * (scale if t > 0 else 1.0) - delta

    if excess(-shift / 2) <= 0:
        return 0.0
    upper = max(float(-ndtri(delta)), -shift / 2) + 1e-9
    while excess(upper) > 0:
        upper += 1.0
    t = float(brentq(excess, -shift / 2, upper, xtol=1e-13, rtol=1e-14))
    return shift * (t + shift / 2 + 1e-12) * (1 + 1e-14)


def composed_epsilon(
    parts: Iterable[Part | tuple[Pair, float, int]],
    multiplier: float,
    delta: float,
    tolerance: float,
    *,
    enough: float = 0.0,
) -> float:
    """ε at δ of independent rows, each of which is dominated by the pair named for it. An upper bound.

    Pairs and rates are those of :mod:`dpsyn.privacy._loss_pairs`, with μ = 1/z, z the noise multiplier (standard deviation
    over sensitivity), except for parts that bring a multiplier of their own.

    The grid is refined by factors of 4 until the excess is below ``tolerance``·ε (it shrinks like the step squared) or the
    arrays would become too long. Every step of the refinement is an upper bound, and so is the Gaussian without sampling
    (p = 1, exact), so the smallest of all is returned. For a δ so small that the rounding of the transforms would matter
    (1e-10 at 100,000 rows) only the latter is left. Refining stops early once the bound is at most ``enough``.
    """
    named = [Part(*part) for part in parts]
    rows = sum(part.rows for part in named)
    shift = 1 / multiplier if multiplier > 0 else math.inf
    best = gaussian_epsilon(math.hypot(*(math.sqrt(p.rows) * p.distance * p.shift(shift) for p in named)), delta)
    usable = delta - fft_allowance(rows)
    if not math.isfinite(best) or best <= enough or usable <= 0.5 * delta:
        return best
    step = max(span(part.pair, part.rate, part.shift(shift)) for part in named) / _COARSEST
    previous = math.inf
    while True:
        epsilon = _on_grid(named, shift, usable, step)
        if epsilon is None:
            return best
        best = min(best, epsilon)
        if previous - epsilon <= 8 * tolerance * epsilon or best <= enough:
            return best
        previous = epsilon
        step /= 4


def fft_allowance(rows: int) -> float:
    """How much the rounding errors of the Fourier transforms may falsify δ: a few units of rounding per composed row."""
    return 1e-13 + 4 * float(np.finfo(np.float64).eps) * rows


def _on_grid(parts: list[Part], shift: float, delta: float, step: float) -> float | None:
    """ε on one grid; None if the arrays would become too long."""
    composed: Any = None
    tail = delta * 1e-5 / len(parts)
    for part in parts:
        many = _self_composed(discretised(part.pair, part.rate, part.shift(shift), step), part.rows, tail, step)
        if many is None:
            return None
        composed = many if composed is None else composed.compose(many)
    try:
        with np.errstate(over="ignore"):
            return max(0.0, float(composed.get_epsilon_for_delta(delta)))
    except OverflowError:
        # The search walks down the losses until ε is found. It overflows only below -709, where every loss above has been
        # seen without need: the ε sought is far below 0.
        return 0.0


def _self_composed(single: tuple[int, Floats, float], times: int, tail: float, step: float) -> Any:
    """The loss of ``times`` rows as a ``DensePLDPmf``; None if it would become too long.

    As ``DensePLDPmf.self_compose``, but with fewer Chernoff bounds (its 40 take most of the time) and real transforms.
    Mass outside the bounds, at most ``tail``, is both wrapped around and counted as an infinite loss.
    """
    from dp_accounting.pld.common import compute_self_convolve_bounds
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    lower, masses, infinity = single
    if len(masses) > _LONGEST:
        return None
    first, last = 0, (len(masses) - 1) * times
    if times > 1:
        first, last = compute_self_convolve_bounds(masses, times, tail, _ORDERS / len(masses))
    if last - first >= _LONGEST:
        return None
    length = next_fast_len(max(last - first + 1, len(masses)), real=True)
    composed = irfft(rfft(masses, length) ** times, length) if times > 1 else masses
    kept = np.roll(composed, -first)[: last - first + 1]
    never_infinite = math.exp(times * math.log1p(-infinity))
    return DensePLDPmf(step, lower * times + first, kept, tail + 1 - never_infinite, True)


def gaussian_multiplier(epsilon: float, delta: float, rows: int) -> float:
    """A noise multiplier that is enough even without sampling."""
    multiplier = math.sqrt(rows)
    while gaussian_epsilon(math.sqrt(rows) / multiplier, delta) > epsilon:
        multiplier *= 2
        if multiplier > 1e30:
            raise CalibrationError(f"no noise level reaches epsilon = {epsilon} at delta = {delta} over {rows} rows")
    return multiplier


def smallest_multiplier(
    epsilon_of: Callable[[float], float], epsilon: float, guess: float, *, spread: float, tolerance: float
) -> float:
    """A noise multiplier z with epsilon_of(z) ≤ ε, at most a factor 1 + ``tolerance`` above one that has epsilon_of(z) > ε.

    The root is bracketed by factors of ``spread`` and closed in on by false position in ln z against ln ε (with the Illinois
    weights), so that few evaluations are needed. What is returned has been evaluated and meets the target.
    """

    def height(multiplier: float) -> float:
        return math.log(min(max(epsilon_of(multiplier) / epsilon, 1e-6), 1e6))

    low = high = guess
    low_height = high_height = height(guess)
    while high_height > 0:
        low, low_height = high, high_height
        high *= spread
        high_height = height(high)
    while low_height <= 0:
        high, high_height = low, low_height
        low /= spread
        low_height = height(low)
    last = 0.0
    while high / low > 1 + tolerance:
        width = math.log(high / low)
        inside = min(max(width * low_height / (low_height - high_height), tolerance / 3), width - tolerance / 3)
        middle = low * math.exp(inside)
        value = height(middle)
        if value > 0:
            low, low_height = middle, value
            high_height *= 0.5 if last > 0 else 1.0
        else:
            high, high_height = middle, value
            low_height *= 0.5 if last <= 0 and last != 0 else 1.0
        last = value if value != 0 else -1.0
    return high
