"""Averages of records of one class: drawn without replacement, or by independent coins."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_DENSE = 8
"""From a share of 1/8 of the class on, a product with a matrix of zeros and ones is quicker than gathering rows."""
_CELLS = 4_000_000


def class_averages(members: Floats, order: int, rows: int, generator: np.random.Generator) -> Floats:
    """Averages of ``order`` members drawn uniformly without replacement, afresh for each row. Shape (rows, dimension).

    With fewer members than ``order``, zero records stand in for the missing ones: the caller's guarantee does not count on
    that case, but it must not stop either.
    """
    if len(members) < order:
        members = np.concatenate([members, np.zeros((order - len(members), members.shape[1]))])
    size = len(members)
    if _DENSE * order < size:
        chosen = distinct_draws(rows, order, size, generator)
        return _sums(members, chosen.ravel(), np.arange(0, rows * order + 1, order)) / order
    averages = np.empty((rows, members.shape[1]))
    for start, stop in _chunks(rows, size):
        count = stop - start
        drawn = min(order, size - order)
        taken = np.zeros((count, size))
        np.put_along_axis(taken, distinct_draws(count, drawn, size, generator), 1.0, axis=1)
        averages[start:stop] = (taken if drawn == order else 1.0 - taken) @ members
    return averages / order


def poisson_averages(members: Floats, order: int, rate: float, rows: int, generator: np.random.Generator) -> Floats:
    """Sums of the members that coins of probability ``rate`` pick, afresh for each row, divided by ``order``.

    Shape (rows, dimension). Drawing the number of members first (binomial) and then so many without replacement has the law
    of the coins and takes time for the picked ones only.
    """
    size, dimension = members.shape
    if size == 0:
        return np.zeros((rows, dimension))
    if _DENSE * rate < 1:
        counts = generator.binomial(size, rate, rows)
        return _sums(members, _distinct_flat(counts, size, generator), np.concatenate([[0], np.cumsum(counts)])) / order
    averages = np.empty((rows, dimension))
    for start, stop in _chunks(rows, size):
        averages[start:stop] = (generator.random((stop - start, size)) < rate).astype(np.float64) @ members
    return averages / order


def distinct_draws(rows: int, order: int, size: int, generator: np.random.Generator) -> Integers:
    """Uniform subsets of 0 … size-1 with ``order`` elements, one a row and sorted. Shape (rows, order).

    Repeated elements are drawn again until there are none. Renaming the elements renames the outcome, so that no subset is
    likelier than another.
    """
    chosen = np.sort(generator.integers(0, size, (rows, order)), axis=1)
    pending = np.arange(rows)
    while len(pending):
        block = chosen[pending]
        repeated = block[:, 1:] == block[:, :-1]
        unfinished = repeated.any(axis=1)
        pending, block, repeated = pending[unfinished], block[unfinished], repeated[unfinished]
        block[:, 1:][repeated] = generator.integers(0, size, int(repeated.sum()))
        chosen[pending] = np.sort(block, axis=1)
    return chosen


def _distinct_flat(counts: Integers, size: int, generator: np.random.Generator) -> Integers:
    """As :func:`distinct_draws` for subsets of different sizes, one after another. Shape (Σ counts,)."""
    keys = np.repeat(np.arange(len(counts)) * size, counts)
    keys = np.sort(keys + generator.integers(0, size, len(keys)))
    while True:
        repeated = np.flatnonzero(keys[1:] == keys[:-1]) + 1
        if not len(repeated):
            return keys % size
        keys[repeated] += generator.integers(0, size, len(repeated)) - keys[repeated] % size
        keys.sort()


def _sums(members: Floats, chosen: Integers, starts: Integers) -> Floats:
    from scipy.sparse import csr_matrix

    shape = (len(starts) - 1, len(members))
    picked: Any = csr_matrix((np.ones(len(chosen)), chosen, starts), shape=shape)
    return np.asarray(picked @ members)


def _chunks(rows: int, size: int) -> list[tuple[int, int]]:
    step = max(1, _CELLS // size)
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]
