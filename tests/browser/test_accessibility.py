"""Every page through axe, the accessibility checker: no serious finding, in light and dark; and nobody else is asked."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

WAIT = 90_000
PAGES = {
    "Start": "Synthetic rows with proven privacy",
    "Data": "What can differentially private synthetic data do with your data?",
    "Feasibility": "Feasibility",
    "Generator": "Generator",
    "Inside": "Inside the mechanisms",
    "Lessons": "Lessons",
    "Comparison": "Comparison",
}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


def serious(page: Page) -> list[str]:
    """Serious and critical findings, one line each: rule, help, and the first places."""
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
    page.goto(app_url)
    for name, heading in PAGES.items():
        page.get_by_role("link", name=name, exact=True).first.click(timeout=WAIT)
        expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible(timeout=WAIT)
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning", timeout=WAIT)
        assert (name, serious(page)) == (name, [])
    assert [url for url in asked if not url.startswith((app_url, "data:", f"blob:{app_url}"))] == []
    context.close()
