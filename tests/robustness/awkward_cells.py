"""Cells of text files: how numbers, dates, truth values and what is missing are written, and names nobody foresaw."""

from __future__ import annotations

import csv
import datetime
from typing import Any

from tests.robustness.awkward import Case
from tests.robustness.awkward_texts import written

DAY = datetime.date
UNDERSTOOD: dict[str, tuple[list[str], list[Any], str]] = {
    "a point, or a plus, or an exponent": ([".5", "+7.", "1e-3", "-2E+1"], [0.5, 7, 0.001, -20], ""),
    "spellings of one number": (
        ["1.10", "1.1", "2.5"],
        [1.1, 1.1, 2.5],
        "3 spellings became 2 numbers, as '1.10' and '1.1'",
    ),
    "codes with an E": (["12E4", "1200E2"], [120000, 120000], "'12E4' and '1200E2' are one"),
    "a code with an E among numbers": (["123", "1E5", "456"], [123, 100000, 456], "'1E5' was read as the number 100000"),
    "an exponent as programs write it": (["1e+05", "1.5e3", "2e-3"], [100000, 1500, 0.002], ""),
    "days in digits": (["20200102", "20191231"], [20200102, 20191231], "look like days, such as 20200102"),
    "digits that are no days": (["20200102", "20200230"], [20200102, 20200230], ""),
    "zero with two signs": (["0", "-0", "3"], [0, 0, 3], "'0' and '-0' are one"),
    "signed measurements": (["+12345678", "-12345678"], [12345678, -12345678], ""),
    "whole numbers at 2^53": (["9007199254740991", "-3"], [9007199254740991, -3], ""),
    "twenty decimals": (
        ["0.12345678901234567890", "0.12345678901234567891"],
        [0.12345678901234567890] * 2,
        "2 spellings became 1 number,",
    ),
    "as savetxt writes": (["1.100000000000000089e+00", "2.500000000000000000e+00"], [1.1, 2.5], ""),
    "the smallest number": (["5e-324", "1"], [5e-324, 1], ""),
    "the largest numbers": (["1.7e308", "1e308"], [1.7e308, 1e308], ""),
    "ISO dates": (["2020-02-29", "1999-12-31"], [DAY(2020, 2, 29), DAY(1999, 12, 31)], ""),
    "the first and the last day": (["0001-01-01", "9999-12-31"], [DAY(1, 1, 1), DAY(9999, 12, 31)], ""),
    "times": (
        ["2020-01-01 23:59:59.999999", "2020-01-02T00:00"],
        [DAY(2020, 1, 1), DAY(2020, 1, 2)],
        "times of day are dropped",
    ),
    "times with zones": (
        ["2020-01-01T23:30:00Z", "2020-01-02T00:30:00+02:00", "2020-01-02T01:00-0800"],
        [DAY(2020, 1, 1), DAY(2020, 1, 2), DAY(2020, 1, 2)],
        "own zone",
    ),
    "times with and without zones": (
        ["2020-01-01T23:30", "2020-01-02T00:30+14:00"],
        [DAY(2020, 1, 1), DAY(2020, 1, 2)],
        "own zone",
    ),
    "underscores": (["1_000", "2_000"], [1000, 2000], "separating thousands"),
    "no-break spaces": (["1\u00a0000", "2\u202f000"], [1000, 2000], "separating thousands"),
    "a minus that is a dash": (["\u22121", "\u22122"], [-1, -2], ""),
    "German dates": (["31.12.2020", "1.2.2021"], [DAY(2020, 12, 31), DAY(2021, 2, 1)], ""),
    "American dates": (["12/31/2020", "01/02/2021"], [DAY(2020, 12, 31), DAY(2021, 1, 2)], ""),
    "British dates": (["31/12/2020", "01/02/2021"], [DAY(2020, 12, 31), DAY(2021, 2, 1)], ""),
    "dates of either country": (["03/04/2020", "05/06/2021"], [DAY(2020, 3, 4), DAY(2021, 5, 6)], "month/day or day/month"),
    "dates with names": (["3 Jan 2020", "14 Dec 2020"], [DAY(2020, 1, 3), DAY(2020, 12, 14)], ""),
}
"""Cells, the values that they are, and what a note must say."""

KEPT: dict[str, tuple[list[str], str]] = {
    "telephone numbers": (["+4930123", "4930123"], "telephone"),
    "only telephone numbers": (["+49301234567", "+4930123"], "telephone"),
    "leading zeros": (["007", "7"], "a 0 that a number would lose"),
    "hexadecimal": (["0x1F", "12"], "a 0 that a number would lose"),
    "underscores elsewhere": (["1_0", "2_0"], ""),
    "thousands": (["1 000", "2 500"], "thousands"),
    "digits of other scripts": (["١", "٢"], ""),
    "full-width digits": (["１", "２"], "'１' were read as text"),
    "whole numbers beyond 2^53": (["9007199254740993", "9007199254740992"], "2.53"),
    "large whole numbers among others": (["9007199254740993", "9007199254740992", "0.5"], "2.53"),
    "the same with a point": (["9007199254740993.0", "9007199254740992.0"], "2.53"),
    "forty digits": (["1" * 40, "1" * 39 + "2"], "2.53"),
    "a truth and its number": (["1", "true", "0"], "mixes numbers"),
    "numbers and a question mark": (["1", "?", "2.5"], "mixes numbers"),
    "Arabic digits": (["١٢٣", "٤٫٥"], "'١٢٣' were read as text"),
    "percent": (["10%", "20%"], "'10%' were read as text"),
    "percent among numbers": (["3", "10 %", "20,5 %"], "'10 %' were read as text"),
    "currency": (["$5", "€6"], "'[$]5' were read as text"),
    "currency behind, with gaps": (["1\xa0000,50 €", "20 €"], "were read as text"),
    "brackets for a minus": (["(10)", "20"], "a - before a negative one"),
    "a minus behind": (["10-", "20"], "a - before a negative one"),
    "parts of one number are no numbers beside signs": (["1.2.3", "10.0.0.1", "123-45-6789"], ""),
    "times of day": (["10:30", "11:45"], ""),
    "durations": (["1 days", "2 days"], ""),
    "a day that is none": (["2020-02-30", "2020-01-01", "2020-01-02"], "Not a date: 1 cell"),
    "zero dates of MySQL": (["0000-00-00", "2020-01-01", "2020-01-02"], "Not a date: 1 cell"),
    "year 10000": (["10000-01-01", "2020-01-01"], ""),
    "a zone that is none": (["2020-01-01T23:30+25:00", "x"], ""),
    "dates in two ways": (["2020-01-02", "03.01.2020"], "look like dates"),
    "years of two digits": (["01/02/20", "02/13/99"], "look like dates"),
    "dates with times of day": (["1/2/2020 3:00 PM", "1/3/2020 4:00 AM"], "look like dates"),
    "None and a dash are values": (["None", "-", "?"], ""),
    "truth words": (["Yes", "NO"], ""),
    "truth words in two ways": (["yes", "Yes", "no"], ""),
    "cells of markup": (["<b>x</b>", "![i](http://e.example/i)", "=1+1", "@x"], ""),
    "look-alikes": (["a", "\u0430", "e\u0301", "\u00e9"], ""),
    "right to left, joined and invisible": (["שלום", "\u202eabc", "x\u200b", "👩‍👩‍👧"], ""),
    "a very long cell": (["x" * 100_000, "y"], ""),
}
"""Cells that are kept as the text that they are."""

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NaT", "null", "NULL")
NAMES = {
    "markdown": "![i](http://e.example/i) **b** `c`",
    "HTML": "<script>alert(1)</script><b>",
    "formulas": '=HYPERLINK("http://e.example")',
    "LaTeX": r"$\alpha$ \input{x}",
    "right to left": "\u202eגיל",
    "emoji": "👩‍👩‍👧 🇩🇪",
    "very long": "n" * 10_000,
    "lines": "two\nlines",
    "quotes": '5" \'x\' ""',
    "SQL": 'a"; DROP TABLE x; --',
    "a dot and slashes": "../../etc/passwd",
    "a number": "0",
    "Python": "__class__",
    "format": "{0} %s {name!r}",
    "a word for missing": "NA",
    "a control": "a\x07b",
    "a zero-width space": "a\u200b",
}


def _cells() -> list[Case]:
    cases = []
    kept = {name: (cells, cells, says) for name, (cells, says) in KEPT.items()}
    for name, (cells, truth, says) in {**UNDERSTOOD, **kept}.items():
        others = [str(i % 2) for i in range(len(cells))]
        text = written({"cell": cells, "other": others}, quoting=csv.QUOTE_ALL)
        cases.append(Case(name, text.encode(), {"cell": truth, "other": [i % 2 for i in range(len(cells))]}, says))
    for word in MISSING:
        says = f"{word!r} .1. were taken as missing" if word else ""
        cases.append(Case(f"missing: {word!r}", f"a,b\nx,1\n{word},2\n".encode(), {"a": ["x", None], "b": [1, 2]}, says))
        cases.append(Case(f"missing number: {word!r}", f"a,b\n1,1\n{word},2\n".encode(), {"a": [1, None], "b": [1, 2]}))
        many, says = "".join(f"{word},{i % 2}\n" for i in range(9)), f"{word!r} .9. were taken as missing" if word else ""
        truth = {"a": [1, *[None] * 9], "b": [1, *(i % 2 for i in range(9))]}
        if word in ("", "NA", "nan"):
            cases.append(Case(f"nearly all missing: {word!r}", f"a,b\n1,1\n{many}".encode(), truth, says))
    for name, column in NAMES.items():
        truth = {column: ["x", "y", "x"], "b": [1, 2, 3]}
        cases.append(Case(f"a name of {name}", written(truth).encode(), truth))
        others = {"b": [1, 2]}
        cell, says = {"NA": (None, "'NA' .1. were taken"), "0": ("0", "mixes numbers")}.get(column, (column, ""))
        text = written({**others, "a": [column, "x"]})
        cases.append(Case(f"a cell of {name}", text.encode(), {**others, "a": [cell, "x"]}, says))
    return cases


CELLS = _cells()
