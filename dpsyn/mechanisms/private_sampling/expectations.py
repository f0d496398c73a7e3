"""What to expect of a run of private sampling, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.private_sampling._mechanism import PrivateSamplingMechanism
from dpsyn.mechanisms.private_sampling._reduced_space import rough_seconds

_SHORT_WAIT = 30.0
"""Seconds of a run from which on the page says how long it will take."""


def of_run(mechanism: PrivateSamplingMechanism) -> list[tuple[str, str]]:
    """About how long private sampling takes and what would make it shorter, where that is more than a short wait."""
    size = mechanism.size
    seconds = rough_seconds(size)
    if seconds <= _SHORT_WAIT:
        return []
    minutes = max(1, round(seconds / 60))
    about = f"{minutes} minute{'s' * (minutes != 1)}" if minutes < 120 else f"{minutes / 60:,.0f} hours"
    return [
        (
            "caption",
            f"It will take about {about}, perhaps a few times that: C = {size.dimension:,} functions are matched on "
            f"m = {size.m:,} points. Fewer columns, fewer bins or categories, or a lower d make it shorter.",
        )
    ]
