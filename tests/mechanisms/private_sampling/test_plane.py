"""Columns of the (p, n) plane against the conditions themselves."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.bounds import ACCURACY, PrivateSamplingSetting, missed_accuracy, sampling_setting
from dpsyn.mechanisms.private_sampling.figures.plane import REGIONS, at_p, column, columns
from dpsyn.mechanisms.private_sampling.theorems import bounded_ratio, theorem_4_1
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.datasets import ADULT, BUILT_IN, ideal_cube

GOOD = sampling_setting(ideal_cube(200), PrivacySpec(10.0), floor=0.1, rows=10**5)
SETTINGS = st.builds(
    lambda log_n, share, order, floor, ceiling, rows, log_m, gamma: PrivateSamplingSetting(
        p=60,
        log_n=log_n,
        log_max_frequency=-share * log_n,
        epsilon=10**order,
        floor=floor,
        ceiling=ceiling,
        failure_probability=gamma,
        log_rows=math.log(rows),
        log_m=log_m,
    ),
    st.floats(1, 69),
    st.floats(0, 1),
    st.floats(-3, 3),
    st.sampled_from([0.05, 0.2, 0.25, 0.5, 0.6]),
    st.sampled_from([1.25, 2.0, 1e6]),
    st.sampled_from([1, 1000, 10**6, 10**9]),
    st.one_of(st.none(), st.floats(0, 60)),
    st.sampled_from([0.01, 0.125, 0.25]),
)


@given(SETTINGS)
def test_quick_answer_is_that_of_the_conditions(setting: PrivateSamplingSetting) -> None:
    slow = {b.key for b in ACCURACY if not b.condition(setting).holds}
    assert set(missed_accuracy(setting)) - {"box"} == slow
    assert ("box" in missed_accuracy(setting)) == (not setting.is_valid)


@given(SETTINGS, st.sampled_from([2, 10, 60, 130, 200, 10**4]), st.floats(0, 69), st.sampled_from(["data", "ideal"]))
def test_thresholds_say_what_the_conditions_say(setting: PrivateSamplingSetting, p: int, log_n: float, spread: str) -> None:
    one = column(setting, p, spread)  # type: ignore[arg-type]
    if min(abs(log_n - one.log_accurate_n), abs(log_n - one.log_private_n)) < 1e-6:
        return
    there = at_p(setting, p, spread, log_n=log_n)  # type: ignore[arg-type]
    accurate, private = not missed_accuracy(there), setting.is_valid and theorem_4_1(there).holds
    assert (log_n >= one.log_accurate_n) == accurate
    assert (log_n >= one.log_private_n) == private
    assert one.ratio == (setting.is_valid and bounded_ratio(there).holds)
    region = one.region(log_n)
    assert region.startswith("accurate") == accurate
    assert ("private by Theorem 4.1" in region) == private
    assert (region == "neither") == (not accurate and not private and not one.ratio)


def test_the_ideal_cube_becomes_accurate_where_the_window_opens() -> None:
    cut = columns(GOOD, range(2, 400, 60), "ideal")
    able = [c.p for c in cut if not c.missing]
    first = min(able)
    assert first - 1 in [c.p for c in cut]
    assert missed_accuracy(at_p(GOOD, first - 1, "ideal", log_n=200.0)) == ("m_upper",)
    assert 4 * math.log(math.exp(GOOD.logs.smallest_m)) / math.log(2) == pytest.approx(first, rel=0.05)
    assert column(GOOD, first, "ideal").log_accurate_n == pytest.approx((first - 1) * math.log(2))


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_paper_is_right_that_its_datasets_are_nowhere_near(name: str) -> None:
    stats = BUILT_IN[name]
    setting = sampling_setting(stats, PrivacySpec(1.0), floor=0.2, rows=1000)
    here = column(setting, stats.p)
    assert here.region(math.log(stats.n)) == "neither"
    assert "max_frequency" in here.missing
    assert here.log_private_n > math.log(stats.n)


def test_more_epsilon_and_fewer_rows_need_less_data() -> None:
    now = column(GOOD, 150)
    assert column(replace(GOOD, epsilon=20.0), 150).log_private_n < now.log_private_n
    assert column(replace(GOOD, log_rows=1.0), 150).log_private_n < now.log_private_n
    assert column(replace(GOOD, replace_one=False), 150).log_private_n == math.inf


def test_ends_of_the_range() -> None:
    for epsilon in (1e-3, 1e3):
        setting = sampling_setting(ADULT, PrivacySpec(epsilon), rows=10**6)
        for p in (2, 10**4):
            found = column(setting, p)
            assert math.isfinite(found.log_private_n)
            assert found.region(math.log(1e30)) in REGIONS


def test_an_unknown_spread_names_its_field() -> None:
    with pytest.raises(ParameterError, match="spread"):
        column(GOOD, 10, "uniform")  # type: ignore[arg-type]
