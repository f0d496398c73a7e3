"""The pairs of distributions that dominate one mixed row, and their privacy losses on a grid.

With Q = N(0, 1), P = N(μ, 1), P' = N(-μ, 1) and A = (1-p)Q + pP, A' = (1-p)Q + pP': ``"remove"`` is (A, Q), ``"add"`` is
(Q, A), ``"replace"`` the symmetric pair whose δ(ε) for ε ≥ 0 is that of ``"remove"``, and ``"swap"`` is (A, A'), which is
symmetric as it stands. A loss distribution of a pair (A, B) is the law of L = ln(A/B)(x) for x ~ A. Here it lives on whole
multiples of a step. Mass between two grid points is split between them so that both its A-measure and its B-measure are kept
("connect the dots", Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): δ(ε) is then exact at grid points and too large
between them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

Floats = npt.NDArray[np.float64]
Pair = Literal["remove", "add", "replace", "swap"]


class Part(NamedTuple):
    """So many rows that one pair dominates.

    Attributes:
        pair: which pair.
        rate: p.
        rows: how many rows.
        multiplier: 1/μ where it is fixed; None takes the noise multiplier z of the rows that are mixed.
    """

    pair: Pair
    rate: float
    rows: int
    multiplier: float | None = None

    def shift(self, mixed: float) -> float:
        """μ, where mixed rows have μ = ``mixed``."""
        if self.multiplier is None:
            return mixed
        return 1 / self.multiplier if self.multiplier > 0 else math.inf

    @property
    def distance(self) -> int:
        """How many μ the Gaussians are apart if every row holds the record."""
        return 2 if self.pair == "swap" else 1


_TAIL = 1e-22
_MIRRORED = 40.0
_NOTHING = 1e-30
"""Masses below it are put at infinity."""


def discretised(pair: Pair, rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """Loss of one row on multiples of ``step``: index of the lowest point, masses, and the mass of an infinite loss."""
    build = {"remove": _remove, "add": _add, "replace": _replace, "swap": _swap}[pair]
    lower, masses, infinity = build(rate, shift, step)
    kept = masses > _NOTHING
    return lower, np.where(kept, masses, 0.0), infinity + float(masses[~kept].sum())


def span(pair: Pair, rate: float, shift: float) -> float:
    """Largest loss that is not put at infinity."""
    edge = -float(ndtri(_TAIL)) + shift
    return _swap_loss(edge, rate, shift) if pair == "swap" else _loss(edge, rate, shift)


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


def _swap_loss(x: float, rate: float, shift: float) -> float:
    """ln of (1-p)Q + pP over (1-p)Q + pP' at x; odd and increasing in x."""
    return _loss(x, rate, shift) - _loss(-x, rate, shift)


def _swap_where(losses: Floats, rate: float, shift: float) -> Floats:
    """Inverse of :func:`_swap_loss`: μx = L/2 + asinh(e^{μ²/2}·sinh(L/2)·(1-p)/p), a quadratic equation in e^{μx}."""
    if rate == 1:
        return losses / (2 * shift)
    half = np.abs(losses) / 2
    with np.errstate(divide="ignore"):
        log_sine = half + np.log(-np.expm1(-2 * half)) - math.log(2)
    log_argument = log_sine + math.log1p(-rate) - math.log(rate) + shift * shift / 2
    # Beyond e^20 the inverse is ln(2y) up to 1e-18.
    inverse = np.where(log_argument > 20, log_argument + math.log(2), np.arcsinh(np.exp(np.minimum(log_argument, 20.0))))
    found: Floats = np.sign(losses) * (half + inverse) / shift
    return found


def _swap(rate: float, shift: float, step: float) -> tuple[int, Floats, float]:
    """(1-p)Q + pP against (1-p)Q + pP'. Mass above the grid goes to infinity, mass below it to its lowest point."""
    upper = math.ceil(span("swap", rate, shift) / step)
    x = _swap_where(np.arange(-upper, upper + 1, dtype=np.float64) * step, rate, shift)
    base = (1 - rate) * _between(x, 0.0)
    masses = _split(base + rate * _between(x, shift), base + rate * _between(x, -shift), -upper, step)
    masses[0] += (1 - rate) * float(ndtr(x[0])) + rate * float(ndtr(x[0] - shift))
    return -upper, masses, (1 - rate) * float(ndtr(-x[-1])) + rate * float(ndtr(shift - x[-1]))
