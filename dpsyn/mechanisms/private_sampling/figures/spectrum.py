"""The spectrum of W Wᵀ/m against the threshold of step 2: is the reduced space good enough for every dataset?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, HERE, log_axis
from dpsyn.mechanisms.private_sampling.figures.space import Space
from dpsyn.notation import short

_SMALLEST = -6.0
"""log10 at which an eigenvalue of 0 is drawn."""


@dataclass(frozen=True)
class SpectrumInfo:
    """Eigenvalues of W Wᵀ/m in ascending order, and what they are held against.

    Attributes:
        title, subtitle: what is shown.
        eigenvalues: shape (C,); on the whole domain all are 1.
        threshold: (1/(2B))², B = e^d on the cube.
        bound: how B is written.
        expected: (1 - √(C/m))² and (1 + √(C/m))², between which the spectrum of independent draws settles as C and m grow
            (Marchenko and Pastur 1967); None for the whole domain.
        failed: the smallest lies below the threshold.
        smallest_singular_value, singular_threshold: the same as the algorithm states it: σ_min of W against √m/(2B).
    """

    title: str
    subtitle: str
    eigenvalues: tuple[float, ...]
    threshold: float
    bound: str
    expected: tuple[float, float] | None
    failed: bool
    smallest_singular_value: float
    singular_threshold: float


def spectrum_info(space: Space) -> SpectrumInfo:
    """Data of :func:`draw_spectrum`."""
    root = math.sqrt(space.dimension / space.m)
    expected = None if space.whole else (max(0.0, 1 - root) ** 2, (1 + root) ** 2)
    smallest = float(space.eigenvalues[0])
    sigma, needed = math.sqrt(smallest * space.m), math.sqrt(space.threshold * space.m)
    verdict = "step 2 says “Failure”: draw S again" if space.failed else "step 2 passes"
    return SpectrumInfo(
        title="Spectrum of W Wᵀ/m",
        subtitle=(
            f"C = {space.dimension:,} functions on m = {space.m:,} points. The smallest singular value of W is "
            f"{short(sigma, 3)}, √m/(2{space.bound}) = {short(needed, 3)}: {verdict}."
        ),
        eigenvalues=tuple(float(value) for value in space.eigenvalues),
        threshold=space.threshold,
        bound=space.bound,
        expected=expected,
        failed=space.failed,
        smallest_singular_value=sigma,
        singular_threshold=needed,
    )


def _log(value: float) -> float:
    return max(math.log10(value), _SMALLEST) if value > 0 else _SMALLEST


def draw_spectrum(info: SpectrumInfo) -> Any:
    """An Altair chart: one dot per eigenvalue, ascending, on a log axis."""
    import altair as alt

    rows = pd.DataFrame(
        {
            "rank": range(1, len(info.eigenvalues) + 1),
            "y": [_log(value) for value in info.eigenvalues],
            "value": [short(value, 4) for value in info.eigenvalues],
            "colour": [HERE if value < info.threshold else BLUE for value in info.eigenvalues],
        }
    )
    heights = [*rows["y"], _log(info.threshold), 0.0]
    if info.expected is not None:
        heights += [_log(value) for value in info.expected if _log(value) > _SMALLEST]
    y_domain = _layers.domain_of(heights, share=0.08)
    x_domain = (0.5 - 0.01 * len(rows), len(rows) + 0.5 + 0.01 * len(rows))
    x = alt.X("rank:Q", axis=alt.Axis(title="eigenvalue, by rank", tickMinStep=1, grid=False), scale=_layers.scale(x_domain))
    y = alt.Y("y:Q", axis=log_axis("eigenvalue of W Wᵀ/m  (σ²/m)"), scale=_layers.scale(y_domain))
    layers = []
    if info.expected is not None:
        low, high = (max(_log(value), y_domain[0]) for value in info.expected)
        text = f"independent draws of this size: {short(info.expected[0], 2)} to {short(info.expected[1], 2)}"
        band = alt.Chart(pd.DataFrame([{"low": low, "high": high, "text": text}]))
        layers.append(
            band.mark_rect(color=GUIDE, opacity=0.14).encode(
                y=alt.Y("low:Q", scale=_layers.scale(y_domain)),
                y2=alt.Y2("high"),
                tooltip=alt.Tooltip("text:N", title="expected"),
            )
        )
    layers += _layers.rules([(0.0, "1: the whole domain")], y_domain, labels_left=True, title="reference")
    mark = alt.Chart(
        pd.DataFrame([{"y": _log(info.threshold), "text": f"threshold (1/(2{info.bound}))² = {short(info.threshold, 3)}"}])
    )
    here = mark.encode(y=alt.Y("y:Q", scale=_layers.scale(y_domain)), tooltip=alt.Tooltip("text:N", title="step 2"))
    layers.append(here.mark_rule(color=HERE, strokeWidth=2, strokeDash=[6, 3]))
    words = {"color": HERE, "align": "right", "x": "width", "dx": -4, "baseline": "bottom", "dy": -3, "fontWeight": "bold"}
    layers.append(here.mark_text(**words).encode(text=alt.Text("text:N")))
    dots = alt.Chart(rows).mark_circle(size=55 if len(rows) <= 120 else 24, opacity=0.9)
    tips = [alt.Tooltip("rank:Q", title="rank"), alt.Tooltip("value:N", title="eigenvalue")]
    layers.append(dots.encode(x=x, y=y, color=alt.Color("colour:N", scale=None, legend=None), tooltip=tips))
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, line_length=90)
