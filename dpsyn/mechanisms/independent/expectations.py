"""What to expect of a run of independent columns, before it starts and afterwards."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import drowned
from dpsyn.mechanisms.independent.mechanism import IndependentMechanism

_CELL, _TABLE = 1e-5, 0.02
"""By cell that gets noise, and by table that rows are changed towards: the 28 of Adult's eight columns took 0.4 s."""


def of_run(mechanism: IndependentMechanism) -> list[tuple[str, str]]:
    """A warning where noise drowns the tables of columns."""
    return [("warning", said) for said in drowned(mechanism.calibrated(), mechanism.domain, mechanism.n)]


def of_release(release: Release, domain: Domain) -> list[str]:
    """The same, where the number of rows is public."""
    return drowned(release.settings, domain, release.settings.get("n"))


def seconds(mechanism: IndependentMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    changed = len(mechanism.tables) * _TABLE if mechanism.config.degree > 1 else 0.0
    return 1 + 1e-4 * len(mechanism.domain) + _CELL * mechanism.cells + changed
