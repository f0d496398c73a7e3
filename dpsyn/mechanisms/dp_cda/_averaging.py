"""Noisy averages: the one step of DP-CDA that a guarantee rests on. The mechanism and the audits both call it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dpsyn.mechanisms.dp_cda._class_averages import class_averages, poisson_averages
from dpsyn.mechanisms.dp_cda.accounting.functions import Variant

Floats = npt.NDArray[np.float64]
AddNoise = Callable[[Floats], Floats]

_CELLS = 1 << 18
_STEPS = 64
_DRAWS = 1 << 20


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
    step = max(1, min(_CELLS // max(dimension, 1), _DRAWS // order_of_mixture, rows))
    share = rate if rate is not None else min(1.0, order_of_mixture / max(len(members), 1))
    for start in range(0, rows, step):
        count = min(step, rows - start)
        if variant == "poisson":
            averages = poisson_averages(members, order_of_mixture, share, count, generator)
        else:
            averages = class_averages(members, order_of_mixture, count, generator)
        yield start, add_noise(averages) if dimension else averages
