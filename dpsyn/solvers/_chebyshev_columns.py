"""Column generation: of many points few carry weight, so the program is solved on some, and the rest are priced.

Weights w that are optimal on a part of the points prove the bound min_z (Aᵀw)_z - w·y over all of them at the cost of one
product with Aᵀ. Points with (Aᵀw)_z below the part's own level would lower the deviation: the lowest join the part. When
the bound over all points meets the deviation, the density on the part is optimal among all densities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.solvers._chebyshev_interior import Pair, Watch, centre_path

Floats = npt.NDArray[np.float64]
Told = Callable[[int, int, float], None]

FIRST, MORE = 2, 2
"""Points of the first part, and points that join in a round, as multiples of F."""
ALL_AT_MOST = 4
"""With no more points than this multiple of F the program is solved at once."""
_ROUNDS = 60


def least_deviation(matrix: Any, target: Floats, *, gap: float, watch: Watch) -> Pair:
    """The density over all points with deviation - bound ≤ ``gap``, or the best pair found.

    Args:
        matrix: A, dense or sparse, shape (F, m).
        target: y, shape (F,).
        gap: absolute gap at which to stop.
        watch: told of every step; says when to stop.
    """
    statistics, points = matrix.shape
    if points <= ALL_AT_MOST * statistics:
        return centre_path(matrix, target, gap=gap, watch=watch)
    columns = matrix if isinstance(matrix, np.ndarray) else matrix.tocsc()
    # Which points come first changes the time only; a fixed seed keeps the result a function of the input.
    part = np.sort(np.random.default_rng(0).choice(points, FIRST * statistics, replace=False))
    best = Pair(np.full(points, 1 / points), np.zeros(statistics), np.inf, 0.0, 0)
    # The first part only has to say where to look, so it is solved roughly.
    aim = max(gap / 2, 0.02 * float(np.abs(columns @ best.density - target).max()))
    for _ in range(_ROUNDS):
        inside = np.ascontiguousarray(columns[:, part]) if isinstance(columns, np.ndarray) else columns[:, part]
        found = centre_path(inside, target, gap=aim, watch=watch.at_least(best.bound))
        priced = columns.T @ found.weights
        best = _better(best, found, part, float(priced.min()) - float(found.weights @ target))
        if best.deviation - best.bound <= gap or watch.stopped:
            break
        lowest = np.argpartition(priced, MORE * statistics)[: MORE * statistics]
        wider = np.union1d(part, lowest)
        if aim <= gap / 2 and len(wider) == len(part):
            break
        part, aim = wider, gap / 2
    return best


def _better(best: Pair, found: Pair, part: npt.NDArray[np.int64], bound: float) -> Pair:
    density, deviation, weights = best.density, best.deviation, best.weights
    if found.deviation < deviation:
        density = np.zeros(len(best.density))
        density[part] = found.density
        deviation = found.deviation
    if bound > best.bound:
        weights = found.weights
    return Pair(density, weights, deviation, max(bound, best.bound), best.steps + found.steps)
