"""Lessons about DP-CDA: mixing digits, and the attack on the published claim."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from dpsyn.data.images import image_side
from dpsyn.domain import listed
from dpsyn.kit import layers
from dpsyn.kit.layers import BLUE, HERE
from dpsyn.kit.lesson import Lesson, Question, Slider, Step
from dpsyn.kit.lesson import rows as learnt
from dpsyn.mechanisms.dp_cda.accounting.quick import ROUGH, sigma_for
from dpsyn.mechanisms.dp_cda.counterexamples import published_attack
from dpsyn.mechanisms.dp_cda.figures.noise import bars, draw_noise, noise_info
from dpsyn.mechanisms.dp_cda.figures.order import best_order, draw_order, order_points
from dpsyn.mechanisms.dp_cda.figures.paper import draw_flip
from dpsyn.mechanisms.dp_cda.figures.rows import ImagesInfo, draw_images, orders_info, stages_info
from dpsyn.mechanisms.dp_cda.inside import Inside, Records
from dpsyn.notation import counted, short
from dpsyn.privacy.spec import rounded_up

_DELTA, _SEED, _SHOWN = 1e-5, 3, (0, 1, 3, 6, 8)
_ORDERS, _EPSILONS, _ROWS = (1, 4, 16, 64, 128), (1.0, 3.0, 10.0, 30.0, 100.0), (10, 32, 100, 316, 1_259)
_LAB = {"data": "digits", "inside_mechanism": "DP-CDA"}


@cache
def _records() -> Records:
    return Records(learnt("digits"), "digit")


@lru_cache(maxsize=64)
def _inside(order: int, epsilon: float, rows: int = 1_259) -> Inside:
    return Inside(_records(), epsilon, _DELTA, order, rows)


@cache
def _side() -> int:
    side = image_side(_records().table.domain, "digit")
    assert side is not None
    return side


def _stages(order: int, epsilon: float = 10.0, rows: int = 1_259, noisy: bool = True) -> tuple[Any, str]:
    inside = _inside(order, epsilon, rows)
    info = stages_info(inside, _side(), _SEED, _SHOWN)
    if not noisy:
        info = ImagesInfo(info.columns, info.rows[:2], info.images[:2], info.lower, info.upper)
    few = [inside.records.classes[k] for k in _SHOWN if k not in inside.kept]
    return draw_images(info, width=760), (
        f"Each row of the release averages {counted(order, 'image')} of one digit, then adds noise σ = "
        f"{short(inside.sigma, 3)}, for {rows:,} rows at ε = {epsilon:g}."
        + f" Of the {listed(few)} there are fewer images, so no rows."
        * bool(few)
    )


@lru_cache(maxsize=16)
def _grid(digit: int, rows: int) -> ImagesInfo:
    inside = _inside(1, 10.0, rows)
    wall = {
        (e, order): 0.0 if e is None else sigma_for(_inside(order, e, rows).sizes, order, e, tolerance=ROUGH)
        for e in (None, 100.0, 30.0, 10.0, 1.0)
        for order in (1, 4, 16, 32, 64, 128)
    }
    return orders_info(inside, _side(), _SEED, digit, wall)


def _wall(digit: int, rows: int) -> tuple[Any, str]:
    return draw_images(_grid(digit, rows), width=760), (
        f"The digit {digit} in a release of {rows:,} rows. To the right: more images in each average; down: more privacy."
    )


def _order(epsilon: float, rows: int) -> tuple[Any, str]:
    inside = _inside(4, epsilon, rows)
    points = order_points(inside)
    best = next(point for point in points if point.order_of_mixture == best_order(points))
    means = next((point.order_of_mixture for point in points if point.between > 1), None)
    return draw_order(points, inside, used=False), (
        f"At ε = {epsilon:g} and {rows:,} rows, l = {best.order_of_mixture} keeps most variety inside a class: "
        f"{short(best.within, 2)} of the noise. "
        + (f"Class means pass the noise at l = {means}." if means else "Class means drown, too.")
    )


def _flip(view: str) -> tuple[Any, str]:
    scored = view != _RECORDED
    return draw_flip(scored=scored), (
        "After the z-score every record of D is the mirror image of its twin in D′, though only one record differs."
        if scored
        else "Two datasets of 12 records. Only the last one differs."
    )


_RECORDED, _SCORED = "As recorded", "After the z-score"


def _attack(order: int, epsilon: float, proven: bool = True) -> tuple[Any, str]:
    """Bars: the claimed ε, and what the attack proves at the published noise."""
    found = published_attack(n=1_797, features=64, classes=10, order_of_mixture=order, epsilon=epsilon, delta=_DELTA)
    assert found is not None
    sigma, refuted = found
    shown = {"claimed": (f"ε = {epsilon:g}", epsilon)} | ({"proven": (f"ε ≥ {int(refuted):,}", refuted)} if proven else {})
    rows = [{"name": name, "value": value, "kind": name, "text": text} for name, (text, value) in shown.items()]
    chart = bars(
        rows,
        "ε",
        refuted if proven else epsilon,
        dict(zip(shown, (BLUE, HERE), strict=False)),
        words={"text": 1.3},
        tooltip={"text": " "},
        rules=[],
        legend=None,
        height={"band": 0.5},
    )
    says = f"The paper's σ = {short(sigma, 3)} claims ε = {epsilon:g} for the 1,797 digits with l = {order}."
    return layers.finish(chart, "Claimed and proven", plot=200), (
        f"{says} Two datasets prove ε ≥ {int(refuted):,}." if proven else says
    )


def _accounts(order: int, epsilon: float) -> tuple[Any, str]:
    info = noise_info(_inside(order, epsilon).sizes, epsilon, order)
    spent = info.line("published").spent
    return draw_noise(info), (
        "The published formula cannot reach this ε at any σ."
        if spent is None
        else f"The published noise claims ε = {epsilon:g}; the proof for it gives {rounded_up(spent, 3)}. With "
        "1,348 digits: σ differs from step 2, which has 1,797."
    )


_L = Slider("order", "l, images in an average", _ORDERS, 4, "order")
_E = Slider("epsilon", "ε", _EPSILONS, 10.0, "epsilon")
_T = Slider("rows", "T, rows released", _ROWS, 100, "in_cda_rows_digits")

LESSONS = (
    Lesson(
        "digits",
        "Mixing digits",
        "Average l images of a digit, add noise: what stays of it?",
        (
            Step(
                "From images to a row of the release",
                "DP-CDA averages l records of one class and adds noise. With handwritten digits one can see it: an image, "
                "the average of l of them, and what would be released. At l = 4 the noise drowns the digit.",
                _stages,
                (_L, _E),
                lab=_LAB | {"in_cda_view": "What mixing does"},
            ),
            Step(
                "More images, less noise: but how much?",
                "With 64 images in an average instead of 4, one image moves it sixteen times less. But the same image is "
                "now in sixteen times as many averages. The average itself becomes a blurred, typical digit. "
                "We release 1,259 rows, nearly as many as the 1,348 digits we read.",
                _stages,
                (Slider("order", _L.label, _ORDERS, 64, "order"),),
                Question(
                    "From l = 4 to l = 64, the noise σ falls by a factor of about …",
                    ("16", "2.4", "1: it does not fall"),
                    1,
                    "From 0.29 to 0.12. Being in more averages takes back most of the gain.",
                    {"order": 4},
                ),
                lab=_LAB | {"in_cda_view": "What mixing does"},
            ),
            Step(
                "The wall",
                "Every picture is one row of the release: without noise on top, ε = 1 at the bottom. Find where you stop "
                "recognising the digit. Then release fewer rows: each image is in fewer averages, so less noise is needed.",
                _wall,
                (Slider("digit", "Digit", tuple(range(10)), 3), _T),
                lab=_LAB | {"in_cda_view": "What mixing does"},
            ),
            Step(
                "Which l keeps most variety?",
                "Large l needs less noise; small l keeps more of what is special about an image. In between most variety "
                "is left against the noise, though noise may still drown it. That l follows from public numbers alone, so "
                "choosing it costs no privacy.",
                _order,
                (_E, _T),
                lab=_LAB | {"in_cda_view": "Order of mixture"},
            ),
        ),
        "reads 1,348 public handwritten digits.",
    ),
    Lesson(
        "claim",
        "The published DP-CDA claim",
        "A paper claims ε = 10. Is it true?",
        (
            Step(
                "What one record can do",
                "The paper first subtracts the mean of the data and divides by their deviation. Take twelve equal records "
                "but one. That one decides the mean and the deviation, so it decides where all others end up.",
                _flip,
                (Slider("view", "The two datasets", (_RECORDED, _SCORED), _SCORED),),
                Question(
                    "Only the last record differs. How many records differ after the z-score?",
                    ("1", "2", "All 12"),
                    2,
                    "In D the last record lies above the mean and pushes the others below it; in D′ the other way round.",
                    {"view": _RECORDED},
                ),
                lab=_LAB | {"in_cda_view": "Against the paper"},
            ),
            Step(
                "Claimed: ε = 10",
                "The noise is meant to hide one record. But if one record moves all others, all rows of the release "
                "together tell D from D′. From how surely they do follows a lower bound on ε that no proof can get under.",
                _attack,
                (
                    Slider("order", _L.label, (1, 4, 16, 64), 4, "order"),
                    Slider("epsilon", "ε claimed", (5.0, 10.0, 20.0), 10.0, "epsilon"),
                ),
                Question(
                    "The paper claims ε = 10. What is the true ε at least?",
                    ("12", "50", "1,953"),
                    2,
                    "e^1953 is a number of 849 digits: whoever sees the rows knows which dataset it was.",
                    {"proven": False, "order": 4, "epsilon": 10.0},
                ),
                lab=_LAB | {"in_cda_view": "Against the paper"},
            ),
            Step(
                "Without the z-score: three formulas for one ε",
                "Scale by public bounds and that attack is gone. The published formula still gets the noise wrong: it has a "
                "misprint, and it samples from all records instead of one class. The bar shows what each formula's noise "
                "really costs; the dashed line is the ε asked for.",
                _accounts,
                (_L, Slider("epsilon", "ε asked for", (5.0, 10.0, 20.0), 10.0, "epsilon")),
                lab=_LAB | {"in_cda_view": "Noise and budget"},
            ),
        ),
        "the last step counts the digits of each kind; the others read no rows.",
    ),
)
