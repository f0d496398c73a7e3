"""Charts as files: real PNG and SVG with the chart's words in them, on white."""

from __future__ import annotations

import io
import struct

import pytest

from dpsyn.kit.show import chart_png, chart_svg, standalone
from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import draw_lines, rows_bound_info
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import ASIA


@pytest.fixture(scope="module")
def chart():
    return draw_lines(rows_bound_info(sampling_setting(ASIA, PrivacySpec(1.0))))


def test_png_is_twice_as_large_as_on_the_page(chart):
    data = chart_png(chart)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", io.BytesIO(data[16:24]).read())
    assert 2 * 720 <= width < 2 * 900
    assert 2 * 400 <= height < 2 * 640


def test_svg_holds_the_title_and_the_legend(chart):
    text = chart_svg(chart).decode()
    assert text.startswith("<svg")
    assert "Most rows k that are private" in text
    assert "you are here" in text


def test_the_background_is_white_and_the_page_is_not_asked(chart):
    spec = standalone(chart)
    assert spec["background"] == "white"
    assert spec["width"] == 720
