"""Eigenvalues of W diag(p) Wᵀ: how well conditioned the functions are on the points. Nothing here sees private data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsyn.errors import ParameterError
from dpsyn.solvers.blocks import Block
from dpsyn.solvers.contrasts import Floats
from dpsyn.solvers.operator import BlockOperator

ROUNDING = 1e-10
"""More than floating point can move an eigenvalue of W diag(p) Wᵀ: C times the unit roundoff times a norm that is at most C,
which for C = 3000 is 1e-9 in the worst case and below 1e-12 in practice, against thresholds of 1e-4 and more."""

_POINTS_PER_FUNCTION = 40
_SHARE_PER_THRESHOLD = 4.0
EIGENVALUES_UP_TO = 3000
"""Functions up to which the test computes eigenvalues where a Cholesky factor may answer; that takes a tenth of the time."""
_MARGIN = 1e-3
"""Of the squared threshold: what a Cholesky factor must leave, far more than rounding can hide."""


@dataclass(frozen=True)
class Conditioning:
    """The outcome of the conditioning test, step 2 of private sampling.

    Attributes:
        passes: whether σ_min(W)/√m reaches the threshold.
        smallest: σ_min(W)/√m, or a number that it is proven not to be below.
        threshold: what it was compared with.
        exact: ``smallest`` is the value itself.
        points: how many points it was computed from.
    """

    passes: bool
    smallest: float
    threshold: float
    exact: bool
    points: int


def spectrum(operator: BlockOperator) -> Floats:
    """All eigenvalues of W diag(p) Wᵀ, ascending, shape (C,): the squares of the singular values of W over √m when p = 1/m.

    They are those of the exact Gram matrix, right to ROUNDING: roots above 1e-4 have two digits and more.
    """
    return np.asarray(np.linalg.eigvalsh(operator.gram()))


def conditioning(operator: BlockOperator, threshold: float) -> Conditioning:
    """Is σ_min(W diag(√p)) >= threshold? For p = 1/m that is σ_min(W) >= threshold·√m.

    W diag(p) Wᵀ is a sum of positive semidefinite terms, one for each point, so the smallest eigenvalue over some of the
    points is never above the one over all. If the first few points reach the threshold, all do, which is a proof; with
    independent draws a share of about 4·threshold² of them suffices. Only otherwise all points are summed. The decision
    is that of the exact value either way, and depends on the points alone.

    With more than EIGENVALUES_UP_TO functions a Cholesky factor of the sum less threshold²·I and a margin is the proof,
    and ``smallest`` is the threshold; eigenvalues are computed where there is no such factor.

    Args:
        operator: the functions on the points.
        threshold: not negative; 1/(2e^d) for the Boolean cube.

    Raises:
        ParameterError: the threshold is negative.
    """
    if not threshold >= 0:
        raise ParameterError("threshold", threshold, "at least 0")
    functions, points = operator.shape
    enough = max(math.ceil(_SHARE_PER_THRESHOLD * threshold**2 * points), _POINTS_PER_FUNCTION * functions)
    if enough <= points // 2:
        found = _smallest(operator, enough, threshold)
        if found.passes:
            return found
    return _smallest(operator, points, threshold)


def _smallest(operator: BlockOperator, stop: int, threshold: float) -> Conditioning:
    *sums, used = operator.reduce(_first_gram, stop)
    matrix = operator.gram_of(sums)
    if len(matrix) > EIGENVALUES_UP_TO and _exceeds(matrix, threshold**2 * (1 + _MARGIN) + ROUNDING):
        return Conditioning(True, float(threshold), float(threshold), False, int(used))
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    exact = bool(used == operator.shape[1])
    passes = bool(lowest - (0.0 if exact else ROUNDING) >= threshold**2)
    return Conditioning(passes, math.sqrt(max(0.0, lowest)), float(threshold), exact, int(used))


def _exceeds(matrix: Floats, bound: float) -> bool:
    """Whether a Cholesky factor proves that all eigenvalues are above the bound."""
    from scipy.linalg import LinAlgError, cholesky

    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] -= bound
    try:
        # Transposed, the symmetric matrix lies in memory as LAPACK wants it, and no further copy is made.
        cholesky(shifted.T, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _first_gram(block: Block, stop: int) -> tuple[Any, ...]:
    if block.start >= stop:
        return ()
    first = block.head(stop - block.start)
    return *first.gram_sums(first.weights), first.stop - first.start
