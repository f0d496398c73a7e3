"""What becomes of an error that nobody foresaw: whoever sees the page gets an identifier and what to do, the log gets
under it the types and places. Neither gets the error's own words, which may quote private values."""

from __future__ import annotations

import logging
import secrets
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOG = logging.getLogger("dpsyn")
_MARK = "_dpsyn_identifier"


def identifier(error: BaseException) -> str:
    """Tells this error from all others, on the page and in the log."""
    mark: str = error.__dict__.setdefault(_MARK, secrets.token_hex(4))
    return mark


def sentence(error: BaseException) -> str:
    """What a visitor is told."""
    return (
        f"Something went wrong that dpsyn did not foresee (identifier {identifier(error)}). Your data and releases are "
        "still here. Try again or change a setting; if it happens again, report the identifier: the log of the server says "
        "under it where it happened, without any value."
    )


def places(error: BaseException) -> str:
    """The types and places of an error and of those that led to it: file, line, function, the innermost first."""
    return "\n  after ".join(map(_place, chain(error)))


def chain(error: BaseException) -> list[BaseException]:
    """An error and those that led to it, ten at most."""
    found = [error]
    while (before := found[-1].__cause__ or found[-1].__context__) is not None and len(found) < 10:
        found.append(before)
    return found


def innermost(error: BaseException) -> str:
    """The type of an error and the one place where it was raised."""
    return " ".join(_place(error).splitlines()[:2]).replace("     at", " at")


def _place(error: BaseException) -> str:
    frames = reversed(list(traceback.walk_tb(error.__traceback__)))
    where = [f"{_short(frame.f_code.co_filename)}:{line} in {frame.f_code.co_qualname}" for frame, line in frames]
    return "\n    at ".join([type(error).__qualname__, *where])


def _short(file: str) -> str:
    return "/".join(Path(file).parts[-3:])


def keep_values_out_of_logs() -> None:
    """From now on every log record of this process, whoever writes it, tells of an error by its :func:`places` alone; so
    does what is printed of an error that ends a thread."""
    before = logging.getLogRecordFactory()

    def record(*args: Any, **options: Any) -> logging.LogRecord:
        return _without_values(before(*args, **options))

    logging.setLogRecordFactory(record)
    sys.excepthook = lambda _kind, error, _trace: LOG.critical("An error ended the process", exc_info=error)
    threading.excepthook = lambda told: LOG.error("An error ended a thread", exc_info=told.exc_value)


def _without_values(record: logging.LogRecord) -> logging.LogRecord:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(record.args, Mapping):
        record.args = {name: _kind(value) for name, value in record.args.items()}
    elif record.args:
        record.args = tuple(_kind(value) for value in record.args)
    if error is not None:
        # Python's own loop writes the error into the message, too.
        text = record.getMessage().replace(repr(error), type(error).__qualname__)
        record.msg, record.args = f"{text} (identifier {identifier(error)}): {places(error)}", ()
        record.exc_info = None
    return record


def _kind(value: object) -> object:
    return type(value).__qualname__ if isinstance(value, BaseException) else value
