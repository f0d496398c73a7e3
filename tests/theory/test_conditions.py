"""Conditions as plain data: rounding, slack, text."""

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsyn.errors import ParameterError
from dpsyn.statistics import DatasetStatistics
from dpsyn.theory.conditions import Condition, Remedy, Verdict, easier
from dpsyn.theory.logarithms import LN10, Side, at_most, exp_of, format_log, log_of
from dpsyn.theory.thresholds import (
    contradictions,
    fewest_bits,
    p_threshold,
    single_change,
    summarise,
    whole,
    whole_threshold,
)


def condition(actual: float, required: float, relation: str = "<=", **more: object) -> Condition:
    return Condition("c", "Label", "a", "Theorem", relation, log_of(required), log_of(actual), **more)  # type: ignore[arg-type]


PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read_number(text: str) -> float:
    """Natural logarithm of a number as it is shown: 1.65 × 10⁷."""
    mantissa, _, exponent = text.partition(" × 10")
    return math.log(float(mantissa.replace(",", ""))) + int(exponent.translate(PLAIN) or 0) * math.log(10)


def test_holds_and_slack_have_the_same_sign() -> None:
    assert condition(1, 100).holds
    assert condition(1, 100).slack_orders == pytest.approx(2)
    assert not condition(1, 100, ">=").holds
    assert condition(1, 100, ">=").slack_orders == pytest.approx(-2)


def test_equality_holds_unless_strict() -> None:
    assert condition(2.0**32, 2 ** (128 / 4)).holds
    assert not condition(0.25, 0.25, strict=True).holds
    assert condition(0.2499, 0.25, strict=True).holds


def test_zero_and_infinity() -> None:
    assert not condition(0, 0, ">=", strict=True).holds
    assert condition(1e-300, 0, ">=", strict=True).holds
    far = Condition("c", "Label", "a", "T", "<=", -7000.0, 3000.0)
    assert (far.required, far.actual) == (0.0, math.inf)
    assert far.slack_orders == pytest.approx(-10000 / math.log(10))
    text = json.dumps(far.to_dict(), allow_nan=False)
    assert json.loads(text)["actual"] is None
    assert json.loads(text)["log10_actual"] == pytest.approx(3000 / math.log(10))


@example(math.log(1234.4), 3)
@example(math.log(1234.6), 3)
@given(st.floats(-2000, 2000), st.sampled_from([2, 3, 4]))
def test_shown_numbers_are_close_and_on_the_safe_side(log_value: float, digits: int) -> None:
    for side in (None, "at_least", "at_most"):
        text = format_log(log_value, digits, side)  # type: ignore[arg-type]
        shown = read_number(text)
        assert shown == pytest.approx(log_value, abs=10.0 ** (1 - digits))
        if side == "at_least":
            assert shown >= log_value - 1e-5
        if side == "at_most":
            assert shown <= log_value + 1e-5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (20000, "20,000"),
        (15384.4, "15,384"),
        (2.2866e10, "2.29 × 10¹⁰"),
        (1.077e-49, "1.08 × 10⁻⁴⁹"),
        (0, "0"),
        (math.inf, "∞"),
        (9.999e9, "1.00 × 10¹⁰"),
    ],
)
def test_numbers_in_words(value: float, text: str) -> None:
    assert format_log(math.inf if value == math.inf else log_of(value)) == text


@pytest.mark.parametrize(("value", "above", "below"), [(12345.4, "12,346", "12,345"), (12.346, "12.35", "12.34")])
def test_a_number_on_a_side_stays_there_with_its_last_digit(value: float, above: str, below: str) -> None:
    assert (format_log(math.log(value), 4, "at_least"), format_log(math.log(value), 4, "at_most")) == (above, below)


@given(st.floats(-5, 13.8))
def test_whole_numbers_next_to_a_bound(log_bound: float) -> None:
    up, down = whole(log_bound, "at_least"), whole(log_bound, "at_most")
    assert up is not None
    n = round(math.exp(up))
    assert at_most(log_bound, math.log(n))
    assert n == 1 or math.log(n - 1) < log_bound
    if down is None:
        assert log_bound < 0
    else:
        k = round(math.exp(down))
        assert at_most(math.log(k), log_bound)
        assert math.log(k + 1) > log_bound


def test_products_of_whole_numbers_are_bounds_that_are_met_exactly() -> None:
    """Sums of logarithms are off in their last digits."""
    for a in (2, 3, 7, 11, 19, 38, 97, 850):
        for b in range(2, 1000):
            bound, n = math.log(a) + math.log(b), a * b
            assert whole(bound, "at_least") == whole(bound, "at_most") == math.log(n), (a, b)
            assert whole(bound + 1e-12, "at_least") == math.log(n + 1), (a, b)
            assert whole(bound - 1e-12, "at_most") == math.log(n - 1), (a, b)


@given(st.floats(13.9, 5000))
def test_large_bounds_are_rounded_to_the_safe_side(log_bound: float) -> None:
    up, down = whole(log_bound, "at_least"), whole(log_bound, "at_most")
    assert up is not None
    assert down is not None
    assert down < log_bound < up
    assert up - down < max(1e-10 * log_bound, 2.1e-6)


@given(st.integers(2, 10**6), st.integers(2, 10**6))
def test_bisection_in_p_finds_the_turn(turn: int, p: int) -> None:
    last = p_threshold("at_most", lambda q: q <= turn, p=p, smallest=2)
    first = p_threshold("at_least", lambda q: q >= turn, p=p, smallest=2)
    assert last.value == first.value == turn


def test_bisection_says_when_nothing_does() -> None:
    never = p_threshold("at_most", lambda _: False, p=5, smallest=2)
    assert never.value is None
    assert "p = 2" in str(never)
    assert p_threshold("at_least", lambda _: False, p=5, smallest=2).value is None


@pytest.mark.parametrize("kinds", [*range(1, 70), 1000, 1024, *(2**k + j for k in (29, 31, 40) for j in (-1, 0, 1))])
def test_the_fewest_bits_are_those_that_statistics_take(kinds: int) -> None:
    def taken(p: int) -> bool:
        with contextlib.suppress(ParameterError):
            return bool(DatasetStatistics(p, kinds, 1 / kinds))
        return False

    assert max(1, fewest_bits(-math.log(kinds))) == next(filter(taken, range(1, 50)))


def test_remedies_of_one_of_two() -> None:
    def rows(value: float) -> Remedy:
        return Remedy("rows", "at_most", math.log(value), 0.0, integer=True)

    n = Remedy("n", "at_least", math.log(1e9), math.log(10))
    loose = condition(1, 1000, remedies=(rows(1000),))
    tight = condition(1, 0.01, remedies=(Remedy("rows", "at_most", None, 0.0), n))
    both = easier(tight, loose)
    assert [(r.parameter, r.value) for r in both] == [("rows", 1000)]
    missed = condition(2000, 1000, remedies=(rows(1000),))
    assert {r.parameter for r in easier(tight, missed)} == {"rows", "n"}


@pytest.mark.parametrize(("side", "less"), [("at_most", 42), ("at_least", 3)])
def test_of_two_values_that_are_enough_the_one_that_asks_for_less_is_named(side: Side, less: int) -> None:
    one, other = (condition(2, 1, remedies=(Remedy("rows", side, math.log(rows), 0.0, integer=True),)) for rows in (3, 42))
    assert [r.value for r in easier(one, other)] == [r.value for r in easier(other, one)] == [less]


def test_the_smallest_change_that_is_enough_for_all_is_named() -> None:
    """In orders of magnitude, whatever the names; no change with a caveat, none that two conditions want on two sides."""

    def remedy(parameter: str, orders: float, side: Side = "at_least", **more: Any) -> Remedy:
        return Remedy(parameter, side, orders * LN10, 0.0, **more)

    first = (
        remedy("a", 3),
        remedy("b", 1),
        remedy("c", 0.1, caveat="but"),
        remedy("d", 0.1),
        remedy("e", 0.2),
        remedy("f", 0.1),
    )
    second = (remedy("a", 2), remedy("b", 2), remedy("c", 0.1), remedy("d", -0.1, "at_most"), remedy("e", 0.1))
    missed = [condition(2, 1, remedies=first), condition(2, 1, remedies=second), condition(1, 2)]
    tried = []

    def evaluate(parameter: str, log_value: float) -> list[Condition]:
        tried.append((parameter, log_value / LN10))
        return [condition(2 if parameter == "e" else 1, 1)]

    assert single_change(missed, evaluate) == remedy("b", 2)
    assert tried == [("e", pytest.approx(0.2)), ("b", pytest.approx(2))]
    assert single_change(missed, lambda *_: [condition(2, 1)]) is None
    smaller = (remedy("a", -1, "at_most"), remedy("b", -2, "at_most"))
    other = (remedy("a", -3, "at_most"), remedy("b", -1, "at_most"))
    assert single_change([condition(2, 1, remedies=r) for r in (smaller, other)], lambda *_: []) == smaller[1]


def test_fix_names_the_values_and_only_when_needed() -> None:
    n = Remedy("n", "at_least", math.log(4137200.5), math.log(20000))
    assert condition(20000, 4137200.5, ">=", remedies=(n,)).fix == "n ≥ 4.138 × 10⁶"
    assert condition(5e6, 4137200.5, ">=", remedies=(n,)).fix == ""
    open_end = Remedy("floor", "at_most", math.log(0.25) - 1e-12, 0.0, strict=True)
    assert condition(2, 1, remedies=(open_end,)).fix == "floor < 0.25"
    none = Remedy("ceiling", "at_most", None, 0.0, reason="it would be below 1 + floor")
    assert "no ceiling does (it would be below 1 + floor)" in condition(2, 1, remedies=(none,)).fix


def test_what_a_summary_asks_for_is_enough() -> None:
    """At most 3.996 is at most 3.99, not 4; at least 4.004 is at least 4.01."""
    assert "needs at most 3.99, there is 5" in summarise([condition(5, 3.996)], "", None)
    assert "needs at least 4.01, there is 2" in summarise([condition(2, 4.004, ">=")], "", None)
    assert "needs less than 3.99, there is 5" in summarise([condition(5, 3.996, strict=True)], "", None)


def test_a_threshold_is_admitted_and_whole_numbers_come_back_from_their_logarithms() -> None:
    for number in (10, 1000, 999_983):
        assert condition(number, 2 * number).to_dict()["actual"] == number
        assert condition(1, number).to_dict()["required"] == number
        for side, beyond in (("at_least", number + 1), ("at_most", number - 1)):
            remedy = Remedy("n", side, math.log(number), 0.0, integer=True)  # type: ignore[arg-type]
            assert [remedy.admits(value) for value in (number, beyond, 2 * number - beyond)] == [True, True, False]
    assert Remedy("n", "at_least", None, 0.0).admits(1)
    assert str(whole_threshold("rows", "at_most", math.log(3.7), 0.0)) == "rows ≤ 3"
    none = whole_threshold("rows", "at_most", math.log(0.7), 0.0)
    assert (none.reason, str(none)) == ("it would be below 1", "no rows does (it would be below 1)")
    assert whole_threshold("rows", "at_most", 0.0, 0.0).reason == ""


def test_verdict_orders_what_is_missed_and_finds_by_key() -> None:
    worse = Condition("worse", "W", "w", "T", "<=", 0.0, 9.0, group="privacy")
    verdict = Verdict("m", "M", (condition(2, 1), worse), "s", alternatives=(condition(1, 2, group="privacy"),))
    assert not verdict.holds
    assert [c.key for c in verdict.missed] == ["worse", "c"]
    assert verdict["worse"] is worse
    assert verdict.holds_in("validity")
    assert not verdict.holds_in("privacy")
    with pytest.raises(KeyError):
        _ = verdict["nothing"]


def test_logarithms_of_huge_integers() -> None:
    assert log_of(2**20000) == pytest.approx(20000 * math.log(2))
    assert exp_of(20000.0) == math.inf


@pytest.mark.parametrize(("low", "told"), [(128, True), (11, False), (3, False)])
def test_remedies_that_contradict_each_other_are_told(low: int, told: bool) -> None:
    ends = [Remedy("p", "at_most", math.log(11), 0.0, True), Remedy("p", "at_least", math.log(low), 0.0, True)]
    more = [Remedy("p", "at_most", math.log(50), 0.0, True), Remedy("n", "at_least", math.log(500), 0.0, True)]
    nothing = Remedy("p", "at_most", None, 0.0, True, reason="none")
    assert contradictions([*ends, *more, nothing]) == ["p ≤ 11 and p ≥ 128: no p alone will do."] * told
