"""What to expect of a run of MST, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.mst.mechanism import MSTMechanism, most_cells

_SECONDS, _CHOOSING = 0.006, 1e-4
"""By cell of the tables of the tree, and by pair that is scored: Adult's eight columns, at most 736 cells, took 4.3 s."""


def seconds(mechanism: MSTMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 0.5 + _SECONDS * most_cells(mechanism.domain) + _CHOOSING * len(mechanism.domain) ** 2
