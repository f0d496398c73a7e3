"""What to expect of a run of PrivSyn, before it starts."""

from __future__ import annotations

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
