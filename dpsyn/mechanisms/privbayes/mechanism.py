"""PrivBayes: choose parents for column after column, add noise to the tables of the network, draw column by column."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from dpsyn import checks
from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Axis, Progress
from dpsyn.mechanisms.categories import Categories, OnBudget, claimed
from dpsyn.mechanisms.privbayes.scores import F_MOVED, f_score
from dpsyn.privacy.dependence import check_rows, r_moved, r_score
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contingency import cell_numbers
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables
from dpsyn.solvers.rounding import drawn_given
from dpsyn.theory.formulas import Paper

Network = list[tuple[int, Columns]]
"""Columns in the order in which they are drawn, each with its parents, ascending."""

_CHOOSING = 0.3
"""Share of the budget, less what the number of rows costs, for the network: β of the paper."""
_MOST_PARENTS = 4
_MOST_CELLS = 2**22
"""Of a table, however useful it may be."""
_MOST_CANDIDATES = 100_000
"""Sets of parents that are scored in all."""


def candidates(columns: int, parents: int) -> int:
    """How many sets of at most so many parents are looked at, at most, while the network grows."""
    return sum((columns - i) * sum(math.comb(i, r) for r in range(parents + 1)) for i in range(1, columns))


@dataclass(frozen=True)
class PrivBayes(Categories):
    """A Bayesian network (see :class:`~dpsyn.mechanisms.categories.Categories` for what is not listed here).

    Args:
        parents: of a column, at most; fewer where there are so many columns that choosing would take too long.
        usefulness: θ: a table may have so many cells that an average count is θ times its noise.
    """

    parents: int = 3
    usefulness: float = 4.0

    name: ClassVar[str] = "privbayes"
    title: ClassVar[str] = "PrivBayes"
    paper: ClassVar[Paper] = Paper(
        "Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017",
        "PrivBayes: Private data release via Bayesian networks",
        "https://doi.org/10.1145/3134428",
    )
    axes: ClassVar[dict[str, Axis]] = {
        **Categories.axes,
        "parents": Axis("parents (of a column)", "1, 2, 3", logarithmic=False),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("parents", checks.whole("parents", self.parents, 1, _MOST_PARENTS))
        self._set("usefulness", checks.number("usefulness", self.usefulness, 1e-6, 1e6))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> PrivBayesMechanism:
        """0.3 of the budget for the network, one choice a column, 0.7 for its tables, after 0.02 for n if it is a secret.

        Scores are whole numbers, and a neighbour moves them by what :mod:`dpsyn.privacy.dependence` and
        :mod:`dpsyn.mechanisms.privbayes.scores` prove.

        Raises:
            ParameterError: choosing one parent for each column would take too long, or there are too many rows.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        check_rows(spec, n)
        parents = next((p for p in range(self.parents, 0, -1) if candidates(len(domain), p) <= _MOST_CANDIDATES), 0)
        if not parents:
            allowed = f"so few that at most {_MOST_CANDIDATES:,} pairs of a column and a parent are to be scored"
            raise ParameterError("columns", len(domain), allowed)
        guarantee = claimed(spec, stage, f"{budget.source}, for {self.paper}", spec.delta)
        return PrivBayesMechanism(self, spec, domain, n, guarantee, stage, budget, parents)


@dataclass(frozen=True)
class PrivBayesMechanism(OnBudget):
    """Calibrated PrivBayes.

    Attributes:
        most_parents: of a column.
    """

    config: PrivBayes
    most_parents: int

    @property
    def parts(self) -> tuple[float, float]:
        """What choosing the network and measuring its tables cost."""
        left = self.budget.total - self.counting
        choosing = _CHOOSING * left if len(self.domain) > 1 else 0.0
        return choosing, left - choosing

    @property
    def binary(self) -> bool:
        """Whether the score is F."""
        return all(size == 2 for size in self.domain.shape)

    @property
    def choice_scale(self) -> float:
        """Of the choice of one column with its parents."""
        moved = F_MOVED if self.binary else r_moved(self.public_rows)
        return self.budget.choice_scale(self.parts[0] / (len(self.domain) - 1), moved)

    def table_scale(self, tables: int) -> float:
        """Of the noise on so many tables."""
        return self.budget.noise_scale(self.parts[1], tables)

    def calibrated(self) -> dict[str, Any]:
        """Rows, parents, and what every step costs."""
        choosing, measuring = self.parts
        listed = [("tables of the network", measuring, self.table_scale(len(self.domain)))]
        if choosing:
            listed.insert(0, (f"choice of {len(self.domain) - 1} columns and parents", choosing, self.choice_scale))
        score = "F" if self.binary else "R"
        return {**super().calibrated(), "most_parents": self.most_parents, "score": score, **self.ledger(*listed)}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[BayesianNetwork, dict[str, Any]]:
        sizes, budget = self.domain.shape, self.budget
        network = self._network(noise, real, self._largest_table(self.counted(noise, real)), progress)
        progress("measuring the network", 0.7)
        joint = [tuple(sorted((column, *parents))) for column, parents in network]
        # A table that is part of another one is read off it.
        measured = [one for one in dict.fromkeys(joint) if not any(set(one) < set(other) for other in joint)]
        scale = self.table_scale(len(measured))
        tables = NoisyTables()
        for columns in measured:
            counts = budget.released(noise, real.counts(columns), scale)
            tables.add(columns, counts, budget.deviation(scale))
        laws = [self._law(tables, column, parents) for column, parents in network]
        names = self.domain.names
        shown = [f"{names[column]} ← {', '.join(names[j] for j in parents)}" for column, parents in network]
        found = {"noisy_tables": tables, "network": shown}
        return BayesianNetwork(sizes, network, laws, float(self.public_rows or tables.rows)), found

    def _largest_table(self, rows: int) -> float:
        """Cells up to which a table is θ-useful: an average count is at least θ times the noise on it."""
        useful = rows / (self.config.usefulness * self.budget.mean_error(self.table_scale(len(self.domain))))
        return min(useful, _MOST_CELLS)

    def _network(self, noise: NoiseSource, real: Rows, cells: float, progress: Progress) -> Network:
        """Greedy: of all columns that are left and all useful sets of parents, one by the exponential mechanism, again."""
        sizes = self.domain.shape
        network: Network = [(int(noise.generator.integers(len(sizes))), ())]
        known: dict[tuple[int, Columns], int] = {}
        while len(network) < len(sizes):
            progress(f"choosing parents, column {len(network) + 1}", 0.7 * len(network) / len(sizes))
            placed = sorted(column for column, _ in network)
            possible = [
                (column, parents)
                for column in range(len(sizes))
                if column not in placed
                for parents in self._useful(column, placed, cells)
            ]
            new = [pair for pair in possible if pair not in known]
            real.expect((*parents, column) for column, parents in new)
            known |= {pair: self._score(real, *pair) for pair in new}
            scores = np.array([known[pair] for pair in possible], dtype=np.int64)
            network.append(possible[noise.exponential_choice(scores, self.choice_scale)])
        return network

    def _useful(self, column: int, placed: list[int], cells: float) -> Iterator[Columns]:
        """Largest sets of parents whose table with the column is not too large."""
        sizes = self.domain.shape
        for count in range(min(self.most_parents, len(placed)) + 1):
            for parents in combinations(placed, count):
                table = sizes[column] * math.prod(sizes[j] for j in parents)
                others = [sizes[j] for j in placed if j not in parents]
                full = count == self.most_parents or not others or table * min(others) > cells
                if full and (table <= cells or not parents):
                    yield parents

    def _score(self, real: Rows, column: int, parents: Columns) -> int:
        joint = real.counts((*parents, column)).reshape(-1, self.domain.shape[column])
        return f_score(joint) if self.binary else r_score(joint, rows_public=self.public_rows is not None)

    def _law(self, tables: NoisyTables, column: int, parents: Columns) -> Floats:
        """The column given its parents: noisy counts without the negative ones, shape (cells of the parents, codes)."""
        sizes, asked = self.domain.shape, {column, *parents}
        holding = min((one for one in tables.counts if asked <= set(one)), key=lambda one: len(tables.counts[one]))
        counts = tables.counts[holding].reshape([sizes[j] for j in holding])
        counts = counts.sum(axis=tuple(axis for axis, j in enumerate(holding) if j not in asked))
        order = sorted(asked)
        counts = np.maximum(np.moveaxis(counts, order.index(column), -1).reshape(-1, sizes[column]), 0.0)
        total = counts.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / sizes[column]))


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """A network with its conditional laws.

    Attributes:
        sizes: number of codes of each column.
        network: columns with their parents.
        laws: of each column given its parents, shape (cells of the parents, codes).
        rows: how many there are by the noisy tables.
    """

    sizes: tuple[int, ...]
    network: Network
    laws: list[Floats]
    rows: float

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Every column given its parents, each cell of a table as often as it should be up to rounding."""
        codes = np.zeros((count, len(self.sizes)), dtype=np.int32)
        for (column, parents), law in zip(self.network, self.laws, strict=True):
            codes[:, column] = drawn_given(cell_numbers(codes, parents, self.sizes), law, generator)
        return codes[generator.permutation(count)]
