"""What to expect of a run of PrivBayes, before it starts and afterwards."""

from __future__ import annotations

from dpsyn.domain import Domain
from dpsyn.mechanisms.base import Release
from dpsyn.mechanisms.categories import drowned_tables
from dpsyn.mechanisms.privbayes.mechanism import PrivBayesMechanism, candidates

_SECONDS = 3e-4
"""By set of parents that is scored."""


def seconds(mechanism: PrivBayesMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 1 + _SECONDS * candidates(len(mechanism.domain), mechanism.most_parents)


def of_release(release: Release, domain: Domain) -> list[str]:
    """Which columns its noise drowns."""
    return drowned_tables(release)
