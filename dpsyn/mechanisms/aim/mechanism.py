"""AIM: an adaptive and iterative mechanism. Its workload here is all tables of two columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Axis, Progress
from dpsyn.mechanisms.categories import ONE_WAY, Categories, OnBudget, claimed
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contingency import Integers, contingency_cells
from dpsyn.solvers.graphical_model import GraphicalModel
from dpsyn.solvers.junction_tree import model_cells
from dpsyn.solvers.memory import require_memory
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables
from dpsyn.theory.formulas import Paper

_ROUNDS_A_COLUMN = 16
_MEASURING = 0.9
"""Share of a round that goes into measuring, the rest into choosing; of the paper, as is the number of rounds above."""
_WEIGHTS = {1: 1, 2: 2}
"""Of a candidate, by its columns, in proportion to those that it has in common with all tables of the workload."""
MOST_COLUMNS = 100
"""All pairs of them are scored in every round."""
_BYTES = 200
"""By cell of the model, while it is fitted."""
_BYTES_A_COUNT = 32
"""By cell of a table of two columns: what there is, and what the model expects."""


@dataclass(frozen=True)
class AIM(Categories):
    """The worst table next (see :class:`~dpsyn.mechanisms.categories.Categories` for what is not listed here).

    Args:
        model_cells: how many cells the cliques of the model may have together at the end; before, in proportion to what has
            been spent. More keep more, and take longer.
    """

    model_cells: int = 100_000

    name: ClassVar[str] = "aim"
    title: ClassVar[str] = "AIM"
    paper: ClassVar[Paper] = Paper(
        "McKenna, Mullins, Sheldon, Miklau 2022",
        "AIM: An adaptive and iterative mechanism for differentially private synthetic data",
        "https://arxiv.org/abs/2201.12677",
    )
    axes: ClassVar[Mapping[str, Axis]] = {
        **Categories.axes,
        "model_cells": Axis("M (cells of the model)", "1000, 10000, 100000"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("model_cells", checks.whole("model_cells", self.model_cells, 1, 10**9))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> AIMMechanism:
        """At most 16 rounds a column; later ones may cost more, up to what is left.

        What a round costs follows from what earlier ones released, and all together never cost more than the budget: that is
        enough for zCDP, and for ε (docs/guarantees.md).

        Raises:
            ParameterError: too many columns, or the model or all tables of two columns do not fit into memory.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        if len(domain) > MOST_COLUMNS:
            allowed = f"at most {MOST_COLUMNS}: all pairs are scored in every round"
            raise ParameterError("columns", len(domain), allowed)
        require_memory("model_cells", self.model_cells, _BYTES * self.model_cells)
        require_memory("columns", len(domain), _BYTES_A_COUNT * contingency_cells(domain.shape, 2))
        widest = max(domain.shape)
        squared = "The laws of a column and itself are of its values squared: take fewer bins"
        require_memory("values of a column", widest, _BYTES_A_COUNT * widest**2, detail=squared)
        guarantee = claimed(spec, stage, f"{budget.source}, for {self.paper}", spec.delta)
        return AIMMechanism(self, spec, domain, n, guarantee, stage, budget)


@dataclass(frozen=True)
class Round:
    """The scales of one round."""

    noise_scale: float
    choice_scale: float


@dataclass(frozen=True)
class AIMMechanism(OnBudget):
    """Calibrated AIM."""

    config: AIM

    @property
    def first(self) -> Round:
        """The round of which the budget allows 16 a column."""
        return self._round(self.budget.total / (_ROUNDS_A_COLUMN * len(self.domain)))

    def _round(self, spent: float) -> Round:
        """A round that costs so much."""
        noise = self.budget.noise_scale(_MEASURING * spent)
        return Round(noise, self.budget.choice_scale((1 - _MEASURING) * spent, self._moved))

    def _cost(self, of: Round) -> float:
        return self.budget.noise_cost(of.noise_scale) + self.budget.choice_cost(of.choice_scale, self._moved)

    @property
    def _moved(self) -> int:
        """How far a neighbour moves a score at most."""
        return self.budget.moved * max(_WEIGHTS.values())

    def calibrated(self) -> dict[str, Any]:
        """Rows, and what the first tables and all rounds cost."""
        scale = self.first.noise_scale
        before = self.budget.noise_cost(scale, len(self.domain))
        parts = [(ONE_WAY, before, scale), ("all rounds", self.budget.total - before, self.first.noise_scale)]
        return {**super().calibrated(), **self.stage.ledger(*parts)}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[GraphicalModel, dict[str, Any]]:
        sizes, budget, now = self.domain.shape, self.budget, self.first
        singles: list[Columns] = [(j,) for j in range(len(sizes))]
        candidates: list[Columns] = [*singles, *combinations(range(len(sizes)), 2)]
        real.expect(candidates)
        exact = {columns: real.counts(columns) for columns in candidates}
        tables = NoisyTables()
        for columns in singles:
            counts = budget.released(noise, exact[columns], now.noise_scale)
            tables.add(columns, counts, budget.deviation(now.noise_scale))
        spent = budget.noise_cost(now.noise_scale, len(singles))
        rows = float(self.public_rows or tables.rows)
        model = GraphicalModel.independent([tables.law(j) for j in range(len(sizes))], rows)
        chosen: list[Columns] = []
        last = False
        while not last:
            progress(f"round {len(chosen) + 1}", 0.8 * spent / budget.total)
            left = budget.total - spent
            last = left <= 2 * self._cost(now)
            now = self._round(left) if last else now
            spent += self._cost(now)
            expected = self._expected(model)
            possible = self._small(candidates, tables, model, spent / budget.total)
            scores = np.array([self._score(len(one), exact[one], expected[one], now.noise_scale) for one in possible])
            columns = possible[noise.exponential_choice(scores, now.choice_scale)]
            counts = budget.released(noise, exact[columns], now.noise_scale)
            tables.add(columns, counts, budget.deviation(now.noise_scale))
            chosen.append(columns)
            model = model.moved(sizes, tables)
            change = float(np.abs(model.table(columns) - expected[columns]).sum())
            if change <= budget.mean_error(now.noise_scale) * len(counts):
                now = Round(now.noise_scale / 2, now.choice_scale / 2)
        progress("fitting", 0.8)
        model = GraphicalModel.fitted(sizes, tables, rows, noise.generator)
        names = self.domain.names
        return model, {
            "noisy_tables": tables,
            "rounds": len(chosen),
            "tables": [" – ".join(names[j] for j in columns) for columns in dict.fromkeys(chosen)],
            "model_cells": model.tree.points,
        }

    def _expected(self, model: GraphicalModel) -> dict[Columns, Floats]:
        """Expected rows of every cell of all candidates."""
        found: dict[Columns, Floats] = {(j,): model.table((j,)) for j in range(len(self.domain))}
        return {**found, **model.pairs()}

    def _small(self, candidates: list[Columns], tables: NoisyTables, model: GraphicalModel, share: float) -> list[Columns]:
        """The candidates with which the model stays small enough: those inside a clique cost nothing."""
        inside = {pair for clique in model.tree.cliques for pair in combinations(clique, 2)}
        limit = self.config.model_cells * share
        known = list(tables.counts)
        return [
            columns
            for columns in candidates
            if len(columns) == 1 or columns in inside or model_cells(self.domain.shape, [*known, columns]) <= limit
        ]

    def _score(self, columns: int, exact: Integers, expected: Floats, scale: float) -> int:
        """How far the model is off, less what noise would add: whole numbers, so that a neighbour moves them exactly."""
        off = int(np.abs(exact - np.rint(expected).astype(np.int64)).sum())
        return _WEIGHTS[columns] * off - round(_WEIGHTS[columns] * self.budget.mean_error(scale) * len(exact))
