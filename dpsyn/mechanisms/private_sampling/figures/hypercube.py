"""The Boolean cube of one to four bits: the data's density and h* at its corners, and what Walsh functions measure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import escape
from dpsyn.attribute import Attribute
from dpsyn.domain import Domain
from dpsyn.errors import ParameterError, quoted
from dpsyn.kit import layers as _layers
from dpsyn.kit.layers import BLUE, GUIDE, HERE, YELLOW, channels, tips
from dpsyn.kit.plotly import finish, shorten
from dpsyn.mechanisms.private_sampling.figures.corner_labels import View, label_places
from dpsyn.mechanisms.private_sampling.small_run import SmallRun
from dpsyn.notation import percent, signed
from dpsyn.solvers.contingency import column_sets
from dpsyn.solvers.contrasts import walsh_matrix
from dpsyn.table import Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BITS = 4
DATA, DENSITY = "data (ring)", "synthetic rows (disc)"
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
class HypercubeInfo:
    """The corners and edges of a cube.

    Attributes:
        columns: the bits' names, in order.
        corners: all 2^p of them.
        edges: pairs of corners that differ in one bit.
        largest_ratio: the box's ceiling, at which the colours end.
    """

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
            raise ParameterError("label", label, f"one of the values of {quoted(name)}")
        if label is None and len(labels) != 2:
            raise ParameterError("columns", name, "a column with two values, or one of its values to set against the rest")
        one = labels.index(label) if label is not None else 1
        zero = labels[0] if label is None else f"not {label}"
        bit = Attribute(name, "truth", (zero, labels[one]), public=column.public)
        attributes.append(bit)
        codes = (table.codes[:, table.domain.index(name)] == one).astype(int)
        frame[name] = np.array(bit.categories, dtype=object)[codes]
    return Table(pd.DataFrame(frame), Domain.of(attributes), table.name)


def hypercube_info(run: SmallRun, floor: float, ceiling: float) -> HypercubeInfo:
    """Data of :func:`draw_hypercube`.

    Raises:
        ParameterError: S is not a whole cube of one to four bits.
    """
    size, domain = run.space.size, run.table.domain
    p = len(size.shape)
    if not (size.whole and p <= MOST_BITS and domain.is_binary):
        raise ParameterError("run", size.shape, f"the whole cube of 1 to {MOST_BITS} bits")
    labels = [attribute.labels() for attribute in domain.attributes]
    ratio = run.matched(floor, ceiling).ratio
    corners = []
    for at, bits in enumerate(product((0, 1), repeat=p)):
        row = ", ".join(f"{name} = {labels[j][bit]}" for j, (name, bit) in enumerate(zip(domain.names, bits, strict=True)))
        corners.append(Corner(_place(bits), bits, row, float(run.counts[at] / run.table.n), float(ratio[at] / size.m)))
    edges = [(i, i + step) for i in range(2**p) for step in (2**j for j in range(p)) if not i & step]
    return HypercubeInfo(domain.names, tuple(corners), tuple(edges), ceiling)


def _place(bits: tuple[int, ...]) -> tuple[float, float, float]:
    """The first three bits are the axes; the fourth chooses the outer or, drawn smaller, the inner cube."""
    x, y, z = (*(2.0 * bit - 1 for bit in bits[:3]), 0.0, 0.0, 0.0)[:3]
    size = _INNER if len(bits) == MOST_BITS and bits[3] == 1 else 1.0
    return x * size, y * size, z * size


def draw_hypercube(info: HypercubeInfo) -> go.Figure:
    """A figure to turn: rings are the data, discs are h*. Areas are shares; a disc's colour is m·h*."""
    times, p = len(info.corners), len(info.columns)
    colours = {
        "color": [corner.density * times for corner in info.corners],
        "colorscale": "Cividis",
        "cmin": 0,
        "cmax": info.largest_ratio,
        "colorbar": {"title": {"text": "times uniform", "side": "right"}, "thickness": 12, "len": 0.7, "x": 1.0},
    }
    words = ["".join(map(str, corner.bits)) for corner in info.corners]
    hover = [
        f"{escape.chart(corner.row)}<br>data: {percent(corner.data, 3)} ({corner.data * times:.2f} × uniform)"
        f"<br>synthetic rows: {percent(corner.density, 3)} ({corner.density * times:.2f} × uniform)"
        for corner in info.corners
    ]
    shape = {1: "line", 2: "square", 3: "cube", 4: "cube in a cube"}[p]
    title = f"The {shape} of {p} bit{'s' if p > 1 else ''}: {_named(info.columns)}"
    return _draw_corners(info, {DENSITY: (range(times), colours)}, words, hover, title)


def _named(columns: Sequence[str]) -> str:
    return ", ".join(shorten(name, 16) for name in columns)


def first_view(bits: int, height: float) -> View:
    """How a cube is first seen in a scene of ``height`` pixels."""
    return View(_EYES[bits], _UNITS[bits], height)


def _draw_corners(
    info: HypercubeInfo,
    discs: Mapping[str, tuple[Sequence[int], Mapping[str, Any]]],
    words: Sequence[str],
    hover: Sequence[str],
    title: str,
) -> go.Figure:
    """The cube with discs for h* and rings for the data, areas being shares, and words and a hover text at every corner.

    ``discs``: by their name in the legend, corners by position, and what Plotly is told about their colour.
    """
    import plotly.graph_objects as go

    def trace(points: npt.ArrayLike, mode: str, **style: Any) -> go.Scatter3d:
        return go.Scatter3d(**dict(zip("xyz", np.asarray(points).T, strict=True)), mode=mode, **style)

    places = np.array([corner.place for corner in info.corners])
    gap = np.full(3, np.nan)
    lines = np.array([point for one, two in info.edges for point in (places[one], places[two], gap)])
    quiet: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False}
    figure = go.Figure(trace(lines, "lines", line={"color": GUIDE, "width": 2}, **quiet))
    many = len(info.columns) == MOST_BITS
    largest = max(max(corner.data, corner.density) for corner in info.corners)

    def sizes(shares: Iterable[float]) -> list[float]:
        return [(_LARGEST_OF_MANY if many else _LARGEST_MARK) * math.sqrt(share / largest) for share in shares]

    every = range(len(info.corners))
    rings = {"color": HERE, "symbol": "circle-open", "line": {"width": 3, "color": HERE}}
    marks = [
        (name, at, [info.corners[i].density for i in at], {"opacity": 0.92, "line": {"width": 0}, **colours})
        for name, (at, colours) in discs.items()
    ]
    for name, at, shares, style in (*marks, (DATA, every, [corner.data for corner in info.corners], rings)):
        marker = {"size": sizes(shares), "sizemode": "diameter", **style}
        shown = {"customdata": [hover[i] for i in at], "hovertemplate": "%{customdata}<extra></extra>"}
        figure.add_trace(trace(places[list(at)], "markers", marker=marker, name=name, **shown))
    height = _HEIGHT_OF_MANY if many else _HEIGHT
    finish(figure, title, height=height, entries=len(discs) + 1, above=_ABOVE)
    figure.update_layout(margin={"l": 0, "r": 0, "b": _BELOW}, height=height)
    view = first_view(len(info.columns), height - figure.layout.margin.t - _BELOW)
    radii = [size / 2 for size in sizes(max(corner.data, corner.density) for corner in info.corners)]
    labels = label_places(view, places, radii, words, info.edges)
    font = {"size": 12}
    figure.add_trace(trace(labels, "text", text=list(words), textposition="middle center", textfont=font, **quiet))
    hidden: dict[str, Any] = {"visible": False, "showspikes": False, "range": [-_HALF_AXIS, _HALF_AXIS]}
    axes = {f"{axis}axis": hidden for axis in "xyz"}
    sides = dict.fromkeys("xyz", 2 * _HALF_AXIS * view.unit)
    camera = {"eye": dict(zip("xyz", view.eye, strict=True))}
    figure.update_layout(scene={**axes, "aspectmode": "manual", "aspectratio": sides, "camera": camera})
    return figure


SIGNS = {1: ("sign +1", BLUE), -1: ("sign −1", YELLOW)}
_ROW = 23


@dataclass(frozen=True)
class Average:
    """One Walsh function: the columns of J, and its averages over the rows and under h*.

    ``matched`` says whether |J| ≤ d, so that h* has 1 − λ times the average of the rows (the constant has 1 in both).
    """

    columns: tuple[str, ...]
    data: float
    density: float
    matched: bool

    @property
    def name(self) -> str:
        """J as a product of short names."""
        return " × ".join(shorten(column, 15) for column in self.columns) or "∅, the constant 1"


@dataclass(frozen=True)
class WalshInfo:
    """A chosen Walsh function w_J(x) = Π_{j∈J} x_j, where 1 stands for x_j = +1 and 0 for x_j = −1, and all the others.

    Attributes:
        cube: corners and edges, with both densities.
        chosen: the columns of J in the order of the cube; none for the constant function.
        signs: w_J at every corner, ±1.
        averages: of all 2^p functions, by |J| and then in the order of the columns.
        degree: d.
        shrinkage: λ.
        meaning: what the average of the chosen function says about the table of the columns in J.
    """

    cube: HypercubeInfo
    chosen: tuple[str, ...]
    signs: tuple[int, ...]
    averages: tuple[Average, ...]
    degree: int
    shrinkage: float
    meaning: str

    @property
    def here(self) -> Average:
        """The averages of the chosen function."""
        return next(average for average in self.averages if average.columns == self.chosen)


def walsh_info(run: SmallRun, chosen: Sequence[str], floor: float, ceiling: float) -> WalshInfo:
    """Data of :func:`draw_walsh` and :func:`draw_averages`.

    Raises:
        ParameterError: S is not a whole cube of one to four bits, or J has a column that the cube has not.
    """
    cube, degree = hypercube_info(run, floor, ceiling), run.space.size.degree
    names, p = cube.columns, len(cube.columns)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise ParameterError("chosen", unknown[0], f"columns of the cube: {', '.join(names)}")
    wanted = tuple(name for name in names if name in chosen)
    functions = walsh_matrix(2 * np.array([corner.bits for corner in cube.corners]) - 1, p)
    data = functions @ np.array([corner.data for corner in cube.corners])
    under = functions @ np.array([corner.density for corner in cube.corners])
    sets = [tuple(names[j] for j in columns) for columns in column_sets(p, p)]
    averages = tuple(
        Average(columns, float(a), float(h), len(columns) <= degree) for columns, a, h in zip(sets, data, under, strict=True)
    )
    signs = tuple(int(sign) for sign in functions[sets.index(wanted)])
    shrinkage = run.matched(floor, ceiling).shrinkage
    return WalshInfo(cube, wanted, signs, averages, degree, shrinkage, _meaning(run, wanted))


def _meaning(run: SmallRun, chosen: Sequence[str]) -> str:
    if not chosen:
        return "The constant function is 1 everywhere: its average says that shares sum to 1."
    if len(chosen) == 1:
        zero, one = run.table.domain[chosen[0]].labels()
        return f"Its average is the share of {chosen[0]} = {one} minus the share of {chosen[0]} = {zero}."
    if len(chosen) == 2:
        return f"Its average is the share of rows with equal bits in {' and '.join(chosen)} minus the share of the others."
    return (
        "Its average is the share of rows with an even number of zero bits in these columns minus the share of the others."
    )


def draw_walsh(info: WalshInfo) -> go.Figure:
    """The cube of :func:`draw_hypercube`, its discs coloured by the sign of w_J.

    The average under h* is the area of the discs of one colour minus that of the other; that of the data, of the rings.
    """
    discs = {
        name: ([i for i, found in enumerate(info.signs) if found == sign], {"color": colour})
        for sign, (name, colour) in SIGNS.items()
        if sign in info.signs
    }
    marked = [("+" if sign > 0 else "−", corner) for sign, corner in zip(info.signs, info.cube.corners, strict=True)]
    words = [f"{mark} {''.join(map(str, corner.bits))}" for mark, corner in marked]
    hover = [
        f"sign {mark}1 at {escape.chart(corner.row)}<br>data: {percent(corner.data, 3)}<br>"
        f"synthetic rows: {percent(corner.density, 3)}"
        for mark, corner in marked
    ]
    return _draw_corners(info.cube, discs, words, hover, f"The Walsh function of {{{_named(info.chosen)}}}")


def draw_averages(info: WalshInfo) -> Any:
    """An Altair chart: a line per function, its average over the rows (ring) and under h* (disc); J is on a band."""
    labels = _labels(info.averages)
    rows = [
        {"function": label, "average": value, "whose": whose, "text": signed(value), "degree": len(average.columns)}
        for label, average in zip(labels, info.averages, strict=True)
        for whose, value in ((DENSITY, average.density), (DATA, average.data))
    ]
    scale = _layers.scale((-1.08, 1.08))
    y = alt.Y("function:N", sort=labels, axis=alt.Axis(title=None, labelLimit=330, labelOverlap=False, grid=False))
    here = labels[info.averages.index(info.here)]
    band = alt.Chart(pd.DataFrame([{"function": here, "low": -1.08, "high": 1.08}])).mark_rect(color=GUIDE, opacity=0.25)
    zero = alt.Chart(pd.DataFrame([{"x": 0.0}])).mark_rule(color=GUIDE, strokeDash=[2, 4])
    dots = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("average:Q", axis=alt.Axis(title="average of the function", tickCount=5), scale=scale),
        y=y,
        tooltip=tips({"function": "J", "whose": "over", "text": "average"}),
    )
    series = [DENSITY, DATA]
    marks = dots.mark_point(strokeWidth=2.5, opacity=1).encode(
        **channels(series, "whose", color=(BLUE, HERE), fill=(BLUE, "transparent"), size=(60, 150))
    )
    chart = alt.layer(
        band.encode(y=y, x=alt.X("low:Q", scale=scale), x2=alt.X2("high")), zero.encode(x=alt.X("x:Q", scale=scale)), marks
    )
    words = (
        f"λ = {info.shrinkage:.4f}, d = {info.degree}: h* has 1 − λ times the data's average of 1 to d columns; beyond, "
        "it leaves 0 unless the box forces more, for it is as near to uniform as can be."
    )
    title = "What every Walsh function measures"
    return _layers.finish(chart, title, words, legend_labels=series, plot=max(160, _ROW * len(labels)))


def _labels(averages: Sequence[Average]) -> list[str]:
    """A name for every function; the columns in full where short names would coincide."""
    names = [average.name for average in averages]
    if len(set(names)) < len(names):
        names = [" × ".join(average.columns) or "∅" for average in averages]
    return list(map(escape.unlike_scripts, names))
