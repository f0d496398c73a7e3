"""For a projector every word is larger, and the pictures grow by what the words need."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from dpsyn.kit.layers import finish as finish_chart
from dpsyn.kit.plotly import finish as finish_figure
from dpsyn.kit.show import chart_svg, larger_chart, larger_figure, word_sizes
from dpsyn.mechanisms.private_sampling.bounds import sampling_setting
from dpsyn.mechanisms.private_sampling.figures.feasibility import draw_lines, reduced_space_info, rows_bound_info
from dpsyn.mechanisms.private_sampling.figures.hypercube import draw_averages, walsh_info
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import ASIA
from tests.mechanisms.private_sampling.figures.conftest import bits_table, run_of

BY = 21 / 16
LONG = "A title that is far too long for half of a page and has to be written in several lines of words"


def sizes_of(config: dict[str, Any]) -> list[float]:
    return [size for part in config.values() for size in part.values()]


def test_every_word_of_a_chart_is_larger_and_none_is_small() -> None:
    usual, larger = sizes_of(word_sizes()), sizes_of(word_sizes(BY))
    assert min(larger) >= 14
    assert min(new / old for new, old in zip(larger, usual, strict=True)) >= 1.25


def test_a_chart_grows_by_what_its_words_need_and_the_plot_keeps_its_size() -> None:
    chart = draw_lines(rows_bound_info(sampling_setting(ASIA, PrivacySpec(1.0))))
    spec, larger = chart.to_dict(), larger_chart(chart, BY).to_dict()
    around = spec["height"] - 260
    assert larger["height"] - 260 >= BY * around - 1
    assert len(larger["title"]["subtitle"]) >= len(spec["title"]["subtitle"])
    assert chart.to_dict() == spec


def test_a_long_title_is_wrapped_and_loses_no_word() -> None:
    import altair as alt

    base = alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    usual = finish_chart(base, LONG)
    larger = larger_chart(usual, BY)
    for chart, longest in ((usual, 48), (larger, 48 / BY * 1.15)):
        lines = chart.to_dict()["title"]["text"]
        assert " ".join(lines) == LONG
        assert max(map(len, lines)) <= longest
    assert usual.to_dict()["height"] > finish_chart(base, "A title").to_dict()["height"]
    assert finish_chart(base, "A title").to_dict()["title"]["text"] == "A title"


def test_the_window_of_m_has_its_whole_title_in_half_of_a_narrow_page() -> None:
    chart = larger_chart(draw_lines(reduced_space_info(sampling_setting(ASIA, PrivacySpec(1.0)))), BY).properties(width=420)
    with_sizes = chart.properties(config=word_sizes(BY))
    words = re.findall(r"<text[^>]*>([^<]*)</text>", chart_svg(with_sizes).decode())
    assert "Window" in " ".join(words)
    assert not [word for word in words if word.endswith("…")]


def test_labels_of_an_axis_have_more_room() -> None:
    chart = draw_averages(walsh_info(run_of(bits_table(4)), (), 0.25, 2.0))

    def limits(drawn: Any) -> list[float]:
        found = [layer["encoding"].get("y", {}).get("axis") or {} for layer in drawn.to_dict()["layer"]]
        return [axis["labelLimit"] for axis in found if "labelLimit" in axis]

    assert limits(chart)
    assert limits(larger_chart(chart, BY)) == pytest.approx([BY * limit for limit in limits(chart)])


def test_every_word_of_a_figure_is_larger() -> None:
    figure = go.Figure(
        [
            go.Scatter(x=[1], y=[1], mode="text", text=["here"], name="words"),
            go.Scatter(x=[1], y=[2], mode="markers", marker={"color": [1], "colorbar": {"title": {"text": "m·h*"}}}),
            go.Heatmap(z=np.eye(2), colorbar={"title": {"text": "share"}}),
            go.Bar(x=[1], y=[1]),
        ]
    )
    figure.add_annotation(text="a panel", font={"size": 16})
    figure.update_xaxes(tickfont={"size": 13}, title_text="x")
    finish_figure(figure, LONG, entries=2)
    larger = larger_figure(figure, BY)
    layout = larger.layout
    assert layout.title.font.size >= 1.25 * 16
    assert layout.legend.font.size >= 1.25 * 12
    assert layout.annotations[0].font.size >= 1.25 * 16
    assert layout.xaxis.tickfont.size >= 1.25 * 13
    assert min(layout.xaxis.title.font.size, layout.yaxis.title.font.size) >= 1.25 * 14
    assert larger.data[0].textfont.size >= 1.25 * 12
    for bar in (larger.data[1].marker.colorbar, larger.data[2].colorbar):
        assert bar.tickfont.size >= 1.25 * 12
        assert bar.title.font.size >= 1.25 * 14
    assert layout.margin.t > figure.layout.margin.t
    assert layout.height > figure.layout.height
    assert figure.layout.font.size is None


@pytest.mark.parametrize("by", [1.0, BY])
def test_a_long_title_of_a_figure_is_wrapped(by: float) -> None:
    figure = finish_figure(go.Figure(), LONG)
    drawn = larger_figure(figure, by)
    lines = drawn.layout.title.text.split("<br>")
    assert " ".join(lines) == LONG
    assert lines == textwrap.wrap(LONG, int(64 / by))
    assert drawn.layout.height >= finish_figure(go.Figure(), "short").layout.height + 21 * (len(lines) - 1)


def test_names_in_a_title_stay_text_when_it_is_wrapped() -> None:
    title = finish_figure(go.Figure(), f"{LONG} <b> & more").layout.title.text
    assert "&lt;b&gt; &amp; more" in title.replace("<br>", " ")
