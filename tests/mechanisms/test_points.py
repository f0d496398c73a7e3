"""What mechanisms on points have in common: noise by the exact law, what is taken for granted, which records are taken."""

from __future__ import annotations

import numpy as np
import pytest

import dpsyn
from dpsyn.mechanisms.points import carried, claimed, once, records
from dpsyn.privacy.discrete_gaussian import continuous_delta
from dpsyn.privacy.mixing.averaging import allowance, floating_noise_assumption


@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), [(0.1, 1e-5, 2.0), (3.0, 1e-9, 0.7), (40.0, 0.1, 1.0)])
def test_noise_on_one_point_is_the_least_by_the_exact_law(epsilon, delta, sensitivity):
    scale = once(dpsyn.PrivacySpec(epsilon, delta), sensitivity, 5)
    assert continuous_delta(sensitivity / scale, epsilon) <= delta
    assert continuous_delta(sensitivity / (scale * (1 - 2e-8)), epsilon) > delta


def test_more_noise_for_what_floating_point_does_and_never_less_than_steps_allow():
    assert carried(3.0, 0.5, 7, 9) == pytest.approx(3.0 * allowance(6.0, 7, 9), rel=1e-15)
    assert carried(1e-9, 1.0, 1, 9) == 2.0**-20
    assert once(dpsyn.PrivacySpec(1e14, 1e-5), 1.0, 3) == 2.0**-20


@pytest.mark.parametrize("neighbouring", ["replace_one", "add_remove"])
def test_what_is_taken_for_granted_is_said(neighbouring):
    numbers, scale = 1000, 0.25
    chance = numbers * (2.0**-42 + 2.0**-45 * 4)
    for factor, status in ((0.99, "real_arithmetic"), (1.01, "proven")):
        found = claimed(dpsyn.PrivacySpec(2.0, factor * chance, neighbouring), "source", numbers, scale, "more")
        assert (found.status, found.epsilon, found.delta) == (status, 2.0, factor * chance)
        assert "more" in found.assumptions
        assert any("fixed without looking" in one for one in found.assumptions)
        assert ("The number of rows n is public." in found.assumptions) is (neighbouring == "replace_one")
        assert floating_noise_assumption(numbers, 4.0, factor * chance, "Fewer rows make it smaller.") in found.assumptions
    assert claimed(dpsyn.PrivacySpec(2.0, chance, neighbouring), "source", numbers, scale).status == "proven"


@pytest.mark.parametrize(("rows", "there"), [(3, 5), (5, 5), (8, 5), (1, 5)])
def test_records_are_taken_once_in_any_order_and_zero_stands_for_those_that_are_missing(rows, there):
    points = np.arange(1.0, 2 * there + 1).reshape(there, 2)
    first: set[float] = set()
    for seed in range(60):
        found = records(points, rows, np.random.default_rng(seed))
        assert found.shape == (rows, 2)
        real = [tuple(row) for row in found if row.any()]
        assert len(set(real)) == len(real) == min(rows, there)
        assert set(real) <= {tuple(row) for row in points}
        first.add(float(found[0, 0]))
    assert len(first) == there + (rows > there)
