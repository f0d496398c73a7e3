"""The budget that adds up: scales cost what they should, never more than was asked for, to the last bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.privacy.budget import Budget, SingleRelease, last_release, mean_error, single_release
from dpsyn.privacy.discrete_gaussian import Moved, discrete_delta, gaussian_scale
from dpsyn.privacy.noise import NoiseSource
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_delta, zcdp_rho
from tests.conformance.neighbours import Deaf

CLOSE = 1 - Fraction(1, 10**11)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1 / 3, 1.7, 9.9, 55.5, 1e6])
@pytest.mark.parametrize(("neighbouring", "moved"), [("replace_one", 2), ("add_remove", 1)])
def test_parts_cost_no_more_than_is_asked_for_and_hardly_less(epsilon: float, neighbouring: Any, moved: int) -> None:
    pure = Budget.of(PrivacySpec(epsilon, 0.0, neighbouring))
    gaussian = Budget.of(PrivacySpec(epsilon, 1e-5, neighbouring))
    assert (pure.noise, gaussian.noise) == ("laplace", "gaussian")
    for budget, most in ((pure, epsilon), (gaussian, zcdp_rho(epsilon, 1e-5))):
        assert CLOSE * Fraction(most) < Fraction(budget.total) < Fraction(most)
        assert budget.moved == moved
    for tables in (1, 7, 20, 21, 1_000, 10**6):
        for share in (0.3, 1.0):
            spent = Fraction(share * pure.total)
            cost = Fraction(moved * tables) / Fraction(pure.noise_scale(share * pure.total, tables))
            assert CLOSE * spent < cost < spent
            assert pure.noise_cost(pure.noise_scale(share * pure.total, tables), tables) == pytest.approx(float(spent))
            cost = Fraction(2 * tables) / Fraction(pure.choice_scale(share * pure.total, tables))
            assert CLOSE * spent < cost < spent
            assert pure.choice_cost(pure.choice_scale(share * pure.total, tables), tables) == pytest.approx(float(spent))
            spent = Fraction(share * gaussian.total)
            cost = Fraction(moved * tables) / (2 * Fraction(gaussian.noise_scale(share * gaussian.total, tables)) ** 2)
            assert CLOSE * spent < cost < spent
            assert gaussian.noise_cost(gaussian.noise_scale(float(spent), tables), tables) == pytest.approx(float(spent))
            cost = Fraction(tables**2) / (2 * Fraction(gaussian.choice_scale(share * gaussian.total, tables)) ** 2)
            assert CLOSE * spent < cost < spent
            assert gaussian.choice_cost(gaussian.choice_scale(float(spent), tables), tables) == pytest.approx(float(spent))
    release = single_release(PrivacySpec(epsilon), 3)
    assert CLOSE * Fraction(epsilon) < 3 / Fraction(release.scale) < Fraction(epsilon)


DELTAS = (1e-300, 1e-101, 1e-40, 1e-20, 1e-9, 1e-3, 0.01, 0.011, 0.05, 0.3, 0.9)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 5.0, 60.0])
def test_however_small_or_large_delta_is_no_more_is_spent(epsilon: float, delta: float) -> None:
    spec = PrivacySpec(epsilon, delta)
    budget = Budget.of(spec)
    assert (budget.noise, budget.total) == ("gaussian", pytest.approx(zcdp_rho(epsilon, delta), rel=1e-9))
    assert zcdp_delta(budget.total, epsilon) <= delta < 1.1 * zcdp_delta(1.1 * budget.total, epsilon)
    for moved in (1, 2, 60):
        once = single_release(spec, moved)
        if once.noise == "laplace":
            assert CLOSE * Fraction(epsilon) < Fraction(moved) / Fraction(once.scale) < Fraction(epsilon)
        elif once.argument == "exact":
            assert discrete_delta((Moved(moved),), once.scale, epsilon) <= delta
        else:
            assert zcdp_delta(once.cost, epsilon) <= delta


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("cells", [1, 2, 199, 200, 1_999, 2_000, 20_000, 2**18])
def test_what_is_released_is_what_the_noise_says_however_many_counts_there_are_and_are_0(cells: int, delta: float) -> None:
    budget, random = Budget.of(PrivacySpec(1.0, delta)), np.random.default_rng(0)
    for counts in (np.zeros(cells), np.arange(cells) % 3, random.integers(0, 9, cells), np.full(cells, 1000)):
        exact = counts.astype(np.int64)
        for release in (
            lambda noise, of: budget.released(noise, of, 5.0),
            single_release(PrivacySpec(1.0, delta), 60).released,
        ):
            noise = Deaf(3, -5)
            found = release(noise, exact)
            np.testing.assert_array_equal(found, Deaf(3, -5)._counts((cells,)))
            (call,) = noise.calls
            np.testing.assert_array_equal(call.values, exact)
            assert call.kind == ("gaussian" if delta else "laplace")


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_noise_has_the_law_that_is_paid_for_and_the_spread_that_is_said(delta: float) -> None:
    budget = Budget.of(PrivacySpec(1.0, delta))
    scale = 6.0
    noise = budget.released(NoiseSource(np.random.default_rng(0)), np.full(200_000, 5), scale) - 5
    assert noise.mean() == pytest.approx(0, abs=0.1)
    assert noise.std() == pytest.approx(budget.deviation(scale), rel=0.01)
    assert np.abs(noise).mean() == pytest.approx(budget.mean_error(scale), rel=0.01)
    # Kurtosis: 3 of Gaussian noise, 6 of Laplace noise.
    assert (noise**4).mean() / noise.var() ** 2 == pytest.approx(3 if delta else 6, abs=0.3)
    for terms in (3, 40):
        sums = np.abs(noise[: terms * 5000].reshape(terms, -1).sum(axis=0)).mean()
        assert sums == pytest.approx(mean_error(scale, terms, gaussian=delta > 0), rel=0.03)
    for terms in (1, 2, 3, 40, 1_000_000):  # the product that Wallis took to infinity
        exact = float(np.prod(1 + 0.5 / np.arange(1, terms, dtype=np.float64)))
        assert mean_error(7.0, terms, gaussian=False) == pytest.approx(7 * exact, rel=1e-8)
    assert mean_error(0.1, 1, gaussian=False) == 0.1
    once = single_release(PrivacySpec(1.0, delta), 60)
    assert once.noise == budget.noise
    drawn = once.released(NoiseSource(np.random.default_rng(1)), np.full(200_000, 5)) - 5
    assert drawn.std() == pytest.approx(once.deviation, rel=0.01)


def test_a_single_release_names_the_argument_that_its_scale_comes_from() -> None:
    found = set()
    for moved, epsilon, delta in ((60, 1.0, 1e-5), (10**7, 0.01, 1e-5), (5000, 1.0, 1e-40)):
        scale, how = gaussian_scale((Moved(moved),), epsilon, delta)
        once = single_release(PrivacySpec(epsilon, delta), moved)
        assert (once.noise, once.scale, once.argument) == ("gaussian", scale, "exact" if how == "exact" else "zcdp")
        assert once.argument in once.source.replace("zCDP", "zcdp")
        found.add(once.argument)
    assert found == {"exact", "zcdp"}


def test_numbers_that_move_by_more_than_one_have_as_much_more_noise() -> None:
    pure, gaussian = Budget(1.0, "laplace", 2), Budget(1.0, "gaussian", 2)
    assert pure.noise_scale_for(0.5, 3, 4) == pytest.approx(24, rel=1e-11)
    assert gaussian.noise_scale_for(0.5, 9, 4) == pytest.approx(12, rel=1e-11)


def test_a_single_release_takes_the_noise_of_less_deviation() -> None:
    assert single_release(PrivacySpec(1.0, 1e-5), 1).noise == "laplace"
    assert single_release(PrivacySpec(1.0, 1e-5), 60).noise == "gaussian"
    spec, deviations = PrivacySpec(1.0, 1e-5), []
    for moved in range(1, 20):
        q = np.exp(-1.0 / moved)  # of a two-sided geometric law
        laplace, gaussian = np.sqrt(2 * q) / (1 - q), gaussian_scale((Moved(moved),), 1.0, 1e-5)[0]
        assert single_release(spec, moved).noise == ("gaussian" if gaussian < laplace else "laplace"), moved
        deviations.append(gaussian < laplace)
    assert deviations.index(True) == 6


def test_what_a_release_costs_and_by_which_argument() -> None:
    """Of six counts each moves by 1: at scale 4 they cost 6/4 in ε, 6/32 in ρ."""
    assert SingleRelease("laplace", 4.0, "pure", 6).cost == 1.5
    assert SingleRelease("gaussian", 4.0, "zcdp", 6).cost == 0.1875
    for budget, argument in ((Budget(0.25, "laplace", 2), "pure"), (Budget(0.25, "gaussian", 2), "zcdp")):
        last = last_release(budget, 6)
        assert (last.noise, last.argument, last.moved) == (budget.noise, argument, 6)
        assert last.cost == pytest.approx(0.25, rel=1e-11)
        assert last.cost < 0.25


@pytest.mark.parametrize(
    ("field", "spec", "moved"),
    [
        ("spec", 1.0, 1),
        ("spec", None, 1),
        *(("moved", PrivacySpec(1.0), wrong) for wrong in (np.nan, "2", 0, -1, 1.5, True)),
    ],
)
def test_a_single_release_of_something_else_is_refused(field: str, spec: Any, moved: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        single_release(spec, moved)
    assert caught.value.field == field
    if field == "spec":
        with pytest.raises(ParameterError, match="spec = "):
            Budget.of(spec)
