"""What to expect of a run of MWEM, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.mwem.mechanism import MWEMMechanism

_OVERHEAD, _SECONDS = 3e-5, 2.5e-9
"""By use of a measurement, and by that and possible row: Adult's eight columns, 1.8 million possible rows, took 5.6 s in 16
rounds with 10 replays."""


def seconds(mechanism: MWEMMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    rounds, size = mechanism.rounds, mechanism.domain.size
    uses = rounds + mechanism.config.replays * rounds * (rounds + 1) / 2
    return 0.5 + uses * (_OVERHEAD + _SECONDS * size) + len(mechanism.queries.tables) * rounds * _SECONDS * size
