"""Every number of the tables of Pierquin et al. (2023), as printed and recomputed."""

import math

import numpy as np
import pytest

from dpsyn.mechanisms.private_sampling import tables
from dpsyn.notation import superscript
from dpsyn.solvers.contingency import all_codes, contrast_dimension, walsh_dimension
from dpsyn.theory.datasets import ADULT, ASIA, BUILT_IN, CAR, MUSHROOM, ideal_cube

# dataset: k·m^.75 relaxed (‖f‖ as printed in Table 1), exact; m_low relaxed, exact; 2^{p/4}; n_low; k_low
TABLE_2 = {
    "ASIA": ("7.36e-04", "7.27e-04", "2.22e+10", "2.29e+10", 4, "4.137e+06", 409),
    "MUSHROOM": ("1.12e-49", "1.08e-49", "5.09e+72", "5.34e+72", 9.03e8, "7.985e+08", 746),
    "CAR": ("2.94e-08", "2.94e-08", "1.38e+16", "1.37e+16", 76.1, "3.645e+07", 548),
    "ADULT": ("9.26e-27", "9.44e-27", "1.51e+42", "1.46e+42", 46341, "2.185e+08", 663),
}


@pytest.mark.parametrize("name", TABLE_2)
def test_table_2_reproduces(name: str) -> None:
    k_print, k_exact, m_print, m_exact, upper, n_low, k_low = TABLE_2[name]
    row = tables.table_2().rows[name]
    assert f"{row['rows_times_m'].relaxed_from_print:.2e}" == k_print
    assert f"{row['rows_times_m'].exact:.2e}" == k_exact
    assert f"{row['m_lower'].relaxed_from_print:.2e}" == m_print
    assert f"{row['m_lower'].exact:.2e}" == m_exact
    assert row["m_upper"].exact == pytest.approx(upper, rel=7e-4)
    assert f"{row['n_lower'].exact:.3e}" == n_low
    assert math.ceil(row["rows_lower"].exact) == k_low


@pytest.mark.parametrize("name", TABLE_2)
@pytest.mark.parametrize("column", ["rows_times_m", "m_lower"])
def test_printed_values_are_within_one_unit_of_their_last_digit(name: str, column: str) -> None:
    cell = tables.table_2().rows[name][column]
    unit = 10.0 ** (math.floor(math.log10(cell.published)) - 1)
    assert abs(cell.relaxed - cell.published) < unit
    assert abs(cell.exact - cell.published) < unit


@pytest.mark.parametrize(
    ("rows", "at_tenth", "at_one", "at_ten", "feasible"),
    [(1, 69, 61, 54, 56), (100, 83, 76, 69, 71), (1000, 90, 83, 76, 78), (10000, 97, 90, 83, 85)],
)
def test_smallest_p_of_the_ideal_cube(rows: int, at_tenth: int, at_one: int, at_ten: int, feasible: int) -> None:
    for epsilon, p in ((0.1, at_tenth), (1, at_one), (10, at_ten)):
        assert tables.smallest_ideal_p(rows, epsilon) == p
        assert tables.smallest_ideal_p(rows, epsilon, ceiling=1.0) == p
    assert tables.smallest_ideal_p(rows, 10, ceiling=1.25) == feasible


def test_smallest_p_is_where_the_bound_crosses() -> None:
    for epsilon in (1e-3, 0.7, 1e3, 1e7):
        p = tables.smallest_ideal_p(3, epsilon)
        assert all(tables.log_ideal_rows(q, epsilon) >= math.log(3) for q in range(p, p + 50))
        assert p == 2 or tables.log_ideal_rows(p - 1, epsilon) < math.log(3)


@pytest.mark.parametrize(("p", "rows"), [(46, "0.105"), (68, "98.9"), (75, "921"), (83, "12043")])
def test_rows_allowed_at_the_printed_p(p: int, rows: str) -> None:
    allowed = math.exp(tables.log_ideal_rows(p, 10))
    assert f"{allowed:.{5 if rows == '12043' else 3}g}" == rows


@pytest.mark.parametrize(
    ("rows", "low", "high"),
    [
        (1, "1.663e+08", "1.16e+04"),
        (100, "2.705e+08", "1.56e+05"),
        (1000, "3.277e+08", "5.24e+05"),
        (10000, "3.904e+08", "1.76e+06"),
    ],
)
def test_table_3_at_the_right_p(rows: int, low: str, high: str) -> None:
    row = tables.table_3().rows[f"k = {rows}"]
    assert f"{row['m_lower'].relaxed:.3e}" == low
    assert f"{row['m_upper'].relaxed:.2e}" == high


def test_table_3_prints_2_to_the_p() -> None:
    for cells in tables.table_3().rows.values():
        p, printed = cells["p"].published, cells["m_upper"].published
        assert printed == pytest.approx(2.0**p, rel=0.02)
        assert f"not ⁴√2{superscript(int(p))} = " in cells["m_upper"].erratum


def test_errata_carry_their_numbers() -> None:
    text = " ".join((*tables.ERRATA_TABLE_2, *tables.ERRATA_TABLE_3))
    assert tables.first_consistent_p() == 119
    for number in ("119", "54, 69, 76", "56, 71, 78, 85", "76.1", "natural logarithm", "δ ≤ 1/4"):
        assert number in text
    rows = tables.table_3().rows
    assert [bool(rows[f"k = {k}"]["p"].erratum) for k in (1, 100, 1000, 10000)] == [True, True, True, False]


def test_all_datasets_miss_the_condition_on_n_that_the_paper_drops() -> None:
    for stats in BUILT_IN.values():
        assert tables.table_2().rows[stats.name]["n_lower"].exact > stats.n


def test_table_1_and_sizes() -> None:
    rows = tables.table_1().rows
    assert rows["CAR"]["n"].published == 1727
    assert rows["CAR"]["n"].exact == 1728
    assert (ASIA.p, MUSHROOM.p, CAR.p, ADULT.p) == (8, 119, 25, 62)
    for stats in (MUSHROOM, CAR, ADULT):
        assert sum(stats.sizes or ()) == stats.p
    assert [contrast_dimension(s.sizes or (), 2) for s in (CAR, ADULT, MUSHROOM)] == [157, 1231, 4394]


def test_figure_1_is_the_bound_on_a_log10_axis() -> None:
    lines = tables.figure_1((46, 54))
    assert lines[10.0][0] == pytest.approx(math.log10(0.10480), abs=1e-3)
    assert lines[10.0][1] - lines[1.0][1] == pytest.approx(1)
    assert lines[10.0][1] > 0 > lines[1.0][1]


def test_tractability() -> None:
    assert tables.quadprog_seconds(1.2e8) == pytest.approx(1.44e9)
    assert tables.quadprog_seconds(1.2e8) / tables.YEAR == pytest.approx(45.6, abs=0.05)
    assert pytest.approx(tables.PUBLISHED_YEARS, abs=0.1) == 1.2e9 / tables.YEAR
    assert tables.largest_p_within(tables.MONTH) == 9
    assert tables.largest_p_within(1e-9) == 0


def test_ideal_cube_is_what_it_says() -> None:
    stats = ideal_cube(10)
    assert (stats.n, stats.max_frequency, stats.distinct_rows) == (1024, 2**-10, 1024)


def test_constants_of_the_relaxation() -> None:
    assert 16 * 16 * 8 * math.exp(4) / 2 == pytest.approx(5.59e4, rel=1e-3)
    rows = 0.25**1.5 * math.exp(-1) * 2**0.25 / (4 * math.sqrt(2))
    assert rows == pytest.approx(9.7e-3, rel=5e-3)
    assert pytest.approx(2.7e-6, rel=0.02) == 9.7e-3 / 5.6e4**0.75
    for name in TABLE_2:
        setting = tables.paper_setting(BUILT_IN[name])
        assert math.exp(setting.logs.smallest_m) == pytest.approx(
            16 * 16 * 8 * setting.ceiling**2 * math.exp(4) * (1 + setting.p + setting.p * (setting.p - 1) / 2)
        )


def test_categorical_facts() -> None:
    sizes = ADULT.sizes or ()
    assert math.prod(sizes) / 2**62 == pytest.approx(4e-13, rel=0.05)
    assert math.prod(CAR.sizes or ()) == 6912
    assert walsh_dimension(25, 2) == 326


def test_one_hot_walsh_functions_of_car_have_rank_157() -> None:
    sizes = CAR.sizes or ()
    columns = [np.eye(size)[codes] for size, codes in zip(sizes, all_codes(sizes).T, strict=True)]
    bits = 2 * np.concatenate(columns, axis=1) - 1
    ones = np.ones((len(bits), 1))
    pairs = [bits[:, [i]] * bits[:, i + 1 :] for i in range(bits.shape[1] - 1)]
    functions = np.concatenate([ones, bits, *pairs], axis=1)
    assert functions.shape == (6912, 326)
    assert np.linalg.matrix_rank(functions.T @ functions) == 157
