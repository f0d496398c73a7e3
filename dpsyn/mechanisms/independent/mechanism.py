"""Independent columns: one-way counts with noise, all released at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpsyn.domain import Codes, Domain
from dpsyn.mechanisms.base import Progress
from dpsyn.mechanisms.categories import Categories, OnCategories, claimed
from dpsyn.privacy.budget import SingleRelease, single_release
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.noisy_tables import Floats, NoisyTables, table_counts
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.theory.formulas import CALIBRATED_NOISE, Paper


@dataclass(frozen=True)
class Independent(Categories):
    """Columns one by one (see :class:`~dpsyn.mechanisms.categories.Categories` for the settings)."""

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "Independent columns"
    paper: ClassVar[Paper] = CALIBRATED_NOISE

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> IndependentMechanism:
        """Noise on the counts of all columns, which are one vector.

        A row is counted once for each column: a neighbour moves as many counts by 1, or twice as many where a row is
        replaced. Laplace noise, or Gaussian noise where that is smaller and δ allows it.
        """
        domain, n, stage, left = self._begun(spec, domain, n)
        release = single_release(left, len(domain) * (2 if spec.neighbouring == "replace_one" else 1))
        delta = spec.delta if release.noise == "gaussian" else 0.0
        guarantee = claimed(spec, stage, release.source, delta)
        return IndependentMechanism(self, spec, domain, n, guarantee, stage, release)


@dataclass(frozen=True)
class IndependentMechanism(OnCategories):
    """Calibrated independent columns.

    Attributes:
        release: the noise on every count.
    """

    release: SingleRelease

    def calibrated(self) -> dict[str, Any]:
        """Rows, and the noise."""
        return {**super().calibrated(), **self.release.ledger("one-way tables")}

    def _model(self, noise: NoiseSource, codes: Codes, progress: Progress) -> tuple[IndependentModel, dict[str, Any]]:
        sizes = self.domain.shape
        exact = [table_counts(codes, (j,), sizes) for j in range(len(sizes))]
        noisy = np.split(self.release.released(noise, np.concatenate(exact)), np.cumsum(sizes)[:-1])
        progress("fitting", 0.5)
        tables = NoisyTables()
        for j, counts in enumerate(noisy):
            tables.add((j,), counts, self.release.deviation)
        return IndependentModel([tables.law(j) for j in range(len(sizes))], tables.rows), {}


@dataclass(frozen=True, eq=False)
class IndependentModel:
    """A law for every column.

    Attributes:
        laws: shape (codes,) each.
        rows: how many there are by the noisy counts.
    """

    laws: list[Floats]
    rows: float

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Every column by itself, each code as often as it should be up to rounding."""
        columns = [generator.permutation(systematic_rows(law, count, generator)) for law in self.laws]
        return np.stack(columns, axis=1).astype(np.int32)
