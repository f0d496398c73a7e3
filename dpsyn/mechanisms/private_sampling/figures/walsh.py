"""Walsh functions on the cube of one to four bits: their signs at the corners, and what they measure of both densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpsyn.errors import ParameterError
from dpsyn.kit import layers as _layers
from dpsyn.kit.plotly import safe, shorten
from dpsyn.kit.theme import BLUE, GUIDE, HERE, YELLOW
from dpsyn.mechanisms.private_sampling.figures.hypercube import Discs, HypercubeInfo, draw_corners, hypercube_info
from dpsyn.mechanisms.private_sampling.figures.instance import Density, Instance
from dpsyn.solvers.contingency import column_sets
from dpsyn.solvers.contrasts import walsh_matrix

if TYPE_CHECKING:
    import plotly.graph_objects as go

SIGNS = {1: ("w<sub>J</sub> = +1", BLUE), -1: ("w<sub>J</sub> = −1", YELLOW)}
DATA, DENSITY = "data fₙ (ring)", "density h* (disc)"
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
        return " × ".join(shorten(column, 14) for column in self.columns) or "∅, the constant 1"


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


def walsh_info(instance: Instance, density: Density, chosen: Sequence[str]) -> WalshInfo:
    """Data of :func:`draw_walsh` and :func:`draw_averages`.

    Raises:
        ParameterError: the instance is not a whole cube of one to four bits, or J has a column that the cube has not.
    """
    cube = hypercube_info(instance, density)
    names, p = cube.columns, len(cube.columns)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise ParameterError("chosen", unknown[0], f"columns of the cube: {', '.join(names)}")
    wanted = tuple(name for name in names if name in chosen)
    points = 2 * np.array([corner.bits for corner in cube.corners]) - 1
    functions = walsh_matrix(points, p)
    data = functions @ np.array([corner.data for corner in cube.corners])
    under = functions @ np.array([corner.density for corner in cube.corners])
    sets = [tuple(names[j] for j in columns) for columns in column_sets(p, p)]
    averages = tuple(
        Average(columns, float(a), float(h), len(columns) <= instance.space.degree)
        for columns, a, h in zip(sets, data, under, strict=True)
    )
    signs = tuple(int(sign) for sign in functions[sets.index(wanted)])
    meaning = _meaning(instance, wanted)
    return WalshInfo(cube, wanted, signs, averages, instance.space.degree, density.shrinkage, meaning)


def _meaning(instance: Instance, chosen: Sequence[str]) -> str:
    if not chosen:
        return "The constant function is 1 everywhere: its average says that shares sum to 1."
    if len(chosen) == 1:
        zero, one = instance.domain[chosen[0]].labels()
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
    discs = [
        Discs(name, tuple(i for i, found in enumerate(info.signs) if found == sign), {"color": colour})
        for sign, (name, colour) in SIGNS.items()
        if sign in info.signs
    ]
    marks = ["+" if sign > 0 else "−" for sign in info.signs]
    words = [f"{mark} {''.join(map(str, corner.bits))}" for mark, corner in zip(marks, info.cube.corners, strict=True)]
    hover = [
        f"w<sub>J</sub> = {mark}1 at {safe(corner.row)}<br>data fₙ: {corner.data:.2%}<br>density h*: {corner.density:.2%}"
        for mark, corner in zip(marks, info.cube.corners, strict=True)
    ]
    named = ", ".join(shorten(name, 16) for name in info.chosen)
    return draw_corners(info.cube, discs, words, hover, title=f"The Walsh function of {{{named}}}")


def draw_averages(info: WalshInfo) -> Any:
    """An Altair chart: a line per function, its average over the rows (ring) and under h* (disc); J is on a band."""
    import altair as alt

    labels = _labels(info.averages)
    rows = [
        {"function": label, "average": value, "whose": whose, "text": f"{value:+.4f}", "degree": len(average.columns)}
        for label, average in zip(labels, info.averages, strict=True)
        for whose, value in ((DENSITY, average.density), (DATA, average.data))
    ]
    scale = _layers.scale((-1.08, 1.08))
    y = alt.Y("function:N", sort=labels, axis=alt.Axis(title=None, labelLimit=190, labelOverlap=False, grid=False))
    here = labels[info.averages.index(info.here)]
    band = alt.Chart(pd.DataFrame([{"function": here, "low": -1.08, "high": 1.08}])).mark_rect(color=GUIDE, opacity=0.25)
    zero = alt.Chart(pd.DataFrame([{"x": 0.0}])).mark_rule(color=GUIDE, strokeDash=[2, 4])
    dots = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("average:Q", axis=alt.Axis(title="average of the function", tickCount=5), scale=scale),
        y=y,
        tooltip=[
            alt.Tooltip("function:N", title="J"),
            alt.Tooltip("whose:N", title="over"),
            alt.Tooltip("text:N", title="average"),
        ],
    )
    series = [DENSITY, DATA]
    shared = {"title": None, "sort": None, "legend": _layers.legend(series)}
    marks = dots.mark_point(strokeWidth=2.5, opacity=1).encode(
        color=alt.Color("whose:N", scale=alt.Scale(domain=series, range=[BLUE, HERE]), **shared),
        fill=alt.Fill("whose:N", scale=alt.Scale(domain=series, range=[BLUE, "transparent"]), **shared),
        size=alt.Size("whose:N", scale=alt.Scale(domain=series, range=[60, 150]), **shared),
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
    short = [average.name for average in averages]
    return short if len(set(short)) == len(short) else [" × ".join(average.columns) or "∅" for average in averages]
