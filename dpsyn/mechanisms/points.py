"""What mechanisms on points have in common: records as points of the unit ball, Gaussian noise on what is made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import (
    N_IS_PUBLIC,
    ROWS,
    ROWS_ASSUMPTION,
    Axis,
    Config,
    Mechanism,
    Progress,
    check_request,
)
from dpsyn.mechanisms.feature_map import FeatureMap
from dpsyn.privacy.discrete_gaussian import continuous_mu
from dpsyn.privacy.mixing.averaging import (
    AddNoise,
    allowance,
    changed_by_floating_point,
    floating_noise_assumption,
    gaussian_noise,
)
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PUBLIC_DOMAIN_ASSUMPTION, Guarantee, PrivacySpec
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]

_SMALLEST_NOISE = 2.0**-20
"""Below it steps of the noise would be no normal numbers. More noise is always allowed."""
_SPARED = 1 + 1e-9
"""For rounding where σ is computed."""


@dataclass(frozen=True)
class Points(Config):
    """The settings of a mechanism on points.

    Columns are scaled by public bounds, categories are vertices of simplices, and the nearest vertex is what a row gets.

    Args:
        rows: how many are made; None makes all n, where n is public.

    Raises:
        ParameterError: a number is outside its range.
    """

    rows: int | None = None

    axes: ClassVar[Mapping[str, Axis]] = {"rows": ROWS}
    noise_is_draw: ClassVar[bool] = True
    fills_empty_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._set("rows", checks.whole_or_none("rows", self.rows))

    def _begun(self, spec: PrivacySpec, domain: Domain, n: int) -> tuple[FeatureMap, int, int]:
        """The map to points, n, and how many rows are made.

        Raises:
            CalibrationError: δ = 0.
            ParameterError: nothing says how many rows to make, as n is a secret.
        """
        n = check_request(spec, domain, n, self.rows)
        if spec.delta == 0:
            raise CalibrationError("Gaussian noise on records has no pure ε: ask for delta > 0")
        if self.rows is None and spec.neighbouring == "add_remove":
            raise ParameterError("rows", None, "a number fixed without looking at the data: under add_remove n is a secret")
        return FeatureMap(domain), n, self.rows or n


@dataclass(frozen=True)
class OnPoints(Mechanism):
    """A calibrated mechanism whose rows are noisy points.

    Attributes:
        features: the map to points, by public facts.
        rows: how many are made.
        sensitivity: how far a neighbour moves one of them.
        noise_scale: σ of every coordinate.
    """

    features: FeatureMap
    rows: int
    sensitivity: float
    noise_scale: float

    def calibrated(self) -> dict[str, Any]:
        """Rows, and the noise on them."""
        entry = {"name": "rows", "share": 1.0, "epsilon": self.guarantee.epsilon, "scale": self.noise_scale}
        facts = {"rows": self.rows, "dimension": self.dimension, "sensitivity": self.sensitivity}
        return facts | {"noise_scale": self.noise_scale, "ledger": [entry]}

    @property
    def dimension(self) -> int:
        """Coordinates that get noise."""
        return self.features.dimension

    @abstractmethod
    def _noisy(self, points: Floats, add_noise: AddNoise, generator: np.random.Generator, progress: Progress) -> Floats:
        """Points of the rows, shape (rows, dimension of the features), of which every number got noise."""

    def _run(self, noise: NoiseSource, table: Table, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        progress("scaling the records", 0.02)
        points = self.features.encode(table)
        add_noise = gaussian_noise(self.noise_scale, noise.generator, on_grid=not noise.seeded)
        progress("adding noise", 0.2)
        noisy = self._noisy(points, add_noise, noise.generator, progress)
        progress("decoding", 0.9)
        pieces = self.features.decode_pieces(noisy * self.features.length, noise.generator)
        return pd.concat(pieces, axis=1)[list(self.domain.names)], {}


def once(spec: PrivacySpec, sensitivity: float, dimension: int) -> float:
    """σ of noise on one point that a neighbour moves so far, by the exact law (Balle, Wang 2018)."""
    return carried(sensitivity / continuous_mu(spec.epsilon, spec.delta) * _SPARED, sensitivity, 1, dimension)


def carried(sigma: float, sensitivity: float, summed: int, dimension: int) -> float:
    """σ that also covers what floating point does to averages of so many records, before the noise."""
    return max(sigma * allowance(sigma / sensitivity, summed, dimension), _SMALLEST_NOISE)


def claimed(spec: PrivacySpec, source: str, numbers: int, noise_scale: float, *more: str) -> Guarantee:
    """The claim, with what it takes for granted of so many noisy numbers of size 1 at most."""
    public = (N_IS_PUBLIC,) if spec.neighbouring == "replace_one" else ()
    floating = floating_noise_assumption(numbers, 1 / noise_scale, spec.delta, "Fewer rows make it smaller.")
    assumptions = (PUBLIC_DOMAIN_ASSUMPTION, ROWS_ASSUMPTION, *public, *more, floating)
    exact = changed_by_floating_point(numbers, 1 / noise_scale) > spec.delta
    status: Any = "real_arithmetic" if exact else "proven"
    return Guarantee(spec.epsilon, spec.delta, spec.neighbouring, source, assumptions, status)


def records(points: Floats, rows: int, generator: np.random.Generator) -> Floats:
    """So many of the records in random order, each at most once; 0 stands for those that are not there."""
    chosen = points[generator.permutation(len(points))[:rows]]
    if len(chosen) == rows:
        return chosen
    filled = np.concatenate([chosen, np.zeros((rows - len(chosen), points.shape[1]))])
    return filled[generator.permutation(rows)]
