"""Sums of losses, their range, their ε, and the searches, against sums without transforms and references to fifty digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpsyn.errors import CalibrationError
from dpsyn.privacy.mixing import pld
from dpsyn.privacy.mixing.pairs import Part, discretised
from dpsyn.privacy.mixing.pld import (
    compose,
    composed_epsilon,
    epsilon_of_losses,
    gaussian_epsilon,
    noiseless_epsilon,
    smallest_multiplier,
)


def some_losses(seed: int) -> tuple[list[pld.Loss], list[int]]:
    random = np.random.default_rng(seed)
    losses, rows = [], []
    for times in random.integers(1, 12, random.integers(1, 4)):
        masses = random.gamma(0.3, size=random.integers(3, 30))
        infinity = float(random.uniform(0, 0.05))
        losses.append((int(random.integers(-20, 5)), masses / masses.sum() * (1 - infinity), infinity))
        rows.append(int(times))
    return losses, rows


def without_transforms(losses: list[pld.Loss], rows: list[int]) -> tuple[int, np.ndarray, float]:
    lowest, masses, finite = 0, np.ones(1), 1.0
    for (lower, row, infinity), times in zip(losses, rows, strict=True):
        for _ in range(times):
            lowest, masses, finite = lowest + lower, np.convolve(masses, row), finite * (1 - infinity)
    return lowest, masses, 1 - finite


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tail", [0.2, 1e-3, 1e-9])
def test_what_is_left_out_of_a_sum_is_at_most_the_tail_that_is_counted_as_infinite(seed: int, tail: float) -> None:
    losses, rows = some_losses(seed)
    lowest, masses, infinity = without_transforms(losses, rows)
    first, last = pld._range_of_sum(losses, rows, tail)
    assert 0 <= first <= last <= len(masses) - 1
    outside = masses[:first].sum() + masses[last + 1 :].sum()
    assert outside <= tail
    lower, composed, lost = compose(losses, rows, tail)
    assert lower == lowest + first
    assert len(composed) == last - first + 1
    assert composed.min() >= 0
    assert lost == pytest.approx(tail + infinity, rel=1e-12)
    # What lies outside may be wrapped around, and nothing else is there.
    more = composed - masses[first : last + 1]
    assert more.min() > -1e-14
    assert more.sum() <= outside + 1e-12


@pytest.mark.parametrize("rows", [1, 99, 10_001, 99_999, 100_001, 10**6])
def test_all_rows_are_composed_however_many_there_are(rows: int) -> None:
    """Coins of a loss of 0 or 1, and as many of 0 or 3 that are rarer: by the binomial law."""
    coins, rare = (
        (0, np.array([0.7, 0.3]), 1e-12),
        (-2, np.array([1 - 2 / rows, 0, 0, 2 / rows]) if rows > 9 else np.ones(1), 0.0),
    )
    for losses, many in (([coins], [rows]), ([coins, rare], [rows, 3]), ([rare, coins], [3, rows])):
        found = compose(losses, many, 1e-9)
        assert found is not None
        lower, masses, infinity = found
        at = lower + np.arange(len(masses)) + (6 if len(losses) > 1 else 0)
        exact = binom.pmf(at, rows, 0.3)
        if len(losses) > 1 and rows > 9:
            exact = sum(binom.pmf(k, 3, 2 / rows) * binom.pmf(at - 3 * k, rows, 0.3) for k in range(4))
        np.testing.assert_allclose(masses, exact, rtol=0, atol=2e-9)
        assert infinity == pytest.approx(1e-9 + rows * 1e-12, rel=1e-4)


@pytest.mark.parametrize("delta", [1e-5, 1e-13])
@pytest.mark.parametrize("pair", ["remove", "add", "swap"])
def test_ever_more_rows_that_are_ever_rarer_cost_about_the_same(pair: Any, delta: float) -> None:
    """At rates of 3/√T what T rows tell comes near to one Gaussian release, from above or below (a central limit)."""
    found = [composed_epsilon([Part(pair, 3 / math.sqrt(rows), rows)], 1.5, delta, 1e-2) for rows in (90_000, 10**6, 10**7)]
    assert found == pytest.approx([found[0]] * 3, rel=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_a_range_is_not_much_longer_than_it_has_to_be(seed: int) -> None:
    """Three hundred coins of a loss of 0 or 1: six standard deviations and a half for 1e-9."""
    chance = 0.1 + 0.15 * seed
    first, last = pld._range_of_sum([(0, np.array([1 - chance, chance]), 0.0)], [300], 1e-9)
    deviation = math.sqrt(300 * chance * (1 - chance))
    assert 300 * chance - 10 * deviation < first < last < 300 * chance + 10 * deviation


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("step", [0.05, 3.0, 200.0])
def test_the_epsilon_of_losses_is_the_smallest_that_delta_allows(seed: int, step: float) -> None:
    random = np.random.default_rng(seed)
    lower, infinity = int(random.integers(-30, 6)), float(random.choice([0.0, 1e-3]))
    masses = random.gamma(0.2, size=40) * np.exp(-random.uniform(0, 1) * np.arange(40))
    masses *= (1 - infinity) / masses.sum()
    losses = (lower + np.arange(40)) * step

    def delta_of(epsilon: float) -> float:
        return infinity + float(masses @ -np.expm1(np.minimum(epsilon - losses, 0.0)))

    at_zero = delta_of(0.0)
    for share in (0.999, 0.9, 0.5, 0.1, 1e-3, 1e-6):
        delta = infinity + share * (at_zero - infinity)
        if delta <= infinity:
            continue
        found = epsilon_of_losses(lower, masses, infinity, step, delta)
        assert delta_of(found * (1 + 1e-15)) <= delta * (1 + 1e-12)
        assert found == 0 or delta_of(found * (1 - 1e-9) - 1e-12) > delta * (1 - 1e-10)
    assert epsilon_of_losses(lower, masses, infinity, step, at_zero * 1.001) == 0.0
    assert epsilon_of_losses(lower, masses, infinity, step, infinity) == math.inf


@pytest.mark.parametrize("power", [-30, -7, -1, 0, 1, 6, 50])
def test_the_best_power_is_found_from_both_sides(power: int) -> None:
    assert pld._best_power(lambda order: abs(math.log2(order) - power)) == 2.0**power


def test_sums_of_powers_neither_overflow_nor_vanish() -> None:
    assert pld._log_sum(np.array([1000.0, 1000.0, 1000.0])) == pytest.approx(1000 + math.log(3), rel=1e-14)
    assert pld._log_sum(np.array([-1000.0, -1001.0, -np.inf])) == pytest.approx(-1000 + math.log1p(math.exp(-1)), rel=1e-14)


# μ, δ and ε to sixteen of fifty digits.
GAUSSIAN = [
    (1e-06, 1e-300, 3.657431251424889e-05), (1e-06, 1e-12, 4.424892759089482e-06),
    (0.001, 1e-300, 0.03676291669948786), (0.001, 1e-05, 0.00193872496986011), (0.1, 1e-30, 1.1097079339572822),
    (0.1, 0.01, 0.09270756622567847), (0.7, 1e-12, 4.92996949583149), (1.0, 1e-300, 37.44884791213911),
    (1.0, 1e-05, 4.3771780956812245), (1.0, 0.3, 0.27661739889684955), (3.0, 1e-18, 30.30462097979),
    (3.0, 0.5, 3.52927578093174), (10.0, 1e-300, 420.05299591238116), (10.0, 0.9, 36.1189462488713),
    (10.0, 0.999999, 1.1244723025917551), (30.0, 0.01, 518.8276174069681), (30.0, 0.9999999999, 258.03657109464615),
    (100.0, 1e-100, 7126.4387167076975), (100.0, 0.9999999999, 4362.832727194039),
    (10000.0, 1e-300, 50370469.96484141), (10000.0, 0.5, 49999999.0), (10000.0, 0.9, 49987183.484280474),
]  # fmt: skip


@pytest.mark.parametrize(("shift", "delta", "exact"), GAUSSIAN)
def test_the_epsilon_of_gaussian_noise_is_never_below_the_exact_one_and_close_to_it(
    shift: float, delta: float, exact: float
) -> None:
    found = gaussian_epsilon(shift, delta)
    assert exact <= found <= exact * (1 + (1e-6 if delta > 0.999 or shift < 1e-4 else 1e-10))


def test_no_distance_costs_nothing_and_one_whose_square_overflows_everything() -> None:
    assert gaussian_epsilon(1e200, 1e-5) == math.inf
    assert gaussian_epsilon(0.0, 1e-5) == 0.0


@pytest.mark.parametrize("shift", [1e-9, 0.3, 3.0])
def test_a_delta_that_covers_the_whole_of_gaussian_noise_leaves_nothing(shift: float) -> None:
    all_of_it = math.erf(shift / 2 / math.sqrt(2))
    assert gaussian_epsilon(shift, all_of_it * (1 + 1e-5)) == 0.0
    assert gaussian_epsilon(shift, all_of_it * 0.99) > 0


@pytest.mark.parametrize(
    ("parts", "delta", "exact"),
    [
        ([("remove", 0.001, 50), ("add", 0.25, 400)], 0.06, 115.01095357699428),
        ([("add", 0.5, 3)], 0.2, 1.8562979903656263),
        ([("add", 1e-06, 3000000)], 1e-07, 3.0000014000009947),
        ([("swap", 0.01, 20), ("add", 0.125, 7)], 0.25, 0.8480443929899063),
        ([("replace", 0.25, 2), ("add", 0.0625, 90)], 0.5, 5.690683866725022),
    ],
)
def test_the_epsilon_without_noise_is_never_below_the_exact_one_and_close_to_it(
    parts: list[Any], delta: float, exact: float
) -> None:
    found = noiseless_epsilon([Part(*part) for part in parts], delta)
    assert exact < found < exact * (1 + 1e-10)
    # Where what rows show is δ to the last digit the doubt is for the record.
    assert noiseless_epsilon([Part("remove", 0.125, 3)], 1 - 0.875**3) == math.inf
    assert noiseless_epsilon([Part("remove", 0.125, 3)], (1 - 0.875**3) * (1 + 1e-11)) < math.inf


CURVES: dict[str, Callable[[float], float]] = {
    **{f"power {p}": lambda z, p=p: 2.0 * (1.7 / z) ** p for p in (0.2, 1.0, 2.0, 8.0)},  # type: ignore[misc]
    "two powers": lambda z: 3 / z + 0.1 / z**6,
    "leap": lambda z: 0.0 if z >= 1.7 else math.inf,
    "leap to little": lambda z: 1.9 if z >= 1.7 else 1e12,
    "stairs": lambda z: math.exp(-math.floor(3 * math.log(z))) + 0.5,
    "never above": lambda z: 0.0,
    "exponential": lambda z: math.expm1(min(5 / z, 700.0)),
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("guess", [1e-3, 0.3, 1.0, 2.0, 50.0, 1e4])
@pytest.mark.parametrize("tolerance", [0.1, 1e-3])
def test_a_search_returns_what_it_has_seen_to_meet_the_target_and_not_much_more(
    curve: str, guess: float, tolerance: float
) -> None:
    seen: dict[float, float] = {}

    def epsilon_of(z: float) -> float:
        seen[z] = CURVES[curve](z)
        return seen[z]

    found = smallest_multiplier(epsilon_of, 2.0, guess, tolerance)
    assert seen[found] <= 2.0
    just_missed = [z for z, epsilon in seen.items() if epsilon > 2.0 and found * math.exp(-tolerance * 1.001) <= z < found]
    little = guess * 1e-6 < found <= guess * 1e-4 * (1 + 1e-12)  # where hardly any noise is needed
    assert seen[found] >= 2.0 * math.exp(-tolerance * 1.001) or just_missed or little
    assert len(seen) <= 8 or not curve.startswith("power") or not 0.3 <= guess <= 2
    assert not little or curve == "never above" or CURVES[curve](guess * 1e-4) <= 2.0


def test_a_search_gives_up_where_no_noise_is_enough() -> None:
    with pytest.raises(CalibrationError, match="epsilon = 2"):
        smallest_multiplier(lambda z: 5.0, 2.0, 1.0, 0.02)


@pytest.mark.parametrize(("pair", "distance"), [("remove", 1), ("add", 1), ("replace", 1), ("swap", 2)])
def test_rows_that_all_hold_the_record_are_one_gaussian_to_the_last_digit(pair: Any, distance: int) -> None:
    """Nine of them with noise of 1.5, beside one release with noise of 2."""
    exact = gaussian_epsilon(math.hypot(distance * 3 / 1.5, 1 / 2), 1e-6)
    assert composed_epsilon([(pair, 1.0, 9), Part("remove", 1.0, 1, 2.0)], 1.5, 1e-6, 1e-2) == pytest.approx(
        exact, rel=1e-13
    )
    assert composed_epsilon([(pair, 1.0, 9)], 0.0, 1e-6, 1e-2) == math.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_epsilon_of_losses_holds_what_running_sums_may_be_off_by(seed: int) -> None:
    """Masses are whole multiples of 2^-40, so that their sums are exact: ε is above the exact one by both allowances."""
    random = np.random.default_rng(seed)
    masses = random.integers(1, 2**20, 3000) * 2.0**-40
    step, delta = 2.0**-10, float(masses.sum()) * 0.01
    with localcontext() as context:
        context.prec = 40
        allowed, weighted = Decimal(delta), Decimal(0)
        for at, above in reversed(list(enumerate(np.cumsum(masses[::-1])[::-1].tolist(), start=1))):
            loss = Decimal(at * step)
            weighted += Decimal(float(masses[at - 1])) * (-loss).exp()
            if Decimal(above) - (loss - Decimal(step)).exp() * weighted > allowed:  # δ at the point below
                exact = ((Decimal(above) - allowed) / weighted).ln()
                break
        found = Decimal(epsilon_of_losses(1, masses, 0.0, step, delta))
        allowance = len(masses) * 2.0**-52
        assert 1.5 * allowance <= float(found - exact) <= 3 * allowance


def test_errors_of_the_transforms_are_in_the_epsilon_of_tilted_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a in the transforms is one of a·E[e^{sL}]^rows·e^{-sε} above ε: where that decides, ε grows as ln(a)/s."""
    losses, rows = [discretised("remove", 1.0, 0.3, 0.01)], [50]
    usual = pld.tilted_epsilon(losses, rows, 0.01, 1e-14)
    found = []
    for allowed in (1e6, 1e9, 1e12):
        monkeypatch.setattr(pld, "fft_allowance", lambda _, allowed=allowed: allowed)
        found.append(pld.tilted_epsilon(losses, rows, 0.01, 1e-14))
    assert usual is not None
    assert usual < found[0] < found[1] < found[2]
    assert found[2] - found[1] == pytest.approx(found[1] - found[0], rel=1e-9)
    # Of a Gaussian of μ² = rows·0.3², E[e^{sL}] = e^{s(s + 1)μ²/2}: at the largest share of δ, ε solves the bound exactly.
    order, square = math.log(1e3) / (found[1] - found[0]), 50 * 0.09
    exact = (math.log(1e6) + order * (order + 1) * square / 2 - math.log(0.9e-14)) / order
    assert found[0] == pytest.approx(exact, rel=2e-2)
