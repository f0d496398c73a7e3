"""What a column of a text file is: its values and its attribute, as guessed, and what to know of the guess.

Everything guessed here is read from private data: every attribute has ``public=False``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.data import _identifiers
from dpsyn.data._nearly import nearly
from dpsyn.data._words import (
    CLOSING_ZEROS,
    CODE_LIKE,
    EXACT,
    ISO,
    LONG,
    LONG_WHOLE,
    NOT_ZERO,
    TELEPHONE,
    Parsed,
    Weights,
    Words,
    as_floats,
    as_many_decimals,
    has_leading_zeros,
    matches,
    parse_dates,
    parse_numbers,
    read_dates,
    rounded,
)
from dpsyn.dates import (
    FIRST_DAY,
    LAST_DAY,
    day_text,
    days,
    floored,
    timed,
    written_as_months,
    written_as_numbers,
    written_as_times,
)
from dpsyn.errors import DataError, quoted
from dpsyn.notation import counted
from dpsyn.units import unit_of

MAX_CATEGORIES = 10_000
"""A text column with more distinct values is not made categorical."""

FEW_INTEGERS = 10
"""A column of whole numbers with at most this many distinct ones is categorical."""

TRUTH_WORDS = (("0", "1"), ("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"))
"""Pairs of truth values in lower case, the false one first."""

POINT = r"\."
POINT_AND_THREE = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"
COMMA_AND_THREE = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_NINES = re.compile("-?99+")
_NO_DAY = re.compile(r"9999-\d\d-\d\d|\d\d99-12-31|\d\d00-01-01|0001-01-01|1899-12-3[01]|1970-01-01")
_BINS = 10
_SOME = 100
"""The first ones show most columns whose numbers have now more, now fewer decimals."""
_PRACTICALLY_ALL = 0.99
_MONTHS = 12
"""Any twelve numbers in a row may look like months."""
_TIMES, _HOURS = 20, 6
Locate = Callable[[int], int]
"""The line of a text file on which a row starts; rows count from 0, lines from 1."""


@dataclass(frozen=True)
class Column:
    """A column as read: values in the data's own terms, what they may be, and notes in full sentences.

    ``read``: the values of any texts of the column, where they can be had one by one. ``identifier``: why it looks like one
    that names the rows, which nothing can be learned from; empty if it does not. ``hints``: those of the notes that say what
    to do to have no texts.
    """

    values: pd.Series[Any]
    attribute: Attribute
    notes: tuple[str, ...] = ()
    read: Callable[[Any], Any] | None = None
    identifier: str = ""
    hints: tuple[str, ...] = ()


class UnusableColumnError(DataError):
    """A column cannot be used, whose table can without it: more than :data:`MAX_CATEGORIES` different texts, or a type of no
    use."""


def infer_words(name: str, words: Words, *, decimal_comma: bool = False, locate: Locate) -> Column:
    """A column of a text file: truth values, numbers, dates, or categories.

    Raises:
        UnusableColumnError: too many distinct texts for a categorical column.
        DataError: an infinite number.
    """
    taken, rows = _taken(name, words), len(words.codes)
    notes = [*taken]
    if len(words.texts) == 0:
        return _empty(name, rows, notes)
    if has_leading_zeros(words.texts):
        notes.append(
            f"Column {quoted(name)}: some values start with a 0 that a number would lose, as postcodes do, so it "
            "was read as text."
        )
        return _categories(name, words, notes)
    parsed = parse_numbers(words.texts, decimal_comma=decimal_comma)
    if parsed is not None:
        if matches(words.texts, TELEPHONE).any() and parsed.values.min() >= 0:
            notes.append(
                f"Column {quoted(name)}: some values start with +, as telephone numbers do, so it was read as text."
            )
            return _categories(name, words, notes)
        notes += written_how(name, parsed)
        notes += perhaps_thousands(name, words.texts) if decimal_comma else ()
        codes = np.flatnonzero(matches(words.texts, CODE_LIKE))
        if len(codes):
            text, value = words.texts[int(codes[0])].as_py(), parsed.values[codes[0]]
            notes.append(
                f"Column {quoted(name)}: {quoted(text)} was read as the number {value:.15g}; if it is a code, "
                "write a letter before each in the file."
            )
        read = partial(as_floats, decimal_comma=decimal_comma)
        column = _numbers(name, words, parsed, read, locate)
        if column is not None:
            # A few of them stand among numbers everywhere.
            few = 2 * sum(count for _, count in words.taken_as_missing) <= words.cells_in(np.ones(rows, dtype=bool))
            notes = notes[len(taken) :] if few else notes
            notes += [
                *(_merged(name, words, parsed, read) or _rounded(name, words, parsed)),
                *_vanished(name, words, parsed),
            ]
            return replace(column, notes=(*notes, *column.notes), read=read)
        notes.append(f"Column {quoted(name)} holds whole numbers beyond 2^53 and was read as text.")
        return _categories(name, words, notes)
    return infer_texts(name, words, notes, typed=False, decimal_comma=decimal_comma)


def _taken(name: str, words: Words) -> list[str]:
    """A note on words that stand for missing values."""
    listed = ", ".join(f"{quoted(word)} ({count})" for word, count in words.taken_as_missing)
    return [f"Column {quoted(name)}: cells that say {listed} were taken as missing."] if listed else []


def infer_texts(
    name: str, words: Words, notes: Sequence[str] = (), *, typed: bool = True, decimal_comma: bool = False
) -> Column:
    """A column that is known not to be all numbers: truth values, dates, or categories. ``typed``: texts on purpose."""
    notes = [*notes, *(_taken(name, words) if typed else ())]
    if len(words.texts) == 0:
        return _empty(name, len(words.codes), notes)
    dates = parse_dates(words.texts)
    if dates is not None:
        found = [*notes, *written_how(name, dates)]
        return replace(infer_dates(name, words.spread(dates.values), found), read=partial(read_dates, written=dates.written))
    more = () if typed else nearly(name, words, MAX_CATEGORIES, decimal_comma=decimal_comma)
    return _categories(name, words, [*notes, *more], hints=more)


def perhaps_thousands(name: str, texts: Any) -> tuple[str, ...]:
    """Notes on points and commas that may separate thousands, in a file in which commas may be decimal."""
    said = []
    for mark, there, three in (("point", POINT, POINT_AND_THREE), ("comma", ",", COMMA_AND_THREE)):
        some = texts.filter(matches(texts, there))
        if len(texts) > 1 and len(some) and matches(some, three).all():
            said.append(
                f"Column {quoted(name)}: every number with a {mark} has three digits after it, and was read as a "
                f"decimal; if the {mark} separates thousands, take it out of the file."
            )
    return tuple(said)


def written_how(name: str, parsed: Parsed) -> tuple[str, ...]:
    """Notes on how numbers or dates are written."""
    said = (f"Column {quoted(name)}: {parsed.note}.",) if parsed.note else ()
    if parsed.written in ("", ISO):
        return said
    return (*said, f"Column {quoted(name)}: its dates come back written as 2024-12-31.")


def _merged(name: str, words: Words, parsed: Parsed, read: Callable[[Any], Any]) -> tuple[str, ...]:
    """A note where different texts are one number, in a column that could be text instead; else where long ones are."""
    if len(words.texts) > MAX_CATEGORIES:

        def long(texts: Any) -> Any:
            return texts.filter(matches(texts, LONG))

        if not len(long(words.texts)) or words.distinct(long) == words.distinct(lambda texts: read(long(texts))):
            return ()
        return (f"Column {quoted(name)}: some decimals differ beyond double precision, and became one number.",)
    numbers, at, times = np.unique(parsed.values, return_inverse=True, return_counts=True)
    if len(numbers) == len(words.texts):
        return ()
    one, other = (words.texts[int(i)].as_py() for i in np.flatnonzero(at == at[np.argmax(times[at] > 1)])[:2])
    became = f"{len(numbers)} number{'s' if len(numbers) > 1 else ''}"
    return (
        f"Column {quoted(name)}: {len(words.texts)} spellings became {became}, as {quoted(one)} and "
        f"{quoted(other)} are one. If they are codes, write a letter before each in the file.",
    )


def _rounded(name: str, words: Words, parsed: Parsed) -> tuple[str, ...]:
    return (decimals_rounded(name),) if rounded(words.texts, parsed.values).any() else ()


def decimals_rounded(name: str) -> str:
    """A note on decimals of more digits than double precision holds."""
    return f"Column {quoted(name)}: some decimals were rounded to double precision."


def _vanished(name: str, words: Words, parsed: Parsed) -> tuple[str, ...]:
    """A note on a number that double precision takes for 0."""
    lost = words.texts.filter(parsed.values == 0)
    lost = lost.filter(matches(lost, NOT_ZERO))
    if not len(lost):
        return ()
    return (f"Column {quoted(name)}: {quoted(lost[0].as_py())} is too close to 0 for double precision, and was read as 0.",)


def _empty(name: str, rows: int, notes: Sequence[str]) -> Column:
    values = pd.Series(np.full(rows, None, dtype=object), name=name)
    return Column(values, Attribute(name, "categorical", missing=True), (*notes, f"Column {quoted(name)} is empty."))


def _numbers(name: str, words: Words, parsed: Parsed, read: Callable[[Any], Any], locate: Locate) -> Column | None:
    """None where double precision cannot hold the numbers: they are identifiers."""
    values = parsed.values
    if values.dtype.kind == "f":
        infinite = np.isinf(values)
        if infinite.any():
            _refuse_infinite(name, infinite[words.codes] & ~words.empty, words, locate)
        if (matches(words.texts, LONG_WHOLE) & (np.abs(values) >= EXACT)).any():
            return None
        if (values == np.floor(values)).all() and np.abs(values).max() < EXACT:
            values = values.astype(np.int64)
    elif values.max() >= EXACT or values.min() <= -EXACT:
        return None
    column = describe_numbers(name, words.spread(values), words.weights, read)
    return replace(column, notes=(*closing_zeros(name, words.texts, values), *column.notes))


def closing_zeros(name: str, texts: Any, numbers: npt.NDArray[Any]) -> tuple[str, ...]:
    """A note where all numbers are written with as many decimals, two or more, and come back with fewer: 12.0 is how many
    programs write a whole number."""
    alike = as_many_decimals(texts[0].as_py())
    if (
        not alike
        or texts[0].as_py()[-2:-1] in (".", ",")
        or not (matches(texts[:_SOME], alike).all() and matches(texts, alike).all())
    ):
        return ()
    lost = np.ones(1, dtype=bool) if numbers.dtype.kind == "i" else matches(texts, CLOSING_ZEROS)
    if not lost.any():
        return ()
    text, number = texts[int(np.argmax(lost))].as_py(), numbers[np.argmax(lost)].item()
    return (f"Column {quoted(name)}: its numbers come back without closing zeros: {number!r} for {quoted(text)}.",)


def _refuse_infinite(name: str, infinite: npt.NDArray[np.bool_], words: Words, locate: Locate) -> None:
    line, count = locate(words.first_of(infinite)), words.cells_in(infinite)
    raise DataError(
        f"column {quoted(name)}, line {line}: the number is infinite or larger than double precision holds "
        f"({counted(count, 'such row')}); leave the cell empty or write a finite number",
        line=line,
        column=name,
    )


def describe_numbers(
    name: str, values: pd.Series[Any], weights: Weights | None = None, read: Callable[[Any], Any] = lambda values: values
) -> Column:
    """A column of finite numbers (int64, Int64 or float64): truth values, few whole numbers, or numeric.

    Args:
        name: the column's name.
        values: its values, or its entries if it is short for a longer column.
        weights: what the entries stand for.
        read: how the longer column's values become numbers.

    Raises:
        DataError: their range is wider than double precision holds.
    """
    series = values.rename(name)
    notes: tuple[str, ...] = ()
    empty = series.isna().to_numpy()
    some = series[~empty].to_numpy()
    integer = some.dtype.kind in "iu" or isinstance(some[0], int)
    identifier = ""
    if integer:
        some = some.astype(np.int64)
        if written_as_numbers(some.astype(np.float64)).all():
            notes = (
                f"Column {quoted(name)}: its whole numbers look like days, such as {some[0]}, and were read as "
                "numbers. To have them as dates, write them as 2024-12-31.",
            )
        spread = some.max() - some.min()
        distinct = np.unique(some) if spread >= len(some) else np.flatnonzero(np.bincount(some - some.min())) + some.min()
        if len(distinct) <= FEW_INTEGERS:
            listed = tuple(int(v) for v in distinct)
            kind: Any = "truth" if listed == (0, 1) and not empty.any() else "categorical"
            return Column(series, Attribute(name, kind, listed, missing=bool(empty.any())), notes)
        notes = notes or _months_or_times(name, distinct)
        rows = weights.some if weights else len(some)
        most = _identifiers.most_repeats(rows, int(some.min()), int(some.max()))
        if most is not None and not notes:
            number = weights.distinct(read) if weights and weights.distinct else len(distinct)
            identifier = _identifiers.described(number, rows) if rows - number <= most else ""
    lower, upper = float(some.min()), float(some.max())
    if math.isinf(upper - lower):
        raise DataError(
            f"column {quoted(name)}: the range from {some.min()} to {some.max()} is wider than double precision holds; "
            "correct the largest numbers, or leave the column out",
            column=name,
        )
    if (np.diff(np.linspace(lower, upper, _BINS + 1)) <= 0).any():  # so close that there are a few numbers at most
        few = tuple(float(value) for value in np.unique(some))
        return Column(series, Attribute(name, "categorical", few, missing=bool(empty.any())), notes)
    unit = unit_of(some.astype(np.float64)) or (1.0 if integer else None)
    attribute = Attribute(name, "numeric", lower=lower, upper=upper, unit=unit, bins=_BINS, missing=bool(empty.any()))
    return Column(series, attribute, (*notes, *_code_for_missing(name, some, "numbers")), identifier=identifier)


def _months_or_times(name: str, distinct: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """A note on 202401 or 1345, where practically all of the different numbers are such, and too many to be so by accident.
    ``distinct`` ascends."""
    numbers = distinct[1:-1]  # codes for missing values lie at the ends
    months, times = written_as_months(numbers), written_as_times(numbers)
    # Counts are below 60, prices multiples of 50, and years in the same few hundreds.
    telling = numbers[times & (numbers >= 100) & (numbers % 50 != 0)]
    if months.sum() > _MONTHS and months.mean() >= _PRACTICALLY_ALL:
        kind, example, written = "months", numbers[months][-1], "months alone, write them as 2024-01"
    elif len(telling) >= _TIMES and len(set(telling // 100)) >= _HOURS and times.mean() >= _PRACTICALLY_ALL:
        kind, example, written = "times of day", telling[-1], "times alone, write them as 13:45"
    else:
        return ()
    said = f"its whole numbers look like {kind}, such as {example}, and were read as numbers"
    return (f"Column {quoted(name)}: {said}. To have {written}.",)


def _code_for_missing(name: str, numbers: npt.NDArray[Any], kind: Literal["numbers", "dates"]) -> tuple[str, ...]:
    """A note on -999, or another number of nines alone, or on 9999-12-31, or another end of a century or first day of a
    calendar (``numbers`` are days), that lies far from all others."""
    low, high = numbers.min(), numbers.max()
    others = numbers[(numbers > low) & (numbers < high)]
    code, written = (_NINES, "{:.15g}".format) if kind == "numbers" else (_NO_DAY, day_text)
    for end in (low, high) if len(others) else ():
        first, last = float(others.min()), float(others.max())
        negative = kind == "numbers" and end < 0 <= first
        if (negative or max(first - end, end - last) > last - first) and code.fullmatch(written(end)):
            said = f"{written(end)} lies far from all other {kind}, as codes for missing values do"
            return (f"Column {quoted(name)}: {said}. If it is one, empty those cells in the data.",)
    return ()


def times_dropped(name: str) -> str:
    """A note on a column that holds more than days."""
    return f"Column {quoted(name)}: times of day are dropped, the domain knows days only."


def infer_dates(name: str, values: pd.Series[Any], notes: Sequence[str] = ()) -> Column:
    """A datetime64 column without time zone; bounds are its first and last day.

    Raises:
        DataError: a date lies outside the years 1 to 9999.
    """
    moments = values.to_numpy()
    empty = np.isnat(moments)
    whole = days(moments[~empty]).astype(np.int64)
    lower, upper = int(whole.min()), int(whole.max())
    if lower < FIRST_DAY or upper > LAST_DAY:
        first, last = np.array([lower, upper], "datetime64[D]")
        raise DataError(
            f"column {quoted(name)}: the dates reach from {first} to {last}, beyond the years 1 to 9999 of the calendar; "
            "correct them or empty the cells, or leave the column out",
            column=name,
        )
    more = (*((times_dropped(name),) if timed(moments).any() else ()), *_code_for_missing(name, whole, "dates"))
    if lower == upper:
        lower, upper = (lower, upper + 1) if upper < LAST_DAY else (lower - 1, upper)
    attribute = Attribute(name, "date", lower=lower, upper=upper, bins=_BINS, missing=bool(empty.any()))
    return Column(pd.Series(floored(moments, "us"), values.index, name=name), attribute, (*notes, *more))


def _categories(name: str, words: Words, notes: Sequence[str], *, hints: Sequence[str] = ()) -> Column:
    """``hints``: those of the notes that say what to do to have no text."""
    texts = words.as_texts()
    notes = (*notes, *spaces_left_out(name, words), *_look_alike(name, texts))
    if len(texts) > MAX_CATEGORIES:
        raise UnusableColumnError(
            f"column {quoted(name)} holds {words.distinct()} different texts, more than the {MAX_CATEGORIES} that "
            f"a categorical column may have (the first is {quoted(texts[0])}); leave it out, or group its values"
            + "".join(f". {note}" for note in notes),
            column=name,
        )
    missing = bool(words.empty.any())
    values = words.spread(texts).rename(name)
    pair = None if missing else truth_pair(texts)
    if pair is not None:
        return Column(values, Attribute(name, "truth", pair), tuple(notes))
    rows = words.cells_in(~words.empty)
    names = _identifiers.texts_name_rows(len(texts), rows)
    identifier = _identifiers.described(len(texts), rows) if names else ""
    attribute = Attribute(name, "categorical", tuple(sorted(texts)), missing=missing)
    return Column(values, attribute, tuple(notes), identifier=identifier, hints=tuple(hints))


def spaces_left_out(name: str, words: Words) -> tuple[str, ...]:
    """A note where some cells of a text file have other spaces around them than the rest, which makes them equal texts."""
    around = {pair: cells for pair, cells in words.spaces if cells}
    if len(around) < 2:
        return ()
    cells = sum(cells for pair, cells in around.items() if any(pair))
    return (f"Column {quoted(name)}: the spaces around {counted(cells, 'cell')} were left out.",)


def _look_alike(name: str, texts: npt.NDArray[np.object_]) -> tuple[str, ...]:
    """A note on two texts that look the same: a letter with its accent in one sign or in two, a sign without a width."""
    listed = [str(text) for text in texts[:MAX_CATEGORIES]]
    seen: dict[str, str] = {}
    for text in () if all(map(str.isascii, listed)) else listed:
        bare = "".join(" " if sign.isspace() else sign for sign in text if unicodedata.category(sign) != "Cf")
        other = seen.setdefault(unicodedata.normalize("NFC", bare), text)
        if other != text:
            first, second = (quoted(one).encode("ascii", "backslashreplace").decode() for one in (other, text))
            said = f"{first} and {second} look alike, and stay two values"
            return (f"Column {quoted(name)}: {said}; write them in one way to make them one.",)
    return ()


def truth_pair(texts: npt.NDArray[np.object_]) -> tuple[str, str] | None:
    """The two texts, the false one first, if they are a pair of truth words; one alone is no pair."""
    by_word = {str(text).lower(): str(text) for text in texts}
    if len(texts) != 2 or len(by_word) != 2:
        return None
    return next(((by_word[no], by_word[yes]) for no, yes in TRUTH_WORDS if {no, yes} == by_word.keys()), None)
