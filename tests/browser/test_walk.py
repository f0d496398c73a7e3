"""A new user's walk: upload a CSV, state its domain, run a mechanism, read the score card, compare, download."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

RUN = 90_000
NOT_PUBLIC = "Read off these rows, not yet public"


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
    """Another page of the same visit, once its own heading is there: the page that is left has buttons of the same names."""
    page.get_by_role("link", name=name, exact=True).first.click()
    heading = "Synthetic rows with proven privacy" if name == "Start" else name
    expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible(timeout=RUN)
    settled(page)


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


def run_mechanism(page: Page, title: str) -> None:
    """From the settings of the Generator to the score card of a release."""
    settled(page)
    button = page.get_by_test_id("stMain").get_by_role("radio", name=title)
    button.click()
    expect(page.get_by_text("The release will be")).to_be_visible(timeout=RUN)
    settled(page)
    expect(button).to_be_checked()
    page.locator(".st-key-run button").click()
    scored(page)
    expect(page.get_by_role("heading", name=re.compile(f"^{title}"))).to_be_visible()


def scored(page: Page) -> None:
    """A release was made and measured."""
    expect(page.get_by_text(re.compile("are off by .* on average"))).to_be_visible(timeout=RUN)
    settled(page)


def known_from_a_code_book(page: Page) -> None:
    """On the page Domain."""
    expect(page.get_by_role("heading", name="Domain", level=1)).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_test_id("stMain").get_by_role("radio", name="code book").click()


def stops_to(page: Page, place: str) -> int:
    """How often Tab is pressed from the top of the page until something in a place has the focus."""
    page.get_by_text("Skip to main content").focus()
    for count in range(2, 40):
        page.keyboard.press("Tab")
        if page.evaluate("place => document.activeElement.closest(place) !== null", place):
            return count
    raise AssertionError(place)


def check_files(page: Page, mechanism: str) -> None:
    """The rows and the record of the release on the page."""
    with page.expect_download() as caught:
        page.get_by_role("button", name="Rows as CSV").first.click()
    rows = pd.read_csv(caught.value.path())
    assert list(rows.columns) == ["smokes", "job title", "age", "dose"]
    assert set(rows["job title"]) <= {'engineer; "senior"', "clerk", "farmer"}
    assert len(rows) > 0
    with page.expect_download() as caught:
        page.get_by_role("button", name="Record of the run as JSON").first.click()
    record = json.loads(Path(caught.value.path()).read_text())
    assert record["mechanism"] == mechanism
    assert record["demonstration"] is False
    assert "seed" not in record
    assert record["guarantee"]["status"] == "proven"


def test_from_the_start_to_good_rows_it_takes_few_clicks(page: Page, app_url: str) -> None:
    """Start, own CSV, domain, the recommended mechanism, score card, download: every click is counted, the upload as one."""
    clicks: list[str] = []

    def click(what: Locator) -> None:
        expect(what).to_have_count(1, timeout=RUN)  # while a page is drawn anew, what moves is there twice
        settled(page)
        expect(what).to_be_enabled(timeout=RUN)
        settled(page)
        clicks.append(what.inner_text())
        what.click()

    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(app_url)
    click(page.get_by_test_id("stMain").get_by_role("button", name="Use my data"))
    expect(page.get_by_role("heading", name="Data", level=1)).to_be_visible(timeout=RUN)
    settled(page)
    clicks.append("upload")
    upload(page, "people.csv", people_csv())
    expect(page.get_by_text(NOT_PUBLIC).first).to_be_visible(timeout=RUN)
    click(page.get_by_role("button", name="Next: state the domain"))
    expect(page.get_by_role("heading", name="Domain", level=1)).to_be_visible(timeout=RUN)
    click(page.get_by_test_id("stMain").get_by_role("radio", name="code book"))
    click(page.get_by_role("button", name="Next: choose a mechanism"))
    expect(page.get_by_text("Stated bounds of 'age', 'dose' are the smallest")).to_be_visible(timeout=RUN)
    click(page.get_by_role("button", name="Next: choose a mechanism"))
    expect(page.get_by_role("heading", name="Generator", level=1)).to_be_visible(timeout=RUN)
    expect(page.get_by_text("The release will be")).to_be_visible(timeout=RUN)
    expect(page.get_by_text(NOT_PUBLIC)).to_have_count(0)
    settled(page)
    assert stops_to(page, ".st-key-run") <= 12
    click(page.locator(".st-key-run button"))
    scored(page)
    expect(page.get_by_text(re.compile(r"guessing.* 0\.\d")).first).to_be_visible()
    with page.expect_download() as caught:
        click(page.get_by_role("button", name="Rows as CSV"))
    assert list(pd.read_csv(caught.value.path()).columns) == ["smokes", "job title", "age", "dose"]
    assert page.get_by_test_id("stException").count() == 0
    assert len(clicks) <= 9, clicks


def test_from_a_csv_to_several_releases_and_a_comparison(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(f"{app_url}/data")
    expect(page.get_by_text("asia").first).to_be_visible(timeout=RUN)
    upload(page, "people.csv", people_csv())
    expect(page.get_by_text(NOT_PUBLIC).first).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_role("button", name="Next: state the domain").click()
    known_from_a_code_book(page)
    page.get_by_role("button", name="Next: choose a mechanism").click()
    expect(page.get_by_text("Stated bounds of")).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_role("button", name="Next: choose a mechanism").click()
    expect(page.get_by_role("heading", name="Generator", level=1)).to_be_visible(timeout=RUN)

    visit(page, "Feasibility")
    expect(page.get_by_text("Theorem 4.2").first).to_be_visible(timeout=RUN)

    visit(page, "Generator")
    for mechanism, title in (("noisy_reweighting", "Noisy reweighting"), ("mwem", "MWEM")):
        run_mechanism(page, title)
        check_files(page, mechanism)
        page.get_by_role("button", name="Make other rows").click()

    visit(page, "Comparison")
    expect(page.get_by_text("Fresh real rows").first).to_be_visible(timeout=RUN)
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible(timeout=RUN)
    expect(page.get_by_text(re.compile("^arrow_forward|close(st)? to the real rows")).first).to_be_visible()
    page.get_by_role("tab", name="Pairs of columns").click()
    expect(page.locator(".heatmap-label", has_text=re.compile(r"^0\.\d{3}$")).first).to_be_visible(timeout=RUN)
    assert page.get_by_test_id("stException").count() == 0


def test_a_broken_file_keeps_the_data_that_was_there(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/data")
    expect(page.get_by_text("20,000 rows").first).to_be_visible(timeout=RUN)
    upload(page, "broken.csv", b"a,b\n1,2\n3,4,5\n")
    expect(page.get_by_text("broken.csv:").first).to_be_visible(timeout=RUN)
    expect(page.get_by_text(re.compile("line 3")).first).to_be_visible()
    expect(page.get_by_text("20,000 rows").first).to_be_visible()


def test_going_back_keeps_the_table_that_was_uploaded(page: Page, app_url: str) -> None:
    page.goto(app_url)
    visit(page, "Data")
    expect(page.get_by_text("20,000 rows").first).to_be_visible(timeout=RUN)
    upload(page, "people.csv", people_csv())
    expect(page.get_by_text("800 rows").first).to_be_visible(timeout=RUN)
    settled(page)
    page.go_back()
    expect(page).to_have_url(re.compile("data=own$"), timeout=RUN)
    expect(page.get_by_text("800 rows").first).to_be_visible(timeout=RUN)


def test_going_back_to_the_first_page_stays_there_whatever_its_address_says(page: Page, app_url: str) -> None:
    """The address of a page that is left may get the data first: then one step back from Learn is the first page with it."""
    page.goto(app_url)
    settled(page)
    visit(page, "Learn")
    expect(page).to_have_url(re.compile("lessons.data="), timeout=RUN)
    for path in ("/?data=asia", "/lessons?data=asia"):
        page.evaluate("path => history.pushState({}, '', path)", path)
    page.go_back()
    expect(page.get_by_role("heading", name="Synthetic rows with proven privacy", level=1)).to_be_visible(timeout=RUN)
    page.go_forward()
    expect(page.get_by_role("heading", name="Learn", level=1)).to_be_visible(timeout=RUN)


def test_going_back_keeps_the_settings(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/generator")
    budget = page.get_by_role("slider", name="ε (privacy budget)")
    expect(budget).to_have_attribute("aria-valuetext", "1", timeout=RUN)
    settled(page)
    for _ in range(10):
        budget.press("ArrowLeft")
    page.get_by_test_id("stMain").get_by_role("radio", name="MST", exact=True).click()
    expect(page).to_have_url(re.compile("mechanism=MST"), timeout=RUN)
    settled(page)
    for place, ways in (("Comparison", [page.go_back]), ("Feasibility", [page.go_back, page.go_forward])):
        visit(page, place)
        for way in ways:
            was, steps = page.url.split("?")[0], 6
            while page.url.split("?")[0] == was and steps:  # a page has several entries
                way()
                settled(page)
                steps -= 1
            # What is ahead is forgotten where a page that one came back to writes its address anew.
            assert steps or way == page.go_forward
        for _ in range(2):
            expect(page.get_by_role("slider", name="ε (privacy budget)")).to_have_attribute(
                "aria-valuetext", "0.1", timeout=RUN
            )
            if "feasibility" not in page.url:  # Forward may lead to an address of that page from before it held the setting
                expect(page).to_have_url(re.compile("epsilon=0.1"), timeout=RUN)
            visit(page, "Generator")
            expect(page.get_by_role("radio", name="MST", exact=True)).to_be_checked(timeout=RUN)


def test_a_run_can_be_cancelled_and_nothing_is_lost(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/generator")
    run_mechanism(page, "Noisy reweighting")
    page.get_by_role("button", name="Make other rows").click()
    expect(page.get_by_text("The release will be")).to_be_visible(timeout=RUN)
    settled(page)
    page.locator(".st-key-run button").click()
    page.get_by_role("button", name="Cancel").click(timeout=RUN)
    expect(page.get_by_text("was cancelled")).to_be_visible(timeout=RUN)
    expect(page.get_by_text(re.compile(r"^Noisy reweighting .*\(no\. 1\)"))).to_be_visible()
