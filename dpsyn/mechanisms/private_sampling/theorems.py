"""Private sampling: the theorems of Boedihardjo, Strohmer and Vershynin (2021a) and our certificates as one verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from dpsyn.mechanisms.private_sampling.bounds import (
    ACCURACY,
    LN2,
    THEOREM_4_1,
    PrivateSamplingSetting,
    remedy,
    sampling_setting,
)
from dpsyn.mechanisms.private_sampling.certificates import (
    EXACTLY,
    is_degenerate,
    stability_epsilon,
    whole_cube_geometry,
)
from dpsyn.privacy.spec import PrivacySpec, rounded_down, rounded_up
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import NEXT_TO_NOTHING, Condition, Headline, Remedy, Verdict, easier, judging
from dpsyn.theory.logarithms import LN10, Side, exp_of, format_log, log_of
from dpsyn.theory.thresholds import single_change, summarise

LARGEST_WHOLE_CUBE = 16
_LARGEST_N = 300 * math.log(10)
_ABOUT_DRAWING = ("m_lower", "m_upper")
"""Conditions on how many points of the cube are drawn."""


def theorem_4_1(setting: PrivateSamplingSetting) -> Condition:
    """k <= ε (δ/Δ)^{3/2} e^{-d/2} C^{-1/4} √n m^{-3/4} / (4√2): k rows are ε-DP for replacing one record of n."""
    found = THEOREM_4_1.condition(setting)
    if not setting.not_4_1:
        return found
    return replace(found, log_required=-math.inf, remedies=(), note=f"Theorem 4.1 says nothing here: {setting.not_4_1}.")


def bounded_ratio(setting: PrivateSamplingSetting) -> Condition:
    """k <= ε / ln(Δ/δ): k rows are ε-differentially private, for every n, p and m."""
    bound = setting.log_largest_rows_ratio
    free = math.isinf(bound)
    share = setting.epsilon / exp_of(setting.log_rows)
    remedies = [_or_degenerate(setting, "floor", "at_least", setting.logs.ceiling - share)]
    if not free:
        remedies = _of_a_certificate(setting, bound) + remedies
    if not free or setting.floor < 0.5:
        remedies.append(_or_degenerate(setting, "ceiling", "at_most", setting.logs.floor + share))
    return Condition(
        key="bounded_ratio",
        label="Rows that the bounded ratio allows",
        formula=r"k \le \varepsilon / \ln(\Delta/\delta)",
        source="Bounded ratio",
        group="privacy",
        relation="<=",
        log_required=bound,
        log_actual=setting.log_rows,
        remedies=tuple(remedies),
        note="The box leaves only the uniform density: perfectly private, and the output ignores the data." if free else "",
    )


def _or_degenerate(setting: PrivateSamplingSetting, parameter: str, side: Side, log_value: float) -> Remedy:
    """The threshold of the bounded ratio; beyond the degenerate end, that end, with a caveat."""
    found = remedy(setting, parameter, side, log_value)
    end = min(0.5, setting.ceiling - 1) if parameter == "floor" else 1 + setting.floor
    ahead = (end - setting.floor if parameter == "floor" else setting.ceiling - end) >= -1e-12
    if found.log_value is not None or end <= 0 or setting.floor > 0.5 or not ahead:
        return found
    return replace(found, log_value=math.log(end), reason="", caveat="the output then ignores the data")


def _of_a_certificate(setting: PrivateSamplingSetting, bound: float) -> list[Remedy]:
    """k and ε where a certificate's bound on k is linear in ε."""
    needed = setting.logs.epsilon + setting.log_rows - bound
    return [remedy(setting, "rows", "at_most", bound), remedy(setting, "epsilon", "at_least", needed)]


def privacy_condition(setting: PrivateSamplingSetting) -> Condition:
    """k is at most what the better of the two proven certificates allows."""
    first, second = theorem_4_1(setting), bounded_ratio(setting)
    best = max(first, second, key=lambda c: c.log_required)
    return replace(
        best,
        key="rows_upper",
        label="k is small enough to be private",
        formula=r"k \le \max\left(k_{\text{4.1}},\ \varepsilon/\ln(\Delta/\delta)\right)",
        remedies=easier(first, second),
        note=f"The larger of the two bounds is from: {best.source}. {best.note}".strip(),
    )


def _validity_conditions(setting: PrivateSamplingSetting) -> tuple[Condition, ...]:
    """2·floor <= 1 <= ceiling - floor: otherwise even the uniform density lies outside the LP's box."""
    gap = setting.ceiling - setting.floor
    room = setting.ceiling - 1
    lower = (remedy(setting, "floor", "at_most", log_of(room) if room > 0 else -math.inf),) if room < 1 else ()
    return (
        Condition(
            "floor", "Lower end of the linear program's box, 2·floor, leaves room for the uniform density",
            r"2\delta \le 1", "Algorithm 1, step 4", "<=",
            log_required=0.0, log_actual=math.log(2 * setting.floor), group="validity",
            remedies=(Remedy("floor", "at_most", math.log(0.5), setting.logs.floor),),
        ),
        Condition(
            "ceiling", "Upper end of its box, ceiling − floor, leaves room for the uniform density",
            r"\Delta - \delta \ge 1", "Algorithm 1, step 4", ">=",
            log_required=0.0, log_actual=0.0 if abs(gap - 1) <= 1e-12 else log_of(gap), group="validity",
            remedies=(Remedy("ceiling", "at_least", math.log(1 + setting.floor), setting.logs.ceiling), *lower),
        ),
    )  # fmt: skip


def log_stability_epsilon(setting: PrivateSamplingSetting) -> float:
    """ln of what k rows cost by the experimental bound on the whole cube; for a box that is not degenerate."""
    per_row = stability_epsilon(
        rows=1,
        floor=setting.floor,
        ceiling=setting.ceiling,
        n=round(exp_of(min(setting.log_n, _LARGEST_N))),
        geometry=whole_cube_geometry(setting.p, setting.degree),
    )
    return math.log(per_row) + setting.log_rows


def stability(setting: PrivateSamplingSetting) -> Condition | None:
    """k times the experimental, unpublished bound for one row is at most ε; only for S = the whole cube and p <= 16."""
    if (
        setting.p > LARGEST_WHOLE_CUBE
        or not setting.cube
        or not setting.is_valid
        or is_degenerate(setting.floor, setting.ceiling)
    ):
        return None
    bound = setting.logs.epsilon + setting.log_rows - log_stability_epsilon(setting)
    return Condition(
        key="stability",
        label="Rows that the experimental stability bound allows on the whole cube",
        formula=r"k \le \varepsilon / \ln\left(1 + \frac{m}{\delta}\sqrt{2\eta R}\right)",
        source="Stability (experimental)",
        group="privacy",
        relation="<=",
        log_required=bound,
        log_actual=setting.log_rows,
        remedies=tuple(_of_a_certificate(setting, bound)),
        experimental=True,
        note="Unpublished: shown for comparison, never used to certify a release. The reduced space is the whole cube.",
    )


def conditions(setting: PrivateSamplingSetting) -> tuple[Condition, ...]:
    """Every condition that a private and accurate run needs; with the whole domain nothing is drawn, so m can be any."""
    return (
        *_validity_conditions(setting),
        privacy_condition(setting),
        *(bound.condition(setting) for bound in ACCURACY if not (setting.whole_domain and bound.key in _ABOUT_DRAWING)),
    )


def private_sampling_verdict(setting: PrivateSamplingSetting) -> Verdict:
    """All conditions, the single certificates, the smallest ε for these rows and the largest k for this ε."""
    found, logs, experimental = conditions(setting), setting.logs, stability(setting)
    certificates = [theorem_4_1(setting), bounded_ratio(setting)]
    alternatives = (*certificates, *([experimental] if experimental else []))
    smallest = {c.key: _log_smallest_epsilon(setting, c) for c in alternatives}
    certified = smallest["theorem_4_1" if setting.claims_theorem_4_1 else "bounded_ratio"]
    error = 4 * setting.floor
    success = setting.success_probability
    facts = {
        "epsilon_certified": exp_of(certified),
        **{f"epsilon_{key}": exp_of(value) for key, value in smallest.items()},
        **{f"largest_rows_{c.key}": _largest_rows(c) for c in certificates},
        "dimension": round(exp_of(logs.dimension)) if logs.dimension < 53 * LN2 else exp_of(logs.dimension),
        "reduced_space_size": exp_of(logs.m),
        "log10_reduced_space_size": logs.m / LN10,
        "marginal_error": error,
        "success_probability": success,
    }
    if experimental is not None:
        facts["largest_rows_stability"] = _largest_rows(experimental)
    claim = format_log(certified, side="at_least")
    promise = (
        f"{format_log(setting.log_rows)} rows are {claim}-differentially private{_if(setting)}, and with probability at "
        f"least {rounded_down(success, 3)} their marginals of up to {setting.degree} bits are within "
        f"{rounded_up(error, 3)} of the data's"
    )
    change = single_change(found, lambda parameter, log_value: conditions(setting.changed(parameter, log_value)))
    return Verdict(
        mechanism="private_sampling",
        title="Private sampling",
        conditions=found,
        summary=summarise(found, promise, change),
        letters="δ: floor, Δ: ceiling of the density.",
        headline=_headline(setting, found, claim, success),
        change=change,
        alternatives=alternatives,
        facts=facts,
        notes=_notes(setting, error, success),
        symbols={
            r"\varepsilon": logs.epsilon,
            r"\delta": logs.floor,
            r"\Delta": logs.ceiling,
            r"\gamma": logs.failure_probability,
            r"\|f\|_\infty": logs.max_frequency,
            r"\binom{p}{\le d}": logs.dimension,
            "d": str(setting.degree),
            "p": str(setting.p),
            "n": logs.n,
            "m": logs.m,
            "k": logs.rows,
        },
    )


def _headline(setting: PrivateSamplingSetting, found: tuple[Condition, ...], claim: str, success: float) -> Headline:
    rows = f"{format_log(setting.log_rows)} row{' costs' if setting.log_rows == 0 else 's cost'}"
    if not setting.is_valid:
        return Headline("—", "Not possible: floor and ceiling leave no room for a density.", "bad")
    if not privacy_condition(setting).holds:
        return Headline(
            f"ε = {claim}",
            f"Not private at ε = {format_log(setting.logs.epsilon)}: {rows} ε = {claim}{_if(setting)}.",
            "bad",
        )
    if all(condition.holds for condition in found):
        within, likely = rounded_up(4 * setting.floor, 3), rounded_down(success, 3)
        of = f"with probability {likely} tables of {setting.degree} bits"
        if 4 * setting.floor >= NEXT_TO_NOTHING:
            return Headline.of_little(within, of, _if(setting))
        return Headline(f"± {within}", f"Private{_if(setting)}, and {of} are within {within} of the data's.", "good")
    return Headline(f"ε = {claim}", f"Private{_if(setting)}: {rows} no more than that. But no accuracy is promised.", "open")


def _if(setting: PrivateSamplingSetting) -> str:
    return f" {EXACTLY}" if setting.claims_theorem_4_1 else ""


def _log_smallest_epsilon(setting: PrivateSamplingSetting, certificate: Condition) -> float:
    """ln of the ε at which a certificate's bound on k, which is linear in ε, meets the rows asked for.

    -inf where ε = 0 is enough, inf where none is.
    """
    if math.isinf(certificate.log_required):
        return -certificate.log_required
    return setting.logs.epsilon + setting.log_rows - certificate.log_required


def _largest_rows(certificate: Condition) -> float | None:
    """The largest k for this ε: 0 where not even one row is allowed, None where any number is."""
    if certificate.log_required == math.inf:
        return None
    found = certificate.remedy("rows")
    return 0 if found is None or found.value is None else found.value


def _notes(setting: PrivateSamplingSetting, error: float, success: float) -> tuple[str, ...]:
    notes = []
    if setting.is_valid and is_degenerate(setting.floor, setting.ceiling):
        notes.append(
            "At this end of floor and ceiling only the uniform density fits: λ = 1, the output ignores the data (ε = 0)."
        )
    if error >= 1:
        notes.append(
            f"Theorem 4.2 promises marginals within 4·floor = {error:.3g}. Marginals lie between 0 and 1, so this is "
            "not informative; a floor below 1/4 is. Pierquin et al. work at the edge, floor = 1/4."
        )
    if success <= 0:
        notes.append("The success probability 1 − 4γ − 1/√2ᵖ is not positive: the theorem promises nothing.")
    if setting.log_m is None:
        notes.append("m is the smallest that Theorem 4.2 allows.")
    notes.append("Theorem 4.1 is stated for replacing one record; the ceiling must not be chosen from the data.")
    return tuple(notes)


verdict = judging(sampling_setting, private_sampling_verdict)


def of_release(
    settings: Mapping[str, Any], released: pd.DataFrame, stats: DatasetStatistics, _real: pd.DataFrame
) -> tuple[PrivacySpec, dict[str, Any], str]:
    """The ε of a release's rows, its settings as :func:`verdict` takes them (d, floor, ceiling, k, m), these in words."""
    asked = {key: settings[key] for key in ("degree", "floor", "ceiling", "reduced_space_size")}
    asked |= {"degree": min(asked["degree"], stats.p), "rows": len(released)}
    asked["whole_domain"] = bool(settings.get("whole_domain"))
    words = f"d = {asked['degree']}, floor {asked['floor']:g}, ceiling {asked['ceiling']:g}, k = {asked['rows']:,}"
    spec, spent = PrivacySpec(**settings["requested"]), settings.get("epsilon_for_histograms", 0.0)
    if spent:
        words += f", ε = {rounded_up(spent, 4)} for histograms of numbers and dates, which leaves the rows the rest"
    return replace(spec, epsilon=spec.epsilon - spent), asked, words
