"""What drawing rows adds to the error of a density: independent draws against systematic sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpsyn.kit import layers as _layers
from dpsyn.kit.theme import BLUE, GUIDE, ORANGE, log_axis
from dpsyn.mechanisms.noisy_reweighting.figures.trial import OBJECTIVES, Objective, Trial
from dpsyn.notation import short
from dpsyn.solvers.rounding import systematic_counts

INDEPENDENT, SYSTEMATIC, DENSITY = (
    "independent draws (the paper)",
    "low-variance draws",
    "the density itself, against the data",
)
_REPEATS = 3
_COUNTS = tuple(round(10 ** (i / 3)) for i in range(3, 19))


@dataclass(frozen=True)
class DrawsInfo:
    """Mean total variation of all tables, by number of rows.

    Attributes:
        title, subtitle: what is shown.
        rows: k.
        independent, systematic: mean total variation between the rows' tables and the density's.
        density: between the density's tables and the data's: what no drawing can undo.
        k: of "you are here".
        here: of the two at k.
    """

    title: str
    subtitle: str
    rows: tuple[int, ...]
    independent: tuple[float, ...]
    systematic: tuple[float, ...]
    density: float
    k: int
    here: tuple[float, float]


def draws_info(trial: Trial, objective: Objective, *, k: int, seed: int = 0) -> DrawsInfo:
    """Draw k rows both ways, for k from 10 to a million; each error is the mean of three.

    Args:
        trial: the fitted densities.
        objective: which.
        k: rows of "you are here".
        seed: of the draws.
    """
    generator = np.random.default_rng(seed)
    density = trial.density(objective) / trial.density(objective).sum()
    wanted = np.asarray(trial.cells @ density)
    tables = len(trial.tables.groups)
    counts = sorted({*_COUNTS, k})

    def error(draw: Callable[[int], np.ndarray], rows: int) -> float:
        apart = [np.abs(trial.cells @ (draw(rows) / rows) - wanted).sum() / 2 / tables for _ in range(_REPEATS)]
        return float(np.mean(apart))

    independent = [error(lambda k: generator.multinomial(k, density), rows) for rows in counts]
    systematic = [error(lambda k: systematic_counts(density, k, generator), rows) for rows in counts]
    own = float(trial.table_errors(wanted).mean())
    at = counts.index(k)
    gain = independent[at] / max(systematic[at], 1e-12)
    return DrawsInfo(
        title="What drawing rows adds",
        subtitle=f"k = {k:,}, {OBJECTIVES[objective]}: independent draws add {short(independent[at], 2)} of total variation "
        f"to the density's own {short(own, 2)}, low-variance draws {short(systematic[at], 2)} "
        f"({short(gain, 3)} times less).",
        rows=tuple(counts),
        independent=tuple(independent),
        systematic=tuple(systematic),
        density=own,
        k=k,
        here=(independent[at], systematic[at]),
    )


def draw_draws(info: DrawsInfo) -> Any:
    """An Altair chart of :class:`DrawsInfo`; both axes are log10."""
    import altair as alt

    labels = [INDEPENDENT, SYSTEMATIC]
    rows: list[dict[str, Any]] = [
        {"series": name, "x": math.log10(k), "y": math.log10(max(value, 1e-7)), "k": f"{k:,}", "error": short(value, 3)}
        for name, values in ((INDEPENDENT, info.independent), (SYSTEMATIC, info.systematic))
        for k, value in zip(info.rows, values, strict=True)
    ]
    own = math.log10(max(info.density, 1e-7))
    across = (math.log10(info.rows[0]), math.log10(info.rows[-1]))
    up = _layers.domain_of([*(row["y"] for row in rows), own], share=0.06)
    channels = {"title": None, "sort": None, "legend": _layers.legend(labels)}
    lines = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=alt.X("x:Q", axis=log_axis("k, rows drawn"), scale=_layers.scale(across)),
            y=alt.Y("y:Q", axis=log_axis("mean total variation of the tables"), scale=_layers.scale(up)),
            color=alt.Color("series:N", scale=alt.Scale(domain=labels, range=[ORANGE, BLUE]), **channels),
            strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=labels, range=[[6, 3], [1, 0]]), **channels),
            tooltip=[
                alt.Tooltip("series:N", title="rows by"),
                alt.Tooltip("k:N", title="k"),
                alt.Tooltip("error:N", title="total variation from the density"),
            ],
        )
    )
    here = alt.Chart(pd.DataFrame([{"x": math.log10(info.k)}])).mark_rule(color=GUIDE, strokeDash=[4, 3]).encode(x="x:Q")
    layers = [*_layers.rules([(own, DENSITY)], up, labels_left=True, title="reference"), here, lines]
    return _layers.finish(alt.layer(*layers), info.title, info.subtitle, legend_labels=labels, line_length=80)
