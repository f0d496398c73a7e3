"""A domain that is written, edited by hand and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpsyn
from dpsyn.data.schema_file import read_schema, schema_text
from dpsyn.errors import DataError, DomainError, ParameterError
from dpsyn.schema import read_json

DOMAIN = dpsyn.Domain.of(
    [
        dpsyn.Attribute("née", "date", lower=-3653, upper=1, bins=4, keep=("weekday",), missing=True),
        dpsyn.Attribute("wage", "numeric", lower=0, upper=2.5, unit=0.01, public=True),
        dpsyn.Attribute("sick", "truth", (False, True)),
        dpsyn.Attribute("class", "categorical", ("a\nb", 3, 2.5)),
    ]
)


def test_what_is_written_is_read_back() -> None:
    text = schema_text(DOMAIN)
    assert read_schema(text) == DOMAIN
    assert read_schema(text.encode()) == DOMAIN
    assert '"lower": "1960-01-01"' in text
    assert '"upper": "1970-01-02"' in text
    assert len(text.splitlines()) == 2 + len(DOMAIN)


def test_it_holds_nothing_that_controls_a_terminal() -> None:
    domain = dpsyn.Domain.of([dpsyn.Attribute("a\x9bb", "categorical", ("\u202ex", "é"))])
    text = schema_text(domain)
    assert read_schema(text) == domain
    assert not set(text) & set("\x9b\u202e")


def test_it_is_edited_by_hand() -> None:
    text = schema_text(DOMAIN).replace('"1960-01-01"', '"1950-06-30"').replace('"public": false', '"public": true')
    found = read_schema(text)
    assert found.is_public
    assert found["née"].lower == -7125


@pytest.mark.parametrize(
    ("text", "fault", "said"),
    [
        ("", DataError, "this is no schema"),
        ('{"columns": [\n  {"name": "a",}\n]}', DataError, "line 2"),
        ("[" * 100_000, DataError, "nested too deeply"),
        (b"\xff\xfe\x00", DataError, "this is no schema"),
        ("{}", DomainError, "one entry per column"),
        ('{"columns": [3]}', DomainError, "at least a name and a kind"),
        ('{"columns": []}', DomainError, "at least one column"),
        ('{"columns": [{"name": "a", "kind": "date", "lower": "soon", "upper": 3}]}', DomainError, "'a'"),
        ('{"columns": [{"name": "a", "kind": "date", "lower": "2001-02-30", "upper": 3}]}', DomainError, "'a'"),
        ('{"columns": [{"name": "a", "kind": "numeric", "lower": NaN, "upper": 3}]}', DomainError, "'a'"),
        ('{"columns": [{"name": "a", "kind": "truth", "colour": 3}]}', DomainError, "'colour'"),
        (
            '{"columns": [{"name": "a", "kind": "truth", "public": false, "public": true}]}',
            DataError,
            "'public' stands twice",
        ),
        ('{"columns": [], "columns": [{"name": "a", "kind": "truth"}]}', DataError, "'columns' stands twice"),
        ('{"columns": [{"name": "a", "kind": "truth", "categories": [0, 1]}], "version": 99}', DomainError, "'version'"),
    ],
)
def test_what_is_wrong_is_named(text: str | bytes, fault: type[Exception], said: str) -> None:
    with pytest.raises(fault, match=said):
        read_schema(text)


def test_what_is_no_text_and_what_is_no_domain_is_named() -> None:
    for wrong in (Path("x.json"), None, {"columns": []}, 3):
        with pytest.raises(ParameterError, match=r"^data = "):
            read_schema(wrong)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=r"^domain = "):
            schema_text(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"b": [{"a": {}, "c": 2, "a": []}]}'])
def test_of_two_values_of_one_name_none_is_taken(text: str) -> None:
    with pytest.raises(DataError, match="'a' stands twice"):
        read_json(text)


@pytest.mark.parametrize("bound", ["today", "now", "2020-13-01", "yesterday"])
def test_a_bound_that_is_no_day_is_refused(bound):
    written = '{"columns": [{"name": "d", "kind": "date", "lower": "?", "upper": "2030-01-01"}]}'.replace("?", bound)
    with pytest.raises((DataError, DomainError, ParameterError), match="lower"):
        read_schema(written.encode())
