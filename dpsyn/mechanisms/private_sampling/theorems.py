"""Private sampling: Theorems 4.1 and 4.2 of Boedihardjo, Strohmer and Vershynin (2021a) as conditions, and their inverses.

Letters: ε, δ = ``floor`` and Δ = ``ceiling`` (bounds on m·h), γ = ``failure_probability``, d = ``degree``,
C = C(p, ≤d), m = ``reduced_space_size``, k = ``rows``, ‖f‖∞ = ``max_frequency``.

Theorem 4.2 is in :mod:`accuracy`. Most conditions are products of powers of the parameters, so their
inverse in one parameter is one division in logarithms; p is found by bisection, because C is monotone in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from dpsyn.mechanisms.private_sampling.accuracy import promise_conditions, theorem_4_2
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate, stability_epsilon, whole_cube_geometry
from dpsyn.mechanisms.private_sampling.power_law import LN2, or_degenerate, power_law, remedy
from dpsyn.mechanisms.private_sampling.setting import PrivateSamplingSetting, sampling_setting
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition, Remedy, Verdict, easier
from dpsyn.theory.filled import latex_number
from dpsyn.theory.logarithms import LN10, exp_of, format_log, log_of, nearest_float
from dpsyn.theory.summary import summarise

LARGEST_WHOLE_CUBE = 16


def theorem_4_1(setting: PrivateSamplingSetting) -> Condition:
    """k <= ε (δ/Δ)^{3/2} e^{-d/2} C^{-1/4} √n m^{-3/4} / (4√2): k rows are ε-DP for replacing one record of n."""
    found = power_law(
        setting,
        "theorem_4_1",
        label="Rows that Theorem 4.1 allows",
        formula=r"k \le \frac{\varepsilon}{4\sqrt2}\left(\frac{\delta}{\Delta}\right)^{3/2}"
        r" e^{-d/2}\binom{p}{\le d}^{-1/4}\frac{\sqrt n}{m^{3/4}}",
        source="Theorem 4.1",
        group="privacy",
        relation="<=",
        sides=lambda s: (s.log_rows, s.log_largest_rows_theorem_4_1),
    )
    if setting.replace_one:
        return found
    why = "Theorem 4.1 is stated for replacing one record; it says nothing about adding or removing one."
    return replace(found, log_required=-math.inf, remedies=(), note=why)


def bounded_ratio(setting: PrivateSamplingSetting) -> Condition:
    """k <= ε / ln(Δ/δ): k rows are ε-differentially private, for every n, p and m."""
    bound = setting.log_largest_rows_ratio
    free = math.isinf(bound)
    per_row = math.log(setting.ceiling / setting.floor)
    share = setting.epsilon / exp_of(setting.log_rows)
    remedies = [or_degenerate(setting, "floor", "at_least", math.log(setting.ceiling) - share)]
    if not free:
        remedies = [
            remedy(setting, "rows", "at_most", bound),
            remedy(setting, "epsilon", "at_least", setting.log_rows + math.log(per_row)),
            *remedies,
        ]
    if not free or setting.floor < 0.5:
        remedies.append(or_degenerate(setting, "ceiling", "at_most", math.log(setting.floor) + share))
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


def privacy_condition(setting: PrivateSamplingSetting) -> Condition:
    """k is at most what the better of the two proven certificates allows."""
    first, second = theorem_4_1(setting), bounded_ratio(setting)
    best = max(first, second, key=lambda c: c.log_required)
    return replace(
        best,
        key="rows_upper",
        label="Few enough rows to be private",
        formula=r"k \le \max\left(k_{\text{4.1}},\ \varepsilon/\ln(\Delta/\delta)\right)",
        remedies=easier(first, second),
        note=f"The larger of the two bounds is from: {best.source}. {best.note}".strip(),
    )


def validity_conditions(setting: PrivateSamplingSetting) -> tuple[Condition, ...]:
    """2·floor <= 1 <= ceiling - floor: otherwise even the uniform density lies outside the LP's box."""
    gap = setting.ceiling - setting.floor
    room = setting.ceiling - 1
    lower = (remedy(setting, "floor", "at_most", log_of(room) if room > 0 else -math.inf),) if room < 1 else ()
    return (
        Condition(
            "floor", "Lower end of the linear program's box, 2·floor, leaves room for the uniform density",
            r"2\delta \le 1", "Algorithm 1, step 4", "<=",
            log_required=0.0, log_actual=math.log(2 * setting.floor), group="validity",
            remedies=(Remedy("floor", "at_most", math.log(0.5), math.log(setting.floor)),),
        ),
        Condition(
            "ceiling", "Upper end of its box, ceiling − floor, leaves room for the uniform density",
            r"\Delta - \delta \ge 1", "Algorithm 1, step 4", ">=",
            log_required=0.0, log_actual=0.0 if abs(gap - 1) <= 1e-12 else log_of(gap), group="validity",
            remedies=(Remedy("ceiling", "at_least", math.log(1 + setting.floor), math.log(setting.ceiling)), *lower),
        ),
    )  # fmt: skip


def stability(setting: PrivateSamplingSetting) -> Condition | None:
    """k times the experimental, unpublished bound for one row is at most ε; only for S = the whole cube and p <= 16."""
    if setting.p > LARGEST_WHOLE_CUBE or not setting.is_valid or is_degenerate(setting.floor, setting.ceiling):
        return None
    per_row = stability_epsilon(
        rows=1,
        floor=setting.floor,
        ceiling=setting.ceiling,
        n=round(exp_of(setting.log_n)),
        geometry=whole_cube_geometry(setting.p, setting.degree),
    )
    bound = math.log(setting.epsilon) - math.log(per_row)
    return Condition(
        key="stability",
        label="Rows that the experimental stability bound allows on the whole cube",
        formula=r"k \le \varepsilon / \ln\left(1 + \frac{m}{\delta}\sqrt{2\eta R}\right)",
        source="Stability (experimental)",
        group="privacy",
        relation="<=",
        log_required=bound,
        log_actual=setting.log_rows,
        remedies=(
            remedy(setting, "rows", "at_most", bound),
            remedy(setting, "epsilon", "at_least", setting.log_rows + math.log(per_row)),
        ),
        experimental=True,
        note="Unpublished: shown for comparison, never used to certify a release. The reduced space is the whole cube.",
    )


def conditions(setting: PrivateSamplingSetting) -> tuple[Condition, ...]:
    """Every condition that a private and accurate run needs."""
    return (
        *validity_conditions(setting),
        privacy_condition(setting),
        *theorem_4_2(setting),
        *promise_conditions(setting),
    )


def private_sampling_verdict(setting: PrivateSamplingSetting) -> Verdict:
    """All conditions, the single certificates, the smallest ε for these rows and the largest k for this ε."""
    found = conditions(setting)
    certificates = [theorem_4_1(setting), bounded_ratio(setting)]
    experimental = stability(setting)
    smallest = {c.key: log_smallest_epsilon(setting, c) for c in (*certificates, *([experimental] if experimental else []))}
    certified = min(smallest["theorem_4_1"], smallest["bounded_ratio"])
    error = 4 * setting.floor
    success = 1 - 4 * setting.failure_probability - math.exp(-setting.p * LN2 / 2)
    facts = {
        "epsilon_certified": exp_of(certified),
        **{f"epsilon_{key}": exp_of(value) for key, value in smallest.items()},
        **{f"largest_rows_{c.key}": _largest_rows(c) for c in certificates},
        "dimension": round(exp_of(setting.log_dimension))
        if setting.log_dimension < 53 * LN2
        else exp_of(setting.log_dimension),
        "reduced_space_size": exp_of(setting.log_reduced_space),
        "log10_reduced_space_size": setting.log_reduced_space / LN10,
        "marginal_error": error,
        "success_probability": max(success, 0.0),
    }
    if experimental is not None:
        facts["largest_rows_stability"] = _largest_rows(experimental)
    claim = format_log(certified, side="at_least")
    promise = (
        f"{format_log(setting.log_rows)} rows are {claim}-differentially private, and with probability at "
        f"least {max(success, 0):.3g} their marginals of up to {setting.degree} bits are within {error:.3g} of the data's"
    )
    return Verdict(
        mechanism="private_sampling",
        title="Private sampling",
        conditions=found,
        summary=summarise(found, promise, lambda parameter, log_value: conditions(changed(setting, parameter, log_value))),
        alternatives=(*certificates, *([experimental] if experimental else [])),
        facts=facts,
        notes=_notes(setting, error, success),
        symbols=_symbols(setting),
    )


def _symbols(setting: PrivateSamplingSetting) -> dict[str, str]:
    return {
        r"\varepsilon": latex_number(math.log(setting.epsilon)),
        r"\delta": latex_number(math.log(setting.floor)),
        r"\Delta": latex_number(math.log(setting.ceiling)),
        r"\gamma": latex_number(math.log(setting.failure_probability)),
        r"\|f\|_\infty": latex_number(setting.log_max_frequency),
        r"\binom{p}{\le d}": latex_number(setting.log_dimension),
        "d": str(setting.degree),
        "p": str(setting.p),
        "n": latex_number(setting.log_n),
        "m": latex_number(setting.log_reduced_space),
        "k": latex_number(setting.log_rows),
    }


def log_smallest_epsilon(setting: PrivateSamplingSetting, certificate: Condition) -> float:
    """ln of the ε at which a certificate's bound on k, which is linear in ε, meets the rows asked for.

    -inf where ε = 0 is enough, inf where none is.
    """
    if math.isinf(certificate.log_required):
        return -certificate.log_required
    return math.log(setting.epsilon) + setting.log_rows - certificate.log_required


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
            f"Theorem 4.2 promises marginals within 4·floor = {error:.3g}. Marginals lie between 0 and 1, so this says "
            "nothing; a floor below 1/4 says something. Pierquin et al. work at the edge, floor = 1/4."
        )
    if success <= 0:
        notes.append("The success probability 1 − 4γ − 1/√2ᵖ is not positive: the theorem promises nothing.")
    if setting.log_m is None:
        notes.append("m is the smallest that Theorem 4.2 allows.")
    notes.append("Theorem 4.1 is stated for replacing one record; the ceiling must not be chosen from the data.")
    return tuple(notes)


def changed(setting: PrivateSamplingSetting, parameter: str, log_value: float) -> PrivateSamplingSetting:
    """The setting with one parameter changed; a value that a float cannot hold becomes the nearest one that it can."""
    change: dict[str, Any]
    if parameter in ("n", "rows", "max_frequency"):
        change = {f"log_{parameter}": log_value}
    elif parameter == "reduced_space_size":
        change = {"log_m": log_value}
    else:
        change = {parameter: round(exp_of(log_value)) if parameter == "p" else nearest_float(log_value)}
    return replace(setting, **change)


def verdict(
    stats: DatasetStatistics,
    spec: PrivacySpec,
    *,
    degree: int = 2,
    floor: float = 0.25,
    ceiling: float = 2.0,
    failure_probability: float = 0.125,
    rows: int = 1,
    reduced_space_size: int | None = None,
) -> Verdict:
    """The verdict on private sampling for one dataset.

    Args:
        stats: p, n, ‖f_n‖∞ of the data.
        spec: ε and the neighbours.
        degree: d, the order of the marginals.
        floor: the papers' δ, lower bound on m·h; 0 < floor < 1.
        ceiling: the papers' Δ, upper bound on m·h; ceiling > floor.
        failure_probability: γ.
        rows: k, synthetic rows.
        reduced_space_size: m; None takes the smallest m that Theorem 4.2 allows.
    """
    return private_sampling_verdict(
        sampling_setting(
            stats,
            spec,
            degree=degree,
            floor=floor,
            ceiling=ceiling,
            failure_probability=failure_probability,
            rows=rows,
            reduced_space_size=reduced_space_size,
        )
    )


def of_release(
    settings: Mapping[str, Any], released: pd.DataFrame, stats: DatasetStatistics, _real: pd.DataFrame
) -> tuple[PrivacySpec, dict[str, Any], str]:
    """A release's ε, its settings as :func:`verdict` takes them (d, floor, ceiling, k, m), and these in words."""
    asked = {key: settings[key] for key in ("degree", "floor", "ceiling", "reduced_space_size")}
    asked |= {"degree": min(asked["degree"], stats.p), "rows": len(released)}
    words = f"d = {asked['degree']}, floor {asked['floor']:g}, ceiling {asked['ceiling']:g}, k = {asked['rows']:,}"
    return PrivacySpec(**settings["requested"]), asked, words
