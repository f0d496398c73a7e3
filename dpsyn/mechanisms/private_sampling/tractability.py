"""How long the two programs of private sampling take and how much memory they need.

Pierquin et al. (2023) extrapolate quadprog: 0.1 s for a dense problem of size 1000, growing like m². That concerns that
solver only: the program has C equality rows, so its dual has C unknowns. Ours are measured by
:mod:`calibration`.
"""

from __future__ import annotations

import math
from typing import Literal

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.tables import log_relaxed_m
from dpsyn.theory.logarithms import exp_of, format_log

SECONDS_AT_1000 = 0.1
YEAR = 365.25 * 86_400.0
MONTH = 30 * 86_400.0
PUBLISHED_YEARS = 38
"""Printed for m = 1.2e8, from 1.2e9 s; the rule gives 1.44e9 s."""
PUBLISHED_LARGEST_P = 7
PUBLISHED_M = 1.2e8

Program = Literal["lp", "qp"]
_BLOCK = 2.0**22
_VECTORS: dict[Program, int] = {"lp": 18, "qp": 6}
_UNITS = (("s", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86_400.0), ("years", YEAR))
_SIZES = (("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12))


def quadprog_seconds(reduced_space_size: float) -> float:
    """0.1 s · (m/1000)²."""
    if not reduced_space_size >= 1:
        raise ParameterError("reduced_space_size", reduced_space_size, "at least 1")
    return exp_of(log_quadprog_seconds(math.log(reduced_space_size)))


def log_quadprog_seconds(log_m: float) -> float:
    """ln of 0.1 s · (m/1000)², for m of any size."""
    return math.log(SECONDS_AT_1000) + 2 * (log_m - math.log(1000))


def largest_p_within(seconds: float) -> int:
    """The largest p at which the ideal cube's smallest m, 5.6e4 p(p+1), is done in this time; 0 if there is none."""
    p = 0
    while quadprog_seconds(math.exp(log_relaxed_m(p + 1, -(p + 1) * math.log(2)))) <= seconds:
        p += 1
    return p


def log_bytes(program: Program, log_m: float, log_dimension: float) -> float:
    """ln of the peak memory in bytes of one of our programs at m points and C functions.

    W itself, 8·C·m; two blocks of at most 2^22 entries of it while W diag(x) Wᵀ is formed; vectors of length m (18 for
    the LP, 6 for the QP); three C x C matrices.
    """
    entries = log_m + log_dimension
    block = min(entries, math.log(_BLOCK))
    parts = (
        math.log(8) + entries,
        math.log(16) + block,
        math.log(8 * _VECTORS[program]) + log_m,
        math.log(24) + 2 * log_dimension,
    )
    largest = max(parts)
    return largest + math.log(sum(math.exp(part - largest) for part in parts))


def duration(log_seconds: float) -> str:
    """A time in words: ``0.034 s``, ``2.1 hours``, ``45.6 years``, ``1.2 × 10³⁰ years``."""
    name, unit = _UNITS[0]
    for one, size in _UNITS:
        if log_seconds >= math.log(size * (2 if size > 1 else 1)):
            name, unit = one, size
    return f"{format_log(log_seconds - math.log(unit))} {name}"


def memory(log_size: float) -> str:
    """A number of bytes in words: ``12.3 MB``, ``1.2 GB``, ``4.1 × 10³⁰ TB``."""
    name, unit = _SIZES[0]
    for one, size in _SIZES:
        if log_size >= math.log(size):
            name, unit = one, size
    return f"{format_log(log_size - math.log(unit))} {name}"
