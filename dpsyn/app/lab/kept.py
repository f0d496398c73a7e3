"""What was measured of releases, kept with them, and a table of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.app import state
from dpsyn.app.lab.experiments import fingerprint, in_workspace
from dpsyn.app.lab.runs import as_stored, runs_table
from dpsyn.app.state import Made
from dpsyn.evaluation.experiments import Workspace
from dpsyn.evaluation.experiments.run import flat_measures, report_references
from dpsyn.evaluation.report import Report
from dpsyn.kit import code, widgets
from dpsyn.kit.visit import Dataset


def keep_comparison(context: Mapping[str, Any], reports: Mapping[str, Report]) -> None:
    """Show what a comparison found from now on, and add it to the releases that it was about, in the workspace too."""
    st.session_state["comparison"] = {**context, "reports": reports}
    by_number = {context["numbers"][label]: report for label, report in reports.items()}
    releases = state.made()
    for at, made in enumerate(releases):
        report = by_number.get(made.number)
        if report is None:
            continue
        releases[at] = new = replace(made, measured=_measured(report, context))
        in_workspace(new.stored, partial(_set_record, as_stored(new).record))


def _set_record(record: dict[str, Any], workspace: Workspace, number: int) -> None:
    workspace.set_record(number, record)


def _measured(report: Report, context: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": context["fingerprint"],
        "rows": report.n,
        "target": context["target"],
        "measures": flat_measures(report),
        "references": report_references(report),
    }


def kept_table(releases: list[Made]) -> pd.DataFrame:
    """One line per release: settings, guarantee, and what was measured of it; below, what it was measured beside."""
    lines: list[dict[str, Any]] = []
    beside: dict[str, dict[str, Any]] = {}
    for made, line in zip(releases, runs_table(releases).to_dict("records"), strict=True):
        found = made.measured or {"measures": {}, "references": {}, "target": None}
        facts = {"Settings": _settings(made), "Measured against": "nothing yet", "Predicted": found["target"]}
        if made.measured is not None:
            facts["Measured against"] = f"{found['rows']:,} real rows, {_moment(found['when'])}"
        lines.append({str(k): v for k, v in line.items()} | facts | {k: round(v, 4) for k, v in found["measures"].items()})
        for measure, heights in found["references"].items():
            for name, height in heights.items():
                # The same floor was measured with every release: it has one line for every data and target.
                key = f"{name}, {found['fingerprint']}, {found['target']}"
                beside.setdefault(key, {"Name": name, "Predicted": found["target"]})[measure] = round(height, 4)
    table = pd.DataFrame([*lines, *beside.values()])
    measures = list(dict.fromkeys(m for made in releases if made.measured for m in made.measured["measures"]))
    first = ["Name", "ε", "δ", "Status", "Settings", *measures]
    return table[[*first, *(name for name in table.columns if name not in first)]]


def show_kept(releases: list[Made]) -> None:
    """The table, with the names in view."""
    pinned = {"Name": st.column_config.TextColumn(pinned=True)}
    st.dataframe(widgets.with_thousands(kept_table(releases)), hide_index=True, placeholder="—", column_config=pinned)


def _settings(made: Made) -> str:
    if made.config is not None:
        return code.written(made.config)
    plain = {k: v for k, v in made.release.settings.items() if isinstance(v, str | int | float)}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def _moment(when: str) -> str:
    return datetime.fromisoformat(when).strftime("%Y-%m-%d %H:%M UTC")


def kept_measures(current: Dataset, releases: list[Made]) -> bool:
    """What was measured of these releases before this visit; False if nothing was."""
    measured = [made for made in releases if made.measured is not None]
    if not measured:
        return False
    mark = fingerprint(*current.parts)
    others = sum(made.measured is not None and made.measured["fingerprint"] != mark for made in measured)
    with st.container(border=True):
        widgets.heading("Measures as they were kept", True)
        st.caption(
            "Measured before this data was opened here, so there are numbers and no pictures. Press **Measure** to "
            "compare anew."
            + (
                f" {others} of {len(measured)} were measured against other rows, or another held-out share."
                if others
                else ""
            )
        )
        show_kept(measured)
    return True
