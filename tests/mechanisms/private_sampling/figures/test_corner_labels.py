"""The words at the corners of a cube can be read at the first view: off the discs, the rings and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpsyn.kit.show import larger_figure
from dpsyn.mechanisms.private_sampling.figures.corner_labels import boxes_of
from dpsyn.mechanisms.private_sampling.figures.hypercube import (
    draw_hypercube,
    draw_walsh,
    first_view,
    hypercube_info,
    walsh_info,
)
from tests.mechanisms.private_sampling.figures.conftest import bits_table, run_of


def figure_of(bits: int, seed: int, walsh: bool) -> Any:
    run = run_of(bits_table(bits, seed=seed))
    if walsh:
        return draw_walsh(walsh_info(run, ("b0",), 0.25, 2.0))
    return draw_hypercube(hypercube_info(run, 0.25, 2.0))


def words_of(figure: Any) -> Any:
    return next(trace for trace in figure.data if trace.mode == "text")


def scene_height(figure: Any) -> float:
    margin = figure.layout.margin
    return float(figure.layout.height - margin.t - margin.b)


@pytest.mark.parametrize("walsh", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_no_word_lies_on_a_disc_or_on_another_word(bits: int, seed: int, walsh: bool) -> None:
    figure = figure_of(bits, seed, walsh)
    view = first_view(bits, scene_height(figure))
    labels = words_of(figure)
    middles, _ = view.on_screen(np.stack([labels.x, labels.y, labels.z], axis=1).astype(float))
    half = boxes_of(labels.text)
    assert len(middles) == 2**bits
    apart = np.abs(middles[:, None] - middles[None]) - (half[:, None] + half[None])
    others = ~np.eye(len(middles), dtype=bool)
    assert apart.max(axis=2)[others].min() > 0
    for trace in figure.data:
        if trace.mode == "markers":
            discs, _ = view.on_screen(np.stack([trace.x, trace.y, trace.z], axis=1).astype(float))
            gaps = np.linalg.norm(np.maximum(np.abs(middles[:, None] - discs[None]) - half[:, None], 0), axis=2)
            assert (gaps - np.array(trace.marker.size) / 2).min() > -0.5


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_every_word_is_inside_of_half_a_page(bits: int) -> None:
    figure = figure_of(bits, 0, walsh=True)
    height = scene_height(figure)
    labels = words_of(figure)
    middles, _ = first_view(bits, height).on_screen(np.stack([labels.x, labels.y, labels.z], axis=1).astype(float))
    reach = np.abs(middles) + boxes_of(labels.text)
    assert reach[:, 1].max() < height / 2
    assert reach[:, 0].max() < 260


def test_a_word_stands_nearer_to_its_own_disc_than_to_any_other() -> None:
    for seed in range(3):
        figure = figure_of(4, seed, walsh=False)
        view = first_view(4, scene_height(figure))
        labels, rings = words_of(figure), figure.data[2]
        middles, _ = view.on_screen(np.stack([labels.x, labels.y, labels.z], axis=1).astype(float))
        rings_at, _ = view.on_screen(np.stack([rings.x, rings.y, rings.z], axis=1).astype(float))
        gaps = np.maximum(np.abs(middles[:, None] - rings_at[None]) - boxes_of(labels.text)[:, None], 0)
        distance = np.linalg.norm(gaps, axis=2) - np.array(rings.marker.size) / 2
        assert (np.argmin(distance, axis=1) == np.arange(16)).mean() >= 0.9


def test_the_scene_keeps_its_size_when_words_grow() -> None:
    figure = figure_of(4, 0, walsh=False)
    larger = larger_figure(figure, 1.3)
    assert abs(scene_height(larger) - scene_height(figure)) < 1
    assert words_of(larger).textfont.size == pytest.approx(1.3 * 12)
