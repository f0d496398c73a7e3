"""Which compositions a calibration looks at and how closely, with made-up ε; and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dpsyn.errors import CalibrationError, ParameterError
from dpsyn.privacy.mixing import exact
from dpsyn.privacy.mixing.pairs import Part, dominating, mixed_classes

MANY = tuple((Part("remove", 0.1 + 0.01 * k, 1),) for k in range(40))
CANDIDATES = MANY[:5]
Looked = list[tuple[int, float, float, dict[str, float], float]]


def looked_at(monkeypatch: pytest.MonkeyPatch, epsilon_of: Callable[[int, float], float]) -> Looked:
    """Where each composition has a made-up ε: which was looked at, with what noise, tolerance and limits, and its ε."""
    seen: Looked = []

    def made_up(parts: Sequence[Part], multiplier: float, delta: float, tolerance: float, **limits: float) -> float:
        assert delta == 1e-5
        which = MANY.index(tuple(parts))
        seen.append((which, multiplier, tolerance, limits, epsilon_of(which, multiplier)))
        return seen[-1][-1]

    monkeypatch.setattr(exact, "composed_epsilon", made_up)
    return seen


@pytest.mark.parametrize(("power", "fine"), [(1, 1e-3), (3.3, 1.1e-3), (8, 8e-3 / 3), (100, 0.02)])
@pytest.mark.parametrize("worst", range(5))
def test_the_composition_that_binds_is_looked_at_as_closely_as_the_noise_needs(
    worst: int, power: float, fine: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where ε falls like z^-k an excess of ε by a share moves the noise by a k-th of it."""
    seen = looked_at(monkeypatch, lambda which, z: (5.0 if which == worst else 3.0 - 0.1 * which) / z**power)
    found = exact.calibrated_multiplier.__wrapped__(CANDIDATES, 2.0, 1e-5, 1e-3)
    least = 2.5 ** (1 / power)
    assert least <= found <= least * (1 + 1e-3)
    closely = [one for one in seen if one[2] != 0.02 or power == 100]
    assert [one[2] for one in closely] == pytest.approx([fine] * len(closely), rel=1e-9)
    limits = {"enough": pytest.approx(1.4), "too_much": pytest.approx(3.0)}
    assert {one[0] for one in closely if one[3] == limits} >= {worst}
    # All others are looked at once more, at what is returned.
    last = [one for one in seen if one[3] == {"enough": 2.0}]
    assert sorted(one[0] for one in last) == [k for k in range(5) if k != worst]
    assert all(one[1] == found and one[2] == pytest.approx(fine, rel=1e-9) and one[4] <= 2.0 for one in last)
    # Before that, the first three roughly, then all of them at one noise, and the worst with a little less.
    roughly = [one for one in seen if one[2] == 0.02 and not one[3]]
    assert [one[0] for one in roughly] == [0, 1, 2, 3, 4, worst]
    assert roughly[-2][1] / roughly[-1][1] == pytest.approx(1.05)
    assert all(one[0] < 3 for one in seen[: seen.index(roughly[0])])


@pytest.mark.parametrize("many", [5, 7, 40])
def test_a_rough_calibration_is_no_closer_than_it_is_asked_for_and_leaves_none_out(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = looked_at(monkeypatch, lambda which, z: (3.0 + which) / z**2)
    found = exact.calibrated_multiplier.__wrapped__(MANY[:many], 2.0, 1e-5, 0.1)
    least = math.sqrt((2 + many) / 2)
    assert least <= found <= least * 1.1
    assert {one[2] for one in seen} == {0.02}
    assert {one[0] for one in seen if one[1] == found and one[4] <= 2.0} == set(range(many))


@pytest.mark.parametrize("above", [math.inf, 1e7, 2.2])
@pytest.mark.parametrize("below", [0.0, 0.3, 1.9])
def test_a_leap_of_epsilon_is_calibrated_to_its_edge(above: float, below: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = looked_at(monkeypatch, lambda which, z: below if z >= 1.7 + 0.01 * which else above)
    found = exact.calibrated_multiplier.__wrapped__(CANDIDATES, 2.0, 1e-5, 1e-3)
    assert 1.74 <= found <= 1.74 * (1 + 3e-3)
    assert {one[0] for one in seen if one[1] == found and one[4] <= 2.0} == set(range(5))


@pytest.mark.parametrize(
    ("above", "below", "fine"),
    [
        (math.inf, 0.0, 1e-3),
        (math.inf, 1.9, 1e-3),
        (3.0, 0.0, 1e-3),
        (2.2, 0.3, 1e-3 * math.log(2.2 / 0.3) / math.log(1.05) / 3),
    ],
)
def test_where_a_slope_cannot_be_told_one_looks_as_closely_as_is_asked_for(
    above: float, below: float, fine: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = looked_at(monkeypatch, lambda which, z: below if z >= 1.7 else above)
    found = exact.calibrated_multiplier.__wrapped__(CANDIDATES[:1], 2.0, 1e-5, 1e-3)
    assert 1.7 <= found <= 1.7 * (1 + 1e-3)
    assert seen[-1][2] == pytest.approx(fine, rel=1e-9)


def test_no_noise_is_found_where_one_composition_has_too_large_an_epsilon_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at(monkeypatch, lambda which, z: 5.0 if which == 4 else 1 / z)
    with pytest.raises(CalibrationError):
        exact.calibrated_multiplier.__wrapped__(CANDIDATES, 2.0, 1e-5, 1e-3)


def test_the_worst_composition_is_found_and_the_others_only_as_closely_as_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    values = (1.0, 3.0, 2.0, 4.0, 0.5)
    seen = looked_at(monkeypatch, lambda which, z: values[which])
    assert exact.worst_epsilon(CANDIDATES, 1.5, 1e-5, 1e-3) == 4.0
    assert [(one[0], one[1], one[2]) for one in seen] == [(k, 1.5, 1e-3) for k in range(5)]
    assert [one[3]["enough"] for one in seen] == [0.0, 1.0, 3.0, 3.0, 4.0]
    assert {one[3]["too_much"] for one in seen} == {math.inf}
    seen.clear()
    assert exact.worst_epsilon(CANDIDATES, 1.5, 1e-5, 1e-3, 2.5, 7.0) == 4.0
    assert [one[3]["enough"] for one in seen] == [2.5, 2.5, 3.0, 3.0, 4.0]
    assert {one[3]["too_much"] for one in seen} == {7.0}
    assert exact.worst_epsilon([], 1.5, 1e-5, 1e-3) == 0.0


@pytest.mark.parametrize("change", ["replace_one", "add_remove", "replace_same_class", "label_change"])
@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_the_epsilon_of_a_change_is_that_of_its_compositions_each_with_what_is_beside(
    change: Any, variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(exact, "worst_epsilon", lambda *a: (asked.append(a), 1.25)[1])
    classes, beside = mixed_classes(2, (10, 20), (3, 5), variant), (Part("remove", 1.0, 1, 2.0),)
    found = exact.change_epsilon(change, classes, 1.5, 1e-6, variant=variant, tolerance=0.01, beside=beside)
    assert found == 1.25
    wanted = [[*parts, *beside] for parts in dominating(classes, change, variant)]
    assert asked == [(wanted, 1.5, 1e-6, 0.01)]
    assert exact.change_epsilon(change, classes, 1.5, 1e-6, variant=variant) == 1.25
    plain = [list(parts) for parts in dominating(classes, change, variant)]
    assert asked[1] == (plain, 1.5, 1e-6, 1e-3)


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_the_way_back_from_a_noise_scale_is_never_to_a_smaller_multiplier(
    variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(1, 60):
        multiplier, order, clip = 1 + k / 7, k, 10 / (3 + k)
        monkeypatch.setattr(exact, "calibrated_multiplier", lambda *_, multiplier=multiplier: multiplier)
        sigma = exact.calibrate_sigma(
            epsilon=1.0, delta=1e-5, order_of_mixture=order, clip_norm=clip, class_sizes=100, rows=3, variant=variant
        )
        back = exact.checked_multiplier(order, sigma, clip, 1e-5, variant)
        assert multiplier * (1 + 0.99e-12) <= back <= multiplier * (1 + 2e-12)


def test_what_a_calibration_is_made_for_is_what_it_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(exact, "calibrated_multiplier", lambda *a: (asked.append(a), 1.0)[1])
    shared: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "order_of_mixture": 2, "clip_norm": 1.0}
    shared |= {"class_sizes": (10, 20), "rows": (3, 5)}
    beside = (Part("remove", 1.0, 1, 2.0),)
    variant: Any
    change: Any
    for variant in ("fixed_size", "poisson"):
        for change in ("replace_one", "add_remove", "replace_same_class", "label_change"):
            asked.clear()
            exact.calibrate_sigma(**shared, variant=variant, neighbouring=change, tolerance=0.01, beside=beside)
            made = dominating(mixed_classes(2, (10, 20), (3, 5), variant), change, variant)
            assert asked == [(tuple((*parts, *beside) for parts in made), 2.0, 1e-6, 0.01)]
    asked.clear()
    exact.calibrate_sigma(**shared)
    made = dominating(mixed_classes(2, (10, 20), (3, 5), "fixed_size"), "replace_one", "fixed_size")
    assert asked == [(tuple(map(tuple, made)), 2.0, 1e-6, 1e-3)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("clip_norm", 0.0), ("clip_norm", -1.0), ("clip_norm", math.nan), ("order_of_mixture", 0), ("order_of_mixture", 1.5),
     ("epsilon", 0.0), ("epsilon", math.inf), ("delta", 0.0), ("delta", 1.0), ("delta", math.nan)],
)  # fmt: skip
def test_a_calibration_without_meaning_is_refused(field: str, value: float) -> None:
    arguments: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "order_of_mixture": 2,
        "clip_norm": 1.0,
        "class_sizes": 50,
        "rows": 3,
    }
    with pytest.raises(ParameterError) as caught:
        exact.calibrate_sigma(**(arguments | {field: value}))
    assert caught.value.field == field


def test_a_multiplier_of_arguments_out_of_range_is_refused() -> None:
    assert exact.checked_multiplier(4, 0.5, 2.0, 1e-5) == 0.5
    assert exact.checked_multiplier(4, 0.5, 2.0, 1e-5, "poisson") == 1.0
    assert exact.checked_multiplier(4, 0.0, 2.0, 1e-5) == 0.0
    for at, value in ((0, 0), (0, 1.5), (1, -1e-9), (1, math.nan), (2, 0.0), (2, math.inf), (3, 0.0), (3, 1.0), (3, -0.1)):
        arguments: list[Any] = [4, 0.5, 2.0, 1e-5]
        arguments[at] = value
        with pytest.raises(ParameterError):
            exact.checked_multiplier(*arguments)
