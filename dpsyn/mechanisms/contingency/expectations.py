"""What to expect of a run of the whole table, before it starts."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.contingency.mechanism import ContingencyMechanism

_SECONDS = 2e-5
"""By cell that gets exact noise."""


def seconds(mechanism: ContingencyMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    cells = mechanism.domain.size if mechanism.threshold is None else mechanism.public_rows or 0
    return 1 + _SECONDS * cells


def of_release(release: Release, domain: Domain) -> list[str]:
    """That no cell was large enough: what the noise shows, so it is no secret. Unknown of a release that was kept."""
    if release.diagnostics.get("cells_released") != 0:
        return []
    return [
        "No row of the data is told from noise, so each column is drawn by itself, evenly over its categories or bins, and "
        "all relations are lost: leave out columns, take fewer bins, or raise ε."
    ]
