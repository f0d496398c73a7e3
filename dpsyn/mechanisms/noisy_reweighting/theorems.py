"""Noisy reweighting: Theorems 2.2 and 2.3 of Boedihardjo, Strohmer and Vershynin (2021b), as published and corrected.

Published: L1 sensitivity 2|F|, and Lemma 3.2's tail exp(-a²n), which is false (fair ±1, n = 100, a = 0.2: the probability
is 0.0352, the bound says 0.0183). Corrected: the family's exact sensitivity, and Hoeffding's 2·exp(-a²n/2).

``accuracy`` is the papers' δ: the promise is that all statistics of the output are within 8·accuracy of the data's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from dpsyn.errors import InputError
from dpsyn.mechanisms.noisy_reweighting.setting import (
    LN2,
    ReweightingSetting,
    log_condition_number_bound,
    reweighting_setting,
    walsh_family,
)
from dpsyn.notation import counted, short
from dpsyn.privacy.spec import PrivacySpec, rounded_down, rounded_up
from dpsyn.privacy.zcdp import zcdp_epsilon
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import NEXT_TO_NOTHING, Condition, Headline, Remedy, Verdict, judging
from dpsyn.theory.logarithms import LOG_TINY, at_most, exp_of, format_log, log_of, nearest_float
from dpsyn.theory.thresholds import fewest_bits, p_threshold, single_change, summarise, threshold, whole_threshold

_LARGEST_ACCURACY = 0.5
_Sides = Callable[[ReweightingSetting], tuple[float, float]]
"""ln of what there is and of what is required."""


def conditions(setting: ReweightingSetting) -> tuple[Condition, ...]:
    """Theorem 2.2 and Theorem 2.3, each condition with its inverses."""
    log_a = math.log(setting.accuracy)
    log_gamma = math.log(setting.failure_probability)
    sensitivity = (
        r"\Delta_2\sqrt{\ln(2|F|/\gamma)/\rho}" if setting.noise == "gaussian"
        else r"\Delta_1\ln(|F|/\gamma)/\varepsilon" if setting.corrected
        else r"2|F|\ln(|F|/\gamma)/\varepsilon"
    )  # fmt: skip
    tail = r"2\alpha^{-2}\ln(2|F|/\gamma)" if setting.corrected else r"\alpha^{-2}\ln(|F|/\gamma)"
    fixed = " (corrected)" if setting.corrected else " (as published)"
    free = {"epsilon": 1.0} if setting.noise == "laplace" else {}
    at_n: dict[str, float] = {"n": 1, "accuracy": 1, **free}
    found = [
        _at_least(setting, "n_noise", "n is large enough for the noise to be small", rf"n \ge {sensitivity}/\alpha",
                  "Theorem 2.2" + fixed, at_n, lambda s: (s.log_n, s.log_n_for_noise)),
        _at_least(setting, "n_sampling", "n is large enough to represent the population", rf"n \ge {tail}",
                  "Theorem 2.3" + fixed, {"n": 1, "accuracy": 2},
                  lambda s: (s.log_n, s.log_smallest_rows)),
        _at_least(setting, "rows_lower", "k is large enough to be accurate", rf"k \ge {tail}",
                  "Theorem 2.3" + fixed, {"rows": 1, "accuracy": 2},
                  lambda s: (s.log_rows, s.log_smallest_rows)),
        _at_least(setting, "m_lower", "The reduced space is large enough", r"m \ge \alpha^{-2}K|F|/\gamma",
                  "Theorem 2.3", {} if setting.log_m is None else {"reduced_space_size": 1, "accuracy": 2},
                  lambda s: (s.log_reduced_space, s.log_smallest_m)),
        Condition("accuracy", "The accuracy is small enough for the theorem", r"\alpha \le 1/2", "Theorem 2.3", "<=",
                  math.log(_LARGEST_ACCURACY), log_a, "validity",
                  (threshold("accuracy", "at_most", math.log(_LARGEST_ACCURACY), log_a),)),
        Condition("failure_probability", "The failure probability is small enough for the theorem", r"\gamma < 1/4",
                  "Theorem 2.3", "<=", math.log(0.25), log_gamma, "validity",
                  (threshold("failure_probability", "at_most", math.log(0.25), log_gamma, strict=True),), strict=True),
        Condition("promise", "The bound is informative (below 1)", r"8\alpha < 1", "Theorem 2.3", "<=",
                  0.0, math.log(8) + log_a, "accuracy",
                  (threshold("accuracy", "at_most", -math.log(8), log_a, strict=True),), strict=True,
                  note="Statistics lie in [-1, 1]: the uniform distribution, which ignores the data, has no Walsh "
                  "function and no table's cell off by more than 1."),
    ]  # fmt: skip
    if not setting.n_is_public:
        found.append(
            Condition("public_n", "The number of rows is public", "replace-one neighbours", "Theorem 2.2", ">=",
                      0.0, -math.inf, "validity",
                      note="The statistics are averages over n rows; under adding or removing a row n is a secret. "
                      "Ask for replace-one neighbours.")
        )  # fmt: skip
    return tuple(found)


def _at_least(
    setting: ReweightingSetting,
    key: str,
    label: str,
    formula: str,
    source: str,
    exponents: dict[str, float],
    sides: _Sides,
) -> Condition:
    """actual ≥ required, with the value of every parameter at which it begins to hold.

    ``exponents``: actual/required grows with this power of the parameter.
    """
    actual, required = sides(setting)
    slack = actual - required
    remedies: list[Remedy] = []
    for parameter, exponent in exponents.items():
        now = _log_of_parameter(setting, parameter)
        value = now - slack / exponent
        if parameter in ("n", "rows", "reduced_space_size"):
            remedies.append(whole_threshold(parameter, "at_least", value, now))
        else:
            beyond = parameter == "accuracy" and value > math.log(_LARGEST_ACCURACY)
            reason = f"it would be {format_log(value)}, above the 1/2 that Theorem 2.3 needs" if beyond else ""
            remedies.append(threshold(parameter, "at_least", value, now, reason=reason))
    log_gamma = _log_failure_probability(setting, key) if exponents else -math.inf
    if log_gamma >= LOG_TINY:
        reason = "at 1/4 and above Theorem 2.3 does not apply" if log_gamma >= math.log(0.25) else ""
        now = math.log(setting.failure_probability)
        remedies.append(threshold("failure_probability", "at_least", log_gamma, now, reason=reason))
    if key == "n_noise" and setting.noise == "gaussian":
        remedies += _epsilon_for_gaussian(setting, slack)
    p, degree = setting.family.columns, setting.family.degree
    # Beyond d = 2 the exact sensitivity of Walsh functions takes too long at millions of bits.
    if setting.family.name == "walsh" and exponents and (key != "n_noise" or degree <= 2):
        smallest = max(degree, fewest_bits(setting.log_max_frequency))
        remedies.append(p_threshold("at_most", lambda p: _holds_at(setting, p, sides), p=p, smallest=smallest))
    return Condition(key, label, formula, source, ">=", required, actual, "accuracy", tuple(remedies))


def _log_failure_probability(setting: ReweightingSetting, key: str) -> float:
    """ln of the γ at which a condition begins to hold: each bounds ln(|F|/γ), or |F|/γ itself where it is about m."""
    log_size, log_a = setting.family.log_size, math.log(setting.accuracy)
    if key == "m_lower":
        return setting.log_condition_number + log_size - 2 * log_a - setting.log_reduced_space
    if key == "n_noise":
        log_times = setting.log_n + log_a - setting.log_sum_scale
        return log_size + LN2 - exp_of(2 * log_times) / 2 if setting.noise == "gaussian" else log_size - exp_of(log_times)
    budget = exp_of((setting.log_n if key == "n_sampling" else setting.log_rows) + 2 * log_a)
    return log_size + LN2 - budget / 2 if setting.corrected else log_size - budget


def _holds_at(setting: ReweightingSetting, p: int, sides: _Sides) -> bool:
    left, right = sides(changed(setting, "p", math.log(p)))
    return at_most(right, left)


def _epsilon_for_gaussian(setting: ReweightingSetting, slack: float) -> list[Remedy]:
    """ρ has to grow by e^{-2·slack}; ε is the smallest at which that ρ-zCDP is (ε, δ)-DP. Nothing where every ε > 0 is."""
    now = math.log(setting.epsilon)
    rho = setting.rho * exp_of(-2 * slack)
    if not math.isfinite(rho):
        return [Remedy("epsilon", "at_least", None, now, reason="it would be too large for a number")]
    needed = zcdp_epsilon(rho, setting.delta)
    return [Remedy("epsilon", "at_least", math.log(needed) + 1e-9, now)] if needed else []


def _log_of_parameter(setting: ReweightingSetting, parameter: str) -> float:
    logs = {"n": setting.log_n, "rows": setting.log_rows, "reduced_space_size": setting.log_reduced_space}
    return logs[parameter] if parameter in logs else math.log(getattr(setting, parameter))


def changed(setting: ReweightingSetting, parameter: str, log_value: float) -> ReweightingSetting:
    """The setting with one parameter changed; a value that a float cannot hold becomes the nearest one that it can."""
    change: dict[str, Any]
    if parameter in ("n", "rows"):
        change = {f"log_{parameter}": log_value}
    elif parameter == "reduced_space_size":
        change = {"log_m": log_value}
    elif parameter == "p":
        p = round(exp_of(log_value))
        change = {"family": walsh_family(p, setting.family.degree)}
        if setting.doubles_with_p:
            change["log_condition_number"] = log_condition_number_bound(setting.log_max_frequency, p * LN2)
    else:
        change = {parameter: nearest_float(log_value)}
    return replace(setting, **change)


def noisy_reweighting_verdict(setting: ReweightingSetting) -> Verdict:
    """The corrected conditions, the published ones beside them, noise scales and smallest accuracies."""
    corrected = replace(setting, corrected=True)
    published = replace(setting, corrected=False, noise="laplace")
    found = conditions(corrected)
    error = 8 * setting.accuracy
    success = setting.success_probability
    family = setting.family
    facts = {
        "statistics": family.name,
        "noise": setting.noise,
        "number_of_statistics": float(family.size) if family.size < 2**53 else exp_of(family.log_size),
        "sensitivity_l1": exp_of(family.log_l1),
        "sensitivity_l2": exp_of(family.log_l2),
        "sensitivity_l1_published": exp_of(family.log_l1_published),
        "sigma": exp_of(corrected.log_sigma),
        "sigma_published": exp_of(published.log_sigma),
        "accuracy": setting.accuracy,
        "statistic_error": error,
        "smallest_accuracy": corrected.smallest_accuracy,
        "smallest_accuracy_published": published.smallest_accuracy,
        "smallest_error": 8 * corrected.smallest_accuracy,
        "smallest_error_published": 8 * published.smallest_accuracy,
        "condition_number": exp_of(setting.log_condition_number),
        "log10_condition_number": setting.log_condition_number / math.log(10),
        "reduced_space_size": exp_of(corrected.log_reduced_space),
        "success_probability": success,
    }
    scale = format_log(corrected.log_sigma, side="at_least")
    promise = (
        f"with noise of scale {scale} the statistics are ({_privacy(setting)})-private, and with "
        f"probability at least {rounded_down(success, 3)} those of {format_log(setting.log_rows)} rows are within "
        f"{rounded_up(error, 3)} of the true"
    )
    beside = tuple(replace(c, key=f"{c.key}_published") for c in conditions(published) if "published" in c.source)
    change = single_change(found, lambda parameter, log_value: conditions(changed(corrected, parameter, log_value)))
    return Verdict(
        mechanism="noisy_reweighting",
        title="Noisy reweighting",
        conditions=found,
        summary=summarise(found, promise, change),
        headline=_headline(corrected, found),
        change=change,
        alternatives=beside,
        facts=facts,
        notes=_notes(setting, error),
        symbols={
            r"\Delta_1": family.log_l1,
            r"\Delta_2": family.log_l2,
            r"\varepsilon": math.log(setting.epsilon),
            r"\gamma": math.log(setting.failure_probability),
            r"\alpha": math.log(setting.accuracy),
            "|F|": family.log_size,
            "K": setting.log_condition_number,
            "n": setting.log_n,
            "m": setting.log_reduced_space,
            "k": setting.log_rows,
            **({r"\rho": math.log(setting.rho)} if setting.noise == "gaussian" else {}),
        },
    )


def _headline(setting: ReweightingSetting, found: tuple[Condition, ...]) -> Headline:
    """The error that is promised at the accuracy asked for, or else the smallest that could be."""
    if not all(c.holds for c in found if c.group == "validity" and c.key == "public_n"):
        return Headline("no promise", "Private, but the theorem on the error needs replace-one neighbours.", "open")
    degree = setting.family.degree
    likely = f"with probability {rounded_down(setting.success_probability, 3)}"
    of = f"statistic of {counted(degree, 'column')}"
    if all(c.holds for c in found):
        within = rounded_up(8 * setting.accuracy, 3)
        if 8 * setting.accuracy >= NEXT_TO_NOTHING:
            return Headline.of_little(within, f"{likely} every {of}")
        return Headline(f"± {within}", f"Private, and {likely} every {of} is within {within} of the data's.", "good")
    thresholds = [
        remedy for c in found if c.key != "promise" and (remedy := c.remedy("accuracy")) and remedy.side == "at_least"
    ]
    values = [remedy.value for remedy in thresholds]
    smallest = math.inf if None in values else 8 * max(value for value in values if value is not None)
    if not all(c.holds for c in found if c.key == "failure_probability"):
        smallest = math.inf
    if smallest < 1 and (within := rounded_up(smallest, 3)) != "1":
        promise = "promise little" if smallest >= NEXT_TO_NOTHING else "promise"
        return Headline(f"± {within}", f"Private. A theorem would {promise}: {likely} every {of} within {within}.", "open")
    with_ = f"{setting.noise.capitalize()} noise and {counted(round(exp_of(setting.log_rows)), 'row')}"
    return Headline("no promise", f"Private, but with {with_} no bound below 1 on the error of a {of}.", "open")


def _privacy(setting: ReweightingSetting) -> str:
    pure = f"ε = {format_log(log_of(setting.epsilon), side='at_least')}"
    return pure if setting.noise == "laplace" else f"{pure}, δ = {short(setting.delta)}"


def _notes(setting: ReweightingSetting, error: float) -> tuple[str, ...]:
    notes = [
        f"Theorem 2.3 promises every statistic, a number in [-1, 1], within 8·accuracy = {error:.3g}"
        + (", which is not informative: ignoring the data is as close." if error >= 1 else "."),
        "As published, Theorem 2.3 rests on the tail bound exp(-a²n), which is false; the verdict uses Hoeffding's.",
        "Privacy alone needs only the noise: any number of rows drawn from the fitted density is equally private.",
    ]
    if setting.log_m is None:
        notes.append("m is the smallest that Theorem 2.3 allows.")
    return tuple(notes)


verdict = judging(reweighting_setting, noisy_reweighting_verdict)


def of_release(
    settings: Mapping[str, Any], released: pd.DataFrame, stats: DatasetStatistics, _real: pd.DataFrame
) -> tuple[PrivacySpec, dict[str, Any], str]:
    """A release's ε and δ, its settings as :func:`verdict` takes them (d, statistics, noise, k, m), and these in words.

    The theorems' accuracy, which no release has, stays at 1/8.

    Raises:
        InputError: the theorems say nothing of its statistics.
    """
    family = settings["statistics"]
    if family not in ("walsh", "contingency") or settings.get("tables") is not None:
        raise InputError("the theorems are about Walsh functions or all tables of d columns, and this release took others")
    asked = {
        "degree": min(settings["degree"], stats.p),
        "statistics": family,
        "noise": "gaussian" if settings["noise"] == "gaussian" else "laplace",
        # Of the whole domain nothing is drawn, so its size need not be large.
        "reduced_space_size": None if settings["reduced_space"] == "whole" else settings["reduced_space_size"],
        "rows": len(released),
    }
    words = (
        f"d = {asked['degree']}, k = {asked['rows']:,}, {asked['noise'].capitalize()} noise that has all of the budget, "
        "accuracy 1/8 in the theorem"
    )
    return PrivacySpec(**settings["requested"]), asked, words
