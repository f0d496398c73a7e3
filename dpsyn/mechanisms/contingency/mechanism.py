"""The whole table: noise on the count of every possible row, or of the rows that there are, above a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dpsyn import checks
from dpsyn.domain import Codes, Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import Progress
from dpsyn.mechanisms.categories import Categories, OnCategories, claimed
from dpsyn.privacy.budget import SingleRelease, single_release
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.least_squares import onto_simplex
from dpsyn.solvers.noisy_tables import Floats, NoisyTables
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.theory.formulas import CALIBRATED_NOISE, Paper

Cells = Literal["auto", "all", "present"]

MOST_CELLS = 2**20
"""Cells that get noise, at most: exact noise takes some microseconds each."""
_ROUNDING = 1e-12
_FEW_CELLS = 2**14
"""Up to here every cell gets noise, also where a threshold could spare the empty ones."""


@dataclass(frozen=True)
class Contingency(Categories):
    """Every cell by itself (see :class:`~dpsyn.mechanisms.categories.Categories` for what is not listed here).

    Args:
        cells: noise goes on ``"all"`` cells, or on those that are ``"present"`` in the data, of which only the counts above
            a threshold are released (Korolova et al. 2009): that needs a δ. ``"auto"`` takes all cells of a small domain.
    """

    cells: Cells = "auto"

    name: ClassVar[str] = "contingency"
    title: ClassVar[str] = "Contingency table"
    paper: ClassVar[Paper] = CALIBRATED_NOISE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("cells", checks.choice("cells", self.cells, get_args(Cells)))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> ContingencyMechanism:
        """A neighbour moves one cell by 1, or two where a row is replaced: Laplace noise of that over ε, for all cells.

        A cell that is empty without the neighbour's row holds that row alone, and is released with a probability of at most
        δ: the threshold is the smallest whole number for which that is so (docs/guarantees.md).

        Raises:
            CalibrationError: a threshold, without δ.
            ParameterError: all cells, and there are too many.
        """
        domain, n, stage, left = self._begun_before(spec, domain, n)
        moved = 2 if spec.neighbouring == "replace_one" else 1
        sparse = self.cells == "present" or (self.cells == "auto" and spec.delta > 0 and domain.size > _FEW_CELLS)
        if not sparse:
            if domain.size > MOST_CELLS:
                allowed = f'at most {MOST_CELLS:,}, or δ > 0 and cells="present"'
                raise ParameterError("possible rows", domain.size, allowed)
            release = single_release(left, moved)
            delta = spec.delta if release.noise == "gaussian" else 0.0
            guarantee = claimed(spec, stage, release.source, delta)
            return ContingencyMechanism(self, spec, domain, n, guarantee, stage, release, None)
        if spec.delta == 0:
            raise CalibrationError("cells that are present alone need a threshold, and that needs delta > 0")
        release = single_release(PrivacySpec(left.epsilon, 0.0, spec.neighbouring), moved)
        source = "Laplace mechanism with a threshold, as in Korolova et al. 2009 (our proof)"
        # That such a cell is not released may be no more telling than a count.
        alone = min(spec.delta, -math.expm1(-left.epsilon / moved))
        threshold = smallest_threshold(release.scale, alone)
        guarantee = claimed(spec, stage, source, spec.delta)
        return ContingencyMechanism(self, spec, domain, n, guarantee, stage, release, threshold)


def above(scale: float, threshold: int) -> float:
    """P(1 + Z ≥ threshold) = q^(threshold-1)/(1+q) for discrete Laplace noise Z, where q = e^(-1/scale); threshold ≥ 1."""
    return math.exp(-(threshold - 1) / scale) / (1 + math.exp(-1 / scale))


def smallest_threshold(scale: float, delta: float) -> int:
    """The smallest whole number, 2 or more, that a count of 1 reaches with a probability of at most δ, up to rounding."""
    return max(2, math.ceil(1 - scale * (math.log(delta * (1 + math.exp(-1 / scale))) - _ROUNDING)))


@dataclass(frozen=True)
class ContingencyMechanism(OnCategories):
    """Calibrated contingency table.

    Attributes:
        release: the noise on every count.
        threshold: released are noisy counts of at least this; None for all cells.
    """

    release: SingleRelease
    threshold: int | None

    def calibrated(self) -> dict[str, Any]:
        """Rows, noise, and the threshold if there is one."""
        limit = {} if self.threshold is None else {"threshold": self.threshold}
        return {**super().calibrated(), **self.stage.facts(), **limit, **self.release.ledger("cells")}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[CellModel, dict[str, Any]]:
        sizes = self.domain.shape
        if self.threshold is None:
            every = tuple(range(len(sizes)))
            exact = real.counts(every)
            noisy = self.release.released(noise, exact).astype(np.float64)
            tables = NoisyTables()
            tables.add(every, noisy, self.release.deviation)
            progress("fitting", 0.8)
            rows = max(1.0, float(self.public_rows or noisy.sum()))
            shares = onto_simplex(noisy / rows)
            cells = np.stack(np.unravel_index(np.flatnonzero(shares), sizes), axis=1).astype(np.int32)
            return CellModel(sizes, cells, shares[shares > 0], rows), {"noisy_tables": tables, "cells_released": len(exact)}
        present, exact = real.different()
        noisy = self.release.released(noise, exact).astype(np.float64)
        progress("leaving out rare cells", 0.8)
        kept = noisy >= self.threshold
        rows = float(self.public_rows or max(1.0, noisy[kept].sum()))
        lost = {"cells_present": len(exact), "cells_released": int(kept.sum()), "rows_lost": int(exact[~kept].sum())}
        return CellModel(sizes, present[kept], noisy[kept], rows), lost


@dataclass(frozen=True, eq=False)
class CellModel:
    """Possible rows with their weights.

    Attributes:
        sizes: number of codes of each column.
        cells: their codes in lexicographic order, shape (m, columns).
        weights: positive, shape (m,).
        rows: how many there are by the noisy counts.
    """

    sizes: tuple[int, ...]
    cells: Codes
    weights: Floats
    rows: float

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Every possible row as often as it should be up to rounding; any row at all where no cell was released."""
        if not len(self.cells):
            return np.stack([generator.integers(size, size=count) for size in self.sizes], axis=1).astype(np.int32)
        return np.asarray(self.cells[generator.permutation(systematic_rows(self.weights, count, generator))])
