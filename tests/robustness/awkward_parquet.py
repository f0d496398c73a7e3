"""Parquet files: every type that they know, with its true values, or refused by name."""

from __future__ import annotations

import datetime
import decimal
import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from tests.robustness.awkward import Case

D = decimal.Decimal
DAY = datetime.date
BIG = [2**60 + i for i in range(12)]
FINE = [D("0.1234567890123456789") + D(i).scaleb(-19) for i in range(12)]
OWN_ZONE = "keep the day that their own zone shows"
BEYOND = "beyond 2.53 and was turned into text"


def file_of(array: Any, **options: Any) -> bytes:
    """A Parquet file with the column and another one."""
    table = array if isinstance(array, pa.Table) else pa.table({"x": array, "other": pa.array(np.arange(len(array)) % 2)})
    stream = io.BytesIO()
    parquet.write_table(table, stream, row_group_size=max(5, len(table) // 3), **options)
    return stream.getvalue()


def _plain_types() -> dict[str, tuple[Any, list[Any], str]]:
    cases: dict[str, tuple[Any, list[Any], str]] = {}
    for bits in (8, 16, 32, 64):
        for sign in ("int", "uint"):
            kind = getattr(pa, f"{sign}{bits}")()
            top = 2 ** (bits - (sign == "int")) - 1
            low = -top - 1 if sign == "int" else 0
            truth = [str(low), str(top), None] if bits == 64 else [low, top, None]
            cases[f"{kind} with its ends and a gap"] = (
                pa.array([low, top, None], kind),
                truth,
                BEYOND if bits == 64 else "",
            )
    for bits in (16, 32, 64):
        kind = getattr(pa, f"float{bits}")()
        values = np.array([0.5, -2.25, np.nan], f"float{bits}")
        cases[f"{kind} with NaN"] = (pa.array(values), [0.5, -2.25, None], "")
        cases[f"{kind} with a gap"] = (pa.array(values, mask=np.array([False, True, False])), [0.5, None, None], "")
        cases[f"whole {kind}"] = (pa.array(np.array([0, 3, -4], f"float{bits}")), [0, 3, -4], "")
    for text in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        cases[f"{text}"] = (
            pa.array(["01", " é", None, ""]).cast(text),
            ["01", " é", None, "" if "dict" in f"{text}" else None],
            "",
        )
    return cases


def _moments() -> dict[str, tuple[Any, list[Any], str]]:
    cases: dict[str, tuple[Any, list[Any], str]] = {}
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Asia/Tokyo", "-08:00"):
            local = [datetime.datetime(2020, 1, 2, 0, 30), datetime.datetime(1969, 12, 31, 23, 59), None]
            there = datetime.timedelta(hours={"Asia/Tokyo": 9, "-08:00": -8}.get(zone or "", 0))
            moments = pa.array([m and m - there for m in local], pa.timestamp("us")).cast(pa.timestamp(unit))
            column = moments.cast(pa.timestamp(unit, zone)) if zone else moments
            cases[f"timestamp[{unit}, {zone}]"] = (
                column,
                [DAY(2020, 1, 2), DAY(1969, 12, 31), None],
                OWN_ZONE if zone else "dropped",
            )
    return cases


READ: dict[str, tuple[Any, list[Any], str]] = {
    **_plain_types(),
    **_moments(),
    "truth values": (pa.array([True, False, True]), [True, False, True], ""),
    "truth values with a gap": (pa.array([True, None, False]), [True, None, False], ""),
    "one truth value": (pa.array([True, True]), [True, True], ""),
    "nothing at all": (pa.nulls(3), [None] * 3, "is empty"),
    "empty texts": (pa.array(["", "", None]), [None] * 3, "is empty"),
    "texts of numbers": (pa.array(["1", "02", "1.0"]), ["1", "02", "1.0"], ""),
    "texts of missing words": (pa.array(["NA", "nan", "x"]), ["NA", "nan", "x"], ""),
    "texts of dates": (pa.array(["2020-01-02", None]), [DAY(2020, 1, 2), None], ""),
    "texts of times with zones": (pa.array(["2020-01-02T00:30+09:00", None]), [DAY(2020, 1, 2), None], OWN_ZONE),
    "whole numbers beyond 2^53": (pa.array(BIG), [str(v) for v in BIG], BEYOND),
    "decimals of whole numbers beyond 2^53": (
        pa.array([D(v) for v in BIG], pa.decimal128(38, 0)),
        [str(v) for v in BIG],
        BEYOND,
    ),
    "such decimals with places": (pa.array([D(v) for v in BIG], pa.decimal128(38, 2)), [str(v) for v in BIG], BEYOND),
    "decimals of fifty digits": (
        pa.array([D(10**49 + i) for i in range(3)], pa.decimal256(50, 0)),
        [str(10**49 + i) for i in range(3)],
        BEYOND,
    ),
    "a large decimal among small ones": (
        pa.array([D(2**53), D(2**53 + 1), D("0.5")], pa.decimal128(38, 1)),
        [str(2**53), str(2**53 + 1), "0.5"],
        BEYOND,
    ),
    "decimals that differ beyond double precision": (
        pa.array(FINE),
        [format(v.normalize(), "f") for v in FINE],
        "differ beyond double precision",
    ),
    "decimals of many digits": (
        pa.array([D("0.33333333333333333333"), D("0.5")]),
        [1 / 3, 0.5],
        "rounded to double precision",
    ),
    "decimals": (pa.array([D("1.10"), D("-2.25"), None], pa.decimal128(9, 2)), [1.1, -2.25, None], ""),
    "short decimals": (pa.array([D("1.10"), D("-2.25"), None]).cast(pa.decimal32(9, 2)), [1.1, -2.25, None], ""),
    "whole decimals": (pa.array([D("1"), D("3"), None], pa.decimal128(9, 2)), [1, 3, None], ""),
    "date32": (pa.array([DAY(1, 1, 1), DAY(9999, 12, 31), None]), [DAY(1, 1, 1), DAY(9999, 12, 31), None], ""),
    "date64": (pa.array([DAY(1969, 12, 31), None], pa.date64()), [DAY(1969, 12, 31), None], ""),
    "a dictionary of whole numbers": (pa.array([3, 1, None]).dictionary_encode(), [3, 1, None], ""),
    "a dictionary of large numbers": (
        pa.array([2**60, 2**60 + 1]).dictionary_encode(),
        [str(2**60), str(2**60 + 1)],
        BEYOND,
    ),
    "a dictionary of decimals": (pa.array([D("1.10"), D("2.25")]).dictionary_encode(), [1.1, 2.25], ""),
    "a dictionary of truth values": (
        pa.DictionaryArray.from_arrays([0, 1, None], pa.array([True, False])),
        [True, False, None],
        "",
    ),
    "a dictionary with words nobody uses": (
        pa.DictionaryArray.from_arrays([0, 2], ["hi", "unused", "lo"]),
        ["hi", "lo"],
        "",
    ),
    "names of columns that look alike": (pa.table({"x": [1, 2], "\u0445": [3, 4]}), [1, 2], ""),
}
UNREADABLE: dict[str, tuple[Any, str]] = {
    "lists": (pa.array([[1], [2]]), "'x' has the type list"),
    "lists of fixed length": (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), "'x' has the type fixed_size_list"),
    "structures": (pa.array([{"a": 1}]), "'x' has the type struct"),
    "maps": (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), "'x' has the type map"),
    "bytes": (pa.array([b"x"]), "'x' has the type binary"),
    "bytes of fixed length": (pa.array([b"x"], pa.binary(1)), "'x' has the type fixed_size_binary"),
    "a dictionary of bytes": (pa.array([b"x"]).dictionary_encode(), "'x' has the type dictionary"),
    "times of day": (pa.array([datetime.time(1)]), "'x' has the type time"),
    **{
        f"times of the zone {zone}": (
            pa.array([0, None], pa.timestamp("us", zone)),
            f"'x' holds times of the zone '{re.escape(zone)}', which is not known; store them without a zone",
        )
        for zone in ("+25:00", "Nowhere/Land")
    },
    "durations": (pa.array([datetime.timedelta(1)]), "'x' has the type duration"),
    "dates before year 1": (
        pa.array([-(10**6), 10], pa.int32()).cast(pa.date32()),
        "'x': the dates reach from -768.* correct",
    ),
    "dates after 9999": (pa.array([10**18, 0]).cast(pa.timestamp("us")), "'x': the dates reach from .* to 33658-09-27"),
    "dates beyond microseconds": (pa.array([10**15, 0]).cast(pa.timestamp("s")), "'x': the dates reach from"),
    "an infinite number": (pa.array([0.5, -np.inf]), "'x', row 2: the number is infinite"),
    "an infinite float16": (pa.array(np.array([0.5, np.inf], np.float16)), "'x', row 2: the number is infinite"),
    "a dictionary with an infinite number": (
        pa.array([0.5, np.inf]).dictionary_encode(),
        "'x', row 2: the number is infinite",
    ),
    "numbers too far apart": (pa.array([-1.7e308, 1.7e308]), "'x': the range from .* wider than double precision"),
    "no row": (pa.array([], pa.int64()), "2 columns but no row"),
    "two columns of one name": (pa.table([pa.array([1]), pa.array([2])], ["x", "x"]), "columns 1 and 2 are both called 'x'"),
    "a name of spaces": (pa.table([pa.array([1])], [" "]), "column 1 of 1 has no name"),
    "texts in a list of 10,001": (pa.array([f"p{i}" for i in range(10_001)]).dictionary_encode(), "10001 categories"),
}


def _parquet() -> list[Case]:
    cases = []
    for name, (column, truth, says) in READ.items():
        rows = list(range(len(truth)))
        values = (
            {"x": truth, "other": [i % 2 for i in rows]}
            if not isinstance(column, pa.Table)
            else {"x": truth, "\u0445": [3, 4]}
        )
        cases.append(Case(f"Parquet: {name}", file_of(column), values, says, "people.parquet"))
    for name, (column, says) in UNREADABLE.items():
        cases.append(Case(f"Parquet refused: {name}", file_of(column), None, says, "people.parquet"))
    for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli"):
        cases.append(
            Case(f"Parquet, {codec}", file_of(pa.array([1, 2]), compression=codec), {"x": [1, 2], "other": [0, 1]}, "", "x")
        )
    good = file_of(pa.array([1, 2]))
    return [
        *cases,
        Case("Parquet called CSV", good, {"x": [1, 2], "other": [0, 1]}),
        Case("CSV called Parquet", b"a,b\n1,2\n", None, "called a Parquet file", "x.parquet"),
        Case("Parquet cut in the middle", good[: len(good) // 2], None, "damaged", "x.parquet"),
        Case("Parquet with damage inside", good[:20] + b"\xff" * 40 + good[60:], None, "Parquet file", "x.parquet"),
        Case(
            "old times of Spark",
            file_of(pa.array([DAY(2020, 1, 2), None]).cast(pa.timestamp("us")), use_deprecated_int96_timestamps=True),
            {"x": [DAY(2020, 1, 2), None], "other": [0, 1]},
            "",
            "x",
        ),
        Case(
            "days of Spark that nanoseconds do not reach",
            file_of(
                pa.array([DAY(1600, 1, 1), DAY(9999, 12, 31)]).cast(pa.timestamp("us")), use_deprecated_int96_timestamps=True
            ),
            {"x": [DAY(1600, 1, 1), DAY(9999, 12, 31)], "other": [0, 1]},
            "",
            "x",
        ),
        Case(
            "a list of texts that the file stores one by one",
            file_of(pa.array(["p", "q", "r", "q"] * 5).dictionary_encode(), use_dictionary=False),
            {"x": ["p", "q", "r", "q"] * 5, "other": [0, 1] * 10},
            "",
            "x",
        ),
        *(
            Case(
                f"texts stored as {encoding}",
                file_of(pa.array(["p", None, "qq", "p"]), use_dictionary=False, column_encoding={"x": encoding}),
                {"x": ["p", None, "qq", "p"], "other": [0, 1, 0, 1]},
                "",
                "x",
            )
            for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN")
        ),
        *(
            Case(
                "JSON as an extension",
                file_of(pa.ExtensionArray.from_storage(kind(), pa.array(["{}", "[1]", "{}"]))),
                {"x": ["{}", "[1]", "{}"], "other": [0, 1, 0]},
                "",
                "x",
            )
            for kind in filter(None, [getattr(pa, "json_", None)])  # not before pyarrow 19
        ),
        Case("row labels of pandas", _labelled(), {"x": [1, 2]}, "row labels", "x.parquet"),
    ]


def _labelled() -> bytes:
    stream = io.BytesIO()
    pd.DataFrame({"x": [1, 2]}, index=["p", "q"]).to_parquet(stream)
    return stream.getvalue()


PARQUETS = _parquet()
