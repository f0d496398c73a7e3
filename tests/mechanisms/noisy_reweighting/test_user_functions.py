"""Functions of the user's own: units, ends of ranges and sums by hand, where a cut or a wrap-around would cost privacy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpsyn.errors import ParameterError
from dpsyn.mechanisms.noisy_reweighting import user_functions
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily


def first(codes: np.ndarray) -> np.ndarray:
    return codes[:, 0] * 1.0


def opposite(codes: np.ndarray) -> np.ndarray:
    return -first(codes)


LARGE = 2**31 - 1


@pytest.mark.parametrize("sizes", [(), (0, 2), (LARGE + 1,), (LARGE + 3, 2)])
def test_columns_have_a_code_and_no_more_than_fit_32_bits(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError) as caught:
        FunctionFamily([first], sizes)
    assert caught.value.field == "sizes"
    assert FunctionFamily([first], (LARGE, 1)).sums(np.array([[LARGE - 1, 0]], dtype=np.int32)).tolist() == [2**20]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"unit": 1.2}, "unit"), ({"unit": 2.0**-41}, "unit"), ({"low": -1.5}, "low"), ({"high": 1.5}, "low")],
)
def test_units_and_ranges_are_those_that_whole_numbers_carry(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(ParameterError) as caught:
        FunctionFamily([first], (3,), **wrong)
    assert caught.value.field == field
    for unit in (1.0, 2.0**-40):
        family = FunctionFamily([first, opposite], (3,), unit=unit)
        assert family.sums(np.array([[2]])).tolist() == [1 / unit, -1 / unit]
        assert [(group.start, group.stop) for group in family.groups] == [(0, 1), (1, 2)]


def test_the_ends_of_a_range_are_the_nearest_multiples(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.3/0.1 is less than 3 in floating point, and would be cut to 2."""
    assert 0.3 / 0.1 < 3
    monkeypatch.setattr(user_functions, "TABULATED_AT_MOST", 0)
    family = FunctionFamily([first, opposite], (2,), low=-0.3, high=0.3, unit=0.1)
    assert family.sums(np.array([[1]])).tolist() == [3, -3]
    assert (family.l1(), family.l2()) == (12, math.sqrt(72))
    assert (family.l1("add_remove"), family.l2("add_remove")) == (6, math.sqrt(18))


def test_functions_are_tabulated_where_all_their_values_are_few_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_functions, "TABULATED_AT_MOST", 6)
    assert FunctionFamily([first], (3, 2)).row_by_row
    assert not FunctionFamily([first], (7,)).row_by_row
    assert not FunctionFamily([first, opposite], (3, 2)).row_by_row


@pytest.mark.parametrize("tabulated", [True, False])
@pytest.mark.parametrize(("function", "low", "high", "sign"), [(first, 0.0, 1.0, 1), (opposite, -1.0, 0.0, -1)])
def test_sums_are_kept_in_range_and_never_wrap_around(
    function: Any, low: float, high: float, sign: int, tabulated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of 2⁶⁰ stands for 2²⁰ rows of the largest value that there is, 2⁴⁰."""
    if not tabulated:
        monkeypatch.setattr(user_functions, "TABULATED_AT_MOST", 0)
    family = FunctionFamily([function], (2,), unit=2.0**-40, low=low, high=high)
    assert family.l1("add_remove") == 2**40
    family.unit /= 2**20
    family._bottom, family._top = family._bottom << 20, family._top << 20
    if family._table is not None:
        family._table = family._table << 20
    sums = [int(family.sums(np.ones((n, 1), dtype=np.int32))[0]) for n in (3, 4, 5, 8, 16)]
    assert sums == [sign * 3 * 2**60] + [sign * 2**62] * 4  # 16 rows make 2⁶⁴, which would be 0 in 64 bits


@pytest.mark.parametrize("block", [1, 4, 100])
def test_rows_that_come_in_blocks_count_once(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_functions, "TABULATED_AT_MOST", 0)
    monkeypatch.setattr(user_functions, "_BLOCK", block)
    family = FunctionFamily([lambda codes: codes[:, 0] / 2, lambda codes: codes[:, 1] / 2], (3, 2), unit=0.5)
    codes = np.random.default_rng(0).integers(0, (3, 2), (10, 2), dtype=np.int32)
    assert family.sums(codes).tolist() == codes.sum(axis=0).tolist()


@pytest.mark.parametrize("tabulated", [True, False])
def test_every_one_of_millions_of_rows_counts(tabulated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that differ from the others stand at the end."""
    if not tabulated:
        monkeypatch.setattr(user_functions, "TABULATED_AT_MOST", 0)
    codes = np.zeros((2**22 + 7, 1), dtype=np.int32)
    codes[-5:] = 1
    family = FunctionFamily([first, lambda codes: 1.0 - codes[:, 0]], (2,), unit=1.0)
    assert family.sums(codes).tolist() == [5, 2**22 + 2]


@pytest.mark.parametrize(("pairs", "replaced"), [(3, (8, 22)), (2, (9, 29))])
def test_pairs_of_rows_say_what_a_replaced_row_moves_and_ranges_where_there_are_too_many(
    pairs: int, replaced: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In units of 1/4 three rows have the values (0, 2, 0), (-2, 0, 1) and (-2, -1, -3)."""
    monkeypatch.setattr(user_functions, "PAIRS_AT_MOST", pairs)
    values = np.array([[0, 2, 0], [-2, 0, 1], [-2, -1, -3]]) / 4
    family = FunctionFamily(lambda codes: values[codes[:, 0]], (3,), unit=0.25)
    assert (family.l1(), family.l2()) == (replaced[0], math.sqrt(replaced[1]))
    assert (family.l1("add_remove"), family.l2("add_remove")) == (6, math.sqrt(14))


@pytest.mark.parametrize(
    ("quarters", "square"),
    [
        ([(0, 0, 0, 0), (-3, 0, 0, 0), (-1, 1, 1, 1)], 9),  # others are further apart in the sum of what they move
        ([(0, 0, 0), (-2, -2, -2), (-3, 0, 0), (-2, 1, -2)], 12),  # or in that of its cubes
    ],
)
def test_the_farthest_rows_are_those_of_the_largest_square(quarters: list[tuple[int, ...]], square: int) -> None:
    values = np.array(quarters) / 4
    family = FunctionFamily(lambda codes: values[codes[:, 0]], (len(values),), unit=0.25)
    assert family.l2() == math.sqrt(square)


@pytest.mark.parametrize("rows", [2, 50, 199, 201, 202, 500, user_functions.PAIRS_AT_MOST])
def test_the_farthest_rows_are_found_wherever_they_stand_among_all(rows: int) -> None:
    """Two of all different rows are far apart; the rest are near each other."""
    values = np.random.default_rng(rows).integers(-2, 3, (rows, 3)) / 2**9
    values[:, 0] = np.arange(rows) / 2**11
    for pair in {(0, rows - 1), (rows // 2 - 1, rows - 1), (rows - 2, rows - 1), (0, 1)}:
        far = values.copy()
        far[pair, 1:] = [[1.0, -1.0], [-1.0, 0.75]]
        family = FunctionFamily(lambda codes, far=far: far[codes[:, 0]], (rows,), unit=2.0**-11)
        moved = np.abs(np.rint(far[pair[0]] * 2**11) - np.rint(far[pair[1]] * 2**11))
        assert moved[1:].tolist() == [2**12, 7 * 2**9]
        assert family._sensitivities["replace_one"] == (moved.sum(), (moved**2).sum())


@pytest.mark.parametrize("pairs", [user_functions.PAIRS_AT_MOST, 2_000])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("places", [(0, 1, 2, 3), (-1, -2, -3, -4), (0, -1, 1, -2), (0, 501, -1, -501), (501, 0, -501, -1)])
def test_sensitivities_are_the_largest_over_all_of_many_rows_and_l1_and_l2_each_over_its_own(
    places: tuple[int, ...], sign: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows are farthest from 0 and from each other in L1, two others in L2; the first function orders all of them."""
    monkeypatch.setattr(user_functions, "PAIRS_AT_MOST", pairs)
    rows, unit = 1_200, 2.0**-14
    steps = np.zeros((rows, 5), dtype=np.int64)
    steps[:, 0] = sign * (np.arange(rows) + 1)
    steps[list(places[:2]), 1:4] = [[2**13] * 3, [-(2**13)] * 3]
    steps[list(places[2:]), 4] = [2**14, -(2**14)]
    order = np.random.default_rng(rows).permutation(rows)
    family = FunctionFamily(lambda codes: steps[order[codes[:, 0]]] * unit, (rows,), unit=unit)

    for found, others in (("add_remove", np.zeros_like(steps[:1])), ("replace_one", steps)):
        moved = [np.abs(steps - other) for other in others]
        sums, squares = (np.concatenate([(one**power).sum(axis=1) for one in moved]) for power in (1, 2))
        l1, square = sums.max(), squares.max()
        assert squares[sums == l1].max() < square  # each of the two is that of another row, or pair of rows
        if found == "replace_one" and rows > pairs:
            # So many pairs are not looked at one by one: the ends of what the functions reach bound them all.
            reached = np.ptp(steps, axis=0)
            assert l1 <= reached.sum()
            assert square <= (reached**2).sum()
            l1, square = reached.sum(), (reached**2).sum()
        assert (family.l1(found), family.l2(found)) == (l1, math.sqrt(square))  # type: ignore[arg-type]


def test_functions_that_never_move_cost_nothing() -> None:
    family = FunctionFamily([lambda codes: np.full(len(codes), 0.5)], (4,), unit=0.25)
    assert (family.l1(), family.l2(), family.l1("add_remove")) == (0, 0.0, 2)


def test_squares_that_no_float_tells_apart_are_compared_exactly() -> None:
    """Values up to 2⁴⁰: two rows whose squared distances differ by less than a float's last bit; the larger one counts."""
    unit = 2.0**-40
    values = np.array([[0.0, 0.0], [1.0, 2.0**-38], [1.0, 2.0**-39]])
    family = FunctionFamily(lambda codes: values[codes[:, 0]], (3,), unit=unit)
    assert family._sensitivities["replace_one"] == (2**40 + 4, 2**80 + 16)
    assert float(2**80 + 16) == float(2**80 + 4)


def test_a_division_by_zero_is_no_failure_whatever_numpy_is_told_to_do_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_functions, "TABULATED_AT_MOST", 0)
    family = FunctionFamily([lambda codes: 1 / codes[:, 0]], (5,), low=0.0, high=1.0, unit=0.25)
    codes = np.array([[0], [1], [2], [4]])
    for told in ("ignore", "raise"):
        with np.errstate(all=told):
            assert family.sums(codes).tolist() == [4 + 4 + 2 + 1]


def test_a_function_that_writes_into_the_rows_is_refused_and_leaves_them_as_they_are():
    codes = np.array([[0, 1], [2, 2], [1, 0]], dtype=np.int32)
    before = codes.copy()

    def changes(rows):
        np.minimum(rows, 1, out=rows)
        return rows[:, 0] > 0

    with pytest.raises(ParameterError, match="read-only"):
        FunctionFamily([changes], (3, 3), low=0, high=1)
    late = FunctionFamily([lambda rows: rows[:, 0] > 0 if len(rows) != 3 else changes(rows)], (3, 3), low=0, high=1, unit=1)
    late.sums(codes)
    assert np.array_equal(codes, before)
