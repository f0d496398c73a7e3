"""What Theorems 4.1 and 4.2 of Boedihardjo, Strohmer and Vershynin (2021a) depend on, their inequalities, and the inverses.

Letters: ε, δ = ``floor`` and Δ = ``ceiling`` (bounds on m·h), γ = ``failure_probability``, d = ``degree``,
C = C(p, ≤d), m = ``reduced_space_size``, k = ``rows``, ‖f‖∞ = ``max_frequency``.

A bound is a function that gives both of its sides as logarithms. It is monotone in each parameter, so one search for a
change of sign finds the value of any parameter from which on it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.certificates import (
    EXACTLY,
    claims_theorem_4_1,
    is_degenerate,
    loss_of_a_row,
    theorem_4_1_log_cost,
)
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.solvers.contingency import walsh_dimension
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition, Group, Relation, Remedy
from dpsyn.theory.logarithms import LOG_TINY, Side, at_most, exp_of, log_of, nearest_float
from dpsyn.theory.thresholds import LARGEST_P, fewest_bits, monotone_root, p_threshold, threshold, whole_threshold

LN2 = math.log(2)
_FURTHEST = 1e9


@lru_cache(maxsize=100_000)
def log_dimension(p: int, degree: int) -> float:
    """ln C(p, ≤d)."""
    return math.log(walsh_dimension(p, degree))


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
    ``name``: of the data. ``whole_domain``: nothing is drawn, and no condition on how many points are drawn applies.
    ``cube``: every column is a bit, as far as is known; Theorem 4.1 is stated for the Boolean cube.

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
    name: str = "data"
    whole_domain: bool = False
    cube: bool = True

    @property
    def not_4_1(self) -> str:
        """Why Theorem 4.1 says nothing; empty where it applies."""
        if not self.replace_one:
            return "it is stated for replacing one record"
        return "" if self.cube else "it is stated for the Boolean cube, and not every column is a bit"

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
        return self.logs.epsilon - log_of(self._ratio_of_a_row)

    @property
    def _ratio_of_a_row(self) -> float:
        return 0.0 if self.is_valid and is_degenerate(self.floor, self.ceiling) else loss_of_a_row(self.floor, self.ceiling)

    @property
    def claims_theorem_4_1(self) -> bool:
        """Whether a release of these rows would claim Theorem 4.1, and not the bounded ratio."""
        rows = exp_of(self.log_rows)
        return not self.not_4_1 and claims_theorem_4_1(
            theorem=exp_of(self.logs.epsilon - self.logs.largest_rows_theorem_4_1),
            ratio=self._ratio_of_a_row,
            rows=round(rows) if rows < 2.0**53 else rows,
            epsilon=self.epsilon,
        )

    @property
    def success_probability(self) -> float:
        """1 - 4γ - 2^{-p/2}, with which Theorem 4.2 holds; 0 where it promises nothing."""
        return max(0.0, 1 - 4 * self.failure_probability - math.exp(-self.p * LN2 / 2))

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
        elif parameter == "p":  # so many bits
            change = {"p": round(exp_of(log_value)), "cube": True}
        else:
            change = {parameter: nearest_float(log_value)}
        return replace(self, **change)


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
    whole_domain: bool = False,
) -> PrivateSamplingSetting:
    """The setting for one dataset and one privacy specification.

    Args:
        stats: p, n, ‖f_n‖∞ of the data.
        spec: ε and the neighbours.
        degree: d, the order of the marginals.
        floor: the papers' δ, lower bound on m·h; 0 < floor < 1.
        ceiling: the papers' Δ, upper bound on m·h; ceiling > floor.
        failure_probability: γ.
        rows: k, synthetic rows.
        reduced_space_size: m; None takes the smallest m that Theorem 4.2 allows, or all of ``whole_domain``.
        whole_domain: the reduced space is every possible row: nothing is drawn.

    Raises:
        ParameterError: a value with which the formulas mean nothing.
    """
    if rows < 1:
        raise ParameterError("rows", rows, "at least 1")
    if reduced_space_size is not None and reduced_space_size < 1:
        raise ParameterError("reduced_space_size", reduced_space_size, "at least 1, or None for the smallest allowed")
    log_m = stats.log_possible_rows if whole_domain else None
    return PrivateSamplingSetting(
        **of_data(stats),
        epsilon=spec.epsilon,
        degree=degree,
        floor=floor,
        ceiling=ceiling,
        failure_probability=failure_probability,
        log_rows=math.log(rows),
        log_m=log_m if reduced_space_size is None else math.log(reduced_space_size),
        replace_one=spec.neighbouring == "replace_one",
        whole_domain=whole_domain,
    )


def of_data(stats: DatasetStatistics) -> dict[str, Any]:
    """What a setting takes from the data."""
    return {
        "name": stats.name,
        "p": stats.p,
        "log_n": math.log(stats.n),
        "log_max_frequency": math.log(stats.max_frequency),
        "cube": all(size == 2 for size in stats.sizes or ()),
    }


_PARAMETERS = (
    "rows", "epsilon", "n", "max_frequency", "reduced_space_size", "floor", "ceiling", "failure_probability",
)  # fmt: skip


@dataclass(frozen=True)
class Bound:
    """One inequality of a theorem: ``sides`` gives the logarithms of what there is and of what is required."""

    key: str
    label: str
    formula: str
    sides: Callable[[Logs], tuple[float, float]]
    relation: Relation
    source: str = "Theorem 4.2"
    group: Group = "accuracy"
    strict: bool = False
    note: str = ""

    def slack(self, logs: Logs) -> float:
        """By how much it holds (>= 0) or is missed (< 0), in the logarithm."""
        actual, required = self.sides(logs)
        return required - actual if self.relation == "<=" else actual - required

    def holds(self, logs: Logs) -> bool:
        """Whether it is met, up to the rounding of the logarithms."""
        actual, required = self.sides(logs)
        left, right = (actual, required) if self.relation == "<=" else (required, actual)
        return at_most(left, right, strict=self.strict)

    def depends_on(self, logs: Logs, parameter: str) -> bool:
        """Whether another value of the parameter could change the slack."""
        low, high = (logs.degree, LARGEST_P) if parameter == "p" else (-_FURTHEST, _FURTHEST)
        return self.slack(logs.at(parameter, low)) != self.slack(logs.at(parameter, high))

    def condition(self, setting: PrivateSamplingSetting) -> Condition:
        """The condition at a setting, with the value of every parameter from which on it holds, the rest fixed."""
        actual, required = self.sides(setting.logs)
        found = [self._remedy(setting, parameter) for parameter in _PARAMETERS] + [self._remedy_in_p(setting.logs)]
        return Condition(
            key=self.key,
            label=self.label,
            formula=self.formula,
            source=self.source,
            relation=self.relation,
            log_required=required,
            log_actual=actual,
            group=self.group,
            remedies=tuple(one for one in found if one is not None),
            strict=self.strict,
            note=self.note,
        )

    def _remedy(self, setting: PrivateSamplingSetting, parameter: str) -> Remedy | None:
        logs = setting.logs
        if getattr(logs, parameter) is None:
            return None
        found = monotone_root(lambda x: self.slack(logs.at(parameter, x)), -_FURTHEST, _FURTHEST)
        if found is None or (self.key == "rows_lower" and parameter == "failure_probability" and found[0] < LOG_TINY):
            return None  # no value matters, or every γ that a float can hold does
        return remedy(setting, parameter, found[1], found[0], strict=self.strict)

    def _remedy_in_p(self, logs: Logs) -> Remedy | None:
        if not self.depends_on(logs, "p"):
            return None
        rises = self.slack(logs._replace(p=LARGEST_P)) > self.slack(logs._replace(p=logs.degree))
        return p_threshold(
            "at_least" if rises else "at_most",
            lambda p: self.holds(logs._replace(p=p)),
            p=logs.p,
            smallest=max(logs.degree, fewest_bits(logs.max_frequency)),
        )


THEOREM_4_1 = Bound(
    "theorem_4_1",
    "Rows that Theorem 4.1 allows",
    r"k \le \frac{\varepsilon}{4\sqrt2}\left(\frac{\delta}{\Delta}\right)^{3/2}"
    r" e^{-d/2}\binom{p}{\le d}^{-1/4}\frac{\sqrt n}{m^{3/4}}",
    lambda s: (s.rows, s.largest_rows_theorem_4_1),
    "<=",
    source="Theorem 4.1",
    group="privacy",
    note=f"It holds {EXACTLY} only.",
)
ACCURACY = (
    Bound(
        "n",
        "n is large enough",
        r"n \ge 16\,\delta^{-2}\gamma^{-1}e^{2d}\binom{p}{\le d}",
        lambda s: (s.n, s.smallest_n),
        ">=",
    ),
    Bound(
        "m_lower",
        "The reduced space is large enough",
        r"m \ge 16\,\delta^{-2}\gamma^{-1}\Delta^2e^{2d}\binom{p}{\le d}",
        lambda s: (s.m, s.smallest_m),
        ">=",
    ),
    Bound("m_upper", "The reduced space is small beside the cube", r"m \le 2^{p/4}", lambda s: (s.m, s.p * LN2 / 4), "<="),
    Bound(
        "rows_lower",
        "k is large enough to be accurate",
        r"k \ge 4\,\delta^{-2}\left(\ln\frac{2}{\gamma} + \ln\binom{p}{\le d}\right)",
        lambda s: (s.rows, s.smallest_rows),
        ">=",
    ),
    Bound(
        "max_frequency",
        "No combination of values is too common",
        r"\|f\|_\infty \le \Delta/2^p",
        lambda s: (s.max_frequency, s.ceiling - s.p * LN2),
        "<=",
    ),
    # A marginal off by 1, or a success probability of 0, is what anything achieves.
    Bound(
        "promise",
        "The bound is informative (below 1)",
        r"4\delta < 1",
        lambda s: (math.log(4) + s.floor, 0.0),
        "<=",
        strict=True,
        note="Marginals lie between 0 and 1: within 1 of them is every output, also one that ignores the data.",
    ),
    Bound(
        "success",
        "The bound holds with some probability",
        r"4\gamma + 2^{-p/2} < 1",
        lambda s: (s.failure, 0.0),
        "<=",
        strict=True,
        note="The theorem succeeds with probability at least 1 − 4γ − 1/√2ᵖ.",
    ),
)
"""Theorem 4.2: with all of these, all ≤d-way marginals of the output are within 4·floor of the data's, with probability at
least 1 - 4γ - 2^{-p/2}; and that this says anything."""

SHORT_NAMES = {
    "box": "floor and ceiling",
    "m_lower": "m large enough",
    "m_upper": "m ≤ ⁴√2ᵖ",
    "n": "n",
    "rows_lower": "enough rows",
    "max_frequency": "‖f‖∞",
    "promise": "4·floor < 1",
    "success": "γ",
}
"""Of the conditions on accuracy by key, for sentences; the keys are those of :func:`missed_accuracy`."""


def missed_accuracy(setting: PrivateSamplingSetting) -> tuple[str, ...]:
    """Keys of the conditions on accuracy that fail, without their inverses; ``"box"`` where the algorithm cannot run."""
    missed = [bound.key for bound in ACCURACY if not bound.holds(setting.logs)]
    return tuple(missed if setting.is_valid else ["box", *missed])


def remedy(setting: PrivateSamplingSetting, parameter: str, side: Side, log_value: float, *, strict: bool = False) -> Remedy:
    """The threshold of one parameter; without a value, and with the reason, where the parameter cannot have it."""
    now = setting.logs.m if parameter == "reduced_space_size" else getattr(setting.logs, parameter)
    if parameter in ("n", "rows", "reduced_space_size"):
        return whole_threshold(parameter, side, log_value, now)
    reason = "" if strict else _out_of_range(setting, parameter, side, log_value)
    return threshold(parameter, side, log_value, now, reason=reason, strict=strict)


def _out_of_range(setting: PrivateSamplingSetting, parameter: str, side: Side, log_value: float) -> str:
    if parameter == "floor":
        largest = min(0.5, setting.ceiling - 1)
        if side == "at_least" and (largest <= 0 or log_value > math.log(largest)):
            return f"it would be above min(1/2, ceiling - 1) = {max(largest, 0):.4g}"
        if side == "at_most" and log_value == -math.inf:
            return "ceiling is not above 1"
    if parameter == "ceiling" and side == "at_most" and log_value < math.log(1 + setting.floor):
        return f"it would be below 1 + floor = {1 + setting.floor:.4g}"
    if parameter == "failure_probability":
        largest = -math.expm1(-setting.p * LN2 / 2) / 4
        if log_value >= math.log(largest):
            return f"at {largest:.4g} and above Theorem 4.2 promises nothing"
    if parameter == "max_frequency" and not at_most(max(-setting.log_n, -setting.p * LN2), log_value):
        return "of n rows in 2ᵖ cells, one cell has a share of at least max(1/n, 1/2ᵖ)"
    return ""
