"""What is told of an error that nobody foresaw holds its types and places, and none of its words."""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Iterator

import pytest

from dpsyn.kit import faults

SECRET = "diagnosis of Ann"


def look_up() -> None:
    {"ill": 1}[SECRET]


def fail() -> None:
    try:
        look_up()
    except KeyError as error:
        raise ValueError(f"no {SECRET}") from error


@pytest.fixture
def error() -> Exception:
    try:
        fail()
    except ValueError as found:
        return found
    raise AssertionError


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is written of records while values are kept out of them."""
    before = logging.getLogRecordFactory(), sys.excepthook, threading.excepthook
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    # What uvicorn writes goes no higher once Streamlit has run in this process.
    heard = logging.getLogger(), logging.getLogger("uvicorn.error")
    for logger in heard:
        logger.addHandler(handler)
    faults.keep_values_out_of_logs()
    yield written
    for logger in heard:
        logger.removeHandler(handler)
    logging.setLogRecordFactory(before[0])
    sys.excepthook, threading.excepthook = before[1:]


def test_places_name_every_function_and_no_value(error):
    said = faults.places(error)
    assert SECRET not in said
    assert [line.split()[-1] for line in said.splitlines() if " at " in line] == ["fail", "error", "look_up", "fail"]
    assert said.startswith("ValueError\n    at tests/kit/test_faults.py:")
    assert "after KeyError" in said
    assert faults.innermost(error) == said.splitlines()[0] + said.splitlines()[1].replace("    at", " at")


def test_page_and_log_share_an_identifier(error, log):
    logging.getLogger("anything").error("Uncaught", exc_info=error)
    assert faults.identifier(error) in faults.sentence(error)
    assert faults.identifier(error) in log.getvalue()
    assert SECRET not in faults.sentence(error)
    assert faults.identifier(ValueError()) != faults.identifier(ValueError())


@pytest.mark.parametrize(
    "write",
    [
        lambda error: logging.getLogger("uvicorn.error.x").error("Uncaught app execution", exc_info=error),
        lambda error: logging.getLogger("asyncio").error(f"never retrieved: exception={error!r}", exc_info=error),
        lambda error: logging.getLogger("a").warning("of %s: %r", "a step", error),
        lambda error: logging.getLogger("a").warning("of %(what)s", {"what": error}),
        lambda error: sys.excepthook(type(error), error, error.__traceback__),
    ],
)
def test_no_log_holds_the_words_of_an_error(error, log, write):
    write(error)
    assert SECRET not in log.getvalue()
    assert "ValueError" in log.getvalue()


def test_what_ends_a_thread_is_told_without_its_words(log, capfd):
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert "fail" in log.getvalue()
    assert SECRET not in log.getvalue() + capfd.readouterr().err


def test_other_records_stay_as_they_are(log):
    logging.getLogger("a").warning("%d of %s", 3, "ten")
    assert log.getvalue() == "3 of ten\n"
