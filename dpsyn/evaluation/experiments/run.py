"""Running one cell of an experiment, and making its release again."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

import pandas as pd

from dpsyn import checks
from dpsyn.domain import Domain
from dpsyn.errors import CalibrationError, DpsynError, ParameterError
from dpsyn.evaluation.baseline import Baseline
from dpsyn.evaluation.experiments.plan import Cell
from dpsyn.evaluation.experiments.results import CellResult
from dpsyn.evaluation.report import evaluate, flat_measures
from dpsyn.mechanisms.base import Config, Mechanism, Progress, Release
from dpsyn.memory import forget_peak, peak_memory
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.table import Table


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
