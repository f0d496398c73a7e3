"""The experiments of a session, and the job that runs one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpsyn.app import state
from dpsyn.errors import DataError
from dpsyn.evaluation.experiments import CellResult, Experiment
from dpsyn.kit import jobs, visit
from dpsyn.kit.jobs import Job
from dpsyn.table import Table


def fingerprint(table: Table, holdout: Table | None) -> str:
    """Tells whether an experiment is about these very rows: a hash of the domain and all codes."""
    mark = hashlib.sha256(json.dumps(table.domain.to_dict(), sort_keys=True, default=str).encode())
    for part in (table, holdout):
        mark.update(b"" if part is None else part.codes.tobytes())
    return mark.hexdigest()[:32]


def all_experiments() -> list[Experiment]:
    """Those of this session, oldest first."""
    found: list[Experiment] = st.session_state.setdefault("experiments", [])
    return found


def by_data() -> tuple[list[Experiment], list[Experiment]]:
    """Those about the current dataset as it is now, and all others; newest first."""
    current = visit.dataset()
    mark = fingerprint(*current.parts)
    own = [e for e in reversed(all_experiments()) if e.fingerprint == mark]
    for experiment in own:
        if experiment.data is None:
            # It was kept without its columns. They are those of the same rows.
            experiment.data = current.source
            _keep_changes(experiment)
    return own, [e for e in reversed(all_experiments()) if e.fingerprint != mark]


def add(experiment: Experiment) -> None:
    """Add it to the session, and to the workspace if there is one."""
    all_experiments().append(experiment)
    state.with_workspace(lambda workspace: workspace.keep(experiment))


def _keep_changes(experiment: Experiment) -> None:
    state.with_workspace(lambda workspace: workspace.keep_changes(experiment))


def rename(experiment: Experiment, name: str) -> None:
    """Call an experiment something else, in the workspace too."""
    experiment.name = name
    _keep_changes(experiment)


def remove(experiment: Experiment) -> None:
    """Forget an experiment, in the workspace too."""
    all_experiments().remove(experiment)
    state.with_workspace(lambda workspace: workspace.remove(experiment))


def start(experiment: Experiment) -> None:
    """Run the cells that are missing, in the background.

    Raises:
        DataError: the data that is open is other data than the experiment's: its rows must not be mixed.
    """
    learn, held_out = visit.dataset().parts
    if fingerprint(learn, held_out) != experiment.fingerprint:
        raise DataError(
            f"{experiment.name} is about other rows or columns than those that are open: open {experiment.dataset}"
        )
    visit.set_job(
        jobs.start(
            "dpsyn.app.tasks:run_experiment",
            label=experiment.name,
            context={"experiment": experiment, "taken": 0, "take_in": take_in, "done": _crashed},
            cells=experiment.missing,
            table=learn,
            holdout=held_out,
            target=experiment.target,
            degrees=experiment.degrees,
            classifiers=experiment.classifiers,
            workers=min(2, os.cpu_count() or 1),
        )
    )


def take_in(job: Job) -> None:
    """Move what the job has handed out since the last time into its experiment, and into the workspace."""
    experiment: Experiment = job.context["experiment"]
    records = job.records()
    for record in records[job.context["taken"] :]:
        if "references" in record:
            experiment.references = record["references"]
            _keep_changes(experiment)
        elif "result" in record:
            _take_result(experiment, CellResult.from_dict(record["result"]))
    job.context["taken"] = len(records)


def _take_result(experiment: Experiment, result: CellResult) -> None:
    experiment.results[result.key] = result
    if state.with_workspace(lambda workspace: workspace.add_result(experiment, result)) is False:
        # Another visit has removed it from the workspace; this one goes on with it.
        state.with_workspace(lambda workspace: workspace.keep(experiment))


def _crashed(context: Mapping[str, Any], _count: int) -> str | None:
    """What to say of the cells whose process died."""
    crashed = sum(result.status == "crashed" for result in context["experiment"].results.values())
    return f"{crashed} run{'s' * (crashed > 1)} crashed; resume to repeat." if crashed else None


def running_of(experiment: Experiment) -> Job | None:
    """The job that runs this experiment now."""
    job = visit.job()
    return job if job is not None and job.context.get("experiment") is experiment else None
