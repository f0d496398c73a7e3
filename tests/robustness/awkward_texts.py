"""Text files: encodings, separators, quotes, line ends, ways to write values, names, and what is no table."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from typing import Any

import pyarrow as pa

from tests.robustness.awkward import Case, Values

SEPARATORS = {"commas": ",", "semicolons": ";", "tabs": "\t", "bars": "|"}
ENDS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
QUOTING = {"few quotes": csv.QUOTE_MINIMAL, "all quoted": csv.QUOTE_ALL, "texts quoted": csv.QUOTE_NONNUMERIC}
PEOPLE: Values = {
    "name": ["Zoë, Ltd; x", "O'Neil | 5\" pipe", "two\nlines\tand tab"],
    "age": [31, 5, 44],
    "x": [0.5, None, -2.25],
}
CAFES: Values = {"id": [1, 2, 3], "place": ["café", "naïve", "Łódź"]}


def written(values: Values, *, separator: str = ",", end: str = "\n", quoting: Any = csv.QUOTE_MINIMAL) -> str:
    """The values as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator=end, quoting=quoting)
    rows = zip(*values.values(), strict=True)
    writer.writerows([list(values), *(["" if v is None else v for v in row] for row in rows)])
    return stream.getvalue()


def _layouts() -> list[Case]:
    """Every two of a separator, an end of lines and a way to quote are tried together."""
    cases = []
    for i, (by, separator) in enumerate(SEPARATORS.items()):
        for j, (ends, end) in enumerate(ENDS.items()):
            quotes, quoting = list(QUOTING.items())[(i + j) % 3]
            # The writer leaves a line feed without quotes where it does not end lines, and then it does end one.
            lines = ends != "CR" or quoting != csv.QUOTE_MINIMAL
            truth = PEOPLE if lines else {**PEOPLE, "name": ["Zoë, Ltd; x", "O'Neil | 5\" pipe", "tab\there"]}
            text = written(truth, separator=separator, end=end, quoting=quoting)
            cases.append(Case(f"{by}, {ends}, {quotes}", text.encode(), truth))
    return cases


def _encodings() -> list[Case]:
    cases = []
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"):
        truth = CAFES if encoding.startswith("utf") else {**CAFES, "place": ["café", "naïve", "Århus"]}
        says = "" if encoding.startswith("utf") else "Windows-1252"
        for ends, end in ENDS.items():
            if encoding in ("utf-16", "cp1252") or ends == "LF":
                cases.append(Case(f"{encoding}, {ends}", written(truth, end=end).encode(encoding), truth, says))
    return [
        *cases,
        Case("Latin-1 controls", b"a,b\n1,\x81x\n2,y\n", {"a": [1, 2], "b": ["\x81x", "y"]}, "Latin-1"),
        Case(
            "UTF-8 in the first 8 KB, then Windows-1252",
            b"a\n" + b"x\n" * 5000 + b"\xe9\n",
            {"a": ["x"] * 5000 + ["é"]},
            "5002",
        ),
        Case("half a surrogate pair in UTF-16", b"\xff\xfea\x00\n\x00\x00\xd8", says="damaged"),
        Case("UTF-16 of an odd length", "a,b\n1,2\n".encode("utf-16")[:-1], says="damaged"),
    ]


AB: Values = {"a": [1, 2], "b": ["x", "y"]}
LINES = {
    "no line end at the end": b"a,b\n1,x\n2,y",
    "empty lines everywhere": b"\n\r\na,b\n\n1,x\n\n\n2,y\n\n",
    "spaces around cells": b" a ,  b\n 1 , x \n 2,  y\n",
    "no-break spaces around cells": "a,b\n\u00a01,x\u00a0\n2\u2003,y\n".encode(),
    "spaces before quotes": b'a, b\n1, "x"\n2, "y"\n',
    "a final Ctrl-Z": b"a,b\r\n1,x\r\n2,y\r\n\x1a",
    "a final Ctrl-Z on the last line": b"a,b\n1,x\n2,y\x1a",
    "a final Ctrl-Z and line ends": b"a,b\n1,x\n2,y\n\x1a\r\n\x1a\n",
    "sep=; of Excel": b"sep=;\r\na;b\r\n1;x\r\n2;y\r\n",
    "sep=, of Excel": b"SEP=,\na,b\n1,x\n2,y\n",
    "sep=| between quotes": b'"sep=|"\na|b\n1|x\n2|y\n',
    "sep=tab in UTF-16": "sep=\t\r\na\tb\r\n1\tx\r\n2\ty\r\n".encode("utf-16"),
    "sep=; with CR": b"sep=;\ra;b\r1;x\r2;y\r",
    "sep=; with CR and quotes": b'sep=;\ra;b\r1;"x"\r2;"y"\r',
    "sep=; after a mark, then empty lines": b"\xef\xbb\xbfsep=;\n\n\na;b\n1;x\n2;y\n",
    "mixed line ends": b"a,b\n1,x\r2,y\r\n",
}
RETURNS = {
    "a lone CR in a cell, LF": (b'a,b\n"x\ry",1\nz,2\n', ["x\ry", "z"]),
    "a lone CR in a cell, CRLF": (b'a,b\r\n"x\ry",1\r\nz,2\r\n', ["x\ry", "z"]),
    "a lone CR in a cell, CR": (b'a,b\r"x\ry",1\rz,2\r', ["x\ry", "z"]),
    "an LF in a cell, CR": (b'a,b\r"x\ny",1\rz,2\r', ["x\ny", "z"]),
    "a CRLF in a cell, CRLF": (b'a,b\r\n"x\r\ny",1\r\nz,2\r\n', ["x\r\ny", "z"]),
    "a CR and an LF in cells": (b'a,b\n"x\ry",1\n"x\ny",2\n', ["x\ry", "x\ny"]),
    "a separator, quotes and an empty line in a cell": (b'a,b\n"x,""\n\ny",1\nz,2\n', ['x,"\n\ny', "z"]),
}
REFUSED = {
    "nothing": (b"", "empty"),
    "only a mark": (b"\xef\xbb\xbf", "only empty lines|empty"),
    "only empty lines": (b"\n \n\r\n", "only empty lines"),
    "only Ctrl-Z": (b"\x1a", "only empty lines"),
    "only a header": (b"a,b\n", "no row below"),
    "only sep=;": (b"sep=;\n", "only a line that says"),
    "sep= of another kind": (b"sep=x\naxb\n1x2\n", "says that 'x' separates"),
    "a row too short": (b"a,b\n1,2\n3\n", "line 3 has 1 value where the first line names 2"),
    "a row too long": (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 values"),
    "a row too long below sep=;": (b"sep=;\n\na;b\n1;2\n3;4;5\n", "line 5 has 3 values"),
    "names that are equal": (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'"),
    "names that are equal but for spaces": (b"a, a\n1,2\n", "both called 'a'"),
    "an empty name": (b"a,,c\n1,2,3\n", "column 2 of 3 has no name"),
    "a separator too many": (b"a,b,\n1,2,\n", "column 3 of 3 has no name"),
    "a quote never closed": (b'a,b\n1,"x\n2,y\n', "never closed"),
    "text after a quote": (b'a,b\n1,"x"y\n', "followed by more text"),
    "a title above the header": (b"Report of May\n\na,b\n1,2\n3,4\n", "lines below hold 2"),
    "a zero byte": (b"a,b\n1,x\0y\n", "line 2 holds a zero byte"),
    "any bytes": (bytes(range(1, 256)) * 3, "control characters"),
    "zip": (b"PK\x03\x04 and so on", "Excel"),
    "gzip": (gzip.compress(b"a,b\n1,2\n"), "gzip"),
    "an old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel"),
    "PDF": (b"%PDF-1.7\n", "PDF"),
    "SQLite": (b"SQLite format 3\0", "SQLite"),
    "bzip2": (bz2.compress(b"a,b\n1,2\n", 1), "compressed with bzip2; unpack it"),
    "xz": (lzma.compress(b"a,b\n1,2\n"), "compressed with xz"),
    "zstd": (bytes(pa.compress(b"a,b\n1,2\n", "zstd")), "compressed with zstd"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\4", "7z archive"),
    "Stata": (b"<stata_dta><header><release>118</release>", "Stata file; export the table as CSV"),
    "an old Stata": (b"r\2\1\0\3\0\2\0", "Stata"),
    "SPSS": (b"$FL2@(#) IBM SPSS STATISTICS", "SPSS"),
    "SAS": (bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00", "SAS"),
    "SAS transport": (b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!", "SAS"),
    "Avro": (b"Obj\1\4\x14avro.codec", "Avro"),
    "HDF5": (b"\x89HDF\r\n\x1a\n\0", "HDF5"),
    "NumPy": (b"\x93NUMPY\1\0v\0{'descr'", "NumPy"),
    "Feather": (b"ARROW1\0\0", "Feather"),
    "an old Feather": (b"FEA1\0\0\0\0\1", "Feather"),
    "a stream of Arrow": (b"\xff\xff\xff\xff\xa8\0\0\0\x10\0\0\0", "a stream of Arrow; save it as Parquet or CSV"),
    "ORC": (b"ORC\n\6\x12\4\x08\3P\0\n\x12", "an ORC file; save it as Parquet or CSV"),
    "compressed ORC": (b"ORC\x11\0\0\n\6\x12\4", "an ORC file"),
    "DuckDB": (
        b"\x10k\x91yiz\n\xc5DUCK\xe7\3\0\0\0\0",
        r"a DuckDB database; save its table .*connect\(path\)\.table\(name\)",
    ),
    "a web page": (b"\n<!DOCTYPE html>\n<html>", "web page"),
    "XML": (b'<?xml version="1.0"?><a/>', "XML"),
    "JSON on one line": (b'[{"a": 1}]', "JSON"),
    "JSON lines": (b'{"a": 1}\n{"a": 2}\n', "JSON"),
    "pretty JSON": (b'[\n  {\n    "a": 1,\n    "b": 2\n  }\n]\n', "this is JSON"),
    "a pretty JSON object": (b'{\n\t"a": [1, 2]\n}\n', "this is JSON"),
    "JSON of lists": (b"[\n [1, 2],\n [3, 4]\n]\n", "this is JSON"),
    "JSON lines of lists": (b'[1, "a"]\r\n\r\n[2, null]\r\n', "this is JSON"),
    "JSON lines of numbers": (b"[1,2]\n[3,4]\n", "this is JSON"),
    "an infinite number": (b"a,b\n1,x\n-Inf,y\n", "'a', line 3: the number is infinite"),
    "a number too large": (b"a,b\n1,x\n1e999,y\n", "'a', line 3: .*larger than double precision"),
    "numbers too far apart": (b"a\n-1.7e308\n1.7e308\n", "column 'a': the range from -1.7e.308 to 1.7e.308 is wider"),
    "year 0": (b"a\n0000-01-01\n2020-01-01\n", "column 'a': the dates reach from .*correct them"),
    "Parquet cut short": (b"PAR1" + bytes(30), "Parquet file cannot be read"),
}


def _shapes() -> list[Case]:
    wide = {f"c{i}": [i, i + 1] for i in range(300)}
    numbers = [i * 7 % 5003 for i in range(5003)]
    return [
        Case("one cell", b"a\n1\n", {"a": [1]}),
        Case("one row", b"a,b\n1,x\n", {"a": [1], "b": ["x"]}),
        Case("one column with gaps", b"a\n1\n\n3\n", {"a": [1, None, 3]}),
        Case("one column of quoted gaps", b'a\nx\n""\ny\n', {"a": ["x", None, "y"]}),
        Case("one column of sentences", b"a\nhello, you\nbye\n", {"a": ["hello, you", "bye"]}),
        Case("an empty column", b"a,b\n1,\n2,\n", {"a": [1, 2], "b": [None, None]}, "'b' is empty"),
        Case("300 columns", written(wide).encode(), wide),
        Case("5,003 rows", written({"a": numbers}).encode(), {"a": numbers}, "different values in 5,003 rows"),
        Case("10,001 texts", written({"a": [f"p{i}" for i in range(10_001)]}).encode(), says="10001 different texts"),
        Case("names like first bytes of others", b"animals,DUCK,[0]\n1,x,2\n", {"animals": [1], "DUCK": ["x"], "[0]": [2]}),
        Case("more of them", b"ORC,FEA1,ARROW1\n1,x,2\n", {"ORC": [1], "FEA1": ["x"], "ARROW1": [2]}),
        Case("names that are lists", b"[0],[1]\n5,6\n", {"[0]": [5], "[1]": [6]}),
        Case("two names that look alike", "a,а\n1,2\n".encode(), {"a": [1], "\u0430": [2]}),
        Case("a header of numbers", b"39,x\n40,y\n41,z\n", {"39": [40, 41], "x": ["y", "z"]}, "lack a header"),
        Case("decimal commas", b"a;b\n1,5;x\n-2,25;y\n", {"a": [1.5, -2.25], "b": ["x", "y"]}, "decimal commas"),
        Case(
            "decimal commas and points",
            b"a;b\n1,5;x\n2.5;y\n",
            {"a": ["1,5", "2.5"], "b": ["x", "y"]},
            "Write all in one way",
        ),
        Case("thousands with commas", b'a;b\n"1,000";x\n2,5;y\n', {"a": [1, 2.5], "b": ["x", "y"]}, "decimal commas"),
        Case("tabs by name", b"a, b\tname\n1\tx, y\n", {"a, b": [1], "name": ["x, y"]}, file="people.tsv"),
        Case("a name without an ending", b"a,b\n1,x\n2,y\n", AB, file="people"),
    ]


TEXTS = [
    *_layouts(),
    *_encodings(),
    *(Case(name, source, AB) for name, source in LINES.items()),
    *(Case(name, source, {"a": cells, "b": [1, 2]}) for name, (source, cells) in RETURNS.items()),
    *_shapes(),
    *(Case(f"refused: {name}", source, says=says) for name, (source, says) in REFUSED.items()),
]
