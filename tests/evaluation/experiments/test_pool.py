"""Workers that die, stumble, pause and are stopped."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import struct
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from dpsyn.data.samples import load_sample
from dpsyn.evaluation.baseline import Baseline, real_baseline
from dpsyn.evaluation.experiments import Grid
from dpsyn.evaluation.experiments.pool import Event, _serve, run_cells
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.privacy.spec import PrivacySpec
from tests.evaluation.experiments import fakes

CELLS = list(Grid({"a": NoisyReweighting()}, PrivacySpec(1.0), repeats=4).cells())


@pytest.fixture(scope="module")
def baseline() -> Baseline:
    return real_baseline(load_sample("asia").take(np.arange(50)), degrees=(1,), queries=1)


def ended(events: list[Event]) -> dict[int, str]:
    return {e.cell.repeat: e.result.status for e in events if e.result is not None}


def test_all_cells_run_in_other_processes(baseline: Baseline) -> None:
    events = list(run_cells(CELLS, baseline, workers=2, run=fakes.work))
    assert ended(events) == dict.fromkeys(range(4), "done")
    processes = {e.result.measures[0]["process"] for e in events if e.result is not None}
    assert os.getpid() not in processes
    assert len(processes) <= 2
    assert [e.result for e in events].count(None) == 4


def test_a_worker_computes_with_one_thread(baseline: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name)
    found = [e.result for e in run_cells(CELLS[:2], baseline, workers=1, run=fakes.count_threads) if e.result is not None]
    assert [r.status for r in found] == ["done", "done"]
    for result in found:
        (threads,) = result.measures
        assert any("openblas" in name or "mkl" in name for name in threads)
        assert set(threads.values()) == {1.0}


def test_a_worker_that_dies_costs_its_cell_only(baseline: Baseline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSYN_TEST_MARK", str(tmp_path / "died"))
    events = list(run_cells(CELLS, baseline, workers=2, run=fakes.die_once))
    assert ended(events) == {0: "done", 1: "crashed", 2: "done", 3: "done"}
    (message,) = [e.result.message for e in events if e.result is not None and e.result.status == "crashed"]
    assert "died" in message
    again = [c for c in CELLS if c.repeat == 1]
    assert ended(list(run_cells(again, baseline, workers=1, run=fakes.die_once))) == {1: "done"}


def test_a_worker_that_dies_before_it_has_the_data_costs_its_cell_only(baseline: Baseline) -> None:
    killed = []

    def kill_the_first() -> None:
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            for process in psutil.Process().children():
                if "popen_loky" in " ".join(process.cmdline()):
                    process.kill()
                    killed.append(process.pid)
                    return
            time.sleep(0.001)

    # More than a pipe holds: the data is still on its way when the process dies.
    heavy = functools.partial(fakes.work_with, b"x" * 5_000_000)
    killer = threading.Thread(target=kill_the_first)
    killer.start()
    found = ended(list(run_cells(CELLS, baseline, workers=1, run=heavy)))
    killer.join()
    assert killed
    assert sorted(found.values()) == ["crashed", "done", "done", "done"]


def test_a_worker_that_stumbles_goes_on(baseline: Baseline) -> None:
    events = list(run_cells(CELLS, baseline, workers=1, run=fakes.stumble))
    assert ended(events) == {0: "done", 1: "crashed", 2: "done", 3: "done"}
    (message,) = [e.result.message for e in events if e.result is not None and e.result.status == "crashed"]
    assert "(ZeroDivisionError at evaluation/experiments/fakes.py:" in message
    assert "one over none" not in message


def test_nothing_begins_while_paused(baseline: Baseline) -> None:
    begun: list[Event] = []

    def paused() -> bool:
        return len(begun) >= 1 and time.monotonic() < until

    until = time.monotonic() + 4
    starts = []
    for event in run_cells(CELLS, baseline, workers=1, paused=paused, run=fakes.work):
        if event.result is None:
            begun.append(event)
            starts.append(time.monotonic())
    assert len(starts) == 4
    assert starts[1] >= until


def test_stopping_leaves_no_process(baseline: Baseline) -> None:
    events = run_cells(CELLS, baseline, workers=2, run=fakes.sleep)
    assert next(events).result is None
    workers = [p for p in psutil.Process().children(recursive=True) if "popen_loky" in " ".join(p.cmdline())]
    assert workers
    events.close()
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert len(gone) == len(workers)
    assert alive == []


@pytest.mark.parametrize("sent", [b"", struct.pack("!i", 100), struct.pack("!i", 100) + b"a part of it"])
def test_a_worker_ends_quietly_when_the_other_side_ends_within_a_message(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    near, far = multiprocessing.Pipe()
    os.write(near.fileno(), sent)
    near.close()
    _serve(far)
    far.close()
