"""Days for rows of which bin, weekday, month and day of the month are drawn already.

Two steps: how many rows every day gets, so that bins, weekdays, months and days of the month are as frequent as they were
drawn; then which row gets which of these days, so that as many rows as can be have what was drawn for them. Both use rows
that were drawn and noisy counts, nothing else.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpsyn.solvers.rounding import systematic_rows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_ROUNDS = 30
"""Of the fit. Each ends with what is to hold over all bins, and with the bins."""
_FEW = 0.01
"""Share of rows without a day that has all they wish, up to which parts count as drawn with regard to each other."""
_NOTHING = 1e-12
"""Rows of a cell that has none: others can still divide what is left."""


def drawn_days(
    weights: Floats, known: Integers, wished: Integers, position: Floats, generator: np.random.Generator
) -> Integers:
    """The position of a day of its bin for every row.

    Args:
        weights: estimated rows of each day, in order. Shape (days,).
        known: of each day its bin, then the code of every part that rows wish for. Shape (days, 1 + parts).
        wished: the same of the rows. Shape (rows, 1 + parts).
        position: the larger a row's, the later its day among rows that wish the same. Shape (rows,).
        generator: of the draws.
    """
    law = expected_rows(weights, known, wished, generator)
    order = np.lexsort(known.T[::-1])
    ends = np.searchsorted(known[order, 0], np.arange(wished[:, 0].max(initial=-1) + 2))
    drawn = [
        order[first:last][systematic_rows(law[order[first:last]], rows, generator)]
        for first, last, rows in zip(ends, ends[1:], np.bincount(wished[:, 0]), strict=False)
    ]
    days, rows = np.concatenate([np.zeros(0, np.int64), *drawn]), np.arange(len(wished))
    given = np.zeros(len(wished), np.int64)
    for columns in _columns(known):
        cells = _cells(known[days][:, columns], wished[rows][:, columns])
        there, mine = _pairs(cells, (days, position[rows]), generator)
        given[rows[mine]] = days[there]
        days, rows = np.delete(days, there), np.delete(rows, mine)
    return given


def expected_rows(weights: Floats, known: Integers, wished: Integers, generator: np.random.Generator) -> Floats:
    """Rows that each day is to have, in sum those of its bin: near the weights (iterative proportional fitting), and every
    weekday, month and day of the month as often as it is wished.

    In every bin, too, where it was drawn with regard to the bin: rows that wish what no day of their bin has are then spread
    over the bin. So are parts together that were drawn with regard to each other.
    """
    law: Floats = weights + _NOTHING
    tables = list[tuple[Integers, Floats]]()
    *with_parts, bin_ = _columns(known)
    for columns in with_parts:
        if _in_regard(known, wished, columns, generator):
            at, wishes = _cells(known[:, columns], wished[:, columns])
            lost = np.bincount(wished[wishes < 0, 0], minlength=known[:, 0].max() + 1) / np.bincount(known[:, 0], law)
            tables.append((at, _counts(wishes, at) + np.bincount(at, law * lost[known[:, 0]])))
    for columns in (*([part] for part in range(1, known.shape[1])), bin_):
        at, wishes = _cells(known[:, columns], wished[:, columns])
        tables.append((at, _counts(wishes, at)))
    for _ in range(_ROUNDS):
        for at, rows in tables:
            law = law * ((rows + _NOTHING) / np.bincount(at, law))[at]
    return law


def _columns(known: Integers) -> list[list[int]]:
    """The bin with all parts, with fewer, and alone."""
    parts = range(1, known.shape[1])
    return [[0, *some] for size in range(len(parts), -1, -1) for some in combinations(parts, size)]


def _in_regard(known: Integers, wished: Integers, columns: list[int], generator: np.random.Generator) -> bool:
    """Whether parts were drawn with regard to the bin, or several to each other: no more than half as many rows as by chance
    wish what no day of their bin has."""
    chance = wished.copy()
    within = wished[:, 0] if len(columns) > 2 else np.zeros(len(wished))
    order = np.argsort(within, kind="stable")
    for part in columns[1:]:
        chance[order, part] = wished[np.lexsort((generator.random(len(wished)), within)), part]
    missed, by_chance = (np.count_nonzero(_cells(known[:, columns], rows[:, columns])[1] < 0) for rows in (wished, chance))
    return bool(2 * missed <= by_chance or (len(columns) > 2 and missed <= _FEW * len(wished)))


def _cells(known: Integers, wished: Integers) -> tuple[Integers, Integers]:
    """Numbers of the combinations that there are among the days; -1 for those of rows that are not."""
    sizes = np.maximum(known.max(axis=0, initial=0), wished.max(axis=0, initial=0)) + 1
    mine, other = (np.ravel_multi_index(tuple(each.T), tuple(sizes)) for each in (known, wished))
    there, at = np.unique(mine, return_inverse=True)
    found = np.searchsorted(there, other)
    return at, np.where(np.isin(other, there), found, -1)


def _counts(wishes: Integers, at: Integers) -> Floats:
    """Rows of each cell of the days, as numbers that may be divided."""
    return np.bincount(wishes[wishes >= 0], minlength=at.max() + 1).astype(np.float64)


def _pairs(
    cells: tuple[Integers, Integers], by: tuple[Integers, Floats], generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Positions of days and of rows of the same cells, as many as there are of both, in order of ``by`` inside a cell."""
    width = max(each.max(initial=-1) for each in cells) + 1
    both = np.minimum(*(np.bincount(each[each >= 0], minlength=width) for each in cells))
    found = []
    for each, values in zip(cells, by, strict=True):
        order = np.lexsort((generator.random(len(each)), each))
        order = order[each[order] >= 0]
        rank = np.arange(len(order)) - np.searchsorted(each[order], each[order])
        taken = order[rank < both[each[order]]]
        found.append(taken[np.lexsort((values[taken], each[taken]))])
    return found[0], found[1]
