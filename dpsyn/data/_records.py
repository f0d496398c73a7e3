"""Delimited text as records, parsed strictly, and the guess at what separates their values."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import IO

from dpsyn.errors import DataError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
Open = Callable[[], IO[bytes]]
"""Opens UTF-8 text at its first line that is not empty; the text ends with a line end."""


_SAMPLE = 200
_FIELD_LIMIT = 1 << 20


def records(text: Open, separator: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """All records with the line on which each starts, parsed strictly."""
    csv.field_size_limit(max(csv.field_size_limit(), _FIELD_LIMIT))
    with text() as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream, delimiter=separator, strict=True, skipinitialspace=True)
        start = first_line
        try:
            for cells in reader:
                yield start, cells
                start = first_line + reader.line_num
        except csv.Error as error:
            raise DataError(_quote_message(str(error), start), line=start) from error


def _quote_message(error: str, line: int) -> str:
    if "field limit" in error:
        return f"a value in the row of line {line} is longer than a million characters; probably its quote is never closed"
    if "end of data" in error:
        return f"a quote opened in the row of line {line} is never closed; close it, or double it if it is part of the value"
    return (
        f"in the row of line {line} a closing quote is followed by more text ({error}); "
        'double the quotes that are part of a value, as in "a 5"" pipe"'
    )


def guess_separator(text: Open, first_line: int) -> str:
    """The candidate that cuts the first line, and then as many lines as possible, into equally many values."""
    scores: dict[str, tuple[float, int]] = {}
    alone: dict[str, Counter[int]] = {}
    for separator in SEPARATORS:
        try:
            widths = [len(cells) for _, cells in islice(records(text, separator, first_line), _SAMPLE) if cells]
        except DataError:
            # A wrong separator makes nonsense of quotes; if the quotes themselves are wrong, the real reading says so.
            widths = _raw_widths(text, separator)
        if widths[0] > 1:
            scores[separator] = (sum(w == widths[0] for w in widths) / len(widths), widths[0])
        alone[separator] = Counter(widths[1:])
    if scores:
        return max(scores, key=lambda s: scores[s])
    return _single(text, alone, first_line)


def _first_lines(text: Open) -> list[bytes]:
    with text() as stream:
        return list(islice(stream, _SAMPLE))


def _raw_widths(text: Open, separator: str) -> list[int]:
    return [line.count(separator.encode()) + 1 for line in _first_lines(text) if line.strip()] or [1]


def _single(text: Open, widths: dict[str, Counter[int]], first_line: int) -> str:
    """A first line that nothing cuts: one column, unless the lines below plainly have several."""
    for separator, counts in widths.items():
        width, share = counts.most_common(1)[0] if counts else (1, 0)
        numbers = separator == "," and all(re.fullmatch(rb"\s*[+-]?\d+(,\d+)?\s*", line) for line in _first_lines(text)[1:])
        if width > 1 and share >= 0.9 * counts.total() and not numbers:
            raise DataError(
                f"line {first_line} holds one value, but the lines below hold {width} separated by {SEPARATORS[separator]}; "
                "the first line must hold the column names and nothing may stand above it "
                "(if the table has one column, put its values in quotes)",
                line=first_line,
            )
    return next((s for s, counts in widths.items() if set(counts) <= {1}), ",")
