"""Local perturbation: noise on every record before anybody collects them. No record needs to trust the others' keeper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Progress
from dpsyn.mechanisms.points import Floats, OnPoints, Points, claimed, once, records
from dpsyn.privacy.mixing.averaging import AddNoise
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.formulas import Paper


@dataclass(frozen=True)
class LocalPerturbation(Points):
    """Each row: one record plus N(0, σ²I), in random order; a record is in one row at most.

    Args:
        rows: how many of the records, drawn at random (see :class:`~dpsyn.mechanisms.points.Points`).
    """

    name: ClassVar[str] = "local_perturbation"
    title: ClassVar[str] = "Local perturbation"
    paper: ClassVar[Paper] = Paper(
        "Fukuchi, Tran, Sakuma 2017",
        "Differentially private empirical risk minimization with input perturbation",
        "https://arxiv.org/abs/1710.07425",
    )

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> LocalPerturbationMechanism:
        """σ for one Gaussian mechanism: a neighbour changes one row, by the diameter of all points at most.

        A record that is added takes the place of another one among those drawn, or of none (docs/guarantees.md).

        Raises:
            CalibrationError: δ = 0.
            ParameterError: under add_remove, without a number of rows.
        """
        features, n, rows = self._begun(spec, domain, n)
        sigma = once(spec, features.diameter, features.dimension)
        source = "Gaussian mechanism by its exact law (Balle, Wang 2018), once for every record (our proof)"
        guarantee = claimed(spec, source, rows * features.dimension, sigma)
        return LocalPerturbationMechanism(self, spec, domain, n, guarantee, features, rows, features.diameter, sigma)


@dataclass(frozen=True)
class LocalPerturbationMechanism(OnPoints):
    """Calibrated local perturbation."""

    def _noisy(self, points: Floats, add_noise: AddNoise, generator: np.random.Generator, progress: Progress) -> Floats:
        return add_noise(records(points, self.rows, generator))
