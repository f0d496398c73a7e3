"""Independent columns: one-way counts with noise, all released at once; or the counts of all tables of d columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from dpsyn import checks
from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import DEGREE, Axis, Progress
from dpsyn.mechanisms.categories import ONE_WAY, Categories, OnCategories, claimed
from dpsyn.notation import counted
from dpsyn.privacy.budget import SingleRelease, last_release, single_release
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contingency import cell_offsets, contingency_cells, require_countable
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables
from dpsyn.solvers.rounding import repaired_rows, systematic_rows
from dpsyn.theory.formulas import CALIBRATED_NOISE, Paper

MOST_CELLS = 2**20
"""That get noise, at most: exact noise takes some microseconds each."""


@dataclass(frozen=True)
class Independent(Categories):
    """Columns one by one (see :class:`~dpsyn.mechanisms.categories.Categories` for what is not listed here).

    Args:
        degree: d, columns of the tables; all, where there are fewer. With 1 the rows are independent columns. With more they
            are changed until their tables are near the noisy ones: tables that are consistent, whole and not negative, as
            those of Barak et al. (2007), who take the rows from a linear program.
    """

    degree: int = 1

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "Independent columns"
    paper: ClassVar[Paper] = CALIBRATED_NOISE
    added_later: ClassVar[Mapping[str, Any]] = {"degree": 1}
    axes: ClassVar[Mapping[str, Axis]] = {**Categories.axes, "degree": DEGREE}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("degree", checks.whole("degree", self.degree))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> IndependentMechanism:
        """Noise on the counts of all tables, which are one vector.

        A row is counted once in each table: a neighbour moves as many counts by 1, or twice as many where a row is replaced.
        Laplace noise, or Gaussian noise where that is smaller and δ allows it.

        Raises:
            ParameterError: the tables have too many cells.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        degree = min(self.degree, len(domain))
        require_countable(domain.shape, degree)
        if (cells := contingency_cells(domain.shape, degree)) > MOST_CELLS:
            allowed = f"so few that tables have at most {MOST_CELLS:,} cells: all get noise"
            raise ParameterError("degree", f"{self.degree} ({counted(cells)} cells)", allowed)
        tables = list(combinations(range(len(domain)), degree))
        moved = budget.moved * len(tables)
        release = single_release(spec, moved) if stage.histograms is None else last_release(budget, moved)
        delta = spec.delta if release.noise == "gaussian" else 0.0
        guarantee = claimed(spec, stage, release.source, delta)
        return IndependentMechanism(self, spec, domain, n, guarantee, stage, tables, release)


@dataclass(frozen=True)
class IndependentMechanism(OnCategories):
    """Calibrated independent columns.

    Attributes:
        tables: the sets of columns.
        release: the noise on every count.
    """

    config: Independent
    tables: list[Columns]
    release: SingleRelease

    @property
    def cells(self) -> int:
        """Of all tables."""
        return int(cell_offsets(self.domain.shape, self.tables)[-1])

    def calibrated(self) -> dict[str, Any]:
        """Rows, and the noise."""
        columns = len(self.tables[0])
        name = ONE_WAY if columns == 1 else f"{len(self.tables)} tables of {columns} columns"
        release = self.release
        if self.stage.histograms is None:
            return {**super().calibrated(), **release.ledger(name)}
        return {**super().calibrated(), **self.stage.ledger((name, release.cost, release.scale))}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[IndependentModel, dict[str, Any]]:
        sizes = self.domain.shape
        real.expect(self.tables)
        exact = np.concatenate([real.counts(table) for table in self.tables])
        noisy = np.split(self.release.released(noise, exact), cell_offsets(sizes, self.tables)[1:-1])
        progress("fitting", 0.5)
        tables, singles = NoisyTables(), NoisyTables()
        for columns, counts in zip(self.tables, noisy, strict=True):
            tables.add(columns, counts, self.release.deviation)
            box = counts.reshape([sizes[j] for j in columns])
            for axis, j in enumerate(columns):
                others = tuple(other for other in range(len(columns)) if other != axis)
                singles.add((j,), box.sum(axis=others), self.release.deviation * math.sqrt(counts.size / sizes[j]))
        laws = [singles.law(j) for j in range(len(sizes))]
        near = {} if len(self.tables[0]) == 1 else tables.counts
        return IndependentModel(laws, near, tables.rows), {"noisy_tables": tables}


@dataclass(frozen=True, eq=False)
class IndependentModel:
    """A law for every column, and tables that its rows are to have.

    Attributes:
        laws: shape (codes,) each.
        tables: noisy counts by columns; none where the columns are independent.
        rows: how many there are by the noisy counts.
    """

    laws: list[Floats]
    tables: Mapping[Columns, Floats]
    rows: float

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Every column by itself, each code as often as it should be up to rounding; then changed towards the tables."""
        columns = [generator.permutation(systematic_rows(law, count, generator)) for law in self.laws]
        drawn = np.stack(columns, axis=1).astype(np.int32)
        if not self.tables:
            return drawn
        wanted = np.concatenate(list(self.tables.values())) / self.rows
        return repaired_rows(drawn, [len(law) for law in self.laws], list(self.tables), wanted, generator)
