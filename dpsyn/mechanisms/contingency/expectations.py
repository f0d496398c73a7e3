"""What to expect of a run of the whole table, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.contingency.mechanism import ContingencyMechanism

_SECONDS = 2e-5
"""By cell that gets exact noise."""


def seconds(mechanism: ContingencyMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    cells = mechanism.domain.size if mechanism.threshold is None else mechanism.public_rows or 0
    return 1 + _SECONDS * cells
