"""Private sampling from the inside in a real browser: λ follows the slider in place, and the cube is drawn."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_walk import RUN, settled

pytestmark = pytest.mark.browser


def test_lambda_follows_the_slider_in_place(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(f"{app_url}/inside")
    page.get_by_text("Why λ").click(timeout=RUN)
    proof = page.get_by_text(re.compile(r"^λ = 0\.\d{4}, and this is the proof"))
    expect(proof).to_be_visible(timeout=RUN)
    expect(page.get_by_text("Reads private data: not for publication").first).to_be_visible()
    settled(page)
    before = proof.inner_text()
    page.evaluate("window.__heading = document.querySelector('h1')")
    page.get_by_role("slider", name="ceiling").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(proof).not_to_have_text(before, timeout=RUN)
    settled(page)
    assert page.evaluate("document.contains(window.__heading)")
    assert page.get_by_test_id("stException").count() == 0


def test_the_cube_is_drawn_beside_the_histogram(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/inside")
    page.get_by_text("3 · Density").click(timeout=RUN)
    expect(page.locator(".st-key-is_cube").get_by_test_id("stPlotlyChart")).to_be_visible(timeout=RUN)
    expect(page.locator(".st-key-is_walsh_cube").get_by_test_id("stPlotlyChart")).to_be_visible(timeout=RUN)
    expect(page.get_by_text("The cube in a cube of 4 bits")).to_be_visible(timeout=RUN)
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
