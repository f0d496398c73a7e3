"""The report of a visit: verdicts, releases, comparisons and experiments in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.app import state
from dpsyn.app.lab import experiments
from dpsyn.app.lab.measures import floor_meaning, heatmaps, scores_table, summary_table
from dpsyn.app.lab.other_data import of_which_data
from dpsyn.app.lab.report_verdicts import release_parts, verdict_parts
from dpsyn.app.lab.results import points_table, refusals
from dpsyn.evaluation.experiments import Experiment, MadeRelease, experiment_script, summarise
from dpsyn.evaluation.experiments.summary import is_rising
from dpsyn.evaluation.figures.comparison import draw_errors, draw_scores
from dpsyn.evaluation.figures.experiment import draw_curves
from dpsyn.evaluation.figures.report_page import PRIVATE, PUBLIC, RELEASED, Code, Section, html_report
from dpsyn.kit import visit
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.notation import readable, short
from dpsyn.privacy.spec import PrivacySpec, rounded_up

_MEASURES = ("1-way error, mean", "2-way error, mean", "range queries, mean error")
_SHOWN_SETTINGS = 40


def report_button() -> None:
    """Download everything that this visit knows about the current data."""
    # Streamlit calls the function outside the visit, where there is no session: it gets all that it needs now.
    current, releases, found = visit.dataset(), state.comparable(), st.session_state.get("comparison")
    tried, others = experiments.by_data()
    st.download_button(
        "Report",
        lambda: report_bytes(current, releases, found, tried, others),
        f"dpsyn_{_stem(current.table.name)}.html",
        "text/html",
        icon=":material/article:",
        on_click="ignore",
        key="report",
        help="Everything on this page as one HTML file: verdicts, settings, exact guarantees, pictures. It opens without a "
        "network. Parts of it read private rows.",
    )


def _stem(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)[:40] or "report"


def report_bytes(
    current: visit.Dataset,
    releases: list[MadeRelease],
    found: Mapping[str, Any] | None,
    tried: Sequence[Experiment],
    others: Sequence[Experiment] = (),
) -> bytes:
    """The report, UTF-8, of the data, its releases, the last comparison and the experiments; those of other data come last.

    It reads no session.
    """
    sections = [_data(current), _verdicts(current, releases)]
    sections += [_release(made) for made in releases]
    if found is not None and found["revision"] == current.revision:
        sections.append(_comparison(found["reports"], found["target"]))
    sections += [experiment_section(experiment) for experiment in tried if experiment.results]
    if releases:
        sections.append(Section("What publishing all of it would cost", PUBLIC, [readable(state.total_claim(releases))]))
    sections += [experiment_section(experiment, own=False) for experiment in others if experiment.results]
    note = (
        "Only what stands under “private release” may be published, under the guarantee that is printed with it. Everything "
        "that reads private data is for teaching and planning: it is as private as the rows."
    )
    return html_report(f"dpsyn: {current.table.name}", sections, note).encode()


def _data(current: visit.Dataset) -> Section:
    learn, held_out = current.parts
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
    return Section("The data", PUBLIC, [rows, split, table])


def _verdicts(current: visit.Dataset, releases: list[MadeRelease]) -> Section:
    """A verdict on each release at its own settings; before there is any, one on each mechanism."""
    if releases:
        parts = [part for made in releases for part in release_parts(made, current)]
        return Section("Do the theorems apply?", PRIVATE, parts)
    spec = PrivacySpec(1.0, 1e-5)
    parts = ["Of one row at ε = 1 and δ = 10⁻⁵, replacing one of n rows, d = 2, l = 4."]
    classes, smallest = current.balance
    for verdict in feasibility(current.statistics, spec, classes=classes, smallest_class=smallest):
        parts += verdict_parts(verdict, current)
    return Section("Do the theorems apply?", PRIVATE, parts)


def _release(made: MadeRelease) -> Section:
    claim = made.release.guarantee
    status = {
        "unconfirmed_domain": "true once the domain is confirmed as public",
        "real_arithmetic": "proven in real arithmetic only, not of the floating-point noise that was drawn",
    }.get(claim.status, claim.status.replace("_", " "))
    settings = [
        (k.replace("_", " "), _short(v)) for k, v in made.release.settings.items() if v is not None and k != "ledger"
    ]
    refuted = claim.status == "published_but_wrong"
    granted = " ".join(claim.assumptions)
    if claim.assumptions and not refuted:
        granted = f"It takes for granted: {granted}"
    parts: list[Any] = [
        f"{'There is' if refuted else 'The release is'} {readable(str(claim))}. Status: {status}. Source: "
        f"{readable(claim.source.rstrip('.'))}.",
        granted or "It takes nothing for granted.",
        pd.DataFrame(settings[:_SHOWN_SETTINGS], columns=["setting", "value"]),
        *_ledger(made.release.settings.get("ledger")),
        "The first rows:",
        made.release.rows.head(8).astype(str),
    ]
    return Section(made.label, RELEASED if claim.status == "proven" and not made.release.seeded else PRIVATE, parts)


def _short(value: Any) -> str:
    """A setting in words; a mapping without braces and quotation marks."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_short(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_short, value))
    if isinstance(value, int):
        return f"{value:,}"
    return short(value) if isinstance(value, float) else str(value)


def _ledger(entries: Sequence[Mapping[str, Any]] | None) -> list[Any]:
    """How the budget was shared out, as a table: one line a part."""
    if not entries:
        return []
    letters = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "name": "part", "count": "noisy numbers", "scale": "noise scale"}
    table = pd.DataFrame([dict(entry) for entry in entries]).dropna(axis=1, how="all")
    table["share"] = [f"{share:.1%}" for share in table["share"]]
    for name in ("epsilon", "delta", "rho"):
        if name in table:
            table[name] = ["—" if pd.isna(value) else readable(rounded_up(value, 4)) for value in table[name]]
    return ["The budget:", table.rename(columns={"share": "share of the budget"} | letters)]


def _comparison(reports: Mapping[str, Any], target: str | None) -> Section:
    parts: list[Any] = [*filter(None, [floor_meaning(reports)]), draw_errors(reports), summary_table(reports)]
    parts += list(heatmaps(reports).values())
    scores = draw_scores(reports)
    if isinstance(scores, str):
        parts.append(f"No classifiers: {scores}.")
    else:
        parts += [f"Classifiers predict {target} on held-out real rows.", scores, scores_table(reports)]
    return Section("Releases beside the real rows", PRIVATE, parts)


def experiment_section(experiment: Experiment, *, own: bool = True) -> Section:
    """Curves and numbers of an experiment, and the script that does it again; if it is not about the report's data, of which
    data it is."""
    results = list(experiment.results.values())
    measures = list(dict.fromkeys(m for r in results for draw in r.measures for m in draw))
    parts: list[Any] = [] if own else [f"Not of the data above. It is of {of_which_data(experiment)}"]
    parts += [
        f"{len(results) - len(experiment.missing)} of {len(experiment.cells)} cells, {experiment.grid.repeats} repeats, "
        f"seed {experiment.grid.seed}. Means with 95 % confidence bars."
    ]
    for measure in measures:
        if measure not in _MEASURES and not is_rising(measure):
            continue
        points = summarise(results, measure)
        figure = draw_curves(
            points,
            measure,
            experiment.grid.vary,
            references=experiment.references.get(measure),
            labels=list(experiment.grid.configs),
            proportional=not is_rising(measure),
        )
        parts += [figure, points_table(points, experiment.grid.vary)]
    parts += [f"{label} at {at}: {why}" for label, at, why in refusals(results)]
    if experiment.data is not None:
        parts += ["The same from Python:", Code(experiment_script(experiment))]
    of = "" if own else f", of other data ({experiment.dataset})"
    return Section(f"Experiment {experiment.number}{of}: {experiment.name}", PRIVATE, parts)
