"""How far tables of fresh real rows are off, at as many rows as a release has: what its tables are held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.evaluation.distances import Subsets, variations
from dpsyn.solvers.coded import CodedRows, Rows

Floats = npt.NDArray[np.float64]
Each = Mapping[int, Mapping[tuple[str, ...], float]]
"""Total variation by the number of columns of a table, and by these columns."""

_DRAWS = 3
_FEWEST = 4


def fresh_rows(rows: int) -> str:
    """What so many other real rows are called wherever releases are held against them."""
    return f"fresh real rows, {rows:,}"


def columns_shuffled(rows: int) -> str:
    """The same of so many real rows, each of whose columns is shuffled by itself."""
    return f"columns shuffled, {rows:,}"


@dataclass(frozen=True, eq=False)
class FreshSample:
    """Errors of the tables of other real rows.

    Attributes:
        rows: how many other rows.
        drawn: they were measured of held-out rows; else estimated.
        each: the errors.
        spread: ½ √(1/n + 1/rows).
        alike: Σ p² of every column, by its name.
    """

    rows: int
    drawn: bool
    each: Each
    spread: float
    alike: Mapping[str, float]

    def mean(self, degree: int) -> float | None:
        """Average over the tables of so many columns; None without any."""
        return float(np.mean([*self.each[degree].values()])) if degree in self.each else None

    def largest(self, degree: int) -> float | None:
        """That of the table that is furthest off."""
        return float(max(self.each[degree].values())) if degree in self.each else None

    def deviation(self, table: tuple[str, ...]) -> float:
        """Standard deviation of the error of a table, or a little more: as if its columns were independent.

        The variance of ½ Σ |noise of a cell| is at most ¼ Σ p(1 - p) times the sum of the inverse numbers of rows.
        """
        return self.spread * math.sqrt(1 - math.prod(self.alike.get(column, 0.0) for column in table))

    def deviation_of_mean(self, degree: int) -> float:
        """The same of the mean over the tables of so many columns; those that share no column count as independent."""
        apart = max(1, len(self.alike) // degree)
        return float(np.mean([self.deviation(table) for table in self.each[degree]])) / math.sqrt(apart)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "rows": self.rows,
            "drawn": self.drawn,
            "mean": {str(degree): self.mean(degree) for degree in self.each},
            "deviation": {str(degree): self.deviation_of_mean(degree) for degree in self.each},
        }


def pairs_of(tables: Sequence[Subsets]) -> Subsets:
    """The tables of two columns among those of a plan."""
    return next((subsets for subsets in tables if len(subsets[0]) == 2), ())


@dataclass(frozen=True, eq=False)
class Plan:
    """The real rows and the tables of them that are looked at.

    Attributes:
        real: all rows.
        seen: those in memory.
        names: of their columns.
        tables: for every number of columns the sets of columns.
        seed: of the draws.
    """

    real: Rows
    seen: CodedRows
    names: Sequence[str]
    tables: Sequence[Subsets]
    seed: int

    def sample(
        self, rows: int, drawn: bool, errors: Sequence[Floats], tables: Sequence[Subsets] | None = None
    ) -> FreshSample:
        """Of the errors of all tables, or of some, in their order."""
        pairs = list(zip(self.tables if tables is None else tables, errors, strict=True))
        each = {
            len(subsets[0]): {tuple(self.names[j] for j in s): float(error) for s, error in zip(subsets, found, strict=True)}
            for subsets, found in pairs
        }
        return FreshSample(rows, drawn, each, math.sqrt(1 / self.real.n + 1 / rows) / 2, self._alike)

    @cached_property
    def _alike(self) -> dict[str, float]:
        """Σ p² of every column. A category that no row has may well be in 3/n of all."""
        n, counts = self.real.n, [self.real.counts((j,)) for j in range(len(self.names))]
        most = [max(0.0, 1 - 3 / n) if len(c) > 1 else 1.0 for c in counts]
        return {name: min(float(((c / n) ** 2).sum()), end) for name, c, end in zip(self.names, counts, most, strict=True)}

    def held_out(self, held: Codes, rows: int) -> FreshSample:
        """Of ``rows`` of the held-out ones, on average of up to three samples that share no row.

        Beside the rows in memory, which they are no part of: all rows may hold them, where an engine counts these. Errors
        beside all of these are then estimated.
        """
        order = np.random.default_rng(self.seed).permutation(len(held))
        drawn = [order[at * rows : (at + 1) * rows] for at in range(min(_DRAWS, len(held) // rows))]
        every = [variations(self.seen, held[some], self.tables) for some in drawn]
        return self.sample(rows, self.real.n <= self.seen.n, self._beside_all(_means(every), self.seen.n, rows))

    def shuffled(self, rows: int) -> FreshSample:
        """Of so many of the rows in memory, every column shuffled by itself; tables of two columns alone."""
        generator, pairs = np.random.default_rng(self.seed), [found] if (found := pairs_of(self.tables)) else []
        some = self.seen.codes[generator.permutation(self.seen.n)[:rows]]
        return self.sample(rows, False, variations(self.seen, generator.permuted(some, axis=0), pairs), pairs)

    def estimate(self, rows: int) -> FreshSample:
        """Of so many rows, from parts of the real ones in memory, on average of three draws.

        Up to half of these are drawn and held beside the others. Errors of more are those of a half beside the other, times
        ((1/n + 1/rows)·h/2)^α for halves of h rows and n in all; α lies between 0 (cells with a row at most) and ½ (cells of
        many): a quarter beside another is off by 2^α times as much. Of fewer than four rows every table is said to be off by
        all of it.
        """
        n = self.seen.n
        if n < _FEWEST:
            return self.sample(rows, False, [np.ones(len(subsets)) for subsets in self.tables])
        if rows <= n // 2:
            return self.sample(rows, False, self._beside_all(self._apart(rows, n - rows), n - rows, rows))
        wider = (1 / self.real.n + 1 / rows) * (n // 2) / 2
        return self.sample(rows, False, [half * wider**power for half, power in self._halves])

    def _beside_all(self, errors: list[Floats], others: int, rows: int) -> list[Floats]:
        """Errors of so many rows beside so many others in memory, as beside all rows where an engine counts more."""
        if self.real.n <= self.seen.n or self.seen.n < _FEWEST:
            return errors
        closer = (1 / self.real.n + 1 / rows) / (1 / others + 1 / rows)
        return [found * closer**power for found, (_, power) in zip(errors, self._halves, strict=True)]

    @cached_property
    def _halves(self) -> list[tuple[Floats, Floats]]:
        """How far halves are apart, and α."""
        found = []
        halves, quarters = (self._apart(part, part) for part in (self.seen.n // 2, self.seen.n // 4))
        for half, quarter in zip(halves, quarters, strict=True):
            with np.errstate(invalid="ignore", divide="ignore"):
                found.append((half, np.clip(np.nan_to_num(np.log2(quarter / half)), 0.0, 0.5)))
        return found

    def _apart(self, some: int, others: int) -> list[Floats]:
        """So many rows beside so many others."""
        generator, every = np.random.default_rng(self.seed), []
        for _ in range(_DRAWS):
            order = generator.permutation(self.seen.n)
            rest = CodedRows(self.seen.codes[order[len(order) - others :]], self.seen.sizes)
            every.append(variations(rest, self.seen.codes[order[:some]], self.tables))
        return _means(every)


def _means(every: Sequence[Sequence[Floats]]) -> list[Floats]:
    return [np.mean(each, axis=0) for each in zip(*every, strict=True)]
