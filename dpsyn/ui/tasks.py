"""What the background process can be asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsyn.data.table import Table
from dpsyn.mechanisms.base import Mechanism, Progress, Release

if TYPE_CHECKING:
    from dpsyn.data.large import FileStatistics
    from dpsyn.evaluation.experiments.plan import Cell
    from dpsyn.evaluation.local_loss import LocalLoss
    from dpsyn.mechanisms.private_sampling import PrivateSampling
    from dpsyn.theory.calibration import Calibration


def run_mechanism(mechanism: Mechanism, table: Table, seed: int | None, progress: Progress) -> Release:
    """One release; a seed makes it a demonstration."""
    generator = None if seed is None else np.random.default_rng(seed)
    return mechanism(generator, table, progress)


def compare(
    releases: Mapping[str, Release],
    table: Table,
    holdout: Table | None,
    target: str | None,
    degrees: tuple[int, ...],
    classifiers: tuple[str, ...],
    progress: Progress,
) -> dict[str, Any]:
    """Reports for several releases against the same real data: ``{name: Report}``."""
    from dpsyn.evaluation.report import evaluate, real_baseline

    progress("measuring the real data against itself", 0.05)
    baseline = real_baseline(table, holdout, target, degrees=degrees, classifiers=classifiers)
    reports = {}
    for i, (name, release) in enumerate(releases.items()):
        progress(f"measuring {name}", 0.3 + 0.7 * i / len(releases))
        reports[name] = evaluate(table, release.rows, holdout=holdout, target=target, degrees=degrees, baseline=baseline)
    return reports


def count_file(path: str, two_valued_as_bit: bool, progress: Progress) -> FileStatistics:
    """Statistics of a file of any size, read from a path on this machine."""
    from dpsyn.data.large import file_statistics

    return file_statistics(path, wide="leave_out", two_valued_as_bit=two_valued_as_bit, progress=progress)


def calibrate_machine(progress: Progress) -> Calibration:
    """Time the programs of private sampling on small sizes."""
    from dpsyn.theory.calibration import calibrate

    return calibrate(progress=progress)


def run_experiment(
    cells: list[Cell],
    table: Table,
    holdout: Table | None,
    target: str | None,
    degrees: tuple[int, ...],
    classifiers: tuple[str, ...],
    workers: int,
    progress: Progress,
) -> int:
    """Run cells in worker processes; how many there were.

    Handed out on the way: ``{"references": …, "notes": …}`` once, and ``{"result": …}`` for every cell as it ends.
    """
    from dpsyn.evaluation.experiments.pool import run_in_pool
    from dpsyn.evaluation.experiments.run import references
    from dpsyn.evaluation.report import real_baseline
    from dpsyn.ui.worker import hand_out, paused

    progress("measuring the real data against itself", 0.0)
    baseline = real_baseline(table, holdout, target, degrees=degrees, classifiers=classifiers)
    hand_out({"references": references(baseline), "notes": list(baseline.notes)})
    count = 0
    running: dict[int, str] = {}
    progress("starting the workers", 0.0)
    for event in run_in_pool(cells, baseline, workers=workers, paused=paused):
        if event.result is None:
            running[event.worker] = f"{event.cell.label} at {event.cell.value:g}, run {event.cell.repeat + 1}"
        else:
            running.pop(event.worker, None)
            count += 1
            hand_out({"result": event.result.to_dict()})
        progress("; ".join(running.values()) or "waiting", count / len(cells))
    return count


def search_neighbours(config: PrivateSampling, table: Table, tries: int, seed: int, progress: Progress) -> LocalLoss:
    """The largest loss of private sampling among neighbours of the table, on the S that the seed draws."""
    from dpsyn.evaluation.local_loss import local_loss

    return local_loss(config, table, tries=tries, generator=np.random.default_rng(seed), progress=progress)
