"""A domain as a text that one edits by hand: JSON, a line a column, bounds of dates as days such as 2001-12-31."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from dpsyn.domain import Domain
from dpsyn.errors import DataError

_BOUNDS = ("lower", "upper")


def schema_text(domain: Domain) -> str:
    """The domain as :func:`read_schema` reads it."""
    lines = [json.dumps(_dates(a.to_dict(), _day_of), ensure_ascii=False) for a in domain.attributes]
    return '{"columns": [\n  ' + ",\n  ".join(lines) + "\n]}\n"


def is_schema(data: bytes | str) -> bool:
    """Whether it is what :func:`schema_text` writes, and no description of another tool."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return True  # whatever it is, :func:`read_schema` says what is wrong
    return not isinstance(found, dict) or not found or isinstance(found.get("columns"), list)


def read_schema(data: bytes | str) -> Domain:
    """The domain that :func:`schema_text` wrote, and somebody may have edited; of the record of a run, its domain.

    Raises:
        DataError: it is no JSON; ``line`` says where.
        DomainError: it describes no domain; the message names the column.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as fault:
        if not isinstance(fault, json.JSONDecodeError) or data.lstrip()[:1] not in (b"{", "{"):
            said = "this is no schema, which is JSON as `dpsyn schema` writes it, or it is nested too deeply"
            raise DataError(said) from None
        said = f"line {fault.lineno}, character {fault.colno}: {fault.msg[0].lower()}{fault.msg[1:]}"
        raise DataError(f"the schema is no JSON from {said}", line=fault.lineno) from None
    if isinstance(found, dict) and {"guarantee", "domain"} <= found.keys():
        if found["domain"] is None:
            raise DataError("this is the record of a run, and holds no schema: nobody confirmed its domain as public")
        found = found["domain"]
    elif not is_schema(data):
        raise DataError("this is no schema of dpsyn; `dpsyn schema people.csv --from FILE` makes one of another tool's")
    columns = found.get("columns") if isinstance(found, dict) else None
    if isinstance(columns, list):
        found = {"columns": [_dates(c, _number_of) if isinstance(c, dict) else c for c in columns]}
    return Domain.from_dict(found)


def _dates(column: dict[str, Any], write: Callable[[Any], Any]) -> dict[str, Any]:
    if column.get("kind") != "date":
        return column
    return column | {side: write(column[side]) for side in _BOUNDS if side in column}


def _day_of(bound: float) -> object:
    return str(np.datetime64(int(bound), "D")) if float(bound).is_integer() else bound


def _number_of(bound: object) -> object:
    """Days since 1970-01-01; what is no date stays, and is refused as a bound."""
    if not isinstance(bound, str):
        return bound
    try:
        return float((np.datetime64(bound, "D") - np.datetime64(0, "D")).astype(int))
    except ValueError:
        return bound
