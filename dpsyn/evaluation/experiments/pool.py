"""Worker processes that outlive each other: one that dies costs the cell it was at, and nothing else.

Each computes with one thread: as many workers as processors would otherwise start as many threads each.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

from dpsyn.evaluation.experiments.plan import Cell, config_to_dict
from dpsyn.evaluation.experiments.run import CellResult, run_cell
from dpsyn.evaluation.report import Baseline

POLL = 0.2
"""Seconds between two looks at whether the work is paused."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Event:
    """A cell has begun in a worker, or has ended with a result."""

    kind: Literal["begun", "ended"]
    cell: Cell
    result: CellResult | None
    worker: int


def run_in_pool(
    cells: Sequence[Cell],
    baseline: Baseline,
    *,
    workers: int = 2,
    paused: Callable[[], bool] = lambda: False,
    run: Callable[[Cell, Baseline], CellResult] = run_cell,
) -> Iterator[Event]:
    """Run cells in ``workers`` processes and tell of each as it begins and as it ends.

    A process that dies turns its cell into a result ``"crashed"`` and is replaced; so does one that raises, which keeps
    its process. While ``paused`` no new cell is begun. Closing the iterator kills the workers.

    Args:
        cells: what to run.
        baseline: the data, handed to every worker once.
        workers: number of processes.
        paused: asked several times a second.
        run: what to do with a cell; a function of a module.
    """
    payload = pickle.dumps((baseline, run), protocol=pickle.HIGHEST_PROTOCOL)
    waiting = deque(cells)
    crew: dict[int, _Worker] = {}
    try:
        while waiting or any(worker.cell for worker in crew.values()):
            if not paused():
                yield from _hand_out(waiting, crew, payload, workers)
            busy = {worker.connection: number for number, worker in crew.items() if worker.cell is not None}
            for ready in wait(list(busy), timeout=POLL):
                number = busy[ready]  # type: ignore[index]
                cell = crew[number].cell
                if cell is None:
                    continue
                result = crew[number].receive()
                if result is None:
                    code = crew.pop(number).end()
                    result = _crashed(cell, f"its process died (exit code {code})")
                else:
                    crew[number].cell = None
                yield Event("ended", cell, result, number)
    finally:
        for worker in crew.values():
            worker.end()


def _hand_out(waiting: deque[Cell], crew: dict[int, _Worker], payload: bytes, workers: int) -> Iterator[Event]:
    for number in range(workers):
        if not waiting:
            return
        fresh = number not in crew
        if fresh:
            crew[number] = _Worker(payload)
        worker = crew[number]
        if worker.cell is None:
            cell = waiting.popleft()
            if worker.give(cell):
                yield Event("begun", cell, None, number)
                continue
            code = crew.pop(number).end()
            if fresh:
                # Not put back: a machine on which every process dies as it starts would try for ever.
                yield Event("ended", cell, _crashed(cell, f"its process died as it started (exit code {code})"), number)
            else:
                waiting.appendleft(cell)


class _Worker:
    def __init__(self, payload: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far = context.Pipe()
        self.cell: Cell | None = None
        self.process = context.Process(target=_work, args=(far,), daemon=True)
        self.process.start()
        far.close()
        # A process that is gone already is found out when it is given a cell.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(payload)

    def give(self, cell: Cell) -> bool:
        """Hand over a cell; False if the worker has died meanwhile."""
        try:
            self.connection.send(cell)
        except (BrokenPipeError, ConnectionResetError):
            return False
        self.cell = cell
        return True

    def receive(self) -> CellResult | None:
        """What the worker sent; None if it is gone."""
        try:
            message = self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None
        if isinstance(message, CellResult):
            return message
        return None if self.cell is None else _crashed(self.cell, str(message))

    def end(self) -> int | None:
        """Kill the process; its exit code."""
        self.process.join(timeout=0 if self.process.is_alive() and self.cell is None else 0.5)
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode


def _crashed(cell: Cell, why: str) -> CellResult:
    return CellResult(
        key=cell.key,
        label=cell.label,
        mechanism=cell.config.name,
        value=cell.value,
        repeat=cell.repeat,
        status="crashed",
        message=why,
        settings=config_to_dict(cell.config),
    )


def _work(connection: Connection[Any, Any]) -> None:
    """A worker's life: the data, then one cell after another until the other side hangs up."""
    from threadpoolctl import threadpool_limits

    # For libraries that are loaded later; those that are there already are limited around every cell.
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        baseline, run = pickle.loads(connection.recv_bytes())
        while True:
            cell = connection.recv()
            try:
                with threadpool_limits(1):
                    result: CellResult | str = run(cell, baseline)
            except Exception as fault:  # noqa: BLE001  # the process boundary: one cell's fault is told, not the worker's end
                result = f"it stopped unexpectedly ({type(fault).__name__}: {fault})"
            connection.send(result)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
