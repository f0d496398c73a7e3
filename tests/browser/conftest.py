"""A running app and a real browser. Without a browser these tests skip, in CI they fail."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The system's Chromium: $DPSYN_BROWSER, or the first that is on the path."""
    return os.environ.get("DPSYN_BROWSER") or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    path = chromium()
    if path is None:
        reason = "no Chromium on this machine: install the package 'chromium', or set DPSYN_BROWSER to its path"
        if os.environ.get("DPSYN_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    return {"executable_path": path, "headless": True, "args": QUIET}


@pytest.fixture(scope="session")
def app_url() -> Iterator[str]:
    """The app on a free port, one server for all tests."""
    with serving("--server.headless", "true", "--server.fileWatcherType", "none", DPSYN_LOCAL="1") as url:
        yield url


@contextmanager
def serving(
    *options: str, folder: Path = ROOT, log: int | IO[bytes] = subprocess.DEVNULL, **environment: str
) -> Iterator[str]:
    """A fresh server as README's command starts it, on a free port, with further options; its address.

    ``folder`` is where ``app.py`` lies, and what the server prints goes to ``log``.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), *options]
    with subprocess.Popen(command, cwd=folder, env=os.environ | environment, stdout=log, stderr=log) as server:
        url = f"http://localhost:{port}"
        try:
            _wait(f"{url}/_stcore/health", server)
            yield url
        finally:
            server.terminate()


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        if server.poll() is not None:
            raise RuntimeError(f"the app ended with code {server.returncode} before it answered")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise RuntimeError("the app did not answer within a minute")
