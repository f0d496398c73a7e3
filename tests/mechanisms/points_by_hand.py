"""What mechanisms on points hand to the noise, on a small table and on its neighbours."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpsyn
from dpsyn.mechanisms import points
from dpsyn.mechanisms.base import Mechanism, no_progress
from dpsyn.privacy.noise import NoiseSource
from dpsyn.table import Table

VALUES: dict[str, list[Any]] = {"a": ["x", "y", "z"], "b": [0, 1], "x": [0.0, 6.0, 9.0, 1e9]}
DOMAIN = dpsyn.Domain.of(
    [
        dpsyn.Attribute("a", "categorical", ("x", "y", "z"), public=True),
        dpsyn.Attribute("b", "truth", (0, 1), public=True),
        dpsyn.Attribute("x", "numeric", lower=0, upper=9, bins=2, public=True),
    ]
)
EVERY = list(product(*VALUES.values()))
ROWS = [EVERY[at] for at in (0, 0, 5, 9, 12, 23)]


def table_of(rows: list[tuple[Any, ...]]) -> Table:
    return Table(pd.DataFrame(rows, columns=list(VALUES)), DOMAIN)


def replaced() -> list[tuple[int, list[tuple[Any, ...]]]]:
    """Tables in which one of three rows is any other one, with its place."""
    return [(at, [*ROWS[:at], row, *ROWS[at + 1 :]]) for at in (0, 2, 5) for row in EVERY]


def before_noise(mechanism: Mechanism, rows: list[tuple[Any, ...]], patch: pytest.MonkeyPatch) -> tuple[np.ndarray, float]:
    """What gets noise, and its scale; the draws of records are the same for all tables of one size."""
    seen: list[np.ndarray] = []
    scales: list[float] = []

    def kept(scale: float, generator: np.random.Generator, *, on_grid: bool) -> Any:
        scales.append(scale)
        return lambda values: seen.append(values.copy()) or values

    with patch.context() as here:
        here.setattr(points, "gaussian_noise", kept)
        mechanism._run(NoiseSource(np.random.default_rng(7)), table_of(rows), no_progress)
    (scale,) = scales
    return np.concatenate(seen), scale
