"""MWEM: the exponential mechanism, Laplace noise and multiplicative weights over the tables of d columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import checks
from dpsyn.calendar import with_calendar
from dpsyn.data.counted import AnyTable
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.mechanisms.base import (
    DEGREE,
    N_IS_PUBLIC,
    PUBLIC_DOMAIN_ASSUMPTION,
    ROWS,
    Axis,
    Config,
    Mechanism,
    Progress,
    Release,
    check_request,
)
from dpsyn.mechanisms.encoding import Stage, checked_share, staged
from dpsyn.mechanisms.mwem.theorems import best_rounds
from dpsyn.notation import counted
from dpsyn.privacy.histograms import Encoding
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Guarantee, PrivacySpec
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.contingency import cell_offsets
from dpsyn.solvers.rounding import systematic_rows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Output = Literal["last", "average"]

MOST_POINTS = 2**22
"""Rows of the domain: a weight is kept for each."""
MOST_ROUNDS = 200
_ROUNDING = 1e-12
"""By how much the noise is larger than it has to be, so that rounding in its scale cannot cost more than ε."""
_LONGEST_STEP = 300.0
"""Exponent of a weight, as far as it goes without overflow; noise can ask for more where n·ε is small."""


@dataclass(frozen=True)
class Queries:
    """The cells of all tables over d columns, table by table, the last column running fastest."""

    sizes: tuple[int, ...]
    degree: int

    @cached_property
    def tables(self) -> list[tuple[int, ...]]:
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

    def place_of(self, cell: int) -> tuple[int | slice, ...]:
        """An index of an array over the domain: the rows that lie in a cell."""
        at = int(np.searchsorted(self.offsets, cell, side="right")) - 1
        table = self.tables[at]
        codes = np.unravel_index(cell - int(self.offsets[at]), [self.sizes[j] for j in table])
        fixed = {column: int(code) for column, code in zip(table, codes, strict=True)}
        return tuple(fixed.get(j, slice(None)) for j in range(len(self.sizes)))


@dataclass(frozen=True)
class MWEM(Config):
    """Multiplicative weights with the exponential mechanism.

    Args:
        degree: d, columns of the tables whose cells are the queries.
        rounds: T; None takes the T at which the bound of Theorem 2.2 is smallest, at most 200.
        rows: k; None makes as many rows as there are. Rows cost no privacy.
        replays: how many times more all measurements so far are used in every round (0 in the paper's algorithm; its
            experiments re-use them). Post-processing.
        output: ``"last"`` density, or the ``"average"`` over all rounds, which Theorem 2.2 is about.
        histogram_share: share of ε for fine histograms of numbers and dates (:mod:`dpsyn.privacy.histograms`), which choose
            their bins and what is drawn inside; 0 takes bins of equal width. Nothing is spent where there is no such column.

    Raises:
        ParameterError: a value is outside its range.
    """

    degree: int = 2
    rounds: int | None = None
    rows: int | None = None
    replays: int = 10
    output: Output = "last"
    histogram_share: float = 0.1

    name: ClassVar[str] = "mwem"
    title: ClassVar[str] = "MWEM"
    paper: ClassVar[str] = "Hardt, Ligett, McSherry 2012"
    added_later: ClassVar[Mapping[str, Any]] = {"histogram_share": 0.0}
    axes: ClassVar[Mapping[str, Axis]] = {"degree": DEGREE, "rounds": Axis("T (rounds)", "3, 10, 30, 100"), "rows": ROWS}

    def __post_init__(self) -> None:
        self._set("degree", checks.whole("degree", self.degree))
        self._set("replays", checks.whole("replays", self.replays, 0, 1_000))
        self._set("rounds", checks.whole_or_none("rounds", self.rounds, 1, 100_000))
        self._set("rows", checks.whole_or_none("rows", self.rows))
        checks.choice("output", self.output, get_args(Output))
        self._set("histogram_share", checked_share(self.histogram_share))

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> MWEMMechanism:
        """T rounds, each with ε/2T for choosing a cell and ε/2T for measuring it, of the ε that fine histograms leave.

        Replacing one of n records moves every count of a cell by at most 1, and so the distance of a count from a public
        number: each choice and each measurement is (ε/2T)-DP, all together ε-DP (Theorem 2.1).

        Raises:
            CalibrationError: neighbours that add or remove a record: n, which the weights take as known, is then a secret.
            ParameterError: n < 1, or the domain has too many rows to keep a weight for each.
        """
        n = check_request(spec, domain, n, self.rows)
        if spec.neighbouring != "replace_one":
            raise CalibrationError(
                "MWEM takes the number of rows as public, which it is not where neighbours add or remove one: "
                "ask for neighbouring='replace_one'"
            )
        domain = with_calendar(domain)
        if domain.size > MOST_POINTS:
            allowed = (
                f"at most {MOST_POINTS:,} rows that are possible: MWEM keeps a weight for each. Leave out columns or bins"
            )
            raise ParameterError("domain", f"{counted(domain.size)} rows", allowed)
        if self.degree > len(domain):
            raise ParameterError("degree", self.degree, f"at most the number of columns, {len(domain)}")
        stage, left = staged(self.histogram_share, spec, domain, n)
        queries = Queries(domain.shape, self.degree)
        log_sizes = [math.log(max(size, 2)) for size in (domain.size, queries.cells)]
        rounds = self.rounds or best_rounds(n * left.epsilon, *log_sizes, most=MOST_ROUNDS)
        source = stage.source(f"Theorem 2.1 of {self.paper}")
        guarantee = Guarantee(spec.epsilon, 0.0, spec.neighbouring, source, (PUBLIC_DOMAIN_ASSUMPTION, N_IS_PUBLIC))
        return MWEMMechanism(self, spec, domain, n, guarantee, self, int(rounds), queries, stage, left.epsilon)


@dataclass(frozen=True)
class MWEMMechanism(Mechanism):
    """Calibrated MWEM.

    Attributes:
        settings: the configuration.
        rounds: T.
        queries: the cells of all tables of d columns.
        stage: what comes first, for numbers and dates.
        epsilon: of all rounds.
    """

    settings: MWEM
    rounds: int
    queries: Queries
    stage: Stage
    epsilon: float

    needs_counts_alone: ClassVar[bool] = True

    @property
    def choice_scale(self) -> float:
        """Of the exponential mechanism: 2·1/(ε/2T)."""
        return 4 * self.rounds / self.epsilon * (1 + _ROUNDING)

    @property
    def noise_scale(self) -> float:
        """Of the Laplace noise on a count: 1/(ε/2T)."""
        return 2 * self.rounds / self.epsilon * (1 + _ROUNDING)

    def calibrated(self) -> dict[str, Any]:
        """Rounds, queries and the scales of choice and noise."""
        return {
            "rows": self.settings.rows or self.n,
            "rounds": self.rounds,
            "queries": self.queries.cells,
            "choice_scale": self.choice_scale,
            "noise_scale": self.noise_scale,
            **self.stage.facts(),
        }

    def redraw(self, generator: np.random.Generator, release: Release) -> pd.DataFrame | None:
        """As many rows again from the same density."""
        density, encoding = release.diagnostics.get("density"), release.diagnostics.get("encoding")
        return None if density is None or encoding is None else self._drawn(density, len(release.rows), encoding, generator)

    def _run(self, noise: NoiseSource, table: AnyTable, progress: Progress) -> tuple[pd.DataFrame, dict[str, Any]]:
        encoding = self.stage.encoding(noise, table)
        real = self.queries.counts(encoding.rows(table))
        density = np.full(self.domain.size, 1 / self.domain.size)
        total = np.zeros_like(density)
        measured: list[tuple[int, float]] = []
        furthest: list[int] = []
        for round_ in range(self.rounds):
            progress(f"round {round_ + 1} of {self.rounds}", round_ / self.rounds)
            # Whole numbers on both sides: a neighbour moves the distance by 1 at most, exactly.
            distances = np.abs(np.rint(self.n * self.answers(density)).astype(np.int64) - real)
            furthest.append(int(distances.max()))
            cell = noise.exponential_choice(distances, self.choice_scale)
            answer = noise.discrete_laplace(real[cell : cell + 1], self.noise_scale)[0]
            measured.append((cell, float(answer)))
            for at, wanted in measured[-1:] + measured * self.settings.replays:
                self._reweight(density, at, wanted)
            total += density
        progress("drawing the rows", 1.0)
        kept = density if self.settings.output == "last" else total / self.rounds
        rows = self._drawn(kept, self.settings.rows or self.n, encoding, noise.generator)
        left = np.abs(self.n * self.answers(kept) - real)
        diagnostics = {
            "largest_error": float(left.max() / self.n),
            "mean_error": float(left.mean() / self.n),
            "largest_error_by_round": [distance / self.n for distance in furthest],
            "cells_measured": len({cell for cell, _ in measured}),
            "density": kept,
            "encoding": encoding,
        }
        return rows, diagnostics

    def answers(self, density: Floats) -> Floats:
        """Every cell's share under a density on the domain (shape of ``domain.size``, in C order). Shape (cells,)."""
        box = density.reshape(self.domain.shape)
        columns = range(len(self.domain))
        return np.concatenate(
            [box.sum(axis=tuple(j for j in columns if j not in table)).ravel() for table in self.queries.tables]
        )

    def _reweight(self, density: Floats, cell: int, wanted: float) -> None:
        """A ∝ A·exp(q·(m - q(A))/2n), in counts, in place: only the rows of the cell gain or lose against the others."""
        box, inside = density.reshape(self.domain.shape), self.queries.place_of(cell)
        share = float(box[inside].sum())
        step = min(max((wanted / self.n - share) / 2, -_LONGEST_STEP), _LONGEST_STEP)
        factor = math.exp(step)
        box[inside] *= factor
        # Where noise drowns the count the sum is nearly that of one side alone, and no difference would be left of it.
        density /= 1 + share * (factor - 1) if abs(step) <= 1 else density.sum()

    def _drawn(self, density: Floats, rows: int, encoding: Encoding, generator: np.random.Generator) -> pd.DataFrame:
        chosen = systematic_rows(density, rows, generator)
        codes = np.stack(np.unravel_index(chosen, self.domain.shape), axis=1).astype(np.int32)
        return encoding.decode(codes[generator.permutation(rows)], generator)
