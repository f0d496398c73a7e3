"""Texts of a file as the values of a public attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpsyn
from dpsyn import escape
from dpsyn.data.large import file_statistics
from dpsyn.errors import DomainError


def fit(attribute: dpsyn.Attribute, *cells: str, separator: str = ",") -> list[Any]:
    text = f"x{separator}other\n" + "".join(f"{cell}{separator}1\n" for cell in cells)
    values = dpsyn.read_table(text.encode(), domain=dpsyn.Domain.of([attribute])).frame["x"]
    return [None if pd.isna(v) else v for v in values.tolist()]


@pytest.mark.parametrize(
    ("attribute", "cells", "values"),
    [
        (dpsyn.Attribute("x", "categorical", (1, 2)), ["1", "2.0", "+1"], [1, 2, 1]),
        (dpsyn.Attribute("x", "categorical", (1, 2), missing=True), ["1", "NA"], [1, None]),
        (dpsyn.Attribute("x", "categorical", ("NA", "EU"), missing=True), ["NA", "", "EU"], ["NA", None, "EU"]),
        (dpsyn.Attribute("x", "categorical", ("01", "1")), ["01", "1"], ["01", "1"]),
        (dpsyn.Attribute("x", "categorical", (0.5, 1.5)), ["0.50", "1.5"], [0.5, 1.5]),
        (dpsyn.Attribute("x", "categorical", (" a", "b")), [" a", "b"], [" a", "b"]),
        (dpsyn.Attribute("x", "truth", (False, True)), ["TRUE", "false"], [True, False]),
        (dpsyn.Attribute("x", "truth", (0, 1)), ["1", "0"], [1, 0]),
        (dpsyn.Attribute("x", "truth", ("no", "yes")), ["yes", "yes"], ["yes", "yes"]),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9), ["1", "2.5"], [1.0, 2.5]),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9, integer=True), ["1.0", "20"], [1, 20]),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9000, unit=1000), ["1000", "2e3"], [1000, 2000]),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9, unit=0.5), ["1", "2.6"], [1.0, 2.6]),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9, missing=True), ["", "NA"], [None, None]),
    ],
)
def test_cells_become_values(attribute: dpsyn.Attribute, cells: list[str], values: list[Any]) -> None:
    read = fit(attribute, *cells)
    assert read == values
    assert [type(v) for v in read] == [type(v) for v in values]


def test_decimal_commas_and_dates() -> None:
    assert fit(dpsyn.Attribute("x", "numeric", lower=0, upper=9), "1,5", "2", separator=";") == [1.5, 2.0]
    dates = dpsyn.Attribute("x", "date", lower=0, upper=30_000, missing=True)
    assert fit(dates, "2020-01-02", "") == [pd.Timestamp("2020-01-02"), None]
    assert fit(dates, "31.12.2020") == [pd.Timestamp("2020-12-31")]


@pytest.mark.parametrize(
    ("attribute", "cells", "part"),
    [
        (dpsyn.Attribute("x", "categorical", (1, 2)), ["1", "3", "3"], r"line 3 has '3', .*categories 1, 2 \(2 such rows\)"),
        (dpsyn.Attribute("x", "categorical", ("a",)), ["a", "A"], r"line 3 has 'A', .* \(1 such row\);"),
        (
            dpsyn.Attribute("x", "numeric", lower=0, upper=9),
            ["1", "two", "2", "three", "two"],
            r"line 3 has 'two', which is not a number \(3 such rows\)",
        ),
        (
            dpsyn.Attribute("x", "numeric", lower=0, upper=9),
            ["1", '"1,031.17"'],
            r"line 3 .*not a number \(1 such row\); remove the thousands separators",
        ),
        (
            dpsyn.Attribute("x", "date", lower=18000, upper=19000),
            ["2020-01-01", "never", "31.12.2020", "2020-02-30"],
            r"line 3 has 'never', which is not a date \(2 such rows\); write it as 2024-12-31",
        ),
        (dpsyn.Attribute("x", "truth", ("no", "yes")), ["yes", ""], "line 3 has an empty cell.*no missing values"),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9, missing=True), ["1", "two"], "line 3 has 'two'.*not a number"),
        (dpsyn.Attribute("x", "date", lower=0, upper=9), ["2020-01-01", "soon"], "line 3 has 'soon'.*not a date"),
        (dpsyn.Attribute("x", "date", lower=0, upper=9), ["2020-01-01", "31.12.2020"], "mixes several ways to write dates"),
    ],
)
def test_other_cells_are_refused_with_their_line(attribute: dpsyn.Attribute, cells: list[str], part: str) -> None:
    with pytest.raises(DomainError, match=part) as caught:
        fit(attribute, *cells)
    assert caught.value.column == "x"


def through_csv(categories: tuple[Any, ...], *, missing: bool = False, guarded: bool = False) -> dpsyn.Table:
    """Every category once, and an empty cell if there may be one, written and read back."""
    attribute = dpsyn.Attribute("x", "categorical", categories, missing=missing)
    rows = pd.DataFrame({"x": pd.Series([*categories, *[None] * missing], dtype=object)})
    rows["other"] = 1
    return dpsyn.read_table(escape.csv(rows, guarded=guarded), domain=dpsyn.Domain.of([attribute]), columns=["x"])


@pytest.mark.parametrize(
    ("categories", "missing"),
    [
        ((" x", "x", "x "), False),
        (("\u00a0x", "x", "x\u00a0", "\tx"), False),
        ((" ", "x"), True),
        (("a\rb", "a\nb", "a\r\nb", "ab"), False),
        (("\rx", "x\r", " x", "x"), False),
        (('say "x"', "a,b", " x", "x"), False),
        ((" NA", "NA", "x"), True),
    ],
)
def test_categories_come_back_with_their_blanks(categories: tuple[str, ...], missing: bool) -> None:
    table = through_csv(categories, missing=missing)
    assert table.codes[:, 0].tolist() == list(range(len(categories) + missing))
    assert not [note for note in table.notes if "'x'" in note]


def test_what_an_export_guards_from_spreadsheets_comes_back(tmp_path: Path) -> None:
    domain = dpsyn.Domain.of(
        [dpsyn.Attribute(name, "categorical", ("=1", "@x", "'=2", "-z")) for name in ("=a", "b", "'=c")]
    )
    rows = pd.DataFrame({name: ["=1", "@x", "'=2", "-z"] for name in domain.names})
    written = escape.csv(rows)
    assert written.decode().splitlines()[:2] == ["'=a,b,''=c", "'=1,'=1,'=1"]
    (tmp_path / "rows.csv").write_bytes(written)
    assert dpsyn.read_table(written, domain=domain).frame.equals(rows)
    assert file_statistics(tmp_path / "rows.csv", domain=domain).statistics.distinct_rows == 4
    with pytest.raises(DomainError, match="no column '=c'"):
        # The heading is that of a column that is known by this very name.
        dpsyn.read_table(b"'=c\n@x\n", domain=dpsyn.Domain.of([domain["'=c"], dpsyn.Attribute("=c", "truth", (0, 1))]))


def test_other_blanks_are_none_of_a_category() -> None:
    assert fit(dpsyn.Attribute("x", "categorical", (" x", "x")), "  x", "x ", " x") == ["x", "x", " x"]


@pytest.mark.parametrize(
    ("categories", "missing", "guarded", "part"),
    [
        (("", "x"), True, False, "cells that say '' were read as '', and may have been a missing value;"),
        (("=1", "'=1"), False, True, "and may have been '=1';"),
        ((1, "1", "1.0"), False, False, "cells that say '1' were read as '1', and may have been 1;"),
    ],
)
def test_cells_that_may_be_several_categories_are_told(
    categories: tuple[Any, ...], missing: bool, guarded: bool, part: str
) -> None:
    assert any(part in note for note in through_csv(categories, missing=missing, guarded=guarded).notes)


@pytest.mark.parametrize(("cell", "told"), [("02", True), ("2e0", True), ("2.0", False), ("2", False)])
def test_codes_that_become_categories_that_are_numbers_are_told(cell: str, told: bool) -> None:
    domain = dpsyn.Domain.of([dpsyn.Attribute("x", "categorical", (1, 2, 10))])
    table = dpsyn.read_table(f"x\n1\n{cell}\n".encode(), domain=domain)
    assert table.frame["x"].tolist() == [1, 2]
    assert table.notes == ((f"Column 'x': '{cell}' was read as the category 2.",) if told else ())
