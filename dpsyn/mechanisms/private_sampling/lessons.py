"""Lessons about private sampling: the cube with its Walsh functions, and what λ does. They read ASIA's rows."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

from dpsyn.domain import Domain
from dpsyn.kit.lesson import ASIA, Lesson, Question, Slider, Step, rows
from dpsyn.mechanisms.private_sampling import PrivateSampling
from dpsyn.mechanisms.private_sampling.certificates import bounded_ratio_epsilon
from dpsyn.mechanisms.private_sampling.figures.density import density_info, draw_density
from dpsyn.mechanisms.private_sampling.figures.hypercube import (
    as_bits,
    draw_averages,
    draw_hypercube,
    draw_walsh,
    hypercube_info,
    walsh_info,
)
from dpsyn.mechanisms.private_sampling.figures.shrinkage import alone_cells, draw_alone, draw_shrinkage, shrinkage_info
from dpsyn.mechanisms.private_sampling.small_run import SmallRun, small_space
from dpsyn.mechanisms.private_sampling.theorems import verdict
from dpsyn.notation import percent, signed
from dpsyn.privacy.spec import PrivacySpec, rounded_up
from dpsyn.statistics import DatasetStatistics
from dpsyn.table import Table

_THREE, _FOUR = ["smoke", "lung", "bronc"], ["smoke", "lung", "bronc", "dysp"]
_READS = "reads 15,000 of ASIA's made-up patients."
_BOX: dict[str, Any] = {"data": "asia", "inside_mechanism": "Private sampling"}
_FLOORS, _CEILINGS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4), (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_NAMES = tuple(ASIA[name] for name in _THREE)
_FUNCTIONS = tuple(" × ".join(chosen) for count in (1, 2, 3) for chosen in combinations(_NAMES, count))
_SMOKES_BRONCHITIS = _FUNCTIONS[4]


def promised(stats: DatasetStatistics, epsilon: float, degree: int) -> list[tuple[str, PrivateSampling, float]]:
    """As many rows as ε allows, and 4·floor, within which Theorem 4.2 promises every table; infinity for no promise."""
    found = verdict(stats, PrivacySpec(epsilon), degree=degree)
    config = PrivateSampling(degree=degree)
    return [(config.title, config, found.facts["marginal_error"] if found.holds else math.inf)]


@cache
def _run(columns: tuple[str, ...], degree: int = 2) -> SmallRun:
    bits = as_bits(rows("asia"), dict.fromkeys(columns))
    domain = Domain.of(replace(attribute, name=ASIA[attribute.name]) for attribute in bits.domain.attributes)
    return SmallRun(small_space((2,) * len(columns), degree), Table(bits.frame.rename(columns=ASIA), domain, bits.name))


def _cube(floor: float, ceiling: float = 2.0) -> tuple[Any, str]:
    run = _run(tuple(_THREE))
    info = hypercube_info(run, floor, ceiling)
    rarest = min(info.corners, key=lambda corner: corner.data)
    return draw_hypercube(info), (
        f"λ = {run.matched(floor, ceiling).shrinkage:.2f}. Rings: data, discs: synthetic rows. The rarest corner has "
        f"{percent(rarest.data)} of the data, {percent(rarest.density)} of the rows. Drag to turn."
    )


def _walsh(function: str) -> tuple[Any, str]:
    info = walsh_info(_run(tuple(_THREE)), function.split(" × "), 0.25, 2.0)
    return draw_walsh(info), (
        f"Blue minus yellow, the average of {function}: {signed(info.here.data, 3)} in the data, "
        f"{signed(info.here.density, 3)} in the rows."
    )


def meaning(function: str) -> str:
    """What the average of a Walsh function says, by how many columns it multiplies: the reveal of the second step."""
    chosen = function.split(" × ")
    average = walsh_info(_run(tuple(_THREE)), chosen, 0.25, 2.0).here.data
    more = ("more", "less")[average < 0] + " often than "
    if len(chosen) == 1:
        says = f"The answer to {chosen[0]} is yes {more}no."
    elif len(chosen) == 2:
        says = f"The answers to {chosen[0]} and {chosen[1]} agree {more}they differ."
    else:
        says = f"The number of yes answers is odd {more}even."
    return f"{says} {function}: {signed(average, 3)}."


def _asked(function: str) -> str:
    """The answer, and what is multiplied now, where that is something else."""
    answer = meaning(_SMOKES_BRONCHITIS)
    return answer if function == _SMOKES_BRONCHITIS else f"{answer} Now: {meaning(function)}"


def _averages(degree: int) -> tuple[Any, str]:
    columns = tuple(_FOUR)
    info = walsh_info(_run(columns, degree), [ASIA["bronc"], ASIA["dysp"]], 0.1, 6.0)
    matched = sum(0 < len(average.columns) <= degree for average in info.averages)
    varying = tuple(average for average in info.averages if average.columns)
    return draw_averages(replace(info, averages=varying)), (
        f"At d = {degree} the discs follow the rings in {matched} of 15 functions, times 1 − λ = "
        f"{1 - info.shrinkage:.2f}. Grey band: bronchitis × short of breath."
    )


def _density(floor: float, ceiling: float) -> tuple[Any, str]:
    info = density_info(_run(tuple(_FOUR)), floor, ceiling)
    return draw_density(info), (
        f"λ = {info.shrinkage:.2f} of uniform is mixed in to fit. {percent(info.at_floor)} of the possible rows stand at "
        f"the floor, {percent(info.at_ceiling)} at the ceiling."
    )


def _against_ceiling(floor: float, ceiling: float) -> tuple[Any, str]:
    info = shrinkage_info(_run(tuple(_FOUR)), "ceiling", floor=floor, ceiling=ceiling, largest=_CEILINGS[-1])
    cost = bounded_ratio_epsilon(rows=1, floor=floor, ceiling=ceiling)
    return draw_shrinkage(info), (
        f"Floor {floor:g}, ceiling {ceiling:g}: λ = {info.here[1]:.2f}, and each row costs ε = ln({ceiling:g}/{floor:g}) = "
        f"{rounded_up(cost, 3)}."
    )


def _binding(floor: float, ceiling: float) -> tuple[Any, str]:
    run = _run(tuple(_FOUR))
    cells = alone_cells(run, floor=floor, ceiling=ceiling)
    if not cells:  # nothing to draw: the density that fits is the data's own
        return _against_ceiling(floor, ceiling)
    first = cells[0]
    must = f"at least {percent(first.least, 3)}" if first.data < first.least else f"at most {percent(first.most, 3)}"
    return draw_alone(cells), (
        f"The first cell has {percent(first.data, 3)} of the rows and must have {must}: alone it needs "
        f"λ = {first.alone:.2f}. All together: λ = {run.shrinkage(floor, ceiling):.2f}."
    )


_FLOOR, _CEILING = (
    Slider("floor", "Floor", _FLOORS, 0.25, "is_floor"),
    Slider("ceiling", "Ceiling", _CEILINGS, 2.0, "is_ceiling"),
)

LESSONS = (
    Lesson(
        "cube",
        "The cube",
        "A table of yes/no columns is a cube, and Walsh functions are what one can measure on it.",
        (
            Step(
                "Three bits are a cube",
                "Each patient answers three questions: smokes? lung cancer? bronchitis? So each row is a corner of a cube: "
                "101 is yes, no, yes, in this order. A table is how much weight each corner has. Private sampling gives "
                "every corner at least the floor. Lower it: the discs move to the rings.",
                _cube,
                (Slider("floor", "Floor", _FLOORS, 0.25, "is_floor"),),
                lab=_BOX | {"is_section": "3 · Density", "is_columns_asia": _THREE, "is_cube_asia": _THREE},
            ),
            Step(
                "A Walsh function is a pattern of signs",
                "Count yes as +1, no as −1, and multiply some columns. That gives every corner a sign, "
                "blue or yellow. The average sign over the rows is one number about the data. For one column: how much more "
                "often yes than no; for two: agree than differ; for three: an odd number of yes than an even one.",
                _walsh,
                (Slider("function", "Multiply the columns", _FUNCTIONS, _SMOKES_BRONCHITIS),),
                Question(
                    "Smokers get bronchitis more often. What is the average of smokes × bronchitis?",
                    ("Above 0", "0", "Below 0"),
                    0,
                    _asked,
                    {"function": _FUNCTIONS[0]},
                ),
                lab=_BOX | {"is_section": "3 · Density", "is_columns_asia": _THREE, "is_cube_asia": _THREE},
            ),
            Step(
                "Few functions say what all small tables say",
                "Four columns have 16 corners and 15 Walsh functions. Those of up to d columns hold every table of up to d "
                "columns, and they are all that the mechanism looks at. What larger groups of columns do together is lost, "
                "unless it follows from the smaller ones.",
                _averages,
                (Slider("degree", "d, columns at a time", (1, 2, 3), 1, "degree"),),
                Question(
                    "At d = 1, where does the disc of bronchitis × short of breath go?",
                    ("To its ring", "Near 0", "Beyond its ring"),
                    1,
                    "Nothing holds the pair any more: most bronchitis patients are short of breath, and the rows forget it.",
                    {"degree": 2},
                ),
                lab=_BOX | {"is_section": "3 · Density", "is_columns_asia": _FOUR, "is_cube_asia": _FOUR},
            ),
        ),
        _READS,
    ),
    Lesson(
        "lambda",
        "What λ does",
        "Privacy by a box: no row may be too rare or too common, and λ is the price.",
        (
            Step(
                "The density must fit in a box",
                "Every possible row gets a probability from the floor to the ceiling, in multiples of the uniform one: "
                "nobody can make it more than ceiling/floor times as likely. Real data do not fit, so they are mixed with "
                "the uniform distribution; λ is its share. To leave a margin, the mixture must fit between 2·floor and "
                "ceiling − floor.",
                _density,
                (replace(_FLOOR, value=0.05), replace(_CEILING, value=3.0)),
                lab=_BOX | {"is_section": "3 · Density", "is_columns_asia": _FOUR},
            ),
            Step(
                "Which cells force λ up",
                "Rare cells of the data's tables must come up to 2·floor, common ones down to ceiling − floor. A bar is the "
                "λ that one cell alone would need. All of them together can need more, and the mechanism takes the smallest "
                "λ that works.",
                _binding,
                (replace(_FLOOR, value=0.1), replace(_CEILING, value=3.0)),
                lab=_BOX | {"is_section": "2 · Why λ", "is_columns_asia": _FOUR},
            ),
            Step(
                "A wider box is closer to the data, and less private",
                "One row drawn from the box costs at most ε = ln(ceiling/floor), whatever the data are. Widen the box and λ "
                "falls, so the rows get better; but each of them costs more. Pin one box and compare.",
                _against_ceiling,
                (_FLOOR, replace(_CEILING, value=8.0)),
                Question(
                    "At floor 0.25, raise the ceiling from 2 to 8. What does λ do?",
                    ("It falls to 0", "It falls to 0.49 and stays", "It stays at 0.67"),
                    1,
                    "Hardly any non-smoker has lung cancer, and that cell must come up to 2·floor = 0.5. From there on only "
                    "a lower floor helps.",
                    {"floor": 0.25, "ceiling": 2.0},
                ),
                lab=_BOX | {"is_section": "4 · Privacy", "is_columns_asia": _FOUR},
            ),
        ),
        _READS,
    ),
)
