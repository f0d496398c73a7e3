"""Colours that stay apart for colour-blind readers, and words that can be read on light and dark pages."""

from __future__ import annotations

import re
from itertools import combinations

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert

from dpsyn.kit.layers import GUIDE, HERE, SERIES, channels, on_colour, rules
from dpsyn.kit.plotly import bar_style, places_of
from dpsyn.mechanisms.registry import MECHANISMS, THE_THREE

# Machado, Oliveira, Fernandes (2009), severity 1, on linear RGB.
SIMULATED = {
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    ratio = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", SIMULATED)
def test_series_stay_apart(kind):
    seen = {colour: lab(np.array(SIMULATED[kind]) @ linear(colour)) for colour in (*SERIES, HERE)}
    apart = {(one, other): np.linalg.norm(seen[one] - seen[other]) for one, other in combinations(seen, 2)}
    # 2.3 can just be told apart side by side; red, green and brown of the usual palettes come closer than 10.
    assert min(apart.values()) > 15, min(apart, key=apart.__getitem__)


def contrast(*colours: str) -> float:
    dark, light = sorted(float(XYZ[1] @ linear(colour)) for colour in colours)
    return (light + 0.05) / (dark + 0.05)


PAGES = pytest.mark.parametrize("page", ["#ffffff", "#10191b"])


@PAGES
def test_guides_can_be_seen_on_both_pages(page):
    assert contrast(GUIDE, page) > 4


@PAGES
def test_words_in_a_plot_can_be_read_on_both_pages(page):
    rows = alt.Chart(alt.Data(values=[{"name": "here"}])).encode(text=alt.Text("name:N"))
    marks = (*rules([(0.5, "here")], (0.0, 1.0)), *on_colour(rows, "name"))
    drawn = vl_convert.vegalite_to_svg(alt.layer(*marks).to_dict(), config={"background": page})
    words = re.findall(r'<text[^>]*fill="(#\w+)"[^>]*>here<', drawn)
    assert len(words) == 2
    assert min(contrast(word, page) for word in words) > 4.5
    assert re.findall(r'<text[^>]*stroke="(#\w+)"[^>]*>here<', drawn) == [page]


def test_every_mechanism_has_a_look_of_its_own_and_keeps_its_colour():
    order = list(MECHANISMS)
    places = places_of([*order, *order, "another"], order)
    looks = [repr((bar_style(at)["color"], bar_style(at)["pattern"])) for at in places]
    assert len(set(looks)) == len(looks)
    for first, second in zip(places[: len(order)], places[len(order) : -1], strict=True):
        assert bar_style(first)["color"] == bar_style(second)["color"]
    assert len({bar_style(at)["color"] for at in places_of(THE_THREE, order)}) == 3
    assert order[:3] == list(THE_THREE)


def test_a_few_mechanisms_never_share_a_colour():
    order = list(MECHANISMS)
    for kinds in combinations(order, 3):
        assert len({bar_style(at)["color"] for at in places_of(kinds, order)}) == 3
    # Those that come first keep theirs.
    assert places_of(["mwem", "noisy_reweighting", order[6]], order)[:2] == [3, 1]


@pytest.mark.parametrize(("width", "columns"), [(200, 1), (420, 2)])
def test_a_legend_has_one_column_where_two_would_be_cut(width: int, columns: int) -> None:
    labels = ["ε = 0.1", "ε = 1", "your ε", "bounded ratio, your ε"]
    rows = pd.DataFrame({"x": range(4), "series": labels})
    chart = alt.Chart(rows, width=width).mark_point().encode(x="x:Q", **channels(labels, color=["red"] * 4))
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    entries = re.findall(r"translate\(([^,]+),", svg[svg.index("role-legend-entry") :])
    assert len({place for place in entries if place not in ("9", "22")}) == columns  # of symbols and words in an entry
