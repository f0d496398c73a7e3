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
from dpsyn.data.table import Table
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError
from dpsyn.figures._panels import finish, safe, shorten
from dpsyn.figures.private_sampling.instance import Density, Instance
from dpsyn.figures.theme import GUIDE, HERE

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BITS = 4
_LARGEST_MARK = 58.0
_INNER = 0.42
_TILT = 0.16
_FROM_ABOVE = {"eye": {"x": 0, "y": -0.01, "z": 2}}
_CAMERAS: dict[int, dict[str, dict[str, float]]] = {
    1: _FROM_ABOVE,
    2: _FROM_ABOVE,
    3: {"eye": {"x": 1.75, "y": 0.9, "z": 0.8}, "center": {"x": 0, "y": 0, "z": -0.06}},
    # From here the sixteen corners keep the largest distance from each other on the screen.
    4: {"eye": {"x": 1.98, "y": 0.21, "z": 1.05}, "center": {"x": 0, "y": 0, "z": -0.06}},
}


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
    largest = max(max(corner.data, corner.density) for corner in info.corners)

    def markers(name: str, at: Sequence[int], shares: Sequence[float], style: Mapping[str, Any]) -> go.Scatter3d:
        x, y, z = places[list(at)].T
        sizes = [_LARGEST_MARK * math.sqrt(share / largest) for share in shares]
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
    x, y, z = places.T
    font = {"color": GUIDE, "size": 12}
    figure.add_trace(
        go.Scatter3d(x=x, y=y, z=z + _TILT, mode="text", text=list(words), textfont=font, hoverinfo="skip", showlegend=False)
    )
    hidden = {"visible": False, "showspikes": False}
    figure.update_layout(
        scene={
            "xaxis": hidden,
            "yaxis": hidden,
            "zaxis": hidden,
            "aspectmode": "cube" if len(info.columns) > 2 else "data",
            "camera": _CAMERAS[len(info.columns)],
        }
    )
    finish(figure, title, height=430, entries=len(discs) + 1, above=40)
    figure.update_layout(margin={"l": 0, "r": 0})
    return figure
