"""Lessons in a real browser: a link reopens the same numbers, a draw changes them, larger type stays in the address."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_walk import RUN, settled, until

pytestmark = pytest.mark.browser


def proof(page: Page) -> str:
    found = page.get_by_text(re.compile(r"^λ = 0\.\d{4}, and this is the proof"))
    expect(found).to_be_visible(timeout=RUN)
    settled(page)
    return found.inner_text()


def test_a_lesson_link_reopens_the_same_numbers(page: Page, app_url: str, browser: Browser) -> None:
    page.goto(f"{app_url}/lessons")
    page.get_by_role("radio", name="What λ does").click(timeout=RUN)
    expect(page.get_by_text("A lower floor mixes in less")).to_be_visible(timeout=RUN)
    settled(page)
    assert "lesson=" in page.url
    with page.expect_popup() as caught:
        page.get_by_role("link", name="Open step 2").click(timeout=RUN)
    step = caught.value
    expect(step.get_by_role("heading", name="Inside the mechanisms")).to_be_visible(timeout=RUN)
    first = proof(step)
    again = browser.new_page()
    again.goto(step.url)
    assert proof(again) == first
    again.get_by_role("slider", name="floor").press("ArrowRight")
    expect(again.get_by_text(first)).to_have_count(0, timeout=RUN)
    expect(again).to_have_url(re.compile("is_floor=0.06"))
    changed = proof(again)
    again.reload()
    assert proof(again) == changed
    again.close()


def test_share_shows_a_link_and_code_and_larger_type_stays(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/generator?data=car&mechanism=Noisy+reweighting&degree=1")
    expect(page.get_by_text("The release will be")).to_be_visible(timeout=RUN)
    settled(page)
    size = "parseFloat(getComputedStyle(document.documentElement).fontSize)"
    before = page.evaluate(size)
    page.get_by_text("Presentation").click()
    expect(page).to_have_url(re.compile("present=true"), timeout=RUN)
    until(page, f"{size} > {1.2 * before}")
    settled(page)
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_text("dpsyn.NoisyReweighting(degree=1")).to_be_visible(timeout=RUN)
    expect(page.get_by_text("degree=1").first).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0


_WORDS = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart] text, .js-plotly-plot .main-svg text')]
  .filter(text => text.textContent.trim() && text.getBoundingClientRect().width)
  .map(text => parseFloat(getComputedStyle(text).fontSize))"""


@pytest.mark.parametrize("address", ["feasibility?data=asia", "inside?data=asia&is_section=3+%C2%B7+Density"])
def test_a_projector_of_1280_pixels_shows_every_page_and_large_words(page: Page, app_url: str, address: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.goto(f"{app_url}/{address}&present=true")
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible(timeout=RUN)
    settled(page)
    until(page, f"({_WORDS})().length > 20")
    assert min(page.evaluate(_WORDS)) >= 14
    for name in ("Data", "Feasibility", "Generator", "Inside", "Lessons", "Comparison"):
        link = page.get_by_test_id("stTopNavLink").filter(has_text=re.compile(f"{name}$"))
        assert link.is_visible()
        assert link.evaluate("link => !link.closest('[inert]')")


def test_the_address_holds_the_data_as_set_and_the_walsh_function(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/?data=asia")
    bits = page.get_by_role("switch", name="Count every two-valued column as one bit")
    expect(bits).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_text("Count every two-valued column as one bit").click()
    expect(page).to_have_url(re.compile("data_bits=true"), timeout=RUN)
    cube = "&".join(f"is_columns_asia={c}&is_cube_asia={c}" for c in ("smoke", "lung", "bronc"))
    page.goto(f"{page.url.replace('/?', '/inside?')}&is_section=3+·+Density&{cube}")
    expect(page.get_by_text("equal bits in smoke and lung")).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_role("button", name="bronc", exact=True).click()
    said = page.get_by_text("even number of zero bits")
    expect(said).to_be_visible(timeout=RUN)
    expect(page).to_have_url(re.compile("is_walsh_asia=bronc"))
    assert "data_bits=true" in page.url
    page.reload()
    expect(said).to_be_visible(timeout=RUN)
