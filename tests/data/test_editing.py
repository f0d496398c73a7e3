"""The domain as an editable table: what is edited comes back, what cannot be understood is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpsyn.data import editing
from dpsyn.data.editing import READ_OFF, doubts, edited_domain, editor_lines
from dpsyn.data.read import read_table
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DomainError
from dpsyn.table import Table

CSV = b"""who,ill,age,born,score
ann,yes,31,2001-02-03,1.5
bob,no,42,1999-12-31,2.25
cid,no,53,2000-06-15,
dan,yes,64,2002-01-01,9.75
eve,no,75,2003-03-03,4.0
fay,no,18,1998-08-08,5.5
gil,no,22,1997-07-07,6.5
hal,no,29,1996-06-06,7.5
ida,no,36,1995-05-05,8.5
jon,no,47,1994-04-04,0.5
kay,no,58,1993-03-03,3.5
"""


@pytest.fixture
def full() -> Table:
    return read_table(CSV, name="people.csv")


def lines_of(full: Table) -> pd.DataFrame:
    return editor_lines(full, full.domain)


def edit(full: Table, column: str, **changes) -> pd.DataFrame:
    lines = lines_of(full)
    at = lines.index[lines["column"] == column][0]
    for name, value in changes.items():
        lines.at[at, name] = value
    return lines


def test_lines_of_some_columns_leave_the_others_as_they_are(full):
    current = full.domain.project([name for name in full.domain.names if name != "born"])
    lines = editor_lines(full, current, ["score", "who"])
    assert lines["column"].tolist() == ["score", "who"]
    assert edited_domain(lines, full, current) == current
    lines.at[1, "use"] = False
    assert edited_domain(lines, full, current).names == ("ill", "age", "score")
    none = editor_lines(full, current, [])
    assert edited_domain(none, full, current) == current


def test_a_date_keeps_weekday_and_month_where_asked_for(full):
    asked = edited_domain(edit(full, "born", keep=["month", "weekday"]), full, full.domain)
    assert asked["born"].keep == ("weekday", "month")
    lines = editor_lines(full, asked)
    assert lines.set_index("column")["keep"].to_dict() == {
        "who": [], "ill": [], "age": [], "born": ["weekday", "month"], "score": []
    }  # fmt: skip
    assert edited_domain(lines, full, asked) == asked
    none = lines_of(full)
    none["keep"] = None
    assert edited_domain(none, full, asked)["born"].keep == ()


def test_untouched_lines_give_the_domain_back(full):
    assert edited_domain(lines_of(full), full, full.domain) == full.domain


def test_untouched_bounds_keep_all_their_digits():
    frame = pd.DataFrame({"score": [-2.7112854374347726, 3.1000422989145812] * 20, "big": [1e300, 9007199254740996.0] * 20})
    table = read_table(frame)
    assert edited_domain(lines_of(table), table, table.domain) == table.domain
    public = edited_domain(lines_of(table).assign(source="code book"), table, table.domain)
    assert "Stated bounds of 'score', 'big' are the smallest" in doubts(table.with_domain(public), public.names)[0]


@pytest.mark.parametrize(("lower", "upper", "doubted"), [(0, 9, True), (-1, 9, True), (0, 10, False), (-1, 10, False)])
def test_one_end_that_is_a_cell_is_doubted_unless_it_is_zero(lower: float, upper: float, doubted: bool):
    table = read_table(pd.DataFrame({"score": np.arange(100) % 10}))
    stated = table.with_domain(Domain.of([Attribute("score", "numeric", lower=lower, upper=upper, public=True)]))
    assert bool(doubts(stated, ["score"])) == doubted


def test_one_line_per_column_even_of_those_left_out(full):
    smaller = full.domain.project(["ill", "age"])
    lines = editor_lines(full, smaller)
    assert list(lines["column"]) == ["who", "ill", "age", "born", "score"]
    assert list(lines["use"]) == [False, True, True, False, False]
    assert edited_domain(lines, full, smaller) == smaller


def test_what_a_line_does_not_show_of_a_column_stays(full, monkeypatch):
    monkeypatch.setattr(editing, "SHOWN_CATEGORIES", 2)
    rare = replace(full.domain["who"], categories=(*full.domain["who"].categories, "nobody", "zoe"))
    wider = full.domain.replace("who", categories=rare.categories)
    lines = editor_lines(full, wider, ["who"])
    assert lines["categories"].tolist() == [["ann", "bob"]]
    assert lines["values"].tolist() == [rare.size]
    assert edited_domain(lines, full, wider) == wider
    for texts in (["ann"], ["ann", "bea"], ["ann", "bob", "bea"]):
        lines.at[0, "categories"] = texts
        assert edited_domain(lines, full, wider)["who"].categories == (*texts, *rare.categories[2:])
    # Left out and taken in again it is what it was, and not what was read.
    others = full.domain.project(["ill", "age"])
    again = editor_lines(full, others, ["who"], left_out={"who": rare})
    again.at[0, "use"] = True
    assert edited_domain(again, full, others, {"who": rare})["who"] == rare


def test_bounds_bins_and_public_are_taken(full):
    domain = edited_domain(edit(full, "age", lower="0", upper="120", bins=6, source="code book"), full, full.domain)
    age = domain["age"]
    assert (age.lower, age.upper, age.bins, age.integer, age.public) == (0, 120, 6, True, True)
    assert not domain["ill"].public


@pytest.mark.parametrize(
    ("source", "public"), [("code book", True), ("definition", True), (READ_OFF, False), ("", False), (None, False)]
)
def test_what_is_public_is_known_from_elsewhere(full, source, public):
    for changes in ({}, {"kind": "categorical", "categories": [str(age) for age in sorted(full.different("age"))]}):
        assert edited_domain(edit(full, "age", source=source, **changes), full, full.domain)["age"].public is public


def test_what_is_left_empty_is_read_off_the_rows_and_the_rest_is_taken(full):
    public = full.with_domain(full.domain.confirmed())
    low, high, column = (public.domain["age"].lower, public.domain["age"].upper, "age")
    for changes, bounds in (({"lower": "", "upper": "120"}, (low, 120)), ({"lower": "-5", "upper": ""}, (-5, high))):
        found = edited_domain(edit(public, column, bins=None, **changes), full, public.domain)[column]
        assert ((found.lower, found.upper), found.bins, found.public) == (bounds, 10, False)
    cells = edited_domain(edit(public, column, kind="categorical", categories=None), full, public.domain)[column]
    assert (cells.categories, cells.public) == (tuple(sorted(full.different("age"))), False)


def test_of_a_confirmed_column_nothing_is_read_off_the_rows_where_the_line_says_something_else():
    illness = Attribute("illness", "categorical", ("none", "flu", "measles", "HIV"), public=True)
    rows = read_table(b"illness,b\nnone,0\nflu,1\nHIV,0\n", domain=Domain.of([illness, Attribute("b", "truth", (0, 1))]))
    with pytest.raises(DomainError, match="at least one category"):
        edited_domain(edit(rows, "illness", categories=[]), rows, rows.domain)
    gaps = read_table(b"x,b\n1,0\n,1\n5,0\n")
    for missing in (False, True):
        line = edit(gaps, "x", missing=missing, source="code book")
        found = edited_domain(line, gaps, gaps.domain)["x"]
        assert (found.missing, found.public) == (missing, True)


def test_the_unit_is_proposed_shown_and_taken(full):
    lines = lines_of(full).set_index("column")
    assert (lines.at["age", "unit"], lines.at["score", "unit"]) == (1, 0.05)
    assert pd.isna(lines.at["born", "unit"])
    half, none = (edited_domain(edit(full, "score", unit=unit), full, full.domain)["score"] for unit in (0.5, None))
    assert (half.unit, none.unit) == (0.5, None)
    halved = full.domain.replace(half)
    assert edited_domain(editor_lines(full, halved), full, halved) == halved
    as_text = edited_domain(edit(full, "score", kind="categorical"), full, full.domain)
    back = edited_domain(edit(full.with_domain(as_text), "score", kind="numeric"), full, as_text)["score"]
    assert (back.unit, back.public) == (0.05, False)


def test_dates_are_edited_as_dates(full):
    domain = edited_domain(edit(full, "born", lower="1900-01-01", upper="2030-12-31"), full, full.domain)
    assert domain["born"].lower == -25567
    assert lines_of(full).set_index("column").at["born", "lower"] == "1993-03-03"


def test_categories_can_be_added_and_keep_their_type(full):
    lines = edit(full, "who", categories=[*(str(c) for c in full.domain["who"].categories), "zoe"])
    assert edited_domain(lines, full, full.domain)["who"].categories[-1] == "zoe"
    numbers = read_table(b"x,y\n1,a\n2,b\n3,a\n")
    lines = editor_lines(numbers, numbers.domain)
    lines.at[0, "categories"] = ["1", "2", "3", "4", "-5", "²", "+-5"]
    assert edited_domain(lines, numbers, numbers.domain)["x"].categories == (1, 2, 3, 4, -5, "²", "+-5")


def test_a_number_can_become_categories_and_back(full):
    domain = edited_domain(edit(full, "age", kind="categorical"), full, full.domain)
    assert domain["age"].categories == tuple(sorted(full.frame["age"]))
    assert not domain["age"].public
    as_categories = full.with_domain(domain)
    back = edited_domain(edit(as_categories, "age", kind="numeric"), full, domain)
    assert (back["age"].kind, back["age"].lower, back["age"].upper, back["age"].integer) == ("numeric", 18, 75, True)
    for typed in (5.0, 0.5):
        of = edited_domain(edit(as_categories, "age", kind="numeric", unit=typed), full, domain)
        assert of["age"].unit == typed


@pytest.mark.parametrize("column", ["who", "age", "born", "score"])
@pytest.mark.parametrize("missing", [False, True])
def test_whether_cells_may_be_empty_is_what_the_line_says(full, column, missing):
    domain = edited_domain(edit(full, column, missing=missing), full, full.domain)
    assert [a.missing for a in domain.attributes] == [
        missing if a.name == column else a.missing for a in full.domain.attributes
    ]


def test_numbers_that_are_typed_as_categories_are_those_of_the_data():
    full = read_table(pd.DataFrame({"score": np.arange(40) / 2, "x": ["a", "b"] * 20}))
    lines = edit(full, "score", kind="categorical", categories=["1.5", "4.0", "other"])
    assert edited_domain(lines, full, full.domain)["score"].categories == (1.5, 4.0, "other")


def test_a_date_can_become_categories_and_back():
    full = read_table(b"born,x\n2001-02-03T10:00,a\n1999-12-31,b\n,a\n1999-12-31T23:59,b\n")
    domain = edited_domain(edit(full, "born", kind="categorical"), full, full.domain)
    assert domain["born"].categories == ("1999-12-31", "2001-02-03")
    as_categories = full.with_domain(domain)
    assert as_categories.codes[:, 0].tolist() == [1, 0, 2, 0]
    assert edited_domain(editor_lines(full, domain), full, domain) == domain
    back = edited_domain(edit(as_categories, "born", kind="date"), full, domain)
    assert (back["born"].kind, editor_lines(full, back).at[0, "lower"]) == ("date", "1999-12-31")


def test_bounds_of_one_day_lie_a_day_apart_from_it():
    full = read_table(pd.DataFrame({"when": ["2024-05-01"] * 4, "x": ["a", "b"] * 2}))
    day = Attribute("when", "categorical", ("2024-05-01",))
    table = full.with_domain(full.domain.replace(day))
    found = edited_domain(edit(table, "when", kind="date"), full, table.domain)["when"]
    assert found.bounds == ("2024-04-30", "2024-05-02")


def test_a_unit_that_is_read_off_the_rows_is_not_public_even_if_the_bounds_are():
    halves = read_table(b"x\n1.5\n2\n3.5\n9.5\n").with_domain(
        Domain.of([Attribute("x", "categorical", (1.5, 2.0, 3.5, 9.5))])
    )
    known = halves.with_domain(halves.domain.confirmed())
    changes = {"kind": "numeric", "lower": "0", "upper": "10", "source": "code book"}
    found = edited_domain(edit(known, "x", **changes), halves, known.domain)["x"]
    assert (found.kind, found.unit, found.public) == ("numeric", 0.5, False)


@pytest.mark.parametrize(
    ("column", "changes"),
    [
        ("age", {"kind": "categorical"}),  # its categories are read off the rows
        ("age", {"lower": ""}),
        ("born", {"upper": ""}),
        ("age", {"upper": "", "bins": 3}),
    ],
)
def test_what_is_read_off_the_rows_is_not_public_even_if_the_column_was(full, column, changes):
    public = full.with_domain(full.domain.confirmed())
    domain = edited_domain(edit(public, column, **changes), full, public.domain)
    assert not domain[column].public
    assert all(a.public for a in domain.attributes if a.name != column)
    shown = editor_lines(full, domain)
    shown.loc[shown["column"] == column, "source"] = "code book"
    assert edited_domain(shown, full, domain).is_public  # once it has been shown it can be confirmed


def test_the_table_can_be_encoded_over_an_edited_domain(full):
    domain = edited_domain(edit(full, "score", lower="0", upper="10", bins=2), full, full.domain)
    codes = full.with_domain(domain).codes[:, domain.index("score")]
    assert list(codes[:5]) == [0, 0, 2, 1, 0]  # the third cell is empty: its own code


@pytest.mark.parametrize(
    ("column", "changes", "said"),
    [
        ("age", {"lower": "young"}, "'young' is not a number"),
        ("age", {"lower": "1_0"}, "'1_0' is not a number"),
        ("age", {"lower": "\N{ARABIC-INDIC DIGIT ONE}"}, "is not a number"),
        ("born", {"upper": "tomorrow-ish"}, "date such as"),
        ("born", {"lower": "1993-01-01T00:00Z"}, "date such as"),
        ("age", {"lower": "90", "upper": "10"}, "lower < upper"),
        ("age", {"lower": "-inf"}, "finite"),
        ("score", {"unit": -1.0}, "unit = -1"),
        ("score", {"unit": 100.0, "lower": "1", "upper": "9"}, "no multiple of 100"),
        ("who", {"kind": "numeric"}, "no numeric values"),
        ("age", {"kind": "date", "lower": "", "upper": ""}, "no date values; write dates as 2024-12-31"),
        ("who", {"kind": "truth"}, "exactly two values"),
        ("who", {"kind": None}, "choose a kind"),
    ],
)
def test_what_cannot_be_understood_is_named(full, column, changes, said):
    with pytest.raises(DomainError, match=said) as caught:
        edited_domain(edit(full, column, **changes), full, full.domain)
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("column", "typed", "said"),
    [
        ("who", {"lower": "20000"}, "'who': a lower bound is for numbers and dates: empty the cell, or choose"),
        ("who", {"upper": "1930-01-01"}, "an upper bound is for numbers and dates"),
        ("ill", {"unit": 0.5}, "a unit is for numbers"),
        ("born", {"unit": 0.5}, "a unit is for numbers"),
        ("ill", {"bins": 7}, "a number of bins is for numbers and dates"),
        ("score", {"keep": ["month"]}, "keeping weekdays, months or days of the month is for dates"),
        ("age", {"categories": ["31"]}, "a list of categories is for categories and yes/no columns"),
        ("age", {"kind": "categorical", "lower": "1"}, "a lower bound is for numbers and dates"),
    ],
)
def test_nothing_that_was_typed_for_another_kind_is_thrown_away(full, column, typed, said):
    with pytest.raises(DomainError, match=said) as caught:
        edited_domain(edit(full, column, **typed), full, full.domain)
    assert caught.value.column == column


def test_what_is_left_of_the_last_kind_of_a_column_is_no_fault(full):
    for column, kind in (("age", "categorical"), ("born", "categorical"), ("ill", "categorical")):
        assert edited_domain(edit(full, column, kind=kind), full, full.domain)[column].kind == kind
    spaces = edited_domain(edit(full, "who", lower=" ", upper=None, unit=float("nan"), bins=pd.NA), full, full.domain)
    assert spaces == full.domain


def test_no_column_in_use(full):
    lines = lines_of(full).assign(use=False)
    with pytest.raises(DomainError, match="tick at least one"):
        edited_domain(lines, full, full.domain)


def test_a_category_taken_away_that_the_data_hold_is_refused_by_the_table(full):
    lines = edit(full, "ill", kind="categorical", categories=["no"])
    with pytest.raises(DomainError, match="'yes'"):
        full.with_domain(edited_domain(lines, full, full.domain))


def test_days_of_every_year_stay_as_they_are_in_the_editor():
    days = ["0001-01-01", "0099-12-31", "1990-05-05", "9999-12-31"]
    table = read_table(pd.DataFrame({"when": days * 5, "age": range(20)}))
    lines = editor_lines(table, table.domain)
    assert lines.loc[0, ["lower", "upper"]].tolist() == ["0001-01-01", "9999-12-31"]
    assert edited_domain(lines, table, table.domain) == table.domain


@pytest.mark.parametrize(
    "text", ["01.02.2023", "1,5", "1/5", "19-01-01", "2023.5", "today", "2023-02-01 12:00", "0000-01-01"]
)
def test_what_could_be_another_day_is_refused_as_a_bound(text):
    table = read_table(pd.DataFrame({"when": ["2020-01-01", "2024-12-31"] * 5}))
    lines = editor_lines(table, table.domain)
    lines.loc[0, "lower"] = text
    with pytest.raises(DomainError, match="'when'"):
        edited_domain(lines, table, table.domain)
