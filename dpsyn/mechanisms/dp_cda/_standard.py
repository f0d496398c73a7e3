"""Means and standard deviations of the numbers, released with Gaussian noise: a private z-score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsyn.mechanisms.dp_cda._feature_map import FeatureMap, Standard
from dpsyn.mechanisms.dp_cda.accounting._loss_pairs import Part
from dpsyn.mechanisms.dp_cda.accounting._pld import gaussian_epsilon, smallest_multiplier
from dpsyn.privacy.noise import GAUSSIAN_ROUNDING, NoiseSource
from dpsyn.privacy.spec import Neighbouring
from dpsyn.table import Table

SMALLEST_SPREAD = 1e-3
"""In units of half the distance between the bounds: a constant column must not be divided by nothing."""


@dataclass(frozen=True)
class StandardRelease:
    """The release of (Σ x_j, Σ x_j²) over the records, x_j ∈ [-1, 1] between the public bounds of number j of q.

    Replacing a record changes (x, x²) of a number by (x - x', x² - x'²), whose squared length (x - x')²(1 + (x + x')²) is at
    most 4, for x = -x' = ±1; so the L2 sensitivity is 2√q. Adding one changes it by (x, x²), of squared length at most 2,
    and n, which is then a secret and is released too, by 1: √(2q + 1).

    Attributes:
        numbers: q.
        multiplier: standard deviation of the noise over the sensitivity.
        neighbouring: as the guarantee has it.
    """

    numbers: int
    multiplier: float
    neighbouring: Neighbouring

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of the sums."""
        return 2 * math.sqrt(self.numbers) if self.neighbouring == "replace_one" else math.sqrt(2 * self.numbers + 1)

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on every sum, with the allowance for the grid of the sampler."""
        return self.multiplier * self.sensitivity * (1 + GAUSSIAN_ROUNDING)

    @property
    def part(self) -> Part:
        """What it costs, for composition with the rows: one Gaussian mechanism."""
        return Part("remove", 1.0, 1, self.multiplier)

    def run(self, noise: NoiseSource, features: FeatureMap, table: Table) -> Standard:
        """Means and standard deviations from the noisy sums; deviations have a public lower bound."""
        at = features.number_coordinates
        values = features.encode(table)[:, at] * features.length
        sums = np.concatenate([values.sum(axis=0), (values**2).sum(axis=0), [len(values)]])
        if self.neighbouring == "replace_one":
            noisy, n = noise.gaussian(sums[:-1], self.noise_scale), float(table.n)
        else:
            released = noise.gaussian(sums, self.noise_scale)
            noisy, n = released[:-1], max(1.0, float(released[-1]))
        centre = np.clip(noisy[: len(at)] / n, -1.0, 1.0)
        error = 2 * self.noise_scale / n
        variance = np.clip(noisy[len(at) :] / n, 0.0, 1.0) - centre**2
        return Standard(centre, np.sqrt(np.clip(variance, max(SMALLEST_SPREAD**2, min(error, 1.0)), 1.0)))


def standard_release(epsilon: float, delta: float, numbers: int, neighbouring: Neighbouring) -> StandardRelease:
    """With the least noise that has at most ``epsilon`` at δ by itself."""
    multiplier = smallest_multiplier(lambda z: gaussian_epsilon(1 / z, delta), epsilon, 1.0, spread=2.0, tolerance=1e-6)
    return StandardRelease(numbers, multiplier, neighbouring)
