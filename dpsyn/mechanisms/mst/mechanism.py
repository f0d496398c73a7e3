"""MST: measure columns, choose a spanning tree of pairs by the exponential mechanism, measure its tables, fit, draw."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Progress
from dpsyn.mechanisms.categories import ONE_WAY, Categories, OnBudget, claimed
from dpsyn.notation import counted
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.graphical_model import GraphicalModel
from dpsyn.solvers.memory import require_memory
from dpsyn.solvers.noisy_tables import NoisyTables
from dpsyn.theory.formulas import Paper

Edge = tuple[int, int]

MOST_COLUMNS = 300
"""All pairs of them are scored."""
_BYTES = 100
"""By cell of the model: its law, its potential, and what fitting them takes."""


def most_cells(domain: Domain) -> int:
    """Cells that the tables of a tree have together, at most: those of a star around the largest column."""
    sizes = sorted(domain.shape)
    return sizes[-1] * sum(sizes[:-1] or [1])


@dataclass(frozen=True)
class MST(Categories):
    """A tree of two-way tables (see :class:`~dpsyn.mechanisms.categories.Categories` for the settings)."""

    name: ClassVar[str] = "mst"
    title: ClassVar[str] = "MST"
    paper: ClassVar[Paper] = Paper(
        "McKenna, Miklau, Sheldon 2021",
        "Winning the NIST Contest: A scalable and general approach to differentially private synthetic data",
        "https://arxiv.org/abs/2108.04978",
    )

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> MSTMechanism:
        """A third of the budget for the tables of single columns, for the choice of the tree, and for its tables.

        A row is in one cell of every table, so a neighbour moves one by 1, or two where a row is replaced; and by as much a
        score, which is the sum of |count - known number| over the cells of a table.

        Raises:
            ParameterError: too many columns, or the largest tables do not fit into memory.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        if len(domain) > MOST_COLUMNS:
            raise ParameterError(
                "domain", f"{counted(len(domain))} columns", f"at most {MOST_COLUMNS}: all pairs are scored"
            )
        require_memory("columns", len(domain), _BYTES * most_cells(domain))
        guarantee = claimed(spec, stage, f"{budget.source}, for {self.paper}", spec.delta)
        return MSTMechanism(self, spec, domain, n, guarantee, stage, budget)


@dataclass(frozen=True)
class MSTMechanism(OnBudget):
    """Calibrated MST."""

    @property
    def edges(self) -> int:
        """Of the tree."""
        return len(self.domain) - 1

    @property
    def part(self) -> float:
        """What each of the three steps costs; with one column there is but one."""
        return self.budget.total / (3 if self.edges else 1)

    @property
    def one_way_scale(self) -> float:
        """Of the noise on counts of single columns."""
        return self.budget.noise_scale(self.part, len(self.domain))

    @property
    def choice_scale(self) -> float:
        """Of the choice of one edge."""
        return self.budget.choice_scale(self.part / self.edges, self.budget.moved)

    @property
    def two_way_scale(self) -> float:
        """Of the noise on the tables of the tree."""
        return self.budget.noise_scale(self.part, self.edges)

    def calibrated(self) -> dict[str, Any]:
        """Rows, and what every step costs."""
        parts = [(ONE_WAY, self.part, self.one_way_scale)]
        if self.edges:
            parts += [
                (f"choice of {self.edges} edges", self.part, self.choice_scale),
                ("tables of the tree", self.part, self.two_way_scale),
            ]
        return {**super().calibrated(), **self.stage.ledger(*parts)}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[GraphicalModel, dict[str, Any]]:
        sizes, budget = self.domain.shape, self.budget
        tables = NoisyTables()
        real.expect([*((j,) for j in range(len(sizes))), *combinations(range(len(sizes)), 2)])
        for j in range(len(sizes)):
            counts = budget.released(noise, real.counts((j,)), self.one_way_scale)
            tables.add((j,), counts, budget.deviation(self.one_way_scale))
        progress("choosing the tree", 0.1)
        tree = self._tree(noise, real, tables)
        for edge in tree:
            counts = budget.released(noise, real.counts(edge), self.two_way_scale)
            tables.add(edge, counts, budget.deviation(self.two_way_scale))
        progress("fitting", 0.3)
        model = GraphicalModel.fitted(sizes, tables, float(self.public_rows or tables.rows), noise.generator)
        names = self.domain.names
        return model, {"noisy_tables": tables, "tree": [f"{names[i]} – {names[j]}" for i, j in tree]}

    def _tree(self, noise: NoiseSource, real: Rows, tables: NoisyTables) -> list[Edge]:
        """Kruskal's algorithm, each edge chosen by how far its table is from that of independent columns."""
        sizes = self.domain.shape
        laws, rows = [tables.law(j) for j in range(len(sizes))], float(self.public_rows or tables.rows)
        scores = {}
        for i, j in combinations(range(len(sizes)), 2):
            # Whole numbers on both sides: a neighbour moves the sum by as many cells as it moves, exactly.
            guessed = np.rint(rows * np.outer(laws[i], laws[j]).ravel()).astype(np.int64)
            scores[i, j] = int(np.abs(real.counts((i, j)) - guessed).sum())
        part = list(range(len(sizes)))
        chosen: list[Edge] = []
        while len(chosen) < self.edges:
            possible = [edge for edge in scores if part[edge[0]] != part[edge[1]]]
            at = noise.exponential_choice(np.array([scores[edge] for edge in possible]), self.choice_scale)
            first, second = possible[at]
            joined = part[second]
            part = [part[first] if one == joined else one for one in part]
            chosen.append(possible[at])
        return chosen
