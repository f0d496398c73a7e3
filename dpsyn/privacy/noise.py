"""The only place where randomness comes from.

Without a generator the noise is drawn by OpenDP's exact samplers from the system's entropy: that is what guarantees rest
on (floating-point Laplace noise is not ε-DP: Mironov 2012). With a generator the same distributions are drawn
reproducibly by NumPy, for demonstrations and tests.
"""

from __future__ import annotations

import math
import secrets
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn import checks
from dpsyn.errors import ParameterError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_GRID = 2.0**-40
_FURTHEST = 2.0**62
"""Steps of the grid; with the noise it still fits 64 bits."""
GAUSSIAN_ROUNDING = 2.0**-30
"""Relative allowance on a sensitivity for rounding values to the grid before Gaussian noise is added."""


_LARGEST_WHOLE_SCALE = 2**52
"""Beyond it choices are even, which costs nothing: the exact ones would need more than 64 bits."""
_AT_ONCE = 8192
_LARGEST = 2**62
"""A scale of noise, or a score, that 64 bits can carry."""


class NoiseSource:
    """Noise and draws for one run.

    Args:
        generator: None draws on the system's entropy; a generator makes the run repeatable (``seeded``).
    """

    def __init__(self, generator: np.random.Generator | None) -> None:
        if generator is not None and not isinstance(generator, np.random.Generator):
            raise ParameterError("generator", generator, "a numpy.random.Generator, or None for the system's entropy")
        self.seeded = generator is not None
        self.generator = (
            generator if generator is not None else np.random.Generator(np.random.Philox(key=secrets.randbits(128)))
        )

    def discrete_laplace(self, values: Integers, scale: float) -> Integers:
        """values + Z, P(Z = z) ∝ exp(-|z|/scale) on the integers. Same shape as ``values``.

        With ``scale`` = L1 sensitivity / ε this is ε-DP.

        Raises:
            ParameterError: ``scale`` is above 2^62, or no positive number; ``values`` are no array of whole numbers.
        """
        _check(values)
        scale = _scale(scale, _LARGEST)
        if self.seeded:
            success = -math.expm1(-1 / scale)
            noise = self.generator.geometric(success, values.shape) - self.generator.geometric(success, values.shape)
            return values + noise
        dp, domain = _opendp()
        measurement = dp.measurements.make_laplace(domain, dp.metrics.l1_distance(T="i64"), scale=scale)
        return _through(measurement, values)

    def discrete_gaussian(self, values: Integers, scale: float) -> Integers:
        """values + Z, P(Z = z) ∝ exp(-z²/(2·scale²)) on the integers. Same shape as ``values``.

        With ``scale`` = L2 sensitivity / √(2ρ) this is ρ-zCDP (Canonne, Kamath, Steinke 2020).

        Raises:
            ParameterError: ``scale`` is above 2^62, or no positive number; ``values`` are no array of whole numbers.
        """
        _check(values)
        scale = _scale(scale, _LARGEST)
        if self.seeded:
            return values + _discrete_gaussian(self.generator, scale, values.size).reshape(values.shape)
        dp, domain = _opendp()
        measurement = dp.measurements.make_gaussian(domain, dp.metrics.l2_distance(T="f64"), scale=scale)
        return _through(measurement, values)

    def gaussian(self, values: Floats, scale: float) -> Floats:
        """values + N(0, scale²), on a grid of 2^-40·scale.

        On the grid the noise is the exact discrete Gaussian, whose probabilities differ from those of a rounded Gaussian
        by a factor 1 ± 2^-78 within 10 standard deviations. Rounding moves a value by at most half a step (and by a
        relative 2^-53); the allowance for it is :data:`GAUSSIAN_ROUNDING`. Values beyond 2^22 standard deviations do not
        fit the grid's integers and are clipped there, which moves no two values apart.

        Raises:
            ParameterError: ``scale`` is so small that a step of its grid is no normal double; ``values`` are no array of
                finite numbers.
        """
        _check(values, "iuf")
        scale = _scale(scale)
        if self.seeded:
            return values + self.generator.normal(0.0, scale, values.shape)
        step = scale * _GRID
        if step < sys.float_info.min:
            raise ParameterError("scale", scale, f"at least {sys.float_info.min / _GRID:.3g}, so that its grid is exact")
        steps = np.rint(np.clip(values, -_FURTHEST * step, _FURTHEST * step) / step).astype(np.int64)
        return self.discrete_gaussian(steps, 1 / _GRID).astype(np.float64) * step

    def exponential_choice(self, scores: Integers, scale: float) -> int:
        """A position, i with probability ∝ exp(scores_i/scale): the exponential mechanism. ``scores`` has shape (s,).

        With ``scale`` = 2·(how far a neighbour moves a score)/ε this is ε-DP (McSherry, Talwar 2007) and (ε²/8)-zCDP.
        Scores beyond ±2^62 are taken for that, which moves no two apart.

        Raises:
            ParameterError: ``scale`` is no positive number; ``scores`` are no vector of whole numbers.
        """
        _check_scores(scores)
        scale = _scale(scale)
        if self.seeded:
            return int(np.argmax(scores / scale + self.generator.gumbel(size=scores.shape)))
        dp, domain = _opendp()
        # Asked for this measure, OpenDP adds Gumbel noise, which makes the noisy maximum the exponential mechanism.
        measure = dp.measures.zero_concentrated_divergence()
        choose = dp.measurements.make_noisy_max(domain, dp.metrics.linf_distance(T="i64"), measure, scale=scale)
        return int(choose([min(max(int(score), -_LARGEST), _LARGEST) for score in scores]))

    def exponential_choices(self, scores: Integers, scale: int, count: int) -> Integers:
        """So many choices of :meth:`exponential_choice` from the same scores, independent of each other. Shape (count,).

        Exact and quick where there are many: a position that is drawn evenly is taken with probability
        exp(-(max - scores_i)/scale), or another one is drawn.

        Raises:
            ParameterError: as :meth:`exponential_choice`; ``scale`` or ``count`` is no whole number.
        """
        _check_scores(scores)
        scale, count = checks.whole("scale", scale, 1, checks.LARGEST_COUNT), checks.whole("count", count, 0)
        gaps = scores.max() - scores
        if scale > _LARGEST_WHOLE_SCALE:
            gaps, scale = np.zeros_like(gaps), 1
        if self.seeded:
            weights = np.exp(-gaps / scale)
            return np.asarray(self.generator.choice(len(scores), count, p=weights / weights.sum()))
        found = np.empty(0, dtype=np.int64)
        while len(found) < count:
            drawn = uniform_below(len(scores), _AT_ONCE)
            found = np.concatenate([found, drawn[happens(gaps[drawn], scale)]])
        return found[:count]


def _check(values: Any, kinds: str = "iu") -> None:
    why = f"an array of {'finite' if 'f' in kinds else 'whole'} numbers"
    checks.instance("values", values, np.ndarray, why)
    if values.dtype.kind not in kinds or not np.isfinite(values).all():
        raise ParameterError("values", _unseen(values), why)


def _check_scores(scores: Any) -> None:
    why = "a vector of at least one whole number"
    checks.instance("scores", scores, np.ndarray, why)
    whole = scores.dtype.kind in "iu" or all(type(score) is int for score in scores.tolist())  # or of more than 64 bits
    if scores.ndim != 1 or not scores.size or not whole:
        raise ParameterError("scores", _unseen(scores), why)


def _unseen(values: npt.NDArray[Any]) -> str:
    """What an array is like, without its numbers: these may be private."""
    return f"{values.size} of type {values.dtype}"


def _scale(scale: float, most: float = math.inf) -> float:
    scale = checks.number("scale", scale, above=0.0)
    if scale > most:
        raise ParameterError(
            "scale", scale, f"at most {most:.3g}, which whole numbers of 64 bits can carry; raise epsilon or its share"
        )
    return scale


def _opendp() -> tuple[Any, Any]:
    # Not its prelude, which imports scikit-learn.
    import opendp
    from opendp import domains, measurements, measures, metrics, mod  # noqa: F401

    mod.enable_features("contrib")
    return opendp, domains.vector_domain(domains.atom_domain(T="i64"))


def _through(measurement: Any, values: Integers) -> Integers:
    flat = [int(v) for v in values.ravel()]
    return np.array(measurement(flat), dtype=np.int64).reshape(values.shape)


def uniform_below(limit: int, count: int) -> Integers:
    """Whole numbers from 0 to limit - 1, all equally likely, from the system's entropy. Shape (count,); limit ≤ 2^62."""
    bits = max(1, (limit - 1).bit_length())
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        drawn = (np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64) >> (64 - bits)).astype(np.int64)
        found = np.concatenate([found, drawn[drawn < limit]])
    return found[:count]


def happens(numerators: Integers, denominator: int) -> npt.NDArray[np.bool_]:
    """Coins that show True with probability exp(-numerator/denominator) exactly, in whole numbers. Same shape.

    Canonne, Kamath, Steinke 2020, Algorithm 1, for all coins at once: e^-1 as often as it goes in, then the rest.

    Args:
        numerators: not negative, shape (k,).
        denominator: positive, at most 2^52.
    """
    up = np.ones(len(numerators), dtype=bool)
    whole = numerators // denominator
    turn = 0
    while len(left := np.flatnonzero(up & (whole > turn))):
        up[left] = _happens_once(np.full(len(left), denominator), denominator)
        turn += 1
    left = np.flatnonzero(up)
    up[left] = _happens_once(numerators[left] % denominator, denominator)
    return up


def _happens_once(numerators: Integers, denominator: int) -> npt.NDArray[np.bool_]:
    """The same for numerators up to the denominator: the first K with a coin of γ/K that shows False is odd."""
    odd = np.ones(len(numerators), dtype=bool)
    going, k = np.arange(len(numerators)), 1
    while len(going):
        going = going[uniform_below(denominator * k, len(going)) < numerators[going]]
        odd[going] = ~odd[going]
        k += 1
    return odd


def _discrete_gaussian(generator: np.random.Generator, scale: float, count: int) -> Integers:
    """Rejection from the discrete Laplace (Canonne, Kamath, Steinke 2020, Algorithm 3), vectorised."""
    width = math.floor(scale) + 1
    success = -math.expm1(-1 / width)
    drawn = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        ask = max(2 * (count - filled), 16)
        z = generator.geometric(success, ask) - generator.geometric(success, ask)
        with np.errstate(over="ignore"):  # so far out that nothing is kept
            exponent = -(((np.abs(z) - scale**2 / width) / scale) ** 2) / 2
        kept = z[generator.random(ask) < np.exp(exponent)][: count - filled]
        drawn[filled : filled + len(kept)] = kept
        filled += len(kept)
    return drawn
