"""The window in floor against the conditions themselves."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsyn.mechanisms.private_sampling.answers import floor_window
from dpsyn.mechanisms.private_sampling.bounds import PrivateSamplingSetting, missed_accuracy, sampling_setting
from dpsyn.mechanisms.private_sampling.certificates import is_degenerate
from dpsyn.mechanisms.private_sampling.theorems import privacy_condition
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import ADULT, ideal_cube

GOOD = sampling_setting(ideal_cube(200), PrivacySpec(10.0), rows=10**5)
SETTINGS = st.builds(
    lambda p, log_n, order, ceiling, rows, log_m, gamma: PrivateSamplingSetting(
        p=p,
        log_n=log_n,
        log_max_frequency=-p * math.log(2),
        epsilon=10**order,
        floor=0.25,
        ceiling=ceiling,
        failure_probability=gamma,
        log_rows=math.log(rows),
        log_m=log_m,
    ),
    st.sampled_from([8, 60, 130, 150, 300]),
    st.floats(5, 300),
    st.floats(-3, 3),
    st.sampled_from([0.9, 1.0, 1.1, 1.3, 2.0, 10.0]),
    st.sampled_from([1, 300, 10**5, 10**7]),
    st.one_of(st.none(), st.floats(5, 40)),
    st.sampled_from([0.01, 0.125]),
)


@given(SETTINGS, st.floats(-5, math.log(0.5)))
def test_floors_in_the_window_work_and_others_do_not(setting: PrivateSamplingSetting, log_floor: float) -> None:
    window = floor_window(setting)
    floor = math.exp(log_floor)
    if floor >= setting.ceiling:
        return
    there = replace(setting, floor=floor)
    close = [w for w in (window.private_from, window.accurate_from, window.end, 0.25) if w and abs(w - floor) < 1e-9]
    if close or not there.is_valid or is_degenerate(floor, setting.ceiling):
        return
    private = window.private_from is not None and floor >= window.private_from
    accurate = window.accurate_from is not None and window.accurate_from <= floor < window.accurate_below
    assert private == privacy_condition(there).holds
    assert accurate == (not missed_accuracy(there))
    assert (private and accurate) == (window.both is not None and window.both[0] <= floor < window.both[1])


def test_the_ideal_cube_has_a_window() -> None:
    window = floor_window(GOOD)
    assert window.both is not None
    low, high = window.both
    assert low == pytest.approx(window.accurate_from)
    assert high == 0.25
    assert missed_accuracy(replace(GOOD, floor=low * 0.999)) == ("rows_lower",)


def test_no_floor_is_promised_beyond_the_largest_that_the_algorithm_takes() -> None:
    for ceiling, end in ((1.1, 0.1), (1.2, 0.2), (1.3, 0.25)):
        window = floor_window(replace(GOOD, log_n=200.0, ceiling=ceiling))
        assert window.both == (window.accurate_from, pytest.approx(end))
        assert (window.accurate_from or 1.0) < end
        assert f"to {end:g} (shaded green)" in window.words(10**5, 10.0)


def test_adult_has_none_and_the_reasons_are_named() -> None:
    window = floor_window(sampling_setting(ADULT, PrivacySpec(1.0), rows=1000))
    assert window.both is None
    assert window.private_from is None
    assert "max_frequency" in window.blocked_by


def test_where_theorem_4_1_alone_makes_it_private_it_says_in_exact_arithmetic() -> None:
    """Ten rows cost far less by the theorem on 10⁹ records than by the ratio; one row at ε = 3 is private by the ratio."""
    whole = {"degree": 1, "whole_domain": True, "reduced_space_size": 16}
    for n, rows, epsilon, exactly in ((10**9, 10, 1.0, True), (1000, 1, 3.0, False)):
        window = floor_window(sampling_setting(replace(ideal_cube(4), n=n), PrivacySpec(epsilon), rows=rows, **whole))
        assert window.exactly is exactly
        assert window.private_from is not None
        assert (" private, in exact arithmetic, from floor" in window.words(rows, epsilon)) is exactly


@pytest.mark.parametrize("epsilon", [2.5, 2.7, 3.0, 4.0, 5.5])
def test_the_floor_that_is_written_is_private_too(epsilon: float) -> None:
    """One row at ε = 3 needs 2·exp(-3) = 0.0995741: at 0.09957 it would cost 3.00004."""
    setting = sampling_setting(replace(ideal_cube(8), n=2000), PrivacySpec(epsilon), rows=1)
    found = re.search(r"private from floor = ([\d.]+) on", floor_window(setting).words(1, epsilon))
    assert found is not None
    assert 0 <= epsilon - math.log(2 / float(found[1])) < 0.001


def test_an_epsilon_that_allows_any_floor_is_survived() -> None:
    window = floor_window(sampling_setting(replace(ideal_cube(1), n=10), PrivacySpec(2079.4), degree=1, rows=1))
    assert window.private_from is not None
    assert 0 < window.private_from < 1e-300
    assert "1 row is private from floor = 2." in window.words(1, 2079.4)


def test_the_window_that_is_written_lies_in_the_window() -> None:
    for log_n in (200.0, 201.0, 203.0):
        for ceiling in (1.12345678, 1.2, 1.3):
            window = floor_window(replace(GOOD, log_n=log_n, ceiling=ceiling))
            assert window.both is not None
            low, high = map(float, re.search(r"floor = (\S+) to (\S+) \(", window.words(10**5, 10.0)).groups())
            assert window.both[0] <= low * (1 + 1e-6)
            assert high <= window.both[1] * (1 + 1e-6)


def test_more_epsilon_widens_it() -> None:
    narrow = floor_window(sampling_setting(ADULT, PrivacySpec(2.0)))
    wide = floor_window(sampling_setting(ADULT, PrivacySpec(3.0)))
    assert narrow.private_from == pytest.approx(2 * math.exp(-2))
    assert wide.private_from == pytest.approx(2 * math.exp(-3))


def test_a_low_ceiling_leaves_no_floor() -> None:
    window = floor_window(replace(GOOD, ceiling=1.0))
    assert (window.both, window.blocked_by) == (None, ("box",))
    assert window.end <= 0


@pytest.mark.parametrize(("floor", "ceiling"), [(0.5, 1.25), (0.5, 2.0), (0.25, 1.1), (0.1, 3.0), (0.4, 1.2)])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 3.0])
def test_what_a_row_needs_lies_on_the_side_that_is_said(floor: float, ceiling: float, epsilon: float) -> None:
    found = privacy_condition(replace(GOOD, floor=floor, ceiling=ceiling, epsilon=epsilon, log_n=math.log(1000)))
    assert found.holds is ((floor, ceiling) == (0.5, 2.0))
    for one in found.remedies:
        if not found.holds and one.log_value is not None:
            ahead = one.log_value - one.log_current
            assert ahead > 0 if one.side == "at_least" else ahead < 0, one
