"""Running the cells of an experiment: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Literal, get_args

from dpsyn import checks
from dpsyn.errors import ParameterError
from dpsyn.evaluation.baseline import Baseline, real_baseline
from dpsyn.evaluation.experiments.plan import Cell, Grid
from dpsyn.evaluation.experiments.results import CellResult, Results, checked_results
from dpsyn.evaluation.experiments.run import run_cell
from dpsyn.evaluation.prediction import DEFAULT_MODELS
from dpsyn.evaluation.report import references
from dpsyn.kit.faults import innermost
from dpsyn.mechanisms.base import Progress, no_progress
from dpsyn.solvers.executors import connected
from dpsyn.table import Table

Backend = Literal["here", "joblib", "dask"]
POLL = 0.2
"""Seconds between two looks at whether the work is paused."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
Run = Callable[[Cell, Baseline], CellResult]


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
