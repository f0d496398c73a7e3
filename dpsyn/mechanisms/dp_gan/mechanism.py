"""DP-GAN: a critic under DP-SGD, a generator that learns from the critic alone, and rows that the generator makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from dpsyn import checks
from dpsyn.domain import Codes, Domain
from dpsyn.errors import CalibrationError
from dpsyn.mechanisms.base import ROWS, Axis, Progress
from dpsyn.mechanisms.categories import Categories, OnCategories, claimed
from dpsyn.mechanisms.dp_gan.networks import Columns, Critic, Floats, Generator, Learning, parameters
from dpsyn.privacy.mixing.averaging import (
    AddNoise,
    allowance,
    changed_by_floating_point,
    floating_noise_assumption,
    gaussian_noise,
    most_picked,
)
from dpsyn.privacy.mixing.exact import TOLERANCE, calibrated_multiplier, worst_epsilon
from dpsyn.privacy.mixing.pairs import MixedClass, Part, dominating
from dpsyn.privacy.mixing.pld import gaussian_multiplier
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.memory import require_memory
from dpsyn.theory.formulas import Paper

_COUNT_SHARE = 0.1
"""ε that the noisy counts would have by themselves, as a share of what there is."""
_MADE = 300
"""Rows that the generator makes in a step."""
_SUMMED = 2**20
"""Rows in a sum that the noise allows for in any case: their rounding is 2^-12 of C at most."""
FEW_PICKED = (
    f"No step picks more than {_SUMMED:,} rows, for whose rounding in floating point the noise allows: n is a secret, so "
    "nothing public sees to it."
)
_SMALLEST_NOISE = 2.0**-20
"""In units of C. More noise is always allowed."""


@dataclass(frozen=True)
class DPGAN(Categories):
    """
    Args:
        rows, histogram_share: see :class:`Categories`.
        steps: T, of the critic, each with noise of its own.
        sampling_rate: q, probability with which a row has a part in a step, each row by a coin of its own.
        clip_norm: C, largest length of a row's gradient.

    Raises:
        ParameterError: a value is outside its range.
    """

    steps: int = 1000
    sampling_rate: float = 0.01
    clip_norm: float = 0.5

    name: ClassVar[str] = "dp_gan"
    title: ClassVar[str] = "DP-GAN"
    paper: ClassVar[Paper] = Paper(
        "Xie, Lin, Wang, Wang, Zhou 2018",
        "Differentially Private Generative Adversarial Network",
        "https://arxiv.org/abs/1802.06739",
    )
    axes: ClassVar[Mapping[str, Axis]] = {"rows": ROWS, "steps": Axis("T (steps)", "300, 1000, 3000")}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("steps", checks.whole("steps", self.steps, 1, 1_000_000))
        self._set("sampling_rate", checks.number("sampling_rate", self.sampling_rate, 1e-6, 1.0))
        self._set("clip_norm", checks.scale("clip_norm", self.clip_norm))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> DPGANMechanism:
        """σ of a step, so that all steps and the noisy counts together cost what the histograms leave.

        Raises:
            CalibrationError: δ = 0, or no noise is enough.
        """
        domain, n, stage, left = self._begun_before(spec, domain, n)
        if spec.delta == 0:
            raise CalibrationError("DP-GAN adds Gaussian noise, which needs delta > 0")
        codes = sum(domain.shape)
        require_memory("codes of the domain", codes, 8 * (8 * parameters(codes) + 16 * _MADE * codes), detail="Fewer bins")
        counts = gaussian_multiplier(_COUNT_SHARE * left.epsilon, left.delta, 1, tolerance=1e-6)
        steps = (MixedClass(self.sampling_rate, self.sampling_rate, self.steps),)
        beside = Part("remove", 1.0, 1, counts)
        compositions = tuple((*parts, beside) for parts in dominating(steps, spec.neighbouring, "poisson"))
        multiplier = calibrated_multiplier(compositions, left.epsilon, left.delta, TOLERANCE)
        numbers = self.steps * parameters(codes)
        source = f"Privacy loss distributions of noisy sums over Poisson samples (our proof), for {self.paper}"
        guarantee = claimed(spec, stage, source, spec.delta)
        mechanism = DPGANMechanism(self, spec, domain, n, guarantee, stage, left, compositions, counts, multiplier)
        average = mechanism.largest_sum
        floating = floating_noise_assumption(numbers, average, spec.delta, "Fewer steps make it smaller.")
        assumed = (floating, FEW_PICKED) if average is None else (floating,)
        certain = changed_by_floating_point(numbers, average) <= spec.delta
        guarantee = replace(
            guarantee,
            assumptions=(*guarantee.assumptions, *assumed),
            status=guarantee.status if certain else "real_arithmetic",
        )
        return replace(mechanism, guarantee=guarantee)


@dataclass(frozen=True)
class DPGANMechanism(OnCategories):
    """Calibrated DP-GAN.

    Attributes:
        left: the budget of counts and steps.
        compositions: what dominates them, for every kind of neighbour.
        count_multiplier: σ of the counts over how far a neighbour moves them.
        multiplier: σ of a step over C.
    """

    config: DPGAN
    left: PrivacySpec
    compositions: tuple[tuple[Part, ...], ...]
    count_multiplier: float
    multiplier: float

    needs_counts_alone: ClassVar[bool] = False

    @property
    def parameters(self) -> int:
        """Numbers that get noise in a step."""
        return parameters(sum(self.domain.shape))

    @property
    def count_scale(self) -> float:
        """σ of every count: a row is in one cell of every column, and a row that is replaced leaves one and enters one."""
        moved = len(self.domain) * (2 if self.spec.neighbouring == "replace_one" else 1)
        return self.count_multiplier * math.sqrt(moved) * allowance(self.count_multiplier, 0, moved)

    @property
    def noise_scale(self) -> float:
        """σ of every number of a step, with the allowance for what floating point does to sums."""
        exact = self.multiplier * allowance(self.multiplier, max(_SUMMED, self.picked or 0), self.parameters)
        return max(exact, _SMALLEST_NOISE) * self.config.clip_norm

    @property
    def picked(self) -> int | None:
        """Rows that a step picks, at most, but with a probability of :data:`NEVER`; None where n is a secret."""
        rows = self.public_rows
        return None if rows is None else min(rows, most_picked(self.config.sampling_rate * rows))

    @property
    def largest_sum(self) -> float | None:
        """The expected mean of |sum|/σ over the numbers of a step, at most, by qn rows of length C.

        None where n is a secret.
        """
        if self.public_rows is None:
            return None
        length = self.config.sampling_rate * self.public_rows * self.config.clip_norm
        return length / self.noise_scale / math.sqrt(self.parameters)

    def epsilon(self, delta: float, multiplier: float) -> float:
        """ε of counts and steps at another δ, or with other noise."""
        return worst_epsilon(self.compositions, multiplier, delta, TOLERANCE)

    def calibrated(self) -> dict[str, Any]:
        """Rows, noise, and the parts, whose shares are what the histograms leave."""
        first = self.stage.epsilon / self.spec.epsilon
        counts = _COUNT_SHARE * (1 - first)
        both = {"epsilon": self.left.epsilon, "delta": self.left.delta}
        entries = [
            {"name": "one-way counts", "share": counts, "scale": self.count_scale},
            {"name": "steps of the critic", "share": 1 - first - counts, "scale": self.noise_scale, **both},
        ]
        facts = {"noise_scale": self.noise_scale, "count_noise_scale": self.count_scale, "parameters": self.parameters}
        facts["columns"] = len(self.domain)
        return super().calibrated() | self.stage.facts() | facts | {"ledger": entries}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[_Model, dict[str, Any]]:
        columns, random, config = Columns(real.sizes), noise.generator, self.config
        exact = np.concatenate([real.counts((j,)) for j in range(len(real.sizes))])
        counts = noise.gaussian(exact.astype(np.float64), self.count_scale)
        rows = float(self.public_rows or max(1.0, counts.sum() / len(real.sizes)))
        generator = Generator.by_counts(columns, counts, random)
        learning = Learning(Critic.random(len(columns.of), random), generator)
        add_noise = gaussian_noise(self.noise_scale, random, on_grid=not noise.seeded)
        vectors = columns.vectors(real.codes)
        for step in range(config.steps):
            progress(f"step {step + 1} of {config.steps}", 0.9 * step / config.steps)
            total = noisy_sum(learning.critic, vectors, config.sampling_rate, config.clip_norm, add_noise, random)
            learning.step(total / (config.sampling_rate * rows), _MADE, config.clip_norm, random)
        return _Model(rows, learning.mean), {"mean_error_of_counts": float(np.abs(counts - exact).mean())}


class Clipping(Protocol):
    """What sums up gradients of rows, each of length C at most."""

    def clipped_sum(self, vectors: Any, norm: float) -> Floats:
        """See :class:`Critic`."""
        ...


def noisy_sum(
    critic: Clipping, vectors: Any, rate: float, norm: float, add_noise: AddNoise, generator: np.random.Generator
) -> Floats:
    """All that a step learns of the rows: clipped gradients at those that coins of probability q pick, added up, with noise.

    None may be picked; then it is noise alone.
    """
    picked = np.flatnonzero(generator.random(vectors.shape[0]) < rate)
    return add_noise(critic.clipped_sum(vectors[picked], norm))


@dataclass(frozen=True, eq=False)
class _Model:
    """What the steps have made.

    Attributes:
        rows: how many there are, by the noisy counts where that is a secret.
        generator: of the rows.
    """

    rows: float
    generator: Generator

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Rows of the generator, which are independent of each other."""
        return self.generator.codes(count, generator)
