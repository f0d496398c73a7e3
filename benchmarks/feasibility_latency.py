"""How long a slider on the feasibility page takes until the page is redrawn.

Server time: a rerun of the page in the test harness with ASIA loaded, from the new slider value to the last element.
Browser time: from the key press on a slider in Chromium to the end of the script run and the redrawn chart.

    python benchmarks/feasibility_latency.py            # both
    python benchmarks/feasibility_latency.py --server   # server time alone
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def report(name: str, seconds: list[float]) -> None:
    """One line: median, smallest, largest."""
    ms = sorted(1000 * s for s in seconds)
    print(f"{name:44s} median {statistics.median(ms):6.0f} ms   min {ms[0]:6.0f}   max {ms[-1]:6.0f}   runs {len(ms)}")


def server_time(runs: int) -> None:
    """Reruns of the page: each slider in the first section, and ε in every other section."""
    from streamlit.testing.v1 import AppTest

    from dpsyn.app.explorer import sections

    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=60).run()
    app = app.switch_page("feasibility.py").run()
    first, *others = sections()
    for key, values, kind in (
        ("epsilon", [0.1, 1.0, 10.0], "select_slider"),
        ("f_floor", [0.1, 0.2, 0.3, 0.4], "slider"),
        ("degree", [1, 2, 3], "slider"),
        ("f_rows", [1, 100, 1000], "select_slider"),
    ):
        report(f"server, {first}, {key}", _reruns(app, kind, key, values, runs))
    for name in others:
        app.segmented_control(key="f_section").set_value(name).run()
        report(f"server, {name}, epsilon", _reruns(app, "select_slider", "epsilon", [0.1, 1.0, 10.0], runs))


def _reruns(app: Any, kind: str, key: str, values: list[float], runs: int) -> list[float]:
    taken = []
    for i in range(runs):
        getattr(app, kind)(key=key).set_value(values[i % len(values)])
        start = time.perf_counter()
        app.run()
        taken.append(time.perf_counter() - start)
        if app.exception:
            raise RuntimeError(app.exception)
    return taken


def browser_time(runs: int) -> None:
    """Key presses on the ε slider in a real browser."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless", "true"]
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            up = time.perf_counter()
            print(f"server answers after                         {up - begun:8.2f} s")
            path = os.environ.get("DPSYN_BROWSER") or shutil.which("chromium")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=path, args=QUIET)
                page = browser.new_page(viewport={"width": 1440, "height": 1000})
                up = time.perf_counter()
                page.goto(f"http://127.0.0.1:{port}/")
                page.get_by_text("Distinct rows").wait_for()
                page.wait_for_function(DONE)
                print(f"first page usable after (server up, browser up) {time.perf_counter() - up:5.2f} s")
                page.goto(f"http://127.0.0.1:{port}/feasibility")
                page.locator("canvas, .vega-embed svg").first.wait_for(timeout=60_000)
                page.wait_for_function(DONE)
                slider = page.get_by_role("slider", name="ε (privacy budget)")
                slider.focus()
                taken = []
                page.evaluate(REMEMBER)
                for i in range(runs):
                    page.evaluate(WATCH)
                    start = time.perf_counter()
                    slider.press("ArrowRight" if i % 2 == 0 else "ArrowLeft")
                    page.wait_for_function("window.__ran === true", polling=10)
                    taken.append(time.perf_counter() - start)
                    page.wait_for_timeout(150)
                report("browser, ε slider to end of the run", taken)
                print(f"heading and charts were redrawn in place, never rebuilt: {page.evaluate(KEPT)}")
                browser.close()
        finally:
            server.terminate()


DONE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
REMEMBER = "() => { window.__kept = [...document.querySelectorAll('h1, [data-testid=stVegaLiteChart]')]; }"
KEPT = "() => window.__kept.length > 2 && window.__kept.every(node => document.contains(node))"
WATCH = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  window.__ran = false; let started = false;
  const look = () => {
    const state = app.getAttribute('data-test-script-state');
    if (state !== 'notRunning') started = true;
    if (started && state === 'notRunning') { window.__ran = true; observer.disconnect(); }
  };
  const observer = new MutationObserver(look);
  observer.observe(app, {attributes: true, attributeFilter: ['data-test-script-state']});
}"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", action="store_true", help="server time alone")
    parser.add_argument("--runs", type=int, default=30)
    options = parser.parse_args()
    server_time(options.runs)
    if not options.server:
        browser_time(options.runs)
