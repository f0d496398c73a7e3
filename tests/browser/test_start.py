"""The first page: the picture and the sentence follow the slider, and Play moves both."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dpsyn.app import start
from tests.browser.test_walk import RUN, until

pytestmark = pytest.mark.browser


def _picture(page: Page) -> str:
    """Every square of the synthetic rows, as it is drawn."""
    return page.locator(".st-key-start .vega-embed svg").inner_html()


def test_picture_and_sentence_follow_slider_and_play(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(app_url)
    expect(page.get_by_text(start.sentences()[10])).to_be_visible(timeout=RUN)
    expect(page.locator(".st-key-start .vega-embed svg")).to_be_visible(timeout=RUN)
    before = _picture(page)
    slider = page.get_by_role("slider", name="ε, the privacy budget")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_text(start.sentences()[0])).to_be_visible()
    expect(slider).to_have_attribute("aria-valuetext", "ε = 0.1")
    page.wait_for_function(
        "before => document.querySelector('.st-key-start .vega-embed svg').innerHTML !== before", arg=before
    )
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text(start.sentences()[0])).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_first_screen_is_short_and_does_not_scroll(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 660})
    page.goto(app_url)
    expect(page.locator(".st-key-start .vega-embed svg")).to_be_visible(timeout=RUN)
    expect(page.get_by_role("button", name="Teach me")).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight <= main.clientHeight")
    # Icons are ligatures: words, too, but nobody reads them.
    page.evaluate("document.querySelectorAll('[data-testid=stIconMaterial]').forEach(icon => icon.remove())")
    words = page.inner_text("body").split()
    assert len(words) <= 90, words
    page.locator(".st-key-start .mark-rect path").last.hover()
    expect(page.locator("#vg-tooltip-element")).to_have_text("short of breath × X-ray unclear: real +0.14, synthetic +0.14")


def test_a_picture_of_feasibility_moves_while_its_slider_is_dragged(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{app_url}/feasibility?f_section=Noisy+reweighting")
    picture = page.locator(".vega-embed svg.marks").first
    expect(picture).to_contain_text("Best at ε = 1:", timeout=RUN)
    slider = page.get_by_role("slider", name="ε (privacy budget)").first
    thumb = page.locator(".stSlider").filter(has=slider).get_by_test_id("stSliderThumbValue").bounding_box()
    assert thumb is not None
    x, y = thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] + 6
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=4)
    # The button is still down: nothing was asked of the server yet.
    expect(picture).not_to_contain_text("Best at ε = 1:")
    expect(picture).to_contain_text("Best at ε = ")
    page.mouse.up()


def test_a_wide_table_on_a_telephone_scrolls_inside_itself(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app_url}/generator?present=true")
    table = page.locator("table").first
    expect(table).to_be_visible(timeout=RUN)
    until(page, "document.querySelector('table').scrollWidth > 390")  # in large type
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth")
    assert table.evaluate("table => table.parentElement.scrollWidth > table.parentElement.clientWidth")


@pytest.mark.parametrize("page_name", ["data", "domain"])
def test_every_column_is_seen_in_larger_type(page: Page, app_url: str, page_name: str) -> None:
    page.goto(f"{app_url}/{page_name}?present=true")
    rows = page.locator(".dvn-scroller").first
    expect(rows).to_be_visible(timeout=RUN)
    assert rows.evaluate("grid => grid.scrollHeight - grid.clientHeight") <= 0
