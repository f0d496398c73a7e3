"""Small instances that the pictures are drawn of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpsyn.domain import Attribute, Domain
from dpsyn.mechanisms.private_sampling.small_run import SmallRun, small_space
from dpsyn.table import Table


def bits_table(p: int, n: int = 400, seed: int = 0) -> Table:
    """Dependent bits called b0, b1, …; the pair (b0, b1) = (yes, no) never occurs."""
    generator = np.random.default_rng(seed)
    level = generator.random((n, 1)) < 0.5
    codes = (generator.random((n, p)) < np.where(level, 0.8, 0.25)).astype(int)
    if p > 1:
        codes[:, 1] |= codes[:, 0]
    frame = pd.DataFrame(np.array(["no", "yes"], dtype=object)[codes], columns=[f"b{j}" for j in range(p)])
    return Table(frame, Domain.of(Attribute(c, "truth", ("no", "yes"), public=True) for c in frame.columns), "bits")


def run_of(table: Table, degree: int = 2, draws: int | None = None, seed: int = 1) -> SmallRun:
    return SmallRun(small_space(table.domain.shape, degree, draws=draws, seed=seed), table)


@pytest.fixture(scope="session")
def bits() -> SmallRun:
    return run_of(bits_table(5))


@pytest.fixture(scope="session")
def drawn() -> SmallRun:
    return run_of(bits_table(7), draws=100)


@pytest.fixture(scope="session")
def product(mixed: Table) -> SmallRun:
    return run_of(mixed)
