"""What to expect of a run of private sampling, before it starts."""

from __future__ import annotations

import math
from itertools import combinations

from dpsyn.mechanisms.private_sampling._mechanism import PrivateSamplingMechanism
from dpsyn.mechanisms.private_sampling._reduced_space import rough_seconds
from dpsyn.notation import counted

_FEW = 50
"""Columns whose tables tell what to expect of all."""
_SHORT_WAIT = 30.0
"""Seconds of a run from which on the page says how long it will take."""


def table_noise(mechanism: PrivateSamplingMechanism) -> tuple[float, str]:
    """The least mean total variation between a table of two columns under a ceiling and that of k rows drawn from it. It is
    what few rows alone cause; what the box between floor and ceiling hides comes on top.

    Of c cells each has a share of ceiling/c at most, and rows vary least where as few cells as can be have all.
    """
    cells = [math.prod(sizes) for sizes in combinations(mechanism.domain.shape[:_FEW], min(2, len(mechanism.domain)))]
    ceiling = mechanism.config.ceiling
    return sum(_variation(min(1.0, ceiling / c), mechanism.rows) for c in cells) / len(cells), "or more"


def _variation(share: float, rows: int) -> float:
    """Of as many cells of this share as make 1: Σ E|X/k - share|/2 for X of Binomial(k, share), by De Moivre's formula."""
    most = math.floor(rows * share) + 1
    if share == 1 or most > rows:
        return 0.0
    ways = math.lgamma(rows + 1) - math.lgamma(most + 1) - math.lgamma(rows - most + 1)
    return most / (rows * share) * math.exp(ways + most * math.log(share) + (rows - most + 1) * math.log1p(-share))


def seconds(mechanism: PrivateSamplingMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return rough_seconds(mechanism.size)


def of_run(mechanism: PrivateSamplingMechanism) -> list[tuple[str, str]]:
    """About how long private sampling takes and what would make it shorter, where that is more than a short wait."""
    size = mechanism.size
    seconds = rough_seconds(size)
    if seconds <= _SHORT_WAIT:
        return []
    minutes = max(1, round(seconds / 60))
    about = counted(minutes, "minute") if minutes < 120 else f"{minutes / 60:,.0f} hours"
    return [
        (
            "caption",
            f"It will take about {about}, perhaps a few times that: C = {size.dimension:,} functions are matched on "
            f"m = {size.m:,} points. Fewer columns, fewer bins or categories, or a lower d make it shorter.",
        )
    ]
