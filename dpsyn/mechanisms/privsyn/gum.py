"""GUM, the gradually update method (Zhang et al. 2021, algorithm 3): rows are changed towards table after table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Integers, cell_numbers
from dpsyn.solvers.noisy_tables import Columns, Floats
from dpsyn.solvers.rounding import systematic_counts, systematic_rows

_DECAY, _EVERY = 0.84, 20
"""A step is α = 0.84^(t // 20) in round t: of the paper."""
_COPIED = 0.5
"""Share of the changed rows that become copies of another one; the others only change in the columns of the table."""


@dataclass(frozen=True, eq=False)
class TableModel:
    """Tables that rows can be made from.

    Attributes:
        sizes: number of codes of each column.
        tables: counts by columns, not negative, with the same sum; one-way tables of all columns are among them.
        rows: that sum.
        rounds: how many times every table is looked at.
    """

    sizes: Sequence[int]
    tables: Mapping[Columns, Floats]
    rows: float
    rounds: int

    def codes(self, count: int, generator: np.random.Generator) -> Codes:
        """Columns one by one first, and then every table in turn, in an order that is drawn anew."""
        columns = [systematic_rows(self.tables[j,], count, generator) for j in range(len(self.sizes))]
        codes = np.stack([generator.permutation(column) for column in columns], axis=1).astype(np.int32)
        wanted = {columns: counts * (count / counts.sum()) for columns, counts in self.tables.items() if len(columns) > 1}
        for t in range(self.rounds):
            for at in generator.permutation(len(wanted)):
                table = list(wanted)[at]
                _update(codes, table, self.sizes, wanted[table], _DECAY ** (t // _EVERY), generator)
        return codes


def _update(
    codes: Codes, table: Columns, sizes: Sequence[int], wanted: Floats, step: float, generator: np.random.Generator
) -> None:
    """One table: rows leave cells that have too many for cells that have too few, in place.

    A cell of n rows that lacks some gets min(lack, αn) of them, an empty one α times what it lacks. As many leave the other
    cells, min(excess, βn) each.
    """
    cells = cell_numbers(codes, table, sizes)
    there = np.bincount(cells, minlength=len(wanted))
    lack = wanted - there
    coming = np.where(there > 0, np.minimum(lack, step * there), step * lack).clip(0.0)
    moving = round(float(coming.sum()))
    if moving == 0:
        return
    going = systematic_counts(_capped(np.maximum(-lack, 0.0), there, moving), moving, generator)
    going = np.minimum(going, there)
    coming = systematic_counts(coming, int(going.sum()), generator)
    # Rows in random order, cell by cell.
    order = generator.permutation(len(codes))
    order = order[np.argsort(cells[order], kind="stable")]
    starts = np.cumsum(there) - there
    leaving = order[np.arange(len(codes)) - starts[cells[order]] < going[cells[order]]]
    goal = generator.permutation(np.repeat(np.arange(len(wanted)), coming))
    copied = (generator.random(len(goal)) < _COPIED) & (there[goal] > 0)
    source = order[starts[goal[copied]] + (generator.random(int(copied.sum())) * there[goal[copied]]).astype(np.int64)]
    codes[leaving[copied]] = codes[source]
    shape = [sizes[j] for j in table]
    codes[np.ix_(leaving[~copied], table)] = np.stack(np.unravel_index(goal[~copied], shape), axis=1)


def _capped(excess: Floats, there: Integers, total: int) -> Floats:
    """min(excess, β·there), with β such that they add up to ``total``, or all of the excess where that is less."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(excess, middle * there).sum() < total else (low, middle)
    return np.asarray(np.minimum(excess, high * there))
