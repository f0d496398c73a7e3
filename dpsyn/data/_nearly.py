"""What stands in the way of a column of texts that should have been numbers or dates, in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpsyn.data._words import (
    COMMA_NUMBER,
    CURRENCY,
    DATE_LIKE,
    NUMBER,
    NUMBER_AHEAD,
    NUMBER_BEHIND,
    THOUSANDS,
    UNIT,
    WITH_SIGN,
    Words,
    matches,
    plainly,
    spoils_dates,
)
from dpsyn.errors import quoted


def nearly(name: str, words: Words, kept: int, *, decimal_comma: bool) -> tuple[str, ...]:
    """A note on a column of a text file that is neither all numbers nor all dates, where it looks like either.

    ``kept``: how many of its first texts are there whatever its length.
    """
    texts = plainly(words.texts)
    commas = matches(texts, COMMA_NUMBER) & matches(texts, ",[0-9]")
    with_comma = commas & decimal_comma
    numeric = matches(texts, NUMBER) | with_comma
    thousands, counts = matches(words.texts, THOUSANDS), words.counts()
    grouped = thousands & ~numeric

    def some(which: npt.NDArray[np.bool_]) -> str:
        return f"{words.told(which, 'cell')}, such as {quoted(words.texts[int(np.argmax(which))].as_py())}"

    if grouped.any() and (numeric | thousands).all():
        return (f"Column {quoted(name)} was read as text: remove the thousands separators of {some(grouped)}.",)
    if commas.any() and not decimal_comma and (numeric | thousands | commas).all():
        return (
            f"Column {quoted(name)} was read as text: if the commas of {some(commas)}, are decimal, write points in their "
            "place, or separate the values by semicolons.",
        )
    first = words.texts.slice(0, kept)
    signed = np.flatnonzero(matches(first, WITH_SIGN))
    if len(signed) and (matches(first, WITH_SIGN) | (numeric | thousands)[: len(first)]).all():
        shown = first[int(signed[0])].as_py()
        said = "write them in the digits 0 to 9, with a - before a negative one and nothing else beside them"
        return (f"Column {quoted(name)}: numbers such as {quoted(shown)} were read as text; {said}.",)
    if (unit := _unit(first)) is not None:
        shown = first[0].as_py()
        said = f"leave the {quoted(unit)} out of the cells, and write it into the heading"
        return (f"Column {quoted(name)}: numbers such as {quoted(shown)} were read as text; {said}.",)
    spoilt, otherwise = spoils_dates(words.texts)
    if spoilt.any():
        said = f"was read as text. Not a date: {some(spoilt)}; correct or empty"
        if otherwise.any():
            said = f"mixes several ways to write dates, and was read as text. Not as 2024-12-31: {some(otherwise)}; so write"
        return (f"Column {quoted(name)} {said} them.",)
    dated = np.flatnonzero(matches(first, DATE_LIKE))
    if 2 * len(dated) > len(first):
        shown = first[int(dated[0])].as_py()
        return (
            f"Column {quoted(name)}: values such as {quoted(shown)} look like dates, in several ways or in one that is not "
            "read, so they were read as text; write them as 2024-12-31.",
        )
    if not numeric.any():
        return ()
    if numeric.all():
        both = with_comma.any() and matches(texts, r"\.").any()
        said = "writes some numbers with decimal commas and others with points, and was read as text. Write all in one way."
        return (f"Column {quoted(name)} {said}",) if both else ()
    numbers = numeric | thousands
    odd = int(counts[~numbers].sum())
    if (few := int(counts[numbers].sum())) < odd:
        return (
            f"Column {quoted(name)} mixes numbers, such as {_listed(words, numbers)}, with other values, and was read as "
            f"text: {f'{few:,} cells are numbers' if few > 1 else '1 cell is a number'}. If that stands for no answer, "
            "empty those cells in the file, or write NA in them, and load it again.",
        )
    before = f"remove the thousands separators of {some(grouped)}, and " if grouped.any() else ""
    return (
        f"Column {quoted(name)} mixes numbers with other values, such as {_listed(words, ~numbers)}, and was read as text: "
        f"{f'{odd:,} cells are no numbers' if odd > 1 else '1 cell is no number'}. To have it as numbers, {before}"
        "empty those cells in the file, or write NA in them, and load it again.",
    )


def _listed(words: Words, which: npt.NDArray[np.bool_]) -> str:
    """The commonest three of some texts, and how many cells hold each."""
    counts, found = words.counts(), np.flatnonzero(which)
    found = found[np.argsort(-counts[found], kind="stable")]
    return ", ".join(f"{quoted(words.texts[int(i)].as_py())} ({counts[i]})" for i in found[:3])


def _unit(texts: Any) -> str | None:
    """What stands behind all of some numbers, or the code of a currency before them, where that is one and the same text."""
    import pyarrow.compute as pc

    for number, unit in ((NUMBER_AHEAD, UNIT), (NUMBER_BEHIND, CURRENCY)):
        rest = pc.unique(pc.replace_substring_regex(texts, number, ""))
        if len(texts) > 1 and len(rest) == 1 and matches(rest, unit).all():
            return str(rest[0].as_py()).strip()
    return None
