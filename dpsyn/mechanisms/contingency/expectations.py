"""What to expect of a run of the whole table, before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpsyn.calendar import with_calendar
from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import DROWNED
from dpsyn.mechanisms.contingency.mechanism import ContingencyMechanism
from dpsyn.notation import counted, number, percent
from dpsyn.privacy.budget import mean_error

_SECONDS = 2e-5
"""By cell that gets exact noise."""
_MOST = 0.5
"""Share of the rows from which on it is said that they are lost."""


def seconds(mechanism: ContingencyMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    cells = mechanism.domain.size if mechanism.threshold is None else mechanism.public_rows or 0
    return 1 + _SECONDS * cells


def of_run(mechanism: ContingencyMechanism) -> list[tuple[str, str]]:
    """From how many rows on a cell is released, where not all are; a warning where noise drowns the table."""
    if mechanism.threshold is None:
        return [("warning", said) for said in _drowned(mechanism.calibrated(), mechanism.domain.size, mechanism.n)]
    said = f"Combinations of values that fewer than about {counted(mechanism.threshold, 'row')} share will be missing."
    return [("caption", said)]


def of_release(release: Release, domain: Domain) -> list[str]:
    """That no cell was large enough, that most rows were in none that was, or that noise drowned the table: what the noise
    shows, so it is no secret. Unknown of a release that was kept."""
    model, n = release.diagnostics.get("model"), release.settings.get("n")
    if model is None:
        return []
    if "threshold" not in release.settings:
        return _drowned(release.settings, with_calendar(domain).size, model.rows)
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


def _drowned(settings: Mapping[str, Any], cells: int, rows: float) -> list[str]:
    """That noise drowns a table of which all cells get some."""
    part = settings["ledger"][-1]
    share = mean_error(part["scale"], gaussian="rho" in part) * cells / rows
    if share <= DROWNED:
        return []
    return [
        f"Noise on the {counted(cells, 'possible row')} adds up to about {number(share, 2)} times all the rows, so little "
        "but what is most frequent will be left: leave out columns, take fewer bins, or raise ε."
    ]
