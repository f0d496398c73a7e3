"""Averages of records of one class, and the noise on them: the one step of DP-CDA that a guarantee rests on.

The mechanism, the audits and the pictures all call it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.privacy.mixing.pairs import Variant
from dpsyn.privacy.noise import GAUSSIAN_ROUNDING
from dpsyn.privacy.spec import SYSTEM_NOISE, rounded_down, rounded_up

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
AddNoise = Callable[[Floats], Floats]

_BLOCK = 1 << 18
_STEPS = 64
_DRAWS = 1 << 20
_DENSE = 8
"""From a share of 1/8 of the class on, a product with a matrix of zeros and ones is quicker than gathering rows."""
_CELLS = 4_000_000


def gaussian_noise(noise_scale: float, generator: np.random.Generator, *, on_grid: bool = False) -> AddNoise:
    """Adds N(0, σ²) to every coordinate, in floating point.

    ``on_grid`` rounds the sum to whole multiples of :func:`grid_step`. In real numbers that is post-processing and costs
    nothing. In floating point it keeps back the low bits of a sum, which tell what was added to what (Mironov 2012): an
    error of size e changes the rounded sum with a probability of about 2e/step. The generator's steps and the rounding of
    product and sum make e about 2^-50·σ + 2^-53·|average|, so that is 2^-41 where the average is below 8σ.
    """
    # Doubles between 2^52 and 2^53 steps are whole multiples of a step: adding this rounds, taking it off is exact.
    shift = 1.5 * 2.0**52 * grid_step(noise_scale)

    def add(values: Floats) -> Floats:
        noise = generator.standard_normal(values.shape)
        noise *= noise_scale
        noise += values
        if on_grid:
            noise += shift
            noise -= shift
        return noise

    return add


def grid_step(noise_scale: float) -> float:
    """The largest power of two that is at most σ/64: rounding to it adds a variance of σ²/49,000 at most."""
    return 2.0 ** (math.frexp(noise_scale / _STEPS)[1] - 1)


_USUAL_AVERAGE = 8.0
"""Over σ, on the mean: what is assumed of averages, at least, where nothing public bounds them."""

NEVER = 2.0**-1000
"""Probability with which a sum may have more records than σ allows for."""


def most_picked(expected: float) -> int:
    """Records that coins pick, of which so many are expected: more with a probability of at most :data:`NEVER`.

    Bernstein: t more than that with at most exp(-t²/(2(expected + t/3))).
    """
    exponent = -math.log(NEVER)
    return math.ceil(expected + exponent / 3 + math.sqrt(exponent**2 / 9 + 2 * exponent * expected))


def changed_by_floating_point(numbers: int, average: float | None) -> float:
    """About the probability that floating point changes one of so many noisy, rounded numbers (:func:`gaussian_noise`).

    2e/step with e = 2^-50·σ + 2^-53·|average| and steps of at least σ/128.

    Args:
        numbers: how many.
        average: the expected mean of |average|/σ over them, at most: 1/√d of a row's length over σ, where it has d of them.
            None takes 8, where nothing public bounds it.
    """
    return numbers * (2.0**-42 + 2.0**-45 * (_USUAL_AVERAGE if average is None else average))


def _assumed_average(numbers: int, delta: float) -> float:
    """The mean at which :func:`changed_by_floating_point` is δ; 8 at least."""
    return max(_USUAL_AVERAGE, (delta / numbers - 2.0**-42) * 2.0**45)


def floating_noise_assumption(
    numbers: int, average: float | None, delta: float, remedy: str = "noise_sampler='exact' closes that gap."
) -> str:
    """What a release takes for granted of noise from NumPy's generator.

    Args:
        numbers: see :func:`changed_by_floating_point`.
        average: see there.
        delta: of the claim.
        remedy: what makes the probability smaller.
    """
    if average is None:
        most = rounded_down(_assumed_average(numbers, delta), 3)
        remedy += (
            f" This is where numbers without noise are {_USUAL_AVERAGE:.0f}σ in size, on the mean. Nothing public bounds "
            f"them, as n is a secret: it is assumed that they are at most {most}σ."
        )
    return (
        f"{SYSTEM_NOISE}, in floating point, so it is only nearly Gaussian. Noisy averages are rounded to steps of about "
        "σ/64, so that low bits give nothing away; that floating point then changes one of the "
        f"{numbers:,} numbers has a probability of about {rounded_up(changed_by_floating_point(numbers, average), 2)} "
        f"in all, which is not part of δ and is taken for never. {remedy}"
    )


def allowance(multiplier: float, summed: int, dimension: int) -> float:
    """The factor by which σ is larger than accounting asks for, for what floating point does to sums before the noise.

    Rounding both of two averages to a grid of step 2^-40·σ moves their difference by at most 2^-40·σ·√dimension, so the
    multiplier z that accounting asks for is met by σ = zΔ(1 + 2^-30)(1 + z·2^-39·√dimension). Summing m records in any
    order errs by at most m·2^-53·c·m/l in an average, so by m²·2^-53 of Δ = 2c/l in the difference of two.

    Args:
        multiplier: z = σ/Δ.
        summed: m, records in an average, at most.
        dimension: of a record.
    """
    return (1 + GAUSSIAN_ROUNDING + summed**2 * 2.0**-52) * (1 + multiplier * 2.0**-39 * math.sqrt(dimension))


def noisy_averages(
    members: Floats,
    order_of_mixture: int,
    rows: int,
    noise_scale: float,
    generator: np.random.Generator,
    *,
    variant: Variant = "fixed_size",
    rate: float | None = None,
) -> Floats:
    """(1/l) Σ x + N(0, σ²I) for each row, the records x drawn afresh: what DP-CDA releases of one class. (rows, dimension)

    Args:
        members: the records of the class, scaled and clipped, shape (N_k, dimension).
        order_of_mixture: l.
        rows: how many.
        noise_scale: σ.
        generator: draws the records and the noise.
        variant: ``"fixed_size"`` draws l records without replacement, ``"poisson"`` each record with probability ``rate``.
        rate: of ``"poisson"``; None takes l/N_k, which is private unless N_k is public.
    """
    add = gaussian_noise(noise_scale, generator)
    parts = [
        block for _, block in averages_in_blocks(members, order_of_mixture, rows, add, generator, variant=variant, rate=rate)
    ]
    return np.concatenate(parts)


def averages_in_blocks(
    members: Floats,
    order_of_mixture: int,
    rows: int,
    add_noise: AddNoise,
    generator: np.random.Generator,
    *,
    variant: Variant,
    rate: float | None = None,
) -> Iterator[tuple[int, Floats]]:
    """The rows block by block, each with the number of its first row; a block fits the processor's cache."""
    dimension = members.shape[1]
    at_once = max(1, min(_BLOCK // max(dimension, 1), _DRAWS // order_of_mixture, rows))
    share = rate if rate is not None else order_of_mixture / max(len(members), 1)
    for start in range(0, rows, at_once):
        count = min(at_once, rows - start)
        if variant == "poisson":
            averages = poisson_averages(members, order_of_mixture, share, count, generator)
        else:
            averages = class_averages(members, order_of_mixture, count, generator)
        yield start, add_noise(averages)


def repeated_averages(
    members: Floats, order_of_mixture: int, rows: int, noise_scale: float, seed: Sequence[int], *, variant: Variant
) -> tuple[Integers, Floats, Floats]:
    """What :func:`noisy_averages` does, for pictures: a record of each row, its average, and the average with its noise.

    A larger l adds records to the same average and a larger σ stretches the same noise, so what changes between two
    settings is their doing and not chance. l is at most the number of members.

    Args:
        members: the records of the class, scaled and clipped.
        order_of_mixture: l.
        rows: how many.
        noise_scale: σ.
        seed: of the draw.
        variant: as there.

    Returns:
        The first of the members drawn for each row, shape (rows,), and both averages, shape (rows, dimension).
    """
    from scipy.stats import binom

    generator = np.random.default_rng(seed)
    generator.standard_normal((rows, members.shape[1]))  # the noise below; the records come after it
    order = min(order_of_mixture, len(members))
    first, chosen = np.zeros(rows, dtype=np.int64), []
    for row in range(rows):
        shuffled, chance = generator.permutation(len(members)), generator.random()
        first[row] = shuffled[0]
        taken = int(binom.ppf(chance, len(members), order / len(members))) if variant == "poisson" else order
        chosen.append(shuffled[:taken])
    starts = np.concatenate([[0], np.cumsum([len(taken) for taken in chosen])])
    averages = _sums(members, np.concatenate(chosen), starts) / order
    return first, averages, gaussian_noise(noise_scale, np.random.default_rng(seed))(averages)


def class_averages(members: Floats, order: int, rows: int, generator: np.random.Generator) -> Floats:
    """Averages of ``order`` members drawn uniformly without replacement, afresh for each row. Shape (rows, dimension).

    With fewer members than ``order``, zero records stand in for the missing ones: the caller's guarantee does not count on
    that case, but it must not stop either.
    """
    if len(members) < order:
        members = np.concatenate([members, np.zeros((order - len(members), members.shape[1]))])
    size = len(members)
    if _DENSE * order < size:
        chosen = distinct_draws(rows, order, size, generator)
        return _sums(members, chosen.ravel(), np.arange(0, rows * order + 1, order)) / order
    averages = np.empty((rows, members.shape[1]))
    for start, stop in _chunks(rows, size):
        count = stop - start
        drawn = min(order, size - order)
        taken = np.zeros((count, size))
        np.put_along_axis(taken, distinct_draws(count, drawn, size, generator), 1.0, axis=1)
        averages[start:stop] = (taken if drawn == order else 1.0 - taken) @ members
    return averages / order


def poisson_averages(members: Floats, order: int, rate: float, rows: int, generator: np.random.Generator) -> Floats:
    """Sums of the members that coins of probability ``rate`` pick, afresh for each row, divided by ``order``.

    Shape (rows, dimension). Drawing the number of members first (binomial) and then so many without replacement has the law
    of the coins and takes time for the picked ones only.
    """
    size, dimension = members.shape
    if size == 0:
        return np.zeros((rows, dimension))
    if _DENSE * rate < 1:
        counts = generator.binomial(size, rate, rows)
        return _sums(members, _distinct_flat(counts, size, generator), np.concatenate([[0], np.cumsum(counts)])) / order
    averages = np.empty((rows, dimension))
    for start, stop in _chunks(rows, size):
        averages[start:stop] = (generator.random((stop - start, size)) < rate).astype(np.float64) @ members
    return averages / order


def distinct_draws(rows: int, order: int, size: int, generator: np.random.Generator) -> Integers:
    """Uniform subsets of 0 … size-1 with ``order`` elements, one a row and sorted. Shape (rows, order).

    Repeated elements are drawn again until there are none. Renaming the elements renames the outcome, so that no subset is
    likelier than another.
    """
    chosen = np.sort(generator.integers(0, size, (rows, order)))
    pending = np.arange(rows)
    while len(pending):
        block = chosen[pending]
        repeated = block[:, 1:] == block[:, :-1]
        unfinished = repeated.any(axis=1)
        pending, block, repeated = pending[unfinished], block[unfinished], repeated[unfinished]
        block[:, 1:][repeated] = generator.integers(0, size, int(repeated.sum()))
        chosen[pending] = np.sort(block)
    return chosen


def _distinct_flat(counts: Integers, size: int, generator: np.random.Generator) -> Integers:
    """As :func:`distinct_draws` for subsets of different sizes, one after another. Shape (Σ counts,)."""
    keys = np.repeat(np.arange(len(counts)) * size, counts)
    keys = np.sort(keys + generator.integers(0, size, len(keys)))
    while True:
        repeated = np.flatnonzero(keys[1:] == keys[:-1]) + 1
        if not len(repeated):
            return keys % size
        keys[repeated] += generator.integers(0, size, len(repeated)) - keys[repeated] % size
        keys.sort()


def _sums(members: Floats, chosen: Integers, starts: Integers) -> Floats:
    from scipy.sparse import csr_matrix

    shape = (len(starts) - 1, len(members))
    picked: Any = csr_matrix((np.ones(len(chosen)), chosen, starts), shape=shape)
    return np.asarray(picked @ members)


def _chunks(rows: int, size: int) -> list[tuple[int, int]]:
    at_once = max(1, _CELLS // size)
    return [(start, min(start + at_once, rows)) for start in range(0, rows, at_once)]
