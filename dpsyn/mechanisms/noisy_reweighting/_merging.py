"""Columns of many codes: their wide tables are measured last, on codes of which the others said that they are rare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from dpsyn.data.counted import AnyTable
from dpsyn.mechanisms.noisy_reweighting._ledger import POWERS, NoiseKind, Part, Parts, parts_of
from dpsyn.mechanisms.noisy_reweighting._mechanism import Measured, NoisyReweightingMechanism
from dpsyn.mechanisms.noisy_reweighting._spaces import NoisySums
from dpsyn.mechanisms.noisy_reweighting.families import TableFamily
from dpsyn.mechanisms.noisy_reweighting.merged_tables import MergedTables, groups_of, split_pairs
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import Neighbouring
from dpsyn.solvers.noisy_tables import Columns

MERGED = "wide tables of two columns, rare codes merged"
_TYPICAL = 225
"""Cells of a wide table once its codes are merged; its part of the budget cannot depend on how many there are."""
_GROUPS = 1.6
"""Groups of a column, times the third root of the noise on a cell in parts of the rows: more would hide less, but hold more
noise. docs/measurements.md has what others gave."""


def parts_of_merging(sizes: tuple[int, ...], neighbouring: Neighbouring, kind: NoiseKind) -> tuple[TableFamily, Parts]:
    """The narrow tables, and the budget: theirs by their size, and that of the wide ones, whatever becomes of their codes.

    A neighbour moves one cell of a table by 1 (two where a row is replaced, none where both rows are in the same cell).
    """
    narrow, wide = split_pairs(sizes)
    family = TableFamily(sizes, narrow)
    found = parts_of(family, neighbouring, kind, by_size=True)
    largest = max(sizes[i] * sizes[j] for i, j in narrow)
    power = POWERS["gaussian" if kind == "gaussian" else "laplace"]
    weight = max(1, round(max(part.weight for part in found.parts) * min(_TYPICAL / largest, 1.0) ** power))
    moved = len(wide) * (1 if neighbouring == "add_remove" else 2)
    return family, found.joined(Part(MERGED, 0, moved, 1, weight))


@dataclass(frozen=True)
class MergingMechanism(NoisyReweightingMechanism):
    """Calibrated noisy reweighting that measures wide tables on merged codes; its statistics are the narrow ones."""

    @property
    def wide(self) -> list[Columns]:
        """Pairs of columns whose tables are wide."""
        return split_pairs(self.domain.shape)[1]

    @property
    def wide_scale(self) -> float:
        """Of the noise on their cells."""
        return self._scale_of([part.name for part in self.ledger.parts].index(MERGED))

    def measured(self, noise: NoiseSource, table: AnyTable) -> Measured:
        """Narrow tables, then the wide ones on codes that are merged by what the narrow ones say: each with its noise."""
        encoding, family = self.encoding(noise, table), cast(TableFamily, self.statistics)
        real = encoding.rows(table)
        real.expect([*family.tables, *self.wide])
        exact = self.exact(real)
        sums = np.asarray(self.noisy(noise, exact), dtype=np.float64)
        rows = self._rows(sums, 0.0)
        narrow = NoisySums(family, sums, np.maximum(self.spreads, 0.5), rows)
        narrow = narrow.agreeing({j: encoding.counts(j) for j in encoding.bins})
        laws, deviation = narrow.marginals(), self._deviation * self.wide_scale
        share = 1 / max(1.0, _GROUPS * math.cbrt(rows / max(deviation, 0.5)))
        statistics = MergedTables(family, self.wide, [groups_of(law, share) for law in laws])
        counts = statistics.merged(real)
        return Measured(
            exact=np.concatenate([exact, counts]),
            sums=np.concatenate([narrow.sums, self.ledger.released(noise, counts, self.wide_scale)]),
            rows=rows,
            marginals=laws,
            encoding=encoding,
            statistics=statistics,
            spreads=np.concatenate([self.spreads, np.full(len(counts), deviation)]),
        )
