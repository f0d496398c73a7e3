"""The lesson on noise against n. The first two steps are formulas; the last one reads ASIA's rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dpsyn.kit.lesson import Lesson, Question, Slider, Step, rows
from dpsyn.mechanisms.noisy_reweighting import NoisyReweighting
from dpsyn.mechanisms.noisy_reweighting.figures import draw_noise, noise_by_family
from dpsyn.mechanisms.noisy_reweighting.inside import Inside, draw_statistics
from dpsyn.mechanisms.noisy_reweighting.theorems import verdict
from dpsyn.notation import percent, short
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics

_EPSILONS, _ROWS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0), (100, 1_000, 10_000, 100_000, 1_000_000)
_LAB = {"data": "asia", "inside_mechanism": "Noisy reweighting"}


def promised(stats: DatasetStatistics, epsilon: float, degree: int) -> list[tuple[str, NoisyReweighting, float]]:
    """The mechanism on tables of d columns, and 8·accuracy: within that, at best, Theorem 2.3 promises every cell."""
    facts = verdict(stats, PrivacySpec(epsilon), degree=degree, statistics="contingency").facts
    config = NoisyReweighting(degree=degree, statistics="contingency", noise="laplace")
    return [(config.title, config, float(facts["smallest_error"]))]


def _noise(n: int, epsilon: float = 1.0, degree: int = 2, live: Mapping[str, Slider] | None = None) -> tuple[Any, str]:
    now: dict[str, Any] = {"n": n, "epsilon": epsilon, "degree": degree}
    moved = [now | {slider.name: value} for slider in (live or {}).values() for value in slider.values]
    (families, _), *more = [
        (noise_by_family(rows("asia").domain, PrivacySpec(at["epsilon"]), degree=at["degree"]), at["n"])
        for at in (now, *moved)
    ]
    best = families[0]
    ratio = best.at(n) * n**0.5
    sliders = {key: len(slider.values) for key, slider in (live or {}).items()}
    return draw_noise(families, n, more, sliders, (_ROWS[0], _ROWS[-1])), (
        f"At n = {n:,} the least noise is {short(best.at(n), 2)} on an average of ±1, {short(ratio, 2)} times the error "
        f"of chance. They meet at n = {best.meets_at:,}."
    )


@lru_cache(maxsize=32)
def _fit(epsilon: float, seed: int) -> Inside:
    table = rows("asia")
    mechanism = NoisyReweighting(noise="laplace").calibrate(PrivacySpec(epsilon), table.domain, table.n)
    return Inside(mechanism, table, seed)


def _fitted(epsilon: float, seed: int, fitted: bool = True) -> tuple[Any, str]:
    run = _fit(epsilon, seed)
    before, after = (short(error, 3) for error in run.errors("entropy"))
    return draw_statistics(run, "entropy", fitted=fitted), (
        f"Error of the noisy numbers: {before}{f'; after the fit: {after}' * fitted} (root mean square). "
        "Grey: two deviations for one and two columns."
    )


def _nearer(epsilon: float, seed: int) -> str:
    before, after = _fit(epsilon, seed).errors("entropy")
    change = 1 - after / before
    says = f"{percent(abs(change))} {'less' if change > 0 else 'more'} error than before the fit in this draw"
    return f"{says} at ε = {epsilon:g}. The smaller the noise, the less there is to take away."


_AT = Slider("n", "n, rows", _ROWS, 10_000, "in_nr_n_asia")

LESSONS = (
    Lesson(
        "noise",
        "Noise against n",
        "More rows drown the noise: it falls as 1/n, chance only as 1/√n.",
        (
            Step(
                "Noise falls faster than chance",
                "Replace one row: a share of n rows moves by at most 1/n, an average of ±1 values by 2/n. Noise of that "
                "size divided by ε, more where many averages share it, hides everybody. Chance alone moves an average by "
                "up to 1/√n. With enough rows privacy costs less than chance does anyway.",
                _noise,
                (_AT, Slider("epsilon", "ε", _EPSILONS, 1.0, "epsilon")),
                lab=_LAB | {"in_nr_view": "Noise"},
                follows=True,
            ),
            Step(
                "Smaller ε, more rows: how many?",
                "The noise is proportional to 1/ε. The grey dotted line is chance; where it meets the noise, both cost the "
                "same. Watch how far that crossing moves.",
                _noise,
                (Slider("epsilon", "ε", _EPSILONS, 0.1, "epsilon"), _AT),
                Question(
                    "From ε = 1 to ε = 0.1: how many times the rows until noise and chance are equal again?",
                    ("√10 times", "10 times", "100 times"),
                    2,
                    "10 times for the same noise; 100 times for noise as small as chance, which falls, too.",
                    {"epsilon": 1.0},
                ),
                lab=_LAB | {"in_nr_view": "Noise"},
                follows=True,
            ),
            Step(
                "Every column more is a question more",
                "All tables of d columns share one budget. With eight columns there are 8 tables of one column, 28 of two "
                "and 56 of three, so each gets less of the budget and more noise.",
                _noise,
                (Slider("degree", "d, columns in a table", (1, 2, 3), 1, "degree"), _AT),
                lab=_LAB | {"in_nr_view": "Noise"},
                follows=True,
            ),
            Step(
                "What a fit does to the noise",
                "Noisy tables contradict each other: shares below 0, totals that differ. Real rows cannot. The mechanism "
                "looks for one density that agrees with all of them as well as any can, and that uses only the noisy "
                "numbers, so it costs no privacy.",
                _fitted,
                (
                    Slider("epsilon", "ε", (0.03, 0.1, 0.3, 1.0), 0.1, "epsilon"),
                    Slider("seed", "Draw", tuple(range(1, 9)), 7),
                ),
                Question(
                    "At ε = 0.1, are the fitted numbers nearer to the truth than the noisy ones?",
                    ("Farther", "As far", "Nearer"),
                    2,
                    _nearer,
                    {"fitted": False},
                ),
                lab=_LAB | {"in_nr_view": "Fitted statistics"},
            ),
        ),
        "the last step reads 15,000 of ASIA's made-up patients.",
    ),
)
