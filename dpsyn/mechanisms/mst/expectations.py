"""What to expect of a run of MST, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.mst.mechanism import MSTMechanism

_SECONDS, _CHOOSING = 0.6, 1e-4
"""By edge, for the fit, and by pair that is scored: Adult's eight columns took 4 s."""


def seconds(mechanism: MSTMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    columns = len(mechanism.domain)
    return 1 + _SECONDS * columns + _CHOOSING * columns**2
