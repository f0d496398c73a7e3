"""Lessons in a real browser: a walk to the end, the lab and back, a projector; larger type stays in the address."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_walk import RUN, settled, until

pytestmark = pytest.mark.browser


_PICTURES = "[class*='st-key-lesson_picture'] :is(.vega-embed svg, .js-plotly-plot)"

_HEIGHTS = """texts => texts.filter(text => text.textContent.trim()).map(text => text.getBoundingClientRect())
  .map(box => Math.min(box.width, box.height))"""


def test_a_lesson_is_walked_to_its_end_in_one_tab_with_a_pinned_comparison(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{app_url}/lessons")
    page.get_by_role("link", name="What ε does").click(timeout=RUN)
    expect(page.get_by_role("heading", name="Everybody lies a little")).to_be_visible(timeout=RUN)
    expect(page.locator(_PICTURES)).to_be_visible(timeout=RUN)
    settled(page)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight <= main.clientHeight")
    page.get_by_role("button", name="Pin to compare").click()
    expect(page.get_by_text("Pinned")).to_be_visible(timeout=RUN)
    page.get_by_role("slider", name="ε").press("ArrowLeft")
    expect(page.get_by_text("Now. At ε = 0.5 each")).to_be_visible(timeout=RUN)
    expect(page.get_by_text("Pinned, step 1, ε 1, Draw 2. At ε = 1 each")).to_be_visible()
    expect(page.locator(_PICTURES)).to_have_count(2)
    expect(page).to_have_url(re.compile("histogram_1_epsilon=0.5"))
    page.get_by_role("button", name="Unpin").click()
    for step, answer, because in ((2, "Half", "Over the ten draws"), (3, "1.2 times", "Right. e^0.2")):
        page.get_by_role("button", name="Next", exact=True).click()
        expect(page).to_have_url(re.compile(f"step={step}"), timeout=RUN)
        assert page.get_by_text(because).count() == 0
        page.get_by_role("radio", name=answer, exact=True).click(timeout=RUN)
        expect(page.get_by_text(because)).to_be_visible(timeout=RUN)
        expect(page.locator(_PICTURES)).to_have_count(1)
    expect(page.get_by_role("button", name="Next lesson")).to_be_visible()
    settled(page)
    assert len(page.context.pages) == 1
    page.reload()
    expect(page.get_by_role("heading", name="What ε promises")).to_be_visible(timeout=RUN)
    assert "guess" not in page.url
    assert page.get_by_text(because).count() == 0
    page.get_by_role("button", name="All lessons").click()
    expect(page.get_by_role("link", name="The cube")).to_be_visible(timeout=RUN)


def test_the_lab_opens_in_the_same_tab_and_leads_back_to_the_step(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/lessons?lesson=What+%CE%BB+does&step=2")
    page.get_by_role("link", name="Open Inside").click(timeout=RUN)
    expect(page.get_by_text("Which cells bind", exact=True)).to_be_visible(timeout=RUN)
    expect(page).to_have_url(re.compile("is_floor=0.1"))
    assert "lesson=" not in page.url
    page.get_by_role("link", name="Back to What λ does, step 2").click()
    expect(page.get_by_role("heading", name="Which cells force λ up")).to_be_visible(timeout=RUN)
    assert len(page.context.pages) == 1


def test_a_lesson_on_a_projector_is_its_picture_sliders_and_one_caption(page: Page, app_url: str) -> None:
    for width, height, least in ((1280, 720, 18), (1920, 1080, 27)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{app_url}/lessons?lesson=Noise+against+n&present=true")
        expect(page.locator(_PICTURES)).to_be_visible(timeout=RUN)
        settled(page)
        assert page.get_by_test_id("stTopNavLink").first.is_hidden()
        assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight <= main.clientHeight")
        picture = page.locator(_PICTURES).bounding_box()
        assert picture is not None
        assert picture["width"] > 0.9 * width
        assert picture["width"] < width
        assert picture["height"] > 0.6 * height
        assert page.get_by_text("Step 1 of 4").is_visible()
        assert page.get_by_text("At n = 10,000 the least noise").is_visible()
        # In SVG a size does not show the zoom that the picture has; the height of a word does.
        assert sorted(page.locator(f"{_PICTURES} text").evaluate_all(_HEIGHTS))[3] >= least
    page.get_by_role("button", name="Next", exact=True).click()
    # While the step is exchanged the question may be there twice.
    expect(page.get_by_text("how many times the rows").first).to_be_visible(timeout=RUN)
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_test_id("stTopNavLink").first).to_be_visible(timeout=RUN)
    assert "present" not in page.url


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
    with page.expect_download(timeout=RUN) as download:
        page.get_by_role("button", name="Jupyter notebook").click()
    assert download.value.suggested_filename == "dpsyn_car.ipynb"
    assert "dpsyn.NoisyReweighting(degree=1" in download.value.path().read_text(encoding="utf-8")
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
    for name in ("Start", "Data", "Feasibility", "Generator", "Comparison", "Learn"):
        link = page.get_by_test_id("stTopNavLink").filter(has_text=re.compile(f"{name}$"))
        assert link.is_visible()
        assert link.evaluate("link => !link.closest('[inert]')")
    for name in ("Data", "Start"):  # it stays on from page to page
        page.get_by_test_id("stTopNavLink").filter(has_text=re.compile(f"{name}$")).click()
        expect(page.get_by_role("heading", name="Synthetic rows" if name == "Start" else name)).to_be_visible(timeout=RUN)
        settled(page)
        expect(page.get_by_role("switch", name="Presentation")).to_be_checked()
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible(timeout=RUN)
    expect(page.get_by_role("button", name="Use my data")).to_be_visible()


def test_the_address_holds_the_data_as_set_and_the_walsh_function(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/?data=asia")  # where the data stood before Start
    page.get_by_text("Rows and statistics, for you").click(timeout=RUN)
    bits = page.get_by_role("switch", name="Count every two-valued column as one bit")
    expect(bits).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_text("Count every two-valued column as one bit").click()
    expect(page).to_have_url(re.compile("data_bits=true"), timeout=RUN)
    cube = "&".join(f"is_columns_asia={c}&is_cube_asia={c}" for c in ("smoke", "lung", "bronc"))
    page.goto(f"{page.url.replace('/data?', '/inside?')}&is_section=3+·+Density&{cube}")
    expect(page.get_by_text("equal bits in smoke and lung")).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_role("button", name="bronc", exact=True).click()
    said = page.get_by_text("even number of zero bits")
    expect(said).to_be_visible(timeout=RUN)
    expect(page).to_have_url(re.compile("is_walsh_asia=bronc"))
    assert "data_bits=true" in page.url
    page.reload()
    expect(said).to_be_visible(timeout=RUN)
