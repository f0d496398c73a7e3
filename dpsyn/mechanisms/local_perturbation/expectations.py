"""What to expect of a run of local perturbation, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.local_perturbation.mechanism import LocalPerturbationMechanism

_SECONDS = 1e-7
"""By number that gets noise."""


def seconds(mechanism: LocalPerturbationMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 0.2 + _SECONDS * mechanism.rows * mechanism.features.dimension
