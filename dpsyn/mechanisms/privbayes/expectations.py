"""What to expect of a run of PrivBayes, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.privbayes.mechanism import PrivBayesMechanism, candidates

_SECONDS = 3e-4
"""By set of parents that is scored."""


def seconds(mechanism: PrivBayesMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    return 1 + _SECONDS * candidates(len(mechanism.domain), mechanism.most_parents)
