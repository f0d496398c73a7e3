"""What to expect of a run of independent columns, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.independent.mechanism import IndependentMechanism


def seconds(mechanism: IndependentMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 1 + 1e-4 * len(mechanism.domain)
