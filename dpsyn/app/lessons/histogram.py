"""What ε does to a histogram, before any mechanism: randomised response, Laplace noise, and what the promise says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.data.samples import load_sample
from dpsyn.kit import layers
from dpsyn.kit.layers import BLUE, GREEN, GUIDE, ORANGE, VERMILLION, WORD
from dpsyn.kit.lesson import Lesson, Question, Slider, Step
from dpsyn.notation import percent
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import rounded_up

Floats = npt.NDArray[np.float64]
DATA, ANSWERS, NOISY = "data", "estimate from the answers", "Laplace noise"
VALID = "noisy histogram made valid"
COLOURS = {DATA: GUIDE, ANSWERS: ORANGE, NOISY: BLUE, "average of the draws": BLUE, VALID: BLUE, "synthetic rows": GREEN}
READS = "reads one column of CAR, 1,728 cars that are public."
RATINGS = {"unacc": "unacceptable", "acc": "acceptable", "good": "good", "vgood": "very good"}
_LEFT, _WITH = "without your row", "with your row"
_LABEL = 0.1
"""Room for a label beyond the end of a bar."""


def column() -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """The values and the codes of the column that is drawn: how a rule rates each car."""
    table = load_sample("car")
    return tuple(RATINGS[label] for label in table.domain["class"].labels()), table.codes[
        :, table.domain.index("class")
    ].astype(np.int64)


def shares() -> Floats:
    """The share of each value."""
    values, codes = column()
    return np.bincount(codes, minlength=len(values)) / len(codes)


def randomised(codes: npt.NDArray[np.int64], size: int, epsilon: float, generator: np.random.Generator) -> Floats:
    """Shares estimated from randomised answers, shape (size,), without bias.

    Everybody tells the truth with probability e^ε/(e^ε + size - 1), otherwise each other value alike: ε-DP in the hands of
    whoever asks (Warner 1965; Kairouz, Bonawitz, Ramage 2016).
    """
    lie = 1 / (math.exp(epsilon) + size - 1)
    truth = math.exp(epsilon) * lie
    others = (codes + generator.integers(1, size, len(codes))) % size
    said = np.where(generator.random(len(codes)) < truth, codes, others)
    return np.asarray((np.bincount(said, minlength=size) / len(codes) - lie) / (truth - lie))


def noisy(epsilon: float, generator: np.random.Generator, draws: int = 1) -> Floats:
    """Shares of ``draws`` histograms with Laplace noise, shape (draws, size), each ε-DP: a replaced row moves two."""
    values, codes = column()
    counts = np.tile(np.bincount(codes, minlength=len(values)), (draws, 1))
    return np.asarray(NoiseSource(generator).discrete_laplace(counts, 2 / epsilon) / len(codes))


def bars(series: Mapping[str, Floats]) -> Any:
    """An Altair chart of shares: for every value of the column a bar of each series, on the same scale wherever they fit."""
    import altair as alt

    values, _ = column()
    table = pd.DataFrame(
        [
            {"value": value, "series": name, "share": float(share), "text": percent(share)}
            for name, found in series.items()
            for value, share in zip(values, found, strict=True)
        ]
    )
    names = list(series)
    x = alt.X("value:N", sort=None, title=None, axis=alt.Axis(labelAngle=0, ticks=False, labelLimit=0))
    base = alt.Chart(table).encode(x=x, xOffset=alt.XOffset("series:N", sort=names))
    ends = layers.scale((min(-0.15, table["share"].min() - _LABEL), max(0.95, table["share"].max() + _LABEL)))
    y = alt.Y("share:Q", axis=alt.Axis(title="share of the cars", labelExpr=layers.PERCENT), scale=ends)
    colours = alt.Scale(domain=names, range=[COLOURS[name] for name in names])
    drawn = base.mark_bar().encode(
        y=y,
        color=alt.Color("series:N", title=None, sort=None, scale=colours, legend=layers.legend(names)),
        tooltip=[alt.Tooltip("value:N"), alt.Tooltip("series:N"), alt.Tooltip("text:N", title="share")],
    )
    beyond = base.mark_text(dy={"expr": "datum.share < 0 ? 10 : -8"}, color=WORD).encode(y=y, text=alt.Text("text:N"))
    words = [beyond] if len(names) < 3 else []
    zero = alt.Chart(pd.DataFrame([{"share": 0.0}])).mark_rule(color=GUIDE).encode(y=alt.Y("share:Q"))
    return layers.finish(alt.layer(zero, drawn, *words), "Shares", legend_labels=names)


def off(found: Floats) -> float:
    """The largest error of a share."""
    return float(np.abs(found - shares()).max())


def _asked(epsilon: float, draw: int) -> tuple[Any, str]:
    values, codes = column()
    found = randomised(codes, len(values), epsilon, np.random.default_rng(draw))
    truth = math.exp(epsilon) / (math.exp(epsilon) + len(values) - 1)
    return bars({DATA: shares(), ANSWERS: found}), (
        f"At ε = {epsilon:g} each of {len(codes):,} answers is true with probability {percent(truth)}. The worst bar is off "
        f"by {percent(off(found))}."
    )


def _both(epsilon: float, draw: int, laplace: bool = True) -> tuple[Any, str]:
    values, codes = column()
    found = randomised(codes, len(values), epsilon, np.random.default_rng(draw))
    added = noisy(epsilon, np.random.default_rng(draw))[0]
    series = {DATA: shares(), ANSWERS: found} | ({NOISY: added} if laplace else {})
    says = f"In this draw at ε = {epsilon:g} the estimate from the answers is off by {percent(off(found))}"
    return bars(series), f"{says}, Laplace noise by {percent(off(added))}." if laplace else f"{says}; no Laplace noise yet."


@cache
def mean_errors(epsilon: float) -> tuple[float, float]:
    """Over all draws of the lesson, the mean largest error of the estimate from the answers and of Laplace noise."""
    values, codes = column()
    asked = [off(randomised(codes, len(values), epsilon, np.random.default_rng(draw))) for draw in _DRAW.values]
    added = [off(noisy(epsilon, np.random.default_rng(draw))[0]) for draw in _DRAW.values]
    return float(np.mean(asked)), float(np.mean(added))


def _compared(epsilon: float, **_: Any) -> str:
    asked, added = mean_errors(epsilon)
    return (
        f"Over the ten draws at ε = {epsilon:g}: {percent(asked)} against {percent(added)}, a ratio of "
        f"{asked / added:.0f}. All {len(column()[1]):,} answers are random; here only four counts are."
    )


def _promise(epsilon: float) -> tuple[Any, str]:
    """The probability of every noisy count with and without one row: (1 - q)/(1 + q)·q^|z|, q = e^-ε."""
    import altair as alt

    counts = np.arange(40, 81)
    chance = {
        name: math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(counts - middle))
        for name, middle in ((_LEFT, 60), (_WITH, 61))
    }
    table = pd.concat([pd.DataFrame({"count": counts, "chance": found, "series": name}) for name, found in chance.items()])
    names = list(chance)
    colours = alt.Scale(domain=names, range=[GUIDE, VERMILLION])
    chart = (
        alt.Chart(table)
        .mark_line(interpolate="step", strokeWidth=2.5)
        .encode(
            x=alt.X(
                "count:Q", axis=alt.Axis(title="the noisy count that is published", grid=False), scale=layers.scale((40, 80))
            ),
            y=alt.Y("chance:Q", axis=alt.Axis(title="probability", labelExpr=layers.PERCENT)),
            color=alt.Color("series:N", title=None, sort=None, scale=colours, legend=layers.legend(names)),
            tooltip=[alt.Tooltip("count:Q"), alt.Tooltip("chance:Q", format=".2%"), alt.Tooltip("series:N")],
        )
    )
    return layers.finish(chart, "With and without you", legend_labels=names), (
        f"At ε = {epsilon:g} no published count is more than e^ε = {rounded_up(math.exp(epsilon), 3)} times as likely with "
        "your row (61) as without it (60)."
    )


_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_DRAW = Slider("draw", "Draw", tuple(range(1, 11)), 2)

LESSONS = (
    Lesson(
        "histogram",
        "What ε does",
        "Two ways to put noise on a histogram, and what ε promises about you.",
        (
            Step(
                "Everybody lies a little",
                "Suppose 1,728 owners keep their car's rating secret. Each answers with the truth or, by chance, with "
                "another rating: the smaller ε, the more lies. We know how often they lie, so we calculate the lies out of "
                "the shares; an estimate can fall below 0.",
                _asked,
                (Slider("epsilon", "ε", _EPSILONS, 1.0), _DRAW),
            ),
            Step(
                "Or one person adds noise once",
                "Now somebody trusted counts the true answers, adds noise to the four counts, and publishes those. The same "
                "ε, the same promise to everyone outside. Only the trust differs. One draw can be lucky: try "
                "several.",
                _both,
                (Slider("epsilon", "ε", _EPSILONS, 0.5), _DRAW),
                Question(
                    "At the same ε, how large is the mean error of noise on the four counts?",
                    ("The same", "Half", "A tenth or less"),
                    2,
                    _compared,
                    {"laplace": False},
                ),
            ),
            Step(
                "What ε promises",
                "Somebody sees the published count and asks: was your row in the data? Both worlds could have given it. ε "
                "limits how much more likely one is than the other, for every count, whatever else they know. Neighbours: "
                "your row added.",
                _promise,
                (Slider("epsilon", "ε", (0.05, *_EPSILONS), 0.2),),
                Question(
                    "At ε = 0.2, how much more likely can your row make any outcome?",
                    ("1.2 times", "2 times", "20 times"),
                    0,
                    "e^0.2 = 1.22. At ε = 5 it is 148 times: then the count nearly tells.",
                    {"epsilon": 5.0},
                ),
            ),
        ),
        READS,
    ),
)
