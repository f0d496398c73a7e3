"""The row that meets as many queries as possible, by an integer program: what the game's data player answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpsyn.domain import Codes
from dpsyn.solvers.contingency import Integers

_TIES = 1e-3
"""How much less than a query a random preference for codes weighs: among equally good rows it draws one."""


def best_response(
    sizes: Sequence[int],
    literals: Integers,
    wanted: npt.NDArray[np.bool_],
    weights: Integers,
    generator: np.random.Generator,
    time_limit: float,
) -> Codes:
    """A row x with as large a Σ weights·[x meets the query] as is found in time; any row is an answer, a good one is better.

    One variable a code says whether x has it, one a query whether x meets it: to have both codes, or not to have both.

    Args:
        sizes: number of codes of each column.
        literals: the two codes of each query, counted through all columns, shape (queries, 2); equal for one code alone.
        wanted: whether x is to have them, shape (queries,).
        weights: how often each query was drawn, shape (queries,).
        generator: of the choice among equals.
        time_limit: in seconds; the best row found by then is taken, or a random one.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    codes, queries = sum(sizes), len(literals)
    starts = np.cumsum([0, *sizes])
    column = np.repeat(np.arange(len(sizes)), sizes)
    one_each = csr_matrix((np.ones(codes), (column, np.arange(codes))), shape=(len(sizes), codes + queries))
    met = codes + np.arange(queries)
    have, avoid = np.flatnonzero(wanted), np.flatnonzero(~wanted)
    # met ≤ x_a and met ≤ x_b, or met + x_a + x_b ≤ 2.
    at = np.concatenate([np.repeat(np.arange(2 * len(have)), 2), 2 * len(have) + np.repeat(np.arange(len(avoid)), 3)])
    variable = np.concatenate(
        [
            np.stack([np.repeat(met[have], 2), literals[have].ravel()], axis=1).ravel(),
            np.column_stack([met[avoid], literals[avoid]]).ravel(),
        ]
    )
    sign = np.concatenate([np.tile([1.0, -1.0], 2 * len(have)), np.ones(3 * len(avoid))])
    limit = np.concatenate([np.zeros(2 * len(have)), np.full(len(avoid), 2.0)])
    meeting = csr_matrix((sign, (at, variable)), shape=(len(limit), codes + queries))
    preference = _TIES * generator.random(codes)
    solved = milp(
        np.concatenate([-preference, -weights.astype(np.float64)]),
        constraints=[LinearConstraint(one_each, 1, 1), LinearConstraint(meeting, -np.inf, limit)],
        integrality=np.concatenate([np.ones(codes), np.zeros(queries)]),
        bounds=Bounds(0, 1),
        options={"time_limit": time_limit},
    )
    likes = preference if solved.x is None else solved.x[:codes]
    return np.array([likes[a:b].argmax() for a, b in pairwise(starts)], dtype=np.int32)
