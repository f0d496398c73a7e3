"""What to expect of a run of MST, before it starts and afterwards."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import drowned
from dpsyn.mechanisms.mst.mechanism import MSTMechanism, most_cells

_SECONDS, _CHOOSING = 0.006, 1e-4
"""By cell of the tables of the tree, and by pair that is scored: Adult's eight columns, at most 736 cells, took 4.3 s."""


def of_run(mechanism: MSTMechanism) -> list[tuple[str, str]]:
    """A warning where noise drowns the tables of columns."""
    return [("warning", said) for said in drowned(mechanism.calibrated(), mechanism.domain, mechanism.n)]


def of_release(release: Release, domain: Domain) -> list[str]:
    """The same, where the number of rows is public."""
    return drowned(release.settings, domain, release.settings.get("n"))


def seconds(mechanism: MSTMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 0.5 + _SECONDS * most_cells(mechanism.domain) + _CHOOSING * len(mechanism.domain) ** 2
