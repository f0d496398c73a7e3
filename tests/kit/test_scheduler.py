"""The queue of the server: turns, limits, visitors who go, memory, work that a workspace keeps."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

import pytest

from dpsyn import memory
from dpsyn.errors import ParameterError
from dpsyn.kit import scheduler as module
from dpsyn.kit import worker
from dpsyn.kit.jobs import Job
from dpsyn.kit.scheduler import GRACE, Limits, Scheduler

GB = 10**9


@dataclass
class Someone:
    """A visitor who can go."""

    name: str
    present: bool = True


@dataclass(eq=False)
class Task(Job):
    """A job that only pretends to work."""

    owner: Someone
    kept_in: str | None = None
    bytes: int = 0
    saved: list[str] = field(default_factory=list)

    def __post_init__(self):
        keep = (lambda job: job.saved.append("kept")) if self.kept_in else None
        super().__init__("task", io.BytesIO(), {}, self.owner, self.kept_in, keep)
        self.state = "waiting"

    def begin(self, memory):
        self.state = "working"

    def end(self, reason):
        self.state = self._ended = reason

    def used_memory(self):
        return self.bytes

    waiting = property(lambda self: self.state == "waiting")
    running = property(lambda self: self.state in ("waiting", "working"))


@pytest.fixture(autouse=True)
def _no_watch(monkeypatch):
    """The tests themselves say when time passes."""
    monkeypatch.setattr(module.threading.Thread, "start", lambda thread: None)


def queue(workers=1, share=GB):
    return Scheduler(Limits(workers, (workers + 1) * share))


def submitted(scheduler, *owners, **facts):
    tasks = [Task(owner, **facts) for owner in owners]
    for task in tasks:
        scheduler.submit(task)
    return tasks


def states(tasks):
    return [task.state for task in tasks]


def test_never_more_work_than_there_are_workers_and_what_waits_follows():
    scheduler = queue(workers=2)
    tasks = submitted(scheduler, *map(Someone, "abcd"))
    assert states(tasks) == ["working", "working", "waiting", "waiting"]
    assert [scheduler.ahead(task) for task in tasks] == [0, 0, 0, 1]
    tasks[0].state = "done"
    assert scheduler.tend(0.0)
    assert states(tasks) == ["done", "working", "working", "waiting"]
    for task in tasks[1:]:
        task.state = "done"
    assert not scheduler.tend(0.0)


def test_visitors_take_turns_however_many_jobs_one_of_them_starts():
    scheduler, many, other, third = queue(), Someone("many"), Someone("other"), Someone("third")
    tasks = submitted(scheduler, many, many, many, other, other, third)
    assert [scheduler.ahead(task) for task in tasks[1:]] == [2, 4, 0, 3, 1]
    order = []
    for _ in tasks:
        [at] = [i for i, task in enumerate(tasks) if task.state == "working"]
        order.append(at)
        tasks[at].state = "done"
        scheduler.tend(0.0)
    assert order == [0, 3, 5, 1, 4, 2]


def test_who_has_a_job_at_work_lets_others_go_first():
    scheduler, busy, other = queue(workers=2), Someone("busy"), Someone("other")
    long, quick = submitted(scheduler, busy, other)
    second, again = submitted(scheduler, busy, other)
    quick.state = "done"
    scheduler.tend(0.0)
    assert (long.state, again.state, second.state) == ("working", "working", "waiting")


@pytest.mark.parametrize("at_work", [True, False])
def test_a_job_ends_when_its_visitor_has_been_gone_for_a_while(at_work):
    scheduler, visitor = queue(), Someone("a")
    [first] = submitted(scheduler, Someone("b") if not at_work else visitor)
    job = first if at_work else submitted(scheduler, visitor)[0]
    visitor.present = False
    scheduler.tend(100.0)
    scheduler.tend(100.0 + 0.9 * GRACE)
    assert job.running
    visitor.present = True
    scheduler.tend(100.0 + GRACE)
    visitor.present = False
    scheduler.tend(101.0 + GRACE)
    assert job.running
    scheduler.tend(101.0 + 2 * GRACE)
    assert not job.running
    assert "its page was closed" in job._ended
    assert GRACE + 2 * module.TICK < 30


def test_a_job_that_a_workspace_keeps_goes_on_and_is_found_again():
    scheduler, visitor = queue(), Someone("a")
    [job] = submitted(scheduler, visitor, kept_in="/folder")
    assert scheduler.left_behind("/folder") is None
    assert scheduler.kept_in("/folder") == [job]
    assert scheduler.kept_in("/other") == []
    visitor.present = False
    scheduler.tend(0.0)
    scheduler.tend(2 * GRACE)
    assert job.running
    assert job.saved
    assert scheduler.left_behind("/other") is None
    assert scheduler.left_behind("/folder") is job
    job.visitor = Someone("back")
    job.saved.clear()
    job.state = "done"
    assert scheduler.tend(3 * GRACE)
    assert job.saved == []
    job.cancel()
    assert not scheduler.tend(3 * GRACE)
    assert job.saved == []


def test_a_job_that_is_kept_no_more_ends_as_others_do():
    scheduler, visitor = queue(), Someone("a", present=False)
    [job] = submitted(scheduler, visitor, kept_in="/folder")
    scheduler.tend(0.0)
    job.keep = None
    job.saved.clear()
    scheduler.tend(0.0)
    assert job not in scheduler._kept
    scheduler.tend(GRACE)
    assert not job.running
    assert job.saved == []


def test_what_a_kept_job_has_brought_is_put_into_the_workspace_at_its_end():
    scheduler, visitor = queue(), Someone("a")
    [job] = submitted(scheduler, visitor, kept_in="/folder")
    visitor.present, job.state = False, "done"
    assert not scheduler.tend(0.0)
    assert job.saved == ["kept"]


def test_work_that_cannot_be_kept_is_ended_and_harms_no_other():
    scheduler, visitor = queue(workers=2), Someone("a", present=False)
    [job] = submitted(scheduler, visitor, kept_in="/folder")
    [other] = submitted(scheduler, Someone("b"))
    job.keep = lambda job: 1 / 0
    scheduler.tend(0.0)
    assert "could not be kept (ZeroDivisionError)" in job._ended
    assert other.running


def test_a_worker_beyond_its_share_is_ended_and_its_visitor_told():
    scheduler = queue(share=2 * GB)
    small, large = submitted(scheduler, Someone("a"), Someone("b"))
    small.bytes = 2 * GB
    scheduler.tend(0.0)
    assert small.running
    small.bytes += 1
    scheduler.tend(0.0)
    assert not small.running
    assert "more memory than its share of this server, 2 GB: take fewer columns" in small.outcome().error
    assert large.state == "working"


@pytest.mark.parametrize(
    ("settings", "workers", "total"),
    [
        ({}, 4, 12 * 2**30),
        ({"DPSYN_WORKERS": "7"}, 7, 12 * 2**30),
        ({"DPSYN_MEMORY": "4.5"}, 3, int(4.5e9)),
        ({"DPSYN_MEMORY": "0.5"}, 1, int(0.5e9)),
    ],
)
def test_limits_follow_the_machine_and_the_settings(monkeypatch, settings, workers, total):
    monkeypatch.setattr(memory, "available_memory", lambda: 16 * 2**30)
    monkeypatch.setattr(module.joblib, "cpu_count", lambda: 4)
    assert Limits.of(settings) == Limits(workers, total)
    assert Limits(3, 8 * GB).share == 2 * GB


@pytest.mark.parametrize("name", ["DPSYN_WORKERS", "DPSYN_MEMORY"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "many"])
def test_limits_that_make_no_sense_are_refused_by_name(name, value):
    with pytest.raises(ParameterError) as caught:
        Limits.of({name: value})
    assert caught.value.field == name


def test_half_a_worker_is_refused():
    with pytest.raises(ParameterError, match="whole number"):
        Limits.of({"DPSYN_WORKERS": "1.5"})


def take(progress, size):
    return len(bytearray(size))


@pytest.mark.parametrize(("size", "fits"), [(100 << 20, True), (400 << 20, False)])
def test_the_system_refuses_memory_beyond_the_share(size, fits):
    script = (
        "import sys, json; from dpsyn.kit import worker; from tests.kit.test_scheduler import *; worker._keep_to_share();"
        f"found = worker.run('tests.kit.test_scheduler:take', {{'size': {size}}});"
        "print(json.dumps([found.value, found.error]))"
    )
    environment = {**os.environ, worker.SHARE: str(300 << 20), "PYTHONPATH": os.getcwd()}
    said = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True).stdout
    value, error = json.loads(said)
    assert (value == size) is fits
    assert (error is None) is fits or "0.31 GB" in error


def test_used_memory_counts_what_a_job_has_started():
    job = Job("test", io.BytesIO(), {}, Someone("a"))
    assert job.used_memory() == 0
    child = "import time; kept = bytearray(200 << 20); time.sleep(60)"
    job._work.process = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{child}'])"],
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while job.used_memory() < 200 << 20:
        assert time.monotonic() < end
        time.sleep(0.05)
    job.cancel()
    assert job.used_memory() == 0
