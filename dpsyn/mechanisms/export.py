"""Verdicts as a document: Markdown for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dpsyn.mechanisms.feasibility import Feasibility
from dpsyn.notation import readable
from dpsyn.theory.conditions import Condition, Verdict
from dpsyn.theory.logarithms import format_log

NOT_FOR_PUBLICATION = (
    "The statistics below were read from private rows without differential privacy: this document is not for publication."
)


def verdict_json(verdicts: Sequence[Feasibility], settings: dict[str, Any], *, private: bool) -> str:
    """All verdicts, the settings and whether the statistics may be published, as JSON text."""
    document = {
        "settings": settings,
        "statistics_are_private_data": private,
        "datasets": [verdict.to_dict() for verdict in verdicts],
    }
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)


def verdict_markdown(verdicts: Sequence[Feasibility], settings: dict[str, Any], *, private: bool) -> str:
    """All verdicts as a Markdown document: one section a dataset, one table a mechanism."""
    lines = ["# Feasibility of differentially private synthetic data", ""]
    if private:
        lines += [f"> {NOT_FOR_PUBLICATION}", ""]
    lines += [readable(", ".join(f"{name} = {value}" for name, value in settings.items())), ""]
    for found in verdicts:
        stats = found.stats
        lines += [
            f"## {_cell(stats.name)}",
            "",
            f"p = {stats.p} bits, n = {stats.n:,} rows, largest share of equal rows {stats.max_frequency:.6g}.",
            "",
        ]
        for verdict in found:
            lines += _section(verdict)
    return "\n".join(lines)


def _section(verdict: Verdict) -> list[str]:
    lines = [f"### {verdict.title}", "", verdict.summary, ""]
    lines += ["| holds | condition | actual | required | orders of magnitude | what would make it true | source |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [_row(condition) for condition in verdict.conditions]
    if verdict.alternatives:
        lines += [_row(condition, "beside the verdict: ") for condition in verdict.alternatives]
    return [*lines, "", *(f"- {note}" for note in verdict.notes), ""]


def _row(condition: Condition, prefix: str = "") -> str:
    if condition.assumed:
        cells = ["assumed", condition.label, "", "", "", condition.note, condition.source]
    else:
        sign = {"<=": "<" if condition.strict else "≤", ">=": ">" if condition.strict else "≥"}[condition.relation]
        cells = [
            "yes" if condition.holds else "no",
            prefix + condition.label,
            format_log(condition.log_actual),
            f"{sign} {format_log(condition.log_required)}",
            f"{condition.slack_orders:+.2f}",
            condition.fix,
            condition.source,
        ]
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
