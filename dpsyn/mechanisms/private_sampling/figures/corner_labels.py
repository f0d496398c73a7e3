"""Where the words at the corners of a cube stand: beside their discs, off the other discs and words, at the first view."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FONT = 16.0
"""Pixels for which room is made: the words of a presentation."""
_WIDE, _HIGH, _GAP = 0.58, 1.05, 3.0
"""A letter's width and a line's height in sizes of the font, and pixels between a disc and its word."""
_DIRECTIONS, _STEPS, _SWEEPS = 24, (0.0, 6.0, 12.0, 20.0), 4
_ON_WORD, _ON_DISC, _ON_EDGE, _AWAY = 40.0, 20.0, 0.6, 0.4
_FIELD = math.pi / 4
"""Plotly's camera sees 45 degrees from the bottom of a scene to its top."""


@dataclass(frozen=True)
class View:
    """A scene as it is first seen.

    Attributes:
        eye: where the camera is, in Plotly's units of a scene; it looks at the middle.
        unit: length in those units of 1 on the axes, whose middle is 0.
        height: pixels of the scene.
    """

    eye: tuple[float, float, float]
    unit: float
    height: float

    @property
    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Unit vectors to the right, upwards and away from the eye."""
        away = -np.asarray(self.eye) / np.linalg.norm(self.eye)
        right = np.cross(away, [0.0, 0.0, 1.0])
        right = right / np.linalg.norm(right)
        return right, np.cross(right, away), away

    def on_screen(self, places: Floats) -> tuple[Floats, Floats]:
        """Pixels to the right and upwards from the middle, shape (k, 2), and pixels per 1 on the axes there, shape (k,)."""
        right, up, away = self.axes
        seen = places * self.unit - np.asarray(self.eye)
        scale = self.height / 2 / math.tan(_FIELD / 2) / (seen @ away)
        return np.stack([seen @ right * scale, seen @ up * scale], axis=1), scale * self.unit

    def moved(self, places: Floats, pixels: Floats) -> Floats:
        """The places that are seen ``pixels`` (k, 2) to the right and upwards, as far away as before."""
        right, up, _ = self.axes
        _, scale = self.on_screen(places)
        shift = pixels / scale[:, None]
        return np.asarray(places + shift[:, :1] * right + shift[:, 1:] * up)


def boxes_of(words: Sequence[str]) -> Floats:
    """Half of the width and of the height that every word takes, in pixels, shape (k, 2)."""
    return np.array([[_WIDE * _FONT * len(word) / 2, _HIGH * _FONT / 2] for word in words])


def label_places(
    view: View, places: Floats, radii: Sequence[float], words: Sequence[str], edges: Sequence[tuple[int, int]]
) -> Floats:
    """The middle of every word, in the units of the axes, shape (k, 3).

    Every word goes where it covers least of other words, discs and edges, the crowded ones first, and once more while the
    others are known.

    Args:
        view: the scene.
        places: of the corners, shape (k, 3).
        radii: pixels of the largest disc at every corner.
        words: one a corner.
        edges: pairs of corners.
    """
    at, _ = view.on_screen(places)
    half, radius = boxes_of(words), np.asarray(radii)
    lines = _along(at, edges)
    distance = np.linalg.norm(at[:, None] - at[None], axis=2) + np.where(np.eye(len(at)) > 0, np.inf, 0.0)
    crowded = np.argsort(distance.min(axis=1), kind="stable")
    options = [_options(at[i], radius[i], half[i]) for i in range(len(at))]
    costs = [_cost_of_discs_and_edges(options[i], at, radius, half[i], lines) for i in range(len(at))]
    chosen, known = np.zeros_like(at), np.zeros(len(at), dtype=bool)
    for _ in range(_SWEEPS):
        for i in crowded:
            known[i] = False
            covered = _overlap(options[i], half[i], chosen[known], half[known])
            chosen[i], known[i] = options[i][int(np.argmin(costs[i] + _ON_WORD * covered))], True
    return view.moved(places, chosen - at)


def _options(corner: Floats, radius: float, half: Floats) -> Floats:
    """Middles around a disc at which the word just does not touch it, and some farther away."""
    angles = np.arange(_DIRECTIONS) * 2 * math.pi / _DIRECTIONS
    towards = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = []
    for step in _STEPS:
        reach = radius + _GAP + step
        # The word touches the disc with a corner or a side: its middle is half of it farther on both axes.
        found.append(corner + reach * towards + np.clip(1.6 * towards, -1, 1) * half)
    return np.concatenate(found)


def _cost_of_discs_and_edges(options: Floats, at: Floats, radius: Floats, half: Floats, lines: Floats) -> Floats:
    apart = np.maximum(np.abs(options[:, None] - at[None]) - half, 0)
    into = np.maximum(radius + 1 - np.linalg.norm(apart, axis=2), 0).sum(axis=1)
    near = [np.abs(options[:, None, axis] - lines[None, :, axis]) < half[axis] for axis in (0, 1)]
    crossed = np.count_nonzero(near[0] & near[1], axis=1)
    step = np.repeat(np.array(_STEPS), _DIRECTIONS)
    return np.asarray(_ON_DISC * into + _ON_EDGE * crossed + _AWAY * step)


def _overlap(options: Floats, half: Floats, others: Floats, other_halves: Floats) -> Floats:
    """Pixels by which a box at each option covers other boxes, of each the smaller of both directions, in all."""
    free = half + other_halves + 1 - np.abs(options[:, None] - others[None])
    return np.asarray(np.maximum(np.minimum(free[..., 0], free[..., 1]), 0).sum(axis=1))


def _along(at: Floats, edges: Sequence[tuple[int, int]]) -> Floats:
    """Points on all edges, a few pixels apart, shape (l, 2)."""
    share = np.linspace(0, 1, 41)[:, None]
    return np.concatenate([at[i] * (1 - share) + at[j] * share for i, j in edges])
