"""DataFrames: every type that they know, with its true values, or refused by name."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tests.robustness.awkward import Case
from tests.robustness.awkward_parquet import BEYOND, BIG, DAY, FINE, OWN_ZONE, D

TOKYO = zoneinfo.ZoneInfo("Asia/Tokyo")
NIGHT = datetime.datetime(2020, 1, 2, 0, 30, tzinfo=TOKYO)
"""Still the first of January in UTC."""
NIGHTS = [NIGHT, NIGHT + datetime.timedelta(days=3), None]
NIGHT_DAYS = [DAY(2020, 1, 2), DAY(2020, 1, 5), None]


def objects(*values: Any) -> pd.Series[Any]:
    """A column of Python objects."""
    return pd.Series(list(values), dtype=object)


def arrow(array: Any) -> Any:
    """A column of an Arrow type as it is."""
    return pd.arrays.ArrowExtensionArray(array)


COLUMNS: dict[str, tuple[Callable[[], Any], list[Any], str]] = {
    "whole numbers": (lambda: np.array([1, -2], "int8"), [1, -2], ""),
    "large unsigned ones": (lambda: np.array([2**63 + 1, 1], "uint64"), [str(2**63 + 1), "1"], BEYOND),
    "Int64 with gaps": (lambda: pd.array([2**53 - 1, None], "Int64"), [2**53 - 1, None], ""),
    "float16": (lambda: np.array([0.5, np.nan], "float16"), [0.5, None], ""),
    "long double": (lambda: np.array([0.5, 2.5], np.longdouble), [0.5, 2.5], ""),
    "Float32 with gaps": (lambda: pd.array([0.5, None], "Float32"), [0.5, None], ""),
    "boolean with gaps": (lambda: pd.array([True, None], "boolean"), [True, None], ""),
    "sparse texts": (lambda: pd.arrays.SparseArray(list("aba")), ["a", "b", "a"], ""),
    "Arrow: views of texts": (lambda: arrow(pa.array(["a", "b", None], pa.string_view())), ["a", "b", None], ""),
    "sparse": (lambda: pd.arrays.SparseArray([0.5, 0.0, 0.0]), [0.5, 0.0, 0.0], ""),
    "texts": (lambda: ["a", "", None], ["a", None, None], ""),
    "texts of NumPy": (lambda: np.array(["a", "b"]), ["a", "b"], ""),
    "categories in an order of their own": (
        lambda: pd.Categorical(["lo", None], ["lo", "hi"], ordered=True),
        ["lo", None],
        "",
    ),
    "categories of whole numbers": (lambda: pd.Categorical([3, None, 1]), [3, None, 1], ""),
    "categories of decimals": (lambda: pd.Categorical([D("1.50"), D("2")]), ["1.5", "2"], ""),
    "objects: whole numbers of any size": (lambda: objects(2**70, 1, None), [str(2**70), "1", None], BEYOND),
    "objects: decimals beyond 2^53": (lambda: objects(*map(D, BIG)), [str(v) for v in BIG], BEYOND),
    "objects: decimals that differ beyond double precision": (
        lambda: objects(*FINE),
        [format(v.normalize(), "f") for v in FINE],
        "differ beyond",
    ),
    "objects: decimals": (lambda: objects(D("1.10"), D("NaN"), None, D("-0")), [1.1, None, None, 0], ""),
    "objects: decimals, floats and whole numbers": (lambda: objects(D("1.5"), 2, 0.25), [1.5, 2, 0.25], ""),
    "objects: large whole numbers and a float": (
        lambda: objects(2**60, 2**60 + 1, 0.5),
        [str(2**60), str(2**60 + 1), "0.5"],
        BEYOND,
    ),
    "objects: truth values": (lambda: objects(True, None, False), [True, None, False], ""),
    "objects: truth values and numbers": (lambda: objects(True, 2), ["True", "2"], "mixes several types"),
    "objects: everything": (
        lambda: objects(1, "x", 2.5, None, True),
        ["1", "x", "2.5", None, "True"],
        "mixes several types",
    ),
    "objects: all that is missing": (lambda: objects(None, np.nan, pd.NaT, pd.NA, "x"), [None] * 4 + ["x"], ""),
    "dates": (lambda: objects(DAY(1, 1, 1), DAY(9999, 12, 31), None), [DAY(1, 1, 1), DAY(9999, 12, 31), None], ""),
    "dates of NumPy": (lambda: np.array(["1000-02-03", "NaT"], "datetime64[s]"), [DAY(1000, 2, 3), None], ""),
    "objects: dates of NumPy": (lambda: objects(np.datetime64("2020-01-02"), pd.NaT), [DAY(2020, 1, 2), None], ""),
    "objects: times with zones": (lambda: objects(*NIGHTS), NIGHT_DAYS, OWN_ZONE),
    "objects: timestamps with zones": (lambda: objects(*(v and pd.Timestamp(v) for v in NIGHTS)), NIGHT_DAYS, OWN_ZONE),
    "objects: times with and without zones": (
        lambda: objects(NIGHT, datetime.datetime(2020, 1, 5, 1)),
        NIGHT_DAYS[:2],
        OWN_ZONE,
    ),
    "objects: dates and timestamps": (
        lambda: objects(DAY(2020, 1, 2), pd.Timestamp("2020-01-05 10:00")),
        NIGHT_DAYS[:2],
        "dropped",
    ),
    "times with a zone": (lambda: pd.Series(NIGHTS), NIGHT_DAYS, OWN_ZONE),
    "texts of times with zones": (lambda: [v and v.isoformat() for v in NIGHTS], NIGHT_DAYS, OWN_ZONE),
    "Arrow: times with a zone": (
        lambda: pd.array(NIGHTS, pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo"))),
        NIGHT_DAYS,
        OWN_ZONE,
    ),
    "Arrow: dates": (lambda: pd.array([DAY(2020, 1, 2), None], pd.ArrowDtype(pa.date32())), [DAY(2020, 1, 2), None], ""),
    "Arrow: decimals": (
        lambda: pd.array([D(v) for v in BIG], pd.ArrowDtype(pa.decimal128(38, 0))),
        [str(v) for v in BIG],
        BEYOND,
    ),
    "Arrow: whole numbers": (lambda: pd.array([2**60 + 1, None], pd.ArrowDtype(pa.int64())), [str(2**60 + 1), None], BEYOND),
    "Arrow: truth values": (lambda: pd.array([True, None], pd.ArrowDtype(pa.bool_())), [True, None], ""),
    "Arrow: texts": (lambda: pd.array(["a", None], pd.ArrowDtype(pa.string())), ["a", None], ""),
    "Arrow: dictionary": (
        lambda: pd.array(["a", None], pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
        ["a", None],
        "",
    ),
}
NO_COLUMNS: dict[str, tuple[Callable[[], Any], str]] = {
    "complex numbers": (lambda: [1j], "'x' holds complex"),
    "objects of complex numbers": (lambda: objects(1j, 2), "'x' holds values of type complex"),
    "bytes": (lambda: [b"x"], "'x' holds values of type bytes"),
    "lists": (lambda: [[1], [2]], "'x' holds values of type list"),
    "dictionaries": (lambda: [{"a": 1}], "'x' holds values of type dict"),
    "tuples": (lambda: [(1, 2)], "'x' holds values of type tuple"),
    "arrays": (lambda: [np.array([1]), np.array([2])], "'x' holds values of type ndarray"),
    "frames": (lambda: objects(pd.DataFrame()), "'x' holds values of type DataFrame"),
    "any object": (lambda: [object()], "'x' holds values of type object"),
    "dates and texts": (lambda: objects("x", DAY(2020, 1, 2)), "'x' holds dates and other values; make all of them dates"),
    "NumPy dates and texts": (lambda: objects("x", np.datetime64("2020-01-02")), "'x' holds dates and other values"),
    "NumPy durations and texts": (lambda: objects("x", np.timedelta64(3, "D")), "'x' holds values of type timedelta64"),
    "timestamps and numbers": (lambda: objects(pd.Timestamp(NIGHT), 3.5), "'x' holds dates and other values"),
    "times of day": (lambda: [datetime.time(1)], "'x' holds values of type time"),
    "durations": (lambda: pd.to_timedelta([1], unit="D"), "'x' holds values of type timedelta64"),
    "objects of durations": (lambda: objects(datetime.timedelta(1)), "'x' holds values of type timedelta"),
    "periods": (lambda: pd.period_range("2020", periods=1, freq="D"), "'x' holds values of type period"),
    "intervals": (lambda: pd.interval_range(0, 1), "'x' holds values of type interval"),
    "texts that are no Unicode": (lambda: objects("\ud800"), "'x' holds texts that are not Unicode"),
    "numbers and texts that are no Unicode": (lambda: objects(0, "\ud800"), "'x' holds texts that are not Unicode"),
    "an infinite decimal": (lambda: objects(D("Infinity"), D("1.5")), "'x', row 1: the number is infinite"),
    "a decimal too large": (lambda: objects(D("1e400"), D("1.5")), "'x', row 1: the number is infinite"),
    "a signalling decimal": (lambda: objects(D("sNaN"), D("1.5")), "'x'"),
    "a whole number too large": (lambda: objects(1, 10**400), "'x', row 2: the number is infinite"),
    "a long double too large": (lambda: np.array([1, np.longdouble("1e4000")]), "'x', row 2: the number is infinite"),
    "a year beyond microseconds": (lambda: np.array([10**13, 0], "datetime64[s]"), "'x': the dates reach from"),
    "objects of years beyond 9999": (lambda: objects(np.datetime64("20000-01-01")), "'x': the dates reach from"),
    "Arrow: lists": (lambda: pd.array([[1]], pd.ArrowDtype(pa.list_(pa.int8()))), "'x' has the type list"),
    "Arrow: views of lists": (lambda: arrow(pa.array([[1]], pa.list_view(pa.int8()))), "'x' has the type list_view"),
    "Arrow: views of bytes": (lambda: arrow(pa.array([b"x"], pa.binary_view())), "'x' has the type binary_view"),
    "Arrow: runs": (lambda: arrow(pa.RunEndEncodedArray.from_arrays([1], ["a"])), "'x' has the type run_end_encoded"),
    "Arrow: intervals": (
        lambda: arrow(pa.array([(1, 2, 3)], pa.month_day_nano_interval())),
        "'x' has the type month_day_nano_interval",
    ),
    "void": (lambda: np.array([b"ab"], "V2"), "'x' holds values of type"),
    "Arrow: times of a zone that is none": (
        lambda: pd.arrays.ArrowExtensionArray(pa.array([0], pa.timestamp("us", "Nowhere/Land"))),
        "'x' holds times of the zone 'Nowhere/Land', which is not known",
    ),
    "Arrow: bytes": (lambda: pd.array([b"x"], pd.ArrowDtype(pa.binary())), "'x' has the type binary"),
    "Arrow: times of day": (
        lambda: pd.array([datetime.time(1)], pd.ArrowDtype(pa.time64("us"))),
        "'x' has the type time",
    ),
    "Arrow: durations": (
        lambda: pd.array([datetime.timedelta(1)], pd.ArrowDtype(pa.duration("us"))),
        "'x' has the type duration",
    ),
}
NO_FRAMES: dict[str, tuple[Callable[[], pd.DataFrame], str]] = {
    "no columns": (lambda: pd.DataFrame(index=[1]), "no columns"),
    "no rows": (lambda: pd.DataFrame({"a": []}), "1 column but no row"),
    "two names alike": (lambda: pd.DataFrame([[1, 2]], columns=["1", 1]), "columns 1 and 2 are both called '1'"),
    "a missing name": (lambda: pd.DataFrame([[1]], columns=[None]), "column 1 of 1 has no name"),
    "names on two levels": (lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "several levels"),
    "a name that is no Unicode": (lambda: pd.DataFrame([[1]], columns=pd.Index(["\ud800"], dtype=object)), "Unicode"),
}

FRAMES = [
    *(
        Case(f"DataFrame: {name}", lambda make=make: pd.DataFrame({"x": make()}), {"x": truth}, says)  # type: ignore[misc]
        for name, (make, truth, says) in COLUMNS.items()
    ),
    *(
        Case(f"DataFrame refused: {name}", lambda make=make: pd.DataFrame({"x": make()}), None, says)  # type: ignore[misc]
        for name, (make, says) in NO_COLUMNS.items()
    ),
    *(Case(f"DataFrame refused: {name}", make, None, says) for name, (make, says) in NO_FRAMES.items()),
]
