"""Cells' work for tests of the machinery, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpsyn.domain import Domain
from dpsyn.evaluation.baseline import Baseline
from dpsyn.evaluation.experiments.plan import Cell
from dpsyn.evaluation.experiments.results import CellResult
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.privacy.spec import Guarantee, PrivacySpec


def result_of(cell: Cell) -> CellResult:
    """A result that says which process made it."""
    claim = Guarantee(cell.spec.epsilon, cell.spec.delta, cell.spec.neighbouring, "a fake").to_dict()
    claim["assumptions"] = []  # as JSON has it
    return replace(CellResult.of(cell, "done"), guarantee=claim, measures=({"process": float(os.getpid())},))


@dataclass(frozen=True)
class DiesOnce(NoisyReweighting):
    """Its process dies the first time that it is run."""

    def calibrate(self, spec: PrivacySpec, domain: Domain, n: int) -> Any:
        """Kill the own process, unless the file named by the environment says that it has happened."""
        mark = Path(os.environ["DPSYN_TEST_MARK"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().calibrate(spec, domain, n)


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
