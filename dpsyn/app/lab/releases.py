"""The releases of a visit as a list: claims, settings, what was measured of them; names, removal, and a script of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from dpsyn.app import state
from dpsyn.app.lab.experiments import fingerprint
from dpsyn.evaluation.classifiers import DEFAULT_CLASSIFIERS
from dpsyn.evaluation.experiments import MadeRelease
from dpsyn.evaluation.experiments.archive import now
from dpsyn.evaluation.experiments.run import flat_measures, references
from dpsyn.evaluation.experiments.script import releases_script
from dpsyn.evaluation.report import DEGREES, Report
from dpsyn.kit import code, widgets
from dpsyn.kit.visit import Dataset
from dpsyn.mechanisms.registry import title
from dpsyn.notation import readable
from dpsyn.privacy.spec import Guarantee, rounded_up

_LONGEST = 100
_STATUS = {
    "unconfirmed_domain": "domain not confirmed",
    "real_arithmetic": "real arithmetic only",
    "published_but_wrong": "no guarantee",
}


def runs_panel(releases: list[MadeRelease]) -> None:
    """The list, with the names to edit."""
    st.dataframe(widgets.with_thousands(pd.DataFrame([_line(made) for made in releases])), hide_index=True)
    edit_popover(releases)


def _line(made: MadeRelease) -> dict[str, Any]:
    claim = made.release.guarantee
    return {
        "Name": made.label,
        "Mechanism": title(made.release.mechanism),
        "ε": _number(claim, claim.epsilon, 4),
        "δ": _number(claim, claim.delta, 3),
        "Status": _STATUS.get(claim.status, claim.status) + (", demonstration" if made.release.seeded else ""),
        "Rows": len(made.release.rows),
        "Made": _moment(made.when),
        "Seconds": round(made.seconds, 1),
    }


def _number(claim: Guarantee, value: float, digits: int) -> str:
    return "none" if claim.status == "published_but_wrong" else readable(rounded_up(value, digits))


def _moment(when: str) -> str:
    return datetime.fromisoformat(when).strftime("%Y-%m-%d %H:%M UTC")


def edit_popover(releases: list[MadeRelease], place: str = "") -> None:
    """Rename or remove one of these releases; ``place`` tells these widgets from those of other lists."""
    with st.popover("Rename or remove", icon=":material/edit:", key=f"runs_edit{place}"):
        by_number = {made.number: made for made in releases}
        chosen = st.selectbox("Release", list(by_number), format_func=lambda n: by_number[n].label, key=f"runs_which{place}")
        made = by_number.get(chosen, releases[0])
        name = st.text_input("Name", made.name, max_chars=_LONGEST, key=f"runs_name{place}_{made.number}")
        with st.container(horizontal=True):
            if st.button("Rename", key=f"runs_rename{place}", disabled=not name.strip() or name == made.name):
                _change(made, replace(made, name=name.strip()[:_LONGEST]))
                st.rerun()
            if st.button("Remove", icon=":material/delete:", key=f"runs_remove{place}"):
                _change(made, None)
                st.rerun()


def _change(made: MadeRelease, new: MadeRelease | None) -> None:
    """Put a release in another's place, or none, wherever it is named, in the workspace too."""
    releases = state.made()
    at = [other.number for other in releases].index(made.number)
    releases[at : at + 1] = [] if new is None else [new]
    found = st.session_state.get("comparison")
    if found is not None:
        reports = {made.label: None if new is None else new.label}
        found["reports"] = {name: r for k, r in found["reports"].items() if (name := reports.get(k, k)) is not None}
        if not found["reports"]:
            st.session_state.pop("comparison")
    state.with_workspace(lambda workspace: workspace.remove(made) if new is None else workspace.keep_changes(new))


def take_comparison(context: Mapping[str, Any], reports: Mapping[str, Report]) -> None:
    """Show what a comparison found from now on, and add it to the releases that it was about, in the workspace too."""
    st.session_state["comparison"] = {**context, "reports": reports}
    by_number = {context["numbers"][label]: report for label, report in reports.items()}
    for made in list(state.made()):
        report = by_number.get(made.number)
        if report is not None:
            measured = {
                "when": now(),
                "fingerprint": context["fingerprint"],
                "rows": report.n,
                "target": context["target"],
                "measures": flat_measures(report),
                "references": references(report),
            }
            _change(made, replace(made, measured=measured))


def measures_table(releases: list[MadeRelease]) -> None:
    """One line per release: settings, guarantee, and what was measured of it; below, what it was measured beside."""
    lines: list[dict[str, Any]] = []
    beside: dict[str, dict[str, Any]] = {}
    measures: dict[str, None] = {}
    for made in releases:
        found = made.measured or {"measures": {}, "references": {}, "target": None}
        facts = {"Settings": _settings(made), "Measured against": "nothing yet", "Predicted": found["target"]}
        if made.measured is not None:
            facts["Measured against"] = f"{found['rows']:,} real rows, {_moment(found['when'])}"
        lines.append(_line(made) | facts | {k: round(v, 4) for k, v in found["measures"].items()})
        measures |= dict.fromkeys(found["measures"])
        for measure, heights in found["references"].items():
            for name, height in heights.items():
                # The same floor was measured with every release: it has one line for every data and target.
                key = f"{name}, {found['fingerprint']}, {found['target']}"
                beside.setdefault(key, {"Name": name, "Predicted": found["target"]})[measure] = round(height, 4)
    table = pd.DataFrame([*lines, *beside.values()])
    first = ["Name", "ε", "δ", "Status", "Settings", *measures]
    table = table[[*first, *(name for name in table.columns if name not in first)]]
    pinned = {"Name": st.column_config.TextColumn(pinned=True)}
    st.dataframe(widgets.with_thousands(table), hide_index=True, placeholder="—", column_config=pinned)


def _settings(made: MadeRelease) -> str:
    if made.config is not None:
        return code.written(made.config)
    plain = {k: v for k, v in made.release.settings.items() if isinstance(v, str | int | float)}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())


def earlier_measures(current: Dataset, releases: list[MadeRelease]) -> bool:
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
        measures_table(measured)
    return True


def code_of(current: Dataset, releases: list[MadeRelease]) -> str:
    """The script that makes the releases again and measures them; those that it cannot make are named in it."""
    found = st.session_state.get("comparison")
    target, degrees = current.target, tuple(d for d in DEGREES if d <= len(current.table.domain))
    models: tuple[str, ...] = DEFAULT_CLASSIFIERS
    if found is not None and found["revision"] == current.revision:
        report: Report = next(iter(found["reports"].values()))
        degrees, target = tuple(report.marginals), found["target"]
        if not isinstance(report.classification, str):
            models = tuple(s.classifier for s in report.classification.real.scores)
    return releases_script(releases, current.source, target=target, degrees=degrees, classifiers=models)


def code_popover(current: Dataset, releases: list[MadeRelease]) -> None:
    """Show the script, to copy or to save."""
    with st.popover("Code", icon=":material/code:"):
        st.caption(
            "This makes the releases again and measures them. Runs with a seed give the same rows; the others draw new "
            "noise, and publishing both would cost both budgets."
        )
        text = code_of(current, releases)
        st.download_button(
            "Save as a file",
            text.encode(),
            "releases.py",
            "text/x-python",
            icon=":material/download:",
            on_click="ignore",
            key="runs_script",
        )
        st.code(text, language="python", height=420)
