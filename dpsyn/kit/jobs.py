"""Long work in a process of its own, which a page can watch and kill.

Everything that passes between the two processes lies in files without a name, so private rows never have a path on disk
and nothing is left behind when either side ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from dataclasses import dataclass, field
from typing import IO, Any

from dpsyn.kit.worker import CONTROL, PAUSE, Outcome


@dataclass(eq=False)
class Job:
    """A running or finished task.

    Attributes:
        label: how to call it on a page.
        context: whatever the page wants back with the outcome.
    """

    label: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    messages: IO[bytes]
    control: IO[bytes]
    context: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    paused: bool = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def running(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def pause(self, wanted: bool = True) -> None:
        """Ask the task to begin nothing new, or to go on. Only tasks that look (``worker.paused``) heed it."""
        os.pwrite(self.control.fileno(), PAUSE if wanted else b" ", 0)
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
        step, share = "starting", 0.0
        for line in self._lines():
            try:
                message = json.loads(line)
                step, share = str(message["step"]), float(message["share"])
            except (ValueError, KeyError, TypeError):
                continue
        return step, min(max(share, 0.0), 1.0)

    def outcome(self) -> Outcome:
        """What came of the job, once: waits for its end. A process that died without a word gives an error that says so."""
        self.process.wait()
        self.output.seek(0)
        data = self.output.read()
        self._close()
        if self.process.returncode == 0 and data:
            result = pickle.loads(data)
            if isinstance(result, Outcome):
                return result
        reason = (
            "was stopped by the system, most likely for want of memory" if self.process.returncode < 0 else "ended early"
        )
        return Outcome(error=f"The run {reason}. Nothing else was lost.")

    def cancel(self) -> None:
        """Kill the process and all that it has started; nothing of its work is kept but what was taken from ``records``."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def _close(self) -> None:
        self.output.close()
        self.messages.close()
        self.control.close()

    def _lines(self) -> list[str]:
        # The child shares the file's offset, so read through a position of our own instead of seeking.
        size = os.fstat(self.messages.fileno()).st_size
        return os.pread(self.messages.fileno(), size, 0).decode(errors="replace").splitlines()


def start(task: str, *, label: str, context: dict[str, Any] | None = None, **arguments: Any) -> Job:
    """Start ``module:function(**arguments, progress=…)`` in a process of its own."""
    given = tempfile.TemporaryFile()  # noqa: SIM115  # handed to the child, closed below
    pickle.dump((task, arguments), given, protocol=pickle.HIGHEST_PROTOCOL)
    given.seek(0)
    output, messages, control = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115  # they live as long as the job
    process = subprocess.Popen(
        [sys.executable, "-c", "from dpsyn.kit.worker import main; main()"],
        stdin=given,
        stdout=output,
        stderr=messages,
        close_fds=True,
        pass_fds=(control.fileno(),),
        env={**os.environ, CONTROL: str(control.fileno())},
        start_new_session=True,
    )
    given.close()
    job = Job(label, process, output, messages, control, context or {})
    # A visit that is over drops its job: nobody would take the outcome.
    weakref.finalize(job, _end, process, (output, messages, control))
    return job


def _end(process: subprocess.Popen[bytes], files: tuple[IO[bytes], ...]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for file in files:
        file.close()
