"""The child process of a background job: reads one task from standard input, writes its outcome to standard output.

Standard input: a pickled pair ("module:function", keyword arguments). Standard output: a pickled :class:`Outcome`.
Standard error: one JSON line ``{"step": …, "share": …}`` per step, and ``{"record": …}`` for what is handed out on the way.
The descriptor named by the environment variable ``CONTROL`` holds one byte that says whether to pause; ``SHARE`` holds the
bytes of memory that the process may take, and ``FOLDER`` where it puts its files. Started by
:func:`dpsyn.kit.jobs.start`, which imports this module under its name: run as ``__main__`` its classes could not be
unpickled on the other side.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import resource
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import psutil

from dpsyn.errors import DpsynError
from dpsyn.kit import faults
from dpsyn.memory import allow
from dpsyn.notation import gigabytes

CONTROL, SHARE, FOLDER = "DPSYN_JOB_CONTROL", "DPSYN_JOB_MEMORY", "DPSYN_JOB_FOLDER"
PAUSE = b"P"
WITHOUT_ROOM = 74
"""How it exits where it can write no more."""
NO_ROOM = (
    "The server's folder for temporary files (TMPDIR) cannot be written to, or is full. Make room there, then try again: "
    "your data and releases are still here."
)
_WATCH = 1.0
_NICE = 5
"""Pages answer before work goes on."""


@dataclass(frozen=True)
class Outcome:
    """Either a value, or a message for the user (and for an unforeseen error its details for the log, without its words)."""

    value: Any = None
    error: str | None = None
    details: str | None = None


def report(step: str, share: float) -> None:
    """Tell the parent which step begins and how much is done."""
    sys.stderr.write(json.dumps({"step": step, "share": share}) + "\n")
    sys.stderr.flush()


def hand_out(record: Any) -> None:
    """Give the parent a piece of plain data at once, so that it is not lost whatever comes next."""
    sys.stderr.write(json.dumps({"record": record}) + "\n")
    sys.stderr.flush()


def paused() -> bool:
    """Whether the parent asks to begin nothing new."""
    descriptor = os.environ.get(CONTROL)
    return descriptor is not None and os.pread(int(descriptor), 1, 0) == PAUSE


def too_much_memory(share: int) -> str:
    """What to tell the visitor whose job took more than its share."""
    return (
        f"The run needs more memory than its share of this server, {gigabytes(share)}: take fewer columns, bins, rows or a "
        "lower degree. Whoever runs the server can allow more (DPSYN_MEMORY, DPSYN_WORKERS)."
    )


def _keep_to_share() -> None:
    """Refuse memory beyond the share to this process, its libraries not counted."""
    share = int(os.environ[SHARE])
    allow(share)
    # Not all systems count what is taken so; the scheduler looks at what is in use, too.
    with suppress(OSError, ValueError, AttributeError):
        limit = share + psutil.Process().memory_info().data
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _end_with_parent() -> None:
    """End this process and all that it has started as soon as the parent is gone: nobody would take the outcome."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        if FOLDER in os.environ:
            shutil.rmtree(os.environ[FOLDER], ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def run(task: str, arguments: dict[str, Any]) -> Outcome:
    """Call ``module:function`` with the arguments and with ``progress=report``."""
    module, _, function = task.partition(":")
    try:
        return Outcome(value=getattr(import_module(module), function)(**arguments, progress=report))
    except DpsynError as error:
        return Outcome(error=str(error))
    except MemoryError:
        return Outcome(error=too_much_memory(int(os.environ[SHARE])))
    except Exception as error:  # the process boundary: nothing may be lost, and nothing may hang
        if _for_want_of_room(error):
            raise
        return Outcome(
            error=faults.sentence(error), details=f"identifier {faults.identifier(error)}: {faults.places(error)}"
        )


def _for_want_of_room(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    """Run the one task of this process."""
    try:
        _main()
    except OSError as error:
        if not _for_want_of_room(error):
            raise
        os._exit(WITHOUT_ROOM)


def _main() -> None:
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # so that a library's print cannot spoil the outcome
    report("starting", 0.0)
    _end_with_parent()
    os.nice(_NICE)
    task, arguments = pickle.load(sys.stdin.buffer)
    _keep_to_share()
    with out:
        pickle.dump(run(task, arguments), out, protocol=pickle.HIGHEST_PROTOCOL)
    # Libraries' threads may abort the process while it is taken down (pyarrow's, after a file that cannot be read).
    os._exit(0)
