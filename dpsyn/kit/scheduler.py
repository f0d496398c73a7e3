"""Which jobs of all visitors run: so many at once, in turn, each within its share of memory, and only while it is wanted."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import joblib

from dpsyn import memory
from dpsyn.errors import ParameterError
from dpsyn.kit.worker import too_much_memory

if TYPE_CHECKING:
    from dpsyn.kit.jobs import Job

WORKERS, MEMORY = "DPSYN_WORKERS", "DPSYN_MEMORY"
GRACE = 15.0
"""Seconds that a lost connection may take to come back."""
TICK = 0.5
_SMALLEST_SHARE = 1 << 30
_OF_MACHINE = 0.75


@dataclass(frozen=True)
class Limits:
    """What all visitors together may take of the machine.

    Attributes:
        workers: jobs that run at once.
        memory: bytes, of the server and its workers together.
    """

    workers: int
    memory: int

    @property
    def share(self) -> int:
        """Bytes of one worker with all that it starts. The server counts as one more."""
        return self.memory // (self.workers + 1)

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Limits:
        """As the settings say, by default three quarters of the memory there is, and a worker for each processor.

        Raises:
            ParameterError: ``DPSYN_WORKERS`` is no whole number from 1, or ``DPSYN_MEMORY`` no number of gigabytes.
        """
        total = int(_OF_MACHINE * memory.available_memory())
        if settings.get(MEMORY):
            total = int(_number(settings, MEMORY, "a number of gigabytes above 0, such as 8") * 1e9)
        workers = max(1, min(joblib.cpu_count(), total // _SMALLEST_SHARE - 1))
        if settings.get(WORKERS):
            allowed = "a whole number of processes, at least 1"
            count = _number(settings, WORKERS, allowed)
            if count != int(count):
                raise ParameterError(WORKERS, settings[WORKERS], allowed)
            workers = int(count)
        return cls(workers, total)


def _number(settings: Mapping[str, str], name: str, allowed: str) -> float:
    with suppress(ValueError):
        value = float(settings[name])
        if 0 < value < math.inf:
            return value
    raise ParameterError(name, settings[name], allowed)


class Scheduler:
    """The queue of one server. It keeps a job alive only if a workspace does; a visit that is over drops its own."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.RLock()
        self._jobs: weakref.WeakSet[Job] = weakref.WeakSet()
        self._kept: set[Job] = set()
        self._served: dict[str, int] = {}
        self._absent: weakref.WeakKeyDictionary[Job, float] = weakref.WeakKeyDictionary()
        self._turns = 0
        self._watch: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        """Run the job as soon as it is its turn."""
        with self._lock:
            self._jobs.add(job)
            if job.keep is not None:
                self._kept.add(job)
            self._begin()
            if self._watch is None:
                self._watch = threading.Thread(target=self._tend_all, name="jobs", daemon=True)
                self._watch.start()

    def ahead(self, job: Job) -> int:
        """How many waiting jobs have their turn before this one."""
        with self._lock:
            waiting = self._in_turn()
            return waiting.index(job) if job in waiting else 0

    def kept_in(self, folder: str) -> list[Job]:
        """The jobs that this workspace keeps and that have not ended, in their order."""
        with self._lock:
            return sorted((job for job in self._kept if job.kept_in == folder and job.running), key=lambda job: job.number)

    def left_behind(self, folder: str) -> Job | None:
        """The first of them that nobody watches any more."""
        return next((job for job in self.kept_in(folder) if not job.visitor.present), None)

    def tend(self, now: float) -> bool:
        """End what is not wanted or takes too much, begin what has its turn; whether there is anything left to tend."""
        with self._lock:
            for job in [job for job in self._jobs if job.running]:
                if not job.visitor.present:
                    self._tend_absent(job, now)
                else:
                    self._absent.pop(job, None)
                if job.used_memory() > self.limits.share:
                    job.end(too_much_memory(self.limits.share))
            for job in list(self._kept):
                if job.keep is None or (not job.running and (job.closed or not job.visitor.present)):
                    self._take_in(job)
                    self._kept.discard(job)
            self._begin()
            return bool(self._kept) or any(job.running for job in self._jobs)

    def _tend_absent(self, job: Job, now: float) -> None:
        if job.keep is not None:
            self._take_in(job)
        elif now - self._absent.setdefault(job, now) >= GRACE:
            job.end("The run was ended because its page was closed or had lost its connection: start it again.")

    @staticmethod
    def _take_in(job: Job) -> None:
        """Put into the workspace what nobody else takes."""
        if not job.closed and job.keep is not None:
            try:
                job.keep(job)
            except Exception as fault:  # noqa: BLE001  # the watch over all jobs must not end with one of them
                job.keep = None
                job.end(f"What the run brought could not be kept ({type(fault).__name__}).")

    def _in_turn(self) -> list[Job]:
        """What waits, in order: first whoever has the fewest jobs at work, then whose turn was longest ago."""
        waiting = sorted((job for job in self._jobs if job.waiting), key=lambda job: job.number)
        at_work = Counter(job.visitor.name for job in self._jobs if job.running and not job.waiting)
        served, turns = dict(self._served), self._turns
        order = []
        while waiting:
            first = min(waiting, key=lambda job: (at_work[job.visitor.name], served.get(job.visitor.name, 0)))
            waiting.remove(first)
            order.append(first)
            turns += 1
            at_work[first.visitor.name] += 1
            served[first.visitor.name] = turns
        return order

    def _begin(self) -> None:
        free = self.limits.workers - sum(job.running and not job.waiting for job in self._jobs)
        for job in self._in_turn()[: max(free, 0)]:
            self._turns += 1
            self._served[job.visitor.name] = self._turns
            job.begin(self.limits.share)
        known = {job.visitor.name for job in self._jobs if job.running}
        self._served = {name: turn for name, turn in self._served.items() if name in known}

    def _tend_all(self) -> None:
        while True:
            time.sleep(TICK)
            with self._lock:
                if not self.tend(time.monotonic()):
                    self._watch = None
                    return


@cache
def scheduler() -> Scheduler:
    """That of this server.

    Raises:
        ParameterError: ``DPSYN_WORKERS`` or ``DPSYN_MEMORY`` makes no sense.
    """
    limits = Limits.of(os.environ)
    # A page refuses beforehand what no worker may take.
    memory.allow(limits.share)
    return Scheduler(limits)
