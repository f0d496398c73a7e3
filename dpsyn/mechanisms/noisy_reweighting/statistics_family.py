"""The families of linear statistics that noisy reweighting matches: their number and their exact sensitivities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from dpsyn.errors import ParameterError
from dpsyn.privacy.sensitivity import changed_walsh_functions, contingency_count_l1, contingency_count_l2
from dpsyn.solvers.contingency import contingency_cells, walsh_dimension
from dpsyn.statistics import DatasetStatistics

FamilyName = Literal["walsh", "contingency"]
FamilyChoice = Literal["auto", "walsh", "contingency"]


@dataclass(frozen=True)
class StatisticsFamily:
    """F: functions with values in [-1, 1], the constant included.

    Attributes:
        name: ``"walsh"`` on bits or ``"contingency"`` for all d-way tables.
        columns: number of bits, or of columns.
        degree: d.
        size: |F|, exact.
    """

    name: FamilyName
    columns: int
    degree: int
    size: int

    @property
    def log_size(self) -> float:
        """ln |F|."""
        return math.log(self.size)

    @cached_property
    def log_l1(self) -> float:
        """ln of the exact L1 sensitivity of (Σ_i f(x_i))_f when one record is replaced: 2N, or 2·C(q, d)."""
        if self.name == "walsh":
            return math.log(2 * changed_walsh_functions(self.columns, self.degree))
        return math.log(contingency_count_l1(self.columns, self.degree))

    @cached_property
    def log_l2(self) -> float:
        """ln of the exact L2 sensitivity of the same: 2√N, or √(2·C(q, d))."""
        if self.name == "walsh":
            return math.log(2) + 0.5 * math.log(changed_walsh_functions(self.columns, self.degree))
        return math.log(contingency_count_l2(self.columns, self.degree))

    @property
    def log_l1_published(self) -> float:
        """ln of 2|F|, the sensitivity in the proof of Theorem 2.2 (Boedihardjo et al. 2021b): valid, and too large."""
        return math.log(2 * self.size)


@lru_cache(maxsize=4096)
def walsh_family(p: int, degree: int) -> StatisticsFamily:
    """All Walsh functions of degree ≤ d on p bits, |F| = C(p, ≤d)."""
    if not 1 <= degree <= p:
        raise ParameterError("degree", degree, f"a whole number from 1 to p = {p}")
    return StatisticsFamily("walsh", p, degree, walsh_dimension(p, degree))


@lru_cache(maxsize=4096)
def _contingency_family(sizes: tuple[int, ...], degree: int) -> StatisticsFamily:
    return StatisticsFamily("contingency", len(sizes), degree, contingency_cells(sizes, degree) + 1)


def contingency_family(sizes: Sequence[int], degree: int) -> StatisticsFamily:
    """All cells of all d-way tables over columns of these sizes, and the constant. d is cut to the number of columns."""
    if degree < 1:
        raise ParameterError("degree", degree, "at least 1")
    return _contingency_family(tuple(sizes), degree)


def family_of(
    stats: DatasetStatistics, degree: int, statistics: FamilyChoice = "auto"
) -> tuple[StatisticsFamily, int | None]:
    """The statistics that noisy reweighting would match, and p where they are Walsh functions on p bits."""
    if statistics not in ("auto", "walsh", "contingency"):
        raise ParameterError("statistics", statistics, "'auto', 'walsh' or 'contingency'")
    binary = stats.sizes is None or all(size == 2 for size in stats.sizes)
    if statistics == "walsh" or (statistics == "auto" and binary):
        return walsh_family(stats.p, degree), stats.p
    sizes = (2,) * stats.p if stats.sizes is None else stats.sizes
    return contingency_family(sizes, degree), None
