"""Small tables that many tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from dpsyn.domain import Attribute, Domain
from dpsyn.table import Table

# How long an example takes says something about the machine, not about the code. `make fuzz` tries more.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100 if os.environ.get("DPSYN_FUZZ") else 40,
)
settings.load_profile("untimed")

# On tables this small a second thread of BLAS or OpenMP only spins, here and in the processes that tests start.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
threadpool_limits(1)

_MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_stays_main() -> Iterator[None]:
    """A page that AppTest has run stays ``__main__``, and processes that are spawned later run it first, and fail."""
    yield
    sys.modules["__main__"] = _MAIN


def postgres_address() -> str:
    """Where PostgreSQL is: what the environment says, or the server of ``make postgres``; empty if there is none."""
    place = Path(__file__).parents[1] / ".postgres" / "address"
    return os.environ.get("DPSYN_POSTGRES") or (place.read_text().strip() if place.exists() else "")


@pytest.fixture
def postgres() -> Iterator[Any]:
    """A connection to PostgreSQL, by Ibis; what is made there is temporary."""
    address = postgres_address()
    if not address:
        missing = "no PostgreSQL: say `make postgres`, or put the address of a server into DPSYN_POSTGRES"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    import ibis

    connection = ibis.connect(address)
    yield connection
    connection.disconnect()


class Topmost(np.random.Generator):
    """Draws what rounding may make of a uniform number: the upper end."""

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return high


def cube(p: int) -> Domain:
    """So many columns of truth values."""
    return Domain.of(Attribute(f"b{j}", "truth", (0, 1), public=True) for j in range(p))


def categories(*sizes: int) -> Domain:
    """Columns of so many values each."""
    return Domain.of(Attribute(f"c{j}", "categorical", tuple(range(size)), public=True) for j, size in enumerate(sizes))


def binary_table(p: int, n: int, seed: int = 0) -> Table:
    """Independent columns of :func:`cube`, of which three in ten are 1."""
    codes = (np.random.default_rng(seed).random((n, p)) < 0.3).astype(int)
    return Table(pd.DataFrame(codes, columns=[f"b{j}" for j in range(p)]), cube(p))


def mixed_domain() -> Domain:
    """Truth, categorical, whole-number and real columns: 2 · 3 · 4 · 2 = 48 possible rows."""
    return Domain.of(
        [
            Attribute("smokes", "truth", ("no", "yes"), public=True),
            Attribute("colour", "categorical", ("red", "green", "blue"), public=True),
            Attribute("age", "numeric", lower=0, upper=99, bins=4, integer=True, public=True),
            Attribute("dose", "numeric", lower=0.0, upper=1.0, bins=2, public=True),
        ]
    )


def mixed_table(n: int = 2000, seed: int = 3) -> Table:
    """Strongly dependent columns over :func:`mixed_domain`."""
    random = np.random.default_rng(seed)
    smokes = random.random(n) < 0.4
    colour = np.where(random.random(n) < 0.85, np.where(smokes, 2, 0), 1)
    age = np.clip(np.where(smokes, 70, 25) + random.normal(0, 12, n), 0, 99).astype(int)
    dose = np.clip(age / 99 + random.normal(0, 0.1, n), 0, 1)
    frame = pd.DataFrame(
        {
            "smokes": np.where(smokes, "yes", "no"),
            "colour": np.array(["red", "green", "blue"])[colour],
            "age": age,
            "dose": dose,
        }
    )
    return Table(frame, mixed_domain(), "mixed")


@pytest.fixture(scope="session")
def mixed() -> Table:
    return mixed_table()
