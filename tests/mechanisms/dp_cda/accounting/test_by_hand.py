"""Which pairs are composed, what is put at infinity, and that no change is forgotten: the accountant by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from dpsyn.errors import ParameterError
from dpsyn.privacy.mixing import exact
from dpsyn.privacy.mixing.pairs import MixedClass, Part, _relevant, discretised, dominating, mixed_classes
from dpsyn.privacy.mixing.pld import compose, epsilon_of_losses, fft_allowance, gaussian_epsilon

COUNTS, ROWS = (10, 20, 40, 5), (3, 5, 9, 0)


@pytest.mark.parametrize(("variant", "more", "replaced"), [("fixed_size", 1, "replace"), ("poisson", 0, "swap")])
def test_every_change_of_a_record_is_composed(variant: Any, more: int, replaced: Any) -> None:
    """Three classes of which none covers another; the fourth makes no rows."""
    classes = mixed_classes(2, COUNTS, ROWS, variant)
    alike = [(2 / n, 2 / (n + more), t) for n, t in zip(COUNTS[:3], ROWS[:3], strict=True)]
    assert classes == tuple(MixedClass(*one) for one in alike)
    alone = {kind: {(Part(kind, lost, t),) for lost, _, t in alike} for kind in ("remove", "add", replaced)}
    moved = {
        tuple(sorted(parts))
        for (lost, _, t), (_, gained, u) in permutations(alike, 2)
        for parts in (
            (Part("remove", lost, t), Part("add", gained, u)),
            (Part("add", lost, t), Part("remove", gained, u)),
        )
    }

    def composed(change: Any) -> list[tuple[Part, ...]]:
        found = [tuple(sorted(parts)) for parts in dominating(classes, change, variant)]
        assert len(set(found)) == len(found)
        return found

    assert set(composed("add_remove")) == alone["remove"] | alone["add"]
    assert set(composed("replace_same_class")) == alone[replaced]
    assert set(composed("label_change")) == moved
    assert set(composed("replace_one")) == alone[replaced] | moved


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
def test_one_number_stands_for_every_class_and_a_class_of_one_row_is_checked(variant: Any) -> None:
    one = MixedClass(0.2, 2 / (10 if variant == "poisson" else 11), 3)
    assert mixed_classes(2, 10, 3, variant) == (one, one)
    assert mixed_classes(2, 10, [3, 0, 3, 3], variant) == (one,) * 3 == mixed_classes(2, [10] * 3, 3, variant)
    made = "at least order_of_mixture = 4 in every class that rows are made from"
    for counts, rows, remedy in (
        ([3, 50, 2], [1, 5, 0], "; order_of_mixture = 3 would do, or no rows of that class"),
        ([50, 3], [5, 1], "; order_of_mixture = 3 would do, or no rows of that class"),
        ([50, 3], [5, 5], "; order_of_mixture = 3 would do"),
        ([50, 0], [5, 1], ""),
    ):
        with pytest.raises(ParameterError) as caught:
            mixed_classes(4, counts, rows, variant)
        assert caught.value.field == "class_counts"
        assert caught.value.allowed == made + remedy
    for counts, rows in (([50, 60], [5]), ([50], [5, 5]), ([50, 60], [0, 0])):
        with pytest.raises(ParameterError, match="rows_per_class"):
            mixed_classes(4, counts, rows, variant)


def test_a_class_that_another_covers_is_left_out_alone_and_kept_for_pairs() -> None:
    large, small = MixedClass(0.5, 0.4, 7), MixedClass(0.5, 0.3, 7)
    assert dominating([small, large], "add_remove", "fixed_size") == [[Part("remove", 0.5, 7)], [Part("add", 0.5, 7)]]
    pairs = {tuple(sorted(parts)) for parts in dominating([small, large], "label_change", "fixed_size")}
    assert (Part("add", 0.4, 7), Part("remove", 0.5, 7)) in pairs
    assert large.covers(small)
    assert large.covers(MixedClass(0.5, 0.4, 7))
    assert not small.covers(large)
    for other in (MixedClass(0.6, 0.4, 7), MixedClass(0.5, 0.5, 7), MixedClass(0.5, 0.4, 8)):
        assert not large.covers(other)


def test_classes_that_are_merged_cover_all_that_they_stand_for() -> None:
    """Thirty classes of which none covers another: larger rates go with fewer rows."""
    classes = [MixedClass(1 / (j + 2), 1 / (j + 3), j + 1) for j in range(30)]
    every = dominating(classes, "label_change", "fixed_size")
    assert len(every) < 2 * 30 * 29
    for a, b in permutations(classes, 2):
        for one, other in (("remove", "add"), ("add", "remove")):
            assert any(
                {x.pair, y.pair} == {one, other}
                and all(
                    kept.rate >= rate and kept.rows >= rows
                    for kept, rate, rows in (
                        (x if x.pair == one else y, a.lost, a.rows),
                        (y if x.pair == one else x, b.gained, b.rows),
                    )
                )
                for x, y in every
            )


@pytest.mark.parametrize("pair", ["remove", "add", "replace", "swap"])
@pytest.mark.parametrize(("rate", "shift"), [(0.2, 1.0), (1.0, 0.5), (0.01, 3.0)])
def test_a_discretised_row_keeps_both_measures_and_puts_its_tail_at_infinity(pair: Any, rate: float, shift: float) -> None:
    step = 0.01
    lower, masses, infinity = discretised(pair, rate, shift, step)
    losses = (lower + np.arange(len(masses))) * step
    assert masses.min() >= 0
    assert masses.sum() + infinity == pytest.approx(1, abs=1e-12)
    # The other measure of the pair is Σ mass·e^{-loss}, at most 1: never more than there is.
    assert 1 - 1e-9 < float(masses @ np.exp(-losses)) <= 1 + 1e-9 or (pair == "add" and rate < 1)
    if pair in ("remove", "replace"):
        assert 0.9e-22 * rate * 0.3 < infinity < 2e-22
    if pair == "swap" or (pair == "add" and rate == 1):
        assert 0 < infinity < 2e-22


def test_what_is_infinite_stays_so_in_composition() -> None:
    """By hand: two kinds of rows, three and two of them, with masses at infinity."""
    first, second = (-1, np.array([0.3, 0.5, 0.1]), 0.1), (0, np.array([0.6, 0.2]), 0.2)
    lowest, masses, infinity = compose([first, second], [3, 2], 1e-9)
    law = np.ones(1)
    for one, times in ((first, 3), (second, 2)):
        for _ in range(times):
            law = np.convolve(law, one[1])
    whole = np.zeros(len(law))
    at = lowest + 3
    whole[at : at + len(masses)] = masses
    np.testing.assert_allclose(whole, law, atol=1e-12)
    assert infinity == pytest.approx(1e-9 + 1 - 0.9**3 * 0.8**2, rel=1e-12)
    # One tail is wrapped around at most, and counted besides.
    assert compose([(0, np.array([0.5, 0.5]), 0.0)], [1], 1e-3)[2] == 1e-3


def test_epsilon_of_losses_solves_its_equation() -> None:
    step, masses = 0.5, np.array([0.2, 0.25, 0.3, 0.1, 0.05])
    losses = (-1 + np.arange(5)) * step

    def delta(epsilon: float) -> float:
        return 0.1 + float(masses @ np.maximum(-np.expm1(epsilon - losses), 0))

    for wanted in (0.105, 0.12, 0.15, 0.2, 0.25):
        epsilon = epsilon_of_losses(-1, masses, 0.1, step, wanted)
        assert epsilon > 0
        assert delta(epsilon) == pytest.approx(wanted, rel=1e-9)
    assert epsilon_of_losses(-1, masses, 0.1, step, 0.6) == 0.0
    assert epsilon_of_losses(-1, masses, 0.1, step, 0.1) == math.inf
    assert epsilon_of_losses(-1, masses, 0.1, step, 0.05) == math.inf


def test_the_epsilon_of_gaussian_noise_solves_its_equation() -> None:
    for shift in (0.1, 1.0, 4.0):
        for delta in (1e-3, 1e-8):
            epsilon = gaussian_epsilon(shift, delta)
            if not epsilon:
                continue
            found = ndtr(shift / 2 - epsilon / shift) - math.exp(epsilon) * ndtr(-shift / 2 - epsilon / shift)
            assert found == pytest.approx(delta, rel=1e-6)
            assert found <= delta * (1 + 1e-9)
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(1e-6, 1e-3) == 0.0


def test_rounding_of_the_transforms_is_taken_off_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpsyn.privacy.mixing import pld

    asked = []
    real = pld.epsilon_of_losses
    monkeypatch.setattr(pld, "epsilon_of_losses", lambda *a: (asked.append(a[-1]), real(*a))[1])
    pld.composed_epsilon([("remove", 0.1, 100), ("add", 0.2, 50)], 2.0, 1e-6, 1e-2)
    assert asked
    assert set(asked) == {1e-6 - fft_allowance(150)}
    assert fft_allowance(150) == 1e-13 + 600 * 2.0**-52


def test_changes_that_a_rough_look_did_not_show_are_calibrated_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A composition that is the second worst on a rough grid and the worst on a fine one."""
    first, second = (Part("remove", 0.1, 1),), (Part("add", 0.1, 1),)

    def made_up(parts: Sequence[Part], multiplier: float, delta: float, tolerance: float, **_: Any) -> float:
        return (1.2 if tuple(parts) == second else 1.5 if tolerance == exact._ROUGH else 1.0) / multiplier**3

    monkeypatch.setattr(exact, "composed_epsilon", made_up)
    found = exact.calibrated_multiplier.__wrapped__((first, second), 1.0, 1e-5, 1e-3)
    assert 1.2 ** (1 / 3) <= found <= 1.2 ** (1 / 3) * (1 + 2e-3)


def test_neighbours_are_merged_to_what_covers_them_and_costs_no_more_than_the_second_class() -> None:
    """T·p² is 0.1 and 0.03 for the first two; 0.04 has fewer rows than 0.05, and 0.03 more that is gained than 0.035."""
    lost, rows = (0.1, 0.05, 0.04, 0.035, 0.03, 0.025, 0.02, 0.01), (10, 12, 11, 14, 15, 16, 20, 40)
    gained = (0.09, 0.045, 0.036, 0.03, 0.032, 0.02, 0.01, 0.009)
    made = [MixedClass(*one) for one in zip(lost, gained, rows, strict=True)]
    second, third = MixedClass(0.05, 0.045, 12), MixedClass(0.035, 0.032, 20)
    assert _relevant(made[::-1], 2) == [made[0], second, second, third, third, made[-1]]
    assert _relevant(made, 1) == [made[k] for k in (0, 1, 3, 4, 5, 6, 7)]
    assert _relevant(made[:6], 2) == made[:6]


def test_a_class_that_as_many_cover_as_are_chosen_is_left_out_and_no_more_are_merged_than_have_to_be() -> None:
    large, middle, small = MixedClass(0.5, 0.4, 7), MixedClass(0.4, 0.3, 6), MixedClass(0.3, 0.2, 5)
    assert {part.rows for parts in dominating([small, middle, large], "label_change", "poisson") for part in parts} == {6, 7}
    assert dominating([small, middle, large], "replace_same_class", "poisson") == [[Part("swap", 0.5, 7)]]
    fewer = MixedClass(0.5, 0.4, 3)
    assert _relevant([fewer, large], 1) == _relevant([large, fewer], 1) == [large]
    # T·p² is 2.5, 2.25, 2, 1.75, 1.5, 0.4 and 0.41: the last two together are at most 2.25, and no other neighbours.
    steep = [MixedClass(0.5 / 2**k, 0.4 / 2**k, 4**k * (10 - k)) for k in range(5)]
    last = [MixedClass(0.01, 0.008, 4000), MixedClass(0.009, 0.007, 5000)]
    assert _relevant(steep + last, 2) == steep + [MixedClass(0.01, 0.008, 5000)] * 2


def test_the_multiplier_is_that_of_an_exchange_or_of_one_left_out() -> None:
    assert exact.noise_multiplier(order_of_mixture=6, sigma=0.5, clip_norm=0.75) == 2.0
    assert exact.noise_multiplier(order_of_mixture=6, sigma=0.5, clip_norm=0.75, variant="poisson") == 4.0


@pytest.mark.parametrize("variant", ["fixed_size", "poisson"])
@pytest.mark.parametrize("many", [2, 7, 13, 40])
def test_every_class_and_every_pair_of_classes_is_covered_however_many_there_are(many: int, variant: Any) -> None:
    """No class covers another: the larger they are the more rows they make. Any may be the costliest."""
    for factor in (1.2, 1.6):
        counts = [round(1000 * 1.3**i) for i in range(many)]
        classes = mixed_classes(9, counts, [round(20 * factor**i) for i in range(many)], variant)
        for change, pairs in (("add_remove", ("remove", "add")), ("replace_same_class", ("replace", "swap"))):
            found = dominating(classes, change, variant)
            for pair in pairs if change == "add_remove" else (pairs[variant == "poisson"],):
                listed = [part for (part,) in found if part.pair == pair]
                assert all(any(p.rate >= c.lost and p.rows >= c.rows for p in listed) for c in classes)
        found = dominating(classes, "label_change", variant)
        for left, entered in permutations(classes, 2):
            for out, into in (("remove", "add"), ("add", "remove")):
                assert any(
                    all(
                        any(p.pair == pair and p.rate >= rate and p.rows >= rows for p in parts)
                        for pair, rate, rows in ((out, left.lost, left.rows), (into, entered.gained, entered.rows))
                    )
                    for parts in found
                )
