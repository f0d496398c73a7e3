"""How closely the accountant looks, step by step, with stand-ins for what it calls, and what it does at the edges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import erfcx, ndtr

from dpsyn.errors import CalibrationError
from dpsyn.privacy.mixing import pld
from dpsyn.privacy.mixing.pairs import Part, discretised, span
from dpsyn.privacy.mixing.pld import composed_epsilon, epsilon_of_losses, gaussian_epsilon, noiseless_epsilon
from tests.mechanisms.dp_cda.accounting.test_composition import GAUSSIAN, some_losses, without_transforms


@pytest.mark.parametrize(("shift", "delta", "exact"), GAUSSIAN)
def test_an_epsilon_of_gaussian_noise_is_not_too_small_where_its_root_is_off_by_all_that_was_asked_for(
    shift: float, delta: float, exact: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pld.brentq

    def lowest(function: Any, lower: float, upper: float, xtol: float = 2e-12, rtol: float = 8.9e-16, **_: Any) -> float:
        root = float(real(function, lower, upper, xtol=1e-16, rtol=8.9e-16, maxiter=1_000))
        return root - xtol - rtol * abs(root)

    monkeypatch.setattr(pld, "brentq", lowest)
    assert gaussian_epsilon(shift, delta) >= exact


def test_the_allowances_in_an_epsilon_of_gaussian_noise_are_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """1e-15·(1 + t)·e^{-t²/2} on the difference, 1e-15 where t ≤ 0; 1e-12 on t and 1e-14 of the whole."""
    found: list[Any] = []
    monkeypatch.setattr(pld, "brentq", lambda function, *_, **__: (found.append(function), root)[1])
    for shift, root, off in ((1.0, -0.5 + 1e-9, 1e-3 + 1e-14), (1.0, 1.5, 5.1e-13), (1e5, 3.0, 1.003e-14)):
        exact = Fraction(shift) * (Fraction(root) + Fraction(shift) / 2)
        assert float(Fraction(gaussian_epsilon(shift, 1e-300)) / exact - 1) == pytest.approx(off, rel=5e-2, abs=0)
    excess = found[0]  # at a distance of 1
    for t, allowance, doubt in ((30.0, 31e-15, 1e-17), (0.5, 1.5e-15, 2e-16), (0.9, 1.9e-15, 2e-16), (-0.4, 1e-15, 2e-16)):
        scale = math.exp(-t * t / 2)
        plain = float(ndtr(-t)) - 0.5 * float(erfcx((t + 1) / math.sqrt(2))) * scale
        share = scale if t > 0 else 1.0
        assert abs(excess(t) - plain - allowance * share) <= doubt * share


SCRIPT = (9.0, 5.0, 4.0, 3.9, 3.89, 3.889)


def refined(monkeypatch: pytest.MonkeyPatch, script: tuple[float | None, ...], **options: Any) -> tuple[float, list[float]]:
    """What is returned, and the steps, where each grid has the ε of a script and the bounds without a grid are 20 and 30."""
    steps: list[float] = []
    rows = options.pop("rows", 7)

    def on_grid(parts: list[Part], shift: float, delta: float, step: float) -> float | None:
        assert (parts, shift, delta) == ([Part("remove", 0.1, rows)], 0.5, 1e-5)
        steps.append(step)
        return script[len(steps) - 1]

    bounds = {"gaussian_epsilon": 20.0, "noiseless_epsilon": 30.0} | options.pop("bounds", {})
    for name, value in bounds.items():
        monkeypatch.setattr(pld, name, lambda *_, value=value: value)
    monkeypatch.setattr(pld, "_on_grid", on_grid)
    return composed_epsilon([("remove", 0.1, rows)], 2.0, 1e-5, options.pop("tolerance", 1e-3), **options), steps


def test_a_grid_is_refined_until_a_step_gains_little(monkeypatch: pytest.MonkeyPatch) -> None:
    coarsest = span("remove", 0.1, 0.5) / 56
    for tolerance, grids in ((3.3e-5, 6), (3.1e-4, 6), (3.3e-4, 5), (3.1e-3, 5), (3.3e-3, 4), (0.031, 4), (0.0314, 3),
                             (0.099, 3), (0.101, 2)):  # fmt: skip
        found, steps = refined(monkeypatch, SCRIPT, tolerance=tolerance)
        assert found == SCRIPT[grids - 1]
        assert steps == pytest.approx([coarsest / 4**k for k in range(grids)], rel=1e-12)
    # A gain of as much as is allowed is the last.
    assert refined(monkeypatch, (10.0, 8.0, 6.0), tolerance=1 / 32)[0] == 8.0


def test_a_grid_is_not_refined_where_nobody_asks_how_far_a_bound_is_from_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refined(monkeypatch, SCRIPT, enough=4.0) == (
        4.0,
        pytest.approx([span("remove", 0.1, 0.5) / k for k in (56, 224, 896)]),
    )
    for rows, steps in ((99_999, 56), (100_000, 14)):  # the grids of many rows are long
        assert refined(monkeypatch, SCRIPT, rows=rows, enough=9.0)[1] == [pytest.approx(span("remove", 0.1, 0.5) / steps)]
    assert len(refined(monkeypatch, SCRIPT, enough=3.99)[1]) == 4
    assert len(refined(monkeypatch, SCRIPT, enough=20.0)[1]) == 0
    assert len(refined(monkeypatch, SCRIPT, enough=19.9)[1]) == 1
    # ε less what the last step gained: 5 - 4 and 4 - 1.
    assert len(refined(monkeypatch, SCRIPT, too_much=0.99)[1]) == 2
    assert len(refined(monkeypatch, SCRIPT, too_much=1.0)[1]) == 3
    assert len(refined(monkeypatch, SCRIPT, too_much=3.01)[1]) == 4


def test_the_smallest_of_all_bounds_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refined(monkeypatch, (25.0, 22.0, 21.9, None))[0] == 20.0
    assert refined(monkeypatch, (25.0, None), bounds={"noiseless_epsilon": 7.0}) == (7.0, pytest.approx([0.0] * 2, abs=1.0))
    assert refined(monkeypatch, (6.0, 5.0, None))[0] == 5.0
    assert refined(monkeypatch, (None,))[0] == 20.0
    # A finer grid may give a larger ε: both are upper bounds.
    assert refined(monkeypatch, (6.0, 6.01))[0] == 6.0
    huge = {"gaussian_epsilon": 1e8, "noiseless_epsilon": 2e8}
    assert refined(monkeypatch, SCRIPT, bounds=huge) == (1e8, [])
    assert len(refined(monkeypatch, SCRIPT, bounds={"gaussian_epsilon": 0.99e8, "noiseless_epsilon": 2e8})[1]) == 5


def test_losses_below_what_a_double_resolves_are_not_put_on_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    for largest, grids in ((0.99e-9, 0), (1e-9, 5)):
        monkeypatch.setattr(pld, "span", lambda *_, largest=largest: largest)
        assert len(refined(monkeypatch, SCRIPT)[1]) == grids


def test_the_bound_without_noise_allows_for_rounding_of_1e_12_of_every_sum() -> None:
    """Rows whose sum of ln(1 - p) is 50·ln 0.999 and 400·ln 0.75: l = ln(1 - δ) - 400·ln 0.75 for "remove" beside "add"."""
    lost, gained = 50 * math.log1p(-0.001), 400 * math.log(0.75)
    exact = 115.01095357699428
    found = noiseless_epsilon([Part("remove", 0.001, 50), Part("add", 0.25, 400)], 0.06)
    assert found - exact == pytest.approx(1e-12 * (exact - lost - gained), rel=1e-2)
    # What is shown is held against δ as if there were more of it by a share of 1e-12.
    shown = -math.expm1(lost)
    for more, limit in ((0.8e-12, math.inf), (1.1e-12, 115.2)):
        near = noiseless_epsilon([Part("remove", 0.001, 50), Part("add", 0.25, 400)], shown * (1 + more))
        assert near == limit or 115 < near < limit < math.inf


def test_no_bound_is_negative() -> None:
    assert noiseless_epsilon([Part("add", 0.5, 3)], 0.9) == 0.0
    assert composed_epsilon([Part("remove", 0.5, 3)], 1.0, 0.95, 1e-2) == 0.0
    assert epsilon_of_losses(-9, np.full(12, 1 / 12), 0.0, 0.1, 0.05) == 0.0


def test_arrays_that_would_be_too_long_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, step = [Part("remove", 0.1, 1)], 0.01
    length = len(discretised("remove", 0.1, 1.0, step)[1])
    for longest, made in ((length - 1, False), (length, True)):
        monkeypatch.setattr(pld, "_LONGEST", longest)
        assert (pld._on_grid(parts, 1.0, 1e-5, step) is not None) is made
        assert (pld.compose([(0, np.full(length, 1 / length), 0.0)], [1], 1e-9) is not None) is made
    # That they would is known before they are made.
    with monkeypatch.context() as patch:
        patch.setattr(pld, "discretised", None)
        patch.setattr(pld, "_LONGEST", math.floor(pld.span("remove", 0.1, 1.0) / step))
        assert pld._on_grid(parts, 1.0, 1e-5, step) is None
    # One row fits, the sum of many does not: neither plain nor under another measure.
    parts = [Part("remove", 0.1, 5000)]
    monkeypatch.setattr(pld, "_LONGEST", length)
    assert pld._on_grid(parts, 1.0, 1e-5, step) is None
    assert pld._on_grid(parts, 1.0, 1e-14, step) is None
    monkeypatch.setattr(pld, "_LONGEST", 3_000_000)
    for delta in (1e-5, 1e-14):
        assert pld._on_grid(parts, 1.0, delta, step) is not None


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-9])
@pytest.mark.parametrize("seed", range(8))
def test_tilted_losses_keep_what_is_infinite(seed: int, delta: float) -> None:
    """Made-up losses with up to 0.45·δ at infinity, against sums without transforms."""
    losses, rows = some_losses(seed)
    share = (0.02 + 0.43 * (seed % 4) / 3) * delta / sum(rows)
    losses = [(lower, masses / masses.sum() * (1 - share), share) for lower, masses, _ in losses]
    expected = epsilon_of_losses(*without_transforms(losses, rows), 0.25, delta)
    found = pld.tilted_epsilon(losses, rows, 0.25, delta)
    assert found is not None
    assert expected <= found <= expected * (1 + 3e-3)
    for many, some in ((0.52, False), (0.48, True)):
        full = [(lower, masses, many * delta / sum(rows)) for lower, masses, _ in losses]
        assert (pld.tilted_epsilon(full, rows, 0.25, delta) is not None) is some


def test_tilted_losses_keep_what_is_infinite_of_few_rows_of_which_much_is() -> None:
    for rows, infinity, delta, high in ((1, 0.3, 0.7, 0.6), (3, 0.1, 0.6, 0.6), (1, 0.02, 0.4, 0.98), (2, 0.0, 0.3, 0.99)):
        losses = [(5, np.array([1 - high, high]) * (1 - infinity), infinity)]
        expected = epsilon_of_losses(*without_transforms(losses, [rows]), 0.25, delta)
        found = pld.tilted_epsilon(losses, [rows], 0.25, delta)
        assert expected > 0.5
        assert found == pytest.approx(expected, rel=1e-2)
        assert found is not None
        assert found >= expected


def test_losses_are_composed_under_the_measure_of_the_best_renyi_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """ε ≤ R + (ln(1/δ) + s·ln s - (s + 1)·ln(s + 1))/s at order s + 1; thirty Gaussian rows have R = (s + 1)·30·μ²/2."""
    bounds, real = [], pld._best_power
    monkeypatch.setattr(pld, "_best_power", lambda bound: (bounds.append(bound), real(bound))[1])
    shift, delta = 0.4, 1e-15
    step = span("remove", 1.0, shift) / 2000
    found = pld.tilted_epsilon([discretised("remove", 1.0, shift, step)], [30], step, delta)
    exact = {
        s: (s + 1) * 30 * shift**2 / 2 + (-math.log(delta) + s * math.log(s) - (s + 1) * math.log1p(s)) / s
        for s in (0.5, 1.0, 2.0, 4.0, 8.0)
    }
    (bound,) = bounds
    assert [bound(s) for s in exact] == pytest.approx(list(exact.values()), rel=1e-4)
    assert real(bound) == min(exact, key=lambda s: exact[s])
    assert found is not None
    assert found < min(exact.values())


@pytest.mark.parametrize(("allowance", "outside"), [(1e6, 1e-12), (1e-13, 1e6), (1e6, 1e6)])
def test_errors_of_transforms_and_what_is_outside_twice_are_paid_from_a_share_of_delta(
    allowance: float, outside: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is outside counts once where it is missing and once where it is wrapped around to; errors alone decide here."""
    lower, masses, infinity = discretised("remove", 1.0, 0.3, 0.01)
    orders, best, real = [], pld._best_power, pld.compose
    monkeypatch.setattr(pld, "_best_power", lambda bound: (orders.append(best(bound)), orders[-1])[1])
    monkeypatch.setattr(pld, "compose", lambda losses, rows, tail: real(losses, rows, 1e-12))
    monkeypatch.setattr(pld, "fft_allowance", lambda _: allowance)
    monkeypatch.setattr(pld, "_OUTSIDE", outside)
    found = pld.tilted_epsilon([(lower, masses, infinity)], [50], 0.01, 1e-14)
    (order,) = orders
    growth = 50 * math.log(float(masses @ np.exp(order * 0.01 * (lower + np.arange(len(masses))))))
    assert found == pytest.approx((math.log(allowance + 2 * outside) + growth - math.log(0.9e-14)) / order, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-17])
@pytest.mark.parametrize(("shift", "rows", "step", "delta"), [(0.3, 50, 0.01, 1e-14), (10.0, 14, 1.0, 1e-300)])
def test_points_far_below_do_no_harm(
    noise: float, shift: float, rows: int, step: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So far below that the way back from the tilted measure is a factor of e^1300 there, with rounding errors in them."""
    lower, masses, _ = discretised("remove", 1.0, shift, step)
    losses, real = [(lower, masses, 0.0)], pld.compose
    usual, more = pld.tilted_epsilon(losses, [rows], step, delta), int(1300 / step)

    def longer(*asked: Any) -> Any:
        first, masses, infinity = real(*asked)
        return first - more, np.concatenate([np.full(more, noise), masses]), infinity

    monkeypatch.setattr(pld, "compose", longer)
    assert usual is not None
    assert usual > 10
    assert pld.tilted_epsilon(losses, [rows], step, delta) == pytest.approx(usual, rel=1e-9)


def test_the_best_power_is_a_power_and_of_equal_ones_the_nearest_to_one() -> None:
    asked: list[float] = []

    def bound(order: float) -> float:
        asked.append(order)
        return abs(math.log2(order) - 5)

    assert pld._best_power(bound) == 32.0
    assert set(asked) == {2.0**k for k in range(7)}
    assert pld._best_power(lambda order: 1.0) == 1.0
    assert pld._best_power(lambda order: max(math.log2(order), 0.0) + abs(math.log2(order) - 1)) == 1.0
    assert pld._best_power(lambda order: order if order < 1 else 1.0) == 2.0**-40
    assert pld._best_power(lambda order: -order) == 2.0**80


def test_one_row_has_its_whole_range_and_two_have_that_of_chernoff_bounds() -> None:
    chance = 0.3
    coin = (0, np.array([1 - chance, chance]), 0.0)
    assert pld._range_of_sum([coin], [1], 0.5) == (0, 1)
    wide = np.exp(-((np.arange(101) - 50.0) ** 2) / 50)
    wide /= wide.sum()
    assert pld._range_of_sum([(0, wide, 0.0)], [1], 0.5) == (0, 100)
    assert 50 < pld._range_of_sum([(0, wide, 0.0)], [2], 0.5)[0] < pld._range_of_sum([(0, wide, 0.0)], [2], 0.5)[1] < 150
    orders = np.array([-10.0, -5.0, -2.5, -1.0, 1.0, 2.5, 5.0, 10.0])
    for rows in (2, 300, 2000):
        for tail in (0.9, 0.1, 0.03, 0.02, 0.01, 1e-6, 1e-12, 1e-13):
            # P(S ≥ x) ≤ E[e^{sS}]·e^{-sx}, and half of the tail on either side.
            ends = (rows * np.log(1 - chance + chance * np.exp(orders)) + math.log(2 / tail)) / orders
            wanted = max(0, math.floor(ends[:4].max())), min(rows, math.ceil(ends[4:].min()))
            assert pld._range_of_sum([coin], [rows], tail) == wanted


def test_an_epsilon_of_losses_where_delta_is_below_the_rounding_of_sums() -> None:
    for before, step in ((0, 1.0), (10, 200.0), (3, 0.01)):
        masses = np.array([0.0] * before + [1.0, 1e-20])
        found = epsilon_of_losses(1, masses, 0.0, step, 1e-17)
        assert (before + 1) * step <= found <= (before + 1) * step + 1e-14
        assert epsilon_of_losses(1, masses[:-1], 0.0, step, 1e-17) == pytest.approx(found, rel=2e-15)
    # As much mass as is allowed, with the allowance of its sum.
    assert epsilon_of_losses(1, np.array([0.5]), 0.0, 1.0, 0.5 * (1 + 2.0**-52)) == 0.0
    assert epsilon_of_losses(1, np.array([0.5]), 0.0, 1.0, 0.5) < 1e-15


def test_the_multiplier_without_sampling_is_the_least_beside_a_fixed_release(monkeypatch: pytest.MonkeyPatch) -> None:
    for epsilon, rows, fixed in ((1.0, 1, 0.0), (4.0, 25, 0.0), (4.0, 25, 0.7), (2.0, 9, 0.4)):
        found = pld.gaussian_multiplier(epsilon, 1e-6, rows, fixed, 1e-3)
        reached = gaussian_epsilon(math.hypot(math.sqrt(rows) / found, fixed), 1e-6)
        assert epsilon * (1 - 1.1e-3) <= reached <= epsilon
    for fixed, epsilon in ((0.5, 2.0), (2.0, 9.0)):
        with pytest.raises(CalibrationError, match="can be reached") as caught:
            pld.gaussian_multiplier(epsilon, 1e-6, 4, fixed)
        enough = float(str(caught.value).split("epsilon = ")[-1].split()[0])
        assert enough == pytest.approx(2 * gaussian_epsilon(fixed, 1e-6), rel=1e-2)
        assert pld.gaussian_multiplier(enough, 1e-6, 4, fixed) > 0
    monkeypatch.setattr(pld, "gaussian_epsilon", lambda shift, delta: 1.5)
    assert pld.gaussian_multiplier(1.5, 1e-6, 4, 0.5) == pytest.approx(2.0, rel=1e-12)
    with pytest.raises(CalibrationError):
        pld.gaussian_multiplier(1.4999, 1e-6, 4, 0.5)
