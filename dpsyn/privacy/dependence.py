"""How far a table is from that of independent columns, in whole numbers, and how far a neighbour moves that."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpsyn.errors import ParameterError
from dpsyn.privacy.spec import PrivacySpec

Integers = npt.NDArray[np.int64]

_FITS = 2**31
"""The n from which on 2n² is no whole number of 64 bits."""


def r_score(joint: Integers, *, rows_public: bool) -> int:
    """R: how far a table is from that of independent columns, Σ |n·c(x,π) - c(x)·c(π)| = 2n²·R.

    Where n is a secret this is divided by n and rounded down.

    Args:
        joint: counts, shape (cells of the parents, codes of the column).
        rows_public: a neighbour replaces a row.
    """
    rows = int(joint.sum())
    # 2n² is the largest sum; what 64 bits do not hold would come out as something else.
    joint = joint if rows < _FITS else joint.astype(object)
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


def check_rows(spec: PrivacySpec, n: int) -> None:
    """For ``calibrate``: refuse more rows than :func:`r_score` counts in whole numbers of 64 bits.

    Raises:
        ParameterError: n is public, and 2n² is too large.
    """
    if spec.neighbouring == "replace_one" and n >= _FITS:
        raise ParameterError("n", n, "below 2³¹, or a secret (neighbouring='add_remove'): scores grow with its square")
