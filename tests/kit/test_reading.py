"""Uploads: at once or in a worker, and what is too large is refused before it is decoded."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpsyn
from dpsyn.data import _parquet
from dpsyn.data import read as module
from dpsyn.data.read import read_in_memory
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

    monkeypatch.setattr(_parquet.Parquet, "frame", refuse)


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


@pytest.mark.usefixtures("_nothing_is_decoded")
@pytest.mark.parametrize("category", [True, False])
@pytest.mark.parametrize("dictionary", [True, False])
def test_one_long_text_in_many_rows_is_refused(monkeypatch, dictionary, category):
    texts = pa.array(["A" * 100_000, "é", None] * 500)
    rows = pa.table({"x": texts.dictionary_encode() if category else texts, "y": [1] * 1500})
    stream = io.BytesIO()
    parquet.write_table(rows, stream, use_dictionary=dictionary, compression="zstd", row_group_size=500)
    data = stream.getvalue()
    assert len(data) < 60_000
    monkeypatch.setattr(module, "available_memory", lambda: 150_000_000)
    with pytest.raises(DataError, match=r"1,500 rows of 2 columns; they need more than 0\.15 GB, and 0\.15 GB may be used"):
        dpsyn.read_table(data)


@pytest.mark.parametrize(
    ("data", "quick"),
    [
        (b"a,b\n1,2\n", True),
        (b"a,b\n" + b"1,2\n" * (1 << 20), False),
        *(("\n\n" + mark.join(f"c{j}" for j in range(400)) + "\n1,2\n", False) for mark in ",;\t|"),
        (",".join(f"c{j}" for j in range(300)) + "\n1,2\n", True),
        (bomb(1), False),  # whatever it says of itself
    ],
)
def test_a_file_is_read_at_once_only_if_it_is_a_short_text(data, quick):
    assert reading.is_quick(data.encode() if isinstance(data, str) else data) is quick


def test_how_much_a_visit_may_hold_follows_the_servers_share(monkeypatch):
    class Small:
        limits = reading.scheduler().limits.__class__(workers=1, memory=480_000)

    monkeypatch.setattr(reading, "scheduler", Small)
    assert reading.most_cells() == 1_000


def test_the_table_comes_with_its_equal_rows_counted():
    table = reading.read(b"a,b\n1,2\n1,2\n3,4\n", "t.csv", 6, lambda step, share: None).table
    assert table.__dict__["_equal_rows"].distinct == 2
