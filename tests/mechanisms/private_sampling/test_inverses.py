"""The table of inverse questions against brute force: every entry is tried out."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsyn.mechanisms.private_sampling import theorems as private_sampling
from dpsyn.mechanisms.private_sampling.answers import SAMPLING_PARAMETERS, Inverse, inverse_frame, sampling_inverses
from dpsyn.mechanisms.private_sampling.bounds import PrivateSamplingSetting, sampling_setting
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.theory.conditions import Condition
from dpsyn.theory.datasets import ASIA

LN2 = math.log(2)
DEFAULT = sampling_setting(ASIA, PrivacySpec(1.0), rows=1000)

SAMPLING = st.builds(
    lambda p, log_n, share, log_epsilon, floor, over, gamma, rows, log_m, replace_one: PrivateSamplingSetting(
        p=p,
        log_n=log_n,
        log_max_frequency=-share * min(log_n, p * LN2),
        epsilon=math.exp(log_epsilon),
        degree=min(2, p),
        floor=floor,
        ceiling=1 + floor + over,
        failure_probability=gamma,
        log_rows=math.log(rows),
        log_m=log_m,
        replace_one=replace_one,
    ),
    st.sampled_from([2, 3, 8, 62, 130, 10**4]),
    st.floats(1, math.log(1e30)),
    st.floats(0, 1),
    st.floats(math.log(1e-3), math.log(1e3)),
    st.sampled_from([0.001, 0.1, 0.25, 0.3, 0.5]),
    st.sampled_from([0.0, 0.1, 1.0, 50.0]),
    st.floats(1e-6, 0.9),
    st.integers(1, 10**7),
    st.one_of(st.none(), st.floats(0, 80)),
    st.booleans(),
)


def sampling_conditions(setting: PrivateSamplingSetting) -> dict[str, Condition]:
    found = (*private_sampling.conditions(setting), *(f(setting) for f in (_theorem, _ratio)))
    return {c.key: c for c in found}


_theorem, _ratio = private_sampling.theorem_4_1, private_sampling.bounded_ratio


def allowed_values(setting: PrivateSamplingSetting, parameter: str) -> list[float]:
    """Logarithms of values that the parameter may have."""
    room = min(0.5, setting.ceiling - 1)
    ends = {
        "epsilon": (-12.0, 12.0),
        "rows": (0.0, 40.0),
        "n": (0.0, 90.0),
        "max_frequency": (max(-setting.log_n, -setting.p * LN2), 0.0),
        "floor": (math.log(1e-4), math.log(room) - 1e-9),
        "ceiling": (math.log(1 + setting.floor) + 1e-9, 20.0),
        "reduced_space_size": (0.0, 90.0),
        "failure_probability": (-20.0, math.log(0.25 * (1 - 2 ** (-setting.p / 2))) - 1e-9),
    }
    if parameter == "p":
        fewest = max(setting.degree, math.ceil(-setting.log_max_frequency / LN2))
        return [math.log(p) for p in (fewest, 10, 100, 1000) if p >= fewest]
    low, high = ends[parameter]
    return [float(x) for x in np.linspace(low, high, 5)]


@settings(max_examples=20)
@given(SAMPLING)
def test_every_entry_for_private_sampling_is_true(setting: PrivateSamplingSetting) -> None:
    table = sampling_inverses(setting)
    now = sampling_conditions(setting)
    assert len(table) == len(now) * len(SAMPLING_PARAMETERS)
    changed = {
        parameter: [sampling_conditions(setting.changed(parameter, x)) for x in allowed_values(setting, parameter)]
        for parameter in SAMPLING_PARAMETERS
    }
    for entry in table:
        before = now[entry.condition]
        assert entry.holds == before.holds
        check(entry, before, [there[entry.condition] for there in changed[entry.parameter]])
        check_value(entry, setting)


def check_value(entry: Inverse, setting: PrivateSamplingSetting) -> None:
    """A value that would make a condition true, and is a float's, is one that the algorithm can take, and does."""
    value = None if entry.remedy is None else entry.remedy.log_value
    if not entry.holds and value is not None and abs(value) < 700:
        there = setting.changed(entry.parameter, value)
        assert there.is_valid, (entry.condition, entry.text)
        assert sampling_conditions(there)[entry.condition].holds, (entry.condition, entry.parameter, entry.text)


@pytest.mark.parametrize(
    ("setting", "no_value"),
    [
        (
            PrivateSamplingSetting(8, math.log(5500), math.log(0.3), 1.0, 1, 0.2, 1.3, 0.05),
            ("n", "floor", "no value does: it would be above min(1/2, ceiling - 1) = 0.3"),
        ),
        (
            PrivateSamplingSetting(73, math.log(10**9), math.log(1e-6), 1.0, 1, 0.5, 3.0),
            ("m_upper", "ceiling", "no value does: it would be below 1 + floor = 1.5"),
        ),
    ],
)
def test_no_value_is_named_that_the_algorithm_cannot_take(
    setting: PrivateSamplingSetting, no_value: tuple[str, str, str]
) -> None:
    table = sampling_inverses(setting)
    for entry in table:
        check_value(entry, setting)
    assert no_value in [(entry.condition, entry.parameter, entry.text) for entry in table]


def check(entry: Inverse, before: Condition, tried: list[Condition]) -> None:
    name = (entry.condition, entry.parameter, entry.text)
    if entry.status == "independent":
        assert all(c.slack_orders == before.slack_orders for c in tried), name
    elif entry.status == "any":
        assert before.holds, name
        assert all(c.holds for c in tried), name
    elif entry.status == "none":
        assert entry.reason, name
        assert not any(c.holds for c in tried), name
    elif entry.status == "value":
        assert entry.remedy is not None
        assert entry.value is not None
    else:
        assert entry.reason, name


def test_values_turn_the_conditions() -> None:
    table = {(e.condition, e.parameter): e for e in sampling_inverses(DEFAULT)}
    assert table["n", "n"].value == math.ceil(2048 * math.exp(4) * 37)
    assert table["rows_lower", "rows"].value == 409
    assert table["m_upper", "p"].value == 128
    assert table["m_upper", "reduced_space_size"].value == 4
    assert table["m_lower", "reduced_space_size"].text == "≥ 1.655 × 10⁷"
    assert table["m_lower", "floor"].text == "every value does: m follows it"
    assert table["promise", "floor"].text == "< 0.25"
    assert table["ceiling", "floor"].text == "every value does: the ceiling is at least 2"
    assert table["bounded_ratio", "n"].text == "does not depend on it"
    assert table["rows_upper", "rows"].text == "no value does: it would be below 1"
    assert table["rows_upper", "epsilon"].value == pytest.approx(1000 * math.log(8))
    low = {(e.condition, e.parameter): e for e in sampling_inverses(replace(DEFAULT, ceiling=1.3))}
    assert low["ceiling", "floor"].text == "≤ 0.3"
    few = {(e.condition, e.parameter): e for e in sampling_inverses(replace(DEFAULT, log_rows=0.0, epsilon=3.0))}
    assert few["rows_upper", "n"].text == "every value does: the other certificate is enough"
    assert few["rows_upper", "floor"].value == pytest.approx(2 * math.exp(-3))


@pytest.mark.parametrize(("gamma", "rows"), [(0.01, 1000), (0.125, 1000), (0.125, 40_000), (0.125, 10**6)])
def test_failure_probability_of_rows_by_hand(gamma: float, rows: int) -> None:
    """Of a million rows it is e^-15,620: every γ that a float can hold is larger."""
    setting = replace(DEFAULT, failure_probability=gamma, log_rows=math.log(rows))
    entry = next(
        e for e in sampling_inverses(setting) if (e.condition, e.parameter) == ("rows_lower", "failure_probability")
    )
    least = 2 * 37 * math.exp(-rows * 0.25**2 / 4)
    assert entry.value == (pytest.approx(least) if least else None)
    assert entry.status == ("value" if least else "any")


def test_frame() -> None:
    table = sampling_inverses(DEFAULT)
    frame = inverse_frame(table)
    assert frame.shape == (12, 2 + len(SAMPLING_PARAMETERS))
    assert frame.loc[frame["Condition"] == "n is large enough", "n"].item() == "≥ 4.138 × 10⁶"
    assert table[0].status == "independent"
