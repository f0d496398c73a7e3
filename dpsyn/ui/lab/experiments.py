"""The experiments of a session: what was asked, what has come of it so far, and the job that runs one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from dpsyn.data.table import Table
from dpsyn.evaluation.experiments import CellResult, Grid, Workspace
from dpsyn.evaluation.experiments.plan import Cell
from dpsyn.ui import jobs, state
from dpsyn.ui.jobs import Job

KIND = "experiment"


@dataclass(eq=False)
class Experiment:
    """One experiment and its results so far.

    Attributes:
        number: within the session.
        name: how to call it.
        dataset, fingerprint: the data that it is about.
        grid: what is to be run.
        target, degrees, classifiers: what is measured.
        references: lines to draw beside every measure; known once the real data has been measured.
        results: by key of the cell.
        stored: the workspace's path and its number there, or None.
    """

    number: int
    name: str
    dataset: str
    fingerprint: str
    grid: Grid
    target: str | None
    degrees: tuple[int, ...]
    classifiers: tuple[str, ...]
    references: dict[str, dict[str, float]] = field(default_factory=dict)
    results: dict[str, CellResult] = field(default_factory=dict)
    stored: tuple[str, int] | None = None
    when: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def cells(self) -> list[Cell]:
        """All cells that differ."""
        return list({cell.key: cell for cell in self.grid.cells()}.values())

    @property
    def missing(self) -> list[Cell]:
        """Cells without a result, or whose process died."""
        return [c for c in self.cells if c.key not in self.results or self.results[c.key].status == "crashed"]

    @property
    def facts(self) -> dict[str, Any]:
        """What a workspace keeps beside grid and results."""
        return {
            "target": self.target,
            "degrees": list(self.degrees),
            "classifiers": list(self.classifiers),
            "references": self.references,
        }


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


def of_current_data() -> list[Experiment]:
    """Those about the current dataset as it is now, newest first."""
    learn, held_out = state.dataset().parts
    mark = fingerprint(learn, held_out)
    return [e for e in reversed(all_experiments()) if e.fingerprint == mark]


def add(name: str, grid: Grid, target: str | None, degrees: Sequence[int], classifiers: Sequence[str]) -> Experiment:
    """A new experiment about the current dataset; kept in the workspace if there is one."""
    current = state.dataset()
    learn, held_out = current.parts
    new = Experiment(
        number=state.next_number("experiment"),
        name=name,
        dataset=current.table.name,
        fingerprint=fingerprint(learn, held_out),
        grid=grid,
        target=target,
        degrees=tuple(degrees),
        classifiers=tuple(classifiers),
    )
    all_experiments().append(new)
    keep(new)
    return new


def keep(experiment: Experiment) -> None:
    """Write an experiment and its results to the workspace, if there is one."""
    workspace = state.workspace()
    if workspace is None:
        return
    mark, facts = experiment.fingerprint, experiment.facts
    name, grid = experiment.name, experiment.grid
    number = workspace.add_grid(experiment.dataset, mark, name, grid, facts, made=experiment.when)
    experiment.stored = (str(workspace.path), number)
    for result in experiment.results.values():
        workspace.add_result(number, result)


def number_in(workspace: Workspace | None, stored: tuple[str, int] | None) -> int | None:
    """The number of something under which this workspace keeps it."""
    return stored[1] if workspace is not None and stored is not None and stored[0] == str(workspace.path) else None


def rename(experiment: Experiment, name: str) -> None:
    """Call an experiment something else, in the workspace too."""
    experiment.name = name
    workspace = state.workspace()
    number = number_in(workspace, experiment.stored)
    if workspace is not None and number is not None:
        workspace.rename_grid(number, name)


def remove(experiment: Experiment) -> None:
    """Forget an experiment, in the workspace too."""
    all_experiments().remove(experiment)
    workspace = state.workspace()
    number = number_in(workspace, experiment.stored)
    if workspace is not None and number is not None:
        workspace.remove_grid(number)


def start(experiment: Experiment) -> None:
    """Run the cells that are missing, in the background."""
    learn, held_out = state.dataset().parts
    state.set_job(
        jobs.start(
            "dpsyn.ui.tasks:run_experiment",
            label=experiment.name,
            context={"kind": KIND, "experiment": experiment, "taken": 0},
            cells=experiment.missing,
            table=learn,
            holdout=held_out,
            target=experiment.target,
            degrees=experiment.degrees,
            classifiers=experiment.classifiers,
            workers=min(2, os.cpu_count() or 1),
        )
    )


def take_in(job: Job) -> int:
    """Move what the job has handed out since the last time into its experiment, and into the workspace; how many results."""
    experiment: Experiment = job.context["experiment"]
    records = job.records()
    workspace = state.workspace()
    number = number_in(workspace, experiment.stored)
    new = 0
    for record in records[job.context["taken"] :]:
        if "references" in record:
            experiment.references = record["references"]
            if workspace is not None and number is not None:
                workspace.set_facts(number, experiment.facts)
        elif "result" in record:
            result = CellResult.from_dict(record["result"])
            experiment.results[result.key] = result
            new += 1
            if workspace is not None and number is not None:
                workspace.add_result(number, result)
    job.context["taken"] = len(records)
    return new


def running_of(experiment: Experiment) -> Job | None:
    """The job that runs this experiment now."""
    job = state.job()
    return job if job is not None and job.context.get("experiment") is experiment else None
