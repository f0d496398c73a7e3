"""What to expect of a run of random projection, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.random_projection.mechanism import RandomProjectionMechanism
from dpsyn.notation import counted

_SECONDS = 1e-7
"""By number that gets noise."""


def of_run(mechanism: RandomProjectionMechanism) -> list[tuple[str, str]]:
    """What a projection may lose."""
    kept, every = mechanism.kept, mechanism.features.dimension
    if kept == every:
        return []
    said = f"Rows keep {kept:,} of {counted(every, 'dimension')}, drawn at random: the fewer, the likelier that a column"
    return [("caption", f"{said} comes out almost constant.")]


def seconds(mechanism: RandomProjectionMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 0.2 + _SECONDS * mechanism.rows * mechanism.features.dimension
