"""Exact (ε, δ) of discrete Gaussian noise on integers of which a neighbour moves a known number by a known step.

Let a neighbour move N coordinates by ±v, under noise P(Z = z) ∝ exp(-z²/(2σ²)). The privacy loss at the output is
(N·v² - 2v·S)/(2σ²), where S is a sum of N such variables (up to signs, and the noise is symmetric), so its law and with it
δ(ε) = E[(1 - e^{ε - loss})₊] follow from that of S (Canonne, Kamath, Steinke 2020, section 4). Neighbours that move fewer
coordinates are covered: leaving coordinates out is post-processing. Several scales compose by adding the losses; here their
1/σ² are whole multiples of one number, so that all losses lie on one lattice and nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.privacy.zcdp import zcdp_rho

Floats = npt.NDArray[np.float64]

_SMALLEST_DELTA = 1e-10
"""Below it the rounding of the transforms would matter; then the bound by zCDP is used."""
_NARROW = 0.75
"""Scales below it are left to zCDP, as the lattice would not be fine against the noise."""
_LONGEST = 2**22
_DEVIATIONS = 14.0
_ROOT = math.sqrt(2)
_ROUNDING = 1e-14
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
"""Of the sum that stands for an integral over -1 to 1. SciPy has it as well, and imports all of its optimisers with it."""
_FAR = 1000.0
"""Beyond it δ is 0, and what follows from it would overflow."""
_ALLOWANCE = 1e-13
"""For wrapped tails (P < 1e-40 beyond 14 standard deviations) and for rounding in transforms of length 2^22 at most."""


@dataclass(frozen=True)
class Moved:
    """What one neighbour does to coordinates of equal noise.

    Attributes:
        count: N, how many coordinates move.
        step: v, by how much each moves.
        weight: their noise has the scale σ/√weight.

    Raises:
        ParameterError: one of them is no whole number, or below 0 (the weight: below 1).
    """

    count: int
    step: int = 1
    weight: int = 1

    def __post_init__(self) -> None:
        for field, least in (("count", 0), ("step", 0), ("weight", 1)):
            object.__setattr__(self, field, checks.whole(field, getattr(self, field), least))


def _all(moved: object) -> list[Moved]:
    why = "a list of Moved(count, step, weight)"
    return [checks.instance("moved", part, Moved, why) for part in checks.items("moved", moved, why)]


def continuous_delta(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) of Gaussian noise at μ = ‖shift‖/σ (Balle, Wang 2018), never too small.

    Where δ is below the smallest positive number of double precision it is 0.
    """
    return min(1.0, math.exp(_log_delta(mu, epsilon)))


def _log_delta(mu: float, epsilon: float) -> float:
    """ln δ(ε) of Gaussian noise at μ, with what may be lost to rounding added: 1e-14, and as much of what t is made of.

    With t = ε/μ - μ/2 and w(x) = erfcx(x/√2), δ(ε) is e^{-t²/2} (w(t) - w(t + μ))/2. For a small μ that is a difference of
    equal numbers; then -w'(x) = √(2/π) - x·w(x) is summed over t to t + μ instead.
    """
    from scipy.special import erfcx, log_ndtr

    if mu <= 0:
        return -math.inf
    at, half = epsilon / mu, mu / 2
    t = min(at - half - _ROUNDING * (at + half), _FAR)
    if mu <= 1:
        slope = _WEIGHTS @ _minus_twice_the_slope((_NODES + 1) / 2, t, mu) / 4
        return float(-t * t / 2 + math.log(mu) + math.log(slope)) + _ROUNDING
    kept = -t * t / 2 + math.log(erfcx((t + mu) / _ROOT) / 2) - log_ndtr(-t)
    return float(log_ndtr(-t) + math.log(-math.expm1(min(kept, 0.0)))) + _ROUNDING


def _minus_twice_the_slope(along: Floats, t: float, mu: float) -> Floats:
    """-w' at t + μ·along."""
    from scipy.special import erfcx

    x = t + along * mu
    return np.asarray(math.sqrt(2 / math.pi) - x * erfcx(x / _ROOT))


@np.errstate(under="ignore")
def discrete_delta(moved: Sequence[Moved], scale: float, epsilon: float) -> float:
    """δ(ε) of discrete Gaussian noise of scale σ/√weight on coordinates that a neighbour moves so.

    Exact up to :data:`_ALLOWANCE`, which is added, so the answer is never too small. 1.0 where the lattice would be too
    long.

    Raises:
        ParameterError: the scale is no positive number, ε is none from 0, or ``moved`` is something else.
    """
    moved, epsilon = _all(moved), checks.number("epsilon", epsilon, 0.0)
    # Scales beyond these need a lattice that is too long, or are too narrow for one.
    scale = min(max(checks.number("scale", scale, above=0.0), checks.SMALLEST_SCALE), checks.LARGEST_SCALE)
    base = 1 / (2 * scale**2)
    # Loss in units of 1/(2σ²): Σ_g weight_g (N_g v_g² - 2 v_g S_g); S_g enters with the dilation 2 weight_g v_g.
    parts = [(part.count, 2 * part.weight * part.step, scale / math.sqrt(part.weight)) for part in moved if part.count]
    mean = sum(part.count * part.weight * part.step**2 for part in moved)
    spread = math.sqrt(sum(count * (dilation * sd) ** 2 for count, dilation, sd in parts))
    common = math.gcd(*(dilation for _, dilation, _ in parts)) if parts else 1
    reach = math.ceil(_DEVIATIONS * spread / common)
    length = 1 << (2 * reach + 1).bit_length()
    if length > _LONGEST or any(sd < _NARROW for _, _, sd in parts):
        return 1.0
    frequency = 2 * math.pi * np.arange(length // 2 + 1) / length
    log_transform = np.zeros(length // 2 + 1)
    for count, dilation, sd in parts:
        log_transform += count * _log_transform(frequency * (dilation // common), sd)
    transform = np.exp(log_transform)
    law = np.maximum(np.fft.irfft(transform, length), 0.0)
    at = np.arange(length)
    at = np.where(at >= length // 2, at - length, at) * common
    loss = base * (mean - at)
    gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(law @ gain) + _ALLOWANCE


def _log_transform(frequency: Floats, sd: float) -> Floats:
    """ln E[cos(ω Z)] of one discrete Gaussian: Σ_n exp(-sd²(ω + 2πn)²/2) over the same sum at ω = 0 (Poisson's formula)."""
    turned = 2 * math.pi
    near = np.abs(frequency - turned * np.rint(frequency / turned))
    others = range(-3, 4)
    tail = sum(np.exp(-(sd**2) * turned * n * (2 * near + turned * n) / 2) for n in others if n)
    at_zero = sum(math.exp(-(sd**2) * (turned * n) ** 2 / 2) for n in others)
    return np.asarray(-(sd**2) * near**2 / 2 + np.log1p(tail) - math.log(at_zero))


def gaussian_scale(moved: Sequence[Moved], epsilon: float, delta: float) -> tuple[float, str]:
    """Smallest σ found for which discrete Gaussian noise of scale σ/√weight is (ε, δ)-DP, and by which argument.

    Starts at the scale of continuous noise and enlarges it until the exact δ is small enough. Where the exact law is out of
    reach (very small δ or scales, very long lattices), σ = ‖shift‖/√(2ρ) by zCDP.

    Returns:
        σ, and ``"exact"`` or ``"zcdp"``.

    Raises:
        ParameterError: δ = 0, ε is no number from 0 to 1e100, or nothing moves.
    """
    moved, epsilon = _all(moved), checks.number("epsilon", epsilon, 0.0, checks.LARGEST_SCALE)
    delta = checks.number("delta", delta)
    length = math.sqrt(sum(part.count * part.weight * part.step**2 for part in moved))
    if length == 0:
        raise ParameterError("moved", tuple(moved), "at least one coordinate that moves")
    by_zcdp = length / math.sqrt(2 * zcdp_rho(epsilon, delta)) * (1 + _ROUNDING)
    if delta < _SMALLEST_DELTA:
        return by_zcdp, "zcdp"
    scale = length / continuous_mu(epsilon, delta) * (1 + 1e-9)
    excess = 1e-6
    while scale < by_zcdp:
        if discrete_delta(moved, scale, epsilon) <= delta:
            return scale, "exact"
        scale *= 1 + excess
        excess *= 4
    return by_zcdp, "zcdp"


def continuous_mu(epsilon: float, delta: float) -> float:
    """Largest μ, from below, with :func:`continuous_delta` at most δ."""
    allowed, low = math.log(delta), 1.0
    while _log_delta(low, epsilon) > allowed:
        low /= 2
    high = 2 * low
    while _log_delta(high, epsilon) <= allowed:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _log_delta(middle, epsilon) <= allowed else (low, middle)
    return low
