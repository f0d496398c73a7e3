"""What to expect of a run of AIM, before it starts and afterwards."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.aim.mechanism import AIMMechanism
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import drowned_tables

_SECONDS, _CELLS = 0.005, 8e-6
"""By round and column, and by round and cell: Adult's eight columns and 100,000 cells took 9 s in 36 rounds."""


def seconds(mechanism: AIMMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    config, columns = mechanism.config, len(mechanism.domain)
    cells = min(config.model_cells, mechanism.domain.size)
    return 1 + 3 * columns * (_SECONDS * columns + _CELLS * cells / 2)


def of_release(release: Release, domain: Domain) -> list[str]:
    """Which columns its noise drowns."""
    return drowned_tables(release)
