"""Numbers as people read them."""

import math

import pytest

from dpsyn.notation import counted, duration, gigabytes, number, percent, readable, short, worded


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1e-5, 6, "10⁻⁵"),
        (1.24e-6, 3, "1.24 × 10⁻⁶"),
        (0.0001, 6, "0.0001"),
        (3.16, 6, "3.16"),
        (999.6, 3, "1,000"),
        (15384.4, 3, "15,384"),
        (20000, 6, "20,000"),
        (999_999.4, 3, "999,999"),
        (1e6, 6, "10⁶"),
        (-1.65e7, 6, "-1.65 × 10⁷"),
        (0.0, 3, "0"),
        (-0.0, 3, "0"),
        (math.inf, 3, "inf"),
    ],
)
def test_short_numbers(value: float, digits: int, text: str) -> None:
    assert short(value, digits) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.476, "48 %"), (0.00724, "0.72 %"), (-0.03, "−3 %"), (-0.0, "0 %"), (1, "100 %")]
)
def test_shares(share: float, text: str) -> None:
    assert percent(share) == text.replace(" ", "\N{NO-BREAK SPACE}")
    assert percent(0.12345, 3) == "12.3\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (5e8, "0.5 GB"),
        (4e9, "4 GB"),
        (99.4e9, "99 GB"),
        (99.6e9, "100 GB"),
        (1.2e12, "1,200 GB"),
        (999_999e9, "1 million GB"),
        (5_653_103e9, "5.7 million GB"),
        (1.2e17, "120 million GB"),
        (3.3e19, "33 billion GB"),
        (999_000_000_000e9, "999 billion GB"),
        (2.1e21, "10¹² GB"),
        (10**400, "10³⁹¹ GB"),
    ],
)
def test_memory_in_words(count: float, text: str) -> None:
    assert gigabytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "about 1 s"),
        (9, "about 9 s"),
        (84, "about 80 s"),
        (100, "about 2 min"),
        (720, "about 12 min"),
        (9e3, "about 2 h"),
    ],
)
def test_time_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(20_000, "20,000"), (10**17, f"{10**17:,}"), pytest.param(3**10_000, "about 10⁴⁷⁷¹", id="huge")]
)
def test_counts_however_large(count: int, text: str) -> None:
    assert counted(count) == text


def test_settings_in_words() -> None:
    settings = [True, None, 20_000, 0.25, 1e-5, math.inf, {"a": 1, "b": [2, "c"]}]
    assert worded(settings) == "yes, —, 20,000, 0.25, 10⁻⁵, ∞, a: 1, b: 2, c"


def test_numbers_in_a_sentence() -> None:
    assert readable("(1, 1e-05) of 20000 rows, 4.138e6 at most.") == "(1, 10⁻⁵) of 20,000 rows, 4.138 × 10⁶ at most."
    assert readable("between -2^53 and 2^-40.") == "between -2⁵³ and 2⁻⁴⁰."
    untouched = "'20000' is not one of \"10000\", x20000, 12345.678, 00012, 2023 or 1,234,567"
    assert readable(untouched) == untouched


def test_numbers_of_few_digits_have_no_exponents():
    assert [number(value, 2) for value in (117.3, 8.04, 999.6, 0.0123)] == ["120", "8", "1,000", "0.012"]
    assert [number(value) for value in (999.96, 117.31)] == ["1,000", "117"]
    assert [number(value) for value in (0.001, 0.0009)] == ["0.001", "9.00 × 10⁻⁴"]
