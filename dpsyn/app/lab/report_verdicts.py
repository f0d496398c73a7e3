"""The theorems' verdict on each release, from the settings that it was made with."""

from __future__ import annotations

from typing import Any

from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.kit import visit
from dpsyn.kit.verdicts import conditions_table
from dpsyn.kit.widgets import humanise
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.mechanisms.registry import offered
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

    Raises:
        ParameterError: the theorems say nothing of such a release.
    """
    settings = made.release.settings
    spec = PrivacySpec(**settings["requested"])
    stats, name = _statistics(made, current), made.release.mechanism
    of_release = offered(name, "theorems:of_release")
    if of_release is None:
        raise ParameterError("mechanism", name, "one that the theorems are about")
    part, asked, words = of_release(settings, made.release.rows, stats, current.parts[0].frame)
    neighbours = "replacing one of n rows" if spec.neighbouring == "replace_one" else "adding or removing a row"
    whole = settings.get("whole_domain") or settings.get("reduced_space") == "whole"
    drawn = " Its reduced space is the whole domain: nothing was drawn, so no smallest m is needed." if whole else ""
    found = feasibility(stats, part, **asked)[name]
    return found, f"At {_budget(spec)}, {neighbours}, n = {stats.n:,}, {readable(words)}.{drawn}"


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
