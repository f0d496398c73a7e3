"""Descriptions of other tools become domains and back; what they cannot say is never made up, and never public."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.cli.commands import FORMS as IN_A_TERMINAL
from dpsyn.data import _read_books
from dpsyn.data.code_books import FORMS, code_book, code_book_text, read_code_book
from dpsyn.domain import Attribute, Domain
from dpsyn.errors import DataError, DomainError, DpsynError, ParameterError

DOMAIN = Domain.of(
    [
        Attribute("sex", "categorical", ("f", "m", "d"), public=True),
        Attribute("smokes", "truth", ("no", "yes")),
        Attribute("member", "truth", (False, True)),
        Attribute("code", "categorical", (1, 2, 9), missing=True),
        Attribute("age", "numeric", lower=0, upper=120, unit=1),
        Attribute("wage", "numeric", lower=0, upper=500, unit=0.25, missing=True),
        Attribute("dose", "numeric", lower=0.5, upper=2.5, bins=7),
        Attribute("born", "date", lower=0, upper=10_000, keep=("month",)),
    ]
)
ROWS = dpsyn.read_table(
    DOMAIN.decode(
        np.random.default_rng(0).integers(0, DOMAIN.shape, (60, len(DOMAIN))).astype(np.int32), np.random.default_rng(1)
    )
)


def said_again(domain: Domain) -> Domain:
    """The domain without what none of the forms says."""
    return Domain.of(
        Attribute(a.name, a.kind, a.categories, a.lower, a.upper, a.unit, missing=a.missing) for a in domain.attributes
    )


def test_json_schema_and_back_without_rows() -> None:
    written, notes = code_book(DOMAIN, "json-schema")
    again, missing = read_code_book(json.dumps(written)).domain()
    assert again == said_again(DOMAIN)
    assert missing == ()
    assert [note.partition(" cannot say ")[2].split()[0] for note in notes[:-1]] == ["the", "which", "how", "what"]
    assert notes[-1].startswith("Nobody confirmed smokes, member, code, age, wage, dose, born as public")
    assert not any("Nobody" in note for note in code_book(DOMAIN.confirmed(), "json-schema")[1])


@pytest.mark.parametrize(("unit", "told"), [(0.1, True), (0.3, True), (1.25, False), (3, False), (None, False)])
def test_units_that_floats_do_not_divide_are_told(unit: float | None, told: bool) -> None:
    written, notes = code_book(Domain.of([Attribute("x", "numeric", lower=0, upper=30, unit=unit)]), "json-schema")
    rows = [{"x": step * (unit or 0.7)} for step in range(10)]
    assert all(jsonschema.Draft202012Validator(written).is_valid(row) for row in rows) != told
    said = (
        "json-schema cannot say that 0.3 is a multiple of 0.1 to all who read it: some divide floats, and refuse such rows."
    )
    assert (said in notes) == told


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("1677-09-22", "2262-04-11", False),
        ("1677-09-21", "2000-01-01", True),
        ("2000-01-01", "2262-04-12", True),
    ],
)
def test_dates_that_nanoseconds_do_not_reach_are_told(first: str, last: str, told: bool) -> None:
    _, notes = code_book(Domain.of([Attribute("x", "date", lower=first, upper=last)]), "pandera")
    moments = [np.datetime64(day, "D") for day in (first, last)]
    ends = pd.Timestamp.min, pd.Timestamp.max
    assert told == (not all(ends[0] <= pd.Timestamp(moment) <= ends[1] for moment in moments))
    assert any(note.startswith("pandera cannot say that there are dates before") for note in notes) == told


def test_pandera_and_back_without_rows() -> None:
    written, notes = code_book(DOMAIN, "pandera")
    again, missing = read_code_book(json.loads(json.dumps(written))).domain()
    any_wage = DOMAIN.replace(Attribute("wage", "numeric", lower=0, upper=500, missing=True))
    assert again == said_again(any_wage)
    assert missing == ()
    assert notes[0] == "pandera cannot say units other than 1."


def test_json_schema_admits_the_rows_of_the_domain_and_no_others() -> None:
    schema, _ = code_book(DOMAIN, "json-schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {
        "sex": "d",
        "smokes": "no",
        "member": True,
        "code": None,
        "age": 7,
        "wage": 2.25,
        "dose": 0.5,
        "born": "1971-01-01",
    }
    jsonschema.validate(good, schema)
    for name, value in {"sex": "x", "member": "yes", "code": 3, "age": 121, "wage": 2.3, "dose": None}.items():
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(good | {name: value}, schema)


def test_sdv_keeps_the_kinds_and_takes_the_rest_off_the_rows() -> None:
    written, notes = code_book(DOMAIN, "sdv")
    assert {name: column["sdtype"] for name, column in written["columns"].items()} == {
        "sex": "categorical", "smokes": "categorical", "member": "boolean", "code": "categorical", "age": "numerical",
        "wage": "numerical", "dose": "numerical", "born": "datetime",
    }  # fmt: skip
    assert "which values" in notes[0]
    assert notes[1] == "sdv cannot say units other than 1."
    again, missing = read_code_book(written).domain(ROWS)
    assert [a.kind for a in again.attributes] == [a.kind for a in DOMAIN.attributes]
    assert again["age"].lower == ROWS.frame["age"].min()
    assert again["age"].unit == 1
    assert "sex, smokes, code, age, wage, dose, born" in missing[-1]
    assert "read off the rows" in missing[-1]
    ROWS.with_domain(again)
    with pytest.raises(DomainError, match="'sex': its values cannot be taken from the description"):
        read_code_book(written).domain()


def test_what_is_read_is_never_public() -> None:
    for form in FORMS:
        text, notes = code_book_text(DOMAIN.confirmed(), form)
        assert not any(a.public for a in read_code_book(text).domain(ROWS)[0].attributes)
        assert f"{form} cannot say which columns are known without the rows." in notes


def test_the_command_has_the_same_forms() -> None:
    assert ("dpsyn", *FORMS) == IN_A_TERMINAL
    with pytest.raises(ParameterError, match="'sdv', 'json-schema', 'pandera'"):
        code_book(DOMAIN, "avro")


SDV = {
    "primary_key": "key",
    "alternate_keys": ["card"],
    "columns": {
        "key": {"sdtype": "numerical"},
        "card": {"sdtype": "categorical"},
        "who": {"sdtype": "id", "regex_format": "U_[0-9]{3}"},
        "town": {"sdtype": "categorical", "pii": True},
        "mail": {"sdtype": "email"},
        "code": {"sdtype": "categorical"},
        "seen": {"sdtype": "datetime", "datetime_format": "%d %b %Y %H:%M"},
    },
}


@pytest.mark.parametrize("found", [SDV, {"METADATA_SPEC_VERSION": "V1", "tables": {"people": SDV}, "relationships": []}])
def test_sdv_leaves_out_what_names_people(found: Mapping[str, Any]) -> None:
    book = read_code_book(json.dumps(found))
    assert list(book.columns) == ["code", "seen"]
    assert list(book.left_out) == ["key", "card", "who", "town", "mail"]
    assert "'email'" in book.left_out["mail"]
    frame = pd.DataFrame({"code": [3, 1, 1, 2], "seen": ["2020-01-01 10:00", "2020-01-02", "2020-02-05", "no"]})
    domain, notes = book.domain(dpsyn.read_table(frame))
    assert domain["code"].categories == (1, 2, 3)  # numbers in the rows, and categories by what is said
    assert (domain["seen"].kind, domain["seen"].reach) == ("date", "2020-01-01 to 2020-02-05")
    assert sum("only the day" in note for note in notes) == 1
    assert sum("'%d %b %Y %H:%M', is not used: write them as 2024-12-31" in note for note in notes) == 1
    assert sum("was left out" in note for note in notes) == 5


DATES = {"columns": {"c": {"sdtype": "datetime"}}}, {"properties": {"c": {"type": "string", "format": "date"}}}


@pytest.mark.parametrize("found", DATES)
@pytest.mark.parametrize("cells", [np.linspace(0.5, 891.5, 40), [20240101, 20240131, 20241231, 20240101], [1, None] * 20])
def test_numbers_are_no_dates_whatever_a_description_says(found: Mapping[str, Any], cells: Any) -> None:
    rows = dpsyn.read_table(pd.DataFrame({"c": cells}))
    with pytest.raises(DomainError, match="'c' holds numbers, and the description says dates: write them as 2024") as fault:
        read_code_book(found).domain(rows)
    assert fault.value.column == "c"


@pytest.mark.parametrize("found", DATES)
def test_texts_that_are_no_dates_are_refused_in_words_alone(found: Mapping[str, Any]) -> None:
    rows = dpsyn.read_table(pd.DataFrame({"c": ["soon", "late"] * 20}))
    with pytest.raises(DomainError, match="'c' holds no date values; write dates as 2024-12-31, or keep its kind"):
        read_code_book(found).domain(rows)


def test_of_several_tables_one_must_be_chosen() -> None:
    with pytest.raises(DataError, match="'a', 'b'"):
        read_code_book({"tables": {"a": SDV, "b": SDV}})


NODES: dict[str, tuple[dict[str, Any], Attribute]] = {
    "const": (
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}, {"type": "null"}]},
        Attribute("x", "categorical", ("a", "b"), missing=True),
    ),
    "reference": ({"$ref": "#/$defs/Grade", "description": "…"}, Attribute("x", "categorical", (1, 2, 3))),
    "reference in parts": ({"allOf": [{"$ref": "#/$defs/Grade"}], "default": 1}, Attribute("x", "categorical", (1, 2, 3))),
    "reference by address": (
        {"allOf": [{"$ref": "#/%24defs/a%20b~1100%25"}, True, {"$ref": "#/$defs/any"}]},
        Attribute("x", "categorical", (1, 2)),
    ),
    "null": ({"enum": ["u", None]}, Attribute("x", "categorical", ("u",), missing=True)),
    "truth": ({"enum": ["Yes", "No"]}, Attribute("x", "truth", ("No", "Yes"))),
    "boolean": ({"type": "boolean"}, Attribute("x", "truth", (False, True))),
    "boolean or null": ({"type": ["boolean", "null"]}, Attribute("x", "categorical", (False, True), missing=True)),
    "true first": ({"enum": [True, False]}, Attribute("x", "truth", (False, True))),
    "exclusive": (
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10},
        Attribute("x", "numeric", lower=1, upper=9, unit=1),
    ),
    "narrower": (
        {"type": "integer", "minimum": 3, "exclusiveMinimum": 0, "maximum": 9, "exclusiveMaximum": 20},
        Attribute("x", "numeric", lower=3, upper=9, unit=1),
    ),
    "optional": (
        {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}], "title": "X"},
        Attribute("x", "numeric", lower=0, upper=1, missing=True),
    ),
    "thousands": (
        {"type": "number", "minimum": 0, "maximum": 9000, "multipleOf": 1000},
        Attribute("x", "numeric", lower=0, upper=9000, unit=1000),
    ),
    "date": (
        {"type": "string", "format": "date", "formatMinimum": "1970-01-01", "formatMaximum": "1970-01-31"},
        Attribute("x", "date", lower=0, upper=30),
    ),
    "bounds beside alternatives": (
        {"minimum": 0, "maximum": 20, "anyOf": [{"type": "integer", "maximum": 30}, {"type": "null"}]},
        Attribute("x", "numeric", lower=0, upper=20, unit=1, missing=True),
    ),
    "bounds in parts": (
        {"allOf": [{"type": "integer"}, {"exclusiveMinimum": 0}, {"minimum": -3, "maximum": 20}], "maximum": 40},
        Attribute("x", "numeric", lower=1, upper=20, unit=1),
    ),
    "bounds without a type": ({"minimum": 0, "maximum": 20}, Attribute("x", "numeric", lower=0, upper=20)),
    "bounds beside a reference": (
        {"$ref": "#/$defs/Size", "maximum": 9, "minimum": -5, "multipleOf": 2},
        Attribute("x", "numeric", lower=0, upper=9, unit=6),
    ),
    "days beside alternatives": (
        {
            "anyOf": [{"type": "string", "format": "date", "formatMaximum": "1970-03-01"}, {"type": "null"}],
            "allOf": [{"formatMinimum": "1970-01-01"}, {"formatMaximum": "1970-01-31"}],
        },
        Attribute("x", "date", lower=0, upper=30, missing=True),
    ),
    "values beside a type": (
        {"type": "string", "anyOf": [{"const": "a", "title": "A"}, {"const": "b"}, {"enum": ["b", "c"]}]},
        Attribute("x", "categorical", ("a", "b", "c")),
    ),
    "values in one alternative alone": (
        {"type": "string", "oneOf": [{"const": "a"}, {"enum": ["d", "b"]}, {"enum": ["b", "c"]}]},
        Attribute("x", "categorical", ("a", "d", "c")),
    ),
    "values in several lists": (
        {"allOf": [{"enum": [1, 2, 3, None]}, {"enum": [3, None, 2.0]}, {"type": ["number", "null"]}]},
        Attribute("x", "categorical", (2, 3), missing=True),
    ),
}


@pytest.mark.parametrize("name", NODES)
def test_properties_of_json_schema(name: str) -> None:
    node, expected = NODES[name]
    defs = {
        "Grade": {"type": "integer", "enum": [1, 2, 3]},
        "Size": {"type": "integer", "minimum": 0, "maximum": 90, "multipleOf": 1.5},
        "a b/100%": {"enum": [1, 2]},
        "any": True,
    }
    row = {"$defs": defs, "type": "object", "properties": {"x": node}, "required": ["x"]}
    assert read_code_book(row).domain()[0]["x"] == expected
    rows = {"$defs": defs | {"Row": row}, "type": "array", "items": {"$ref": "#/$defs/Row"}}
    assert read_code_book(rows).domain()[0]["x"] == expected


def test_what_is_not_required_may_be_empty() -> None:
    found = {"properties": {"a": {"enum": [1, 2]}, "b": {"enum": [1, 2]}}, "required": ["a"]}
    domain, _ = read_code_book(found).domain()
    assert [a.missing for a in domain.attributes] == [False, True]


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ({"type": "integer", "minimum": 0}, "its bounds"),
        ({"type": "string"}, "what its values are"),
        ({}, "what its values are"),
        (True, "what its values are"),
        ({"anyOf": [True, {"enum": ["x"]}]}, "what its values are"),
        ({"type": "array", "items": {}}, "single values, not 'array'"),
        ({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 3}, {"enum": ["x"]}]}, "what its values are"),
        ({"type": "integer", "minimum": "0", "maximum": 2}, "must be a number"),
        ({"type": "number", "minimum": -(10**400), "maximum": 2}, "at most 300 digits, not -1000"),
        ({"type": "string", "format": "date", "formatMinimum": "soon"}, "'soon' is not a date"),
        ({"enum": [[1], [2]]}, "use texts, numbers or truth values"),
    ],
)
def test_what_is_not_said_is_not_made_up(node: Any, why: str) -> None:
    with pytest.raises(DomainError, match=why) as fault:
        read_code_book({"properties": {"odd": node}}).domain()
    assert fault.value.column == "odd"


def test_truth_values_are_said_and_an_empty_cell_against_the_description_is_told() -> None:
    rows = dpsyn.read_table(pd.DataFrame({"in": [True, False] * 20, "on": [pd.NaT, pd.Timestamp("2024-01-01")] * 20}))
    node = {"type": "string", "format": "date", "formatMinimum": "2020-01-01", "formatMaximum": "2025-01-01"}
    book = read_code_book(
        {"type": "object", "properties": {"in": {"type": "boolean"}, "on": node}, "required": ["in", "on"]}
    )
    domain, notes = book.domain(rows)
    assert domain["in"] == Attribute("in", "truth", (False, True))
    assert domain["on"].missing
    assert notes[0] == "Column 'on' is never empty by the description, and is in some rows: it may be empty."
    assert [note for note in notes if "'in'" in note or " in:" in note] == []
    assert book.project(["in"]).domain(rows)[1] == ()


def test_where_no_column_is_required_the_rows_say_which_may_be_empty() -> None:
    flag = {"type": "boolean"}
    columns = {"in": flag, "on": flag, "or": {"type": ["boolean", "null"]}}
    rows = dpsyn.read_table(pd.DataFrame({"in": [True, False] * 20, "on": [None, True] * 20, "or": [True, False] * 20}))
    for more in ({}, {"required": []}):
        book = read_code_book({"properties": columns, **more})
        assert [book.domain()[0][name].missing for name in columns] == [False, False, True]
        assert book.domain()[1] == ("Whether in, on may be empty is not said, and was taken as no.",)
        domain, notes = book.domain(rows)
        assert [domain[name].missing for name in columns] == [False, True, True]
        assert notes == ("Not all of on could be taken from the description: what is missing was read off the rows.",)


@pytest.mark.parametrize("form", ["sdv", "json-schema", "pandera"])
@pytest.mark.parametrize(
    ("values", "lost"), [((False, True), False), ((True, False), True), (("no", "yes"), False), (("-", "+"), True)]
)
def test_truth_values_that_a_form_cannot_say_are_told(form: str, values: tuple[Any, Any], lost: bool) -> None:
    book, notes = code_book(Domain.of([Attribute("x", "truth", values)]), form)
    assert (f"{form} cannot say which of two values is the true one." in notes) == lost
    if form != "sdv":  # which has the values from rows
        assert (read_code_book(book).domain()[0]["x"] == Attribute("x", "truth", values)) != lost


def test_rows_fill_in_what_is_missing_and_an_empty_cell_is_no_secret() -> None:
    rows = dpsyn.read_table(pd.DataFrame({"n": [4, 9, 30, None], "word": ["a", "b", "a", "b"], "free": [1, 2, 3, 4]}))
    columns = {"n": {"type": "integer", "minimum": 0}, "word": {"enum": ["a", "b", "c"]}}
    domain, notes = read_code_book({"properties": columns, "required": list(columns)}).domain(rows)
    assert domain == Domain.of(
        [
            Attribute("n", "numeric", lower=0, upper=30, unit=1, missing=True),
            Attribute("word", "categorical", ("a", "b", "c")),
        ]
    )
    assert notes == (
        "Column 'n' is never empty by the description, and is in some rows: it may be empty.",
        "Not all of n could be taken from the description: what is missing was read off the rows.",
    )
    book = read_code_book({"properties": {"n": True, "word": {"$ref": "#/definitions/a%20b"}}, "definitions": {"a b": True}})
    assert book.domain(rows)[0] == rows.domain.project(["n", "word"])
    with pytest.raises(DomainError, match="no column 'gone'"):
        read_code_book({"properties": {"gone": {"enum": [1]}}}).domain(rows)


@pytest.mark.parametrize("low", [None, 0])
@pytest.mark.parametrize("high", [None, 90])
@pytest.mark.parametrize("day", [False, True])
def test_a_bound_that_a_description_does_not_say_is_told_to_be_read_off(
    low: int | None, high: int | None, day: bool
) -> None:
    cells = pd.to_datetime(["1970-02-01", "1970-03-01"]) if day else [31, 59]
    words = ("formatMinimum", "formatMaximum") if day else ("minimum", "maximum")
    said: dict[str, Any] = {"type": "string", "format": "date"} if day else {"type": "integer"}
    for word, bound in zip(words, (low, high), strict=True):
        if bound is not None:
            said[word] = str(np.datetime64(bound, "D")) if day else bound
    domain, notes = read_code_book({"properties": {"age": said}}).domain(dpsyn.read_table(pd.DataFrame({"age": cells})))
    assert (domain["age"].lower, domain["age"].upper) == (31 if low is None else low, 59 if high is None else high)
    told = "Not all of age could be taken from the description: what is missing was read off the rows."
    assert (told in notes) is (low is None or high is None)


@pytest.mark.parametrize(
    "book",
    [
        {"columns": {"price": {"sdtype": "numerical", "computer_representation": "Float"}}},
        {"properties": {"price": {"type": "number", "minimum": 0, "maximum": 100}}},
        {"properties": {"price": {"minimum": 0, "maximum": 100}}},
        {"schema_type": "dataframe", "columns": {"price": {"dtype": "float64", "checks": {"ge": 0, "le": 100}}}},
    ],
)
def test_a_type_of_real_numbers_says_nothing_of_their_unit(book: Mapping[str, Any]) -> None:
    for cells, unit in ((np.arange(150, 990) / 100, 0.01), (np.sqrt(np.arange(2, 60)), None)):
        domain, notes = read_code_book(book).domain(dpsyn.read_table(pd.DataFrame({"price": cells})))
        assert domain["price"].unit == unit
        read_off = unit is not None or "sdtype" in str(book)
        told = "Not all of price could be taken from the description: what is missing was read off the rows."
        assert notes == (told,) * read_off
    if "sdtype" not in str(book):
        assert read_code_book(book).domain()[0]["price"].unit is None


@pytest.mark.parametrize(
    "book",
    [
        {"columns": {"pay": {"sdtype": "numerical", "computer_representation": "Int64"}}},
        {"properties": {"pay": {"type": "integer"}}},
        {"properties": {"pay": {"type": "integer", "minimum": 0}}},
        {"properties": {"pay": {"type": "integer", "minimum": 0, "maximum": 9000}}},
        {"properties": {"pay": {"type": "integer", "multipleOf": 25}}},
        {"schema_type": "dataframe", "columns": {"pay": {"dtype": "int64"}}},
    ],
)
def test_whole_numbers_without_bounds_have_the_unit_of_the_rows(book: Mapping[str, Any]) -> None:
    read = "maximum" not in str(book)
    stated = 25 if "multipleOf" in str(book) else None if read else 1
    for cells, unit in ((np.arange(300, 9000, 100), 100), (np.arange(300, 900, 7), 1), (np.arange(300, 900, 0.5), 1)):
        domain, notes = read_code_book(book).domain(dpsyn.read_table(pd.DataFrame({"pay": cells})))
        assert domain["pay"].unit == (stated or unit)
        told = "Not all of pay could be taken from the description: what is missing was read off the rows."
        assert (told in notes) is read
    # Few values, too, which would be categories if nothing were said.
    few = dpsyn.read_table(pd.DataFrame({"pay": np.arange(100, 1000, 100).repeat(6)}))
    assert read_code_book(book).domain(few)[0]["pay"].unit == (stated or 100)


def test_bounds_that_cannot_have_the_unit_of_the_rows_have_none() -> None:
    book = read_code_book({"properties": {"x": {"type": "number", "minimum": 0.1, "maximum": 0.9}}})
    assert book.domain(dpsyn.read_table(pd.DataFrame({"x": range(40)}))) == (book.domain()[0], ())


PANDERA: dict[str, tuple[dict[str, Any], Attribute]] = {
    "0.35": (
        {"dtype": "int64", "in_range": {"min_value": 0, "max_value": 9, "include_min": False, "include_max": True}},
        Attribute("x", "numeric", lower=1, upper=9, unit=1),
    ),
    "0.35, texts": ({"dtype": "string[python]", "isin": ["x", "y"]}, Attribute("x", "categorical", ("x", "y"))),
    "now": (
        {
            "dtype": "int64",
            "checks": [
                {"value": 118, "options": {"check_name": "greater_than_or_equal_to"}},
                {"value": 200, "options": {"check_name": "less_than"}},
            ],
        },
        Attribute("x", "numeric", lower=118, upper=199, unit=1),
    ),
    "before": (
        {"dtype": "float64", "nullable": True, "checks": {"in_range": {"min_value": 0, "max_value": 9.5}}},
        Attribute("x", "numeric", lower=0, upper=9.5, missing=True),
    ),
    "long ago": ({"pandas_dtype": "str", "checks": {"isin": ["foo", "u"]}}, Attribute("x", "categorical", ("foo", "u"))),
    "options": (
        {"dtype": "int64", "checks": {"greater_than": {"value": 0, "options": {}}, "less_than_or_equal_to": 9}},
        Attribute("x", "numeric", lower=1, upper=9, unit=1),
    ),
    "narrower": (
        {"dtype": "int64", "checks": {"ge": -5, "in_range": {"min_value": 0, "max_value": 20}, "less_than": 13, "le": 14}},
        Attribute("x", "numeric", lower=0, upper=12, unit=1),
    ),
    "narrower, excluded": (
        {"dtype": "int64", "checks": {"gt": -1, "ge": -10, "lt": 13}},
        Attribute("x", "numeric", lower=0, upper=12, unit=1),
    ),
    "one check twice": (
        {
            "dtype": "float64",
            "le": 9,
            "checks": [{"value": each, "options": {"check_name": "greater_than_or_equal_to"}} for each in (2, 1)],
        },
        Attribute("x", "numeric", lower=2, upper=9),
    ),
    "narrower days": (
        {"dtype": "date", "checks": {"ge": "1970-01-01", "gt": "1970-01-01", "le": "1970-02-01", "lt": "1970-01-11"}},
        Attribute("x", "date", lower=1, upper=9),
    ),
    "values of two checks": (
        {"dtype": "str", "checks": [{"value": v, "options": {"check_name": "isin"}} for v in (["a", "b", "c"], ["c", "b"])]},
        Attribute("x", "categorical", ("b", "c")),
    ),
    "days": (
        {"dtype": "datetime64[ns]", "checks": {"in_range": {"min_value": "1970-01-01 00:00:00", "max_value": "1970-01-11"}}},
        Attribute("x", "date", lower=0, upper=10),
    ),
}


@pytest.mark.parametrize("name", PANDERA)
def test_checks_of_pandera(name: str) -> None:
    column, expected = PANDERA[name]
    assert read_code_book({"schema_type": "dataframe", "columns": {"x": column}}).domain()[0]["x"] == expected


@pytest.mark.parametrize("checks", [{"ge": 0, "lt": 9}, {"between": {"min_value": 0, "max_value": 8}}])
def test_short_names_of_bounds_of_pandera(checks: dict[str, Any]) -> None:
    for column in ({"dtype": "int64", "checks": checks}, {"dtype": "int64", **checks}):
        domain, notes = read_code_book({"schema_type": "dataframe", "columns": {"x": column}}).domain()
        assert domain["x"] == Attribute("x", "numeric", lower=0, upper=8, unit=1)
        assert notes == ()


def pandera(**column: Any) -> dict[str, Any]:
    return {"schema_type": "dataframe", "columns": {"x": column}}


def node(**said: Any) -> dict[str, Any]:
    return {"properties": {"x": said}, "required": ["x"]}


WHOLE = {"type": "integer", "minimum": 0, "maximum": 9}
DIGITS = Attribute("x", "numeric", lower=0, upper=9, unit=1)
UNUSED: dict[str, tuple[dict[str, Any], Attribute, list[str]]] = {
    "SDV": (
        {"columns": {"x": {"sdtype": "categorical", "order": ["b", "a"]}}},
        Attribute("x", "categorical", ("a", "b", "c")),
        ["the order that it gives its values is not used"],
    ),
    "pandera": (
        pandera(dtype="int64", checks={"in_range": {"min_value": 0, "max_value": 9}, "notin": [3], "not_equal_to": 4}),
        DIGITS,
        ["its check 'notin' is not used", "its check 'not_equal_to' is not used"],
    ),
    "pandera 0.35": (
        pandera(dtype="string[python]", isin=["a", "b"], notin=[], str_length={"min_value": 1, "max_value": 1}, title=None),
        Attribute("x", "categorical", ("a", "b")),
        ["its check 'str_length' is not used"],
    ),
    "pandera, warnings": (
        pandera(
            dtype="int64",
            checks=[
                {"value": 0, "options": {"check_name": "ge"}},
                {"value": 5, "options": {"check_name": "greater_than_or_equal_to", "raise_warning": True}},
                {"min_value": 1, "max_value": 2, "options": {"check_name": "in_range", "raise_warning": True}},
            ],
            le={"raise_warning": False, "ignore_na": True, "max_value": 9},
            isin={"allowed_values": [1], "raise_warning": True},
        ),
        DIGITS,
        [
            "its check 'isin (warns only)' is not used",
            "its check 'greater_than_or_equal_to (warns only)' is not used",
            "its check 'in_range (warns only)' is not used",
        ],
    ),
    "pandera, own": (
        pandera(
            dtype="str", checks=[{"value": ["a"], "options": {"check_name": "isin"}}, {"options": {"check_name": "odd"}}]
        ),
        Attribute("x", "categorical", ("a",)),
        ["its check 'odd' is not used"],
    ),
    "not": (node(**WHOLE, **{"not": {"const": 3}}), DIGITS, ["what 'not' says of it is not used"]),
    "in a part": (
        node(anyOf=[{"enum": ["a", "b"], "not": {"const": "a"}}, {"type": "null"}]),
        Attribute("x", "categorical", ("a", "b"), missing=True),
        ["what 'not' says of it is not used"],
    ),
    "beside parts": (
        node(anyOf=[WHOLE, {"type": "null"}], **{"not": {"const": 3}}),
        Attribute("x", "numeric", lower=0, upper=9, unit=1, missing=True),
        ["what 'not' says of it is not used"],
    ),
    "nullable": (node(**WHOLE, nullable=True), DIGITS, ["what 'nullable' says of it is not used"]),
    "exclusive": (node(**WHOLE, exclusiveMinimum=True), DIGITS, ["what 'exclusiveMinimum' says of it is not used"]),
    "values of another type": (
        node(type="integer", enum=[0, 1, None, "x", 2.0, True]),
        Attribute("x", "categorical", (0, 1, 2.0)),
        ["of its values those are left out that its type excludes: null, 'x', True"],
    ),
    "values and bounds": (
        node(enum=[0, 1, 30], maximum=20),
        Attribute("x", "categorical", (0, 1, 30)),
        ["what 'maximum' says of it is not used"],
    ),
    "texts and tests": (
        node(enum=["ab", "c"], minLength=2, maximum=20, allOf=[{"pattern": "^a"}]),
        Attribute("x", "categorical", ("ab", "c")),
        ["what 'pattern' says of it is not used", "what 'minLength' says of it is not used"],
    ),
    "parts beside": (
        node(**WHOLE, anyOf=[{"multipleOf": 3}, {"multipleOf": 5}]),
        DIGITS,
        ["what is said of it in parts was not put together"],
    ),
    "anything beside": (
        node(**WHOLE, anyOf=[{"maximum": 3}, {"description": "the others"}]),
        DIGITS,
        ["what is said of it in parts was not put together"],
    ),
    "nothing beside": (node(**WHOLE, anyOf=[{"title": "one"}, {"title": "other"}]), DIGITS, []),
    "nothing": (node(**WHOLE, exclusiveMinimum=False, exclusiveMaximum=False, nullable=False), DIGITS, []),
}


@pytest.mark.parametrize("name", UNUSED)
def test_what_a_description_says_and_is_not_used_is_told(name: str) -> None:
    found, expected, notes = UNUSED[name]
    rows = dpsyn.read_table(pd.DataFrame({"x": ["a", "b", "c", "a"]})) if name == "SDV" else None
    domain, said = read_code_book(found).domain(rows)
    assert domain["x"] == expected
    assert said[: len(notes)] == tuple(f"Column 'x': {note}." for note in notes)
    assert len(said) == len(notes) + (rows is not None)


@pytest.mark.parametrize(
    ("said", "note"),
    [
        (
            {"minimum": 0, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "what is said of it in parts was not put together",
        ),
        ({"type": "string", "allOf": [{"type": "integer"}]}, "what is said of it in parts was not put together"),
        ({"type": "string", "formatMinimum": "1970-01-01"}, "what 'formatMinimum' says of it is not used"),
    ],
)
def test_what_is_not_plain_is_told_and_read_off_the_rows(said: dict[str, Any], note: str) -> None:
    domain, notes = read_code_book(node(**said)).domain(dpsyn.read_table(pd.DataFrame({"x": ["a", "b", "c"] * 9})))
    assert domain["x"] == Attribute("x", "categorical", ("a", "b", "c"))
    assert f"Column 'x': {note}." in notes
    assert notes[-1] == "Not all of x could be taken from the description: what is missing was read off the rows."


def test_parts_deep_inside_parts_take_no_time() -> None:
    deep: dict[str, Any] = WHOLE
    for _ in range(18):
        deep = {"anyOf": [deep, {"type": "null"}]}
    (said,) = read_code_book(node(**deep)).columns.values()
    assert (said.lower, said.upper, said.missing) == (0, 9, True)
    with pytest.raises(DataError, match="nested too deeply"):
        read_code_book(node(allOf=[{"$ref": "#/properties/x"}]))


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_a_few_parts_that_come_to_very_many_are_refused(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _read_books._Document.left == 5_000_000
    monkeypatch.setattr(_read_books._Document, "left", 20_000)
    laughs: dict[str, Any] = {"0": {"enum": [1, 2]}}
    for at in range(1, 9):
        laughs[str(at)] = {word: [{"$ref": f"#/$defs/{at - 1}"}] * 8}
    books = [node(**{"$ref": "#/$defs/8"}), *([{"$ref": "#/$defs/8"}] if word == "allOf" else [])]
    for book in books:
        with pytest.raises(DataError, match="too much once it is put together"):
            read_code_book({**book, "$defs": laughs})


@pytest.mark.parametrize(
    "leaf",
    [
        {"enum": list(range(300))},
        {"type": ["null"] * 300},
        {"properties": {str(at): {} for at in range(300)}},
        {f"x{at}": 0 for at in range(300)},
    ],
    ids=["enum", "type", "properties", "words"],
)
def test_so_are_a_few_long_parts_that_many_refer_to(leaf: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_read_books._Document, "left", 10_000)
    for parts in ({"allOf": [{"$ref": "#/$defs/x"}] * 40}, {"anyOf": [{"$ref": "#/$defs/x"}] * 40}):
        with pytest.raises(DataError, match="too much once it is put together"):
            read_code_book({"properties": {"x": parts}, "$defs": {"x": leaf}})
    with pytest.raises(DataError, match="too much once it is put together"):
        read_code_book({"allOf": [{"$ref": "#/$defs/x"}] * 40, "properties": {}, "$defs": {"x": leaf}})
    deep: dict[str, Any] = {"enum": list(range(800))}
    for _ in range(15):
        deep = {"anyOf": [deep, {"const": -1}]}
    with pytest.raises(DataError, match="too much once it is put together"):
        read_code_book(node(**deep))


def test_many_columns_are_read_at_once() -> None:
    names = [f"c{at}" for at in range(20_000)]
    book = read_code_book({"properties": {name: {"type": "boolean"} for name in names}, "required": names})
    assert len(book.columns) == 20_000
    assert not any(said.missing for said in book.columns.values())
    columns = {"columns": {name: {"sdtype": "boolean"} for name in names}, "primary_key": "c0", "alternate_keys": names[1:]}
    assert list(read_code_book(columns).left_out) == names


def test_whether_cells_may_be_empty_is_what_all_that_is_said_of_them_allows() -> None:
    texts = {"enum": ["a", "b"]}
    null, one = {"type": "null"}, {"enum": ["a", None]}
    for said, missing in (
        ({**texts, "anyOf": [{"type": "string"}, null]}, False),
        ({"anyOf": [texts, null]}, True),
        ({"oneOf": [texts, null]}, True),
        ({"oneOf": [one, null]}, False),
        ({"oneOf": [one, {"enum": ["c", None]}]}, False),
        ({"anyOf": [one, {"enum": ["c", None]}]}, True),
        ({"oneOf": [null, null, {"minimum": 0, "maximum": 5}]}, False),
    ):
        (found,) = read_code_book(node(**said)).columns.values()
        assert bool(found.missing) is missing, said


def test_of_alternatives_whose_other_words_are_not_used_all_values_are_taken() -> None:
    (said,) = read_code_book(node(oneOf=[{"enum": ["ab", "c"], "maxLength": 1}, {"enum": ["ab"]}])).columns.values()
    assert said.categories == ("ab", "c")
    assert said.notes == ("what 'maxLength' says of it is not used",)


def test_what_else_a_schema_of_pandera_holds_is_told() -> None:
    column = {"dtype": "int64", "checks": {"ge": 0, "le": 9}}
    decimal = {"dtype": "decimal128(10, 2)[pyarrow]", "checks": {"gt": 0, "le": 9}}
    odd, old = {"dtype": "decimal(28,400)"}, {"pandas_dtype": "int", "checks": {"greater_than": 0, "less_than": 10}}
    span = {"dtype": "interval[int64, right]"}
    schema = {"schema_type": "dataframe", "index": [{"name": "id"}], "checks": {"f": 1}}
    book = read_code_book({**schema, "columns": {"x_.*": {**column, "regex": True}, "y": column, "z": decimal, "s": span}})
    beside = read_code_book({**schema, "columns": {"o": odd, "i": old}, "unique": ["o"]})
    assert beside.columns["o"].unit is None
    of_polars = read_code_book(pandera(dtype="Decimal(precision=10, scale=2)", checks={"gt": 0, "le": 9})).columns["x"]
    assert (of_polars.unit, of_polars.lower) == (0.01, 0.01)
    assert (beside.columns["i"].lower, beside.columns["i"].upper, beside.columns["i"].notes) == (1, 9, ())
    assert "What 'unique' says of the rows is not used." in beside.notes
    assert list(book.left_out) == ["x_.*"]
    assert book.notes == ("What 'index' says of the rows is not used.", "What 'checks' says of the rows is not used.")
    assert [said.kind for said in book.columns.values()] == ["numeric", "numeric", None]
    assert (book.columns["z"].unit, book.columns["z"].lower) == (0.01, 0.01)
    assert read_code_book({"schema_type": "dataframe", "index": None, "checks": [], "columns": {"y": column}}).notes == ()


def test_a_reference_may_lead_into_a_list_and_a_row_be_all_of_one_part() -> None:
    book = {"properties": {"x": {"$ref": "#/$defs/y/anyOf/1"}}, "$defs": {"y": {"anyOf": [{}, {"enum": [4]}]}}}
    assert read_code_book(book).columns["x"].categories == (4,)
    assert list(
        read_code_book({"allOf": [book | {"$ref": "#/$defs/z"}], **{"$defs": {**book["$defs"], "z": {}}}}).columns
    ) == ["x"]
    with pytest.raises(DataError, match="which is not in it"):
        read_code_book({"properties": {"x": {"$ref": "#/$defs/y/anyOf/2"}}, "$defs": book["$defs"]})


def test_the_columns_of_a_row_are_those_of_all_its_parts() -> None:
    flag, grade = {"type": "boolean"}, {"enum": [1, 2, 3]}
    book = read_code_book(
        {
            "$ref": "#/$defs/base",
            "properties": {"own": flag, "grade": {"maximum": 9, "enum": [3, 2, 4]}},
            "allOf": [{"properties": {"more": flag}, "required": ["more"]}, {"$ref": "#/$defs/last"}],
            "required": ["own", "unsaid"],
            "anyOf": [{"required": ["more"]}, {"properties": {"more": flag, "perhaps": flag}}],
            "then": {"properties": {"other": grade}},
            "dependentSchemas": {"own": {"allOf": [{"properties": {"hung": flag}}]}},
            "additionalProperties": {"type": "integer"},
            "patternProperties": {},
            "$defs": {"base": {"properties": {"grade": grade}}, "last": {"allOf": [{"properties": {"end": flag}}]}},
        }
    )
    assert list(book.columns) == ["grade", "more", "end", "own"]
    assert book.columns["grade"].categories == (2, 3)
    assert [said.missing for said in book.columns.values()] == [True, False, True, False]
    words = ("anyOf", "then", "dependentSchemas", "additionalProperties")
    said = (*(f"What {word!r} says of the rows is not used." for word in words),)
    assert book.notes == (*said, "Column 'unsaid' is required and not described: it was left out.")
    assert book.domain()[1][: len(book.notes)] == book.notes
    assert read_code_book({"properties": {"a": flag}, "additionalProperties": False}).notes == ()
    rows = read_code_book({"type": "array", "items": {"allOf": [{"properties": {"a": flag}}, {"properties": {"b": flag}}]}})
    assert list(rows.columns) == ["a", "b"]
    with pytest.raises(DataError, match="refers to itself"):
        read_code_book({"allOf": [{"$ref": "#"}], "properties": {"a": flag}})


def test_a_bound_that_is_excluded_and_has_no_number_beyond_it_is_refused() -> None:
    for side, low, high in (("exclusiveMinimum", 1e308, 1.7e308), ("exclusiveMaximum", -1.7e308, -1e308)):
        ends = {"minimum": low, "maximum": high, "multipleOf": 1e308} | {side: low if side == "exclusiveMinimum" else high}
        with pytest.raises(DomainError, match=r"'x'.* = -?inf is not possible: a finite number"):
            read_code_book(node(type="number", **ends)).domain()


@pytest.mark.parametrize("held", ["float64", "int64"])
def test_bounds_of_pandera_that_are_excluded_and_stay_are_told(held: str) -> None:
    told = ("1 and 5 themselves are allowed here: give a unit",) if held == "float64" else ()
    for tests, said in (
        ({"greater_than": 1, "less_than": 5}, told),
        ({"greater_than": 1, "greater_than_or_equal_to": 2, "less_than_or_equal_to": 5}, ()),
    ):
        column = {"dtype": held, "checks": tests}
        (found,) = read_code_book({"schema_type": "dataframe", "columns": {"x": column}}).columns.values()
        assert found.notes == said


def test_columns_are_chosen_by_name() -> None:
    book = read_code_book(SDV)
    assert list(book.project(["seen"]).columns) == ["seen"]
    assert book.project(None) is book
    with pytest.raises(DomainError, match="left out: it names"):
        book.project(["who"])


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "3",
        '{"columns": []}',
        "no",
        '{"$ref": "#/$ref"}',
        '{"$ref": "http://x/y"}',
        '{"properties": {"x": false}}',
    ],
)
def test_what_describes_no_table_is_refused(text: str) -> None:
    with pytest.raises(DpsynError):
        read_code_book(text).domain()


ODD = (None, True, "x", [[1]], {"a": {}})


def _with_odd_parts(found: Any) -> Iterator[Any]:
    if isinstance(found, dict):
        for name in found:
            for odd in ODD:
                yield {**found, name: odd}
            yield from ({**found, name: part} for part in _with_odd_parts(found[name]))
    elif isinstance(found, list):
        for at in range(len(found)):
            yield from ([*found[:at], part, *found[at + 1 :]] for part in (*ODD, *_with_odd_parts(found[at])))


def said(found: Any, rows: dpsyn.Table | None) -> str:
    try:
        return repr(read_code_book(found).domain(rows))
    except DpsynError as fault:
        return str(fault)


@pytest.mark.parametrize("form", FORMS)
def test_whatever_is_wrong_in_it_is_said_in_words(form: str) -> None:
    few = ["sex", "wage"]
    found, rows = code_book(DOMAIN.project(few), form)[0], ROWS.project(few).take(np.arange(4))
    nested = {"primary_key": "key", "anyOf": [{"enum": ["a"]}, {"type": "string"}], "$defs": {"a": {}}}
    for odd in _with_odd_parts({**found, **(nested if form == "sdv" else {})}):
        assert said(odd, None)
        assert said(odd, rows)


def test_odd_alternatives_are_said_in_words() -> None:
    node = {"anyOf": [{"enum": ["a", 1]}, {"type": ["null"]}, {"$ref": "#/$defs/a"}], "allOf": [{"const": "a"}]}
    for odd in _with_odd_parts({"properties": {"x": node}, "$defs": {"a": {"const": 2}}}):
        assert said(odd, None)


@pytest.mark.parametrize(("above", "below", "ends"), [(-0.5, 59.5, (0, 59)), (0, 60, (1, 59)), (-1, 59.01, (0, 59))])
def test_the_whole_numbers_between_bounds_that_are_excluded(above: float, below: float, ends: tuple[float, float]) -> None:
    node = {"type": "integer", "exclusiveMinimum": above, "exclusiveMaximum": below}
    tests = {"greater_than": above, "less_than": below}
    pandera = {"schema_type": "dataframe", "columns": {"x": {"dtype": "int64", "checks": tests}}}
    for book in ({"type": "object", "properties": {"x": node}}, pandera):
        (said,) = read_code_book(book).columns.values()
        assert (said.lower, said.upper) == ends


@pytest.mark.parametrize(
    ("held", "above", "below", "ends"),
    [
        ("datetime64[ns]", "2024-01-01 00:00:00", "2024-02-03 00:00:00", ("2024-01-01", "2024-02-02")),
        ("datetime64[ns]", "2024-01-01", "2024-02-03 12:00:00", ("2024-01-01", "2024-02-03")),
        ("date", "2024-01-01", "2024-02-03", ("2024-01-02", "2024-02-02")),
    ],
)
def test_the_days_between_moments_that_are_excluded(held: str, above: str, below: str, ends: tuple[str, str]) -> None:
    column = {"dtype": held, "checks": {"greater_than": above, "less_than": below}}
    (said,) = read_code_book({"schema_type": "dataframe", "columns": {"x": column}}).columns.values()
    assert [str(np.datetime64(int(day), "D")) for day in (said.lower or 0, said.upper or 0)] == list(ends)


@pytest.mark.parametrize("bound", ["today", 5, "2024", "24-01-01", "2024-02-03garbage", "2024-02-30"])
def test_a_bound_of_dates_is_a_day(bound: object) -> None:
    with pytest.raises(DomainError, match="is not a date such as"):
        read_code_book({"properties": {"d": {"type": "string", "format": "date", "formatMinimum": bound}}})


@pytest.mark.parametrize(
    ("node", "lower", "upper", "unit"),
    [
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 10, "multipleOf": 0.5}, 0.5, 10.0, 0.5),
        ({"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.7, "multipleOf": 0.1}, 0.2, 0.6, 0.1),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 10}, 0.0, 10.0, None),
        ({"type": "integer", "minimum": 0, "maximum": 10, "multipleOf": 0.5}, 0.0, 10.0, 1.0),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9, "multipleOf": 1.5}, 3.0, 6.0, 3.0),
    ],
)
def test_multiples_are_of_what_the_type_has_too(
    node: dict[str, Any], lower: float, upper: float, unit: float | None
) -> None:
    (said,) = read_code_book({"type": "object", "properties": {"x": node}, "required": ["x"]}).columns.values()
    assert (said.lower, said.upper, said.unit) == (lower, upper, unit)
    assert said.notes == (("0 and 10 themselves are allowed here: give a unit",) if unit is None else ())


WHOLE_AGE = {
    "schema_type": "dataframe",
    "columns": {"age": {"dtype": "int64", "nullable": False, "checks": {"isin": [1, 2]}}},
}


@pytest.mark.parametrize(
    ("of_age", "said"),
    [
        ({"nullable": "false"}, "nullable of column 'age' must be true or false, not 'false'"),
        ({"nullable": 1}, "nullable of column 'age' must be true or false, not 1"),
        ({"required": "x"}, "required of column 'age' must be true or false, not 'x'"),
        ({"regex": 0}, "regex of column 'age' must be true or false, not 0"),
        ({"checks": [{}]}, "the options of a check of column 'age' must be an object with names, not None"),
    ],
)
def test_what_is_wrong_in_pandera_is_named_with_its_column(of_age: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_code_book(WHOLE_AGE | {"columns": {"age": WHOLE_AGE["columns"]["age"] | of_age}})  # type: ignore[index]
    assert str(caught.value) == said
    assert (
        read_code_book(WHOLE_AGE | {"columns": {"age": {"dtype": "int64", "nullable": None}}}).columns["age"].missing
        is False
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"properties": {"ward": {"enum": "x"}}}, "enum of property 'ward' must be a list, not 'x'"),
        ({"properties": {"ward": {"allOf": "x"}}}, "allOf of property 'ward' must be a list, not 'x'"),
        ({"properties": {"ward": {"oneOf": 1}}}, "oneOf of property 'ward' must be a list, not 1"),
        (
            {"properties": {"ward": {"anyOf": [{"type": "null"}, {"enum": {}}]}}},
            "enum of property 'ward' must be a list, not {}",
        ),
        ({"required": "ward"}, "required must be a list, not 'ward'"),
        ({"allOf": "x"}, "allOf must be a list, not 'x'"),
    ],
)
def test_what_is_no_list_in_json_schema_is_named_with_its_property(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_code_book({"properties": {"ward": {"enum": ["a", "b"]}}} | changes)
    assert str(caught.value) == said
