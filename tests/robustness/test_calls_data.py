"""Odd arguments to everything that reads or holds data: a call works, or a DpsynError says what is wrong."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import fractions
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpsyn
from dpsyn.data.samples import load_sample
from dpsyn.domain import KINDS, Attribute, Domain
from dpsyn.errors import DpsynError
from dpsyn.statistics import DatasetStatistics, bits_of
from dpsyn.table import Table
from tests.robustness.awkward_frames import objects

RANDOM = os.environ.get("DPSYN_FUZZ") == "random"
CALLS = settings(max_examples=300 if RANDOM else 50, derandomize=not RANDOM, suppress_health_check=list(HealthCheck))

ATTRIBUTES = [
    Attribute("x", "truth", ("no", "yes")),
    Attribute("x", "categorical", (2, "a"), missing=True),
    Attribute("x", "numeric", lower=0, upper=9, integer=True),
    Attribute("x", "numeric", lower=-1.5, upper=1.5, missing=True),
    Attribute("x", "date", lower=0, upper=9),
    Attribute("x", "numeric", lower=-1.5, upper=1.5, unit=0.25),
]
DOMAIN = Domain.of([ATTRIBUTES[1], Attribute("y", "numeric", lower=0, upper=9)])
FRAME = pd.DataFrame({"x": ["a", 2, None], "y": [1.0, 2.0, 3.0]})
TABLE = Table(FRAME, DOMAIN)


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


class Rude:
    """An object that answers nothing."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 255, 2**31, 2**53, 2**63, -(2**64), 10**400, -(10**5000), 0.5, -0.0, 1.0, 1e308, -1e308, 5e-324),
    *(
        float("nan"),
        float("inf"),
        float("-inf"),
        1j,
        decimal.Decimal("0.1"),
        decimal.Decimal("1e999"),
        decimal.Decimal("sNaN"),
    ),
    *(
        fractions.Fraction(1, 3),
        np.int8(1),
        np.uint64(2**64 - 1),
        np.float16(0.5),
        np.float32("nan"),
        np.longdouble("1e4000"),
    ),
    *(np.complex64(1), True, False, np.bool_(True)),
]
TEXTS: list[Any] = [
    "",
    " ",
    "x",
    "y",
    "a",
    "yes",
    "false",
    "1",
    "nan",
    "\ud800",
    "\0",
    "é" * 5000,
    b"",
    b"x,y\na,1\n",
    np.str_("x"),
]
DATES: list[Any] = [
    *(datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC), datetime.time(1), datetime.timedelta(1)),
    *(
        np.datetime64("NaT", "ns"),
        np.datetime64("20000-01-01"),
        np.timedelta64(1, "D"),
        pd.Timestamp("2020-01-01"),
        pd.Period("2020"),
    ),
    *(pd.NaT, pd.NA, None, pd.Interval(0, 1), "2020-01-01", "2020-01-01T00:00+02:00", "2020-13-01"),
]
OTHERS: list[Any] = [
    *(
        [],
        ["x"],
        ["x", "x"],
        ["y", "x"],
        [0],
        [0, 1, 2],
        [None],
        [[]],
        (),
        ("x",),
        {},
        {"x": 1},
        set(),
        {"x"},
        range(2),
        nested(2000),
    ),
    *(
        np.array([]),
        np.array([0, 1]),
        np.array([[0, 1]]),
        np.array([[5, 5]]),
        np.array([[0.5, 1]]),
        np.array(["x"]),
        np.array(0),
    ),
    *(np.zeros((2, 0), int), np.array([None, 1], object), np.zeros((2, 2, 2), int), np.array([True, False, True])),
    *(pd.Series([], dtype=object), pd.Series([1]), pd.Index(["x"]), pd.DataFrame(), pd.DataFrame({"x": [2]}), FRAME),
    *(pd.DataFrame([[2, 2]], columns=["x", "x"]), pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("x", "y")]))),
    *(
        object(),
        Rude(),
        len,
        int,
        Ellipsis,
        slice(1),
        io.BytesIO(b"x,y\n"),
        io.StringIO("x\n1\n"),
        Path("/nowhere"),
        iter("x"),
    ),
    *(DOMAIN, ATTRIBUTES[0], TABLE, np.random.default_rng(0), np.random.SeedSequence(0), memoryview(b"x\n1\n")),
]
EVERY = [*NUMBERS, *TEXTS, *DATES, *OTHERS]
# By their places: Hypothesis may want to write down what it chooses from, and not all of these can be written.
# Not its bound method, which Hypothesis cannot write: a number of 5,000 digits is among them.
ANY = st.sampled_from(range(len(EVERY))).map(lambda at: EVERY[at])
CELLS = st.lists(ANY, min_size=1, max_size=3)
CODES = st.sampled_from([np.zeros((2, 2), int), TABLE.codes])
GENERATOR = st.builds(lambda: np.random.default_rng(0))


def some(*good: Any) -> st.SearchStrategy[Any]:
    """A good value as often as an odd one."""
    return st.sampled_from(list(good)) | ANY


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": some("x"),
    "kind": some(*KINDS),
    "categories": some(("no", "yes"), (1, 2)) | CELLS,
    "lower": some(0, -1.5),
    "upper": some(9, 1.5),
    "unit": some(None, 1, 0.5),
    "bins": some(5),
    "integer": some(False, True),
    "missing": some(False, True),
    "public": some(False, True),
}


def one_odd(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the fields; most are good."""
    return st.fixed_dictionaries({}, optional=fields)


def column(cells: list[Any]) -> pd.Series[Any]:
    """The cells as a column, of the type that pandas finds for it or of objects."""
    try:
        return pd.Series(cells)
    except Exception:  # noqa: BLE001  # what pandas itself refuses is not our call
        return objects(*cells)


COLUMN = CELLS.map(column) | CELLS.map(lambda cells: objects(*cells)) | ANY
A = st.sampled_from(ATTRIBUTES)
FRAMES = CELLS.map(lambda cells: pd.DataFrame({"x": objects(*cells), "y": range(len(cells))}))

CALLED: dict[str, tuple[Callable[..., Any], tuple[st.SearchStrategy[Any], ...]]] = {
    "Attribute": (lambda a, fields: dataclasses.replace(a, **fields), (A, one_odd(FIELDS))),
    "Attribute of three": (Attribute, (FIELDS["name"], FIELDS["kind"], FIELDS["categories"])),
    "Attribute.from_dict": (Attribute.from_dict, (one_odd(FIELDS) | ANY,)),
    "Domain.from_dict": (
        lambda fields: Domain.from_dict({"columns": fields}),
        (st.lists(one_odd(FIELDS) | ANY, max_size=2) | ANY,),
    ),
    "Domain.from_dict, whole": (Domain.from_dict, (ANY,)),
    "encode": (lambda a, c: a.encode(c), (A, COLUMN)),
    "numbers": (lambda a, c: a.numbers(c), (A, COLUMN)),
    "in_units": (lambda a, c: a.in_units(c), (A, COLUMN)),
    "outside": (lambda a, c: a.outside(c), (A, COLUMN)),
    "on_a_bound": (lambda a, c: a.on_a_bound(c), (A, COLUMN)),
    "between_units": (lambda a, c: a.between_units(c), (A, COLUMN)),
    "decode": (lambda a, c, g: a.decode(c, g), (A, some(np.array([0, 1])), GENERATOR | ANY)),
    "from_numbers": (lambda a, c: a.from_numbers(c), (A, some(np.array([0.5, np.nan])))),
    "from_units": (lambda a, c: a.from_units(c), (A, some(np.array([0.5, np.nan])))),
    "Domain": (Domain, (some(tuple(ATTRIBUTES[:1])) | CELLS,)),
    "Domain.of": (Domain.of, (some(iter(ATTRIBUTES[:1])) | CELLS,)),
    "Domain.index": (DOMAIN.index, (ANY,)),
    "Domain.[]": (lambda name: DOMAIN[name], (ANY,)),
    "Domain.in": (lambda name: name in DOMAIN, (ANY,)),
    "Domain.replace": (DOMAIN.replace, (ANY,)),
    "Domain.project": (DOMAIN.project, (ANY | CELLS,)),
    "Domain.encode": (DOMAIN.encode, (ANY | FRAMES,)),
    "Domain.decode": (DOMAIN.decode, (CODES | ANY, GENERATOR | ANY)),
    "Table": (Table, (some(FRAME) | FRAMES, some(DOMAIN), some("x"))),
    "Table.statistics": (lambda bit: TABLE.statistics(two_valued_as_bit=bit), (ANY,)),
    "Table.smallest_class": (TABLE.smallest_class, (ANY,)),
    "Table.project": (TABLE.project, (ANY | CELLS,)),
    "Table.with_domain": (
        TABLE.with_domain,
        (some(Domain.of(ATTRIBUTES[3:4]), Domain.of([Attribute("z", "truth", (0, 1))])),),
    ),
    "Table.take": (lambda rows: TABLE.take(rows).statistics(), (ANY | CELLS,)),
    "Table.split": (TABLE.split, (some(0.5), GENERATOR | ANY)),
    "DatasetStatistics": (DatasetStatistics, (some(5), some(10), some(0.5), some(None, 3), some(None, (2, 3)), some("x"))),
    "bits_of": (lambda a, bit: bits_of(a, two_valued_as_bit=bit), (A | ANY, some(True))),
    "load_sample": (load_sample, (ANY,)),
    "read_table": (
        lambda source, domain, name, columns, wide: dpsyn.read_table(
            source, domain=domain, name=name, columns=columns, wide=wide
        ),
        (
            some(b"x,y\na,1\n", FRAME) | FRAMES,
            some(None, DOMAIN),
            some(None),
            some(None, ["x"]),
            some("refuse", "leave_out"),
        ),
    ),
    "read_table of cells": (dpsyn.read_table, (FRAMES,)),
    "read_table of a column": (lambda cells: dpsyn.read_table(pd.DataFrame({"x": cells})), (CELLS.map(column),)),
}


def check(call: Callable[[], Any]) -> None:
    """It works, or says what is wrong."""
    words = "it works"
    try:
        call()
    except DpsynError as error:
        words = str(error)
    assert len(words) > 5


@pytest.mark.parametrize("name", CALLED)
@CALLS
@given(data=st.data())
def test_odd_arguments(name: str, data: st.DataObject) -> None:
    call, strategies = CALLED[name]
    arguments = [data.draw(strategy) for strategy in strategies]
    check(lambda: call(*arguments))


@CALLS
@given(data=st.data())
def test_odd_arguments_to_file_statistics(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = data.draw(some(b"x,y\na,1\n"))
    if isinstance(path, bytes):
        content, path = path, tmp_path_factory.getbasetemp() / "odd.csv"
        path.write_bytes(content)
    given_by_name = {
        "domain": some(None, DOMAIN),
        "columns": some(None, ["x"]),
        "wide": some("refuse"),
        "two_valued_as_bit": some(True),
        "memory_limit": some("1GB"),
        # What a function of the caller's raises is the caller's.
        "progress": st.just(lambda step, share: None) | ANY.map(lambda value: None if callable(value) else value),
    }
    options = data.draw(st.fixed_dictionaries({}, optional=given_by_name))
    check(lambda: dpsyn.file_statistics(path, **options))
