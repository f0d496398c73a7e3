"""A domain as a text that one edits by hand: JSON, a line per column, bounds of dates as days such as 2001-12-31."""

from __future__ import annotations

import json
from typing import Any

from dpsyn import checks, escape
from dpsyn.dates import day_text
from dpsyn.domain import Domain
from dpsyn.errors import DataError, ParameterError
from dpsyn.schema import once

_BOUNDS = ("lower", "upper")


def schema_text(domain: Domain) -> str:
    """The domain as :func:`read_schema` reads it."""
    checks.instance("domain", domain, Domain, "a domain")
    lines = [json.dumps(column, ensure_ascii=False) for column in as_written(domain)["columns"]]
    return escape.json('{"columns": [\n  ' + ",\n  ".join(lines) + "\n]}\n")


def is_schema(data: bytes | str) -> bool:
    """Whether it is what :func:`schema_text` writes, and no description of another tool."""
    try:
        found = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return True  # whatever it is, :func:`read_schema` says what is wrong
    return not isinstance(found, dict) or not found or isinstance(found.get("columns"), list)


def read_schema(data: bytes | str) -> Domain:
    """The domain that :func:`schema_text` wrote, and somebody may have edited; of the record of a run, its domain.

    Raises:
        ParameterError: it is neither a text nor bytes.
        DataError: it is no JSON (``line`` says where), or has a name twice in one object.
        DomainError: it describes no domain; the message names the column.
    """
    if not isinstance(data, str | bytes | bytearray):
        raise ParameterError("data", data, "the text of a schema, or its bytes")
    try:
        found = json.loads(data, object_pairs_hook=once)
    except DataError:
        raise
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
    return Domain.from_dict(found)


def as_written(domain: Domain) -> dict[str, Any]:
    """The domain as a file for people has it: as its ``to_dict``, but for the bounds of dates, which are days."""
    return {"columns": [_with_days(attribute.to_dict()) for attribute in domain.attributes]}


def _with_days(column: dict[str, Any]) -> dict[str, Any]:
    if column["kind"] != "date":
        return column
    return column | {side: _day_of(column[side]) for side in _BOUNDS}


def _day_of(bound: float) -> object:
    return day_text(bound) if float(bound).is_integer() else bound
