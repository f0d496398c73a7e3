"""Background jobs: results, progress, messages instead of tracebacks, cancelling, a killed process."""

from __future__ import annotations

import os
import signal
import time

import pytest

from dpsyn.errors import ParameterError
from dpsyn.ui import jobs


def answer(progress, value):
    progress("thinking", 0.5)
    print("a library that prints must not spoil the result")  # noqa: T201
    return value * 2


def refuse(progress):
    raise ParameterError("rows", 0, "at least 1")


def crash(progress):
    raise RuntimeError("boom")


def linger(progress):
    progress("lingering", 0.25)
    time.sleep(600)


def vanish(progress):
    os.kill(os.getpid(), signal.SIGKILL)


def start(function, **arguments):
    return jobs.start(f"{__name__}:{function.__name__}", label="test", **arguments)


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_a_value_comes_back_with_its_progress():
    job = start(answer, value=21)
    wait_for(lambda: not job.running)
    assert job.progress() == ("thinking", 0.5)
    outcome = job.outcome()
    assert (outcome.value, outcome.error) == (42, None)


def test_our_own_errors_come_back_as_their_message():
    outcome = start(refuse).outcome()
    assert outcome.error == "rows = 0 is not possible: at least 1"
    assert outcome.details is None


def test_an_unforeseen_error_is_a_message_with_details_apart():
    outcome = start(crash).outcome()
    assert outcome.error == "The run stopped unexpectedly (RuntimeError)."
    assert "boom" in outcome.details


def test_cancel_kills_the_process():
    job = start(linger)
    wait_for(lambda: job.progress()[0] == "lingering")
    assert job.running
    job.cancel()
    assert not job.running
    assert job.process.returncode == -signal.SIGKILL


def test_a_process_that_the_system_kills_is_reported():
    outcome = start(vanish).outcome()
    assert "memory" in outcome.error


def test_nothing_with_a_name_is_left_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    job = start(answer, value=1)
    assert os.listdir(tmp_path) == []
    job.outcome()
    assert os.listdir(tmp_path) == []


def test_an_unknown_task_is_a_message():
    outcome = jobs.start("dpsyn.ui.tasks:no_such_task", label="test").outcome()
    assert outcome.error is not None


@pytest.fixture(autouse=True)
def _tests_are_importable_by_the_child(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]))
