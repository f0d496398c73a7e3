"""What Theorem 2.2 promises of MWEM, for the lesson that sets promises beside measurements."""

import math

from dpsyn.mechanisms.mwem.mechanism import MWEM
from dpsyn.mechanisms.mwem.theorems import verdict
from dpsyn.privacy.spec import PrivacySpec
from dpsyn.statistics import DatasetStatistics


def promised(stats: DatasetStatistics, epsilon: float, degree: int) -> list[tuple[str, MWEM, float]]:
    """As printed, with the largest error of a cell that the theorem promises at its best T, as a share of n; and as used,
    with whole tables and measurements that are used again, which no theorem is about."""
    facts = verdict(stats, PrivacySpec(epsilon), degree=degree).facts
    printed = MWEM(degree=degree, measured="cells", replays=0, output="average")
    return [("MWEM as printed", printed, float(facts["cell_error"])), ("MWEM as used", MWEM(degree=degree), math.inf)]
