"""What Theorems 2.2 and 2.3 of Boedihardjo, Strohmer and Vershynin (2021b) depend on; the condition number κ among it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from dpsyn.domain import Codes
from dpsyn.errors import ParameterError
from dpsyn.privacy.sensitivity import contingency_count_l1, walsh_sum_l1
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.solvers.contingency import contingency_cells, walsh_dimension
from dpsyn.statistics import DatasetStatistics, row_keys
from dpsyn.theory.logarithms import exp_of

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
        exact = walsh_sum_l1 if self.name == "walsh" else contingency_count_l1
        return math.log(exact(self.columns, self.degree))

    @property
    def log_l2(self) -> float:
        """ln of the exact L2 sensitivity of the same: 2√N as signs flip, √(2·C(q, d)) as counts move by 1."""
        return (self.log_l1 + (LN2 if self.name == "walsh" else 0.0)) / 2

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


def family_of(stats: DatasetStatistics, degree: int, statistics: FamilyChoice = "auto") -> StatisticsFamily:
    """The statistics that noisy reweighting would match."""
    if statistics not in ("auto", "walsh", "contingency"):
        raise ParameterError("statistics", statistics, "'auto', 'walsh' or 'contingency'")
    binary = stats.sizes is None or all(size == 2 for size in stats.sizes)
    if statistics == "walsh" or (statistics == "auto" and binary):
        return walsh_family(stats.p, degree)
    sizes = (2,) * stats.p if stats.sizes is None else stats.sizes
    return contingency_family(sizes, degree)


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
        doubles_with_p: K is the bound N·‖f_n‖∞, in which N is 2^p where there are p bits.
        log_max_frequency: ln ‖f_n‖∞, which stays as it is where p changes, and which fewer bits must allow.
        noise: ``"laplace"`` (the paper's) or ``"gaussian"``.
        corrected: exact sensitivities and Hoeffding, or the theorems as published.
        n_is_public: the mechanism divides by n; under add/remove neighbours n is a secret.
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
    doubles_with_p: bool = False
    log_max_frequency: float = 0.0
    noise: Noise = "laplace"
    corrected: bool = True
    n_is_public: bool = True

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
    def success_probability(self) -> float:
        """1 - 4γ, with which Theorem 2.3 holds; 0 where it promises nothing."""
        return max(0.0, 1 - 4 * self.failure_probability)

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
    def rho(self) -> float:
        """zCDP of Gaussian noise that gives (ε, δ)."""
        return zcdp_rho(self.epsilon, self.delta)

    @property
    def log_sum_scale(self) -> float:
        """ln of n·σ: the noise scale of a sum, Laplace L1/ε or Gaussian L2/√(2ρ)."""
        if self.noise == "gaussian":
            return self.log_sensitivity - 0.5 * math.log(2 * self.rho)
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
    def log_rows_at_smallest(self) -> float:
        """ln of the k that Theorem 2.3 asks for at that accuracy."""
        return self.log_sampling - 2 * self.log_smallest_accuracy

    @property
    def smallest_accuracy(self) -> float:
        """The same as a number; Theorem 2.3 promises 8 times it."""
        return exp_of(self.log_smallest_accuracy)


def log_condition_number_bound(log_max_frequency: float, log_points: float) -> float:
    """ln of N·‖f‖∞ >= κ for a uniform measure on N points: κ = N Σ f(x)² <= N·‖f‖∞ Σ f(x)."""
    return max(0.0, log_points + log_max_frequency)


def reweighting_setting(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    floor: float = 0.25,
    accuracy: float | None = None,
    statistics: FamilyChoice = "auto",
    noise: Noise = "laplace",
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
    condition_number: float | None = None,
) -> ReweightingSetting:
    """The setting for one dataset and one privacy specification.

    Args:
        stats: p, n, ‖f_n‖∞ of the data.
        spec: ε, δ and the neighbours.
        degree: d, the order of the marginals.
        floor: of private sampling, which promises 4·floor; it matters only where there is no ``accuracy``.
        accuracy: the papers' α; Theorem 2.3 promises 8·accuracy. None takes floor/2: the promise of private sampling.
        statistics: what is matched; ``"auto"``: Walsh functions where all columns have two values (or the columns are not
            known), contingency tables elsewhere.
        noise: Laplace as in the paper, or Gaussian (needs δ > 0).
        failure_probability: γ.
        rows: k, synthetic rows.
        reduced_space_size: m; None takes the smallest m that Theorem 2.3 allows.
        condition_number: K >= κ; None takes the bound N·‖f_n‖∞ for the uniform measure on N possible rows.

    Raises:
        ParameterError: a value with which the formulas mean nothing.
    """
    if not 1 <= degree <= stats.p:
        raise ParameterError("degree", degree, f"a whole number from 1 to p = {stats.p}")
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1")
    if reduced_space_size is not None and reduced_space_size < 1:
        raise ParameterError("reduced_space_size", reduced_space_size, "at least 1, or None for the smallest allowed")
    if condition_number is not None and not 1 <= condition_number < math.inf:
        raise ParameterError("condition_number", condition_number, "a finite number >= 1")
    log_points = stats.p * LN2 if stats.sizes is None else math.log(math.prod(stats.sizes))
    log_max_frequency = math.log(stats.max_frequency)
    bound = log_condition_number_bound(log_max_frequency, log_points)
    return ReweightingSetting(
        family=family_of(stats, degree, statistics),
        log_n=math.log(stats.n),
        epsilon=spec.epsilon,
        delta=spec.delta,
        accuracy=floor / 2 if accuracy is None else accuracy,
        failure_probability=failure_probability,
        log_rows=math.log(rows),
        log_m=None if reduced_space_size is None else math.log(reduced_space_size),
        log_condition_number=bound if condition_number is None else math.log(condition_number),
        doubles_with_p=condition_number is None,
        log_max_frequency=log_max_frequency,
        noise=noise,
        n_is_public=spec.neighbouring == "replace_one",
    )


def log_condition_number(
    codes: Codes, sizes: Sequence[int], log_points: float | None = None, *, unbiased: bool = True
) -> float:
    """ln κ against the uniform measure on N points that the rows embed into, or the product of their own one-way marginals.

    Private: it reads the rows.

    Args:
        codes: encoded rows, shape (n, number of columns).
        sizes: number of codes of each column.
        log_points: ln N (the cube: p ln 2; valid rows: the sum of the logarithms of the sizes); None takes the marginals.
        unbiased: estimate κ of the population that the rows were drawn from, Σ_x c(c-1)/(n(n-1)) / μ(x) for counts c, at
            least 1; else κ of the rows themselves, Σ_x (c/n)² / μ(x), which is larger by about Σ (c/n)/(n μ).

    Raises:
        ParameterError: there are no rows, or only one where an unbiased estimate needs two.
    """
    n = len(codes)
    if n < 1 + unbiased:
        raise ParameterError("codes", f"{n} rows", "at least two for an unbiased estimate, else one")
    _, first, times = np.unique(row_keys(codes, sizes), return_index=True, return_counts=True)
    counts = times.astype(np.float64)
    log_weights = np.full(len(counts), log_points or 0.0)
    if log_points is None:
        for j, size in enumerate(sizes):
            marginal = np.bincount(codes[:, j], minlength=size) / n
            log_weights -= np.log(marginal[codes[first, j]])
    pairs = counts * (counts - 1) / (n * (n - 1)) if unbiased else (counts / n) ** 2
    largest = float(log_weights.max())
    total = float(np.sum(pairs * np.exp(log_weights - largest)))
    return max(0.0, largest + math.log(total)) if total > 0 else 0.0


@dataclass(frozen=True)
class ConditionNumberRow:
    """κ(ν‖μ) for one measure μ. Every row reads the private data: for teaching, never for a release.

    Attributes:
        measure: μ in words.
        log_value: ln κ.
        kind: ``"bound"`` N·‖f_n‖∞ >= κ, ``"population"`` unbiased estimate, or ``"rows"``, κ of the rows themselves.
    """

    measure: str
    log_value: float
    kind: Literal["bound", "population", "rows"]


def condition_number_table(stats: DatasetStatistics, codes: Codes | None = None) -> tuple[ConditionNumberRow, ...]:
    """κ against the uniform measure on the cube and on valid rows, and against the product of the one-way marginals.

    Args:
        stats: p, ‖f_n‖∞ and the sizes of the columns.
        codes: encoded rows, shape (n, number of columns); None gives the two bounds only.

    Raises:
        ParameterError: codes that do not fit the sizes.
    """
    uniform = {"uniform on the cube": stats.p * LN2}
    if stats.sizes is not None:
        uniform["uniform on valid rows"] = math.log(math.prod(stats.sizes))
    rows = [
        ConditionNumberRow(measure, log_condition_number_bound(math.log(stats.max_frequency), log_points), "bound")
        for measure, log_points in uniform.items()
    ]
    if stats.sizes is None or codes is None:
        return tuple(rows)
    if codes.ndim != 2 or codes.shape[1] != len(stats.sizes):
        raise ParameterError("codes", f"shape {codes.shape}", f"shape (n, {len(stats.sizes)})")
    kinds: tuple[tuple[Literal["population", "rows"], bool], ...] = (("population", True), ("rows", False))
    for kind, unbiased in kinds:
        if unbiased and len(codes) < 2:
            continue
        for measure, log_points in (*uniform.items(), ("product of the one-way marginals", None)):
            rows.append(
                ConditionNumberRow(measure, log_condition_number(codes, stats.sizes, log_points, unbiased=unbiased), kind)
            )
    return tuple(rows)
