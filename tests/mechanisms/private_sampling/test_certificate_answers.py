"""Certificates side by side: which is smallest, where they cross, the two inverse questions."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.private_sampling.answers import (
    CERTIFICATES,
    NAMES,
    PROVEN,
    Crossing,
    certificate_answers,
    crossings,
    log_epsilon,
    sampling_inverses,
    smallest,
)
from dpsyn.mechanisms.private_sampling.bounds import PrivateSamplingSetting, sampling_setting
from dpsyn.mechanisms.private_sampling.panels.feasibility import answers_table
from dpsyn.mechanisms.private_sampling.theorems import private_sampling_verdict
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.datasets import ASIA, ideal_cube
from dpsyn.theory.logarithms import at_most

ON_THE_CUBE = sampling_setting(ASIA, PrivacySpec(1.0), reduced_space_size=256)
FAR = 300 * math.log(10)

SETTINGS = st.builds(
    lambda p, log_n, log_epsilon, floor, over, rows, log_m: PrivateSamplingSetting(
        p=p,
        log_n=log_n,
        log_max_frequency=-1.0,
        epsilon=math.exp(log_epsilon),
        degree=min(2, p),
        floor=floor,
        ceiling=1 + floor + over,
        log_rows=math.log(rows),
        log_m=log_m,
    ),
    st.sampled_from([2, 8, 16, 17, 62, 10**4]),
    st.floats(1, math.log(1e30)),
    st.floats(math.log(1e-3), math.log(1e3)),
    st.floats(0.001, 0.49),
    st.floats(0.01, 50),
    st.integers(1, 10**6),
    st.one_of(st.none(), st.floats(0, 80)),
)


def between(setting: PrivateSamplingSetting, vary: str, high: float, pair: tuple[str, str] = PROVEN) -> list[Crossing]:
    """The crossings from 1 on of two certificates."""
    return [c for c in crossings(setting, vary, 0, high) if {c.first, c.second} == set(pair)]  # type: ignore[arg-type]


def test_the_ratio_is_smaller_for_asia_below_7e8_rows() -> None:
    found = between(ON_THE_CUBE, "n", FAR)
    assert [(c.first, c.second) for c in found] == [("bounded_ratio", "theorem_4_1")]
    assert math.exp(found[0].log_value) == pytest.approx(6.98e8, rel=1e-3)
    assert math.exp(found[0].log_epsilon) == pytest.approx(math.log(8))
    assert smallest(ON_THE_CUBE) == "bounded_ratio"
    assert smallest(replace(ON_THE_CUBE, log_n=math.log(6.99e8))) == "theorem_4_1"


def test_the_experimental_bound_crosses_and_is_never_the_certificate() -> None:
    found = between(ON_THE_CUBE, "n", FAR, ("bounded_ratio", "stability"))
    assert len(found) == 1
    assert 20_000 < math.exp(found[0].log_value) < 10**6
    beyond = replace(ON_THE_CUBE, log_n=math.log(1e8))
    costs = {c: log_epsilon(beyond, c) for c in CERTIFICATES}
    assert min(costs, key=costs.__getitem__) == "stability"
    answers = {a.certificate: a for a in certificate_answers(beyond)}
    assert not answers["stability"].claimed
    assert answers["bounded_ratio"].claimed
    assert math.exp(costs["stability"]) == pytest.approx(0.257, rel=2e-3)


@given(SETTINGS)
def test_crossing_in_n_and_m_by_hand(setting: PrivateSamplingSetting) -> None:
    gap = log_epsilon(setting, "theorem_4_1") - log_epsilon(setting, "bounded_ratio")
    at_n = setting.log_n + 2 * gap
    found = between(setting, "n", FAR)
    if 0 < at_n < FAR:
        assert [c.log_value for c in found] == [pytest.approx(at_n, abs=1e-9)]
    else:
        assert found == []
    at_m = setting.logs.m - gap / 0.75
    found = between(setting, "reduced_space_size", FAR)
    if 0 < at_m < FAR:
        assert [c.log_value for c in found] == [pytest.approx(at_m, abs=1e-9)]
    assert between(setting, "rows", 30) == []


@settings(max_examples=30)
@given(SETTINGS, st.sampled_from(["floor", "ceiling"]))
def test_sides_of_every_crossing_in_the_box(setting: PrivateSamplingSetting, vary: str) -> None:
    ends = (math.log(1e-4), math.log(0.49999)) if vary == "floor" else (math.log(1 + setting.floor) + 1e-9, 12.0)
    found = crossings(setting, vary, *ends)  # type: ignore[arg-type]
    assert len([c for c in found if {c.first, c.second} == set(PROVEN)]) <= 1
    for c in found:
        there = setting.changed(vary, c.log_value)
        # Near the end of the box the stability bound is so steep that 1e-13 in the root is 1e-9 in ln ε.
        assert log_epsilon(there, c.first) == pytest.approx(log_epsilon(there, c.second), abs=1e-6)
        assert log_epsilon(there, c.first) == pytest.approx(c.log_epsilon, abs=1e-6)
        before, after = (setting.changed(vary, c.log_value + step) for step in (-1e-5, 1e-5))
        assert log_epsilon(before, c.first) <= log_epsilon(before, c.second)
        assert log_epsilon(after, c.second) <= log_epsilon(after, c.first)


@settings(max_examples=50)
@given(SETTINGS)
def test_answers_are_those_of_the_verdict(setting: PrivateSamplingSetting) -> None:
    answers = {a.certificate: a for a in certificate_answers(setting)}
    verdict = private_sampling_verdict(setting)
    assert sum(a.claimed for a in answers.values()) == 1
    for key, answer in answers.items():
        if not answer.applies:
            assert answer.reason
            continue
        assert verdict.facts[f"largest_rows_{key}"] == pytest.approx(answer.largest_rows)
        assert answer.smallest_epsilon == pytest.approx(verdict.facts[f"epsilon_{key}"])
    best = next(a for a in answers.values() if a.claimed)
    assert best.smallest_epsilon == pytest.approx(verdict.facts["epsilon_certified"])
    cheapest = log_epsilon(setting, smallest(setting))
    assert at_most(cheapest, math.log(setting.epsilon)) == verdict["rows_upper"].holds


@settings(max_examples=50)
@given(SETTINGS)
def test_the_largest_number_of_rows_is_allowed_and_one_more_is_not(setting: PrivateSamplingSetting) -> None:
    for answer in certificate_answers(setting):
        if not answer.applies:
            continue
        one = log_epsilon(replace(setting, log_rows=0.0), answer.certificate)
        if answer.log_largest_rows > -math.inf:
            assert one + answer.log_largest_rows <= math.log(setting.epsilon) + 1e-12
            assert answer.largest_rows > 10**15 or answer.log_largest_rows == math.log(answer.largest_rows)
        if answer.largest_rows < 10**6:
            assert one + math.log(answer.largest_rows + 1) > math.log(setting.epsilon)


def test_the_largest_number_of_rows_by_hand() -> None:
    """ε/ln(Δ/δ) = 9.6/ln 8 = 4.6; by Theorem 4.1 not even one."""
    answers = certificate_answers(sampling_setting(ASIA, PrivacySpec(9.6)))
    assert [a.largest_rows for a in answers[:2]] == [0, 4]
    assert answers[1].log_largest_rows == math.log(4)


@given(SETTINGS, st.floats(1.01, 1e6))
def test_costs_fall_with_n_and_grow_with_k_and_m(setting: PrivateSamplingSetting, factor: float) -> None:
    for certificate in CERTIFICATES:
        now = log_epsilon(setting, certificate)
        assert log_epsilon(replace(setting, log_n=setting.log_n + math.log(factor)), certificate) <= now + 1e-9
        assert log_epsilon(replace(setting, log_rows=setting.log_rows + math.log(factor)), certificate) >= now
        more = replace(setting, log_m=setting.logs.m + math.log(factor))
        assert log_epsilon(more, certificate) >= now - 1e-9


def test_what_does_not_apply_says_why() -> None:
    answers = certificate_answers(sampling_setting(ASIA, PrivacySpec(3.0, neighbouring="add_remove")))
    assert [(a.applies, a.claimed) for a in answers] == [(False, False), (True, True), (False, False)]
    assert "replacing one record" in answers[0].reason
    broken = certificate_answers(sampling_setting(ASIA, PrivacySpec(3.0), floor=0.6))
    assert not any(a.applies or a.claimed for a in broken)
    assert all(a.largest_rows == 0 and a.smallest_epsilon == math.inf for a in broken)
    wide = DatasetStatistics(p=17, n=100, max_frequency=0.1)
    assert "p <= 16" in certificate_answers(sampling_setting(wide, PrivacySpec(1.0)))[2].reason
    thirds = certificate_answers(sampling_setting(replace(wide, p=6, sizes=(3, 3)), PrivacySpec(1.0)))
    assert [(a.applies, a.claimed) for a in thirds] == [(False, False), (True, True), (False, False)]
    assert "the Boolean cube" in thirds[0].reason
    assert "the whole cube" in thirds[2].reason


def test_the_degenerate_end_costs_nothing() -> None:
    setting = sampling_setting(ASIA, PrivacySpec(1.0), floor=0.5)
    ratio = certificate_answers(setting)[1]
    assert (ratio.smallest_epsilon, ratio.largest_rows, ratio.claimed) == (0.0, math.inf, True)


@pytest.mark.parametrize(("field", "value"), [("rows", 0), ("reduced_space_size", 0), ("degree", 9), ("floor", 0.0)])
def test_meaningless_values_name_their_field(field: str, value: float) -> None:
    with pytest.raises(ParameterError) as caught:
        sampling_setting(ASIA, PrivacySpec(1.0), **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_the_page_rounds_an_epsilon_that_is_enough_upwards() -> None:
    thousand = replace(sampling_setting(ideal_cube(8), PrivacySpec(1.0), rows=1000), floor=0.25, ceiling=2.0)
    answers = certificate_answers(thousand)
    shown = answers_table(answers).set_index("Certificate")["Smallest ε for k"]
    (ratio,) = (a for a in answers if a.certificate == "bounded_ratio")
    assert ratio.smallest_epsilon == pytest.approx(1000 * math.log(8))
    assert shown[NAMES["bounded_ratio"]] == "2,080"


@pytest.mark.parametrize(("p", "gamma", "promises"), [(2, 0.12, True), (2, 0.2, False), (40, 0.2, True), (40, 0.26, False)])
def test_no_failure_probability_is_named_at_which_nothing_is_promised(p: int, gamma: float, promises: bool) -> None:
    """The rows are those that γ needs. From 1/8 on, of two bits, the theorem's probability 1 - 4γ - 1/√2^p is none."""
    rows = 64 * math.log(2 * sum(math.comb(p, j) for j in range(3)) / gamma)
    found = sampling_inverses(replace(ON_THE_CUBE, p=p, log_rows=math.log(rows), failure_probability=0.01))
    entry = next(e for e in found if (e.condition, e.parameter) == ("rows_lower", "failure_probability"))
    assert (1 - 4 * gamma - 2 ** (-p / 2) > 0) == promises
    if promises:
        assert entry.value == pytest.approx(gamma)
    else:
        assert (entry.status, entry.value) == ("none", None)
        assert entry.reason == f"at {(1 - 2 ** (-p / 2)) / 4:.4g} and above Theorem 4.2 promises nothing"
