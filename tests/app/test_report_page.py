"""The report file: complete, escaped, without a network."""

from __future__ import annotations

import re
from dataclasses import asdict
from html.parser import HTMLParser

import pandas as pd
import plotly.graph_objects as go
import pytest

from dpsyn.app.lab.report import budget_parts
from dpsyn.display import PRIVATE, PUBLIC
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import ParameterError
from dpsyn.evaluation.document import Code, Section, html_report
from dpsyn.mechanisms.registry import config_class
from dpsyn.privacy.spec import PrivacySpec


class Outside(HTMLParser):
    """Collects everything that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href") and value and not value.startswith("data:"):
                self.found.append(value)


def test_a_report_holds_all_its_parts_and_fetches_nothing() -> None:
    figure = go.Figure(go.Bar(x=[1], y=[2]))
    frame = pd.DataFrame({"name": ["<b>bold</b>"], "value": [0.123456]})
    text = html_report(
        "A & B",
        [Section("One", PUBLIC, ["<script>alert(1)</script>", frame, Code("x < 1")]), Section("Two", PRIVATE, [figure] * 2)],
    )
    assert "A &amp; B" in text
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;b&gt;bold" in text
    assert "<td>0.1235</td>" in text
    assert "x &lt; 1" in text
    assert PRIVATE in text
    # The drawing library once, two figures.
    assert len(re.findall(r"Plotly\.newPlot\(", text)) >= 2
    assert 3_000_000 < len(text) < 9_000_000
    outside = Outside()
    outside.feed(text)
    assert outside.found == []
    assert "default-src 'none'" in text[:300]


def test_without_figures_it_is_small() -> None:
    assert len(html_report("t", [Section("s", PUBLIC, ["words"])], "note")) < 5_000


def test_what_cannot_be_shown() -> None:
    with pytest.raises(ParameterError):
        html_report("t", [Section("s", "somewhat private", [])])
    with pytest.raises(ParameterError):
        html_report("t", [Section("s", PUBLIC, [3])])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("name", ["contingency", "dp_gan", "mwem", "noisy_reweighting"])
def test_the_table_of_the_budget_is_the_whole_budget(name: str, epsilon: float) -> None:
    domain = Domain.of(
        [
            Attribute("x", "numeric", lower=0, upper=99, unit=1, bins=4, public=True),
            Attribute("y", "truth", (0, 1), public=True),
        ]
    )
    mechanism = config_class(name)().calibrate(PrivacySpec(epsilon, 1e-5), domain, n=2_000)
    settings = mechanism.calibrated() | {"requested": asdict(mechanism.spec)}
    table = budget_parts(settings)[1]
    shares = [float(share.split("\N{NO-BREAK SPACE}")[0]) for share in table["share of the budget"]]
    assert dict(zip(table["part"], shares, strict=True))["fine histograms"] == pytest.approx(10, abs=1.2)
    assert sum(shares) == pytest.approx(100, abs=0.3)
