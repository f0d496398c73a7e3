"""Rows from a density with less noise than independent draws: systematic sampling, then repairs towards given tables.

Independent draws of k rows miss a cell of probability p by about √(p/k). Systematic sampling along an order of the points
takes ⌊kp⌋ or ⌈kp⌉ copies of every point, and keeps the count of every run of points to ±1. What is left is repaired row by
row: a row changes one of its columns where that brings the tables nearer to those of the density.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Integers, Tables, cell_offsets, cells_of_points
from dpsyn.solvers.density_spaces import TableModel, lines_of

Floats = npt.NDArray[np.float64]

BATCH = 2048
_MOST_ROUNDS = 20_000
_WINDOW = 4
_LEAST_GAIN = 0.02
_RARE = 0.01
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
    model: TableModel | None = None,
    rounds: int | None = None,
) -> Codes:
    """Rows changed one column at a time so that Σ over cells of (count - rows·target)² falls with every change.

    Args:
        codes: shape (rows, columns).
        sizes: number of codes of each column.
        tables: sets of columns.
        target: share of each cell, table by table.
        generator: picks the rows and columns that are looked at.
        model: a density; a changed row must not be rarer under it than the rarest hundredth of the rows. None allows every
            row.
        rounds: how many times a batch of rows is looked at; by default until little is gained any more.
    """
    rows = np.array(codes, dtype=np.int32)
    k = len(rows)
    lines = lines_of(sizes, tables)
    moving = [j for j, size in enumerate(sizes) if size > 1 and len(lines[j].offsets)]
    if not moving or k == 0:
        return rows
    wanted = k * target - _counts(rows, sizes, tables)
    log_density = model.log_density(rows) if model is not None else np.zeros(k)
    rarest = float(np.quantile(log_density, _RARE))
    batch = min(BATCH, k)
    every = np.arange(batch)
    window = _WINDOW * len(moving)
    gained, turn = 0.0, 0
    while turn < (rounds if rounds is not None else _MOST_ROUNDS):
        j = moving[int(generator.integers(len(moving)))]
        looked = generator.choice(k, batch, replace=False, shuffle=False)
        there, now = rows[looked], rows[looked, j]
        lacking = lines[j].summed(wanted[lines[j].cells], there)
        gain = lacking - lacking[every, now][:, None] - len(lines[j].offsets)
        change = np.zeros_like(gain)
        if model is not None:
            logs = model.log_conditional(there, j)
            change = logs - logs[every, now][:, None]
            gain[log_density[looked][:, None] + change < rarest] = -1.0
        gain[every, now] = -1.0
        code = gain.argmax(axis=1)
        best = gain[every, code]
        at = _together(best, now, code, len(lines[j].offsets))
        on_lines = lines[j].numbers(there[at])
        np.add.at(wanted, lines[j].cells[on_lines, now[at, None]], 1.0)
        np.add.at(wanted, lines[j].cells[on_lines, code[at, None]], -1.0)
        rows[looked[at], j] = code[at]
        log_density[looked[at]] += change[at, code[at]]
        gained += float(best[at].sum())
        turn += 1
        if rounds is None and turn % window == 0:
            if gained <= _LEAST_GAIN * float(wanted @ wanted):
                break
            gained = 0.0
    return rows


def _together(gain: Floats, now: Codes, code: Integers, tables: int) -> Integers:
    """Changes of one column that all help when made at once, the best first.

    A change that comes after r others to the same new code and s others from the same old one gains at least its own gain
    less ``tables``·(r + s): in no table does another change move a cell of it by more than one row.
    """
    order = np.flatnonzero(gain > 0)
    order = order[np.argsort(-gain[order], kind="stable")]
    before = _alike_before(code[order]) + _alike_before(now[order])
    return np.asarray(order[gain[order] > tables * before], dtype=np.int64)


def _alike_before(values: Integers | Codes) -> Integers:
    """How many equal values come before each."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered, side="left")
    return found


def _counts(rows: Codes, sizes: Sequence[int], tables: Tables) -> Floats:
    cells = int(cell_offsets(sizes, tables)[-1])
    counts = np.zeros(cells)
    step = max(1, _CELLS_AT_ONCE // max(1, len(tables)))
    for start in range(0, len(rows), step):
        found = cells_of_points(rows[start : start + step], sizes, tables)
        counts += np.bincount(found.ravel(), minlength=cells)
    return counts
