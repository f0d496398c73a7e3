"""A folder of Parquet files, opened by its path and never read into memory: from the page Data to a score card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_walk import NOT_PUBLIC, RUN, known_from_a_code_book, run_mechanism, settled

pytestmark = pytest.mark.browser


def people(n: int, seed: int) -> pd.DataFrame:
    """Empty cells, dates, a column of many codes, and names that are not ASCII."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, n)
    frame = pd.DataFrame({"größe": np.round(150 + random.random(n) * 50, 1), "age": age})
    frame["visited"] = np.datetime64("2021-01-01") + random.integers(0, 300, n).astype("timedelta64[D]")
    frame["código"] = [f"c{i}" for i in random.integers(0, 200, n)]
    frame["city"] = pd.Series(random.choice(["Genève", "Oslo"], n)).where(random.random(n) > 0.1)
    return frame.assign(ill=np.where(age > 60, "yes", "no"))


def test_a_folder_by_its_path_gets_a_score_card(page: Page, app_url: str, tmp_path: Path) -> None:
    for part in range(3):
        people(2_000, part).to_parquet(tmp_path / f"{part}.parquet")
    page.goto(f"{app_url}/data")
    expect(page.get_by_text("Mechanisms see 15,000 rows")).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_label("Or a path, read in place").fill(str(tmp_path))
    page.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Open").click()
    expect(page.get_by_text("6,000 rows · 6 columns")).to_be_visible(timeout=RUN)
    expect(page.get_by_text("Read in place: mechanisms see all 6,000 rows.")).to_be_visible(timeout=RUN)
    expect(page.get_by_text(NOT_PUBLIC)).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Next: state the domain").click()
    known_from_a_code_book(page)
    page.get_by_role("button", name="Next: choose a mechanism").click()
    expect(page.get_by_text("are the smallest or the largest value in these rows")).to_be_visible(timeout=RUN)
    settled(page)
    page.get_by_role("button", name="Next: choose a mechanism").click()
    expect(page.get_by_role("heading", name="Generator", level=1)).to_be_visible(timeout=RUN)
    run_mechanism(page, "Noisy reweighting")
    assert str(tmp_path) not in page.url
    page.get_by_role("link", name="Compare in detail").click()
    expect(page.get_by_text("rows that it drew, which the mechanism has seen too")).to_be_visible(timeout=RUN)
    assert page.get_by_test_id("stException").count() == 0
