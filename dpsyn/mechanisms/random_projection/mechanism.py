"""Random projection: a record loses dimensions before it gets noise, and rows come back by the pseudo-inverse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Axis, Progress
from dpsyn.mechanisms.points import Floats, OnPoints, Points, claimed, once, records
from dpsyn.privacy.mixing.averaging import AddNoise
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.formulas import Paper

_LARGER = 1 + 1e-12
"""How far rounding may lengthen a projected vector."""


@dataclass(frozen=True)
class RandomProjection(Points):
    """Each row: Pᵀ(P x + N(0, σ²I)) for one record x, P drawn at random with orthonormal rows, the same for all records.

    Args:
        rows: how many of the records, drawn at random (see :class:`~dpsyn.mechanisms.points.Points`).
        dimension: k of the space that records are projected to; None takes half of their own.

    Raises:
        ParameterError: a number is outside its range.
    """

    dimension: int | None = None

    name: ClassVar[str] = "random_projection"
    title: ClassVar[str] = "Random projection"
    paper: ClassVar[Paper] = Paper(
        "Xu, Ren, Zhang, Qin, Ren 2017",
        "DPPro: Differentially private high-dimensional data release via random projection",
        "https://doi.org/10.1109/TIFS.2017.2737966",
    )
    axes: ClassVar[Mapping[str, Axis]] = {**Points.axes, "dimension": Axis("k (dimensions)", "2, 5, 10, 20")}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("dimension", checks.whole_or_none("dimension", self.dimension, 1, 10_000))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> RandomProjectionMechanism:
        """σ for one Gaussian mechanism: ‖P(x - x')‖ is at most ‖x - x'‖, so at most the diameter of all points.

        Raises:
            CalibrationError: δ = 0.
            ParameterError: under add_remove, without a number of rows.
        """
        features, n, rows = self._begun(spec, domain, n)
        kept = min(self.dimension or max(1, features.dimension // 2), features.dimension)
        sensitivity = features.diameter * _LARGER
        sigma = once(spec, sensitivity, kept)
        source = "Gaussian mechanism by its exact law (Balle, Wang 2018), once for every record (our proof)"
        guarantee = claimed(spec, source, rows * kept, sigma)
        return RandomProjectionMechanism(self, spec, domain, n, guarantee, features, rows, sensitivity, sigma, kept)


@dataclass(frozen=True)
class RandomProjectionMechanism(OnPoints):
    """Calibrated random projection.

    Attributes:
        kept: k, dimensions that get noise.
    """

    kept: int

    @property
    def dimension(self) -> int:
        """k."""
        return self.kept

    def _noisy(self, points: Floats, add_noise: AddNoise, generator: np.random.Generator, progress: Progress) -> Floats:
        projection = orthonormal(self.kept, points.shape[1], generator)
        progress("projecting", 0.3)
        # The pseudo-inverse of orthonormal rows is their transpose.
        return np.asarray(add_noise(records(points, self.rows, generator) @ projection.T) @ projection)


def orthonormal(rows: int, columns: int, generator: np.random.Generator) -> Floats:
    """Rows of length 1 at right angles, all directions alike: a Gaussian matrix made orthonormal. Shape (rows, columns)."""
    if rows == columns:
        return np.eye(rows)
    return np.asarray(np.linalg.qr(generator.standard_normal((columns, rows)))[0].T)
