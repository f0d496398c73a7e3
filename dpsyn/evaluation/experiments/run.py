"""Running the cells of an experiment: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import json
import pickle
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Literal, get_args

import pandas as pd

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, DataError, DpsynError, ParameterError
from dpsyn.evaluation.baseline import Baseline, real_baseline
from dpsyn.evaluation.experiments.plan import Cell, Grid
from dpsyn.evaluation.experiments.results import Results
from dpsyn.evaluation.prediction import DEFAULT_MODELS
from dpsyn.evaluation.report import evaluate, flat_measures, references
from dpsyn.kit.faults import innermost
from dpsyn.mechanisms.base import Config, Mechanism, Progress, Release, no_progress
from dpsyn.mechanisms.records import config_to_dict
from dpsyn.memory import forget_peak, peak_memory
from dpsyn.privacy.spec import Guarantee, Neighbouring, PrivacySpec
from dpsyn.schema import checked
from dpsyn.solvers.executors import connected
from dpsyn.table import Table

Status = Literal["done", "refused", "failed", "crashed"]
Backend = Literal["here", "joblib", "dask"]
ON_BUDGET = "on budget"
OVER_BUDGET = "over budget"
OTHER_NEIGHBOURS = "other neighbours"
POLL = 0.2
"""Seconds between two looks at whether the work is paused."""
MOST_MEASURES = 200
"""Of a release or a draw: our own have some dozens."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


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
        settings: the configuration.
        measures: one mapping of measure to number for every draw.
        seconds: for the run and its measures.
        processor: seconds of the processor for the run alone.
        gigabytes: the largest memory of the process in that time, of which the real rows and the libraries are a part; 0
            where the system does not tell.

    Raises:
        ParameterError: a field has a value that it cannot have.
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
    settings: dict[str, Any] = field(default_factory=dict)
    measures: tuple[dict[str, float], ...] = ()
    seconds: float = 0.0
    processor: float = 0.0
    gigabytes: float = 0.0

    def __post_init__(self) -> None:
        found: dict[str, Any] = {"key": checks.file_name("key", self.key), "value": checks.number("value", self.value)}
        found |= {
            name: checks.text(name, getattr(self, name), "a text in Unicode") for name in ("label", "mechanism", "message")
        }
        found |= {"status": checks.choice("status", self.status, get_args(Status))}
        found |= {"repeat": checks.whole("repeat", self.repeat, 0)}
        found |= {name: checks.number(name, getattr(self, name), 0.0) for name in ("seconds", "processor", "gigabytes")}
        found |= {name: checks.facts(name, getattr(self, name)) for name in ("asked", "guarantee", "settings")}
        why, most = "numbers by their names, for every draw", checks.LARGEST_SCALE  # their squares are summed
        draws = [checks.mapping("measures", draw, why) for draw in checks.items("measures", self.measures, why)]
        found["measures"] = tuple(
            {checks.text("measures", m, why): checks.number("measures", x, -most, most, why=why) for m, x in draw.items()}
            for draw in draws
        )
        for name, claim in (("asked", self.asked), ("guarantee", self.guarantee)):
            if claim or (found["measures"] and name == "guarantee"):
                checks.number(name, claim.get("epsilon"), 0.0)
                checks.number(name, claim.get("delta"), 0.0)
                checks.choice(name, claim.get("neighbouring"), get_args(Neighbouring))
        if found["measures"] and self.status != "done":
            raise ParameterError("status", self.status, "'done' beside measures; no other run has rows to measure")
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> str:
        """``"over budget"`` marks a mechanism that cannot give what was asked and was run at the ε that it needs, ``"other
        neighbours"`` one that protects a row that is replaced where one more or less was asked for; else ``"on budget"``."""
        if not (self.asked and self.guarantee):
            return ON_BUDGET
        if any(self.guarantee[name] > self.asked[name] * (1 + 1e-9) for name in ("epsilon", "delta")):
            return OVER_BUDGET
        return ON_BUDGET if self.guarantee["neighbouring"] == self.asked["neighbouring"] else OTHER_NEIGHBOURS

    @property
    def line(self) -> str:
        """Which run it was, and how it ended."""
        return f"{self.label} at {self.value:g}, run {self.repeat + 1}: {self.status}"

    @classmethod
    def of(cls, cell: Cell, status: Status, message: str = "") -> CellResult:
        """The result of a cell before anything is known but how it ended."""
        checks.instance("cell", cell, Cell, "one of grid.cells()")
        known = (cell.key, cell.label, cell.config.name, cell.value, cell.repeat)
        # Rows and functions of one's own have no word in JSON but that of their type.
        settings = json.loads(json.dumps(config_to_dict(cell.config), default=lambda value: type(value).__name__))
        return cls(*known, status, message, cell.asked, settings=settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> CellResult:
        """What :meth:`to_dict` wrote down.

        Raises:
            InputError: it is not of that form.
        """
        result = checked(cls, data)
        if not re.fullmatch("[0-9a-f]{24}", result.key):
            raise DataError(f"key: {result.key[:40]!r} is not that of a cell")
        if result.guarantee or result.status == "done":
            Guarantee.from_dict(result.guarantee)
        for draw in result.measures:
            few_enough(draw)
        return result


def few_enough(measures: Mapping[str, float]) -> None:
    """A table has a column for every measure.

    Raises:
        DataError: there are too many.
    """
    if len(measures) > MOST_MEASURES:
        raise DataError(f"measures: {len(measures):,} are too many; at most {MOST_MEASURES} can be shown")


def run_cell(cell: Cell, baseline: Baseline) -> CellResult:
    """Calibrate, run, measure. What a mechanism refuses or fails at is a result; nothing else is caught.

    A mechanism that cannot give what is asked for, but something near it (:func:`calibrated_nearby`), is marked.

    Raises:
        ParameterError: these are no cell and no baseline.
    """
    checks.instance("cell", cell, Cell, "one of grid.cells()")
    checks.instance("baseline", baseline, Baseline, "what real_baseline gives")
    start, processor = time.perf_counter(), time.process_time()
    forget_peak()
    result = CellResult.of(cell, "done")
    try:
        mechanism, table = _prepared(cell, baseline.table.drawn)
    except DpsynError as fault:
        return replace(result, status="refused", message=str(fault), seconds=time.perf_counter() - start)
    generator = cell.generator()
    result = replace(result, guarantee=mechanism.claim(seeded=True).to_dict())
    try:
        release = mechanism(generator, table)
    except DpsynError as fault:
        return replace(result, status="failed", message=str(fault), seconds=time.perf_counter() - start)
    result = replace(result, processor=time.process_time() - processor, gigabytes=peak_memory() / 2**30)
    measures = [_measured(baseline, release.rows)]
    for _ in range(cell.draws - 1):
        again = mechanism.redraw(generator, release)
        if again is None:
            break
        measures.append(_measured(baseline, again))
    claim = release.guarantee.to_dict()
    return replace(result, guarantee=claim, measures=tuple(measures), seconds=time.perf_counter() - start)


def _measured(baseline: Baseline, rows: pd.DataFrame) -> dict[str, float]:
    """What is measured of rows, as far as a result can hold it."""
    found = flat_measures(evaluate(baseline.table, rows, baseline=baseline))
    return {measure: number for measure, number in found.items() if abs(number) <= checks.LARGEST_SCALE}


def make_again(cell: Cell, table: Table, progress: Progress) -> Release:
    """A background job: the release that a run of this cell measured first, row by row, from the same rows to learn from.

    As the workers of :func:`run_cells` it computes with one thread: sums in another order would end in other rows.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        mechanism, rows = _prepared(cell, table)
        return mechanism(cell.generator(), rows, progress)


def _prepared(cell: Cell, table: Table) -> tuple[Mechanism, Table]:
    """What runs for a cell, and the rows that it learns from."""
    if cell.n is not None:
        table = _some_rows(table, cell)
    mechanism = calibrated_nearby(cell.config, cell.spec, table.domain, table.n)
    if mechanism.guarantee.status == "published_but_wrong":
        raise CalibrationError("no ε is known to hold for it, so it cannot be compared with others at the same ε")
    return mechanism, table


def _some_rows(table: Table, cell: Cell) -> Table:
    n = cell.n or 0
    if n > table.n:
        raise ParameterError("n", n, f"at most the {table.n:,} rows that there are to learn from")
    return table.take(cell.rows_generator().choice(table.n, n, replace=False))


def calibrated_nearby(config: Config, spec: PrivacySpec, domain: Domain, n: int) -> Mechanism:
    """A mechanism that gives what is asked for, or else the ε that it needs, or else the same if a row is replaced.

    Raises:
        DpsynError: it can do nothing of this.
    """
    try:
        return config.calibrate(spec, domain, n)
    except DpsynError as fault:
        needed = config.epsilon_needed(spec, domain, n) if isinstance(fault, CalibrationError) else None
        if needed is not None:
            return needed[0].calibrate(replace(spec, epsilon=needed[1]), domain, n)
        if spec.neighbouring == "replace_one":
            raise
        with suppress(DpsynError):
            return calibrated_nearby(config, replace(spec, neighbouring="replace_one"), domain, n)
        raise


@dataclass(frozen=True)
class Event:
    """A cell has begun (no result yet), or has ended with one; ``worker`` is the number of the worker that has it."""

    cell: Cell
    result: CellResult | None = None
    worker: int = 0


def run_cells(
    cells: Sequence[Cell],
    baseline: Baseline,
    *,
    backend: Backend = "joblib",
    workers: int = 2,
    scheduler: str | None = None,
    paused: Callable[[], bool] = lambda: False,
    run: Callable[[Cell, Baseline], CellResult] = run_cell,
) -> Iterator[Event]:
    """Run cells and tell of each as it begins (not on a cluster) and as it ends. Closing the iterator ends the workers.

    A worker process that dies, or a cell that raises there, turns that cell into a result ``"crashed"``; the others go on.

    Args:
        cells: what to run.
        baseline: the data, handed to every worker once.
        backend: ``"joblib"`` for processes on this machine, ``"here"`` for this process, ``"dask"`` for a cluster.
        workers: number of processes; each computes with one thread, or as many would start as many threads each.
        scheduler: address of the Dask scheduler, such as ``"tcp://host:8786"``; its workers need dpsyn.
        paused: while it says so, no new cell is begun; asked several times a second, not on a cluster.
        run: what to do with a cell; a function of a module.

    Raises:
        ParameterError: an unknown backend, or a cluster without its address.
    """
    backend = checks.choice("backend", backend, get_args(Backend))
    workers = checks.whole("workers", workers, 1, 1_000)
    if (scheduler is not None) != (backend == "dask"):
        raise ParameterError("scheduler", scheduler, "the address of a Dask scheduler, together with backend='dask'")
    if backend == "dask":
        assert scheduler is not None
        return _on_cluster(cells, baseline, scheduler, run)
    return _here(cells, baseline, paused, run) if backend == "here" else _in_processes(cells, baseline, workers, paused, run)


Run = Callable[[Cell, Baseline], CellResult]


def _here(cells: Sequence[Cell], baseline: Baseline, paused: Callable[[], bool], run: Run) -> Iterator[Event]:
    for cell in cells:
        while paused():
            time.sleep(POLL)
        yield Event(cell)
        yield Event(cell, run(cell, baseline))


def _on_cluster(cells: Sequence[Cell], baseline: Baseline, scheduler: str, run: Run) -> Iterator[Event]:
    with connected(scheduler) as client:
        from distributed import as_completed

        shared = client.scatter(baseline, broadcast=True)
        # Keys of their own: a cell's key knows nothing of the rows, and a scheduler has one task a key for all its clients.
        of = {client.submit(run, cell, shared, pure=False): cell for cell in cells}
        for future in as_completed(of, loop=client.loop):
            failure = future.exception()
            yield Event(of[future], future.result() if failure is None else _crashed(of[future], _unforeseen(failure)))


def _in_processes(
    cells: Sequence[Cell], baseline: Baseline, workers: int, paused: Callable[[], bool], run: Run
) -> Iterator[Event]:
    waiting = deque(cells)
    crew: dict[int, _Worker] = {}
    try:
        while waiting or any(worker.cell for worker in crew.values()):
            for number in range(workers):
                if waiting and (number not in crew or crew[number].cell is None) and not paused():
                    cell, fresh = waiting.popleft(), number not in crew
                    worker = crew.setdefault(number, _Worker(run, baseline)) if fresh else crew[number]
                    if worker.give(cell):
                        yield Event(cell, None, number)
                        continue
                    code = crew.pop(number).end()
                    if fresh:
                        # Not put back: a machine on which every process dies as it starts would try for ever.
                        yield Event(cell, _crashed(cell, f"its process died as it started (exit code {code})"), number)
                    else:
                        waiting.appendleft(cell)
            busy = {worker.connection: number for number, worker in crew.items() if worker.cell is not None}
            for ready in wait(list(busy), timeout=POLL):
                number = busy[ready]
                ended = crew[number].cell
                assert ended is not None
                result = crew[number].receive()
                if result is None:
                    result = _crashed(ended, f"its process died (exit code {crew.pop(number).end()})")
                yield Event(ended, result, number)
    finally:
        for worker in crew.values():
            worker.end()


class _Worker:
    """A process of its own; loky starts it without running the caller's script again."""

    def __init__(self, run: Run, baseline: Baseline) -> None:
        from joblib.externals.loky.backend import get_context
        from joblib.externals.loky.backend.reduction import dumps

        context = get_context("loky")
        self.connection, far = context.Pipe()
        self.cell: Cell | None = None
        self._written = dumps
        self._process = context.Process(target=_serve, args=(far,), daemon=True, env=dict.fromkeys(_THREADS, "1"))
        self._process.start()
        far.close()
        # A process that is gone already is found out when it is given a cell.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(self._written((run, baseline)))

    def give(self, cell: Cell) -> bool:
        """Hand over a cell; False if the process has died meanwhile."""
        try:
            self.connection.send_bytes(self._written(cell))
        except (BrokenPipeError, ConnectionResetError):
            return False
        self.cell = cell
        return True

    def receive(self) -> CellResult | None:
        """The result of the cell that it has; None if the process is gone."""
        cell, self.cell = self.cell, None
        assert cell is not None
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            return None
        return message if isinstance(message, CellResult) else _crashed(cell, str(message))

    def end(self) -> int | None:
        """Kill the process; its exit code."""
        self._process.join(timeout=0 if self._process.is_alive() and self.cell is None else 0.5)
        self._process.terminate()
        self._process.join()
        self.connection.close()
        return int(self._process.exitcode)


def _serve(connection: Connection[Any, Any]) -> None:
    """A worker's life: the data, then one cell after another until the other side hangs up."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches all; whoever started this process ends it
    with suppress(EOFError, OSError):
        run, baseline = pickle.loads(connection.recv_bytes())
        while True:
            cell = pickle.loads(connection.recv_bytes())
            try:
                with threadpool_limits(1):
                    result: CellResult | str = run(cell, baseline)
            except Exception as fault:  # noqa: BLE001  # the process boundary: one cell's fault is told, not the worker's end
                result = _unforeseen(fault)
            connection.send(result)


def _unforeseen(fault: BaseException) -> str:
    return f"it stopped unexpectedly ({innermost(fault)})"


def _crashed(cell: Cell, why: str) -> CellResult:
    return CellResult.of(cell, "crashed", why)


def run_grid(
    grid: Grid,
    table: Table,
    *,
    holdout: Table | None = None,
    target: str | None = None,
    degrees: tuple[int, ...] = (1, 2),
    models: Sequence[str] = DEFAULT_MODELS,
    baseline: Baseline | None = None,
    backend: Backend = "joblib",
    workers: int = 2,
    scheduler: str | None = None,
    done: Iterable[CellResult] = (),
    on_result: Callable[[CellResult], None] | None = None,
    progress: Progress = no_progress,
) -> Results:
    """Run the cells that are not done yet; results come in the order of the grid.

    Args:
        grid: the experiment.
        table: the real rows to learn from.
        holdout: real rows kept for testing, see :func:`~dpsyn.evaluation.report.evaluate`.
        target: the column that models predict.
        degrees: numbers of columns of the tables that are compared.
        models: which ones to train.
        baseline: instead of these, if it has been made already.
        backend: see :func:`run_cells`, as for ``workers`` and ``scheduler``.
        workers: processes.
        scheduler: address of the Dask scheduler.
        done: results of an earlier, interrupted run: their cells are not run again, unless they crashed.
        on_result: called with every new result as it arrives; what it keeps survives an interruption.
        progress: told of every run that ends, with the time left, and the share that is done; ``print`` will do.

    Raises:
        ParameterError: an unknown backend, or a cluster without its address.
    """
    checks.instance("grid", grid, Grid, "an experiment, Grid(...)")
    if on_result is not None:
        checks.function("on_result", on_result, "a function of a result, or None")
    checks.function("progress", progress, checks.PROGRESS)
    if baseline is None:
        progress("measuring the real data against itself", 0.0)
        baseline = real_baseline(table, holdout, target, degrees=degrees, models=models)
    checks.instance("baseline", baseline, Baseline, "what real_baseline gives, or None")
    found = kept(grid, done)
    cells = list(grid.cells())
    waiting = {cell.key: cell for cell in cells if cell.key not in found}
    before, begun = len(found), time.monotonic()
    for event in run_cells(list(waiting.values()), baseline, backend=backend, workers=workers, scheduler=scheduler):
        if event.result is not None:
            found[event.cell.key] = event.result
            share = (len(found) - before) / len(waiting)
            left = (time.monotonic() - begun) * (1 / share - 1)
            progress(f"{event.result.line}; about {left:,.0f} s left", share)
            if on_result is not None:
                on_result(event.result)
    return Results([found[key] for key in dict.fromkeys(cell.key for cell in cells)], grid, references(baseline))


def kept(grid: Grid, done: Iterable[CellResult]) -> dict[str, CellResult]:
    """Results of cells of this experiment by their keys, under the names it has for them; not of processes that died."""
    cells = {cell.key: cell for cell in grid.cells()}
    found = [result for result in checked_results("done", done) if result.key in cells and result.status != "crashed"]
    return {r.key: replace(r, label=cells[r.key].label, value=cells[r.key].value) for r in found}


def checked_results(field: str, results: Iterable[CellResult]) -> list[CellResult]:
    """Results of cells, as :func:`run_grid` gives them.

    Raises:
        ParameterError: they are something else.
    """
    why = "a list of results, as run_grid gives them"
    return [checks.instance(field, result, CellResult, why) for result in checks.items(field, results, why)]


def run_experiment(cells: list[Cell], workers: int, progress: Progress, **real: Any) -> int:
    """A background job: run cells in worker processes; how many there were.

    Handed out on the way: ``{"references": …, "notes": …}`` once, and ``{"result": …}`` for every cell as it ends.

    Args:
        cells: what to run.
        workers: number of processes.
        progress: told of what runs.
        real: as :func:`~dpsyn.evaluation.baseline.real_baseline` takes it.
    """
    from dpsyn.kit.worker import hand_out, paused

    progress("measuring the real data against itself", 0.0)
    baseline = real_baseline(**real)
    hand_out({"references": references(baseline), "notes": list(baseline.notes)})
    count = 0
    running: dict[int, str] = {}
    progress("starting the workers", 0.0)
    for event in run_cells(cells, baseline, workers=workers, paused=paused):
        if event.result is None:
            running[event.worker] = f"{event.cell.label} at {event.cell.value:g}, run {event.cell.repeat + 1}"
        else:
            running.pop(event.worker, None)
            count += 1
            hand_out({"result": event.result.to_dict()})
        progress("; ".join(running.values()) or "waiting", count / len(cells))
    return count
