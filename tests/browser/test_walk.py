"""A new user's walk: upload a CSV, confirm its domain, look at feasibility, run the mechanisms, compare, download."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

RUN = 90_000


def people_csv(n: int = 800) -> bytes:
    """A small table with awkward corners: a semicolon, a byte-order mark, quotes, an empty cell, decimal commas."""
    random = np.random.default_rng(1)
    smokes = random.random(n) < 0.4
    buffer = io.StringIO()
    buffer.write("smokes;job title;age;dose\n")
    for i in range(n):
        job = '"engineer; ""senior"""' if random.random() < 0.5 else ("clerk" if smokes[i] else "farmer")
        age = "" if i == 17 else str(int(random.normal(60 if smokes[i] else 30, 8)))
        buffer.write(f"{'yes' if smokes[i] else 'no'};{job};{age};{random.random():.3f}\n".replace(".", ","))
    return b"\xef\xbb\xbf" + buffer.getvalue().encode()


def visit(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def until(page: Page, expression: str) -> None:
    """Waits until an expression is true; asked from outside, since the page's own policy forbids it to evaluate texts."""
    for _ in range(RUN // 200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(200)
    raise AssertionError(expression)


def settled(page: Page) -> None:
    """No script run is under way."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=RUN)


def upload(page: Page, name: str, data: bytes) -> None:
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": data}
    )


def run_mechanism(page: Page, title: str, releases: int) -> None:
    page.get_by_test_id("stMain").get_by_role("radio", name=title).click()
    expect(page.get_by_text("The release will be")).to_be_visible(timeout=RUN)
    settled(page)
    page.locator(".st-key-run button").click()
    expect(page.get_by_text(re.compile(rf"^{releases} · {title}"))).to_be_visible(timeout=RUN)
    settled(page)


def test_from_a_csv_to_a_downloaded_release(page: Page, app_url: str, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(app_url)
    expect(page.get_by_text("asia").first).to_be_visible(timeout=RUN)
    upload(page, "people.csv", people_csv())
    expect(page.get_by_text("Inferred from private data — not confirmed").first).to_be_visible(timeout=RUN)
    page.get_by_role("button", name="Apply and confirm everything as public knowledge").click()
    expect(page.get_by_text("Public domain").first).to_be_visible(timeout=RUN)

    visit(page, "Feasibility")
    expect(page.get_by_text("Theorem 4.2").first).to_be_visible(timeout=RUN)

    visit(page, "Generator")
    for number, title in enumerate(("Private sampling", "Noisy reweighting", "DP-CDA"), start=1):
        run_mechanism(page, title, number)

    with page.expect_download() as caught:
        page.get_by_role("button", name="Rows as CSV").first.click()
    rows = pd.read_csv(caught.value.path())
    assert list(rows.columns) == ["smokes", "job title", "age", "dose"]
    assert set(rows["job title"]) <= {'engineer; "senior"', "clerk", "farmer"}
    assert len(rows) > 0

    with page.expect_download() as caught:
        page.get_by_role("button", name="Record of the run as JSON").first.click()
    record = json.loads(Path(caught.value.path()).read_text())
    assert record["mechanism"] == "dp_cda"
    assert record["demonstration"] is False
    assert "seed" not in record
    assert record["guarantee"]["status"] == "proven"

    visit(page, "Comparison")
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_text("Sampling noise").first).to_be_visible(timeout=RUN)
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible(timeout=RUN)
    assert page.get_by_test_id("stException").count() == 0


def test_a_broken_file_keeps_the_data_that_was_there(page: Page, app_url: str) -> None:
    page.goto(app_url)
    expect(page.get_by_text("20,000 rows").first).to_be_visible(timeout=RUN)
    upload(page, "broken.csv", b"a,b\n1,2\n3,4,5\n")
    expect(page.get_by_text("broken.csv:").first).to_be_visible(timeout=RUN)
    expect(page.get_by_text(re.compile("line 3")).first).to_be_visible()
    expect(page.get_by_text("20,000 rows").first).to_be_visible()


def test_a_run_can_be_cancelled_and_nothing_is_lost(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/generator")
    run_mechanism(page, "Noisy reweighting", 1)
    page.locator(".st-key-run button").click()
    page.get_by_role("button", name="Cancel").click(timeout=RUN)
    expect(page.get_by_text("was cancelled")).to_be_visible(timeout=RUN)
    expect(page.get_by_text(re.compile("^1 · Noisy reweighting"))).to_be_visible()
