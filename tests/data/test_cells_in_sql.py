"""What an engine is asked about the cells of a column, and what it counts, on a few rows of a small DuckDB."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpsyn
from dpsyn import Attribute, Domain
from dpsyn.data import _counting, counted
from dpsyn.data._counting import CodedInPlace, Parts
from dpsyn.data._sql import Coded, Listed, Numbers, numbers_of, text
from dpsyn.data.engines import Engine, Ibis, Relation, _DuckDB
from dpsyn.errors import DataError, DomainError
from tests.data.test_in_place import DOMAIN, assert_same_counts, days, in_memory, in_place, number, rows


def engine_of(table: pa.Table) -> Relation:
    """A relation of DuckDB."""
    connection = duckdb.connect()
    connection.register("t", table)
    return Relation(connection.sql("FROM t"), "t")


@pytest.mark.parametrize("name", [name for name in DOMAIN.names if name != "flag"])
def test_a_column_counts_as_in_memory(name: str) -> None:
    table, domain = rows(60).select([name, "flag"]), DOMAIN.project([name, "flag"])
    assert_same_counts(in_place(table, domain), in_memory(table, domain))


def test_cells_that_never_are_empty_and_names_with_quotes() -> None:
    table = pa.table({'a "b"': [1.0, 2.0, 2.5], "it's": ['x"', "it's", "it's"]})
    domain = Domain.of(
        [number('a "b"', 0, 3, 0.5, missing=False), Attribute("it's", "categorical", ("it's", 'x"'), public=True)]
    )
    assert_same_counts(in_place(table, domain), in_memory(table, domain))


# --- texts ------------------------------------------------------------------------------------------------------------

SPELLINGS = ["A", "a", "b", "ä", "a", "b ", "b", "b"]


def spelt(kind: str, setting: str = "") -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.execute(f"{setting}; CREATE TYPE spelling AS ENUM ('b', 'a', 'A', 'ä', 'b '); CREATE TABLE t(x {kind})")
    connection.executemany("INSERT INTO t VALUES (?)", [[one] for one in SPELLINGS])
    return connection.sql("FROM t")


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # Ibis sets it
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("source", ["NOCASE", "NOACCENT", "enum", "setting", "postgres"])
def test_texts_that_a_collation_takes_for_the_same_are_different(
    source: str, known: bool, request: pytest.FixtureRequest
) -> None:
    values = tuple(sorted(set(SPELLINGS)))
    rows_: Any
    if source == "postgres":
        listed = ", ".join(f"({text(one)})" for one in SPELLINGS)
        connection = request.getfixturevalue("postgres")
        connection.raw_sql(
            "CREATE COLLATION pg_temp.same (provider = icu, locale = 'und-u-ks-level1', deterministic = false);"
            f"CREATE TEMP TABLE spelt AS SELECT x COLLATE pg_temp.same FROM (VALUES {listed}) AS v(x)"
        )
        rows_ = connection.table("spelt")
    elif source in ("enum", "setting"):
        rows_ = spelt("spelling" if source == "enum" else "VARCHAR", "SET default_collation = 'NOCASE'")
    else:
        rows_ = spelt(f"VARCHAR COLLATE {source}")
    domain = Domain.of([Attribute("x", "categorical", values, public=True)])
    table = dpsyn.read_table(rows_, domain=domain if known else None, in_place=True)
    assert set(table.domain["x"].categories) == set(values)
    counts = dict(zip(table.domain["x"].categories, table.coded(table.domain, {}).counts((0,)).tolist(), strict=True))
    assert counts == {"A": 1, "a": 2, "b": 3, "b ": 1, "ä": 1}


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_types_that_ibis_does_not_know_are_told(postgres: Any) -> None:
    postgres.raw_sql(
        "CREATE DOMAIN pg_temp.amount AS numeric(10, 2);"
        "CREATE TEMP TABLE amounts AS SELECT (i % 40)::pg_temp.amount AS x, i % 3 AS k FROM generate_series(1, 300) i"
    )
    table = dpsyn.read_table(postgres.table("amounts"))
    assert "read as text; cast what are numbers or dates in a query: 'x' (" in table.notes[0]


def test_whole_numbers_that_duckdb_hands_on_as_others_are_refused() -> None:
    with pytest.raises(DataError, match="'x' has the type UHUGEINT") as refused:
        dpsyn.read_table(duckdb.sql("SELECT md5_number(i::VARCHAR) AS x, i % 2 AS k FROM range(4) t(i)"))
    assert refused.value.column == "x"


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "C"])
def test_an_engine_whose_collations_are_not_known_is_asked(collation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Relation, "collation", None)
    attribute = Attribute("x", "categorical", tuple(sorted(set(SPELLINGS))), public=True)
    rows_ = spelt(f'VARCHAR COLLATE "{collation}"')
    if collation == "C":
        assert dpsyn.read_table(rows_, domain=Domain.of([attribute])).coded(Domain.of([attribute]), {}).counts((0,))[1] == 2
        return
    with pytest.raises(DataError, match="'x' has a collation by which different texts are the same") as refused:
        dpsyn.read_table(rows_, domain=Domain.of([attribute]))
    assert refused.value.column == "x"


def test_texts_with_letters_are_asked_for_first_and_numbers_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Relation, "collation", None)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT CAST(range AS VARCHAR) COLLATE NOCASE AS x, range % 2 AS k FROM range(150)")
    domain = Domain.of([Attribute("k", "categorical", (0, 1), public=True)])
    assert dpsyn.read_table(connection.sql("FROM t"), domain=domain).n == 150
    connection.execute("INSERT INTO t VALUES ('z', 1), ('Z', 1)")
    domain = Domain.of([Attribute("x", "categorical", (*map(str, range(150)), "z", "Z"), public=True)])
    with pytest.raises(DataError, match="'x' has a collation"):
        dpsyn.read_table(connection.sql("FROM t"), domain=domain)


# --- thresholds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attribute",
    [
        number("x", 0.0, 10.0),
        number("x", -3.0, 3.0, 0.01),
        number("x", -5.0, -1.0, 0.1),
        number("x", 1e-3, 2.0, 0.001),
        number("x", -3.0, 0.0, 0.5),
        number("x", -90.0, 90.0, 1, bins=20),
    ],
)
def test_thresholds_are_the_least_cells_that_reach_a_cut(attribute: Attribute) -> None:
    cuts = attribute.unit_edges[1:-1]
    assert len(cuts) > 1

    def reaches(cells: list[float]) -> np.ndarray:
        return attribute.in_units(pd.Series(cells, dtype=np.float64)) >= cuts

    found = Numbers(attribute, "x", "double").thresholds(cuts)
    assert reaches(found).all()
    assert not reaches([math.nextafter(one, -math.inf) for one in found]).any()
    for scale in (0, 3):
        cells = Numbers(attribute, "x", "exact", scale).thresholds(cuts)
        assert reaches([float(Decimal(one).scaleb(-scale)) for one in cells]).all()
        assert not reaches([float(Decimal(one - 1).scaleb(-scale)) for one in cells]).any()
    assert Numbers(attribute, "x", "double", in_units=True).thresholds(cuts) == cuts.tolist()
    assert Numbers(attribute, "x", "exact", in_units=True).thresholds(cuts) == np.ceil(cuts).tolist()


def test_thresholds_of_days_are_days() -> None:
    cells = Numbers(days("x", datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), "x", "date")
    assert cells.thresholds(np.array([-1.0, 18_300.0])) == [-1, 18_300]


def test_thresholds_beyond_every_decimal_are_the_last_ones() -> None:
    cells = Numbers(number("x", -1e60, 1e60), "x", "exact", 2, wide=True)
    assert cells.thresholds(np.array([-1e50, 1e50])) == [1 - 10**38, 10**38 - 1]


WIDE = [-(10**20), -(2**53) - 1, 0, 1, 2**53 + 1, 10**20]
LOWEST = -1.7976931348623157e308
BETWEEN: dict[str, tuple[Numbers, pa.Array, list[Any]]] = {
    "doubles": (
        Numbers(number("x", 0, 1), engine_of(pa.table({"x": [0.5]})).cell("x"), "double"),
        pa.array([None, math.nan, -math.inf, LOWEST, -1.0, -0.0, 0.0, 5e-324, 0.3, 0.1 + 0.2, 1.0, math.inf]),
        [LOWEST, -1.0, 0.0, 5e-324, 0.1 + 0.2, 1.0, math.inf],
    ),
    "whole": (
        Numbers(number("x", 0, 1), '"x"', "exact"),
        pa.array([None, -3, 0, 0, 1, 2, 2**62, 2**62 + 1]),
        [0, 1, 2**62 + 1],
    ),
    "wide": (
        Numbers(number("x", 0, 1), '"x"', "exact", wide=True),
        pa.array([None, *map(Decimal, WIDE)], pa.decimal128(38, 0)),
        WIDE,
    ),
    "decimals": (
        Numbers(number("x", 0, 1), '"x"', "exact", 2, wide=True),
        pa.array([None, Decimal("-0.01"), Decimal("0.00"), Decimal("0.01"), Decimal("1.25"), Decimal("1.26")]),
        [-1, 0, 1, 126],
    ),
    "days": (
        Numbers(days("x", datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), '"x"', "date"),
        pa.array([None, -1, 0, 1, 18_300, 18_301], pa.date32()),
        [0, 1, 18_301],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BETWEEN)
@pytest.mark.parametrize("between", [Engine.between, _DuckDB.between])
def test_cells_between_thresholds_are_those_that_are_compared_one_by_one(kind: str, between: Any) -> None:
    cells, values, thresholds = BETWEEN[kind]
    engine = engine_of(pa.table({"x": values}))

    def counted_in(value: Any) -> Any:
        if isinstance(value, Decimal):
            return int(value.scaleb(cells.scale))
        return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value

    there = [
        counted_in(one) for one in values.to_pylist() if one is not None and not (kind == "doubles" and math.isnan(one))
    ]
    for some in (thresholds, thresholds[:1], thresholds[1:2], thresholds[2:4], []):
        expected = np.bincount([sum(one >= t for t in some) for one in there], minlength=len(some) + 1)
        np.testing.assert_array_equal(between(engine, cells, some), expected)
    nothing = engine_of(pa.table({"x": values.slice(0, 0)}))
    np.testing.assert_array_equal(between(nothing, cells, thresholds), np.zeros(len(thresholds) + 1))


LONG = days("x", datetime.date(1960, 1, 1), datetime.date(2021, 1, 1))


@pytest.mark.parametrize(
    ("values", "attribute", "kind"),
    [
        (pa.array([0.5, None], pa.float32()), number("x", 0, 1), "double"),
        (pa.array([True, False, False]), number("x", 0, 1, 1), "exact"),
        (pa.array([2**63 - 1, 0, -1]), number("x", -(2.0**63), 2.0**63), "exact"),
        (pa.array([2**63 - 1, 0, -1]), number("x", -1.0, 1e20), "exact"),
        (pa.array([2**63 - 1, 0, -1]), number("x", -1e300, 1e300), "exact"),
        (pa.array([True, False, False]), number("x", -1e300, 1e300), "exact"),
        (pa.array([Decimal("0.25"), None], pa.decimal128(9, 2)), number("x", -1e300, 1e300), "exact"),
        (pa.array([-(2**63), -(2**62), -1]), number("x", -1e20, 0.0), "exact"),
        (pa.array([2**63 - 1, 0, -1]), number("x", 0.0, 2.0**40), "exact"),
        (pa.array([2**64 - 1, 0, 1], pa.uint64()), number("x", 0.0, 2.0**40), "exact"),
        (pa.array([2**64 - 1, 0, 2**63], pa.uint64()), number("x", 0.0, 2.0**64), "exact"),
        (pa.array([Decimal("0.25"), None], pa.decimal128(9, 2)), number("x", 0, 1), "exact"),
        (pa.array([Decimal("0.25"), Decimal("0.26")], pa.decimal128(30, 2)), number("x", 0.0, 1e20, bins=4), "exact"),
        (pa.array([Decimal(10**24), Decimal(1 - 10**24), None], pa.decimal128(25, 0)), number("x", -1e25, 1e25), "exact"),
        (pa.array([0, 18_300], pa.date32()), LONG, "date"),
        (pa.array([datetime.datetime(2020, 1, 1, 23, 59)]), LONG, "date"),
    ],
)  # fmt: skip
def test_every_type_of_number_is_compared_as_it_is_ordered(values: pa.Array, attribute: Attribute, kind: str) -> None:
    found = numbers_of(attribute, values.type, '"x"')
    assert found is not None
    assert found.kind == kind
    table = pa.table({"x": values, "y": [True] * len(values)})
    domain = Domain.of([attribute, Attribute("y", "truth", (False, True), public=True)])
    assert_same_counts(in_place(table, domain), in_memory(table, domain))


def test_types_of_another_order_are_listed() -> None:
    assert numbers_of(LONG, pa.string(), '"x"') is None
    assert numbers_of(LONG, pa.timestamp("us", "UTC"), '"x"') is None
    for end in (1.0, 1e20):
        assert numbers_of(number("x", -end, end), pa.string(), '"x"') is None
    assert numbers_of(Attribute("x", "categorical", (1, 2)), pa.int64(), '"x"') is None


UNITS = [1.0, 0.01, 0.1, 0.3, 0.125, 2.5, 7.0, 1000.0]


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # Ibis sets it
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("source", ["duckdb", "postgres"])
def test_cells_that_the_domain_moves_are_counted_as_in_memory(unit: float, source: str, request: Any) -> None:
    """Multiples, what sums and double precision make of them, what lies beside them and beyond the bounds, and ends of
    double precision."""
    random = np.random.default_rng(int(100 * unit))
    multiples = random.integers(-1000, 1000, 400) * unit
    beside = multiples * (1 + random.choice([0, 1e-16, 3e-16, 1e-15, 1e-12, 1e-7, 1e-5], 400))
    ends = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -1e-300, 1e-7 * unit, 1e-6 * unit, 1e308, 900 * unit]
    reals = pa.array([*beside, *(beside + random.choice([0, unit / 2, unit / 3], 400)), *ends], from_pandas=True)
    n = len(reals)
    table = pa.table(
        {
            "x": reals,
            "single": reals.cast(pa.float32(), safe=False),
            "whole": pa.array(random.integers(-1200, 1200, n)),
            "price": pa.array(
                [Decimal(int(k)).scaleb(-2) for k in random.integers(-(10**5), 10**5, n)], pa.decimal128(20, 2)
            ),
            "truth": pa.array([True, False, None, True] * (n // 4), pa.bool_()),
        }
    )
    domain = Domain.of(number(name, -900 * unit, 900 * unit, unit) for name in table.column_names)
    if source == "postgres":
        counted_ = dpsyn.read_table(
            request.getfixturevalue("postgres").create_table("moved", table, temp=True), domain=domain
        )
    else:
        counted_ = in_place(table, domain)
    notes = in_memory(table, domain).notes
    assert len(notes) > 4
    assert counted_.notes == notes


# --- codes ------------------------------------------------------------------------------------------------------------


def truth(name: str) -> Attribute:
    return Attribute(name, "truth", (False, True), public=True)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("few", [False, True])
def test_codes_in_given_bins_are_those_of_the_values(text: bool, few: bool) -> None:
    """A value on an edge is in the bin that it begins; the first and the last bin take what lies beyond."""
    attribute = number("x", -2.0, 8.0, 0.5, bins=5)
    values = [None, -9.0, -2.0, -1.5, -1.25, -0.5, 0.0, 0.5, 1.0, 3.5, 7.5, 8.0, 11.0]
    values += [] if few else [i / 8 for i in range(-20, 40)]
    table = pa.table({"x": [None if one is None else str(one) for one in values] if text else values})
    counted_ = in_place(table, Domain.of([attribute]))
    cells = counted_._cells[0]
    assert isinstance(cells, Listed if text else Numbers)
    series = pd.Series(values, dtype=np.float64)
    edges = np.array([-4.0, -3.0, 0.0, 1.0, 7.0, 17.0])
    units = attribute.in_units(series)
    inside = [sum(unit >= edge for edge in edges[1:-1]) for unit in units]
    for given, codes in [(edges, np.where(np.isnan(units), 5, inside)), (None, attribute.encode(series))]:
        coded = CodedInPlace(counted_.engine, "t", counted_.n, (6,), [cells.code(given, "m0")])
        np.testing.assert_array_equal(coded.counts((0,)), np.bincount(codes, minlength=6))


@pytest.mark.parametrize("most", [2, 3, 4])
def test_a_list_of_cells_may_be_as_long_as_it_may(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(counted, "MOST_LISTED", most)
    table = pa.table({"x": pa.array(["a", "b", "a", "c"]).dictionary_encode()})
    domain = Domain.of([Attribute("x", "categorical", ("c", "b", "a"), public=True)])
    if most < 3:
        with pytest.raises(DomainError, match="more than 2 different cells"):
            in_place(table, domain)
        return
    np.testing.assert_array_equal(in_place(table, domain).coded(domain, {}).counts((0,)), [1, 1, 2])


def test_weekdays_and_months_of_days_that_are_numbers_or_texts() -> None:
    dates = ["2020-01-06", "2020-02-04", "2020-02-05", None, "2020-02-06", "1990-05-05"] * 3
    typed = pa.array([None if one is None else datetime.date.fromisoformat(one) for one in dates])
    day = days("x", datetime.date(2020, 1, 1), datetime.date(2020, 3, 1), bins=4, keep=("weekday", "month", "day"))
    domain = Domain.of([day, truth("y")])
    for column in (typed, pa.array(dates), typed.cast(pa.timestamp("us"))):
        table = pa.table({"x": column, "y": [True, False, True] * 6})
        assert_same_counts(in_place(table, domain), in_memory(table, domain))


# --- tables of codes --------------------------------------------------------------------------------------------------

SIZES = (2, 3, 4)


def coded(codes: np.ndarray, n: int | None = None, sizes: tuple[int, ...] = SIZES) -> CodedInPlace:
    """Rows whose cells are their codes."""
    columns = {f"c{j}": pa.array(codes[:, j], pa.int32()) for j in range(codes.shape[1])}
    engine = engine_of(pa.table(columns))
    return CodedInPlace(engine, "t", len(codes) if n is None else n, sizes, [Coded(f'"c{j}"') for j in range(len(sizes))])


def some_codes(n: int = 40) -> np.ndarray:
    return np.random.default_rng(1).integers(0, SIZES, (n, 3))


@pytest.mark.parametrize("grouping_sets", [True, False])
@pytest.mark.parametrize("at_once", [1, 2, 40])
def test_tables_of_codes_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch, grouping_sets: bool, at_once: int) -> None:
    """Whichever tables are asked for first, and however many in one reading; what is part of one is read off it."""
    codes = some_codes()
    asked: list[str] = []
    answer = Relation._answer
    monkeypatch.setattr(Relation, "_answer", lambda engine, sql: asked.append(sql) or answer(engine, sql))
    monkeypatch.setattr(Relation, "grouping_sets", grouping_sets)
    monkeypatch.setattr(_counting, "_SETS_AT_ONCE", at_once)

    def table_of(columns: tuple[int, ...]) -> np.ndarray:
        counts = np.zeros([SIZES[j] for j in columns], dtype=np.int64)
        for row in codes:
            counts[tuple(row[list(columns)])] += 1
        return counts.ravel()

    every = [(0,), (1,), (2,), (1, 0), (0, 2), (2, 1), (0, 1, 2), (2, 0, 1), ()]
    for expected in ([], [(0, 1), (1, 2)], [(2, 0)], [(1,), (0,), (0, 1)], [(0, 1, 2), (0,)], every):
        real = coded(codes)
        asked.clear()
        real.expect(expected)
        readings = len(asked)
        for columns in expected:
            np.testing.assert_array_equal(real.counts(columns), table_of(columns))
        assert len(asked) == readings  # what was expected is not asked again
        for columns in every:
            found = real.counts(columns)
            assert found.dtype == np.int64
            assert {cells.dtype for cells in real.cells(columns)[0]} <= {np.dtype(np.int32)}
            np.testing.assert_array_equal(found, table_of(columns))
        assert grouping_sets or not any("GROUPING SETS" in sql for sql in asked)
    together = coded(codes)
    asked.clear()
    together.expect([(0, 1), (1, 2), (0, 2), (1,), (0,)])
    assert len(asked) == (-(-3 // at_once) if grouping_sets else 3)


def test_rows_different_rows_and_equal_ones() -> None:
    codes = some_codes()
    real = coded(codes)
    found, counts = real.different()
    expected = np.unique(codes, axis=0, return_counts=True)
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(counts, expected[1])
    equal = real.equal_rows()
    assert (equal.n, equal.distinct, equal.largest) == (40, len(expected[0]), expected[1].max())
    every = real.codes
    assert every.dtype == found.dtype == np.int32
    np.testing.assert_array_equal(every[np.lexsort(every.T)], codes[np.lexsort(codes.T)])


def test_tables_that_do_not_agree_on_a_column_are_refused() -> None:
    """Rows of the same number that another query finds changed, or draws anew."""
    codes = some_codes()
    changed = codes.copy()
    changed[:, 1] = np.roll(changed[:, 1], 1)
    changed[0, 2] = (changed[0, 2] + 1) % 4
    asks = (
        lambda real: real.counts((1, 2)),
        lambda real: real.expect([(0, 1), (0, 2)]),
        lambda real: real.different(),
        lambda real: real.codes,
    )
    for ask in asks:
        real = coded(codes)
        real.counts((2,))
        object.__setattr__(real, "engine", coded(changed).engine)
        np.testing.assert_array_equal(np.add.reduceat(real.counts((0, 1)), [0, 3]), np.bincount(codes[:, 0]))
        object.__setattr__(real, "_known", {})
        with pytest.raises(DataError, match=r"changed while it was read.* draws at random"):
            ask(real)


@pytest.mark.parametrize("wrong", [-1, -2, 3])
def test_a_code_that_a_column_cannot_have_is_refused(wrong: int) -> None:
    codes = some_codes()
    codes[7, 1] = wrong
    for ask in (
        lambda real: real.counts((1,)),
        lambda real: real.counts((0, 1)),
        lambda real: real.expect([(0, 1), (1, 2)]),
        lambda real: real.different(),
        lambda real: real.codes,
    ):
        with pytest.raises(DataError, match="changed while it was read"):
            ask(coded(codes))
    np.testing.assert_array_equal(coded(codes).counts((0, 2)), coded(some_codes()).counts((0, 2)))


@pytest.mark.parametrize("more", [-1, 1])
def test_another_number_of_rows_is_refused(more: int) -> None:
    for ask in (
        lambda real: real.counts((1,)),
        lambda real: real.expect([(0, 1), (1, 2)]),
        lambda real: real.equal_rows(),
        lambda real: real.different(),
        lambda real: real.codes,
    ):
        with pytest.raises(DataError, match="changed while it was read"):
            ask(coded(some_codes(), 40 + more))
    with pytest.raises(DataError, match="changed while it was read"):
        coded(some_codes(0), 0).counts((0,))


def test_rows_that_memory_does_not_hold_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[tuple[object, ...]] = []
    monkeypatch.setattr(_counting, "check_memory", lambda *asked: checked.append(asked))
    real = coded(some_codes())
    _ = real.codes, real.different()
    assert checked == [("t", 40, 3), ("t", real.equal_rows().distinct, 5)]


@pytest.mark.parametrize("kind", ["numbers", "few", "many", "text"])
def test_a_cell_that_became_empty_is_no_value(kind: str) -> None:
    """Where the domain allows no missing values, and where a table was looked through before."""
    values: list[Any] = {
        "numbers": [0.0, 1.0, 2.0],
        "few": ["a", "b"],
        "many": [f"w{i}" for i in range(40)],
        "text": ["1", "2"],
    }[kind]
    attribute = (
        number("x", 0.0, 2.0, bins=3, missing=False)
        if kind in ("numbers", "text")
        else Attribute("x", "categorical", tuple(values), public=True)
    )
    connection = duckdb.connect()
    connection.register("t", pa.table({"x": values}))
    connection.execute("CREATE TABLE people AS FROM t")
    table = dpsyn.read_table(connection.sql("FROM people"), domain=Domain.of([attribute]), in_place=True)
    edges = np.array([0.0, 0.5, 1.0, 2.0]) if attribute.is_binned else None
    assert table.coded(table.domain, {} if edges is None else {0: edges}).counts((0,)).sum() == len(values)
    connection.execute(f"UPDATE people SET x = NULL WHERE x = '{values[-1]}'")
    for bins in ({}, {} if edges is None else {0: edges}):
        with pytest.raises(DataError, match="changed while it was read"):
            table.coded(table.domain, bins).counts((0,))


# --- parts of a range -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_parts_of_a_range_hold_the_values_between_their_edges(text: bool, kept: bool, missing: bool) -> None:
    """What lies at or below the beginning of the range is in its first part, what lies at or beyond its end in the last."""
    values = [-9.0, -1.0, -0.5, 0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 4.0, *([None] * missing)]
    table = pa.table({"x": [None if one is None else str(one) for one in values] if text else values})
    counted_ = in_place(table, Domain.of([number("x", -1.0, 2.0, bins=3)]))
    inner = np.array([-1.0, -0.75, -0.5, 0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 1.8, 2.0])
    edges = np.stack([inner, np.linspace(-1.0, 2.0, 11), np.full(11, 0.25), np.linspace(0.25, 0.5, 11)])
    finest = np.unique(edges) if kept else None
    asked: list[int] = []

    def offered(most: int) -> np.ndarray | None:
        asked.append(most)
        return finest

    counts = counted_.parts(0, (-1.0, 2.0), offered)
    clipped = [float(np.clip(one, -1.0, 2.0)) for one in values if one is not None]

    def between(low: float, high: float) -> int:
        return sum(low <= one < high or (one == high == 2.0) for one in clipped) if low < high else 0

    expected = [[between(*pair) for pair in pairwise(row)] for row in edges]
    np.testing.assert_array_equal(counts(edges), expected)
    np.testing.assert_array_equal(counts(edges[1:2]), expected[1:2])
    assert asked == [counted_.engine.parts_at_once]
    empty = pa.table({"x": pa.array([None, None], pa.string() if text else pa.float64())})
    nobody = in_place(empty, Domain.of([number("x", -1.0, 2.0, bins=3)])).parts(0, (-1.0, 2.0), offered)
    assert not nobody(edges).any()
    assert isinstance(counts.__self__, Parts)  # type: ignore[attr-defined]


def test_parts_of_whole_numbers_are_exact_where_doubles_are_not() -> None:
    """Thresholds are whole numbers half-way between doubles; with a small one beside them they are no doubles."""
    cuts = [2.0**63 + i * 2.0**11 for i in range(1, 6)]
    values = [1, 2, *(int(cut) + off for cut in cuts for off in range(-1026, -1021))]
    counted_ = in_place(pa.table({"x": pa.array(values, pa.uint64())}), Domain.of([number("x", 0.0, 2.0**64)]))
    edges = np.array([[0.0, 2.0, *cuts, cuts[-1], cuts[-1], cuts[-1], 2.0**64]])
    counts = counted_.parts(0, (0.0, 2.0**64), lambda most: None)(edges)
    expected = [sum(low <= float(one) < high for one in values) for low, high in pairwise(edges[0])]
    assert counts.tolist() == [expected]


class Elsewhere(Ibis):
    """A server that says how many cells are in some parts, and keeps what it was asked."""

    def __init__(self, postgres: bool) -> None:
        self.title, self.postgres = "t", postgres
        self.asked: list[str] = []

    @property
    def _postgres(self) -> bool:
        return self.postgres

    def _answer(self, sql: str) -> pa.Table:
        self.asked.append(sql)
        return pa.table({"part": [0, 3, 2], "number": [4, 6, 5]} if "2.5" in sql else {"part": [0], "number": [15]})


@pytest.mark.parametrize("postgres", [True, False])
def test_postgres_looks_thresholds_up_in_an_array_and_others_compare(postgres: bool) -> None:
    engine, cells = Elsewhere(postgres), Numbers(number("x", 0, 9), '"x"', "double")
    counts = engine.between(cells, [1.5, 2.5, 3.5])
    assert counts.tolist() == [4, 0, 5, 6]
    assert ("width_bucket(\"x\", CAST('{1.5,2.5,3.5}' AS DOUBLE[]))" in engine.asked[0]) == postgres
    assert ("CASE WHEN \"x\" < CAST('2.5' AS DOUBLE)" in engine.asked[0]) != postgres
    assert engine.between(cells, []).tolist() == [15]
    assert "width_bucket" not in engine.asked[1]
