"""Moments to days: also the first ones that nanoseconds can say, which NumPy's own cast takes to the year 2262."""

from __future__ import annotations

import calendar
import datetime
import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dpsyn
from dpsyn.dates import day_texts, days, floored, has_zones, timed, written_as_numbers

FIRST = [pd.Timestamp.min, pd.Timestamp("1677-09-22 00:00:01"), pd.Timestamp("1969-12-31 23:59:59.999999999"), pd.NaT]
FIRST_DAYS = ["1677-09-21", "1677-09-22", "1969-12-31", None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_are_cut_off_to_days_in_every_unit(unit: str) -> None:
    texts = ["1677-09-22T00:00:01", "1969-12-31T23:59:59", "1970-01-02", None]
    moments = pd.Series(texts, dtype=f"datetime64[{unit}]").to_numpy()
    assert floored(moments, "D").astype(str).tolist() == ["1677-09-22", "1969-12-31", "1970-01-02", "NaT"]
    assert floored(moments, "us").dtype == "datetime64[us]"
    assert floored(moments, "us").astype(str).tolist() == [
        "1677-09-22T00:00:01.000000", "1969-12-31T23:59:59.000000", "1970-01-02T00:00:00.000000", "NaT"
    ]  # fmt: skip
    np.testing.assert_array_equal(days(moments), [-106_751, -1, 1, np.nan])
    assert timed(moments).tolist() == [True, True, False, False]
    whole = moments.astype("datetime64[s]").astype("datetime64[D]")[1:]
    assert (timed(whole).tolist(), days(whole)[:2].tolist()) == ([False, False, False], [-1, 1])


def test_the_first_moments_of_nanoseconds_stay_in_their_century() -> None:
    column = pd.Series(FIRST, dtype="datetime64[ns]", name="a")
    assert day_texts(column).tolist() == FIRST_DAYS
    assert timed(column.to_numpy()).tolist() == [True, True, True, False]
    assert floored(column.to_numpy(), "us").astype(str).tolist()[0] == "1677-09-21T00:12:43.145224"


@pytest.mark.parametrize("kind", [datetime.date.fromisoformat, datetime.datetime.fromisoformat, pd.Timestamp, np.datetime64])
def test_days_as_objects_are_the_texts_that_write_them(kind: Callable[[str], object]) -> None:
    days = ["2024-01-31", None, "9999-12-31"]
    column = pd.Series([day and kind(day) for day in days], dtype=object, name="x")
    attribute = dpsyn.Attribute("x", "categorical", ("2024-01-31", "9999-12-31"), missing=True)
    assert attribute.encode(column).tolist() == [0, 2, 1]
    assert dpsyn.read_table(column.to_frame(), domain=dpsyn.Domain.of([attribute])).codes.tolist() == [[0], [2], [1]]
    mixed = pd.Series([kind("2024-01-31"), "x"], dtype=object, name="x")
    assert day_texts(mixed) is mixed


def test_numbers_look_like_days_where_a_leap_year_has_them() -> None:
    numbers = [(month, day) for month in range(14) for day in range(33)]
    real = [1 <= month <= 12 and 1 <= day <= calendar.monthrange(2024, month)[1] for month, day in numbers]
    for year in (1900, 2024, 2099):
        found = written_as_numbers(np.array([10_000.0 * year + 100 * month + day for month, day in numbers]))
        assert found.tolist() == real
    assert not written_as_numbers(np.array([18991231, 21000101, 20240101.5, np.nan, np.inf])).any()


def test_moments_with_a_zone_are_told_from_those_without() -> None:
    west = datetime.timezone(datetime.timedelta(hours=-5))
    for zone in (None, west):
        for column in (
            pd.Series([None, datetime.datetime(2024, 1, 31, 23, tzinfo=zone)], dtype=object),
            pd.Series([pd.Timestamp(2024, 1, 31, tz=zone)]),
        ):
            assert has_zones(column) is (zone is not None)
    assert not has_zones(pd.Series(["2024-01-31T23:00-05:00"], dtype=object))


@pytest.mark.parametrize("source", ["frame", "parquet", "text", "objects"])
def test_a_table_keeps_them(source: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(FIRST * 3, dtype="datetime64[ns]"), "b": ["u", "v"] * 6})
    read: object = frame
    if source == "objects":
        read = frame.astype({"a": object})
    elif source == "parquet":
        stream = io.BytesIO()
        parquet.write_table(pa.Table.from_pandas(frame), stream)
        read = stream.getvalue()
    elif source == "text":
        read = frame.to_csv(index=False).encode()
    table = dpsyn.read_table(read)
    day, other = table.domain.attributes
    assert (day.kind, day.lower, day.upper) == ("date", -106_752, -1)
    public = dpsyn.Attribute("a", "date", lower=-140_000, upper=110_000, bins=5, missing=True, public=True)
    domain = dpsyn.Domain.of([public, other])
    assert dpsyn.read_table(read, domain=domain).codes[:4, 0].tolist() == [0, 0, 2, 5]
