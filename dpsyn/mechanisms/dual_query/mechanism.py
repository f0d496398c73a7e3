"""DualQuery: a game. One player draws queries that the rows so far answer badly, the other answers with a row for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from dpsyn import checks
from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import Axis, Progress
from dpsyn.mechanisms.categories import Categories, OnBudget, claimed
from dpsyn.mechanisms.dual_query.best_response import best_response
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contingency import Integers, contingency_cells
from dpsyn.solvers.noisy_tables import Columns
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.theory.formulas import Paper

_LARGEST_STEP = 2.0
"""η: however large ε is, one round changes the log odds of a query by no more, or the rows would chase a few queries."""
_MOST_QUERIES = 10**6
_MOST_ROWS = 10**12
"""That a noisy count may say, so that scores fit 64 bits."""


@dataclass(frozen=True)
class DualQuery(Categories):
    """Rows that answer queries (see :class:`~dpsyn.mechanisms.categories.Categories` for what is not listed here).

    The queries are all cells of tables of two columns, and their negations.

    Args:
        rounds: T: as many different rows are made, which are repeated.
        samples: s: queries that are drawn in a round.
        time_limit: for the row of a round, in seconds. Where it ends the search, a seed need not give the same rows again.
    """

    rounds: int = 100
    samples: int = 100
    time_limit: float = 1.0

    name: ClassVar[str] = "dual_query"
    title: ClassVar[str] = "DualQuery"
    paper: ClassVar[Paper] = Paper(
        "Gaboardi, Gallego Arias, Hsu, Roth, Wu 2014",
        "Dual query: Practical private query release for high dimensional data",
        "https://arxiv.org/abs/1402.1526",
    )
    axes: ClassVar[Mapping[str, Axis]] = {
        **Categories.axes,
        "rounds": Axis("T (rounds)", "30, 100, 300"),
        "samples": Axis("s (queries of a round)", "30, 100, 300"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("rounds", checks.whole("rounds", self.rounds, 2, 10_000))
        self._set("samples", checks.whole("samples", self.samples, 1, 10_000))
        self._set("time_limit", checks.number("time_limit", self.time_limit, 1e-3, 1e4))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> DualQueryMechanism:
        """All of the budget for s·(T - 1) choices, after 0.02 for n if it is a secret; η follows from it.

        After t rows the score of a query is the sum over these of how many more rows meet it than should: whole numbers,
        which a neighbour moves by t at most. The queries of the first round are drawn evenly, and cost nothing.

        Raises:
            ParameterError: there are too many queries.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        cells = contingency_cells(domain.shape, 2)
        if cells > _MOST_QUERIES:
            raise ParameterError("cells of tables of two columns", cells, f"at most {_MOST_QUERIES:,}")
        guarantee = claimed(spec, stage, f"{budget.source}, for {self.paper}", spec.delta)
        return DualQueryMechanism(self, spec, domain, n, guarantee, stage, budget)


@dataclass(frozen=True)
class DualQueryMechanism(OnBudget):
    """Calibrated DualQuery."""

    config: DualQuery

    @property
    def choice_scale(self) -> int:
        """n/η, of all choices, as a whole number: s of them with scores that move by t in each round t < T.

        Their costs add up to that of one choice with a score that moves by s·Σt, or by √(s·Σt²) in ρ.
        """
        moves = np.arange(1, self.config.rounds, dtype=np.float64)
        if self.budget.noise == "gaussian":
            together = math.sqrt(self.config.samples * float((moves**2).sum()))
        else:
            together = self.config.samples * float(moves.sum())
        return math.ceil(self.budget.choice_scale(self.budget.total - self.counting, together))

    def calibrated(self) -> dict[str, Any]:
        """Rows, and what every step costs at most."""
        drawn, choosing = (self.config.rounds - 1) * self.config.samples, self.budget.total - self.counting
        return {
            **super().calibrated(),
            **self.ledger((f"choice of {drawn:,} queries", choosing, float(self.choice_scale))),
        }

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[Records, dict[str, Any]]:
        sizes, config = self.domain.shape, self.config
        rows = self.public_rows or min(self.counted(noise, real), _MOST_ROWS)
        scale = max(self.choice_scale, math.ceil(rows / _LARGEST_STEP))
        tables: list[Columns] = list(combinations(range(len(sizes)), 2)) or [(0,)]
        real.expect(tables)
        counts = np.concatenate([real.counts(table) for table in tables])
        literals = _literals(tables, sizes)
        starts = np.cumsum([0, *sizes[:-1]])
        met = np.zeros(len(counts), dtype=np.int64)
        found = np.empty((config.rounds, len(sizes)), dtype=np.int32)
        for t in range(config.rounds):
            progress(f"round {t + 1}", 0.9 * t / config.rounds)
            # By how much the rows should meet a query more often, and less often for its negation.
            missing = t * counts - rows * met
            if t:
                drawn = noise.exponential_choices(np.concatenate([missing, -missing]), scale, config.samples)
            else:
                drawn = noise.generator.integers(0, 2 * len(counts), config.samples)
            queries, weights = np.unique(drawn, return_counts=True)
            at, wanted = queries % len(counts), queries < len(counts)
            found[t] = best_response(sizes, literals[at], wanted, weights, noise.generator, config.time_limit)
            met += np.isin(literals, starts + found[t]).all(axis=1)
        return Records(found, float(rows)), {"step": rows / scale}


def _literals(tables: Sequence[Columns], sizes: Sequence[int]) -> Integers:
    """The two codes of every cell of the tables, counted through all columns; one column's code twice. Shape (cells, 2)."""
    starts = np.cumsum([0, *sizes[:-1]])
    listed = []
    for table in tables:
        grid = np.indices([sizes[j] for j in table]).reshape(len(table), -1)
        listed.append(np.stack([starts[table[0]] + grid[0], starts[table[-1]] + grid[-1]], axis=1))
    return np.concatenate(listed)


@dataclass(frozen=True, eq=False)
class Records:
    """A few rows, each as likely as the others.

    Attributes:
        found: their codes, shape (rounds, columns).
        rows: how many there are by the noisy count.
    """

    found: Codes
    rows: float

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Each of the rows as often as the others up to one, in random order."""
        at = systematic_rows(np.ones(len(self.found)), count, generator)
        shuffled = self.found[generator.permutation(len(self.found))]
        return np.asarray(shuffled[generator.permutation(at)])
