"""What to expect of a run of the whole table, before it starts."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.contingency.mechanism import ContingencyMechanism
from dpsyn.notation import counted, percent

_SECONDS = 2e-5
"""By cell that gets exact noise."""
_MOST = 0.5
"""Share of the rows from which on it is said that they are lost."""


def seconds(mechanism: ContingencyMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    cells = mechanism.domain.size if mechanism.threshold is None else mechanism.public_rows or 0
    return 1 + _SECONDS * cells


def of_run(mechanism: ContingencyMechanism) -> list[tuple[str, str]]:
    """From how many rows on a cell is released, where not all are."""
    if mechanism.threshold is None:
        return []
    said = f"Combinations of values that fewer than about {counted(mechanism.threshold, 'row')} share will be missing."
    return [("caption", said)]


def of_release(release: Release, domain: Domain) -> list[str]:
    """That no cell was large enough, or that most rows were in none that was: what the noise shows, so it is no secret.
    Unknown of a release that was kept."""
    model, n = release.diagnostics.get("model"), release.settings.get("n")
    if model is None or "threshold" not in release.settings:
        return []
    if not len(model.weights):
        return [
            "No row of the data is told from noise, so each column is drawn by itself, evenly over its categories or bins, "
            "and all relations are lost: leave out columns, take fewer bins, or raise ε."
        ]
    # Where n is a secret, nothing that was released says how many rows are lost.
    lost = 0.0 if n is None else 1 - float(model.weights.sum()) / n
    if lost < _MOST:
        return []
    return [
        f"About {percent(lost)} of the rows were in cells too small to be told from noise: what they combine is missing. "
        "Leave out columns, take fewer bins, or raise ε."
    ]
