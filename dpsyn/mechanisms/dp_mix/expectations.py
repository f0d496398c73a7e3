"""What to expect of a run of DP-Mix, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.dp_mix.mechanism import DPMixMechanism

_SECONDS = 2e-8
"""By row, coordinate and record in the average."""


def of_run(mechanism: DPMixMechanism) -> list[tuple[str, str]]:
    """What averages cannot keep."""
    return [("caption", "Rows are averages over all classes: rare labels and what stands out are lost.")]


def seconds(mechanism: DPMixMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 0.5 + _SECONDS * mechanism.rows * mechanism.dimension * (4 + mechanism.config.order_of_mixture)
