"""Where there are more tables of two columns than are worth measuring: noisy scores choose, the density says the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.data.counted import AnyTable
from dpsyn.mechanisms.noisy_reweighting._ledger import NoiseKind, Part, Parts
from dpsyn.mechanisms.noisy_reweighting._mechanism import Measured, NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting._spaces import NoisySums
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.coded import Rows
from dpsyn.solvers.dense_marginals import POWERS, dense_pairs, in_proportion
from dpsyn.solvers.noisy_tables import Columns

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_PAIRS = 300
"""Of columns, up to which every one is measured."""
_MOST_CHOSEN = 200
_SINGLES, _SCORES = 0.1, 0.1
"""Shares of the budget for tables of single columns and for scores; the tables that are chosen have the rest."""
_ROUNDING = 1e-12
"""What is left of the budget: rounding cannot cost more than was asked for."""


def parts_of_choice(sizes: tuple[int, ...], neighbouring: Neighbouring, kind: NoiseKind) -> tuple[TableFamily, Parts]:
    """The tables of single columns, and the budget: theirs, that of the scores of all pairs, that of the tables chosen.

    A neighbour moves one cell of a table by 1, or two where a row is replaced, and a score by 1 at most. How many tables
    there are, and the noise on each, follow from noisy scores: ε of Laplace noise and ρ of zCDP add up all the same.
    """
    family = TableFamily(sizes, [(j,) for j in range(len(sizes))])
    pairs, one = math.comb(len(sizes), 2), 2 if neighbouring == "replace_one" else 1
    singles = Part(f"tables of {len(sizes)} single columns", family.count, family.l1(neighbouring))
    unit = max(singles.moved, 1) / _SINGLES
    # Sensitivities of their own say that the exact law of the loss, which takes a fixed number of counts, is not for these.
    scores = Part(f"scores of {pairs:,} pairs", pairs, pairs, 1, _SCORES * unit / pairs, float(pairs), math.sqrt(pairs))
    rest = (1 - _SINGLES - _SCORES) * unit / one
    chosen = Part("tables of two columns, chosen by their scores", 0, one, 1, rest, float(one), math.sqrt(one))
    return family, Parts((singles, scores, chosen), np.zeros(family.count, dtype=np.int64))


@dataclass(frozen=True)
class ChoosingMechanism(NoisyReweightingMechanism):
    """Calibrated noisy reweighting that chooses its tables of two columns; its statistics are those of single ones."""

    @property
    def pairs(self) -> list[Columns]:
        """Of columns."""
        return list(combinations(range(len(self.domain)), 2))

    @property
    def score_scale(self) -> float:
        """Of the noise on every score."""
        return self._scale_of(1)

    @property
    def chosen_scale(self) -> float:
        """Of the noise on a table that has all to itself."""
        return self._scale_of(2)

    @property
    def most_chosen(self) -> int:
        """Tables that are measured at most."""
        return min(_MOST_CHOSEN, math.comb(len(self.domain), 2))

    @property
    def noise_on_a_table(self) -> float:
        """Σ E|noise| over the cells of a table, on average, if as many are chosen as can be."""
        sizes = self.domain.shape
        # Σ of c_i·c_j over pairs without a list of them, of which 10,000 columns have 50 million.
        cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) / 2 / math.comb(len(sizes), 2)
        return cells * self.ledger.mean_error(self.scale_with(1 / self.most_chosen))

    def scale_with(self, share: float) -> float:
        """Of the noise on a table that has this share of what all tables that are chosen get."""
        return self.chosen_scale / (math.sqrt(share) if self.ledger.kind == "gaussian" else share)

    def measured(self, noise: NoiseSource, table: AnyTable) -> Measured:
        """Tables of single columns, then scores of pairs, then the tables that these choose: each with its noise."""
        encoding = self.encoding(noise, table)
        real = encoding.rows(table)
        real.expect([*((j,) for j in range(len(self.domain))), *self.pairs])
        exact = self.exact(real)
        sums = np.asarray(self.noisy(noise, exact), dtype=np.float64)
        rows = self._rows(sums, 0.0)
        singles = NoisySums(self.statistics, sums, np.maximum(self.spreads, 0.5), rows)
        laws = singles.agreeing({j: encoding.counts(j) for j in encoding.bins}).marginals()
        scores = self.ledger.released(noise, self._scores(real, laws, rows), self.score_scale)
        chosen, shares = self._chosen(scores, laws, rows)
        scales = [self.scale_with(share) for share in shares]
        tables = [real.counts(pair) for pair in chosen]
        noisy = [self.ledger.released(noise, counts, scale) for counts, scale in zip(tables, scales, strict=True)]
        return Measured(
            exact=np.concatenate([exact, *tables]),
            sums=np.concatenate([sums, *noisy]),
            rows=rows,
            marginals=None,
            encoding=encoding,
            statistics=TableFamily(self.domain.shape, [*((j,) for j in range(len(self.domain))), *chosen]),
            spreads=np.concatenate([self.spreads, np.repeat(self._deviation * np.array(scales), [len(t) for t in tables])]),
        )

    def _scores(self, real: Rows, laws: list[Floats], rows: float) -> Integers:
        """By how many rows the cells of every pair exceed those of independent columns by the noisy tables: whole numbers.

        A row more or less moves one cell by 1. A row that is replaced takes 1 from a cell and gives 1 to another: what the
        first loses and the second gains are 1 at most, so the sum moves by 1 at most.
        """
        found = [np.maximum(real.counts(pair) - self._expected(pair, laws, rows), 0).sum() for pair in self.pairs]
        return np.array(found, dtype=np.int64)

    def _expected(self, pair: Columns, laws: list[Floats], rows: float) -> Integers:
        i, j = pair
        return np.rint(rows * np.outer(laws[i], laws[j])).astype(np.int64).ravel()

    def _chosen(self, scores: npt.NDArray[Any], laws: list[Floats], rows: float) -> tuple[list[Columns], list[float]]:
        """The pairs whose dependence outweighs the noise on their tables, and the share of the budget of each."""
        sizes, pairs = self.domain.shape, self.pairs
        # As many rows of independent columns would show this much by chance.
        chance = [np.sqrt(rows * np.outer(laws[i], laws[j]) / (2 * math.pi)).sum() for i, j in pairs]
        cells = np.array([sizes[i] * sizes[j] for i, j in pairs], dtype=np.float64)
        kind = "gaussian" if self.ledger.kind == "gaussian" else "laplace"
        one = self.ledger.mean_error(self.chosen_scale)
        dependence = 2 * (np.asarray(scores, dtype=np.float64) - np.array(chance))
        chosen = dense_pairs(pairs, dependence, cells, POWERS[kind], one)[:_MOST_CHOSEN]
        return chosen, in_proportion(1 - _ROUNDING, chosen, lambda pair: sizes[pair[0]] * sizes[pair[1]], POWERS[kind])
