"""One pass through noisy reweighting on rows at hand, keeping what a release hides: for teaching, it reads private data."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.families import Family, TableFamily, WalshFamily
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.chebyshev import DensityFit, at_vertex, fit_density
from dpsyn.solvers.contingency import all_codes
from dpsyn.solvers.density_spaces import DenseFunctions, PointTables, Space
from dpsyn.solvers.executors import one_blas_thread
from dpsyn.solvers.max_entropy import max_entropy
from dpsyn.table import Table

Floats = npt.NDArray[np.float64]
Objective = Literal["vertex", "centre", "entropy"]

OBJECTIVES: dict[Objective, str] = {
    "vertex": "minimax, vertex (paper)",
    "centre": "minimax, centre",
    "entropy": "maximum entropy",
}
MOST_STATISTICS = 1_200
WHOLE_DOMAIN_AT_MOST = 8_192
POINTS = 3_000
_MOST_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class Trial:
    """What one run knows on the way.

    Attributes:
        domain: of the columns in use.
        n: rows.
        family: the statistics.
        scale: of the noise on sums.
        deviation: standard deviation of the noise on an average.
        exact, noisy: averages of the statistics, shape (F,).
        points: reduced space, shape (m, columns).
        whole: it is the whole domain.
        tables: all tables of d columns, whatever the statistics are: errors are measured on them.
        true_cells: their cells in the data, as shares.
    """

    domain: Domain
    n: int
    family: Family
    scale: float
    deviation: float
    exact: Floats
    noisy: Floats
    points: Codes
    whole: bool
    tables: TableFamily
    true_cells: Floats
    _fits: dict[Objective, tuple[Floats, float]] = field(default_factory=dict, repr=False)

    @cached_property
    def matrix(self) -> Any:
        """[f(z_i)], shape (F, m)."""
        return self.family.matrix(self.points)

    @cached_property
    def cells(self) -> Any:
        """Cells of all tables at the points, sparse, shape (cells, m)."""
        return self.tables.matrix(self.points)

    def density(self, objective: Objective) -> Floats:
        """h on the points, shape (m,); fitted when first asked for."""
        return self._fit(objective)[0]

    def seconds(self, objective: Objective) -> float:
        """How long that fit took."""
        return self._fit(objective)[1]

    def _fit(self, objective: Objective) -> tuple[Floats, float]:
        if objective not in self._fits:
            before = self._fit("centre")[1] if objective == "vertex" else 0.0
            start = time.perf_counter()
            found = self._entropy() if objective == "entropy" else self._minimax(objective)
            self._fits[objective] = found, before + time.perf_counter() - start
        return self._fits[objective]

    @cached_property
    def _centre(self) -> DensityFit:
        return fit_density(self.matrix, self.noisy)

    def _minimax(self, objective: Objective) -> Floats:
        return at_vertex(self.matrix, self.noisy, self._centre).density if objective == "vertex" else self._centre.density

    def _entropy(self) -> Floats:
        space: Space = DenseFunctions(self.matrix)
        if isinstance(self.family, TableFamily):
            space = PointTables(self.points, self.family.sizes, self.family.tables)
        with one_blas_thread():
            # One fixed random vector estimates the degrees of freedom, so the same noise gives the same fit.
            spread = np.full(len(self.noisy), self.deviation)
            found = max_entropy(space, self.noisy, spread, np.random.default_rng(0)).density.astype(np.float64)
        return np.asarray(found / found.sum())

    def fitted(self, objective: Objective) -> Floats:
        """A h, shape (F,)."""
        return np.asarray(self.matrix @ self.density(objective))

    def shares(self, objective: Objective) -> Floats:
        """All tables of h, shape (cells,)."""
        return np.asarray(self.cells @ self.density(objective))

    def table_errors(self, shares: Floats) -> Floats:
        """Total variation of each table from the data's, for cells as shares; shape (tables,)."""
        apart = np.abs(shares - self.true_cells)
        return np.array([apart[group.start : group.stop].sum() / 2 for group in self.tables.groups])

    def noisy_cells(self) -> Floats | None:
        """Cells of all tables straight from the noisy statistics, before any fit; None where they are no tables."""
        return self.noisy if self.family.name == "contingency" else None


def columns_that_fit(domain: Domain, degree: int) -> list[str]:
    """Columns in order, as many as can be fitted while one watches: at most 8, and 1,200 statistics."""
    chosen: list[str] = []
    for name in domain.names:
        wider = domain.project([*chosen, name])
        if len(chosen) < _MOST_COLUMNS and TableFamily.all_of_degree(wider.shape, degree).count <= MOST_STATISTICS:
            chosen.append(name)
    return chosen


def trial(
    table: Table,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    noise: Literal["laplace", "gaussian"] = "laplace",
    seed: int = 0,
) -> Trial:
    """Noise, reduced space and fits, all with one seed: the same settings give the same pictures.

    Statistics are Walsh functions where every column has two codes and tables elsewhere. The reduced space is the whole
    domain if it has at most 8,192 points, else draws from the product of one-way shares that the noisy tables give.

    Args:
        table: the rows, over the columns in use.
        spec: ε and, for Gaussian noise, δ.
        degree: d.
        noise: discrete Laplace with the whole ε, or discrete Gaussian with the whole ρ.
        seed: of noise and draws.

    Raises:
        ParameterError: too many statistics to fit while one watches.
    """
    domain, n = table.domain, table.n
    tables = TableFamily.all_of_degree(domain.shape, degree)
    if tables.count > MOST_STATISTICS:
        allowed = f"{tables.count:,} cells are too many to fit while you watch; {MOST_STATISTICS:,} fit: take fewer columns"
        raise ParameterError("degree", degree, allowed)
    family: Family = WalshFamily(len(domain), degree, constant=False) if domain.is_binary else tables
    source = NoiseSource(np.random.default_rng(seed))
    sums = family.sums(table.codes)
    # A family whose statistics never move when a row is replaced needs no noise; the smallest scale stands for none.
    if noise == "laplace":
        scale = max(family.l1() / spec.epsilon, 1e-3)
        noisy, deviation = source.discrete_laplace(sums, scale) / n, math.sqrt(2) * scale / n
    else:
        scale = max(family.l2() / math.sqrt(2 * zcdp_rho(spec.epsilon, spec.delta)), 1e-3)
        noisy, deviation = source.discrete_gaussian(sums, scale) / n, scale / n
    whole = domain.size <= WHOLE_DOMAIN_AT_MOST
    points = all_codes(domain.shape) if whole else _drawn(family, noisy, source.generator)
    true_cells = tables.sums(table.codes) / n
    return Trial(domain, n, family, scale, deviation, sums / n, noisy, points, whole, tables, true_cells)


def _drawn(family: Family, noisy: Floats, generator: np.random.Generator) -> Codes:
    columns = []
    for j, size in enumerate(family.sizes):
        shares = np.zeros(size)
        for group in family.groups:
            if j in group.columns:
                block = noisy[group.start : group.stop].reshape([family.sizes[i] for i in group.columns])
                axes = tuple(a for a, i in enumerate(group.columns) if i != j)
                shares += block.sum(axis=axes) if family.name == "contingency" else 0.0
        shares = np.maximum(shares, 0.0)
        shares = 0.9 * shares / shares.sum() + 0.1 / size if shares.sum() > 0 else np.full(size, 1 / size)
        columns.append(generator.choice(size, POINTS, p=shares))
    return np.unique(np.stack(columns, axis=1).astype(np.int32), axis=0)
