"""DP-Mix: averages of l records with noise. Labels are mixed like all columns, so no class is told from another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import InputError, ParameterError
from dpsyn.mechanisms.base import Axis, Progress
from dpsyn.mechanisms.points import Floats, OnPoints, Points, carried, claimed
from dpsyn.privacy.mixing.averaging import AddNoise, averages_in_blocks
from dpsyn.privacy.mixing.exact import calibrate_sigma
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.formulas import Paper

_STATED = "It is public knowledge that there are at least as many records as was stated."


@dataclass(frozen=True)
class DPMix(Points):
    """Each row: the average of l of all N records, drawn without replacement, plus N(0, σ²I).

    σ is by DP-CDA's exact accountant with one class, the whole table: the paper's own formula is not used.

    Args:
        rows: T (see :class:`~dpsyn.mechanisms.points.Points`).
        order_of_mixture: l, records per average.
        size: how many records there are at least, a public fact; None takes n, where n is public.

    Raises:
        ParameterError: a parameter is outside its range.
    """

    order_of_mixture: int = 4
    size: int | None = None

    name: ClassVar[str] = "dp_mix"
    title: ClassVar[str] = "DP-Mix"
    paper: ClassVar[Paper] = Paper(
        "Lee, Kim, Lee, Suh, Ramchandran 2019",
        "Synthesizing differentially private datasets using random mixing",
        "https://doi.org/10.1109/ISIT.2019.8849381",
    )
    axes: ClassVar[Mapping[str, Axis]] = {
        **Points.axes,
        "order_of_mixture": Axis("l (order of mixture)", "1, 4, 16, 64"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("order_of_mixture", checks.whole("order_of_mixture", self.order_of_mixture))
        self._set("size", checks.whole_or_none("size", self.size))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> DPMixMechanism:
        """σ for T rows at the sampling rate l/N: exchanging one of l records moves an average by the diameter over l.

        Raises:
            CalibrationError: δ = 0, or no noise is enough.
            ParameterError: there are fewer than l records, or their number or that of the rows is unknown.
        """
        features, n, rows = self._begun(spec, domain, n)
        public = spec.neighbouring == "replace_one"
        if self.size is None and not public:
            raise ParameterError("size", None, "a public number of records at least: under add_remove n is a secret")
        size = self.size or n
        if public and size > n:
            raise ParameterError("size", size, f"at most n = {n}")
        if size < self.order_of_mixture:
            allowed = f"at most {size}, the number of records"
            raise ParameterError("order_of_mixture", self.order_of_mixture, allowed)
        sensitivity = features.diameter / self.order_of_mixture
        sigma = calibrate_sigma(
            epsilon=spec.epsilon,
            delta=spec.delta,
            order_of_mixture=self.order_of_mixture,
            clip_norm=features.diameter / 2,
            class_sizes=[size],  # one class, the whole table
            rows=[rows],
            neighbouring=spec.neighbouring,
        )
        sigma = carried(sigma, sensitivity, self.order_of_mixture, features.dimension)
        source = f"Privacy loss distributions of averages drawn without replacement, for {self.paper} (our proof)"
        stated = () if self.size is None else (_STATED,)
        guarantee = claimed(spec, source, rows * features.dimension, sigma, *stated)
        return DPMixMechanism(self, spec, domain, n, guarantee, features, rows, sensitivity, sigma, size)


@dataclass(frozen=True)
class DPMixMechanism(OnPoints):
    """Calibrated DP-Mix.

    Attributes:
        size: records that are accounted for.
    """

    config: DPMix
    size: int

    def calibrated(self) -> dict[str, Any]:
        """Rows, noise, and the sampling rate."""
        return super().calibrated() | {"sampling_rate": self.config.order_of_mixture / self.size}

    def _noisy(self, points: Floats, add_noise: AddNoise, generator: np.random.Generator, progress: Progress) -> Floats:
        if len(points) < self.size:
            raise InputError(f"at least {self.size} records were stated, and there are fewer")
        order, found = self.config.order_of_mixture, np.empty((self.rows, points.shape[1]))
        for start, block in averages_in_blocks(points, order, self.rows, add_noise, generator, variant="fixed_size"):
            found[start : start + len(block)] = block
            progress("mixing", 0.2 + 0.7 * start / self.rows)
        return found
