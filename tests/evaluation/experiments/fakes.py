"""Cells' work for tests of the machinery, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from dpsyn.evaluation.experiments.plan import Cell
from dpsyn.evaluation.experiments.run import CellResult
from dpsyn.evaluation.report import Baseline


def result_of(cell: Cell) -> CellResult:
    """A result that says which process made it."""
    return CellResult(
        key=cell.key,
        label=cell.label,
        mechanism=cell.config.name,
        value=cell.value,
        repeat=cell.repeat,
        status="done",
        measures=({"process": float(os.getpid())},),
    )


def work(cell: Cell, baseline: Baseline) -> CellResult:
    """Nothing but a result."""
    return result_of(cell)


def work_with(weight: bytes, cell: Cell, baseline: Baseline) -> CellResult:
    """Nothing but a result, with something heavy to carry."""
    return result_of(cell)


def count_threads(cell: Cell, baseline: Baseline) -> CellResult:
    """How many threads the linear algebra that is loaded by then would use, and the classifiers that are loaded now."""
    import numpy as np
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
    from threadpoolctl import threadpool_info

    np.ones((4, 4)) @ np.ones((4, 4))
    counts = {f"{pool['filepath']}": float(pool["num_threads"]) for pool in threadpool_info()}
    return replace(result_of(cell), measures=({"sklearn": float(_openmp_effective_n_threads()), **counts},))


def die_once(cell: Cell, baseline: Baseline) -> CellResult:
    """Kill the own process at the second repeat, unless the file named by the environment says that it has happened."""
    mark = Path(os.environ["DPSYN_TEST_MARK"])
    if cell.repeat == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return result_of(cell)


def stumble(cell: Cell, baseline: Baseline) -> CellResult:
    """Raise something unforeseen at the second repeat."""
    if cell.repeat == 1:
        raise ZeroDivisionError("one over none")
    return result_of(cell)


def sleep(cell: Cell, baseline: Baseline) -> CellResult:
    """Take a minute."""
    time.sleep(60)
    return result_of(cell)
