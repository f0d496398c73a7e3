"""DataFrames and Parquet files: types are trusted, and what has no place in a domain is refused by name."""

from __future__ import annotations

import datetime
import decimal
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpsyn
from dpsyn import Attribute, Domain
from dpsyn.data._parquet import Parquet
from dpsyn.data.counted import CountedTable
from dpsyn.data.infer import MAX_CATEGORIES
from dpsyn.data.large import file_statistics
from dpsyn.data.read import read_table
from dpsyn.errors import DataError, DomainError


def one(values: Any) -> tuple[pd.Series[Any], dpsyn.Attribute, tuple[str, ...]]:
    table = read_table(pd.DataFrame({"x": values}))
    notes = table.notes
    return table.frame["x"], table.domain["x"], notes


@pytest.mark.parametrize(
    ("values", "kind", "categories", "missing", "dtype"),
    [
        ([True, False], "truth", (False, True), False, "bool"),
        ([True, True], "truth", (False, True), False, "bool"),
        ([True, None, False], "categorical", (False, True), True, "object"),
        (pd.array([True, None], "boolean"), "categorical", (False, True), True, "object"),
        ([0, 1, 1], "truth", (0, 1), False, "int64"),
        (np.array([0.0, 1.0]), "truth", (0, 1), False, "int64"),
        (["no", "yes"], "truth", ("no", "yes"), False, "str"),
        (pd.Categorical(["yes", "no"]), "truth", ("no", "yes"), False, "str"),
        (pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"]), "categorical", ("lo", "mid", "hi"), False, "str"),
        (pd.Categorical([3, 1, None]), "categorical", (1, 3), True, "Int64"),
        (["1", "02"], "categorical", ("02", "1"), False, "str"),
        (["", "x"], "categorical", ("x",), True, "str"),
        ([" x", "x"], "categorical", (" x", "x"), False, "str"),
        ([1.0, np.nan, 2.0], "categorical", (1, 2), True, "Int64"),
        (pd.array([1, None, 3], "Int64"), "categorical", (1, 3), True, "Int64"),
        (np.array([1, None, 3], dtype=object), "categorical", (1, 3), True, "Int64"),
        ([2**60, 1], "categorical", ("1", str(2**60)), False, "str"),
        ([2**70, 1], "categorical", ("1", str(2**70)), False, "str"),
        ([1, "x", 2.5, None], "categorical", ("1", "2.5", "x"), True, "str"),
        ([None, None], "categorical", (), True, "object"),
        ([0.5, 0.5], "categorical", (0.5,), False, "float64"),
    ],
)
def test_listed_values(values: Any, kind: str, categories: tuple[Any, ...], missing: bool, dtype: str) -> None:
    column, attribute, _ = one(values)
    assert (attribute.kind, attribute.categories, attribute.missing) == (kind, categories, missing)
    assert column.dtype == dtype


@pytest.mark.parametrize(
    ("values", "lower", "upper", "integer", "dtype"),
    [
        (np.arange(20, dtype="uint8"), 0, 19, True, "int64"),
        (np.arange(20.0), 0, 19, True, "int64"),
        ([0.5, 1.5], 0.5, 1.5, False, "float64"),
        (pd.array([0.5, 0.75, None], "Float64"), 0.5, 0.75, False, "float64"),
        ([decimal.Decimal("1.5"), decimal.Decimal("2.5")], 1.5, 2.5, False, "float64"),
        (np.array([0.5, 1.5], dtype="float32"), 0.5, 1.5, False, "float64"),
    ],
)
def test_numbers(values: Any, lower: float, upper: float, integer: bool, dtype: str) -> None:
    column, attribute, _ = one(values)
    assert (attribute.kind, attribute.lower, attribute.upper, attribute.integer) == ("numeric", lower, upper, integer)
    assert column.dtype == dtype


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2020, 1, 2), datetime.date(2020, 1, 5)],
        [datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 5)],
        pd.to_datetime(["2020-01-02", "2020-01-05"]),
        pd.to_datetime(["2020-01-02", "2020-01-05"]).tz_localize("Asia/Tokyo"),
        pd.Series([datetime.datetime.fromisoformat(f"2020-01-0{day}T00:00-05:00") for day in (2, 5)], dtype=object),
        ["2020-01-02", "2020-01-05"],
    ],
)
def test_dates(values: Any) -> None:
    column, attribute, notes = one(values)
    assert (attribute.kind, attribute.lower, attribute.upper) == ("date", 18263, 18266)
    assert column.dtype == "datetime64[us]"
    assert notes == (
        ("Column 'x': times with a zone keep the day that their own zone shows.",)
        if getattr(values[0], "tzinfo", None)
        else ()
    )


def test_zones_are_told_under_a_given_domain_too(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": pd.to_datetime(["2020-01-02", "2020-01-05"]).tz_localize("Asia/Tokyo")})
    frame.to_parquet(tmp_path / "x.parquet")
    for source in (frame, tmp_path / "x.parquet"):
        table = dpsyn.read_table(source)
        assert dpsyn.read_table(source, domain=table.domain).notes == table.notes
    assert file_statistics(tmp_path / "x.parquet", domain=table.domain).notes == table.notes
    assert "with a zone" in str(table.notes)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ([1.5, np.inf], "row 2: the number is infinite"),
        ([[1], [2]], "type list"),
        ([b"x"], "type bytes"),
        ([1j], "complex"),
        (pd.to_timedelta([1], unit="D"), "timedelta"),
        (pd.period_range("2020", periods=1, freq="D"), "period"),
        (["\ud800"], "not Unicode"),
        (pd.Categorical([str(i) for i in range(MAX_CATEGORIES + 1)]), "10001 categories"),
        (pd.Categorical([b"x", "b'x'"]), "the same when written"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(values: Any, part: str) -> None:
    frame = pd.DataFrame(
        {"x": pd.Series(values, dtype=object) if isinstance(values, list) and values == ["\ud800"] else values}
    )
    with pytest.raises(DataError, match=part) as caught:
        dpsyn.read_table(frame)
    assert caught.value.column == "x"


def labelled(label: Any) -> pd.DataFrame:
    labels = np.empty(1, dtype=object)
    labels[0] = label
    return pd.DataFrame([[1]], columns=pd.Index(labels, dtype=object, tupleize_cols=False))


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns 1 and 2 are both called 'a'"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "columns 1 and 2 are both called '1'"),
        (pd.DataFrame([[1, 2]], columns=["a", " "]), "column 2 of 2 has no name"),
        (pd.DataFrame([[1]], columns=[np.nan]), "column 1 of 1 has no name"),
        (pd.DataFrame({"a": [], "b": []}), "2 columns but no row"),
        (pd.DataFrame(index=[1]), "no columns"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "several levels"),
        (pd.DataFrame([[1]], columns=pd.Index([decimal.Decimal("sNaN")], dtype=object)), "neither a text nor a number"),
        (labelled(pd.MultiIndex.from_tuples([("a", "b")])), "neither a text nor a number"),
    ],
)
def test_frames_that_are_no_tables(frame: pd.DataFrame, part: str) -> None:
    with pytest.raises(DataError, match=part):
        dpsyn.read_table(frame)


def test_the_frame_handed_in_is_left_alone() -> None:
    frame = pd.DataFrame({0: [1.0, 2.0], "b": ["x", "y"]}, index=[5, 6])
    before = frame.copy(deep=True)
    table = dpsyn.read_table(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert table.domain.names == ("0", "b")
    assert table.frame.index.tolist() == [0, 1]


def test_a_frame_into_a_domain() -> None:
    domain = dpsyn.Domain.of(
        [dpsyn.Attribute("b", "categorical", ("x", "y")), dpsyn.Attribute("a", "numeric", lower=0, upper=1)]
    )
    table = read_table(pd.DataFrame({"a": [0.5, 3.0], "b": ["y", "x"], "c": [1, 2]}), domain=domain)
    notes = table.notes
    assert table.codes.tolist() == [[1, 5], [0, 9]]
    assert notes[0] == "Not in the domain, and left out: 'c'."
    assert notes[1].startswith("Column 'a': 1 of 2 cells lie outside the domain")
    with pytest.raises(DomainError, match="row 2 has 'z'"):
        dpsyn.read_table(pd.DataFrame({"a": [0.5, 3.0], "b": ["y", "z"]}), domain=domain)
    with pytest.raises(DomainError, match="no column 'b'"):
        dpsyn.read_table(pd.DataFrame({"a": [0.5]}), domain=domain)


def as_parquet(columns: dict[str, Any] | pa.Table) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), stream)
    return stream.getvalue()


def test_parquet_types() -> None:
    data = as_parquet(
        {
            "i": pa.array([1, 2, None], pa.int8()),
            "s": ["a", None, "b"],
            "b": [True, False, True],
            "d": [datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 5)],
            "f": [0.5, 1.5, 2.5],
            "c": pa.array(["u", "v", "u"]).dictionary_encode(),
            "m": pa.array([decimal.Decimal("1.25"), decimal.Decimal("2.25"), None]),
            "u": pa.array([2**63 + 1, None, 1], pa.uint64()),
        }
    )
    table = dpsyn.read_table(data)
    kinds = {a.name: (a.kind, a.missing) for a in table.domain.attributes}
    assert kinds == {
        "i": ("categorical", True),
        "s": ("categorical", True),
        "b": ("truth", False),
        "d": ("date", True),
        "f": ("numeric", False),
        "c": ("categorical", False),
        "m": ("numeric", True),
        "u": ("categorical", True),
    }
    assert table.domain["u"].categories == ("1", "9223372036854775809")
    assert table.n == 3


def test_parquet_and_csv_of_one_frame_agree() -> None:
    frame = pd.DataFrame({"a": [1, 2, 30] * 5, "b": ["x", "y", "z"] * 5, "f": np.linspace(0, 1, 15)})
    stream = io.BytesIO()
    frame.to_parquet(stream)
    one_way = dpsyn.read_table(stream.getvalue())
    other = dpsyn.read_table(frame.to_csv(index=False).encode())
    assert one_way.domain == other.domain
    pd.testing.assert_frame_equal(one_way.frame, other.frame)


def test_row_labels_of_pandas_are_left_out_and_said() -> None:
    stream = io.BytesIO()
    pd.DataFrame({"a": [1, 2]}, index=["x", "y"]).to_parquet(stream)
    table = read_table(stream.getvalue())
    notes = table.notes
    assert table.domain.names == ("a",)
    assert "row labels" in notes[0]


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        ({"a": [[1], [2]]}, "'a' has the type list"),
        ({"a": [{"x": 1}]}, "'a' has the type struct"),
        ({"a": [b"x"]}, "'a' has the type binary"),
        ({"a": [datetime.time(1)]}, "'a' has the type time"),
        ({"a": pa.array([], pa.int64())}, "1 column but no row"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), "columns 1 and 2 are both called 'a'"),
    ],
)
def test_parquet_that_is_no_table(columns: Any, part: str) -> None:
    with pytest.raises(DataError, match=part):
        dpsyn.read_table(as_parquet(columns))


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}])
def test_a_part_of_a_nested_column_is_not_the_column_of_its_name(options: dict[str, Any], tmp_path: Path) -> None:
    rows = pa.table({"a": pa.array([{"b": "no"}] * 40), "a.b": ["x", "yy"] * 20, "c": ["u", "u", "v", "v"] * 10})
    parquet.write_table(rows, tmp_path / "x.parquet", **options)
    for in_place in (False, True):
        table = read_table(tmp_path / "x.parquet", columns=["a.b", "c"], in_place=in_place)
        assert table.domain["a.b"].categories == ("x", "yy")
        codes = table.loaded().codes if isinstance(table, CountedTable) else table.codes
        assert codes[:4].tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert Parquet(tmp_path / "x.parquet").text_bytes == 100


@pytest.mark.parametrize("cut", [4, 40, -1, -20])
def test_damaged_parquet(cut: int) -> None:
    data = as_parquet({"a": [1, 2, 3]})
    with pytest.raises(DataError, match="Parquet file cannot be read"):
        dpsyn.read_table(data[:cut])


LARGE = [2**60, 2**60 + 1]


@pytest.mark.parametrize(
    ("values", "attribute"),
    [
        (LARGE, dpsyn.Attribute("x", "categorical", tuple(map(str, LARGE)))),
        (
            np.array([*map(decimal.Decimal, LARGE)], dtype=object),
            dpsyn.Attribute("x", "categorical", tuple(map(str, LARGE))),
        ),
        ([True, False], dpsyn.Attribute("x", "truth", ("False", "True"))),
        ([1, "a"], dpsyn.Attribute("x", "categorical", (1, "a"))),
        ([decimal.Decimal("1.50"), decimal.Decimal("2")], dpsyn.Attribute("x", "categorical", ("1.5", "2"))),
    ],
)
def test_values_may_be_known_by_their_texts(values: Any, attribute: dpsyn.Attribute) -> None:
    domain = dpsyn.Domain.of([attribute])
    frame = pd.DataFrame({"x": values})
    assert set(dpsyn.read_table(frame, domain=domain).frame["x"]) == set(attribute.categories)
    inferred = dpsyn.read_table(frame)
    assert dpsyn.read_table(frame, domain=inferred.domain).frame.equals(inferred.frame)


def test_given_numbers_and_dates_have_one_type_however_they_come() -> None:
    domain = dpsyn.Domain.of(
        [dpsyn.Attribute("d", "date", lower=0, upper=9), dpsyn.Attribute("n", "numeric", lower=0, upper=9, missing=True)]
    )
    zone = datetime.timezone(datetime.timedelta(hours=9))
    frame = pd.DataFrame(
        {
            "d": [datetime.datetime(1970, 1, 2, tzinfo=zone), "1970-01-03T00:00+02:00"],
            "n": np.array([decimal.Decimal("1.5"), None], dtype=object),
        }
    )
    table = dpsyn.read_table(frame, domain=domain)
    assert [str(dtype) for dtype in table.frame.dtypes] == ["datetime64[us]", "float64"]
    assert table.codes.tolist() == [[1, 1], [2, 10]]


@pytest.mark.parametrize("frame", [pd.DataFrame({"x": ["a\0", "b"]}), pd.DataFrame({"x\0": [1.5, 2.5]})])
def test_text_that_no_text_file_can_hold_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises((DataError, DomainError), match="zero byte"):
        dpsyn.read_table(frame)


def test_row_labels_with_a_name_are_not_left_out_in_silence() -> None:
    frame = pd.DataFrame({"id": [7, 8, 9], "x": [1, 2, 1]})
    assert read_table(frame).notes == read_table(frame.set_axis([5, 4, 3])).notes
    for domain in (None, read_table(frame[["x"]]).domain):
        notes = read_table(frame.set_index("id"), domain=domain).notes
        assert "The row labels 'id' were left out; reset_index() makes columns of them." in notes


def test_whole_numbers_of_more_digits_than_python_writes_become_text_among_texts() -> None:
    column, _, notes = one(pd.Series([10**5000 + 1, "x"], dtype=object))
    assert [len(text) for text in column] == [5001, 1]
    assert "turned into text" in notes[0]


def test_labels_that_are_no_numbers_are_not_left_out_in_silence() -> None:
    notes = read_table(pd.DataFrame({"x": [1, 2]}, index=["Anna", "Ben"])).notes
    assert notes == ("The row labels were left out; reset_index() makes columns of them.",)


@pytest.mark.skipif(np.longdouble(1) + np.finfo(float).eps / 4 == 1, reason="long floats are doubles here")
def test_long_floats_are_doubles_or_refused() -> None:
    assert read_table(pd.DataFrame({"x": np.array([0.5, 3], dtype=np.longdouble)})).frame["x"].tolist() == [0.5, 3.0]
    apart = np.longdouble(2**53) + np.arange(2)
    with pytest.raises(DataError, match="double precision does not hold"):
        read_table(pd.DataFrame({"x": apart}))


def test_categories_that_become_text_are_told() -> None:
    days = pd.Categorical(pd.to_datetime(["2024-01-01", "2024-02-01"]))
    assert "of the type Timestamp, and were turned into text" in read_table(pd.DataFrame({"x": days})).notes[0]


def test_decimals_are_the_categories_that_are_written_alike(tmp_path: Path) -> None:
    frame = pd.DataFrame({"vat": [decimal.Decimal("0.19")] * 3, "g": list("abc")})
    table = read_table(frame)
    parquet.write_table(
        pa.table({"vat": pa.array(frame["vat"], pa.decimal128(10, 2)), "g": list("abc")}), tmp_path / "x.parquet"
    )
    given = [read_table(frame, domain=table.domain), read_table(tmp_path / "x.parquet", domain=table.domain)]
    given += [read_table(tmp_path / "x.parquet", in_place=True).loaded()]
    assert [one.codes.tolist() for one in given] == [table.codes.tolist()] * 3
    beside = frame.assign(vat=decimal.Decimal("0.1900000000000000000001"))
    parquet.write_table(
        pa.table({"vat": pa.array(beside["vat"], pa.decimal128(30, 22)), "g": list("abc")}), tmp_path / "y.parquet"
    )
    for source, in_place in ((beside, False), (tmp_path / "y.parquet", False), (tmp_path / "y.parquet", True)):
        near = read_table(source, domain=table.domain, in_place=in_place)
        assert (near.loaded() if in_place else near).codes.tolist() == table.codes.tolist()
        assert "Column 'vat': some decimals were rounded to double precision." in near.notes
    with pytest.raises(DomainError, match=r"not one of the categories 0\.19"):
        read_table(frame.assign(vat=decimal.Decimal("0.2")), domain=table.domain)


def test_a_whole_number_beyond_2_53_beside_a_fraction_is_kept() -> None:
    domain = Domain.of([Attribute("x", "categorical", (2**53 + 1, 0.5))])
    made = domain.decode(np.array([[0], [1]], dtype=np.int32), np.random.default_rng(0))
    assert made["x"].tolist() == [2**53 + 1, 0.5]
    assert read_table(made, domain=domain).codes.tolist() == [[0], [1]]


def test_times_of_day_under_days_as_categories_are_told() -> None:
    domain = Domain.of([Attribute("x", "categorical", ("2024-01-01",))])
    notes = read_table(pd.DataFrame({"x": pd.to_datetime(["2024-01-01 05:00"])}), domain=domain).notes
    assert notes == ("Column 'x': times of day are dropped, the domain knows days only.",)


@pytest.mark.parametrize("kind", ["bool", "boolean", "object"])
def test_truth_values_that_become_numbers_are_told(kind: Any) -> None:
    domain = Domain.of([Attribute("x", "numeric", lower=0, upper=5, bins=5, missing=True)])
    cells = pd.Series([True, False, *[None] * (kind != "bool")], dtype=kind)
    assert read_table(pd.DataFrame({"x": cells}), domain=domain).notes == (
        "Column 'x': truth values are taken as the numbers 0 and 1.",
    )


@pytest.mark.parametrize("cell", [{}, [1], {1, 2}, np.array([]), np.array([1, 2]), pd.Series([1, 2])])
@pytest.mark.parametrize("categories", [(2, "a"), (2, 2.5), ("a", "b"), (True, False)])
def test_nested_cells_are_refused_under_any_domain(cell: Any, categories: Any) -> None:
    column = pd.Series([cell, None, categories[0]], dtype=object)
    domain = Domain.of([Attribute("x", "categorical", categories, missing=True)])
    with pytest.raises(DomainError, match="a list or another nested value"):
        read_table(pd.DataFrame({"x": column}), domain=domain)


@pytest.mark.parametrize(
    "cells", [pd.cut(pd.Series(range(60)), 5), pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01"] * 2)))]
)
def test_categories_of_other_types_are_the_same_texts_under_the_domain_that_they_gave(cells: pd.Series) -> None:
    frame = pd.DataFrame({"x": cells})
    first = read_table(frame)
    assert read_table(frame, domain=first.domain).codes.tolist() == first.codes.tolist()


@pytest.mark.parametrize("first_day", ["2020-01-01", datetime.date(2020, 1, 1)])
def test_empty_texts_among_dates_are_empty_under_the_domain_that_they_gave(first_day: Any) -> None:
    frame = pd.DataFrame({"d": pd.Series([first_day, "", "2020-03-05"] * 10, dtype=object)})
    first = read_table(pd.DataFrame({"d": ["2020-01-01", "", "2020-03-05"] * 10}))
    assert first.domain["d"].kind == "date"
    again = read_table(frame, domain=first.domain)
    assert again.codes.tolist() == first.codes.tolist()


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("ms"), pa.timestamp("ms", "UTC")])
def test_dates_of_arrow_are_dates_in_a_table_as_they_are_when_read(kind: Any) -> None:
    moments = pd.Series(pd.to_datetime(["2001-02-03", "2010-05-06", None])).astype(pd.ArrowDtype(kind))
    frame, domain = pd.DataFrame({"t": moments}), Domain.of([Attribute("t", "date", lower=0, upper=20_000, missing=True)])
    assert dpsyn.Table(frame, domain).codes.tolist() == read_table(frame, domain=domain).codes.tolist() == [[5], [7], [10]]


def test_texts_of_numbers_fit_numbers_whether_or_not_they_are_a_categorical() -> None:
    domain = Domain.of([Attribute("c", "categorical", (1, 2, 3))])
    for cells in (["1", "3"], pd.Categorical(["1", "3"])):
        assert read_table(pd.DataFrame({"c": cells}), domain=domain).codes.tolist() == [[0], [2]]


@pytest.mark.parametrize(
    "empty", [None, np.nan, pd.NaT, pd.NA, decimal.Decimal("NaN"), np.datetime64("NaT", "s"), np.timedelta64("NaT", "s")]
)
def test_what_is_missing_is_of_no_type(empty):
    """Texts beside it are texts alone, and so are days under a given domain."""
    frame = pd.DataFrame({"a": pd.Series(["", empty, "x"], dtype=object), "day": ["2020-01-02", empty, "2020-01-05"]})
    frame["day"] = frame["day"].astype(object)
    table = dpsyn.read_table(frame.iloc[:, :1])
    assert table.notes == ("Column 'a': cells that say '' (1) were taken as missing.",)
    assert table.frame["a"].isna().tolist() == [True, True, False]
    days = Domain.of([Attribute("day", "date", lower=18000, upper=19000, missing=True)])
    assert dpsyn.read_table(frame, domain=days).codes.max() == days["day"].size - 1
