"""The feasibility page in a real browser: upload to verdict, a link that reopens it, exports, dark mode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_walk import RUN, settled

pytestmark = pytest.mark.browser


def opened(page: Page, url: str) -> Page:
    page.set_viewport_size({"width": 1440, "height": 1100})
    page.goto(url)
    expect(page.get_by_role("heading", name="Feasibility", level=1)).to_be_visible(timeout=RUN)
    settled(page)
    return page


def metric(page: Page, name: str) -> str:
    return page.get_by_test_id("stMetric").filter(has_text=name).get_by_test_id("stMetricValue").first.inner_text().strip()


def test_it_is_short_enough_to_read(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{app_url}/feasibility?data=asia")
    expect(page.get_by_test_id("stVegaLiteChart").nth(1)).to_be_visible(timeout=RUN)
    settled(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight") <= 1600
    # Icons are ligatures: words, too, but nobody reads them.
    page.evaluate("document.querySelectorAll('[data-testid=stIconMaterial]').forEach(icon => icon.remove())")
    assert len(page.inner_text("body").split()) <= 350


def test_a_link_reopens_the_page_with_its_settings(page: Page, app_url: str, browser: Browser) -> None:
    opened(page, f"{app_url}/feasibility")
    slider = page.get_by_role("slider", name="ε (privacy budget)")
    for _ in range(3):
        slider.press("ArrowRight")
    page.get_by_text("MUSHROOM", exact=True).first.click()
    settled(page)
    page.get_by_role("radio", name="Private sampling").click()
    expect(page.get_by_text("Three certificates for k rows")).to_be_visible(timeout=RUN)
    settled(page)
    address = page.url
    assert "epsilon=2" in address
    again = browser.new_page()
    opened(again, address)
    expect(again.get_by_text("Three certificates for k rows")).to_be_visible(timeout=RUN)
    assert again.get_by_role("slider", name="ε (privacy budget)").get_attribute("aria-valuetext") == slider.get_attribute(
        "aria-valuetext"
    )
    again.get_by_role("radio", name="Verdict").click()
    expect(again.get_by_text("Side by side", exact=True)).to_be_visible(timeout=RUN)
    again.close()


def test_exports_are_files_with_the_verdict(page: Page, app_url: str) -> None:
    opened(page, f"{app_url}/feasibility?f_section=Export&f_data=CAR")
    files = {}
    for name in ("Verdict as JSON", "Verdict as Markdown", "PNG", "SVG"):
        with page.expect_download(timeout=RUN) as caught:
            page.get_by_role("button", name=name).first.click()
        files[name] = Path(caught.value.path()).read_bytes()
    document = json.loads(files["Verdict as JSON"])
    assert document["datasets"][0]["data"]["p"] == 25
    assert document["statistics_are_private_data"] is False
    assert "## CAR" in files["Verdict as Markdown"].decode()
    assert files["PNG"].startswith(b"\x89PNG")
    assert files["SVG"].startswith(b"<svg")


@pytest.fixture
def dark_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(color_scheme="dark")
    yield page
    page.close()


def test_dark_mode_is_dark_and_its_charts_too(dark_page: Page, app_url: str) -> None:
    opened(dark_page, f"{app_url}/feasibility")
    background = dark_page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert background == "rgb(16, 25, 27)"
    expect(dark_page.get_by_test_id("stVegaLiteChart").first).to_be_visible(timeout=RUN)
    # The title's colour comes from the theme: light letters, or it could not be read.
    box = dark_page.get_by_test_id("stVegaLiteChart").first.screenshot()
    assert light_share(dark_page, box) > 0.002


def light_share(page: Page, png: bytes) -> float:
    """Share of nearly white pixels of a picture, counted by the browser."""
    import base64

    script = """async (data) => {
      const image = new Image(); image.src = 'data:image/png;base64,' + data; await image.decode();
      const canvas = document.createElement('canvas'); canvas.width = image.width; canvas.height = image.height;
      const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);
      const pixels = context.getImageData(0, 0, image.width, image.height).data; let light = 0;
      for (let i = 0; i < pixels.length; i += 4)
        if (pixels[i] > 190 && pixels[i + 1] > 190 && pixels[i + 2] > 190) light++;
      return light / (pixels.length / 4);
    }"""
    return float(page.evaluate(script, base64.b64encode(png).decode()))


def test_the_formulas_behind_a_verdict_open_beside_it(page: Page, app_url: str) -> None:
    opened(page, f"{app_url}/feasibility?data=asia")
    page.get_by_role("button", name="Why?").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".katex").first).to_be_visible(timeout=RUN)
    theorem = dialog.get_by_role("link", name="Theorem 4.2, Boedihardjo, Strohmer, Vershynin 2021a")
    expect(theorem.first).to_have_attribute("href", "https://arxiv.org/abs/2109.14839")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
