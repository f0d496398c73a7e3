"""Words and heights of every page as it opens, in a real browser: how much a visitor meets before anything is opened.

    python benchmarks/pages_at_a_glance.py [--address http://localhost:8501] [--width 1280] [--height 800]

Without an address it starts the app itself. A page is at most two screens high; Start has at most 90 words, Feasibility 350.
At the end, how long the one button of the empty Comparison takes on ASIA, which is to make a sensible set within a minute.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import psutil
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
PAGES = ("", "data", "domain", "feasibility", "generator", "comparison", "lessons", "inside")
_PATIENCE = 600_000
MAIN = "document.querySelector('[data-testid=stMain]')"


@contextmanager
def served() -> Iterator[str]:
    """The app on a free port."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless", "true"]
    server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    address = f"http://localhost:{port}"
    try:
        for _ in range(300):
            try:
                urlopen(f"{address}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def settled(page: Page, patience: float = 20.0) -> float:
    """Seconds until the page has not changed for a while, that while taken off."""
    begun = last = time.monotonic()
    before = ""
    while time.monotonic() - last < 1.5 and time.monotonic() - begun < patience:
        page.wait_for_timeout(100)
        now = page.evaluate(f"{MAIN} ? {MAIN}.innerText + {MAIN}.scrollHeight : ''")
        running = page.evaluate("!document.querySelector('[data-test-script-state=notRunning]')")
        if now != before or running:
            before, last = now, time.monotonic()
    return last - begun


def main() -> None:
    """Print a line a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=800)
    asked = parser.parse_args()
    browser = os.environ.get("DPSYN_BROWSER", "/usr/bin/chromium")
    with served() if asked.address is None else _there(asked.address) as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        print(f"{'page':<12} {'words':>6} {'height':>7} {'screens':>8} {'ready':>7}")
        for name in PAGES:
            page = chromium.new_page(viewport={"width": asked.width, "height": asked.height})
            page.goto(f"{address}/{name}")
            ready = settled(page)
            words = len(page.evaluate(f"{MAIN}.innerText").split())
            height = page.evaluate(f"{MAIN}.scrollHeight")
            print(f"{name or 'start':<12} {words:>6} {height:>7} {height / asked.height:>8.2f} {ready:>6.1f}s")
            page.close()
        one_button(chromium.new_page(), address)
        chromium.close()


def one_button(page: Page, address: str) -> None:
    """Print the seconds from the click on "Run all mechanisms" to the last release, and to the measures of all of them."""
    page.goto(f"{address}/comparison")
    page.get_by_role("button", name="Run all mechanisms").click(timeout=_PATIENCE)
    begun, before = time.monotonic(), _processor()
    page.get_by_text("Score card:").wait_for(timeout=_PATIENCE)
    made, spent = time.monotonic() - begun, _processor() - before
    page.get_by_text("Measured against").wait_for(timeout=_PATIENCE)
    print(f"all mechanisms: made in {made:.1f} s, {spent:.1f} s of the processor; measured after", end=" ")
    print(f"{time.monotonic() - begun:.1f} s, {_processor() - before:.1f} s; load {os.getloadavg()[0]:.1f}")
    page.close()


def _processor() -> float:
    """Seconds of the processor that the app has taken with its jobs, if it was started here."""
    every = psutil.Process().children(recursive=True)
    found = [process.cpu_times() for process in every if not {"chromium", "node"} & set(process.name().split("-"))]
    return sum(times.user + times.system + times.children_user + times.children_system for times in found)


@contextmanager
def _there(address: str) -> Iterator[str]:
    yield address


if __name__ == "__main__":
    main()
