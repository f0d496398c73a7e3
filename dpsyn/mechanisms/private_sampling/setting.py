"""What Theorems 4.1 and 4.2 of Boedihardjo, Strohmer and Vershynin (2021a) depend on, and their bounds in logarithms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.statistics import DatasetStatistics


@dataclass(frozen=True)
class PrivateSamplingSetting:
    """Everything that the two theorems depend on; n, ‖f‖∞, k and m as natural logarithms.

    ``log_m`` None: m is the smallest that Theorem 4.2 allows, and follows p, floor, ceiling and γ.
    ``replace_one``: Theorem 4.1 holds for replacing one record only, the bounded ratio for any pair of datasets.

    Raises:
        ParameterError: a value outside the range in which the formulas mean something. floor and ceiling only need
            0 < floor < ceiling here: whether the box is usable is a condition of the verdict.
    """

    p: int
    log_n: float
    log_max_frequency: float
    epsilon: float
    degree: int = 2
    floor: float = 0.25
    ceiling: float = 2.0
    failure_probability: float = 0.125
    log_rows: float = 0.0
    log_m: float | None = None
    replace_one: bool = True

    def __post_init__(self) -> None:
        if self.p < 1:
            raise ParameterError("p", self.p, "at least 1 bit")
        if not 1 <= self.degree <= self.p:
            raise ParameterError("degree", self.degree, f"a whole number from 1 to p = {self.p}")
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError("epsilon", self.epsilon, "a finite number > 0")
        if not (math.isfinite(self.floor) and 0 < self.floor < 1):
            raise ParameterError("floor", self.floor, "0 < floor < 1; the algorithm needs floor <= 1/2")
        if not (math.isfinite(self.ceiling) and self.ceiling > self.floor):
            raise ParameterError(
                "ceiling", self.ceiling, "a finite number > floor; the algorithm needs ceiling >= 1 + floor"
            )
        if not 0 < self.failure_probability < 1:
            raise ParameterError("failure_probability", self.failure_probability, "0 < failure_probability < 1")

    @property
    def log_dimension(self) -> float:
        """ln C(p, ≤d)."""
        return log_dimension(self.p, self.degree)

    @property
    def log_smallest_m(self) -> float:
        """ln of 16 δ^{-2} γ^{-1} Δ² e^{2d} C, Theorem 4.2."""
        return self.log_smallest_n + 2 * math.log(self.ceiling)

    @property
    def log_smallest_n(self) -> float:
        """ln of 16 δ^{-2} γ^{-1} e^{2d} C, Theorem 4.2."""
        constant = math.log(16) - 2 * math.log(self.floor) - math.log(self.failure_probability)
        return constant + 2 * self.degree + self.log_dimension

    @property
    def log_reduced_space(self) -> float:
        """ln m."""
        return self.log_smallest_m if self.log_m is None else self.log_m

    @property
    def log_smallest_rows(self) -> float:
        """ln of 4 δ^{-2} (ln(2/γ) + ln C), Theorem 4.2."""
        return math.log(4) - 2 * math.log(self.floor) + math.log(math.log(2 / self.failure_probability) + self.log_dimension)

    @property
    def log_largest_rows_theorem_4_1(self) -> float:
        """ln of ε (δ/Δ)^{3/2} e^{-d/2} C^{-1/4} √n m^{-3/4} / (4√2), Theorem 4.1: the real number that k must not exceed."""
        return (
            math.log(self.epsilon)
            + 1.5 * (math.log(self.floor) - math.log(self.ceiling))
            - self.degree / 2
            - self.log_dimension / 4
            + self.log_n / 2
            - 0.75 * self.log_reduced_space
            - math.log(4 * math.sqrt(2))
        )

    @property
    def log_largest_rows_ratio(self) -> float:
        """ln of ε / ln(Δ/δ), the bounded-ratio certificate; inf at the degenerate ends, which ignore the data."""
        if self.is_valid and is_degenerate(self.floor, self.ceiling):
            return math.inf
        return math.log(self.epsilon) - math.log(math.log(self.ceiling / self.floor))

    @property
    def is_valid(self) -> bool:
        """2·floor <= 1 <= ceiling - floor."""
        return self.floor <= 0.5 and self.ceiling - self.floor >= 1 - 1e-12


def sampling_setting(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    floor: float = 0.25,
    ceiling: float = 2.0,
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
) -> PrivateSamplingSetting:
    """The setting for one dataset and one privacy specification; arguments as in :func:`dpsyn.feasibility`."""
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1")
    if reduced_space_size is not None and reduced_space_size < 1:
        raise ParameterError("reduced_space_size", reduced_space_size, "at least 1, or None for the smallest allowed")
    return PrivateSamplingSetting(
        p=stats.p,
        log_n=math.log(stats.n),
        log_max_frequency=math.log(stats.max_frequency),
        epsilon=spec.epsilon,
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        failure_probability=failure_probability,
        log_rows=math.log(rows),
        log_m=None if reduced_space_size is None else math.log(reduced_space_size),
        replace_one=spec.neighbouring == "replace_one",
    )


@lru_cache(maxsize=100_000)
def log_dimension(p: int, degree: int) -> float:
    """ln C(p, ≤d)."""
    return math.log(walsh_dimension(p, degree))
