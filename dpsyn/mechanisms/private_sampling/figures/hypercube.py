"""The Boolean cube of one to four bits, with the data's density and h* at every corner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.kit.plotly import finish, safe, shorten
from dpsyn.kit.theme import GUIDE, HERE
from dpsyn.mechanisms.private_sampling.figures.corner_labels import View, label_places
from dpsyn.mechanisms.private_sampling.figures.instance import Density, Instance
from dpsyn.table import Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BITS = 4
_LARGEST_MARK, _LARGEST_OF_MANY = 58.0, 36.0
_INNER = 0.38
_HEIGHT, _HEIGHT_OF_MANY, _ABOVE, _BELOW = 430, 560, 40, 60
_HALF_AXIS, _FAR = 1.8, 6.0
"""Axes reach so far beyond the corners that words have room; the eye is so far away that the back is not drawn tiny."""


def _eye(azimuth: float, elevation: float) -> tuple[float, float, float]:
    level = _FAR * math.cos(elevation)
    return level * math.cos(azimuth), level * math.sin(azimuth), _FAR * math.sin(elevation)


_EYES = {
    1: (0.0, -0.01, _FAR),
    2: (0.0, -0.01, _FAR),
    3: _eye(0.42, 0.40),
    # From here the sixteen corners keep the largest distance from each other on the screen.
    4: _eye(0.10, 0.47),
}
_UNITS = {1: 1.45, 2: 1.45, 3: 1.25, 4: 1.34}
"""Length of 1 on the axes, in the units of the scene: the picture fills its height and half of a page."""


@dataclass(frozen=True)
class Corner:
    """One corner: its place in the picture, the row it stands for, and both densities there (shares that sum to 1)."""

    place: tuple[float, float, float]
    bits: tuple[int, ...]
    row: str
    data: float
    density: float


@dataclass(frozen=True)
class Discs:
    """Corners whose discs share an entry of the legend, by position, and what Plotly is told about their colour."""

    name: str
    corners: tuple[int, ...]
    colours: Mapping[str, Any]


@dataclass(frozen=True)
class HypercubeInfo:
    """The corners and edges of a cube.

    Attributes:
        title: what is shown.
        columns: the bits' names, in order.
        corners: all 2^p of them.
        edges: pairs of corners that differ in one bit.
        largest_ratio: the box's ceiling, at which the colours end.
    """

    title: str
    columns: tuple[str, ...]
    corners: tuple[Corner, ...]
    edges: tuple[tuple[int, int], ...]
    largest_ratio: float


def as_bits(table: Table, chosen: dict[str, str | None]) -> Table:
    """The table of some columns, each as one bit.

    Args:
        table: the rows.
        chosen: by column, the label whose rows are 1, or None for a column that has two codes already.

    Raises:
        ParameterError: more than four columns, none, or a label that the column does not have.
    """
    if not 1 <= len(chosen) <= MOST_BITS:
        raise ParameterError("columns", len(chosen), f"1 to {MOST_BITS} columns")
    attributes, frame = [], {}
    for name, label in chosen.items():
        column = table.domain[name]
        labels = column.labels()
        if label is not None and label not in labels:
            raise ParameterError("label", label, f"one of the values of {name!r}")
        if label is None and len(labels) != 2:
            raise ParameterError("columns", name, "a column with two values, or one of its values to set against the rest")
        one = labels.index(label) if label is not None else 1
        zero = labels[0] if label is None else f"not {label}"
        bit = Attribute(name, "truth", (zero, labels[one]), public=column.public)
        attributes.append(bit)
        codes = (table.codes[:, table.domain.index(name)] == one).astype(int)
        frame[name] = np.array(bit.categories, dtype=object)[codes]
    return Table(pd.DataFrame(frame), Domain.of(attributes), table.name)


def hypercube_info(instance: Instance, density: Density) -> HypercubeInfo:
    """Data of :func:`draw_hypercube`.

    Raises:
        ParameterError: the instance is not a whole cube of one to four bits.
    """
    p = len(instance.space.sizes)
    if not (instance.space.whole and p <= MOST_BITS and instance.domain.is_binary):
        raise ParameterError("instance", instance.space.sizes, f"the whole cube of 1 to {MOST_BITS} bits")
    labels = [attribute.labels() for attribute in instance.domain.attributes]
    names = instance.domain.names
    corners = []
    for at, bits in enumerate(product((0, 1), repeat=p)):
        row = ", ".join(f"{name} = {labels[j][bit]}" for j, (name, bit) in enumerate(zip(names, bits, strict=True)))
        share = float(instance.counts[at] / instance.n)
        corners.append(Corner(_place(bits), bits, row, share, float(density.ratio[at] / instance.space.m)))
    edges = [(i, i + step) for i in range(2**p) for step in (2**j for j in range(p)) if not i & step]
    shape = {1: "line", 2: "square", 3: "cube", 4: "cube in a cube"}[p]
    return HypercubeInfo(
        f"The {shape} of {p} bit{'s' if p > 1 else ''}", names, tuple(corners), tuple(edges), density.ceiling
    )


def _place(bits: tuple[int, ...]) -> tuple[float, float, float]:
    """The first three bits are the axes; the fourth chooses the outer or, drawn smaller, the inner cube."""
    x, y, z = (*(2.0 * bit - 1 for bit in bits[:3]), 0.0, 0.0, 0.0)[:3]
    size = _INNER if len(bits) == MOST_BITS and bits[3] == 1 else 1.0
    return x * size, y * size, z * size


def draw_hypercube(info: HypercubeInfo) -> go.Figure:
    """A figure to turn: rings are the data, discs are h*. Areas are shares; a disc's colour is m·h*."""
    colours = {
        "color": [corner.density * len(info.corners) for corner in info.corners],
        "colorscale": "Cividis",
        "cmin": 0,
        "cmax": info.largest_ratio,
        "colorbar": {"title": {"text": "m·h*", "side": "right"}, "thickness": 12, "len": 0.7, "x": 1.0},
    }
    words = ["".join(map(str, corner.bits)) for corner in info.corners]
    discs = [Discs("density h* (disc)", tuple(range(len(info.corners))), colours)]
    hover = [_hover(info, corner) for corner in info.corners]
    bits = ", ".join(shorten(name, 16) for name in info.columns)
    return draw_corners(info, discs, words, hover, title=f"{info.title}: {bits}")


def _hover(info: HypercubeInfo, corner: Corner) -> str:
    return (
        f"{safe(corner.row)}<br>data fₙ: {corner.data:.2%} ({corner.data * len(info.corners):.2f} × uniform)"
        f"<br>density h*: {corner.density:.2%} ({corner.density * len(info.corners):.2f} × uniform)"
    )


def first_view(bits: int, height: float) -> View:
    """How a cube of so many bits is first seen in a scene of ``height`` pixels."""
    return View(_EYES[bits], _UNITS[bits], height)


def draw_corners(
    info: HypercubeInfo, discs: Sequence[Discs], words: Sequence[str], hover: Sequence[str], *, title: str
) -> go.Figure:
    """The cube with discs for h* and rings for the data, areas being shares, and words and a hover text at every corner."""
    import plotly.graph_objects as go

    places = np.array([corner.place for corner in info.corners])
    lines: list[list[float | None]] = [[], [], []]
    for one, two in info.edges:
        for axis in range(3):
            lines[axis] += [float(places[one, axis]), float(places[two, axis]), None]
    style: dict[str, Any] = {"color": GUIDE, "width": 2}
    figure = go.Figure(
        go.Scatter3d(x=lines[0], y=lines[1], z=lines[2], mode="lines", line=style, hoverinfo="skip", showlegend=False)
    )
    many = len(info.columns) == MOST_BITS
    largest = max(max(corner.data, corner.density) for corner in info.corners)
    largest_mark = _LARGEST_OF_MANY if many else _LARGEST_MARK

    def markers(name: str, at: Sequence[int], shares: Sequence[float], style: Mapping[str, Any]) -> go.Scatter3d:
        x, y, z = places[list(at)].T
        sizes = [largest_mark * math.sqrt(share / largest) for share in shares]
        return go.Scatter3d(
            x=x,
            y=y,
            z=z,
            mode="markers",
            marker={"size": sizes, "sizemode": "diameter", **style},
            name=name,
            customdata=[hover[i] for i in at],
            hovertemplate="%{customdata}<extra></extra>",
        )

    for group in discs:
        shares = [info.corners[i].density for i in group.corners]
        figure.add_trace(
            markers(group.name, group.corners, shares, {"opacity": 0.92, "line": {"width": 0}, **group.colours})
        )
    rings = {"color": HERE, "symbol": "circle-open", "line": {"width": 3, "color": HERE}}
    every = range(len(info.corners))
    figure.add_trace(markers("data fₙ (ring)", every, [corner.data for corner in info.corners], rings))
    height = _HEIGHT_OF_MANY if many else _HEIGHT
    finish(figure, title, height=height, entries=len(discs) + 1, above=_ABOVE)
    figure.update_layout(margin={"l": 0, "r": 0, "b": _BELOW}, height=height)
    view = first_view(len(info.columns), height - figure.layout.margin.t - _BELOW)
    radii = [largest_mark * math.sqrt(max(corner.data, corner.density) / largest) / 2 for corner in info.corners]
    x, y, z = label_places(view, places, radii, words, info.edges).T
    font = {"color": GUIDE, "size": 12}
    figure.add_trace(
        go.Scatter3d(
            x=x,
            y=y,
            z=z,
            mode="text",
            text=list(words),
            textposition="middle center",
            textfont=font,
            hoverinfo="skip",
            showlegend=False,
        )
    )
    hidden: dict[str, Any] = {"visible": False, "showspikes": False, "range": [-_HALF_AXIS, _HALF_AXIS]}
    side = 2 * _HALF_AXIS * view.unit
    figure.update_layout(
        scene={
            "xaxis": hidden,
            "yaxis": hidden,
            "zaxis": hidden,
            "aspectmode": "manual",
            "aspectratio": {"x": side, "y": side, "z": side},
            "camera": {"eye": dict(zip("xyz", view.eye, strict=True))},
        }
    )
    return figure
