"""A run of noisy reweighting, opened: it keeps what a release hides. For teaching, it reads private data."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import no_progress
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting, NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting._fit import Fitted
from dpsyn.mechanisms.noisy_reweighting._mechanism import Measured
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily, cells_of
from dpsyn.privacy.noise import NoiseSource
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Density = Literal["vertex", "centre", "entropy"]

DENSITIES: dict[Density, str] = {
    "vertex": "minimax, vertex (paper)",
    "centre": "minimax, centre",
    "entropy": "maximum entropy",
}
_SETTINGS: dict[Density, dict[str, Any]] = {
    "vertex": {"objective": "max", "vertex": True},
    "centre": {"objective": "max", "vertex": False},
    "entropy": {"objective": "max_entropy", "vertex": False},
}
_CARRIES = 1e-6
"""A point carries weight if its mass is more than this share of the uniform one."""
_MOST_CELLS = 1_200
_MOST_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class Inside:
    """A seeded run of the mechanism, step by step, with each of three densities in turn.

    Noise, reduced space and fit are those of ``mechanism(np.random.default_rng(seed), table)`` with the objective of the
    density: the run calls the same functions in the same order. The noise comes first, so it is the same for all three.

    Args:
        mechanism: calibrated to the table; its statistics are tables, Walsh functions or conjunctions.
        table: the rows.
        seed: of noise and draws.

    Raises:
        ParameterError: more cells than can be fitted while one watches.
    """

    mechanism: NoisyReweightingMechanism
    table: Table
    seed: int = 0
    _fits: dict[Density, tuple[Measured, Fitted, float]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        cells = self.tables.count
        if cells > _MOST_CELLS:
            allowed = f"{cells:,} cells are too many to fit while you watch; {_MOST_CELLS:,} fit: take fewer columns"
            raise ParameterError("degree", getattr(self.mechanism.config, "degree", None), allowed)

    @property
    def domain(self) -> Domain:
        """Of the columns in use."""
        return self.table.domain

    @cached_property
    def tables(self) -> TableFamily:
        """The tables that the statistics are made of, on which errors are measured."""
        cells = cells_of(self.mechanism.statistics)
        assert cells is not None
        return TableFamily(self.domain.shape, cells.tables)

    @cached_property
    def true_cells(self) -> Floats:
        """Their cells in the data, as shares."""
        return np.asarray(self.tables.sums(self.table.codes) / self.table.n)

    @cached_property
    def exact(self) -> Floats:
        """Averages of the statistics, shape (F,)."""
        return np.asarray(self._fit("entropy")[0].exact * (self.mechanism.statistics.unit / self.table.n))

    @cached_property
    def noisy(self) -> Floats:
        """The same with the noise."""
        return self.mechanism.averages(self._fit("entropy")[0])

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the noise on them, by the calibration."""
        return np.asarray(self.mechanism.spreads * (self.mechanism.statistics.unit / self.table.n))

    def fitted(self, density: Density) -> Fitted:
        """The density, fitted when first asked for."""
        return self._fit(density)[1]

    def seconds(self, density: Density) -> float:
        """How long that fit took."""
        return self._fit(density)[2]

    def _fit(self, density: Density) -> tuple[Measured, Fitted, float]:
        if density not in self._fits:
            config = self.mechanism.config
            assert isinstance(config, NoisyReweighting)
            other = replace(config, **_SETTINGS[density])
            mechanism = (
                self.mechanism if other == config else other.calibrate(self.mechanism.spec, self.domain, self.table.n)
            )
            noise = NoiseSource(np.random.default_rng(self.seed))
            measured = mechanism.measured(noise, self.table)
            start = time.perf_counter()
            fitted = mechanism.fitted(measured, noise.generator, no_progress)
            self._fits[density] = measured, fitted, time.perf_counter() - start
        return self._fits[density]

    def masses(self, density: Density) -> Floats:
        """h on its points, summing to 1, shape (m,)."""
        found = self.fitted(density).density.astype(np.float64)
        return np.asarray(found / found.sum())

    def carrying(self, density: Density) -> int:
        """Points with a mass above :data:`_CARRIES`/m."""
        masses = self.masses(density)
        return int((masses * len(masses) > _CARRIES).sum())

    def effective(self, density: Density) -> float:
        """1/Σ h²: how many points of equal mass the density is worth."""
        return float(1 / (self.masses(density) ** 2).sum())

    def errors(self, density: Density) -> tuple[float, float]:
        """Root mean squared error of the noisy and of the fitted statistics."""
        off = (self.noisy - self.exact, self.fitted(density).statistics - self.exact)
        return float(np.sqrt((off[0] ** 2).mean())), float(np.sqrt((off[1] ** 2).mean()))

    def table_errors(self, shares: Floats) -> Floats:
        """Total variation of each table from the data's, for cells as shares; shape (tables,)."""
        apart = np.abs(shares - self.true_cells)
        return np.array([apart[group.start : group.stop].sum() / 2 for group in self.tables.groups])


def columns_that_fit(domain: Domain, degree: int) -> list[str]:
    """Columns in order, as many as can be fitted while one watches: at most 8, and 1,200 cells."""
    chosen: list[str] = []
    for name in domain.names:
        wider = domain.project([*chosen, name])
        if len(chosen) < _MOST_COLUMNS and TableFamily.all_of_degree(wider.shape, degree).count <= _MOST_CELLS:
            chosen.append(name)
    return chosen
