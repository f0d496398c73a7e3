"""Cells of a text file as values of a given public attribute."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dpsyn.attribute import Attribute
from dpsyn.data._parse import EXACT, Parsed, as_floats, parse_dates, parse_numbers, read_dates
from dpsyn.data._words import Words
from dpsyn.data.infer import Column, Locate
from dpsyn.errors import DomainError


def not_missing(attribute: Attribute) -> frozenset[str]:
    """Words for missing values that are values of this attribute."""
    return frozenset() if attribute.is_binned else frozenset(str(c).strip() for c in attribute.categories)


def fit_words(attribute: Attribute, words: Words, *, decimal_comma: bool, locate: Locate) -> Column:
    """The column of a text file as values of a given attribute.

    A cell that is the text of a category is that category, even where it also is a word for missing values.

    Raises:
        DomainError: a cell is no value of the attribute; the message names the line and the value.
    """
    if words.empty.any() and not attribute.missing:
        why = "but the domain allows no missing values; allow them or fill the cell"
        _refuse(attribute, words, words.empty, "an empty cell", why, locate)
    if attribute.is_binned:
        values, read = _binned(attribute, words, decimal_comma, locate)
    else:
        values, read = _categories(attribute, words, locate), partial(_found, category_of(attribute))
    return Column(words.spread(values).rename(attribute.name), attribute, read=read)


def _binned(
    attribute: Attribute, words: Words, decimal_comma: bool, locate: Locate
) -> tuple[npt.NDArray[Any], Callable[[Any], Any]]:
    def parse(texts: Any) -> Parsed | None:
        return parse_dates(texts) if attribute.kind == "date" else parse_numbers(texts, decimal_comma=decimal_comma)

    read: Callable[[Any], Any] = partial(as_floats, decimal_comma=decimal_comma)
    parsed = parse(words.texts)
    if parsed is not None:
        values = parsed.values
        if attribute.kind == "date":
            return values, partial(read_dates, written=parsed.written)
        whole = (
            values.dtype.kind == "f"
            and attribute.integer
            and np.isfinite(values).all()
            and (values == np.floor(values)).all()
        )
        return (values.astype(np.int64) if whole and np.abs(values).max() < EXACT else values), read
    if len(words.texts) == 0:
        return np.empty(0, dtype=np.float64), read
    first = next((i for i in range(len(words.texts)) if parse(words.texts.slice(i, 1)) is None), None)
    if first is None:
        raise DomainError(
            f"column {attribute.name!r} mixes several ways to write dates; write them as 2024-12-31", column=attribute.name
        )
    what = "a date (write it as 2024-12-31)" if attribute.kind == "date" else "a number"
    _refuse(attribute, words, words.codes == first, repr(words.texts[first].as_py()), f"which is not {what}", locate)


def category_of(attribute: Attribute) -> Callable[[str], Any]:
    """How to find the category that a text stands for; None where there is none."""
    known: dict[str, Any] = {str(category).strip(): category for category in attribute.categories}
    numbers = {c: c for c in attribute.categories if isinstance(c, int | float) and not isinstance(c, bool)}
    truths = {str(c).lower(): c for c in attribute.categories if isinstance(c, bool)}

    def find(text: str) -> Any:
        value = known.get(text)
        if value is None:
            value = truths.get(text.lower())
        if value is None and numbers:
            value = numbers.get(_number(text))
        return value

    return find


def _categories(attribute: Attribute, words: Words, locate: Locate) -> npt.NDArray[np.object_]:
    find = category_of(attribute)
    values = np.empty(len(words.texts), dtype=object)
    for i, text in enumerate(words.as_texts()):
        value = find(text)
        if value is None:
            shown = ", ".join(repr(c) for c in attribute.categories[:8]) + (", …" if len(attribute.categories) > 8 else "")
            why = f"which is not one of the categories {shown}; add it to the domain or change the data"
            _refuse(attribute, words, words.codes == i, repr(text), why, locate)
        values[i] = value
    return values


def _found(find: Callable[[str], Any], texts: Any) -> list[Any]:
    return [find(text) for text in texts.to_pylist()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _refuse(
    attribute: Attribute, words: Words, entries: npt.NDArray[np.bool_], value: str, why: str, locate: Locate
) -> NoReturn:
    line, rows = locate(words.first_of(entries)), words.cells_in(entries)
    raise DomainError(
        f"column {attribute.name!r}: line {line} has {value} ({rows} such rows), {why}",
        column=attribute.name,
    )
