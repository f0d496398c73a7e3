"""Accuracy of private sampling: Theorem 4.2 of Boedihardjo, Strohmer and Vershynin (2021a), and whether it says anything.

With probability at least 1 - 4γ - 2^{-p/2} all marginals of up to d bits are within 4δ of the data's (δ = ``floor``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dpsyn.mechanisms.private_sampling.power_law import LN2, log_largest_failure_probability, power_law, remedy
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting
from dpsyn.theory.conditions import Condition, Relation
from dpsyn.theory.logarithms import LOG_TINY, at_most, exp_of
from dpsyn.theory.thresholds import p_threshold, threshold

_Sides = Callable[[PrivateSamplingSetting], tuple[float, float]]
_THEOREM_4_2: tuple[tuple[str, str, str, Relation, _Sides], ...] = (
    (
        "n",
        "Enough rows of data",
        r"n \ge 16\,\delta^{-2}\gamma^{-1}e^{2d}\binom{p}{\le d}",
        ">=",
        lambda s: (s.log_n, s.log_smallest_n),
    ),
    (
        "m_lower",
        "Reduced space large enough",
        r"m \ge 16\,\delta^{-2}\gamma^{-1}\Delta^2e^{2d}\binom{p}{\le d}",
        ">=",
        lambda s: (s.log_reduced_space, s.log_smallest_m),
    ),
    (
        "m_upper",
        "Reduced space small beside the cube",
        r"m \le 2^{p/4}",
        "<=",
        lambda s: (s.log_reduced_space, s.p * LN2 / 4),
    ),
    (
        "rows_lower",
        "Enough synthetic rows to be accurate",
        r"k \ge 4\,\delta^{-2}\left(\ln\frac{2}{\gamma} + \ln\binom{p}{\le d}\right)",
        ">=",
        lambda s: (s.log_rows, s.log_smallest_rows),
    ),
    (
        "max_frequency",
        "No row of the data too frequent",
        r"\|f\|_\infty \le \Delta/2^p",
        "<=",
        lambda s: (s.log_max_frequency, math.log(s.ceiling) - s.p * LN2),
    ),
)


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
"""Of the conditions below by key, for sentences; the keys are those of :func:`missed_accuracy`."""


def theorem_4_2(setting: PrivateSamplingSetting) -> tuple[Condition, ...]:
    """The conditions of Theorem 4.2: with them all ≤d-way marginals of the output are within 4·floor of the data's."""
    found = []
    for key, label, formula, how, sides in _THEOREM_4_2:
        one = power_law(
            setting,
            key,
            label=label,
            formula=formula,
            source="Theorem 4.2",
            group="accuracy",
            relation=how,
            sides=sides,
        )
        found.append(_with_failure_probability(setting, one) if key == "rows_lower" else one)
    return tuple(found)


def _with_failure_probability(setting: PrivateSamplingSetting, condition: Condition) -> Condition:
    """k >= 4 δ^{-2} (ln(2/γ) + ln C) turned round: γ >= 2C·exp(-k δ²/4); nothing where every γ of a float does."""
    log_gamma = LN2 + setting.log_dimension - exp_of(setting.log_rows) * setting.floor**2 / 4
    if log_gamma < LOG_TINY:
        return condition
    return replace(condition, remedies=(*condition.remedies, remedy(setting, "failure_probability", "at_least", log_gamma)))


def missed_accuracy(setting: PrivateSamplingSetting) -> tuple[str, ...]:
    """Keys of the conditions here that fail, without their inverses; ``"box"`` where the algorithm cannot run at all."""
    missed = [] if setting.is_valid else ["box"]
    for key, _, _, how, sides in _THEOREM_4_2:
        left, right = sides(setting) if how == "<=" else reversed(sides(setting))
        if not at_most(left, right):
            missed.append(key)
    if not at_most(math.log(4 * setting.floor), 0.0, strict=True):
        missed.append("promise")
    if not at_most(_log_failure(setting, setting.p), 0.0, strict=True):
        missed.append("success")
    return tuple(missed)


def _log_failure(setting: PrivateSamplingSetting, p: int) -> float:
    return math.log(4 * setting.failure_probability + math.exp(-p * LN2 / 2))


def promise_conditions(setting: PrivateSamplingSetting) -> tuple[Condition, ...]:
    """4·floor < 1 and 4γ + 2^{-p/2} < 1: a marginal off by 1, or a success probability of 0, is what anything achieves."""
    log_floor, log_gamma = math.log(setting.floor), math.log(setting.failure_probability)
    return (
        Condition(
            key="promise",
            label="The promise says something",
            formula=r"4\delta < 1",
            source="Theorem 4.2",
            relation="<=",
            log_required=0.0,
            log_actual=math.log(4 * setting.floor),
            remedies=(threshold("floor", "at_most", -math.log(4), log_floor, strict=True),),
            strict=True,
            note="Marginals lie between 0 and 1: within 1 of them is every output, also one that ignores the data.",
        ),
        Condition(
            key="success",
            label="The promise may come true",
            formula=r"4\gamma + 2^{-p/2} < 1",
            source="Theorem 4.2",
            relation="<=",
            log_required=0.0,
            log_actual=_log_failure(setting, setting.p),
            remedies=(
                threshold(
                    "failure_probability", "at_most", log_largest_failure_probability(setting.p), log_gamma, strict=True
                ),
                p_threshold("at_least", lambda p: _log_failure(setting, p) < -1e-13, p=setting.p, smallest=setting.degree),
            ),
            strict=True,
            note="The theorem succeeds with probability at least 1 − 4γ − 1/√2ᵖ.",
        ),
    )
