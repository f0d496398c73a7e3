"""Which tables to measure: algorithms 1 (DenseMarg) and 2 (combining) of PrivSyn, and the network that it was compared
with. What they see is noisy or public."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from dpsyn.solvers.noisy_tables import Columns, Floats

POWERS = {"gaussian": 2 / 3, "laplace": 1 / 2}
"""Shares of a budget in proportion to cells to this power make the sum of all errors smallest, by the kind of noise."""
_MOST_CLIQUES = 20_000
"""Of one size; where there are more, larger ones are not looked for."""


def dense_pairs(pairs: Sequence[Columns], dependence: Floats, cells: Floats, power: float, noise: float) -> list[Columns]:
    """Algorithm 1: take the pair that lowers the error most, again and again, while one does.

    The error is what pairs that are left out hide, Σ φ, and the noise on those that are taken: with shares of the budget in
    proportion to cells^power it adds up to noise·(Σ cells^power)^(1/power).

    Args:
        pairs: of columns.
        dependence: φ, how far each pair is from independence, in rows.
        cells: of the table of each pair.
        power: 2/3 for Gaussian noise, 1/2 for Laplace noise.
        noise: mean error of one count, were one table all that is measured.
    """
    weights = cells**power
    left = np.ones(len(pairs), dtype=bool)
    chosen: list[Columns] = []
    taken, hidden = 0.0, float(dependence.sum())
    error = hidden
    while left.any():
        errors = np.where(left, noise * (taken + weights) ** (1 / power) + hidden - dependence, math.inf)
        best = int(errors.argmin())
        if errors[best] >= error:
            break
        error, taken, hidden = float(errors[best]), taken + weights[best], hidden - float(dependence[best])
        left[best] = False
        chosen.append(pairs[best])
    return chosen


def tree_pairs(pairs: Sequence[Columns], dependence: Floats) -> list[Columns]:
    """PrivBayes' network with one parent a column: again and again the pair of a column that is in it and one that is not
    with the largest dependence. It is a spanning tree.

    Arguments as for :func:`dense_pairs`, of all pairs.
    """
    found: list[Columns] = []
    order = np.argsort(-dependence, kind="stable")
    reached = set(pairs[order[0]][:1]) if len(order) else set()
    while (taken := next((pairs[i] for i in order if len(reached & set(pairs[i])) == 1), None)) is not None:
        found.append(taken)
        reached |= set(taken)
    return found


def combined(pairs: Sequence[Columns], sizes: Sequence[int], most_cells: int) -> list[Columns]:
    """Algorithm 2: cliques of the pairs become one table, the largest first, if at most two of their columns are in one yet.

    Args:
        pairs: of columns, ascending.
        sizes: number of codes of each column.
        most_cells: γ, of such a table.

    Returns:
        These tables, and the pairs that are in none of them.
    """
    joined = set(pairs)
    by_size: list[list[Columns]] = [list(pairs)]
    while by_size[-1]:
        larger = [
            (*clique, j)
            for clique in by_size[-1]
            for j in range(clique[-1] + 1, len(sizes))
            if all((i, j) in joined for i in clique) and math.prod(sizes[i] for i in (*clique, j)) <= most_cells
        ]
        by_size.append(larger if len(larger) <= _MOST_CLIQUES else [])
    covered: set[int] = set()
    found: list[Columns] = []
    for clique in (clique for cliques in by_size[:0:-1] for clique in cliques):
        if len(covered & set(clique)) <= 2:
            found.append(clique)
            covered |= set(clique)
    inside = {pair for clique in found for pair in combinations(clique, 2)}
    return [*found, *(pair for pair in pairs if pair not in inside)]


def in_proportion(total: float, tables: Sequence[Columns], cells: Callable[[Columns], int], power: float) -> list[float]:
    """Parts of a budget, by cells^power."""
    weights = [cells(columns) ** power for columns in tables]
    return [total * weight / sum(weights) for weight in weights]
