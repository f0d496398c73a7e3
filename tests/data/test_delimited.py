from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsyn
from dpsyn import Attribute, Domain, escape
from dpsyn.data._delimited import SEPARATORS, Delimited
from dpsyn.data._text import look

CELLS = st.text(alphabet=" ab01.,;\t|\"'\n\ré-", max_size=6)


def read_delimited(text: bytes) -> tuple[Delimited, list[list[str]]]:
    """The text, and the cells of every column."""
    found = Delimited(look(lambda: io.BytesIO(text)), tabs=False)
    batches = found.gather(range(len(found.names)), list, list.append)
    return found, [[cell for batch in batches for cell in batch[j].to_pylist()] for j in range(len(found.names))]


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(st.integers(2, 4))
    return draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6))


@given(tables(), st.sampled_from(sorted(SEPARATORS)), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_what_was_written_is_read(rows: list[list[str]], separator: str, ending: str, quote_all: bool) -> None:
    if not quote_all:
        # The writer leaves ends of lines other than its own without quotes, and then they do end the line.
        rows = [[cell.replace("\r", "").replace("\n", "" if ending == "\r" else "\n") for cell in row] for row in rows]
    names = [f"n{j}" for j in range(len(rows[0]))]
    stream = io.StringIO()
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(stream, delimiter=separator, lineterminator=ending, quoting=quoting)
    writer.writerows([names, *rows])
    read, columns = read_delimited(stream.getvalue().encode())
    assert read.names == tuple(names)
    assert read.separator == separator
    cells = [[cell.strip() for cell in column] for column in columns]
    assert cells == [[row[j].strip() for row in rows] for j in range(len(names))]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("start", ["\ufeff\ufeff", "\ufeff\ufeff\ufeff", "\ufeff\ufeffsep=;\n", "sep=;\n\ufeff"])
@pytest.mark.parametrize("in_place", [False, True])
def test_marks_before_the_names_are_no_part_of_them(encoding: str, start: str, in_place: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f'{start}"a;b";c\nx;1\ny;2\n'.encode(encoding))
    table = dpsyn.read_table(path, in_place=in_place)
    assert (table.domain.names, table.domain["a;b"].categories) == (("a;b", "c"), ("x", "y"))


@pytest.mark.parametrize("text", ["c\n\ufeffz\nz\n\ufeffz\n", '\ufeffc\n\ufeffz\nz\n"\ufeffz"\n'])
def test_a_mark_that_begins_a_cell_is_part_of_it(text: str) -> None:
    assert read_delimited(text.encode())[1] == [["\ufeffz", "z", "\ufeffz"]]


def test_a_quote_after_a_separator_and_spaces_inside_a_cell_leaves_spaces_before_others() -> None:
    texts = (" a", "a", 'say, "y"')
    domain = Domain.of([Attribute("x", "categorical", texts), Attribute("k", "categorical", ("p", "q"))])
    rows = pd.DataFrame({"x": [*texts] * 4, "k": ["p", "q"] * 6})
    assert dpsyn.read_table(escape.csv(rows, guarded=False), domain=domain).frame["x"].tolist() == [*texts] * 4
    assert read_delimited(b'x,k\na, "p, q"\nb, r\n')[1] == [["a", "b"], ["p, q", "r"]]


def test_rows_are_found_again_by_line() -> None:
    read, _ = read_delimited(b'\na,b\n1,"x\ny"\n\n2,z\n3,"w"\n')
    assert [read.line_of(row) for row in range(3)] == [3, 6, 7]


@pytest.mark.parametrize("mark", [";", "|", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_marks_in_cells_separate_no_values_whatever_ends_the_lines(mark: str, ending: str, tmp_path: Path) -> None:
    text = ending.join(['"a","b"', f'"x{mark}y{mark}z","1"', '"u","2"', ""]).encode()
    read, columns = read_delimited(text)
    assert (read.names, columns) == (("a", "b"), [[f"x{mark}y{mark}z", "u"], ["1", "2"]])
    for name in ("t.csv", "t.tsv"):
        (tmp_path / name).write_bytes(text)
        for in_place in (True, False):
            assert dpsyn.read_table(tmp_path / name, in_place=in_place).domain.names == ("a", "b")


@pytest.mark.parametrize("separator", sorted(SEPARATORS))
def test_long_rows_do_not_fit_into_a_block(separator: str) -> None:
    wide = "x" * (1 << 20)
    rows = f"a{separator}b\n" + f"{wide}{separator}1\n" * 20
    _, columns = read_delimited(rows.encode())
    assert len(columns[0]) == 20
    assert set(columns[0]) == {wide}
