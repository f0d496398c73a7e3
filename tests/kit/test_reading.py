"""Uploads: at once or in a worker, and what is too large is refused before it is decoded."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpsyn
from dpsyn.data import _frames
from dpsyn.data import read as module
from dpsyn.data.read import announced, read_in_memory
from dpsyn.errors import DataError
from dpsyn.kit import reading


def bomb(rows, columns=1):
    """A Parquet file of one text, again and again: about 4 KB for a million rows."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["x" * 20]))
    stream = io.BytesIO()
    parquet.write_table(pa.table({f"c{j}": column for j in range(columns)}), stream, compression="zstd")
    return stream.getvalue()


@pytest.fixture
def _nothing_is_decoded(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("it was decoded")

    monkeypatch.setattr(_frames.Parquet, "frame", refuse)


@pytest.mark.usefixtures("_nothing_is_decoded")
def test_a_small_file_of_many_rows_is_refused_by_what_it_says_of_itself():
    data = bomb(3_000_000)
    assert len(data) < 100_000
    with pytest.raises(DataError, match=r"3,000,000 rows of 1 columns, 3,000,000 cells, and at most 2,999,999 are read"):
        read_in_memory(data, most=(2_999_999, 10))


@pytest.mark.usefixtures("_nothing_is_decoded")
def test_what_cannot_fit_into_memory_is_refused_wherever_it_is_read(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 30_000_000)
    with pytest.raises(DataError, match=r"need more than 0\.064 GB, and 0\.03 GB may be used: take a sample"):
        dpsyn.read_table(bomb(2_000_000, 2))


def test_texts_of_too_many_cells_or_columns_are_refused():
    assert read_in_memory(b"a,b\n1,2\n3,4\n", most=(4, 2)).n == 2
    with pytest.raises(DataError, match="2 rows of 2 columns, 4 cells, and at most 3 are read"):
        read_in_memory(b"a,b\n1,2\n3,4\n", most=(3, 2))
    with pytest.raises(DataError, match="has 2 columns, and at most 1 are read"):
        read_in_memory(b"a,b\n1,2\n3,4\n", most=(4, 1))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_columns_of_a_text_are_known_from_its_first_line(separator):
    line = separator.join("abc")
    data = f"\n\n{line}\n{line}\n".encode()
    assert announced(data) == (0, 3, len(data))


def test_rows_and_columns_of_parquet_are_known_from_its_end():
    assert announced(bomb(1_000, 3)) == (1_000, 3, 3 * 1_000 * 20)


@pytest.mark.usefixtures("_nothing_is_decoded")
@pytest.mark.parametrize("category", [True, False])
@pytest.mark.parametrize("dictionary", [True, False])
def test_one_long_text_in_many_rows_is_refused_and_no_quick_file(monkeypatch, dictionary, category):
    texts = pa.array(["A" * 100_000, "é", None] * 500)
    rows = pa.table({"x": texts.dictionary_encode() if category else texts, "y": [1] * 1500})
    stream = io.BytesIO()
    parquet.write_table(rows, stream, use_dictionary=dictionary, compression="zstd", row_group_size=500)
    data = stream.getvalue()
    assert len(data) < 60_000
    assert announced(data) == (1500, 2, 500 * 100_002)
    assert not reading.is_quick(data)
    monkeypatch.setattr(module, "available_memory", lambda: 150_000_000)
    with pytest.raises(DataError, match=r"1,500 rows of 2 columns; they need more than 0\.15 GB, and 0\.15 GB may be used"):
        dpsyn.read_table(data)


@pytest.mark.parametrize(
    ("data", "quick"),
    [
        (b"a,b\n1,2\n", True),
        (b"a,b\n" + b"1,2\n" * (1 << 20), False),
        (",".join(f"c{j}" for j in range(400)).encode() + b"\n1,2\n", False),
        (bomb(900_000), True),
        (bomb(600_000, 2), False),
    ],
)
def test_a_file_is_read_at_once_only_if_that_is_quick(data, quick):
    assert reading.is_quick(data) is quick


def test_how_much_a_visit_may_hold_follows_the_servers_share(monkeypatch):
    class Small:
        limits = reading.scheduler().limits.__class__(workers=1, memory=480_000)

    monkeypatch.setattr(reading, "scheduler", Small)
    assert reading.most_cells() == 1_000


def test_the_table_comes_with_its_equal_rows_counted():
    table = reading.read(b"a,b\n1,2\n1,2\n3,4\n", "t.csv", 6, lambda step, share: None).table
    assert table.__dict__["_equal_rows"].distinct == 2
