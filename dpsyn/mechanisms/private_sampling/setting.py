"""What Theorems 4.1 and 4.2 of Boedihardjo, Strohmer and Vershynin (2021a) depend on, and their bounds in logarithms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypedDict, Unpack

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate, theorem_4_1_log_cost
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import exp_of, log_of, nearest_float

LN2 = math.log(2)


class Logs(NamedTuple):
    """A setting with all parameters but p and d as natural logarithms, of any size; what the theorems are computed from.

    ``reduced_space_size`` None: m is the smallest that Theorem 4.2 allows, and follows p, floor, ceiling and γ.
    """

    p: int
    degree: int
    n: float
    max_frequency: float
    epsilon: float
    floor: float
    ceiling: float
    failure_probability: float
    rows: float
    reduced_space_size: float | None

    def at(self, parameter: str, value: float) -> Logs:
        """With one parameter changed."""
        change: dict[str, Any] = {parameter: value}
        return self._replace(**change)

    @property
    def dimension(self) -> float:
        """ln C(p, ≤d)."""
        return log_dimension(self.p, self.degree)

    @property
    def smallest_n(self) -> float:
        """ln of 16 δ^{-2} γ^{-1} e^{2d} C, Theorem 4.2."""
        return math.log(16) - 2 * self.floor - self.failure_probability + 2 * self.degree + self.dimension

    @property
    def smallest_m(self) -> float:
        """ln of 16 δ^{-2} γ^{-1} Δ² e^{2d} C, Theorem 4.2."""
        return self.smallest_n + 2 * self.ceiling

    @property
    def m(self) -> float:
        """ln m."""
        return self.smallest_m if self.reduced_space_size is None else self.reduced_space_size

    @property
    def smallest_rows(self) -> float:
        """ln of 4 δ^{-2} (ln(2/γ) + ln C), Theorem 4.2; -inf where γ is so large that any k does."""
        return math.log(4) - 2 * self.floor + log_of(max(0.0, LN2 - self.failure_probability + self.dimension))

    @property
    def largest_rows_theorem_4_1(self) -> float:
        """ln of ε (δ/Δ)^{3/2} e^{-d/2} C^{-1/4} √n m^{-3/4} / (4√2), Theorem 4.1: the real number that k must not exceed."""
        return self.epsilon - theorem_4_1_log_cost(
            log_ratio=self.ceiling - self.floor,
            degree=self.degree,
            log_dimension=self.dimension,
            log_m=self.m,
            log_n=self.n,
        )

    @property
    def failure(self) -> float:
        """ln of 4γ + 2^{-p/2}, the probability with which Theorem 4.2 may fail."""
        return log_of(4 * exp_of(self.failure_probability) + math.exp(-self.p * LN2 / 2))


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

    @cached_property
    def logs(self) -> Logs:
        """All parameters as natural logarithms, with the theorems' bounds."""
        return Logs(
            p=self.p,
            degree=self.degree,
            n=self.log_n,
            max_frequency=self.log_max_frequency,
            epsilon=math.log(self.epsilon),
            floor=math.log(self.floor),
            ceiling=math.log(self.ceiling),
            failure_probability=math.log(self.failure_probability),
            rows=self.log_rows,
            reduced_space_size=self.log_m,
        )

    @property
    def log_largest_rows_ratio(self) -> float:
        """ln of ε / ln(Δ/δ), the bounded-ratio certificate; inf at the degenerate ends, which ignore the data."""
        if self.is_valid and is_degenerate(self.floor, self.ceiling):
            return math.inf
        return self.logs.epsilon - math.log(math.log(self.ceiling / self.floor))

    @property
    def is_valid(self) -> bool:
        """2·floor <= 1 <= ceiling - floor."""
        return self.floor <= 0.5 and self.ceiling - self.floor >= 1 - 1e-12

    def changed(self, parameter: str, log_value: float) -> PrivateSamplingSetting:
        """With one parameter changed; a value that a float cannot hold becomes the nearest one that it can."""
        change: dict[str, Any]
        if parameter in ("n", "rows", "max_frequency"):
            change = {f"log_{parameter}": log_value}
        elif parameter == "reduced_space_size":
            change = {"log_m": log_value}
        else:
            change = {parameter: round(exp_of(log_value)) if parameter == "p" else nearest_float(log_value)}
        return replace(self, **change)


class Bounds(TypedDict, total=False):
    """The parameters of :func:`sampling_setting` beside the data and the privacy asked for."""

    degree: int
    floor: float
    ceiling: float
    failure_probability: float
    rows: int
    reduced_space_size: int | None


def sampling_setting(stats: DatasetStatistics, spec: PrivacySpec, **bounds: Unpack[Bounds]) -> PrivateSamplingSetting:
    """The setting for one dataset and one privacy specification; bounds as in :func:`dpsyn.feasibility`."""
    named: dict[str, Any] = {**bounds}
    rows, m = named.pop("rows", 1), named.pop("reduced_space_size", None)
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1")
    if m is not None and m < 1:
        raise ParameterError("reduced_space_size", m, "at least 1, or None for the smallest allowed")
    return PrivateSamplingSetting(
        p=stats.p,
        log_n=math.log(stats.n),
        log_max_frequency=math.log(stats.max_frequency),
        epsilon=spec.epsilon,
        log_rows=math.log(rows),
        log_m=None if m is None else math.log(m),
        replace_one=spec.neighbouring == "replace_one",
        **named,
    )


@lru_cache(maxsize=100_000)
def log_dimension(p: int, degree: int) -> float:
    """ln C(p, ≤d)."""
    return math.log(walsh_dimension(p, degree))
