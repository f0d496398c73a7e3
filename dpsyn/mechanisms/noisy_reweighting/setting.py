"""What Theorems 2.2 and 2.3 of Boedihardjo, Strohmer and Vershynin (2021b) depend on, and what they ask of six variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.condition_number import log_condition_number_bound
from dpsyn.privacy.sensitivity import changed_walsh_functions, contingency_count_l1, contingency_count_l2
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.contingency import contingency_cells, walsh_dimension
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.logarithms import exp_of, format_log

LN2 = math.log(2)
Noise = Literal["laplace", "gaussian"]
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
def contingency_family(sizes: tuple[int, ...], degree: int) -> StatisticsFamily:
    """All cells of all d-way tables over columns of these sizes, and the constant. d is cut to the number of columns."""
    if degree < 1:
        raise ParameterError("degree", degree, "at least 1")
    return StatisticsFamily("contingency", len(sizes), degree, contingency_cells(sizes, degree) + 1)


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


@dataclass(frozen=True)
class ReweightingSetting:
    """Everything that Theorems 2.2 and 2.3 depend on; n, k, m and κ as natural logarithms.

    Args:
        family: F.
        log_n: ln n.
        epsilon, delta: the privacy asked for; δ matters for Gaussian noise only.
        accuracy: the papers' δ.
        failure_probability: γ.
        log_rows: ln k.
        log_m: ln m; None takes the smallest m that Theorem 2.3 allows.
        log_condition_number: ln of K >= κ(ν‖μ).
        noise: ``"laplace"`` (the paper's) or ``"gaussian"``.
        corrected: exact sensitivities and Hoeffding, or the theorems as published.
        n_is_public: the mechanism divides by n; under add/remove neighbours n is a secret.
        bits: p where the family is Walsh on p bits and p may be varied.
    """

    family: StatisticsFamily
    log_n: float
    epsilon: float
    accuracy: float
    failure_probability: float = 0.125
    delta: float = 0.0
    log_rows: float = 0.0
    log_m: float | None = None
    log_condition_number: float = 0.0
    noise: Noise = "laplace"
    corrected: bool = True
    n_is_public: bool = True
    bits: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError("epsilon", self.epsilon, "a finite number > 0")
        if not (math.isfinite(self.accuracy) and self.accuracy > 0):
            raise ParameterError("accuracy", self.accuracy, "a finite number > 0; Theorem 2.3 needs accuracy <= 1/2")
        if not 0 < self.failure_probability < 1:
            raise ParameterError("failure_probability", self.failure_probability, "0 < failure_probability < 1")
        if self.noise not in ("laplace", "gaussian"):
            raise ParameterError("noise", self.noise, "'laplace' or 'gaussian'")
        if self.noise == "gaussian" and not 0 < self.delta < 1:
            raise ParameterError("delta", self.delta, "0 < delta < 1: Gaussian noise gives no pure differential privacy")

    @property
    def log_size_over_gamma(self) -> float:
        """ln(|F|/γ)."""
        return self.family.log_size - math.log(self.failure_probability)

    @property
    def log_sensitivity(self) -> float:
        """ln of the sensitivity of the sums that the noise is made for: L1 for Laplace, L2 for Gaussian; 2|F| published."""
        if self.noise == "gaussian":
            return self.family.log_l2
        return self.family.log_l1 if self.corrected else self.family.log_l1_published

    @property
    def log_sum_scale(self) -> float:
        """ln of n·σ: the noise scale of a sum, Laplace L1/ε or Gaussian L2/√(2ρ)."""
        if self.noise == "gaussian":
            return self.log_sensitivity - 0.5 * math.log(2 * zcdp_rho(self.epsilon, self.delta))
        return self.log_sensitivity - math.log(self.epsilon)

    @property
    def log_sigma(self) -> float:
        """ln σ, the noise scale of an average: the smallest that is private."""
        return self.log_sum_scale - self.log_n

    @property
    def log_spread(self) -> float:
        """ln of the factor t with P(some |noise| > t·σ) <= γ: ln(|F|/γ) for Laplace, √(2 ln(2|F|/γ)) for Gaussian."""
        if self.noise == "gaussian":
            return 0.5 * math.log(2 * (LN2 + self.log_size_over_gamma))
        return math.log(self.log_size_over_gamma)

    @property
    def log_n_for_noise(self) -> float:
        """ln of the n at which the noise stays below the accuracy: Theorem 2.2."""
        return self.log_sum_scale + self.log_spread - math.log(self.accuracy)

    @property
    def log_sampling(self) -> float:
        """ln of min(n, k) in Theorem 2.3 times accuracy²: ln(|F|/γ) as published, 2 ln(2|F|/γ) by Hoeffding."""
        return math.log(2 * (LN2 + self.log_size_over_gamma) if self.corrected else self.log_size_over_gamma)

    @property
    def log_smallest_rows(self) -> float:
        """ln of the n and the k that represent the population at this accuracy: Theorem 2.3."""
        return self.log_sampling - 2 * math.log(self.accuracy)

    @property
    def log_smallest_m(self) -> float:
        """ln of accuracy^{-2} K |F| / γ: Theorem 2.3."""
        return self.log_condition_number + self.log_size_over_gamma - 2 * math.log(self.accuracy)

    @property
    def log_reduced_space(self) -> float:
        """ln m."""
        return self.log_smallest_m if self.log_m is None else self.log_m

    @property
    def log_smallest_accuracy(self) -> float:
        """ln of the smallest accuracy that the conditions on n allow: max(n·σ·t/n, √(sampling/n))."""
        return max(self.log_sigma + self.log_spread, (self.log_sampling - self.log_n) / 2)

    @property
    def smallest_accuracy(self) -> float:
        """The same as a number; Theorem 2.3 promises 8 times it."""
        return exp_of(self.log_smallest_accuracy)


def reweighting_setting(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    accuracy: float = 0.125,
    statistics: FamilyChoice = "auto",
    noise: Noise = "laplace",
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
    condition_number: float | None = None,
) -> ReweightingSetting:
    """The setting for one dataset and one privacy specification; arguments as in :func:`dpsyn.feasibility`."""
    if not 1 <= degree <= stats.p:
        raise ParameterError("degree", degree, f"a whole number from 1 to p = {stats.p}")
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1")
    if reduced_space_size is not None and reduced_space_size < 1:
        raise ParameterError("reduced_space_size", reduced_space_size, "at least 1, or None for the smallest allowed")
    if condition_number is not None and not 1 <= condition_number < math.inf:
        raise ParameterError("condition_number", condition_number, "a finite number >= 1")
    family, bits = family_of(stats, degree, statistics)
    log_points = stats.p * LN2 if stats.sizes is None else math.log(math.prod(stats.sizes))
    bound = log_condition_number_bound(stats.max_frequency, log_points)
    return ReweightingSetting(
        family=family,
        log_n=math.log(stats.n),
        epsilon=spec.epsilon,
        delta=spec.delta,
        accuracy=accuracy,
        failure_probability=failure_probability,
        log_rows=math.log(rows),
        log_m=None if reduced_space_size is None else math.log(reduced_space_size),
        log_condition_number=bound if condition_number is None else math.log(condition_number),
        noise=noise,
        n_is_public=spec.neighbouring == "replace_one",
        bits=bits,
    )


Variant = tuple[FamilyName, Noise, bool]
VARIANTS: tuple[Variant, ...] = (
    ("walsh", "laplace", True),
    ("walsh", "gaussian", True),
    ("contingency", "laplace", True),
    ("contingency", "gaussian", True),
    ("walsh", "laplace", False),
    ("contingency", "laplace", False),
)
"""Statistics, noise, corrected. The papers have no Gaussian noise, so there is nothing published to set beside it."""

_STATISTICS: dict[FamilyName, str] = {"walsh": "Walsh", "contingency": "tables"}
_NOISES: dict[Noise, str] = {"laplace": "Laplace", "gaussian": "Gaussian"}


@dataclass(frozen=True)
class ReweightingRow:
    """What Theorems 2.2 and 2.3 say about one variant.

    Attributes:
        variant: statistics, noise, corrected.
        setting: its numbers: |F|, sensitivity, noise scale, smallest accuracy, and the n, k and m that are required.
        reason: why most of them mean nothing: Gaussian noise without a privacy δ. The setting is with Laplace noise then.
    """

    variant: Variant
    setting: ReweightingSetting
    reason: str = ""

    @property
    def name(self) -> str:
        """For a legend: ``"Walsh, Laplace"``, ``"tables, Laplace, published"``."""
        statistics, noise, corrected = self.variant
        return f"{_STATISTICS[statistics]}, {_NOISES[noise]}{'' if corrected else ', published'}"

    @property
    def log_n(self) -> float:
        """ln of the smallest n that the theorems ask for at the accuracy asked for."""
        return max(self.setting.log_n_for_noise, self.setting.log_smallest_rows)

    @property
    def smallest_error(self) -> float:
        """8·accuracy at the smallest accuracy; NaN where there is a reason. Ignoring the data achieves 1 as well."""
        return math.nan if self.reason else 8 * self.setting.smallest_accuracy


def reweighting_table(
    stats: DatasetStatistics, spec: PrivacySpec, *, accuracy: float = 0.1, **settings: Any
) -> tuple[ReweightingRow, ...]:
    """σ, the smallest accuracy, and the n, k and m required, for each of VARIANTS.

    Corrected rows use exact sensitivities and Hoeffding's tail; published ones 2|F|/n and exp(-α²n), which is false.

    Args:
        stats: the data; the tables are over its columns, or over its bits where they are not known.
        spec: ε, and δ for the Gaussian rows.
        accuracy: α at which n, k and m are required; the promise is 8α.
        settings: as for :func:`reweighting_setting`, but for statistics and noise.
    """
    table = []
    for variant in VARIANTS:
        statistics, noise, corrected = variant
        missing = noise == "gaussian" and not spec.delta > 0
        usable: Noise = "laplace" if missing else noise
        setting = reweighting_setting(stats, spec, accuracy=accuracy, statistics=statistics, noise=usable, **settings)
        reason = "Gaussian noise needs a privacy δ above 0" if missing else ""
        table.append(ReweightingRow(variant, replace(setting, corrected=corrected), reason))
    return tuple(table)


def reweighting_frame(table: Sequence[ReweightingRow]) -> pd.DataFrame:
    """The table as text, ready to show."""

    def shown(row: ReweightingRow, log_value: float) -> str:
        return "—" if row.reason else format_log(log_value, 3, "at_least")

    return pd.DataFrame(
        {
            "Statistics and noise": [row.name for row in table],
            "|F|": [format_log(row.setting.family.log_size) for row in table],
            "Sensitivity of the averages": [shown(row, row.setting.log_sensitivity - row.setting.log_n) for row in table],
            "σ": [shown(row, row.setting.log_sigma) for row in table],
            "Smallest 8·accuracy": [shown(row, math.log(8) + row.setting.log_smallest_accuracy) for row in table],
            "Says something": [row.reason or ("yes" if row.smallest_error < 1 else "no") for row in table],
            "n at least": [shown(row, row.log_n) for row in table],
            "k at least": [shown(row, row.setting.log_smallest_rows) for row in table],
            "m at least": [format_log(row.setting.log_smallest_m, 3, "at_least") for row in table],
        }
    )
