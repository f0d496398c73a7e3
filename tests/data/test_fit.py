"""Texts of a file as the values of a public attribute."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import dpsyn
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
