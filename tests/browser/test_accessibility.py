"""Every page through axe, the accessibility checker: no serious finding, in light and dark; and nobody else is asked."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from dpsyn.app.lessons import lessons

pytestmark = pytest.mark.browser

WAIT = 90_000
PAGES = ("", "data", "domain", "feasibility", "generator", "comparison", "lessons", "inside")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


def serious(page: Page) -> list[str]:
    """Serious and critical findings that last, one line each: rule, help, and the first places."""
    found = _serious(page)
    if found:  # a button that just becomes active fades in
        page.wait_for_timeout(2_000)
        found = _serious(page)
    return found


def _serious(page: Page) -> list[str]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [
        f"{v['id']}: {v['help']} at {[node['html'][:300] for node in v['nodes'][:3]]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding_and_no_request_elsewhere(browser: Browser, app_url: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 1000})  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in PAGES:
        page.goto(f"{app_url}/{name}")
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=WAIT)
        assert (name, serious(page)) == (name, [])
    assert [url for url in asked if not url.startswith((app_url, "data:", f"blob:{app_url}"))] == []
    context.close()


def test_no_serious_finding_in_a_lesson(browser: Browser, app_url: str) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": 1280, "height": 720})
    page = context.new_page()
    found = {}
    for title, lesson in lessons().items():
        step = next(at for at, step in enumerate(lesson.steps, start=1) if step.question or at == len(lesson.steps))
        page.goto(f"{app_url}/lessons?{urlencode({'lesson': title, 'step': step})}")
        expect(page.get_by_role("heading", name=lesson.steps[step - 1].title)).to_be_visible(timeout=WAIT)
        expect(page.locator("[class*='lesson_picture'] :is(.vega-embed svg, .js-plotly-plot)")).to_be_visible(timeout=WAIT)
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=WAIT)
        found[title] = serious(page)
    assert found == {title: [] for title in lessons()}
    context.close()
