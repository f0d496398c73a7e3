"""What to expect of a run of MWEM, before it starts."""

from __future__ import annotations

import math

from dpsyn.mechanisms.mwem.mechanism import MWEMMechanism

_SECONDS = 5e-7
"""By round and possible row: seven columns of Adult, 120,960 possible rows, 139 rounds with 10 replays, took 9 s."""


def seconds(mechanism: MWEMMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 1 + _SECONDS * mechanism.rounds * math.prod(mechanism.domain.shape)
