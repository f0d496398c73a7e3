"""The inequalities of Theorems 4.1 and 4.2 of Boedihardjo, Strohmer and Vershynin (2021a), and their inverses.

Letters: ε, δ = ``floor`` and Δ = ``ceiling`` (bounds on m·h), γ = ``failure_probability``, d = ``degree``,
C = C(p, ≤d), m = ``reduced_space_size``, k = ``rows``, ‖f‖∞ = ``max_frequency``.

A bound is a function that gives both of its sides as logarithms. It is monotone in each parameter, so one search for a
change of sign finds the value of any parameter from which on it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpsyn.mechanisms.private_sampling.setting import LN2, Logs, PrivateSamplingSetting
from dpsyn.theory.conditions import Condition, Group, Relation, Remedy
from dpsyn.theory.logarithms import LOG_TINY, Side, at_most
from dpsyn.theory.thresholds import LARGEST_P, monotone_root, p_threshold, threshold, whole_threshold

_FURTHEST = 1e9
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
            smallest=logs.degree,
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
)
ACCURACY = (
    Bound(
        "n",
        "Enough rows of data",
        r"n \ge 16\,\delta^{-2}\gamma^{-1}e^{2d}\binom{p}{\le d}",
        lambda s: (s.n, s.smallest_n),
        ">=",
    ),
    Bound(
        "m_lower",
        "Reduced space large enough",
        r"m \ge 16\,\delta^{-2}\gamma^{-1}\Delta^2e^{2d}\binom{p}{\le d}",
        lambda s: (s.m, s.smallest_m),
        ">=",
    ),
    Bound("m_upper", "Reduced space small beside the cube", r"m \le 2^{p/4}", lambda s: (s.m, s.p * LN2 / 4), "<="),
    Bound(
        "rows_lower",
        "Enough synthetic rows to be accurate",
        r"k \ge 4\,\delta^{-2}\left(\ln\frac{2}{\gamma} + \ln\binom{p}{\le d}\right)",
        lambda s: (s.rows, s.smallest_rows),
        ">=",
    ),
    Bound(
        "max_frequency",
        "No row of the data too frequent",
        r"\|f\|_\infty \le \Delta/2^p",
        lambda s: (s.max_frequency, s.ceiling - s.p * LN2),
        "<=",
    ),
    # A marginal off by 1, or a success probability of 0, is what anything achieves.
    Bound(
        "promise",
        "The promise says something",
        r"4\delta < 1",
        lambda s: (math.log(4) + s.floor, 0.0),
        "<=",
        strict=True,
        note="Marginals lie between 0 and 1: within 1 of them is every output, also one that ignores the data.",
    ),
    Bound(
        "success",
        "The promise may come true",
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
