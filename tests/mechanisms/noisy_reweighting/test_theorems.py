"""Theorems 2.2 and 2.3: golden numbers, the false tail bound, exact sensitivities, inverses."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting.setting import ReweightingSetting, contingency_family, walsh_family
from dpsyn.mechanisms.noisy_reweighting.theorems import changed, conditions, noisy_reweighting_verdict, verdict
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.privacy.zcdp import zcdp_rho
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition, Remedy
from dpsyn.theory.datasets import ADULT, ASIA, BUILT_IN, CAR


def walsh_setting(name: str, degree: int, epsilon: float, **more: object) -> ReweightingSetting:
    stats = BUILT_IN[name]
    return ReweightingSetting(
        family=walsh_family(stats.p, degree), log_n=math.log(stats.n), epsilon=epsilon, accuracy=0.1, **more
    )  # type: ignore[arg-type]


# 8 times the smallest accuracy that Theorems 2.2 and 2.3 allow as published, at γ = 1/8: at ε = 1 and at ε = 10.
SMALLEST_ERROR = [
    ("ASIA", 1, "0.117", "0.117"),
    ("ASIA", 2, "0.168", "0.135"),
    ("CAR", 1, "1.28", "0.445"),
    ("CAR", 2, "23.7", "2.37"),
    ("ADULT", 1, "0.193", "0.111"),
    ("ADULT", 2, "9.27", "0.927"),
    ("MUSHROOM", 1, "1.62", "0.233"),
    ("MUSHROOM", 2, "154", "15.4"),
]


@pytest.mark.parametrize(("name", "degree", "at_one", "at_ten"), SMALLEST_ERROR)
def test_smallest_error_as_published(name: str, degree: int, at_one: str, at_ten: str) -> None:
    for epsilon, text in ((1.0, at_one), (10.0, at_ten)):
        error = 8 * walsh_setting(name, degree, epsilon, corrected=False).smallest_accuracy
        assert f"{error:.3g}" == text


def test_formula_of_the_smallest_accuracy() -> None:
    size, n, epsilon = 37, 20000, 1.0
    tail = math.log(size / 0.125)
    published = walsh_setting("ASIA", 2, epsilon, corrected=False)
    assert published.smallest_accuracy == pytest.approx(max(2 * size * tail / (n * epsilon), math.sqrt(tail / n)))
    corrected = replace(published, corrected=True)
    hoeffding = math.sqrt(2 * math.log(2 * size / 0.125) / n)
    assert corrected.smallest_accuracy == pytest.approx(max(2 * 20 * tail / (n * epsilon), hoeffding))


def test_published_tail_bound_is_false_and_hoeffding_is_not() -> None:
    n, a = 100, 0.2
    tail = 2 * sum(math.comb(n, j) for j in range(n) if 2 * j - n > a * n) / 2**n
    assert tail == pytest.approx(0.0352, abs=1e-4)
    assert math.exp(-a * a * n) == pytest.approx(0.0183, abs=1e-4)
    assert math.exp(-a * a * n) < tail <= 2 * math.exp(-a * a * n / 2)


def test_exact_sensitivity_is_never_above_the_published_one() -> None:
    assert (walsh_family(8, 1).log_l1, walsh_family(8, 2).log_l1) == pytest.approx((math.log(16), math.log(40)))
    assert math.exp(walsh_family(8, 3).log_l1) == pytest.approx(128)
    assert math.exp(walsh_family(8, 2).log_l1_published) == pytest.approx(74)
    for p in (3, 8, 25, 62, 119):
        for degree in (1, 2, 3):
            family = walsh_family(p, degree)
            assert family.log_l1 <= family.log_l1_published
            assert math.exp(2 * family.log_l2) == pytest.approx(2 * math.exp(family.log_l1))


def test_contingency_tables_of_adult_need_27_times_less_than_walsh() -> None:
    tables = contingency_family(ADULT.sizes or (), 2)
    assert math.exp(tables.log_l1) == pytest.approx(2 * 28)
    assert 2 * 752 / math.exp(tables.log_l1) == pytest.approx(27, abs=0.2)
    assert contingency_family((2, 3), 5) == replace(contingency_family((2, 3), 5), size=7)


def test_noise_scales() -> None:
    facts = noisy_reweighting_verdict(walsh_setting("ASIA", 2, 0.5)).facts
    assert facts["sigma"] == pytest.approx(40 / (20000 * 0.5))
    assert facts["sigma_published"] == pytest.approx(74 / (20000 * 0.5))
    gaussian = walsh_setting("ASIA", 2, 0.5, noise="gaussian", delta=1e-6)
    assert noisy_reweighting_verdict(gaussian).facts["sigma"] == pytest.approx(
        2 * math.sqrt(20) / 20000 / math.sqrt(2 * zcdp_rho(0.5, 1e-6))
    )


def test_conditions_by_hand() -> None:
    setting = walsh_setting("ASIA", 2, 1.0, log_condition_number=math.log(50), log_rows=math.log(500), log_m=math.log(1000))
    found = {c.key: c for c in conditions(setting)}
    tail = math.log(37 * 8)
    assert found["n_noise"].required == pytest.approx(40 * tail / 0.1)
    assert found["n_sampling"].required == pytest.approx(200 * math.log(2 * 37 * 8))
    assert found["rows_lower"].required == found["n_sampling"].required
    assert found["m_lower"].required == pytest.approx(100 * 50 * 37 * 8)
    published = {c.key: c for c in conditions(replace(setting, corrected=False))}
    assert published["n_noise"].required == pytest.approx(2 * 37 * tail / 0.1)
    assert published["n_sampling"].required == pytest.approx(100 * tail)


def test_verdict_counts_the_corrected_conditions_and_shows_the_published_ones() -> None:
    verdict = noisy_reweighting_verdict(walsh_setting("ASIA", 2, 1.0, log_rows=math.log(20000)))
    assert verdict.holds
    assert verdict["n_sampling_published"].required < verdict["n_sampling"].required
    assert verdict["n_noise_published"].required > verdict["n_noise"].required
    assert all("published" in c.source for c in verdict.alternatives)


@pytest.mark.parametrize(("gamma", "accuracy", "key"), [(0.25, 0.1, "failure_probability"), (0.1, 0.6, "accuracy")])
def test_the_theorem_has_its_own_limits(gamma: float, accuracy: float, key: str) -> None:
    setting = replace(walsh_setting("ASIA", 2, 1.0), failure_probability=gamma, accuracy=accuracy)
    found = {c.key: c for c in conditions(setting)}
    assert not found[key].holds
    remedy = found[key].remedies[0]
    assert remedy.log_value is not None
    assert {c.key: c for c in conditions(changed(setting, remedy.parameter, remedy.log_value))}[key].holds


def test_a_secret_number_of_rows_is_refused() -> None:
    verdict = noisy_reweighting_verdict(walsh_setting("ASIA", 2, 100.0, n_is_public=False, log_rows=math.log(1e6)))
    assert [c.key for c in verdict.missed] == ["public_n"]
    assert not verdict["public_n"].holds


SETTINGS = st.builds(
    lambda p, degree, log_n, log_epsilon, accuracy, gamma, log_rows, log_m, log_k, noise, corrected: ReweightingSetting(
        family=walsh_family(p, min(degree, p)),
        log_n=log_n,
        epsilon=math.exp(log_epsilon),
        accuracy=accuracy,
        failure_probability=gamma,
        delta=1e-6,
        log_rows=math.log(log_rows),
        log_m=log_m,
        log_condition_number=log_k,
        noise=noise,
        corrected=corrected or noise == "gaussian",
    ),
    st.integers(1, 300),
    st.integers(1, 3),
    st.floats(1, 60),
    st.floats(-5, 5),
    st.floats(1e-3, 0.5),
    st.floats(1e-6, 0.24),
    st.integers(1, 10**7),
    st.one_of(st.none(), st.floats(0, 60)),
    st.floats(0, 60),
    st.just("laplace"),
    st.booleans(),
)
GAUSSIAN = st.builds(
    lambda p, log_n, log_epsilon, accuracy: ReweightingSetting(
        family=walsh_family(p, 2),
        log_n=log_n,
        epsilon=math.exp(log_epsilon),
        accuracy=accuracy,
        delta=1e-6,
        noise="gaussian",
    ),
    st.integers(2, 300),
    st.floats(1, 60),
    st.floats(-5, 5),
    st.floats(1e-3, 0.5),
)


def by_key(setting: ReweightingSetting) -> dict[str, Condition]:
    return {c.key: c for c in conditions(setting)}


@settings(max_examples=50)
@given(SETTINGS)
def test_every_inverse_makes_it_true_and_one_percent_less_does_not(setting: ReweightingSetting) -> None:
    check_inverses(setting)


@settings(max_examples=10)
@given(GAUSSIAN)
def test_inverses_with_gaussian_noise(setting: ReweightingSetting) -> None:
    check_inverses(setting)


def check_inverses(setting: ReweightingSetting) -> None:
    for key, found in by_key(setting).items():
        for remedy in found.remedies:
            if remedy.log_value is None:
                assert remedy.reason
                continue
            if remedy.value == 10**7 and remedy.parameter == "p":
                continue
            assert by_key(changed(setting, remedy.parameter, remedy.log_value))[key].holds, (key, str(remedy))
            sign = -1 if remedy.side == "at_least" else 1
            beyond = remedy.log_value + sign * 0.01
            if remedy.integer and remedy.log_value < math.log(1e6):
                value = round(math.exp(remedy.log_value)) + sign
                if value < (setting.family.degree if remedy.parameter == "p" else 1):
                    continue
                beyond = math.log(value)
            if remedy.parameter == "failure_probability" and math.exp(beyond) >= 1:
                continue
            assert not by_key(changed(setting, remedy.parameter, beyond))[key].holds, (key, str(remedy))


@pytest.mark.parametrize("condition_number", [None, 300.0])
@pytest.mark.parametrize("m", [10**4, 10**6, 10**8])
def test_columns_that_are_few_enough_are_so_for_data_that_have_as_many(m: int, condition_number: float | None) -> None:
    def at(p: int) -> dict[str, Condition]:
        found = verdict(
            DatasetStatistics(p=p, n=186_339_210, max_frequency=2**-12),
            PrivacySpec(16.6, 1e-3),
            degree=1,
            rows=5000,
            failure_probability=0.1,
            accuracy=0.1,
            reduced_space_size=m,
            condition_number=condition_number,
        )
        return {condition.key: condition for condition in found.conditions}

    enough: dict[str, set[float | None]] = {}
    for p in range(12, 32):
        found = at(p)
        for key, condition in found.items():
            remedy = condition.remedy("p")
            if remedy is not None:
                enough.setdefault(key, set()).add(remedy.value)
                assert condition.holds == (remedy.value is not None and p <= remedy.value)
    assert set(enough) == {"n_noise", "n_sampling", "rows_lower", "m_lower"}
    assert all(len(values) == 1 for values in enough.values())
    if m == 10**6 and condition_number is None:  # 100·2^(p - 12)·(1 + p)/0.1
        assert enough["m_lower"] == {17}


EXTREMES = [
    {},
    {"accuracy": 0.5, "failure_probability": 0.2, "log_rows": math.log(10**6)},
    {"accuracy": 1e-3, "epsilon": 0.01, "log_m": 0.0},
    {"accuracy": 0.02, "epsilon": 1e4, "failure_probability": 1e-300, "log_m": math.log(10**12), "log_rows": 0.0},
    {"accuracy": 0.7, "failure_probability": 0.3, "log_n": 0.0, "log_m": math.log(50), "log_condition_number": 30.0},
    {"log_n": 80.0, "log_rows": 80.0, "epsilon": 1e-4, "accuracy": 0.3},
]


@pytest.mark.parametrize("change", EXTREMES, ids=range(len(EXTREMES)))
@pytest.mark.parametrize(
    ("name", "noise", "corrected"),
    [
        *((name, "laplace", corrected) for name in ("ASIA", "ADULT") for corrected in (True, False)),
        ("CAR", "gaussian", True),
    ],
)
def test_every_remedy_by_brute_force(name: str, noise: str, corrected: bool, change: dict[str, float]) -> None:
    """At the threshold and on its side the condition holds, before it does not; where there is none, no value does."""
    stats = BUILT_IN[name]
    for family in (walsh_family(stats.p, 2), contingency_family(stats.sizes or (), 2)):
        setting = ReweightingSetting(
            **{"family": family, "log_n": math.log(stats.n), "epsilon": 1.0, "accuracy": 0.1, "log_rows": 5.0, **change},
            delta=1e-6 if noise == "gaussian" else 0.0,
            noise=noise,
            corrected=corrected,
        )  # type: ignore[arg-type]
        for key, found in by_key(setting).items():
            assert len({remedy.parameter for remedy in found.remedies}) == len(found.remedies)
            for remedy in found.remedies:
                try_out(setting, key, remedy)


def try_out(setting: ReweightingSetting, key: str, remedy: Remedy) -> None:
    def holds(log_value: float) -> bool:
        return by_key(changed(setting, remedy.parameter, log_value))[key].holds

    up = 1 if remedy.side == "at_least" else -1
    if remedy.log_value is None:
        assert remedy.reason
        if remedy.parameter == "p":
            assert not holds(math.log(setting.family.degree))
            return
        # Up to where the theorem, or the arithmetic, ends.
        end = {"accuracy": math.log(0.5), "failure_probability": math.log(0.25) - 1e-12}.get(remedy.parameter, 700.0)
        assert not any(holds(end - up * step) for step in (0.0, 0.1, 1.0, 10.0, 100.0, 600.0)), (key, str(remedy))
        return
    if remedy.parameter == "p":
        value = round(math.exp(remedy.log_value))
        assert value == 10**7 or [holds(math.log(p)) for p in (value, value + 1)] == [True, False], (key, str(remedy))
        tried = range(setting.family.degree, 300, 37)
        assert all(holds(math.log(p)) == (p <= value) for p in tried), (key, str(remedy))
        return
    within = {"failure_probability": -1e-9, "accuracy": 700.0, "epsilon": 700.0}.get(remedy.parameter, 2e3)
    for step in (0.0, 1e-9, 1e-3, 1.0, 50.0, 600.0):
        assert holds(max(min(remedy.log_value + up * step, within), -700.0)), (key, str(remedy), step)
    nearest = [1e-6, 1e-3, 1.0, 50.0]
    if remedy.integer and remedy.log_value < math.log(1e6):
        value = round(math.exp(remedy.log_value))
        nearest = [math.log(value / (value - up))] if value > 1 else []
    for step in nearest:
        before = remedy.log_value - up * abs(step)
        if before < within and before > -700.0:
            assert not holds(before), (key, str(remedy), step)


@given(SETTINGS, st.floats(1.01, 1e3))
def test_more_rows_and_more_epsilon_never_hurt(setting: ReweightingSetting, factor: float) -> None:
    before = by_key(setting)
    for better in (
        replace(setting, epsilon=setting.epsilon * factor),
        replace(setting, log_n=setting.log_n + math.log(factor)),
        replace(setting, log_rows=setting.log_rows + math.log(factor)),
    ):
        for key, after in by_key(better).items():
            assert after.slack_orders >= before[key].slack_orders - 1e-9
        assert better.smallest_accuracy <= setting.smallest_accuracy * (1 + 1e-9)


@pytest.mark.parametrize(
    ("field", "value"),
    [("epsilon", 0.0), ("epsilon", math.inf), ("accuracy", 0.0), ("failure_probability", 1.0), ("noise", "uniform")],
)
def test_meaningless_values_name_their_field(field: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        replace(walsh_setting("CAR", 2, 1.0), **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_gaussian_noise_needs_delta() -> None:
    with pytest.raises(ParameterError, match="delta"):
        walsh_setting("ASIA", 2, 1.0, noise="gaussian")


def test_datasets_carry_the_sizes_that_families_need() -> None:
    assert contingency_family(CAR.sizes or (), 2).size == 267 + 1
    assert contingency_family(ASIA.sizes or (), 1).size == 17


@pytest.mark.parametrize(("gamma", "number"), [(0.24, "± 0."), (0.25, "no promise"), (0.3, "no promise")])
def test_no_error_is_named_where_the_failure_probability_is_none_of_the_theorems(gamma: float, number: str) -> None:
    """At α = 1/2 nothing is promised, and the smallest error that could be is named: not from γ = 1/4 on."""
    setting = replace(walsh_setting("ASIA", 2, 10.0, log_rows=math.log(20000)), accuracy=0.5, failure_probability=gamma)
    headline = noisy_reweighting_verdict(setting).headline
    assert headline.number.startswith(number)
    assert ("A theorem would promise" in headline.sentence) == (gamma < 0.25)
