"""Tables that are counted where they lie: every cell counts as it does in memory, and releases are the same."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

import dpsyn
from dpsyn import Attribute, Domain
from dpsyn.calendar import with_calendar
from dpsyn.data.counted import CountedTable
from dpsyn.privacy.histograms import Encoding, Histograms

DATES = [datetime.date(2020, 1, 1) + datetime.timedelta(days=7 * i) for i in range(40)]


def rows(n: int = 300, seed: int = 0) -> pa.Table:
    """A column of every type, with gaps, values beyond the bounds and values on the edges of bins."""
    random = np.random.default_rng(seed)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in random.integers(0, len(values), n)], kind)

    cents = [None, 0.005, 0.015, 0.125, 0.29, 1.005, 2.675, -3.0, 99.0, *np.round(random.random(9), 2)]
    prices = [None, *(Decimal(k).scaleb(-3) for k in (-1, 0, 4, 5, 6, 15, 2500, 999999))]
    times = [None, *(datetime.datetime(2020, 1, 1 + i % 28, 23, 59, 59, 999999) for i in range(40))]
    reals = [
        None,
        math.nan,
        math.inf,
        -math.inf,
        -5.0,
        0.0,
        -0.0,
        0.1 + 0.2,
        0.3,
        1.0,
        9.999,
        10.0,
        12.0,
        *random.random(20),
    ]
    return pa.table(
        {
            "real": some(reals, pa.float64()),
            "cents": some(cents, pa.float64()),
            "narrow": some([0.1, 0.25, 0.3, 0.7, 1.5], pa.float32()),
            "age": some([None, 17, 18, 19, 40, 64, 65, 90, 2**53 + 1, -(2**60)], pa.int64()),
            "small": some(list(range(-4, 9)), pa.int8()),
            "large": some([0, 5, 2**63, 2**64 - 1], pa.uint64()),
            "price": some(prices, pa.decimal128(12, 3)),
            "day": some([None, datetime.date(1960, 2, 29), *DATES], pa.date32()),
            "time": some(times, pa.timestamp("us")),
            "word": some([None, "a", "b", "it's", 'say "x"', "ü\\n", ""], pa.string()),
            "flag": some([True, False], pa.bool_()),
            "grade": some([1, 2, 3], pa.int32()),
            "many": some([f"w{i}" for i in range(60)], pa.string()),
        }
    )  # fmt: skip


def number(
    name: str, lower: float, upper: float, unit: float | None = None, bins: int = 7, missing: bool = True
) -> Attribute:
    return Attribute(name, "numeric", lower=lower, upper=upper, unit=unit, bins=bins, missing=missing, public=True)


def days(name: str, first: datetime.date, last: datetime.date, **options: Any) -> Attribute:
    ends = [(day - datetime.date(1970, 1, 1)).days for day in (first, last)]
    return Attribute(name, "date", lower=ends[0], upper=ends[1], missing=True, public=True, **options)


DOMAIN = Domain.of(
    [
        number("real", 0.0, 10.0),
        number("cents", -1.0, 3.0, 0.01),
        number("narrow", 0.0, 1.0, 0.25, missing=False),
        number("age", 18, 90, 1),
        number("small", -2.5, 7.25, 0.5, bins=5),
        number("large", 0.0, 1e20, None, bins=4),
        number("price", 0.0, 3.0, 0.01, bins=6),
        days("day", DATES[3], DATES[-3], bins=9, keep=("weekday", "month")),
        days("time", datetime.date(2020, 1, 3), datetime.date(2020, 1, 20), bins=4),
        Attribute("word", "categorical", ("", "a", "b", "it's", 'say "x"', "ü\\n", "never"), missing=True, public=True),
        Attribute("flag", "truth", (False, True), public=True),
        Attribute("grade", "categorical", (3, 2, 1), public=True),
        Attribute("many", "categorical", tuple(f"w{i}" for i in range(60, -1, -1)), public=True),
    ]
)


def in_place(table: pa.Table, domain: Domain | None = None, **options: Any) -> CountedTable:
    """By a relation of DuckDB."""
    connection = duckdb.connect()
    connection.register("t", table)
    return dpsyn.read_table(connection.sql("FROM t"), domain=domain, in_place=True, **options)


def in_memory(table: pa.Table, domain: Domain | None = None) -> dpsyn.Table:
    buffer = pa.BufferOutputStream()
    parquet.write_table(table, buffer)
    return dpsyn.read_table(buffer.getvalue().to_pybytes(), domain=domain)


def assert_same_counts(counted: CountedTable, table: dpsyn.Table, degree: int = 2) -> None:
    """All tables of some columns, with the domain's bins and with others, and all parts of fine histograms."""
    domain = with_calendar(table.domain)
    assert (counted.n, counted.domain) == (table.n, table.domain)
    histograms = Histograms.of(domain)
    encodings = [Encoding(domain)]
    if histograms is not None:
        asked: list[list[np.ndarray]] = [[], []]

        def learn(rows: Any, kept: list[np.ndarray]) -> Encoding:
            def released(counts: np.ndarray) -> np.ndarray:
                kept.append(counts)
                return counts

            return histograms.learn(rows, released, 0.01, table.n)

        encodings.append(learn(table, asked[0]))
        learn(counted, asked[1])
        assert len(asked[0]) == len(asked[1])
        for one, other in zip(*asked, strict=True):
            np.testing.assert_array_equal(one, other)
    for encoding in encodings:
        real, other = encoding.rows(table), encoding.rows(counted)
        sets = [*combinations(range(len(domain)), degree), (3, 1), (2,), ()]
        other.expect(sets)
        for columns in sets:
            np.testing.assert_array_equal(real.counts(columns), other.counts(columns), str(columns))


def test_every_cell_counts_as_in_memory():
    table = rows()
    assert_same_counts(in_place(table, DOMAIN), in_memory(table, DOMAIN))
