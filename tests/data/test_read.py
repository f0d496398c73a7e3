"""Files as people have them: each gives the right table, or a message that says where and what to do."""

from __future__ import annotations

import bz2
import configparser
import gzip
import io
import lzma
import zipfile
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import dpsyn
from dpsyn import escape
from dpsyn.attribute import Attribute
from dpsyn.data.infer import MAX_CATEGORIES
from dpsyn.data.read import read_table
from dpsyn.domain import Domain
from dpsyn.errors import DataError, DomainError, InputError, ParameterError


def read(text: str | bytes) -> dict[str, list[object]]:
    frame = dpsyn.read_table(text.encode() if isinstance(text, str) else text).frame
    return {str(name): [None if pd.isna(v) else v for v in frame[name].tolist()] for name in frame.columns}


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "a;b\n1;x\n2;y\n",
        "a\tb\n1\tx\n2\ty\n",
        "a|b\n1|x\n2|y\n",
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y\r",
        "a,b\n1,x\n2,y",
        "\n\na,b\n\n1,x\n\n2,y\n\n\n",
        " a , b \n 1 , x \n 2 , y \n",
        '"a","b"\n"1","x"\n"2","y"\n',
        'a, b\n1, "x"\n2, y\n',
    ],
)
def test_the_same_table_however_it_is_separated(text: str) -> None:
    assert read(text) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_encodings(encoding: str) -> None:
    table = read_table("a,b\n1,café\n2,naïve\n".encode(encoding))
    notes = table.notes
    assert table.frame["b"].tolist() == ["café", "naïve"]
    assert len(notes) == (encoding == "cp1252")
    if notes:
        assert "Line 2 is not UTF-8" in notes[0]
        assert "Windows-1252" in notes[0]


def test_bytes_that_windows_1252_does_not_know_are_read_as_latin_1() -> None:
    notes = read_table(b"a,b\n1,\x81x\n2,y\n").notes
    assert "Latin-1" in notes[0]


def test_quotes_hold_separators_newlines_and_quotes() -> None:
    text = 'a,b\n1,"x, y"\n2,"two\nlines"\n3,"say ""hi"""\n4,5" pipe\n'
    assert read(text) == {"a": [1, 2, 3, 4], "b": ["x, y", "two\nlines", 'say "hi"', '5" pipe']}


def test_quoted_names_may_hold_separators_and_newlines() -> None:
    assert read('"a, the\nfirst",b\n1,x\n') == {"a, the\nfirst": [1], "b": ["x"]}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        (b"", None, "empty"),
        (b"\n \n", None, "only empty lines"),
        (b"a,b\n", 1, "no row below"),
        (b"\n\na,b\n", 3, "no row below"),
        (b"a,b,a\n1,2,3\n", 1, "columns 1 and 3 are both called 'a'"),
        (b"a, a\n1,2\n", 1, "columns 1 and 2 are both called 'a'"),
        (b",a\n1,2\n", 1, "column 1 of 2 has no name"),
        (b"a,b,\n1,2,\n", 1, "column 3 of 3 has no name"),
        (b"a,b\n1,2\n3\n", 3, "1 value where the first line names 2 columns"),
        (b"a,b\n1,2\n\n3,4,5\n", 4, "3 values where the first line names 2 columns"),
        (b'a,b\n1,"x\ny"\n2\n', 4, "line 4 has 1 value"),
        (b'a,b\n1, "x"\n2\n', 3, "line 3 has 1 value"),
        (b'a,b\n1,2\n3,"x\n4,5\n', 3, "line 3 is never closed"),
        (b'a,b\n1,2\n3,"x\n4,"y\n', 3, "line 3 a closing quote is followed by more text"),
        (b'a,b\n1,"' + b"x" * 2_000_000, 2, "longer than a million characters"),
        (b"Report of May\n\na,b\n1,2\n3,4\n", 1, "lines below hold 2 separated by commas"),
        (b"a,b\n1,x\n\ninf,y\n", 4, "line 4: the number is infinite"),
        (b"a,b\n1,x\n1e999,y\n", 3, "line 3: the number is infinite"),
        (b"a,b\n1,x\0y\n", 2, "zero byte"),
        (bytes(range(1, 256)) * 3, None, "control characters"),
        (b"PK\x03\x04 and so on", None, "Excel"),
        (b"\x1f\x8b\x08", None, "gzip"),
        (b"<!DOCTYPE html><html>", None, "web page"),
        (b"<?xml version='1.0'?>\n<a/>\n", None, "XML"),
        (b'\xef\xbb\xbf<TABLE border="1">\n<tr><td>1</td></tr>\n</TABLE>\n', None, "web page"),
        (b'{"a": [1, 2]}', None, "JSON"),
        (b"\xff\xfea\x00,\x00b\x00\n\x00\x00\xd8", None, "damaged"),
        (b"PAR1 is how Parquet starts", None, "Parquet file cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: bytes, line: int | None, part: str) -> None:
    with pytest.raises(DataError, match=part) as caught:
        dpsyn.read_table(text)
    assert caught.value.line == line


@given(st.one_of(st.binary(max_size=200), st.text(alphabet='ab,;\t|"\n\r 1.-é\x00', max_size=60).map(str.encode)))
def test_any_bytes_give_a_table_or_a_message(data: bytes) -> None:
    try:
        table, message = dpsyn.read_table(data), ""
    except InputError as error:
        table, message = None, str(error)
    if table is None:
        assert len(message) > 10
    else:
        assert table.n >= 1
        assert table.codes.shape == (table.n, len(table.domain))


def test_one_column_keeps_its_gaps() -> None:
    assert read("a\n1\n\n3\n") == {"a": [1, None, 3]}
    assert read('a\nx\n""\ny\n') == {"a": ["x", None, "y"]}
    assert read("remark\nhello, you\nbye\n") == {"remark": ["hello, you", "bye"]}


def test_one_row_and_one_cell() -> None:
    assert read("a,b\n1,x\n") == {"a": [1], "b": ["x"]}
    assert read("a\n1\n") == {"a": [1]}


def test_missing_words_but_not_question_marks_or_none() -> None:
    table = read_table(b"a,b\n1,NA\nnan,x\n,?\n2,None\n3,-\n")
    notes = table.notes
    assert table.domain["a"].missing
    assert table.frame["a"].dtype == "Int64"
    assert table.domain["b"].categories == ("-", "?", "None", "x")
    assert table.domain["b"].missing
    assert notes == ("Column 'b': cells that say 'NA' (1) were taken as missing.",)


def test_an_empty_column_is_kept_and_named() -> None:
    table = read_table(b"a,b\n1,\n2,\n")
    notes = table.notes
    assert table.domain["b"].size == 1
    assert notes == ("Column 'b' is empty.",)


def test_a_first_line_of_values_is_remarked_on() -> None:
    notes = read_table(b"39,x\n40,y\n41,z\n").notes
    assert "does the file lack a header?" in notes[0]
    assert read_table(b"country,1990,1991\nA,1,2\nB,3,4\n").notes == ()


def test_separators_are_judged_by_many_lines() -> None:
    assert read("name;price, net\nx;1\ny;2\n") == {"name": ["x", "y"], "price, net": [1, 2]}


@pytest.mark.parametrize(
    ("text", "names", "other"),
    [
        ("place;temp, C;wind, m/s\nA;1,5;3,2\nB;2,5;3,4\n", ("place", "temp, C", "wind, m/s"), "sep=,"),
        ("name, first\tage\nX, Y\t23\nZ, Y\t31\n", ("name, first", "age"), "sep=,"),
        ('"name, first";"age"\n"X, Y";"23"\n"Z, Y";"31"\n', ("name, first", "age"), ""),
        ('"h, cm";"w, kg"\n"1,80";"75,5"\n"1,70";"65,5"\n', ("h, cm", "w, kg"), ""),
        ("a;b,c,d,e\nx;y,1,2,3\nx;z,2,3,4\n", ("a;b", "c", "d", "e"), "sep=;"),
        ("a\tb,c,d,e\nx\ty,1,2,3\nx\tz,2,3,4\n", ("a\tb", "c", "d", "e"), "sep=\t"),
    ],
)
def test_commas_of_names_and_numbers_separate_nothing_where_another_character_does(text, names, other) -> None:
    table = read_table(text.encode())
    assert table.domain.names == names
    told = [note for note in table.notes if "separate the values" in note]
    assert len(told) == bool(other)
    if other:
        assert other.replace("\t", " and a tab above") in told[0]
        assert not any("separate the values" in note for note in read_table(f"{other}\n{text}".encode()).notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Name, First;Age\n" + "X, Y;30;\n" * 30, "line 2 has 3 values where the first line names 2 columns"),
        ("Name\tCity, State\tAge\n" + "N\tA, TX\t30\n" * 30 + "N\t\tA, TX\t33\n", "line 32 has 4 values"),
        ("Day;T, C;H\n" + "2024-01-01;1,5;3\n" * 20 + "2024-02-01;3,5\n", "line 22 has 2 values"),
        ("Day;Sum, CHF\n" + "2024-01-01;1,50\n" * 20 + "Total 12,50\n", "line 22 has 1 value"),
        ("id;size, cm;note\n" + "1;3,5;ok\n" * 20 + '21;3,5;"a\n', "line 22 is never closed"),
    ],
)
def test_damaged_rows_do_not_make_it_another_separator(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_table(text.encode())


@pytest.mark.parametrize("mark", [";", "|", "\t"])
def test_marks_that_stand_in_quotes_alone_separate_nothing(mark: str) -> None:
    table = read_table(f'"place{mark} city","x"\n"Rome{mark} ""IT""",1\n"Oslo{mark} NO",2\n'.encode())
    assert table.frame.to_dict("list") == {f"place{mark} city": [f'Rome{mark} "IT"', f"Oslo{mark} NO"], "x": [1, 2]}


def test_what_cuts_the_first_line_into_known_names_separates_the_values() -> None:
    """An export writes no quotes around marks that do not separate its values."""
    rows = pd.DataFrame({"place; city": ["Rome; IT", "Oslo; NO"] * 3, "=a; b": ["x; y", "=z; u"] * 3, "n": range(6)})
    domain = read_table(rows).domain
    for guarded in (False, True):
        again = read_table(escape.csv(rows, guarded=guarded), domain=domain)
        assert again.frame.astype(object).equals(rows.astype(object))


@pytest.mark.parametrize("name", ["a;b0", "a,b", "a|b,c"])
def test_one_heading_that_holds_separators_is_known_by_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{name}\n" + "7\n16\n12.5\n" * 5)
    for options in ({"columns": [name]}, {"domain": Domain.of([Attribute(name, "numeric", lower=0, upper=20)])}):
        for in_place in (False, True):
            table = dpsyn.read_table(tmp_path / "x.csv", in_place=in_place, **options)
            assert table.domain.names == (name,)
            assert table.n == 15
    two = f"{name}\n" + f"1{name[1]}2\n" * 5
    for text, columns in ((two, [name]), (f"x\n{two}", ["x"])):
        with pytest.raises(DataError):
            dpsyn.read_table(text.encode(), columns=columns)


def test_300_columns() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(200, 300)), columns=[f"c{i}" for i in range(300)])
    table = dpsyn.read_table(frame.to_csv(index=False).encode())
    assert len(table.domain) == 300
    assert np.allclose(table.frame.to_numpy(), frame.to_numpy())


def test_identifiers_are_refused_or_left_out() -> None:
    lines = "\n".join(f"p{i},{i % 2}" for i in range(MAX_CATEGORIES + 1))
    data = f"id,sick\n{lines}\n".encode()
    with pytest.raises(DataError, match=r"'id' holds 10001 different texts.*leave it out") as caught:
        dpsyn.read_table(data)
    assert caught.value.column == "id"
    table = read_table(data, wide="leave_out")
    notes = table.notes
    assert table.domain.names == ("sick",)
    assert notes[0].startswith("Column 'id' was left out")
    assert dpsyn.read_table(data, columns=["sick"]).domain == table.domain


def test_columns_are_chosen_in_the_order_given() -> None:
    data = b"a,b,c\n1,x,2.5\n2,y,3.5\n"
    for names in (["c", "a"], np.array(["c", "a"]), pd.Index(["c", "a"]), pd.Series(["c", "a"])):
        assert dpsyn.read_table(data, columns=names).domain.names == ("c", "a")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no column 'd'; its columns are 'a', 'b', 'c'"):
        dpsyn.read_table(data, columns=["d"])
    with pytest.raises(ParameterError, match="columns"):
        dpsyn.read_table(data, columns=["a", "a"])
    with pytest.raises(ParameterError, match="columns"):
        dpsyn.read_table(data, columns="a")
    with pytest.raises(ParameterError, match="wide"):
        dpsyn.read_table(data, wide="maybe")  # type: ignore[arg-type]


def test_sources(tmp_path: Path) -> None:
    data = b"a;b\n1;x\n2;y\n"
    path = tmp_path / "people.csv"
    path.write_bytes(data)
    with path.open("rb") as binary, path.open() as text:
        tables = [
            dpsyn.read_table(source)
            for source in (
                path,
                str(path),
                data,
                bytearray(data),
                io.BytesIO(data),
                io.StringIO(data.decode()),
                binary,
                text,
            )
        ]
    assert [t.name for t in tables] == ["people", "people", "data", "data", "data", "data", "people", "people"]
    assert all(t.frame.equals(tables[0].frame) for t in tables)
    assert dpsyn.read_table(data, name="other").name == "other"


def test_tabs_by_name(tmp_path: Path) -> None:
    path = tmp_path / "people.tsv"
    path.write_bytes(b"a, b, c\tname\n1\tx, y, z\n2\tq\n")
    assert dpsyn.read_table(path).domain.names == ("a, b, c", "name")


@pytest.mark.parametrize("source", ["/no/such/file.csv", "/", "a\0b", 3, None, ["a"], io.StringIO("\ud800,a\n1,2\n")])
def test_what_is_no_source_is_refused(source: object) -> None:
    with pytest.raises(DataError):
        dpsyn.read_table(source)


class _At:
    """Something that says it is a path."""

    def __init__(self, place: object) -> None:
        self.place = place

    def __fspath__(self) -> object:
        return self.place


@pytest.mark.parametrize("broken", [gzip.open, lzma.open, bz2.open, zipfile.ZipFile, io.BytesIO, configparser.ConfigParser])
def test_whatever_an_open_file_raises_its_refusal_is_ours(broken: Any, tmp_path: Path) -> None:
    path = tmp_path / "people"
    with {gzip.open: gzip.open, lzma.open: lzma.open, bz2.open: bz2.open}.get(broken, open)(path, "wb") as file:
        file.write(np.random.default_rng(0).bytes(10_000))
    if broken is zipfile.ZipFile:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("people.csv", "a,b\n1,2\n")
        source: Any = broken(path)
    elif broken in (io.BytesIO, configparser.ConfigParser):
        source = broken
    else:  # the download broke off
        path.write_bytes(path.read_bytes()[:5_000])
        source = broken(path)
    with pytest.raises(DataError, match=r"the buffer cannot be read: .*[a-z]"):
        dpsyn.read_table(source)


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n1,x\n2,y\n")
    assert dpsyn.read_table(_At(bytes(path))).name == "people"
    assert dpsyn.read_table(_At(bytes(path)), in_place=True).n == dpsyn.file_statistics(_At(bytes(path))).statistics.n == 2
    for read_it in (dpsyn.read_table, partial(dpsyn.read_table, in_place=True), dpsyn.file_statistics):
        with pytest.raises(DataError, match="a _At gives no path"):
            read_it(_At(5))


def test_tables_of_other_libraries_are_told_to_become_frames() -> None:
    table = pa.table({"x": ["a", "b"]})
    with pytest.raises(DataError, match=r"from a Table; hand in what its to_pandas\(\) gives"):
        dpsyn.read_table(table)
    assert dpsyn.read_table(table.to_pandas()).n == 2


def test_a_parquet_name_without_parquet_content(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="called a Parquet file"):
        dpsyn.read_table(path)


def test_statistics_of_a_small_file() -> None:
    statistics = dpsyn.read_table(b"sex,sick,work\nM,yes,?\nF,no,State\nM,yes,?\nM,no,Private\n").statistics()
    # Two bits for sex, one for the truth column, three for work.
    assert (statistics.p, statistics.n, statistics.max_frequency, statistics.distinct_rows) == (6, 4, 0.5, 3)


def test_a_domain_that_does_not_fit_names_line_and_value() -> None:
    domain = dpsyn.Domain.of(
        [dpsyn.Attribute("a", "categorical", ("x", "y")), dpsyn.Attribute("n", "numeric", lower=0, upper=9)]
    )
    with pytest.raises(DomainError, match=r"'a': line 4 has 'z', .*'x', 'y' \(2 such rows\)"):
        dpsyn.read_table(b"a,n\nx,1\ny,2\nz,3\nz,4\n", domain=domain)
    with pytest.raises(DomainError, match=r"'n': line 3 has 'many'.*not a number"):
        dpsyn.read_table(b"a,n\nx,1\ny,many\n", domain=domain)
    with pytest.raises(DomainError, match="'n': line 3 has an empty cell"):
        dpsyn.read_table(b"a,n\nx,1\ny,\n", domain=domain)
    with pytest.raises(DomainError, match="no column 'n'"):
        dpsyn.read_table(b"a\nx\n", domain=domain)
    table = read_table(b"n,b,a\n1,3,x\n8,4,y\n", domain=domain)
    notes = table.notes
    assert table.domain is not None
    assert table.frame.columns.tolist() == ["a", "n"]
    assert notes == ("Not in the domain, and left out: 'b'.",)


DAYS = Domain.of([Attribute("day", "date", lower=18_993, upper=19_240, bins=5)])  # 2022-01-01 to 2022-09-05


def test_dates_that_could_be_either_keep_to_the_bounds_of_the_domain_and_say_so():
    for cells, expected, said in (
        ("11/12/2022\n12/11/2022", None, "month/day."),  # neither order keeps to the bounds
        ("03/04/2022\n12/05/2022", ["2022-04-03", "2022-05-12"], "day/month, which alone keeps to the bounds"),
        ("03/04/2022\n05/06/2022", ["2022-03-04", "2022-05-06"], "month/day."),
    ):
        table = read_table(f"day\n{cells}\n".encode(), domain=DAYS)
        notes = table.notes
        assert said in notes[0]
        if expected is None:
            assert "cells lie outside the domain, 2022-01-01 to 2022-09-05" in notes[2]
        else:
            assert [str(day)[:10] for day in table.frame["day"]] == expected
            assert notes[1:] == ("Column 'day': its dates come back written as 2024-12-31.",)


def test_cells_outside_the_bounds_are_counted_in_a_note():
    domain = Domain.of([Attribute("age", "numeric", lower=20, upper=60, bins=4, integer=True)])
    for source in (b"age\n19\n20\n60\n61\n99\n", pd.DataFrame({"age": [19, 20, 60, 61, 99]})):
        table = read_table(source, domain=domain)
        notes = table.notes
        assert notes == ("Column 'age': 3 of 5 cells lie outside the domain, 20 to 60, and are taken as its nearer end.",)
        assert table.codes[:, 0].tolist() == [0, 0, 3, 3, 3]


def test_cells_between_two_multiples_of_the_unit_of_a_given_domain_are_counted():
    domain = Domain.of([Attribute("price", "numeric", lower=0, upper=10, bins=4, unit=0.1)])
    text = "price\n0.3\n0.30000000000000004\n0.35\n2\n7.77\n12.34\n\n"
    notes = read_table(text.encode(), domain=domain).notes
    assert notes[-1] == "Column 'price': 2 of 6 cells are no multiples of its unit, 0.1, and are taken as the nearest one."
    singles = pd.DataFrame({"price": np.array([0.1, 0.3, 0.7, 9.9], dtype=np.float32)})
    assert read_table(singles, domain=domain).notes == ()


@pytest.mark.parametrize(
    ("category", "cell", "told"),
    [
        (9007199254740992, "9007199254740992.0", 1),
        (0, "1e-400", 1),
        (0, "-0.0", 0),
        (0.1, "0.1000000000000000000001", 1),
        (0.1, "0.100", 0),
        (1, "1.00000000000000000001", 1),
        (1, "1.0", 0),
    ],
)
def test_a_number_beyond_double_precision_is_a_category_with_a_word(category: float, cell: str, told: int) -> None:
    table = read_table(f"a\n{cell}\n5\n".encode(), domain=Domain.of([Attribute("a", "categorical", (category, 5))]))
    assert table.frame["a"].tolist() == [category, 5]
    assert len([note for note in table.notes if "was read as the category" in note]) == told


@pytest.mark.parametrize(
    ("category", "cell"), [(9007199254740992, "9007199254740993"), (1234567890123456768, "1234567890123456789")]
)
def test_a_whole_number_beside_a_category_is_not_taken_for_it(category: int, cell: str) -> None:
    with pytest.raises(DomainError, match="not one of the categories"):
        read_table(f"a\n{cell}\n5\n".encode(), domain=Domain.of([Attribute("a", "categorical", (category, 5))]))


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["4565178333521831.14", "6565178333521831.27"], True),
        (["0.205109718189038559", "0.5"], True),
        (["0.30000000000000004", "0.20510971818903856"], False),  # as a double is written
        (["1.00000000000000000000", "2.5"], False),
        (["1.2345678901234567890e5", "2"], True),
    ],
)
def test_decimals_that_double_precision_rounds_are_told_in_memory_and_in_place(
    cells: list[str], told: bool, tmp_path: Path
) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "".join(f"{cell},x\n" for cell in [*cells, "0.30000000000000004"]))
    for in_place in (False, True):
        table = read_table(path, in_place=in_place)
        assert ("Column 'a': some decimals were rounded to double precision." in table.notes) is told


@pytest.mark.parametrize("whole", ["4565178333521831.14", "12345678901234567.5"])
def test_a_file_of_one_long_decimal_is_read_by_its_own_domain_also_as_parquet(whole: str, tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    parquet.write_table(pa.table({"a": [Decimal(whole)] * 3, "b": [1, 2, 3]}), path)
    table = read_table(path)
    assert table.frame["a"].tolist() == [float(whole)] * 3
    assert read_table(path, domain=table.domain).codes.tolist() == table.codes.tolist()
    assert read_table(path, in_place=True).domain == table.domain


@pytest.mark.parametrize("cell", ["0.12345678901234567890", "1.00000000000000000001", "1e-400", "12345678901234567.5"])
def test_a_file_of_one_long_decimal_is_read_by_the_domain_of_its_own(cell: str) -> None:
    text = f"a,b\n{cell},x\n{cell},y\n".encode()
    table = read_table(text)
    again = read_table(text, domain=table.domain)
    assert again.frame["a"].tolist() == table.frame["a"].tolist() == [float(cell)] * 2
