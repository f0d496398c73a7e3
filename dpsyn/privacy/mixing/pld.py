"""Composition of the privacy losses of mixed rows, and the search for the noise that a target needs.

The losses of single rows are those of :mod:`_pairs`, discretised so that they never understate the loss.
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
from dpsyn.privacy.mixing.pairs import Floats, Pair, Part, discretised, span

__all__ = [
    "Pair",
    "Part",
    "composed_epsilon",
    "discretised",
    "gaussian_epsilon",
    "gaussian_multiplier",
    "smallest_multiplier",
]

Loss = tuple[int, Floats, float]

_ROUNDING = 1e-15
_COARSEST, _COARSEST_OF_MANY, _MANY = 56, 14, 100_000
"""Grid steps in the largest loss of a row to begin with, and from so many rows on, whose sum is long and smooth."""
_LONGEST = 3_000_000
_SPARED = 1e-3
"""Share of δ that rounding may take before losses are composed under another measure."""
_SHARES = (1e-3, 0.03, 0.3, 0.9)
"""Shares of δ that are tried there."""
_SMALLEST_LOSS = 1e-9
"""Losses that are all smaller drown in the rounding of double precision; the Gaussian without sampling bounds them."""
_MEANINGLESS = 1e8
"""An ε beyond it says nothing, however closely it is known: the bound without sampling will do."""
_OUTSIDE = 1e-12
"""Mass outside the arrays under the tilted measure."""
_FLATTEST, _LONGEST_STEP, _MOST_STEPS = -0.3, 1.5, 80
_LOWEST = math.log(1e-4)
_SMALLEST_SHIFT = 1e-12
"""The least μ of a Gaussian release that is tried."""
_ABOUT = 0.05
"""How closely a guess is found."""
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
        return float(ndtr(-t)) - second + _ROUNDING * ((1 + t) * scale if t > 0 else 1.0) - delta

    if excess(-shift / 2) <= 0:
        return 0.0
    # Below -40 the difference is 1 to the last bit.
    lower = max(-shift / 2, -40.0)
    upper = max(float(-ndtri(delta)), lower) + 1e-9
    while excess(upper) > 0:
        upper += 1.0
    t = float(brentq(excess, lower, upper, xtol=1e-13, rtol=1e-14, maxiter=1_000))
    return shift * (t + shift / 2 + 1e-12) * (1 + 1e-14)


def composed_epsilon(
    parts: Iterable[Part | tuple[Pair, float, int]],
    multiplier: float,
    delta: float,
    tolerance: float,
    *,
    enough: float = 0.0,
    too_much: float = math.inf,
) -> float:
    """ε at δ of independent rows, each of which is dominated by the pair named for it. An upper bound.

    Pairs and rates are those of :mod:`_pairs`, with μ = 1/z, z the noise multiplier (standard deviation
    over sensitivity), except for parts that bring a multiplier of their own.

    The grid is refined by factors of 4 until a step gains at most 8·``tolerance``·ε (what is left then is a fifteenth of it
    if the excess shrinks like the step squared, and up to 2.1·``tolerance``·ε, or 3.1·0.1·ε, where it does not yet) or the
    arrays would become too long. Every step of the refinement is an upper bound, and so are the Gaussian without sampling
    (p = 1, exact) and sampling without noise, so the smallest of all is returned. For a δ so small that the mass of single
    rows that is put at infinity would matter (1e-17 at 100,000 rows) only these are left. Refining stops early once the
    bound is at most ``enough``, or ε clearly more than ``too_much``.
    """
    named = [Part(*part) for part in parts]
    shift = 1 / multiplier if multiplier > 0 else math.inf
    best = gaussian_epsilon(math.hypot(*(math.sqrt(p.rows) * p.distance * p.shift(shift) for p in named)), delta)
    best = min(best, noiseless_epsilon(named, delta))
    if not best < _MEANINGLESS or best <= enough:
        return best
    largest = max(span(part.pair, part.rate, part.shift(shift)) for part in named)
    if largest < _SMALLEST_LOSS:
        return best
    step = largest / (_COARSEST if sum(part.rows for part in named) < _MANY else _COARSEST_OF_MANY)
    previous = math.inf
    while True:
        epsilon = _on_grid(named, shift, delta, step)
        if epsilon is None:
            return best
        best = min(best, epsilon)
        gained = previous - epsilon
        if gained <= 8 * tolerance * epsilon or best <= enough or epsilon - gained > too_much:
            return best
        previous = epsilon
        step /= 4


def noiseless_epsilon(parts: Iterable[Part], delta: float) -> float:
    """ε at δ of the same rows without noise; with noise, which is post-processing, it is no larger.

    A row that holds the record then shows it, and one that does not is as likely by 1/(1 - p) or 1 - p in the law that never
    holds it. So the loss is infinite but for a mass m = Π (1-p)^rows over all pairs but "add", where it is
    l = Σ ± rows·ln(1-p), + for "remove", - for "add", 0 for the others, both of whose laws hold a record as often:
    δ(ε) = 1 - m + m·max(1 - e^{ε-l}, 0).
    """
    unused = {"remove": 0.0, "add": 0.0, "replace": 0.0, "swap": 0.0}
    for part in parts:
        unused[part.pair] += part.rows * math.log1p(-part.rate) if part.rate < 1 else -math.inf
    finite = unused["remove"] + unused["replace"] + unused["swap"]
    # What rounding may take is 1e-12 of every sum.
    if -math.expm1(finite * (1 + 1e-12)) > delta:
        return math.inf
    loss = unused["remove"] - unused["add"] + math.log1p(-delta) - finite - 1e-12 * sum(unused.values())
    return max(0.0, loss) * (1 + 1e-12)


def fft_allowance(rows: int) -> float:
    """How much the rounding errors of the Fourier transforms may falsify δ: a few units of rounding per composed row."""
    return 1e-13 + 4 * float(np.finfo(np.float64).eps) * rows


def _on_grid(parts: list[Part], shift: float, delta: float, step: float) -> float | None:
    """ε on one grid; None if the arrays would become too long, or the mass at infinity alone is more than δ."""
    # Arrays reach from 0 to the largest loss at least.
    if max(span(part.pair, part.rate, part.shift(shift)) for part in parts) > _LONGEST * step:
        return None
    losses = [discretised(part.pair, part.rate, part.shift(shift), step) for part in parts]
    if max(len(masses) for _, masses, _ in losses) > _LONGEST:
        return None
    rows = [part.rows for part in parts]
    rounding = fft_allowance(sum(rows))
    if rounding > _SPARED * delta:
        return tilted_epsilon(losses, rows, step, delta)
    composed = compose(losses, rows, delta * 1e-5)
    return None if composed is None else epsilon_of_losses(*composed, step, delta - rounding)


def tilted_epsilon(losses: list[Loss], rows: list[int], step: float, delta: float) -> float | None:
    """ε for a δ that the rounding of the transforms would swamp: the losses are composed under another measure.

    Masses m(L) of a row become m(L)e^{sL}/E[e^{sL}], with s such that the composed loss comes to lie around ε, and what is
    composed is multiplied by E[e^{sL}]^rows·e^{-sL}. Errors of the transforms, of at most a in all, thereby become errors of
    at most a·E[e^{sL}]^rows·e^{-sε} in the masses above ε, mostly of the order of a·δ. Mass outside the range of the arrays
    counts as such an error. Several shares of δ are set aside for errors; where they are more than that, a larger ε is
    taken, at which they are not.

    Returns:
        ε, an upper bound; None if the arrays would become too long, or the mass at infinity alone is more than δ.
    """
    infinity = -math.expm1(math.fsum(times * math.log1p(-mass) for (_, _, mass), times in zip(losses, rows, strict=True)))
    if infinity >= 0.5 * delta:
        return None
    lowest = sum(lower * times for (lower, _, _), times in zip(losses, rows, strict=True))
    with np.errstate(divide="ignore"):
        logarithms = [np.log(masses) for _, masses, _ in losses]

    def moments(order: float) -> list[float]:
        return [_log_sum(values + order * step * np.arange(len(values))) for values in logarithms]

    def grown(order: float) -> float:
        return math.fsum(times * moment for times, moment in zip(rows, moments(order), strict=True))

    def bound(order: float) -> float:
        """ε by the Rényi divergence of order s + 1."""
        optimal = order * math.log(order) - (1 + order) * math.log1p(order)
        return (grown(order) - math.log(delta) + optimal) / order + step * lowest

    order = _best_power(bound)
    growth = grown(order)
    tilted = [
        (lower, np.exp(values + order * step * np.arange(len(values)) - moment), 0.0)
        for (lower, _, _), values, moment in zip(losses, logarithms, moments(order), strict=True)
    ]
    composed = compose(tilted, rows, _OUTSIDE)
    if composed is None:
        return None
    first, masses, _ = composed
    back = growth - order * step * (first - lowest + np.arange(len(masses)))
    masses = np.minimum(masses * np.exp(np.minimum(back, 700.0)), 1.0)
    errors = math.log(fft_allowance(sum(rows)) + 2 * _OUTSIDE) + growth + order * step * lowest

    def with_share(share: float) -> float:
        epsilon = epsilon_of_losses(first, masses, infinity, step, delta * (1 - share))
        return max(epsilon, (errors - math.log(share * delta)) / order)

    return min(with_share(share) for share in _SHARES)


def _log_sum(exponents: Floats) -> float:
    """ln Σ e^x."""
    largest = float(exponents.max())
    return largest + math.log(float(np.exp(exponents - largest).sum()))


def _best_power(bound: Callable[[float], float]) -> float:
    """The power of 2 at which a function with one valley is smallest."""
    order, here = 1.0, bound(1.0)
    factor = 2.0 if bound(2.0) < here else 0.5
    while 2.0**-40 < order < 2.0**80 and (there := bound(order * factor)) < here:
        order, here = order * factor, there
    return order


_UNDERFLOW = 745.0
"""e to minus this is the smallest number above 0."""


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
        if times == 0:
            continue
        one = rfft(masses, length)
        # Powers are slow, and of the many rows of a large sample most are too small to be told from 0.
        some = one.real**2 + one.imag**2 > math.exp(-2 * _UNDERFLOW / times)
        one[~some] = 0.0
        one[some] **= times
        transformed *= one
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
    top = int(np.searchsorted(-above, -allowed)) - 1  # the last point with too much mass at and above it
    start = max(0, top - math.floor(700 / step))
    distance = (np.arange(start, len(masses)) - top) * step
    weighted = np.cumsum((masses[start:] * np.exp(-distance))[::-1])[::-1] * (1 - rounding)
    # In units where e^{L of top} is 1, so that nothing overflows. At top itself δ(ε) is small enough.
    excess = above[start:top] - np.exp(distance[: top - start]) * weighted[: top - start] - allowed
    at = int(np.argmax(np.append(excess <= 0, True)))
    return max(0.0, (lower + top) * step + math.log((above[start + at] - allowed) / weighted[at]))


def gaussian_multiplier(epsilon: float, delta: float, rows: int, fixed: float = 0.0, tolerance: float = _ABOUT) -> float:
    """The least noise multiplier, up to ``tolerance``, that is enough without sampling, beside a Gaussian of fixed μ.

    Raises:
        CalibrationError: none is.
    """
    least = gaussian_epsilon(math.hypot(_SMALLEST_SHIFT, fixed), delta)
    if least > epsilon:
        raise CalibrationError(
            f"no noise level reaches epsilon = {epsilon:g} at delta = {delta:g} over {rows} rows; "
            f"epsilon = {max(2 * least, 1e-9):.3g} can be reached"
        )
    every = math.sqrt(rows)
    return smallest_multiplier(lambda z: gaussian_epsilon(math.hypot(every / z, fixed), delta), epsilon, every, tolerance)


def smallest_multiplier(epsilon_of: Callable[[float], float], epsilon: float, guess: float, tolerance: float) -> float:
    """A noise multiplier z with epsilon_of(z) ≤ ε that falls short of ε by at most a share ``tolerance``, or is that close
    to one that exceeds it.

    Secant steps in ln z against ln ε, kept inside what is known to bracket the answer: two or three evaluations from a good
    guess. The bracket is halved where two steps have not done so, because ε leaps. What is returned has been evaluated and
    meets the target. Where hardly any noise is needed, because δ alone covers the chance that a record is drawn at all, the
    search ends at 1/10,000 of the guess.

    Raises:
        CalibrationError: the target is not met after 80 steps.
    """
    x, last = math.log(guess), None
    low, high = -math.inf, math.inf
    before = (math.inf, math.inf)
    for _ in range(_MOST_STEPS):
        height = math.log(min(max(epsilon_of(math.exp(x)) / epsilon, 1e-9), 1e9))
        if -tolerance <= height <= 0 or (height <= 0 and x <= math.log(guess) + _LOWEST):
            return math.exp(x)
        low, high = (x, high) if height > 0 else (low, x)
        if high - low <= tolerance:
            return math.exp(high)
        slope = -2.0 if last is None or last[0] == x else min((height - last[1]) / (x - last[0]), _FLATTEST)
        last = (x, height)
        step = -(height + tolerance / 2) / slope
        x += min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        if math.isfinite(high - low):
            tenth = (high - low) / 10
            x = (low + high) / 2 if high - low > before[0] / 2 else min(max(x, low + tenth), high - tenth)
        before = before[1], high - low
    raise CalibrationError(f"no noise level was found that gives epsilon = {epsilon:g}")
