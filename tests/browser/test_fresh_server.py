"""The very first visit to a server that has just been started: a link into a page opens that page in its frame."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import serving
from tests.browser.test_walk import RUN, settled

pytestmark = pytest.mark.browser

NAVIGATION = ("Start", "Data", "Feasibility", "Generator", "Comparison", "Learn")


def test_a_link_opens_its_page_in_the_frame_and_so_does_a_reload(page: Page, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    browser = tmp_path / "browser.py"
    browser.write_text(f"import pathlib, sys\npathlib.Path({str(shown)!r}).write_text(sys.argv[1])\n")
    with serving("--server.headless", "false", BROWSER=f"{sys.executable} {browser} %s") as url:
        for visit in (lambda: page.goto(f"{url}/generator?data=car&mechanism=Noisy+reweighting&epsilon=2"), page.reload):
            visit()
            expect(page.get_by_role("heading", level=1)).to_have_text("Generator", timeout=RUN)
            settled(page)
            assert page.get_by_test_id("stTopNavLink").count() == len(NAVIGATION)
            for name in NAVIGATION:
                expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
            expect(page.get_by_role("button", name="Share")).to_be_visible()
            expect(page.get_by_text("Presentation")).to_be_visible()
            expect(page.get_by_role("radio", name="Noisy reweighting")).to_be_checked()
            expect(page.get_by_role("slider", name="ε (privacy budget)")).to_have_attribute("aria-valuetext", "2")
            expect(page.get_by_text(re.compile(r"The release will be \(2,"))).to_be_visible(timeout=RUN)
            assert page.get_by_role("dialog").count() == 0
            assert page.get_by_text("Page not found").count() == 0
            assert page.get_by_test_id("stException").count() == 0
        assert shown.read_text() == url
