from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsyn import escape
from dpsyn.attribute import Attribute
from dpsyn.data._words import Words
from dpsyn.data.fit import fit_words
from dpsyn.data.infer import Column, infer_words
from dpsyn.data.read import read_table
from dpsyn.domain import Domain, Kind
from dpsyn.errors import DomainError


def infer(cells: list[str], *, decimal_comma: bool = False) -> Column:
    return infer_words("x", Words.of(pa.array(cells)), decimal_comma=decimal_comma, locate=lambda row: row + 2)


def told(column: Column, part: str) -> bool:
    """Whether one of its notes has these words."""
    return any(part in note for note in column.notes)


@pytest.mark.parametrize(
    ("cells", "kind", "categories"),
    [
        (["0", "1", "1"], "truth", (0, 1)),
        (["1.0", "0.0"], "truth", (0, 1)),
        (["yes", "no"], "truth", ("no", "yes")),
        (["Yes", "NO"], "truth", ("NO", "Yes")),
        (["True", "False"], "truth", ("False", "True")),
        (["n", "Y"], "truth", ("n", "Y")),
        (["T", "F"], "truth", ("F", "T")),
        (["Male", "Female"], "categorical", ("Female", "Male")),
        (["yes", "no", "Yes"], "categorical", ("Yes", "no", "yes")),
        (["yes", "false"], "categorical", ("false", "yes")),
        (["yes", "yes"], "categorical", ("yes",)),
        (["1", "1"], "categorical", (1,)),
        (["yes", "no", ""], "categorical", ("no", "yes")),
        (["0", "1", "NA"], "categorical", (0, 1)),
        (["1", "2"], "categorical", (1, 2)),
        (["10", "9", "9"], "categorical", (9, 10)),
        (["+3", "-3", "3"], "categorical", (-3, 3)),
        (["b", "a", " b "], "categorical", ("a", "b")),
        (["01234", "99999"], "categorical", ("01234", "99999")),
        (["0x1F", "12"], "categorical", ("0x1F", "12")),
        (["9007199254740993", "1"], "categorical", ("1", "9007199254740993")),
        (["123456789012345678901234567890", "1"], "categorical", ("1", "123456789012345678901234567890")),
        (["1", "2", "x"], "categorical", ("1", "2", "x")),
        (["1.5", "?"], "categorical", ("1.5", "?")),
        (["2020-02-30", "2020-01-01"], "categorical", ("2020-01-01", "2020-02-30")),
        (["1,5", "2,5"], "categorical", ("1,5", "2,5")),
    ],
)
def test_values_that_are_listed(cells: list[str], kind: Kind, categories: tuple[Any, ...]) -> None:
    attribute = infer(cells).attribute
    assert (attribute.kind, attribute.categories) == (kind, categories)
    assert [type(c) for c in attribute.categories] == [type(c) for c in categories]


@pytest.mark.parametrize(
    ("cells", "lower", "upper", "unit"),
    [
        ([str(v) for v in range(11)], 0, 10, 1),
        ([f"{v}.0" for v in range(11)], 0, 10, 1),
        ([*(str(v) for v in range(11)), ""], 0, 10, 1),
        ([f"{500 * v}" for v in range(-3, 40)], -1500, 19500, 500),
        ([f"{3000 * v}" for v in range(12)], 0, 33000, 1000),
        (["105", *(f"{10 * v}" for v in range(11))], 0, 105, 5),
        (["7", *(f"{500 * v}" for v in range(40))], 0, 19500, 1),
        (["1.5", "-2.25"], -2.25, 1.5, 0.05),
        (["1.5", "-2.26"], -2.26, 1.5, 0.01),
        (["0.5", "7", "2.0"], 0.5, 7, 0.5),
        ([".5", "1e-3", "+7."], 0.001, 7, 0.001),
        (["0.1", "0.2", "0.3", "0.7"], 0.1, 0.7, 0.1),
        (["0.0001", "1000000.0002"], 0.0001, 1000000.0002, 0.0001),
        (["0.00001", "1"], 0.00001, 1, 0.00001),
        (["52.520008", "-13.4"], -13.4, 52.520008, 0.000001),
        (["500000000.000005", "0.5"], 0.5, 500000000.000005, 0.000005),
        (["600000000.000001", "0.5"], 0.5, 600000000.000001, None),
        (["0.0000001", "1"], 0.0000001, 1, None),
        (["0.3333333333333333", "1"], 0.3333333333333333, 1, None),
        (["123456789012345.5", "1"], 1, 123456789012345.5, 0.5),
        (["123456789012345.4", "1"], 1, 123456789012345.4, None),
        (["1e18", "0.0", "1e3"], 0, 1e18, None),
        (["1e300", "1"], 1, 1e300, None),
    ],
)
def test_numbers(cells: list[str], lower: float, upper: float, unit: float | None) -> None:
    column = infer(cells)
    attribute, whole = column.attribute, unit is not None and unit >= 1
    assert (attribute.kind, attribute.lower, attribute.upper, attribute.unit) == ("numeric", lower, upper, unit)
    assert attribute.missing == ("" in cells)
    assert attribute.bins == 10
    read = [None if pd.isna(v) else float(v) for v in column.values]
    assert read == [float(c) if c else None for c in cells]
    expected = "float64" if not whole else "Int64" if attribute.missing else "int64"
    assert column.values.dtype == expected


@pytest.mark.parametrize(
    ("cells", "first", "last", "note"),
    [
        (["2020-01-02", "1999-12-31"], "1999-12-31", "2020-01-02", ""),
        (["2020-01-02", ""], "2020-01-02", "2020-01-02", ""),
        (["2020-01-02 13:14:15", "2020-01-03"], "2020-01-02", "2020-01-03", "times of day"),
        (["2020-01-02T23:00:00Z", "2020-01-03T00:30:00+02:00"], "2020-01-02", "2020-01-03", "times with a zone"),
        (["2020/1/2", "2020/11/12"], "2020-01-02", "2020-11-12", "come back written as 2024-12-31"),
        (["31.12.2020", "1.1.2021"], "2020-12-31", "2021-01-01", "come back written as 2024-12-31"),
        (["12/31/2020", "01/02/2021"], "2020-12-31", "2021-01-02", "come back written as 2024-12-31"),
        (["31/12/2020", "01/02/2021"], "2020-12-31", "2021-02-01", "come back written as 2024-12-31"),
        (["03/04/2020", "01/02/2021"], "2020-03-04", "2021-01-02", "could be month/day"),
        (["3 Jan 2020", "14 Dec 2020"], "2020-01-03", "2020-12-14", "come back written as 2024-12-31"),
        (["3-Jan-2020", "14-Dec-2020"], "2020-01-03", "2020-12-14", "come back written as 2024-12-31"),
        (["January 3, 2020", "May 4, 2020"], "2020-01-03", "2020-05-04", "come back written as 2024-12-31"),
        (["1450-01-01", "9999-12-31"], "1450-01-01", "9999-12-31", ""),
    ],
)
def test_dates(cells: list[str], first: str, last: str, note: str) -> None:
    column = infer(cells)
    assert column.attribute.kind == "date"
    assert column.values.dtype == "datetime64[us]"
    assert str(column.values.min().date()) == first
    assert str(column.values.max().date()) == last
    assert column.attribute.missing == ("" in cells)
    assert told(column, note) if note else not column.notes
    assert column.attribute.lower is not None
    assert column.attribute.upper is not None
    days = np.array([first, last], dtype="datetime64[D]").astype(float)
    assert column.attribute.lower == days[0]
    assert column.attribute.upper == max(days[1], days[0] + 1)


def test_a_date_at_the_end_of_time_still_has_two_bounds() -> None:
    attribute = infer(["9999-12-31", "9999-12-31"]).attribute
    assert (attribute.lower, attribute.upper) == (2_932_895, 2_932_896)


@pytest.mark.parametrize(
    ("cells", "decimal_comma", "part"),
    [
        (["1", "2", "x", "x", "?", "3"], False, "mixes numbers with other values, such as 'x' (2), '?' (1)"),
        (
            ["w", "9", "m", "m", "9"],
            False,
            "mixes numbers, such as '9' (2), with other values, and was read as text: 2 cells",
        ),
        (
            ["w", "w", "m", "9", "1,5"],
            True,
            "such as '9' (1), '1,5' (1), with other values, and was read as text: 2 cells are",
        ),
        (["w", "m", "9"], False, "1 cell is a number. If that stands for no answer, empty"),
        (["1,5", *(f"{i},25" for i in range(60)), "?", "?"], True, "such as '?' (2), and was read as text: 2 cells"),
        ([*(f"{i}.25" for i in range(60)), "?"], False, "1 cell is no number. To have it as numbers, empty"),
        (["1,5", "1.5", "2"], True, "some numbers with decimal commas and others with points"),
        (["01", "2"], False, "a 0 that a number would lose"),
        (["9007199254740993"], False, "beyond 2^53"),
        (["1,234", "2,000"], False, "the thousands separators of 2 cells, such as '1,234'."),
        (["1,234.5", "1,234.5", "7.25", "-"], True, "such as '-' (1), and was read as text: 1 cell is no number."),
        (
            ["1,234.5", "1,234.5", "7.25", "-"],
            True,
            "numbers, remove the thousands separators of 2 cells, such as '1,234.5'",
        ),
        (["1 234", "2 000"], False, "thousands separators"),
        (["01.11", "02.41", "10.11"], False, "'01.11' was read as the number 1.11; if it is a code, write a letter"),
        (["01-Jan-19", "02-Feb-19"], False, "values such as '01-Jan-19' look like dates"),
        (["1. 2. 2019", "2. 2. 2019"], False, "values such as '1. 2. 2019' look like dates"),
        (["1. Januar 2019", "2. M\u00e4rz 2019"], False, "values such as '1. Januar 2019' look like dates"),
        (["1,00,000", "12,34,567", "45"], False, "the thousands separators of 2 cells, such as '1,00,000'."),
        (["1,5", "2,25", "3"], False, "if the commas of 2 cells, such as '1,5', are decimal, write points"),
        (["80.4 mmol/L", "7 mmol/L", "-1 mmol/L"], False, "such as '80.4 mmol/L' were read as text; leave the 'mmol/L' out"),
        (["12.5h", "3h"], False, "leave the 'h' out"),
        (["CHF 74.42", "CHF 5"], False, "leave the 'CHF' out"),
        (["1_000", "2_50"], False, "mixes numbers with other values, such as '2_50' (1)"),
        (["2020-01-01", "2020-01-02", "2020-02-30"], False, "Not a date: 1 cell, such as '2020-02-30'"),
        (
            ["2020-01-01", "2020-01-02", "2020-02-03", "30/09/2022", "30/09/2022"],
            False,
            "mixes several ways to write dates, and was read as text. Not as 2024-12-31: 2 cells, such as '30/09/2022'",
        ),
        (["1,5", "2"], True, "decimal commas"),
        (["a", "NA"], False, "say 'NA' (1) were taken as missing"),
        (["2.5", "NA", "null", "NA"], False, "say 'NA' (2), 'null' (1) were taken as missing"),
    ],
)
def test_notes_say_what_was_decided(cells: list[str], decimal_comma: bool, part: str) -> None:
    notes = infer(cells, decimal_comma=decimal_comma).notes
    assert len(notes) == 1
    assert part in notes[0]


@pytest.mark.parametrize(
    ("cells", "decimal_comma", "numbers", "told"),
    [
        (["\N{MINUS SIGN}5", "7"], False, [-5, 7], False),
        (["\N{MINUS SIGN}2.5", "1e\N{MINUS SIGN}1"], False, [-2.5, 0.1], False),
        (["1_000", "20", "\N{MINUS SIGN}1_234_567"], False, [1000, 20, -1234567], True),
        (["1\N{NO-BREAK SPACE}000,5", "20"], True, [1000.5, 20], True),
        (["12\N{NARROW NO-BREAK SPACE}000", "20"], False, [12000, 20], True),
        (["1_000", "x"], False, ["1_000", "x"], False),
        (["12_34", "5"], False, ["12_34", "5"], False),
        (["0_123", "5"], False, ["0_123", "5"], False),
    ],
)
def test_signs_and_gaps_of_print_are_numbers_where_the_whole_column_is(
    cells: list[str], decimal_comma: bool, numbers: list[object], told: bool
) -> None:
    column = infer(cells, decimal_comma=decimal_comma)
    assert column.values.tolist() == numbers
    assert any("read as separating thousands" in note for note in column.notes) == told
    words = Words.of(pa.array(cells), column.attribute)
    again = fit_words(column.attribute, words, decimal_comma=decimal_comma, locate=lambda row: row)
    assert again.values.tolist() == numbers


def test_an_empty_column_says_which_words_made_it_empty() -> None:
    taken, empty = infer(["NA", "null", "NA"]).notes
    assert "say 'NA' (2), 'null' (1) were taken as missing" in taken
    assert "is empty" in empty


def test_plain_columns_have_no_notes() -> None:
    for cells in (
        ["1", "2", ""],
        ["1.5", "NA", "NA", "2.5"],
        ["a", "b", "c"],
        ["1.5", "2.5"],
        ["yes", "no"],
        ["2020-01-01", "2020-05-05"],
    ):
        assert infer(cells).notes == ()


def test_decimal_commas() -> None:
    assert infer(["1,5", "-2,25", "3"], decimal_comma=True).values.tolist() == [1.5, -2.25, 3.0]
    assert infer(["1,5", "1.5"], decimal_comma=True).attribute.kind == "categorical"
    assert infer(["1.234,5", "2"], decimal_comma=True).attribute.kind == "categorical"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_any_finite_numbers_are_read_exactly_and_lie_in_their_bounds(numbers: list[float]) -> None:
    if max(numbers) - min(numbers) == math.inf:
        return
    column = infer([repr(v) for v in numbers])
    attribute = column.attribute
    assert [float(v) for v in column.values] == numbers
    assert attribute.encode(column.values).min() >= 0
    if attribute.kind == "numeric":
        assert attribute.lower is not None
        assert attribute.upper is not None
        assert attribute.lower <= min(numbers) <= max(numbers) <= attribute.upper


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4), min_size=1, max_size=30))
def test_any_texts_can_be_encoded_with_what_was_inferred(cells: list[str]) -> None:
    column = infer([cell for cell in cells if "inf" not in cell.lower()] or ["x"])
    codes = column.attribute.encode(column.values)
    assert (codes >= 0).all()
    assert (codes < column.attribute.size).all()
    assert not column.attribute.public


@pytest.mark.parametrize(("separator", "told"), [(";", True), (",", False)])
def test_points_that_may_separate_thousands_are_told_where_commas_are_decimal(separator, told):
    text = f"v{separator}w\n1.500{separator}a\n12.250{separator}b\n103.125{separator}a\n"
    notes = read_table(io.BytesIO(text.encode()), name="prices.csv").notes
    assert any("separates thousands" in note for note in notes) == told


@pytest.mark.parametrize(
    ("cells", "thousands"),
    [
        (["700", "850", "1.250"], True),
        (["-1.250", "0"], True),
        (["0.125", "3", "1.250"], False),
        (["1.25", "1.250", "700"], False),
        (["700", "1250"], False),
        (["1.250"], False),
    ],
)
def test_thousands_among_smaller_numbers_are_told(cells, thousands):
    assert told(infer(cells, decimal_comma=True), "separates thousands") == thousands


@pytest.mark.parametrize("rows", [100, 12_000])
def test_what_double_precision_loses_of_decimals_is_told_at_any_size(rows):
    long = infer([f"0.{10**16 + i // 2}{i % 2}5" for i in range(rows)])
    assert told(long, "became")
    assert not told(infer([repr(i / 7) for i in range(rows)]), "became")
    gone = infer(["1e-400", *(f"{i}.5" for i in range(rows))])
    assert told(gone, "'1e-400' is too close to 0 for double precision, and was read as 0.")
    assert not told(infer(["0e-400", "0.0", *(f"{i}.5" for i in range(rows))]), "too close")


def test_a_column_of_one_number_that_is_too_small_says_so():
    column = infer(["1e-400", "1e-400"])
    assert column.attribute.categories == (0,)
    assert told(column, "'1e-400'")


def left_out(**columns: Any) -> tuple[str, ...]:
    """Names of the columns of which a note says that they were left out, beside one that stays."""
    rows = len(next(iter(columns.values())))
    frame = pd.DataFrame(columns | {"sick": ["no", "yes"] * (rows // 2)})
    table = read_table(frame.to_csv(index=False).encode())
    notes = table.notes
    gone = tuple(name for name in columns if name not in table.domain)
    assert sorted(note.split("'")[1] for note in notes if "was left out as an identifier: " in note) == sorted(gone)
    return gone


def test_identifiers_are_left_out_with_a_sentence_and_amounts_are_not():
    generator = np.random.default_rng(0)
    rows = 2_000
    order = generator.permutation(rows)
    eight = generator.choice(90_000_000, rows, replace=False) + 10_000_000
    identifiers = {
        "numbers of rows": range(1, rows + 1),
        "in another order": order,
        "gaps": np.sort(generator.choice(3 * rows, rows, replace=False)),
        "a few come twice": np.append(np.arange(rows - 10), np.arange(10)),
        "eight digits": eight,
        "eight digits, some twice": np.append(eight[:-50], eight[:50]),
        "uuid": [f"{a:016x}-{b:016x}" for a, b in generator.integers(2**62, size=(rows, 2))],
        "account": [f"{4_711_000_000 + int(value)}.0" for value in generator.integers(10**9, size=rows)],
        "leading zeros": [f"{value:07}" for value in order],
        "beyond 2^53": 2**60 + order,
        "names, some twice": [f"p{value}" for value in np.append(order[:-100], order[:100])],
    }
    income = np.exp(generator.normal(10.3, 0.6, rows))
    amounts = {
        "income in cents": np.round(income, 2),
        "income as cents": np.round(100 * income).astype(int),
        "census weights": generator.integers(12_285, 1_484_705, rows),
        "price": generator.integers(100_000, 1_000_000, rows),
        "turnover": generator.integers(20_000_000, 400_000_000, rows),
        "grams": generator.integers(500, 5_000, rows),
        "measured": generator.normal(size=rows),
        "date": [str(np.datetime64("1980-01-01") + np.timedelta64(int(day), "D")) for day in order],
        "place": [f"p{value % 1_000}" for value in order],
    }
    assert left_out(**identifiers, **amounts) == tuple(identifiers)


def test_an_identifier_that_is_asked_for_stays():
    data = ("id,sick\n" + "".join(f"{i},{i % 2}\n" for i in range(60))).encode()
    table = read_table(data)
    notes = table.notes
    assert table.domain.names == ("sick",)
    assert notes == ("Column 'id' was left out as an identifier: 60 different values in 60 rows.",)
    table = read_table(data, columns=["id"])
    notes = table.notes
    assert table.domain["id"].upper == 59
    assert read_table(data, columns=["sick", "id"]).domain.names == ("sick", "id")
    assert notes == ("Column 'id' looks like an identifier, best left out: 60 different values in 60 rows.",)
    assert read_table(data, domain=table.domain).n == 60
    # Nothing else is there.
    assert read_table(b"id\n" + b"".join(b"p%d\n" % i for i in range(60))).domain.names == ("id",)
    # Too few rows to tell.
    assert read_table(b"id,sick\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(49))).domain.names == (
        "id",
        "sick",
    )


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (["a", " a", "b  "], "the spaces around 2 cells were left out"),
        (["  a", " a"], "the spaces around 2 cells were left out"),
        ([" a", " b", " NA", ""], ""),
        (["1", " 1", "2.5"], ""),
    ],
)
def test_texts_that_differ_in_spaces_alone_become_one_with_a_note(cells: list[str], note: str) -> None:
    column = infer(cells)
    assert [part for part in column.notes if "spaces" in part] == [f"Column 'x': {note}."] * bool(note)
    if note:
        assert [
            part
            for part in fit_words(
                column.attribute, Words.of(pa.array(cells)), decimal_comma=False, locate=lambda row: row
            ).notes
            if "spaces" in part
        ] == [f"Column 'x': {note}."]


MONTHS = [year * 100 + month for year in range(2005, 2024) for month in range(1, 13)]
TIMES = [hour * 100 + minute for hour in range(24) for minute in range(60)]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (MONTHS, "look like months, such as 202311, and were read as numbers. To have months alone, write them as 2024-01."),
        (MONTHS[5:20], "months, such as 200607"),
        ([0, *MONTHS, 999_999], "months, such as 202312"),
        ([*MONTHS, 202_313, 202_401], "months, such as 202312"),
        (TIMES, "look like times of day, such as 2358, and were read as numbers. To have times alone, write them as 13:45."),
        ([hour * 100 + minute for hour in range(9, 18) for minute in (0, 15, 30, 45)], "times of day, such as 1730"),
        ([hour * 100 + minute for hour in range(24) for minute in (0, 30)], "times of day, such as 2230"),
        ([-1, *TIMES, 9999], "times of day, such as 2359"),
        (MONTHS[5:19], ""),  # of which the ends may be no months
        ([*MONTHS, 202_313, 202_400, 202_413, 202_499], ""),
        (range(200_100, 200_300), ""),
        ([*range(2000, 2025)], ""),
        ([*range(1930, 1960), *range(2000, 2030)], ""),
        (range(60), ""),
        ([*range(60), 101, 245, 312, 420, 555, 611, 717], ""),
        (range(50, 2400, 50), ""),
        ([*range(100, 2400, 50), 1299, 1999], ""),
        (range(5, 2400, 5), ""),
        ([*TIMES, *range(60, 100)], ""),
        ([*TIMES, *range(2400, 2420)], ""),
        ([*TIMES, *range(-100, -80)], ""),
        ([month - 100_000 for month in MONTHS], ""),
        ([month + 10_000 for month in MONTHS], ""),
    ],
)
def test_whole_numbers_that_look_like_months_or_times_are_told(numbers: Iterable[int], said: str) -> None:
    column = infer([str(number) for number in numbers for _ in range(2)])
    assert told(column, f"Column 'x': its whole numbers {said}" if said[:4] == "look" else said or "look like") is bool(said)
    assert column.attribute.kind == "numeric"


@given(st.integers(0, 2**32), st.sampled_from([100, 3000, 210_000, 10**6]), st.integers(25, 3000), st.integers(50, 500))
def test_ordinary_whole_numbers_do_not_look_like_months_or_times(seed: int, upper: int, spread: int, rows: int) -> None:
    numbers = np.random.default_rng(seed).integers(max(0, upper - spread), upper, rows)
    assert not told(infer(list(map(str, numbers))), "look like")


@pytest.mark.parametrize(
    ("cells", "decimal_comma", "said"),
    [
        (["7.25", "12.50", "3.00"], False, "12.5 for '12.50'"),
        (["12.00", "7.00"], False, "12 for '12.00'"),
        (["12.0", "7.0"], False, ""),
        (["+12.000", "7.000", ""], False, "12 for '+12.000'"),
        (["7,25", "12,50"], True, "12.5 for '12,50'"),
        (["12.5", "7.0"], False, ""),
        (["12.25", "7.00"], False, ""),
        (["12.50", "7.1"], False, ""),
        (["7.5", "12.50"], False, ""),
        (["12.50", "7"], False, ""),
        (["12.50", "1.25e3"], False, ""),
        ([*(f"{i}.50" for i in range(200)), "0.125"], False, ""),
    ],
)
def test_numbers_whose_closing_zeros_do_not_come_back_are_told(cells: list[str], decimal_comma: bool, said: str) -> None:
    column = infer(cells, decimal_comma=decimal_comma)
    note = f"Column 'x': its numbers come back without closing zeros: {said}."
    assert told(column, note if said else "closing zeros") is bool(said)
    assert said.partition(" ")[0] in ["", *escape.csv(column.values.to_frame()).decode().splitlines()]
    attribute = Attribute("x", "numeric", lower=0, upper=200, unit=1.0 if said.startswith("12 ") else None, missing=True)
    again = fit_words(attribute, Words.of(pa.array(cells)), decimal_comma=decimal_comma, locate=lambda row: row)
    assert told(again, note if said else "closing zeros") is bool(said)


@pytest.mark.parametrize("other", ["e\N{COMBINING ACUTE ACCENT}t", "\N{ZERO WIDTH SPACE}\xe9t", "\xe9\N{SOFT HYPHEN}t"])
def test_texts_that_look_alike_are_told(other: str) -> None:
    assert told(infer(["\xe9t", other, "b"]), "look alike, and stay two values")
    assert not told(infer(["\xe9t", "et", "b"]), "look alike")


def test_decimal_commas_are_told_under_a_given_domain() -> None:
    attribute = Attribute("x", "numeric", lower=0, upper=3, bins=3)
    column = fit_words(attribute, Words.of(pa.array(["1,5", "2"])), decimal_comma=True, locate=lambda row: row)
    assert column.notes == ("Column 'x': numbers are written with decimal commas, and synthetic ones get points.",)


@pytest.mark.parametrize("text", ["x;y\n1,0;a\n2,0;b\n3,0;a\n", "x;y\n1,5;a\n1,5;b\n", "x;y\n-2,50;a\n1e1;b\n1,;b\n"])
def test_a_file_with_decimal_commas_fits_the_domain_that_was_inferred_from_it(text: str, tmp_path: Path) -> None:
    table = read_table(text.encode())
    (tmp_path / "x.csv").write_text(text)
    counted = read_table(tmp_path / "x.csv", domain=table.domain, in_place=True).loaded()
    for again in (read_table(text.encode(), domain=table.domain), counted):
        assert again.codes.tolist() == table.codes.tolist()


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([*range(20), -999], "-999"),
        ([*range(20), -99], "-99"),
        ([*range(20), 99], "99"),
        ([0.5, *range(20), 9999], "9999"),
        ([*range(-20, 0), 999, 7], "999"),
        ([*range(20), -999, 9999], "-999"),
        ([*range(30), 99_999_999], "99999999"),
        ([*range(90, 120)], ""),
        ([*range(-120, 20), -999], "-999"),
        ([*range(-500, 20, 3), -999], ""),
        ([*range(20), 1000], ""),
        ([*range(20), -9], ""),
        ([*range(0, 990, 9), 999], ""),
    ],
)
def test_numbers_that_look_like_codes_for_missing_values_are_told(numbers: list[float], code: str) -> None:
    column = infer(list(map(str, numbers)))
    assert told(column, f"Column 'x': {code} lies far from all other numbers" if code else "lies far") is bool(code)
    assert column.attribute.kind == "numeric"


@pytest.mark.parametrize(
    ("dates", "code"),
    [
        (["9999-12-31"], "9999-12-31"),
        (["9999-12-31 00:00:00"], "9999-12-31"),
        (["2999-12-31"], "2999-12-31"),
        (["1900-01-01"], "1900-01-01"),
        (["0001-01-01"], "0001-01-01"),
        (["1970-01-01", "9999-12-31"], "1970-01-01"),
        (["2099-12-30"], ""),
        (["2024-12-31"], ""),
        (["1930-05-05", "1900-01-01"], ""),
    ],
)
def test_dates_that_look_like_codes_for_missing_values_are_told(dates: list[str], code: str) -> None:
    column = infer([*(f"2023-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 12)), *dates])
    assert told(column, f"Column 'x': {code} lies far from all other dates" if code else "lies far") is bool(code)
    assert column.attribute.kind == "date"


def test_commas_that_may_separate_thousands_are_doubted() -> None:
    doubt = "if the comma separates thousands, take it out"
    assert told(infer(["1,000", "2,500", "950"], decimal_comma=True), doubt)
    assert not told(infer(["1,000", "2,50", "950"], decimal_comma=True), doubt)
    assert not told(infer(["0,125", "2,500"], decimal_comma=True), doubt)


def test_notes_on_very_long_cells_and_names_are_short(tmp_path: Path) -> None:
    long, numbers = "word " * 40_000, "".join(f"{i % 37},{i % 5}\n" for i in range(50))
    dated = "".join(f"2024-01-{i + 1:02},1\n" for i in range(28))
    alike = f"x,{long}a\u0301\nx,{long}\u00e1\n"
    for text in (f"a,b\n{long},2\n{numbers}", f"a,{long}\n{long},2\n{numbers}", f"a,b\n{dated}{long},2\n", f"a,b\n{alike}"):
        (tmp_path / "x.csv").write_text(text)
        for in_place in (False, True):
            notes = read_table(tmp_path / "x.csv", in_place=in_place).notes
            assert notes
            assert all(len(note) < 2000 for note in notes)


def test_no_thousands_begin_with_a_zero() -> None:
    (said,) = infer(["0,893", "1,021", "1,500", "950"]).notes
    assert "thousands" not in said
    assert "if the commas of 3 cells, such as '0,893', are decimal, write points in their place" in said
    with pytest.raises(DomainError, match=r"0,893.*correct it or empty the cell"):
        read_table(b'x\n"0,893"\n', domain=Domain.of([Attribute("x", "numeric", lower=0, upper=2)]))


@pytest.mark.parametrize("cell", ["0x3", "-0X1f"])
def test_hexadecimals_are_no_numbers(cell: str) -> None:
    with pytest.raises(DomainError, match="which is not a number"):
        read_table(f"x\n{cell}\n7\n".encode(), domain=Domain.of([Attribute("x", "numeric", lower=-40, upper=40)]))


@pytest.mark.parametrize("cell", ["\N{FULLWIDTH DIGIT THREE}", "1_0", "1\N{NO-BREAK SPACE}0"])
def test_what_is_read_as_no_number_is_no_category_that_is_one(cell: str) -> None:
    domain = Domain.of([Attribute("x", "categorical", (3, 10, 1000))])
    assert read_table(b"x\n1_000\n", domain=domain).frame["x"].tolist() == [1000]
    with pytest.raises(DomainError, match="not one of the categories"):
        read_table(f"x\n{cell}\n".encode(), domain=domain)


def test_times_of_day_that_a_given_domain_drops_are_told() -> None:
    domain = Domain.of([Attribute("x", "date", lower="2020-01-01", upper="2024-12-31")])
    said = ("Column 'x': times of day are dropped, the domain knows days only.",)
    assert read_table(b"x\n2024-05-05T23:59\n", domain=domain).notes == said
    assert read_table(pd.DataFrame({"x": pd.to_datetime(["2024-05-05 23:59"])}), domain=domain).notes == said
    assert not read_table(b"x\n2024-05-05\n", domain=domain).notes


@pytest.mark.parametrize(
    "names", [[" y", "z"], ["y ", "z"], ["a\tb"], ["\ufeffx", "y"], ["a;b"], ["a\nb", "c|d"], ['a"b ', "=c"]]
)
@pytest.mark.parametrize("guarded", [True, False])
def test_any_names_come_back_from_the_file_that_is_written(names: list[str], guarded: bool) -> None:
    table = read_table(pd.DataFrame({name: [1, 2, 2] for name in names}))
    back = read_table(escape.csv(table.frame, guarded=guarded), domain=table.domain)
    pd.testing.assert_frame_equal(back.frame, table.frame)


def test_a_first_line_that_names_another_separator_is_doubted() -> None:
    assert "If semicolons separate its values" in read_table(b"sep=,\na;b\n1;2\n").notes[0]


def test_numbers_too_close_for_bins_are_listed() -> None:
    attribute = infer(["2.5", "2.5000000000000004", "2.5", ""]).attribute
    assert (attribute.kind, attribute.categories, attribute.missing) == ("categorical", (2.5, 2.5000000000000004), True)


@pytest.mark.parametrize(
    "cells", [["Ward 1", "Ward 2"], ["1a", "2b"], ["5 kg", "7"], ["12:30", "1:05"], ["k1", "k2"], ["3 kg"]]
)
def test_words_with_numbers_in_them_get_no_advice_on_units(cells: list[str]) -> None:
    assert not any("leave the" in note for note in infer(cells).notes)


@pytest.mark.parametrize(
    ("write", "part"),
    [
        (lambda i: f"555.{i % 900 + 100}.{i + 1000}", "remove the thousands separators"),
        (lambda i: f"{100_000_000 + i}{'X' if i % 11 == 0 else '5'}", "mixes numbers with other values"),
        (lambda i: f"{70 + i / 100:.2f} mmol/L", "leave the 'mmol/L' out"),
        (lambda i: f"CUST-{i}", ""),
    ],
)
def test_texts_that_name_rows_are_left_out_whatever_else_there_is_to_say(write: Callable[[int], str], part: str) -> None:
    lines = "".join(f"{'fm'[i % 2]},{write(i)}\n" for i in range(300))
    table = read_table(f"sex,which\n{lines}".encode())
    assert table.domain.names == ("sex",)
    assert "left out as an identifier: 300 different values" in table.notes[0]
    assert len(table.notes) == 1 + bool(part)
    assert part in table.notes[-1]
