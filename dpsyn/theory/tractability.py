"""How long the quadratic program would take, as Pierquin et al. (2022) extrapolate it.

Their rule: quadprog takes 0.1 s for a dense problem of size 1000 and grows like m². It concerns that solver only:
the program has only C(p, ≤d) equality rows, so its dual is small.
"""

from __future__ import annotations

import math

from dpsyn.errors import ParameterError
from dpsyn.theory.tables import log_relaxed_m

SECONDS_AT_1000 = 0.1
YEAR = 365.25 * 86_400.0
MONTH = 30 * 86_400.0
PUBLISHED_YEARS = 38
"""Printed for m = 1.2e8, from 1.2e9 s; the rule gives 1.44e9 s."""
PUBLISHED_LARGEST_P = 7


def quadprog_seconds(reduced_space_size: float) -> float:
    """0.1 s · (m/1000)²."""
    if not reduced_space_size >= 1:
        raise ParameterError("reduced_space_size", reduced_space_size, "at least 1")
    return SECONDS_AT_1000 * (reduced_space_size / 1000) ** 2


def largest_p_within(seconds: float) -> int:
    """The largest p at which the ideal cube's smallest m, 5.6e4 p(p+1), is done in this time; 0 if there is none."""
    p = 0
    while quadprog_seconds(math.exp(log_relaxed_m(p + 1, -(p + 1) * math.log(2)))) <= seconds:
        p += 1
    return p
