"""How ε and δ are shared out, the ledger that says so, and the private means and deviations that a share may go to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsyn.errors import CalibrationError
from dpsyn.mechanisms.dp_cda._checks import count_margin
from dpsyn.mechanisms.feature_map import SMALLEST_SPREAD, FeatureMap, Standard
from dpsyn.privacy.mixing.averaging import allowance
from dpsyn.privacy.mixing.pairs import Part
from dpsyn.privacy.mixing.pld import gaussian_epsilon, gaussian_multiplier
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Neighbouring, PrivacySpec
from dpsyn.table import Table

if TYPE_CHECKING:
    from dpsyn.mechanisms.dp_cda._config import DPCDA

OVERSTATED_SHARE = 0.1
"""Share of δ for the event that privately estimated class sizes, less their margin, overstate a true one."""

_SMALLEST_BETA = 1e-300
"""Of that event: numbers of classes over it are still finite."""

_ROUNDING = 1e-12
"""By how much the noise on counts is larger than it has to be: rounding in its scale cannot cost more than ε."""

_STEP = 2.0**-14
"""To which numbers are rounded before they are added up: whole numbers of steps have exact sums, of 30 million rows too."""


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
        return self.multiplier * self.sensitivity * allowance(self.multiplier, 0, 2 * self.numbers + 1)

    @property
    def part(self) -> Part:
        """What it costs, for composition with the rows: one Gaussian mechanism."""
        return Part("remove", 1.0, 1, self.multiplier)

    def run(self, noise: NoiseSource, features: FeatureMap, table: Table) -> Standard:
        """Means and standard deviations from the noisy sums; deviations have a public lower bound."""
        at = features.number_coordinates
        # Sums of floating-point numbers would hang, in their last bits, on every row: a neighbour could move them further.
        steps = np.rint(features.encode(table)[:, at] * features.length / _STEP).astype(np.int64)
        sums = np.concatenate([steps.sum(axis=0) * _STEP, (steps**2).sum(axis=0) * _STEP**2, [len(steps)]])
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
    return StandardRelease(numbers, gaussian_multiplier(epsilon, delta, 1, tolerance=1e-6), neighbouring)


@dataclass(frozen=True)
class Budget:
    """ε and δ of every part.

    Attributes:
        epsilon_for_counts: ε₁, zero if the class sizes are public.
        overstated_probability: β, zero if the class sizes are public or need not be right.
        epsilon, delta: what is left for means, deviations and averages together.
        count_noise_scale: s of the discrete Laplace noise on every class count; 0 if there is none.
        count_margin: t, taken off every noisy count.
        standard: the release of means and deviations, if there is one.
    """

    epsilon_for_counts: float
    overstated_probability: float
    epsilon: float
    delta: float
    count_noise_scale: float
    count_margin: int
    standard: StandardRelease | None

    @property
    def counted(self) -> bool:
        """Whether class sizes are estimated."""
        return self.epsilon_for_counts > 0

    @classmethod
    def split(cls, config: DPCDA, spec: PrivacySpec, numbers: int, classes: int, *, counted: bool) -> Budget:
        """The shares that the configuration asks for.

        Raises:
            CalibrationError: δ is so small that its share for class counts is no number to compute with.
        """
        first, margined = config.count_share * spec.epsilon if counted else 0.0, counted and config.variant == "fixed_size"
        beta = OVERSTATED_SHARE * spec.delta if margined else 0.0
        if margined and beta < _SMALLEST_BETA:
            least = 2 * _SMALLEST_BETA / OVERSTATED_SHARE
            raise CalibrationError(f"delta is too small for class counts to have a part of it: delta = {least:.2g} would do")
        scale = (2 if spec.neighbouring == "replace_one" else 1) / first * (1 + _ROUNDING) if counted else 0.0
        epsilon, delta = spec.epsilon - first, spec.delta - beta
        standard = None
        if config.scaling == "private" and numbers > 0:
            standard = standard_release(config.scaling_share * epsilon, delta, numbers, spec.neighbouring)
        margin = count_margin(scale, classes, beta) if margined else 0
        return cls(first, beta, epsilon, delta, scale, margin, standard)

    def ledger(self, spec: PrivacySpec, averages: dict[str, Any]) -> list[dict[str, Any]]:
        """One entry per part; shares add up to 1. ε and δ of a part are those that it has by itself.

        Counts and the rest compose by adding up; means, deviations and averages as privacy-loss distributions, so that
        together they have ``epsilon`` and ``delta`` of the rest although their own ε add up to more.
        """
        entries: list[dict[str, Any]] = []

        def add(name: str, share: float, epsilon: float, delta: float, noise: str, scale: float) -> None:
            entries.append(
                {"name": name, "share": share, "epsilon": epsilon, "delta": delta, "noise": noise, "scale": scale}
            )

        if self.counted:
            first, beta = self.epsilon_for_counts, self.overstated_probability
            add("class counts", first / spec.epsilon, first, beta, "discrete Laplace", self.count_noise_scale)
        rest, share = self.epsilon / spec.epsilon, 0.0
        if self.standard is not None:
            alone = gaussian_epsilon(1 / self.standard.multiplier, self.delta)
            share = rest * alone / self.epsilon
            add("means and deviations", share, alone, self.delta, "discrete Gaussian", self.standard.noise_scale)
        entries.append({"name": "averages", "share": rest - share, "delta": self.delta, "noise": "Gaussian"} | averages)
        return entries
