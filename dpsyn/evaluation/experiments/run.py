"""Running the cells of an experiment: here, in processes of joblib, or on a Dask cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dpsyn.errors import CalibrationError, DpsynError, ParameterError
from dpsyn.evaluation.classifiers import DEFAULT_CLASSIFIERS, RealScores
from dpsyn.evaluation.experiments.plan import Cell, Grid, config_to_dict
from dpsyn.evaluation.report import Baseline, Closeness, Report, evaluate, real_baseline
from dpsyn.mechanisms.base import Mechanism
from dpsyn.table import Table

Status = Literal["done", "refused", "failed", "crashed"]
Backend = Literal["here", "joblib", "dask"]
SCORES = {"accuracy": "accuracy", "ROC-AUC": "auc", "Brier score": "brier", "calibration error": "calibration_error"}
"""Measure of a classifier -> attribute of :class:`~dpsyn.evaluation.classifiers.Score`."""
ON_BUDGET = "on budget"
OVER_BUDGET = "over budget"


@dataclass(frozen=True)
class CellResult:
    """What came of one cell. Plain data, from private rows: for teaching and planning, not for publishing.

    Attributes:
        key, label, mechanism, value, repeat: of the cell.
        status: ``"done"``; ``"refused"`` if no such guarantee exists, ``"failed"`` if the mechanism ended without rows,
            ``"crashed"`` if its process died.
        message: why, unless done.
        asked: ε, δ and neighbouring that the experiment asks of all mechanisms here.
        guarantee: the exact claim of the release.
        budget: ``"over budget"`` marks a mechanism that cannot give what was asked and was run at the ε that it needs.
        settings: the configuration.
        measures: one mapping of measure to number for every draw.
        seconds: for the run and its measures.
    """

    key: str
    label: str
    mechanism: str
    value: float
    repeat: int
    status: Status
    message: str = ""
    asked: dict[str, Any] = field(default_factory=dict)
    guarantee: dict[str, Any] = field(default_factory=dict)
    budget: str = ON_BUDGET
    settings: dict[str, Any] = field(default_factory=dict)
    measures: tuple[dict[str, float], ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CellResult:
        """What :meth:`to_dict` wrote down."""
        return cls(**{**data, "measures": tuple(data["measures"])})


def flat_measures(report: Report) -> dict[str, float]:
    """The numbers of a report by name, those that are defined."""
    found: dict[str, float] = {}
    for degree, error in report.marginals.items():
        found[f"{degree}-way error, mean"] = error.mean
        found[f"{degree}-way error, largest"] = error.max
    found["range queries, mean error"] = report.ranges.mean
    if not isinstance(report.classification, str):
        for score in report.classification.synthetic:
            for name, attribute in SCORES.items():
                value = getattr(score, attribute)
                if value is not None:
                    found[f"{name}, {score.classifier}"] = value
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def references(baseline: Baseline) -> dict[str, dict[str, float]]:
    """What to draw beside every measure: the sampling floor, the real-data ceiling and the majority class.

    The floor is the error of the held-out rows: a yardstick, no bound (see :class:`~dpsyn.evaluation.report.Report`).
    """
    return _lines(baseline.noise_floor, baseline.classification)


def report_references(report: Report) -> dict[str, dict[str, float]]:
    """The :func:`references` that a report holds."""
    found = report.classification
    return _lines(report.noise_floor, found if isinstance(found, str) else found.real)


def _lines(floor: Closeness | None, real: RealScores | str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    if floor is not None:
        for degree, error in floor.marginals.items():
            found[f"{degree}-way error, mean"] = {"sampling floor": error.mean}
            found[f"{degree}-way error, largest"] = {"sampling floor": error.max}
        found["range queries, mean error"] = {"sampling floor": floor.ranges.mean}
    if not isinstance(real, str):
        for score in real.scores:
            for name, attribute in SCORES.items():
                value = getattr(score, attribute)
                if value is not None:
                    found[f"{name}, {score.classifier}"] = {"real data": value, **_chance(name, real)}
    return found


def _chance(name: str, real: RealScores) -> dict[str, float]:
    """What always naming the majority class gives."""
    values = {"accuracy": real.majority_accuracy, "ROC-AUC": 0.5, "Brier score": 2 * (1 - real.majority_accuracy)}
    return {"majority class": values[name]} if name in values else {}


def run_cell(cell: Cell, baseline: Baseline) -> CellResult:
    """Calibrate, run, measure. What a mechanism refuses or fails at is a result; nothing else is caught.

    A mechanism that cannot give the ε asked for, but says which one it needs, is run at that one and marked.
    """
    start = time.perf_counter()
    spec = cell.spec
    result = CellResult(
        key=cell.key,
        label=cell.label,
        mechanism=cell.config.name,
        value=cell.value,
        repeat=cell.repeat,
        status="done",
        asked={"epsilon": spec.epsilon, "delta": spec.delta, "neighbouring": spec.neighbouring},
        settings=config_to_dict(cell.config),
    )
    table = baseline.table
    try:
        if cell.n is not None:
            table = _some_rows(table, cell)
        mechanism, budget = _calibrated(cell, table)
        if mechanism.guarantee.status == "published_but_wrong":
            raise CalibrationError("no ε is known to hold for it, so it cannot be compared with others at the same ε")
    except DpsynError as fault:
        return replace(result, status="refused", message=str(fault), seconds=time.perf_counter() - start)
    result = replace(result, guarantee=mechanism.guarantee.to_dict(), budget=budget)
    generator = cell.generator()
    try:
        release = mechanism(generator, table)
    except DpsynError as fault:
        return replace(result, status="failed", message=str(fault), seconds=time.perf_counter() - start)
    measures = [flat_measures(evaluate(baseline.table, release.rows, baseline=baseline))]
    for _ in range(cell.draws - 1):
        again = mechanism.redraw(generator, release)
        if again is None:
            break
        measures.append(flat_measures(evaluate(baseline.table, again, baseline=baseline)))
    return replace(result, measures=tuple(measures), seconds=time.perf_counter() - start)


def _some_rows(table: Table, cell: Cell) -> Table:
    n = cell.n or 0
    if n > table.n:
        raise ParameterError("n", n, f"at most the {table.n:,} rows that there are to learn from")
    return table.take(cell.rows_generator().choice(table.n, n, replace=False))


def _calibrated(cell: Cell, table: Table) -> tuple[Mechanism, str]:
    try:
        return cell.config.calibrate(cell.spec, table.domain, n=table.n), ON_BUDGET
    except CalibrationError:
        needed = cell.config.epsilon_needed(cell.spec, table.domain, n=table.n)
        if needed is None:
            raise
        config, epsilon = needed
        return config.calibrate(replace(cell.spec, epsilon=epsilon), table.domain, n=table.n), OVER_BUDGET


def run_grid(
    grid: Grid,
    table: Table,
    *,
    holdout: Table | None = None,
    target: str | None = None,
    degrees: tuple[int, ...] = (1, 2),
    classifiers: Sequence[str] = DEFAULT_CLASSIFIERS,
    baseline: Baseline | None = None,
    backend: Backend = "joblib",
    workers: int = 2,
    scheduler: str | None = None,
    done: Iterable[CellResult] = (),
    on_result: Callable[[CellResult], None] | None = None,
) -> list[CellResult]:
    """Run the cells that are not done yet; results come in the order of the grid.

    Args:
        grid: the experiment.
        table: the real rows to learn from.
        holdout: real rows kept for testing, see :func:`~dpsyn.evaluation.report.evaluate`.
        target: the column that classifiers predict.
        degrees: numbers of columns of the tables that are compared.
        classifiers: which ones to train.
        baseline: instead of these, if it has been made already.
        backend: ``"joblib"`` for processes on this machine, ``"here"`` for this process, ``"dask"`` for a cluster.
        workers: processes of joblib.
        scheduler: address of the Dask scheduler, such as ``"tcp://host:8786"``; the workers need dpsyn.
        done: results of an earlier, interrupted run: their cells are not run again, unless they crashed.
        on_result: called with every new result as it arrives; what it keeps survives an interruption.

    Raises:
        ParameterError: an unknown backend, or a cluster without its address.
    """
    if backend not in ("here", "joblib", "dask"):
        raise ParameterError("backend", backend, "'here', 'joblib' or 'dask'")
    if (scheduler is not None) != (backend == "dask"):
        raise ParameterError("scheduler", scheduler, "the address of a Dask scheduler, together with backend='dask'")
    if baseline is None:
        baseline = real_baseline(table, holdout, target, degrees=degrees, classifiers=classifiers)
    found = {result.key: result for result in done if result.status != "crashed"}
    cells = list(grid.cells())
    waiting = {cell.key: cell for cell in cells if cell.key not in found}
    stream = {"here": _here, "joblib": _joblib, "dask": _dask}[backend]
    for result in stream(list(waiting.values()), baseline, workers, scheduler):
        found[result.key] = result
        if on_result is not None:
            on_result(result)
    return [found[key] for key in dict.fromkeys(cell.key for cell in cells)]


def _here(cells: list[Cell], baseline: Baseline, workers: int, scheduler: str | None) -> Iterator[CellResult]:
    for cell in cells:
        yield run_cell(cell, baseline)


def _joblib(cells: list[Cell], baseline: Baseline, workers: int, scheduler: str | None) -> Iterator[CellResult]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator_unordered", inner_max_num_threads=1)
    yield from parallel(delayed(run_cell)(cell, baseline) for cell in cells)


def _dask(cells: list[Cell], baseline: Baseline, workers: int, scheduler: str | None) -> Iterator[CellResult]:
    try:
        from distributed import Client, as_completed
    except ImportError as fault:
        raise ParameterError("backend", "dask", "pip install 'dpsyn[cluster]' brings what it needs") from fault
    with Client(scheduler) as client:
        shared = client.scatter(baseline, broadcast=True)
        futures = [client.submit(run_cell, cell, shared, key=f"dpsyn-{cell.key}", pure=False) for cell in cells]
        for future in as_completed(futures):
            yield future.result()
