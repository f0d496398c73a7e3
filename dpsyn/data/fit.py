"""Columns as values of given attributes: of a text file, and of a DataFrame or a Parquet file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpsyn import escape
from dpsyn.attribute import Attribute
from dpsyn.cells import floats, settled
from dpsyn.data._frames import of_plain_categories, words_of
from dpsyn.data._numbers import carried, is_number, is_whole, text_of
from dpsyn.data._words import (
    CODE_LIKE,
    COMMA_NUMBER,
    EXACT,
    ISO,
    LEADING_ZERO,
    LONG,
    NOT_ZERO,
    NUMBER,
    THOUSANDS,
    Parsed,
    Words,
    as_floats,
    matches,
    parse_dates,
    parse_numbers,
    plainly,
    read_dates,
    read_numbers,
    undated,
)
from dpsyn.data.infer import Column, Locate, closing_zeros, decimals_rounded, perhaps_thousands, spaces_left_out, written_how
from dpsyn.dates import local_moments
from dpsyn.errors import DomainError, quoted
from dpsyn.notation import counted


def fit_words(attribute: Attribute, words: Words, *, decimal_comma: bool, locate: Locate) -> Column:
    """The column of a text file as values of a given attribute.

    A cell that is the text of a category is that category, even where it also is a word for missing values.

    Raises:
        DomainError: a cell is no value of the attribute; the message names the line and the value.
    """
    if words.empty.any() and not attribute.missing:
        none, why = np.zeros(len(words.texts), dtype=bool), "but the domain allows no missing values"
        _refuse(attribute, words, none, why, "allow them or fill the cells", locate)
    if attribute.is_binned:
        values, read, notes = _binned(attribute, words, decimal_comma, locate)
    else:
        find = category_of(attribute, decimal_comma=decimal_comma)
        values, read = _listed(attribute, words, find, locate), partial(_found, find)
        alike = _alike(attribute, words, values)
        notes = (*spaces_left_out(attribute.name, words), *alike, *respelt(attribute, words.texts, values))
    return Column(words.spread(values).rename(attribute.name), attribute, notes, read)


def _binned(
    attribute: Attribute, words: Words, decimal_comma: bool, locate: Locate
) -> tuple[npt.NDArray[Any], Callable[[Any], Any], tuple[str, ...]]:
    within = (float(attribute.lower or 0), float(attribute.upper or 0))

    def parse(texts: Any) -> Parsed | None:
        dated = attribute.kind == "date"
        return parse_dates(texts, within) if dated else parse_numbers(texts, decimal_comma=decimal_comma)

    read: Callable[[Any], Any] = partial(as_floats, decimal_comma=decimal_comma)
    parsed = parse(words.texts)
    if parsed is not None:
        values, notes = parsed.values, written_how(attribute.name, parsed)
        if attribute.kind == "date":
            return values, partial(read_dates, written=parsed.written), notes
        notes += perhaps_thousands(attribute.name, words.texts) if decimal_comma else ()
        whole = (
            values.dtype.kind == "f"
            and attribute.is_whole
            and np.isfinite(values).all()
            and (values == np.floor(values)).all()
        )
        numbers = values.astype(np.int64) if whole and np.abs(values).max() < EXACT else values
        return numbers, read, (*notes, *closing_zeros(attribute.name, words.texts, numbers))
    if len(words.texts) == 0:
        return np.empty(0, dtype=np.float64), read, ()
    dated = attribute.kind == "date"
    bad = undated(words.texts) if dated else read_numbers(words.texts, decimal_comma=decimal_comma)[1]
    if not bad.any():
        raise DomainError(
            f"column {quoted(attribute.name)} mixes several ways to write {'dates' if dated else 'numbers'}; "
            f"write them as {'2024-12-31' if dated else '1.5'}",
            column=attribute.name,
        )
    grouped = not dated and matches(words.texts, THOUSANDS)[int(np.argmax(bad))]
    otherwise = "remove the thousands separators" if grouped else "correct it or empty the cell"
    todo = "write it as 2024-12-31" if dated else otherwise
    _refuse(attribute, words, bad, f"which is not a {attribute.kind if dated else 'number'}", todo, locate)


def category_of(attribute: Attribute, *, decimal_comma: bool = False) -> Callable[[str], Any]:
    """How to find the category that a text stands for, as it is or guarded from spreadsheets; None where there is none."""
    known: dict[str, Any] = {str(escape.cell(str(category))): category for category in attribute.categories}
    known |= {str(category).strip(): category for category in attribute.categories}
    known |= {str(category): category for category in attribute.categories}
    numbers = {c: c for c in attribute.categories if isinstance(c, int | float) and not isinstance(c, bool)}
    truths = {str(c).lower(): c for c in attribute.categories if isinstance(c, bool)}

    def find(text: str) -> Any:
        import pyarrow as pa

        value = known.get(text)
        if value is None:
            value = truths.get(text.lower())
        if value is None and numbers:
            plain = plainly(pa.array([text]))[0].as_py()
            if decimal_comma and re.fullmatch(COMMA_NUMBER, plain):
                plain = plain.replace(",", ".")
            value = numbers.get(_number(plain))
            value = value if value is None or _is_written(plain, value) else None
        return value

    return find


def fit_dates(attribute: Attribute, words: Words) -> Column | None:
    """The column as values of a given attribute of dates, if its texts are written in one way that is not ISO 8601."""
    parsed = parse_dates(words.texts, (float(attribute.lower or 0), float(attribute.upper or 0)))
    if parsed is None or parsed.written == ISO:
        return None
    read = partial(read_dates, written=parsed.written)
    return Column(words.spread(parsed.values).rename(attribute.name), attribute, written_how(attribute.name, parsed), read)


def _listed(attribute: Attribute, words: Words, find: Callable[[str], Any], locate: Locate) -> npt.NDArray[np.object_]:
    values = np.empty(len(words.texts), dtype=object)
    values[:] = [find(text) for text in words.as_texts()]
    bad = np.array([value is None for value in values], dtype=bool)
    if bad.any():
        shown = ", ".join(quoted(c) for c in attribute.categories[:8]) + (", …" if len(attribute.categories) > 8 else "")
        why = f"which is not one of the categories {shown}"
        _refuse(attribute, words, bad, why, attribute.remedy, locate)
    return values


def _alike(attribute: Attribute, words: Words, values: npt.NDArray[np.object_]) -> tuple[str, ...]:
    """A note on a text that stands for several categories, as it is or as :func:`~dpsyn.escape.cell` guards it."""
    standing: dict[str, list[str]] = {"": ["a missing value"]} if attribute.missing else {}
    exact = {str(category) for category in attribute.categories}
    for category in attribute.categories:
        text = str(category)
        for form in {text, str(escape.cell(text))} | {text.strip()} - exact:
            standing.setdefault(form, []).append(quoted(category))
    for text, value in zip(words.texts.to_pylist(), values, strict=True):
        if len(standing.get(text, ())) > 1:
            others = ", ".join(other for other in standing[text] if other != quoted(value))
            said = f"cells that say {quoted(text)} were read as {quoted(value)}, and may have been {others}"
            return (f"Column {quoted(attribute.name)}: {said}; write these categories differently.",)
    return ()


def respelt(attribute: Attribute, texts: Any, values: Sequence[Any] | npt.NDArray[np.object_]) -> tuple[str, ...]:
    """A note on a text that looks like a code, or that double precision does not hold, and was taken as a number."""
    odd = matches(texts, LEADING_ZERO) | matches(texts, CODE_LIKE) | matches(texts, LONG)
    odd |= matches(texts, NOT_ZERO) & np.array([value == 0 for value in values], dtype=bool)
    for i in np.flatnonzero(odd).tolist():
        text = texts[i].as_py()
        if values[i] is not None and not isinstance(values[i], str) and text != str(values[i]):
            return (f"Column {quoted(attribute.name)}: {quoted(text)} was read as the category {quoted(values[i])}.",)
    return ()


def _found(find: Callable[[str], Any], texts: Any) -> list[Any]:
    return [find(text) for text in texts.to_pylist()]


def _number(text: str) -> float:
    return float(text) if re.fullmatch(NUMBER, text) else math.nan


def _is_written(text: str, number: float) -> bool:
    """Whether a text that double precision takes for a number writes it, and not a whole number beside it."""
    exact = Decimal(text)
    return abs(number) < EXACT or exact == Decimal(repr(number)) or exact != exact.to_integral_value()


def _refuse(attribute: Attribute, words: Words, bad: npt.NDArray[np.bool_], why: str, todo: str, locate: Locate) -> NoReturn:
    """``bad``: which texts cannot be; none where the empty cells cannot."""
    rows, value = words.empty, "an empty cell"
    told = counted(words.cells_in(rows), "such row")
    if bad.any():
        rows, value, told = (
            words.codes == np.argmax(bad),
            quoted(words.texts[int(np.argmax(bad))].as_py()),
            words.told(bad, "such row"),
        )
    line = locate(words.first_of(rows))
    raise DomainError(
        f"column {quoted(attribute.name)}: line {line} has {value}, {why} ({told}); {todo}", column=attribute.name
    )


def fit_typed(attribute: Attribute, column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of a DataFrame in the type of a given attribute, as far as its values allow; encoding it finds the others.

    Numbers and truth values may be known by their texts, as those that double precision cannot hold are; and texts are the
    numbers and truth values that are written so, in a column whose categories are not all texts.
    """
    if attribute.is_binned:
        return _fit_binned(attribute, _blanks_missing(attribute, column))
    if isinstance(column.dtype, pd.CategoricalDtype):
        column, _ = of_plain_categories(attribute.name, column)
        column = column if set(column.cat.categories) <= set(attribute.categories) else column.astype(object)
    known = set(attribute.categories)
    column = _blanks_missing(attribute, column)
    texts = [isinstance(category, str) for category in attribute.categories]
    if not pd.api.types.is_object_dtype(column) and (
        all(texts) if isinstance(column.dtype, pd.StringDtype) else not any(texts)
    ):
        return column
    find = cache(category_of(attribute))

    def fit(value: Any) -> Any:
        if isinstance(value, str):
            if value in known:
                return value
            found = None if all(texts) else find(value)
            return value if found is None else found
        simple = any(texts) and (is_number(value) or isinstance(value, bool | np.bool_))
        return text_of(value) if simple and value not in known else value

    cells = zip(column.astype(object), column.isna(), strict=True)
    fitted = [cell if empty else fit(cell) for cell, empty in cells]
    return settled(pd.Series(fitted, column.index, dtype=object, name=column.name))


def texts_told(attribute: Attribute, column: pd.Series[Any]) -> tuple[str, ...]:
    """A note on texts of a column that are taken as numbers that are categories, or on decimals next to such numbers."""
    import pyarrow as pa

    if attribute.is_binned or all(isinstance(category, str) for category in attribute.categories):
        return ()
    cells = column if pd.api.types.is_object_dtype(column.dtype) else ()
    decimals = dict.fromkeys(cell for cell in cells if isinstance(cell, Decimal) and cell.is_finite() and not is_whole(cell))
    if not carried(pd.Series(list(decimals), dtype=object)).all():
        return (decimals_rounded(attribute.name),)
    find, known = category_of(attribute), set(attribute.categories)
    if not (pd.api.types.is_string_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype)):
        return ()
    texts = list(dict.fromkeys(text for text in column.astype(object) if isinstance(text, str) and text not in known))
    return respelt(attribute, pa.array(texts, pa.large_string()), [find(text) for text in texts])


def fit_whole(attribute: Attribute, column: pd.Series[Any]) -> Column:
    """All cells of a column, or all different ones, as :func:`fit_typed`; dates may be written in any one way."""
    found = None
    if attribute.kind == "date" and pd.api.types.infer_dtype(column, skipna=True) == "string":
        found = fit_dates(attribute, words_of(attribute.name, column))
    return found or Column(fit_typed(attribute, column), attribute, texts_told(attribute, column))


def _blanks_missing(attribute: Attribute, column: pd.Series[Any]) -> pd.Series[Any]:
    """Empty texts are missing values where there may be some, and no category is empty."""
    if not attribute.missing or "" in attribute.categories or pd.api.types.is_numeric_dtype(column.dtype):
        return column
    nested = pd.api.types.is_object_dtype(column.dtype)  # perhaps: an array in a cell cannot be compared
    return column.mask(
        column.map(lambda cell: isinstance(cell, str) and cell == "").astype(bool) if nested else column == ""
    )


def _fit_binned(attribute: Attribute, column: pd.Series[Any]) -> pd.Series[Any]:
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    if numeric or (attribute.kind == "numeric" and not pd.api.types.is_object_dtype(column.dtype)):
        return column
    values = pd.Series(floats(column) if attribute.kind == "numeric" else local_moments(column), name=column.name)
    return column if (values.isna() & column.notna()).any() else values
