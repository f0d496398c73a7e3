"""Composition of the privacy losses of mixed rows, and the search for the noise that a target needs.

The losses of single rows are those of :mod:`dpsyn.privacy._loss_pairs`, discretised so that they never understate the loss.
Their composition and the conversion to ε are those of ``dp_accounting``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

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


Loss = tuple[int, Floats, float]


def _on_grid(parts: list[Part], shift: float, delta: float, step: float) -> float | None:
    """ε on one grid; None if the arrays would become too long."""
    losses = [discretised(part.pair, part.rate, part.shift(shift), step) for part in parts]
    if max(len(masses) for _, masses, _ in losses) > _LONGEST:
        return None
    composed = compose(losses, [part.rows for part in parts], delta * 1e-5)
    return None if composed is None else epsilon_of_losses(*composed, step, delta)


def compose(losses: list[Loss], rows: list[int], tail: float) -> Loss | None:
    """The loss of independent rows, ``rows[i]`` of them with the loss ``losses[i]``; None if it would become too long.

    A loss is the index of its lowest grid point, the masses from there on, and the mass at infinity. The range of the sum
    comes from Chernoff bounds; what lies outside it, at most ``tail``, is both wrapped around and counted as infinite.
    """
    first, last = _range_of_sum(losses, rows, tail)
    if last - first >= _LONGEST:
        return None
    length = next_fast_len(max(last - first + 1, *(len(masses) for _, masses, _ in losses)), real=True)
    transformed = np.ones(length // 2 + 1, dtype=np.complex128)
    for (_, masses, _), times in zip(losses, rows, strict=True):
        transformed *= rfft(masses, length) ** times
    composed = np.maximum(np.roll(irfft(transformed, length), -first)[: last - first + 1], 0.0)
    finite = math.fsum(times * math.log1p(-infinity) for (_, _, infinity), times in zip(losses, rows, strict=True))
    lowest = first + sum(lower * times for (lower, _, _), times in zip(losses, rows, strict=True))
    return lowest, composed, tail - math.expm1(finite)


def _range_of_sum(losses: list[Loss], rows: list[int], tail: float) -> tuple[int, int]:
    """First and last index, counted from the sum of the lowest points, outside which the sum has mass at most ``tail``."""
    furthest = sum((len(masses) - 1) * times for (_, masses, _), times in zip(losses, rows, strict=True))
    if sum(rows) == 1:
        return 0, furthest
    orders = _ORDERS / max(len(masses) for _, masses, _ in losses)
    total = np.zeros(len(orders))
    for (_, masses, _), times in zip(losses, rows, strict=True):
        total += times * np.log(np.exp(np.outer(orders, np.arange(len(masses)))) @ masses)
    bounds = (total + math.log(2 / tail)) / orders
    first, last = float(bounds[orders < 0].max()), float(bounds[orders > 0].min())
    return max(0, math.floor(first)), min(furthest, math.ceil(last))


def epsilon_of_losses(lower: int, masses: Floats, infinity: float, step: float, delta: float) -> float:
    """Smallest ε ≥ 0 with δ(ε) = infinity + Σ_{L > ε} mass(L)·(1 - e^{ε-L}) ≤ δ, for losses L on multiples of ``step``.

    Between two grid points δ(ε) = infinity + S - e^ε W, where S sums the masses above and W the same times e^{-L}. Running
    sums of n terms are off by a relative n·2^-53 at most; that is added to S and taken off W.
    """
    allowed = delta - infinity
    if allowed <= 0:
        return math.inf
    masses, lower = masses[max(0, 1 - lower) :], max(lower, 1)
    rounding = len(masses) * 2.0**-52
    above = np.cumsum(masses[::-1])[::-1] * (1 + rounding)
    if not len(above) or above[0] <= allowed:
        return 0.0
    top = int(np.searchsorted(-above, -allowed, side="left")) - 1  # the last point with too much mass at and above it
    start = max(0, top - math.floor(700 / step))
    distance = (np.arange(start, len(masses)) - top) * step
    weighted = np.cumsum((masses[start:] * np.exp(-distance))[::-1])[::-1] * (1 - rounding)
    # In units where e^{L of top} is 1, so that nothing overflows. At top itself δ(ε) is small enough.
    excess = (above[start:] - np.exp(np.minimum(distance, 0.0)) * weighted)[: top - start] - allowed
    at = int(np.argmax(excess <= 0)) if (excess <= 0).any() else top - start
    return max(0.0, (lower + top) * step + math.log((above[start + at] - allowed) / weighted[at]))


def gaussian_multiplier(epsilon: float, delta: float, rows: int, fixed: float = 0.0) -> float:
    """A noise multiplier that is enough even without sampling, beside a Gaussian release of fixed μ."""
    multiplier = math.sqrt(rows)
    while gaussian_epsilon(math.hypot(math.sqrt(rows) / multiplier, fixed), delta) > epsilon:
        multiplier *= 2
        if multiplier > 1e30:
            least = gaussian_epsilon(math.hypot(1e-12, fixed), delta)
            raise CalibrationError(
                f"no noise level reaches epsilon = {epsilon:g} at delta = {delta:g} over {rows} rows; "
                f"epsilon = {max(2 * least, 1e-9):.3g} can be reached"
            )
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
