from __future__ import annotations

import pytest

from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.dp_cda.figures.records import Records, records_of


@pytest.fixture(scope="session")
def digits() -> Records:
    return records_of(load_sample("digits"), "digit")


@pytest.fixture(scope="session")
def car() -> Records:
    return records_of(load_sample("car"), "class")
