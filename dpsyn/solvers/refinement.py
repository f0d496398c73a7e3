"""Maximum entropy on domains too large to list: the reduced space is drawn again around the density that was fitted.

The first space is drawn from the base measure, where few points may look like the data. After each stage the points are
drawn anew in proportion to the fitted density and moved by a Gibbs step that leaves it unchanged, so the next stage starts
from many points of about equal weight. It is Bregman's iteration (:mod:`dpsyn.solvers.max_entropy`) with a fresh sample in
every step. Only the noisy statistics are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Tables
from dpsyn.solvers.density_spaces import Combined, DensityArray, PointTables, Space
from dpsyn.solvers.max_entropy import MOST_STAGES, MaxEntropyFit, max_entropy
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.solvers.table_model import TableModel

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class RefinedFit:
    """The reduced space of the best stage and what was fitted on it.

    Attributes:
        codes: its points, shape (m, columns).
        fit: density on them.
        model: the density everywhere.
        cells: expected cells of the tables under the density.
        effective_points: 1/Σ h² after each stage but the last: how many points of equal weight the space was worth.
    """

    codes: Codes
    fit: MaxEntropyFit
    model: TableModel
    cells: Floats
    effective_points: tuple[float, ...]


def refined_max_entropy(
    codes: Codes,
    sizes: Sequence[int],
    tables: Tables,
    target: Floats,
    spread: Floats,
    log_base: Sequence[Floats],
    generator: np.random.Generator,
    *,
    combination: sp.csr_array | None = None,
    bonds: Floats | None = None,
    weight: float | None = None,
    stages: int = MOST_STAGES,
    iterations: int = 40,
    progress: Progress = lambda step, share: None,
) -> RefinedFit:
    """Fit, draw again, fit again.

    Args:
        codes: draws from the first measure, shape (m, columns).
        sizes: number of codes of each column.
        tables: sets of columns whose cells the statistics are made of.
        target: y, shape (F,).
        spread: standard deviation of its noise, shape (F,).
        log_base: ln μ_j of every column: the first measure is Π μ_j, times exp(bonds).
        generator: for drawing again.
        combination: statistics as combinations of cells, shape (F, cells); by default they are the cells.
        bonds: potential on the cells that the first measure has against the product; by default none.
        weight: λ of the first stage.
        stages: at most so many; 1 does not draw again.
        iterations: of L-BFGS in each stage.
        progress: told of each stage.
    """

    def model(multipliers: Floats) -> TableModel:
        cells = np.asarray(combination.T @ multipliers, dtype=np.float64) if combination is not None else multipliers
        return TableModel(sizes, tables, cells + bonds if bonds is not None else cells, log_base)

    def space_of(points: Codes) -> Space:
        over_cells = PointTables(points, sizes, tables)
        return over_cells if combination is None else Combined(over_cells, combination)

    def renew(space: Space, multipliers: Floats, density: DensityArray) -> Space:
        effective.append(1 / float((density.astype(np.float64) ** 2).sum()))
        points = _listed(space).codes
        drawn = points[systematic_rows(density, len(points), generator)]
        return space_of(model(multipliers).gibbs(drawn, generator))

    effective: list[float] = []
    fit = max_entropy(
        space_of(codes),
        target,
        spread,
        generator,
        weight=weight,
        stages=stages,
        iterations=iterations,
        renew=renew,
        progress=progress,
    )
    best = _listed(fit.space)
    return RefinedFit(best.codes, fit, model(fit.multipliers), best.expected(fit.density), tuple(effective))


def _listed(space: Space) -> PointTables:
    found = space.over_cells if isinstance(space, Combined) else space
    assert isinstance(found, PointTables)
    return found
