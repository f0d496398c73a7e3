"""The Python that makes the releases on the page again and measures them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpsyn.app.lab.experiments import Experiment
from dpsyn.app.lab.runs import plain
from dpsyn.app.state import Made
from dpsyn.data.source import DataSource
from dpsyn.evaluation.classifiers import DEFAULT_CLASSIFIERS
from dpsyn.evaluation.experiments import Grid, experiment_script
from dpsyn.evaluation.experiments.script import ScriptedRun, releases_script
from dpsyn.evaluation.report import DEGREES, Report
from dpsyn.kit.visit import Dataset
from dpsyn.privacy.spec import PrivacySpec


def code_of(current: Dataset, releases: list[Made]) -> str:
    """The script's text; releases whose settings cannot be written down are named in it."""
    runs = [
        ScriptedRun(made.label, made.config, PrivacySpec(**made.release.settings["requested"]), made.seed)
        for made in releases
        if made.config is not None and plain(made.config) is not None
    ]
    found = st.session_state.get("comparison")
    reports: list[Report] = []
    if found is not None and found["revision"] == current.revision:
        reports = list(found["reports"].values())
    degrees = tuple(reports[0].marginals) if reports else tuple(d for d in DEGREES if d <= len(current.table.domain))
    scores = reports[0].classification if reports else ""
    models = DEFAULT_CLASSIFIERS if isinstance(scores, str) else tuple(s.classifier for s in scores.real.scores)
    return releases_script(
        runs,
        current.source,
        target=found["target"] if reports and found is not None else current.target,
        degrees=degrees,
        classifiers=models,
        left_out=[made.label for made in releases if plain(made.config) is None],
    )


def grid_script(grid: Grid, data: DataSource, target: str | None, degrees: Sequence[int], classifiers: Sequence[str]) -> str:
    """The script that runs an experiment about the data."""
    return experiment_script(
        grid,
        data,
        target=target,
        degrees=tuple(degrees),
        classifiers=tuple(classifiers),
        measure="2-way error, mean" if 2 in degrees else "1-way error, mean",
    )


def script_of(experiment: Experiment) -> str | None:
    """The script that does an experiment again, or None if its columns were not kept."""
    if experiment.data is None:
        return None
    return grid_script(experiment.grid, experiment.data, experiment.target, experiment.degrees, experiment.classifiers)


def code_popover(current: Dataset, releases: list[Made]) -> None:
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
