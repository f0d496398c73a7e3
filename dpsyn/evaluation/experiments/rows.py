"""Released rows as CSV text and back, without loss."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpsyn import escape
from dpsyn.attribute import Attribute
from dpsyn.cells import settled
from dpsyn.dates import days, local_moments, timed
from dpsyn.domain import Domain
from dpsyn.errors import DataError, quoted

_ROUNDED = 1e-9
"""Of a number, by which it may differ from the value of the domain that it stands for."""


def rows_to_csv(rows: pd.DataFrame, domain: Domain) -> str:
    """The rows as CSV text that :func:`rows_from_csv` reads back without loss: a missing cell is empty.

    Categories whose texts are empty or not all different are written as their numbers in the domain.

    Raises:
        DataError: a column is absent.
    """
    lost = [name for name in domain.names if name not in rows]
    if lost:
        raise DataError(f"the rows have no column {quoted(lost[0])}")
    columns = [_written(a, rows[a.name]) for a in domain.attributes]
    out = escape.Lines()
    writer = csv.writer(out, lineterminator=out.ending)
    writer.writerow(domain.names)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def rows_from_csv(text: str, domain: Domain) -> pd.DataFrame:
    """The rows that :func:`rows_to_csv` wrote.

    Raises:
        DataError: a column is absent, or a cell is no value of the domain; the message names its row.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a cell may be as long as it likes
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as fault:
        raise DataError(f"the rows are no table ({fault})") from fault
    header, body = (tuple(lines[0]), lines[1:]) if lines else ((), [])
    if header != domain.names:
        raise DataError(f"the rows have the columns {', '.join(header)}, the domain has {', '.join(domain.names)}")
    if not body:
        raise DataError("there are no rows")
    for number, line in enumerate(body, start=1):
        if len(line) != len(header):
            raise DataError(f"row {number} has {len(line)} cells, not {len(header)}")
    columns = zip(*body, strict=True)
    return pd.DataFrame({a.name: _read(a, cells) for a, cells in zip(domain.attributes, columns, strict=True)})


def _as_text(attribute: Attribute) -> bool:
    texts = [str(c) for c in attribute.categories]
    return len(set(texts)) == len(texts) and "" not in texts


def _written(attribute: Attribute, column: pd.Series[Any]) -> list[str]:
    if not attribute.is_binned:
        texts = [str(c) if _as_text(attribute) else str(i) for i, c in enumerate(attribute.categories)] + [""]
        return [texts[code] for code in attribute.encode(column)]
    if attribute.kind == "date":
        return ["" if pd.isna(v) else pd.Timestamp(v).isoformat() for v in column]
    return ["" if pd.isna(v) else repr(v.item() if isinstance(v, np.generic) else v) for v in column]


def _read(attribute: Attribute, cells: Sequence[str]) -> pd.Series[Any]:
    def wrong(row: int) -> DataError:
        return DataError(
            f"row {row + 1}, column {quoted(attribute.name)}: {quoted(cells[row][:60])} is no value of the domain"
        )

    if "" in cells and not attribute.missing:
        raise wrong(cells.index(""))
    if not attribute.is_binned:
        as_text = _as_text(attribute)
        values: dict[str, Any] = {str(c) if as_text else str(i): c for i, c in enumerate(attribute.categories)} | {"": None}
        unknown = set(cells) - values.keys()
        if unknown:
            raise wrong(min(map(cells.index, unknown)))
        return settled(pd.Series([values[cell] for cell in cells], name=attribute.name, dtype=object))
    numbers = np.empty(len(cells))
    if attribute.kind == "date":
        moments = local_moments(pd.Series(cells, dtype=object))
        numbers[:] = np.where(timed(moments), np.nan, days(moments))
    else:
        for row, cell in enumerate(cells):
            try:
                numbers[row] = float(cell or "nan")
            except ValueError:
                raise wrong(row) from None
    empty = np.array([cell == "" for cell in cells])
    column = attribute.from_numbers(np.where(empty, np.nan, numbers))
    fits = (numbers >= attribute.edges[0]) & (numbers <= attribute.edges[-1])
    fits &= np.isclose(attribute.numbers(column), numbers, rtol=_ROUNDED, atol=0.0)  # a multiple of the unit
    if not (fits | empty).all():
        raise wrong(int(np.argmin(fits | empty)))
    return column
