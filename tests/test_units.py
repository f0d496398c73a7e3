"""Multiples of a unit, as they are written."""

from __future__ import annotations

import math

import numpy as np

from dpsyn.units import between, endings, unit_of


def test_what_lies_between_two_multiples_and_what_is_off_by_rounding_alone() -> None:
    """In single precision 123,456.7 is 0.003 too large; half a unit is between two, however small the unit is."""
    single = np.array([np.float32(123456.7), 1.25], dtype=np.float64)
    assert between(single, 0.1, float(np.finfo(np.float32).eps)).tolist() == [False, True]
    assert between(single, 0.1).tolist() == [True, True]
    assert between(np.array([2e-5, 2.05e-5, 0.3]), 1e-5).tolist() == [False, True, False]


def test_sums_are_off_by_rounding_near_zero_and_far_from_it() -> None:
    """0.1 + 0.2 - 0.3 is 6e-17, all of it rounding; twelve digits above a hundredth, doubles are 1.5e-5 apart: three are
    what a sum brings, and ten are not."""
    far = 123456789012.34
    for number, is_between in (
        (0.1 + 0.2 - 0.3, False),
        (1e-7, True),
        (far + 3 * math.ulp(far), False),
        (far + 10 * math.ulp(far), True),
    ):
        assert between(np.array([number]), 0.01).tolist() == [is_between]


def test_all_numbers_have_a_part_in_the_unit_that_they_suggest() -> None:
    whole = np.arange(150.0)
    assert [unit_of(np.append(whole, last)) for last in (7.0, 0.5, 1 / 3)] == [1.0, 0.5, None]


def test_last_digits_are_those_of_the_multiples_as_they_are_written() -> None:
    """Until they come again; of whole units with the zeros behind, of decimals with the point where it is among them."""
    assert endings(0.25, 1) == ("0", "5")
    assert endings(0.25, 2) == (".00", ".25", ".50", ".75")
    assert endings(1, 1) == tuple("0123456789")
    assert endings(5.0, 2)[:3] == ("00", "05", "10")
    assert endings(0.1, 2)[5:16:10] == ("0.5", "1.5")
    assert endings(0.001, 2)[7] == "07"
    assert endings(1000.0, 1)[:2] == ("0000", "1000")
    assert endings(500.0, 2)[:3] == ("0000", "0500", "1000")
    assert endings(1e-6, 2)[-1] == "99"
    assert [len(endings(unit, digits)) for unit in (1.0, 5.0, 12, 1e-5) for digits in (1, 2)] == [
        10,
        100,
        2,
        20,
        5,
        25,
        10,
        100,
    ]
