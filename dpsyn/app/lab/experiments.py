"""The experiments of a session: what was asked, what has come of it so far, and the job that runs one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from dpsyn.app import state
from dpsyn.data.source import DataSource
from dpsyn.errors import DataError
from dpsyn.evaluation.experiments import CellResult, Grid, Workspace
from dpsyn.evaluation.experiments.plan import Cell
from dpsyn.kit import jobs, visit
from dpsyn.kit.jobs import Job
from dpsyn.table import Table

T = TypeVar("T")


@dataclass(eq=False)
class Experiment:
    """One experiment and its results so far.

    Attributes:
        number: within the session.
        name: how to call it.
        dataset, fingerprint: the data that it is about.
        data: its columns and its held-out share; None if it was kept without them.
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
    data: DataSource | None = None
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
            "data": None if self.data is None else self.data.to_dict(),
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


def by_data() -> tuple[list[Experiment], list[Experiment]]:
    """Those about the current dataset as it is now, and all others; newest first."""
    current = visit.dataset()
    mark = fingerprint(*current.parts)
    own = [e for e in reversed(all_experiments()) if e.fingerprint == mark]
    for experiment in own:
        if experiment.data is None:
            # It was kept without its columns. They are those of the same rows.
            experiment.data = current.source
            _keep_facts(experiment)
    return own, [e for e in reversed(all_experiments()) if e.fingerprint != mark]


def add(name: str, grid: Grid, target: str | None, degrees: Sequence[int], classifiers: Sequence[str]) -> Experiment:
    """A new experiment about the current dataset; kept in the workspace if there is one."""
    current = visit.dataset()
    learn, held_out = current.parts
    new = Experiment(
        number=visit.next_number("experiment"),
        name=name,
        dataset=current.table.name,
        fingerprint=fingerprint(learn, held_out),
        grid=grid,
        target=target,
        degrees=tuple(degrees),
        classifiers=tuple(classifiers),
        data=current.source,
    )
    all_experiments().append(new)
    keep(new)
    return new


def keep(experiment: Experiment) -> None:
    """Write an experiment and its results to the workspace, if there is one."""

    def write(workspace: Workspace) -> None:
        mark, facts = experiment.fingerprint, experiment.facts
        name, grid = experiment.name, experiment.grid
        number = workspace.add_grid(experiment.dataset, mark, name, grid, facts, made=experiment.when)
        experiment.stored = (str(workspace.path), number)
        keep_again(experiment, workspace, number)

    state.with_workspace(write)


def keep_again(experiment: Experiment, workspace: Workspace, number: int) -> None:
    """Write all that can change of an experiment which the workspace keeps under this number."""
    workspace.rename_grid(number, experiment.name)
    workspace.set_facts(number, experiment.facts)
    for result in experiment.results.values():
        workspace.add_result(number, result)


def _keep_facts(experiment: Experiment) -> None:
    in_workspace(experiment.stored, lambda workspace, number: workspace.set_facts(number, experiment.facts))


def in_workspace(stored: tuple[str, int] | None, do: Callable[[Workspace, int], T]) -> T | None:
    """What ``do`` makes of something that the open workspace keeps, by its number there; None if it keeps it not."""
    if stored is None:
        return None
    path, number = stored
    return state.with_workspace(lambda workspace: do(workspace, number) if path == str(workspace.path) else None)


def rename(experiment: Experiment, name: str) -> None:
    """Call an experiment something else, in the workspace too."""
    experiment.name = name
    in_workspace(experiment.stored, lambda workspace, number: workspace.rename_grid(number, name))


def remove(experiment: Experiment) -> None:
    """Forget an experiment, in the workspace too."""
    all_experiments().remove(experiment)
    in_workspace(experiment.stored, lambda workspace, number: workspace.remove_grid(number))


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
            _keep_facts(experiment)
        elif "result" in record:
            result = CellResult.from_dict(record["result"])
            experiment.results[result.key] = result
            if in_workspace(experiment.stored, partial(_add_result, result)) is False:
                # Another visit has removed it from the workspace; this one goes on with it.
                keep(experiment)
    job.context["taken"] = len(records)


def _add_result(result: CellResult, workspace: Workspace, number: int) -> bool:
    return workspace.add_result(number, result)


def _crashed(context: Mapping[str, Any], _count: int) -> str | None:
    """What to say of the cells whose process died."""
    crashed = sum(result.status == "crashed" for result in context["experiment"].results.values())
    return f"{crashed} run{'s' * (crashed > 1)} crashed; resume to repeat." if crashed else None


def running_of(experiment: Experiment) -> Job | None:
    """The job that runs this experiment now."""
    job = visit.job()
    return job if job is not None and job.context.get("experiment") is experiment else None
