"""Long work in a process of its own, which a page can watch and kill.

Everything that passes between the two processes lies in files without a name, so private rows never have a path on disk
and nothing is left behind when either side ends. An engine that runs out of memory spills rows to the job's own folder,
which goes with the job, also where the job was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from itertools import count
from typing import IO, Any

import psutil

from dpsyn.errors import DataError, quoted
from dpsyn.kit import visitor
from dpsyn.kit.scheduler import scheduler
from dpsyn.kit.visitor import Visitor
from dpsyn.kit.worker import CONTROL, FOLDER, NO_ROOM, PAUSE, SHARE, WITHOUT_ROOM, Outcome

_WAIT = 0.02


_numbers = count(1)


class _Work:
    """The process of a job, once it has begun, and the files between the two: what has to end with the job."""

    def __init__(self, given: IO[bytes]) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.folder: str | None = None
        self.given = given
        self.output, self.messages, self.control = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115  # they live as long as the job

    def kill(self) -> None:
        """End the process and all that it has started."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def drop(self) -> None:
        """Let go of everything."""
        self.kill()
        for file in (self.given, self.output, self.messages, self.control):
            file.close()


class Job:
    """A waiting, running or finished task.

    Attributes:
        label: how to call it on a page.
        context: whatever the page wants back with the outcome.
        visitor: for whom it is.
        number: jobs in the order in which they were asked for.
        kept_in: folder of the workspace that keeps its work, so that it goes on without its visitor.
        keep: puts into that workspace what the job has brought so far, while nobody looks.
        started: when it began, or was asked for.
    """

    def __init__(
        self,
        label: str,
        given: IO[bytes],
        context: dict[str, Any],
        visitor: Visitor,
        kept_in: str | None = None,
        keep: Callable[[Job], None] | None = None,
    ) -> None:
        self.label, self.context, self.visitor, self.kept_in, self.keep = label, context, visitor, kept_in, keep
        self.number = next(_numbers)
        self.started = time.monotonic()
        self.paused = False
        self._work = _Work(given)
        self._ended: str | None = None
        self._outcome: Outcome | None = None
        self._taking = threading.Lock()
        # A visit that is over drops its job: nobody would take the outcome.
        weakref.finalize(self, self._work.drop)

    def begin(self, memory: int) -> None:
        """Start the process, which may take so many bytes. For the scheduler."""
        self.started = time.monotonic()
        try:
            self._begin(memory)
        except (OSError, ValueError) as fault:  # no process to be had, or cancelled at this very moment
            self.end(f"The run could not be started ({fault}): try again later.")
        if self._ended is not None:
            self._work.kill()

    def _begin(self, memory: int) -> None:
        work = self._work
        work.folder = tempfile.mkdtemp(prefix="dpsyn-job-")
        work.process = subprocess.Popen(
            [sys.executable, "-c", "from dpsyn.kit.worker import main; main()"],
            stdin=work.given,
            stdout=work.output,
            stderr=work.messages,
            close_fds=True,
            pass_fds=(work.control.fileno(),),
            env={
                **os.environ,
                CONTROL: str(work.control.fileno()),
                SHARE: str(memory),
                FOLDER: work.folder,
                "TMPDIR": work.folder,
            },
            start_new_session=True,
        )

    def end(self, reason: str) -> None:
        """End it for a reason that whoever asks for its outcome is told. For the scheduler."""
        self._ended = self._ended or reason
        self._work.kill()

    def used_memory(self) -> int:
        """Bytes that the process and all that it has started hold for themselves."""
        used = 0
        if self._work.process is not None:
            with contextlib.suppress(psutil.Error):
                first = psutil.Process(self._work.process.pid)
                for process in [first, *first.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        found = process.memory_info()
                        used += found.rss - getattr(found, "shared", 0)
        return used

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The worker, once it has begun."""
        return self._work.process

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def waiting(self) -> bool:
        """Whether it has not begun yet."""
        return self.process is None and self._ended is None

    @property
    def running(self) -> bool:
        """Whether it waits or works."""
        return self.waiting or (self.process is not None and self.process.poll() is None)

    @property
    def closed(self) -> bool:
        """Whether its outcome was taken, or it was cancelled."""
        return self._work.output.closed

    def wait(self) -> None:
        """Wait for its end."""
        while self.running:
            time.sleep(_WAIT)

    def pause(self, wanted: bool = True) -> None:
        """Ask the task to begin nothing new, or to go on. Only tasks that look (``worker.paused``) heed it."""
        os.pwrite(self._work.control.fileno(), PAUSE if wanted else b" ", 0)
        self.paused = wanted

    def records(self) -> list[Any]:
        """Everything that the task has handed out on its way (``worker.hand_out``), also after its end or death."""
        found = []
        for line in self._lines():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and "record" in message:
                found.append(message["record"])
        return found

    def progress(self) -> tuple[str, float]:
        """The newest step and the share of the work done."""
        if self.waiting:
            ahead = scheduler().ahead(self)
            return f"waiting for its turn, {ahead} before you" if ahead else "waiting for its turn, you are the next", 0.0
        step, share = "starting", 0.0
        for line in self._lines():
            try:
                message = json.loads(line)
                step, share = str(message["step"]), float(message["share"])
            except (ValueError, KeyError, TypeError):
                continue
        return step, min(max(share, 0.0), 1.0)

    def outcome(self) -> Outcome:
        """What came of the job: waits for its end. A process that died without a word gives an error that says so."""
        self.wait()
        with self._taking:
            if self._outcome is None:
                self._outcome = self._read()
            return self._outcome

    def _read(self) -> Outcome:
        if self.closed:
            return Outcome(error=self._ended or "The run was cancelled.")
        self._work.output.seek(0)
        data = self._work.output.read()
        self._work.drop()
        code = None if self.process is None else self.process.returncode
        if code == 0 and data:
            result = pickle.loads(data)
            if isinstance(result, Outcome):
                return result
        if self._ended is not None:
            return Outcome(error=self._ended)
        if code == WITHOUT_ROOM:
            return Outcome(error=f"The run could not go on. {NO_ROOM}")
        reason = "was stopped by the system, most likely for want of memory" if code and code < 0 else "ended early"
        return Outcome(error=f"The run {reason}. Nothing else was lost.")

    def cancel(self) -> None:
        """Kill the process and all that it has started; nothing of its work is kept but what was taken from ``records``."""
        self.end("The run was cancelled.")
        self._work.drop()

    def _lines(self) -> list[str]:
        if self.closed:
            return []
        # The child shares the file's offset, so read through a position of our own instead of seeking.
        size = os.fstat(self._work.messages.fileno()).st_size
        return os.pread(self._work.messages.fileno(), size, 0).decode(errors="replace").splitlines()


def start(task: str, *, label: str, context: dict[str, Any] | None = None, **arguments: Any) -> Job:
    """Have ``module:function(**arguments, progress=…)`` run in a process of its own, as soon as it is the visitor's turn.

    Where a workspace keeps what the job brings, its context says so by ``kept_in`` and ``keep``: see :class:`Job`.

    Raises:
        ParameterError: the limits that were set for this server make no sense.
        DataError: what the task needs cannot be written to the folder for temporary files.
    """
    queue = scheduler()
    context = context or {}
    try:
        with contextlib.ExitStack() as opened:
            given = opened.enter_context(tempfile.TemporaryFile())
            pickle.dump((task, arguments), given, protocol=pickle.HIGHEST_PROTOCOL)
            given.seek(0)
            job = Job(label, given, context, visitor.current(), context.get("kept_in"), context.get("keep"))
            opened.pop_all()  # it is the job's now
    except OSError as fault:
        raise DataError(f"{quoted(label)} was not begun ({fault.strerror}). {NO_ROOM}") from fault
    queue.submit(job)
    return job
