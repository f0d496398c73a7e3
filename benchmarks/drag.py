"""How soon a picture follows its slider, in a real browser: while the slider is dragged, and after it is let go.

For each picture the slider's thumb is dragged with the mouse, one step at a time; a step counts from the browser's own
event to the first frame in which the chart's drawing differs. After the release it counts until the chart that the server
sent has been drawn. ``python benchmarks/drag.py`` starts the app; Chromium as in ``tests/browser``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.browser.conftest import QUIET, chromium, serving

STEPS = 20


@dataclass(frozen=True)
class Case:
    """A page, the slider's key, and which of the page's charts it moves."""

    name: str
    page: str
    key: str
    chart: int = 0
    live: bool = True


CASES = (
    Case("Start: ε", "", "start"),
    Case("Most rows k: ε", "feasibility", "epsilon"),
    Case("Most rows k: d", "feasibility", "degree"),
    Case("Most rows k: k", "feasibility", "f_rows"),
    Case("Certificates: ε", "feasibility?f_section=Private+sampling", "epsilon"),
    Case("Smallest error: ε", "feasibility?f_section=Noisy+reweighting", "epsilon"),
    Case("Smallest error: d", "feasibility?f_section=Noisy+reweighting", "degree"),
    Case("DP-CDA, ε against σ: σ", "feasibility?f_section=DP-CDA", "f_sigma"),
    Case("Certificates: floor", "feasibility?f_section=Private+sampling", "f_floor", live=False),
)

# A step is seen first as an "input" of the slider or as its new aria-valuetext; the picture is looked at in every frame.
WATCH = """([slider, chart]) => {
  const range = document.querySelector(slider);
  const drawn = () => {
    const drawing = document.querySelectorAll(".vega-embed :is(svg.marks, canvas.marks)")[chart];
    return !drawing ? "" : drawing.tagName === "svg" ? drawing.innerHTML : drawing.toDataURL();
  };
  window.waits = [];
  window.released = null;
  let before = drawn(), since = null, value = range.value;
  const begin = () => {
    if (range.value === value) return;
    value = range.value;
    since ??= performance.now();
  };
  range.addEventListener("input", begin, true);
  new MutationObserver(begin).observe(range, { attributes: true, attributeFilter: ["aria-valuetext", "value"] });
  document.addEventListener("pointerup", () => { window.let_go = performance.now(); before = drawn(); }, true);
  const look = () => {
    const now = drawn();
    if (now && now !== before) {
      if (since !== null) window.waits.push(performance.now() - since);
      if (window.let_go && window.released === null) window.released = performance.now() - window.let_go;
      before = now;
      since = null;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

# Of a slider: where its thumb is, how long its track, and its place from 0 to 1.
PLACE = """selector => {
  const range = document.querySelector(selector), at = (range.value - range.min) / (range.max - range.min);
  const own = range.getBoundingClientRect();
  if (range.dataset.slides) return [own.x + 8 + at * (own.width - 16), own.y + own.height / 2, own.width, at];
  const track = range.closest("[data-orientation][style]").getBoundingClientRect();
  return [track.x + at * track.width, track.y + track.height / 2, track.width, at];
}"""


def measure(page: Page, url: str, case: Case) -> tuple[float | None, float | None]:
    """Median milliseconds from a step of the drag to the moved picture, and from the release to that of the server."""
    page.goto(f"{url}/{case.page}")
    slider = f"[data-slides={case.key}]" if case.key == "start" else f".st-key-{case.key} input[type=range]"
    page.locator(slider).first.wait_for(state="attached", timeout=60_000)
    page.locator(".vega-embed :is(svg.marks, canvas.marks)").nth(case.chart).wait_for(timeout=60_000)
    page.wait_for_timeout(2_000)
    page.evaluate(WATCH, [slider, case.chart])
    waits, released = [], []
    for _ in range(3):
        x, y, width, at = page.evaluate(PLACE, slider)
        page.mouse.move(x, y)
        page.mouse.down()
        direction = 1 if at < 0.5 else -1
        for step in range(1, STEPS + 1):
            page.mouse.move(x + direction * step * width * 0.3 / STEPS, y)
            page.wait_for_timeout(120)
        page.evaluate("window.let_go = null; window.released = null")
        page.mouse.up()
        page.wait_for_timeout(2_500)
        found = page.evaluate("[window.waits.splice(0), window.released]")
        waits += found[0]
        released += [] if found[1] is None else [found[1]]
    # A picture that moved along is already where the server's will be.
    return (median(waits), None) if case.live and waits else (None, median(released) if released else None)


def main() -> None:
    """Print a line for each picture."""
    with serving("--server.headless", "true", DPSYN_LOCAL="1") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=QUIET)
        print(f"{time.strftime('%Y-%m-%d')}: median milliseconds\n{'picture: slider':32}{'dragged':>10}{'released':>10}")
        for case in CASES:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            dragged, released = measure(page, url, case)
            print(
                f"{case.name:32}" + "".join(f"{'—' if ms is None else format(ms, '.0f'):>10}" for ms in (dragged, released))
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
