"""``dpsyn experiment``: an experiment from a TOML file, its results in a workspace folder."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpsyn import checks
from dpsyn.cli.reading import noted, schema_of
from dpsyn.cli.terminal import DONE, NOTHING, Progress, note, remark
from dpsyn.data.samples import SAMPLES, load_sample
from dpsyn.errors import DataError, ParameterError, quoted
from dpsyn.evaluation.baseline import real_baseline
from dpsyn.evaluation.experiments import DataSource, Experiment, Grid, Workspace, config_from_dict, references, run_grid
from dpsyn.evaluation.experiments.marks import fingerprint, is_of
from dpsyn.evaluation.experiments.plan import DRAWS, REPEATS, mechanisms_as_they_come, standard_degrees
from dpsyn.evaluation.experiments.pool import Backend, kept
from dpsyn.evaluation.experiments.results import CellResult, Results
from dpsyn.evaluation.prediction import DEFAULT_MODELS
from dpsyn.mechanisms.base import Config
from dpsyn.mechanisms.registry import config_class
from dpsyn.notation import counted
from dpsyn.places import locked, unreadable
from dpsyn.privacy.spec import Neighbouring, PrivacySpec
from dpsyn.schema import checked
from dpsyn.table import Table


@dataclass(frozen=True)
class Plan:
    """What the file may say; ``dpsyn experiment --help`` has an example."""

    data: str | None = None
    sample: str | None = None
    schema: str | None = None
    columns: list[str] | None = None
    target: str | None = None
    held_out: float = 0.25
    split_seed: int = 0
    degrees: list[int] | None = None
    models: list[str] = field(default_factory=lambda: list(DEFAULT_MODELS))
    epsilon: float = 1.0
    delta: float = 1e-5
    neighbouring: Neighbouring = "replace_one"
    vary: str = "epsilon"
    values: list[float] | None = None
    repeats: int = REPEATS
    draws: int = DRAWS
    seed: int = 0
    mechanisms: dict[str, dict[str, Any]] = field(default_factory=dict)


def read_plan(data: bytes) -> Plan:
    """What a TOML file asks for.

    Raises:
        DataError: it is no TOML, or says what is not known; the message names it.
    """
    try:
        found = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise DataError(f"the experiment is no TOML: {fault}") from fault
    known = [each.name for each in fields(Plan)]
    unknown = sorted(found.keys() - set(known))
    if unknown:
        raise DataError(f"{quoted(unknown[0])} is nothing that an experiment has; there are {', '.join(known)}")
    plan = checked(Plan, found)
    if plan.sample is not None:
        checks.choice("sample", plan.sample, SAMPLES)
    for place in (plan.data, plan.schema):
        if place is not None and "\0" in place:
            raise DataError(f"{quoted(place)} is the name of no file: it holds a zero byte")
    if (plan.data is None) == (plan.sample is None):
        raise DataError('an experiment names its data: data = "people.csv", or sample = "asia"')
    return plan


def plan_of(file: str) -> tuple[Plan, list[Path]]:
    """What a file asks for, and all files that it takes."""
    try:
        plan = read_plan(Path(file).read_bytes())
    except OSError as fault:
        raise unreadable(file, fault) from fault
    return plan, [Path(file), *(Path(file).parent / one for one in (plan.data, plan.schema) if one is not None)]


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """The folder, which is made if it is not there, without any other run in it; a new one goes if nothing came into it.

    Raises:
        DataError: there is another run.
    """
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    with locked(folder, wait=False) as free:
        if not free:
            raise DataError(
                f"another run of {folder} is going on: wait until it has ended, or --output names another folder"
            )
        try:
            yield
        except BaseException:
            if is_new and not any(folder.glob("*/*")):
                shutil.rmtree(folder)
            raise


def run(file: str, plan: Plan, folder: Path, *, resume: bool, workers: int, quiet: bool) -> tuple[Results, int]:
    """Run what is missing of an experiment, every result into the folder as it arrives; the results and an exit code.

    The folder is there, and no other run is in it (:func:`alone_in`).
    """
    checks.whole("split_seed", plan.split_seed, 0)
    table = _table(plan, Path(file).parent)
    learn, held_out = table.split(plan.held_out, np.random.default_rng(plan.split_seed))
    grid = _grid(plan, learn)
    degrees = tuple(plan.degrees or standard_degrees(len(table.domain)))
    source = DataSource(plan.sample or str(plan.data), table.domain, plan.sample is not None, plan.held_out, plan.split_seed)
    experiment = Experiment(
        number=1,
        name=Path(file).stem,
        dataset=table.name,
        fingerprint=fingerprint(learn, held_out),
        grid=grid,
        target=plan.target,
        degrees=degrees,
        models=tuple(plan.models),
        data=source,
    )
    workspace = Workspace(folder)
    before = _before(workspace, experiment)
    if before is not None:
        if not resume:
            raise DataError(
                f"{folder} has results of this experiment: --resume goes on with it, --output names another folder"
            )
        experiment = replace(experiment, key=before.key, when=before.when, results=kept(grid, list(before.results.values())))
        note(f"{len(experiment.results):,} of {len(experiment.cells):,} runs are there already")
        dropped = before.results.keys() - experiment.results.keys()
        if dropped:
            note(f"{counted(len(dropped), 'result')} that {quoted(file)} no longer asks for left the experiment")
    with Progress(experiment.name, quiet=quiet) as progress:
        progress("measuring the real data against itself", 0.0)
        baseline = real_baseline(learn, held_out, plan.target, degrees=degrees, models=experiment.models)
        for said in baseline.notes:
            note(said)
        experiment.references = references(baseline)
        workspace.keep(experiment)
        total = len(experiment.cells)

        def keep(result: CellResult) -> None:
            experiment.results[result.key] = result
            workspace.add_result(experiment, result)
            done = total - len(experiment.missing)
            progress(result.line, done / total)

        done = list(experiment.results.values())
        backend: Backend = "here" if workers == 1 else "joblib"
        try:
            results = run_grid(grid, learn, baseline=baseline, done=done, on_result=keep, backend=backend, workers=workers)
        except KeyboardInterrupt:
            note(f"what has run is kept in {folder}: go on with --resume")
            raise
    private = "" if learn.domain.is_public else "; with values and ranges that were read off your rows: keep it to yourself"
    note(f"the results are in {folder}{private}")
    ended = {result.status for result in results}
    return results, NOTHING if "crashed" in ended or "done" not in ended else DONE


def _table(plan: Plan, beside: Path) -> Table:
    domain = None if plan.schema is None else schema_of(str(beside / plan.schema))
    if plan.sample is None:
        return noted(beside / str(plan.data), domain=domain, columns=plan.columns)
    table = load_sample(plan.sample)
    table = table if domain is None else table.with_domain(domain)
    for said in table.notes:
        remark(said)
    return table if plan.columns is None else table.project(plan.columns)


def _grid(plan: Plan, learn: Table) -> Grid:
    configs = {label: _config(label, settings, plan.target) for label, settings in plan.mechanisms.items()}
    as_it_comes = [plan.epsilon] if plan.vary == "epsilon" else []
    grid = Grid(
        configs or mechanisms_as_they_come(learn, plan.target),
        PrivacySpec(plan.epsilon, plan.delta, plan.neighbouring),
        vary=plan.vary,
        values=as_it_comes if plan.values is None else plan.values,
        repeats=plan.repeats,
        draws=plan.draws,
        seed=plan.seed,
    )
    if grid.vary == "n" and grid.values[-1] > learn.n:
        raise ParameterError("values", grid.values[-1], f"at most the {learn.n:,} rows that there are to learn from")
    return grid


def _config(label: str, settings: Mapping[str, Any], target: str | None) -> Config:
    """The settings of the file; a mechanism that needs a target and names none has that of the experiment."""
    if "mechanism" not in settings:
        raise DataError(f'[mechanisms.{label}] names no mechanism, such as mechanism = "noisy_reweighting"')
    kind = config_class(settings["mechanism"])
    predicts = target is not None and kind.as_it_comes(1, None) is None
    # What a file leaves out is as it usually is, and not as it was before there was such a setting.
    usual = {one.name: one.default for one in fields(kind) if one.name in kind.added_later}
    return config_from_dict(usual | ({"target": target} if predicts else {}) | dict(settings))


def _before(workspace: Workspace, experiment: Experiment) -> Experiment | None:
    """The newest experiment of the folder that measures the same of the same rows, under the same name. If there is none but
    others of that name, a note says what sets the newest of them apart."""
    found = workspace.read()
    for said in found.set_aside:
        note(f"set aside: {said}")
    named = [e for e in reversed(found.experiments) if e.name == experiment.name]
    before = next((e for e in named if not _apart(e, experiment)), None)
    if before is None and named:
        apart = " and ".join(_apart(named[0], experiment))
        note(f"the experiment {quoted(experiment.name)} in {workspace.folder} {apart}: nothing of it is taken over")
    return before


def _apart(before: Experiment, experiment: Experiment) -> list[str]:
    """Of what other data an earlier experiment is, and what else it measures."""
    found = []
    if not is_of(before.fingerprint, experiment.fingerprint):
        was, new = before.data or experiment.data, experiment.data
        told = {"domain": "rows or domain", "held_out": "held_out", "split_seed": "split_seed"}
        source = [said for name, said in told.items() if getattr(was, name) != getattr(new, name)]
        found.append(f"is of other data ({', '.join(source or ['rows'])})")
    measured = [name for name in ("target", "degrees", "models") if getattr(before, name) != getattr(experiment, name)]
    return found + ([f"measures other things ({', '.join(measured)})"] if measured else [])
