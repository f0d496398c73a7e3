"""Tables that are counted where they lie: every cell counts as it does in memory, and releases are the same."""

from __future__ import annotations

import datetime
import gc
import math
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpsyn
from dpsyn import Attribute, Domain, PrivacySpec
from dpsyn.calendar import with_calendar
from dpsyn.data import _delimited, _parquet, _sql, engines, infer
from dpsyn.data import in_place as in_place_module
from dpsyn.data.counted import MOST_DRAWN, CountedTable
from dpsyn.data.large import file_statistics
from dpsyn.data.read import Moved
from dpsyn.errors import DataError, DomainError, DpsynError, quoted
from dpsyn.mechanisms.noisy_reweighting import merged_tables
from dpsyn.mechanisms.noisy_reweighting.merged_tables import MergedTables
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.histograms import Encoding, Histograms
from dpsyn.privacy.noise import NoiseSource
from tests.conftest import postgres_address

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
    """All tables of some columns, with the domain's bins and with others, all parts of fine histograms, and notes on cells
    that the domain moves."""
    domain = with_calendar(table.domain)
    assert (counted.n, counted.domain) == (table.n, table.domain)
    for one in filter(lambda one: one.is_binned, table.domain.attributes):
        assert [*counted.moved(one.name)] == [*Moved.of(one, table.frame[one.name]).notes(one, table.n)]
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
        sets = [*combinations(range(len(domain)), degree), (1, 0), (1,), ()]
        other.expect(sets)
        for columns in sets:
            np.testing.assert_array_equal(real.counts(columns), other.counts(columns), str(columns))


def test_every_cell_counts_as_in_memory():
    table = rows()
    assert_same_counts(in_place(table, DOMAIN), in_memory(table, DOMAIN))


FEW = ("cents", "age", "price", "day", "word", "flag")
SMALL = Domain.of(attribute for attribute in DOMAIN.attributes if attribute.name in FEW)
CONFIGS: dict[str, Any] = {
    "tables": dpsyn.NoisyReweighting(rows=40, refinements=0),
    "conjunctions": dpsyn.NoisyReweighting(statistics="conjunctions", rows=40, refinements=0),
    "private_sampling": dpsyn.PrivateSampling(rows=1, degree=1, histogram_share=0.3, reduced_space_size=4000),
    "mst": dpsyn.MST(rows=40),
    "independent": dpsyn.Independent(rows=40),
    "aim": dpsyn.AIM(rows=40),
    "privbayes": dpsyn.PrivBayes(rows=40),
    "contingency": dpsyn.Contingency(rows=40),
}


def released(config: Any, spec: PrivacySpec, table: Any) -> pd.DataFrame:
    """The rows of a release, with a seed."""
    return config.calibrate(spec, table.domain, table.n)(np.random.default_rng(3), table).rows


BOTH = ("replace_one", "add_remove")
RELATIONS = {"mst": BOTH[1:], "independent": BOTH[:1], "aim": BOTH[:1], "privbayes": BOTH[1:], "contingency": BOTH[:1]}


@pytest.mark.parametrize(
    ("name", "relation"), [(name, relation) for name in CONFIGS for relation in RELATIONS.get(name, BOTH)]
)
def test_the_same_seed_gives_the_same_release_from_memory_and_from_an_engine(name, relation):
    table = rows()
    spec = PrivacySpec(4.0, 1e-5 if name in ("aim", "contingency") else 0.0, relation)
    whole, counted = in_memory(table, SMALL), in_place(table, SMALL)
    try:
        expected = released(CONFIGS[name], spec, whole)
    except DpsynError as refused:
        with pytest.raises(type(refused)):
            released(CONFIGS[name], spec, counted)
        return
    pd.testing.assert_frame_equal(released(CONFIGS[name], spec, counted), expected)


@pytest.mark.parametrize("relation", BOTH)
def test_wide_tables_on_merged_codes_are_those_of_memory(relation, monkeypatch):
    monkeypatch.setattr(merged_tables, "WIDE", 50)
    table, spec = rows(), PrivacySpec(4.0, 1e-5, relation)
    config = dpsyn.NoisyReweighting(reduced_space="marginals", reduced_space_size=100)
    whole, counted = in_memory(table, SMALL), in_place(table, SMALL)
    mechanism = config.calibrate(spec, SMALL, whole.n)
    one, other = (mechanism.measured(NoiseSource(np.random.default_rng(3)), data) for data in (whole, counted))
    assert isinstance(one.statistics, MergedTables)
    assert one.statistics.groups == other.statistics.groups
    np.testing.assert_array_equal(one.exact, other.exact)
    np.testing.assert_array_equal(one.sums, other.sums)


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[pa.Table, str], Any]:
    """How to hand a table to an engine of this name."""

    def source(table: pa.Table, engine: str) -> Any:
        if engine == "relation":
            connection = duckdb.connect()
            connection.register("t", table)
            return connection.sql("FROM t")
        if engine == "relation of a file":
            parquet.write_table(table, tmp_path / "all.parquet")
            return duckdb.connect().read_parquet(str(tmp_path / "all.parquet"))
        if engine == "postgres":
            return request.getfixturevalue("postgres").create_table(f"t{abs(hash(tmp_path))}", table, temp=True)
        folder = tmp_path / "parts" / "more"
        folder.mkdir(parents=True)
        halves = [table] if engine == "file" else [table.slice(0, 100), table.slice(100)]
        for number_, half in enumerate(halves):
            parquet.write_table(half, folder / f"{number_}.parquet")
        return folder / "0.parquet" if engine == "file" else tmp_path / "parts"

    return source


@pytest.mark.parametrize("engine", ["file", "folder", "postgres"])
def test_every_engine_counts_as_memory_does(engine, opened):
    names = {"postgres": ["real", "cents", "age", "price", "day", "word", "flag", "many"]}.get(engine, ["cents", "word"])
    table, domain = rows().select(names), DOMAIN.project(names)
    counted = dpsyn.read_table(opened(table, engine), domain=domain, in_place=True)
    assert_same_counts(counted, in_memory(table, domain))


@pytest.mark.parametrize("engine", ["file", "relation", "relation of a file", "postgres"])
@pytest.mark.parametrize("bits", ["32", "64"])
def test_nan_is_missing_whatever_bounds_a_file_states(engine, bits, opened):
    x = pa.array(np.array([1.5, math.nan, 2.5, 1.5] * 50), getattr(pa, f"float{bits}")())
    table = pa.table({"x": x, "flag": [True, False] * 100})
    whole, counted = in_memory(table), dpsyn.read_table(opened(table, engine), in_place=True)
    assert_same_counts(counted, whole)
    assert counted.loaded().frame["x"].isna().sum() == 50
    with pytest.raises(DomainError, match="50 rows are empty"):
        counted.with_domain(Domain.of([number("x", 0, 3, missing=False)]))


def test_empty_texts_are_missing_under_the_domain_that_says_so(opened):
    table = pa.table({"x": ["", "a", None, "b"] * 5, "y": [True, False] * 10})
    whole, counted = in_memory(table), dpsyn.read_table(opened(table, "file"), in_place=True)
    assert whole.notes == counted.notes == ("Column 'x': cells that say '' (5) were taken as missing.",)
    domain = whole.domain
    assert_same_counts(dpsyn.read_table(counted.engine._files[0], domain=domain, in_place=True), in_memory(table, domain))
    listed_ = Domain.of([Attribute("x", "categorical", ("", "a", "b"), missing=True), domain["y"]])
    assert in_memory(table, listed_).codes[:, 0].tolist() == [0, 1, 3, 2] * 5


def test_names_that_duckdb_does_not_tell_apart_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,A\n1,x\n2,y\n", encoding="utf-8")
    with pytest.raises(DataError, match="which DuckDB does not tell apart"):
        dpsyn.read_table(tmp_path / "x.csv", in_place=True)


@pytest.mark.parametrize("reach", [(), (1, -1)])
def test_the_last_nanosecond_of_a_day_is_of_that_day(tmp_path, reach):
    day = 86_400 * 10**9
    more = [end * (2**63 - 1) for end in reach]  # pd.Timestamp.max and .min
    moments = pa.array([0, day - 1, -1, 5 * day, 5 * day + 400, -day, None, *more], pa.timestamp("ns"))
    parquet.write_table(pa.table({"x": moments, "y": pa.array([0, 1] * (len(moments) // 2) + [0])}), tmp_path / "m.parquet")
    read = dpsyn.read_table(tmp_path / "m.parquet")
    counted = dpsyn.read_table(tmp_path / "m.parquet", in_place=True)
    assert counted.domain == read.domain
    assert_same_counts(counted, read)
    assert counted.statistics() == read.statistics()
    assert_same_counts(dpsyn.read_table(tmp_path / "m.parquet", in_place=True, domain=read.domain), read)


@pytest.mark.parametrize(
    "name", ["c", "V", "k0", "m0", "cell", "number", "n", "part", "place", "numbered", "cells", "coded"]
)
def test_a_column_may_be_called_as_a_query_calls_its_own(name):
    table = pa.table({name: list(range(50)) * 4, "town": [f"town {i % 40}" for i in range(200)]})
    read = in_memory(table)
    assert_same_counts(in_place(table, read.domain), read)
    assert in_place(table).statistics() == read.statistics()


def test_a_query_reads_the_columns_that_it_names_whatever_they_are_called_and_texts_say(tmp_path):
    names = ['say "x"', "it's", '"', "C", "''", "b"]
    table = pa.table({name: [f"{name}{i // (j + 1)}" for i in range(9)] for j, name in enumerate(names)})
    parquet.write_table(table, tmp_path / "q.parquet")
    read = dpsyn.read_table(tmp_path / "q.parquet")
    texts = " || ".join(map(_sql.text, ('"C"', "'", '"say')))
    for source in (tmp_path / "q.parquet", duckdb.from_arrow(table)):
        counted = dpsyn.read_table(source, in_place=True, domain=read.domain)
        assert_same_counts(counted, read)
        asked = counted.engine.ask(f'SELECT * FROM {engines.ROWS} WHERE "b" || "it\'s" <> {texts}')
        assert (asked.column_names, asked.num_rows) == (["it's", "b"], 9)


def test_types_of_an_engine_of_its_own_are_refused():
    with pytest.raises(DataError, match="'x' has the type extension<arrow"):
        dpsyn.read_table(duckdb.sql("SELECT CAST(123 AS BIGNUM) AS x FROM range(9)"))


def test_postgres_gives_the_release_of_memory(opened):
    table = rows().select(["age", "word", "flag"])
    domain = SMALL.project(table.column_names)
    whole, counted = in_memory(table, domain), dpsyn.read_table(opened(table, "postgres"), domain=domain)
    assert isinstance(counted, CountedTable)
    for name in ("tables", "private_sampling"):
        for relation in BOTH:
            spec = PrivacySpec(4.0, 0.0, relation)
            expected = released(CONFIGS[name], spec, whole)
            pd.testing.assert_frame_equal(released(CONFIGS[name], spec, counted), expected)


CSV = "age;paid;day;word\n" + "".join(
    f"{'' if i % 7 == 0 else 18 + i % 50};{i % 13},{i % 10}5;2020-0{1 + i % 9}-1{i % 9};{('x', 'y', ' z', 'NA')[i % 4]}\n"
    for i in range(240)
)


def test_a_text_file_counts_as_in_memory(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(CSV)
    whole, counted = dpsyn.read_table(path), dpsyn.read_table(path, in_place=True)
    assert_same_counts(counted, whole)
    assert counted.statistics() == whole.statistics()
    keeping = whole.domain.replace(replace(whole.domain["day"], keep=("weekday",)))
    assert_same_counts(counted.with_domain(keeping), whole.with_domain(keeping))
    assert_same_counts(counted.project(["word", "age"]), whole.project(["word", "age"]))
    pd.testing.assert_frame_equal(counted.loaded().frame, whole.frame)


def test_statistics_rows_and_smallest_class_are_those_of_memory():
    table = rows().select(FEW)
    whole, counted = in_memory(table, SMALL), in_place(table, SMALL)
    assert counted.statistics() == replace(whole.statistics(), name="data")
    assert counted.smallest_class("flag") == whole.smallest_class("flag")
    assert counted.smallest_class("word") == 0
    codes, number_ = counted.coded(SMALL, {}).different()
    expected = np.unique(whole.codes, axis=0, return_counts=True)
    np.testing.assert_array_equal(codes, expected[0])
    np.testing.assert_array_equal(number_, expected[1])
    order = [np.lexsort(one.codes.T) for one in (whole, counted.loaded())]
    np.testing.assert_array_equal(whole.codes[order[0]], counted.loaded().codes[order[1]])
    family = FunctionFamily([lambda codes: codes[:, 0] > 1], SMALL.shape, low=0, high=1)
    functions = dpsyn.NoisyReweighting(family=family, rows=20)
    spec = PrivacySpec(1.0)
    pd.testing.assert_frame_equal(released(functions, spec, counted), released(functions, spec, whole))


def test_a_mechanism_that_needs_rows_has_them_drawn():
    counted = in_place(rows().select(["age", "flag"]), DOMAIN.project(["age", "flag"]))
    config = dpsyn.DPCDA(target="flag", rows=10, order_of_mixture=5)
    release = config.calibrate(PrivacySpec(5.0, 1e-5), counted.domain, counted.n)(None, counted)
    assert len(release.rows) == 10


def many_groups() -> pa.Table:
    generator = np.random.default_rng(0)
    numbers = {"x": generator.integers(0, 100, 150_000), "y": generator.integers(0, 1_000, 150_000) / 4}
    return pa.table({**numbers, "k": generator.integers(0, 2, 150_000) == 0})


@pytest.mark.parametrize("source", ["file", "text", "relation", "out of order", "groups", "postgres"])
def test_rows_are_handed_over_in_one_order_every_time(source, tmp_path, request):
    """So a run with a seed can be repeated, from the same table and from another one of the same rows."""
    table, path = many_groups(), tmp_path / ("a.csv" if source == "text" else "a.parquet")
    orders = iter([("one_way", np.arange(len(table))), ("other_way", np.arange(len(table))[::-1])])

    def opened() -> CountedTable:
        if source in ("file", "text"):
            return dpsyn.read_table(path, in_place=True, domain=domain)
        if source == "postgres":
            name, order = next(orders)
            kept = request.getfixturevalue("postgres").create_table(name, table.take(order), temp=True)
            return dpsyn.read_table(kept, domain=domain)
        connection = duckdb.connect(config={"preserve_insertion_order": source != "out of order", "threads": 4})
        connection.register("t", table)
        rows_ = "SELECT * FROM t GROUP BY ALL" if source == "groups" else "FROM t"
        return dpsyn.read_table(connection.sql(rows_), domain=domain)

    whole = in_memory(table)
    domain = whole.domain
    if source == "text":
        path.write_text(whole.frame.to_csv(index=False))
    else:
        parquet.write_table(table, path, row_group_size=5_000)
    counted, other = opened(), opened()
    for found in (counted.loaded(), other.loaded()):
        wanted = counted.loaded() if source in ("groups", "postgres") else whole
        np.testing.assert_array_equal(found.codes, wanted.codes)
    assert len(counted.drawn.codes) == MOST_DRAWN
    if source != "postgres":
        np.testing.assert_array_equal(counted.drawn.codes, other.drawn.codes)
    config = dpsyn.DPCDA(target="k", rows=10, order_of_mixture=5)
    mechanism = config.calibrate(PrivacySpec(5.0, 1e-5), domain, counted.n)
    releases = [mechanism(np.random.default_rng(5), one).rows for one in (counted, counted, other)]
    pd.testing.assert_frame_equal(releases[0], releases[1])
    pd.testing.assert_frame_equal(releases[0], releases[2])


def test_rows_that_are_handed_over_are_what_was_inferred(tmp_path):
    """Texts with and without spaces, empty ones, and dates, as mechanisms that need the rows have them."""
    texts = [("a ", "a", "")[i % 3] for i in range(90)]
    table = pa.table({"x": texts, "day": [f"0{1 + i % 5}.02.2021" for i in range(90)], "k": [i % 2 == 0 for i in range(90)]})
    parquet.write_table(table, tmp_path / "a.parquet")
    whole = in_memory(table)
    for counted in (in_place(table), dpsyn.read_table(tmp_path / "a.parquet", in_place=True)):
        for found in (counted.loaded(), counted.drawn, counted.with_domain(whole.domain).loaded()):
            order = [np.lexsort(one.codes.T) for one in (whole, found)]
            np.testing.assert_array_equal(whole.codes[order[0]], found.codes[order[1]])


def test_a_value_that_was_not_there_is_no_empty_cell():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT CASE WHEN range % 3 > 0 THEN 'a' END AS x, range % 2 AS y FROM range(60)")
    counted = dpsyn.read_table(connection.sql("FROM t"))
    connection.execute("UPDATE t SET x = 'b' WHERE x = 'a' AND y = 0")
    with pytest.raises(DataError, match="changed while it was read"):
        counted.loaded()


def test_rows_that_are_drawn_lie_all_over_the_table_and_none_comes_twice(monkeypatch):
    monkeypatch.setattr("dpsyn.data.counted.MOST_DRAWN", 50)
    monkeypatch.setattr("dpsyn.data.counted._TO_SPARE", 2.0)
    domain = Domain.of([Attribute("x", "numeric", lower=0, upper=80)])
    drawn = in_place(pa.table({"x": np.arange(80.0)}), domain).drawn.frame["x"]
    assert drawn.nunique() == len(drawn) == 50
    assert drawn.min() < 15
    assert drawn.max() > 65


def test_columns_of_one_value_are_those_of_the_same_rows_in_memory():
    """With one row, empty cells beside a value or alone, and two values that share a bin."""
    numbers = [[1.0, 1.0], [1.0, None], [None, None], [1.0, 1.001], [0.0, 9.0], [1.0], [None]]
    attributes = [Attribute("x", "numeric", lower=0, upper=10, bins=2, missing=True)]
    attributes += [Attribute(name, "categorical", ("a", "b"), missing=True) for name in "cd"]
    found = []
    for values in numbers:
        table = pa.table({"x": pa.array(values, pa.float64()), "c": ["a"] * len(values), "d": ["a", "b"][: len(values)]})
        counted, whole = in_place(table, Domain.of(attributes)), in_memory(table, Domain.of(attributes))
        assert counted.single_valued == whole.single_valued
        found.append(counted.single_valued)
    assert [found[at] for at in (0, 1, 5)] == [["x", "c"], ["c"], []]


@pytest.mark.parametrize("hashed", [True, False])
def test_a_mark_is_of_every_column_and_of_how_often_rows_are_equal(hashed, monkeypatch):
    """The second has the same columns, the third as many equal rows; the order of rows is no matter. So it is, too, where
    there is no hash of rows, and they are too many to be looked at."""
    if not hashed:
        monkeypatch.setattr(CountedTable, "_hashed", b"")
    of = [([0, 0, 1, 1], [0, 0, 1, 1]), ([0, 0, 1, 1], [0, 1, 0, 1]), ([0, 0, 1, 1], [0, 0, 0, 0])]
    domain = Domain.of(Attribute(name, "truth", (0, 1)) for name in "xy")
    marks = [in_place(pa.table({"x": x[::step], "y": y[::step]}), domain).mark for x, y in of for step in (1, -1)]
    assert marks[::2] == marks[1::2]
    assert len(set(marks)) == 3


@pytest.mark.parametrize("engine", ["file", "relation", "postgres"])
def test_a_mark_is_of_numbers_inside_their_bins_and_of_which_cells_share_a_row(engine, opened, tmp_path, request):
    """Which single columns do not show: numbers that moved in their bins, and a column shuffled against the others."""
    random = np.random.default_rng(0)
    x, k = np.arange(400) / 4, np.arange(400) % 2
    moved, shuffled = np.floor(x / 10) * 10 + random.uniform(0, 9, 400), random.permutation(k)
    same = random.permutation(400)
    domain = Domain.of([Attribute("x", "numeric", lower=0, upper=100, bins=10), Attribute("k", "truth", (0, 1))])
    marks = []
    for at, (numbers, truths) in enumerate([(x, k), (moved, k), (x, shuffled), (x[same], k[same])]):
        table = pa.table({"x": numbers, "k": truths})
        source = tmp_path / f"{at}.parquet"
        if engine == "file":
            parquet.write_table(table, source)
        elif engine == "relation":
            source = opened(table, engine)
        else:
            source = request.getfixturevalue("postgres").create_table(f"mark{at}", table, temp=True)
        found = dpsyn.read_table(source, in_place=True, domain=domain)
        marks.append(found.mark)
    assert marks[0] == marks[3]
    assert len(set(marks)) == 3


@pytest.mark.parametrize("name", ["parquet", "csv"])
def test_what_reading_had_to_decide_is_said(name, tmp_path):
    table = pa.table(
        {
            "far": [2**60 + i % 5 for i in range(60)],
            "time": [datetime.datetime(2020, 1, 1 + i % 28, 12, i) for i in range(60)],
            "k": [i % 2 for i in range(60)],
        }
    )
    path = tmp_path / f"a.{name}"
    if name == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        parquet.write_table(table, path)
    whole, counted = dpsyn.read_table(path), dpsyn.read_table(path, in_place=True)
    assert len(counted.notes) > 1
    assert counted.notes == whole.notes
    assert all(f"  {note}" in str(counted) for note in whole.notes)
    known = whole.domain.project(["k"])
    assert counted.project(["k"]).notes == counted.with_domain(whole.domain).notes == whole.notes
    assert counted.with_domain(known.replace(replace(known["k"], public=True))).notes == whole.notes
    over = [dpsyn.read_table(path, domain=known, in_place=in_place_) for in_place_ in (False, True)]
    assert over[0].notes == over[1].notes != ()


def test_categories_that_a_type_lists_keep_their_order_used_or_not(tmp_path):
    codes = pa.array([None if i % 9 == 0 else i % 2 for i in range(90)], pa.int8())
    table = pa.table({"x": pa.DictionaryArray.from_arrays(codes, ["b", "a", "c"]), "k": [i % 3 for i in range(90)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=40)
    whole = dpsyn.read_table(tmp_path / "a.parquet")
    assert whole.domain["x"].categories == ("b", "a", "c")
    assert_same_counts(dpsyn.read_table(tmp_path / "a.parquet", in_place=True), whole)
    assert dpsyn.read_table(tmp_path).domain == whole.domain
    query = f"SELECT CAST(x AS ENUM('b', 'a', 'c')) AS x, k FROM '{tmp_path / 'a.parquet'}'"
    assert dpsyn.read_table(duckdb.sql(query)).domain == whole.domain


@pytest.mark.parametrize("seed", [0, 1])
def test_an_inferred_domain_is_that_of_memory(seed, monkeypatch):
    """From GROUP BY, and where there are more different cells than are grouped, from cell after cell."""
    monkeypatch.setattr(in_place_module, "_MOST_GROUPED", 1_000_000 if seed else 5)
    random = np.random.default_rng(seed)
    more = {
        "whole": pa.array(random.integers(0, 40, 300)),
        "id": pa.array(np.arange(300)),
        "far": pa.array([2**60 + i % 5 for i in range(300)]),
        "real": pa.array(random.normal(size=300)),
        "halves": pa.array(random.integers(0, 90, 300) / 2, mask=random.random(300) < 0.1),
        "nothing": pa.nulls(300, pa.string()),
        "pair": pa.array([("no", "yes")[i % 2] for i in range(300)]),
        "dates": pa.array([f"2021-0{1 + i % 9}-01" for i in range(300)]),
    }
    table = rows(seed=seed).select(["age", "price", "day", "time", "word", "flag", "grade", "many"])
    for name, column in more.items():
        table = table.append_column(name, column)
    assert in_place(table).domain == in_memory(table).domain


@pytest.mark.parametrize(
    ("cells", "attribute", "said"),
    [
        (pa.array(["a", "b", "b"]), Attribute("x", "categorical", ("a",)), "2 rows hold 'b'"),
        (pa.array(["a", None, None]), Attribute("x", "categorical", ("a",)), "2 rows are empty"),
        (pa.array([1.0, None, math.nan]), number("x", 0, 2, missing=False), "2 rows are empty"),
        (pa.array(["1.5", "one", "one"]), number("x", 0, 2), "2 rows hold 'one'; make the column categorical"),
        (pa.array([1, 2, 3]), days("x", DATES[0], DATES[1]), "1 row holds [123]"),
        (pa.array([1, 1, 5]), Attribute("x", "categorical", (1, 2)), "1 row holds 5, .*; add it to the domain"),
    ],
)  # fmt: skip
def test_what_a_table_refuses_is_refused(cells, attribute, said):
    table = pa.table({"x": cells})
    with pytest.raises(DomainError):
        in_memory(table, Domain.of([attribute]))
    with pytest.raises(DomainError, match=said) as refused:
        in_place(table, Domain.of([attribute]))
    assert refused.value.column == "x"


def test_texts_that_are_numbers_or_dates_count_as_in_memory():
    table = pa.table({"x": ["1.5", " 2", "9", None] * 5, "day": ["2020-01-02", "2020-03-01T12:00", None, "2021-01-01"] * 5})
    domain = Domain.of([number("x", 0, 3, 0.5), days("day", DATES[0], DATES[20], keep=("month",))])
    assert_same_counts(in_place(table, domain), in_memory(table, domain), 1)


def test_inferred_texts_count_as_in_memory():
    """Empty texts are missing, and dates are dates however they are written."""
    table = pa.table(
        {"day": ["31.12.2020", "", "01.02.2021", None, "15.07.2021"] * 8, "word": ["", "x", "y", "x", None] * 8}
    )
    whole, counted = in_memory(table), in_place(table)
    assert_same_counts(counted, whole)
    wider = whole.domain.replace(replace(whole.domain["day"], bins=3, upper=18_900, keep=("month",)))
    assert_same_counts(counted.with_domain(wider), whole.with_domain(wider))


@pytest.mark.parametrize("scale", [0, 3])
def test_exact_thresholds_are_the_least_cells_that_round_to_them(scale):
    random = np.random.default_rng(0)
    doubles = [
        2.0**53 + 2,
        2.0**53 + 4,
        2.0**53 + 6,
        0.3,
        1.0,
        -0.001,
        *(random.normal(size=50) * 10.0 ** random.integers(0, 18, 50)),
    ]
    for value in doubles:
        found = _sql._least_exact(value, scale)
        assert float(Decimal(found).scaleb(-scale)) >= value > float(Decimal(found - 1).scaleb(-scale))


def test_what_cannot_be_opened_says_so(tmp_path):
    for source in (tmp_path / "none.parquet", tmp_path, b"a,b\n1,2\n", pd.DataFrame({"a": [1]})):
        with pytest.raises(DataError):
            dpsyn.read_table(source, in_place=True)
    with pytest.raises(DataError, match="zone"):
        in_place(pa.table({"x": pa.array([0], pa.timestamp("us", "UTC"))}), Domain.of([days("x", DATES[0], DATES[1])]))
    with pytest.raises(DomainError, match="no column 'y'"):
        in_place(pa.table({"x": [1]}), Domain.of([number("y", 0, 1)]))
    with pytest.raises(DataError, match="no row"):
        in_place(pa.table({"x": pa.array([], pa.int64())}), Domain.of([number("x", 0, 1)]))


@pytest.mark.parametrize("name", ["p[1].parquet", "g[1]/p.parquet", "p*?.parquet", "a=5/[b]=6/p.parquet", "it's.parquet"])
def test_a_path_is_that_of_one_file_and_names_no_columns(name, tmp_path):
    """Neither a pattern, of which other files are examples, nor the names of columns."""
    file = tmp_path / name
    for other in (file, *(tmp_path / name.replace("[1]", "1").replace("*?", rest) for rest in ("1", "12", ""))):
        other.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table({"a": [1, 2], "x": [0, 1]} if other == file else {"a": [3, 3], "x": [3, 3]}), other)
    for place in (file, file.parent)[: 1 + (file.parent != tmp_path)]:
        table = dpsyn.read_table(place, in_place=True)
        assert table.domain.names == ("a", "x")
        assert sorted(table.different("a")) == [1, 2]


def test_a_path_that_no_pattern_names_is_refused(tmp_path):
    file = tmp_path / "p\\[1].parquet"
    parquet.write_table(pa.table({"x": [1]}), file)
    with pytest.raises(DataError, match="holds a backslash beside one of"):
        dpsyn.read_table(file, in_place=True)


def test_a_column_without_a_name_is_refused_as_in_memory(tmp_path):
    pd.DataFrame({"x": ["a", "b"], "": [1, 2]}, index=["p", "q"]).to_parquet(tmp_path / "x.parquet")
    for source, in_place_ in ((tmp_path / "x.parquet", False), (tmp_path / "x.parquet", True), (tmp_path, True)):
        with pytest.raises(DataError, match="column 2 of 2 has no name; give it one or leave it out"):
            dpsyn.read_table(source, in_place=in_place_)


def test_columns_that_only_capital_letters_tell_apart_are_refused(tmp_path):
    table = pa.table([[1], [2], [3]], names=["x", "X", "X_1"])
    parquet.write_table(table, tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", tmp_path, duckdb.sql('SELECT 1 AS x, 2 AS "X", 3 AS "X_1"')):
        with pytest.raises(DataError, match="column 'X' has the name of another one, but for capital") as refused:
            dpsyn.read_table(source, in_place=True)
        assert refused.value.column == "X"
    assert dpsyn.read_table(tmp_path / "a.parquet").different("X_1").tolist() == [3]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"x": [1.5]}, r"'x' is double in .*b\.parquet', and int64 in .*a\.parquet'"),
        ({"x": pa.nulls(1)}, "'x' is null in .* and int64 in"),
        ({"X": [1]}, "'x' is missing in .* and int64 in"),
        ({"x": [1], "y": [1]}, "'y' is int64 in .* and missing in"),
    ],
)
def test_files_of_a_folder_have_the_columns_that_are_asked_for_alike(other, said, tmp_path):
    parquet.write_table(pa.table({"k": [1, 2], "x": [1, 2]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({**other, "k": [3]}), tmp_path / "b.parquet")
    for columns in (None, ["k", said[1]]):
        with pytest.raises(DataError, match=f"column {said}.*write it alike in all files, or choose columns without it"):
            dpsyn.read_table(tmp_path, columns=columns)
    for choice in ({"columns": ["k"]}, {"domain": Domain.of([number("k", 0, 3)])}):
        table = dpsyn.read_table(tmp_path, **choice)
        assert sorted(table.loaded().frame["k"]) == [1, 2, 3]
        told = [note for note in table.notes if note.startswith("Not in the domain, and left out: ")]
        assert bool(told) == ("domain" in choice)
        assert all(quoted(name) in told[0] for name in {"x", *other} if told)
        with pytest.raises(DomainError, match=f"no column '{said[1]}'"):
            table.with_domain(Domain.of([number(said[1], 0, 3)]))


def test_files_that_store_one_type_in_two_ways_are_told_apart(tmp_path):
    for name, days in (("a", False), ("b", True)):
        table = pa.table({"x": pa.array([0, 1], pa.timestamp("ns"))})
        parquet.write_table(table, tmp_path / f"{name}.parquet", use_deprecated_int96_timestamps=days)
    with pytest.raises(DataError, match=r"'x' is INT96 None in .*, and INT64 Timestamp\("):
        dpsyn.read_table(tmp_path)


@pytest.mark.parametrize("query", ["FROM big USING SAMPLE 100 ROWS", "SELECT x, random() > 0.5 AS y FROM big"])
def test_rows_that_are_others_every_time_are_refused(query):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE big AS SELECT range % 90 AS x FROM range(5000)")
    with pytest.raises(DataError, match=r"'data' has other rows every time it is asked.*store its rows in a table"):
        dpsyn.read_table(connection.sql(query))
    for stored in ("FROM big USING SAMPLE reservoir(100 ROWS) REPEATABLE (1)", "FROM big"):
        assert dpsyn.read_table(connection.sql(stored)).n in (100, 5000)


class Broken(Exception):
    """What a connection raises."""


@pytest.mark.parametrize("after", range(1, 8))
def test_a_connection_that_breaks_releases_nothing(after, monkeypatch, tmp_path):
    """Wherever it breaks: the error says so, no number is released, and the folder for temporary files is empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "people.parquet").touch()
    parquet.write_table(rows().select(FEW), tmp_path / "people.parquet")
    asked = 0
    answer = engines.Files._answer

    def broken(engine: Any, sql: str) -> pa.Table:
        nonlocal asked
        asked += 1
        if asked > after:
            with engines.spilling():
                raise Broken("server closed the connection unexpectedly\nmore")
        return answer(engine, sql)

    monkeypatch.setattr(engines.Files, "_answer", broken)

    def release() -> None:
        table = dpsyn.read_table(tmp_path / "people.parquet", domain=SMALL, in_place=True)
        CONFIGS["tables"].calibrate(PrivacySpec(1.0), SMALL, table.n)(None, table)

    with pytest.raises(DataError, match=r"'people\.parquet' was not counted to the end, and nothing was released: server"):
        release()
    gc.collect()  # from Python 3.12 on the frames of what was raised go with the next collection
    assert [file.name for file in tmp_path.iterdir()] == ["people.parquet"]


def test_a_server_that_ends_a_connection_is_named(postgres, opened):
    table = rows().select(["age", "flag"])
    counted = dpsyn.read_table(opened(table, "postgres"), domain=DOMAIN.project(["age", "flag"]))
    mechanism = CONFIGS["tables"].calibrate(PrivacySpec(1.0), counted.domain, counted.n)
    postgres.con.close()
    with pytest.raises(DpsynError, match="nothing was released"):
        mechanism(None, counted)


@pytest.mark.parametrize("in_place", [None, True, False])
def test_a_relation_that_is_no_more_is_refused(in_place):
    said = "'data' was not counted to the end, and nothing was released"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS age FROM range(60)")
        relation = connection.table("people")
        connection.execute("DROP TABLE people")
        with pytest.raises(DataError, match=f"{said}: Catalog Error"):
            dpsyn.read_table(relation, in_place=in_place)
    with pytest.raises(DataError, match=f"{said}: Connection Error"):
        dpsyn.read_table(relation, in_place=in_place)


def test_rows_that_change_while_they_are_counted_are_refused():
    connection = duckdb.connect()
    names = ["age", "word", "flag", "many", "grade"]
    connection.register("t", rows().select(names))
    domain = Domain.of([*DOMAIN.project(names[:-1]).attributes, number("grade", 1, 3, 1, missing=False)])
    changes = (
        "DELETE FROM people WHERE flag AND age = 40",
        "UPDATE people SET word = 'new' WHERE word = 'a'",
        "UPDATE people SET many = 'new' WHERE many = 'w3'",
        "UPDATE people SET grade = NULL WHERE grade = 2",
    )
    for change in changes:
        connection.execute("CREATE OR REPLACE TABLE people AS FROM t")
        counted = dpsyn.read_table(connection.sql("FROM people"), domain=domain)
        connection.execute(change)
        mechanism = CONFIGS["mst"].calibrate(PrivacySpec(1.0), domain, counted.n)
        for ask in (lambda: mechanism(None, counted), counted.statistics):  # noqa: B023
            with pytest.raises(DataError, match="changed while it was read"):
                ask()


@pytest.mark.parametrize(
    "change", ["INSERT INTO people FROM t LIMIT 1", "INSERT INTO people FROM t", "DELETE FROM people WHERE age = 40"]
)
@pytest.mark.parametrize("columns", [["age"], ["word", "flag"], ["age", "word", "flag", "many"]])
def test_a_table_with_more_or_fewer_rows_than_were_opened_is_refused(columns, change):
    """By mechanisms on rows as by those on counts: noise was made for the rows that there were."""
    connection = duckdb.connect()
    connection.register("t", rows().select(["age", "word", "flag", "many"]))
    connection.execute("CREATE TABLE people AS FROM t")
    counted = dpsyn.read_table(connection.sql("FROM people"), domain=DOMAIN.project(columns))
    n = counted.loaded().n
    made = [
        config.calibrate(PrivacySpec(1.0, 1e-5), counted.domain, n)
        for config in (dpsyn.LocalPerturbation(), dpsyn.DPMix(), dpsyn.RandomProjection(), dpsyn.MWEM(rounds=2))
    ]
    connection.execute(change)
    for read in (counted.loaded, *(lambda one=one: one(None, counted) for one in made)):
        with pytest.raises(DataError, match="the data changed while it was read"):
            read()


def test_a_text_file_that_is_another_by_now_is_refused(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(CSV_OF_MANY)
    counted = dpsyn.read_table(path, in_place=True)
    domain, some = counted.domain, counted.project(["word"])
    fewer, other = CSV_OF_MANY.removesuffix(",,\n"), CSV_OF_MANY.replace(",w1,", ",w2,")
    assert counted.loaded().n == counted.n == 401
    for text, tables in ((fewer, (counted, some)), (other, (counted, some))):
        path.write_text(text)
        for table in tables:
            with pytest.raises(DataError, match="changed while it was read"):
                table.loaded()
        mechanism = dpsyn.LocalPerturbation().calibrate(PrivacySpec(1.0, 1e-5), domain, counted.n)
        with pytest.raises(DataError, match="changed while it was read"):
            mechanism(None, counted)
    path.write_text(fewer)
    with pytest.raises(DataError, match="changed while it was read"):
        counted.with_domain(domain.replace(replace(domain["age"], bins=3)))


def test_what_a_text_table_keeps_goes_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "people.csv"
    path.write_text(CSV)
    counted = dpsyn.read_table(path, in_place=True)
    assert len(list(tmp_path.iterdir())) == 2
    del counted
    gc.collect()
    assert list(tmp_path.iterdir()) == [path]


CSV_OF_MANY = "age,word,day\n" + "".join(f"{i % 50},w{i % 3},2020-01-{1 + i % 28:02}\n" for i in range(400)) + ",,\n"


@pytest.mark.parametrize("kind", ["folder", "text", "postgres"])
def test_a_table_goes_to_another_process_as_a_description(kind, tmp_path, request):
    """What is counted there is counted by a connection of its own; what was counted here goes along."""
    frame = rows(500).select(["cents", "word", "flag", "many"])
    if kind == "text":
        source: Any = tmp_path / "many.csv"
        source.write_text(CSV_OF_MANY)
    elif kind == "folder":
        source = tmp_path
        parquet.write_table(frame, tmp_path / "a.parquet")
    else:
        request.getfixturevalue("postgres").create_table("described", frame, overwrite=True)
        source = in_place_module.Connection(postgres_address(), "described")
        assert postgres_address() not in repr(source)
    table = in_place_module.open_in_place(source, None, "people", None, "refuse")
    binned = next(attribute.name for attribute in table.domain.attributes if attribute.is_binned)
    held = pickle.dumps(table.prepared())
    found = pickle.loads(held)
    assert "_live" not in vars(found.engine)
    pages = [(one.statistics(), one.single_valued, one.drawn.n, one.mark, one.ends(binned).min()) for one in (found, table)]
    assert pages[0] == pages[1]
    assert "_live" not in vars(found.engine)
    columns = tuple(range(len(table.domain)))
    np.testing.assert_array_equal(
        found.coded(found.domain, {}).counts(columns[:3]), table.coded(table.domain, {}).counts(columns[:3])
    )
    mechanism = CONFIGS["tables"].calibrate(PrivacySpec(1.0), found.domain, found.n)
    pd.testing.assert_frame_equal(*(mechanism(np.random.default_rng(1), one).rows for one in (table, found)))


def test_the_address_of_a_database_is_neither_shown_nor_told_by_an_error(monkeypatch):
    def connect(address):
        raise OSError(f"nobody answers at {address}")

    monkeypatch.setitem(sys.modules, "ibis", SimpleNamespace(connect=connect))
    source = in_place_module.Connection("postgres://me:secret@nowhere/x", "people")
    with pytest.raises(DataError, match="OSError") as caught:
        source.open()
    for text in (str(source), repr(source), str(caught.value), repr(caught.value)):
        assert "people" in text
        assert "secret" not in text


@pytest.mark.parametrize("kind", ["parquet", "text"])
def test_what_pages_ask_is_what_a_table_in_memory_says(kind, tmp_path):
    if kind == "text":
        path = tmp_path / "many.csv"
        path.write_text(CSV_OF_MANY + "7,w1,2020-01-01\n")
        counted, table = dpsyn.read_table(path, in_place=True), dpsyn.read_table(path)
    else:
        counted = in_place(rows(500), DOMAIN)
        table = in_memory(rows(500), DOMAIN)
    assert counted.single_valued == table.single_valued
    for attribute in table.domain.attributes:
        name = attribute.name
        for found in (counted.drawn.frame[name], counted.different(name)):
            codes, wanted = attribute.encode(found), attribute.encode(table.different(name))
            assert set(codes) | {attribute.size - 1} >= set(wanted)
            assert set(codes) <= set(wanted) | {attribute.size - 1}
        np.testing.assert_array_equal(counted.drawn.codes, table.codes)
        if attribute.is_binned:
            ends = [attribute.numbers(side.ends(name)) for side in (counted, table)]
            assert np.nanmin(ends[0]) == np.nanmin(ends[1])
            assert np.nanmax(ends[0]) == np.nanmax(ends[1])
            numbers, held = counted.numbers(name)
            values = attribute.numbers(table.frame[name])
            assert held.sum() == np.count_nonzero(~np.isnan(values)) + held[np.isnan(numbers)].sum()
            known = np.repeat(numbers, held)
            np.testing.assert_array_equal(np.sort(known[~np.isnan(known)]), np.sort(values[~np.isnan(values)]))
        else:
            assert set(counted.ends(name)) == set(counted.different(name))
            assert list(counted.moved(name)) == []
    for column in ("nope", None, ["a"]):
        for asked in (counted.ends, counted.moved, counted.different, counted.numbers, counted.timed, table.ends):
            with pytest.raises(dpsyn.DpsynError, match="column"):
                asked(column)


def test_durations_are_refused_as_in_memory_though_an_engine_reads_them_as_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "waits.parquet"
    parquet.write_table(
        pa.table({"x": pa.array([datetime.timedelta(hours=5 * i + 1) for i in range(30)]), "y": ["a", "b"] * 15}), path
    )
    for in_place in (False, True):
        with pytest.raises(DataError, match=r"column 'x' has the type duration\[us\]"):
            dpsyn.read_table(path, in_place=in_place)


def test_both_zeros_are_one_value_among_rows_that_are_handed_over(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": pa.array([-0.0, 0.0, 1.0] * 20)}), tmp_path / "x.parquet")
    table = dpsyn.read_table(tmp_path / "x.parquet", in_place=True)
    assert table.loaded().codes.tolist() == [[0], [0], [1]] * 20


@pytest.mark.parametrize(("name", "todo"), [("sqlite", "to_pandas"), ("duckdb", "the relation of DuckDB itself")])
def test_what_ibis_does_not_count_rightly_is_refused(name: str, todo: str) -> None:
    table = SimpleNamespace(get_backend=lambda: SimpleNamespace(name=name))
    with pytest.raises(DataError, match=todo):
        engines.Ibis(lambda: table, "people")


@pytest.mark.parametrize("in_place", [True, None])
def test_columns_that_folders_alone_name_are_told(in_place: bool | None, tmp_path: Path) -> None:
    frame = pd.DataFrame({"region": ["n", "s"] * 5, "sick": ["no", "yes", "no", "no", "yes"] * 2})
    frame.to_parquet(tmp_path / "parts", partition_cols=["region"])
    table = dpsyn.read_table(tmp_path / "parts", in_place=in_place)
    assert table.domain.names == ("sick",)
    assert table.notes[-1] == "Left out, since folders alone name it and no file has it: 'region'."
    domain = Domain.of([Attribute("region", "categorical", ("n", "s"))])
    for kind, choice in ((DataError, {"columns": ["sick", "region"]}), (DomainError, {"domain": domain})):
        with pytest.raises(kind, match="folders alone name 'region', and no file has it: write the column into"):
            dpsyn.read_table(tmp_path / "parts", in_place=in_place, **choice)


def test_links_in_a_folder_are_followed_and_rows_count_once(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": list("abc") * 4, "y": list("pqpq") * 3})
    here, other = tmp_path / "here", tmp_path / "other"
    for folder, rows in ((here, frame[:5]), (other, frame[5:])):
        folder.mkdir()
        rows.to_parquet(folder / "1.parquet")
    assert dpsyn.read_table(here).n == 5
    (here / "latest.parquet").symlink_to("1.parquet")
    (here / "hard.parquet").hardlink_to(here / "1.parquet")
    (here / "a").symlink_to(here / "1.parquet")
    assert dpsyn.read_table(here).n == 5
    for name in ("new", "again"):
        (here / name).symlink_to(other)
    (other / "back").symlink_to(here)
    assert dpsyn.read_table(here).n == 12
    assert dpsyn.read_table(here, in_place=False).n == 12
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no Parquet file"):
        dpsyn.read_table(tmp_path / "empty")
    (here / "gone.parquet").symlink_to("nowhere.parquet")
    with pytest.raises(DataError, match=r"gone\.parquet' cannot be read: No such file"):
        dpsyn.read_table(here)


LOGS = [
    "_delta_log/0.json",
    "metadata/v2.metadata.json",
    "metadata/00003-9c12d441-03fe.gz.metadata.json",
    ".hoodie/x.commit",
]


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("named", ["", "people", "people/data", "people/data/region=north"])
def test_files_of_a_table_with_a_log_are_not_taken_for_its_rows(log: str, named: str, tmp_path: Path) -> None:
    files = tmp_path / "people" / "data" / "region=north"
    files.mkdir(parents=True)
    pd.DataFrame({"x": ["a", "b"]}).to_parquet(files / "1.parquet")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "people.metadata.json").write_text("{}")
    assert dpsyn.read_table(tmp_path / named).n == 2
    (tmp_path / "people" / log).parent.mkdir()
    (tmp_path / "people" / log).write_text("{}")
    with pytest.raises(DataError, match=r"is of (Delta|Iceberg|Hudi), and .* deleted or replaced: read the table with"):
        dpsyn.read_table(tmp_path / named)


LEFT_OUT = (
    "Left out, since in a folder only files are read whose names end in .parquet or .pq and begin with neither . nor _"
)


def test_files_that_a_folder_of_parquet_holds_besides_are_told(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": ["a", "b"]})
    (tmp_path / "more").mkdir()
    for name in ("a.parquet", "b.pq", "c.parq", "more/part-1"):
        frame.to_parquet(tmp_path / name)
    for name in ("_SUCCESS", ".part.crc", "made.csv"):
        (tmp_path / name).write_text("" if name == "made.csv" else "1")
    (tmp_path / "link").symlink_to("a.parquet")
    table = dpsyn.read_table(tmp_path)
    assert table.n == 4
    (note,) = table.notes
    assert note == f"{LEFT_OUT}: 'c.parq', 'more/part-1'."
    for i in range(5):
        (tmp_path / f"d.parquet.{i}").write_text("1")
    assert dpsyn.read_table(tmp_path).notes[0].endswith(": 'c.parq', 'd.parquet.0', 'd.parquet.1' and 4 more.")
    for name in ("link", "a.parquet", "b.pq"):
        (tmp_path / name).unlink()
    with pytest.raises(DataError, match=r"holds no Parquet file: only files are read whose names end in"):
        dpsyn.read_table(tmp_path)


def test_parquet_that_is_passed_over_in_a_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"x": ["a", "b"]})
    for name in ("_new/region=n", ".git/objects"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("1.parquet", "_2.parquet", ".3.pq", "_new/region=n/5.parquet"):
        frame.to_parquet(tmp_path / name)
    for name in ("_metadata", "_SUCCESS", "._1.parquet", ".1.parquet.crc", ".git/objects/x"):
        (tmp_path / name).write_text("1")
    (tmp_path / "_gone.parquet").symlink_to("nowhere")
    (tmp_path / "_same.parquet").hardlink_to(tmp_path / "1.parquet")
    (tmp_path / "_all").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    table = dpsyn.read_table(".")
    assert table.n == 2
    assert table.name == tmp_path.name
    assert table.notes == (f"{LEFT_OUT}: '.3.pq', '_2.parquet', '_new'.",)
    if hasattr(os, "mkfifo"):
        for name in (".3.pq", "_2.parquet"):
            (tmp_path / name).unlink()
        os.mkfifo(tmp_path / "4.parquet")
        os.mkfifo(tmp_path / "pipe")
        assert dpsyn.read_table(tmp_path).notes == (f"{LEFT_OUT}: '4.parquet', '_new'.",)


def test_a_parquet_file_whose_name_is_no_unicode_is_read_or_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(pd.DataFrame({"x": ["a", "b"]}).to_parquet())
    path = (tmp_path / "rows.parquet").rename(tmp_path / os.fsdecode(b"rows\xff.parquet"))
    assert dpsyn.read_table(path).name == file_statistics(path).statistics.name == "rows\ufffd"
    with pytest.raises(DataError, match="is no Unicode, and DuckDB cannot be told of it"):
        dpsyn.read_table(path, in_place=True)


@pytest.mark.parametrize("source", ["file", "postgres"])
def test_what_a_given_domain_drops_of_typed_cells_is_told(source: str, opened: Any) -> None:
    moments = [pd.Timestamp("2024-01-02 23:59:59.999999"), pd.Timestamp("2024-01-03"), None]
    table = pa.table({"a day": pa.array(moments, pa.timestamp("us")), "t": [True, False, True], "e": [moments[1]] * 3})
    domain = dpsyn.Domain.of(
        [
            dpsyn.Attribute("a day", "date", lower="2024-01-01", upper="2024-12-31", missing=True),
            dpsyn.Attribute("t", "numeric", lower=0, upper=1),
            dpsyn.Attribute("e", "date", lower="2024-01-01", upper="2024-12-31"),
        ]
    )
    counted = dpsyn.read_table(opened(table, source), domain=domain, in_place=True)
    assert counted.notes == dpsyn.read_table(table.to_pandas(), domain=domain).notes
    assert len(counted.notes) == 2


@pytest.mark.parametrize("name", ["é" * 400, "a\0b", "nowhere.csv"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        dpsyn.read_table(name, in_place=True)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("times", [1, 300])
def test_cells_that_a_given_domain_moves_are_told(times: int, ending: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Where there are many different ones, too."""
    monkeypatch.setattr(infer, "MAX_CATEGORIES", 12)
    monkeypatch.setattr(_delimited, "BLOCK", 1000)
    monkeypatch.setattr(_parquet, "BATCH", 50)
    more = np.arange(times)
    frame = pd.DataFrame(
        {
            "x": [*(12.5 + more), *(1.5 + more % 8), *(1.0 + more % 8)],
            "y": [*(1 + more), *(2 + more % 8), *(3 + more % 7)],
            "d": [*(pd.Timestamp("2020-01-01") - pd.to_timedelta(more, "h")), *[pd.Timestamp("2024-05-05"), None] * times],
            "t": [*(f"{one}.25" for one in more), *["-1"] * times, *["3"] * times],
        }
    )
    path = tmp_path / f"rows.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    domain = dpsyn.Domain.of(
        [
            number("x", 0, 10, 1),
            number("y", 0, 10**6, 1),
            number("t", 0, 10**6, 0.5),
            days("d", datetime.date(2021, 1, 1), datetime.date(2024, 12, 31)),
        ]
    )
    counted, cells = dpsyn.read_table(path, domain=domain, in_place=True), f"{times:,} of {3 * times:,} cells"
    unit = "are no multiples of its unit, {}, and are taken as the nearest one."
    assert [note for note in counted.notes if "of day" not in note] == [
        f"Column 'x': {cells} lie outside the domain, 0 to 10, and are taken as its nearer end.",
        f"Column 'x': {cells} {unit.format(1)}",
        f"Column 't': {cells} lie outside the domain, 0 to 1000000, and are taken as its nearer end.",
        f"Column 't': {cells} {unit.format(0.5)}",
        f"Column 'd': {cells} lie outside the domain, 2021-01-01 to 2024-12-31, and are taken as its nearer end.",
    ]
    whole = dpsyn.read_table(path, domain=domain, in_place=False)
    assert counted.notes == whole.notes == file_statistics(path, domain=domain).notes
    assert_same_counts(counted.with_domain(coarse := domain.replace(number("y", 0, 100, 20))), whole.with_domain(coarse))


def test_durations_are_refused_in_whichever_file_they_are(tmp_path: Path) -> None:
    for at, kind in enumerate((pa.int64(), pa.duration("s"))):
        parquet.write_table(pa.table({"a": pa.array([1, 2, 3], kind)}), tmp_path / f"{at}.parquet")
    with pytest.raises(DataError, match="column 'a' has the type duration"):
        dpsyn.read_table(tmp_path)


_NO_USE = {
    "tags": pa.array([["x"]] * 6),
    "at": pa.array([datetime.time(3)] * 6),
    "took": pa.array([datetime.timedelta(1)] * 6),
    "raw": pa.array([b"x"] * 6),
    "seen": pa.array([0] * 6, pa.timestamp("us", "Nowhere/Land")),
}


def test_files_are_compared_column_by_column_behind_nested_ones_too(tmp_path: Path) -> None:
    places = pa.array([{"lat": 0.5, "lon": {"a": 1, "b": "x"}}] * 3)
    for at, kind in enumerate((pa.int64(), pa.float64())):
        rows = pa.table({"place": places, "a": pa.array([1, 2, 3], kind), "b": ["x", "y", "z"], "c": [1, 2, 3]})
        parquet.write_table(rows, tmp_path / f"{at}.parquet")
    with pytest.raises(DataError, match=r"column 'a' is double in .*1\.parquet', and int64 in"):
        dpsyn.read_table(tmp_path)
    assert dpsyn.read_table(tmp_path, columns=["b", "c"]).n == 6


def test_what_an_engine_alone_has_is_left_out_too(tmp_path: Path) -> None:
    columns = "INTERVAL (i) DAY AS took, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS seen, CAST(i AS UHUGEINT) AS large"
    said = f"SELECT i % 3 AS a, {columns} FROM range(6) AS r(i)"
    table = dpsyn.read_table(duckdb.sql(said), wide="leave_out")
    assert table.domain.names == dpsyn.read_table(duckdb.sql(said), columns=["a"]).domain.names == ("a",)
    assert "'took' was left out: it has the type month_day_nano_interval" in table.notes[0]
    assert "'seen' was left out: it holds times with a zone" in table.notes[1]
    assert "'large' was left out: it has the type UHUGEINT" in table.notes[2]
    for column in ("took", "seen", "large"):
        with pytest.raises(DataError, match=f"column '{column}' h"):
            dpsyn.read_table(duckdb.sql(said), columns=["a", column], wide="leave_out")


@pytest.mark.parametrize("way", ["memory", "in place", "folder", "statistics"])
def test_columns_of_no_use_do_not_stand_in_the_way_of_others(way: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    useful = {"a": pa.array([1, 2, 3, 1, 2, 3]), "b": pa.array(["u", "v"] * 3)}
    parquet.write_table(pa.table({"tags": _NO_USE["tags"], **useful, **_NO_USE}), path)

    def read(**choices: Any) -> Any:
        if way == "statistics":
            return file_statistics(path, **choices)
        return dpsyn.read_table(tmp_path if way == "folder" else path, in_place=way != "memory", **choices)

    chosen = read(columns=["b", "a"])
    assert (chosen.domain.names, chosen.notes) == (("b", "a"), ())
    known = read(domain=chosen.domain)
    assert known.domain == chosen.domain
    assert known.notes == (f"Not in the domain, and left out: {', '.join(map(repr, _NO_USE))}.",)
    rest = read(wide="leave_out")
    assert rest.domain.names == ("a", "b")
    assert [note.split(" was left out: it ")[0] for note in rest.notes] == [f"Column {name!r}" for name in _NO_USE]
    if way != "statistics":
        assert all(table.n == 6 and table.statistics().max_frequency == 1 / 6 for table in (chosen, known, rest))
    odd = chosen.domain.replace(dpsyn.Attribute("a", "numeric", lower=0, upper=9))
    for name in _NO_USE:
        asked = dpsyn.Domain.of([*odd.attributes, dpsyn.Attribute(name, "numeric", lower=0, upper=9)])
        for choices in ({"columns": ["a", name]}, {"domain": asked}, {"columns": ["a", name], "wide": "leave_out"}):
            with pytest.raises(DataError, match=f"column '{name}' (has the type|holds times of the zone)") as caught:
                read(**choices)
            assert caught.value.column == name
    others = ", ".join(map(repr, list(_NO_USE)[1:]))
    with pytest.raises(DataError, match=rf"choose columns without it \(nor can {others} be used\)"):
        read()


@pytest.mark.parametrize(("last", "notes"), [("2024-01-03 12:30", 1), ("2024-01-03", 0)])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_times_of_day_in_texts_are_told(ending: str, last: str, notes: int, tmp_path: Path) -> None:
    frame, path = pd.DataFrame({"d": ["2024-01-02 00:00", last], "k": ["a", "b"]}), tmp_path / f"rows.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    day = dpsyn.Attribute("d", "date", lower="2024-01-01", upper="2024-12-31")
    domain = dpsyn.Domain.of([day, dpsyn.Attribute("k", "categorical", ("a", "b"))])
    found = dpsyn.read_table(path, domain=domain, in_place=True)
    assert len(found.notes) == notes
    assert found.notes == dpsyn.read_table(path, domain=domain, in_place=False).notes


def test_numbers_close_to_zero_are_told_apart_where_they_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"x": [1e-20] * 2 + [2e-20] * 5}).to_parquet(path)
    domain = dpsyn.Domain.of([dpsyn.Attribute("x", "categorical", (1e-20, 2e-20))])
    assert dpsyn.read_table(path, domain=domain, in_place=True).loaded().codes[:, 0].tolist() == [0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("blank", [",,,", '"","","",""', " , ,NA,"])
def test_rows_that_are_empty_in_all_columns_are_told_however_they_come(tmp_path: Path, blank: str) -> None:
    """Spreadsheets write lines of separators alone below a table."""
    text, kept = tmp_path / "t.csv", tmp_path / "t.parquet"
    lines = [f"P{i:03},{20 + i % 50}.5,{'MF'[i % 2]},2020-01-{1 + i % 28:02}" for i in range(100)]
    text.write_text("\n".join(["id,age,sex,day", *lines[:50], ",,X,", *lines[50:], *[blank] * 50]) + "\n")
    frame = pd.read_csv(text, skipinitialspace=True)
    frame.assign(day=pd.to_datetime(frame["day"])).to_parquet(kept)
    told = "50 rows of 151 are empty in all columns that were read, and count as rows."
    domain = dpsyn.read_table(text).domain.confirmed()
    for known in (None, domain):
        found = [dpsyn.read_table(one, domain=known) for one in (text, kept, pd.read_parquet(kept))]
        found += [dpsyn.read_table(one, domain=known, in_place=True) for one in (text, kept)]
        found += [dpsyn.read_table(duckdb.read_parquet(str(kept)), domain=known)]
        for table in (*found, file_statistics(text, domain=known), file_statistics(kept, domain=known)):
            assert [note.startswith(told) for note in table.notes if "empty in all" in note] == [True]
        assert all(table.domain.names == ("age", "sex", "day") for table in found)
    for known in (None, domain.project(["age"])):  # of one column, empty cells are no more than that
        for way in (False, True):
            notes = dpsyn.read_table(text, domain=known, columns=["age"], in_place=way).notes
            assert not any("empty in all" in note for note in notes)
