"""How well parents explain a column: the scores R and F in whole numbers, and how far a neighbour moves them."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from dpsyn.solvers.contingency import Integers


def r_score(joint: Integers, *, rows_public: bool) -> int:
    """R: how far a table is from that of independent columns, Σ |n·c(x,π) - c(x)·c(π)| = 2n²·R.

    Where n is a secret this is divided by n and rounded down.

    Args:
        joint: counts, shape (cells of the parents, codes of the column).
        rows_public: a neighbour replaces a row.
    """
    rows = int(joint.sum())
    far = int(np.abs(rows * joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum())
    return far if rows_public or not rows else far // rows


def r_moved(rows: int | None) -> int:
    """By how much a neighbour moves :func:`r_score` at most.

    A replaced row moves two counts by 1, and with them n·c by 2n; one count in either margin goes up and one down, which
    moves the products by 2n + 2n + 4: together 6n + 4, as Zhang et al. have it (3/n + 2/n² for R). A row that is added moves
    c by 1, and c(x)·c(π)/n by (3n + 1)/(n + 1) < 3: together less than 4, which is whole, so rounding down adds nothing.

    Args:
        rows: n, where it is public.
    """
    return 6 * rows + 4 if rows is not None else 4


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
