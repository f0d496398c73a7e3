"""DP-CDA from the inside in a real browser: σ follows the slider in place, and the digits are drawn as images."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_walk import RUN, settled

pytestmark = pytest.mark.browser

_REFUSALS = """window.__refused = [];
document.addEventListener('securitypolicyviolation', e => window.__refused.push(`${e.violatedDirective} ${e.blockedURI}`))"""
# Streamlit's own script asks for it at the start, and does without.
_ALWAYS = "script-src wasm-eval"


def test_sigma_follows_the_slider_and_digits_become_images(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.add_init_script(_REFUSALS)
    page.goto(f"{app_url}/inside")
    page.get_by_test_id("stMain").get_by_role("radio", name="DP-CDA").click(timeout=RUN)
    sigma = page.get_by_test_id("stMetric").filter(has_text="σ, exact accounting").get_by_test_id("stMetricValue")
    expect(sigma).to_be_visible(timeout=RUN)
    settled(page)
    before = sigma.inner_text()
    page.evaluate("window.__heading = document.querySelector('h1')")
    page.get_by_role("slider", name="l (order of mixture)").focus()
    page.keyboard.press("ArrowRight")
    expect(sigma).not_to_have_text(before, timeout=RUN)
    settled(page)
    assert float(sigma.inner_text()) < float(before)
    assert page.evaluate("document.contains(window.__heading)")

    page.get_by_role("radio", name="What mixing does").click()
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(1, timeout=RUN)
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_visible(timeout=RUN)
    page.get_by_role("button", name="Load the handwritten digits").click()
    expect(page.get_by_text("From a record to a row")).to_be_visible(timeout=RUN)
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(2, timeout=RUN)
    settled(page)
    page.get_by_role("button", name="Draw again").click()
    expect(page.get_by_text("Draw 2:")).to_be_visible(timeout=RUN)
    assert set(page.evaluate("window.__refused")) <= {_ALWAYS}
    assert page.get_by_test_id("stException").count() == 0
