"""From the words of a command line to tables, domains and mechanisms."""

from __future__ import annotations

import csv
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpsyn import escape
from dpsyn.cli.terminal import note, remark
from dpsyn.errors import DataError, DomainError, ParameterError, quoted
from dpsyn.memory import within_memory
from dpsyn.places import unreadable
from dpsyn.schema import read_json

if TYPE_CHECKING:
    import pandas as pd

    from dpsyn.data.counted import AnyTable
    from dpsyn.domain import Domain
    from dpsyn.mechanisms.base import Mechanism
    from dpsyn.privacy.spec import PrivacySpec
    from dpsyn.table import Table

STDIN = "-"


def read(source: str, schema: str | None, columns: str | None, *, in_place: bool = False) -> AnyTable:
    """A table in memory; counted where it lies, if that is asked for or the source is a folder."""
    if in_place and source == STDIN:
        raise click.UsageError("standard input can be read once only: name a file for --in-place")
    if in_place or os.path.isdir(source):
        from dpsyn.data.in_place import open_in_place

        table = open_in_place(source, schema_of(schema), None, names_in(columns), "leave_out")
        for said in table.notes:
            remark(said)
        return table
    return noted(bytes_of(source) if source == STDIN else source, domain=schema_of(schema), columns=names_in(columns))


def read_over(source: str, domain: Domain) -> Table:
    """Rows over the domain of other ones.

    Raises:
        DataError: they do not fit; the message names their file.
    """
    try:
        return noted(bytes_of(source) if source == STDIN else source, domain=domain)
    except DomainError as fault:
        todo = "--columns takes fewer columns, --schema another domain"
        raise DataError(f"{quoted(source)}: {fault}; {todo}", column=fault.column) from fault


def noted(source: Any, **options: Any) -> Table:
    """A table of a source, with what reading it had to decide on standard error."""
    from dpsyn.data.read import read_in_memory

    table = read_in_memory(source, wide="leave_out", **options)
    for said in table.notes:
        remark(said)
    return table


def described(
    source: str, book: str | None, columns: str | None, *, in_place: bool = False
) -> tuple[Domain, AnyTable | None]:
    """The domain of a table, as far as another tool's description (``book``) has none; or that of a schema alone, in a file
    whose name ends in .json. The rows fit it."""
    from dpsyn.data.code_books import read_code_book
    from dpsyn.data.schema_file import is_schema, read_schema

    wanted = names_in(columns)
    if source.lower().endswith(".json"):
        if book is not None:
            raise click.UsageError(f"{source!r} is a description itself: --from is for a table")
        data = bytes_of(source)
        if is_schema(data):
            domain = read_schema(data)
        else:
            domain, notes = read_code_book(data).project(wanted).domain()
            for said in notes:
                remark(said)
        return (domain if wanted is None else domain.project(wanted)), None
    if book is None:
        table = read(source, None, columns, in_place=in_place)
        return table.domain, table
    if in_place or os.path.isdir(source):
        raise click.UsageError("--from is for rows that are read, not for a table that is counted in place")
    rows: Any = bytes_of(source) if source == STDIN else source
    found = read_code_book(bytes_of(book)).project(wanted)
    domain, notes = found.domain(noted(rows, columns=list(found.columns)) if found.columns else None)
    for said in notes:
        remark(said)
    return domain, noted(rows, domain=domain)


def bytes_of(source: str) -> bytes:
    if source == STDIN:
        if sys.stdin is None:
            raise DataError("standard input is closed, and nothing can be read there: name a file")
        read_before = click.get_current_context().meta
        if STDIN in read_before:
            raise click.UsageError("standard input can be one thing only: name a file for the other")
        read_before[STDIN] = True
        return within_memory(sys.stdin.buffer, "standard input")
    try:
        with Path(source).open("rb") as stream:
            return within_memory(stream, quoted(source))
    except OSError as fault:
        raise unreadable(source, fault) from fault


def schema_of(path: str | None) -> Domain | None:
    """The domain in a file, if one is named."""
    from dpsyn.data.schema_file import read_schema

    return None if path is None else read_schema(bytes_of(path))


def names_in(columns: str | None) -> list[str] | None:
    """The names that a line of CSV holds."""
    if columns is None:
        return None
    try:
        return [name.strip() for name in next(csv.reader([columns], skipinitialspace=True, strict=True))]
    except csv.Error as error:
        raise click.UsageError(f"--columns {quoted(columns)}: write names as in CSV ({error})") from None


def degrees_in(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise ParameterError("degrees", text, "whole numbers, separated by commas") from None


def settings_in(pairs: Sequence[str], rows: int | None) -> dict[str, Any]:
    """What --set and --rows say. Values are JSON where they can be, else texts."""
    found: dict[str, Any] = {} if rows is None else {"rows": rows}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--set {quoted(pair)}: write it as NAME=VALUE")
        if name.strip() == "mechanism":
            raise click.UsageError(f"--set {quoted(pair)}: a mechanism is named with --mechanism NAME")
        if name.strip() in found:
            raise click.UsageError(f"{name.strip()} is set twice: by --set {quoted(pair)}, and before")
        try:
            found[name.strip()] = read_json(value)
        except DataError:
            found[name.strip()] = value
    return found


def calibrated(name: str, table: AnyTable, target: str | None, asked: Mapping[str, Any], spec: PrivacySpec) -> Mechanism:
    """The mechanism as it comes but for what was asked; where rows cost budget and nobody says how many, as many as fit."""
    from dpsyn.mechanisms.records import config_from_dict, config_to_dict
    from dpsyn.mechanisms.registry import config_class

    if target is not None:
        table.domain.index(target)  # a mechanism that needs none would not notice that there is no such column
    config = config_class(name).as_it_comes(table.n, target)
    if config is None:
        raise needs_target(name, target)
    config = config_from_dict(config_to_dict(config.fewer_rows() or config) | dict(asked))
    return config.calibrate(spec, table.domain, n=table.n)


def needs_target(name: str, target: str | None) -> ParameterError:
    """The refusal of a mechanism that predicts a column, without one."""
    return ParameterError("target", target, f"a column of classes, which {name} needs: --target COLUMN")


def note_doubts(table: AnyTable) -> None:
    """Say what looks as if it had been read off the rows, of what somebody called public, as guarantees take for granted."""
    from dpsyn.data.editing import doubts

    for said in doubts(table, table.domain.names):
        remark(f"{said[0].lower()}{said[1:]}")


def note_formulas(rows: pd.DataFrame, *, guarded: bool) -> None:
    """Say that a spreadsheet would run some text of these rows, where it is not guarded."""
    if not guarded and any(map(escape.runs, escape.texts(rows))):
        remark("some text would be run by a spreadsheet as a formula; --guard writes it after an apostrophe in a CSV or TSV")


def note_written_alike(domain: Domain) -> None:
    """Say which columns tell apart what a text file does not: an empty text and an empty cell, or 1 and '1'."""
    for attribute in domain.attributes:
        name = quoted(attribute.name)
        if len(set(map(str, attribute.categories))) < len(attribute.categories):
            remark(f"column {name}: some categories are written alike in a file, such as 1 and '1'")
        if attribute.missing and "" in attribute.categories:
            remark(
                f"column {name}: an empty text and a missing value are both an empty cell here; -o NAME.parquet keeps both"
            )


def note_unconfirmed(domain: Domain, file: str, schema: str | None) -> None:
    """Say of which columns nobody confirmed the domain as public, and what to do."""
    if not domain.warning:
        return
    writes = f"`dpsyn schema {shlex.quote(file)} -o schema.json` writes it down: correct it"
    todo = f"{writes}, set public to true, and give --schema schema.json"
    if schema is not None:
        todo = f"Set public to true in {schema!r} where you know it without these rows"
    note(f"{domain.warning} {todo}.")
