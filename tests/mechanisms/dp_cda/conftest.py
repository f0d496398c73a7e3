from __future__ import annotations

import pytest

from dpsyn.data.samples import load_sample
from dpsyn.mechanisms.dp_cda.inside import Records


@pytest.fixture(scope="session")
def digits() -> Records:
    return Records(load_sample("digits"), "digit")


@pytest.fixture(scope="session")
def car() -> Records:
    return Records(load_sample("car"), "class")
