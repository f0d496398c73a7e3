"""Jobs that begin as copies of this process, which has imported everything: half of the time of a short job is imports.

The processes that the app starts by themselves are tried in ``tests/kit/test_jobs.py`` and in the browser.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import IO, Any, NoReturn

import pytest
from joblib.externals.loky import backend

from dpsyn.kit import jobs
from dpsyn.kit.worker import _end_with_parent, main


class Forked:
    """As much of ``subprocess.Popen`` as jobs use."""

    def __init__(
        self, args: list[str], *, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], env: dict[str, str], **_: Any
    ) -> None:
        self.args, self.returncode, self._lock = args, None, threading.Lock()
        told, tell = os.pipe()
        gc.freeze()  # old jobs that were collected in the copy would end those of this process
        self.pid = os.fork()
        if self.pid == 0:
            _work((stdin, stdout, stderr), env, tell)
        gc.unfreeze()
        os.close(tell)
        os.read(told, 1)  # until it leads its own group of processes
        os.close(told)

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        with self._lock:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
            return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        """The exit code, once it has ended."""
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        """As the system kills what takes too much memory."""
        os.kill(self.pid, signal.SIGKILL)


def _work(files: tuple[IO[bytes], ...], environment: dict[str, str], tell: int) -> NoReturn:
    try:
        os.setsid()
        os.close(tell)
        for descriptor, file in enumerate(files):
            os.dup2(file.fileno(), descriptor)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0, "r"), os.fdopen(1, "w"), os.fdopen(2, "w")
        os.environ.clear()
        os.environ.update(environment)
        sys.modules["__main__"] = ModuleType("__main__")
        main()
    except BaseException:  # noqa: BLE001  # nothing may come back from the copy
        traceback.print_exc()
    os._exit(1)


class _Processes:
    """Those of an experiment, copied too."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("fork")
        self.Pipe = self._context.Pipe

    def Process(self, target: Callable[..., None], env: dict[str, str], **settings: Any) -> Any:
        def serve(*arguments: Any) -> None:
            _end_with_parent()  # a copy holds its siblings' connections, which do not say then that nobody is there
            target(*arguments)

        return self._context.Process(target=serve, **settings)


def fork_jobs(patch: pytest.MonkeyPatch) -> None:
    """From now on jobs are copies of this process, which imports what they import where they need it."""
    for name in ("opendp.measurements", "scipy.optimize", "scipy.stats", "sklearn.compose", "sklearn.ensemble"):
        import_module(name)
    patch.setattr(jobs, "subprocess", SimpleNamespace(Popen=Forked))
    patch.setattr(backend, "get_context", lambda _: _Processes())
