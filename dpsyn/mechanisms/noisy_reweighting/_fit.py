"""From noisy statistics to a density and rows: all of it post-processing, nothing here sees a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.mechanisms.base import Progress
from dpsyn.mechanisms.noisy_reweighting import _spaces
from dpsyn.mechanisms.noisy_reweighting.families import Cells, Family, TableFamily, Tables, cells_of
from dpsyn.mechanisms.noisy_reweighting.merged_tables import MergedTables
from dpsyn.solvers.contingency import cell_offsets
from dpsyn.solvers.density_spaces import (
    Combined,
    DenseFunctions,
    PointTables,
    Space,
    SparseFunctions,
    TableModel,
    WholeDomain,
)
from dpsyn.solvers.junction_tree import JunctionTree, model_cells
from dpsyn.solvers.max_entropy import NEWTON_AT_MOST, MaxEntropyFit, max_entropy, refined_max_entropy
from dpsyn.solvers.rounding import repaired_rows, systematic_rows

if TYPE_CHECKING:
    from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting

Floats = npt.NDArray[np.float64]

SpaceKind = Literal["whole", "uniform", "marginals", "tree", "public"]
_SMALL_FAMILY = 400
_SMALL_MATRIX = 4_000_000
"""Entries: where the matrix of all points is no larger, Newton's method in double precision takes the place of L-BFGS."""
_SMALL_PRODUCT = 8_000_000
"""Pairs of tables at all points: of so many the covariance of all cells takes about 50 ms."""
_A_CLIQUE_CELL = 5
"""What a cell of a clique takes in a step of the fit, in look-ups of a point in a table."""
_MOST_COLUMNS_IN_CLIQUES = 300
_STEPS_ON_CLIQUES = 40
_TABLES_TO_REPAIR = 20_000_000
"""Cells of the two-way tables that rows of the user's own functions are repaired to, at most."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What the fit is to do; public.

    Attributes:
        config: how to fit and to draw.
        family: the statistics.
        space: where the points come from.
        size: how many points are drawn; all of them where ``space`` is ``"whole"``.
        listed: the points of the whole domain are listed (needed by the linear program and by functions of any kind).
        public: codes of public rows, for ``space="public"``.
    """

    config: NoisyReweighting
    family: Family
    space: SpaceKind
    size: int
    listed: bool
    public: Codes | None = None

    @property
    def groups(self) -> npt.NDArray[np.int64] | None:
        """Where each group of statistics begins, where steps differ between them."""
        even = self.config.steps == "even" or not self.family.groups
        return None if even else np.array([group.start for group in self.family.groups])


@dataclass(frozen=True, eq=False)
class OnCliques:
    """A density on the whole domain, by its laws on the cliques of a junction tree."""

    tree: JunctionTree
    potential: Floats

    def rows(self, count: int, generator: np.random.Generator) -> Codes:
        """Codes of rows, every cell of a clique with its share of them, rounded up or down: shape (count, columns)."""
        return self.tree.rows(self.potential, count, generator)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A density on points.

    Attributes:
        codes: the points, shape (m, columns); None for all points of the domain in lexicographic order.
        density: h, shape (m,).
        statistics: A h, shape (F,).
        tables, cells: tables that rows are repaired to, and the shares of their cells under h.
        model: the density at any row, whatever its points are; None where it is not known.
        facts: about the fit, for teaching.
        on_cliques: the density that the points were drawn from, where it was fitted on cliques.
    """

    codes: Codes | None
    density: npt.NDArray[np.floating[Any]]
    statistics: Floats
    tables: Tables
    cells: Floats
    model: TableModel | None
    facts: dict[str, Any] = field(default_factory=dict)
    on_cliques: OnCliques | None = None


def fit(
    plan: Plan,
    noisy: _spaces.NoisySums,
    marginals: list[Floats] | None,
    generator: np.random.Generator,
    progress: Progress,
) -> Fitted:
    """Fit a density to noisy sums.

    Args:
        plan: what to do.
        noisy: the sums.
        marginals: one-way shares that were released on their own; None takes what the statistics say of them.
        generator: for draws.
        progress: told of each step, with shares of this part of the work.
    """
    family = plan.family
    target = noisy.sums * (family.unit / noisy.rows)
    spread = noisy.spreads * (family.unit / noisy.rows)
    base = marginals or noisy.marginals()
    if plan.config.reduced_space == "uniform":
        base = [np.full(size, 1 / size) for size in family.sizes]
    log_base = [np.log(law) for law in base]
    cells = cells_of(family)
    bonds: _spaces.Bonds = []
    if plan.space == "whole":
        codes = _spaces.all_points(family.sizes) if plan.listed else None
        return _on_one_space(plan, cells, codes, None, target, spread, log_base, generator, progress)
    if cells is not None and by_cliques(plan, cells):
        return _on_cliques(plan, cells, target, spread, log_base, generator, progress)
    progress("drawing the reduced space", 0.0)
    if plan.space == "public":
        assert plan.public is not None
        drawn = plan.public
        if len(drawn) > plan.size:
            drawn = drawn[generator.choice(len(drawn), plan.size, replace=False)]
    elif plan.space == "tree":
        drawn, bonds = _spaces.draws_from_tree(noisy, base, plan.size, generator)
    else:
        drawn = _spaces.draws_from_product(base, plan.size, generator)
    if plan.config.objective == "max_entropy" and cells is not None and plan.space != "public":
        return _refined(plan, cells, target, spread, log_base, drawn, bonds, generator, progress)
    points, times = np.unique(drawn, axis=0, return_counts=True)
    return _on_one_space(plan, cells, points, times.astype(np.float64), target, spread, log_base, generator, progress)


def _on_one_space(
    plan: Plan, cells: Cells | None, codes: Codes | None, weights: Floats | None, target: Floats, spread: Floats,
    log_base: list[Floats], generator: np.random.Generator, progress: Progress,
) -> Fitted:  # fmt: skip
    family = plan.family
    sizes = family.sizes
    tables: Tables = cells.tables if cells is not None else tuple(combinations(range(len(sizes)), min(2, len(sizes))))
    if codes is not None and plan.space == "whole":
        weights = np.exp(sum(law[codes[:, j]] for j, law in enumerate(log_base)))
    over_cells: Space = WholeDomain(sizes, tables, log_base) if codes is None else PointTables(codes, sizes, tables, weights)
    space: Space = over_cells
    if plan.config.objective != "max":
        small = family.count <= _SMALL_FAMILY and over_cells.points * family.count <= _SMALL_MATRIX
        by_newton = isinstance(family, TableFamily) and _by_newton(family, over_cells.points)
        if cells is None or (plan.space == "whole" and (small or by_newton)):
            points = codes if codes is not None else _spaces.all_points(sizes)
            base = np.exp(sum(law[points[:, j]] for j, law in enumerate(log_base))) if weights is None else weights
            matrix = family.matrix(points)
            if cells is None or small or isinstance(matrix, np.ndarray):
                space = DenseFunctions(matrix, base)
            else:
                space = SparseFunctions(matrix, base)
        elif cells.combination is not None:
            space = Combined(over_cells, cells.combination)
    facts: dict[str, Any] = {}
    model: TableModel | None = None
    if plan.config.objective == "max":
        from dpsyn.solvers.chebyshev import fit_density

        assert codes is not None
        matrix = family.matrix(codes)
        progress(f"minimax program: {len(target):,} statistics on {matrix.shape[1]:,} points", 0.1)
        program = fit_density(matrix, target, vertex=plan.config.vertex)
        density: npt.NDArray[np.floating[Any]] = program.density
        statistics = np.asarray(matrix @ program.density, dtype=np.float64)
        facts |= {
            "solver": program.solver,
            "solver_status": program.status,
            "solver_residual": program.residual,
            "duality_gap": program.gap,
        }
    elif plan.config.objective == "least_squares":
        from dpsyn.solvers.least_squares import least_squares

        progress(f"least squares: {len(target):,} statistics on {space.points:,} points", 0.1)
        squares = least_squares(space, target, spread)
        density, statistics = squares.density, squares.statistics
        facts |= {"solver_status": squares.status, "misfit": squares.misfit, "duality_gap": squares.gap}
    else:
        entropy = max_entropy(space, target, spread, generator, groups=plan.groups, progress=progress)
        density, statistics = entropy.density, entropy.statistics
        facts |= {
            "solver_status": entropy.status,
            "misfit": entropy.misfit,
            **_stages(entropy),
            "duality_gap": entropy.gap,
        }
        if cells is not None and plan.space == "whole":
            by_cell = entropy.multipliers
            if cells.combination is not None:
                by_cell = np.asarray(cells.combination.T @ by_cell)
            model = TableModel(sizes, tables, by_cell, log_base)
    repairable = int(cell_offsets(sizes, tables)[-1]) <= _TABLES_TO_REPAIR
    shares = over_cells.expected(density) if repairable else np.zeros(0)
    return Fitted(codes, density, statistics, tables if repairable else (), shares, model, facts)


def _by_newton(family: TableFamily, points: int) -> bool:
    """Whether the covariance of all cells at so many points takes little."""
    return family.count <= NEWTON_AT_MOST and points * len(family.tables) ** 2 <= _SMALL_PRODUCT


def by_cliques(plan: Plan, cells: Cells) -> bool:
    """Whether the whole domain by the cliques of its tables takes less time than drawn points, if neither is asked for."""
    config, sizes = plan.config, plan.family.sizes
    asked = config.reduced_space != "auto" or config.reduced_space_size is not None or config.refinements == 0
    if asked or config.objective != "max_entropy" or cells.combination is not None or len(sizes) > _MOST_COLUMNS_IN_CLIQUES:
        return False
    return _A_CLIQUE_CELL * model_cells(sizes, cells.tables) <= plan.size * len(cells.tables)


def _on_cliques(
    plan: Plan, cells: Cells, target: Floats, spread: Floats, log_base: list[Floats], generator: np.random.Generator,
    progress: Progress,
) -> Fitted:  # fmt: skip
    sizes, tables = plan.family.sizes, cells.tables
    tree = JunctionTree(sizes, tables, log_base)
    found = max_entropy(tree, target, spread, generator, iterations=_STEPS_ON_CLIQUES, groups=plan.groups, progress=progress)
    law = OnCliques(tree, found.multipliers)
    facts = {
        "solver_status": found.status,
        "misfit": found.misfit,
        **_stages(found),
        "duality_gap": found.gap,
        "cliques": len(tree.cliques),
        "cells_of_cliques": tree.points,
    }
    codes = law.rows(plan.size, generator)
    model = TableModel(sizes, tables, found.multipliers, log_base)
    shares = tree.expected(found.density)
    return Fitted(codes, np.full(plan.size, 1 / plan.size), found.statistics, tables, shares, model, facts, law)


def _refined(
    plan: Plan, cells: Cells, target: Floats, spread: Floats, log_base: list[Floats], codes: Codes, bonds: _spaces.Bonds,
    generator: np.random.Generator, progress: Progress,
) -> Fitted:  # fmt: skip
    found = refined_max_entropy(
        codes,
        plan.family.sizes,
        cells.tables,
        target,
        spread,
        log_base,
        generator,
        combination=cells.combination,
        bonds=_spaces.bonds_on_cells(bonds, plan.family.sizes, cells.tables) if bonds else None,
        groups=plan.groups,
        stages=1 + plan.config.refinements,
        progress=progress,
    )
    facts = {
        "solver_status": found.fit.status,
        "misfit": found.fit.misfit,
        **_stages(found.fit),
        "effective_points_after_each_stage": found.effective_points,
        "duality_gap": found.fit.gap,
    }
    statistics, family = found.fit.statistics, plan.family
    shares = family.spread_out(statistics) if isinstance(family, MergedTables) else found.cells
    return Fitted(found.codes, found.fit.density, statistics, cells.tables, shares, found.model, facts)


def _stages(fitted: MaxEntropyFit) -> dict[str, Any]:
    return {
        "misfit_after_each_stage": tuple(stage.misfit for stage in fitted.stages),
        "degrees_of_freedom_after_each_stage": tuple(stage.degrees_of_freedom for stage in fitted.stages),
        "risk_after_each_stage": tuple(stage.risk for stage in fitted.stages),
        "weight": fitted.weight,
    }


def drawn_codes(plan: Plan, fitted: Fitted, sizes: tuple[int, ...], rows: int, generator: np.random.Generator) -> Codes:
    """Codes of ``rows`` rows: independent draws, or systematic ones repaired towards the tables of the density."""
    codes = fitted.codes
    if plan.config.rounding == "independent":
        mass = np.cumsum(fitted.density, dtype=np.float64)
        numbers = np.searchsorted(mass, generator.random(rows) * mass[-1], side="right").clip(0, len(mass) - 1)
        return codes[numbers] if codes is not None else _spaces.points_at(numbers, sizes)
    if fitted.on_cliques is not None:
        drawn = fitted.on_cliques.rows(rows, generator)
    elif codes is None:
        drawn = _spaces.points_at(systematic_rows(fitted.density, rows, generator), sizes)
    else:
        order = np.lexsort(codes.T[::-1])
        drawn = codes[order[systematic_rows(fitted.density[order], rows, generator)]]
    if fitted.tables:
        drawn = repaired_rows(drawn, sizes, fitted.tables, fitted.cells, generator, model=fitted.model)
    return np.asarray(generator.permutation(drawn, axis=0))
