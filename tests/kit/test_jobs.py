"""Background jobs: results, progress, messages instead of tracebacks, cancelling, a killed process."""

from __future__ import annotations

import errno
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from dpsyn.errors import DataError
from dpsyn.kit import jobs, worker
from tests.kit import tasks


def start(function, **arguments):
    return jobs.start(f"{function.__module__}:{function.__name__}", label="test", **arguments)


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_a_value_comes_back_with_its_progress():
    job = start(tasks.answer, value=21)
    wait_for(lambda: not job.running)
    assert job.progress() == ("thinking", 0.5)
    outcome = job.outcome()
    assert (outcome.value, outcome.error) == (42, None)


def test_our_own_errors_come_back_as_their_message():
    outcome = start(tasks.refuse).outcome()
    assert outcome.error == "rows = 0 is not possible: at least 1"
    assert outcome.details is None


def test_an_unforeseen_error_is_a_message_with_details_apart():
    outcome = start(tasks.crash).outcome()
    mark = re.search(r"identifier (\w+)", outcome.error)[1]
    assert outcome.details.startswith(f"identifier {mark}: RuntimeError")
    assert "in crash" in outcome.details
    assert "boom" not in outcome.error + outcome.details


@pytest.mark.parametrize("task", [tasks.fill_the_disk, tasks.answer_without_room])
def test_without_room_for_temporary_files_a_run_says_so(task):
    outcome = start(task).outcome()
    assert outcome.error == f"The run could not go on. {worker.NO_ROOM}"
    assert outcome.details is None


def test_another_fault_of_the_system_is_an_unforeseen_one():
    assert "did not foresee" in start(tasks.lose_a_file).outcome().error


@pytest.mark.parametrize("files", [0, 1])
def test_nor_is_it_begun(files, monkeypatch):
    open_file, made = tempfile.TemporaryFile, []

    def full(*arguments, **options):
        if len(made) == files:
            raise OSError(errno.ENOSPC, "No space left on device")
        made.append(open_file(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(DataError) as caught:
        start(tasks.answer, value=1)
    assert str(caught.value) == f"'test' was not begun (No space left on device). {worker.NO_ROOM}"


@pytest.mark.parametrize("how", ["cancelled", "killed", "dropped"])
def test_what_a_killed_job_has_spilled_goes_with_it(how):
    job = start(tasks.spill_and_linger)
    wait_for(job.records)
    (folder,) = job.records()
    assert Path(folder, "rows").exists()
    if how == "killed":
        os.kill(job.process.pid, signal.SIGKILL)
        assert job.outcome().error
    elif how == "cancelled":
        job.cancel()
    else:
        del job
        gc.collect()
    assert not Path(folder).exists()
    assert not Path(folder).parent.exists()


def test_what_a_killed_server_leaves_is_taken_away_by_its_jobs(tmp_path):
    server = subprocess.Popen(
        [sys.executable, "-c", "from tests.kit.test_jobs import *; job = start(tasks.linger); time.sleep(600)"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[2],
    )
    watched = psutil.Process(server.pid)
    wait_for(lambda: any(child.num_threads() > 1 for child in watched.children()), 60)
    assert len(list(tmp_path.glob("dpsyn-job-*"))) == 1
    server.kill()
    server.wait()
    wait_for(lambda: not list(tmp_path.iterdir()))


def test_cancel_kills_the_process():
    job = start(tasks.linger)
    wait_for(lambda: job.progress()[0] == "lingering")
    assert job.running
    job.cancel()
    assert not job.running
    assert job.process.returncode == -signal.SIGKILL


def test_a_process_that_the_system_kills_is_reported():
    outcome = start(tasks.vanish).outcome()
    assert "memory" in outcome.error


def test_nothing_with_a_name_is_left_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    job = start(tasks.answer, value=1)
    assert [os.listdir(tmp_path / folder) for folder in os.listdir(tmp_path)] == [[]]
    job.outcome()
    assert os.listdir(tmp_path) == []


def test_without_a_process_to_be_had_there_is_a_message(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(jobs.subprocess, "Popen", refuse)
    job = start(tasks.answer, value=1)
    assert not job.running
    assert "could not be started ([Errno 12] Cannot allocate memory): try again later" in job.outcome().error


def test_a_job_that_is_cancelled_while_it_waits_never_begins(monkeypatch):
    monkeypatch.setattr(jobs.scheduler(), "_begin", lambda: None)
    job = start(tasks.answer, value=1)
    assert job.waiting
    assert job.progress() == ("waiting for its turn, you are the next", 0.0)
    job.cancel()
    assert not job.running
    job.begin(1 << 30)
    assert job.process is None
    assert job.outcome().error == "The run was cancelled."


def test_an_unknown_task_is_a_message():
    outcome = jobs.start("dpsyn.evaluation.report:no_such_task", label="test").outcome()
    assert outcome.error is not None


@pytest.fixture(autouse=True)
def _tests_are_importable_by_the_child(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]))


def first_record(job):
    end = time.monotonic() + 60
    while not job.records():
        assert time.monotonic() < end
        time.sleep(0.02)
    return job.records()[0]


def test_what_was_handed_out_survives_a_death():
    job = start(tasks.hand_out_and_vanish)
    job.wait()
    assert job.records() == [{"number": 1}, {"number": 2}]
    assert job.outcome().error is not None


def test_a_task_that_looks_can_be_paused():
    job = start(tasks.wait_until_paused_and_back)
    job.pause()
    assert first_record(job) == "paused"
    assert job.running
    job.pause(False)
    assert job.outcome().value == "back"


def test_a_job_that_a_visit_has_dropped_ends():
    job = start(tasks.linger)
    process = psutil.Process(job.process.pid)
    del job
    gc.collect()
    assert psutil.wait_procs([process], timeout=60)[1] == []


def test_cancelling_ends_what_the_job_has_started():
    job = start(tasks.have_a_child)
    child = psutil.Process(first_record(job))
    job.cancel()
    assert psutil.wait_procs([child], timeout=60)[1] == []


def test_a_job_ends_with_the_process_that_started_it():
    script = "from tests.kit.test_jobs import *; job = start(tasks.have_a_child); "
    script += "print(first_record(job), flush=True); os._exit(0)"
    parent = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    pid = int(parent.stdout)
    end = time.monotonic() + 60
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.05)
