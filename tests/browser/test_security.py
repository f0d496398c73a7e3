"""Hostile names in a real browser, what the server's answers say, and errors that nobody foresaw."""

from __future__ import annotations

import os
import re
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request, expect

from tests.browser.conftest import ROOT, serving
from tests.browser.test_walk import NOT_PUBLIC, RUN, settled, upload, visit

pytestmark = pytest.mark.browser

PICTURE = "![i](http://evil.example/x)"
SCRIPT = "<img src=http://evil.example/y onerror=alert(1)>"
ROWS = "\n".join(f'"{SCRIPT if i % 2 else PICTURE}",{(":violet-badge[Public]", "**b**", "$x$")[i % 3]}' for i in range(40))
TABLE = f'"q {PICTURE}","q {SCRIPT} [l](http://evil.example/z) :violet-badge[Public domain]"\n{ROWS}\n'
PAGES = ("Start", "Data", "Feasibility", "Generator", "Learn", "Comparison")


@pytest.fixture
def watched(page: Page, app_url: str) -> list[str]:
    """Requests to other hosts, scripts that ran, and what the browser refused for the server's policy."""
    found: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith((app_url, app_url.replace("http", "ws"), "data:", "blob:")):
            found.append(request.url)

    def said(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Refused to" in message.text:
            found.append(message.text)

    page.on("request", asked)
    page.on("console", said)
    page.on("dialog", lambda dialog: (found.append(dialog.message), dialog.dismiss()))
    return found


def test_hostile_names_ask_nobody_and_put_nothing_on_any_page(page: Page, app_url: str, watched: list[str]) -> None:
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(f"{app_url}/data")
    expect(page.get_by_text("asia").first).to_be_visible(timeout=RUN)
    upload(page, f"{SCRIPT} **f**.csv".replace("/", "_"), TABLE.encode())
    expect(page.get_by_text(NOT_PUBLIC).first).to_be_visible(timeout=RUN)
    page.get_by_test_id("stDataFrame").first.hover()
    own_csv = page.get_by_label(re.compile("^Download as CSV"))  # of Streamlit, with cells that a spreadsheet runs
    expect(own_csv.first).to_be_attached()
    assert not any(button.is_visible() for button in own_csv.all())
    for name in PAGES:
        visit(page, name)
        assert page.locator("img[src*='evil'], a[href*='evil'], [onerror]").count() == 0, name
        assert page.locator(".stMarkdownBadge", has_text=re.compile("^Public")).count() == 0, name
        assert page.get_by_test_id("stException").count() == 0, name
    assert watched == []


def test_charts_do_not_need_what_the_policy_forbids(page: Page, app_url: str, watched: list[str]) -> None:
    page.goto(f"{app_url}/inside?is_section=3+·+Density")
    for kind in ("stVegaLiteChart", "stPlotlyChart"):
        expect(page.get_by_test_id(kind).locator("canvas, svg").first).to_be_visible(timeout=RUN)
    settled(page)
    assert watched == []


def test_every_answer_has_the_headers(app_url: str) -> None:
    for path in ("", "generator", "_stcore/health", "static/nothing", "no/such/page"):
        try:
            answer = urllib.request.urlopen(f"{app_url}/{path}")
        except urllib.error.HTTPError as refused:
            answer = refused
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
        assert answer.headers["Referrer-Policy"] == "no-referrer", path
        policy = answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'self'" in policy
        assert "unsafe-eval" not in policy


FAULTY = """
import streamlit as st

from dpsyn.kit import jobs, visit, widgets


def fail(*_, **__):
    raise ValueError("Ann is ill")


@st.fragment
def part():
    if st.button("in a fragment"):
        fail()


st.title("Faulty")
st.button("in a callback", on_click=fail)
part()
if st.button("in a job"):
    visit.set_job(jobs.start("faulty:fail", label="A job", context={"done": print}))
widgets.watch_job()
if st.button("in the page"):
    fail()
"""


def identifier_of(page: Page, place: str) -> str:
    """Of the error that a button makes; pressed again where its page runs once more and takes the box away."""
    for _ in range(5):
        page.get_by_role("button", name=place).click(timeout=RUN)
        for _ in range(100):
            texts = page.get_by_test_id("stAlert").all_text_contents()
            if found := re.search(r"identifier (\w{8})", " ".join(texts)):
                return found[1]
            page.wait_for_timeout(100)
    raise AssertionError(place)


def test_an_unforeseen_error_shows_an_identifier_and_no_value_anywhere(page: Page, tmp_path: Path) -> None:
    for name in ("pages", ".streamlit"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "app.py", tmp_path)
    (tmp_path / "pages" / "lessons.py").write_text(FAULTY, encoding="utf-8")
    (tmp_path / "faulty.py").write_text('def fail(progress):\n    raise KeyError("Ann is ill")\n', encoding="utf-8")
    printed = tmp_path / "printed.txt"
    options = ("--server.headless", "true", "--server.fileWatcherType", "none")
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with printed.open("wb") as log, serving(*options, folder=tmp_path, log=log, PYTHONPATH=paths) as url:
        page.goto(f"{url}/lessons")
        for place in ("in the page", "in a fragment", "in a callback", "in a job"):
            assert identifier_of(page, place) in printed.read_text(encoding="utf-8")
            assert "Ann is ill" not in page.content()
            page.goto(f"{url}/lessons")
    said = printed.read_text(encoding="utf-8")
    assert said.count(" in fail") >= 4
    assert "Ann is ill" not in said
