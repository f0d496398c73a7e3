"""PrivSyn: score pairs with noise, choose and combine tables, measure them, make them agree, change rows towards them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import TABLES_ARE_PUBLIC, Axis, Progress
from dpsyn.mechanisms.categories import ONE_WAY, Categories, OnBudget, claimed
from dpsyn.mechanisms.privsyn.gum import TableModel
from dpsyn.privacy.dependence import check_rows, r_moved, r_score
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.consistency import consistent
from dpsyn.solvers.contingency import contingency_cells
from dpsyn.solvers.dense_marginals import POWERS, combined, dense_pairs, in_proportion, tree_pairs
from dpsyn.solvers.memory import require_memory
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables
from dpsyn.theory.formulas import Paper

Selection = Literal["dense_marg", "privbayes"]
_SCORES, _SINGLES = 0.1, 0.1
"""Shares of the budget for scores of pairs and for tables of single columns, of the paper; the rest is for others."""
MOST_COLUMNS = 100
"""All pairs of them are scored, and maybe measured."""
_BYTES = 60
"""By cell of all tables of two columns."""


@dataclass(frozen=True)
class PrivSyn(Categories):
    """Many tables, and no model between them and the rows (see :class:`~dpsyn.mechanisms.categories.Categories`).

    Args:
        table_cells: γ: pairs are combined into tables of at most so many cells.
        rounds: how many times the rows are changed towards every table.
        selection: ``"dense_marg"``, or ``"privbayes"``: the pairs of a network in which every column has one parent, by the
            same noisy scores; or lists of column names, which must be public: their tables are measured as they are, and
            what scores cost is theirs.
    """

    table_cells: int = 5_000
    rounds: int = 100
    selection: Selection | tuple[tuple[str, ...], ...] = "dense_marg"

    name: ClassVar[str] = "privsyn"
    title: ClassVar[str] = "PrivSyn"
    paper: ClassVar[Paper] = Paper(
        "Zhang, Wang, Li, Honorio, Backes, He, Chen, Zhang 2021",
        "PrivSyn: Differentially private data synthesis",
        "https://arxiv.org/abs/2012.15128",
    )
    axes: ClassVar[Mapping[str, Axis]] = {
        **Categories.axes,
        "table_cells": Axis("γ (cells of a combined table)", "100, 1000, 10000"),
    }
    added_later: ClassVar[Mapping[str, Any]] = {"selection": "dense_marg"}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("table_cells", checks.whole("table_cells", self.table_cells, 1, 10**7))
        self._set("rounds", checks.whole("rounds", self.rounds, 1, 10_000))
        if isinstance(self.selection, str):
            self._set("selection", checks.choice("selection", self.selection, get_args(Selection)))
            return
        why = f"{' or '.join(map(repr, get_args(Selection)))}, or lists of column names, such as (('age', 'smokes'),)"
        sets = [checks.items("selection", table, why) for table in checks.items("selection", self.selection, why)]
        self._set("selection", tuple(tuple(checks.text("selection", name, why) for name in table) for table in sets))
        if not sets or any(not table or len(set(table)) < len(table) for table in sets):
            raise ParameterError("selection", self.selection, why)

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> PrivSynMechanism:
        """A tenth of the budget for the scores of all pairs, one for single columns, the rest for the tables chosen.

        A score is how far a pair is from independence, InDif, in whole numbers that a neighbour moves by what
        :mod:`dpsyn.privacy.dependence` proves; a table is moved in one cell, or two where a row is replaced.

        Raises:
            ParameterError: too many columns or rows, or all tables of two columns do not fit into memory.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        check_rows(spec, n)
        if len(domain) > MOST_COLUMNS:
            allowed = f"at most {MOST_COLUMNS}: all pairs are scored"
            raise ParameterError("columns", len(domain), allowed)
        require_memory("columns", len(domain), _BYTES * contingency_cells(domain.shape, 2))
        named = [] if isinstance(self.selection, str) else self.selection
        columns = tuple(dict.fromkeys(tuple(sorted(map(domain.index, names))) for names in named))
        cells = sum(math.prod(domain.shape[j] for j in table) for table in columns)
        require_memory("selection", f"{cells:,} cells", _BYTES * cells)
        guarantee = claimed(spec, stage, f"{budget.source}, for {self.paper}", spec.delta)
        if columns:
            guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, TABLES_ARE_PUBLIC))
        return PrivSynMechanism(self, spec, domain, n, guarantee, stage, budget, columns)


@dataclass(frozen=True)
class PrivSynMechanism(OnBudget):
    """Calibrated PrivSyn.

    Attributes:
        named: the tables to measure, where they are public.
    """

    config: PrivSyn
    named: tuple[Columns, ...]

    @property
    def pairs(self) -> list[Columns]:
        """Of columns, to be scored: none where the tables are named."""
        return [] if self.named else list(combinations(range(len(self.domain)), 2))

    @property
    def parts(self) -> tuple[float, float, float]:
        """What the scores, the tables of single columns and those that are chosen cost."""
        scores, singles = _SCORES * self.budget.total if self.pairs else 0.0, _SINGLES * self.budget.total
        return scores, singles, self.budget.total - scores - singles

    @property
    def score_scale(self) -> float:
        """Of the noise on all scores together."""
        return self.budget.noise_scale_for(self.parts[0], len(self.pairs), r_moved(self.public_rows))

    @property
    def one_way_scale(self) -> float:
        """Of the noise on counts of single columns."""
        return self.budget.noise_scale(self.parts[1], len(self.domain))

    @property
    def _power(self) -> float:
        return POWERS[self.budget.noise]

    def calibrated(self) -> dict[str, Any]:
        """Rows, and what every step costs; the scale of the last is that of a table that has all to itself."""
        scores, singles, tables = self.parts
        listed = [
            (ONE_WAY, singles, self.one_way_scale),
            ("tables chosen", tables, self.budget.noise_scale(tables)),
        ]
        if scores:
            listed.insert(1, (f"scores of {len(self.pairs)} pairs", scores, self.score_scale))
        return {**super().calibrated(), **self.stage.ledger(*listed)}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[TableModel, dict[str, Any]]:
        sizes, budget = self.domain.shape, self.budget
        tables = NoisyTables()
        singles: list[Columns] = [(j,) for j in range(len(sizes))]
        real.expect([*singles, *self.pairs, *self.named])
        for columns in singles:
            counts = budget.released(noise, real.counts(columns), self.one_way_scale)
            tables.add(columns, counts, budget.deviation(self.one_way_scale))
        progress("choosing tables", 0.1)
        chosen = self._chosen(noise, real)
        # Where no pair is worth its noise, the columns are measured once more.
        measured = self.named or combined(chosen, sizes, self.config.table_cells) or singles
        parts = in_proportion(self.parts[2], measured, lambda columns: math.prod(sizes[j] for j in columns), self._power)
        for columns, spent in zip(measured, parts, strict=True):
            scale = budget.noise_scale(spent)
            tables.add(columns, budget.released(noise, real.counts(columns), scale), budget.deviation(scale))
        progress("making tables agree", 0.2)
        rows = float(self.public_rows or tables.rows)
        model = TableModel(sizes, consistent(tables, sizes, rows), rows, self.config.rounds)
        names = self.domain.names
        return model, {
            "noisy_tables": tables,
            "pairs": len(chosen),
            "tables": [" – ".join(names[j] for j in columns) for columns in measured],
        }

    def _chosen(self, noise: NoiseSource, real: Rows) -> list[Columns]:
        """The pairs whose dependence, by noisy scores, outweighs the noise on their tables; or a network of them."""
        if not self.pairs:
            return []
        if self.config.selection == "privbayes":
            return tree_pairs(self.pairs, self._dependence(noise, real))
        cells = np.array([math.prod(self.domain.shape[j] for j in pair) for pair in self.pairs], dtype=np.float64)
        one = self.budget.mean_error(self.budget.noise_scale(self.parts[2]))
        return dense_pairs(self.pairs, self._dependence(noise, real), cells, self._power, one)

    def _dependence(self, noise: NoiseSource, real: Rows) -> Floats:
        """InDif of all pairs with noise, in rows: Σ |count - count of independent columns|."""
        sizes, rows = self.domain.shape, self.public_rows
        exact = [
            r_score(real.counts(pair).reshape(sizes[pair[0]], sizes[pair[1]]), rows_public=rows is not None)
            for pair in self.pairs
        ]
        noisy = self.budget.released(noise, np.array(exact, dtype=np.int64), self.score_scale)
        return np.asarray(noisy / (rows or 1), dtype=np.float64)
