"""The report of a visit: verdicts, releases, comparisons and experiments in one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from dpsyn.app import state
from dpsyn.app.lab.measures import colours, measured_parts
from dpsyn.app.lab.releases import of_which_data
from dpsyn.display import PRIVATE, PUBLIC, RELEASED
from dpsyn.errors import InputError
from dpsyn.evaluation.document import Code, Section, html_report
from dpsyn.evaluation.experiments import Experiment, MadeRelease, experiment_script, summarise
from dpsyn.evaluation.experiments.field import costs, field_panels, field_references, frontier_in_words, unfinished
from dpsyn.evaluation.experiments.figures import draw_experiment
from dpsyn.evaluation.experiments.summary import is_rising, points_table, refusals
from dpsyn.evaluation.tables import fresh_meaning
from dpsyn.kit import visit, widgets
from dpsyn.kit.verdicts import conditions_table
from dpsyn.mechanisms.encoding import HISTOGRAMS
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.mechanisms.registry import NEEDS_CLASSES, judged_with, offered
from dpsyn.notation import percent, readable
from dpsyn.privacy.private_statistics import PrivateStatistics
from dpsyn.privacy.spec import Guarantee, PrivacySpec, delta_up, rounded_up, worded_fact
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Verdict

_MEASURES = ("1-way error, mean", "2-way error, mean", "range queries, mean error")
_SHOWN_SETTINGS = 40


def report_button() -> None:
    """Download everything that this visit knows about the current data."""
    # Streamlit calls the function outside the visit, where there is no session: it gets all that it needs now.
    current, releases, found = visit.dataset(), state.comparable(), state.comparison()
    tried, others = state.experiments_by_data()
    drawn = state.statistics_of(current.table.name)
    widgets.download(
        "Report",
        lambda: report_bytes(current, releases, found, tried, others, drawn),
        f"dpsyn_{widgets.file_stem(current.table.name)}.html",
        icon="article",
        key="report",
        help="Everything on this page as one HTML file: verdicts, settings, exact guarantees, pictures. It opens without a "
        "network. Parts of it read private rows.",
    )


def report_bytes(
    current: visit.Dataset,
    releases: list[MadeRelease],
    found: Mapping[str, Any] | None,
    tried: Sequence[Experiment],
    others: Sequence[Experiment] = (),
    drawn: Sequence[PrivateStatistics] = (),
) -> bytes:
    """The report, UTF-8, of the data, its releases, the last comparison and the experiments; those of other data come
    last. What it all costs together goes by what was ``drawn``, too.

    It reads no session.
    """
    claims = [made.release.guarantee for made in releases] + [one.guarantee for one in drawn]
    sections = [_data(current, claims), _verdicts(current, releases)]
    sections += [_release(made) for made in releases]
    if found is not None:
        reports, by_label = found["reports"], {made.label: made for made in releases}
        measured = chain.from_iterable(measured_parts(reports, colours(map(by_label.get, reports))).values())
        told = filter(None, [fresh_meaning(reports)])
        sections.append(Section("Releases beside the real rows", PRIVATE, [*told, *measured]))
    sections += [experiment_section(experiment) for experiment in tried if experiment.results]
    if releases:
        sections.append(
            Section("What publishing all of it would cost", PUBLIC, [readable(state.total_claim(releases, drawn))])
        )
    sections += [experiment_section(experiment, own=False) for experiment in others if experiment.results]
    note = (
        "Only what stands under “private release” may be published, under the guarantee that is printed with it. Everything "
        "that reads private data is for teaching and planning: it is as private as the rows."
    )
    return html_report(f"dpsyn: {current.table.name}", sections, note).encode()


def _data(current: visit.Dataset, claims: Sequence[Guarantee]) -> Section:
    """The columns and how many rows: public facts of a confirmed domain, where none of the ``claims`` has n secret."""
    learn, held_out = current.parts
    secret = any(claim.neighbouring == "add_remove" for claim in claims)
    confirmed = (
        "confirmed as public knowledge" if current.table.domain.is_public else "inferred from the private rows: not public"
    )
    table = pd.DataFrame(
        {
            "column": current.table.domain.names,
            "kind": [a.kind for a in current.table.domain.attributes],
            "values or bins": current.table.domain.shape,
            "public": ["yes" if a.public else "no" for a in current.table.domain.attributes],
        }
    )
    rows = f"{current.table.n:,} rows, {len(current.table.domain)} columns. The domain is {confirmed}."
    split = f"Mechanisms learn from {learn.n:,} rows; {held_out.n if held_out else 0:,} are held out to measure against."
    return Section("The data", PUBLIC if current.table.domain.is_public and not secret else PRIVATE, [rows, split, table])


def _verdicts(current: visit.Dataset, releases: list[MadeRelease]) -> Section:
    """A verdict on each release at its own settings; before there is any, one on each mechanism."""
    if releases:
        parts = [part for made in releases for part in release_parts(made, current)]
        return Section("Do the theorems apply?", PRIVATE, parts)
    spec = PrivacySpec(1.0, 1e-5)
    parts = ["Of one row at ε = 1 and δ = 10⁻⁵, replacing one of n rows, d = 2, l = 4."]
    classes, smallest = current.balance
    found = feasibility(current.statistics, spec, classes=classes, smallest_class=smallest)
    judged = judged_with(current.target)
    for verdict in found:
        can = verdict.mechanism in judged
        parts += verdict_parts(verdict, current) if can else [f"{verdict.title}: no verdict; it {NEEDS_CLASSES}."]
    return Section("Do the theorems apply?", PRIVATE, parts)


def release_parts(made: MadeRelease, current: visit.Dataset) -> list[Any]:
    """What the theorems say of one release, and its mechanism: sentences, and the conditions as a table."""
    first, *rest = _judged(made, current)
    return [first, *map(widgets.humanise, made.release.notes), *rest]


def _judged(made: MadeRelease, current: visit.Dataset) -> list[Any]:
    if made.release.guarantee.status == "published_but_wrong":
        return [f"{made.label}: no verdict; it was made as published, and that has no guarantee."]
    if made.release.guarantee.status == "stated":
        return [f"{made.label}: no verdict; its claim and its settings are what a file states, and nobody has checked them."]
    if offered(made.release.mechanism, "theorems:of_release") is None:
        return [f"{made.label}: no verdict; the theorems say nothing of this mechanism."]
    try:
        verdict, asked = release_verdict(made, current)
    except InputError as fault:
        return [f"{made.label}: no verdict; {widgets.humanise(str(fault))}."]
    return [f"{made.label}. {asked}", *verdict_parts(verdict, current), *map(widgets.humanise, verdict.notes)]


def verdict_parts(verdict: Verdict, current: visit.Dataset) -> list[Any]:
    """The summary, that the domain is not confirmed, and the conditions."""
    waits = [] if current.table.domain.is_public else ["Privacy is not yet true: nobody confirmed the domain as public."]
    return [
        f"{verdict.title}: {widgets.humanise(verdict.summary)}",
        *waits,
        conditions_table(verdict.conditions).drop(columns=["Concerns"]),
    ]


def release_verdict(made: MadeRelease, current: visit.Dataset) -> tuple[Verdict, str]:
    """The verdict on the mechanism of a release at its own settings, and these settings in a sentence.

    Raises:
        InputError: the theorems say nothing of such a release, and why, in a sentence.
    """
    settings = made.release.settings
    spec = PrivacySpec(**settings["requested"])
    stats, name = _statistics(made, current), made.release.mechanism
    part, asked, words = offered(name, "theorems:of_release")(
        settings, made.release.rows, stats, current.parts[0].drawn.frame
    )
    neighbours = "replacing one of n rows" if spec.neighbouring == "replace_one" else "adding or removing a row"
    whole = settings.get("whole_domain") or settings.get("reduced_space") == "whole"
    drawn = (
        " Its reduced space is the whole domain: nothing was drawn, so no condition on its size applies." if whole else ""
    )
    found = feasibility(stats, part, **asked)[name]
    return found, f"At {_budget(spec)}, {neighbours}, n = {stats.n:,}, {readable(words)}.{drawn}"


def _budget(spec: PrivacySpec) -> str:
    return readable(f"ε = {rounded_up(spec.epsilon, 4)}" + (f", δ = {delta_up(spec.delta)}" if spec.delta else ""))


def _statistics(made: MadeRelease, current: visit.Dataset) -> DatasetStatistics:
    """Of the rows that the release was made from."""
    learn = current.parts[0]
    n = made.release.settings.get("n", learn.n)
    if n != learn.n:
        raise InputError(
            f"it was made from {n:,} rows, and now mechanisms learn from {learn.n:,}: they were split anew since"
        )
    return current.statistics


def _release(made: MadeRelease) -> Section:
    claim = made.release.guarantee
    facts = {k: v for k, v in made.release.settings.items() if v is not None and k != "ledger"}
    settings = [(name.replace("_", " "), worded_fact(name, value)) for name, value in facts.items()]
    refuted = claim.status == "published_but_wrong"
    granted = " ".join(claim.assumptions)
    if claim.assumptions and not refuted:
        granted = f"Assumptions: {granted}"
    parts: list[Any] = [
        f"{'There is' if refuted else 'The release is'} {claim.claim}. Status: {claim.status_in_words}. Source: "
        f"{readable(claim.source.rstrip('.'))}.",
        granted or "No assumptions.",
        pd.DataFrame(settings[:_SHOWN_SETTINGS], columns=["setting", "value"]),
        *(budget_parts(made.release.settings) if claim.status != "stated" else ()),
        "The first rows:",
        made.release.rows.head(8).astype(str),
    ]
    return Section(made.label, RELEASED if claim.status == "proven" else PRIVATE, parts)


def budget_parts(settings: Mapping[str, Any]) -> list[Any]:
    """How the budget was shared out, as a table: one line per part."""
    entries: list[Mapping[str, Any]] = settings.get("ledger") or []
    if not entries:
        return []
    before = settings.get("epsilon_for_histograms")
    if before:  # these are no part of the mechanism's own ledger
        first = before / settings["requested"]["epsilon"]
        left = (1 - first) / sum(entry["share"] for entry in entries)
        scale = settings["histogram_noise_scale"]
        entries = [
            {"name": HISTOGRAMS, "share": first, "epsilon": before, "scale": scale},
            *({**entry, "share": left * entry["share"]} for entry in entries),
        ]
    letters = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "name": "part", "count": "noisy numbers", "scale": "noise scale"}
    table = pd.DataFrame([dict(entry) for entry in entries]).dropna(axis=1, how="all")
    table["share"] = [percent(share, 3) for share in table["share"]]
    if "count" in table:  # of fine histograms it is not counted: they are as fine as the noise lets them be
        table["count"] = ["—" if pd.isna(count) or not count else f"{count:,.0f}" for count in table["count"]]
    for name in ("epsilon", "delta", "rho"):
        if name in table:
            table[name] = ["—" if pd.isna(value) else readable(rounded_up(value, 4)) for value in table[name]]
    return ["The budget:", table.rename(columns={"share": "share of the budget"} | letters)]


def experiment_section(experiment: Experiment, *, own: bool = True) -> Section:
    """Curves and numbers of an experiment, and the script that does it again; if it is not about the report's data, of which
    data it is."""
    results = experiment.found
    parts: list[Any] = [] if own else [f"Not of the data above. It is of {of_which_data(experiment)}"]
    parts += [
        f"{len(results) - len(experiment.missing)} of {len(experiment.cells)} cells, {experiment.grid.repeats} repeats, "
        f"seed {experiment.grid.seed}. Means with 95 % confidence bars."
    ]
    grid, waiting = experiment.grid, unfinished(experiment.grid, results)
    if panels := field_panels(results):
        beside = field_references(experiment.references)
        parts += [draw_experiment(grid, panels, references=beside, waiting=waiting)]
        for measure, points in panels.items():
            parts += [f"{measure}: {frontier_in_words(points, grid.vary, waiting, beside.get(measure, {}))}"]
        parts += [costs(results)]
    for measure in experiment.measures:
        if measure not in _MEASURES and not is_rising(measure):
            continue
        points = summarise(results, measure)
        figure = draw_experiment(grid, {measure: points}, references=experiment.references, waiting=waiting)
        parts += [figure, points_table(points, grid.vary, results)]
    parts += [f"{label} at {at}: {why}" for label, at, why in refusals(results)]
    if experiment.data is not None:
        parts += ["The same from Python:", Code(experiment_script(experiment))]
    of = "" if own else f", of other data ({experiment.dataset})"
    return Section(f"Experiment {experiment.number}{of}: {experiment.name}", PRIVATE, parts)
