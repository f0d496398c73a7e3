"""What to expect of a run of PrivSyn, before it starts and afterwards."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import drowned_tables
from dpsyn.mechanisms.privsyn.mechanism import PrivSynMechanism

_SECONDS, _UPDATE = 5e-8, 1e-4
"""By round, table and row, and by round and table: Adult's eight columns took 3 s."""
_SECRET = 30_000
"""Rows, where their number is a secret."""


def seconds(mechanism: PrivSynMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    config = mechanism.config
    rows = config.rows or mechanism.public_rows or _SECRET
    return 0.5 + config.rounds * len(mechanism.pairs or mechanism.named) * (_UPDATE + _SECONDS * rows)


def of_release(release: Release, domain: Domain) -> list[str]:
    """Which columns its noise drowns."""
    return drowned_tables(release)
