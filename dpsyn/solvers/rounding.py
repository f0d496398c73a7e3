"""Rows from a density with less noise than independent draws: systematic sampling, then repairs towards given tables.

Independent draws of k rows miss a cell of probability p by about √(p/k). Systematic sampling along an order of the points
takes ⌊kp⌋ or ⌈kp⌉ copies of every point, and keeps the count of every run of points to ±1. What is left is repaired row by
row: a row changes one of its columns where that brings the tables nearer to those of the density.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Integers, Tables, cell_offsets, cells_of_points
from dpsyn.solvers.density_spaces import Around, tables_around

Floats = npt.NDArray[np.float64]

BATCH = 512
_TOGETHER = 24
_ROUNDS_A_COLUMN = 250
_MOST_ROUNDS = 20_000
_LEAST_SHARE = 0.02
_CELLS_AT_ONCE = 1 << 21
_GOLDEN = (5**0.5 - 1) / 2


def systematic_counts(density: npt.NDArray[np.floating[Any]], rows: int, generator: np.random.Generator) -> Integers:
    """Copies of each point, Σ = rows: every one ⌊rows·h⌋ or ⌈rows·h⌉, and rows·h on average (up to rounding). Shape (m,)."""
    total = np.cumsum(density, dtype=np.float64)
    total *= rows / total[-1]
    # The last entry is a whole number by construction; rounding must not move it.
    total[-1] = rows
    reached = np.floor(np.minimum(total, rows) + generator.random()).astype(np.int64)
    reached[-1] = rows
    return np.diff(np.minimum(reached, rows), prepend=0)


def systematic_rows(density: npt.NDArray[np.floating[Any]], rows: int, generator: np.random.Generator) -> Integers:
    """Positions of ``rows`` points in the order of the points, by :func:`systematic_counts`. Shape (rows,)."""
    counts = systematic_counts(density, rows, generator)
    chosen = np.flatnonzero(counts)
    return np.repeat(chosen, counts[chosen])


def drawn_given(groups: Integers, laws: Floats, generator: np.random.Generator) -> Integers:
    """A cell for every row, by the law of the row's group: of c rows, a cell of probability p gets ⌊c·p⌋ or ⌈c·p⌉.

    Where a count is rounded up moves on by the golden ratio from group to group, so that groups with few rows together keep
    their shares, too. Which rows of a group get which cell is drawn at random.

    Args:
        groups: number of the group of each row, shape (k,).
        laws: not negative, with a positive sum in every group that has rows. Shape (groups, cells).
        generator: of the draws.
    """
    counts = np.bincount(groups, minlength=len(laws))
    present = np.flatnonzero(counts)
    counts = counts[present]
    reached = np.cumsum(laws[present], axis=1, dtype=np.float64)
    reached *= (counts / reached[:, -1])[:, None]
    shift = (generator.random() + _GOLDEN * np.arange(len(present))) % 1
    whole = np.floor(np.minimum(reached, counts[:, None]) + shift[:, None]).astype(np.int64)
    # The last entry is a whole number by construction; rounding must not move it.
    whole = np.minimum(whole, counts[:, None])
    whole[:, -1] = counts
    copies = np.diff(whole, axis=1, prepend=0)
    group, cell = np.nonzero(copies)
    order = generator.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    drawn = np.empty(len(groups), dtype=np.int64)
    drawn[order] = np.repeat(cell, copies[group, cell])
    return drawn


def repaired_rows(
    codes: Codes,
    sizes: Sequence[int],
    tables: Tables,
    target: Floats,
    generator: np.random.Generator,
    *,
    log_density: Callable[[Codes], Floats] | None = None,
    rounds: int | None = None,
) -> Codes:
    """Rows changed one column at a time so that Σ over cells of (count - rows·target)² falls with every change.

    Args:
        codes: shape (rows, columns).
        sizes: number of codes of each column.
        tables: sets of columns.
        target: share of each cell, table by table.
        generator: picks the rows and columns that are looked at.
        log_density: ln h up to a constant; a changed row must not be rarer than the rarest hundredth of the rows. None
            allows every row.
        rounds: how many times a batch of rows is looked at; by default 250 for every column, 20,000 at most.
    """
    rows = np.array(codes, dtype=np.int32)
    k = len(rows)
    around = tables_around(sizes, tables)
    moving = [j for j, size in enumerate(sizes) if size > 1 and around[j]]
    if not moving or k == 0:
        return rows
    wanted = k * target - _counts(rows, sizes, tables)
    rarest = float(np.quantile(log_density(rows), 0.01)) if log_density is not None else 0.0
    batch = min(BATCH, k)
    rounds = rounds if rounds is not None else min(max(1000, _ROUNDS_A_COLUMN * len(moving)), _MOST_ROUNDS)
    idle = 0
    for turn in range(rounds):
        j = moving[int(generator.integers(len(moving)))]
        looked = generator.integers(0, k, batch)
        changed, gain = _best_changes(rows[looked], j, sizes[j], around[j], wanted)
        at = _apart(looked, changed, gain, rows[:, j], sizes[j])
        if len(at) and log_density is not None:
            proposed = rows[looked[at]]
            proposed[:, j] = changed[at]
            at = at[log_density(proposed) >= rarest]
        idle = 0 if len(at) >= _LEAST_SHARE * _TOGETHER else idle + 1
        if idle > 4 * len(moving) and turn > 20 * len(moving):
            break
        if len(at):
            chosen, code = looked[at], changed[at]
            for table in around[j]:
                lines = table.lines(rows[chosen])
                np.add.at(wanted, lines + rows[chosen, j] * table.stride, 1.0)
                np.add.at(wanted, lines + code * table.stride, -1.0)
            rows[chosen, j] = code
    return rows


def _best_changes(rows: Codes, j: int, size: int, around: list[Around], wanted: Floats) -> tuple[Integers, Floats]:
    """For each row the best new code of the column, and by how much half the squared error falls."""
    lacking = np.zeros((len(rows), size))
    codes = np.arange(size)
    for table in around:
        lacking += wanted[table.lines(rows)[:, None] + codes * table.stride]
    every = np.arange(len(rows))
    now = rows[:, j]
    gain = lacking - lacking[every, now][:, None] - len(around)
    gain[every, now] = -1.0
    code = gain.argmax(axis=1)
    return code.astype(np.int64), gain[every, code]


def _apart(looked: Integers, code: Integers, gain: Floats, now: Codes, size: int) -> Integers:
    """The best changes that do not get into each other's way: different rows, different (old code, new code)."""
    better = np.flatnonzero(gain > 0)
    better = better[np.argsort(-gain[better], kind="stable")]
    better = better[np.sort(np.unique(looked[better], return_index=True)[1])]
    pair = now[looked[better]].astype(np.int64) * size + code[better]
    return np.asarray(better[np.sort(np.unique(pair, return_index=True)[1])][:_TOGETHER], dtype=np.int64)


def _counts(rows: Codes, sizes: Sequence[int], tables: Tables) -> Floats:
    cells = int(cell_offsets(sizes, tables)[-1])
    counts = np.zeros(cells)
    step = max(1, _CELLS_AT_ONCE // max(1, len(tables)))
    for start in range(0, len(rows), step):
        found = cells_of_points(rows[start : start + step], sizes, tables)
        counts += np.bincount(found.ravel(), minlength=cells)
    return counts
