"""What the background process can be asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsyn.mechanisms.base import Mechanism, Progress, Release
from dpsyn.table import Table

if TYPE_CHECKING:
    from dpsyn.evaluation.experiments.plan import Cell


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
    from dpsyn.evaluation.experiments.run import references, run_cells
    from dpsyn.evaluation.report import real_baseline
    from dpsyn.kit.worker import hand_out, paused

    progress("measuring the real data against itself", 0.0)
    baseline = real_baseline(table, holdout, target, degrees=degrees, classifiers=classifiers)
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
