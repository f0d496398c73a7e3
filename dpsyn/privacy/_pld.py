"""Privacy loss distributions of one mixed row, discretised so that they never understate the loss.

A loss distribution of a pair (A, B) is the law of L = ln(A/B)(x) for x ~ A. All of them live on the grid of whole multiples
of a step. Mass between two grid points is split between them so that both its A-measure and its B-measure are kept
("connect the dots", Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): δ(ε) is then exact at grid points and too large
between them. Composition and the conversion to ε are those of ``dp_accounting``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr, ndtri

from dpsyn.errors import CalibrationError

Floats = npt.NDArray[np.float64]
Pair = Literal["remove", "add", "replace"]
Part = tuple[Pair, float, int]
"""A pair, its sampling rate, and how many rows it is composed over."""

_ROUNDING = 1e-15
_TAIL = 1e-17
_COARSEST = 48
_LONGEST = 3_000_000
_MIRRORED = 40.0
_ORDERS = np.array([-20.0, -10.0, -5.0, -2.0, 2.0, 5.0, 10.0, 20.0])
_NOTHING = 1e-25
"""Masses below it are dropped: at most 3e-19 a row, far inside the allowance for rounding."""


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


def composed_epsilon(parts: list[Part], multiplier: float, delta: float, tolerance: float, *, enough: float = 0.0) -> float:
    """ε at δ of independent rows, each of which is dominated by the pair named for it. An upper bound.

    With Q = N(0, 1), P = N(1/z, 1), z the noise multiplier (standard deviation over sensitivity) and rate p:
    ``"remove"`` is (1-p)Q + pP against Q, ``"add"`` is Q against it, and ``"replace"`` is the symmetric pair whose δ(ε) is
    that of ``"remove"`` for ε ≥ 0.

    The grid is refined by factors of 4 until the excess is below ``tolerance``·ε (it shrinks like the step squared) or the
    arrays would become too long. Every step of the refinement is an upper bound, and so is the Gaussian without sampling
    (p = 1, exact), so the smallest of all is returned. For a δ so small that the rounding of the transforms would matter
    (1e-10 at 100,000 rows) only the latter is left. Refining stops early once the bound is at most ``enough``.
    """
    rows = sum(times for _, _, times in parts)
    shift = 1 / multiplier if multiplier > 0 else math.inf
    best = gaussian_epsilon(math.sqrt(rows) * shift, delta)
    usable = delta - fft_allowance(rows)
    if not math.isfinite(best) or best <= enough or usable <= 0.5 * delta:
        return best
    step = max(_span(p, shift) for _, p, _ in parts) / _COARSEST
    previous = math.inf
    while True:
        epsilon = _on_grid(parts, shift, usable, step)
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
    for pair, rate, times in parts:
        many = _self_composed(discretised(pair, rate, shift, step), times, tail, step)
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


def discretised(pair: Pair, rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """Loss of one row on multiples of ``step``: index of the lowest point, masses, and the mass of an infinite loss."""
    build = {"remove": _remove, "add": _add, "replace": _replace}[pair]
    lower, masses, infinity = build(rate, shift, step)
    return lower, np.where(masses > _NOTHING, masses, 0.0), infinity


def _span(rate: float, shift: float) -> float:
    """Largest loss that is not put at infinity."""
    return float(_loss(-float(ndtri(_TAIL)) + shift, rate, shift))


def _loss(x: float, rate: float, shift: float) -> float:
    """ln(1 - p + p·e^{μx - μ²/2}), the loss of "remove" at x; increasing in x."""
    exponent = shift * x - shift * shift / 2
    if rate == 1:
        return exponent
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))


def _where(losses: Floats, rate: float, shift: float) -> Floats:
    """Inverse of :func:`_loss`; -∞ at and below ln(1 - p)."""
    if rate == 1:
        return losses / shift + shift / 2
    with np.errstate(divide="ignore"):
        above = losses + np.log1p(-(1 - rate) * np.exp(-np.maximum(losses, 0.0)))
        below = np.log(np.maximum(np.expm1(np.minimum(losses, 0.0)) + rate, 0.0))
    return (np.where(losses > 0, above, below) - math.log(rate)) / shift + shift / 2


def _between(x: Floats, mean: float) -> Floats:
    """N(mean, 1)-measure of the intervals between consecutive points, without cancellation in either tail."""
    low, high = x[:-1] - mean, x[1:] - mean
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _split(first: Floats, second: Floats, lower: int, step: float) -> Floats:
    """Masses on the grid from the A- and B-measure of its intervals.

    An interval from e to e + step with measures a and b gives its lower end (b·e^e - a·e^{-step})/(1 - e^{-step}) and its
    upper end the rest of a. Where b has underflowed everything goes to the upper end, which overstates the loss.
    """
    at = (lower + np.arange(len(first))) * step
    with np.errstate(divide="ignore", over="ignore"):
        weighted = np.where(second > 0, np.exp(np.log(second) + at), 0.0)
    down = np.clip((weighted - first * math.exp(-step)) / -math.expm1(-step), 0.0, first)
    masses = np.zeros(len(first) + 1)
    masses[:-1] += down
    masses[1:] += first - down
    return masses


def _grid(rate: float, shift: float, step: float) -> tuple[int, Floats]:
    """Index of the lowest grid point and the x at every grid point."""
    edge = -float(ndtri(_TAIL))
    lower = math.floor(_loss(-edge, rate, shift) / step)
    upper = math.ceil(_loss(edge + shift, rate, shift) / step)
    return lower, _where(np.arange(lower, upper + 1, dtype=np.float64) * step, rate, shift)


def _remove(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """(1-p)Q + pP against Q. Mass above the grid goes to infinity, mass below it to its lowest point."""
    lower, x = _grid(rate, shift, step)
    below = (1 - rate) * float(ndtr(x[0])) + rate * float(ndtr(x[0] - shift))
    above = (1 - rate) * float(ndtr(-x[-1])) + rate * float(ndtr(shift - x[-1]))
    base = _between(x, 0.0)
    masses = _split((1 - rate) * base + rate * _between(x, shift), base, lower, step)
    masses[0] += below
    return lower, masses, above


def _add(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """Q against (1-p)Q + pP: the loss of "remove" with its sign turned, under the other measure."""
    lower, x = _grid(rate, shift, step)
    base = _between(x, 0.0)
    mixed = (1 - rate) * base + rate * _between(x, shift)
    bottom = -(lower + len(x) - 1)
    masses = _split(base[::-1], mixed[::-1], bottom, step)
    masses[0] += float(ndtr(-x[-1]))
    return bottom, masses, float(ndtr(x[0]))


def _replace(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """The symmetric pair: losses L > 0 of "remove", their mirror images e^{-L}·mass at -L, and the rest at 0.

    Mirror images beyond -40 (less than e^{-40} of mass) are put at 0, which overstates the loss.
    """
    lower, masses, infinity = _remove(rate, shift, step)
    positive = masses[max(1 - lower, 0) :]
    first = max(lower, 1)
    losses = (first + np.arange(len(positive))) * step
    mirrored = (positive * np.exp(-losses))[: int(np.searchsorted(losses, _MIRRORED))]
    middle = max(0.0, 1 - infinity - float(positive.sum()) - float(mirrored.sum()))
    gap = np.zeros(first - 1)
    reach = first - 1 + len(mirrored)
    return -reach, np.concatenate([mirrored[::-1], gap, [middle], gap, positive]), infinity


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
