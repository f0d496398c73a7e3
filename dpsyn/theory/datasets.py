"""The four datasets of Pierquin et al. (2023) as statistics, and the paper's ideal case."""

from __future__ import annotations

from dpsyn import checks
from dpsyn.statistics import DatasetStatistics

ASIA = DatasetStatistics(p=8, n=20000, max_frequency=0.2904, sizes=(2,) * 8, name="ASIA")
MUSHROOM = DatasetStatistics(
    p=119,
    n=8124,
    max_frequency=1 / 8124,
    distinct_rows=8124,
    sizes=(2, 6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7),
    name="MUSHROOM",
)
CAR = DatasetStatistics(p=25, n=1728, max_frequency=1 / 1728, distinct_rows=1728, sizes=(4, 4, 4, 3, 3, 3, 4), name="CAR")
ADULT = DatasetStatistics(p=62, n=32561, max_frequency=577 / 32561, sizes=(9, 16, 7, 15, 6, 5, 2, 2), name="ADULT")

BUILT_IN: dict[str, DatasetStatistics] = {stats.name: stats for stats in (ASIA, MUSHROOM, CAR, ADULT)}

_LARGEST_CUBE = 1022


def ideal_cube(p: int) -> DatasetStatistics:
    """Every point of {-1, 1}^p once: n = 2^p, ‖f_n‖∞ = 2^{-p}, the case in which private sampling has it easiest.

    Raises:
        ParameterError: p > 1022; a float cannot hold 2^{-p}. The tables work in logarithms and go further.
    """
    p = checks.whole("p", p, 1, _LARGEST_CUBE)
    return DatasetStatistics(
        p=p, n=2**p, max_frequency=2.0**-p, distinct_rows=2**p, sizes=(2,) * p, name=f"Ideal cube, p = {p}"
    )
