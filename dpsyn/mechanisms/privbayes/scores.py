"""How well parents explain a column of two codes: the score F in whole numbers, and how far a neighbour moves it."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from dpsyn.solvers.contingency import Integers


def f_score(joint: Integers) -> int:
    """F for a column of two codes: minus the distance to the nearest table in which the parents say the column, 2n·F.

    There every cell of the parents has one code of the column, and each code half of the rows. Over all ways to say which
    cells have code 0: the least (n - 2a)₊ + (n - 2b)₊, where a and b are the rows that are where they should be.

    Args:
        joint: counts, shape (cells of the parents, 2).
    """
    rows = int(joint.sum())
    zeros = _choices(len(joint))
    a, b = zeros @ joint[:, 0], (1 - zeros) @ joint[:, 1]
    return -int((np.maximum(rows - 2 * a, 0) + np.maximum(rows - 2 * b, 0)).min())


F_MOVED = 2
"""By how much a neighbour moves :func:`f_score`: of the two terms one moves by 2 and the other the other way or not at all
where a row is replaced; where one is added both move by 1 at most."""


@cache
def _choices(cells: int) -> npt.NDArray[np.int64]:
    """Every way to choose some of the cells, shape (2^cells, cells)."""
    return np.array(list(product((0, 1), repeat=cells)), dtype=np.int64).reshape(-1, cells)
