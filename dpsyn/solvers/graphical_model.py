"""A graphical model fitted to noisy tables: what MST and AIM draw their rows from (McKenna, Sheldon, Miklau 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import cell_offsets
from dpsyn.solvers.junction_tree import JunctionTree
from dpsyn.solvers.max_entropy import max_entropy, max_entropy_step
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables
from dpsyn.solvers.rounding import repaired_rows

_DROWNED = 1e3
_NEAR, _STEPS = 0.1, 60
"""How far one step from an earlier model goes: λ as a share of the number of cells, and iterations. Of 1, 0.3, 0.1 and 0.03
times the cells, 0.1 had the smallest error on Adult's eight columns at ε = 1."""

_LEAST = 0.05
"""Of the noise on a share, where a fit starts."""


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A density of maximum entropy near noisy tables.

    Attributes:
        tree: the cliques.
        potential: one number for each cell of the tables.
        density: laws of the cliques.
        rows: how many there are.
    """

    tree: JunctionTree
    potential: Floats
    density: Floats
    rows: float

    @classmethod
    def fitted(
        cls, sizes: Sequence[int], tables: NoisyTables, rows: float, generator: np.random.Generator
    ) -> GraphicalModel:
        """The density near all tables that follows their noise least (:func:`~dpsyn.solvers.max_entropy.max_entropy`).

        It starts from independent columns, as what all tables say of those that were measured alone: a wide column that few
        rows have would else be given up, because the noise on the tables beside it outweighs it.
        """
        tree, target, spread = _problem(sizes, tables, rows)
        cells = cell_offsets(sizes, tree.tables)
        alone = {columns[0]: slice(*cells[at : at + 2]) for at, columns in enumerate(tree.tables) if len(columns) == 1}
        variances = {table: float(spread[at]) ** 2 for table, at in zip(tree.tables, cells[:-1], strict=True)}

        def start(shares: Floats) -> Floats:
            noisy = NoisyTables(dict(zip(tree.tables, np.split(shares, cells[1:-1]), strict=True)), variances)
            found = np.zeros(len(shares))
            for column, part in alone.items():
                found[part] = np.log(noisy.shrunk_law(column, sizes, 1.0, _LEAST) * sizes[column])
            return found

        fit = max_entropy(tree, target, spread, generator, groups=cells[:-1], even=True, start=start)
        return cls(tree, fit.multipliers, np.asarray(fit.density, dtype=np.float64), rows)

    def moved(self, sizes: Sequence[int], tables: NoisyTables, steps: int = _STEPS) -> GraphicalModel:
        """The density near tables of which some are new, by one step from this one: quick, and near enough to go on from."""
        tree, target, spread = _problem(sizes, tables, self.rows)
        known = _by_table(self.tree, self.potential)
        start = [known.get(table, np.zeros(len(tables.counts[table]))) for table in tree.tables]
        fit = max_entropy_step(tree, target, spread, _NEAR * len(target), center=np.concatenate(start), iterations=steps)
        return GraphicalModel(tree, fit.multipliers, np.asarray(fit.density, dtype=np.float64), self.rows)

    @classmethod
    def independent(cls, laws: Sequence[Floats], rows: float) -> GraphicalModel:
        """Columns one by one, each with its own law."""
        sizes = [len(law) for law in laws]
        tree = JunctionTree(sizes, [(j,) for j in range(len(sizes))])
        potential = np.concatenate([np.log(np.maximum(law, 1e-12)) for law in laws])
        return cls(tree, potential, tree.density(potential)[0], rows)

    def table(self, columns: Columns) -> Floats:
        """Expected rows of every cell of a table whose columns are in one clique."""
        return self.rows * self.tree.law(self.density, columns)

    def pairs(self) -> dict[Columns, Floats]:
        """Expected rows of every table of two columns, shape (cells,)."""
        return {pair: self.rows * law.ravel() for pair, law in self.tree.pairs(self.density).items()}

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Rows in random order whose tables are those of the model up to rounding: shape (count, columns)."""
        tree = self.tree
        drawn = tree.rows(self.potential, count, generator)
        expected = tree.expected(self.density)
        found = repaired_rows(drawn, tree.sizes, tree.tables, expected, generator)
        return found[generator.permutation(count)]


def _problem(sizes: Sequence[int], tables: NoisyTables, rows: float) -> tuple[JunctionTree, Floats, Floats]:
    """The space, the shares of all cells, and the standard deviations of their noise."""
    listed = list(tables.counts)
    counts = np.concatenate([tables.counts[columns] for columns in listed])
    deviations = [np.full(len(tables.counts[columns]), tables.variances[columns] ** 0.5) for columns in listed]
    spread = np.concatenate(deviations)
    # Noise of a thousand times all rows says nothing; as it stands arithmetic could not carry it.
    unit = max(rows, float(spread.max()) / _DROWNED)
    return JunctionTree(sizes, listed), counts / unit, spread / unit


def _by_table(tree: JunctionTree, potential: Floats) -> Mapping[Columns, Floats]:
    sizes = np.cumsum([int(np.prod([tree.sizes[j] for j in table], dtype=np.int64)) for table in tree.tables])
    return dict(zip(tree.tables, np.split(potential, sizes[:-1]), strict=True))
