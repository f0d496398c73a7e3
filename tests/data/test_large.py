"""Files of any size: the same statistics, domain, notes and refusals as reading the file whole."""

from __future__ import annotations

import datetime
import decimal
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import dpsyn
from dpsyn.data import _delimited, _parquet, _text, infer
from dpsyn.data._words import read_numbers
from dpsyn.data.large import RowCounts, TextRows, count_rows, file_statistics, packed
from dpsyn.data.read import read_in_memory
from dpsyn.errors import DataError, DomainError, InputError, ParameterError

Outcome = tuple[Any, ...]


def outcome(read: Callable[[], Outcome]) -> Outcome:
    """What reading gives, or how it refuses."""
    try:
        return read()
    except InputError as error:
        return type(error), str(error), getattr(error, "line", None), getattr(error, "column", None)


def both(path: Path, **options: Any) -> tuple[Outcome, Outcome]:
    def whole() -> Outcome:
        table = read_in_memory(path, **options)
        return table.statistics(), table.domain, table.notes

    def streamed() -> Outcome:
        found = file_statistics(path, **options)
        return found.statistics, found.domain, found.notes

    return outcome(whole), outcome(streamed)


def agree(folder: Path, content: str | bytes, *, name: str = "people.csv", **options: Any) -> Outcome:
    """The common outcome of both ways to read a file."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    whole, streamed = both(path, **options)
    assert streamed == whole
    return whole


def numbered(rows: int, cell: Callable[[int], object], separator: str = ",") -> str:
    return f"x{separator}y\n" + "".join(f"{cell(i)}{separator}{i % 3}\n" for i in range(rows))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few bytes, and short columns that count as long."""
    monkeypatch.setattr(_delimited, "BLOCK", 150)
    monkeypatch.setattr(_parquet, "BATCH", 5)
    monkeypatch.setattr(_text, "_BLOCK", 37)
    monkeypatch.setattr(infer, "MAX_CATEGORIES", 12)


GOOD = [
    "a,b\n1.5,NA\nNA,null\nnull,NA\n",
    "a,b\n1,x\n2,y\n",
    "a;b\n1;x\n2;y\n",
    "a\tb\n1\tx\n2\ty\n",
    "a, b, c\td, e\n1, 2, 3\t4, 5\n6, 7, 8\t9, 10\n",
    "a|b\n1|x\n2|y\n",
    "a,b\r\n1,x\r\n2,y\r\n",
    "a,b\r1,x\r2,y\r",
    "a,b\n1,x\r2,y\r\n3,z",
    'a,b\n1,"x"\r2,y\r\n3,z',
    "\n\na,b\n\n1,x\n\n2,y\n\n\n",
    "\r\n\r\na,b\r\n\r\n1,x\r\n2,y\r\n\r\n",
    " a , b \n 1 , x \n 2 , y \n",
    '"a","b"\n"1","x"\n"2","y"\n',
    'a, b\n1, "x"\n2, y\n',
    'a,b\n1,"x, y"\n2,"two\nlines"\n3,"say ""hi"""\n4,5" pipe\n',
    '"a, the\nfirst",b\n1,x\n',
    "a\n1\n\n3\n",
    'a\nx\n""\ny\n',
    "remark\nhello, you\nbye\n",
    "a\n1\n",
    "a,b\n1,NA\nnan,x\n,?\n2,None\n3,-\n",
    "a,b\n1,\n2,\n",
    "39,x\n40,y\n41,z\n",
    "name;price, net\nx;1\ny;2\n",
    "a;b\n1,5;x\n2,25;y\n3;x\n",
    "a;b\n1,5;x\n1.5;y\n",
    "when,zip\n2020-01-02,01234\n2020-02-30,12345\n",
    "when\n31/12/2020\n1/2/2021\n",
    "when\n3 Jan 2020\n4 May 2020\n",
    "when\n2020-01-02T23:00:00Z\n2020-01-03T00:30:00+02:00\n",
    "sex,sick,work\nM,yes,?\nF,no,State\nM,yes,?\nM,no,Private\n",
    "id\n" + "".join(f"{i}\n" for i in range(60)),
    "+-5,b\n+-5,1\n+5,2\n",
]
BAD = [
    b"",
    b"\n \n",
    b"a,b\n",
    b"\n\na,b\n",
    b'a,"b"\n',
    b"a,b,a\n1,2,3\n",
    b",a\n1,2\n",
    b"a,b\n1,2\n3\n",
    b"a,b\n1,2\n\n3,4,5\n",
    b"a,b\n1,2,\n3,4\n",
    b'a,b\n1,"x\ny"\n2\n',
    b'a,b\n1, "x"\n2\n',
    b'a,b\n1,2\n3,"x\n4,5\n',
    b'a,b\n1,2\n3,"x\n4,"y\n',
    b'a,b\n1,"' + b"x" * 2_000_000,
    b"Report of May\n\na,b\n1,2\n3,4\n",
    b"a,b\n1,x\n\ninf,y\ninf,z\n",
    b"a,b\n1,x\n1e999,y\n",
    b"a,b\n1,x\0y\n",
    bytes(range(1, 256)) * 3,
    b"PK\x03\x04 and so on",
    b"\x1f\x8b\x08",
    b"<!DOCTYPE html><html>",
    b'{"a": [1, 2]}',
    b"\xff\xfea\x00,\x00b\x00\n\x00\x00\xd8",
    b"PAR1 is how Parquet starts",
    b"\xef\xbb\xbf",
]


@pytest.mark.parametrize("text", GOOD)
def test_awkward_files(tmp_path: Path, text: str) -> None:
    statistics = agree(tmp_path, text)[0]
    assert isinstance(statistics, dpsyn.DatasetStatistics)
    assert agree(tmp_path, text, name="people.TSV")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("text", GOOD[:-2])
def test_awkward_files_in_small_blocks(tmp_path: Path, text: str) -> None:
    assert agree(tmp_path, text)


@pytest.mark.parametrize("content", BAD)
def test_what_cannot_be_read_is_refused_alike(tmp_path: Path, content: bytes) -> None:
    assert agree(tmp_path, content)[0] is DataError


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
@pytest.mark.parametrize("small", [False, True])
def test_encodings(tmp_path: Path, encoding: str, small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_blocks")
    text = "a,b\n" + "1,café\n2,naïve\n" * 20
    _, domain, notes = agree(tmp_path, text.encode(encoding))
    assert domain["b"].categories == ("café", "naïve")
    assert bool(notes) == (encoding == "cp1252")
    assert agree(tmp_path, b"a,b\n1,\x81x\n2,y\n" * 20)[2][0].endswith("save it as UTF-8.")


@settings(max_examples=60)
@given(st.one_of(st.binary(max_size=200), st.text(alphabet='ab,;\t|"\n\r 1.-é\x00', max_size=60).map(str.encode)))
def test_any_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        agree(Path(folder), data)


CELLS = {
    "few": st.sampled_from(["1", "2", "3.0", " 3"]),
    "truth": st.sampled_from(["yes", "no"]),
    "whole": st.integers(-50, 2000).map(str),
    "real": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "any number": st.floats().map(str),
    "comma": st.decimals(0, 99, places=2).map(lambda d: str(d).replace(".", ",")),
    "date": st.dates().map(str),
    "other date": st.dates(datetime.date(2000, 1, 1), datetime.date(2003, 1, 1)).map(
        lambda d: f"{d.day}/{d.month}/{d.year}"
    ),
    "moment": st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2030, 1, 1)).map(str),
    "text": st.text(alphabet=" abNA?'-é01.,;|", max_size=4),
    "code": st.integers(0, 99).map(lambda v: f"{v:03}"),
    "alike": st.sampled_from(["1.10", "1.1", "12E4", "1200E2", "+7", "-0", "0"]),
    "telephone": st.sampled_from(["+49301234567", "49301234567", "+1234567", "12"]),
    "zoned": st.datetimes(timezones=st.sampled_from([datetime.UTC, datetime.timezone(datetime.timedelta(hours=9))])).map(
        str
    ),
    "huge": st.integers(2**53 - 3, 2**53 + 3).map(str),
}
ODD = st.sampled_from(["", " ", "NA", "x", "inf", "7", "2020-02-30", "1,000", "1_000", "\N{MINUS SIGN}3"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, dict[str, list[str]]]:
    rows = draw(st.integers(1, 60))
    columns = {}
    for j in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(sorted(CELLS)))
        cells = draw(st.lists(CELLS[kind], min_size=rows, max_size=rows))
        if draw(st.integers(0, 4)) == 0:
            cells[draw(st.integers(0, rows - 1))] = draw(ODD)
        columns[f"c{j}"] = cells
    return draw(st.sampled_from([",", ";"])), columns


@settings(max_examples=60)
@given(tables())
def test_any_table(drawn: tuple[str, dict[str, list[str]]]) -> None:
    separator, columns = drawn
    text = pd.DataFrame(columns).to_csv(index=False, sep=separator)
    with tempfile.TemporaryDirectory() as folder:
        agree(Path(folder), text)


ATTRIBUTES = [
    dpsyn.Attribute("c0", "numeric", lower=0, upper=20, integer=True, missing=True, bins=3),
    dpsyn.Attribute("c0", "numeric", lower=-5.5, upper=20, bins=300),
    dpsyn.Attribute("c0", "date", lower=10_000, upper=11_000, missing=True),
    dpsyn.Attribute("c0", "categorical", ("a", "b", "NA", "x", 7, 1), missing=True),
    dpsyn.Attribute("c0", "categorical", (1, 2, 3)),
    dpsyn.Attribute("c0", "truth", ("no", "yes")),
]


@settings(max_examples=40)
@given(tables(), st.sampled_from(ATTRIBUTES))
def test_any_table_over_a_given_domain(drawn: tuple[str, dict[str, list[str]]], attribute: dpsyn.Attribute) -> None:
    separator, columns = drawn
    text = pd.DataFrame(columns).to_csv(index=False, sep=separator)
    with tempfile.TemporaryDirectory() as folder:
        agree(Path(folder), text, domain=dpsyn.Domain.of([attribute]))


MOMENT = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
LONG: list[tuple[str, Callable[[int], object], str]] = [
    ("whole numbers", lambda i: i // 2, ","),
    ("numbers of rows", lambda i: i, ","),
    ("whole numbers with a point", lambda i: f"{i}.0", ","),
    ("one that is broken", lambda i: 11_900.5 if i == 11_900 else i, ","),
    ("real numbers", lambda i: 100 / (i + 1), ","),
    ("cents late", lambda i: f"{i}.25" if i == 11_990 else f"{i}.5", ","),
    ("six decimals late", lambda i: f"{i}.000001" if i == 11_990 else f"{i}.5", ","),
    ("seven decimals late", lambda i: f"{i}.0000001" if i == 11_990 else f"{i}.5", ","),
    ("more digits than a double late", lambda i: "123456789012345.5" if i == 11_990 else f"{i}.5", ","),
    ("numbers of rows, some twice", lambda i: i if i < 11_900 else i - 11_900, ","),
    ("numbers of accounts", lambda i: 10**7 + 7919 * 7919 * i % (9 * 10**7), ","),
    ("decimal commas", lambda i: f"{i},5", "|"),
    ("a point among decimal commas", lambda i: "1.5" if i == 11_950 else f"{i},5", ";"),
    ("spelled in many ways", lambda i: "1." + "0" * i if i < 300 else "2", ","),
    ("missing late", lambda i: i if i < 11_000 else "NA", ","),
    ("infinite late", lambda i: i if i < 11_500 else "1e999", ","),
    ("infinite first", lambda i: "inf" if i in {0, 11_800} else i, ","),
    ("too large for whole numbers", lambda i: 2**53 - 11_990 + i, ","),
    ("a code late", lambda i: "01" if i == 11_990 else i, ","),
    ("a number with a gap late", lambda i: "12_000" if i == 11_990 else i, ","),
    ("a minus of print late", lambda i: "\N{MINUS SIGN}1" if i == 11_990 else i, ","),
    ("a telephone number late", lambda i: "+49301234567" if i == 11_990 else i, ","),
    ("a plus among negative numbers", lambda i: "+49301234567" if i == 11_990 else i - 11_000, ","),
    ("one beyond 2^53 among others", lambda i: 2**53 + 1 if i == 11_990 else "1e300" if i == 0 else i / 2, ","),
    ("as many spellings as may be told", lambda i: i % 9998 if i < 11_000 else "5.0", ","),
    ("identifiers", lambda i: f"p{i}", ","),
    ("thousands late", lambda i: "1.250" if i == 11_990 else i, ";"),
    ("a code for missing values late", lambda i: -999 if i == 11_990 else i, ","),
    ("a number far off, and others late", lambda i: {11_960: -9999, 11_990: -4000.5}.get(i, i / 8), ","),
    ("thousands with commas late", lambda i: "1,250" if i == 11_990 else i, ";"),
    ("thousands with commas, and a decimal late", lambda i: {11_980: "1,250", 11_990: "1,5"}.get(i, i), ";"),
    ("thousands behind a finer number", lambda i: {11_970: "0", 11_980: "1e-7", 11_990: "1.250"}.get(i, i), ";"),
    ("thousands, and a decimal late", lambda i: {11_980: "1.250", 11_990: "1.5"}.get(i, i), ";"),
    ("long decimals that are one number", lambda i: f"0.{10**16 + i // 2}{i % 2}5", ","),
    (
        "two long decimals behind others",
        lambda i: {
            11_950: "0",
            11_960: "1e-30",
            11_970: "11500.5",
            11_980: "11985.10000000000000001",
            11_990: "11985.10000000000000002",
        }.get(i, i),
        ",",
    ),
    ("long decimals that are not", lambda i: f"{i}.{'0' * 20}5", ","),
    ("a number too close to 0 late", lambda i: "1e-400" if i == 11_990 else (-1) ** i * (i + 0.5), ","),
    ("a word late", lambda i: "many" if i in {11_980, 11_990} else i, ","),
    ("days", lambda i: np.datetime64("1980-01-01") + np.timedelta64(i, "D"), ","),
    ("days of the other kind", lambda i: pd.Timestamp(1980, 1, 1).replace(year=1980 + i // 300).strftime("%d/%m/%Y"), ","),
    ("days, the day first", lambda i: (pd.Timestamp(1980, 1, 1) + pd.Timedelta(days=i)).strftime("%d/%m/%Y"), ","),
    ("moments", lambda i: (MOMENT + datetime.timedelta(seconds=7919 * i)).isoformat(), ","),
    (
        "a zone late",
        lambda i: str(np.datetime64("2020-01-01T00:00") + np.timedelta64(500 * i, "m")) + ("Z" if i == 11_999 else ""),
        ",",
    ),
    ("no date late", lambda i: "2020-02-30" if i == 11_999 else np.datetime64("1980-01-01") + np.timedelta64(i, "D"), ","),
]


@pytest.mark.parametrize(("cell", "separator"), [row[1:] for row in LONG], ids=[row[0] for row in LONG])
def test_columns_of_more_values_than_are_kept(tmp_path: Path, cell: Callable[[int], object], separator: str) -> None:
    text = numbered(12_000, cell, separator)
    agree(tmp_path, text)
    agree(tmp_path, text, wide="leave_out")


MANY: dict[str, Callable[[int], object]] = {
    "the least first": lambda i: {1: -70, 2: -60}.get(i, i // 2),
    "the largest in the middle": lambda i: {30: 700, 40: 800}.get(i, i // 2),
    "many rows of one": lambda i: i if i < 57 else 7,
    "missing here and there": lambda i: {3: "NA", 30: "", 50: "NA"}.get(i, i // 2),
    "missing among words": lambda i: {3: "NA", 30: "NA", 31: "null", 50: "NA"}.get(i, "xy"[i % 2]),
    "spaces": lambda i: " x" if i in {5, 55} else "xy"[i % 2],
    "words in three places": lambda i: f"w{i}" if i in {2, 30, 31, 58} else i,
    "the finest in the middle": lambda i: {30: "40.125", 45: "41.25"}.get(i, f"{i}.5"),
    "commas": lambda i: f"{i},5",
    "a code in the middle": lambda i: "025" if i == 30 else i,
    "as many codes as are listed": lambda i: f"0{i % 12}",
    "as many, and none": lambda i: f"0{i % 12}" if i % 13 else "",
    "one code more": lambda i: f"0{min(i, 12)}",
    "one more, of one number, and none": lambda i: f"{'0' * min(i, 13)}1" if i else "",
    "like days, but for one": lambda i: 20_200_132 if i == 30 else 20_200_101 + 100 * (i // 28) + i % 28,
    "days, but for one": lambda i: "20200132" if i == 30 else np.datetime64("2020-01-01") + np.timedelta64(i, "D"),
    "days": lambda i: np.datetime64("2020-01-01") + np.timedelta64((i + 30) % 60, "D"),
    "a time of day in the middle": lambda i: f"{np.datetime64('2020-01-01') + np.timedelta64(i, 'D')}{'T10:00' * (i == 30)}",
    "the day first": lambda i: f"{1 + i % 28}.{1 + i % 12}.{2000 + i}",
}
"""Columns of 60 rows, most with more different values than are kept of 12."""


def test_many_blocks_are_looked_through_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a block is counted on, or forgotten, in later ones."""
    monkeypatch.setattr(infer, "MAX_CATEGORIES", 12)
    monkeypatch.setattr(_delimited, "BLOCK", 1_200)
    text = pd.DataFrame({name: [cell(i) for i in range(60)] for name, cell in MANY.items()}).to_csv(index=False, sep="|")
    _, domain, notes = agree(tmp_path, text, wide="leave_out")
    assert len(domain) == 12
    assert any("'NA' (3), 'null' (1)" in note for note in notes)
    assert not any(".." in note for note in notes)
    monkeypatch.setattr(_delimited, "BLOCK", 40)
    gaps = agree(tmp_path, "x\n" + "".join(f"{'NA' if i in {7, 30, 50} else i // 2}\n" for i in range(60)))
    assert gaps[0].distinct_rows == 11
    for first, later in ((4, 40), (22, 23)):
        infinite = "".join(f"{'inf' if i in {first, later} else i / 2}\n" for i in range(60))
        assert agree(tmp_path, f"x\n{infinite}")[2] == first + 2


def test_many_batches_are_looked_through_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infer, "MAX_CATEGORIES", 12)
    monkeypatch.setattr(_parquet, "BATCH", 5)
    wholes = {40: 2**53 + 1, 41: 2**60, 42: 2**61}
    rounded = {20: decimal.Decimal("0.12345678901234567891"), **{i: decimal.Decimal(v) for i, v in wholes.items()}}
    day = datetime.datetime(2020, 1, 1)
    odd: dict[str, list[Any]] = {
        "the least first": [-70, -60, *(i // 2 for i in range(58))],
        "the largest in the middle": [*range(30), 700, 800, *range(28)],
        "many rows of one": [*range(57), 7, 7, 7],
        "beyond 2^53": [2**53 + 2 * i for i in range(30)] + [2**53 + 1] + list(range(29)),
        "like days, but for one": [20_200_101 + i % 30 for i in range(31)]
        + [20_200_132]
        + [20_200_201 + i % 20 for i in range(28)],
        "missing": [None if i in {0, 30, 50} else i // 2 for i in range(60)],
        "real": [None if i == 3 else 0.125 if i == 30 else i / 2 for i in range(60)],
        "not a number": [float("nan") if i in {2, 30} else i / 2 for i in range(60)],
        "rounded": [rounded.get(i, decimal.Decimal(i // 2)) for i in range(60)],
        "days": [day + datetime.timedelta(days=(i + 30) % 60) for i in range(60)],
        "a time in the middle": [day + datetime.timedelta(days=i, hours=9 * (i == 30)) for i in range(60)],
        "texts": [f"{i}{'.25' * (i == 30)}" for i in range(60)],
    }
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table(odd), path, row_group_size=5)
    whole, streamed = both(path, wide="leave_out")
    assert streamed == whole
    assert len(whole[1]) == 8


@pytest.mark.parametrize(
    ("attribute", "cell"),
    [
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9000), lambda i: i),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9000, integer=True, bins=5000), lambda i: i / 2),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9000), lambda i: "many" if i in {11_000, 11_900} else i),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9000), lambda i: "" if i > 11_900 else i),
        (dpsyn.Attribute("x", "numeric", lower=0, upper=9000), lambda i: "-inf" if i % 1000 == 1 else i),
        (dpsyn.Attribute("x", "date", lower=0, upper=9000), lambda i: np.datetime64("1980-01-01") + np.timedelta64(i, "D")),
        (dpsyn.Attribute("x", "date", lower=0, upper=9000), lambda i: f"{1 + i % 28:02}/{1 + i % 12:02}/{1000 + i // 28}"),
        (dpsyn.Attribute("x", "date", lower=0, upper=9000), lambda i: i),
        (dpsyn.Attribute("x", "categorical", tuple(range(3000))), lambda i: f"{i % 3000}{'.' + '0' * (i // 3000)}"),
        (dpsyn.Attribute("x", "categorical", tuple(range(15_000))), lambda i: i),
        (dpsyn.Attribute("x", "categorical", tuple(range(11_990))), lambda i: i),
    ],
)
def test_long_columns_over_a_given_domain(tmp_path: Path, attribute: dpsyn.Attribute, cell: Callable[[int], object]) -> None:
    agree(tmp_path, numbered(12_000, cell), domain=dpsyn.Domain.of([attribute]))


@pytest.mark.usefixtures("small_blocks")
def test_what_a_given_domain_does_to_cells_is_counted_over_all_blocks(tmp_path: Path) -> None:
    """Moved cells and rows of nothing, in a column that is kept and in one with more values than that."""
    domain = dpsyn.Domain.of(
        [
            dpsyn.Attribute("few", "numeric", lower=0, upper=6, integer=True, missing=True),
            dpsyn.Attribute("many", "numeric", lower=3, upper=10, unit=0.5, missing=True),
            dpsyn.Attribute("word", "categorical", (1, 2, 3), missing=True),
        ]
    )
    cells: dict[str, list[Any]] = {
        "few": [i % 9 for i in range(60)],
        "many": [i / 4 for i in range(60)],
        "word": [("1", "2", "3.0", "1.0")[i // 5 % 4] for i in range(60)],
    }
    for column in cells.values():
        column[5] = column[39] = None
    cells["many"][38] = cells["word"][38] = None
    text = pd.DataFrame(cells, dtype=object).to_csv(index=False)
    _, _, notes = agree(tmp_path, text, domain=domain)
    assert len(notes) == 4
    assert notes[3].startswith("2 rows ")
    outside = {
        "few": sum(cell is not None and cell > 6 for cell in cells["few"]),
        "many": sum(cell is not None and not 3 <= cell <= 10 for cell in cells["many"]),
    }
    for name, number in outside.items():
        assert any(note.startswith(f"Column '{name}': {number} of 60 cells lie outside") for note in notes)
    rows = TextRows.of(tmp_path / "people.csv", domain, None, "refuse")
    schema = pa.schema([("few", pa.float64()), ("many", pa.float64()), ("word", pa.int32())])
    found = pa.Table.from_batches(rows.batches(schema))
    whole = read_in_memory(tmp_path / "people.csv", domain=domain)
    for name in ("few", "many"):
        units = domain[name].in_units(pd.Series(cells[name], dtype=float))
        assert found[name].to_pandas().tolist() == pytest.approx(list(units), nan_ok=True)
        assert rows.moved[name].outside == outside[name]
    assert found["word"].to_pylist() == whole.codes[:, 2].tolist()
    assert rows.notes == notes[:3]
    path = written(tmp_path, cells)
    in_memory, streamed = both(path, domain=domain)
    assert streamed == in_memory


@pytest.mark.parametrize("text", ["x\n1\n2\n", "x\n1\n2\n1\n2\n"])
def test_a_file_that_has_fewer_or_more_rows_when_they_are_asked_for_is_refused(tmp_path: Path, text: str) -> None:
    path, schema = tmp_path / "x.csv", pa.schema([("x", pa.int32())])
    path.write_text("x\n1\n2\n1\n")
    rows = TextRows.of(path, None, None, "refuse")
    path.write_text(text)
    with pytest.raises(DataError, match="changed while it was read"):
        list(rows.batches(schema))


def written(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "people.parquet"
    parquet.write_table(pa.table(columns), path, row_group_size=7)
    return path


TYPED: list[Any] = [
    pa.array([True, False, True] * 10),
    pa.array([True, None, False] * 10),
    pa.array([None] * 30),
    pa.array([None] * 30, pa.string()),
    pa.array(range(30), pa.int8()),
    pa.array([1, 2, None] * 10, pa.int64()),
    pa.array([2**60 + i for i in range(30)]),
    pa.array([2**60, None, 1] * 10),
    pa.array(range(30), pa.uint64()),
    pa.array([i / 7 for i in range(30)]),
    pa.array([i / 7 for i in range(30)], pa.float32()),
    pa.array([float(i) for i in range(30)]),
    pa.array([1.0, float("nan"), None] * 10),
    pa.array([1.0, float("inf"), 0.5] * 10),
    pa.array([0.5] * 15 + [float("inf")] * 2 + [float(i) for i in range(13)]),
    pa.array([decimal.Decimal(i) / 4 for i in range(30)]),
    pa.array([decimal.Decimal(i) / 4 if i % 3 else None for i in range(30)]),
    pa.array([decimal.Decimal(2**60 + i) for i in range(30)]),
    pa.array([decimal.Decimal(i) / 4 for i in range(30)]).cast(pa.decimal32(9, 2)),
    pa.array([decimal.Decimal(i) for i in range(30)], pa.decimal256(60, 2)),
    pa.array(np.arange(30, dtype=np.float16) / 4),
    pa.array(["x", "y", None] * 10),
    pa.array(["yes", "no", "no"] * 10, pa.large_string()),
    pa.array([f"p{i}" for i in range(30)]),
    pa.array(["", " x", "x"] * 10),
    pa.array([f"2020-01-{i + 1:02}" for i in range(30)]),
    pa.array([datetime.date(2020, 1, i + 1) for i in range(30)]),
    pa.array([datetime.datetime(2020, 1, i + 1, i // 2) for i in range(30)]),
    pa.array([datetime.datetime(2020, 1, i + 1, i // 2) if i % 4 else None for i in range(30)], pa.timestamp("s")),
    pa.array([MOMENT + datetime.timedelta(hours=i) for i in range(30)]),
    pa.array(["b", "a", None] * 10).dictionary_encode(),
    pa.array(["yes", "no", "no"] * 10).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([0, 2] * 15), pa.array(["hi", "unused", "lo"])),
    pa.array([f"v{(i * 7) % 20}" for i in range(30)]).dictionary_encode(),
    pa.array([3, 1, None] * 10).dictionary_encode(),
    pa.array([b"x"] * 30),
    pa.array([[1]] * 30),
]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(("at", "array"), [*enumerate(TYPED)], ids=str)
def test_parquet_columns(tmp_path: Path, at: int, array: Any, small: bool, request: pytest.FixtureRequest) -> None:
    if small:
        request.getfixturevalue("small_blocks")
    path = written(tmp_path, {"x": array, "y": list(range(30))})
    whole, streamed = both(path, **({"wide": "leave_out", "columns": ["y", "x"]} if small == at % 2 else {}))
    assert streamed == whole


@pytest.mark.parametrize("bytes_at_once", [1, _parquet._BATCH_BYTES])
def test_small_row_groups_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_at_once: int) -> None:
    """Each brings all categories that it knows, and others than the one before."""
    monkeypatch.setattr(_parquet, "_BATCH_BYTES", bytes_at_once)
    path = tmp_path / "x.parquet"
    groups = [[f"{i % 3}{j}" for j in range(i, i + 300)] for i in range(20)]
    columns = [pa.DictionaryArray.from_arrays(pa.array([i, 2, None, 0, i]), pa.array(g)) for i, g in enumerate(groups)]
    with parquet.ParquetWriter(path, pa.schema({"x": columns[0].type, "y": pa.int64()})) as file:
        for column in columns:
            file.write_table(pa.table({"x": column, "y": range(5)}))
    whole, streamed = both(path)
    assert streamed == whole
    batches = [len(batch[0]) for _, batch in _parquet.Parquet(path).batches([0])]
    assert batches == ([5] * 20 if bytes_at_once == 1 else [100])


@settings(max_examples=60)
@given(
    st.one_of(
        st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=40),
        st.lists(st.one_of(st.none(), st.integers(-5, 40)), min_size=1, max_size=40),
        st.lists(st.one_of(st.none(), st.floats(allow_infinity=False)), min_size=1, max_size=40),
        st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=40),
        st.lists(st.one_of(st.none(), st.datetimes()), min_size=1, max_size=40),
    )
)
def test_any_parquet_column(values: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        parquet.write_table(pa.table({"x": pa.array(values)}), path, row_group_size=5)
        whole, streamed = both(path)
        assert streamed == whole


@pytest.mark.parametrize(
    "values",
    [
        np.arange(12_000),
        np.arange(12_000.0) / 3,
        np.where(np.arange(12_000) < 11_990, np.arange(12_000) / 4, 0.0625),
        np.where(np.arange(12_000) < 11_000, np.arange(12_000) / 3, np.inf),
        np.arange(12_000) + 2**60,
        pa.array([decimal.Decimal(2**60 + i) for i in range(12_000)]),
        pa.array([decimal.Decimal(i * i).scaleb(-2) for i in range(12_000)]),
        pa.array([decimal.Decimal(1) / (3 + i) for i in range(12_000)]),
        pa.array([decimal.Decimal("0.1234567890123456789") + decimal.Decimal(i).scaleb(-19) for i in range(12_000)]),
        pa.array([decimal.Decimal(i % 7) if i < 11_990 else decimal.Decimal(2**53 + 1) for i in range(12_000)]),
        np.arange(12_000, dtype=np.float16) / 4,
        np.array([f"p{i}" for i in range(12_000)]),
        np.datetime64("2020-01-01T00:00:00") + 420 * np.arange(12_000),
        np.array([str(np.datetime64("1980-01-01") + np.timedelta64(i, "D")) for i in range(12_000)]),
        np.array([str(i) for i in range(12_000)]),
    ],
    ids=lambda v: f"{getattr(v, 'dtype', 'decimal')} {v[0]}",
)
def test_long_parquet_columns(tmp_path: Path, values: Any) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"x": values, "y": np.arange(12_000) % 3}), path, row_group_size=5000)
    for options in ({}, {"wide": "leave_out"}):
        whole, streamed = both(path, **options)
        assert streamed == whole


def test_parquet_over_a_given_domain(tmp_path: Path) -> None:
    path = written(tmp_path, {"x": [1, 2, 3] * 10, "y": [0.5, 2.5, 9.5] * 10, "z": ["a"] * 30})
    good = dpsyn.Domain.of([dpsyn.Attribute("y", "numeric", lower=0, upper=9), ATTRIBUTES[4]])
    good = dpsyn.Domain.of([good["y"], dpsyn.Attribute("x", "categorical", (1, 2, 3))])
    for domain in (good, dpsyn.Domain.of([dpsyn.Attribute("x", "categorical", (1, 2))]), dpsyn.Domain.of([ATTRIBUTES[0]])):
        whole, streamed = both(path, domain=domain)
        assert streamed == whole


def test_a_refusal_in_a_later_batch_says_where_its_rows_are_counted_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_parquet, "BATCH", 5)
    path = written(tmp_path, {"x": [1] * 12 + [3] * 3})
    with pytest.raises(DomainError, match=r"row 3 has 3, .* \(3 such rows\).*\(rows counted from row 11 of the file\)"):
        file_statistics(path, domain=dpsyn.Domain.of([dpsyn.Attribute("x", "categorical", (1, 2))]))


def test_parquet_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    for content in (b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"a,b\n1,2\n"):
        agree(tmp_path, content, name="x.parquet")
    parquet.write_table(pa.table({"x": pa.array([], pa.int64())}), path)
    assert both(path)[0] == both(path)[1]
    parquet.write_table(pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), path)
    assert both(path)[0] == both(path)[1]
    pd.DataFrame({"x": [1, 2]}, index=pd.Index([5, 7], name=None)).to_parquet(path)
    whole, streamed = both(path)
    assert streamed == whole
    assert "row labels" in streamed[2][0]


def test_damage_inside_a_parquet_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"x": [i * 1.5 for i in range(3000)]})
    content = bytearray(path.read_bytes())
    content[200:4000] = b"\xff" * 3800
    path.write_bytes(content)
    with pytest.raises(DataError, match="Parquet file"):
        file_statistics(path)


@pytest.mark.parametrize("columns", [["y"], ["y", "x"], ["z"], ["x", "x"], [], "x"])
def test_chosen_columns(tmp_path: Path, columns: Any) -> None:
    agree(tmp_path, "x,y\n1,a\n2,b\n", columns=columns)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path, Path("a\0b")):
        whole, streamed = both(path)
        assert streamed == whole
        assert streamed[0] is DataError
    with pytest.raises(ParameterError, match="wide"):
        file_statistics(tmp_path, wide="maybe")  # type: ignore[arg-type]


def test_two_valued_columns_as_one_bit(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("sex,age\nM,1\nF,2\nM,3\n")
    table = dpsyn.read_table(path)
    for as_bit in (False, True):
        assert file_statistics(path, two_valued_as_bit=as_bit).statistics == table.statistics(two_valued_as_bit=as_bit)


def test_more_columns_than_fit_into_one_key(tmp_path: Path) -> None:
    codes = np.random.default_rng(0).integers(0, 9, (400, 70))
    codes[200:300] = codes[:100]
    path = tmp_path / "x.csv"
    pd.DataFrame(codes).add_prefix("c").to_csv(path, index=False)
    whole, streamed = both(path)
    assert streamed == whole
    assert streamed[0].distinct_rows == 300
    assert streamed[0].max_frequency == 2 / 400


@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=12), st.integers(0, 2**32))
def test_keys_are_equal_exactly_where_the_rows_are(sizes: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(0, min(size, 3), 50) for size in sizes]).astype(np.int32)
    codes[:, 0] = np.array(sizes) - 1
    keys = np.stack(packed(list(codes), sizes))
    assert keys.min() >= 0
    assert len(np.unique(keys, axis=1).T) == len(np.unique(codes, axis=1).T)


@pytest.mark.parametrize(("columns", "bits"), [(12, 20), (70, 1)])
def test_a_key_holds_columns_as_long_as_all_their_codes_differ_in_it(columns: int, bits: int) -> None:
    """Every row with one bit has a key of its own, as many columns in each integer as fit into 62 bits."""
    number = columns * bits
    codes = np.zeros((columns, number + 1), dtype=np.int32)
    for j in range(number):
        codes[j // bits, j] = 1 << j % bits
    keys = packed(list(codes), [2**bits] * columns)
    together = 62 // bits
    assert len(keys) == math.ceil(columns / together)
    for at, key in enumerate(keys):
        inside = codes[at * together :][:together]
        expected = [sum(int(code) << bits * k for k, code in enumerate(row[::-1])) for row in inside.T]
        assert key.tolist() == expected


def test_rows_that_do_not_fit_into_memory_are_spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = np.random.default_rng(0).integers(0, 2**40, 750_000).repeat(2)
    spilled = []

    def keys() -> Iterator[list[Any]]:
        for part in np.array_split(rows, 30):
            spilled.append(sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()))
            yield [part]

    counted = count_rows(keys(), "25MB")
    assert counted == RowCounts(len(rows), len(np.unique(rows)), 2)
    assert max(spilled) > 0
    assert list(tmp_path.iterdir()) == []


def test_memory_limits(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(numbered(12_000, lambda i: i))
    for limit in ("much", "-1GB"):
        with pytest.raises(ParameterError, match=f"memory_limit = '{limit}'"):
            file_statistics(path, memory_limit=limit)
    with pytest.raises(DataError, match="within memory_limit = '300KB'"):
        file_statistics(path, memory_limit="300KB")


def test_steps_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(numbered(12_000, lambda i: f"{i},{i}", ";"))
    told: list[tuple[str, float]] = []
    file_statistics(path, progress=lambda step, share: told.append((step, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] <= 1
    assert len({step for step, _ in told}) == 3


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"

    changed = ""

    def change(step: str, share: float) -> None:
        if step == "reading the columns":
            path.write_text(changed)

    for text in ("x,y\n1,1\n7,7\n", "x,y\n1,1\n1,1\n1,1\n", "x,y\n1,1\n"):
        changed = text
        path.write_text("x,y\n1,1\n2,2\n")
        with pytest.raises(DataError, match="changed while it was read"):
            file_statistics(path, progress=change)


@pytest.mark.parametrize("cell", ["{},5", "+{}"], ids=["halves", "whole numbers"])
def test_a_file_that_no_longer_holds_the_numbers_of_a_long_column_is_refused(cell: str, tmp_path: Path) -> None:
    """More texts than are kept, so that they are read again, and counted anew where whole numbers may be identifiers."""
    path, lines = tmp_path / "x.csv", [f"{cell.format(i)};1\n" for i in range(12_000)]
    path.write_text("x;y\n" + "".join(lines))

    def change(step: str, share: float) -> None:
        if step == "reading the columns":
            path.write_text("x;y\napple;1\n" + "".join(lines[1:]))

    with pytest.raises(DataError, match="changed while it was read"):
        file_statistics(path, progress=change)


@given(
    st.lists(
        st.one_of(
            st.floats().map(str), st.integers().map(str), st.text(alphabet="+-0123456789.,eEinfINFtyxa", max_size=6)
        ).filter(lambda text: text != ""),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_reading_numbers_one_by_one_is_reading_them_together(texts: list[str], decimal_comma: bool) -> None:
    array = pa.array(texts, pa.large_string())
    values, bad = read_numbers(array, decimal_comma=decimal_comma)
    for i, text in enumerate(texts):
        value, alone = read_numbers(array.slice(i, 1), decimal_comma=decimal_comma)
        assert alone[0] == bad[i]
        if not bad[i]:
            assert values[i] == value[0]
            assert values[i] == float(text.replace(",", "."))
