"""The theorems' verdict on each release, from the settings that it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.kit import visit
from dpsyn.kit.verdicts import conditions_table
from dpsyn.kit.widgets import humanise
from dpsyn.mechanisms.dp_cda import DPCDA
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.notation import readable
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Verdict


def release_parts(made: MadeRelease, current: visit.Dataset) -> list[Any]:
    """What the theorems say of one release: sentences, and the conditions as a table."""
    if made.release.guarantee.status == "published_but_wrong":
        return [f"{made.label}: no verdict; it was made as published, and that has no guarantee."]
    try:
        verdict, asked = release_verdict(made, current)
    except ParameterError as fault:
        return [f"{made.label}: no verdict; {humanise(str(fault))}."]
    return [f"{made.label}. {asked}", *verdict_parts(verdict, current), *map(humanise, verdict.notes)]


def verdict_parts(verdict: Verdict, current: visit.Dataset) -> list[Any]:
    """The summary, that the domain is not confirmed, and the conditions."""
    waits = [] if current.table.domain.is_public else ["Privacy is not yet true: nobody confirmed the domain as public."]
    return [
        f"{verdict.title}: {humanise(verdict.summary)}",
        *waits,
        conditions_table(verdict.conditions).drop(columns=["Concerns"]),
    ]


def release_verdict(made: MadeRelease, current: visit.Dataset) -> tuple[Verdict, str]:
    """The verdict on the mechanism of a release at its own settings, and these settings in a sentence.

    Private sampling: its ε, d, floor, ceiling, k and m. Noisy reweighting: its ε, δ, d, statistics, noise, k and m; the
    theorems' accuracy, which no release has, stays at 1/8. DP-CDA: its l, T and clip radius, and ε and δ of the averages
    (what the class counts leave of the budget).

    Raises:
        ParameterError: the theorems say nothing of such a release.
    """
    settings = made.release.settings
    spec = PrivacySpec(**settings["requested"])
    stats = _statistics(made, current)
    name, rows = made.release.mechanism, len(made.release.rows)
    if name == PrivateSampling.name:
        options = {key: settings[key] for key in ("degree", "floor", "ceiling", "reduced_space_size")}
        options["degree"] = min(options["degree"], stats.p)
        found = feasibility(stats, spec, rows=rows, **options).private_sampling
        words = f"d = {options['degree']}, floor {options['floor']:g}, ceiling {options['ceiling']:g}, k = {rows:,}"
    elif name == NoisyReweighting.name:
        options = _reweighting(settings, stats)
        found = feasibility(stats, spec, rows=rows, **options).noisy_reweighting
        words = (
            f"d = {options['degree']}, k = {rows:,}, {options['noise'].capitalize()} noise that has all of the budget, "
            "accuracy 1/8 in the theorem"
        )
    elif name == DPCDA.name:
        options, averages = _mixing(made, stats, current), _of_averages(settings, spec)
        found = feasibility(stats, averages, **options).dp_cda
        per_class, order = options["rows"] // options["classes"], options["order_of_mixture"]
        words = f"l = {order}, T = {per_class:,} rows of each class"
        if averages != spec:
            words += f"; class counts have their part, the averages {_budget(averages)}"
    else:
        raise ParameterError("mechanism", name, "one that the theorems are about")
    neighbours = "replacing one of n rows" if spec.neighbouring == "replace_one" else "adding or removing a row"
    whole = settings.get("whole_domain") or settings.get("reduced_space") == "whole"
    drawn = " Its reduced space is the whole domain: nothing was drawn, so no smallest m is needed." if whole else ""
    return found, f"At {_budget(spec)}, {neighbours}, n = {stats.n:,}, {words}.{drawn}"


def _budget(spec: PrivacySpec) -> str:
    return readable(f"ε = {rounded_up(spec.epsilon, 4)}" + (f", δ = {rounded_up(spec.delta, 3)}" if spec.delta else ""))


def _statistics(made: MadeRelease, current: visit.Dataset) -> DatasetStatistics:
    """Of the rows that the release was made from."""
    learn = current.parts[0]
    n = made.release.settings.get("n", learn.n)
    if n != learn.n:
        allowed = f"n = {learn.n}: the rows that mechanisms learn from were split anew since then"
        raise ParameterError("n", n, allowed)
    return learn.statistics(two_valued_as_bit=current.two_valued_as_bit)


def _reweighting(settings: Mapping[str, Any], stats: DatasetStatistics) -> dict[str, Any]:
    family = settings["statistics"]
    if family not in ("walsh", "contingency") or settings.get("tables") is not None:
        raise ParameterError("statistics", family, "Walsh functions or all contingency tables of d columns")
    return {
        "degree": min(settings["degree"], stats.p),
        "statistics": family,
        "noise": "gaussian" if settings["noise"] == "gaussian" else "laplace",
        "reduced_space_size": settings["reduced_space_size"],
    }


def _of_averages(settings: Mapping[str, Any], spec: PrivacySpec) -> PrivacySpec:
    entry = next(entry for entry in settings["ledger"] if entry["name"] == "averages")
    return PrivacySpec(entry["epsilon"], entry["delta"], spec.neighbouring)


def _mixing(made: MadeRelease, stats: DatasetStatistics, current: visit.Dataset) -> dict[str, Any]:
    """The smallest class is the declared one, or else the real one among those that the release has rows of."""
    settings = made.release.settings
    if settings["variant"] != "fixed_size":
        raise ParameterError(
            "variant", settings["variant"], "'fixed_size': the conditions are about mixing exactly l records"
        )
    if settings["scaling"] != "public":
        raise ParameterError("scaling", settings["scaling"], "'public': the conditions take public bounds for granted")
    order, classes, sizes = settings["order_of_mixture"], len(settings["classes"]), settings["class_sizes"]
    smallest = min(sizes.values()) if isinstance(sizes, Mapping) else sizes
    target = settings["target"]
    if smallest is None and target in current.table.domain.names:
        mixed = made.release.rows[target].unique()
        counts = current.parts[0].frame[target].value_counts()
        smallest, classes = min(int(counts.get(value, 0)) for value in mixed), len(mixed)
    return {
        "order_of_mixture": order,
        "classes": classes,
        "smallest_class": None if smallest is None else min(int(smallest), stats.n // classes),
        "rows": classes * max(settings["rows_per_class"].values()),
        "clip_norm": settings["sensitivity"] * order / 2,
    }
