"""What the jobs of :mod:`tests.kit.test_jobs` do: in a module that takes their processes no time to import."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dpsyn.errors import ParameterError
from dpsyn.kit import worker


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


def hand_out_and_vanish(progress):
    worker.hand_out({"number": 1})
    worker.hand_out({"number": 2})
    os.kill(os.getpid(), signal.SIGKILL)


def wait_until_paused_and_back(progress):
    while not worker.paused():
        time.sleep(0.02)
    worker.hand_out("paused")
    while worker.paused():
        time.sleep(0.02)
    return "back"


def have_a_child(progress):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    worker.hand_out(child.pid)
    child.wait()


def fill_the_disk(progress):
    raise OSError(errno.ENOSPC, "No space left on device")


def lose_a_file(progress):
    raise FileNotFoundError(errno.ENOENT, "No such file")


def answer_without_room(progress):
    class Full:
        def __reduce__(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    return Full()


def spill_and_linger(progress):
    with tempfile.TemporaryDirectory(prefix="dpsyn-") as folder:
        (Path(folder) / "rows").write_text("private")
        worker.hand_out(folder)
        time.sleep(600)
