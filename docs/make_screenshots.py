"""Makes the README's screenshots anew: ``python docs/make_screenshots.py`` writes docs/images from a running app of its own.

It needs the test extra (Playwright) and a Chromium: the first of the usual names on the path, or ``DPSYN_BROWSER``.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WAIT = 120_000
LARGEST = 250_000
HEIGHT, LOW = 1150, {"start": 680}
"""Of a picture, and of those of pages that end before."""
CUBE = "".join(f"&is_columns_asia={c}&is_cube_asia={c}" for c in ("smoke", "lung", "bronc"))


def run_all(page: Page) -> None:
    """One release of every mechanism that can, measured."""
    page.get_by_role("button", name="Run all mechanisms").click()
    expect(page.get_by_text("Measured against").first).to_be_visible(timeout=10 * WAIT)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=WAIT)


def run_and_score(page: Page) -> None:
    """The release of the recommended mechanism with its score card."""
    page.locator(".st-key-run button").click()
    expect(page.get_by_text("on average").first).to_be_visible(timeout=WAIT)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=WAIT)


PAGES: dict[str, tuple[str, str, Callable[[Page], None] | None]] = {
    "start": ("", "light", None),
    "score_card": ("generator?data=breast_cancer", "light", run_and_score),
    "feasibility": ("feasibility?data=asia", "light", None),
    "comparison": ("comparison?data=asia", "light", run_all),
    "lesson": ("lessons?lesson=Mixing+digits&step=3", "dark", None),
    "inside_cube": (f"inside?data=asia&is_section=3+·+Density{CUBE}", "light", None),
}


def main() -> None:
    """Start the app, make every picture, stop it."""
    browser = os.environ.get("DPSYN_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true", "--server.fileWatcherType", "none"]
    IMAGES.mkdir(exist_ok=True)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait(f"http://127.0.0.1:{port}/_stcore/health")
            with sync_playwright() as playwright:
                opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
                for name, (address, scheme, prepare) in PAGES.items():
                    picture(opened, f"http://127.0.0.1:{port}/{address}", IMAGES / f"{name}.png", scheme, prepare)
                opened.close()
        finally:
            server.terminate()


def picture(browser: Browser, url: str, file: Path, scheme: str, prepare: Callable[[Page], None] | None) -> None:
    """One page as it looks when it has settled, after whatever is to be done there first."""
    viewport: ViewportSize = {"width": 1280, "height": LOW.get(file.stem, HEIGHT)}
    context = browser.new_context(color_scheme=scheme, viewport=viewport)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=WAIT)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=WAIT)
    if prepare is not None:
        prepare(page)
    page.wait_for_timeout(2500)  # charts fade in
    page.screenshot(path=file)
    context.close()
    size = file.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{file} has {size:,} bytes, more than {LARGEST:,}")


def wait(url: str) -> None:
    """Until the app answers."""
    for _ in range(240):
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise SystemExit("the app did not answer within a minute")


if __name__ == "__main__":
    main()
