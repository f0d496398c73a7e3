"""How long a move of floor or ceiling on the page inside private sampling takes until everything is redrawn; ASIA.

Server time: a rerun in the test harness, by section. Browser time: from the key press in Chromium to the end of the run.

    python benchmarks/inside_latency.py            # both
    python benchmarks/inside_latency.py --server   # server time alone
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

ROOT = Path(__file__).parents[1]
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
DONE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
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


def report(name: str, seconds: list[float]) -> None:
    """One line: median, smallest, largest."""
    ms = sorted(1000 * s for s in seconds)
    print(f"{name:44s} median {statistics.median(ms):6.0f} ms   min {ms[0]:6.0f}   max {ms[-1]:6.0f}   runs {len(ms)}")


def server_time(runs: int) -> None:
    """Reruns of each section, with values that were not seen before."""
    from streamlit.testing.v1 import AppTest

    from dpsyn.mechanisms.private_sampling.panels.sections import SECTIONS

    app = AppTest.from_file(str(ROOT / "pages" / "_router.py"), default_timeout=60).run()
    app = app.switch_page("inside.py").run()
    for name in SECTIONS:
        start = time.perf_counter()
        app.segmented_control(key="is_section").set_value(name).run()
        print(f"server, {name}: opened in {1000 * (time.perf_counter() - start):.0f} ms")
        for key, low, step in (("is_floor", 0.1, 0.01), ("is_ceiling", 1.5, 0.05)):
            taken = []
            for i in range(runs):
                app.slider(key=key).set_value(round(low + step * (i % 35), 2))
                start = time.perf_counter()
                app.run()
                taken.append(time.perf_counter() - start)
                if app.exception:
                    raise RuntimeError(app.exception)
            report(f"server, {name}, {key}", taken)


def browser_time(runs: int) -> None:
    """Key presses on both sliders in the section of λ."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless", "true"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            path = os.environ.get("DPSYN_BROWSER") or shutil.which("chromium")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=path, args=QUIET)
                page = browser.new_page(viewport={"width": 1440, "height": 1000})
                page.goto(f"http://127.0.0.1:{port}/inside")
                page.get_by_text("Why λ").click()
                page.get_by_text("Which cells bind").wait_for(timeout=60_000)
                page.wait_for_function(DONE)
                for name in ("floor", "ceiling"):
                    slider = page.get_by_role("slider", name=name)
                    slider.focus()
                    taken = []
                    for _ in range(runs):
                        page.evaluate(WATCH)
                        start = time.perf_counter()
                        slider.press("ArrowRight")
                        page.wait_for_function("window.__ran === true", polling=10)
                        taken.append(time.perf_counter() - start)
                        page.wait_for_timeout(150)
                    report(f"browser, why λ, {name} to end of the run", taken)
                browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", action="store_true", help="server time alone")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    server_time(options.runs)
    if not options.server:
        browser_time(options.runs)
