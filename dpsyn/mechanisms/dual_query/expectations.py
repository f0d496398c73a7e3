"""What to expect of a run of DualQuery, before it starts."""

from __future__ import annotations

from dpsyn.mechanisms.dual_query.mechanism import DualQueryMechanism
from dpsyn.solvers.contingency import contingency_cells

_SECONDS, _QUERY, _CHOICE = 0.01, 1e-7, 2e-7
"""By round, by round and cell, and by choice and cell."""


def seconds(mechanism: DualQueryMechanism) -> float:
    """About how long a run takes, right to a factor of a few."""
    config, cells = mechanism.config, contingency_cells(mechanism.domain.shape, 2)
    return 0.5 + config.rounds * (_SECONDS + cells * (_QUERY + _CHOICE * config.samples))
