"""Noisy tables that agree where they have columns in common, without negative counts (Qardaji, Yang, Li 2014: PriView)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dpsyn.solvers.least_squares import onto_simplex
from dpsyn.solvers.noisy_tables import Columns, Floats, NoisyTables

_ROUNDS = 30
_SETTLED = 1e-3
"""A round that moves no count by this many noise deviations is the last."""


def consistent(tables: NoisyTables, sizes: Sequence[int], rows: float) -> dict[Columns, Floats]:
    """Counts of the same tables, none of them negative, that add up to ``rows`` and nearly agree on common columns.

    In turn all tables are made to agree (:func:`agreeing`) and moved to the nearest ones without negative counts.

    Args:
        tables: with their variances; columns ascending.
        sizes: number of codes of each column.
        rows: what every table adds up to, positive.
    """
    found = {columns: counts.copy() for columns, counts in tables.counts.items()}
    common = shared(list(found))
    smallest = min(tables.variances.values()) ** 0.5
    for _ in range(_ROUNDS):
        before = found
        agreed = agreeing(found, tables.variances, sizes, rows, common)
        found = {columns: rows * onto_simplex(counts / rows) for columns, counts in agreed.items()}
        if max(float(np.abs(found[columns] - before[columns]).max()) for columns in found) <= _SETTLED * smallest:
            break
    return found


def agreeing(
    counts: Mapping[Columns, Floats],
    variances: Mapping[Columns, float],
    sizes: Sequence[int],
    rows: float,
    common: Sequence[Columns],
) -> dict[Columns, Floats]:
    """Counts that agree exactly on all common columns, and may be negative.

    From few columns to many: what tables say of common columns is averaged, by the precision of their sums, and each table
    spreads the difference evenly over its cells. What agreed on fewer columns before does so afterwards.

    Args:
        counts: by columns, ascending; shape (cells,) each.
        variances: of a count.
        sizes: number of codes of each column.
        rows: what every table adds up to.
        common: the sets of columns that tables share (:func:`shared`), the empty one, if it is there, for the sum.
    """
    found = {
        columns: (table + (rows - table.sum()) / len(table)).reshape([sizes[j] for j in columns])
        for columns, table in counts.items()
    }
    for some in common:
        cells = math.prod(sizes[j] for j in some)
        holding = [columns for columns in found if set(some) <= set(columns)]
        sums = [found[columns].sum(axis=_others(columns, some), keepdims=True) for columns in holding]
        weights = np.array([cells / (variances[columns] * found[columns].size) for columns in holding])
        mean = sum(w * total.ravel() for w, total in zip(weights / weights.sum(), sums, strict=True))
        for columns, total in zip(holding, sums, strict=True):
            found[columns] = found[columns] + (np.reshape(mean, total.shape) - total) * (cells / found[columns].size)
    return {columns: table.ravel() for columns, table in found.items()}


def shared(tables: Sequence[Columns]) -> list[Columns]:
    """All sets of columns, at least one, that are common to two or more tables, the smallest first."""
    masks = {sum(1 << j for j in columns) for columns in tables}
    found: set[int] = set()
    new = masks
    while new:
        new = {first & other for first in new for other in masks if first != other} - found - {0}
        found |= new
    listed = [tuple(j for j in range(mask.bit_length()) if mask >> j & 1) for mask in found]
    return sorted(listed, key=lambda columns: (len(columns), columns))


def _others(columns: Columns, some: Columns) -> tuple[int, ...]:
    return tuple(axis for axis, j in enumerate(columns) if j not in some)
