"""A column of texts as its distinct ones and one code a row, and such texts as numbers or dates: all of them, or none.

Deciding what a column is then costs little on a million rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn.attribute import Attribute
from dpsyn.cells import settled
from dpsyn.dates import ISO_DATE, ZONE, ZONE_RULE, days, floored, local_moments
from dpsyn.errors import quoted
from dpsyn.notation import counted

Positions = npt.NDArray[np.int64]

MISSING_WORDS = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan", "NaT", "null", "NULL", "Null"}
)
"""Cells that count as missing unless the domain lists them; "?", "-" and "None" are values like any other."""

EXACT = 2**53
"""Whole numbers beyond this are not told apart in double precision."""

ODD = 1000
"""Of the texts that a column cannot be, however long it is, so many different ones are known."""

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
COMMA_NUMBER = r"^[+-]?[0-9]*(,[0-9]+)?([eE][+-]?[0-9]+)?$"
LEADING_ZERO = r"^[+-]?0([0-9]+|[xX][0-9a-fA-F]+)$"
TELEPHONE = r"^\+[0-9]{7,15}$"
LONG_WHOLE = r"^[+-]?[0-9]{16,}([.,]0*)?$"
LONG = r"^[+-]?[0.,]*[1-9]([.,]?[0-9]){16}"
"""17 or more digits, of which double precision does not hold all."""
NOT_ZERO = r"^[^eE]*[1-9]"
CLOSING_ZEROS = r"[.,][0-9]*[1-9]0+$"
"""12.50, but not 7.00, of which decimals that are no whole numbers keep 7.0."""
_DECIMALS = re.compile(r"[^.,eE]*[.,]([0-9]+)")
_INFINITE = r"^[+-]?(?i:inf(inity)?)$"
_MINUS, _CLOSED = "\N{MINUS SIGN}", "_\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
GROUPED = f"^[-{_MINUS}]?[1-9][0-9]{{0,2}}([{_CLOSED}][0-9]{{3}})+([.,][0-9]+)?$"
"""1_000, or 1 000 with a no-break space: thousands, and nothing else."""
_GAPS = "'\N{RIGHT SINGLE QUOTATION MARK} \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
THOUSANDS = rf"^[+-]?[1-9][0-9]{{0,2}}([,.{_GAPS}][0-9]{{2,3}})*[,.{_GAPS}][0-9]{{3}}([.,][0-9]+)?$"
"""In India 12,34,567. Never 0,893."""
_BARE = rf"[0-9]+([,.{_GAPS}][0-9]+)*"
_CURRENCY = "$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN}\N{INDIAN RUPEE SIGN}"
_BEFORE, _BEHIND = rf"[+-]?[{_CURRENCY}][{_GAPS}]?[+-]?{_BARE}", rf"[+-]?{_BARE}[{_GAPS}]?[%\x{{2030}}{_CURRENCY}]"
_FOREIGN = (
    r"\x{660}-\x{669}\x{6f0}-\x{6f9}\x{7c0}-\x{7c9}\x{966}-\x{96f}\x{9e6}-\x{9ef}\x{e50}-\x{e59}\x{ff10}-\x{ff19}\x{66b}"
)
"""Digits of other scripts: Arabic, Persian, N'Ko, Devanagari, Bengali, Thai, those of full width; the Arabic point."""
_IN_FOREIGN = rf"[+-]?[0-9.,{_FOREIGN}]*[{_FOREIGN}][0-9.,{_FOREIGN}]*"
WITH_SIGN = rf"^({_BEFORE}|{_BEHIND}|{_IN_FOREIGN}|[(][{_CURRENCY}]?{_BARE}[)]|{_BARE}-|\x{{2212}}{_BARE})$"
"""A number with a sign that is no part of it (a currency, per cent, brackets, a minus behind it or as printers set it), or
in digits of another script."""
NUMBER_AHEAD, UNIT = rf"^[+-]?{_BARE}([eE][+-]?[0-9]+)?", rf"^[{_GAPS}]?[^0-9:/.,+-][^0-9:]{{0,11}}$"
NUMBER_BEHIND, CURRENCY = rf"{_BARE}$", f"^[A-Z]{{3}}[{_GAPS}][+-]?$"
"""A number in front, and what may stand behind it; a number behind, and what before it."""
CODE_LIKE = r"^([0-9]+[eE][0-9]+|[+-]?0[0-9]+[.,][0-9]*)$"
"""Numbers that programs write otherwise, 1e+05 and 1.11, and that codes look like: 1E5, 01.11."""
_MONTH = "(?i:jan|feb|m[aeä][ryi]|apr|ju[nl]|aug|sep|o[ck]t|nov|de[cz])"
DATE_LIKE = (
    r"^([0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}|[0-9]{1,2}[./-] ?[0-9]{1,2}[./-] ?([0-9]{4}|[0-9]{2})"
    rf"|[0-9]{{1,2}}[ .-]*{_MONTH}[a-z]*[ .,-]*[0-9]{{2,4}}|{_MONTH}[a-z]*[.]? [0-9]{{1,2}},? [0-9]{{4}}"
    r"|[0-9]{8}T[0-9]{4,6})([ ,T.].*)?$"
)

ISO = "ISO8601"
"""The way dates should be written: 2024-12-31, perhaps with a time."""

_ISO = re.compile(ISO_DATE)
_DATES = (
    (re.compile(r"\d{4}/\d{1,2}/\d{1,2}"), ("%Y/%m/%d",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"), ("%d.%m.%Y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}"), ("%m/%d/%Y", "%d/%m/%Y")),
    (re.compile(r"\d{1,2}-\d{1,2}-\d{4}"), ("%m-%d-%Y", "%d-%m-%Y")),
    (re.compile(r"\d{1,2}[ -][A-Za-z]{3}[ -]\d{4}"), ("%d %b %Y", "%d-%b-%Y")),
    (re.compile(r"\d{1,2} [A-Za-z]{3,} \d{4}"), ("%d %B %Y",)),
    (re.compile(r"[A-Za-z]{3} \d{1,2}, \d{4}"), ("%b %d, %Y",)),
    (re.compile(r"[A-Za-z]{3,} \d{1,2}, \d{4}"), ("%B %d, %Y",)),
)


@dataclass(frozen=True)
class Weights:
    """What the entries of a short column say of a long one.

    Attributes:
        cells: number of rows of every entry, shape (entries,).
        first: the first row of every entry, from 0, shape (entries,).
        some: number of rows that are not missing.
        distinct: the number of different values of the long column, each read by a function; None: all have an entry.
    """

    cells: Positions
    first: Positions
    some: int
    distinct: Callable[[Callable[[Any], Any]], int] | None = None


@dataclass(frozen=True)
class Words:
    """Texts of a column.

    Attributes:
        texts: the distinct texts, an Arrow array of strings, none missing.
        codes: position of every row's text in ``texts``, -1 where the cell is missing. Shape (n,).
        taken_as_missing: words that were taken as missing, with their number of cells; of a text file not the empty one.
        spaces: numbers of spaces before and behind that were left out, with their number of cells.
        weights: what the rows stand for, if they are entries of a short column.
    """

    texts: Any
    codes: Positions
    taken_as_missing: tuple[tuple[str, int], ...] = ()
    weights: Weights | None = None
    spaces: tuple[tuple[tuple[int, int], int], ...] = ()

    @classmethod
    def of(
        cls, column: Any, attribute: Attribute | None = None, *, strip: bool = True, rows: Positions | None = None
    ) -> Words:
        """From an Arrow array of strings. ``strip`` also takes :data:`MISSING_WORDS` as missing.

        A cell that is the text of a category stays as it is. ``rows``: how many each cell stands for, if not for one.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        encoded = column.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        texts = encoded.dictionary.cast(pa.large_string())
        missing = frozenset({""})
        spaces: tuple[tuple[tuple[int, int], int], ...] = ()
        if strip:
            listed = {str(category) for category in attribute.categories} if attribute else set()
            kept = pc.is_in(texts, pa.array(sorted(listed), pa.large_string()))
            trimmed = pc.if_else(kept, texts, pc.utf8_trim_whitespace(texts))
            told = pc.is_in(trimmed, pa.array(sorted(MISSING_WORDS), pa.large_string())).to_numpy(zero_copy_only=False)
            cells = np.bincount(codes[codes >= 0], minlength=len(texts))
            spaces = _spaces(texts, trimmed, np.where(told, 0, cells))
            trimmed = trimmed.dictionary_encode()
            texts = trimmed.dictionary
            codes = _through(trimmed.indices.to_numpy(zero_copy_only=False), codes)
            missing = MISSING_WORDS - {text.strip() for text in listed}
            if attribute and attribute.missing and "" not in listed:
                missing |= {""}
        gone = pc.is_in(texts, pa.array(sorted(missing), pa.large_string()))
        taken: tuple[tuple[str, int], ...] = ()
        if pc.any(gone).as_py():
            flags = gone.to_numpy(zero_copy_only=False)
            each = None if rows is None else rows[codes >= 0]
            counts = np.bincount(codes[codes >= 0], each, minlength=len(texts))
            words = [(texts[int(i)].as_py(), int(counts[i])) for i in np.flatnonzero(flags)]
            taken = tuple((word, count) for word, count in words if count and (word or not strip))
            renumbered = np.where(flags, -1, np.cumsum(~flags) - 1)
            codes = _through(renumbered, codes)
            texts = texts.filter(pc.invert(gone))
        return cls(texts, codes, taken, spaces=spaces)

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Which rows are missing, shape (n,)."""
        return self.codes < 0

    def counts(self) -> Positions:
        """Number of cells of every distinct text."""
        some = self.codes >= 0
        if self.weights is None:
            return np.bincount(self.codes[some], minlength=len(self.texts)).astype(np.int64)
        counts = np.zeros(len(self.texts), dtype=np.int64)
        np.add.at(counts, self.codes[some], self.weights.cells[some])
        return counts

    def told(self, which: npt.NDArray[np.bool_], noun: str) -> str:
        """In words, how many cells hold some of the texts; "at least" so many where these are :data:`ODD` or more."""
        cells, more = int(self.counts()[which & (np.cumsum(which) <= ODD)].sum()), int(which.sum()) >= ODD
        return f"{'at least ' * more}{counted(cells, noun)}"

    def distinct(self, read: Callable[[Any], Any] = lambda texts: texts) -> int:
        """Number of different texts, or of what a function reads in them."""
        count = self.weights.distinct if self.weights else None
        return count(read) if count else len(pd.unique(np.asarray(read(self.texts))))

    def cells_in(self, rows: npt.NDArray[np.bool_]) -> int:
        """Number of cells that some of the rows stand for."""
        return int(rows.sum()) if self.weights is None else int(self.weights.cells[rows].sum())

    def first_of(self, rows: npt.NDArray[np.bool_]) -> int:
        """The first of some of the rows, from 0."""
        row = int(np.argmax(rows))
        return row if self.weights is None else int(self.weights.first[row])

    def spread(self, values: npt.NDArray[Any]) -> pd.Series[Any]:
        """One value per row from one value per distinct text: Int64, NaN, NaT or None where missing."""
        empty = self.empty
        if not empty.any():
            return settled(pd.Series(values[self.codes]))
        if len(values) == 0:
            return pd.Series(np.full(len(self.codes), None, dtype=object))
        filled = values[np.where(empty, 0, self.codes)]
        if values.dtype.kind == "i":
            return pd.Series(filled).astype("Int64").mask(empty)
        if values.dtype.kind == "M":
            return pd.Series(np.where(empty, np.array("NaT", dtype=filled.dtype), filled))
        if values.dtype.kind == "f":
            return pd.Series(np.where(empty, np.nan, filled))
        filled[empty] = None
        return settled(pd.Series(filled))

    def as_texts(self) -> npt.NDArray[np.object_]:
        """The distinct texts as Python strings."""
        return np.asarray(self.texts.to_numpy(zero_copy_only=False), dtype=object)


def _spaces(texts: Any, trimmed: Any, cells: Positions) -> tuple[tuple[tuple[int, int], int], ...]:
    """How many cells lost how many spaces before and behind them."""
    import pyarrow.compute as pc

    lost = pc.not_equal(texts, trimmed).to_numpy(zero_copy_only=False)
    found: Counter[tuple[int, int]] = Counter({(0, 0): int(cells[~lost].sum())})
    if not lost.any():
        return tuple(found.items())
    texts, cells = texts.filter(lost), cells[lost]
    long = pc.utf8_length(texts).to_numpy()
    before = long - pc.utf8_length(pc.utf8_ltrim_whitespace(texts)).to_numpy()
    behind = long - pc.utf8_length(pc.utf8_rtrim_whitespace(texts)).to_numpy()
    for pair, count in zip(zip(before.tolist(), behind.tolist(), strict=True), cells.tolist(), strict=True):
        found[pair] += count
    return tuple(found.items())


def _through(table: npt.NDArray[Any], codes: Positions) -> Positions:
    return np.append(table, -1)[codes].astype(np.int64)


@dataclass(frozen=True)
class Parsed:
    """One value per distinct text: int64, float64 or datetime64[us].

    ``note`` says what had to be decided; ``written`` is how dates are written: :data:`ISO` or a format of strptime.
    """

    values: npt.NDArray[Any]
    note: str = ""
    written: str = ""


def matches(texts: Any, pattern: str) -> npt.NDArray[np.bool_]:
    """Which texts of an Arrow array match a regular expression."""
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False), dtype=bool)


def as_many_decimals(text: str) -> str:
    """What numbers match that have as many decimals as this one; empty if it has none."""
    found = _DECIMALS.fullmatch(text)
    return f"^[^.,eE]*[.,][0-9]{{{len(found[1])}}}$" if found else ""


def rounded(texts: Any, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Of texts of numbers the first one that has more digits than double precision holds, if there is one."""
    found = np.zeros(len(texts), dtype=bool)
    for i in np.flatnonzero(matches(texts, LONG)).tolist():
        plain = plainly(texts[i : i + 1])[0].as_py().replace(",", ".")
        if np.isfinite(numbers[i]) and Decimal(plain) != Decimal(repr(float(numbers[i]))):
            found[i] = True
            break
    return found


def has_leading_zeros(texts: Any) -> bool:
    """Whether a text begins with a zero that a number would lose, as those of zip codes and phone numbers do."""
    import pyarrow.compute as pc

    return bool(matches(texts.filter(pc.match_substring_regex(texts, r"^[+-]?0")), LEADING_ZERO).any())


def plainly(texts: Any) -> Any:
    """The texts with − as -, and without the gaps of :data:`GROUPED` numbers."""
    import pyarrow.compute as pc

    if not (pc.any(pc.match_substring(texts, "_")).as_py() or pc.any(pc.invert(pc.string_is_ascii(texts))).as_py()):
        return texts
    closed = pc.replace_substring_regex(texts, f"[{_CLOSED}]", "")
    return pc.replace_substring(pc.if_else(pc.match_substring_regex(texts, GROUPED), closed, texts), _MINUS, "-")


def parse_numbers(texts: Any, *, decimal_comma: bool) -> Parsed | None:
    """int64 if every text is a whole number below 2^53, float64 (infinite ones included) if it is a number, else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(texts) == 0:
        return None
    plain = plainly(texts)
    if pc.any(pc.match_substring_regex(plain, r"^[+-]?0[xX]")).as_py():
        return None
    note = (
        ""
        if plain is texts or not matches(texts, GROUPED).any()
        else "_ and no-break spaces were read as separating thousands"
    )
    if pc.any(pc.starts_with(plain, "+")).as_py():
        plain = pc.replace_substring_regex(plain, r"^\+([^+-])", r"\1")
    if decimal_comma and pc.any(pc.match_substring(plain, ",")).as_py():
        if not matches(plain, COMMA_NUMBER).all():
            return None
        plain = pc.replace_substring(plain, ",", ".")
        note = f"numbers are written with decimal commas, and synthetic ones get points{f'; {note}' * bool(note)}"
    try:
        return Parsed(plain.cast(pa.int64()).to_numpy(), note)
    except pa.ArrowInvalid:
        pass
    try:
        floats = plain.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    if np.isnan(floats).any():
        return None
    return Parsed(floats, note)


def as_floats(texts: Any, *, decimal_comma: bool) -> npt.NDArray[np.float64]:
    """Texts that all are numbers, as numbers; the same whichever texts are read together."""
    parsed = parse_numbers(texts, decimal_comma=decimal_comma)
    return np.empty(0) if parsed is None else parsed.values.astype(np.float64)


def read_numbers(texts: Any, *, decimal_comma: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """A number for every text by itself, and which texts are none (their numbers mean nothing)."""
    import pyarrow as pa

    texts = plainly(texts)
    # Most columns are all numbers or have none; a cast that fails costs as much as one that does not.
    if parse_numbers(texts[:1], decimal_comma=decimal_comma) is not None:
        parsed = parse_numbers(texts, decimal_comma=decimal_comma)
        if parsed is not None:
            return parsed.values.astype(np.float64), np.zeros(len(texts), dtype=bool)
    values, readable = np.zeros(len(texts)), np.zeros(len(texts), dtype=bool)
    kinds = [matches(texts, f"{NUMBER}|{_INFINITE}")]
    if decimal_comma:
        kinds.append(matches(texts, COMMA_NUMBER) & matches(texts, "[0-9],[0-9]|^[+-]?,[0-9]"))
    for alike in kinds:
        values[alike] = as_floats(texts.filter(pa.array(alike)), decimal_comma=decimal_comma)
        readable |= alike
    return values, ~readable


def parse_dates(texts: Any, within: tuple[float, float] | None = None) -> Parsed | None:
    """datetime64[us] if every text is a date of one format, else None.

    03/04/2020 is read as month/day unless that fails, or leaves the days ``within`` which day/month stays.
    """
    if len(texts) == 0:
        return None
    first = texts[0].as_py()
    if _ISO.fullmatch(first):
        return _iso(texts)
    for formats in _formats(first):
        read = {f: moments for f in formats if not np.isnat(moments := read_dates(texts, f)).any()}
        if not read:
            continue
        both, note = list(read), ""
        if len(both) == 2 and (read[both[0]] != read[both[1]]).any():
            inside = [f for f in both if within is not None and _inside(read[f], within)]
            why = ", which alone keeps to the bounds" if len(inside) == 1 else ""
            both = inside if why else both
            note = (
                f"dates such as {quoted(first)} could be month/day or day/month and were read as "
                f"{'month/day' if both[0] == next(iter(read)) else 'day/month'}{why}"
            )
        return Parsed(read[both[0]], note, both[0])
    return None


def _inside(moments: npt.NDArray[np.datetime64], within: tuple[float, float]) -> bool:
    found = days(moments)
    return bool(within[0] <= found.min() and found.max() <= within[1])


def _formats(text: str) -> list[tuple[str, ...]]:
    return [formats for pattern, formats in _DATES if pattern.fullmatch(text)]


def ways_to_write(text: str) -> tuple[str, ...]:
    """All ways to write dates that a column may follow whose first text this is."""
    return (ISO,) if _ISO.fullmatch(text) else tuple(f for formats in _formats(text) for f in formats)


def read_dates(texts: Any, written: str) -> npt.NDArray[np.datetime64]:
    """The texts as datetime64[us], NaT where a text is not written that way."""
    column = pd.Series(texts.to_numpy(zero_copy_only=False), dtype="str")
    if written != ISO:
        return pd.to_datetime(column, format=written, errors="coerce").to_numpy(dtype="datetime64[us]")
    return floored(local_moments(column), "us")


def zoned(texts: Any) -> npt.NDArray[np.bool_]:
    """Which texts end in a time zone."""
    return matches(texts, ZONE + "$")


def spoils_dates(texts: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which texts spoil a column of ISO dates, if more than half of the texts are such dates, and which of them look like
    dates that are written in another way."""
    written = matches(texts, "^" + _ISO.pattern + "$")
    spoilt = np.isnat(read_dates(texts, ISO)) if 2 * written.sum() > len(texts) else np.zeros(len(texts), dtype=bool)
    return spoilt, spoilt & ~written & matches(texts, DATE_LIKE)


def undated(texts: Any) -> npt.NDArray[np.bool_]:
    """Which texts are no dates, however these are written."""
    bad = np.isnat(read_dates(texts, ISO))
    for written in (written for _, formats in _DATES for written in formats):
        bad &= np.isnat(read_dates(texts, written))
    return bad


def _iso(texts: Any) -> Parsed | None:
    if not matches(texts, "^" + _ISO.pattern + "$").all():
        return None
    values = read_dates(texts, ISO)
    if np.isnat(values).any():
        return None
    return Parsed(values, ZONE_RULE if zoned(texts).any() else "", ISO)
