"""Maximum entropy on domains too large to list: the reduced space is drawn again around the density that was fitted.

The first space is drawn from the base measure, where few points may look like the data. After each stage the points are drawn
anew in proportion to the fitted density and moved by a Gibbs step that leaves it unchanged, so the next stage starts from many
points of about equal weight. It is Bregman's iteration (:mod:`dpsyn.optim.max_entropy`) with a fresh sample in every step. Only
the noisy statistics are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsyn.domain import Codes
from dpsyn.optim.density_spaces import Combined, PointTables, Space, Tables
from dpsyn.optim.max_entropy import SMALL_GAIN, MaxEntropyFit, first_step, max_entropy_step
from dpsyn.optim.rounding import systematic_rows
from dpsyn.optim.table_model import TableModel

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class RefinedFit:
    """The last reduced space and what was fitted on it.

    Attributes:
        codes: its points, shape (m, columns).
        fit: density on them; its ``multipliers`` are those of the last stage alone.
        model: the density everywhere, all stages together.
        misfits: after each stage.
        effective_points: 1/Σ h² at each stage: how many points of equal weight the space was worth.
    """

    codes: Codes
    fit: MaxEntropyFit
    model: TableModel
    misfits: tuple[float, ...]
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
    stages: int = 6,
    iterations: int = 80,
    progress: Progress = lambda step, share: None,
) -> RefinedFit:
    """Fit, draw again, fit again.

    Args:
        codes: draws from the first measure, shape (m, columns).
        sizes, tables: the domain and the tables whose cells the statistics are made of.
        target, spread: y and the standard deviation of its noise, shape (F,).
        log_base: ln μ_j of every column: the first measure is Π μ_j, times exp(bonds).
        generator: for drawing again.
        combination: statistics as combinations of cells, shape (F, cells); by default they are the cells.
        bonds: potential on the cells that the first measure has against the product; by default none.
        weight: λ; found in the first stage by default.
        stages: at most so many; 1 does not draw again.
        iterations: of L-BFGS in each stage.
        progress: told of each stage.
    """
    total = np.zeros(len(target))
    misfits: list[float] = []
    effective: list[float] = []

    def cells(multipliers: Floats) -> Floats:
        found = np.asarray(combination.T @ multipliers, dtype=np.float64) if combination is not None else multipliers
        return found + bonds if bonds is not None else found

    while True:
        stage = len(misfits)
        progress(f"fitting a density to {len(target):,} statistics on {len(codes):,} points, stage {stage + 1}", stage / stages)
        space: Space = PointTables(codes, sizes, tables)
        if combination is not None:
            space = Combined(space, combination)
        if stage == 0:
            fit = first_step(space, target, spread, weight=weight, iterations=iterations)
        else:
            fit = max_entropy_step(space, target, spread, fit.weight, iterations=iterations)
        total = total + fit.multipliers
        misfits.append(fit.misfit)
        effective.append(1 / float((fit.density.astype(np.float64) ** 2).sum()))
        model = TableModel(sizes, tables, cells(total), log_base)
        done = len(misfits) >= stages or (len(misfits) > 2 and misfits[-1] > (1 - SMALL_GAIN) * misfits[-2])
        if done:
            return RefinedFit(codes, fit, model, tuple(misfits), tuple(effective))
        codes = model.gibbs(codes[systematic_rows(fit.density, len(codes), generator)], generator)
