"""The report of a visit: verdicts, releases, comparisons and experiments in one HTML file that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn import escape
from dpsyn.app import state
from dpsyn.app.lab.releases import of_which_data
from dpsyn.app.lab.results import curves
from dpsyn.display import PRIVATE, PUBLIC, RELEASED
from dpsyn.errors import ParameterError
from dpsyn.evaluation.experiments import Experiment, MadeRelease, experiment_script, summarise
from dpsyn.evaluation.experiments.summary import is_rising, points_table, refusals
from dpsyn.evaluation.figures import draw_correlations, draw_errors, draw_scores
from dpsyn.evaluation.tables import (
    correlations_table,
    floor_meaning,
    heatmaps,
    scores_table,
    summary_table,
    values_table,
)
from dpsyn.kit import visit, widgets
from dpsyn.kit.verdicts import conditions_table
from dpsyn.mechanisms.feasibility import feasibility
from dpsyn.mechanisms.registry import offered
from dpsyn.notation import readable, short
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Verdict

_MEASURES = ("1-way error, mean", "2-way error, mean", "range queries, mean error")
_SHOWN_SETTINGS = 40
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:\">"
)
"""Whatever stands in the data: the file asks nobody for anything."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2b2b; --soft: #5b6b6b; --line: #d5dede; --back: #ffffff; --mark: #0b6e6e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4eceb; --soft: #9fb0af; --line: #35403f; --back: #131a1a; --mark: #5fc9c3; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 66rem;
  margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; } h2 { margin: 2.6rem 0 .3rem; font-size: 1.35rem; }
.badge { display: inline-block; font-size: .82rem; padding: .1rem .6rem; border: 1px solid var(--line); border-radius: 1rem;
  color: var(--soft); }
.badge.private { border-style: dashed; } .badge.released { color: var(--mark); border-color: var(--mark); }
table { border-collapse: collapse; font-size: .88rem; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; }
td { font-variant-numeric: tabular-nums; } pre { overflow-x: auto; border: 1px solid var(--line); padding: .8rem; }
.note { color: var(--soft); }
td:first-child { min-width: 5.5rem; }
.js-plotly-plot .main-svg text:not(.heatmap-label text, .hoverlayer text) { fill: var(--ink) !important; }
"""


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is."""

    text: str


@dataclass(frozen=True)
class Section:
    """A heading, what the section reads, and its parts in order.

    Attributes:
        title: a few words.
        reads: one of :data:`PRIVATE`, :data:`RELEASED`, :data:`PUBLIC`.
        parts: paragraphs (text, not mark-up), tables, :class:`Code` and Plotly figures.
    """

    title: str
    reads: str
    parts: Sequence[Any]


def report_button() -> None:
    """Download everything that this visit knows about the current data."""
    # Streamlit calls the function outside the visit, where there is no session: it gets all that it needs now.
    current, releases, found = visit.dataset(), state.comparable(), st.session_state.get("comparison")
    tried, others = state.experiments_by_data()
    widgets.download(
        "Report",
        lambda: report_bytes(current, releases, found, tried, others),
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
) -> bytes:
    """The report, UTF-8, of the data, its releases, the last comparison and the experiments; those of other data come last.

    It reads no session.
    """
    sections = [_data(current), _verdicts(current, releases)]
    sections += [_release(made) for made in releases]
    if found is not None and found["revision"] == current.revision:
        sections.append(_comparison(found["reports"]))
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


def release_parts(made: MadeRelease, current: visit.Dataset) -> list[Any]:
    """What the theorems say of one release: sentences, and the conditions as a table."""
    if made.release.guarantee.status == "published_but_wrong":
        return [f"{made.label}: no verdict; it was made as published, and that has no guarantee."]
    if made.release.guarantee.status == "stated":
        return [f"{made.label}: no verdict; its claim and its settings are what a file states, and nobody has checked them."]
    try:
        verdict, asked = release_verdict(made, current)
    except ParameterError as fault:
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
    drawn = (
        " Its reduced space is the whole domain: nothing was drawn, so no condition on its size applies." if whole else ""
    )
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


def _release(made: MadeRelease) -> Section:
    claim = made.release.guarantee
    settings = [
        (k.replace("_", " "), _short(v)) for k, v in made.release.settings.items() if v is not None and k != "ledger"
    ]
    refuted = claim.status == "published_but_wrong"
    granted = " ".join(claim.assumptions)
    if claim.assumptions and not refuted:
        granted = f"Assumptions: {granted}"
    parts: list[Any] = [
        f"{'There is' if refuted else 'The release is'} {readable(str(claim))}. Status: {claim.status_in_words}. Source: "
        f"{readable(claim.source.rstrip('.'))}.",
        granted or "No assumptions.",
        pd.DataFrame(settings[:_SHOWN_SETTINGS], columns=["setting", "value"]),
        *_ledger(None if claim.status == "stated" else made.release.settings.get("ledger")),
        "The first rows:",
        made.release.rows.head(8).astype(str),
    ]
    return Section(made.label, RELEASED if claim.status == "proven" else PRIVATE, parts)


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


def _comparison(reports: Mapping[str, Any]) -> Section:
    parts: list[Any] = [*filter(None, [floor_meaning(reports)]), draw_errors(reports), summary_table(reports)]
    correlations = draw_correlations(reports)
    if any(report.values for report in reports.values()):
        parts.append(values_table(reports))
    parts += [] if correlations is None else [correlations, correlations_table(reports)]
    parts += list(heatmaps(reports).values())
    scores = draw_scores(reports)
    if isinstance(scores, str):
        parts.append(f"Nothing is predicted: {scores}.")
    else:
        parts += [scores, scores_table(reports)]
    return Section("Releases beside the real rows", PRIVATE, parts)


def experiment_section(experiment: Experiment, *, own: bool = True) -> Section:
    """Curves and numbers of an experiment, and the script that does it again; if it is not about the report's data, of which
    data it is."""
    results = list(experiment.results.values())
    parts: list[Any] = [] if own else [f"Not of the data above. It is of {of_which_data(experiment)}"]
    parts += [
        f"{len(results) - len(experiment.missing)} of {len(experiment.cells)} cells, {experiment.grid.repeats} repeats, "
        f"seed {experiment.grid.seed}. Means with 95 % confidence bars."
    ]
    for measure in experiment.measures:
        if measure not in _MEASURES and not is_rising(measure):
            continue
        points = summarise(results, measure)
        parts += [curves(experiment, measure, points), points_table(points, experiment.grid.vary)]
    parts += [f"{label} at {at}: {why}" for label, at, why in refusals(results)]
    if experiment.data is not None:
        parts += ["The same from Python:", Code(experiment_script(experiment))]
    of = "" if own else f", of other data ({experiment.dataset})"
    return Section(f"Experiment {experiment.number}{of}: {experiment.name}", PRIVATE, parts)


def html_report(title: str, sections: Sequence[Section], note: str = "") -> str:
    """The file's text.

    Names and values from the data are escaped; the drawing library is part of the file (about 5 MB) if there is a figure.

    Raises:
        ParameterError: a part of a kind that cannot be shown, or an unknown badge.
    """
    drawn = 0
    body = []
    for section in sections:
        kinds = {PRIVATE: "private", RELEASED: "released", PUBLIC: "public"}
        if section.reads not in kinds:
            raise ParameterError("reads", section.reads, f"one of {', '.join(map(repr, kinds))}")
        body.append(f"<section><h2>{escape.html(section.title)}</h2>")
        body.append(f'<span class="badge {kinds[section.reads]}">{escape.html(section.reads)}</span>')
        for part in section.parts:
            if hasattr(part, "to_plotly_json"):
                body.append(_figure(part, first=drawn == 0))
                drawn += 1
            else:
                body.append(_part(part))
        body.append("</section>")
    words = f'<p class="note">{escape.html(note)}</p>' if note else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{_POLICY}<title>{escape.html(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape.html(title)}</h1>{words}{''.join(body)}</body></html>"
    )


def _part(part: Any) -> str:
    if isinstance(part, str):
        return f"<p>{escape.html(part)}</p>"
    if isinstance(part, Code):
        return f"<pre><code>{escape.html(part.text)}</code></pre>"
    if isinstance(part, pd.DataFrame):
        whole: Any = dict.fromkeys(part.select_dtypes("integer").columns, "{:,}".format)
        numbers = {"formatters": whole, "float_format": lambda value: short(value, 4)}
        return str(part.to_html(index=False, escape=True, border=0, na_rep="—", **numbers))
    raise ParameterError("parts", type(part).__name__, "texts, tables, code or Plotly figures")


def _figure(figure: Any, *, first: bool) -> str:
    return str(
        figure.to_html(
            full_html=False, include_plotlyjs=first, config={"displaylogo": False, "responsive": True}, default_width="100%"
        )
    )
