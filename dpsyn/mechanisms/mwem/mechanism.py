"""MWEM: the exponential mechanism, noise and multiplicative weights over the cells, or the tables, of d columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dpsyn import checks
from dpsyn.domain import Codes, Domain
from dpsyn.errors import ParameterError
from dpsyn.mechanisms.base import DEGREE, Axis, Progress
from dpsyn.mechanisms.categories import Categories, OnBudget, claimed
from dpsyn.mechanisms.mwem.theorems import best_rounds, too_many
from dpsyn.privacy.budget import Budget
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contingency import Integers, cell_offsets
from dpsyn.solvers.least_squares import onto_simplex
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables
from dpsyn.solvers.rounding import systematic_rows
from dpsyn.theory.formulas import Paper

Measured = Literal["tables", "cells"]
Output = Literal["last", "average"]

MOST_NOISY = 2**20
"""Rows of the domain that may get noise at the start: exact noise takes some microseconds each."""
MOST_ROUNDS = 200
ROUNDS_A_COLUMN = 2
"""Of one, two and three, two was as good on ASIA and half as slow on Adult's eight columns as three."""
_MOST_REPLAYED = 500_000
"""Measurements that all rounds use again, together: their number grows with the square of the rounds."""
_FIRST = 1e-3
"""Weight at the start that no possible row has less of, in parts of the average: 0 times a factor would stay 0."""
_LONGEST_STEP = 300.0
"""Exponent of a weight, as far as it goes without overflow; noise can ask for more where n·ε is small."""


@dataclass(frozen=True)
class Queries:
    """The cells of all tables over d columns, table by table, the last column running fastest."""

    sizes: tuple[int, ...]
    degree: int

    @cached_property
    def tables(self) -> list[Columns]:
        """The sets of columns."""
        return list(combinations(range(len(self.sizes)), self.degree))

    @cached_property
    def offsets(self) -> Integers:
        """Number of the first cell of every table, and at the end of all."""
        return cell_offsets(self.sizes, self.tables)

    @property
    def cells(self) -> int:
        """|Q|."""
        return int(self.offsets[-1])

    def counts(self, real: Rows) -> Integers:
        """How many rows lie in every cell, exact. Shape (cells,)."""
        real.expect(self.tables)
        return np.concatenate([real.counts(table) for table in self.tables])

    def shares(self, density: Floats) -> Floats:
        """Every cell's share under a density on the domain, shape (Π sizes,). Shape (cells,)."""
        return np.concatenate([shares_of(density, table, self.sizes) for table in self.tables])


def shares_of(density: Floats, table: Columns, sizes: tuple[int, ...]) -> Floats:
    """The share of every cell of a table under a density on the domain, shape (cells,)."""
    kept, found = 1, density
    for j, size in enumerate(sizes):
        found = found.reshape(kept, size, -1)
        if j in table:
            kept *= size
        else:
            found = np.ones(size) @ found
    return found.ravel()


@dataclass(frozen=True)
class Measurement:
    """Noisy counts of some cells of a table.

    Attributes:
        table: its columns.
        cells: which ones; all of them, or one.
        counts: shape (cells,).
    """

    table: Columns
    cells: slice
    counts: Floats


@dataclass(frozen=True)
class MWEM(Categories):
    """Weights that are multiplied (see :class:`~dpsyn.mechanisms.categories.Categories` for what is not listed here).

    The algorithm as it is printed measures ``"cells"``, has no ``replays`` and puts out the ``"average"``: Theorem 2.2 is
    about that. The paper's section 2.3.2 has ``replays``, ``start_share`` and the ``"last"`` density.

    Args:
        degree: d, columns of the tables; all, where there are fewer.
        measured: what a round chooses and measures: one of the ``"tables"``, or one of their ``"cells"``.
        rounds: T; None takes two a column where tables are measured or n is a secret, and else the T at which the bound of
            Theorem 2.2 is smallest, at most 200.
        replays: how many times more all measurements so far are used in every round. Post-processing.
        start_share: share of the budget for noise on all possible rows, whose counts are the weights at the start; 0 starts
            from equal weights.
        output: the ``"last"`` density, or the ``"average"`` over all rounds.
    """

    degree: int = 2
    measured: Measured = "tables"
    rounds: int | None = None
    replays: int = 10
    start_share: float = 0.0
    output: Output = "last"

    name: ClassVar[str] = "mwem"
    title: ClassVar[str] = "MWEM"
    paper: ClassVar[Paper] = Paper(
        "Hardt, Ligett, McSherry 2012",
        "A simple and practical algorithm for differentially private data release",
        "https://arxiv.org/abs/1012.4763",
    )
    added_later: ClassVar[Mapping[str, Any]] = {"histogram_share": 0.0, "measured": "cells", "start_share": 0.0}
    axes: ClassVar[Mapping[str, Axis]] = {
        **Categories.axes,
        "degree": DEGREE,
        "rounds": Axis("T (rounds)", "3, 10, 30, 100"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("degree", checks.whole("degree", self.degree))
        self._set("measured", checks.choice("measured", self.measured, get_args(Measured)))
        self._set("rounds", checks.whole_or_none("rounds", self.rounds, 1, 10_000))
        self._set("replays", checks.whole("replays", self.replays, 0, 1_000))
        self._set("start_share", checks.number("start_share", self.start_share, 0.0, below=1.0))
        if self.start_share:
            checks.share("start_share", self.start_share)
        self._set("output", checks.choice("output", self.output, get_args(Output)))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> MWEMMechanism:
        """T rounds, half for choosing and half for measuring, with what the number of rows and the start leave.

        A row is in one cell of a table. A neighbour moves a count, and so its distance from a public number, by 1; and the
        counts of a table, and so the sum of their distances, by 1 together, or 2 where a row is replaced.

        Raises:
            ParameterError: the domain has too many rows to keep a weight for each, or to add noise to each; or the rounds
                replay too many measurements.
        """
        domain, n, stage, budget = self._begun(spec, domain, n)
        fault = too_many(domain.size, *((MOST_NOISY, "adds noise to") if self.start_share else ()))
        if fault is not None:
            raise fault
        queries = Queries(domain.shape, min(self.degree, len(domain)))
        rounds = self.rounds or ROUNDS_A_COLUMN * len(domain)
        if self.rounds is None and self.measured == "cells" and spec.neighbouring == "replace_one":
            logs = [math.log(max(size, 2)) for size in (domain.size, queries.cells)]
            rounds = best_rounds(n * (budget.total if budget.noise == "laplace" else spec.epsilon), *logs, most=MOST_ROUNDS)
        replayed = self.replays * rounds * (rounds + 1) // 2
        if replayed > _MOST_REPLAYED:
            allowed = f"{_MOST_REPLAYED:,} replayed at most; {rounds:,} rounds replay {replayed:,}"
            raise ParameterError("replays", self.replays, allowed)
        guarantee = claimed(spec, stage, f"{budget.source}, for {self.paper}", spec.delta)
        return MWEMMechanism(self, spec, domain, n, guarantee, stage, budget, rounds, queries)


@dataclass(frozen=True)
class MWEMMechanism(OnBudget):
    """Calibrated MWEM.

    Attributes:
        rounds: T.
        queries: the cells of all tables of d columns.
    """

    config: MWEM
    rounds: int
    queries: Queries

    @property
    def starting(self) -> float:
        """What noise on all possible rows costs."""
        return self.config.start_share * (self.budget.total - self.counting)

    @property
    def part(self) -> float:
        """What one choice costs, and one measurement."""
        return (self.budget.total - self.counting - self.starting) / (2 * self.rounds)

    @property
    def measuring(self) -> Budget:
        """The budget as one round spends it: a neighbour moves one cell by 1, as far as there is but one."""
        return self.budget if self.config.measured == "tables" else replace(self.budget, moved=1)

    @property
    def start_scale(self) -> float:
        """Of the noise on all possible rows."""
        return self.budget.noise_scale(self.starting)

    @property
    def choice_scale(self) -> float:
        """Of one choice, by distances that move no further than the counts."""
        return self.measuring.choice_scale(self.part, self.measuring.moved)

    @property
    def noise_scale(self) -> float:
        """Of the noise on what was chosen."""
        return self.measuring.noise_scale(self.part)

    def calibrated(self) -> dict[str, Any]:
        """Rows, rounds, queries, and what every step costs."""
        what, spent = self.config.measured, self.rounds * self.part
        parts = [
            (f"choice of {self.rounds} {what}", spent, self.choice_scale),
            (f"{self.rounds} {what}", spent, self.noise_scale),
        ]
        if self.starting:
            parts.insert(0, ("all possible rows", self.starting, self.start_scale))
        facts = {"rounds": self.rounds, "queries": self.queries.cells}
        return {**super().calibrated(), **facts, **self.ledger(*parts)}

    def _model(self, noise: NoiseSource, real: Rows, progress: Progress) -> tuple[Density, dict[str, Any]]:
        rows = self.counted(noise, real)
        density = self._start(noise, real, rows)
        exact = self.queries.counts(real)
        total = np.zeros_like(density)
        measured: list[Measurement] = []
        tables = NoisyTables()
        furthest: list[int] = []
        for round_ in range(self.rounds):
            progress(f"round {round_ + 1} of {self.rounds}", 0.9 * round_ / self.rounds)
            # Whole numbers on both sides: a neighbour moves the distance by 1 at most, exactly.
            distances = np.abs(np.rint(rows * self.queries.shares(density)).astype(np.int64) - exact)
            furthest.append(int(distances.max()))
            measured.append(self._measured(noise, distances, exact))
            if self.config.measured == "tables":
                tables.add(measured[-1].table, measured[-1].counts, self.measuring.deviation(self.noise_scale))
            for one in measured[-1:] + measured * self.config.replays:
                self._reweight(density, one, rows)
            total += density
        kept = density if self.config.output == "last" else total / self.rounds
        left = np.abs(rows * self.queries.shares(kept) - exact)
        return Density(self.domain.shape, kept, float(rows)), {
            "noisy_tables": tables,
            "largest_error": float(left.max() / rows),
            "mean_error": float(left.mean() / rows),
            "largest_error_by_round": [distance / rows for distance in furthest],
            "measured": len({(one.table, one.cells.start) for one in measured}),
        }

    def _start(self, noise: NoiseSource, real: Rows, rows: int) -> Floats:
        """Equal weights, or those nearest to noisy counts of all possible rows."""
        size = self.domain.size
        if not self.starting:
            return np.full(size, 1 / size)
        exact = real.counts(tuple(range(len(self.domain))))
        shares = onto_simplex(self.budget.released(noise, exact, self.start_scale) / rows)
        shares = np.maximum(shares, _FIRST / size)
        return np.asarray(shares / shares.sum())

    def _measured(self, noise: NoiseSource, distances: Integers, exact: Integers) -> Measurement:
        """What is furthest off, by the exponential mechanism, and its counts with noise."""
        queries, first = self.queries, self.queries.offsets[:-1]
        if self.config.measured == "tables":
            table = noise.exponential_choice(np.add.reduceat(distances, first), self.choice_scale)
            cells = slice(int(first[table]), int(queries.offsets[table + 1]))
        else:
            cell = noise.exponential_choice(distances, self.choice_scale)
            table = int(np.searchsorted(queries.offsets, cell, side="right")) - 1
            cells = slice(cell, cell + 1)
        counts = self.budget.released(noise, exact[cells], self.noise_scale)
        start = int(first[table])
        return Measurement(queries.tables[table], slice(cells.start - start, cells.stop - start), counts.astype(np.float64))

    def _reweight(self, density: Floats, measurement: Measurement, rows: int) -> None:
        """A ∝ A·exp(q·(m - q(A))/2n) for a cell q, in counts, in place; for a table in longer steps.

        Cells of a table have no row in common, so that exponents (m - q(A))/nL, where L is the largest share, overstep no
        count, up to the sum of all: 1 - p/m ≤ ln(m/p) ≤ m/p - 1.
        """
        shape, table = self.domain.shape, measurement.table
        shares, wanted = shares_of(density, table, shape), measurement.counts / rows
        largest = 2.0 if self.config.measured == "cells" else max(shares.max(), wanted.max())
        step = (wanted - shares[measurement.cells]) / largest
        factors = np.ones_like(shares)
        factors[measurement.cells] = np.exp(np.clip(step, -_LONGEST_STEP, _LONGEST_STEP))
        factors /= shares @ factors
        box = density.reshape(shape)
        box *= factors.reshape([size if j in table else 1 for j, size in enumerate(shape)])


@dataclass(frozen=True, eq=False)
class Density:
    """Weights of all possible rows.

    Attributes:
        sizes: number of codes of each column.
        weights: summing to 1, shape (Π sizes,), the last column running fastest.
        rows: how many there are.
    """

    sizes: tuple[int, ...]
    weights: Floats
    rows: float

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Every possible row as often as it should be up to rounding."""
        chosen = systematic_rows(self.weights, count, generator)
        return np.stack(np.unravel_index(chosen, self.sizes), axis=1).astype(np.int32)[generator.permutation(count)]
