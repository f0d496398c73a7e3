"""Privacy adds up over what is published, and what is made of it costs nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpsyn.app.lessons.histogram import DATA, READS, VALID, bars, noisy, off, shares
from dpsyn.kit import layers
from dpsyn.kit.lesson import Lesson, Question, Slider, Step, plain
from dpsyn.notation import counted, percent, short
from dpsyn.privacy.spec import rounded_up
from dpsyn.privacy.zcdp import zcdp_epsilon

_SEED, _DELTA = 7, 1e-5
_DRAWS = (1, 3, 10, 30, 100, 300, 1_000)
_SUM, _SQUARES = "adding ε", "adding ε² (zCDP), δ = 10⁻⁵"


def _averaged(draws: int, epsilon: float) -> tuple[Any, str]:
    found = noisy(epsilon, np.random.default_rng(_SEED), max(_DRAWS))[:draws].mean(axis=0)
    return bars({DATA: shares(), "average of the draws": found}), (
        f"{plain(draws)} × ε = {epsilon:g} makes ε = {short(draws * epsilon)} in all. The average is off by "
        f"{percent(off(found))}."
    )


def _total(draws: int, epsilon: float) -> tuple[Any, str]:
    """Total ε against the number of draws, by both ways to add up; log10 axes.

    A draw that is ε-DP is (ε²/2)-zCDP, and ρ adds up.
    """
    import altair as alt

    counts = np.geomspace(1, 1_000, 40)
    by_squares = np.array([zcdp_epsilon(count * epsilon**2 / 2, _DELTA) for count in counts])
    lines = {_SUM: epsilon * counts, _SQUARES: by_squares}
    table = pd.concat(
        [
            pd.DataFrame(
                {"x": np.log10(counts), "y": np.log10(total), "series": name, "total": [rounded_up(t, 3) for t in total]}
            )
            for name, total in lines.items()
        ]
    )
    names, x_domain, y_domain = list(lines), (0.0, 3.0), (-2.1, 3.1)
    chart = (
        alt.Chart(table)
        .mark_line(strokeWidth=2.5, clip=True)
        .encode(
            x=alt.X("x:Q", axis=layers.log_axis("how often the histogram is published"), scale=layers.scale(x_domain)),
            y=alt.Y("y:Q", axis=layers.log_axis("ε of all together"), scale=layers.scale(y_domain)),
            tooltip=[alt.Tooltip("series:N"), alt.Tooltip("total:N", title="ε")],
            **layers.line_channels(names),
        )
    )
    least = zcdp_epsilon(draws * epsilon**2 / 2, _DELTA)
    total = draws * epsilon
    better = min(total, least)
    mark = layers.here(
        f"ε = {rounded_up(better, 3)}", np.log10(draws), np.log10(better), counted(draws, "draw"), x_domain, y_domain
    )
    return layers.finish(alt.layer(chart, *mark), "What all draws cost", legend_labels=names), (
        f"{counted(draws, 'draw')} at ε = {epsilon:g}: {short(total)} by adding ε, {rounded_up(least, 3)} with δ = 10⁻⁵ by "
        "adding squares" + (", the better of the two." if least < total else ": here adding ε is better.")
    )


def _rows(count: int, epsilon: float) -> tuple[Any, str]:
    generator = np.random.default_rng(_SEED)
    found = noisy(epsilon, generator)[0]
    weights = np.maximum(found, 0)
    valid = weights / weights.sum()
    made = generator.multinomial(count, valid) / count
    return bars({DATA: shares(), VALID: valid, "synthetic rows": made}), (
        f"{plain(count)} rows, ε = {epsilon:g} however many. They are at most {percent(np.abs(made - valid).max())} from "
        f"the valid histogram, {percent(off(made))} from the data."
    )


_EACH = Slider("epsilon", "ε of each", (0.01, 0.02, 0.05, 0.1, 1.0), 0.02)

LESSONS = (
    Lesson(
        "composition",
        "Privacy adds up",
        "Every new look at the data costs. And what is made of a noisy number?",
        (
            Step(
                "The same histogram, again and again",
                "Publish the histogram every day, with fresh noise each time. One day says next to nothing. But whoever "
                "averages the days takes the noise off again, and so the promise must weaken with each of them.",
                _averaged,
                (Slider("draws", "Histograms published", _DRAWS, 100), _EACH),
                Question(
                    "100 histograms, ε = 0.02 each. How well does their average show the data?",
                    ("As badly as one", "Ten times better", "Exactly"),
                    1,
                    "Noise falls as 1/√100. All 100 together cost ε = 2, and one histogram with ε = 2 would be better "
                    "still.",
                    {"draws": 1},
                ),
            ),
            Step(
                "How it adds up",
                "The simple rule: ε adds up. A sharper rule adds squares instead, at the price of a tiny δ: losses of many "
                "draws partly cancel. It wins when there are many small parts, so mechanisms with many parts use it. Its "
                "total ε comes with δ = 10⁻⁵.",
                _total,
                (Slider("draws", "Histograms published", _DRAWS, 300), _EACH),
            ),
            Step(
                "A million rows from one histogram",
                "Publish the noisy histogram once. Then make it valid: no share below 0, 100 % in all. Then draw synthetic "
                "rows from it, without another look at the data: ten, or a million.",
                _rows,
                (Slider("count", "Synthetic rows", (10, 100, 1_000, 10_000, 1_000_000), 1_000_000), _EACH),
                Question(
                    "From 10 rows to 1,000,000: how much more ε?",
                    ("100,000 times", "5 times", "None"),
                    2,
                    "What is made of the noisy histogram alone is as private as it is: this is post-processing. More rows "
                    "only come closer to the valid histogram.",
                    {"count": 10},
                ),
            ),
        ),
        READS,
    ),
)
