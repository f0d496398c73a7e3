"""Conditions of private sampling that are products of powers of the parameters, and their exact inverses.

The slack ln(required/actual) of such a condition is linear in the logarithm of each parameter, so the value that makes it
true is one division away; p enters through C(p, ≤d) and is found by bisection, because C is monotone in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.theory.conditions import Condition, Group, Relation, Remedy
from dpsyn.theory.logarithms import Side, at_most
from dpsyn.theory.thresholds import p_threshold, threshold, whole_threshold

LN2 = math.log(2)

# Exponents of the parameters in required/actual, turned so that a larger slack is better. A condition is monotone in each.
_EXPONENTS: dict[str, dict[str, float]] = {
    "theorem_4_1": {"rows": -1, "epsilon": 1, "n": 0.5, "reduced_space_size": -0.75, "floor": 1.5, "ceiling": -1.5},
    "n": {"n": 1, "floor": 2, "failure_probability": 1},
    "m_lower": {"reduced_space_size": 1, "floor": 2, "ceiling": -2, "failure_probability": 1},
    "m_upper": {"reduced_space_size": -1},
    "rows_lower": {"rows": 1, "floor": 2},
    "max_frequency": {"max_frequency": -1, "ceiling": 1},
}
# With m at its lower bound ∝ (Δ/δ)²/γ, floor, ceiling and γ act through m as well.
_EXPONENTS_FREE_M: dict[str, dict[str, float]] = {
    **_EXPONENTS,
    "theorem_4_1": {"rows": -1, "epsilon": 1, "n": 0.5, "floor": 3, "ceiling": -3, "failure_probability": 0.75},
    "m_lower": {},
    "m_upper": {"floor": 2, "ceiling": -2, "failure_probability": 1},
}
_P_SIDE: dict[str, Side] = {
    "theorem_4_1": "at_most",
    "n": "at_most",
    "m_lower": "at_most",
    "m_upper": "at_least",
    "rows_lower": "at_most",
    "max_frequency": "at_most",
}


def power_law(
    setting: PrivateSamplingSetting,
    key: str,
    *,
    label: str,
    formula: str,
    source: str,
    group: Group,
    relation: Relation,
    sides: Callable[[PrivateSamplingSetting], tuple[float, float]],
) -> Condition:
    """A condition whose slack ln(required) - ln(actual) is linear in the logarithm of each parameter but p."""
    actual, required = sides(setting)
    slack = required - actual if relation == "<=" else actual - required
    exponents = (_EXPONENTS_FREE_M if setting.log_m is None else _EXPONENTS)[key]
    remedies = []
    for parameter, exponent in exponents.items():
        log_value = _log_of_parameter(setting, parameter) - slack / exponent
        remedies.append(remedy(setting, parameter, "at_least" if exponent > 0 else "at_most", log_value))

    def holds(p: int) -> bool:
        left, right = sides(replace(setting, p=p))
        return at_most(left, right) if relation == "<=" else at_most(right, left)

    if not (key == "m_lower" and setting.log_m is None):
        remedies.append(p_threshold(_P_SIDE[key], holds, p=setting.p, smallest=setting.degree))
    return Condition(key, label, formula, source, relation, required, actual, group, tuple(remedies))


def _log_of_parameter(setting: PrivateSamplingSetting, parameter: str) -> float:
    logs = {
        "n": setting.log_n,
        "rows": setting.log_rows,
        "max_frequency": setting.log_max_frequency,
        "reduced_space_size": setting.log_reduced_space,
    }
    return logs[parameter] if parameter in logs else math.log(getattr(setting, parameter))


def remedy(setting: PrivateSamplingSetting, parameter: str, side: Side, log_value: float) -> Remedy:
    now = _log_of_parameter(setting, parameter)
    if parameter in ("n", "rows", "reduced_space_size"):
        return whole_threshold(parameter, side, log_value, now)
    return threshold(parameter, side, log_value, now, reason=_out_of_range(setting, parameter, side, log_value))


def or_degenerate(setting: PrivateSamplingSetting, parameter: str, side: Side, log_value: float) -> Remedy:
    """The threshold of the bounded ratio; beyond the degenerate end, that end, with a caveat."""
    found = remedy(setting, parameter, side, log_value)
    end = min(0.5, setting.ceiling - 1) if parameter == "floor" else 1 + setting.floor
    if found.log_value is not None or end <= 0 or setting.floor > 0.5:
        return found
    return replace(found, log_value=math.log(end), reason="", caveat="the output then ignores the data")


def log_largest_failure_probability(p: int) -> float:
    """ln of (1 - 2^{-p/2})/4, the γ at which Theorem 4.2's probability of success, 1 - 4γ - 2^{-p/2}, is 0."""
    return math.log(-math.expm1(-p * LN2 / 2)) - math.log(4)


def _out_of_range(setting: PrivateSamplingSetting, parameter: str, side: Side, log_value: float) -> str:
    if parameter == "floor":
        largest = min(0.5, setting.ceiling - 1)
        if side == "at_least" and (largest <= 0 or log_value > math.log(largest)):
            return f"it would be above min(1/2, ceiling - 1) = {max(largest, 0):.4g}"
        if side == "at_most" and log_value == -math.inf:
            return "ceiling is not above 1"
    if parameter == "ceiling" and side == "at_most" and log_value < math.log(1 + setting.floor):
        return f"it would be below 1 + floor = {1 + setting.floor:.4g}"
    if parameter == "failure_probability" and log_value >= log_largest_failure_probability(setting.p):
        largest = math.exp(log_largest_failure_probability(setting.p))
        return f"at {largest:.4g} and above Theorem 4.2 promises nothing"
    if parameter == "max_frequency" and not at_most(max(-setting.log_n, -setting.p * LN2), log_value):
        return "of n rows in 2ᵖ cells, one cell has a share of at least max(1/n, 1/2ᵖ)"
    return ""
