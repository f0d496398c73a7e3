"""Ctrl-C while DuckDB counts is Ctrl-C, not a fault of the file."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpsyn.data.engines import Kept
from dpsyn.data.large import count_rows
from dpsyn.errors import DataError

SCHEMA = pa.schema([("a", pa.int64())])
ROWS = 30_000
"""DuckDB may look at a signal only once it is done, so that a query must take more than a second, and not a minute."""


def interrupted() -> Iterator[Any]:
    """A batch, and a Ctrl-C where the next one is asked for."""
    yield pa.record_batch([pa.array(range(10))], schema=SCHEMA)
    raise KeyboardInterrupt


def test_what_interrupts_the_reading_interrupts_the_counting() -> None:
    with pytest.raises(KeyboardInterrupt):
        count_rows(([batch.column(0)] for batch in interrupted()), "1GB")
    with pytest.raises(KeyboardInterrupt):
        Kept(interrupted, SCHEMA, "t").ask("SELECT count(*) FROM dpsyn_rows")


def test_what_interrupts_a_query_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = Kept(lambda: [pa.record_batch([pa.array(np.arange(ROWS))], schema=SCHEMA)], SCHEMA, "t")
    assert rows.ask("SELECT count(*) AS n FROM dpsyn_rows")["n"][0].as_py() == ROWS
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        rows.ask("SELECT count(*) FROM dpsyn_rows AS x, dpsyn_rows AS y WHERE (x.a * y.a) % 7 = 3")


def test_another_fault_of_the_reading_is_one_of_the_data() -> None:
    def broken() -> Iterator[Any]:
        yield from ()
        raise OSError("the disk is gone")

    with pytest.raises(DataError, match="the disk is gone"):
        Kept(broken, SCHEMA, "t").ask("SELECT count(*) FROM dpsyn_rows")
