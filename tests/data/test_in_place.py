"""Tables that are counted where they lie: every cell counts as it does in memory, and releases are the same."""

from __future__ import annotations

import datetime
import gc
import math
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
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
from dpsyn.data import _sql, engines
from dpsyn.data import in_place as in_place_module
from dpsyn.data.counted import CountedTable
from dpsyn.errors import DataError, DomainError, DpsynError
from dpsyn.mechanisms.noisy_reweighting.user_functions import FunctionFamily
from dpsyn.privacy.histograms import Encoding, Histograms
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


@pytest.fixture
def opened(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[pa.Table, str], Any]:
    """How to hand a table to an engine of this name."""

    def source(table: pa.Table, engine: str) -> Any:
        if engine == "relation":
            connection = duckdb.connect()
            connection.register("t", table)
            return connection.sql("FROM t")
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
        (pa.array(["1.5", "one", "one"]), number("x", 0, 2), "2 rows hold 'one'"),
        (pa.array([1, 2, 3]), days("x", DATES[0], DATES[1]), "1 rows hold [123]"),
        (pa.array([1, 1, 5]), Attribute("x", "categorical", (1, 2)), "1 rows hold 5"),
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
    assert [file.name for file in tmp_path.iterdir()] == ["people.parquet"]


def test_a_server_that_ends_a_connection_is_named(postgres, opened):
    table = rows().select(["age", "flag"])
    counted = dpsyn.read_table(opened(table, "postgres"), domain=DOMAIN.project(["age", "flag"]))
    mechanism = CONFIGS["tables"].calibrate(PrivacySpec(1.0), counted.domain, counted.n)
    postgres.con.close()
    with pytest.raises(DpsynError, match="nothing was released"):
        mechanism(None, counted)


def test_rows_that_change_while_they_are_counted_are_refused():
    connection = duckdb.connect()
    names = ["age", "word", "flag", "many"]
    connection.register("t", rows().select(names))
    domain = DOMAIN.project(names)
    changes = (
        "DELETE FROM people WHERE flag AND age = 40",
        "UPDATE people SET word = 'new' WHERE word = 'a'",
        "UPDATE people SET many = 'new' WHERE many = 'w3'",
    )
    for change in changes:
        connection.execute("CREATE OR REPLACE TABLE people AS FROM t")
        counted = dpsyn.read_table(connection.sql("FROM people"), domain=domain)
        connection.execute(change)
        with pytest.raises(DataError, match="changed while it was read"):
            CONFIGS["mst"].calibrate(PrivacySpec(1.0), domain, counted.n)(None, counted)


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
    table, _ = in_place_module.open_in_place(source, None, "people", None, "refuse")
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
